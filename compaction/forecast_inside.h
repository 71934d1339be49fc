/* forecast_inside.h - what forecast.c and forecast_merge.c share.
 *
 * A file of the model is a description and two numbers of rows, which lie evenly over what it
 * covers.  Inside of compaction/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/forecast.h"

struct forecast_load {
    double fresh, again; /* rows: loaded; updated, each counted once */
};
struct forecast {
    struct forecast_options options;
    struct local_ranges local;
    struct strategy *strategy;
    struct prng chance;
    struct arena arena; /* what lives as long as the forecast */
    struct arena step;  /* ... as a step */
    size_t count, room;
    struct compaction_file *files;
    struct forecast_load *loads; /* of each */
    uint64_t id;                 /* of the last file */
    int64_t timestamp;           /* the newest so far */
    int64_t now_seconds;
    uint64_t flushes, flushed_bytes, compactions, written_bytes, bytes, peak_bytes;
};
/* Grows files and loads. */
void forecast_put(struct forecast *, const struct compaction_file *, struct forecast_load);

/* ---- forecast_merge.c ---- */
/* How much lies between two tokens, both included: the share of what is local.  More than 0 even
 * where nothing is local, so that a file has no infinite density anywhere. */
double forecast_share(const struct forecast *, int64_t first, int64_t last);
/* Files that the pick would write, behind all others; returns their bytes.  The inputs stay. */
uint64_t forecast_write(struct forecast *, const struct compaction_pick *);
/* What a merge of all files would leave. */
double forecast_floor(struct forecast *);
