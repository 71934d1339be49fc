/* test_compactor_notes.c - one entry of the history as bytes: there and back, cut, damaged. */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "compaction/compactor_notes.h"

#include <check.h>

static struct arena arena;
static struct buf bytes;

static void teardown(void)
{
    arena_deinit(&arena);
    buf_deinit(&bytes);
}

static struct compaction_past sample(void)
{
    struct compaction_past p = { .id = uuid_timed(17, 4),
                                 .keyspace = "shop",
                                 .table = "orders",
                                 .ended_ms = 1796068260370,
                                 .took_ms = 5192,
                                 .bytes_in = 10785376,
                                 .bytes_out = UINT64_MAX,
                                 .strategy = COMPACTION_UNIFIED,
                                 .level = -1,
                                 .reason = "level 0 has 5 overlapping files" };
    p.merged[1] = 10537;
    p.merged[COMPACT_MERGED_MAX - 1] = 3;
    return p;
}

START_TEST(it_comes_back_as_it_was)
{
    struct compaction_past p = sample(), back;
    notes_past_encode(&p, &bytes);
    ck_assert(notes_past_decode(buf_bytes(&bytes), &arena, &back));
    ck_assert(uuid_equal(&back.id, &p.id));
    ck_assert_str_eq(back.keyspace, p.keyspace);
    ck_assert_str_eq(back.table, p.table);
    ck_assert_str_eq(back.reason, p.reason);
    ck_assert_int_eq(back.ended_ms, p.ended_ms);
    ck_assert_uint_eq(back.took_ms, p.took_ms);
    ck_assert_uint_eq(back.bytes_in, p.bytes_in);
    ck_assert_uint_eq(back.bytes_out, p.bytes_out);
    ck_assert_int_eq(back.strategy, p.strategy);
    ck_assert_int_eq(back.level, p.level);
    ck_assert_mem_eq(back.merged, p.merged, sizeof p.merged);
}
END_TEST

START_TEST(a_part_of_it_is_none_and_more_is_none)
{
    struct compaction_past p = sample(), back;
    notes_past_encode(&p, &bytes);
    for (size_t n = 0; n < bytes.size; n++) {
        struct bytes cut = arena_copy(&arena, bytes_of(bytes.data, n)); /* its end is seen */
        ck_assert(!notes_past_decode(cut, &arena, &back));
    }
    buf_put_u8(&bytes, 0);
    ck_assert(!notes_past_decode(buf_bytes(&bytes), &arena, &back));
}
END_TEST

START_TEST(damage_is_refused_or_another_entry_that_holds)
{
    struct compaction_past p = sample(), back;
    size_t refused = 0;
    notes_past_encode(&p, &bytes);
    for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
        bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        bool is_taken = notes_past_decode(buf_bytes(&bytes), &arena, &back);
        ck_assert(!is_taken || (back.strategy <= COMPACTION_UNIFIED && back.level >= -1 &&
                                strlen(back.keyspace) <= bytes.size));
        refused += !is_taken;
        bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    ck_assert_uint_gt(refused, 50);
}
END_TEST

START_TEST(any_bytes_are_read_within_their_end)
{
    struct prng prng = { 7 };
    struct compaction_past back;
    for (size_t round = 0; round < 20000; round++) {
        size_t size = prng_below(&prng, 200);
        uint8_t *data = arena_alloc(&arena, size + 1);
        for (size_t i = 0; i < size; i++)
            data[i] = (uint8_t)(prng_next(&prng) >> prng_below(&prng, 60));
        (void)notes_past_decode(bytes_of(data, size), &arena, &back);
        arena_reset(&arena);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("compactor_notes");
    TCase *tc = tcase_create("compactor_notes");
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_test(tc, it_comes_back_as_it_was);
    tcase_add_test(tc, a_part_of_it_is_none_and_more_is_none);
    tcase_add_test(tc, damage_is_refused_or_another_entry_that_holds);
    tcase_add_test(tc, any_bytes_are_read_within_their_end);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
