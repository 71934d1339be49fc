/* sample_cells.h - a table with columns of every form, random rows of it, and an own, slow
 * statement of what many of them come to.
 *
 *     ks.wide (k text, c int, a int, b set<text>, d map<text, int> static, e list<int>,
 *              f int static, g map<int, text>)
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sample_row.h"

enum { WIDE_COLUMNS = 8, WIDE_CELLS_MAX = 40 };

static inline struct table *sample_wide_table(bool is_reversed)
{
    static const struct {
        const char *name, *type;
        enum column_kind kind;
        uint32_t number; /* not in the order of the names */
    } columns[WIDE_COLUMNS] = {
        { "k", "text", COLUMN_PARTITION, 0 },
        { "c", "int", COLUMN_CLUSTERING, 1 },
        { "a", "int", COLUMN_REGULAR, 12 },
        { "b", "set<text>", COLUMN_REGULAR, 3 },
        { "d", "map<text, int>", COLUMN_STATIC, 11 },
        { "e", "list<int>", COLUMN_REGULAR, 4 },
        { "f", "int", COLUMN_STATIC, 6 },
        { "g", "map<int, text>", COLUMN_REGULAR, 9 },
    };
    struct table *table = table_new();
    table->keyspace = "ks", table->name = "wide";
    table->id = uuid_named(bytes_text("ks.wide"));
    table->partition_count = table->clustering_count = 1;
    table->columns_count = WIDE_COLUMNS;
    table->columns = arena_array(&table->arena, struct column, WIDE_COLUMNS);
    for (size_t i = 0; i < WIDE_COLUMNS; i++) {
        struct column *column = &table->columns[i];
        column->name = columns[i].name;
        column->kind = columns[i].kind;
        column->number = columns[i].number;
        ensure(type_parse(&table->arena, bytes_text(columns[i].type), &column->type) == OK);
    }
    table->numbers_used = 13;
    table->columns[1].is_reversed = is_reversed;
    return table;
}

/* One of a few paths whose order as bytes is not always that of the type. */
static inline struct bytes sample_path(struct prng *prng, struct arena *arena,
                                       const struct type *type)
{
    static const char *const texts[] = { "", "a", "ab", "b" };
    static const char *const ints[] = { "ffffffff", "00000000", "00000001", "0000012c" };
    static const char *const uuids[] = { "00000001000011e08000000000000000",
                                         "00000002000011e08000000000000000",
                                         "00000000000111e08000000000000000",
                                         "0000000000001fff8000000000000000" };
    size_t which = prng_below(prng, 4);
    enum type_kind kind = type_path(type)->kind;
    if (kind == TYPE_TEXT)
        return bytes_text(texts[which]);
    return sample_hex(arena, kind == TYPE_INT ? ints[which] : uuids[which]);
}

/* Cells of the static or the regular columns, in any order, some places twice. */
static inline void sample_wide_cells(struct prng *prng, struct arena *arena,
                                     const struct table *table, bool is_static, struct row *out)
{
    out->cells = arena_array(arena, struct cell, WIDE_CELLS_MAX);
    out->cells_count = 0;
    for (size_t n = prng_below(prng, 12); n > 0; n--) {
        const struct column *column = &table->columns[2 + prng_below(prng, WIDE_COLUMNS - 2)];
        if (column->kind != (is_static ? COLUMN_STATIC : COLUMN_REGULAR))
            continue;
        struct cell *cell = &out->cells[out->cells_count++];
        *cell = sample_cell(prng, column->number);
        if (!type_is_multicell(column->type)) {
            if (cell->value.size) /* an int of four bytes */
                cell->value = bytes_of(cell->value.data[0] == 'b' ? "bbbb" : "abab", 4);
            continue;
        }
        bool is_deletion = prng_chance(prng, 20);
        cell->path = sample_path(prng, arena, column->type);
        if (is_deletion)
            *cell = (struct cell){ .timestamp = cell->timestamp,
                                   .column = column->number,
                                   .seconds = cell->ttl,
                                   .kind = CELL_COLUMN_DELETED };
    }
    row_sort(arena, table, out);
}

/* All but the key and the clustering of a regular row; a static one whole. */
static inline void sample_wide_row(struct prng *prng, struct arena *arena,
                                   const struct table *table, bool is_static, struct row *out)
{
    sample_content(prng, arena, 0, 0, out);
    if (is_static) {
        out->liveness = (struct liveness){ TIMESTAMP_NONE, 0, 0 };
        out->deletion = deletion_none();
        out->key = bytes_of("\x10", 1);
        out->clustering = (struct bytes){ 0 };
    }
    sample_wide_cells(prng, arena, table, is_static, out);
}

/* ---- what many rows come to ---- */

static inline bool wide_same_place(const struct table *table, const struct cell *a,
                                   const struct cell *b)
{
    bool a_is = a->kind == CELL_COLUMN_DELETED, b_is = b->kind == CELL_COLUMN_DELETED;
    const struct type *type = table_column_by_number(table, a->column)->type;
    if (a->column != b->column || a_is || b_is)
        return a->column == b->column && a_is && b_is;
    return !type_is_multicell(type) || type_path_compare(type, a->path, b->path) == 0;
}

static inline bool wide_is_before(const struct table *table, const struct cell *a,
                                  const struct cell *b)
{
    if (a->column != b->column)
        return a->column < b->column;
    if (a->kind == CELL_COLUMN_DELETED)
        return b->kind != CELL_COLUMN_DELETED;
    const struct type *type = table_column_by_number(table, a->column)->type;
    return b->kind != CELL_COLUMN_DELETED && type_is_multicell(type) &&
           type_path_compare(type, a->path, b->path) < 0;
}

/* What covers a cell, if its row is covered by `all` and its column was deleted in some rows. */
static inline struct deletion wide_cover(const struct row *rows, size_t count,
                                         const struct cell *cell, struct deletion all)
{
    for (size_t i = 0; i < count && cell->kind != CELL_COLUMN_DELETED; i++)
        for (size_t c = 0; c < rows[i].cells_count; c++) {
            const struct cell *other = &rows[i].cells[c];
            if (other->column == cell->column && other->kind == CELL_COLUMN_DELETED)
                all = deletion_newer(all, (struct deletion){ other->timestamp, other->seconds });
        }
    return all;
}

/* Is it the winner of its place, and not covered? */
static inline bool wide_stays(const struct table *table, const struct row *rows, size_t count,
                              const struct cell *cell, struct deletion all)
{
    struct deletion own = { cell->timestamp, cell->seconds };
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < rows[i].cells_count; c++) {
            const struct cell *other = &rows[i].cells[c];
            int order = wide_same_place(table, other, cell) ? cell_compare(other, cell) : -1;
            if (order > 0 || (order == 0 && other < cell && bytes_equal(other->path, cell->path)))
                return false;
        }
    if (cell->kind == CELL_COLUMN_DELETED)
        return deletion_compare(own, all) > 0;
    return cell->timestamp > wide_cover(rows, count, cell, all).timestamp;
}

/* `rows` are one array of cells each, all of them in one array of rows; at least one. */
static inline void sample_wide_merge(struct arena *arena, const struct table *table,
                                     const struct row *rows, size_t count, struct deletion shadow,
                                     struct row *out)
{
    struct sample_rows none = { rows, count, 0, 0 };
    sample_merge(arena, &none, shadow, out);
    struct deletion all = deletion_newer(out->deletion, shadow);
    for (size_t i = 0; i < count; i++)
        all = deletion_newer(all, rows[i].deletion);
    out->cells = arena_array(arena, struct cell, count * WIDE_CELLS_MAX);
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < rows[i].cells_count; c++) {
            const struct cell *cell = &rows[i].cells[c];
            size_t at = out->cells_count;
            if (!wide_stays(table, rows, count, cell, all))
                continue;
            for (; at > 0 && wide_is_before(table, cell, &out->cells[at - 1]); at--)
                out->cells[at] = out->cells[at - 1];
            out->cells[at] = *cell;
            out->cells_count++;
        }
}

static inline bool sample_row_is_nothing(const struct row *row)
{
    return !row->cells_count && row->liveness.timestamp == TIMESTAMP_NONE &&
           deletion_is_none(row->deletion);
}
