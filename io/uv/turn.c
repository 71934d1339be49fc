/* turn.c - what a shard's loop does in one turn, and the clock that stands still within it.
 *
 *     prepare: settle, set the alarm, lie down ──> poll: read, accept, note what happened
 *        ^                                           │
 *        │                                           v
 *     closes, uv's timers <── check: get up, now = the clock, mail, jobs, sleeps, settle, a slice
 *
 * To settle is to end the requests that are noted as done and to run the steps that this wakes,
 * until there is nothing more to do, at most SETTLE_ROUNDS_MAX times: then the sockets get their
 * poll, which does not wait.  It happens on both sides of the poll: in check for what the poll
 * woke, in prepare for what closing handles woke and for what the slice of a background op started.
 *
 * Falling asleep.  A shard says is_asleep before it looks into its boxes for the last time; another
 * thread puts something in and then looks at is_asleep.  Both are sequentially consistent, so one
 * of them sees the other, and a shard that is awake costs its senders no system call.  What wakes
 * it is an eventfd of its own: a loop that a uv_async_t has woken spins until the sender is back
 * from its system call, which it interrupts where both share a processor.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/uv/impl.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ---- requests that are done ---- */

void io_note(struct io *io, struct io_req *req, enum err err)
{
    ensure(req->busy && list_empty(&req->link));
    req->err = err;
    req->impl = NULL;
    list_add(&io->done, &req->link);
}

static bool end_done(struct io *io)
{
    bool any = false;
    for (; !list_empty(&io->done); any = true) {
        struct io_req *req = owner_of(io->done.next, struct io_req, link);
        list_remove(&req->link);
        io_req_end(req, req->err);
    }
    return any;
}

static void settle(struct io *io)
{
    for (int i = 0; i < SETTLE_ROUNDS_MAX; i++) {
        bool any = end_done(io);
        any |= ops_run_ready(&io->ops);
        if (!any)
            return;
    }
}

/* ---- the two sides of a poll ---- */

static void on_after_poll(uv_check_t *check)
{
    struct io *io = check->data;
    atomic_store_explicit(&io->is_asleep, false, memory_order_relaxed);
    io->now_ns = uv_hrtime();
    io->counts.turns++;
    near_turn(io);
    mail_take(io);
    jobs_take(io);
    timers_expire(io);
    end_done(io);
    ops_run(&io->ops);
    settle(io);
    if (atomic_load(&io->world->running_count) == 0)
        uv_stop(&io->loop);
}

static void on_hurry(uv_idle_t *idle) { (void)idle; }

static void on_before_poll(uv_prepare_t *prepare)
{
    struct io *io = prepare->data;
    settle(io);
    timers_arm(io);
    atomic_store(&io->is_asleep, true);
    bool has_work = mail_waits(io) || jobs_wait(io) || !list_empty(&io->done) ||
                    !ops_idle(&io->ops) || atomic_load(&io->world->running_count) == 0 ||
                    expect_is_awake(io);
    if (has_work)
        uv_idle_start(&io->hurry, on_hurry);
    else
        uv_idle_stop(&io->hurry);
}

/* The check that follows does the work. */
static void on_wake(uv_poll_t *poll, int status, int events)
{
    struct io *io = poll->data;
    eventfd_t count;
    (void)status, (void)events;
    ensure(eventfd_read(io->wake_fd, &count) == 0 || errno == EAGAIN);
}

void io_wake(struct io *io)
{
    if (atomic_load(&io->is_asleep) && atomic_exchange(&io->is_asleep, false))
        ensure(eventfd_write(io->wake_fd, 1) == 0);
}

bool turn_is_quiet(struct io *io)
{
    return io->jobs_count == 0 && io->mails_count == 0 && !mail_waits(io) &&
           list_empty(&io->done) && ops_idle(&io->ops);
}

void turn_open(struct io *io)
{
    ops_init(&io->ops);
    list_init(&io->done);
    ensure(getrandom(&io->prng.state, sizeof io->prng.state, 0) == sizeof io->prng.state);
    ensure(uv_check_init(&io->loop, &io->after_poll) == 0);
    ensure(uv_prepare_init(&io->loop, &io->before_poll) == 0);
    ensure(uv_idle_init(&io->loop, &io->hurry) == 0);
    io->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ensure(io->wake_fd >= 0 && uv_poll_init(&io->loop, &io->wake, io->wake_fd) == 0);
    io->after_poll.data = io->before_poll.data = io->wake.data = io;
    ensure(uv_poll_start(&io->wake, UV_READABLE, on_wake) == 0);
    uv_check_start(&io->after_poll, on_after_poll);
    uv_prepare_start(&io->before_poll, on_before_poll);
    io->now_ns = uv_hrtime();
}

void turn_close(struct io *io) { ensure(close(io->wake_fd) == 0); }

/* ---- clock and chance ---- */

uint64_t io_now(struct io *io) { return io->now_ns; }

uint64_t io_clock(struct io *io)
{
    (void)io;
    return uv_hrtime();
}

int64_t io_wall(struct io *io)
{
    struct timespec t;
    (void)io;
    ensure(clock_gettime(CLOCK_REALTIME, &t) == 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* The first question of a step finds out that it is a new one; so what lasts is measured from
 * there, and steps that never ask read no clock. */
uint64_t io_spent(struct io *io)
{
    uint64_t now = uv_hrtime();
    if (io->step_seen != io->ops.steps_count) {
        io->step_seen = io->ops.steps_count;
        io->step_began_ns = now;
    }
    return now - io->step_began_ns;
}

void io_charge(struct io *io, uint64_t ns) { (void)io, (void)ns; }

uint64_t io_random(struct io *io) { return prng_next(&io->prng); }

bool io_rare(struct io *io, const char *name)
{
    (void)io, (void)name;
    return false;
}

/* ---- cancelling ---- */

void io_cancel(struct io *io, struct io_req *req)
{
    if (!req->busy || !req->impl)
        return; /* over, noted as done, or of a kind that runs to its end */
    struct wait *wait = req->impl;
    switch (wait->kind) {
    case WAIT_SLEEP:
        timers_cancel(io, req);
        break;
    case WAIT_ACCEPT:
        listener_cancel(io, req->impl, req);
        break;
    case WAIT_CONNECT:
        connect_cancel(io, req->impl, req);
        break;
    case WAIT_RECV:
        socket_cancel_recv(io, req->impl, req);
        break;
    case WAIT_SIGNAL:
        signals_cancel(io, req);
        break;
    }
}
