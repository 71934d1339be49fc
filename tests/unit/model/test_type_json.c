/* test_type_json.c - values as sstabledump prints them, in JSON and as plain strings. */
// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <check.h>

static struct arena arena;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

static const struct {
    const char *type, *hex, *json, *string;
} rows[] = {
    { "int", "fffffffe", "-2", "-2" },
    { "int", "", "\"\"", "" },
    { "tinyint", "80", "-128", "-128" },
    { "varint", "00ff", "255", "255" },
    { "decimal", "000000020a", "0.10", "0.10" },
    { "decimal", "fffffffd01", "1E+3", "1E+3" },
    { "decimal", "0000000a01", "1E-10", "1E-10" },
    { "decimal", "000000010400", "102.4", "102.4" },
    { "decimal", "0000000200", "0.00", "0.00" },
    { "decimal", "00000001ff", "-0.1", "-0.1" },
    { "text", "6122270a1f5cc3a9", "\"a\\\"'\\n\\u001F\\\\\xc3\xa9\"", "a\"'\n\x1f\\\xc3\xa9" },
    { "text", "", "\"\"", "" },
    { "blob", "00ff", "\"0x00ff\"", "00ff" },
    { "blob", "", "\"0x\"", "" },
    { "boolean", "01", "true", "true" },
    { "boolean", "00", "false", "false" },
    { "double", "3ff0000000000000", "1.0", "1.0" },
    { "double", "8000000000000000", "-0.0", "-0.0" },
    { "double", "3fb999999999999a", "0.1", "0.1" },
    { "double", "3f50624dd2f1a9fc", "0.001", "0.001" },
    { "double", "3f4f75104d551d69", "9.6E-4", "9.6E-4" },
    { "double", "416312cfe0000000", "9999999.0", "9999999.0" },
    { "double", "416312d000000000", "1.0E7", "1.0E7" },
    { "double", "40934a456d5cfaad", "1234.5678", "1234.5678" },
    { "double", "c0f86a0000000000", "-100000.0", "-100000.0" },
    { "double", "7fefffffffffffff", "1.7976931348623157E308", "1.7976931348623157E308" },
    { "double", "0000000000000001", "4.9E-324", "4.9E-324" },
    { "double", "7ff8000000000000", "null", "NaN" },
    { "double", "fff0000000000000", "null", "-Infinity" },
    { "float", "3dcccccd", "0.1", "0.1" },
    { "float", "00000001", "1.4E-45", "1.4E-45" },
    { "float", "4ceb79a3", "1.23456792E8", "1.23456792E8" }, /* as in tests/golden/nb/types */
    { "float", "00800000", "1.17549435E-38", "1.17549435E-38" },
    { "float", "ff7fffff", "-3.4028235E38", "-3.4028235E38" },
    { "float", "38d1b717", "1.0E-4", "1.0E-4" },
    { "float", "501502f9", "1.0E10", "1.0E10" },
    { "float", "5a0e1bca", "1.00000003E16", "1.00000003E16" },
    { "double", "4202a05f20000000", "1.0E10", "1.0E10" },
    { "double", "400921fb54442d18", "3.141592653589793", "3.141592653589793" },
    { "double", "4340000000000000", "9.007199254740992E15", "9.007199254740992E15" },
    { "double", "0010000000000000", "2.2250738585072014E-308", "2.2250738585072014E-308" },
    { "double", "44b52d02c7e14af6", "9.999999999999999E22", "9.999999999999999E22" },
    { "double", "0000000000000000", "0.0", "0.0" },
    { "double", "0000000000000002", "1.0E-323", "1.0E-323" },
    { "double", "3fa024d4cb9ecf64", "0.031531", "0.031531" }, /* at the edge of half a unit */
    { "double", "ff39c66e09c9ee7a", "-7.070274364115696E304", "-7.070274364115696E304" },
    { "float", "3ca3d70a", "0.02", "0.02" },
    { "float", "7f800000", "null", "Infinity" },
    { "timestamp", "0000018df48567fb", "\"2024-02-29 11:00:00.123Z\"", "2024-02-29T11:00:00.123Z" },
    { "timestamp", "41fef700008880aa", "\"+150698077-08-28 01:13:48.970Z\"",
      "+150698077-08-28T01:13:48.970Z" },
    { "timestamp", "800021ff06bcf3a6", "\"+292273872-11-15 11:37:27.718Z\"", /* before our era */
      "+292273872-11-15T11:37:27.718Z" },
    { "timestamp", "ffffc77cedd32800", "\"0001-01-01 00:00:00.000Z\"", "0001-01-01T00:00:00.000Z" },
    { "date", "80000000", "\"1970-01-01\"", "1970-01-01" },
    { "date", "802cc0a1", "\"+10000-01-01\"", "+10000-01-01" },
    { "time", "0000000000000001", "\"00:00:00.000000001\"", "00:00:00.000000001" },
    { "uuid", "f47ac10b58cc4372a5670e02b2c3d479", "\"f47ac10b-58cc-4372-a567-0e02b2c3d479\"",
      "f47ac10b-58cc-4372-a567-0e02b2c3d479" },
    { "inet", "7f000001", "\"127.0.0.1\"", "127.0.0.1" },
    { "inet", "00000000000000000000000000000001", "\"0:0:0:0:0:0:0:1\"", "0:0:0:0:0:0:0:1" },
    { "inet", "00000000000000000000ffff01020304", "\"1.2.3.4\"", "1.2.3.4" },
    { "duration", "020406", "\"1mo2d3ns\"", "1mo2d3ns" },
    { "duration", "000000", "\"\"", "" },
    { "empty", "", "\"\"", "" },
    { "frozen<list<int>>", "00000002000000040000000100000004fffffffe", "[1, -2]",
      "00000002000000040000000100000004fffffffe" },
    { "frozen<set<text>>", "00000001000000026122", "[\"a\\\"\"]", "00000001000000026122" },
    { "frozen<map<int, text>>",
      "00000001000000040000000700000001"
      "78",
      "{\"7\": \"x\"}", "0000000100000004000000070000000178" },
    { "frozen<map<text, boolean>>",
      "0000000100000001"
      "780000000101",
      "{\"x\": true}", "0000000100000001780000000101" },
    { "frozen<map<frozen<list<text>>, int>>",
      "00000001"
      "00000009000000010000000178"
      "0000000400000001",
      "{\"[\\\"x\\\"]\": 1}",
      "00000001"
      "00000009000000010000000178"
      "0000000400000001" },
    { "tuple<int, text, int>",
      "0000000400000007"
      "00000003613a40",
      "[7, \"a:@\", null]", "7:a\\:\\@" },
    { "tuple<int, int>", "ffffffff0000000400000001", "[null, 1]", "@:1" },
    { "vector<float, 2>", "3f80000040200000", "[1.0, 2.5]", "3f80000040200000" },
    { "'org.example.Some'", "0a", "\"0x0a\"", "0a" },
    { "int", "01", "\"0x01\"", "01" },
};

START_TEST(a_value_is_printed_as_java_prints_it)
{
    const struct type *type;
    struct buf in_arena = buf_in(&arena), in_heap = { 0 }, string = buf_in(&arena);
    ck_assert_int_eq(type_parse(&arena, bytes_text(rows[_i].type), &type), OK);
    struct bytes value = sample_hex(&arena, rows[_i].hex);
    type_json_value(type, value, &in_arena);
    type_json_value(type, value, &in_heap);
    type_string_value(type, value, &string);
    ck_assert_str_eq(arena_text(&arena, buf_bytes(&in_arena)), rows[_i].json);
    ck_assert(bytes_equal(buf_bytes(&in_arena), buf_bytes(&in_heap)));
    ck_assert_str_eq(arena_text(&arena, buf_bytes(&string)), rows[_i].string);
    buf_deinit(&in_heap);
}
END_TEST

START_TEST(a_user_type_is_an_object_with_quoted_names)
{
    const struct type *parts[] = { type_native(TYPE_INT), type_native(TYPE_TEXT) };
    const char *fields[] = { "a", "B" };
    struct type udt = { .kind = TYPE_UDT,
                        .is_frozen = true,
                        .parts_count = 2,
                        .parts = parts,
                        .keyspace = "ks",
                        .name = "u",
                        .fields = fields };
    struct buf out = buf_in(&arena);
    type_json_value(&udt, sample_hex(&arena, "0000000400000007"), &out);
    ck_assert_str_eq(arena_text(&arena, buf_bytes(&out)), "{\"a\": 7, \"\\\"B\\\"\": null}");
}
END_TEST

START_TEST(random_floats_come_back_from_their_text)
{
    struct prng prng = { (uint64_t)_i };
    for (int n = 0; n < 1000; n++) {
        struct buf value = buf_in(&arena), text = buf_in(&arena), back = buf_in(&arena);
        const struct type *type = type_native(n % 2 ? TYPE_FLOAT : TYPE_DOUBLE);
        uint64_t bits = prng_next(&prng);
        buf_put(&value, &bits, n % 2 ? 4 : 8);
        type_string_value(type, buf_bytes(&value), &text);
        ck_assert_int_eq(type_parse_value(type, buf_bytes(&text), &back), OK);
        ck_assert_int_eq(type_compare(type, buf_bytes(&value), buf_bytes(&back)), 0);
        bool is_finite = text.data[text.size - 1] != 'y' && text.data[text.size - 1] != 'N';
        ck_assert(!is_finite || memchr(text.data, '.', text.size));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("type_json");
    TCase *tcase = tcase_create("json");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_value_is_printed_as_java_prints_it, 0, array_count(rows));
    tcase_add_test(tcase, a_user_type_is_an_object_with_quoted_names);
    tcase_add_loop_test(tcase, random_floats_come_back_from_their_text, 0, 5);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
