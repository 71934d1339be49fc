/* system_schema.c - the live catalog as tables: keyspaces, tables, columns; the virtual keyspaces
 * have tables of their own (facts: protocol 5.4, 5.6).
 *
 * Options that a table was not given show their defaults, spelt as Cassandra spells them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/system_make.h"

static bool keyspace_is_virtual(const char *name)
{
    return strcmp(name, "system_views") == 0 || strcmp(name, "system_virtual_schema") == 0;
}

/* ---- keyspaces ---- */

static void make_replication(struct system_rows *r, const struct keyspace *k)
{
    size_t count = 1;
    const char **pairs = arena_array(r->arena, const char *, 2 * (k->datacenters_count + 2));
    pairs[0] = "class";
    if (k->replication == REPLICATION_LOCAL) {
        pairs[1] = "org.apache.cassandra.locator.LocalStrategy";
    } else if (k->replication == REPLICATION_SIMPLE) {
        pairs[1] = "org.apache.cassandra.locator.SimpleStrategy";
        pairs[2] = "replication_factor";
        pairs[3] = arena_printf(r->arena, "%u", k->factor);
        count = 2;
    } else {
        pairs[1] = "org.apache.cassandra.locator.NetworkTopologyStrategy";
        for (size_t i = 0; i < k->datacenters_count; i++, count++) {
            pairs[2 * count] = k->datacenters[i].name;
            pairs[2 * count + 1] = arena_printf(r->arena, "%u", k->datacenters[i].factor);
        }
    }
    rows_map(r, "replication", pairs, count);
}

void make_keyspaces(struct shard *s, struct system_rows *r)
{
    struct keyspace *k = NULL;
    for (size_t at = 0; (k = map_next(&s->catalog.keyspaces, &at));) {
        if (keyspace_is_virtual(k->name))
            continue;
        rows_begin(r);
        rows_text(r, "keyspace_name", k->name);
        rows_bool(r, "durable_writes", k->is_durable);
        make_replication(r, k);
        rows_end(r);
    }
}

/* ---- tables ---- */

static const struct option *table_option(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->options_count; i++)
        if (strcmp(t->options[i].name, name) == 0)
            return &t->options[i];
    return NULL;
}

static const char *option_text(const struct table *t, const char *name, const char *initial)
{
    const struct option *o = table_option(t, name);
    return o && o->value ? o->value : initial;
}

/* A map option; the class of a compaction or compression gets its package when it has none. */
static void make_map(struct system_rows *r, const struct table *t, const char *name,
                     const char *package, const char *const *initial, size_t initial_count)
{
    const struct option *o = table_option(t, name);
    const char *const *given = o && !o->value ? o->pairs : initial;
    size_t count = o && !o->value ? o->pairs_count : initial_count;
    const char **pairs = arena_array(r->arena, const char *, 2 * count + 1);
    for (size_t i = 0; i < 2 * count; i++) {
        bool is_class = i % 2 == 1 && strcmp(given[i - 1], "class") == 0;
        bool is_short = is_class && package && !strchr(given[i], '.');
        pairs[i] = is_short ? arena_printf(r->arena, "%s.%s", package, given[i]) : given[i];
    }
    rows_map(r, name, pairs, count);
}

static void make_maps(struct system_rows *r, const struct table *t)
{
    static const char *const caching[] = { "keys", "ALL", "rows_per_partition", "NONE" };
    static const char *const compaction[] = { "class",         "SizeTieredCompactionStrategy",
                                              "min_threshold", "4",
                                              "max_threshold", "32" };
    static const char *const compression[] = { "class", "LZ4Compressor", "chunk_length_in_kb",
                                               "16" };
    make_map(r, t, "caching", NULL, caching, 2);
    make_map(r, t, "compaction", "org.apache.cassandra.db.compaction", compaction, 3);
    make_map(r, t, "compression", "org.apache.cassandra.io.compress", compression, 2);
    make_map(r, t, "extensions", NULL, NULL, 0);
}

static const struct {
    const char *name, *initial;
} scalars_text[] = { { "additional_write_policy", "99p" },
                     { "comment", "" },
                     { "read_repair", "BLOCKING" },
                     { "speculative_retry", "99p" } },
  scalars_int[] = { { "default_time_to_live", "0" },
                    { "gc_grace_seconds", "864000" },
                    { "max_index_interval", "2048" },
                    { "memtable_flush_period_in_ms", "0" },
                    { "min_index_interval", "128" } },
  scalars_double[] = { { "bloom_filter_fp_chance", "0.01" }, { "crc_check_chance", "1.0" } };

/* A decimal number as a double, without the locale: digits, a point, digits, an exponent. */
static double text_double(const char *text)
{
    struct arena arena = { 0 };
    struct buf out = buf_in(&arena);
    double value = 0;
    if (type_parse_value(type_native(TYPE_DOUBLE), bytes_text(text), &out) == OK) {
        uint64_t bits = get_be64(out.data);
        memcpy(&value, &bits, sizeof value);
    }
    arena_deinit(&arena);
    return value;
}

static int32_t text_int(const char *text)
{
    struct arena arena = { 0 };
    struct buf out = buf_in(&arena);
    int32_t value = 0;
    if (type_parse_value(type_native(TYPE_INT), bytes_text(text), &out) == OK)
        value = (int32_t)get_be32(out.data);
    arena_deinit(&arena);
    return value;
}

static void make_scalars(struct system_rows *r, const struct table *t)
{
    for (size_t i = 0; i < array_count(scalars_text); i++)
        rows_text(r, scalars_text[i].name,
                  option_text(t, scalars_text[i].name, scalars_text[i].initial));
    for (size_t i = 0; i < array_count(scalars_int); i++)
        rows_int(r, scalars_int[i].name,
                 text_int(option_text(t, scalars_int[i].name, scalars_int[i].initial)));
    for (size_t i = 0; i < array_count(scalars_double); i++)
        rows_double(r, scalars_double[i].name,
                    text_double(option_text(t, scalars_double[i].name, scalars_double[i].initial)));
    rows_double(r, "read_repair_chance", 0);
    rows_double(r, "dclocal_read_repair_chance", 0);
}

static void make_table(struct system_rows *r, const struct table *t)
{
    static const char *const flags[] = { "compound" };
    rows_begin(r);
    rows_text(r, "keyspace_name", t->keyspace);
    rows_text(r, "table_name", t->name);
    rows_texts(r, "flags", flags, 1);
    rows_uuid(r, "id", &t->id);
    make_maps(r, t);
    make_scalars(r, t);
    rows_end(r);
}

void make_tables(struct shard *s, struct system_rows *r)
{
    struct table *t = NULL;
    for (size_t at = 0; (t = map_next(&s->catalog.tables, &at));)
        if (!keyspace_is_virtual(t->keyspace))
            make_table(r, t);
}

/* ---- columns ---- */

static void make_column(struct system_rows *r, const struct table *t, const struct column *c)
{
    static const char *const kinds[] = { [COLUMN_PARTITION] = "partition_key",
                                         [COLUMN_CLUSTERING] = "clustering",
                                         [COLUMN_STATIC] = "static",
                                         [COLUMN_REGULAR] = "regular" };
    bool is_key = c->kind == COLUMN_PARTITION || c->kind == COLUMN_CLUSTERING;
    struct buf type = buf_in(r->arena);
    type_print(c->type, &type);
    rows_begin(r);
    rows_text(r, "keyspace_name", t->keyspace);
    rows_text(r, "table_name", t->name);
    rows_text(r, "column_name", c->name);
    rows_bytes(r, "column_name_bytes", bytes_text(c->name));
    rows_text(r, "clustering_order",
              c->kind != COLUMN_CLUSTERING ? "none"
              : c->is_reversed             ? "desc"
                                           : "asc");
    rows_text(r, "kind", kinds[c->kind]);
    rows_int(r, "position", is_key ? c->position : -1);
    rows_bytes(r, "type", buf_bytes(&type));
    rows_end(r);
}

static void make_columns_of(struct shard *s, struct system_rows *r, bool of_virtual)
{
    struct table *t = NULL;
    for (size_t at = 0; (t = map_next(&s->catalog.tables, &at));)
        for (size_t i = 0; keyspace_is_virtual(t->keyspace) == of_virtual && i < t->columns_count;
             i++)
            make_column(r, t, &t->columns[i]);
}

void make_columns(struct shard *s, struct system_rows *r) { make_columns_of(s, r, false); }
void make_virtual_columns(struct shard *s, struct system_rows *r) { make_columns_of(s, r, true); }

void make_virtual_keyspaces(struct shard *s, struct system_rows *r)
{
    struct keyspace *k = NULL;
    for (size_t at = 0; (k = map_next(&s->catalog.keyspaces, &at));) {
        if (!keyspace_is_virtual(k->name))
            continue;
        rows_begin(r);
        rows_text(r, "keyspace_name", k->name);
        rows_end(r);
    }
}

void make_virtual_tables(struct shard *s, struct system_rows *r)
{
    struct table *t = NULL;
    for (size_t at = 0; (t = map_next(&s->catalog.tables, &at));) {
        if (!keyspace_is_virtual(t->keyspace))
            continue;
        rows_begin(r);
        rows_text(r, "keyspace_name", t->keyspace);
        rows_text(r, "table_name", t->name);
        rows_text(r, "comment", "");
        rows_end(r);
    }
}
