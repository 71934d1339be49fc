/* leveled.c - LeveledCompactionStrategy: few files over a key, for many rewrites.
 *
 *     level 0   flushes, over one another                       a read looks into each
 *     level 1   [----][----][----]          fanout * size       ... and into one of each level
 *     level 2   [----][----][----][----] ...  fanout^2 * size
 *
 * A compaction takes a file from a level that is over its target, together with what it meets in
 * the next one, and writes files of sstable_size_in_mb there (leveled_choice.c).  When nothing of
 * that kind is due, a file with much to purge is compacted alone and stays in its level: the
 * highest level first.
 *
 * What is remembered between picks is small and may be lost: where a level's last compaction ended,
 * and how long each level waits to be written to.  It moves on when a compaction has been done, not
 * when it is picked: a pick may be made only to be looked at.
 *
 * Facts: compaction.md 5, 8 (major compactions).
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/leveled.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static struct leveled *leveled_of(struct strategy *strategy)
{
    return owner_of(strategy, struct leveled, strategy);
}

double leveled_target(const struct leveled *leveled, unsigned level)
{
    double size = (double)leveled->bytes;
    return level ? pow((double)leveled->fanout, level) * size : 4 * size;
}

static struct strategy *leveled_make(const struct compaction_params *params,
                                     const struct strategy_scale *scale)
{
    struct leveled *leveled = mem_zalloc(sizeof *leveled);
    (void)scale; /* only Unified builds on flush sizes */
    tiered_rules_of(params, &leveled->tiered);
    leveled->bytes = (uint64_t)compaction_whole(params, "sstable_size_in_mb", 160) << 20;
    leveled->fanout = (uint64_t)compaction_whole(params, "fanout_size", 10);
    leveled->moves_single = compaction_flag(params, "single_sstable_uplevel", false);
    return &leveled->strategy;
}

static void leveled_release(struct strategy *strategy) { mem_free(leveled_of(strategy)); }

/* ---- picks ---- */

static void because(const struct leveled *leveled, const struct leveled_view *view,
                    const struct leveled_choice *choice, struct compaction_pick *out)
{
    char has[SIZE_TEXT_BYTES], may[SIZE_TEXT_BYTES];
    const struct leveled_set *set = &view->of[choice->from];
    uint64_t bytes = files_bytes(view->now, set->files, set->count);
    size_text((double)bytes, has);
    size_text(choice->from ? leveled_target(leveled, choice->from) : (double)leveled->bytes, may);
    if (choice->is_tiered)
        pick_because(out, "level 0 is crowded with %zu files: %zu of like size become one",
                     set->count, choice->count);
    else if (!choice->to)
        pick_because(out, "level 0 has %zu files to merge, together not more than an output (%s)",
                     choice->count, may);
    else if (!choice->from)
        pick_because(out, "level 0 has %s to merge, more than an output (%s): into level 1", has,
                     may);
    else
        pick_because(out, "level %u has %s, more than its %s: a file goes to level %u%s",
                     choice->from, has, may, choice->to,
                     choice->starved == SIZE_MAX ? "" : ", with one of a level that waited long");
}

/* Compactions that are due, as Cassandra estimates: of what is over the target, each takes one
 * output's worth. */
static uint64_t due_of(const struct leveled *leveled, const struct compaction_level *level,
                       unsigned number)
{
    double over = (double)level->bytes - trunc(leveled_target(leveled, number) * LEVELED_FULL);
    uint64_t due = over > 0 ? (uint64_t)ceil(over / (double)leveled->bytes) : 0;
    if (!number && level->files > leveled->tiered.threshold_max)
        due += level->files / leveled->tiered.threshold_max;
    return due;
}

static double priority_of(const struct leveled *leveled, const struct leveled_view *view)
{
    double due = 0;
    for (unsigned i = 0; i < LEVELED_LEVELS; i++) {
        const struct leveled_set *set = &view->of[i];
        struct compaction_level level = { .files = set->count,
                                          .bytes = files_bytes(view->now, set->files, set->count) };
        due += (double)due_of(leveled, &level, i);
    }
    return due < 1 ? 1 : due;
}

struct ranked {
    size_t place;
    unsigned level;
    double ratio;
};
static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->level != y->level)
        return x->level > y->level ? -1 : 1;
    if (x->ratio != y->ratio)
        return x->ratio > y->ratio ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* The highest level first, and of it the file with most to purge. */
static void pick_tombstones(struct leveled *leveled, const struct leveled_view *view,
                            struct arena *arena, struct compaction_pick *out)
{
    const struct compaction_now *now = view->now;
    size_t *files, count = files_free(now, arena, &files);
    struct ranked *ranked = arena_array(arena, struct ranked, count);
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){ files[i], view->levels[files[i]],
                                     garbage_ratio(&now->files[files[i]], now->gc_before) };
    qsort(ranked, count, sizeof *ranked, by_rank);
    for (size_t i = 0; i < count; i++)
        files[i] = ranked[i].place;
    if (!tombstones_take(&leveled->strategy, now, files, count, arena, out))
        return;
    unsigned level = view->levels[out->files[0]];
    out->level = (int)level;
    *out->outputs = (struct compact_output){ level ? leveled->bytes : UINT64_MAX, level };
}

static void leveled_pick(struct strategy *strategy, const struct compaction_now *now,
                         struct arena *arena, struct compaction_pick *out)
{
    struct leveled *leveled = leveled_of(strategy);
    struct leveled_view view;
    struct leveled_choice choice;
    leveled_view_make(now, arena, &view);
    leveled_choose(leveled, &view, arena, &choice);
    if (!choice.count) {
        pick_tombstones(leveled, &view, arena, out);
        return;
    }
    pick_take(out, arena, choice.files, choice.count, choice.to);
    out->level = (int)choice.from;
    out->last = leveled_span(now, choice.files, choice.count).last;
    out->priority = priority_of(leveled, &view);
    if (choice.to)
        out->outputs->bytes = leveled->bytes;
    if (choice.count == 1 && leveled->moves_single)
        out->kind = COMPACTION_RELEVEL;
    because(leveled, &view, &choice, out);
}

/* Only what left a level counts, and only compactions from level 1 on make others wait. */
static void leveled_done(struct strategy *strategy, const struct compaction_pick *pick)
{
    struct leveled *leveled = leveled_of(strategy);
    bool is_move = pick->kind == COMPACTION_MERGE || pick->kind == COMPACTION_RELEVEL;
    if (!is_move || pick->level < 1 || pick->level >= LEVELED_LEVELS)
        return;
    leveled->has_last[pick->level] = true;
    leveled->last[pick->level] = pick->last;
    for (unsigned i = 1; i < LEVELED_LEVELS; i++)
        leveled->waited[i]++;
    ensure(pick->outputs->level < LEVELED_LEVELS);
    leveled->waited[pick->outputs->level] = 0;
}

/* Into level 1 no more than level 0 is asked to give; what is of level 1 must come along. */
static bool leveled_spares(const struct compaction_now *now, const struct compaction_pick *pick,
                           size_t place)
{
    size_t zeros = 0;
    for (size_t i = 0; i < pick->count; i++)
        zeros += !now->files[pick->files[i]].level;
    return pick->outputs->level <= 1 && !now->files[place].level && zeros > 1;
}

/* ---- everything; what a person named ---- */

/* Outputs that fill level 1 to its target, then level 2, ...; one more than the inputs would need.
 */
static void fill_levels(const struct leveled *leveled, uint64_t bytes, struct arena *arena,
                        struct compaction_pick *pick)
{
    double left = leveled_target(leveled, 1);
    uint32_t level = 1;
    pick->outputs_count = bytes / leveled->bytes + 1;
    pick->outputs = arena_array(arena, struct compact_output, pick->outputs_count);
    for (size_t i = 0; i < pick->outputs_count; i++) {
        if (left < (double)leveled->bytes && level < LEVELED_LEVELS - 1)
            left = leveled_target(leveled, ++level);
        pick->outputs[i] = (struct compact_output){ leveled->bytes, level };
        left -= (double)leveled->bytes;
    }
}

static bool leveled_major(struct strategy *strategy, const struct compaction_now *now, bool splits,
                          size_t i, struct arena *arena, struct compaction_pick *out)
{
    size_t *files, count = files_free(now, arena, &files);
    (void)splits; /* --split-output is SizeTiered's */
    if (i || !count)
        return false;
    pick_take(out, arena, files, count, 1);
    fill_levels(leveled_of(strategy), files_bytes(now, files, count), arena, out);
    pick_because(out, "everything was asked for: %zu files into levels 1 to %u", count,
                 out->outputs[out->outputs_count - 1].level);
    return true;
}

/* Several become one file of level 0; a single one stays in its level. */
static void leveled_these(struct strategy *strategy, const struct compaction_now *now,
                          const size_t *files, size_t count, struct arena *arena,
                          struct compaction_pick *out)
{
    files_asked(strategy, now, files, count, arena, out);
    struct leveled_view view;
    leveled_view_make(now, arena, &view);
    unsigned level = count == 1 ? view.levels[files[0]] : 0;
    if (level)
        *out->outputs = (struct compact_output){ leveled_of(strategy)->bytes, level };
}

static size_t leveled_levels(struct strategy *strategy, const struct compaction_now *now,
                             struct arena *arena, struct compaction_level **out)
{
    const struct leveled *leveled = leveled_of(strategy);
    struct leveled_view view;
    unsigned count = 0;
    leveled_view_make(now, arena, &view);
    *out = arena_array(arena, struct compaction_level, LEVELED_LEVELS);
    for (unsigned i = 0; i < LEVELED_LEVELS; i++) {
        struct compaction_level *level = &(*out)[i];
        level_fill(now, view.of[i].files, view.of[i].count, arena, level);
        level->high = leveled_target(leveled, i);
        level->pending = due_of(leveled, level, i);
        level->pending_bytes = u64_min(level->pending_bytes, level->pending * leveled->bytes);
        count = level->files ? i + 1 : count;
    }
    return count;
}

const struct strategy_kind strategy_leveled = {
    .make = leveled_make,
    .release = leveled_release,
    .pick = leveled_pick,
    .done = leveled_done,
    .spares = leveled_spares,
    .major = leveled_major,
    .these = leveled_these,
    .levels = leveled_levels,
};
