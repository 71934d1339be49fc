/* expr.c - computes values: of markers, of columns in a row, of calls.
 *
 * A bound value is validated each time it is used: what a client sends is not trusted, and nothing
 * that is not a value of its type goes on into a key or a cell.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/expr.h"

#include "base/map.h"
#include "cql/functions.h"
#include "cql/plan.h"

enum { NAMES_SCANNED_MAX = 32 };

/* Where the value of that name is; values_count when there is none. */
static size_t name_at(const struct cql_params *params, const struct map *index, struct bytes name)
{
    const struct bytes *found = index->count ? map_get(index, name) : NULL;
    if (found || index->count)
        return found ? (size_t)(found - params->names) : params->values_count;
    size_t at = 0;
    while (at < params->values_count && !bytes_equal(params->names[at], name))
        at++;
    return at;
}

/* Named values in the order of the markers.  Many names are looked up through an index, so that no
 * request costs the square of its size. */
static enum err named_values(struct eval *eval, const struct cql_params *params)
{
    const struct cql_plan *plan = eval->plan;
    struct map index = { 0 };
    enum err err = OK;
    struct value *values = arena_array(eval->arena, struct value, plan->markers_count);
    for (size_t i = 0; params->values_count > NAMES_SCANNED_MAX && i < params->values_count; i++)
        if (!map_get(&index, params->names[i]))
            map_put(&index, params->names[i], (void *)&params->names[i]);
    for (size_t i = 0; i < plan->markers_count && !err; i++) {
        size_t at = name_at(params, &index, bytes_text(plan->markers[i].name));
        if (at < params->values_count)
            values[i] = params->values[at];
        else
            err = report_set(eval->report, ERR_INVALID, "no value is given for the marker %s",
                             plan->markers[i].name);
    }
    map_deinit(&index);
    eval->values = values;
    return err;
}

enum err eval_begin(struct eval *eval, const struct cql_plan *plan, const struct cql_params *params,
                    struct arena *arena, struct report *report)
{
    *eval = (struct eval){ .plan = plan,
                           .values = params->values,
                           .arena = arena,
                           .report = report,
                           .now_seconds = params->now_seconds,
                           .wall_micros = params->wall_micros };
    eval->prng.state = params->random[0] ^ (params->random[1] << 1 | params->random[1] >> 63);
    if (params->names && plan->markers_count)
        return named_values(eval, params);
    if (params->values_count != plan->markers_count)
        return report_set(report, ERR_INVALID, "%zu values for %zu bind markers",
                          params->values_count, plan->markers_count);
    return OK;
}

uint8_t *eval_room(struct eval *eval, size_t size)
{
    ensure(size <= EVAL_SLOT_BYTES);
    if (!eval->slots)
        return arena_alloc(eval->arena, size);
    return eval->slots[eval->slot++ % EVAL_SLOTS];
}

/* A collection is stored as it is sorted, whatever the client sent. */
static enum err eval_marker(const struct expr *expr, struct eval *eval, struct value *out)
{
    *out = eval->values[expr->index];
    if (out->state != VALUE_SET)
        return OK;
    if (type_validate(expr->type, out->bytes) == OK) {
        if (!type_is_native(expr->type))
            out->bytes = type_canonical(eval->arena, expr->type, out->bytes);
        return OK;
    }
    struct buf type = buf_in(eval->arena);
    type_print(expr->type, &type);
    return report_set(eval->report, ERR_INVALID,
                      "the %zu bytes bound to %s are no value of type %.*s", out->bytes.size,
                      eval->plan->markers[expr->index].name, (int)type.size,
                      (const char *)type.data);
}

static const struct row *row_of(const struct expr *expr, const struct eval *eval)
{
    return expr->is_static ? eval->static_row : eval->row;
}

/* The fields of a user type in their order, those without a live cell null. */
static void build_fields(const struct expr *expr, const struct eval *eval, const struct cell *cells,
                         size_t count, struct type_build *build)
{
    size_t at = 0;
    for (size_t f = 0; f < expr->type->parts_count; f++) {
        while (at < count && (cells[at].path.size != 2 || get_be16(cells[at].path.data) < f))
            at++;
        bool is_there = at < count && get_be16(cells[at].path.data) == f &&
                        cell_is_live(&cells[at], eval->now_seconds);
        if (is_there)
            type_build_part(build, cells[at].value);
        else
            type_build_null(build);
    }
}

static void build_elements(const struct expr *expr, const struct eval *eval,
                           const struct cell *cells, size_t count, struct type_build *build)
{
    for (size_t i = 0; i < count; i++) {
        if (!cell_is_live(&cells[i], eval->now_seconds))
            continue;
        if (expr->type->kind != TYPE_LIST)
            type_build_part(build, cells[i].path);
        if (expr->type->kind != TYPE_SET)
            type_build_part(build, cells[i].value);
    }
}

/* A column that has a cell for each element: what lives of them, as one value; none is null. */
static enum err eval_cells(const struct expr *expr, const struct eval *eval, const struct row *row,
                           struct value *out)
{
    size_t count, live = 0;
    struct type_build build;
    struct buf bytes = buf_in(eval->arena);
    const struct cell *cells = row_cells(row, expr->index, &count);
    if (count && cells[0].kind == CELL_COLUMN_DELETED)
        cells++, count--;
    for (size_t i = 0; i < count; i++)
        live += cell_is_live(&cells[i], eval->now_seconds);
    if (!live)
        return OK;
    type_build_begin(&build, eval->arena, expr->type);
    if (expr->type->kind == TYPE_UDT)
        build_fields(expr, eval, cells, count, &build);
    else
        build_elements(expr, eval, cells, count, &build);
    if (type_build_end(&build, &bytes) != OK)
        return report_set(eval->report, ERR_INVALID, "a collection with a part that is no value");
    *out = (struct value){ VALUE_SET, buf_bytes(&bytes) };
    return OK;
}

static enum err eval_cell(const struct expr *expr, struct eval *eval, struct value *out)
{
    const struct row *row = row_of(expr, eval);
    if (!row)
        return OK;
    if (type_is_multicell(expr->type) && !eval->table->is_virtual) /* those are made whole */
        return eval_cells(expr, eval, row, out);
    const struct cell *cell = row_cell(row, expr->index);
    if (!cell || !cell_is_live(cell, eval->now_seconds))
        return OK;
    *out = (struct value){ VALUE_SET, cell->value };
    if (expr->type->kind == TYPE_COUNTER && !eval->table->is_virtual) { /* what all have counted */
        uint8_t *raw = eval_room(eval, 8);
        put_be64(raw, (uint64_t)counter_total(cell->value));
        out->bytes = bytes_of(raw, 8);
    }
    return OK;
}

static void eval_about_cell(const struct expr *expr, struct eval *eval, struct value *out)
{
    const struct row *row = row_of(expr, eval);
    const struct cell *cell = row ? row_cell(row, expr->index) : NULL;
    if (!cell || !cell_is_live(cell, eval->now_seconds))
        return;
    if (expr->kind == EXPR_TTL && cell->kind != CELL_EXPIRING)
        return;
    uint8_t *raw = eval_room(eval, 8);
    size_t size = expr->kind == EXPR_TTL ? 4 : 8;
    if (expr->kind == EXPR_TTL)
        put_be32(raw, (uint32_t)((int64_t)cell->seconds - eval->now_seconds));
    else
        put_be64(raw, (uint64_t)cell->timestamp);
    *out = (struct value){ VALUE_SET, bytes_of(raw, size) };
}

static enum err eval_arguments(const struct expr *expr, struct eval *eval, struct value *values,
                               bool *has_null)
{
    *has_null = false;
    for (size_t i = 0; i < expr->arguments_count; i++) {
        enum err err = expr_eval(expr->arguments[i], eval, &values[i]);
        if (err)
            return err;
        if (values[i].state == VALUE_UNSET)
            return report_set(eval->report, ERR_INVALID, "a function's argument is unset");
        *has_null |= values[i].state == VALUE_NULL;
    }
    return OK;
}

static enum err eval_call(const struct expr *expr, struct eval *eval, struct value *out)
{
    struct value values[FUNCTION_ARGUMENTS_MAX];
    bool has_null;
    ensure(expr->arguments_count <= FUNCTION_ARGUMENTS_MAX);
    enum err err = eval_arguments(expr, eval, values, &has_null);
    if (err || has_null)
        return err;
    err = expr->function->call(eval, values, out);
    if (err || out->state != VALUE_SET || type_validate(expr->type, out->bytes) == OK)
        return err;
    return report_set(eval->report, ERR_INVALID, "%s gives no value of its type",
                      expr->function->name);
}

static enum err eval_build(const struct expr *expr, struct eval *eval, struct value *out)
{
    struct type_build build;
    struct buf bytes = buf_in(eval->arena);
    type_build_begin(&build, eval->arena, expr->type);
    for (size_t i = 0; i < expr->arguments_count; i++) {
        struct value value;
        enum err err = expr_eval(expr->arguments[i], eval, &value);
        if (err)
            return err;
        if (value.state == VALUE_UNSET)
            return report_set(eval->report, ERR_INVALID, "unset inside of a value");
        if (value.state == VALUE_NULL)
            type_build_null(&build);
        else
            type_build_part(&build, value.bytes);
    }
    if (type_build_end(&build, &bytes) != OK)
        return report_set(eval->report, ERR_INVALID,
                          "null (or an empty number) is not supported inside collections");
    *out = (struct value){ VALUE_SET, buf_bytes(&bytes) };
    return OK;
}

static enum err eval_token(const struct expr *expr, struct eval *eval, struct value *out)
{
    int64_t token = eval->token;
    if (expr->arguments_count) {
        struct value values[KEY_COLUMNS_MAX];
        struct bytes parts[KEY_COLUMNS_MAX];
        bool has_null;
        enum err err = eval_arguments(expr, eval, values, &has_null);
        if (err || has_null)
            return err;
        for (size_t i = 0; i < expr->arguments_count; i++) {
            parts[i] = values[i].bytes;
            if (parts[i].size > UINT16_MAX)
                return report_set(eval->report, ERR_INVALID, "a key longer than 65535 bytes");
        }
        struct buf key = buf_in(eval->arena);
        key_encode(eval->table, parts, &key);
        token = key_token(buf_bytes(&key));
    }
    uint8_t *raw = eval_room(eval, 8);
    put_be64(raw, (uint64_t)token);
    *out = (struct value){ VALUE_SET, bytes_of(raw, 8) };
    return OK;
}

enum err expr_eval(const struct expr *expr, struct eval *eval, struct value *out)
{
    *out = (struct value){ .state = VALUE_NULL };
    switch (expr->kind) {
    case EXPR_CONSTANT:
        *out = (struct value){ VALUE_SET, expr->constant };
        return OK;
    case EXPR_NULL:
        return OK;
    case EXPR_MARKER:
        return eval_marker(expr, eval, out);
    case EXPR_CALL:
        return eval_call(expr, eval, out);
    case EXPR_BUILD:
        return eval_build(expr, eval, out);
    case EXPR_PARTITION:
        *out = (struct value){ VALUE_SET, key_component(eval->table, eval->key, expr->index) };
        return OK;
    case EXPR_CLUSTERING:
        if (eval->row)
            *out = (struct value){ VALUE_SET, row_clustering(eval->row, expr->index) };
        return OK;
    case EXPR_CELL:
        return eval_cell(expr, eval, out);
    case EXPR_WRITETIME:
    case EXPR_TTL:
        eval_about_cell(expr, eval, out);
        return OK;
    case EXPR_TOKEN:
        return eval_token(expr, eval, out);
    case EXPR_AGGREGATE:
        break;
    }
    ensure(expr->kind == EXPR_AGGREGATE && eval->aggregates);
    aggregate_result(&eval->aggregates[expr->index], eval->arena, out);
    return OK;
}

enum err expr_eval_number(const struct expr *expr, struct eval *eval, int64_t otherwise,
                          int64_t *out)
{
    *out = otherwise;
    if (!expr)
        return OK;
    struct value value;
    enum err err = expr_eval(expr, eval, &value);
    if (err || value.state != VALUE_SET || !value.bytes.size)
        return err;
    *out = value.bytes.size == 8 ? (int64_t)get_be64(value.bytes.data)
                                 : (int32_t)get_be32(value.bytes.data);
    return OK;
}
