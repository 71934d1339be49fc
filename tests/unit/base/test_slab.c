/* test_slab.c - pieces come back, do not overlap, and are counted. */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "base/slab.h"

#include <check.h>

START_TEST(a_class_is_large_enough_and_wastes_at_most_a_fifth)
{
    size_t before = 0;
    bool ok = true;
    for (size_t size = 0; size <= 100 * 1024; size++) {
        size_t bytes = slab_piece_bytes(size);
        ok = ok && bytes >= size && bytes >= before && bytes % 16 == 0;
        ok = ok && (bytes - size <= 16 || (bytes - size) * 5 <= bytes);
        ok = ok && slab_piece_bytes(bytes) == bytes;
        before = bytes;
    }
    ck_assert(ok);
}
END_TEST

START_TEST(a_released_piece_is_taken_again)
{
    struct slab s;
    slab_init(&s);
    void *a = slab_alloc(&s, 100);
    void *b = slab_alloc(&s, 100);
    ck_assert_ptr_ne(a, b);
    slab_release(&s, a, 100);
    size_t taken = s.taken_bytes;
    ck_assert_ptr_eq(slab_alloc(&s, 110), a);
    ck_assert_uint_eq(s.taken_bytes, taken);
    slab_deinit(&s);
    ck_assert(s.taken_bytes == 0 && s.used_bytes == 0);
}
END_TEST

START_TEST(replacing_rows_for_ever_takes_no_more_memory)
{
    enum { ROWS = 500 };
    struct slab s;
    struct prng prng = { 11 };
    void *rows[ROWS];
    size_t sizes[ROWS], taken = 0;
    bool ok = true;
    slab_init(&s);
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = slab_alloc(&s, sizes[i] = 40 + i % 60);
    for (unsigned step = 0; step < 100000; step++) {
        size_t i = prng_below(&prng, ROWS);
        size_t j = (i + 1 + prng_below(&prng, ROWS - 1)) % ROWS;
        slab_release(&s, rows[i], sizes[i]);
        slab_release(&s, rows[j], sizes[j]);
        size_t swap = sizes[i];
        sizes[i] = sizes[j], sizes[j] = swap;
        rows[i] = slab_alloc(&s, sizes[i]);
        rows[j] = slab_alloc(&s, sizes[j]);
        ok = ok && (taken == 0 || taken == s.taken_bytes);
        taken = s.taken_bytes;
    }
    ck_assert(ok);
    slab_deinit(&s);
}
END_TEST

START_TEST(a_large_piece_goes_back_to_the_heap)
{
    struct slab s;
    slab_init(&s);
    void *small = slab_alloc(&s, 16);
    size_t taken = s.taken_bytes;
    void *a = slab_alloc(&s, 100000), *b = slab_alloc(&s, 200000), *c = slab_alloc(&s, 32769);
    ck_assert_uint_gt(s.taken_bytes, taken + 300000);
    memset(b, 1, 200000);
    slab_release(&s, b, 200000);
    slab_release(&s, c, 32769);
    slab_release(&s, a, 100000);
    slab_release(&s, small, 16);
    ck_assert_uint_eq(s.taken_bytes, taken);
    ck_assert_uint_eq(s.used_bytes, 0);
    slab_deinit(&s);
}
END_TEST

START_TEST(pieces_do_not_overlap_and_are_counted)
{
    enum { PIECES = 400 };
    struct slab s;
    struct prng prng = { 5 };
    uint8_t *pieces[PIECES] = { 0 };
    size_t sizes[PIECES], used = 0;
    bool ok = true;
    slab_init(&s);
    for (unsigned step = 0; step < 20000; step++) {
        size_t i = prng_below(&prng, PIECES);
        if (pieces[i]) {
            for (size_t j = 0; j < sizes[i]; j += 7)
                ok = ok && pieces[i][j] == (uint8_t)i;
            slab_release(&s, pieces[i], sizes[i]);
            used -= slab_piece_bytes(sizes[i]);
        }
        uint64_t power = prng_below(&prng, 17);
        sizes[i] = prng_below(&prng, (uint64_t)1 << power);
        pieces[i] = slab_alloc(&s, sizes[i]);
        memset(pieces[i], (int)(uint8_t)i, sizes[i]);
        used += slab_piece_bytes(sizes[i]);
        ok = ok && (uintptr_t)pieces[i] % 16 == 0;
        ok = ok && s.used_bytes == used && s.used_bytes <= s.taken_bytes;
    }
    ck_assert(ok);
    slab_deinit(&s);
}
END_TEST

START_TEST(a_large_slab_grows_by_large_chunks)
{
    enum { PIECE = 30000, LARGE = 2 << 20, CHUNK = 256 << 10 };
    struct slab s;
    size_t before = 0, grown = 0;
    slab_init(&s);
    while (s.taken_bytes < 2 * LARGE) {
        before = s.taken_bytes;
        memset(slab_alloc(&s, PIECE), 7, PIECE);
        if (s.taken_bytes == before)
            continue;
        grown = s.taken_bytes - before;
        ck_assert(before < LARGE ? grown < 2 * PIECE + 8192 : grown == CHUNK);
    }
    ck_assert_uint_eq(grown, CHUNK);
    slab_deinit(&s);
    ck_assert_uint_eq(s.taken_bytes, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slab");
    TCase *t = tcase_create("slab");
    tcase_add_test(t, a_class_is_large_enough_and_wastes_at_most_a_fifth);
    tcase_add_test(t, a_released_piece_is_taken_again);
    tcase_add_test(t, replacing_rows_for_ever_takes_no_more_memory);
    tcase_add_test(t, a_large_piece_goes_back_to_the_heap);
    tcase_add_test(t, pieces_do_not_overlap_and_are_counted);
    tcase_add_test(t, a_large_slab_grows_by_large_chunks);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
