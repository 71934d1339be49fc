/* divergence.h - how far this node knows its replicas to be apart: for each range of the ring the
 * age of the oldest write that may not be on all of its replicas.
 *
 *     writes under way    sent, and neither acknowledged nor hinted    ranges: all
 *     hints               pending for a target                        those the target has a copy
 * of unknown ranges      a hint was refused; a sudden death          themselves, until repaired
 *
 * The age is never below the true one as far as this node coordinated; it may be above: a target's
 * oldest hint of a table counts for each of its ranges.  `rondo divergence` asks every node and
 * takes the greatest.  Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/missing.h"

/* The whole answer of GET /api/v1/divergence; the errands (errand_missing) are home and went well.
 */
void divergence_json(struct shard *, const struct errands *, struct buf *out);

/* What this shard alone knows: milliseconds; 0: nothing is known to be apart. */
struct divergence {
    uint64_t hints_ms, unknown_ms, under_way_ms;
};
void divergence_of_shard(const struct shard *, struct divergence *out);
/* The greatest of them. */
uint64_t divergence_of_shard_ms(const struct shard *);
