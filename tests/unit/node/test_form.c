/* test_form.c - forms: what curl sends, what nobody should. */
// SPDX-License-Identifier: Apache-2.0
#include "node/form.h"

#include <check.h>

static const struct {
    const char *body;
    size_t count;
    const char *first, *value; /* of the first pair */
} good[] = {
    { "", 0, NULL, NULL },
    { "&&", 0, NULL, NULL },
    { "keyspace=shop&table=orders", 2, "keyspace", "shop" },
    { "dir=%2Fa+b%2f%C3%A9", 1, "dir", "/a b/\xc3\xa9" },
    { "all", 1, "all", "" },
    { "a=b=c", 1, "a", "b=c" },
};

START_TEST(a_form_is_names_and_values)
{
    struct arena arena = { 0 };
    struct form form;
    struct report report = { 0 };
    ck_assert_int_eq(form_decode(bytes_text(good[_i].body), &arena, &form, &report), OK);
    ck_assert_uint_eq(form.count, good[_i].count);
    if (form.count) {
        ck_assert_str_eq(form.pairs[0].name, good[_i].first);
        ck_assert_str_eq(form.pairs[0].value, good[_i].value);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(what_is_absent_or_empty_is_not_there)
{
    struct arena arena = { 0 };
    struct form form;
    ck_assert_int_eq(form_decode(bytes_text("a=1&b="), &arena, &form, NULL), OK);
    ck_assert_str_eq(form_get(&form, "a"), "1");
    ck_assert_ptr_null(form_get(&form, "b"));
    ck_assert_ptr_null(form_get(&form, "c"));
    arena_deinit(&arena);
}
END_TEST

static const char *const bad[] = { "a=%",         "a=%4",
                                   "a=%4g",       "a=%00",
                                   "a=1&a=2",     "%zz=1",
                                   "a=1&b=2&a=3", "a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q" };

START_TEST(what_is_no_form_is_said)
{
    struct arena arena = { 0 };
    struct form form;
    struct report report = { 0 };
    ck_assert_int_eq(form_decode(bytes_text(bad[_i]), &arena, &form, &report), ERR_SYNTAX);
    ck_assert(strlen(report.text) > 0);
    arena_deinit(&arena);
}
END_TEST

START_TEST(every_cut_of_a_form_is_read_or_refused)
{
    static const char text[] = "dir=%2Fa%20b&keyspace=k&tag=x+y";
    for (size_t size = 0; size < sizeof text; size++) {
        struct arena arena = { 0 };
        struct form form;
        uint8_t *exact = arena_alloc(&arena, size + 1);
        memcpy(exact, text, size);
        enum err err = form_decode(bytes_of(exact, size), &arena, &form, NULL);
        ck_assert(err == OK || err == ERR_SYNTAX);
        arena_deinit(&arena);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("forms");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, a_form_is_names_and_values, 0, (int)array_count(good));
    tcase_add_test(t, what_is_absent_or_empty_is_not_there);
    tcase_add_loop_test(t, what_is_no_form_is_said, 0, (int)array_count(bad));
    tcase_add_test(t, every_cut_of_a_form_is_read_or_refused);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
