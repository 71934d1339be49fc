/* test_meter.c - quantiles of a meter are those of the numbers, at most an eighth above. */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "store/meter.h"

#include <check.h>
#include <stdlib.h>

START_TEST(small_numbers_are_exact)
{
    for (uint64_t n = 0; n < METER_EXACT; n++) {
        struct meter m = { 0 };
        meter_add(&m, n);
        meter_add(&m, 1000);
        for (uint64_t k = 0; k < METER_EXACT; k++)
            ck_assert_uint_eq(meter_count(&m, k), k == n);
        ck_assert_uint_eq(meter_quantile(&m, 0.5), n);
        ck_assert_uint_eq(meter_quantile(&m, 1), 1000);
    }
}
END_TEST

START_TEST(an_empty_one_says_zero)
{
    struct meter m = { 0 };
    ck_assert_uint_eq(meter_quantile(&m, 0.5), 0);
    ck_assert_uint_eq(meter_quantile(&m, 1), 0);
}
END_TEST

START_TEST(numbers_beyond_the_last_bucket_count_in_it)
{
    struct meter m = { 0 };
    meter_add(&m, UINT64_MAX);
    meter_add(&m, UINT64_C(1) << 62);
    ck_assert_uint_eq(m.buckets[METER_BUCKETS - 1], 2);
    ck_assert_uint_eq(m.max, UINT64_MAX);
}
END_TEST

static int order(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

enum { NUMBERS = 5000 };

START_TEST(quantiles_are_at_most_an_eighth_above)
{
    static uint64_t numbers[NUMBERS];
    static const double qs[] = { 0.01, 0.25, 0.5, 0.75, 0.95, 0.99, 1 };
    struct prng prng = { .state = (uint64_t)_i };
    struct meter halves[2] = { { 0 } };
    for (size_t i = 0; i < NUMBERS; i++) {
        uint64_t bits = prng_next(&prng) % 36;
        numbers[i] = prng_next(&prng) & ((UINT64_C(1) << bits) - 1);
        meter_add(&halves[i % 2], numbers[i]);
    }
    meter_merge(&halves[0], &halves[1]);
    qsort(numbers, NUMBERS, sizeof numbers[0], order);
    ck_assert_uint_eq(halves[0].count, NUMBERS);
    for (size_t i = 0; i < array_count(qs); i++) {
        size_t at = (size_t)(qs[i] * NUMBERS + 0.999999);
        uint64_t truth = numbers[at ? at - 1 : 0], said = meter_quantile(&halves[0], qs[i]);
        ck_assert_msg(said >= truth && said <= truth + truth / 8, "q %g: %llu, not %llu", qs[i],
                      (unsigned long long)said, (unsigned long long)truth);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("meters");
    TCase *t = tcase_create("all");
    tcase_add_test(t, small_numbers_are_exact);
    tcase_add_test(t, an_empty_one_says_zero);
    tcase_add_test(t, numbers_beyond_the_last_bucket_count_in_it);
    tcase_add_loop_test(t, quantiles_are_at_most_an_eighth_above, 0, 20);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
