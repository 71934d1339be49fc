/* prepare_selector.c - terms of a select list, and what their columns are called (facts: protocol
 * 2.4).
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare_call.h"

static enum err select_column(struct prepare *p, const struct term *term, const struct table *table,
                              struct expr **out)
{
    const struct column *column;
    enum err err = prepare_column(p, table, term->name, &column);
    if (err)
        return err;
    *out = select_column_expr(p, column);
    return OK;
}

struct expr *select_column_expr(struct prepare *p, const struct column *column)
{
    enum expr_kind kind = column->kind == COLUMN_PARTITION    ? EXPR_PARTITION
                          : column->kind == COLUMN_CLUSTERING ? EXPR_CLUSTERING
                                                              : EXPR_CELL;
    struct expr *expr = prepare_expr(p, kind, column->type);
    expr->index = kind == EXPR_CELL ? column->number : column->position;
    expr->is_static = column->kind == COLUMN_STATIC;
    return expr;
}

/* (type) term */
static enum err select_hint(struct prepare *p, const struct term *term, struct plan_select *select,
                            struct expr **out)
{
    struct place place = { select->table, selector_name(p->arena, term->items.items[0]), NULL };
    enum err err = prepare_type(p, term->type, &place.type);
    return err ? err : prepare_value(p, term->items.items[0], place, out);
}

enum err prepare_selector(struct prepare *p, const struct term *term, struct plan_select *select,
                          struct expr **out)
{
    switch (term->kind) {
    case TERM_COLUMN:
        return select_column(p, term, select->table, out);
    case TERM_CALL:
        return prepare_call(p, term, select, select->table, out);
    case TERM_HINT:
        return select_hint(p, term, select, out);
    case TERM_NULL:
    case TERM_STRING:
    case TERM_INTEGER:
    case TERM_FLOAT:
    case TERM_BOOLEAN:
    case TERM_UUID:
    case TERM_BLOB:
    case TERM_DURATION:
    case TERM_MARKER:
        return prepare_invalid(p, term->at,
                               "a value in a select list needs its type: (type) value");
    case TERM_STAR:
        return parse_syntax(&p->parse, term->at, "unexpected '*'");
    case TERM_CAST:
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
    return prepare_term_missing(p, term);
}

static bool is_count_rows(const struct term *term)
{
    return strcmp(term->name.text, "count") == 0 && term->items.count == 1 &&
           (term->items.items[0]->kind == TERM_STAR || term->items.items[0]->kind == TERM_INTEGER);
}

static const char *call_name(struct arena *arena, const struct term *term)
{
    static const char *const bare[] = { "writetime", "maxwritetime", "ttl" };
    if (is_count_rows(term))
        return "count";
    bool is_bare = false;
    for (size_t i = 0; i < array_count(bare); i++)
        is_bare |= strcmp(term->name.text, bare[i]) == 0;
    struct buf text = buf_in(arena);
    buf_printf(&text, "%s%s(", is_bare ? "" : "system.", term->name.text);
    for (size_t i = 0; i < term->items.count; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", selector_name(arena, term->items.items[i]));
    buf_put(&text, ")", 2);
    return (const char *)text.data;
}

const char *selector_name(struct arena *arena, const struct term *term)
{
    if (term->kind == TERM_COLUMN)
        return arena_text(arena, bytes_text(term->name.text));
    if (term->kind == TERM_CALL)
        return call_name(arena, term);
    if (term->kind == TERM_MARKER)
        return "?";
    if (term->kind == TERM_STRING)
        return arena_printf(arena, "'%.*s'", (int)u64_min(term->text.size, 1000),
                            (const char *)term->text.data);
    if (term->kind == TERM_HINT)
        return arena_printf(arena, "(%s)%s", term->type->name,
                            selector_name(arena, term->items.items[0]));
    return arena_text(arena, term->text);
}
