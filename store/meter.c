/* meter.c - see meter.h.
 *
 *     value     0 1 2 3 | 4 5 6 7 | 8,9 10,11 12,13 14,15 | 16-19 ...
 *     bucket    0 1 2 3 | 4 5 6 7 | 8   9     10    11    | 12
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/meter.h"

static unsigned bucket_of(uint64_t value)
{
    if (value < 4)
        return (unsigned)value;
    unsigned power = 63 - (unsigned)__builtin_clzll(value);
    unsigned bucket = (power - 1) * 4 + (unsigned)(value >> (power - 2) & 3);
    return bucket < METER_BUCKETS ? bucket : METER_BUCKETS - 1;
}

/* The largest value of a bucket. */
static uint64_t bucket_last(unsigned bucket)
{
    if (bucket < 4)
        return bucket;
    unsigned power = bucket / 4 + 1;
    return ((uint64_t)(4 + bucket % 4 + 1) << (power - 2)) - 1;
}

void meter_add(struct meter *m, uint64_t value)
{
    uint32_t *bucket = &m->buckets[bucket_of(value)];
    m->count++;
    m->sum += value;
    m->max = u64_max(m->max, value);
    *bucket += *bucket < UINT32_MAX;
}

void meter_merge(struct meter *into, const struct meter *from)
{
    into->count += from->count;
    into->sum += from->sum;
    into->max = u64_max(into->max, from->max);
    for (unsigned i = 0; i < METER_BUCKETS; i++) {
        uint64_t sum = (uint64_t)into->buckets[i] + from->buckets[i];
        into->buckets[i] = (uint32_t)u64_min(sum, UINT32_MAX);
    }
}

uint64_t meter_quantile(const struct meter *m, double q)
{
    double wanted = q * (double)m->count, seen = 0;
    for (unsigned i = 0; i < METER_BUCKETS; i++) {
        seen += m->buckets[i];
        if (m->buckets[i] && seen >= wanted)
            return u64_min(bucket_last(i), m->max);
    }
    return m->max;
}
