/* buf.h - bytes that grow, and a cursor that reads them and cannot run over the end.
 *
 * A buf either owns heap memory (arena == NULL; buf_deinit frees it) or lives in an arena (growing
 * leaves the old copy to the arena).  All integers are big-endian unless the name says le.
 *
 * A cursor fails once and stays failed: after a series of reads ask `bad`.  Reads after a failure
 * give zeros and empty slices, so a decoder needs one check, at its end and before it trusts a
 * count.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct arena;

struct buf {
    uint8_t *data;
    size_t size, room;
    struct arena *arena;
};

static inline struct buf buf_in(struct arena *arena) { return (struct buf){ .arena = arena }; }
void buf_deinit(struct buf *);
static inline void buf_clear(struct buf *b) { b->size = 0; }
static inline struct bytes buf_bytes(const struct buf *b) { return bytes_of(b->data, b->size); }

void buf_grow(struct buf *, size_t more); /* room for `more` further bytes */
/* Room for n bytes at the end, counted in; the caller fills it before the next buf call. */
static inline uint8_t *buf_take(struct buf *b, size_t n)
{
    if (b->room - b->size < n)
        buf_grow(b, n);
    uint8_t *at = b->data + b->size;
    b->size += n;
    return at;
}
static inline void buf_put(struct buf *b, const void *data, size_t n)
{
    if (n)
        memcpy(buf_take(b, n), data, n);
}
static inline void buf_put_bytes(struct buf *b, struct bytes v) { buf_put(b, v.data, v.size); }
static inline void buf_put_text(struct buf *b, const char *text) { buf_put(b, text, strlen(text)); }
void buf_printf(struct buf *, const char *format, ...) printf_like(2, 3);

static inline void put_be16(uint8_t *p, uint16_t v)
{
    v = __builtin_bswap16(v);
    memcpy(p, &v, sizeof v);
}
static inline void put_be32(uint8_t *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof v);
}
static inline void put_be64(uint8_t *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, sizeof v);
}
static inline uint16_t get_be16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap16(v);
}
static inline uint32_t get_be32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}
static inline uint64_t get_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}

static inline void buf_put_u8(struct buf *b, uint8_t v) { *buf_take(b, 1) = v; }
static inline void buf_put_be16(struct buf *b, uint16_t v) { put_be16(buf_take(b, 2), v); }
static inline void buf_put_be32(struct buf *b, uint32_t v) { put_be32(buf_take(b, 4), v); }
static inline void buf_put_be64(struct buf *b, uint64_t v) { put_be64(buf_take(b, 8), v); }
/* Cassandra's unsigned vint: the count of leading one bits of the first byte is the count of bytes
 * that follow (facts: protocol 2.2).  What stands behind the buffer's size may change. */
enum { VINT_BYTES_MAX = 9 };
void buf_put_vint(struct buf *, uint64_t);
/* The same after zigzag, for signed numbers. */
void buf_put_signed_vint(struct buf *, int64_t);
/* A vint length, then the bytes. */
void buf_put_sized(struct buf *, struct bytes);
size_t vint_size(uint64_t); /* 1..9 */

struct cursor {
    const uint8_t *at, *end;
    bool bad;
};
static inline struct cursor cursor_of(struct bytes b)
{
    return (struct cursor){ b.data, b.data ? b.data + b.size : NULL, false };
}
static inline size_t cursor_left(const struct cursor *c) { return (size_t)(c->end - c->at); }
/* The next n bytes, borrowed from the input; an empty slice and `bad` when there are fewer. */
static inline struct bytes cursor_bytes(struct cursor *c, size_t n)
{
    if (c->bad || cursor_left(c) < n) {
        c->bad = true;
        return (struct bytes){ 0 };
    }
    struct bytes b = { c->at, n };
    if (n)
        c->at += n;
    return b;
}
static inline uint8_t cursor_u8(struct cursor *c)
{
    struct bytes b = cursor_bytes(c, 1);
    return b.data ? b.data[0] : 0;
}
static inline uint16_t cursor_be16(struct cursor *c)
{
    struct bytes b = cursor_bytes(c, 2);
    return b.data ? get_be16(b.data) : 0;
}
static inline uint32_t cursor_be32(struct cursor *c)
{
    struct bytes b = cursor_bytes(c, 4);
    return b.data ? get_be32(b.data) : 0;
}
static inline uint64_t cursor_be64(struct cursor *c)
{
    struct bytes b = cursor_bytes(c, 8);
    return b.data ? get_be64(b.data) : 0;
}
uint64_t cursor_long_vint(struct cursor *);
static inline uint64_t cursor_vint(struct cursor *c)
{
    return !c->bad && c->at < c->end && *c->at < 0x80 ? *c->at++ : cursor_long_vint(c);
}
int64_t cursor_signed_vint(struct cursor *);
/* A vint length, then that many bytes. */
struct bytes cursor_sized(struct cursor *);
/* A vint count of things that each take at least `least` (>= 1) bytes: a count that cannot fit in
 * what is left is bad, so nobody allocates for a lying count. */
size_t cursor_count(struct cursor *, size_t least);
