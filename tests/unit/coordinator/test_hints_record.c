/* test_hints_record.c - the records of hints come back as they went, and no damage gets through. */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/prng.h"
#include "coordinator/hints_record.h"

#include <check.h>

static struct uuid table(uint8_t i) { return (struct uuid){ .b = { i, 9, 8, i } }; }

START_TEST(a_hint_comes_back)
{
    struct buf b = { 0 };
    struct hint_record got, hint = { .kind = HINT_RECORD,
                                     .table = table(3),
                                     .token = -77,
                                     .kept_us = 1234567890123456,
                                     .number = 1ull << 40,
                                     .parts = 300,
                                     .rest = bytes_text("mutation") };
    hint_put(&b, &hint);
    ck_assert_uint_le(b.size, HINT_HEAD_BYTES + hint.rest.size);
    ck_assert_int_eq(hint_get(buf_bytes(&b), &got), OK);
    ck_assert(uuid_equal(&got.table, &hint.table));
    ck_assert_int_eq(got.token, -77);
    ck_assert_int_eq(got.kept_us, hint.kept_us);
    ck_assert_uint_eq(got.number, hint.number);
    ck_assert_uint_eq(got.parts, 300);
    ck_assert(bytes_equal(got.rest, hint.rest));
    buf_deinit(&b);
}
END_TEST

START_TEST(a_part_comes_back)
{
    struct buf b = { 0 };
    struct hint_record got, part = { .kind = HINT_PART, .parts = 7, .rest = bytes_text("bytes") };
    hint_put(&b, &part);
    ck_assert_int_eq(hint_get(buf_bytes(&b), &got), OK);
    ck_assert_int_eq(got.kind, HINT_PART);
    ck_assert_uint_eq(got.parts, 7);
    ck_assert(bytes_equal(got.rest, part.rest));
    buf_deinit(&b);
}
END_TEST

static void put_mark(struct buf *b)
{
    struct hint_record mark = {
        .kind = HINT_MARK, .number = 99, .settled = 90, .done = { 5, 8192 }, .tables_count = 2
    };
    struct hint_settled one = { .table = table(1), .delivered = 1000, .expired = 2 };
    one.dropped[HINT_DROP_BY_HAND] = 300;
    hint_put_mark(b, &mark);
    hint_put_settled(b, &one);
    hint_put_settled(b, &(struct hint_settled){ .table = table(2), .delivered = 1 });
}

START_TEST(a_mark_comes_back_with_its_tables)
{
    struct buf b = { 0 };
    struct hint_record got;
    struct hint_settled each;
    put_mark(&b);
    ck_assert_int_eq(hint_get(buf_bytes(&b), &got), OK);
    ck_assert_uint_eq(got.number, 99);
    ck_assert_uint_eq(got.settled, 90);
    ck_assert_uint_eq(got.done.segment, 5);
    ck_assert_uint_eq(got.done.offset, 8192);
    ck_assert_uint_eq(got.tables_count, 2);
    struct cursor c = cursor_of(got.rest);
    ck_assert(hint_mark_next(&c, &each));
    ck_assert_uint_eq(each.delivered, 1000);
    ck_assert_uint_eq(each.expired, 2);
    ck_assert_uint_eq(each.dropped[HINT_DROP_BY_HAND], 300);
    ck_assert(hint_mark_next(&c, &each));
    struct uuid second = table(2);
    ck_assert(uuid_equal(&each.table, &second));
    ck_assert_uint_eq(cursor_left(&c), 0);
    buf_deinit(&b);
}
END_TEST

START_TEST(an_erase_comes_back)
{
    struct buf b = { 0 };
    struct hint_record got;
    struct uuid id = table(4);
    hint_put_erase(&b, HINT_DROP_NO_TABLE, &id);
    ck_assert_int_eq(hint_get(buf_bytes(&b), &got), OK);
    ck_assert_int_eq(got.kind, HINT_ERASE);
    ck_assert_int_eq(got.why, HINT_DROP_NO_TABLE);
    ck_assert(uuid_equal(&got.table, &id));
    b.data[1] = 250; /* of a later version */
    ck_assert_int_eq(hint_get(buf_bytes(&b), &got), OK);
    ck_assert_int_eq(got.why, HINT_DROP_DAMAGED);
    buf_deinit(&b);
}
END_TEST

/* Whatever is cut off or changed: an error or something whole, and no byte beyond is read. */
START_TEST(damage_is_found_or_harmless)
{
    struct buf b = { 0 };
    struct prng r = { (uint64_t)_i };
    struct hint_record got;
    put_mark(&b);
    for (size_t cut = 0; cut < b.size; cut++) {
        uint8_t *copy = mem_alloc(cut ? cut : 1);
        memcpy(copy, b.data, cut);
        ck_assert_int_eq(hint_get(bytes_of(copy, cut), &got), ERR_CORRUPT);
        mem_free(copy);
    }
    for (int round = 0; round < 3000; round++) {
        uint8_t *copy = mem_alloc(b.size);
        struct hint_settled each;
        memcpy(copy, b.data, b.size);
        for (int i = 0; i < 3; i++)
            copy[prng_below(&r, b.size)] = (uint8_t)prng_below(&r, 256);
        enum err err = hint_get(bytes_of(copy, b.size), &got);
        ck_assert(err == OK || err == ERR_CORRUPT || err == ERR_NEWER);
        struct cursor c = cursor_of(got.rest);
        while (err == OK && got.kind == HINT_MARK && cursor_left(&c) && hint_mark_next(&c, &each))
            ;
        mem_free(copy);
    }
    buf_deinit(&b);
}
END_TEST

START_TEST(of_a_kind_that_is_not_known_is_newer)
{
    struct hint_record got;
    ck_assert_int_eq(hint_get(bytes_text("\x09xyz"), &got), ERR_NEWER);
    ck_assert_int_eq(hint_get(bytes_of(NULL, 0), &got), ERR_CORRUPT);
}
END_TEST

START_TEST(a_body_ends_at_its_end_or_is_bad)
{
    static const struct {
        const char *body;
        size_t size, count;
        bool is_bad;
    } all[] = { { "", 0, 0, false },
                { "\x01x\x02yz", 5, 2, false },
                { "\x01x\x02y", 4, 1, true },
                { "\x00", 1, 0, true },
                { "\xff\xff\xff\xff\xff\xff\xff\xff\xffx", 10, 0, true } };
    for (size_t i = 0; i < array_count(all); i++) {
        struct cursor c = cursor_of(bytes_of(all[i].body, all[i].size));
        struct bytes mutation;
        size_t count = 0;
        while (hints_body_next(&c, &mutation))
            count++;
        ck_assert_uint_eq(count, all[i].count);
        ck_assert_int_eq(c.bad, all[i].is_bad);
    }
}
END_TEST

START_TEST(every_reason_has_a_text)
{
    for (int i = 0; i < HINT_REFUSALS_COUNT; i++)
        ck_assert_uint_gt(strlen(hint_refusal_text((enum hint_refusal)i)), 2);
    for (int i = 0; i < HINT_DROPS_COUNT; i++)
        ck_assert_uint_gt(strlen(hint_drop_text((enum hint_drop)i)), 2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hints record");
    TCase *t = tcase_create("records");
    tcase_add_test(t, a_hint_comes_back);
    tcase_add_test(t, a_part_comes_back);
    tcase_add_test(t, a_mark_comes_back_with_its_tables);
    tcase_add_test(t, an_erase_comes_back);
    tcase_add_loop_test(t, damage_is_found_or_harmless, 0, 5);
    tcase_add_test(t, of_a_kind_that_is_not_known_is_newer);
    tcase_add_test(t, a_body_ends_at_its_end_or_is_bad);
    tcase_add_test(t, every_reason_has_a_text);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
