/* local.c - how much of the ring a file covers, and the places where output is cut into slices.
 *
 *     -2^63    (l0 .... r0]        (l1 .. r1]              (l2 ......... r2]   2^63-1
 *              0          upto[0]  upto[0]   upto[1]       upto[1]      upto[2] = coverage
 *                                             ^ the k-th end of n: at coverage * k/n
 *
 * The ring is cut open at its minimum: a range that wraps becomes two, and the right end INT64_MIN
 * means "up to the last token".
 *
 * Invariants:
 *     1. ranges ascend, and so does upto;
 *     2. equal ratios k/n give equal ends, whatever n: so a file that was cut at n places lies
 *        within the slices of every divisor of n.
 *
 * Facts: compaction.md 1.2, 2.2.  Cassandra multiplies in decimal; here it is binary, with 64 bits
 * behind the point: the same place but for the last bits of a double.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/local.h"

#include <math.h>
#include <stdlib.h>

#define COVERAGE_LEAST 0x1p-48

/* The share of the ring in (left, right], of which left < right or right is INT64_MIN. */
static double share(int64_t left, int64_t right)
{
    double size = (double)(int64_t)((uint64_t)right - (uint64_t)left) * 0x1p-64;
    return size > 0 ? size : size + 1;
}

static int by_left(const void *a, const void *b)
{
    const struct token_range *x = a, *y = b;
    return (x->left > y->left) - (x->left < y->left);
}

static size_t unwrap(const struct token_range *given, size_t count, struct token_range *out)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        struct token_range range = given[i];
        if (range.left == range.right) { /* the whole ring: nothing is beside it */
            n = 0;
            break;
        }
        bool wraps = range.left > range.right && range.right != INT64_MIN;
        if (wraps)
            out[n++] = (struct token_range){ INT64_MIN, range.right };
        out[n++] = (struct token_range){ range.left, wraps ? INT64_MIN : range.right };
    }
    if (!n)
        out[n++] = (struct token_range){ INT64_MIN, INT64_MIN };
    return n;
}

void local_ranges_make(struct arena *arena, const struct token_range *given, size_t count,
                       double weight, struct local_ranges *out)
{
    ensure(weight > 0 && weight <= 1);
    struct token_range *ranges = arena_array(arena, struct token_range, 2 * count + 1);
    size_t n = unwrap(given, count, ranges);
    qsort(ranges, n, sizeof *ranges, by_left);
    double *upto = arena_array(arena, double, n), sum = 0;
    for (size_t i = 0; i < n; i++)
        upto[i] = sum += weight * share(ranges[i].left, ranges[i].right);
    *out = (struct local_ranges){
        .count = n, .ranges = ranges, .upto = upto, .weight = weight, .coverage = sum
    };
}

double local_coverage_raw(const struct local_ranges *local, int64_t first, int64_t last)
{
    ensure(first <= last);
    double sum = 0;
    /* Both included is (first, last + 1]: as many tokens, and as Cassandra counts them. */
    bool is_open = last == INT64_MAX;
    for (size_t i = 0; i < local->count; i++) {
        struct token_range range = local->ranges[i];
        bool has_end = range.right != INT64_MIN;
        int64_t left = first > range.left ? first : range.left, right = range.right;
        if (!is_open && (!has_end || last + 1 < right))
            right = last + 1;
        if (right == INT64_MIN || left < right)
            sum += share(left, right);
    }
    return sum * local->weight;
}

double local_coverage(const struct local_ranges *local, int64_t first, int64_t last)
{
    double raw = local_coverage_raw(local, first, last);
    return raw < COVERAGE_LEAST ? 1 : raw;
}

/* The token at `part` of the way from left to right, towards zero. */
static int64_t between(struct token_range range, double part)
{
    uint64_t end = range.right == INT64_MIN ? (uint64_t)INT64_MAX : (uint64_t)range.right;
    uint64_t width = end - (uint64_t)range.left;
    if (part >= 1)
        return (int64_t)end;
    unsigned __int128 way = (unsigned __int128)width * (uint64_t)(part * 0x1p64);
    int64_t token = (int64_t)((uint64_t)range.left + (uint64_t)(way >> 64));
    bool is_whole = (uint64_t)way == 0;
    return token < 0 && !is_whole ? token + 1 : token;
}

void local_split(const struct local_ranges *local, uint32_t slices, int64_t *ends)
{
    size_t i = 0;
    for (uint32_t k = 1; k < slices; k++) {
        double at = local->coverage * ((double)k / slices);
        while (i + 1 < local->count && at > local->upto[i])
            i++;
        double before = i ? local->upto[i - 1] : 0;
        ends[k - 1] = between(local->ranges[i], (at - before) / (local->upto[i] - before));
        ensure_after(k > 1, ends[k - 2] <= ends[k - 1]);
    }
}
