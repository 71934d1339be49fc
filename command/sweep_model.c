/* sweep_model.c - the strategies run over sizes alone (compaction/forecast.h), stop by stop.
 *
 *     sizes of flushes ──> forecast ──> at each stop: written, files over a key, size, floor
 *
 * Where a sweep has been measured, the sizes are those of its flushes; else they are estimated: a
 * few hundred rows are made, their values packed as a chunk of a file would be, and a row is given
 * a few bytes of head.  Ratios hardly depend on it; sizes on disk do.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/sweep_model.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/lz4.h"
#include "compaction/compaction.h"

#include <math.h>

enum { SAMPLE_BYTES = 16384, SAMPLE_ROWS = 400 };
/* Of a row in a file beside its values: flags, sizes, clustering, which columns; packed. */
static const double row_head_bytes = 8, update_head_bytes = 14;

/* ---- how large is a flush? ---- */

static double packed_share(const struct buf *plain)
{
    struct buf packed = { 0 };
    struct bytes chunk = bytes_of(plain->data, u64_min(plain->size, SAMPLE_BYTES));
    (void)lz4_pack(chunk, &packed);
    double share = (double)packed.size / (double)chunk.size;
    buf_deinit(&packed);
    return share < 1 ? share : 1;
}

/* Stored bytes of a row, whole or updated, by rows next to one another in a file. */
static double row_bytes(const struct sweep *s, bool is_update)
{
    struct buf plain = { 0 };
    double rows = (double)u64_min(s->rows, SAMPLE_ROWS);
    for (uint64_t row = 0; row < u64_min(s->rows, SAMPLE_ROWS); row++)
        for (size_t i = 0; i < (is_update ? s->chosen_count : s->stand.columns_count); i++)
            stand_value(&s->stand, is_update ? s->chosen[i] : &s->stand.columns[i], row, is_update,
                        &plain);
    double bytes = packed_share(&plain) * (double)plain.size / rows;
    buf_deinit(&plain);
    return bytes + (is_update ? update_head_bytes : row_head_bytes);
}

void sweep_model_flushes(const struct sweep *s, const struct sweep_setting *setting, double *out)
{
    double whole = row_bytes(s, false), update = s->updates ? row_bytes(s, true) : 0;
    double head = setting->partition == STAND_PER_DOCUMENT ? 12 : 0; /* of a partition, packed */
    for (uint64_t i = 0; i < sweep_flushes(s); i++) {
        uint64_t first, count;
        bool is_update = sweep_part(s, i, &first, &count);
        out[i] = (double)count * ((is_update ? update : whole) + head);
    }
}

/* ---- what becomes of it ---- */

/* Each node of a ring has its share of rows and of each flush; so what is predicted is one node. */
static double nodes_of(const struct sweep *s) { return s->nodes ? s->nodes : 1; }

static struct forecast_rows rows_of(const struct sweep *s, const struct sweep_setting *setting,
                                    const double *flush_bytes)
{
    double loaded = 0, updated = 0;
    for (uint64_t i = 0; i < sweep_flushes(s); i++)
        *(i < s->load_flushes ? &loaded : &updated) += flush_bytes[i];
    bool is_register = setting->partition == STAND_PER_REGISTER;
    return (struct forecast_rows){
        .rows = (double)s->rows / nodes_of(s),
        .row_bytes = loaded / (double)s->rows,
        .update_bytes = s->updates ? updated / (double)s->updates : 0,
        .of_partition = is_register ? (double)s->stand.documents_per_register : 1,
    };
}

/* Rows that are not loaded yet are in no file and are not read.  A read also opens files that have
 * nothing of its partition, where a filter says so: by `chance`. */
static void stop_fill(struct forecast *f, const struct sweep *s, double chance, uint64_t flush,
                      struct sweep_figures *out)
{
    struct forecast_figures now;
    double loaded = fmin(1, (double)flush / (double)s->load_flushes);
    forecast_figures(f, &now);
    sweep_figures_unknown(out);
    out->flush = (double)flush;
    out->rewrites_per_byte = (double)now.written_bytes / now.floor_bytes;
    double have = now.files_a_read / loaded, others = fmax(0, now.files_a_key - have);
    out->sstables_per_read = have + chance * others;
    out->space_over_floor = (double)now.bytes / now.floor_bytes;
    out->filter_skips = (1 - chance) * others;
    out->false_positives = chance * others;
    out->files = (double)now.files;
    out->written_bytes = (double)now.written_bytes * nodes_of(s);
    out->data_bytes = (double)now.bytes * nodes_of(s);
    out->floor_bytes = now.floor_bytes * nodes_of(s);
}

static struct forecast *forecast_begin(const struct sweep *s, const struct sweep_setting *setting,
                                       const struct table *table, const double *flush_bytes)
{
    double unit = s->nodes ? 0 : fmax(1, (1 << 20) * s->scale); /* nodes have theirs */
    struct forecast_options options = {
        .params = &table->params->compaction,
        .scale = { .flush_floor_bytes = (uint64_t)unit, .flush_round_bytes = (uint64_t)unit },
        .rows = rows_of(s, setting, flush_bytes),
        .seed = s->seed,
    };
    return forecast_new(&options);
}

void sweep_model(const struct sweep *s, const struct sweep_setting *setting,
                 const double *flush_bytes, struct sweep_stops *out)
{
    struct catalog catalog;
    struct report report;
    enum err err = sweep_catalog(s, setting, &catalog, &report);
    ensure(err == OK); /* it has been made before */
    const struct table *table = catalog_table(&catalog, s->stand.keyspace, s->stand.table);
    struct forecast *f = forecast_begin(s, setting, table, flush_bytes);
    *out = (struct sweep_stops){ 0 };
    for (uint64_t i = 0; i < sweep_flushes(s); i++) {
        forecast_flush(f, (uint64_t)(flush_bytes[i] / nodes_of(s)), i < s->load_flushes ? 0 : 1,
                       NULL, NULL);
        if (out->count < s->stops_count && s->stops[out->count] == i + 1) {
            stop_fill(f, s, table->params->bloom_filter_fp_chance, i + 1, &out->at[out->count]);
            out->count++;
        }
    }
    forecast_free(&f);
    catalog_deinit(&catalog);
    sweep_stops_mean(out);
}
