/* test_world.c - the beginning and the end of the world; clock, chance, work. */
// SPDX-License-Identifier: Apache-2.0
#include "script.h"

#include <stdatomic.h>

enum { SHARDS = 4 };
static atomic_int started;
static uint64_t draws[SHARDS];

static void draw_and_quit(struct io *io, void *arg)
{
    ck_assert_ptr_eq(arg, &started);
    ck_assert_int_eq(io_shards(io), SHARDS);
    io_set_context(io, &draws[io_self(io)]);
    draws[io_self(io)] = io_random(io);
    ck_assert_ptr_eq(io_context(io), &draws[io_self(io)]);
    atomic_fetch_add(&started, 1);
    io_quit(io);
    io_quit(io); /* twice is once */
}

START_TEST(every_shard_starts_once_and_the_world_ends_when_all_have_quit)
{
    uv_world_run(SHARDS, draw_and_quit, &started);
    ck_assert_int_eq(atomic_load(&started), SHARDS);
    for (int i = 1; i < SHARDS; i++)
        ck_assert(draws[i] != draws[0]);
}
END_TEST

static void look_at_the_clocks(struct script *s)
{
    uint64_t now = io_now(s->io);
    ck_assert(io_spent(s->io) < 1000000000);
    uint64_t clock = io_clock(s->io);
    while (io_clock(s->io) == clock)
        ;
    ck_assert(io_clock(s->io) > clock);
    ck_assert_uint_eq(io_now(s->io), now);
    ck_assert(io_spent(s->io) > 0);
    io_charge(s->io, 1000);
    ck_assert(!io_rare(s->io, "anything"));
    ck_assert(io_wall(s->io) > 1600000000ll * 1000000);
    s->state = (void *)(uintptr_t)now;
    io_sleep(s->io, &s->req[0], &s->op, 1000);
}
static void look_again(struct script *s)
{
    ck_assert(io_now(s->io) > (uintptr_t)s->state);
    ck_assert(io_counts(s->io)->turns > 0);
}
static void (*const clocks[])(struct script *) = { look_at_the_clocks, look_again, NULL };

START_TEST(now_stands_still_in_a_step_and_the_clock_does_not) { script_run(clocks); }
END_TEST

/* ---- work ---- */

static int squares[3];
static void square(void *arg)
{
    int *n = arg;
    *n = *n * *n;
}
static void work(struct script *s)
{
    for (int i = 0; i < 3; i++) {
        squares[i] = i + 2;
        io_work(s->io, &s->req[i], &s->op, square, &squares[i]);
        ck_assert(s->req[i].busy);
    }
}
static void worked(struct script *s)
{
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(s->req[i].err, OK);
        ck_assert_int_eq(squares[i], (i + 2) * (i + 2));
    }
}
static void (*const works[])(struct script *) = { work, worked, NULL };

START_TEST(work_is_done_elsewhere_and_completes) { script_run(works); }
END_TEST

/* ---- background ops share the loop with sleeps ---- */

static int slices;
static struct op_next slice(struct op *op)
{
    slices++;
    return op->stop ? op_end(op, OK) : op_yield(0);
}
static const struct op_state slice_states[] = { { "slice", slice, 0 } };
static struct op busy;

static void start_busy(struct script *s)
{
    op_start_background(&busy, io_ops(s->io), NULL, slice_states, NULL);
    io_sleep(s->io, &s->req[0], &s->op, 5000000);
}
static void stop_busy(struct script *s)
{
    ck_assert_int_eq(s->req[0].err, OK);
    if (slices < 10) {
        io_sleep(s->io, &s->req[0], &s->op, 1000000);
        script_again(s);
        return;
    }
    ck_assert_uint_le((uint64_t)slices, io_counts(s->io)->turns + 1); /* one slice a turn */
    op_stop(&busy, ERR_STOPPED);
}
static void (*const busies[])(struct script *) = { start_busy, stop_busy, NULL };

START_TEST(a_background_op_keeps_the_loop_awake_and_lets_a_sleep_end) { script_run(busies); }
END_TEST

/* ---- what is under way when the world ends ---- */

static struct op leftover;
static struct io_req left_sleep;
static struct op_next wait_for_sleep(struct op *op)
{
    return left_sleep.busy ? op_wait(0) : op_end(op, left_sleep.err);
}
static const struct op_state leftover_states[] = { { "leftover", wait_for_sleep, 0 } };

static void leave_a_sleep(struct script *s)
{
    op_start(&leftover, io_ops(s->io), NULL, leftover_states, NULL);
    io_sleep(s->io, &left_sleep, &leftover, 3600ull * 1000000000);
}
static void (*const leavers[])(struct script *) = { leave_a_sleep, NULL };

START_TEST(a_sleep_that_is_left_is_stopped_and_its_op_ends)
{
    script_run(leavers);
    ck_assert(!op_running(&leftover));
    ck_assert_int_eq(leftover.err, ERR_STOPPED);
}
END_TEST

static void fill(Suite *suite)
{
    TCase *t = tcase_create("world");
    tcase_add_test(t, every_shard_starts_once_and_the_world_ends_when_all_have_quit);
    tcase_add_test(t, now_stands_still_in_a_step_and_the_clock_does_not);
    tcase_add_test(t, work_is_done_elsewhere_and_completes);
    tcase_add_test(t, a_background_op_keeps_the_loop_awake_and_lets_a_sleep_end);
    tcase_add_test(t, a_sleep_that_is_left_is_stopped_and_its_op_ends);
    suite_add_tcase(suite, t);
}
int main(void) { return script_main("world", fill); }
