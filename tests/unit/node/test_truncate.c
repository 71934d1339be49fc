/* test_truncate.c - the body of VERB_TRUNCATE: what is not known is not guessed. */
// SPDX-License-Identifier: Apache-2.0
#include "node/replica.h"

#include <check.h>

static const struct uuid table = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } };

START_TEST(only_the_two_rounds_are_taken)
{
    uint8_t body[TRUNCATE_BODY_BYTES];
    enum truncate_round round;
    struct uuid found;
    truncate_encode(TRUNCATE_ROWS, &table, body);
    for (unsigned first = 0; first < 256; first++) {
        body[0] = (uint8_t)first;
        bool is_known = first == TRUNCATE_HINTS || first == TRUNCATE_ROWS;
        ck_assert_int_eq(truncate_decode(bytes_of(body, sizeof body), &round, &found), is_known);
        if (!is_known)
            continue;
        ck_assert_uint_eq((unsigned)round, first);
        ck_assert(uuid_equal(&found, &table));
    }
}
END_TEST

START_TEST(a_body_of_another_size_is_none)
{
    uint8_t body[TRUNCATE_BODY_BYTES + 1] = { 0 };
    enum truncate_round round;
    struct uuid found;
    truncate_encode(TRUNCATE_ROWS, &table, body);
    for (size_t size = 0; size <= sizeof body; size++)
        ck_assert_int_eq(truncate_decode(bytes_of(body, size), &round, &found),
                         size == TRUNCATE_BODY_BYTES);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("truncate");
    TCase *all = tcase_create("all");
    tcase_add_test(all, only_the_two_rounds_are_taken);
    tcase_add_test(all, a_body_of_another_size_is_none);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
