/* leveled_choice.c - what LeveledCompactionStrategy does next.
 *
 *     8 .. 1: bytes above the level's target?    one file, and what it meets in the next level
 *                                                (before it, a crowded level 0 is merged by size)
 *     0:      two files that may be merged?      those that meet, the oldest first; all of level 1
 *                                                under them once they are more than one output
 *     else    a crowded level 0 by size
 *
 * A level is gone through round and round in the order of its keys, from where the last compaction
 * out of it ended.  A level that was not written to for long (its files starve) gives one file to a
 * compaction whose span it lies in.
 *
 * Invariants:
 *     1. What goes to level n > 0 takes with it every file of level n that it meets; if one of them
 *        is not free, it does not go.  So levels stay without overlap.
 *     2. Level 0 goes up exactly when it is more than one output.  Cassandra compares twice, and at
 *        the last byte differently: exactly one output's worth goes to level 1 there without the
 *        files of level 1 that it meets, and is demoted at once.  Here it stays.
 *
 * Any two files of level 0 that meet are merged: with small flushes that is very expensive
 * (docs/compaction.md).  Facts: compaction.md 5.  What it does not do: while a node joins,
 * Cassandra merges by size in level 0 alone; a strategy is not told of that.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/leveled.h"

enum {
    CROWDED_FILES = 32, /* level 0 with more than so many is merged by size */
    STARVED_AFTER = 25, /* compactions */
};

/* ---- spans and what lies under them ---- */

/* From the first token of all to the last, as if it were a file; empty: it meets none. */
static const struct compaction_file nowhere = { .first = INT64_MAX, .last = INT64_MIN };
static void span_add(struct compaction_file *span, const struct compaction_file *file)
{
    span->first = file->first < span->first ? file->first : span->first;
    span->last = file->last > span->last ? file->last : span->last;
}

struct compaction_file leveled_span(const struct compaction_now *now, const size_t *files,
                                    size_t count)
{
    struct compaction_file span = nowhere;
    for (size_t i = 0; i < count; i++)
        span_add(&span, &now->files[files[i]]);
    return span;
}

/* Adds those of the set that meet the file; false: one of them is not free. */
static bool add_under(const struct compaction_now *now, const struct leveled_set *set,
                      const struct compaction_file *file, struct leveled_choice *to)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct compaction_file *under = &now->files[set->files[i]];
        if (!files_meet(file, under))
            continue;
        if (!file_is_free(under))
            return false;
        to->files[to->count++] = set->files[i];
    }
    return true;
}

/* ---- level 0 ---- */

static bool choose_tiered(const struct leveled *leveled, const struct leveled_view *view,
                          struct arena *arena, struct leveled_choice *out)
{
    const struct leveled_set *zero = &view->of[0];
    size_t *files = arena_array(arena, size_t, zero->count), count = 0;
    struct tiered_bucket bucket;
    if (zero->count <= CROWDED_FILES)
        return false;
    for (size_t i = 0; i < zero->count; i++)
        if (file_is_free(&view->now->files[zero->files[i]]))
            files[count++] = zero->files[i];
    if (!tiered_choose(&leveled->tiered, view->now, files, count, arena, &bucket))
        return false;
    *out = (struct leveled_choice){
        .count = bucket.count, .files = bucket.files, .is_tiered = true, .starved = SIZE_MAX
    };
    return true;
}

/* The files of level 0 that are busy, as a span. */
static struct compaction_file busy_span(const struct leveled_view *view)
{
    struct compaction_file span = nowhere;
    for (size_t i = 0; i < view->of[0].count; i++) {
        const struct compaction_file *file = &view->now->files[view->of[0].files[i]];
        if (file->is_busy)
            span_add(&span, file);
    }
    return span;
}

/* Those of level 0 that are not damaged, the oldest first. */
static size_t by_age(const struct leveled_view *view, struct arena *arena, size_t **out)
{
    const struct leveled_set *zero = &view->of[0];
    size_t count = 0;
    *out = arena_array(arena, size_t, zero->count);
    for (size_t i = 0; i < zero->count; i++) {
        const struct compaction_file *file = &view->now->files[zero->files[i]];
        if (!file->is_suspect && !file->is_shared)
            (*out)[count++] = zero->files[i];
    }
    files_sort(view->now, *out, count, file_older);
    return count;
}

/* The first of the files left, and those left that meet it; false: one of them is busy. */
static bool group_of(const struct compaction_now *now, const size_t *left, size_t count,
                     bool *is_member)
{
    for (size_t i = 0; i < count; i++) {
        is_member[i] = files_meet(&now->files[left[0]], &now->files[left[i]]);
        if (is_member[i] && now->files[left[i]].is_busy)
            return false;
    }
    return true;
}

/* Groups of files that meet, the oldest first, until they are too many. */
static void gather_zero(const struct leveled *leveled, const struct leveled_view *view,
                        const struct compaction_file *busy, struct arena *arena,
                        struct leveled_choice *out)
{
    const struct compaction_now *now = view->now;
    size_t *left, count = by_age(view, arena, &left);
    bool *is_member = arena_array(arena, bool, count);
    while (count && out->count <= leveled->tiered.threshold_max) {
        size_t stay = 0;
        if (!group_of(now, left, count, is_member)) {
            left++, count--; /* the others of its group may still be of another */
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            if (!is_member[i])
                left[stay++] = left[i];
            else if (!files_meet(&now->files[left[i]], busy))
                out->files[out->count++] = left[i];
        }
        count = stay;
    }
    files_sort(now, out->files, out->count, file_older);
    out->count = u64_min(out->count, leveled->tiered.threshold_max);
}

static bool choose_zero(const struct leveled *leveled, const struct leveled_view *view,
                        struct arena *arena, struct leveled_choice *out)
{
    struct compaction_file busy = busy_span(view);
    *out = (struct leveled_choice){ .starved = SIZE_MAX };
    out->files = arena_array(arena, size_t, view->of[0].count + view->of[1].count);
    gather_zero(leveled, view, &busy, arena, out);
    if (files_bytes(view->now, out->files, out->count) > leveled->bytes) {
        struct compaction_file span = leveled_span(view->now, out->files, out->count);
        if (files_meet(&span, &busy) || !add_under(view->now, &view->of[1], &span, out))
            return false;
        out->to = 1;
    }
    return out->count >= 2;
}

/* ---- level 1 and more ---- */

static bool is_full(const struct leveled *leveled, const struct leveled_view *view, unsigned level)
{
    double bytes = 0;
    for (size_t i = 0; i < view->of[level].count; i++) {
        const struct compaction_file *file = &view->now->files[view->of[level].files[i]];
        bytes += file->is_busy ? 0 : (double)file->bytes;
    }
    return bytes / leveled_target(leveled, level) > LEVELED_FULL;
}

/* Where in the level to go on: behind the last token of its last compaction.  After a restart the
 * youngest file of the next level is taken for what that one wrote. */
static size_t start_of(const struct leveled *leveled, const struct leveled_view *view,
                       unsigned level)
{
    const struct compaction_file *files = view->now->files, *youngest = NULL;
    const struct leveled_set *set = &view->of[level], *next = &view->of[level + 1];
    for (size_t i = 0; i < next->count; i++)
        if (!youngest || files[next->files[i]].id > youngest->id)
            youngest = &files[next->files[i]];
    if (!leveled->has_last[level] && !youngest)
        return 0;
    int64_t last = leveled->has_last[level] ? leveled->last[level] : youngest->last;
    size_t at = 0;
    while (at < set->count && files[set->files[at]].first <= last)
        at++;
    return at < set->count ? at : 0;
}

/* The next file of the level for which all that it meets below is free. */
static bool choose_from(const struct leveled *leveled, const struct leveled_view *view,
                        unsigned level, struct arena *arena, struct leveled_choice *out)
{
    const struct leveled_set *set = &view->of[level], *next = &view->of[level + 1];
    size_t start = start_of(leveled, view, level);
    *out = (struct leveled_choice){ .from = level, .to = level + 1, .starved = SIZE_MAX };
    out->files = arena_array(arena, size_t, next->count + 2); /* it, and one that starves */
    for (size_t i = 0; i < set->count; i++) {
        size_t place = set->files[(start + i) % set->count];
        if (!file_is_free(&view->now->files[place]))
            continue;
        out->files[0] = place;
        out->count = 1;
        if (add_under(view->now, next, &view->now->files[place], out))
            return true;
    }
    return false;
}

/* A file of the last level, when that was not written to for long, which lies in the span: whatever
 * is written there, it meets no other. */
static void add_starved(const struct leveled *leveled, const struct leveled_view *view,
                        struct leveled_choice *out)
{
    const struct compaction_file *files = view->now->files;
    struct compaction_file span = leveled_span(view->now, out->files, out->count);
    unsigned top = LEVELED_LEVELS - 1;
    while (top && !view->of[top].count)
        top--;
    if (top <= out->to || leveled->waited[top] + 1 <= STARVED_AFTER || span.first == span.last)
        return;
    for (size_t i = 0; i < view->of[top].count; i++) {
        const struct compaction_file *file = &files[view->of[top].files[i]];
        if (!file_is_free(file) || file->first < span.first || file->last > span.last)
            continue;
        out->starved = view->of[top].files[i];
        out->files[out->count++] = out->starved;
        return;
    }
}

void leveled_choose(const struct leveled *leveled, const struct leveled_view *view,
                    struct arena *arena, struct leveled_choice *out)
{
    struct leveled_choice tiered = { 0 };
    bool is_crowded = choose_tiered(leveled, view, arena, &tiered);
    for (unsigned level = LEVELED_LEVELS - 2; level > 0; level--) {
        if (!is_full(leveled, view, level))
            continue;
        if (is_crowded) {
            *out = tiered;
            return;
        }
        if (choose_from(leveled, view, level, arena, out)) {
            add_starved(leveled, view, out);
            return;
        }
    }
    if (!choose_zero(leveled, view, arena, out))
        *out = tiered;
}
