/* estimate.h - what Statistics.db keeps of many numbers in few bytes: sizes, times, keys. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "sstable/name.h"

/* Buckets that grow by a fifth: sizes and cell counts of partitions.  n counts, of which the last
 * is the overflow.  Cassandra 4 has 151 of sizes, 5 has 156, also when it writes nb. */
enum { SPREAD_BUCKETS_MAX = 256, SPREAD_SIZES_NB = 151, SPREAD_SIZES_OA = 156, SPREAD_CELLS = 119 };
struct spread {
    uint32_t count;
    uint64_t counts[SPREAD_BUCKETS_MAX];
    int64_t offsets[SPREAD_BUCKETS_MAX]; /* count - 1 of them */
};
void spread_init(struct spread *, uint32_t buckets);
uint32_t spread_add(struct spread *, uint64_t value); /* the bucket */
/* The same; looks first where the last one was, and notes that.  *bucket begins with 0. */
void spread_add_near(struct spread *, uint64_t value, uint32_t *bucket);
uint64_t spread_total(const struct spread *);
/* Of what did not overflow, rounded up; 0 when there is nothing. */
uint64_t spread_mean(const struct spread *);
/* The bucket's offset at or above quantile q (0..1); 0 when there is nothing, UINT64_MAX in the
 * overflow. */
uint64_t spread_quantile(const struct spread *, double q);
void spread_encode(const struct spread *, struct buf *out);
bool spread_decode(struct cursor *, struct spread *out);

/* When tombstones and expiring cells become droppable: at most 100 points, the two closest are
 * merged.  Points are rounded up to 60 s when added.  Ends as Cassandra 5.0's does: what was added
 * is first collected in a hash table, whose order decides which points are merged. */
enum { DROP_TIMES_MAX = 100 };
struct drop_time {
    uint32_t seconds, count;
};
struct drop_times {
    uint32_t count;
    struct drop_time points[DROP_TIMES_MAX + 1]; /* by ascending seconds */
    struct drop_time *spool;                     /* 2 MiB of address space, from the first on */
    uint32_t spool_count;
};
void drop_times_init(struct drop_times *);
void drop_times_deinit(struct drop_times *);
void drop_times_add(struct drop_times *, uint32_t seconds);
/* To be called before encoding and asking; gives the spool back. */
void drop_times_finish(struct drop_times *);
/* About how many are at or before. */
double drop_times_sum(const struct drop_times *, double until_seconds);
void drop_times_encode(const struct drop_times *, enum sstable_version, struct buf *out);
bool drop_times_decode(struct cursor *, enum sstable_version, struct drop_times *out);

/* HyperLogLog++ (p 13, sp 25) of partition keys, as stream-lib writes it. */
struct cardinality {
    uint8_t *registers; /* normal form: 8192, else NULL */
    uint32_t *codes;    /* sparse form */
    uint32_t *batch;    /* not merged into it yet */
    uint32_t codes_count, batch_count;
};
void cardinality_init(struct cardinality *);
void cardinality_deinit(struct cardinality *);
void cardinality_add(struct cardinality *, struct bytes key);
void cardinality_merge(struct cardinality *into, struct cardinality *from);
/* Sparse: as stream-lib.  Normal: Ertl's estimator, without tables and unbiased over the whole
 * range; as far from the truth as stream-lib's (1.2 % is its standard error), not the same number.
 */
uint64_t cardinality_estimate(struct cardinality *);
void cardinality_encode(struct cardinality *, struct buf *out);
/* *out is empty when it fails. */
enum err cardinality_decode(struct bytes, struct cardinality *out, struct report *);
