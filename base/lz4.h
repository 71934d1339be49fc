/* lz4.h - one LZ4 block, bounded both ways; a thin door to liblz4. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct buf;

/* Appends the compressed block to out; returns its size. */
size_t lz4_pack(struct bytes, struct buf *out);
/* Writes exactly `size` bytes to out, else ERR_CORRUPT; never reads or writes beyond. */
enum err lz4_unpack(struct bytes block, uint8_t *out, size_t size);
