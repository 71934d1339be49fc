/* test_write_place.c - where a mutation is with each replica: every way into every place, every
 * order of replies and hints, and the books, which are looked at after every event.
 */
// SPDX-License-Identifier: Apache-2.0
#include "script_books.h"

enum { MANY = 40 };
static struct script_client clients[MANY];

/* A token of which node 1 has no replica. */
static int64_t foreign_token(void)
{
    struct replicas replicas;
    const struct ring *ring = cluster_ring(script.rig.nodes[0].shards[0].cluster);
    for (int64_t token = INT64_MIN / 2;; token += INT64_MAX / 64) {
        bool is_own = false;
        ring_replicas(ring, &script.keyspace, 1, token, &replicas);
        for (size_t i = 0; i < replicas.count; i++)
            is_own |= replicas.nodes[i] == 1;
        if (!is_own)
            return token;
    }
}

/* ---- every place ---- */

struct story {
    const char *name;
    enum level level;
    unsigned down; /* a bit per node, from 1 */
    enum script_does does[RIG_NODES];
    bool is_refusing;
    enum err err;
    const char *ends; /* of each node: A acked, H hinted, L acked late, R refused, W withdrawn */
    unsigned hints;   /* asked for, in all */
};
static const struct story stories[] = {
    { "all have it", LEVEL_ALL, 0, { OBEY, OBEY, OBEY }, false, OK, "AAA", 0 },
    { "all have it, soon", LEVEL_ONE, 0, { OBEY, OBEY, OBEY }, false, OK, "AAA", 0 },
    { "one is dead", LEVEL_QUORUM, 8, { OBEY, OBEY, OBEY }, false, OK, "AAH", 1 },
    { "two are dead", LEVEL_ONE, 12, { OBEY, OBEY, OBEY }, false, OK, "AHH", 2 },
    { "one is slow", LEVEL_QUORUM, 0, { OBEY, OBEY, SLOW }, false, OK, "AAH", 1 },
    { "one is silent", LEVEL_QUORUM, 0, { OBEY, SILENT, OBEY }, false, OK, "AHA", 1 },
    { "the local one is slow", LEVEL_QUORUM, 0, { SLOW, OBEY, OBEY }, false, OK, "LAA", 1 },
    { "one fails", LEVEL_QUORUM, 0, { OBEY, REFUSE, OBEY }, false, OK, "AHA", 1 },
    { "the local one fails", LEVEL_ONE, 0, { REFUSE, OBEY, OBEY }, false, OK, "HAA", 1 },
    { "one is overloaded", LEVEL_QUORUM, 0, { OBEY, OVERLOAD, OBEY }, false, OK, "AHA", 1 },
    { "two are overloaded", LEVEL_ONE, 0, { OVERLOAD, OVERLOAD, OBEY }, false, OK, "HHA", 2 },
    { "all are overloaded",
      LEVEL_ONE,
      0,
      { OVERLOAD, OVERLOAD, OVERLOAD },
      false,
      ERR_OVERLOADED,
      "WWW",
      0 },
    { "two are overloaded and one is silent",
      LEVEL_ONE,
      0,
      { OVERLOAD, OVERLOAD, SILENT },
      false,
      ERR_WRITE_FAILURE,
      "HHH",
      3 },
    { "two are overloaded and one is dead",
      LEVEL_ONE,
      8,
      { OVERLOAD, OVERLOAD, OBEY },
      false,
      ERR_WRITE_FAILURE,
      "HHH",
      3 },
    { "two are silent at quorum",
      LEVEL_QUORUM,
      0,
      { OBEY, SILENT, SILENT },
      false,
      ERR_WRITE_TIMEOUT,
      "AHH",
      2 },
    { "all are silent",
      LEVEL_ONE,
      0,
      { SLOW, SILENT, SILENT },
      false,
      ERR_WRITE_TIMEOUT,
      "LHH",
      3 },
    { "a failure at all",
      LEVEL_ALL,
      0,
      { OBEY, OBEY, REFUSE },
      false,
      ERR_WRITE_FAILURE,
      "AAH",
      1 },
    { "nothing was sent", LEVEL_ALL, 8, { OBEY, OBEY, OBEY }, false, ERR_UNAVAILABLE, "---", 0 },
    { "a dead one's hint is refused", LEVEL_ONE, 8, { OBEY, OBEY, OBEY }, true, OK, "AAR", 1 },
    { "a slow one's hint is refused", LEVEL_ONE, 0, { OBEY, OBEY, SLOW }, true, OK, "AAR", 1 },
    { "refused, and then it came", LEVEL_ONE, 0, { SLOW, OBEY, OBEY }, true, OK, "AAA", 1 },
    { "ANY, all are silent", LEVEL_ANY, 0, { SLOW, SILENT, SILENT }, false, OK, "LHH", 3 },
    { "ANY, all fail", LEVEL_ANY, 0, { REFUSE, REFUSE, REFUSE }, false, OK, "HHH", 3 },
    { "ANY, all are overloaded",
      LEVEL_ANY,
      0,
      { OVERLOAD, OVERLOAD, OVERLOAD },
      false,
      OK,
      "HHH",
      3 },
    { "ANY, all fail and no hint is kept",
      LEVEL_ANY,
      0,
      { REFUSE, REFUSE, REFUSE },
      true,
      ERR_WRITE_FAILURE,
      "RRR",
      3 },
};

static char place_of(unsigned node)
{
    const struct coordinator_book *b = book(node);
    if (b->sent == 0)
        return '-';
    ck_assert_uint_eq(b->sent, 1);
    if (b->acked)
        return b->late ? 'L' : 'A';
    return b->hinted ? 'H' : b->withdrawn ? 'W' : refused(node) ? 'R' : '?';
}

static void tell(const struct story *s)
{
    char ends[RIG_NODES + 1] = { 0 };
    begin(3);
    script_hints.is_refusing = s->is_refusing;
    script_hints.why = HINT_REFUSED_SIZE;
    for (unsigned n = 1; n <= RIG_NODES; n++) {
        script.does[n] = s->does[n - 1];
        if (s->down >> n & 1)
            script_down(n);
    }
    script_write_start(&client, s->level);
    wait_answer(&client);
    ck_assert_msg(client.err == s->err, "%s: %s", s->name, err_name(client.err));
    wait_settled();
    for (unsigned n = 1; n <= RIG_NODES; n++)
        ends[n - 1] = place_of(n);
    ck_assert_msg(strcmp(ends, s->ends) == 0, "%s: %s", s->name, ends);
    ck_assert_uint_eq(script_hints.asked[1] + script_hints.asked[2] + script_hints.asked[3],
                      s->hints);
    ck_assert_uint_le(client.ended_ns - client.begun_ns, 203 * script_ms);
}

START_TEST(a_mutation_ends_in_the_place_that_its_story_says)
{
    tell(&stories[_i]);
    script_end();
}
END_TEST

/* ---- when ---- */

START_TEST(a_dead_one_gets_its_hint_at_once_and_a_slow_one_at_the_deadline)
{
    begin(3);
    script_down(3);
    script.does[2] = SILENT;
    script_write_start(&client, LEVEL_ONE);
    pass(5 * script_ms);
    ck_assert_uint_eq(book(3)->hinted, 1);
    ck_assert_uint_eq(book(2)->in_flight, 1);
    pass(190 * script_ms);
    ck_assert_uint_eq(book(2)->in_flight, 1);
    pass(10 * script_ms);
    ck_assert_uint_eq(book(2)->hinted, 1);
    script_end();
}
END_TEST

START_TEST(an_outcome_tells_how_it_was_when_the_client_was_answered)
{
    begin(3);
    script_down(3);
    script.does[2] = REFUSE;
    script_hints.takes_ns = script_ms / 10; /* before the acknowledgement */
    script_write_start(&client, LEVEL_ONE);
    wait_answer(&client);
    const struct coordinator_outcome *o = &client.outcome;
    ck_assert_int_eq(client.err, OK);
    ck_assert_uint_eq(o->replicas, 3);
    ck_assert_uint_eq(o->acked, 1);
    ck_assert_uint_eq(o->synced, 1);
    ck_assert_uint_eq(o->hinted, 1);
    wait_settled();
    script_end();
    tell(&stories[16]); /* a failure at all */
    ck_assert_uint_eq(o->failed, 1);
    ck_assert_uint_eq(o->failures[0].node, 3);
    ck_assert_int_eq(o->failures[0].err, ERR_IO);
    ck_assert_uint_ge(o->acked, 1); /* whoever was quicker than the one that failed */
    script_end();
}
END_TEST

/* ---- orders of an acknowledgement and a hint ---- */

/* The write is called off at 100 ms, the local replica acknowledges at 300 ms, and the hint is
 * there before or behind that. */
static void call_off(uint64_t hint_ns, uint64_t *late_at_200)
{
    begin(3);
    script.does[1] = SLOW;
    script_hints.takes_ns = hint_ns;
    script_write_start(&client, LEVEL_QUORUM);
    client.timeout_ns = 60 * rig_second;
    wait_answer(&client);
    ck_assert_int_eq(client.err, OK);
    pass(client.begun_ns + 100 * script_ms - sim_now(script.rig.sim));
    script.coordinator->options.requests_bytes_max = 1;
    script_write_start(&clients[0], LEVEL_ONE); /* finds no room, for itself neither */
    pass(script_ms);
    ck_assert(clients[0].is_done);
    ck_assert_int_eq(clients[0].err, ERR_OVERLOADED);
    pass(client.begun_ns + 200 * script_ms - sim_now(script.rig.sim));
    *late_at_200 = book(1)->late;
    ck_assert_uint_eq(book(1)->early, 1);
}

START_TEST(an_acknowledgement_behind_the_hint_is_late)
{
    uint64_t late;
    call_off(script_ms, &late);
    ck_assert_uint_eq(late, 0);
    ck_assert_uint_eq(book(1)->hinted, 1);
    wait_settled();
    ck_assert_uint_eq(book(1)->late, 1);
    ck_assert_uint_eq(book(1)->hinted, 0);
    ck_assert_uint_eq(book(1)->acked, 1);
    script_end();
}
END_TEST

START_TEST(an_acknowledgement_while_the_hint_is_written_is_late_when_that_is_there)
{
    uint64_t late;
    call_off(400 * script_ms, &late);
    ck_assert_uint_eq(book(1)->in_flight, 1);
    while (!book(1)->acked)
        step();
    ck_assert_uint_eq(book(1)->late, 0);
    wait_settled();
    ck_assert_uint_eq(book(1)->late, 1);
    ck_assert_uint_eq(script_hints.written[1], 1);
    script_end();
}
END_TEST

START_TEST(an_acknowledgement_while_a_hint_is_being_refused_needs_none)
{
    uint64_t late;
    call_off(400 * script_ms, &late);
    script_hints.is_refusing = true;
    wait_settled();
    ck_assert_uint_eq(book(1)->acked, 1);
    ck_assert_uint_eq(book(1)->late, 0);
    ck_assert_uint_eq(refused(1), 0);
    script_end();
}
END_TEST

/* ---- budgets and stops ---- */

START_TEST(past_the_budget_the_oldest_get_their_hints_early)
{
    begin(3);
    script.coordinator->options.requests_bytes_max = 100 << 10;
    script.does[3] = SILENT;
    for (int i = 0; i < 200; i++) {
        script_write_start(&client, LEVEL_QUORUM);
        client.timeout_ns = 60 * rig_second;
        wait_answer(&client);
        ck_assert_int_eq(client.err, OK);
        ck_assert_uint_le(script.coordinator->bytes_in_flight, 120 << 10);
    }
    ck_assert_uint_gt(book(3)->early, 150);
    ck_assert_uint_eq(book(3)->early, book(3)->hinted);
    ck_assert_uint_gt(book(3)->in_flight, 5);
    script_end();
}
END_TEST

/* Hints that take for ever hold the memory of their mutations: then no more is taken. */
START_TEST(what_waits_for_its_hint_has_a_bound_too)
{
    unsigned overloaded = 0;
    begin(3);
    script.coordinator->options.requests_bytes_max = 100 << 10;
    script.does[3] = SILENT;
    script_hints.takes_ns = 100 * rig_second;
    for (int i = 0; i < 100; i++) {
        script_write_start(&client, LEVEL_QUORUM);
        client.timeout_ns = 60 * rig_second;
        wait_answer(&client);
        overloaded += client.err == ERR_OVERLOADED;
        ck_assert_uint_le(script.coordinator->bytes_in_flight, 220 << 10);
    }
    ck_assert_uint_gt(overloaded, 40);
    script_end();
}
END_TEST

START_TEST(a_stop_makes_hints_of_what_lingers)
{
    begin(3);
    script.does[2] = script.does[3] = SILENT;
    for (int i = 0; i < MANY; i++) {
        script_write_start(&clients[i], i % 2 ? LEVEL_ONE : LEVEL_QUORUM);
        clients[i].timeout_ns = 60 * rig_second;
    }
    for (int i = 1; i < MANY; i += 2)
        wait_answer(&clients[i]);
    coordinator_stop(script.coordinator);
    uint64_t began = sim_now(script.rig.sim);
    for (int i = 0; i < MANY; i += 2) {
        wait_answer(&clients[i]);
        ck_assert_int_eq(clients[i].err, ERR_STOPPED);
    }
    wait_settled();
    ck_assert_uint_le(sim_now(script.rig.sim) - began, 10 * script_ms);
    ck_assert_uint_eq(book(2)->hinted, MANY);
    ck_assert_uint_eq(book(3)->hinted, MANY);
    script_end();
}
END_TEST

START_TEST(a_hint_that_is_refused_is_counted_by_its_reason)
{
    begin(3);
    script_down(3);
    script_hints.is_refusing = true;
    for (int why = 0; why < HINT_REFUSALS_COUNT; why++) {
        script_hints.why = (enum hint_refusal)why;
        script_write_start(&client, LEVEL_QUORUM);
        wait_answer(&client);
        ck_assert_int_eq(client.err, OK);
        ck_assert_uint_eq(client.outcome.hinted, 0);
        pass(rig_second);
        ck_assert_uint_eq(book(3)->refused[why], 1);
    }
    script.coordinator->options.hints = NULL;
    script_write_start(&client, LEVEL_QUORUM);
    wait_answer(&client);
    wait_settled();
    ck_assert_uint_eq(book(3)->refused[HINT_REFUSED_OFF], 2);
    ck_assert_uint_eq(book(3)->sent, HINT_REFUSALS_COUNT + 1);
    script_end();
}
END_TEST

/* ---- ANY with nobody there ---- */

START_TEST(any_is_content_with_a_hint_when_all_are_dead)
{
    begin(2);
    int64_t token = foreign_token();
    script_down(2);
    script_down(3);
    script_write_start(&client, LEVEL_ANY);
    client.write.token = token;
    wait_answer(&client);
    ck_assert_int_eq(client.err, OK);
    ck_assert_uint_ge(client.outcome.received, 1);
    ck_assert_uint_eq(client.outcome.acked, 0);
    wait_settled();
    ck_assert_uint_eq(book(2)->hinted + book(3)->hinted, 2);
    script_write_start(&client, LEVEL_ONE);
    client.write.token = token;
    wait_answer(&client);
    ck_assert_int_eq(client.err, ERR_UNAVAILABLE);
    script_hints.is_refusing = true;
    script_write_start(&client, LEVEL_ANY);
    client.write.token = token;
    wait_answer(&client);
    ck_assert_int_eq(client.err, ERR_UNAVAILABLE);
    ck_assert_uint_eq(book(2)->sent, 1);
    script_end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("places");
    TCase *tc = tcase_create("places");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_mutation_ends_in_the_place_that_its_story_says, 0,
                        (int)array_count(stories));
    tcase_add_test(tc, a_dead_one_gets_its_hint_at_once_and_a_slow_one_at_the_deadline);
    tcase_add_test(tc, an_outcome_tells_how_it_was_when_the_client_was_answered);
    tcase_add_test(tc, an_acknowledgement_behind_the_hint_is_late);
    tcase_add_test(tc, an_acknowledgement_while_the_hint_is_written_is_late_when_that_is_there);
    tcase_add_test(tc, an_acknowledgement_while_a_hint_is_being_refused_needs_none);
    tcase_add_test(tc, past_the_budget_the_oldest_get_their_hints_early);
    tcase_add_test(tc, what_waits_for_its_hint_has_a_bound_too);
    tcase_add_test(tc, a_stop_makes_hints_of_what_lingers);
    tcase_add_test(tc, a_hint_that_is_refused_is_counted_by_its_reason);
    tcase_add_test(tc, any_is_content_with_a_hint_when_all_are_dead);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
