/* journal_segment.c - makes a segment: a file of the full size, whose name is durable.
 *
 *     look ──> (a spare) ──> rename ──> open ──────┐
 *      │                       │ failed            v
 *      └──> create ──> allocate ──────────────> publish ──> ended: OK
 *             │           │                        │
 *             │           └────────────────────────┴──> undo ──> remove ──> ended: the error
 *             └── ended: the error
 *
 * It is done ahead of need, so that moving to the next segment costs no sync.  A spare holds what
 * another segment held; it needs no new blocks of the disk, and a sync of it none of their
 * bookkeeping.  A segment that was never used is nothing to a reader.
 *
 * What has the name already is not touched: it is another's.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/journal_impl.h"

enum { LOOK, LOOKED, RENAMED, OPENED, CREATE, CREATED, ALLOCATED, PUBLISHED, UNDO, REMOVE };

static struct segment *segment_of(struct op *op) { return owner_of(op, struct segment, op); }

static struct op_next segment_look(struct op *op)
{
    struct segment *s = segment_of(op);
    struct journal *j = s->journal;
    if (j->counts.spares == 0 || s->id == s->left_id)
        return op_goto(CREATE);
    journal_spare_path(s->spare_path, j->folder, j->spares[--j->counts.spares]);
    io_stat(j->io, &s->req, op, s->path, &s->stat);
    return op_wait(LOOKED);
}

static struct op_next segment_looked(struct op *op)
{
    struct segment *s = segment_of(op);
    if (s->req.busy)
        return op_wait(LOOKED);
    if (s->req.err != ERR_NOT_FOUND) {
        s->err = s->req.err == OK ? ERR_EXISTS : s->req.err;
        return op_end(op, s->err);
    }
    io_rename(s->journal->io, &s->req, op, s->spare_path, s->path);
    return op_wait(RENAMED);
}

/* A spare that cannot be had is none: the next one, or a new file. */
static struct op_next segment_renamed(struct op *op)
{
    struct segment *s = segment_of(op);
    struct journal *j = s->journal;
    if (s->req.busy)
        return op_wait(RENAMED);
    j->counts.disk_bytes -= j->options.segment_bytes;
    if (s->req.err != OK)
        return op_goto(LOOK);
    s->is_reused = true;
    io_open(j->io, &s->req, op, s->path, IO_UPDATE, &s->file);
    return op_wait(OPENED);
}

static struct op_next segment_fail(struct segment *s)
{
    s->err = s->req.err;
    return op_goto(UNDO);
}

static struct op_next segment_publish(struct segment *s)
{
    io_sync_dir(s->journal->io, &s->req, &s->op, s->journal->folder);
    return op_wait(PUBLISHED);
}

static struct op_next segment_opened(struct op *op)
{
    struct segment *s = segment_of(op);
    if (s->req.busy)
        return op_wait(OPENED);
    if (s->req.err != OK) {
        s->file = NULL;
        return segment_fail(s);
    }
    return segment_publish(s);
}

static struct op_next segment_create(struct op *op)
{
    struct segment *s = segment_of(op);
    bool is_left = s->id == s->left_id;
    s->is_reused = is_left && s->is_left_reused;
    io_open(s->journal->io, &s->req, op, s->path, is_left ? IO_UPDATE : IO_CREATE, &s->file);
    return op_wait(CREATED);
}

static struct op_next segment_created(struct op *op)
{
    struct segment *s = segment_of(op);
    if (s->req.busy)
        return op_wait(CREATED);
    if (s->req.err != OK) {
        s->file = NULL;
        s->err = s->req.err;
        return op_end(op, s->err);
    }
    io_lane(s->file, IO_LANE_BULK);
    io_allocate(s->journal->io, &s->req, op, s->file, s->journal->options.segment_bytes);
    return op_wait(ALLOCATED);
}

static struct op_next segment_allocated(struct op *op)
{
    struct segment *s = segment_of(op);
    if (s->req.busy)
        return op_wait(ALLOCATED);
    return s->req.err == OK ? segment_publish(s) : segment_fail(s);
}

static struct op_next segment_published(struct op *op)
{
    struct segment *s = segment_of(op);
    struct journal *j = s->journal;
    if (s->req.busy)
        return op_wait(PUBLISHED);
    if (s->req.err != OK)
        return segment_fail(s);
    io_lane(s->file, IO_LANE_SYNC);
    j->counts.segments++;
    j->counts.reused += s->is_reused;
    j->counts.disk_bytes += j->options.segment_bytes;
    return op_end(op, OK);
}

static struct op_next segment_undo(struct op *op)
{
    struct segment *s = segment_of(op);
    if (s->req.busy)
        return op_wait(UNDO);
    if (s->file) {
        io_close(s->journal->io, &s->req, op, &s->file);
        return op_wait(UNDO);
    }
    io_remove(s->journal->io, &s->req, op, s->path);
    return op_wait(REMOVE);
}

/* What cannot be removed either is ours all the same, when the segment is made again. */
static struct op_next segment_remove(struct op *op)
{
    struct segment *s = segment_of(op);
    if (s->req.busy)
        return op_wait(REMOVE);
    s->left_id = s->req.err == OK ? 0 : s->id;
    s->is_left_reused = s->is_reused;
    return op_end(op, s->err);
}

static const struct op_state states[] = {
    [LOOK] = { "segment look", segment_look, TO(LOOKED) | TO(CREATE) },
    [LOOKED] = { "segment looked", segment_looked, TO(RENAMED) },
    [RENAMED] = { "segment renamed", segment_renamed, TO(LOOK) | TO(OPENED) },
    [OPENED] = { "segment opened", segment_opened, TO(PUBLISHED) | TO(UNDO) },
    [CREATE] = { "segment create", segment_create, TO(CREATED) },
    [CREATED] = { "segment created", segment_created, TO(ALLOCATED) },
    [ALLOCATED] = { "segment allocated", segment_allocated, TO(PUBLISHED) | TO(UNDO) },
    [PUBLISHED] = { "segment published", segment_published, TO(UNDO) },
    [UNDO] = { "segment undo", segment_undo, TO(REMOVE) },
    [REMOVE] = { "segment remove", segment_remove, 0 },
};

static void segment_release(struct op *op)
{
    struct segment *s = segment_of(op);
    uint64_t now = io_now(s->journal->io);
    s->busy = false;
    s->failed_ns = s->err == OK ? 0 : now + (now == 0);
}

void journal_segment_make(struct segment *s, struct op *parent, struct journal *j, uint64_t id)
{
    ensure(!s->busy && !s->file);
    s->journal = j;
    s->id = id;
    s->err = OK;
    s->busy = true;
    s->is_reused = false;
    journal_path(s->path, j->folder, id);
    op_start(&s->op, io_ops(j->io), parent, states, segment_release);
}

bool journal_may_grow(const struct journal *j)
{
    uint64_t max = j->options.total_bytes_max;
    bool has_room = max == 0 || j->counts.disk_bytes + j->options.segment_bytes <= max;
    return has_room || j->counts.spares > 0;
}
