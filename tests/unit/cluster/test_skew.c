/* test_skew.c - clocks that differ: offsets, medians, and when a node is told that it is off. */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/skew.h"

#include <check.h>

static struct ring ring;
static struct skew skew;

/* A ring of so many nodes; this one is number 1. */
static void begin(size_t nodes)
{
    skew = (struct skew){ 0 };
    ring.nodes_count = nodes;
    for (size_t i = 0; i < nodes; i++)
        ring.nodes[i].is_up = true;
}

/* The peer's clock is so far ahead of ours. */
static void hears(unsigned node, int64_t ahead_ms)
{
    int64_t sent_us = 1790000000000000;
    skew_heard(&skew, node, sent_us, sent_us + 3000 + ahead_ms * 1000, 6000000);
}

START_TEST(half_of_the_round_trip_is_taken_off)
{
    begin(2);
    hears(2, 70);
    ck_assert_int_eq(skew.peers[1].offset_us, 70000);
    ck_assert(!skew_judge(&skew, &ring, 1));
    ck_assert_int_eq(skew.off_us, -70000);
}
END_TEST

START_TEST(an_answer_that_took_long_or_tells_no_time_says_nothing)
{
    begin(2);
    skew_heard(&skew, 2, 0, 5000000, 1000000001);
    skew_heard(&skew, 2, 0, INT64_MAX, 1);
    skew_heard(&skew, 2, 0, INT64_MIN, 1);
    ck_assert(!skew.peers[1].is_known);
}
END_TEST

START_TEST(one_wrong_clock_of_three_accuses_itself_alone)
{
    begin(3); /* a good node */
    hears(2, 10000);
    hears(3, 1);
    ck_assert(!skew_judge(&skew, &ring, 1));
    ck_assert_int_eq(skew.off_us, -1000);
    begin(3); /* the bad one */
    hears(2, -10000);
    hears(3, -10001);
    ck_assert(skew_judge(&skew, &ring, 1));
    ck_assert(skew.is_off);
    ck_assert_int_eq(skew.off_us, 10000000);
}
END_TEST

START_TEST(it_is_told_past_500_ms_and_taken_back_below_400)
{
    static const struct {
        int ahead_ms;
        bool has_changed, is_off;
    } steps[] = { { 499, false, false }, { 500, false, false }, { 501, true, true },
                  { 450, false, true },  { 401, false, true },  { 399, true, false },
                  { 450, false, false }, { -501, true, true },  { -600, false, true },
                  { 0, true, false } };
    begin(4);
    for (size_t i = 0; i < array_count(steps); i++) {
        for (unsigned n = 2; n <= 4; n++)
            hears(n, steps[i].ahead_ms);
        ck_assert_msg(skew_judge(&skew, &ring, 1) == steps[i].has_changed, "step %zu", i);
        ck_assert_msg(skew.is_off == steps[i].is_off, "step %zu", i);
    }
}
END_TEST

START_TEST(who_is_down_is_not_compared_with)
{
    begin(3);
    hears(2, 9000);
    hears(3, 9000);
    ring.nodes[1].is_up = ring.nodes[2].is_up = false;
    ck_assert(!skew_judge(&skew, &ring, 1));
    ck_assert_int_eq(skew.off_us, 0);
    ring.nodes[2].is_up = true;
    ck_assert(skew_judge(&skew, &ring, 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("skew");
    TCase *tc = tcase_create("skew");
    tcase_add_test(tc, half_of_the_round_trip_is_taken_off);
    tcase_add_test(tc, an_answer_that_took_long_or_tells_no_time_says_nothing);
    tcase_add_test(tc, one_wrong_clock_of_three_accuses_itself_alone);
    tcase_add_test(tc, it_is_told_past_500_ms_and_taken_back_below_400);
    tcase_add_test(tc, who_is_down_is_not_compared_with);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
