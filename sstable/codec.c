/* codec.c - the five compressors, each as Cassandra frames its output.
 *
 *     LZ4       plain size u32 LITTLE-endian | one LZ4 block
 *     Snappy    a Snappy block, which begins with its plain size
 *     Deflate   a zlib stream at the default level
 *     Zstd      a frame with its plain size and the checksum of the content
 *     Noop      the bytes themselves
 *
 * The bytes need not be those of Cassandra's Java libraries (another version finds other matches);
 * any of them unpacks them.  Contexts of Zstd and Deflate and the table of slow LZ4 are kept in the
 * caller's codec, so that a chunk allocates nothing; Snappy's library takes its table anew each
 * time.  Sizes that a payload claims are compared with the size that is known, never trusted.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/codec.h"

#include "base/lz4.h"
#include "base/mem.h"

#include <limits.h>
#include <lz4hc.h>
#include <snappy-c.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_customMem, which the shared library exports too */
#include <zstd.h>

enum { LZ4_SIZE_BYTES = 4 };

/* ---- the libraries' memory is ours ---- */

static void *zstd_take(void *unused, size_t size)
{
    (void)unused;
    return mem_alloc(size);
}

static void zstd_give(void *unused, void *piece)
{
    (void)unused;
    mem_free(piece);
}

static const ZSTD_customMem zstd_memory = { zstd_take, zstd_give, NULL };

static voidpf zlib_take(voidpf unused, uInt count, uInt size)
{
    (void)unused;
    return mem_zalloc((size_t)count * size);
}

static void zlib_give(voidpf unused, voidpf piece)
{
    (void)unused;
    mem_free(piece);
}

static z_stream *stream_new(void)
{
    z_stream *stream = mem_zalloc(sizeof *stream);
    stream->zalloc = zlib_take;
    stream->zfree = zlib_give;
    return stream;
}

void codec_deinit(struct codec *codec)
{
    ZSTD_freeCCtx(codec->zstd_pack);
    ZSTD_freeDCtx(codec->zstd_unpack);
    if (codec->deflate)
        deflateEnd(codec->deflate);
    if (codec->inflate)
        inflateEnd(codec->inflate);
    mem_free(codec->deflate);
    mem_free(codec->inflate);
    mem_free(codec->lz4_high);
    *codec = (struct codec){ 0 };
}

/* ---- packing ---- */

static void lz4_high_pack(struct codec *codec, int level, struct bytes plain, struct buf *out)
{
    if (!codec->lz4_high)
        codec->lz4_high = mem_alloc((size_t)LZ4_sizeofStateHC());
    int room = LZ4_compressBound((int)plain.size);
    char *at = (char *)buf_take(out, (size_t)room);
    int size = LZ4_compress_HC_extStateHC(codec->lz4_high, (const char *)plain.data, at,
                                          (int)plain.size, room, level);
    ensure(size > 0 && size <= room);
    out->size -= (size_t)(room - size);
}

static void lz4_payload_pack(struct codec *codec, const struct compression_params *params,
                             struct bytes plain, struct buf *out)
{
    buf_put_be32(out, __builtin_bswap32((uint32_t)plain.size));
    if (params->is_high)
        lz4_high_pack(codec, params->level, plain, out);
    else
        lz4_pack(plain, out);
}

static void snappy_pack(struct bytes plain, struct buf *out)
{
    size_t size = snappy_max_compressed_length(plain.size), room = size;
    char *at = (char *)buf_take(out, room);
    ensure(snappy_compress((const char *)plain.data, plain.size, at, &size) == SNAPPY_OK);
    out->size -= room - size;
}

static void deflate_pack(struct codec *codec, struct bytes plain, struct buf *out)
{
    if (!codec->deflate) {
        codec->deflate = stream_new();
        ensure(deflateInit(codec->deflate, Z_DEFAULT_COMPRESSION) == Z_OK);
    }
    z_stream *stream = codec->deflate;
    ensure(deflateReset(stream) == Z_OK);
    size_t room = deflateBound(stream, plain.size);
    stream->next_in = (Bytef *)plain.data;
    stream->avail_in = (uInt)plain.size;
    stream->next_out = buf_take(out, room);
    stream->avail_out = (uInt)room;
    ensure(deflate(stream, Z_FINISH) == Z_STREAM_END);
    out->size -= stream->avail_out;
}

static void zstd_pack(struct codec *codec, int level, struct bytes plain, struct buf *out)
{
    if (!codec->zstd_pack)
        codec->zstd_pack = ZSTD_createCCtx_advanced(zstd_memory);
    ensure(codec->zstd_pack);
    ensure(!ZSTD_isError(ZSTD_CCtx_setParameter(codec->zstd_pack, ZSTD_c_checksumFlag, 1)));
    ensure(!ZSTD_isError(ZSTD_CCtx_setParameter(codec->zstd_pack, ZSTD_c_compressionLevel, level)));
    size_t room = ZSTD_compressBound(plain.size);
    uint8_t *at = buf_take(out, room);
    size_t size = ZSTD_compress2(codec->zstd_pack, at, room, plain.data, plain.size);
    ensure(!ZSTD_isError(size) && size <= room);
    out->size -= room - size;
}

void payload_pack(struct codec *codec, const struct compression_params *params, struct bytes plain,
                  struct buf *out)
{
    ensure(plain.size > 0 && plain.size <= LZ4_MAX_INPUT_SIZE);
    switch (params->kind) {
    case COMPRESSOR_LZ4:
        lz4_payload_pack(codec, params, plain, out);
        break;
    case COMPRESSOR_SNAPPY:
        snappy_pack(plain, out);
        break;
    case COMPRESSOR_DEFLATE:
        deflate_pack(codec, plain, out);
        break;
    case COMPRESSOR_ZSTD:
        zstd_pack(codec, params->level, plain, out);
        break;
    case COMPRESSOR_NOOP:
        buf_put_bytes(out, plain);
        break;
    case COMPRESSOR_NONE:
        ensure(params->kind != COMPRESSOR_NONE); /* such a table has no chunks */
    }
}

/* ---- unpacking ---- */

static bool lz4_payload_unpack(struct bytes payload, uint8_t *plain, size_t size)
{
    if (payload.size < LZ4_SIZE_BYTES || __builtin_bswap32(get_be32(payload.data)) != size)
        return false;
    struct bytes block = { payload.data + LZ4_SIZE_BYTES, payload.size - LZ4_SIZE_BYTES };
    return lz4_unpack(block, plain, size) == OK;
}

static bool snappy_unpack(struct bytes payload, uint8_t *plain, size_t size)
{
    const char *from = (const char *)payload.data;
    size_t claimed = 0, written = size;
    return snappy_uncompressed_length(from, payload.size, &claimed) == SNAPPY_OK &&
           claimed == size &&
           snappy_uncompress(from, payload.size, (char *)plain, &written) == SNAPPY_OK &&
           written == size;
}

static bool deflate_unpack(struct codec *codec, struct bytes payload, uint8_t *plain, size_t size)
{
    if (!codec->inflate) {
        codec->inflate = stream_new();
        ensure(inflateInit(codec->inflate) == Z_OK);
    }
    z_stream *stream = codec->inflate;
    ensure(inflateReset(stream) == Z_OK);
    stream->next_in = (Bytef *)payload.data;
    stream->avail_in = (uInt)payload.size;
    stream->next_out = plain;
    stream->avail_out = (uInt)size;
    return inflate(stream, Z_FINISH) == Z_STREAM_END && stream->avail_out == 0 &&
           stream->avail_in == 0;
}

static bool zstd_unpack(struct codec *codec, struct bytes payload, uint8_t *plain, size_t size)
{
    if (!codec->zstd_unpack)
        codec->zstd_unpack = ZSTD_createDCtx_advanced(zstd_memory);
    ensure(codec->zstd_unpack);
    size_t written =
        ZSTD_decompressDCtx(codec->zstd_unpack, plain, size, payload.data, payload.size);
    return !ZSTD_isError(written) && written == size;
}

bool payload_unpack(struct codec *codec, enum compressor kind, struct bytes payload, uint8_t *plain,
                    size_t size)
{
    ensure(size > 0 && size <= INT_MAX && payload.size <= UINT_MAX);
    switch (kind) {
    case COMPRESSOR_LZ4:
        return lz4_payload_unpack(payload, plain, size);
    case COMPRESSOR_SNAPPY:
        return snappy_unpack(payload, plain, size);
    case COMPRESSOR_DEFLATE:
        return deflate_unpack(codec, payload, plain, size);
    case COMPRESSOR_ZSTD:
        return zstd_unpack(codec, payload, plain, size);
    case COMPRESSOR_NOOP:
        if (payload.size == size)
            memcpy(plain, payload.data, size);
        return payload.size == size;
    case COMPRESSOR_NONE:
        break;
    }
    return false;
}
