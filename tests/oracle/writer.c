/* writer.c - oracle_writer SEED DIR: a random table as Rondo writes it, for Cassandra to read.
 *
 *     DIR/schema.cql                      the statements that make it
 *     DIR/ks/t-<32 hex>/nb-1-big-*        its files; the path of Data.db is printed
 *
 * README.md is the contract.  Everything follows from the seed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../unit/sstable/sample_sstable.h"
#include "model/schema_cql.h"
#include "sstable/checksums.h"

#include <errno.h>
#include <sys/stat.h>

enum { PATH = 1024, PARTITIONS_MAX = 12, ROWS_MAX = 40 };

struct table_written {
    struct sample_file file;
    struct arena arena;
    struct table_params params;
    uint32_t index_bytes;
    char folder[PATH];
    struct sstable_name name;
    struct buf data, index;
    struct buf out[COMPONENT_COUNT];
    unsigned types; /* user types that have a name of their own */
    struct buf schema;
};

static int complain(const char *what)
{
    fprintf(stderr, "oracle_writer: %s: %s\n", what, strerror(errno));
    return 1;
}

/* ---- the schema ---- */

/* Names every user type, the inner ones first, and states them. */
static void name_types(struct table_written *w, const struct type *type)
{
    struct type *t = (struct type *)(uintptr_t)type; /* it was drawn into our arena */
    for (size_t i = 0; i < type->parts_count; i++)
        name_types(w, type->parts[i]);
    if (type->kind != TYPE_UDT)
        return;
    t->name = arena_printf(&w->arena, "u%u", w->types++);
    schema_cql_type(t, (struct schema_cql){ 0 }, &w->schema);
}

static void draw_params(struct table_written *w)
{
    struct prng *r = &w->file.prng;
    static const enum compressor kinds[] = { COMPRESSOR_LZ4,  COMPRESSOR_SNAPPY, COMPRESSOR_DEFLATE,
                                             COMPRESSOR_ZSTD, COMPRESSOR_NOOP,   COMPRESSOR_NONE };
    static const double chances[] = { 0.01, 0.1, 0.001, 1.0, 0.05 };
    static const uint32_t blocks[] = { 1, 1, 2, 4, 64 };
    struct compression_params *c = &w->params.compression;
    w->params = table_params_default;
    c->kind = kinds[prng_below(r, array_count(kinds))];
    c->chunk_bytes = UINT32_C(4096) << prng_below(r, 4);
    if (prng_chance(r, 30)) {
        c->min_compress_ratio = 1.1;
        c->max_compressed_bytes = (uint32_t)((double)c->chunk_bytes / 1.1) + 1;
    }
    w->params.bloom_filter_fp_chance = chances[prng_below(r, array_count(chances))];
    w->index_bytes = 1024 * blocks[prng_below(r, array_count(blocks))];
    w->file.table->params = &w->params;
}

static void add_option(struct table *t, const char *name, const char *value)
{
    t->options[t->options_count++] = (struct option){ .name = name, .value = value };
}

static void add_pair(struct option *o, const char *name, const char *value)
{
    o->pairs[2 * o->pairs_count] = name;
    o->pairs[2 * o->pairs_count + 1] = value;
    o->pairs_count++;
}

/* The options that say in CQL what draw_params drew. */
static void state_options(struct table_written *w)
{
    static const char *const classes[] = {
        [COMPRESSOR_LZ4] = "org.apache.cassandra.io.compress.LZ4Compressor",
        [COMPRESSOR_SNAPPY] = "org.apache.cassandra.io.compress.SnappyCompressor",
        [COMPRESSOR_DEFLATE] = "org.apache.cassandra.io.compress.DeflateCompressor",
        [COMPRESSOR_ZSTD] = "org.apache.cassandra.io.compress.ZstdCompressor",
        [COMPRESSOR_NOOP] = "org.apache.cassandra.io.compress.NoopCompressor",
    };
    const struct compression_params *c = &w->params.compression;
    struct table *t = w->file.table;
    struct option compression = { .name = "compression" };
    t->options = arena_array(&w->arena, struct option, 4);
    compression.pairs = arena_array(&w->arena, const char *, 8);
    add_option(t, "bloom_filter_fp_chance",
               arena_printf(&w->arena, "%g", w->params.bloom_filter_fp_chance));
    if (c->kind == COMPRESSOR_NONE) {
        add_pair(&compression, "enabled", "false");
    } else {
        add_pair(&compression, "chunk_length_in_kb",
                 arena_printf(&w->arena, "%u", c->chunk_bytes / 1024));
        add_pair(&compression, "class", classes[c->kind]);
        if (c->min_compress_ratio > 0)
            add_pair(&compression, "min_compress_ratio", "1.1");
    }
    t->options[t->options_count++] = compression;
}

static void blank(struct buf *text, const char *words)
{
    void *at = memmem(text->data, text->size, words, strlen(words));
    ensure(at);
    memset(at, ' ', strlen(words));
}

static void state_schema(struct table_written *w)
{
    struct table *t = w->file.table;
    for (size_t i = 0; i < t->columns_count; i++)
        name_types(w, t->columns[i].type);
    state_options(w);
    schema_cql_table(t, (struct schema_cql){ .has_internals = true }, &w->schema);
    if (w->file.version == SSTABLE_NB) { /* options of 5.0 */
        blank(&w->schema, "AND allow_auto_snapshot = true");
        blank(&w->schema, "AND incremental_backups = true");
    }
    for (size_t i = 0; i < w->schema.size; i++) /* one statement a line */
        if (w->schema.data[i] == '\n' && i && w->schema.data[i - 1] != ';')
            w->schema.data[i] = ' ';
    buf_printf(&w->schema, "-- column_index_kib %u\n", w->index_bytes / 1024);
}

/* ---- the files ---- */

static void drain(struct table_written *w, struct sstable_writer *writer)
{
    struct buf *data = sstable_writer_data(writer), *index = sstable_writer_index(writer);
    buf_put_bytes(&w->data, buf_bytes(data));
    buf_put_bytes(&w->index, buf_bytes(index));
    buf_clear(data);
    buf_clear(index);
}

static void write_partition(struct sstable_writer *writer, const struct sample_partition *p)
{
    sstable_writer_partition(writer, p->key, p->token, p->deletion);
    if (p->static_row && row_has_anything(p->static_row))
        sstable_writer_static(writer, p->static_row);
    for (size_t i = 0; i < p->count; i++) {
        if (p->unfiltereds[i].kind == UNFILTERED_ROW)
            sstable_writer_row(writer, &p->unfiltereds[i].row);
        else
            sstable_writer_marker(writer, &p->unfiltereds[i].marker);
    }
    sstable_writer_partition_end(writer);
}

static void write_rows(struct table_written *w)
{
    struct sample_file *s = &w->file;
    const struct sstable_writer_options options = { .version = s->version,
                                                    .table = s->table,
                                                    .base = s->base,
                                                    .keys = s->count,
                                                    .column_index_bytes = w->index_bytes };
    struct sstable_writer *writer = sstable_writer_new(&options);
    for (size_t i = 0; i < s->count; i++) {
        write_partition(writer, &s->partitions[i]);
        drain(w, writer);
    }
    enum err e = sstable_writer_finish(writer, w->out);
    ensure(e == OK);
    drain(w, writer);
    buf_put_bytes(&w->out[COMPONENT_DATA], buf_bytes(&w->data));
    buf_put_bytes(&w->out[COMPONENT_INDEX], buf_bytes(&w->index));
    struct checksums_builder sums = { 0 };
    for (int c = 0; c < COMPONENT_COUNT; c++)
        if (c != COMPONENT_DATA && c != COMPONENT_CHECKSUMS && w->out[c].size)
            checksums_builder_add(&sums, (enum sstable_component)c, buf_bytes(&w->out[c]));
    buf_clear(&w->out[COMPONENT_CHECKSUMS]);
    checksums_builder_encode(&sums, 1, 0, &w->out[COMPONENT_CHECKSUMS]);
    checksums_builder_deinit(&sums);
    sstable_writer_free(&writer);
}

static int save(const char *path, struct bytes bytes)
{
    FILE *out = fopen(path, "wb");
    if (!out)
        return complain(path);
    bool is_written = fwrite(bytes.data, 1, bytes.size, out) == bytes.size;
    return fclose(out) == 0 && is_written ? 0 : complain(path);
}

static int make_folder(const char *path)
{
    return mkdir(path, 0755) < 0 && errno != EEXIST ? complain(path) : 0;
}

static int save_all(struct table_written *w, const char *dir)
{
    char path[2 * PATH], name[SSTABLE_NAME_BYTES], id[UUID_TEXT_BYTES], *at = id;
    uuid_print(&w->file.table->id, id);
    for (const char *c = id; *c; c++) /* without dashes */
        if (*c != '-')
            *at++ = *c;
    *at = 0;
    snprintf(path, sizeof path, "%s/schema.cql", dir);
    int failed = save(path, buf_bytes(&w->schema));
    snprintf(path, sizeof path, "%s/ks", dir);
    failed = failed || make_folder(path);
    snprintf(path, sizeof path, "%s/ks/t-%s", dir, id);
    failed = failed || make_folder(path);
    for (int c = 0; c < COMPONENT_COUNT && !failed; c++) {
        sstable_name_print(&w->name, (enum sstable_component)c, name);
        snprintf(path, sizeof path, "%s/ks/t-%s/%s", dir, id, name);
        failed = w->out[c].size ? save(path, buf_bytes(&w->out[c])) : 0;
    }
    sstable_name_print(&w->name, COMPONENT_DATA, name);
    if (!failed)
        printf("ks/t-%s/%s\n", id, name);
    return failed;
}

static bool has_vector(const struct type *type)
{
    bool is_one = type->kind == TYPE_VECTOR;
    for (size_t i = 0; i < type->parts_count; i++)
        is_one |= has_vector(type->parts[i]);
    return is_one;
}

/* Vectors came with 5.0, as did oa. */
static bool is_readable(const struct sample_file *s)
{
    bool is_fine = s->count > 0;
    for (size_t i = 0; i < s->table->columns_count; i++)
        is_fine &= s->version == SSTABLE_OA || !has_vector(s->table->columns[i].type);
    return is_fine;
}

static void draw_all(struct table_written *w, uint64_t seed)
{
    struct sample_file *s = &w->file;
    *s = (struct sample_file){ .arena = &w->arena, .prng = { seed }, .is_for_cassandra = true };
    size_t rows = prng_chance(&s->prng, 20) ? 10 * ROWS_MAX : ROWS_MAX;
    sample_file_draw(s, 1 + prng_below(&s->prng, PARTITIONS_MAX), rows);
    while (!is_readable(s)) {
        table_unref(&s->table);
        s->count = 0;
        sample_file_draw(s, 1 + prng_below(&s->prng, PARTITIONS_MAX), rows);
    }
    if (s->base.seconds > INT32_MAX)
        s->base.seconds = INT32_MAX;
    s->table->id = uuid_random(prng_next(&s->prng), prng_next(&s->prng));
    w->name = sstable_name_of(s->version, 1);
    draw_params(w);
    state_schema(w);
}

int main(int argc, char **argv)
{
    struct table_written w = { 0 };
    if (argc != 3) {
        fprintf(stderr, "oracle_writer SEED DIR\n");
        return 2;
    }
    draw_all(&w, strtoull(argv[1], NULL, 10));
    write_rows(&w);
    int failed = save_all(&w, argv[2]);
    w.file.table->params = &table_params_default;
    table_unref(&w.file.table);
    for (int c = 0; c < COMPONENT_COUNT; c++)
        buf_deinit(&w.out[c]);
    buf_deinit(&w.data);
    buf_deinit(&w.index);
    buf_deinit(&w.schema);
    arena_deinit(&w.arena);
    return failed;
}
