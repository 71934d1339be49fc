/* flush.c - a frozen memtable becomes one SSTable, or several.
 *
 *     begin ──> open ──> walk <──> (a file opened, drained, finished) ──> placed ──> ended
 *     (the folder, once a table)
 *     wherever it fails: ──> undo ──> ended
 *
 * Partitions, rows and markers go to the writer in slices of time, between requests; what it has
 * coded goes to disk when a quarter of a MiB waits.  The memtable is frozen, so places in it last.
 * Where the policy says so (store_set_policy) it is cut, and one swap names all the files.
 *
 * Files are opened before they are shown, and the memtable stays readable until then: so whatever
 * fails, the rows are there, in memory and in the commit log.  From the swap on the files are the
 * table's (outputs.h).
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
#include "store/intervals.h"
#include "store/outputs.h"
#include "store/slice.h"

enum { BEGIN, OPEN, WALK, PLACED, UNDO, END };
enum { FEEDS_A_LOOK = 16 }; /* at the clock */
enum { ROW_PRICE_NS = 300, KEYS_MORE = 64 };
static const uint64_t retry_ns_min = 100000000, retry_ns_max = 60000000000;
static const uint64_t retry_full_ns = 5000000000; /* a full disk: writes wait for space to come */

struct flush {
    struct op op;
    struct store *store;
    struct table_data *data;
    struct memtable_shared *memtable; /* counted */
    struct table *table;              /* counted: the columns of the files */
    struct io_req req;
    struct arena arena; /* as long as the flush: options, names */
    struct sstable_writer_options writer;
    struct outputs outputs;
    const int64_t *cuts;
    size_t cuts_count, cut_at;
    struct btree_place at;             /* the partition that comes next or is under way */
    const struct partition *partition; /* under way */
    struct row_walk rows;
    struct ranges_walk ranges;
    bool has_ranges;
    struct slices slices;
    struct report failed;
    uint64_t began_ns;
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

/* Rather a few too many keys for the filter than too few. */
static uint64_t keys_a_file(const struct flush *f)
{
    uint64_t keys = f->memtable->memtable.partitions.count, files = f->cuts_count + 1;
    return files == 1 ? keys : u64_min(keys, keys / files + keys / files / 8 + KEYS_MORE);
}

static struct op_next flush_open(struct op *op)
{
    struct flush *f = flush_of(op);
    const struct store_policy *policy = &f->store->policy;
    if (f->req.busy)
        return op_wait(OPEN);
    if (f->req.err != OK)
        return flush_fail(f, f->req.err);
    f->data->is_folder_made = true;
    if (policy->flush_cuts)
        f->cuts_count = policy->flush_cuts(policy->context, f->table, &f->arena, &f->cuts);
    f->writer = (struct sstable_writer_options){ .base = flush_base(&f->memtable->memtable),
                                                 .keys = keys_a_file(f) };
    spans_tell(f->memtable->spans, f->memtable->spans_count, &f->arena, &f->writer);
    f->at = btree_first(&f->memtable->memtable.partitions);
    return op_goto(WALK);
}

/* ---- rows ---- */

static void flush_partition(struct flush *f)
{
    const struct partition *p = f->partition = btree_value(f->at);
    const struct ranges *ranges = partition_ranges(p);
    struct sstable_writer *w = output_writer(f->outputs.output);
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
    struct sstable_writer *w = output_writer(f->outputs.output);
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

/* Is the next partition behind a cut?  Cuts that are passed with it are done. */
static bool flush_passes_cut(struct flush *f)
{
    int64_t token = partition_token(btree_value(f->at));
    size_t before = f->cut_at;
    while (f->cut_at < f->cuts_count && f->cuts[f->cut_at] < token)
        f->cut_at++;
    return f->cut_at > before;
}

/* Between two partitions a file may have to end or to begin: true, and that has been started. */
static bool flush_turns(struct flush *f)
{
    struct outputs *o = &f->outputs;
    bool is_end = !btree_valid(f->at);
    if (o->output && (is_end || flush_passes_cut(f)))
        outputs_finish(o, &f->req, &f->op);
    else if (!o->output && !is_end)
        outputs_open(o, &f->req, &f->op, &f->writer);
    else
        return false;
    return true;
}

/* Goes on until something has to be waited for, the slice is over, or all is written. */
static struct op_next flush_feed_on(struct flush *f)
{
    struct outputs *o = &f->outputs;
    for (;;) {
        if (!f->partition && flush_turns(f))
            return op_wait(WALK);
        if (!o->output)
            break;
        if (output_is_full(o->output)) {
            output_drain(o->output, &f->req, &f->op);
            return op_wait(WALK);
        }
        enum op_how how = output_code(o->output, &f->slices, &f->req, &f->op);
        if (how != OP_GO)
            return (struct op_next){ WALK, (uint8_t)how };
        if (slice_is_over(&f->slices, f->store))
            return op_yield(WALK);
        flush_feed(f);
    }
    if (outputs_count(o) == 0) { /* nothing was left to write */
        data_flushed(f->data, NULL, 0);
        return op_goto(END);
    }
    outputs_place(o, &f->req, &f->op);
    return op_wait(PLACED);
}

static struct op_next flush_walk(struct op *op)
{
    struct flush *f = flush_of(op);
    if (f->req.busy)
        return op_wait(WALK);
    if (f->req.err != OK)
        return flush_fail(f, f->req.err);
    if (flush_is_over(f))
        return flush_fail(f, ERR_STOPPED);
    slice_begin(&f->slices, f->store);
    struct op_next next = flush_feed_on(f);
    slice_end(&f->slices, f->store);
    return next;
}

/* ---- the files are there ---- */

static void flush_show(struct flush *f)
{
    struct store *s = f->store;
    const struct outputs *o = &f->outputs;
    uint64_t data_bytes = 0;
    size_t count = outputs_count(o);
    for (size_t i = 0; i < count; i++) {
        data_bytes += outputs_files(o)[i].data_bytes;
        s->counts.flushed_bytes += outputs_files(o)[i].all_bytes;
    }
    s->counts.flushes++;
    if (f->data->is_unwanted)
        return;
    data_flushed(f->data, o->opened, count);
    store_changed(s, &f->data->id, data_bytes, (unsigned)count);
}

static struct op_next flush_placed(struct op *op)
{
    struct flush *f = flush_of(op);
    if (f->req.busy)
        return op_wait(PLACED);
    f->err = f->req.err;
    if (f->err == OK)
        flush_show(f);
    if (f->err == OK || f->err == ERR_STOPPED) /* stopped: the next start decides */
        return op_goto(END);
    return flush_fail(f, f->err);
}

/* ---- ends ---- */

static struct op_next flush_undo(struct op *op)
{
    struct flush *f = flush_of(op);
    outputs_abandon(&f->outputs, &f->req, op);
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
    [WALK] = { "flush walk", flush_walk, TO(PLACED) | TO(UNDO) | TO(END) },
    [PLACED] = { "flush placed", flush_placed, TO(UNDO) | TO(END) },
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
        uint64_t most_ns = f->failed.err == ERR_NO_SPACE ? retry_full_ns : retry_ns_max;
        d->retry_ns = io_now(s->io) + u64_min(retry_ns_min << shift, most_ns);
        d->failed = s->flush_failed = f->failed;
        log_note(s->io, LOG_ERROR, "flush_failed", "reason=\"%s\" failures=%u", f->failed.text,
                 d->failures);
    }
}

static void flush_release(struct op *op)
{
    struct flush *f = flush_of(op);
    struct store *s = f->store;
    ensure(!f->req.busy);
    outputs_deinit(&f->outputs);
    flush_note(f);
    f->data->flush = NULL;
    s->keeper.flushes_count--;
    s->keeper.is_roomier = true;
    store_stir(s);
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
    outputs_init(&f->outputs, s, d, f->table, &f->arena);
    f->slices.every = FEEDS_A_LOOK;
    d->flush = f;
    s->keeper.flushes_count++;
    op_start_background(&f->op, io_ops(s->io), NULL, states, flush_release);
}

void flush_stop(struct table_data *d)
{
    if (!d->flush)
        return;
    op_stop(&d->flush->op, ERR_STOPPED);
    outputs_stop(&d->flush->outputs);
}
