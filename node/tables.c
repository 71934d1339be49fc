/* tables.c - the numbers that the shards have of a table, added up (store/stats.h).
 *
 *     each shard: a struct table_stats a table ──home──> one object a table
 *
 * A file that several shards have opened counts once; its reads, and what it takes in memory, count
 * as often as it is open.  Sketches of keys are merged, so a key that is in several files counts
 * once as well.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/tables.h"

#include "base/mem.h"
#include "node/compactions.h"
#include "node/snapshot.h"

#include <stdlib.h>

/* ---- on each shard ---- */

struct told { /* what a shard brings home */
    size_t count;
    struct told_table {
        struct uuid id;
        const struct table_stats *stats;
    } * tables;
    const struct compactions_told *compactions;
    struct snapshots snapshots; /* shard 0's */
};

static void tables_begin(struct errand *e)
{
    const struct catalog *catalog = &e->shard->catalog;
    struct told *told = arena_new(&e->arena, struct told);
    size_t at = 0;
    e->result = told;
    told->compactions = compactions_take(e->shard, &e->arena);
    told->tables = arena_array(&e->arena, struct told_table, catalog->tables.count);
    for (struct table *t; (t = map_next(&catalog->tables, &at));) {
        const struct table_stats *stats =
            t->is_virtual ? NULL : store_table_stats(e->shard->store, &t->id, &e->arena);
        if (stats)
            told->tables[told->count++] = (struct told_table){ t->id, stats };
    }
    if (io_self(e->shard->io) == 0)
        snapshots_list(e->shard->io, &e->wait, &e->op,
                       e->shard->config->data_file_directories.items[0],
                       arena_new(&e->arena, struct snapshot_choice), &e->arena, &told->snapshots);
}

const struct errand_kind errand_tables = { .begin = tables_begin, .needs_store = true };

/* ---- added up ---- */

struct sums {
    struct table_stats all; /* counts, memory, spreads */
    uint64_t sstables, damaged_count, live_bytes, total_bytes, snapshot_bytes;
    uint64_t data_bytes, plain_bytes, filter_bytes, summary_bytes, rows, largest_partition;
    struct cardinality keys;
    const struct file_stats **files; /* each name once; heap */
};

static const struct table_stats *stats_of(const struct errands *errands, int shard,
                                          const struct uuid *id)
{
    const struct told *told = errands->each[shard].result;
    for (size_t i = 0; told && i < told->count; i++)
        if (memcmp(told->tables[i].id.b, id->b, sizeof id->b) == 0)
            return told->tables[i].stats;
    return NULL;
}

static bool is_same_file(const struct file_stats *a, const struct file_stats *b)
{
    return a->name.version == b->name.version && strcmp(a->name.id, b->name.id) == 0;
}

static void spread_sum(struct spread *into, const struct spread *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        into->counts[i < into->count ? i : into->count - 1] += from->counts[i];
}

static void sum_file(struct sums *s, const struct file_stats *f)
{
    for (size_t i = 0; f->is_shared && i < s->sstables; i++)
        if (is_same_file(s->files[i], f))
            return;
    s->files[s->sstables++] = f;
    s->total_bytes += f->bytes;
    if (f->damage) {
        s->damaged_count++;
        return;
    }
    s->live_bytes += f->bytes;
    s->data_bytes += f->data_bytes;
    s->plain_bytes += f->plain_bytes;
    s->filter_bytes += f->filter_bytes;
    s->summary_bytes += f->summary_bytes;
    s->rows += f->rows;
    if (f->partition_bytes)
        spread_sum(&s->all.partition_bytes, f->partition_bytes);
    if (f->partition_cells)
        spread_sum(&s->all.partition_cells, f->partition_cells);
}

static void sum_shard(struct sums *s, const struct table_stats *t)
{
    struct cardinality keys;
    struct table_stats *all = &s->all;
    all->meter.reads += t->meter.reads;
    all->meter.writes += t->meter.writes;
    meter_merge(&all->meter.read_ns, &t->meter.read_ns);
    meter_merge(&all->meter.write_ns, &t->meter.write_ns);
    meter_merge(&all->meter.sstables, &t->meter.sstables);
    all->memtable_bytes += t->memtable_bytes;
    all->memtable_partitions += t->memtable_partitions;
    all->filter_memory_bytes += t->filter_memory_bytes;
    all->sample_memory_bytes += t->sample_memory_bytes;
    all->other_memory_bytes += t->other_memory_bytes;
    all->filter_skips += t->filter_skips;
    all->false_positives += t->false_positives;
    all->file_reads += t->file_reads;
    spread_sum(&all->partition_bytes, &t->partition_bytes);
    spread_sum(&all->partition_cells, &t->partition_cells);
    for (size_t i = 0; i < t->files_count; i++)
        sum_file(s, &t->files[i]);
    if (t->cardinality.size && cardinality_decode(t->cardinality, &keys, NULL) == OK) {
        cardinality_merge(&s->keys, &keys);
        cardinality_deinit(&keys);
    }
}

static void sum_table(struct sums *s, const struct errands *errands, const struct table *t)
{
    const struct told *first = errands->each[0].result;
    size_t room = 1;
    *s = (struct sums){ 0 };
    spread_init(&s->all.partition_bytes, SPREAD_SIZES_OA);
    spread_init(&s->all.partition_cells, SPREAD_CELLS);
    cardinality_init(&s->keys);
    for (int i = 0; i < errands->count; i++) {
        const struct table_stats *stats = stats_of(errands, i, &t->id);
        room += stats ? stats->files_count : 0;
    }
    s->files = mem_alloc(room * sizeof(const struct file_stats *));
    for (int i = 0; i < errands->count; i++) {
        const struct table_stats *stats = stats_of(errands, i, &t->id);
        if (stats)
            sum_shard(s, stats);
    }
    for (size_t i = 0; first && i < first->snapshots.count; i++) {
        const struct snapshot *snapshot = &first->snapshots.list[i];
        if (strcmp(snapshot->keyspace, t->keyspace) == 0 && strcmp(snapshot->table, t->name) == 0)
            s->snapshot_bytes += snapshot->own_bytes;
    }
}

static void sums_deinit(struct sums *s)
{
    cardinality_deinit(&s->keys);
    mem_free(s->files);
}

/* ---- told ---- */

static const struct {
    const char *name;
    double q;
} quantiles[] = { { "p50", 0.5 },  { "p75", 0.75 }, { "p95", 0.95 },
                  { "p98", 0.98 }, { "p99", 0.99 }, { "max", 1 } };

/* `unit`: what the numbers are divided by. */
static void meter_json(struct json *j, const char *name, const struct meter *m, double unit)
{
    json_open(j, name, '{');
    json_unsigned(j, "count", m->count);
    json_double(j, "mean", m->count ? (double)m->sum / (double)m->count / unit : 0);
    for (size_t i = 0; i < array_count(quantiles); i++)
        json_double(j, quantiles[i].name, (double)meter_quantile(m, quantiles[i].q) / unit);
    json_close(j);
}

/* How many reads opened no SSTable, one, two, ...; the last number: so many or more. */
static void sstables_json(struct json *j, const struct meter *m)
{
    uint64_t sum = 0;
    json_open(j, "reads_by_sstables", '[');
    for (uint64_t n = 0; n + 1 < METER_EXACT; n++) {
        json_unsigned(j, NULL, meter_count(m, n));
        sum += meter_count(m, n);
    }
    json_unsigned(j, NULL, m->count - sum);
    json_close(j);
}

static void spread_json(struct json *j, const char *name, const struct spread *s)
{
    uint64_t total = spread_total(s);
    uint32_t least = 0;
    while (least + 1 < s->count && s->counts[least] == 0)
        least++;
    json_open(j, name, '{');
    json_unsigned(j, "count", total);
    json_unsigned(j, "mean", spread_mean(s));
    json_unsigned(j, "min", total && least ? (uint64_t)s->offsets[least - 1] + 1 : total > 0);
    for (size_t i = 0; i < array_count(quantiles); i++)
        json_unsigned(j, quantiles[i].name, spread_quantile(s, quantiles[i].q));
    json_close(j);
}

static void files_json(struct json *j, const struct sums *s)
{
    char name[SSTABLE_NAME_BYTES];
    json_open(j, "damaged", '[');
    for (size_t i = 0; i < s->sstables; i++) {
        if (!s->files[i]->damage)
            continue;
        json_open(j, NULL, '{');
        sstable_name_print(&s->files[i]->name, COMPONENT_DATA, name);
        json_text(j, "file", name);
        json_text(j, "reason", s->files[i]->damage);
        json_close(j);
    }
    json_close(j);
}

static void space_json(struct json *j, const struct sums *s)
{
    json_open(j, "space", '{');
    json_unsigned(j, "live_bytes", s->live_bytes);
    json_unsigned(j, "total_bytes", s->total_bytes);
    json_unsigned(j, "snapshot_bytes", s->snapshot_bytes);
    json_close(j);
    if (s->plain_bytes)
        json_double(j, "compression_ratio", (double)s->data_bytes / (double)s->plain_bytes);
    else
        json_null(j, "compression_ratio");
}

static void filter_json(struct json *j, const struct table_stats *all, const struct sums *s)
{
    uint64_t asked = all->filter_skips + all->false_positives;
    json_open(j, "filter", '{');
    json_unsigned(j, "false_positives", all->false_positives);
    json_unsigned(j, "skips", all->filter_skips);
    json_double(j, "false_ratio", asked ? (double)all->false_positives / (double)asked : 0);
    json_unsigned(j, "disk_bytes", s->filter_bytes);
    json_unsigned(j, "memory_bytes", all->filter_memory_bytes);
    json_close(j);
    json_open(j, "sample", '{');
    json_unsigned(j, "disk_bytes", s->summary_bytes);
    json_unsigned(j, "memory_bytes", all->sample_memory_bytes);
    json_close(j);
    json_unsigned(j, "other_memory_bytes", all->other_memory_bytes);
}

/* Members of the table's object. */
static void table_json(struct json *j, const struct table *t, struct sums *s)
{
    const struct table_stats *all = &s->all;
    char id[UUID_TEXT_BYTES];
    uuid_print(&t->id, id);
    json_text(j, "keyspace", t->keyspace);
    json_text(j, "table", t->name);
    json_text(j, "id", id);
    json_unsigned(j, "sstables", s->sstables);
    files_json(j, s);
    space_json(j, s);
    json_unsigned(j, "partitions", cardinality_estimate(&s->keys) + all->memtable_partitions);
    json_unsigned(j, "rows_in_sstables", s->rows);
    json_open(j, "memtable", '{');
    json_unsigned(j, "bytes", all->memtable_bytes);
    json_unsigned(j, "partitions", all->memtable_partitions);
    json_close(j);
    filter_json(j, all, s);
    json_unsigned(j, "reads", all->meter.reads);
    json_unsigned(j, "writes", all->meter.writes);
    meter_json(j, "read_latency_us", &all->meter.read_ns, 1000);
    meter_json(j, "write_latency_us", &all->meter.write_ns, 1000);
    meter_json(j, "sstables_per_read", &all->meter.sstables, 1);
    sstables_json(j, &all->meter.sstables);
    spread_json(j, "partition_bytes", &all->partition_bytes);
    spread_json(j, "partition_cells", &all->partition_cells);
}

static int table_order(const void *left, const void *right)
{
    const struct table *a = *(const struct table *const *)left;
    const struct table *b = *(const struct table *const *)right;
    int order = strcmp(a->keyspace, b->keyspace);
    return order ? order : strcmp(a->name, b->name);
}

bool tables_json(const struct shard *s, const struct errands *errands, const char *keyspace,
                 const char *table, struct buf *out)
{
    const struct catalog *catalog = &s->catalog;
    const struct table **tables =
        mem_alloc((catalog->tables.count + 1) * sizeof(const struct table *));
    const struct compactions_told *compactions[NODE_SHARDS_MAX];
    struct json j = json_into(out);
    size_t count = 0, at = 0;
    for (int i = 0; i < errands->count; i++) {
        const struct told *told = errands->each[i].result;
        compactions[i] = told ? told->compactions : NULL;
    }
    for (const struct table *t; (t = map_next(&catalog->tables, &at));)
        if (!t->is_virtual && (!keyspace || strcmp(t->keyspace, keyspace) == 0) &&
            (!table || strcmp(t->name, table) == 0))
            tables[count++] = t;
    qsort(tables, count, sizeof(const struct table *), table_order);
    json_open(&j, NULL, '{');
    json_open(&j, "tables", '[');
    for (size_t i = 0; i < count; i++) {
        struct sums sums;
        sum_table(&sums, errands, tables[i]);
        json_open(&j, NULL, '{');
        table_json(&j, tables[i], &sums);
        compactions_table_json(&j, tables[i], compactions, errands->count);
        json_close(&j);
        sums_deinit(&sums);
    }
    json_close(&j);
    json_close(&j);
    mem_free(tables);
    return count > 0 || !keyspace;
}
