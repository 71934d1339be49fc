/* stage.h - a store of one shard in a quiet simulated world, to be called as if nothing ever
 * waited.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/prng.h"
#include "io/sim/sim.h"
#include "props.h"

struct stage {
    struct sim *sim;
    struct io *io;
    struct catalog catalog;
    struct store_options options;
    struct store *store;
    struct report failed;
    struct op op; /* what requests hold */
};

static inline struct op_next stage_idle(struct op *op)
{
    return op->stop ? op_end(op, op->stop) : op_wait(0);
}
static const struct op_state stage_states[] = { { "stage", stage_idle, 0 } };

static inline bool stage_owns_all(void *context, int64_t token)
{
    (void)context;
    return token != INT64_MIN;
}

static inline int stage_shard_of(int64_t token, int shards)
{
    return (int)((uint64_t)token % (uint64_t)shards);
}

static inline void stage_init(struct stage *s, uint64_t seed)
{
    *s = (struct stage){ .sim = sim_new(seed, (struct sim_faults){ .disk_ns_max = 1000 }) };
    s->io = sim_client(s->sim, 0);
    catalog_init(&s->catalog);
    s->options = (struct store_options){ .commitlog_folder = "/commitlog",
                                         .data_folder = "/data",
                                         .segment_bytes = 1 << 20,
                                         .memtable_bytes = 64 << 20,
                                         .cache_bytes = 1 << 20,
                                         .version = SSTABLE_NB,
                                         .host = uuid_named(bytes_text("stage")),
                                         .catalog = &s->catalog,
                                         .owns = stage_owns_all,
                                         .shard_of = stage_shard_of };
    op_start(&s->op, io_ops(s->io), NULL, stage_states, NULL);
}

static inline enum err stage_wait(struct stage *s, struct io_req *req)
{
    while (req->busy)
        ensure(sim_step(s->sim));
    return req->err;
}

static inline enum err stage_open(struct stage *s)
{
    struct io_req req = { 0 };
    store_open(s->io, &req, &s->op, &s->options, &s->store, &s->failed);
    return stage_wait(s, &req);
}

/* As a node has it once all its shards have opened: only then anything is compacted. */
static inline enum err stage_open_settled(struct stage *s)
{
    enum err err = stage_open(s);
    if (err == OK)
        store_settled(s->store);
    return err;
}

static inline enum err stage_close(struct stage *s)
{
    struct io_req req = { 0 };
    store_close(&s->store, &req, &s->op);
    return stage_wait(s, &req);
}

static inline enum err stage_apply(struct stage *s, struct bytes mutation)
{
    struct io_req req = { 0 };
    store_apply(s->store, &req, &s->op, mutation);
    return stage_wait(s, &req);
}

/* All that a node of one shard does. */
static inline enum err stage_truncate(struct stage *s, const struct table *t)
{
    struct io_req req = { 0 };
    struct store_held *held = NULL;
    store_hold(s->store, &req, &s->op, &t->id, &held);
    enum err e = stage_wait(s, &req);
    if (e != OK)
        return e;
    store_erase(s->store, &req, &s->op, &t->id, &held, 1);
    e = stage_wait(s, &req);
    store_release(s->store, &held, e == OK);
    return e;
}

static inline enum err stage_drop(struct stage *s, const struct table *t)
{
    struct io_req req = { 0 };
    store_drop(s->store, &req, &s->op, &t->id, false);
    enum err e = stage_wait(s, &req);
    if (e == OK) {
        store_remove(s->store, &req, &s->op, t);
        e = stage_wait(s, &req);
    }
    return e;
}

static inline enum err stage_flush(struct stage *s, const struct table *t)
{
    struct io_req req = { 0 };
    store_flush(s->store, &req, &s->op, t ? &t->id : NULL, &s->failed);
    return stage_wait(s, &req);
}

/* A read that may wait. */
static inline enum err stage_read(struct stage *s, const struct read *read, struct arena *arena,
                                  struct read_sink *sink, struct read_outcome *out)
{
    struct io_req req = { 0 };
    store_read_start(s->store, &req, &s->op, read, arena, sink, out);
    return stage_wait(s, &req);
}

/* As stage_get (props.h), of rows that may be in files. */
static inline bool stage_find(struct stage *s, const struct table *t, const char *key,
                              struct stage_look *look)
{
    struct arena arena = { 0 };
    struct read read = stage_read_of(t, key);
    struct read_outcome outcome;
    look->sink = (struct read_sink){ stage_look_partition, stage_look_row, read_ignore_range };
    look->is_found = false;
    enum err e = stage_read(s, &read, &arena, &look->sink, &outcome);
    ensure(e == OK && !outcome.has_more);
    arena_deinit(&arena);
    return look->is_found;
}

static inline void stage_deinit(struct stage *s)
{
    enum err e = s->store ? stage_close(s) : OK;
    ensure(e == OK || e == ERR_IO);
    op_stop(&s->op, ERR_STOPPED);
    while (op_running(&s->op))
        sim_step(s->sim);
    catalog_deinit(&s->catalog);
    sim_free(s->sim);
}
