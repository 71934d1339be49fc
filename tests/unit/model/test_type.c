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
    { "tuple<list<int>>", "frozen<tuple<frozen<list<int>>>>" },
    { "vector<list<int>, 2>", "vector<frozen<list<int>>, 2>" },
    { "empty", "empty" },
    { "'org.example.Some'", "'org.example.Some'" },
    { "'org.apache.cassandra.db.marshal.Int32Type'", "int" },
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
    "frozen<int>",
    "frozen<'org.example.Some'>",
    "list<list<int>>",
    "'org.example.Some(;)'",
    "'ReversedType(Int32Type)'",
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

/* The keyspace's types: "Pair" (a int, b text), loose (l list<int>), chain00 (a int) and so on,
 * each chain holding the one before. */
static const struct type *find_type(void *context, struct bytes name)
{
    (void)context;
    struct type *type = arena_new(&arena, struct type);
    unsigned number = 0;
    char copy[16] = { 0 };
    memcpy(copy, name.data, name.size < 15 ? name.size : 15);
    bool is_pair = strcmp(copy, "Pair") == 0, is_loose = strcmp(copy, "loose") == 0;
    if (!is_pair && !is_loose && sscanf(copy, "chain%2u", &number) != 1)
        return NULL;
    *type = (struct type){ .kind = TYPE_UDT, .parts_count = is_pair ? 2 : 1 };
    type->keyspace = "ks", type->name = arena_text(&arena, name);
    type->parts = arena_array(&arena, const struct type *, 2);
    type->fields = arena_array(&arena, const char *, 2);
    type->fields[0] = "a", type->fields[1] = "b";
    type->parts[0] = type_native(TYPE_INT), type->parts[1] = type_native(TYPE_TEXT);
    if (is_loose)
        ck_assert_int_eq(type_parse(&arena, bytes_text("list<int>"), &type->parts[0]), OK);
    else if (number)
        type->parts[0] = type_frozen(
            &arena, find_type(NULL, bytes_text(arena_printf(&arena, "chain%02u", number - 1))));
    return type;
}
static const struct type_names names = { find_type, NULL };

START_TEST(the_types_of_a_keyspace_are_found_by_name)
{
    static const struct {
        const char *text, *printed;
    } rows[] = {
        { "\"Pair\"", "\"Pair\"" },
        { "frozen<\"Pair\">", "frozen<\"Pair\">" },
        { "list<frozen<\"Pair\">>", "list<frozen<\"Pair\">>" },
        { "frozen<list<\"Pair\">>", "frozen<list<frozen<\"Pair\">>>" },
        { "tuple<\"Pair\", Chain00>", "frozen<tuple<frozen<\"Pair\">, frozen<chain00>>>" },
        { "frozen<loose>", "frozen<loose>" },
    };
    const struct type *type, *again;
    for (size_t n = 0; n < array_count(rows); n++) {
        ck_assert_int_eq(type_parse_in(&arena, bytes_text(rows[n].text), &names, &type), OK);
        ck_assert_str_eq(printed(type), rows[n].printed);
        ck_assert_int_eq(type_parse_in(&arena, bytes_text(printed(type)), &names, &again), OK);
        ck_assert(type_equal(type, again));
        ck_assert_int_eq(type_parse(&arena, bytes_text(rows[n].text), &again), ERR_INVALID);
        ck_assert_ptr_null(again);
    }
    ck_assert_int_eq(type_parse_in(&arena, bytes_text("pair"), &names, &type), ERR_INVALID);
    ck_assert_int_eq(type_parse_in(&arena, bytes_text("\"Pair"), &names, &type), ERR_INVALID);
    ck_assert_int_eq(type_parse_in(&arena, bytes_text("\"\""), &names, &type), ERR_INVALID);
}
END_TEST

START_TEST(what_cassandra_does_not_nest_is_refused_with_the_reason)
{
    static const struct {
        const char *text, *why; /* why NULL: allowed */
    } rows[] = {
        { "list<list<int>>", "non-frozen collections" },
        { "map<int, set<int>>", "non-frozen collections" },
        { "list<\"Pair\">", "non-frozen user types are" },
        { "loose", "non-frozen user types with" },
        { "list<counter>", "counters" },
        { "frozen<tuple<counter>>", "counters" },
        { "set<duration>", "durations are not allowed inside sets" },
        { "map<duration, int>", "durations are not allowed as map keys" },
        { "map<int, duration>", NULL },
        { "list<duration>", NULL },
        { "vector<empty, 3>", "no bytes" },
        { "vector<vector<vector<int, 9999>, 9999>, 9999>", "2 GiB" },
        { "tuple<vector<vector<uuid, 65536>, 65536>>", "2 GiB" },
        { "chain14", NULL }, /* the 15th type around an int */
        { "chain15", "16 deep" },
        { "frozen<list<chain14>>", "16 deep" },
    };
    for (size_t n = 0; n < array_count(rows); n++) {
        const struct type *type;
        enum err err = type_parse_in(&arena, bytes_text(rows[n].text), &names, &type);
        ck_assert_int_eq(err, rows[n].why ? ERR_INVALID : OK);
        ck_assert_ptr_nonnull(type);
        const char *why = type_refusal(type);
        ck_assert(rows[n].why ? why && strstr(why, rows[n].why) : !why);
    }
}
END_TEST

START_TEST(a_column_that_is_not_frozen_has_cells_with_paths)
{
    static const struct {
        const char *text, *path, *value; /* path NULL: one cell */
        const char *good, *bad;          /* a path, and what is none */
    } rows[] = {
        { "list<text>", "timeuuid", "text", "00000000000010000000000000000000", "" },
        { "set<int>", "int", "empty", "00000001", "0001" },
        { "map<text, date>", "text", "date", "61", "ff" },
        { "\"Pair\"", "smallint", "text", "0001", "0002" },
        { "frozen<list<text>>", NULL, NULL, NULL, NULL },
        { "tuple<int>", NULL, NULL, NULL, NULL },
        { "vector<int, 2>", NULL, NULL, NULL, NULL },
        { "int", NULL, NULL, NULL, NULL },
    };
    for (size_t n = 0; n < array_count(rows); n++) {
        const struct type *type;
        ck_assert_int_eq(type_parse_in(&arena, bytes_text(rows[n].text), &names, &type), OK);
        ck_assert_int_eq(type_is_multicell(type), rows[n].path != NULL);
        if (!rows[n].path)
            continue;
        struct bytes good = sample_hex(&arena, rows[n].good);
        ck_assert_str_eq(printed(type_path(type)), rows[n].path);
        ck_assert_str_eq(printed(type_cell_value(type, good)), rows[n].value);
        ck_assert_int_eq(type_path_validate(type, good), OK);
        struct bytes bad = sample_hex(&arena, rows[n].bad);
        ck_assert_int_eq(type_path_validate(type, bad), ERR_INVALID);
        ck_assert_int_eq(type_path_compare(type, good, good), 0);
    }
}
END_TEST

START_TEST(values_of_some_types_have_no_length_in_files)
{
    static const struct {
        const char *text;
        int bytes; /* -1: behind a length */
    } rows[] = {
        { "boolean", 1 },
        { "int", 4 },
        { "float", 4 },
        { "bigint", 8 },
        { "double", 8 },
        { "uuid", 16 },
        { "timeuuid", 16 },
        { "timestamp", 8 },
        { "empty", 0 },
        { "tinyint", -1 },
        { "smallint", -1 },
        { "date", -1 },
        { "time", -1 },
        { "counter", -1 },
        { "text", -1 },
        { "frozen<list<int>>", -1 },
        { "inet", -1 },
        { "vector<int, 3>", 12 },
        { "vector<date, 3>", -1 },
        { "vector<vector<uuid, 2>, 2>", 64 },
        { "'org.apache.cassandra.db.marshal.LexicalUUIDType'", 16 },
        { "'org.example.Some'", -1 },
    };
    for (size_t n = 0; n < array_count(rows); n++) {
        const struct type *type;
        size_t bytes = 7;
        ck_assert_int_eq(type_parse(&arena, bytes_text(rows[n].text), &type), OK);
        ck_assert_int_eq(type_sstable_fixed_bytes(type, &bytes), rows[n].bytes >= 0);
        ck_assert_uint_eq(bytes, rows[n].bytes < 0 ? 0 : (size_t)rows[n].bytes);
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
    { "frozen<list<int>>", "", false },
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
    { "vector<float, 2>", "", false },
    { "vector<text, 2>", "01610162", true },
    { "vector<text, 2>", "016101", false },
    { "vector<smallint, 2>", "0200010200ff", true },
    { "vector<smallint, 2>", "000100ff", false },
    { "vector<text, 2>", "", false },
    { "empty", "", true },
    { "empty", "00", false },
    { "'org.example.Some'", "00", true },
    { "'org.apache.cassandra.db.marshal.LexicalUUIDType'", "00", false },
    { "frozen<set<int>>",
      "000000020000000400000002"
      "0000000400000001",
      true },
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
    TCase *texts_case = tcase_create("names and text");
    tcase_set_timeout(texts_case, 60);
    tcase_add_checked_fixture(texts_case, setup, teardown);
    tcase_add_test(texts_case, a_native_type_is_found_by_its_kind_and_by_its_name);
    tcase_add_test(texts_case, what_is_not_native_has_no_native_type);
    tcase_add_test(texts_case, a_type_is_parsed_and_printed_as_the_schema_writes_it);
    tcase_add_test(texts_case, a_text_that_is_no_type_is_refused);
    tcase_add_test(texts_case, a_type_nests_sixteen_deep_and_no_deeper);
    tcase_add_test(texts_case, a_type_cut_at_any_byte_is_refused_or_another_type);
    tcase_add_test(texts_case, the_types_of_a_keyspace_are_found_by_name);
    tcase_add_test(texts_case, what_cassandra_does_not_nest_is_refused_with_the_reason);
    tcase_add_test(texts_case, a_column_that_is_not_frozen_has_cells_with_paths);
    tcase_add_test(texts_case, values_of_some_types_have_no_length_in_files);
    suite_add_tcase(suite, texts_case);
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
