/* hints_target.c - the op of a target: tends its journals, and delivers what they hold.
 *
 *     tend <──(something happened, or it is time)──┐ ──> ended, when stopped and all is quiet
 *       └──────────────────────────────────────────┘
 *
 * One state: each look at the facts does what there is to do, in the background, one flight at a
 * time.  A journal is delivered in a pass (hints_pass.c), one pass at a time, former shards'
 * journals first.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/hints_inside.h"

enum { TARGET_TEND };
static const uint64_t look_again_ns = 60000000000; /* wall clocks may jump */

static struct op_next target_tend(struct op *);
static const struct op_state target_states[] = {
    [TARGET_TEND] = { "hints tend", target_tend, TO(TARGET_TEND) },
};

unsigned target_node(const struct hint_target *t)
{
    return ring_number(cluster_ring(t->hints->cluster), &t->host_id);
}

bool target_may_deliver(const struct hint_target *t)
{
    unsigned node = target_node(t);
    bool is_up = node > 0 && cluster_is_up(t->hints->cluster, node);
    return is_up && t->hints->is_on && !t->op.stop;
}

static uint64_t sooner(uint64_t a, uint64_t b) { return !a || (b && b < a) ? b : a; }

static void target_sleep(struct hint_target *t, struct op *op, uint64_t next)
{
    struct io *io = t->hints->io;
    uint64_t now = io_now(io);
    if (t->nap.busy && (op->stop || (next && next < t->nap_until_ns)))
        io_cancel(io, &t->nap); /* it comes back here */
    if (t->nap.busy || !next)
        return;
    t->nap_until_ns = u64_min(next > now ? next : now + 1, now + look_again_ns);
    io_sleep(io, &t->nap, op, t->nap_until_ns - now);
}

static bool target_is_quiet(const struct hint_target *t)
{
    list_each(l, &t->journals)
    {
        if (!hint_journal_is_quiet(owner_of(l, struct hint_journal, link)))
            return false;
    }
    return pass_is_quiet(t);
}

static struct op_next target_tend(struct op *op)
{
    struct hint_target *t = owner_of(op, struct hint_target, op);
    uint64_t next = pass_tend(t, op);
    list_each(l, &t->journals)
    {
        next = sooner(next, hint_journal_tend(owner_of(l, struct hint_journal, link), op));
    }
    give_up_wake(t->hints);
    if (op->stop && target_is_quiet(t) && !t->nap.busy)
        return op_end(op, OK);
    if (t->has_more)
        return op_yield(TARGET_TEND);
    target_sleep(t, op, op->stop ? 0 : next);
    return op_wait(TARGET_TEND);
}

static void target_release(struct op *op)
{
    struct hint_target *t = owner_of(op, struct hint_target, op);
    if (t->hints->closer)
        op_wake(t->hints->closer);
}

void target_start(struct hint_target *t)
{
    if (op_running(&t->op)) {
        op_wake(&t->op);
        return;
    }
    if (t->hints->is_closing)
        return;
    ensure(!t->op.states); /* once */
    t->flights_max = 1;
    t->flight_bytes = HINT_FLIGHT_BYTES_MIN;
    op_start_background(&t->op, io_ops(t->hints->io), NULL, target_states, target_release);
}
