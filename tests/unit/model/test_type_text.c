/* test_type_text.c - values as text, and back: the vectors of facts/cql-protocol.md 3.2, every
 * form of a literal, and random values of every native type.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <check.h>

static struct arena arena;
static void setup(void) { arena_init(&arena, 4096); }
static void teardown(void) { arena_deinit(&arena); }

static const char *hex_text(struct bytes value)
{
    struct buf out = buf_in(&arena);
    for (size_t i = 0; i < value.size; i++)
        buf_printf(&out, "%02x", value.data[i]);
    return arena_text(&arena, buf_bytes(&out));
}

static const char *printed(const struct type *type, struct bytes value)
{
    struct buf out = buf_in(&arena);
    type_print_value(type, value, &out);
    return arena_text(&arena, buf_bytes(&out));
}

/* text: what is parsed; again: what is printed (NULL: the same) */
static const struct {
    enum type_kind kind;
    const char *text, *hex, *again;
} literals[] = {
    { TYPE_VARINT, "0", "00", NULL },
    { TYPE_VARINT, "-0", "00", "0" },
    { TYPE_VARINT, "127", "7f", NULL },
    { TYPE_VARINT, "128", "0080", NULL },
    { TYPE_VARINT, "-1", "ff", NULL },
    { TYPE_VARINT, "-128", "80", NULL },
    { TYPE_VARINT, "-129", "ff7f", NULL },
    { TYPE_VARINT, "256000", "03e800", NULL },
    { TYPE_VARINT, "000000000000000000000000000000000000001", "01", "1" },
    { TYPE_VARINT, "18446744073709551616", "010000000000000000", NULL },
    { TYPE_VARINT, "-18446744073709551616", "ff0000000000000000", NULL },
    { TYPE_VARINT, "4294967296", "0100000000", NULL },
    { TYPE_VARINT, "-2147483648", "80000000", NULL },
    { TYPE_VARINT, "1000000000000000000000000000", "033b2e3c9fd0803ce8000000", NULL },
    { TYPE_DECIMAL, "1.5", "000000010f", NULL },
    { TYPE_DECIMAL, "-123.450", "00000003fe1dc6", NULL },
    { TYPE_DECIMAL, "1E+3", "fffffffd01", NULL },
    { TYPE_DECIMAL, "1e3", "fffffffd01", "1E+3" },
    { TYPE_DECIMAL, "0", "0000000000", NULL },
    { TYPE_DECIMAL, "0.000001", "0000000601", NULL },
    { TYPE_DECIMAL, "0.0000001", "0000000701", "1E-7" },
    { TYPE_DECIMAL, "-.5", "00000001fb", "-0.5" },
    { TYPE_DECIMAL, "5.", "0000000005", "5" },
    { TYPE_DECIMAL, "0.00", "0000000200", NULL },
    { TYPE_DECIMAL, "1.23E+20", "ffffffee7b", NULL },
    { TYPE_DECIMAL, "1E-2147483647", "7fffffff01", NULL },
    { TYPE_DECIMAL, "1E+2147483648", "8000000001", NULL },
    { TYPE_DATE, "1970-01-01", "80000000", NULL },
    { TYPE_DATE, "2024-02-29", "80004d46", NULL },
    { TYPE_DATE, "2147483649", "80000001", "1970-01-02" },
    { TYPE_DATE, "-5877641-06-23", "00000000", NULL },
    { TYPE_DATE, "5881580-07-11", "ffffffff", NULL },
    { TYPE_DURATION, "1mo2d3h", "0204fc13a52453c000", NULL },
    { TYPE_DURATION, "0s", "000000", NULL },
    { TYPE_DURATION, "1s", "0000f077359400", NULL },
    { TYPE_DURATION, "1y2mo", "1c0000", NULL },
    { TYPE_DURATION, "-1mo2d3ns", "010305", NULL },
    { TYPE_DURATION, "2w", "001c00", "14d" },
    { TYPE_DURATION, "1H30M", "0000fc09d29229e000", "1h30m" },
    { TYPE_DURATION, "5\xc2\xb5s", "0000a710", "5us" },
    { TYPE_DURATION, "P1Y2M3DT4H5M6S", "1c06fc1ac003cfe800", "1y2mo3d4h5m6s" },
    { TYPE_DURATION, "P4W", "003800", "28d" },
    { TYPE_DURATION, "-P1D", "000100", "-1d" },
    { TYPE_DURATION, "PT1S", "0000f077359400", "1s" },
    { TYPE_DURATION, "P0001-02-03T04:05:06", "1c06fc1ac003cfe800", "1y2mo3d4h5m6s" },
    { TYPE_TIME, "00:00:00.000000000", "0000000000000000", NULL },
    { TYPE_TIME, "23:59:59.999999999", "00004e94914effff", NULL },
    { TYPE_TIME, "1:2:3.5", "00000362f1e51300", "01:02:03.500000000" },
    { TYPE_TIME, "86399999999999", "00004e94914effff", "23:59:59.999999999" },
    { TYPE_TIMESTAMP, "0", "0000000000000000", "1970-01-01 00:00:00.000000+0000" },
    { TYPE_TIMESTAMP, "-1", "ffffffffffffffff", "1969-12-31 23:59:59.999000+0000" },
    { TYPE_TIMESTAMP, "1970-01-02", "0000000005265c00", "1970-01-02 00:00:00.000000+0000" },
    { TYPE_TIMESTAMP, "1970-01-02Z", "0000000005265c00", "1970-01-02 00:00:00.000000+0000" },
    { TYPE_TIMESTAMP, "1970-01-02 +01:00", "0000000004ef6d80", "1970-01-01 23:00:00.000000+0000" },
    { TYPE_TIMESTAMP, "1970-01-02T00:00", "0000000005265c00", "1970-01-02 00:00:00.000000+0000" },
    { TYPE_TIMESTAMP, "1970-1-2 0:0:0", "0000000005265c00", "1970-01-02 00:00:00.000000+0000" },
    { TYPE_TIMESTAMP, "1970-01-02 00:00:00.123", "0000000005265c7b",
      "1970-01-02 00:00:00.123000+0000" },
    { TYPE_TIMESTAMP, "1970-01-02T00:00:00.1Z", "0000000005265c64",
      "1970-01-02 00:00:00.100000+0000" },
    { TYPE_TIMESTAMP, "1970-01-02 05:30:00+0530", "0000000005265c00",
      "1970-01-02 00:00:00.000000+0000" },
    { TYPE_TIMESTAMP, "1970-01-01T19:00-05", "0000000005265c00",
      "1970-01-02 00:00:00.000000+0000" },
    { TYPE_TIMESTAMP, "1970-01-02 00:00:00 UTC", "0000000005265c00",
      "1970-01-02 00:00:00.000000+0000" },
    { TYPE_TIMESTAMP, "-9223372036854775808", "8000000000000000",
      "-292275055-05-16 16:47:04.192000+0000" },
    { TYPE_BOOLEAN, "TRUE", "01", "True" },
    { TYPE_BOOLEAN, "false", "00", "False" },
    { TYPE_INT, "-2147483648", "80000000", NULL },
    { TYPE_BIGINT, "9223372036854775807", "7fffffffffffffff", NULL },
    { TYPE_COUNTER, "-5", "fffffffffffffffb", NULL },
    { TYPE_SMALLINT, "-32768", "8000", NULL },
    { TYPE_TINYINT, "127", "7f", NULL },
    { TYPE_DOUBLE, "1.5", "3ff8000000000000", NULL },
    { TYPE_DOUBLE, "0.1", "3fb999999999999a", NULL },
    { TYPE_DOUBLE, "-0", "8000000000000000", NULL },
    { TYPE_DOUBLE, "1e+300", "7e37e43c8800759c", NULL },
    { TYPE_DOUBLE, "NaN", "7ff8000000000000", NULL },
    { TYPE_DOUBLE, "-infinity", "fff0000000000000", "-Infinity" },
    { TYPE_FLOAT, "0.1", "3dcccccd", NULL },
    { TYPE_FLOAT, "16777216", "4b800000", NULL },
    { TYPE_FLOAT, "Infinity", "7f800000", NULL },
    { TYPE_TEXT, "it's \xc3\xa9", "6974277320c3a9", NULL },
    { TYPE_TEXT, "", "", NULL },
    { TYPE_ASCII, "a", "61", NULL },
    { TYPE_BLOB, "0x", "", NULL },
    { TYPE_BLOB, "0X00fF", "00ff", "0x00ff" },
    { TYPE_INET, "127.0.0.1", "7f000001", NULL },
    { TYPE_INET, "::1", "00000000000000000000000000000001", NULL },
    { TYPE_INET, "2001:DB8::0:1", "20010db8000000000000000000000001", "2001:db8::1" },
    { TYPE_UUID, "F47AC10B-58cc-4372-a567-0e02b2c3d479", "f47ac10b58cc4372a5670e02b2c3d479",
      "f47ac10b-58cc-4372-a567-0e02b2c3d479" },
    { TYPE_TIMEUUID, "50554d6e-29bb-11e5-b345-feff819cdc9f", "50554d6e29bb11e5b345feff819cdc9f",
      NULL },
};

START_TEST(a_literal_becomes_bytes_and_is_printed_again)
{
    for (size_t n = 0; n < array_count(literals); n++) {
        const struct type *type = type_native(literals[n].kind);
        struct buf out = buf_in(&arena);
        ck_assert_int_eq(type_parse_value(type, bytes_text(literals[n].text), &out), OK);
        ck_assert_str_eq(hex_text(buf_bytes(&out)), literals[n].hex);
        ck_assert_int_eq(type_validate(type, buf_bytes(&out)), OK);
        ck_assert_str_eq(printed(type, buf_bytes(&out)),
                         literals[n].again ? literals[n].again : literals[n].text);
    }
}
END_TEST

static const struct {
    enum type_kind kind;
    const char *text;
} wrong[] = {
    { TYPE_INT, "" },
    { TYPE_INT, "2147483648" },
    { TYPE_INT, "1.0" },
    { TYPE_INT, "+1" },
    { TYPE_INT, " 1" },
    { TYPE_BIGINT, "9223372036854775808" },
    { TYPE_BIGINT, "-9223372036854775809" },
    { TYPE_BIGINT, "99999999999999999999" },
    { TYPE_TINYINT, "128" },
    { TYPE_VARINT, "" },
    { TYPE_VARINT, "-" },
    { TYPE_VARINT, "1a" },
    { TYPE_DECIMAL, "." },
    { TYPE_DECIMAL, "1e" },
    { TYPE_DECIMAL, "1e99999999999" },
    { TYPE_DECIMAL, "1E+2147483649" },
    { TYPE_DECIMAL, "NaN" },
    { TYPE_DOUBLE, "0x10" },
    { TYPE_DOUBLE, "inf" },
    { TYPE_DOUBLE, "" },
    { TYPE_FLOAT, "1,5" },
    { TYPE_BOOLEAN, "yes" },
    { TYPE_BOOLEAN, "tru" },
    { TYPE_BLOB, "00" },
    { TYPE_BLOB, "0x0" },
    { TYPE_BLOB, "0xgg" },
    { TYPE_INET, "" },
    { TYPE_INET, "1.2.3" },
    { TYPE_INET, "::g" },
    { TYPE_UUID, "f47ac10b58cc4372a5670e02b2c3d479" },
    { TYPE_TIMEUUID, "f47ac10b-58cc-4372-a567-0e02b2c3d479" },
    { TYPE_ASCII, "\xc3\xa9" },
    { TYPE_TEXT, "\xc3" },
    { TYPE_DATE, "2023-02-29" },
    { TYPE_DATE, "2023-13-01" },
    { TYPE_DATE, "4294967296" },
    { TYPE_DATE, "5881580-07-12" },
    { TYPE_DATE, "-5877641-06-22" },
    { TYPE_DATE, "2024-02" },
    { TYPE_TIME, "24:00:00" },
    { TYPE_TIME, "12:00" },
    { TYPE_TIME, "12:60:00" },
    { TYPE_TIME, "12:00:00." },
    { TYPE_TIME, "12:00:00.0000000001" },
    { TYPE_TIME, "86400000000000" },
    { TYPE_TIMESTAMP, "now" },
    { TYPE_TIMESTAMP, "2024-01-01T" },
    { TYPE_TIMESTAMP, "2024-01-01 25:00" },
    { TYPE_TIMESTAMP, "2024-01-01 12:00 PST" },
    { TYPE_TIMESTAMP, "2024-01-01 12:00+1:00" },
    { TYPE_TIMESTAMP, "2024-01-01 12:00+25:00" },
    { TYPE_TIMESTAMP, "999999999-01-01" },
    { TYPE_TIMESTAMP, "9223372036854775808" },
    { TYPE_DURATION, "" },
    { TYPE_DURATION, "-" },
    { TYPE_DURATION, "5" },
    { TYPE_DURATION, "5x" },
    { TYPE_DURATION, "1d1y" },
    { TYPE_DURATION, "1d1d" },
    { TYPE_DURATION, "2147483648d" },
    { TYPE_DURATION, "999999999999y" },
    { TYPE_DURATION, "9223372036854775807h" },
    { TYPE_DURATION, "P" },
    { TYPE_DURATION, "P1" },
    { TYPE_DURATION, "PT" },
    { TYPE_DURATION, "P1DT" },
    { TYPE_DURATION, "P1H" },
};

START_TEST(a_text_that_is_no_literal_of_the_type_is_refused)
{
    for (size_t n = 0; n < array_count(wrong); n++) {
        struct buf out = buf_in(&arena);
        struct bytes text = bytes_text(wrong[n].text);
        ck_assert_int_eq(type_parse_value(type_native(wrong[n].kind), text, &out), ERR_INVALID);
        ck_assert_uint_eq(out.size, 0);
    }
}
END_TEST

START_TEST(a_literal_cut_at_any_byte_does_no_harm)
{
    for (size_t n = 0; n < array_count(literals); n++) {
        for (size_t size = 0; size < strlen(literals[n].text); size++) {
            struct buf out = { 0 };
            struct bytes cut = arena_copy(&arena, bytes_of(literals[n].text, size));
            enum err err = type_parse_value(type_native(literals[n].kind), cut, &out);
            if (err == OK)
                ck_assert_int_eq(type_validate(type_native(literals[n].kind), buf_bytes(&out)), OK);
            else
                ck_assert_uint_eq(out.size, 0);
            buf_deinit(&out);
        }
    }
}
END_TEST

START_TEST(a_random_value_printed_and_parsed_compares_as_equal)
{
    for (size_t n = 0; n < array_count(sample_kinds); n++) {
        const struct type *type = type_native(sample_kinds[n]);
        struct prng prng = { (uint64_t)n };
        for (int i = 0; i < 2000; i++) {
            struct buf value = { 0 }, again = { 0 };
            sample_value(&prng, type->kind, &value);
            struct buf text = buf_in(&arena);
            type_print_value(type, buf_bytes(&value), &text);
            if (text.size || type->kind == TYPE_TEXT || type->kind == TYPE_ASCII) {
                ck_assert_int_eq(type_parse_value(type, buf_bytes(&text), &again), OK);
                ck_assert_int_eq(type_compare(type, buf_bytes(&value), buf_bytes(&again)), 0);
            } else {
                ck_assert_uint_eq(value.size, 0);
            }
            arena_reset(&arena);
            buf_deinit(&value);
            buf_deinit(&again);
        }
    }
}
END_TEST

START_TEST(long_numbers_survive_both_ways)
{
    struct prng prng = { 7 };
    const struct type *type = type_native(TYPE_VARINT);
    for (size_t size = 1; size <= 4096; size = size * 2 - size / 3 + 1) {
        struct buf value = { 0 }, again = { 0 };
        sample_bytes(&prng, size, &value);
        const char *text = printed(type, buf_bytes(&value));
        ck_assert_int_eq(type_parse_value(type, bytes_text(text), &again), OK);
        ck_assert_int_eq(type_compare(type, buf_bytes(&value), buf_bytes(&again)), 0);
        buf_deinit(&value);
        buf_deinit(&again);
    }
}
END_TEST

START_TEST(a_number_beyond_the_limit_is_refused)
{
    char digits[20001];
    struct buf out = buf_in(&arena);
    memset(digits, '9', sizeof digits);
    ck_assert_int_eq(type_parse_value(type_native(TYPE_VARINT), bytes_of(digits, 9863), &out), OK);
    ck_assert_uint_eq(out.size, 4096);
    for (size_t size = 9864; size < sizeof digits; size += 777) {
        struct bytes text = bytes_of(digits, size);
        buf_clear(&out);
        ck_assert_int_eq(type_parse_value(type_native(TYPE_VARINT), text, &out), ERR_INVALID);
        ck_assert_int_eq(type_parse_value(type_native(TYPE_DECIMAL), text, &out), ERR_INVALID);
        ck_assert_uint_eq(out.size, 0);
    }
}
END_TEST

static const struct {
    const char *type, *hex, *text;
} compounds[] = {
    { "list<int>", "00000002000000040000000100000004fffffffe", "[1, -2]" },
    { "list<int>", "00000000", "[]" },
    { "set<text>", "000000010000000469742773", "{'it''s'}" },
    { "map<text, boolean>", "0000000100000001610000000101", "{'a': True}" },
    { "tuple<int, text>", "0000000400000007", "(7, null)" },
    { "tuple<int, blob>", "ffffffff0000000100", "(null, 0x00)" },
    { "vector<float, 2>", "3f80000040200000", "[1, 2.5]" },
    { "vector<text, 2>", "01610162", "['a', 'b']" },
    { "list<frozen<map<date, uuid>>>",
      "000000010000002000000001000000048000000000000010f47ac10b58cc4372a5670e02b2c3d479",
      "[{'1970-01-01': f47ac10b-58cc-4372-a567-0e02b2c3d479}]" },
    { "list<int>", "00000001", "0x00000001" },
    { "int", "ff", "0xff" },
    { "'org.example.Some'", "0001", "0x0001" },
};

START_TEST(compound_values_are_printed_as_literals)
{
    for (size_t n = 0; n < array_count(compounds); n++) {
        const struct type *type;
        ck_assert_int_eq(type_parse(&arena, bytes_text(compounds[n].type), &type), OK);
        ck_assert_str_eq(printed(type, sample_hex(&arena, compounds[n].hex)), compounds[n].text);
    }
}
END_TEST

START_TEST(a_user_type_is_printed_with_its_fields)
{
    const struct type *parts[] = { type_native(TYPE_INT), type_native(TYPE_TEXT) };
    const char *fields[] = { "a", "b" };
    struct type type = { .kind = TYPE_UDT,
                         .is_frozen = true,
                         .parts_count = 2,
                         .parts = parts,
                         .keyspace = "ks",
                         .name = "Pair",
                         .fields = fields };
    struct buf out = buf_in(&arena);
    ck_assert_str_eq(printed(&type, sample_hex(&arena, "0000000400000007")), "{a: 7, b: null}");
    type_print(&type, &out);
    ck_assert_mem_eq(out.data, "frozen<\"Pair\">", out.size);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("type_text");
    TCase *tcase = tcase_create("text");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_literal_becomes_bytes_and_is_printed_again);
    tcase_add_test(tcase, a_literal_cut_at_any_byte_does_no_harm);
    tcase_add_test(tcase, a_text_that_is_no_literal_of_the_type_is_refused);
    tcase_add_test(tcase, a_random_value_printed_and_parsed_compares_as_equal);
    tcase_add_test(tcase, long_numbers_survive_both_ways);
    tcase_add_test(tcase, a_number_beyond_the_limit_is_refused);
    tcase_add_test(tcase, compound_values_are_printed_as_literals);
    tcase_add_test(tcase, a_user_type_is_printed_with_its_fields);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
