/* view.h - what a table consists of at one moment: memtables and files.  Immutable and counted.
 *
 *     table_data ──> view: active memtable | frozen memtables | files, newest data first
 *                      ^ reads hold the view that they began with
 *
 * A flush, an import, a truncation or a compaction makes a new view and swaps it in, within one
 * turn.  An old one lives until the last read that began with it has ended: so files and frozen
 * memtables go when nobody looks at them any more.  The active memtable of a view may still change
 * while it is active: who reads over several turns seeks again after each.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/journal.h"
#include "store/memtable.h"
#include "store/sstable.h"

/* Where a memtable's rows are in the commit log: every record of its table and of this shard's
 * tokens in the folder, from `first` to `last`, both included. */
struct log_span {
    uint64_t folder;
    struct journal_position first, last;
};
/* A memtable is shared by the views that have it. */
struct memtable_shared {
    unsigned refs;
    uint64_t *account;      /* of all memtables' bytes: what this one has is in it until it goes */
    struct log_span *spans; /* by folder, then ascending */
    size_t spans_count, spans_room;
    uint64_t first_ns; /* when its first row came */
    uint64_t number;   /* ascending within the table */
    struct memtable memtable;
};
struct memtable_shared *memtable_shared_new(const struct uuid *table, uint64_t *account,
                                            uint64_t number);
void memtable_shared_ref(struct memtable_shared *);
void memtable_shared_unref(struct memtable_shared **);
/* Notes a record that was merged.  `goes_on`: no record of the table stands between this one and
 * the last one noted in the folder but what is in this memtable. */
void memtable_shared_note(struct memtable_shared *, uint64_t folder, struct journal_position,
                          bool goes_on);

struct view {
    unsigned refs;
    struct memtable_shared *active;
    size_t frozen_count, sstables_count;
    struct memtable_shared **frozen; /* newest first */
    struct sstable **sstables;       /* by descending timestamp_max */
};
void view_ref(struct view *);
void view_unref(struct view **);
/* The same with other files or memtables: one reference to the new view; the parts are counted. */
struct view *view_make(struct memtable_shared *active, struct memtable_shared **frozen,
                       size_t frozen_count, struct sstable **sstables, size_t sstables_count);
