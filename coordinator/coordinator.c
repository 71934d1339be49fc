/* coordinator.c - one shard's requests under way: their budget, their deadlines, stopping them.
 *
 *     running: request ─ request ─ request        each an op (write.c, read.c)
 *                 one watch op wakes what is late
 *
 * Requests cost no timer each: the watch sleeps until the soonest deadline that it has seen, and
 * most requests are over long before.  It runs only while there are requests, so an idle
 * coordinator has no op at all.
 *
 * Invariants: 1. soonest_ns is never later than the deadline of a running request whose deadline
 * has not passed.  2. bytes is the sum over the running ones.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/internal.h"

enum { LOOK };

static struct op_next watch_look(struct op *);
static void watch_release(struct op *);
static const struct op_state watch_states[] = {
    [LOOK] = { "look", watch_look, TO(LOOK) },
};

static struct coordinator *watch_of(struct op *op)
{
    return owner_of(op, struct coordinator, watch);
}

struct coordinator *coordinator_new(const struct coordinator_options *options)
{
    struct coordinator *c = mem_zalloc(sizeof *c);
    ensure(options->io && options->cluster && options->replica.apply && options->replica.read &&
           options->replica.read_now);
    c->options = *options;
    c->soonest_ns = UINT64_MAX;
    list_init(&c->running);
    list_init(&c->writes_free);
    list_init(&c->reads_free);
    return c;
}

void coordinator_free(struct coordinator **coordinator)
{
    struct coordinator *c = *coordinator;
    if (!c)
        return;
    ensure(coordinator_idle(c));
    writes_deinit(c);
    reads_deinit(c);
    mem_free(c);
    *coordinator = NULL;
}

void coordinator_stop(struct coordinator *c)
{
    c->is_stopping = true;
    list_each(l, &c->running) op_stop(owner_of(l, struct running, link)->op, ERR_STOPPED);
    if (c->is_watching)
        op_wake(&c->watch);
}

bool coordinator_idle(const struct coordinator *c)
{
    return list_empty(&c->running) && !c->is_watching;
}

void coordinator_counts(const struct coordinator *c, struct coordinator_counts *out)
{
    *out = c->counts;
}

/* ---- running ---- */

static void watch_begin(struct coordinator *c)
{
    if (c->is_watching) {
        op_wake(&c->watch);
        return;
    }
    c->is_watching = true;
    op_start(&c->watch, io_ops(c->options.io), NULL, watch_states, watch_release);
}

bool running_begin(struct coordinator *c, struct running *r, struct op *op, uint64_t deadline_ns,
                   size_t bytes)
{
    uint64_t most = c->options.requests_bytes_max;
    bool is_over = most && c->bytes > 0 && c->bytes + bytes > most;
    *r = (struct running){ .op = op, .deadline_ns = deadline_ns, .bytes = is_over ? 0 : bytes };
    list_init(&r->link);
    list_add(&c->running, &r->link);
    c->bytes += r->bytes;
    c->counts.in_flight++;
    if (c->is_stopping)
        op_stop(op, ERR_STOPPED);
    if (deadline_ns < c->soonest_ns) {
        c->soonest_ns = deadline_ns;
        watch_begin(c);
    }
    return !is_over;
}

void running_end(struct coordinator *c, struct running *r)
{
    ensure(c->bytes >= r->bytes && c->counts.in_flight > 0);
    list_remove(&r->link);
    c->bytes -= r->bytes;
    c->counts.in_flight--;
    if (c->is_stopping && list_empty(&c->running) && c->is_watching)
        op_wake(&c->watch);
}

bool running_is_late(struct coordinator *c, const struct running *r)
{
    return io_now(c->options.io) >= r->deadline_ns;
}

/* ---- the watch ---- */

/* A late request is woken once: it decides, and does not count for the next look. */
static void watch_wake_late(struct coordinator *c, uint64_t now_ns)
{
    c->soonest_ns = UINT64_MAX;
    list_each(l, &c->running)
    {
        struct running *r = owner_of(l, struct running, link);
        if (r->deadline_ns <= now_ns)
            op_wake(r->op);
        else
            c->soonest_ns = u64_min(c->soonest_ns, r->deadline_ns);
    }
}

static struct op_next watch_look(struct op *op)
{
    struct coordinator *c = watch_of(op);
    struct io *io = c->options.io;
    uint64_t now_ns = io_now(io);
    if (c->soonest_ns <= now_ns)
        watch_wake_late(c, now_ns);
    bool is_done = list_empty(&c->running) && (c->is_stopping || !c->timer.busy);
    if (c->timer.busy && (is_done || c->soonest_ns < c->timer_ns))
        io_cancel(io, &c->timer);
    if (c->timer.busy)
        return op_wait(LOOK);
    if (is_done || c->soonest_ns == UINT64_MAX)
        return op_end(op, OK);
    c->timer_ns = c->soonest_ns;
    io_sleep(io, &c->timer, op, c->soonest_ns - now_ns);
    return op_wait(LOOK);
}

static void watch_release(struct op *op)
{
    struct coordinator *c = watch_of(op);
    c->is_watching = false;
    c->soonest_ns = UINT64_MAX;
}
