/* test_golden.c - what Cassandra wrote is read, and written again it is the same, byte for byte:
 * every component but Data.db and Index.db, of every golden table.
 *
 * What may differ is named where it is compared. */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "golden.h"

static void assert_same(const struct golden *g, enum sstable_component component, struct bytes got)
{
    struct bytes want = g->files[component];
    size_t i = 0;
    while (i < want.size && i < got.size && want.data[i] == got.data[i])
        i++;
    ck_assert_msg(bytes_equal(want, got), "%s: %s of %zu bytes, written again has %zu; at %zu",
                  g->folder, sstable_component_name(component), want.size, got.size, i);
}

static void assert_ok(const struct golden *g, enum err err, const struct report *report)
{
    ck_assert_msg(err == OK, "%s: %s", g->folder, report->text);
}

static struct statistics *statistics_of(const struct golden *g, struct arena *arena)
{
    struct report report = { 0 };
    struct statistics *s = arena_new(arena, struct statistics);
    assert_ok(g,
              statistics_decode(g->name.version, g->files[COMPONENT_STATISTICS], arena, s, &report),
              &report);
    return s;
}

/* ---- names, TOC, digest ---- */

static void check_toc(const struct golden *g)
{
    struct buf out = { 0 };
    ck_assert_msg(sstable_toc_decode(g->files[COMPONENT_TOC]) == g->components, "%s", g->folder);
    sstable_toc_encode(g->components, &out);
    ck_assert_uint_eq(out.size, g->files[COMPONENT_TOC].size); /* the order of lines may differ */
    ck_assert_uint_eq(sstable_toc_decode(buf_bytes(&out)), g->components);
    buf_deinit(&out);
}

static void check_digest(const struct golden *g)
{
    uint32_t digest = 0;
    struct buf out = { 0 };
    ck_assert(sstable_digest_decode(g->files[COMPONENT_DIGEST], &digest));
    ck_assert_uint_eq(digest, crc32_of(0, g->files[COMPONENT_DATA]));
    sstable_digest_encode(digest, &out);
    assert_same(g, COMPONENT_DIGEST, buf_bytes(&out));
    buf_deinit(&out);
}

/* ---- chunks ---- */

struct plain { /* what the chunks of a table unpack to */
    struct compression_info info;
    struct codec codec;
    struct buf bytes;
};

static struct bytes chunk_raw(const struct golden *g, const struct chunk_place *place)
{
    return bytes_of(g->files[COMPONENT_DATA].data + place->offset, place->stored_bytes + 4);
}

static void check_chunk(const struct golden *g, struct plain *p, size_t i)
{
    struct bytes data = g->files[COMPONENT_DATA];
    struct chunk_place place = compression_info_chunk(&p->info, data.size, i);
    if (!place.plain_bytes)
        return;
    uint8_t *plain = mem_alloc(place.plain_bytes), *again = mem_alloc(place.plain_bytes);
    ck_assert_msg(chunk_unpack(&p->codec, &p->info.params, chunk_raw(g, &place), true, plain,
                               place.plain_bytes) == OK,
                  "%s: chunk %zu", g->folder, i);
    buf_put(&p->bytes, plain, place.plain_bytes);
    /* Packed again it may have other bytes, and must come back. */
    struct buf out = { 0 };
    uint32_t stored = 0;
    chunk_pack(&p->codec, &p->info.params, bytes_of(plain, place.plain_bytes), &out, &stored);
    ck_assert_uint_eq(out.size, stored + 4);
    bool was_raw = place.stored_bytes >= p->info.params.max_compressed_bytes;
    ck_assert(was_raw == (stored >= p->info.params.max_compressed_bytes));
    ck_assert_int_eq(
        chunk_unpack(&p->codec, &p->info.params, buf_bytes(&out), true, again, place.plain_bytes),
        OK);
    ck_assert_mem_eq(plain, again, place.plain_bytes);
    buf_deinit(&out);
    mem_free(plain);
    mem_free(again);
}

static void check_compressed(const struct golden *g, struct arena *arena)
{
    struct plain p = { 0 };
    struct report report = { 0 };
    struct buf out = { 0 };
    struct bytes file = g->files[COMPONENT_COMPRESSION_INFO];
    assert_ok(g,
              compression_info_decode(file, g->files[COMPONENT_DATA].size, arena, &p.info, &report),
              &report);
    compression_info_encode(&p.info, &out);
    assert_same(g, COMPONENT_COMPRESSION_INFO, buf_bytes(&out));
    for (size_t i = 0; i < p.info.chunks_count; i++)
        check_chunk(g, &p, i);
    ck_assert_uint_eq(p.bytes.size, p.info.data_bytes);
    buf_deinit(&out);
    buf_deinit(&p.bytes);
    codec_deinit(&p.codec);
}

static void check_crcs(const struct golden *g, struct arena *arena)
{
    struct crc_list list;
    struct report report = { 0 };
    struct buf out = { 0 };
    struct bytes data = g->files[COMPONENT_DATA];
    assert_ok(g, crc_list_decode(g->files[COMPONENT_CRC], data.size, arena, &list, &report),
              &report);
    for (size_t i = 0; i < list.count; i++) {
        size_t at = u64_min(i * list.chunk_bytes, data.size);
        size_t size = u64_min(list.chunk_bytes, data.size - at);
        ck_assert_uint_eq(list.crcs[i], crc32_of(0, bytes_of(data.data + at, size)));
    }
    crc_list_encode(&list, &out);
    assert_same(g, COMPONENT_CRC, buf_bytes(&out));
    buf_deinit(&out);
}

static void check_data(const struct golden *g)
{
    struct arena arena = { 0 };
    if (g->components >> COMPONENT_COMPRESSION_INFO & 1)
        check_compressed(g, &arena);
    else
        check_crcs(g, &arena);
    arena_deinit(&arena);
}

/* ---- summary and filter, made anew from the index ---- */

static void check_summary(const struct golden *g)
{
    struct summary summary;
    struct summary_builder builder;
    struct report report = { 0 };
    struct buf out = { 0 };
    assert_ok(g, summary_decode(g->files[COMPONENT_SUMMARY], &summary, &report), &report);
    summary_builder_init(&builder, summary.min_index_interval);
    struct cursor index = cursor_of(g->files[COMPONENT_INDEX]);
    struct bytes key;
    uint64_t place, at = 0;
    for (uint32_t i = 0; golden_index_next(&index, &key, &place); i++) {
        summary_builder_add(&builder, key, at);
        if (i % summary.min_index_interval == 0) {
            ck_assert(bytes_equal(summary_key(&summary, i / summary.min_index_interval), key));
            ck_assert_uint_eq(summary_place(&summary, i / summary.min_index_interval), at);
        }
        at = (uint64_t)(index.at - g->files[COMPONENT_INDEX].data);
    }
    summary_builder_encode(&builder, &out);
    assert_same(g, COMPONENT_SUMMARY, buf_bytes(&out));
    summary_builder_deinit(&builder);
    buf_deinit(&out);
}

static uint64_t count_keys(const struct golden *g)
{
    struct cursor index = cursor_of(g->files[COMPONENT_INDEX]);
    struct bytes key;
    uint64_t place, keys = 0;
    while (golden_index_next(&index, &key, &place))
        keys++;
    return keys;
}

static void check_filter(const struct golden *g)
{
    struct arena arena = { 0 };
    struct filter stored;
    struct report report = { 0 };
    struct filter_shape shape = filter_shape_of(statistics_of(g, &arena)->fp_chance);
    struct bytes file = g->files[COMPONENT_FILTER];
    ck_assert_uint_eq(!shape.hashes, !(g->components >> COMPONENT_FILTER & 1));
    if (shape.hashes) {
        assert_ok(g, filter_decode_head(file, file.size, &stored, &report), &report);
        ck_assert_uint_eq(stored.hashes, shape.hashes);
        ck_assert_uint_eq(stored.words, filter_words(shape, count_keys(g)));
        struct filter made = { .hashes = shape.hashes, .words = stored.words };
        made.bits = arena_array(&arena, uint8_t, stored.words * 8);
        struct cursor index = cursor_of(g->files[COMPONENT_INDEX]);
        struct bytes key;
        uint64_t place, hash[2];
        while (golden_index_next(&index, &key, &place)) {
            murmur3_cassandra(key, hash);
            filter_add(&made, hash);
            ck_assert(filter_has(&made, hash));
        }
        struct buf out = buf_in(&arena);
        filter_encode(&made, &out);
        assert_same(g, COMPONENT_FILTER, buf_bytes(&out));
    }
    arena_deinit(&arena);
}

/* ---- statistics ---- */

static void check_statistics(const struct golden *g)
{
    struct arena arena = { 0 };
    struct statistics *s = statistics_of(g, &arena);
    struct buf out = buf_in(&arena);
    statistics_encode(s, &out);
    assert_same(g, COMPONENT_STATISTICS, buf_bytes(&out));
    ck_assert_uint_eq(spread_total(&s->partition_bytes), count_keys(g));
    ck_assert_uint_eq(spread_total(&s->partition_cells), count_keys(g));
    struct spread fresh;
    spread_init(&fresh, g->name.version == SSTABLE_OA ? SPREAD_SIZES_OA : s->partition_bytes.count);
    ck_assert_uint_eq(fresh.count, s->partition_bytes.count);
    ck_assert_mem_eq(fresh.offsets, s->partition_bytes.offsets, sizeof fresh.offsets);
    spread_init(&fresh, SPREAD_CELLS);
    ck_assert_uint_eq(fresh.count, s->partition_cells.count);
    ck_assert_mem_eq(fresh.offsets, s->partition_cells.offsets, sizeof fresh.offsets);
    arena_deinit(&arena);
}

/* From the keys of the index the sketch is Cassandra's, byte for byte; and first and last key. */
static void check_keys(const struct golden *g)
{
    struct arena arena = { 0 };
    struct statistics *s = statistics_of(g, &arena);
    struct cardinality made, read;
    struct report report = { 0 };
    struct buf out = buf_in(&arena), again = buf_in(&arena);
    cardinality_init(&made);
    struct cursor index = cursor_of(g->files[COMPONENT_INDEX]);
    struct bytes key, first = { 0 };
    uint64_t place, keys = 0;
    for (; golden_index_next(&index, &key, &place); keys++) {
        first = keys ? first : key;
        cardinality_add(&made, key);
    }
    cardinality_encode(&made, &out);
    ck_assert_msg(bytes_equal(buf_bytes(&out), s->cardinality), "%s", g->folder);
    ck_assert_uint_eq(cardinality_estimate(&made), keys);
    assert_ok(g, cardinality_decode(s->cardinality, &read, &report), &report);
    cardinality_encode(&read, &again);
    ck_assert(bytes_equal(buf_bytes(&again), s->cardinality));
    if (g->name.version == SSTABLE_OA) {
        ck_assert(bytes_equal(s->first_key, first));
        ck_assert(bytes_equal(s->last_key, key));
    }
    cardinality_deinit(&made);
    cardinality_deinit(&read);
    arena_deinit(&arena);
}

#define GOLDEN_TEST(name, check)                                             \
    START_TEST(name) { printf(#name ": %zu tables\n", golden_walk(check)); } \
    END_TEST

GOLDEN_TEST(the_toc_names_what_is_there, check_toc)
GOLDEN_TEST(the_digest_is_of_the_stored_data, check_digest)
GOLDEN_TEST(chunks_unpack_and_their_table_is_written_the_same, check_data)
GOLDEN_TEST(a_summary_made_from_the_index_is_the_same, check_summary)
GOLDEN_TEST(a_filter_made_from_the_keys_is_the_same, check_filter)
GOLDEN_TEST(statistics_are_written_the_same, check_statistics)
GOLDEN_TEST(a_sketch_made_from_the_keys_is_the_same, check_keys)

int main(void)
{
    Suite *s = suite_create("golden");
    TCase *t = tcase_create("golden");
    tcase_add_test(t, the_toc_names_what_is_there);
    tcase_add_test(t, the_digest_is_of_the_stored_data);
    tcase_add_test(t, chunks_unpack_and_their_table_is_written_the_same);
    tcase_add_test(t, a_summary_made_from_the_index_is_the_same);
    tcase_add_test(t, a_filter_made_from_the_keys_is_the_same);
    tcase_add_test(t, statistics_are_written_the_same);
    tcase_add_test(t, a_sketch_made_from_the_keys_is_the_same);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
