/* hold.c - this shard's part of TRUNCATE, DROP and snapshots: a table stands still, then lets go.
 *
 *     TRUNCATE   hold:  wait for the flush under way, and for a compaction that has begun its swap
 *                       ──> freeze ──> held                                  (shard 0 erases)
 *                release: what was frozen is void and compactions are stopped, or all goes on
 *     DROP       drop:  out of the store at once ──> wait for its flush and its compactions, which
 *                       are stopped ──> gone       (for a snapshot: everything is flushed first)
 *     snapshot   pin:   wait for a compaction that has begun its swap ──> pinned    (files are
 *                       linked) ──> unpinned; flushes go on meanwhile
 *
 * What is held is everything of the table up to one place of this shard's log: merges come in the
 * log's order, so the active memtable at the moment of freezing has all up to the last record that
 * was merged, and what comes later has a later place.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/hold.h"

#include "base/mem.h"

enum { STILL };

struct holding {
    struct op op;
    struct waiter waiter;
    struct store *store;
    struct io_req *done;
    struct store_held *held;
    struct store_held **out;
};
struct dropping {
    struct op op;
    struct waiter waiter;
    struct store *store;
    struct io_req *done;
    struct table_data *data;
    unsigned failures; /* of its flushes, when it was dropped */
};

static void waiter_add(struct store *s, struct waiter *w, struct op *op)
{
    w->op = op;
    list_add(&s->waiters, &w->link);
    s->erasures++;
}

static void waiter_remove(struct store *s, struct waiter *w)
{
    list_remove(&w->link);
    ensure(s->erasures > 0);
    s->erasures--;
    store_left(s);
}

void store_stir(struct store *s)
{
    list_each(l, &s->waiters) op_wake(owner_of(l, struct waiter, link)->op);
}

/* ---- TRUNCATE ---- */

static struct holding *holding_of(struct op *op) { return owner_of(op, struct holding, op); }

/* Folders of shards that are no more, as far as this one has read them. */
static void hold_places(struct store_held *h)
{
    const struct store *s = h->store;
    uint64_t shards = (uint64_t)io_shards(s->io), self = (uint64_t)io_self(s->io);
    h->floor = (struct floor){ 0 };
    floor_raise(&h->floor, &h->arena, (struct floor_place){ self, s->logged_at });
    for (size_t i = 0; i < s->ends_count; i++)
        if (s->ends[i].folder >= shards)
            floor_raise(&h->floor, &h->arena,
                        (struct floor_place){ s->ends[i].folder, s->ends[i].last });
}

static struct op_next holding_still(struct op *op)
{
    struct holding *h = holding_of(op);
    struct store_held *held = h->held;
    struct table_data *d = store_data(h->store, &held->table);
    if (!d)
        return op_end(op, ERR_NOT_FOUND); /* dropped */
    if (d->flush || d->placings)
        return op_wait(STILL);
    held->number = data_freeze(d);
    hold_places(held);
    return op_end(op, OK);
}

static const struct op_state hold_states[] = { { "hold still", holding_still, 0 } };

static void held_free(struct store_held **held)
{
    arena_deinit(&(*held)->arena);
    mem_free(*held);
    *held = NULL;
}

static void holding_release(struct op *op)
{
    struct holding *h = holding_of(op);
    struct io_req *done = h->done;
    enum err err = op->err;
    waiter_remove(h->store, &h->waiter);
    if (err == OK)
        *h->out = h->held;
    else
        held_free(&h->held);
    keeper_wake(h->store); /* who waits for a flush of it waits no more */
    mem_free(h);
    io_req_end(done, err);
}

void store_hold(struct store *s, struct io_req *req, struct op *op, const struct uuid *table,
                struct store_held **out)
{
    struct holding *h = mem_zalloc(sizeof *h);
    struct table_data *d = store_data_for(s, table);
    ensure(s->journal && !s->closing);
    h->store = s, h->done = req, h->out = out;
    h->held = mem_zalloc(sizeof *h->held);
    h->held->store = s;
    h->held->table = *table;
    if (d)
        d->holds++;
    waiter_add(s, &h->waiter, &h->op);
    io_req_begin(req, op);
    op_start(&h->op, io_ops(s->io), NULL, hold_states, holding_release);
}

void store_release(struct store *s, struct store_held **held, bool is_erased)
{
    struct table_data *d = store_data(s, &(*held)->table);
    ensure((*held)->store == s);
    if (d) {
        ensure(d->holds > 0 && !d->flush);
        d->holds--;
        if (is_erased) {
            data_void(d, (*held)->number);
            compactions_stop(s, d);
        }
        store_changed(s, &d->id, 0, 0);
    }
    held_free(held);
    store_stir(s);
    keeper_wake(s);
}

/* ---- snapshots ---- */

struct pinning {
    struct op op;
    struct waiter waiter;
    struct store *store;
    struct io_req *done;
    struct uuid table;
};

static struct pinning *pinning_of(struct op *op) { return owner_of(op, struct pinning, op); }

static struct op_next pinning_still(struct op *op)
{
    const struct pinning *p = pinning_of(op);
    const struct table_data *d = store_data(p->store, &p->table);
    return d && d->placings ? op_wait(STILL) : op_end(op, OK);
}

static const struct op_state pin_states[] = { { "pin still", pinning_still, 0 } };

static void pinning_release(struct op *op)
{
    struct pinning *p = pinning_of(op);
    struct io_req *done = p->done;
    waiter_remove(p->store, &p->waiter);
    mem_free(p);
    io_req_end(done, OK);
}

void store_pin(struct store *s, struct io_req *req, struct op *op, const struct uuid *table)
{
    struct pinning *p = mem_zalloc(sizeof *p);
    struct table_data *d = store_data_for(s, table);
    ensure(s->journal && !s->closing);
    p->store = s, p->done = req, p->table = *table;
    if (d)
        d->pins++;
    waiter_add(s, &p->waiter, &p->op);
    io_req_begin(req, op);
    op_start(&p->op, io_ops(s->io), NULL, pin_states, pinning_release);
}

void store_unpin(struct store *s, const struct uuid *table)
{
    struct table_data *d = store_data(s, table);
    if (d && d->pins > 0)
        d->pins--;
    store_stir(s);
}

/* ---- DROP ---- */

static struct dropping *dropping_of(struct op *op) { return owner_of(op, struct dropping, op); }

static struct op_next dropping_last(struct op *op)
{
    struct dropping *x = dropping_of(op);
    const struct table_data *d = x->data;
    if (d && d->compactions)
        return op_wait(0);
    if (!d || (!d->flush && d->flushed >= d->wanted))
        return op_end(op, OK);
    if (!d->flush && d->failures > x->failures)
        return op_end(op, d->failed.err);
    if (!d->flush && x->store->keeper.op.stop)
        return op_end(op, ERR_STOPPED);
    return op_wait(0);
}

static const struct op_state drop_states[] = { { "drop last", dropping_last, 0 } };

static void dropping_release(struct op *op)
{
    struct dropping *x = dropping_of(op);
    struct io_req *done = x->done;
    enum err err = op->err;
    if (x->data) {
        list_remove(&x->data->link);
        data_free(&x->data);
    }
    waiter_remove(x->store, &x->waiter);
    mem_free(x);
    io_req_end(done, err);
}

void store_drop(struct store *s, struct io_req *req, struct op *op, const struct uuid *table,
                bool keeps_rows)
{
    struct dropping *x = mem_zalloc(sizeof *x);
    ensure(!s->closing);
    x->store = s, x->done = req;
    x->data = map_remove(&s->tables, bytes_of(table->b, sizeof table->b));
    if (x->data) {
        x->failures = x->data->failures;
        x->data->holds = x->data->pins = 0; /* what holds it has lost its table */
        list_add(&s->dropped, &x->data->link);
        x->data->wanted = data_freeze(x->data);
        x->data->is_unwanted = !keeps_rows;
        if (!keeps_rows)
            data_void(x->data, x->data->numbers);
        compactions_stop(s, x->data);
    }
    waiter_add(s, &x->waiter, &x->op);
    io_req_begin(req, op);
    op_start(&x->op, io_ops(s->io), NULL, drop_states, dropping_release);
    keeper_wake(s);
}
