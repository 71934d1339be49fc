/* test_read_repair.c - digests that are equal, and what is done where they are not; replicas that
 * are waited for no longer. */
// SPDX-License-Identifier: Apache-2.0
#include "model/params.h"
#include "script_client.h"

#include <check.h>

enum { ON_1 = 2, ON_2 = 4, ON_3 = 8, ON_ALL = 14 };

static const struct script_row equal[] = { { 1, 1, 10, "a", ON_ALL, 0, "" },
                                           { 1, 2, 10, "b", ON_ALL, 0, "" } };
static const struct script_row differing[] = {
    { 1, 1, 10, "old", ON_2 | ON_3, 0, "" }, { 1, 1, 20, "new", ON_1, 0, "" },
    { 1, 2, 10, "kept", ON_ALL, 0, "" },     { 1, 3, 10, "back", ON_2 | ON_3, 0, "" },
    { 1, 3, 30, NULL, ON_1, 0, "" },         { 1, 4, 5, "only", ON_1, 0, "" },
};
static struct script_client client;
static struct table_params params;

static void begin(const struct script_row *rows, size_t count, const char *retry)
{
    memset(&client, 0, sizeof client);
    script_begin(3, 3, rows, count);
    params = table_params_default;
    params.speculative_retry = retry;
    script.table->params = &params;
}
static void end(void)
{
    arena_deinit(&client.arena);
    script_end();
}
static void read_at(enum level level)
{
    static struct read read;
    read = (struct read){ .key = bytes_text("p1"),
                          .token = key_token(bytes_text("p1")),
                          .rows_limit = 100,
                          .bytes_limit = 1 << 20 };
    client.text[0] = 0;
    script_read_start(&client, level, &read);
    script_wait(&client);
}
static uint64_t took(void) { return client.ended_ns - client.begun_ns; }
static struct coordinator_counts counts(void)
{
    struct coordinator_counts out;
    coordinator_counts(script.coordinator, &out);
    return out;
}

START_TEST(equal_replicas_send_rows_once)
{
    begin(equal, array_count(equal), "NEVER");
    read_at(LEVEL_ALL);
    ck_assert_int_eq(client.err, OK);
    ck_assert_str_eq(client.text, "p1: 1=a 2=b ");
    for (int node = 1; node <= 3; node++)
        ck_assert_uint_eq(script.reads[node], 1);
    ck_assert_uint_eq(script.digests[2] + script.digests[3], 2);
    ck_assert_uint_eq(counts().digest_mismatches, 0);
    end();
}
END_TEST

START_TEST(what_differs_is_repaired_before_it_is_told)
{
    begin(differing, array_count(differing), "NEVER");
    read_at(LEVEL_ALL);
    ck_assert_int_eq(client.err, OK);
    ck_assert_str_eq(client.text, "p1: 1=new 2=kept 4=only ");
    ck_assert_uint_eq(script.repaired[2], 1);
    ck_assert_uint_eq(script.repaired[3], 1);
    ck_assert_uint_eq(script.repaired[1], 0);
    ck_assert_uint_eq(counts().digest_mismatches, 1);
    ck_assert_uint_eq(counts().repairs, 2);
    ck_assert_uint_eq(counts().repaired_rows, 6);
    for (size_t i = 0; i < script.rows_count; i++)
        ck_assert_uint_eq(script.rows[i].nodes & ON_2, script.rows[i].nodes & ON_1 ? ON_2 : 0);
    read_at(LEVEL_ALL);
    ck_assert_uint_eq(counts().digest_mismatches, 1);
    ck_assert_uint_eq(counts().needless_repairs, 0);
    end();
}
END_TEST

/* What a quorum has told once, any other quorum tells. */
START_TEST(reads_at_quorum_do_not_go_back_in_time)
{
    begin(differing, array_count(differing), "NEVER");
    read_at(LEVEL_QUORUM);
    ck_assert_str_eq(client.text, "p1: 1=new 2=kept 4=only ");
    script.does[1] = REFUSE;
    read_at(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, OK);
    ck_assert_str_eq(client.text, "p1: 1=new 2=kept 4=only ");
    end();
}
END_TEST

START_TEST(a_repair_that_does_not_arrive_is_a_timeout)
{
    begin(differing, array_count(differing), "NEVER");
    script.does[2] = script.does[3] = SLOW_WRITES;
    read_at(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, ERR_READ_TIMEOUT);
    ck_assert_str_eq(client.text, "");
    ck_assert_uint_ge(took(), 200 * script_ms);
    ck_assert_uint_le(took(), 202 * script_ms);
    end();
}
END_TEST

/* The deadline holds for this node's own repair too, whatever the timer was for before. */
START_TEST(a_slow_repair_of_this_node_keeps_nobody_waiting_past_the_deadline)
{
    static const struct script_row lacking[] = { { 1, 1, 10, "old", ON_1, 0, "" },
                                                 { 1, 1, 20, "new", ON_2 | ON_3, 0, "" } };
    begin(lacking, array_count(lacking), "50ms");
    script.does[1] = SLOW_WRITES;
    read_at(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, ERR_READ_TIMEOUT);
    ck_assert_uint_ge(took(), 200 * script_ms);
    ck_assert_uint_le(took(), 202 * script_ms);
    end();
}
END_TEST

START_TEST(who_refuses_its_repair_is_replaced_by_the_next)
{
    begin(differing, array_count(differing), "NEVER");
    script.does[2 + _i] = REFUSE_WRITES;
    read_at(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, OK);
    ck_assert_str_eq(client.text, "p1: 1=new 2=kept 4=only ");
    ck_assert_uint_ge(script.repaired[3 - _i], 1);
    end();
}
END_TEST

START_TEST(a_table_without_repair_is_merged_and_left_as_it_is)
{
    begin(differing, array_count(differing), "NEVER");
    params.repairs_on_read = false;
    read_at(LEVEL_ALL);
    ck_assert_int_eq(client.err, OK);
    ck_assert_str_eq(client.text, "p1: 1=new 2=kept 4=only ");
    ck_assert_uint_eq(script.applied[2] + script.applied[3], 0);
    ck_assert_uint_eq(counts().digest_mismatches, 1);
    end();
}
END_TEST

static const struct {
    const char *retry;
    enum err err;
    uint64_t least_ms, most_ms;
} retries[] = {
    { "50ms", OK, 50, 60 },  { "NEVER", ERR_READ_TIMEOUT, 200, 202 },
    { "ALWAYS", OK, 0, 10 }, { "MIN(99p,20ms)", OK, 20, 30 },
    { "99p", OK, 100, 110 }, /* nothing is known: half the time */
};
START_TEST(one_more_is_asked_when_the_table_says_so)
{
    begin(equal, array_count(equal), retries[_i].retry);
    script.does[2] = script.does[3] = SILENT;
    read_at(LEVEL_ONE); /* finds out nothing about 2 and 3 */
    ck_assert_int_eq(client.err, OK);
    script.does[1] = script.does[3] = OBEY;
    unsigned before = script.reads[3];
    read_at(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, retries[_i].err);
    ck_assert_uint_ge(took(), retries[_i].least_ms * script_ms);
    ck_assert_uint_le(took(), retries[_i].most_ms * script_ms);
    ck_assert_uint_eq(script.reads[3] - before, retries[_i].err == OK);
    end();
}
END_TEST

START_TEST(a_slow_replica_is_left_out_and_found_again)
{
    begin(equal, array_count(equal), "20ms");
    script.does[1] = SLOW;
    read_at(LEVEL_ONE);
    ck_assert_int_eq(client.err, OK);
    ck_assert_uint_ge(took(), 20 * script_ms);
    ck_assert_uint_le(took(), 30 * script_ms);
    ck_assert_uint_eq(script.reads[1], 1);
    rig_pass(&script.rig, 400 * script_ms);
    for (int i = 0; i < 10; i++) {
        read_at(LEVEL_ONE);
        ck_assert_uint_le(took(), 10 * script_ms);
    }
    ck_assert_uint_le(script.reads[1], 2); /* a probe, which nobody waited for */
    ck_assert_uint_eq(counts().probes, script.reads[1] - 1);
    script.does[1] = OBEY;
    for (int i = 0; i < 80; i++) {
        rig_pass(&script.rig, 250 * script_ms);
        read_at(LEVEL_ONE);
        ck_assert_uint_le(took(), 10 * script_ms);
    }
    unsigned before = script.reads[1];
    for (int i = 0; i < 10; i++)
        read_at(LEVEL_ONE);
    ck_assert_uint_eq(script.reads[1], before + 10);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("read_repair");
    TCase *tc = tcase_create("read_repair");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, equal_replicas_send_rows_once);
    tcase_add_test(tc, what_differs_is_repaired_before_it_is_told);
    tcase_add_test(tc, reads_at_quorum_do_not_go_back_in_time);
    tcase_add_test(tc, a_repair_that_does_not_arrive_is_a_timeout);
    tcase_add_test(tc, a_slow_repair_of_this_node_keeps_nobody_waiting_past_the_deadline);
    tcase_add_loop_test(tc, who_refuses_its_repair_is_replaced_by_the_next, 0, 2);
    tcase_add_test(tc, a_table_without_repair_is_merged_and_left_as_it_is);
    tcase_add_loop_test(tc, one_more_is_asked_when_the_table_says_so, 0, array_count(retries));
    tcase_add_test(tc, a_slow_replica_is_left_out_and_found_again);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
