/* test_unified.c - what the unified strategy picks, how many files of it, why, and where it cuts:
 * the facts' tables (compaction.md 1.6 to 1.9, 2.4, 8) and the traps in them. */
// SPDX-License-Identifier: Apache-2.0
#include "unified_kit.h"

#include <math.h>

#define FLUSH "flush_size_override: 4MiB; scaling_parameters: "

static const char *picked(const struct compaction_pick *pick)
{
    return sizes_of(pick->files, pick->count);
}

/* ---- how many of the bucket: one level, all files over all keys, no new ones ---- */

static const struct sizes {
    const char *options;
    size_t files;
    const char *picks;
    size_t left;
} sizes[] = {
    { "scaling_parameters: T4", 3, "", 3 },
    { "scaling_parameters: T4", 4, "4", 0 },
    { "scaling_parameters: T4", 7, "7", 0 },
    { "scaling_parameters: T4", 16, "16", 0 },
    { "scaling_parameters: T4", 17, "16", 1 },
    { "scaling_parameters: T4", 55, "16 16 16 7", 0 },
    { "scaling_parameters: T4", 63, "16 16 16 15", 0 },
    { "scaling_parameters: T4", 64, "64", 0 },
    { "scaling_parameters: L4", 55, "48 7", 0 },
    { "scaling_parameters: T4", 947, "256 256 256 64 64 16 16 16", 3 },
    { "scaling_parameters: L4", 947, "768 128 48 3", 0 },
    { "scaling_parameters: L4; max_sstables_to_compact: 128", 947,
      "128 128 128 128 128 128 128 48 3", 0 },
    { "scaling_parameters: L4; max_sstables_to_compact: 64", 947,
      "64 64 64 64 64 64 64 64 64 64 64 64 64 64 48 3", 0 },
    { "scaling_parameters: T4; max_sstables_to_compact: 100", 944,
      "64 64 64 64 64 64 64 64 64 64 64 64 64 64 16 16 16", 0 },
    { "scaling_parameters: T4; max_sstables_to_compact: 60", 128, "16 16 16 16 16 16 16 16", 0 },
    { "scaling_parameters: T10; max_sstables_to_compact: 32", 55, "32 23", 0 },
    { "scaling_parameters: T10; max_sstables_to_compact: 2", 25, "10 10", 5 },
    { "scaling_parameters: N", 9, "8", 1 },
    { "scaling_parameters: L10", 2, "2", 0 },
};

START_TEST(a_pick_takes_as_many_files_as_cassandra_takes)
{
    const struct sizes *s = &sizes[_i];
    char text[256] = "";
    unified_with(s->options);
    while (now.files_count < s->files)
        add_whole(0.01);
    for (struct compaction_pick pick = pick_now(); pick.count; pick = pick_now()) {
        ck_assert_int_eq(pick.level, 0);
        for (size_t i = 0; i < pick.count; i++) /* the oldest: those in front */
            ck_assert_uint_eq(pick.files[i], i);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%zu", *text ? " " : "",
                 pick.count);
        remove_files(pick.files, pick.count);
    }
    ck_assert_str_eq(text, s->picks);
    ck_assert_uint_eq(now.files_count, s->left);
}
END_TEST

/* ---- which level ---- */

static const struct choice {
    const char *options;
    double mib[16]; /* 0: no more; each over all keys */
    const char *picked;
    int level;
} choices[] = {
    { FLUSH "T4", { 4, 4, 4 }, "", -1 },
    { FLUSH "T4", { 4, 4, 4, 16, 16, 16, 16 }, "16 16 16 16", 1 },
    { FLUSH "T4", { 16, 16, 16, 16, 4, 4, 4, 4 }, "4 4 4 4", 0 }, /* of equals the lower */
    { FLUSH "T4", { 16, 16, 16, 16, 16, 4, 4, 4, 4 }, "16 16 16 16 16", 1 },
    /* In Cassandra nothing: the eight are more than the two, but not enough. */
    { FLUSH "T10, L4", { 4, 4, 4, 4, 4, 4, 4, 4, 60, 60 }, "60 60", 1 },
    { FLUSH "T10, L4", { 4, 4, 4, 4, 4, 4, 4, 4, 60 }, "", -1 },
    { FLUSH "T10, L4", { 60, 60, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4 }, "4 4 4 4 4 4 4 4 4 4", 0 },
    { FLUSH "L10", { 20, 80 }, "", -1 },
    { FLUSH "L10", { 20, 4 }, "20 4", 0 },
    /* Nothing is known of flushes: both are in level 1, as after a restart of Cassandra's. */
    { "scaling_parameters: L10", { 20, 80 }, "20 80", 1 },
};

START_TEST(the_level_with_the_most_files_over_one_key_goes_first_if_it_is_due)
{
    const struct choice *c = &choices[_i];
    unified_with(c->options);
    for (size_t i = 0; i < array_count(c->mib) && c->mib[i] > 0; i++)
        add_whole(c->mib[i]);
    struct compaction_pick pick = pick_now();
    ck_assert_str_eq(picked(&pick), c->picked);
    ck_assert_int_eq(pick.level, c->level);
    ck_assert_int_eq(pick.kind, pick.count ? COMPACTION_MERGE : COMPACTION_NONE);
}
END_TEST

/* ---- which bucket ---- */

static const struct bucket {
    const char *inclusion;
    const char *picked; /* sizes tell the files apart */
} buckets[] = { { "NONE", "1 2 3" }, { "SINGLE", "1 2 3 5" }, { "TRANSITIVE", "1 2 3 5 6" } };

START_TEST(a_bucket_takes_neighbours_as_the_option_says)
{
    char options[128];
    snprintf(options, sizeof options,
             "overlap_inclusion_method: %s; scaling_parameters: T3; "
             "flush_size_override: 100MiB",
             buckets[_i].inclusion);
    unified_with(options);
    for (int64_t i = 0; i < 3; i++)
        add_file(1 + (double)i, INT64_MIN / 4, INT64_MAX / 4);
    add_file(5, INT64_MAX / 4, INT64_MAX / 2);     /* shares a token with these */
    add_file(6, INT64_MAX / 2, INT64_MAX / 4 * 3); /* ... and one with that */
    add_file(7, INT64_MAX / 4 * 3 + 1, INT64_MAX);
    files[0].last = files[1].last = INT64_MAX / 4 - 1;
    struct compaction_pick pick = pick_now();
    ck_assert_str_eq(picked(&pick), buckets[_i].picked);
}
END_TEST

START_TEST(buckets_that_are_as_deep_take_turns_by_chance)
{
    unsigned times[2] = { 0 };
    unified_with(FLUSH "L4");
    for (size_t i = 0; i < 4; i++)
        add_file(1, i % 2 ? 1 : INT64_MIN + 1, i % 2 ? INT64_MAX : 0);
    for (size_t i = 0; i < 1000; i++) {
        struct compaction_pick pick = pick_now();
        ck_assert_uint_eq(pick.count, 2);
        ck_assert_uint_eq(pick.files[1], pick.files[0] + 2);
        times[pick.files[0]]++;
    }
    ck_assert_uint_ge(times[0], 400);
    ck_assert_uint_ge(times[1], 400);
    add_file(1, 1, INT64_MAX); /* now one is deeper */
    for (size_t i = 0; i < 100; i++)
        ck_assert_uint_eq(pick_now().count, 3);
}
END_TEST

START_TEST(what_is_busy_damaged_or_shared_is_left_alone)
{
    unified_with(FLUSH "T4");
    for (size_t i = 0; i < 5; i++)
        add_whole(4);
    ck_assert_uint_eq(pick_now().count, 5);
    files[0].is_busy = true;
    struct compaction_pick pick = pick_now();
    ck_assert_uint_eq(pick.count, 4);
    ck_assert_uint_eq(pick.files[0], 1);
    files[1].is_suspect = true;
    ck_assert_int_eq(pick_now().kind, COMPACTION_NONE);
    files[1].is_suspect = false;
    files[2].is_shared = true;
    ck_assert_int_eq(pick_now().kind, COMPACTION_NONE);
    files[2].is_shared = false;
    ck_assert_uint_eq(pick_now().count, 4);
}
END_TEST

/* ---- what it writes, and why ---- */

static const struct story {
    const char *options;
    double mib[16];
    size_t cuts;
    const char *reason;
} stories[] = {
    { FLUSH "T4",
      { 4, 4, 4, 4 },
      0,
      "level 0 has 4 overlapping files (T4: due from 4): 4 files, 16.0 MiB, to level 1" },
    { FLUSH "L10",
      { 8, 4 },
      0,
      "level 0 has 2 overlapping files (L10: due from 2): 2 files, 12.0 MiB, to level 0" },
    { FLUSH "N",
      { 128, 100 },
      1,
      "level 5 has 2 overlapping files (N: due from 2): 2 files, 228.0 MiB, in 2 slices, "
      "to level 6" },
    { FLUSH "T3",
      { 4, 4, 4, 4, 4, 4, 4, 4, 4, 4 },
      0,
      "level 0 has 10 overlapping files (T3: due from 3): the oldest 9 files, 36.0 MiB, to level "
      "2" },
    { FLUSH "T4; min_sstable_size: 0B",
      { 4, 4, 4, 4 },
      3,
      "level 0 has 4 overlapping files (T4: due from 4): 4 files, 16.0 MiB, in 4 slices, "
      "to level 1" },
    { FLUSH "T4; min_sstable_size: 0B; base_shard_count: 1",
      { 4, 4, 4, 4 },
      0,
      "level 0 has 4 overlapping files (T4: due from 4): 4 files, 16.0 MiB, to level 1" },
};

START_TEST(a_pick_says_why_and_cuts_its_output)
{
    const struct story *s = &stories[_i];
    unified_with(s->options);
    for (size_t i = 0; i < array_count(s->mib) && s->mib[i] > 0; i++)
        add_whole(s->mib[i]);
    struct compaction_pick pick = pick_now();
    ck_assert_str_eq(pick.reason, s->reason);
    ck_assert_uint_eq(pick.cuts_count, s->cuts);
    ck_assert_uint_eq(pick.outputs_count, 1);
    ck_assert_uint_eq(pick.outputs->bytes, UINT64_MAX);
    ck_assert_uint_eq(pick.outputs->level, 0);
}
END_TEST

START_TEST(output_of_a_part_of_the_ring_is_cut_as_if_it_were_all)
{
    unified_with(FLUSH "N");
    add_file(60, INT64_MIN + 1, -1); /* 240 MiB over all: two slices, of which this is one */
    add_file(60, INT64_MIN + 1, -1);
    ck_assert_uint_eq(pick_now().cuts_count, 0);
    now.files_count = 0;
    add_file(60, INT64_MIN + 1, 1000); /* a little is in the other */
    add_file(60, INT64_MIN + 1, 1000);
    struct compaction_pick pick = pick_now();
    ck_assert_uint_eq(pick.cuts_count, 1);
    ck_assert_int_eq(pick.cuts[0], 0);
    now.files_count = 0;
    add_file(200, 5, 5); /* one partition: its size is its density */
    add_file(100, 5, 5);
    ck_assert_uint_eq(pick_now().cuts_count, 0);
}
END_TEST

START_TEST(urgency_is_how_many_compactions_are_due)
{
    struct compaction_level *levels;
    unified_with(FLUSH "T4");
    for (size_t i = 0; i < 9; i++)
        add_whole(4);
    for (size_t i = 0; i < 5; i++)
        add_whole(16);
    add_whole(100);
    ck_assert_double_eq(pick_now().priority, 3);
    files[0].is_busy = files[1].is_busy = true;
    ck_assert_double_eq(pick_now().priority, 2);
    ck_assert_uint_eq(strategy_levels(strategy, &now, &arena, &levels), 3);
    static const uint64_t files_of[] = { 9, 5, 1 }, due[] = { 1, 1, 0 }, mib[] = { 28, 80, 0 };
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(levels[i].files, files_of[i]);
        ck_assert_uint_eq(levels[i].overlap, files_of[i]);
        ck_assert_uint_eq(levels[i].pending, due[i]);
        ck_assert_uint_eq(levels[i].pending_bytes, mib[i] << 20);
    }
}
END_TEST

START_TEST(what_lies_beside_a_bucket_is_not_due)
{
    struct compaction_level *levels;
    unified_with(FLUSH "N");
    add_file(1, -300, -200);
    add_file(0.5, -100, 100);
    add_file(0.25, -50, 200);
    add_file(2, 300, 400);
    add_file(0.125, 500, 600);
    add_file(0.0625, 600, 700);
    for (size_t i = 0; i < now.files_count; i++)
        files[i].coverage = 1;
    ck_assert_uint_eq(strategy_levels(strategy, &now, &arena, &levels), 1);
    ck_assert_uint_eq(levels[0].pending, 2);
    ck_assert_uint_eq(levels[0].pending_bytes, (uint64_t)(0.9375 * MIB));
}
END_TEST

/* ---- expired files ---- */

static void expire(size_t i) { files[i].seconds_max = (uint32_t)now.gc_before - 1; }

START_TEST(expired_files_are_looked_for_once_in_a_period)
{
    unified_with(FLUSH "T4; expired_sstable_check_frequency_seconds: 10");
    add_whole(4);
    add_whole(8);
    expire(0);
    ck_assert_int_eq(pick_now().kind, COMPACTION_NONE); /* the period begins */
    now.now_seconds += 9;
    ck_assert_int_eq(pick_now().kind, COMPACTION_NONE);
    now.now_seconds += 1;
    for (size_t i = 0; i < 2; i++) { /* and it stays due until it is done */
        struct compaction_pick pick = pick_now();
        ck_assert_int_eq(pick.kind, COMPACTION_EXPIRED);
        ck_assert_uint_eq(pick.count, 0);
        ck_assert_str_eq(sizes_of(pick.expired, pick.expired_count), "4");
        ck_assert_int_eq(pick.level, -1);
        ck_assert_double_eq(pick.priority, 1);
        ck_assert_str_eq(pick.reason,
                         "1 expired file goes unread, 4.0 MiB: nothing else holds older data");
    }
    files[0].is_busy = true; /* somebody does it */
    ck_assert_int_eq(pick_now().kind, COMPACTION_NONE);
    expire(1);
    files[1].timestamp_min = files[1].timestamp_max = -1;
    now.now_seconds += 9;
    ck_assert_int_eq(pick_now().kind, COMPACTION_NONE);
    now.now_seconds += 1;
    ck_assert_int_eq(pick_now().kind, COMPACTION_EXPIRED);
    now.now_seconds = 0; /* the clock was set back: a new period */
    ck_assert_int_eq(pick_now().kind, COMPACTION_NONE);
    now.now_seconds += 10;
    ck_assert_int_eq(pick_now().kind, COMPACTION_EXPIRED);
}
END_TEST

START_TEST(expired_files_go_with_whatever_is_picked)
{
    unified_with(FLUSH "T4; expired_sstable_check_frequency_seconds: 10");
    for (size_t i = 0; i < 4; i++)
        add_whole(4);
    add_whole(900);
    expire(4);
    files[4].timestamp_min = files[4].timestamp_max = -1;
    struct compaction_pick pick = pick_now();
    ck_assert_uint_eq(pick.expired_count, 0);
    now.now_seconds += 10;
    pick = pick_now();
    ck_assert_str_eq(picked(&pick), "4 4 4 4");
    ck_assert_str_eq(sizes_of(pick.expired, pick.expired_count), "900");
    ck_assert_str_eq(pick.reason, "level 0 has 4 overlapping files (T4: due from 4): 4 files, "
                                  "16.0 MiB, to level 1; 1 expired file goes unread, 900.0 MiB");
    ck_assert_uint_eq(pick.cuts_count, 0); /* 900 MiB count for nothing */
    expire(0);
    pick = pick_now(); /* it makes no level deep any more */
    ck_assert_int_eq(pick.kind, COMPACTION_EXPIRED);
    ck_assert_uint_eq(pick.expired_count, 2);
    now.purges_nothing = true;
    ck_assert_uint_eq(pick_now().expired_count, 0);
}
END_TEST

/* ---- what a user asks for ---- */

START_TEST(everything_at_once_is_one_pick_for_each_group_that_overlaps)
{
    struct compaction_pick pick;
    unified_with(FLUSH "T4");
    add_file(4, 1, 1000);
    add_file(400, 500, 2000); /* whatever their levels */
    add_file(16, -2000, -1);
    add_file(2, 2000, 3000);
    add_file(7, 10, 20);
    files[4].is_busy = true;
    ck_assert(strategy_major(strategy, &now, true, 0, &arena, &pick));
    ck_assert_str_eq(picked(&pick), "16");
    ck_assert_str_eq(pick.reason, "a file by itself: 1 file, 16.0 MiB");
    ck_assert(strategy_major(strategy, &now, true, 1, &arena, &pick));
    ck_assert_str_eq(picked(&pick), "4 400 2");
    ck_assert_str_eq(pick.reason, "all that overlap: 3 files, 406.0 MiB");
    ck_assert_int_eq(pick.kind, COMPACTION_MERGE);
    ck_assert(!strategy_major(strategy, &now, true, 2, &arena, &pick));
    ck_assert_int_eq(pick.kind, COMPACTION_NONE);
}
END_TEST

START_TEST(what_a_user_names_is_taken)
{
    struct compaction_pick pick;
    unified_with(FLUSH "T4");
    for (size_t i = 0; i < 3; i++)
        add_whole(200);
    strategy_these(strategy, &now, (size_t[]){ 2, 0 }, 2, &arena, &pick);
    ck_assert_uint_eq(pick.count, 2);
    ck_assert_uint_eq(pick.files[0], 0);
    ck_assert_uint_eq(pick.files[1], 2);
    ck_assert_str_eq(pick.reason, "named by a user: 2 files, 400.0 MiB, in 4 slices");
    ck_assert_uint_eq(pick.cuts_count, 3);
}
END_TEST

START_TEST(a_smaller_pick_leaves_out_the_largest)
{
    unified_with(FLUSH "T4");
    add_whole(4);
    add_whole(6);
    add_whole(4);
    add_whole(5);
    struct compaction_pick pick = pick_now();
    static const char *const smaller[] = { "4 4 5", "4 4", "4" };
    for (size_t i = 0; i < 3; i++) {
        ck_assert(strategy_reduce(strategy, &now, &arena, &pick));
        ck_assert_str_eq(picked(&pick), smaller[i]);
    }
    ck_assert(!strategy_reduce(strategy, &now, &arena, &pick));
    ck_assert_str_eq(picked(&pick), "4");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unified");
    TCase *tcase = tcase_create("unified");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_pick_takes_as_many_files_as_cassandra_takes, 0,
                        (int)array_count(sizes));
    tcase_add_loop_test(tcase, the_level_with_the_most_files_over_one_key_goes_first_if_it_is_due,
                        0, (int)array_count(choices));
    tcase_add_loop_test(tcase, a_bucket_takes_neighbours_as_the_option_says, 0,
                        (int)array_count(buckets));
    tcase_add_test(tcase, buckets_that_are_as_deep_take_turns_by_chance);
    tcase_add_test(tcase, what_is_busy_damaged_or_shared_is_left_alone);
    tcase_add_loop_test(tcase, a_pick_says_why_and_cuts_its_output, 0, (int)array_count(stories));
    tcase_add_test(tcase, output_of_a_part_of_the_ring_is_cut_as_if_it_were_all);
    tcase_add_test(tcase, urgency_is_how_many_compactions_are_due);
    tcase_add_test(tcase, what_lies_beside_a_bucket_is_not_due);
    tcase_add_test(tcase, expired_files_are_looked_for_once_in_a_period);
    tcase_add_test(tcase, expired_files_go_with_whatever_is_picked);
    tcase_add_test(tcase, everything_at_once_is_one_pick_for_each_group_that_overlaps);
    tcase_add_test(tcase, what_a_user_names_is_taken);
    tcase_add_test(tcase, a_smaller_pick_leaves_out_the_largest);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
