/* prepare_assign.c - what an UPDATE sets and a DELETE takes away: columns, elements, fields.
 *
 *     c = v                          the column; of what has a cell for each element all of them
 *     s = s + {v}   s += {v}         elements are added: set, map, list (at its end)
 *     l = [v] + l                    ... at its beginning
 *     s = s - {v}   m = m - {k}      elements of a set, keys of a map go
 *     m[k] = v      u.f = v          one element of a map, one field of a user type
 *     DELETE m[k], s[v], u.f
 *
 * Elements of a list by their place or value are known only once the list has been read: they wait.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare.h"

static enum err wrong(struct prepare *p, const struct assignment_node *a,
                      const struct column *column)
{
    const char *of = type_is_native(column->type) ? "non collection" : "frozen";
    return prepare_invalid(p, a->column.at, "Invalid operation for %s column %s", of, column->name);
}

/* m[k], s[v] */
static enum err element(struct prepare *p, const struct assignment_node *a,
                        const struct table *table, struct write_cell *cell)
{
    const struct column *column = cell->column;
    bool is_map = column->type->kind == TYPE_MAP;
    if (!type_is_multicell(column->type) || column->type->kind == TYPE_UDT)
        return wrong(p, a, column);
    if (column->type->kind == TYPE_LIST)
        return prepare_missing(p, a->column.at, "writing an element of a list by its place is");
    if (!is_map && a->value)
        return prepare_invalid(p, a->column.at, "%s is a set: its elements have no keys",
                               column->name);
    struct place key = { table, arena_printf(p->arena, "key(%s)", column->name),
                         column->type->parts[0] };
    struct place value = { table, arena_printf(p->arena, "value(%s)", column->name),
                           column->type->parts[is_map] };
    cell->op = WRITE_ELEMENT;
    enum err err = prepare_value(p, a->element, key, &cell->key);
    return err || !a->value ? err : prepare_value(p, a->value, value, &cell->value);
}

/* u.f */
static enum err field(struct prepare *p, const struct assignment_node *a, const struct table *table,
                      struct write_cell *cell)
{
    const struct type *type = cell->column->type;
    size_t at = 0;
    if (type->kind != TYPE_UDT || type->is_frozen)
        return wrong(p, a, cell->column);
    while (at < type->parts_count && strcmp(type->fields[at], a->field.text) != 0)
        at++;
    if (at == type->parts_count)
        return prepare_invalid(p, a->field.at, "UDT column %s does not have a field named %s",
                               cell->column->name, a->field.text);
    uint8_t *path = arena_alloc(p->arena, 2);
    put_be16(path, (uint16_t)at);
    cell->op = WRITE_ELEMENT;
    cell->key = prepare_expr(p, EXPR_CONSTANT, type_native(TYPE_SMALLINT));
    cell->key->constant = bytes_of(path, 2);
    struct place value = { table,
                           arena_printf(p->arena, "%s.%s", cell->column->name, a->field.text),
                           type->parts[at] };
    return a->value ? prepare_value(p, a->value, value, &cell->value) : OK;
}

static bool is_column(const struct term *term, const struct column *column)
{
    return term->kind == TERM_COLUMN && strcmp(term->name.text, column->name) == 0;
}

/* c + v, v + c, c - v; *term is then v.  0: neither. */
static char operation(const struct assignment_node *a, const struct column *column,
                      const struct term **term)
{
    *term = a->value;
    if (a->op != '=')
        return a->op;
    if (a->value->kind != TERM_BINARY || (a->value->op != '+' && a->value->op != '-'))
        return 0;
    const struct term *left = a->value->items.items[0], *right = a->value->items.items[1];
    *term = is_column(left, column) ? right : left;
    if (is_column(left, column))
        return a->value->op;
    return is_column(right, column) && a->value->op == '+' ? '<' : 0;
}

static const struct type *set_of(struct prepare *p, const struct type *part)
{
    struct type *set = arena_new(p->arena, struct type);
    *set = *prepare_list_type(p, part);
    set->kind = TYPE_SET;
    return set;
}

static enum err change(struct prepare *p, const struct assignment_node *a, char op,
                       const struct term *term, struct place place, struct write_cell *cell)
{
    const struct type *type = cell->column->type;
    if (type_is_native(type))
        return prepare_missing(p, a->column.at, "an assignment that adds or removes is");
    if (!type_is_multicell(type) || type->kind == TYPE_UDT)
        return wrong(p, a, cell->column);
    if (op == '<' && type->kind != TYPE_LIST)
        return prepare_invalid(p, a->column.at, "Invalid operation for non list column %s",
                               cell->column->name);
    if (op == '-' && type->kind == TYPE_LIST)
        return prepare_missing(p, a->column.at, "removing elements of a list by their values is");
    cell->op = op == '+' ? WRITE_ADD : op == '-' ? WRITE_REMOVE : WRITE_PREPEND;
    if (op == '-' && type->kind == TYPE_MAP)
        place.type = set_of(p, type->parts[0]);
    return prepare_value(p, term, place, &cell->value);
}

enum err prepare_assignment(struct prepare *p, const struct assignment_node *a,
                            const struct table *table, struct write_cell *cell)
{
    const struct column *column = cell->column;
    const struct term *term;
    if (a->element)
        return element(p, a, table, cell);
    if (a->field.text)
        return field(p, a, table, cell);
    cell->op = a->value ? WRITE_VALUE : WRITE_DELETE;
    if (!a->value)
        return OK;
    struct place place = place_of_column(table, column);
    char op = operation(a, column, &term);
    if (op)
        return change(p, a, op, term, place, cell);
    return prepare_value(p, a->value, place, &cell->value);
}
