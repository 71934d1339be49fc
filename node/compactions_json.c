/* compactions_json.c - see compactions.h: what is told of compactions over the admin port.
 *
 *     {"running":[..], "tables":[{"keyspace","table","compaction":{..}}], "pending":n, ...}
 *
 * Sizes are bytes; "done" and "total" of what runs are plain ones, as its rows are, all others are
 * as files have them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/compactions.h"

#include <stdlib.h>

static void json_uuid(struct json *j, const char *name, const struct uuid *id)
{
    char text[UUID_TEXT_BYTES];
    uuid_print(id, text);
    json_text(j, name, text);
}

/* ---- one table ---- */

static void level_json(struct json *j, const struct compactions_level *l, struct arena *arena)
{
    const struct compaction_level *sum = &l->sum;
    json_open(j, NULL, '{');
    json_unsigned(j, "level", l->number);
    json_text(j, "repair_state", compaction_group_name(&l->group, arena));
    json_text(j, "setting", sum->setting);
    if (sum->window)
        json_unsigned(j, "window", sum->window);
    json_double(j, "from_bytes", sum->low);
    json_double(j, "to_bytes", sum->high);
    json_unsigned(j, "files", sum->files);
    json_unsigned(j, "bytes", sum->bytes);
    json_unsigned(j, "overlap", sum->overlap);
    json_unsigned(j, "pending", sum->pending);
    json_unsigned(j, "pending_bytes", sum->pending_bytes);
    json_close(j);
}

static void due_json(struct json *j, int shard, const struct compaction_due *due,
                     struct arena *arena)
{
    json_open(j, NULL, '{');
    json_number(j, "shard", shard);
    json_text(j, "repair_state", compaction_group_name(&due->group, arena));
    json_text(j, "kind", compaction_kind_name(due->next));
    json_text(j, "reason", due->reason);
    json_close(j);
}

struct sums {
    uint64_t pending, pending_bytes, written_bytes;
    bool is_enabled;
};

static struct sums sums_of(const struct compactions_told *const *shards, int count,
                           const struct uuid *table)
{
    struct sums sums = { .is_enabled = true };
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; shards[i] && k < shards[i]->due_count; k++) {
            const struct compaction_due *due = &shards[i]->due[k];
            bool is_its = uuid_equal(&due->table, table);
            sums.pending += is_its ? due->pending : 0;
            sums.pending_bytes += is_its ? due->pending_bytes : 0;
        }
        for (size_t k = 0; shards[i] && k < shards[i]->tables_count; k++) {
            const struct compactions_table *t = &shards[i]->tables[k];
            bool is_its = uuid_equal(&t->id, table);
            sums.written_bytes += is_its ? t->written_bytes : 0;
            sums.is_enabled &= !is_its || t->is_enabled;
        }
    }
    return sums;
}

void compactions_table_json(struct json *j, const struct table *t,
                            const struct compactions_told *const *shards, int count)
{
    struct arena arena = { 0 };
    struct compactions_level *levels;
    struct sums sums = sums_of(shards, count, &t->id);
    size_t levels_count = compactions_levels(shards, count, &t->id, &arena, &levels);
    json_open(j, "compaction", '{');
    json_text(j, "strategy", compaction_strategy_name(t));
    json_bool(j, "is_enabled", sums.is_enabled && t->params->compaction.is_enabled);
    json_bool(j, "is_enabled_by_table", t->params->compaction.is_enabled);
    json_unsigned(j, "written_bytes", sums.written_bytes);
    json_unsigned(j, "pending", sums.pending);
    json_unsigned(j, "pending_bytes", sums.pending_bytes);
    json_open(j, "levels", '[');
    for (size_t i = 0; i < levels_count; i++)
        level_json(j, &levels[i], &arena);
    json_close(j);
    json_open(j, "next", '[');
    for (int i = 0; i < count; i++)
        for (size_t k = 0; shards[i] && k < shards[i]->due_count; k++)
            if (uuid_equal(&shards[i]->due[k].table, &t->id))
                due_json(j, i, &shards[i]->due[k], &arena);
    json_close(j);
    json_close(j);
    arena_deinit(&arena);
}

/* ---- what runs ---- */

static void running_json(struct shard *s, struct json *j, int shard,
                         const struct compaction_running *r)
{
    const struct table *t = catalog_table_by_id(&s->catalog, &r->table);
    uint64_t now = io_now(s->io); /* another shard's may be ahead by a turn */
    json_open(j, NULL, '{');
    json_unsigned(j, "id", compactions_id(io_shards(s->io), shard, r->id));
    json_uuid(j, "task", &r->task);
    json_number(j, "shard", shard);
    json_text(j, "keyspace", t ? t->keyspace : NULL);
    json_text(j, "table", t ? t->name : NULL);
    json_text(j, "kind", compaction_kind_name(r->kind));
    json_bool(j, "is_asked", r->is_asked);
    json_unsigned(j, "files", r->inputs);
    json_unsigned(j, "done_bytes", r->done_bytes);
    json_unsigned(j, "total_bytes", r->total_bytes);
    json_unsigned(j, "input_bytes", r->input_bytes);
    json_unsigned(j, "written_bytes", r->written_bytes);
    json_double(j, "seconds", (double)(now - u64_min(now, r->began_ns)) / 1e9);
    json_double(j, "bytes_per_second", r->bytes_per_second);
    if (r->eta_seconds < 0)
        json_null(j, "eta_seconds");
    else
        json_number(j, "eta_seconds", r->eta_seconds);
    json_number(j, "token", r->token);
    json_text(j, "reason", r->reason);
    json_close(j);
}

/* Bytes of files read each second now: what the limit counts. */
static double stored_rate(const struct compactions_told *told)
{
    double rate = 0;
    for (size_t k = 0; k < told->running_count; k++) {
        const struct compaction_running *r = &told->running[k];
        if (r->total_bytes)
            rate += r->bytes_per_second * (double)r->input_bytes / (double)r->total_bytes;
    }
    return rate;
}

static void counts_add(struct compactor_counts *into, const struct compactor_counts *from)
{
    into->completed += from->completed;
    into->failed += from->failed;
    into->stopped += from->stopped;
    into->reduced += from->reduced;
    into->refused_for_space += from->refused_for_space;
    into->bytes_in += from->bytes_in;
    into->bytes_out += from->bytes_out;
    into->purged += from->purged;
    into->pending += from->pending;
    into->pending_bytes += from->pending_bytes;
    into->slow_ns_a_kib = u64_max(into->slow_ns_a_kib, from->slow_ns_a_kib);
    into->bytes_per_second += from->bytes_per_second;
    into->at_once += from->at_once;
}

static void sums_json(struct json *j, const struct errands *errands)
{
    struct compactor_counts sum = { 0 };
    double rate = 0;
    for (int i = 0; i < errands->count; i++) {
        const struct compactions_told *told = errands->each[i].result;
        counts_add(&sum, &told->counts);
        rate += stored_rate(told);
    }
    json_unsigned(j, "pending", sum.pending);
    json_unsigned(j, "pending_bytes", sum.pending_bytes);
    json_unsigned(j, "limit_bytes_per_second", sum.bytes_per_second); /* 0: there is none */
    json_double(j, "bytes_per_second", rate);
    json_unsigned(j, "concurrent_compactors", sum.at_once);
    json_unsigned(j, "slow_ns_a_kib", sum.slow_ns_a_kib);
    json_unsigned(j, "completed", sum.completed);
    json_unsigned(j, "failed", sum.failed);
    json_unsigned(j, "stopped", sum.stopped);
    json_unsigned(j, "reduced", sum.reduced);
    json_unsigned(j, "refused_for_space", sum.refused_for_space);
    json_unsigned(j, "bytes_in", sum.bytes_in);
    json_unsigned(j, "bytes_out", sum.bytes_out);
    json_unsigned(j, "purged", sum.purged);
}

static int table_order(const void *left, const void *right)
{
    const struct table *a = *(const struct table *const *)left;
    const struct table *b = *(const struct table *const *)right;
    int order = strcmp(a->keyspace, b->keyspace);
    return order ? order : strcmp(a->name, b->name);
}

static void tables_json_all(struct shard *s, struct json *j, const struct errands *errands)
{
    struct arena arena = { 0 };
    const struct compactions_told *const *shards = compactions_of(errands, &arena);
    const struct table **tables =
        arena_array(&arena, const struct table *, s->catalog.tables.count + 1);
    size_t count = 0, at = 0;
    for (const struct table *t; (t = map_next(&s->catalog.tables, &at));)
        if (!t->is_virtual)
            tables[count++] = t;
    qsort(tables, count, sizeof(const struct table *), table_order);
    json_open(j, "tables", '[');
    for (size_t i = 0; i < count; i++) {
        json_open(j, NULL, '{');
        json_text(j, "keyspace", tables[i]->keyspace);
        json_text(j, "table", tables[i]->name);
        compactions_table_json(j, tables[i], shards, errands->count);
        json_close(j);
    }
    json_close(j);
    arena_deinit(&arena);
}

void compactions_json(struct shard *s, const struct errands *errands, struct buf *out)
{
    struct json j = json_into(out);
    json_open(&j, NULL, '{');
    json_open(&j, "running", '[');
    for (int i = 0; i < errands->count; i++) {
        const struct compactions_told *told = errands->each[i].result;
        for (size_t k = 0; k < told->running_count; k++)
            running_json(s, &j, i, &told->running[k]);
    }
    json_close(&j);
    tables_json_all(s, &j, errands);
    sums_json(&j, errands);
    json_close(&j);
}

/* ---- what has run ---- */

static void past_json(struct json *j, const struct compaction_past *p)
{
    json_open(j, NULL, '{');
    json_uuid(j, "id", &p->id);
    json_text(j, "keyspace", p->keyspace);
    json_text(j, "table", p->table);
    json_number(j, "ended_ms", p->ended_ms);
    json_unsigned(j, "took_ms", p->took_ms);
    json_unsigned(j, "bytes_in", p->bytes_in);
    json_unsigned(j, "bytes_out", p->bytes_out);
    json_open(j, "rows_merged", '{');
    for (size_t n = 1; n < COMPACT_MERGED_MAX; n++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", n);
        if (p->merged[n])
            json_unsigned(j, name, p->merged[n]);
    }
    json_close(j);
    json_text(j, "strategy", compaction_class_name(p->strategy));
    json_number(j, "level", p->level);
    json_text(j, "reason", p->reason);
    json_close(j);
}

void compaction_history_json(const struct errands *errands, struct buf *out)
{
    struct arena arena = { 0 };
    struct json j = json_into(out);
    const struct compaction_past **past;
    size_t count = compaction_history_sorted(errands, &arena, &past);
    json_open(&j, NULL, '{');
    json_open(&j, "compactions", '[');
    for (size_t i = 0; i < count; i++)
        past_json(&j, past[i]);
    json_close(&j);
    json_close(&j);
    arena_deinit(&arena);
}
