/* compactions.c - see compactions.h: asking the shards, and adding up what they say.
 *
 * Levels of different shards are the same levels: each shard sees its share of the ring.  What a
 * level of the node has is therefore the sum; a key is on one shard alone, so the most files over
 * one key is the greatest of the shards' figures.  Buckets of SizeTiered are added by their number,
 * windows of TimeWindow by their time.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/compactions.h"

#include <stdlib.h>

/* ---- on each shard ---- */

static void tables_take(struct shard *s, struct arena *arena, struct compactions_told *told)
{
    const struct catalog *catalog = &s->catalog;
    size_t at = 0;
    told->tables = arena_array(arena, struct compactions_table, catalog->tables.count + 1);
    for (const struct table *t; (t = map_next(&catalog->tables, &at));)
        if (!t->is_virtual)
            told->tables[told->tables_count++] =
                (struct compactions_table){ t->id, compactor_is_enabled(s->compactor, &t->id),
                                            compactor_written(s->compactor, &t->id) };
}

struct compactions_told *compactions_take(struct shard *s, struct arena *arena)
{
    if (!s->compactor)
        return NULL;
    struct compactions_told *told = arena_new(arena, struct compactions_told);
    compactor_counts(s->compactor, &told->counts);
    told->running_count = compactor_running(s->compactor, arena, &told->running);
    told->due_count = compactor_due(s->compactor, NULL, arena, &told->due);
    tables_take(s, arena, told);
    return told;
}

struct compactor *errand_compactor(struct errand *e)
{
    if (!e->shard->compactor)
        e->wait.err = report_set(&e->failed, ERR_OVERLOADED, "compaction is not open yet");
    return e->shard->compactor;
}

static void compactions_begin(struct errand *e)
{
    if (errand_compactor(e))
        e->result = compactions_take(e->shard, &e->arena);
}

static void history_begin(struct errand *e)
{
    struct compactor *compactor = errand_compactor(e);
    struct compactions_told *told = arena_new(&e->arena, struct compactions_told);
    e->result = told;
    if (compactor)
        told->history_count = compactor_history(compactor, &e->arena, &told->history);
}

const struct errand_kind errand_compactions = { .begin = compactions_begin, .needs_store = true };
const struct errand_kind errand_compaction_history = { .begin = history_begin,
                                                       .needs_store = true };

/* ---- names ---- */

const char *compaction_kind_name(enum compaction_kind kind)
{
    static const char *const names[] = { [COMPACTION_NONE] = "none",
                                         [COMPACTION_MERGE] = "compaction",
                                         [COMPACTION_TOMBSTONES] = "tombstone compaction",
                                         [COMPACTION_EXPIRED] = "removal of expired files",
                                         [COMPACTION_RELEVEL] = "change of level" };
    return names[kind];
}

const char *compaction_group_name(const struct compaction_group *g, struct arena *arena)
{
    char id[UUID_TEXT_BYTES];
    if (uuid_is_zero(&g->pending))
        return g->is_repaired ? "repaired" : "unrepaired";
    uuid_print(&g->pending, id);
    return arena_printf(arena, "pending %s", id);
}

const char *compaction_strategy_name(const struct table *t)
{
    return compaction_class_name(t->params->compaction.class);
}

/* ---- levels ---- */

static bool is_same_group(const struct compaction_group *a, const struct compaction_group *b)
{
    return a->is_repaired == b->is_repaired && uuid_equal(&a->pending, &b->pending);
}

static bool is_same_level(const struct compactions_level *a, const struct compactions_level *b)
{
    bool have_windows = a->sum.window || b->sum.window;
    return is_same_group(&a->group, &b->group) &&
           (have_windows ? a->sum.window == b->sum.window : a->number == b->number);
}

static void level_add(struct compaction_level *into, const struct compaction_level *from)
{
    into->low = from->low < into->low ? from->low : into->low;
    into->high = from->high > into->high ? from->high : into->high;
    into->files += from->files;
    into->bytes += from->bytes;
    into->overlap = from->overlap > into->overlap ? from->overlap : into->overlap;
    into->pending += from->pending;
    into->pending_bytes += from->pending_bytes;
}

static int level_order(const void *left, const void *right)
{
    const struct compactions_level *a = left, *b = right;
    int order = memcmp(a->group.pending.b, b->group.pending.b, sizeof a->group.pending.b);
    if (order || a->group.is_repaired != b->group.is_repaired)
        return order ? order : a->group.is_repaired - b->group.is_repaired;
    if (a->sum.window != b->sum.window)
        return a->sum.window > b->sum.window ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static size_t levels_room(const struct compactions_told *const *shards, int count,
                          const struct uuid *table)
{
    size_t room = 1;
    for (int i = 0; i < count; i++)
        for (size_t k = 0; shards[i] && k < shards[i]->due_count; k++)
            if (uuid_equal(&shards[i]->due[k].table, table))
                room += shards[i]->due[k].levels_count;
    return room;
}

static void due_add(struct compactions_level *levels, size_t *count,
                    const struct compaction_due *due)
{
    for (size_t l = 0; l < due->levels_count; l++) {
        struct compactions_level one = { due->group, (unsigned)l, due->levels[l] };
        size_t at = 0;
        while (at < *count && !is_same_level(&levels[at], &one))
            at++;
        if (at < *count)
            level_add(&levels[at].sum, &one.sum);
        else
            levels[(*count)++] = one;
    }
}

size_t compactions_levels(const struct compactions_told *const *shards, int count,
                          const struct uuid *table, struct arena *arena,
                          struct compactions_level **out)
{
    size_t levels_count = 0;
    *out = arena_array(arena, struct compactions_level, levels_room(shards, count, table));
    for (int i = 0; i < count; i++)
        for (size_t k = 0; shards[i] && k < shards[i]->due_count; k++)
            if (uuid_equal(&shards[i]->due[k].table, table))
                due_add(*out, &levels_count, &shards[i]->due[k]);
    qsort(*out, levels_count, sizeof **out, level_order);
    for (size_t i = 0, first = 0; i < levels_count; i++) { /* windows: numbered as they stand */
        if (!is_same_group(&(*out)[i].group, &(*out)[first].group))
            first = i;
        if ((*out)[i].sum.window)
            (*out)[i].number = (unsigned)(i - first);
    }
    return levels_count;
}

const struct compactions_told *const *compactions_of(const struct errands *errands,
                                                     struct arena *arena)
{
    const struct compactions_told **shards =
        arena_array(arena, const struct compactions_told *, (size_t)errands->count);
    for (int i = 0; i < errands->count; i++)
        shards[i] = errands->each[i].result;
    return shards;
}

/* ---- history ---- */

static int past_order(const void *left, const void *right)
{
    const struct compaction_past *a = *(const struct compaction_past *const *)left;
    const struct compaction_past *b = *(const struct compaction_past *const *)right;
    if (a->ended_ms != b->ended_ms)
        return a->ended_ms > b->ended_ms ? -1 : 1;
    return memcmp(b->id.b, a->id.b, sizeof a->id.b);
}

size_t compaction_history_sorted(const struct errands *errands, struct arena *arena,
                                 const struct compaction_past ***out)
{
    size_t count = 0, room = 1;
    for (int i = 0; i < errands->count; i++) {
        const struct compactions_told *told = errands->each[i].result;
        room += told ? told->history_count : 0;
    }
    *out = arena_array(arena, const struct compaction_past *, room);
    for (int i = 0; i < errands->count; i++) {
        const struct compactions_told *told = errands->each[i].result;
        for (size_t k = 0; told && k < told->history_count; k++)
            (*out)[count++] = &told->history[k];
    }
    qsort(*out, count, sizeof(const struct compaction_past *), past_order);
    return count;
}
