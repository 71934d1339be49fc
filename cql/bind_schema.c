/* bind_schema.c - CREATE, ALTER, DROP and USE meet the catalog: does it exist, may it be changed?
 *
 *     exists and IF NOT EXISTS, or absent and IF EXISTS  ──>  no change, answer Void
 *
 * A change points into the plan, the catalog and the arena of the call.  What an ALTER TABLE does
 * is in bind_alter.c, user types are in bind_type.c.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/bind_schema.h"

#include "base/uuid.h"
#include "cql/bind_inside.h"

#include <stdarg.h>
#include <stdio.h>

struct schema_change *bind_change(struct schema_binding *b, enum change_kind kind)
{
    b->out->change = arena_new(b->arena, struct schema_change);
    b->out->change->kind = kind;
    return b->out->change;
}

enum err bind_unless_conditional(struct schema_binding *b, enum err err, const char *format, ...)
{
    char text[300];
    va_list list;
    if (b->schema->is_conditional)
        return OK;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return report_set(b->report, err, "%s", text);
}

/* Replaces each user type in `type` that the keyspace has. */
static const struct type *as_now(struct schema_binding *b, const struct type *type,
                                 const struct type *part)
{
    const char *keyspace = b->schema->keyspace_name;
    if (part->kind == TYPE_UDT) {
        const struct type *now = catalog_type(b->catalog, keyspace, part->name);
        return now ? type_redefined(b->arena, type, now) : NULL;
    }
    for (size_t i = 0; type && i < part->parts_count; i++)
        type = as_now(b, type, part->parts[i]);
    return type;
}

enum err bind_type(struct schema_binding *b, const struct type *type, const struct type **out)
{
    *out = as_now(b, type, type);
    if (!*out)
        return report_set(b->report, ERR_INVALID, "a user type is gone from keyspace %s",
                          b->schema->keyspace_name);
    const char *refusal = type_refusal(*out);
    return refusal ? report_set(b->report, ERR_INVALID, "%s", refusal) : OK;
}

static enum err refuse_system(struct schema_binding *b)
{
    static const char *const names[] = { "system",
                                         "system_schema",
                                         "system_auth",
                                         "system_traces",
                                         "system_distributed",
                                         "system_views",
                                         "system_virtual_schema" };
    const char *name = b->schema->keyspace_name;
    const struct keyspace *keyspace = catalog_keyspace(b->catalog, name);
    bool is_system = keyspace && keyspace->is_system;
    for (size_t i = 0; i < array_count(names); i++)
        is_system |= strcmp(name, names[i]) == 0;
    if (!is_system)
        return OK;
    return report_set(b->report, ERR_UNAUTHORIZED, "keyspace %s is not user-modifiable", name);
}

/* ---- keyspaces ---- */

static bool is_known(const struct cql_params *params, const char *data_center)
{
    size_t at = 0;
    while (at < params->datacenters_count && strcmp(params->datacenters[at], data_center) != 0)
        at++;
    return at < params->datacenters_count;
}

/* Puts a data centre in its place by name, unless it is there. */
static void datacenter_add(struct keyspace *keyspace, struct datacenter_factor one)
{
    size_t at = keyspace->datacenters_count;
    for (size_t i = 0; i < at; i++)
        if (strcmp(keyspace->datacenters[i].name, one.name) == 0)
            return;
    keyspace->datacenters_count++;
    for (; at && strcmp(keyspace->datacenters[at - 1].name, one.name) > 0; at--)
        keyspace->datacenters[at] = keyspace->datacenters[at - 1];
    keyspace->datacenters[at] = one;
}

/* NetworkTopologyStrategy: replication_factor is for every data centre that is known and is not
 * named itself; 0 leaves one out. */
static enum err fill_datacenters(struct schema_binding *b, struct keyspace *keyspace)
{
    const struct cql_params *params = b->params;
    const struct datacenter_factor *named = keyspace->datacenters;
    size_t named_count = keyspace->datacenters_count, kept = 0, total = 0;
    unsigned every = b->schema->every_factor;
    if (keyspace->replication != REPLICATION_TOPOLOGY || !b->schema->has_replication)
        return OK;
    if (every && !params->datacenters_count)
        return report_set(b->report, ERR_CONFIG, "no data centre is known");
    keyspace->datacenters_count = 0;
    keyspace->datacenters =
        arena_array(b->arena, struct datacenter_factor, named_count + params->datacenters_count);
    for (size_t i = 0; i < named_count; i++) {
        if (params->datacenters_count && !is_known(params, named[i].name))
            return report_set(b->report, ERR_CONFIG,
                              "NetworkTopologyStrategy for keyspace %s: no node is in a data "
                              "centre '%.100s'",
                              keyspace->name, named[i].name);
        datacenter_add(keyspace, named[i]);
    }
    for (size_t i = 0; every && i < params->datacenters_count; i++)
        datacenter_add(keyspace, (struct datacenter_factor){ params->datacenters[i], every });
    for (size_t i = 0; i < keyspace->datacenters_count; i++) {
        total += keyspace->datacenters[i].factor;
        if (keyspace->datacenters[i].factor)
            keyspace->datacenters[kept++] = keyspace->datacenters[i];
    }
    keyspace->datacenters_count = kept;
    if (total == 0 || total > REPLICAS_MAX)
        return report_set(
            b->report, ERR_CONFIG,
            "NetworkTopologyStrategy for keyspace %s: %zu replicas in all, not 1 to %d",
            keyspace->name, total, REPLICAS_MAX);
    return OK;
}

static enum err create_keyspace(struct schema_binding *b)
{
    const struct plan_schema *schema = b->schema;
    if (catalog_keyspace(b->catalog, schema->keyspace_name))
        return bind_unless_conditional(b, ERR_EXISTS, "keyspace %s exists already",
                                       schema->keyspace_name);
    struct keyspace *keyspace = arena_new(b->arena, struct keyspace);
    *keyspace = *schema->keyspace;
    bind_change(b, CHANGE_CREATE_KEYSPACE)->keyspace = keyspace;
    return fill_datacenters(b, keyspace);
}

/* What the statement does not set stays as it is. */
static enum err alter_keyspace(struct schema_binding *b)
{
    const struct plan_schema *schema = b->schema;
    const struct keyspace *now = catalog_keyspace(b->catalog, schema->keyspace_name);
    if (!now)
        return bind_unless_conditional(b, ERR_INVALID, "keyspace %s does not exist",
                                       schema->keyspace_name);
    struct keyspace *keyspace = arena_new(b->arena, struct keyspace);
    *keyspace = schema->has_replication ? *schema->keyspace : *now;
    keyspace->is_durable = schema->has_durability ? schema->keyspace->is_durable : now->is_durable;
    bind_change(b, CHANGE_ALTER_KEYSPACE)->keyspace = keyspace;
    return fill_datacenters(b, keyspace);
}

static enum err drop_keyspace(struct schema_binding *b)
{
    const char *name = b->schema->keyspace_name;
    if (!catalog_keyspace(b->catalog, name))
        return bind_unless_conditional(b, ERR_INVALID, "keyspace %s does not exist", name);
    struct keyspace *keyspace = arena_new(b->arena, struct keyspace);
    keyspace->name = name;
    bind_change(b, CHANGE_DROP_KEYSPACE)->keyspace = keyspace;
    return OK;
}

/* ---- tables ---- */

static enum err columns_as_now(struct schema_binding *b, struct table *table)
{
    struct column *columns = arena_array(b->arena, struct column, table->columns_count);
    memcpy(columns, table->columns, table->columns_count * sizeof *columns);
    table->columns = columns;
    enum err err = OK;
    for (size_t i = 0; i < table->columns_count && !err; i++)
        err = bind_type(b, columns[i].type, &columns[i].type);
    return err;
}

static enum err create_table(struct schema_binding *b)
{
    const struct plan_schema *schema = b->schema;
    if (!catalog_keyspace(b->catalog, schema->keyspace_name))
        return report_set(b->report, ERR_INVALID, "keyspace %s does not exist",
                          schema->keyspace_name);
    if (catalog_table(b->catalog, schema->keyspace_name, schema->name))
        return bind_unless_conditional(b, ERR_EXISTS, "table %s.%s exists already",
                                       schema->keyspace_name, schema->name);
    struct table *table = arena_new(b->arena, struct table);
    *table = *schema->table;
    if (!schema->has_id)
        table->id = uuid_random(b->params->random[0], b->params->random[1]);
    if (catalog_table_by_id(b->catalog, &table->id))
        return report_set(b->report, ERR_INVALID, "the id of the table is taken");
    enum err err = columns_as_now(b, table);
    if (!err)
        bind_change(b, CHANGE_CREATE_TABLE)->table = table;
    return err;
}

static enum err drop_table(struct schema_binding *b)
{
    const struct plan_schema *schema = b->schema;
    if (!catalog_keyspace(b->catalog, schema->keyspace_name))
        return bind_unless_conditional(b, ERR_INVALID, "keyspace %s does not exist",
                                       schema->keyspace_name);
    const struct table *found = catalog_table(b->catalog, schema->keyspace_name, schema->name);
    if (!found)
        return bind_unless_conditional(b, ERR_INVALID, "table %s does not exist", schema->name);
    struct table *table = arena_new(b->arena, struct table);
    table->keyspace = schema->keyspace_name;
    table->name = schema->name;
    table->id = found->id;
    bind_change(b, CHANGE_DROP_TABLE)->table = table;
    return OK;
}

static enum err bind_use(const struct plan_schema *schema, const struct catalog *catalog,
                         struct report *report, struct cql_action *out)
{
    out->keyspace = schema->keyspace_name;
    if (catalog_keyspace(catalog, schema->keyspace_name))
        return OK;
    return report_set(report, ERR_INVALID, "Keyspace '%s' does not exist", schema->keyspace_name);
}

static enum err dispatch(struct schema_binding *b, enum plan_change change)
{
    switch (change) {
    case PLAN_CREATE_KEYSPACE:
        return create_keyspace(b);
    case PLAN_ALTER_KEYSPACE:
        return alter_keyspace(b);
    case PLAN_DROP_KEYSPACE:
        return drop_keyspace(b);
    case PLAN_CREATE_TABLE:
        return create_table(b);
    case PLAN_ADD_COLUMNS:
    case PLAN_DROP_COLUMNS:
    case PLAN_RENAME_COLUMNS:
    case PLAN_SET_OPTIONS:
        return bind_alter_table(b, change);
    case PLAN_DROP_TABLE:
        return drop_table(b);
    case PLAN_CREATE_TYPE:
        return bind_create_type(b);
    case PLAN_ADD_FIELDS:
    case PLAN_RENAME_FIELDS:
        return bind_alter_type(b, change);
    case PLAN_DROP_TYPE:
        break;
    }
    return bind_drop_type(b);
}

static struct schema_event event_of(const struct plan_schema *schema, enum plan_change change)
{
    bool is_create =
        change == PLAN_CREATE_KEYSPACE || change == PLAN_CREATE_TABLE || change == PLAN_CREATE_TYPE;
    bool is_drop =
        change == PLAN_DROP_KEYSPACE || change == PLAN_DROP_TABLE || change == PLAN_DROP_TYPE;
    struct schema_event event = { .change = is_create ? "CREATED"
                                            : is_drop ? "DROPPED"
                                                      : "UPDATED",
                                  .target = !schema->name                ? "KEYSPACE"
                                            : change >= PLAN_CREATE_TYPE ? "TYPE"
                                                                         : "TABLE",
                                  .keyspace = bytes_text(schema->keyspace_name) };
    if (schema->name)
        event.name = bytes_text(schema->name);
    return event;
}

enum err bind_schema(const struct cql_plan *plan, const struct catalog *catalog,
                     const struct cql_params *params, struct eval *eval, struct cql_action *out)
{
    struct schema_binding b = { plan->schema, catalog, params, eval->arena, eval->report, out };
    if (plan->kind == CQL_USE)
        return bind_use(plan->schema, catalog, eval->report, out);
    out->event = event_of(plan->schema, plan->change);
    enum err err = refuse_system(&b);
    if (!err)
        err = dispatch(&b, plan->change);
    if (err)
        out->change = NULL;
    return err;
}
