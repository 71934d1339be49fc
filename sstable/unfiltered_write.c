/* unfiltered_write.c - rows, static rows and markers, written as Cassandra writes them.
 *
 *     flags [extension] | clustering | vint size | vint previous size | body
 *                                      ~~~~~~~~~ of what is right of it: written last, behind a gap
 *                                                that is as wide as an estimate says
 *
 * The cells of struct row come by number and leave in the file's order: one walk notes the run of
 * each column at its place, a second one over the places that are set writes them.
 *
 * nb tells no time after 2038 and oa none after 2106: later ones are written as the last second
 * that there is (layout_seconds_max), in statistics too.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/clustering.h"
#include "sstable/unfiltered_inside.h"

struct run {
    uint32_t first, count;
};
/* The columns of a row by place: which are there, and which cells are theirs. */
struct row_columns {
    struct columns all;
    size_t count;       /* of those that are there */
    size_t bytes;       /* about what their cells will take */
    bool has_deletions; /* of a multi-cell column */
    struct column_set present;
    struct run runs[COLUMNS_MAX];
};
struct row_writer {
    const struct layout *layout;
    const struct row *row;
    uint32_t expires_capped; /* of the row's liveness */
    bool has_deletions;      /* multi-cell columns begin with one */
    struct buf *out;
};

static uint32_t seconds_capped(const struct layout *layout, uint32_t seconds)
{
    return (uint32_t)u64_min(seconds, layout_seconds_max(layout->version));
}

static void put_timestamp(const struct layout *layout, int64_t timestamp, struct buf *out)
{
    buf_put_vint(out, (uint64_t)timestamp - (uint64_t)layout->base.timestamp);
}

/* 32 bits with their sign: what Cassandra's int arithmetic leaves. */
static void put_int(uint64_t difference, struct buf *out)
{
    buf_put_vint(out, (uint64_t)(int64_t)(int32_t)(uint32_t)difference);
}

static void put_seconds(const struct layout *layout, uint32_t seconds, struct buf *out)
{
    put_int((uint64_t)seconds - (uint64_t)layout->base.seconds, out);
}

static void put_deletion(const struct layout *layout, struct deletion deletion, struct buf *out)
{
    uint32_t none = layout->version == SSTABLE_NB ? INT32_MAX : UINT32_MAX;
    put_timestamp(layout, deletion.timestamp, out);
    put_seconds(layout,
                deletion_is_none(deletion) ? none : seconds_capped(layout, deletion.seconds), out);
}

static void columns_spread(const struct layout *layout, const struct row *row, bool is_static,
                           struct row_columns *out)
{
    out->all = columns_of(layout, is_static);
    out->count = out->bytes = 0;
    out->has_deletions = false;
    column_set_clear(&out->present, out->all.count);
    for (size_t i = 0; i < row->cells_count;) {
        uint32_t number = row->cells[i].column;
        ensure(number < layout->table->numbers_used);
        size_t place = layout->places[number], first = i;
        ensure(place < out->all.count && out->all.columns[place].number == number);
        for (; i < row->cells_count && row->cells[i].column == number; i++) {
            out->bytes += row->cells[i].path.size + row->cells[i].value.size + 4;
            out->has_deletions |= row->cells[i].kind == CELL_COLUMN_DELETED;
        }
        ensure(i - first == 1 || out->all.columns[place].is_multicell);
        out->runs[place] = (struct run){ (uint32_t)first, (uint32_t)(i - first) };
        column_set_add(&out->present, place);
        out->count++;
    }
}

static void put_subset(const struct row_columns *columns, struct buf *out)
{
    size_t all = columns->all.count, missing = all - columns->count;
    if (all < SUBSET_LIST_LEAST) {
        buf_put_vint(out, ~columns->present.bits[0] & ((UINT64_C(1) << all) - 1));
        return;
    }
    buf_put_vint(out, missing);
    bool lists_present = columns->count < all / 2;
    for (size_t place = 0; place < all; place++)
        if (column_set_has(&columns->present, place) == lists_present)
            buf_put_vint(out, place);
}

static unsigned cell_flags(const struct row_writer *w, const struct cell *cell, uint32_t seconds)
{
    const struct liveness *liveness = &w->row->liveness;
    unsigned flags = cell->kind == CELL_DELETED    ? CELL_IS_DELETED
                     : cell->kind == CELL_EXPIRING ? CELL_IS_EXPIRING
                                                   : 0;
    if (cell->kind == CELL_DELETED || cell->value.size == 0)
        flags |= CELL_IS_EMPTY;
    if (liveness->timestamp != TIMESTAMP_NONE && cell->timestamp == liveness->timestamp)
        flags |= CELL_HAS_ROW_TIMESTAMP;
    if (cell->kind == CELL_EXPIRING && liveness->timestamp != TIMESTAMP_NONE && liveness->ttl &&
        cell->ttl == liveness->ttl && seconds == w->expires_capped)
        flags |= CELL_HAS_ROW_TTL;
    return flags;
}

static void put_cell(const struct row_writer *w, const struct layout_column *column,
                     const struct cell *cell)
{
    const struct layout *layout = w->layout;
    uint32_t seconds = cell->kind == CELL_LIVE ? 0 : seconds_capped(layout, cell->seconds);
    unsigned flags = cell_flags(w, cell, seconds);
    if (flags == CELL_HAS_ROW_TIMESTAMP && column->fixed_bytes == sizeof(uint64_t)) {
        ensure(cell->value.size == sizeof(uint64_t)); /* the most frequent case, in one go */
        uint8_t *at = buf_take(w->out, 1 + sizeof(uint64_t));
        *at = (uint8_t)flags;
        memcpy(at + 1, cell->value.data, sizeof(uint64_t));
        return;
    }
    buf_put_u8(w->out, (uint8_t)flags);
    if (!(flags & CELL_HAS_ROW_TIMESTAMP))
        put_timestamp(layout, cell->timestamp, w->out);
    if (cell->kind != CELL_LIVE && !(flags & CELL_HAS_ROW_TTL))
        put_seconds(layout, seconds, w->out);
    if (cell->kind == CELL_EXPIRING && !(flags & CELL_HAS_ROW_TTL))
        put_int((uint64_t)cell->ttl - layout->base.ttl, w->out);
    if (column->is_multicell)
        buf_put_sized(w->out, cell->path);
    if (flags & CELL_IS_EMPTY)
        return;
    ensure_after(column->fixed_bytes, cell->value.size == column->fixed_bytes);
    if (!column->fixed_bytes)
        buf_put_vint(w->out, cell->value.size);
    buf_put_bytes(w->out, cell->value);
}

static void put_column(const struct row_writer *w, const struct layout_column *column,
                       const struct cell *cells, size_t count)
{
    ensure(cells && count);
    if (column->is_multicell) {
        bool has_deletion = cells[0].kind == CELL_COLUMN_DELETED;
        struct deletion deletion = deletion_none();
        if (has_deletion)
            deletion = (struct deletion){ cells[0].timestamp, cells[0].seconds };
        if (w->has_deletions)
            put_deletion(w->layout, deletion, w->out);
        cells += has_deletion;
        count -= has_deletion;
        buf_put_vint(w->out, count);
    }
    for (size_t i = 0; i < count; i++) {
        ensure(cells[i].kind != CELL_COLUMN_DELETED);
        put_cell(w, column, &cells[i]);
    }
}

static void put_body(const struct row_writer *w, unsigned flags, const struct row_columns *columns)
{
    const struct row *row = w->row;
    if (flags & HAS_TIMESTAMP)
        put_timestamp(w->layout, row->liveness.timestamp, w->out);
    if (flags & HAS_TTL) {
        put_int((uint64_t)row->liveness.ttl - w->layout->base.ttl, w->out);
        put_seconds(w->layout, w->expires_capped, w->out);
    }
    if (flags & HAS_DELETION)
        put_deletion(w->layout, row->deletion, w->out);
    if (!(flags & HAS_ALL_COLUMNS))
        put_subset(columns, w->out);
    for (size_t word = 0; word < columns->present.words; word++)
        for (uint64_t bits = columns->present.bits[word]; bits; bits &= bits - 1) {
            size_t place = word * 64 + (unsigned)__builtin_ctzll(bits);
            struct run run = columns->runs[place];
            put_column(w, &columns->all.columns[place], row->cells + run.first, run.count);
        }
}

/* A gap for a vint of about `estimate`; what is put behind it is its size. */
static size_t gap_open(struct buf *out, size_t estimate)
{
    size_t gap = vint_size(estimate);
    memset(buf_take(out, gap), 0, gap);
    return gap;
}

static void gap_close(struct buf *out, size_t at, size_t gap)
{
    uint8_t bytes[VINT_BYTES_MAX];
    struct buf head = { .data = bytes, .room = sizeof bytes };
    size_t size = out->size - at - gap;
    buf_put_vint(&head, size);
    if (head.size > gap)
        buf_take(out, head.size - gap);
    if (head.size != gap)
        memmove(out->data + at + head.size, out->data + at + gap, size);
    memcpy(out->data + at, bytes, head.size);
    out->size = at + head.size + size;
}

static unsigned row_flags(const struct row *row, const struct row_columns *columns, bool is_static)
{
    unsigned flags = is_static ? HAS_EXTENSION : 0;
    if (row->liveness.timestamp != TIMESTAMP_NONE)
        flags |= row->liveness.ttl ? HAS_TIMESTAMP | HAS_TTL : HAS_TIMESTAMP;
    if (!deletion_is_none(row->deletion))
        flags |= HAS_DELETION;
    if (columns->count == columns->all.count)
        flags |= HAS_ALL_COLUMNS;
    if (columns->has_deletions)
        flags |= HAS_COMPLEX_DELETION;
    return flags;
}

static size_t put_row(const struct layout *layout, const struct row *row, bool is_static,
                      uint64_t prev_bytes, struct buf *out)
{
    struct row_columns columns;
    size_t begin = out->size;
    columns_spread(layout, row, is_static, &columns);
    unsigned flags = row_flags(row, &columns, is_static);
    buf_put_u8(out, (uint8_t)flags);
    if (is_static)
        buf_put_u8(out, EXTENSION_STATIC);
    else
        clustering_values_write(layout->clustering_fixed, row->clustering, layout->clustering_count,
                                out);
    size_t at = out->size, gap = gap_open(out, columns.bytes);
    buf_put_vint(out, prev_bytes);
    struct row_writer w = { .layout = layout,
                            .row = row,
                            .expires_capped = seconds_capped(layout, row->liveness.expires),
                            .has_deletions = columns.has_deletions,
                            .out = out };
    put_body(&w, flags, &columns);
    gap_close(out, at, gap);
    return at - begin;
}

size_t row_write(const struct layout *layout, const struct row *row, uint64_t prev_bytes,
                 struct buf *out)
{
    return put_row(layout, row, false, prev_bytes, out);
}

void static_row_write(const struct layout *layout, const struct row *row, struct buf *out)
{
    static const struct row empty = { .liveness = { .timestamp = TIMESTAMP_NONE },
                                      .deletion = { .timestamp = TIMESTAMP_NONE } };
    ensure(layout->statics_count);
    put_row(layout, row ? row : &empty, true, 0, out);
}

uint8_t marker_kind(const struct marker *marker)
{
    bool is_above = comparable_bound_is_above(marker->key);
    bool ends = !deletion_is_none(marker->before), begins = !deletion_is_none(marker->after);
    ensure(ends || begins);
    if (ends && begins)
        return is_above ? INCL_END_EXCL_START : EXCL_END_INCL_START;
    if (begins)
        return is_above ? EXCL_START : INCL_START;
    return is_above ? INCL_END : EXCL_END;
}

size_t marker_count(const struct marker *marker)
{
    size_t count = 0;
    struct cursor c = cursor_of(marker->clustering);
    for (; cursor_left(&c) && !c.bad; count++)
        clustering_take(&c);
    ensure(!c.bad);
    return count;
}

size_t marker_write(const struct layout *layout, const struct marker *marker, uint64_t prev_bytes,
                    struct buf *out)
{
    size_t count = marker_count(marker), begin = out->size;
    ensure(count <= layout->clustering_count);
    buf_put_u8(out, IS_MARKER);
    buf_put_u8(out, marker_kind(marker));
    buf_put_be16(out, (uint16_t)count);
    clustering_values_write(layout->clustering_fixed, marker->clustering, count, out);
    size_t at = out->size, gap = gap_open(out, 1);
    buf_put_vint(out, prev_bytes);
    if (!deletion_is_none(marker->before))
        put_deletion(layout, marker->before, out);
    if (!deletion_is_none(marker->after))
        put_deletion(layout, marker->after, out);
    gap_close(out, at, gap);
    return at - begin;
}
