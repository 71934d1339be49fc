/* forecast.h - what a setting costs, without files: flushes come, picks are made, sizes add up.
 *
 *     flush sizes ──> [ descriptions ] <──> strategy_pick ──> bytes written, files over a key
 *
 * Pure, and the same strategies as in the node: so `sweep --model`, `compaction plan` and the tests
 * of sequences are one thing.  What it leaves out: compactions run one by one and take no time, a
 * flush covers all that is local, and a file's rows lie evenly between its ends.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/strategy.h"

/* What the stream writes, from which the size of a merged file follows.  Rows are loaded once each
 * and then updated at places that are drawn uniformly: files of loaded rows have none in common,
 * files of u and v updated rows have u * v / rows.  All zero: nothing is written twice, sizes add
 * up. */
struct forecast_rows {
    double rows;         /* that there are in the end */
    double row_bytes;    /* of one, loaded: stored */
    double update_bytes; /* of one update in a file without the row itself; 0: row_bytes */
    double of_partition; /* rows; they are loaded together; 0: 1 */
};
struct forecast_options {
    const struct compaction_params *params;
    struct strategy_scale scale;
    const struct local_ranges *local; /* NULL: the whole ring; stays until forecast_free */
    struct forecast_rows rows;
    uint64_t seed;
    int64_t now_seconds, gc_grace_seconds; /* of the table's files, where there are some */
    int64_t flush_seconds;                 /* from a flush to the next; 0: 1 */
};
struct forecast;
struct forecast *forecast_new(const struct forecast_options *);
void forecast_free(struct forecast **);
/* A file that is there already, of loaded rows; its keys are copied, its drop_times stay. */
void forecast_add(struct forecast *, const struct compaction_file *);
struct forecast_step {
    uint64_t flush; /* its number, from 1; 0: before any */
    const struct compaction_pick *pick;
    const struct compaction_file *files; /* before it: pick->files are places in it */
    size_t files_count;
    uint64_t output_bytes;
    int output_level; /* Unified, Leveled: of the largest output; else -1 */
};
typedef void (*forecast_told)(void *context, const struct forecast_step *);
/* A flush of so many stored bytes, of which a share (0..1) updates rows and the rest loads new
 * ones; then everything that is due is compacted, one after the other; each is told (`told` may be
 * NULL). */
void forecast_flush(struct forecast *, uint64_t bytes, double updates, forecast_told told,
                    void *context);
/* What is due now, without another flush: at most so many steps, in which any table that can be
 * settled is. */
enum { FORECAST_STEPS_MAX = 10000 };
void forecast_settle(struct forecast *, forecast_told told, void *context);

struct forecast_figures {
    uint64_t flushes, flushed_bytes, compactions, written_bytes; /* written: by compactions */
    size_t files;
    uint64_t bytes, peak_bytes; /* now; the most at once, inputs and outputs */
    double files_a_key;         /* that may have a partition by their ends; mean over the ring */
    double files_a_read;        /* ... and do have it: what filters leave */
    double floor_bytes;         /* after a major compaction */
};
void forecast_figures(struct forecast *, struct forecast_figures *out);
/* The files as they are; until the next call. */
size_t forecast_files(const struct forecast *, const struct compaction_file **out);
