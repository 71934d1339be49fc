/* op.h - work that has to wait.
 *
 * An op is a piece of work cut into steps.  A step never blocks and never calls another step: it
 * starts what it needs (disk, network, timer, smaller ops) and returns where to go on:
 *
 *     return op_goto(S);        go on at S in this turn
 *     return op_wait(S);        go on at S when something this op is waiting for has happened
 *     return op_yield(S);       go on at S later: let others run (long work in slices)
 *     return op_end(op, err);   finished
 *
 * Steps re-read the facts, so a spurious wake is harmless.
 *
 * Four laws, checked by op.c:
 *   1. An op ends exactly once.
 *   2. It is released only after everything it started has ended.
 *   3. Steps run from ops_run() only; a completion notes its result and wakes the op.
 *   4. A move that is not an arrow in the table stops the process.
 *
 * Stopping an op wakes it with op->stop set and stops its children; the op itself decides how to
 * end, cancelling the leaves it waits for.  A deadline and a shutdown are both just a stop.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"
#include "base/list.h"

struct op;
struct op_next {
    uint8_t state;
    uint8_t how; /* enum op_how */
};
enum op_how { OP_GO, OP_WAIT, OP_YIELD };

/* One row per state of one kind of op; `to` holds a bit for each state it may move to. */
struct op_state {
    const char *name;
    struct op_next (*step)(struct op *);
    unsigned to;
};
#define TO(s) (1u << (s))
enum { OP_ENDED = 31 };

struct log_outlet;

/* The ops of one shard that are ready to take a step.  Background ops run one slice per turn. */
struct ops {
    struct list ready, background;
    struct list later; /* yielded in the foreground: ready again from the next ops_run on */
    void (*trace)(struct ops *, const struct op *, const char *from, const char *to);
    uint64_t started_count, ended_count;
    struct op *running;      /* whose step runs now, or NULL */
    uint64_t steps_count;    /* taken; a change tells a world that another step has begun */
    struct log_outlet *log;  /* where this shard's log lines go, or NULL (log.c) */
    uint64_t unlogged_count; /* lines that went nowhere (log.c) */
};

struct op {
    const struct op_state *states;
    void (*release)(struct op *); /* frees the memory the op lives in; may be NULL (embedded) */
    struct ops *ops;
    struct op *parent;
    struct list ready, children, sibling;
    unsigned waiting; /* leaves and children started and not ended yet */
    uint8_t state;
    bool is_background;
    enum err stop; /* why this op should stop, or OK */
    enum err err;  /* how it ended */
};

void ops_init(struct ops *);
/* Runs every ready foreground op until none is ready, then one slice of one background op.
 * Returns whether any step ran. */
bool ops_run(struct ops *);
/* The same without the background slice and without what yielded: for a loop that has noted more
 * completions but has not polled its sockets since. */
bool ops_run_ready(struct ops *);
/* Nothing is ready: the loop may sleep. */
bool ops_idle(const struct ops *);

/* Starts at state 0; the first step runs from ops_run, never inside this call.  `parent` may be
 * NULL; a parent is held until the child has been released, and woken then.  `*op` is overwritten.
 */
void op_start(struct op *, struct ops *, struct op *parent, const struct op_state *,
              void (*release)(struct op *));
void op_start_background(struct op *, struct ops *, struct op *parent, const struct op_state *,
                         void (*release)(struct op *));
void op_wake(struct op *);
void op_stop(struct op *, enum err why);

/* For leaves: io and journal bracket every request with these two. */
void op_hold(struct op *);
void op_drop(struct op *);

static inline struct op_next op_goto(uint8_t s) { return (struct op_next){ s, OP_GO }; }
static inline struct op_next op_wait(uint8_t s) { return (struct op_next){ s, OP_WAIT }; }
static inline struct op_next op_yield(uint8_t s) { return (struct op_next){ s, OP_YIELD }; }
struct op_next op_end(struct op *, enum err);
static inline bool op_running(const struct op *op) { return op->states && op->state != OP_ENDED; }
