/* test_timers.c - sleeps: order, cancelling, many at once. */
// SPDX-License-Identifier: Apache-2.0
#include "script.h"

enum { MS = 1000000 };

/* ---- many sleepers, each an op of its own, checked against the clock ---- */

enum { SLEEPERS = 2000 };
struct sleeper {
    struct op op;
    struct io *io;
    struct io_req req;
    uint64_t due_ns;
    bool is_cancelled;
};
static struct sleeper sleepers[SLEEPERS];
static uint64_t last_due_ns;
static int ended, cancelled;

static struct op_next sleep_start(struct op *op)
{
    struct sleeper *s = owner_of(op, struct sleeper, op);
    uint64_t draw = io_random(s->io);
    s->due_ns = io_now(s->io) + draw % (20 * MS);
    io_sleep(s->io, &s->req, op, draw % (20 * MS));
    return op_wait(1);
}
static struct op_next sleep_end(struct op *op)
{
    struct sleeper *s = owner_of(op, struct sleeper, op);
    if (s->req.busy)
        return op_wait(1);
    ck_assert_int_eq(s->req.err, s->is_cancelled ? ERR_STOPPED : OK);
    if (!s->is_cancelled) {
        ck_assert(io_now(s->io) >= s->due_ns);
        ck_assert(s->due_ns >= last_due_ns);
        last_due_ns = s->due_ns;
    }
    if (++ended == SLEEPERS)
        io_quit(s->io);
    return op_end(op, OK);
}
static const struct op_state sleep_states[] = { { "sleep", sleep_start, TO(1) },
                                                { "slept", sleep_end, 0 } };

/* Cancels every third one once all sleep. */
static struct op_next cancel_some(struct op *op)
{
    for (int i = 0; i < SLEEPERS; i += 3) {
        struct sleeper *s = &sleepers[i];
        if (!s->req.busy)
            continue;
        s->is_cancelled = true;
        cancelled++;
        io_cancel(s->io, &s->req);
        ck_assert(s->req.busy); /* not inside the call */
        io_cancel(s->io, &s->req);
    }
    return op_end(op, OK);
}
static const struct op_state cancel_states[] = { { "cancel", cancel_some, 0 } };
static struct op canceller;

static void start_sleepers(struct io *io, void *arg)
{
    (void)arg;
    for (int i = 0; i < SLEEPERS; i++) {
        sleepers[i].io = io;
        op_start(&sleepers[i].op, io_ops(io), NULL, sleep_states, NULL);
    }
    op_start(&canceller, io_ops(io), NULL, cancel_states, NULL);
}

START_TEST(sleeps_end_in_order_never_early_and_cancelled_ones_at_once)
{
    uv_world_run(1, start_sleepers, NULL);
    ck_assert_int_eq(ended, SLEEPERS);
    ck_assert_int_gt(cancelled, SLEEPERS / 4);
}
END_TEST

/* ---- one by one ---- */

static void sleep_nothing(struct script *s)
{
    io_sleep(s->io, &s->req[0], &s->op, 0);
    ck_assert(s->req[0].busy);
}
static void slept_nothing(struct script *s)
{
    ck_assert_int_eq(s->req[0].err, OK);
    io_cancel(s->io, &s->req[0]); /* over: nothing happens */
    ck_assert(!s->req[0].busy);
    io_sleep(s->io, &s->req[0], &s->op, UINT64_MAX);
    io_sleep(s->io, &s->req[1], &s->op, 1 * MS);
    io_cancel(s->io, &s->req[0]);
}
static void stopped_for_ever(struct script *s)
{
    ck_assert_int_eq(s->req[0].err, ERR_STOPPED);
    ck_assert_int_eq(s->req[1].err, OK);
}
static void (*const singles[])(struct script *) = { sleep_nothing, slept_nothing, stopped_for_ever,
                                                    NULL };

START_TEST(a_sleep_of_nothing_ends_and_one_for_ever_can_be_cancelled) { script_run(singles); }
END_TEST

/* A shard that only sleeps must not spin. */
static uint64_t turns_before;
static void sleep_long(struct script *s)
{
    turns_before = io_counts(s->io)->turns;
    io_sleep(s->io, &s->req[0], &s->op, 50 * MS);
}
static void slept_long(struct script *s)
{
    ck_assert_uint_le(io_counts(s->io)->turns - turns_before, 5);
}
static void (*const longs[])(struct script *) = { sleep_long, slept_long, NULL };

START_TEST(a_sleeping_shard_takes_few_turns) { script_run(longs); }
END_TEST

static void fill(Suite *suite)
{
    TCase *t = tcase_create("timers");
    tcase_add_test(t, sleeps_end_in_order_never_early_and_cancelled_ones_at_once);
    tcase_add_test(t, a_sleep_of_nothing_ends_and_one_for_ever_can_be_cancelled);
    tcase_add_test(t, a_sleeping_shard_takes_few_turns);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("timers", fill); }
