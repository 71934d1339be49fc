/* test_operation_repair.c - a repair of one node with two shards: which ranges are known again
 * after it, what it says where one is not, and from where another one would go on.
 *
 * Nothing is there to be mended: what counts is what is known, and when.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/clearing.h"
#include "node/operation.h"
#include "one_node.h"

#include <stdlib.h>

enum { SHARDS = 2 };
static const int64_t first_token = INT64_MIN / 4 * 3, last_token = INT64_MAX / 4 * 3;

static struct operations all;

static void setup(void)
{
    one_node_start(SHARDS);
    operations_init(&all, shard(0));
}

static void teardown(void) { one_node_end(); }

static void write_row(int c)
{
    struct cql_action action = { 0 };
    struct cql_plan *plan = NULL;
    struct coordinator_outcome outcome;
    struct io_req req = { 0 };
    bind(arena_printf(&arena, "INSERT INTO k.t (k, c) VALUES (1, %d)", c), &plan, &action);
    struct coordinator_write write = { .keyspace = catalog_keyspace(&shard(0)->catalog, "k"),
                                       .level = LEVEL_ONE,
                                       .token = action.mutations[0].token,
                                       .mutation = action.mutations[0].encoded,
                                       .deadline_ns = io_now(ios[0]) + 10000 * millisecond };
    sim_act(ios[0]);
    coordinator_write(shard(0)->coordinator, &req, &asker.op, &write, &outcome);
    ck_assert_int_eq(await_req(sim, &req), OK);
    sim_act(NULL);
    cql_plan_unref(&plan);
}

/* Something of a write to that token was not kept, there and now. */
static void lose(int at, int64_t token)
{
    struct owed_hold hold = { 0 };
    struct shard *s = shard(at);
    sim_act(s->io);
    owed_hold(s->owed, cluster_ring(s->cluster), token, &hold);
    owed_lose(s->owed, &hold, io_wall(s->io));
    owed_let_go(s->owed, &hold);
    sim_act(NULL);
}

static uint64_t unknown(void)
{
    struct owed_counts counts;
    uint64_t sum = 0;
    for (int i = 0; i < SHARDS; i++) {
        owed_counts(shard(i)->owed, &counts);
        sum += counts.unknown;
    }
    return sum;
}

static struct operation *repair(const char *words)
{
    struct buf answer = { 0 };
    sim_act(ios[0]);
    operations_post(&all, "repair", bytes_text(words), &answer);
    ck_assert(strncmp((const char *)answer.data, "HTTP/1.1 202", 12) == 0);
    buf_deinit(&answer);
    sim_act(NULL);
    return owner_of(all.list.prev, struct operation, link);
}

static void run(const struct operation *o, uint64_t done)
{
    while (!o->is_ended && o->done < done)
        ck_assert(sim_step(sim));
}

/* ---- the word of it ---- */

START_TEST(what_becomes_unknown_while_the_word_travels_stays_so)
{
    struct clearing c = { .shard = shard(0), .range = { INT64_MIN, INT64_MAX } };
    for (int i = 0; i < SHARDS; i++)
        lose(i, first_token);
    await_ns(&asker, millisecond);
    sim_act(ios[0]);
    c.began_ns = io_now(ios[0]);
    clearing_start(&c, &asker.op);
    for (int i = 0; i < SHARDS; i++)
        lose(i, last_token);
    ck_assert_uint_eq(unknown(), 2 * SHARDS);
    ck_assert_int_eq(await_req(sim, &c.req), OK);
    ck_assert_uint_eq(c.node, 0);
    ck_assert_uint_eq(unknown(), SHARDS);
}
END_TEST

START_TEST(a_disk_that_does_not_take_it_is_said)
{
    struct clearing c = { .shard = shard(0), .range = { INT64_MIN, INT64_MAX } };
    lose(1, first_token);
    await_ns(&asker, 100 * millisecond);
    sim_act(ios[0]);
    c.began_ns = io_now(ios[0]);
    sim_fail_disk(sim, 0, 1, 50, ERR_NO_SPACE);
    clearing_start(&c, &asker.op);
    ck_assert_int_eq(await_req(sim, &c.req), ERR_NO_SPACE);
    ck_assert_uint_eq(c.node, 1);
}
END_TEST

/* ---- all of a repair ---- */

START_TEST(what_was_unknown_before_a_range_was_compared_is_known_again)
{
    make_table();
    lose(0, first_token);
    await_ns(&asker, millisecond);
    struct operation *o = repair("");
    run(o, 1);
    lose(1, last_token); /* its range is compared later */
    run(o, UINT64_MAX);
    ck_assert_int_eq(o->failed.err, OK);
    ck_assert_uint_eq(unknown(), 0);
}
END_TEST

START_TEST(a_table_that_came_meanwhile_has_not_been_compared)
{
    make_table();
    lose(0, first_token);
    await_ns(&asker, millisecond);
    struct operation *o = repair("");
    run(o, 1);
    change("CREATE TABLE k.u (k int PRIMARY KEY)");
    ck_assert(!o->is_ended);
    lose(1, last_token); /* a write to k.u, perhaps */
    run(o, UINT64_MAX);
    ck_assert_int_eq(o->failed.err, OK);
    ck_assert_uint_eq(unknown(), 1);
}
END_TEST

START_TEST(a_range_that_is_not_known_again_fails_and_is_where_to_go_on)
{
    int64_t after;
    struct operation *o = repair("");
    run(o, 2);
    after = (int64_t)strtoll(o->place, NULL, 10);
    sim_fail_disk(sim, 0, 1, 50, ERR_NO_SPACE);
    run(o, UINT64_MAX);
    ck_assert_int_eq(o->failed.err, ERR_NO_SPACE);
    ck_assert_msg(strstr(o->failed.text, "ranges are not done"), "%s", o->failed.text);
    ck_assert_msg(strstr(o->failed.text, "has not taken note"), "%s", o->failed.text);
    ck_assert_ptr_nonnull(o->place);
    ck_assert_int_ge(strtoll(o->place, NULL, 10), after);
}
END_TEST

START_TEST(the_place_to_go_on_from_is_there_while_it_runs)
{
    struct operation *o = repair("start_token=-5");
    int64_t last = -5;
    for (uint64_t done = 0; !o->is_ended; done++) {
        run(o, done + 1);
        if (o->is_ended)
            break;
        int64_t place = (int64_t)strtoll(o->place, NULL, 10);
        ck_assert_int_ge(place, last);
        last = place;
    }
    ck_assert_int_gt(last, -5);
    ck_assert_ptr_null(o->place);
    ck_assert(strstr((const char *)o->result.data, "\"place\":null"));
}
END_TEST

START_TEST(a_repair_that_is_called_off_does_not_rest_first)
{
    struct repaired out;
    struct io_req req = { 0 };
    make_table();
    for (int c = 0; c <= REPAIR_PAGE_ROWS; c++)
        write_row(c);
    struct repair args = { .keyspace = catalog_keyspace(&shard(0)->catalog, "k"),
                           .table = catalog_table(&shard(0)->catalog, "k", "t"),
                           .after = INT64_MIN,
                           .upto = INT64_MAX,
                           .bytes_per_second = 1,
                           .timeout_ns = 1000 * millisecond };
    sim_act(ios[0]);
    coordinator_repair(shard(0)->coordinator, &req, &asker.op, &args, &out);
    sim_act(NULL);
    while (out.pages == 0)
        ck_assert(sim_step(sim));
    await_ns(&asker, millisecond);
    ck_assert(req.busy);
    uint64_t begun_ns = io_now(ios[0]);
    coordinator_cancel(&req);
    ck_assert_int_eq(await_req(sim, &req), ERR_STOPPED);
    ck_assert_uint_lt(io_now(ios[0]) - begun_ns, 1000 * millisecond);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("operation_repair");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_becomes_unknown_while_the_word_travels_stays_so);
    tcase_add_test(tc, a_disk_that_does_not_take_it_is_said);
    tcase_add_test(tc, what_was_unknown_before_a_range_was_compared_is_known_again);
    tcase_add_test(tc, a_table_that_came_meanwhile_has_not_been_compared);
    tcase_add_test(tc, a_range_that_is_not_known_again_fails_and_is_where_to_go_on);
    tcase_add_test(tc, the_place_to_go_on_from_is_there_while_it_runs);
    tcase_add_test(tc, a_repair_that_is_called_off_does_not_rest_first);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
