/* prepare_value.c - a term where a value is wanted: a constant in its final bytes, a marker, or a
 * call of a function.
 *
 * Literals are judged against the type of their place (facts: cql-surface.md 5) and encoded once,
 * here; nothing of their text is left in the plan.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/functions.h"
#include "cql/prepare.h"
#include "cql/prepare_call.h"

static const char *const literal_names[] = {
    [TERM_STRING] = "string",     [TERM_INTEGER] = "integer", [TERM_FLOAT] = "float",
    [TERM_BOOLEAN] = "boolean",   [TERM_UUID] = "uuid",       [TERM_BLOB] = "blob",
    [TERM_DURATION] = "duration",
};

static bool is_one_of(enum type_kind kind, const enum type_kind *kinds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kinds[i] == kind)
            return true;
    return false;
}

bool literal_fits(enum term_kind literal, const struct type *type)
{
    static const enum type_kind strings[] = { TYPE_ASCII, TYPE_TEXT, TYPE_INET,
                                              TYPE_DATE,  TYPE_TIME, TYPE_TIMESTAMP };
    static const enum type_kind integers[] = {
        TYPE_TINYINT, TYPE_SMALLINT, TYPE_INT,     TYPE_BIGINT, TYPE_VARINT, TYPE_COUNTER,
        TYPE_FLOAT,   TYPE_DOUBLE,   TYPE_DECIMAL, TYPE_DATE,   TYPE_TIME,   TYPE_TIMESTAMP,
    };
    static const enum type_kind floats[] = { TYPE_FLOAT, TYPE_DOUBLE, TYPE_DECIMAL };
    ensure(type);
    enum type_kind kind = type->kind;
    if (literal == TERM_STRING)
        return is_one_of(kind, strings, array_count(strings));
    if (literal == TERM_INTEGER)
        return is_one_of(kind, integers, array_count(integers));
    if (literal == TERM_FLOAT)
        return is_one_of(kind, floats, array_count(floats));
    return (literal == TERM_BOOLEAN && kind == TYPE_BOOLEAN) ||
           (literal == TERM_UUID && (kind == TYPE_UUID || kind == TYPE_TIMEUUID)) ||
           (literal == TERM_BLOB && kind == TYPE_BLOB) ||
           (literal == TERM_DURATION && kind == TYPE_DURATION);
}

bool type_fits(const struct type *from, const struct type *to)
{
    ensure(from && to);
    return type_equal(from, to) || to->kind == TYPE_BLOB ||
           (from->kind == TYPE_TIMEUUID && to->kind == TYPE_UUID) ||
           (from->kind == TYPE_ASCII && to->kind == TYPE_TEXT);
}

static const char *type_text(struct prepare *p, const struct type *type)
{
    struct buf text = buf_in(p->parse.arena);
    type_print(type, &text);
    buf_put_u8(&text, 0);
    return (const char *)text.data;
}

/* NaN and Infinity come in any case; the type knows one spelling. */
static struct bytes plain_text(struct prepare *p, const struct term *term)
{
    struct bytes text = term->text;
    if (term->kind != TERM_FLOAT || !text.size)
        return text;
    bool is_negative = text.data[0] == '-';
    uint8_t first = text.data[is_negative && text.size > 1] | 0x20;
    if (first != 'n' && first != 'i')
        return text;
    return bytes_text(arena_printf(p->parse.arena, "%s%s", is_negative ? "-" : "",
                                   first == 'n' ? "NaN" : "Infinity"));
}

enum err prepare_literal(struct prepare *p, const struct term *term, struct place place,
                         struct bytes *out)
{
    int shown = (int)u64_min(term->text.size, 60);
    if (!literal_fits(term->kind, place.type))
        return prepare_invalid(p, term->at, "%s %.*s is no value for %s of type %s",
                               literal_names[term->kind], shown, (const char *)term->text.data,
                               place.name, type_text(p, place.type));
    struct buf bytes = buf_in(p->arena);
    if (type_parse_value(place.type, plain_text(p, term), &bytes))
        return prepare_invalid(p, term->at, "cannot read %.*s as %s for %s", shown,
                               (const char *)term->text.data, type_text(p, place.type), place.name);
    *out = buf_bytes(&bytes);
    if (!out->data)
        out->data = (const uint8_t *)"";
    return OK;
}

static enum err value_hint(struct prepare *p, const struct term *term, struct place place,
                           struct expr **out)
{
    const struct type *type;
    enum err err = prepare_type(p, term->type, &type);
    if (err)
        return err;
    if (!type_fits(type, place.type))
        return prepare_invalid(p, term->at, "a value of type %s cannot stand for %s of type %s",
                               type_text(p, type), place.name, type_text(p, place.type));
    place.type = type;
    return prepare_value(p, term->items.items[0], place, out);
}

static enum err value_call(struct prepare *p, const struct term *term, struct place place,
                           struct expr **out)
{
    enum err err = prepare_call(p, term, NULL, place.table, out);
    if (err)
        return err;
    if (!type_fits((*out)->type, place.type))
        return prepare_invalid(p, term->at, "%s gives %s, which is no value for %s of type %s",
                               term->name.text, type_text(p, (*out)->type), place.name,
                               type_text(p, place.type));
    return OK;
}

static enum err value_constant(struct prepare *p, const struct term *term, struct place place,
                               struct expr **out)
{
    *out = prepare_expr(p, EXPR_CONSTANT, place.type);
    return prepare_literal(p, term, place, &(*out)->constant);
}

enum err prepare_value(struct prepare *p, const struct term *term, struct place place,
                       struct expr **out)
{
    if (prepare_is_tuple_of_one(term, place.type))
        return prepare_tuple_of_one(p, term, place, out);
    switch (term->kind) {
    case TERM_NULL:
        *out = prepare_expr(p, EXPR_NULL, place.type);
        return OK;
    case TERM_MARKER:
        *out = prepare_marker(p, term, place.table, place.name, place.type);
        return OK;
    case TERM_STRING:
    case TERM_INTEGER:
    case TERM_FLOAT:
    case TERM_BOOLEAN:
    case TERM_UUID:
    case TERM_BLOB:
    case TERM_DURATION:
        return value_constant(p, term, place, out);
    case TERM_HINT:
        return value_hint(p, term, place, out);
    case TERM_CALL:
        return value_call(p, term, place, out);
    case TERM_COLUMN:
        return parse_syntax(&p->parse, term->at, "unexpected '%s' where a value is wanted",
                            term->name.text);
    case TERM_STAR:
        return parse_syntax(&p->parse, term->at, "unexpected '*' where a value is wanted");
    case TERM_LIST:
    case TERM_SET:
    case TERM_MAP:
    case TERM_TUPLE:
        return prepare_collection(p, term, place, out);
    case TERM_CAST:
    case TERM_BINARY:
    case TERM_NEGATE:
    case TERM_FIELD:
    case TERM_ELEMENT:
    case TERM_SLICE:
        break;
    }
    return prepare_term_missing(p, term);
}

enum err prepare_term_missing(struct prepare *p, const struct term *term)
{
    static const char *const names[] = {
        [TERM_CAST] = "CAST is",
        [TERM_LIST] = "a list of selectors is",
        [TERM_SET] = "a set of selectors is",
        [TERM_MAP] = "a map of selectors is",
        [TERM_TUPLE] = "a tuple of selectors is",
        [TERM_BINARY] = "arithmetic is",
        [TERM_NEGATE] = "arithmetic is",
        [TERM_FIELD] = "access to a field is",
        [TERM_ELEMENT] = "access to an element is",
        [TERM_SLICE] = "access to a slice is",
    };
    ensure((size_t)term->kind < array_count(names) && names[term->kind]);
    return prepare_missing(p, term->at, names[term->kind]);
}
