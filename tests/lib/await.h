/* await.h - for tests under the simulator: ask the world for something and step it until the answer
 * is there, so that a test reads from top to bottom.
 *
 *     asker_init(&a, sim, io);
 *     io_open(io, &a.req, &a.op, "/x", IO_CREATE, &file);
 *     ck_assert_int_eq(await(&a), OK);
 *
 * An asker is an op that never ends; it stays in place while it is used.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/sim/sim.h"

struct asker {
    struct sim *sim;
    struct io *io;
    struct op op;
    struct io_req req;
};

static inline struct op_next asker_wait(struct op *op)
{
    (void)op;
    return op_wait(0);
}

static inline void asker_init(struct asker *a, struct sim *sim, struct io *io)
{
    static const struct op_state states[] = { { "asker", asker_wait, 0 } };
    *a = (struct asker){ .sim = sim, .io = io };
    op_start(&a->op, io_ops(io), NULL, states, NULL);
}

/* Steps the world until the request has completed; how it did. */
static inline enum err await_req(struct sim *sim, struct io_req *req)
{
    while (req->busy)
        ensure(sim_step(sim));
    return req->err;
}

/* The same where the node may be killed meanwhile (sim_kill_at): ERR_STOPPED when it was before the
 * request had completed; it may not be alive any more in any case. */
static inline enum err await_alive(struct sim *sim, int node, struct io_req *req)
{
    while (req->busy && sim_alive(sim, node))
        ensure(sim_step(sim));
    return req->busy ? ERR_STOPPED : req->err;
}

static inline enum err await(struct asker *a) { return await_req(a->sim, &a->req); }

/* Lets `ns` of virtual time pass. */
static inline void await_ns(struct asker *a, uint64_t ns)
{
    struct io_req req = { 0 };
    io_sleep(a->io, &req, &a->op, ns);
    ensure(await_req(a->sim, &req) == OK);
}
