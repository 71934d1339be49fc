/* skew.h - how far this node's clock is from its peers', by what they say the time is.
 *
 * A peer's offset is its clock less ours at the same moment: half a round-trip before its answer
 * came.  This node is off by the median of those offsets; of an even number, the one of the middle
 * two that is nearer to us counts, so that of three nodes one wrong clock does not accuse the
 * others.  Past 500 ms it is said, until it is below 400 ms again.  Pure.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/ring.h"

struct skew_peer {
    bool is_known;
    int64_t offset_us;
    uint64_t round_trip_ns;
};
struct skew {
    struct skew_peer peers[NODES_MAX]; /* [number - 1] */
    int64_t off_us;                    /* our clock less the peers' median; 0: nobody to compare */
    bool is_off;
};
/* A peer said `theirs_us` in an answer to what was sent at `sent_us` by our clock and came back
 * after that long.  An answer that took more than a second says nothing. */
void skew_heard(struct skew *, unsigned node, int64_t sent_us, int64_t theirs_us,
                uint64_t round_trip_ns);
/* Judges by the peers that are up; true when is_off has changed. */
bool skew_judge(struct skew *, const struct ring *, unsigned self);
