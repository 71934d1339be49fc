/* writer_stats.h - what Statistics.db says of the rows of a file, collected while it is written;
 * inside of writer*.c.
 *
 * Truthful in Cassandra's sense, figure by figure (facts sstable 7.3; MetadataCollector):
 * everything with a time counts into minima and maxima, a live cell as "never deleted"; a column
 * counts in a row where it has a cell, not where it has a deletion alone.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sstable/writer.h"

struct writer_stats {
    const struct layout *layout;
    uint32_t seconds_cap;
    bool has_counters;
    bool has_timestamp; /* anything at all */
    int64_t timestamp_min, timestamp_max;
    uint32_t seconds_min, seconds_max, ttl_min, ttl_max;
    uint64_t cells; /* of this partition */
    uint64_t columns_set, rows;
    bool has_legacy_counters, has_partition_deletions, has_range;
    struct buf low_key, high_key; /* comparable, of the two below */
    uint8_t low_kind, high_kind;  /* as they came: 4 is a row */
    struct buf low_raw, high_raw;
    struct cardinality cardinality;
    struct spread partition_bytes, partition_cells;
    uint32_t bytes_bucket, cells_bucket; /* of the last partition */
    struct drop_times drop_times;
};
void writer_stats_init(struct writer_stats *, const struct layout *);
void writer_stats_deinit(struct writer_stats *);
void writer_stats_deletion(struct writer_stats *, struct deletion); /* of anything; none: nothing */
void writer_stats_partition(struct writer_stats *, struct deletion);
/* Rows that have anything, static ones too. */
void writer_stats_row(struct writer_stats *, const struct row *);
/* One that is packed (unfiltered.h). */
void writer_stats_packed_row(struct writer_stats *, const struct row *);
/* The first row or marker of a partition, and the last one. */
void writer_stats_low(struct writer_stats *, uint8_t kind, struct bytes key, struct bytes raw);
/* Is it above all others so far?  Then it is to be told by writer_stats_high. */
bool writer_stats_is_high(const struct writer_stats *, struct bytes key);
void writer_stats_high(struct writer_stats *, uint8_t kind, struct bytes key, struct bytes raw);
void writer_stats_partition_end(struct writer_stats *, struct bytes key, uint64_t bytes);
/* Everything that was collected; borrowed from it and from the arena.  The first and the last key
 * are the writer's to tell. */
void writer_stats_finish(struct writer_stats *, struct arena *, struct statistics *out);
