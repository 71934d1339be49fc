/* test_start.c - what stops a start, each with its error and its sentence; and what must not. */
// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <check.h>

static struct rig rig;

static bool third_has_failed(struct rig *r) { return r->nodes[2].shards[0].is_failed; }

static bool any_has_failed(struct rig *r)
{
    return r->nodes[0].shards[0].is_failed || r->nodes[2].shards[0].is_failed;
}

static void begin(uint64_t seed)
{
    rig_init(&rig, seed, (struct sim_faults){ .net_ns_max = 500000, .disk_ns_max = 500000 });
}

static void begin_born(uint64_t seed)
{
    begin(seed);
    for (int i = 0; i < RIG_NODES; i++)
        rig_start(&rig, i, 1 + i);
    ck_assert(rig_until(&rig, rig_all_up, 30));
}

/* The third node fails with that error and a sentence that holds that text; nothing is left of it.
 */
static void check_third(enum err err, const char *text)
{
    ck_assert(rig_until(&rig, third_has_failed, 30));
    const struct report *report = &rig.nodes[2].shards[0].report;
    ck_assert_str_eq(err_name(report->err), err_name(err));
    ck_assert_msg(strstr(report->text, text), "\"%s\"", report->text);
    ck_assert_ptr_null(rig.nodes[2].shards[0].cluster);
    rig_pass(&rig, rig_second);
    ck_assert_uint_eq(sim_open_handles(rig.sim, 2), 0);
    ck_assert_uint_eq(sim_open_blocks(rig.sim, 2), 0);
    sim_free(rig.sim);
}

START_TEST(another_cluster_name_among_the_seeds)
{
    begin(1);
    rig.nodes[2].options.cluster_name = "gir";
    for (int i = 0; i < RIG_NODES; i++)
        rig_start(&rig, i, 1);
    check_third(ERR_CONFIG, "belongs to cluster_name \"rig\", this node to \"gir\"");
}
END_TEST

START_TEST(lists_of_seeds_that_differ)
{
    static const char *two[] = { "10.0.0.2:7000", "10.0.0.3:7000" };
    begin(2);
    rig.nodes[2].options.seeds = two;
    rig.nodes[2].options.seeds_count = 2;
    for (int i = 0; i < RIG_NODES; i++)
        rig_start(&rig, i, 1);
    check_third(ERR_CONFIG, "the lists of seeds differ: \"10.0.0.2:7000,10.0.0.3:7000\" here");
}
END_TEST

START_TEST(numbers_of_tokens_that_differ)
{
    begin(3);
    rig.nodes[2].options.tokens_count = 8;
    rig_start(&rig, 0, 1);
    rig_start(&rig, 2, 1);
    ck_assert(rig_until(&rig, any_has_failed, 30)); /* the other may not hear of it any more */
    for (int i = 0; i < RIG_NODES; i += 2) {
        const struct report *report = &rig.nodes[i].shards[0].report;
        const char *text = i ? "num_tokens differs: 8 here, 16 at seed 10.0.0.1"
                             : "num_tokens differs: 16 here, 8 at seed 10.0.0.3";
        ck_assert(report->err == OK || strstr(report->text, text));
    }
    sim_free(rig.sim);
}
END_TEST

START_TEST(seeds_without_this_node)
{
    static const char *two[] = { "10.0.0.1:7000", "10.0.0.2:7000" };
    begin(4);
    for (int i = 0; i < RIG_NODES; i++) {
        rig.nodes[i].options.seeds = two;
        rig.nodes[i].options.seeds_count = 2;
        rig_start(&rig, i, 1);
        rig_pass(&rig, rig_second);
    }
    check_third(ERR_NOT_YET, "joining is not there yet");
}
END_TEST

START_TEST(an_empty_folder_before_a_born_ring)
{
    begin_born(5);
    rig_kill(&rig, 2);
    rig.nodes[2].options.metadata_folder = "/other";
    rig_start(&rig, 2, 2);
    check_third(ERR_NOT_YET, "is not one of them: joining is not there yet");
}
END_TEST

START_TEST(a_folder_of_another_cluster)
{
    begin_born(6);
    rig_kill(&rig, 2);
    rig.nodes[2].options.cluster_name = "gir";
    rig_start(&rig, 2, 2);
    check_third(ERR_FOREIGN,
                "/metadata belongs to cluster_name \"rig\", the configuration says \"gir\"");
}
END_TEST

START_TEST(a_corrupt_log)
{
    begin_born(7);
    rig_kill(&rig, 2);
    const uint8_t wrong[] = { 0x55, 0xaa, 0x55, 0xaa };
    struct bytes file = sim_file(rig.sim, 2, "/metadata/1.log");
    ck_assert_uint_gt(file.size, 4200);
    sim_file_set(rig.sim, 2, "/metadata/1.log", 4096 + 60, bytes_of(wrong, sizeof wrong));
    rig_start(&rig, 2, 2);
    check_third(ERR_CORRUPT, "/metadata");
}
END_TEST

START_TEST(a_node_alone_is_born_at_once_and_again_needs_nobody)
{
    static const char *one[] = { "10.0.0.3" };
    begin(8);
    struct rig_node *n = &rig.nodes[2];
    n->options.seeds = one;
    n->options.seeds_count = 1;
    for (int round = 0; round < 2; round++) {
        rig_start(&rig, 2, 1 + round);
        rig_pass(&rig, rig_second / 10);
        ck_assert(rig_is_open(n));
        ck_assert_uint_eq(cluster_ring(n->shards[round].cluster)->nodes_count, 1);
        ck_assert(cluster_is_up(n->shards[round].cluster, 1));
        rig_kill(&rig, 2);
    }
    sim_free(rig.sim);
}
END_TEST

START_TEST(a_born_node_opens_without_the_others)
{
    begin_born(9);
    for (int i = 0; i < RIG_NODES; i++)
        rig_kill(&rig, i);
    rig_start(&rig, 1, 3);
    rig_pass(&rig, rig_second / 10);
    ck_assert(rig_is_open(&rig.nodes[1]));
    ck_assert_str_eq(rig.nodes[1].shards[2].applied, "1:;");
    ck_assert(!cluster_is_up(rig.nodes[1].shards[0].cluster, 1));
    sim_free(rig.sim);
}
END_TEST

START_TEST(who_waits_says_for_whom)
{
    begin(10);
    rig_start(&rig, 0, 1);
    rig_start(&rig, 1, 1);
    rig_pass(&rig, 3 * rig_second);
    const char *said = cluster_waits_for(rig.nodes[0].shards[0].cluster);
    ck_assert_str_eq(said, "2 of 3 seeds have answered, waiting for 10.0.0.3:7000");
    rig_close(&rig, 0); /* while it waits */
    rig.nodes[0].shards[0].must_close = true;
    sim_free(rig.sim);
}
END_TEST

START_TEST(many_starts_do_not_pile_up_segments)
{
    static const char *one[] = { "10.0.0.3" };
    begin(11);
    struct rig_node *n = &rig.nodes[2];
    n->options.seeds = one;
    n->options.seeds_count = 1;
    for (int round = 0; round < 40; round++) {
        rig_start(&rig, 2, 1);
        rig_pass(&rig, rig_second / 10);
        ck_assert(rig_is_open(n));
        ck_assert_str_eq(n->shards[0].applied, "1:;");
        rig_kill(&rig, 2);
    }
    unsigned files = 0;
    for (int i = 1; i <= 41; i++) {
        char path[64];
        snprintf(path, sizeof path, "/metadata/%d.log", i);
        files += sim_file(rig.sim, 2, path).data != NULL;
    }
    ck_assert_uint_le(files, 12);
    sim_free(rig.sim);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("start");
    TCase *tc = tcase_create("start");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, another_cluster_name_among_the_seeds);
    tcase_add_test(tc, lists_of_seeds_that_differ);
    tcase_add_test(tc, numbers_of_tokens_that_differ);
    tcase_add_test(tc, seeds_without_this_node);
    tcase_add_test(tc, an_empty_folder_before_a_born_ring);
    tcase_add_test(tc, a_folder_of_another_cluster);
    tcase_add_test(tc, a_corrupt_log);
    tcase_add_test(tc, a_node_alone_is_born_at_once_and_again_needs_nobody);
    tcase_add_test(tc, a_born_node_opens_without_the_others);
    tcase_add_test(tc, who_waits_says_for_whom);
    tcase_add_test(tc, many_starts_do_not_pile_up_segments);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
