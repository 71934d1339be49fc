/* classic.h - what SizeTiered, Leveled and TimeWindow have in common.  Inside of compaction/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/garbage.h"
#include "compaction/strategy_inside.h"

/* An order of files: does a come before b? */
typedef bool (*files_before)(const struct compaction_file *a, const struct compaction_file *b);
bool file_smaller(const struct compaction_file *, const struct compaction_file *); /* then by id */
bool file_larger(const struct compaction_file *, const struct compaction_file *);
bool file_older(const struct compaction_file *, const struct compaction_file *); /* newest cell */
bool file_first(const struct compaction_file *, const struct compaction_file *); /* first key */
/* Sorts places. */
void files_sort(const struct compaction_now *, size_t *places, size_t count, files_before);
/* Places of those that may be taken, ascending; all of them in the arena. */
size_t files_free(const struct compaction_now *, struct arena *, size_t **out);
/* Files, bytes and overlap of a level of these files, and in pending_bytes the bytes of those that
 * are free; how many these are.  The rest is the caller's. */
size_t level_fill(const struct compaction_now *, const size_t *places, size_t count, struct arena *,
                  struct compaction_level *out);
/* One file alone, for what can be purged in it: the first of these (which may be taken) that is
 * worth it.  False: there is none.  Level and outputs are the caller's. */
bool tombstones_take(const struct strategy *, const struct compaction_now *, const size_t *places,
                     size_t count, struct arena *, struct compaction_pick *out);
/* What a person named becomes one file of level 0 (strategy_kind's `these`). */
void files_asked(struct strategy *, const struct compaction_now *, const size_t *files,
                 size_t count, struct arena *, struct compaction_pick *out);
