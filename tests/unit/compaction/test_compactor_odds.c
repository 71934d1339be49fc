/* test_compactor_odds.c - a compactor without space or memory, with damage and a disk that refuses;
 * what it remembers over a restart; what it foresees and explains.
 */
// SPDX-License-Identifier: Apache-2.0
#include "rig_rows.h"

static const uint64_t second = 1000000000ull;

/* ---- space, damage, memory ---- */

static uint64_t disk_used(void)
{
    struct io_req req = { 0 };
    uint64_t left;
    io_space(rig.stage.io, &req, &rig.stage.op, "/data", &left);
    ck_assert_int_eq(stage_wait(&rig.stage, &req), OK);
    return (1ull << 40) - left;
}

START_TEST(without_space_for_all_the_largest_stays_out)
{
    rig_table("t", "SizeTiered");
    compactor_enable(rig.compactor, NULL, false);
    rig_write("t", 20 * FILE_ROWS);
    rig_flush("t");
    for (size_t i = 0; i < 4; i++)
        rig_file("t");
    uint64_t used = disk_used();
    sim_disk_size(rig.stage.sim, SIM_CLIENT(0), used + 10 * FILE_ROWS * ROW_BYTES);
    compactor_enable(rig.compactor, NULL, true);
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_counts().reduced, 1);
    ck_assert_uint_eq(rig_counts().completed, 1);
    ck_assert_uint_eq(rig_count("t"), 2);
}
END_TEST

START_TEST(two_beside_each_other_need_what_both_write_and_no_more)
{
    rig_close();
    rig.options.at_once = 2;
    rig_open();
    rig_table("t", "SizeTiered");
    rig_table("u", "SizeTiered");
    compactor_enable(rig.compactor, NULL, false);
    for (size_t i = 0; i < 4; i++) {
        rig_file("t");
        rig_file("u");
    }
    uint64_t used = disk_used(), inputs = rig_bytes("t") + rig_bytes("u");
    sim_disk_size(rig.stage.sim, SIM_CLIENT(0), used + inputs * 7 / 5);
    compactor_enable(rig.compactor, NULL, true);
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_counts().completed, 2);
    ck_assert_uint_eq(rig_counts().reduced, 0);
}
END_TEST

START_TEST(without_any_space_it_says_so_and_waits)
{
    rig_table("t", "Unified; scaling_parameters: N");
    compactor_enable(rig.compactor, NULL, false);
    rig_file("t");
    rig_file("t");
    uint64_t used = disk_used();
    sim_disk_size(rig.stage.sim, SIM_CLIENT(0), used + 10 * ROW_BYTES);
    compactor_enable(rig.compactor, NULL, true);
    ck_assert_int_eq(rig_settle(), ERR_NO_SPACE);
    ck_assert_uint_eq(rig_counts().refused_for_space, 1);
    ck_assert_ptr_nonnull(strstr(rig_due("t").reason, "no space"));
    ck_assert_uint_eq(rig_count("t"), 2);
    sim_disk_size(rig.stage.sim, SIM_CLIENT(0), 1ull << 40);
    rig_pass(70 * second);
    ck_assert_uint_eq(rig_count("t"), 1);
}
END_TEST

START_TEST(a_damaged_file_is_set_aside_and_the_rest_goes_on)
{
    char path[200], id[33] = "";
    struct table *t = rig_table("t", "SizeTiered");
    compactor_enable(rig.compactor, NULL, false);
    for (size_t i = 0; i < 5; i++)
        rig_file("t");
    struct store_file_list list = rig_files("t");
    for (size_t i = 0; i < 16; i++)
        snprintf(id + 2 * i, 3, "%02x", t->id.b[i]);
    snprintf(path, sizeof path, "/data/stage/t-%s/nb-%s-big-Data.db", id, list.files[2].name.id);
    store_files_done(&list);
    sim_file_flip(rig.stage.sim, SIM_CLIENT(0), path, 8 * 5000);
    compactor_enable(rig.compactor, NULL, true);
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_counts().failed, 1);
    ck_assert_uint_eq(rig_count("t"), 2);
    list = rig_files("t");
    ck_assert((list.files[0].damage != NULL) + (list.files[1].damage != NULL) == 1);
    store_files_done(&list);
}
END_TEST

START_TEST(a_disk_that_refuses_is_tried_again_later_and_later)
{
    rig_table("t", "Unified; scaling_parameters: N");
    compactor_enable(rig.compactor, NULL, false);
    rig_file("t");
    rig_file("t");
    sim_fail_disk(rig.stage.sim, SIM_CLIENT(0), 1, SIM_FOR_EVER, ERR_IO);
    compactor_enable(rig.compactor, NULL, true);
    rig_pass(60 * second);
    uint64_t failed = rig_counts().failed;
    ck_assert_uint_ge(failed, 5);
    ck_assert_uint_le(failed, 7); /* after 0, 1, 3, 7, 15, 31 s */
    ck_assert_ptr_nonnull(strstr(rig_due("t").reason, "tried again"));
    sim_fail_disk(rig.stage.sim, SIM_CLIENT(0), 0, 0, OK);
    rig_pass(60 * second);
    ck_assert_uint_eq(rig_count("t"), 1);
}
END_TEST

START_TEST(inputs_that_memory_does_not_hold_stay_out)
{
    rig_close();
    rig.options.memory_bytes = 4 * 640 * 1024; /* a quarter stays for another one */
    rig_open();
    rig_table("t", "SizeTiered");
    compactor_enable(rig.compactor, NULL, false);
    for (size_t i = 0; i < 4; i++)
        rig_file("t");
    compactor_enable(rig.compactor, NULL, true);
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_counts().reduced, 1);
    ck_assert_uint_eq(rig_count("t"), 2);
}
END_TEST

/* ---- notes ---- */

static void check_the_same_history(const struct compaction_past *before, size_t count)
{
    struct compaction_past *after;
    ck_assert_uint_eq(compactor_history(rig.compactor, &rig.arena, &after), count);
    for (size_t i = 0; i < count; i++) {
        ck_assert(uuid_equal(&after[i].id, &before[i].id));
        ck_assert_str_eq(after[i].reason, before[i].reason);
        ck_assert_str_eq(after[i].keyspace, "stage");
        ck_assert_uint_eq(after[i].bytes_in, before[i].bytes_in);
        ck_assert_uint_eq(after[i].merged[1], before[i].merged[1]);
    }
}

START_TEST(averages_and_history_outlive_a_restart)
{
    struct compaction_past *past;
    rig_table("t", "Unified; scaling_parameters: L4");
    for (size_t i = 0; i < 4; i++) {
        rig_file("t");
        ck_assert_int_eq(rig_settle(), OK);
    }
    size_t count = compactor_history(rig.compactor, &rig.arena, &past);
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_ge(past[0].bytes_in, past[2].bytes_in); /* newest first: the largest */
    ck_assert_uint_gt(past[0].merged[1], 0);
    double high = rig_due("t").levels[0].high;
    ck_assert_double_gt(high, 64 * 1024);
    for (size_t i = 0; i < 3; i++) { /* written anew each time */
        rig_close();
        rig_open();
        check_the_same_history(past, count);
        ck_assert_double_eq_tol(rig_due("t").levels[0].high, high, 1);
    }
}
END_TEST

struct note_file {
    char path[200];
};

static void note_file_found(void *context, const char *path, uint64_t size)
{
    struct note_file *found = context;
    if (size && strncmp(path, "/data/compaction-0/", 19) == 0)
        snprintf(found->path, sizeof found->path, "%s", path);
}

START_TEST(damaged_notes_never_stop_a_start)
{
    struct compaction_past *past;
    struct note_file found = { "" };
    rig_table("t", "Unified; scaling_parameters: L4");
    for (size_t i = 0; i < 3; i++) {
        rig_file("t");
        ck_assert_int_eq(rig_settle(), OK);
    }
    rig_close();
    sim_files(rig.stage.sim, SIM_CLIENT(0), note_file_found, &found);
    ck_assert(found.path[0]);
    for (uint64_t byte = 0; byte < 16384; byte += 61)
        sim_file_flip(rig.stage.sim, SIM_CLIENT(0), found.path, 8 * byte + byte % 8);
    rig_open();
    (void)compactor_history(rig.compactor, &rig.arena, &past);
    rig_file("t");
    ck_assert_int_eq(rig_settle(), OK);
    size_t count = compactor_history(rig.compactor, &rig.arena, &past);
    ck_assert_uint_ge(count, 1);
    rig_close();
    rig_open();
    check_the_same_history(past, count);
}
END_TEST

START_TEST(a_disk_that_takes_no_notes_stops_nothing)
{
    struct compaction_past *past;
    rig_close();
    sim_fail_disk(rig.stage.sim, SIM_CLIENT(0), 1, 3, ERR_IO);
    rig_open();
    sim_fail_disk(rig.stage.sim, SIM_CLIENT(0), 0, 0, OK);
    rig_table("t", "Unified; scaling_parameters: N");
    rig_file("t");
    rig_file("t");
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_count("t"), 1);
    ck_assert_uint_eq(compactor_history(rig.compactor, &rig.arena, &past), 1);
}
END_TEST

/* ---- plan and why ---- */

static enum err plan_of(const struct table *t, const struct option *with,
                        struct compaction_plan *out)
{
    const struct compaction_plan_options options = { t->id, with, &rig.arena };
    struct io_req req = { 0 };
    compactor_plan(rig.compactor, &req, &rig.stage.op, &options, out, &rig.failed);
    return stage_wait(&rig.stage, &req);
}

START_TEST(a_plan_says_what_another_setting_would_do)
{
    struct option with = compaction_of("Unified; scaling_parameters: N");
    struct compaction_plan plan;
    struct table *t = rig_table("t", "Unified; scaling_parameters: T8");
    for (size_t i = 0; i < 4; i++)
        rig_file("t");
    ck_assert_int_eq(rig_settle(), OK);
    ck_assert_uint_eq(rig_count("t"), 4);
    ck_assert_int_eq(plan_of(t, &with, &plan), OK);
    ck_assert_uint_eq(plan.now.files, 4);
    ck_assert_uint_eq(plan.own.settled.files, 4);
    ck_assert_uint_eq(plan.own.settled.written_bytes, 0);
    ck_assert_uint_eq(plan.other.settled.files, 1);
    ck_assert_uint_gt(plan.other.settled.written_bytes, 0);
    ck_assert_uint_ge(plan.flushes, 16);
    ck_assert_uint_eq(plan.own.later.flushed_bytes, plan.flushes * plan.flush_bytes);
    ck_assert_uint_eq(plan.other.later.flushed_bytes, plan.flushes * plan.flush_bytes);
    ck_assert_uint_lt(plan.own.later.written_bytes, plan.other.later.written_bytes);
    ck_assert(plan.own.later.files_a_key > plan.other.later.files_a_key);
    ck_assert_uint_ge(plan.steps_count, 1);
    ck_assert_ptr_nonnull(strstr(plan.steps[0], "files of"));
    ck_assert_uint_eq(rig_count("t"), 4);
    with.pairs[3] = "L1";
    ck_assert_int_eq(plan_of(t, &with, &plan), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(rig.failed.text, "L1"));
}
END_TEST

START_TEST(why_a_file_is_still_here_is_said)
{
    struct compaction_why why;
    struct table *t = rig_table("t", "Unified; scaling_parameters: T8");
    rig_file("t");
    struct store_file_list list = rig_files("t");
    uint64_t generation = list.files[0].name.generation;
    store_files_done(&list);
    ck_assert_int_eq(
        compactor_why(rig.compactor, &t->id, generation, &rig.arena, &why, &rig.failed), OK);
    ck_assert_uint_ge(why.count, 3);
    ck_assert_ptr_nonnull(strstr(why.sentences[0], "partitions"));
    ck_assert_int_eq(compactor_why(rig.compactor, &t->id, 12345, &rig.arena, &why, &rig.failed),
                     ERR_NOT_FOUND);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("compactor_odds");
    TCase *tc = tcase_create("compactor_odds");
    tcase_add_checked_fixture(tc, rig_setup, rig_teardown);
    tcase_add_test(tc, without_space_for_all_the_largest_stays_out);
    tcase_add_test(tc, two_beside_each_other_need_what_both_write_and_no_more);
    tcase_add_test(tc, without_any_space_it_says_so_and_waits);
    tcase_add_test(tc, a_damaged_file_is_set_aside_and_the_rest_goes_on);
    tcase_add_test(tc, a_disk_that_refuses_is_tried_again_later_and_later);
    tcase_add_test(tc, inputs_that_memory_does_not_hold_stay_out);
    tcase_add_test(tc, averages_and_history_outlive_a_restart);
    tcase_add_test(tc, damaged_notes_never_stop_a_start);
    tcase_add_test(tc, a_disk_that_takes_no_notes_stops_nothing);
    tcase_add_test(tc, a_plan_says_what_another_setting_would_do);
    tcase_add_test(tc, why_a_file_is_still_here_is_said);
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
