/* meter.h - numbers of one kind, counted in few bytes: latencies, files of a read.  Pure.
 *
 * Eight buckets for each power of two, so a quantile is at most an eighth above the truth, and
 * numbers below METER_EXACT have a bucket of their own.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

enum { METER_FINE = 8, METER_EXACT = 2 * METER_FINE, METER_BUCKETS = 320 };
struct meter { /* zeroed: empty */
    uint64_t count, sum, max;
    uint32_t buckets[METER_BUCKETS];
};
void meter_add(struct meter *, uint64_t value);
void meter_merge(struct meter *into, const struct meter *from);
/* The largest number of the bucket at quantile q (0..1), at most max; 0 when it is empty. */
uint64_t meter_quantile(const struct meter *, double q);
/* How often it was that number, which is below METER_EXACT. */
uint64_t meter_count(const struct meter *, uint64_t value);

/* What is counted of a table on one shard. */
struct table_meter {
    uint64_t reads, writes; /* of single partitions; mutations */
    struct meter read_ns;   /* a sample of the reads that need not wait, all of the others */
    struct meter write_ns;  /* until it is durable */
    struct meter sstables;  /* that a read looked into */
};
