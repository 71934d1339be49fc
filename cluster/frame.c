/* frame.c - encoding and decoding one frame; pure.
 *
 * The length is checked before anything is awaited, the checksum before anything is understood, and
 * the size that an LZ4 block claims before memory is taken for it.
 *
 * Invariants: 1. decode borrows, it copies nothing.  2. What encode writes, decode reads back.
 * Error numbers travel as they are in base/err.h; a number that this version does not know reads as
 * ERR_PROTOCOL.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/frame.h"

#include "base/hash.h"
#include "base/lz4.h"
#include "cluster/pack.h"

enum { REQUEST_FIELDS = 6, ANSWER_FIELDS = 4 };

static void head_encode(struct buf *out, const struct frame *f, size_t unpacked_size)
{
    pack_array(out, f->is_answer ? ANSWER_FIELDS : REQUEST_FIELDS);
    if (f->is_answer) {
        pack_nil(out);
        pack_u64(out, f->id);
        pack_u64(out, (uint64_t)f->err);
    } else {
        pack_u64(out, f->verb);
        pack_u64(out, f->id);
        pack_u64(out, f->epoch);
        pack_u64(out, f->budget_us);
        if (f->has_token)
            pack_i64(out, f->token);
        else
            pack_nil(out);
    }
    pack_u64(out, unpacked_size);
}

/* The body as an LZ4 block; false, and nothing was appended, when that saves nothing. */
static bool packed_encode(struct buf *out, const struct frame *f, struct bytes body)
{
    size_t start = out->size;
    head_encode(out, f, body.size);
    size_t packed = lz4_pack(body, out);
    if (packed < body.size)
        return true;
    out->size = start;
    return false;
}

void frame_encode(struct buf *out, const struct frame *f, struct bytes body)
{
    ensure(body.size <= CLUSTER_BODY_BYTES_MAX);
    size_t start = out->size;
    buf_take(out, FRAME_PREFIX_BYTES);
    if (body.size <= FRAME_LZ4_FROM_BYTES || !packed_encode(out, f, body)) {
        head_encode(out, f, 0);
        buf_put_bytes(out, body);
    }
    uint8_t *prefix = out->data + start;
    struct bytes rest =
        bytes_of(prefix + FRAME_PREFIX_BYTES, out->size - start - FRAME_PREFIX_BYTES);
    ensure(rest.size <= FRAME_BYTES_MAX);
    put_be32(prefix, (uint32_t)rest.size);
    put_be32(prefix + 4, crc32c_of(0, rest));
    put_be32(prefix + 8, crc32c_of(0, bytes_of(prefix, 8)));
}

static void request_decode(struct cursor *c, struct frame *f)
{
    f->verb = (unsigned)unpack_u64_max(c, UINT32_MAX);
    f->id = unpack_u64(c);
    f->epoch = unpack_u64(c);
    f->budget_us = unpack_u64(c);
    f->has_token = !unpack_nil(c);
    if (f->has_token)
        f->token = unpack_i64(c);
}

static void answer_decode(struct cursor *c, struct frame *f)
{
    f->id = unpack_u64(c);
    uint64_t err = unpack_u64(c);
    f->err = err < ERR_COUNT ? (enum err)err : ERR_PROTOCOL;
}

static enum err head_decode(struct bytes rest, struct frame *f)
{
    struct cursor c = cursor_of(rest);
    *f = (struct frame){ 0 };
    size_t fields = unpack_count(&c, REQUEST_FIELDS);
    f->is_answer = fields == ANSWER_FIELDS && unpack_nil(&c);
    if (f->is_answer)
        answer_decode(&c, f);
    else if (fields == REQUEST_FIELDS)
        request_decode(&c, f);
    else
        c.bad = true;
    f->unpacked_size = unpack_u64_max(&c, CLUSTER_BODY_BYTES_MAX);
    f->body = cursor_bytes(&c, cursor_left(&c));
    return c.bad || f->body.size > CLUSTER_BODY_BYTES_MAX ? ERR_CORRUPT : OK;
}

enum err frame_decode(struct bytes in, size_t bytes_max, struct frame *out, size_t *used)
{
    ensure(bytes_max <= FRAME_BYTES_MAX);
    *used = FRAME_PREFIX_BYTES;
    if (in.size < FRAME_PREFIX_BYTES)
        return ERR_WOULD_WAIT;
    if (crc32c_of(0, bytes_of(in.data, 8)) != get_be32(in.data + 8))
        return ERR_CORRUPT;
    size_t length = get_be32(in.data);
    if (length > bytes_max)
        return ERR_LIMIT;
    *used = FRAME_PREFIX_BYTES + length;
    if (in.size < *used)
        return ERR_WOULD_WAIT;
    struct bytes rest = bytes_of(in.data + FRAME_PREFIX_BYTES, length);
    if (crc32c_of(0, rest) != get_be32(in.data + 4))
        return ERR_CORRUPT;
    return head_decode(rest, out);
}

enum err frame_body(const struct frame *f, struct arena *arena, struct bytes *out)
{
    if (f->unpacked_size == 0) {
        *out = arena_copy(arena, f->body);
        return OK;
    }
    ensure(f->unpacked_size <= CLUSTER_BODY_BYTES_MAX);
    uint8_t *to = arena_alloc(arena, f->unpacked_size);
    *out = bytes_of(to, f->unpacked_size);
    return lz4_unpack(f->body, to, f->unpacked_size);
}
