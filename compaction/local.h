/* local.h - the token ranges that one shard has of a table: how much of the ring a file covers, and
 * where output is split into slices.
 *
 *     ranges   (l0 .. r0]   (l1 .. r1]   (l2 .. r2]       ascending, unwrapped, each of `weight`
 *     upto       .10          .15          .30            share of the ring up to here
 *
 * Pure.  A range's share is (right - left) / 2^64, wrapping; (min, min] is the whole ring, 1.  A
 * shard of n has 1/n of each of its node's ranges, spread evenly through it: weight 1/n (facts:
 * compaction.md 1.2, 2.2; with one shard all figures are Cassandra's).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"

struct token_range {
    int64_t left, right; /* (left, right] */
};
struct local_ranges {
    size_t count;
    const struct token_range *ranges;
    const double *upto; /* count, weighted */
    double weight;      /* 1 with one shard */
    double coverage;    /* of all: the last upto */
};
/* Sorts and unwraps; none, or the whole ring: (min, min].  In the arena. */
void local_ranges_make(struct arena *, const struct token_range *, size_t count, double weight,
                       struct local_ranges *out);
/* The share of the ring that a file with these first and last tokens covers, both included; 1 when
 * that is less than 2^-48 (a file of one partition, or of none of the ranges). */
double local_coverage(const struct local_ranges *, int64_t first, int64_t last);
/* The same, but 0 instead. */
double local_coverage_raw(const struct local_ranges *, int64_t first, int64_t last);
/* The slices' inner ends, ascending: slices - 1 of them; slice k is (end[k-1], end[k]].  The same
 * places for a smaller number of slices are among them when it divides this one. */
void local_split(const struct local_ranges *, uint32_t slices, int64_t *ends);
