/* props.h - what the tests of store/ play with: tables, small mutations, one cell read back. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/mem.h"
#include "store/store.h"

/* ---- tables ---- */

struct stage_column {
    const char *name, *type;
    enum column_kind kind;
    bool is_reversed;
};

/* Columns come in the table's order and are numbered in it.  One reference. */
static inline struct table *stage_table(const char *name, const struct stage_column *columns,
                                        size_t count)
{
    struct table *t = table_new();
    t->id = uuid_named(bytes_text(name));
    t->keyspace = "stage", t->name = arena_text(&t->arena, bytes_text(name));
    t->columns = arena_array(&t->arena, struct column, count);
    t->columns_count = count;
    t->numbers_used = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        struct column *c = &t->columns[i];
        bool is_clustering = columns[i].kind == COLUMN_CLUSTERING;
        c->name = columns[i].name, c->type = type_by_name(bytes_text(columns[i].type));
        c->kind = columns[i].kind, c->is_reversed = columns[i].is_reversed;
        c->number = (uint32_t)i;
        if (c->kind == COLUMN_PARTITION)
            c->position = (uint16_t)t->partition_count++;
        else if (is_clustering)
            c->position = (uint16_t)t->clustering_count++;
        ensure(c->type);
    }
    return t;
}

/* k text primary key, v blob (number 1), w blob (number 2). */
static inline struct table *stage_keyvalue(const char *name)
{
    static const struct stage_column columns[] = {
        { "k", "text", COLUMN_PARTITION, false },
        { "v", "blob", COLUMN_REGULAR, false },
        { "w", "blob", COLUMN_REGULAR, false },
    };
    return stage_table(name, columns, array_count(columns));
}

/* ---- mutations ---- */

/* Live cell `column` = value in the only row of the partition `key` (one column, no clustering). */
static inline void stage_put(const struct table *t, const char *key, uint32_t column,
                             struct bytes value, int64_t timestamp, struct buf *out)
{
    struct cell cell = { .timestamp = timestamp, .column = column, .value = value };
    struct row row = { .key = bytes_text("8"), .cells_count = 1, .cells = &cell };
    row.liveness = (struct liveness){ TIMESTAMP_NONE, 0, 0 };
    row.deletion = deletion_none();
    struct mutation m = { .table = t->id, .key = bytes_text(key), .deletion = deletion_none() };
    m.rows_count = 1, m.rows = &row;
    mutation_encode(&m, out);
}

static inline void stage_delete(const struct table *t, const char *key, int64_t timestamp,
                                struct buf *out)
{
    struct mutation m = { .table = t->id, .key = bytes_text(key) };
    m.deletion = (struct deletion){ timestamp, 1 };
    mutation_encode(&m, out);
}

/* ---- one cell, read back ---- */

struct stage_look {
    struct read_sink sink;
    uint32_t column;
    bool is_found;
    struct buf value; /* the caller's, emptied first */
};

static inline void stage_look_partition(struct read_sink *sink, struct bytes key, int64_t token,
                                        struct deletion deletion)
{
    (void)sink, (void)deletion;
    ensure(token == key_token(key));
}

static inline void stage_look_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct stage_look *look = owner_of(sink, struct stage_look, sink);
    const struct cell *cell = row_cell(row, look->column);
    look->is_found = is_live && cell && cell->kind != CELL_DELETED;
    buf_clear(&look->value);
    if (look->is_found)
        buf_put_bytes(&look->value, cell->value);
}

static inline struct read stage_read_of(const struct table *t, const char *key)
{
    struct read read = { .table = t->id, .key = bytes_text(key) };
    read.token = key_token(read.key);
    read.rows_limit = 100, read.bytes_limit = 1 << 20, read.now_seconds = 1000;
    return read;
}

/* Whether the cell is alive; its value in look->value. */
static inline bool stage_get(struct store *s, const struct table *t, const char *key,
                             struct stage_look *look)
{
    struct arena arena = { 0 };
    struct read read = stage_read_of(t, key);
    struct read_outcome outcome;
    look->sink = (struct read_sink){ stage_look_partition, stage_look_row, read_ignore_range };
    look->is_found = false;
    enum err e = store_read(s, &read, &arena, &look->sink, &outcome);
    ensure(e == OK && !outcome.has_more);
    arena_deinit(&arena);
    return look->is_found;
}
