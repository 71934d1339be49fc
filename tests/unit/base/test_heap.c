/* test_heap.c - least first. */
// SPDX-License-Identifier: Apache-2.0
#include "base/heap.h"
#include "base/prng.h"

#include <check.h>

static bool number_before(const void *a, const void *b)
{
    return *(const uint64_t *)a < *(const uint64_t *)b;
}

START_TEST(numbers_come_out_in_order)
{
    enum { COUNT = 3000 };
    static uint64_t numbers[COUNT];
    struct prng prng = { 4 };
    struct heap h;
    heap_init(&h, number_before);
    for (size_t i = 0; i < COUNT; i++) {
        numbers[i] = prng_below(&prng, 1000);
        heap_push(&h, &numbers[i]);
    }
    uint64_t before = 0;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t *first = heap_first(&h);
        ck_assert_ptr_eq(heap_pop(&h), first);
        ck_assert_uint_ge(*first, before);
        before = *first;
    }
    ck_assert_ptr_null(heap_pop(&h));
    ck_assert_ptr_null(heap_first(&h));
    heap_deinit(&h);
}
END_TEST

START_TEST(the_first_can_change_its_order_as_sources_of_a_merge_do)
{
    uint64_t sources[7], steps[7] = { 3, 5, 7, 11, 13, 17, 19 }, before = 0;
    struct heap h;
    heap_init(&h, number_before);
    for (size_t i = 0; i < 7; i++) {
        sources[i] = i;
        heap_push(&h, &sources[i]);
    }
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t *first = heap_first(&h);
        ck_assert_uint_ge(*first, before);
        before = *first;
        *first += steps[first - sources];
        heap_fix_first(&h);
    }
    heap_deinit(&h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("heap");
    TCase *t = tcase_create("heap");
    tcase_add_test(t, numbers_come_out_in_order);
    tcase_add_test(t, the_first_can_change_its_order_as_sources_of_a_merge_do);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
