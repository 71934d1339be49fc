/* gossiper.c - cluster/gossiper.c compiled again: who is taken for dead, and why, is counted. */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/liveness.h"
#include "tests/sim/watched/watched.h"

static enum liveness_change watched_step(struct liveness_table *l, unsigned node,
                                         enum liveness_event event, uint64_t now_ns)
{
    bool is_silent = liveness_phi(l, node, now_ns) >= l->convict;
    enum liveness_change change = liveness_step(l, node, event, now_ns);
    if (event == LIVENESS_TICK && change == LIVENESS_DOWN)
        watched[is_silent ? WATCHED_CONVICTED_BY_SILENCE : WATCHED_CONVICTED_BY_LOSS]++;
    return change;
}
#define liveness_step watched_step
#include "cluster/gossiper.c"
