/* heal_audit.c - what the nodes of sim_heal say of themselves: books, hints, unknown ranges, and
 * how far apart they take their replicas to be.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/divergence.h"
#include "tests/sim/books.h"
#include "tests/sim/heal.h"

/* Calls `look` with every shard that serves. */
static void each_shard(struct heal *h, void (*look)(void *context, int node, struct shard *),
                       void *context)
{
    for (int node = 0; node < RING_NODES; node++)
        for (int i = 0; i < h->ring.nodes[node].shards; i++) {
            struct shard *s = heal_shard(h, node, i);
            if (s && s->is_serving)
                look(context, node, s);
        }
}

/* ---- hints ---- */

static void add_in_flight(void *context, unsigned target, const struct coordinator_book *b)
{
    uint64_t *sum = context;
    (void)target;
    *sum += b->in_flight;
}

static void add_pending(void *context, int node, struct shard *s)
{
    uint64_t *sum = context;
    struct hints_counts counts = { 0 };
    (void)node;
    coordinator_books(s->coordinator, add_in_flight, sum);
    hints_counts(s->hints, &counts);
    *sum += counts.pending;
}

uint64_t heal_pending(struct heal *h)
{
    uint64_t pending = 0;
    each_shard(h, add_pending, &pending);
    return pending;
}

static void add_busy(void *context, int node, struct shard *s)
{
    bool *is_busy = context;
    struct coordinator_counts c;
    struct owed_counts owed;
    struct batchlog_counts batches = { 0 };
    (void)node;
    coordinator_counts(s->coordinator, &c);
    owed_counts(s->owed, &owed);
    if (s->batchlog)
        batchlog_counts(s->batchlog, &batches);
    *is_busy |= c.in_flight || c.bytes || owed.holds || owed.ranges || batches.pending;
}

bool heal_is_busy(struct heal *h)
{
    bool is_busy = false;
    each_shard(h, add_busy, &is_busy);
    return is_busy;
}

struct audit {
    struct heal *heal;
    bool is_quiet;
    int node;
    struct shard *shard;
    uint64_t hinted[NODES_MAX + 1]; /* by target, as the coordinator knows */
};

static void tell_book(void *context, const struct hint_book *b)
{
    const struct audit *a = context;
    if (b->pending)
        heal_note(a->heal, "node %d has %llu hints for node %u, the oldest of %lld ms", a->node + 1,
                  (unsigned long long)b->pending, b->target,
                  (long long)(io_wall(a->shard->io) - b->oldest_us) / 1000);
}

static void tell_shard(void *context, int node, struct shard *s)
{
    struct audit *a = context;
    a->node = node;
    a->shard = s;
    hints_each(s->hints, tell_book, a);
}

void heal_tell_hints(struct heal *h)
{
    struct audit audit = { .heal = h };
    each_shard(h, tell_shard, &audit);
}

/* ---- books ---- */

static void check_book(void *context, unsigned target, const struct coordinator_book *b)
{
    struct audit *a = context;
    if (!books_mutations_balance(b))
        heal_fail("node %d: the mutations for node %u do not balance", a->node + 1, target);
    if (b->in_flight && a->is_quiet)
        heal_fail("node %d: %llu mutations for node %u are in flight, after all", a->node + 1,
                  (unsigned long long)b->in_flight, target);
    a->hinted[target] = b->hinted + b->late;
}

/* A node that was born again has hints that are older than its coordinator. */
static void check_hint_book(void *context, const struct hint_book *b)
{
    const struct audit *a = context;
    if (!books_hints_balance(b))
        heal_fail("node %d: the hints for node %u do not balance", a->node + 1, b->target);
    bool is_reborn = a->heal->reborn >> a->node & 1;
    if (!is_reborn && b->written != a->hinted[b->target]) /* there is one table */
        heal_fail("node %d: %llu hints were written for node %u, and %llu mutations were hinted",
                  a->node + 1, (unsigned long long)b->written, b->target,
                  (unsigned long long)a->hinted[b->target]);
}

static void check_shard(void *context, int node, struct shard *s)
{
    struct audit *a = context;
    a->node = node;
    memset(a->hinted, 0, sizeof a->hinted);
    coordinator_books(s->coordinator, check_book, a);
    hints_each(s->hints, check_hint_book, a);
}

void heal_check_books(struct heal *h, bool is_quiet)
{
    struct audit audit = { .heal = h, .is_quiet = is_quiet };
    each_shard(h, check_shard, &audit);
}

/* ---- unknown ranges, divergence ---- */

static void add_unknown(void *context, int node, struct shard *s)
{
    uint64_t *sum = context;
    struct owed_counts counts;
    (void)node;
    owed_counts(s->owed, &counts);
    *sum += counts.unknown;
}

bool heal_is_any_unknown(struct heal *h)
{
    uint64_t unknown = 0;
    each_shard(h, add_unknown, &unknown);
    return unknown > 0;
}

static void most_apart(void *context, int node, struct shard *s)
{
    uint64_t *ms = context;
    (void)node;
    *ms = u64_max(*ms, divergence_of_shard_ms(s));
}

static void tell_unknown(void *context, const struct owed_unknown *u)
{
    const struct audit *a = context;
    heal_note(a->heal, "node %d shard %d: unknown (%lld, %lld] since %lld us, again at %lld",
              a->node + 1, io_self(a->shard->io), (long long)u->range.after,
              (long long)u->range.upto, (long long)u->since_us, (long long)u->latest_us);
}

static void tell_apart(void *context, int node, struct shard *s)
{
    struct audit *a = context;
    struct divergence d;
    a->node = node, a->shard = s;
    divergence_of_shard(s, &d);
    if (d.hints_ms || d.unknown_ms || d.under_way_ms)
        heal_note(a->heal, "node %d shard %d: %llu ms by hints, %llu by unknown, %llu under way",
                  node + 1, io_self(s->io), (unsigned long long)d.hints_ms,
                  (unsigned long long)d.unknown_ms, (unsigned long long)d.under_way_ms);
    owed_unknown_each(s->owed, tell_unknown, a);
}

void heal_tell_divergence(struct heal *h)
{
    struct audit audit = { .heal = h };
    each_shard(h, tell_apart, &audit);
}

uint64_t heal_divergence_ms(struct heal *h)
{
    uint64_t ms = 0;
    each_shard(h, most_apart, &ms);
    return ms;
}

/* The one that was acknowledged first of those that the copy lacks; NULL: it lacks none. */
static const struct version *oldest_missing(const struct heal *h, int cell,
                                            const struct version *has)
{
    const struct version *oldest = NULL;
    for (size_t i = 0; i < h->history.versions_count; i++) {
        const struct version *v = &h->history.versions[i];
        bool is_missing = v->cell == cell && v->known_ns &&
                          (has->is_sent ? version_is_newer(v, has) : !heal_may_be_purged(h, v));
        if (is_missing && (!oldest || v->known_ns < oldest->known_ns))
            oldest = v;
    }
    return oldest;
}

/* Ages are differences of a node's clock, which was set back or forth in between by at most as much
 * as the clock of one was; the 2 ms are for what is rounded. */
static void check_copy(struct heal *h, int node, int key, uint64_t told_ms)
{
    struct heal_copy copy;
    if (!heal_is_replica(h, node, key) || !heal_copy_read(h, node, key, &copy))
        return;
    uint64_t now = sim_now(h->ring.sim), slack_ms = heal_shift_ns(h) / 1000000 + 2;
    h->counts.audits++;
    for (int c = 0; c < HEAL_ROWS; c++) {
        const struct version *v = oldest_missing(h, key * HEAL_ROWS + c, &copy.cells[c]);
        uint64_t age_ms = v ? (now - v->known_ns) / 1000000 : 0;
        h->counts.lacking += v != NULL;
        if (!v || (told_ms > 0 && told_ms + slack_ms >= age_ms))
            continue;
        heal_tell_hints(h);
        heal_fail(
            "node %d: cell %d lacks what was acknowledged %llu ms ago, but divergence is %llu "
            "ms",
            node + 1, v->cell, (unsigned long long)age_ms, (unsigned long long)told_ms);
    }
}

void heal_check_divergence(struct heal *h)
{
    uint64_t told_ms = heal_divergence_ms(h);
    for (int node = 0; node < RING_NODES; node++)
        for (int key = 0; key < HEAL_KEYS; key++)
            check_copy(h, node, key, told_ms);
}
