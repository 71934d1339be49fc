/* bind_cells.c - values to cells: one of a simple column, one for each element where a column has
 * many (facts: sstable 2.6).
 *
 *     s = {a, b}      the column is deleted just before the write's time, then  a:  b:
 *     s = s + {a}     a:
 *     m = m - {k}     k: deleted
 *     l = l + [v]     a timeuuid of now: v
 *     l = [v] + l     a timeuuid as far before 2010 as now is behind it: v
 *
 * An element's time in a list is the coordinator's clock and a count of the elements that the
 * request has made already, in ticks of 100 ns: what was said first stands first.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cql/bind_cells.h"

#include "base/uuid.h"
#include "model/type_parts.h"

enum { PATH_BYTES_MAX = 65535, TICKS_PER_MICRO = 10 };
/* From 1582-10-15 to 1970-01-01, and from there to 2010-01-01, in ticks. */
#define UNIX_EPOCH_TICKS UINT64_C(0x01B21DD213814000)
#define REFERENCE_TICKS UINT64_C(12623040000000000)

struct making {
    struct eval *eval;
    const struct write_times *times;
    const struct column *column;
    struct cells *cells;
};

static struct cell *push(struct making *m, enum cell_kind kind)
{
    struct cells *cells = m->cells;
    if (cells->count == cells->room) {
        size_t room = cells->room ? 2 * cells->room : 4;
        struct cell *more = arena_alloc(m->eval->arena, room * sizeof *more);
        if (cells->count)
            memcpy(more, cells->items, cells->count * sizeof *more);
        cells->items = more;
        cells->room = room;
    }
    struct cell *cell = &cells->items[cells->count++];
    *cell = (struct cell){ .timestamp = m->times->timestamp,
                           .column = m->column->number,
                           .kind = kind };
    if (kind == CELL_EXPIRING)
        cell->ttl = m->times->ttl;
    if (kind != CELL_LIVE)
        cell->seconds = m->times->now + cell->ttl;
    return cell;
}

/* A value, or a tombstone where it is null. */
static struct cell *push_value(struct making *m, const struct value *value)
{
    bool is_set = value->state == VALUE_SET;
    struct cell *cell = push(m, !is_set ? CELL_DELETED : m->times->ttl ? CELL_EXPIRING : CELL_LIVE);
    if (is_set)
        cell->value = value->bytes;
    return cell;
}

/* All elements go: at the write's own time, or just before it so that its elements stay. */
static void push_deletion(struct making *m, bool is_before)
{
    if (is_before && m->times->timestamp == TIMESTAMP_NONE + 1)
        return; /* nothing can be older */
    struct cell *cell = push(m, CELL_COLUMN_DELETED);
    cell->timestamp -= is_before;
}

static enum err check_path(struct making *m, struct bytes path)
{
    if (path.size <= PATH_BYTES_MAX)
        return OK;
    return report_set(m->eval->report, ERR_INVALID,
                      "an element or key of %s of %zu bytes, above the limit of %d",
                      m->column->name, path.size, PATH_BYTES_MAX);
}

static struct bytes path_of_list(struct making *m, uint64_t place, bool is_prepended)
{
    uint64_t now = (uint64_t)m->eval->wall_micros * TICKS_PER_MICRO;
    uint64_t ticks = (is_prepended ? 2 * REFERENCE_TICKS - now - m->eval->list_ticks
                                   : now + m->eval->list_ticks);
    struct uuid id = uuid_timed(UNIX_EPOCH_TICKS + ticks + place, prng_next(&m->eval->prng));
    return arena_copy(m->eval->arena, bytes_of(id.b, sizeof id.b));
}

/* One cell for each element of the value. */
static enum err push_elements(struct making *m, struct bytes value, bool is_prepended)
{
    const struct type *type = m->column->type, *part_type;
    struct type_parts parts = type_parts_of(type, value);
    struct bytes part;
    enum err err = OK;
    if (type->kind == TYPE_LIST && is_prepended)
        m->eval->list_ticks += parts.count; /* they stand before those that came earlier */
    for (uint64_t i = 0; !err && type_parts_next(&parts, &part_type, &part); i++) {
        struct value live = { VALUE_SET, part };
        struct bytes path = part;
        if (type->kind == TYPE_UDT && !part.data)
            continue;
        if (type->kind == TYPE_MAP && type_parts_next(&parts, &part_type, &live.bytes))
            err = check_path(m, path);
        if (type->kind == TYPE_SET)
            err = check_path(m, path), live.bytes = bytes_of("", 0);
        if (type->kind == TYPE_LIST)
            path = path_of_list(m, i, is_prepended);
        if (type->kind == TYPE_UDT) {
            uint8_t *index = arena_alloc(m->eval->arena, 2);
            put_be16(index, (uint16_t)i);
            path = bytes_of(index, 2);
        }
        push_value(m, &live)->path = path;
    }
    if (type->kind == TYPE_LIST && !is_prepended)
        m->eval->list_ticks += parts.count;
    return err;
}

/* Elements of a set, keys of a map, given as a set. */
static enum err push_removals(struct making *m, const struct type *type, struct bytes value)
{
    struct type_parts parts = type_parts_of(type, value);
    const struct type *part_type;
    struct bytes part;
    enum err err = OK;
    while (!err && type_parts_next(&parts, &part_type, &part)) {
        err = check_path(m, part);
        push(m, CELL_DELETED)->path = part;
    }
    return err;
}

static enum err make_element(struct making *m, const struct write_cell *w,
                             const struct value *value)
{
    struct value key;
    enum err err = expr_eval(w->key, m->eval, &key);
    if (err)
        return err;
    if (key.state != VALUE_SET)
        return report_set(m->eval->report, ERR_INVALID, "the key of an element of %s is null",
                          m->column->name);
    push_value(m, value)->path = key.bytes;
    return check_path(m, key.bytes);
}

static enum err make_many(struct making *m, const struct write_cell *w, const struct value *value)
{
    bool is_set = value->state == VALUE_SET;
    if (w->op == WRITE_ELEMENT)
        return make_element(m, w, value);
    if (w->op == WRITE_DELETE || w->op == WRITE_VALUE)
        push_deletion(m, w->op == WRITE_VALUE);
    if (!is_set)
        return OK; /* adding or removing nothing does nothing */
    if (w->op == WRITE_REMOVE)
        return push_removals(m, w->value->type, value->bytes);
    return push_elements(m, value->bytes, w->op == WRITE_PREPEND);
}

/* The order of a row; of cells at one place one stays. */
static void sort(struct eval *eval, const struct table *table, struct cells *cells)
{
    struct row row = { .cells = cells->items, .cells_count = cells->count };
    row_sort(eval->arena, table, &row);
    cells->count = row.cells_count;
}

enum err bind_cells(const struct plan_write *w, struct eval *eval, const struct write_times *times,
                    struct cells *regular, struct cells *statics)
{
    bool has_many = false;
    for (size_t i = 0; i < w->cells_count; i++) {
        const struct write_cell *cell = &w->cells[i];
        struct making m = { eval, times, cell->column,
                            cell->column->kind == COLUMN_STATIC ? statics : regular };
        struct value value = { .state = VALUE_NULL };
        enum err err = cell->value ? expr_eval(cell->value, eval, &value) : OK;
        if (err)
            return err;
        if (value.state == VALUE_UNSET)
            continue;
        bool is_many = type_is_multicell(cell->column->type);
        has_many |= is_many;
        if (is_many)
            err = make_many(&m, cell, &value);
        else
            push_value(&m, &value);
        if (err)
            return err;
    }
    if (has_many) {
        sort(eval, w->table, regular);
        sort(eval, w->table, statics);
    }
    return OK;
}
