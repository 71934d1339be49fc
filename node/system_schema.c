/* system_schema.c - the live catalog as tables: keyspaces, tables, columns, dropped columns, types;
 * the virtual keyspaces have tables of their own (facts: protocol 5.4, 5.6).
 *
 * Options are shown as Cassandra spells them, those that a table was not given too.  Some it shows
 * only where they are not what they always were; clients take null for that.
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

/* Values of `extensions` are blobs, 0x and digits, as params.h has checked. */
static struct bytes blob_of(struct arena *arena, const char *text)
{
    struct buf out = buf_in(arena);
    if (type_parse_value(type_native(TYPE_BLOB), bytes_text(text), &out) != OK)
        return (struct bytes){ 0 };
    return buf_bytes(&out);
}

static void make_extensions(struct system_rows *r, const struct table *t)
{
    const struct option *o = NULL;
    for (size_t i = 0; i < t->options_count; i++)
        if (strcmp(t->options[i].name, "extensions") == 0)
            o = &t->options[i];
    struct buf out = buf_in(r->arena);
    size_t count = o ? o->pairs_count : 0;
    buf_put_be32(&out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        struct bytes value = blob_of(r->arena, o->pairs[2 * i + 1]);
        buf_put_be32(&out, (uint32_t)strlen(o->pairs[2 * i]));
        buf_put_text(&out, o->pairs[2 * i]);
        buf_put_be32(&out, (uint32_t)value.size);
        buf_put_bytes(&out, value);
    }
    rows_bytes(r, "extensions", buf_bytes(&out));
}

static void make_options(struct system_rows *r, const struct table *t)
{
    const struct table_params *p = t->params;
    rows_text(r, "additional_write_policy", p->additional_write_policy);
    rows_double(r, "bloom_filter_fp_chance", p->bloom_filter_fp_chance);
    rows_map(r, "caching", p->caching, 2);
    rows_text(r, "comment", p->comment);
    rows_map(r, "compaction", p->compaction.pairs, p->compaction.pairs_count);
    rows_map(r, "compression", p->compression.pairs, p->compression.pairs_count);
    rows_double(r, "crc_check_chance", p->crc_check_chance);
    rows_int(r, "default_time_to_live", p->default_time_to_live);
    make_extensions(r, t);
    rows_int(r, "gc_grace_seconds", p->gc_grace_seconds);
    rows_int(r, "max_index_interval", p->max_index_interval);
    rows_int(r, "memtable_flush_period_in_ms", p->memtable_flush_period_ms);
    rows_int(r, "min_index_interval", p->min_index_interval);
    rows_text(r, "read_repair", p->repairs_on_read ? "BLOCKING" : "NONE");
    rows_text(r, "speculative_retry", p->speculative_retry);
    rows_double(r, "read_repair_chance", 0); /* no option any more, but drivers read them */
    rows_double(r, "dclocal_read_repair_chance", 0);
    if (!p->allows_auto_snapshot)
        rows_bool(r, "allow_auto_snapshot", false);
    if (!p->has_incremental_backups)
        rows_bool(r, "incremental_backups", false);
    if (p->is_cdc)
        rows_bool(r, "cdc", true);
}

static void make_table(struct system_rows *r, const struct table *t)
{
    static const char *const flags[] = { "compound", "counter" };
    bool has_counters = t->columns[t->columns_count - 1].type->kind == TYPE_COUNTER;
    rows_begin(r);
    rows_text(r, "keyspace_name", t->keyspace);
    rows_text(r, "table_name", t->name);
    rows_texts(r, "flags", flags, has_counters ? 2 : 1);
    rows_uuid(r, "id", &t->id);
    make_options(r, t);
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

static const char *const kinds[] = { [COLUMN_PARTITION] = "partition_key",
                                     [COLUMN_CLUSTERING] = "clustering",
                                     [COLUMN_STATIC] = "static",
                                     [COLUMN_REGULAR] = "regular" };

static void make_type(struct system_rows *r, const struct type *type)
{
    struct buf text = buf_in(r->arena);
    type_print(type, &text);
    rows_bytes(r, "type", buf_bytes(&text));
}

static void make_column(struct system_rows *r, const struct table *t, const struct column *c)
{
    bool is_key = c->kind == COLUMN_PARTITION || c->kind == COLUMN_CLUSTERING;
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
    make_type(r, c->type);
    rows_end(r);
}

void make_dropped_columns(struct shard *s, struct system_rows *r)
{
    struct table *t = NULL;
    for (size_t at = 0; (t = map_next(&s->catalog.tables, &at));)
        for (size_t i = 0; i < t->dropped_count; i++) {
            const struct dropped_column *c = &t->dropped[i];
            int64_t millis = c->dropped_at / 1000 - (c->dropped_at % 1000 < 0);
            rows_begin(r);
            rows_text(r, "keyspace_name", t->keyspace);
            rows_text(r, "table_name", t->name);
            rows_text(r, "column_name", c->name);
            rows_bigint(r, "dropped_time", millis);
            rows_text(r, "kind", kinds[c->kind]);
            make_type(r, c->type);
            rows_end(r);
        }
}

/* ---- types ---- */

static void make_type_row(struct system_rows *r, const struct type *type)
{
    const char **texts = arena_array(r->arena, const char *, type->parts_count);
    for (size_t i = 0; i < type->parts_count; i++) {
        struct buf text = buf_in(r->arena);
        type_print(type->parts[i], &text);
        texts[i] = arena_text(r->arena, buf_bytes(&text));
    }
    rows_begin(r);
    rows_text(r, "keyspace_name", type->keyspace);
    rows_text(r, "type_name", type->name);
    rows_texts(r, "field_names", type->fields, type->parts_count);
    rows_texts(r, "field_types", texts, type->parts_count);
    rows_end(r);
}

void make_types(struct shard *s, struct system_rows *r)
{
    struct keyspace *k = NULL;
    for (size_t at = 0; (k = map_next(&s->catalog.keyspaces, &at));) {
        struct user_type *t = NULL;
        for (size_t type_at = 0; (t = map_next(&k->types, &type_at));)
            make_type_row(r, t->type);
    }
}

/* ---- all columns; the virtual keyspaces ---- */

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
