/* journal_forget.c - gives up segments that nobody needs any more, oldest first: keeps some as
 * spares, to be used again, and removes the others.
 *
 *     size ──> remove, or rename to a spare ──> sync the folder ──> the next one ... ──> ended
 *
 * Each is made durable before the next one begins, so that what is left of a folder is always its
 * end: a reader takes a segment that is missing between others for a hole.  A spare is used only
 * after that too.  One op serves all that ask meanwhile.
 *
 * What fails ends the request with the error; the journal itself goes on.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/journal_impl.h"

enum { SIZE, SIZED, GONE, SETTLED };

static struct journal *journal_of(struct op *op) { return owner_of(op, struct journal, forgetter); }

/* Completes who has what it asked for, or everybody with an error. */
static void forget_answer(struct journal *j, enum err err)
{
    list_each(l, &j->forgets)
    {
        struct io_req *req = owner_of(l, struct io_req, link);
        if (err == OK && req->key > j->lowest)
            continue;
        list_remove(l);
        io_req_end(req, err);
    }
}

static struct op_next forget_size(struct op *op)
{
    struct journal *j = journal_of(op);
    forget_answer(j, OK);
    if (list_empty(&j->forgets))
        return op_end(op, OK);
    journal_path(j->forget_path, j->folder, j->lowest);
    io_stat(j->io, &j->forget_req, op, j->forget_path, &j->forget_stat);
    return op_wait(SIZED);
}

static struct op_next forget_failed(struct op *op)
{
    struct journal *j = journal_of(op);
    forget_answer(j, j->forget_req.err);
    return op_end(op, j->forget_req.err);
}

static struct op_next forget_sized(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->forget_req.busy)
        return op_wait(SIZED);
    if (j->forget_req.err == ERR_NOT_FOUND) {
        j->lowest++; /* somebody else removed it */
        return op_goto(SIZE);
    }
    if (j->forget_req.err != OK)
        return forget_failed(op);
    j->forget_is_kept = j->counts.spares < j->options.spares_max &&
                        j->forget_stat.size_bytes == j->options.segment_bytes;
    if (j->forget_is_kept) {
        journal_spare_path(j->spare_path, j->folder, j->lowest);
        io_rename(j->io, &j->forget_req, op, j->forget_path, j->spare_path);
    } else {
        io_remove(j->io, &j->forget_req, op, j->forget_path);
    }
    return op_wait(GONE);
}

static struct op_next forget_gone(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->forget_req.busy)
        return op_wait(GONE);
    if (j->forget_req.err != OK)
        return forget_failed(op);
    j->counts.segments--;
    if (!j->forget_is_kept)
        j->counts.disk_bytes -= j->forget_stat.size_bytes;
    io_sync_dir(j->io, &j->forget_req, op, j->folder);
    return op_wait(SETTLED);
}

static struct op_next forget_settled(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->forget_req.busy)
        return op_wait(SETTLED);
    uint64_t forgotten = j->lowest++;
    if (j->forget_req.err != OK)
        return forget_failed(op);
    if (j->forget_is_kept)
        j->spares[j->counts.spares++] = forgotten;
    journal_poke(j);
    return op_goto(SIZE);
}

static const struct op_state states[] = {
    [SIZE] = { "forget size", forget_size, TO(SIZED) },
    [SIZED] = { "forget sized", forget_sized, TO(SIZE) | TO(GONE) },
    [GONE] = { "forget gone", forget_gone, TO(SETTLED) },
    [SETTLED] = { "forget settled", forget_settled, TO(SIZE) },
};

static void forget_release(struct op *op)
{
    struct journal *j = journal_of(op);
    j->is_forgetting = false;
    if (!list_empty(&j->forgets)) /* asked while the last one ended */
        journal_forget_start(j);
}

void journal_forget_start(struct journal *j)
{
    if (j->is_forgetting)
        return;
    j->is_forgetting = true;
    op_start(&j->forgetter, io_ops(j->io), &j->writer, states, forget_release);
}

void journal_forget(struct journal *j, struct io_req *req, struct op *op, uint64_t segment)
{
    ensure(!j->is_closing);
    io_req_begin(req, op);
    req->key = u64_min(segment, j->end.segment);
    list_add(&j->forgets, &req->link);
    journal_forget_start(j);
}
