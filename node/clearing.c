/* clearing.c - see clearing.h.
 *
 *     told:    tell ──> gather ──> ended          the message to each other node, and our shards
 *     here:    sent ──> ended                     an errand to each shard
 *
 *     body: 8 after | 8 upto | 8 microseconds since the repair began | 8 of the budget
 *
 * The message takes its time too: what is left of its budget says how much, and that is added.
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
    uint64_t ago_us;
};

static void clear_begin(struct errand *e)
{
    const struct cleared *c = e->all->what;
    if (e->shard->owed)
        owed_clear_unknown(e->shard->owed, &e->wait, &e->op, &c->range,
                           io_wall(e->shard->io) - (int64_t)c->ago_us);
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
                       const struct owed_range *range, uint64_t ago_us)
{
    struct cleared *c = mem_zalloc(sizeof *c);
    c->shard = s;
    c->done = req;
    c->range = *range;
    c->ago_us = ago_us;
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
    uint64_t travelled = budget > left ? budget - left : 0;
    clear_here(s, req, op, &range, ago_us + travelled / 1000 + 1);
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
    uint64_t ago_us = (io_now(s->io) - t->asked->began_ns) / 1000;
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
            clear_here(s, &t->own, op, &t->asked->range, ago_us);
        else if (cluster_is_up(s->cluster, n))
            cluster_call(s->cluster, &t->others[n - 1], op, &m);
        else
            t->asked->silent++;
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
    for (size_t i = 0; i < NODES_MAX; i++)
        t->asked->silent += t->others[i].req.err != OK;
    io_req_end(&t->asked->req, t->own.err);
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
    c->silent = 0;
    io_req_begin(&c->req, op);
    op_start(&t->op, io_ops(c->shard->io), op, told_states, told_release);
}
