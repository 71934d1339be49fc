/* bind_type.c - CREATE, ALTER and DROP TYPE meet the catalog.
 *
 * A change holds the whole definition as it will be; catalog_apply gives it to all that use it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/bind_inside.h"

static struct type *definition(struct schema_binding *b, size_t fields)
{
    struct type *type = arena_new(b->arena, struct type);
    *type = (struct type){ .kind = TYPE_UDT,
                           .keyspace = b->schema->keyspace_name,
                           .name = b->schema->name };
    type->parts = arena_array(b->arena, const struct type *, fields);
    type->fields = arena_array(b->arena, const char *, fields);
    return type;
}

static enum err add_field(struct schema_binding *b, struct type *type,
                          const struct plan_column *field)
{
    type->fields[type->parts_count] = field->name;
    return bind_type(b, field->type, &type->parts[type->parts_count++]);
}

enum err bind_create_type(struct schema_binding *b)
{
    const struct plan_schema *schema = b->schema;
    if (!catalog_keyspace(b->catalog, schema->keyspace_name))
        return report_set(b->report, ERR_INVALID, "keyspace %s does not exist",
                          schema->keyspace_name);
    if (catalog_type(b->catalog, schema->keyspace_name, schema->name))
        return bind_unless_conditional(b, ERR_INVALID, "A user type with name '%s' already exists",
                                       schema->name);
    struct type *type = definition(b, schema->columns_count);
    enum err err = OK;
    for (size_t i = 0; i < schema->columns_count && !err; i++)
        err = add_field(b, type, &schema->columns[i]);
    if (!err)
        bind_change(b, CHANGE_CREATE_TYPE)->type = type;
    return err;
}

static bool has_field(const struct type *type, const char *name, size_t *at)
{
    for (size_t i = 0; i < type->parts_count; i++)
        if (strcmp(type->fields[i], name) == 0) {
            *at = i;
            return true;
        }
    return false;
}

/* Values in keys order and hash by their bytes: a key's type must stay what it is. */
static enum err refuse_keys(struct schema_binding *b)
{
    const struct plan_schema *schema = b->schema;
    const struct keyspace *keyspace = catalog_keyspace(b->catalog, schema->keyspace_name);
    size_t at = 0;
    for (struct table *t; (t = map_next(&keyspace->tables, &at)) != NULL;)
        for (size_t i = 0; i < t->partition_count + t->clustering_count; i++)
            if (type_uses(t->columns[i].type, schema->keyspace_name, schema->name))
                return report_set(b->report, ERR_INVALID,
                                  "Cannot add a field to the type %s: it is used in the primary "
                                  "key of table %s",
                                  schema->name, t->name);
    return OK;
}

/* One field is added by a statement. */
static enum err add_fields(struct schema_binding *b, struct type *type)
{
    const struct plan_column *field = &b->schema->columns[0];
    size_t at;
    if (has_field(type, field->name, &at))
        return b->schema->skips ? OK
                                : report_set(b->report, ERR_INVALID,
                                             "Cannot add field %s to type %s: a field with name "
                                             "%s already exists",
                                             field->name, type->name, field->name);
    if (type_uses(field->type, type->keyspace, type->name))
        return report_set(b->report, ERR_INVALID,
                          "Cannot add new field %s to user type %s as it would create a circular "
                          "reference in the type",
                          field->name, type->name);
    if (type->parts_count == TYPE_PARTS_MAX)
        return report_set(b->report, ERR_INVALID, "more than %d fields", TYPE_PARTS_MAX);
    enum err err = refuse_keys(b);
    if (!err)
        err = add_field(b, type, field);
    if (!err)
        bind_change(b, CHANGE_ALTER_TYPE)->type = type;
    return err;
}

static enum err rename_fields(struct schema_binding *b, struct type *type)
{
    bool is_changed = false;
    for (size_t i = 0; i < b->schema->columns_count; i++) {
        const struct plan_column *field = &b->schema->columns[i];
        size_t at, taken;
        if (!has_field(type, field->name, &at)) {
            if (b->schema->skips)
                continue;
            return report_set(b->report, ERR_INVALID,
                              "Unable to rename: unrecognized field '%s' in type %s", field->name,
                              type->name);
        }
        if (has_field(type, field->to, &taken))
            return report_set(b->report, ERR_INVALID, "Duplicate field name '%s' in type '%s'",
                              field->to, type->name);
        type->fields[at] = field->to;
        is_changed = true;
    }
    if (is_changed)
        bind_change(b, CHANGE_ALTER_TYPE)->type = type;
    return OK;
}

static const struct type *find(struct schema_binding *b, enum err *err)
{
    const struct plan_schema *schema = b->schema;
    const struct type *type = catalog_type(b->catalog, schema->keyspace_name, schema->name);
    *err = OK;
    if (!type)
        *err = bind_unless_conditional(b, ERR_INVALID, "Type '%s.%s' doesn't exist",
                                       schema->keyspace_name, schema->name);
    return type;
}

enum err bind_alter_type(struct schema_binding *b, enum plan_change change)
{
    enum err err;
    const struct type *now = find(b, &err);
    if (!now)
        return err;
    struct type *type = definition(b, now->parts_count + 1);
    for (size_t i = 0; i < now->parts_count; i++) {
        type->parts[i] = now->parts[i];
        type->fields[i] = now->fields[i];
        type->parts_count++;
    }
    return change == PLAN_ADD_FIELDS ? add_fields(b, type) : rename_fields(b, type);
}

static enum err refuse_used(struct schema_binding *b, const struct type *type)
{
    const struct keyspace *keyspace = catalog_keyspace(b->catalog, type->keyspace);
    size_t at = 0;
    for (struct user_type *t; (t = map_next(&keyspace->types, &at)) != NULL;)
        if (t->type != type && type_uses(t->type, type->keyspace, type->name))
            return report_set(b->report, ERR_INVALID,
                              "Cannot drop user type '%s.%s' as it is still used by user type %s",
                              type->keyspace, type->name, t->type->name);
    at = 0;
    for (struct table *t; (t = map_next(&keyspace->tables, &at)) != NULL;)
        for (size_t i = 0; i < t->columns_count; i++)
            if (type_uses(t->columns[i].type, type->keyspace, type->name))
                return report_set(b->report, ERR_INVALID,
                                  "Cannot drop user type '%s.%s' as it is still used by table %s",
                                  type->keyspace, type->name, t->name);
    return OK;
}

enum err bind_drop_type(struct schema_binding *b)
{
    enum err err;
    const struct type *type = find(b, &err);
    if (!type)
        return err;
    err = refuse_used(b, type);
    if (!err)
        bind_change(b, CHANGE_DROP_TYPE)->type = type;
    return err;
}
