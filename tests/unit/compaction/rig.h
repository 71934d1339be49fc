/* rig.h - a store and its compactor in a simulated world, tables that may be altered, rows that do
 * not pack; called as if nothing ever waited.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "../store/stage.h"
#include "compaction/compaction.h"

#include <check.h>

enum { ROW_BYTES = 104, FILE_ROWS = 400 };

static struct rig {
    struct stage stage;
    struct compactor *compactor;
    struct compactor_options options;
    struct arena arena; /* of one test */
    uint64_t epoch, rows;
    struct report failed;
    struct op clock; /* ticks: a step of the world takes no longer, whatever it waits for */
    struct io_req tick;
} rig;

static inline struct op_next clock_tick(struct op *op)
{
    if (op->stop && rig.tick.busy)
        io_cancel(rig.stage.io, &rig.tick);
    if (rig.tick.busy)
        return op_wait(0);
    if (op->stop)
        return op_end(op, OK);
    io_sleep(rig.stage.io, &rig.tick, op, 1000000);
    return op_wait(0);
}
static const struct op_state clock_states[] = { { "clock", clock_tick, 0 } };

/* ---- tables ---- */

/* "Unified; scaling_parameters: L4" as the option that a table has. */
static inline struct option compaction_of(const char *text)
{
    struct option map = { .name = "compaction", .pairs_count = 1 };
    size_t size = strcspn(text, ";");
    map.pairs = arena_array(&rig.arena, const char *, 40);
    map.pairs[0] = "class";
    map.pairs[1] = arena_printf(&rig.arena, "%.*sCompactionStrategy", (int)size, text);
    for (text += size; *text; text += size) {
        text += strspn(text, "; ");
        size = strcspn(text, ":");
        map.pairs[2 * map.pairs_count] = arena_text(&rig.arena, bytes_of(text, size));
        text += size + strspn(text + size, ": ");
        size = strcspn(text, ";");
        map.pairs[2 * map.pairs_count++ + 1] = arena_text(&rig.arena, bytes_of(text, size));
    }
    for (size_t i = 1; i < map.pairs_count; i++) /* sorted by name */
        for (size_t k = i; k && strcmp(map.pairs[2 * k - 2], map.pairs[2 * k]) > 0; k--)
            for (size_t side = 0; side < 2; side++) {
                const char *moved = map.pairs[2 * k - 2 + side];
                map.pairs[2 * k - 2 + side] = map.pairs[2 * k + side];
                map.pairs[2 * k + side] = moved;
            }
    return map;
}

static inline void rig_change(const struct schema_change *change)
{
    struct buf bytes = { 0 };
    change_encode(change, &bytes);
    ck_assert_int_eq(catalog_apply(&rig.stage.catalog, ++rig.epoch, buf_bytes(&bytes)), OK);
    buf_deinit(&bytes);
    if (rig.compactor)
        compactor_catalog_changed(rig.compactor);
}

static inline struct table *rig_find(const char *name)
{
    struct table *t = catalog_table(&rig.stage.catalog, "stage", name);
    ck_assert_ptr_nonnull(t);
    return t;
}

static inline struct table *rig_table(const char *name, const char *compaction)
{
    struct option option = compaction_of(compaction);
    struct table *t = stage_keyvalue(name);
    t->options_count = 1, t->options = &option;
    rig_change(&(struct schema_change){ CHANGE_CREATE_TABLE, .table = t });
    table_unref(&t);
    return rig_find(name);
}

static inline void rig_alter(const char *name, const char *compaction)
{
    struct option option = compaction_of(compaction);
    struct table *t = stage_keyvalue(name);
    t->options_count = 1, t->options = &option;
    rig_change(
        &(struct schema_change){ CHANGE_ALTER_TABLE, .table = t, .base = rig_find(name)->epoch });
    table_unref(&t);
}

/* ---- begin and end ---- */

static inline void rig_open(void)
{
    struct io_req req = { 0 };
    rig.options.store = rig.stage.store;
    compactor_open(rig.stage.io, &req, &rig.stage.op, &rig.options, &rig.compactor, &rig.failed);
    ck_assert_int_eq(stage_wait(&rig.stage, &req), OK);
}

static inline void rig_close(void)
{
    struct io_req req = { 0 };
    compactor_close(&rig.compactor, &req, &rig.stage.op);
    ck_assert_int_eq(stage_wait(&rig.stage, &req), OK);
}

/* Levels are built on KiB here, as the rest is: files of 40 KiB. */
static inline void rig_setup(void)
{
    struct keyspace *keyspace = mem_zalloc(sizeof *keyspace);
    rig.epoch = rig.rows = 0;
    stage_init(&rig.stage, 5);
    op_start(&rig.clock, io_ops(rig.stage.io), NULL, clock_states, NULL);
    sim_file_set(rig.stage.sim, SIM_CLIENT(0), "/data/clock", 0, bytes_text("x"));
    keyspace->name = "stage", keyspace->is_durable = true, keyspace->factor = 1;
    rig_change(&(struct schema_change){ CHANGE_CREATE_KEYSPACE, .keyspace = keyspace });
    mem_free(keyspace);
    ck_assert_int_eq(stage_open_settled(&rig.stage), OK);
    rig.options = (struct compactor_options){ .catalog = &rig.stage.catalog,
                                              .folder = "/data/compaction-0",
                                              .at_once = 1,
                                              .memtable_bytes = 1 << 16,
                                              .scale = { 1024, 1024 } };
    rig_open();
}

static inline void rig_teardown(void)
{
    if (rig.compactor)
        rig_close();
    op_stop(&rig.clock, ERR_STOPPED);
    while (op_running(&rig.clock))
        sim_step(rig.stage.sim);
    stage_deinit(&rig.stage);
    arena_deinit(&rig.arena);
}
