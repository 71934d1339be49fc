/* calls.c - requests of this shard to other nodes: how each ends, once.
 *
 *     cluster_call ──> running ── answer ──────────────> ended, at once
 *                         └────── deadline, closed, ───> over ──(calls op)──> ended
 *                                 no room, cancelled
 *
 * Nothing may complete inside the call that starts it, so what fails early is put on `over`, and
 * one op of the shard ends it in its next step.  The same op watches the deadlines: it sleeps until
 * the soonest one that it has seen.  Most calls are answered long before, so it wakes seldom, and a
 * call costs no timer.
 *
 * Invariants: 1. a call is on exactly one of the two lists until it ends.  2. soonest_ns is never
 * later than the deadline of a running call.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/internal.h"

enum { CALLS_LOOK };
enum { BULK_FROM_BYTES = 64 * 1024 };

static struct op_next calls_look(struct op *);
static const struct op_state calls_states[] = {
    [CALLS_LOOK] = { "look", calls_look, TO(CALLS_LOOK) },
};

static struct calls *calls_of(struct op *op) { return owner_of(op, struct calls, op); }
static struct cluster_call *call_of(struct list *l)
{
    return owner_of(l, struct cluster_call, link);
}

void call_over(struct cluster *c, struct cluster_call *call, enum err err)
{
    ensure(call->req.busy && err != OK);
    list_remove(&call->link);
    call->failed = err;
    call->impl = NULL;
    list_add(&c->calls.over, &call->link);
    op_wake(&c->calls.op);
}

void calls_begin(struct cluster *c, struct cluster_call *call, struct op *op,
                 const struct cluster_message *m, struct lane_out *lane)
{
    io_req_begin(&call->req, op);
    list_init(&call->link);
    call->answer = (struct bytes){ 0 };
    call->node = m->node;
    call->deadline_ns = m->deadline_ns;
    call->impl = NULL;
    list_add(&c->calls.running, &call->link);
    if (c->is_closing || !lane) {
        call_over(c, call, ERR_STOPPED);
        return;
    }
    if (m->deadline_ns <= io_now(c->io)) {
        call_over(c, call, ERR_TIMEOUT);
        return;
    }
    if (!lane_call(lane, call, m)) {
        call_over(c, call, ERR_OVERLOADED);
        return;
    }
    if (m->deadline_ns < c->calls.soonest_ns) {
        c->calls.soonest_ns = m->deadline_ns;
        op_wake(&c->calls.op);
    }
}

void cluster_call(struct cluster *c, struct cluster_call *call, struct op *op,
                  const struct cluster_message *m)
{
    ensure(m->node >= 1 && m->node <= c->ring.nodes_count && m->node != c->self);
    bool is_bulk = m->verb == VERB_HINTS || m->body.size > BULK_FROM_BYTES;
    struct lane_out **lane = &c->lanes[m->node - 1][is_bulk ? LANE_BULK : LANE_REQUEST];
    if (!*lane && !c->is_closing)
        *lane = lane_open(c, is_bulk ? LANE_BULK : LANE_REQUEST, m->node, NULL);
    calls_begin(c, call, op, m, *lane);
}

void cluster_cancel(struct cluster *c, struct cluster_call *call)
{
    if (!call->req.busy || !call->impl)
        return; /* ended, or about to */
    lane_forget(call->impl, call);
    call_over(c, call, ERR_STOPPED);
}

/* ---- the op ---- */

static void calls_end_over(struct calls *calls)
{
    while (!list_empty(&calls->over)) {
        struct cluster_call *call = call_of(calls->over.next);
        list_remove(&call->link);
        io_req_end(&call->req, call->failed);
    }
}

static void calls_expire(struct cluster *c, uint64_t now_ns)
{
    uint64_t soonest = UINT64_MAX;
    list_each(l, &c->calls.running)
    {
        struct cluster_call *call = call_of(l);
        if (call->deadline_ns > now_ns) {
            soonest = u64_min(soonest, call->deadline_ns);
            continue;
        }
        ensure(call->impl);
        lane_forget(call->impl, call);
        c->counts.timeouts++;
        call_over(c, call, ERR_TIMEOUT);
    }
    c->calls.soonest_ns = soonest;
}

static void calls_set_timer(struct cluster *c, struct op *op)
{
    struct calls *calls = &c->calls;
    uint64_t now_ns = io_now(c->io);
    if (calls->soonest_ns == UINT64_MAX)
        return; /* a timer that is still set wakes us for nothing, once */
    if (calls->timer.busy && calls->timer_ns <= calls->soonest_ns)
        return;
    if (calls->timer.busy) {
        io_cancel(c->io, &calls->timer);
        return;
    }
    calls->timer_ns = calls->soonest_ns;
    io_sleep(c->io, &calls->timer, op, calls->soonest_ns - now_ns);
}

static struct op_next calls_look(struct op *op)
{
    struct calls *calls = calls_of(op);
    struct cluster *c = owner_of(calls, struct cluster, calls);
    uint64_t now_ns = io_now(c->io);
    if (calls->soonest_ns <= now_ns)
        calls_expire(c, now_ns);
    calls_end_over(calls);
    if (!c->is_drained) {
        calls_set_timer(c, op);
        return op_wait(CALLS_LOOK);
    }
    ensure(list_empty(&calls->running));
    if (calls->timer.busy) {
        io_cancel(c->io, &calls->timer);
        return op_wait(CALLS_LOOK);
    }
    return op_end(op, OK);
}

void calls_start(struct cluster *c)
{
    list_init(&c->calls.running);
    list_init(&c->calls.over);
    c->calls.soonest_ns = UINT64_MAX;
    op_start(&c->calls.op, io_ops(c->io), &c->op, calls_states, NULL);
}
