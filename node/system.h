/* system.h - the tables that the node makes up: system, system_schema, system_virtual_schema,
 * system_views, and the empty ones that tools look for (facts: protocol 5).
 *
 * A system table has a definition in the catalog like any other, and rows made when they are read,
 * from the live catalog, ring and counters of this shard.  Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/model.h"

struct shard;

/* Puts every system table into an empty catalog. */
void system_tables_add(struct catalog *);
/* Reads one; at once.  ERR_NOT_FOUND when the id is none of them. */
enum err system_read(struct shard *, const struct read *, struct arena *, struct read_sink *,
                     struct read_outcome *);
