/* rig_client.h - what a client of a node's cluster does: a change, a request to another node. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/internal.h"
#include "rig.h"

/* ---- a change, as a client of a node would make it ---- */

struct rig_append {
    struct op op;
    struct io_req req;
    struct rig_shard *shard;
    struct report report;
    const char *change;
    uint64_t epoch, deadline_ns;
    bool is_done;
    enum err err;
};
static inline struct op_next rig_append_begin(struct op *op)
{
    struct rig_append *a = owner_of(op, struct rig_append, op);
    struct cluster *c = a->shard->cluster;
    if (a->epoch == 0)
        a->epoch = cluster_epoch(c) + 1;
    struct cluster_change change = { a->epoch, bytes_text(a->change),
                                     io_now(a->shard->io) + a->deadline_ns };
    cluster_append(c, &a->req, op, &change, &a->report);
    return op_wait(1);
}
static inline struct op_next rig_append_end(struct op *op)
{
    struct rig_append *a = owner_of(op, struct rig_append, op);
    if (a->req.busy)
        return op_wait(1);
    a->is_done = true;
    a->err = a->req.err;
    return op_end(op, OK);
}
static const struct op_state rig_append_states[] = {
    { "begin", rig_append_begin, TO(1) },
    { "end", rig_append_end, TO(1) },
};
static inline void rig_append_start(struct rig *rig, int node, const char *change,
                                    struct rig_append *a)
{
    *a = (struct rig_append){ .shard = &rig->nodes[node].shards[0],
                              .change = change,
                              .deadline_ns = 10 * rig_second };
    op_start(&a->op, io_ops(a->shard->io), NULL, rig_append_states, NULL);
}

/* All shards of all nodes have applied the same. */
static inline bool rig_all_same(struct rig *rig)
{
    const char *first = rig->nodes[0].shards[0].applied;
    for (int i = 0; i < RIG_NODES; i++)
        for (int s = 0; s < rig->nodes[i].shards_count; s++)
            if (strcmp(rig->nodes[i].shards[s].applied, first) != 0)
                return false;
    return true;
}
static inline bool rig_all_up_and_same(struct rig *rig)
{
    return rig_all_up(rig) && rig_all_same(rig);
}

/* ---- a request to another node ---- */

struct rig_call {
    struct op op;
    struct rig_shard *shard;
    struct cluster_call call;
    struct cluster_message message;
    struct arena arena;
    uint64_t timeout_ns, begun_ns, ended_ns;
    bool is_done, must_cancel;
    bool is_urgent; /* in the cluster's own lane, between shards 0 */
    enum err err;
};
static inline struct op_next rig_call_begin(struct op *op)
{
    struct rig_call *r = owner_of(op, struct rig_call, op);
    r->begun_ns = io_now(r->shard->io);
    r->message.deadline_ns = r->begun_ns + r->timeout_ns;
    r->call.arena = &r->arena;
    struct cluster *c = r->shard->cluster;
    if (r->is_urgent)
        calls_begin(c, &r->call, op, &r->message, c->lanes[r->message.node - 1][LANE_URGENT]);
    else
        cluster_call(c, &r->call, op, &r->message);
    if (r->must_cancel)
        cluster_cancel(r->shard->cluster, &r->call);
    return op_wait(1);
}
static inline struct op_next rig_call_end(struct op *op)
{
    struct rig_call *r = owner_of(op, struct rig_call, op);
    if (r->call.req.busy)
        return op_wait(1);
    r->is_done = true;
    r->err = r->call.req.err;
    r->ended_ns = io_now(r->shard->io);
    return op_end(op, OK);
}
static const struct op_state rig_call_states[] = {
    { "begin", rig_call_begin, TO(1) },
    { "end", rig_call_end, TO(1) },
};
static inline void rig_call_start(struct rig_call *r, struct rig_shard *shard, unsigned node,
                                  struct bytes body)
{
    r->shard = shard;
    r->timeout_ns = r->timeout_ns ? r->timeout_ns : 5 * rig_second;
    r->message.node = node;
    r->message.verb = VERB_APPLY;
    r->message.body = body;
    op_start(&r->op, io_ops(shard->io), NULL, rig_call_states, NULL);
}
static inline void rig_calls_wait(struct rig *rig, struct rig_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        while (!calls[i].is_done)
            ensure(sim_step(rig->sim));
}
