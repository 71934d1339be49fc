/* test_histogram.c - quantiles are at most 3% off, at every size of value. */
// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"
#include "base/prng.h"

#include <check.h>

static bool is_near(uint64_t got, uint64_t want)
{
    uint64_t off = got > want ? got - want : want - got;
    return off <= want / 33 + (want < 33);
}

START_TEST(a_single_value_comes_back_nearly)
{
    for (unsigned power = 0; power < 64; power++)
        for (uint64_t part = 0; part < 64; part++) {
            struct histogram h = { 0 };
            uint64_t value = ((uint64_t)1 << power) + (power < 6 ? 0 : part << (power - 6));
            histogram_add(&h, value);
            ck_assert(is_near(histogram_quantile(&h, 0.5), value));
            ck_assert_uint_le(histogram_quantile(&h, 1), value);
        }
    struct histogram h = { 0 };
    histogram_add(&h, UINT64_MAX);
    ck_assert(is_near(histogram_quantile(&h, 0.99), UINT64_MAX));
}
END_TEST

START_TEST(quantiles_of_a_uniform_series_are_near)
{
    enum { COUNT = 100000 };
    static struct histogram h;
    for (uint64_t i = 1; i <= COUNT; i++)
        histogram_add(&h, i);
    ck_assert_uint_eq(h.count, COUNT);
    ck_assert_uint_eq(h.max, COUNT);
    ck_assert_uint_eq(h.sum, (uint64_t)COUNT * (COUNT + 1) / 2);
    for (unsigned percent = 1; percent <= 100; percent++)
        ck_assert(is_near(histogram_quantile(&h, percent / 100.0), COUNT / 100 * percent));
    ck_assert_uint_eq(histogram_quantile(&h, 0), 1);
}
END_TEST

START_TEST(an_empty_one_answers_zero)
{
    static struct histogram h;
    ck_assert_uint_eq(histogram_quantile(&h, 0.5), 0);
}
END_TEST

START_TEST(merging_is_adding_everything_to_one)
{
    static struct histogram a, b, all;
    struct prng prng = { 2 };
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t value = prng_next(&prng);
        value >>= prng_below(&prng, 60) + 3;
        histogram_add(i % 3 ? &a : &b, value);
        histogram_add(&all, value);
    }
    histogram_merge(&a, &b);
    ck_assert_mem_eq(&a, &all, sizeof all);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("histogram");
    TCase *t = tcase_create("histogram");
    tcase_add_test(t, a_single_value_comes_back_nearly);
    tcase_add_test(t, quantiles_of_a_uniform_series_are_near);
    tcase_add_test(t, an_empty_one_answers_zero);
    tcase_add_test(t, merging_is_adding_everything_to_one);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
