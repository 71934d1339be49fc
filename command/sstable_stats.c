/* sstable_stats.c - what Statistics.db and CompressionInfo.db say, as a table or as JSON.
 *
 * The JSON has the names of tests/oracle/README.md, since it is compared with what Cassandra reads
 * in the same file.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "command/options.h"
#include "command/sstable.h"
#include "model/type_java.h"

#include <math.h>

static void put_hex(struct json *j, const char *name, struct bytes value)
{
    struct buf text = { 0 };
    for (size_t i = 0; i < value.size; i++)
        buf_printf(&text, "%02x", value.data[i]);
    json_bytes(j, name, buf_bytes(&text));
    buf_deinit(&text);
}

static void put_type(struct json *j, const char *name, const struct type *type, bool is_reversed)
{
    struct buf text = { 0 };
    type_java_print(type, is_reversed, &text);
    json_bytes(j, name, buf_bytes(&text));
    buf_deinit(&text);
}

/* ---- sketches ---- */

static void put_spread(struct json *j, const char *name, const struct spread *s)
{
    json_open(j, name, '{');
    json_unsigned(j, "buckets", s->count);
    json_open(j, "counts", '[');
    for (uint32_t i = 0; i < s->count; i++) {
        if (!s->counts[i])
            continue;
        json_open(j, NULL, '[');
        if (i + 1 < s->count)
            json_number(j, NULL, s->offsets[i]);
        else
            json_null(j, NULL);
        json_unsigned(j, NULL, s->counts[i]);
        json_close(j);
    }
    json_close(j);
    json_close(j);
}

static void put_drop_times(struct json *j, const struct drop_times *t)
{
    json_open(j, "tombstone_histogram", '[');
    for (uint32_t i = 0; i < t->count; i++) {
        json_open(j, NULL, '[');
        json_unsigned(j, NULL, t->points[i].seconds);
        json_unsigned(j, NULL, t->points[i].count);
        json_close(j);
    }
    json_close(j);
}

static void put_sketch(struct json *j, const struct statistics *st)
{
    struct cardinality c;
    struct report report;
    if (!st->has_cardinality || cardinality_decode(st->cardinality, &c, &report) != OK)
        return;
    json_unsigned(j, "estimated_keys", cardinality_estimate(&c));
    put_hex(j, "sketch", st->cardinality);
    cardinality_deinit(&c);
}

/* ---- the covered range, the commit log ---- */

static void put_values(struct json *j, const char *name, const struct stats_bound *bound)
{
    struct cursor raw = cursor_of(bound->clustering);
    json_open(j, name, '[');
    for (uint32_t i = 0; i < bound->count; i++) {
        struct bytes value = clustering_take(&raw);
        if (value.data)
            put_hex(j, NULL, value);
        else
            json_null(j, NULL);
    }
    json_close(j);
}

static void put_bound(struct json *j, const char *name, const struct stats_bound *bound)
{
    json_open(j, name, '{');
    json_unsigned(j, "kind", bound->kind);
    put_values(j, "values", bound);
    json_close(j);
}

static void put_covered(struct json *j, const struct statistics *st)
{
    if (st->version == SSTABLE_NB) {
        put_values(j, "min_clustering", &st->low);
        put_values(j, "max_clustering", &st->high);
        return;
    }
    const struct serialization_header *h = &st->header;
    json_open(j, "covered_slice", '{');
    put_bound(j, "start", &st->low);
    put_bound(j, "end", &st->high);
    json_close(j);
    json_open(j, "clustering_types", '[');
    for (size_t i = 0; i < h->clustering_count; i++)
        put_type(j, NULL, h->clustering[i], h->is_reversed[i]);
    json_close(j);
    json_bool(j, "has_partition_deletions", st->has_partition_deletions);
    if (isnan(st->token_coverage))
        json_null(j, "token_space_coverage");
    else
        json_double(j, "token_space_coverage", st->token_coverage);
    put_hex(j, "first_key", st->first_key);
    put_hex(j, "last_key", st->last_key);
}

static void put_position(struct json *j, struct log_position at)
{
    json_open(j, NULL, '[');
    json_number(j, NULL, at.segment);
    json_number(j, NULL, at.offset);
    json_close(j);
}

static void put_intervals(struct json *j, const struct statistics *st)
{
    json_open(j, "commit_log_intervals", '[');
    for (size_t i = 0; i < st->log_intervals_count; i++) {
        json_open(j, NULL, '[');
        put_position(j, st->log_intervals[i].low);
        put_position(j, st->log_intervals[i].high);
        json_close(j);
    }
    json_close(j);
}

static void put_uuid(struct json *j, const char *name, bool is_there, const struct uuid *id)
{
    char text[UUID_TEXT_BYTES];
    uuid_print(id, text);
    json_text(j, name, is_there ? text : NULL);
}

/* ---- header and compression ---- */

static void put_columns(struct json *j, const char *name, const struct header_column *columns,
                        size_t count)
{
    json_open(j, name, '{');
    for (size_t i = 0; i < count; i++)
        put_type(j, columns[i].name, columns[i].type, false);
    json_close(j);
}

static void put_header(struct json *j, const struct serialization_header *h)
{
    struct buf key = { 0 };
    json_open(j, "header", '{');
    json_number(j, "min_timestamp", h->base.timestamp);
    json_number(j, "min_local_deletion_time", h->base.seconds);
    json_unsigned(j, "min_ttl", h->base.ttl);
    type_java_print_key(h->key, h->key_count, &key);
    json_bytes(j, "key_type", buf_bytes(&key));
    buf_deinit(&key);
    json_open(j, "clustering_types", '[');
    for (size_t i = 0; i < h->clustering_count; i++)
        put_type(j, NULL, h->clustering[i], h->is_reversed[i]);
    json_close(j);
    put_columns(j, "static_columns", h->statics, h->statics_count);
    put_columns(j, "regular_columns", h->regulars, h->regulars_count);
    json_close(j);
}

static const char *compressor_class(enum compressor kind)
{
    const char *const names[] = { [COMPRESSOR_NONE] = "none",
                                  [COMPRESSOR_LZ4] = "LZ4Compressor",
                                  [COMPRESSOR_SNAPPY] = "SnappyCompressor",
                                  [COMPRESSOR_DEFLATE] = "DeflateCompressor",
                                  [COMPRESSOR_ZSTD] = "ZstdCompressor",
                                  [COMPRESSOR_NOOP] = "NoopCompressor" };
    return names[kind];
}

/* The compressor's own options as the file has them: a count, then sized names and values. */
static void put_options(struct json *j, struct bytes options)
{
    struct cursor c = cursor_of(options);
    uint32_t count = options.size ? cursor_be32(&c) : 0;
    json_open(j, "options", '{');
    for (uint32_t i = 0; i < count && !c.bad; i++) {
        char name[64];
        struct bytes key = cursor_bytes(&c, cursor_be16(&c));
        struct bytes value = cursor_bytes(&c, cursor_be16(&c));
        snprintf(name, sizeof name, "%.*s", (int)key.size, (const char *)key.data);
        json_bytes(j, name, value);
    }
    json_close(j);
}

static void put_compression(struct json *j, const struct compression_info *c)
{
    if (c->params.kind == COMPRESSOR_NONE) {
        json_null(j, "compression");
        return;
    }
    json_open(j, "compression", '{');
    json_text(j, "class", compressor_class(c->params.kind));
    put_options(j, c->options);
    json_unsigned(j, "chunk_length", c->params.chunk_bytes);
    json_unsigned(j, "max_compressed_length", c->params.max_compressed_bytes);
    json_unsigned(j, "data_length", c->data_bytes);
    json_unsigned(j, "chunk_count", c->chunks_count);
    json_close(j);
}

/* ---- all of it ---- */

static void put_seconds(struct json *j, const char *name, uint32_t seconds)
{
    if (seconds == UINT32_MAX)
        json_null(j, name);
    else
        json_unsigned(j, name, seconds);
}

static void stats_json(const struct table_file *f, struct buf *out)
{
    const struct statistics *st = &f->statistics;
    struct json j = json_into(out);
    json_open(&j, NULL, '{');
    json_text(&j, "version", st->version == SSTABLE_NB ? "nb" : "oa");
    json_text(&j, "partitioner", partitioner_class(st->partitioner));
    json_double(&j, "bloom_filter_fp_chance", st->fp_chance);
    put_spread(&j, "partition_size_histogram", &st->partition_bytes);
    put_spread(&j, "cells_per_partition_histogram", &st->partition_cells);
    json_number(&j, "min_timestamp", st->timestamp_min);
    json_number(&j, "max_timestamp", st->timestamp_max);
    put_seconds(&j, "min_local_deletion_time", st->seconds_min);
    put_seconds(&j, "max_local_deletion_time", st->seconds_max);
    json_unsigned(&j, "min_ttl", st->ttl_min);
    json_unsigned(&j, "max_ttl", st->ttl_max);
    json_double(&j, "compression_ratio", st->compression_ratio);
    put_drop_times(&j, &st->drop_times);
    json_unsigned(&j, "sstable_level", st->level);
    json_number(&j, "repaired_at", st->repaired_at);
    put_uuid(&j, "pending_repair", st->has_pending_repair, &st->pending_repair);
    json_bool(&j, "is_transient", st->is_transient);
    json_bool(&j, "has_legacy_counter_shards", st->has_legacy_counters);
    json_unsigned(&j, "columns_set", st->columns_set);
    json_unsigned(&j, "rows", st->rows);
    put_intervals(&j, st);
    put_uuid(&j, "host_id", st->has_host, &st->host);
    put_covered(&j, st);
    put_sketch(&j, st);
    put_header(&j, &st->header);
    put_compression(&j, &f->compression);
    json_close(&j);
}

static void stats_table(const struct table_file *f)
{
    const struct statistics *st = &f->statistics;
    const struct spread *sizes = &st->partition_bytes;
#define LINE(name, form, ...) printf("%-26s " form "\n", name, __VA_ARGS__)
    LINE("version", "%s", st->version == SSTABLE_NB ? "nb" : "oa");
    LINE("partitions", "%llu", (unsigned long long)spread_total(sizes));
    LINE("rows", "%llu", (unsigned long long)st->rows);
    LINE("partition bytes, median", "%llu", (unsigned long long)spread_quantile(sizes, 0.5));
    LINE("partition bytes, 99%", "%llu", (unsigned long long)spread_quantile(sizes, 0.99));
    LINE("partition bytes, most", "%llu", (unsigned long long)spread_quantile(sizes, 1));
    LINE("bytes on disk", "%llu", (unsigned long long)f->bytes[COMPONENT_DATA]);
    LINE("plain bytes", "%llu", (unsigned long long)f->plain_bytes);
    LINE("compression", "%s", compressor_class(f->compression.params.kind));
    LINE("timestamps", "%lld .. %lld", (long long)st->timestamp_min, (long long)st->timestamp_max);
    LINE("droppable by now or later", "%.0f", drop_times_sum(&st->drop_times, 4294967295.0));
    LINE("TTL", "%u .. %u", st->ttl_min, st->ttl_max);
    LINE("filter chance", "%g", st->fp_chance);
    LINE("filter bytes", "%llu", (unsigned long long)f->bytes[COMPONENT_FILTER]);
    LINE("index bytes", "%llu", (unsigned long long)f->bytes[COMPONENT_INDEX]);
    LINE("level", "%u", st->level);
    LINE("repaired at", "%lld", (long long)st->repaired_at);
    LINE("partitioner", "%s", partitioner_class(st->partitioner));
#undef LINE
}

enum err sstable_stats(struct table_file *f, const struct options *o, struct report *report)
{
    struct buf out = { 0 };
    (void)report;
    if (!o->json) {
        stats_table(f);
        return OK;
    }
    stats_json(f, &out);
    printf("%.*s\n", (int)out.size, (const char *)out.data);
    buf_deinit(&out);
    return OK;
}
