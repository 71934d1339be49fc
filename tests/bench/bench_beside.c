/* bench_beside.c - what a compaction adds to reads, on a loop that nobody else takes time from.
 *
 *     (write a version, flush) x 4 ──> warm ──> alone ──> beside (a compaction of the four) ──┐
 *        ^                                                                                    │
 *        └────────────────────────────────── the next round ──────────────────────────────────┘
 *
 * One shard's store in the real world.  Reads of random rows are due at times that are drawn (a
 * Poisson process), so that they take 30% of what the loop could read; each is timed from when it
 * was due to when its row has been seen.  The loop never sleeps, and its clock is the processor
 * time of its own thread: so what other programs, other threads and other machines on this one take
 * is not in it, and what the loop itself does before it comes to a read is.  On a machine that is
 * shared, wall clocks show the others' 99th percentile (README.md).
 *
 * A read of a chunk that is not in the cache waits for a file, here as anywhere: what was due until
 * then is forgotten, and it is counted apart (`waits`).  Before the new file takes the place of the
 * old ones there are none.
 *
 * What it has not: sockets, requests and answers.
 *
 *     bench_beside [FOLDER] [ROWS] [ROUNDS]
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"
#include "base/mem.h"
#include "engine.h"
#include "engine_table.h"
#include "io/uv/uv.h"
#include "store/compact.h"
#include "store/inside.h"

#include <errno.h>
#include <math.h>

enum { OPEN, OPENED, WRITE, FLUSHED, WARM, WARM_SLOWLY, ALONE, BESIDE, SLOWLY, CLOSED };
enum { VERSIONS = 4, VALUE_BYTES = 100, READS_A_TURN = 64, ROUNDS_MAX = 99 };
enum { LOAD_PERCENT = 30, CALIBRATE = 50000 };
static const uint64_t alone_ns = 2000000000;

struct bench {
    struct op op;
    struct io *io;
    struct engine_setup setup;
    char commitlog[1024], data[1024];
    struct catalog catalog;
    struct table *table;
    struct store *store;
    struct report failed;
    struct io_req req, compacting;
    uint64_t version, done;
    struct io_req writes[ENGINE_GROUP];
    struct buf mutations[ENGINE_GROUP];

    struct prng prng;
    struct arena arena; /* of one read */
    struct read read;
    char key[ENGINE_KEY];
    struct read_sink sink;
    struct read_outcome outcome;

    uint64_t service_ns, began_ns, due_ns; /* by the loop's clock */
    struct histogram ns[2];                /* alone, beside */
    uint64_t waits;                        /* reads that had to wait for a file */
    int round, rounds;
    double p50_more[ROUNDS_MAX], p99_more[ROUNDS_MAX];

    struct arena compact_arena;
    struct compact_options compact;
    struct compact_output whole;
    struct compact_result result;
    uint64_t inputs[VERSIONS];
    bool is_compacting;
};

static struct bench *bench_of(struct op *op) { return owner_of(op, struct bench, op); }

static void must(const struct bench *b, enum err err)
{
    if (err == OK)
        return;
    fprintf(stderr, "bench_beside: %s: %s\n", err_text(err), b->failed.text);
    exit(1);
}

static uint64_t clock_ns(void) { return engine_ns(CLOCK_THREAD_CPUTIME_ID); }

/* ---- the store ---- */

static struct op_next bench_open(struct op *op)
{
    struct bench *b = bench_of(op);
    struct store_options options = { .commitlog_folder = b->commitlog,
                                     .data_folder = b->data,
                                     .commitlog_mode = JOURNAL_GROUP,
                                     .segment_bytes = 32 << 20,
                                     .memtable_bytes = UINT64_C(1) << 30,
                                     .cache_bytes = UINT64_C(1) << 30,
                                     .version = SSTABLE_NB,
                                     .tombstone_warn = 1000,
                                     .host = uuid_named(bytes_text("bench")),
                                     .catalog = &b->catalog,
                                     .owns = engine_owns,
                                     .shard_of = engine_shard };
    store_open(b->io, &b->req, op, &options, &b->store, &b->failed);
    return op_wait(OPENED);
}

static struct op_next bench_opened(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(OPENED);
    must(b, b->req.err);
    store_settled(b->store);
    return op_goto(WRITE);
}

static void put_row(struct bench *b, size_t slot, uint64_t row)
{
    char key[ENGINE_KEY];
    int64_t timestamp = 1700000000000000 + (int64_t)(b->version * b->setup.rows + row);
    struct cell cell = { .timestamp = timestamp,
                         .column = 1,
                         .value = engine_value(&b->setup, row, b->version) };
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
    buf_clear(&b->mutations[slot]);
    mutation_encode(&mutation, &b->mutations[slot]);
    store_apply(b->store, &b->writes[slot], &b->op, buf_bytes(&b->mutations[slot]));
}

static struct op_next bench_write(struct op *op)
{
    struct bench *b = bench_of(op);
    for (size_t i = 0; i < ENGINE_GROUP; i++) {
        if (b->writes[i].busy)
            return op_wait(WRITE);
        must(b, b->writes[i].err);
    }
    if (b->done == b->setup.rows) {
        store_flush(b->store, &b->req, op, NULL, &b->failed);
        return op_wait(FLUSHED);
    }
    for (size_t i = 0; i < ENGINE_GROUP && b->done < b->setup.rows; i++)
        put_row(b, i, b->done++);
    return op_wait(WRITE);
}

static size_t files_look(struct bench *b)
{
    struct store_file_list list;
    arena_reset(&b->compact_arena);
    store_list_files(b->store, &b->table->id, &b->compact_arena, &list);
    for (size_t i = 0; i < list.count && i < VERSIONS; i++)
        b->inputs[i] = list.files[i].name.generation;
    size_t count = list.count;
    store_files_done(&list);
    return count;
}

static struct op_next bench_flushed(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(FLUSHED);
    must(b, b->req.err);
    b->version++;
    b->done = 0;
    if (files_look(b) < VERSIONS)
        return op_goto(WRITE);
    return op_goto(WARM);
}

/* ---- reads ---- */

static void sink_partition(struct read_sink *sink, struct bytes key, int64_t token,
                           struct deletion deletion)
{
    (void)sink, (void)key, (void)token, (void)deletion;
}

static void sink_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    (void)sink;
    ensure(is_live && row->cells_count == 1);
}

static enum err read_row(struct bench *b, uint64_t row)
{
    engine_key(row, b->key);
    b->read = (struct read){ .table = b->table->id,
                             .key = bytes_of(b->key, sizeof b->key),
                             .rows_limit = 1,
                             .bytes_limit = 1 << 20,
                             .now_seconds = 1700000000 };
    b->read.token = key_token(b->read.key);
    arena_reset(&b->arena);
    return store_read(b->store, &b->read, &b->arena, &b->sink, &b->outcome);
}

static void read_slowly(struct bench *b)
{
    arena_reset(&b->arena);
    store_read_start(b->store, &b->req, &b->op, &b->read, &b->arena, &b->sink, &b->outcome);
}

/* What a read takes with nothing beside it. */
static void calibrate(struct bench *b)
{
    uint64_t began = clock_ns(), waits = 0;
    for (int i = 0; i < CALIBRATE; i++)
        waits += read_row(b, prng_below(&b->prng, b->setup.rows)) != OK;
    ensure(waits == 0);
    b->service_ns = (clock_ns() - began) / CALIBRATE;
}

/* Every chunk is in the cache after this. */
static struct op_next bench_warm(struct op *op)
{
    struct bench *b = bench_of(op);
    while (b->done < b->setup.rows) {
        enum err e = read_row(b, b->done++);
        if (e == ERR_WOULD_WAIT) {
            read_slowly(b);
            return op_wait(WARM_SLOWLY);
        }
        must(b, e);
    }
    calibrate(b);
    b->ns[0] = b->ns[1] = (struct histogram){ 0 };
    b->waits = 0;
    b->began_ns = b->due_ns = clock_ns();
    return op_goto(ALONE);
}

static struct op_next bench_warm_slowly(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(WARM_SLOWLY);
    must(b, b->req.err);
    return op_goto(WARM);
}

static void next_due(struct bench *b)
{
    double u = ((double)(prng_next(&b->prng) >> 11) + 1) / 9007199254740993.0;
    b->due_ns += (uint64_t)(-log(u) * (double)b->service_ns * 100 / LOAD_PERCENT);
}

/* What is due is read; false: one waits for a file. */
static bool read_due(struct bench *b)
{
    for (int i = 0; i < READS_A_TURN && b->due_ns <= clock_ns(); i++) {
        enum err e = read_row(b, prng_below(&b->prng, b->setup.rows));
        if (e == ERR_WOULD_WAIT) {
            b->waits++;
            read_slowly(b);
            return false;
        }
        must(b, e);
        histogram_add(&b->ns[b->is_compacting], clock_ns() - b->due_ns);
        next_due(b);
    }
    return true;
}

static struct op_next bench_slowly(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(SLOWLY);
    must(b, b->req.err);
    b->due_ns = clock_ns();
    return op_goto(b->is_compacting ? BESIDE : ALONE);
}

static struct op_next bench_alone(struct op *op)
{
    struct bench *b = bench_of(op);
    if (!read_due(b))
        return op_wait(SLOWLY);
    if (clock_ns() - b->began_ns < alone_ns)
        return op_yield(ALONE);
    b->whole = (struct compact_output){ .bytes = UINT64_MAX };
    b->compact = (struct compact_options){ .table = b->table->id,
                                           .inputs = b->inputs,
                                           .inputs_count = VERSIONS,
                                           .outputs = &b->whole,
                                           .outputs_count = 1,
                                           .purges = true,
                                           .now_seconds = 1800000000,
                                           .gc_before = 1790000000 };
    store_compact(b->store, &b->compacting, op, &b->compact, &b->compact_arena, &b->result,
                  &b->failed);
    b->is_compacting = true;
    return op_yield(BESIDE);
}

static double us(const struct histogram *h, double q)
{
    return (double)histogram_quantile(h, q) / 1000;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of, int count)
{
    qsort(of, (size_t)count, sizeof *of, by_value);
    return of[count / 2];
}

static void say(struct bench *b)
{
    const struct histogram *a = &b->ns[0], *c = &b->ns[1];
    if (b->round == 0)
        printf("reads   a read us  alone: p50   p99  p99.9  beside: p50   p99  p99.9   more: p50  "
               "  p99   waits  slices  too long\n");
    b->p50_more[b->round] = us(c, 0.5) - us(a, 0.5);
    b->p99_more[b->round] = us(c, 0.99) - us(a, 0.99);
    printf("%7lu %9.1f  %11.1f %5.1f %6.1f %12.1f %5.1f %6.1f %11.1f %6.1f %7lu %7lu %9lu\n",
           a->count + c->count, (double)b->service_ns / 1000, us(a, 0.5), us(a, 0.99), us(a, 0.999),
           us(c, 0.5), us(c, 0.99), us(c, 0.999), b->p50_more[b->round], b->p99_more[b->round],
           b->waits, b->result.slices, b->result.slices_over);
    fflush(stdout);
}

static struct op_next bench_beside(struct op *op)
{
    struct bench *b = bench_of(op);
    if (!read_due(b))
        return op_wait(SLOWLY);
    if (b->compacting.busy)
        return op_yield(BESIDE);
    must(b, b->compacting.err);
    say(b);
    b->is_compacting = false;
    b->done = 0;
    if (++b->round < b->rounds)
        return op_goto(WRITE);
    printf("%d rounds, medians: p50 %.1f us more, p99 %.1f us more\n", b->rounds,
           median(b->p50_more, b->rounds), median(b->p99_more, b->rounds));
    store_close(&b->store, &b->req, op);
    return op_wait(CLOSED);
}

static struct op_next bench_closed(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(CLOSED);
    io_quit(b->io);
    return op_end(op, OK);
}

static const struct op_state states[] = {
    [OPEN] = { "beside open", bench_open, TO(OPENED) },
    [OPENED] = { "beside opened", bench_opened, TO(WRITE) },
    [WRITE] = { "beside write", bench_write, TO(FLUSHED) },
    [FLUSHED] = { "beside flushed", bench_flushed, TO(WRITE) | TO(WARM) },
    [WARM] = { "beside warm", bench_warm, TO(WARM_SLOWLY) | TO(ALONE) },
    [WARM_SLOWLY] = { "beside warms slowly", bench_warm_slowly, TO(WARM) },
    [ALONE] = { "beside alone", bench_alone, TO(SLOWLY) | TO(BESIDE) },
    [BESIDE] = { "beside beside", bench_beside, TO(SLOWLY) | TO(WRITE) | TO(CLOSED) },
    [SLOWLY] = { "beside reads slowly", bench_slowly, TO(ALONE) | TO(BESIDE) },
    [CLOSED] = { "beside closed", bench_closed, 0 },
};

static void start(struct io *io, void *arg)
{
    struct bench *b = arg;
    b->io = io;
    op_start(&b->op, io_ops(io), NULL, states, NULL);
}

static int file_remove(const char *path, const struct stat *st, int kind, struct FTW *f)
{
    (void)st, (void)kind, (void)f;
    return remove(path);
}

int main(int argc, char **argv)
{
    struct bench *b = mem_zalloc(sizeof *b);
    char folder[512];
    snprintf(folder, sizeof folder, "%s/beside-XXXXXX", argc > 1 ? argv[1] : ".");
    if (!mkdtemp(folder)) {
        fprintf(stderr, "bench_beside: %s: %s\n", folder, strerror(errno));
        return 1;
    }
    b->setup = (struct engine_setup){ .folder = folder, .value_bytes = VALUE_BYTES };
    b->setup.rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
    b->rounds = argc > 3 ? atoi(argv[3]) : 5;
    if (b->setup.rows < 1000 || b->rounds < 1 || b->rounds > ROUNDS_MAX) {
        fprintf(stderr, "bench_beside [FOLDER] [ROWS] [ROUNDS]: 1,000 rows or more, 1 to 99\n");
        return 2;
    }
    engine_fill();
    b->prng = (struct prng){ 5 };
    b->sink = (struct read_sink){ sink_partition, sink_row, read_ignore_range };
    snprintf(b->commitlog, sizeof b->commitlog, "%s/commitlog", folder);
    snprintf(b->data, sizeof b->data, "%s/data", folder);
    b->table = engine_table("beside");
    catalog_init(&b->catalog);
    catalog_add_system(&b->catalog, b->table);
    uv_world_run(1, start, b);
    (void)nftw(folder, file_remove, 16, FTW_PHYS | FTW_DEPTH);
    for (size_t i = 0; i < ENGINE_GROUP; i++)
        buf_deinit(&b->mutations[i]);
    catalog_deinit(&b->catalog);
    arena_deinit(&b->arena);
    arena_deinit(&b->compact_arena);
    mem_free(b);
    return 0;
}
