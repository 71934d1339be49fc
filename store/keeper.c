/* keeper.c - decides when memtables are flushed and what the commit log may forget.
 *
 *     watch ──> watch ──> ...  ──(stopped, no flush under way)──> leave ──> ended
 *       ^ woken: memory has grown, the log has grown, a flush has ended, somebody asks, time is up
 *
 * A table is flushed
 *   - when somebody asks for it (store_flush, a start that found old folders);
 *   - when all memtables together pass half of the budget: the table with the most in its active
 *     memtable; another one meanwhile only if the active ones hold a quarter of the budget again,
 *     so that a slow disk does not lead to many small files;
 *   - when the commit log has reached three quarters of its limit: the tables that need its oldest
 *     segment;
 *   - when its memtable_flush_period_in_ms is over.
 *
 * At most FLUSHES_MAX run at once, one of a table; a table's memtables are flushed in the order in
 * which they were frozen.  One that failed is tried again when its pause is over (flush.c).
 *
 * The log forgets what stands before the first record that a memtable needs, and before what is
 * still under way; and only once the node is settled: until then others may be reading its folder.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "io/log.h"
#include "store/inside.h"

enum { WATCH, LEAVE };
enum { FLUSHES_MAX = 2 };

struct flush_ask {
    struct op op;
    struct list link; /* of the keeper's asks, or by itself once it has ended */
    struct store *store;
    struct io_req *done;
    struct report *failed;
    struct arena arena;
    size_t count;
    struct flush_wish {
        struct uuid table;
        uint64_t number;   /* memtables up to this one */
        unsigned failures; /* of the table, when it was asked */
    } * wishes;
};

static struct store *store_of(struct op *op) { return owner_of(op, struct store, keeper.op); }

/* ---- what is to be flushed ---- */

static void want(struct table_data *d)
{
    uint64_t number = data_freeze(d);
    if (number > d->wanted)
        d->wanted = number;
}

static bool is_wanted(const struct table_data *d) { return d->wanted > d->flushed; }

static struct table_data *largest_active(const struct store *s, uint64_t *sum)
{
    struct table_data *largest = NULL;
    size_t at = 0;
    *sum = 0;
    for (struct table_data *d; (d = map_next(&s->tables, &at));) {
        bool has_rows = d->view->active->memtable.partitions.count > 0;
        *sum += data_active_bytes(d);
        if (has_rows && !d->holds &&
            (!largest || data_active_bytes(d) > data_active_bytes(largest)))
            largest = d;
    }
    return largest;
}

/* What is wanted already cannot begin: more of it would not help. */
static bool is_behind(const struct store *s)
{
    size_t i = 0;
    for (const struct table_data *d; (d = map_next(&s->tables, &i));)
        if (is_wanted(d) && !d->flush)
            return true;
    return false;
}

/* Whether memory asks for one more. */
static bool want_for_memory(struct store *s)
{
    uint64_t active, budget = s->options.memtable_bytes;
    struct table_data *largest = largest_active(s, &active);
    bool is_due =
        s->memory_bytes > budget / 2 && (s->keeper.flushes_count == 0 || active > budget / 4);
    if (!is_due || !largest || is_behind(s))
        return false;
    want(largest);
    return true;
}

/* The tables that need the oldest segment which any of them needs. */
static void want_for_log(struct store *s)
{
    uint64_t max = s->options.commitlog_bytes_max, self = (uint64_t)io_self(s->io);
    uint64_t oldest = UINT64_MAX;
    struct journal_position at;
    if (!s->journal || max == 0 || journal_counts(s->journal)->disk_bytes <= max - max / 4)
        return;
    if (s->keeper.forget.busy) /* that may be enough */
        return;
    size_t i = 0;
    for (const struct table_data *d; (d = map_next(&s->tables, &i));)
        if (data_needs(d, self, &at))
            oldest = u64_min(oldest, at.segment);
    i = 0;
    for (struct table_data *d; (d = map_next(&s->tables, &i));)
        if (!d->holds && !is_wanted(d) && data_needs(d, self, &at) && at.segment == oldest)
            want(d);
}

/* Zero: it has none. */
static uint64_t period_end(const struct table_data *d)
{
    int32_t ms = d->table->params ? d->table->params->memtable_flush_period_ms : 0;
    if (ms <= 0 || d->view->active->memtable.partitions.count == 0)
        return 0;
    return d->view->active->first_ns + (uint64_t)ms * 1000000;
}

static void want_for_time(struct store *s)
{
    size_t i = 0;
    for (struct table_data *d; (d = map_next(&s->tables, &i));) {
        uint64_t end = period_end(d);
        if (end && end <= io_now(s->io) && !d->holds)
            want(d);
    }
}

/* In the simulator: files come early, so that tests meet them. */
static void want_early(struct store *s)
{
    uint64_t active;
    struct table_data *largest = s->keeper.is_early ? largest_active(s, &active) : NULL;
    s->keeper.is_early = false;
    if (largest)
        want(largest);
}

/* Begins it if it may begin. */
static void keeper_flush_one(struct store *s, struct table_data *d)
{
    bool may =
        is_wanted(d) && data_oldest(d) && !d->flush && !d->holds && d->retry_ns <= io_now(s->io);
    if (may && s->keeper.flushes_count < FLUSHES_MAX)
        flush_start(s, d);
}

static void keeper_flush(struct store *s)
{
    size_t i = 0;
    for (struct table_data *d; (d = map_next(&s->tables, &i));)
        keeper_flush_one(s, d);
    list_each(l, &s->dropped) keeper_flush_one(s, owner_of(l, struct table_data, link));
}

/* ---- what may be forgotten ---- */

static void keeper_forget(struct store *s)
{
    struct keeper *k = &s->keeper;
    uint64_t self = (uint64_t)io_self(s->io), lowest;
    struct journal_position at;
    if (!s->journal || !s->is_settled || k->forget.busy || k->op.stop)
        return;
    lowest = s->logged_at.segment;
    size_t i = 0;
    for (const struct table_data *d; (d = map_next(&s->tables, &i));)
        if (data_needs(d, self, &at))
            lowest = u64_min(lowest, at.segment);
    if (lowest <= k->forgotten)
        return;
    k->forgotten = lowest;
    journal_forget(s->journal, &k->forget, &k->op, lowest);
}

/* ---- who asked ---- */

static struct flush_ask *ask_of(struct op *op) { return owner_of(op, struct flush_ask, op); }

/* OK and true: all of it is in files.  A failure and true: not, and why. */
static bool ask_is_over(struct flush_ask *a, enum err *err)
{
    bool is_done = true;
    *err = OK;
    for (size_t i = 0; i < a->count; i++) {
        const struct table_data *d = store_data(a->store, &a->wishes[i].table);
        if (!d || d->holds || d->flushed >= a->wishes[i].number)
            continue;
        is_done = false;
        if (d->failures > a->wishes[i].failures) {
            *err = report_set(a->failed, d->failed.err, "%s", d->failed.text);
            return true;
        }
    }
    return is_done;
}

static struct op_next ask_wait(struct op *op)
{
    struct flush_ask *a = ask_of(op);
    enum err err;
    if (ask_is_over(a, &err))
        return op_end(op, err);
    if (op->stop || a->store->keeper.op.stop)
        return op_end(op, report_set(a->failed, ERR_STOPPED, "the store is closing"));
    return op_wait(0);
}

static const struct op_state ask_states[] = { { "flush asked", ask_wait, 0 } };

static void ask_release(struct op *op)
{
    struct flush_ask *a = ask_of(op);
    struct store *s = a->store;
    struct io_req *done = a->done;
    enum err err = op->err;
    list_remove(&a->link);
    arena_deinit(&a->arena);
    mem_free(a);
    io_req_end(done, err);
    keeper_wake(s);
}

/* A table that is held is being truncated: what it has is going, and nobody waits for it. */
static void ask_add(struct flush_ask *a, struct table_data *d)
{
    want(d);
    if (d->wanted <= d->flushed || d->holds)
        return;
    d->retry_ns = 0; /* whoever asks wants to know now */
    a->wishes[a->count++] = (struct flush_wish){ d->id, d->wanted, d->failures };
}

static void ask_start(struct store *s, struct io_req *req, struct op *op,
                      bool (*is_meant)(const struct store *, const struct table_data *,
                                       const struct uuid *),
                      const struct uuid *table, struct report *failed)
{
    struct flush_ask *a = mem_zalloc(sizeof *a);
    size_t at = 0;
    ensure(!s->closing);
    a->store = s, a->done = req, a->failed = failed;
    a->wishes = arena_array(&a->arena, struct flush_wish, s->tables.count);
    list_add(&s->keeper.asks, &a->link);
    for (struct table_data *d; (d = map_next(&s->tables, &at));)
        if (is_meant(s, d, table))
            ask_add(a, d);
    io_req_begin(req, op);
    op_start(&a->op, io_ops(s->io), NULL, ask_states, ask_release);
    keeper_wake(s);
}

static bool is_meant_by_name(const struct store *s, const struct table_data *d,
                             const struct uuid *table)
{
    (void)s;
    return !table || memcmp(d->id.b, table->b, sizeof d->id.b) == 0;
}

static bool is_meant_to_settle(const struct store *s, const struct table_data *d,
                               const struct uuid *table)
{
    (void)table;
    return s->must_settle || data_is_foreign(d, (uint64_t)io_self(s->io));
}

void store_flush(struct store *s, struct io_req *req, struct op *op, const struct uuid *table,
                 struct report *failed)
{
    ask_start(s, req, op, is_meant_by_name, table, failed);
}

void store_settle(struct store *s, struct io_req *req, struct op *op, struct report *failed)
{
    ask_start(s, req, op, is_meant_to_settle, NULL, failed);
}

void store_settled(struct store *s)
{
    s->is_settled = true;
    store_stir(s);
    keeper_wake(s);
}

/* ---- the op ---- */

/* When it should look again though nothing happens; 0: never. */
static uint64_t next_time(const struct store *s)
{
    uint64_t next = space_next_ns(s);
    size_t i = 0;
    for (const struct table_data *d; (d = map_next(&s->tables, &i));) {
        uint64_t end = period_end(d);
        uint64_t retry = is_wanted(d) && !d->flush && !d->holds ? d->retry_ns : 0;
        if (end && (!next || end < next))
            next = end;
        if (retry && (!next || retry < next))
            next = retry;
    }
    return next;
}

static void keeper_sleep(struct store *s)
{
    struct keeper *k = &s->keeper;
    uint64_t next = next_time(s), now = io_now(s->io);
    if (k->nap.busy && (!next || next < k->nap_until_ns))
        io_cancel(s->io, &k->nap); /* it comes back here */
    if (k->nap.busy || !next)
        return;
    k->nap_until_ns = next > now ? next : now + 1;
    io_sleep(s->io, &k->nap, &k->op, k->nap_until_ns - now);
}

static void wake_asks(struct store *s)
{
    list_each(l, &s->keeper.asks) op_wake(&owner_of(l, struct flush_ask, link)->op);
}

static struct op_next keeper_watch(struct op *op)
{
    struct store *s = store_of(op);
    struct keeper *k = &s->keeper;
    wake_asks(s);
    if (op->stop)
        return op_goto(LEAVE);
    space_watch(s, op);
    keeper_forget(s);
    want_for_time(s);
    want_for_log(s);
    want_early(s);
    do
        keeper_flush(s);
    while (k->flushes_count < FLUSHES_MAX && want_for_memory(s));
    if (k->is_roomier)
        applies_stir(s);
    k->is_roomier = false;
    keeper_sleep(s);
    uint64_t half = s->options.memtable_bytes / 2;
    k->memory_at = u64_max(half, s->memory_bytes + s->options.memtable_bytes / 32);
    k->log_bytes = s->journal ? journal_counts(s->journal)->disk_bytes : 0;
    return op_wait(WATCH);
}

/* Flushes that have begun their swap come to an end. */
static struct op_next keeper_leave(struct op *op)
{
    struct store *s = store_of(op);
    size_t i = 0;
    for (struct table_data *d; (d = map_next(&s->tables, &i));)
        flush_stop(d);
    list_each(l, &s->dropped) flush_stop(owner_of(l, struct table_data, link));
    compactions_close(s);
    store_stir(s);
    if (s->keeper.nap.busy)
        io_cancel(s->io, &s->keeper.nap);
    wake_asks(s);
    bool is_quiet = s->keeper.flushes_count == 0 && list_empty(&s->keeper.asks);
    return is_quiet && !op->waiting ? op_end(op, OK) : op_wait(LEAVE);
}

static const struct op_state states[] = {
    [WATCH] = { "keeper watch", keeper_watch, TO(LEAVE) },
    [LEAVE] = { "keeper leave", keeper_leave, 0 },
};

static void keeper_release(struct op *op) { store_left(store_of(op)); }

void keeper_start(struct store *s)
{
    list_init(&s->keeper.asks);
    s->keeper.memory_at = s->options.memtable_bytes / 2;
    op_start(&s->keeper.op, io_ops(s->io), NULL, states, keeper_release);
}

void keeper_stop(struct store *s)
{
    if (op_running(&s->keeper.op))
        op_stop(&s->keeper.op, ERR_STOPPED);
}

void keeper_wake(struct store *s)
{
    if (op_running(&s->keeper.op))
        op_wake(&s->keeper.op);
}
