/* read.c - a read of one partition: one round on the replicas of its token.
 *
 *     begin ──> ask ──> ended
 *       └── too few are up: nothing was sent
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/inside.h"

enum { BEGIN, ASK };

struct reading {
    struct task task;
    struct coordinator_read args;
    struct replicas replicas;
    struct level_need need;
    struct io_req ask;
    struct io_req *done;
    struct read_outcome *out;
    struct coordinator_outcome *outcome;
};

static struct op_next reading_begin(struct op *);
static struct op_next reading_ask(struct op *);
static void reading_release(struct op *);

static const struct op_state states[] = {
    [BEGIN] = { "begin", reading_begin, TO(ASK) },
    [ASK] = { "ask", reading_ask, TO(ASK) },
};

static struct reading *reading_of(struct op *op) { return owner_of(op, struct reading, task.op); }

static struct reading *reading_take(struct coordinator *c)
{
    if (list_empty(&c->idle_reads))
        return mem_zalloc(sizeof(struct reading));
    struct reading *r = owner_of(c->idle_reads.next, struct reading, task.link);
    list_remove(&r->task.link);
    *r = (struct reading){ 0 };
    return r;
}

void read_start(struct coordinator *c, struct io_req *req, struct op *op,
                const struct coordinator_read *args, struct read_outcome *out,
                struct coordinator_outcome *outcome)
{
    const struct ring *ring = cluster_ring(c->cluster);
    unsigned self = cluster_self(c->cluster);
    struct reading *r = reading_take(c);
    list_init(&r->task.link);
    r->args = *args;
    r->done = req;
    r->out = out;
    r->outcome = outcome;
    ring_replicas(ring, args->keyspace, self, args->read->token, &r->replicas);
    level_need(args->level, ring, self, args->keyspace, &r->replicas, &r->need);
    c->counts.reads++;
    io_req_begin(req, op);
    req->impl = &r->task.op;
    task_begin(&r->task, c, states, reading_release);
}

static struct op_next reading_end(struct reading *r, enum err err)
{
    io_req_end(r->done, err);
    return op_end(&r->task.op, err);
}

static struct op_next reading_begin(struct op *op)
{
    struct reading *r = reading_of(op);
    struct coordinator *c = r->task.c;
    if (!level_allows(r->args.level, false))
        return reading_end(r, ERR_INVALID);
    if (!enough_alive(c, &r->replicas, &r->need, r->outcome)) {
        c->counts.unavailable++;
        return reading_end(r, ERR_UNAVAILABLE);
    }
    struct ask_args ask = { .replicas = &r->replicas,
                            .need = &r->need,
                            .table = r->args.table,
                            .read = r->args.read,
                            .deadline_ns = r->args.deadline_ns,
                            .arena = r->args.arena,
                            .sink = r->args.sink };
    ask_start(c, &r->ask, op, &ask, r->out, r->outcome);
    return op_wait(ASK);
}

static struct op_next reading_ask(struct op *op)
{
    struct reading *r = reading_of(op);
    if (!r->ask.busy)
        return reading_end(r, r->ask.err);
    if (op->stop)
        coordinator_cancel(&r->ask);
    return op_wait(ASK);
}

static void reading_release(struct op *op)
{
    struct reading *r = reading_of(op);
    task_end(&r->task);
    list_add(&r->task.c->idle_reads, &r->task.link);
}

void read_free_idle(struct coordinator *c)
{
    list_each(l, &c->idle_reads)
    {
        list_remove(l);
        mem_free(owner_of(l, struct reading, task.link));
    }
}
