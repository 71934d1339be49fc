/* test_op.c - the four laws of op.h, stopping, yielding, and who is held by whom. */
// SPDX-License-Identifier: Apache-2.0
#include "io/io.h"

#include <check.h>
#include <signal.h>

static struct ops ops;
static char history[256];

static void note(const char *what) { strncat(history, what, sizeof history - strlen(history) - 1); }
static void note_release(struct op *op)
{
    (void)op;
    note("r");
}
static void setup(void)
{
    ops_init(&ops);
    history[0] = 0;
}
static void run_all(void)
{
    while (ops_run(&ops))
        ;
}

/* ---- kinds of ops ---- */

static struct op_next quit(struct op *op)
{
    note("q");
    return op_end(op, OK);
}
static struct op_next stray(struct op *op)
{
    (void)op;
    return op_goto(1);
}
static struct op_next far_stray(struct op *op)
{
    (void)op;
    return op_goto(200);
}
static struct op_next until_stopped(struct op *op)
{
    note(op->stop ? "s" : "w");
    return op->stop ? op_end(op, op->stop) : op_wait(0);
}
static struct op_next until_childless(struct op *op) { return op->waiting ? op_wait(0) : quit(op); }
static struct op_next first(struct op *op)
{
    (void)op;
    note("1");
    return op_goto(1);
}
static struct op_next second(struct op *op)
{
    (void)op;
    note("2");
    return op_wait(2);
}
static struct op_next nested(struct op *op)
{
    ops_run(op->ops);
    return op_end(op, OK);
}
static const struct op_state quits[] = { { "quit", quit, 0 } };
static const struct op_state strays[] = { { "stray", stray, 0 }, { "nowhere", quit, 0 } };
static const struct op_state far_strays[] = { { "far_stray", far_stray, 0 } };
static const struct op_state waits[] = { { "wait", until_stopped, 0 } };
static const struct op_state parents[] = { { "parent", until_childless, 0 } };
static const struct op_state walks[] = { { "first", first, TO(1) },
                                         { "second", second, TO(2) },
                                         { "third", quit, 0 } };
static const struct op_state nests[] = { { "nest", nested, 0 } };

/* Counts down, yielding each time; notes its letter. */
struct slow {
    struct op op;
    int left;
    const char *letter;
};
static struct op_next slow_step(struct op *op)
{
    struct slow *s = owner_of(op, struct slow, op);
    note(s->letter);
    return --s->left ? op_yield(0) : op_end(op, OK);
}
static const struct op_state slows[] = { { "slow", slow_step, 0 } };

/* ---- running ---- */

START_TEST(a_step_never_runs_inside_the_start)
{
    struct op a;
    op_start(&a, &ops, NULL, quits, note_release);
    ck_assert_str_eq(history, "");
    ck_assert(!ops_idle(&ops) && op_running(&a));
    ck_assert(ops_run(&ops));
    ck_assert_str_eq(history, "qr");
    ck_assert(ops_idle(&ops) && !op_running(&a));
    ck_assert(!ops_run(&ops));
    ck_assert(ops.started_count == 1 && ops.ended_count == 1);
}
END_TEST

START_TEST(goto_goes_on_in_this_turn_and_wait_waits_for_a_wake)
{
    struct op a;
    op_start(&a, &ops, NULL, walks, NULL);
    run_all();
    ck_assert_str_eq(history, "12");
    ck_assert(ops_idle(&ops));
    op_wake(&a);
    op_wake(&a); /* twice is once */
    run_all();
    ck_assert_str_eq(history, "12q");
    ck_assert_int_eq(a.err, OK);
}
END_TEST

START_TEST(a_foreground_op_that_yields_lets_others_run_and_goes_on_with_the_next_run)
{
    struct slow a = { .left = 3, .letter = "a" }, b = { .left = 2, .letter = "b" };
    op_start(&a.op, &ops, NULL, slows, NULL);
    op_start(&b.op, &ops, NULL, slows, NULL);
    ops_run(&ops);
    ck_assert_str_eq(history, "ab");
    ck_assert(!ops_idle(&ops));
    ck_assert(!ops_run_ready(&ops)); /* what yielded waits for ops_run */
    ops_run(&ops);
    ck_assert_str_eq(history, "abab");
    run_all();
    ck_assert_str_eq(history, "ababa");
}
END_TEST

START_TEST(the_background_takes_one_slice_a_run_after_all_of_the_foreground)
{
    struct slow a = { .left = 2, .letter = "a" }, b = { .left = 2, .letter = "b" };
    struct op f[3];
    op_start_background(&a.op, &ops, NULL, slows, NULL);
    op_start_background(&b.op, &ops, NULL, slows, NULL);
    for (int i = 0; i < 3; i++)
        op_start(&f[i], &ops, NULL, quits, NULL);
    ck_assert(ops_run_ready(&ops));
    ck_assert_str_eq(history, "qqq");
    for (int i = 0; i < 4; i++)
        ck_assert(ops_run(&ops));
    ck_assert_str_eq(history, "qqqabab");
    ck_assert(ops_idle(&ops) && !ops_run(&ops));
}
END_TEST

/* ---- parents and leaves ---- */

START_TEST(a_parent_is_held_until_its_child_is_released)
{
    struct op a, b;
    op_start(&a, &ops, NULL, parents, note_release);
    op_start(&b, &ops, &a, waits, note_release);
    run_all();
    ck_assert_str_eq(history, "w");
    ck_assert_uint_eq(a.waiting, 1);
    op_stop(&b, ERR_TIMEOUT);
    run_all();
    ck_assert_str_eq(history, "wsrqr");
    ck_assert_int_eq(b.err, ERR_TIMEOUT);
}
END_TEST

START_TEST(an_op_that_ended_stays_until_its_leaf_has_ended)
{
    struct op a;
    struct io_req leaf = { 0 };
    op_start(&a, &ops, NULL, quits, note_release);
    io_req_begin(&leaf, &a);
    run_all();
    ck_assert_str_eq(history, "q");
    ck_assert(!op_running(&a) && leaf.busy);
    io_req_end(&leaf, ERR_IO);
    run_all();
    ck_assert_str_eq(history, "qr");
    ck_assert(!leaf.busy && leaf.err == ERR_IO);
}
END_TEST

START_TEST(a_parent_may_end_before_its_child_and_is_released_after_it)
{
    struct op a, b;
    op_start(&a, &ops, NULL, quits, note_release);
    op_start(&b, &ops, &a, waits, NULL);
    run_all();
    ck_assert_str_eq(history, "qw");
    op_stop(&b, ERR_STOPPED);
    run_all();
    ck_assert_str_eq(history, "qwsr");
    ck_assert_uint_eq(ops.ended_count, 2);
}
END_TEST

START_TEST(a_stop_reaches_children_and_grandchildren_once)
{
    struct op a, b, c;
    op_start(&a, &ops, NULL, waits, NULL);
    op_start(&b, &ops, &a, waits, NULL);
    op_start_background(&c, &ops, &b, waits, NULL);
    run_all();
    op_stop(&a, ERR_STOPPED);
    op_stop(&a, ERR_TIMEOUT); /* the first reason stays */
    ck_assert(a.stop == ERR_STOPPED && b.stop == ERR_STOPPED && c.stop == ERR_STOPPED);
    run_all();
    ck_assert_str_eq(history, "wwwsss");
    ck_assert_uint_eq(ops.ended_count, 3);
    op_stop(&a, ERR_TIMEOUT); /* nothing happens to one that has ended */
    ck_assert(ops_idle(&ops));
}
END_TEST

static void trace(struct ops *o, const struct op *op, const char *from, const char *to)
{
    (void)o, (void)op;
    note(from);
    note(">");
    note(to);
    note(" ");
}

START_TEST(each_move_is_traced_by_the_names_of_the_table)
{
    struct op a;
    ops.trace = trace;
    op_start(&a, &ops, NULL, walks, NULL);
    run_all();
    op_wake(&a);
    run_all();
    ck_assert_str_eq(history, "1first>second 2second>third qthird>ended ");
    ck_assert_uint_eq(ops.steps_count, 3);
}
END_TEST

/* ---- what stops the process ---- */

START_TEST(a_move_that_is_not_in_the_table_stops_the_process)
{
    struct op a;
    op_start(&a, &ops, NULL, strays, NULL);
    run_all();
}
END_TEST

START_TEST(a_move_beyond_the_table_stops_the_process)
{
    struct op a;
    op_start(&a, &ops, NULL, far_strays, NULL);
    run_all();
}
END_TEST

START_TEST(ending_twice_stops_the_process)
{
    struct op a;
    op_start(&a, &ops, NULL, quits, NULL);
    run_all();
    op_end(&a, OK);
}
END_TEST

START_TEST(a_leaf_started_by_an_ended_op_stops_the_process)
{
    struct op a;
    struct io_req leaf = { 0 };
    op_start(&a, &ops, NULL, quits, NULL);
    run_all();
    io_req_begin(&leaf, &a);
}
END_TEST

START_TEST(running_ops_from_a_step_stops_the_process)
{
    struct op a;
    op_start(&a, &ops, NULL, nests, NULL);
    run_all();
}
END_TEST

START_TEST(a_drop_without_a_hold_stops_the_process)
{
    struct op a;
    op_start(&a, &ops, NULL, waits, NULL);
    op_drop(&a);
}
END_TEST

START_TEST(completing_twice_stops_the_process)
{
    struct op a;
    struct io_req leaf = { 0 };
    op_start(&a, &ops, NULL, waits, NULL);
    io_req_begin(&leaf, &a);
    io_req_end(&leaf, OK);
    io_req_end(&leaf, OK);
}
END_TEST

START_TEST(starting_a_busy_request_stops_the_process)
{
    struct op a;
    struct io_req leaf = { 0 };
    op_start(&a, &ops, NULL, waits, NULL);
    io_req_begin(&leaf, &a);
    io_req_begin(&leaf, &a);
}
END_TEST

START_TEST(a_stop_without_a_reason_stops_the_process)
{
    struct op a;
    op_start(&a, &ops, NULL, waits, NULL);
    op_stop(&a, OK);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("op");
    TCase *t = tcase_create("op");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, a_step_never_runs_inside_the_start);
    tcase_add_test(t, goto_goes_on_in_this_turn_and_wait_waits_for_a_wake);
    tcase_add_test(t, a_foreground_op_that_yields_lets_others_run_and_goes_on_with_the_next_run);
    tcase_add_test(t, the_background_takes_one_slice_a_run_after_all_of_the_foreground);
    tcase_add_test(t, a_parent_is_held_until_its_child_is_released);
    tcase_add_test(t, an_op_that_ended_stays_until_its_leaf_has_ended);
    tcase_add_test(t, a_parent_may_end_before_its_child_and_is_released_after_it);
    tcase_add_test(t, a_stop_reaches_children_and_grandchildren_once);
    tcase_add_test(t, each_move_is_traced_by_the_names_of_the_table);
    suite_add_tcase(s, t);
    TCase *laws = tcase_create("laws");
    tcase_add_checked_fixture(laws, setup, NULL);
    tcase_add_test_raise_signal(laws, a_move_that_is_not_in_the_table_stops_the_process, SIGABRT);
    tcase_add_test_raise_signal(laws, a_move_beyond_the_table_stops_the_process, SIGABRT);
    tcase_add_test_raise_signal(laws, ending_twice_stops_the_process, SIGABRT);
    tcase_add_test_raise_signal(laws, a_leaf_started_by_an_ended_op_stops_the_process, SIGABRT);
    tcase_add_test_raise_signal(laws, running_ops_from_a_step_stops_the_process, SIGABRT);
    tcase_add_test_raise_signal(laws, a_drop_without_a_hold_stops_the_process, SIGABRT);
    tcase_add_test_raise_signal(laws, completing_twice_stops_the_process, SIGABRT);
    tcase_add_test_raise_signal(laws, starting_a_busy_request_stops_the_process, SIGABRT);
    tcase_add_test_raise_signal(laws, a_stop_without_a_reason_stops_the_process, SIGABRT);
    suite_add_tcase(s, laws);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
