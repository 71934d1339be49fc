/* test_output.c - an SSTable on its way to disk: what is synced behind it, and what fails. */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/await.h"
#include "base/prng.h"
#include "props.h"
#include "store/output.h"

#include <check.h>

#define FOLDER "/data/t"
enum { MIB = 1024 * 1024, VALUE_BYTES = 60000, SYNC_BYTES = 8 * MIB };

static struct sim *s;
static struct io *node_io;
static struct asker a;
static struct table *table;
static struct output *output;
static uint64_t drained; /* of Data.db */
static int64_t token;

static void keep(struct io *io, void *arg)
{
    (void)arg;
    node_io = io;
}

static enum err done(void) { return await_alive(s, 0, &a.req); }

static void setup(void)
{
    s = sim_new(1, (struct sim_faults){ .disk_ns_max = 100000 });
    sim_file_set(s, 0, FOLDER "/x", 0, bytes_text("x"));
    sim_start(s, 0, 1, "10.0.0.1", keep, NULL);
    asker_init(&a, s, node_io);
    sim_act(a.io);
    table = stage_keyvalue("t");
    struct output_options options = { .folder = FOLDER, .generation = 1, .shards = 1 };
    options.writer = (struct sstable_writer_options){ .version = SSTABLE_NB,
                                                      .table = table,
                                                      .base = header_base_none(),
                                                      .keys = 1000,
                                                      .log_low = { .segment = -1 },
                                                      .log_high = { .segment = -1 } };
    drained = 0, token = 0;
    output_open(a.io, &a.req, &a.op, &options, &output);
    ck_assert_int_eq(done(), OK);
    sim_act(a.io);
}

static void teardown(void)
{
    table_unref(&table);
    sim_act(NULL);
    sim_free(s);
}

/* Partitions of what does not pack, until there is something to drain. */
static void feed(void)
{
    static uint8_t value[VALUE_BYTES];
    struct sstable_writer *w = output_writer(output);
    while (!output_is_full(output)) {
        struct prng prng = { (uint64_t)token };
        uint8_t key[8];
        for (size_t i = 0; i < sizeof value; i += 8)
            put_be64(value + i, prng_next(&prng));
        put_be64(key, (uint64_t)token);
        struct cell cell = { .timestamp = 1, .column = 1, .value = bytes_of(value, sizeof value) };
        struct row row = { .key = bytes_text("8"), .cells_count = 1, .cells = &cell };
        row.liveness = (struct liveness){ 1, 0, 0 };
        row.deletion = deletion_none();
        sstable_writer_partition(w, bytes_of(key, 8), token++, deletion_none());
        sstable_writer_row(w, &row);
        sstable_writer_partition_end(w);
    }
}

static bool crosses(void)
{
    uint64_t next = drained + sstable_writer_data(output_writer(output))->size;
    return drained / SYNC_BYTES != next / SYNC_BYTES;
}

static enum err drain(void)
{
    drained += sstable_writer_data(output_writer(output))->size;
    output_drain(output, &a.req, &a.op);
    enum err err = done();
    sim_act(a.io);
    return err;
}

static enum err abandon(void)
{
    output_abandon(&output, &a.req, &a.op);
    return done();
}

static void count(void *context, const char *path, uint64_t size)
{
    unsigned *files = context;
    (void)path, (void)size;
    ++*files;
}

static unsigned files(void)
{
    unsigned n = 0;
    sim_files(s, 0, count, &n);
    return n;
}

START_TEST(what_is_written_is_synced_every_8_mib_and_at_the_end)
{
    uint64_t syncs = io_counts(a.io)->syncs;
    unsigned crossings = 0;
    while (drained < 30 * MIB) {
        feed();
        crossings += crosses();
        ck_assert_int_eq(drain(), OK);
    }
    ck_assert_uint_eq(crossings, 3);
    uint64_t behind = io_counts(a.io)->syncs - syncs;
    ck_assert(behind >= 2 && behind <= 3); /* each may have had more than 8 MiB */
    output_finish(output, &a.req, &a.op);
    ck_assert_int_eq(done(), OK);
    ck_assert_uint_ge(io_counts(a.io)->syncs - syncs, behind + 8); /* all that there is */
    sim_act(a.io);
    ck_assert_uint_ge(output_data_bytes(output), drained);
    output_free(&output);
}
END_TEST

/* The sync fails behind the drain that began it. */
static void fail_behind(void)
{
    for (feed(); !crosses(); feed())
        ck_assert_int_eq(drain(), OK);
    uint64_t calls = sim_disk_calls(s, 0), syncs = io_counts(a.io)->syncs;
    ck_assert_uint_gt(sstable_writer_index(output_writer(output))->size, 0);
    sim_slow_file(s, 0, FOLDER "/nb-1-big-Data.db.tmp", 1000000000);
    sim_fail_disk(s, 0, 3, 1, ERR_IO); /* after both have been written */
    ck_assert_int_eq(drain(), OK);
    ck_assert_uint_eq(io_counts(a.io)->syncs - syncs, 1);
    ck_assert_uint_ge(sim_disk_calls(s, 0) - calls, 2);
}

START_TEST(a_sync_that_fails_behind_fails_the_next_drain)
{
    fail_behind();
    feed();
    enum err first = drain(); /* may have begun before it failed */
    feed();
    ck_assert(first == ERR_IO || drain() == ERR_IO);
    ck_assert_int_eq(abandon(), OK);
    ck_assert_uint_eq(files(), 1);
}
END_TEST

START_TEST(a_sync_that_fails_behind_fails_the_end)
{
    fail_behind();
    output_finish(output, &a.req, &a.op);
    ck_assert_int_eq(done(), ERR_IO);
    sim_act(a.io);
    ck_assert_int_eq(abandon(), OK);
    ck_assert_uint_eq(files(), 1);
}
END_TEST

START_TEST(it_can_be_abandoned_while_a_sync_is_under_way)
{
    for (feed(); !crosses(); feed())
        ck_assert_int_eq(drain(), OK);
    ck_assert_int_eq(drain(), OK);
    ck_assert_int_eq(abandon(), OK);
    ck_assert_uint_eq(files(), 1);
    ck_assert_uint_eq(sim_open_handles(s, 0), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output");
    TCase *t = tcase_create("output");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, what_is_written_is_synced_every_8_mib_and_at_the_end);
    tcase_add_test(t, a_sync_that_fails_behind_fails_the_next_drain);
    tcase_add_test(t, a_sync_that_fails_behind_fails_the_end);
    tcase_add_test(t, it_can_be_abandoned_while_a_sync_is_under_way);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
