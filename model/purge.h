/* purge.h - what of a row may be forgotten for good: tombstones older than gc_grace, and what has
 * expired.  Pure.
 *
 *     expired cell ──(value goes at once)──> tombstone of its write time ──(purgeable)──> nothing
 *     tombstone ──(older than gc_before, and nothing older can be anywhere else)──> nothing
 *
 * Source: compaction.md 7.2, 7.3.  What is shadowed inside of a row is row_shadow's.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/row.h"

struct purge {
    bool is_on;          /* false: nothing is purged; expired cells still become tombstones */
    int64_t now_seconds; /* what expires at or before is expired */
    int64_t gc_before;   /* Unix seconds; what was deleted before may go */
    /* What anything outside may have of the partition is of this timestamp or later; only a
     * deletion that is older than all of it may go.  INT64_MAX: there is nothing, and any may.
     * Asked for when it first matters; who goes on to another partition clears is_known. */
    bool is_known;
    int64_t timestamp_min;
    int64_t (*ask)(void *context);
    void *context;
};
/* May the deletion go?  None may. */
bool purge_deletion(struct purge *, struct deletion);
/* Is there anything in the row that purge_row would look at twice: a deletion, what has expired? */
bool purge_concerns(const struct purge *, const struct row *);
/* Purges in place: cells, liveness, the row's deletion, its columns' deletions.  Adds how many went
 * to *purged, with each cell that became a tombstone.  True when anything is left. */
bool purge_row(struct purge *, struct row *, uint64_t *purged);
/* Both sides of a marker; what may go becomes none.  A range counts where it begins.  False:
 * nothing is left of it. */
bool purge_marker(struct purge *, struct marker *, uint64_t *purged);
