/* rig_rows.h - rows and files for the rig, and what may be asked of it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rig.h"

/* ---- rows and files ---- */

/* A row of its own that does not pack. */
static inline void rig_encode(const struct table *t, uint64_t number, struct buf *out)
{
    static uint8_t value[ROW_BYTES];
    struct prng prng = { number };
    char key[24];
    for (size_t i = 0; i < sizeof value; i += 8)
        put_be64(value + i, prng_next(&prng));
    snprintf(key, sizeof key, "key%llu", (unsigned long long)number);
    stage_put(t, key, 1, bytes_of(value, sizeof value), (int64_t)number + 1, out);
}

static inline void rig_write(const char *table, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        struct buf m = { 0 };
        rig_encode(rig_find(table), rig.rows++, &m);
        ck_assert_int_eq(stage_apply(&rig.stage, buf_bytes(&m)), OK);
        buf_deinit(&m);
    }
}

static inline void rig_flush(const char *table)
{
    ck_assert_int_eq(stage_flush(&rig.stage, rig_find(table)), OK);
}

static inline void rig_file(const char *table)
{
    rig_write(table, FILE_ROWS);
    rig_flush(table);
}

/* So large that it is read in several pieces, and may be paced. */
static inline void rig_large(const char *table)
{
    rig_write(table, 15 * FILE_ROWS);
    rig_flush(table);
}

static inline enum err rig_settle(void)
{
    struct io_req req = { 0 };
    compactor_settle(rig.compactor, &req, &rig.stage.op);
    return stage_wait(&rig.stage, &req);
}

static inline void rig_pass(uint64_t ns)
{
    struct io_req req = { 0 };
    io_sleep(rig.stage.io, &req, &rig.stage.op, ns);
    ck_assert_int_eq(stage_wait(&rig.stage, &req), OK);
}

static inline struct store_file_list rig_files(const char *table)
{
    struct store_file_list list;
    store_list_files(rig.stage.store, &rig_find(table)->id, &rig.arena, &list);
    return list;
}

static inline size_t rig_count(const char *table)
{
    struct store_file_list list = rig_files(table);
    size_t count = list.count;
    store_files_done(&list);
    return count;
}

static inline uint64_t rig_bytes(const char *table)
{
    struct store_file_list list = rig_files(table);
    uint64_t bytes = 0;
    for (size_t i = 0; i < list.count; i++)
        bytes += list.files[i].data_bytes;
    store_files_done(&list);
    return bytes;
}

static inline struct compactor_counts rig_counts(void)
{
    struct compactor_counts counts;
    compactor_counts(rig.compactor, &counts);
    return counts;
}

/* What is due of the table's unrepaired files. */
static inline struct compaction_due rig_due(const char *table)
{
    struct compaction_due *due;
    size_t count = compactor_due(rig.compactor, &rig_find(table)->id, &rig.arena, &due);
    ck_assert_uint_eq(count, 1);
    return due[0];
}

static inline enum err rig_compact(const struct compact_ask *ask)
{
    struct io_req req = { 0 };
    compactor_compact(rig.compactor, &req, &rig.stage.op, ask, &rig.failed);
    return stage_wait(&rig.stage, &req);
}
