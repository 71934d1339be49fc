/* index.c - Index.db, read: entries, column indexes, and single blocks of them.
 *
 *     entry          be16 size | key | vint place | vint bytes | column index
 *     column index   vint header | deletion | vint blocks | block ... | be32 offset ...
 *     block          prefix | prefix | vint offset | signed vint width | bool | [deletion]
 *     prefix         kind | values of a row;  or kind | be16 count | values of a bound
 *
 * Nothing here holds more than one of these in memory.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/index.h"

#include "sstable/unfiltered_inside.h"

enum { TWO_VINTS_MAX = 18, OFFSET_BYTES = 4, BLOCK_BYTES_LEAST = 5 };
/* A block has two prefixes and some numbers. */
enum { BLOCK_BYTES_MAX = 2 * (16 + KEY_COLUMNS_MAX * (65535 + 3)) + 64, WANTED_LEAST = 128 };

enum err index_entry_decode(struct bytes window, struct index_entry *out, size_t *wanted)
{
    struct cursor c = cursor_of(window);
    size_t size = cursor_be16(&c);
    out->key = cursor_bytes(&c, size);
    out->place = take_vint(&c);
    uint64_t bytes = take_vint(&c);
    if (c.bad) {
        *wanted = u64_max(2 + size + 2, window.size + 1);
        return window.size < 2 + size + TWO_VINTS_MAX ? ERR_WOULD_WAIT : ERR_CORRUPT;
    }
    if (bytes > INT32_MAX)
        return ERR_CORRUPT;
    out->column_index_bytes = (uint32_t)bytes;
    out->head_bytes = (size_t)(c.at - window.data);
    out->size_bytes = out->head_bytes + bytes;
    return OK;
}

size_t index_entries_pass(struct bytes window, struct bytes key, uint32_t *count)
{
    size_t at = 0;
    while (window.size - at >= 2) {
        const uint8_t *entry = window.data + at;
        size_t size = get_be16(entry), left = window.size - at;
        if (left < 2 + size + TWO_VINTS_MAX)
            break;
        bool may_be_it = size == key.size && (size == 0 || entry[1 + size] == key.data[size - 1]);
        if (may_be_it && bytes_equal(bytes_of(entry + 2, size), key))
            break;
        const uint8_t *place = entry + 2 + size;
        size_t more = *place < 0x80 ? 0 : (size_t)__builtin_clz(~((unsigned)*place << 24) | 1);
        if (place[1 + more] != 0) /* a column index */
            break;
        at += 2 + size + 1 + more + 1;
        ++*count;
    }
    return at;
}

enum err column_index_decode(enum sstable_version version, struct bytes window, uint32_t bytes,
                             struct column_index *out)
{
    struct cursor c = cursor_of(window);
    out->header_bytes = take_vint(&c);
    if (!full_deletion_decode(version, &c, &out->deletion))
        return ERR_CORRUPT;
    uint64_t count = take_vint(&c);
    out->blocks_at = (uint64_t)(c.at - window.data);
    if (c.bad || count == 0 || count > bytes / (BLOCK_BYTES_LEAST + OFFSET_BYTES) ||
        out->blocks_at + count * (BLOCK_BYTES_LEAST + OFFSET_BYTES) > bytes)
        return ERR_CORRUPT;
    out->blocks_count = (uint32_t)count;
    out->offsets_at = bytes - count * OFFSET_BYTES;
    return OK;
}

static enum err key_read(const struct layout *layout, struct cursor *c, struct arena *arena,
                         struct bytes *key)
{
    struct row_space space = { .arena = arena };
    struct prefix prefix;
    uint8_t kind = cursor_u8(c);
    size_t count = layout->clustering_count;
    if (!c->bad && kind != CLUSTERING) {
        count = cursor_be16(c);
        if (!c->bad && (!bound_kind_is_known(kind) || count > layout->clustering_count))
            return ERR_CORRUPT;
    }
    if (c->bad)
        return ERR_WOULD_WAIT;
    enum err err = prefix_read(layout, c, kind, count, &space, &prefix);
    *key = prefix.key;
    return err;
}

static enum err block_read(const struct layout *layout, struct cursor *c, struct arena *arena,
                           struct index_block *out)
{
    enum err err = key_read(layout, c, arena, &out->first);
    if (err == OK)
        err = key_read(layout, c, arena, &out->last);
    if (err != OK)
        return err;
    out->offset = take_vint(c);
    int64_t width = cursor_signed_vint(c);
    bool is_open = cursor_u8(c) != 0;
    out->open = deletion_none();
    if (c->bad)
        return ERR_WOULD_WAIT;
    struct cursor peek = *c;
    if (is_open && !full_deletion_decode(layout->version, c, &out->open))
        return cursor_left(&peek) < 12 ? ERR_WOULD_WAIT : ERR_CORRUPT;
    if (width < -COLUMN_INDEX_BASE_BYTES || width > INT64_MAX / 2 || out->offset > INT64_MAX / 2)
        return ERR_CORRUPT;
    out->width = (uint64_t)(width + COLUMN_INDEX_BASE_BYTES);
    return OK;
}

enum err index_block_decode(const struct layout *layout, struct bytes window, struct arena *arena,
                            struct index_block *out, size_t *wanted)
{
    struct cursor c = cursor_of(window);
    enum err err = block_read(layout, &c, arena, out);
    if (err != ERR_WOULD_WAIT)
        return err;
    if (window.size >= BLOCK_BYTES_MAX)
        return ERR_CORRUPT;
    *wanted = u64_min(u64_max(2 * window.size, WANTED_LEAST), BLOCK_BYTES_MAX);
    return ERR_WOULD_WAIT;
}
