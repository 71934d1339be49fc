/* test_output.c - an SSTable on its way to disk: what is synced behind it, what fails, and where
 * its chunks are coded.
 */
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
static struct table_params params;
static struct output *output;
static uint64_t drained; /* of Data.db */
static int64_t token;

static void keep(struct io *io, void *arg)
{
    (void)arg;
    node_io = io;
}

static enum err done(void) { return await_alive(s, 0, &a.req); }

static void open_as(enum compressor kind, bool is_coded_apart)
{
    struct output_options options = { .folder = FOLDER, .generation = 1, .shards = 1 };
    options.writer = (struct sstable_writer_options){ .version = SSTABLE_NB,
                                                      .table = table,
                                                      .base = header_base_none(),
                                                      .keys = 1000,
                                                      .log_low = { .segment = -1 },
                                                      .log_high = { .segment = -1 },
                                                      .is_coded_apart = is_coded_apart };
    params = table_params_default;
    params.compression.kind = kind;
    table->params = &params;
    output_open(a.io, &a.req, &a.op, &options, &output);
    ck_assert_int_eq(done(), OK);
    sim_act(a.io);
}

static void setup(void)
{
    s = sim_new(1, (struct sim_faults){ .disk_ns_max = 100000 });
    sim_file_set(s, 0, FOLDER "/x", 0, bytes_text("x"));
    sim_start(s, 0, 1, "10.0.0.1", keep, NULL);
    asker_init(&a, s, node_io);
    sim_act(a.io);
    table = stage_keyvalue("t");
    drained = 0, token = 0;
    open_as(COMPRESSOR_LZ4, false);
}

static void teardown(void)
{
    table_unref(&table);
    sim_act(NULL);
    sim_free(s);
}

/* A partition of what does not pack. */
static void feed_one(void)
{
    static uint8_t value[VALUE_BYTES];
    struct sstable_writer *w = output_writer(output);
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

/* Until there is something to drain. */
static void feed(void)
{
    while (!output_is_full(output))
        feed_one();
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

static uint64_t coded(void) { return sstable_writer_data_bytes(output_writer(output)); }

static void open_apart(enum compressor kind)
{
    ck_assert_int_eq(abandon(), OK);
    sim_act(a.io);
    open_as(kind, true);
    feed_one();
    ck_assert_uint_eq(coded(), 0);
}

START_TEST(quick_chunks_are_coded_as_far_as_they_go_into_the_slice)
{
    struct slices slices = { .every = 1, .budget_ns = 50000, .code_ns = 1000000 };
    open_apart(COMPRESSOR_LZ4);
    ck_assert_int_eq(output_code(output, &slices, &a.req, &a.op), OP_YIELD);
    uint64_t one = coded();
    ck_assert(one > 0 && one < 20000); /* the first one always goes */
    slices.first = slices.done, slices.code_ns = 10000;
    ck_assert_int_eq(output_code(output, &slices, &a.req, &a.op), OP_GO);
    ck_assert(coded() > 2 * one && !sstable_writer_has_chunk(output_writer(output)));
    ck_assert_int_eq(output_code(output, &slices, &a.req, &a.op), OP_GO);
    ck_assert_int_eq(abandon(), OK);
}
END_TEST

START_TEST(slow_chunks_are_coded_by_a_worker_one_by_one)
{
    struct slices slices = { .every = 1, .budget_ns = 50000 };
    unsigned waits = 0;
    open_apart(COMPRESSOR_ZSTD);
    for (; output_code(output, &slices, &a.req, &a.op) == OP_WAIT; waits++) {
        uint64_t before = coded();
        ck_assert(a.req.busy);
        ck_assert_int_eq(done(), OK);
        sim_act(a.io);
        ck_assert_uint_gt(coded(), before);
    }
    ck_assert_uint_eq(waits, VALUE_BYTES / (16 * 1024));
    output_finish(output, &a.req, &a.op);
    ck_assert_int_eq(done(), OK);
    sim_act(a.io);
    output_free(&output);
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
    tcase_add_test(t, quick_chunks_are_coded_as_far_as_they_go_into_the_slice);
    tcase_add_test(t, slow_chunks_are_coded_by_a_worker_one_by_one);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
