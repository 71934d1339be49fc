/* output.c - see output.h.
 *
 *     pick ──> sealed | opened | wrote | synced | dropped | closed ──> pick ... ──> forgot ──>
 * ended behind sync ──> behind drop ──> behind end                beside it, while rows come let go
 * ──> shut ──> ... ──> remove ──> removed ... ──> ended             output_abandon
 *
 * One loop serves opening, draining and finishing: `pick` looks at one component after the other
 * and does the next thing that is missing: the file, its bytes, their sync, their going from the
 * system's cache, its closing.  What is wanted of whom depends on the phase: data and index are
 * open while rows come, the others begin and end with output_finish.
 *
 * While rows come nobody waits for a disk: every 8 MiB are synced behind the back of who writes the
 * next 8 MiB.  Only when those are full too he waits.  A sync that fails fails the output.
 *
 * Checksums.db covers all other components but Data.db, which has its own; so it is made last, over
 * a TOC that names it.
 *
 * A worker makes the components that come at the end, and frees them: of ten million keys the
 * filter alone has 12 MB, and the loop has other things to do.  The same with chunks whose coding
 * takes long.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/output.h"

#include "base/mem.h"

enum { PICK, OPENED, WROTE, SYNCED, DROPPED, CLOSED, BEHIND, SEALED, FORGOT };
enum { BEHIND_SYNC, BEHIND_DROP, BEHIND_END };
enum { SHUT, REMOVE };
enum { FULL_BYTES = 256 * 1024, SYNC_BYTES = 8 * 1024 * 1024, QUICK_CHUNK_BYTES = 16 * 1024 };

struct part {
    struct io_file *file;
    struct buf own; /* of components that the writer does not stream */
    uint64_t offset, unsynced, undropped;
    bool is_made, is_closed;
    char path[1024];
};
struct output {
    struct op op;
    struct io *io;
    struct io_req *done;
    struct output **out; /* while it opens */
    struct io_req req;
    struct output_options options;
    struct sstable_writer *writer;
    struct checksums_builder sums;
    struct sstable_name name;
    struct part parts[COMPONENT_COUNT];
    char names[COMPONENT_COUNT][SSTABLE_NAME_BYTES];
    unsigned at; /* component */
    bool is_finishing, is_sealed;
    enum err err;
    struct op behind; /* syncs `behind_part` while others go on */
    struct io_req behind_req;
    struct part *behind_part;
    enum err behind_err; /* the first that it met */
};

static struct output *output_of(struct op *op) { return owner_of(op, struct output, op); }

static bool is_streamed(unsigned c) { return c == COMPONENT_DATA || c == COMPONENT_INDEX; }

static struct buf *pending(struct output *o, unsigned c)
{
    if (c == COMPONENT_DATA)
        return sstable_writer_data(o->writer);
    return c == COMPONENT_INDEX ? sstable_writer_index(o->writer) : &o->parts[c].own;
}

/* ---- behind ---- */

static struct output *output_behind(struct op *op) { return owner_of(op, struct output, behind); }

static struct op_next behind_sync(struct op *op)
{
    struct output *o = output_behind(op);
    o->behind_part->unsynced = 0; /* what is written from now on is the next one's */
    io_sync(o->io, &o->behind_req, op, o->behind_part->file);
    return op_wait(BEHIND_DROP);
}

static struct op_next behind_drop(struct op *op)
{
    struct output *o = output_behind(op);
    if (o->behind_req.busy)
        return op_wait(BEHIND_DROP);
    if (o->behind_req.err) {
        o->behind_err = o->behind_req.err;
        return op_end(op, o->behind_err);
    }
    io_drop_cache(o->io, &o->behind_req, op, o->behind_part->file);
    return op_wait(BEHIND_END);
}

/* If it failed, the system has its own way to make room. */
static struct op_next behind_end(struct op *op)
{
    const struct output *o = output_behind(op);
    return o->behind_req.busy ? op_wait(BEHIND_END) : op_end(op, OK);
}

static const struct op_state behind_states[] = {
    [BEHIND_SYNC] = { "behind sync", behind_sync, TO(BEHIND_DROP) },
    [BEHIND_DROP] = { "behind drop", behind_drop, TO(BEHIND_END) },
    [BEHIND_END] = { "behind end", behind_end, 0 },
};

static bool is_behind(const struct output *o) { return o->behind_part != NULL; }

static void behind_release(struct op *op)
{
    struct output *o = output_behind(op);
    ensure(!o->behind_req.busy);
    o->behind_part = NULL;
    if (o->done)
        op_wake(&o->op);
}

static void behind_start(struct output *o, struct part *p)
{
    ensure(!is_behind(o));
    o->behind_part = p;
    op_start(&o->behind, io_ops(o->io), NULL, behind_states, behind_release);
}

/* ---- what workers do ---- */

/* The TOC as the writer made it does not know of Checksums.db. */
static void output_sum(struct output *o)
{
    struct buf *toc = &o->parts[COMPONENT_TOC].own;
    unsigned components = sstable_toc_decode(buf_bytes(toc)) | 1u << COMPONENT_CHECKSUMS;
    buf_clear(toc);
    sstable_toc_encode(components, toc);
    checksums_builder_add(&o->sums, COMPONENT_INDEX, buf_bytes(sstable_writer_index(o->writer)));
    for (unsigned c = 0; c < COMPONENT_COUNT; c++)
        if (!is_streamed(c))
            checksums_builder_add(&o->sums, (enum sstable_component)c, buf_bytes(&o->parts[c].own));
    checksums_builder_encode(&o->sums, o->options.shards, o->options.shard,
                             &o->parts[COMPONENT_CHECKSUMS].own);
}

/* The components behind the last row. */
static void output_seal(void *output)
{
    struct output *o = output;
    struct buf out[COMPONENT_COUNT] = { { 0 } };
    o->err = sstable_writer_finish(o->writer, out);
    for (unsigned c = 0; c < COMPONENT_COUNT; c++)
        o->parts[c].own = out[c];
    if (o->err == OK)
        output_sum(o);
}

static void output_forget(void *output)
{
    struct output *o = output;
    for (unsigned c = 0; c < COMPONENT_COUNT; c++)
        buf_deinit(&o->parts[c].own);
}

static void output_code_chunk(void *writer) { sstable_writer_code_chunk(writer); }

/* ---- the loop ---- */

static struct op_next output_open_part(struct output *o, struct part *p)
{
    io_open(o->io, &o->req, &o->op, p->path, IO_CREATE, &p->file);
    return op_wait(OPENED);
}

/* While rows come: true when it has to be waited for. */
static bool output_trails(struct output *o, struct part *p)
{
    if (p->unsynced >= SYNC_BYTES && !is_behind(o))
        behind_start(o, p);
    return p->unsynced / 2 >= SYNC_BYTES;
}

/* Nothing is missing for this component: false.  Else it has been started, and *next says where it
 * ends. */
static bool output_part(struct output *o, unsigned c, struct op_next *next)
{
    struct part *p = &o->parts[c];
    struct buf *bytes = pending(o, c);
    bool is_wanted = is_streamed(c) || (o->is_finishing && bytes->size > 0);
    if (!p->file && !p->is_closed && is_wanted) {
        *next = output_open_part(o, p);
    } else if (p->file && bytes->size > 0) {
        io_write(o->io, &o->req, &o->op, p->file, bytes->data, bytes->size, p->offset);
        *next = op_wait(WROTE);
    } else if (p->file && !o->is_finishing) {
        *next = op_wait(BEHIND);
        return output_trails(o, p);
    } else if (p->file && p->unsynced > 0) {
        io_sync(o->io, &o->req, &o->op, p->file);
        *next = op_wait(SYNCED);
    } else if (p->file && p->undropped > 0) {
        io_drop_cache(o->io, &o->req, &o->op, p->file);
        *next = op_wait(DROPPED);
    } else if (p->file) {
        p->is_closed = true;
        io_close(o->io, &o->req, &o->op, &p->file);
        *next = op_wait(CLOSED);
    } else {
        return false;
    }
    return true;
}

static struct op_next output_pick(struct op *op)
{
    struct output *o = output_of(op);
    struct op_next next;
    if (o->is_finishing && is_behind(o))
        return op_wait(BEHIND);
    o->err = o->err ? o->err : o->behind_err;
    if (o->err)
        return op_end(op, o->err);
    if (o->is_finishing && !o->is_sealed) {
        io_work(o->io, &o->req, op, output_seal, o);
        return op_wait(SEALED);
    }
    for (; o->at < COMPONENT_COUNT; o->at++)
        if (output_part(o, o->at, &next))
            return next;
    if (!o->is_finishing)
        return op_end(op, OK);
    io_work(o->io, &o->req, op, output_forget, o);
    return op_wait(FORGOT);
}

static struct op_next output_sealed(struct op *op)
{
    struct output *o = output_of(op);
    if (o->req.busy)
        return op_wait(SEALED);
    o->is_sealed = true;
    return op_goto(PICK);
}

static struct op_next output_forgot(struct op *op)
{
    const struct output *o = output_of(op);
    return o->req.busy ? op_wait(FORGOT) : op_end(op, OK);
}

static struct op_next output_opened(struct op *op)
{
    struct output *o = output_of(op);
    struct part *p = &o->parts[o->at];
    if (o->req.busy)
        return op_wait(OPENED);
    o->err = o->req.err;
    p->is_made = o->err == OK;
    if (o->err)
        p->file = NULL;
    else
        io_lane(p->file, IO_LANE_BULK);
    return op_goto(PICK);
}

static struct op_next output_wrote(struct op *op)
{
    struct output *o = output_of(op);
    struct part *p = &o->parts[o->at];
    struct buf *bytes = pending(o, o->at);
    if (o->req.busy)
        return op_wait(WROTE);
    o->err = o->req.err;
    if (is_streamed(o->at) && o->at != COMPONENT_DATA)
        checksums_builder_add(&o->sums, (enum sstable_component)o->at, buf_bytes(bytes));
    p->offset += bytes->size;
    p->unsynced += bytes->size;
    buf_clear(bytes);
    return op_goto(PICK);
}

static struct op_next output_synced(struct op *op)
{
    struct output *o = output_of(op);
    struct part *p = &o->parts[o->at];
    if (o->req.busy)
        return op_wait(SYNCED);
    o->err = o->req.err;
    p->undropped += p->unsynced;
    p->unsynced = 0;
    return op_goto(PICK);
}

static struct op_next output_dropped(struct op *op)
{
    struct output *o = output_of(op);
    if (o->req.busy)
        return op_wait(DROPPED);
    o->parts[o->at].undropped = 0; /* if it failed, the system has its own way to make room */
    return op_goto(PICK);
}

static struct op_next output_closed(struct op *op)
{
    struct output *o = output_of(op);
    if (o->req.busy)
        return op_wait(CLOSED);
    o->err = o->req.err;
    return op_goto(PICK);
}

/* Until the sync behind has ended. */
static struct op_next output_waits(struct op *op)
{
    return is_behind(output_of(op)) ? op_wait(BEHIND) : op_goto(PICK);
}

static const struct op_state states[] = {
    [PICK] = { "output pick", output_pick,
               TO(OPENED) | TO(WROTE) | TO(SYNCED) | TO(DROPPED) | TO(CLOSED) | TO(BEHIND) |
                   TO(SEALED) | TO(FORGOT) },
    [SEALED] = { "output sealed", output_sealed, TO(PICK) },
    [FORGOT] = { "output forgot", output_forgot, 0 },
    [BEHIND] = { "output behind", output_waits, TO(PICK) },
    [OPENED] = { "output opened", output_opened, TO(PICK) },
    [WROTE] = { "output wrote", output_wrote, TO(PICK) },
    [SYNCED] = { "output synced", output_synced, TO(PICK) },
    [DROPPED] = { "output dropped", output_dropped, TO(PICK) },
    [CLOSED] = { "output closed", output_closed, TO(PICK) },
};

/* ---- giving up ---- */

static struct op_next output_shut(struct op *op)
{
    struct output *o = output_of(op);
    if (o->req.busy || is_behind(o))
        return op_wait(SHUT);
    while (o->at < COMPONENT_COUNT && !o->parts[o->at].file)
        o->at++;
    if (o->at < COMPONENT_COUNT) {
        io_close(o->io, &o->req, op, &o->parts[o->at].file);
        return op_wait(SHUT);
    }
    o->at = 0;
    return op_goto(REMOVE);
}

/* What cannot be removed is swept by the next start. */
static struct op_next output_remove(struct op *op)
{
    struct output *o = output_of(op);
    if (o->req.busy)
        return op_wait(REMOVE);
    while (o->at < COMPONENT_COUNT && !o->parts[o->at].is_made)
        o->at++;
    if (o->at == COMPONENT_COUNT)
        return op_end(op, OK);
    io_remove(o->io, &o->req, op, o->parts[o->at++].path);
    return op_wait(REMOVE);
}

static const struct op_state abandon_states[] = {
    [SHUT] = { "output shut", output_shut, TO(SHUT) | TO(REMOVE) },
    [REMOVE] = { "output remove", output_remove, TO(REMOVE) },
};

/* ---- the leaves ---- */

static void output_release(struct op *op)
{
    struct output *o = output_of(op);
    struct io_req *done = o->done;
    enum err err = o->op.err;
    ensure(!o->req.busy);
    o->done = NULL;
    io_req_end(done, err);
}

static void abandon_release(struct op *op)
{
    struct output *o = output_of(op);
    struct io_req *done = o->done;
    enum err err = o->err;
    o->done = NULL;
    output_free(&o);
    io_req_end(done, err);
}

static void output_start(struct output *o, struct op *parent, const struct op_state *table,
                         void (*release)(struct op *))
{
    o->at = 0;
    op_start(&o->op, io_ops(o->io), parent, table, release);
}

static void output_begin(struct output *o, struct io_req *req, struct op *op,
                         void (*release)(struct op *))
{
    ensure(!o->done);
    o->done = req;
    io_req_begin(req, op);
    output_start(o, op, release == abandon_release ? abandon_states : states, release);
}

/* What could not be opened leaves nothing behind. */
static void open_release(struct op *op)
{
    struct output *o = output_of(op);
    if (o->err == OK) {
        *o->out = o;
        output_release(op);
        return;
    }
    output_start(o, o->op.parent, abandon_states, abandon_release);
}

void output_open(struct io *io, struct io_req *req, struct op *op,
                 const struct output_options *options, struct output **out)
{
    struct output *o = mem_zalloc(sizeof *o);
    o->io = io, o->out = out, o->options = *options;
    o->name = sstable_name_of(options->writer.version, options->generation);
    for (unsigned c = 0; c < COMPONENT_COUNT; c++) {
        sstable_name_print(&o->name, (enum sstable_component)c, o->names[c]);
        int n = snprintf(o->parts[c].path, sizeof o->parts[c].path, "%s/%s.tmp", options->folder,
                         o->names[c]);
        ensure(n > 0 && (size_t)n < sizeof o->parts[c].path);
    }
    o->writer = sstable_writer_new(&options->writer);
    output_begin(o, req, op, open_release);
}

struct sstable_writer *output_writer(struct output *o) { return o->writer; }

bool output_is_full(const struct output *o)
{
    return sstable_writer_data(o->writer)->size + sstable_writer_index(o->writer)->size >=
           FULL_BYTES;
}

/* LZ4 packs 16 KiB in half a slice. */
static bool is_slow(const struct output *o)
{
    const struct compression_params *p = &o->options.writer.table->params->compression;
    bool is_quick = p->kind == COMPRESSOR_LZ4 || p->kind == COMPRESSOR_SNAPPY;
    return p->kind != COMPRESSOR_NONE &&
           (!is_quick || p->is_high || p->chunk_bytes > QUICK_CHUNK_BYTES);
}

enum op_how output_code(struct output *o, struct slices *slices, struct io_req *req, struct op *op)
{
    while (sstable_writer_has_chunk(o->writer)) {
        if (is_slow(o)) {
            io_work(o->io, req, op, output_code_chunk, o->writer);
            return OP_WAIT;
        }
        if (!slice_has_room(slices, o->io))
            return OP_YIELD;
        uint64_t begun_ns = io_spent(o->io);
        sstable_writer_code_chunk(o->writer);
        slice_coded(slices, io_spent(o->io) - begun_ns);
    }
    return OP_GO;
}

void output_drain(struct output *o, struct io_req *req, struct op *op)
{
    output_begin(o, req, op, output_release);
}

void output_finish(struct output *o, struct io_req *req, struct op *op)
{
    o->is_finishing = true;
    output_begin(o, req, op, output_release);
}

size_t output_names(const struct output *o, const char *names[COMPONENT_COUNT])
{
    size_t n = 0;
    names[n++] = o->names[COMPONENT_CHECKSUMS];
    for (unsigned c = 0; c < COMPONENT_COUNT; c++)
        if (c != COMPONENT_CHECKSUMS && c != COMPONENT_DATA && o->parts[c].is_made)
            names[n++] = o->names[c];
    names[n++] = o->names[COMPONENT_DATA];
    return n;
}

struct sstable_name output_name(const struct output *o) { return o->name; }

uint64_t output_bytes(const struct output *o)
{
    uint64_t bytes = 0;
    for (unsigned c = 0; c < COMPONENT_COUNT; c++)
        bytes += o->parts[c].offset;
    return bytes;
}

uint64_t output_data_bytes(const struct output *o) { return o->parts[COMPONENT_DATA].offset; }

void output_abandon(struct output **taken, struct io_req *req, struct op *op)
{
    struct output *o = *taken;
    *taken = NULL;
    o->err = OK;
    output_begin(o, req, op, abandon_release);
}

void output_free(struct output **out)
{
    struct output *o = *out;
    *out = NULL;
    if (!o)
        return;
    ensure(!o->done && !is_behind(o));
    for (unsigned c = 0; c < COMPONENT_COUNT; c++) {
        ensure(!o->parts[c].file);
        buf_deinit(&o->parts[c].own);
    }
    checksums_builder_deinit(&o->sums);
    sstable_writer_free(&o->writer);
    mem_free(o);
}
