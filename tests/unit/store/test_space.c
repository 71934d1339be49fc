/* test_space.c - the reserves of a disk: a shard's own, and those of shards that are no more; and
 * when a disk that was full takes writes again.
 */
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

static enum err put(const struct table *t, int value)
{
    struct buf m = { 0 };
    stage_put(t, "key", value, bytes_text("value"), 1, &m);
    enum err e = stage_apply(&s, buf_bytes(&m));
    buf_deinit(&m);
    return e;
}

static void sleep_seconds(uint64_t seconds)
{
    struct io_req nap = { 0 };
    io_sleep(s.io, &nap, &s.op, seconds * 1000000000);
    ck_assert_int_eq(stage_wait(&s, &nap), OK);
}

static uint64_t flush_failures(void)
{
    struct store_counts c;
    store_counts(s.store, &c);
    return c.flush_failures;
}

/* A flush that fails is tried again later and later, but on a full disk writes wait for it. */
START_TEST(a_disk_that_was_full_for_long_takes_writes_soon_after)
{
    struct table *table = stage_keyvalue("first");
    struct report failed = { 0 };
    struct io_req flush = { 0 };
    catalog_add_system(&s.catalog, table);
    ck_assert_int_eq(stage_open(&s), OK);
    ck_assert_int_eq(put(table, 1), OK);
    sim_disk_size(s.sim, SIM_CLIENT(0), 1);
    store_flush(s.store, &flush, &s.op, &table->id, &failed);
    ck_assert_int_ne(stage_wait(&s, &flush), OK);
    sleep_seconds(200);
    ck_assert_uint_gt(flush_failures(), 30);
    ck_assert_int_eq(put(table, 2), ERR_OVERLOADED);
    sim_disk_size(s.sim, SIM_CLIENT(0), 1ull << 40);
    sleep_seconds(7);
    ck_assert_int_eq(put(table, 3), OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("space");
    TCase *tcase = tcase_create("space");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, reserves_of_shards_that_are_no_more_are_given_back_to_the_disk);
    tcase_add_test(tcase, a_disk_that_was_full_for_long_takes_writes_soon_after);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
