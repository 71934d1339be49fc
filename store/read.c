/* read.c - reads: at once when nothing has to wait for the disk, else as an op.
 *
 *     store_read:        run ──> done, or: would wait, and nothing of it counts
 *     store_read_start:  run ──> load ──> run ──> ... ──> ended
 *                         └── (its slice of time is over) ──> run, later
 *
 * Both are the same reading (reading.h).  The op loads one chunk after the other as the reading
 * asks for them and lets others run in between.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "store/reading.h"

enum { RUN, LOAD };
enum { SLICE_NS = 50 * 1000 };
enum { CLOCK_EVERY = 8 }; /* a read at once looks at the clock: one in so many */

struct slow_read {
    struct op op;
    struct store *store;
    struct list link; /* in the store's slow_reads */
    struct reading reading;
    struct io_req *done;
    struct io_req load;
    uint64_t begun_ns;
    bool is_rested;
};

static struct op_next slow_run(struct op *);
static struct op_next slow_load(struct op *);
static void slow_release(struct op *);

static const struct op_state states[] = {
    [RUN] = { "run", slow_run, TO(RUN) | TO(LOAD) },
    [LOAD] = { "load", slow_load, TO(RUN) },
};

static struct slow_read *slow_of(struct op *op) { return owner_of(op, struct slow_read, op); }

static void total_add(struct read_total *t, const struct read_cost *c)
{
    t->sstables += c->sstables;
    t->filter_skips += c->filter_skips;
    t->range_skips += c->range_skips;
    t->false_positives += c->false_positives;
    t->index_entries += c->index_entries;
    t->index_blocks += c->index_blocks;
    t->chunks += c->chunks;
    t->unpacked_bytes += c->unpacked_bytes;
    t->tombstones += c->tombstones;
}

/* Counts what a reading cost, once it is over.  begun_ns 0: nobody has looked at the clock. */
static void reading_count(const struct reading *r, uint64_t begun_ns)
{
    struct store *s = r->store;
    struct table_data *d = r->read->is_range ? NULL : store_data(s, &r->read->table);
    s->cost = r->cost;
    total_add(&s->counts.read, &r->cost);
    s->counts.reads++;
    s->counts.rows_read += (uint64_t)r->out->rows_count + r->out->dead_count;
    if (!d)
        return;
    d->meter.reads++;
    meter_add(&d->meter.sstables, r->cost.sstables);
    if (begun_ns)
        meter_add(&d->meter.read_ns, io_clock(s->io) - begun_ns);
}

enum err store_read(struct store *s, const struct read *read, struct arena *arena,
                    struct read_sink *sink, struct read_outcome *out)
{
    struct reading r;
    uint64_t begun_ns = s->counts.reads % CLOCK_EVERY ? 0 : io_clock(s->io);
    enum err e = reading_init(&r, s, read, arena, sink, out);
    if (e)
        return e;
    e = reading_run(&r);
    if (e != ERR_WOULD_WAIT)
        reading_count(&r, begun_ns);
    reading_deinit(&r);
    return e;
}

void store_read_start(struct store *s, struct io_req *req, struct op *op, const struct read *read,
                      struct arena *arena, struct read_sink *sink, struct read_outcome *out)
{
    struct slow_read *r = mem_zalloc(sizeof *r);
    ensure(!s->closing);
    r->store = s, r->done = req, r->begun_ns = io_clock(s->io);
    r->load.err = reading_init(&r->reading, s, read, arena, sink, out);
    r->reading.slice_ns = SLICE_NS;
    list_add(&s->slow_reads, &r->link);
    io_req_begin(req, op);
    op_start(&r->op, io_ops(s->io), NULL, states, slow_release);
}

static struct op_next slow_end(struct slow_read *r, enum err e)
{
    io_req_end(r->done, e);
    return op_end(&r->op, e);
}

static struct op_next slow_run(struct op *op)
{
    struct slow_read *r = slow_of(op);
    if (!r->reading.store) /* it could not begin */
        return slow_end(r, r->load.err);
    if (r->is_rested)
        reading_resync(&r->reading);
    r->is_rested = false;
    enum err e = reading_run(&r->reading);
    if (e != ERR_WOULD_WAIT) {
        reading_count(&r->reading, r->begun_ns);
        return slow_end(r, e);
    }
    reading_rest(&r->reading);
    r->is_rested = true;
    if (!r->reading.fetch.wish.sstable)
        return op_yield(RUN);
    chunk_load(r->store->io, &r->load, op, &r->reading.fetch);
    return op_wait(LOAD);
}

static struct op_next slow_load(struct op *op)
{
    struct slow_read *r = slow_of(op);
    if (r->load.busy)
        return op_wait(LOAD);
    return r->load.err ? slow_end(r, r->load.err) : op_goto(RUN);
}

static void slow_release(struct op *op)
{
    struct slow_read *r = slow_of(op);
    struct store *s = r->store;
    if (r->reading.store)
        reading_deinit(&r->reading);
    list_remove(&r->link);
    mem_free(r);
    store_left(s);
}

const struct read_cost *store_read_cost(const struct store *s) { return &s->cost; }
