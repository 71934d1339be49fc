/* test_params_compaction.c - the option `compaction`: its classes, the range of each of their
 * options, the sentences of refusals, and how it is shown.
 */
// SPDX-License-Identifier: Apache-2.0
#include "params_map.h"

static const struct {
    const char *given;
    bool is_right;
} compactions[] = {
    { "SizeTieredCompactionStrategy", true },
    { "org.apache.cassandra.db.compaction.LeveledCompactionStrategy", true },
    { "com.example.LeveledCompactionStrategy", false },
    { "DateTieredCompactionStrategy", false },
    { "", false },
    { "SizeTieredCompactionStrategy; enabled: FALSE", true },
    { "SizeTieredCompactionStrategy; enabled: 0", false },
    { "SizeTieredCompactionStrategy; tombstone_threshold: 0.0", true },
    { "SizeTieredCompactionStrategy; tombstone_threshold: -0.1", false },
    { "LeveledCompactionStrategy; tombstone_compaction_interval: 0", true },
    { "LeveledCompactionStrategy; tombstone_compaction_interval: -1", false },
    { "LeveledCompactionStrategy; tombstone_compaction_interval: 1d", false },
    { "TimeWindowCompactionStrategy; unchecked_tombstone_compaction: true", true },
    { "TimeWindowCompactionStrategy; unchecked_tombstone_compaction: yes", false },
    { "UnifiedCompactionStrategy; log_all: true; only_purge_repaired_tombstones: true", true },
    { "UnifiedCompactionStrategy; log_all: most", false },
    { "UnifiedCompactionStrategy; provide_overlapping_tombstones: cell", true },
    { "UnifiedCompactionStrategy; provide_overlapping_tombstones: tables", false },
    { "SizeTieredCompactionStrategy; max_threshold: 8; min_threshold: 8", true },
    { "SizeTieredCompactionStrategy; max_threshold: 7; min_threshold: 8", false },
    { "SizeTieredCompactionStrategy; max_threshold: 3", false },
    { "SizeTieredCompactionStrategy; min_threshold: 33", false },
    { "SizeTieredCompactionStrategy; min_threshold: 1", false },
    { "SizeTieredCompactionStrategy; min_threshold: 0", false },
    { "SizeTieredCompactionStrategy; min_threshold: 2.5", false },
    { "UnifiedCompactionStrategy; min_threshold: 4", false },
    { "SizeTieredCompactionStrategy; min_sstable_size: 0", true },
    { "SizeTieredCompactionStrategy; min_sstable_size: 50MiB", false },
    { "SizeTieredCompactionStrategy; min_sstable_size: -1", false },
    { "SizeTieredCompactionStrategy; bucket_high: 2; bucket_low: 1.9", true },
    { "SizeTieredCompactionStrategy; bucket_high: 0.5", false },
    { "SizeTieredCompactionStrategy; bucket_low: 1.5", false },
    { "SizeTieredCompactionStrategy; bucket_low: low", false },
    { "UnifiedCompactionStrategy; bucket_low: 0.5", false },
    { "SizeTieredCompactionStrategy; sstable_size_in_mb: 160", false },
    { "LeveledCompactionStrategy; fanout_size: 5; single_sstable_uplevel: true; "
      "sstable_size_in_mb: 320",
      true },
    { "LeveledCompactionStrategy; sstable_size_in_mb: 0", false },
    { "LeveledCompactionStrategy; fanout_size: 0", false },
    { "LeveledCompactionStrategy; min_threshold: 4", true },
    { "LeveledCompactionStrategy; compaction_window_size: 1", false },
    { "TimeWindowCompactionStrategy; compaction_window_size: 6; compaction_window_unit: HOURS; "
      "timestamp_resolution: MILLISECONDS",
      true },
    { "TimeWindowCompactionStrategy; compaction_window_unit: hours", false },
    { "TimeWindowCompactionStrategy; compaction_window_unit: HOUR", false },
    { "TimeWindowCompactionStrategy; compaction_window_unit: WEEKS", false },
    { "TimeWindowCompactionStrategy; compaction_window_size: 0", false },
    { "TimeWindowCompactionStrategy; timestamp_resolution: DAYS", false },
    { "TimeWindowCompactionStrategy; expired_sstable_check_frequency_seconds: 0", true },
    { "TimeWindowCompactionStrategy; expired_sstable_check_frequency_seconds: -1", false },
    { "TimeWindowCompactionStrategy; unsafe_aggressive_sstable_expiration: false", true },
    { "TimeWindowCompactionStrategy; unsafe_aggressive_sstable_expiration: true", false },
    { "UnifiedCompactionStrategy; unsafe_aggressive_sstable_expiration: true", true },
    { "UnifiedCompactionStrategy; expired_sstable_check_frequency_seconds: 0", false },
    { "UnifiedCompactionStrategy; base_shard_count: 8; max_sstables_to_compact: -1", true },
    { "UnifiedCompactionStrategy; base_shard_count: 0", false },
    { "UnifiedCompactionStrategy; max_sstables_to_compact: many", false },
    { "UnifiedCompactionStrategy; scaling_parameters: T4", true },
    { "UnifiedCompactionStrategy; scaling_parameters: L10, N ,-8,+5,0,,", true },
    { "UnifiedCompactionStrategy; scaling_parameters: T4,,N", false },
    { "UnifiedCompactionStrategy; scaling_parameters: ", false },
    { "UnifiedCompactionStrategy; scaling_parameters: L1", false },
    { "UnifiedCompactionStrategy; scaling_parameters: T0", false },
    { "UnifiedCompactionStrategy; scaling_parameters: T-5", false },
    { "UnifiedCompactionStrategy; scaling_parameters: T+5", false },
    { "UnifiedCompactionStrategy; scaling_parameters: N3", false },
    { "UnifiedCompactionStrategy; scaling_parameters: 7T", false },
    { "UnifiedCompactionStrategy; scaling_parameters: t4", false },
    { "UnifiedCompactionStrategy; scaling_parameters: 99999999999", false },
    { "UnifiedCompactionStrategy; target_sstable_size: 1.5GiB", true },
    { "UnifiedCompactionStrategy; target_sstable_size: 2e9 B", true },
    { "UnifiedCompactionStrategy; target_sstable_size: 1EB", true },
    { "UnifiedCompactionStrategy; target_sstable_size: 1MB", false },
    { "UnifiedCompactionStrategy; target_sstable_size: 1048576B", true },
    { "UnifiedCompactionStrategy; target_sstable_size: 1048576", false },
    { "UnifiedCompactionStrategy; target_sstable_size: 64 mebibytes", false },
    { "UnifiedCompactionStrategy; target_sstable_size: 64miB", false },
    { "UnifiedCompactionStrategy; target_sstable_size: 100EiB", false },
    { "UnifiedCompactionStrategy; min_sstable_size: 0B", true },
    { "UnifiedCompactionStrategy; min_sstable_size: 0", false },
    { "UnifiedCompactionStrategy; min_sstable_size: -1B", false },
    { "UnifiedCompactionStrategy; min_sstable_size: 724MiB", true },
    { "UnifiedCompactionStrategy; min_sstable_size: 725MiB", false },
    { "UnifiedCompactionStrategy; min_sstable_size: 60MiB; target_sstable_size: 64MiB", false },
    { "UnifiedCompactionStrategy; flush_size_override: 1MiB", true },
    { "UnifiedCompactionStrategy; flush_size_override: 0B", false },
    { "UnifiedCompactionStrategy; sstable_growth: 33%", true },
    { "UnifiedCompactionStrategy; sstable_growth: 1", true },
    { "UnifiedCompactionStrategy; sstable_growth: 1.1", false },
    { "UnifiedCompactionStrategy; sstable_growth: 101%", false },
    { "UnifiedCompactionStrategy; sstable_growth: %", false },
    { "UnifiedCompactionStrategy; overlap_inclusion_method: single", true },
    { "UnifiedCompactionStrategy; overlap_inclusion_method: NEVER", false },
    { "UnifiedCompactionStrategy; warp: 9", false },
};

START_TEST(every_option_of_compaction_has_its_range)
{
    const char *given = arena_printf(&arena, "class: %s", compactions[_i].given);
    ck_assert_int_eq(put_map("compaction", given), compactions[_i].is_right ? OK : ERR_CONFIG);
    ck_assert(params.compaction.is_given == compactions[_i].is_right);
}
END_TEST

static const struct {
    const char *given, *sentence;
} refusals[] = {
    { "Best",
      "compaction: unknown class 'Best'; there are SizeTieredCompactionStrategy, "
      "LeveledCompactionStrategy, TimeWindowCompactionStrategy, UnifiedCompactionStrategy" },
    { "UnifiedCompactionStrategy; min_threshold: 4",
      "compaction: UnifiedCompactionStrategy has no option 'min_threshold'; it has enabled, the "
      "tombstone options, scaling_parameters, target_sstable_size, min_sstable_size, "
      "flush_size_override, base_shard_count, sstable_growth, max_sstables_to_compact, "
      "expired_sstable_check_frequency_seconds, unsafe_aggressive_sstable_expiration, "
      "overlap_inclusion_method" },
    { "LeveledCompactionStrategy; scaling_parameters: T4",
      "compaction: LeveledCompactionStrategy has no option 'scaling_parameters'; it has enabled, "
      "the tombstone options, min_threshold, max_threshold, min_sstable_size, bucket_low, "
      "bucket_high, sstable_size_in_mb, fanout_size, single_sstable_uplevel" },
    { "UnifiedCompactionStrategy; scaling_parameters: L1",
      "compaction: scaling_parameters is a list such as T4, L10, N, -8 (got 'L1')" },
    { "UnifiedCompactionStrategy; base_shard_count: 0",
      "compaction: base_shard_count is a whole number of 1 or more (got '0')" },
    { "UnifiedCompactionStrategy; overlap_inclusion_method: SOME",
      "compaction: overlap_inclusion_method is one of NONE SINGLE TRANSITIVE (got 'SOME')" },
    { "UnifiedCompactionStrategy; min_sstable_size: 800MiB",
      "compaction: min_sstable_size is below target_sstable_size by at least the square root of 2 "
      "(got '800MiB' and '1GiB')" },
    { "SizeTieredCompactionStrategy; max_threshold: 0",
      "compaction: max_threshold is a whole number of 2 or more (got '0'); 'enabled': false is "
      "what stops compactions" },
    { "SizeTieredCompactionStrategy; max_threshold: 7; min_threshold: 8",
      "compaction: min_threshold (8) is at most max_threshold (7)" },
    { "SizeTieredCompactionStrategy; bucket_high: 0.5",
      "compaction: bucket_high (0.5) is above bucket_low (0.5)" },
};

START_TEST(a_refusal_of_compaction_names_the_option_its_value_and_what_is_allowed)
{
    const char *given = arena_printf(&arena, "class: %s", refusals[_i].given);
    ck_assert_int_eq(put_map("compaction", given), ERR_CONFIG);
    ck_assert_str_eq(said.text, refusals[_i].sentence);
}
END_TEST

START_TEST(compaction_is_shown_with_its_full_class_and_thresholds)
{
    ck_assert_int_eq(put_map("compaction", "min_threshold: 8"), ERR_CONFIG);
    ck_assert_int_eq(put_map("compaction", "class: LeveledCompactionStrategy; enabled: false; "
                                           "min_threshold: 8; sstable_size_in_mb: 64; "
                                           "tombstone_compaction_interval: 7; "
                                           "tombstone_threshold: 0.5; "
                                           "unchecked_tombstone_compaction: TRUE"),
                     OK);
    const struct compaction_params *c = &params.compaction;
    ck_assert(c->class == COMPACTION_LEVELED && !c->is_enabled && c->is_unchecked);
    ck_assert(c->tombstone_threshold == 0.5 && c->tombstone_interval_seconds == 7);
    ck_assert_str_eq(shown(c->pairs_count, c->pairs),
                     "class: org.apache.cassandra.db.compaction.LeveledCompactionStrategy; "
                     "enabled: false; max_threshold: 32; min_threshold: 8; sstable_size_in_mb: 64; "
                     "tombstone_compaction_interval: 7; tombstone_threshold: 0.5; "
                     "unchecked_tombstone_compaction: TRUE");
    ck_assert_str_eq(compaction_option(c, "sstable_size_in_mb"), "64");
    ck_assert_int_eq(put_map("compaction", "class: UnifiedCompactionStrategy"), OK);
    ck_assert_str_eq(shown(c->pairs_count, c->pairs),
                     "class: org.apache.cassandra.db.compaction.UnifiedCompactionStrategy");
    ck_assert(c->is_enabled && !c->is_unchecked && c->tombstone_interval_seconds == 86400);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("params_compaction");
    TCase *tcase = tcase_create("params_compaction");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, every_option_of_compaction_has_its_range, 0,
                        array_count(compactions));
    tcase_add_loop_test(tcase,
                        a_refusal_of_compaction_names_the_option_its_value_and_what_is_allowed, 0,
                        array_count(refusals));
    tcase_add_test(tcase, compaction_is_shown_with_its_full_class_and_thresholds);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
