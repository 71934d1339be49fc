/* strategy_inside.h - what a class of strategies is made of, and what all of them share.
 *
 *     struct strategy             the head of each: its kind, its class, the common options
 *     struct strategy_kind        a table of functions; strategy.c has one kind for each class
 *
 * Inside of compaction/: strategy.c dispatches, unified.c, tiered.c, leveled.c and window.c fill
 * in.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/strategy.h"

struct strategy_kind {
    /* The object of the class with its head still zeroed (strategy_new fills it in), and the end of
     * all that it holds, itself included. */
    struct strategy *(*make)(const struct compaction_params *, const struct strategy_scale *);
    void (*release)(struct strategy *);
    /* As in strategy.h; `out` is a pick of nothing when they are called. */
    void (*pick)(struct strategy *, const struct compaction_now *, struct arena *,
                 struct compaction_pick *out);
    void (*done)(struct strategy *, const struct compaction_pick *); /* NULL: remembers nothing */
    /* For lack of space: may this one of the pick's files stay out?  NULL: any. */
    bool (*spares)(const struct compaction_now *, const struct compaction_pick *, size_t place);
    bool (*major)(struct strategy *, const struct compaction_now *, bool splits, size_t i,
                  struct arena *, struct compaction_pick *out);
    void (*these)(struct strategy *, const struct compaction_now *, const size_t *files,
                  size_t count, struct arena *, struct compaction_pick *out);
    size_t (*levels)(struct strategy *, const struct compaction_now *, struct arena *,
                     struct compaction_level **out);
    size_t (*flush_cuts)(struct strategy *, const struct local_ranges *, struct arena *,
                         const int64_t **out); /* NULL: a flush is one file */
};
extern const struct strategy_kind strategy_tiered, strategy_leveled, strategy_window,
    strategy_unified;

struct strategy {
    const struct strategy_kind *kind;
    enum compaction_class class;
    double tombstone_threshold;
    int64_t tombstone_interval_seconds;
    bool is_unchecked, purges_only_repaired;
    double flush_average; /* whatever the class: the next one may be Unified */
};

/* ---- what picks are made of ---- */

/* May it be taken?  Not an input of another compaction, not damaged, not other shards' too. */
static inline bool file_is_free(const struct compaction_file *file)
{
    return !file->is_busy && !file->is_suspect && !file->is_shared;
}
/* The stored bytes of the files at these places. */
uint64_t files_bytes(const struct compaction_now *, const size_t *files, size_t count);
/* These files are read, in one output of any size unless outputs are given afterwards.  The places
 * are copied and sorted.  Kind MERGE. */
void pick_take(struct compaction_pick *, struct arena *, const size_t *files, size_t count,
               uint32_t output_level);
/* ... and these go with them, unread.  A pick without files becomes one of kind EXPIRED. */
void pick_take_expired(struct compaction_pick *, struct arena *, const size_t *files, size_t count);
/* The sentence that says why; what does not fit is cut. */
void pick_because(struct compaction_pick *, const char *format, ...) printf_like(2, 3);
/* Bytes for a sentence: "640 bytes", "4.0 MiB", "1.2 GiB"; in `out`, which it returns. */
enum { SIZE_TEXT_BYTES = 24 };
const char *size_text(double bytes, char out[SIZE_TEXT_BYTES]);
