/* stream.c - see stream.h.
 *
 *     open ──> opened ──> fill ──> filled ──┐      fill waits while both pieces are full
 *                           ^──────────────<┘
 *     freed, from anywhere: ──> closed ──> ended
 *
 * Invariants: 1. A piece is whole chunks.  2. `at` is the piece that chunks are seen in; the other
 * one comes behind it.  3. A piece is written by a read only while it is not ready.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/stream.h"

#include "base/mem.h"
#include "store/chunk.h"

enum { OPEN, OPENED, FILL, FILLED, CLOSED };
enum { PIECE_BYTES = 256 * 1024, PIECES = 2, RECENT = 2 };

struct piece {
    uint64_t first, upto; /* chunks */
    uint64_t offset;      /* in the file */
    size_t size, room;
    uint8_t *data;
    bool is_ready;
};
struct stream {
    struct op op;
    struct io *io;
    struct sstable *sstable; /* counted */
    struct io_file *file;
    struct io_req req;
    struct io_req *waiting; /* who wants the piece at `at`; NULL: nobody */
    struct piece pieces[PIECES];
    unsigned at, filling; /* pieces */
    uint64_t next, count; /* chunks: the next piece begins with; in all */
    uint64_t seen, bytes; /* the chunk that was seen last, plus one; of all that were */
    enum err err;
    struct block *recent[RECENT]; /* pinned; the newest first */
    char path[SSTABLE_PATH_BYTES];
};

static struct stream *stream_of(struct op *op) { return owner_of(op, struct stream, op); }

/* ---- pieces ---- */

static size_t stored(const struct stream *s, uint64_t chunk, uint64_t *offset)
{
    struct chunk_wish wish = { s->sstable, COMPONENT_DATA, chunk };
    return chunk_stored(&wish, offset);
}

/* As many of the chunks from `next` on as go into a piece, one at least. */
static void piece_plan(struct stream *s, struct piece *p)
{
    uint64_t offset;
    p->first = p->upto = s->next;
    p->size = stored(s, p->upto++, &p->offset);
    while (p->upto < s->count) {
        size_t more = stored(s, p->upto, &offset);
        if (p->size + more > PIECE_BYTES || offset != p->offset + p->size)
            break;
        p->size += more;
        p->upto++;
    }
    s->next = p->upto;
    if (p->room < p->size) {
        mem_free(p->data);
        p->data = mem_alloc(p->size);
        p->room = p->size;
    }
}

static void waiting_end(struct stream *s)
{
    struct io_req *waiting = s->waiting;
    if (!waiting || (!s->err && !s->pieces[s->at].is_ready))
        return;
    s->waiting = NULL;
    io_req_end(waiting, OK);
}

/* ---- the op ---- */

static struct op_next stream_end(struct stream *s)
{
    ensure(!s->waiting);
    if (!s->file)
        return op_end(&s->op, OK);
    io_close(s->io, &s->req, &s->op, &s->file);
    return op_wait(CLOSED);
}

static struct op_next stream_open(struct op *op)
{
    struct stream *s = stream_of(op);
    if (op->stop)
        return stream_end(s);
    sstable_path(s->sstable, COMPONENT_DATA, s->path);
    io_open(s->io, &s->req, op, s->path, IO_READ, &s->file);
    return op_wait(OPENED);
}

static struct op_next stream_opened(struct op *op)
{
    struct stream *s = stream_of(op);
    if (s->req.busy)
        return op_wait(OPENED);
    s->err = s->req.err;
    if (s->file)
        io_lane(s->file, IO_LANE_BULK);
    waiting_end(s);
    return op_goto(FILL);
}

static struct op_next stream_fill(struct op *op)
{
    struct stream *s = stream_of(op);
    if (op->stop)
        return stream_end(s);
    struct piece *p = &s->pieces[s->filling];
    if (s->err || p->is_ready || s->next == s->count)
        return op_wait(FILL);
    piece_plan(s, p);
    io_read(s->io, &s->req, op, s->file, p->data, p->size, p->offset);
    return op_wait(FILLED);
}

static struct op_next stream_filled(struct op *op)
{
    struct stream *s = stream_of(op);
    struct piece *p = &s->pieces[s->filling];
    if (s->req.busy)
        return op_wait(FILLED);
    s->err = s->req.err;
    p->size = s->req.err ? 0 : s->req.size;
    p->is_ready = true;
    s->filling = (s->filling + 1) % PIECES;
    waiting_end(s);
    return op_goto(FILL);
}

static struct op_next stream_closed(struct op *op)
{
    struct stream *s = stream_of(op);
    return s->req.busy ? op_wait(CLOSED) : op_end(op, OK);
}

static const struct op_state states[] = {
    [OPEN] = { "stream open", stream_open, TO(OPENED) | TO(CLOSED) },
    [OPENED] = { "stream opened", stream_opened, TO(FILL) },
    [FILL] = { "stream fill", stream_fill, TO(FILLED) | TO(CLOSED) },
    [FILLED] = { "stream filled", stream_filled, TO(FILL) },
    [CLOSED] = { "stream closed", stream_closed, 0 },
};

static void stream_release(struct op *op)
{
    struct stream *s = stream_of(op);
    ensure(!s->waiting && !s->file && !s->req.busy);
    for (size_t i = 0; i < PIECES; i++)
        mem_free(s->pieces[i].data);
    sstable_unref(&s->sstable);
    mem_free(s);
}

/* ---- whose it is ---- */

struct stream *stream_new(struct io *io, struct sstable *sstable)
{
    struct stream *s = mem_zalloc(sizeof *s);
    uint32_t chunk = component_chunk_bytes(sstable, COMPONENT_DATA);
    s->io = io;
    s->sstable = sstable;
    sstable_ref(sstable);
    s->count = (component_bytes(sstable, COMPONENT_DATA) + chunk - 1) / chunk;
    op_start(&s->op, io_ops(io), NULL, states, stream_release);
    return s;
}

void stream_free(struct stream **stream)
{
    struct stream *s = *stream;
    *stream = NULL;
    ensure(!s->waiting);
    for (size_t i = 0; i < RECENT; i++)
        if (s->recent[i])
            cache_unpin(s->sstable->cache, &s->recent[i]);
    op_stop(&s->op, ERR_STOPPED);
}

enum err stream_see(struct stream *s, uint64_t chunk, struct bytes *out)
{
    struct piece *p = &s->pieces[s->at];
    ensure(chunk < s->count && chunk + 1 >= s->seen);
    if (p->is_ready && chunk >= p->upto && !s->err) {
        p->is_ready = false;
        s->at = (s->at + 1) % PIECES;
        p = &s->pieces[s->at];
        op_wake(&s->op);
    }
    if (s->err)
        return s->err;
    if (!p->is_ready)
        return ERR_WOULD_WAIT;
    ensure(chunk >= p->first && chunk < p->upto);
    uint64_t offset;
    size_t size = stored(s, chunk, &offset), skip = (size_t)(offset - p->offset);
    size_t there = p->size > skip ? p->size - skip : 0;
    *out = bytes_of(p->data + skip, there < size ? there : size);
    s->bytes += chunk >= s->seen ? size : 0;
    s->seen = chunk + 1;
    return OK;
}

void stream_load(struct stream *s, struct io_req *req, struct op *op)
{
    ensure(!s->waiting);
    io_req_begin(req, op);
    s->waiting = req;
    op_wake(&s->op);
}

struct block *stream_recent(struct stream *s, uint64_t chunk)
{
    for (size_t i = 0; i < RECENT; i++)
        if (s->recent[i] && s->recent[i]->number >> 1 == chunk) {
            s->recent[i]->pins++;
            return s->recent[i];
        }
    return NULL;
}

void stream_keep(struct stream *s, struct block *block)
{
    if (s->recent[1])
        cache_unpin(s->sstable->cache, &s->recent[1]);
    s->recent[1] = s->recent[0];
    s->recent[0] = block;
    block->pins++;
}

uint64_t stream_bytes(const struct stream *s) { return s->bytes; }
