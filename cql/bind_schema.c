/* bind_schema.c - CREATE, DROP and USE meet the catalog: does it exist, may it be changed?
 *
 *     exists and IF NOT EXISTS, or absent and IF EXISTS  ──>  no change, answer Void
 *
 * A change points into the plan and into the arena of the call.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/bind_schema.h"

#include "base/uuid.h"

static enum err refuse_system(const struct plan_schema *schema, const struct catalog *catalog,
                              struct report *report)
{
    static const char *const names[] = { "system",
                                         "system_schema",
                                         "system_auth",
                                         "system_traces",
                                         "system_distributed",
                                         "system_views",
                                         "system_virtual_schema" };
    const struct keyspace *keyspace = catalog_keyspace(catalog, schema->keyspace_name);
    bool is_system = keyspace && keyspace->is_system;
    for (size_t i = 0; i < array_count(names); i++)
        is_system |= strcmp(schema->keyspace_name, names[i]) == 0;
    if (!is_system)
        return OK;
    return report_set(report, ERR_UNAUTHORIZED, "keyspace %s is not user-modifiable",
                      schema->keyspace_name);
}

/* NetworkTopologyStrategy with one factor for every data centre that is known. */
static enum err fill_datacenters(struct keyspace *keyspace, unsigned factor,
                                 const struct cql_params *params, struct eval *eval)
{
    size_t count = keyspace->datacenters_count;
    if (!factor || count)
        return OK;
    if (!params->datacenters_count)
        return report_set(eval->report, ERR_CONFIG, "no data centre is known");
    keyspace->datacenters =
        arena_array(eval->arena, struct datacenter_factor, params->datacenters_count);
    for (size_t i = 0; i < params->datacenters_count; i++) {
        struct datacenter_factor one = { params->datacenters[i], factor };
        size_t at = keyspace->datacenters_count++;
        for (; at && strcmp(keyspace->datacenters[at - 1].name, one.name) > 0; at--)
            keyspace->datacenters[at] = keyspace->datacenters[at - 1];
        keyspace->datacenters[at] = one;
    }
    return OK;
}

static enum err create_keyspace(const struct plan_schema *schema, const struct catalog *catalog,
                                const struct cql_params *params, struct eval *eval,
                                struct cql_action *out)
{
    if (catalog_keyspace(catalog, schema->keyspace_name))
        return schema->is_conditional
                   ? OK
                   : report_set(eval->report, ERR_EXISTS, "keyspace %s exists already",
                                schema->keyspace_name);
    struct keyspace *keyspace = arena_new(eval->arena, struct keyspace);
    *keyspace = *schema->keyspace;
    enum err err = fill_datacenters(keyspace, schema->every_factor, params, eval);
    out->change = arena_new(eval->arena, struct schema_change);
    *out->change = (struct schema_change){ CHANGE_CREATE_KEYSPACE, keyspace, NULL };
    return err;
}

static enum err drop_keyspace(const struct plan_schema *schema, const struct catalog *catalog,
                              struct eval *eval, struct cql_action *out)
{
    if (!catalog_keyspace(catalog, schema->keyspace_name))
        return schema->is_conditional
                   ? OK
                   : report_set(eval->report, ERR_INVALID, "keyspace %s does not exist",
                                schema->keyspace_name);
    struct keyspace *keyspace = arena_new(eval->arena, struct keyspace);
    keyspace->name = schema->keyspace_name;
    out->change = arena_new(eval->arena, struct schema_change);
    *out->change = (struct schema_change){ CHANGE_DROP_KEYSPACE, keyspace, NULL };
    return OK;
}

static enum err create_table(const struct plan_schema *schema, const struct catalog *catalog,
                             const struct cql_params *params, struct eval *eval,
                             struct cql_action *out)
{
    if (!catalog_keyspace(catalog, schema->keyspace_name))
        return report_set(eval->report, ERR_INVALID, "keyspace %s does not exist",
                          schema->keyspace_name);
    if (catalog_table(catalog, schema->keyspace_name, schema->table_name))
        return schema->is_conditional
                   ? OK
                   : report_set(eval->report, ERR_EXISTS, "table %s.%s exists already",
                                schema->keyspace_name, schema->table_name);
    struct table *table = arena_new(eval->arena, struct table);
    *table = *schema->table;
    if (!schema->has_id)
        table->id = uuid_random(params->random[0], params->random[1]);
    if (catalog_table_by_id(catalog, &table->id))
        return report_set(eval->report, ERR_INVALID, "the id of the table is taken");
    out->change = arena_new(eval->arena, struct schema_change);
    *out->change = (struct schema_change){ CHANGE_CREATE_TABLE, NULL, table };
    return OK;
}

static enum err drop_table(const struct plan_schema *schema, const struct catalog *catalog,
                           struct eval *eval, struct cql_action *out)
{
    const struct table *found = NULL;
    if (catalog_keyspace(catalog, schema->keyspace_name))
        found = catalog_table(catalog, schema->keyspace_name, schema->table_name);
    else if (!schema->is_conditional)
        return report_set(eval->report, ERR_INVALID, "keyspace %s does not exist",
                          schema->keyspace_name);
    if (!found)
        return schema->is_conditional ? OK
                                      : report_set(eval->report, ERR_INVALID,
                                                   "table %s does not exist", schema->table_name);
    struct table *table = arena_new(eval->arena, struct table);
    table->keyspace = schema->keyspace_name;
    table->name = schema->table_name;
    table->id = found->id;
    out->change = arena_new(eval->arena, struct schema_change);
    *out->change = (struct schema_change){ CHANGE_DROP_TABLE, NULL, table };
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

enum err bind_schema(const struct cql_plan *plan, const struct catalog *catalog,
                     const struct cql_params *params, struct eval *eval, struct cql_action *out)
{
    const struct plan_schema *schema = plan->schema;
    if (plan->kind == CQL_USE)
        return bind_use(schema, catalog, eval->report, out);
    bool is_create = plan->change == PLAN_CREATE_KEYSPACE || plan->change == PLAN_CREATE_TABLE;
    out->event = (struct schema_event){ is_create ? "CREATED" : "DROPPED",
                                        schema->table_name ? "TABLE" : "KEYSPACE",
                                        bytes_text(schema->keyspace_name),
                                        { 0 } };
    if (schema->table_name)
        out->event.name = bytes_text(schema->table_name);
    enum err err = refuse_system(schema, catalog, eval->report);
    if (err)
        return err;
    switch (plan->change) {
    case PLAN_CREATE_KEYSPACE:
        return create_keyspace(schema, catalog, params, eval, out);
    case PLAN_DROP_KEYSPACE:
        return drop_keyspace(schema, catalog, eval, out);
    case PLAN_CREATE_TABLE:
        return create_table(schema, catalog, params, eval, out);
    case PLAN_DROP_TABLE:
        break;
    }
    return drop_table(schema, catalog, eval, out);
}
