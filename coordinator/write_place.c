/* write_place.c - where a mutation is with each of its replicas, and the books of that.
 *
 *     begin ──> in flight ──┬── a reply: yes ────────────────> acknowledged <──┐
 *                           │                                                  │ late
 *                           ├── down, too late, failed, overloaded ──> a hint ─┤
 *                           │                                kept: hinted ─────┤
 *                           │                                not:  refused ────┘
 *                           └── nobody has it: refused (withdrawn)
 *
 * So, for each target, at every moment:
 *
 *     sent = in flight + acknowledged + hinted + refused
 *     hints written since the start, for these mutations = hinted + late
 *
 * `late` counts mutations that were acknowledged although a hint was kept for them; the hint is
 * delivered all the same.
 *
 * A replica that says that it is overloaded has done nothing.  As long as all others may say the
 * same, no hint is kept for it: were it so, nobody would have the mutation, and the client could be
 * told.  As soon as one has it, or may have it, the overloaded ones need theirs.
 *
 * Invariants: 1. each replica that is in `sent` is in one place.  2. a hint is kept at most once.
 * 3. the range of a refused mutation is unknown (owed.h) before the write is over.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/write.h"

/* ---- books ---- */

static uint64_t book_refused(const struct coordinator_book *b)
{
    uint64_t refused = b->withdrawn;
    for (int i = 0; i < HINT_REFUSALS_COUNT; i++)
        refused += b->refused[i];
    return refused;
}

static uint64_t *book_place(struct coordinator_book *b, enum write_place place, unsigned why)
{
    switch (place) {
    case WRITE_IN_FLIGHT:
        return &b->in_flight;
    case WRITE_ACKED:
        return &b->acked;
    case WRITE_HINTED:
        return &b->hinted;
    case WRITE_REFUSED:
        return why < HINT_REFUSALS_COUNT ? &b->refused[why] : &b->withdrawn;
    case WRITE_PLACES:
        break;
    }
    ensure(false);
    return NULL;
}

static struct coordinator_book *write_book(struct write *w, size_t i)
{
    unsigned node = w->replicas.nodes[i];
    ensure(node >= 1 && node <= NODES_MAX);
    return &w->task.c->books[node - 1];
}

static enum write_place write_place_of(const struct write *w, size_t i)
{
    enum write_place place = WRITE_IN_FLIGHT;
    while (!(w->in[place] >> i & 1)) {
        place++;
        ensure(place < WRITE_PLACES);
    }
    return place;
}

static void write_move(struct write *w, size_t i, enum write_place to, unsigned why)
{
    struct coordinator_book *b = write_book(w, i);
    enum write_place from = write_place_of(w, i);
    uint64_t *was = book_place(b, from, w->why[i]);
    ensure(*was > 0 && from != to);
    --*was;
    ++*book_place(b, to, why);
    w->why[i] = (uint8_t)why;
    w->in[from] &= ~(1u << i);
    w->in[to] |= 1u << i;
    ensure(b->sent == b->in_flight + b->acked + b->hinted + book_refused(b));
}

void coordinator_books(const struct coordinator *c,
                       void (*each)(void *context, unsigned node, const struct coordinator_book *),
                       void *context)
{
    for (unsigned node = 1; node <= NODES_MAX; node++)
        if (c->books[node - 1].sent)
            each(context, node, &c->books[node - 1]);
}

void coordinator_book_add(struct coordinator_book *into, const struct coordinator_book *from)
{
    into->sent += from->sent;
    into->in_flight += from->in_flight;
    into->acked += from->acked;
    into->hinted += from->hinted;
    into->withdrawn += from->withdrawn;
    into->late += from->late;
    into->early += from->early;
    for (int i = 0; i < HINT_REFUSALS_COUNT; i++)
        into->refused[i] += from->refused[i];
}

/* ---- replies ---- */

void write_place_begin(struct write *w, size_t i)
{
    struct coordinator_book *b = write_book(w, i);
    ensure(!(w->sent >> i & 1));
    w->sent |= 1u << i;
    w->in[WRITE_IN_FLIGHT] |= 1u << i;
    b->sent++;
    b->in_flight++;
}

static bool has_hint(const struct write *w, size_t i)
{
    return w->keeps[i] && !w->keeps[i]->req.busy && w->keeps[i]->req.err == OK;
}

void write_place_reply(struct write *w, size_t i, enum err err, bool is_synced)
{
    unsigned bit = 1u << i;
    ensure(!((w->in[WRITE_ACKED] | w->failed) & bit));
    w->open &= ~bit;
    w->errs[i] = (uint8_t)err;
    if (err == OK) {
        w->synced |= is_synced ? bit : 0;
        w->task.c->counts.late_acks += !w->done;
        if (!(w->keeping & bit)) /* else it is said when the hint is there */
            write_book(w, i)->late += has_hint(w, i);
        write_move(w, i, WRITE_ACKED, 0);
        return;
    }
    w->failed |= bit;
    w->refused |= is_refusal(err) ? bit : 0;
    w->overloaded |= err == ERR_OVERLOADED ? bit : 0;
}

bool write_place_is_somewhere(const struct write *w)
{
    return w->in[WRITE_ACKED] | w->in[WRITE_HINTED] | w->in[WRITE_REFUSED] | w->keeping |
           (w->failed & ~w->overloaded);
}

void write_place_withdraw(struct write *w)
{
    ensure(w->sent == w->overloaded && w->sent == w->in[WRITE_IN_FLIGHT]);
    for (size_t i = 0; i < w->replicas.count; i++)
        write_move(w, i, WRITE_REFUSED, HINT_REFUSALS_COUNT);
}

/* ---- hints ---- */

static void write_refused(struct write *w, size_t i, enum hint_refusal why)
{
    struct coordinator *c = w->task.c;
    int64_t ago_us = (int64_t)((io_now(c->io) - w->begun_ns) / 1000);
    if (w->in[WRITE_ACKED] >> i & 1)
        return;
    write_move(w, i, WRITE_REFUSED, why);
    if (!c->options.owed)
        return;
    if (!w->hold.entry)
        owed_hold(c->options.owed, cluster_ring(c->cluster), w->token, &w->hold);
    owed_lose(c->options.owed, &w->hold, io_wall(c->io) - ago_us);
}

static void write_keep(struct write *w, size_t i)
{
    struct coordinator *c = w->task.c;
    struct mutation m;
    if (w->is_called_off)
        write_book(w, i)->early++;
    if (!c->options.hints) {
        write_refused(w, i, HINT_REFUSED_OFF);
        return;
    }
    if (uuid_is_zero(&w->table) && mutation_peek(w->mutation, &m) == OK)
        w->table = m.table;
    struct hint_keep *keep = arena_new(&w->arena, struct hint_keep);
    *keep = (struct hint_keep){ .target = w->replicas.nodes[i],
                                .table = w->table,
                                .token = w->token,
                                .mutation = w->mutation,
                                .begun_ns = w->begun_ns };
    w->keeps[i] = keep;
    w->keeping |= 1u << i;
    hints_keep(c->options.hints, keep, &w->task.op);
}

static void write_note_hint(struct write *w, size_t i)
{
    const struct hint_keep *keep = w->keeps[i];
    bool is_acked = w->in[WRITE_ACKED] >> i & 1;
    w->keeping &= ~(1u << i);
    if (keep->req.err != OK)
        write_refused(w, i, keep->req.err == ERR_REFUSED ? keep->why : HINT_REFUSED_DISK);
    else if (is_acked)
        write_book(w, i)->late++;
    else
        write_move(w, i, WRITE_HINTED, 0);
}

/* Those of whom no acknowledgement is awaited any more. */
static unsigned write_due(const struct write *w)
{
    unsigned waiting = w->in[WRITE_IN_FLIGHT] & ~w->keeping;
    bool is_any = w->level == LEVEL_ANY; /* a hint is as good as an acknowledgement */
    unsigned failed = w->failed & (is_any || write_place_is_somewhere(w) ? ~0u : ~w->overloaded);
    return waiting & (failed | (write_is_over(w) ? w->open : 0));
}

void write_place_look(struct write *w)
{
    for (size_t i = 0; w->keeping && i < w->replicas.count; i++)
        if (w->keeping >> i & 1 && !w->keeps[i]->req.busy)
            write_note_hint(w, i);
    unsigned due = write_due(w);
    for (size_t i = 0; due >> i; i++)
        if (due >> i & 1)
            write_keep(w, i);
    due = write_due(w); /* overloaded ones, now that it is somewhere */
    for (size_t i = 0; due >> i; i++)
        if (due >> i & 1)
            write_keep(w, i);
}
