/* bench_sstable.c - the SSTable format by itself, on one core: no disk, no store.
 *
 *     write    rows through the writer, all components: MB of row data a second (the plain stream)
 *     read     the plain stream decoded again, row by row; and with the chunks unpacked first
 *
 * Two tables: `key` is one row of 100 bytes a partition; `wide` has partitions of 1000 rows of five
 * columns, about 100 bytes each.  Values are half random, so that LZ4 has something to do and
 * something to find.  Seconds are of the processor, so that a busy machine says the same.
 *
 *     bench_sstable [ROWS]
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/mem.h"
#include "base/prng.h"
#include "sstable/sstable.h"

#include <stdlib.h>
#include <time.h>

enum { ROWS_OF_A_WIDE = 1000, KEYS_BYTES = 16, TEXT_BYTES = 64, COLUMNS = 5 };

struct bench {
    const char *name;
    struct arena arena;
    struct table *table;
    struct table_params params;
    bool is_wide;
    size_t rows;
    struct bench_key {
        int64_t token;
        uint8_t bytes[KEYS_BYTES];
    } * keys; /* in token order */
    size_t keys_count;
    uint8_t texts[1 << 16]; /* values are pieces of it */
    struct buf data, index;
};

static double spent_s(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void say(const struct bench *b, const char *what, double began_s, uint64_t calls,
                size_t bytes)
{
    double seconds = spent_s() - began_s, rows = (double)b->rows;
    printf("%-5s %-14s %7.0f MB/s %8.0f ns a row %10.0f rows/s %7.3f heap calls a row\n", b->name,
           what, (double)bytes / 1e6 / seconds, seconds * 1e9 / rows, rows / seconds,
           (double)(mem_calls() - calls) / rows);
}

static void add_column(struct table *table, enum column_kind kind, const char *name,
                       enum type_kind type)
{
    struct column *column = &table->columns[table->columns_count++];
    *column = (struct column){
        .name = name, .type = type_native(type), .kind = kind, .number = table->numbers_used++
    };
}

static struct table *table_make(struct bench *b)
{
    struct table *table = table_new();
    table->keyspace = "bench", table->name = b->name;
    table->columns = arena_array(&table->arena, struct column, 8);
    table->partition_count = 1;
    table->clustering_count = b->is_wide;
    add_column(table, COLUMN_PARTITION, "pk", TYPE_BLOB);
    if (b->is_wide)
        add_column(table, COLUMN_CLUSTERING, "ck", TYPE_BIGINT);
    add_column(table, COLUMN_REGULAR, "v", TYPE_BLOB); /* numbers are not in the order of names */
    if (b->is_wide) {
        add_column(table, COLUMN_REGULAR, "a", TYPE_INT);
        add_column(table, COLUMN_REGULAR, "b", TYPE_BIGINT);
        add_column(table, COLUMN_REGULAR, "c", TYPE_TEXT);
        add_column(table, COLUMN_REGULAR, "d", TYPE_TIMESTAMP);
    }
    b->params = table_params_default;
    table->params = &b->params;
    return table;
}

static int key_order(const void *a, const void *b)
{
    const struct bench_key *x = a, *y = b;
    return (x->token > y->token) - (x->token < y->token);
}

static void bench_init(struct bench *b, size_t rows)
{
    struct prng prng = { 7 };
    b->table = table_make(b);
    b->rows = rows;
    b->keys_count = b->is_wide ? rows / ROWS_OF_A_WIDE : rows;
    b->keys = mem_alloc(sizeof *b->keys * b->keys_count);
    for (size_t i = 0; i < b->keys_count; i++) {
        for (size_t k = 0; k < KEYS_BYTES; k++)
            b->keys[i].bytes[k] = (uint8_t)prng_next(&prng);
        b->keys[i].token = key_token(bytes_of(b->keys[i].bytes, KEYS_BYTES));
    }
    qsort(b->keys, b->keys_count, sizeof *b->keys, key_order);
    for (size_t i = 0; i < sizeof b->texts; i++)
        b->texts[i] =
            i / 32 % 2 ? (uint8_t) "the words of a text"[i % 19] : (uint8_t)prng_next(&prng);
}

static struct bytes text_of(const struct bench *b, size_t i, size_t size)
{
    return bytes_of(b->texts + i * 61 % (sizeof b->texts - 256), size);
}

struct row_room {
    struct cell cells[COLUMNS];
    uint8_t numbers[8], key[16], raw[16];
};

/* Row i; rows of a wide partition ascend. */
static void row_make(const struct bench *b, size_t i, struct row_room *room, struct row *out)
{
    static const uint8_t only_key[] = { 0x38 };
    int64_t now = 1700000000000000 + (int64_t)i;
    *out = (struct row){ .liveness = { .timestamp = now },
                         .deletion = deletion_none(),
                         .key = bytes_of(only_key, 1),
                         .cells = room->cells };
    uint32_t first = b->is_wide ? 2 : 1;
    struct bytes values[COLUMNS] = { text_of(b, i, b->is_wide ? TEXT_BYTES : 100) };
    out->cells_count = b->is_wide ? COLUMNS : 1;
    if (b->is_wide) {
        put_be64(room->numbers, i);
        values[1] = bytes_of(room->numbers + 4, 4);
        values[2] = bytes_of(room->numbers, 8);
        values[3] = text_of(b, i + 3, 12);
        values[4] = bytes_of(room->numbers, 8);
        room->key[0] = 0x40;
        put_be64(room->key + 1, i ^ UINT64_C(1) << 63);
        room->key[9] = 0x38;
        room->raw[0] = 8;
        put_be64(room->raw + 1, i);
        out->key = bytes_of(room->key, 10);
        out->clustering = bytes_of(room->raw, 9);
    }
    for (size_t k = 0; k < out->cells_count; k++)
        room->cells[k] =
            (struct cell){ .timestamp = now, .column = first + (uint32_t)k, .value = values[k] };
}

static void drain(struct bench *b, struct sstable_writer *writer)
{
    struct buf *data = sstable_writer_data(writer), *index = sstable_writer_index(writer);
    buf_put_bytes(&b->data, buf_bytes(data));
    buf_put_bytes(&b->index, buf_bytes(index));
    buf_clear(data);
    buf_clear(index);
}

static void write_all(struct bench *b, struct sstable_writer *writer)
{
    struct row_room room;
    struct row row;
    size_t each = b->is_wide ? ROWS_OF_A_WIDE : 1;
    for (size_t p = 0; p < b->keys_count; p++) {
        struct bench_key *key = &b->keys[p];
        sstable_writer_partition(writer, bytes_of(key->bytes, KEYS_BYTES), key->token,
                                 deletion_none());
        for (size_t i = 0; i < each; i++) {
            row_make(b, p * each + i, &room, &row);
            sstable_writer_row(writer, &row);
        }
        sstable_writer_partition_end(writer);
        if (sstable_writer_data(writer)->size > 1 << 20)
            drain(b, writer);
    }
}

static void bench_write(struct bench *b, enum compressor kind, struct buf out[COMPONENT_COUNT])
{
    b->params.compression.kind = kind;
    b->params.compression.chunk_bytes = 16384;
    buf_clear(&b->data);
    buf_clear(&b->index);
    for (size_t i = 0; i < COMPONENT_COUNT; i++)
        buf_deinit(&out[i]);
    struct sstable_writer_options options = {
        .version = SSTABLE_NB,
        .table = b->table,
        .base = { .timestamp = 1700000000000000, .seconds = 1700000000 },
        .keys = b->keys_count,
    };
    uint64_t calls = mem_calls();
    double began_s = spent_s();
    struct sstable_writer *writer = sstable_writer_new(&options);
    write_all(b, writer);
    enum err err = sstable_writer_finish(writer, out);
    ensure(err == OK);
    drain(b, writer);
    say(b, kind == COMPRESSOR_NONE ? "write, plain" : "write, LZ4", began_s, calls,
        sstable_writer_plain_bytes(writer));
    sstable_writer_free(&writer);
}

static struct bytes unpack(struct bench *b, const struct buf out[COMPONENT_COUNT])
{
    struct compression_info info;
    struct report report;
    struct codec codec = { 0 };
    struct buf plain = buf_in(&b->arena);
    enum err err = compression_info_decode(buf_bytes(&out[COMPONENT_COMPRESSION_INFO]),
                                           b->data.size, &b->arena, &info, &report);
    ensure(err == OK);
    buf_grow(&plain, info.data_bytes);
    for (size_t i = 0; i < info.chunks_count; i++) {
        struct chunk_place place = compression_info_chunk(&info, b->data.size, i);
        struct bytes raw = bytes_of(b->data.data + place.offset, place.stored_bytes + 4);
        err = chunk_unpack(&codec, &info.params, raw, true, buf_take(&plain, place.plain_bytes),
                           place.plain_bytes);
        ensure(err == OK);
    }
    codec_deinit(&codec);
    return buf_bytes(&plain);
}

/* How many rows; every cell is looked at. */
static size_t read_rows(const struct layout *layout, struct bytes plain, struct row_space *space,
                        uint64_t *sum)
{
    size_t rows = 0, at = 0, wanted;
    struct unfiltered u;
    while (at < plain.size) {
        struct partition_head head;
        struct bytes rest = bytes_of(plain.data + at, plain.size - at);
        enum err err = partition_head_decode(layout->version, rest, &head, &wanted);
        ensure(err == OK);
        at += head.size_bytes;
        for (u.kind = UNFILTERED_ROW; u.kind != UNFILTERED_END; at += u.size_bytes) {
            rest = bytes_of(plain.data + at, plain.size - at);
            err = unfiltered_extent(layout, rest, &wanted);
            ensure(err == OK);
            err = unfiltered_decode(layout, bytes_of(rest.data, wanted), space, &u);
            ensure(err == OK);
            rows += u.kind == UNFILTERED_ROW;
            for (size_t i = 0; u.kind == UNFILTERED_ROW && i < u.row.cells_count; i++)
                *sum += u.row.cells[i].value.size;
        }
    }
    return rows;
}

static void bench_read(struct bench *b, const struct buf out[COMPONENT_COUNT])
{
    struct layout layout;
    struct row_space space = { .arena = &b->arena, .is_reused = true };
    space.key = buf_in(&b->arena);
    layout_of_table(SSTABLE_NB, b->table,
                    (struct header_base){ .timestamp = 1700000000000000, .seconds = 1700000000 },
                    &b->arena, &layout);
    uint64_t calls = mem_calls(), sum = 0;
    double began_s = spent_s();
    struct bytes plain = unpack(b, out);
    say(b, "unpack", began_s, calls, plain.size);
    calls = mem_calls();
    began_s = spent_s();
    size_t rows = read_rows(&layout, plain, &space, &sum);
    ensure(rows == b->rows && sum > 0);
    say(b, "decode", began_s, calls, plain.size);
}

static void bench_run(const char *name, bool is_wide, size_t rows)
{
    struct bench *b = mem_zalloc(sizeof *b);
    struct buf out[COMPONENT_COUNT] = { 0 };
    b->name = name;
    b->is_wide = is_wide;
    arena_init(&b->arena, 65536);
    bench_init(b, rows);
    bench_write(b, COMPRESSOR_NONE, out);
    bench_write(b, COMPRESSOR_LZ4, out);
    bench_read(b, out);
    for (size_t i = 0; i < COMPONENT_COUNT; i++)
        buf_deinit(&out[i]);
    buf_deinit(&b->data);
    buf_deinit(&b->index);
    mem_free(b->keys);
    table_unref(&b->table);
    arena_deinit(&b->arena);
    mem_free(b);
}

int main(int argc, char **argv)
{
    size_t rows = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    if (rows < ROWS_OF_A_WIDE) {
        fprintf(stderr, "bench_sstable [ROWS]: %d rows or more\n", ROWS_OF_A_WIDE);
        return 2;
    }
    bench_run("key", false, rows);
    bench_run("wide", true, rows - rows % ROWS_OF_A_WIDE);
    return 0;
}
