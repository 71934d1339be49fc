/* journal_write.c - the one op that writes a journal: group commit.
 *
 *     journal_append ──> filling ──> full ... ──> writing ──> file ──> sync ──> appends complete
 *
 *              ┌────────────────── nothing to do: wait ──┐
 *              v                                         │
 *            idle ──> head ──> run ──> sync ──> done ────┘
 *              │      (of a fresh segment)       ^
 *              ├──> rotate ──────────────────────┘ moves to the segment that was made ahead
 *              └──> quiet ──> closed ──> removed ──> ended       journal_close
 *
 * All appends that arrive while one sync runs share the next run.
 *
 * Invariants:
 *   1. At most one write or sync of this journal is under way.
 *   2. GROUP, BATCH: an append completes with OK after a sync that began when its bytes had been
 *      written.  PERIODIC: after the write.
 *   3. `proven` never runs ahead of a sync that has returned.
 *   4. A failed write or sync breaks the journal: nothing is written any more, and every append,
 *      waiting or later, fails with that cause.
 *   5. A run lies in one segment; a batch that does not fit moves to the next one as a whole.
 *
 * A clean close ends with a run without records, so that all records before it are proven.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/journal_impl.h"

enum { IDLE, ROTATE, MADE, HEAD, RUN, SYNC, QUIET, CLOSED, UNUSED, REMOVED };

static struct journal *journal_of(struct op *op) { return owner_of(op, struct journal, writer); }

static void journal_break(struct journal *j, enum err cause)
{
    ensure(cause != OK);
    if (!j->broken)
        j->broken = cause;
    if (j->writing)
        journal_writing_done(j, j->broken);
}

static struct batch *batch_take(struct journal *j)
{
    struct batch *b = j->filling;
    if (!list_empty(&j->full)) {
        b = owner_of(j->full.next, struct batch, link);
        list_remove(&b->link);
        return b;
    }
    if (b && b->records > 0)
        j->filling = NULL;
    return b && b->records > 0 ? b : NULL;
}

/* Nothing can be written any more: everything that waits is told why. */
static void fail_all(struct journal *j)
{
    journal_complete(j, &j->refused, j->broken);
    while (j->writing || (j->writing = batch_take(j)))
        journal_writing_done(j, j->broken);
}

/* The records learn their place, and the run gets its mark. */
static void batch_seal(struct journal *j, struct batch *b)
{
    size_t body = b->bytes.size - JOURNAL_MARK_BYTES;
    for (size_t at = JOURNAL_MARK_BYTES; at < b->bytes.size;) {
        uint8_t *head = b->bytes.data + at;
        struct bytes record = bytes_of(head + JOURNAL_HEAD_BYTES, get_be32(head));
        struct journal_position place = { j->end.segment, j->end.offset + at };
        journal_head_put(head, record, place);
        at += JOURNAL_HEAD_BYTES + record.size;
    }
    struct journal_mark mark = { .at = j->end,
                                 .body_bytes = (uint32_t)body,
                                 .records = b->records,
                                 .first = j->first,
                                 .proven = j->proven };
    journal_mark_put(b->bytes.data, &mark);
    size_t pad = (size_t)journal_run_bytes(body) - b->bytes.size;
    memset(buf_take(&b->bytes, pad), 0, pad);
}

static uint64_t room_left(const struct journal *j)
{
    return j->file ? j->options.segment_bytes - u64_max(j->end.offset, JOURNAL_BLOCK_BYTES) : 0;
}

static struct op_next start_sync(struct journal *j)
{
    j->synced_ns = io_now(j->io);
    j->counts.syncs++;
    io_sync(j->io, &j->req, &j->writer, j->file);
    return op_wait(SYNC);
}

static struct op_next start_run(struct journal *j)
{
    struct batch *b = j->writing;
    batch_seal(j, b);
    io_write(j->io, &j->req, &j->writer, j->file, b->bytes.data, b->bytes.size, j->end.offset);
    return op_wait(RUN);
}

static struct op_next start_writing(struct journal *j)
{
    uint64_t need = journal_run_bytes(j->writing->bytes.size - JOURNAL_MARK_BYTES);
    if (need > room_left(j))
        return op_goto(ROTATE);
    if (j->end.offset > 0)
        return start_run(j);
    struct journal_mark mark = { .at = j->end, .first = j->first, .proven = j->proven };
    journal_mark_put(j->head, &mark);
    io_write(j->io, &j->req, &j->writer, j->file, j->head, sizeof j->head, 0);
    return op_wait(HEAD);
}

/* PERIODIC: whether a sync is due; else sees to it that the writer looks again when it is. */
static bool sync_is_due(struct journal *j)
{
    if (!j->is_unsynced)
        return false;
    uint64_t due = j->synced_ns + j->options.period_ns, now = io_now(j->io);
    if (j->is_closing || now >= due)
        return true;
    if (!j->tick.busy)
        io_sleep(j->io, &j->tick, &j->writer, due - now);
    return false;
}

/* The run without records that proves all before it; once, and only where there is something. */
static bool wants_proof(struct journal *j)
{
    bool is_wanted =
        !j->is_proof && j->end.offset > JOURNAL_BLOCK_BYTES && room_left(j) >= JOURNAL_BLOCK_BYTES;
    j->is_proof = true;
    return is_wanted;
}

static void make_next(struct journal *j)
{
    bool is_due = room_left(j) < j->options.segment_bytes / 2 && !j->is_closing;
    bool is_there = j->next.busy || j->next.file;
    if (is_due && !is_there && !journal_was_refused(j) && journal_may_grow(j))
        journal_segment_make(&j->next, &j->writer, j, j->end.segment + 1);
}

static struct op_next writer_idle(struct op *op)
{
    struct journal *j = journal_of(op);
    j->is_idle = false;
    if (j->broken) {
        fail_all(j);
        if (j->is_closing)
            return op_goto(QUIET);
        j->is_idle = true;
        return op_wait(IDLE);
    }
    if (!j->writing)
        j->writing = batch_take(j);
    if (sync_is_due(j))
        return start_sync(j);
    if (!j->writing && j->is_closing && wants_proof(j))
        j->writing = journal_batch_new(j);
    if (j->writing)
        return start_writing(j);
    if (j->is_closing)
        return op_goto(QUIET);
    j->is_idle = true;
    return op_wait(IDLE);
}

/* Every append of the batch is refused for want of space; the journal is not broken by that. */
static struct op_next refuse_writing(struct journal *j)
{
    j->full_ns = io_now(j->io) + (io_now(j->io) == 0);
    journal_writing_done(j, ERR_NO_SPACE);
    return op_goto(IDLE);
}

/* On to the next segment, which may have to be made first.  The former one is synced before. */
static struct op_next writer_rotate(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->is_unsynced)
        return start_sync(j);
    if (j->next.busy || j->former_req.busy)
        return op_wait(ROTATE);
    if (!j->next.file) {
        if (!journal_may_grow(j))
            return refuse_writing(j);
        journal_segment_make(&j->next, op, j, j->end.segment + 1);
        return op_wait(MADE);
    }
    j->former = j->file;
    j->file = j->next.file;
    j->next.file = NULL;
    j->end = (struct journal_position){ j->next.id, 0 };
    j->full_ns = 0;
    if (j->former)
        io_close(j->io, &j->former_req, op, &j->former);
    return start_writing(j);
}

static struct op_next writer_made(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->next.busy)
        return op_wait(MADE);
    if (j->next.err == OK)
        return op_goto(ROTATE);
    if (j->next.err == ERR_NO_SPACE)
        return refuse_writing(j);
    journal_break(j, j->next.err);
    return op_goto(IDLE);
}

static struct op_next writer_head(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->req.busy)
        return op_wait(HEAD);
    if (j->req.err != OK) {
        journal_break(j, j->req.err);
        return op_goto(IDLE);
    }
    j->end.offset = JOURNAL_BLOCK_BYTES;
    return start_run(j);
}

static struct op_next writer_run(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->req.busy)
        return op_wait(RUN);
    if (j->req.err != OK) {
        journal_break(j, j->req.err);
        return op_goto(IDLE);
    }
    j->end.offset += j->writing->bytes.size;
    make_next(j);
    if (j->options.mode != JOURNAL_PERIODIC)
        return start_sync(j);
    j->is_unsynced = true;
    journal_writing_done(j, OK);
    return op_goto(IDLE);
}

static struct op_next writer_sync(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->req.busy)
        return op_wait(SYNC);
    if (j->req.err != OK) {
        journal_break(j, j->req.err);
        return op_goto(IDLE);
    }
    j->is_unsynced = false;
    j->proven = j->end;
    if (j->writing && j->options.mode != JOURNAL_PERIODIC)
        journal_writing_done(j, OK);
    return op_goto(IDLE);
}

/* ---- closing ---- */

/* Waits for everything that the writer has started beside its own writes. */
static struct op_next writer_quiet(struct op *op)
{
    struct journal *j = journal_of(op);
    io_cancel(j->io, &j->tick);
    if (j->tick.busy || j->next.busy || j->is_forgetting || j->former_req.busy)
        return op_wait(QUIET);
    if (!j->file)
        return op_goto(CLOSED); /* nothing was ever written: there is only the next segment */
    j->former = j->file;
    j->file = NULL;
    io_close(j->io, &j->former_req, op, &j->former);
    return op_wait(CLOSED);
}

/* A segment that was made and not used goes, so that openings do not pile them up. */
static struct op_next writer_closed(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->former_req.busy)
        return op_wait(CLOSED);
    if (!j->next.file)
        return op_end(op, OK);
    io_close(j->io, &j->req, op, &j->next.file);
    return op_wait(UNUSED);
}

static struct op_next writer_unused(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->req.busy)
        return op_wait(UNUSED);
    io_remove(j->io, &j->req, op, j->next.path);
    return op_wait(REMOVED);
}

static struct op_next writer_removed(struct op *op)
{
    struct journal *j = journal_of(op);
    return j->req.busy ? op_wait(REMOVED) : op_end(op, OK);
}

static const struct op_state states[] = {
    [IDLE] = { "journal idle", writer_idle,
               TO(ROTATE) | TO(HEAD) | TO(RUN) | TO(SYNC) | TO(QUIET) },
    [ROTATE] = { "journal rotate", writer_rotate, TO(IDLE) | TO(MADE) | TO(HEAD) | TO(SYNC) },
    [MADE] = { "journal made", writer_made, TO(ROTATE) | TO(IDLE) },
    [HEAD] = { "journal head", writer_head, TO(RUN) | TO(IDLE) },
    [RUN] = { "journal run", writer_run, TO(SYNC) | TO(IDLE) },
    [SYNC] = { "journal sync", writer_sync, TO(IDLE) },
    [QUIET] = { "journal quiet", writer_quiet, TO(CLOSED) },
    [CLOSED] = { "journal closed", writer_closed, TO(UNUSED) },
    [UNUSED] = { "journal unused", writer_unused, TO(REMOVED) },
    [REMOVED] = { "journal removed", writer_removed, 0 },
};

static void writer_release(struct op *op)
{
    struct journal *j = journal_of(op);
    struct io_req *closing = j->closing;
    enum err err = j->broken;
    journal_free(j);
    io_req_end(closing, err);
}

/* The first segment has been made: `next`. */
void journal_writer_start(struct journal *j)
{
    j->end.segment = j->first;
    op_start(&j->writer, io_ops(j->io), NULL, states, writer_release);
}
