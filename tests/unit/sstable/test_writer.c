/* test_writer.c - random tables and partitions of everything: written, read back equal, indexed,
 * and counted as a slow reading of the rules counts them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "index_walk.h"
#include "sample_sstable.h"

/* ---- everything that was written, in memory ---- */

struct written {
    struct arena arena;
    struct sample_file file;
    struct table_params params;
    struct statistics statistics; /* as decoded */
    struct layout layout;         /* from the decoded header */
    struct buf data, index, out[COMPONENT_COUNT];
    struct bytes plain;
};

static bool is_coded_apart; /* by code_some */

static void code_some(struct sstable_writer *writer, struct prng *prng)
{
    while (sstable_writer_has_chunk(writer) && prng_chance(prng, 70))
        sstable_writer_code_chunk(writer);
}

static void drain(struct written *w, struct sstable_writer *writer)
{
    struct buf *data = sstable_writer_data(writer), *index = sstable_writer_index(writer);
    buf_put_bytes(&w->data, buf_bytes(data));
    buf_put_bytes(&w->index, buf_bytes(index));
    buf_clear(data);
    buf_clear(index);
    ck_assert_uint_eq(sstable_writer_data_bytes(writer), w->data.size);
    ck_assert_uint_eq(sstable_writer_index_bytes(writer), w->index.size);
}

static void write_partition(struct sstable_writer *writer, const struct sample_partition *p)
{
    sstable_writer_partition(writer, p->key, p->token, p->deletion);
    if (p->static_row)
        sstable_writer_static(writer, p->static_row);
    for (size_t i = 0; i < p->count; i++)
        if (p->unfiltereds[i].kind == UNFILTERED_ROW)
            sstable_writer_row(writer, &p->unfiltereds[i].row);
        else
            sstable_writer_marker(writer, &p->unfiltereds[i].marker);
    sstable_writer_partition_end(writer);
}

static void choose_params(struct written *w)
{
    static const enum compressor kinds[] = { COMPRESSOR_NONE, COMPRESSOR_LZ4, COMPRESSOR_NOOP };
    struct prng *prng = &w->file.prng;
    w->params = table_params_default;
    w->params.compression.kind = kinds[prng_below(prng, array_count(kinds))];
    w->params.compression.chunk_bytes = 1024u << prng_below(prng, 4);
    w->params.min_index_interval = 1 + (int32_t)prng_below(prng, 4);
    if (prng_chance(prng, 20))
        w->params.bloom_filter_fp_chance = 1;
    w->file.table->params = &w->params;
}

static struct bytes unpack(struct written *w)
{
    struct compression_info info;
    struct report report = { 0 };
    struct buf plain = buf_in(&w->arena);
    struct codec codec = { 0 };
    if (w->params.compression.kind == COMPRESSOR_NONE)
        return buf_bytes(&w->data);
    ck_assert_int_eq(compression_info_decode(buf_bytes(&w->out[COMPONENT_COMPRESSION_INFO]),
                                             w->data.size, &w->arena, &info, &report),
                     OK);
    for (size_t i = 0; i < info.chunks_count; i++) {
        struct chunk_place place = compression_info_chunk(&info, w->data.size, i);
        uint8_t *at = buf_take(&plain, place.plain_bytes);
        struct bytes raw = bytes_of(w->data.data + place.offset, place.stored_bytes + 4);
        ck_assert_int_eq(chunk_unpack(&codec, &info.params, raw, true, at, place.plain_bytes), OK);
    }
    codec_deinit(&codec);
    return buf_bytes(&plain);
}

static void written_open(struct written *w, uint64_t seed, size_t partitions, size_t most)
{
    struct report report = { 0 };
    *w = (struct written){ 0 };
    arena_init(&w->arena, 65536);
    sample_file_init(&w->file, seed, &w->arena, partitions, most);
    choose_params(w);
    struct sstable_writer_options options = {
        .version = w->file.version,
        .table = w->file.table,
        .base = w->file.base,
        .keys = w->file.count,
        .column_index_bytes = 200 + (uint32_t)prng_below(&w->file.prng, 400),
        .log_low = { -1, 0 },
        .log_high = { -1, 0 },
        .is_coded_apart = is_coded_apart,
    };
    struct prng moments = { seed };
    struct sstable_writer *writer = sstable_writer_new(&options);
    for (size_t i = 0; i < w->file.count; i++) {
        write_partition(writer, &w->file.partitions[i]);
        ck_assert(is_coded_apart || !sstable_writer_has_chunk(writer));
        code_some(writer, &moments);
        drain(w, writer);
    }
    enum err err = sstable_writer_finish(writer, w->out);
    ck_assert_int_eq(err, w->file.count ? OK : ERR_NOT_FOUND);
    drain(w, writer);
    ck_assert_uint_eq(sstable_writer_partitions(writer), w->file.count);
    sstable_writer_free(&writer);
    ck_assert_int_eq(statistics_decode(w->file.version, buf_bytes(&w->out[COMPONENT_STATISTICS]),
                                       &w->arena, &w->statistics, &report),
                     OK);
    ck_assert_msg(layout_of_header(w->file.version, &w->statistics.header, w->file.table, &w->arena,
                                   &w->layout, &report) == OK,
                  "seed %llu: %s", (unsigned long long)seed, report.text);
    w->plain = unpack(w);
}

static void written_close(struct written *w)
{
    for (size_t i = 0; i < COMPONENT_COUNT; i++)
        buf_deinit(&w->out[i]);
    buf_deinit(&w->data);
    buf_deinit(&w->index);
    table_unref(&w->file.table);
    arena_deinit(&w->arena);
}

/* ---- read back ---- */

struct compare {
    struct walk_sink sink;
    const struct written *w;
    size_t partition, unfiltered; /* the next ones */
    bool has_static;
};

static bool same_deletion(struct deletion a, struct deletion b)
{
    return a.timestamp == b.timestamp && (deletion_is_none(a) || a.seconds == b.seconds);
}

static void assert_same_cell(const struct cell *want, const struct cell *got)
{
    ck_assert_int_eq(want->timestamp, got->timestamp);
    ck_assert_uint_eq(want->column, got->column);
    ck_assert_uint_eq(want->ttl, got->ttl);
    ck_assert_uint_eq(want->seconds, got->seconds);
    ck_assert_uint_eq(want->kind, got->kind);
    ck_assert(bytes_equal(want->path, got->path));
    ck_assert(bytes_equal(want->value, got->value));
}

static void assert_same_row(const struct row *want, const struct row *got)
{
    ck_assert(bytes_equal(want->key, got->key));
    ck_assert(bytes_equal(want->clustering, got->clustering));
    ck_assert_int_eq(want->liveness.timestamp, got->liveness.timestamp);
    ck_assert_uint_eq(want->liveness.ttl, got->liveness.ttl);
    ck_assert_uint_eq(want->liveness.expires, got->liveness.expires);
    ck_assert(same_deletion(want->deletion, got->deletion));
    ck_assert_uint_eq(want->cells_count, got->cells_count);
    for (size_t i = 0; i < want->cells_count; i++)
        assert_same_cell(&want->cells[i], &got->cells[i]);
}

static void compare_partition(struct walk_sink *sink, const struct partition_head *head,
                              uint64_t place)
{
    struct compare *c = owner_of(sink, struct compare, sink);
    ck_assert_uint_lt(c->partition, c->w->file.count);
    const struct sample_partition *want = &c->w->file.partitions[c->partition];
    ck_assert(bytes_equal(head->key, want->key));
    ck_assert(same_deletion(head->deletion, want->deletion));
    c->unfiltered = 0;
    c->has_static = false;
    (void)place;
}

static void compare_unfiltered(struct walk_sink *sink, const struct unfiltered *u, uint64_t place,
                               uint64_t next)
{
    struct compare *c = owner_of(sink, struct compare, sink);
    const struct sample_partition *p = &c->w->file.partitions[c->partition];
    (void)place, (void)next;
    if (u->kind == UNFILTERED_STATIC) {
        c->has_static = true;
        assert_same_row(p->static_row, &u->row);
        return;
    }
    ck_assert_uint_lt(c->unfiltered, p->count);
    const struct unfiltered *want = &p->unfiltereds[c->unfiltered++];
    ck_assert_uint_eq(want->kind, u->kind);
    if (u->kind == UNFILTERED_ROW) {
        assert_same_row(&want->row, &u->row);
        return;
    }
    ck_assert(bytes_equal(want->marker.key, u->marker.key));
    ck_assert(bytes_equal(want->marker.clustering, u->marker.clustering));
    ck_assert(same_deletion(want->marker.before, u->marker.before));
    ck_assert(same_deletion(want->marker.after, u->marker.after));
}

static void compare_end(struct walk_sink *sink, uint64_t place)
{
    struct compare *c = owner_of(sink, struct compare, sink);
    const struct sample_partition *p = &c->w->file.partitions[c->partition++];
    (void)place;
    ck_assert_uint_eq(c->unfiltered, p->count);
    ck_assert(c->has_static == (p->static_row && row_has_anything(p->static_row)));
}

/* ---- what the statistics must say, slowly ---- */

struct slow {
    int64_t timestamp_min, timestamp_max;
    uint64_t seconds_min, seconds_max, ttl_min, ttl_max; /* UINT64_MAX: never */
    bool has_anything, has_ttl, has_partition_deletions;
    uint64_t columns, rows, times;
};

static void slow_time(struct slow *s, int64_t timestamp, uint64_t seconds)
{
    bool is_first = !s->has_anything;
    s->has_anything = true;
    s->timestamp_min = is_first || timestamp < s->timestamp_min ? timestamp : s->timestamp_min;
    s->timestamp_max = is_first || timestamp > s->timestamp_max ? timestamp : s->timestamp_max;
    s->seconds_min = is_first || seconds < s->seconds_min ? seconds : s->seconds_min;
    s->seconds_max = is_first || seconds > s->seconds_max ? seconds : s->seconds_max;
    s->times += seconds != UINT64_MAX;
}

static void slow_ttl(struct slow *s, uint64_t ttl)
{
    s->ttl_min = !s->has_ttl || ttl < s->ttl_min ? ttl : s->ttl_min;
    s->ttl_max = !s->has_ttl || ttl > s->ttl_max ? ttl : s->ttl_max;
    s->has_ttl = true;
}

static void slow_deletion(struct slow *s, struct deletion deletion)
{
    if (!deletion_is_none(deletion))
        slow_time(s, deletion.timestamp, deletion.seconds);
}

static void slow_row(struct slow *s, const struct row *row)
{
    bool has[128] = { false };
    if (row->liveness.timestamp != TIMESTAMP_NONE) {
        slow_time(s, row->liveness.timestamp,
                  row->liveness.ttl ? row->liveness.expires : UINT64_MAX);
        slow_ttl(s, row->liveness.ttl);
    }
    slow_deletion(s, row->deletion);
    for (size_t i = 0; i < row->cells_count; i++) {
        const struct cell *cell = &row->cells[i];
        slow_time(s, cell->timestamp, cell->kind == CELL_LIVE ? UINT64_MAX : cell->seconds);
        if (cell->kind == CELL_COLUMN_DELETED)
            continue;
        slow_ttl(s, cell->kind == CELL_EXPIRING ? cell->ttl : 0);
        s->columns += !has[cell->column];
        has[cell->column] = true;
    }
    s->rows++;
}

static void slow_partition(struct slow *s, const struct sample_partition *p)
{
    s->has_partition_deletions |= !deletion_is_none(p->deletion);
    slow_deletion(s, p->deletion);
    if (p->static_row && row_has_anything(p->static_row))
        slow_row(s, p->static_row);
    for (size_t i = 0; i < p->count; i++) {
        const struct unfiltered *u = &p->unfiltereds[i];
        if (u->kind == UNFILTERED_ROW) {
            slow_row(s, &u->row);
            continue;
        }
        slow_deletion(s, u->marker.before);
        slow_deletion(s, u->marker.after);
    }
}

static uint64_t counted(const struct drop_times *times)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < times->count; i++)
        sum += times->points[i].count;
    return sum;
}

static void check_statistics(const struct written *w)
{
    const struct statistics *s = &w->statistics;
    const struct sample_partition *all = w->file.partitions;
    struct slow slow = { 0 };
    for (size_t i = 0; i < w->file.count; i++)
        slow_partition(&slow, &all[i]);
    ck_assert_int_eq(s->timestamp_min, slow.timestamp_min);
    ck_assert_int_eq(s->timestamp_max, slow.timestamp_max);
    ck_assert_uint_eq(s->seconds_min, u64_min(slow.seconds_min, UINT32_MAX));
    ck_assert_uint_eq(s->seconds_max, u64_min(slow.seconds_max, UINT32_MAX));
    ck_assert_uint_eq(s->ttl_min, slow.ttl_min);
    ck_assert_uint_eq(s->ttl_max, slow.ttl_max);
    ck_assert_uint_eq(s->columns_set, slow.columns);
    ck_assert_uint_eq(s->rows, slow.rows);
    ck_assert_uint_eq(counted(&s->drop_times), slow.times);
    ck_assert_uint_eq(spread_total(&s->partition_bytes), w->file.count);
    if (w->file.version != SSTABLE_OA)
        return;
    ck_assert(s->has_partition_deletions == slow.has_partition_deletions);
    ck_assert(bytes_equal(s->first_key, all[0].key));
    ck_assert(bytes_equal(s->last_key, all[w->file.count - 1].key));
}

/* Every row and bound lies in the covered range, and its ends are places of some. */
static void check_range(const struct written *w)
{
    const struct stats_bound *low = &w->statistics.low, *high = &w->statistics.high;
    size_t at_low = 0, at_high = 0, count = 0;
    for (size_t i = 0; i < w->file.count; i++)
        for (size_t k = 0; k < w->file.partitions[i].count; k++) {
            const struct unfiltered *u = &w->file.partitions[i].unfiltereds[k];
            struct bytes raw = u->kind == UNFILTERED_ROW ? u->row.clustering : u->marker.clustering;
            at_low += bytes_equal(raw, low->clustering);
            at_high += bytes_equal(raw, high->clustering);
            count++;
        }
    if (w->file.version != SSTABLE_OA)
        return;
    ck_assert_uint_eq(low->kind, count == 0 || low->kind == 7 ? 7 : 1);
    ck_assert_uint_eq(high->kind, count == 0 || high->kind == 0 ? 0 : 6);
    ck_assert(count == 0 || (at_low && at_high));
}

static void check_rest(const struct written *w)
{
    uint32_t digest = 0;
    ck_assert(sstable_digest_decode(buf_bytes(&w->out[COMPONENT_DIGEST]), &digest));
    ck_assert_uint_eq(digest, crc32_of(0, buf_bytes(&w->data)));
    unsigned components = sstable_toc_decode(buf_bytes(&w->out[COMPONENT_TOC]));
    for (unsigned c = 0; c < COMPONENT_COUNT; c++) {
        bool is_there = w->out[c].size || c == COMPONENT_DATA || c == COMPONENT_INDEX;
        ck_assert((components >> c & 1) == is_there);
    }
    ck_assert(!w->out[COMPONENT_FILTER].size == (w->params.bloom_filter_fp_chance == 1));
    ck_assert(!w->out[COMPONENT_CRC].size == (w->params.compression.kind != COMPRESSOR_NONE));
    ck_assert(!w->out[COMPONENT_COMPRESSION_INFO].size ==
              (w->params.compression.kind == COMPRESSOR_NONE));
}

START_TEST(what_is_written_is_read_and_counted)
{
    struct written w;
    uint64_t begin = (uint64_t)_i * 50;
    for (uint64_t seed = begin; seed < begin + 50; seed++) {
        written_open(&w, seed, 1 + seed % 7, 30);
        struct compare c = { .sink = { compare_partition, compare_unfiltered, compare_end },
                             .w = &w };
        ck_assert_int_eq(walk_stream(&w.layout, w.plain, &c.sink), OK);
        ck_assert_uint_eq(c.partition, w.file.count);
        index_walk(&w.layout, w.plain, buf_bytes(&w.index));
        check_statistics(&w);
        check_range(&w);
        check_rest(&w);
        written_close(&w);
    }
}
END_TEST

/* ---- damage ---- */

static void try_entries(const struct layout *layout, struct bytes index)
{
    struct index_entry entry;
    struct arena arena = { 0 };
    size_t wanted;
    for (size_t at = 0; at < index.size; at += entry.size_bytes) {
        struct bytes rest = bytes_of(index.data + at, index.size - at);
        if (index_entry_decode(rest, &entry, &wanted) != OK || entry.size_bytes > rest.size)
            break;
        struct column_index columns;
        struct bytes own = bytes_of(rest.data + entry.head_bytes, entry.column_index_bytes);
        if (!own.size ||
            column_index_decode(layout->version, own, entry.column_index_bytes, &columns) != OK)
            continue;
        for (uint32_t i = 0; i < columns.blocks_count; i++) {
            struct index_block block;
            uint64_t offset =
                columns.blocks_at + (uint64_t)get_be32(own.data + columns.offsets_at + 4ull * i);
            if (offset >= columns.offsets_at)
                continue;
            struct bytes window =
                bytes_of(own.data + offset, (size_t)(columns.offsets_at - offset));
            enum err err = index_block_decode(layout, window, &arena, &block, &wanted);
            ck_assert(err == OK || err == ERR_CORRUPT || err == ERR_WOULD_WAIT);
            ck_assert(err != ERR_WOULD_WAIT || wanted > window.size);
        }
    }
    arena_deinit(&arena);
}

static void try_stream(const struct layout *layout, struct bytes plain)
{
    enum err err = walk_stream(layout, plain, NULL);
    ck_assert(err == OK || err == ERR_CORRUPT);
}

/* Every bit of it wrong, then every begin of it, each in memory of its own size. */
static void damage(const struct layout *layout, struct bytes whole,
                   void (*try)(const struct layout *, struct bytes))
{
    uint8_t *copy = mem_alloc(whole.size);
    memcpy(copy, whole.data, whole.size);
    for (size_t bit = 0; bit < whole.size * 8; bit++) {
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        try(layout, bytes_of(copy, whole.size));
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    mem_free(copy);
    for (size_t size = 0; size < whole.size; size++) {
        copy = mem_alloc(size);
        if (size)
            memcpy(copy, whole.data, size);
        try(layout, bytes_of(copy, size));
        mem_free(copy);
    }
}

START_TEST(chunks_that_are_coded_apart_are_the_same)
{
    struct written inside, apart;
    written_open(&inside, (uint64_t)_i, 30, 30);
    is_coded_apart = true;
    written_open(&apart, (uint64_t)_i, 30, 30);
    is_coded_apart = false;
    ck_assert(bytes_equal(buf_bytes(&inside.data), buf_bytes(&apart.data)));
    ck_assert(bytes_equal(buf_bytes(&inside.index), buf_bytes(&apart.index)));
    for (size_t i = 0; i < COMPONENT_COUNT; i++)
        ck_assert(bytes_equal(buf_bytes(&inside.out[i]), buf_bytes(&apart.out[i])));
    written_close(&inside);
    written_close(&apart);
}
END_TEST

START_TEST(damaged_bytes_are_never_more_than_corrupt)
{
    struct written w;
    written_open(&w, 1000 + (uint64_t)_i, 2, 4);
    damage(&w.layout, w.plain, try_stream);
    damage(&w.layout, buf_bytes(&w.index), try_entries);
    written_close(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("writer");
    TCase *t = tcase_create("writer");
    tcase_add_loop_test(t, what_is_written_is_read_and_counted, 0, 20);
    tcase_add_loop_test(t, chunks_that_are_coded_apart_are_the_same, 0, 20);
    tcase_add_loop_test(t, damaged_bytes_are_never_more_than_corrupt, 0, 25);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
