/* options.c - table options as written: literals to texts, and each judged in its place.
 *
 *     WITH name = value AND name = { ... }  ──>  struct option, sorted by name
 *
 * Texts are kept as they were given; what they mean, and which of them are wrong, model/params.h
 * says (facts: cql-surface.md 6).
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"
#include "cql/prepare.h"

/* A literal as text; NULL when it is none. */
static const char *literal_text(struct prepare *p, const struct term *term)
{
    switch (term->kind) {
    case TERM_STRING:
    case TERM_INTEGER:
    case TERM_FLOAT:
    case TERM_UUID:
    case TERM_BLOB:
    case TERM_DURATION:
        return arena_text(p->arena, term->text);
    case TERM_BOOLEAN:
        return (term->text.data[0] | 0x20) == 't' ? "true" : "false";
    case TERM_COLUMN:
        return arena_text(p->arena, bytes_text(term->name.text));
    case TERM_NULL:
    case TERM_MARKER:
    case TERM_STAR:
    case TERM_CALL:
    case TERM_CAST:
    case TERM_HINT:
    case TERM_LIST:
    case TERM_SET:
    case TERM_MAP:
    case TERM_TUPLE:
    case TERM_BINARY:
    case TERM_NEGATE:
    case TERM_FIELD:
    case TERM_ELEMENT:
    case TERM_SLICE:
        break;
    }
    return NULL;
}

/* Puts a pair where its name belongs; false when the name is there already. */
static bool pair_put(struct option *map, const char *name, const char *value)
{
    size_t at = map->pairs_count;
    for (; at && strcmp(map->pairs[2 * (at - 1)], name) >= 0; at--)
        if (strcmp(map->pairs[2 * (at - 1)], name) == 0)
            return false;
    memmove(map->pairs + 2 * at + 2, map->pairs + 2 * at,
            2 * (map->pairs_count - at) * sizeof *map->pairs);
    map->pairs[2 * at] = name;
    map->pairs[2 * at + 1] = value;
    map->pairs_count++;
    return true;
}

enum err prepare_map(struct prepare *p, const struct property *property, struct option *out)
{
    const struct term *map = property->value;
    *out = (struct option){ 0 };
    bool is_empty = map->kind == TERM_SET && !map->items.count;
    if (map->kind != TERM_MAP && !is_empty)
        return parse_syntax(&p->parse, map->at, "%s is a map: {'name': 'value'}",
                            property->name.text);
    *out = (struct option){ .name = arena_text(p->arena, bytes_text(property->name.text)) };
    out->pairs = arena_array(p->arena, const char *, map->items.count);
    for (size_t i = 0; i + 1 < map->items.count; i += 2) {
        const struct term *name = map->items.items[i], *value = map->items.items[i + 1];
        const char *name_text = literal_text(p, name), *value_text = literal_text(p, value);
        if (!name_text || !value_text)
            return parse_syntax(&p->parse, name->at, "%s maps texts to texts or numbers",
                                property->name.text);
        if (!pair_put(out, name_text, value_text))
            return parse_syntax(&p->parse, name->at, "%s: '%s' is given twice", property->name.text,
                                name_text);
    }
    return OK;
}

static enum err option_value(struct prepare *p, const struct property *property, struct option *out)
{
    const struct term *value = property->value;
    ensure(property->name.text);
    if (value->kind == TERM_MAP || value->kind == TERM_SET)
        return prepare_map(p, property, out);
    *out = (struct option){ .name = arena_text(p->arena, bytes_text(property->name.text)),
                            .value = literal_text(p, value) };
    if (!out->value)
        return parse_syntax(&p->parse, value->at, "%s is no literal", out->name);
    return OK;
}

static enum err option_id(struct prepare *p, const struct property *property,
                          struct plan_schema *schema)
{
    bool is_uuid = property->value->kind == TERM_UUID || property->value->kind == TERM_STRING;
    schema->has_id = is_uuid && uuid_parse(property->value->text, &schema->table->id);
    if (!schema->has_id)
        return prepare_fail(p, ERR_CONFIG, property->value->at, "id: not a uuid");
    return OK;
}

bool option_put(struct table *table, struct option option)
{
    size_t at = table->options_count;
    ensure(option.name);
    for (; at && strcmp(table->options[at - 1].name, option.name) >= 0; at--)
        if (strcmp(table->options[at - 1].name, option.name) == 0)
            return false;
    memmove(table->options + at + 1, table->options + at,
            (table->options_count - at) * sizeof option);
    table->options[at] = option;
    table->options_count++;
    return true;
}

static enum err fail_at(struct prepare *p, enum err err, uint32_t at, const struct report *report)
{
    return err == ERR_SYNTAX ? parse_syntax(&p->parse, at, "%s", report->text)
                             : prepare_fail(p, err, at, "%s", report->text);
}

static enum err add_option(struct prepare *p, const struct property *property,
                           struct plan_schema *schema)
{
    struct option option;
    struct report report;
    struct table_params params = table_params_default;
    if (strcmp(property->name.text, "id") == 0)
        return option_id(p, property, schema);
    enum err err = option_value(p, property, &option);
    if (err)
        return err;
    err = table_params_put(&params, p->parse.arena, &option, &report);
    if (err)
        return fail_at(p, err, property->name.at, &report);
    if (!option_put(schema->table, option))
        return parse_syntax(&p->parse, property->name.at, "Multiple definition for property '%s'",
                            property->name.text);
    return OK;
}

bool option_is_given(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->options_count; i++)
        if (strcmp(table->options[i].name, name) == 0)
            return true;
    return false;
}

enum err prepare_options(struct prepare *p, const struct properties *properties,
                         struct plan_schema *schema)
{
    struct table *table = schema->table;
    table->options = arena_array(p->arena, struct option, properties->count + 1);
    enum err err = OK;
    for (size_t i = 0; i < properties->count && !err; i++)
        err = add_option(p, &properties->items[i], schema);
    return err;
}
