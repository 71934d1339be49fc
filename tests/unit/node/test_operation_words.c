/* test_operation_words.c - words of an operation's form: what may stand there, and that nothing
 * else is taken for anything.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/operation.h"

#include <check.h>

static struct operation operation_of_form(const char *form)
{
    struct operation o = { 0 };
    struct report report;
    ck_assert_int_eq(form_decode(bytes_text(form), &o.arena, &o.form, &report), OK);
    return o;
}

static const struct {
    const char *form;
    enum err err;
    bool is_set;
} flags[] = {
    { "", OK, false },
    { "flag=", OK, false },
    { "flag=true", OK, true },
    { "flag=1", OK, true },
    { "flag=false", OK, false },
    { "flag=0", OK, false },
    { "flag=yes", ERR_INVALID, false },
    { "flag=TRUE", ERR_INVALID, false },
    { "flag=True", ERR_INVALID, false },
    { "flag=on", ERR_INVALID, false },
    { "flag=true+", ERR_INVALID, false },
    { "flag=2", ERR_INVALID, false },
};

START_TEST(a_flag_is_true_or_false_and_nothing_else)
{
    struct operation o = operation_of_form(flags[_i].form);
    bool is_set = !flags[_i].is_set;
    ck_assert_int_eq(operation_flag(&o, "flag", &is_set), flags[_i].err);
    ck_assert_int_eq(is_set, flags[_i].is_set);
    if (flags[_i].err != OK)
        ck_assert(strstr(o.failed.text, "flag is true or false, not '"));
    arena_deinit(&o.arena);
}
END_TEST

static const struct {
    const char *form;
    enum err err;
    uint64_t number;
} numbers[] = {
    { "n=3", OK, 3 },
    { "n=10", OK, 10 },
    { "n=2", ERR_INVALID, 0 },
    { "n=11", ERR_INVALID, 0 },
    { "", ERR_INVALID, 0 },
    { "n=", ERR_INVALID, 0 },
    { "n=-4", ERR_INVALID, 0 },
    { "n=%2B4", ERR_INVALID, 0 },
    { "n=+4", ERR_INVALID, 0 },
    { "n=4x", ERR_INVALID, 0 },
    { "n=0x4", ERR_INVALID, 0 },
    { "n=4.0", ERR_INVALID, 0 },
    { "n=18446744073709551620", ERR_INVALID, 0 },
};

START_TEST(a_number_is_whole_and_within_its_bounds)
{
    struct operation o = operation_of_form(numbers[_i].form);
    uint64_t number;
    ck_assert_int_eq(operation_number(&o, "n", 3, 10, &number), numbers[_i].err);
    if (numbers[_i].err == OK)
        ck_assert_uint_eq(number, numbers[_i].number);
    else
        ck_assert(strstr(o.failed.text, "n is a whole number from 3 to 10"));
    arena_deinit(&o.arena);
}
END_TEST

static const struct {
    const char *form;
    enum err err;
    int64_t token;
} tokens[] = {
    { "t=0", OK, 0 },
    { "t=-9223372036854775808", OK, INT64_MIN },
    { "t=9223372036854775807", OK, INT64_MAX },
    { "t=9223372036854775808", ERR_INVALID, 0 },
    { "t=-", ERR_INVALID, 0 },
    { "t=+1", ERR_INVALID, 0 },
    { "t=x", ERR_INVALID, 0 },
    { "t=1+1", ERR_INVALID, 0 },
    { "", ERR_INVALID, 0 },
};

START_TEST(a_token_is_a_whole_number_of_64_bits)
{
    struct operation o = operation_of_form(tokens[_i].form);
    int64_t token;
    ck_assert_int_eq(operation_token(&o, "t", &token), tokens[_i].err);
    if (tokens[_i].err == OK)
        ck_assert_int_eq(token, tokens[_i].token);
    arena_deinit(&o.arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("operation_words");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, a_flag_is_true_or_false_and_nothing_else, 0, array_count(flags));
    tcase_add_loop_test(all, a_number_is_whole_and_within_its_bounds, 0, array_count(numbers));
    tcase_add_loop_test(all, a_token_is_a_whole_number_of_64_bits, 0, array_count(tokens));
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
