/* buf.c - growing a buffer, and Cassandra's variable-length integers.
 *
 * A vint's first byte says in its leading one bits how many bytes follow; what is left of it are
 * the highest bits of the value, the rest follows big-endian:
 *
 *     0xxxxxxx                      7 bits        10xxxxxx +1     14 bits
 *     110xxxxx +2                  21 bits   ...  11111111 +8     64 bits
 *
 * Only the shortest form is written; longer forms are read, as Cassandra reads them.
 *
 * Growing doubles, so that appending n bytes costs O(n).  In an arena the newest piece grows where
 * it stands; otherwise the old copy is left to the arena.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include "base/arena.h"
#include "base/mem.h"

#include <stdarg.h>

enum { LEAST_ROOM_BYTES = 64 };

void buf_deinit(struct buf *b)
{
    if (!b->arena)
        mem_free(b->data);
    *b = buf_in(b->arena);
}

void buf_grow(struct buf *b, size_t more)
{
    ensure(b->size <= b->room);
    if (more > SIZE_MAX / 4 || b->room > SIZE_MAX / 4)
        fail_memory(more);
    if (b->data && b->room - b->size >= more)
        return;
    size_t room = u64_max(u64_max(b->room * 2, b->size + more), LEAST_ROOM_BYTES);
    if (!b->arena) {
        b->data = mem_resize(b->data, room);
    } else if (!arena_extend(b->arena, b->data, b->room, room - b->room)) {
        uint8_t *data = arena_alloc(b->arena, room);
        if (b->data)
            memcpy(data, b->data, b->size);
        b->data = data;
    }
    b->room = room;
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    size_t left = b->room - b->size;
    int size = vsnprintf(left ? (char *)b->data + b->size : NULL, left, format, list);
    va_end(list);
    ensure(size >= 0);
    if ((size_t)size >= left) {
        buf_grow(b, (size_t)size + 1);
        vsnprintf((char *)b->data + b->size, (size_t)size + 1, format, again);
    }
    va_end(again);
    b->size += (size_t)size;
}

size_t vint_size(uint64_t v)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1);
    return bits > 56 ? 9 : (bits + 6) / 7;
}

void buf_put_vint(struct buf *b, uint64_t v)
{
    if (v < 0x80) {
        buf_put_u8(b, (uint8_t)v);
        return;
    }
    size_t size = vint_size(v);
    ensure(size >= 2 && size <= 9);
    if (b->room - b->size < VINT_BYTES_MAX)
        buf_grow(b, VINT_BYTES_MAX);
    uint8_t *at = b->data + b->size; /* eight bytes at once; what is beyond the size is room */
    b->size += size;
    if (size < 9)
        put_be64(at, (v << (64 - 8 * size)) | UINT64_C(0xff00) >> (size - 1) << 56);
    else
        *at = 0xff, put_be64(at + 1, v);
}

void buf_put_signed_vint(struct buf *b, int64_t v)
{
    buf_put_vint(b, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
}

void buf_put_sized(struct buf *b, struct bytes v)
{
    buf_put_vint(b, v.size);
    buf_put_bytes(b, v);
}

uint64_t cursor_long_vint(struct cursor *c)
{
    unsigned first = cursor_u8(c);
    if (first < 0x80)
        return first;
    unsigned more = (unsigned)__builtin_clz(~(first << 24) | 1);
    struct bytes rest = cursor_bytes(c, more);
    uint64_t v = first & (0xffu >> more);
    for (size_t i = 0; i < rest.size; i++)
        v = v << 8 | rest.data[i];
    return c->bad ? 0 : v;
}

int64_t cursor_signed_vint(struct cursor *c)
{
    uint64_t v = cursor_vint(c);
    return (int64_t)((v >> 1) ^ (v & 1 ? UINT64_MAX : 0));
}

struct bytes cursor_sized(struct cursor *c)
{
    uint64_t size = cursor_vint(c);
    return cursor_bytes(c, size);
}

size_t cursor_count(struct cursor *c, size_t least)
{
    ensure(least > 0);
    uint64_t count = cursor_vint(c);
    if (c->bad || count > cursor_left(c) / least) {
        c->bad = true;
        return 0;
    }
    return count;
}
