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
    /* The compressor's own options as the file has them (count, names, values), to be written
     * again; none: what of the params is not a default. */
    struct bytes options;
    uint64_t data_bytes; /* uncompressed */
    size_t chunks_count;
    uint64_t *offsets; /* chunks_count of them, ascending, in Data.db */
};
/* offsets in the arena, options borrowed; `file_bytes` is the size of Data.db, which the offsets
 * must fit.  ERR_CORRUPT; ERR_CONFIG: a compressor or an option of it that is not known here. */
enum err compression_info_decode(struct bytes, uint64_t file_bytes, struct arena *,
                                 struct compression_info *out, struct report *);
void compression_info_encode(const struct compression_info *, struct buf *out);
/* Where chunk i stands in a Data.db of file_bytes: payload bytes (without its CRC), which are at
 * most chunk_stored_max. */
struct chunk_place {
    uint64_t offset;
    uint32_t stored_bytes; /* payload; 4 bytes of CRC follow */
    uint32_t plain_bytes;
};
struct chunk_place compression_info_chunk(const struct compression_info *, uint64_t file_bytes,
                                          size_t i);
/* More than any compressor makes of a chunk that it cannot make smaller. */
uint64_t chunk_stored_max(uint32_t chunk_bytes);

/* What the slower compressors keep from chunk to chunk.  Zeroed is empty; made when first needed,
 * on the heap; for one user at a time.  LZ4 (not `high`), Snappy and Noop need none of it. */
struct codec {
    void *zstd_pack, *zstd_unpack, *deflate, *inflate, *lz4_high;
};
void codec_deinit(struct codec *);

/* Appends payload and CRC of one chunk.  `stored` gets the payload's size.  Knows the rule of
 * chunks that do not shrink (max_compressed_bytes, padding of a short last one). */
void chunk_pack(struct codec *, const struct compression_params *, struct bytes plain,
                struct buf *out, uint32_t *stored);
/* `raw` is payload and CRC; writes exactly plain_bytes.  `check`: compare the CRC first.
 * ERR_CORRUPT. */
enum err chunk_unpack(struct codec *, const struct compression_params *, struct bytes raw,
                      bool check, uint8_t *plain, size_t plain_bytes);

/* CRC.db, of tables without compression: a checksum per chunk_bytes of Data.db. */
struct crc_list {
    uint32_t chunk_bytes;
    size_t count;
    uint32_t *crcs;
};
enum { CRC_CHUNK_BYTES = 65536 }; /* as Cassandra writes it */
enum err crc_list_decode(struct bytes, uint64_t file_bytes, struct arena *, struct crc_list *out,
                         struct report *);
void crc_list_encode(const struct crc_list *, struct buf *out);
