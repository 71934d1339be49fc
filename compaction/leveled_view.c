/* leveled_view.c - which file counts as of which level.
 *
 *     level 1   [--- a ---]   [-- b --]            a, b, d: level 1
 *                      [-- c --]      [- d -]      c shares keys with a and b: counts as level 0
 *
 * A file has its level in Statistics.db.  Files that came from elsewhere (an import, a stream,
 * ALTER TABLE from another strategy and back) may lie over others of their level.  Cassandra writes
 * such a file's metadata anew, with level 0; here it counts as one of level 0 for as long as it
 * shares a key with the level, and no file is touched: its next compaction writes it where it
 * belongs.  Of two that meet the younger one goes, that with the greater id.
 *
 * Invariant: of[1] to of[8] share no key inside of a level, whatever the files are.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/leveled.h"

static void put(struct leveled_view *view, unsigned level, size_t place)
{
    view->levels[place] = level;
    view->of[level].files[view->of[level].count++] = place;
}

/* The next file of the level, by first key: it and the last one kept, or one of the two. */
static void keep(struct leveled_view *view, unsigned level, size_t place)
{
    struct leveled_set *set = &view->of[level];
    const struct compaction_file *files = view->now->files;
    if (set->count && files_meet(&files[set->files[set->count - 1]], &files[place])) {
        size_t *last = &set->files[set->count - 1], younger = place;
        if (files[*last].id > files[place].id) {
            younger = *last;
            *last = place;
            view->levels[place] = level;
        }
        put(view, 0, younger);
        return;
    }
    put(view, level, place);
}

void leveled_view_make(const struct compaction_now *now, struct arena *arena,
                       struct leveled_view *out)
{
    size_t *sorted = arena_array(arena, size_t, now->files_count);
    *out = (struct leveled_view){ .now = now,
                                  .levels = arena_array(arena, unsigned, now->files_count) };
    for (size_t i = 0; i < now->files_count; i++) {
        uint32_t level = now->files[i].level;
        sorted[i] = i;
        out->of[level < LEVELED_LEVELS ? level : LEVELED_LEVELS - 1].count++;
    }
    out->of[0].count = now->files_count; /* any may come to it */
    for (unsigned i = 0; i < LEVELED_LEVELS; i++) {
        out->of[i].files = arena_array(arena, size_t, out->of[i].count);
        out->of[i].count = 0;
    }
    files_sort(now, sorted, now->files_count, file_first);
    for (size_t i = 0; i < now->files_count; i++) {
        uint32_t level = now->files[sorted[i]].level;
        if (level)
            keep(out, level < LEVELED_LEVELS ? level : LEVELED_LEVELS - 1, sorted[i]);
        else
            put(out, 0, sorted[i]);
    }
    files_sort(now, out->of[0].files, out->of[0].count, file_first);
}
