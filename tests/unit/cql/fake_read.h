/* fake_read.h - reads of the store in memory: model/read.h to the letter, slowly. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "fake.h"

static inline bool fake_in_slices(const struct read *read, struct bytes key)
{
    for (size_t i = 0; i < read->slices_count; i++) {
        const struct slice *s = &read->slices[i];
        if ((!s->low.size || bytes_compare(s->low, key) < 0) &&
            (!s->high.size || bytes_compare(key, s->high) < 0))
            return true;
    }
    return read->slices_count == 0;
}

/* Is the row behind the position that the read goes on from? */
static inline bool fake_is_behind(const struct read *read, const struct fake_part *p,
                                  struct bytes row_key)
{
    const struct position *from = &read->from;
    if (!from->is_set)
        return true;
    int c = fake_compare(p, &p->table, from->token, from->key);
    if (c)
        return c > 0;
    if (!from->row_key.size)
        return false;
    int r = bytes_compare(row_key, from->row_key);
    return read->is_reversed ? r < 0 : r > 0;
}

static inline bool fake_part_fits(const struct read *read, const struct fake_part *p)
{
    if (!uuid_equal(&p->table, &read->table))
        return false;
    if (read->is_range)
        return p->token > read->after && p->token <= read->upto;
    ensure(read->token == key_token(read->key));
    return bytes_equal(p->key, read->key);
}

static inline bool fake_has_column(const struct read *read, uint32_t column)
{
    for (size_t i = 0; i < read->columns_count; i++)
        if (read->columns[i] == column)
            return true;
    return read->columns_count == 0;
}

/* The row with the values that nobody asked for left out. */
static inline struct row fake_projected(const struct read *read, const struct row *from,
                                        struct arena *arena, size_t *bytes)
{
    struct row row = *from;
    row.cells = arena_alloc(arena, row.cells_count * sizeof *row.cells);
    if (row.cells_count)
        memcpy(row.cells, from->cells, row.cells_count * sizeof *row.cells);
    for (size_t c = 0; c < row.cells_count; c++) {
        if (!fake_has_column(read, row.cells[c].column))
            row.cells[c].value.size = 0;
        *bytes += row.cells[c].value.size;
    }
    return row;
}

/* Is there anything of the partition behind the read's position? */
static inline bool fake_part_begins(const struct read *read, const struct fake_part *p)
{
    const struct position *from = &read->from;
    if (!from->is_set || !p->rows_count)
        return p->rows_count > 0;
    int c = fake_compare(p, &p->table, from->token, from->key);
    return c ? c > 0 : from->row_key.size > 0;
}

static inline void fake_part_read(const struct read *read, struct fake_part *p, struct arena *arena,
                                  struct read_sink *sink, struct read_outcome *out)
{
    size_t bytes = 0;
    if (!fake_part_begins(read, p))
        return;
    sink->partition(sink, p->key, p->token, p->deletion);
    if (row_is_static(p->rows[0])) {
        struct row row = fake_projected(read, p->rows[0], arena, &bytes);
        sink->row(sink, &row, row_is_live(&row, read->now_seconds));
    }
    for (size_t i = 0; i < p->rows_count && !out->has_more; i++) {
        const struct row *from = p->rows[read->is_reversed ? p->rows_count - 1 - i : i];
        if (row_is_static(from) || !fake_in_slices(read, from->key) ||
            !fake_is_behind(read, p, from->key))
            continue;
        struct row row = fake_projected(read, from, arena, &bytes);
        bool is_live = row_is_live(&row, read->now_seconds);
        sink->row(sink, &row, is_live);
        out->rows_count += is_live;
        if (out->rows_count == read->rows_limit || bytes >= read->bytes_limit) {
            out->has_more = true;
            out->last = (struct position){ true, p->token, p->key, row.key };
        }
    }
}

static inline struct read_outcome fake_read(struct fake *f, const struct read *read,
                                            struct arena *arena, struct read_sink *sink)
{
    struct read_outcome out = { 0 };
    ensure(read->rows_limit > 0 && read->bytes_limit > 0);
    f->reads++;
    for (size_t i = 0; i < f->parts_count && !out.has_more; i++)
        if (fake_part_fits(read, f->parts[i]))
            fake_part_read(read, f->parts[i], arena, sink, &out);
    return out;
}
