/* garbage.h - files of which nothing is alive, and files with enough that can be purged.  Pure.
 *
 * Source: compaction.md 4.1, 7.4.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/strategy.h"

/* Do their keys, first to last, meet? */
bool files_meet(const struct compaction_file *, const struct compaction_file *);
/* Places of those among now->files that are wholly past gc_before and older than everything that
 * stays: they may go unread.  `ignores_overlaps`: the first alone.  Returns how many, ascending;
 * `out` has room for files_count.  Files that are busy, suspect or shared stay; with purges_nothing
 * all stay. */
size_t garbage_expired(const struct compaction_now *, bool ignores_overlaps, size_t *out);
/* Those inputs of the pick that are expired go unread; its kind becomes EXPIRED when none is left
 * to read. */
void garbage_leave(const struct compaction_now *, struct arena *, struct compaction_pick *);
/* Why the file cannot go yet although it is wholly past gc_before, or why it is not past it: the
 * other file (or NULL: memtables) that may hold older data; for `compaction why`. */
struct garbage_block {
    bool is_expired;      /* all of it is past gc_before */
    int64_t from_seconds; /* when it will be; INT64_MAX: never, it has live cells without TTL */
    const struct compaction_file *blocker; /* NULL with is_blocked: memtables */
    bool is_blocked;
};
void garbage_why(const struct compaction_now *, size_t place, struct garbage_block *out);
/* Share of its cells that can be purged at gc_before, 0..1 and above. */
double garbage_ratio(const struct compaction_file *, int64_t gc_before);
/* The first of these files that is worth a compaction by itself, for what can be purged in it;
 * SIZE_MAX: none is. */
struct garbage_rule { /* of the table: model/params.h */
    double threshold;
    int64_t interval_seconds;
    bool is_unchecked;
};
size_t garbage_first_worth(const struct compaction_now *, const size_t *places, size_t count,
                           const struct garbage_rule *, struct arena *);
