/* test_summary.c - samples of an index come back, at every interval; damaged files are refused. */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "damage.h"
#include "sstable/summary.h"

#include <check.h>

/* Keys of growing length, "", "a", "aa" and so on, at places 10 apart. */
static void build(uint32_t interval, uint32_t keys, struct buf *out)
{
    struct summary_builder b;
    char key[256];
    memset(key, 'a', sizeof key);
    summary_builder_init(&b, interval);
    for (uint32_t i = 0; i < keys; i++)
        summary_builder_add(&b, bytes_of(key, i % sizeof key), (uint64_t)i * 10);
    summary_builder_encode(&b, out);
    summary_builder_deinit(&b);
}

START_TEST(every_sample_comes_back)
{
    static const uint32_t intervals[] = { 1, 2, 3, 128 }, keys[] = { 1, 2, 127, 128, 129, 1000 };
    for (size_t i = 0; i < array_count(intervals) * array_count(keys); i++) {
        uint32_t interval = intervals[i % array_count(intervals)];
        uint32_t count = keys[i / array_count(intervals)];
        struct buf b = { 0 };
        struct summary s;
        struct report report = { 0 };
        build(interval, count, &b);
        ck_assert_msg(summary_decode(buf_bytes(&b), &s, &report) == OK, "%s", report.text);
        ck_assert_uint_eq(s.min_index_interval, interval);
        ck_assert_uint_eq(s.sampling_level, 128);
        ck_assert_uint_eq(s.count, (count + interval - 1) / interval);
        ck_assert_uint_eq(s.full_count, s.count);
        for (uint32_t j = 0; j < s.count; j++) {
            ck_assert_uint_eq(summary_key(&s, j).size, j * interval % 256);
            ck_assert_uint_eq(summary_place(&s, j), (uint64_t)j * interval * 10);
        }
        ck_assert_uint_eq(s.first_key.size, 0);
        ck_assert_uint_eq(s.last_key.size, (count - 1) % 256);
        buf_deinit(&b);
    }
}
END_TEST

START_TEST(the_known_keys_have_the_known_summary)
{
    static const uint8_t want[] = { 0, 0, 0, 128, 0, 0, 0, 1, 0, 0,   0, 0, 0,   0, 0,  13,
                                    0, 0, 0, 128, 0, 0, 0, 1, 4, 0,   0, 0, '0', 0, 0,  0,
                                    0, 0, 0, 0,   0, 0, 0, 0, 1, '0', 0, 0, 0,   1, '4' };
    struct summary_builder b;
    struct buf out = { 0 };
    summary_builder_init(&b, 128);
    for (char key = '0'; key <= '4'; key++)
        summary_builder_add(&b, bytes_of(&key, 1), (uint64_t)(key - '0') * 5);
    summary_builder_encode(&b, &out);
    ck_assert_uint_eq(out.size, sizeof want);
    ck_assert_mem_eq(out.data, want, sizeof want);
    summary_builder_deinit(&b);
    buf_deinit(&out);
}
END_TEST

static void cut(struct bytes damaged, size_t at, void *unused)
{
    struct summary s;
    struct report report = { 0 };
    (void)at;
    (void)unused;
    ck_assert_int_eq(summary_decode(damaged, &s, &report), ERR_CORRUPT);
    ck_assert(strstr(report.text, "Summary.db"));
}

/* The format has no checksum: what is not refused has all its entries inside. */
static void flip(struct bytes damaged, size_t at, void *unused)
{
    struct summary s;
    struct report report = { 0 };
    (void)at;
    (void)unused;
    enum err err = summary_decode(damaged, &s, &report);
    ck_assert(err == OK || err == ERR_CORRUPT);
    for (uint32_t i = 0; err == OK && i < s.count; i++) {
        struct bytes key = summary_key(&s, i);
        ck_assert(key.data >= damaged.data && key.data + key.size <= damaged.data + damaged.size);
        summary_place(&s, i);
    }
}

START_TEST(a_damaged_summary_is_refused_or_lies_inside)
{
    struct buf b = { 0 };
    build(3, 60, &b);
    damage_cut(buf_bytes(&b), cut, NULL);
    damage_flip(buf_bytes(&b), flip, NULL);
    buf_put_u8(&b, 0);
    cut(buf_bytes(&b), b.size, NULL); /* something behind it */
    buf_deinit(&b);
}
END_TEST

START_TEST(counts_that_lie_are_refused)
{
    static const struct {
        size_t at;
        uint32_t value;
    } lies[] = { { 0, 0 },           { 0, 0x80000000 }, { 4, 0 },  { 4, 21 },          { 4, 19 },
                 { 4, UINT32_MAX },  { 8, 1 },          { 12, 3 }, { 16, 0 },          { 16, 129 },
                 { 16, UINT32_MAX }, { 20, 19 },        { 24, 0 }, { 24, 0xffffffff }, { 28, 0 } };
    for (size_t i = 0; i < array_count(lies); i++) {
        struct buf b = { 0 };
        build(3, 60, &b);
        put_be32(b.data + lies[i].at, lies[i].value);
        cut(buf_bytes(&b), 0, NULL);
        buf_deinit(&b);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("summary");
    TCase *t = tcase_create("summary");
    tcase_add_test(t, every_sample_comes_back);
    tcase_add_test(t, the_known_keys_have_the_known_summary);
    tcase_add_test(t, a_damaged_summary_is_refused_or_lies_inside);
    tcase_add_test(t, counts_that_lie_are_refused);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
