/* settle.c - see settle.h.
 *
 *     flush ──> flushed ──> remove ──> removed ──> tell ──> told ──> ended
 *       ^           │                     │    (all shards: their logs may forget from now on)
 *       └── nap <───┴─────────────────────┘ failed
 *
 * The node may have had another number of shards, so the folder of a shard may hold what belongs to
 * others now.  Each shard flushes what it took from folders that are not its own; when all have,
 * nobody needs what stood there before this start: the folders of shards that are no more are
 * removed, and each log may forget its oldest segments.  Before that none forgets anything, since
 * others may still be reading.  Killed at any point, the next start begins it anew.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/settle.h"

enum { SETTLE_FLUSH, SETTLE_FLUSHED, SETTLE_REMOVE, SETTLE_REMOVED, SETTLE_TELL, SETTLE_TOLD };
enum { SETTLE_NAP = SETTLE_TOLD + 1 };
static const uint64_t settle_nap_ns = 10000000000;

static void flush_begin(struct errand *e)
{
    store_settle(e->shard->store, &e->wait, &e->op, &e->failed);
}
static void told_begin(struct errand *e) { store_settled(e->shard->store); }

static const struct errand_kind flush_kind = { .begin = flush_begin, .needs_store = true };
static const struct errand_kind told_kind = { .begin = told_begin, .needs_store = true };

static struct settle *settle_of(struct op *op) { return owner_of(op, struct settle, op); }

static struct op_next settle_flush(struct op *op)
{
    struct settle *x = settle_of(op);
    if (op->stop)
        return op_end(op, op->stop);
    errands_send(&x->errands, x->shard, op, &flush_kind, NULL);
    return op_wait(SETTLE_FLUSHED);
}

static struct op_next settle_again(struct settle *x)
{
    log_note(x->shard->io, LOG_WARN, "commitlog_not_settled", "reason=\"%s\"", x->failed.text);
    report_clear(&x->failed);
    io_sleep(x->shard->io, &x->wait, &x->op, settle_nap_ns);
    return op_wait(SETTLE_NAP);
}

static struct op_next settle_flushed(struct op *op)
{
    struct settle *x = settle_of(op);
    if (x->errands.away)
        return op_wait(SETTLE_FLUSHED);
    if (op->stop)
        return op_end(op, op->stop);
    if (errands_result(&x->errands, &x->failed) != OK)
        return settle_again(x);
    return op_goto(SETTLE_REMOVE);
}

static struct op_next settle_remove(struct op *op)
{
    struct settle *x = settle_of(op);
    store_remove_logs(x->shard->store, &x->wait, op);
    return op_wait(SETTLE_REMOVED);
}

static struct op_next settle_removed(struct op *op)
{
    struct settle *x = settle_of(op);
    if (x->wait.busy)
        return op_wait(SETTLE_REMOVED);
    if (op->stop)
        return op_end(op, op->stop);
    if (x->wait.err != OK) {
        (void)report_set(&x->failed, x->wait.err, "%s", err_text(x->wait.err));
        return settle_again(x);
    }
    return op_goto(SETTLE_TELL);
}

static struct op_next settle_tell(struct op *op)
{
    struct settle *x = settle_of(op);
    errands_send(&x->errands, x->shard, op, &told_kind, NULL);
    return op_wait(SETTLE_TOLD);
}

static struct op_next settle_told(struct op *op)
{
    struct settle *x = settle_of(op);
    if (x->errands.away)
        return op_wait(SETTLE_TOLD);
    x->is_done = true;
    return op_end(op, OK);
}

static struct op_next settle_nap(struct op *op)
{
    struct settle *x = settle_of(op);
    if (x->wait.busy && op->stop)
        io_cancel(x->shard->io, &x->wait);
    return x->wait.busy ? op_wait(SETTLE_NAP) : op_goto(SETTLE_FLUSH);
}

static const struct op_state settle_states[] = {
    [SETTLE_FLUSH] = { "settle flush", settle_flush, TO(SETTLE_FLUSHED) },
    [SETTLE_FLUSHED] = { "settle flushed", settle_flushed, TO(SETTLE_REMOVE) | TO(SETTLE_NAP) },
    [SETTLE_REMOVE] = { "settle remove", settle_remove, TO(SETTLE_REMOVED) },
    [SETTLE_REMOVED] = { "settle removed", settle_removed, TO(SETTLE_TELL) | TO(SETTLE_NAP) },
    [SETTLE_TELL] = { "settle tell", settle_tell, TO(SETTLE_TOLD) },
    [SETTLE_TOLD] = { "settle told", settle_told, 0 },
    [SETTLE_NAP] = { "settle nap", settle_nap, TO(SETTLE_FLUSH) },
};

static void settle_release(struct op *op) { errands_deinit(&settle_of(op)->errands); }

void settle_start(struct settle *x, struct shard *s, struct op *parent)
{
    *x = (struct settle){ .shard = s };
    op_start(&x->op, io_ops(s->io), parent, settle_states, settle_release);
}

void settle_stop(struct settle *x)
{
    if (op_running(&x->op))
        op_stop(&x->op, ERR_STOPPED);
}
