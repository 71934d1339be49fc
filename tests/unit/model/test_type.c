/* test_type.c - the types: their names, their CQL text, which bytes are values of them. */
// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <check.h>

static struct arena arena;
static void setup(void) { arena_init(&arena, 4096); }
static void teardown(void) { arena_deinit(&arena); }

static const char *printed(const struct type *type)
{
    struct buf out = buf_in(&arena);
    type_print(type, &out);
    return arena_text(&arena, buf_bytes(&out));
}

START_TEST(a_native_type_is_found_by_its_kind_and_by_its_name)
{
    for (size_t n = 0; n < array_count(sample_kinds); n++) {
        const struct type *type = type_native(sample_kinds[n]);
        ck_assert_ptr_nonnull(type);
        ck_assert(type_is_native(type));
        ck_assert_ptr_eq(type_by_name(bytes_text(printed(type))), type);
    }
}
END_TEST

START_TEST(what_is_not_native_has_no_native_type)
{
    ck_assert_ptr_null(type_native(TYPE_CUSTOM));
    ck_assert_ptr_null(type_native(TYPE_LIST));
    ck_assert_ptr_null(type_native(TYPE_VECTOR));
    ck_assert_ptr_null(type_native((enum type_kind)0x0a));
    ck_assert_ptr_null(type_by_name(bytes_text("integer")));
    ck_assert_ptr_eq(type_by_name(bytes_text("VarChar")), type_native(TYPE_TEXT));
}
END_TEST

static const struct {
    const char *text, *printed;
} texts[] = {
    { "int", "int" },
    { " VARCHAR ", "text" },
    { "list<int>", "list<int>" },
    { "map<text,int>", "map<text, int>" },
    { "set < uuid >", "set<uuid>" },
    { "frozen<list<int>>", "frozen<list<int>>" },
    { "frozen<map<text, list<int>>>", "frozen<map<text, frozen<list<int>>>>" },
    { "map<text, frozen<set<int>>>", "map<text, frozen<set<int>>>" },
    { "tuple<int, text>", "frozen<tuple<int, text>>" },
    { "frozen<tuple<int, text>>", "frozen<tuple<int, text>>" },
    { "vector<float, 3>", "vector<float, 3>" },
    { "list<frozen<vector<float,3>>>", "list<vector<float, 3>>" },
    { "'org.example.Some'", "'org.example.Some'" },
};

START_TEST(a_type_is_parsed_and_printed_as_the_schema_writes_it)
{
    for (size_t n = 0; n < array_count(texts); n++) {
        const struct type *type, *again;
        ck_assert_int_eq(type_parse(&arena, bytes_text(texts[n].text), &type), OK);
        ck_assert_str_eq(printed(type), texts[n].printed);
        ck_assert_int_eq(type_parse(&arena, bytes_text(printed(type)), &again), OK);
        ck_assert(type_equal(type, again));
    }
}
END_TEST

static const char *const wrong_texts[] = {
    "",
    "integer",
    "list",
    "list<int",
    "list<int>>",
    "map<int>",
    "map<int,",
    "tuple<>",
    "vector<float>",
    "vector<float, 0>",
    "vector<,3>",
    "vector<int,-1>",
    "frozen<>",
    "list<int, int>",
    "''",
    "'open",
    "int int",
    "my_type",
    "vector<int, 9999999>",
};

START_TEST(a_text_that_is_no_type_is_refused)
{
    for (size_t n = 0; n < array_count(wrong_texts); n++) {
        const struct type *type;
        ck_assert_int_eq(type_parse(&arena, bytes_text(wrong_texts[n]), &type), ERR_INVALID);
    }
}
END_TEST

START_TEST(a_type_nests_sixteen_deep_and_no_deeper)
{
    for (int depth = 15; depth <= 16; depth++) { /* lists around an int */
        const struct type *type;
        struct buf text = buf_in(&arena);
        for (int i = 0; i < depth; i++)
            buf_put_text(&text, "frozen<list<");
        buf_put_text(&text, "int");
        for (int i = 0; i < 2 * depth; i++)
            buf_put_u8(&text, '>');
        enum err err = type_parse(&arena, buf_bytes(&text), &type);
        ck_assert_int_eq(err, depth == 15 ? OK : ERR_INVALID);
    }
}
END_TEST

START_TEST(a_type_cut_at_any_byte_is_refused_or_another_type)
{
    const char *text = "frozen<map<text, frozen<tuple<int, vector<float, 12>>>>>";
    for (size_t size = 0; size < strlen(text); size++) {
        const struct type *type;
        struct bytes cut = arena_copy(&arena, bytes_of(text, size));
        ck_assert_int_eq(type_parse(&arena, cut, &type), ERR_INVALID);
    }
}
END_TEST

static const struct {
    const char *type, *hex;
    bool is_valid;
} values[] = {
    { "int", "", true },
    { "int", "00000001", true },
    { "int", "000001", false },
    { "int", "0000000001", false },
    { "bigint", "0000000000000001", true },
    { "boolean", "02", true },
    { "boolean", "0101", false },
    { "date", "", false },
    { "date", "80000000", true },
    { "time", "", false },
    { "time", "00004e94914effff", true },
    { "time", "00004e94914f0000", false },
    { "smallint", "", false },
    { "tinyint", "", false },
    { "tinyint", "ff", true },
    { "text", "c3a9", true },
    { "text", "c3", false },
    { "ascii", "7f", true },
    { "ascii", "80", false },
    { "blob", "", true },
    { "inet", "7f000001", true },
    { "inet", "7f0000", false },
    { "varint", "", true },
    { "varint", "0080", true },
    { "decimal", "", true },
    { "decimal", "00000001", false },
    { "decimal", "0000000100", true },
    { "timeuuid", "00000000000010000000000000000000", true },
    { "timeuuid", "00000000000040000000000000000000", false },
    { "uuid", "00000000000040000000000000000000", true },
    { "duration", "", false },
    { "duration", "000000", true },
    { "duration", "0204fc13a52453c000", true },
    { "duration", "010305", true },
    { "duration", "0102", false },
    { "duration", "010200", false },
    { "duration", "00000000", false },
    { "duration", "f1ffffffff0000", false },
    { "frozen<list<int>>", "", true },
    { "frozen<list<int>>", "00000000", true },
    { "frozen<list<int>>", "000000010000000400000007", true },
    { "frozen<list<int>>", "0000000100000004000000", false },
    { "frozen<list<int>>", "00000001ffffffff", false },
    { "frozen<list<int>>", "7fffffff", false },
    { "frozen<list<int>>", "80000000", false },
    { "frozen<list<int>>", "0000000000", false },
    { "frozen<map<text, int>>", "0000000100000001610000000400000007", true },
    { "frozen<map<text, int>>", "00000001000000016100000003000007", false },
    { "frozen<tuple<int, text>>", "", true },
    { "frozen<tuple<int, text>>", "ffffffff", true },
    { "frozen<tuple<int, text>>", "00000004000000070000000161", true },
    { "frozen<tuple<int, text>>", "0000000400000007000000016100", false },
    { "frozen<tuple<int, text>>", "fffffffe", true },
    { "vector<float, 2>", "3f80000040000000", true },
    { "vector<float, 2>", "3f800000", false },
    { "vector<float, 2>", "", true },
    { "vector<text, 2>", "01610162", true },
    { "vector<text, 2>", "016101", false },
};

START_TEST(bytes_are_values_of_a_type_or_not)
{
    for (size_t n = 0; n < array_count(values); n++) {
        const struct type *type;
        ck_assert_int_eq(type_parse(&arena, bytes_text(values[n].type), &type), OK);
        struct bytes value = sample_hex(&arena, values[n].hex);
        enum err err = type_validate(type, value);
        ck_assert_int_eq(err, values[n].is_valid ? OK : ERR_INVALID);
        struct buf out = buf_in(&arena);
        type_print_value(type, value, &out); /* never fails, whatever the bytes */
    }
}
END_TEST

START_TEST(values_cut_anywhere_or_with_wrong_bytes_are_judged_without_harm)
{
    for (size_t n = 0; n < 200; n++) {
        static const char *const types[] = { "frozen<list<text>>", "frozen<map<int, decimal>>",
                                             "frozen<tuple<duration, inet, varint>>",
                                             "vector<text, 3>" };
        struct prng prng = { (uint64_t)n };
        for (size_t i = 0; i < array_count(types); i++) {
            const struct type *type;
            struct buf bytes = { 0 }, out = { 0 };
            ck_assert_int_eq(type_parse(&arena, bytes_text(types[i]), &type), OK);
            size_t size = prng_below(&prng, 24);
            for (size_t at = 0; at < size; at++) {
                uint64_t draw = prng_next(&prng);
                buf_put_u8(&bytes, draw % 4 ? 0 : (uint8_t)(draw >> 8 & 7));
            }
            type_print_value(type, buf_bytes(&bytes), &out);
            ck_assert_uint_le(out.size, 4096);
            buf_deinit(&bytes);
            buf_deinit(&out);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("type");
    TCase *names = tcase_create("names and text");
    tcase_set_timeout(names, 60);
    tcase_add_checked_fixture(names, setup, teardown);
    tcase_add_test(names, a_native_type_is_found_by_its_kind_and_by_its_name);
    tcase_add_test(names, what_is_not_native_has_no_native_type);
    tcase_add_test(names, a_type_is_parsed_and_printed_as_the_schema_writes_it);
    tcase_add_test(names, a_text_that_is_no_type_is_refused);
    tcase_add_test(names, a_type_nests_sixteen_deep_and_no_deeper);
    tcase_add_test(names, a_type_cut_at_any_byte_is_refused_or_another_type);
    suite_add_tcase(suite, names);
    TCase *bytes = tcase_create("values");
    tcase_set_timeout(bytes, 60);
    tcase_add_checked_fixture(bytes, setup, teardown);
    tcase_add_test(bytes, bytes_are_values_of_a_type_or_not);
    tcase_add_test(bytes, values_cut_anywhere_or_with_wrong_bytes_are_judged_without_harm);
    suite_add_tcase(suite, bytes);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
