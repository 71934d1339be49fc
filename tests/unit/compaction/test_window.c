/* test_window.c - TimeWindow: which window a file is of, which window is merged, and when expired
 * files are looked for.
 *
 * Windows are of one minute and timestamps of seconds here, unless a test says otherwise: @59 is of
 * the window 0, @60 of the next.
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

#define MINUTE                                                                 \
    "TimeWindow; compaction_window_unit: MINUTES; compaction_window_size: 1; " \
    "timestamp_resolution: SECONDS"
static void start(const char *options)
{
    struct compaction_params params = params_of(options);
    strategy_free(&strategy);
    strategy = strategy_new(&params, NULL);
}

static const struct {
    const char *files, *pick, *why;
} picks[] = {
    { "", "none", "no file" },
    { "0:0-100*4@0 0:0-100*4@59 0:0-100*4@30", "none", "the newest window: fewer than four" },
    { "0:0-100*4@0 0:0-100*4@59 0:0-100*4@30 0:0-100*4@1", "merge 1 2 3 4 > 0", "four, alike" },
    { "0:0-100*4@0 0:0-100*4@59 0:0-100*400@30 0:0-100*4@1", "none", "four, but not alike" },
    { "0:0-100*4@0 0:0-100*400@59 0:0-100*4@60", "merge 1 2 > 0", "a window that is over: two do" },
    { "0:0-100*4@0 0:0-100*4@60 0:0-100*4@120", "none", "one each" },
    { "0:0-100*4@0 0:0-100*4@1 0:0-100*4@60 0:0-100*4@61 0:0-100*4@120", "merge 3 4 > 0",
      "from the newest to the oldest" },
    { "0:0-100*4@0 0:0-100*4@1 0:0-100*4@60 0:0-100*4@61 0:0-100*4@62 0:0-100*4@63",
      "merge 3 4 5 6 > 0", "the newest first, when it has enough" },
    { "0:0-100*4@0 0:0-100*4@1 0:0-100*4@60!", "merge 1 2 > 0", "busy files say what is newest" },
    { "0:0-100*4@0 0:0-100*4@1! 0:0-100*4@60", "none", "and are not taken" },
    { "0:0-100*4@0 0:0-100*4@1? 0:0-100*4@60 0:0-100*4@2&", "none", "nor are damaged or others'" },
    { "0:0-100*4@-1 0:0-100*4@-60 0:0-100*4@0", "merge 1 2 > 0", "before 1970 as after" },
};

START_TEST(of_these_files_these_are_picked)
{
    start(MINUTE);
    const char *got = picked(strategy, picks[_i].files);
    ck_assert_msg(strcmp(got, picks[_i].pick) == 0, "%s: %s, not %s: %s", picks[_i].files, got,
                  picks[_i].pick, picks[_i].why);
}
END_TEST

START_TEST(the_newest_window_is_never_forgotten)
{
    start(MINUTE);
    ck_assert_str_eq(picked(strategy, "0:0-100*4@70"), "none");
    /* The file is gone; two of the window before are enough, since it is over. */
    ck_assert_str_eq(picked(strategy, "0:0-100*4@5 0:0-100*4@6"), "merge 1 2 > 0");
    /* Late data does not reopen it, and the clock says nothing. */
    ck_assert_str_eq(picked(strategy, "0:0-100*4@70 0:0-100*4@71"), "none");
}
END_TEST

START_TEST(a_window_that_is_over_gives_its_smallest_files_up_to_max_threshold)
{
    start(MINUTE "; max_threshold: 4");
    ck_assert_str_eq(picked(strategy, "0:0-100*9@5 0:0-100*8@6 0:0-100*7@5 0:0-100*6@6 0:0-100*5@5 "
                                      "0:0-100*5@70"),
                     "merge 2 3 4 5 > 0");
}
END_TEST

/* The unit, its number and the resolution, and where the window of a timestamp begins. */
static const struct {
    const char *options;
    int64_t timestamp;
    uint64_t begin;
} windows[] = {
    { "", 1700000000000000, 1699920000 }, /* a day, of microseconds */
    { "; compaction_window_size: 7", 1700000000000000, 1699488000 },
    { "; compaction_window_unit: HOURS", 1700000000000000, 1699999200 },
    { "; compaction_window_unit: MINUTES; compaction_window_size: 30", 1700000000000000,
      1699999200 },
    { "; timestamp_resolution: MILLISECONDS", 1700000000000, 1699920000 },
    { "; timestamp_resolution: SECONDS", 1700000000, 1699920000 },
    { "; timestamp_resolution: NANOSECONDS", 1700000000000000000, 1699920000 },
};

START_TEST(a_window_begins_at_a_multiple_of_its_length)
{
    struct compaction_level *levels;
    start(arena_printf(&arena, "TimeWindow%s", windows[_i].options));
    struct compaction_now now = now_of(files_of("0:0-100*4"));
    files[0].timestamp_max = windows[_i].timestamp;
    ck_assert_uint_eq(strategy_levels(strategy, &now, &arena, &levels), 1);
    ck_assert_uint_eq(levels[0].window, windows[_i].begin);
}
END_TEST

START_TEST(each_window_says_what_is_due_in_it)
{
    struct compaction_level *levels;
    start(MINUTE "; max_threshold: 4");
    /* Ten in one that is over: one compaction, and two for the six left. */
    struct compaction_now now = now_of(files_of(
        "0:0-10*1@1 0:0-10*1@1 0:0-10*1@1 0:0-10*1@1 0:0-10*1@1 0:0-10*1@1 0:0-10*1@1 0:0-10*1@1 "
        "0:0-10*1@1 0:0-10*1@1 0:0-10*2@61 0:0-10*2@61 0:0-10*3@121 0:0-10*3@121"));
    ck_assert_uint_eq(strategy_levels(strategy, &now, &arena, &levels), 3);
    ck_assert_uint_eq(levels[0].window, 120);
    ck_assert_uint_eq(levels[0].pending, 0); /* the newest, of which two are too few */
    ck_assert_uint_eq(levels[0].pending_bytes, 0);
    ck_assert_uint_eq(levels[1].pending, 1);
    ck_assert_uint_eq(levels[1].pending_bytes, 4 << 20);
    ck_assert_uint_eq(levels[2].pending, 3);
    ck_assert_uint_eq(levels[2].overlap, 10);
}
END_TEST

/* ---- expired files ---- */

/* Two windows that are over and the newest; the first file is wholly past gc_before. */
static struct compaction_now with_expired(void)
{
    struct compaction_now now =
        now_of(files_of("0:0-100*4@5 0:0-100*4@65 0:0-100*4@66 0:0-100*4@125"));
    files[0].seconds_max = (uint32_t)now.gc_before - 1;
    return now;
}
static const char *picked_at(struct compaction_now *now, int64_t seconds)
{
    struct compaction_pick pick;
    now->now_seconds = seconds;
    strategy_pick(strategy, now, &arena, &pick);
    return shown(now, &pick);
}

START_TEST(expired_files_are_looked_for_at_the_first_call_and_go_with_what_is_picked)
{
    struct compaction_now now = with_expired();
    start(MINUTE);
    ck_assert_str_eq(picked_at(&now, 10000000), "merge 2 3 (1) > 0");
    now.files_count = 2; /* with nothing to merge, alone */
    ck_assert_str_eq(picked_at(&now, 10000001), "expired (1)");
}
END_TEST

START_TEST(they_are_not_looked_for_again_before_the_frequency_has_passed)
{
    struct compaction_now now = with_expired();
    start(MINUTE "; expired_sstable_check_frequency_seconds: 100");
    files[0].seconds_max = UINT32_MAX;
    now.files_count = 2;
    ck_assert_str_eq(picked_at(&now, 10000000), "none");
    files[0].seconds_max = (uint32_t)now.gc_before - 1;
    ck_assert_str_eq(picked_at(&now, 10000100), "none");
    ck_assert_str_eq(picked_at(&now, 10000101), "expired (1)");
    /* What was found and has not gone is found again. */
    ck_assert_str_eq(picked_at(&now, 10000102), "expired (1)");
}
END_TEST

START_TEST(they_are_looked_for_when_the_clock_was_set_back)
{
    struct compaction_now now = with_expired();
    start(MINUTE "; expired_sstable_check_frequency_seconds: 100");
    files[0].seconds_max = UINT32_MAX;
    now.files_count = 2;
    ck_assert_str_eq(picked_at(&now, 10000000), "none");
    files[0].seconds_max = (uint32_t)now.gc_before - 1;
    ck_assert_str_eq(picked_at(&now, 9500000), "expired (1)");
}
END_TEST

START_TEST(tombstone_compactions_are_off_unless_an_option_is_set)
{
    static const struct {
        const char *options, *pick;
    } cases[] = {
        { "", "none" },
        { "; unchecked_tombstone_compaction: false", "none" },
        { "; unchecked_tombstone_compaction: true", "tombstones 2 > 0" },
        { "; tombstone_threshold: 0.2", "tombstones 2 > 0" },
        { "; tombstone_compaction_interval: 86400", "tombstones 2 > 0" },
    };
    struct drop_times half = { .count = 1, .points = { { 5000, 500 } } };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct compaction_pick pick;
        start(arena_printf(&arena, MINUTE "%s", cases[i].options));
        struct compaction_now now = now_of(files_of("0:0-10*4@5 0:20-30*3@65 0:40-50*2@125"));
        for (size_t k = 0; k < 2; k++) { /* the smallest that is worth it, not of all */
            files[k].partitions = 1000;
            files[k].cells_a_partition = 1;
            files[k].drop_times = &half;
        }
        strategy_pick(strategy, &now, &arena, &pick);
        ck_assert_str_eq(shown(&now, &pick), cases[i].pick);
    }
}
END_TEST

START_TEST(everything_at_once_mixes_windows)
{
    struct compaction_pick pick;
    start(MINUTE);
    struct compaction_now now = now_of(files_of("0:0-100*4@5 0:0-100*4@65 0:0-100*4@66!"));
    ck_assert(strategy_major(strategy, &now, true, 0, &arena, &pick));
    ck_assert_str_eq(shown(&now, &pick), "merge 1 2 > 0");
    ck_assert_uint_eq(pick.outputs_count, 1);
    ck_assert(!strategy_major(strategy, &now, true, 1, &arena, &pick));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("window");
    TCase *t = tcase_create("window");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, of_these_files_these_are_picked, 0, array_count(picks));
    tcase_add_test(t, the_newest_window_is_never_forgotten);
    tcase_add_test(t, a_window_that_is_over_gives_its_smallest_files_up_to_max_threshold);
    tcase_add_loop_test(t, a_window_begins_at_a_multiple_of_its_length, 0, array_count(windows));
    tcase_add_test(t, each_window_says_what_is_due_in_it);
    tcase_add_test(t, expired_files_are_looked_for_at_the_first_call_and_go_with_what_is_picked);
    tcase_add_test(t, they_are_not_looked_for_again_before_the_frequency_has_passed);
    tcase_add_test(t, they_are_looked_for_when_the_clock_was_set_back);
    tcase_add_test(t, tombstone_compactions_are_off_unless_an_option_is_set);
    tcase_add_test(t, everything_at_once_mixes_windows);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
