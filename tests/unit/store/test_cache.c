/* test_cache.c - blocks stay within the budget, pinned ones stay, and a scan empties nothing. */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "store/cache.h"

#include <check.h>
#include <stdlib.h>

enum { BLOCK = 4096, OVERHEAD = 256 };

/* Reads a block through the cache; true: it was there. */
static bool read_block(struct cache *c, uint64_t file, uint64_t number)
{
    struct block *b = cache_get(c, file, number);
    bool was_there = b != NULL;
    if (!b) {
        b = cache_new_block(c, file, number, BLOCK);
        memset(b->data, (int)(number & 0xff), BLOCK);
        cache_put(c, b);
    }
    ck_assert_uint_eq(b->data[BLOCK - 1], number & 0xff);
    cache_unpin(c, &b);
    return was_there;
}

static struct cache_counts counts_of(const struct cache *c)
{
    struct cache_counts counts;
    cache_counts(c, &counts);
    return counts;
}

START_TEST(what_was_put_is_found)
{
    struct cache *c = cache_new(1 << 20);
    uint64_t file = cache_new_file(c);
    ck_assert(!read_block(c, file, 7));
    ck_assert(read_block(c, file, 7));
    ck_assert(!read_block(c, file, 8));
    ck_assert_uint_eq(counts_of(c).hits, 1);
    ck_assert_uint_eq(counts_of(c).misses, 2);
    cache_free(&c);
    ck_assert_ptr_null(c);
}
END_TEST

START_TEST(bytes_stay_within_the_budget)
{
    struct cache *c = cache_new(64 * BLOCK);
    uint64_t file = cache_new_file(c);
    struct prng r = { 4 };
    for (int i = 0; i < 20000; i++) {
        read_block(c, file, prng_below(&r, 300));
        ck_assert_uint_le(counts_of(c).bytes, 64 * BLOCK);
    }
    ck_assert_uint_gt(counts_of(c).evictions, 0);
    ck_assert_uint_gt(counts_of(c).blocks, 50);
    cache_free(&c);
}
END_TEST

START_TEST(a_scan_does_not_empty_the_cache)
{
    struct cache *c = cache_new(100 * (BLOCK + OVERHEAD));
    uint64_t hot = cache_new_file(c), cold = cache_new_file(c);
    for (int round = 0; round < 5; round++)
        for (uint64_t i = 0; i < 60; i++)
            read_block(c, hot, i);
    for (uint64_t i = 0; i < 5000; i++)
        read_block(c, cold, i);
    unsigned kept = 0;
    for (uint64_t i = 0; i < 60; i++)
        kept += read_block(c, hot, i);
    ck_assert_uint_ge(kept, 55);
    cache_free(&c);
}
END_TEST

START_TEST(a_block_that_comes_back_soon_is_kept)
{
    struct cache *c = cache_new(100 * (BLOCK + OVERHEAD));
    uint64_t file = cache_new_file(c);
    read_block(c, file, 1);
    for (uint64_t i = 1000; i < 1150; i++) /* pushes it out; its name stays */
        read_block(c, file, i);
    ck_assert(!read_block(c, file, 1));
    for (uint64_t i = 2000; i < 2060; i++)
        read_block(c, file, i);
    ck_assert(read_block(c, file, 1));
    cache_free(&c);
}
END_TEST

START_TEST(a_pinned_block_outlives_everything)
{
    struct cache *c = cache_new(4 * BLOCK);
    uint64_t file = cache_new_file(c), other = cache_new_file(c);
    struct block *b = cache_new_block(c, file, 1, BLOCK);
    memset(b->data, 0x5a, BLOCK);
    cache_put(c, b);
    for (uint64_t i = 0; i < 100; i++)
        read_block(c, other, i);
    ck_assert_uint_eq(b->data[17], 0x5a);
    cache_forget(c, file, 2); /* there is none */
    cache_forget(c, file, 1);
    ck_assert_uint_eq(b->data[17], 0x5a);
    ck_assert_ptr_null(cache_get(c, file, 1));
    cache_unpin(c, &b);
    ck_assert_ptr_null(b);
    cache_free(&c);
}
END_TEST

START_TEST(the_second_of_two_equal_blocks_serves_its_reader_only)
{
    struct cache *c = cache_new(1 << 20);
    uint64_t file = cache_new_file(c);
    struct block *a = cache_new_block(c, file, 1, BLOCK), *b = cache_new_block(c, file, 1, BLOCK);
    a->data[0] = 1, b->data[0] = 2;
    cache_put(c, a);
    cache_put(c, b);
    struct block *found = cache_get(c, file, 1);
    ck_assert_ptr_eq(found, a);
    ck_assert_uint_eq(counts_of(c).blocks, 1);
    cache_unpin(c, &found);
    cache_unpin(c, &a);
    cache_unpin(c, &b);
    cache_free(&c);
}
END_TEST

START_TEST(a_damaged_block_is_given_back)
{
    struct cache *c = cache_new(1 << 20);
    uint64_t file = cache_new_file(c);
    struct block *b = cache_new_block(c, file, 1, BLOCK);
    cache_cancel(c, &b);
    ck_assert_ptr_null(b);
    ck_assert_ptr_null(cache_get(c, file, 1));
    cache_free(&c);
}
END_TEST

START_TEST(all_can_be_dropped)
{
    struct cache *c = cache_new(1 << 20);
    uint64_t file = cache_new_file(c);
    for (uint64_t i = 0; i < 20; i++)
        read_block(c, file, i);
    cache_drop(c);
    ck_assert_uint_eq(counts_of(c).bytes, 0);
    ck_assert_uint_eq(counts_of(c).blocks, 0);
    ck_assert(!read_block(c, file, 3));
    cache_free(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache");
    TCase *c = tcase_create("cache");
    tcase_add_test(c, what_was_put_is_found);
    tcase_add_test(c, bytes_stay_within_the_budget);
    tcase_add_test(c, a_scan_does_not_empty_the_cache);
    tcase_add_test(c, a_block_that_comes_back_soon_is_kept);
    tcase_add_test(c, a_pinned_block_outlives_everything);
    tcase_add_test(c, the_second_of_two_equal_blocks_serves_its_reader_only);
    tcase_add_test(c, a_damaged_block_is_given_back);
    tcase_add_test(c, all_can_be_dropped);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
