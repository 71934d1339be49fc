/* sweep_row.h - what came of one setting: figures at each stop, their means, after a major
 * compaction, and predicted; as JSON and back.
 *
 * A figure that was not measured is NaN, in JSON null.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/sweep.h"

/* X(name in JSON and here) */
#define SWEEP_FIGURE_LIST(X)                                         \
    X(flush)             /* the stop: after so many */               \
    X(rewrites_per_byte) /* written by compactions / floor */        \
    X(sstables_per_read)                                             \
    X(space_over_floor)                                              \
    X(filter_skips) /* files that a filter kept a read from, mean */ \
    X(false_positives)                                               \
    X(files)                                                         \
    X(written_bytes) /* by compactions, so far */                    \
    X(data_bytes)    /* of Data.db, stored */                        \
    X(floor_bytes)   /* the same after a major compaction */         \
    X(index_bytes)   /* of all that is neither Data.db nor filter */ \
    X(filter_bytes)                                                  \
    X(warm_p50_us)                                                   \
    X(warm_p99_us)                                                   \
    X(cold_p50_us)                                                   \
    X(cold_p99_us)                                                   \
    X(cold_unpacked_bytes) /* that a cold read decompresses, mean */

struct sweep_figures {
#define SWEEP_FIELD(name) double name;
    SWEEP_FIGURE_LIST(SWEEP_FIELD)
#undef SWEEP_FIELD
    double
        spread[SWEEP_SPREAD]; /* share of reads that opened so many SSTables; the last: or more */
};
struct sweep_stops { /* and their mean */
    size_t count;
    struct sweep_figures at[SWEEP_STOPS_MAX], mean;
};
struct sweep_row {
    const char *name;
    bool is_measured; /* else only predicted */
    struct sweep_stops measured, predicted;
    struct sweep_figures after_major;
    double seconds;
    size_t flushes_count; /* of what has been measured */
    double *flush_bytes;  /* of Data.db, of each flush */
};
struct sweep_result {
    uint64_t
        fingerprint; /* of what was asked for: results of something else are not gone on with */
    size_t rows_count;
    struct sweep_row rows[SWEEP_SETTINGS_MAX];
};

void sweep_figures_unknown(struct sweep_figures *); /* all NaN */
/* The mean of each figure over the stops that know it. */
void sweep_stops_mean(struct sweep_stops *);

/* sweep.json, whole: appended. */
void sweep_result_json(const struct sweep *, const struct sweep_result *, struct buf *out);
/* Finished rows of the same sweep, from what was written before; false, and *out is empty, when it
 * is none.  Names and sizes in the arena. */
bool sweep_result_read(const struct sweep *, struct arena *, struct bytes json,
                       struct sweep_result *out);
/* Has it measured rows, of whatever sweep?  Of what cannot be read it is not known: true. */
bool sweep_result_took_time(struct arena *, struct bytes json);
