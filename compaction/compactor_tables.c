/* compactor_tables.c - what a compactor tends: tables, the groups of their files, a strategy each.
 *
 *     catalog ──> struct tended ──> struct tended_group ──> struct strategy
 *                  ranges, average      (unrepaired first)     of the table's compaction
 *
 * Invariants:
 *   1. `tended->table` is counted: the strategies read its params.  They are made anew when ALTER
 *      has changed how the table is compacted, and the average of its flushes is handed over; the
 *      averages of repaired groups are the table's too.
 *   2. Who points to a tended counts itself in `users`; it goes when the catalog does not know the
 *      table any more and nobody points to it.
 *   3. Ranges are asked for when their version has changed, and before each use.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "compaction/compactor_inside.h"

#include <math.h>

bool groups_equal(const struct compaction_group *a, const struct compaction_group *b)
{
    return a->is_repaired == b->is_repaired && uuid_equal(&a->pending, &b->pending);
}

/* ---- groups ---- */

static void group_free(struct tended_group *g)
{
    list_remove(&g->link);
    strategy_free(&g->strategy);
    mem_free(g);
}

static struct tended_group *group_new(struct compactor *c, struct tended *t,
                                      const struct compaction_group *id)
{
    struct tended_group *g = mem_zalloc(sizeof *g);
    g->id = *id;
    g->strategy = strategy_new(&t->table->params->compaction, &c->options.scale);
    list_add(&t->groups, &g->link);
    return g;
}

struct tended_group *tended_find(const struct tended *t, const struct compaction_group *id)
{
    for (struct list *l = t->groups.next; l != &t->groups; l = l->next) {
        struct tended_group *g = owner_of(l, struct tended_group, link);
        if (groups_equal(&g->id, id))
            return g;
    }
    return NULL;
}

struct tended_group *tended_group_of(struct compactor *c, struct tended *t,
                                     const struct compaction_group *id)
{
    struct tended_group *g = tended_find(t, id), *first = tended_first(t);
    g = g ? g : group_new(c, t, id);
    if (g != first)
        strategy_set_flush_average(g->strategy, strategy_flush_average(first->strategy));
    return g;
}

void tended_drop_picks(struct tended *t)
{
    list_each(l, &t->groups) owner_of(l, struct tended_group, link)->has_pick = false;
    arena_deinit(&t->picks);
}

/* ---- tables ---- */

static struct tended *tended_new(struct compactor *c, struct table *table)
{
    struct tended *t = mem_zalloc(sizeof *t);
    const struct compaction_group unrepaired = { 0 };
    t->id = table->id;
    t->table = table;
    t->noted_average = NAN;
    t->must_look = true;
    t->is_off = c->is_all_off;
    t->ranges_version = UINT64_MAX;
    table_ref(table);
    list_init(&t->groups);
    (void)group_new(c, t, &unrepaired);
    map_put(&c->tables, bytes_of(t->id.b, sizeof t->id.b), t);
    return t;
}

static void tended_free(struct compactor *c, struct tended *t)
{
    ensure(t->users == 0);
    void *was = map_remove(&c->tables, bytes_of(t->id.b, sizeof t->id.b));
    ensure(was == t);
    list_each(l, &t->groups) group_free(owner_of(l, struct tended_group, link));
    arena_deinit(&t->picks);
    arena_deinit(&t->ranges);
    table_unref(&t->table);
    mem_free(t);
}

struct tended *tended_of(struct compactor *c, const struct uuid *id)
{
    struct tended *t = map_get(&c->tables, bytes_of(id->b, sizeof id->b));
    if (t)
        return t;
    struct table *table = catalog_table_by_id(c->options.catalog, id);
    return table && !table->is_virtual ? tended_new(c, table) : NULL;
}

static bool params_equal(const struct compaction_params *a, const struct compaction_params *b)
{
    if (a->class != b->class || a->is_enabled != b->is_enabled || a->pairs_count != b->pairs_count)
        return false;
    for (size_t i = 0; i < 2 * a->pairs_count; i++)
        if (strcmp(a->pairs[i], b->pairs[i]) != 0)
            return false;
    return true;
}

bool tended_renew(struct compactor *c, struct tended *t)
{
    struct table *now = catalog_table_by_id(c->options.catalog, &t->id);
    const struct compaction_group unrepaired = { 0 };
    if (!now || now == t->table)
        return now;
    if (params_equal(&now->params->compaction, &t->table->params->compaction))
        return true;
    double average = strategy_flush_average(tended_first(t)->strategy);
    tended_drop_picks(t);
    list_each(l, &t->groups) group_free(owner_of(l, struct tended_group, link));
    table_unref(&t->table);
    table_ref(now);
    t->table = now;
    strategy_set_flush_average(group_new(c, t, &unrepaired)->strategy, average);
    t->must_look = true;
    return true;
}

static void tended_gone(struct compactor *c, struct tended *t)
{
    tended_drop_picks(t);
    t->must_look = false;
    list_each(l, &t->groups)
    {
        struct tended_group *g = owner_of(l, struct tended_group, link);
        g->has_files = false;
        g->pending = g->pending_bytes = g->backlog_bytes = 0;
    }
    list_each(l, &c->runs)
    {
        struct run *r = owner_of(l, struct run, link);
        if (r->table == t)
            op_stop(&r->op, ERR_STOPPED);
    }
}

/* One that can go; NULL: none. */
static struct tended *tended_lost(struct compactor *c)
{
    size_t at = 0;
    for (struct tended *t; (t = map_next(&c->tables, &at));) {
        if (tended_renew(c, t))
            continue;
        tended_gone(c, t);
        if (t->users == 0)
            return t;
    }
    return NULL;
}

void tended_sync(struct compactor *c)
{
    size_t at = 0;
    for (struct tended *lost; (lost = tended_lost(c));)
        tended_free(c, lost);
    for (struct table *table; (table = map_next(&c->options.catalog->tables, &at));)
        (void)tended_of(c, &table->id);
    c->catalog_epoch = c->options.catalog->epoch;
}

void tended_free_all(struct compactor *c)
{
    size_t at = 0;
    for (struct tended *t; (t = map_next(&c->tables, &at)); at = 0)
        tended_free(c, t);
    map_deinit(&c->tables);
}

const struct local_ranges *tended_ranges(struct compactor *c, struct tended *t)
{
    const struct compactor_options *o = &c->options;
    uint64_t version = o->ranges_version ? o->ranges_version(o->context) : 0;
    if (t->ranges_version == version)
        return &t->local;
    arena_deinit(&t->ranges);
    if (o->ranges)
        o->ranges(o->context, t->table, &t->ranges, &t->local);
    else
        local_ranges_make(&t->ranges, NULL, 0, 1, &t->local);
    t->ranges_version = version;
    return &t->local;
}

bool tended_waits(const struct tended *t)
{
    for (const struct list *l = t->groups.next; l != &t->groups; l = l->next)
        if (owner_of(l, struct tended_group, link)->is_kept)
            return true;
    return false;
}

const char *tended_is_off(const struct tended *t)
{
    if (!t->table->params->compaction.is_enabled)
        return "disabled: the table has compaction = {..., 'enabled': 'false'}";
    if (t->is_off)
        return "autocompaction is off";
    return t->asks ? "a compaction that was asked for comes first" : NULL;
}

void tended_note_average(struct compactor *c, struct tended *t, double tolerance)
{
    double average = strategy_flush_average(tended_first(t)->strategy);
    if (isnan(average) || fabs(average / t->noted_average - 1) <= tolerance)
        return;
    t->noted_average = average;
    notes_average(&c->notes, &t->id, average);
}

/* ---- what the store asks ---- */

static size_t policy_flush_cuts(void *context, const struct table *table, struct arena *arena,
                                const int64_t **out)
{
    struct compactor *c = context;
    struct tended *t = tended_of(c, &table->id);
    if (!t || !tended_renew(c, t))
        return 0;
    return strategy_flush_cuts(tended_first(t)->strategy, tended_ranges(c, t), arena, out);
}

static double policy_coverage(void *context, const struct table *table, int64_t first, int64_t last)
{
    struct compactor *c = context;
    struct tended *t = tended_of(c, &table->id);
    return t ? local_coverage_raw(tended_ranges(c, t), first, last) : NAN;
}

/* Five percent: an average moves by half a percent a flush, and a note costs a sync. */
static void policy_changed(void *context, const struct uuid *table, uint64_t flushed_bytes,
                           unsigned flushed_files)
{
    struct compactor *c = context;
    struct tended *t = tended_of(c, table);
    if (!t)
        return;
    if (flushed_files) {
        strategy_flushed(tended_first(t)->strategy, flushed_bytes);
        tended_note_average(c, t, 0.05);
    }
    t->must_look = true;
    compactor_wake(c);
}

void tended_set_policy(struct compactor *c)
{
    const struct store_policy policy = { .context = c,
                                         .flush_cuts = policy_flush_cuts,
                                         .coverage = policy_coverage,
                                         .changed = policy_changed };
    store_set_policy(c->options.store, &policy);
}
