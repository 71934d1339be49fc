/* test_sweep_row.c - results of a sweep: predicted, kept and read again, drawn. */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "command/sweep_model.h"
#include "command/sweep_page.h"
#include "command/tree.h"

#include <check.h>
#include <math.h>

static struct arena arena;
static struct report report;
static struct sweep sweep;
static struct sweep_result result, again;

static void sweep_begin(void)
{
    struct bytes text;
    const char *path = SOURCE_DIR "/config/sweeps/small.yaml";
    arena_reset(&arena);
    ck_assert_int_eq(sweep_text(path, &arena, &text, &report), OK);
    ck_assert_msg(sweep_read(&sweep, &arena, path, text, 0, &report) == OK, "%s", report.text);
}

/* Every row predicted; measured ones with figures of their own, different in every place. */
static void result_make(bool is_measured)
{
    result = (struct sweep_result){ .fingerprint = sweep.fingerprint };
    for (size_t i = 0; i < sweep.settings_count; i++) {
        struct sweep_row *row = &result.rows[result.rows_count++];
        *row = (struct sweep_row){ .name = sweep.settings[i].name, .is_measured = is_measured };
        row->flush_bytes = arena_array(&arena, double, sweep_flushes(&sweep));
        row->flushes_count = sweep_flushes(&sweep);
        sweep_model_flushes(&sweep, &sweep.settings[i], row->flush_bytes);
        sweep_model(&sweep, &sweep.settings[i], row->flush_bytes, &row->predicted);
        row->measured = row->predicted;
        for (size_t k = 0; k < row->measured.count; k++) {
            row->measured.at[k].warm_p50_us = 10.5 + (double)k;
            row->measured.at[k].spread[2] = 0.25;
        }
        sweep_stops_mean(&row->measured);
        row->after_major = row->measured.at[0];
        row->seconds = 1.5;
    }
}

static const struct sweep_figures *predicted(const char *name)
{
    for (size_t i = 0; i < result.rows_count; i++)
        if (strcmp(result.rows[i].name, name) == 0)
            return &result.rows[i].predicted.mean;
    ck_abort_msg("no row %s", name);
    return NULL;
}

START_TEST(a_prediction_has_the_order_of_the_strategies)
{
    sweep_begin();
    result_make(false);
    const struct sweep_figures *t4 = predicted("UCS T4"), *n = predicted("UCS N");
    const struct sweep_figures *l10 = predicted("UCS L10"), *lcs = predicted("LCS");
    ck_assert_double_lt(t4->rewrites_per_byte, n->rewrites_per_byte);
    ck_assert_double_lt(n->rewrites_per_byte, l10->rewrites_per_byte);
    ck_assert_double_lt(n->rewrites_per_byte, lcs->rewrites_per_byte);
    ck_assert_double_gt(t4->sstables_per_read, l10->sstables_per_read);
    ck_assert_double_ge(l10->sstables_per_read, 1);
    ck_assert_double_gt(t4->space_over_floor, 1);
}
END_TEST

/* A row is some 90 bytes, as a flush of it has it; the estimate need not be closer than a third. */
START_TEST(sizes_of_flushes_are_estimated_from_the_rows)
{
    double flushes[65];
    sweep_begin();
    sweep_model_flushes(&sweep, &sweep.settings[0], flushes);
    ck_assert_double_gt(flushes[0] / 3390, 60);
    ck_assert_double_lt(flushes[0] / 3390, 125);
    ck_assert_double_gt(flushes[64] / 16667, 12);
    ck_assert_double_lt(flushes[64] / 16667, 26);
}
END_TEST

static void same(const struct sweep_figures *a, const struct sweep_figures *b)
{
    const double *x = (const double *)(const void *)a, *y = (const double *)(const void *)b;
    for (size_t i = 0; i < sizeof *a / sizeof *x; i++)
        ck_assert(x[i] == y[i] || (isnan(x[i]) && isnan(y[i])));
}

START_TEST(results_that_were_written_are_read_again)
{
    struct buf json = { 0 };
    sweep_begin();
    result_make(true);
    sweep_result_json(&sweep, &result, &json);
    ck_assert(sweep_result_read(&sweep, &arena, buf_bytes(&json), &again));
    ck_assert_uint_eq(again.rows_count, result.rows_count);
    for (size_t i = 0; i < again.rows_count; i++) {
        const struct sweep_row *a = &again.rows[i], *b = &result.rows[i];
        ck_assert_str_eq(a->name, b->name);
        ck_assert(a->is_measured);
        same(&a->measured.mean, &b->measured.mean);
        same(&a->after_major, &b->after_major);
        for (size_t k = 0; k < sweep.stops_count; k++) {
            same(&a->measured.at[k], &b->measured.at[k]);
            same(&a->predicted.at[k], &b->predicted.at[k]);
        }
        for (size_t k = 0; k < 65; k++)
            ck_assert(a->flush_bytes[k] == b->flush_bytes[k]);
    }
    buf_deinit(&json);
}
END_TEST

START_TEST(results_of_another_sweep_or_damaged_ones_are_not_gone_on_with)
{
    struct buf json = { 0 };
    sweep_begin();
    result_make(true);
    sweep_result_json(&sweep, &result, &json);
    sweep.fingerprint++;
    ck_assert(!sweep_result_read(&sweep, &arena, buf_bytes(&json), &again));
    sweep.fingerprint--;
    ck_assert(!sweep_result_read(&sweep, &arena, bytes_of(json.data, json.size / 2), &again));
    ck_assert(!sweep_result_read(&sweep, &arena, bytes_text(""), &again));
    ck_assert(!sweep_result_read(&sweep, &arena, bytes_text("{\"rows\":[1,2]}"), &again));
    buf_clear(&json);
    result.rows[1].flushes_count--; /* a row that is not whole */
    sweep_result_json(&sweep, &result, &json);
    ck_assert(sweep_result_read(&sweep, &arena, buf_bytes(&json), &again));
    ck_assert_uint_eq(again.rows_count, result.rows_count - 1);
    buf_deinit(&json);
}
END_TEST

START_TEST(rows_that_are_there_twice_or_of_no_setting_are_left_out)
{
    struct buf json = { 0 };
    sweep_begin();
    result_make(true);
    size_t count = result.rows_count;
    for (size_t i = count; i < SWEEP_SETTINGS_MAX; i++)
        result.rows[result.rows_count++] = result.rows[0];
    result.rows[1].name = "nobody's";
    sweep_result_json(&sweep, &result, &json);
    ck_assert(sweep_result_read(&sweep, &arena, buf_bytes(&json), &again));
    ck_assert_uint_eq(again.rows_count, count - 1);
    buf_deinit(&json);
}
END_TEST

START_TEST(what_was_measured_or_cannot_be_read_has_taken_its_time)
{
    struct buf json = { 0 };
    sweep_begin();
    result_make(true);
    sweep_result_json(&sweep, &result, &json);
    ck_assert(sweep_result_took_time(&arena, buf_bytes(&json)));
    ck_assert(sweep_result_took_time(&arena, bytes_of(json.data, json.size / 2)));
    ck_assert(sweep_result_took_time(&arena, bytes_text("{}")));
    ck_assert(!sweep_result_took_time(&arena, bytes_text("")));
    buf_clear(&json);
    result_make(false);
    sweep_result_json(&sweep, &result, &json);
    ck_assert(!sweep_result_took_time(&arena, buf_bytes(&json)));
    buf_deinit(&json);
}
END_TEST

/* The contract with other people's scripts. */
START_TEST(the_json_has_the_names_that_were_promised)
{
    static const char *const names[] = {
        "name",  "rewrites_per_byte", "sstables_per_read", "space_over_floor",
        "stops", "after_major",       "predicted"
    };
    struct buf json = { 0 };
    sweep_begin();
    result_make(true);
    sweep_result_json(&sweep, &result, &json);
    const struct tree *tree = tree_parse(&arena, buf_bytes(&json));
    ck_assert_ptr_nonnull(tree);
    for (const struct tree *row = tree_get(tree, "rows")->first; row; row = row->next)
        for (size_t i = 0; i < array_count(names); i++)
            ck_assert_msg(tree_get(row, names[i]) != NULL, "%s", names[i]);
    buf_deinit(&json);
}
END_TEST

static size_t times(const char *text, const char *word)
{
    size_t count = 0;
    for (; (text = strstr(text, word)) != NULL; text++)
        count++;
    return count;
}

START_TEST(the_page_is_whole_and_needs_nothing_from_elsewhere)
{
    struct buf page = { 0 };
    sweep_begin();
    sweep.title = "a <b> & \"c\"";
    result_make(_i == 1);
    sweep_page(&sweep, &result, &page);
    buf_put_u8(&page, 0);
    const char *text = (const char *)page.data;
    ck_assert(strncmp(text, "<!doctype html>", 15) == 0);
    ck_assert_ptr_nonnull(strstr(text, "</html>"));
    ck_assert_ptr_null(strstr(text, "<script"));
    ck_assert_ptr_null(strstr(text, "<link"));
    ck_assert_ptr_null(strstr(text, "url("));
    ck_assert_uint_eq(times(text, "http"), times(text, "xmlns=\"http://www.w3.org/2000/svg\""));
    ck_assert_ptr_nonnull(strstr(text, "a &lt;b> &amp; &quot;c&quot;"));
    ck_assert_uint_eq(times(text, "<svg"), _i == 1 ? 3 : 2);
    ck_assert_uint_eq(times(text, "<svg"), times(text, "</svg>"));
    ck_assert_uint_eq(times(text, "<svg"), times(text, "<desc"));
    ck_assert_uint_eq(times(text, "class=\"measured\""), _i == 1 ? 5 : 0);
    ck_assert_uint_eq(times(text, "class=\"predicted\""), 5);
    ck_assert_ptr_null(strstr(text, "nan"));
    ck_assert_ptr_null(strstr(text, "inf\""));
    buf_deinit(&page);
}
END_TEST

START_TEST(a_page_on_which_nothing_was_rewritten_has_numbers)
{
    struct buf page = { 0 };
    sweep_begin();
    result_make(true);
    for (size_t i = 0; i < result.rows_count; i++)
        result.rows[i].measured.mean.rewrites_per_byte =
            result.rows[i].predicted.mean.rewrites_per_byte = 0;
    sweep_page(&sweep, &result, &page);
    buf_put_u8(&page, 0);
    ck_assert_ptr_null(strstr((const char *)page.data, "nan"));
    buf_deinit(&page);
}
END_TEST

START_TEST(a_page_without_rows_is_a_page)
{
    struct buf page = { 0 };
    sweep_begin();
    result = (struct sweep_result){ 0 };
    sweep_page(&sweep, &result, &page);
    buf_put_u8(&page, 0);
    ck_assert_ptr_nonnull(strstr((const char *)page.data, "</html>"));
    buf_deinit(&page);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep row");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_prediction_has_the_order_of_the_strategies);
    tcase_add_test(all, sizes_of_flushes_are_estimated_from_the_rows);
    tcase_add_test(all, results_that_were_written_are_read_again);
    tcase_add_test(all, results_of_another_sweep_or_damaged_ones_are_not_gone_on_with);
    tcase_add_test(all, rows_that_are_there_twice_or_of_no_setting_are_left_out);
    tcase_add_test(all, what_was_measured_or_cannot_be_read_has_taken_its_time);
    tcase_add_test(all, the_json_has_the_names_that_were_promised);
    tcase_add_loop_test(all, the_page_is_whole_and_needs_nothing_from_elsewhere, 0, 2);
    tcase_add_test(all, a_page_on_which_nothing_was_rewritten_has_numbers);
    tcase_add_test(all, a_page_without_rows_is_a_page);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
