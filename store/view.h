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
#include "store/memtable.h"
#include "store/sstable.h"

/* A memtable is shared by the views that have it. */
struct memtable_shared {
    unsigned refs;
    struct memtable memtable;
};
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
