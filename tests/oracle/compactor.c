/* compactor.c - oracle_compactor: files of one table as one, as Rondo's store compacts them.
 *
 *     oracle_compactor nb|oa DATA KEYSPACE/TABLE-HEX COUNT NOW GC_BEFORE [COLUMN MICROSECONDS]
 *
 * The folder DATA/KEYSPACE/TABLE-HEX has the SSTables 1, 2, ...; the first COUNT of them are merged
 * and go, the others stay beside them.  Columns are those of all their headers together.  COLUMN,
 * if one is named, was dropped at that time and made again.  Prints one JSON object: where the
 * output is (null: nothing is left), and what the store counted.
 *
 * Files of Cassandra's have no Checksums.db, and the store would take them for those of several
 * shards: here each gets one first, as if this shard had written it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/uv/uv.h"
#include "sstable/checksums.h"
#include "sstable/layout.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { COMPACTOR_PATH = 1024, FILES_MAX = 16, HEX_BYTES = 32 };

static struct compactor {
    struct op op;
    struct io *io;
    struct io_req req;
    struct arena arena;
    enum sstable_version version;
    const char *data, *folder; /* below data */
    char commitlog[COMPACTOR_PATH];
    size_t files_count;
    struct statistics statistics[FILES_MAX];
    struct catalog catalog;
    struct table *table; /* the catalog's */
    struct table_params params;
    struct store *store;
    uint64_t inputs[FILES_MAX];
    struct compact_output whole;
    struct compact_options options;
    struct compact_result result;
    struct report failed;
} compactor;

static void must(enum err err, const char *what)
{
    if (err == OK)
        return;
    fprintf(stderr, "oracle_compactor: %s: %s: %s\n", what, err_text(err), compactor.failed.text);
    exit(1);
}

/* ---- the files ---- */

static void path_of(size_t generation, enum sstable_component component, char out[COMPACTOR_PATH])
{
    struct sstable_name name = sstable_name_of(compactor.version, generation);
    char file[SSTABLE_NAME_BYTES];
    sstable_name_print(&name, component, file);
    int size = snprintf(out, COMPACTOR_PATH, "%s/%s/%s", compactor.data, compactor.folder, file);
    ensure(size > 0 && size < COMPACTOR_PATH);
}

/* In the arena; no data: there is no such file. */
static struct bytes file_of(size_t generation, enum sstable_component component)
{
    char path[COMPACTOR_PATH];
    path_of(generation, component, path);
    FILE *in = fopen(path, "rb");
    if (!in)
        return (struct bytes){ 0 };
    ensure(fseek(in, 0, SEEK_END) == 0);
    size_t size = (size_t)ftell(in);
    uint8_t *bytes = arena_array(&compactor.arena, uint8_t, size + 1);
    rewind(in);
    ensure(fread(bytes, 1, size, in) == size);
    fclose(in);
    return bytes_of(bytes, size);
}

static void seal(size_t generation)
{
    struct checksums_builder sums = { 0 };
    struct buf out = { 0 };
    char path[COMPACTOR_PATH];
    for (int c = 0; c < COMPONENT_COUNT; c++) {
        struct bytes file = { 0 };
        if (c != COMPONENT_DATA && c != COMPONENT_CHECKSUMS)
            file = file_of(generation, (enum sstable_component)c);
        if (file.size)
            checksums_builder_add(&sums, (enum sstable_component)c, file);
    }
    checksums_builder_encode(&sums, 1, 0, &out);
    checksums_builder_deinit(&sums);
    path_of(generation, COMPONENT_CHECKSUMS, path);
    FILE *file = fopen(path, "wb");
    ensure(file && fwrite(out.data, 1, out.size, file) == out.size && fclose(file) == 0);
    buf_deinit(&out);
}

static void files_take(void)
{
    for (size_t g = 1; g <= FILES_MAX; g++) {
        struct bytes file = file_of(g, COMPONENT_STATISTICS);
        if (!file.size)
            break;
        must(statistics_decode(compactor.version, file, &compactor.arena,
                               &compactor.statistics[g - 1], &compactor.failed),
             "Statistics.db");
        seal(g);
        compactor.files_count++;
    }
    ensure(compactor.files_count >= compactor.options.inputs_count);
}

/* ---- the table ---- */

static void column_add(struct header_column *all, size_t *count, const struct header_column *one)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(all[i].name, one->name) == 0)
            return;
    all[(*count)++] = *one;
}

/* The first header, with the columns of all of them. */
static struct serialization_header headers_united(void)
{
    struct serialization_header all = compactor.statistics[0].header;
    all.statics = arena_array(&compactor.arena, struct header_column, COLUMNS_MAX);
    all.regulars = arena_array(&compactor.arena, struct header_column, COLUMNS_MAX);
    all.statics_count = all.regulars_count = 0;
    for (size_t i = 0; i < compactor.files_count; i++) {
        const struct serialization_header *h = &compactor.statistics[i].header;
        for (size_t n = 0; n < h->statics_count; n++)
            column_add(all.statics, &all.statics_count, &h->statics[n]);
        for (size_t n = 0; n < h->regulars_count; n++)
            column_add(all.regulars, &all.regulars_count, &h->regulars[n]);
    }
    return all;
}

static struct uuid table_id(const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    struct uuid id = { { 0 } };
    ensure(strlen(hex) == HEX_BYTES);
    for (size_t i = 0; i < HEX_BYTES; i++) {
        const char *digit = strchr(digits, hex[i]);
        ensure(digit && *digit);
        id.b[i / 2] = (uint8_t)(id.b[i / 2] << 4 | (digit - digits));
    }
    return id;
}

static void column_dropped(const char *name, int64_t at)
{
    struct table *t = compactor.table;
    const struct column *c = table_column(t, bytes_text(name));
    if (!c) /* no file has anything of it */
        return;
    t->dropped = arena_array(&t->arena, struct dropped_column, 1);
    t->dropped_count = 1;
    t->dropped[0] = (struct dropped_column){ .name = c->name,
                                             .type = c->type,
                                             .kind = c->kind,
                                             .number = t->numbers_used++,
                                             .dropped_at = at };
}

static void table_make(void)
{
    struct serialization_header header = headers_united();
    const char *slash = strchr(compactor.folder, '/'), *dash = strchr(compactor.folder, '-');
    ensure(slash && dash && slash < dash);
    const char *keyspace =
        arena_printf(&compactor.arena, "%.*s", (int)(slash - compactor.folder), compactor.folder);
    const char *name = arena_printf(&compactor.arena, "%.*s", (int)(dash - slash - 1), slash + 1);
    compactor.table = layout_table(&header, keyspace, name);
    compactor.table->id = table_id(dash + 1);
    compactor.params = table_params_default;
    compactor.params.compression.kind = COMPRESSOR_NONE;
    compactor.table->params = &compactor.params;
}

/* ---- the store ---- */

enum { OPEN, RUN, COMPACTED, CLOSED };

static bool owns_all(void *context, int64_t token)
{
    (void)context;
    return token != INT64_MIN;
}
static int shard_of(int64_t token, int shards) { return (int)((uint64_t)token % (uint64_t)shards); }

static struct op_next compactor_open(struct op *op)
{
    struct compactor *c = &compactor;
    struct store_options options = { .commitlog_folder = c->commitlog,
                                     .data_folder = c->data,
                                     .segment_bytes = 1 << 20,
                                     .memtable_bytes = 8 << 20,
                                     .cache_bytes = 8 << 20,
                                     .version = c->version,
                                     .column_index_bytes = 64 << 10,
                                     .catalog = &c->catalog,
                                     .owns = owns_all,
                                     .shard_of = shard_of };
    store_open(c->io, &c->req, op, &options, &c->store, &c->failed);
    return op_wait(RUN);
}

static struct op_next compactor_run(struct op *op)
{
    struct compactor *c = &compactor;
    if (c->req.busy)
        return op_wait(RUN);
    must(c->req.err, "open");
    store_settled(c->store);
    for (size_t i = 0; i < c->options.inputs_count; i++)
        c->inputs[i] = i + 1;
    c->whole = (struct compact_output){ .bytes = UINT64_MAX };
    c->options.table = c->table->id;
    c->options.inputs = c->inputs;
    c->options.outputs = &c->whole;
    c->options.outputs_count = 1;
    c->options.purges = true;
    store_compact(c->store, &c->req, op, &c->options, &c->arena, &c->result, &c->failed);
    return op_wait(COMPACTED);
}

static void say(void)
{
    const struct compact_result *r = &compactor.result;
    char path[COMPACTOR_PATH];
    printf("{\"data\":");
    if (r->files_count) {
        path_of(r->files[0], COMPONENT_DATA, path);
        printf("\"%s\"", path);
    } else {
        printf("null");
    }
    printf(",\"partitions\":%llu,\"rows\":%llu,\"purged\":%llu,\"merged\":[",
           (unsigned long long)r->partitions, (unsigned long long)r->rows,
           (unsigned long long)r->purged);
    for (size_t i = 1; i <= compactor.options.inputs_count; i++)
        printf("%s%llu", i > 1 ? "," : "", (unsigned long long)r->merged[i]);
    printf("]}\n");
}

static struct op_next compactor_compacted(struct op *op)
{
    struct compactor *c = &compactor;
    if (c->req.busy)
        return op_wait(COMPACTED);
    must(c->req.err, "compact");
    say();
    store_close(&c->store, &c->req, op);
    return op_wait(CLOSED);
}

static struct op_next compactor_closed(struct op *op)
{
    if (compactor.req.busy)
        return op_wait(CLOSED);
    must(compactor.req.err, "close");
    io_quit(compactor.io);
    return op_end(op, OK);
}

static const struct op_state states[] = {
    [OPEN] = { "open", compactor_open, TO(RUN) },
    [RUN] = { "run", compactor_run, TO(COMPACTED) },
    [COMPACTED] = { "compacted", compactor_compacted, TO(CLOSED) },
    [CLOSED] = { "closed", compactor_closed, 0 },
};

static void compactor_start(struct io *io, void *arg)
{
    (void)arg;
    compactor.io = io;
    op_start(&compactor.op, io_ops(io), NULL, states, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 7 && argc != 9) {
        fprintf(stderr, "oracle_compactor nb|oa DATA KEYSPACE/TABLE-HEX COUNT NOW GC_BEFORE "
                        "[COLUMN MICROSECONDS]\n");
        return 2;
    }
    compactor.version = strcmp(argv[1], "nb") == 0 ? SSTABLE_NB : SSTABLE_OA;
    compactor.data = argv[2];
    compactor.folder = argv[3];
    compactor.options.inputs_count = strtoull(argv[4], NULL, 10);
    compactor.options.now_seconds = strtoll(argv[5], NULL, 10);
    compactor.options.gc_before = strtoll(argv[6], NULL, 10);
    int size = snprintf(compactor.commitlog, COMPACTOR_PATH, "%s/commitlog", compactor.data);
    ensure(size > 0 && size < COMPACTOR_PATH);
    files_take();
    table_make();
    if (argc == 9)
        column_dropped(argv[7], strtoll(argv[8], NULL, 10));
    catalog_init(&compactor.catalog);
    catalog_add_system(&compactor.catalog, compactor.table);
    uv_world_run(1, compactor_start, NULL);
    catalog_deinit(&compactor.catalog);
    arena_deinit(&compactor.arena);
    return 0;
}
