/* test_row.c - who wins: Cassandra's rules as a list, and as laws (the order of merging, and how
 * often something is merged, make no difference).
 */
// SPDX-License-Identifier: Apache-2.0
#include "sample_row.h"

#include <check.h>

static struct arena arena;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

#define LIVE(time, text)                                                                         \
    {                                                                                            \
        .timestamp = time, .kind = CELL_LIVE, .value = {(const uint8_t *)text, sizeof text - 1 } \
    }
#define EXPIRING(time, life, end, text)                                                   \
    {                                                                                     \
        .timestamp = time, .kind = CELL_EXPIRING, .ttl = life, .seconds = end, .value = { \
            (const uint8_t *)text,                                                        \
            sizeof text - 1                                                               \
        }                                                                                 \
    }
#define DELETED(time, when)                                      \
    {                                                            \
        .timestamp = time, .kind = CELL_DELETED, .seconds = when \
    }

static const struct {
    struct cell winner, loser;
} contests[] = {
    { LIVE(2, "a"), LIVE(1, "z") },
    { LIVE(2, "a"), DELETED(1, 9) },
    { LIVE(0, "a"), DELETED(-1, 9) },
    { DELETED(1, 0), LIVE(1, "z") },
    { DELETED(1, 0), EXPIRING(1, 5, 9, "z") },
    { EXPIRING(1, 5, 0, "a"), LIVE(1, "z") },
    { EXPIRING(1, 5, 9, "a"), EXPIRING(1, 5, 8, "z") },
    { EXPIRING(1, 5, 9, "b"), EXPIRING(1, 5, 9, "a") },
    { EXPIRING(1, 6, 9, "a"), EXPIRING(1, 5, 9, "a") },
    { DELETED(1, 9), DELETED(1, 8) },
    { DELETED(1, UINT32_MAX), DELETED(1, 8) },
    { LIVE(1, "b"), LIVE(1, "a") },
    { LIVE(1, "ab"), LIVE(1, "a") },
    { LIVE(1, "\xff"), LIVE(1, "\x7f") },
    { LIVE(1, "a"), LIVE(1, "") },
    { LIVE(INT64_MAX, ""), LIVE(INT64_MIN, "a") },
};

START_TEST(one_cell_wins_over_another)
{
    for (size_t n = 0; n < array_count(contests); n++) {
        const struct cell *winner = &contests[n].winner, *loser = &contests[n].loser;
        ck_assert_int_gt(cell_compare(winner, loser), 0);
        ck_assert_int_lt(cell_compare(loser, winner), 0);
        ck_assert_int_eq(cell_compare(winner, winner), 0);
        ck_assert_int_eq(cell_compare(loser, loser), 0);
    }
}
END_TEST

START_TEST(cells_are_in_one_order)
{
    for (size_t n = 0; n < 5; n++) {
        enum { CELLS = 24 };
        struct prng prng = { (uint64_t)n };
        struct cell cells[CELLS];
        for (size_t i = 0; i < CELLS; i++)
            cells[i] = sample_cell(&prng, 0);
        for (size_t i = 0; i < CELLS; i++)
            for (size_t j = 0; j < CELLS; j++) {
                int c = cell_compare(&cells[i], &cells[j]);
                ck_assert((c == 0) == sample_cell_equal(&cells[i], &cells[j]));
                for (size_t k = 0; k < CELLS; k++) {
                    if (c >= 0 && cell_compare(&cells[j], &cells[k]) >= 0)
                        ck_assert_int_ge(cell_compare(&cells[i], &cells[k]), 0);
                }
            }
    }
}
END_TEST

START_TEST(liveness_and_deletions_follow_time_and_then_the_stronger_one)
{
    static const struct liveness ascending[] = {
        { TIMESTAMP_NONE, 0, 0 }, { 1, 0, 0 }, { 1, 9, 5 }, { 1, 5, 6 }, { 1, 6, 6 }, { 2, 0, 0 }
    };
    for (size_t i = 1; i < array_count(ascending); i++) {
        struct liveness a = ascending[i - 1], b = ascending[i];
        struct liveness newer = liveness_newer(a, b), also = liveness_newer(b, a);
        ck_assert_mem_eq(&newer, &b, sizeof b);
        ck_assert_mem_eq(&also, &b, sizeof b);
    }
    struct deletion early = { 1, 9 }, late = { 2, 0 }, later = { 2, 1 };
    ck_assert_int_eq(deletion_newer(early, late).timestamp, 2);
    ck_assert_uint_eq(deletion_newer(later, late).seconds, 1);
    ck_assert_uint_eq(deletion_newer(late, later).seconds, 1);
    ck_assert(deletion_is_none(deletion_newer(deletion_none(), deletion_none())));
}
END_TEST

START_TEST(what_expires_lives_until_its_second)
{
    struct cell cell = EXPIRING(1, 5, 100, "a");
    ck_assert(cell_is_live(&cell, 99));
    ck_assert(!cell_is_live(&cell, 100));
    ck_assert(liveness_is_live((struct liveness){ 1, 5, 100 }, 99));
    ck_assert(!liveness_is_live((struct liveness){ 1, 5, 100 }, 100));
    ck_assert(!liveness_is_live((struct liveness){ TIMESTAMP_NONE, 0, 0 }, 0));
    ck_assert(liveness_is_live((struct liveness){ 0, 0, 0 }, INT64_MAX));
}
END_TEST

static struct row row_of(struct liveness liveness, struct deletion deletion, struct cell *cells,
                         size_t count)
{
    return (struct row){ .key = bytes_text("8"),
                         .liveness = liveness,
                         .deletion = deletion,
                         .cells_count = count,
                         .cells = cells };
}
static const struct liveness no_liveness = { TIMESTAMP_NONE, 0, 0 };

START_TEST(a_row_lives_by_its_insert_or_by_a_cell)
{
    struct cell cell = LIVE(5, ""), dead = DELETED(5, 0);
    struct row row = row_of(no_liveness, deletion_none(), &cell, 1);
    ck_assert(row_is_live(&row, 0));
    row.deletion = (struct deletion){ 5, 0 };
    ck_assert(!row_is_live(&row, 0));
    row.deletion.timestamp = 4;
    ck_assert(row_is_live(&row, 0));
    row = row_of(no_liveness, deletion_none(), &dead, 1);
    ck_assert(!row_is_live(&row, 0));
    row.liveness = (struct liveness){ 5, 0, 0 };
    ck_assert(row_is_live(&row, 0));
    row.deletion = (struct deletion){ 5, 0 };
    ck_assert(!row_is_live(&row, 0));
}
END_TEST

START_TEST(a_shadow_takes_what_is_not_newer)
{
    struct cell cells[] = { LIVE(5, "a"), LIVE(6, "b"), DELETED(5, 1) };
    cells[1].column = 1, cells[2].column = 2;
    struct row row = row_of((struct liveness){ 5, 0, 0 }, (struct deletion){ 4, 9 }, cells, 3);
    ck_assert(row_shadow(&row, (struct deletion){ 5, 0 }));
    ck_assert_uint_eq(row.cells_count, 1);
    ck_assert_uint_eq(row.cells[0].column, 1);
    ck_assert_int_eq(row.liveness.timestamp, TIMESTAMP_NONE);
    ck_assert(deletion_is_none(row.deletion));
    ck_assert(!row_shadow(&row, (struct deletion){ 6, 0 }));

    row = row_of(no_liveness, (struct deletion){ 5, 1 }, NULL, 0);
    ck_assert(row_shadow(&row, (struct deletion){ 5, 0 })); /* it says more than the shadow */
    ck_assert(!row_shadow(&row, (struct deletion){ 5, 1 }));
}
END_TEST

START_TEST(merging_in_any_order_gives_what_the_rules_say)
{
    struct table *table = sample_table(1, 0, NULL, 0);
    for (size_t n = 0; n < 100; n++) {
        enum { COLUMNS = 5, ROWS = 4 };
        struct prng prng = { (uint64_t)n };
        struct row rows[ROWS], expected;
        for (size_t i = 0; i < ROWS; i++) {
            rows[i] = (struct row){ .key = bytes_text("8") };
            sample_content(&prng, &arena, 0, COLUMNS, &rows[i]);
        }
        struct deletion shadow = sample_deletion(&prng, 40);
        struct sample_rows all = { rows, ROWS, 0, COLUMNS };
        sample_merge(&arena, &all, shadow, &expected);
        struct deletion none = deletion_none();
        for (int turn = 0; turn < 8; turn++) {
            size_t first = prng_below(&prng, ROWS);
            struct row *merged = row_merge(&arena, table, &rows[first], &rows[first], none);
            ck_assert(sample_row_equal(merged, row_merge(&arena, table, merged, merged, none)));
            for (size_t i = 1; i < ROWS; i++) {
                const struct row *next = &rows[(first + i) % ROWS];
                bool is_turned = prng_chance(&prng, 50), is_early = prng_chance(&prng, 50);
                merged = row_merge(&arena, table, is_turned ? next : merged,
                                   is_turned ? merged : next, is_early ? shadow : none);
            }
            merged = row_merge(&arena, table, merged, &rows[prng_below(&prng, ROWS)], shadow);
            ck_assert(sample_row_equal(merged, &expected));
            ck_assert_int_eq(row_shadow(merged, shadow),
                             expected.cells_count || !deletion_is_none(expected.deletion) ||
                                 expected.liveness.timestamp != TIMESTAMP_NONE);
            ck_assert(sample_row_equal(merged, &expected));
        }
    }
    table_unref(&table);
}
END_TEST

START_TEST(a_cell_is_found_by_its_column)
{
    struct cell cells[40];
    for (uint32_t i = 0; i < array_count(cells); i++)
        cells[i] = (struct cell){ .column = 3 * i + 1 };
    struct row row = row_of(no_liveness, deletion_none(), cells, array_count(cells));
    for (uint32_t column = 0; column < 125; column++) {
        const struct cell *cell = row_cell(&row, column);
        ck_assert((cell != NULL) == (column % 3 == 1 && column < 120));
        ck_assert(!cell || cell->column == column);
    }
    row.cells_count = 0;
    ck_assert_ptr_null(row_cell(&row, 1));
}
END_TEST

START_TEST(equal_keys_of_different_bytes_keep_the_same_one_in_both_orders)
{
    static const enum type_kind kinds[] = { TYPE_DECIMAL, TYPE_TEXT };
    struct table *table = sample_table(1, 2, kinds, 0);
    struct row a = { .liveness = { 1, 0, 0 }, .deletion = deletion_none() }, b = a;
    struct bytes values[2] = { sample_parse(&arena, type_native(TYPE_DECIMAL), "1.0"),
                               bytes_text("x") };
    sample_place(table, &arena, values, &a);
    values[0] = sample_parse(&arena, type_native(TYPE_DECIMAL), "1.00");
    sample_place(table, &arena, values, &b);
    ck_assert(bytes_equal(row_clustering(&b, 1), bytes_text("x")));
    ck_assert(bytes_equal(row_clustering(&b, 0), values[0]));
    const struct row *ab = row_merge(&arena, table, &a, &b, deletion_none());
    const struct row *ba = row_merge(&arena, table, &b, &a, deletion_none());
    ck_assert(sample_row_equal(ab, ba));
    table_unref(&table);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("row");
    TCase *tcase = tcase_create("reconciliation");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, one_cell_wins_over_another);
    tcase_add_test(tcase, cells_are_in_one_order);
    tcase_add_test(tcase, liveness_and_deletions_follow_time_and_then_the_stronger_one);
    tcase_add_test(tcase, what_expires_lives_until_its_second);
    tcase_add_test(tcase, a_row_lives_by_its_insert_or_by_a_cell);
    tcase_add_test(tcase, a_shadow_takes_what_is_not_newer);
    tcase_add_test(tcase, merging_in_any_order_gives_what_the_rules_say);
    tcase_add_test(tcase, a_cell_is_found_by_its_column);
    tcase_add_test(tcase, equal_keys_of_different_bytes_keep_the_same_one_in_both_orders);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
