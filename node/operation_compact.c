/* operation_compact.c - compact: files of tables are merged because somebody wants it.
 *
 *     begin ──> looked ──> next ──> watch (until the shards have done it) ──> next ... ──> after
 *
 * What may be said: compact_wish.h.  Before and after, every shard is asked what it has, so that
 * progress has a whole, files that are named are found, and the result says what became of what.
 *
 * While shards compact they are asked again and again how far they are.  When this operation is
 * asked to end, so are they.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/compact_wish.h"
#include "node/compactions.h"

enum { COMPACT_BEGIN, COMPACT_LOOKED, COMPACT_NEXT, COMPACT_WATCH, COMPACT_AFTER };
enum { NOT_FOUND = -1 };
static const uint64_t ask_every_ns = 100000000;

struct seen {
    int shard;
    uint64_t id, total_bytes;
};
struct work {
    struct compact_wish wish;
    struct io_req nap;
    struct errands asks, stops;
    bool was_asked, was_stopped;
    uint64_t files_before, bytes_before;
    struct buf seen;      /* struct seen: that ran when they were asked last */
    uint64_t ended_bytes; /* plain: of those that have ended */
};

/* ---- on each shard: what there is ---- */

struct looked {
    struct looked_table {
        uint64_t files, bytes; /* all of it */
    } * tables;
    uint64_t plain_bytes; /* of what would be compacted */
    struct uuid *found;   /* each wished file's table; zero: it is not here */
};

/* ... and which of those that are named. */
static bool is_wished(const struct compact_wish *w, const struct store_file *f, size_t *which)
{
    for (size_t i = 0; i < w->files_count; i++)
        if (w->files[i] == f->name.generation)
            *which = i;
    if (w->is_range)
        return f->first_token <= w->last && f->last_token >= w->first;
    return w->files_count == 0 || *which < w->files_count;
}

static void look_table(struct shard *s, const struct compact_wish *w, size_t at,
                       struct arena *arena, struct looked *out)
{
    struct store_file_list list;
    store_list_files(s->store, &w->tables[at]->id, arena, &list);
    for (size_t i = 0; i < list.count; i++) {
        const struct store_file *f = &list.files[i];
        size_t which = w->files_count;
        out->tables[at].files++;
        out->tables[at].bytes += f->data_bytes;
        if (!is_wished(w, f, &which))
            continue;
        out->plain_bytes += f->plain_bytes;
        if (which < w->files_count)
            out->found[which] = w->tables[at]->id;
    }
    store_files_done(&list);
}

static void look_begin(struct errand *e)
{
    const struct compact_wish *w = e->all->what;
    struct looked *out = arena_new(&e->arena, struct looked);
    out->tables = arena_array(&e->arena, struct looked_table, w->tables_count + 1);
    out->found = arena_array(&e->arena, struct uuid, w->files_count + 1);
    e->result = out;
    for (size_t i = 0; i < w->tables_count; i++)
        look_table(e->shard, w, i, &e->arena, out);
}

/* ---- on each shard: the compaction ---- */

static void compact_begin(struct errand *e)
{
    const struct compact_wish *w = e->all->what;
    struct compactor *compactor = errand_compactor(e);
    struct compact_ask *ask = arena_new(&e->arena, struct compact_ask);
    uint64_t *files = arena_array(&e->arena, uint64_t, w->files_count + 1);
    *ask = (struct compact_ask){ .table = w->tables[w->at]->id,
                                 .splits = w->splits,
                                 .files = w->files_count ? files : NULL,
                                 .is_range = w->is_range,
                                 .first = w->first,
                                 .last = w->last };
    for (size_t i = 0; i < w->files_count; i++)
        if (w->places[i].shard == io_self(e->shard->io) &&
            uuid_equal(&w->places[i].table, &ask->table))
            files[ask->files_count++] = w->files[i];
    if (compactor && (!w->files_count || ask->files_count))
        compactor_compact(compactor, &e->wait, &e->op, ask, &e->failed);
}

static void progress_begin(struct errand *e)
{
    struct compactor *compactor = errand_compactor(e);
    struct compactions_told *told = arena_new(&e->arena, struct compactions_told);
    e->result = told;
    if (compactor)
        told->running_count = compactor_running(compactor, &e->arena, &told->running);
}

static void stop_begin(struct errand *e)
{
    const struct compact_wish *w = e->all->what;
    unsigned *stopped = arena_new(&e->arena, unsigned);
    if (e->shard->compactor)
        compactor_stop(e->shard->compactor, &e->wait, &e->op, &w->tables[w->at]->id, 0, stopped);
}

static const struct errand_kind errand_look = { .begin = look_begin, .needs_store = true };
static const struct errand_kind errand_compact = { .begin = compact_begin, .needs_store = true };
static const struct errand_kind errand_progress = { .begin = progress_begin, .needs_store = true };
static const struct errand_kind errand_stop = { .begin = stop_begin, .needs_store = true };

/* ---- begin ---- */

static struct op_next compact_begin_step(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    o->unit = "bytes";
    if (compact_wish_read(o, &w->wish) != OK)
        return op_end(op, o->failed.err);
    operation_send(o, &errand_look, &w->wish);
    return op_wait(COMPACT_LOOKED);
}

/* ---- looked ---- */

/* Is something of this table wished? */
static bool table_has_work(const struct compact_wish *w, size_t at)
{
    for (size_t f = 0; f < w->files_count; f++)
        if (uuid_equal(&w->places[f].table, &w->tables[at]->id))
            return true;
    return w->files_count == 0;
}

/* What all shards have of the tables that are concerned. */
static void looked_sum(const struct operation *o, uint64_t *files, uint64_t *bytes)
{
    const struct compact_wish *w = &((const struct work *)o->work)->wish;
    *files = *bytes = 0;
    for (int i = 0; i < o->errands.count; i++) {
        const struct looked *l = o->errands.each[i].result;
        for (size_t t = 0; t < w->tables_count; t++) {
            bool is_concerned = table_has_work(w, t);
            *files += is_concerned ? l->tables[t].files : 0;
            *bytes += is_concerned ? l->tables[t].bytes : 0;
        }
    }
}

/* Where each of the files is that were named; false when one is nowhere. */
static bool files_place(struct operation *o)
{
    struct work *w = o->work;
    for (size_t f = 0; f < w->wish.files_count; f++) {
        struct compact_place *place = &w->wish.places[f];
        place->shard = NOT_FOUND;
        for (int i = 0; i < o->errands.count && place->shard == NOT_FOUND; i++) {
            const struct looked *l = o->errands.each[i].result;
            if (!uuid_is_zero(&l->found[f]))
                *place = (struct compact_place){ i, l->found[f] };
        }
        if (place->shard == NOT_FOUND) {
            (void)report_set(&o->failed, ERR_NOT_FOUND,
                             "no table of this node has the file of generation %llu: it has gone, "
                             "or is another node's",
                             (unsigned long long)w->wish.files[f]);
            return false;
        }
    }
    return true;
}

static struct op_next compact_looked(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (o->errands.away)
        return op_wait(COMPACT_LOOKED);
    if (operation_sent(o) != OK || !files_place(o))
        return op_end(op, o->failed.err);
    looked_sum(o, &w->files_before, &w->bytes_before);
    for (int i = 0; i < o->errands.count; i++)
        o->total += ((const struct looked *)o->errands.each[i].result)->plain_bytes;
    return op_goto(COMPACT_NEXT);
}

/* ---- table by table ---- */

static struct op_next compact_next(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    while (w->wish.at < w->wish.tables_count && !table_has_work(&w->wish, w->wish.at))
        w->wish.at++;
    if (op->stop)
        return op_end(op, op->stop);
    if (w->wish.at == w->wish.tables_count) {
        operation_send(o, &errand_look, &w->wish);
        return op_wait(COMPACT_AFTER);
    }
    operation_send(o, &errand_compact, &w->wish);
    return op_goto(COMPACT_WATCH);
}

static bool still_runs(const struct work *w, const struct seen *s)
{
    const struct compactions_told *told = w->asks.each[s->shard].result;
    for (size_t k = 0; told && k < told->running_count; k++)
        if (told->running[k].id == s->id)
            return true;
    return false;
}

/* How far those are that somebody has asked for, of this table; whole is what ran and is gone. */
static void watch_take(struct operation *o)
{
    struct work *w = o->work;
    const struct uuid *table = &w->wish.tables[w->wish.at]->id;
    const struct seen *seen = (const struct seen *)(const void *)w->seen.data;
    uint64_t done = 0;
    for (size_t i = 0; i < w->seen.size / sizeof *seen; i++)
        w->ended_bytes += still_runs(w, &seen[i]) ? 0 : seen[i].total_bytes;
    buf_clear(&w->seen);
    for (int i = 0; i < w->asks.count; i++) {
        const struct compactions_told *told = w->asks.each[i].result;
        for (size_t k = 0; told && k < told->running_count; k++) {
            const struct compaction_running *r = &told->running[k];
            if (!r->is_asked || !uuid_equal(&r->table, table))
                continue;
            buf_put(&w->seen, &(struct seen){ i, r->id, r->total_bytes }, sizeof(struct seen));
            done += r->done_bytes;
        }
    }
    o->done = u64_min(o->total, w->ended_bytes + done);
}

/* Naps and questions take turns while the shards are at work. */
static void watch_ask(struct operation *o)
{
    struct work *w = o->work;
    struct io *io = o->shard->io;
    if (w->asks.away || w->nap.busy)
        return;
    if (w->was_asked) {
        watch_take(o);
        io_sleep(io, &w->nap, &o->op, ask_every_ns);
    } else {
        errands_send(&w->asks, o->shard, &o->op, &errand_progress, NULL);
    }
    w->was_asked = !w->was_asked;
}

static struct op_next compact_watch(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    if (op->stop && o->errands.away && !w->was_stopped) {
        w->was_stopped = true;
        errands_send(&w->stops, o->shard, op, &errand_stop, &w->wish);
    }
    if (o->errands.away)
        watch_ask(o);
    else if (w->nap.busy)
        io_cancel(o->shard->io, &w->nap);
    if (o->errands.away || w->asks.away || w->stops.away || w->nap.busy)
        return op_wait(COMPACT_WATCH);
    if (operation_sent(o) != OK)
        return op_end(op, o->failed.err);
    buf_clear(&w->seen);
    w->ended_bytes = o->done;
    w->was_asked = false;
    w->wish.at++;
    return op_goto(COMPACT_NEXT);
}

/* ---- after ---- */

static struct op_next compact_after(struct op *op)
{
    struct operation *o = operation_of(op);
    struct work *w = o->work;
    uint64_t files, bytes;
    if (o->errands.away)
        return op_wait(COMPACT_AFTER);
    if (operation_sent(o) != OK)
        return op_end(op, o->failed.err);
    looked_sum(o, &files, &bytes);
    struct json j = json_into(&o->result);
    json_open(&j, NULL, '{');
    json_unsigned(&j, "files_before", w->files_before);
    json_unsigned(&j, "bytes_before", w->bytes_before);
    json_unsigned(&j, "files_after", files);
    json_unsigned(&j, "bytes_after", bytes);
    json_close(&j);
    o->done = o->total;
    return op_end(op, OK);
}

static void compact_release(struct operation *o)
{
    struct work *w = o->work;
    errands_deinit(&w->asks);
    errands_deinit(&w->stops);
    buf_deinit(&w->seen);
}

static const struct op_state compact_states[] = {
    [COMPACT_BEGIN] = { "op compact begin", compact_begin_step, TO(COMPACT_LOOKED) },
    [COMPACT_LOOKED] = { "op compact looked", compact_looked,
                         TO(COMPACT_LOOKED) | TO(COMPACT_NEXT) },
    [COMPACT_NEXT] = { "op compact next", compact_next, TO(COMPACT_WATCH) | TO(COMPACT_AFTER) },
    [COMPACT_WATCH] = { "op compact watch", compact_watch, TO(COMPACT_WATCH) | TO(COMPACT_NEXT) },
    [COMPACT_AFTER] = { "op compact after", compact_after, TO(COMPACT_AFTER) },
};

const struct operation_verb operation_compact = {
    .name = "compact",
    .takes = "keyspace table files splits start_token end_token partition ",
    .states = compact_states,
    .work_bytes = sizeof(struct work),
    .release = compact_release
};
