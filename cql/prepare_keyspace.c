/* prepare_keyspace.c - CREATE and ALTER KEYSPACE: replication and durability.
 *
 * How many data centres there are is known when the statement is bound: one factor for all of them
 * waits until then.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare_schema.h"

#include <stdlib.h>

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
        unsigned factor = 0;
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

static enum err keyspace_property(struct prepare *p, const struct property *property,
                                  struct plan_schema *schema)
{
    bool is_replication = strcmp(property->name.text, "replication") == 0;
    bool *has = is_replication ? &schema->has_replication : &schema->has_durability;
    if (!is_replication && strcmp(property->name.text, "durable_writes") != 0)
        return parse_syntax(&p->parse, property->name.at, "Unknown property '%s'",
                            property->name.text);
    if (*has)
        return parse_syntax(&p->parse, property->name.at, "Multiple definition for property '%s'",
                            property->name.text);
    *has = true;
    if (is_replication)
        return replication_of(p, property, schema);
    if (property->value->kind != TERM_BOOLEAN)
        return parse_syntax(&p->parse, property->value->at, "durable_writes is true or false");
    schema->keyspace->is_durable = (property->value->text.data[0] | 0x20) == 't';
    return OK;
}

enum err prepare_keyspace_settings(struct prepare *p, const struct schema_node *node,
                                   struct plan_schema *schema)
{
    struct keyspace *keyspace = schema->keyspace = arena_new(p->arena, struct keyspace);
    keyspace->name = schema->keyspace_name;
    keyspace->is_durable = true;
    enum err err = prepare_schema_name(p, "keyspace", node->table.keyspace);
    for (size_t i = 0; i < node->properties.count && !err; i++)
        err = keyspace_property(p, &node->properties.items[i], schema);
    bool is_create = p->plan->change == PLAN_CREATE_KEYSPACE;
    if (!err && is_create && !schema->has_replication)
        err = prepare_fail(p, ERR_CONFIG, node->table.keyspace.at, "replication is missing");
    return err;
}
