/* prepare_table.c - CREATE and ALTER TABLE: columns, keys, orders, options.
 *
 * What a CREATE says by itself is judged here.  An ALTER is about a table that may be another one
 * when it is bound, so here it is only read: what is added, dropped, renamed, set.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare_call.h"
#include "cql/prepare_schema.h"

#include <stdlib.h>

static enum err column_type(struct prepare *p, const struct column_node *node,
                            const struct type **out)
{
    enum err err = prepare_type(p, node->type, out);
    if (!err && node->is_masked)
        return prepare_missing(p, node->name.at, "a MASKED column is");
    return err;
}

static enum err add_columns(struct prepare *p, const struct column_nodes *nodes,
                            struct table *table)
{
    if (nodes->count > COLUMNS_MAX)
        return prepare_invalid(p, nodes->items[0].name.at, "more than %d columns", COLUMNS_MAX);
    table->columns = arena_array(p->arena, struct column, nodes->count);
    for (size_t i = 0; i < nodes->count; i++) {
        const struct column_node *node = &nodes->items[i];
        struct column *column = &table->columns[i];
        for (size_t k = 0; k < i; k++)
            if (strcmp(table->columns[k].name, node->name.text) == 0)
                return prepare_invalid(p, node->name.at, "the column %s is defined twice",
                                       node->name.text);
        column->name = prepare_kept(p, node->name.text);
        column->kind = node->is_static ? COLUMN_STATIC : COLUMN_REGULAR;
        enum err err = column_type(p, node, &column->type);
        if (err)
            return err;
    }
    table->columns_count = nodes->count;
    return OK;
}

static bool has_duration(const struct type *type)
{
    bool found = type->kind == TYPE_DURATION;
    for (size_t i = 0; i < type->parts_count && !found; i++)
        found = has_duration(type->parts[i]);
    return found;
}

/* Why a column of this type cannot be in a key; NULL when it can. */
static const char *key_refusal(const struct type *type)
{
    if (type->kind == TYPE_COUNTER)
        return "counter type is not supported for PRIMARY KEY column";
    if (has_duration(type))
        return "duration type is not supported for PRIMARY KEY column";
    if (!type_is_multicell(type))
        return NULL;
    return type->kind == TYPE_UDT ? "Invalid non-frozen user-defined type for PRIMARY KEY column"
                                  : "Invalid non-frozen collection type for PRIMARY KEY column";
}

static enum err key_column(struct prepare *p, struct table *table, struct name name,
                           enum column_kind kind, size_t position)
{
    struct column *column = NULL;
    for (size_t i = 0; i < table->columns_count && !column; i++)
        if (strcmp(table->columns[i].name, name.text) == 0)
            column = &table->columns[i];
    if (!column)
        return prepare_invalid(p, name.at, "the primary key's column %s is not defined", name.text);
    if (column->kind == COLUMN_STATIC)
        return prepare_invalid(p, name.at, "Static column '%s' cannot be part of the PRIMARY KEY",
                               name.text);
    if (column->kind != COLUMN_REGULAR)
        return prepare_invalid(p, name.at, "%s is in the primary key twice", name.text);
    const char *refusal = key_refusal(column->type);
    if (refusal)
        return prepare_invalid(p, name.at, "%s '%s'", refusal, name.text);
    column->kind = kind;
    column->position = (uint16_t)position;
    return OK;
}

/* `a int PRIMARY KEY` or PRIMARY KEY (...), exactly one of them. */
static enum err find_key(struct prepare *p, const struct schema_node *node, struct names *partition)
{
    const struct column_nodes *columns = &node->columns;
    size_t inline_count = 0;
    for (size_t i = 0; i < columns->count; i++)
        if (columns->items[i].is_primary) {
            ast_add(&p->parse, partition, columns->items[i].name);
            inline_count++;
        }
    if (inline_count + columns->has_primary == 0)
        return prepare_invalid(p, node->table.name.at, "the table %s has no PRIMARY KEY",
                               node->table.name.text);
    if (inline_count > 1 || columns->has_two || (inline_count && columns->has_primary))
        return prepare_invalid(p, node->table.name.at, "the table %s has more than one PRIMARY KEY",
                               node->table.name.text);
    if (columns->has_primary)
        *partition = columns->partition;
    return OK;
}

static enum err add_key(struct prepare *p, const struct schema_node *node, struct table *table)
{
    struct names partition = { 0 };
    const struct names *clustering = &node->columns.clustering;
    enum err err = find_key(p, node, &partition);
    if (!err && partition.count + clustering->count > KEY_COLUMNS_MAX)
        err = prepare_invalid(p, node->columns.primary_at, "a key of more than %d columns",
                              KEY_COLUMNS_MAX);
    for (size_t i = 0; i < partition.count && !err; i++)
        err = key_column(p, table, partition.items[i], COLUMN_PARTITION, i);
    for (size_t i = 0; i < clustering->count && !err; i++)
        err = key_column(p, table, clustering->items[i], COLUMN_CLUSTERING, i);
    table->partition_count = partition.count;
    table->clustering_count = clustering->count;
    return err;
}

static int column_order(const void *a, const void *b)
{
    const struct column *x = a, *y = b;
    if (x->kind != y->kind)
        return (int)x->kind - (int)y->kind;
    if (x->kind >= COLUMN_STATIC)
        return strcmp(x->name, y->name);
    return (int)x->position - (int)y->position;
}

/* After sorting: CLUSTERING ORDER BY names every clustering column, in key order. */
static enum err add_orders(struct prepare *p, const struct properties *properties,
                           struct table *table)
{
    const struct orders *orders = &properties->orders;
    if (!orders->count)
        return OK;
    if (orders->count != table->clustering_count)
        return prepare_invalid(p, properties->orders_at,
                               "CLUSTERING ORDER BY names all clustering columns, in key order");
    for (size_t i = 0; i < orders->count; i++) {
        struct column *column = &table->columns[table->partition_count + i];
        if (orders->items[i].ann || strcmp(orders->items[i].column.text, column->name) != 0)
            return prepare_invalid(p, orders->items[i].column.at,
                                   "CLUSTERING ORDER BY: %s stands where %s is wanted",
                                   orders->items[i].column.text, column->name);
        column->is_reversed = orders->items[i].is_descending;
    }
    return OK;
}

/* Columns that are no keys: all of them counters or none; static ones only beside several rows. */
static enum err check_others(struct prepare *p, const struct schema_node *node,
                             const struct table *table)
{
    size_t counters = 0, others = 0;
    for (size_t i = 0; i < table->columns_count; i++) {
        const struct column *column = &table->columns[i];
        if (column->kind == COLUMN_STATIC && !table->clustering_count)
            return prepare_invalid(p, node->table.name.at,
                                   "Static columns are only useful (and thus allowed) if the table "
                                   "has at least one clustering column");
        bool is_key = column->kind < COLUMN_STATIC;
        counters += !is_key && column->type->kind == TYPE_COUNTER;
        others += !is_key && column->type->kind != TYPE_COUNTER;
    }
    if (counters && others)
        return prepare_invalid(p, node->table.name.at,
                               "Cannot mix counter and non counter columns in the same table");
    return OK;
}

/* The compaction of the context, copied into the plan. */
static void add_compaction(struct prepare *p, struct table *table)
{
    const struct option *given = p->context->compaction;
    if (!given || option_is_given(table, given->name))
        return;
    struct option option = { prepare_kept(p, given->name), NULL, given->pairs_count, NULL };
    option.pairs = arena_array(p->arena, const char *, 2 * given->pairs_count);
    for (size_t i = 0; i < 2 * given->pairs_count; i++)
        option.pairs[i] = prepare_kept(p, given->pairs[i]);
    ensure(option_put(table, option));
}

/* The options together, and beside the columns. */
static enum err check_options(struct prepare *p, const struct schema_node *node,
                              const struct table *table)
{
    struct report report;
    struct table_params params;
    enum err err = table_params_of(table, p->parse.arena, &params, &report);
    if (err) /* no option need have been given: the context's may be wrong */
        return prepare_fail(p, err, node->table.name.at, "%s", report.text);
    if (params.default_time_to_live && plan_has_counters(table))
        return prepare_invalid(p, node->properties.items[0].name.at,
                               "Cannot set default_time_to_live on a table with counters");
    return OK;
}

enum err prepare_create_table(struct prepare *p, const struct schema_node *node,
                              struct plan_schema *schema)
{
    struct table *table = schema->table = arena_new(p->arena, struct table);
    table->keyspace = schema->keyspace_name;
    table->name = schema->name;
    if (node->properties.is_compact)
        return prepare_missing(p, node->properties.compact_at, "COMPACT STORAGE is");
    enum err err = prepare_schema_name(p, "table", node->table.name);
    if (!err)
        err = add_columns(p, &node->columns, table);
    if (!err)
        err = add_key(p, node, table);
    if (!err)
        err = check_others(p, node, table);
    if (err)
        return err;
    qsort(table->columns, table->columns_count, sizeof *table->columns, column_order);
    for (size_t i = 0; i < table->columns_count; i++)
        table->columns[i].number = table->numbers_used++;
    err = add_orders(p, &node->properties, table);
    if (!err)
        err = prepare_options(p, &node->properties, schema);
    if (err)
        return err;
    add_compaction(p, table);
    return check_options(p, node, table);
}

/* ---- ALTER TABLE ---- */

static enum err time_of(struct prepare *p, const struct term *term, struct plan_schema *schema)
{
    int64_t micros = 0;
    if (!term)
        return OK;
    struct buf value = buf_in(p->parse.arena);
    if (term->kind != TERM_INTEGER ||
        type_parse_value(type_native(TYPE_BIGINT), term->text, &value) != OK)
        return parse_syntax(&p->parse, term->at, "a timestamp is a whole number of microseconds");
    micros = (int64_t)get_be64(value.data);
    schema->has_time = true;
    schema->dropped_at = micros;
    return OK;
}

static enum err added_columns(struct prepare *p, const struct column_nodes *nodes,
                              struct plan_schema *schema)
{
    schema->columns = arena_array(p->arena, struct plan_column, nodes->count);
    for (size_t i = 0; i < nodes->count; i++) {
        const struct column_node *node = &nodes->items[i];
        struct plan_column *column = &schema->columns[schema->columns_count++];
        *column = (struct plan_column){ .name = prepare_kept(p, node->name.text),
                                        .is_static = node->is_static };
        enum err err = column_type(p, node, &column->type);
        if (err)
            return err;
    }
    return OK;
}

void prepare_names(struct prepare *p, const struct renames *renames, struct plan_schema *schema)
{
    schema->columns_count = renames->from.count;
    schema->columns = arena_array(p->arena, struct plan_column, schema->columns_count);
    for (size_t i = 0; i < schema->columns_count; i++) {
        schema->columns[i].name = prepare_kept(p, renames->from.items[i].text);
        if (renames->to.count)
            schema->columns[i].to = prepare_kept(p, renames->to.items[i].text);
    }
}

static enum err altered_options(struct prepare *p, const struct schema_node *node,
                                struct plan_schema *schema)
{
    schema->table = arena_new(p->arena, struct table);
    enum err err = prepare_options(p, &node->properties, schema);
    if (!err && schema->has_id)
        err = prepare_fail(p, ERR_CONFIG, node->alter_at, "Cannot alter table id.");
    return err;
}

enum err prepare_alter_table(struct prepare *p, const struct schema_node *node,
                             struct plan_schema *schema)
{
    schema->skips = node->skips;
    switch (node->alter) {
    case ALTER_ADD:
        p->plan->change = PLAN_ADD_COLUMNS;
        return added_columns(p, &node->columns, schema);
    case ALTER_DROP:
        p->plan->change = PLAN_DROP_COLUMNS;
        prepare_names(p, &node->renames, schema);
        return time_of(p, node->timestamp, schema);
    case ALTER_RENAME:
        p->plan->change = PLAN_RENAME_COLUMNS;
        prepare_names(p, &node->renames, schema);
        return OK;
    case ALTER_OPTIONS:
        p->plan->change = PLAN_SET_OPTIONS;
        return altered_options(p, node, schema);
    case ALTER_RETYPE:
        return prepare_invalid(p, node->alter_at, "Altering column types is no longer supported");
    case ALTER_MASK:
        return prepare_missing(p, node->alter_at, "masking a column is");
    case ALTER_COMPACT:
        break;
    }
    return prepare_missing(p, node->alter_at, "DROP COMPACT STORAGE is");
}
