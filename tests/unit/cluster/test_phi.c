/* test_phi.c - silences against the formula, and what the window keeps. */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "cluster/phi.h"

#include <check.h>

static const uint64_t second = 1000 * 1000 * 1000;

/* Speaks so many times, each so long after the last; returns when it did last. */
static uint64_t speaks(struct phi *p, uint64_t at, unsigned times, uint64_t every_ns)
{
    for (unsigned i = 0; i < times; i++)
        phi_heard(p, at += every_ns);
    return at;
}

START_TEST(a_silence_of_18_42_mean_intervals_is_a_phi_of_8)
{
    struct phi p = { 0 };
    ck_assert(phi_of(&p, 100 * second) == 0);
    uint64_t at = speaks(&p, second, 1000, second * (1 + (uint64_t)_i));
    uint64_t mean = second * (1 + (uint64_t)_i);
    ck_assert_uint_eq(phi_mean_ns(&p), mean);
    ck_assert_double_eq_tol(phi_of(&p, at), 0, 1e-9);
    ck_assert_double_eq_tol(phi_of(&p, at + mean), 0.4342944819, 1e-9);
    ck_assert_double_eq_tol(phi_of(&p, at + 18420680744 * (1 + (uint64_t)_i)), 8, 1e-6);
}
END_TEST

START_TEST(the_mean_is_that_of_the_last_128_intervals_within_their_bounds)
{
    struct prng dice = { (uint64_t)_i };
    struct phi p = { 0 };
    uint64_t kept[PHI_WINDOW] = { PHI_FIRST_US }, at = 5 * second;
    size_t count = 1, next = 1;
    phi_heard(&p, at);
    for (int i = 0; i < 1000; i++) {
        uint64_t scale = prng_below(&dice, 5);
        uint64_t us = prng_below(&dice, 100) * (scale == 0 ? 10000 : 300000);
        phi_heard(&p, at += us * 1000);
        if (us < PHI_LEAST_US / 2)
            continue; /* of the same round */
        us = u64_min(u64_max(us, PHI_LEAST_US), PHI_MOST_US);
        kept[next++ % PHI_WINDOW] = us;
        count = count < PHI_WINDOW ? count + 1 : count;
        uint64_t sum = 0;
        for (size_t k = 0; k < count; k++)
            sum += kept[k];
        ck_assert_uint_eq(phi_mean_ns(&p), sum / count * 1000);
    }
}
END_TEST

START_TEST(much_talk_in_a_moment_does_not_make_the_next_pause_look_long)
{
    struct phi p = { 0 };
    uint64_t at = speaks(&p, second, 200, second);
    at = speaks(&p, at, 5000, 1000 * 1000);
    ck_assert_uint_eq(phi_mean_ns(&p), second);
    ck_assert_double_lt(phi_of(&p, at + 2 * second), 1);
}
END_TEST

START_TEST(a_time_of_not_listening_is_no_silence)
{
    struct phi p = { 0 };
    uint64_t at = speaks(&p, second, 200, second);
    phi_pass(&p, 60 * second, at + 61 * second);
    ck_assert_double_eq_tol(phi_of(&p, at + 61 * second), 0.4342944819, 1e-9);
    phi_pass(&p, 60 * second, at + 61 * second); /* never in the future */
    ck_assert_double_eq_tol(phi_of(&p, at + 62 * second), 0.4342944819, 1e-9);
}
END_TEST

START_TEST(who_speaks_two_times_in_four_is_given_twice_the_time)
{
    struct prng dice = { 7 + (uint64_t)_i };
    struct phi p = { 0 };
    uint64_t at = second, last = at;
    for (int i = 0; i < 600; i++) {
        at += second;
        if (prng_below(&dice, 2) == 0)
            phi_heard(&p, last = at);
        ck_assert_double_lt(phi_of(&p, at), 8);
    }
    ck_assert_double_eq_tol((double)phi_mean_ns(&p) / (double)second, 2, 0.5);
    ck_assert_double_lt(phi_of(&p, last + 25 * second), 8);
    ck_assert_double_gt(phi_of(&p, last + 50 * second), 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("phi");
    TCase *tc = tcase_create("phi");
    tcase_add_loop_test(tc, a_silence_of_18_42_mean_intervals_is_a_phi_of_8, 0, 5);
    tcase_add_loop_test(tc, the_mean_is_that_of_the_last_128_intervals_within_their_bounds, 0, 20);
    tcase_add_test(tc, much_talk_in_a_moment_does_not_make_the_next_pause_look_long);
    tcase_add_test(tc, a_time_of_not_listening_is_no_silence);
    tcase_add_loop_test(tc, who_speaks_two_times_in_four_is_given_twice_the_time, 0, 50);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
