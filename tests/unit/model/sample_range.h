/* sample_range.h - random range tombstones over a small grid of clustering values, and what of them
 * covers a key, told slowly.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sample_row.h"

/* One of the bounds around a prefix of 0 .. clustering_count values; every clustering column is an
 * int below `values`. */
static inline struct bytes sample_bound(struct prng *prng, const struct table *table,
                                        struct arena *arena, uint32_t values,
                                        struct bytes *clustering)
{
    struct bytes prefix[KEY_COLUMNS_MAX];
    struct buf raw = buf_in(arena), key = buf_in(arena);
    size_t count = prng_below(prng, table->clustering_count + 1);
    for (size_t i = 0; i < count; i++) {
        uint8_t *number = arena_alloc(arena, 4);
        put_be32(number, (uint32_t)prng_below(prng, values));
        prefix[i] = bytes_of(number, 4);
        buf_put_sized(&raw, prefix[i]);
    }
    if (prng_chance(prng, 50))
        comparable_below(table, prefix, count, &key);
    else
        comparable_above(table, prefix, count, &key);
    *clustering = buf_bytes(&raw);
    return buf_bytes(&key);
}

static inline void sample_range(struct prng *prng, const struct table *table, struct arena *arena,
                                uint32_t values, struct range_tombstone *out)
{
    int c;
    do {
        out->low = sample_bound(prng, table, arena, values, &out->low_clustering);
        out->high = sample_bound(prng, table, arena, values, &out->high_clustering);
        c = bytes_compare(out->low, out->high);
    } while (c == 0);
    if (c > 0) {
        struct range_tombstone turned = {
            out->high, out->low, out->high_clustering, out->low_clustering, { 0 }
        };
        *out = turned;
    }
    out->deletion = sample_deletion(prng, 100);
}

static inline bool sample_range_has(const struct range_tombstone *range, struct bytes key)
{
    return bytes_compare(range->low, key) < 0 && bytes_compare(key, range->high) < 0;
}

static inline struct deletion sample_covering(const struct range_tombstone *ranges, size_t count,
                                              struct bytes key)
{
    struct deletion newest = deletion_none();
    for (size_t i = 0; i < count; i++)
        if (sample_range_has(&ranges[i], key))
            newest = deletion_newer(newest, ranges[i].deletion);
    return newest;
}
