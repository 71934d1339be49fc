/* mutation.c - a change to one partition as bytes.
 *
 *     version | 16 table id | vint epoch | sized key | flags |
 *     [deletion] | [vint ranges | ranges] | vint rows | rows
 *
 * The first four can be read without knowing the table, so that a receiver finds the table and the
 * shard first.  Rows and ranges are as row_codec.h has them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/mutation.h"

#include "model/row_codec.h"

enum { MUTATION_VERSION = 1, HAS_DELETION = 1, HAS_RANGES = 2 };

bool mutation_has_anything(const struct mutation *mutation)
{
    if (!deletion_is_none(mutation->deletion) || mutation->ranges_count)
        return true;
    for (size_t i = 0; i < mutation->rows_count; i++)
        if (row_has_anything(&mutation->rows[i]))
            return true;
    return false;
}

void mutation_encode(const struct mutation *mutation, struct buf *out)
{
    bool has_deletion = !deletion_is_none(mutation->deletion);
    buf_put_u8(out, MUTATION_VERSION);
    buf_put(out, mutation->table.b, sizeof mutation->table.b);
    buf_put_vint(out, mutation->epoch);
    buf_put_sized(out, mutation->key);
    buf_put_u8(out, (uint8_t)((has_deletion ? HAS_DELETION : 0) |
                              (mutation->ranges_count ? HAS_RANGES : 0)));
    if (has_deletion)
        deletion_encode(mutation->deletion, out);
    if (mutation->ranges_count)
        buf_put_vint(out, mutation->ranges_count);
    for (size_t i = 0; i < mutation->ranges_count; i++)
        range_encode(&mutation->ranges[i], out);
    buf_put_vint(out, mutation->rows_count);
    for (size_t i = 0; i < mutation->rows_count; i++)
        row_encode(&mutation->rows[i], out);
}

static enum err take_head(struct cursor *c, struct mutation *out)
{
    *out = (struct mutation){ .deletion = deletion_none() };
    uint8_t version = cursor_u8(c);
    if (!c->bad && version > MUTATION_VERSION)
        return ERR_NEWER;
    struct bytes id = cursor_bytes(c, sizeof out->table.b);
    out->epoch = cursor_vint(c);
    out->key = cursor_sized(c);
    if (c->bad || version != MUTATION_VERSION || out->key.size == 0 ||
        out->key.size > KEY_BYTES_MAX)
        return ERR_CORRUPT;
    ensure(id.data != NULL);
    memcpy(out->table.b, id.data, id.size);
    out->token = key_token(out->key);
    return OK;
}

enum err mutation_peek(struct bytes encoded, struct mutation *out)
{
    struct cursor c = cursor_of(encoded);
    return take_head(&c, out);
}

static void take_ranges(struct cursor *c, const struct table *table, struct arena *arena,
                        struct mutation *out)
{
    size_t count = cursor_count(c, RANGE_BYTES_LEAST);
    c->bad |= count == 0;
    if (c->bad)
        return;
    out->ranges = arena_alloc(arena, sizeof *out->ranges * count);
    for (; out->ranges_count < count && !c->bad; out->ranges_count++)
        range_decode(c, table, arena, &out->ranges[out->ranges_count]);
}

enum err mutation_decode(struct bytes encoded, const struct table *table, struct arena *arena,
                         struct mutation *out)
{
    struct cursor c = cursor_of(encoded);
    enum err err = take_head(&c, out);
    if (err != OK)
        return err;
    if (!uuid_equal(&out->table, &table->id) || key_validate(table, out->key) != OK)
        return ERR_CORRUPT;
    uint8_t flags = cursor_u8(&c);
    if (flags & HAS_DELETION)
        out->deletion = deletion_decode(&c);
    if (flags & HAS_RANGES)
        take_ranges(&c, table, arena, out);
    size_t count = cursor_count(&c, ROW_BYTES_LEAST);
    if (c.bad || flags & ~(HAS_DELETION | HAS_RANGES))
        return ERR_CORRUPT;
    struct row_space space = { .arena = arena };
    out->rows = arena_alloc(arena, sizeof *out->rows * count);
    for (; out->rows_count < count && !c.bad; out->rows_count++)
        row_decode(&c, table, &space, &out->rows[out->rows_count]);
    return c.bad || cursor_left(&c) ? ERR_CORRUPT : OK;
}
