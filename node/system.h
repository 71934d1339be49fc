/* system.h - the tables that the node makes up: system, system_schema, system_virtual_schema,
 * system_views, and the empty ones that tools look for (facts: protocol 5).
 *
 * A system table has a definition in the catalog like any other, and rows made when they are read,
 * from the live catalog, ring and counters of this shard; of compactions, from those of all shards.
 * Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/model.h"

struct errand_kind;
struct errands;
struct shard;

/* Puts every system table into an empty catalog. */
void system_tables_add(struct catalog *);
/* What all shards are to be asked before the table can be read; NULL: nothing. */
const struct errand_kind *system_asks(const struct table *);
/* Reads one; at once.  `said`: home from what system_asks says, or NULL: then a table that needs
 * more is ERR_WOULD_WAIT.  ERR_NOT_FOUND when the id is none of them. */
enum err system_read(struct shard *, const struct read *, const struct errands *said,
                     struct arena *, struct read_sink *, struct read_outcome *);
