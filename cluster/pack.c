/* pack.c - msgpack: the library's packer writes, a strict reader of ours reads.
 *
 *     first byte    0x00-0x7f  a small number      0x90-0x9f  an array of 0..15
 *                   0xe0-0xff  -32..-1             0xa0-0xbf  text of 0..31
 *                   0xc0 nil   0xc2 0xc3 false true
 *                   0xc4-0xc6  bin 8/16/32         0xd9-0xdb  str 8/16/32
 *                   0xcc-0xcf  u8 .. u64           0xd0-0xd3  i8 .. i64      0xdc 0xdd array 16/32
 *
 * What is not in the picture (maps, floats, extensions) is never written and makes a reader bad.
 *
 * Invariant: a reader never looks past the cursor's end and never allocates.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/pack.h"

#include <msgpack.h>

/* ---- writing ---- */

static int pack_write(void *data, const char *bytes, size_t size)
{
    buf_put(data, bytes, size);
    return 0;
}

static msgpack_packer packer_of(struct buf *out)
{
    msgpack_packer packer;
    msgpack_packer_init(&packer, out, pack_write);
    return packer;
}

void pack_array(struct buf *out, size_t count)
{
    msgpack_packer p = packer_of(out);
    msgpack_pack_array(&p, count);
}

void pack_u64(struct buf *out, uint64_t v)
{
    msgpack_packer p = packer_of(out);
    msgpack_pack_uint64(&p, v);
}

void pack_i64(struct buf *out, int64_t v)
{
    msgpack_packer p = packer_of(out);
    msgpack_pack_int64(&p, v);
}

void pack_bool(struct buf *out, bool v)
{
    msgpack_packer p = packer_of(out);
    if (v)
        msgpack_pack_true(&p);
    else
        msgpack_pack_false(&p);
}

void pack_nil(struct buf *out)
{
    msgpack_packer p = packer_of(out);
    msgpack_pack_nil(&p);
}

void pack_bytes(struct buf *out, struct bytes v)
{
    msgpack_packer p = packer_of(out);
    msgpack_pack_bin(&p, v.size);
    buf_put_bytes(out, v);
}

void pack_text(struct buf *out, const char *text)
{
    msgpack_packer p = packer_of(out);
    msgpack_pack_str(&p, strlen(text));
    buf_put_text(out, text);
}

void pack_uuid(struct buf *out, const struct uuid *id) { pack_bytes(out, bytes_of(id->b, 16)); }

void pack_addr(struct buf *out, const struct io_addr *addr)
{
    ensure(addr->family == 0 || addr->family == 4 || addr->family == 6);
    size_t size = addr->family == 6 ? 16 : addr->family;
    pack_array(out, 2);
    pack_bytes(out, bytes_of(addr->ip, size));
    pack_u64(out, addr->port);
}

/* ---- reading ---- */

/* n bytes, 1 to 8, as a big-endian number. */
static uint64_t read_number(struct cursor *c, size_t n)
{
    struct bytes b = cursor_bytes(c, n);
    uint64_t v = 0;
    for (size_t i = 0; i < b.size; i++)
        v = v << 8 | b.data[i];
    return v;
}

static uint64_t read_bad(struct cursor *c)
{
    c->bad = true;
    return 0;
}

uint64_t unpack_u64(struct cursor *c)
{
    uint8_t first = cursor_u8(c);
    if (first < 0x80)
        return first;
    if (first >= 0xcc && first <= 0xcf)
        return read_number(c, (size_t)1 << (first - 0xcc));
    return read_bad(c);
}

uint64_t unpack_u64_max(struct cursor *c, uint64_t most)
{
    uint64_t v = unpack_u64(c);
    return v > most ? read_bad(c) : v;
}

int64_t unpack_i64(struct cursor *c)
{
    uint8_t first = c->bad || cursor_left(c) == 0 ? 0 : *c->at;
    if (first >= 0xe0) {
        cursor_u8(c);
        return (int8_t)first;
    }
    if (first >= 0xd0 && first <= 0xd3) {
        cursor_u8(c);
        size_t size = (size_t)1 << (first - 0xd0);
        unsigned shift = (unsigned)(64 - 8 * size);
        return (int64_t)(read_number(c, size) << shift) >> shift;
    }
    return (int64_t)unpack_u64_max(c, INT64_MAX);
}

bool unpack_bool(struct cursor *c)
{
    uint8_t first = cursor_u8(c);
    if (first != 0xc2 && first != 0xc3)
        c->bad = true;
    return first == 0xc3;
}

bool unpack_nil(struct cursor *c)
{
    bool is_nil = !c->bad && cursor_left(c) > 0 && *c->at == 0xc0;
    if (is_nil)
        cursor_u8(c);
    return is_nil;
}

static size_t read_array(struct cursor *c)
{
    uint8_t first = cursor_u8(c);
    if (first >= 0x90 && first <= 0x9f)
        return first & 0x0f;
    if (first == 0xdc)
        return read_number(c, 2);
    if (first == 0xdd)
        return read_number(c, 4);
    return read_bad(c);
}

void unpack_array(struct cursor *c, size_t count)
{
    if (read_array(c) != count)
        c->bad = true;
}

size_t unpack_count(struct cursor *c, size_t most)
{
    size_t count = read_array(c);
    if (count > most || count > cursor_left(c))
        return read_bad(c);
    return count;
}

struct bytes unpack_bytes(struct cursor *c)
{
    uint8_t first = cursor_u8(c);
    size_t size = 0;
    if (first >= 0xa0 && first <= 0xbf)
        size = first & 0x1f;
    else if (first >= 0xc4 && first <= 0xc6)
        size = read_number(c, (size_t)1 << (first - 0xc4));
    else if (first >= 0xd9 && first <= 0xdb)
        size = read_number(c, (size_t)1 << (first - 0xd9));
    else
        c->bad = true;
    return cursor_bytes(c, size);
}

void unpack_text(struct cursor *c, char *out, size_t room)
{
    struct bytes b = unpack_bytes(c);
    ensure(room > 0);
    out[0] = 0;
    if (b.size >= room || (b.size && memchr(b.data, 0, b.size))) {
        c->bad = true;
        return;
    }
    if (b.size)
        memcpy(out, b.data, b.size);
    out[b.size] = 0;
}

void unpack_uuid(struct cursor *c, struct uuid *out)
{
    struct bytes b = unpack_bytes(c);
    *out = (struct uuid){ { 0 } };
    if (b.size == sizeof out->b)
        memcpy(out->b, b.data, b.size);
    else
        c->bad = true;
}

void unpack_addr(struct cursor *c, struct io_addr *out)
{
    *out = (struct io_addr){ 0 };
    unpack_array(c, 2);
    struct bytes ip = unpack_bytes(c);
    if (ip.size != 0 && ip.size != 4 && ip.size != 16)
        c->bad = true;
    else if (ip.size)
        memcpy(out->ip, ip.data, ip.size);
    out->family = ip.size == 16 ? 6 : ip.size == 4 ? 4 : 0;
    out->port = (uint16_t)unpack_u64_max(c, UINT16_MAX);
}
