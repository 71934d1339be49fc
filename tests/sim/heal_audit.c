/* heal_audit.c - what the nodes of sim_heal say of themselves: books, hints, unknown ranges, and
 * how far apart they take their replicas to be.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/divergence.h"
#include "tests/sim/heal.h"

static const uint64_t clocks_ms = 5000; /* by so much clocks may have jumped meanwhile */

static void add_in_flight(void *context, unsigned target, const struct coordinator_book *b)
{
    uint64_t *sum = context;
    (void)target;
    *sum += b->in_flight;
}

uint64_t heal_pending(struct heal *h)
{
    uint64_t pending = 0;
    for (int i = 0; i < RING_NODES; i++)
        for (int s = 0; s < h->ring.nodes[i].shards; s++) {
            struct hints_counts counts = { 0 };
            coordinator_books(heal_shard(h, i, s)->coordinator, add_in_flight, &pending);
            hints_counts(heal_shard(h, i, s)->hints, &counts);
            pending += counts.pending;
        }
    return pending;
}

struct audit {
    struct heal *heal;
    int node;
};

static void tell_book(void *context, const struct hint_book *b)
{
    const struct audit *a = context;
    if (b->pending)
        heal_note(a->heal, "node %d has %llu hints for node %u, the oldest of %lld ms", a->node + 1,
                  (unsigned long long)b->pending, b->target,
                  (long long)(io_wall(heal_shard(a->heal, a->node, 0)->io) - b->oldest_us) / 1000);
}

void heal_tell_hints(struct heal *h)
{
    for (int i = 0; i < RING_NODES; i++)
        for (int s = 0; s < h->ring.nodes[i].shards; s++) {
            struct audit audit = { h, i };
            hints_each(heal_shard(h, i, s)->hints, tell_book, &audit);
        }
}

static void check_book(void *context, unsigned target, const struct coordinator_book *b)
{
    const struct audit *a = context;
    uint64_t refused = 0;
    for (int i = 0; i < HINT_REFUSALS_COUNT; i++)
        refused += b->refused[i];
    if (b->sent != b->in_flight + b->acked + b->hinted + b->withdrawn + refused)
        heal_fail("node %d: the mutations for node %u do not balance", a->node + 1, target);
    if (b->in_flight)
        heal_fail("node %d: %llu mutations for node %u are in flight, after all", a->node + 1,
                  (unsigned long long)b->in_flight, target);
}

static void check_hint_book(void *context, const struct hint_book *b)
{
    const struct audit *a = context;
    uint64_t dropped = 0;
    for (int i = 0; i < HINT_DROPS_COUNT; i++)
        dropped += b->dropped[i];
    if (b->written != b->delivered + b->pending + b->expired + dropped)
        heal_fail("node %d: the hints for node %u do not balance", a->node + 1, b->target);
}

void heal_check_books(struct heal *h)
{
    for (int i = 0; i < RING_NODES; i++)
        for (int s = 0; s < h->ring.nodes[i].shards; s++) {
            struct audit audit = { h, i };
            coordinator_books(heal_shard(h, i, s)->coordinator, check_book, &audit);
            hints_each(heal_shard(h, i, s)->hints, check_hint_book, &audit);
        }
}

bool heal_is_any_unknown(struct heal *h)
{
    struct owed_counts counts;
    uint64_t unknown = 0;
    for (int i = 0; i < RING_NODES; i++)
        for (int s = 0; s < h->ring.nodes[i].shards; s++) {
            owed_counts(heal_shard(h, i, s)->owed, &counts);
            unknown += counts.unknown;
        }
    return unknown > 0;
}

uint64_t heal_divergence_ms(struct heal *h)
{
    uint64_t ms = 0;
    for (int i = 0; i < RING_NODES; i++)
        for (int s = 0; s < h->ring.nodes[i].shards; s++)
            ms = u64_max(ms, divergence_of_shard_ms(heal_shard(h, i, s)));
    return ms;
}

/* The version of a cell that a copy has; NULL: none. */
static const struct version *version_of(const struct heal *h, int cell, int64_t value)
{
    for (size_t i = 0; i < h->history.versions_count; i++) {
        const struct version *v = &h->history.versions[i];
        if (v->cell == cell && !v->is_delete && v->value == value)
            return v;
    }
    return NULL;
}

/* May nothing be there, since a deletion that is newer has come to this copy? */
static bool may_be_gone(const struct heal *h, const struct version *known)
{
    for (size_t i = 0; i < h->history.versions_count; i++) {
        const struct version *v = &h->history.versions[i];
        if (v->cell == known->cell && v->is_delete && v->is_sent && !version_is_newer(known, v))
            return true;
    }
    return false;
}

bool heal_is_told_old_enough(struct heal *h, struct heal_work *w, uint64_t told_ms, uint64_t now_ns,
                             char why[300])
{
    const struct version *has[HEAL_ROWS] = { NULL };
    const struct answer_rows *rows = &w->client.result.rows;
    struct cursor at = rows->rows;
    for (uint32_t i = 0; i < rows->rows_count; i++) {
        int64_t c = heal_number(&at), value = heal_number(&at);
        has[c % HEAL_ROWS] = version_of(h, w->key * HEAL_ROWS + (int)c, value);
    }
    for (int c = 0; c < HEAL_ROWS; c++) {
        int newest = h->history.floor[w->key * HEAL_ROWS + c];
        const struct version *known = newest < 0 ? NULL : &h->history.versions[newest];
        bool is_whole = !known || !known->known_ns || (!has[c] && may_be_gone(h, known)) ||
                        (has[c] && !version_is_newer(known, has[c]));
        uint64_t age_ms = is_whole ? 0 : (now_ns - known->known_ns) / 1000000;
        if (is_whole || (told_ms > 0 && told_ms + clocks_ms >= age_ms))
            continue;
        snprintf(why, 300,
                 "cell %d lacks what was acknowledged %llu ms ago, but divergence is %llu ms",
                 w->key * HEAL_ROWS + c, (unsigned long long)age_ms, (unsigned long long)told_ms);
        return false;
    }
    return true;
}
