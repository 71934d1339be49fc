/* compactor_look.c - one table's files as descriptions, and what is due among them.
 *
 *     store_list_files ──> descriptions, group by group ──> levels: what is due, in numbers
 *                          (busy: an input of what runs)└─> a pick, where one may begin
 *
 * A look is one turn: what is busy and what there is are of the same moment.  The store's hold on
 * the files ends with it, since it keeps replaced ones on the disk; so descriptions have nothing of
 * a file but copies.
 *
 * A pick is made only where it could begin: some strategies look for expired files at intervals,
 * and one that was made and not begun would have looked in vain.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/compactor_inside.h"

static struct compaction_group group_of(const struct store_file *f)
{
    struct compaction_group group = { 0 };
    if (f->statistics->has_pending_repair)
        group.pending = f->statistics->pending_repair;
    else
        group.is_repaired = f->statistics->repaired_at != 0;
    return group;
}

static struct compaction_file describe(const struct compactor *c, const struct tended *t,
                                       const struct store_file *f)
{
    const struct statistics *s = f->statistics;
    return (struct compaction_file){
        .id = f->name.generation,
        .first = f->first_token,
        .last = f->last_token,
        .first_key = f->first_key,
        .last_key = f->last_key,
        .bytes = f->data_bytes,
        .all_bytes = f->all_bytes,
        .coverage = s->token_coverage,
        .timestamp_min = s->timestamp_min,
        .timestamp_max = s->timestamp_max,
        .seconds_max = s->seconds_max,
        .level = s->level,
        .created_seconds = f->created_seconds,
        .partitions = f->partitions,
        .cells_a_partition = (double)spread_mean(&s->partition_cells),
        .drop_times = &s->drop_times,
        .is_busy = f->is_busy || runs_have(c, t, f->name.generation),
        .is_suspect = f->damage,
        .is_shared = f->is_shared,
    };
}

/* The files of the group first, then the others. */
static void look_fill(struct compactor *c, struct tended *t, const struct store_file_list *list,
                      struct arena *arena, struct look_group *g)
{
    struct compaction_file *files = arena_array(arena, struct compaction_file, list->count);
    size_t mine = 0, others = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct compaction_group group = group_of(&list->files[i]);
        struct compaction_file file = describe(c, t, &list->files[i]);
        if (groups_equal(&group, &g->id))
            files[mine++] = file;
        else
            files[list->count - ++others] = file;
    }
    int64_t now = io_wall(c->io) / 1000000;
    const struct table *table = catalog_table_by_id(c->options.catalog, &t->id);
    const struct table_params *params = (table ? table : t->table)->params;
    g->now = (struct compaction_now){
        .files = files,
        .files_count = mine,
        .others = files + mine,
        .others_count = others,
        .memtables_timestamp_min = store_memtables_timestamp_min(c->options.store, &t->id),
        .local = tended_ranges(c, t),
        .now_seconds = now,
        .gc_before = now - params->gc_grace_seconds,
        .purges_nothing = params->compaction.purges_only_repaired && !g->id.is_repaired,
        .chance = &c->chance,
    };
}

static bool look_has(const struct look *look, const struct compaction_group *group)
{
    for (size_t i = 0; i < look->groups_count; i++)
        if (groups_equal(&look->groups[i].id, group))
            return true;
    return false;
}

void look_take(struct compactor *c, struct tended *t, struct arena *arena, struct look *out)
{
    *out = (struct look){ 0 };
    store_list_files(c->options.store, &t->id, arena, &out->list);
    out->groups = arena_array(arena, struct look_group, out->list.count);
    for (size_t i = 0; i < out->list.count; i++) {
        struct compaction_group group = group_of(&out->list.files[i]);
        if (look_has(out, &group))
            continue;
        struct look_group *g = &out->groups[out->groups_count++];
        g->id = group;
        look_fill(c, t, &out->list, arena, g);
    }
}

void look_done(struct look *look)
{
    for (size_t i = 0; i < look->groups_count; i++) {
        struct compaction_now *now = &look->groups[i].now;
        struct compaction_file *files = (struct compaction_file *)now->files;
        for (size_t k = 0; k < now->files_count + now->others_count; k++)
            files[k].drop_times = NULL;
    }
    store_files_done(&look->list);
}

/* ---- what is due ---- */

/* One compaction that is due at a level is how every setting lives: it runs, or it is the next.
 * What is due beyond it has piled up. */
double late_share(uint64_t pending)
{
    return pending > 1 ? (double)(pending - 1) / (double)pending : 0;
}

static void group_measure(struct tended_group *g, const struct compaction_now *now,
                          struct arena *arena)
{
    struct compaction_level *levels;
    size_t count = strategy_levels(g->strategy, now, arena, &levels);
    g->pending = g->pending_bytes = g->backlog_bytes = 0;
    memset(g->pending_at, 0, sizeof g->pending_at);
    for (size_t i = 0; i < count; i++) {
        uint64_t pending = levels[i].pending, bytes = levels[i].pending_bytes;
        g->pending += pending;
        g->pending_bytes += bytes;
        g->pending_at[u64_min(i, COMPACTOR_LEVELS - 1)] += pending;
        g->backlog_bytes += (uint64_t)((double)bytes * late_share(pending));
    }
}

/* Why nothing of it may begin now; NULL: it may. */
static const char *group_must_rest(const struct compactor *c, const struct tended *t,
                                   struct tended_group *g)
{
    bool is_extra;
    const char *off = tended_is_off(t);
    g->is_kept = false;
    if (off)
        return off;
    if (g->rests_until_ns > io_now(c->io))
        return g->rests_why;
    g->is_kept = !compactor_has_room(c, NULL, 0, &is_extra);
    return g->is_kept ? "as many run as may run at once: it is next" : NULL;
}

static void group_pick(struct compactor *c, struct tended *t, struct tended_group *g)
{
    const char *why = group_must_rest(c, t, g);
    if (why) {
        snprintf(g->reason, sizeof g->reason, "%s", why);
        return;
    }
    strategy_pick(g->strategy, &g->now, &t->picks, &g->pick);
    g->has_pick = g->pick.kind != COMPACTION_NONE;
    snprintf(g->reason, sizeof g->reason, "%s",
             g->has_pick ? g->pick.reason : "nothing is due by the table's settings");
}

void look_at(struct compactor *c, struct tended *t)
{
    struct look look;
    t->must_look = false;
    tended_drop_picks(t);
    list_each(l, &t->groups) owner_of(l, struct tended_group, link)->has_files = false;
    look_take(c, t, &t->picks, &look);
    for (size_t i = 0; i < look.groups_count; i++) {
        struct tended_group *g = tended_group_of(c, t, &look.groups[i].id);
        g->has_files = true;
        g->now = look.groups[i].now;
        group_measure(g, &g->now, &t->picks);
        group_pick(c, t, g);
    }
    look_done(&look);
    bool is_any = false;
    list_each(l, &t->groups)
    {
        struct tended_group *g = owner_of(l, struct tended_group, link);
        is_any |= g->has_pick;
        if (!g->has_files) {
            g->pending = g->pending_bytes = g->backlog_bytes = 0;
            g->is_kept = false;
        }
    }
    if (!is_any)
        tended_drop_picks(t);
}
