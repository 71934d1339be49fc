/* compress.c - chunks of Data.db, and the two files that tell where they are and what their
 * checksums are.
 *
 *     CompressionInfo.db   compressor | options | chunk bytes i32 | most bytes i32 | plain bytes
 * i64 | count i32 | count * offset i64 CRC.db               chunk bytes i32 | CRC-32 of each chunk
 *
 * A chunk that its compressor makes no smaller than `most` is stored as it is, and if it is short
 * itself (it is the last one then) filled up with zeros to `most`, so that its size alone tells a
 * reader that it is raw.
 *
 * Invariants of what was decoded:
 *   1. offsets begin at 0 and ascend; each chunk has a payload, of chunk_stored_max at most
 *   2. there is a chunk for every plain byte; a chunk behind the last one (Cassandra may leave one
 *      when it flushes twice) has no plain bytes
 *
 * CompressionInfo.db has no checksum: what a flipped bit does to it is found by these, or by the
 * checksum of a chunk that then is read from the wrong place.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "sstable/codec.h"

#include <stdlib.h>

enum { CRC_BYTES = 4, OFFSET_BYTES = 8, LZ4_LEVEL = 9, ZSTD_LEVEL = 3 };
enum { LZ4_LEVEL_MAX = 17, ZSTD_LEVEL_MIN = -131072, ZSTD_LEVEL_MAX = 22, OPTIONS_MAX = 16 };

static const char *const classes[] = { [COMPRESSOR_LZ4] = "LZ4Compressor",
                                       [COMPRESSOR_SNAPPY] = "SnappyCompressor",
                                       [COMPRESSOR_DEFLATE] = "DeflateCompressor",
                                       [COMPRESSOR_ZSTD] = "ZstdCompressor",
                                       [COMPRESSOR_NOOP] = "NoopCompressor" };
static const char lz4_type[] = "lz4_compressor_type", lz4_level[] = "lz4_high_compressor_level",
                  zstd_level[] = "compression_level";

/* ---- chunks ---- */

uint64_t chunk_stored_max(uint32_t chunk_bytes) { return chunk_bytes + chunk_bytes / 4 + 1024ull; }

void chunk_pack(struct codec *codec, const struct compression_params *params, struct bytes plain,
                struct buf *out, uint32_t *stored)
{
    ensure(plain.size <= params->chunk_bytes);
    size_t begin = out->size, most = params->max_compressed_bytes;
    payload_pack(codec, params, plain, out);
    if (out->size - begin >= most) {
        out->size = begin;
        buf_put_bytes(out, plain);
        size_t padding = plain.size < most ? most - plain.size : 0;
        if (padding)
            memset(buf_take(out, padding), 0, padding);
    }
    *stored = (uint32_t)(out->size - begin);
    buf_put_be32(out, crc32_of(0, bytes_of(out->data + begin, *stored)));
}

enum err chunk_unpack(struct codec *codec, const struct compression_params *params,
                      struct bytes raw, bool check, uint8_t *plain, size_t plain_bytes)
{
    if (raw.size <= CRC_BYTES || raw.size - CRC_BYTES > UINT32_MAX)
        return ERR_CORRUPT;
    struct bytes payload = { raw.data, raw.size - CRC_BYTES };
    if (check && crc32_of(0, payload) != get_be32(raw.data + payload.size))
        return ERR_CORRUPT;
    if (payload.size < params->max_compressed_bytes)
        return payload_unpack(codec, params->kind, payload, plain, plain_bytes) ? OK : ERR_CORRUPT;
    if (payload.size < plain_bytes)
        return ERR_CORRUPT;
    memcpy(plain, payload.data, plain_bytes);
    return OK;
}

/* ---- CompressionInfo.db ---- */

static enum err info_corrupt(struct report *report, const char *what, size_t at)
{
    return report_set(report, ERR_CORRUPT, "CompressionInfo.db: %s at byte %zu", what, at);
}

static struct bytes java_text(struct cursor *c)
{
    uint16_t size = cursor_be16(c);
    return cursor_bytes(c, size);
}

static enum err take_class(struct bytes name, enum compressor *out, struct report *report)
{
    for (size_t i = 0; i < array_count(classes); i++) {
        if (!classes[i] || !bytes_equal(bytes_text(classes[i]), name))
            continue;
        *out = (enum compressor)i;
        return OK;
    }
    return report_set(report, ERR_CONFIG, "CompressionInfo.db: no compressor '%.*s' is known here",
                      (int)u64_min(name.size, 60), name.data);
}

static bool take_level(struct bytes value, int least, int most, int *out)
{
    char text[8] = "", *end = text;
    if (value.size == 0 || value.size >= sizeof text)
        return false;
    memcpy(text, value.data, value.size);
    long level = strtol(text, &end, 10);
    *out = (int)level;
    return end == text + value.size && level >= least && level <= most;
}

static bool take_option(struct compression_params *params, struct bytes name, struct bytes value)
{
    bool is_lz4 = params->kind == COMPRESSOR_LZ4, is_zstd = params->kind == COMPRESSOR_ZSTD;
    if (is_lz4 && bytes_equal(name, bytes_text(lz4_type))) {
        params->is_high = bytes_equal(value, bytes_text("high"));
        return params->is_high || bytes_equal(value, bytes_text("fast"));
    }
    if (is_lz4 && bytes_equal(name, bytes_text(lz4_level)))
        return take_level(value, 1, LZ4_LEVEL_MAX, &params->level);
    if (is_zstd && bytes_equal(name, bytes_text(zstd_level)))
        return take_level(value, ZSTD_LEVEL_MIN, ZSTD_LEVEL_MAX, &params->level);
    return false;
}

static enum err take_options(struct cursor *c, struct compression_info *out, struct report *report)
{
    const uint8_t *begin = c->at;
    uint32_t count = cursor_be32(c);
    if (count > OPTIONS_MAX)
        return report_set(report, ERR_CORRUPT, "CompressionInfo.db: %u options cannot be", count);
    for (uint32_t i = 0; i < count && !c->bad; i++) {
        struct bytes name = java_text(c), value = java_text(c);
        if (!c->bad && !take_option(&out->params, name, value))
            return report_set(report, ERR_CONFIG,
                              "CompressionInfo.db: %s has no option '%.*s' of '%.*s' here",
                              classes[out->params.kind], (int)u64_min(name.size, 60), name.data,
                              (int)u64_min(value.size, 60), value.data);
    }
    out->options = bytes_of(begin, (size_t)(c->at - begin));
    return OK;
}

/* Offset of what follows chunk i. */
static uint64_t end_of(const struct compression_info *info, uint64_t file_bytes, size_t i)
{
    return i + 1 < info->chunks_count ? info->offsets[i + 1] : file_bytes;
}

static bool are_places(const struct compression_info *info, uint64_t file_bytes, size_t *bad)
{
    uint64_t most = chunk_stored_max(info->params.chunk_bytes) + CRC_BYTES;
    for (*bad = 0; *bad < info->chunks_count; ++*bad) {
        uint64_t at = info->offsets[*bad], end = end_of(info, file_bytes, *bad);
        if ((*bad == 0 && at) || end > file_bytes || end <= at || end - at <= CRC_BYTES ||
            end - at > most)
            return false;
    }
    return true;
}

static enum err take_places(struct cursor *c, struct bytes file, uint64_t file_bytes,
                            struct arena *arena, struct compression_info *out,
                            struct report *report)
{
    uint32_t chunk = out->params.chunk_bytes;
    size_t at = (size_t)(c->at - file.data), bad;
    out->chunks_count = cursor_be32(c);
    uint64_t needed = (out->data_bytes + chunk - 1) / chunk;
    if (c->bad || out->chunks_count != cursor_left(c) / OFFSET_BYTES ||
        cursor_left(c) % OFFSET_BYTES)
        return info_corrupt(report, "a count of chunks that does not fit the file", at);
    if (out->chunks_count < needed || out->chunks_count > needed + 1)
        return info_corrupt(report, "a count of chunks that does not fit the plain size", at);
    out->offsets = arena_array(arena, uint64_t, out->chunks_count);
    for (size_t i = 0; i < out->chunks_count; i++)
        out->offsets[i] = cursor_be64(c);
    if (!are_places(out, file_bytes, &bad))
        return info_corrupt(report, "an offset that cannot be", at + 4 + bad * OFFSET_BYTES);
    return OK;
}

enum err compression_info_decode(struct bytes file, uint64_t file_bytes, struct arena *arena,
                                 struct compression_info *out, struct report *report)
{
    struct cursor c = cursor_of(file);
    *out = (struct compression_info){ 0 };
    struct bytes name = java_text(&c);
    if (c.bad)
        return info_corrupt(report, "the end", file.size);
    enum err err = take_class(name, &out->params.kind, report);
    if (err)
        return err;
    out->params.level = out->params.kind == COMPRESSOR_ZSTD ? ZSTD_LEVEL : LZ4_LEVEL;
    err = take_options(&c, out, report);
    if (err)
        return err;
    size_t at = (size_t)(c.at - file.data);
    uint32_t chunk = out->params.chunk_bytes = cursor_be32(&c);
    uint32_t most = out->params.max_compressed_bytes = cursor_be32(&c);
    out->data_bytes = cursor_be64(&c);
    if (c.bad)
        return info_corrupt(report, "the end", file.size);
    if (!chunk || chunk > INT32_MAX || chunk & (chunk - 1))
        return info_corrupt(report, "a chunk size that is no power of two", at);
    if (!most || (most > chunk && most != INT32_MAX))
        return info_corrupt(report, "a most size of compressed chunks that cannot be", at + 4);
    if (!out->data_bytes || out->data_bytes > INT64_MAX)
        return info_corrupt(report, "a plain size that cannot be", at + 8);
    out->params.min_compress_ratio = most == INT32_MAX ? 0 : (double)chunk / most;
    return take_places(&c, file, file_bytes, arena, out, report);
}

static void put_java_text(struct buf *out, const char *text)
{
    buf_put_be16(out, (uint16_t)strlen(text));
    buf_put_text(out, text);
}

static void put_level(struct buf *out, const char *name, int level)
{
    char text[16];
    snprintf(text, sizeof text, "%d", level);
    put_java_text(out, name);
    put_java_text(out, text);
}

/* What is not a default, in the order of Cassandra's hash map. */
static void put_options(const struct compression_params *params, struct buf *out)
{
    bool is_high = params->kind == COMPRESSOR_LZ4 && params->is_high;
    bool has_lz4_level = is_high && params->level != LZ4_LEVEL;
    bool has_zstd_level = params->kind == COMPRESSOR_ZSTD && params->level != ZSTD_LEVEL;
    buf_put_be32(out, (uint32_t)is_high + has_lz4_level + has_zstd_level);
    if (is_high) {
        put_java_text(out, lz4_type);
        put_java_text(out, "high");
    }
    if (has_lz4_level)
        put_level(out, lz4_level, params->level);
    if (has_zstd_level)
        put_level(out, zstd_level, params->level);
}

void compression_info_encode(const struct compression_info *info, struct buf *out)
{
    ensure(info->params.kind != COMPRESSOR_NONE && info->chunks_count > 0);
    put_java_text(out, classes[info->params.kind]);
    if (info->options.data)
        buf_put_bytes(out, info->options);
    else
        put_options(&info->params, out);
    buf_put_be32(out, info->params.chunk_bytes);
    buf_put_be32(out, info->params.max_compressed_bytes);
    buf_put_be64(out, info->data_bytes);
    buf_put_be32(out, (uint32_t)info->chunks_count);
    for (size_t i = 0; i < info->chunks_count; i++)
        buf_put_be64(out, info->offsets[i]);
}

struct chunk_place compression_info_chunk(const struct compression_info *info, uint64_t file_bytes,
                                          size_t i)
{
    ensure(i < info->chunks_count);
    uint64_t begin = (uint64_t)i * info->params.chunk_bytes;
    uint64_t rest = begin < info->data_bytes ? info->data_bytes - begin : 0;
    return (struct chunk_place){
        .offset = info->offsets[i],
        .stored_bytes = (uint32_t)(end_of(info, file_bytes, i) - info->offsets[i] - CRC_BYTES),
        .plain_bytes = (uint32_t)u64_min(rest, info->params.chunk_bytes),
    };
}

/* ---- CRC.db ---- */

enum err crc_list_decode(struct bytes file, uint64_t file_bytes, struct arena *arena,
                         struct crc_list *out, struct report *report)
{
    struct cursor c = cursor_of(file);
    *out = (struct crc_list){ .chunk_bytes = cursor_be32(&c) };
    if (c.bad || !out->chunk_bytes || out->chunk_bytes > INT32_MAX)
        return report_set(report, ERR_CORRUPT, "CRC.db: no chunk size at byte 0");
    uint64_t needed = file_bytes / out->chunk_bytes + (file_bytes % out->chunk_bytes > 0);
    out->count = cursor_left(&c) / CRC_BYTES;
    if (cursor_left(&c) % CRC_BYTES || out->count < needed || out->count > needed + 1)
        return report_set(report, ERR_CORRUPT,
                          "CRC.db: %zu checksums for %llu bytes in chunks of %u", out->count,
                          (unsigned long long)file_bytes, out->chunk_bytes);
    out->crcs = arena_array(arena, uint32_t, out->count);
    for (size_t i = 0; i < out->count; i++)
        out->crcs[i] = cursor_be32(&c);
    return OK;
}

void crc_list_encode(const struct crc_list *list, struct buf *out)
{
    buf_put_be32(out, list->chunk_bytes);
    for (size_t i = 0; i < list->count; i++)
        buf_put_be32(out, list->crcs[i]);
}
