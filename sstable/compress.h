/* compress.h - the compressors of table data, CompressionInfo.db and CRC.db.
 *
 *     Data.db:  payload | CRC-32 | payload | CRC-32 ...     chunk i covers the bytes from
 *                                                           i * chunk_bytes on
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "model/params.h" /* enum compressor, struct compression_params */

/* CompressionInfo.db. */
struct compression_info {
    struct compression_params params; /* kind, chunk_bytes, max_compressed_bytes, levels */
    uint64_t data_bytes;              /* uncompressed */
    size_t chunks_count;
    uint64_t *offsets; /* chunks_count of them, ascending, in Data.db */
};
/* offsets in the arena; `file_bytes` is the size of Data.db, which the offsets must fit. */
enum err compression_info_decode(struct bytes, uint64_t file_bytes, struct arena *,
                                 struct compression_info *out, struct report *);
void compression_info_encode(const struct compression_info *, struct buf *out);
/* Where chunk i stands in a Data.db of file_bytes: payload bytes (without its CRC). */
struct chunk_place {
    uint64_t offset;
    uint32_t stored_bytes; /* payload; 4 bytes of CRC follow */
    uint32_t plain_bytes;
};
struct chunk_place compression_info_chunk(const struct compression_info *, uint64_t file_bytes,
                                          size_t i);

/* Appends payload and CRC of one chunk.  `stored` gets the payload's size.  Knows the rule of
 * chunks that do not shrink (max_compressed_bytes, padding of a short last one). */
enum err chunk_pack(const struct compression_params *, struct bytes plain, struct buf *out,
                    uint32_t *stored);
/* `raw` is payload and CRC; writes exactly plain_bytes.  `check`: compare the CRC first.
 * ERR_CORRUPT. */
enum err chunk_unpack(const struct compression_params *, struct bytes raw, bool check,
                      uint8_t *plain, size_t plain_bytes);

/* CRC.db, of tables without compression: a checksum per chunk_bytes of Data.db. */
struct crc_list {
    uint32_t chunk_bytes;
    size_t count;
    uint32_t *crcs;
};
enum err crc_list_decode(struct bytes, uint64_t file_bytes, struct arena *, struct crc_list *out,
                         struct report *);
