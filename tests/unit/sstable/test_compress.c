/* test_compress.c - chunks come back from every compressor, damaged ones never write beyond; the
 * tables of chunks and of checksums trust no length. */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/mem.h"
#include "base/prng.h"
#include "damage.h"
#include "sstable/compress.h"

#include <check.h>

#define NEVER INT32_MAX
static const struct compression_params all_params[] = {
    { .kind = COMPRESSOR_LZ4, .max_compressed_bytes = NEVER },
    { .kind = COMPRESSOR_LZ4, .max_compressed_bytes = NEVER, .is_high = true, .level = 1 },
    { .kind = COMPRESSOR_LZ4, .max_compressed_bytes = NEVER, .is_high = true, .level = 17 },
    { .kind = COMPRESSOR_SNAPPY, .max_compressed_bytes = NEVER },
    { .kind = COMPRESSOR_DEFLATE, .max_compressed_bytes = NEVER },
    { .kind = COMPRESSOR_ZSTD, .max_compressed_bytes = NEVER, .level = 3 },
    { .kind = COMPRESSOR_ZSTD, .max_compressed_bytes = NEVER, .level = -5 },
    { .kind = COMPRESSOR_ZSTD, .max_compressed_bytes = NEVER, .level = 19 },
    { .kind = COMPRESSOR_NOOP, .max_compressed_bytes = NEVER },
};
enum { CHUNK = 16384 };

/* `kinds` different bytes: 1 shrinks to nothing, 256 not at all. */
static uint8_t *some_bytes(size_t size, unsigned kinds)
{
    struct prng prng = { size + kinds };
    uint8_t *data = mem_alloc(size);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)prng_below(&prng, kinds);
    return data;
}

static void assert_comes_back(struct codec *codec, const struct compression_params *params,
                              size_t size, unsigned kinds)
{
    uint8_t *plain = some_bytes(size, kinds), *back = mem_alloc(size);
    struct buf out = { 0 };
    uint32_t stored = 0;
    buf_put_text(&out, "head");
    chunk_pack(codec, params, bytes_of(plain, size), &out, &stored);
    ck_assert_uint_eq(out.size, 4 + stored + 4);
    ck_assert_uint_le(stored, chunk_stored_max(params->chunk_bytes));
    uint8_t *exact = mem_alloc(stored + 4);
    memcpy(exact, out.data + 4, stored + 4);
    struct bytes raw = bytes_of(exact, stored + 4);
    ck_assert_int_eq(chunk_unpack(codec, params, raw, true, back, size), OK);
    ck_assert_mem_eq(plain, back, size);
    exact[stored] ^= 1;
    ck_assert_int_eq(chunk_unpack(codec, params, raw, true, back, size), ERR_CORRUPT);
    ck_assert_int_eq(chunk_unpack(codec, params, raw, false, back, size), OK);
    mem_free(exact);
    mem_free(plain);
    mem_free(back);
    buf_deinit(&out);
}

START_TEST(a_chunk_comes_back_from_every_compressor)
{
    static const size_t sizes[] = { 1, 2, 13, 100, 4096, 16383, 16384 };
    struct compression_params params = all_params[_i];
    struct codec codec = { 0 };
    params.chunk_bytes = CHUNK;
    for (size_t i = 0; i < array_count(sizes); i++) {
        assert_comes_back(&codec, &params, sizes[i], 1);
        assert_comes_back(&codec, &params, sizes[i], 4);
        assert_comes_back(&codec, &params, sizes[i], 256);
    }
    codec_deinit(&codec);
}
END_TEST

START_TEST(a_chunk_that_does_not_shrink_is_stored_raw_and_a_short_one_filled_up)
{
    struct compression_params params = all_params[_i];
    params.chunk_bytes = CHUNK;
    params.max_compressed_bytes = 14895; /* a ratio of 1.1 */
    struct codec codec = { 0 };
    static const size_t sizes[] = { CHUNK, 14895, 14894, 14800, 100 };
    for (size_t i = 0; i < array_count(sizes); i++) {
        uint8_t *plain = some_bytes(sizes[i], 256);
        struct buf out = { 0 };
        uint32_t stored = 0;
        assert_comes_back(&codec, &params, sizes[i], 256);
        assert_comes_back(&codec, &params, sizes[i], 2);
        chunk_pack(&codec, &params, bytes_of(plain, sizes[i]), &out, &stored);
        if (sizes[i] > params.max_compressed_bytes)
            ck_assert_uint_eq(stored, sizes[i]);
        else
            ck_assert_uint_le(stored, params.max_compressed_bytes);
        bool is_raw = stored >= params.max_compressed_bytes;
        ck_assert(!is_raw || memcmp(out.data, plain, sizes[i]) == 0);
        for (size_t at = sizes[i]; is_raw && at < stored; at++)
            ck_assert_uint_eq(out.data[at], 0);
        mem_free(plain);
        buf_deinit(&out);
    }
    codec_deinit(&codec);
}
END_TEST

START_TEST(a_chunk_of_just_the_most_size_is_raw_and_one_byte_less_is_not)
{
    struct compression_params params = { .kind = COMPRESSOR_LZ4,
                                         .chunk_bytes = CHUNK,
                                         .max_compressed_bytes = NEVER };
    struct codec codec = { 0 };
    uint8_t *plain = some_bytes(CHUNK, 4);
    for (unsigned more = 0; more < 2; more++) {
        struct buf out = { 0 };
        uint32_t packed, stored;
        params.max_compressed_bytes = NEVER;
        chunk_pack(&codec, &params, bytes_of(plain, CHUNK), &out, &packed);
        params.max_compressed_bytes = packed + more;
        buf_clear(&out);
        chunk_pack(&codec, &params, bytes_of(plain, CHUNK), &out, &stored);
        ck_assert_uint_eq(stored, more ? packed : CHUNK);
        buf_deinit(&out);
    }
    mem_free(plain);
}
END_TEST

START_TEST(zstd_frames_have_their_size_and_a_checksum)
{
    struct compression_params params = {
        .kind = COMPRESSOR_ZSTD, .level = 3, .chunk_bytes = CHUNK, .max_compressed_bytes = NEVER
    };
    struct codec codec = { 0 };
    struct buf out = { 0 };
    uint32_t stored;
    uint8_t *plain = some_bytes(CHUNK, 4);
    chunk_pack(&codec, &params, bytes_of(plain, CHUNK), &out, &stored);
    ck_assert_uint_eq(get_be32(out.data), 0x28b52ffd);
    ck_assert(out.data[4] & 0x04); /* a checksum of the content */
    ck_assert(out.data[4] & 0x20); /* one segment: the size is there */
    mem_free(plain);
    codec_deinit(&codec);
    buf_deinit(&out);
}
END_TEST

struct damaged_chunk {
    struct codec codec;
    const struct compression_params *params;
    uint8_t *plain;
    size_t size;
};

static void try_chunk(struct bytes damaged, size_t at, void *context)
{
    struct damaged_chunk *d = context;
    (void)at;
    enum err err = chunk_unpack(&d->codec, d->params, damaged, true, d->plain, d->size);
    ck_assert_int_eq(err, ERR_CORRUPT);
    err = chunk_unpack(&d->codec, d->params, damaged, false, d->plain, d->size);
    ck_assert(err == OK || err == ERR_CORRUPT);
}

/* With the checksum compared nothing passes; without it nothing is written beyond. */
START_TEST(a_damaged_chunk_is_refused_and_never_writes_beyond)
{
    struct compression_params params = all_params[_i];
    params.chunk_bytes = CHUNK;
    struct damaged_chunk d = { .params = &params, .size = 300 };
    struct buf out = { 0 };
    uint32_t stored = 0;
    uint8_t *plain = some_bytes(d.size, 3);
    d.plain = mem_alloc(d.size);
    chunk_pack(&d.codec, &params, bytes_of(plain, d.size), &out, &stored);
    damage_flip(buf_bytes(&out), try_chunk, &d);
    damage_cut(buf_bytes(&out), try_chunk, &d);
    for (size_t size = 1; size < d.size; size++) /* it unpacks to more than was asked for */
        ck_assert_int_eq(
            chunk_unpack(&d.codec, &params, buf_bytes(&out), true, d.plain, d.size - size),
            ERR_CORRUPT);
    for (size_t size = 1; size < d.size; size++) { /* to less */
        uint8_t *more = mem_alloc(d.size + size);
        ck_assert_int_eq(
            chunk_unpack(&d.codec, &params, buf_bytes(&out), true, more, d.size + size),
            ERR_CORRUPT);
        mem_free(more);
    }
    mem_free(plain);
    mem_free(d.plain);
    codec_deinit(&d.codec);
    buf_deinit(&out);
}
END_TEST

START_TEST(from_the_second_chunk_on_nothing_is_allocated)
{
    struct compression_params params = all_params[_i];
    struct codec codec = { 0 };
    struct buf out = { 0 };
    uint32_t stored = 0;
    params.chunk_bytes = CHUNK;
    uint8_t *plain = some_bytes(CHUNK, 16), *back = mem_alloc(CHUNK);
    uint64_t calls = 0;
    for (int i = 0; i < 5; i++) {
        calls = i < 2 ? mem_calls() : calls;
        buf_clear(&out);
        chunk_pack(&codec, &params, bytes_of(plain, CHUNK), &out, &stored);
        ck_assert_int_eq(chunk_unpack(&codec, &params, buf_bytes(&out), true, back, CHUNK), OK);
    }
    ck_assert_uint_eq(mem_calls(), calls);
    mem_free(plain);
    mem_free(back);
    codec_deinit(&codec);
    buf_deinit(&out);
}
END_TEST

/* ---- CompressionInfo.db ---- */

static void info_text(struct buf *b, const char *text)
{
    buf_put_be16(b, (uint16_t)strlen(text));
    buf_put_text(b, text);
}

/* 40 KiB in chunks of 16 KiB, stored at 0, 1000 and 2000 of 2500 bytes. */
static void info_build(struct buf *b, const char *class, const char *name, const char *value)
{
    info_text(b, class);
    buf_put_be32(b, name != NULL);
    if (name) {
        info_text(b, name);
        info_text(b, value);
    }
    buf_put_be32(b, CHUNK);
    buf_put_be32(b, NEVER);
    buf_put_be64(b, 40960);
    buf_put_be32(b, 3);
    for (uint64_t i = 0; i < 3; i++)
        buf_put_be64(b, i * 1000);
}
enum { FILE_BYTES = 2500 };

static enum err info_try(struct bytes file, struct compression_info *out, struct arena *arena,
                         struct report *report)
{
    *report = (struct report){ 0 };
    enum err err = compression_info_decode(file, FILE_BYTES, arena, out, report);
    ck_assert_int_eq(report->err, err);
    ck_assert(err == OK || strstr(report->text, "CompressionInfo.db"));
    return err;
}

START_TEST(options_of_each_compressor_are_read_and_written_again)
{
    static const struct {
        const char *class, *name, *value;
        enum compressor kind;
        bool is_high;
        int level;
        enum err err;
    } cases[] = {
        { "LZ4Compressor", NULL, NULL, COMPRESSOR_LZ4, false, 9, OK },
        { "LZ4Compressor", "lz4_compressor_type", "high", COMPRESSOR_LZ4, true, 9, OK },
        { "LZ4Compressor", "lz4_compressor_type", "fast", COMPRESSOR_LZ4, false, 9, OK },
        { "LZ4Compressor", "lz4_high_compressor_level", "17", COMPRESSOR_LZ4, false, 17, OK },
        { "SnappyCompressor", NULL, NULL, COMPRESSOR_SNAPPY, false, 9, OK },
        { "DeflateCompressor", NULL, NULL, COMPRESSOR_DEFLATE, false, 9, OK },
        { "NoopCompressor", NULL, NULL, COMPRESSOR_NOOP, false, 9, OK },
        { "ZstdCompressor", NULL, NULL, COMPRESSOR_ZSTD, false, 3, OK },
        { "ZstdCompressor", "compression_level", "-131072", COMPRESSOR_ZSTD, false, -131072, OK },
        { "ZstdCompressor", "compression_level", "22", COMPRESSOR_ZSTD, false, 22, OK },
        { .class = "ZstdCompressor", "compression_level", "23", .err = ERR_CONFIG },
        { .class = "ZstdCompressor", "compression_level", "", .err = ERR_CONFIG },
        { .class = "ZstdCompressor", "compression_level", "3x", .err = ERR_CONFIG },
        { .class = "ZstdCompressor", "compression_level", "99999999999", .err = ERR_CONFIG },
        { .class = "LZ4Compressor", "lz4_high_compressor_level", "0", .err = ERR_CONFIG },
        { .class = "LZ4Compressor", "lz4_compressor_type", "slow", .err = ERR_CONFIG },
        { .class = "LZ4Compressor", "compression_level", "3", .err = ERR_CONFIG },
        { .class = "SnappyCompressor", "chunk_length_in_kb", "16", .err = ERR_CONFIG },
        { .class = "ZstdDictionaryCompressor", .err = ERR_CONFIG },
        { .class = "", .err = ERR_CONFIG },
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct buf b = { 0 }, again = { 0 };
        struct arena arena = { 0 };
        struct compression_info info;
        struct report report;
        info_build(&b, cases[i].class, cases[i].name, cases[i].value);
        enum err err = info_try(buf_bytes(&b), &info, &arena, &report);
        ck_assert_msg(err == cases[i].err, "%zu: %s", i, report.text);
        if (err == OK) {
            ck_assert_int_eq(info.params.kind, cases[i].kind);
            ck_assert_int_eq(info.params.level, cases[i].level);
            ck_assert(info.params.is_high == cases[i].is_high);
            compression_info_encode(&info, &again);
            ck_assert(bytes_equal(buf_bytes(&b), buf_bytes(&again)));
        } else { /* what is wrong is named */
            ck_assert(strstr(report.text, cases[i].name ? cases[i].name : cases[i].class));
        }
        arena_deinit(&arena);
        buf_deinit(&b);
        buf_deinit(&again);
    }
}
END_TEST

START_TEST(without_the_file_s_options_what_is_no_default_is_written)
{
    static const struct {
        struct compression_params params;
        const char *text; /* behind the class */
        size_t size;
    } cases[] = {
        { { .kind = COMPRESSOR_LZ4 }, "\0\0\0\0", 4 },
        { { .kind = COMPRESSOR_LZ4, .level = 3 }, "\0\0\0\0", 4 },
        { { .kind = COMPRESSOR_LZ4, .is_high = true, .level = 9 },
          "\0\0\0\1\0\x13lz4_compressor_type\0\4high",
          31 },
        { { .kind = COMPRESSOR_LZ4, .is_high = true, .level = 12 },
          "\0\0\0\2\0\x13lz4_compressor_type\0\4high\0\x19lz4_high_compressor_level\0\2"
          "12",
          62 },
        { { .kind = COMPRESSOR_ZSTD, .level = 3 }, "\0\0\0\0", 4 },
        { { .kind = COMPRESSOR_ZSTD, .level = -7 },
          "\0\0\0\1\0\x11"
          "compression_level\0\2-7",
          27 },
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        uint64_t offset = 0;
        struct buf b = { 0 };
        struct compression_info info = {
            .params = cases[i].params, .data_bytes = 1, .chunks_count = 1, .offsets = &offset
        };
        compression_info_encode(&info, &b);
        size_t class_bytes = 2 + get_be16(b.data);
        ck_assert_uint_eq(b.size, class_bytes + cases[i].size + 28);
        ck_assert_mem_eq(b.data + class_bytes, cases[i].text, cases[i].size);
        buf_deinit(&b);
    }
}
END_TEST

START_TEST(chunks_stand_where_the_offsets_say)
{
    struct buf b = { 0 };
    struct arena arena = { 0 };
    struct compression_info info;
    struct report report;
    info_build(&b, "LZ4Compressor", NULL, NULL);
    ck_assert_int_eq(info_try(buf_bytes(&b), &info, &arena, &report), OK);
    static const struct chunk_place want[] = { { 0, 996, CHUNK },
                                               { 1000, 996, CHUNK },
                                               { 2000, 496, 8192 } };
    for (size_t i = 0; i < 3; i++) {
        struct chunk_place place = compression_info_chunk(&info, FILE_BYTES, i);
        ck_assert_uint_eq(place.offset, want[i].offset);
        ck_assert_uint_eq(place.stored_bytes, want[i].stored_bytes);
        ck_assert_uint_eq(place.plain_bytes, want[i].plain_bytes);
    }
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

START_TEST(a_chunk_behind_the_last_one_holds_nothing)
{
    struct buf b = { 0 };
    struct arena arena = { 0 };
    struct compression_info info;
    struct report report;
    info_build(&b, "LZ4Compressor", NULL, NULL);
    buf_put_be64(&b, 2400);
    put_be32(b.data + 15 + 4 + 16, 4);
    ck_assert_msg(info_try(buf_bytes(&b), &info, &arena, &report) == OK, "%s", report.text);
    ck_assert_uint_eq(compression_info_chunk(&info, FILE_BYTES, 2).stored_bytes, 396);
    ck_assert_uint_eq(compression_info_chunk(&info, FILE_BYTES, 3).plain_bytes, 0);
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

START_TEST(a_chunk_larger_than_any_compressor_makes_one_is_refused)
{
    uint64_t last = 2000 + chunk_stored_max(CHUNK) + 4;
    for (uint64_t more = 0; more < 2; more++) {
        struct buf b = { 0 };
        struct arena arena = { 0 };
        struct compression_info info;
        struct report report = { 0 };
        info_build(&b, "LZ4Compressor", NULL, NULL);
        ck_assert_int_eq(
            compression_info_decode(buf_bytes(&b), last + more, &arena, &info, &report),
            more ? ERR_CORRUPT : OK);
        arena_deinit(&arena);
        buf_deinit(&b);
    }
}
END_TEST

static void cut_info(struct bytes damaged, size_t at, void *unused)
{
    struct arena arena = { 0 };
    struct compression_info info;
    struct report report;
    (void)at;
    (void)unused;
    ck_assert_int_eq(info_try(damaged, &info, &arena, &report), ERR_CORRUPT);
    arena_deinit(&arena);
}

/* No checksum: what is not refused has all its chunks inside and enough of them. */
static void flip_info(struct bytes damaged, size_t at, void *unused)
{
    struct arena arena = { 0 };
    struct compression_info info;
    struct report report;
    (void)at;
    (void)unused;
    enum err err = info_try(damaged, &info, &arena, &report);
    ck_assert(err == OK || err == ERR_CORRUPT || err == ERR_CONFIG);
    uint64_t plain = 0, end = 0;
    for (size_t i = 0; err == OK && i < info.chunks_count; i++) {
        struct chunk_place place = compression_info_chunk(&info, FILE_BYTES, i);
        ck_assert_uint_eq(place.offset, end);
        ck_assert_uint_le(place.stored_bytes, chunk_stored_max(info.params.chunk_bytes));
        end = place.offset + place.stored_bytes + 4;
        plain += place.plain_bytes;
    }
    ck_assert(err != OK || (plain == info.data_bytes && end == FILE_BYTES));
    arena_deinit(&arena);
}

START_TEST(a_damaged_table_of_chunks_is_refused_or_lies_inside)
{
    struct buf b = { 0 };
    info_build(&b, "ZstdCompressor", "compression_level", "5");
    damage_cut(buf_bytes(&b), cut_info, NULL);
    damage_flip(buf_bytes(&b), flip_info, NULL);
    buf_put_u8(&b, 0);
    cut_info(buf_bytes(&b), 0, NULL);
    buf_deinit(&b);
}
END_TEST

/* ---- CRC.db ---- */

START_TEST(checksums_come_back_and_their_count_must_fit)
{
    uint32_t crcs[] = { 1, UINT32_MAX, 77 };
    struct crc_list list = { .chunk_bytes = CRC_CHUNK_BYTES, .count = 3, .crcs = crcs }, back;
    struct arena arena = { 0 };
    struct buf b = { 0 };
    struct report report = { 0 };
    crc_list_encode(&list, &b);
    ck_assert_uint_eq(b.size, 16);
    static const struct {
        uint64_t file_bytes;
        enum err err;
    } cases[] = { { 131073, OK },          { 196608, OK },
                  { 131072, OK }, /* one behind */
                  { 65536, ERR_CORRUPT },  { 0, ERR_CORRUPT },
                  { 196609, ERR_CORRUPT }, { UINT64_MAX, ERR_CORRUPT } };
    for (size_t i = 0; i < array_count(cases); i++)
        ck_assert_int_eq(
            crc_list_decode(buf_bytes(&b), cases[i].file_bytes, &arena, &back, &report),
            cases[i].err);
    ck_assert_int_eq(crc_list_decode(buf_bytes(&b), 196608, &arena, &back, &report), OK);
    ck_assert_mem_eq(back.crcs, crcs, sizeof crcs);
    for (size_t cut = 0; cut < b.size; cut++)
        ck_assert_int_eq(crc_list_decode(bytes_of(b.data, cut), 196608, &arena, &back, &report),
                         ERR_CORRUPT);
    put_be32(b.data, 0);
    ck_assert_int_eq(crc_list_decode(buf_bytes(&b), 0, &arena, &back, &report), ERR_CORRUPT);
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("compress");
    TCase *t = tcase_create("compress");
    size_t count = array_count(all_params);
    tcase_add_loop_test(t, a_chunk_comes_back_from_every_compressor, 0, (int)count);
    tcase_add_loop_test(t, a_chunk_that_does_not_shrink_is_stored_raw_and_a_short_one_filled_up, 0,
                        (int)count);
    tcase_add_test(t, a_chunk_of_just_the_most_size_is_raw_and_one_byte_less_is_not);
    tcase_add_test(t, zstd_frames_have_their_size_and_a_checksum);
    tcase_add_loop_test(t, a_damaged_chunk_is_refused_and_never_writes_beyond, 0, (int)count);
    tcase_add_loop_test(t, from_the_second_chunk_on_nothing_is_allocated, 0, (int)count);
    tcase_add_test(t, options_of_each_compressor_are_read_and_written_again);
    tcase_add_test(t, without_the_file_s_options_what_is_no_default_is_written);
    tcase_add_test(t, chunks_stand_where_the_offsets_say);
    tcase_add_test(t, a_chunk_behind_the_last_one_holds_nothing);
    tcase_add_test(t, a_chunk_larger_than_any_compressor_makes_one_is_refused);
    tcase_add_test(t, a_damaged_table_of_chunks_is_refused_or_lies_inside);
    tcase_add_test(t, checksums_come_back_and_their_count_must_fit);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
