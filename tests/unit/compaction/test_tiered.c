/* test_tiered.c - SizeTiered's buckets and choice, file by file; what is asked for; what is left
 * out for lack of space.
 */
// SPDX-License-Identifier: Apache-2.0
#include "strategy_kit.h"

static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

/* All files over the whole ring: "4 4 4 4" as sizes, with what files_of knows behind them. */
static const char *over_all(const char *sizes)
{
    struct buf out = buf_in(&arena);
    while (*sizes) {
        size_t size = strcspn(sizes, " ");
        buf_printf(&out, "0:0-100*%.*s ", (int)size, sizes);
        sizes += size + strspn(sizes + size, " ");
    }
    return arena_text(&arena, buf_bytes(&out));
}

static const struct {
    const char *options, *sizes, *pick, *why;
} picks[] = {
    /* everything below 50 MiB is alike */
    { "", "", "none", "no file" },
    { "", "4 4 4", "none", "fewer than min_threshold" },
    { "", "4 4 4 4", "merge 1 2 3 4 > 0", "four alike" },
    { "", "1 9 30 49.9", "merge 1 2 3 4 > 0", "small ones, whatever their ratio" },
    { "", "1 9 30 50", "none", "50 MiB is not below min_sstable_size, nor within 1.5 of 13.3" },
    { "", "40 52 52 52", "merge 1 2 3 4 > 0", "52 < 1.5 * 40: the trap at flush 49" },
    { "", "4 4 4 40 52 52 52", "merge 1 2 3 4 > 0", "with 4s the average is 13, and 52 is alone" },
    /* without: strictly between half of the average and one and a half */
    { "; min_sstable_size: 0", "10 10 10 14.9", "merge 1 2 3 4 > 0", "14.9 < 15" },
    { "; min_sstable_size: 0", "10 10 10 15", "none", "15 is not" },
    { "; min_sstable_size: 0", "10 14 17 19", "merge 1 2 3 4 > 0",
      "the average moves: 10 12 13.7" },
    { "; min_sstable_size: 0", "10 14 18 19", "none", "18 is not below 1.5 * 12" },
    { "; min_sstable_size: 0; bucket_low: 1; bucket_high: 1.2", "10 10 10 10", "none",
      "strictly above the average, as Cassandra has it" },
    { "; min_sstable_size: 0; bucket_high: 3", "10 20 30 40", "merge 1 2 3 4 > 0", "wide" },
    /* thresholds */
    { "; min_threshold: 2", "4 4", "merge 1 2 > 0", "two are enough" },
    { "; min_threshold: 2; max_threshold: 3", "9 8 7 6 5", "merge 3 4 5 > 0", "the smallest" },
    /* among buckets the greatest average wins */
    { "; min_sstable_size: 0", "4 4 4 4 16 16 16 16", "merge 5 6 7 8 > 0", "the greatest" },
    { "; min_sstable_size: 0; max_threshold: 4", "16 16 16 16 17 4 4 4 4", "merge 1 2 3 4 > 0",
      "of it the smallest" },
    /* what is not free is not seen */
    { "", "4 4 4! 4", "none", "busy" },
    { "", "4 4 4? 4", "none", "damaged" },
    { "", "4 4 4& 4", "none", "other shards' too" },
    { "", "4 4! 4 4? 4 4& 4", "merge 1 3 5 7 > 0", "the others are enough" },
};

START_TEST(files_of_like_size_are_picked)
{
    struct compaction_params params =
        params_of(arena_printf(&arena, "SizeTiered%s", picks[_i].options));
    struct strategy *strategy = strategy_new(&params, NULL);
    const char *got = picked(strategy, over_all(picks[_i].sizes));
    ck_assert_msg(strcmp(got, picks[_i].pick) == 0, "%s: %s, not %s: %s", picks[_i].sizes, got,
                  picks[_i].pick, picks[_i].why);
    strategy_free(&strategy);
}
END_TEST

START_TEST(a_tie_goes_to_the_bucket_with_more_bytes_in_all_components)
{
    struct compaction_params params = params_of("SizeTiered; min_sstable_size: 0");
    struct strategy *strategy = strategy_new(&params, NULL);
    struct compaction_now now = now_of(files_of(over_all("4 4 4 4 8 8 8 8")));
    struct compaction_pick pick;
    for (size_t i = 0; i < 4; i++)
        files[i].all_bytes = 9 << 20; /* an index larger than the data */
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 1 2 3 4 > 0");
    strategy_free(&strategy);
}
END_TEST

static const struct {
    const char *sizes;
    size_t levels;
    uint64_t pending[3];
    double pending_mib[3];
} dues[] = {
    { "4 4 4", 1, { 0 }, { 0 } },
    { "4 4 4 4", 1, { 1 }, { 16 } },
    { "4 4 4! 4 4", 1, { 1 }, { 16 } },
    { "4 4 4! 4", 1, { 0 }, { 0 } },
    { "4 60 60 60 60 200 200 200", 3, { 0, 1, 0 }, { 0, 240, 0 } },
};

START_TEST(each_bucket_says_what_is_due_in_it)
{
    struct compaction_params params = params_of("SizeTiered");
    struct strategy *strategy = strategy_new(&params, NULL);
    struct compaction_now now = now_of(files_of(over_all(dues[_i].sizes)));
    struct compaction_level *levels;
    size_t files_sum = 0, count = strategy_levels(strategy, &now, &arena, &levels);
    ck_assert_uint_eq(count, dues[_i].levels);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(levels[i].pending, dues[_i].pending[i]);
        ck_assert_double_eq((double)levels[i].pending_bytes / MIB, dues[_i].pending_mib[i]);
        ck_assert_uint_eq(levels[i].overlap, levels[i].files);
        files_sum += levels[i].files;
    }
    ck_assert_uint_eq(files_sum, now.files_count);
    strategy_free(&strategy);
}
END_TEST

START_TEST(a_hundred_files_are_due_in_as_many_compactions_as_max_threshold_makes_of_them)
{
    struct compaction_params params = params_of("SizeTiered");
    struct strategy *strategy = strategy_new(&params, NULL);
    struct buf text = buf_in(&arena);
    for (unsigned i = 0; i < 100; i++)
        buf_printf(&text, "0:%u-%u*4 ", i, i + 1);
    struct compaction_now now = now_of(files_of(arena_text(&arena, buf_bytes(&text))));
    struct compaction_level *levels;
    struct compaction_pick pick;
    ck_assert_uint_eq(strategy_levels(strategy, &now, &arena, &levels), 1);
    ck_assert_uint_eq(levels[0].pending, 4);
    ck_assert_uint_eq(levels[0].overlap, 1);
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_uint_eq(pick.count, 32);
    ck_assert_double_eq(pick.priority, 4);
    strategy_free(&strategy);
}
END_TEST

/* ---- everything ---- */

static const struct {
    const char *sizes;
    bool splits;
    size_t outputs;
    double mib[6]; /* of all outputs but the last, which takes what is left */
} majors[] = {
    { "4", false, 1, { 0 } },
    { "1000 100 20", false, 1, { 0 } },
    { "4 4", true, 1, { 0 } },
    { "50 45", true, 1, { 0 } },  /* a half is 47.5 MiB: below 50,000,000 bytes */
    { "50 46", true, 2, { 48 } }, /* a half is 48 MiB: above; a quarter below */
    { "256 4", true, 3, { 130, 65 } },
    { "1024", true, 5, { 512, 256, 128, 64 } },
};

START_TEST(all_files_become_one_or_halves_of_halves)
{
    struct compaction_params params = params_of("SizeTiered");
    struct strategy *strategy = strategy_new(&params, NULL);
    struct compaction_now now = now_of(files_of(over_all(majors[_i].sizes)));
    struct compaction_pick pick;
    ck_assert(strategy_major(strategy, &now, majors[_i].splits, 0, &arena, &pick));
    ck_assert_uint_eq(pick.count, now.files_count);
    ck_assert_uint_eq(pick.outputs_count, majors[_i].outputs);
    for (size_t i = 0; i + 1 < pick.outputs_count; i++)
        ck_assert_double_eq((double)pick.outputs[i].bytes / MIB, majors[_i].mib[i]);
    ck_assert_uint_eq(pick.outputs[pick.outputs_count - 1].bytes, UINT64_MAX);
    ck_assert(!strategy_major(strategy, &now, majors[_i].splits, 1, &arena, &pick));
    strategy_free(&strategy);
}
END_TEST

START_TEST(a_split_is_of_twenty_files_at_most)
{
    struct compaction_params params = params_of("SizeTiered");
    struct strategy *strategy = strategy_new(&params, NULL);
    struct compaction_now now = now_of(files_of("0:0-100*1"));
    struct compaction_pick pick;
    files[0].bytes = 1ull << 62;
    ck_assert(strategy_major(strategy, &now, true, 0, &arena, &pick));
    ck_assert_uint_eq(pick.outputs_count, 20);
    strategy_free(&strategy);
}
END_TEST

START_TEST(what_is_named_is_taken_and_what_is_not_free_never)
{
    struct compaction_params params = params_of("SizeTiered");
    struct strategy *strategy = strategy_new(&params, NULL);
    struct compaction_now now = now_of(files_of(over_all("4 900 4! 4")));
    struct compaction_pick pick;
    strategy_these(strategy, &now, (size_t[]){ 1, 0 }, 2, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 1 2 > 0");
    ck_assert(strategy_major(strategy, &now, false, 0, &arena, &pick));
    ck_assert_str_eq(shown(&now, &pick), "merge 1 2 4 > 0");
    strategy_free(&strategy);
}
END_TEST

START_TEST(for_lack_of_space_the_largest_stays_out_down_to_one)
{
    struct compaction_params params = params_of("SizeTiered; min_threshold: 2");
    struct strategy *strategy = strategy_new(&params, NULL);
    struct compaction_now now = now_of(files_of(over_all("5 9 9 3")));
    struct compaction_pick pick;
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "merge 1 2 3 4 > 0");
    ck_assert(strategy_reduce(strategy, &now, &arena, &pick));
    ck_assert_str_eq(shown(&now, &pick), "merge 1 3 4 > 0");
    ck_assert(strategy_reduce(strategy, &now, &arena, &pick));
    ck_assert_str_eq(shown(&now, &pick), "merge 1 4 > 0");
    ck_assert(strategy_reduce(strategy, &now, &arena, &pick));
    ck_assert_str_eq(shown(&now, &pick), "merge 4 > 0");
    ck_assert(!strategy_reduce(strategy, &now, &arena, &pick));
    ck_assert_str_eq(shown(&now, &pick), "merge 4 > 0");
    strategy_free(&strategy);
}
END_TEST

/* ---- for tombstones ---- */

START_TEST(with_nothing_to_merge_the_largest_file_worth_it_is_compacted_alone)
{
    struct compaction_params params = params_of("SizeTiered");
    struct strategy *strategy = strategy_new(&params, NULL);
    struct compaction_now now = now_of(files_of("0:0-10*90 0:20-30*400 0:40-50*200 0:60-70*900"));
    struct drop_times half = { .count = 1, .points = { { 5000, 500 } } };
    struct compaction_pick pick;
    for (size_t i = 0; i < 3; i++) { /* not the largest of all */
        files[i].partitions = 1000;
        files[i].cells_a_partition = 1;
        files[i].drop_times = &half;
    }
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "tombstones 2 > 0");
    ck_assert_ptr_nonnull(strstr(pick.reason, "50% of the cells can be purged"));
    files[1].is_busy = true;
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "tombstones 3 > 0");
    now.purges_nothing = true;
    strategy_pick(strategy, &now, &arena, &pick);
    ck_assert_str_eq(shown(&now, &pick), "none");
    strategy_free(&strategy);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tiered");
    TCase *t = tcase_create("tiered");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, files_of_like_size_are_picked, 0, array_count(picks));
    tcase_add_test(t, a_tie_goes_to_the_bucket_with_more_bytes_in_all_components);
    tcase_add_loop_test(t, each_bucket_says_what_is_due_in_it, 0, array_count(dues));
    tcase_add_test(t,
                   a_hundred_files_are_due_in_as_many_compactions_as_max_threshold_makes_of_them);
    tcase_add_loop_test(t, all_files_become_one_or_halves_of_halves, 0, array_count(majors));
    tcase_add_test(t, a_split_is_of_twenty_files_at_most);
    tcase_add_test(t, what_is_named_is_taken_and_what_is_not_free_never);
    tcase_add_test(t, for_lack_of_space_the_largest_stays_out_down_to_one);
    tcase_add_test(t, with_nothing_to_merge_the_largest_file_worth_it_is_compacted_alone);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
