/* test_tree.c - JSON that is read, and JSON that is none. */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "command/tree.h"

#include <check.h>
#include <stdlib.h>

static struct arena arena;

static const struct tree *parse(const char *text) { return tree_parse(&arena, bytes_text(text)); }

START_TEST(members_are_found_by_name)
{
    const struct tree *t = parse(" {\"a\": 1.5e2, \"b\":\"text\",\"c\":true,\"d\":null,"
                                 "\"e\":[1,2,{\"f\":-3}],\"g\":{}} ");
    ck_assert_ptr_nonnull(t);
    ck_assert_double_eq(tree_number(t, "a", 0), 150);
    ck_assert_double_eq(tree_number(t, "b", 7), 7);
    ck_assert(bytes_equal(tree_text(t, "b"), bytes_text("text")));
    ck_assert(tree_is_true(t, "c") && !tree_is_true(t, "a") && !tree_is_true(t, "nope"));
    ck_assert_int_eq(tree_get(t, "d")->kind, TREE_NULL);
    ck_assert_ptr_null(tree_get(t, "nope"));
    ck_assert_ptr_null(tree_get(NULL, "a"));
    const struct tree *e = tree_get(t, "e");
    ck_assert_int_eq(e->kind, TREE_LIST);
    ck_assert_double_eq(tree_number(e->first->next->next, "f", 0), -3);
    ck_assert(bytes_equal(e->source, bytes_text("[1,2,{\"f\":-3}]")));
    ck_assert_ptr_null(tree_get(t, "g")->first);
}
END_TEST

START_TEST(texts_are_unescaped)
{
    const struct tree *t =
        parse("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00fc\\u20AC\\ud83d\\ude00\"}");
    ck_assert_ptr_nonnull(t);
    ck_assert(bytes_equal(tree_text(t, "a"),
                          bytes_text("\"\\/\b\f\n\r\t\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80")));
}
END_TEST

START_TEST(what_is_written_is_read)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    json_open(&j, NULL, '{');
    json_text(&j, "a\"\n", "b\x01\xC3\xBC");
    json_double(&j, "n", 0.25);
    json_raw(&j, "raw", bytes_text("[1,2]"));
    json_close(&j);
    const struct tree *t = tree_parse(&arena, buf_bytes(&out));
    ck_assert_ptr_nonnull(t);
    ck_assert(bytes_equal(tree_text(t, "a\"\n"), bytes_text("b\x01\xC3\xBC")));
    ck_assert_double_eq(tree_number(t, "n", 0), 0.25);
    ck_assert_int_eq(tree_get(t, "raw")->kind, TREE_LIST);
    buf_deinit(&out);
}
END_TEST

static const char *const wrong[] = {
    "",         "{",   "[1",      "{\"a\"}",   "{\"a\":}",    "{a:1}", "[1,]",
    "nul",      "\"a", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "1 2",   "{}x",
    "\"a\nb\"", "-",   "[1}",     "{\"a\":1]", "\"\\udc00\"", ",",     "\"\\ud800\\u0041\"",
};

START_TEST(what_is_no_json_is_refused) { ck_assert_ptr_null(parse(wrong[_i])); }
END_TEST

START_TEST(every_beginning_of_a_text_is_refused)
{
    static const char text[] = "{\"a\":[1,true,null,\"b\\u00fc\"],\"c\":{\"d\":-1.5}}";
    for (size_t size = 0; size < sizeof text - 1; size++)
        ck_assert_ptr_null(tree_parse(&arena, bytes_of(text, size)));
    ck_assert_ptr_nonnull(parse(text));
}
END_TEST

START_TEST(depth_is_bounded)
{
    char text[200];
    memset(text, '[', 100);
    memset(text + 100, ']', 100);
    ck_assert_ptr_null(tree_parse(&arena, bytes_of(text, 200)));
    ck_assert_ptr_nonnull(tree_parse(&arena, bytes_of(text + 80, 40)));
}
END_TEST

static void arena_end(void) { arena_deinit(&arena); }

int main(void)
{
    Suite *s = suite_create("tree");
    TCase *t = tcase_create("tree");
    tcase_add_checked_fixture(t, NULL, arena_end);
    tcase_add_test(t, members_are_found_by_name);
    tcase_add_test(t, texts_are_unescaped);
    tcase_add_test(t, what_is_written_is_read);
    tcase_add_loop_test(t, what_is_no_json_is_refused, 0, array_count(wrong));
    tcase_add_test(t, every_beginning_of_a_text_is_refused);
    tcase_add_test(t, depth_is_bounded);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
