/* compactor_seen.c - what a compactor shows: what runs, what is due, what has been done, counts.
 *
 * Everything is copied into the caller's arena.  What is due is measured anew; what would be next
 * and why is as of the last look, since making a pick is not free of traces (compactor_look.c).
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/compactor_inside.h"

#include <math.h>

enum { ETA_SECONDS_MAX = 1000 * 86400 };

/* Of late; in its first second, since it began. */
static double rate_of(const struct run *r)
{
    uint64_t ns = io_now(r->compactor->io) - r->began_ns;
    return r->rate > 0 || ns == 0 ? r->rate : (double)r->result.read_bytes / ((double)ns / 1e9);
}

/* A rate that fades while it stands still gives seconds beyond any number. */
static int64_t eta_of(uint64_t left, double rate)
{
    double seconds = rate > 0 ? (double)left / rate : INFINITY;
    return seconds < ETA_SECONDS_MAX ? (int64_t)(seconds + 0.5) : -1;
}

static struct compaction_running running_of(const struct run *r, struct arena *arena)
{
    const struct compact_result *x = &r->result;
    uint64_t left = x->total_bytes - u64_min(x->total_bytes, x->read_bytes);
    double rate = rate_of(r);
    return (struct compaction_running){
        .id = r->id,
        .task = r->task,
        .table = r->table->id,
        .kind = r->pick.kind,
        .is_asked = r->ask,
        .done_bytes = x->read_bytes,
        .total_bytes = x->total_bytes,
        .input_bytes = r->input_bytes,
        .written_bytes = x->written_bytes,
        .inputs = r->pick.count + r->pick.expired_count,
        .began_ns = r->began_ns,
        .bytes_per_second = rate,
        .eta_seconds = eta_of(left, rate),
        .token = x->token,
        .reason = arena_text(arena, bytes_text(r->pick.reason)),
    };
}

size_t compactor_running(const struct compactor *c, struct arena *arena,
                         struct compaction_running **out)
{
    size_t count = 0;
    *out = arena_array(arena, struct compaction_running, runs_of(c, NULL));
    for (const struct list *l = c->runs.next; l != &c->runs; l = l->next)
        (*out)[count++] = running_of(owner_of(l, struct run, link), arena);
    return count;
}

/* ---- what is due ---- */

static void due_of(struct compactor *c, struct tended *t, struct arena *arena, struct buf *out)
{
    struct look look;
    look_take(c, t, arena, &look);
    for (size_t i = 0; i < look.groups_count; i++) {
        struct tended_group *g = tended_group_of(c, t, &look.groups[i].id);
        const char *off = tended_is_off(t);
        struct compaction_due due = { .table = t->id, .group = g->id };
        due.levels_count = strategy_levels(g->strategy, &look.groups[i].now, arena, &due.levels);
        for (size_t k = 0; k < due.levels_count; k++) {
            due.pending += due.levels[k].pending;
            due.pending_bytes += due.levels[k].pending_bytes;
        }
        due.next = g->has_pick && !off ? g->pick.kind : COMPACTION_NONE;
        due.reason = arena_text(arena, bytes_text(off ? off : g->reason));
        buf_put(out, &due, sizeof due);
    }
    look_done(&look);
}

size_t compactor_due(struct compactor *c, const struct uuid *table, struct arena *arena,
                     struct compaction_due **out)
{
    struct buf all = buf_in(arena);
    size_t at = 0;
    tended_sync(c);
    for (struct tended *t; (t = map_next(&c->tables, &at));)
        if ((!table || uuid_equal(&t->id, table)) &&
            catalog_table_by_id(c->options.catalog, &t->id))
            due_of(c, t, arena, &all);
    *out = (struct compaction_due *)(void *)all.data;
    return all.size / sizeof **out;
}

size_t compactor_history(const struct compactor *c, struct arena *arena,
                         struct compaction_past **out)
{
    return notes_history(&c->notes, arena, out);
}

/* ---- counts ---- */

void compactor_counts(const struct compactor *c, struct compactor_counts *out)
{
    size_t at = 0;
    *out = c->counts;
    out->running = runs_of(c, NULL);
    out->pending = out->running;
    for (const struct tended *t; (t = map_next(&c->tables, &at));)
        for (const struct list *l = t->groups.next; l != &t->groups; l = l->next) {
            const struct tended_group *g = owner_of(l, struct tended_group, link);
            out->pending += g->pending;
            out->pending_bytes += g->pending_bytes;
        }
    for (const struct list *l = c->runs.next; l != &c->runs; l = l->next) {
        const struct compact_result *x = &owner_of(l, struct run, link)->result;
        out->slices += x->slices;
        out->slices_over += x->slices_over;
        out->slice_ns_max = u64_max(out->slice_ns_max, x->slice_ns_max);
    }
    out->slow_ns_a_kib = (uint64_t)c->pace.slow;
    out->bytes_per_second = c->pace.bytes_per_second;
    out->at_once = c->options.at_once;
}

uint64_t compactor_written(const struct compactor *c, const struct uuid *table)
{
    const struct tended *t = map_get(&c->tables, bytes_of(table->b, sizeof table->b));
    return t ? t->written_bytes : 0;
}
