/* compactions.h - what the compactors of this node's shards do, have done and have to do: for the
 * admin port, the system tables and tablestats.
 *
 *     each shard: told ──home──> added up: running ones by their ids, levels of a table by level
 *
 * Private to node/.  Asked by errands; what they bring home lives as long as these.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "node/errand.h"

struct compactions_told { /* by one shard */
    struct compactor_counts counts;
    size_t running_count, due_count, tables_count, history_count;
    struct compaction_running *running;
    struct compaction_due *due;
    struct compactions_table { /* every table that has files or could */
        struct uuid id;
        bool is_enabled; /* nobody has switched it off; the table's own option is another thing */
        uint64_t written_bytes;
    } * tables;
    struct compaction_past *history;
};
/* What this shard has to tell, but its history; NULL: it has no compactor yet. */
struct compactions_told *compactions_take(struct shard *, struct arena *);
/* Each result is a struct compactions_told; of the second it has nothing but the history. */
extern const struct errand_kind errand_compactions, errand_compaction_history;
/* The compactor of the errand's shard; NULL: it has none, and the errand has failed. */
struct compactor *errand_compactor(struct errand *);

/* The number by which a person names one that runs: unique in the node. */
static inline uint64_t compactions_id(int shards_count, int shard, uint64_t id)
{
    return id * (uint64_t)shards_count + (uint64_t)shard;
}
/* A shard's part of so many compactors of the node; at least one. */
static inline unsigned compactors_share(uint64_t of_node, int shards_count, int shard)
{
    uint64_t count = (uint64_t)shards_count;
    uint64_t share = of_node / count + ((uint64_t)shard < of_node % count);
    return share ? (unsigned)share : 1;
}
const char *compaction_kind_name(enum compaction_kind); /* "compaction", "tombstone compaction" */
/* "unrepaired", "repaired", "pending UUID"; in the arena. */
const char *compaction_group_name(const struct compaction_group *, struct arena *);
/* "UnifiedCompactionStrategy" */
const char *compaction_strategy_name(const struct table *);

/* A level of a table, of all shards together: sums; of overlap the most, of bounds the widest. */
struct compactions_level {
    struct compaction_group group;
    unsigned number; /* of the level or bucket; TimeWindow: from the newest window */
    struct compaction_level sum;
};
size_t compactions_levels(const struct compactions_told *const *shards, int count,
                          const struct uuid *table, struct arena *, struct compactions_level **out);
/* The results of errands, one a shard; in the arena. */
const struct compactions_told *const *compactions_of(const struct errands *, struct arena *);

/* The member "compaction" of a table's object: strategy, levels, what is due, what is next. */
void compactions_table_json(struct json *, const struct table *,
                            const struct compactions_told *const *shards, int count);
/* Whole answers; the errands are home and went well. */
void compactions_json(struct shard *, const struct errands *, struct buf *out);
void compaction_history_json(const struct errands *, struct buf *out);
/* All shards' history, the newest first; in the arena. */
size_t compaction_history_sorted(const struct errands *, struct arena *,
                                 const struct compaction_past ***out);
