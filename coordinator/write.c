/* write.c - one write: to every replica that is up, answered at its level, then it lingers.
 *
 *     send ──> gather ──> answer ──> linger ──> ended
 *
 * `send` counts the replicas that are up first: too few, and nothing is sent.  The client is
 * answered in `answer`: at the level; when refusals have made it impossible (ERR_WRITE_FAILURE, at
 * once); when silence has (a deadline, or connections that closed: ERR_WRITE_TIMEOUT, since a
 * silent replica may have applied it).  The op then lingers until every replica has answered or its
 * time is over: those answers are counted, and hints will start from them.
 *
 * A replica is a bit; a bit is set once, whatever is repeated.  The bits: acked, refused, silent.
 *
 * Invariants: 1. the three sets are disjoint.  2. the client's request ends once.  3. the
 * mutation's bytes stay until the local replica has let go of them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/internal.h"

enum { SEND, GATHER, ANSWER, LINGER };

struct write {
    struct op op;
    struct coordinator *c;
    struct running running;
    struct list link; /* in the pool */
    struct io_req *client;
    struct coordinator_outcome *outcome;
    const struct keyspace *keyspace; /* until the answer */
    enum level level;
    int64_t token;
    struct buf mutation;
    bool is_admitted;
    unsigned required;
    struct targets targets;
    uint32_t acked, refused, silent; /* bits of targets */
    bool is_overloaded;              /* every refusal was "overloaded" */
    struct io_req local;
    struct arena arena; /* answers to APPLY are empty; calls want a place */
    struct cluster_call calls[REPLICAS_MAX];
};

static struct op_next write_send(struct op *);
static struct op_next write_gather(struct op *);
static struct op_next write_answer(struct op *);
static struct op_next write_linger(struct op *);
static void write_release(struct op *);

static const struct op_state write_states[] = {
    [SEND] = { "send", write_send, TO(GATHER) | TO(ANSWER) },
    [GATHER] = { "gather", write_gather, TO(GATHER) | TO(ANSWER) },
    [ANSWER] = { "answer", write_answer, TO(LINGER) },
    [LINGER] = { "linger", write_linger, TO(LINGER) },
};

static struct write *write_of(struct op *op) { return owner_of(op, struct write, op); }
static unsigned count(uint32_t bits) { return (unsigned)__builtin_popcount(bits); }

/* ---- the pool ---- */

static struct write *write_take(struct coordinator *c)
{
    if (list_empty(&c->writes_free)) {
        struct write *w = mem_zalloc(sizeof *w);
        list_init(&w->link);
        return w;
    }
    struct write *w = owner_of(c->writes_free.next, struct write, link);
    list_remove(&w->link);
    c->writes_free_count--;
    return w;
}

static void write_free(struct write *w)
{
    buf_deinit(&w->mutation);
    arena_deinit(&w->arena);
    mem_free(w);
}

void writes_deinit(struct coordinator *c)
{
    list_each(l, &c->writes_free) write_free(owner_of(l, struct write, link));
    list_init(&c->writes_free);
}

static void write_release(struct op *op)
{
    struct write *w = write_of(op);
    struct coordinator *c = w->c;
    ensure(!w->client);
    running_end(c, &w->running);
    if (c->writes_free_count >= POOL_MAX || w->mutation.room > ARENA_BYTES) {
        write_free(w);
        return;
    }
    c->writes_free_count++;
    list_add(&c->writes_free, &w->link);
}

/* ---- beginning ---- */

void coordinator_write(struct coordinator *c, struct io_req *req, struct op *op,
                       const struct coordinator_write *asked, struct coordinator_outcome *outcome)
{
    struct write *w = write_take(c);
    io_req_begin(req, op);
    c->counts.writes++;
    *outcome = (struct coordinator_outcome){ 0 };
    w->c = c;
    w->client = req;
    w->outcome = outcome;
    w->keyspace = asked->keyspace;
    w->level = asked->level;
    w->token = asked->token;
    w->acked = w->refused = w->silent = 0;
    w->is_overloaded = true;
    w->targets.count = 0;
    w->local = (struct io_req){ .err = OK };
    buf_clear(&w->mutation);
    buf_put_bytes(&w->mutation, asked->mutation);
    arena_reset(&w->arena);
    op_start(&w->op, io_ops(c->options.io), NULL, write_states, write_release);
    w->is_admitted =
        running_begin(c, &w->running, &w->op, asked->deadline_ns, asked->mutation.size);
}

static struct op_next write_done(struct write *w, enum err err)
{
    w->op.err = err; /* what the client is told */
    return op_goto(ANSWER);
}

static void write_send_to(struct write *w, unsigned i)
{
    struct coordinator *c = w->c;
    const struct replica_slot *slot = &c->options.replica;
    unsigned node = w->targets.nodes[i];
    struct bytes mutation = buf_bytes(&w->mutation);
    if (node == cluster_self(c->options.cluster)) {
        slot->apply(slot->context, &w->local, &w->op, w->token, mutation, w->running.deadline_ns);
        return;
    }
    struct cluster_message m = { .node = node,
                                 .verb = VERB_APPLY,
                                 .body = mutation,
                                 .deadline_ns = w->running.deadline_ns,
                                 .has_token = true,
                                 .token = w->token };
    w->calls[i].arena = &w->arena;
    cluster_call(c->options.cluster, &w->calls[i], &w->op, &m);
}

static struct op_next write_send(struct op *op)
{
    struct write *w = write_of(op);
    struct cluster *cluster = w->c->options.cluster;
    if (op->stop)
        return write_done(w, op->stop);
    w->required = level_required(w->level, cluster_ring(cluster), w->keyspace, true);
    if (w->required == 0)
        return write_done(w, ERR_INVALID);
    targets_find(w->c, w->keyspace, w->token, &w->targets);
    if (w->targets.count < w->required)
        return write_done(w, ERR_UNAVAILABLE);
    if (!w->is_admitted) {
        w->targets.count = 0;
        return write_done(w, ERR_OVERLOADED);
    }
    for (unsigned i = w->targets.count; i-- > 0;)
        write_send_to(w,
                      i); /* the local one, which is the first, last: the others are on the way */
    return op_wait(GATHER);
}

/* ---- gathering ---- */

static const struct io_req *write_req(const struct write *w, unsigned i)
{
    bool is_local = w->targets.nodes[i] == cluster_self(w->c->options.cluster);
    return is_local ? &w->local : &w->calls[i].req;
}

static uint32_t write_heard(const struct write *w) { return w->acked | w->refused | w->silent; }

/* Sorts the replicas that have answered since the last look into the three sets. */
static void write_look(struct write *w)
{
    for (unsigned i = 0; i < w->targets.count; i++) {
        uint32_t bit = 1u << i;
        const struct io_req *req = write_req(w, i);
        if ((write_heard(w) & bit) || req->busy)
            continue;
        if (req->err == OK)
            w->acked |= bit;
        else if (is_silence(req->err))
            w->silent |= bit;
        else
            w->refused |= bit, w->is_overloaded &= req->err == ERR_OVERLOADED;
    }
    ensure(!(w->acked & w->refused) && !(w->silent & (w->acked | w->refused)));
}

static bool write_is_complete(const struct write *w)
{
    return count(write_heard(w)) == w->targets.count;
}

static struct op_next write_gather(struct op *op)
{
    struct write *w = write_of(op);
    write_look(w);
    if (count(w->acked) >= w->required)
        return write_done(w, OK);
    if (w->targets.count - count(w->refused) < w->required)
        return write_done(w, w->is_overloaded ? ERR_OVERLOADED : ERR_WRITE_FAILURE);
    if (op->stop)
        return write_done(w, op->stop);
    if (write_is_complete(w) || running_is_late(w->c, &w->running))
        return write_done(w, ERR_WRITE_TIMEOUT);
    return op_wait(GATHER);
}

/* ---- answering ---- */

static void write_count(struct write *w, enum err err)
{
    struct coordinator_counts *counts = &w->c->counts;
    counts->unavailable += err == ERR_UNAVAILABLE;
    counts->timeouts += err == ERR_WRITE_TIMEOUT;
    counts->failures += err == ERR_WRITE_FAILURE;
}

static struct op_next write_answer(struct op *op)
{
    struct write *w = write_of(op);
    enum err err = op->err;
    struct io_req *client = w->client;
    *w->outcome = (struct coordinator_outcome){ .required = w->required,
                                                .alive = w->targets.count,
                                                .received = count(w->acked),
                                                .failed = count(w->refused),
                                                .missing = w->targets.missing };
    write_count(w, err);
    if (err == ERR_UNAVAILABLE)
        w->targets.count = 0; /* nothing was sent */
    w->client = NULL;
    w->outcome = NULL;
    w->keyspace = NULL;
    io_req_end(client, err);
    return op_goto(LINGER);
}

static struct op_next write_linger(struct op *op)
{
    struct write *w = write_of(op);
    uint32_t before = w->acked;
    write_look(w);
    w->c->counts.late_acks += count(w->acked & ~before);
    if (write_is_complete(w))
        return op_end(op, OK);
    for (unsigned i = 0; op->stop && i < w->targets.count; i++)
        if (w->targets.nodes[i] != cluster_self(w->c->options.cluster))
            cluster_cancel(w->c->options.cluster, &w->calls[i]);
    return op_wait(LINGER);
}
