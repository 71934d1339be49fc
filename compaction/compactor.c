/* compactor.c - see compactor.h: the op that looks at what has changed, begins what is most urgent,
 * and rests.
 *
 *     open ──> opened ──> look ──> start ──> rest ──> look ...
 *                          ^  └──────┘ (a table a step; each start changes a table)
 *     close: ... ──> halt ──> shut ──> ended
 *
 * It is woken by the store (a flush, an import, the end of a compaction: store_policy.changed), by
 * the catalog (ALTER, DROP), by whoever asks, and by time: every table is looked at once a minute,
 * for what becomes due without a change (expired files, tombstones past gc_grace).  Cassandra's
 * first such look is five minutes after a start; here nothing speaks against a minute.
 *
 * Invariants:
 *   1. A pick is begun in the state of the table that it was made from: whatever changes the table
 *      sets must_look, and a table that must be looked at begins nothing.
 *   2. At most at_once run, and one beyond them (compactor_has_room).
 *   3. It ends only when every run and every ask has ended.
 *
 * It is a background op, and a step deals with one table, so many tables delay no request.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "compaction/compactor_inside.h"

enum { OPEN, OPENED, LOOK, START, REST, HALT, SHUT };
enum { SMALL_PART = 16 };
static const uint64_t minute_ns = 60 * 1000000000ull, tick_ns = 1000000000ull;

static struct compactor *compactor_of(struct op *op) { return owner_of(op, struct compactor, op); }

void compactor_wake(struct compactor *c) { op_wake(&c->op); }

/* ---- may it begin? ---- */

/* A large compaction may take hours, and small ones that wait for it let files pile up.  There is
 * no thread to wait for, only memory and the shared pace: so one may begin beyond at_once. */
static bool extra_is_taken(const struct compactor *c)
{
    for (const struct list *l = c->runs.next; l != &c->runs; l = l->next)
        if (owner_of(l, struct run, link)->is_extra)
            return true;
    return false;
}

static bool is_small(const struct compactor *c, uint64_t bytes)
{
    for (const struct list *l = c->runs.next; l != &c->runs; l = l->next)
        if (bytes * SMALL_PART > run_ahead_bytes(owner_of(l, struct run, link)))
            return false;
    return true;
}

static bool asks_run(const struct compactor *c)
{
    for (const struct list *l = c->runs.next; l != &c->runs; l = l->next)
        if (owner_of(l, struct run, link)->ask)
            return true;
    return false;
}

bool compactor_has_room(const struct compactor *c, const struct asking *ask, uint64_t bytes,
                        bool *is_extra)
{
    bool is_taken = extra_is_taken(c);
    *is_extra = false;
    if (runs_of(c, NULL) - is_taken < c->options.at_once)
        return true;
    *is_extra = true;
    return !is_taken && (ask ? !asks_run(c) : is_small(c, bytes));
}

/* ---- look ---- */

static struct tended *next_look(struct compactor *c)
{
    size_t at = 0;
    for (struct tended *t; (t = map_next(&c->tables, &at));)
        if (t->must_look)
            return t;
    return NULL;
}

static struct op_next compactor_look(struct op *op)
{
    struct compactor *c = compactor_of(op);
    if (c->is_closing)
        return op_goto(HALT);
    if (c->catalog_epoch != c->options.catalog->epoch)
        tended_sync(c);
    struct tended *t = next_look(c);
    if (!t)
        return op_goto(START);
    look_at(c, t);
    return op_yield(LOOK);
}

/* ---- start ---- */

static uint64_t pick_bytes(const struct tended_group *g)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < g->pick.count && g->pick.kind != COMPACTION_RELEVEL; i++)
        bytes += g->now.files[g->pick.files[i]].bytes;
    return bytes;
}

static bool may_start(const struct compactor *c, const struct tended_group *g)
{
    bool is_extra;
    return g->has_pick && compactor_has_room(c, NULL, pick_bytes(g), &is_extra);
}

static struct tended_group *most_urgent(const struct compactor *c, struct tended **of)
{
    struct tended_group *best = NULL;
    size_t at = 0;
    for (struct tended *t; (t = map_next(&c->tables, &at));)
        for (struct list *l = t->groups.next; l != &t->groups; l = l->next) {
            struct tended_group *g = owner_of(l, struct tended_group, link);
            if (tended_is_off(t) || !may_start(c, g) ||
                (best && g->pick.priority <= best->pick.priority))
                continue;
            best = g;
            *of = t;
        }
    return best;
}

static struct op_next compactor_start(struct op *op)
{
    struct compactor *c = compactor_of(op);
    struct tended *t = NULL;
    struct tended_group *g = most_urgent(c, &t);
    if (!g)
        return op_goto(REST);
    const struct look_group look = { .id = g->id, .now = g->now };
    run_start(c, t, &look, &g->pick, &t->picks, NULL);
    tended_drop_picks(t);
    t->must_look = true;
    return op_yield(LOOK);
}

/* ---- rest ---- */

bool compactor_is_quiet(const struct compactor *c)
{
    size_t at = 0;
    if (!list_empty(&c->runs) || askings_compact(c) ||
        c->catalog_epoch != c->options.catalog->epoch)
        return false;
    for (const struct tended *t; (t = map_next(&c->tables, &at));) {
        bool has_pick = false;
        for (const struct list *l = t->groups.next; l != &t->groups; l = l->next)
            has_pick |= owner_of(l, struct tended_group, link)->has_pick;
        if (t->must_look || has_pick)
            return false;
    }
    return true;
}

/* Whose rest is over is looked at; the next time at which anything is to be done. */
static uint64_t next_ns(struct compactor *c, uint64_t now)
{
    uint64_t next = c->look_at_ns;
    size_t at = 0;
    for (struct tended *t; (t = map_next(&c->tables, &at));)
        for (struct list *l = t->groups.next; l != &t->groups; l = l->next) {
            struct tended_group *g = owner_of(l, struct tended_group, link);
            if (g->rests_until_ns && g->rests_until_ns <= now) {
                g->rests_until_ns = 0;
                t->must_look = true;
            } else if (g->rests_until_ns) {
                next = u64_min(next, g->rests_until_ns);
            }
        }
    return next;
}

static void look_at_all(struct compactor *c)
{
    size_t at = 0;
    for (struct tended *t; (t = map_next(&c->tables, &at));)
        t->must_look = true;
    c->look_at_ns = io_now(c->io) + minute_ns;
}

static void nap_until(struct compactor *c, uint64_t now, uint64_t until)
{
    if (c->nap.busy && c->nap_until_ns > until)
        io_cancel(c->io, &c->nap); /* wakes, and then it naps as long as it should */
    if (c->nap.busy)
        return;
    c->nap_until_ns = until;
    io_sleep(c->io, &c->nap, &c->op, until - now);
}

static struct op_next compactor_rest(struct op *op)
{
    struct compactor *c = compactor_of(op);
    uint64_t now = io_now(c->io);
    if (c->is_closing)
        return op_goto(HALT);
    if (now >= c->look_at_ns)
        look_at_all(c);
    uint64_t next = next_ns(c, now);
    if (next_look(c) || c->catalog_epoch != c->options.catalog->epoch)
        return op_goto(LOOK);
    if (pace_tick(c))
        next = u64_min(next, now + tick_ns);
    askings_wake(c);
    nap_until(c, now, next);
    return op_wait(REST);
}

/* ---- the beginning ---- */

static void average_found(void *context, const struct uuid *table, double bytes)
{
    struct compactor *c = context;
    struct tended *t = tended_of(c, table);
    if (!t)
        return; /* dropped since */
    strategy_set_flush_average(tended_first(t)->strategy, bytes);
    t->noted_average = bytes;
}

static void averages_wanted(void *context)
{
    struct compactor *c = context;
    size_t at = 0;
    for (struct tended *t; (t = map_next(&c->tables, &at));)
        tended_note_average(c, t, -1);
}

static struct op_next compactor_open_notes(struct op *op)
{
    struct compactor *c = compactor_of(op);
    const struct notes_options options = { .folder = c->options.folder,
                                           .context = c,
                                           .average = average_found,
                                           .averages = averages_wanted };
    notes_open(&c->notes, c->io, &c->req, op, &options);
    return op_wait(OPENED);
}

static struct op_next compactor_opened(struct op *op)
{
    struct compactor *c = compactor_of(op);
    if (c->req.busy)
        return op_wait(OPENED);
    tended_sync(c);
    tended_set_policy(c);
    c->look_at_ns = io_now(c->io) + minute_ns;
    *c->out = c;
    io_req_end(c->opening, OK);
    return op_goto(LOOK);
}

/* ---- the end ---- */

static struct op_next compactor_halt(struct op *op)
{
    struct compactor *c = compactor_of(op);
    size_t at = 0;
    if (c->nap.busy)
        io_cancel(c->io, &c->nap);
    list_each(l, &c->runs) op_stop(&owner_of(l, struct run, link)->op, ERR_STOPPED);
    if (c->nap.busy || !list_empty(&c->runs) || !list_empty(&c->asks))
        return op_wait(HALT);
    for (struct tended *t; (t = map_next(&c->tables, &at));)
        tended_note_average(c, t, 0);
    notes_close(&c->notes, &c->req, op);
    return op_wait(SHUT);
}

static struct op_next compactor_shut(struct op *op)
{
    return compactor_of(op)->req.busy ? op_wait(SHUT) : op_end(op, OK);
}

static const struct op_state states[] = {
    [OPEN] = { "compactor open", compactor_open_notes, TO(OPENED) },
    [OPENED] = { "compactor opened", compactor_opened, TO(LOOK) },
    [LOOK] = { "compactor look", compactor_look, TO(START) | TO(HALT) },
    [START] = { "compactor start", compactor_start, TO(LOOK) | TO(REST) },
    [REST] = { "compactor rest", compactor_rest, TO(LOOK) | TO(HALT) },
    [HALT] = { "compactor halt", compactor_halt, TO(SHUT) },
    [SHUT] = { "compactor shut", compactor_shut, 0 },
};

static void compactor_release(struct op *op)
{
    struct compactor *c = compactor_of(op);
    struct io_req *done = c->closing;
    tended_free_all(c);
    arena_deinit(&c->arena);
    mem_free(c);
    io_req_end(done, OK);
}

void compactor_open(struct io *io, struct io_req *req, struct op *op,
                    const struct compactor_options *options, struct compactor **out,
                    struct report *failed)
{
    struct compactor *c = mem_zalloc(sizeof *c);
    ensure(options->at_once > 0);
    report_clear(failed);
    c->io = io, c->options = *options, c->out = out, c->opening = req;
    if (options->folder)
        c->options.folder = arena_text(&c->arena, bytes_text(options->folder));
    c->chance.state = io_random(io);
    c->pace.bytes_per_second = options->bytes_per_second;
    list_init(&c->runs);
    list_init(&c->asks);
    io_req_begin(req, op);
    op_start_background(&c->op, io_ops(io), NULL, states, compactor_release);
}

void compactor_close(struct compactor **compactor, struct io_req *req, struct op *op)
{
    struct compactor *c = *compactor;
    *compactor = NULL;
    c->is_closing = true;
    c->closing = req;
    store_set_policy(c->options.store, NULL);
    store_slow_writes(c->options.store, 0);
    askings_stop(c);
    io_req_begin(req, op);
    compactor_wake(c);
}

/* ---- what may be changed ---- */

void compactor_catalog_changed(struct compactor *c) { compactor_wake(c); }

static void enable_one(struct tended *t, bool is_on)
{
    t->is_off = !is_on;
    t->must_look = true;
}

void compactor_enable(struct compactor *c, const struct uuid *table, bool is_on)
{
    size_t at = 0;
    if (table) {
        struct tended *one = tended_of(c, table);
        if (one)
            enable_one(one, is_on);
    } else {
        c->is_all_off = !is_on;
        for (struct tended *t; (t = map_next(&c->tables, &at));)
            enable_one(t, is_on);
    }
    compactor_wake(c);
}

bool compactor_is_enabled(const struct compactor *c, const struct uuid *table)
{
    const struct tended *t =
        table ? map_get(&c->tables, bytes_of(table->b, sizeof table->b)) : NULL;
    return t ? !t->is_off : !c->is_all_off;
}

void compactor_set_throughput(struct compactor *c, uint64_t bytes_per_second)
{
    pace_set(c, bytes_per_second);
}

void compactor_set_at_once(struct compactor *c, unsigned at_once)
{
    ensure(at_once > 0);
    c->options.at_once = at_once;
    look_at_all(c);
    compactor_wake(c);
}
