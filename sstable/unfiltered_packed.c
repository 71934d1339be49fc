/* unfiltered_packed.c - rows that go from file to file as they are.
 *
 *     flags 24 | clustering | size | previous size | timestamp | 08 value | 08 size value | 08 ...
 *                                                                ~~~~~~~~~~~~~~~~~~~~~~~~~~~ packed
 *
 * A row that was inserted whole has a value in each column, and none has a time of its own: its
 * cells say nothing but values, in the order of the file's columns.  Such cells are the same bytes
 * in every file with the same columns, whatever the minima of its header.  A merge of such rows
 * needs no cell of theirs while their timestamps differ: the newest row is what is left.
 *
 * Invariants: 1. What is left packed is what the writer would make of it again, to the byte: no
 * empty value (which has a flag) and no longer vint than needed.  2. Every cell has been walked
 * over, so a row that is cut or has something else in it is never left packed.
 *
 * Where a table has no clustering columns a partition is one row at most, and is read and written
 * whole: head, row and end.
 *
 * Not here: counters, which are merged and not chosen; multi-cell columns; dropped ones.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/clustering.h"
#include "sstable/unfiltered_inside.h"

enum { PACKED_FLAGS = HAS_TIMESTAMP | HAS_ALL_COLUMNS };
enum { ONLY_ROW_BYTES = 64 }; /* what a partition takes beside its key and cells, at most */

/* Behind the flags of a cell; false: it is empty, not as short as can be, or not all there. */
static inline bool pass_sized(struct cursor *c)
{
    size_t left = cursor_left(c);
    uint64_t size = take_vint(c);
    if (c->bad || size == 0 || size > cursor_left(c) || left - cursor_left(c) != vint_size(size))
        return false;
    c->at += size;
    return true;
}

static bool pass_cells(const struct layout *layout, struct cursor *c)
{
    for (size_t i = 0; i < layout->regulars_count; i++) {
        size_t fixed = layout->regulars[i].fixed_bytes;
        if (cursor_left(c) <= fixed || *c->at != CELL_HAS_ROW_TIMESTAMP)
            return false;
        c->at += 1 + fixed;
        if (!fixed && !pass_sized(c))
            return false;
    }
    return cursor_left(c) == 0;
}

bool row_stays_packed(const struct layout *layout, const struct unfiltered_start *start,
                      struct cursor *c, struct unfiltered *out)
{
    struct cursor at = *c;
    if (!start->may_pack || start->flags != PACKED_FLAGS)
        return false;
    int64_t timestamp = take_timestamp(layout, &at);
    const uint8_t *cells = at.at;
    if (at.bad || timestamp == TIMESTAMP_NONE || !pass_cells(layout, &at))
        return false;
    out->row.liveness = (struct liveness){ .timestamp = timestamp };
    out->row.deletion = deletion_none();
    out->packed = bytes_of(cells, (size_t)(at.at - cells));
    out->is_packed = true;
    *c = at;
    return true;
}

bool only_row_read(const struct layout *layout, struct bytes window, struct unfiltered *out)
{
    struct cursor c = cursor_of(window);
    if (layout->clustering_count || layout->statics_count || cursor_u8(&c) != PACKED_FLAGS)
        return false;
    uint64_t size = take_vint(&c);
    if (c.bad || size >= cursor_left(&c) || c.at[size] != END_OF_PARTITION)
        return false;
    struct cursor body = cursor_of(bytes_of(c.at, size));
    (void)take_vint(&body); /* size of the one before: nobody needs it */
    int64_t timestamp = take_timestamp(layout, &body);
    const uint8_t *cells = body.at;
    if (body.bad || timestamp == TIMESTAMP_NONE || !pass_cells(layout, &body))
        return false;
    out->kind = UNFILTERED_ROW;
    out->row = (struct row){ .key = only_row_key(),
                             .liveness = { .timestamp = timestamp },
                             .deletion = deletion_none() };
    out->packed = bytes_of(cells, (size_t)(body.at - cells));
    out->is_packed = true;
    out->size_bytes = (size_t)(body.at - window.data);
    return true;
}

void unfiltered_unpack(const struct layout *layout, struct row_space *space, struct unfiltered *u)
{
    struct cursor c = cursor_of(u->packed);
    ensure(u->kind == UNFILTERED_ROW && u->is_packed);
    row_cells_decode(layout, &c, space, &u->row);
    ensure(!c.bad && cursor_left(&c) == 0);
    u->is_packed = false;
}

static bool is_moved(const struct layout_column *from, const struct layout_column *to)
{
    return from->number == to->number && from->fixed_bytes == to->fixed_bytes &&
           !from->is_multicell && !to->is_multicell && !from->is_dropped &&
           from->dropped_at == INT64_MIN && to->type->kind != TYPE_COUNTER;
}

bool layout_packs_alike(const struct layout *from, const struct layout *to)
{
    if (from->regulars_count != to->regulars_count)
        return false;
    for (size_t i = 0; i < from->regulars_count; i++)
        if (!is_moved(&from->regulars[i], &to->regulars[i]))
            return false;
    return true;
}

size_t packed_row_write(const struct layout *layout, const struct row *row, struct bytes packed,
                        uint64_t prev_bytes, struct buf *out)
{
    size_t begin = out->size;
    uint64_t timestamp = (uint64_t)row->liveness.timestamp - (uint64_t)layout->base.timestamp;
    buf_put_u8(out, PACKED_FLAGS);
    clustering_values_write(layout->clustering_fixed, row->clustering, layout->clustering_count,
                            out);
    size_t start_bytes = out->size - begin;
    buf_put_vint(out, vint_size(prev_bytes) + vint_size(timestamp) + packed.size);
    buf_put_vint(out, prev_bytes);
    buf_put_vint(out, timestamp);
    buf_put_bytes(out, packed);
    return start_bytes;
}

void only_row_write(const struct layout *layout, struct bytes key, int64_t timestamp,
                    struct bytes packed, struct buf *out)
{
    size_t begin = out->size;
    uint64_t time = (uint64_t)timestamp - (uint64_t)layout->base.timestamp;
    buf_grow(out, key.size + packed.size + ONLY_ROW_BYTES);
    partition_head_encode(layout->version, key, deletion_none(), out);
    size_t prev_bytes = out->size - begin;
    buf_put_u8(out, PACKED_FLAGS);
    buf_put_vint(out, vint_size(prev_bytes) + vint_size(time) + packed.size);
    buf_put_vint(out, prev_bytes);
    buf_put_vint(out, time);
    buf_put_bytes(out, packed);
    buf_put_u8(out, END_OF_PARTITION);
}
