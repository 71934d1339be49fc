/* test_comparable.c - the bytes of clustering keys order as type_compare orders the values, in both
 * directions, alone and in a row; bounds stand where they should; type_compare itself stands on
 * lists written down in Cassandra's order.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <check.h>

/* For the innermost loops: ck_assert itself takes a microsecond. */
#define expect(x) ((x) ? (void)0 : ck_abort_msg("%s", #x))

enum { VALUES = 100 };

static struct arena arena;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

static int sign(int n) { return (n > 0) - (n < 0); }

/* Ascending literals of a kind; '=' before one: equal to the one before.  "" is the empty value. */
static const struct {
    enum type_kind kind;
    const char *literals[24];
} lists[] = {
    { TYPE_INT, { "", "-2147483648", "-1", "0", "1", "2147483647" } },
    { TYPE_BIGINT, { "", "-9223372036854775808", "-1", "0", "9223372036854775807" } },
    { TYPE_TINYINT, { "-128", "-1", "0", "127" } },
    { TYPE_SMALLINT, { "-32768", "-1", "0", "32767" } },
    { TYPE_TIMESTAMP, { "", "-1", "0", "1970-01-02" } },
    { TYPE_DATE, { "-0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29" } },
    { TYPE_TIME, { "00:00:00", "00:00:01", "23:59:59" } },
    { TYPE_BOOLEAN, { "", "false", "true" } },
    { TYPE_TEXT, { "", "A", "a", "aa", "ab", "b", "\xc3\xa9" } },
    { TYPE_BLOB, { "0x", "0x00", "0x0000", "0x0001", "0x00ff", "0x01", "0xff", "0xff00" } },
    { TYPE_INET, { "", "0.0.0.0", "::", "::1", "1.2.3.4", "102:304::", "1.2.3.5", "255.0.0.0" } },
    { TYPE_DOUBLE,
      { "", "-Infinity", "-1e+300", "-1", "-1e-300", "-0", "0", "1e-320", "0.5", "Infinity",
        "NaN" } },
    { TYPE_FLOAT, { "", "-Infinity", "-1", "-0", "0", "1e-40", "0.5", "Infinity", "NaN" } },
    { TYPE_VARINT,
      { "", "-340282366920938463463374607431768211456", "-65536", "-32769", "-32768", "-129",
        "-128", "-2", "-1", "0", "1", "127", "128", "255", "256", "32767", "32768",
        "340282366920938463463374607431768211456" } },
    { TYPE_DECIMAL, { "",       "-1E+2147483648",
                      "-100",   "-99.5",
                      "-10",    "=-10.00",
                      "=-1E+1", "-1",
                      "-0.1",   "-1E-2147483647",
                      "0",      "=0.000",
                      "=0E+5",  "1E-2147483647",
                      "0.1",    "0.12",
                      "0.123",  "0.2",
                      "1",      "=1.000",
                      "10",     "=1E1",
                      "11",     "1E+2147483648" } },
    { TYPE_UUID, /* version 0, then 1 by time, then 4 by bytes */
      { "", "ffffffff-ffff-0fff-ffff-ffffffffffff", "ffffffff-0000-1000-0000-000000000000",
        "00000000-0001-1000-0000-000000000000", "00000000-0000-1001-0000-000000000000",
        "00000000-0000-1001-7f00-000000000000", "00000000-0000-1001-8000-000000000000",
        "00000000-0000-4000-0000-000000000000", "00000000-0001-4000-0000-000000000000",
        "10000000-0000-4000-0000-000000000000" } },
    { TYPE_TIMEUUID, /* by time, then bytes with their sign */
      { "", "ffffffff-0000-1000-0000-000000000000", "00000000-0001-1000-0000-000000000000",
        "00000000-0000-1001-8000-000000000000", "00000000-0000-1001-ff00-000000000000",
        "00000000-0000-1001-0080-000000000000", "00000000-0000-1001-0000-000000000000",
        "00000000-0000-1001-007f-000000000000", "00000000-0000-1001-7f00-000000000000" } },
};

START_TEST(values_compare_as_in_cassandra)
{
    for (size_t n = 0; n < array_count(lists); n++) {
        const struct type *type = type_native(lists[n].kind);
        struct bytes values[24];
        int rank[24] = { 0 };
        size_t count = 0;
        for (; count < 24 && lists[n].literals[count]; count++) {
            const char *text = lists[n].literals[count];
            bool is_same = text[0] == '=';
            rank[count] = count ? rank[count - 1] + !is_same : 0;
            values[count] =
                *text ? sample_parse(&arena, type, text + is_same) : (struct bytes){ 0 };
        }
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < count; j++)
                ck_assert_msg(sign(type_compare(type, values[i], values[j])) ==
                                  sign(rank[i] - rank[j]),
                              "%s and %s", lists[n].literals[i], lists[n].literals[j]);
    }
}
END_TEST

START_TEST(every_nan_is_the_same_and_so_is_every_true)
{
    const struct type *type = type_native(TYPE_FLOAT), *boolean = type_native(TYPE_BOOLEAN);
    struct bytes a = sample_hex(&arena, "7fc00000"), b = sample_hex(&arena, "ffc00001");
    struct bytes infinity = sample_hex(&arena, "7f800000");
    ck_assert_int_eq(type_compare(type, a, b), 0);
    ck_assert_int_gt(type_compare(type, b, infinity), 0);
    a = sample_hex(&arena, "01"), b = sample_hex(&arena, "02");
    ck_assert_int_eq(type_compare(boolean, a, b), 0);
}
END_TEST

START_TEST(numbers_with_redundant_bytes_are_the_same_number)
{
    const struct type *type = type_native(TYPE_VARINT);
    struct buf x = buf_in(&arena), y = buf_in(&arena);
    struct bytes a = sample_hex(&arena, "ffffff80"), b = sample_hex(&arena, "80");
    ck_assert_int_eq(type_compare(type, a, b), 0);
    comparable_component(type, false, a, &x);
    comparable_component(type, false, b, &y);
    ck_assert(bytes_equal(buf_bytes(&x), buf_bytes(&y)));
}
END_TEST

static bool is_prefix(struct bytes a, struct bytes b)
{
    return a.size <= b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* One kind, both directions: all pairs. */
START_TEST(components_order_as_the_values_do)
{
    for (size_t n = 0; n < 2 * array_count(sample_kinds); n++) {
        const struct type *type = type_native(sample_kinds[n / 2]);
        bool is_reversed = n % 2;
        struct prng prng = { (uint64_t)n };
        struct bytes values[VALUES], components[VALUES];
        for (size_t i = 0; i < VALUES; i++) {
            struct buf value = buf_in(&arena), component = buf_in(&arena);
            sample_value(&prng, type->kind, &value);
            values[i] = clustering_value(buf_bytes(&value));
            comparable_component(type, is_reversed, values[i], &component);
            components[i] = buf_bytes(&component);
        }
        for (size_t i = 0; i < VALUES; i++)
            for (size_t j = 0; j < VALUES; j++) {
                int order = sign(type_compare(type, values[i], values[j]));
                int bytes = sign(bytes_compare(components[i], components[j]));
                expect(bytes == (is_reversed ? -order : order));
                expect(order == 0 || !is_prefix(components[i], components[j]));
            }
    }
}
END_TEST

static int compare_rows(const struct table *table, const struct bytes *a, const struct bytes *b,
                        size_t count)
{
    int c = 0;
    for (size_t i = 0; c == 0 && i < count; i++) {
        const struct column *column = table_clustering(table, i);
        c = sign(type_compare(column->type, a[i], b[i]));
        c = column->is_reversed ? -c : c;
    }
    return c;
}

/* Three columns of random kinds and directions: keys against keys, keys against bounds. */
START_TEST(keys_and_bounds_order_column_by_column)
{
    for (size_t n = 0; n < 40; n++) {
        enum { ROWS = 24 };
        struct prng prng = { (uint64_t)n };
        enum type_kind kinds[3];
        for (size_t i = 0; i < 3; i++) {
            uint64_t which = prng_below(&prng, array_count(sample_kinds));
            kinds[i] = sample_kinds[which];
        }
        struct table *table = sample_table(1, 3, kinds, (unsigned)prng_below(&prng, 8));
        struct buf low = buf_in(&arena), high = buf_in(&arena);
        struct bytes rows[ROWS][3];
        struct bytes keys[ROWS];
        for (size_t i = 0; i < ROWS; i++) {
            struct buf key = buf_in(&arena);
            for (size_t k = 0; k < 3; k++) {
                struct buf value = buf_in(&arena);
                uint64_t from = prng_next(&prng);
                if (i && from % 2) /* share what stands before, so that later columns decide */
                    rows[i][k] = rows[from / 2 % i][k];
                else
                    sample_value(&prng, kinds[k], &value),
                        rows[i][k] = clustering_value(buf_bytes(&value));
            }
            comparable_key(table, rows[i], &key);
            keys[i] = buf_bytes(&key);
        }
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < ROWS; j++) {
                expect(sign(bytes_compare(keys[i], keys[j])) ==
                       compare_rows(table, rows[i], rows[j], 3));
                for (size_t count = 0; count <= 3; count++) {
                    buf_clear(&low);
                    buf_clear(&high);
                    int order = compare_rows(table, rows[i], rows[j], count);
                    comparable_below(table, rows[j], count, &low);
                    comparable_above(table, rows[j], count, &high);
                    expect(sign(bytes_compare(keys[i], buf_bytes(&low))) == (order ? order : 1));
                    expect(sign(bytes_compare(keys[i], buf_bytes(&high))) == (order ? order : -1));
                }
            }
        table_unref(&table);
    }
}
END_TEST

START_TEST(a_table_without_clustering_has_one_key)
{
    struct table *table = sample_table(1, 0, NULL, 0);
    struct buf key = buf_in(&arena);
    comparable_key(table, NULL, &key);
    ck_assert_uint_eq(key.size, 1);
    ck_assert_uint_eq(key.data[0], 0x38);
    table_unref(&table);
}
END_TEST

START_TEST(null_comes_first_in_both_directions_and_the_static_row_before_all)
{
    static const enum type_kind kinds[] = { TYPE_INT, TYPE_BLOB };
    for (unsigned reversed = 0; reversed < 4; reversed++) {
        struct table *table = sample_table(1, 2, kinds, reversed);
        struct bytes null = { 0 }, empty = bytes_text(""), int_min = sample_hex(&arena, "80000000");
        struct bytes rows[][2] = {
            { null, null }, { null, empty }, { empty, null }, { empty, empty }, { int_min, null }
        };
        struct buf fixed = buf_in(&arena);
        comparable_static_key(&fixed);
        ck_assert_uint_eq(fixed.size, 1);
        for (size_t i = 0; i < array_count(rows); i++) {
            struct buf key = buf_in(&arena), low = buf_in(&arena), high = buf_in(&arena);
            comparable_key(table, rows[i], &key);
            comparable_below(table, rows[i], 0, &low);
            ck_assert_int_lt(bytes_compare(buf_bytes(&fixed), buf_bytes(&low)), 0);
            for (size_t j = 0; j < array_count(rows); j++) {
                struct buf other = buf_in(&arena);
                comparable_key(table, rows[j], &other);
                int order = 0;
                for (unsigned c = 0; c < 2 && !order; c++) {
                    struct bytes a = rows[i][c], b = rows[j][c];
                    order = (a.data != NULL) - (b.data != NULL);
                    if (!order && a.size != b.size)
                        order = (a.size > b.size) == !(reversed >> c & 1) ? 1 : -1;
                }
                ck_assert_int_eq(sign(bytes_compare(buf_bytes(&key), buf_bytes(&other))), order);
            }
            comparable_above(table, rows[i], 1, &high);
            ck_assert(comparable_bound_is_above(buf_bytes(&high)));
            ck_assert(!comparable_bound_is_above(buf_bytes(&low)));
        }
        table_unref(&table);
    }
}
END_TEST

START_TEST(raw_clusterings_tell_null_from_empty)
{
    static const char *const values[] = { NULL, "", "a", "abc" };
    struct buf raw = buf_in(&arena);
    for (size_t i = 0; i < array_count(values); i++)
        clustering_put(&raw, values[i] ? bytes_text(values[i]) : (struct bytes){ 0 });
    ck_assert(bytes_equal(buf_bytes(&raw), sample_hex(&arena, "c1000000016103616263")));
    struct cursor c = cursor_of(buf_bytes(&raw));
    for (size_t i = 0; i < array_count(values); i++) {
        struct bytes value = clustering_take(&c);
        ck_assert_int_eq(value.data != NULL, values[i] != NULL);
        ck_assert(!values[i] || bytes_equal(value, bytes_text(values[i])));
    }
    ck_assert(!c.bad && cursor_left(&c) == 0);
    c = cursor_of(sample_hex(&arena, "c10001")); /* longer than null */
    clustering_take(&c);
    ck_assert(c.bad);
}
END_TEST

START_TEST(lexical_uuids_are_two_signed_numbers)
{
    static const char *const ascending[] = {
        "",
        "80000000000000000000000000000000",
        "ffffffffffffffff7fffffffffffffff",
        "00000000000000008000000000000000",
        "00000000000000000000000000000000",
        "00000000000000000000000000000001",
        "7fffffffffffffffffffffffffffffff",
    };
    struct type type = { .kind = TYPE_CUSTOM, .name = TYPE_CLASS_LEXICAL_UUID };
    for (size_t i = 0; i < array_count(ascending); i++)
        for (size_t j = 0; j < array_count(ascending); j++) {
            struct buf x = buf_in(&arena), y = buf_in(&arena);
            struct bytes a = clustering_value(sample_hex(&arena, ascending[i]));
            struct bytes b = clustering_value(sample_hex(&arena, ascending[j]));
            comparable_component(&type, false, a, &x);
            comparable_component(&type, false, b, &y);
            int order = (i > j) - (i < j);
            ck_assert_int_eq(sign(type_compare(&type, a, b)), order);
            ck_assert_int_eq(sign(bytes_compare(buf_bytes(&x), buf_bytes(&y))), order);
        }
}
END_TEST

START_TEST(partitions_order_by_signed_token_then_key)
{
    static const struct {
        int64_t token;
        const char *key;
    } ascending[] = { { INT64_MIN + 1, "z" }, { -1, "a" }, { 0, "a" }, { 0, "aa" }, { 0, "b" },
                      { INT64_MAX, "" } };
    struct bytes before = { 0 };
    for (size_t i = 0; i < array_count(ascending); i++) {
        struct buf out = buf_in(&arena);
        comparable_partition(ascending[i].token, bytes_text(ascending[i].key), &out);
        ck_assert_int_lt(bytes_compare(before, buf_bytes(&out)), 0);
        before = buf_bytes(&out);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("comparable");
    TCase *tcase = tcase_create("order");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, values_compare_as_in_cassandra);
    tcase_add_test(tcase, every_nan_is_the_same_and_so_is_every_true);
    tcase_add_test(tcase, numbers_with_redundant_bytes_are_the_same_number);
    tcase_add_test(tcase, components_order_as_the_values_do);
    tcase_add_test(tcase, keys_and_bounds_order_column_by_column);
    tcase_add_test(tcase, a_table_without_clustering_has_one_key);
    tcase_add_test(tcase, null_comes_first_in_both_directions_and_the_static_row_before_all);
    tcase_add_test(tcase, raw_clusterings_tell_null_from_empty);
    tcase_add_test(tcase, lexical_uuids_are_two_signed_numbers);
    tcase_add_test(tcase, partitions_order_by_signed_token_then_key);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
