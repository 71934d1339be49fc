/* test_cluster.c - births, changes, messages and addresses of a three-node cluster in the simulator.
 */
// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <check.h>

static struct rig rig;

static struct sim_faults rough(uint64_t seed)
{
    return (struct sim_faults){ .net_ns_max = 2000000, .disk_ns_max = 3000000,
                                .mail_ns_max = 300000, .chunk_bytes_max = seed % 3 ? 0 : 40,
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

int main(void)
{
    Suite *suite = suite_create("cluster");
    TCase *tc = tcase_create("cluster");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, three_nodes_are_born_and_see_each_other_in_every_order, 0, 18);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
