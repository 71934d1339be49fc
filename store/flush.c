/* flush.c - a frozen memtable becomes an SSTable.
 *
 *     begin ──> open ──> walk ──> finish ──> swap ──> show ──> shown ──> ended
 *     (the folder,       │  ^                           ^        │
 *      once a table)     v  │                           │        v
 *                       drain                           └────── nap
 *     wherever it fails: ──> undo ──> ended
 *
 * Partitions, rows and markers go to the writer in slices of time, between requests; what it has
 * coded goes to disk when a quarter of a MiB waits.  The memtable is frozen, so places in it last.
 *
 * The file is opened before it is shown, and the memtable stays readable until then: so whatever
 * fails, the rows are there, in memory and in the commit log.  From the swap on the file is the
 * table's; if it cannot be opened (too many files), that is tried again, with pauses.
 *
 * Cells of columns that were dropped after they were written are left out by the writer: a file has
 * the columns that the table has.
 *
 * A table that is dropped, and a store that closes, end a flush before its swap; one that has begun
 * its swap comes to an end, and who drops the table waits for that.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "io/log.h"
#include "model/ranges.h"
#include "store/folder.h"
#include "store/inside.h"
#include "store/output.h"
#include "store/swap.h"

enum { BEGIN, OPEN, WALK, DRAIN, FINISH, SWAP, SHOW, SHOWN, NAP, UNDO, END };
enum { FEEDS_A_LOOK = 16 }; /* at the clock */
enum { ROW_PRICE_NS = 300, FOLDER_BITS = 15, SEGMENT_BITS = 48 };
static const uint64_t slice_busy_ns = 50000, slice_idle_ns = 500000, slice_opening_ns = 5000000;
static const uint64_t idle_after_ns = 10000000;
static const uint64_t retry_ns_min = 100000000, retry_ns_max = 60000000000;
static const uint64_t nap_ns = 100000000;

struct flush {
    struct op op;
    struct store *store;
    struct table_data *data;
    struct memtable_shared *memtable; /* counted */
    struct table *table;              /* counted: the columns of the file */
    struct io_req req;
    struct arena arena; /* as long as the flush: options, names */
    struct output_options options;
    struct output *output;
    struct btree_place at;             /* the partition that comes next or is under way */
    const struct partition *partition; /* under way */
    struct row_walk rows;
    struct ranges_walk ranges;
    bool has_ranges;
    unsigned fed;
    struct swap swap;
    struct sstable_open_options open;
    struct sstable *file;
    struct report failed;
    uint64_t began_ns, busy_ns, requests; /* when requests were last seen, and how many */
    enum err err;
};

static struct flush *flush_of(struct op *op) { return owner_of(op, struct flush, op); }

static struct op_next flush_fail(struct flush *f, enum err err)
{
    f->err = err;
    if (f->failed.err == OK)
        (void)report_set(&f->failed, err, "%s: %s", f->data->folder, err_text(err));
    return op_goto(UNDO);
}

/* It should end before its swap. */
static bool flush_is_over(const struct flush *f) { return f->op.stop || f->data->is_unwanted; }

/* ---- where it goes ---- */

static struct op_next flush_begin(struct op *op)
{
    struct flush *f = flush_of(op);
    f->began_ns = io_now(f->store->io);
    if (flush_is_over(f))
        return flush_fail(f, ERR_STOPPED);
    if (f->data->is_folder_made)
        return op_goto(OPEN);
    folder_make(f->store->io, &f->req, op, f->store->options.data_folder, f->data->folder);
    return op_wait(OPEN);
}

/* ---- what the writer is told ---- */

static struct header_base flush_base(const struct memtable *m)
{
    struct header_base base = header_base_none();
    if (m->minima.timestamp != INT64_MAX)
        base.timestamp = m->minima.timestamp;
    if (m->minima.deletion_seconds != UINT32_MAX)
        base.seconds = m->minima.deletion_seconds;
    if (m->minima.ttl != UINT32_MAX)
        base.ttl = m->minima.ttl;
    return base;
}

static struct log_position position_of(uint64_t folder, struct journal_position at)
{
    ensure(folder < 1u << FOLDER_BITS && at.segment < 1ull << SEGMENT_BITS);
    ensure(at.offset <= INT32_MAX);
    return (struct log_position){ .segment = (int64_t)(folder << SEGMENT_BITS | at.segment),
                                  .offset = (int32_t)at.offset };
}

static int position_order(struct log_position a, struct log_position b)
{
    if (a.segment != b.segment)
        return a.segment < b.segment ? -1 : 1;
    return (a.offset > b.offset) - (a.offset < b.offset);
}

static void flush_intervals(struct flush *f, struct sstable_writer_options *w)
{
    size_t n = f->memtable->spans_count;
    struct log_interval *intervals = arena_array(&f->arena, struct log_interval, n);
    w->log_low = w->log_high = (struct log_position){ .segment = -1 };
    for (size_t i = 0; i < n; i++) {
        const struct log_span *span = &f->memtable->spans[i];
        intervals[i].low = position_of(span->folder, span->first);
        intervals[i].high = position_of(span->folder, span->last);
        if (i == 0 || position_order(intervals[i].low, w->log_low) < 0)
            w->log_low = intervals[i].low;
        if (i == 0 || position_order(intervals[i].high, w->log_high) > 0)
            w->log_high = intervals[i].high;
    }
    w->log_intervals = intervals;
    w->log_intervals_count = n;
}

static struct op_next flush_open(struct op *op)
{
    struct flush *f = flush_of(op);
    struct store *s = f->store;
    if (f->req.busy)
        return op_wait(OPEN);
    if (f->req.err != OK)
        return flush_fail(f, f->req.err);
    f->data->is_folder_made = true;
    if (flush_is_over(f))
        return flush_fail(f, ERR_STOPPED);
    f->options = (struct output_options){
        .folder = f->data->folder,
        .generation = store_generation(s),
        .shards = (uint32_t)io_shards(s->io),
        .shard = (uint32_t)io_self(s->io),
        .writer = { .version = s->options.version,
                    .table = f->table,
                    .partitioner = PARTITIONER_MURMUR3,
                    .base = flush_base(&f->memtable->memtable),
                    .keys = f->memtable->memtable.partitions.count,
                    .column_index_bytes = s->options.column_index_bytes,
                    .has_host = true,
                    .host = s->options.host },
    };
    flush_intervals(f, &f->options.writer);
    output_open(s->io, &f->req, op, &f->options, &f->output);
    f->at = btree_first(&f->memtable->memtable.partitions);
    return op_wait(WALK);
}

/* ---- rows ---- */

static void flush_partition(struct flush *f)
{
    const struct partition *p = f->partition = btree_value(f->at);
    const struct ranges *ranges = partition_ranges(p);
    struct sstable_writer *w = output_writer(f->output);
    partition_look_ahead(f->at);
    f->has_ranges = ranges != NULL;
    f->rows = row_walk_from(p, (struct bytes){ 0 }, false);
    if (ranges)
        f->ranges = ranges_walk_from(ranges, (struct bytes){ 0 }, false);
    sstable_writer_partition(w, partition_key(p), partition_token(p), p->deletion);
    if (partition_static_row(p))
        sstable_writer_static(w, partition_static_row(p));
}

/* One row, marker, or begin or end of a partition. */
static void flush_feed(struct flush *f)
{
    struct sstable_writer *w = output_writer(f->output);
    io_charge(f->store->io, ROW_PRICE_NS);
    if (!f->partition) {
        flush_partition(f);
        return;
    }
    const struct row *row = row_walk_row(&f->rows);
    const struct marker *marker = f->has_ranges ? ranges_walk_marker(&f->ranges) : NULL;
    if (row && (!marker || bytes_compare(row->key, marker->key) < 0)) {
        sstable_writer_row(w, row);
        row_walk_next(&f->rows);
    } else if (marker) {
        sstable_writer_marker(w, marker);
        ranges_walk_next(&f->ranges);
    } else {
        sstable_writer_partition_end(w);
        f->partition = NULL;
        btree_forward(&f->at);
    }
}

/* Short while requests come in. */
static uint64_t flush_slice_ns(struct flush *f)
{
    struct store *s = f->store;
    uint64_t requests = s->counts.applied + s->counts.refused + s->counts.reads;
    if (s->is_opening)
        return slice_opening_ns;
    if (requests != f->requests)
        f->busy_ns = io_now(s->io);
    f->requests = requests;
    return io_now(s->io) - f->busy_ns < idle_after_ns ? slice_busy_ns : slice_idle_ns;
}

static struct op_next flush_walk(struct op *op)
{
    struct flush *f = flush_of(op);
    struct io *io = f->store->io;
    if (f->req.busy)
        return op_wait(WALK);
    if (f->req.err != OK)
        return flush_fail(f, f->req.err);
    if (flush_is_over(f))
        return flush_fail(f, ERR_STOPPED);
    uint64_t slice_ns = flush_slice_ns(f);
    while (btree_valid(f->at)) {
        if (output_is_full(f->output)) {
            output_drain(f->output, &f->req, op);
            return op_wait(DRAIN);
        }
        if (f->fed++ % FEEDS_A_LOOK == 0 && io_spent(io) >= slice_ns)
            return op_yield(WALK);
        flush_feed(f);
    }
    output_finish(f->output, &f->req, op);
    return op_wait(FINISH);
}

static struct op_next flush_drain(struct op *op)
{
    struct flush *f = flush_of(op);
    return f->req.busy ? op_wait(DRAIN) : op_goto(WALK);
}

/* ---- the file is there ---- */

static struct op_next flush_finish(struct op *op)
{
    struct flush *f = flush_of(op);
    if (f->req.busy)
        return op_wait(FINISH);
    if (f->req.err == ERR_NOT_FOUND && !flush_is_over(f)) { /* nothing was left to write */
        data_flushed(f->data, NULL);
        return op_goto(UNDO);
    }
    if (f->req.err != OK)
        return flush_fail(f, f->req.err);
    if (flush_is_over(f))
        return flush_fail(f, ERR_STOPPED);
    const char **names = arena_array(&f->arena, const char *, COMPONENT_COUNT);
    f->swap = (struct swap){ .folder = f->data->folder,
                             .generation = f->options.generation,
                             .adds_count = output_names(f->output, names),
                             .adds = names };
    swap_start(f->store->io, &f->req, op, &f->swap);
    return op_wait(SWAP);
}

static struct op_next flush_swap(struct op *op)
{
    struct flush *f = flush_of(op);
    if (f->req.busy)
        return op_wait(SWAP);
    if (f->req.err == ERR_STOPPED) { /* the next start decides: its files stay */
        output_free(&f->output);
        return flush_fail(f, ERR_STOPPED);
    }
    if (f->req.err != OK)
        return flush_fail(f, f->req.err);
    f->store->counts.flushes++;
    f->store->counts.flushed_bytes += output_bytes(f->output);
    f->open = (struct sstable_open_options){ .all = &f->store->sstables,
                                             .folder = f->data->folder,
                                             .name = output_name(f->output),
                                             .table = f->table };
    output_free(&f->output);
    return op_goto(SHOW);
}

static struct op_next flush_show(struct op *op)
{
    struct flush *f = flush_of(op);
    if (flush_is_over(f))
        return flush_fail(f, ERR_STOPPED);
    sstable_open(f->store->io, &f->req, op, &f->open, &f->file, &f->failed);
    return op_wait(SHOWN);
}

static struct op_next flush_shown(struct op *op)
{
    struct flush *f = flush_of(op);
    struct io *io = f->store->io;
    if (f->req.busy)
        return op_wait(SHOWN);
    if (f->req.err != OK) {
        if (f->file)
            sstable_unref(&f->file);
        log_note_rarely(io, retry_ns_max, LOG_ERROR, "flushed_not_opened", "reason=\"%s\"",
                        f->failed.text);
        report_clear(&f->failed);
        io_sleep(io, &f->req, op, nap_ns);
        return op_wait(NAP);
    }
    if (!f->data->is_unwanted)
        data_flushed(f->data, f->file);
    sstable_unref(&f->file);
    return op_goto(END);
}

static struct op_next flush_nap(struct op *op)
{
    struct flush *f = flush_of(op);
    if (f->req.busy && flush_is_over(f))
        io_cancel(f->store->io, &f->req);
    return f->req.busy ? op_wait(NAP) : op_goto(SHOW);
}

/* ---- ends ---- */

static struct op_next flush_undo(struct op *op)
{
    struct flush *f = flush_of(op);
    if (!f->output)
        return op_goto(END);
    output_abandon(&f->output, &f->req, op);
    return op_wait(END);
}

static struct op_next flush_end(struct op *op)
{
    struct flush *f = flush_of(op);
    return f->req.busy ? op_wait(END) : op_end(op, f->err);
}

static const struct op_state states[] = {
    [BEGIN] = { "flush begin", flush_begin, TO(OPEN) | TO(UNDO) },
    [OPEN] = { "flush open", flush_open, TO(WALK) | TO(UNDO) },
    [WALK] = { "flush walk", flush_walk, TO(DRAIN) | TO(FINISH) | TO(UNDO) },
    [DRAIN] = { "flush drain", flush_drain, TO(WALK) },
    [FINISH] = { "flush finish", flush_finish, TO(SWAP) | TO(UNDO) },
    [SWAP] = { "flush swap", flush_swap, TO(SHOW) | TO(UNDO) },
    [SHOW] = { "flush show", flush_show, TO(SHOWN) | TO(UNDO) },
    [SHOWN] = { "flush shown", flush_shown, TO(NAP) | TO(END) },
    [NAP] = { "flush nap", flush_nap, TO(SHOW) },
    [UNDO] = { "flush undo", flush_undo, TO(END) },
    [END] = { "flush end", flush_end, 0 },
};

static void flush_note(struct flush *f)
{
    struct table_data *d = f->data;
    struct store *s = f->store;
    if (f->err == OK) {
        d->failures = 0;
        d->retry_ns = 0;
        report_clear(&d->failed);
        report_clear(&s->flush_failed);
        log_note(s->io, LOG_INFO, "flushed", "folder=%s bytes=%llu ms=%llu", d->folder,
                 (unsigned long long)memtable_bytes(&f->memtable->memtable),
                 (unsigned long long)((io_now(s->io) - f->began_ns) / 1000000));
    } else if (f->err != ERR_STOPPED) {
        unsigned shift = d->failures < 10 ? d->failures : 10;
        d->failures++;
        s->counts.flush_failures++;
        d->retry_ns = io_now(s->io) + u64_min(retry_ns_min << shift, retry_ns_max);
        d->failed = s->flush_failed = f->failed;
        log_note(s->io, LOG_ERROR, "flush_failed", "reason=\"%s\" failures=%u", f->failed.text,
                 d->failures);
    }
}

static void flush_release(struct op *op)
{
    struct flush *f = flush_of(op);
    struct store *s = f->store;
    ensure(!f->req.busy && !f->output && !f->file);
    flush_note(f);
    f->data->flush = NULL;
    s->keeper.flushes_count--;
    list_each(l, &s->waiters) op_wake(owner_of(l, struct waiter, link)->op);
    memtable_shared_unref(&f->memtable);
    table_unref(&f->table);
    arena_deinit(&f->arena);
    mem_free(f);
    keeper_wake(s);
}

void flush_start(struct store *s, struct table_data *d)
{
    struct flush *f = mem_zalloc(sizeof *f);
    ensure(!d->flush && data_oldest(d) && !d->holds);
    f->store = s, f->data = d;
    f->memtable = data_oldest(d);
    memtable_shared_ref(f->memtable);
    f->table = d->table;
    table_ref(f->table);
    d->flush = f;
    s->keeper.flushes_count++;
    op_start_background(&f->op, io_ops(s->io), NULL, states, flush_release);
}

void flush_stop(struct table_data *d)
{
    if (d->flush)
        op_stop(&d->flush->op, ERR_STOPPED);
}
