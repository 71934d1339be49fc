/* test_reserve.c - space that is kept back: held, given up when the disk is full, taken again. */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/await.h"
#include "io/reserve.h"

#include <check.h>

enum { DISK = 1000000, WANTED = 100000 };

static struct io *node_io;
static struct asker a;
static struct sim *s;
static struct reserve r;

static void keep(struct io *io, void *arg)
{
    (void)arg;
    node_io = io;
}
static void boot(void)
{
    sim_start(s, 0, 1, "10.0.0.1", keep, NULL);
    asker_init(&a, s, node_io);
}
static void setup(void)
{
    s = sim_new(1, (struct sim_faults){ .disk_ns_max = 100000 });
    sim_file_set(s, 0, "/d/x", 0, bytes_text("x"));
    sim_disk_size(s, 0, DISK);
    boot();
}
static void teardown(void) { sim_free(s); }

static enum err open_it(void)
{
    reserve_open(&r, a.io, &a.req, &a.op, "/d", WANTED);
    return await(&a);
}
static enum err release(void)
{
    reserve_release(&r, &a.req, &a.op);
    return await(&a);
}
static enum err refill(void)
{
    reserve_refill(&r, &a.req, &a.op);
    return await(&a);
}
static enum err close_it(void)
{
    reserve_close(&r, &a.req, &a.op);
    return await(&a);
}
static size_t held(void)
{
    size_t size = sim_file(s, 0, "/d/reserve").size;
    ck_assert_uint_eq(reserve_bytes(&r), size);
    return size;
}
/* Others fill the disk up to so many bytes that are left. */
static void fill(uint64_t left)
{
    uint64_t free_bytes = 0;
    io_space(a.io, &a.req, &a.op, "/d", &free_bytes);
    ck_assert_int_eq(await(&a), OK);
    uint64_t others = sim_file(s, 0, "/d/others").size;
    sim_file_cut(s, 0, "/d/others", others + free_bytes - left);
}

START_TEST(it_is_held_given_up_and_taken_again)
{
    ck_assert_int_eq(open_it(), OK);
    ck_assert_uint_eq(held(), WANTED);
    fill(0);
    ck_assert_int_eq(refill(), OK); /* it has it */
    ck_assert_int_eq(release(), OK);
    ck_assert_uint_eq(held(), 0);
    ck_assert_int_eq(release(), OK);
    ck_assert_int_eq(refill(), ERR_NO_SPACE); /* that is for others now */
    ck_assert_uint_eq(held(), 0);
    fill(WANTED + WANTED / 2);
    ck_assert_int_eq(refill(), ERR_NO_SPACE);
    fill(2 * WANTED);
    ck_assert_int_eq(refill(), OK);
    ck_assert_uint_eq(held(), WANTED / 2);
    fill(4 * WANTED);
    ck_assert_int_eq(refill(), OK);
    ck_assert_uint_eq(held(), WANTED);
    ck_assert_int_eq(close_it(), OK);
    ck_assert_uint_eq(sim_open_handles(s, 0), 0);
}
END_TEST

START_TEST(a_start_takes_over_what_is_held)
{
    ck_assert_int_eq(open_it(), OK);
    ck_assert_int_eq(close_it(), OK);
    fill(0);
    ck_assert_int_eq(open_it(), OK);
    ck_assert_uint_eq(held(), WANTED);
    ck_assert_int_eq(release(), OK);
    ck_assert_int_eq(close_it(), OK);
}
END_TEST

/* A start with more shards wants less of each. */
START_TEST(one_that_was_larger_is_taken_again_as_it_is_wanted_now)
{
    ck_assert_int_eq(open_it(), OK);
    ck_assert_int_eq(close_it(), OK);
    reserve_open(&r, a.io, &a.req, &a.op, "/d", WANTED / 3);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_eq(held(), WANTED);
    ck_assert_int_eq(release(), OK);
    ck_assert_uint_eq(held(), 0);
    ck_assert_int_eq(refill(), OK);
    ck_assert_uint_eq(held(), WANTED / 3);
    ck_assert_int_eq(close_it(), OK);
}
END_TEST

START_TEST(a_small_or_full_disk_gives_what_is_decent)
{
    fill(1000);
    ck_assert_int_eq(open_it(), OK);
    ck_assert_uint_eq(held(), 250);
    ck_assert_int_eq(release(), OK);
    ck_assert_int_eq(close_it(), OK);
    fill(0);
    sim_file_cut(s, 0, "/d/reserve", 0);
    ck_assert_int_eq(open_it(), OK);
    ck_assert_uint_eq(held(), 0);
    fill(DISK / 2);
    ck_assert_int_eq(refill(), OK);
    ck_assert_uint_eq(held(), WANTED);
    ck_assert_int_eq(close_it(), OK);
}
END_TEST

/* Whatever call fails: it says so, or holds what it says; and a refill later mends it. */
START_TEST(whichever_call_fails_it_knows_what_it_holds)
{
    struct sim_walk walk = { .kind = SIM_WALK_ERRORS };
    do {
        teardown();
        setup();
        sim_walk_begin(&walk, s, 0, NULL);
        enum err err = open_it();
        if (err == OK) {
            (void)!release();
            (void)!refill();
        }
        sim_walk_end(&walk, s);
        if (err == OK) {
            ck_assert_int_eq(refill(), OK);
            ck_assert_msg(held() == WANTED, "%s", walk.what);
            ck_assert_int_eq(release(), OK);
            ck_assert_msg(held() == 0, "%s", walk.what);
        }
        ck_assert_int_eq(close_it(), OK);
        ck_assert_uint_eq(sim_open_handles(s, 0), 0);
    } while (sim_walk_next(&walk));
    ck_assert_uint_gt(walk.visited, 30);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reserve");
    TCase *t = tcase_create("reserve");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, it_is_held_given_up_and_taken_again);
    tcase_add_test(t, a_start_takes_over_what_is_held);
    tcase_add_test(t, one_that_was_larger_is_taken_again_as_it_is_wanted_now);
    tcase_add_test(t, a_small_or_full_disk_gives_what_is_decent);
    tcase_add_test(t, whichever_call_fails_it_knows_what_it_holds);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
