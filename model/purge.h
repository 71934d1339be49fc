/* purge.h - what of a row may be forgotten for good: tombstones older than gc_grace, and what has
 * expired.  Pure.
 *
 *     expired cell ──(value goes at once)──> tombstone of its write time ──(purgeable)──> nothing
 *     tombstone ──(local deletion time < gc_before, and nothing older can be anywhere else)──>
 * nothing
 *
 * Source: compaction.md 7.2, 7.3.  What is shadowed inside of a row is row_shadow's.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/row.h"

struct purge {
    bool is_on;          /* false: nothing is purged; expired cells still become tombstones */
    int64_t now_seconds; /* what expires at or before is expired */
    int64_t gc_before;   /* Unix seconds */
    /* What anything outside may have of the partition is of this timestamp or later; only a
     * deletion that is older than all of it may go. */
    int64_t timestamp_min;
};
/* May the deletion go?  None may. */
bool purge_deletion(const struct purge *, struct deletion);
/* Purges in place: cells, liveness, the row's deletion, its columns' deletions.  Adds how many went
 * to *purged.  True when anything is left. */
bool purge_row(const struct purge *, struct row *, uint64_t *purged);
/* Both sides of a marker; what may go becomes none.  False: nothing is left of it. */
bool purge_marker(const struct purge *, struct marker *, uint64_t *purged);
