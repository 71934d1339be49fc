/* test_space.c - the reserves of a disk: a shard's own, and those of shards that are no more. */
// SPDX-License-Identifier: Apache-2.0
#include "stage.h"

#include <check.h>

enum { RESERVE_BYTES = 1 << 20 };

static struct stage s;

static void setup(void)
{
    stage_init(&s, 1);
    s.options.reserve_bytes = RESERVE_BYTES;
}
static void teardown(void) { stage_deinit(&s); }

static uint64_t bytes_of_file(const char *path)
{
    return sim_file(s.sim, SIM_CLIENT(0), path).size;
}

static void leave_file(const char *path, size_t size)
{
    uint8_t *zeros = mem_zalloc(size);
    sim_file_set(s.sim, SIM_CLIENT(0), path, 0, bytes_of(zeros, size));
    mem_free(zeros);
}

static enum err folder_remains(const char *path)
{
    struct io_req req = { 0 };
    struct io_stat stat;
    io_stat(s.io, &req, &s.op, path, &stat);
    return stage_wait(&s, &req);
}

START_TEST(reserves_of_shards_that_are_no_more_are_given_back_to_the_disk)
{
    leave_file("/data/reserve-0/reserve", 1000);
    leave_file("/data/reserve-1/reserve", 2000);
    leave_file("/data/reserve-12/reserve", 3000);
    leave_file("/data/reserve-01/reserve", 10);
    leave_file("/data/reserve-old/reserve", 20);
    leave_file("/data/reserve-3/somebody's", 30);
    ck_assert_int_eq(stage_open(&s), OK);
    ck_assert_uint_eq(bytes_of_file("/data/reserve-0/reserve"), RESERVE_BYTES);
    ck_assert_int_eq(folder_remains("/data/reserve-1"), ERR_NOT_FOUND);
    ck_assert_int_eq(folder_remains("/data/reserve-12"), ERR_NOT_FOUND);
    ck_assert_uint_eq(bytes_of_file("/data/reserve-01/reserve"), 10);
    ck_assert_uint_eq(bytes_of_file("/data/reserve-old/reserve"), 20);
    ck_assert_uint_eq(bytes_of_file("/data/reserve-3/somebody's"), 30);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("space");
    TCase *tcase = tcase_create("space");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, reserves_of_shards_that_are_no_more_are_given_back_to_the_disk);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
