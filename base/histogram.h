/* histogram.h - latencies in log-linear buckets: 32 per power of two, at most 3% off, fixed size.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

enum { HISTOGRAM_BUCKETS = 60 * 32 };

struct histogram {
    uint64_t count, sum, max;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};
/* A zeroed struct is empty.  Any unit; ours is nanoseconds. */
void histogram_add(struct histogram *, uint64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* The value at quantile q (0..1): the middle of its bucket, at most max; 0 when empty. */
uint64_t histogram_quantile(const struct histogram *, double q);
