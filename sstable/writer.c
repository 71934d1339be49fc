/* writer.c - one SSTable in one pass: rows in, components out.
 *
 *     rows ──> plain ──a chunk at a time──> data (the owner drains it) ──> digest
 *       │                                   offsets or checksums of chunks
 *       ├────> index (the owner drains it), sample of it, filter
 *       └────> writer_stats
 *
 * Invariants: 1. Partitions ascend by token, then key; rows and bounds ascend in each.  2. A range
 * that is open is closed in the same partition, and each bound closes what was opened.  3. `plain`
 * holds what of the stream is not packed yet: less than a chunk between two calls, unless chunks
 * are coded apart; then its beginning may be packed already, until all that waits is.
 *
 * Rows may hold cells of columns that were dropped since: they are left out, and with them rows and
 * partitions of which nothing is left.
 *
 * Not here: files.  The owner writes data and index where it likes, whenever it likes, and the
 * other components when all is done.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sstable/writer.h"

#include "base/hash.h"
#include "base/mem.h"
#include "sstable/compress.h"
#include "sstable/filter.h"
#include "sstable/writer_stats.h"

#include <math.h>

enum { END_OF_PARTITION = 0x01, DEFAULT_COLUMN_INDEX_BYTES = 65536 };
enum { AHEAD = 4 }; /* partitions whose words of the filter are being fetched */
enum writer_state { BETWEEN_PARTITIONS, AT_STATIC, AT_ROWS };

struct sstable_writer {
    struct arena arena;
    const struct table_params *params;
    struct layout layout;
    struct statistics statistics;
    struct writer_stats stats;
    struct filter filter;
    struct filter_places places[AHEAD]; /* of the last keys, not in the filter yet */
    struct summary_builder summary;
    struct index_builder blocks;
    struct codec codec;

    struct buf plain;      /* of the stream, the last of it */
    size_t coded;          /* of them: packed already */
    size_t due;            /* of them: stay, whatever becomes of the partition */
    bool is_coded_apart;   /* by who owns the writer */
    uint64_t packed_bytes; /* of the plain stream */
    uint32_t chunk_bytes;
    struct buf data, index;
    uint64_t data_bytes, index_bytes; /* put into them, drained or not */
    uint64_t payload_bytes;           /* of chunks, without their checksums */
    uint32_t digest;
    struct buf chunks; /* uint64_t offsets of chunks; or uint32_t checksums of them */

    enum writer_state state;
    uint64_t partitions;
    int64_t first_token, last_token; /* of those that stayed */
    int64_t token;                   /* of the partition */
    struct buf key;                  /* of the partition, or of the last one */
    struct deletion deletion;
    uint64_t partition_at, header_bytes;
    uint64_t previous_at; /* where the last row or marker began, in the partition */
    bool has_unfiltered, has_static;
    uint8_t last_kind;
    struct buf last_key; /* comparable, of the last row or marker */
    struct buf last_raw;
    struct deletion open;
    struct row row;   /* with the cells that are kept */
    struct buf cells; /* struct cell: its own */
};

static bool is_compressed(const struct sstable_writer *w)
{
    return w->params->compression.kind != COMPRESSOR_NONE;
}

static void writer_describe(struct sstable_writer *w, const struct sstable_writer_options *o)
{
    struct log_interval *intervals =
        arena_array(&w->arena, struct log_interval, o->log_intervals_count);
    if (o->log_intervals_count)
        memcpy(intervals, o->log_intervals, sizeof *intervals * o->log_intervals_count);
    w->statistics = (struct statistics){
        .version = o->version,
        .partitioner = o->partitioner,
        .fp_chance = w->params->bloom_filter_fp_chance,
        .log_high = o->log_high,
        .log_low = o->log_low,
        .compression_ratio = -1,
        .level = o->level,
        .repaired_at = o->repaired_at,
        .log_intervals_count = o->log_intervals_count,
        .log_intervals = intervals,
        .has_pending_repair = o->has_pending_repair,
        .pending_repair = o->pending_repair,
        .is_transient = o->is_transient,
        .has_host = o->has_host,
        .host = o->host,
        .token_coverage = NAN,
    };
    layout_header(&w->layout, &w->arena, &w->statistics.header);
}

struct sstable_writer *sstable_writer_new(const struct sstable_writer_options *o)
{
    struct sstable_writer *w = mem_zalloc(sizeof *w);
    arena_init(&w->arena, 4096);
    table_ref((struct table *)o->table);
    w->params = o->table->params;
    layout_of_table(o->version, o->table, o->base, &w->arena, &w->layout);
    writer_describe(w, o);
    writer_stats_init(&w->stats, &w->layout);
    struct filter_shape shape = filter_shape_of(w->params->bloom_filter_fp_chance);
    w->filter.hashes = shape.hashes;
    w->filter.words = filter_words(shape, o->keys);
    if (w->filter.words)
        w->filter.bits = mem_zalloc(w->filter.words * 8);
    summary_builder_init(&w->summary, (uint32_t)w->params->min_index_interval);
    index_builder_init(&w->blocks, o->version,
                       o->column_index_bytes ? o->column_index_bytes : DEFAULT_COLUMN_INDEX_BYTES);
    w->chunk_bytes = is_compressed(w) ? w->params->compression.chunk_bytes : CRC_CHUNK_BYTES;
    w->is_coded_apart = o->is_coded_apart;
    return w;
}

void sstable_writer_free(struct sstable_writer **writer)
{
    struct sstable_writer *w = *writer;
    *writer = NULL;
    if (!w)
        return;
    struct table *table = (struct table *)w->layout.table;
    writer_stats_deinit(&w->stats);
    mem_free(w->filter.bits);
    summary_builder_deinit(&w->summary);
    index_builder_deinit(&w->blocks);
    codec_deinit(&w->codec);
    struct buf *bufs[] = { &w->plain, &w->data,     &w->index,    &w->chunks,
                           &w->key,   &w->last_key, &w->last_raw, &w->cells };
    for (size_t i = 0; i < array_count(bufs); i++)
        buf_deinit(bufs[i]);
    arena_deinit(&w->arena);
    table_unref(&table);
    mem_free(w);
}

/* ---- the stream ---- */

uint64_t sstable_writer_plain_bytes(const struct sstable_writer *w)
{
    return w->packed_bytes + w->plain.size - w->coded;
}

static uint64_t position(const struct sstable_writer *w)
{
    return sstable_writer_plain_bytes(w) - w->partition_at;
}

static void chunk_put(struct sstable_writer *w, struct bytes plain)
{
    size_t begin = w->data.size;
    if (is_compressed(w)) {
        uint32_t stored;
        buf_put(&w->chunks, &w->data_bytes, sizeof w->data_bytes);
        chunk_pack(&w->codec, &w->params->compression, plain, &w->data, &stored);
        w->payload_bytes += stored;
    } else {
        uint32_t crc = crc32_of(0, plain);
        buf_put(&w->chunks, &crc, sizeof crc);
        buf_put_bytes(&w->data, plain);
    }
    struct bytes put = bytes_of(w->data.data + begin, w->data.size - begin);
    w->digest = crc32_of(w->digest, put);
    w->data_bytes += put.size;
    w->packed_bytes += plain.size;
}

bool sstable_writer_has_chunk(const struct sstable_writer *w)
{
    return w->due - w->coded >= w->chunk_bytes;
}

void sstable_writer_code_chunk(struct sstable_writer *w)
{
    ensure(sstable_writer_has_chunk(w));
    chunk_put(w, bytes_of(w->plain.data + w->coded, w->chunk_bytes));
    w->coded += w->chunk_bytes;
    if (sstable_writer_has_chunk(w))
        return;
    memmove(w->plain.data, w->plain.data + w->coded, w->plain.size - w->coded);
    w->plain.size -= w->coded;
    w->due -= w->coded;
    w->coded = 0;
}

/* What has been put into the stream stays there. */
static void plain_stays(struct sstable_writer *w)
{
    w->due = w->plain.size;
    while (!w->is_coded_apart && sstable_writer_has_chunk(w))
        sstable_writer_code_chunk(w);
}

/* ---- partitions ---- */

static void ensure_ascends(const struct sstable_writer *w, struct bytes key, int64_t token)
{
    if (w->partitions == 0)
        return;
    ensure(token > w->token || (token == w->token && bytes_compare(key, buf_bytes(&w->key)) > 0));
}

static void partition_begin(struct sstable_writer *w, struct bytes key, int64_t token)
{
    ensure(w->state == BETWEEN_PARTITIONS);
    ensure_ascends(w, key, token);
    w->token = token;
    buf_clear(&w->key);
    buf_put_bytes(&w->key, key);
    w->partition_at = sstable_writer_plain_bytes(w);
}

void sstable_writer_partition(struct sstable_writer *w, struct bytes key, int64_t token,
                              struct deletion deletion)
{
    partition_begin(w, key, token);
    w->deletion = deletion;
    w->previous_at = 0;
    w->has_unfiltered = w->has_static = false;
    w->open = deletion_none();
    partition_head_encode(w->layout.version, key, deletion, &w->plain);
    writer_stats_partition(&w->stats, deletion);
    w->state = AT_STATIC;
}

static bool is_kept(const struct sstable_writer *w, const struct cell *cell)
{
    return cell->column < w->layout.table->numbers_used &&
           w->layout.places[cell->column] != LAYOUT_NOWHERE;
}

/* The row without cells of columns that the table has no more; NULL when nothing is left. */
static const struct row *row_of_today(struct sstable_writer *w, const struct row *row)
{
    size_t known = 0;
    while (known < row->cells_count && is_kept(w, &row->cells[known]))
        known++;
    if (known == row->cells_count)
        return row_has_anything(row) ? row : NULL;
    buf_clear(&w->cells);
    for (size_t i = 0; i < row->cells_count; i++)
        if (is_kept(w, &row->cells[i]))
            buf_put(&w->cells, &row->cells[i], sizeof row->cells[i]);
    w->row = *row;
    w->row.cells = (struct cell *)(void *)w->cells.data;
    w->row.cells_count = w->cells.size / sizeof *w->row.cells;
    return row_has_anything(&w->row) ? &w->row : NULL;
}

static void rows_begin(struct sstable_writer *w, const struct row *row)
{
    ensure(w->state == AT_STATIC);
    if (w->layout.statics_count)
        static_row_write(&w->layout, row, &w->plain);
    w->header_bytes = position(w);
    index_builder_begin(&w->blocks, w->header_bytes);
    w->state = AT_ROWS;
}

void sstable_writer_static(struct sstable_writer *w, const struct row *row)
{
    ensure(row_is_static(row));
    row = row_of_today(w, row);
    rows_begin(w, row);
    w->has_static = row != NULL;
    if (row)
        writer_stats_row(&w->stats, row);
}

/* Before a row or marker at `key` is written; returns where it will stand in the partition. */
static uint64_t unfiltered_begin(struct sstable_writer *w, struct bytes key)
{
    if (w->state == AT_STATIC)
        rows_begin(w, NULL);
    ensure(w->state == AT_ROWS);
    ensure_after(w->has_unfiltered, bytes_compare(key, buf_bytes(&w->last_key)) > 0);
    return position(w);
}

static void unfiltered_end(struct sstable_writer *w, uint64_t at, uint8_t kind, struct bytes key,
                           struct bytes raw)
{
    if (!w->has_unfiltered)
        writer_stats_low(&w->stats, kind, key, raw);
    w->has_unfiltered = true;
    w->previous_at = at;
    w->last_kind = kind;
    buf_clear(&w->last_key);
    buf_put_bytes(&w->last_key, key);
    buf_clear(&w->last_raw);
    buf_put_bytes(&w->last_raw, raw);
    plain_stays(w);
}

/* start: of the row in the stream, its flags and its place. */
static void row_end(struct sstable_writer *w, uint64_t at, const struct row *row,
                    struct bytes start)
{
    struct bytes prefix = bytes_of(start.data + 1, start.size - 1);
    index_builder_add(&w->blocks, UNFILTERED_KIND_ROW, prefix, w->open, position(w));
    unfiltered_end(w, at, UNFILTERED_KIND_ROW, row->key, row->clustering);
}

void sstable_writer_row(struct sstable_writer *w, const struct row *row)
{
    ensure(!row_is_static(row));
    row = row_of_today(w, row);
    if (!row)
        return;
    uint64_t at = unfiltered_begin(w, row->key);
    size_t begin = w->plain.size;
    size_t start = row_write(&w->layout, row, at - w->previous_at, &w->plain);
    writer_stats_row(&w->stats, row);
    row_end(w, at, row, bytes_of(w->plain.data + begin, start));
}

bool sstable_writer_packs(const struct sstable_writer *w, const struct layout *from)
{
    return layout_packs_alike(from, &w->layout);
}

void sstable_writer_packed_row(struct sstable_writer *w, const struct row *row, struct bytes packed)
{
    ensure(!row_is_static(row) && row->cells_count == 0);
    uint64_t at = unfiltered_begin(w, row->key);
    size_t begin = w->plain.size;
    size_t start = packed_row_write(&w->layout, row, packed, at - w->previous_at, &w->plain);
    writer_stats_packed_row(&w->stats, row);
    row_end(w, at, row, bytes_of(w->plain.data + begin, start));
}

static bool is_same(struct deletion a, struct deletion b)
{
    return a.timestamp == b.timestamp && (deletion_is_none(a) || a.seconds == b.seconds);
}

void sstable_writer_marker(struct sstable_writer *w, const struct marker *marker)
{
    uint64_t at = unfiltered_begin(w, marker->key);
    ensure(is_same(marker->before, w->open));
    size_t begin = w->plain.size;
    size_t start = marker_write(&w->layout, marker, at - w->previous_at, &w->plain);
    uint8_t kind = w->plain.data[begin + 1];
    struct bytes prefix = bytes_of(w->plain.data + begin + 2, start - 2);
    w->open = marker->after;
    index_builder_add(&w->blocks, kind, prefix, w->open, position(w));
    writer_stats_deletion(&w->stats, marker->before);
    writer_stats_deletion(&w->stats, marker->after);
    unfiltered_end(w, at, kind, marker->key, marker->clustering);
}

/* Its entry in the index begins at `entry` of what waits, and it has so many bytes in Data.db. */
static void partition_counts(struct sstable_writer *w, size_t entry, const uint64_t hash[2],
                             uint64_t bytes)
{
    struct bytes key = buf_bytes(&w->key);
    summary_builder_add(&w->summary, key, w->index_bytes);
    w->index_bytes += w->index.size - entry;
    struct filter_places *places = &w->places[w->partitions % AHEAD];
    if (w->partitions >= AHEAD)
        filter_set(&w->filter, places);
    filter_find(&w->filter, hash, places);
    writer_stats_partition_end(&w->stats, key, bytes);
    w->first_token = w->partitions ? w->first_token : w->token;
    w->last_token = w->token;
    w->partitions++;
    plain_stays(w);
}

void sstable_writer_partition_end(struct sstable_writer *w)
{
    if (w->state == AT_STATIC)
        rows_begin(w, NULL);
    ensure(w->state == AT_ROWS && deletion_is_none(w->open));
    w->state = BETWEEN_PARTITIONS;
    if (!w->has_unfiltered && !w->has_static && deletion_is_none(w->deletion)) {
        w->plain.size -= (size_t)position(w);
        return;
    }
    buf_put_u8(&w->plain, END_OF_PARTITION);
    struct bytes last = buf_bytes(&w->last_key);
    if (w->has_unfiltered && writer_stats_is_high(&w->stats, last))
        writer_stats_high(&w->stats, w->last_kind, last, buf_bytes(&w->last_raw));
    struct partition_head head = { .key = buf_bytes(&w->key), .deletion = w->deletion };
    uint64_t bytes = position(w), hash[2];
    size_t entry = w->index.size;
    index_builder_end(&w->blocks, &head, w->partition_at, w->header_bytes, bytes, &w->index);
    murmur3_cassandra(head.key, hash);
    partition_counts(w, entry, hash, bytes);
}

/* All of them have the same place, so the first one tells of the range. */
static void only_row_ranges(struct sstable_writer *w, const struct row *row)
{
    if (w->stats.has_range)
        return;
    writer_stats_low(&w->stats, UNFILTERED_KIND_ROW, row->key, row->clustering);
    writer_stats_high(&w->stats, UNFILTERED_KIND_ROW, row->key, row->clustering);
}

void sstable_writer_only_row(struct sstable_writer *w, const struct only_row *only)
{
    ensure(w->layout.clustering_count == 0 && w->layout.statics_count == 0);
    partition_begin(w, only->key, only->token);
    only_row_write(&w->layout, only->key, only->row->liveness.timestamp, only->packed, &w->plain);
    writer_stats_partition(&w->stats, deletion_none());
    writer_stats_packed_row(&w->stats, only->row);
    only_row_ranges(w, only->row);
    size_t entry = w->index.size;
    index_entry_write(only->key, w->partition_at, &w->index);
    partition_counts(w, entry, only->hash, position(w));
}

/* ---- what has been made ---- */

struct buf *sstable_writer_data(struct sstable_writer *w) { return &w->data; }
struct buf *sstable_writer_index(struct sstable_writer *w) { return &w->index; }
uint64_t sstable_writer_data_bytes(const struct sstable_writer *w) { return w->data_bytes; }
uint64_t sstable_writer_index_bytes(const struct sstable_writer *w) { return w->index_bytes; }
uint64_t sstable_writer_partitions(const struct sstable_writer *w) { return w->partitions; }
bool sstable_writer_tokens(const struct sstable_writer *w, int64_t *first, int64_t *last)
{
    *first = w->first_token;
    *last = w->last_token;
    return w->partitions > 0;
}

void sstable_writer_set_coverage(struct sstable_writer *w, double coverage)
{
    w->statistics.token_coverage = isnan(coverage) ? NAN : coverage; /* Java has one NaN */
}

const struct statistics *sstable_writer_statistics(const struct sstable_writer *w)
{
    return &w->statistics;
}

static void checks_encode(struct sstable_writer *w, struct buf out[COMPONENT_COUNT])
{
    if (is_compressed(w)) {
        struct compression_info info = { .params = w->params->compression,
                                         .data_bytes = w->packed_bytes,
                                         .chunks_count = w->chunks.size / sizeof(uint64_t),
                                         .offsets = (uint64_t *)(void *)w->chunks.data };
        compression_info_encode(&info, &out[COMPONENT_COMPRESSION_INFO]);
    } else {
        struct crc_list list = { .chunk_bytes = CRC_CHUNK_BYTES,
                                 .count = w->chunks.size / sizeof(uint32_t),
                                 .crcs = (uint32_t *)(void *)w->chunks.data };
        crc_list_encode(&list, &out[COMPONENT_CRC]);
    }
}

/* What is in components now. */
static void parts_forget(struct sstable_writer *w)
{
    mem_free(w->filter.bits);
    w->filter.bits = NULL;
    summary_builder_deinit(&w->summary);
    buf_deinit(&w->chunks);
    buf_deinit(&w->plain);
}

static void toc_encode(struct buf out[COMPONENT_COUNT])
{
    unsigned components = 1u << COMPONENT_DATA | 1u << COMPONENT_INDEX | 1u << COMPONENT_TOC;
    for (unsigned i = 0; i < COMPONENT_COUNT; i++)
        if (out[i].size)
            components |= 1u << i;
    sstable_toc_encode(components, &out[COMPONENT_TOC]);
}

enum err sstable_writer_finish(struct sstable_writer *w, struct buf out[COMPONENT_COUNT])
{
    ensure(w->state == BETWEEN_PARTITIONS);
    if (w->partitions == 0)
        return ERR_NOT_FOUND;
    for (size_t i = 0; i < u64_min(w->partitions, AHEAD); i++)
        filter_set(&w->filter, &w->places[i]);
    while (sstable_writer_has_chunk(w))
        sstable_writer_code_chunk(w);
    if (w->plain.size)
        chunk_put(w, buf_bytes(&w->plain));
    w->due = 0;
    buf_clear(&w->plain);
    if (is_compressed(w))
        w->statistics.compression_ratio = (double)w->payload_bytes / (double)w->packed_bytes;
    writer_stats_finish(&w->stats, &w->arena, &w->statistics);
    w->statistics.first_key = arena_copy(&w->arena, buf_bytes(&w->summary.first_key));
    w->statistics.last_key = arena_copy(&w->arena, buf_bytes(&w->summary.last_key));
    statistics_encode(&w->statistics, &out[COMPONENT_STATISTICS]);
    if (w->filter.hashes)
        filter_encode(&w->filter, &out[COMPONENT_FILTER]);
    summary_builder_encode(&w->summary, &out[COMPONENT_SUMMARY]);
    sstable_digest_encode(w->digest, &out[COMPONENT_DIGEST]);
    checks_encode(w, out);
    toc_encode(out);
    parts_forget(w);
    return OK;
}
