/* test_message.c - requests between shards of nodes: echoed whole, on time, or ended with a reason.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/prng.h"
#include "rig_client.h"

#include <check.h>

enum { CALLS = 60 };
static struct rig rig;
static struct rig_call calls[CALLS];

static void begin(uint64_t seed, struct sim_faults faults, unsigned credits)
{
    memset(calls, 0, sizeof calls);
    rig_init(&rig, seed, faults);
    rig.credits = credits;
    for (int i = 0; i < RIG_NODES; i++)
        rig_start(&rig, i, 1 + (int)((seed + (uint64_t)i) % RIG_SHARDS_MAX));
    ck_assert(rig_until(&rig, rig_all_up, 30));
}

static void end(void)
{
    for (int i = 0; i < CALLS; i++)
        arena_deinit(&calls[i].arena);
    for (int i = 0; i < RIG_NODES; i++)
        if (sim_alive(rig.sim, i))
            rig_close(&rig, i);
    rig_pass(&rig, 20 * rig_second);
    for (int i = 0; i < RIG_NODES; i++) {
        ck_assert(!sim_alive(rig.sim, i));
        ck_assert_uint_eq(sim_open_handles(rig.sim, i), 0);
        ck_assert_uint_eq(sim_open_ops(rig.sim, i), 0);
        ck_assert_uint_eq(sim_open_blocks(rig.sim, i), 0);
    }
    sim_free(rig.sim);
}

/* Bytes that repeat (LZ4 takes them) or do not. */
static struct bytes make_body(struct prng *dice, size_t size)
{
    uint8_t *data = mem_alloc(size + 1);
    bool is_dull = prng_chance(dice, 50);
    for (size_t i = 0; i < size; i++)
        data[i] = is_dull ? (uint8_t)(i % 7) : (uint8_t)prng_next(dice);
    return bytes_of(data, size);
}

START_TEST(every_request_is_answered_with_its_own_bytes)
{
    static const size_t sizes[] = { 0, 1, 100, 4096, 4097, 65536, 65537, 300000 };
    struct prng dice = { (uint64_t)_i };
    struct sim_faults faults = { .net_ns_max = 500000,
                                 .mail_ns_max = 100000,
                                 .chunk_bytes_max = _i % 3 ? 0 : 3000,
                                 .mail_credits = _i % 2 ? 1 : 0 };
    struct bytes bodies[CALLS];
    begin((uint64_t)_i, faults, _i % 4 == 1 ? 1 : 0);
    for (int i = 0; i < CALLS; i++) {
        struct rig_node *from = &rig.nodes[prng_below(&dice, RIG_NODES)];
        struct rig_shard *shard = &from->shards[prng_below(&dice, (uint64_t)from->shards_count)];
        unsigned to = (unsigned)((uint64_t)from->index + 1 + prng_below(&dice, 2)) % RIG_NODES + 1;
        bodies[i] = make_body(&dice, sizes[prng_below(&dice, array_count(sizes))]);
        calls[i].message.has_token = prng_chance(&dice, 60);
        calls[i].message.token = (int64_t)prng_next(&dice);
        calls[i].timeout_ns = 60 * rig_second;
        rig_call_start(&calls[i], shard, to, bodies[i]);
    }
    rig_calls_wait(&rig, calls, CALLS);
    for (int i = 0; i < CALLS; i++) {
        ck_assert_int_eq(calls[i].err, OK);
        ck_assert(bytes_equal(calls[i].call.answer, bodies[i]));
        mem_free((void *)bodies[i].data);
    }
    end();
}
END_TEST

START_TEST(a_silent_node_ends_a_request_at_its_deadline)
{
    begin(1, (struct sim_faults){ 0 }, 0);
    for (int s = 0; s < RIG_SHARDS_MAX; s++)
        rig.nodes[1].shards[s].is_silent = true;
    sim_cut(rig.sim, 1, 0, true);
    calls[0].timeout_ns = 300000000;
    rig_call_start(&calls[0], &rig.nodes[0].shards[0], 2, bytes_text("hello"));
    rig_calls_wait(&rig, calls, 1);
    ck_assert_int_eq(calls[0].err, ERR_TIMEOUT);
    ck_assert_uint_ge(calls[0].ended_ns - calls[0].begun_ns, 300000000);
    ck_assert_uint_le(calls[0].ended_ns - calls[0].begun_ns, 301000000);
    sim_cut(rig.sim, 1, 0, false);
    rig_kill(&rig, 1); /* what it never answers would hold its close */
    end();
}
END_TEST

START_TEST(a_node_that_dies_ends_its_requests_at_once)
{
    begin(2, (struct sim_faults){ .net_ns_max = 100000 }, 0);
    for (int s = 0; s < RIG_SHARDS_MAX; s++)
        rig.nodes[1].shards[s].is_silent = true;
    for (int i = 0; i < 10; i++)
        rig_call_start(&calls[i], &rig.nodes[0].shards[0], 2, bytes_text("hello"));
    rig_pass(&rig, 50000000);
    uint64_t start = sim_now(rig.sim);
    rig_kill(&rig, 1);
    rig_calls_wait(&rig, calls, 10);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(calls[i].err, ERR_CLOSED);
    ck_assert_uint_le(sim_now(rig.sim) - start, 100000000);
    end();
}
END_TEST

START_TEST(a_cancelled_request_ends_as_stopped_and_a_late_answer_is_dropped)
{
    struct cluster_counts counts;
    begin(3, (struct sim_faults){ .net_ns_max = 100000 }, 0);
    calls[0].must_cancel = true;
    rig_call_start(&calls[0], &rig.nodes[0].shards[0], 2, bytes_text("hello"));
    rig_calls_wait(&rig, calls, 1);
    ck_assert_int_eq(calls[0].err, ERR_STOPPED);
    rig_pass(&rig, rig_second);
    cluster_counts(rig.nodes[0].shards[0].cluster, &counts);
    ck_assert_uint_eq(counts.dropped, 1);
    rig_call_start(&calls[1], &rig.nodes[0].shards[0], 2, bytes_text("again"));
    rig_calls_wait(&rig, calls, 2);
    ck_assert_int_eq(calls[1].err, OK);
    end();
}
END_TEST

START_TEST(requests_over_the_budget_are_refused)
{
    struct prng dice = { 5 };
    struct bytes body = make_body(&dice, 50000);
    begin(4, (struct sim_faults){ .net_ns_max = 100000 }, 0);
    for (int i = 0; i < RIG_NODES; i++)
        rig_kill(&rig, i);
    for (int i = 0; i < RIG_NODES; i++) {
        rig.nodes[i].options.peers_bytes_max = 100000 * (RIG_NODES - 1);
        rig_start(&rig, i, 1);
    }
    ck_assert(rig_until(&rig, rig_all_up, 30));
    for (int i = 0; i < 4; i++)
        rig_call_start(&calls[i], &rig.nodes[0].shards[0], 2, body);
    rig_calls_wait(&rig, calls, 4);
    ck_assert_int_eq(calls[0].err, OK);
    ck_assert_int_eq(calls[1].err, OK);
    ck_assert_int_eq(calls[2].err, ERR_OVERLOADED);
    ck_assert_int_eq(calls[3].err, ERR_OVERLOADED);
    mem_free((void *)body.data);
    end();
}
END_TEST

static struct cluster_request *held[CALLS];
static unsigned held_count;
static bool must_hold;

/* The second node answers nothing for a while, then all at once. */
static void hold(struct rig_shard *s, struct cluster_request *r)
{
    bool is_held = s->node->index == 1 && must_hold;
    if (is_held)
        held[held_count++] = r;
    while (s->node->index == 1 && !must_hold && held_count > 0) {
        struct cluster_request *first = held[--held_count];
        cluster_answer(first, OK, first->body);
    }
    if (!is_held)
        cluster_answer(r, OK, r->body);
}

START_TEST(who_sends_more_than_is_answered_is_not_read_from)
{
    struct prng dice = { 5 };
    uint8_t bytes[50000]; /* that LZ4 does not take */
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)prng_next(&dice);
    begin(4, (struct sim_faults){ .net_ns_max = 100000 }, 0);
    rig.answer = hold;
    rig_kill(&rig, 1);
    rig.nodes[1].options.peers_bytes_max = 100000 * (RIG_NODES - 1);
    rig_start(&rig, 1, 1);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    must_hold = true;
    for (int i = 0; i < 20; i++)
        rig_call_start(&calls[i], &rig.nodes[0].shards[0], 2, bytes_of(bytes, sizeof bytes));
    rig_pass(&rig, rig_second / 2);
    ck_assert_uint_ge(held_count, 3); /* beyond 100,000, and what was read with it */
    ck_assert_uint_le(held_count, 5);
    must_hold = false;
    rig_call_start(&calls[20], &rig.nodes[2].shards[0], 2, bytes_text("go on"));
    rig_calls_wait(&rig, calls, 21);
    for (int i = 0; i < 21; i++)
        ck_assert_int_eq(calls[i].err, OK);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("message");
    TCase *tc = tcase_create("message");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, every_request_is_answered_with_its_own_bytes, 0, 12);
    tcase_add_test(tc, a_silent_node_ends_a_request_at_its_deadline);
    tcase_add_test(tc, a_node_that_dies_ends_its_requests_at_once);
    tcase_add_test(tc, a_cancelled_request_ends_as_stopped_and_a_late_answer_is_dropped);
    tcase_add_test(tc, requests_over_the_budget_are_refused);
    tcase_add_test(tc, who_sends_more_than_is_answered_is_not_read_from);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
