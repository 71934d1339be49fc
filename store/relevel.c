/* relevel.c - a file under another level: its components are linked under a new generation, and
 * Statistics.db, which names the level, is written anew; with it Checksums.db, which covers it.
 *
 *     open ──> read ──> shut ──> link, link ... ──> file ──> file ──> ended
 *     (the old Checksums.db)                        (Statistics.db, Checksums.db)
 *
 * No row is read, and no other component says what would be wrong now: the TOC names the same
 * components, the Digest is of the same Data.db.  What fails leaves temporary files, which are
 * noted as an output's and go with it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "store/compact_inside.h"
#include "store/text_file.h"

enum {
    RELEVEL_OPEN,
    RELEVEL_READ,
    RELEVEL_SHUT,
    RELEVEL_LINK,
    RELEVEL_FILE,
    RELEVEL_UNDO,
};
enum { TEXTS = 2 };
static const enum sstable_component written[TEXTS] = { COMPONENT_STATISTICS, COMPONENT_CHECKSUMS };

struct relevel {
    struct op op;
    struct compaction *compaction;
    struct io_req *done;
    struct io_req req;
    const struct sstable *from;
    struct sstable_name name;
    struct io_file *file;
    struct buf sums;         /* the old Checksums.db */
    struct buf texts[TEXTS]; /* what is written */
    unsigned at;             /* component to link; then text to write */
    enum err err;
};

static struct relevel *relevel_of(struct op *op) { return owner_of(op, struct relevel, op); }

static const char *path_of(struct relevel *r, const struct sstable_name *name,
                           enum sstable_component c, const char *behind)
{
    char file[SSTABLE_NAME_BYTES];
    sstable_name_print(name, c, file);
    return arena_printf(&r->compaction->own, "%s/%s%s", r->from->folder, file, behind);
}

static struct op_next relevel_fail(struct relevel *r, enum err err, enum sstable_component c)
{
    r->err = report_set(r->compaction->failed, err, "%s: %s", path_of(r, &r->from->name, c, ""),
                        err_text(err));
    if (r->file)
        io_close(r->compaction->store->io, &r->req, &r->op, &r->file);
    return r->req.busy ? op_wait(RELEVEL_UNDO) : op_goto(RELEVEL_UNDO);
}

/* ---- what the old one says ---- */

static struct op_next relevel_open(struct op *op)
{
    struct relevel *r = relevel_of(op);
    io_open(r->compaction->store->io, &r->req, op,
            path_of(r, &r->from->name, COMPONENT_CHECKSUMS, ""), IO_READ, &r->file);
    return op_wait(RELEVEL_READ);
}

static struct op_next relevel_read(struct op *op)
{
    struct relevel *r = relevel_of(op);
    size_t n = r->from->bytes[COMPONENT_CHECKSUMS];
    if (r->req.busy)
        return op_wait(RELEVEL_READ);
    if (r->req.err != OK) {
        r->file = NULL;
        return relevel_fail(r, r->req.err, COMPONENT_CHECKSUMS);
    }
    io_read(r->compaction->store->io, &r->req, op, r->file, buf_take(&r->sums, n), n, 0);
    return op_wait(RELEVEL_SHUT);
}

static struct op_next relevel_shut(struct op *op)
{
    struct relevel *r = relevel_of(op);
    if (r->req.busy)
        return op_wait(RELEVEL_SHUT);
    if (r->file) {
        r->err = r->req.err;
        if (r->err == OK && r->req.size != r->sums.size)
            r->err = ERR_CORRUPT;
        io_close(r->compaction->store->io, &r->req, op, &r->file);
        return op_wait(RELEVEL_SHUT);
    }
    return r->err == OK ? op_goto(RELEVEL_LINK) : relevel_fail(r, r->err, COMPONENT_CHECKSUMS);
}

/* ---- what the new one says ---- */

static void note(struct relevel *r, enum sstable_component c)
{
    struct outputs *o = &r->compaction->outputs;
    char file[SSTABLE_NAME_BYTES];
    sstable_name_print(&r->name, c, file);
    const char *name = arena_text(&r->compaction->own, bytes_text(file));
    buf_put(&o->adds, &name, sizeof name);
}

/* The blocks of the others stay as they are. */
static enum err texts_make(struct relevel *r)
{
    struct statistics statistics = r->from->statistics;
    struct checksums_builder builder = { 0 };
    struct checksums sums;
    statistics.level = r->compaction->options->outputs[0].level;
    statistics_encode(&statistics, &r->texts[0]);
    enum err err =
        checksums_decode(buf_bytes(&r->sums), &r->compaction->own, &sums, r->compaction->failed);
    if (err != OK)
        return err;
    for (unsigned c = 0; c < COMPONENT_COUNT; c++)
        if (c != COMPONENT_STATISTICS && sums.parts[c].crcs)
            checksums_builder_take(&builder, (enum sstable_component)c, &sums.parts[c]);
    checksums_builder_add(&builder, COMPONENT_STATISTICS, buf_bytes(&r->texts[0]));
    checksums_builder_encode(&builder, sums.shards, sums.shard, &r->texts[1]);
    checksums_builder_deinit(&builder);
    return OK;
}

static bool is_linked(const struct relevel *r, unsigned c)
{
    return c != COMPONENT_STATISTICS && c != COMPONENT_CHECKSUMS && c != COMPONENT_DATA &&
           r->from->components & 1u << c;
}

/* Data.db gets its name last. */
static struct op_next relevel_link(struct op *op)
{
    struct relevel *r = relevel_of(op);
    if (r->req.busy)
        return op_wait(RELEVEL_LINK);
    if (r->req.err != OK)
        return relevel_fail(r, r->req.err, COMPONENT_DATA);
    if (op->stop)
        return relevel_fail(r, op->stop, COMPONENT_DATA);
    while (r->at < COMPONENT_COUNT && !is_linked(r, r->at))
        r->at++;
    if (r->at > COMPONENT_COUNT) {
        r->at = 0;
        enum err err = texts_make(r);
        return err == OK ? op_goto(RELEVEL_FILE) : relevel_fail(r, err, COMPONENT_CHECKSUMS);
    }
    enum sstable_component c =
        r->at < COMPONENT_COUNT ? (enum sstable_component)r->at : COMPONENT_DATA;
    r->at++;
    if (c == COMPONENT_DATA) {
        note(r, COMPONENT_CHECKSUMS);
        note(r, COMPONENT_STATISTICS);
    }
    note(r, c);
    io_link(r->compaction->store->io, &r->req, op, path_of(r, &r->from->name, c, ""),
            path_of(r, &r->name, c, TEMPORARY));
    return op_wait(RELEVEL_LINK);
}

/* ---- two files ---- */

static void file_note(struct relevel *r)
{
    struct outputs_file file = { .name = r->name, .data_bytes = r->from->bytes[COMPONENT_DATA] };
    for (unsigned c = 0; c < COMPONENT_COUNT; c++)
        file.all_bytes += r->from->bytes[c];
    buf_put(&r->compaction->outputs.files, &file, sizeof file);
}

static struct op_next relevel_file(struct op *op)
{
    struct relevel *r = relevel_of(op);
    if (r->req.busy)
        return op_wait(RELEVEL_FILE);
    if (r->req.err != OK)
        return relevel_fail(r, r->req.err, written[r->at - 1]);
    if (r->at == TEXTS) {
        file_note(r);
        return op_end(op, OK);
    }
    unsigned at = r->at++;
    text_file_make(r->compaction->store->io, &r->req, op,
                   path_of(r, &r->name, written[at], TEMPORARY), buf_bytes(&r->texts[at]));
    return op_wait(RELEVEL_FILE);
}

static struct op_next relevel_undo(struct op *op)
{
    const struct relevel *r = relevel_of(op);
    return r->req.busy ? op_wait(RELEVEL_UNDO) : op_end(op, r->err);
}

static const struct op_state states[] = {
    [RELEVEL_OPEN] = { "relevel open", relevel_open, TO(RELEVEL_READ) },
    [RELEVEL_READ] = { "relevel read", relevel_read, TO(RELEVEL_SHUT) | TO(RELEVEL_UNDO) },
    [RELEVEL_SHUT] = { "relevel shut", relevel_shut, TO(RELEVEL_LINK) | TO(RELEVEL_UNDO) },
    [RELEVEL_LINK] = { "relevel link", relevel_link,
                       TO(RELEVEL_LINK) | TO(RELEVEL_FILE) | TO(RELEVEL_UNDO) },
    [RELEVEL_FILE] = { "relevel file", relevel_file, TO(RELEVEL_FILE) | TO(RELEVEL_UNDO) },
    [RELEVEL_UNDO] = { "relevel undo", relevel_undo, 0 },
};

static void relevel_release(struct op *op)
{
    struct relevel *r = relevel_of(op);
    struct io_req *done = r->done;
    enum err err = op->err;
    ensure(!r->req.busy && !r->file);
    buf_deinit(&r->sums);
    for (size_t i = 0; i < TEXTS; i++)
        buf_deinit(&r->texts[i]);
    mem_free(r);
    io_req_end(done, err);
}

void relevel(struct compaction *c, struct io_req *req, struct op *op)
{
    struct relevel *r = mem_zalloc(sizeof *r);
    r->compaction = c, r->done = req, r->from = c->going[0];
    r->name = sstable_name_of(r->from->name.version, store_generation(c->store));
    io_req_begin(req, op);
    op_start(&r->op, io_ops(c->store->io), op, states, relevel_release);
}
