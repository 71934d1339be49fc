/* test_row_cells.c - rows with elements of multi-cell columns, columns' deletions, static rows and
 * counters: merged in any order, shadowed and sorted, against the slow statement of sample_cells.h.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/row_counter.h"
#include "sample_cells.h"

#include <check.h>

static struct arena arena;
static struct table *table;
static void setup(void)
{
    arena_init(&arena, 65536);
    table = sample_wide_table(false);
}
static void teardown(void)
{
    table_unref(&table);
    arena_deinit(&arena);
}

enum { ROWS = 4, SEEDS = 400 };

static void draw_rows(struct prng *prng, bool is_static, struct row rows[ROWS])
{
    for (size_t i = 0; i < ROWS; i++) {
        rows[i] = (struct row){ .key = bytes_text("8") };
        sample_wide_row(prng, &arena, table, is_static, &rows[i]);
    }
}

START_TEST(rows_merged_in_any_order_are_what_the_rules_say)
{
    for (uint64_t n = 0; n < SEEDS; n++) {
        struct prng prng = { n };
        struct row rows[ROWS], expected;
        draw_rows(&prng, n % 3 == 0, rows);
        struct deletion shadow = sample_deletion(&prng, 40), none = deletion_none();
        sample_wide_merge(&arena, table, rows, ROWS, shadow, &expected);
        for (int turn = 0; turn < 6; turn++) {
            size_t first = prng_below(&prng, ROWS);
            struct row *merged = row_merge(&arena, table, &rows[first], &rows[first], none);
            for (size_t i = 1; i < ROWS; i++) {
                const struct row *next = &rows[(first + i) % ROWS];
                bool is_turned = prng_chance(&prng, 50), is_early = prng_chance(&prng, 50);
                merged = row_merge(&arena, table, is_turned ? next : merged,
                                   is_turned ? merged : next, is_early ? shadow : none);
            }
            merged = row_merge(&arena, table, merged, &rows[prng_below(&prng, ROWS)], shadow);
            ck_assert_msg(sample_row_equal(merged, &expected), "seed %llu", (unsigned long long)n);
            ck_assert_int_eq(row_shadow(merged, shadow), !sample_row_is_nothing(&expected));
            ck_assert(sample_row_equal(merged, &expected));
        }
        arena_reset(&arena);
    }
}
END_TEST

START_TEST(a_row_that_is_shadowed_alone_is_what_the_rules_say)
{
    for (uint64_t n = 0; n < SEEDS; n++) {
        struct prng prng = { n };
        struct row rows[ROWS], expected;
        draw_rows(&prng, n % 3 == 0, rows);
        struct deletion shadow = sample_deletion(&prng, 60);
        sample_wide_merge(&arena, table, rows, 1, shadow, &expected);
        ck_assert_int_eq(row_shadow(&rows[0], shadow), !sample_row_is_nothing(&expected));
        ck_assert(sample_row_equal(&rows[0], &expected));
        ck_assert_int_eq(row_has_anything(&rows[0]), !sample_row_is_nothing(&expected));
        arena_reset(&arena);
    }
}
END_TEST

START_TEST(cells_in_any_order_are_sorted_and_places_made_one)
{
    for (uint64_t n = 0; n < SEEDS; n++) {
        struct prng prng = { n };
        struct row rows[ROWS], expected, mixed = { .key = bytes_text("8") };
        draw_rows(&prng, false, rows);
        for (size_t i = 0; i < ROWS; i++)
            rows[i].liveness.timestamp = TIMESTAMP_NONE, rows[i].deletion = deletion_none();
        mixed.liveness.timestamp = TIMESTAMP_NONE, mixed.deletion = deletion_none();
        mixed.cells = arena_array(&arena, struct cell, ROWS * WIDE_CELLS_MAX);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t c = 0; c < rows[i].cells_count; c++) {
                size_t at = prng_below(&prng, mixed.cells_count + 1);
                mixed.cells[mixed.cells_count++] = mixed.cells[at];
                mixed.cells[at] = rows[i].cells[c];
            }
        sample_wide_merge(&arena, table, rows, ROWS, deletion_none(), &expected);
        row_sort(&arena, table, &mixed);
        ck_assert_uint_eq(mixed.cells_count, expected.cells_count);
        for (size_t i = 0; i < mixed.cells_count; i++)
            ck_assert(sample_cell_equal(&mixed.cells[i], &expected.cells[i]));
        arena_reset(&arena);
    }
}
END_TEST

START_TEST(cells_of_a_column_are_found_together)
{
    for (uint64_t n = 0; n < SEEDS; n++) {
        struct prng prng = { n };
        struct row rows[ROWS];
        draw_rows(&prng, false, rows);
        size_t seen = 0;
        for (uint32_t column = 0; column < 15; column++) {
            size_t count;
            const struct cell *cells = row_cells(&rows[0], column, &count);
            ck_assert(cells == (count ? &rows[0].cells[seen] : NULL));
            ck_assert(row_cell(&rows[0], column) == cells);
            for (size_t i = 0; i < count; i++)
                ck_assert_uint_eq(cells[i].column, column);
            seen += count;
        }
        ck_assert_uint_eq(seen, rows[0].cells_count);
        arena_reset(&arena);
    }
}
END_TEST

START_TEST(elements_of_a_column_that_was_dropped_keep_their_order)
{
    struct dropped_column dropped = { .name = "g", .number = 9, .kind = COLUMN_REGULAR };
    dropped.type = table->columns[WIDE_COLUMNS - 1].type;
    size_t seen = 0;
    for (uint64_t n = 0; n < SEEDS; n++) {
        struct prng prng = { n };
        struct row rows[ROWS], expected;
        draw_rows(&prng, false, rows);
        sample_wide_merge(&arena, table, rows, ROWS, deletion_none(), &expected);
        table->columns_count--;
        table->dropped = &dropped, table->dropped_count = 1;
        struct row *merged = &rows[0];
        for (size_t i = 1; i < ROWS; i++)
            merged = row_merge(&arena, table, merged, &rows[i], deletion_none());
        table->columns_count++;
        table->dropped_count = 0;
        row_shadow(merged, deletion_none());
        ck_assert(sample_row_equal(merged, &expected));
        size_t count;
        row_cells(merged, 9, &count);
        seen += count > 1;
        arena_reset(&arena);
    }
    ck_assert_uint_gt(seen, 20);
}
END_TEST

static struct cell counted(int64_t timestamp, const char *hex)
{
    return (struct cell){ .timestamp = timestamp, .column = 1, .value = sample_hex(&arena, hex) };
}
#define SHARE(id, clock, count)         \
    id "000000000000000000000000000000" \
       "00000000000000" clock "00000000000000" count

static const struct cell *counters_under(const struct cell *a, const struct cell *b,
                                         struct deletion shadow)
{
    struct table *counters = sample_table(1, 0, NULL, 0);
    struct row x = { .key = bytes_text("8"), .liveness = { TIMESTAMP_NONE, 0, 0 } }, y;
    x.deletion = deletion_none();
    y = x;
    struct cell left[] = { *a }, right[] = { *b };
    x.cells = left, y.cells = right, x.cells_count = y.cells_count = 1;
    for (size_t i = 1; i < counters->columns_count; i++)
        counters->columns[i].type = type_native(TYPE_COUNTER);
    const struct row *ab = row_merge(&arena, counters, &x, &y, shadow);
    const struct row *ba = row_merge(&arena, counters, &y, &x, shadow);
    ck_assert(sample_row_equal(ab, ba) && ab->cells_count == 1);
    table_unref(&counters);
    return &ab->cells[0];
}

static const struct cell *counters_merged(const struct cell *a, const struct cell *b)
{
    return counters_under(a, b, deletion_none());
}

START_TEST(what_a_deletion_covers_has_no_part_in_a_counter)
{
    struct cell old = counted(5, "00018000" SHARE("0a", "01", "07"));
    struct cell young = counted(9, "00018000" SHARE("0b", "01", "03"));
    struct cell dead = { .timestamp = 5, .column = 1, .seconds = 4, .kind = CELL_DELETED };
    struct deletion between = { 5, 8 };
    ck_assert(sample_cell_equal(counters_under(&old, &young, between), &young));
    ck_assert(sample_cell_equal(counters_under(&dead, &young, between), &young));
}
END_TEST

START_TEST(counters_are_merged_and_their_tombstones_win)
{
    struct cell a = counted(5, "00018000" SHARE("0a", "01", "07"));
    struct cell b = counted(9, "00018000" SHARE("0b", "01", "03"));
    struct cell ab = counted(9, "000280008001" SHARE("0a", "01", "07") SHARE("0b", "01", "03"));
    struct cell dead = { .timestamp = 1, .column = 1, .seconds = 4, .kind = CELL_DELETED };
    struct cell older = { .timestamp = 0, .column = 1, .seconds = 9, .kind = CELL_DELETED };
    struct cell empty = { .timestamp = 1, .column = 1 };
    ck_assert(sample_cell_equal(counters_merged(&a, &b), &ab));
    ck_assert_int_eq(counter_total(ab.value), 10);
    ck_assert(sample_cell_equal(counters_merged(&a, &dead), &dead));
    ck_assert(sample_cell_equal(counters_merged(&older, &dead), &dead));
    const struct cell *left_out = counters_merged(&a, &empty);
    ck_assert(left_out->timestamp == 5 && left_out->value.size == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("row_cells");
    TCase *tcase = tcase_create("rules");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, rows_merged_in_any_order_are_what_the_rules_say);
    tcase_add_test(tcase, a_row_that_is_shadowed_alone_is_what_the_rules_say);
    tcase_add_test(tcase, cells_in_any_order_are_sorted_and_places_made_one);
    tcase_add_test(tcase, cells_of_a_column_are_found_together);
    tcase_add_test(tcase, elements_of_a_column_that_was_dropped_keep_their_order);
    tcase_add_test(tcase, counters_are_merged_and_their_tombstones_win);
    tcase_add_test(tcase, what_a_deletion_covers_has_no_part_in_a_counter);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
