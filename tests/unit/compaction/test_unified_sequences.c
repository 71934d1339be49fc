/* test_unified_sequences.c - sixty-five flushes of 4 MiB under the unified strategy, level by
 * level, and what must not change them: how the flush size is known, the scale, the share of a
 * shard.
 *
 * What each flush causes is in test_sequences.c.  Vectors: compaction.md 1.4, 9.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/forecast.h"
#include "unified_kit.h"

enum { LEVELS = 8, FLUSHES = 65 };

/* Compactions by the level of their inputs: how many, and what they wrote. */
struct by_level {
    unsigned count[LEVELS];
    uint64_t bytes[LEVELS];
    uint64_t unit; /* bytes of a flush: 4 MiB where it is not scaled down */
};
static void tell(void *context, const struct forecast_step *step)
{
    struct by_level *by = context;
    size_t level = (size_t)step->pick->level;
    ck_assert_uint_lt(level, LEVELS);
    by->count[level]++;
    by->bytes[level] += step->output_bytes;
}

static struct by_level run(const struct forecast_options *options, const char *text,
                           uint64_t flush_bytes)
{
    struct table_params params;
    struct report report = { 0 };
    struct by_level by = { .unit = flush_bytes };
    struct forecast_options o = *options;
    ck_assert_int_eq(params_of(text, &params, &report), OK);
    o.params = &params.compaction;
    struct forecast *forecast = forecast_new(&o);
    for (unsigned i = 0; i < FLUSHES; i++)
        forecast_flush(forecast, flush_bytes, 0, tell, &by);
    forecast_free(&forecast);
    return by;
}

/* "16x256 4x256 1x256": of each level, compactions x MiB. */
static const char *text_of(const struct by_level *by)
{
    char *text = arena_zalloc(&arena, 32 * LEVELS);
    for (size_t i = 0; i < LEVELS && by->count[i]; i++)
        snprintf(text + strlen(text), 32, "%s%ux%.0f", i ? " " : "", by->count[i],
                 4.0 * (double)by->bytes[i] / (double)by->unit);
    return text;
}

static const struct sequence {
    const char *scaling;
    const char *levels;
} sequences[] = {
    { "T4", "16x256 4x256 1x256" },  { "N", "32x256 16x256 8x256 4x256 2x256 1x256" },
    { "L4", "48x576 12x576 3x576" }, { "L10", "58x1352 5x800" },
    { "T8", "8x256 1x256" },
};

static const char *option_of(const char *scaling, const char *others)
{
    return arena_printf(&arena, "scaling_parameters: %s%s", scaling, others);
}

START_TEST(each_level_is_compacted_as_often_as_cassandra_does)
{
    const struct sequence *s = &sequences[_i];
    struct forecast_options options = { .seed = 1 };
    static const char *const others[] = {
        "; flush_size_override: 4MiB; base_shard_count: 1", "; flush_size_override: 4MiB",
        "", /* flushes tell their size */
    };
    for (size_t i = 0; i < array_count(others); i++) {
        struct by_level by = run(&options, option_of(s->scaling, others[i]), 4 << 20);
        ck_assert_str_eq(text_of(&by), s->levels);
    }
}
END_TEST

START_TEST(a_sweep_that_scales_everything_down_has_the_same_sequence)
{
    const struct sequence *s = &sequences[_i];
    struct forecast_options options = { .seed = 1, .scale = { 1 << 10, 1 << 10 } };
    struct by_level by = run(&options, option_of(s->scaling, ""), 4 << 10);
    ck_assert_str_eq(text_of(&by), s->levels);
}
END_TEST

START_TEST(a_shard_with_an_eighth_of_the_ring_has_the_sequence_of_a_whole_one)
{
    const struct sequence *s = &sequences[_i];
    struct token_range half = { INT64_MIN, 0 };
    struct local_ranges locals[2];
    local_ranges_make(&arena, NULL, 0, 0.125, &locals[0]);
    local_ranges_make(&arena, &half, 1, 0.125, &locals[1]);
    for (size_t i = 0; i < 2; i++) {
        struct forecast_options options = { .seed = 1, .local = &locals[i] };
        struct by_level by = run(&options, option_of(s->scaling, ""), 4 << 20);
        ck_assert_str_eq(text_of(&by), s->levels);
    }
}
END_TEST

/* ---- a byte more ---- */

static unsigned rounds_of_level_0(uint64_t flush_bytes)
{
    struct forecast_options options = { .seed = 1 };
    struct by_level by = run(&options, "scaling_parameters: L10", flush_bytes);
    return by.count[0];
}

START_TEST(a_flush_of_a_byte_above_4_mib_is_taken_for_5)
{
    /* Rounds of 10 flushes have 9 compactions each, rounds of 12 have 11. */
    ck_assert_uint_eq(rounds_of_level_0(4 << 20), 6 * 9 + 4);
    ck_assert_uint_eq(rounds_of_level_0((4 << 20) + 1), 5 * 11 + 4);
}
END_TEST

/* ---- slices ---- */

struct top {
    char text[128];
};
static void tell_top(void *context, const struct forecast_step *step)
{
    struct top *top = context;
    if (step->pick->level != 1)
        return;
    size_t length = strlen(top->text);
    snprintf(top->text + length, sizeof top->text - length, "%s%llu: %zu into %zu",
             length ? ", " : "", (unsigned long long)step->flush, step->pick->count,
             step->pick->cuts_count + 1);
}

START_TEST(slices_of_a_level_are_merged_together_with_what_lies_over_all_of_them)
{
    struct table_params params;
    struct report report = { 0 };
    struct top top = { "" };
    ck_assert_int_eq(params_of("scaling_parameters: L10", &params, &report), OK);
    struct forecast_options options = { .seed = 1, .params = &params.compaction };
    struct forecast *forecast = forecast_new(&options);
    for (unsigned i = 0; i < FLUSHES; i++)
        forecast_flush(forecast, 4 << 20, 0, tell_top, &top);
    ck_assert_str_eq(top.text, "20: 2 into 1, 30: 2 into 1, 40: 2 into 1, 50: 2 into 2, "
                               "60: 3 into 2");
    forecast_free(&forecast);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unified_sequences");
    TCase *tcase = tcase_create("unified_sequences");
    int count = (int)array_count(sequences);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, each_level_is_compacted_as_often_as_cassandra_does, 0, count);
    tcase_add_loop_test(tcase, a_sweep_that_scales_everything_down_has_the_same_sequence, 0, count);
    tcase_add_loop_test(tcase, a_shard_with_an_eighth_of_the_ring_has_the_sequence_of_a_whole_one,
                        0, count);
    tcase_add_test(tcase, a_flush_of_a_byte_above_4_mib_is_taken_for_5);
    tcase_add_test(tcase, slices_of_a_level_are_merged_together_with_what_lies_over_all_of_them);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
