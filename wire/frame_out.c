/* frame_out.c - envelopes into one buffer, and that buffer into what is sent.
 *
 *     raw:     [ plain envelopes | envelope | envelope | ... ]
 *                    as they are   \_ v5: whole ones share outer frames, a large one is cut into a
 *                                     run of frames that are not self-contained
 *
 * Invariants: 1. Between wire_begin and wire_end nothing else is begun.  2. From wire_out_bytes to
 * wire_out_sent nothing is begun, so what was handed out does not move.  3. Outside of these, raw
 * is a row of whole envelopes, so it can be walked by their lengths.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/lz4.h"
#include "wire/frame.h"
#include "wire/segment.h"

enum { KEEP_BYTES = 64 * 1024 }; /* a larger buffer is not kept for the next turn */

void wire_out_init(struct wire_out *out, bool is_server, uint8_t version)
{
    *out = (struct wire_out){ .is_server = is_server, .version = version };
}

void wire_out_deinit(struct wire_out *out)
{
    buf_deinit(&out->raw);
    buf_deinit(&out->framed);
}

void wire_out_framed(struct wire_out *out)
{
    ensure(!out->is_begun && !out->is_rendered);
    out->is_framed = true;
    out->plain_bytes = out->raw.size;
}

static bool has_short_header(const struct wire_out *out) { return out->version < 3; }

struct buf *wire_begin(struct wire_out *out, uint8_t flags, int16_t stream, enum opcode opcode)
{
    ensure(!out->is_begun && !out->is_rendered);
    out->is_begun = true;
    out->begun_at = out->raw.size;
    uint8_t *at = buf_take(&out->raw, WIRE_HEADER_BYTES - has_short_header(out));
    *at++ = out->version | (out->is_server ? 0x80 : 0);
    *at++ = flags;
    if (!has_short_header(out))
        *at++ = (uint8_t)((uint16_t)stream >> 8);
    *at++ = (uint8_t)stream;
    *at++ = (uint8_t)opcode;
    put_be32(at, 0);
    return &out->raw;
}

/* v4: the body becomes its unpacked length and one LZ4 block, when that is shorter. */
static void body_pack(struct wire_out *out, size_t body_at)
{
    struct bytes body = bytes_of(out->raw.data + body_at, out->raw.size - body_at);
    buf_clear(&out->framed);
    buf_put_be32(&out->framed, (uint32_t)body.size);
    (void)lz4_pack(body, &out->framed);
    if (out->framed.size >= body.size)
        return;
    memcpy(out->raw.data + body_at, out->framed.data, out->framed.size);
    out->raw.size = body_at + out->framed.size;
    out->raw.data[out->begun_at + 1] |= WIRE_COMPRESSED;
}

void wire_end(struct wire_out *out)
{
    ensure(out->is_begun);
    size_t body_at = out->begun_at + WIRE_HEADER_BYTES - has_short_header(out);
    ensure(out->raw.size >= body_at && out->raw.size - body_at <= INT32_MAX);
    if (out->is_lz4 && out->version < WIRE_V5 && out->raw.size > body_at)
        body_pack(out, body_at);
    put_be32(out->raw.data + body_at - 4, (uint32_t)(out->raw.size - body_at));
    out->is_begun = false;
}

void wire_warn(struct wire_out *out, struct bytes text)
{
    size_t body_at = out->begun_at + WIRE_HEADER_BYTES - has_short_header(out);
    ensure(out->is_begun && text.size <= UINT16_MAX);
    ensure(!(out->raw.data[out->begun_at + 1] & WIRE_WARNING));
    size_t body_bytes = out->raw.size - body_at, list_bytes = 4 + text.size;
    buf_take(&out->raw, list_bytes);
    uint8_t *at = out->raw.data + body_at;
    memmove(at + list_bytes, at, body_bytes);
    put_be16(at, 1);
    put_be16(at + 2, (uint16_t)text.size);
    memcpy(at + 4, text.data, text.size);
    out->raw.data[out->begun_at + 1] |= WIRE_WARNING;
}

void wire_pay(struct wire_out *out, const char *key, struct bytes value)
{
    ensure(out->is_begun && out->version >= WIRE_V4);
    ensure(out->raw.size == out->begun_at + WIRE_HEADER_BYTES);
    buf_put_be16(&out->raw, 1);
    wire_put_string(&out->raw, bytes_text(key));
    wire_put_bytes(&out->raw, value);
    out->raw.data[out->begun_at + 1] |= WIRE_PAYLOAD;
}

void wire_abandon(struct wire_out *out)
{
    ensure(out->is_begun);
    out->raw.size = out->begun_at;
    out->is_begun = false;
}

static size_t envelope_bytes(struct bytes raw, size_t at)
{
    ensure(raw.size - at >= WIRE_HEADER_BYTES);
    return WIRE_HEADER_BYTES + (size_t)get_be32(raw.data + at + 5);
}

/* Where the envelopes end that begin at `at` and fit into one frame together: `at` when the first
 * alone does not. */
static size_t frame_end(struct bytes raw, size_t at)
{
    size_t end = at;
    while (end < raw.size) {
        size_t bytes = envelope_bytes(raw, end);
        if (end - at + bytes > WIRE_SEGMENT_BYTES_MAX)
            break;
        end += bytes;
    }
    return end;
}

static void run_put(struct wire_out *out, struct bytes envelope)
{
    for (size_t at = 0; at < envelope.size;) {
        size_t bytes = u64_min(envelope.size - at, WIRE_SEGMENT_BYTES_MAX);
        segment_put(&out->framed, out->is_lz4, false, bytes_of(envelope.data + at, bytes));
        at += bytes;
    }
}

static void frames_put(struct wire_out *out)
{
    struct bytes raw = buf_bytes(&out->raw);
    buf_clear(&out->framed);
    buf_put(&out->framed, raw.data, out->plain_bytes);
    for (size_t at = out->plain_bytes; at < raw.size;) {
        size_t end = frame_end(raw, at);
        struct bytes whole = bytes_of(raw.data + at, end - at);
        if (whole.size) {
            segment_put(&out->framed, out->is_lz4, true, whole);
        } else {
            end = at + envelope_bytes(raw, at);
            run_put(out, bytes_of(raw.data + at, end - at));
        }
        at = end;
    }
}

struct bytes wire_out_bytes(struct wire_out *out)
{
    ensure(!out->is_begun);
    if (!out->is_rendered && out->is_framed)
        frames_put(out);
    out->is_rendered = out->raw.size > 0;
    return buf_bytes(out->is_framed ? &out->framed : &out->raw);
}

static void settle(struct buf *b)
{
    buf_clear(b);
    if (b->room > KEEP_BYTES)
        buf_deinit(b);
}

void wire_out_sent(struct wire_out *out)
{
    ensure(!out->is_begun);
    settle(&out->raw);
    settle(&out->framed);
    out->plain_bytes = 0;
    out->is_rendered = false;
}
