/* read.c - a read as bytes.
 *
 *     16 table id | vint epoch | flags | now | vint rows_limit | vint bytes_limit
 *     [sized key] or [after, upto] | vint slices: sized low, sized high
 *     [from: token, sized key, sized row key] | vint columns: vint number
 *     flags: 1 a range, 2 reversed, 4 from
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/read.h"

#include "model/comparable.h"

enum { IS_RANGE = 1, IS_REVERSED = 2, HAS_FROM = 4, ALL_FLAGS = 7 };

void position_encode(const struct position *position, struct buf *out)
{
    buf_put_be64(out, (uint64_t)position->token);
    buf_put_sized(out, position->key);
    buf_put_sized(out, position->row_key);
}

struct position position_decode(struct cursor *c)
{
    struct position position = { .is_set = true, .token = (int64_t)cursor_be64(c) };
    position.key = cursor_sized(c);
    position.row_key = cursor_sized(c);
    c->bad |= !position_is_place(&position);
    return position;
}

bool position_is_place(const struct position *position)
{
    struct bytes key = position->row_key;
    uint8_t end = key.size ? key.data[key.size - 1] : COMPARABLE_ROW;
    bool is_static = end == COMPARABLE_STATIC && key.size == 1;
    return end == COMPARABLE_ROW || end == COMPARABLE_BELOW || end == COMPARABLE_ABOVE || is_static;
}

int position_compare(const struct position *a, const struct position *b, bool is_reversed)
{
    ensure(a->is_set && b->is_set);
    if (a->token != b->token)
        return a->token < b->token ? -1 : 1;
    if (a->key.size == 0 || b->key.size == 0) /* behind every partition of the token */
        return (a->key.size == 0) - (b->key.size == 0);
    int c = bytes_compare(a->key, b->key);
    if (c)
        return c;
    if (a->row_key.size == 0 || b->row_key.size == 0) /* behind every row of the partition */
        return (a->row_key.size == 0) - (b->row_key.size == 0);
    c = bytes_compare(a->row_key, b->row_key);
    return is_reversed ? -c : c;
}

static void put_target(const struct read *read, struct buf *out)
{
    if (read->is_range) {
        buf_put_be64(out, (uint64_t)read->after);
        buf_put_be64(out, (uint64_t)read->upto);
    } else {
        buf_put_sized(out, read->key);
    }
    buf_put_vint(out, read->slices_count);
    for (size_t i = 0; i < read->slices_count; i++) {
        buf_put_sized(out, read->slices[i].low);
        buf_put_sized(out, read->slices[i].high);
    }
}

void read_encode(const struct read *read, struct buf *out)
{
    ensure(read->rows_limit > 0 && read->bytes_limit > 0);
    uint8_t flags =
        (uint8_t)((read->is_range ? IS_RANGE : 0) | (read->is_reversed ? IS_REVERSED : 0) |
                  (read->from.is_set ? HAS_FROM : 0));
    buf_put(out, read->table.b, sizeof read->table.b);
    buf_put_vint(out, read->epoch);
    buf_put_u8(out, flags);
    buf_put_signed_vint(out, read->now_seconds);
    buf_put_vint(out, read->rows_limit);
    buf_put_vint(out, read->bytes_limit);
    put_target(read, out);
    if (read->from.is_set)
        position_encode(&read->from, out);
    buf_put_vint(out, read->columns_count);
    for (size_t i = 0; i < read->columns_count; i++)
        buf_put_vint(out, read->columns[i]);
}

static uint32_t take_limit(struct cursor *c)
{
    uint64_t limit = cursor_vint(c);
    c->bad |= limit == 0 || limit > UINT32_MAX;
    return (uint32_t)limit;
}

static void take_target(struct cursor *c, struct arena *arena, struct read *out)
{
    if (out->is_range) {
        out->after = (int64_t)cursor_be64(c);
        out->upto = (int64_t)cursor_be64(c);
    } else {
        out->key = cursor_sized(c);
        c->bad |= out->key.size == 0;
    }
    size_t slices = cursor_count(c, 2);
    c->bad |= slices > READ_SLICES_MAX;
    if (c->bad)
        return;
    out->token = out->is_range ? 0 : key_token(out->key);
    out->slices = arena_alloc(arena, sizeof *out->slices * slices);
    for (; out->slices_count < slices; out->slices_count++) {
        out->slices[out->slices_count].low = cursor_sized(c);
        out->slices[out->slices_count].high = cursor_sized(c);
    }
}

static void take_columns(struct cursor *c, struct arena *arena, struct read *out)
{
    size_t columns = cursor_count(c, 1);
    if (c->bad)
        return;
    out->columns = arena_alloc(arena, sizeof *out->columns * columns);
    for (; out->columns_count < columns; out->columns_count++) {
        uint64_t number = cursor_vint(c);
        c->bad |= number > UINT32_MAX;
        c->bad |= out->columns_count && number <= out->columns[out->columns_count - 1];
        out->columns[out->columns_count] = (uint32_t)number;
    }
}

enum err read_decode(struct bytes encoded, struct arena *arena, struct read *out)
{
    struct cursor c = cursor_of(encoded);
    *out = (struct read){ 0 };
    struct bytes id = cursor_bytes(&c, sizeof out->table.b);
    if (c.bad)
        return ERR_CORRUPT;
    memcpy(out->table.b, id.data, id.size);
    out->epoch = cursor_vint(&c);
    uint8_t flags = cursor_u8(&c);
    out->is_range = flags & IS_RANGE;
    out->is_reversed = flags & IS_REVERSED;
    out->now_seconds = cursor_signed_vint(&c);
    out->rows_limit = take_limit(&c);
    out->bytes_limit = take_limit(&c);
    c.bad |= (flags & ~ALL_FLAGS) != 0;
    take_target(&c, arena, out);
    if (flags & HAS_FROM)
        out->from = position_decode(&c);
    take_columns(&c, arena, out);
    return c.bad || cursor_left(&c) ? ERR_CORRUPT : OK;
}

void read_ignore_range(struct read_sink *sink, const struct range_tombstone *range)
{
    (void)sink, (void)range;
}
