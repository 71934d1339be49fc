/* skew.c - offsets, their median, and when it is told.  See skew.h.
 *
 * Invariant: is_off changes only past one of two bounds, so a clock that wavers at one of them is
 * told of once.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/skew.h"

#include <stdlib.h>

static const int64_t begins_us = 500000, ends_us = 400000;
static const uint64_t round_trip_max_ns = 1000000000;
static const int64_t clock_max_us = (int64_t)1 << 60; /* what is beyond is no clock */

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

void skew_heard(struct skew *s, unsigned node, int64_t sent_us, int64_t theirs_us,
                uint64_t round_trip_ns)
{
    ensure(node >= 1 && node <= NODES_MAX);
    bool is_clock = theirs_us > -clock_max_us && theirs_us < clock_max_us;
    if (round_trip_ns > round_trip_max_ns || !is_clock)
        return;
    int64_t middle_us = sent_us + (int64_t)(round_trip_ns / 2000);
    s->peers[node - 1] = (struct skew_peer){ .is_known = true,
                                             .offset_us = theirs_us - middle_us,
                                             .round_trip_ns = round_trip_ns };
}

static int compare_offsets(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median(int64_t *offsets, size_t count)
{
    if (count == 0)
        return 0;
    qsort(offsets, count, sizeof *offsets, compare_offsets);
    int64_t low = offsets[(count - 1) / 2], high = offsets[count / 2];
    return magnitude(low) < magnitude(high) ? low : high;
}

bool skew_judge(struct skew *s, const struct ring *ring, unsigned self)
{
    int64_t offsets[NODES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < ring->nodes_count; i++)
        if (i + 1 != self && ring->nodes[i].is_up && s->peers[i].is_known)
            offsets[count++] = s->peers[i].offset_us;
    bool was_off = s->is_off;
    s->off_us = -median(offsets, count);
    s->is_off = magnitude(s->off_us) > (was_off ? ends_us : begins_us);
    return s->is_off != was_off;
}
