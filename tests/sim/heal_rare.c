/* heal_rare.c - branches that few requests take, and that a storm has to reach all the same: where
 * a shard counts them, what it has counted before it ends; else what watched/ has seen.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/counts.h"
#include "tests/sim/heal.h"
#include "tests/sim/watched/watched.h"

/* X(name in node/counts.h) */
#define COUNTED_LIST(X)        \
    X(coordinator_unavailable) \
    X(coordinator_timeouts)    \
    X(coordinator_failures)    \
    X(coordinator_late_acks)   \
    X(coordinator_batches)     \
    X(batchlog_kept)           \
    X(batchlog_replayed)       \
    X(read_mismatches)         \
    X(read_repairs)            \
    X(read_repairs_failed)     \
    X(read_speculations)       \
    X(read_probes)             \
    X(mutations_refused)       \
    X(mutations_late)          \
    X(owed_failures)           \
    X(hints_written)           \
    X(hints_delivered)         \
    X(hints_expired)           \
    X(hints_refused)           \
    X(unapplied_late)          \
    X(store_refused)           \
    X(flushes)                 \
    X(flush_failures)          \
    X(writes_slowed)           \
    X(compaction_completed)    \
    X(compaction_failed)       \
    X(replayed_mutations)      \
    X(peer_timeouts)           \
    X(peer_dropped)            \
    X(peer_reconnects)

static const struct {
    enum counts_name at;
    const char *name;
} counted[] = {
#define X(name) { COUNT_##name, #name },
    COUNTED_LIST(X)
#undef X
};
static const char *const watched_names[WATCHED_COUNT] = {
#define X(name, text) text,
    WATCHED_LIST(X)
#undef X
};
enum { COUNTED = sizeof counted / sizeof *counted };
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

const char *heal_rare_name(size_t k)
{
    return k < COUNTED ? counted[k].name : watched_names[k - COUNTED];
}
