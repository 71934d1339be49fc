/* erase.c - see erase.h.
 *
 *     TRUNCATE   flush ──> hold ──> held ──> keep ──> erase ──> erased ──> release ──> ended
 *                (on all shards)             (shard 0)                    (on all shards)
 *
 *     DROP       let go ──> tell ──mail──> shard 0: when all have told: keep ──> remove ──> removed
 *                (on each shard)
 *
 * Where auto_snapshot and the table say so, what is in memory is flushed first, and shard 0 keeps a
 * snapshot before it removes anything; without one nothing is removed.
 *
 * While a table is held it is read and written as ever; what is written between the hold and the
 * answer is kept (store/store.h).  Where a hold or the erasing fails, all let go and nothing has
 * happened.
 *
 * A drop needs no answer: the table has gone from the catalog, and files that a crash leaves are in
 * a folder that nobody knows, which a start names.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/erase.h"

#include "base/mem.h"
#include "node/apart.h"
#include "node/snapshot.h"

enum {
    ERASE_FLUSH,
    ERASE_HOLD,
    ERASE_HELD,
    ERASE_KEPT,
    ERASE_FILES,
    ERASE_ERASED,
    ERASE_RELEASE,
    ERASE_RELEASED,
};
enum { DROP_LET_GO, DROP_TELL, DROP_KEEP, DROP_REMOVE, DROP_REMOVED };

struct erase {
    struct op op;
    struct list link;    /* of the shard's: the first one is under way */
    struct shard *shard; /* the first */
    struct io_req *done;
    struct io_req wait;
    struct errands errands;
    struct erase_what {
        struct uuid table;
        struct store_held *held[NODE_SHARDS_MAX];
        size_t count;
        bool is_erased;
    } what;
    struct report failed;
    struct io_req batches;
    struct table *table; /* counted; NULL: it has gone already */
    struct snapshot_call snapshot;
    struct arena arena;
    bool keeps;
};

/* Is a snapshot to be taken before the table's rows go? */
static bool erase_keeps(const struct shard *s, const struct table *t)
{
    return s->config->auto_snapshot == CONFIG_SNAPSHOT_TRUE && t->params->allows_auto_snapshot;
}

/* "truncated-1764518400000-orders", as Cassandra calls it. */
static const char *erase_tag(struct shard *s, struct arena *arena, const char *why,
                             const struct table *t)
{
    return arena_printf(arena, "%s-%lld-%s", why, (long long)(io_wall(s->io) / 1000), t->name);
}

/* ---- TRUNCATE: what each shard does ---- */

static void flush_begin(struct errand *e)
{
    const struct erase_what *what = e->all->what;
    store_flush(e->shard->store, &e->wait, &e->op, &what->table, &e->failed);
}

static void hold_begin(struct errand *e)
{
    const struct erase_what *what = e->all->what;
    store_hold(e->shard->store, &e->wait, &e->op, &what->table, (struct store_held **)&e->result);
}

static void release_begin(struct errand *e)
{
    const struct erase_what *what = e->all->what;
    struct store_held *held = what->held[io_self(e->shard->io)];
    if (held)
        store_release(e->shard->store, &held, what->is_erased);
}

static const struct errand_kind flush_kind = { .begin = flush_begin, .needs_store = true };
static const struct errand_kind hold_kind = { .begin = hold_begin, .needs_store = true };
static const struct errand_kind release_kind = { .begin = release_begin, .needs_store = true };

/* ---- TRUNCATE: what shard 0 does ---- */

static struct erase *erase_of(struct op *op) { return owner_of(op, struct erase, op); }

/* One at a time: an errand that waits for what another one's release makes possible would hold the
 * credit that the release needs. */
static struct op_next erase_flush(struct op *op)
{
    struct erase *x = erase_of(op);
    if (op->stop)
        return op_end(op, op->stop);
    if (x->shard->erases.next != &x->link || !apart_yields(x->shard))
        return op_wait(ERASE_FLUSH);
    if (!x->keeps)
        return op_goto(ERASE_HOLD);
    errands_send(&x->errands, x->shard, op, &flush_kind, &x->what);
    return op_wait(ERASE_HOLD);
}

static struct op_next erase_hold(struct op *op)
{
    struct erase *x = erase_of(op);
    if (x->errands.away)
        return op_wait(ERASE_HOLD);
    if (errands_result(&x->errands, &x->failed) != OK)
        return op_end(op, x->failed.err);
    errands_send(&x->errands, x->shard, op, &hold_kind, &x->what);
    return op_wait(ERASE_HELD);
}

static struct op_next erase_held(struct op *op)
{
    struct erase *x = erase_of(op);
    if (x->errands.away)
        return op_wait(ERASE_HELD);
    x->what.count = (size_t)x->errands.count;
    for (size_t i = 0; i < x->what.count; i++)
        x->what.held[i] = x->errands.each[i].result;
    if (errands_result(&x->errands, &x->failed) != OK)
        return op_goto(ERASE_RELEASE);
    if (!x->keeps)
        return op_goto(ERASE_FILES);
    x->snapshot = (struct snapshot_call){ .table = x->table, .is_quiet = true };
    x->snapshot.tag = erase_tag(x->shard, &x->arena, "truncated", x->table);
    snapshot_start(x->shard, &x->wait, op, &x->snapshot);
    return op_wait(ERASE_KEPT);
}

/* Where there are no files there is nothing to keep. */
static struct op_next erase_kept(struct op *op)
{
    struct erase *x = erase_of(op);
    if (x->wait.busy)
        return op_wait(ERASE_KEPT);
    if (x->wait.err == OK || x->wait.err == ERR_NOT_FOUND)
        return op_goto(ERASE_FILES);
    (void)report_set(&x->failed, x->wait.err, "no snapshot could be taken: %s",
                     x->snapshot.failed.text);
    return op_goto(ERASE_RELEASE);
}

static struct op_next erase_files(struct op *op)
{
    struct erase *x = erase_of(op);
    store_erase(x->shard->store, &x->wait, op, &x->what.table, x->what.held, x->what.count);
    return op_wait(ERASE_ERASED);
}

static struct op_next erase_erased(struct op *op)
{
    struct erase *x = erase_of(op);
    if (x->wait.busy)
        return op_wait(ERASE_ERASED);
    x->what.is_erased = x->wait.err == OK;
    if (!x->what.is_erased)
        (void)report_set(&x->failed, x->wait.err, "%s", err_text(x->wait.err));
    return op_goto(ERASE_RELEASE);
}

static struct op_next erase_release(struct op *op)
{
    struct erase *x = erase_of(op);
    if (x->what.is_erased && x->shard->batchlog)
        batchlog_erase(x->shard->batchlog, &x->batches, op, &x->what.table);
    errands_send(&x->errands, x->shard, op, &release_kind, &x->what);
    return op_wait(ERASE_RELEASED);
}

static struct op_next erase_released(struct op *op)
{
    struct erase *x = erase_of(op);
    if (x->errands.away || x->batches.busy)
        return op_wait(ERASE_RELEASED);
    if (x->failed.err == OK && x->batches.err != OK)
        (void)report_set(&x->failed, x->batches.err, "rows of batches that are kept: %s",
                         err_text(x->batches.err));
    return op_end(op, x->failed.err);
}

static const struct op_state erase_states[] = {
    [ERASE_FLUSH] = { "erase flush", erase_flush, TO(ERASE_HOLD) },
    [ERASE_HOLD] = { "erase hold", erase_hold, TO(ERASE_HOLD) | TO(ERASE_HELD) },
    [ERASE_HELD] = { "erase held", erase_held,
                     TO(ERASE_HELD) | TO(ERASE_KEPT) | TO(ERASE_FILES) | TO(ERASE_RELEASE) },
    [ERASE_KEPT] = { "erase kept", erase_kept, TO(ERASE_FILES) | TO(ERASE_RELEASE) },
    [ERASE_FILES] = { "erase files", erase_files, TO(ERASE_ERASED) },
    [ERASE_ERASED] = { "erase erased", erase_erased, TO(ERASE_ERASED) | TO(ERASE_RELEASE) },
    [ERASE_RELEASE] = { "erase release", erase_release, TO(ERASE_RELEASED) },
    [ERASE_RELEASED] = { "erase released", erase_released, TO(ERASE_RELEASED) },
};

void erase_wake(struct shard *s)
{
    if (!list_empty(&s->erases))
        op_wake(&owner_of(s->erases.next, struct erase, link)->op);
}

static void erase_end(struct op *op)
{
    struct erase *x = erase_of(op);
    struct io_req *done = x->done;
    enum err err = op->err;
    list_remove(&x->link);
    erase_wake(x->shard);
    errands_deinit(&x->errands);
    if (x->table)
        table_unref(&x->table);
    arena_deinit(&x->arena);
    mem_free(x);
    io_req_end(done, err);
}

void erase_start(struct shard *s, struct io_req *req, struct op *op, const struct uuid *table)
{
    struct erase *x = mem_zalloc(sizeof *x);
    ensure(io_self(s->io) == 0);
    x->shard = s, x->done = req;
    list_add(&s->erases, &x->link);
    x->what.table = *table;
    x->table = catalog_table_by_id(&s->catalog, table);
    if (x->table)
        table_ref(x->table);
    x->keeps = x->table && erase_keeps(s, x->table);
    io_req_begin(req, op);
    op_start(&x->op, io_ops(s->io), op, erase_states, erase_end);
    if (s->erases_are_over)
        op_stop(&x->op, ERR_STOPPED);
}

/* The first one is let come to its end: others may be holding the table for it. */
bool erase_stop(struct shard *s)
{
    s->erases_are_over = true;
    list_each(l, &s->erases)
    {
        if (l != s->erases.next)
            op_stop(&owner_of(l, struct erase, link)->op, ERR_STOPPED);
    }
    return list_empty(&s->erases);
}

/* ---- DROP ---- */

struct drop_count { /* on shard 0: how many shards have let go of a table */
    struct list link;
    struct uuid table;
    int told;
    struct op *remover; /* waits for all; NULL: not yet */
};
struct drop {
    struct op op;
    struct shard *shard;
    struct table *table; /* counted */
    struct io_req wait;
    struct io_mail mail; /* to shard 0: this shard has let go */
    struct snapshot_call snapshot;
    struct arena arena;
    bool is_told;
};

static struct drop *drop_of(struct op *op) { return owner_of(op, struct drop, op); }

static struct drop_count *drop_count_of(const struct shard *first, const struct uuid *table)
{
    list_each(l, &first->drops)
    {
        struct drop_count *c = owner_of(l, struct drop_count, link);
        if (memcmp(c->table.b, table->b, sizeof c->table.b) == 0)
            return c;
    }
    return NULL;
}

/* Shard 0 counts who has let go; its own drop removes the files. */
static void drop_there(struct io *io, struct io_mail *mail)
{
    struct shard *first = shard_of(io);
    const struct drop *told = owner_of(mail, struct drop, mail);
    struct drop_count *c = drop_count_of(first, &told->table->id);
    if (!c) {
        c = mem_zalloc(sizeof *c);
        c->table = told->table->id;
        list_add(&first->drops, &c->link);
    }
    c->told++;
    if (c->remover)
        op_wake(c->remover);
    io_post_home(io, mail);
}

static void drop_home(struct io *io, struct io_mail *mail)
{
    struct drop *d = owner_of(mail, struct drop, mail);
    (void)io;
    d->is_told = true;
    op_drop(&d->op);
}

static struct op_next drop_let_go(struct op *op)
{
    struct drop *d = drop_of(op);
    if (d->shard->store)
        store_drop(d->shard->store, &d->wait, op, &d->table->id, erase_keeps(d->shard, d->table));
    return d->wait.busy ? op_wait(DROP_TELL) : op_goto(DROP_TELL);
}

static struct op_next drop_tell(struct op *op)
{
    struct drop *d = drop_of(op);
    if (d->wait.busy)
        return op_wait(DROP_TELL);
    if (d->wait.err != OK)
        log_note(d->shard->io, LOG_WARN, "dropped_rows_not_kept", "table=%s.%s reason=\"%s\"",
                 d->table->keyspace, d->table->name, err_text(d->wait.err));
    d->mail = (struct io_mail){ .there = drop_there, .home = drop_home };
    op_hold(op);
    shard_post(d->shard, 0, &d->mail);
    return op_wait(DROP_KEEP);
}

static struct op_next drop_keep(struct op *op)
{
    struct drop *d = drop_of(op);
    struct shard *s = d->shard;
    if (!d->is_told)
        return op_wait(DROP_KEEP);
    if (io_self(s->io) != 0)
        return op_end(op, OK);
    struct drop_count *c = drop_count_of(s, &d->table->id);
    ensure(c);
    c->remover = op;
    if (c->told < io_shards(s->io) && !s->is_stopping)
        return op_wait(DROP_KEEP);
    bool may = c->told == io_shards(s->io) && s->store;
    list_remove(&c->link);
    mem_free(c);
    if (!may)
        return op_end(op, OK);
    if (!erase_keeps(s, d->table))
        return op_goto(DROP_REMOVE);
    d->snapshot = (struct snapshot_call){ .table = d->table, .is_quiet = true };
    d->snapshot.tag = erase_tag(s, &d->arena, "dropped", d->table);
    snapshot_start(s, &d->wait, op, &d->snapshot);
    return op_wait(DROP_REMOVE);
}

static struct op_next drop_remove(struct op *op)
{
    struct drop *d = drop_of(op);
    if (d->wait.busy)
        return op_wait(DROP_REMOVE);
    if (d->snapshot.failed.err != OK) {
        log_note(d->shard->io, LOG_WARN, "dropped_table_stays", "table=%s.%s reason=\"%s\"",
                 d->table->keyspace, d->table->name, d->snapshot.failed.text);
        return op_end(op, OK);
    }
    store_remove(d->shard->store, &d->wait, op, d->table);
    return op_wait(DROP_REMOVED);
}

static struct op_next drop_removed(struct op *op)
{
    struct drop *d = drop_of(op);
    if (d->wait.busy)
        return op_wait(DROP_REMOVED);
    if (d->wait.err != OK)
        log_note(d->shard->io, LOG_WARN, "files_of_dropped_table", "table=%s.%s reason=\"%s\"",
                 d->table->keyspace, d->table->name, err_text(d->wait.err));
    return op_end(op, OK);
}

static const struct op_state drop_states[] = {
    [DROP_LET_GO] = { "drop let go", drop_let_go, TO(DROP_TELL) },
    [DROP_TELL] = { "drop tell", drop_tell, TO(DROP_KEEP) },
    [DROP_KEEP] = { "drop keep", drop_keep, TO(DROP_REMOVE) },
    [DROP_REMOVE] = { "drop remove", drop_remove, TO(DROP_REMOVED) },
    [DROP_REMOVED] = { "drop removed", drop_removed, 0 },
};

static void drop_end(struct op *op)
{
    struct drop *d = drop_of(op);
    ensure(d->shard->drops_count > 0);
    d->shard->drops_count--;
    table_unref(&d->table);
    arena_deinit(&d->arena);
    mem_free(d);
}

void erase_dropped(struct shard *s, struct table **taken)
{
    struct drop *d = mem_zalloc(sizeof *d);
    d->shard = s;
    d->table = *taken;
    *taken = NULL;
    s->drops_count++;
    op_start(&d->op, io_ops(s->io), NULL, drop_states, drop_end);
}

void erase_hush(struct shard *s)
{
    list_each(l, &s->drops)
    {
        struct drop_count *c = owner_of(l, struct drop_count, link);
        if (c->remover)
            op_wake(c->remover);
    }
}

void erase_forget(struct shard *s)
{
    ensure(s->drops_count == 0);
    list_each(l, &s->drops)
    {
        struct drop_count *c = owner_of(l, struct drop_count, link);
        list_remove(l);
        mem_free(c);
    }
}
