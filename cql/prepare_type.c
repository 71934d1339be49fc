/* prepare_type.c - types as written to types; CREATE and ALTER TYPE.
 *
 *     list<frozen<address>>   ──>  LIST ( UDT frozen ( ... ) )
 *
 * A user type is looked up in the keyspace that the statement is about and copied whole into the
 * plan.  What is inside of frozen<>, of a tuple or of a vector is frozen; where a type may not
 * stand, model/type.h says.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare_call.h"
#include "cql/prepare_schema.h"

/* Names that CQL keeps for itself beside those of its types. */
static const char *const reserved[] = { "byte",    "complex",   "enum",   "interval",
                                        "macaddr", "bitstring", "list",   "set",
                                        "map",     "tuple",     "frozen", "vector" };

static enum type_kind compound_kind(const char *name)
{
    static const struct {
        const char *name;
        enum type_kind kind;
    } compounds[] = { { "list", TYPE_LIST },
                      { "set", TYPE_SET },
                      { "map", TYPE_MAP },
                      { "tuple", TYPE_TUPLE },
                      { "vector", TYPE_VECTOR } };
    for (size_t i = 0; i < array_count(compounds); i++)
        if (strcmp(compounds[i].name, name) == 0)
            return compounds[i].kind;
    return TYPE_CUSTOM;
}

static enum err take(struct prepare *p, const struct type_node *node, const struct type **out);

static enum err unknown(struct prepare *p, const struct type_node *node)
{
    return prepare_invalid(p, node->at, "unknown type %s%s%s", node->keyspace ? node->keyspace : "",
                           node->keyspace ? "." : "", node->name);
}

static enum err take_user_type(struct prepare *p, const struct type_node *node,
                               const struct type **out)
{
    if (node->keyspace && p->keyspace && strcmp(node->keyspace, p->keyspace) != 0)
        return prepare_invalid(
            p, node->at,
            "Statement on keyspace %s cannot refer to a user type in keyspace "
            "%s; user types can only be used in the keyspace they are defined in",
            p->keyspace, node->keyspace);
    const struct type *type =
        p->keyspace ? catalog_type(p->context->catalog, p->keyspace, node->name) : NULL;
    if (!type)
        return unknown(p, node);
    *out = type_copy(p->arena, type);
    return OK;
}

/* 'org.apache.cassandra.db.marshal.UTF8Type' */
static enum err take_class(struct prepare *p, const struct type_node *node, const struct type **out)
{
    bool is_reversed;
    if (type_java_parse(p->arena, bytes_text(node->name), out, &is_reversed) != OK || is_reversed)
        return prepare_fail(p, ERR_CONFIG, node->at, "unable to find the type '%.100s'",
                            node->name);
    if ((*out)->kind == TYPE_CUSTOM || (*out)->kind == TYPE_EMPTY)
        return prepare_missing(p, node->at, "this Java class as a type is");
    return OK;
}

static enum err take_dimension(struct prepare *p, const struct type_node *node, struct type *out)
{
    const struct type_node *dimension = node->parts.count == 2 ? node->parts.items[1] : NULL;
    if (!dimension || *dimension->name)
        return parse_syntax(&p->parse, node->at, "a vector has a type and a dimension");
    if (dimension->dimension < 1 || dimension->dimension > TYPE_DIMENSION_MAX)
        return prepare_invalid(p, dimension->at, "a vector has a dimension from 1 to %d",
                               TYPE_DIMENSION_MAX);
    out->dimension = dimension->dimension;
    return OK;
}

static enum err take_parts(struct prepare *p, const struct type_node *node, enum type_kind kind,
                           const struct type **out)
{
    struct type *type = arena_new(p->arena, struct type);
    size_t count = kind == TYPE_MAP ? 2 : kind == TYPE_TUPLE ? node->parts.count : 1;
    *out = type;
    type->kind = kind;
    enum err err = kind == TYPE_VECTOR ? take_dimension(p, node, type) : OK;
    if (!err && kind != TYPE_VECTOR && node->parts.count != count)
        err = parse_syntax(&p->parse, node->at, "%s has %s", node->name,
                           count == 2 ? "two types" : "one type");
    type->parts = arena_array(p->arena, const struct type *, count);
    for (; type->parts_count < count && !err; type->parts_count++)
        err = take(p, node->parts.items[type->parts_count], &type->parts[type->parts_count]);
    bool is_always_frozen = kind == TYPE_TUPLE || kind == TYPE_VECTOR;
    if (err || !is_always_frozen)
        return err;
    type->is_frozen = true;
    for (size_t i = 0; i < count; i++)
        type->parts[i] = type_frozen(p->arena, type->parts[i]);
    return OK;
}

static enum err take_frozen(struct prepare *p, const struct type_node *node,
                            const struct type **out)
{
    if (node->parts.count != 1)
        return parse_syntax(&p->parse, node->at, "frozen has one type");
    enum err err = take(p, node->parts.items[0], out);
    if (err)
        return err;
    ensure(*out);
    if (!(*out)->parts_count)
        return prepare_invalid(p, node->at,
                               "frozen<> is only allowed on collections, tuples, and user-defined "
                               "types");
    *out = type_frozen(p->arena, *out);
    return OK;
}

static enum err take(struct prepare *p, const struct type_node *node, const struct type **out)
{
    *out = NULL;
    if (node->is_class)
        return take_class(p, node, out);
    if (!*node->name) /* a number stands alone only in a vector */
        return parse_syntax(&p->parse, node->at, "unexpected '%u' where a type is wanted",
                            node->dimension);
    if (!node->parts.count) {
        *out = node->keyspace ? NULL : type_by_name(bytes_text(node->name));
        return *out ? OK : take_user_type(p, node, out);
    }
    enum type_kind kind = compound_kind(node->name);
    if (strcmp(node->name, "frozen") == 0)
        return take_frozen(p, node, out);
    return kind == TYPE_CUSTOM ? unknown(p, node) : take_parts(p, node, kind, out);
}

enum err prepare_type(struct prepare *p, const struct type_node *node, const struct type **out)
{
    enum err err = take(p, node, out);
    if (err)
        return err;
    ensure(*out);
    const char *refusal = type_refusal(*out);
    if (!refusal)
        return OK;
    struct buf text = buf_in(p->parse.arena);
    type_print(*out, &text);
    return prepare_invalid(p, node->at, "%s: %.*s", refusal, (int)u64_min(text.size, 100),
                           (const char *)text.data);
}

/* ---- CREATE and ALTER TYPE ---- */

static enum err type_name(struct prepare *p, struct name name)
{
    bool is_reserved = type_by_name(bytes_text(name.text)) != NULL;
    for (size_t i = 0; i < array_count(reserved); i++)
        is_reserved |= strcmp(reserved[i], name.text) == 0;
    if (is_reserved)
        return parse_syntax(&p->parse, name.at, "Invalid (reserved) user type name %s", name.text);
    if (strlen(name.text) > NAME_BYTES_MAX)
        return prepare_invalid(p, name.at, "a type's name has at most %d bytes", NAME_BYTES_MAX);
    return OK;
}

static enum err field_type(struct prepare *p, const struct type_node *node, const struct type **out)
{
    enum err err = prepare_type(p, node, out);
    if (err)
        return err;
    if ((*out)->kind == TYPE_COUNTER)
        return prepare_invalid(p, node->at, "A user type cannot contain counters");
    if ((*out)->kind == TYPE_UDT && !(*out)->is_frozen)
        return prepare_invalid(p, node->at, "A user type cannot contain non-frozen UDTs");
    return OK;
}

static enum err add_fields(struct prepare *p, const struct column_nodes *nodes,
                           struct plan_schema *schema)
{
    if (nodes->count > TYPE_PARTS_MAX)
        return prepare_invalid(p, nodes->items[0].name.at, "more than %d fields", TYPE_PARTS_MAX);
    schema->columns = arena_array(p->arena, struct plan_column, nodes->count);
    for (size_t i = 0; i < nodes->count; i++) {
        const struct column_node *node = &nodes->items[i];
        for (size_t k = 0; k < i; k++)
            if (strcmp(schema->columns[k].name, node->name.text) == 0)
                return prepare_invalid(p, node->name.at, "Duplicate field name '%s' in type '%s'",
                                       node->name.text, schema->name);
        struct plan_column *field = &schema->columns[schema->columns_count++];
        *field = (struct plan_column){ .name = prepare_kept(p, node->name.text) };
        enum err err = field_type(p, node->type, &field->type);
        if (err)
            return err;
    }
    return OK;
}

enum err prepare_create_type(struct prepare *p, const struct schema_node *node,
                             struct plan_schema *schema)
{
    enum err err = type_name(p, node->table.name);
    return err ? err : add_fields(p, &node->columns, schema);
}

enum err prepare_alter_type(struct prepare *p, const struct schema_node *node,
                            struct plan_schema *schema)
{
    schema->skips = node->skips;
    if (node->alter == ALTER_RETYPE)
        return prepare_invalid(p, node->alter_at, "Altering field types is no longer supported");
    if (node->alter == ALTER_RENAME) {
        p->plan->change = PLAN_RENAME_FIELDS;
        prepare_names(p, &node->renames, schema);
        return OK;
    }
    p->plan->change = PLAN_ADD_FIELDS;
    bool is_plain = node->alter == ALTER_ADD && node->columns.count == 1 &&
                    !node->columns.items[0].is_static && !node->columns.items[0].is_masked;
    if (!is_plain)
        return parse_syntax(&p->parse, node->alter_at,
                            "a type is altered by ADD of a field and by RENAME of fields");
    return add_fields(p, &node->columns, schema);
}
