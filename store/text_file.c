/* text_file.c - see text_file.h.
 *
 *     open ──> write ──> sync ──> close ──> ended
 *                 └────────┴───────> undo ──> gone ──> ended: failed
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/text_file.h"

#include "base/mem.h"

enum { TEXT_OPEN, TEXT_WRITE, TEXT_SYNC, TEXT_CLOSE, TEXT_UNDO, TEXT_GONE };

struct text_file {
    struct op op;
    struct io *io;
    struct io_req *done;
    struct io_req req;
    const char *path;
    struct bytes bytes;
    struct io_file *file;
    enum err err;
};

static struct text_file *text_of(struct op *op) { return owner_of(op, struct text_file, op); }

static struct op_next text_fail(struct text_file *t)
{
    t->err = t->req.err;
    io_close(t->io, &t->req, &t->op, &t->file);
    return op_wait(TEXT_UNDO);
}

static struct op_next text_open(struct op *op)
{
    struct text_file *t = text_of(op);
    io_open(t->io, &t->req, op, t->path, IO_CREATE, &t->file);
    return op_wait(TEXT_WRITE);
}

static struct op_next text_write(struct op *op)
{
    struct text_file *t = text_of(op);
    if (t->req.busy)
        return op_wait(TEXT_WRITE);
    if (t->req.err != OK) {
        t->file = NULL;
        return op_end(op, t->req.err);
    }
    io_write(t->io, &t->req, op, t->file, t->bytes.data, t->bytes.size, 0);
    return op_wait(TEXT_SYNC);
}

static struct op_next text_sync(struct op *op)
{
    struct text_file *t = text_of(op);
    if (t->req.busy)
        return op_wait(TEXT_SYNC);
    if (t->req.err != OK)
        return text_fail(t);
    io_sync(t->io, &t->req, op, t->file);
    return op_wait(TEXT_CLOSE);
}

static struct op_next text_close(struct op *op)
{
    struct text_file *t = text_of(op);
    if (t->req.busy)
        return op_wait(TEXT_CLOSE);
    if (!t->file) /* it is synced: what a close says is nobody's loss */
        return op_end(op, OK);
    if (t->req.err != OK)
        return text_fail(t);
    io_close(t->io, &t->req, op, &t->file);
    return op_wait(TEXT_CLOSE);
}

static struct op_next text_undo(struct op *op)
{
    struct text_file *t = text_of(op);
    if (t->req.busy)
        return op_wait(TEXT_UNDO);
    io_remove(t->io, &t->req, op, t->path);
    return op_wait(TEXT_GONE);
}

static struct op_next text_gone(struct op *op)
{
    struct text_file *t = text_of(op);
    return t->req.busy ? op_wait(TEXT_GONE) : op_end(op, t->err);
}

static const struct op_state states[] = {
    [TEXT_OPEN] = { "text open", text_open, TO(TEXT_WRITE) },
    [TEXT_WRITE] = { "text write", text_write, TO(TEXT_SYNC) },
    [TEXT_SYNC] = { "text sync", text_sync, TO(TEXT_CLOSE) | TO(TEXT_UNDO) },
    [TEXT_CLOSE] = { "text close", text_close, TO(TEXT_UNDO) },
    [TEXT_UNDO] = { "text undo", text_undo, TO(TEXT_GONE) },
    [TEXT_GONE] = { "text gone", text_gone, 0 },
};

static void text_release(struct op *op)
{
    struct text_file *t = text_of(op);
    struct io_req *done = t->done;
    enum err err = op->err;
    ensure(!t->req.busy && !t->file);
    mem_free(t);
    io_req_end(done, err);
}

void text_file_make(struct io *io, struct io_req *req, struct op *op, const char *path,
                    struct bytes bytes)
{
    struct text_file *t = mem_zalloc(sizeof *t);
    t->io = io, t->done = req, t->path = path, t->bytes = bytes;
    io_req_begin(req, op);
    op_start(&t->op, io_ops(io), NULL, states, text_release);
}
