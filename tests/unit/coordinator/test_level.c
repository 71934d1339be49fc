/* test_level.c - what levels need of replicas in one and in several data centres, against a model
 * that counts by hand.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/inside.h"

#include <check.h>

/* Nodes 1 to 6: a a a b b b. */
static struct ring ring;
static struct datacenter_factor both[] = { { "a", 3 }, { "b", 3 } };

static void ring_two_centers(void)
{
    ring.nodes_count = 6;
    for (unsigned i = 0; i < 6; i++) {
        ring.nodes[i] = (struct node){ .number = i + 1 };
        snprintf(ring.nodes[i].data_center, sizeof ring.nodes[i].data_center, i < 3 ? "a" : "b");
        snprintf(ring.nodes[i].rack, sizeof ring.nodes[i].rack, "r%u", i % 3);
    }
}

static struct keyspace topology(unsigned a, unsigned b)
{
    both[0].factor = a;
    both[1].factor = b;
    return (struct keyspace){ .replication = REPLICATION_TOPOLOGY,
                              .datacenters = a ? both : both + 1,
                              .datacenters_count = a && b ? 2 : 1 };
}

static const struct replicas all = { 6, { 1, 4, 2, 5, 3, 6 } };
enum { IN_A = 0x15, IN_B = 0x2a }; /* bits of `all` */

static struct level_need need_of(enum level level, const struct keyspace *ks,
                                 const struct replicas *replicas)
{
    struct level_need need;
    level_need(level, &ring, 1, ks, replicas, &need);
    return need;
}

START_TEST(each_level_needs_its_number_of_three_and_three)
{
    static const struct {
        enum level level;
        unsigned required, counted, groups;
    } wanted[] = { { LEVEL_ANY, 1, IN_A | IN_B, 1 },        { LEVEL_ONE, 1, IN_A | IN_B, 1 },
                   { LEVEL_TWO, 2, IN_A | IN_B, 1 },        { LEVEL_THREE, 3, IN_A | IN_B, 1 },
                   { LEVEL_QUORUM, 4, IN_A | IN_B, 1 },     { LEVEL_ALL, 6, IN_A | IN_B, 1 },
                   { LEVEL_LOCAL_ONE, 1, IN_A, 1 },         { LEVEL_LOCAL_QUORUM, 2, IN_A, 1 },
                   { LEVEL_EACH_QUORUM, 4, IN_A | IN_B, 2 } };
    struct keyspace ks = topology(3, 3);
    for (size_t i = 0; i < array_count(wanted); i++) {
        struct level_need need = need_of(wanted[i].level, &ks, &all);
        ck_assert_uint_eq(need.required, wanted[i].required);
        ck_assert_uint_eq(need.counted, wanted[i].counted);
        ck_assert_uint_eq(need.groups_count, wanted[i].groups);
    }
}
END_TEST

/* The model: answers of a and of b, by hand. */
static bool model_met(enum level level, unsigned a, unsigned b, unsigned fa, unsigned fb)
{
    if (level == LEVEL_LOCAL_ONE)
        return a >= 1;
    if (level == LEVEL_LOCAL_QUORUM)
        return a >= fa / 2 + 1;
    if (level == LEVEL_EACH_QUORUM)
        return (!fa || a >= fa / 2 + 1) && (!fb || b >= fb / 2 + 1);
    if (level == LEVEL_QUORUM)
        return a + b >= (fa + fb) / 2 + 1;
    if (level == LEVEL_ALL)
        return a + b >= fa + fb;
    return a + b >= (level == LEVEL_TWO ? 2u : level == LEVEL_THREE ? 3u : 1u);
}

START_TEST(every_set_of_answers_meets_a_level_exactly_when_it_should)
{
    for (unsigned fa = 0; fa <= 3; fa++)
        for (unsigned fb = fa ? 0 : 1; fb <= 3; fb++) {
            struct keyspace ks = topology(fa, fb);
            struct replicas replicas = { 0 };
            for (unsigned i = 0; i < fa; i++)
                replicas.nodes[replicas.count++] = 1 + i;
            for (unsigned i = 0; i < fb; i++)
                replicas.nodes[replicas.count++] = 4 + i;
            for (enum level level = LEVEL_ANY; level <= LEVEL_LOCAL_ONE; level++) {
                if (!level_allows(level, true))
                    continue;
                struct level_need need = need_of(level, &ks, &replicas);
                for (unsigned have = 0; have < 1u << replicas.count; have++) {
                    unsigned a = (unsigned)__builtin_popcount(have & ((1u << fa) - 1));
                    unsigned b = (unsigned)__builtin_popcount(have >> fa);
                    bool is_met = model_met(level, a, b, fa, fb);
                    ck_assert_msg(level_met(&need, have) == is_met,
                                  "level %d of %u and %u with %u and %u", level, fa, fb, a, b);
                    ck_assert(is_met == (level_received(&need, have) >= need.required));
                }
            }
        }
}
END_TEST

START_TEST(a_local_level_without_local_replicas_needs_one_of_none)
{
    struct keyspace ks = topology(0, 3);
    struct replicas replicas = { 3, { 4, 5, 6 } };
    struct level_need need = need_of(LEVEL_LOCAL_QUORUM, &ks, &replicas);
    ck_assert_uint_eq(need.required, 1);
    ck_assert_uint_eq(need.counted, 0);
    ck_assert(!level_met(&need, 7));
    ck_assert(!level_met(&need, 7) && level_received(&need, 7) == 0);
}
END_TEST

START_TEST(without_data_centres_each_quorum_is_quorum)
{
    struct keyspace ks = { .replication = REPLICATION_SIMPLE, .factor = 5 };
    struct replicas replicas = { 5, { 1, 4, 2, 5, 3 } };
    struct level_need need = need_of(LEVEL_EACH_QUORUM, &ks, &replicas);
    ck_assert_uint_eq(need.required, 3);
    ck_assert_uint_eq(need.counted, 0x1f);
    need = need_of(LEVEL_LOCAL_QUORUM, &ks, &replicas);
    ck_assert_uint_eq(need.required, 3);
    ck_assert_uint_eq(need.counted, 0x15);
}
END_TEST

START_TEST(one_more_of_a_full_data_centre_does_not_help_each_quorum)
{
    struct keyspace ks = topology(3, 3);
    struct level_need need = need_of(LEVEL_EACH_QUORUM, &ks, &all);
    ck_assert(level_wants(&need, 0x01, 2)); /* a: one of two */
    ck_assert(!level_wants(&need, 0x05, 4));
    ck_assert(level_wants(&need, 0x05, 1));                   /* b: none yet */
    ck_assert_uint_eq(level_received(&need, IN_A | 0x02), 3); /* four came: one too few of b */
    need = need_of(LEVEL_LOCAL_QUORUM, &ks, &all);
    ck_assert(!level_wants(&need, 0, 1)); /* of the other data centre */
}
END_TEST

START_TEST(transactions_levels_are_for_nobody_and_any_is_for_writes)
{
    for (enum level level = LEVEL_ANY; level <= LEVEL_LOCAL_ONE; level++) {
        bool is_serial = level == LEVEL_SERIAL || level == LEVEL_LOCAL_SERIAL;
        ck_assert(level_allows(level, true) == !is_serial);
        ck_assert(level_allows(level, false) == (!is_serial && level != LEVEL_ANY));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("level");
    TCase *tcase = tcase_create("level");
    ring_two_centers();
    tcase_add_test(tcase, each_level_needs_its_number_of_three_and_three);
    tcase_add_test(tcase, every_set_of_answers_meets_a_level_exactly_when_it_should);
    tcase_add_test(tcase, a_local_level_without_local_replicas_needs_one_of_none);
    tcase_add_test(tcase, without_data_centres_each_quorum_is_quorum);
    tcase_add_test(tcase, one_more_of_a_full_data_centre_does_not_help_each_quorum);
    tcase_add_test(tcase, transactions_levels_are_for_nobody_and_any_is_for_writes);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
