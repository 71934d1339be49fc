/* bench_compaction.c - four overlapping SSTables become one, beside the floor: a loop that unpacks
 * the same chunks, compares keys by memcmp and packs them again, and knows no format.
 *
 *     make ──> (output: feed, drain, finish, swap) x 4 ──> open ──> run ──> compacted ──> closed
 *
 * Two tables: `wide` has partitions of 1,000 rows of 30 columns of about 8 bytes, `small` one row
 * of 100 bytes a partition.  Each file has half of the rows, drawn, so that a row stands in two of
 * them, about.  The store runs in the real world as a shard of a node does, alone and unthrottled;
 * what it does includes reading, every checksum, the index, the filter, the statistics and syncs,
 * of which the floor does nothing but reading.  The floor runs before and after, and the mean of
 * both counts.
 *
 * `times` is the floor's time divided by ours: of the processor's time of all threads, which waits
 * for nobody, and of the wall clock, which has the disk in it.
 *
 *     rondo-compaction FOLDER [--bytes N | --rows N] [--rounds N] [--table wide|small] [--keep]
 *                      [--json]
 *
 * --bytes, --rows: of all four files together, about (1 GiB).  --keep: makes the files, prints
 * where they are and does no more.  `rondo bench compaction` starts it and cleans up behind it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/prng.h"
#include "compaction_floor.h"
#include "io/uv/uv.h"
#include "store/compact.h"
#include "store/folder.h"
#include "store/output.h"
#include "store/store.h"
#include "store/swap.h"

#include <stdlib.h>

enum {
    FILES = FLOOR_FILES,
    WIDE_ROWS = 1000,
    WIDE_COLUMNS = 28,
    KEY_BYTES = 16,
    VALUE_BYTES = 100
};
enum { FEEDS = 64 };
static const uint64_t bytes_default = UINT64_C(1) << 30;

static struct wish {
    const char *folder;
    uint64_t bytes;
    int rounds;
    uint64_t rows; /* instead of bytes; 0: not asked */
    bool is_wide, is_small, keeps, is_json;
} wish = { .rounds = 1, .is_wide = true, .is_small = true };
static unsigned said; /* lines */

struct bench {
    struct op op;
    struct io *io;
    struct io_req req;
    struct arena arena;
    bool is_wide;
    char data[1024], commitlog[1024];
    const char *folder;
    struct catalog catalog;
    struct table *table;
    struct table_params params;
    struct bench_key {
        int64_t token;
        uint8_t bytes[KEY_BYTES];
    } * keys;
    size_t keys_count, row_bytes;
    uint8_t texts[1 << 16];

    /* a file that is being made */
    uint64_t file;
    struct output_options options;
    struct output *output;
    size_t partition;
    struct prng prng;
    struct swap swap;
    const char *names[COMPONENT_COUNT];

    struct store *store;
    struct report failed;
    struct compact_options compact;
    struct compact_output whole;
    struct compact_result result;
    uint64_t generations[FILES];
    struct floor *floor;
    struct cost begun, floor_cost, ours;
    uint64_t plain_bytes, stored_bytes;
    int round;
};

static struct bench *bench_of(struct op *op) { return owner_of(op, struct bench, op); }

static void must(const struct bench *b, enum err err)
{
    if (err == OK)
        return;
    fprintf(stderr, "rondo-compaction: %s: %s\n", err_text(err), b->failed.text);
    exit(1);
}

/* ---- the table and its rows ---- */

static void add_column(struct table *t, enum column_kind kind, const char *name,
                       enum type_kind type)
{
    t->columns[t->columns_count++] = (struct column){
        .name = name, .type = type_native(type), .kind = kind, .number = t->numbers_used++
    };
}

static struct table *table_make(struct bench *b)
{
    static const enum type_kind kinds[] = { TYPE_BIGINT, TYPE_DOUBLE, TYPE_TEXT, TYPE_INT };
    struct table *t = table_new();
    t->keyspace = "bench", t->name = b->is_wide ? "wide" : "small";
    t->id = uuid_named(bytes_text(t->name));
    t->columns = arena_array(&t->arena, struct column, WIDE_COLUMNS + 2);
    t->partition_count = 1;
    t->clustering_count = b->is_wide;
    add_column(t, COLUMN_PARTITION, "key", TYPE_BLOB);
    if (b->is_wide)
        add_column(t, COLUMN_CLUSTERING, "at", TYPE_BIGINT);
    for (int i = 0; i < WIDE_COLUMNS && b->is_wide; i++)
        add_column(t, COLUMN_REGULAR, arena_printf(&t->arena, "c%02d", i), kinds[i % 4]);
    if (!b->is_wide)
        add_column(t, COLUMN_REGULAR, "value", TYPE_BLOB);
    b->params = table_params_default;
    b->params.compression.kind = COMPRESSOR_LZ4;
    b->params.compression.chunk_bytes = 16384;
    t->params = &b->params;
    return t;
}

static int key_order(const void *a, const void *b)
{
    const struct bench_key *x = a, *y = b;
    return (x->token > y->token) - (x->token < y->token);
}

static void keys_make(struct bench *b)
{
    struct prng prng = { 7 };
    b->row_bytes = b->is_wide ? 250 : 140; /* about, in the stream */
    uint64_t rows = wish.rows ? wish.rows : wish.bytes / b->row_bytes;
    rows = u64_max(rows / 2, WIDE_ROWS); /* each stands in two files, about */
    b->keys_count = b->is_wide ? rows / WIDE_ROWS + 1 : rows;
    b->keys = mem_alloc(sizeof *b->keys * b->keys_count);
    for (size_t i = 0; i < b->keys_count; i++) {
        for (size_t k = 0; k < KEY_BYTES; k++)
            b->keys[i].bytes[k] = (uint8_t)prng_next(&prng);
        b->keys[i].token = key_token(bytes_of(b->keys[i].bytes, KEY_BYTES));
    }
    qsort(b->keys, b->keys_count, sizeof *b->keys, key_order);
    for (size_t i = 0; i < sizeof b->texts; i++)
        b->texts[i] =
            i / 16 % 2 ? (uint8_t) "the words of a text"[i % 19] : (uint8_t)prng_next(&prng);
}

struct row_room {
    struct cell cells[WIDE_COLUMNS];
    uint8_t key[10], raw[9];
};

static void row_wide(struct bench *b, uint64_t number, struct row_room *room, struct row *row)
{
    room->key[0] = 0x40;
    put_be64(room->key + 1, number ^ UINT64_C(1) << 63);
    room->key[9] = 0x38;
    room->raw[0] = 8;
    put_be64(room->raw + 1, number);
    row->key = bytes_of(room->key, 10);
    row->clustering = bytes_of(room->raw, 9);
    row->cells_count = WIDE_COLUMNS;
    for (uint32_t i = 0; i < WIDE_COLUMNS; i++) {
        size_t at = (size_t)prng_below(&b->prng, sizeof b->texts - 16);
        room->cells[i].column = 2 + i;
        room->cells[i].value = bytes_of(b->texts + at, i % 4 == 3 ? 4 : 8);
    }
}

static void row_small(struct bench *b, struct row_room *room, struct row *row)
{
    static const uint8_t only[] = { 0x38 };
    size_t at = (size_t)prng_below(&b->prng, sizeof b->texts - VALUE_BYTES);
    row->key = bytes_of(only, 1);
    row->cells_count = 1;
    room->cells[0].column = 1;
    room->cells[0].value = bytes_of(b->texts + at, VALUE_BYTES);
}

static void row_feed(struct bench *b, uint64_t number)
{
    struct row_room room = { .cells = { { 0 } } };
    int64_t timestamp = INT64_C(1700000000000000) + (int64_t)(b->file * 1000000000 + number);
    struct row row = { .liveness = { .timestamp = timestamp },
                       .deletion = deletion_none(),
                       .cells = room.cells };
    if (b->is_wide)
        row_wide(b, number, &room, &row);
    else
        row_small(b, &room, &row);
    for (size_t i = 0; i < row.cells_count; i++)
        room.cells[i].timestamp = timestamp;
    sstable_writer_row(output_writer(b->output), &row);
}

static void partition_feed(struct bench *b)
{
    const struct bench_key *key = &b->keys[b->partition++];
    struct sstable_writer *w = output_writer(b->output);
    sstable_writer_partition(w, bytes_of(key->bytes, KEY_BYTES), key->token, deletion_none());
    for (uint64_t i = 0; i < (b->is_wide ? WIDE_ROWS : 1); i++)
        if (prng_chance(&b->prng, 50))
            row_feed(b, i);
    sstable_writer_partition_end(w);
}

/* ---- the files ---- */

enum { MAKE, OUTPUT, FEED, DRAIN, FINISH, SWAP, OPEN, RUN, COMPACTED, CLOSED };

static struct op_next bench_make(struct op *op)
{
    struct bench *b = bench_of(op);
    folder_make(b->io, &b->req, op, b->data, b->folder);
    return op_wait(OUTPUT);
}

static struct op_next bench_output(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(OUTPUT);
    must(b, b->req.err);
    if (b->file == FILES)
        return op_goto(OPEN);
    b->partition = 0;
    b->prng.state = b->file + 100;
    b->options = (struct output_options){
        .folder = b->folder,
        .generation = b->file + 1,
        .shards = 1,
        .writer = { .version = SSTABLE_NB,
                    .table = b->table,
                    .base = { .timestamp = INT64_C(1700000000000000), .seconds = 1700000000 },
                    .keys = b->keys_count,
                    .has_host = true,
                    .host = uuid_named(bytes_text("elsewhere")) },
    };
    output_open(b->io, &b->req, op, &b->options, &b->output);
    return op_wait(FEED);
}

static struct op_next bench_feed(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(FEED);
    must(b, b->req.err);
    for (int i = 0; i < FEEDS && b->partition < b->keys_count; i++) {
        if (output_is_full(b->output)) {
            output_drain(b->output, &b->req, op);
            return op_wait(DRAIN);
        }
        partition_feed(b);
    }
    if (b->partition < b->keys_count)
        return op_yield(FEED);
    output_finish(b->output, &b->req, op);
    return op_wait(FINISH);
}

static struct op_next bench_drain(struct op *op)
{
    return bench_of(op)->req.busy ? op_wait(DRAIN) : op_goto(FEED);
}

static struct op_next bench_finish(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(FINISH);
    must(b, b->req.err);
    b->plain_bytes += sstable_writer_plain_bytes(output_writer(b->output));
    b->stored_bytes += sstable_writer_data_bytes(output_writer(b->output));
    b->swap = (struct swap){ .folder = b->folder, .generation = b->file + 1, .adds = b->names };
    b->swap.adds_count = output_names(b->output, b->names);
    swap_start(b->io, &b->req, op, &b->swap);
    return op_wait(SWAP);
}

static struct op_next bench_swap(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(SWAP);
    must(b, b->req.err);
    output_free(&b->output);
    b->file++;
    return op_goto(OUTPUT);
}

static bool owns_all(void *context, int64_t token)
{
    (void)context;
    return token != INT64_MIN;
}
static int shard_of(int64_t token, int shards) { return (int)((uint64_t)token % (uint64_t)shards); }

static struct op_next bench_open(struct op *op)
{
    struct bench *b = bench_of(op);
    struct store_options options = { .commitlog_folder = b->commitlog,
                                     .data_folder = b->data,
                                     .segment_bytes = 1 << 20,
                                     .memtable_bytes = 64 << 20,
                                     .cache_bytes = 64 << 20,
                                     .version = SSTABLE_NB,
                                     .host = uuid_named(bytes_text("bench")),
                                     .catalog = &b->catalog,
                                     .owns = owns_all,
                                     .shard_of = shard_of };
    if (wish.keeps) {
        printf("%s\n", b->folder);
        io_quit(b->io);
        return op_end(op, OK);
    }
    store_open(b->io, &b->req, op, &options, &b->store, &b->failed);
    return op_wait(RUN);
}

/* ---- ours ---- */

static struct op_next bench_run(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(RUN);
    must(b, b->req.err);
    store_settled(b->store);
    b->floor = floor_open(b->folder, b->row_bytes);
    floor_run(b->floor, &b->floor_cost);
    for (unsigned i = 0; i < FILES; i++)
        b->generations[i] = i + 1;
    b->whole = (struct compact_output){ .bytes = UINT64_MAX };
    b->compact = (struct compact_options){ .table = b->table->id,
                                           .inputs = b->generations,
                                           .inputs_count = FILES,
                                           .outputs = &b->whole,
                                           .outputs_count = 1,
                                           .purges = true,
                                           .now_seconds = 1800000000,
                                           .gc_before = 1790000000 };
    b->begun = cost_now();
    store_compact(b->store, &b->req, op, &b->compact, &b->arena, &b->result, &b->failed);
    return op_wait(COMPACTED);
}

static void say_json(const struct bench *b)
{
    printf("%s{\"table\":\"%s\",\"round\":%d,\"plain_bytes\":%llu,\"stored_bytes\":%llu,"
           "\"rows\":%llu,\"floor_cpu_s\":%.3f,\"cpu_s\":%.3f,\"floor_wall_s\":%.3f,"
           "\"wall_s\":%.3f,\"times_cpu\":%.3f,\"times_wall\":%.3f}",
           said++ ? "," : "[", b->table->name, b->round, (unsigned long long)b->plain_bytes,
           (unsigned long long)b->stored_bytes, (unsigned long long)b->result.rows,
           b->floor_cost.cpu_s, b->ours.cpu_s, b->floor_cost.wall_s, b->ours.wall_s,
           b->floor_cost.cpu_s / b->ours.cpu_s, b->floor_cost.wall_s / b->ours.wall_s);
}

static void say(const struct bench *b)
{
    double mib = (double)b->plain_bytes / 1048576;
    if (!said++)
        printf("table     MiB  stored   rows left   floor s  ours s  times   (wall) floor s  ours s"
               "  times   MiB/s\n");
    printf("%-5s %7.0f %7.0f %11llu   %7.2f %7.2f  %5.2f          %7.2f %7.2f  %5.2f   %5.0f\n",
           b->table->name, mib, (double)b->stored_bytes / 1048576,
           (unsigned long long)b->result.rows, b->floor_cost.cpu_s, b->ours.cpu_s,
           b->floor_cost.cpu_s / b->ours.cpu_s, b->floor_cost.wall_s, b->ours.wall_s,
           b->floor_cost.wall_s / b->ours.wall_s, mib / b->ours.cpu_s);
    fflush(stdout);
}

static struct op_next bench_compacted(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(COMPACTED);
    must(b, b->req.err);
    b->ours = cost_since(b->begun);
    floor_run(b->floor,
              &b->floor_cost); /* once more: what else the machine does falls on both sides */
    floor_close(&b->floor);
    if (wish.is_json)
        say_json(b);
    else
        say(b);
    store_close(&b->store, &b->req, op);
    return op_wait(CLOSED);
}

static struct op_next bench_closed(struct op *op)
{
    struct bench *b = bench_of(op);
    if (b->req.busy)
        return op_wait(CLOSED);
    must(b, b->req.err);
    io_quit(b->io);
    return op_end(op, OK);
}

static const struct op_state states[] = {
    [MAKE] = { "make", bench_make, TO(OUTPUT) },
    [OUTPUT] = { "output", bench_output, TO(FEED) | TO(OPEN) },
    [FEED] = { "feed", bench_feed, TO(DRAIN) | TO(FINISH) },
    [DRAIN] = { "drain", bench_drain, TO(FEED) },
    [FINISH] = { "finish", bench_finish, TO(SWAP) },
    [SWAP] = { "swap", bench_swap, TO(OUTPUT) },
    [OPEN] = { "open", bench_open, TO(RUN) },
    [RUN] = { "run", bench_run, TO(COMPACTED) },
    [COMPACTED] = { "compacted", bench_compacted, TO(CLOSED) },
    [CLOSED] = { "closed", bench_closed, 0 },
};

static void bench_start(struct io *io, void *arg)
{
    struct bench *b = arg;
    b->io = io;
    op_start(&b->op, io_ops(io), NULL, states, NULL);
}

/* A round in folders of its own. */
static void round_run(int round, bool is_wide)
{
    struct bench *b = mem_zalloc(sizeof *b);
    b->is_wide = is_wide;
    b->round = round;
    const char *name = is_wide ? "wide" : "small";
    snprintf(b->data, sizeof b->data, "%s/%s-%d/data", wish.folder, name, round);
    snprintf(b->commitlog, sizeof b->commitlog, "%s/%s-%d/commitlog", wish.folder, name, round);
    catalog_init(&b->catalog);
    b->table = table_make(b);
    catalog_add_system(&b->catalog, b->table);
    b->folder = folder_path(&b->arena, b->data, b->table);
    keys_make(b);
    uv_world_run(1, bench_start, b);
    mem_free(b->keys);
    catalog_deinit(&b->catalog);
    arena_deinit(&b->arena);
    mem_free(b);
}

static bool wish_take(int argc, char **argv)
{
    wish.bytes = bytes_default;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--keep") == 0)
            wish.keeps = true;
        else if (strcmp(argv[i], "--json") == 0)
            wish.is_json = true;
        else if (argv[i][0] != '-' && !wish.folder)
            wish.folder = argv[i];
        else if (strcmp(argv[i], "--bytes") == 0)
            wish.bytes = strtoull(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--rows") == 0)
            wish.rows = strtoull(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--rounds") == 0)
            wish.rounds = atoi(value), i++;
        else if (strcmp(argv[i], "--table") == 0)
            wish.is_wide = strcmp(value, "small") != 0, wish.is_small = strcmp(value, "wide") != 0,
            i++;
        else
            return false;
    }
    return wish.folder && wish.bytes >= 1 << 20 && wish.rounds > 0;
}

int main(int argc, char **argv)
{
    if (!wish_take(argc, argv)) {
        fprintf(stderr, "rondo-compaction FOLDER [--bytes N | --rows N] [--rounds N] "
                        "[--table wide|small] [--keep] [--json]: 1 MiB or more\n");
        return 2;
    }
    for (int i = 0; i < wish.rounds; i++) {
        if (wish.is_wide)
            round_run(i, true);
        if (wish.is_small)
            round_run(i, false);
    }
    if (wish.is_json)
        printf("]\n");
    return 0;
}
