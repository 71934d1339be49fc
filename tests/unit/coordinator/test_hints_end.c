/* test_hints_end.c - hints that are never delivered: expired, of truncated and dropped tables,
 * removed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "hints_ask.h"

START_TEST(a_hint_expires_by_the_grace_of_its_table)
{
    kit_begin(1);
    kit_down(2);
    kit.gc_grace[1] = 10;
    kit_keep_all(2, 0, 1, 4);
    kit_keep_all(2, 1, 5, 4);
    kit_pass(11000);
    kit_keep_all(2, 1, 9, 1);
    kit_up(2);
    kit_drain();
    ck_assert_uint_eq(kit_book(2, 0).delivered, 4);
    ck_assert_uint_eq(kit_book(2, 1).expired, 4);
    ck_assert_uint_eq(kit_book(2, 1).delivered, 1);
    ck_assert_uint_eq(kit.got_count[1], 5);
    kit_end();
}
END_TEST

START_TEST(hints_expire_while_their_target_is_away)
{
    kit_begin(1);
    kit.options.window_ns = 60 * rig_second;
    kit_close();
    ck_assert_int_eq(kit_open(), OK);
    kit_down(2);
    kit_keep_all(2, 0, 1, 4);
    kit_pass(20000);
    kit_keep_all(2, 0, 5, 4);
    if (_i)
        kit_die(1);
    kit_pass(45000);
    ck_assert_uint_eq(kit_book(2, 0).expired, 4);
    ck_assert_uint_eq(kit_book(2, 0).pending, 4);
    kit_pass(80000);
    ck_assert_uint_eq(kit_book(2, 0).expired, 8);
    kit_die(1);
    ck_assert_uint_eq(kit_book(2, 0).expired, 8);
    kit_end();
}
END_TEST

static void begin_erase(struct io_req *req, unsigned table)
{
    struct uuid id = kit_table(table);
    sim_act(kit.asker.io);
    hints_erase(kit.hints, req, &kit.asker.op, &id);
}
static enum err erase(unsigned table)
{
    struct io_req req = { 0 };
    begin_erase(&req, table);
    return await_req(kit.rig.sim, &req);
}

START_TEST(a_truncated_table_gets_no_older_hints)
{
    kit_begin((uint64_t)_i);
    kit_down(2);
    kit_keep_all(2, 0, 1, 10);
    kit_keep_all(2, 1, 11, 10);
    if (_i % 2)
        kit_die(1);
    ck_assert_int_eq(erase(0), OK);
    ck_assert_uint_eq(kit_book(2, 0).dropped[HINT_DROP_TRUNCATED], 10);
    kit_keep_all(2, 0, 21, 3);
    if (_i / 2 % 2)
        kit_die(1);
    ck_assert_uint_eq(kit_book(2, 0).pending, 3);
    ck_assert_uint_eq(kit_book(2, 0).dropped[HINT_DROP_TRUNCATED], 10);
    kit_up(2);
    kit_drain();
    ck_assert_uint_eq(kit.got_count[1], 13);
    for (unsigned i = 1; i <= 10; i++)
        ck_assert_uint_eq(kit_times(2, i), 0);
    kit_pass(2000);
    kit_die(1);
    ck_assert_uint_eq(kit_book(2, 0).written, 13);
    ck_assert_uint_eq(kit_book(2, 0).delivered, 3);
    kit_end();
}
END_TEST

START_TEST(a_write_that_began_before_a_truncate_leaves_no_hint)
{
    struct hint_keep keep = { 0 };
    kit_begin(1);
    kit_down(2);
    uint64_t before = io_now(kit.asker.io);
    kit_pass(10);
    ck_assert_int_eq(erase(0), OK);
    kit_pass(10);
    keep.begun_ns = before;
    ck_assert_int_eq(kit_keep_bytes(2, 0, bytes_text("1"), &keep), OK);
    keep = (struct hint_keep){ .begun_ns = before };
    ck_assert_int_eq(kit_keep_bytes(2, 1, bytes_text("2"), &keep), OK);
    keep = (struct hint_keep){ .begun_ns = io_now(kit.asker.io) };
    ck_assert_int_eq(kit_keep_bytes(2, 0, bytes_text("3"), &keep), OK);
    ck_assert_uint_eq(kit_book(2, 0).written, 2);
    ck_assert_uint_eq(kit_book(2, 0).dropped[HINT_DROP_TRUNCATED], 1);
    kit_up(2);
    kit_drain();
    ck_assert_uint_eq(kit_times(2, 1), 0);
    ck_assert_uint_eq(kit_times(2, 2) + kit_times(2, 3), 2);
    kit_end();
}
END_TEST

/* What has left may still be applied: a TRUNCATE waits for the word of it. */
START_TEST(giving_up_waits_for_what_is_under_way)
{
    struct io_req req = { 0 };
    kit_begin(1);
    kit_down(2);
    kit_keep_all(2, 0, 1, 3);
    kit.says[1] = ERR_STOPPED; /* it says nothing */
    kit_up(2);
    while (kit.asked[1] == 0)
        ck_assert(sim_step(kit.rig.sim));
    begin_erase(&req, 0);
    kit_pass(3000);
    ck_assert(req.busy);
    ck_assert_int_eq(await_req(kit.rig.sim, &req), OK);
    ck_assert_uint_eq(kit_counts().pending, 0);
    rig_kill(&kit.rig, 1); /* with the question that it never answered */
    kit_end();
}
END_TEST

START_TEST(hints_of_a_dropped_table_are_given_up)
{
    kit_begin(1);
    kit_down(2);
    kit_keep_all(2, 0, 1, 4);
    kit_keep_all(2, 1, 5, 4);
    kit.is_dropped[0] = true;
    if (_i == 0) {
        struct uuid id = kit_table(0);
        sim_act(kit.asker.io);
        hints_dropped(kit.hints, &id);
        ck_assert_uint_eq(kit_book(2, 0).dropped[HINT_DROP_NO_TABLE], 4);
    }
    kit_up(2);
    kit_drain();
    ck_assert_uint_eq(kit_book(2, 0).dropped[HINT_DROP_NO_TABLE], 4);
    ck_assert_uint_eq(kit_book(2, 1).delivered, 4);
    ck_assert_uint_eq(kit.got_count[1], 4);
    kit_end();
}
END_TEST

START_TEST(hints_are_removed_by_hand)
{
    struct io_req req = { 0 };
    kit_begin(1);
    kit_down(2);
    kit_down(3);
    kit_keep_all(2, 0, 1, 4);
    kit_keep_all(3, 0, 5, 4);
    sim_act(kit.asker.io);
    hints_remove(kit.hints, &req, &kit.asker.op, _i == 0 ? 2 : 0);
    ck_assert_int_eq(await_req(kit.rig.sim, &req), OK);
    kit_die(1);
    ck_assert_uint_eq(kit_book(2, 0).dropped[HINT_DROP_BY_HAND], 4);
    ck_assert_uint_eq(kit_book(3, 0).pending, _i == 0 ? 4 : 0);
    kit_up(2);
    kit_up(3);
    kit_drain();
    ck_assert_uint_eq(kit.got_count[1], 0);
    ck_assert_uint_eq(kit.got_count[2], _i == 0 ? 4 : 0);
    kit_end();
}
END_TEST

static TCase *giving_up(void)
{
    TCase *t = tcase_create("giving up");
    tcase_add_test(t, a_hint_expires_by_the_grace_of_its_table);
    tcase_add_loop_test(t, hints_expire_while_their_target_is_away, 0, 2);
    tcase_add_loop_test(t, a_truncated_table_gets_no_older_hints, 0, 4);
    tcase_add_test(t, a_write_that_began_before_a_truncate_leaves_no_hint);
    tcase_add_test(t, giving_up_waits_for_what_is_under_way);
    tcase_add_loop_test(t, hints_of_a_dropped_table_are_given_up, 0, 2);
    tcase_add_loop_test(t, hints_are_removed_by_hand, 0, 2);
    return t;
}

int main(void)
{
    Suite *s = suite_create("hints end");
    suite_add_tcase(s, giving_up());
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
