/* bench_store.c - the engine of one shard by itself: no log, no network, no ring.
 *
 *     merge    decode a mutation and merge it into a memtable: rows that are new, then again
 *     read     warm point reads through store_read, in random order
 *
 * Prints nanoseconds an operation and heap calls an operation.  The store is opened in the
 * simulated world, which is why there is nothing to wait for; its commit log takes part in no
 * figure.
 *
 *     bench_store [ROWS] [VALUE_BYTES]
 */
// SPDX-License-Identifier: Apache-2.0
#include "../unit/store/stage.h"
#include "store/inside.h"

#include <stdlib.h>
#include <time.h>

struct bench {
    struct stage stage;
    struct table *table;
    struct buf *mutations; /* one a row */
    char (*keys)[16];
    size_t rows;
    uint64_t seen_bytes;
};

static double now_ns(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void say(const char *what, const struct bench *b, double began_ns, uint64_t heap_calls)
{
    double rows = (double)b->rows, ns = (now_ns() - began_ns) / rows;
    printf("%-12s %8.0f ns %10.0f a second %8.3f heap calls\n", what, ns, 1e9 / ns,
           (double)(mem_calls() - heap_calls) / rows);
}

static void merge_all(struct bench *b, const char *what)
{
    struct arena arena = { 0 };
    struct store *s = b->stage.store;
    struct table_data *d = store_data_for(s, &b->table->id);
    uint64_t calls = mem_calls();
    double began_ns = now_ns();
    for (size_t i = 0; i < b->rows; i++) {
        struct mutation mutation;
        arena_reset(&arena);
        enum err e = mutation_decode(buf_bytes(&b->mutations[i]), b->table, &arena, &mutation);
        ensure(e == OK);
        store_merge(s, d, &mutation);
    }
    say(what, b, began_ns, calls);
    arena_deinit(&arena);
}

static struct bench *reading;
static void sink_partition(struct read_sink *sink, struct bytes key, int64_t token,
                           struct deletion deletion)
{
    (void)sink, (void)token, (void)deletion;
    reading->seen_bytes += key.size;
}
static void sink_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    (void)sink;
    reading->seen_bytes += is_live ? row->cells[0].value.size : 0;
}

static void read_all(struct bench *b)
{
    struct read_sink sink = { sink_partition, sink_row, read_ignore_range };
    struct arena arena = { 0 };
    struct prng prng = { 1 };
    struct read_outcome outcome;
    uint64_t calls = mem_calls();
    reading = b;
    double began_ns = now_ns();
    for (size_t i = 0; i < b->rows; i++) {
        struct read read = stage_read_of(b->table, b->keys[prng_below(&prng, b->rows)]);
        arena_reset(&arena);
        enum err e = store_read(b->stage.store, &read, &arena, &sink, &outcome);
        ensure(e == OK && outcome.rows_count == 1);
    }
    say("read", b, began_ns, calls);
    arena_deinit(&arena);
}

static void bench_init(struct bench *b, size_t value_bytes)
{
    uint8_t *value = mem_zalloc(value_bytes);
    stage_init(&b->stage, 1);
    b->table = stage_keyvalue("bench");
    catalog_add_system(&b->stage.catalog, b->table);
    ensure(stage_open(&b->stage) == OK);
    b->mutations = mem_zalloc(b->rows * sizeof *b->mutations);
    b->keys = mem_zalloc(b->rows * sizeof *b->keys);
    for (size_t i = 0; i < b->rows; i++) {
        snprintf(b->keys[i], sizeof b->keys[i], "user%zu", i % 100000000);
        stage_put(b->table, b->keys[i], 1, bytes_of(value, value_bytes), 1, &b->mutations[i]);
    }
    mem_free(value);
}

static void bench_deinit(struct bench *b)
{
    for (size_t i = 0; i < b->rows; i++)
        buf_deinit(&b->mutations[i]);
    mem_free(b->mutations);
    mem_free(b->keys);
    stage_deinit(&b->stage);
}

int main(int argc, char **argv)
{
    struct bench b = { .rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000 };
    size_t value_bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 1024;
    struct store_counts counts;
    bench_init(&b, value_bytes);
    merge_all(&b, "merge new");
    merge_all(&b, "merge again");
    read_all(&b);
    store_counts(b.stage.store, &counts);
    printf("%zu rows of %zu bytes take %.0f bytes each\n", b.rows, value_bytes,
           (double)counts.memtable_bytes / (double)b.rows);
    bench_deinit(&b);
    return 0;
}
