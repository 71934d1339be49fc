/* test_write_owed.c - what a write remembers before it is answered while something of it lingers.
 */
// SPDX-License-Identifier: Apache-2.0
#include "script_books.h"

static void open_owed(void)
{
    static const struct owed_options options = { .folder = "/owed" };
    owed_open(asker.io, &asker.req, &asker.op, &options, &script.coordinator->options.owed);
    ck_assert_int_eq(await(&asker), OK);
}
static struct owed_counts owed_now(void)
{
    struct owed_counts counts;
    owed_counts(script.coordinator->options.owed, &counts);
    return counts;
}
static void close_owed(void)
{
    coordinator_stop(script.coordinator);
    wait_settled();
    owed_close(&script.coordinator->options.owed, &asker.req, &asker.op);
    ck_assert_int_eq(await(&asker), OK);
    script_end();
}

START_TEST(a_range_is_in_the_set_before_the_answer_while_something_lingers)
{
    begin(3);
    open_owed();
    script.does[3] = SILENT;
    for (int i = 0; i < 2; i++) {
        script_write_start(&client, LEVEL_QUORUM);
        wait_answer(&client);
        ck_assert_int_eq(client.err, OK);
        ck_assert_uint_eq(owed_now().ranges, 1);
        ck_assert_uint_eq(owed_now().holds, 1 + (uint64_t)i);
        ck_assert_uint_eq(owed_now().entered, 1);
    }
    wait_settled();
    ck_assert_uint_eq(owed_now().holds, 0);
    pass(3 * rig_second);
    ck_assert_uint_eq(owed_now().ranges, 0);
    ck_assert_uint_eq(owed_now().unknown, 0);
    close_owed();
}
END_TEST

START_TEST(a_write_that_all_have_acknowledged_is_nobodys_debt)
{
    begin(3);
    open_owed();
    uint64_t syncs = io_counts(asker.io)->syncs;
    for (int i = 0; i < 10; i++) {
        script_write_start(&client, LEVEL_ALL);
        wait_answer(&client);
        ck_assert_int_eq(client.err, OK);
    }
    ck_assert_uint_eq(owed_now().entered, 0);
    ck_assert_uint_eq(io_counts(asker.io)->syncs, syncs);
    close_owed();
}
END_TEST

/* The set's sync takes longer than the third acknowledgement: nobody waits for it. */
START_TEST(an_answer_does_not_wait_for_a_debt_that_has_been_paid)
{
    begin(3);
    open_owed();
    sim_set_faults(script.rig.sim,
                   (struct sim_faults){ .net_ns_max = 200000, .disk_ns_max = 100 * script_ms });
    for (int i = 0; i < 20; i++) {
        script_write_start(&client, LEVEL_ONE);
        wait_answer(&client);
        ck_assert_int_eq(client.err, OK);
        ck_assert_uint_le(client.ended_ns - client.begun_ns, 5 * script_ms);
    }
    wait_settled();
    close_owed();
}
END_TEST

START_TEST(a_refused_hint_makes_its_range_unknown_before_the_answer)
{
    begin(3);
    open_owed();
    script_down(3);
    script_hints.is_refusing = true;
    script_hints.takes_ns = script_ms / 10;
    script_write_start(&client, LEVEL_QUORUM);
    wait_answer(&client);
    ck_assert_int_eq(client.err, OK);
    ck_assert_uint_eq(owed_now().unknown, 1);
    wait_settled();
    pass(3 * rig_second);
    ck_assert_uint_eq(owed_now().ranges, 0);
    ck_assert_uint_eq(owed_now().unknown, 1);
    ck_assert_uint_eq(owed_now().lost, 1);
    close_owed();
}
END_TEST

/* The disk takes nothing: the answer comes when all have it, or says that the time was up. */
START_TEST(without_the_set_a_write_waits_for_everyone)
{
    begin(3);
    open_owed();
    sim_fail_disk(script.rig.sim, 0, 1, SIM_FOR_EVER, ERR_IO);
    script.does[3] = SLOW;
    script_write_start(&client, LEVEL_QUORUM);
    client.timeout_ns = rig_second;
    wait_answer(&client);
    ck_assert_int_eq(client.err, OK);
    ck_assert_uint_ge(client.ended_ns - client.begun_ns, 300 * script_ms);
    script.does[3] = SILENT;
    script_hints.takes_ns = 100 * rig_second;
    script_write_start(&client, LEVEL_QUORUM);
    wait_answer(&client);
    ck_assert_int_eq(client.err, ERR_WRITE_TIMEOUT);
    ck_assert_uint_eq(client.outcome.received, 2);
    ck_assert_uint_ge(client.ended_ns - client.begun_ns, 700 * script_ms);
    ck_assert_uint_le(client.ended_ns - client.begun_ns, 702 * script_ms);
    wait_settled();
    sim_fail_disk(script.rig.sim, 0, 0, 0, OK);
    owed_close(&script.coordinator->options.owed, &asker.req, &asker.op);
    ck_assert_int_ne(await(&asker), OK);
    script_end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("write, owed");
    TCase *tc = tcase_create("write, owed");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_range_is_in_the_set_before_the_answer_while_something_lingers);
    tcase_add_test(tc, a_write_that_all_have_acknowledged_is_nobodys_debt);
    tcase_add_test(tc, an_answer_does_not_wait_for_a_debt_that_has_been_paid);
    tcase_add_test(tc, a_refused_hint_makes_its_range_unknown_before_the_answer);
    tcase_add_test(tc, without_the_set_a_write_waits_for_everyone);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
