/* test_estimate.c - the sketches of Statistics.db against what Cassandra's own classes made of the
 * same numbers: the checksums below are of its output (5.0.6, stream-lib 2.5.2). */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/mem.h"
#include "base/prng.h"
#include "damage.h"
#include "sstable/estimate.h"

#include <check.h>

/* ---- spread ---- */

START_TEST(buckets_grow_by_a_fifth)
{
    static const int64_t begin[] = { 1,  2,  3,  4,  5,  6,  7,  8,  10, 12, 14,
                                     17, 20, 24, 29, 35, 42, 50, 60, 72, 86, 103 };
    struct spread s;
    spread_init(&s, SPREAD_SIZES_OA);
    ck_assert_mem_eq(s.offsets, begin, sizeof begin);
    ck_assert_int_eq(s.offsets[SPREAD_SIZES_OA - 2], INT64_C(3520571548412));
    spread_init(&s, SPREAD_SIZES_NB);
    ck_assert_int_eq(s.offsets[SPREAD_SIZES_NB - 2], INT64_C(1414838745986));
    spread_init(&s, SPREAD_CELLS);
    ck_assert_int_eq(s.offsets[SPREAD_CELLS - 2], INT64_C(4139110981));
}
END_TEST

START_TEST(a_value_is_counted_at_the_first_offset_not_below_it)
{
    struct spread s;
    spread_init(&s, SPREAD_CELLS);
    for (uint64_t v = 0; v <= 9; v++)
        spread_add(&s, v);
    static const uint64_t counts[] = { 2, 1, 1, 1, 1, 1, 1, 1, 1 };
    ck_assert_mem_eq(s.counts, counts, sizeof counts);
    spread_add(&s, 4139110981);
    spread_add(&s, 4139110982);
    spread_add(&s, UINT64_MAX);
    ck_assert_uint_eq(s.counts[SPREAD_CELLS - 2], 1);
    ck_assert_uint_eq(s.counts[SPREAD_CELLS - 1], 2);
    ck_assert_uint_eq(spread_total(&s), 13);
    ck_assert_uint_eq(spread_quantile(&s, 1.0), UINT64_MAX);
}
END_TEST

START_TEST(mean_and_quantiles_are_those_of_cassandra)
{
    struct spread s;
    struct prng prng = { 5 };
    spread_init(&s, SPREAD_SIZES_OA);
    ck_assert_uint_eq(spread_mean(&s), 0);
    ck_assert_uint_eq(spread_quantile(&s, 0.5), 0);
    for (int i = 0; i < 10000; i++) {
        uint64_t v = prng_next(&prng);
        unsigned shift = 1 + (unsigned)prng_below(&prng, 60);
        spread_add(&s, v >> shift & 0xffffffffff);
    }
    ck_assert_uint_eq(spread_total(&s), 10000);
    ck_assert_uint_eq(spread_mean(&s), 251517331998);
    ck_assert_uint_eq(spread_quantile(&s, 0.5), 4966933177);
    ck_assert_uint_eq(spread_quantile(&s, 0.99), 1179032288322);
}
END_TEST

START_TEST(a_spread_comes_back_and_a_damaged_one_is_refused)
{
    struct spread s, back;
    struct buf b = { 0 };
    spread_init(&s, 20);
    for (uint64_t v = 1; v < 60; v++)
        spread_add(&s, v);
    spread_encode(&s, &b);
    ck_assert_uint_eq(b.size, 4 + 20 * 16);
    struct cursor c = cursor_of(buf_bytes(&b));
    ck_assert(spread_decode(&c, &back) && cursor_left(&c) == 0);
    ck_assert_mem_eq(&s, &back, sizeof s);
    for (size_t cut = 0; cut < b.size; cut++) {
        c = cursor_of(bytes_of(b.data, cut));
        ck_assert(!spread_decode(&c, &back));
    }
    static const uint32_t counts[] = { 0, 1, 21, SPREAD_BUCKETS_MAX + 1, UINT32_MAX };
    for (size_t i = 0; i < array_count(counts); i++) {
        put_be32(b.data, counts[i]);
        c = cursor_of(buf_bytes(&b));
        ck_assert(!spread_decode(&c, &back));
    }
    buf_deinit(&b);
}
END_TEST

/* ---- drop times ---- */

struct drops {
    uint64_t span;
    uint32_t added, count, crc;
    double sum; /* up to the middle of the span */
};
static const struct drops drops[] = {
    { 3000, 50, 32, 1602863628, 25.000000 },
    { 3000, 1000, 51, 1215345333, 496.777778 },
    { 3000, 100000, 51, 2647339247, 49047.444444 },
    { 7000, 50, 42, 1205770423, 24.131111 },
    { 7000, 1000, 100, 1927846146, 492.500000 },
    { 7000, 100000, 100, 1952342841, 50057.500000 },
    { 100000, 1000, 100, 2591409915, 514.301775 },
    { 100000, 600000, 100, 2933371327, 299357.148148 },
    { 10000000, 50, 50, 4163249575, 32.814596 },
    { 10000000, 600000, 100, 3783837947, 296221.496073 }, /* the spool overflows, here and below */
    { 400000000, 1000, 100, 2509253588, 464.864888 },
    { 400000000, 600000, 100, 3577998661, 299442.275040 },
    { 4000000000, 1000, 100, 2153104211, 489.487053 },
    { 4000000000, 600000, 100, 4013518472, 299690.965371 },
};
/* What the spans' places in the list were when the numbers were made. */
static const uint64_t spans[] = { 3000, 7000, 100000, 10000000, 400000000, 4000000000 };

START_TEST(drop_times_are_those_of_cassandra)
{
    const struct drops *want = &drops[_i];
    struct prng prng = { want->added };
    for (size_t k = 0; spans[k] != want->span; k++)
        prng.state += 100;
    struct drop_times d;
    drop_times_init(&d);
    for (uint32_t i = 0; i < want->added; i++)
        drop_times_add(&d, (uint32_t)(100000000 + prng_below(&prng, want->span)));
    drop_times_finish(&d);
    struct buf b = { 0 };
    drop_times_encode(&d, SSTABLE_OA, &b);
    ck_assert_uint_eq(d.count, want->count);
    ck_assert_uint_eq(get_be32(b.data + 4), want->count);
    ck_assert_uint_eq(crc32_of(0, bytes_of(b.data + 8, b.size - 8)), want->crc);
    double sum = drop_times_sum(&d, 100000000 + (double)(want->span / 2));
    ck_assert(sum > want->sum - 0.000001 && sum < want->sum + 0.000001);
    buf_deinit(&b);
    drop_times_deinit(&d);
}
END_TEST

START_TEST(a_time_is_rounded_up_to_a_minute_and_no_further_than_there_are_times)
{
    struct drop_times d;
    drop_times_init(&d);
    static const uint32_t times[] = { 0, 1, 59, 60, 61, UINT32_MAX - 2 };
    for (size_t i = 0; i < array_count(times); i++)
        drop_times_add(&d, times[i]);
    drop_times_finish(&d);
    ck_assert_uint_eq(d.count, 4);
    ck_assert_uint_eq(d.points[0].seconds, 0);
    ck_assert_uint_eq(d.points[1].seconds, 60);
    ck_assert_uint_eq(d.points[1].count, 3);
    ck_assert_uint_eq(d.points[2].seconds, 120);
    ck_assert_uint_eq(d.points[3].seconds, UINT32_MAX - 2);
    drop_times_deinit(&d);
}
END_TEST

START_TEST(drop_times_come_back_in_both_versions)
{
    struct drop_times d, back;
    drop_times_init(&d);
    for (uint32_t i = 0; i < 90; i++)
        drop_times_add(&d, 1700000000 + i * 600);
    drop_times_finish(&d);
    for (enum sstable_version v = SSTABLE_NB; v <= SSTABLE_OA; v++) {
        struct buf b = { 0 };
        drop_times_encode(&d, v, &b);
        ck_assert_uint_eq(b.size, 8 + 90 * (v == SSTABLE_NB ? 16 : 12));
        struct cursor c = cursor_of(buf_bytes(&b));
        ck_assert(drop_times_decode(&c, v, &back) && cursor_left(&c) == 0);
        ck_assert_uint_eq(back.count, d.count);
        ck_assert_mem_eq(back.points, d.points, sizeof d.points[0] * d.count);
        for (size_t cut = 0; cut < b.size; cut++) {
            c = cursor_of(bytes_of(b.data, cut));
            ck_assert(!drop_times_decode(&c, v, &back));
        }
        put_be32(b.data + 4, DROP_TIMES_MAX + 1);
        c = cursor_of(buf_bytes(&b));
        ck_assert(!drop_times_decode(&c, v, &back));
        buf_deinit(&b);
    }
}
END_TEST

/* ---- cardinality ---- */

static void add_keys(struct cardinality *c, int from, int until)
{
    char key[32];
    for (int i = from; i < until; i++) {
        int size = snprintf(key, sizeof key, "key-%d", i);
        cardinality_add(c, bytes_of(key, (size_t)size));
    }
}

static const struct {
    int keys;
    uint32_t bytes, crc;
} sketches[] = {
    { 0, 8, 974759724 },         { 1, 12, 1340340229 },         { 1000, 2834, 3236234715 },
    { 6143, 15042, 2435431870 }, { 6144, 15044, 13693583 },     { 6145, 15046, 2144956610 },
    { 6200, 5473, 1707563411 },  { 7000, 5473, 2406796365 },    { 20000, 5473, 3036526311 },
    { 200000, 5473, 224876369 }, { 3000000, 5473, 1286852372 },
};

START_TEST(a_sketch_is_that_of_cassandra_and_counts_within_five_percent)
{
    struct cardinality c, back;
    struct buf b = { 0 }, again = { 0 };
    struct report report = { 0 };
    cardinality_init(&c);
    add_keys(&c, 0, sketches[_i].keys);
    cardinality_encode(&c, &b);
    ck_assert_uint_eq(b.size, sketches[_i].bytes);
    ck_assert_uint_eq(crc32_of(0, buf_bytes(&b)), sketches[_i].crc);
    double estimate = (double)cardinality_estimate(&c), keys = sketches[_i].keys;
    ck_assert_msg(estimate > keys * 0.95 - 1 && estimate < keys * 1.05 + 1, "%f", estimate);
    ck_assert_msg(cardinality_decode(buf_bytes(&b), &back, &report) == OK, "%s", report.text);
    cardinality_encode(&back, &again);
    ck_assert(bytes_equal(buf_bytes(&b), buf_bytes(&again)));
    ck_assert_uint_eq(cardinality_estimate(&back), cardinality_estimate(&c));
    cardinality_deinit(&c);
    cardinality_deinit(&back);
    buf_deinit(&b);
    buf_deinit(&again);
}
END_TEST

START_TEST(small_sketches_count_exactly)
{
    struct cardinality c;
    cardinality_init(&c);
    for (int i = 0; i < 2000; i++) {
        ck_assert_uint_eq(cardinality_estimate(&c), i);
        add_keys(&c, i, i + 1);
    }
    cardinality_deinit(&c);
}
END_TEST

START_TEST(the_known_keys_have_the_known_sketch)
{
    static const uint8_t want[] = { 0xff, 0xff, 0xff, 0xfe, 0x0d, 0x19, 0x01, 0x05, 0x92,
                                    0xf2, 0x85, 0x01, 0x90, 0xf6, 0x1f, 0xf4, 0xb3, 0xaa,
                                    0x02, 0xb2, 0xbd, 0xfc, 0x05, 0xe0, 0xfc, 0xdd, 0x10 };
    struct cardinality c;
    struct buf b = { 0 };
    cardinality_init(&c);
    for (char key = '4'; key >= '0'; key--)
        cardinality_add(&c, bytes_of(&key, 1));
    cardinality_encode(&c, &b);
    ck_assert_uint_eq(b.size, sizeof want);
    ck_assert_mem_eq(b.data, want, sizeof want);
    cardinality_deinit(&c);
    buf_deinit(&b);
}
END_TEST

START_TEST(bytes_above_7f_are_hashed_as_signed_ones)
{
    static const char *const keys[] = { "\x80", "\xc3\xa9", "\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                                        "\1\2\3\4\5\6\7\x08", "\xff\xfe\xfd\xfc\xfb\xfa\xf9" };
    static const uint8_t want[] = { 0xff, 0xff, 0xff, 0xfe, 0x0d, 0x19, 0x01, 0x05, 0x8c,
                                    0xaf, 0xcb, 0x0b, 0x8a, 0xe6, 0xbf, 0x05, 0xb0, 0xdf,
                                    0x56, 0xac, 0x9d, 0xe8, 0x02, 0xd4, 0xdd, 0xf6, 0x0a };
    struct cardinality c;
    struct buf b = { 0 };
    cardinality_init(&c);
    for (size_t i = 0; i < array_count(keys); i++)
        cardinality_add(&c, bytes_text(keys[i]));
    cardinality_encode(&c, &b);
    ck_assert_uint_eq(b.size, sizeof want);
    ck_assert_mem_eq(b.data, want, sizeof want);
    cardinality_deinit(&c);
    buf_deinit(&b);
}
END_TEST

/* Both in the normal form, so that how they came to be does not show. */
static void assert_merged(int a_from, int a_until, int b_from, int b_until)
{
    struct cardinality a, b, all, many;
    struct buf merged = { 0 }, direct = { 0 };
    cardinality_init(&many);
    add_keys(&many, 1000000, 1010000);
    cardinality_init(&a);
    cardinality_init(&b);
    cardinality_init(&all);
    add_keys(&a, a_from, a_until);
    add_keys(&b, b_from, b_until);
    add_keys(&all, a_from, a_until);
    add_keys(&all, b_from, b_until);
    cardinality_merge(&a, &b);
    double estimate = (double)cardinality_estimate(&a);
    double truth = a_until > b_until ? a_until : b_until; /* the ranges overlap, from 0 on */
    ck_assert_msg(estimate >= truth * 0.95 && estimate <= truth * 1.05, "%f %f", estimate, truth);
    cardinality_merge(&a, &many);
    cardinality_merge(&all, &many);
    cardinality_encode(&a, &merged);
    cardinality_encode(&all, &direct);
    ck_assert(bytes_equal(buf_bytes(&merged), buf_bytes(&direct)));
    cardinality_deinit(&a);
    cardinality_deinit(&b);
    cardinality_deinit(&all);
    cardinality_deinit(&many);
    buf_deinit(&merged);
    buf_deinit(&direct);
}

START_TEST(merged_is_as_if_all_keys_had_been_added_to_one)
{
    assert_merged(0, 0, 0, 0);
    assert_merged(0, 4000, 3000, 6000);   /* both sparse, and so is the union */
    assert_merged(0, 6000, 3000, 9000);   /* too many for sparse */
    assert_merged(0, 10000, 9000, 9500);  /* normal and sparse */
    assert_merged(0, 50, 0, 20000);       /* sparse and normal */
    assert_merged(0, 9000, 8000, 100000); /* both normal */
}
END_TEST

static void refuse_sketch(struct bytes damaged, size_t at, void *unused)
{
    struct cardinality c;
    struct report report = { 0 };
    (void)at;
    (void)unused;
    enum err err = cardinality_decode(damaged, &c, &report);
    ck_assert(err == OK || err == ERR_CORRUPT);
    ck_assert(cardinality_estimate(&c) < 1000000000000);
    cardinality_deinit(&c);
}

static void cut_sketch(struct bytes damaged, size_t at, void *unused)
{
    struct cardinality c;
    struct report report = { 0 };
    (void)at;
    (void)unused;
    ck_assert_int_eq(cardinality_decode(damaged, &c, &report), ERR_CORRUPT);
    ck_assert_ptr_null(c.codes);
    ck_assert_ptr_null(c.batch);
    ck_assert_ptr_null(c.registers);
}

START_TEST(a_damaged_sketch_is_refused_or_another_one)
{
    int keys[] = { 30, 8000 };
    struct cardinality c;
    struct buf b = { 0 };
    cardinality_init(&c);
    add_keys(&c, 0, keys[_i]);
    cardinality_encode(&c, &b);
    damage_cut(buf_bytes(&b), cut_sketch, NULL);
    damage_flip(buf_bytes(&b), refuse_sketch, NULL);
    cardinality_deinit(&c);
    buf_deinit(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("estimate");
    TCase *t = tcase_create("estimate");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, buckets_grow_by_a_fifth);
    tcase_add_test(t, a_value_is_counted_at_the_first_offset_not_below_it);
    tcase_add_test(t, mean_and_quantiles_are_those_of_cassandra);
    tcase_add_test(t, a_spread_comes_back_and_a_damaged_one_is_refused);
    tcase_add_loop_test(t, drop_times_are_those_of_cassandra, 0, array_count(drops));
    tcase_add_test(t, a_time_is_rounded_up_to_a_minute_and_no_further_than_there_are_times);
    tcase_add_test(t, drop_times_come_back_in_both_versions);
    tcase_add_loop_test(t, a_sketch_is_that_of_cassandra_and_counts_within_five_percent, 0,
                        array_count(sketches));
    tcase_add_test(t, small_sketches_count_exactly);
    tcase_add_test(t, the_known_keys_have_the_known_sketch);
    tcase_add_test(t, bytes_above_7f_are_hashed_as_signed_ones);
    tcase_add_test(t, merged_is_as_if_all_keys_had_been_added_to_one);
    tcase_add_loop_test(t, a_damaged_sketch_is_refused_or_another_one, 0, 2);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
