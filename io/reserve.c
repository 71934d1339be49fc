/* reserve.c - space of a disk that is kept back: a file, allocated and never written.
 *
 *     begin ──> open ──> size ──> space ──> grow ──> ended
 *       │  │    (it is closed)      ^         │ failed
 *       │  └── refill ──────────────┘         v
 *       └───── release ───────────────────> shrink ──> ended
 *
 * Nothing of it is synced: what a crash undoes is done again at the next opening.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/reserve.h"

enum { BEGIN, OPEN, OPENED, SIZED, SPACE, GROW, GROWN, SHRINK, SHRUNK };
enum { SHARE_OF_FREE = 4 };

static struct reserve *reserve_of(struct op *op) { return owner_of(op, struct reserve, op); }

static struct op_next reserve_begin(struct op *op)
{
    const struct reserve *r = reserve_of(op);
    if (r->is_giving)
        return r->file ? op_goto(SHRINK) : op_end(op, OK);
    return op_goto(r->file ? SPACE : OPEN);
}

static struct op_next reserve_create(struct op *op)
{
    struct reserve *r = reserve_of(op);
    io_open(r->io, &r->req, op, r->path, IO_UPDATE, &r->file);
    return op_wait(OPENED);
}

static struct op_next reserve_opened(struct op *op)
{
    struct reserve *r = reserve_of(op);
    if (r->req.busy)
        return op_wait(OPENED);
    if (r->req.err != OK) {
        r->file = NULL;
        return op_end(op, r->req.err);
    }
    io_lane(r->file, IO_LANE_BULK);
    io_stat(r->io, &r->req, op, r->path, &r->stat);
    return op_wait(SIZED);
}

static struct op_next reserve_sized(struct op *op)
{
    struct reserve *r = reserve_of(op);
    if (r->req.busy)
        return op_wait(SIZED);
    if (r->req.err != OK)
        return op_end(op, r->req.err);
    r->held_bytes = r->most_bytes = r->stat.size_bytes;
    return op_goto(SPACE);
}

static struct op_next reserve_space(struct op *op)
{
    struct reserve *r = reserve_of(op);
    io_space(r->io, &r->req, op, r->folder, &r->free_bytes);
    return op_wait(GROW);
}

static struct op_next reserve_grow(struct op *op)
{
    struct reserve *r = reserve_of(op);
    if (r->req.busy)
        return op_wait(GROW);
    if (r->req.err != OK)
        return op_end(op, r->req.err);
    if (r->held_bytes >= r->wanted_bytes)
        return op_end(op, OK);
    r->more_bytes = u64_min(r->wanted_bytes - r->held_bytes, r->free_bytes / SHARE_OF_FREE);
    /* a larger one may have been found than is wanted now, of when there were fewer shards */
    uint64_t least_bytes = u64_min(r->most_bytes, r->wanted_bytes) / 2;
    if (r->more_bytes == 0 || r->held_bytes + r->more_bytes < least_bytes)
        return op_end(op, ERR_NO_SPACE);
    io_allocate(r->io, &r->req, op, r->file, r->held_bytes + r->more_bytes);
    return op_wait(GROWN);
}

/* A file system may have allocated a part before it failed. */
static struct op_next reserve_grown(struct op *op)
{
    struct reserve *r = reserve_of(op);
    if (r->req.busy)
        return op_wait(GROWN);
    r->err = r->req.err;
    if (r->err != OK)
        return op_goto(SHRINK);
    r->held_bytes += r->more_bytes;
    r->most_bytes = u64_max(r->most_bytes, r->held_bytes);
    return op_end(op, OK);
}

static struct op_next reserve_shrink(struct op *op)
{
    struct reserve *r = reserve_of(op);
    io_truncate(r->io, &r->req, op, r->file, r->err == OK ? 0 : r->held_bytes);
    return op_wait(SHRUNK);
}

static struct op_next reserve_shrunk(struct op *op)
{
    struct reserve *r = reserve_of(op);
    if (r->req.busy)
        return op_wait(SHRUNK);
    if (r->err == OK && r->req.err == OK)
        r->held_bytes = 0;
    return op_end(op, r->err ? r->err : r->req.err);
}

static const struct op_state states[] = {
    [BEGIN] = { "reserve begin", reserve_begin, TO(OPEN) | TO(SPACE) | TO(SHRINK) },
    [OPEN] = { "reserve open", reserve_create, TO(OPENED) },
    [OPENED] = { "reserve opened", reserve_opened, TO(SIZED) },
    [SIZED] = { "reserve sized", reserve_sized, TO(SPACE) },
    [SPACE] = { "reserve space", reserve_space, TO(GROW) },
    [GROW] = { "reserve grow", reserve_grow, TO(GROWN) },
    [GROWN] = { "reserve grown", reserve_grown, TO(SHRINK) },
    [SHRINK] = { "reserve shrink", reserve_shrink, TO(SHRUNK) },
    [SHRUNK] = { "reserve shrunk", reserve_shrunk, 0 },
};

/* Without space there is no reserve, but that is no reason not to start. */
static void reserve_ended(struct op *op)
{
    struct reserve *r = reserve_of(op);
    struct io_req *asked = r->asked;
    bool may_be_none = r->is_opening && op->err == ERR_NO_SPACE;
    r->asked = NULL;
    io_req_end(asked, may_be_none ? OK : op->err);
}

static void start(struct reserve *r, struct io_req *req, struct op *op)
{
    ensure(!r->asked);
    io_req_begin(req, op);
    r->asked = req;
    r->err = OK;
    op_start(&r->op, io_ops(r->io), op, states, reserve_ended);
}

void reserve_open(struct reserve *r, struct io *io, struct io_req *req, struct op *op,
                  const char *folder, uint64_t bytes)
{
    *r = (struct reserve){ .io = io, .wanted_bytes = bytes, .is_opening = true };
    int n = snprintf(r->path, sizeof r->path, "%s/reserve", folder);
    ensure(n > 0 && n < RESERVE_PATH_BYTES);
    memcpy(r->folder, folder, strlen(folder) + 1);
    start(r, req, op);
}

void reserve_release(struct reserve *r, struct io_req *req, struct op *op)
{
    r->is_opening = false;
    r->is_giving = true;
    start(r, req, op);
}

void reserve_refill(struct reserve *r, struct io_req *req, struct op *op)
{
    r->is_opening = r->is_giving = false;
    start(r, req, op);
}

uint64_t reserve_bytes(const struct reserve *r) { return r->held_bytes; }

void reserve_close(struct reserve *r, struct io_req *req, struct op *op)
{
    ensure(!r->asked);
    if (r->file) {
        io_close(r->io, req, op, &r->file);
        return;
    }
    r->is_opening = false; /* it never got one */
    r->is_giving = true;
    start(r, req, op);
}
