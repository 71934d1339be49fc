/* engine_rocksdb.c - the peer of `rondo bench engine`: RocksDB as a program of its own.
 *
 * Nothing that is installed is linked with it.  It is given what one shard's store is given: the
 * same rows and groups (one WriteBatch and one synced write each), LZ4, blocks of the size of our
 * chunks, a filter of 10 bits a key, the same memory for memtables and cached blocks, no compaction
 * (Rondo has none yet), and one processor for all its threads.
 */
// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <rocksdb/c.h>

struct bench {
    struct engine_setup setup;
    rocksdb_t *db;
    rocksdb_cache_t *cache;
    rocksdb_readoptions_t *reading;
    rocksdb_writeoptions_t *writing;
    uint64_t seen_bytes;
};

static void check(const char *error)
{
    if (!error)
        return;
    fprintf(stderr, "rocksdb: %s\n", error);
    exit(1);
}

static void bench_open(struct bench *b)
{
    const struct engine_setup *s = &b->setup;
    char path[1024], *error = NULL;
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();
    (void)snprintf(path, sizeof path, "%s/data", s->folder);
    b->cache = rocksdb_cache_create_lru(s->cache_bytes);
    rocksdb_block_based_options_set_block_cache(t, b->cache);
    rocksdb_block_based_options_set_block_size(t, s->chunk_bytes);
    rocksdb_block_based_options_set_filter_policy(t, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_options_set_block_based_table_factory(o, t);
    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_compression(o, rocksdb_lz4_compression);
    rocksdb_options_set_write_buffer_size(o, s->memtable_bytes / 2);
    rocksdb_options_set_max_write_buffer_number(o, 2);
    rocksdb_options_set_disable_auto_compactions(o, 1);
    rocksdb_options_set_level0_slowdown_writes_trigger(o, 1 << 20);
    rocksdb_options_set_level0_stop_writes_trigger(o, 1 << 20);
    rocksdb_options_set_recycle_log_file_num(o, 2);
    rocksdb_options_set_max_open_files(o, -1);
    b->db = rocksdb_open(o, path, &error);
    check(error);
    b->reading = rocksdb_readoptions_create();
    b->writing = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(b->writing, 1);
    rocksdb_options_destroy(o);
}

static void write_rows(struct bench *b, const struct engine_order *o)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    char *error = NULL, key[ENGINE_KEY];
    for (uint64_t i = o->a; i < o->a + o->b; i++) {
        struct bytes value = engine_value(&b->setup, i, o->c);
        engine_key(i, key);
        rocksdb_writebatch_put(batch, key, sizeof key, (const char *)value.data, value.size);
        if (rocksdb_writebatch_count(batch) < ENGINE_GROUP && i + 1 < o->a + o->b)
            continue;
        rocksdb_write(b->db, b->writing, batch, &error);
        check(error);
        rocksdb_writebatch_clear(batch);
    }
    rocksdb_writebatch_destroy(batch);
}

static void flush(struct bench *b)
{
    char *error = NULL;
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(options, 1);
    rocksdb_flush(b->db, options, &error);
    check(error);
    rocksdb_flushoptions_destroy(options);
}

static void read_rows(struct bench *b, const struct engine_order *o)
{
    struct prng prng = { o->c };
    char key[ENGINE_KEY], *error = NULL;
    rocksdb_cache_set_capacity(b->cache, o->b == ENGINE_WARM ? b->setup.cache_bytes : 0);
    for (uint64_t i = 0; i < o->a; i++) {
        engine_key(prng_below(&prng, b->setup.rows), key);
        rocksdb_pinnableslice_t *found =
            rocksdb_get_pinned(b->db, b->reading, key, sizeof key, &error);
        check(error);
        size_t size = 0;
        const char *value = rocksdb_pinnableslice_value(found, &size);
        ensure(value && size == b->setup.value_bytes);
        b->seen_bytes += size;
        rocksdb_pinnableslice_destroy(found);
    }
    rocksdb_cache_set_capacity(b->cache, b->setup.cache_bytes);
}

/* How many rows. */
static uint64_t read_ranges(struct bench *b, const struct engine_order *o)
{
    struct prng prng = { o->b };
    char key[ENGINE_KEY];
    uint64_t rows = 0;
    while (rows < o->a) {
        uint64_t before = rows;
        engine_key(prng_below(&prng, b->setup.rows), key);
        rocksdb_iterator_t *at = rocksdb_create_iterator(b->db, b->reading);
        rocksdb_iter_seek(at, key, sizeof key);
        for (; rows - before < ENGINE_RANGE && rocksdb_iter_valid(at); rows++) {
            size_t size = 0;
            (void)rocksdb_iter_key(at, &size);
            b->seen_bytes += size;
            (void)rocksdb_iter_value(at, &size);
            b->seen_bytes += size;
            rocksdb_iter_next(at);
        }
        ensure(rows > before);
        rocksdb_iter_destroy(at);
    }
    return rows;
}

static uint64_t run(struct bench *b, const struct engine_order *o)
{
    if (engine_is(o, "write"))
        write_rows(b, o);
    else if (engine_is(o, "flush"))
        flush(b);
    else if (engine_is(o, "read"))
        read_rows(b, o);
    else if (engine_is(o, "range"))
        return read_ranges(b, o);
    else
        ensure(engine_is(o, "drop"));
    if (!engine_is(o, "drop"))
        return engine_is(o, "write") ? o->b : o->a;
    rocksdb_cache_set_capacity(b->cache, 0);
    rocksdb_cache_set_capacity(b->cache, b->setup.cache_bytes);
    engine_drop_pages(&b->setup);
    return 0;
}

int main(int argc, char **argv)
{
    struct bench b = { .setup = engine_begin(argc, argv) };
    struct engine_order order;
    char line[128];
    bench_open(&b);
    while (fgets(line, sizeof line, stdin) && engine_parse(line, &order)) {
        struct engine_clock begun = engine_now(0);
        uint64_t done = run(&b, &order);
        engine_answer(&b.setup, done, &begun, 0);
    }
    rocksdb_close(b.db);
    return 0;
}
