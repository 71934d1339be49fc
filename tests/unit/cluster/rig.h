/* rig.h - three nodes that are nothing but a cluster, in the simulator: for the tests of cluster/.
 *
 * Each node runs one op a shard: open, then run until it is told to close.  What the cluster tells
 * is noted: the changes applied, in order, as one text; who is up; requests are echoed.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/cluster.h"
#include "io/sim/sim.h"

enum { RIG_NODES = 3, RIG_SHARDS_MAX = 3, RIG_TEXT_BYTES = 4096 };
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

/* ---- the rig ---- */

static inline void rig_init(struct rig *rig, uint64_t seed, struct sim_faults faults)
{
    memset(rig, 0, sizeof *rig);
    rig->sim = sim_new(seed, faults);
    for (int i = 0; i < RIG_NODES; i++) {
        snprintf(rig->seed_texts[i], sizeof rig->seed_texts[i], "10.0.0.%d:7000", i + 1);
        rig->seeds[i] = rig->seed_texts[i];
        rig->nodes[i].rig = rig;
        rig->nodes[i].index = i;
        snprintf(rig->nodes[i].address, sizeof rig->nodes[i].address, "10.0.0.%d", i + 1);
        rig->nodes[i].options = (struct cluster_options){
            .cluster_name = "rig",
            .metadata_folder = "/metadata",
            .seeds_count = RIG_NODES,
            .seeds = rig->seeds,
            .storage_port = 7000,
            .tokens_count = 16,
            .data_center = "dc1",
            .rack = "rack1",
            .ping_timeout_ns = 2000000000,
            .applied = rig_applied,
            .request = rig_request,
            .changed = rig_changed,
        };
    }
}

static inline void rig_start(struct rig *rig, int index, int shards)
{
    struct rig_node *n = &rig->nodes[index];
    struct cluster_options *o = &n->options;
    n->shards_count = shards;
    ensure(io_addr_parse(n->address, 7000, &o->listen));
    ensure(io_addr_parse(n->address, 9042, &o->native));
    o->broadcast = o->listen;
    o->credits = rig->credits;
    sim_start(rig->sim, index, shards, n->address, rig_shard_start, n);
}

static inline void rig_kill(struct rig *rig, int index)
{
    if (sim_alive(rig->sim, index))
        sim_kill(rig->sim, index, NULL);
    for (int i = 0; i < RIG_SHARDS_MAX; i++)
        rig->nodes[index].shards[i].is_open = false;
}

static inline void rig_close(struct rig *rig, int index)
{
    for (int i = 0; i < rig->nodes[index].shards_count; i++) {
        rig->nodes[index].shards[i].must_close = true;
        op_wake(&rig->nodes[index].shards[i].op);
    }
}

static inline bool rig_is_open(const struct rig_node *n)
{
    for (int i = 0; i < n->shards_count; i++)
        if (!n->shards[i].is_open)
            return false;
    return n->shards_count > 0;
}
static inline bool rig_all_open(struct rig *rig)
{
    for (int i = 0; i < RIG_NODES; i++)
        if (!rig_is_open(&rig->nodes[i]))
            return false;
    return true;
}
/* Every node knows, on every shard, that every node is up. */
static inline bool rig_all_up(struct rig *rig)
{
    if (!rig_all_open(rig))
        return false;
    for (int i = 0; i < RIG_NODES; i++)
        for (int s = 0; s < rig->nodes[i].shards_count; s++)
            for (unsigned n = 1; n <= RIG_NODES; n++)
                if (!cluster_is_up(rig->nodes[i].shards[s].cluster, n))
                    return false;
    return true;
}

/* Steps until it holds; false when the time is over. */
static inline bool rig_until(struct rig *rig, bool (*holds)(struct rig *), uint64_t seconds)
{
    uint64_t end = sim_now(rig->sim) + seconds * rig_second;
    while (!holds(rig) && sim_now(rig->sim) < end)
        if (!sim_step(rig->sim))
            break;
    return holds(rig);
}
static inline void rig_pass(struct rig *rig, uint64_t ns)
{
    uint64_t end = sim_now(rig->sim) + ns;
    while (sim_now(rig->sim) < end && sim_step(rig->sim))
        ;
}
