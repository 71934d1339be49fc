/* act.h - a compaction of the files of one table (act_files.h). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "act_files.h"

/* One compaction: what it is told, and what it says. */
static struct act {
    struct compact_options options;
    struct compact_result result;
    struct compact_output output;
    struct report failed;
    struct arena arena;
    struct io_req req;
    struct op op; /* its parent */
    uint64_t inputs[FILES_MAX], expired[FILES_MAX];
} act;

static inline void teardown(void)
{
    arena_deinit(&act.arena);
    stage_deinit(&s);
}

static inline struct op_next parent_idle(struct op *op)
{
    return op->waiting ? op_wait(0) : op_end(op, OK);
}
static const struct op_state parent_states[] = { { "parent", parent_idle, 0 } };

/* Of everything that there is. */
static inline void prepare(int64_t gc_before)
{
    arena_deinit(&act.arena);
    act = (struct act){ .output = { UINT64_MAX, 0 } };
    act.options = (struct compact_options){ .table = table->id,
                                            .inputs = act.inputs,
                                            .inputs_count = generations(act.inputs),
                                            .expired = act.expired,
                                            .outputs = &act.output,
                                            .outputs_count = 1,
                                            .purges = gc_before != NEVER,
                                            .now_seconds = 2000,
                                            .gc_before = gc_before };
}

static inline void begin(void)
{
    op_start(&act.op, io_ops(s.io), NULL, parent_states, NULL);
    store_compact(s.store, &act.req, &act.op, &act.options, &act.arena, &act.result, &act.failed);
}

static inline enum err end(void)
{
    enum err err = stage_wait(&s, &act.req);
    while (op_running(&act.op))
        ck_assert(sim_step(s.sim));
    return err;
}

/* A compaction that rests whenever it is asked to: so it is in the middle of it. */
static inline uint64_t act_rests(void *context, uint64_t bytes)
{
    (void)context;
    return bytes > 0 ? 1000000000 : 0;
}

static inline void begin_slowly(void)
{
    act.options.pace = act_rests;
    begin();
    while (act.result.slices == 0) /* it has read, and written nothing that counts */
        ck_assert(sim_step(s.sim));
    ck_assert(act.req.busy);
}

static inline enum err compact(int64_t gc_before)
{
    prepare(gc_before);
    begin();
    return end();
}
