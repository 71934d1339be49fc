/* test_unified_slices.c - into how many slices output is cut: Cassandra's own tables (facts:
 * compaction.md 2.1), and where (2.3, 2.4). */
// SPDX-License-Identifier: Apache-2.0
#include "unified_kit.h"

#include <math.h>

#define DEFAULTS ""
#define THREE "base_shard_count: 3; target_sstable_size: 100MiB; "
#define TWENTY "base_shard_count: 20; target_sstable_size: 100MiB; min_sstable_size: 10MiB"
#define MORE "base_shard_count: 24; target_sstable_size: 100MiB; min_sstable_size: 10MiB"
#define FREE "min_sstable_size: 0B; sstable_growth: 0"
#define TEN "min_sstable_size: 10MiB; sstable_growth: "

static const struct slices {
    const char *options;
    double mib;
    uint64_t slices;
} tables[] = {
    /* base 4, at least 100 MiB, target 1 GiB, growth 0.333 */
    { DEFAULTS, NAN, 1 },
    { DEFAULTS, 0, 1 },
    { DEFAULTS, 199.99, 1 },
    { DEFAULTS, 200, 2 },
    { DEFAULTS, 399.99, 2 },
    { DEFAULTS, 400, 4 },
    { DEFAULTS, 6.72 * 1024, 4 },
    { DEFAULTS, 6.73 * 1024, 8 },
    { DEFAULTS, 19.0 * 1024, 8 },
    { DEFAULTS, 19.02 * 1024, 16 },
    { DEFAULTS, 53.7 * 1024, 16 },
    { DEFAULTS, 53.75 * 1024, 32 },
    { DEFAULTS, 151.9 * 1024, 32 },
    { DEFAULTS, 151.95 * 1024, 64 },
    { DEFAULTS, 429.4 * 1024, 64 },
    { DEFAULTS, 429.6 * 1024, 128 },
    { DEFAULTS, 1024.0 * 1024, 128 },
    { DEFAULTS, 10240.0 * 1024, 1024 },
    /* growth 0 */
    { "sstable_growth: 0", 5.65 * 1024, 4 },
    { "sstable_growth: 0", 5.66 * 1024, 8 },
    { "sstable_growth: 0", 11.31 * 1024, 8 },
    { "sstable_growth: 0", 11.32 * 1024, 16 },
    { "sstable_growth: 0", 22.62 * 1024, 16 },
    { "sstable_growth: 0", 22.63 * 1024, 32 },
    { "sstable_growth: 0", 45.24 * 1024, 32 },
    { "sstable_growth: 0", 45.26 * 1024, 64 },
    { "sstable_growth: 0", 90.52 * 1024, 128 },
    /* base 3, target 100 MiB */
    { THREE FREE, 200, 3 },
    { THREE FREE, 600, 6 },
    { THREE FREE, 800, 6 },
    { THREE FREE, 900, 12 },
    { THREE FREE, 2400, 24 },
    { THREE FREE, 0, 3 },
    { THREE FREE, NAN, 3 },
    { THREE FREE, INFINITY, 3 << 20 },
    { THREE TEN "0", 29, 1 },
    { THREE TEN "0", 30, 3 },
    { THREE TEN "0", NAN, 1 },
    { THREE TEN "0.333", 29, 1 },
    { THREE TEN "0.333", 30, 3 },
    { THREE TEN "0.333", NAN, 1 },
    { THREE TEN "0.5", 29, 1 },
    { THREE TEN "0.5", 30, 3 },
    { THREE TEN "0.5", NAN, 1 },
    { THREE TEN "1", 29, 1 },
    { THREE TEN "1", 30, 3 },
    { THREE TEN "1", NAN, 1 },
    { THREE TEN "0.5", 1200, 6 },
    { THREE TEN "0.5", 2350, 6 },
    { THREE TEN "0.5", 2450, 12 },
    { THREE TEN "0.5", 4800, 12 },
    { THREE TEN "0.5", INFINITY, 3 << 20 },
    { THREE TEN "0.333", 2400, 12 },
    { THREE TEN "0.333", 4000, 12 },
    { THREE TEN "0.333", 4100, 24 },
    { THREE TEN "1", 1e9, 3 },
    { THREE "min_sstable_size: 0B", NAN, 3 },
    { THREE "min_sstable_size: 0B", 0, 3 },
    /* fewer than base: powers of two that divide it */
    { TWENTY, 19, 1 },
    { TWENTY, 29, 2 },
    { TWENTY, 40, 4 },
    { TWENTY, 199, 4 },
    { TWENTY, 200, 20 },
    { MORE, 40, 4 },
    { MORE, 80, 8 },
    { MORE, 239, 8 },
    { MORE, 240, 24 },
};

START_TEST(slices_are_as_many_as_cassandra_makes)
{
    const struct slices *s = &tables[_i];
    const struct unified_options *options = &unified_with(s->options)->options;
    ck_assert_msg(unified_slices(options, s->mib * MIB) == s->slices,
                  "%s at %g MiB: %llu, not %llu", s->options, s->mib,
                  (unsigned long long)unified_slices(options, s->mib * MIB),
                  (unsigned long long)s->slices);
}
END_TEST

static void divides(uint64_t seed)
{
    struct prng prng = { seed };
    static const char *const growths[] = { "0", "0.333", "0.5", "1" };
    uint64_t base = 1 + prng_below(&prng, 100), growth = prng_below(&prng, 4), before = 1;
    char options[128];
    snprintf(options, sizeof options,
             "base_shard_count: %llu; sstable_growth: %s; target_sstable_size: 100MiB; "
             "min_sstable_size: %lluMiB",
             (unsigned long long)base, growths[growth], (unsigned long long)prng_below(&prng, 70));
    const struct unified_options *o = &unified_with(options)->options;
    for (double mib = 1; mib < 1e9; mib *= 1.37) {
        uint64_t slices = unified_slices(o, mib * MIB);
        ck_assert_uint_ge(slices, before);
        ck_assert_uint_eq(slices % before, 0);
        ck_assert(slices % base == 0 || base % slices == 0);
        before = slices;
    }
}
START_TEST(counts_divide_one_another_whatever_the_options)
{
    for (uint64_t seed = 0; seed < 100; seed++)
        divides(seed);
}
END_TEST

/* ---- where ---- */

START_TEST(ends_cut_what_lies_on_both_sides_of_them)
{
    int64_t *cuts;
    size_t count = unified_cuts(&ring, 8, INT64_MIN, INT64_MAX, &arena, &cuts);
    ck_assert_uint_eq(count, 7);
    ck_assert_int_eq(cuts[3], 0);
    ck_assert_uint_eq(unified_cuts(&ring, 8, -1, 1, &arena, &cuts), 1);
    ck_assert_int_eq(cuts[0], 0);
    ck_assert_uint_eq(unified_cuts(&ring, 8, -1, 0, &arena, &cuts), 0); /* its slice ends with it */
    ck_assert_uint_eq(unified_cuts(&ring, 8, 0, 1, &arena, &cuts), 1);
    ck_assert_uint_eq(unified_cuts(&ring, 8, 1, 1, &arena, &cuts), 0);
    ck_assert_uint_eq(unified_cuts(&ring, 1, INT64_MIN, INT64_MAX, &arena, &cuts), 0);
}
END_TEST

START_TEST(more_slices_than_can_be_told_become_a_divisor_of_them)
{
    int64_t *cuts;
    size_t count = unified_cuts(&ring, 3 << 20, INT64_MIN, INT64_MAX, &arena, &cuts);
    ck_assert_uint_eq(count, (3 << 14) - 1);
    ck_assert_uint_eq(unified_cuts(&ring, 65537, INT64_MIN, INT64_MAX, &arena, &cuts), 0);
    ck_assert_uint_eq(unified_cuts(&ring, UINT64_MAX << 20, INT64_MIN, INT64_MAX, &arena, &cuts),
                      0);
    struct token_range few = { 0, 3 }; /* ends that meet are told once */
    struct local_ranges tokens;
    local_ranges_make(&arena, &few, 1, 1, &tokens);
    count = unified_cuts(&tokens, 64, INT64_MIN, INT64_MAX, &arena, &cuts);
    ck_assert_uint_eq(count, 3);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(cuts[i], (int64_t)i);
}
END_TEST

static const struct flush {
    const char *options;
    double average; /* MiB; 0: none yet */
    size_t cuts;
} flushes[] = {
    { "", 0, 0 },
    { "", 4, 0 },
    { "", 250, 1 },
    { "", 500, 3 },
    { "flush_size_override: 500MiB", 4, 0 }, /* for levels alone */
    { "min_sstable_size: 0B", 0, 3 },
    { "min_sstable_size: 0B; base_shard_count: 1", 4, 0 },
};

START_TEST(a_flush_is_cut_by_the_size_of_those_before_it)
{
    const struct flush *f = &flushes[_i];
    const int64_t *cuts;
    unified_with(f->options);
    if (f->average > 0)
        strategy_set_flush_average(strategy, f->average * MIB);
    ck_assert_uint_eq(strategy_flush_cuts(strategy, &ring, &arena, &cuts), f->cuts);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unified_slices");
    TCase *tcase = tcase_create("unified_slices");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, slices_are_as_many_as_cassandra_makes, 0, (int)array_count(tables));
    tcase_add_test(tcase, counts_divide_one_another_whatever_the_options);
    tcase_add_test(tcase, ends_cut_what_lies_on_both_sides_of_them);
    tcase_add_test(tcase, more_slices_than_can_be_told_become_a_divisor_of_them);
    tcase_add_loop_test(tcase, a_flush_is_cut_by_the_size_of_those_before_it, 0,
                        (int)array_count(flushes));
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
