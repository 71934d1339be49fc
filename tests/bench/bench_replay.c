/* bench_replay.c - a start: how fast a whole store is replayed from its commit log.
 *
 *     log ──> write ──> written ──> open (measured) ──> opened ──> closed ──> (the next case)
 *
 * Each record is a mutation of one row in a partition of its own, which is the dearest kind: the
 * log is read, checked, decoded and merged into memtables, and where those have no room for all of
 * it, flushed to files on the way.  Megabytes are the log's, as it is on the disk; a second of the
 * processor is one of all threads.  The log has just been written, so the page cache has it.
 *
 *     bench_replay [FOLDER] [MEGABYTES]
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "engine.h"
#include "engine_table.h"
#include "io/uv/uv.h"
#include "store/inside.h"

enum { BEGIN, LOG, WRITE, OPEN, OPENED, CLOSED };
enum { FLIGHT = 256, SEGMENT_BYTES = 32 << 20, MEGABYTE = 1 << 20 };

/* What is replayed, and for how much of it there is room. */
struct load {
    size_t value_bytes;
    unsigned memtable_percent; /* of the log */
};
static const struct load loads[] = { { 1024, 400 }, { 1024, 25 }, { 100, 600 }, { 100, 100 } };

struct bench {
    struct op op;
    struct io *io;
    struct engine_setup setup;
    uint64_t wanted_bytes, log_bytes, rows;
    char commitlog[300], folder[300], data[300];
    struct catalog catalog;
    struct table *table;
    struct journal *journal;
    struct store *store;
    struct report failed;
    struct io_req req, appends[FLIGHT];
    struct buf record;
    size_t load;
    struct engine_clock begun;
};

static struct bench *bench_of(struct op *op) { return owner_of(op, struct bench, op); }

/* ---- the log ---- */

static struct op_next bench_begin(struct op *op)
{
    struct bench *b = bench_of(op);
    struct journal_options options = { .folder = b->folder,
                                       .segment_bytes = SEGMENT_BYTES,
                                       .mode = JOURNAL_PERIODIC,
                                       .period_ns = 1000000000 };
    b->rows = 0;
    b->setup.value_bytes = loads[b->load].value_bytes;
    journal_open(b->io, &b->req, op, &options, &b->journal);
    return op_wait(LOG);
}

static void record_make(struct bench *b, uint64_t row)
{
    char key[ENGINE_KEY];
    int64_t timestamp = 1700000000000000 + (int64_t)row;
    struct cell cell = { .timestamp = timestamp,
                         .column = 1,
                         .value = engine_value(&b->setup, row, 0) };
    struct row of = { .key = bytes_text("8"),
                      .liveness = { .timestamp = timestamp },
                      .deletion = deletion_none(),
                      .cells_count = 1,
                      .cells = &cell };
    engine_key(row, key);
    struct mutation mutation = { .table = b->table->id,
                                 .key = bytes_of(key, sizeof key),
                                 .deletion = deletion_none(),
                                 .rows_count = 1,
                                 .rows = &of };
    buf_clear(&b->record);
    buf_put_u8(&b->record, RECORD_MUTATION);
    mutation_encode(&mutation, &b->record);
}

static struct op_next bench_log(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(LOG);
    ensure(b->req.err == OK);
    bool is_more = journal_counts(b->journal)->stored_bytes < b->wanted_bytes;
    unsigned busy = 0;
    for (unsigned i = 0; i < FLIGHT; i++) {
        if (!b->appends[i].busy && is_more) {
            ensure(b->appends[i].err == OK);
            record_make(b, b->rows++);
            journal_append(b->journal, &b->appends[i], op, buf_bytes(&b->record));
        }
        busy += b->appends[i].busy;
    }
    if (busy > 0)
        return op_wait(LOG);
    b->log_bytes = journal_counts(b->journal)->stored_bytes;
    journal_close(&b->journal, &b->req, op);
    return op_wait(WRITE);
}

/* ---- the start ---- */

static struct op_next bench_written(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(WRITE);
    ensure(b->req.err == OK);
    return op_goto(OPEN);
}

static struct op_next bench_open(struct op *op)
{
    struct bench *b = bench_of(op);
    struct store_options options = {
        .commitlog_folder = b->commitlog,
        .data_folder = b->data,
        .commitlog_mode = JOURNAL_GROUP,
        .segment_bytes = SEGMENT_BYTES,
        .memtable_bytes = b->log_bytes / 100 * loads[b->load].memtable_percent,
        .cache_bytes = 16 * (uint64_t)MEGABYTE,
        .version = SSTABLE_NB,
        .tombstone_warn = 1000,
        .host = uuid_named(bytes_text("bench")),
        .catalog = &b->catalog,
        .owns = engine_owns,
        .shard_of = engine_shard,
    };
    b->begun = engine_now(0);
    store_open(b->io, &b->req, op, &options, &b->store, &b->failed);
    return op_wait(OPENED);
}

static struct op_next bench_opened(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(OPENED);
    if (b->req.err) {
        fprintf(stderr, "%s: %s\n", err_text(b->req.err), b->failed.text);
        exit(1);
    }
    struct engine_clock now = engine_now(0);
    struct store_counts counts;
    store_counts(b->store, &counts);
    ensure(counts.replayed_mutations == b->rows);
    double mb = (double)b->log_bytes / 1e6;
    printf("replay of rows of %4zu bytes, room for %3u%% of the log: %5.0f MB a second, %5.0f a "
           "second of processor; %.0f ns a row, %llu flushes\n",
           loads[b->load].value_bytes, loads[b->load].memtable_percent,
           mb / ((double)(now.wall_ns - b->begun.wall_ns) / 1e9),
           mb / ((double)(now.cpu_ns - b->begun.cpu_ns) / 1e9),
           (double)(now.cpu_ns - b->begun.cpu_ns) / (double)b->rows,
           (unsigned long long)counts.flushes);
    fflush(stdout);
    store_close(&b->store, &b->req, op);
    return op_wait(CLOSED);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
    (void)st, (void)kind, (void)f;
    return remove(path);
}

static void remove_all(const struct bench *b)
{
    (void)nftw(b->commitlog, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)nftw(b->data, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct op_next bench_closed(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(CLOSED);
    remove_all(b);
    if (++b->load < array_count(loads))
        return op_goto(BEGIN);
    io_quit(b->io);
    return op_end(op, OK);
}

static const struct op_state states[] = {
    [BEGIN] = { "bench begin", bench_begin, TO(LOG) },
    [LOG] = { "bench log", bench_log, TO(WRITE) },
    [WRITE] = { "bench written", bench_written, TO(OPEN) },
    [OPEN] = { "bench open", bench_open, TO(OPENED) },
    [OPENED] = { "bench opened", bench_opened, TO(CLOSED) },
    [CLOSED] = { "bench closed", bench_closed, TO(BEGIN) },
};

static void start(struct io *io, void *arg)
{
    struct bench *b = arg;
    b->io = io;
    op_start(&b->op, io_ops(io), NULL, states, NULL);
}

int main(int argc, char **argv)
{
    struct bench *b = mem_zalloc(sizeof *b);
    const char *folder = argc > 1 ? argv[1] : ".";
    b->wanted_bytes = (argc > 2 ? strtoull(argv[2], NULL, 10) : 512) * MEGABYTE;
    ensure(b->wanted_bytes > 0);
    engine_fill();
    (void)snprintf(b->commitlog, sizeof b->commitlog, "%.200s/log.%d", folder, (int)getpid());
    (void)snprintf(b->folder, sizeof b->folder, "%.250s/0", b->commitlog);
    (void)snprintf(b->data, sizeof b->data, "%.200s/data.%d", folder, (int)getpid());
    b->table = engine_table("replay");
    catalog_init(&b->catalog);
    catalog_add_system(&b->catalog, b->table);
    ensure(mkdir(b->commitlog, 0700) == 0);
    uv_world_run(1, start, b);
    buf_deinit(&b->record);
    catalog_deinit(&b->catalog);
    mem_free(b);
    return 0;
}
