/* journal_write.c - the one op that writes a journal: group commit.
 *
 *     journal_append ──> filling ──> full ... ──> writing ──> file ──> sync ──> appends complete
 *
 *              ┌────────────────────── nothing to do: wait ──┐
 *              v                                             │
 *            idle ──> head ──> gap ──> run, sync ──> done ───┘
 *              │      (of a    (what was
 *              │       fresh    refused)
 *              │       segment)
 *              ├──> sync        PERIODIC, when it is due; else run and sync are one request
 *              ├──> rotate ──> head     moves to the segment that was made ahead
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
 *   5. But a write, or a new segment, for which there was no space (or no file handle): all that
 *      waits is refused, and the journal goes on behind it.  What such a write has left is covered
 *      by a gap before the next run.
 *   6. A run lies in one segment, at the place that its batch had from the beginning.
 *
 * A clean close ends with a run without records, so that all records before it are proven.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/journal_impl.h"

enum { IDLE, ROTATE, MADE, HEAD, GAP, RUN, SYNC, QUIET, CLOSED, UNUSED, REMOVED };

static struct journal *journal_of(struct op *op) { return owner_of(op, struct journal, writer); }

/* ---- what cannot be written ---- */

static void complete_all(struct journal *j, enum err err)
{
    while (j->writing || (j->writing = journal_batch_take(j)))
        journal_writing_done(j, err);
}

/* Every append that waits is refused for the time being; the journal is not broken by that. */
static struct op_next refuse_all(struct journal *j, enum err err)
{
    journal_refuse(j, err);
    complete_all(j, err);
    return op_goto(IDLE);
}

/* The cause is never one that passes by itself: after a sync without space the bytes are gone. */
static struct op_next journal_break(struct journal *j, enum err cause)
{
    ensure(cause != OK);
    if (!j->broken)
        j->broken = err_class(cause) == ERR_CLASS_RETRY ? ERR_IO : cause;
    if (j->writing)
        journal_writing_done(j, j->broken);
    return op_goto(IDLE);
}

static struct op_next write_failed(struct journal *j, enum err err)
{
    return err == ERR_NO_SPACE ? refuse_all(j, err) : journal_break(j, err);
}

/* ---- what is written ---- */

static struct journal_mark mark_of(const struct journal *j)
{
    return (struct journal_mark){ .at = j->end,
                                  .first = j->first,
                                  .proven = j->proven,
                                  .flags = j->is_reused ? JOURNAL_REUSED : 0,
                                  .salt = j->writing->salt };
}

/* The run gets its mark, and zeros behind it. */
static void batch_seal(struct journal *j, struct batch *b)
{
    struct journal_mark mark = mark_of(j);
    mark.body_bytes = (uint32_t)(b->bytes.size - JOURNAL_MARK_BYTES);
    mark.records = b->records;
    journal_mark_put(b->bytes.data, &mark);
    size_t pad = (size_t)journal_run_bytes(mark.body_bytes) - b->bytes.size;
    memset(buf_take(&b->bytes, pad), 0, pad);
}

static void note_sync(struct journal *j)
{
    j->synced_ns = io_now(j->io) + (io_now(j->io) == 0);
    j->counts.syncs++;
}

static struct op_next start_sync(struct journal *j)
{
    note_sync(j);
    io_sync(j->io, &j->req, &j->writer, j->file);
    return op_wait(SYNC);
}

/* A block with a mark alone: a head, or the gap up to an offset. */
static struct op_next start_block(struct journal *j, uint64_t upto, uint8_t next)
{
    struct journal_mark mark = mark_of(j);
    mark.salt = journal_salt(j, j->end.segment);
    if (next == GAP)
        mark.body_bytes = (uint32_t)(upto - j->end.offset - JOURNAL_MARK_BYTES);
    j->gap_upto = upto;
    journal_mark_put(j->block, &mark);
    io_write(j->io, &j->req, &j->writer, j->file, j->block, sizeof j->block, j->end.offset);
    return op_wait(next);
}

static struct op_next start_run(struct journal *j)
{
    struct batch *b = j->writing;
    ensure(j->end.offset == b->at.offset);
    batch_seal(j, b);
    if (j->options.mode == JOURNAL_PERIODIC) {
        io_write(j->io, &j->req, &j->writer, j->file, b->bytes.data, b->bytes.size, b->at.offset);
        return op_wait(RUN);
    }
    note_sync(j);
    io_write_sync(j->io, &j->req, &j->writer, j->file, b->bytes.data, b->bytes.size, b->at.offset);
    return op_wait(RUN);
}

static struct op_next start_writing(struct journal *j)
{
    struct batch *b = j->writing;
    bool is_here = j->file && b->at.segment == j->end.segment;
    if (!is_here && j->has_refused)
        return start_block(j, j->options.segment_bytes, GAP);
    if (!is_here)
        return op_goto(ROTATE);
    if (j->end.offset == 0)
        return start_block(j, 0, HEAD);
    if (j->end.offset < b->at.offset)
        return start_block(j, b->at.offset, GAP);
    return start_run(j);
}

/* ---- when ---- */

/* Whether it is that late; else sees to it that the writer looks again when it is. */
static bool is_due(struct journal *j, uint64_t due_ns)
{
    uint64_t now = io_now(j->io);
    if (now >= due_ns)
        return true;
    if (!j->tick.busy)
        io_sleep(j->io, &j->tick, &j->writer, due_ns - now);
    return false;
}

/* PERIODIC. */
static bool sync_is_due(struct journal *j)
{
    if (!j->is_unsynced)
        return false;
    return j->is_closing || is_due(j, j->synced_ns + j->options.period_ns);
}

static bool run_is_due(struct journal *j)
{
    if (!journal_batch_waits(j))
        return false;
    bool is_urgent = j->options.mode != JOURNAL_GROUP || j->is_closing || !list_empty(&j->full);
    return is_urgent || j->synced_ns == 0 || is_due(j, j->synced_ns + j->options.window_ns);
}

/* The run without records that proves all before it; once, and only where there is something. */
static bool wants_proof(struct journal *j)
{
    bool is_wanted =
        !j->is_proof && j->end.offset > JOURNAL_BLOCK_BYTES && j->plan.segment == j->end.segment;
    j->is_proof = true;
    return is_wanted;
}

static void start_proof(struct journal *j)
{
    j->writing = journal_batch_begin(j, 0);
    journal_batch_end(j, j->writing);
}

static void make_next(struct journal *j)
{
    bool is_half_full = j->end.offset > j->options.segment_bytes / 2;
    bool is_there = j->next.busy || j->next.file;
    if (is_half_full && !j->is_closing && !is_there && !journal_segment_failed(&j->next) &&
        journal_may_grow(j))
        journal_segment_make(&j->next, &j->writer, j, j->end.segment + 1);
}

static struct op_next writer_rest(struct journal *j)
{
    j->is_idle = true;
    return op_wait(IDLE);
}

static struct op_next writer_idle(struct op *op)
{
    struct journal *j = journal_of(op);
    j->is_idle = false;
    if (j->broken) { /* nothing can be written any more: everything that waits is told why */
        journal_complete(&j->refused, j->broken);
        complete_all(j, j->broken);
        return j->is_closing ? op_goto(QUIET) : writer_rest(j);
    }
    if (sync_is_due(j))
        return start_sync(j);
    if (journal_was_refused(j))
        complete_all(j, j->full_err);
    if (!j->writing && run_is_due(j))
        j->writing = journal_batch_take(j);
    if (!j->writing && j->is_closing && wants_proof(j))
        start_proof(j);
    if (j->writing)
        return start_writing(j);
    return j->is_closing ? op_goto(QUIET) : writer_rest(j);
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
            return refuse_all(j, ERR_NO_SPACE);
        journal_segment_make(&j->next, op, j, j->writing->at.segment);
        return op_wait(MADE);
    }
    j->former = j->file;
    j->file = j->next.file;
    j->is_reused = j->next.is_reused;
    j->next.file = NULL;
    j->end = (struct journal_position){ j->next.id, 0 };
    ensure(j->end.segment <= j->writing->at.segment);
    if (j->former)
        io_close(j->io, &j->former_req, op, &j->former);
    return start_writing(j);
}

static struct op_next writer_made(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->next.busy)
        return op_wait(MADE);
    enum err err = j->next.err;
    if (err == OK)
        return op_goto(ROTATE);
    return err == ERR_FILES_LIMIT ? refuse_all(j, err) : write_failed(j, err);
}

static struct op_next writer_head(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->req.busy)
        return op_wait(HEAD);
    if (j->req.err != OK)
        return write_failed(j, j->req.err);
    j->end.offset = JOURNAL_BLOCK_BYTES;
    return start_writing(j);
}

static struct op_next writer_gap(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->req.busy)
        return op_wait(GAP);
    if (j->req.err != OK)
        return write_failed(j, j->req.err);
    j->end.offset = j->gap_upto;
    j->has_refused = false;
    j->is_unsynced |= j->end.segment != j->writing->at.segment; /* the run's sync is of another */
    return start_writing(j);
}

static struct op_next writer_run(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->req.busy)
        return op_wait(RUN);
    bool is_written = j->req.size == j->writing->bytes.size;
    j->has_refused |= j->req.err != OK;
    if (j->req.err != OK)
        return is_written ? journal_break(j, j->req.err) : write_failed(j, j->req.err);
    j->full_ns = 0;
    j->end.offset += j->writing->bytes.size;
    j->counts.stored_bytes += j->writing->bytes.size;
    if (j->options.mode == JOURNAL_PERIODIC)
        j->is_unsynced = true;
    else
        j->proven = j->end;
    journal_writing_done(j, OK);
    make_next(j);
    return op_goto(IDLE);
}

/* PERIODIC. */
static struct op_next writer_sync(struct op *op)
{
    struct journal *j = journal_of(op);
    if (j->req.busy)
        return op_wait(SYNC);
    if (j->req.err != OK)
        return journal_break(j, j->req.err);
    j->is_unsynced = false;
    j->proven = j->end;
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

/* A segment that was made and not used goes, so that openings do not pile them up; but not the only
 * one: the next opening would begin with numbers that were given before. */
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
    if (j->counts.segments == 1)
        return op_end(op, OK);
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
               TO(ROTATE) | TO(HEAD) | TO(GAP) | TO(RUN) | TO(SYNC) | TO(QUIET) },
    [ROTATE] = { "journal rotate", writer_rotate, TO(IDLE) | TO(MADE) | TO(HEAD) | TO(SYNC) },
    [MADE] = { "journal made", writer_made, TO(ROTATE) | TO(IDLE) },
    [HEAD] = { "journal head", writer_head, TO(GAP) | TO(RUN) | TO(IDLE) },
    [GAP] = { "journal gap", writer_gap, TO(RUN) | TO(ROTATE) | TO(IDLE) },
    [RUN] = { "journal run", writer_run, TO(IDLE) },
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
    j->plan = (struct journal_position){ j->first, JOURNAL_BLOCK_BYTES };
    op_start(&j->writer, io_ops(j->io), NULL, states, writer_release);
}
