/* test_leveled.c - Leveled's picks: level 0, the order of levels, round and round, files that
 * starve, files that lie over others of their level, a crowded level 0.
 *
 * Outputs are of 10 MiB and the fanout is 2 here: level 1 may have 20 MiB, level 2 40, level 3 80.
 */
// SPDX-License-Identifier: Apache-2.0
#include "strategy_kit.h"

static struct strategy *strategy;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void)
{
    strategy_free(&strategy);
    arena_deinit(&arena);
}

#define SMALL "Leveled; sstable_size_in_mb: 10; fanout_size: 2"
static void start(const char *options)
{
    struct compaction_params params = params_of(options);
    strategy_free(&strategy);
    strategy = strategy_new(&params, NULL);
}

/* Twenty disjoint files of level 0, after `before`. */
static const char *crowd(const char *before, unsigned count, double mib)
{
    struct buf out = buf_in(&arena);
    buf_printf(&out, "%s", before);
    for (unsigned i = 0; i < count; i++)
        buf_printf(&out, " 0:%g-%g*%g", 100.0 * i / count, 100.0 * (i + 1) / count, mib);
    const char *text = arena_text(&arena, buf_bytes(&out));
    return text + strspn(text, " ");
}

static const struct {
    const char *files, *pick, *why;
} picks[] = {
    { "", "none", "no file" },
    { "0:0-100*4", "none", "one alone" },
    { "0:0-100*400", "none", "one alone, however large" },
    { "0:0-100*4 0:0-100*4", "merge 1 2 > 0", "any two: less than an output, they stay" },
    { "0:0-10*4 0:90-100*4", "merge 1 2 > 0", "they need not even meet" },
    { "0:0-100*5 0:0-100*5", "merge 1 2 > 0", "exactly an output stays" },
    { "0:0-100*5 0:0-100*5.1", "merge 1 2 > 1", "more goes up" },
    { "0:0-40*6 0:10-50*6 1:0-20*4 1:45-60*4 1:60-90*4", "merge 1 2 3 4 > 1",
      "with all of level 1 under the span" },
    { "0:0-10*6 0:80-90*6 1:40-50*4", "merge 1 2 3 > 1", "... also under its gaps" },
    { "0:0-40*6 0:10-50*6 1:0-20*4! 1:45-60*4", "none", "unless one of those is busy" },
    { "0:0-40*6 0:10-50*6 1:0-20*4? 1:45-60*4", "none", "... or damaged" },
    { "0:0-40*11 1:0-20*4", "merge 1 2 > 1", "one of level 0 and one of level 1" },
    /* groups of level 0 */
    { "0:0-50*4! 0:40-60*4 0:70-90*4 0:80-95*4", "merge 3 4 > 0", "a group that is busy waits" },
    { "0:0-30*4 0:20-60*4! 0:70-90*4", "none", "and one free file alone is nothing" },
    { "0:0-40*4? 0:10-50*4 0:20-60*4", "merge 2 3 > 0", "damaged ones are not seen" },
    { "0:0-40*4& 0:10-50*4 0:20-60*4", "merge 2 3 > 0", "nor those of other shards" },
    { "0:40-60*4! 0:0-10*6 0:90-100*6", "none", "to level 1 not across a busy span" },
    { "0:40-60*4! 0:0-10*4 0:90-100*4", "merge 2 3 > 0", "within level 0 it may" },
    /* levels that are over their target */
    { "1:0-50*10 1:50-100*10", "none", "exactly the target" },
    { "1:0-50*10 1:50-100*10.019", "none", "within a thousandth" },
    { "1:0-50*10 1:50-100*10.03", "merge 1 > 2", "over it; nothing to meet below" },
    { "1:0-30*10 1:30-60*10 1:60-90*10 2:0-20*5 2:60-70*5 2:25-50*5", "merge 3 5 > 2",
      "behind the youngest of level 2, which is taken for the last output" },
    { "2:60-70*5 2:0-20*5 2:25-35*5 1:0-30*10 1:30-60*10 1:60-90*10", "merge 1 6 > 2",
      "behind 35: the one from 60" },
    { "2:60-70*5 2:0-20*5 1:0-30*10 1:30-60*10! 1:60-90*11", "merge 1 5 > 2",
      "behind 20, and the busy one is passed over" },
    { "1:0-50*10! 1:50-100*15", "none", "what is busy does not count" },
    { "1:0-30*10 1:30-60*10 1:60-90*10? 2:0-20*5 2:60-70*5!", "merge 1 4 > 2",
      "the next that can" },
    { "1:0-30*30 2:0-20*5! 0:0-10*4 0:0-10*4", "merge 3 4 > 0", "if none can, level 0" },
    { "1:0-50*30 2:0-50*50 3:0-50*10", "merge 2 3 > 3", "the highest level first" },
    { "0:0-10*6 0:0-10*6 1:0-50*30", "merge 3 > 2", "level 1 before level 0" },
    { "8:0-50*9000 8:50-100*9000", "none", "from the last level nothing goes anywhere" },
    { "7:0-50*9000 8:0-60*9000", "merge 1 2 > 8", "into it it does" },
    { "77:0-50*10 77:50-100*10", "none", "a level that cannot be counts as the last" },
    /* files that lie over others of their level count as level 0 */
    { "1:0-50*9 1:40-60*4", "none", "the younger one is demoted; alone in level 0 it stays" },
    { "1:0-50*9 1:40-60*11", "merge 1 2 > 1", "but for its size" },
    { "1:40-60*11 1:0-50*8", "none", "it is the younger one, whichever comes first by keys" },
    { "1:0-60*2 1:50-100*2 0:0-10*2", "merge 2 3 > 0",
      "with others of level 0, if they are small" },
    { "2:0-50*9 2:50-100*9 2:49-51*1 0:0-10*2", "merge 3 4 > 0", "from any level" },
};

START_TEST(of_these_files_these_are_picked)
{
    start(SMALL);
    const char *got = picked(strategy, picks[_i].files);
    ck_assert_msg(strcmp(got, picks[_i].pick) == 0, "%s: %s, not %s: %s", picks[_i].files, got,
                  picks[_i].pick, picks[_i].why);
}
END_TEST

START_TEST(at_most_max_threshold_of_level_0_the_oldest)
{
    struct compaction_pick pick;
    start(SMALL "; max_threshold: 5");
    struct compaction_now now = now_of(files_of(crowd("", 12, 1)));
    for (size_t i = 0; i < 12; i++)
        files[i].timestamp_max = 100 - (int64_t)i;
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 8 9 10 11 12 > 0");
}
END_TEST

START_TEST(a_crowded_level_0_is_merged_by_size_before_any_level_gives)
{
    struct compaction_pick pick;
    start(SMALL);
    struct compaction_now now = now_of(files_of(crowd("1:0-50*30", 33, 60)));
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_uint_eq(pick.count, 32);
    ck_assert_uint_eq(pick.outputs->level, 0);
    ck_assert_uint_eq(pick.outputs->bytes, UINT64_MAX);
    ck_assert_ptr_nonnull(strstr(pick.reason, "crowded"));
    /* With 32 it is not crowded, and level 1 gives. */
    now = now_of(files_of(crowd("1:0-50*30", 32, 60)));
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 1 > 2");
    /* Crowded, but no levels over their target: level 0 goes up. */
    now = now_of(files_of(crowd("1:0-50*3", 33, 60)));
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_uint_eq(pick.outputs->level, 1);
    /* ... unless it cannot. */
    now = now_of(files_of(crowd("1:0-50*3!", 33, 60)));
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_uint_eq(pick.outputs->level, 0);
    ck_assert_uint_eq(pick.count, 32);
}
END_TEST

START_TEST(a_level_is_gone_through_round_and_round)
{
    static const char *const want[] = { "merge 1 > 2", "merge 2 > 2", "merge 3 > 2",
                                        "merge 1 > 2" };
    struct compaction_pick pick;
    start(SMALL);
    struct compaction_now now = now_of(files_of("1:0-30*10 1:30-60*10 1:60-90*10"));
    for (size_t i = 0; i < array_count(want); i++) {
        /* A pick that is only looked at changes nothing. */
        strategy_pick(strategy, &now, &arena, &pick);
        strategy_pick(strategy, &now, &arena, &pick);
        ck_assert_str_eq(shown(&now, &pick), want[i]);
        strategy_done(strategy, &pick);
    }
}
END_TEST

START_TEST(outputs_are_of_one_size_from_level_1_on)
{
    struct compaction_pick pick;
    start("Leveled; sstable_size_in_mb: 7");
    struct compaction_now now = now_of(files_of("0:0-30*10 0:10-30*10"));
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_uint_eq(pick.outputs_count, 1);
    ck_assert_uint_eq(pick.outputs->bytes, 7 << 20);
    ck_assert_int_eq(pick.level, 0);
    now = now_of(files_of("0:0-30*3 0:10-30*3"));
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_uint_eq(pick.outputs->bytes, UINT64_MAX);
}
END_TEST

START_TEST(single_sstable_uplevel_changes_the_level_alone)
{
    start(SMALL "; single_sstable_uplevel: true");
    ck_assert_str_eq(picked(strategy, "1:0-50*10 1:50-100*11"), "relevel 1 > 2");
    ck_assert_str_eq(picked(strategy, "1:0-50*10 1:50-100*11 2:0-10*1"), "relevel 2 > 2");
    ck_assert_str_eq(picked(strategy, "1:0-50*25 2:0-10*1"), "merge 1 2 > 2");
}
END_TEST

START_TEST(a_level_that_was_not_written_to_for_25_compactions_gives_a_file_that_lies_within)
{
    static const char text[] = "1:10-50*30 2:10-20*5 3:15-18*5 3:0-11*5 3:30-60*5";
    struct compaction_pick pick;
    start(SMALL);
    struct compaction_now now = now_of(files_of(text));
    for (unsigned i = 0; i < 25; i++) {
        strategy_pick(strategy, &now, &arena, &pick);
        ck_assert_str_eq(shown(&now, &pick), "merge 1 2 > 2");
        strategy_done(strategy, &pick);
    }
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 1 2 3 > 2"); /* 4 and 5 do not lie within */
    ck_assert_ptr_nonnull(strstr(pick.reason, "waited long"));
    /* Once level 3 has been written to, it waits anew. */
    now = now_of(files_of("2:0-50*60 3:10-15*5"));
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 1 2 > 3");
    strategy_done(strategy, &pick);
    now = now_of(files_of(text));
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 1 2 > 2");
}
END_TEST

START_TEST(for_lack_of_space_only_level_0_stays_out_and_not_all_of_it)
{
    struct compaction_pick pick;
    start(SMALL);
    struct compaction_now now = now_of(files_of("0:0-40*6 0:10-50*9 1:0-20*40! 1:60-70*4"));
    files[2].is_busy = false;
    files[2].bytes = 15 << 20;
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 1 2 3 > 1");
    ck_assert(strategy_reduce(strategy, &now, &arena, &pick));
    ck_assert_str_eq(shown(&now, &pick), "merge 1 3 > 1");
    ck_assert(!strategy_reduce(strategy, &now, &arena, &pick));
    now = now_of(files_of("1:0-50*30 2:0-20*5 2:20-30*5"));
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 1 2 3 > 2");
    ck_assert(!strategy_reduce(strategy, &now, &arena, &pick));
}
END_TEST

START_TEST(everything_fills_the_levels_from_1_on)
{
    struct compaction_pick pick;
    start(SMALL); /* level 1: two files, level 2: four, level 3: eight */
    struct compaction_now now = now_of(files_of("0:0-100*95 2:0-20*5 3:20-30*5"));
    ck_assert(strategy_major(strategy, &now, true, 0, &arena, &pick));
    ck_assert_uint_eq(pick.count, 3);
    ck_assert_uint_ge(pick.outputs_count, 11);
    for (size_t i = 0; i < pick.outputs_count; i++) {
        ck_assert_uint_eq(pick.outputs[i].bytes, 10 << 20);
        ck_assert_uint_eq(pick.outputs[i].level, i < 2 ? 1 : i < 6 ? 2 : 3);
    }
    ck_assert(!strategy_major(strategy, &now, true, 1, &arena, &pick));
    start("Leveled; sstable_size_in_mb: 1; fanout_size: 1"); /* the last level takes the rest */
    ck_assert(strategy_major(strategy, &now, true, 0, &arena, &pick));
    ck_assert_uint_eq(pick.outputs[pick.outputs_count - 1].level, 8);
}
END_TEST

START_TEST(what_is_named_becomes_level_0_and_a_single_file_stays)
{
    struct compaction_pick pick;
    start(SMALL);
    struct compaction_now now = now_of(files_of("2:0-50*3 1:0-20*5 0:20-30*5"));
    strategy_these(strategy, &now, (size_t[]){ 0, 1, 2 }, 3, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 1 2 3 > 0");
    ck_assert_uint_eq(pick.outputs->bytes, UINT64_MAX);
    strategy_these(strategy, &now, (size_t[]){ 0 }, 1, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 1 > 2");
    ck_assert_uint_eq(pick.outputs->bytes, 10 << 20);
}
END_TEST

/* Per level: ceil(max(0, bytes - trunc(target * 1.001)) / size), level 0 as if it might have 4. */
START_TEST(what_is_due_in_each_level)
{
    struct compaction_level *levels;
    start(SMALL);
    struct compaction_now now =
        now_of(files_of("0:0-100*30 0:0-100*20 1:0-50*20 1:50-60*25 3:0-50*81 1:40-60*1"));
    size_t count = strategy_levels(strategy, &now, &arena, &levels);
    ck_assert_uint_eq(count, 4);
    ck_assert_uint_eq(levels[0].files, 3); /* one was demoted */
    ck_assert_uint_eq(levels[0].overlap, 3);
    ck_assert_uint_eq(levels[0].pending, 2); /* 51 - 40.04: two outputs */
    ck_assert_uint_eq(levels[1].pending, 3); /* 45 - 20.02 */
    ck_assert_uint_eq(levels[1].overlap, 1);
    ck_assert_uint_eq(levels[2].files, 0);
    ck_assert_uint_eq(levels[3].pending, 1); /* 81 - 80.08 */
    ck_assert_double_eq(levels[3].high, 80 * MIB);
    now = now_of(files_of(crowd("", 70, 0.25)));
    strategy_levels(strategy, &now, &arena, &levels);
    ck_assert_uint_eq(levels[0].pending, 70 / 32);
}
END_TEST

START_TEST(tombstones_are_looked_for_in_the_highest_level_first_and_the_worst_file_there)
{
    struct compaction_pick pick;
    struct drop_times some = { .count = 1, .points = { { 5000, 300 } } };
    struct drop_times most = { .count = 1, .points = { { 5000, 900 } } };
    start(SMALL);
    struct compaction_now now =
        now_of(files_of("1:0-10*1 2:20-30*1 2:40-50*1 1:60-70*1 3:70-80*1"));
    for (size_t i = 0; i < now.files_count; i++) {
        files[i].partitions = 1000;
        files[i].cells_a_partition = 1;
        files[i].drop_times = i == 4 ? NULL : i == 0 || i == 2 ? &most : &some;
    }
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "tombstones 3 > 2");
    ck_assert_uint_eq(pick.outputs->bytes, 10 << 20);
    files[2].is_busy = true;
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "tombstones 2 > 2");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("leveled");
    TCase *t = tcase_create("leveled");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, of_these_files_these_are_picked, 0, array_count(picks));
    tcase_add_test(t, at_most_max_threshold_of_level_0_the_oldest);
    tcase_add_test(t, a_crowded_level_0_is_merged_by_size_before_any_level_gives);
    tcase_add_test(t, a_level_is_gone_through_round_and_round);
    tcase_add_test(t, outputs_are_of_one_size_from_level_1_on);
    tcase_add_test(t, single_sstable_uplevel_changes_the_level_alone);
    tcase_add_test(
        t, a_level_that_was_not_written_to_for_25_compactions_gives_a_file_that_lies_within);
    tcase_add_test(t, for_lack_of_space_only_level_0_stays_out_and_not_all_of_it);
    tcase_add_test(t, everything_fills_the_levels_from_1_on);
    tcase_add_test(t, what_is_named_becomes_level_0_and_a_single_file_stays);
    tcase_add_test(t, what_is_due_in_each_level);
    tcase_add_test(t,
                   tombstones_are_looked_for_in_the_highest_level_first_and_the_worst_file_there);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
