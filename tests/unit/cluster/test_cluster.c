/* test_cluster.c - births, changes, messages and addresses of a three-node cluster in the
 * simulator.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/metadata.h"
#include "rig_client.h"

#include <check.h>

static struct rig rig;

static struct sim_faults rough(uint64_t seed)
{
    return (struct sim_faults){ .net_ns_max = 2000000,
                                .disk_ns_max = 3000000,
                                .mail_ns_max = 300000,
                                .chunk_bytes_max = seed % 3 ? 0 : 40,
                                .mail_credits = seed % 2 ? 1 : 0 };
}

START_TEST(three_nodes_are_born_and_see_each_other_in_every_order)
{
    static const int orders[][RIG_NODES] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                             { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    rig_init(&rig, (uint64_t)_i + 1, rough((uint64_t)_i));
    for (int i = 0; i < RIG_NODES; i++) {
        rig_start(&rig, orders[_i % 6][i], 1 + (i + _i) % RIG_SHARDS_MAX);
        rig_pass(&rig, (uint64_t)(_i / 6) * 400000000);
    }
    ck_assert(rig_until(&rig, rig_all_up, 30));
    for (unsigned n = 1; n <= RIG_NODES; n++) {
        const struct rig_node *node = &rig.nodes[n - 1];
        const struct ring *ring = cluster_ring(node->shards[0].cluster);
        const struct ring *first = cluster_ring(rig.nodes[0].shards[0].cluster);
        ck_assert_uint_eq(cluster_self(node->shards[0].cluster), n);
        ck_assert(uuid_equal(&ring->cluster_id, &first->cluster_id));
        ck_assert_uint_eq(ring->tokens_count, 48);
        ck_assert_mem_eq(ring->tokens, first->tokens, 48 * sizeof *ring->tokens);
        for (int s = 0; s < node->shards_count; s++)
            ck_assert_str_eq(node->shards[s].applied, "1:;");
    }
    for (int i = 0; i < RIG_NODES; i++)
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
END_TEST

/* The same members and tokens everywhere. */
static void check_one_ring(void)
{
    const struct ring *first = cluster_ring(rig.nodes[0].shards[0].cluster);
    for (int i = 1; i < RIG_NODES; i++) {
        const struct ring *ring = cluster_ring(rig.nodes[i].shards[0].cluster);
        ck_assert(uuid_equal(&ring->cluster_id, &first->cluster_id));
        for (size_t n = 0; n < RIG_NODES; n++)
            ck_assert(uuid_equal(&ring->nodes[n].host_id, &first->nodes[n].host_id));
    }
}

enum { BIRTH_CUTS = 120, APPEND_CUTS = 150 };

static void start_all(uint64_t seed)
{
    for (int i = 0; i < RIG_NODES; i++)
        rig_start(&rig, i, 1 + (int)((seed + (uint64_t)i) % RIG_SHARDS_MAX));
}

/* How many steps a run takes that nobody disturbs: cuts are spread over them. */
static unsigned birth_steps(uint64_t seed)
{
    unsigned steps = 0;
    rig_init(&rig, seed, rough(seed));
    start_all(seed);
    for (; !rig_all_up(&rig); steps++)
        ck_assert(sim_step(rig.sim));
    sim_free(rig.sim);
    return steps;
}

START_TEST(a_birth_that_is_cut_anywhere_ends_as_one_birth)
{
    uint64_t seed = 100 + (uint64_t)_i % 8;
    int victim = _i % RIG_NODES;
    unsigned steps = birth_steps(seed);
    unsigned cut = steps * (unsigned)_i / BIRTH_CUTS;
    rig_init(&rig, seed, rough(seed));
    start_all(seed);
    for (unsigned i = 0; i < cut; i++)
        ck_assert(sim_step(rig.sim));
    rig_kill(&rig, victim);
    rig_pass(&rig, (uint64_t)(_i % 3) * 300000000);
    rig_start(&rig, victim, 1 + _i % RIG_SHARDS_MAX);
    ck_assert_msg(rig_until(&rig, rig_all_up_and_same, 60), "cut %u of %u, victim %d: %s", cut,
                  steps, victim, rig.nodes[victim].shards[0].report.text);
    check_one_ring();
    sim_free(rig.sim);
}
END_TEST

START_TEST(a_change_is_applied_on_every_shard_of_every_node)
{
    struct rig_append a;
    rig_init(&rig, (uint64_t)_i, rough((uint64_t)_i));
    start_all((uint64_t)_i);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    for (int round = 0; round < 3; round++) {
        rig_append_start(&rig, (round + _i) % RIG_NODES, round == 1 ? "two" : "one", &a);
        while (!a.is_done)
            ck_assert(sim_step(rig.sim));
        ck_assert_int_eq(a.err, OK);
        ck_assert(rig_all_same(&rig)); /* at once: OK means applied everywhere */
    }
    ck_assert_str_eq(rig.nodes[0].shards[0].applied, "1:;2:one;3:two;4:one;");
    sim_free(rig.sim);
}
END_TEST

START_TEST(of_changes_for_one_epoch_exactly_one_is_taken)
{
    struct rig_append a[RIG_NODES];
    unsigned ok = 0, exists = 0;
    rig_init(&rig, (uint64_t)_i, rough((uint64_t)_i));
    start_all((uint64_t)_i);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    for (int i = 0; i < RIG_NODES; i++)
        rig_append_start(&rig, i, "same", &a[i]);
    while (!a[0].is_done || !a[1].is_done || !a[2].is_done)
        ck_assert(sim_step(rig.sim));
    for (int i = 0; i < RIG_NODES; i++) {
        ok += a[i].err == OK;
        exists += a[i].err == ERR_EXISTS;
    }
    ck_assert_uint_eq(ok, 1);
    ck_assert_uint_eq(exists, 2);
    ck_assert(rig_until(&rig, rig_all_same, 10));
    ck_assert_str_eq(rig.nodes[0].shards[0].applied, "1:;2:same;");
    sim_free(rig.sim);
}
END_TEST

/* What is accepted by all is decided for ever: nobody could learn this, nor go on behind it. */
START_TEST(a_value_that_nobody_could_learn_is_not_accepted)
{
    static const uint8_t nonsense[] = { 0x93, 1, 2, 3 };
    struct proposal p = { .epoch = 2, .ballot = { 1000, 0 }, .value = bytes_of(nonsense, 4) };
    struct rig_call calls[RIG_NODES] = { 0 };
    struct rig_append a;
    struct buf body = { 0 };
    rig_init(&rig, (uint64_t)_i, rough((uint64_t)_i));
    start_all((uint64_t)_i);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    proposal_encode(&p, &body);
    unsigned self = cluster_self(rig.nodes[0].shards[0].cluster), count = 0;
    for (unsigned node = 1; node <= RIG_NODES; node++) {
        if (node == self)
            continue;
        rig_call_start(&calls[count], &rig.nodes[0].shards[0], node, buf_bytes(&body));
        calls[count].is_urgent = true;
        calls[count++].message.verb = VERB_ACCEPT;
    }
    rig_calls_wait(&rig, calls, count);
    for (unsigned i = 0; i < count; i++) {
        ck_assert_int_eq(calls[i].err, ERR_CORRUPT);
        arena_deinit(&calls[i].arena);
    }
    buf_deinit(&body);
    rig_append_start(&rig, _i % RIG_NODES, "one", &a);
    while (!a.is_done)
        ck_assert(sim_step(rig.sim));
    ck_assert_int_eq(a.err, OK);
    ck_assert_str_eq(rig.nodes[0].shards[0].applied, "1:;2:one;");
    sim_free(rig.sim);
}
END_TEST

START_TEST(a_change_while_a_node_is_down_is_refused_and_says_which)
{
    struct rig_append a;
    rig_init(&rig, 7, rough(7));
    start_all(7);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    rig_kill(&rig, 1);
    while (cluster_is_up(rig.nodes[0].shards[0].cluster, 2))
        ck_assert(sim_step(rig.sim));
    rig_append_start(&rig, 0, "one", &a);
    while (!a.is_done)
        ck_assert(sim_step(rig.sim));
    ck_assert_int_eq(a.err, ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(a.report.text, "node 2 (10.0.0.2:7000) is down"));
    rig_start(&rig, 1, 1);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    rig_append_start(&rig, 0, "one", &a);
    while (!a.is_done)
        ck_assert(sim_step(rig.sim));
    ck_assert_int_eq(a.err, OK);
    ck_assert(rig_all_same(&rig));
    sim_free(rig.sim);
}
END_TEST

/* Starts a change on node 0 and returns after `steps` steps, or at its end. */
static unsigned append_for(struct rig_append *a, uint64_t seed, unsigned steps)
{
    unsigned i = 0;
    rig_init(&rig, seed, rough(seed));
    start_all(seed);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    rig_append_start(&rig, 0, "one", a);
    for (; !a->is_done && i < steps; i++)
        ck_assert(sim_step(rig.sim));
    return i;
}

START_TEST(a_change_that_is_cut_anywhere_is_whole_or_nothing)
{
    struct rig_append a, b;
    uint64_t seed = 200 + (uint64_t)_i % 8;
    int victim = _i % RIG_NODES;
    unsigned steps = append_for(&a, seed, UINT32_MAX);
    sim_free(rig.sim);
    append_for(&a, seed, steps * (unsigned)_i / APPEND_CUTS);
    rig_kill(&rig, victim);
    if (_i % 4 == 3)
        rig_kill(&rig, (victim + 1) % RIG_NODES);
    rig_pass(&rig, (uint64_t)(_i % 5) * 400000000);
    for (int i = 0; i < RIG_NODES; i++)
        if (!sim_alive(rig.sim, i))
            rig_start(&rig, i, 1 + _i % RIG_SHARDS_MAX);
    ck_assert(rig_until(&rig, rig_all_up_and_same, 60));
    bool is_told_ok = a.is_done && a.err == OK;
    rig_pass(&rig, 15 * rig_second); /* what was accepted is finished by now */
    ck_assert(rig_all_up_and_same(&rig));
    const char *applied = rig.nodes[0].shards[0].applied;
    ck_assert(strcmp(applied, "1:;") == 0 || strcmp(applied, "1:;2:one;") == 0);
    ck_assert(!is_told_ok || strcmp(applied, "1:;2:one;") == 0);
    rig_append_start(&rig, 1, "next", &b);
    while (!b.is_done)
        ck_assert(sim_step(rig.sim));
    ck_assert_int_eq(b.err, OK);
    ck_assert(rig_all_same(&rig));
    sim_free(rig.sim);
}
END_TEST

static void check_addresses(const char *third)
{
    for (int i = 0; i < RIG_NODES; i++)
        for (int s = 0; s < rig.nodes[i].shards_count; s++) {
            char at[IO_ADDR_TEXT_BYTES];
            io_addr_print(&cluster_ring(rig.nodes[i].shards[s].cluster)->nodes[2].internode, at);
            ck_assert_str_eq(at, third);
        }
}

START_TEST(a_node_may_return_with_another_address)
{
    rig_init(&rig, 9, rough(9));
    start_all(9);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    rig_kill(&rig, 2);
    rig_pass(&rig, rig_second);
    snprintf(rig.nodes[2].address, sizeof rig.nodes[2].address, "10.0.0.33");
    rig_start(&rig, 2, 2);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    rig_pass(&rig, rig_second);
    check_addresses("10.0.0.33:7000");
    rig_kill(&rig, 0); /* the new address is on disk */
    rig_kill(&rig, 1);
    rig_start(&rig, 0, 1);
    rig_start(&rig, 1, 1);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    check_addresses("10.0.0.33:7000");
    sim_free(rig.sim);
}
END_TEST

START_TEST(all_nodes_may_return_with_other_addresses_if_the_seeds_say_them)
{
    rig_init(&rig, 10, rough(10));
    start_all(10);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    for (int i = 0; i < RIG_NODES; i++)
        rig_kill(&rig, i);
    for (int i = 0; i < RIG_NODES; i++) {
        struct rig_node *n = &rig.nodes[i];
        snprintf(n->address, sizeof n->address, "10.0.9.%d", i + 1);
        snprintf(rig.seed_texts[i], sizeof rig.seed_texts[i], "10.0.9.%d", i + 1);
    }
    start_all(11);
    ck_assert(rig_until(&rig, rig_all_up, 60));
    rig_pass(&rig, rig_second);
    check_addresses("10.0.9.3:7000");
    sim_free(rig.sim);
}
END_TEST

static bool first_is_alone(struct rig *r)
{
    const struct cluster *c = r->nodes[0].shards[r->nodes[0].shards_count - 1].cluster;
    return !cluster_is_up(c, 2) && !cluster_is_up(c, 3);
}

static void cut_first_off(bool is_cut, bool both_ways)
{
    for (int i = 1; i < RIG_NODES; i++) {
        sim_cut(rig.sim, i, 0, is_cut);
        if (both_ways)
            sim_cut(rig.sim, 0, i, is_cut);
    }
}

START_TEST(a_cut_is_noticed_by_its_silence_and_heals)
{
    rig_init(&rig, 12, rough(12));
    start_all(12);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    rig_pass(&rig, 60 * rig_second);
    uint64_t start = sim_now(rig.sim);
    cut_first_off(true, _i == 0);
    ck_assert(rig_until(&rig, first_is_alone, 30));
    ck_assert_uint_ge(sim_now(rig.sim) - start, 17 * rig_second); /* 18.4 means of a second */
    ck_assert_uint_le(sim_now(rig.sim) - start, 23 * rig_second);
    rig_pass(&rig, 20 * rig_second);
    ck_assert(first_is_alone(&rig));
    cut_first_off(false, _i == 0);
    ck_assert(rig_until(&rig, rig_all_up, 10));
    rig_pass(&rig, 20 * rig_second);
    ck_assert(rig_all_up(&rig));
    sim_free(rig.sim);
}
END_TEST

static bool second_is_down(struct rig *r)
{
    return !cluster_is_up(r->nodes[0].shards[0].cluster, 2) &&
           !cluster_is_up(r->nodes[2].shards[0].cluster, 2);
}

START_TEST(a_node_that_stands_still_is_down_and_comes_back)
{
    rig_init(&rig, 13, rough(13));
    start_all(13);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    sim_pause(rig.sim, 1, 60 * rig_second);
    rig_pass(&rig, 10 * rig_second);
    ck_assert(!second_is_down(&rig)); /* its connections stand: it may be busy */
    ck_assert(rig_until(&rig, second_is_down, 45));
    ck_assert(cluster_is_up(rig.nodes[0].shards[0].cluster, 3));
    ck_assert(rig_until(&rig, rig_all_up, 40));
    sim_free(rig.sim);
}
END_TEST

START_TEST(a_node_that_is_killed_is_down_within_three_seconds)
{
    rig_init(&rig, 300 + (uint64_t)_i, rough((uint64_t)_i));
    start_all((uint64_t)_i);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    rig_pass(&rig, (uint64_t)_i * 150000000);
    uint64_t start = sim_now(rig.sim);
    rig_kill(&rig, 1);
    ck_assert(rig_until(&rig, second_is_down, 10));
    ck_assert_uint_le(sim_now(rig.sim) - start, 3 * rig_second);
    sim_free(rig.sim);
}
END_TEST

START_TEST(a_change_passes_though_frames_are_lost_repeated_and_reordered)
{
    struct rig_append a;
    struct sim_faults f = rough((uint64_t)_i);
    rig_init(&rig, 400 + (uint64_t)_i, f);
    start_all((uint64_t)_i);
    ck_assert(rig_until(&rig, rig_all_up, 30));
    f.frame_lost_pct = 30;
    f.frame_repeated_pct = f.frame_reordered_pct = 20;
    sim_set_faults(rig.sim, f);
    unsigned done = 0;
    for (int round = 0; round < 4; round++) {
        rig_append_start(&rig, (round + _i) % RIG_NODES, "one", &a);
        while (!a.is_done)
            ck_assert(sim_step(rig.sim));
        bool is_known = a.err == OK || a.err == ERR_TIMEOUT || a.err == ERR_EXISTS;
        ck_assert_msg(is_known, "%s", err_text(a.err));
        done += a.err == OK;
        ck_assert(rig_until(&rig, rig_all_same, 30)); /* the last word may come after the end */
    }
    ck_assert_uint_ge(done, 2);
    sim_free(rig.sim);
}
END_TEST

START_TEST(a_birth_passes_though_frames_are_lost)
{
    struct sim_faults f = rough((uint64_t)_i);
    f.frame_lost_pct = 30;
    rig_init(&rig, 500 + (uint64_t)_i, f);
    start_all((uint64_t)_i);
    ck_assert(rig_until(&rig, rig_all_up, 120));
    check_one_ring();
    sim_free(rig.sim);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cluster");
    TCase *tc = tcase_create("cluster");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, three_nodes_are_born_and_see_each_other_in_every_order, 0, 18);
    tcase_add_loop_test(tc, a_birth_that_is_cut_anywhere_ends_as_one_birth, 0, BIRTH_CUTS);
    tcase_add_loop_test(tc, a_change_is_applied_on_every_shard_of_every_node, 0, 6);
    tcase_add_loop_test(tc, of_changes_for_one_epoch_exactly_one_is_taken, 0, 12);
    tcase_add_loop_test(tc, a_value_that_nobody_could_learn_is_not_accepted, 0, 12);
    tcase_add_test(tc, a_change_while_a_node_is_down_is_refused_and_says_which);
    tcase_add_loop_test(tc, a_change_that_is_cut_anywhere_is_whole_or_nothing, 0, APPEND_CUTS);
    tcase_add_test(tc, a_node_may_return_with_another_address);
    tcase_add_test(tc, all_nodes_may_return_with_other_addresses_if_the_seeds_say_them);
    tcase_add_loop_test(tc, a_cut_is_noticed_by_its_silence_and_heals, 0, 2);
    tcase_add_test(tc, a_node_that_stands_still_is_down_and_comes_back);
    tcase_add_loop_test(tc, a_node_that_is_killed_is_down_within_three_seconds, 0, 10);
    tcase_add_loop_test(tc, a_change_passes_though_frames_are_lost_repeated_and_reordered, 0, 10);
    tcase_add_loop_test(tc, a_birth_passes_though_frames_are_lost, 0, 6);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
