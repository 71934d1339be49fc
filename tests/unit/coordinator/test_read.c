/* test_read.c - reads and scans whose replicas differ, fail, fall silent, or are cut short. */
// SPDX-License-Identifier: Apache-2.0
#include "script_client.h"

#include <check.h>

enum { ON_1 = 2, ON_2 = 4, ON_3 = 8, ON_ALL = 14 };

static const struct script_row differing[] = {
    { 1, 1, 10, "old", ON_1, 0, "" },       { 1, 1, 20, "new", ON_2 | ON_3, 0, "" },
    { 1, 2, 10, "kept", ON_ALL, 0, "" },    { 1, 3, 10, "back", ON_1, 0, "" },
    { 1, 3, 30, NULL, ON_2 | ON_3, 0, "" }, { 1, 4, 5, "only", ON_1, 0, "" },
    { 2, 1, 1, "else", ON_ALL, 0, "" },
};
static struct script_client client;

static struct read partition_read(uint32_t limit)
{
    return (struct read){ .key = bytes_text("p1"),
                          .token = key_token(bytes_text("p1")),
                          .rows_limit = limit,
                          .bytes_limit = 1 << 20 };
}
static struct read range_read(uint32_t limit)
{
    return (struct read){ .is_range = true,
                          .after = INT64_MIN,
                          .upto = INT64_MAX,
                          .rows_limit = limit,
                          .bytes_limit = 1 << 20 };
}

/* Reads on and on until nothing is left, as whoever pages does. */
static void read_all(enum level level, struct read read)
{
    memset(&client, 0, sizeof client);
    for (int round = 0; round < 100; round++) {
        script_read_start(&client, level, &read);
        script_wait(&client);
        ck_assert_int_eq(client.err, OK);
        if (!client.read_outcome.has_more)
            return;
        ck_assert(client.read_outcome.last.is_set);
        read.from = client.read_outcome.last;
    }
    ck_abort_msg("a read never came to its end");
}

static void read_once(enum level level)
{
    static struct read read;
    memset(&client, 0, sizeof client);
    read = partition_read(100);
    script_read_start(&client, level, &read);
    script_wait(&client);
}

static void begin(void) { script_begin(3, 3, differing, array_count(differing)); }
static void end(void)
{
    arena_deinit(&client.arena);
    script_end();
}

START_TEST(one_asks_the_local_replica_alone)
{
    begin();
    read_once(LEVEL_ONE);
    ck_assert_str_eq(client.text, "p1: 1=old 2=kept 3=back 4=only ");
    ck_assert_uint_eq(script.reads[1], 1);
    ck_assert_uint_eq(script.reads[2] + script.reads[3], 0);
    end();
}
END_TEST

START_TEST(a_quorum_asks_two_and_merges_the_newest)
{
    begin();
    read_once(LEVEL_QUORUM);
    ck_assert_str_eq(client.text, "p1: 1=new 2=kept 4=only ");
    ck_assert_uint_eq(script.reads[1], 1);
    ck_assert_uint_eq(script.reads[2] + script.reads[3], 2); /* a digest, then rows, of one */
    ck_assert_uint_eq(script.digests[2] + script.digests[3], 1);
    ck_assert_uint_eq(client.outcome.required, 2);
    ck_assert_uint_eq(client.outcome.received, 2);
    end();
}
END_TEST

START_TEST(who_refuses_is_replaced_by_the_next)
{
    begin();
    script.does[2 + _i] = REFUSE;
    read_once(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, OK);
    ck_assert_str_eq(client.text, "p1: 1=new 2=kept 4=only ");
    end();
}
END_TEST

START_TEST(who_dies_under_way_is_replaced_by_the_next)
{
    begin();
    script.does[2] = script.does[3] = SILENT;
    memset(&client, 0, sizeof client);
    struct read read = partition_read(100);
    script_read_start(&client, LEVEL_QUORUM, &read);
    rig_pass(&script.rig, 20 * script_ms);
    unsigned asked = script.reads[2] ? 2 : 3;
    script.does[5 - asked] = OBEY;
    rig_kill(&script.rig, (int)asked - 1);
    script_wait(&client);
    ck_assert_int_eq(client.err, OK);
    ck_assert_str_eq(client.text, "p1: 1=new 2=kept 4=only ");
    end();
}
END_TEST

START_TEST(silence_is_a_timeout_with_its_counts)
{
    begin();
    script.does[2] = script.does[3] = SILENT;
    read_once(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, ERR_READ_TIMEOUT);
    ck_assert_uint_eq(client.outcome.received, 1);
    ck_assert_uint_eq(client.outcome.required, 2);
    ck_assert(client.outcome.has_data);
    ck_assert_str_eq(client.text, "");
    ck_assert_uint_ge(client.ended_ns - client.begun_ns, 200 * script_ms);
    ck_assert_uint_le(client.ended_ns - client.begun_ns, 202 * script_ms);
    end();
}
END_TEST

START_TEST(a_slow_local_replica_keeps_nobody_waiting_past_the_deadline)
{
    begin();
    script.does[1] = SLOW;
    read_once(LEVEL_ALL);
    ck_assert_int_eq(client.err, ERR_READ_TIMEOUT);
    ck_assert_uint_le(client.ended_ns - client.begun_ns, 202 * script_ms);
    ck_assert(!coordinator_idle(script.coordinator)); /* it still reads */
    end();
}
END_TEST

START_TEST(refusals_of_all_are_a_failure_at_once)
{
    begin();
    script.does[2] = script.does[3] = REFUSE;
    read_once(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, ERR_READ_FAILURE);
    ck_assert_uint_eq(client.outcome.failed, 2);
    ck_assert_uint_le(client.ended_ns - client.begun_ns, 10 * script_ms);
    end();
}
END_TEST

START_TEST(too_few_alive_is_unavailable_and_asks_nobody)
{
    begin();
    script_down(2);
    read_once(LEVEL_ALL);
    ck_assert_int_eq(client.err, ERR_UNAVAILABLE);
    ck_assert_uint_eq(client.outcome.alive, 2);
    ck_assert_uint_eq(client.outcome.missing, 2);
    ck_assert_uint_eq(script.reads[1] + script.reads[3], 0);
    read_once(LEVEL_QUORUM);
    ck_assert_int_eq(client.err, OK);
    end();
}
END_TEST

/* Node 1 has rows that the others know to be deleted: each limit cuts its answer elsewhere. */
START_TEST(short_answers_never_hide_nor_revive_a_row)
{
    struct script_row rows[24];
    for (int i = 0; i < 12; i++) {
        rows[2 * i] = (struct script_row){ 1, i, 10, "v", ON_ALL, 0, "" };
        rows[2 * i + 1] = (struct script_row){ 1, i, 20, i % 4 ? NULL : "w", 0, 0, "" };
        rows[2 * i].nodes = ON_1;
        rows[2 * i + 1].nodes = ON_2 | ON_3;
    }
    script_begin(3, 3, rows, array_count(rows));
    read_all(LEVEL_QUORUM, partition_read((uint32_t)_i));
    char *text = client.text, *head;
    while ((head = strstr(text, "p1: ")) != NULL) /* each round says the partition again */
        memmove(head, head + 4, strlen(head + 4) + 1);
    ck_assert_str_eq(client.text, "0=w 4=w 8=w ");
    end();
}
END_TEST

static unsigned times_in(const char *text, const char *part)
{
    unsigned n = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

/* Every row once, whatever the limit, whoever holds which range. */
START_TEST(a_scan_brings_every_row_of_every_range_once)
{
    static struct script_row rows[40];
    unsigned factor = 1 + (unsigned)_i % 3;
    uint32_t limit = 1 + (uint32_t)_i / 3;
    for (int i = 0; i < 40; i++)
        rows[i] = (struct script_row){ i / 2, i % 2, 10, "v", ON_ALL, 0, "" };
    script_begin(4, factor, rows, array_count(rows));
    read_all(factor == 1 ? LEVEL_ONE : LEVEL_QUORUM, range_read(limit));
    for (int p = 0; p < 20; p++) {
        char key[16];
        snprintf(key, sizeof key, "p%d: ", p);
        ck_assert_uint_ge(times_in(client.text, key), 1);
    }
    ck_assert_uint_eq(times_in(client.text, "0=v "), 20);
    ck_assert_uint_eq(times_in(client.text, "1=v "), 20);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("read");
    TCase *tc = tcase_create("read");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, one_asks_the_local_replica_alone);
    tcase_add_test(tc, a_quorum_asks_two_and_merges_the_newest);
    tcase_add_loop_test(tc, who_refuses_is_replaced_by_the_next, 0, 2);
    tcase_add_test(tc, who_dies_under_way_is_replaced_by_the_next);
    tcase_add_test(tc, silence_is_a_timeout_with_its_counts);
    tcase_add_test(tc, a_slow_local_replica_keeps_nobody_waiting_past_the_deadline);
    tcase_add_test(tc, refusals_of_all_are_a_failure_at_once);
    tcase_add_test(tc, too_few_alive_is_unavailable_and_asks_nobody);
    tcase_add_loop_test(tc, short_answers_never_hide_nor_revive_a_row, 1, 14);
    tcase_add_loop_test(tc, a_scan_brings_every_row_of_every_range_once, 0, 15);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
