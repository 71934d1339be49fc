/* heal_rare.c - branches that few requests take, and that a storm has to reach all the same: where
 * a shard counts them, what it has counted before it ends; else what watched/ has seen.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/counts.h"
#include "tests/sim/heal.h"
#include "tests/sim/watched/watched.h"

/* X(name in node/counts.h, over so many seeds it has to have been there) */
#define COUNTED_LIST(X)            \
    X(coordinator_unavailable, 60) \
    X(coordinator_timeouts, 60)    \
    X(coordinator_failures, 60)    \
    X(coordinator_late_acks, 60)   \
    X(coordinator_batches, 60)     \
    X(batchlog_kept, 60)           \
    X(batchlog_replayed, 60)       \
    X(read_mismatches, 60)         \
    X(read_repairs, 60)            \
    X(read_repairs_failed, 60)     \
    X(read_speculations, 60)       \
    X(read_probes, 60)             \
    X(mutations_refused, 60)       \
    X(mutations_late, 500)         \
    X(owed_failures, 500)          \
    X(hints_written, 60)           \
    X(hints_delivered, 60)         \
    X(hints_expired, 60)           \
    X(hints_refused, 60)           \
    X(unapplied_late, 500)         \
    X(store_refused, 60)           \
    X(flushes, 60)                 \
    X(flush_failures, 60)          \
    X(writes_slowed, 500)          \
    X(compaction_completed, 60)    \
    X(compaction_failed, 500)      \
    X(replayed_mutations, 60)      \
    X(peer_timeouts, 60)           \
    X(peer_dropped, 60)            \
    X(peer_reconnects, 60)

static const struct {
    enum counts_name at;
    const char *name;
    unsigned seeds;
} counted[] = {
#define X(name, seeds) { COUNT_##name, #name, seeds },
    COUNTED_LIST(X)
#undef X
};
static const char *const watched_names[WATCHED_COUNT] = {
#define X(name, text) text,
    WATCHED_LIST(X)
#undef X
};
enum { COUNTED = sizeof counted / sizeof *counted, WATCHED_SEEDS = 60 };
_Static_assert(COUNTED + WATCHED_COUNT <= HEAL_RARE_MAX, "room for what is rare");

uint64_t watched[WATCHED_COUNT];

void heal_rare_take(struct heal *h, int node)
{
    for (int i = 0; i < h->ring.nodes[node].shards; i++) {
        struct shard *s = heal_shard(h, node, i);
        struct counts counts = { 0 };
        if (!s || !s->is_serving)
            continue;
        counts_take(s, &counts);
        if (counts.values[COUNT_read_repairs_needless])
            heal_fail("node %d: digests differed where no copy lacked anything", node + 1);
        for (size_t k = 0; k < COUNTED; k++)
            h->rare[k] += counts.values[counted[k].at];
    }
}

void heal_rare_watched(struct heal *h)
{
    for (size_t k = 0; k < WATCHED_COUNT; k++) {
        h->rare[COUNTED + k] += watched[k];
        watched[k] = 0;
    }
}

size_t heal_rare_count(void) { return COUNTED + WATCHED_COUNT; }

unsigned heal_rare_seeds(size_t k) { return k < COUNTED ? counted[k].seeds : WATCHED_SEEDS; }

const char *heal_rare_name(size_t k)
{
    return k < COUNTED ? counted[k].name : watched_names[k - COUNTED];
}
