/* rig_node.h - a node that is nothing but a cluster: for the tests of cluster/.
 *
 * Each node runs one op a shard: open, then run until it is told to close.  What the cluster tells
 * is noted: the changes applied, in order, as one text; who is up; requests are echoed.  Three
 * nodes, or RIG_SIZE when that is defined before.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/cluster.h"
#include "io/sim/sim.h"

#ifndef RIG_SIZE
#define RIG_SIZE 3
#endif
enum { RIG_NODES = RIG_SIZE, RIG_SHARDS_MAX = 3, RIG_TEXT_BYTES = 4096 };
static const uint64_t rig_second = 1000000000;

struct rig_shard {
    struct rig_node *node;
    struct io *io;
    struct op op;
    struct io_req req;
    struct cluster *cluster;
    struct report report;
    bool is_open, is_failed, must_close, is_closed, is_silent;
    char applied[RIG_TEXT_BYTES]; /* "1:;2:create a;" */
    uint64_t epoch;
    unsigned requests;
};
struct rig_node {
    struct rig *rig;
    int index, shards_count;
    struct cluster_options options;
    struct rig_shard shards[RIG_SHARDS_MAX];
    char address[32];
};
struct rig {
    struct sim *sim;
    const char *seeds[RIG_NODES];
    char seed_texts[RIG_NODES][32];
    struct rig_node nodes[RIG_NODES];
    unsigned credits;
    void (*answer)(struct rig_shard *, struct cluster_request *); /* NULL: an echo */
};

static inline struct rig_shard *rig_shard_of(struct op *op)
{
    return owner_of(op, struct rig_shard, op);
}

/* ---- what the cluster tells ---- */

static inline void rig_applied(void *context, uint64_t epoch, struct bytes change)
{
    struct rig_shard *s = context;
    size_t at = strlen(s->applied);
    ensure(epoch == s->epoch + 1);
    s->epoch = epoch;
    snprintf(s->applied + at, sizeof s->applied - at, "%llu:%.*s;", (unsigned long long)epoch,
             (int)change.size, change.size ? (const char *)change.data : "");
}
static inline void rig_request(void *context, struct cluster_request *r)
{
    struct rig_shard *s = context;
    s->requests++;
    ensure(r->epoch <= cluster_epoch(r->cluster));
    ensure(!r->has_token || ring_shard(r->token, io_shards(s->io)) == io_self(s->io));
    if (s->node->rig->answer)
        s->node->rig->answer(s, r);
    else if (!s->is_silent)
        cluster_answer(r, OK, r->body);
}
static inline void rig_changed(void *context, const struct ring *ring, unsigned node, bool is_up)
{
    (void)context;
    ensure(ring->nodes[node - 1].is_up == is_up);
}

/* ---- a shard's life ---- */

enum { RIG_OPEN, RIG_OPENED, RIG_RUN, RIG_CLOSED };

static inline struct op_next rig_open(struct op *op)
{
    struct rig_shard *s = rig_shard_of(op);
    int self = io_self(s->io);
    struct rig_shard *first = &s->node->shards[0];
    if (self > 0 && first->is_failed) {
        s->is_failed = true;
        io_quit(s->io);
        return op_end(op, OK);
    }
    if (self > 0 && !first->is_open)
        return op_wait(RIG_OPEN);
    struct cluster_options options = s->node->options;
    options.context = s;
    options.first = first->cluster;
    cluster_open(s->io, &s->req, op, &options, &s->cluster, &s->report);
    return op_wait(RIG_OPENED);
}

static inline struct op_next rig_opened(struct op *op)
{
    struct rig_shard *s = rig_shard_of(op);
    struct rig_node *n = s->node;
    if (s->req.busy)
        return op_wait(RIG_OPENED);
    s->is_open = s->req.err == OK;
    s->is_failed = !s->is_open;
    if (s->is_failed)
        io_quit(s->io);
    if (io_self(s->io) == 0) {
        for (int i = 1; i < n->shards_count; i++)
            op_wake(&n->shards[i].op);
        if (s->is_open)
            cluster_serve(s->cluster);
    }
    return s->is_open ? op_goto(RIG_RUN) : op_end(op, s->req.err);
}

static inline struct op_next rig_run(struct op *op)
{
    struct rig_shard *s = rig_shard_of(op);
    struct rig_node *n = s->node;
    if (!s->must_close)
        return op_wait(RIG_RUN);
    for (int i = 1; i < n->shards_count && io_self(s->io) == 0; i++)
        if (!n->shards[i].is_closed)
            return op_wait(RIG_RUN);
    cluster_close(&s->cluster, &s->req, op);
    return op_wait(RIG_CLOSED);
}

static inline struct op_next rig_closed(struct op *op)
{
    struct rig_shard *s = rig_shard_of(op);
    if (s->req.busy)
        return op_wait(RIG_CLOSED);
    s->is_closed = true;
    s->is_open = false;
    op_wake(&s->node->shards[0].op);
    io_quit(s->io);
    return op_end(op, OK);
}

static const struct op_state rig_states[] = {
    [RIG_OPEN] = { "open", rig_open, TO(RIG_OPEN) | TO(RIG_OPENED) },
    [RIG_OPENED] = { "opened", rig_opened, TO(RIG_OPENED) | TO(RIG_RUN) },
    [RIG_RUN] = { "run", rig_run, TO(RIG_RUN) | TO(RIG_CLOSED) },
    [RIG_CLOSED] = { "closed", rig_closed, TO(RIG_CLOSED) },
};

static inline void rig_shard_start(struct io *io, void *arg)
{
    struct rig_node *n = arg;
    struct rig_shard *s = &n->shards[io_self(io)];
    *s = (struct rig_shard){ .node = n, .io = io };
    op_start(&s->op, io_ops(io), NULL, rig_states, NULL);
}
