/* test_err.c - the error table, reports, and the server's answer to a broken invariant. */
// SPDX-License-Identifier: Apache-2.0
#include "base/base.h"
#include "base/mem.h"

#include <check.h>
#include <signal.h>

START_TEST(every_error_has_a_name_a_sentence_and_a_class)
{
    enum err err = (enum err)_i;
    ck_assert(strncmp(err_name(err), err == OK ? "OK" : "ERR_", err == OK ? 2 : 4) == 0);
    ck_assert_uint_gt(strlen(err_text(err)), 3);
    ck_assert((err_class(err) == ERR_CLASS_NONE) == (err == OK));
}
END_TEST

START_TEST(a_value_outside_the_table_stops_the_process) { err_name(ERR_COUNT); }
END_TEST

START_TEST(an_ensure_that_fails_stops_the_process)
{
    bool is_true = false;
    ensure(is_true);
}
END_TEST

START_TEST(memory_that_cannot_be_had_stops_the_process) { fail_memory(12); }
END_TEST

START_TEST(a_report_answers_its_error_and_is_cut_when_it_is_long)
{
    struct report r;
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    ck_assert_int_eq(report_set(&r, ERR_CONFIG, "%s:%d", "file", 3), ERR_CONFIG);
    ck_assert_str_eq(r.text, "file:3");
    ck_assert_int_eq(report_set(&r, ERR_LIMIT, "%s", text), ERR_LIMIT);
    ck_assert_uint_eq(strlen(r.text), sizeof r.text - 1);
    ck_assert_int_eq(report_set(NULL, ERR_LIMIT, "nobody reads this"), ERR_LIMIT);
}
END_TEST

START_TEST(allocations_are_counted)
{
    uint64_t before = mem_calls();
    char *text = mem_zalloc(10);
    ck_assert_int_eq(text[9], 0);
    text = mem_resize(text, 20);
    mem_free(text);
    mem_free(mem_alloc(0));
    mem_free(NULL);
    ck_assert_uint_eq(mem_calls(), before + 3);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("err");
    TCase *t = tcase_create("err");
    tcase_add_loop_test(t, every_error_has_a_name_a_sentence_and_a_class, 0, ERR_COUNT);
    tcase_add_test_raise_signal(t, a_value_outside_the_table_stops_the_process, SIGABRT);
    tcase_add_test_raise_signal(t, an_ensure_that_fails_stops_the_process, SIGABRT);
    tcase_add_test_raise_signal(t, memory_that_cannot_be_had_stops_the_process, SIGABRT);
    tcase_add_test(t, a_report_answers_its_error_and_is_cut_when_it_is_long);
    tcase_add_test(t, allocations_are_counted);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
