/* unfiltered_prefix.c - what stands at the begin of an unfiltered: flags, and where in clustering
 * order it is.
 *
 *     row      flags [extension] | values
 *     marker   flags | kind | be16 count | values
 *
 * Values are read in place: their raw form is the file's own where no column is of fixed size and
 * none is empty or null (text, blob and the like), else it is put together in the space's room,
 * where the comparable key stands too.
 *
 * Values whose order needs them well-formed are validated before a key is made of them; text and
 * blobs are taken as they are, since checksums have covered them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/unfiltered_inside.h"

enum { GROUP = 32, VALUE_BYTES_MAX = 65535 };
enum { FLAG_EMPTY = 1, FLAG_NULL = 2 };

struct bytes only_row_key(void)
{
    static const uint8_t key[] = { 0x38 };
    return bytes_of(key, sizeof key);
}

static enum err ran_out(const struct cursor *c) { return c->bad ? ERR_WOULD_WAIT : OK; }

static enum err marker_start_read(const struct layout *layout, struct cursor *c,
                                  struct unfiltered_start *out)
{
    if (out->flags != IS_MARKER)
        return ERR_CORRUPT;
    out->kind = cursor_u8(c);
    out->count = cursor_be16(c);
    if (c->bad)
        return ERR_WOULD_WAIT;
    bool is_known = bound_kind_is_known(out->kind);
    return is_known && out->count <= layout->clustering_count ? OK : ERR_CORRUPT;
}

enum err start_read(const struct layout *layout, struct cursor *c, struct unfiltered_start *out)
{
    *out = (struct unfiltered_start){ .flags = cursor_u8(c), .kind = CLUSTERING };
    if (c->bad)
        return ERR_WOULD_WAIT;
    if (out->flags & END_OF_PARTITION)
        return out->flags == END_OF_PARTITION ? OK : ERR_CORRUPT;
    if (out->flags & IS_MARKER)
        return marker_start_read(layout, c, out);
    if (out->flags & HAS_EXTENSION)
        out->extension = cursor_u8(c);
    if (c->bad)
        return ERR_WOULD_WAIT;
    bool is_static = out->extension & EXTENSION_STATIC;
    out->count = is_static ? 0 : layout->clustering_count;
    if ((out->flags & (HAS_TTL | HAS_TIMESTAMP)) == HAS_TTL ||
        out->extension & ~(EXTENSION_STATIC | EXTENSION_SHADOWABLE) ||
        (is_static && layout->statics_count == 0))
        return ERR_CORRUPT;
    return OK;
}

/* Borrowed from the cursor's bytes; null and empty as comparable.h tells them apart. */
static enum err value_take(size_t fixed, uint64_t flags, struct cursor *c, struct bytes *out)
{
    *out = flags == FLAG_NULL ? (struct bytes){ 0 } : bytes_of("", 0);
    if (flags)
        return flags == (FLAG_EMPTY | FLAG_NULL) ? ERR_CORRUPT : OK;
    uint64_t size = fixed ? fixed : take_vint(c);
    if (size > VALUE_BYTES_MAX)
        return ERR_CORRUPT;
    *out = clustering_value(cursor_bytes(c, size));
    return ran_out(c);
}

static enum err values_take(const struct layout *layout, struct cursor *c, size_t count,
                            struct bytes *values)
{
    uint64_t head = 0;
    ensure(count <= layout->clustering_count && count <= KEY_COLUMNS_MAX);
    for (size_t i = 0; i < count; i++, head >>= 2) {
        if (i % GROUP == 0) {
            head = take_vint(c);
            if (c->bad)
                return ERR_WOULD_WAIT;
            if (count - i < GROUP && head >> 2 * (count - i))
                return ERR_CORRUPT;
        }
        enum err err =
            value_take(layout->clustering_fixed[i], head & (FLAG_EMPTY | FLAG_NULL), c, &values[i]);
        if (err != OK)
            return err;
    }
    return OK;
}

enum err prefix_skip(const struct layout *layout, struct cursor *c, size_t count)
{
    struct bytes values[KEY_COLUMNS_MAX];
    return values_take(layout, c, count, values);
}

static bool values_are_valid(const struct layout *layout, const struct bytes *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (layout->clustering_is_checked[i] && values[i].data &&
            type_validate(layout->clustering[i], values[i]) != OK)
            return false;
    return true;
}

static void key_put(const struct table *table, uint8_t kind, const struct bytes *values,
                    size_t count, struct buf *out)
{
    if (kind == CLUSTERING)
        comparable_key(table, values, out);
    else if (bound_is_above(kind))
        comparable_above(table, values, count, out);
    else
        comparable_below(table, values, count, out);
}

enum err prefix_read(const struct layout *layout, struct cursor *c, uint8_t kind, size_t count,
                     struct row_space *space, struct prefix *out)
{
    struct bytes values[KEY_COLUMNS_MAX];
    *out = (struct prefix){ .key = only_row_key() };
    if (kind == CLUSTERING && count == 0)
        return OK;
    const uint8_t *at = c->at;
    enum err err = values_take(layout, c, count, values);
    if (err != OK)
        return err;
    if (!values_are_valid(layout, values, count))
        return ERR_CORRUPT;
    struct buf own = buf_in(space->arena), *room = space->is_reused ? &space->key : &own;
    buf_clear(room);
    /* A head of 00: one group, nothing in it is empty or null. */
    bool is_in_place = layout->has_only_sized && count > 0 && count <= GROUP && at[0] == 0;
    for (size_t i = 0; i < count && !is_in_place; i++)
        clustering_put(room, values[i]);
    size_t raw_bytes = room->size;
    key_put(layout->table, kind, values, count, room);
    out->key = bytes_of(room->data + raw_bytes, room->size - raw_bytes);
    out->raw =
        is_in_place ? bytes_of(at + 1, (size_t)(c->at - at) - 1) : bytes_of(room->data, raw_bytes);
    return OK;
}
