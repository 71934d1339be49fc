/* segment.c - heads, tails and checksums of one outer frame; the picture is in segment.h.
 *
 * The head is handled as one little-endian number of 3 or 5 bytes.  A payload whose packed form is
 * not shorter travels as it is, with an unpacked length of 0.
 */
// SPDX-License-Identifier: Apache-2.0
#include "wire/segment.h"

#include "base/hash.h"
#include "base/lz4.h"
#include "wire/protocol.h"

enum { LENGTH_BITS = 17, CRC24_BYTES = 3 };
static const uint32_t crc32_seeded = 0x44777ed3; /* of the bytes FA 2D 55 CA */

static void put_le(uint8_t *at, uint64_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_le(const uint8_t *at, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = bytes; i-- > 0;)
        v = v << 8 | at[i];
    return v;
}

bool segment_parse(const uint8_t *at, bool is_lz4, struct segment *out)
{
    size_t bytes = segment_head_bytes(is_lz4) - CRC24_BYTES;
    if (crc24_of(bytes_of(at, bytes)) != get_le(at + bytes, CRC24_BYTES))
        return false;
    uint64_t head = get_le(at, bytes);
    *out = (struct segment){ .wire_bytes = (uint32_t)head & WIRE_SEGMENT_BYTES_MAX };
    if (is_lz4)
        out->raw_bytes = (uint32_t)(head >> LENGTH_BITS) & WIRE_SEGMENT_BYTES_MAX;
    out->is_self_contained = head >> (is_lz4 ? 2 * LENGTH_BITS : LENGTH_BITS) & 1;
    return true;
}

bool segment_holds(struct bytes payload)
{
    return crc32_of(crc32_seeded, payload) == get_le(payload.data + payload.size, 4);
}

/* Appends the packed payload; 0 and nothing appended when that is not shorter. */
static uint32_t pack(struct buf *out, struct bytes payload)
{
    size_t before = out->size;
    size_t packed = payload.size ? lz4_pack(payload, out) : 0;
    if (packed < payload.size)
        return (uint32_t)packed;
    out->size = before;
    return 0;
}

void segment_put(struct buf *out, bool is_lz4, bool is_self_contained, struct bytes payload)
{
    ensure(payload.size <= WIRE_SEGMENT_BYTES_MAX);
    size_t head_at = out->size, head_bytes = segment_head_bytes(is_lz4);
    buf_grow(out, head_bytes + payload.size + SEGMENT_TAIL_BYTES);
    (void)buf_take(out, head_bytes);
    uint32_t packed = is_lz4 ? pack(out, payload) : 0;
    if (!packed)
        buf_put_bytes(out, payload);
    uint32_t wire_bytes = packed ? packed : (uint32_t)payload.size;
    uint64_t head = wire_bytes;
    if (packed)
        head |= (uint64_t)payload.size << LENGTH_BITS;
    head |= (uint64_t)is_self_contained << (is_lz4 ? 2 * LENGTH_BITS : LENGTH_BITS);
    uint8_t *at = out->data + head_at;
    put_le(at, head, head_bytes - CRC24_BYTES);
    uint32_t crc24 = crc24_of(bytes_of(at, head_bytes - CRC24_BYTES));
    put_le(at + head_bytes - CRC24_BYTES, crc24, CRC24_BYTES);
    uint32_t crc32 = crc32_of(crc32_seeded, bytes_of(at + head_bytes, wire_bytes));
    put_le(buf_take(out, SEGMENT_TAIL_BYTES), crc32, SEGMENT_TAIL_BYTES);
}
