/* test_sequences.c - sixty-five flushes of 4 MiB under each setting: every compaction of the first
 * twenty, and what it came to in the end; and the same with other stopping points and sizes.
 *
 * Vectors: compaction.md 9.
 */
// SPDX-License-Identifier: Apache-2.0
#include "strategy_kit.h"

static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

#define UNIFIED "Unified; flush_size_override: 4MiB; base_shard_count: 1; scaling_parameters: "
#define SLICED "Unified; flush_size_override: 4MiB; scaling_parameters: "
#define PLAIN_TIERED "SizeTiered; min_sstable_size: 0"

static int descending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}
/* "52+40+4" */
static void put_sizes(struct buf *out, uint64_t *bytes, size_t count)
{
    qsort(bytes, count, sizeof *bytes, descending);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s%.4g", i ? "+" : "", (double)bytes[i] / MIB);
}

struct story {
    struct buf out;
    uint64_t flush, last; /* of the latest line; the last that is told */
};
static void tell(void *context, const struct forecast_step *step)
{
    struct story *story = context;
    uint64_t bytes[64];
    if (step->flush > story->last)
        return;
    ck_assert_uint_le(step->pick->count, 64);
    for (size_t i = 0; i < step->pick->count; i++)
        bytes[i] = step->files[step->pick->files[i]].bytes;
    if (step->flush == story->flush)
        buf_printf(&story->out, ", ");
    else
        buf_printf(&story->out, "%s%llu: ", story->flush ? "; " : "",
                   (unsigned long long)step->flush);
    put_sizes(&story->out, bytes, step->pick->count);
    buf_printf(&story->out, " > %.4g", (double)step->output_bytes / MIB);
    if (step->output_level >= 0)
        buf_printf(&story->out, " @%d", step->output_level);
    story->flush = step->flush;
}

static struct forecast *started(const char *options)
{
    struct compaction_params params = params_of(options);
    struct forecast_options o = { .params = &params, .seed = 1 };
    return forecast_new(&o);
}

static const char *sizes_of(const struct forecast *f)
{
    const struct compaction_file *list;
    size_t count = forecast_files(f, &list);
    uint64_t bytes[64];
    struct buf out = buf_in(&arena);
    ck_assert_uint_le(count, 64);
    for (size_t i = 0; i < count; i++)
        bytes[i] = list[i].bytes;
    put_sizes(&out, bytes, count);
    return arena_text(&arena, buf_bytes(&out));
}

/* The compactions of flushes 1 to `last`. */
static const struct {
    const char *options;
    uint64_t last;
    const char *story;
} stories[] = {
    { UNIFIED "T4", 20,
      "4: 4+4+4+4 > 16 @1; 8: 4+4+4+4 > 16 @1; 12: 4+4+4+4 > 16 @1; "
      "16: 4+4+4+4 > 16 @1, 16+16+16+16 > 64 @2; 20: 4+4+4+4 > 16 @1" },
    { UNIFIED "N", 20,
      "2: 4+4 > 8 @1; 4: 4+4 > 8 @1, 8+8 > 16 @2; 6: 4+4 > 8 @1; "
      "8: 4+4 > 8 @1, 8+8 > 16 @2, 16+16 > 32 @3; 10: 4+4 > 8 @1; "
      "12: 4+4 > 8 @1, 8+8 > 16 @2; 14: 4+4 > 8 @1; "
      "16: 4+4 > 8 @1, 8+8 > 16 @2, 16+16 > 32 @3, 32+32 > 64 @4; 18: 4+4 > 8 @1; "
      "20: 4+4 > 8 @1, 8+8 > 16 @2" },
    { UNIFIED "L4", 20,
      "2: 4+4 > 8 @0; 3: 8+4 > 12 @0; 4: 12+4 > 16 @1; "
      "6: 4+4 > 8 @0; 7: 8+4 > 12 @0; 8: 12+4 > 16 @1, 16+16 > 32 @1; "
      "10: 4+4 > 8 @0; 11: 8+4 > 12 @0; 12: 12+4 > 16 @1, 32+16 > 48 @1; "
      "14: 4+4 > 8 @0; 15: 8+4 > 12 @0; 16: 12+4 > 16 @1, 48+16 > 64 @2; "
      "18: 4+4 > 8 @0; 19: 8+4 > 12 @0; 20: 12+4 > 16 @1" },
    { UNIFIED "L10", 20,
      "2: 4+4 > 8 @0; 3: 8+4 > 12 @0; 4: 12+4 > 16 @0; 5: 16+4 > 20 @0; 6: 20+4 > 24 @0; "
      "7: 24+4 > 28 @0; 8: 28+4 > 32 @0; 9: 32+4 > 36 @0; 10: 36+4 > 40 @1; "
      "12: 4+4 > 8 @0; 13: 8+4 > 12 @0; 14: 12+4 > 16 @0; 15: 16+4 > 20 @0; 16: 20+4 > 24 @0; "
      "17: 24+4 > 28 @0; 18: 28+4 > 32 @0; 19: 32+4 > 36 @0; "
      "20: 36+4 > 40 @1, 40+40 > 80 @1" },
    { UNIFIED "T8", 64,
      "8: 4+4+4+4+4+4+4+4 > 32 @1; 16: 4+4+4+4+4+4+4+4 > 32 @1; 24: 4+4+4+4+4+4+4+4 > 32 @1; "
      "32: 4+4+4+4+4+4+4+4 > 32 @1; 40: 4+4+4+4+4+4+4+4 > 32 @1; 48: 4+4+4+4+4+4+4+4 > 32 @1; "
      "56: 4+4+4+4+4+4+4+4 > 32 @1; "
      "64: 4+4+4+4+4+4+4+4 > 32 @1, 32+32+32+32+32+32+32+32 > 256 @2" },
    /* At 49 the trap: 52 is less than one and a half times 40, so it joins that one's bucket. */
    { "SizeTiered", 65,
      "4: 4+4+4+4 > 16; 7: 16+4+4+4 > 28; 10: 28+4+4+4 > 40; 13: 40+4+4+4 > 52; "
      "17: 4+4+4+4 > 16; 20: 16+4+4+4 > 28; 23: 28+4+4+4 > 40; 26: 40+4+4+4 > 52; "
      "30: 4+4+4+4 > 16; 33: 16+4+4+4 > 28; 36: 28+4+4+4 > 40; 39: 40+4+4+4 > 52; "
      "43: 4+4+4+4 > 16; 46: 16+4+4+4 > 28; 49: 28+4+4+4 > 40, 52+52+52+40 > 196; "
      "53: 4+4+4+4 > 16; 56: 16+4+4+4 > 28; 59: 28+4+4+4 > 40; 62: 40+4+4+4 > 52" },
    { PLAIN_TIERED, 20,
      "4: 4+4+4+4 > 16; 8: 4+4+4+4 > 16; 12: 4+4+4+4 > 16; "
      "16: 4+4+4+4 > 16, 16+16+16+16 > 64; 20: 4+4+4+4 > 16" },
    { "Leveled", 5, "2: 4+4 > 8 @0; 3: 8+4 > 12 @0; 4: 12+4 > 16 @0; 5: 16+4 > 20 @0" },
};

START_TEST(the_first_compactions_are_these)
{
    struct forecast *f = started(stories[_i].options);
    struct story story = { .out = buf_in(&arena), .last = stories[_i].last };
    for (unsigned i = 0; i < stories[_i].last; i++)
        forecast_flush(f, 4 << 20, 0, tell, &story);
    ck_assert_str_eq(arena_text(&arena, buf_bytes(&story.out)), stories[_i].story);
    forecast_free(&f);
}
END_TEST

static const struct {
    const char *options;
    unsigned flushes, compactions;
    double written_mib, files_a_key;
    const char *files; /* MiB */
} ends[] = {
    { UNIFIED "T4", 20, 6, 144, 2, "64+16" },
    { UNIFIED "N", 20, 18, 288, 2, "64+16" },
    { UNIFIED "L4", 20, 18, 324, 2, "64+16" },
    { UNIFIED "L10", 20, 19, 512, 1, "80" },
    { UNIFIED "T8", 20, 2, 64, 6, "32+32+4+4+4+4" },
    { "SizeTiered", 20, 6, 180, 2, "52+28" },
    { UNIFIED "T4", 65, 21, 768, 2, "256+4" },
    { UNIFIED "N", 65, 63, 1536, 2, "256+4" },
    { UNIFIED "L10", 65, 63, 2152, 2, "240+20" },
    { UNIFIED "T8", 65, 9, 512, 2, "256+4" },
    { UNIFIED "L4", 65, 63, 1728, 2, "256+4" },
    /* With slices the bytes are the same; what is 200 MiB or more is cut in two. */
    { SLICED "T4", 65, 21, 768, 2, "128+128+4" },
    { SLICED "N", 65, 63, 1536, 2, "128+128+4" },
    { SLICED "L10", 50, 49, 1640, 1, "100+100" },
    { SLICED "L10", 65, 63, 2152, 2, "120+120+20" },
    { SLICED "T8", 65, 9, 512, 2, "128+128+4" },
    { SLICED "L4", 65, 63, 1728, 2, "128+128+4" },
    { "SizeTiered", 65, 20, 824, 5, "196+52+4+4+4" },
    { PLAIN_TIERED, 65, 21, 768, 2, "256+4" },
    { "Leveled", 41, 40, 3440, 1, "160+4" },
    { "Leveled", 65, 63, 4636, 2, "160+96+4" },
};

START_TEST(after_so_many_flushes_that_much_was_written_and_these_files_are_left)
{
    struct forecast *f = started(ends[_i].options);
    struct forecast_figures figures;
    for (unsigned i = 0; i < ends[_i].flushes; i++)
        forecast_flush(f, 4 << 20, 0, NULL, NULL);
    forecast_figures(f, &figures);
    ck_assert_str_eq(sizes_of(f), ends[_i].files);
    ck_assert_uint_eq(figures.flushes, ends[_i].flushes);
    ck_assert_uint_eq(figures.compactions, ends[_i].compactions);
    ck_assert_double_eq_tol((double)figures.written_bytes / MIB, ends[_i].written_mib, 0.001);
    ck_assert_double_eq_tol(figures.files_a_key, ends[_i].files_a_key, 0.001);
    ck_assert_uint_eq(figures.bytes, (uint64_t)ends[_i].flushes * 4 << 20);
    ck_assert_double_eq_tol(figures.floor_bytes, (double)figures.bytes, 64);
    forecast_free(&f);
}
END_TEST

START_TEST(leveled_leaves_what_is_more_than_an_output_in_level_1)
{
    struct forecast *f = started("Leveled");
    const struct compaction_file *list;
    uint64_t mib[2] = { 0 };
    for (unsigned i = 0; i < 65; i++)
        forecast_flush(f, 4 << 20, 0, NULL, NULL);
    size_t count = forecast_files(f, &list);
    for (size_t i = 0; i < count; i++)
        mib[list[i].level] += list[i].bytes >> 20;
    ck_assert_uint_eq(mib[0], 96);
    ck_assert_uint_eq(mib[1], 164);
    forecast_free(&f);
}
END_TEST

/* ---- luck in the last level ---- */

/* Rewrites and files over a key at stopping points of 55 to 75 flushes: mean, least, most. */
static const struct {
    const char *options;
    double rewrites, rewrites_least, rewrites_most, files, files_least, files_most;
} stops[] = {
    { "SizeTiered", 3.18, 3.06, 3.32, 3.57, 2, 5 }, { SLICED "T4", 2.38, 1.71, 3.00, 5.00, 1, 9 },
    { SLICED "N", 5.08, 4.10, 6.00, 3.48, 1, 6 },   { SLICED "L10", 8.39, 7.67, 9.26, 1.90, 1, 2 },
    { SLICED "T8", 1.48, 0.87, 2.00, 7.00, 1, 14 }, { SLICED "L4", 6.08, 5.52, 6.75, 2.57, 1, 3 },
};

START_TEST(where_the_stream_stops_matters_as_much_as_the_setting)
{
    struct forecast *f = started(stops[_i].options);
    double rewrites = 0, files_mean = 0, least = INFINITY, most = 0, few = INFINITY, many = 0;
    for (unsigned i = 1; i <= 75; i++) {
        struct forecast_figures figures;
        forecast_flush(f, 4 << 20, 0, NULL, NULL);
        if (i < 55)
            continue;
        forecast_figures(f, &figures);
        double here = (double)figures.written_bytes / (double)figures.flushed_bytes;
        rewrites += here / 21;
        files_mean += figures.files_a_key / 21;
        least = fmin(least, here), most = fmax(most, here);
        few = fmin(few, figures.files_a_key), many = fmax(many, figures.files_a_key);
    }
    ck_assert_double_eq_tol(rewrites, stops[_i].rewrites, 0.006);
    ck_assert_double_eq_tol(least, stops[_i].rewrites_least, 0.006);
    ck_assert_double_eq_tol(most, stops[_i].rewrites_most, 0.006);
    ck_assert_double_eq_tol(files_mean, stops[_i].files, 0.006);
    ck_assert_double_eq_tol(few, stops[_i].files_least, 0.001);
    ck_assert_double_eq_tol(many, stops[_i].files_most, 0.001);
    forecast_free(&f);
}
END_TEST

/* Sizes give or take a fifth, 65 flushes, 60 runs: mean, least, most, files. */
#define ROUGH "Unified; flush_size_override: 5MiB; scaling_parameters: "
static const struct {
    const char *options;
    double mib, rewrites, least, most, files;
} unevens[] = {
    { "SizeTiered", 4.0, 3.29, 3.14, 3.50, 3.70 }, { SLICED "T4", 4.0, 2.95, 2.94, 2.96, 2.00 },
    { SLICED "N", 4.0, 5.14, 4.94, 5.49, 3.63 },   { SLICED "L10", 4.0, 8.13, 7.90, 8.91, 1.93 },
    { SLICED "T8", 4.0, 1.94, 1.07, 1.98, 2.23 },  { SLICED "L4", 4.0, 6.19, 5.85, 6.52, 2.58 },
    { "SizeTiered", 4.4, 3.17, 3.13, 3.21, 5.00 }, { ROUGH "T4", 4.4, 2.63, 1.76, 2.96, 3.70 },
    { ROUGH "N", 4.4, 5.91, 5.89, 5.93, 2.00 },    { ROUGH "L10", 4.4, 8.67, 8.13, 9.25, 1.75 },
    { ROUGH "T8", 4.4, 1.27, 1.09, 1.42, 9.00 },   { ROUGH "L4", 4.4, 6.67, 6.58, 6.82, 1.77 },
};

START_TEST(uneven_flushes_come_to_about_the_same)
{
    double rewrites = 0, files_mean = 0;
    unsigned outside = 0;
    struct prng sizes = { 11 };
    for (unsigned run = 0; run < 60; run++) {
        struct forecast *f = started(unevens[_i].options);
        struct forecast_figures figures;
        for (unsigned i = 0; i < 65; i++) {
            double part = (double)prng_below(&sizes, 1 << 20) / (1 << 20);
            forecast_flush(f, (uint64_t)((0.8 + 0.4 * part) * unevens[_i].mib * MIB), 0, NULL,
                           NULL);
        }
        forecast_figures(f, &figures);
        double here = (double)figures.written_bytes / (double)figures.flushed_bytes;
        outside += here < unevens[_i].least - 0.02 || here > unevens[_i].most + 0.02;
        rewrites += here / 60;
        files_mean += figures.files_a_key / 60;
        forecast_free(&f);
    }
    ck_assert_uint_le(outside, 6);
    ck_assert_double_eq_tol(rewrites, unevens[_i].rewrites, 0.1);
    ck_assert_double_eq_tol(files_mean, unevens[_i].files, 0.35);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sequences");
    TCase *t = tcase_create("sequences");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, the_first_compactions_are_these, 0, array_count(stories));
    tcase_add_loop_test(t, after_so_many_flushes_that_much_was_written_and_these_files_are_left, 0,
                        array_count(ends));
    tcase_add_test(t, leveled_leaves_what_is_more_than_an_output_in_level_1);
    tcase_add_loop_test(t, where_the_stream_stops_matters_as_much_as_the_setting, 0,
                        array_count(stops));
    tcase_add_loop_test(t, uneven_flushes_come_to_about_the_same, 0, array_count(unevens));
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
