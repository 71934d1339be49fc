/* op.c - the dispatcher: takes ready ops one after the other and lets each go as far as it can.
 *
 *                 op_wake                       step
 *     waiting ──────────────> ready, background ──────> goto: again, at once
 *        ^                          ^    ^              yield: later, after others
 *        │                          │    └───────────── (the next ops_run)
 *        └──────────────────────────┼────────────────── wait
 *                                   │
 *     ended, held by what it started┴── the last drop ──> released, its parent is dropped
 *
 * Invariants:
 *   1. `ready` of an op is linked in at most one of ops' three lists; a wake of a linked op is
 *      nothing.
 *   2. waiting == leaves under way + children not released.
 *   3. Only ops_run and ops_run_ready call steps, and never inside a step.
 *   4. An ended op takes no step and starts nothing; it is released when waiting is 0.
 *
 * It knows no clock, no thread and no loop: the worlds call ops_run.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/op.h"

void ops_init(struct ops *ops)
{
    *ops = (struct ops){ 0 };
    list_init(&ops->ready);
    list_init(&ops->background);
    list_init(&ops->later);
}

bool ops_idle(const struct ops *ops)
{
    return list_empty(&ops->ready) && list_empty(&ops->background) && list_empty(&ops->later);
}

/* ---- starting, waking, stopping ---- */

static void op_begin(struct op *op, struct ops *ops, struct op *parent,
                     const struct op_state *states, void (*release)(struct op *))
{
    ensure(states && states[0].step);
    *op = (struct op){ .states = states, .release = release, .ops = ops, .parent = parent };
    list_init(&op->ready);
    list_init(&op->children);
    list_init(&op->sibling);
    ops->started_count++;
    if (parent) {
        list_add(&parent->children, &op->sibling);
        op_hold(parent);
    }
}

void op_start(struct op *op, struct ops *ops, struct op *parent, const struct op_state *states,
              void (*release)(struct op *))
{
    op_begin(op, ops, parent, states, release);
    op_wake(op);
}

void op_start_background(struct op *op, struct ops *ops, struct op *parent,
                         const struct op_state *states, void (*release)(struct op *))
{
    op_begin(op, ops, parent, states, release);
    op->is_background = true;
    op_wake(op);
}

void op_wake(struct op *op)
{
    if (list_empty(&op->ready))
        list_add(op->is_background ? &op->ops->background : &op->ops->ready, &op->ready);
}

void op_stop(struct op *op, enum err why)
{
    ensure(why != OK);
    if (op->stop != OK || op->state == OP_ENDED)
        return;
    op->stop = why;
    list_each(l, &op->children) op_stop(owner_of(l, struct op, sibling), why);
    op_wake(op);
}

void op_hold(struct op *op)
{
    ensure(op->state != OP_ENDED);
    op->waiting++;
}

void op_drop(struct op *op)
{
    ensure(op->waiting > 0);
    op->waiting--;
    op_wake(op);
}

struct op_next op_end(struct op *op, enum err err)
{
    ensure(op->state != OP_ENDED);
    op->err = err;
    return op_goto(OP_ENDED);
}

/* ---- running ---- */

static void op_move(struct op *op, uint8_t to)
{
    const struct op_state *from = &op->states[op->state];
    ensure(to == OP_ENDED || to == op->state || (to < OP_ENDED && (from->to & TO(to))));
    if (op->ops->trace && to != op->state)
        op->ops->trace(op->ops, op, from->name, to == OP_ENDED ? "ended" : op->states[to].name);
    op->state = to;
}

/* An ended op stays until what it started has ended too; then its memory goes. */
static void op_release(struct op *op)
{
    struct op *parent = op->parent;
    if (op->waiting > 0)
        return;
    ensure(list_empty(&op->children));
    list_remove(&op->ready); /* a last drop may have woken it once more */
    list_remove(&op->sibling);
    op->ops->ended_count++;
    if (op->release)
        op->release(op);
    if (parent)
        op_drop(parent);
}

static struct op_next op_step(struct op *op)
{
    struct ops *ops = op->ops;
    ensure(!ops->running);
    ops->running = op;
    ops->steps_count++;
    struct op_next next = op->states[op->state].step(op);
    ops->running = NULL;
    return next;
}

static void op_run(struct op *op)
{
    struct op_next next = { op->state, OP_GO };
    list_remove(&op->ready);
    while (op->state != OP_ENDED && next.how == OP_GO) {
        next = op_step(op);
        op_move(op, next.state);
    }
    if (op->state == OP_ENDED) {
        op_release(op);
        return;
    }
    if (next.how == OP_YIELD) {
        list_remove(&op->ready);
        list_add(op->is_background ? &op->ops->background : &op->ops->later, &op->ready);
    }
}

static struct op *first_of(struct list *ready)
{
    return list_empty(ready) ? NULL : owner_of(ready->next, struct op, ready);
}

bool ops_run_ready(struct ops *ops)
{
    bool any = false;
    ensure(!ops->running);
    for (struct op *op; (op = first_of(&ops->ready)); any = true)
        op_run(op);
    return any;
}

bool ops_run(struct ops *ops)
{
    while (!list_empty(&ops->later)) {
        struct list *l = ops->later.next;
        list_remove(l);
        list_add(&ops->ready, l);
    }
    bool any = ops_run_ready(ops);
    struct op *op = first_of(&ops->background);
    if (op)
        op_run(op);
    return any || op;
}
