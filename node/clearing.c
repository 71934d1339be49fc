/* clearing.c - see clearing.h.
 *
 *     told:    tell ──> gather ──> ended          the message to each other node, and our shards
 *     here:    sent ──> ended                     an errand to each shard
 *
 *     body: 8 after | 8 upto | 8 microseconds since the repair began | 8 of the budget
 *
 * Whatever takes its time on the way is added: of the message by what is left of its budget, of
 * the errand by the clock, which all shards of a node share.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/clearing.h"

#include "base/mem.h"

enum { TELL, GATHER };
enum { HERE };
enum { BODY_BYTES = 32 };
static const uint64_t budget_ns = 10ull * 1000 * 1000 * 1000;

/* ---- on this node ---- */

struct cleared {
    struct op op;
    struct shard *shard;
    struct io_req *done;
    struct errands errands;
    struct owed_range range;
    uint64_t began_ns; /* of the repair, by this node's clock */
};

static void clear_begin(struct errand *e)
{
    const struct cleared *c = e->all->what;
    struct shard *s = e->shard;
    int64_t ago_us = (int64_t)((io_clock(s->io) - c->began_ns) / 1000) + 1;
    if (s->owed)
        owed_clear_unknown(s->owed, &e->wait, &e->op, &c->range, io_wall(s->io) - ago_us);
    else
        e->wait.err = report_set(&e->failed, ERR_OVERLOADED, "it is not open");
}

static const struct errand_kind errand_clear = { .begin = clear_begin, .needs_store = true };

static struct op_next cleared_here(struct op *op)
{
    struct cleared *c = owner_of(op, struct cleared, op);
    struct report failed;
    if (c->errands.away)
        return op_wait(HERE);
    enum err err = errands_result(&c->errands, &failed);
    io_req_end(c->done, err);
    return op_end(op, err);
}

static void cleared_release(struct op *op)
{
    struct cleared *c = owner_of(op, struct cleared, op);
    errands_deinit(&c->errands);
    mem_free(c);
}

static const struct op_state cleared_states[] = { [HERE] = { "clear here", cleared_here,
                                                             TO(HERE) } };

static void clear_here(struct shard *s, struct io_req *req, struct op *op,
                       const struct owed_range *range, uint64_t began_ns)
{
    struct cleared *c = mem_zalloc(sizeof *c);
    c->shard = s;
    c->done = req;
    c->range = *range;
    c->began_ns = began_ns;
    io_req_begin(req, op);
    op_start(&c->op, io_ops(s->io), NULL, cleared_states, cleared_release);
    errands_send(&c->errands, s, &c->op, &errand_clear, c);
}

enum err clearing_serve(struct shard *s, struct io_req *req, struct op *op, struct bytes body,
                        uint64_t deadline_ns)
{
    uint64_t now = io_now(s->io), left = deadline_ns > now ? deadline_ns - now : 0;
    if (body.size != BODY_BYTES)
        return ERR_CORRUPT;
    struct owed_range range = { (int64_t)get_be64(body.data), (int64_t)get_be64(body.data + 8) };
    uint64_t ago_us = get_be64(body.data + 16), budget = get_be64(body.data + 24);
    uint64_t travelled = u64_min(budget > left ? budget - left : 0, now); /* it may say anything */
    if (range.after >= range.upto)
        return ERR_CORRUPT;
    /* A repair that is older than this machine's clock began before all that is known here. */
    uint64_t ago_ns = ago_us < now / 1000 ? ago_us * 1000 + travelled : now;
    clear_here(s, req, op, &range, now - u64_min(now, ago_ns));
    return OK;
}

/* ---- on all of them ---- */

struct told {
    struct op op;
    struct clearing *asked;
    uint8_t body[BODY_BYTES];
    struct arena arena;
    struct cluster_call others[NODES_MAX];
    struct io_req own;
};

static struct told *told_of(struct op *op) { return owner_of(op, struct told, op); }

static struct op_next told_tell(struct op *op)
{
    struct told *t = told_of(op);
    struct shard *s = t->asked->shard;
    const struct ring *ring = cluster_ring(s->cluster);
    uint64_t ago_us = (io_clock(s->io) - t->asked->began_ns) / 1000 + 1;
    put_be64(t->body, (uint64_t)t->asked->range.after);
    put_be64(t->body + 8, (uint64_t)t->asked->range.upto);
    put_be64(t->body + 16, ago_us);
    put_be64(t->body + 24, budget_ns);
    for (unsigned n = 1; n <= ring->nodes_count; n++) {
        struct cluster_message m = { .node = n,
                                     .verb = VERB_REPAIR,
                                     .body = bytes_of(t->body, sizeof t->body),
                                     .deadline_ns = io_now(s->io) + budget_ns };
        t->others[n - 1].arena = &t->arena;
        if (n == cluster_self(s->cluster))
            clear_here(s, &t->own, op, &t->asked->range, t->asked->began_ns);
        else if (cluster_is_up(s->cluster, n))
            cluster_call(s->cluster, &t->others[n - 1], op, &m);
        else
            t->others[n - 1].req.err = ERR_UNAVAILABLE;
    }
    return op_wait(GATHER);
}

static struct op_next told_gather(struct op *op)
{
    struct told *t = told_of(op);
    for (size_t i = 0; op->stop && i < NODES_MAX; i++)
        if (t->others[i].req.busy)
            cluster_cancel(t->asked->shard->cluster, &t->others[i]);
    if (op->waiting)
        return op_wait(GATHER);
    enum err err = t->own.err;
    t->asked->node = err == OK ? 0 : cluster_self(t->asked->shard->cluster);
    for (unsigned n = 1; n <= NODES_MAX && err == OK; n++) {
        err = t->others[n - 1].req.err;
        t->asked->node = err == OK ? 0 : n;
    }
    io_req_end(&t->asked->req, err);
    return op_end(op, OK);
}

static void told_release(struct op *op)
{
    struct told *t = told_of(op);
    arena_deinit(&t->arena);
    mem_free(t);
}

static const struct op_state told_states[] = {
    [TELL] = { "clear tell", told_tell, TO(GATHER) },
    [GATHER] = { "clear gather", told_gather, TO(GATHER) },
};

void clearing_start(struct clearing *c, struct op *op)
{
    struct told *t = mem_zalloc(sizeof *t);
    t->asked = c;
    c->node = 0;
    io_req_begin(&c->req, op);
    op_start(&t->op, io_ops(c->shard->io), op, told_states, told_release);
}
