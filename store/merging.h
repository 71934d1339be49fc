/* merging.h - several files as one, partition by partition, without what is dead: the heart of a
 * compaction.
 *
 *     new ──> [ token? ──> step, step ... (one partition) ] ... ──> is_over
 *
 * Private to store/.  Inputs are walked front to back, streamed past the cache, and checked as
 * every reader checks.  What comes out is fed to a writer; between two partitions the caller may
 * change the writer.  Rows, cells, deletions by Cassandra's rules (model/row.h), purged by
 * model/purge.h.
 *
 * Reading has its own way to the disk: large pieces ahead of the walk, on the bulk lane, so that it
 * neither delays reads nor fills the cache (stream.h).  Memory: two pieces an input, a row of each.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sstable/writer.h"
#include "store/file_walk.h"

struct merging;
struct merging_options {
    struct io *io;
    struct table *table;
    struct sstable *const *inputs; /* held by the caller */
    size_t count;
    bool purges;
    int64_t now_seconds, gc_before;
    /* The oldest timestamp that anything outside may have of the partition (INT64_MAX: nothing has
     * any of it); asked at most once a partition, and only when it matters. */
    int64_t (*timestamp_min)(void *context, int64_t token, struct bytes key);
    bool (*is_ours)(void *context, int64_t token); /* others are passed over; NULL: all are */
    void *context;
};
struct merging_counts {
    uint64_t read_bytes;                 /* plain */
    uint64_t stored_bytes;               /* ... as they are on disk: whole chunks */
    uint64_t partitions, rows;           /* written */
    uint64_t purged;                     /* deletions, expired cells */
    uint64_t merged[COMPACT_MERGED_MAX]; /* [n]: partitions that n inputs had; the last: or more */
};
/* The options are copied; the table and the inputs are counted. */
struct merging *merging_new(const struct merging_options *);
/* At any time but while merging_load is under way.  Files are closed by and by. */
void merging_free(struct merging **);
/* Does it stand before a partition, and of which token?  Then the writer may be changed; until this
 * is first true there need not be one (NULL). */
bool merging_is_between(const struct merging *, int64_t *token);
/* One row or marker, or the end of a partition; its begin comes with the first of them.  A
 * partition of which nothing is left does not reach the writer.  OK; ERR_WOULD_WAIT: merging_load,
 * and the same again; ERR_CORRUPT (an input has been set aside), ERR_IO and what else reading may
 * fail with: the report says which file and where. */
enum err merging_step(struct merging *, struct sstable_writer *, struct report *);
void merging_load(struct merging *, struct io_req *, struct op *);
bool merging_is_over(const struct merging *);
const struct merging_counts *merging_counts(const struct merging *);
/* Minima of all inputs, for the writer's header. */
struct header_base merging_base(struct sstable *const *inputs, size_t count);
