/* unified_slices.c - into how many slices output is cut, and where.
 *
 *     bytes, as if they filled all that is local
 *        below min_sstable_size * base:  fewer than base: a power of two that divides it
 *        else:                           base * 2^k, where k grows with the bytes
 *
 *     sstable_growth  0: k so that a file has about target_sstable_size
 *                     1: k = 0, files grow with the data
 *                     between: files grow with that power of the data
 *
 * So counts divide one another, and the ends of few slices are among those of many (local.h): files
 * of a lower level that were cut never lie over more of the next level's than they must.
 * Facts: compaction.md 2.1, 2.3, 2.4.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/unified.h"

#include <math.h>

#define HALF_ROOT 0.70710678118654752440 /* the square root of a half */
enum { DOUBLINGS_MAX = 20 };
/* No output is cut into more: at 1 GiB a slice that is a density of 64 TiB. */
enum { CUT_SLICES_MAX = 65536 };

/* The highest power of two that is not above a number of less than 2^63; 1 below 2 and for NaN. */
static uint64_t power_below(double number)
{
    uint64_t power = 1;
    while (number >= (double)power * 2)
        power *= 2;
    return power;
}

uint64_t unified_slices(const struct unified_options *options, double bytes)
{
    uint64_t base = options->base_slices, dividing = base & (~base + 1);
    double growth = options->growth, target = options->target_bytes;
    if (options->least_bytes > 0) {
        double count = bytes / options->least_bytes;
        if (!(count >= (double)base)) /* also when nobody knows */
            return u64_min(power_below(count), dividing);
    }
    if (growth == 1)
        return base;
    if (growth == 0) {
        double times = bytes / (target * HALF_ROOT * (double)base), most = 1 << DOUBLINGS_MAX;
        return base * power_below(times > most ? most : times);
    }
    double doublings = log2(bytes / (target * (double)base)) * (1 - growth) + 0.5;
    if (doublings >= DOUBLINGS_MAX)
        return base << DOUBLINGS_MAX;
    return doublings >= 0 ? base << (unsigned)doublings : base;
}

size_t unified_cuts(const struct local_ranges *local, uint64_t slices, int64_t first, int64_t last,
                    struct arena *arena, int64_t **out)
{
    while (slices > CUT_SLICES_MAX)
        slices = slices % 2 ? 1 : slices / 2; /* a divisor, as all counts */
    ensure(slices);
    size_t count = 0;
    int64_t *ends = *out = arena_array(arena, int64_t, slices - 1);
    local_split(local, (uint32_t)slices, ends);
    for (size_t i = 0; i + 1 < slices; i++) {
        bool cuts = first <= ends[i] && ends[i] < last;
        if (cuts && (!count || ends[i] > ends[count - 1]))
            ends[count++] = ends[i];
    }
    return count;
}
