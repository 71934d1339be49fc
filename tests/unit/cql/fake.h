/* fake.h - a store in memory for the tests of the language: mutations in, reads out.
 *
 * It keeps merged rows and follows model/read.h to the letter, slowly.  Tables are known by their
 * ids, since an altered table is another one.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/model.h"

enum { FAKE_PARTS = 2000, FAKE_ROWS = 64 };

struct fake_part {
    struct uuid table;
    struct bytes key;
    int64_t token;
    struct deletion deletion;
    size_t rows_count;
    struct row *rows[FAKE_ROWS]; /* by key */
};
struct fake {
    struct arena arena;
    size_t parts_count;
    struct fake_part *parts[FAKE_PARTS]; /* by table, token, key */
    unsigned reads;                      /* how often it was asked */
};

static inline int fake_compare(const struct fake_part *p, const struct uuid *table, int64_t token,
                               struct bytes key)
{
    int order = memcmp(p->table.b, table->b, sizeof table->b);
    if (order)
        return order;
    if (p->token != token)
        return p->token < token ? -1 : 1;
    return bytes_compare(p->key, key);
}

static inline struct fake_part *fake_part(struct fake *f, const struct uuid *table,
                                          struct bytes key)
{
    int64_t token = key_token(key);
    size_t at = 0;
    while (at < f->parts_count && fake_compare(f->parts[at], table, token, key) < 0)
        at++;
    if (at < f->parts_count && fake_compare(f->parts[at], table, token, key) == 0)
        return f->parts[at];
    ensure(f->parts_count < FAKE_PARTS);
    struct fake_part *p = arena_new(&f->arena, struct fake_part);
    *p = (struct fake_part){ .table = *table,
                             .key = arena_copy(&f->arena, key),
                             .token = token,
                             .deletion = deletion_none() };
    memmove(f->parts + at + 1, f->parts + at, (f->parts_count - at) * sizeof *f->parts);
    f->parts[at] = p;
    f->parts_count++;
    return p;
}

static inline void fake_row(struct fake *f, const struct table *table, struct fake_part *p,
                            const struct row *row)
{
    size_t at = 0;
    while (at < p->rows_count && bytes_compare(p->rows[at]->key, row->key) < 0)
        at++;
    if (at < p->rows_count && bytes_equal(p->rows[at]->key, row->key)) {
        p->rows[at] = row_merge(&f->arena, table, p->rows[at], row, p->deletion);
        return;
    }
    ensure(p->rows_count < FAKE_ROWS);
    struct row *empty = arena_new(&f->arena, struct row);
    *empty = (struct row){ .key = row->key,
                           .clustering = row->clustering,
                           .liveness.timestamp = TIMESTAMP_NONE,
                           .deletion = deletion_none() };
    memmove(p->rows + at + 1, p->rows + at, (p->rows_count - at) * sizeof *p->rows);
    p->rows[at] = row_merge(&f->arena, table, row, empty, p->deletion);
    p->rows_count++;
}

static inline void fake_apply(struct fake *f, const struct table *table, struct bytes encoded)
{
    struct mutation m;
    ensure(mutation_decode(arena_copy(&f->arena, encoded), table, &f->arena, &m) == OK);
    struct fake_part *p = fake_part(f, &table->id, m.key);
    p->deletion = deletion_newer(p->deletion, m.deletion);
    for (size_t i = 0; i < p->rows_count; i++)
        row_shadow(p->rows[i], p->deletion);
    for (size_t i = 0; i < m.rows_count; i++)
        fake_row(f, table, p, &m.rows[i]);
}

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

static inline void fake_part_read(const struct read *read, struct fake_part *p, struct arena *arena,
                                  struct read_sink *sink, struct read_outcome *out)
{
    bool is_told = false;
    size_t bytes = 0;
    for (size_t i = 0; i < p->rows_count && !out->has_more; i++) {
        struct row row = *p->rows[read->is_reversed ? p->rows_count - 1 - i : i];
        if (!fake_in_slices(read, row.key) || !fake_is_behind(read, p, row.key))
            continue;
        if (!is_told)
            sink->partition(sink, p->key, p->token, p->deletion);
        is_told = true;
        bool is_live = row_is_live(&row, read->now_seconds);
        struct cell *cells = arena_alloc(arena, row.cells_count * sizeof *cells);
        if (row.cells_count)
            memcpy(cells, row.cells, row.cells_count * sizeof *cells);
        row.cells = cells;
        for (size_t c = 0; c < row.cells_count; c++) {
            if (!fake_has_column(read, cells[c].column))
                cells[c].value.size = 0;
            bytes += cells[c].value.size;
        }
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
