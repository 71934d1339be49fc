/* test_floor.c - floors as bytes and as an order: what is covered, and every damage is seen. */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "store/floor.h"

#include <check.h>

static struct arena arena;
static struct floor made, back;
static struct buf file;

static struct journal_position at(uint64_t segment, uint64_t offset)
{
    return (struct journal_position){ segment, offset };
}

static void setup(void)
{
    made = (struct floor){ 0 };
    floor_raise(&made, &arena, (struct floor_place){ 7, at(1764517246000, 4096) });
    floor_raise(&made, &arena, (struct floor_place){ 0, at(5, 64) });
    floor_raise(&made, &arena, (struct floor_place){ 2, at(9, 0) });
    floor_encode(&made, &file);
}
static void teardown(void)
{
    buf_deinit(&file);
    file = (struct buf){ 0 };
    arena_deinit(&arena);
}

START_TEST(it_covers_each_folder_up_to_its_place_and_no_other)
{
    ck_assert_uint_eq(made.count, 3);
    ck_assert(floor_covers(&made, 0, at(5, 64)) && floor_covers(&made, 0, at(4, 9999)));
    ck_assert(!floor_covers(&made, 0, at(5, 65)) && !floor_covers(&made, 0, at(6, 0)));
    ck_assert(floor_covers(&made, 7, at(1764517246000, 4096)));
    ck_assert(!floor_covers(&made, 1, at(0, 0)) && !floor_covers(&made, 8, at(0, 0)));
}
END_TEST

START_TEST(it_only_rises)
{
    floor_raise(&made, &arena, (struct floor_place){ 2, at(8, 999) });
    ck_assert(floor_covers(&made, 2, at(9, 0)));
    floor_raise(&made, &arena, (struct floor_place){ 2, at(9, 8) });
    ck_assert(floor_covers(&made, 2, at(9, 8)) && !floor_covers(&made, 2, at(9, 9)));
    ck_assert_uint_eq(made.count, 3);
}
END_TEST

START_TEST(it_reads_back_and_every_damage_is_seen)
{
    ck_assert_int_eq(floor_decode(buf_bytes(&file), &arena, &back), OK);
    ck_assert_uint_eq(back.count, made.count);
    for (size_t i = 0; i < made.count; i++)
        ck_assert(back.places[i].folder == made.places[i].folder &&
                  log_order(back.places[i].upto, made.places[i].upto) == 0);
    for (size_t size = 0; size < file.size; size++)
        ck_assert_int_eq(floor_decode(bytes_of(file.data, size), &arena, &back), ERR_CORRUPT);
    for (size_t bit = 0; bit < file.size * 8; bit++) {
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(floor_decode(buf_bytes(&file), &arena, &back), ERR_CORRUPT);
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}
END_TEST

START_TEST(its_name_is_a_number_and_nothing_else)
{
    static const char *const names[] = { "floor-.txt",
                                         "floor-1.tx",
                                         "floor-01.txt",
                                         "floor-x.txt",
                                         "floor-1.txt.tmp",
                                         "swap-1.txt",
                                         "floor-18446744073709551616.txt" };
    uint64_t number;
    for (size_t i = 0; i < array_count(names); i++)
        ck_assert(!floor_name_parse(names[i], &number));
    ck_assert(floor_name_parse("floor-18446744073709551615.txt", &number));
    ck_assert_uint_eq(number, UINT64_MAX);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("floors");
    TCase *t = tcase_create("floor");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, it_covers_each_folder_up_to_its_place_and_no_other);
    tcase_add_test(t, it_only_rises);
    tcase_add_test(t, it_reads_back_and_every_damage_is_seen);
    tcase_add_test(t, its_name_is_a_number_and_nothing_else);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
