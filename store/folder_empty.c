/* folder_empty.c - see folder_empty.h.
 *
 *     list ──> remove ──> remove ... ──> gone ──> ended
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/folder_empty.h"

#include "base/mem.h"

enum { EMPTY_LIST, EMPTY_REMOVE, EMPTY_GONE };

struct emptying {
    struct op op;
    struct io *io;
    struct io_req *done;
    struct io_req req;
    struct arena arena;
    const char *folder;
    struct io_names names;
    size_t at;
};

static struct emptying *emptying_of(struct op *op) { return owner_of(op, struct emptying, op); }

static struct op_next emptying_list(struct op *op)
{
    struct emptying *e = emptying_of(op);
    io_list(e->io, &e->req, op, e->folder, &e->arena, &e->names);
    return op_wait(EMPTY_REMOVE);
}

static struct op_next emptying_remove(struct op *op)
{
    struct emptying *e = emptying_of(op);
    if (e->req.busy)
        return op_wait(EMPTY_REMOVE);
    if (e->req.err == ERR_NOT_FOUND && e->at == 0)
        return op_end(op, OK);
    if (e->req.err != OK)
        return op_end(op, e->req.err);
    if (e->at == e->names.count) {
        io_remove(e->io, &e->req, op, e->folder);
        return op_wait(EMPTY_GONE);
    }
    io_remove(e->io, &e->req, op,
              arena_printf(&e->arena, "%s/%s", e->folder, e->names.names[e->at++]));
    return op_wait(EMPTY_REMOVE);
}

static struct op_next emptying_gone(struct op *op)
{
    struct emptying *e = emptying_of(op);
    return e->req.busy ? op_wait(EMPTY_GONE) : op_end(op, e->req.err);
}

static const struct op_state states[] = {
    [EMPTY_LIST] = { "empty list", emptying_list, TO(EMPTY_REMOVE) },
    [EMPTY_REMOVE] = { "empty remove", emptying_remove, TO(EMPTY_REMOVE) | TO(EMPTY_GONE) },
    [EMPTY_GONE] = { "empty gone", emptying_gone, TO(EMPTY_GONE) },
};

static void emptying_release(struct op *op)
{
    struct emptying *e = emptying_of(op);
    struct io_req *done = e->done;
    enum err err = op->err;
    arena_deinit(&e->arena);
    mem_free(e);
    io_req_end(done, err);
}

void folder_empty(struct io *io, struct io_req *req, struct op *op, const char *folder)
{
    struct emptying *e = mem_zalloc(sizeof *e);
    e->io = io, e->done = req, e->folder = folder;
    io_req_begin(req, op);
    op_start(&e->op, io_ops(io), op, states, emptying_release);
}
