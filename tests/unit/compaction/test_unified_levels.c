/* test_unified_levels.c - density, bounds of levels, and the flush size that they stand on (facts:
 * compaction.md 1.2 to 1.4, 9). */
// SPDX-License-Identifier: Apache-2.0
#include "unified_kit.h"

#include <math.h>

#define FLUSH "; flush_size_override: 4MiB"

static const struct bounds {
    const char *options;
    double high[7]; /* 0: not told */
} bounds[] = {
    { "scaling_parameters: T4" FLUSH, { 13002342, 52009368, 208037472, 832149888 } },
    { "scaling_parameters: L4" FLUSH, { 13002342, 52009368, 208037472, 832149888 } },
    { "scaling_parameters: N" FLUSH,
      { 4613734, 9227468, 18454936, 36909872, 73819744, 147639488, 295278976 } },
    { "scaling_parameters: T8" FLUSH, { 29779558, 238236464, 1905891712 } },
    { "scaling_parameters: L10" FLUSH, { 38168166, 381681660, 3816816600 } },
    /* Each level has its own fan factor: 4 MiB * 9.1, * 4, * 4, * 2. */
    { "scaling_parameters: T10, L4, T4, N" FLUSH, { 38168166, 152672664, 610690656, 1221381312 } },
    /* Before any flush: 1 MiB. */
    { "scaling_parameters: L10", { 9542041, 95420410 } },
};

/* The highest bound of level i is where a file of that density is no more in it. */
static void has_bound(struct unified *unified, size_t level, double high)
{
    ck_assert_uint_eq(unified_level_of(unified, &ring, nextafter(high, 0)), level);
    ck_assert_uint_eq(unified_level_of(unified, &ring, high), level + 1);
}

START_TEST(levels_end_where_cassandra_ends_them)
{
    const struct bounds *b = &bounds[_i];
    struct unified *unified = unified_with(b->options);
    for (size_t level = 0; level < array_count(b->high) && b->high[level] > 0; level++)
        has_bound(unified, level, b->high[level]);
}
END_TEST

START_TEST(files_are_told_by_their_levels_and_empty_ones_are_kept)
{
    struct compaction_level *levels;
    unified_with(bounds[0].options);
    add_whole(4);
    add_whole(60);
    add_whole(70);
    add_whole(5);
    ck_assert_uint_eq(strategy_levels(strategy, &now, &arena, &levels), 3);
    static const size_t counts[] = { 2, 0, 2 };
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(levels[i].files, counts[i]);
        ck_assert_uint_eq(levels[i].overlap, counts[i]);
        ck_assert_double_eq(levels[i].low, i ? bounds[0].high[i - 1] : 0);
        ck_assert_double_eq(levels[i].high, bounds[0].high[i]);
        ck_assert_str_eq(levels[i].setting, "T4");
    }
    ck_assert_uint_eq(levels[0].bytes, (uint64_t)(9 * MIB));
    ck_assert_uint_eq(levels[2].bytes, (uint64_t)(130 * MIB));
    now.files_count = 0;
    ck_assert_uint_eq(strategy_levels(strategy, &now, &arena, &levels), 0);
}
END_TEST

/* ---- density ---- */

START_TEST(a_file_of_half_of_the_ring_is_twice_as_dense)
{
    struct compaction_file *file = add_file(8, INT64_MIN + 1, 0);
    ck_assert_double_eq_tol(unified_density(&ring, file), 16 * MIB, 1);
    file->coverage = 0.25; /* as it was written down */
    ck_assert_double_eq(unified_density(&ring, file), 32 * MIB);
    file->coverage = NAN;
    ck_assert_double_eq_tol(unified_density(&ring, file), 16 * MIB, 1);
    file->first = file->last; /* one partition */
    ck_assert_double_eq(unified_density(&ring, file), 8 * MIB);
}
END_TEST

START_TEST(a_shard_and_a_node_with_a_part_of_the_ring_have_the_same_levels)
{
    struct token_range half = { INT64_MIN, 0 };
    struct local_ranges parts[2];
    local_ranges_make(&arena, &half, 1, 1, &parts[0]);
    local_ranges_make(&arena, NULL, 0, 0.125, &parts[1]); /* one shard of eight */
    struct unified *unified = unified_with(bounds[0].options);
    for (double mib = 1; mib < 1e6; mib *= 1.1)
        for (size_t i = 0; i < 2; i++) {
            double density = mib * MIB / local_coverage(&parts[i], INT64_MIN, INT64_MAX);
            ck_assert_uint_eq(unified_level_of(unified, &parts[i], density),
                              unified_level_of(unified, &ring, mib * MIB));
        }
}
END_TEST

/* ---- the flush size ---- */

START_TEST(the_average_moves_slowly)
{
    unified_with("");
    ck_assert(isnan(strategy_flush_average(strategy)));
    strategy_flushed(strategy, 1000);
    ck_assert_double_eq(strategy_flush_average(strategy), 1000);
    strategy_flushed(strategy, 2000);
    ck_assert_double_eq(strategy_flush_average(strategy), 1000 + 0.0046 * 1000);
    strategy_set_flush_average(strategy, 5e6);
    ck_assert_double_eq(strategy_flush_average(strategy), 5e6);
}
END_TEST

/* Level 0 under L10 ends at 9.1 flushes. */
static void stands_on(struct unified *unified, double mib)
{
    has_bound(unified, 0, floor(mib * MIB * (1 - 0.9 / 10) * 10));
}

START_TEST(levels_stand_on_the_average_in_whole_mebibytes_until_it_is_wrong_by_half)
{
    struct unified *unified = unified_with("scaling_parameters: L10");
    stands_on(unified, 1); /* nothing was flushed yet */
    strategy_flushed(strategy, (uint64_t)(0.2 * MIB));
    stands_on(unified, 1);
    strategy_set_flush_average(strategy, 4 * MIB);
    stands_on(unified, 4);
    strategy_set_flush_average(strategy, 4.05 * MIB);
    stands_on(unified, 4); /* it stays */
    strategy_set_flush_average(strategy, 7.9 * MIB);
    stands_on(unified, 4);
    strategy_set_flush_average(strategy, 8.1 * MIB); /* 4 / 8.1 is less than a half */
    stands_on(unified, 9);
    strategy_set_flush_average(strategy, 6.1 * MIB);
    stands_on(unified, 9);
    strategy_set_flush_average(strategy, 5.9 * MIB); /* 9 / 5.9 is more than one and a half */
    stands_on(unified, 6);
}
END_TEST

START_TEST(a_new_strategy_with_the_old_average_rounds_it_up)
{
    struct unified *unified = unified_with("scaling_parameters: L10");
    strategy_set_flush_average(strategy, 4.05 * MIB);
    stands_on(unified, 5);
}
END_TEST

START_TEST(the_users_flush_size_stands_whatever_is_flushed)
{
    struct unified *unified = unified_with("scaling_parameters: L10; flush_size_override: 3.5MiB");
    strategy_flushed(strategy, (uint64_t)(40 * MIB));
    stands_on(unified, 3.5);
}
END_TEST

START_TEST(floor_and_rounding_scale_with_the_sweep)
{
    struct table_params params;
    struct report report = { 0 };
    struct strategy_scale scale = { .flush_floor_bytes = 1024, .flush_round_bytes = 100 };
    ck_assert_int_eq(params_of("scaling_parameters: L10", &params, &report), OK);
    strategy = strategy_new(&params.compaction, &scale);
    struct unified *unified = owner_of(strategy, struct unified, head);
    has_bound(unified, 0, floor(1024 * 9.1));
    strategy_set_flush_average(strategy, 4001);
    has_bound(unified, 0, 4100 * 0.91 * 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unified_levels");
    TCase *tcase = tcase_create("unified_levels");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, levels_end_where_cassandra_ends_them, 0, (int)array_count(bounds));
    tcase_add_test(tcase, files_are_told_by_their_levels_and_empty_ones_are_kept);
    tcase_add_test(tcase, a_file_of_half_of_the_ring_is_twice_as_dense);
    tcase_add_test(tcase, a_shard_and_a_node_with_a_part_of_the_ring_have_the_same_levels);
    tcase_add_test(tcase, the_average_moves_slowly);
    tcase_add_test(tcase, levels_stand_on_the_average_in_whole_mebibytes_until_it_is_wrong_by_half);
    tcase_add_test(tcase, a_new_strategy_with_the_old_average_rounds_it_up);
    tcase_add_test(tcase, the_users_flush_size_stands_whatever_is_flushed);
    tcase_add_test(tcase, floor_and_rounding_scale_with_the_sweep);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
