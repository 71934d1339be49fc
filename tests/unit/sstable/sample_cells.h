/* sample_cells.h - random cells of a row: simple ones, elements with paths, deletions of columns.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sample_columns.h"

/* A path of a multi-cell column. */
static inline struct bytes sample_path(struct sample_file *s, const struct type *type)
{
    if (type->kind == TYPE_LIST)
        return sample_bytes_of(s, type_native(TYPE_TIMEUUID), false);
    if (type->kind != TYPE_UDT)
        return sample_bytes_of(s, type_path(type), true);
    uint8_t *path = arena_alloc(s->arena, 2);
    put_be16(path, (uint16_t)prng_below(&s->prng, type->parts_count));
    return bytes_of(path, 2);
}

static inline void sample_elements(struct sample_file *s, const struct column *column,
                                   struct cell *cells, size_t *count)
{
    size_t first = *count;
    for (uint64_t more = prng_below(&s->prng, 4); more > 0; more--) {
        struct cell cell = { .column = column->number,
                             .kind = (enum cell_kind)prng_below(&s->prng, 3) };
        sample_time(s, &cell);
        cell.path = sample_path(s, column->type);
        size_t at = *count;
        int order = 1;
        while (at > first &&
               (order = type_path_compare(column->type, cells[at - 1].path, cell.path)) > 0)
            at--;
        if (at > first && order == 0)
            continue;
        if (cell.kind != CELL_DELETED && column->type->kind != TYPE_SET)
            cell.value = sample_bytes_of(s, type_cell_value(column->type, cell.path), true);
        memmove(&cells[at + 1], &cells[at], (*count - at) * sizeof *cells);
        cells[at] = cell;
        ++*count;
    }
}

static inline void sample_column(struct sample_file *s, const struct column *column,
                                 struct cell *cells, size_t *count)
{
    if (type_is_multicell(column->type)) {
        if (prng_chance(&s->prng, 40)) {
            struct deletion deletion = sample_some_deletion(s, false);
            cells[(*count)++] = (struct cell){ .timestamp = deletion.timestamp,
                                               .column = column->number,
                                               .seconds = deletion.seconds,
                                               .kind = CELL_COLUMN_DELETED };
        }
        sample_elements(s, column, cells, count);
        return;
    }
    struct cell cell = { .column = column->number,
                         .kind = (enum cell_kind)prng_below(&s->prng, 3) };
    sample_time(s, &cell);
    if (cell.kind != CELL_DELETED)
        cell.value = sample_bytes_of(s, column->type, true);
    cells[(*count)++] = cell;
}

/* Cells of random columns of the kind, by number. */
static inline void sample_cells(struct sample_file *s, enum column_kind kind, struct row *out)
{
    const struct table *table = s->table;
    uint64_t percent = prng_below(&s->prng, 3) * 50;
    out->cells = arena_array(s->arena, struct cell, 5 * table->columns_count);
    for (uint32_t number = 0; number < table->numbers_used; number++) {
        const struct column *column = table_column_by_number(table, number);
        if (column && column->kind == kind && prng_chance(&s->prng, (unsigned)percent))
            sample_column(s, column, out->cells, &out->cells_count);
    }
}
