/* test_watch.c - a node that stood still: what it does in the call that finds out. */
// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <check.h>

enum { BEGINNINGS = 30 };

static struct rig rig;
static struct io_req req;
static bool is_inside, has_changed_inside;

static void changed(void *context, const struct ring *ring, unsigned node, bool is_up)
{
    has_changed_inside |= is_inside;
    rig_changed(context, ring, node, is_up);
}

static bool second_is_down(struct rig *r)
{
    return !cluster_is_up(r->nodes[0].shards[0].cluster, 2);
}

static bool has_read(struct rig *r)
{
    (void)r;
    return !req.busy;
}

/* A silence that becomes death just when the node goes on, and a request finds out first. */
START_TEST(nobody_goes_up_or_down_inside_of_a_call_of_the_node)
{
    unsigned downs = 0;
    for (unsigned i = 0; i < BEGINNINGS; i++) {
        rig_init(&rig, 20 + i, (struct sim_faults){ 0 });
        rig.nodes[0].options.changed = changed;
        for (int n = 0; n < RIG_NODES; n++)
            rig_start(&rig, n, 1);
        ck_assert(rig_until(&rig, rig_all_up, 30));
        rig_pass(&rig, 20 * rig_second);
        sim_cut(rig.sim, 0, 1, true);
        sim_cut(rig.sim, 1, 0, true);
        rig_pass(&rig, 16 * rig_second + i * rig_second / 10);
        bool was_up = !second_is_down(&rig);
        sim_pause(rig.sim, 0, 3 * rig_second);
        rig_pass(&rig, 3 * rig_second - rig_second / 100);
        struct rig_shard *s = &rig.nodes[0].shards[0];
        ck_assert(!cluster_is_awake(s->cluster));
        is_inside = true;
        cluster_wake(s->cluster, &req, &s->op);
        is_inside = false;
        ck_assert(!has_changed_inside);
        ck_assert(rig_until(&rig, has_read, 5));
        downs += was_up && second_is_down(&rig);
        sim_free(rig.sim);
    }
    ck_assert_uint_gt(downs, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("watch");
    TCase *tcase = tcase_create("watch");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, nobody_goes_up_or_down_inside_of_a_call_of_the_node);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
