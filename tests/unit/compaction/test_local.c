/* test_local.c - coverage of files and the ends of slices: Cassandra's figures (facts:
 * compaction.md 1.2, 2.2), and laws that hold for any ranges. */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "compaction/local.h"

#include <check.h>
#include <math.h>

static struct arena arena;
static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void) { arena_deinit(&arena); }

/* The token at this fraction of the ring, counted from its minimum. */
static int64_t at(double fraction) { return (int64_t)(fraction * 0x1p64 - 0x1p63); }

static struct local_ranges ranges_of(const struct token_range *ranges, size_t count, double weight)
{
    struct local_ranges out;
    local_ranges_make(&arena, ranges, count, weight, &out);
    return out;
}

/* (.05,.15] (.30,.40] (.45,.50] (.70,.75] */
static struct local_ranges vnodes(double weight)
{
    struct token_range ranges[] = {
        { at(.45), at(.50) }, { at(.05), at(.15) }, { at(.70), at(.75) }, { at(.30), at(.40) }
    };
    return ranges_of(ranges, array_count(ranges), weight);
}

static void near_to(double got, double wanted)
{
    ck_assert_msg(fabs(got - wanted) < 1e-9, "%.12f, not %.12f", got, wanted);
}

/* ---- ranges ---- */

START_TEST(no_ranges_and_a_range_from_a_token_to_itself_are_the_whole_ring)
{
    struct token_range whole = { 17, 17 };
    struct local_ranges none = ranges_of(NULL, 0, 1), itself = ranges_of(&whole, 1, 1);
    ck_assert_uint_eq(none.count, 1);
    ck_assert_uint_eq(itself.count, 1);
    ck_assert_int_eq(itself.ranges[0].left, INT64_MIN);
    ck_assert_int_eq(itself.ranges[0].right, INT64_MIN);
    ck_assert_double_eq(none.coverage, 1);
    ck_assert_double_eq(itself.coverage, 1);
}
END_TEST

START_TEST(a_range_that_wraps_becomes_two)
{
    struct token_range wraps = { at(.75), at(.25) };
    struct local_ranges local = ranges_of(&wraps, 1, 1);
    ck_assert_uint_eq(local.count, 2);
    ck_assert_int_eq(local.ranges[0].left, INT64_MIN);
    ck_assert_int_eq(local.ranges[0].right, at(.25));
    ck_assert_int_eq(local.ranges[1].left, at(.75));
    ck_assert_int_eq(local.ranges[1].right, INT64_MIN);
    ck_assert_double_eq(local.coverage, .5);
}
END_TEST

START_TEST(ranges_are_sorted_and_their_shares_add_up)
{
    static const double upto[] = { .10, .20, .25, .30 };
    struct local_ranges local = vnodes(1);
    ck_assert_uint_eq(local.count, 4);
    for (size_t i = 0; i < 4; i++)
        near_to(local.upto[i], upto[i]);
    near_to(local.coverage, .30);
}
END_TEST

/* ---- coverage ---- */

static const struct coverage {
    double first, last, covers;
} coverages[] = {
    { .00, .99, .30 }, /* everything */
    { .10, .12, .02 }, /* inside one range */
    { .10, .35, .10 }, /* from within one into the next */
    { .15, .30, .00 }, /* between ranges */
    { .40, .73, .08 }, /* a whole one and a part */
};

START_TEST(a_file_covers_what_is_local_between_its_first_and_last_token)
{
    const struct coverage *c = &coverages[_i];
    struct local_ranges local = vnodes(1), quarter = vnodes(.25);
    near_to(local_coverage_raw(&local, at(c->first), at(c->last)), c->covers);
    near_to(local_coverage_raw(&quarter, at(c->first), at(c->last)), c->covers / 4);
}
END_TEST

START_TEST(a_file_of_one_partition_counts_as_covering_everything)
{
    struct local_ranges local = ranges_of(NULL, 0, 1);
    ck_assert_double_eq(local_coverage_raw(&local, 5, 5), 0x1p-64);
    ck_assert_double_eq(local_coverage(&local, 5, 5), 1);
    ck_assert_double_eq(local_coverage(&local, 5, 5 + 0xfffe), 1);
    ck_assert_double_eq(local_coverage(&local, 5, 5 + 0xffff), 0x1p-48);
    ck_assert_double_eq(local_coverage(&local, INT64_MIN, INT64_MAX), 1);
    ck_assert_double_eq(local_coverage_raw(&local, 0, INT64_MAX), .5);
    struct local_ranges some = vnodes(1);
    ck_assert_double_eq(local_coverage(&some, at(.16), at(.29)), 1); /* of none of the ranges */
}
END_TEST

/* ---- slices ---- */

START_TEST(the_full_ring_is_cut_where_cassandra_cuts_it)
{
    static const int64_t eight[] = { -6917529027641081856, -4611686018427387904,
                                     -2305843009213693952, 0,
                                     2305843009213693951,  4611686018427387903,
                                     6917529027641081855 };
    struct local_ranges local = ranges_of(NULL, 0, 1);
    int64_t ends[7];
    local_split(&local, 8, ends);
    ck_assert_mem_eq(ends, eight, sizeof ends);
    local_split(&local, 4, ends);
    for (size_t k = 0; k < 3; k++)
        ck_assert_int_eq(ends[k], eight[2 * k + 1]);
    local_split(&local, 2, ends);
    ck_assert_int_eq(ends[0], 0);
    local_split(&local, 1, ends); /* nothing to cut */
    ck_assert_int_eq(ends[0], 0);
}
END_TEST

START_TEST(vnodes_are_cut_by_what_they_hold_and_not_at_their_edges)
{
    static const double four[] = { .125, .35, .475 };
    struct local_ranges local = vnodes(1), eighth = vnodes(.125);
    int64_t ends[3], same[3];
    local_split(&local, 2, ends);
    near_to((double)ends[0] * 0x1p-64 + .5, .35);
    local_split(&local, 4, ends);
    local_split(&eighth, 4, same);
    for (size_t k = 0; k < 3; k++) {
        near_to((double)ends[k] * 0x1p-64 + .5, four[k]);
        ck_assert_int_eq(ends[k], same[k]); /* the weight moves nothing */
    }
}
END_TEST

/* Up to eight ranges that do not meet, in any order. */
static struct local_ranges any_ranges(struct prng *prng)
{
    struct token_range ranges[8];
    size_t count = 1 + prng_below(prng, array_count(ranges));
    double place = 0;
    for (size_t i = 0; i < count; i++) {
        double gap = (double)(1 + prng_below(prng, 1000)) / 20000;
        double size = (double)(1 + prng_below(prng, 1000)) / 20000;
        ranges[i] = (struct token_range){ at(place + gap), at(place + gap + size) };
        place += gap + size;
    }
    size_t swapped = prng_below(prng, count);
    struct token_range kept = ranges[0];
    ranges[0] = ranges[swapped];
    ranges[swapped] = kept;
    return ranges_of(ranges, count, 1);
}

static void divides(uint64_t seed)
{
    struct prng prng = { seed };
    struct local_ranges local = any_ranges(&prng);
    uint32_t few = 1 + (uint32_t)prng_below(&prng, 24);
    uint32_t times = 1 + (uint32_t)prng_below(&prng, 9);
    int64_t fine[24 * 9], coarse[24];
    local_split(&local, few, coarse);
    local_split(&local, few * times, fine);
    for (uint32_t k = 1; k < few; k++)
        ck_assert_int_eq(coarse[k - 1], fine[k * times - 1]);
}
START_TEST(slices_of_a_number_are_those_of_each_divisor_cut_again)
{
    for (uint64_t seed = 0; seed < 200; seed++)
        divides(seed);
}
END_TEST

static void is_even(uint64_t seed)
{
    struct prng prng = { seed };
    struct local_ranges local = any_ranges(&prng);
    uint32_t slices = 2 + (uint32_t)prng_below(&prng, 30);
    int64_t ends[32], begin = INT64_MIN;
    local_split(&local, slices, ends);
    ends[slices - 1] = INT64_MAX;
    for (uint32_t k = 0; k < slices; begin = ends[k++])
        near_to(local_coverage_raw(&local, begin, ends[k]), local.coverage / slices);
}
START_TEST(each_slice_covers_an_equal_share)
{
    for (uint64_t seed = 0; seed < 200; seed++)
        is_even(seed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("local");
    TCase *tcase = tcase_create("local");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, no_ranges_and_a_range_from_a_token_to_itself_are_the_whole_ring);
    tcase_add_test(tcase, a_range_that_wraps_becomes_two);
    tcase_add_test(tcase, ranges_are_sorted_and_their_shares_add_up);
    tcase_add_loop_test(tcase, a_file_covers_what_is_local_between_its_first_and_last_token, 0,
                        (int)array_count(coverages));
    tcase_add_test(tcase, a_file_of_one_partition_counts_as_covering_everything);
    tcase_add_test(tcase, the_full_ring_is_cut_where_cassandra_cuts_it);
    tcase_add_test(tcase, vnodes_are_cut_by_what_they_hold_and_not_at_their_edges);
    tcase_add_test(tcase, slices_of_a_number_are_those_of_each_divisor_cut_again);
    tcase_add_test(tcase, each_slice_covers_an_equal_share);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
