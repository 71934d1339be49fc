/* prepare_select.c - SELECT to a plan: fields, WHERE, order, limits, and which columns are read.
 *
 * An aggregate makes the whole select one row; other fields beside it give their first value.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare_call.h"

static enum err refuse_missing(struct prepare *p, const struct select_node *node)
{
    if (node->is_json)
        return prepare_missing(p, node->table.name.at, "SELECT JSON is");
    if (node->group.count)
        return prepare_missing(p, node->group.items[0]->at, "GROUP BY is");
    return OK;
}

static enum err add_fields(struct prepare *p, const struct select_node *node,
                           struct plan_select *select)
{
    const struct table *table = select->table;
    select->fields_count = node->is_star ? table->columns_count : node->selectors.count;
    select->fields = arena_array(p->arena, struct field, select->fields_count);
    for (size_t i = 0; i < select->fields_count; i++) {
        struct field *field = &select->fields[i];
        if (node->is_star) {
            field->expr = select_column_expr(p, &table->columns[i]);
            field->name = table->columns[i].name;
            continue;
        }
        const struct selector *selector = &node->selectors.items[i];
        enum err err = prepare_selector(p, selector->term, select, &field->expr);
        if (err)
            return err;
        field->name = selector->alias.text ? arena_text(p->arena, bytes_text(selector->alias.text))
                                           : selector_name(p->arena, selector->term);
    }
    return OK;
}

/* Fields beside an aggregate are aggregates too: the first value. */
static void wrap_fields(struct prepare *p, struct plan_select *select)
{
    for (size_t i = 0; select->is_aggregate && i < select->fields_count; i++) {
        struct expr *expr = select->fields[i].expr;
        bool is_of_row =
            expr->kind != EXPR_AGGREGATE && expr->kind != EXPR_CALL && expr->kind != EXPR_CONSTANT;
        if (is_of_row)
            select->fields[i].expr = select_aggregate(p, select, AGGREGATE_FIRST, expr, expr->type);
    }
}

/* The numbers of cells that an expression needs, kept ascending. */
static void need_columns(struct plan_select *select, const struct expr *expr)
{
    for (size_t i = 0; i < expr->arguments_count; i++)
        need_columns(select, expr->arguments[i]);
    if (expr->kind == EXPR_AGGREGATE && select->aggregates[expr->index].argument)
        need_columns(select, select->aggregates[expr->index].argument);
    if (expr->kind != EXPR_CELL && expr->kind != EXPR_WRITETIME && expr->kind != EXPR_TTL)
        return;
    size_t at = select->columns_count;
    for (; at && select->columns[at - 1] >= expr->index; at--)
        if (select->columns[at - 1] == expr->index)
            return;
    memmove(select->columns + at + 1, select->columns + at,
            (select->columns_count - at) * sizeof *select->columns);
    select->columns[at] = expr->index;
    select->columns_count++;
}

static void find_columns(struct prepare *p, struct plan_select *select)
{
    const struct table *table = select->table;
    select->columns = arena_array(p->arena, uint32_t, table->columns_count + 1);
    for (size_t i = 0; i < select->fields_count; i++)
        need_columns(select, select->fields[i].expr);
    size_t keys = table->partition_count + table->clustering_count;
    if (select->columns_count == table->columns_count - keys)
        select->columns_count = 0; /* all of them */
    else if (!select->columns_count)
        select->columns[select->columns_count++] = table->columns[0].number; /* no cell at all */
}

static enum err check_distinct(struct prepare *p, const struct select_node *node,
                               struct plan_select *select)
{
    if (!node->is_distinct)
        return OK;
    select->is_distinct = true;
    for (size_t i = 0; i < select->fields_count; i++)
        if (select->fields[i].expr->kind != EXPR_PARTITION && !select->fields[i].expr->is_static)
            return prepare_invalid(p, node->table.name.at,
                                   "SELECT DISTINCT takes partition key columns only, and static "
                                   "ones");
    if (node->per_partition_limit)
        return prepare_invalid(p, node->per_partition_limit->at,
                               "PER PARTITION LIMIT and DISTINCT exclude each other");
    if (select->where.choices_count || select->where.low.width || select->where.high.width)
        return prepare_invalid(p, node->where.items[0].at,
                               "SELECT DISTINCT is restricted by the partition key only");
    return OK;
}

/* Clustering columns in key order, all as declared or all the other way round; columns that are
 * given by = may be left out. */
static enum err add_order(struct prepare *p, const struct select_node *node,
                          struct plan_select *select)
{
    const struct table *table = select->table;
    size_t at = 0;
    for (size_t i = 0; i < node->orders.count; i++) {
        const struct order *order = &node->orders.items[i];
        const struct column *column;
        if (order->ann)
            return prepare_missing(p, order->column.at, "ORDER BY ... ANN OF is");
        enum err err = prepare_column(p, table, order->column, &column);
        if (err)
            return err;
        if (column->kind != COLUMN_CLUSTERING)
            return prepare_invalid(p, order->column.at, "ORDER BY %s: it is no clustering column",
                                   column->name);
        if (column->position < at ||
            (column->position > at && column->position > select->where.prefix_count))
            return prepare_invalid(p, order->column.at,
                                   "ORDER BY takes clustering columns in the order of the key");
        at = (size_t)column->position + 1;
        bool is_reversed = order->is_descending != column->is_reversed;
        if (i && is_reversed != select->is_reversed)
            return prepare_invalid(p, order->column.at,
                                   "ORDER BY is as declared, or reversed in every column");
        select->is_reversed = is_reversed;
    }
    return OK;
}

static enum err check_order(struct prepare *p, const struct select_node *node,
                            const struct plan_select *select)
{
    if (!node->orders.count)
        return OK;
    uint32_t at = node->orders.items[0].column.at;
    if (select->where.is_range)
        return prepare_invalid(p, at, "ORDER BY needs the partition key by = or IN");
    for (size_t i = 0; i < select->table->partition_count; i++)
        if (select->where.partition[i].list || select->where.partition[i].count != 1)
            return prepare_missing(p, at, "ORDER BY over several partitions (IN) is");
    return OK;
}

static enum err add_limits(struct prepare *p, const struct select_node *node,
                           struct plan_select *select)
{
    const struct type *type = type_native(TYPE_INT);
    struct place per_partition = { select->table, "[per_partition_limit]", type };
    struct place limit = { select->table, "[limit]", type };
    enum err err = OK;
    if (node->per_partition_limit && select->is_aggregate)
        return prepare_invalid(p, node->per_partition_limit->at,
                               "PER PARTITION LIMIT and aggregates exclude each other");
    if (node->per_partition_limit)
        err = prepare_value(p, node->per_partition_limit, per_partition,
                            &select->per_partition_limit);
    if (!err && node->limit)
        err = prepare_value(p, node->limit, limit, &select->limit);
    bool is_timeout = !err && node->using.timeout;
    if (is_timeout && node->using.timeout->kind != TERM_DURATION)
        return parse_syntax(&p->parse, node->using.timeout->at, "USING TIMEOUT takes a duration");
    return err;
}

static void add_metadata(struct prepare *p, const struct plan_select *select)
{
    struct answer_column *columns =
        arena_array(p->arena, struct answer_column, select->fields_count);
    for (size_t i = 0; i < select->fields_count; i++)
        columns[i] = (struct answer_column){ select->table->keyspace, select->table->name,
                                             select->fields[i].name, select->fields[i].expr->type };
    p->plan->metadata.rows.columns = columns;
    p->plan->metadata.rows.columns_count = select->fields_count;
}

enum err prepare_select(struct prepare *p, const struct select_node *node)
{
    struct plan_select *select = p->plan->select = arena_new(p->arena, struct plan_select);
    p->plan->kind = CQL_SELECT;
    enum err err = prepare_table(p, &node->table, &select->table);
    if (!err)
        err = refuse_missing(p, node);
    if (!err)
        err = add_fields(p, node, select);
    if (!err)
        err = prepare_where(p, select->table, &node->where, node->allows_filtering, &select->where);
    if (!err)
        err = check_distinct(p, node, select);
    if (!err)
        err = add_order(p, node, select);
    if (!err)
        err = check_order(p, node, select);
    if (!err)
        err = add_limits(p, node, select);
    if (err)
        return err;
    wrap_fields(p, select);
    find_columns(p, select);
    add_metadata(p, select);
    prepare_key_positions(p, select->table, &select->where);
    return OK;
}
