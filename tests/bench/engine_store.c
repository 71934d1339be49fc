/* engine_store.c - one shard's store in the real world, for `rondo bench engine`.
 *
 *     order ──> write ──> (all of them durable) ──┐
 *       ^ └──> flush ──────────────────────────────┤
 *       │ └──> read ──(would wait)──> read slowly ─┤
 *       │ └──> range ─(would wait)──> range slowly ┤
 *       └──────────────── answered <───────────────┘
 *
 * As a node has it: commit log in groups, LZ4 in chunks of 16 KiB, a filter for one false positive
 * in a hundred, flushes beside the writes, and everything on the loop of one thread but for the
 * system's calls that may block.  Between orders the loop goes on, so that a flush does too.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "engine.h"
#include "engine_table.h"
#include "io/uv/uv.h"
#include "store/cache.h"
#include "store/inside.h"

#include <poll.h>

enum { OPEN, OPENED, ORDER, WRITE, FLUSHED, READ, READ_SLOWLY, RANGE, RANGE_SLOWLY, CLOSED };
enum { LOOK_NS = 200 * 1000, SEGMENT_BYTES = 32 << 20, PAGE_BYTES = 1 << 20 };

struct bench {
    struct op op;
    struct io *io;
    struct engine_setup setup;
    char commitlog[1024], data[1024];
    struct catalog catalog;
    struct table *table;
    struct store *store;
    struct report failed;
    struct io_req req;
    struct engine_order order;
    struct engine_clock begun;
    uint64_t done; /* of the order */

    struct io_req writes[ENGINE_GROUP];
    struct buf mutations[ENGINE_GROUP];

    struct prng prng;
    struct arena arena; /* of one read */
    struct read read;
    char key[ENGINE_KEY];
    struct read_sink sink;
    struct read_outcome outcome;
    uint64_t seen_bytes;
};

static struct bench *bench_of(struct op *op) { return owner_of(op, struct bench, op); }

/* ---- the store ---- */

static struct op_next bench_open(struct op *op)
{
    struct bench *b = bench_of(op);
    struct store_options options = {
        .commitlog_folder = b->commitlog,
        .data_folder = b->data,
        .commitlog_mode = JOURNAL_GROUP,
        .segment_bytes = SEGMENT_BYTES,
        .commitlog_bytes_max = UINT64_C(8) << 30,
        .memtable_bytes = b->setup.memtable_bytes,
        .cache_bytes = b->setup.cache_bytes,
        .version = SSTABLE_NB,
        .tombstone_warn = 1000,
        .host = uuid_named(bytes_text("bench")),
        .catalog = &b->catalog,
        .owns = engine_owns,
        .shard_of = engine_shard,
    };
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
    store_settled(b->store);
    return op_goto(ORDER);
}

/* ---- orders ---- */

static struct op_next bench_answer(struct bench *b)
{
    engine_answer(&b->setup, b->done, &b->begun, mem_calls());
    return op_goto(ORDER);
}

static void caches_drop(struct bench *b)
{
    cache_drop(b->store->sstables.cache);
    engine_drop_pages(&b->setup);
}

static struct op_next order_begin(struct bench *b)
{
    const struct engine_order *o = &b->order;
    b->done = 0;
    b->begun = engine_now(mem_calls());
    b->prng = (struct prng){ engine_is(o, "read") ? o->c : o->b };
    if (engine_is(o, "write"))
        return op_goto(WRITE);
    if (engine_is(o, "read"))
        return op_goto(READ);
    if (engine_is(o, "range"))
        return op_goto(RANGE);
    if (engine_is(o, "drop")) {
        caches_drop(b);
        return bench_answer(b);
    }
    ensure(engine_is(o, "flush"));
    store_flush(b->store, &b->req, &b->op, NULL, &b->failed);
    return op_wait(FLUSHED);
}

static struct op_next bench_order(struct op *op)
{
    struct bench *b = bench_of(op);
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    char line[128];
    if (b->req.busy)
        return op_wait(ORDER);
    if (poll(&input, 1, 0) == 0) {
        io_sleep(b->io, &b->req, op, LOOK_NS);
        return op_wait(ORDER);
    }
    if (fgets(line, sizeof line, stdin) && engine_parse(line, &b->order))
        return order_begin(b);
    store_close(&b->store, &b->req, op);
    return op_wait(CLOSED);
}

static struct op_next bench_flushed(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(FLUSHED);
    ensure(b->req.err == OK);
    return bench_answer(b);
}

/* ---- writes ---- */

static void put_row(struct bench *b, size_t slot, uint64_t row)
{
    char key[ENGINE_KEY];
    int64_t timestamp = 1700000000000000 + (int64_t)(b->order.c * b->setup.rows + row);
    struct cell cell = { .timestamp = timestamp,
                         .column = 1,
                         .value = engine_value(&b->setup, row, b->order.c) };
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

/* One group after the other: each is durable before the next one begins, as a batch is. */
static struct op_next bench_write(struct op *op)
{
    struct bench *b = bench_of(op);
    for (size_t i = 0; i < ENGINE_GROUP; i++)
        if (b->writes[i].busy)
            return op_wait(WRITE);
    for (size_t i = 0; i < ENGINE_GROUP; i++)
        ensure(b->writes[i].err == OK);
    if (b->done == b->order.b)
        return bench_answer(b);
    for (size_t i = 0; i < ENGINE_GROUP && b->done < b->order.b; i++, b->done++)
        put_row(b, i, b->order.a + b->done);
    return op_wait(WRITE);
}

/* ---- reads ---- */

static void sink_partition(struct read_sink *sink, struct bytes key, int64_t token,
                           struct deletion deletion)
{
    (void)token, (void)deletion;
    owner_of(sink, struct bench, sink)->seen_bytes += key.size;
}

static void sink_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    ensure(is_live && row->cells_count == 1);
    owner_of(sink, struct bench, sink)->seen_bytes += row->cells[0].value.size;
}

static void read_next(struct bench *b)
{
    engine_key(prng_below(&b->prng, b->setup.rows), b->key);
    b->read = (struct read){ .table = b->table->id,
                             .key = bytes_of(b->key, sizeof b->key),
                             .rows_limit = 1,
                             .bytes_limit = PAGE_BYTES,
                             .now_seconds = 1700000000 };
    b->read.token = key_token(b->read.key);
}

static enum err read_now(struct bench *b)
{
    arena_reset(&b->arena);
    return store_read(b->store, &b->read, &b->arena, &b->sink, &b->outcome);
}

static void read_slowly(struct bench *b)
{
    arena_reset(&b->arena);
    store_read_start(b->store, &b->req, &b->op, &b->read, &b->arena, &b->sink, &b->outcome);
}

static struct op_next bench_read(struct op *op)
{
    struct bench *b = bench_of(op);
    while (b->done < b->order.a) {
        if (b->order.b != ENGINE_WARM)
            cache_drop(b->store->sstables.cache);
        read_next(b);
        b->done++;
        enum err e = read_now(b);
        if (e == ERR_WOULD_WAIT) {
            read_slowly(b);
            return op_wait(READ_SLOWLY);
        }
        ensure(e == OK && b->outcome.rows_count == 1);
    }
    return bench_answer(b);
}

static struct op_next bench_read_slowly(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(READ_SLOWLY);
    ensure(b->req.err == OK && b->outcome.rows_count == 1);
    return op_goto(READ);
}

static void range_next(struct bench *b)
{
    read_next(b);
    b->read.is_range = true;
    b->read.after = b->read.token - 1, b->read.upto = INT64_MAX;
    b->read.rows_limit = ENGINE_RANGE;
}

static struct op_next bench_range(struct op *op)
{
    struct bench *b = bench_of(op);
    while (b->done < b->order.a) {
        range_next(b);
        enum err e = read_now(b);
        if (e == ERR_WOULD_WAIT) {
            read_slowly(b);
            return op_wait(RANGE_SLOWLY);
        }
        ensure(e == OK && b->outcome.rows_count > 0);
        b->done += b->outcome.rows_count;
    }
    return bench_answer(b);
}

static struct op_next bench_range_slowly(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(RANGE_SLOWLY);
    ensure(b->req.err == OK && b->outcome.rows_count > 0);
    b->done += b->outcome.rows_count;
    return op_goto(RANGE);
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
    [OPEN] = { "engine open", bench_open, TO(OPENED) },
    [OPENED] = { "engine opened", bench_opened, TO(ORDER) },
    [ORDER] = { "engine order", bench_order,
                TO(WRITE) | TO(FLUSHED) | TO(READ) | TO(RANGE) | TO(CLOSED) },
    [WRITE] = { "engine write", bench_write, TO(ORDER) },
    [FLUSHED] = { "engine flushed", bench_flushed, TO(ORDER) },
    [READ] = { "engine read", bench_read, TO(ORDER) | TO(READ_SLOWLY) },
    [READ_SLOWLY] = { "engine reads slowly", bench_read_slowly, TO(READ) },
    [RANGE] = { "engine range", bench_range, TO(ORDER) | TO(RANGE_SLOWLY) },
    [RANGE_SLOWLY] = { "engine range slowly", bench_range_slowly, TO(RANGE) },
    [CLOSED] = { "engine closed", bench_closed, 0 },
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
    b->setup = engine_begin(argc, argv);
    b->sink = (struct read_sink){ sink_partition, sink_row, read_ignore_range };
    (void)snprintf(b->commitlog, sizeof b->commitlog, "%s/commitlog", b->setup.folder);
    (void)snprintf(b->data, sizeof b->data, "%s/data", b->setup.folder);
    setvbuf(stdin, NULL, _IONBF, 0); /* poll must see what has not been read */
    b->table = engine_table("engine");
    catalog_init(&b->catalog);
    catalog_add_system(&b->catalog, b->table);
    uv_world_run(1, start, b);
    for (size_t i = 0; i < ENGINE_GROUP; i++)
        buf_deinit(&b->mutations[i]);
    catalog_deinit(&b->catalog);
    arena_deinit(&b->arena);
    mem_free(b);
    return 0;
}
