/* probe.c - reads from a replica that has been slow, beside a read that does without it: only to
 * see how long it takes now.
 *
 *     send ──> heard ──> ended
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/inside.h"

enum { SEND, HEARD };

struct probe {
    struct task task;
    struct arena arena;
    unsigned node;
    struct read read;
    struct bytes request, answer;
    struct cluster_call call;
    struct io_req local;
    uint64_t sent_ns;
    bool is_cancelled;
};

static struct op_next probe_send(struct op *);
static struct op_next probe_heard(struct op *);
static void probe_release(struct op *);

static const struct op_state states[] = {
    [SEND] = { "send probe", probe_send, TO(HEARD) },
    [HEARD] = { "probe heard", probe_heard, TO(HEARD) },
};

static struct probe *probe_of(struct op *op) { return owner_of(op, struct probe, task.op); }

void probe_start(struct coordinator *c, unsigned node, const struct read *read, int64_t gc_before)
{
    struct probe *p = mem_zalloc(sizeof *p);
    struct buf encoded = buf_in(&p->arena);
    int64_t ignored;
    list_init(&p->task.link);
    p->node = node;
    digest_ask_encode(read, gc_before, &encoded);
    p->request = buf_bytes(&encoded);
    enum err err = digest_ask_decode(p->request, &p->arena, &p->read, &ignored);
    ensure(err == OK);
    c->counts.probes++;
    task_begin(&p->task, c, states, probe_release);
}

static struct op_next probe_send(struct op *op)
{
    struct probe *p = probe_of(op);
    struct coordinator *c = p->task.c;
    const struct replica_slot *slot = &c->options.replica;
    p->sent_ns = io_now(c->io);
    uint64_t deadline_ns = p->sent_ns + UINT64_C(5) * 1000 * 1000 * 1000;
    latency_sent(&c->latency, p->node, p->sent_ns);
    if (p->node == cluster_self(c->cluster)) {
        slot->read(slot->context, &p->local, op, &p->read, &p->arena, &p->answer, deadline_ns);
        return op_wait(HEARD);
    }
    struct cluster_message m = { .node = p->node,
                                 .verb = VERB_DIGEST,
                                 .body = p->request,
                                 .deadline_ns = deadline_ns,
                                 .has_token = true,
                                 .token = p->read.token };
    p->call.arena = &p->arena;
    cluster_call(c->cluster, &p->call, op, &m);
    return op_wait(HEARD);
}

static struct op_next probe_heard(struct op *op)
{
    struct probe *p = probe_of(op);
    struct coordinator *c = p->task.c;
    if (p->call.req.busy && op->stop && !p->is_cancelled)
        cluster_cancel(c->cluster, &p->call);
    p->is_cancelled |= op->stop != OK;
    if (p->call.req.busy || p->local.busy)
        return op_wait(HEARD);
    latency_heard(&c->latency, p->node, p->sent_ns, io_now(c->io));
    return op_end(op, OK);
}

static void probe_release(struct op *op)
{
    struct probe *p = probe_of(op);
    task_end(&p->task);
    arena_deinit(&p->arena);
    mem_free(p);
}
