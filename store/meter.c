/* meter.c - see meter.h.
 *
 *     value     0 .. 7 | 8 .. 15 | 16,17 18,19 .. 30,31 | 32-35 ..
 *     bucket    0 .. 7 | 8 .. 15 | 16    17    .. 23    | 24    ..
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/meter.h"

static unsigned bucket_of(uint64_t value)
{
    if (value < METER_FINE)
        return (unsigned)value;
    unsigned power = 63 - (unsigned)__builtin_clzll(value);
    unsigned bucket = (power - 2) * METER_FINE + (unsigned)((value >> (power - 3)) % METER_FINE);
    return bucket < METER_BUCKETS ? bucket : METER_BUCKETS - 1;
}

/* The largest value of a bucket. */
static uint64_t bucket_last(unsigned bucket)
{
    if (bucket < METER_FINE)
        return bucket;
    unsigned power = bucket / METER_FINE + 2;
    return ((uint64_t)(METER_FINE + bucket % METER_FINE + 1) << (power - 3)) - 1;
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

uint64_t meter_count(const struct meter *m, uint64_t value)
{
    ensure(value < METER_EXACT);
    return m->buckets[bucket_of(value)];
}
