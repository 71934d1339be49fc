/* journal_read.c - reads a folder of segments from the first to the last and hands out the records.
 *
 *     list ──> size ... ──> next ──> opened ──> read <──┐ ──> closed ──> next ... ──> ended
 *                            ^                    └─────┘ 512 KiB at a time     │
 *                            └───── UPTO_HOLE: a second time, up to the hole ───┘
 *
 * A window of the file is taken apart by journal_parse.c, which also finds out what is a hole.
 *
 * To stop exactly at a hole one must know of it before the first record behind it, but what proves
 * a hole may stand further behind: so the reading that is to end at one reads in silence first.
 *
 * It reads only, holds one window, and is stopped like any op.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/mem.h"
#include "io/journal_parse.h"

/* Most logs are small; what is read beside requests is read in small pieces. */
enum { FIRST_BYTES = 32 * 1024, READ_BYTES = 512 * 1024, BESIDE_BYTES = 64 * 1024 };

struct found {
    uint64_t id, size_bytes;
};
struct reader {
    struct op op;
    struct io *io;
    struct io_req *asked;
    struct io_req req;
    char folder[JOURNAL_PATH_BYTES], path[JOURNAL_PATH_BYTES];
    struct journal_reading how;
    struct journal_replay *out;
    struct arena arena;
    struct io_names names;
    struct io_stat stat;
    struct found *segments; /* ascending */
    size_t segments_count, next;
    struct io_file *file;
    struct buf window;
    uint64_t window_at;    /* offset of the window's first byte */
    uint64_t before_bytes; /* of the files that are done */
    size_t asked_bytes, missing_bytes;
    bool is_last_window; /* the file ends with it */
    struct journal_parser parser;
};

enum { LIST, LISTED, SIZED, NEXT, OPENED, READ, REST, CLOSED };
static const uint64_t rest_ns = 1000000;

static struct reader *reader_of(struct op *op) { return owner_of(op, struct reader, op); }

/* ---- which segments there are ---- */

static bool is_meant(const struct reader *r, uint64_t segment)
{
    bool is_behind = r->how.end.segment && segment > r->how.end.segment;
    return segment >= r->how.first && !is_behind;
}

/* Names come sorted as text; there are few, and almost in order. */
static void sort_segments(struct reader *r)
{
    for (size_t i = 1; i < r->segments_count; i++)
        for (size_t k = i; k > 0 && r->segments[k - 1].id > r->segments[k].id; k--) {
            struct found higher = r->segments[k - 1];
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

static void begin_pass(struct reader *r)
{
    r->next = 0;
    r->parser.judge = (struct journal_judge){ 0 };
    if (r->segments_count)
        r->parser.judge.lowest = r->segments[0].id;
}

/* Asks for the size of the next one; after the last one begins to read. */
static struct op_next next_size(struct reader *r)
{
    if (r->next == r->segments_count) {
        if (r->parser.is_silent)
            r->out->total_bytes *= 2;
        begin_pass(r);
        return op_goto(NEXT);
    }
    journal_path(r->path, r->folder, r->segments[r->next].id);
    io_stat(r->io, &r->req, &r->op, r->path, &r->stat);
    return op_wait(SIZED);
}

static struct op_next reader_listed(struct op *op)
{
    struct reader *r = reader_of(op);
    if (r->req.busy)
        return op_wait(LISTED);
    if (r->req.err != OK)
        return op_end(op, r->req.err == ERR_NOT_FOUND ? OK : r->req.err);
    r->segments = arena_array(&r->arena, struct found, r->names.count);
    for (size_t i = 0; i < r->names.count; i++) {
        uint64_t *id = &r->segments[r->segments_count].id;
        if (journal_name_parse(r->names.names[i], id) && is_meant(r, *id))
            r->segments_count++;
    }
    sort_segments(r);
    return next_size(r);
}

static struct op_next reader_sized(struct op *op)
{
    struct reader *r = reader_of(op);
    if (r->req.busy)
        return op_wait(SIZED);
    if (r->req.err != OK || op->stop)
        return op_end(op, r->req.err ? r->req.err : op->stop);
    r->segments[r->next++].size_bytes = r->stat.size_bytes;
    r->out->total_bytes += r->stat.size_bytes;
    return next_size(r);
}

/* ---- one after the other ---- */

/* All is read: the second time, or there is nothing to stop at. */
static struct op_next end_pass(struct reader *r)
{
    struct journal_parser *p = &r->parser;
    if (!p->is_silent || (p->err != OK && p->err != ERR_CORRUPT) || r->op.stop)
        return op_end(&r->op, p->err);
    p->is_silent = false;
    p->has_limit = p->err == ERR_CORRUPT;
    p->limit = r->out->bad;
    p->err = OK;
    r->out->records = r->out->bytes = r->out->torn_bytes = 0;
    r->before_bytes = r->out->done_bytes = r->out->total_bytes / 2;
    begin_pass(r);
    return op_goto(NEXT);
}

static struct op_next reader_next(struct op *op)
{
    struct reader *r = reader_of(op);
    if (r->parser.err == OK)
        r->parser.err = op->stop;
    if (r->parser.err != OK || r->parser.is_over || r->next == r->segments_count)
        return end_pass(r);
    const struct found *f = &r->segments[r->next++];
    journal_parse_begin(&r->parser, f->id, f->size_bytes);
    r->window_at = 0;
    r->is_last_window = false;
    buf_clear(&r->window);
    journal_path(r->path, r->folder, f->id);
    io_open(r->io, &r->req, op, r->path, IO_READ, &r->file);
    return op_wait(OPENED);
}

/* Nothing, when it has moved on beyond the window. */
static struct bytes rest_of(const struct reader *r)
{
    uint64_t done = r->parser.at.offset - r->window_at;
    if (done >= r->window.size)
        return (struct bytes){ 0 };
    return bytes_of(r->window.data + done, r->window.size - (size_t)done);
}

/* Moves what is not parsed yet to the front of the window, and reads on behind it. */
static struct op_next read_on(struct reader *r, size_t missing)
{
    struct bytes rest = rest_of(r);
    if (rest.size)
        memmove(r->window.data, rest.data, rest.size);
    r->window.size = rest.size;
    r->window_at = r->parser.at.offset;
    size_t least = r->how.end.segment ? BESIDE_BYTES : READ_BYTES;
    if (r->window_at == 0 && rest.size == 0)
        least = FIRST_BYTES;
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
    struct journal_parser *p = &r->parser;
    size_t missing = 0;
    if (r->req.busy)
        return op_wait(READ);
    p->err = r->req.err != OK ? r->req.err : op->stop;
    r->window.size += r->req.err == OK ? r->req.size : 0;
    r->is_last_window = r->req.size < r->asked_bytes;
    while (p->err == OK && !p->is_over && missing == 0 && rest_of(r).size > 0)
        missing = journal_parse(p, rest_of(r), r->is_last_window);
    journal_parse_settle(p);
    r->out->done_bytes = r->before_bytes + u64_min(p->at.offset, p->size_bytes);
    r->missing_bytes = missing;
    if (p->err == OK && !p->is_over && !r->is_last_window)
        return op_goto(REST);
    r->before_bytes += p->size_bytes;
    journal_parse_end(p);
    io_close(r->io, &r->req, op, &r->file);
    return op_wait(CLOSED);
}

/* Between two windows of a file, or between two files. */
static struct op_next reader_rest(struct op *op)
{
    struct reader *r = reader_of(op);
    if (r->req.busy && op->stop)
        io_cancel(r->io, &r->req);
    if (r->req.busy)
        return op_wait(REST);
    if (!op->stop && r->how.must_rest && r->how.must_rest(r->how.context)) {
        io_sleep(r->io, &r->req, op, rest_ns);
        return op_wait(REST);
    }
    return r->file ? read_on(r, r->missing_bytes) : op_goto(NEXT);
}

static struct op_next reader_closed(struct op *op)
{
    struct reader *r = reader_of(op);
    return r->req.busy ? op_wait(CLOSED) : op_goto(REST);
}

static const struct op_state states[] = {
    [LIST] = { "replay list", reader_list, TO(LISTED) },
    [LISTED] = { "replay listed", reader_listed, TO(SIZED) | TO(NEXT) },
    [SIZED] = { "replay sized", reader_sized, TO(NEXT) },
    [NEXT] = { "replay next", reader_next, TO(OPENED) },
    [OPENED] = { "replay opened", reader_opened, TO(READ) },
    [READ] = { "replay read", reader_read, TO(REST) | TO(CLOSED) },
    [REST] = { "replay rest", reader_rest, TO(READ) | TO(NEXT) },
    [CLOSED] = { "replay closed", reader_closed, TO(REST) },
};

static void reader_release(struct op *op)
{
    struct reader *r = reader_of(op);
    struct io_req *asked = r->asked;
    enum err err = op->err;
    if (err == OK)
        r->out->done_bytes = r->out->total_bytes;
    buf_deinit(&r->window);
    journal_parser_deinit(&r->parser);
    arena_deinit(&r->arena);
    mem_free(r);
    io_req_end(asked, err);
}

void journal_read_as(struct io *io, struct io_req *req, struct op *op,
                     const struct journal_reading *how, struct journal_replay *out)
{
    struct reader *r = mem_zalloc(sizeof *r);
    ensure(strlen(how->folder) < JOURNAL_PATH_BYTES - 32);
    memcpy(r->folder, how->folder, strlen(how->folder) + 1);
    *out = (struct journal_replay){ 0 };
    r->io = io;
    r->asked = req;
    r->how = *how;
    r->how.folder = r->folder;
    r->out = out;
    r->parser.how = &r->how;
    r->parser.out = out;
    arena_init(&r->parser.unpacked, JOURNAL_UNPACKED_BYTES);
    r->parser.has_limit = how->end.segment != 0;
    r->parser.limit = how->end;
    r->parser.is_silent = how->holes == JOURNAL_UPTO_HOLE && !r->parser.has_limit;
    io_req_begin(req, op);
    if (how->end.segment)
        op_start_background(&r->op, io_ops(io), op, states, reader_release);
    else
        op_start(&r->op, io_ops(io), op, states, reader_release);
}

void journal_read(struct io *io, struct io_req *req, struct op *op, const char *folder,
                  enum err (*record)(void *context, struct bytes, struct journal_position),
                  void *context, struct journal_replay *out)
{
    struct journal_reading how = { .folder = folder, .record = record, .context = context };
    journal_read_as(io, req, op, &how, out);
}
