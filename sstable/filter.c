/* filter.c - a bloom filter whose bits are Cassandra's.
 *
 *     file   hashes i32 | words i32 | words * 8 bytes
 *     key    base = h2; `hashes` times: bit |base rem bits|, base += h1
 *
 * The bits of a key are found first and looked at together, so that their cache misses overlap, and
 * the one division is by a number that serves all of them: a remainder is two multiplications.
 *
 * How many hashes and bits a chance needs is Cassandra's choice from the table of "Summary Cache"
 * (Fan, Cao, Almeida, Broder): the fewest bits that reach the chance with the best count of hashes
 * for that many bits, then the fewest hashes that still reach it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/filter.h"

enum { BITS_MAX = 20, HASHES_OF_TABLE = 14, EXCESS_BITS = 20 };

/* The chance of a false positive with i bits a key and j hashes, j from 1. */
static const double chances[BITS_MAX + 1][HASHES_OF_TABLE] = {
    [2] = { 0.393, 0.400 },
    [3] = { 0.283, 0.237, 0.253 },
    [4] = { 0.221, 0.155, 0.147, 0.160 },
    [5] = { 0.181, 0.109, 0.092, 0.092, 0.101 },
    [6] = { 0.154, 0.0804, 0.0609, 0.0561, 0.0578, 0.0638 },
    [7] = { 0.133, 0.0618, 0.0423, 0.0359, 0.0347, 0.0364 },
    [8] = { 0.118, 0.0489, 0.0306, 0.024, 0.0217, 0.0216, 0.0229 },
    [9] = { 0.105, 0.0397, 0.0228, 0.0166, 0.0141, 0.0133, 0.0135, 0.0145 },
    [10] = { 0.0952, 0.0329, 0.0174, 0.0118, 0.00943, 0.00844, 0.00819, 0.00846 },
    [11] = { 0.0869, 0.0276, 0.0136, 0.00864, 0.0065, 0.00552, 0.00513, 0.00509 },
    [12] = { 0.08, 0.0236, 0.0108, 0.00646, 0.00459, 0.00371, 0.00329, 0.00314 },
    [13] = { 0.074, 0.0203, 0.00875, 0.00492, 0.00332, 0.00255, 0.00217, 0.00199, 0.00194 },
    [14] = { 0.0689, 0.0177, 0.00718, 0.00381, 0.00244, 0.00179, 0.00146, 0.00129, 0.00121,
             0.0012 },
    [15] = { 0.0645, 0.0156, 0.00596, 0.003, 0.00183, 0.00128, 0.001, 0.000852, 0.000775,
             0.000744 },
    [16] = { 0.0606, 0.0138, 0.005, 0.00239, 0.00139, 0.000935, 0.000702, 0.000574, 0.000505,
             0.00047, 0.000459 },
    [17] = { 0.0571, 0.0123, 0.00423, 0.00193, 0.00107, 0.000692, 0.000499, 0.000394, 0.000335,
             0.000302, 0.000287, 0.000284 },
    [18] = { 0.054, 0.0111, 0.00362, 0.00158, 0.000839, 0.000519, 0.00036, 0.000275, 0.000226,
             0.000198, 0.000183, 0.000176 },
    [19] = { 0.0513, 0.00998, 0.00312, 0.0013, 0.000663, 0.000394, 0.000264, 0.000194, 0.000155,
             0.000132, 0.000118, 0.000111, 0.000109 },
    [20] = { 0.0488, 0.00906, 0.0027, 0.00108, 0.00053, 0.000303, 0.000196, 0.00014, 0.000108,
             8.89e-05, 7.77e-05, 7.12e-05, 6.79e-05, 6.71e-05 },
};

/* The first of the lowest chances of a row. */
static uint32_t best_hashes(uint32_t bits)
{
    uint32_t best = 1;
    for (uint32_t j = 2; j <= HASHES_OF_TABLE; j++)
        if (chances[bits][j - 1] > 0 && chances[bits][j - 1] < chances[bits][best - 1])
            best = j;
    return best;
}

struct filter_shape filter_shape_of(double fp_chance)
{
    if (fp_chance >= 1)
        return (struct filter_shape){ 0 };
    if (fp_chance >= chances[2][0])
        return (struct filter_shape){ .hashes = 2, .bits_per_key = 1 }; /* Cassandra swaps them */
    struct filter_shape shape = { .hashes = best_hashes(2), .bits_per_key = 2 };
    while (shape.bits_per_key < BITS_MAX &&
           chances[shape.bits_per_key][shape.hashes - 1] > fp_chance)
        shape.hashes = best_hashes(++shape.bits_per_key);
    while (shape.hashes > 1 && chances[shape.bits_per_key][shape.hashes - 2] <= fp_chance)
        shape.hashes--;
    return shape;
}

uint64_t filter_words(struct filter_shape shape, uint64_t keys)
{
    if (!shape.hashes)
        return 0;
    uint64_t keys_max = (INT32_MAX * 64ull - EXCESS_BITS) / shape.bits_per_key;
    return (u64_min(keys, keys_max) * shape.bits_per_key + EXCESS_BITS + 63) / 64;
}

static inline uint64_t remainder_of(uint64_t v, uint64_t divisor, uint64_t reciprocal)
{
    uint64_t quotient = (uint64_t)((unsigned __int128)v * reciprocal >> 64); /* at most 1 short */
    uint64_t rest = v - quotient * divisor;
    return rest - (rest >= divisor ? divisor : 0);
}

/* The bits of a key. */
static inline void positions_of(const struct filter *f, const uint64_t hash[2],
                                uint64_t out[FILTER_HASHES_MAX])
{
    ensure(f->words > 0 && f->hashes <= FILTER_HASHES_MAX);
    uint64_t bits = f->words * 64, reciprocal = UINT64_MAX / bits, base = hash[1];
    for (uint32_t i = 0; i < f->hashes; i++, base += hash[0]) {
        out[i] = remainder_of(base >> 63 ? 0 - base : base, bits, reciprocal);
        __builtin_prefetch(f->bits + out[i] / 8);
    }
}

void filter_find(const struct filter *f, const uint64_t hash[2], struct filter_places *out)
{
    if (f->hashes)
        positions_of(f, hash, out->bits);
}

void filter_set(struct filter *f, const struct filter_places *places)
{
    for (uint32_t i = 0; i < f->hashes; i++)
        f->bits[places->bits[i] / 8] |= (uint8_t)(1U << places->bits[i] % 8);
}

void filter_add(struct filter *f, const uint64_t hash[2])
{
    struct filter_places places;
    filter_find(f, hash, &places);
    filter_set(f, &places);
}

bool filter_has(const struct filter *f, const uint64_t hash[2])
{
    uint64_t at[FILTER_HASHES_MAX];
    if (!f->hashes)
        return true;
    positions_of(f, hash, at);
    unsigned all = 1;
    for (uint32_t i = 0; i < f->hashes; i++)
        all &= (unsigned)f->bits[at[i] / 8] >> at[i] % 8;
    return all & 1;
}

enum err filter_decode_head(struct bytes head, uint64_t file_bytes, struct filter *out,
                            struct report *report)
{
    *out = (struct filter){ 0 };
    if (!file_bytes)
        return OK;
    struct cursor c = cursor_of(head);
    out->hashes = cursor_be32(&c);
    out->words = cursor_be32(&c);
    if (c.bad || !out->hashes || out->hashes > FILTER_HASHES_MAX || !out->words)
        return report_set(report, ERR_CORRUPT,
                          "Filter.db: %u hashes over %llu words at byte 0 are no filter",
                          out->hashes, (unsigned long long)out->words);
    if (file_bytes != FILTER_HEAD_BYTES + out->words * 8)
        return report_set(report, ERR_CORRUPT,
                          "Filter.db: %llu words at byte 4 do not fit a file of %llu bytes",
                          (unsigned long long)out->words, (unsigned long long)file_bytes);
    return OK;
}

void filter_encode(const struct filter *f, struct buf *out)
{
    if (!f->hashes)
        return;
    ensure(f->words > 0 && f->words <= INT32_MAX);
    buf_put_be32(out, f->hashes);
    buf_put_be32(out, (uint32_t)f->words);
    buf_put(out, f->bits, f->words * 8);
}
