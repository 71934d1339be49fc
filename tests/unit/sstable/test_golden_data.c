/* test_golden_data.c - the rows of every golden table: read through Data.db and Index.db, dumped as
 * Cassandra dumped them, and written again.
 *
 * Written again with the same settings, every component is the same byte for byte, but for what is
 * named here:
 *
 * - Compressed bytes, where another version of a compressor chose other ones.  Then the plain bytes
 *   and the number of chunks are the same, and Digest.crc32, the offsets in CompressionInfo.db and
 *   the ratio in Statistics.db follow the bytes that there are.
 * - Options in CompressionInfo.db that were given and are the compressor's defaults: the table
 * means the same without them, and they are not written.
 * - The order of lines in TOC.txt.
 */
// SPDX-License-Identifier: Apache-2.0
#include "golden.h"
#include "index_walk.h"
#include "sstable/dump.h"

struct whole { /* one table, open */
    const struct golden *g;
    struct arena arena;
    struct statistics statistics;
    struct compression_info info;
    struct table *table;
    struct table_params params;
    struct layout layout;
    struct bytes plain;
};

static void assert_ok(const struct golden *g, enum err err, const struct report *report)
{
    ck_assert_msg(err == OK, "%s: %s", g->folder, report->text);
}

static struct bytes plain_of(struct whole *w)
{
    struct bytes data = w->g->files[COMPONENT_DATA];
    struct codec codec = { 0 };
    struct buf plain = buf_in(&w->arena);
    if (w->info.params.kind == COMPRESSOR_NONE)
        return data;
    for (size_t i = 0; i < w->info.chunks_count; i++) {
        struct chunk_place place = compression_info_chunk(&w->info, data.size, i);
        struct bytes raw = bytes_of(data.data + place.offset, place.stored_bytes + 4);
        uint8_t *out = buf_take(&plain, place.plain_bytes);
        ck_assert_int_eq(chunk_unpack(&codec, &w->info.params, raw, true, out, place.plain_bytes),
                         OK);
    }
    codec_deinit(&codec);
    return buf_bytes(&plain);
}

static void whole_open(struct whole *w, const struct golden *g)
{
    struct report report = { 0 };
    struct summary summary;
    *w = (struct whole){ .g = g };
    arena_init(&w->arena, 65536);
    assert_ok(g,
              statistics_decode(g->name.version, g->files[COMPONENT_STATISTICS], &w->arena,
                                &w->statistics, &report),
              &report);
    if (g->components >> COMPONENT_COMPRESSION_INFO & 1)
        assert_ok(g,
                  compression_info_decode(g->files[COMPONENT_COMPRESSION_INFO],
                                          g->files[COMPONENT_DATA].size, &w->arena, &w->info,
                                          &report),
                  &report);
    assert_ok(g, summary_decode(g->files[COMPONENT_SUMMARY], &summary, &report), &report);
    w->table = layout_table(&w->statistics.header, "golden", "table");
    w->params = table_params_default;
    w->params.compression = w->info.params;
    w->params.bloom_filter_fp_chance = w->statistics.fp_chance;
    w->params.min_index_interval = (int32_t)summary.min_index_interval;
    w->table->params = &w->params;
    assert_ok(g,
              layout_of_header(g->name.version, &w->statistics.header, w->table, &w->arena,
                               &w->layout, &report),
              &report);
    w->plain = plain_of(w);
}

static void whole_close(struct whole *w)
{
    table_unref(&w->table);
    arena_deinit(&w->arena);
}

/* ---- data and index agree ---- */

static void check_index(const struct golden *g)
{
    struct whole w;
    whole_open(&w, g);
    index_walk(&w.layout, w.plain, g->files[COMPONENT_INDEX]);
    whole_close(&w);
}

/* ---- the dump ---- */

struct dump_sink {
    struct walk_sink sink;
    struct dump dump;
    struct partition_head head;
    uint64_t place;
    bool is_begun;
};

/* 5.0 gives a partition the position of what comes first in it, behind the static row. */
static void dump_begun(struct dump_sink *s, uint64_t position)
{
    if (!s->is_begun)
        dump_partition(&s->dump, s->head.key, s->head.deletion, position);
    s->is_begun = true;
}

static void dump_on_partition(struct walk_sink *sink, const struct partition_head *head,
                              uint64_t place)
{
    struct dump_sink *s = owner_of(sink, struct dump_sink, sink);
    s->head = *head;
    s->place = place;
    s->is_begun = false;
    if (s->dump.layout->version == SSTABLE_NB)
        dump_begun(s, place);
}

static void dump_on_unfiltered(struct walk_sink *sink, const struct unfiltered *u, uint64_t place,
                               uint64_t next)
{
    struct dump_sink *s = owner_of(sink, struct dump_sink, sink);
    dump_begun(s, u->kind == UNFILTERED_STATIC ? next : place);
    if (u->kind == UNFILTERED_MARKER)
        dump_marker(&s->dump, &u->marker);
    else
        dump_row(&s->dump, &u->row, u->kind == UNFILTERED_STATIC ? next : place);
}

static void dump_on_end(struct walk_sink *sink, uint64_t place)
{
    struct dump_sink *s = owner_of(sink, struct dump_sink, sink);
    dump_begun(s, place - 1);
    dump_partition_end(&s->dump);
}

/* Floats and doubles have several texts (Java's is not always the shortest): one for all of them. A
 * text of up to nine digits may be a float's. */
static size_t number_put(struct bytes text, struct buf *out)
{
    char copy[64] = { 0 }, *end;
    memcpy(copy, text.data, u64_min(text.size, sizeof copy - 1));
    double number = strtod(copy, &end);
    size_t size = (size_t)(end - copy), digits = 0;
    bool is_real = false;
    for (size_t i = 0; i < size; i++) {
        is_real |= copy[i] == '.' || copy[i] == 'E';
        digits += copy[i] >= '0' && copy[i] <= '9';
    }
    bool is_float = digits <= 12 && number > -3e38 && number < 3e38;
    if (is_real)
        buf_printf(out, "%.*g", is_float ? 9 : 17, is_float ? (double)(float)number : number);
    else
        buf_put(out, copy, size);
    return size;
}

static size_t left_out(struct bytes text)
{
    static const char *const pieces[] = { ",\"expired\":true", ",\"expired\":false",
                                          "\"table kind\":\"REGULAR\"," };
    for (size_t i = 0; i < array_count(pieces); i++) {
        size_t size = strlen(pieces[i]);
        if (text.size >= size && memcmp(text.data, pieces[i], size) == 0)
            return size;
    }
    return 0;
}

/* A dump in the form that is compared: without what depends on the hour, without what 4.1 does not
 * say, numbers that are equal in one form. */
static struct bytes dump_plain(struct arena *arena, struct bytes dump)
{
    struct buf out = buf_in(arena);
    bool is_string = false;
    for (size_t i = 0, more; i < dump.size; i += more) {
        struct bytes rest = bytes_of(dump.data + i, dump.size - i);
        uint8_t c = rest.data[0];
        bool is_number = !is_string && (c == '-' || (c >= '0' && c <= '9'));
        more = left_out(rest);
        if (more)
            continue;
        more = is_number ? number_put(rest, &out) : is_string && c == '\\' ? 2 : 1;
        if (!is_number)
            buf_put(&out, rest.data, more);
        is_string ^= c == '"';
    }
    return buf_bytes(&out);
}

static void check_dump(const struct golden *g)
{
    char path[640];
    struct stat at;
    snprintf(path, sizeof path, "%s/dump.jsonl", g->folder);
    if (stat(path, &at))
        return;
    struct whole w;
    whole_open(&w, g);
    struct buf out = buf_in(&w.arena);
    struct dump_sink s = { .sink = { dump_on_partition, dump_on_unfiltered, dump_on_end },
                           .dump = { .has_raw_times = true, .is_lines = true } };
    dump_begin(&s.dump, &w.layout, &out);
    ck_assert_int_eq(walk_stream(&w.layout, w.plain, &s.sink), OK);
    dump_end(&s.dump);
    struct bytes file = golden_read(path);
    struct bytes want = dump_plain(&w.arena, file), got = dump_plain(&w.arena, buf_bytes(&out));
    size_t i = 0;
    while (i < want.size && i < got.size && want.data[i] == got.data[i])
        i++;
    size_t from = i > 60 ? i - 60 : 0;
    ck_assert_msg(bytes_equal(want, got), "%s: at %zu\nwant %.*s\ngot  %.*s", g->folder, i,
                  (int)u64_min(160, want.size - from), want.data + from,
                  (int)u64_min(160, got.size - from), got.data + from);
    mem_free((void *)file.data);
    whole_close(&w);
}

/* ---- written again ---- */

struct write_sink {
    struct walk_sink sink;
    struct sstable_writer *writer;
    enum partitioner partitioner;
    struct buf data, index;
};

static void drain(struct write_sink *s)
{
    struct buf *data = sstable_writer_data(s->writer), *index = sstable_writer_index(s->writer);
    buf_put_bytes(&s->data, buf_bytes(data));
    buf_put_bytes(&s->index, buf_bytes(index));
    buf_clear(data);
    buf_clear(index);
}

static void write_partition(struct walk_sink *sink, const struct partition_head *head,
                            uint64_t place)
{
    struct write_sink *s = owner_of(sink, struct write_sink, sink);
    (void)place;
    sstable_writer_partition(s->writer, head->key, partitioner_token(s->partitioner, head->key),
                             head->deletion);
}

static void write_unfiltered(struct walk_sink *sink, const struct unfiltered *u, uint64_t place,
                             uint64_t next)
{
    struct write_sink *s = owner_of(sink, struct write_sink, sink);
    (void)place, (void)next;
    if (u->kind == UNFILTERED_STATIC)
        sstable_writer_static(s->writer, &u->row);
    else if (u->kind == UNFILTERED_ROW)
        sstable_writer_row(s->writer, &u->row);
    else
        sstable_writer_marker(s->writer, &u->marker);
}

static void write_end(struct walk_sink *sink, uint64_t place)
{
    struct write_sink *s = owner_of(sink, struct write_sink, sink);
    (void)place;
    sstable_writer_partition_end(s->writer);
    drain(s);
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

static struct sstable_writer_options options_of(const struct whole *w)
{
    const struct statistics *s = &w->statistics;
    bool is_wide = strstr(w->g->folder, "/wide"), is_legacy = strstr(w->g->folder, "/legacy_");
    return (struct sstable_writer_options){
        .version = w->g->name.version,
        .table = w->table,
        .partitioner = s->partitioner,
        .base = s->header.base,
        .keys = count_keys(w->g),
        .column_index_bytes = is_wide     ? 1024
                              : is_legacy ? 4096
                                          : 0,
        .has_host = s->has_host,
        .host = s->host,
        .log_low = s->log_low,
        .log_high = s->log_high,
        .log_intervals = s->log_intervals,
        .log_intervals_count = s->log_intervals_count,
        .level = s->level,
        .repaired_at = s->repaired_at,
        .has_pending_repair = s->has_pending_repair,
        .pending_repair = s->pending_repair,
        .is_transient = s->is_transient,
    };
}

static void assert_same(const struct golden *g, const char *what, struct bytes want,
                        struct bytes got)
{
    size_t i = 0;
    while (i < want.size && i < got.size && want.data[i] == got.data[i])
        i++;
    ck_assert_msg(bytes_equal(want, got), "%s: %s of %zu bytes, written again has %zu; at %zu",
                  g->folder, what, want.size, got.size, i);
}

/* The golden file's own, without options that are defaults. */
static struct bytes compression_info_of(struct whole *w)
{
    struct buf out = buf_in(&w->arena);
    struct compression_info info = w->info;
    info.options = (struct bytes){ 0 };
    compression_info_encode(&info, &out);
    return buf_bytes(&out);
}

/* Another version of the compressor: what must be the same all the same. */
static void check_other_compression(struct whole *w, struct bytes data,
                                    struct buf out[COMPONENT_COUNT])
{
    struct whole again = *w;
    struct golden other = *w->g;
    struct report report = { 0 };
    other.files[COMPONENT_DATA] = data;
    again.g = &other;
    assert_ok(w->g,
              compression_info_decode(buf_bytes(&out[COMPONENT_COMPRESSION_INFO]), data.size,
                                      &again.arena, &again.info, &report),
              &report);
    ck_assert_uint_eq(again.info.chunks_count, w->info.chunks_count);
    size_t head = out[COMPONENT_COMPRESSION_INFO].size - again.info.chunks_count * 8;
    ck_assert_mem_eq(out[COMPONENT_COMPRESSION_INFO].data, compression_info_of(w).data, head);
    assert_same(w->g, "the plain stream", w->plain, plain_of(&again));
    printf("  %s: compressed otherwise\n", w->g->folder);
}

static void check_components(struct whole *w, const struct write_sink *s,
                             struct buf out[COMPONENT_COUNT])
{
    const struct golden *g = w->g;
    bool is_same_data = bytes_equal(g->files[COMPONENT_DATA], buf_bytes(&s->data));
    if (!is_same_data && w->info.params.kind != COMPRESSOR_NONE)
        check_other_compression(w, buf_bytes(&s->data), out);
    else
        assert_same(g, "Data.db", g->files[COMPONENT_DATA], buf_bytes(&s->data));
    assert_same(g, "Index.db", g->files[COMPONENT_INDEX], buf_bytes(&s->index));
    for (enum sstable_component c = COMPONENT_STATISTICS; c < COMPONENT_COUNT; c++) {
        bool follows_data =
            c == COMPONENT_STATISTICS || c == COMPONENT_COMPRESSION_INFO || c == COMPONENT_DIGEST;
        if (c == COMPONENT_TOC)
            ck_assert_uint_eq(sstable_toc_decode(buf_bytes(&out[c])), g->components);
        else if (is_same_data || !follows_data)
            assert_same(g, sstable_component_name(c),
                        c == COMPONENT_COMPRESSION_INFO && g->files[c].size ? compression_info_of(w)
                                                                            : g->files[c],
                        buf_bytes(&out[c]));
    }
}

static void check_rewrite(const struct golden *g)
{
    struct whole w;
    struct buf out[COMPONENT_COUNT] = { 0 };
    whole_open(&w, g);
    struct sstable_writer_options options = options_of(&w);
    struct write_sink s = { .sink = { write_partition, write_unfiltered, write_end },
                            .writer = sstable_writer_new(&options),
                            .partitioner = w.statistics.partitioner };
    ck_assert_int_eq(walk_stream(&w.layout, w.plain, &s.sink), OK);
    ck_assert_int_eq(sstable_writer_finish(s.writer, out), OK);
    drain(&s);
    check_components(&w, &s, out);
    for (size_t c = 0; c < COMPONENT_COUNT; c++)
        buf_deinit(&out[c]);
    buf_deinit(&s.data);
    buf_deinit(&s.index);
    sstable_writer_free(&s.writer);
    whole_close(&w);
}

#define GOLDEN_TEST(name, check)                                             \
    START_TEST(name) { printf(#name ": %zu tables\n", golden_walk(check)); } \
    END_TEST

GOLDEN_TEST(the_index_tells_where_everything_is, check_index)
GOLDEN_TEST(the_dump_is_what_cassandra_dumped, check_dump)
GOLDEN_TEST(written_again_it_is_the_same_byte_for_byte, check_rewrite)

int main(void)
{
    Suite *s = suite_create("golden_data");
    TCase *t = tcase_create("golden_data");
    tcase_add_test(t, the_index_tells_where_everything_is);
    tcase_add_test(t, the_dump_is_what_cassandra_dumped);
    tcase_add_test(t, written_again_it_is_the_same_byte_for_byte);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
