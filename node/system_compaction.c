/* system_compaction.c - compactions as system tables: those that run, that are due, that have
 * ended.
 *
 *     system_views.sstable_tasks          one row each that runs (Cassandra 5's columns)
 *     system_views.compactions_pending    one row a level: what it has, what is due, what is next
 *     system.compaction_history           one row each that has ended (Cassandra 5's columns)
 *
 * All of the node: what the shards were asked is at hand.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/compactions.h"
#include "node/system_make.h"

/* ---- what runs ---- */

static void task_row(struct shard *s, struct system_rows *r, const struct compaction_running *c)
{
    const struct table *t = catalog_table_by_id(&s->catalog, &c->table);
    if (!t) /* dropped meanwhile */
        return;
    const char *folders = s->config->data_file_directories.items[0];
    rows_begin(r);
    rows_text(r, "keyspace_name", t->keyspace);
    rows_text(r, "table_name", t->name);
    rows_uuid(r, "task_id", &c->task);
    rows_double(r, "completion_ratio",
                c->total_bytes ? (double)c->done_bytes / (double)c->total_bytes : 0);
    rows_text(r, "kind", compaction_kind_name(c->kind));
    rows_bigint(r, "progress", (int64_t)c->done_bytes);
    rows_int(r, "sstables", (int32_t)c->inputs);
    rows_text(r, "target_directory", folders);
    rows_bigint(r, "total", (int64_t)c->total_bytes);
    rows_text(r, "unit", "bytes");
    rows_end(r);
}

void make_sstable_tasks(struct shard *s, struct system_rows *r)
{
    for (int i = 0; i < r->said->count; i++) {
        const struct compactions_told *told = r->said->each[i].result;
        for (size_t k = 0; k < told->running_count; k++)
            task_row(s, r, &told->running[k]);
    }
}

/* ---- what is due ---- */

/* What the first shard that has something to do says; else the first. */
static const char *next_of(const struct compactions_told *const *shards, int count,
                           const struct uuid *table, const struct compaction_group *group)
{
    const char *reason = NULL;
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < shards[i]->due_count; k++) {
            const struct compaction_due *d = &shards[i]->due[k];
            if (!uuid_equal(&d->table, table) || d->group.is_repaired != group->is_repaired ||
                !uuid_equal(&d->group.pending, &group->pending))
                continue;
            if (d->next != COMPACTION_NONE)
                return d->reason;
            reason = reason ? reason : d->reason;
        }
    return reason;
}

static void level_row(struct system_rows *r, const struct table *t,
                      const struct compactions_level *l, const char *next)
{
    const struct compaction_level *sum = &l->sum;
    rows_begin(r);
    rows_text(r, "keyspace_name", t->keyspace);
    rows_text(r, "table_name", t->name);
    rows_text(r, "repair_state", compaction_group_name(&l->group, r->arena));
    rows_int(r, "level", (int32_t)l->number);
    rows_bigint(r, "bytes", (int64_t)sum->bytes);
    rows_int(r, "files", (int32_t)sum->files);
    rows_double(r, "from_bytes", sum->low);
    rows_double(r, "to_bytes", sum->high);
    rows_text(r, "next", next);
    rows_int(r, "overlap", (int32_t)sum->overlap);
    rows_bigint(r, "pending_bytes", (int64_t)sum->pending_bytes);
    rows_bigint(r, "pending_tasks", (int64_t)sum->pending);
    rows_text(r, "setting", sum->setting[0] ? sum->setting : NULL);
    if (sum->window)
        rows_bigint(r, "window", (int64_t)sum->window * 1000);
    rows_end(r);
}

void make_compactions_pending(struct shard *s, struct system_rows *r)
{
    const struct compactions_told *const *shards = compactions_of(r->said, r->arena);
    size_t at = 0;
    for (const struct table *t; (t = map_next(&s->catalog.tables, &at));) {
        struct compactions_level *levels;
        size_t count = t->is_virtual
                           ? 0
                           : compactions_levels(shards, r->said->count, &t->id, r->arena, &levels);
        for (size_t i = 0; i < count; i++)
            level_row(r, t, &levels[i], next_of(shards, r->said->count, &t->id, &levels[i].group));
    }
}

/* ---- what has ended ---- */

/* A map of int to bigint, keys ascending. */
static void rows_merged(struct system_rows *r, const struct compaction_past *p)
{
    struct buf out = buf_in(r->arena);
    uint32_t count = 0;
    for (size_t n = 1; n < COMPACT_MERGED_MAX; n++)
        count += p->merged[n] != 0;
    buf_put_be32(&out, count);
    for (size_t n = 1; n < COMPACT_MERGED_MAX; n++) {
        if (!p->merged[n])
            continue;
        buf_put_be32(&out, 4);
        buf_put_be32(&out, (uint32_t)n);
        buf_put_be32(&out, 8);
        buf_put_be64(&out, p->merged[n]);
    }
    rows_bytes(r, "rows_merged", buf_bytes(&out));
}

static void past_row(struct system_rows *r, const struct compaction_past *p)
{
    const char *properties[] = { "level",    arena_printf(r->arena, "%d", p->level),
                                 "reason",   p->reason,
                                 "strategy", compaction_class_name(p->strategy) };
    rows_begin(r);
    rows_uuid(r, "id", &p->id);
    rows_bigint(r, "bytes_in", (int64_t)p->bytes_in);
    rows_bigint(r, "bytes_out", (int64_t)p->bytes_out);
    rows_text(r, "columnfamily_name", p->table);
    rows_bigint(r, "compacted_at", p->ended_ms);
    rows_map(r, "compaction_properties", properties, array_count(properties) / 2);
    rows_text(r, "keyspace_name", p->keyspace);
    rows_merged(r, p);
    rows_end(r);
}

void make_compaction_history(struct shard *s, struct system_rows *r)
{
    (void)s;
    for (int i = 0; i < r->said->count; i++) {
        const struct compactions_told *told = r->said->each[i].result;
        for (size_t k = 0; k < told->history_count; k++)
            past_row(r, &told->history[k]);
    }
}
