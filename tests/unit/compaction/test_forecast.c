/* test_forecast.c - the model's guesses against a table of rows that are really drawn, and what it
 * does with files that are there already, with slices, levels and tombstones.
 *
 * The sequences of test_sequences.c hold its counting to vectors; here it is sizes.
 */
// SPDX-License-Identifier: Apache-2.0
#include "strategy_kit.h"

static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

/* ---- rows that are drawn ---- */

enum { ROWS = 40000, ROW_BYTES = 100, UPDATE_BYTES = 30, PARTITION_ROWS = 50, SETS_MAX = 64 };

/* A file as a set of rows: 1 it was loaded here, 2 it was updated here. */
struct set {
    uint8_t *rows;
    uint64_t bytes;
};
static struct drawn {
    struct strategy *strategy;
    struct compaction_now now;
    struct set sets[SETS_MAX]; /* of files, by the same places */
    uint64_t written, flushed;
    uint64_t id;
    int64_t timestamp;
} d;

/* An update that meets its row takes the place of what was there. */
static uint64_t bytes_of_rows(const uint8_t *rows)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < ROWS; i++)
        bytes += rows[i] & 1 ? ROW_BYTES : rows[i] & 2 ? UPDATE_BYTES : 0;
    return bytes;
}

static void put_set(uint8_t *rows)
{
    size_t place = d.now.files_count++;
    ck_assert_uint_lt(place, SETS_MAX);
    d.sets[place] = (struct set){ rows, bytes_of_rows(rows) };
    files[place] = (struct compaction_file){ .id = ++d.id,
                                             .first = INT64_MIN + 1,
                                             .last = INT64_MAX,
                                             .bytes = d.sets[place].bytes,
                                             .all_bytes = d.sets[place].bytes,
                                             .coverage = 1,
                                             .timestamp_max = d.timestamp,
                                             .seconds_max = UINT32_MAX };
}

static void merge(const struct compaction_pick *pick)
{
    uint8_t *rows = mem_zalloc(ROWS);
    size_t left = 0, next = 0;
    for (size_t i = 0; i < d.now.files_count; i++) {
        if (next == pick->count || pick->files[next] != i) {
            files[left] = files[i];
            d.sets[left++] = d.sets[i];
            continue;
        }
        for (size_t k = 0; k < ROWS; k++)
            rows[k] |= d.sets[i].rows[k];
        mem_free(d.sets[i].rows);
        next++;
    }
    d.now.files_count = left;
    d.written += bytes_of_rows(rows);
    put_set(rows);
}

static uint64_t flush_rows(uint8_t *rows)
{
    uint64_t bytes = bytes_of_rows(rows);
    struct compaction_pick pick;
    d.timestamp++;
    d.flushed += bytes;
    put_set(rows);
    strategy_flushed(d.strategy, bytes);
    for (;;) {
        strategy_pick(d.strategy, &d.now, &arena, &pick);
        if (pick.kind == COMPACTION_NONE)
            return bytes;
        merge(&pick);
        strategy_done(d.strategy, &pick);
    }
}

/* The mean number of files in which a partition is. */
static double files_a_read(void)
{
    size_t found = 0;
    for (size_t i = 0; i < d.now.files_count; i++)
        for (size_t k = 0; k < ROWS; k += PARTITION_ROWS) {
            bool is_in = false;
            for (size_t r = k; r < k + PARTITION_ROWS; r++)
                is_in |= d.sets[i].rows[r];
            found += is_in;
        }
    return (double)found / (ROWS / PARTITION_ROWS);
}

static uint64_t floor_bytes(void)
{
    uint8_t *rows = mem_zalloc(ROWS);
    for (size_t i = 0; i < d.now.files_count; i++)
        for (size_t k = 0; k < ROWS; k++)
            rows[k] |= d.sets[i].rows[k];
    uint64_t bytes = bytes_of_rows(rows);
    mem_free(rows);
    return bytes;
}

/* ROWS rows loaded in `loads` flushes, and then `updates` flushes of so many draws each. */
static const struct {
    const char *options;
    unsigned loads, updates, draws;
} streams[] = {
    { "SizeTiered", 10, 40, 2000 },
    { "SizeTiered; min_sstable_size: 0", 10, 50, 2000 },
    { "Unified; base_shard_count: 1; scaling_parameters: T4", 10, 50, 2000 },
    { "Unified; base_shard_count: 1; scaling_parameters: L10", 20, 50, 4000 },
    { "Unified; base_shard_count: 1; scaling_parameters: N", 0, 60, 7000 },
    { "Unified; base_shard_count: 1; scaling_parameters: L4", 0, 60, 8000 },
};

static void near(double model, double truth, double part, const char *what)
{
    ck_assert_msg(fabs(model - truth) <= part * truth, "%s: %g, in truth %g", what, model, truth);
}

static void compare(struct forecast *f)
{
    struct forecast_figures figures;
    const struct compaction_file *list;
    forecast_figures(f, &figures);
    ck_assert_uint_eq(forecast_files(f, &list), d.now.files_count);
    uint64_t bytes = 0;
    for (size_t i = 0; i < d.now.files_count; i++) {
        near((double)list[i].bytes, (double)d.sets[i].bytes, 0.03, "a file");
        bytes += d.sets[i].bytes;
    }
    near((double)figures.bytes, (double)bytes, 0.02, "all files");
    near((double)figures.written_bytes, (double)d.written, 0.02, "written");
    near(figures.floor_bytes, (double)floor_bytes(), 0.02, "after a major compaction");
    near(figures.files_a_read, files_a_read(), 0.05, "files a read");
}

START_TEST(sizes_of_merged_updates_are_within_a_few_percent)
{
    struct compaction_params params = params_of(streams[_i].options);
    struct strategy_scale scale = { 1024, 1024 }; /* levels from 1 KiB on */
    struct forecast_options options = {
        .params = &params,
        .scale = scale,
        .rows = { ROWS, ROW_BYTES, UPDATE_BYTES, PARTITION_ROWS },
    };
    struct forecast *f = forecast_new(&options);
    struct prng dice = { 5 };
    memset(&d, 0, sizeof d);
    d.now = now_of(0);
    d.strategy = strategy_new(&params, &scale);
    for (unsigned i = 0; i < streams[_i].loads; i++) {
        uint8_t *rows = mem_zalloc(ROWS);
        size_t part = ROWS / streams[_i].loads;
        memset(rows + i * part, 1, part);
        forecast_flush(f, flush_rows(rows), 0, NULL, NULL);
    }
    for (unsigned i = 0; i < streams[_i].updates; i++) {
        uint8_t *rows = mem_zalloc(ROWS);
        for (unsigned k = 0; k < streams[_i].draws; k++)
            rows[prng_below(&dice, ROWS)] |= 2;
        forecast_flush(f, flush_rows(rows), 1, NULL, NULL);
        if (i % 10 == 9)
            compare(f);
    }
    ck_assert_uint_gt(d.written, d.flushed);
    for (size_t i = 0; i < d.now.files_count; i++)
        mem_free(d.sets[i].rows);
    strategy_free(&d.strategy);
    forecast_free(&f);
}
END_TEST

/* ---- what is there already ---- */

START_TEST(files_that_are_there_are_compacted_as_they_are)
{
    struct compaction_params params = params_of("SizeTiered");
    struct forecast_options options = { .params = &params };
    struct forecast *f = forecast_new(&options);
    struct forecast_figures figures;
    size_t count = files_of("0:0-50*4 0:50-100*4 0:0-100*4 0:25-75*4");
    for (size_t i = 0; i < count; i++)
        forecast_add(f, &files[i]);
    forecast_figures(f, &figures);
    ck_assert_double_eq_tol(figures.files_a_key, 2.5, 1e-6);
    ck_assert_double_eq_tol(figures.files_a_read, 2.5, 1e-6); /* nothing is known of rows */
    ck_assert_uint_eq(figures.flushes, 0);
    forecast_settle(f, NULL, NULL);
    forecast_figures(f, &figures);
    ck_assert_uint_eq(figures.compactions, 1);
    ck_assert_uint_eq(figures.written_bytes, 16 << 20);
    ck_assert_uint_eq(figures.peak_bytes, 32 << 20); /* inputs and output */
    ck_assert_double_eq_tol(figures.files_a_key, 1, 1e-6);
    const struct compaction_file *list;
    ck_assert_uint_eq(forecast_files(f, &list), 1);
    ck_assert_uint_gt(list[0].id, count);
    forecast_free(&f);
}
END_TEST

START_TEST(bytes_are_cut_where_they_lie)
{
    /* Half of the ring has 2 MiB, a quarter 6, the last one 4: slices at every quarter. */
    struct compaction_params params =
        params_of("Unified; base_shard_count: 4; min_sstable_size: 0B; target_sstable_size: 1GiB; "
                  "flush_size_override: 4MiB; scaling_parameters: L4");
    struct forecast_options options = { .params = &params };
    struct forecast *f = forecast_new(&options);
    const struct compaction_file *list;
    size_t count = files_of("0:0-50*2 0:50-100*4 0:0-100*4 0:50-75*2");
    for (size_t i = 0; i < count; i++)
        forecast_add(f, &files[i]);
    forecast_settle(f, NULL, NULL);
    ck_assert_uint_eq(forecast_files(f, &list), 4);
    static const double mib[] = { 2, 2, 5, 3 };
    uint64_t sum = 0;
    for (size_t i = 0; i < 4; i++) {
        ck_assert_double_eq_tol((double)list[i].bytes / MIB, mib[i], 0.001);
        sum += list[i].bytes;
        ck_assert_double_eq_tol(list[i].coverage, 0.25, 0.001);
        if (i)
            ck_assert_int_eq(list[i].first, list[i - 1].last + 1);
    }
    ck_assert_uint_le(sum - (12 << 20) + 4, 8); /* rounded to bytes */
    forecast_free(&f);
}
END_TEST

START_TEST(ranges_of_a_node_are_cut_by_their_shares_not_by_tokens)
{
    struct token_range given[] = { { token_of(10), token_of(20) }, { token_of(60), token_of(70) } };
    struct local_ranges local;
    local_ranges_make(&arena, given, 2, 0.5, &local);
    struct compaction_params params = params_of("Leveled; sstable_size_in_mb: 6; min_threshold: 2");
    struct forecast_options options = { .params = &params, .local = &local };
    struct forecast *f = forecast_new(&options);
    const struct compaction_file *list;
    forecast_flush(f, 4 << 20, 0, NULL, NULL);
    forecast_flush(f, 4 << 20, 0, NULL, NULL);
    ck_assert_uint_eq(forecast_files(f, &list), 2);
    ck_assert_double_eq_tol((double)list[0].bytes / MIB, 6, 1e-6);
    ck_assert_double_eq_tol((double)list[1].bytes / MIB, 2, 1e-6);
    /* Three quarters of the rows are below the middle of the second range. */
    ck_assert_double_eq_tol((double)list[0].last, (double)token_of(65), 0x1p64 / 100000);
    ck_assert_double_eq_tol(list[0].coverage, 0.075, 1e-6);
    ck_assert_double_eq_tol(list[1].coverage, 0.025, 1e-6);
    forecast_free(&f);
}
END_TEST

START_TEST(what_can_be_purged_is_purged_once)
{
    struct compaction_params params = params_of("SizeTiered; unchecked_tombstone_compaction: true");
    struct forecast_options options = { .params = &params,
                                        .now_seconds = 10000000,
                                        .gc_grace_seconds = 1000000 };
    struct forecast *f = forecast_new(&options);
    struct forecast_figures figures;
    struct drop_times drops = { .count = 1, .points = { { 5000, 250 } } };
    files_of("0:0-100*8 0:0-100*2");
    files[0].drop_times = &drops;
    files[0].partitions = 1000;
    files[0].cells_a_partition = 1;
    files[1].seconds_max = 7000; /* expired, and older than nothing */
    files[1].timestamp_min = files[1].timestamp_max = -5;
    forecast_add(f, &files[0]);
    forecast_add(f, &files[1]);
    forecast_settle(f, NULL, NULL);
    forecast_figures(f, &figures);
    ck_assert_uint_eq(figures.compactions, 1);
    ck_assert_uint_eq(figures.bytes, 8 << 20); /* 6 and the expired one, which is not worth it */
    forecast_free(&f);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_files)
{
    struct compaction_params params =
        params_of("Unified; base_shard_count: 8; min_sstable_size: 0B; flush_size_override: 4MiB; "
                  "overlap_inclusion_method: NONE");
    struct forecast_options options = { .params = &params, .seed = 3 };
    struct forecast *a = forecast_new(&options), *b = forecast_new(&options);
    const struct compaction_file *x, *y;
    for (unsigned i = 0; i < 40; i++) {
        forecast_flush(a, 5000000 + i, 0, NULL, NULL);
        forecast_flush(b, 5000000 + i, 0, NULL, NULL);
    }
    size_t count = forecast_files(a, &x);
    ck_assert_uint_eq(count, forecast_files(b, &y));
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(x[i].id, y[i].id);
        ck_assert_uint_eq(x[i].bytes, y[i].bytes);
        ck_assert_int_eq(x[i].first, y[i].first);
    }
    forecast_free(&a);
    forecast_free(&b);
}
END_TEST

START_TEST(a_flush_falls_into_slices_once_its_size_is_known)
{
    struct compaction_params params =
        params_of("Unified; base_shard_count: 4; min_sstable_size: 0B; flush_size_override: 4MiB");
    struct forecast_options options = { .params = &params };
    struct forecast *f = forecast_new(&options);
    const struct compaction_file *list;
    forecast_flush(f, 4 << 20, 0, NULL, NULL);
    size_t count = forecast_files(f, &list);
    ck_assert_uint_eq(count, 4);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(list[i].bytes, 1 << 20);
    forecast_free(&f);
}
END_TEST

START_TEST(windows_of_time_follow_the_flushes)
{
    struct compaction_params params = params_of("TimeWindow; compaction_window_unit: HOURS");
    struct forecast_options options = { .params = &params,
                                        .now_seconds = 1700000000 / 3600 * 3600,
                                        .flush_seconds = 900 };
    struct forecast *f = forecast_new(&options);
    const struct compaction_file *list;
    for (unsigned i = 0; i < 10; i++)
        forecast_flush(f, 4 << 20, 0, NULL, NULL);
    /* Two hours that are over, of four flushes each, and two flushes of the third. */
    static const uint64_t mib[] = { 16, 16, 4, 4 };
    ck_assert_uint_eq(forecast_files(f, &list), array_count(mib));
    for (size_t i = 0; i < array_count(mib); i++)
        ck_assert_uint_eq(list[i].bytes, mib[i] << 20);
    forecast_free(&f);
}
END_TEST

START_TEST(a_change_of_level_writes_nothing)
{
    struct compaction_params params =
        params_of("Leveled; sstable_size_in_mb: 1; fanout_size: 1; single_sstable_uplevel: true");
    struct forecast_options options = { .params = &params };
    struct forecast *f = forecast_new(&options);
    struct forecast_figures figures;
    const struct compaction_file *list;
    size_t count = files_of("1:0-10*1 1:20-30*1 1:40-50*1");
    for (size_t i = 0; i < count; i++)
        forecast_add(f, &files[i]);
    forecast_settle(f, NULL, NULL);
    forecast_figures(f, &figures);
    ck_assert_uint_eq(figures.written_bytes, 0);
    ck_assert_uint_eq(figures.compactions, 3); /* two leave level 1, one of them level 2 */
    ck_assert_uint_eq(figures.bytes, 3 << 20);
    bool has[4] = { false };
    ck_assert_uint_eq(forecast_files(f, &list), 3);
    for (size_t i = 0; i < 3; i++)
        has[list[i].level] = true;
    ck_assert(has[1] && has[2] && has[3]);
    forecast_free(&f);
}
END_TEST

START_TEST(a_flush_may_load_and_update)
{
    /* 50 rows and 100 updates, of 200: a quarter of the updates meet their row. */
    struct compaction_params params = params_of("SizeTiered; min_threshold: 2");
    struct forecast_options options = { .params = &params, .rows = { 200, 100, 50, 1 } };
    struct forecast *f = forecast_new(&options);
    struct forecast_figures figures;
    forecast_flush(f, 10000, 0.5, NULL, NULL);
    forecast_figures(f, &figures);
    ck_assert_double_eq_tol(figures.files_a_read, 1 - 0.75 * 0.5, 1e-6);
    ck_assert_double_eq_tol(figures.floor_bytes, 50 * 100 + 100 * 0.75 * 50, 0.01);
    forecast_flush(f, 10000, 0.5, NULL, NULL);
    forecast_figures(f, &figures);
    ck_assert_uint_eq(figures.written_bytes, 100 * 100 + (uint64_t)(150 * 0.5 * 50));
    forecast_free(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("forecast");
    TCase *t = tcase_create("forecast");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, sizes_of_merged_updates_are_within_a_few_percent, 0,
                        array_count(streams));
    tcase_add_test(t, files_that_are_there_are_compacted_as_they_are);
    tcase_add_test(t, bytes_are_cut_where_they_lie);
    tcase_add_test(t, ranges_of_a_node_are_cut_by_their_shares_not_by_tokens);
    tcase_add_test(t, what_can_be_purged_is_purged_once);
    tcase_add_test(t, the_same_seed_gives_the_same_files);
    tcase_add_test(t, a_flush_falls_into_slices_once_its_size_is_known);
    tcase_add_test(t, windows_of_time_follow_the_flushes);
    tcase_add_test(t, a_change_of_level_writes_nothing);
    tcase_add_test(t, a_flush_may_load_and_update);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
