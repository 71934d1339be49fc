/* test_sweep_file.c - the sweeps that are shipped, their stream and their scaled options; and files
 * that are wrong. */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "command/sweep.h"

#include <check.h>
#include <math.h>

static struct arena arena;
static struct report report;
static struct sweep sweep;

static const char *const shipped[] = { "rum", "small", "scaling", "granularity", "chunks", "ring" };

static void shipped_read(const char *name, uint64_t rows)
{
    struct bytes text;
    arena_reset(&arena);
    char *path = arena_printf(&arena, SOURCE_DIR "/config/sweeps/%s.yaml", name);
    ck_assert_int_eq(sweep_text(path, &arena, &text, &report), OK);
    ck_assert_msg(sweep_read(&sweep, &arena, path, text, rows, &report) == OK, "%s", report.text);
}

START_TEST(every_shipped_sweep_is_read)
{
    shipped_read(shipped[_i], 0);
    ck_assert_uint_ge(sweep.settings_count, 4);
    ck_assert_uint_ge(sweep.stops_count, 2);
    ck_assert_uint_eq(sweep.stops[sweep.stops_count - 1], sweep_flushes(&sweep));
    ck_assert_uint_eq(sweep.chosen_count, 2);
    ck_assert_uint_eq(sweep.stand.columns_count, 30);
}
END_TEST

START_TEST(the_parts_of_a_stream_are_all_of_it_and_even)
{
    shipped_read("small", 0);
    uint64_t at[2] = { 0, 0 }, first, count;
    for (uint64_t flush = 0; flush < 65; flush++) {
        bool is_update = sweep_part(&sweep, flush, &first, &count);
        ck_assert_int_eq(is_update, flush >= 59);
        ck_assert_uint_eq(first, at[is_update]);
        ck_assert_uint_ge(count, is_update ? 16666 : 3389);
        ck_assert_uint_le(count, is_update ? 16667 : 3390);
        at[is_update] += count;
    }
    ck_assert_uint_eq(at[0], 200000);
    ck_assert_uint_eq(at[1], 100000);
}
END_TEST

/* Drawn with repetition: of 100,000 draws among 200,000 rows 1 - e^-0.5 of them are hit. */
START_TEST(updates_are_drawn_from_all_rows)
{
    static bool is_hit[200000];
    double hit = 0;
    shipped_read("small", 0);
    for (uint64_t i = 0; i < sweep.updates; i++) {
        uint64_t row = sweep_update_row(&sweep, i);
        ck_assert_uint_lt(row, sweep.rows);
        hit += !is_hit[row];
        is_hit[row] = true;
    }
    ck_assert_double_lt(fabs(hit / 200000 - (1 - exp(-0.5))), 0.005);
}
END_TEST

static const struct compaction_params *params_of(const char *name, struct catalog *catalog)
{
    for (size_t i = 0; i < sweep.settings_count; i++) {
        if (strcmp(sweep.settings[i].name, name) != 0)
            continue;
        ck_assert_msg(sweep_catalog(&sweep, &sweep.settings[i], catalog, &report) == OK, "%s",
                      report.text);
        return &catalog_table(catalog, "stand", "documents")->params->compaction;
    }
    ck_abort_msg("no setting %s", name);
    return NULL;
}

START_TEST(sizes_are_scaled_and_nothing_else_is)
{
    static const double mib = 1 << 20;
    struct catalog catalog;
    shipped_read("small", 0);
    const struct compaction_params *p = params_of("UCS T4", &catalog);
    ck_assert_double_eq_tol(compaction_size(p, "min_sstable_size", 0), 6 * mib, 1);
    ck_assert_double_eq_tol(compaction_size(p, "target_sstable_size", 0), 61.44 * mib, 1);
    ck_assert_ptr_null(compaction_option(p, "flush_size_override"));
    ck_assert_str_eq(compaction_option(p, "scaling_parameters"), "T4");
    catalog_deinit(&catalog);
    p = params_of("STCS", &catalog);
    ck_assert_double_eq_tol(compaction_number(p, "min_sstable_size", 0), 3 * mib, 1);
    ck_assert_str_eq(compaction_option(p, "min_threshold"), "4");
    catalog_deinit(&catalog);
    p = params_of("LCS", &catalog);
    ck_assert_double_eq(compaction_number(p, "sstable_size_in_mb", 0), 10);
    catalog_deinit(&catalog);
}
END_TEST

START_TEST(other_rows_scale_everything_with_them)
{
    struct catalog catalog;
    shipped_read("small", 50000);
    ck_assert_uint_eq(sweep.rows, 50000);
    ck_assert_uint_eq(sweep.updates, 25000);
    ck_assert_uint_eq(sweep.stand.documents_per_register, 25);
    ck_assert_uint_eq(sweep_flushes(&sweep), 65);
    ck_assert_double_eq_tol(sweep.scale, 0.015, 1e-12);
    const struct compaction_params *p = params_of("UCS L10", &catalog);
    ck_assert_double_eq_tol(compaction_size(p, "min_sstable_size", 0), 1572864, 1);
    catalog_deinit(&catalog);
}
END_TEST

#define TABLE                                                                           \
    "table: {keyspace: k, table: t, seed: 1, documents_per_register: 10, columns: [{"   \
    "name: r, type: int, is: register}, {name: d, type: bigint, is: document}, {name: " \
    "v, type: int, cardinality: 9}]}\n"
#define LOAD "rows: 1000\nload: {flushes: 10}\n"
#define UPDATE "update: {rows: 100, flushes: 2, columns: [v]}\n"
#define NAMED "settings:\n  - name: a\n"
#define CLASS "    compaction: {class: UnifiedCompactionStrategy"

static const struct {
    const char *text, *report;
} wrong[] = {
    { "rowz: 5", "f.yaml:1:1: rowz: is not known here; allowed: title, table, on, rows, docu" },
    { "rows: 5", "f.yaml:1:1: the file: has no table" },
    { "table: nowhere.yaml", "nowhere.yaml: No such file or directory" },
    { TABLE "rows: many", "f.yaml:2:7: rows: 'many' is not a whole number; allowed: 1 to 1000000" },
    { TABLE "rows: 0", "f.yaml:2:7: rows: '0' is out of range" },
    { TABLE "on: ring", "f.yaml:2:5: on: 'ring' is not known; allowed: engine, ring-1, ring-3" },
    { TABLE "rows: 5", "f.yaml:1:1: the file: has no load" },
    { TABLE "rows: 5\nload: {flush: 4}", "f.yaml:3:8: flush: is not known here; allowed: flush" },
    { TABLE LOAD "scale: 200", "f.yaml:4:8: scale: '200' is out of range; allowed: 0.0001 to 100" },
    { TABLE LOAD "update: {rows: 9}", "f.yaml:4:9: update: has no flushes" },
    { TABLE LOAD "update: {rows: 9, flushes: 3, columns: [w]}",
      "f.yaml:4:41: columns: 'w' is no column of the table" },
    { TABLE LOAD "update: {rows: 9, flushes: 3, columns: [d]}",
      "f.yaml:4:41: columns: 'd' is no column of the table that an update can write" },
    { TABLE LOAD "stops: [5, 11]", "f.yaml:4:12: stops: '11' is out of range; allowed: 1 to 10" },
    { TABLE LOAD "stops: [5, 5]", "f.yaml:4:12: stops: must ascend" },
    { TABLE LOAD "reads: {hot: 5}", "f.yaml:4:9: hot: is not known here; allowed: warm, cold" },
    { TABLE LOAD "reads: {warm: 0}", "f.yaml:4:15: warm: '0' is out of range; allowed: 1 to" },
    { TABLE "rows: 5\nload: {flushes: 6}\n", "f.yaml:2:7: rows: 5 are fewer than there are fl" },
    { TABLE LOAD "update: {rows: 1, flushes: 2, columns: [v]}", "f.yaml:2:7: rows: 1000 are few" },
    { TABLE LOAD UPDATE, "f.yaml:1:1: the file: has no settings" },
    { TABLE LOAD "settings: []", "f.yaml:4:11: settings: is an empty list" },
    { TABLE LOAD "settings: [{nam: a}]", "f.yaml:4:13: nam: is not known here; allowed: name, p" },
    { TABLE LOAD NAMED "  - name: a", "f.yaml:6:11: name: 'a' is the name of two settings" },
    { TABLE LOAD NAMED "    partition: row",
      "f.yaml:6:16: partition: 'row' is not known; allowed" },
    { TABLE LOAD NAMED "    compaction: LCS", "f.yaml:6:17: compaction: wants a block of names" },
    { TABLE LOAD NAMED CLASS ", scaling_parameters: T1}", "f.yaml:5:5: settings: " },
    { TABLE LOAD NAMED CLASS ", min_threshold: 4}", "f.yaml:5:5: settings: " },
    { TABLE LOAD NAMED CLASS ", scaling_parameters: \"T4' OR\"}",
      "f.yaml:6:72: scaling_parameters: must not hold quotes" },
    { TABLE LOAD NAMED "    bloom_filter_fp_chance: 2", "f.yaml:6:29: bloom_filter_fp_chance: '2" },
    { TABLE LOAD "scale: 0.0005\n" NAMED CLASS "}", "f.yaml:6:5: settings: scaled by 0.0005: " },
};

START_TEST(what_is_wrong_is_said_with_its_place)
{
    arena_reset(&arena);
    report_clear(&report);
    ck_assert_int_eq(sweep_read(&sweep, &arena, "f.yaml", bytes_text(wrong[_i].text), 0, &report),
                     ERR_CONFIG);
    ck_assert_msg(strncmp(report.text, wrong[_i].report, strlen(wrong[_i].report)) == 0, "%s",
                  report.text);
}
END_TEST

START_TEST(a_file_that_is_short_has_its_defaults)
{
    arena_reset(&arena);
    ck_assert_msg(sweep_read(&sweep, &arena, "f.yaml", bytes_text(TABLE LOAD NAMED), 0, &report) ==
                      OK,
                  "%s", report.text);
    ck_assert_uint_eq(sweep.stops_count, 1);
    ck_assert_uint_eq(sweep.stops[0], 10);
    ck_assert_uint_eq(sweep.nodes, 0);
    ck_assert_uint_eq(sweep.updates, 0);
    ck_assert_double_eq(sweep.scale, 1);
    ck_assert_int_eq(sweep.settings[0].partition, STAND_PER_REGISTER);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep file");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, every_shipped_sweep_is_read, 0, (int)array_count(shipped));
    tcase_add_test(all, the_parts_of_a_stream_are_all_of_it_and_even);
    tcase_add_test(all, updates_are_drawn_from_all_rows);
    tcase_add_test(all, sizes_are_scaled_and_nothing_else_is);
    tcase_add_test(all, other_rows_scale_everything_with_them);
    tcase_add_loop_test(all, what_is_wrong_is_said_with_its_place, 0, (int)array_count(wrong));
    tcase_add_test(all, a_file_that_is_short_has_its_defaults);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
