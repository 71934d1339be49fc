/* test_write.c - writes at every level, with replicas that obey, refuse, are slow, silent or dead.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/inside.h"
#include "script_client.h"

#include <check.h>

struct story {
    const char *name;
    enum level level;
    unsigned factor, down; /* down: a bit per node, from 1 */
    enum script_does does[RIG_NODES];
    enum err err;
    unsigned required, received, failed, alive, missing;
};

static const struct story stories[] = {
    { "one is enough", LEVEL_ONE, 3, 0, { OBEY, SILENT, SILENT }, OK, 1, 1, 0, 3, 0 },
    { "any is one", LEVEL_ANY, 3, 0, { SILENT, OBEY, SILENT }, OK, 1, 1, 0, 3, 0 },
    { "a quorum of two", LEVEL_QUORUM, 3, 0, { OBEY, SILENT, OBEY }, OK, 2, 2, 0, 3, 0 },
    { "a local quorum", LEVEL_LOCAL_QUORUM, 3, 0, { OBEY, OBEY, SILENT }, OK, 2, 2, 0, 3, 0 },
    { "a quorum with one dead", LEVEL_QUORUM, 3, 4, { OBEY, OBEY, OBEY }, OK, 2, 2, 0, 2, 2 },
    { "a quorum in spite of a refusal",
      LEVEL_QUORUM,
      3,
      0,
      { OBEY, REFUSE, OBEY },
      OK,
      2,
      2,
      1,
      3,
      0 },
    { "all", LEVEL_ALL, 3, 0, { OBEY, OBEY, OBEY }, OK, 3, 3, 0, 3, 0 },
    { "all with one dead", LEVEL_ALL, 3, 8, { OBEY, OBEY, OBEY }, ERR_UNAVAILABLE, 3, 0, 0, 2, 3 },
    { "a quorum with two dead",
      LEVEL_QUORUM,
      3,
      12,
      { OBEY, OBEY, OBEY },
      ERR_UNAVAILABLE,
      2,
      0,
      0,
      1,
      2 },
    { "three of two", LEVEL_THREE, 2, 0, { OBEY, OBEY, OBEY }, ERR_UNAVAILABLE, 3, 0, 0, 2, 0 },
    { "silence at quorum",
      LEVEL_QUORUM,
      3,
      0,
      { OBEY, SILENT, SILENT },
      ERR_WRITE_TIMEOUT,
      2,
      1,
      0,
      3,
      0 },
    { "silence at all", LEVEL_ALL, 3, 0, { OBEY, OBEY, SILENT }, ERR_WRITE_TIMEOUT, 3, 2, 0, 3, 0 },
    { "a refusal at all",
      LEVEL_ALL,
      3,
      0,
      { OBEY, OBEY, REFUSE },
      ERR_WRITE_FAILURE,
      3,
      2,
      1,
      3,
      0 },
    { "two refusals at quorum",
      LEVEL_QUORUM,
      3,
      0,
      { OBEY, REFUSE, REFUSE },
      ERR_WRITE_FAILURE,
      2,
      1,
      2,
      3,
      0 },
    { "the local one refuses",
      LEVEL_ALL,
      3,
      0,
      { REFUSE, OBEY, OBEY },
      ERR_WRITE_FAILURE,
      3,
      2,
      1,
      3,
      0 },
    { "everyone is overloaded",
      LEVEL_ONE,
      3,
      0,
      { OVERLOAD, OVERLOAD, OVERLOAD },
      ERR_OVERLOADED,
      1,
      0,
      3,
      3,
      0 },
    { "no level for writes", LEVEL_SERIAL, 3, 0, { OBEY, OBEY, OBEY }, ERR_INVALID, 0, 0, 0, 0, 0 },
};

static struct script_client client, other;

static void tell(const struct story *s)
{
    script_begin(1, s->factor, NULL, 0);
    for (unsigned n = 1; n <= RIG_NODES; n++) {
        script.does[n] = s->does[n - 1];
        if (s->down >> n & 1)
            script_down(n);
    }
    script_write_start(&client, s->level);
    script_wait(&client);
}

START_TEST(a_write_answers_what_its_story_says)
{
    const struct story *s = &stories[_i];
    tell(s);
    const struct coordinator_outcome *o = &client.outcome;
    ck_assert_msg(client.err == s->err, "%s: %s", s->name, err_name(client.err));
    ck_assert_msg(o->required == s->required, "%s: %u required", s->name, o->required);
    ck_assert_msg(s->err == OK ? o->received >= s->received : o->received <= s->received,
                  "%s: %u received", s->name, o->received);
    ck_assert_msg(o->failed <= s->failed, "%s: %u failed", s->name, o->failed);
    if (s->alive) {
        ck_assert_uint_eq(o->alive, s->alive);
        ck_assert_uint_eq(o->missing, s->missing);
    }
    script_end();
}
END_TEST

START_TEST(an_unavailable_write_sends_nothing)
{
    tell(&stories[7]);
    rig_pass(&script.rig, rig_second);
    ck_assert_int_eq(client.err, ERR_UNAVAILABLE);
    ck_assert_uint_eq(script.applied[1] + script.applied[2] + script.applied[3], 0);
    script_end();
}
END_TEST

START_TEST(a_timeout_comes_at_the_deadline_and_a_refusal_at_once)
{
    tell(&stories[10]);
    ck_assert_uint_ge(client.ended_ns - client.begun_ns, 200 * script_ms);
    ck_assert_uint_le(client.ended_ns - client.begun_ns, 202 * script_ms);
    script_end();
    tell(&stories[12]);
    ck_assert_uint_le(client.ended_ns - client.begun_ns, 5 * script_ms);
    script_end();
}
END_TEST

START_TEST(a_write_lingers_for_the_slow_and_counts_them)
{
    struct coordinator_counts counts;
    script_begin(1, 3, NULL, 0);
    script.does[3] = SLOW;
    script_write_start(&client, LEVEL_QUORUM);
    client.timeout_ns = rig_second;
    script_wait(&client);
    ck_assert_int_eq(client.err, OK);
    ck_assert_uint_le(client.ended_ns - client.begun_ns, 5 * script_ms);
    coordinator_counts(script.coordinator, &counts);
    ck_assert_uint_eq(counts.late_acks, 0);
    ck_assert_uint_eq(counts.in_flight, 1);
    rig_pass(&script.rig, rig_second);
    coordinator_counts(script.coordinator, &counts);
    ck_assert_uint_eq(counts.late_acks, 1);
    ck_assert_uint_eq(counts.in_flight, 0);
    script_end();
}
END_TEST

START_TEST(a_replica_that_dies_under_way_is_silent_not_a_failure)
{
    script_begin(1, 3, NULL, 0);
    script.does[2] = script.does[3] = SILENT;
    script_write_start(&client, LEVEL_QUORUM);
    rig_pass(&script.rig, 20 * script_ms);
    script_down(2);
    script_down(3);
    script_wait(&client);
    ck_assert_int_eq(client.err, ERR_WRITE_TIMEOUT);
    ck_assert_uint_eq(client.outcome.received, 1);
    ck_assert_uint_eq(client.outcome.failed, 0);
    script_end();
}
END_TEST

START_TEST(stopping_ends_what_is_under_way)
{
    script_begin(1, 3, NULL, 0);
    script.does[2] = script.does[3] = SILENT;
    script_write_start(&client, LEVEL_ALL);
    rig_pass(&script.rig, 20 * script_ms);
    coordinator_stop(script.coordinator);
    script_wait(&client);
    ck_assert_int_eq(client.err, ERR_STOPPED);
    script_write_start(&other, LEVEL_ALL);
    script_wait(&other);
    ck_assert_int_eq(other.err, ERR_STOPPED);
    script_end();
}
END_TEST

/* A replica is silent for longer than the budget lasts: writes that only wait for it give way, and
 * only those that nobody has answered yet are too many. */
START_TEST(lingering_gives_way_to_new_writes)
{
    struct coordinator_counts counts;
    script_begin(1, 3, NULL, 0);
    script.coordinator->options.requests_bytes_max = 100 << 10;
    script.does[3] = SILENT;
    for (int i = 0; i < 200; i++) {
        script_write_start(&client, LEVEL_QUORUM);
        client.timeout_ns = 60 * rig_second;
        script_wait(&client);
        ck_assert_int_eq(client.err, OK);
        ck_assert_uint_le(script.coordinator->bytes_in_flight, 120 << 10);
    }
    coordinator_counts(script.coordinator, &counts);
    ck_assert_uint_gt(counts.in_flight, 5);
    script_end();
}
END_TEST

START_TEST(too_many_unanswered_writes_are_overload)
{
    enum { MANY = 64 };
    static struct script_client clients[MANY];
    unsigned overloaded = 0;
    script_begin(1, 3, NULL, 0);
    script.coordinator->options.requests_bytes_max = 100 << 10;
    script.does[2] = script.does[3] = SILENT;
    for (int i = 0; i < MANY; i++)
        script_write_start(&clients[i], LEVEL_QUORUM);
    for (int i = 0; i < MANY; i++) {
        script_wait(&clients[i]);
        overloaded += clients[i].err == ERR_OVERLOADED;
        ck_assert(clients[i].err == ERR_OVERLOADED || clients[i].err == ERR_WRITE_TIMEOUT);
    }
    ck_assert_uint_gt(overloaded, 32);
    ck_assert_uint_lt(overloaded, 60);
    script_end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("write");
    TCase *tc = tcase_create("write");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_write_answers_what_its_story_says, 0, (int)array_count(stories));
    tcase_add_test(tc, an_unavailable_write_sends_nothing);
    tcase_add_test(tc, a_timeout_comes_at_the_deadline_and_a_refusal_at_once);
    tcase_add_test(tc, a_write_lingers_for_the_slow_and_counts_them);
    tcase_add_test(tc, a_replica_that_dies_under_way_is_silent_not_a_failure);
    tcase_add_test(tc, stopping_ends_what_is_under_way);
    tcase_add_test(tc, lingering_gives_way_to_new_writes);
    tcase_add_test(tc, too_many_unanswered_writes_are_overload);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
