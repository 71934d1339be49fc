/* compactor_plan.c - what another setting would do, and why a file is still here; in sentences.
 *
 *     plan:  the table's files as they are ──> forecasts with its own params and with the new ones
 *            ──> (a worker) steps, figures ──> ended
 *     why:   one file, the others, the memtables ──> what keeps it, and from when it can go
 *
 * Nothing is changed.  Groups of other repair states are planned each by itself and added up.
 * Forecasts are made where the files are and have copies of all that they need; what they foresee
 * is pure and takes long.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/calendar.h"
#include "base/mem.h"
#include "compaction/compactor_inside.h"
#include "compaction/garbage.h"
#include "compaction/strategy_inside.h"

#include <stdarg.h>

enum { STEPS_MAX = 100, FLUSHES_MIN = 16, FLUSHES_MAX = 64 };

struct sentences {
    struct arena *arena;
    struct buf list; /* const char * */
    size_t left_out;
};

static void say(struct sentences *s, const char *format, ...) printf_like(2, 3);
static void say(struct sentences *s, const char *format, ...)
{
    char text[700];
    va_list args;
    if (s->list.size / sizeof(char *) >= STEPS_MAX) {
        s->left_out++;
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *copy = arena_text(s->arena, bytes_text(text));
    buf_put(&s->list, &copy, sizeof copy);
}

static size_t sentences_end(struct sentences *s, const char ***out)
{
    if (s->left_out) {
        const char *more = arena_printf(s->arena, "... and %zu more", s->left_out);
        buf_put(&s->list, &more, sizeof more);
    }
    *out = (const char **)(void *)s->list.data;
    return s->list.size / sizeof(char *);
}

static enum err no_table(struct report *report)
{
    return report_set(report, ERR_NOT_FOUND, "there is no such table");
}

/* ---- plan ---- */

static void plan_step(void *context, const struct forecast_step *step)
{
    struct sentences *s = context;
    const struct compaction_pick *p = step->pick;
    char size[SIZE_TEXT_BYTES], to_size[SIZE_TEXT_BYTES];
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->count; i++)
        bytes += step->files[p->files[i]].bytes;
    size_text((double)bytes, size);
    if (p->kind == COMPACTION_EXPIRED)
        say(s, "%zu expired files go unread: %s", p->expired_count, p->reason);
    else if (p->kind == COMPACTION_RELEVEL)
        say(s, "one file of %s changes its level: %s", size, p->reason);
    else
        say(s, "%zu files of %s become %s: %s", p->count, size,
            size_text((double)step->output_bytes, to_size), p->reason);
}

static void figures_add(struct forecast_figures *into, const struct forecast_figures *f)
{
    into->flushes += f->flushes;
    into->flushed_bytes += f->flushed_bytes;
    into->compactions += f->compactions;
    into->written_bytes += f->written_bytes;
    into->files += f->files;
    into->bytes += f->bytes;
    into->peak_bytes += f->peak_bytes;
    into->files_a_key += f->files_a_key;
    into->files_a_read += f->files_a_read;
    into->floor_bytes += f->floor_bytes;
}

enum { PLAN_BEGIN, PLAN_END };

struct planned { /* a group */
    struct forecast *own, *other;
    bool is_fed;
};
struct planning {
    struct op op;
    struct io *io;
    struct io_req *done, req;
    struct table *table; /* counted: its params */
    struct table_params params;
    struct compaction_plan *out;
    struct sentences sentences;
    size_t count;
    struct planned *groups;
};

static struct planning *planning_of(struct op *op) { return owner_of(op, struct planning, op); }

/* What it costs while more is written. */
static void plan_later(struct forecast *f, const struct forecast_figures *settled,
                       const struct compaction_plan *plan, struct forecast_figures *out)
{
    struct forecast_figures figures;
    double files_a_key = 0, files_a_read = 0;
    for (uint64_t i = 0; i < plan->flushes; i++) {
        forecast_flush(f, plan->flush_bytes, 0, NULL, NULL);
        forecast_figures(f, &figures);
        files_a_key += figures.files_a_key;
        files_a_read += figures.files_a_read;
    }
    forecast_figures(f, &figures);
    figures.written_bytes -= settled->written_bytes;
    figures.compactions -= settled->compactions;
    figures.files_a_key = files_a_key / (double)plan->flushes;
    figures.files_a_read = files_a_read / (double)plan->flushes;
    figures_add(out, &figures);
}

/* A group under some setting. */
static void plan_group(struct forecast *f, bool is_fed, const struct compaction_plan *plan,
                       struct compaction_cost *out, struct sentences *s)
{
    struct forecast_figures settled;
    forecast_settle(f, s ? plan_step : NULL, s);
    forecast_figures(f, &settled);
    figures_add(&out->settled, &settled);
    if (is_fed)
        plan_later(f, &settled, plan, &out->later);
}

/* On a worker. */
static void plan_foresee(void *planning)
{
    struct planning *p = planning;
    struct compaction_plan *out = p->out;
    for (size_t i = 0; i < p->count; i++) {
        const struct planned *g = &p->groups[i];
        struct forecast_figures now;
        forecast_figures(g->other, &now);
        figures_add(&out->now, &now);
        plan_group(g->own, g->is_fed, out, &out->own, NULL);
        plan_group(g->other, g->is_fed, out, &out->other, &p->sentences);
    }
    out->steps_count = sentences_end(&p->sentences, &out->steps);
}

/* As many flushes, of the size that they have had of late, as write what there is once more: not so
 * few that luck decides, nor so many that others wait. */
static void plan_flushes(const struct tended *t, const struct look *look,
                         struct compaction_plan *plan)
{
    double average = strategy_flush_average(tended_first(t)->strategy);
    uint64_t bytes = 0, least = UINT64_MAX;
    for (size_t i = 0; i < look->groups_count; i++)
        for (size_t k = 0; k < look->groups[i].now.files_count; k++) {
            bytes += look->groups[i].now.files[k].bytes;
            least = u64_min(least, look->groups[i].now.files[k].bytes);
        }
    plan->flush_bytes = average >= 1 ? (uint64_t)average : bytes ? least : 0;
    if (plan->flush_bytes)
        plan->flushes = u64_min(FLUSHES_MAX, u64_max(FLUSHES_MIN, bytes / plan->flush_bytes));
}

static void *copied(struct arena *arena, const void *from, size_t count, size_t each)
{
    return count ? memcpy(arena_alloc(arena, count * each), from, count * each) : NULL;
}

static struct local_ranges local_kept(struct arena *arena, const struct local_ranges *from)
{
    struct local_ranges kept = *from;
    kept.ranges = copied(arena, from->ranges, from->count, sizeof *from->ranges);
    kept.upto = copied(arena, from->upto, from->count, sizeof *from->upto);
    return kept;
}

/* What runs now is not foreseen: its inputs count as they are. */
static struct forecast *plan_forecast(const struct forecast_options *options,
                                      const struct look_group *g, struct arena *arena)
{
    struct forecast *f = forecast_new(options);
    for (size_t i = 0; i < g->now.files_count; i++) {
        struct compaction_file file = g->now.files[i];
        if (file.is_suspect || file.is_shared)
            continue;
        file.is_busy = false;
        if (file.drop_times)
            file.drop_times = copied(arena, file.drop_times, 1, sizeof *file.drop_times);
        forecast_add(f, &file);
    }
    return f;
}

/* New files are of the unrepaired ones. */
static void plan_take(struct planning *p, const struct compactor *c, const struct look *look)
{
    struct arena *arena = p->sentences.arena;
    p->groups = arena_array(arena, struct planned, look->groups_count);
    for (; p->count < look->groups_count; p->count++) {
        const struct look_group *g = &look->groups[p->count];
        struct local_ranges local = local_kept(arena, g->now.local);
        struct forecast_options options = { .params = &p->table->params->compaction,
                                            .scale = c->options.scale,
                                            .local = &local,
                                            .now_seconds = g->now.now_seconds,
                                            .gc_grace_seconds = p->params.gc_grace_seconds };
        struct planned *to = &p->groups[p->count];
        to->own = plan_forecast(&options, g, arena);
        options.params = &p->params.compaction;
        to->other = plan_forecast(&options, g, arena);
        to->is_fed = p->out->flushes && !g->id.is_repaired && uuid_is_zero(&g->id.pending);
    }
}

static struct op_next plan_begin(struct op *op)
{
    struct planning *p = planning_of(op);
    io_work(p->io, &p->req, op, plan_foresee, p);
    return op_wait(PLAN_END);
}

static struct op_next plan_end(struct op *op)
{
    return planning_of(op)->req.busy ? op_wait(PLAN_END) : op_end(op, OK);
}

static const struct op_state plan_states[] = {
    [PLAN_BEGIN] = { "plan begin", plan_begin, TO(PLAN_END) },
    [PLAN_END] = { "plan end", plan_end, 0 },
};

static void plan_release(struct op *op)
{
    struct planning *p = planning_of(op);
    struct io_req *done = p->done;
    for (size_t i = 0; i < p->count; i++) {
        forecast_free(&p->groups[i].own);
        forecast_free(&p->groups[i].other);
    }
    table_unref(&p->table);
    mem_free(p);
    io_req_end(done, OK);
}

void compactor_plan(struct compactor *c, struct io_req *req, struct op *op,
                    const struct compaction_plan_options *options, struct compaction_plan *out,
                    struct report *report)
{
    struct tended *t = tended_of(c, &options->table);
    io_req_begin(req, op);
    if (!t || !tended_renew(c, t)) {
        io_req_end(req, no_table(report));
        return;
    }
    struct table_params params = *t->table->params;
    enum err err = table_params_put(&params, options->arena, options->with, report);
    if (err != OK) {
        io_req_end(req, err);
        return;
    }
    struct planning *p = mem_zalloc(sizeof *p);
    struct look look;
    p->io = c->io, p->done = req, p->out = out;
    p->params = params, p->table = t->table;
    table_ref(p->table);
    p->sentences = (struct sentences){ options->arena, buf_in(options->arena), 0 };
    *out = (struct compaction_plan){ 0 };
    look_take(c, t, options->arena, &look);
    plan_flushes(t, &look, out);
    plan_take(p, c, &look);
    look_done(&look);
    op_start(&p->op, io_ops(c->io), op, plan_states, plan_release);
}

/* ---- why ---- */

static const char *date_text(struct arena *arena, int64_t seconds)
{
    char text[40];
    calendar_print_millis(seconds * 1000, text);
    return arena_text(arena, bytes_text(text));
}

static void why_past(struct sentences *s, const struct compaction_now *now,
                     const struct compaction_file *f, const struct garbage_block *b)
{
    long long grace = now->now_seconds - now->gc_before;
    if (b->from_seconds == INT64_MAX)
        say(s, "it has rows without a time to live: those stay until a compaction brings it "
               "together with what overwrites or deletes them");
    else if (b->is_expired)
        say(s, "everything in it is deleted or expired, and past gc_grace_seconds (%lld) since %s",
            grace, date_text(s->arena, b->from_seconds));
    else
        say(s,
            "everything in it is deleted or has a time to live: it is past gc_grace_seconds "
            "(%lld) from %s on",
            grace, date_text(s->arena, b->from_seconds));
    if (now->purges_nothing)
        say(s, "the table has only_purge_repaired_tombstones, and the file is not repaired: its "
               "tombstones stay until it is");
    say(s, "%.0f%% of its cells could be left out now", 100 * garbage_ratio(f, now->gc_before));
}

static void why_blocked(struct sentences *s, const struct garbage_block *b)
{
    if (!b->is_blocked)
        say(s, "nothing else holds data as old as its deletions");
    else if (b->blocker && b->blocker->is_suspect)
        say(s, "file %llu is damaged, and may hold older data that its deletions hide",
            (unsigned long long)b->blocker->id);
    else if (b->blocker)
        say(s,
            "file %llu (timestamps from %lld on) may hold older data that its deletions hide: "
            "they can go only with it or after it",
            (unsigned long long)b->blocker->id, (long long)b->blocker->timestamp_min);
    else
        say(s, "memtables may hold older data that its deletions hide: they can go after the next "
               "flush at the earliest");
}

static void why_next(struct sentences *s, const struct tended *t, const struct tended_group *g,
                     const struct compaction_file *f)
{
    const char *off = tended_is_off(t);
    if (f->is_suspect)
        say(s, "it is damaged and set aside: no compaction takes it");
    if (f->is_shared)
        say(s, "other shards read it too: it is taken apart after a start, before that no "
               "compaction takes it");
    if (f->is_busy)
        say(s, "a compaction that runs now has it among its inputs");
    say(s, "compaction: %s", off ? off : g->reason);
}

enum err compactor_why(struct compactor *c, const struct uuid *table, uint64_t generation,
                       struct arena *arena, struct compaction_why *out, struct report *report)
{
    struct tended *t = tended_of(c, table);
    struct sentences s = { .arena = arena, .list = buf_in(arena) };
    struct look look;
    bool is_found = false;
    if (!t || !tended_renew(c, t))
        return no_table(report);
    look_take(c, t, arena, &look);
    for (size_t i = 0; i < look.groups_count; i++)
        for (size_t k = 0; k < look.groups[i].now.files_count; k++) {
            const struct compaction_now *now = &look.groups[i].now;
            const struct compaction_file *f = &now->files[k];
            struct garbage_block block;
            char size[SIZE_TEXT_BYTES];
            if (f->id != generation)
                continue;
            is_found = true;
            say(&s, "it has about %llu partitions in %s, written at %s",
                (unsigned long long)f->partitions, size_text((double)f->bytes, size),
                date_text(arena, f->created_seconds));
            garbage_why(now, k, &block);
            why_past(&s, now, f, &block);
            why_blocked(&s, &block);
            why_next(&s, t, tended_group_of(c, t, &look.groups[i].id), f);
        }
    look_done(&look);
    out->count = sentences_end(&s, &out->sentences);
    return is_found
               ? OK
               : report_set(report, ERR_NOT_FOUND, "%s.%s has no file %llu on this shard",
                            t->table->keyspace, t->table->name, (unsigned long long)generation);
}
