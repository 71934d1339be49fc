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

static inline void stage_init(struct stage *s, uint64_t seed)
{
    *s = (struct stage){ .sim = sim_new(seed, (struct sim_faults){ .disk_ns_max = 1000 }) };
    s->io = sim_client(s->sim, 0);
    catalog_init(&s->catalog);
    s->options = (struct store_options){ .commitlog_folder = "/commitlog",
                                         .segment_bytes = 1 << 20,
                                         .memtable_bytes = 64 << 20,
                                         .catalog = &s->catalog,
                                         .owns = stage_owns_all };
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

static inline enum err stage_truncate(struct stage *s, const struct table *t)
{
    struct io_req req = { 0 };
    store_truncate(s->store, &req, &s->op, &t->id);
    return stage_wait(s, &req);
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
