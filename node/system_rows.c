/* system_rows.c - see system_rows.h.
 *
 * The rows of a table are few: they are made, sorted by place and key, and walked.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/system_rows.h"

#include <stdlib.h>

enum { SYSTEM_TIMESTAMP = 0 };

void rows_init(struct system_rows *r, const struct table *table, struct arena *arena)
{
    *r = (struct system_rows){ .table = table, .arena = arena };
    r->values = arena_array(arena, struct bytes, table->columns_count);
}

void rows_begin(struct system_rows *r)
{
    memset(r->values, 0, r->table->columns_count * sizeof *r->values);
}

void rows_bytes(struct system_rows *r, const char *column, struct bytes value)
{
    const struct column *c = table_column(r->table, bytes_text(column));
    ensure(c);
    bool is_empty = value.size == 0; /* which is not null */
    r->values[c - r->table->columns] = is_empty ? bytes_text("") : arena_copy(r->arena, value);
}

void rows_text(struct system_rows *r, const char *column, const char *text)
{
    if (text)
        rows_bytes(r, column, bytes_text(text));
}

void rows_bool(struct system_rows *r, const char *column, bool value)
{
    uint8_t byte = value;
    rows_bytes(r, column, bytes_of(&byte, 1));
}

void rows_int(struct system_rows *r, const char *column, int32_t value)
{
    uint8_t bytes[4];
    put_be32(bytes, (uint32_t)value);
    rows_bytes(r, column, bytes_of(bytes, sizeof bytes));
}

void rows_bigint(struct system_rows *r, const char *column, int64_t value)
{
    uint8_t bytes[8];
    put_be64(bytes, (uint64_t)value);
    rows_bytes(r, column, bytes_of(bytes, sizeof bytes));
}

void rows_double(struct system_rows *r, const char *column, double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    rows_bigint(r, column, bits);
}

void rows_uuid(struct system_rows *r, const char *column, const struct uuid *id)
{
    rows_bytes(r, column, bytes_of(id->b, sizeof id->b));
}

void rows_inet(struct system_rows *r, const char *column, const struct io_addr *address)
{
    rows_bytes(r, column, bytes_of(address->ip, address->family == 6 ? 16 : 4));
}

static void rows_texts_in(struct buf *out, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_put_be32(out, (uint32_t)strlen(texts[i]));
        buf_put_text(out, texts[i]);
    }
}

void rows_texts(struct system_rows *r, const char *column, const char *const *texts, size_t count)
{
    struct buf out = buf_in(r->arena);
    buf_put_be32(&out, (uint32_t)count);
    rows_texts_in(&out, texts, count);
    rows_bytes(r, column, buf_bytes(&out));
}

void rows_map(struct system_rows *r, const char *column, const char *const *pairs, size_t count)
{
    struct buf out = buf_in(r->arena);
    buf_put_be32(&out, (uint32_t)count);
    rows_texts_in(&out, pairs, 2 * count);
    rows_bytes(r, column, buf_bytes(&out));
}

static void rows_room(struct system_rows *r)
{
    if (r->count < r->room)
        return;
    size_t room = r->room ? 2 * r->room : 16;
    struct system_row *wider = arena_array(r->arena, struct system_row, room);
    if (r->count)
        memcpy(wider, r->rows, r->count * sizeof *wider);
    r->rows = wider;
    r->room = room;
}

/* The row's own cells, by column number, which is the column's index here. */
static void rows_cells(struct system_rows *r, struct row *row)
{
    const struct table *t = r->table;
    size_t keys = t->partition_count + t->clustering_count;
    row->cells = arena_array(r->arena, struct cell, t->columns_count);
    for (size_t i = keys; i < t->columns_count; i++)
        if (r->values[i].data)
            row->cells[row->cells_count++] = (struct cell){ .timestamp = SYSTEM_TIMESTAMP,
                                                            .column = t->columns[i].number,
                                                            .kind = CELL_LIVE,
                                                            .value = r->values[i] };
}

void rows_end(struct system_rows *r)
{
    const struct table *t = r->table;
    struct buf key = buf_in(r->arena), place = buf_in(r->arena), row_key = buf_in(r->arena);
    struct buf clustering = buf_in(r->arena);
    rows_room(r);
    struct system_row *made = &r->rows[r->count++];
    *made = (struct system_row){ 0 };
    key_encode(t, r->values, &key);
    made->key = buf_bytes(&key);
    made->token = key_token(made->key);
    comparable_partition(made->token, made->key, &place);
    made->place = buf_bytes(&place);
    comparable_key(t, r->values + t->partition_count, &row_key);
    for (size_t i = 0; i < t->clustering_count; i++)
        buf_put_sized(&clustering, r->values[t->partition_count + i]);
    made->row = (struct row){ .key = buf_bytes(&row_key),
                              .clustering = buf_bytes(&clustering),
                              .liveness = { .timestamp = SYSTEM_TIMESTAMP },
                              .deletion = deletion_none() };
    rows_cells(r, &made->row);
}

/* ---- reading ---- */

static int system_row_compare(const void *a, const void *b)
{
    const struct system_row *x = a, *y = b;
    int c = bytes_compare(x->place, y->place);
    return c ? c : bytes_compare(x->row.key, y->row.key);
}

static bool read_wants_partition(const struct read *read, const struct system_row *row)
{
    if (!read->is_range)
        return bytes_equal(read->key, row->key);
    return row->token > read->after && row->token <= read->upto;
}

static bool read_wants_key(const struct read *read, struct bytes key)
{
    if (read->slices_count == 0)
        return true;
    for (size_t i = 0; i < read->slices_count; i++) {
        const struct slice *s = &read->slices[i];
        bool is_above = s->low.size == 0 || bytes_compare(key, s->low) > 0;
        bool is_below = s->high.size == 0 || bytes_compare(key, s->high) < 0;
        if (is_above && is_below)
            return true;
    }
    return false;
}

/* Is the row behind the position that the read goes on from? */
static bool read_is_behind(const struct system_rows *r, const struct read *read,
                           const struct system_row *row)
{
    const struct position *from = &read->from;
    struct buf place = buf_in(r->arena);
    if (!from->is_set)
        return true;
    comparable_partition(from->token, from->key, &place);
    int c = bytes_compare(row->place, buf_bytes(&place));
    if (c)
        return c > 0;
    if (from->row_key.size == 0)
        return false;
    int order = bytes_compare(row->row.key, from->row_key);
    return read->is_reversed ? order < 0 : order > 0;
}

/* The index of the n-th row to visit: partitions ascend, rows within one may descend. */
static size_t rows_visit(const struct system_rows *r, const struct read *read, size_t n)
{
    size_t first = n, last = n;
    if (!read->is_reversed)
        return n;
    while (first > 0 && bytes_equal(r->rows[first - 1].place, r->rows[n].place))
        first--;
    while (last + 1 < r->count && bytes_equal(r->rows[last + 1].place, r->rows[n].place))
        last++;
    return last - (n - first);
}

void rows_read(struct system_rows *r, const struct read *read, struct read_sink *sink,
               struct read_outcome *out)
{
    const struct system_row *last = NULL;
    if (r->count)
        qsort(r->rows, r->count, sizeof *r->rows, system_row_compare);
    for (size_t n = 0; n < r->count; n++) {
        const struct system_row *row = &r->rows[rows_visit(r, read, n)];
        if (!read_wants_partition(read, row) || !read_wants_key(read, row->row.key) ||
            !read_is_behind(r, read, row))
            continue;
        if (last && out->rows_count >= read->rows_limit) {
            out->has_more = true;
            out->last = (struct position){ true, last->token, last->key, last->row.key };
            return;
        }
        if (!last || !bytes_equal(last->place, row->place))
            sink->partition(sink, row->key, row->token, deletion_none());
        sink->row(sink, &row->row, true);
        out->rows_count++;
        last = row;
    }
}
