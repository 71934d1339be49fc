/* test_arena.c - memory of one owner: alignment, growth, resets that allocate nothing. */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/mem.h"
#include "base/prng.h"

#include <check.h>

START_TEST(pieces_are_aligned_and_do_not_overlap)
{
    enum { PIECES = 2000 };
    struct arena a = { 0 };
    struct prng prng = { 9 };
    static uint8_t *pieces[PIECES];
    static size_t sizes[PIECES];
    bool ok = true;
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < PIECES; i++) {
            uint64_t power = prng_below(&prng, 14);
            sizes[i] = prng_below(&prng, (uint64_t)1 << power);
            pieces[i] = arena_alloc(&a, sizes[i]);
            ok = ok && (uintptr_t)pieces[i] % 16 == 0;
            memset(pieces[i], (int)(uint8_t)i, sizes[i]);
        }
        for (size_t i = 0; i < PIECES; i++)
            for (size_t j = 0; j < sizes[i]; j++)
                ok = ok && pieces[i][j] == (uint8_t)i;
        ck_assert(ok);
        arena_reset(&a);
        ck_assert_uint_eq(a.used_bytes, 0);
    }
    arena_deinit(&a);
}
END_TEST

START_TEST(a_warm_arena_takes_nothing_from_the_heap)
{
    struct arena a;
    arena_init(&a, 4096);
    arena_alloc(&a, 1);
    uint64_t calls = mem_calls();
    for (unsigned round = 0; round < 100; round++) {
        arena_reset(&a);
        for (unsigned i = 0; i < 40; i++)
            arena_zalloc(&a, 100 - i);
    }
    ck_assert_uint_eq(mem_calls(), calls);
    arena_deinit(&a);
}
END_TEST

START_TEST(a_large_piece_leaves_the_ordinary_block_open)
{
    struct arena a;
    arena_init(&a, 4096);
    uint8_t *small = arena_alloc(&a, 16);
    memset(arena_alloc(&a, 100000), 1, 100000);
    ck_assert_ptr_eq(arena_alloc(&a, 16), small + 16);
    arena_reset(&a);
    ck_assert_ptr_eq(arena_alloc(&a, 16), small);
    arena_deinit(&a);
}
END_TEST

START_TEST(the_newest_piece_can_be_extended)
{
    struct arena a;
    arena_init(&a, 4096);
    uint8_t *piece = arena_alloc(&a, 20);
    ck_assert(arena_extend(&a, piece, 20, 100));
    uint8_t *next = arena_alloc(&a, 1);
    ck_assert(next >= piece + 120);
    ck_assert(!arena_extend(&a, piece, 120, 1));
    ck_assert(!arena_extend(&a, next, 1, 4096));
    ck_assert(!arena_extend(&a, NULL, 0, 10));
    arena_deinit(&a);
}
END_TEST

START_TEST(copies_and_texts_last)
{
    struct arena a = { 0 };
    char source[] = "text";
    struct bytes copy = arena_copy(&a, bytes_of(source, 4));
    char *text = arena_text(&a, bytes_of(source, 3));
    char *made = arena_printf(&a, "%s-%d", source, 7);
    memset(source, 'x', 4);
    ck_assert(bytes_equal(copy, bytes_text("text")));
    ck_assert_str_eq(text, "tex");
    ck_assert_str_eq(made, "text-7");
    ck_assert_str_eq(arena_text(&a, (struct bytes){ 0 }), "");
    ck_assert_uint_eq(arena_copy(&a, (struct bytes){ 0 }).size, 0);
    arena_deinit(&a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("arena");
    TCase *t = tcase_create("arena");
    tcase_add_test(t, pieces_are_aligned_and_do_not_overlap);
    tcase_add_test(t, a_warm_arena_takes_nothing_from_the_heap);
    tcase_add_test(t, a_large_piece_leaves_the_ordinary_block_open);
    tcase_add_test(t, the_newest_piece_can_be_extended);
    tcase_add_test(t, copies_and_texts_last);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
