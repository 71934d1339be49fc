/* test_comparable_back.c - from keys and bounds back to values: values of every type, nested ones
 * too, make the same bytes again; bytes that are cut or flipped never do harm.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/comparable.h"
#include "sample_type.h"

#include <check.h>

enum { COLUMNS = 3, TABLES = 600 };

static struct arena arena;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

static struct table *some_table(struct prng *prng)
{
    static const enum type_kind kinds[COLUMNS] = { TYPE_INT, TYPE_INT, TYPE_INT };
    unsigned reversed = (unsigned)prng_below(prng, 8);
    struct table *table = sample_table(1, COLUMNS, kinds, reversed);
    for (size_t i = 0; i < COLUMNS; i++)
        table->columns[1 + i].type = sample_type(prng, &arena, 3, true, true);
    return table;
}

static void some_values(struct prng *prng, const struct table *table, struct bytes out[COLUMNS])
{
    for (size_t i = 0; i < COLUMNS; i++) {
        struct buf value = buf_in(&arena);
        sample_value_of(prng, table_clustering(table, i)->type, true, &value);
        out[i] = clustering_value(buf_bytes(&value));
        if (prng_chance(prng, 5))
            out[i] = (struct bytes){ 0 };
    }
}

/* Takes raw values apart. */
static size_t raw_values(struct bytes raw, struct bytes out[COLUMNS])
{
    struct cursor c = cursor_of(raw);
    size_t count = 0;
    for (; cursor_left(&c); count++) {
        ck_assert_uint_lt(count, COLUMNS);
        out[count] = clustering_take(&c);
    }
    ck_assert(!c.bad);
    return count;
}

START_TEST(values_of_a_key_make_the_same_key_again)
{
    for (uint64_t n = 0; n < TABLES; n++) {
        struct prng prng = { n };
        struct table *table = some_table(&prng);
        struct bytes values[COLUMNS], back[COLUMNS];
        struct buf key = buf_in(&arena), raw = buf_in(&arena), again = buf_in(&arena);
        some_values(&prng, table, values);
        size_t count = prng_below(&prng, COLUMNS + 1);
        if (count == COLUMNS)
            comparable_key(table, values, &key);
        else if (n % 2)
            comparable_below(table, values, count, &key);
        else
            comparable_above(table, values, count, &key);
        ck_assert_int_eq(comparable_values(table, buf_bytes(&key), &raw), OK);
        ck_assert_uint_eq(raw_values(buf_bytes(&raw), back), count);
        for (size_t i = 0; i < count; i++)
            ck_assert(!back[i].data ||
                      type_validate(table_clustering(table, i)->type, back[i]) == OK);
        if (count == COLUMNS)
            comparable_key(table, back, &again);
        else if (n % 2)
            comparable_below(table, back, count, &again);
        else
            comparable_above(table, back, count, &again);
        ck_assert_msg(bytes_equal(buf_bytes(&key), buf_bytes(&again)), "table %llu",
                      (unsigned long long)n);
        table_unref(&table);
    }
}
END_TEST

START_TEST(decimals_at_the_ends_of_their_scale_come_back)
{
    static const char *const texts[] = {
        "1E+2147483648", "-1E+2147483648", "10E+2147483647", "1E-2147483647", "0", "1.000", "-99.50"
    };
    static const enum type_kind kind[] = { TYPE_DECIMAL };
    for (unsigned reversed = 0; reversed < 2; reversed++) {
        struct table *table = sample_table(1, 1, kind, reversed);
        for (size_t i = 0; i < array_count(texts); i++) {
            struct buf key = buf_in(&arena), raw = buf_in(&arena), again = buf_in(&arena);
            struct bytes value = sample_parse(&arena, type_native(TYPE_DECIMAL), texts[i]);
            struct bytes back[COLUMNS];
            comparable_key(table, &value, &key);
            ck_assert_int_eq(comparable_values(table, buf_bytes(&key), &raw), OK);
            ck_assert_uint_eq(raw_values(buf_bytes(&raw), back), 1);
            comparable_key(table, back, &again);
            ck_assert_msg(bytes_equal(buf_bytes(&key), buf_bytes(&again)), "%s", texts[i]);
        }
        table_unref(&table);
    }
}
END_TEST

/* The values are some of the columns', and make all of these bytes but the last. */
static void check_made_again(const struct table *table, const struct bytes *values, size_t count,
                             struct bytes key)
{
    struct buf again = buf_in(&arena);
    for (size_t i = 0; i < count; i++) {
        const struct column *column = table_clustering(table, i);
        ck_assert(!values[i].data || type_validate(column->type, values[i]) == OK);
        comparable_component(column->type, column->is_reversed, values[i], &again);
    }
    ck_assert(bytes_equal(buf_bytes(&again), bytes_of(key.data, key.size - 1)));
}

START_TEST(bytes_that_are_cut_or_flipped_are_refused_or_make_themselves_again)
{
    for (uint64_t n = 0; n < TABLES / 4; n++) {
        struct prng prng = { n };
        struct table *table = some_table(&prng);
        struct bytes values[COLUMNS];
        struct buf key = buf_in(&arena), raw = buf_in(&arena);
        some_values(&prng, table, values);
        comparable_key(table, values, &key);
        for (size_t at = 0; at < key.size; at++) {
            uint8_t *copy = (uint8_t *)arena_copy(&arena, buf_bytes(&key)).data;
            struct bytes back[COLUMNS];
            copy[at] ^= (uint8_t)(1 + prng_below(&prng, 255));
            buf_clear(&raw);
            if (comparable_values(table, bytes_of(copy, key.size), &raw) != OK)
                continue;
            size_t count = raw_values(buf_bytes(&raw), back);
            check_made_again(table, back, count, bytes_of(copy, key.size));
        }
        ck_assert_int_eq(comparable_values(table, bytes_of(key.data, 0), &raw), ERR_CORRUPT);
        struct bytes more = bytes_text("\x3a\x3a\x3a\x3a\x38");
        ck_assert_int_eq(comparable_values(table, more, &raw), ERR_CORRUPT);
        table_unref(&table);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("comparable_back");
    TCase *tcase = tcase_create("comparable_back");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, values_of_a_key_make_the_same_key_again);
    tcase_add_test(tcase, decimals_at_the_ends_of_their_scale_come_back);
    tcase_add_test(tcase, bytes_that_are_cut_or_flipped_are_refused_or_make_themselves_again);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
