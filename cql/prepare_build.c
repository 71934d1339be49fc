/* prepare_build.c - literals that are made of others: [a, b], {a, b}, {k: v}, (a, b).
 *
 *     literal     for
 *     [a, b]      list, vector
 *     {a, b}      set
 *     {a: b}      map; user type, where a is the name of a field
 *     {}          set, map
 *     (a, b)      tuple
 *
 * A literal whose parts are all constants is one itself; with a marker or a call in it, it is built
 * anew each time that the statement is bound.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare.h"

static const char *type_text(struct prepare *p, const struct type *type)
{
    struct buf text = buf_in(p->parse.arena);
    type_print(type, &text);
    buf_put_u8(&text, 0);
    return (const char *)text.data;
}

static enum err wrong_form(struct prepare *p, const struct term *term, struct place place)
{
    static const char *const forms[] = {
        [TERM_LIST] = "a list", [TERM_SET] = "a set", [TERM_MAP] = "a map", [TERM_TUPLE] = "a tuple"
    };
    return prepare_invalid(p, term->at, "%s literal is no value for %s of type %s",
                           forms[term->kind], place.name, type_text(p, place.type));
}

/* One part; null stands only in tuples and user types. */
static enum err part(struct prepare *p, const struct term *term, struct place place,
                     struct expr *build)
{
    struct expr **argument = &build->arguments[build->arguments_count++];
    bool takes_null = build->type->kind == TYPE_TUPLE || build->type->kind == TYPE_UDT;
    if (term->kind == TERM_NULL && !takes_null)
        return prepare_invalid(p, term->at, "null is not supported inside collections");
    return prepare_value(p, term, place, argument);
}

static enum err elements(struct prepare *p, const struct term *term, struct place place,
                         struct expr *build)
{
    const struct type *type = place.type;
    bool is_map = type->kind == TYPE_MAP;
    struct place value = { place.table, arena_printf(p->arena, "value(%s)", place.name),
                           type->parts[is_map] };
    struct place key = { place.table, arena_printf(p->arena, "key(%s)", place.name),
                         type->parts[0] };
    enum err err = OK;
    for (size_t i = 0; i < term->items.count && !err; i++)
        err = part(p, term->items.items[i], is_map && i % 2 == 0 ? key : value, build);
    return err;
}

static enum err vector(struct prepare *p, const struct term *term, struct place place,
                       struct expr *build)
{
    if (term->items.count != place.type->dimension)
        return prepare_invalid(p, term->at,
                               "Invalid vector literal for %s of type %s; expected %u elements, "
                               "but given %zu",
                               place.name, type_text(p, place.type),
                               (unsigned)place.type->dimension, term->items.count);
    return elements(p, term, place, build);
}

static enum err tuple(struct prepare *p, const struct term *term, struct place place,
                      struct expr *build)
{
    enum err err = OK;
    if (term->items.count > place.type->parts_count)
        return prepare_invalid(p, term->at, "the tuple %s of type %s has %zu values here",
                               place.name, type_text(p, place.type), term->items.count);
    for (size_t i = 0; i < term->items.count && !err; i++) {
        struct place at = { place.table, arena_printf(p->arena, "%s[%zu]", place.name, i),
                            place.type->parts[i] };
        err = part(p, term->items.items[i], at, build);
    }
    return err;
}

static bool is_field(const struct term *name, const char *field)
{
    return name->kind == TERM_COLUMN && strcmp(name->name.text, field) == 0;
}

/* Fields in the order of the type; those that are not named are null. */
static enum err user_type(struct prepare *p, const struct term *term, struct place place,
                          struct expr *build)
{
    const struct type *type = place.type;
    size_t known = 0;
    enum err err = OK;
    for (size_t f = 0; f < type->parts_count && !err; f++) {
        const struct term *value = NULL;
        for (size_t i = 0; i + 1 < term->items.count; i += 2)
            if (is_field(term->items.items[i], type->fields[f])) {
                known += value == NULL;
                value = term->items.items[i + 1];
            }
        struct place at = { place.table,
                            arena_printf(p->arena, "%s.%s", place.name, type->fields[f]),
                            type->parts[f] };
        if (value)
            err = part(p, value, at, build);
        else
            build->arguments[build->arguments_count++] = prepare_expr(p, EXPR_NULL, at.type);
    }
    if (!err && 2 * known != term->items.count)
        err = prepare_invalid(p, term->at,
                              "%s of type %s: a field is unknown or given more than once",
                              place.name, type_text(p, type));
    return err;
}

static bool form_fits(const struct term *term, const struct type *type)
{
    bool is_empty = term->kind == TERM_SET && !term->items.count;
    switch ((unsigned)type->kind) {
    case TYPE_LIST:
    case TYPE_VECTOR:
        return term->kind == TERM_LIST;
    case TYPE_SET:
        return term->kind == TERM_SET;
    case TYPE_MAP:
        return term->kind == TERM_MAP || is_empty;
    case TYPE_UDT:
        return term->kind == TERM_MAP;
    case TYPE_TUPLE:
        return term->kind == TERM_TUPLE;
    default:
        return false;
    }
}

static bool is_constant(const struct expr *build)
{
    for (size_t i = 0; i < build->arguments_count; i++)
        if (build->arguments[i]->kind != EXPR_CONSTANT && build->arguments[i]->kind != EXPR_NULL)
            return false;
    return true;
}

static enum err fold(struct prepare *p, const struct term *term, struct expr *build)
{
    struct report report = { 0 };
    struct value value;
    struct eval eval = { .arena = p->arena, .report = &report };
    if (!is_constant(build))
        return OK;
    enum err err = expr_eval(build, &eval, &value);
    if (err)
        return prepare_fail(p, err, term->at, "%s", report.text);
    build->kind = EXPR_CONSTANT;
    build->constant = value.bytes;
    if (!build->constant.data)
        build->constant.data = (const uint8_t *)"";
    return OK;
}

bool prepare_is_tuple_of_one(const struct term *term, const struct type *type)
{
    bool is_whole = term->kind == TERM_MARKER || term->kind == TERM_NULL ||
                    term->kind == TERM_CALL || term->kind == TERM_HINT ||
                    (term->kind == TERM_TUPLE && type->parts_count != 1);
    return term->in_parens && type->kind == TYPE_TUPLE && !is_whole;
}

enum err prepare_tuple_of_one(struct prepare *p, const struct term *term, struct place place,
                              struct expr **out)
{
    struct term *items[] = { arena_new(p->parse.arena, struct term) };
    *items[0] = *term;
    items[0]->in_parens = false;
    struct term tuple = { .kind = TERM_TUPLE, .at = term->at, .items = { items, 1 } };
    return prepare_collection(p, &tuple, place, out);
}

enum err prepare_collection(struct prepare *p, const struct term *term, struct place place,
                            struct expr **out)
{
    const struct type *type = place.type;
    if (!form_fits(term, type))
        return wrong_form(p, term, place);
    struct expr *build = *out = prepare_expr(p, EXPR_BUILD, type);
    size_t most = type->kind == TYPE_UDT ? type->parts_count : term->items.count;
    build->arguments = arena_array(p->arena, struct expr *, most);
    enum err err = type->kind == TYPE_VECTOR  ? vector(p, term, place, build)
                   : type->kind == TYPE_TUPLE ? tuple(p, term, place, build)
                   : type->kind == TYPE_UDT   ? user_type(p, term, place, build)
                                              : elements(p, term, place, build);
    return err ? err : fold(p, term, build);
}
