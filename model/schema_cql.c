/* schema_cql.c - keyspaces, types and tables as the statements that make them.
 *
 *     CREATE TABLE ks.t (
 *         k int,
 *         c text,
 *         PRIMARY KEY (k, c)
 *     ) WITH CLUSTERING ORDER BY (c DESC)
 *         AND additional_write_policy = '99p'
 *         ...
 *         AND speculative_retry = '99p';
 *
 * Every option is there, given or not.  With internals a dropped column is made and dropped once
 * more, at its time, and one that came back is added behind that: what is left is the same table,
 * which reads old files as the first one does.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/schema_cql.h"

#include "model/params_inside.h"
#include "model/schema_type.h"

static void put_string(const char *text, struct buf *out)
{
    buf_put_u8(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buf_put_u8(out, '\'');
        buf_put_u8(out, (uint8_t)*text);
    }
    buf_put_u8(out, '\'');
}

static void put_qualified(const char *keyspace, const char *name, struct buf *out)
{
    type_print_name(keyspace, out);
    buf_put_u8(out, '.');
    type_print_name(name, out);
}

static const char *unless_there(struct schema_cql how)
{
    return how.is_conditional ? "IF NOT EXISTS " : "";
}

/* ---- keyspaces and types ---- */

void schema_cql_keyspace(const struct keyspace *keyspace, struct schema_cql how, struct buf *out)
{
    static const char *const classes[] = { [REPLICATION_SIMPLE] = "SimpleStrategy",
                                           [REPLICATION_TOPOLOGY] = "NetworkTopologyStrategy",
                                           [REPLICATION_LOCAL] = "LocalStrategy" };
    buf_printf(out, "CREATE KEYSPACE %s", unless_there(how));
    type_print_name(keyspace->name, out);
    buf_printf(out, " WITH replication = {'class': '%s'", classes[keyspace->replication]);
    if (keyspace->replication == REPLICATION_SIMPLE)
        buf_printf(out, ", 'replication_factor': '%u'", keyspace->factor);
    for (size_t i = 0; i < keyspace->datacenters_count; i++) {
        buf_put_text(out, ", ");
        put_string(keyspace->datacenters[i].name, out);
        buf_printf(out, ": '%u'", keyspace->datacenters[i].factor);
    }
    buf_printf(out, "} AND durable_writes = %s;\n", keyspace->is_durable ? "true" : "false");
}

void schema_cql_type(const struct type *type, struct schema_cql how, struct buf *out)
{
    buf_printf(out, "CREATE TYPE %s", unless_there(how));
    put_qualified(type->keyspace, type->name, out);
    buf_put_text(out, " (\n");
    for (size_t i = 0; i < type->parts_count; i++) {
        buf_put_text(out, "    ");
        type_print_name(type->fields[i], out);
        buf_put_u8(out, ' ');
        type_print(type->parts[i], out);
        buf_put_text(out, i + 1 < type->parts_count ? ",\n" : "\n");
    }
    buf_put_text(out, ");\n");
}

struct printed { /* types of which the statement is there */
    const struct type *type;
    const struct printed *next;
};
struct types_of {
    const struct catalog *catalog;
    struct schema_cql how;
    struct arena arena;
    const struct printed *printed;
    struct buf *out;
};

static bool is_printed(const struct types_of *t, const struct type *type)
{
    for (const struct printed *p = t->printed; p; p = p->next)
        if (strcmp(p->type->name, type->name) == 0)
            return true;
    return false;
}

/* As the catalog defines it; when it does so no more, since the keyspace was dropped with all that
 * is in it, as the table has it. */
static void put_types(struct types_of *t, const struct type *type)
{
    for (size_t i = 0; i < type->parts_count; i++)
        put_types(t, type->parts[i]);
    if (type->kind != TYPE_UDT || is_printed(t, type))
        return;
    const struct type *known = catalog_type(t->catalog, type->keyspace, type->name);
    struct printed *printed = arena_new(&t->arena, struct printed);
    *printed = (struct printed){ known ? known : type, t->printed };
    t->printed = printed;
    schema_cql_type(printed->type, t->how, t->out);
}

void schema_cql_types_of(const struct catalog *catalog, const struct table *table,
                         struct schema_cql how, struct buf *out)
{
    struct types_of types = { .catalog = catalog, .how = how, .out = out };
    for (size_t i = 0; i < table->columns_count; i++)
        put_types(&types, table->columns[i].type);
    arena_deinit(&types.arena);
}

/* ---- tables ---- */

static const struct dropped_column *dropped_of(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->dropped_count; i++)
        if (strcmp(table->dropped[i].name, name) == 0)
            return &table->dropped[i];
    return NULL;
}

static void put_column(const char *name, const struct type *type, bool is_static, struct buf *out)
{
    type_print_name(name, out);
    buf_put_u8(out, ' ');
    type_print(type, out);
    buf_put_text(out, is_static ? " static" : "");
}

static void put_columns(const struct table *table, struct schema_cql how, struct buf *out)
{
    bool is_single = table->partition_count == 1 && !table->clustering_count;
    const char *comma = "";
    for (size_t i = 0; i < table->columns_count; i++) {
        const struct column *column = &table->columns[i];
        bool is_key = column->kind < COLUMN_STATIC;
        if (!is_key && how.has_internals && dropped_of(table, column->name))
            continue; /* it comes with its drop, and is added behind it */
        buf_printf(out, "%s\n    ", comma);
        put_column(column->name, column->type, column->kind == COLUMN_STATIC, out);
        buf_put_text(out, is_single && is_key ? " PRIMARY KEY" : "");
        comma = ",";
    }
    for (size_t i = 0; how.has_internals && i < table->dropped_count; i++) {
        const struct dropped_column *dropped = &table->dropped[i];
        buf_put_text(out, ",\n    ");
        put_column(dropped->name, dropped->type, dropped->kind == COLUMN_STATIC, out);
    }
}

static void put_names(const struct column *columns, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        buf_put_text(out, i ? ", " : "");
        type_print_name(columns[i].name, out);
    }
}

static void put_key(const struct table *table, struct buf *out)
{
    bool is_composite = table->partition_count > 1;
    if (!is_composite && !table->clustering_count)
        return;
    buf_put_text(out, is_composite ? ",\n    PRIMARY KEY ((" : ",\n    PRIMARY KEY (");
    put_names(table->columns, table->partition_count, out);
    buf_put_text(out, is_composite ? ")" : "");
    buf_put_text(out, table->clustering_count ? ", " : "");
    put_names(table->columns + table->partition_count, table->clustering_count, out);
    buf_put_u8(out, ')');
}

static void put_orders(const struct table *table, struct buf *out)
{
    buf_put_text(out, "CLUSTERING ORDER BY (");
    for (size_t i = 0; i < table->clustering_count; i++) {
        const struct column *column = table_clustering(table, i);
        buf_put_text(out, i ? ", " : "");
        type_print_name(column->name, out);
        buf_put_text(out, column->is_reversed ? " DESC" : " ASC");
    }
    buf_put_text(out, ")\n    AND ");
}

static void put_map(const char *name, const char *const *pairs, size_t count, bool has_blobs,
                    struct buf *out)
{
    buf_printf(out, "\n    AND %s = {", name);
    for (size_t i = 0; i < count; i++) {
        buf_put_text(out, i ? ", " : "");
        put_string(pairs[2 * i], out);
        buf_put_text(out, ": ");
        if (has_blobs)
            buf_put_text(out, pairs[2 * i + 1]);
        else
            put_string(pairs[2 * i + 1], out);
    }
    buf_put_u8(out, '}');
}

static void put_text(const char *name, const char *value, struct buf *out)
{
    buf_printf(out, "\n    AND %s = ", name);
    put_string(value, out);
}

static void put_raw(const char *name, const char *value, struct buf *out)
{
    buf_printf(out, "\n    AND %s = %s", name, value);
}

static void put_extensions(const struct table *table, struct buf *out)
{
    for (size_t i = 0; i < table->options_count; i++)
        if (strcmp(table->options[i].name, "extensions") == 0) {
            const struct option *given = &table->options[i];
            put_map("extensions", given->pairs, given->pairs_count, true, out);
            return;
        }
    put_map("extensions", NULL, 0, true, out);
}

static void put_options(const struct table *table, struct buf *out)
{
    const struct table_params *p = table->params;
    struct arena arena = { 0 };
    buf_put_text(out, "additional_write_policy = ");
    put_string(p->additional_write_policy, out);
    put_raw("allow_auto_snapshot", p->allows_auto_snapshot ? "true" : "false", out);
    put_raw("bloom_filter_fp_chance", text_of_double(&arena, p->bloom_filter_fp_chance), out);
    put_map("caching", p->caching, 2, false, out);
    put_raw("cdc", p->is_cdc ? "true" : "false", out);
    put_text("comment", p->comment, out);
    put_map("compaction", p->compaction.pairs, p->compaction.pairs_count, false, out);
    put_map("compression", p->compression.pairs, p->compression.pairs_count, false, out);
    put_text("memtable", p->memtable, out);
    put_raw("crc_check_chance", text_of_double(&arena, p->crc_check_chance), out);
    buf_printf(out, "\n    AND default_time_to_live = %d", p->default_time_to_live);
    put_extensions(table, out);
    buf_printf(out, "\n    AND gc_grace_seconds = %d", p->gc_grace_seconds);
    put_raw("incremental_backups", p->has_incremental_backups ? "true" : "false", out);
    buf_printf(out, "\n    AND max_index_interval = %d", p->max_index_interval);
    buf_printf(out, "\n    AND memtable_flush_period_in_ms = %d", p->memtable_flush_period_ms);
    buf_printf(out, "\n    AND min_index_interval = %d", p->min_index_interval);
    put_text("read_repair", p->repairs_on_read ? "BLOCKING" : "NONE", out);
    put_text("speculative_retry", p->speculative_retry, out);
    buf_put_text(out, ";\n");
    arena_deinit(&arena);
}

static void put_drops(const struct table *table, struct buf *out)
{
    for (size_t i = 0; i < table->dropped_count; i++) {
        const struct dropped_column *dropped = &table->dropped[i];
        const struct column *again = table_column(table, bytes_text(dropped->name));
        buf_put_text(out, "ALTER TABLE ");
        put_qualified(table->keyspace, table->name, out);
        buf_put_text(out, " DROP ");
        type_print_name(dropped->name, out);
        buf_printf(out, " USING TIMESTAMP %lld;\n", (long long)dropped->dropped_at);
        if (!again || again->kind < COLUMN_STATIC)
            continue;
        buf_put_text(out, "ALTER TABLE ");
        put_qualified(table->keyspace, table->name, out);
        buf_put_text(out, " ADD ");
        put_column(again->name, again->type, again->kind == COLUMN_STATIC, out);
        buf_put_text(out, ";\n");
    }
}

void schema_cql_table(const struct table *table, struct schema_cql how, struct buf *out)
{
    char id[UUID_TEXT_BYTES];
    uuid_print(&table->id, id);
    buf_printf(out, "CREATE TABLE %s", unless_there(how));
    put_qualified(table->keyspace, table->name, out);
    buf_put_text(out, " (");
    put_columns(table, how, out);
    put_key(table, out);
    buf_put_text(out, "\n) WITH ");
    if (how.has_internals)
        buf_printf(out, "ID = %s\n    AND ", id);
    if (table->clustering_count)
        put_orders(table, out);
    put_options(table, out);
    if (how.has_internals)
        put_drops(table, out);
}
