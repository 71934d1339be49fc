/* journal_segment.c - makes a segment: a file of zeros of the full size, whose name is durable.
 *
 *     create ──> allocate ──> publish ──> ended: OK
 *       │           │            │
 *       │           └────────────┴──> undo ──> remove ──> ended: the error
 *       └── the name is taken: the next id
 *
 * It is done ahead of need, so that moving to the next segment costs no sync.  A segment of zeros
 * that was never used is nothing to a reader.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/journal_impl.h"

enum { CREATE, CREATED, ALLOCATED, PUBLISHED, UNDO, REMOVE };

static struct segment *segment_of(struct op *op) { return owner_of(op, struct segment, op); }

static struct op_next segment_create(struct op *op)
{
    struct segment *s = segment_of(op);
    journal_path(s->path, s->journal->folder, s->id);
    io_open(s->journal->io, &s->req, op, s->path, IO_CREATE, &s->file);
    return op_wait(CREATED);
}

static struct op_next segment_created(struct op *op)
{
    struct segment *s = segment_of(op);
    struct journal *j = s->journal;
    if (s->req.busy)
        return op_wait(CREATED);
    if (s->req.err == ERR_EXISTS) {
        s->id++;
        return op_goto(CREATE);
    }
    if (s->req.err != OK) {
        s->file = NULL;
        s->err = s->req.err;
        return op_end(op, s->err);
    }
    io_allocate(j->io, &s->req, op, s->file, j->options.segment_bytes);
    return op_wait(ALLOCATED);
}

static struct op_next segment_allocated(struct op *op)
{
    struct segment *s = segment_of(op);
    if (s->req.busy)
        return op_wait(ALLOCATED);
    if (s->req.err != OK) {
        s->err = s->req.err;
        io_close(s->journal->io, &s->req, op, &s->file);
        return op_wait(UNDO);
    }
    io_sync_dir(s->journal->io, &s->req, op, s->journal->folder);
    return op_wait(PUBLISHED);
}

static struct op_next segment_published(struct op *op)
{
    struct segment *s = segment_of(op);
    struct journal *j = s->journal;
    if (s->req.busy)
        return op_wait(PUBLISHED);
    if (s->req.err != OK) {
        s->err = s->req.err;
        io_close(j->io, &s->req, op, &s->file);
        return op_wait(UNDO);
    }
    j->counts.segments++;
    j->counts.disk_bytes += j->options.segment_bytes;
    return op_end(op, OK);
}

static struct op_next segment_undo(struct op *op)
{
    struct segment *s = segment_of(op);
    if (s->req.busy)
        return op_wait(UNDO);
    io_remove(s->journal->io, &s->req, op, s->path);
    return op_wait(REMOVE);
}

static struct op_next segment_remove(struct op *op)
{
    struct segment *s = segment_of(op);
    return s->req.busy ? op_wait(REMOVE) : op_end(op, s->err);
}

static const struct op_state states[] = {
    [CREATE] = { "segment create", segment_create, TO(CREATED) },
    [CREATED] = { "segment created", segment_created, TO(CREATE) | TO(ALLOCATED) },
    [ALLOCATED] = { "segment allocated", segment_allocated, TO(PUBLISHED) | TO(UNDO) },
    [PUBLISHED] = { "segment published", segment_published, TO(UNDO) },
    [UNDO] = { "segment undo", segment_undo, TO(REMOVE) },
    [REMOVE] = { "segment remove", segment_remove, 0 },
};

static void segment_release(struct op *op) { segment_of(op)->busy = false; }

void journal_segment_make(struct segment *s, struct op *parent, struct journal *j, uint64_t id)
{
    ensure(!s->busy && !s->file);
    s->journal = j;
    s->id = id;
    s->err = OK;
    s->busy = true;
    op_start(&s->op, io_ops(j->io), parent, states, segment_release);
}

bool journal_may_grow(const struct journal *j)
{
    uint64_t max = j->options.total_bytes_max;
    return max == 0 || j->counts.disk_bytes + j->options.segment_bytes <= max;
}
