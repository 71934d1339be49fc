/* truncate.c - TRUNCATE: a mark in the commit log, and once it is durable the rows go.
 *
 *     mark ──> clear ──> ended
 *
 * Reads see the rows until the mark is durable, and nothing after.  The log completes its appends
 * in their order and ops run in the order of their wakes: so when the mark's turn comes, all that
 * stands before it has been merged, and what stands behind it has not; store_logged makes sure.
 *
 * The mark also names how far the other shards' folders hold records of ours: those of earlier
 * lives of the node, which may have had another shard count.  What other shards write in this life
 * is theirs, and so is its truncation.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "store/inside.h"

enum { MARK, CLEAR };

struct truncate {
    struct op op;
    struct store *store;
    struct list link; /* in the store's truncates */
    struct io_req log;
    struct io_req *done;
    struct uuid table;
    uint64_t number; /* of the mark */
};

static struct op_next truncate_mark(struct op *);
static struct op_next truncate_clear(struct op *);
static void truncate_release(struct op *);

static const struct op_state states[] = {
    [MARK] = { "mark", truncate_mark, TO(CLEAR) },
    [CLEAR] = { "clear", truncate_clear, 0 },
};

static struct truncate *truncate_of(struct op *op) { return owner_of(op, struct truncate, op); }

void store_truncate(struct store *s, struct io_req *req, struct op *op, const struct uuid *table)
{
    ensure(s->journal && !s->closing);
    struct truncate *t = mem_zalloc(sizeof *t);
    t->store = s, t->done = req, t->table = *table;
    list_add(&s->truncates, &t->link);
    io_req_begin(req, op);
    op_start(&t->op, io_ops(s->io), NULL, states, truncate_release);
}

static struct op_next truncate_end(struct truncate *t, enum err e)
{
    io_req_end(t->done, e);
    return op_end(&t->op, e);
}

static struct op_next truncate_mark(struct op *op)
{
    struct truncate *t = truncate_of(op);
    struct store *s = t->store;
    enum err e = store_log_state(s);
    if (!catalog_table_by_id(s->options.catalog, &t->table))
        e = ERR_NOT_FOUND;
    if (e)
        return truncate_end(t, e);
    struct buf body = { 0 };
    buf_put(&body, t->table.b, sizeof t->table.b);
    buf_put_vint(&body, s->ends_count);
    for (size_t i = 0; i < s->ends_count; i++) {
        buf_put_vint(&body, s->ends[i].folder);
        buf_put_vint(&body, s->ends[i].last.segment);
        buf_put_vint(&body, s->ends[i].last.offset);
    }
    t->number = store_append(s, &t->log, op, RECORD_TRUNCATE, buf_bytes(&body));
    buf_deinit(&body);
    return op_wait(CLEAR);
}

static struct op_next truncate_clear(struct op *op)
{
    struct truncate *t = truncate_of(op);
    if (t->log.busy)
        return op_wait(CLEAR);
    if (t->log.err)
        return truncate_end(t, store_log_error(t->log.err));
    store_logged(t->store, t->number);
    store_drop(t->store, &t->table);
    return truncate_end(t, OK);
}

static void truncate_release(struct op *op)
{
    struct truncate *t = truncate_of(op);
    struct store *s = t->store;
    ensure(!t->log.busy);
    list_remove(&t->link);
    mem_free(t);
    store_left(s);
}
