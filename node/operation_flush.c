/* operation_flush.c - what is in memtables becomes SSTables: of one table, of a keyspace, of all.
 *
 *     begin ──> next ──> sent ──> next ... ──> ended
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/operation.h"

enum { FLUSH_BEGIN, FLUSH_NEXT, FLUSH_SENT };

static void errand_flush_begin(struct errand *e)
{
    store_flush(e->shard->store, &e->wait, &e->op, e->all->what, &e->failed);
}

static const struct errand_kind errand_flush = { .begin = errand_flush_begin, .needs_store = true };

static struct op_next flush_begin(struct op *op)
{
    struct operation *o = operation_of(op);
    if (operation_choose(o) != OK)
        return op_end(op, o->failed.err);
    o->total = o->tables_count;
    o->unit = "tables";
    return op_goto(FLUSH_NEXT);
}

static struct op_next flush_next(struct op *op)
{
    struct operation *o = operation_of(op);
    if (op->stop)
        return op_end(op, op->stop);
    if (o->at == o->tables_count)
        return op_end(op, OK);
    operation_send(o, &errand_flush, &o->tables[o->at]->id);
    return op_wait(FLUSH_SENT);
}

static struct op_next flush_sent(struct op *op)
{
    struct operation *o = operation_of(op);
    if (o->errands.away)
        return op_wait(FLUSH_SENT);
    if (operation_sent(o) != OK)
        return op_end(op, o->failed.err);
    o->done = ++o->at;
    return op_goto(FLUSH_NEXT);
}

static const struct op_state flush_states[] = {
    [FLUSH_BEGIN] = { "flush begin", flush_begin, TO(FLUSH_NEXT) },
    [FLUSH_NEXT] = { "flush next", flush_next, TO(FLUSH_SENT) },
    [FLUSH_SENT] = { "flush sent", flush_sent, TO(FLUSH_SENT) | TO(FLUSH_NEXT) },
};

const struct operation_verb operation_flush = { .name = "flush",
                                                .takes = "keyspace table ",
                                                .states = flush_states };
