/* prepare_schema.c - CREATE and DROP of keyspaces and tables, USE, TRUNCATE.
 *
 * What a statement says by itself is judged here; what depends on the catalog (does it exist?) is
 * judged when it is bound, since a prepared statement may wait.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare_call.h"

#include <stdlib.h>

static bool name_is_plain(const char *name)
{
    ensure(name);
    size_t size = strlen(name);
    for (const char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '_'))
            return false;
    return size > 0 && size <= NAME_BYTES_MAX;
}

static enum err check_name(struct prepare *p, const char *what, struct name name)
{
    if (name_is_plain(name.text))
        return OK;
    return prepare_invalid(
        p, name.at, "a %s's name has 1 to %d letters, digits and underscores: '%.100s' is none",
        what, NAME_BYTES_MAX, name.text);
}

static const char *kept(struct prepare *p, const char *text)
{
    return arena_text(p->arena, bytes_text(text));
}

/* ---- keyspaces ---- */

static const char *short_class(const char *name, const char *package)
{
    size_t size = strlen(package);
    return strncmp(name, package, size) == 0 ? name + size : name;
}

static enum err factor_of(struct prepare *p, const struct property *property, const char *name,
                          const char *text, unsigned *out)
{
    char *end;
    unsigned long factor = strtoul(text, &end, 10);
    if (!*text || *end || text[0] < '0' || text[0] > '9')
        return prepare_fail(p, ERR_CONFIG, property->value->at,
                            "%s: '%.60s' is no replication factor", name, text);
    if (factor > REPLICAS_MAX)
        return prepare_fail(p, ERR_CONFIG, property->value->at, "%s: a replication factor above %d",
                            name, REPLICAS_MAX);
    *out = (unsigned)factor;
    return OK;
}

static enum err simple_strategy(struct prepare *p, const struct property *property,
                                const struct option *map, struct keyspace *keyspace)
{
    bool has_factor = false;
    keyspace->replication = REPLICATION_SIMPLE;
    for (size_t i = 0; i < map->pairs_count; i++) {
        const char *name = map->pairs[2 * i];
        if (strcmp(name, "class") == 0)
            continue;
        if (strcmp(name, "replication_factor") != 0)
            return prepare_fail(p, ERR_CONFIG, property->value->at,
                                "SimpleStrategy has no option %s", name);
        enum err err = factor_of(p, property, name, map->pairs[2 * i + 1], &keyspace->factor);
        if (err)
            return err;
        has_factor = true;
    }
    if (!has_factor || !keyspace->factor)
        return prepare_fail(p, ERR_CONFIG, property->value->at,
                            "SimpleStrategy needs a replication_factor of 1 or more");
    return OK;
}

/* Pairs are sorted by name, and so are the data centres then. */
static enum err topology_strategy(struct prepare *p, const struct property *property,
                                  const struct option *map, struct plan_schema *schema)
{
    struct keyspace *keyspace = schema->keyspace;
    keyspace->replication = REPLICATION_TOPOLOGY;
    keyspace->datacenters = arena_array(p->arena, struct datacenter_factor, map->pairs_count);
    for (size_t i = 0; i < map->pairs_count; i++) {
        const char *name = map->pairs[2 * i];
        unsigned factor;
        if (strcmp(name, "class") == 0)
            continue;
        enum err err = factor_of(p, property, name, map->pairs[2 * i + 1], &factor);
        if (err)
            return err;
        if (strcmp(name, "replication_factor") == 0)
            schema->every_factor = factor;
        else
            keyspace->datacenters[keyspace->datacenters_count++] =
                (struct datacenter_factor){ name, factor };
    }
    if (!keyspace->datacenters_count && !schema->every_factor)
        return prepare_fail(p, ERR_CONFIG, property->value->at,
                            "NetworkTopologyStrategy needs a factor for a data centre");
    return OK;
}

static enum err replication_of(struct prepare *p, const struct property *property,
                               struct plan_schema *schema)
{
    struct option map;
    const char *class = NULL;
    enum err err = prepare_map(p, property, &map);
    if (err)
        return err;
    for (size_t i = 0; i < map.pairs_count; i++)
        if (strcmp(map.pairs[2 * i], "class") == 0)
            class = short_class(map.pairs[2 * i + 1], "org.apache.cassandra.locator.");
    if (!class)
        return prepare_fail(p, ERR_CONFIG, property->value->at, "replication needs a class");
    if (strcmp(class, "SimpleStrategy") == 0)
        return simple_strategy(p, property, &map, schema->keyspace);
    if (strcmp(class, "NetworkTopologyStrategy") == 0)
        return topology_strategy(p, property, &map, schema);
    return prepare_fail(p, ERR_CONFIG, property->value->at,
                        "unknown replication class '%.100s': SimpleStrategy and "
                        "NetworkTopologyStrategy are there",
                        class);
}

static enum err create_keyspace(struct prepare *p, const struct schema_node *node,
                                struct plan_schema *schema)
{
    struct keyspace *keyspace = schema->keyspace = arena_new(p->arena, struct keyspace);
    bool has_replication = false;
    keyspace->name = schema->keyspace_name;
    keyspace->is_durable = true;
    enum err err = check_name(p, "keyspace", node->table.keyspace);
    for (size_t i = 0; i < node->properties.count && !err; i++) {
        const struct property *property = &node->properties.items[i];
        if (strcmp(property->name.text, "replication") == 0) {
            err = replication_of(p, property, schema);
            has_replication = true;
        } else if (strcmp(property->name.text, "durable_writes") == 0) {
            if (property->value->kind != TERM_BOOLEAN)
                return parse_syntax(&p->parse, property->value->at,
                                    "durable_writes is true or false");
            keyspace->is_durable = (property->value->text.data[0] | 0x20) == 't';
        } else {
            return parse_syntax(&p->parse, property->name.at, "Unknown property '%s'",
                                property->name.text);
        }
    }
    if (!err && !has_replication)
        err = prepare_fail(p, ERR_CONFIG, node->table.keyspace.at, "replication is missing");
    return err;
}

/* ---- tables ---- */

static enum err column_type(struct prepare *p, const struct column_node *node, struct column *out)
{
    enum err err = prepare_type(p, node->type, &out->type);
    if (err)
        return err;
    if (out->type->kind == TYPE_COUNTER)
        return prepare_missing(p, node->type->at, "a counter column is");
    if (node->is_static)
        return prepare_missing(p, node->name.at, "a STATIC column is");
    if (node->is_masked)
        return prepare_missing(p, node->name.at, "a MASKED column is");
    return OK;
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
        column->name = kept(p, node->name.text);
        column->kind = COLUMN_REGULAR;
        enum err err = column_type(p, node, column);
        if (err)
            return err;
    }
    table->columns_count = nodes->count;
    return OK;
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
    if (column->kind != COLUMN_REGULAR)
        return prepare_invalid(p, name.at, "%s is in the primary key twice", name.text);
    if (column->type->kind == TYPE_DURATION)
        return prepare_invalid(p, name.at, "duration has no order: %s cannot be a key column",
                               name.text);
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
    if (x->kind == COLUMN_REGULAR)
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

static enum err create_table(struct prepare *p, const struct schema_node *node,
                             struct plan_schema *schema)
{
    struct table *table = schema->table = arena_new(p->arena, struct table);
    table->keyspace = schema->keyspace_name;
    table->name = schema->table_name;
    if (node->properties.is_compact)
        return prepare_missing(p, node->properties.compact_at, "COMPACT STORAGE is");
    enum err err = check_name(p, "table", node->table.name);
    if (!err)
        err = add_columns(p, &node->columns, table);
    if (!err)
        err = add_key(p, node, table);
    if (err)
        return err;
    qsort(table->columns, table->columns_count, sizeof *table->columns, column_order);
    for (size_t i = 0; i < table->columns_count; i++)
        table->columns[i].number = (uint32_t)i;
    err = add_orders(p, &node->properties, table);
    return err ? err : prepare_options(p, &node->properties, schema);
}

static enum err prepare_truncate(struct prepare *p, const struct schema_node *node)
{
    p->plan->kind = CQL_TRUNCATE;
    enum err err = prepare_table(p, &node->table, &p->plan->table);
    return err ? err : prepare_writable(p, &node->table, p->plan->table);
}

static enum err prepare_change(struct prepare *p, const struct statement *statement,
                               struct plan_schema *schema)
{
    const struct schema_node *node = &statement->schema;
    const char *keyspace;
    enum err err = prepare_keyspace(p, &node->table, &keyspace);
    if (err)
        return err;
    schema->is_conditional = node->is_conditional;
    schema->keyspace_name = kept(p, keyspace);
    if (node->table.name.text)
        schema->table_name = kept(p, node->table.name.text);
    if (statement->kind == STATEMENT_CREATE_KEYSPACE)
        return create_keyspace(p, node, schema);
    if (statement->kind == STATEMENT_CREATE_TABLE)
        return create_table(p, node, schema);
    return OK;
}

enum err prepare_schema(struct prepare *p, const struct statement *statement)
{
    if (statement->kind == STATEMENT_TRUNCATE)
        return prepare_truncate(p, &statement->schema);
    struct plan_schema *schema = p->plan->schema = arena_new(p->arena, struct plan_schema);
    p->plan->kind = statement->kind == STATEMENT_USE ? CQL_USE : CQL_CHANGE;
    p->plan->change = statement->kind == STATEMENT_CREATE_KEYSPACE ? PLAN_CREATE_KEYSPACE
                      : statement->kind == STATEMENT_DROP_KEYSPACE ? PLAN_DROP_KEYSPACE
                      : statement->kind == STATEMENT_CREATE_TABLE  ? PLAN_CREATE_TABLE
                                                                   : PLAN_DROP_TABLE;
    return prepare_change(p, statement, schema);
}
