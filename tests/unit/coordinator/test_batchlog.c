/* test_batchlog.c - batches that are kept: forgotten, or written again when nobody forgets them;
 * across restarts and kills, within their bounds, and without what may not be written any more.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/batchlog_record.h"
#include "coordinator/inside.h"
#include "script_client.h"

#include <check.h>

static const uint64_t timeout_ns = 2000000000;
static struct batchlog *batchlog;
static bool has_table;
static uint32_t gc_grace_seconds;

static struct io *io(void) { return script.rig.nodes[0].shards[0].io; }

/* ---- an op that waits for one leaf ---- */

enum wait_for { OPEN, TAKE, ERASE, CLOSE };
static struct {
    struct op op;
    struct io_req req;
    enum wait_for what;
    struct bytes request;
    const struct uuid *table;
    uint64_t bytes_max;
    bool is_done;
} waiter;

static bool table_of(void *context, const struct uuid *id, struct batchlog_table *out)
{
    (void)context, (void)id;
    *out = (struct batchlog_table){ &script.keyspace, gc_grace_seconds };
    return has_table;
}

static struct op_next waiter_begin(struct op *op)
{
    struct batchlog_options options = { .io = io(),
                                        .cluster = script.rig.nodes[0].shards[0].cluster,
                                        .coordinator = script.coordinator,
                                        .folder = "/batchlog",
                                        .bytes_max = waiter.bytes_max,
                                        .timeout_ns = timeout_ns,
                                        .table = table_of };
    if (waiter.what == OPEN)
        batchlog_open(&waiter.req, op, &options, &batchlog);
    else if (waiter.what == TAKE)
        batchlog_take(batchlog, &waiter.req, op, waiter.request);
    else if (waiter.what == ERASE)
        batchlog_erase(batchlog, &waiter.req, op, waiter.table);
    else
        batchlog_close(&batchlog, &waiter.req, op);
    return op_wait(1);
}
static struct op_next waiter_end(struct op *op)
{
    if (waiter.req.busy)
        return op_wait(1);
    waiter.is_done = true;
    return op_end(op, OK);
}
static const struct op_state waiter_states[] = {
    { "begin", waiter_begin, TO(1) },
    { "end", waiter_end, TO(1) },
};

static enum err wait_for(enum wait_for what)
{
    waiter.what = what;
    waiter.is_done = false;
    op_start(&waiter.op, io_ops(io()), NULL, waiter_states, NULL);
    while (!waiter.is_done)
        ensure(sim_step(script.rig.sim));
    return waiter.req.err;
}

static void open_it(void)
{
    waiter.bytes_max = 1 << 20;
    ck_assert_int_eq(wait_for(OPEN), OK);
}

static void close_it(void)
{
    batchlog_stop(batchlog);
    while (!batchlog_idle(batchlog))
        ensure(sim_step(script.rig.sim));
    ck_assert_int_eq(wait_for(CLOSE), OK);
}

static void begin(uint64_t seed)
{
    script_begin(seed, 3, NULL, 0);
    has_table = true;
    gc_grace_seconds = 1000;
    open_it();
}

static void end(void)
{
    coordinator_stop(script.coordinator);
    close_it();
    script_end();
}

/* ---- words ---- */

static struct uuid id_of(uint64_t n) { return uuid_random(n, n); }

static void put_mutation(struct buf *b, const struct uuid *table, size_t filling)
{
    static uint8_t zeros[1 << 16];
    struct buf encoded = { 0 };
    struct mutation m = { .table = *table,
                          .key = bytes_of(zeros, filling ? filling : 1),
                          .deletion = (struct deletion){ 5, 1 } };
    mutation_encode(&m, &encoded);
    buf_put_sized(b, buf_bytes(&encoded));
    buf_deinit(&encoded);
}

/* A batch of so many mutations of the table with that number. */
static enum err keep(uint64_t n, size_t mutations, uint64_t table, size_t filling)
{
    struct buf b = { 0 };
    struct uuid id = id_of(n), t = id_of(table);
    batch_put_keep(&b, &id, io_wall(io()), mutations);
    for (size_t i = 0; i < mutations; i++)
        put_mutation(&b, &t, filling);
    waiter.request = buf_bytes(&b);
    enum err err = wait_for(TAKE);
    buf_deinit(&b);
    return err;
}

static void forget(uint64_t n)
{
    struct buf b = { 0 };
    struct uuid id = id_of(n);
    batch_put(&b, BATCH_FORGET, &id);
    waiter.request = buf_bytes(&b);
    ck_assert_int_eq(wait_for(TAKE), OK);
    buf_deinit(&b);
}

static void erase(uint64_t table)
{
    struct uuid id = id_of(table);
    waiter.table = &id;
    ck_assert_int_eq(wait_for(ERASE), OK);
}

static struct batchlog_counts counts(void)
{
    struct batchlog_counts c;
    batchlog_counts(batchlog, &c);
    return c;
}

static unsigned applied(void) { return script.applied[1] + script.applied[2] + script.applied[3]; }

static void pass(uint64_t seconds) { rig_pass(&script.rig, seconds * 1000000000); }

/* ---- tests ---- */

START_TEST(what_is_forgotten_is_not_written)
{
    begin(1);
    ck_assert_int_eq(keep(1, 2, 7, 0), OK);
    ck_assert_uint_eq(counts().pending, 1);
    ck_assert_uint_gt(counts().bytes, 0);
    forget(1);
    forget(2); /* of which nobody knows */
    ck_assert_uint_eq(counts().pending, 0);
    ck_assert_uint_eq(counts().bytes, 0);
    pass(10);
    ck_assert_uint_eq(applied(), 0);
    ck_assert_uint_eq(counts().forgotten, 1);
    close_it();
    open_it();
    ck_assert_uint_eq(counts().pending, 0);
    end();
}
END_TEST

START_TEST(what_nobody_forgets_is_written_once_after_twice_the_timeout)
{
    begin((uint64_t)_i + 1);
    ck_assert_int_eq(keep(1, 2, 7, 0), OK);
    ck_assert_int_eq(keep(1, 2, 7, 0), OK); /* a repetition */
    ck_assert_uint_eq(counts().pending, 1);
    pass(3);
    ck_assert_uint_eq(applied(), 0);
    pass(3);
    ck_assert_uint_eq(applied(), 6);
    ck_assert_uint_eq(counts().replayed, 1);
    ck_assert_uint_eq(counts().pending, 0);
    forget(1); /* late: nothing happens */
    ck_assert_uint_eq(counts().forgotten, 0);
    pass(20);
    ck_assert_uint_eq(applied(), 6);
    close_it();
    open_it();
    ck_assert_uint_eq(counts().pending, 0);
    end();
}
END_TEST

START_TEST(a_restart_keeps_what_was_kept)
{
    begin(1);
    for (uint64_t n = 1; n <= 3; n++)
        ck_assert_int_eq(keep(n, 1, 7, 0), OK);
    forget(2);
    close_it();
    open_it();
    ck_assert_uint_eq(counts().pending, 2);
    pass(10);
    ck_assert_uint_eq(applied(), 6);
    ck_assert_uint_eq(counts().replayed, 2);
    end();
}
END_TEST

START_TEST(nothing_that_may_not_be_written_is)
{
    begin(1);
    ck_assert_int_eq(keep(1, 2, 7, 0), OK);
    ck_assert_int_eq(keep(2, 1, 8, 0), OK);
    erase(8); /* TRUNCATE: only of what was kept before */
    ck_assert_uint_eq(counts().dropped, 1);
    ck_assert_int_eq(keep(3, 1, 8, 0), OK);
    close_it();
    open_it();
    ck_assert_uint_eq(counts().pending, 2);
    pass(10);
    ck_assert_uint_eq(applied(), 9);
    has_table = false; /* DROP */
    ck_assert_int_eq(keep(4, 2, 7, 0), OK);
    pass(10);
    has_table = true;
    gc_grace_seconds = 3; /* and it is older than that when it is due */
    ck_assert_int_eq(keep(5, 1, 7, 0), OK);
    pass(10);
    ck_assert_uint_eq(applied(), 9);
    ck_assert_uint_eq(counts().pending, 0);
    ck_assert_uint_eq(counts().dropped, 3 + 1); /* and once more when the journal was read */
    end();
}
END_TEST

START_TEST(an_erasure_takes_its_table_out_of_a_batch_and_leaves_the_rest)
{
    struct buf b = { 0 };
    struct uuid id = id_of(1), tables[] = { id_of(7), id_of(8), id_of(7), id_of(9) };
    begin(1);
    batch_put_keep(&b, &id, io_wall(io()), array_count(tables));
    for (size_t i = 0; i < array_count(tables); i++)
        put_mutation(&b, &tables[i], 10 * i);
    waiter.request = buf_bytes(&b);
    ck_assert_int_eq(wait_for(TAKE), OK);
    buf_deinit(&b);
    erase(7);
    pass(10);
    ck_assert_uint_eq(applied(), 6);
    ck_assert_uint_eq(counts().dropped, 2);
    end();
}
END_TEST

START_TEST(what_no_replica_takes_is_tried_again)
{
    begin(1);
    for (unsigned node = 1; node <= RIG_NODES; node++)
        script.does[node] = REFUSE;
    ck_assert_int_eq(keep(1, 1, 7, 0), OK);
    pass(6);
    ck_assert_uint_eq(counts().pending, 1);
    ck_assert_uint_eq(applied(), 3);
    pass(20);
    ck_assert_uint_gt(applied(), 3);
    ck_assert_uint_lt(applied(), 15); /* less and less often */
    for (unsigned node = 1; node <= RIG_NODES; node++)
        script.does[node] = OBEY;
    pass(60);
    ck_assert_uint_eq(counts().pending, 0);
    ck_assert_uint_eq(counts().replayed, 1);
    end();
}
END_TEST

START_TEST(too_much_and_nonsense_are_refused)
{
    begin(1);
    ck_assert_int_eq(keep(1, 40, 7, 60000), ERR_LIMIT);
    for (uint64_t n = 1; n <= 5; n++)
        ck_assert_int_eq(keep(n, 3, 7, 60000), OK);
    ck_assert_int_eq(keep(6, 3, 7, 60000), ERR_OVERLOADED);
    forget(1);
    ck_assert_int_eq(keep(6, 3, 7, 60000), OK);
    struct buf b = { 0 };
    struct uuid table = id_of(7);
    batch_put(&b, BATCH_ERASE, &table); /* nobody may ask that */
    waiter.request = buf_bytes(&b);
    ck_assert_int_eq(wait_for(TAKE), ERR_CORRUPT);
    waiter.request = bytes_text("what?");
    ck_assert_int_eq(wait_for(TAKE), ERR_CORRUPT);
    buf_deinit(&b);
    ck_assert_uint_eq(counts().pending, 5);
    batchlog_stop(batchlog);
    ck_assert_int_eq(keep(9, 1, 7, 0), ERR_STOPPED);
    end();
}
END_TEST

static uint64_t disk_bytes;
static void add_size(void *context, const char *path, uint64_t size)
{
    (void)context;
    if (strncmp(path, "/batchlog/", 10) == 0)
        disk_bytes += size;
}

START_TEST(a_batch_that_stays_does_not_hold_the_journal)
{
    begin(1);
    for (unsigned node = 1; node <= RIG_NODES; node++)
        script.does[node] = REFUSE;
    ck_assert_int_eq(keep(1, 1, 7, 0), OK);
    for (uint64_t n = 2; n < 200; n++) { /* 60 MB go through */
        ck_assert_int_eq(keep(n, 5, 7, 60000), OK);
        forget(n);
        rig_pass(&script.rig, script_ms); /* as a disk takes for so much */
    }
    ck_assert_uint_eq(counts().pending, 1);
    disk_bytes = 0;
    sim_files(script.rig.sim, 0, add_size, NULL);
    ck_assert_uint_gt(disk_bytes, 0);
    ck_assert_uint_le(disk_bytes, 9 * (uint64_t)BATCHLOG_SEGMENT_BYTES);
    close_it();
    for (unsigned node = 1; node <= RIG_NODES; node++)
        script.does[node] = OBEY;
    open_it();
    ck_assert_uint_eq(counts().pending, 1);
    pass(10);
    ck_assert_uint_eq(counts().replayed, 1);
    end();
}
END_TEST

/* A flipped bit costs what stands there, and never the start. */
START_TEST(a_damaged_journal_stops_no_start)
{
    begin(1);
    for (uint64_t n = 1; n <= 8; n++)
        ck_assert_int_eq(keep(n, 1, 7, 3000), OK);
    close_it();
    sim_file_flip(script.rig.sim, 0, "/batchlog/1.log", (uint64_t)(4096 * (_i + 1) + 500) * 8);
    open_it();
    ck_assert_uint_le(counts().pending, 8);
    pass(10);
    ck_assert_uint_eq(applied(), 3 * counts().replayed);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batchlog");
    TCase *tc = tcase_create("batchlog");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, what_is_forgotten_is_not_written);
    tcase_add_loop_test(tc, what_nobody_forgets_is_written_once_after_twice_the_timeout, 0, 10);
    tcase_add_test(tc, a_restart_keeps_what_was_kept);
    tcase_add_test(tc, nothing_that_may_not_be_written_is);
    tcase_add_test(tc, an_erasure_takes_its_table_out_of_a_batch_and_leaves_the_rest);
    tcase_add_test(tc, what_no_replica_takes_is_tried_again);
    tcase_add_test(tc, too_much_and_nonsense_are_refused);
    tcase_add_test(tc, a_batch_that_stays_does_not_hold_the_journal);
    tcase_add_loop_test(tc, a_damaged_journal_stops_no_start, 0, 8);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
