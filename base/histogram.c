/* histogram.c - log-linear buckets.
 *
 *     values    0..31          32..63     64..127    128..255   ...
 *     buckets   32 of width 1  32 of 1    32 of 2    32 of 4    ...
 *
 * A bucket is at most 1/32 of its least value wide, so its middle is at most 1/64 off.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

enum { PER_POWER = 32, PER_POWER_BITS = 5 };

static unsigned bucket_of(uint64_t value)
{
    if (value < PER_POWER)
        return (unsigned)value;
    unsigned power = 63 - (unsigned)__builtin_clzll(value);
    unsigned part = (unsigned)(value >> (power - PER_POWER_BITS)) % PER_POWER;
    return (power - PER_POWER_BITS + 1) * PER_POWER + part;
}

static uint64_t bucket_middle(unsigned bucket)
{
    if (bucket < PER_POWER)
        return bucket;
    unsigned shift = bucket / PER_POWER - 1;
    uint64_t least = (uint64_t)(PER_POWER + bucket % PER_POWER) << shift;
    return least + (((uint64_t)1 << shift) - 1) / 2;
}

void histogram_add(struct histogram *h, uint64_t value)
{
    h->count++;
    h->sum += value;
    h->max = u64_max(h->max, value);
    h->buckets[bucket_of(value)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    into->count += from->count;
    into->sum += from->sum;
    into->max = u64_max(into->max, from->max);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

uint64_t histogram_quantile(const struct histogram *h, double q)
{
    ensure(q >= 0 && q <= 1);
    double exact = q * (double)h->count;
    uint64_t rank = (uint64_t)exact, seen = 0;
    rank += (double)rank < exact || rank == 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen >= rank)
            return u64_min(bucket_middle(i), h->max);
    }
    return h->max;
}
