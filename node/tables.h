/* tables.h - what this node has of its tables, in numbers: for GET /api/v1/tables.  Private to
 * node/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "node/errand.h"

/* Asks every shard for all its tables; shard 0 also for the snapshots on disk. */
extern const struct errand_kind errand_tables;
/* {"tables":[...]}: those of a keyspace (NULL: of all), or one table.  False: there is none. */
bool tables_json(const struct shard *, const struct errands *, const char *keyspace,
                 const char *table, struct buf *out);
