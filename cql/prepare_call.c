/* prepare_call.c - calls: native functions, token(), aggregates, writetime() and ttl().
 *
 * Arguments whose type is known by themselves (columns, calls, hints) are prepared first and choose
 * among the functions of that name; literals and markers then take the type that is asked for.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare_call.h"

#include "cql/functions.h"

static bool has_own_type(const struct term *term)
{
    return term->kind == TERM_COLUMN || term->kind == TERM_CALL || term->kind == TERM_HINT;
}

static enum err argument_typed(struct prepare *p, const struct term *term,
                               struct plan_select *select, const struct table *table,
                               struct expr **out)
{
    if (select)
        return prepare_selector(p, term, select, out);
    if (term->kind == TERM_CALL)
        return prepare_call(p, term, NULL, table, out);
    struct place place = { table, "an argument", type_native(TYPE_TEXT) };
    if (term->kind != TERM_HINT)
        return prepare_value(p, term, place, out); /* says why not */
    enum err err = prepare_type(p, term->type, &place.type);
    return err ? err : prepare_value(p, term->items.items[0], place, out);
}

static bool argument_fits(const struct term *term, const struct expr *typed, enum type_kind kind)
{
    const struct type *type = type_native(kind);
    if (typed)
        return type_fits(typed->type, type);
    return term->kind == TERM_MARKER || term->kind == TERM_NULL || literal_fits(term->kind, type);
}

static const struct function *choose(const struct term *call, struct expr *const *typed)
{
    const struct function *function;
    for (size_t i = 0; (function = function_find(call->name.text, i)) != NULL; i++) {
        bool fits = function->arguments_count == call->items.count;
        for (size_t a = 0; fits && a < call->items.count; a++)
            fits = argument_fits(call->items.items[a], typed[a], function->arguments[a]);
        if (fits)
            return function;
    }
    return NULL;
}

static enum err call_arguments(struct prepare *p, const struct term *call,
                               struct plan_select *select, const struct table *table,
                               struct expr **typed)
{
    for (size_t i = 0; i < call->items.count; i++) {
        const struct term *term = call->items.items[i];
        if (term->kind == TERM_STAR)
            return prepare_invalid(p, term->at, "%s(*) is no function", call->name.text);
        enum err err = has_own_type(term) ? argument_typed(p, term, select, table, &typed[i]) : OK;
        if (err)
            return err;
    }
    return OK;
}

static enum err call_native(struct prepare *p, const struct term *call, struct plan_select *select,
                            const struct table *table, struct expr **out)
{
    struct expr **typed = arena_array(p->arena, struct expr *, call->items.count);
    enum err err = call_arguments(p, call, select, table, typed);
    if (err)
        return err;
    const struct function *function = choose(call, typed);
    if (!function)
        return prepare_invalid(p, call->at, "%s does not take these arguments", call->name.text);
    for (size_t i = 0; i < call->items.count && !err; i++) {
        const char *name = arena_printf(p->arena, "arg%zu(system.%s)", i, call->name.text);
        struct place place = { table, name, type_native(function->arguments[i]) };
        if (!typed[i])
            err = prepare_value(p, call->items.items[i], place, &typed[i]);
    }
    *out = prepare_expr(p, EXPR_CALL, type_native(function->result));
    (*out)->function = function;
    (*out)->arguments = typed;
    (*out)->arguments_count = call->items.count;
    return err;
}

static enum err call_blob(struct prepare *p, const struct term *call, struct plan_select *select,
                          const struct table *table, struct expr **out)
{
    bool is_to_blob;
    const struct type *type = function_blob_type(call->name.text, &is_to_blob);
    const struct type *blob = type_native(TYPE_BLOB);
    if (call->items.count != 1)
        return prepare_invalid(p, call->at, "%s takes one argument", call->name.text);
    const struct term *term = call->items.items[0];
    struct expr *argument = NULL;
    const char *name = arena_printf(p->arena, "arg0(system.%s)", call->name.text);
    struct place place = { table, name, is_to_blob ? type : blob };
    enum err err = has_own_type(term) ? argument_typed(p, term, select, table, &argument)
                                      : prepare_value(p, term, place, &argument);
    if (err)
        return err;
    ensure(argument);
    if (!type_fits(argument->type, place.type))
        return prepare_invalid(p, term->at, "%s does not take this argument", call->name.text);
    *out = prepare_expr(p, EXPR_CALL, is_to_blob ? blob : type);
    (*out)->function = is_to_blob ? &function_to_blob : &function_from_blob;
    (*out)->arguments = arena_array(p->arena, struct expr *, 1);
    (*out)->arguments[0] = argument;
    (*out)->arguments_count = 1;
    return OK;
}

static bool is_own_key(const struct term *call, const struct table *table)
{
    for (size_t i = 0; i < call->items.count; i++) {
        const struct term *term = call->items.items[i];
        if (term->kind != TERM_COLUMN ||
            strcmp(term->name.text, table_partition(table, i)->name) != 0)
            return false;
    }
    return true;
}

/* token(its partition key) in a select list; token(values) anywhere. */
static enum err call_token(struct prepare *p, const struct term *call, struct plan_select *select,
                           const struct table *table, struct expr **out)
{
    if (call->items.count != table->partition_count)
        return prepare_invalid(p, call->at, "token() takes the %zu partition key columns",
                               table->partition_count);
    *out = prepare_expr(p, EXPR_TOKEN, type_native(TYPE_BIGINT));
    if (select && is_own_key(call, table))
        return OK;
    (*out)->arguments = arena_array(p->arena, struct expr *, call->items.count);
    (*out)->arguments_count = call->items.count;
    enum err err = OK;
    for (size_t i = 0; i < call->items.count && !err; i++) {
        struct place place = place_of_column(table, table_partition(table, i));
        const struct term *term = call->items.items[i];
        if (select && term->kind == TERM_COLUMN)
            return prepare_invalid(p, term->at,
                                   "token() takes the partition key columns in their order");
        err = prepare_value(p, term, place, &(*out)->arguments[i]);
    }
    return err;
}

static enum err call_aggregate(struct prepare *p, const struct term *call,
                               struct plan_select *select, enum aggregate_kind kind,
                               struct expr **out)
{
    struct expr *argument = NULL;
    const struct term *term = call->items.count ? call->items.items[0] : NULL;
    if (call->items.count != 1)
        return prepare_invalid(p, call->at, "%s takes one argument", call->name.text);
    bool is_rows =
        kind == AGGREGATE_COUNT && (term->kind == TERM_STAR || term->kind == TERM_INTEGER);
    size_t before = select->aggregates_count;
    enum err err = is_rows ? OK : prepare_selector(p, term, select, &argument);
    if (err)
        return err;
    if (select->aggregates_count != before)
        return prepare_invalid(p, term->at, "an aggregate cannot be an aggregate's argument");
    const struct type *type = aggregate_type(kind, argument ? argument->type : NULL);
    if (!type)
        return prepare_invalid(p, call->at, "%s of this type is not there yet", call->name.text);
    select->is_aggregate = true;
    *out = select_aggregate(p, select, kind, argument, type);
    return OK;
}

struct expr *select_aggregate(struct prepare *p, struct plan_select *select,
                              enum aggregate_kind kind, const struct expr *argument,
                              const struct type *type)
{
    struct aggregate *more = arena_array(p->arena, struct aggregate, select->aggregates_count + 1);
    if (select->aggregates_count)
        memcpy(more, select->aggregates, select->aggregates_count * sizeof *more);
    select->aggregates = more;
    more[select->aggregates_count] = (struct aggregate){ .kind = kind, .argument = argument };
    struct expr *expr = prepare_expr(p, EXPR_AGGREGATE, type);
    expr->index = (uint32_t)select->aggregates_count++;
    return expr;
}

/* writetime(c), maxwritetime(c), ttl(c) */
static enum err call_about_cell(struct prepare *p, const struct term *call,
                                const struct table *table, struct expr **out)
{
    bool is_ttl = strcmp(call->name.text, "ttl") == 0;
    if (call->items.count != 1)
        return prepare_invalid(p, call->at, "%s takes one column", call->name.text);
    const struct term *term = call->items.items[0];
    if (term->kind != TERM_COLUMN)
        return prepare_missing(p, term->at, "writetime and ttl of more than a column are");
    const struct column *column;
    enum err err = prepare_column(p, table, term->name, &column);
    if (err)
        return err;
    if (column->kind == COLUMN_PARTITION || column->kind == COLUMN_CLUSTERING)
        return prepare_invalid(p, term->at, "%s of %s: it is part of the primary key",
                               call->name.text, column->name);
    if (!type_is_native(column->type) && !column->type->is_frozen)
        return prepare_missing(p, term->at, "writetime and ttl of a collection are");
    *out = prepare_expr(p, is_ttl ? EXPR_TTL : EXPR_WRITETIME,
                        type_native(is_ttl ? TYPE_INT : TYPE_BIGINT));
    (*out)->index = column->number;
    (*out)->is_static = column->kind == COLUMN_STATIC;
    return OK;
}

enum err prepare_call(struct prepare *p, const struct term *call, struct plan_select *select,
                      const struct table *table, struct expr **out)
{
    const char *name = call->name.text;
    enum aggregate_kind kind;
    bool is_to_blob;
    if (call->keyspace && strcmp(call->keyspace, "system") != 0)
        return prepare_invalid(p, call->at, "unknown function %s.%s", call->keyspace, name);
    if (strcmp(name, "token") == 0 && table)
        return call_token(p, call, select, table, out);
    if (aggregate_kind_of(name, &kind))
        return select ? call_aggregate(p, call, select, kind, out)
                      : prepare_invalid(p, call->at, "%s stands only in a select list", name);
    if (select && (strcmp(name, "writetime") == 0 || strcmp(name, "maxwritetime") == 0 ||
                   strcmp(name, "ttl") == 0))
        return call_about_cell(p, call, table, out);
    if (function_blob_type(name, &is_to_blob))
        return call_blob(p, call, select, table, out);
    if (function_find(name, 0))
        return call_native(p, call, select, table, out);
    if (function_is_missing(name))
        return prepare_invalid(p, call->at, "the function %s is not there yet", name);
    return prepare_invalid(p, call->at, "unknown function %s", name);
}
