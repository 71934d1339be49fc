/* forecast.h - what a setting costs, without files: flushes come, picks are made, sizes add up.
 *
 *     flush sizes ──> [ descriptions ] <──> strategy_pick ──> bytes written, files over a key
 *
 * Pure, and the same strategies as in the node: so `sweep --model`, `compaction plan` and the tests
 * of sequences are one thing.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/strategy.h"

/* How the size of a merged file follows from its inputs; the model's only guess.  Rows of which
 * newer versions are in other inputs go: of `inputs` with so many distinct rows each, taken
 * uniformly from `rows`.  rows 0: nothing is written twice, sizes add up. */
struct forecast_rows {
    double rows;      /* that there are in all */
    double row_bytes; /* stored bytes of a whole row */
};
struct forecast_options {
    const struct compaction_params *params;
    struct strategy_scale scale;
    const struct local_ranges *local; /* NULL: the whole ring */
    struct forecast_rows rows;
    uint64_t seed;
};
struct forecast;
struct forecast *forecast_new(const struct forecast_options *);
void forecast_free(struct forecast **);
/* A file that is there already. */
void forecast_add(struct forecast *, const struct compaction_file *);
/* A flush of so many stored bytes; then everything that is due is compacted, one after the other;
 * each is told (`told` may be NULL). */
struct forecast_step {
    uint64_t flush; /* its number, from 1; 0: before any */
    const struct compaction_pick *pick;
    const struct compaction_file *files; /* before it: pick->files are places in it */
    size_t files_count;
    uint64_t output_bytes;
    int output_level; /* Unified, Leveled: of the largest output; else -1 */
};
typedef void (*forecast_told)(void *context, const struct forecast_step *);
void forecast_flush(struct forecast *, uint64_t bytes, forecast_told told, void *context);
/* What is due now, without another flush. */
void forecast_settle(struct forecast *, forecast_told told, void *context);

struct forecast_figures {
    uint64_t flushes, flushed_bytes, compactions, written_bytes; /* written: by compactions */
    size_t files;
    uint64_t bytes, peak_bytes; /* now; the most at once, inputs and outputs */
    double files_a_key;         /* mean over the ring */
    double floor_bytes;         /* after a major compaction */
};
void forecast_figures(const struct forecast *, struct forecast_figures *out);
/* The files as they are; until the next call. */
size_t forecast_files(const struct forecast *, const struct compaction_file **out);
