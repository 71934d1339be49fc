/* clearing.h - ranges that were unknown are known again: told to every shard of every node, once a
 * repair has made the replicas equal.  Private to node/.
 *
 * Clocks of nodes differ, so what is sent is how long ago the repair began, not when.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/errand.h"

struct clearing { /* a leaf: embed it in the op that waits */
    struct io_req req;
    struct shard *shard;
    struct owed_range range;
    uint64_t began_ns; /* io_now, before the repair read anything */
    unsigned node;     /* not OK: for this one, at least, the range stays unknown */
};
/* Tells all of them; completes with OK when all have it on disk, else with how one of them failed:
 * ERR_UNAVAILABLE (it is down), ERR_TIMEOUT (no answer within ten seconds), what its disk said. */
void clearing_start(struct clearing *, struct op *);
/* Another node says so (VERB_REPAIR): the same for this node's shards.  ERR_CORRUPT, and nothing
 * was begun. */
enum err clearing_serve(struct shard *, struct io_req *, struct op *, struct bytes body,
                        uint64_t deadline_ns);
