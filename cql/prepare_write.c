/* prepare_write.c - INSERT, UPDATE, DELETE and BATCH to plans.
 *
 * An INSERT is a write whose WHERE is made from its values, so that binding knows one form: keys,
 * rows, cells.  Cells are in the order of their columns' numbers, which is the order of a row.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare.h"

static enum err prepare_using(struct prepare *p, const struct using *using, struct plan_write *w)
{
    struct place timestamp = { w->table, "[timestamp]", type_native(TYPE_BIGINT) };
    struct place ttl = { w->table, "[ttl]", type_native(TYPE_INT) };
    enum err err = OK;
    if (using->timestamp)
        err = prepare_value(p, using->timestamp, timestamp, &w->timestamp);
    if (!err && using->ttl)
        err = prepare_value(p, using->ttl, ttl, &w->ttl);
    return err;
}

static enum err cell_column(struct prepare *p, const struct plan_write *w, struct name name,
                            const struct column **out)
{
    enum err err = prepare_column(p, w->table, name, out);
    if (err)
        return err;
    if ((*out)->type->kind == TYPE_COUNTER)
        return prepare_missing(p, name.at, "writing a counter is");
    return OK;
}

static bool is_whole(enum write_op op) { return op == WRITE_VALUE || op == WRITE_DELETE; }

/* Keeps cells in the order of column numbers; false when the column is there already, unless both
 * are about elements. */
static bool cell_put(struct plan_write *w, struct write_cell cell)
{
    size_t at = w->cells_count;
    for (; at && w->cells[at - 1].column->number >= cell.column->number; at--) {
        if (w->cells[at - 1].column != cell.column)
            continue;
        if (is_whole(cell.op) || is_whole(w->cells[at - 1].op))
            return false;
        break;
    }
    memmove(w->cells + at + 1, w->cells + at, (w->cells_count - at) * sizeof *w->cells);
    w->cells[at] = cell;
    w->cells_count++;
    return true;
}

static bool is_static_alone(const struct plan_write *w)
{
    for (size_t i = 0; i < w->cells_count; i++)
        if (w->cells[i].column->kind != COLUMN_STATIC)
            return false;
    return w->cells_count > 0;
}

/* ---- INSERT ---- */

static struct choice *insert_choice(struct plan_write *w, const struct column *column)
{
    return column->kind == COLUMN_PARTITION ? &w->where.partition[column->position]
                                            : &w->where.choices[column->position];
}

static enum err insert_value(struct prepare *p, struct plan_write *w, struct name name,
                             const struct term *term)
{
    const struct column *column;
    struct expr *value;
    enum err err = cell_column(p, w, name, &column);
    if (!err)
        err = prepare_value(p, term, place_of_column(w->table, column), &value);
    if (err)
        return err;
    bool is_key = column->kind == COLUMN_PARTITION || column->kind == COLUMN_CLUSTERING;
    if (!is_key && cell_put(w, (struct write_cell){ .column = column, .value = value }))
        return OK;
    struct choice *choice = is_key ? insert_choice(w, column) : NULL;
    if (!is_key || choice->width)
        return prepare_invalid(p, name.at, "the column %s is given twice", column->name);
    choice->width = choice->count = 1;
    choice->values = arena_array(p->arena, struct expr *, 1);
    choice->values[0] = value;
    return OK;
}

static bool has_clustering(const struct plan_write *w)
{
    for (size_t i = 0; i < w->table->clustering_count; i++)
        if (w->where.choices[i].width)
            return true;
    return false;
}

static enum err prepare_insert(struct prepare *p, const struct write_node *node,
                               struct plan_write *w)
{
    if (node->columns.count != node->values.count)
        return prepare_invalid(p, node->table.name.at, "%zu columns and %zu values",
                               node->columns.count, node->values.count);
    struct where *where = &w->where;
    where->is_single = true;
    where->partition = arena_array(p->arena, struct choice, w->table->partition_count);
    where->choices = arena_array(p->arena, struct choice, w->table->clustering_count);
    where->choices_count = where->prefix_count = w->table->clustering_count;
    w->is_insert = true;
    enum err err = OK;
    for (size_t i = 0; i < node->columns.count && !err; i++)
        err = insert_value(p, w, node->columns.items[i], node->values.items[i]);
    if (!err && is_static_alone(w) && !has_clustering(w)) {
        w->is_static = true;
        w->is_insert = false;
        where->choices_count = where->prefix_count = 0;
    }
    for (size_t i = 0; i < where->prefix_count + w->table->partition_count && !err; i++)
        if (!insert_choice(w, &w->table->columns[i])->width)
            return prepare_invalid(p, node->table.name.at, "the key column %s is missing",
                                   w->table->columns[i].name);
    return err;
}

/* ---- UPDATE and DELETE ---- */

static enum err add_assignment(struct prepare *p, const struct assignment_node *a,
                               struct plan_write *w)
{
    struct write_cell cell = { 0 };
    enum err err = cell_column(p, w, a->column, &cell.column);
    if (!err && cell.column->kind < COLUMN_STATIC)
        err = prepare_invalid(p, a->column.at, "%s is part of the primary key", cell.column->name);
    if (!err)
        err = prepare_assignment(p, a, w->table, &cell);
    if (!err && !cell_put(w, cell))
        err = prepare_invalid(p, a->column.at, "the column %s is given twice", cell.column->name);
    return err;
}

/* A write goes to whole keys: slices and prefixes are of deletes alone; static columns belong to no
 * row. */
static enum err check_rows(struct prepare *p, const struct write_node *node, struct plan_write *w)
{
    const struct where *where = &w->where;
    uint32_t at = node->where.items[0].at;
    if (where->is_range)
        return prepare_invalid(p, at, "the key column %s is missing", w->table->columns[0].name);
    bool is_row = where->prefix_count == w->table->clustering_count;
    w->is_partition =
        w->is_delete && where->prefix_count == 0 && !where->low.width && !where->high.width;
    w->is_static = is_static_alone(w);
    if (w->is_static && (where->choices_count || where->low.width || where->high.width))
        return prepare_invalid(p, at,
                               "Invalid restrictions on clustering columns since the statement "
                               "modifies only static columns");
    w->is_slice = w->is_delete && !is_row && !w->is_partition;
    if (is_row || w->is_partition || w->is_slice || w->is_static)
        return OK;
    return prepare_invalid(p, at, "the key column %s is missing or not given by = or IN",
                           table_clustering(w->table, where->prefix_count)->name);
}

static enum err prepare_change(struct prepare *p, const struct statement *statement,
                               struct plan_write *w)
{
    const struct write_node *node = &statement->write;
    w->is_delete = statement->kind == STATEMENT_DELETE && !node->assignments.count;
    if (statement->kind == STATEMENT_DELETE && node->using.ttl)
        return parse_syntax(&p->parse, node->using.ttl->at, "a DELETE has no TTL");
    enum err err = OK;
    for (size_t i = 0; i < node->assignments.count && !err; i++)
        err = add_assignment(p, &node->assignments.items[i], w);
    if (!err)
        err = prepare_where(p, w->table, &node->where, false, &w->where);
    return err ? err : check_rows(p, node, w);
}

static enum err refuse_write(struct prepare *p, const struct write_node *node)
{
    if (node->is_json)
        return prepare_missing(p, node->table.name.at, "INSERT JSON is");
    if (node->condition.is_given)
        return prepare_missing(p, node->condition.at, "a conditional write (IF) is");
    return OK;
}

enum err prepare_write(struct prepare *p, const struct statement *statement,
                       struct plan_write **out)
{
    const struct write_node *node = &statement->write;
    struct plan_write *w = *out = arena_new(p->arena, struct plan_write);
    enum err err = prepare_table(p, &node->table, &w->table);
    if (!err)
        err = prepare_writable(p, &node->table, w->table);
    if (!err)
        err = refuse_write(p, node);
    if (err)
        return err;
    size_t most = node->columns.count + node->assignments.count;
    w->cells = arena_array(p->arena, struct write_cell, most + 1);
    w->default_ttl = (uint32_t)w->table->params->default_time_to_live;
    if (statement->kind == STATEMENT_INSERT)
        err = prepare_insert(p, node, w);
    else
        err = prepare_change(p, statement, w);
    if (!err)
        err = prepare_using(p, &node->using, w);
    if (!err)
        prepare_key_positions(p, w->table, &w->where);
    return err;
}

/* Positions count for a batch only when all its markers are of one table. */
static void forget_key_positions(struct prepare *p, const struct plan_batch *batch)
{
    for (size_t i = 1; i < batch->writes_count; i++)
        if (batch->writes[i]->table != batch->writes[0]->table) {
            p->plan->metadata.keys_count = 0;
            return;
        }
}

enum err prepare_batch(struct prepare *p, const struct batch_node *node)
{
    p->plan->kind = CQL_BATCH;
    struct plan_batch *batch = p->plan->batch = arena_new(p->arena, struct plan_batch);
    batch->is_logged = node->type == BATCH_TYPE_LOGGED;
    uint32_t at = p->parse.statement->at;
    if (node->type == BATCH_TYPE_COUNTER)
        return prepare_missing(p, at, "a COUNTER batch is");
    if (node->using.ttl)
        return prepare_invalid(p, node->using.ttl->at, "a batch has no TTL");
    struct place timestamp = { NULL, "[timestamp]", type_native(TYPE_BIGINT) };
    enum err err = OK;
    if (node->using.timestamp)
        err = prepare_value(p, node->using.timestamp, timestamp, &batch->timestamp);
    batch->writes = arena_array(p->arena, struct plan_write *, node->statements.count);
    for (size_t i = 0; i < node->statements.count && !err; i++) {
        const struct statement *statement = node->statements.items[i];
        err = prepare_write(p, statement, &batch->writes[batch->writes_count++]);
        if (!err && node->using.timestamp && statement->write.using.timestamp)
            err = prepare_invalid(p, statement->write.using.timestamp->at,
                                  "a timestamp stands on the batch or on its statements, not both");
    }
    forget_key_positions(p, batch);
    return err;
}
