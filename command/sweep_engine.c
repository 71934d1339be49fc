/* sweep_engine.c - a store, its compactor, a stream of writes; looked at from stop to stop.
 *
 *     open ──> compactor ──> write ──> flush ──> flushed ──> settle ─┬──> write
 *                              ^                              │      └──> measure ──> write
 *                              └── next part                  │              │
 *                                          (the last stop) major <───────────┘
 *                                                             └──> measure ──> close ──> shut
 *
 * One shard that has the whole ring, as in a node of one shard and one node.  After each flush
 * everything that is due is compacted before the next write, so that a run is the same each time
 * and is what a node does that keeps up.  Whatever goes wrong leads to `close`.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/sweep_engine.h"

#include "base/mem.h"
#include "command/sweep_measure.h"
#include "command/tell.h"
#include "command/world.h"
#include "compaction/compaction.h"
#include "store/store.h"

#include <math.h>

enum { OPEN, COMPACTOR, WRITE, FLUSH, FLUSHED, SETTLE, MEASURED, MAJOR, CLOSE, SHUT };
enum { GROUP = 256, SEGMENT_BYTES = 32 << 20, TICK_NS = 100 * 1000 * 1000 };
static const uint64_t cache_bytes = 512 << 20, commitlog_bytes = UINT64_C(16) << 30;
static const uint64_t row_memory_bytes = 8192; /* of a memtable, more than any row of a stand */
static const int64_t first_timestamp = 1767225600000000; /* 2026 */

struct engine {
    struct op op;
    struct io *io;
    const struct sweep_engine_options *options;
    const struct sweep *sweep;
    struct sweep_row *out;
    struct report *why;   /* of err */
    struct report failed; /* of the request under way */

    struct catalog catalog;
    const struct table *table;
    struct stand_writer writer;
    char *commitlog, *data, *notes;
    struct store *store;
    struct compactor *compactor;
    struct io_req req, tick, stopping;
    unsigned stopped;
    enum err err; /* the first thing that went wrong */

    struct io_req writes[GROUP];
    struct buf mutations[GROUP];
    uint64_t flush;              /* the part that is written, from 0 */
    uint64_t first, count, done; /* of it */
    bool is_update, is_major;    /* is_major: compacted as a whole, at the end or for the floor */
    uint64_t generation;         /* the newest file before the flush */
    int64_t timestamp;
    struct compact_ask ask;
    struct sweep_measure measure;
};

static struct engine *engine_of(struct op *op) { return owner_of(op, struct engine, op); }

/* ---- what may go wrong, and being interrupted ---- */

static struct op_next engine_fail(struct engine *e, enum err err, const char *what)
{
    if (e->err == OK)
        e->err = report_set(e->why, err, "%.60s: %s%s%.250s", e->options->setting->name, what,
                            e->failed.text[0] ? ": " : "", e->failed.text);
    return op_goto(CLOSE);
}

/* Waits for the request; meanwhile looks now and then whether it has been interrupted: then what
 * compacts is stopped, so that no wait is long. */
static bool engine_waits(struct engine *e, const struct io_req *req)
{
    bool came = interrupt_came() && e->err == OK;
    if (came)
        e->err = report_set(e->why, ERR_STOPPED, "interrupted");
    if (came && e->compactor) {
        compactor_enable(e->compactor, NULL, false);
        compactor_stop(e->compactor, &e->stopping, &e->op, NULL, 0, &e->stopped);
    }
    if (came && op_running(&e->measure.op))
        op_stop(&e->measure.op, ERR_STOPPED);
    if (req->busy && !e->tick.busy)
        io_sleep(e->io, &e->tick, &e->op, TICK_NS);
    return req->busy;
}

/* ---- open ---- */

static bool owns_all(void *context, int64_t token)
{
    (void)context;
    return token != INT64_MIN;
}
static int shard_of(int64_t token, int shards)
{
    (void)token, (void)shards;
    return 0;
}
static void ranges_all(void *context, const struct table *table, struct arena *arena,
                       struct local_ranges *out)
{
    (void)context, (void)table;
    local_ranges_make(arena, NULL, 0, 1, out);
}
static uint64_t ranges_version(void *context)
{
    (void)context;
    return 1;
}

static struct op_next engine_open(struct op *op)
{
    struct engine *e = engine_of(op);
    const struct sweep *s = e->sweep;
    uint64_t part =
        u64_max(s->rows / s->load_flushes, s->update_flushes ? s->updates / s->update_flushes : 0);
    struct store_options options = {
        .commitlog_folder = e->commitlog,
        .data_folder = e->data,
        .commitlog_mode = JOURNAL_PERIODIC,
        .commitlog_period_ns = UINT64_C(1000) * 1000 * 1000,
        .segment_bytes = SEGMENT_BYTES,
        .commitlog_bytes_max = commitlog_bytes,
        .memtable_bytes = (64 << 20) + 4 * row_memory_bytes * (part + 1),
        .cache_bytes = cache_bytes,
        .version = SSTABLE_NB,
        .host = uuid_named(bytes_text("sweep")),
        .catalog = &e->catalog,
        .owns = owns_all,
        .shard_of = shard_of,
    };
    store_open(e->io, &e->req, op, &options, &e->store, &e->failed);
    return op_wait(COMPACTOR);
}

static struct op_next engine_compactor(struct op *op)
{
    struct engine *e = engine_of(op);
    if (engine_waits(e, &e->req))
        return op_wait(COMPACTOR);
    if (e->req.err)
        return engine_fail(e, e->req.err, "the store does not open");
    if (e->compactor) {
        if (e->options->is_floor)
            compactor_enable(e->compactor, NULL, false);
        return op_goto(WRITE);
    }
    store_settled(e->store);
    double mib = 1 << 20;
    uint64_t unit = (uint64_t)fmax(1, mib * e->sweep->scale);
    struct compactor_options options = {
        .store = e->store,
        .catalog = &e->catalog,
        .folder = e->notes,
        .at_once = 1,
        .memtable_bytes = 1 << 30,
        .scale = { .flush_floor_bytes = unit, .flush_round_bytes = unit },
        .ranges = ranges_all,
        .ranges_version = ranges_version,
    };
    compactor_open(e->io, &e->req, op, &options, &e->compactor, &e->failed);
    return op_wait(COMPACTOR);
}

/* ---- writes ---- */

static void write_start(struct engine *e, size_t slot)
{
    uint64_t i = e->first + e->done++;
    uint64_t row = e->is_update ? sweep_update_row(e->sweep, i) : i;
    struct buf *mutation = &e->mutations[slot];
    buf_clear(mutation);
    stand_put(&e->writer, row, e->is_update ? i + 1 : 0, e->timestamp++, mutation);
    store_apply(e->store, &e->writes[slot], &e->op, buf_bytes(mutation));
}

static struct op_next write_refused(struct engine *e, enum err err)
{
    const char *why = store_refusal(e->store);
    return engine_fail(e, err, why ? why : err_text(err));
}

static struct op_next engine_write(struct op *op)
{
    struct engine *e = engine_of(op);
    for (size_t i = 0; i < GROUP; i++)
        if (engine_waits(e, &e->writes[i]))
            return op_wait(WRITE);
    for (size_t i = 0; i < GROUP; i++)
        if (e->writes[i].err)
            return write_refused(e, e->writes[i].err);
    if (e->err)
        return op_goto(CLOSE);
    if (e->done == 0)
        e->is_update = sweep_part(e->sweep, e->flush, &e->first, &e->count);
    if (e->done == e->count)
        return op_goto(FLUSH);
    uint64_t before = e->done;
    for (size_t i = 0; i < GROUP && e->done < e->count; i++)
        write_start(e, i);
    e->options->wrote(e->options->context, e->done - before);
    return op_wait(WRITE);
}

/* ---- flushes, and what they set off ---- */

/* The newest generation, and the bytes of Data.db of files that are newer than the one given. */
static uint64_t files_newest(struct engine *e, uint64_t since, double *newer_bytes)
{
    struct store_file_list list;
    struct arena arena = { 0 };
    uint64_t newest = since;
    double bytes = 0;
    store_list_files(e->store, &e->table->id, &arena, &list);
    for (size_t i = 0; i < list.count; i++) {
        newest = u64_max(newest, list.files[i].name.generation);
        bytes += list.files[i].name.generation > since ? (double)list.files[i].data_bytes : 0;
    }
    store_files_done(&list);
    arena_deinit(&arena);
    if (newer_bytes)
        *newer_bytes = bytes;
    return newest;
}

static struct op_next engine_flush(struct op *op)
{
    struct engine *e = engine_of(op);
    e->generation = files_newest(e, 0, NULL);
    store_flush(e->store, &e->req, op, &e->table->id, &e->failed);
    return op_wait(FLUSHED);
}

static bool is_stop(const struct engine *e)
{
    for (size_t i = 0; i < e->sweep->stops_count; i++)
        if (e->sweep->stops[i] == e->flush)
            return true;
    return false;
}

static void major_start(struct engine *e)
{
    e->is_major = true;
    e->ask = (struct compact_ask){ .table = e->table->id };
    compactor_compact(e->compactor, &e->req, &e->op, &e->ask, &e->failed);
}

static struct op_next engine_flushed(struct op *op)
{
    struct engine *e = engine_of(op);
    struct store_counts counts;
    if (engine_waits(e, &e->req))
        return op_wait(FLUSHED);
    if (e->req.err)
        return engine_fail(e, e->req.err, "a flush failed");
    store_counts(e->store, &counts);
    if (counts.flushes != e->flush + 1)
        return engine_fail(e, ERR_LIMIT, "a memtable was flushed before its time");
    (void)files_newest(e, e->generation, &e->out->flush_bytes[e->flush]);
    e->out->flushes_count = ++e->flush;
    e->done = 0;
    if (e->options->is_floor && is_stop(e)) {
        major_start(e);
        return op_wait(MAJOR);
    }
    compactor_settle(e->compactor, &e->req, op);
    return op_wait(SETTLE);
}

static void measure_start(struct engine *e, struct sweep_figures *out)
{
    uint64_t first, count, rows = e->sweep->rows;
    if (e->flush < e->sweep->load_flushes) {
        (void)sweep_part(e->sweep, e->flush, &first, &count);
        rows = first;
    }
    e->measure = (struct sweep_measure){ .io = e->io,
                                         .store = e->store,
                                         .sweep = e->sweep,
                                         .writer = &e->writer,
                                         .rows = rows,
                                         .out = out,
                                         .failed = &e->failed };
    sweep_measure_start(&e->measure, &e->op);
}

static struct op_next engine_settle(struct op *op)
{
    struct engine *e = engine_of(op);
    struct compactor_counts counts;
    if (engine_waits(e, &e->req))
        return op_wait(SETTLE);
    if (e->err)
        return op_goto(CLOSE);
    compactor_counts(e->compactor, &counts);
    if (counts.failed || counts.refused_for_space || counts.reduced)
        return engine_fail(e, ERR_NO_SPACE, "a compaction failed, or had no space");
    if (!is_stop(e))
        return op_goto(WRITE);
    struct sweep_stops *stops = &e->out->measured;
    struct sweep_figures *at = &stops->at[stops->count];
    sweep_figures_unknown(at);
    at->flush = (double)e->flush;
    at->written_bytes = (double)compactor_written(e->compactor, &e->table->id);
    at->floor_bytes = e->options->floors[stops->count];
    measure_start(e, at);
    return op_wait(MEASURED);
}

static struct op_next engine_measured(struct op *op)
{
    struct engine *e = engine_of(op);
    struct sweep_stops *stops = &e->out->measured;
    struct sweep_figures *at = e->is_major ? &e->out->after_major : &stops->at[stops->count];
    struct io_req none = { .busy = op_running(&e->measure.op) };
    if (engine_waits(e, &none))
        return op_wait(MEASURED);
    if (e->measure.op.err)
        return engine_fail(e, e->measure.op.err, "the reads");
    at->rewrites_per_byte = at->written_bytes / at->floor_bytes;
    at->space_over_floor = at->data_bytes / at->floor_bytes;
    stops->count += !e->is_major;
    if (e->is_major)
        return op_goto(CLOSE);
    if (e->flush < sweep_flushes(e->sweep))
        return op_goto(WRITE);
    major_start(e);
    return op_wait(MAJOR);
}

/* Everything is one file a slice: the floor. */
static struct op_next engine_major(struct op *op)
{
    struct engine *e = engine_of(op);
    struct sweep_stops *stops = &e->out->measured;
    struct sweep_figures *after = &e->out->after_major;
    double bytes;
    if (engine_waits(e, &e->req))
        return op_wait(MAJOR);
    if (e->req.err)
        return engine_fail(e, e->req.err, "the major compaction");
    (void)files_newest(e, 0, &bytes);
    if (e->options->is_floor) {
        e->is_major = false;
        stops->at[stops->count++].floor_bytes = bytes;
        return op_goto(e->flush < sweep_flushes(e->sweep) ? WRITE : CLOSE);
    }
    sweep_figures_unknown(after);
    after->flush = (double)e->flush;
    after->written_bytes = (double)compactor_written(e->compactor, &e->table->id);
    after->floor_bytes = bytes;
    measure_start(e, after);
    return op_wait(MEASURED);
}

/* ---- the end ---- */

static struct op_next engine_close(struct op *op)
{
    struct engine *e = engine_of(op);
    for (size_t i = 0; i < GROUP; i++)
        if (e->writes[i].busy)
            return op_wait(CLOSE);
    if (e->req.busy || e->stopping.busy)
        return op_wait(CLOSE);
    if (e->compactor)
        compactor_close(&e->compactor, &e->req, op);
    else if (e->store)
        store_close(&e->store, &e->req, op);
    else
        return op_goto(SHUT);
    return op_wait(CLOSE);
}

static struct op_next engine_shut(struct op *op)
{
    struct engine *e = engine_of(op);
    io_cancel(e->io, &e->tick);
    if (e->tick.busy)
        return op_wait(SHUT);
    io_quit(e->io);
    return op_end(op, e->err);
}

static const struct op_state states[] = {
    [OPEN] = { "sweep open", engine_open, TO(COMPACTOR) },
    [COMPACTOR] = { "sweep compactor", engine_compactor, TO(COMPACTOR) | TO(WRITE) | TO(CLOSE) },
    [WRITE] = { "sweep write", engine_write, TO(WRITE) | TO(FLUSH) | TO(CLOSE) },
    [FLUSH] = { "sweep flush", engine_flush, TO(FLUSHED) },
    [FLUSHED] = { "sweep flushed", engine_flushed, TO(SETTLE) | TO(MAJOR) | TO(CLOSE) },
    [SETTLE] = { "sweep settle", engine_settle, TO(WRITE) | TO(MEASURED) | TO(CLOSE) },
    [MEASURED] = { "sweep measured", engine_measured, TO(WRITE) | TO(MAJOR) | TO(CLOSE) },
    [MAJOR] = { "sweep major", engine_major, TO(WRITE) | TO(MEASURED) | TO(CLOSE) },
    [CLOSE] = { "sweep close", engine_close, TO(CLOSE) | TO(SHUT) },
    [SHUT] = { "sweep shut", engine_shut, TO(SHUT) },
};

static void engine_start(struct io *io, void *arg)
{
    struct engine *e = arg;
    e->io = io;
    op_start(&e->op, io_ops(io), NULL, states, NULL);
}

enum err sweep_engine(const struct sweep_engine_options *options, struct arena *arena,
                      struct sweep_row *out, struct report *report)
{
    const struct sweep *s = options->sweep;
    struct engine *e = mem_zalloc(sizeof *e);
    *e = (struct engine){
        .options = options, .sweep = s, .out = out, .why = report, .timestamp = first_timestamp
    };
    report_clear(report);
    e->commitlog = arena_printf(arena, "%s/commitlog", options->folder);
    e->data = arena_printf(arena, "%s/data", options->folder);
    e->notes = arena_printf(arena, "%s/compaction", options->folder);
    *out = (struct sweep_row){ .name = options->setting->name };
    out->flush_bytes = arena_array(arena, double, sweep_flushes(s));
    enum err err = sweep_catalog(s, options->setting, &e->catalog, report);
    ensure(err == OK); /* it has been made before */
    e->table = catalog_table(&e->catalog, s->stand.keyspace, s->stand.table);
    stand_writer_init(&e->writer, &s->stand, options->setting->partition, e->table);
    stand_choose(&e->writer, s->chosen, s->chosen_count);
    world_run(engine_start, e);
    err = e->err;
    for (size_t i = 0; i < GROUP; i++)
        buf_deinit(&e->mutations[i]);
    catalog_deinit(&e->catalog);
    mem_free(e);
    out->is_measured = err == OK && !options->is_floor;
    sweep_stops_mean(&out->measured);
    return err;
}
