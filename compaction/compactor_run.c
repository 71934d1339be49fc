/* compactor_run.c - one compaction, from its pick to its end.
 *
 *     begin ──> end ──> ended
 *       ^        │
 *       └────────┘ no space: the pick has become smaller
 *
 * The pick and the descriptions that it was made from are in the run's own arena.  Space is counted
 * in stored bytes: it needs what its inputs have; the store adds what the others of this shard may
 * still write, and holds that against what the disk has free beside its reserve (facts:
 * compaction.md 8, where Cassandra mixes units).
 *
 * How it ends:
 *   done       the strategy hears of it, the history too
 *   no space   without the largest file, as long as the strategy can do without one; what a user
 *              has named is not reduced.  Then the group rests for a minute
 *   damaged    the store has set the input aside: the next pick is without it
 *   gone       an input is not there any more, or another needs it: a second's rest, another look
 *   failed     rests, longer each time: 1 s, 2 s, 4 s, up to 10 minutes
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "compaction/compactor_inside.h"
#include "io/log.h"

enum { BEGIN, END };
enum { FAILURES_SHIFT_MAX = 9 };
enum { INPUT_BYTES = 640 * 1024 }; /* two pieces of its data (store/stream.c), and of its index */
static const uint64_t second_ns = 1000000000ull, minute_ns = 60 * 1000000000ull,
                      rest_ns_max = 600 * 1000000000ull;

static struct run *run_of(struct op *op) { return owner_of(op, struct run, op); }

bool runs_have(const struct compactor *c, const struct tended *t, uint64_t generation)
{
    for (const struct list *l = c->runs.next; l != &c->runs; l = l->next) {
        const struct run *r = owner_of(l, struct run, link);
        for (size_t i = 0; r->table == t && i < r->options.inputs_count; i++)
            if (r->options.inputs[i] == generation)
                return true;
        for (size_t i = 0; r->table == t && i < r->options.expired_count; i++)
            if (r->options.expired[i] == generation)
                return true;
    }
    return false;
}

size_t runs_of(const struct compactor *c, const struct tended *t)
{
    size_t count = 0;
    for (const struct list *l = c->runs.next; l != &c->runs; l = l->next)
        count += !t || owner_of(l, struct run, link)->table == t;
    return count;
}

uint64_t run_ahead_bytes(const struct run *r)
{
    return r->input_bytes - u64_min(r->input_bytes, r->result.written_bytes);
}

/* ---- what is asked of the store ---- */

static const uint64_t *ids_of(struct run *r, const size_t *places, size_t count)
{
    uint64_t *ids = arena_array(&r->arena, uint64_t, count);
    for (size_t i = 0; i < count; i++)
        ids[i] = r->now.files[places[i]].id;
    return ids;
}

static bool run_writes(const struct run *r)
{
    return r->pick.kind == COMPACTION_MERGE || r->pick.kind == COMPACTION_TOMBSTONES;
}

static bool run_reduce(struct run *r)
{
    const struct tended_group *g = tended_find(r->table, &r->group);
    if (!r->may_reduce || !g || strategy_class(g->strategy) != r->class ||
        !strategy_reduce(g->strategy, &r->now, &r->arena, &r->pick))
        return false;
    r->compactor->counts.reduced += !r->was_reduced;
    r->was_reduced = true;
    return true;
}

/* What others leave of the memory for buffers, and a quarter less when it is the first: for one
 * that comes beside it.  Two files can always be merged; and what a person asks for is whole. */
static void run_fit_memory(struct run *r)
{
    uint64_t all = r->compactor->options.memory_bytes / INPUT_BYTES, used = 0;
    for (const struct list *l = r->compactor->runs.next; l != &r->compactor->runs; l = l->next)
        used += owner_of(l, struct run, link)->pick.count;
    uint64_t room = used ? all - u64_min(all, used) : all - all / 4;
    bool is_limited = r->compactor->options.memory_bytes && !r->ask && run_writes(r);
    while (is_limited && r->pick.count > u64_max(room, 2) && run_reduce(r))
        ;
}

static void run_describe(struct run *r)
{
    const struct compaction_pick *p = &r->pick;
    r->input_bytes = r->paced_bytes = r->sampled_bytes = 0;
    for (size_t i = 0; run_writes(r) && i < p->count; i++)
        r->input_bytes += r->now.files[p->files[i]].bytes;
    r->result = (struct compact_result){ 0 };
    r->options = (struct compact_options){ .table = r->table->id,
                                           .inputs = ids_of(r, p->files, p->count),
                                           .inputs_count = p->count,
                                           .expired = ids_of(r, p->expired, p->expired_count),
                                           .expired_count = p->expired_count,
                                           .cuts = p->cuts,
                                           .cuts_count = p->cuts_count,
                                           .outputs = p->outputs,
                                           .outputs_count = p->outputs_count,
                                           .is_relevel = p->kind == COMPACTION_RELEVEL,
                                           .purges = !r->now.purges_nothing,
                                           .now_seconds = r->now.now_seconds,
                                           .gc_before = r->now.gc_before,
                                           .pace = pace_read,
                                           .context = r };
}

/* ---- how it ends ---- */

static void run_remember(struct run *r)
{
    struct compactor *c = r->compactor;
    struct compaction_past past = {
        .id = r->task,
        .keyspace = r->table->table->keyspace,
        .table = r->table->table->name,
        .ended_ms = io_wall(c->io) / 1000,
        .took_ms = (io_now(c->io) - r->began_ns) / 1000000,
        .bytes_in = r->input_bytes,
        .bytes_out = r->result.written_bytes,
        .strategy = r->class,
        .level = r->pick.level,
        .reason = r->pick.reason,
    };
    memcpy(past.merged, r->result.merged, sizeof past.merged);
    notes_past(&c->notes, &past);
    log_note(c->io, LOG_INFO, "compacted",
             "table=%s.%s files=%zu expired=%zu to_files=%zu bytes=%llu to_bytes=%llu ms=%llu "
             "reason=\"%s\"",
             past.keyspace, past.table, r->pick.count, r->pick.expired_count, r->result.files_count,
             (unsigned long long)past.bytes_in, (unsigned long long)past.bytes_out,
             (unsigned long long)past.took_ms, past.reason);
}

static void run_done(struct run *r, struct tended_group *g)
{
    struct compactor_counts *n = &r->compactor->counts;
    n->completed++;
    n->bytes_in += r->input_bytes;
    n->bytes_out += r->result.written_bytes;
    n->purged += r->result.purged;
    r->table->written_bytes += r->result.written_bytes;
    pace_finish(r);
    if (g) {
        g->failures = 0;
        g->rests_until_ns = 0;
        if (strategy_class(g->strategy) == r->class) /* not altered meanwhile */
            strategy_done(g->strategy, &r->pick);
    }
    run_remember(r);
}

static void group_rest(struct run *r, struct tended_group *g, uint64_t ns, enum err err)
{
    if (!g || r->ask)
        return;
    g->rests_until_ns = io_now(r->compactor->io) + ns;
    g->rests_for = err;
    if (err == ERR_STOPPED)
        snprintf(g->rests_why, sizeof g->rests_why, "stopped by hand: for a minute");
    else if (err == ERR_NO_SPACE)
        snprintf(g->rests_why, sizeof g->rests_why, "no space: %.280s", r->failed.text);
    else
        snprintf(g->rests_why, sizeof g->rests_why, "failed, will be tried again: %.280s",
                 r->failed.text[0] ? r->failed.text : err_text(err));
}

static void run_failed(struct run *r, struct tended_group *g, enum err err)
{
    struct compactor *c = r->compactor;
    c->counts.failed++;
    log_note(c->io, LOG_ERROR, "compaction_failed", "table=%s.%s files=%zu reason=\"%.300s\"",
             r->table->table->keyspace, r->table->table->name, r->pick.count,
             r->failed.text[0] ? r->failed.text : err_text(err));
    if (!g)
        return;
    unsigned shift = (unsigned)u64_min(g->failures, FAILURES_SHIFT_MAX);
    if (err != ERR_CORRUPT)
        g->failures++;
    group_rest(r, g, err == ERR_CORRUPT ? 0 : u64_min(second_ns << shift, rest_ns_max), err);
}

static void run_without_space(struct run *r, struct tended_group *g)
{
    struct compactor *c = r->compactor;
    c->counts.refused_for_space++;
    log_note(c->io, LOG_WARN, "compaction_without_space",
             "table=%s.%s files=%zu bytes=%llu reason=\"%.300s\"", r->table->table->keyspace,
             r->table->table->name, r->pick.count, (unsigned long long)r->input_bytes,
             r->failed.text);
    group_rest(r, g, minute_ns, ERR_NO_SPACE);
}

static void run_ended(struct run *r, enum err err)
{
    struct tended_group *g = tended_find(r->table, &r->group);
    if (err == OK)
        run_done(r, g);
    else if (err == ERR_STOPPED) {
        r->compactor->counts.stopped++;
        if (r->is_unwanted)
            group_rest(r, g, minute_ns, err);
    } else if (err == ERR_NO_SPACE)
        run_without_space(r, g);
    else if (err == ERR_NOT_FOUND)
        group_rest(r, g, second_ns, err);
    else
        run_failed(r, g, err);
}

static void run_count_slices(struct run *r)
{
    struct compactor_counts *n = &r->compactor->counts;
    n->slices += r->result.slices;
    n->slices_over += r->result.slices_over;
    n->slice_ns_max = u64_max(n->slice_ns_max, r->result.slice_ns_max);
}

static struct op_next run_begin(struct op *op)
{
    struct run *r = run_of(op);
    if (op->stop) { /* what it started now would not hear of it */
        run_ended(r, op->stop);
        return op_end(op, op->stop);
    }
    r->options.space_bytes = r->input_bytes; /* 0 where nothing is written */
    report_clear(&r->failed);
    store_compact(r->compactor->options.store, &r->req, op, &r->options, &r->arena, &r->result,
                  &r->failed);
    return op_wait(END);
}

static struct op_next run_end(struct op *op)
{
    struct run *r = run_of(op);
    if (r->req.busy)
        return op_wait(END);
    run_count_slices(r);
    if (r->req.err == ERR_NO_SPACE && !op->stop && run_reduce(r)) {
        run_describe(r);
        return op_goto(BEGIN);
    }
    run_ended(r, r->req.err);
    return op_end(op, r->req.err);
}

static const struct op_state states[] = {
    [BEGIN] = { "compaction begin", run_begin, TO(END) },
    [END] = { "compaction end", run_end, TO(BEGIN) },
};

static void run_release(struct op *op)
{
    struct run *r = run_of(op);
    struct compactor *c = r->compactor;
    size_t at = 0;
    list_remove(&r->link);
    r->table->users--;
    r->table->must_look = true;
    for (struct tended *t; (t = map_next(&c->tables, &at));)
        t->must_look |= tended_waits(t); /* there is room now */
    if (r->ask)
        asking_ended(r->ask, r, op->err);
    arena_deinit(&r->arena);
    mem_free(r);
    askings_wake(c);
    compactor_wake(c);
}

void run_start(struct compactor *c, struct tended *t, const struct look_group *look,
               const struct compaction_pick *pick, struct arena *taken, struct asking *ask)
{
    struct run *r = mem_zalloc(sizeof *r);
    const struct tended_group *g = tended_find(t, &look->id);
    uint64_t random = io_random(c->io);
    r->compactor = c, r->table = t, r->ask = ask;
    r->group = look->id, r->now = look->now, r->pick = *pick;
    r->arena = *taken;
    *taken = (struct arena){ 0 };
    r->id = ++c->last_id;
    r->task = uuid_timed(uuid_time_of_micros((uint64_t)io_wall(c->io)), random);
    r->class = g ? strategy_class(g->strategy) : t->table->params->compaction.class;
    if (g && !ask)
        r->late = late_share(
            pick->level < 0 ? g->pending
                            : g->pending_at[u64_min((uint64_t)pick->level, COMPACTOR_LEVELS - 1)]);
    r->may_reduce = !ask || !asking_names_files(ask);
    r->began_ns = io_now(c->io);
    t->users++;
    run_fit_memory(r);
    run_describe(r);
    bool has_room = compactor_has_room(c, ask, r->input_bytes, &r->is_extra);
    ensure(has_room);
    list_add(&c->runs, &r->link);
    op_start_background(&r->op, io_ops(c->io), NULL, states, run_release);
    if (ask)
        compactor_wake(c); /* it may be at rest, and is to measure how fast this one goes */
}
