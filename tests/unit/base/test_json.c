/* test_json.c - JSON as it is written: commas, nesting, escapes, numbers. */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <check.h>
#include <math.h>

static void same(struct buf *out, const char *wanted)
{
    ck_assert_mem_eq(out->data, wanted, out->size);
    ck_assert_uint_eq(out->size, strlen(wanted));
    buf_deinit(out);
}

START_TEST(members_and_levels_are_kept_apart)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    json_open(&j, NULL, '{');
    json_open(&j, "empty", '[');
    json_close(&j);
    json_open(&j, "list", '[');
    json_number(&j, NULL, 1);
    json_open(&j, NULL, '{');
    json_text(&j, "a", "b");
    json_null(&j, "c");
    json_close(&j);
    json_bool(&j, NULL, true);
    json_close(&j);
    json_raw(&j, "raw", bytes_text("{\"x\":[]}"));
    json_close(&j);
    same(&out, "{\"empty\":[],\"list\":[1,{\"a\":\"b\",\"c\":null},true],\"raw\":{\"x\":[]}}");
}
END_TEST

static const struct {
    const char *text;
    size_t size;
    const char *wanted;
} texts[] = {
    { "", 0, "\"\"" },
    { "plain", 5, "\"plain\"" },
    { "say \"hi\" \\ no/thing", 19, "\"say \\\"hi\\\" \\\\ no/thing\"" },
    { "\n\t\0\x1f\x7f", 5, "\"\\u000a\\u0009\\u0000\\u001f\\u007f\"" },
    { "h\xc3\xa9 \xf0\x9f\x90\x8e", 8, "\"h\xc3\xa9 \xf0\x9f\x90\x8e\"" },
    { "\xff\x61\xc3", 3, "\"\\ufffda\\ufffd\"" },
    { "\xc0\x80\"\\", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
};

START_TEST(texts_are_escaped)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    json_bytes(&j, NULL, bytes_of((const uint8_t *)texts[_i].text, texts[_i].size));
    same(&out, texts[_i].wanted);
}
END_TEST

START_TEST(names_are_escaped_too)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    json_open(&j, NULL, '{');
    json_text(&j, "a\"b", NULL);
    json_close(&j);
    same(&out, "{\"a\\\"b\":null}");
}
END_TEST

START_TEST(numbers_of_every_kind)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    json_open(&j, NULL, '[');
    json_number(&j, NULL, INT64_MIN);
    json_number(&j, NULL, INT64_MAX);
    json_unsigned(&j, NULL, UINT64_MAX);
    json_double(&j, NULL, 0.5);
    json_double(&j, NULL, -1e300);
    json_double(&j, NULL, (double)NAN);
    json_double(&j, NULL, (double)INFINITY);
    json_close(&j);
    same(&out, "[-9223372036854775808,9223372036854775807,18446744073709551615,0.5,-1e+300,null,"
               "null]");
}
END_TEST

START_TEST(as_deep_as_it_says)
{
    struct buf out = { 0 };
    struct json j = json_into(&out);
    for (int i = 0; i < 30; i++)
        json_open(&j, NULL, '[');
    json_number(&j, NULL, 7);
    for (int i = 0; i < 30; i++)
        json_close(&j);
    ck_assert_uint_eq(out.size, 61);
    buf_deinit(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *all = tcase_create("all");
    tcase_add_test(all, members_and_levels_are_kept_apart);
    tcase_add_loop_test(all, texts_are_escaped, 0, (int)array_count(texts));
    tcase_add_test(all, names_are_escaped_too);
    tcase_add_test(all, numbers_of_every_kind);
    tcase_add_test(all, as_deep_as_it_says);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
