/* test_compactor.c - a compactor over a store: what it does after each flush is what the forecast
 * says; how it is changed, slowed, stopped and refused; what it remembers.
 */
// SPDX-License-Identifier: Apache-2.0
#include "rig_rows.h"

static const uint64_t second = 1000000000ull;

/* ---- sequences ---- */

struct told {
    size_t compactions;
};

static void count_step(void *context, const struct forecast_step *step)
{
    struct told *told = context;
    (void)step;
    told->compactions++;
}

static const struct {
    const char *compaction;
    size_t flushes;
} sequences[] = {
    { "Unified; scaling_parameters: T4", 20 },
    { "Unified; scaling_parameters: N", 17 },
    { "Unified; scaling_parameters: L4", 17 },
    { "Unified; scaling_parameters: T2, L5", 12 },
    { "SizeTiered", 17 },
    { "Leveled", 6 },
    { "TimeWindow", 9 },
};

START_TEST(after_each_flush_it_does_what_the_forecast_says)
{
    const struct compaction_params *params =
        &rig_table("t", sequences[_i].compaction)->params->compaction;
    struct forecast_options options = { .params = params,
                                        .scale = rig.options.scale,
                                        .now_seconds = io_wall(rig.stage.io) / 1000000,
                                        .gc_grace_seconds = 864000 };
    struct forecast *forecast = forecast_new(&options);
    struct told told = { 0 };
    for (size_t i = 0; i < sequences[_i].flushes; i++) {
        uint64_t before = rig_bytes("t");
        compactor_enable(rig.compactor, NULL, false);
        rig_file("t");
        uint64_t flushed = rig_bytes("t") - before;
        compactor_enable(rig.compactor, NULL, true);
        ck_assert_int_eq(rig_settle(), OK);
        forecast_flush(forecast, flushed, 0, count_step, &told);
        const struct compaction_file *files;
        ck_assert_uint_eq(rig_counts().completed, told.compactions);
        ck_assert_uint_eq(rig_count("t"), forecast_files(forecast, &files));
    }
    ck_assert_uint_gt(told.compactions, 0);
    struct forecast_figures figures;
    forecast_figures(forecast, &figures);
    double written = (double)compactor_written(rig.compactor, &rig_find("t")->id);
    ck_assert_double_ge(written, 0.95 * (double)figures.written_bytes);
    ck_assert_double_le(written, 1.05 * (double)figures.written_bytes);
    forecast_free(&forecast);
}
END_TEST

START_TEST(rows_are_all_there_afterwards)
{
    struct stage_look look = { .column = 1 };
    rig_table("t", "Unified; scaling_parameters: L4");
    for (size_t i = 0; i < 8; i++) {
        rig_file("t");
        ck_assert_int_eq(rig_settle(), OK);
    }
    ck_assert_uint_gt(rig_counts().completed, 3);
    for (uint64_t i = 0; i < rig.rows; i++) {
        char key[24];
        snprintf(key, sizeof key, "key%llu", (unsigned long long)i);
        ck_assert(stage_find(&rig.stage, rig_find("t"), key, &look));
        ck_assert_uint_eq(look.value.size, ROW_BYTES);
    }
    buf_deinit(&look.value);
}
END_TEST

/* ---- what may be changed ---- */

START_TEST(alter_takes_effect_at_the_next_pick)
{
    rig_table("t", "Unified; scaling_parameters: T4");
    for (size_t i = 0; i < 3; i++) {
        rig_file("t");
        ck_assert_int_eq(rig_settle(), OK);
    }
    ck_assert_uint_eq(rig_count("t"), 3);
    struct compaction_due before = rig_due("t");
    rig_alter("t", "Unified; scaling_parameters: L4");
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_count("t"), 1);
    struct compaction_due after = rig_due("t"); /* T4 and L4 have the same bounds: f is 4 */
    ck_assert_double_eq_tol(after.levels[0].high, before.levels[0].high, 1);
    ck_assert_str_eq(after.levels[0].setting, "L4");
}
END_TEST

START_TEST(nothing_begins_where_it_is_switched_off)
{
    rig_table("by option", "Unified; scaling_parameters: N; enabled: false");
    rig_table("by hand", "Unified; scaling_parameters: N");
    rig_table("on", "Unified; scaling_parameters: N");
    compactor_enable(rig.compactor, &rig_find("by hand")->id, false);
    ck_assert(!compactor_is_enabled(rig.compactor, &rig_find("by hand")->id));
    for (size_t i = 0; i < 2; i++) {
        rig_file("by option");
        rig_file("by hand");
        rig_file("on");
    }
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_count("by option"), 2);
    ck_assert_uint_eq(rig_count("by hand"), 2);
    ck_assert_uint_eq(rig_count("on"), 1);
    ck_assert_ptr_nonnull(strstr(rig_due("by option").reason, "disabled"));
    ck_assert_ptr_nonnull(strstr(rig_due("by hand").reason, "is off"));
    ck_assert_uint_eq(rig_due("by hand").pending, 1);
    compactor_enable(rig.compactor, &rig_find("by hand")->id, true);
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_count("by hand"), 1);
}
END_TEST

START_TEST(all_may_be_switched_off_tables_to_come_too)
{
    compactor_enable(rig.compactor, NULL, false);
    rig_table("t", "Unified; scaling_parameters: N");
    ck_assert(!compactor_is_enabled(rig.compactor, NULL));
    rig_file("t");
    rig_file("t");
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_count("t"), 2);
    compactor_enable(rig.compactor, NULL, true);
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_count("t"), 1);
}
END_TEST

START_TEST(a_dropped_table_is_forgotten_while_it_is_compacted)
{
    struct table *t = rig_table("t", "Unified; scaling_parameters: N");
    compactor_set_throughput(rig.compactor, 10000);
    rig_large("t");
    rig_large("t");
    rig_pass(second / 2);
    ck_assert_uint_eq(rig_counts().running, 1);
    table_ref(t);
    rig_change(&(struct schema_change){ CHANGE_DROP_TABLE, .table = t });
    ck_assert_int_eq(stage_drop(&rig.stage, t), OK);
    rig_pass(second);
    ck_assert_uint_eq(rig_counts().running, 0);
    ck_assert_uint_eq(rig_counts().pending, 0);
    ck_assert_uint_eq(rig_counts().failed, 0);
    table_unref(&t);
}
END_TEST

/* ---- pace ---- */

START_TEST(it_reads_as_fast_as_it_may)
{
    enum { RATE = 50000 };
    rig_table("t", "SizeTiered");
    compactor_enable(rig.compactor, NULL, false);
    for (size_t i = 0; i < 4; i++)
        rig_large("t");
    uint64_t bytes = rig_bytes("t"), began = sim_now(rig.stage.sim);
    compactor_set_throughput(rig.compactor, RATE);
    compactor_enable(rig.compactor, NULL, true);
    ck_assert_int_eq(rig_settle(), OK);
    double took = (double)(sim_now(rig.stage.sim) - began) / (double)second;
    ck_assert_uint_eq(rig_count("t"), 1);
    ck_assert_double_ge(took, 0.9 * (double)bytes / RATE);
    ck_assert_double_le(took, 1.3 * (double)bytes / RATE);
}
END_TEST

START_TEST(the_pace_may_be_changed_while_it_runs)
{
    rig_table("t", "SizeTiered");
    compactor_set_throughput(rig.compactor, 1000);
    for (size_t i = 0; i < 4; i++)
        rig_large("t");
    rig_pass(5 * second);
    ck_assert_uint_eq(rig_counts().running, 1);
    struct compaction_running *running;
    ck_assert_uint_eq(compactor_running(rig.compactor, &rig.arena, &running), 1);
    ck_assert_uint_eq(running[0].inputs, 4);
    ck_assert(!running[0].is_asked && running[0].done_bytes < running[0].total_bytes);
    compactor_set_throughput(rig.compactor, 0);
    uint64_t began = sim_now(rig.stage.sim);
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_count("t"), 1);
    ck_assert_uint_lt(sim_now(rig.stage.sim) - began, 30 * second); /* what it had begun to wait */
}
END_TEST

START_TEST(several_run_at_once_where_they_may)
{
    compactor_set_at_once(rig.compactor, 2);
    compactor_set_throughput(rig.compactor, 20000);
    for (size_t i = 0; i < 3; i++)
        rig_table((const char *[]){ "a", "b", "c" }[i], "Unified; scaling_parameters: N");
    for (size_t i = 0; i < 2; i++) {
        rig_large("a");
        rig_large("b");
        rig_large("c");
    }
    rig_pass(second / 2);
    ck_assert_uint_eq(rig_counts().running, 2);
    ck_assert_uint_ge(rig_counts().pending, 2);
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_count("a") + rig_count("b") + rig_count("c"), 3);
}
END_TEST

START_TEST(a_small_one_does_not_wait_for_a_large_one)
{
    rig_table("large", "SizeTiered");
    rig_table("small", "Unified; scaling_parameters: N");
    rig_table("other", "Unified; scaling_parameters: N");
    compactor_enable(rig.compactor, NULL, false);
    for (size_t i = 0; i < 4; i++) {
        rig_write("large", 20 * FILE_ROWS);
        rig_flush("large");
    }
    compactor_set_throughput(rig.compactor, 20000);
    compactor_enable(rig.compactor, NULL, true);
    rig_pass(second);
    ck_assert_uint_eq(rig_counts().running, 1);
    rig_file("small"), rig_file("other");
    rig_file("small"), rig_file("other");
    rig_pass(second);
    ck_assert_uint_eq(rig_counts().running, 2); /* one beyond what may run, not two */
    rig_pass(60 * second);
    ck_assert_uint_eq(rig_count("small") + rig_count("other"), 2);
    ck_assert_uint_eq(rig_count("large"), 4);
}
END_TEST

/* ---- stop ---- */

START_TEST(stopping_takes_less_than_a_second_and_changes_nothing)
{
    unsigned stopped;
    struct io_req req = { 0 };
    rig_table("t", "Unified; scaling_parameters: N");
    compactor_set_throughput(rig.compactor, 1000);
    rig_large("t");
    rig_large("t");
    rig_pass(5 * second);
    ck_assert_uint_eq(rig_counts().running, 1);
    uint64_t began = sim_now(rig.stage.sim);
    compactor_stop(rig.compactor, &req, &rig.stage.op, NULL, 0, &stopped);
    ck_assert_int_eq(stage_wait(&rig.stage, &req), OK);
    ck_assert_uint_lt(sim_now(rig.stage.sim) - began, second);
    ck_assert_uint_eq(stopped, 1);
    ck_assert_uint_eq(rig_counts().running, 0);
    ck_assert_uint_eq(rig_counts().stopped, 1);
    ck_assert_uint_eq(rig_count("t"), 2);
    compactor_set_throughput(rig.compactor, 0);
    rig_pass(30 * second); /* it rests */
    ck_assert_uint_eq(rig_count("t"), 2);
    ck_assert_ptr_nonnull(strstr(rig_due("t").reason, "stopped by hand"));
    rig_pass(40 * second);
    ck_assert_uint_eq(rig_count("t"), 1);
}
END_TEST

/* At once when it has been picked, and a few turns later. */
START_TEST(one_that_has_hardly_begun_may_be_stopped)
{
    unsigned stopped;
    struct io_req req = { 0 };
    rig_table("t", "Unified; scaling_parameters: N");
    compactor_enable(rig.compactor, NULL, false);
    compactor_set_throughput(rig.compactor, 1000);
    rig_large("t");
    rig_large("t");
    compactor_enable(rig.compactor, NULL, true);
    while (rig_counts().running == 0)
        ck_assert(sim_step(rig.stage.sim));
    for (int i = 0; i < _i; i++)
        ck_assert(sim_step(rig.stage.sim));
    uint64_t began = sim_now(rig.stage.sim);
    compactor_stop(rig.compactor, &req, &rig.stage.op, NULL, 0, &stopped);
    ck_assert_int_eq(stage_wait(&rig.stage, &req), OK);
    ck_assert_uint_lt(sim_now(rig.stage.sim) - began, second);
    ck_assert(stopped == 1 && rig_counts().running == 0 && rig_counts().stopped == 1);
    ck_assert_uint_eq(rig_count("t"), 2);
}
END_TEST

START_TEST(one_of_several_is_stopped)
{
    unsigned stopped;
    struct io_req req = { 0 };
    struct compaction_running *running;
    compactor_set_at_once(rig.compactor, 2);
    compactor_set_throughput(rig.compactor, 1000);
    rig_table("a", "Unified; scaling_parameters: N");
    rig_table("b", "Unified; scaling_parameters: N");
    rig_large("a"), rig_large("b"), rig_large("a"), rig_large("b");
    rig_pass(second);
    ck_assert_uint_eq(compactor_running(rig.compactor, &rig.arena, &running), 2);
    uint64_t id = running[1].id;
    compactor_stop(rig.compactor, &req, &rig.stage.op, NULL, running[0].id, &stopped);
    ck_assert_int_eq(stage_wait(&rig.stage, &req), OK);
    ck_assert_uint_eq(stopped, 1);
    ck_assert_uint_eq(compactor_running(rig.compactor, &rig.arena, &running), 1);
    ck_assert_uint_eq(running[0].id, id);
    compactor_stop(rig.compactor, &req, &rig.stage.op, &rig_find("a")->id, 0, &stopped);
    ck_assert_int_eq(stage_wait(&rig.stage, &req), OK);
    ck_assert_uint_le(stopped, 1);
}
END_TEST

START_TEST(closing_takes_less_than_a_second)
{
    rig_table("t", "Unified; scaling_parameters: N");
    compactor_set_throughput(rig.compactor, 1000);
    rig_large("t");
    rig_large("t");
    rig_pass(5 * second);
    uint64_t began = sim_now(rig.stage.sim);
    rig_close();
    ck_assert_uint_lt(sim_now(rig.stage.sim) - began, 2 * second); /* a second is the notes' */
    ck_assert_uint_eq(rig_count("t"), 2);
}
END_TEST

/* ---- what is asked ---- */

START_TEST(everything_becomes_one_file)
{
    struct table *t = rig_table("t", "SizeTiered");
    for (size_t i = 0; i < 3; i++)
        rig_file("t");
    ck_assert_int_eq(rig_compact(&(struct compact_ask){ .table = t->id }), OK);
    ck_assert_uint_eq(rig_count("t"), 1);
    const struct compact_ask unknown = { .table = uuid_named(bytes_text("none")) };
    ck_assert_int_eq(rig_compact(&unknown), ERR_NOT_FOUND);
}
END_TEST

START_TEST(what_is_asked_comes_before_what_runs_by_itself)
{
    struct table *t = rig_table("t", "Unified; scaling_parameters: N");
    compactor_set_throughput(rig.compactor, 3000);
    rig_large("t");
    rig_large("t");
    rig_pass(second);
    ck_assert_uint_eq(rig_counts().running, 1);
    rig_large("t");
    struct compact_ask ask = { .table = t->id };
    struct io_req req = { 0 };
    compactor_compact(rig.compactor, &req, &rig.stage.op, &ask, &rig.failed);
    rig_pass(second);
    struct compaction_running *running;
    ck_assert_uint_eq(compactor_running(rig.compactor, &rig.arena, &running), 1);
    ck_assert(running[0].is_asked);
    ck_assert_uint_eq(running[0].inputs, 3);
    compactor_set_throughput(rig.compactor, 0);
    ck_assert_int_eq(stage_wait(&rig.stage, &req), OK);
    ck_assert_uint_eq(rig_count("t"), 1);
    ck_assert_uint_eq(rig_counts().stopped, 1);
}
END_TEST

START_TEST(files_are_compacted_as_they_are_named)
{
    struct table *t = rig_table("t", "SizeTiered");
    for (size_t i = 0; i < 3; i++)
        rig_file("t");
    struct store_file_list list = rig_files("t");
    uint64_t files[3] = { list.files[0].name.generation, list.files[2].name.generation, 999 };
    store_files_done(&list);
    struct compact_ask ask = { .table = t->id, .files = files, .files_count = 3 };
    ck_assert_int_eq(rig_compact(&ask), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(rig.failed.text, "999"));
    ck_assert_uint_eq(rig_count("t"), 3);
    ask.files_count = 2;
    ck_assert_int_eq(rig_compact(&ask), OK);
    ck_assert_uint_eq(rig_count("t"), 2);
    ask = (struct compact_ask){ .table = t->id, .is_range = true, .first = 0, .last = 1 };
    ck_assert_int_eq(rig_compact(&ask), OK);
    ck_assert_uint_eq(rig_count("t"), 1);
}
END_TEST

START_TEST(what_is_asked_may_be_stopped)
{
    struct table *t = rig_table("t", "SizeTiered");
    unsigned stopped;
    struct io_req req = { 0 }, stop = { 0 };
    struct compact_ask ask = { .table = t->id };
    compactor_set_throughput(rig.compactor, 1000);
    rig_large("t");
    rig_large("t");
    compactor_compact(rig.compactor, &req, &rig.stage.op, &ask, &rig.failed);
    rig_pass(2 * second);
    compactor_stop(rig.compactor, &stop, &rig.stage.op, &t->id, 0, &stopped);
    ck_assert_int_eq(stage_wait(&rig.stage, &stop), OK);
    ck_assert_int_eq(stage_wait(&rig.stage, &req), ERR_STOPPED);
    ck_assert_uint_eq(stopped, 1);
    ck_assert_uint_eq(rig_count("t"), 2);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("compactor");
    TCase *tc = tcase_create("compactor");
    tcase_add_checked_fixture(tc, rig_setup, rig_teardown);
    tcase_add_loop_test(tc, after_each_flush_it_does_what_the_forecast_says, 0,
                        array_count(sequences));
    tcase_add_test(tc, rows_are_all_there_afterwards);
    tcase_add_test(tc, alter_takes_effect_at_the_next_pick);
    tcase_add_test(tc, nothing_begins_where_it_is_switched_off);
    tcase_add_test(tc, all_may_be_switched_off_tables_to_come_too);
    tcase_add_test(tc, a_dropped_table_is_forgotten_while_it_is_compacted);
    tcase_add_test(tc, it_reads_as_fast_as_it_may);
    tcase_add_test(tc, the_pace_may_be_changed_while_it_runs);
    tcase_add_test(tc, several_run_at_once_where_they_may);
    tcase_add_test(tc, a_small_one_does_not_wait_for_a_large_one);
    tcase_add_test(tc, stopping_takes_less_than_a_second_and_changes_nothing);
    tcase_add_loop_test(tc, one_that_has_hardly_begun_may_be_stopped, 0, 6);
    tcase_add_test(tc, one_of_several_is_stopped);
    tcase_add_test(tc, closing_takes_less_than_a_second);
    tcase_add_test(tc, everything_becomes_one_file);
    tcase_add_test(tc, what_is_asked_comes_before_what_runs_by_itself);
    tcase_add_test(tc, files_are_compacted_as_they_are_named);
    tcase_add_test(tc, what_is_asked_may_be_stopped);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
