/* segment.h - one outer frame of protocol v5 (facts 1.3), shared by frame_in.c and frame_out.c.
 *
 *     plain   [ length:17 self:1 zero:6 ]                    CRC24  payload  CRC32
 *     LZ4     [ length:17 unpacked length:17 self:1 zero:5 ] CRC24  payload  CRC32
 *
 * All little-endian.  CRC32 covers the four bytes FA 2D 55 CA and then the payload as it travels.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

enum { SEGMENT_TAIL_BYTES = 4 };

struct segment {
    uint32_t wire_bytes; /* of the payload as it travels */
    uint32_t raw_bytes;  /* of the payload unpacked; 0: it is not packed */
    bool is_self_contained;
};
static inline size_t segment_head_bytes(bool is_lz4) { return is_lz4 ? 8 : 6; }
/* From segment_head_bytes bytes; false when the CRC24 does not hold. */
bool segment_parse(const uint8_t *at, bool is_lz4, struct segment *out);
/* Does the CRC32 behind the payload hold? */
bool segment_holds(struct bytes payload);
/* Appends a frame with the payload, packed when that is agreed and shrinks it. */
void segment_put(struct buf *, bool is_lz4, bool is_self_contained, struct bytes payload);
