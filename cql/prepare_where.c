/* prepare_where.c - WHERE: relations to a partition key or a range of tokens, and to choices and a
 * slice of clustering columns.
 *
 *     k = 1 AND a IN (2, 3) AND (b, c) > (4, 5)
 *     partition: {1}   choices: a {2, 3}   low: (b, c) exclusive
 *
 * Relations come in any order.  A draft collects them by column; where_finish then walks the
 * clustering columns in key order: a column with = or IN adds to the prefix, the first with a slice
 * ends it.  What is left over then would need filtering.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/prepare.h"

struct draft {
    struct prepare *p;
    const struct table *table;
    struct where *where;
    struct choice partition[KEY_COLUMNS_MAX], clustering[KEY_COLUMNS_MAX];
    struct edge low[KEY_COLUMNS_MAX], high[KEY_COLUMNS_MAX]; /* by first column */
    bool is_covered[KEY_COLUMNS_MAX]; /* a clustering column is part of a choice */
    bool is_sliced[KEY_COLUMNS_MAX];  /* ... of a slice */
    bool has_token, needs_filtering;
    uint32_t filtering_at;
};

static void needs_filtering(struct draft *d, uint32_t at)
{
    if (!d->needs_filtering)
        d->filtering_at = at;
    d->needs_filtering = true;
}

static bool is_low(enum relation_op op) { return op == RELATION_GT || op == RELATION_GE; }
static bool is_inclusive(enum relation_op op) { return op == RELATION_GE || op == RELATION_LE; }
static bool is_slice(enum relation_op op)
{
    return is_low(op) || op == RELATION_LT || op == RELATION_LE;
}

/* The values of one tuple (or of one column) into `out`. */
static enum err tuple_values(struct draft *d, const struct term *term,
                             const struct column *const *columns, size_t width, struct expr **out)
{
    if (width == 1 && (term->kind != TERM_TUPLE || columns[0]->type->kind == TYPE_TUPLE))
        return prepare_value(d->p, term, place_of_column(d->table, columns[0]), &out[0]);
    if (term->kind == TERM_MARKER)
        return prepare_missing(d->p, term->at, "a bind marker for a whole tuple is");
    if (term->kind != TERM_TUPLE || term->items.count != width)
        return prepare_invalid(d->p, term->at, "expected a tuple of %zu values", width);
    enum err err = OK;
    for (size_t i = 0; i < width && !err; i++)
        err = prepare_value(d->p, term->items.items[i], place_of_column(d->table, columns[i]),
                            &out[i]);
    return err;
}

/* = and IN */
static enum err choice_of(struct draft *d, const struct relation *r,
                          const struct column *const *columns, struct choice *out)
{
    size_t width = r->columns.count;
    *out = (struct choice){ .width = width };
    if (r->op == RELATION_IN && r->value) {
        if (width != 1)
            return prepare_missing(d->p, r->value->at, "a bind marker for a list of tuples is");
        const char *name = arena_printf(d->p->arena, "in(%s)", columns[0]->name);
        out->list = prepare_marker(d->p, r->value, d->table, name,
                                   prepare_list_type(d->p, columns[0]->type));
        return OK;
    }
    out->count = r->op == RELATION_IN ? r->values.count : 1;
    if (out->count > READ_SLICES_MAX)
        return prepare_invalid(d->p, r->at, "IN of more than %d values", READ_SLICES_MAX);
    out->values = arena_array(d->p->arena, struct expr *, out->count * width);
    enum err err = OK;
    for (size_t i = 0; i < out->count && !err; i++) {
        const struct term *term = r->op == RELATION_IN ? r->values.items[i] : r->value;
        err = tuple_values(d, term, columns, width, out->values + i * width);
    }
    return err;
}

static enum err edge_of(struct draft *d, const struct relation *r,
                        const struct column *const *columns, struct edge *out)
{
    if (out->width)
        return prepare_invalid(d->p, r->at, "%s is bounded twice from the same side",
                               columns[0]->name);
    out->width = r->columns.count;
    out->is_inclusive = is_inclusive(r->op);
    out->values = arena_array(d->p->arena, struct expr *, out->width);
    return tuple_values(d, r->value, columns, out->width, out->values);
}

static enum err on_partition(struct draft *d, const struct relation *r, const struct column *column)
{
    if (is_slice(r->op)) {
        needs_filtering(d, r->at);
        return OK;
    }
    if (d->partition[column->position].width)
        return prepare_invalid(d->p, r->at, "%s is restricted twice", column->name);
    return choice_of(d, r, &column, &d->partition[column->position]);
}

static enum err on_clustering(struct draft *d, const struct relation *r,
                              const struct column *const *columns)
{
    size_t first = columns[0]->position, width = r->columns.count;
    for (size_t i = 0; i < width; i++) {
        if (columns[i]->position != first + i)
            return prepare_invalid(d->p, r->at,
                                   "clustering columns in a tuple must stand side by "
                                   "side in the order of the key");
        bool is_twice = d->is_covered[first + i] || (!is_slice(r->op) && d->is_sliced[first + i]);
        if (is_twice)
            return prepare_invalid(d->p, r->at, "%s is restricted twice", columns[i]->name);
    }
    if (!is_slice(r->op)) {
        for (size_t i = 0; i < width; i++)
            d->is_covered[first + i] = true;
        return choice_of(d, r, columns, &d->clustering[first]);
    }
    for (size_t i = 0; i < width; i++) {
        d->is_sliced[first + i] = true;
        if (columns[i]->is_reversed != columns[0]->is_reversed)
            return prepare_missing(d->p, r->at, "a slice over columns of both orders is");
    }
    return edge_of(d, r, columns, is_low(r->op) ? &d->low[first] : &d->high[first]);
}

static enum err on_token(struct draft *d, const struct relation *r)
{
    const struct table *table = d->table;
    bool is_key = r->columns.count == table->partition_count;
    for (size_t i = 0; i < r->columns.count && is_key; i++)
        is_key = strcmp(r->columns.items[i].text, table_partition(table, i)->name) == 0;
    if (!is_key)
        return prepare_invalid(d->p, r->at,
                               "token() takes the partition key columns in their order");
    if (r->op != RELATION_EQ && !is_slice(r->op))
        return prepare_invalid(d->p, r->at, "token() is compared by = < <= > >= only");
    struct place place = { table, "partition key token", type_native(TYPE_BIGINT) };
    struct expr *value;
    enum err err = prepare_value(d->p, r->value, place, &value);
    if (err)
        return err;
    bool sets_low = r->op == RELATION_EQ || is_low(r->op);
    bool sets_high = r->op == RELATION_EQ || !is_low(r->op);
    struct where *where = d->where;
    if ((sets_low && where->low_token.value) || (sets_high && where->high_token.value))
        return prepare_invalid(d->p, r->at, "token() is bounded twice from the same side");
    struct token_edge edge = { value, r->op == RELATION_EQ || is_inclusive(r->op) };
    if (sets_low)
        where->low_token = edge;
    if (sets_high)
        where->high_token = edge;
    d->has_token = true;
    return OK;
}

static enum err refuse_op(struct draft *d, const struct relation *r)
{
    if (r->element || r->field.text)
        return prepare_missing(d->p, r->at, "a restriction on a part of a column is");
    switch (r->op) {
    case RELATION_CONTAINS:
    case RELATION_CONTAINS_KEY:
        return prepare_missing(d->p, r->at, "CONTAINS is");
    case RELATION_LIKE:
        return prepare_missing(d->p, r->at, "LIKE is");
    case RELATION_INDEX:
        return prepare_missing(d->p, r->at, "expr() is");
    case RELATION_NE:
        return prepare_invalid(d->p, r->at, "!= is not supported in WHERE");
    case RELATION_NOT_NULL:
        return prepare_invalid(d->p, r->at, "IS NOT NULL is only for materialized views");
    case RELATION_EQ:
    case RELATION_LT:
    case RELATION_LE:
    case RELATION_GT:
    case RELATION_GE:
    case RELATION_IN:
        break;
    }
    return OK;
}

static enum err on_relation(struct draft *d, const struct relation *r)
{
    const struct column *columns[KEY_COLUMNS_MAX];
    enum err err = refuse_op(d, r);
    if (err)
        return err;
    if (r->is_token)
        return on_token(d, r);
    if (r->columns.count > KEY_COLUMNS_MAX)
        return prepare_invalid(d->p, r->at, "a tuple of more than %d columns", KEY_COLUMNS_MAX);
    for (size_t i = 0; i < r->columns.count; i++) {
        err = prepare_column(d->p, d->table, r->columns.items[i], &columns[i]);
        if (err)
            return err;
        if (r->is_tuple && columns[i]->kind != COLUMN_CLUSTERING)
            return prepare_invalid(d->p, r->at, "%s in a tuple is no clustering column",
                                   columns[i]->name);
    }
    ensure(r->columns.count > 0);
    if (columns[0]->kind == COLUMN_CLUSTERING)
        return on_clustering(d, r, columns);
    if (columns[0]->kind == COLUMN_PARTITION)
        return on_partition(d, r, columns[0]);
    needs_filtering(d, r->at);
    return OK;
}

static enum err finish_partition(struct draft *d, uint32_t at)
{
    size_t given = 0, count = d->table->partition_count;
    for (size_t i = 0; i < count; i++)
        given += d->partition[i].width != 0;
    if (given && d->has_token)
        return prepare_missing(d->p, at, "token() together with partition key columns is");
    if (given && given < count)
        needs_filtering(d, at);
    d->where->is_range = given == 0;
    d->where->partition = arena_array(d->p->arena, struct choice, count);
    memcpy(d->where->partition, d->partition, count * sizeof *d->partition);
    return OK;
}

static void finish_clustering(struct draft *d, uint32_t at)
{
    struct where *where = d->where;
    size_t count = d->table->clustering_count, i = 0;
    where->choices = arena_array(d->p->arena, struct choice, count);
    while (i < count && d->clustering[i].width) {
        where->choices[where->choices_count++] = d->clustering[i];
        i += d->clustering[i].width;
    }
    where->prefix_count = i;
    if (i < count)
        where->low = d->low[i], where->high = d->high[i];
    size_t sliced = where->low.width > where->high.width ? where->low.width : where->high.width;
    for (size_t k = i; k < count; k++)
        if (d->is_covered[k] || (d->is_sliced[k] && k >= i + sliced))
            needs_filtering(d, at);
}

static void find_single(struct where *where, const struct table *table)
{
    where->is_single = !where->is_range;
    for (size_t i = 0; where->is_single && i < table->partition_count; i++)
        where->is_single = !where->partition[i].list && where->partition[i].count == 1;
    for (size_t i = 0; where->is_single && i < where->choices_count; i++)
        where->is_single = !where->choices[i].list && where->choices[i].count == 1;
}

enum err prepare_where(struct prepare *p, const struct table *table,
                       const struct relations *relations, bool allows_filtering, struct where *out)
{
    struct draft d = { .p = p, .table = table, .where = out };
    *out = (struct where){ 0 };
    uint32_t at = relations->count ? relations->items[0].at : 0;
    enum err err = OK;
    for (size_t i = 0; i < relations->count && !err; i++)
        err = on_relation(&d, &relations->items[i]);
    if (!err)
        err = finish_partition(&d, at);
    if (err)
        return err;
    finish_clustering(&d, at);
    bool slices_all = out->is_range && (out->choices_count || out->low.width || out->high.width);
    if (slices_all && !allows_filtering)
        needs_filtering(&d, at);
    if (d.needs_filtering && allows_filtering)
        return prepare_missing(p, d.filtering_at, "filtering by columns outside the key is");
    if (d.needs_filtering)
        return prepare_invalid(p, d.filtering_at,
                               "this restriction means filtering rows: it needs ALLOW FILTERING");
    find_single(out, table);
    return OK;
}
