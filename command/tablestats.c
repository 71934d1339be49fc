/* tablestats.c - `rondo tablestats` and `rondo tablehistograms`: what a node has of its tables.
 *
 * Both show what GET /api/v1/tables answers; --json is that answer itself.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"
#include "command/levels.h"
#include "command/nodes.h"
#include "command/table.h"
#include "command/tell.h"

static const struct tree *tables_get(const struct options *o, struct arena *arena)
{
    const char *keyspace = o->words_count > 0 ? o->words[0] : NULL;
    const char *table = o->words_count > 1 ? o->words[1] : NULL;
    char *path = arena_printf(arena, "/api/v1/tables%s%s%s%s", keyspace ? "/" : "",
                              keyspace ? keyspace : "", table ? "/" : "", table ? table : "");
    char *dot = keyspace && !table ? strchr(path, '.') : NULL;
    if (dot)
        *dot = '/';
    return nodes_get(o, arena, path);
}

static void json_print(const struct tree *said)
{
    printf("%.*s\n", (int)said->source.size, (const char *)said->source.data);
}

/* ---- tablestats ---- */

/* X(line, object inside or NULL, member, kind) */
enum kind { COUNT, BYTES, RATIO, MICROS };
static const struct line {
    const char *text, *inside, *member;
    enum kind kind;
} lines[] = {
    { "SSTables", NULL, "sstables", COUNT },
    { "Space used (live)", "space", "live_bytes", BYTES },
    { "Space used (total)", "space", "total_bytes", BYTES },
    { "Space used by snapshots (true size)", "space", "snapshot_bytes", BYTES },
    { "SSTable compression ratio", NULL, "compression_ratio", RATIO },
    { "Partitions (estimate)", NULL, "partitions", COUNT },
    { "Rows in SSTables", NULL, "rows_in_sstables", COUNT },
    { "Memtable partitions", "memtable", "partitions", COUNT },
    { "Memtable size", "memtable", "bytes", BYTES },
    { "Local read count", NULL, "reads", COUNT },
    { "Local read latency (p50)", "read_latency_us", "p50", MICROS },
    { "Local read latency (p99)", "read_latency_us", "p99", MICROS },
    { "Local write count", NULL, "writes", COUNT },
    { "Local write latency (p50)", "write_latency_us", "p50", MICROS },
    { "Local write latency (p99)", "write_latency_us", "p99", MICROS },
    { "SSTables per read (p50)", "sstables_per_read", "p50", COUNT },
    { "SSTables per read (max)", "sstables_per_read", "max", COUNT },
    { "Bloom filter false positives", "filter", "false_positives", COUNT },
    { "Bloom filter false ratio", "filter", "false_ratio", RATIO },
    { "Bloom filter size on disk", "filter", "disk_bytes", BYTES },
    { "Bloom filter size in memory", "filter", "memory_bytes", BYTES },
    { "Index sample size on disk", "sample", "disk_bytes", BYTES },
    { "Index sample size in memory", "sample", "memory_bytes", BYTES },
    { "Other memory of SSTables", NULL, "other_memory_bytes", BYTES },
    { "Partition size (mean)", "partition_bytes", "mean", BYTES },
    { "Partition size (max)", "partition_bytes", "max", BYTES },
    { "Written by compactions", "compaction", "written_bytes", BYTES },
    { "Pending compactions", "compaction", "pending", COUNT },
    { "Pending compactions (to read)", "compaction", "pending_bytes", BYTES },
};

static void value_print(double value, enum kind kind)
{
    if (kind == BYTES)
        printf("%s\n", sized_of(value).text);
    else if (kind == RATIO)
        printf("%.5f\n", value);
    else if (kind == MICROS)
        printf("%.1f us\n", value);
    else
        printf("%s\n", grouped_of((uint64_t)value).text);
}

static void stats_print(const struct tree *t)
{
    struct bytes keyspace = tree_text(t, "keyspace"), name = tree_text(t, "table");
    printf("%.*s.%.*s\n", (int)keyspace.size, (const char *)keyspace.data, (int)name.size,
           (const char *)name.data);
    for (size_t i = 0; i < array_count(lines); i++) {
        const struct line *line = &lines[i];
        const struct tree *from = line->inside ? tree_get(t, line->inside) : t;
        printf("    %-36s ", line->text);
        value_print(tree_number(from, line->member, 0), line->kind);
    }
    levels_of_table(stdout, tree_get(t, "compaction"));
    const struct tree *damaged = tree_get(t, "damaged");
    for (const struct tree *d = damaged ? damaged->first : NULL; d; d = d->next) {
        struct bytes reason = tree_text(d, "reason");
        printf("    %-36s %.*s\n", "SET ASIDE, DAMAGED", (int)reason.size,
               (const char *)reason.data);
    }
}

int tablestats_run(const struct options *o)
{
    struct arena arena = { 0 };
    const struct tree *said = tables_get(o, &arena);
    const struct tree *tables = tree_get(said, "tables");
    if (said && o->json)
        json_print(said);
    for (const struct tree *t = said && !o->json && tables ? tables->first : NULL; t; t = t->next) {
        if (t != tables->first)
            printf("\n");
        stats_print(t);
    }
    arena_deinit(&arena);
    return said ? EXIT_DONE : EXIT_FAILED;
}

/* ---- tablehistograms ---- */

static void histograms_print(const struct tree *t)
{
    static const char *const rows[] = { "p50", "p75", "p95", "p98", "p99", "min", "max" };
    static const struct {
        const char *heading, *member;
        bool has_fraction;
    } columns[] = { { "SSTables", "sstables_per_read", false },
                    { "write us", "write_latency_us", true },
                    { "read us", "read_latency_us", true },
                    { "partition bytes", "partition_bytes", false },
                    { "cells", "partition_cells", false } };
    struct table out;
    table_init(&out, stdout);
    table_heading(&out, "percentile", false);
    for (size_t c = 0; c < array_count(columns); c++)
        table_heading(&out, columns[c].heading, true);
    for (size_t r = 0; r < array_count(rows); r++) {
        table_printf(&out, "%s", rows[r]);
        for (size_t c = 0; c < array_count(columns); c++) {
            const struct tree *from = tree_get(t, columns[c].member);
            double value = tree_number(from, rows[r], -1);
            if (value < 0)
                table_printf(&out, "%s", "");
            else
                table_printf(&out, columns[c].has_fraction ? "%.1f" : "%.0f", value);
        }
    }
    table_finish(&out);
}

int tablehistograms_run(const struct options *o)
{
    struct arena arena = { 0 };
    const struct tree *said = tables_get(o, &arena);
    const struct tree *tables = tree_get(said, "tables");
    if (said && o->json)
        json_print(said);
    else if (said && tables && tables->first)
        histograms_print(tables->first);
    arena_deinit(&arena);
    return said ? EXIT_DONE : EXIT_FAILED;
}
