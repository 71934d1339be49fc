/* codec.h - one payload through one compressor; inside of compress.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sstable/compress.h"

/* Appends the payload of plain bytes, at least one. */
void payload_pack(struct codec *, const struct compression_params *, struct bytes plain,
                  struct buf *out);
/* Writes exactly `size` bytes, at least one, else false; never beyond. */
bool payload_unpack(struct codec *, enum compressor, struct bytes payload, uint8_t *plain,
                    size_t size);
