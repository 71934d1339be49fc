/* test_fail.c - the driver's answer to a broken invariant: the public call in progress gets it. */
// SPDX-License-Identifier: Apache-2.0
#include "base/fail/driver.h"

#include <check.h>
#include <signal.h>

static bool is_true;

static void work_that_breaks(void) { ensure(is_true); }

START_TEST(a_broken_invariant_comes_back_as_a_report)
{
    struct fail_scope scope;
    fail_enter(&scope);
    if (setjmp(scope.jump) == 0) {
        work_that_breaks();
        ck_abort_msg("the work went on");
    }
    ck_assert_int_eq(scope.report.err, ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(scope.report.text, "broken invariant: is_true"));
}
END_TEST

START_TEST(missing_memory_comes_back_as_a_report)
{
    struct fail_scope scope;
    fail_enter(&scope);
    if (setjmp(scope.jump) == 0)
        fail_memory(123);
    ck_assert_int_eq(scope.report.err, ERR_MEMORY);
    ck_assert_ptr_nonnull(strstr(scope.report.text, "123"));
}
END_TEST

START_TEST(a_failure_in_the_clean_up_goes_to_the_scope_around)
{
    struct fail_scope outer, inner;
    fail_enter(&outer);
    if (setjmp(outer.jump) == 0) {
        fail_enter(&inner);
        if (setjmp(inner.jump) == 0)
            fail_memory(1);
        ck_assert_int_eq(inner.report.err, ERR_MEMORY);
        work_that_breaks();
    }
    ck_assert_int_eq(outer.report.err, ERR_CORRUPT);
}
END_TEST

START_TEST(a_scope_that_is_left_does_not_answer)
{
    struct fail_scope scope;
    fail_enter(&scope);
    if (setjmp(scope.jump) == 0)
        fail_leave(&scope);
    else
        return; /* without SIGABRT the test fails */
    work_that_breaks();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fail");
    TCase *t = tcase_create("fail");
    tcase_add_test(t, a_broken_invariant_comes_back_as_a_report);
    tcase_add_test(t, missing_memory_comes_back_as_a_report);
    tcase_add_test(t, a_failure_in_the_clean_up_goes_to_the_scope_around);
    tcase_add_test_raise_signal(t, a_scope_that_is_left_does_not_answer, SIGABRT);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
