/* prepare_schema.c - statements about the schema: which keyspace, which name, which change; USE,
 * TRUNCATE.
 *
 * What a statement says by itself is judged now; what depends on the catalog (does it exist?) is
 * judged when it is bound, since a prepared statement may wait.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare_schema.h"

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

enum err prepare_schema_name(struct prepare *p, const char *what, struct name name)
{
    if (name_is_plain(name.text))
        return OK;
    return prepare_invalid(
        p, name.at, "a %s's name has 1 to %d letters, digits and underscores: '%.100s' is none",
        what, NAME_BYTES_MAX, name.text);
}

const char *prepare_kept(struct prepare *p, const char *text)
{
    return arena_text(p->arena, bytes_text(text));
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
    static const enum plan_change changes[] = {
        [STATEMENT_CREATE_KEYSPACE] = PLAN_CREATE_KEYSPACE,
        [STATEMENT_ALTER_KEYSPACE] = PLAN_ALTER_KEYSPACE,
        [STATEMENT_DROP_KEYSPACE] = PLAN_DROP_KEYSPACE,
        [STATEMENT_CREATE_TABLE] = PLAN_CREATE_TABLE,
        [STATEMENT_DROP_TABLE] = PLAN_DROP_TABLE,
        [STATEMENT_CREATE_TYPE] = PLAN_CREATE_TYPE,
        [STATEMENT_DROP_TYPE] = PLAN_DROP_TYPE,
    };
    const struct schema_node *node = &statement->schema;
    if (statement->kind < array_count(changes))
        p->plan->change = changes[statement->kind]; /* ALTER: which one is told there */
    switch ((unsigned)statement->kind) {
    case STATEMENT_CREATE_KEYSPACE:
    case STATEMENT_ALTER_KEYSPACE:
        return prepare_keyspace_settings(p, node, schema);
    case STATEMENT_CREATE_TABLE:
        return prepare_create_table(p, node, schema);
    case STATEMENT_ALTER_TABLE:
        return prepare_alter_table(p, node, schema);
    case STATEMENT_CREATE_TYPE:
        return prepare_create_type(p, node, schema);
    case STATEMENT_ALTER_TYPE:
        return prepare_alter_type(p, node, schema);
    default:
        return OK;
    }
}

enum err prepare_schema(struct prepare *p, const struct statement *statement)
{
    const struct schema_node *node = &statement->schema;
    const char *keyspace;
    if (statement->kind == STATEMENT_TRUNCATE)
        return prepare_truncate(p, node);
    struct plan_schema *schema = p->plan->schema = arena_new(p->arena, struct plan_schema);
    p->plan->kind = statement->kind == STATEMENT_USE ? CQL_USE : CQL_CHANGE;
    enum err err = prepare_keyspace(p, &node->table, &keyspace);
    if (err)
        return err;
    schema->is_conditional = node->is_conditional;
    schema->keyspace_name = prepare_kept(p, keyspace);
    if (node->table.name.text)
        schema->name = prepare_kept(p, node->table.name.text);
    return prepare_change(p, statement, schema);
}
