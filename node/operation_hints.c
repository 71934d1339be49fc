/* operation_hints.c - what is changed about hinted handoff while a node runs.
 *
 *     pausehandoff, resumehandoff    what is kept is not delivered, is delivered again
 *     sethintedhandoffthrottlekb     kibibytes: a second, divided by the number of other nodes; 0:
 *                                    no limit
 *     truncatehints                  node: a host id or an address of one; absent: all are given up
 *
 *     begin ──> sent ──> ended
 *
 * What is set lasts until the next start.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/hinting.h"
#include "node/operation.h"

enum { HINTS_OP_BEGIN, HINTS_OP_SENT };
enum { KIBIBYTES_MAX = 1 << 30 };

struct work {
    uint64_t bytes_per_second; /* of a shard, to one target */
    unsigned target;           /* 0: all */
};

/* ---- on each shard ---- */

static void pause_begin(struct errand *e)
{
    if (e->shard->hints)
        hints_set_on(e->shard->hints, false);
}

static void resume_begin(struct errand *e)
{
    if (e->shard->hints)
        hints_set_on(e->shard->hints, true);
}

static void throttle_begin(struct errand *e)
{
    const struct work *w = e->all->what;
    if (e->shard->hints)
        hints_set_throttle(e->shard->hints, w->bytes_per_second);
}

static void remove_begin(struct errand *e)
{
    const struct work *w = e->all->what;
    if (e->shard->hints)
        hints_remove(e->shard->hints, &e->wait, &e->op, w->target);
}

static const struct errand_kind pause_kind = { .begin = pause_begin };
static const struct errand_kind resume_kind = { .begin = resume_begin };
static const struct errand_kind throttle_kind = { .begin = throttle_begin };
static const struct errand_kind remove_kind = { .begin = remove_begin };

/* ---- here ---- */

static struct op_next hints_op_sent(struct op *op)
{
    struct operation *o = operation_of(op);
    return o->errands.away ? op_wait(HINTS_OP_SENT) : op_end(op, operation_sent(o));
}

static struct op_next hints_op_send(struct operation *o, const struct errand_kind *kind)
{
    operation_send(o, kind, o->work);
    return op_wait(HINTS_OP_SENT);
}

static struct op_next pause_step(struct op *op)
{
    return hints_op_send(operation_of(op), &pause_kind);
}

static struct op_next resume_step(struct op *op)
{
    return hints_op_send(operation_of(op), &resume_kind);
}

static struct op_next throttle_step(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    const struct ring *ring = cluster_ring(o->shard->cluster);
    uint64_t others = ring->nodes_count > 1 ? ring->nodes_count - 1 : 1;
    uint64_t kibibytes;
    if (operation_number(o, "kibibytes", 0, KIBIBYTES_MAX, &kibibytes) != OK)
        return op_end(op, o->failed.err);
    w->bytes_per_second =
        hinting_share(kibibytes << 10, (uint64_t)io_shards(o->shard->io) * others);
    return hints_op_send(o, &throttle_kind);
}

/* The member with that host id, or with that address, with or without its port. */
static unsigned node_named(const struct ring *ring, const char *name)
{
    struct uuid id;
    struct io_addr addr;
    if (uuid_parse(bytes_text(name), &id))
        return ring_number(ring, &id);
    for (size_t i = 0; i < ring->nodes_count; i++) {
        const struct node *n = &ring->nodes[i];
        char text[IO_ADDR_TEXT_BYTES];
        bool is_bare = io_addr_parse(name, n->native.port, &addr);
        io_addr_print(&n->native, text);
        if (strcmp(text, name) == 0 || (is_bare && io_addr_equal(&addr, &n->native)))
            return n->number;
    }
    return 0;
}

static struct op_next remove_step(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    const char *name = form_get(&o->form, "node");
    w->target = name ? node_named(cluster_ring(o->shard->cluster), name) : 0;
    if (name && !w->target)
        return operation_fail(o, ERR_NOT_FOUND,
                              "no member of the ring has the address or the host "
                              "id %.64s",
                              name);
    return hints_op_send(o, &remove_kind);
}

#define STATES(name, begin)                                                          \
    static const struct op_state name##_states[] = {                                 \
        [HINTS_OP_BEGIN] = { "op " #name " begin", begin, TO(HINTS_OP_SENT) },       \
        [HINTS_OP_SENT] = { "op " #name " sent", hints_op_sent, TO(HINTS_OP_SENT) }, \
    }
STATES(pausehandoff, pause_step);
STATES(resumehandoff, resume_step);
STATES(handoffthrottle, throttle_step);
STATES(truncatehints, remove_step);

const struct operation_verb operation_pausehandoff = { .name = "pausehandoff",
                                                       .takes = "",
                                                       .states = pausehandoff_states,
                                                       .work_bytes = sizeof(struct work) };
const struct operation_verb operation_resumehandoff = { .name = "resumehandoff",
                                                        .takes = "",
                                                        .states = resumehandoff_states,
                                                        .work_bytes = sizeof(struct work) };
const struct operation_verb operation_sethintedhandoffthrottlekb = {
    .name = "sethintedhandoffthrottlekb",
    .takes = "kibibytes ",
    .states = handoffthrottle_states,
    .work_bytes = sizeof(struct work)
};
const struct operation_verb operation_truncatehints = { .name = "truncatehints",
                                                        .takes = "node ",
                                                        .states = truncatehints_states,
                                                        .work_bytes = sizeof(struct work) };
