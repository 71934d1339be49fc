/* sweep_measure.c - point reads of rows drawn at random, and the files that they went through.
 *
 *     look ──> read (all once, untimed) ──> read (the same, timed) ──> drop ─┬─> ended
 *               └──> slowly                  └──> slowly                ^    │
 *                                                                       └──cold
 *
 * The rows are drawn by the stop alone, so that every setting reads the same ones.  Warm: each was
 * read a moment ago.  Cold: what the store and the system keep of files in memory is dropped before
 * each read.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/sweep_measure.h"

#include <math.h>

enum { LOOK, READ, SLOWLY, DROP, COLD, COLD_SLOWLY };
enum { READS_A_STEP = 64, NS_A_US = 1000 };

static struct sweep_measure *measure_of(struct op *op)
{
    return owner_of(op, struct sweep_measure, op);
}

/* ---- what there is ---- */

static struct op_next measure_look(struct op *op)
{
    struct sweep_measure *m = measure_of(op);
    struct table_stats *stats = store_table_stats(m->store, &m->writer->table->id, &m->arena);
    struct sweep_figures *out = m->out;
    out->files = out->data_bytes = out->index_bytes = out->filter_bytes = 0;
    for (size_t i = 0; stats && i < stats->files_count; i++) {
        const struct file_stats *f = &stats->files[i];
        out->files += 1;
        out->data_bytes += (double)f->data_bytes;
        out->filter_bytes += (double)f->filter_bytes;
        out->index_bytes += (double)(f->bytes - f->data_bytes - f->filter_bytes);
    }
    arena_reset(&m->arena);
    return op_goto(READ);
}

/* ---- one read ---- */

static void sink_partition(struct read_sink *sink, struct bytes key, int64_t token,
                           struct deletion deletion)
{
    (void)sink, (void)key, (void)token, (void)deletion;
}
static void sink_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    (void)sink, (void)row, (void)is_live;
}

static enum err read_begin(struct sweep_measure *m)
{
    uint64_t row = prng_below(&m->prng, m->rows);
    arena_reset(&m->arena);
    stand_probe(m->writer, row, &m->probe, &m->read);
    m->began_ns = io_clock(m->io);
    return store_read(m->store, &m->read, &m->arena, &m->sink, &m->outcome);
}

static void read_slowly(struct sweep_measure *m)
{
    arena_reset(&m->arena);
    store_read_start(m->store, &m->req, &m->op, &m->read, &m->arena, &m->sink, &m->outcome);
}

static enum err read_check(struct sweep_measure *m, enum err err)
{
    if (err == OK && m->outcome.rows_count == 1)
        return OK;
    return report_set(m->failed, err == OK ? ERR_CORRUPT : err,
                      err == OK ? "a row that was written is not read" : "a read failed: %s",
                      err_text(err));
}

static void warm_count(struct sweep_measure *m)
{
    const struct read_cost *cost = store_read_cost(m->store);
    m->done++;
    if (!m->is_timed)
        return;
    histogram_add(&m->warm, io_clock(m->io) - m->began_ns);
    m->spread[u64_min(cost->sstables, SWEEP_SPREAD - 1)]++;
    m->total.sstables += cost->sstables;
    m->total.filter_skips += cost->filter_skips;
    m->total.false_positives += cost->false_positives;
}

static struct op_next measure_end(struct sweep_measure *m, enum err err)
{
    arena_deinit(&m->arena);
    return op_end(&m->op, err);
}

/* ---- warm ---- */

static void warm_end(struct sweep_measure *m)
{
    double reads = (double)m->sweep->reads;
    struct sweep_figures *out = m->out;
    out->sstables_per_read = (double)m->total.sstables / reads;
    out->filter_skips = (double)m->total.filter_skips / reads;
    out->false_positives = (double)m->total.false_positives / reads;
    out->warm_p50_us = (double)histogram_quantile(&m->warm, 0.5) / NS_A_US;
    out->warm_p99_us = (double)histogram_quantile(&m->warm, 0.99) / NS_A_US;
    for (size_t i = 0; i < SWEEP_SPREAD; i++)
        out->spread[i] = (double)m->spread[i] / reads;
}

static struct op_next pass_end(struct sweep_measure *m)
{
    bool was_timed = m->is_timed;
    m->done = 0;
    m->prng = (struct prng){ m->rows };
    m->is_timed = true;
    if (!was_timed)
        return op_yield(READ);
    if (m->sweep->reads)
        warm_end(m);
    return op_goto(DROP);
}

static struct op_next measure_read(struct op *op)
{
    struct sweep_measure *m = measure_of(op);
    if (op->stop)
        return measure_end(m, op->stop);
    for (unsigned i = 0; i < READS_A_STEP && m->done < m->sweep->reads; i++) {
        enum err err = read_begin(m);
        if (err == ERR_WOULD_WAIT) {
            read_slowly(m);
            return op_wait(SLOWLY);
        }
        err = read_check(m, err);
        if (err != OK)
            return measure_end(m, err);
        warm_count(m);
    }
    return m->done < m->sweep->reads ? op_yield(READ) : pass_end(m);
}

static struct op_next measure_slowly(struct op *op)
{
    struct sweep_measure *m = measure_of(op);
    if (m->req.busy)
        return op_wait(SLOWLY);
    enum err err = read_check(m, m->req.err);
    if (err != OK)
        return measure_end(m, err);
    warm_count(m);
    return op_goto(READ);
}

/* ---- cold ---- */

static void cold_count(struct sweep_measure *m)
{
    histogram_add(&m->cold, io_clock(m->io) - m->began_ns);
    m->cold_unpacked += store_read_cost(m->store)->unpacked_bytes;
    m->done++;
}

static struct op_next measure_drop(struct op *op)
{
    struct sweep_measure *m = measure_of(op);
    if (op->stop)
        return measure_end(m, op->stop);
    if (m->done < m->sweep->cold_reads) {
        store_drop_cache(m->store, &m->req, op);
        return op_wait(COLD);
    }
    if (m->done) {
        m->out->cold_p50_us = (double)histogram_quantile(&m->cold, 0.5) / NS_A_US;
        m->out->cold_p99_us = (double)histogram_quantile(&m->cold, 0.99) / NS_A_US;
        m->out->cold_unpacked_bytes = (double)m->cold_unpacked / (double)m->done;
    }
    return measure_end(m, OK);
}

static struct op_next measure_cold(struct op *op)
{
    struct sweep_measure *m = measure_of(op);
    if (m->req.busy)
        return op_wait(COLD);
    enum err err = read_begin(m);
    if (err == ERR_WOULD_WAIT) {
        read_slowly(m);
        return op_wait(COLD_SLOWLY);
    }
    err = read_check(m, err);
    if (err != OK)
        return measure_end(m, err);
    cold_count(m);
    return op_goto(DROP);
}

static struct op_next measure_cold_slowly(struct op *op)
{
    struct sweep_measure *m = measure_of(op);
    if (m->req.busy)
        return op_wait(COLD_SLOWLY);
    enum err err = read_check(m, m->req.err);
    if (err != OK)
        return measure_end(m, err);
    cold_count(m);
    return op_goto(DROP);
}

static const struct op_state states[] = {
    [LOOK] = { "measure look", measure_look, TO(READ) },
    [READ] = { "measure read", measure_read, TO(READ) | TO(SLOWLY) | TO(DROP) },
    [SLOWLY] = { "measure reads slowly", measure_slowly, TO(SLOWLY) | TO(READ) },
    [DROP] = { "measure drop", measure_drop, TO(COLD) },
    [COLD] = { "measure cold", measure_cold, TO(COLD) | TO(COLD_SLOWLY) | TO(DROP) },
    [COLD_SLOWLY] = { "measure cold slowly", measure_cold_slowly, TO(COLD_SLOWLY) | TO(DROP) },
};

void sweep_measure_start(struct sweep_measure *m, struct op *parent)
{
    m->sink = (struct read_sink){ sink_partition, sink_row, read_ignore_range };
    m->prng = (struct prng){ m->rows };
    m->is_timed = false;
    m->done = 0;
    op_start(&m->op, io_ops(m->io), parent, states, NULL);
}
