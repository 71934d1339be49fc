/* test_errors.c - a disk that is slow with one file, that does not read one, or that opens no more
 * of them: whoever needs that file hears of it, or waits; nobody else does.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "stage.h"

#include <check.h>

enum { DISK = SIM_CLIENT(0), READS = 20 };
static const uint64_t second = 1000 * 1000 * 1000;

static struct stage stage;
static struct table *one, *two;
static char path[300]; /* of the first Data.db of table one */

static void put(const struct table *t, const char *key)
{
    struct buf bytes = { 0 };
    stage_put(t, key, 1, bytes_text(key), 1, &bytes);
    ck_assert_int_eq(stage_apply(&stage, buf_bytes(&bytes)), OK);
    buf_deinit(&bytes);
}

static void visit(void *context, const char *found, uint64_t size)
{
    (void)context, (void)size;
    if (strstr(found, "/one-") && strstr(found, "-Data.db") && !*path)
        snprintf(path, sizeof path, "%s", found);
}

/* "a" of table one is in the first file, "b" in the second; "c" of table two in another. */
static void setup(void)
{
    stage_init(&stage, 1);
    one = stage_keyvalue("one"), two = stage_keyvalue("two");
    catalog_add_system(&stage.catalog, one);
    catalog_add_system(&stage.catalog, two);
    ck_assert_int_eq(stage_open(&stage), OK);
    put(one, "a");
    ck_assert_int_eq(stage_flush(&stage, NULL), OK);
    *path = 0;
    sim_files(stage.sim, DISK, visit, NULL);
    ck_assert_str_ne(path, "");
    put(one, "b");
    put(two, "c");
    ck_assert_int_eq(stage_flush(&stage, NULL), OK);
}
static void teardown(void) { stage_deinit(&stage); }

static void drop_cache(void)
{
    struct io_req req = { 0 };
    store_drop_cache(stage.store, &req, &stage.op);
    ck_assert_int_eq(stage_wait(&stage, &req), OK);
}

/* A read that takes its time: the answer, and when it came. */
struct reader {
    struct io_req req;
    struct arena arena;
    struct read read;
    struct read_outcome outcome;
    struct stage_look look;
};
static void reader_begin(struct reader *r, const struct table *t, const char *key)
{
    *r = (struct reader){ .read = stage_read_of(t, key), .look = { .column = 1 } };
    r->look.sink = (struct read_sink){ stage_look_partition, stage_look_row, read_ignore_range };
    store_read_start(stage.store, &r->req, &stage.op, &r->read, &r->arena, &r->look.sink,
                     &r->outcome);
}
static enum err reader_end(struct reader *r)
{
    enum err e = stage_wait(&stage, &r->req);
    arena_deinit(&r->arena);
    buf_deinit(&r->look.value);
    return e;
}

static bool is_there(const struct table *t, const char *key)
{
    struct reader r;
    reader_begin(&r, t, key);
    return reader_end(&r) == OK && r.look.is_found;
}

/* The world goes on to the next event when a step has ended; with this there is always one soon. */
static struct ticker {
    struct op op;
    struct io_req req;
} ticker;
static struct op_next ticker_tick(struct op *op)
{
    if (ticker.req.busy && op->stop)
        io_cancel(stage.io, &ticker.req);
    if (ticker.req.busy)
        return op_wait(0);
    if (op->stop)
        return op_end(op, op->stop);
    io_sleep(stage.io, &ticker.req, op, 1000);
    return op_wait(0);
}
static const struct op_state ticking[] = { { "tick", ticker_tick, 0 } };
static void ticker_start(void)
{
    ticker = (struct ticker){ 0 };
    op_start(&ticker.op, io_ops(stage.io), NULL, ticking, NULL);
}
static void ticker_stop(void)
{
    op_stop(&ticker.op, ERR_STOPPED);
    while (op_running(&ticker.op))
        ck_assert(sim_step(stage.sim));
}

START_TEST(a_file_that_takes_five_seconds_delays_no_other_read)
{
    struct reader slow[READS];
    drop_cache();
    ticker_start();
    sim_slow_file(stage.sim, DISK, path, 5 * second);
    uint64_t begun = sim_now(stage.sim);
    for (int i = 0; i < READS; i++)
        reader_begin(&slow[i], one, "a");
    for (int i = 0; i < READS; i++) { /* another file of the table, another table; and writes */
        ck_assert(is_there(one, "b"));
        ck_assert(is_there(two, "c"));
        put(one, "d");
        ck_assert(is_there(one, "d"));
    }
    ck_assert_int_eq(stage_flush(&stage, two), OK);
    ck_assert_uint_lt(sim_now(stage.sim) - begun, second / 10);
    for (int i = 0; i < READS; i++)
        ck_assert(slow[i].req.busy);
    ticker_stop();
    for (int i = 0; i < READS; i++) {
        ck_assert_int_eq(reader_end(&slow[i]), OK);
        ck_assert(slow[i].look.is_found);
    }
    ck_assert_uint_ge(sim_now(stage.sim) - begun, 5 * second);
    sim_slow_file(stage.sim, DISK, path, 0);
}
END_TEST

START_TEST(a_read_that_the_disk_refuses_fails_alone_and_may_be_asked_again)
{
    struct reader r;
    drop_cache();
    sim_fail_disk(stage.sim, DISK, 1, SIM_FOR_EVER, ERR_IO);
    reader_begin(&r, one, "a");
    ck_assert_int_eq(reader_end(&r), ERR_IO);
    sim_fail_disk(stage.sim, DISK, 0, 0, OK);
    struct store_counts counts;
    store_counts(stage.store, &counts);
    ck_assert_uint_eq(counts.sstables_damaged, 0);
    ck_assert(is_there(one, "a"));
    ck_assert(is_there(two, "c"));
}
END_TEST

/* From the nth call on: once all of them are behind it, it starts. */
START_TEST(a_start_that_cannot_open_another_file_says_so)
{
    unsigned failed = 0, nth = 1;
    for (bool is_open = false; !is_open; nth++) {
        ck_assert_int_eq(stage_close(&stage), OK);
        report_clear(&stage.failed);
        sim_fail_disk(stage.sim, DISK, nth, SIM_FOR_EVER, ERR_FILES_LIMIT);
        enum err e = stage_open(&stage);
        sim_fail_disk(stage.sim, DISK, 0, 0, OK);
        is_open = e == OK;
        if (!is_open) {
            failed++;
            ck_assert_int_eq(e, ERR_FILES_LIMIT);
            ck_assert_ptr_nonnull(strstr(stage.failed.text, err_text(ERR_FILES_LIMIT)));
            ck_assert_ptr_nonnull(strchr(stage.failed.text, '/')); /* and which one */
            ck_assert_int_eq(stage_open(&stage), OK);
        }
        ck_assert(is_there(one, "a"));
        ck_assert(is_there(two, "c"));
    }
    ck_assert_uint_gt(failed, 20);
}
END_TEST

/* A flush makes a file and opens it; what it cannot open it opens later. */
START_TEST(a_flush_that_finds_too_many_open_files_comes_to_its_end_when_there_are_fewer)
{
    for (unsigned nth = 1; nth < 60; nth += 3) {
        put(one, "e");
        sim_fail_disk(stage.sim, DISK, nth, 40, ERR_FILES_LIMIT);
        enum err e = stage_flush(&stage, one);
        ck_assert(e == OK || e == ERR_FILES_LIMIT);
        if (e != OK)
            ck_assert_ptr_nonnull(strstr(stage.failed.text, err_text(ERR_FILES_LIMIT)));
        sim_fail_disk(stage.sim, DISK, 0, 0, OK);
        ck_assert(is_there(one, "e"));
        ck_assert_int_eq(stage_flush(&stage, one), OK);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store, with disks that fail");
    TCase *t = tcase_create("errors");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_file_that_takes_five_seconds_delays_no_other_read);
    tcase_add_test(t, a_read_that_the_disk_refuses_fails_alone_and_may_be_asked_again);
    tcase_add_test(t, a_start_that_cannot_open_another_file_says_so);
    tcase_add_test(t, a_flush_that_finds_too_many_open_files_comes_to_its_end_when_there_are_fewer);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
