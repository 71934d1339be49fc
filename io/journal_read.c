/* journal_read.c - reads a folder of segments from the first to the last and hands out the records.
 *
 *     list ──> next ──> opened ──> read <──┐ ──> closed ──> next ... ──> ended
 *                                    └─────┘ 512 KiB at a time
 *
 * A window of the file is parsed block by block: a mark leads a run, which must be in the window as
 * a whole; everything else is zeros or bad.  Whether a bad place is a hole or a torn tail, marks
 * that come later tell (journal_judge.c).  In a run that is damaged, the records that verify are
 * handed out.
 *
 * A segment of zeros was made ahead and never used: it is passed over.  A segment that is missing
 * between two others is a bad place.
 *
 * It reads only, holds one window, and is stopped like any op.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "io/journal_judge.h"

enum { FIRST_BYTES = 32 * 1024, READ_BYTES = 512 * 1024 }; /* most logs are small */

struct reader {
    struct op op;
    struct io *io;
    struct io_req *asked;
    struct io_req req;
    char folder[JOURNAL_PATH_BYTES], path[JOURNAL_PATH_BYTES];
    enum err (*record)(void *context, struct bytes, struct journal_position);
    void *context;
    struct journal_replay *out;
    struct arena arena;
    struct io_names names;
    uint64_t *segments; /* ascending */
    size_t segments_count, next;
    struct io_file *file;
    struct buf window;
    struct journal_position at; /* what is parsed next */
    uint64_t window_at;         /* offset of the window's first byte */
    size_t asked_bytes;
    bool is_last_window; /* the file ends with it */
    bool is_blank;       /* nothing but zeros so far */
    struct journal_judge judge;
    enum err err;
};

enum { LIST, LISTED, NEXT, OPENED, READ, CLOSED };

static struct reader *reader_of(struct op *op) { return owner_of(op, struct reader, op); }

/* ---- parsing ---- */

static struct bytes rest_of(const struct reader *r)
{
    size_t done = (size_t)(r->at.offset - r->window_at);
    return bytes_of(r->window.data + done, r->window.size - done);
}

static void bad_place(struct reader *r, struct journal_position at, uint64_t torn_bytes)
{
    r->is_blank = false;
    r->out->torn_bytes += torn_bytes;
    journal_judge_bad(&r->judge, at);
}

static enum err hole(struct reader *r)
{
    r->out->bad = r->judge.bad;
    journal_path(r->path, r->folder, r->judge.bad.segment);
    snprintf(r->out->bad_file, sizeof r->out->bad_file, "%.199s", r->path);
    return ERR_CORRUPT;
}

/* One record at the start of `body`; how many bytes it takes, whether it verifies or not. */
static size_t take_record(struct reader *r, struct bytes body, struct journal_position at)
{
    struct bytes record = { 0 };
    if (journal_record_get(body, at, &record)) {
        r->out->records++;
        r->out->bytes += record.size;
        r->err = r->record(r->context, record, at);
        return JOURNAL_HEAD_BYTES + record.size;
    }
    uint64_t size = body.size < JOURNAL_HEAD_BYTES ? 0 : get_be32(body.data);
    bool may_skip = size > 0 && size + JOURNAL_HEAD_BYTES <= body.size;
    size_t lost = may_skip ? (size_t)size + JOURNAL_HEAD_BYTES : body.size;
    bad_place(r, at, lost);
    return lost;
}

/* A run, as far as it is there. */
static void take_run(struct reader *r, const struct journal_mark *m, struct bytes run)
{
    uint64_t records = r->out->records;
    bool had_bad = r->judge.has_bad;
    size_t end = JOURNAL_MARK_BYTES + m->body_bytes, at = JOURNAL_MARK_BYTES;
    size_t there = run.size < end ? run.size : end;
    while (at < there && r->err == OK) {
        struct journal_position place = { m->at.segment, m->at.offset + at };
        at += take_record(r, bytes_of(run.data + at, there - at), place);
    }
    if (r->err != OK)
        return;
    struct journal_position behind = { m->at.segment, m->at.offset + there };
    bool is_whole = run.size == journal_run_bytes(m->body_bytes);
    if (!is_whole || !journal_zeros(bytes_of(run.data + end, run.size - end)))
        bad_place(r, behind, 0);
    if (r->judge.has_bad == had_bad && r->out->records - records != m->records)
        bad_place(r, m->at, 0);
}

/* How many more bytes the window must have before the next thing can be parsed; 0: it can. */
static size_t need_more(const struct reader *r, size_t need)
{
    size_t there = rest_of(r).size;
    return r->is_last_window || there >= need ? 0 : need - there;
}

/* A block without a mark. */
static void take_block(struct reader *r, struct bytes block)
{
    if (!journal_zeros(block))
        bad_place(r, r->at, block.size);
    else if (!r->is_blank)
        journal_judge_zeros(&r->judge, r->at);
    r->at.offset += block.size;
}

static void take_marked(struct reader *r, const struct journal_mark *m)
{
    struct bytes rest = rest_of(r);
    uint64_t size = journal_run_bytes(m->body_bytes);
    struct journal_position start = { r->at.segment, 0 };
    if (r->is_blank && r->at.offset > 0)
        bad_place(r, start, 0); /* its head got lost */
    r->is_blank = false;
    if (journal_judge_mark(&r->judge, m) != OK) {
        r->err = hole(r);
        return;
    }
    rest.size = (size_t)u64_min(rest.size, size);
    take_run(r, m, rest);
    r->at.offset += rest.size;
}

/* Parses the next run or block; returns how many bytes are missing for that, or 0. */
static size_t take(struct reader *r)
{
    struct journal_mark mark;
    struct bytes rest = rest_of(r);
    size_t missing = need_more(r, JOURNAL_BLOCK_BYTES);
    if (missing)
        return missing;
    rest.size = (size_t)u64_min(rest.size, JOURNAL_BLOCK_BYTES);
    enum err err =
        rest.size < JOURNAL_MARK_BYTES ? ERR_CORRUPT : journal_mark_get(rest.data, r->at, &mark);
    if (err == ERR_NEWER) {
        r->err = err;
        return 0;
    }
    if (err != OK) {
        take_block(r, rest);
        return 0;
    }
    missing = need_more(r, (size_t)journal_run_bytes(mark.body_bytes));
    if (missing == 0)
        take_marked(r, &mark);
    return missing;
}

/* ---- the op ---- */

static int compare_ids(const uint64_t *a, const uint64_t *b) { return (*a > *b) - (*a < *b); }

/* Names come sorted as text; there are few, and almost in order. */
static void sort_segments(struct reader *r)
{
    for (size_t i = 1; i < r->segments_count; i++)
        for (size_t k = i; k > 0 && compare_ids(&r->segments[k - 1], &r->segments[k]) > 0; k--) {
            uint64_t higher = r->segments[k - 1];
            r->segments[k - 1] = r->segments[k];
            r->segments[k] = higher;
        }
}

static struct op_next reader_list(struct op *op)
{
    struct reader *r = reader_of(op);
    io_list(r->io, &r->req, op, r->folder, &r->arena, &r->names);
    return op_wait(LISTED);
}

static struct op_next reader_listed(struct op *op)
{
    struct reader *r = reader_of(op);
    if (r->req.busy)
        return op_wait(LISTED);
    if (r->req.err != OK)
        return op_end(op, r->req.err == ERR_NOT_FOUND ? OK : r->req.err);
    r->segments = arena_array(&r->arena, uint64_t, r->names.count);
    for (size_t i = 0; i < r->names.count; i++) {
        uint64_t id = 0;
        if (journal_name_parse(r->names.names[i], &id))
            r->segments[r->segments_count++] = id;
    }
    sort_segments(r);
    return op_goto(NEXT);
}

static struct op_next reader_next(struct op *op)
{
    struct reader *r = reader_of(op);
    if (r->err == OK)
        r->err = op->stop;
    if (r->err != OK || r->next == r->segments_count)
        return op_end(op, r->err);
    uint64_t id = r->segments[r->next++];
    bool is_gap = r->next > 1 && id != r->at.segment + 1;
    if (is_gap)
        bad_place(r, (struct journal_position){ r->at.segment + 1, 0 }, 0);
    r->at = (struct journal_position){ id, 0 };
    r->window_at = 0;
    r->is_blank = true;
    r->is_last_window = false;
    buf_clear(&r->window);
    journal_path(r->path, r->folder, id);
    io_open(r->io, &r->req, op, r->path, IO_READ, &r->file);
    return op_wait(OPENED);
}

/* Moves what is not parsed yet to the front of the window, and reads on behind it. */
static struct op_next read_on(struct reader *r, size_t missing)
{
    struct bytes rest = rest_of(r);
    if (rest.size)
        memmove(r->window.data, rest.data, rest.size);
    r->window.size = rest.size;
    r->window_at = r->at.offset;
    size_t least = r->at.offset == 0 && rest.size == 0 ? FIRST_BYTES : READ_BYTES;
    r->asked_bytes = missing > least ? missing : least;
    if (r->window.room - r->window.size < r->asked_bytes)
        buf_grow(&r->window, r->asked_bytes);
    io_read(r->io, &r->req, &r->op, r->file, r->window.data + r->window.size, r->asked_bytes,
            r->window_at + r->window.size);
    return op_wait(READ);
}

static struct op_next reader_opened(struct op *op)
{
    struct reader *r = reader_of(op);
    if (r->req.busy)
        return op_wait(OPENED);
    if (r->req.err != OK)
        return op_end(op, r->req.err);
    return read_on(r, 0);
}

static struct op_next reader_read(struct op *op)
{
    struct reader *r = reader_of(op);
    size_t missing = 0;
    if (r->req.busy)
        return op_wait(READ);
    r->err = r->req.err != OK ? r->req.err : op->stop;
    r->window.size += r->req.err == OK ? r->req.size : 0;
    r->is_last_window = r->req.size < r->asked_bytes;
    while (r->err == OK && missing == 0 && rest_of(r).size > 0)
        missing = take(r);
    if (r->err == OK && !r->is_last_window)
        return read_on(r, missing);
    io_close(r->io, &r->req, op, &r->file);
    return op_wait(CLOSED);
}

static struct op_next reader_closed(struct op *op)
{
    struct reader *r = reader_of(op);
    return r->req.busy ? op_wait(CLOSED) : op_goto(NEXT);
}

static const struct op_state states[] = {
    [LIST] = { "replay list", reader_list, TO(LISTED) },
    [LISTED] = { "replay listed", reader_listed, TO(NEXT) },
    [NEXT] = { "replay next", reader_next, TO(OPENED) },
    [OPENED] = { "replay opened", reader_opened, TO(READ) },
    [READ] = { "replay read", reader_read, TO(CLOSED) },
    [CLOSED] = { "replay closed", reader_closed, TO(NEXT) },
};

static void reader_release(struct op *op)
{
    struct reader *r = reader_of(op);
    struct io_req *asked = r->asked;
    enum err err = op->err;
    buf_deinit(&r->window);
    arena_deinit(&r->arena);
    mem_free(r);
    io_req_end(asked, err);
}

void journal_read(struct io *io, struct io_req *req, struct op *op, const char *folder,
                  enum err (*record)(void *context, struct bytes, struct journal_position),
                  void *context, struct journal_replay *out)
{
    struct reader *r = mem_zalloc(sizeof *r);
    ensure(strlen(folder) < JOURNAL_PATH_BYTES - 32);
    memcpy(r->folder, folder, strlen(folder) + 1);
    *out = (struct journal_replay){ 0 };
    r->io = io;
    r->asked = req;
    r->record = record;
    r->context = context;
    r->out = out;
    io_req_begin(req, op);
    op_start(&r->op, io_ops(io), op, states, reader_release);
}
