/* estimate.c - a histogram whose buckets grow by a fifth.
 *
 *     offsets   1 2 3 4 5 6 7 8 10 12 14 17 ...   each 1.2 times the one before, rounded
 *     counts    a value is counted at the first offset that is not below it, else at the end
 *     file      n i32 | n * (offset i64, count i64): entry 0 repeats the first offset
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/estimate.h"

void spread_init(struct spread *s, uint32_t buckets)
{
    ensure(buckets >= 2 && buckets <= SPREAD_BUCKETS_MAX);
    *s = (struct spread){ .count = buckets };
    int64_t last = 0;
    for (uint32_t i = 0; i + 1 < buckets; i++) {
        int64_t next = (int64_t)((double)last * 1.2 + 0.5);
        last = next > last ? next : last + 1;
        s->offsets[i] = last;
    }
}

void spread_add_near(struct spread *s, uint64_t value, uint32_t *bucket)
{
    uint32_t at = *bucket;
    ensure(at < s->count);
    bool is_above = at == 0 || value > (uint64_t)s->offsets[at - 1];
    bool is_below = at + 1 == s->count || value <= (uint64_t)s->offsets[at];
    if (is_above && is_below)
        s->counts[at]++;
    else
        *bucket = spread_add(s, value);
}

uint32_t spread_add(struct spread *s, uint64_t value)
{
    uint32_t low = 0, high = s->count - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if ((uint64_t)s->offsets[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    s->counts[low]++;
    return low;
}

uint64_t spread_total(const struct spread *s)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < s->count; i++)
        total += s->counts[i];
    return total;
}

uint64_t spread_mean(const struct spread *s)
{
    uint64_t total = 0, sum = 0;
    for (uint32_t i = 0; i + 1 < s->count; i++) {
        total += s->counts[i];
        sum += s->counts[i] * (uint64_t)s->offsets[i];
    }
    return total ? sum / total + (sum % total > 0) : 0;
}

uint64_t spread_quantile(const struct spread *s, double q)
{
    double wanted = q * (double)spread_total(s), seen = 0;
    if (!(wanted > 0))
        return 0;
    for (uint32_t i = 0; i + 1 < s->count; i++) {
        seen += (double)s->counts[i];
        if (seen >= wanted)
            return (uint64_t)s->offsets[i];
    }
    return UINT64_MAX;
}

void spread_encode(const struct spread *s, struct buf *out)
{
    ensure(s->count >= 2 && s->count <= SPREAD_BUCKETS_MAX);
    buf_put_be32(out, s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        buf_put_be64(out, (uint64_t)s->offsets[i ? i - 1 : 0]);
        buf_put_be64(out, s->counts[i]);
    }
}

bool spread_decode(struct cursor *c, struct spread *out)
{
    *out = (struct spread){ .count = cursor_be32(c) };
    if (c->bad || out->count < 2 || out->count > SPREAD_BUCKETS_MAX)
        return false;
    for (uint32_t i = 0; i < out->count; i++) {
        uint64_t offset = cursor_be64(c);
        out->counts[i] = cursor_be64(c);
        bool is_placed = i < 2 || (int64_t)offset > out->offsets[i - 2];
        bool is_same = i != 1 || (int64_t)offset == out->offsets[0];
        if (c->bad || !offset || offset > INT64_MAX || out->counts[i] > INT64_MAX || !is_placed ||
            !is_same)
            return false;
        out->offsets[i ? i - 1 : 0] = (int64_t)offset;
    }
    return true;
}
