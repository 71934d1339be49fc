/* sample_row.h - random rows whose timestamps, times and values often tie. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sample.h"

static inline struct deletion sample_deletion(struct prng *prng, unsigned percent)
{
    uint64_t draw = prng_next(prng);
    if (draw % 100 >= percent)
        return deletion_none();
    return (struct deletion){ (int64_t)(draw / 100 % 8), (uint32_t)(draw / 1000 % 3) };
}

static inline struct cell sample_cell(struct prng *prng, uint32_t column)
{
    static const char *const values[] = { "", "a", "ab", "b" };
    uint64_t draw = prng_next(prng);
    struct cell cell = { .timestamp = (int64_t)(draw % 8), .column = column };
    cell.kind = (enum cell_kind)(draw / 8 % 3);
    if (cell.kind == CELL_EXPIRING)
        cell.ttl = 1 + (uint32_t)(draw / 24 % 3);
    if (cell.kind != CELL_LIVE)
        cell.seconds = (uint32_t)(draw / 100 % 4);
    if (cell.kind != CELL_DELETED)
        cell.value = bytes_text(values[draw / 1000 % 4]);
    return cell;
}

/* Fills all but the key and the clustering: cells of the columns from `first` on. */
static inline void sample_content(struct prng *prng, struct arena *arena, uint32_t first,
                                  size_t columns, struct row *out)
{
    uint64_t draw = prng_next(prng);
    out->liveness = (struct liveness){ TIMESTAMP_NONE, 0, 0 };
    if (draw % 2)
        out->liveness.timestamp = (int64_t)(draw / 2 % 8);
    if (draw % 2 && draw / 16 % 2)
        out->liveness.ttl = 1 + (uint32_t)(draw / 32 % 3),
        out->liveness.expires = (uint32_t)(draw / 100 % 4);
    out->deletion = sample_deletion(prng, 20);
    out->cells = arena_array(arena, struct cell, columns);
    out->cells_count = 0;
    for (uint32_t i = 0; i < columns; i++)
        if (prng_chance(prng, 60))
            out->cells[out->cells_count++] = sample_cell(prng, first + i);
}

/* The clustering and key of a row from raw values. */
static inline void sample_place(const struct table *table, struct arena *arena,
                                const struct bytes *values, struct row *out)
{
    struct buf clustering = buf_in(arena), key = buf_in(arena);
    for (size_t i = 0; i < table->clustering_count; i++)
        buf_put_sized(&clustering, values[i]);
    comparable_key(table, values, &key);
    out->clustering = buf_bytes(&clustering);
    out->key = buf_bytes(&key);
}

static inline bool sample_cell_equal(const struct cell *a, const struct cell *b)
{
    return a->timestamp == b->timestamp && a->column == b->column && a->ttl == b->ttl &&
           a->seconds == b->seconds && a->kind == b->kind && bytes_equal(a->path, b->path) &&
           bytes_equal(a->value, b->value);
}

static inline bool sample_row_equal(const struct row *a, const struct row *b)
{
    if (!bytes_equal(a->key, b->key) || !bytes_equal(a->clustering, b->clustering) ||
        a->liveness.timestamp != b->liveness.timestamp || a->liveness.ttl != b->liveness.ttl ||
        a->liveness.expires != b->liveness.expires ||
        a->deletion.timestamp != b->deletion.timestamp ||
        a->deletion.seconds != b->deletion.seconds || a->cells_count != b->cells_count)
        return false;
    for (size_t i = 0; i < a->cells_count; i++)
        if (!sample_cell_equal(&a->cells[i], &b->cells[i]))
            return false;
    return true;
}

/* An own, slow statement of the rules: of all that was ever written, one winner per column. */
struct sample_rows {
    const struct row *rows;
    size_t count;
    uint32_t first; /* column */
    uint32_t columns;
};
static inline void sample_merge(struct arena *arena, const struct sample_rows *all_of,
                                struct deletion shadow, struct row *out)
{
    const struct row *rows = all_of->rows;
    size_t count = all_of->count;
    uint32_t first = all_of->first, columns = all_of->columns;
    struct deletion own = deletion_none();
    *out = rows[0];
    out->liveness = (struct liveness){ TIMESTAMP_NONE, 0, 0 };
    out->cells = arena_array(arena, struct cell, columns);
    out->cells_count = 0;
    for (size_t i = 0; i < count; i++) {
        own = deletion_newer(own, rows[i].deletion);
        out->liveness = liveness_newer(out->liveness, rows[i].liveness);
    }
    struct deletion all = deletion_newer(own, shadow);
    bool says_more = own.timestamp > shadow.timestamp ||
                     (own.timestamp == shadow.timestamp && own.seconds > shadow.seconds);
    out->deletion = says_more ? own : deletion_none();
    if (out->liveness.timestamp <= all.timestamp)
        out->liveness = (struct liveness){ TIMESTAMP_NONE, 0, 0 };
    for (uint32_t column = first; column < first + columns; column++) {
        const struct cell *best = NULL;
        for (size_t i = 0; i < count; i++) {
            const struct cell *cell = row_cell(&rows[i], column);
            if (cell && (!best || cell_compare(cell, best) > 0))
                best = cell;
        }
        if (best && best->timestamp > all.timestamp)
            out->cells[out->cells_count++] = *best;
    }
}
