/* act_files.h - one table in a store of one shard (stage.h), its rows and its files. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stage.h"
#include "store/inside.h"
#include "store/swap.h"

#include <check.h>

enum { FILES_MAX = 16, KEYS = 20, NEVER = 0, LONG_AGO = 1000 };

static struct stage s;
static struct table *table; /* the catalog's reference */

static inline void setup(void)
{
    stage_init(&s, 3);
    sim_file_set(s.sim, SIM_CLIENT(0), "/data/clock", 0, bytes_text("x"));
    table = stage_keyvalue("t");
    catalog_add_system(&s.catalog, table);
    ck_assert_int_eq(stage_open_settled(&s), OK);
}
/* ---- rows ---- */

static inline const char *key_of(int key)
{
    static char name[16];
    snprintf(name, sizeof name, "key%d", key);
    return name;
}

static inline void put(int key, const char *value, int64_t timestamp)
{
    struct buf m = { 0 };
    stage_put(table, key_of(key), 1, bytes_text(value), timestamp, &m);
    ck_assert_int_eq(stage_apply(&s, buf_bytes(&m)), OK);
    buf_deinit(&m);
}

/* The partition; long enough ago for any gc_before but NEVER. */
static inline void remove_key(int key, int64_t timestamp)
{
    struct buf m = { 0 };
    stage_delete(table, key_of(key), timestamp, &m);
    ck_assert_int_eq(stage_apply(&s, buf_bytes(&m)), OK);
    buf_deinit(&m);
}

static inline void flush(void) { ck_assert_int_eq(stage_flush(&s, table), OK); }

static inline bool has(int key, const char *value)
{
    struct stage_look look = { .column = 1 };
    bool is_found = stage_find(&s, table, key_of(key), &look) &&
                    bytes_equal(buf_bytes(&look.value), bytes_text(value));
    buf_deinit(&look.value);
    return is_found;
}

static inline bool has_none(int key)
{
    struct stage_look look = { .column = 1 };
    bool is_found = stage_find(&s, table, key_of(key), &look);
    buf_deinit(&look.value);
    return !is_found;
}

/* A file that takes a while to read: 400 KiB that do not pack. */
enum { BIG_KEYS = 50, BIG_BYTES = 8192 };
static inline struct bytes big_value(int key, int64_t timestamp)
{
    static uint8_t value[BIG_BYTES];
    struct prng prng = { (uint64_t)key * 1000 + (uint64_t)timestamp };
    for (size_t i = 0; i < sizeof value; i += 8)
        put_be64(value + i, prng_next(&prng));
    return bytes_of(value, sizeof value);
}

static inline void big_file(int64_t timestamp)
{
    for (int i = 0; i < BIG_KEYS; i++) {
        struct buf m = { 0 };
        stage_put(table, key_of(i), 1, big_value(i, timestamp), timestamp, &m);
        ck_assert_int_eq(stage_apply(&s, buf_bytes(&m)), OK);
        buf_deinit(&m);
    }
    flush();
}

static inline void check_big(int64_t timestamp)
{
    struct stage_look look = { .column = 1 };
    for (int i = 0; i < BIG_KEYS; i++) {
        ck_assert(stage_find(&s, table, key_of(i), &look));
        ck_assert(bytes_equal(buf_bytes(&look.value), big_value(i, timestamp)));
    }
    buf_deinit(&look.value);
}

/* ---- files ---- */

/* In the order of their generations. */
static inline size_t generations(uint64_t out[FILES_MAX])
{
    const struct view *v = store_view(s.store, &table->id);
    size_t n = 0;
    for (size_t i = 0; v && i < v->sstables_count; i++) {
        uint64_t g = v->sstables[i]->name.generation;
        size_t at = n++;
        for (; at > 0 && out[at - 1] > g; at--)
            out[at] = out[at - 1];
        out[at] = g;
    }
    return n;
}

static inline struct sstable *file(uint64_t generation)
{
    const struct view *v = store_view(s.store, &table->id);
    for (size_t i = 0; i < v->sstables_count; i++)
        if (v->sstables[i]->name.generation == generation)
            return v->sstables[i];
    ck_abort_msg("no such file");
}

struct names {
    unsigned files, temporary, data;
};
static inline void visit(void *context, const char *path, uint64_t size)
{
    struct names *n = context;
    (void)size;
    if (strncmp(path, "/data/stage/", 12) != 0)
        return;
    n->files++;
    n->temporary += strstr(path, TEMPORARY) != NULL || strstr(path, "/swap-") != NULL;
    n->data += strstr(path, "-Data.db") != NULL;
}
static inline struct names names(void)
{
    struct names n = { 0 };
    sim_files(s.sim, SIM_CLIENT(0), visit, &n);
    return n;
}

static inline void reopen(void)
{
    ck_assert_int_eq(stage_close(&s), OK);
    ck_assert_int_eq(stage_open_settled(&s), OK);
}

/* Two files, each with some rows of its own, and newer ones in the second. */
static inline void two_files(void)
{
    for (int i = 0; i < KEYS; i++)
        put(i, "old", 1);
    flush();
    for (int i = 0; i < KEYS; i += 2)
        put(i, "new", 2);
    put(KEYS, "new", 2);
    flush();
}

static inline void check_two_files(void)
{
    for (int i = 0; i < KEYS; i++)
        ck_assert(has(i, i % 2 ? "old" : "new"));
    ck_assert(has(KEYS, "new") && has_none(KEYS + 1));
}
