/* test_unified_options.c - what options of the unified strategy are taken to mean, and what is
 * refused (facts: compaction.md 1.1, 3). */
// SPDX-License-Identifier: Apache-2.0
#include "unified_kit.h"

/* ---- the scaling parameter ---- */

static const struct scaling {
    const char *text, *shown; /* of levels 0, 1, 2 */
    int32_t w[3];
    uint64_t fanout, threshold; /* of level 0 */
} scalings[] = {
    { "T4", "T4, T4, T4", { 2, 2, 2 }, 4, 4 },
    { "T2", "N, N, N", { 0, 0, 0 }, 2, 2 },
    { "N", "N, N, N", { 0, 0, 0 }, 2, 2 },
    { "L2", "N, N, N", { 0, 0, 0 }, 2, 2 },
    { "L10", "L10, L10, L10", { -8, -8, -8 }, 10, 2 },
    { "T10,L4", "T10, L4, L4", { 8, -2, -2 }, 10, 10 },
    { " T8 , N,  L4 ", "T8, N, L4", { 6, 0, -2 }, 8, 8 },
    { "-8", "L10, L10, L10", { -8, -8, -8 }, 10, 2 },
    { "+5,0", "T7, N, N", { 5, 0, 0 }, 7, 7 },
    { "0,-1,2,9", "N, L3, T4", { 0, -1, 2 }, 2, 2 },
    { "L4,,", "L4, L4, L4", { -2, -2, -2 }, 4, 2 },
    { "-2147483648",
      "L2147483650, L2147483650, L2147483650",
      { INT32_MIN, INT32_MIN, INT32_MIN },
      2147483650,
      2 },
};

START_TEST(a_scaling_parameter_is_a_number_for_each_level)
{
    const struct scaling *s = &scalings[_i];
    char option[64], shown[64] = "", one[UNIFIED_SETTING_BYTES];
    snprintf(option, sizeof option, "scaling_parameters: %s", s->text);
    const struct unified_options *options = &unified_with(option)->options;
    for (size_t level = 0; level < 3; level++) {
        ck_assert_int_eq(unified_scaling(options, level), s->w[level]);
        unified_setting(unified_scaling(options, level), one);
        snprintf(shown + strlen(shown), sizeof shown - strlen(shown), "%s%s", level ? ", " : "",
                 one);
    }
    ck_assert_str_eq(shown, s->shown);
    ck_assert_uint_eq(unified_fanout(options, 0), s->fanout);
    ck_assert_uint_eq(unified_threshold(options, 0), s->threshold);
}
END_TEST

static const char *const not_scalings[] = { "L1",    "T1",    "L0",  "T0",  "T-5",  "T+5",
                                            "N3",    "7T",    "Q6",  "t4",  "n",    "T4,,T4",
                                            ",T4",   "T4 T4", "4.5", "T",   "L",    ",",
                                            "L-2",   "+",     "-",   "T4:", "T 4",  "2147483648",
                                            "T4, x", "0x10",  "",    " ",   "T1e1", "--2" };

START_TEST(what_is_no_scaling_parameter_is_refused)
{
    struct table_params params;
    struct report report = { 0 };
    char option[64];
    snprintf(option, sizeof option, "scaling_parameters: %s", not_scalings[_i]);
    ck_assert_int_eq(params_of(option, &params, &report), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(report.text, "scaling_parameters"));
}
END_TEST

/* ---- the others ---- */

START_TEST(without_options_they_are_cassandras)
{
    const struct unified_options *o = &unified_with("")->options;
    ck_assert_uint_eq(o->scaling_count, 1);
    ck_assert_int_eq(o->scaling[0], 2);
    ck_assert_double_eq(o->target_bytes, GIB);
    ck_assert_double_eq(o->least_bytes, 100 * MIB);
    ck_assert_double_eq(o->growth, 0.333);
    ck_assert_uint_eq(o->base_slices, 4);
    ck_assert_double_eq(o->flush_bytes, 0);
    ck_assert_uint_eq(o->most_files, UINT64_MAX);
    ck_assert_int_eq(o->expired_seconds, 600);
    ck_assert_int_eq(o->inclusion, OVERLAP_TRANSITIVE);
    ck_assert_uint_eq(o->floor_bytes, (uint64_t)MIB);
    ck_assert_uint_eq(o->round_bytes, (uint64_t)MIB);
}
END_TEST

START_TEST(options_are_read_in_every_form)
{
    const struct unified_options *o =
        &unified_with("target_sstable_size: 0.5 GiB; min_sstable_size: 0B; sstable_growth: 33%; "
                      "base_shard_count: 20; flush_size_override: 4MiB; "
                      "max_sstables_to_compact: 32; overlap_inclusion_method: single; "
                      "expired_sstable_check_frequency_seconds: 10")
             ->options;
    ck_assert_double_eq(o->target_bytes, 512 * MIB);
    ck_assert_double_eq(o->least_bytes, 0);
    ck_assert_double_eq(o->growth, 0.33);
    ck_assert_uint_eq(o->base_slices, 20);
    ck_assert_double_eq(o->flush_bytes, 4 * MIB);
    ck_assert_uint_eq(o->most_files, 32);
    ck_assert_int_eq(o->inclusion, OVERLAP_SINGLE);
    ck_assert_int_eq(o->expired_seconds, 10);
    ck_assert_uint_eq(unified_with("max_sstables_to_compact: -3")->options.most_files, UINT64_MAX);
    ck_assert_int_eq(unified_with("overlap_inclusion_method: None")->options.inclusion,
                     OVERLAP_NONE);
}
END_TEST

static const char *const wrong[] = {
    "min_threshold: 4",
    "max_threshold: 32",
    "bucket_low: 0.5",
    "sstable_size_in_mb: 160",
    "target_sstable_size: 1000",
    "target_sstable_size: 0.9MiB",
    "target_sstable_size: 1mB",
    "target_sstable_size: 100kB",
    "min_sstable_size: 0",
    "min_sstable_size: -1B",
    "min_sstable_size: 725MiB",
    "min_sstable_size: 100MiB; target_sstable_size: 100MiB",
    "base_shard_count: 0",
    "base_shard_count: -1",
    "base_shard_count: 4.5",
    "sstable_growth: 1.1",
    "sstable_growth: -0.1",
    "sstable_growth: 101%",
    "sstable_growth: half",
    "flush_size_override: 0B",
    "flush_size_override: 1023KiB",
    "max_sstables_to_compact: many",
    "expired_sstable_check_frequency_seconds: 0",
    "overlap_inclusion_method: ALL",
    "unsafe_aggressive_sstable_expiration: yes",
    "tombstone_threshold: -0.1",
    "enabled: perhaps",
    "no_such_option: 1",
};

START_TEST(a_wrong_option_is_refused_by_its_name)
{
    struct table_params params;
    struct report report = { 0 };
    ck_assert_int_eq(params_of(wrong[_i], &params, &report), ERR_CONFIG);
    char *name = arena_text(&arena, bytes_of(wrong[_i], strcspn(wrong[_i], ":")));
    ck_assert_msg(strstr(report.text, name) != NULL, "%s: %s", wrong[_i], report.text);
}
END_TEST

START_TEST(what_is_measured_in_bytes_can_be_scaled_down)
{
    struct table_params params;
    struct report report = { 0 };
    struct strategy_scale scale = { .flush_floor_bytes = 1000, .flush_round_bytes = 10 };
    ck_assert_int_eq(params_of("scaling_parameters: N", &params, &report), OK);
    strategy = strategy_new(&params.compaction, &scale);
    const struct unified *unified = owner_of(strategy, struct unified, head);
    ck_assert_uint_eq(unified->options.floor_bytes, 1000);
    ck_assert_uint_eq(unified->options.round_bytes, 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unified_options");
    TCase *tcase = tcase_create("unified_options");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_scaling_parameter_is_a_number_for_each_level, 0,
                        (int)array_count(scalings));
    tcase_add_loop_test(tcase, what_is_no_scaling_parameter_is_refused, 0,
                        (int)array_count(not_scalings));
    tcase_add_test(tcase, without_options_they_are_cassandras);
    tcase_add_test(tcase, options_are_read_in_every_form);
    tcase_add_loop_test(tcase, a_wrong_option_is_refused_by_its_name, 0, (int)array_count(wrong));
    tcase_add_test(tcase, what_is_measured_in_bytes_can_be_scaled_down);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
