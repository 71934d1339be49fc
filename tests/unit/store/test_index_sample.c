/* test_index_sample.c - the search by interpolation finds what a search from the left finds. */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "store/index_sample.h"

#include <check.h>
#include <stdlib.h>

/* The last entry before the first one that is not below the token. */
static size_t find_slowly(const struct index_sample *s, int64_t token)
{
    size_t at = 0;
    while (at + 1 < s->count && s->tokens[at + 1] < token)
        at++;
    return at;
}

static int compare_tokens(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check_all(const struct index_sample *s, struct prng *r)
{
    for (size_t i = 0; i < s->count; i++)
        for (int64_t d = -1; d <= 1; d++) {
            int64_t token = (int64_t)((uint64_t)s->tokens[i] + (uint64_t)d);
            ck_assert_uint_eq(index_sample_find(s, token), find_slowly(s, token));
        }
    for (int i = 0; i < 200; i++) {
        int64_t token = (int64_t)prng_next(r);
        ck_assert_uint_eq(index_sample_find(s, token), find_slowly(s, token));
    }
    ck_assert_uint_eq(index_sample_find(s, INT64_MIN), 0);
    ck_assert_uint_eq(index_sample_find(s, INT64_MAX), find_slowly(s, INT64_MAX));
}

START_TEST(even_tokens_are_found)
{
    struct arena arena = { 0 };
    struct index_sample s;
    struct prng r = { (uint64_t)_i };
    index_sample_init(&s, &arena, 1 + prng_below(&r, 400));
    for (size_t i = 0; i < s.count; i++)
        s.tokens[i] = (int64_t)prng_next(&r);
    qsort(s.tokens, s.count, sizeof *s.tokens, compare_tokens);
    check_all(&s, &r);
    arena_deinit(&arena);
}
END_TEST

START_TEST(uneven_and_equal_tokens_are_found)
{
    struct arena arena = { 0 };
    struct index_sample s;
    struct prng r = { 100 + (uint64_t)_i };
    index_sample_init(&s, &arena, 1 + prng_below(&r, 300));
    for (size_t i = 0; i < s.count; i++) {
        uint64_t kind = prng_below(&r, 4);
        s.tokens[i] = kind == 0   ? (int64_t)prng_below(&r, 5)
                      : kind == 1 ? INT64_MIN + (int64_t)prng_below(&r, 3)
                      : kind == 2 ? INT64_MAX - (int64_t)prng_below(&r, 3)
                                  : (int64_t)prng_next(&r);
    }
    qsort(s.tokens, s.count, sizeof *s.tokens, compare_tokens);
    check_all(&s, &r);
    arena_deinit(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("index_sample");
    TCase *c = tcase_create("index_sample");
    tcase_add_loop_test(c, even_tokens_are_found, 0, 40);
    tcase_add_loop_test(c, uneven_and_equal_tokens_are_found, 0, 40);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
