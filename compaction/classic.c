/* classic.c - orders of files, what a level holds, and the compaction of a single file: what the
 * three classic strategies have in common.
 *
 * Invariant: orders are total.  Files that are equal in what is compared come by id, so that the
 * same files give the same pick on every machine.
 *
 * Facts: compaction.md 4.1.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/classic.h"

#include "compaction/overlap.h"

bool file_smaller(const struct compaction_file *a, const struct compaction_file *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->id < b->id;
}

bool file_larger(const struct compaction_file *a, const struct compaction_file *b)
{
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->id < b->id;
}

bool file_older(const struct compaction_file *a, const struct compaction_file *b)
{
    return a->timestamp_max != b->timestamp_max ? a->timestamp_max < b->timestamp_max
                                                : a->id < b->id;
}

bool file_first(const struct compaction_file *a, const struct compaction_file *b)
{
    if (a->first != b->first)
        return a->first < b->first;
    int order = bytes_compare(a->first_key, b->first_key);
    return order ? order < 0 : a->id < b->id;
}

static void sink(const struct compaction_file *files, size_t *places, size_t at, size_t count,
                 files_before before)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(&files[places[child]], &files[places[child + 1]]))
            child++;
        if (!before(&files[places[at]], &files[places[child]]))
            return;
        size_t place = places[at];
        places[at] = places[child];
        places[child] = place;
    }
}

/* A heap sort: the order needs the files, which qsort would not hand on. */
void files_sort(const struct compaction_now *now, size_t *places, size_t count, files_before before)
{
    for (size_t i = count / 2; i-- > 0;)
        sink(now->files, places, i, count, before);
    for (size_t i = count; i-- > 1;) {
        size_t last = places[0];
        places[0] = places[i];
        places[i] = last;
        sink(now->files, places, 0, i, before);
    }
}

size_t files_free(const struct compaction_now *now, struct arena *arena, size_t **out)
{
    size_t count = 0;
    *out = arena_array(arena, size_t, now->files_count);
    for (size_t i = 0; i < now->files_count; i++)
        if (file_is_free(&now->files[i]))
            (*out)[count++] = i;
    return count;
}

size_t level_fill(const struct compaction_now *now, const size_t *places, size_t count,
                  struct arena *arena, struct compaction_level *out)
{
    size_t free = 0;
    struct overlaps overlaps;
    overlaps_make(now->files, places, count, arena, &overlaps);
    *out = (struct compaction_level){ .files = count,
                                      .bytes = files_bytes(now, places, count),
                                      .overlap = overlaps.most };
    for (size_t i = 0; i < count; i++) {
        const struct compaction_file *file = &now->files[places[i]];
        free += file_is_free(file);
        out->pending_bytes += file_is_free(file) ? file->bytes : 0;
    }
    return free;
}

bool tombstones_take(const struct strategy *strategy, const struct compaction_now *now,
                     const size_t *places, size_t count, struct arena *arena,
                     struct compaction_pick *out)
{
    struct garbage_rule rule = { strategy->tombstone_threshold,
                                 strategy->tombstone_interval_seconds, strategy->is_unchecked };
    size_t place = garbage_first_worth(now, places, count, &rule, arena);
    if (place == SIZE_MAX)
        return false;
    pick_take(out, arena, &place, 1, 0);
    out->kind = COMPACTION_TOMBSTONES;
    pick_because(out,
                 "nothing is due to be merged; of one file %.0f%% of the cells can be purged, more "
                 "than tombstone_threshold %.4g",
                 100 * garbage_ratio(&now->files[place], now->gc_before), rule.threshold);
    return true;
}

void files_asked(struct strategy *strategy, const struct compaction_now *now, const size_t *files,
                 size_t count, struct arena *arena, struct compaction_pick *out)
{
    (void)strategy, (void)now;
    pick_take(out, arena, files, count, 0);
    pick_because(out, "named by a person: %zu file%s", count, count == 1 ? "" : "s");
}
