/* files.c - a start looks for the files of every table that the catalog knows.
 *
 *     table ──> names ──> file ──> opened ──> head ──> judged ──> show ──> shown ─┐
 *       ^                  │ ^ └──────(no Checksums.db)────────────^              │
 *       │                  │ └────────────────────────────────────────────────────┘
 *       └── floored <── floor (each of them)
 *
 * A file that was written by another shard of a node with as many shards as today has nothing for
 * this one, and is not opened: the head of its Checksums.db tells.  Every other one is, and this
 * shard sees its own tokens in it only (store_shares).  A damaged file is taken in and set aside;
 * its word about the commit log is not believed.
 *
 * Other shards may have opened and be flushing already.  A listing may meet such a file half named:
 * Data.db gets its name last, so whoever sees that sees the rest.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "io/log.h"
#include "store/folder.h"
#include "store/inside.h"
#include "store/swap.h"

enum { TABLE, NAMES, FILE_NEXT, OPENED, HEAD, JUDGED, SHOW, SHOWN, FLOOR, FLOOR_READ, FLOORED };
enum { FLOOR_BYTES_MAX = 64 * 1024 };

struct files {
    struct op op;
    struct store *store;
    struct io_req *done;
    struct report *failed;
    struct arena arena;    /* of the whole */
    struct arena each;     /* of one table */
    struct table **tables; /* counted */
    size_t tables_count, table_at;
    const char *folder;
    struct io_names names;
    size_t name_at;
    struct io_req req;
    struct io_file *file;
    uint8_t head[CHECKSUMS_HEAD_BYTES];
    struct sstable_open_options open;
    struct sstable *sstable;
    struct report said;
    const char *floor; /* the one that is read */
    size_t floor_at;   /* of the names */
    uint64_t floor_generation;
    uint8_t *floor_bytes;
    bool is_others;
    enum err err;
};

static struct files *files_of(struct op *op) { return owner_of(op, struct files, op); }

static struct op_next files_fail(struct files *f, const char *path, enum err err)
{
    return op_end(&f->op, report_set(f->failed, err, "%s: %s", path, err_text(err)));
}

/* ---- what a file says of the commit log ---- */

static void note_segment(struct store *s, uint64_t folder, uint64_t segment)
{
    if (folder == (uint64_t)io_self(s->io))
        s->known_segment = u64_max(s->known_segment, segment);
}

static void note_spans(struct store *s, const struct sstable *file)
{
    struct log_span span;
    for (size_t i = 0; i < file->statistics.log_intervals_count; i++)
        if (files_span(s, file, i, &span))
            note_segment(s, span.folder, span.last.segment);
}

/* ---- steps ---- */

static struct op_next files_table(struct op *op)
{
    struct files *f = files_of(op);
    struct store *s = f->store;
    if (op->stop)
        return op_end(op, op->stop);
    if (f->table_at == f->tables_count)
        return op_end(op, OK);
    arena_reset(&f->each);
    f->folder = folder_path(&f->each, s->options.data_folder, f->tables[f->table_at++]);
    f->names = (struct io_names){ 0 };
    f->name_at = 0;
    f->floor_at = 0;
    io_list(s->io, &f->req, op, f->folder, &f->each, &f->names);
    return op_wait(NAMES);
}

static struct op_next files_names(struct op *op)
{
    struct files *f = files_of(op);
    uint64_t generation;
    if (f->req.busy)
        return op_wait(NAMES);
    if (f->req.err == ERR_NOT_FOUND)
        return op_goto(TABLE);
    if (f->req.err != OK)
        return files_fail(f, f->folder, f->req.err);
    for (size_t i = 0; i < f->names.count; i++)
        if (floor_name_parse(f->names.names[i], &generation) ||
            swap_name_parse(f->names.names[i], &generation))
            f->store->generation = u64_max(f->store->generation, generation);
    return op_goto(FILE_NEXT);
}

/* The next name that is a file's: its Data.db. */
static bool next_file(struct files *f)
{
    for (; f->name_at < f->names.count; f->name_at++) {
        enum sstable_component component;
        struct sstable_name name;
        if (sstable_name_parse(f->names.names[f->name_at], &name, &component, NULL) != OK)
            continue;
        if (name.generation != UINT64_MAX)
            f->store->generation = u64_max(f->store->generation, name.generation);
        if (component != COMPONENT_DATA)
            continue;
        f->open.name = name;
        f->name_at++;
        return true;
    }
    return false;
}

static struct op_next files_next(struct op *op)
{
    struct files *f = files_of(op);
    char name[SSTABLE_NAME_BYTES];
    if (op->stop)
        return op_end(op, op->stop);
    if (!next_file(f))
        return op_goto(FLOOR);
    sstable_name_print(&f->open.name, COMPONENT_CHECKSUMS, name);
    io_open(f->store->io, &f->req, op, arena_printf(&f->each, "%s/%s", f->folder, name), IO_READ,
            &f->file);
    return op_wait(OPENED);
}

static struct op_next files_opened(struct op *op)
{
    struct files *f = files_of(op);
    if (f->req.busy)
        return op_wait(OPENED);
    if (f->req.err != OK)
        f->file = NULL;
    if (f->req.err == ERR_NOT_FOUND)
        return op_goto(SHOW);
    if (f->req.err != OK)
        return files_fail(f, f->folder, f->req.err);
    io_read(f->store->io, &f->req, op, f->file, f->head, sizeof f->head, 0);
    return op_wait(HEAD);
}

static struct op_next files_head(struct op *op)
{
    struct files *f = files_of(op);
    struct io *io = f->store->io;
    uint32_t shards, shard;
    if (f->req.busy)
        return op_wait(HEAD);
    f->err = f->req.err;
    f->is_others = f->err == OK &&
                   checksums_decode_head(bytes_of(f->head, f->req.size), &shards, &shard) == OK &&
                   shards == (uint32_t)io_shards(io) && shard != (uint32_t)io_self(io);
    io_close(io, &f->req, op, &f->file);
    return op_wait(JUDGED);
}

static struct op_next files_judged(struct op *op)
{
    struct files *f = files_of(op);
    if (f->req.busy)
        return op_wait(JUDGED);
    if (f->err != OK)
        return files_fail(f, f->folder, f->err);
    return op_goto(f->is_others ? FILE_NEXT : SHOW);
}

static struct op_next files_show(struct op *op)
{
    struct files *f = files_of(op);
    f->open.all = &f->store->sstables;
    f->open.folder = f->folder;
    f->open.table = f->tables[f->table_at - 1];
    report_clear(&f->said);
    sstable_open(f->store->io, &f->req, op, &f->open, &f->sstable, &f->said);
    return op_wait(SHOWN);
}

static struct op_next files_shown(struct op *op)
{
    struct files *f = files_of(op);
    struct store *s = f->store;
    if (f->req.busy)
        return op_wait(SHOWN);
    struct table_data *d = store_data_for(s, &f->open.table->id);
    if (!d) { /* dropped meanwhile */
        if (f->sstable)
            sstable_unref(&f->sstable);
        return op_goto(TABLE);
    }
    if (!f->sstable) {
        if (f->failed)
            *f->failed = f->said;
        return op_end(op, f->req.err);
    }
    if (f->req.err != OK)
        log_note(s->io, LOG_ERROR, "sstable_set_aside", "reason=\"%s\"", f->said.text);
    d->is_folder_made = true;
    note_spans(s, f->sstable);
    data_add(d, f->sstable);
    sstable_unref(&f->sstable);
    return op_goto(FILE_NEXT);
}

/* ---- floors: each holds, so together they hold ---- */

static bool next_floor(struct files *f, uint64_t *generation)
{
    while (f->floor_at < f->names.count) {
        f->floor = f->names.names[f->floor_at++];
        if (floor_name_parse(f->floor, generation))
            return true;
    }
    return false;
}

static struct op_next files_floor(struct op *op)
{
    struct files *f = files_of(op);
    if (!next_floor(f, &f->floor_generation))
        return op_goto(TABLE);
    io_open(f->store->io, &f->req, op, arena_printf(&f->each, "%s/%s", f->folder, f->floor),
            IO_READ, &f->file);
    return op_wait(FLOOR_READ);
}

static struct op_next files_floor_read(struct op *op)
{
    struct files *f = files_of(op);
    if (f->req.busy)
        return op_wait(FLOOR_READ);
    if (f->req.err != OK) {
        f->file = NULL;
        return files_fail(f, f->folder, f->req.err);
    }
    f->floor_bytes = arena_alloc(&f->each, FLOOR_BYTES_MAX);
    io_read(f->store->io, &f->req, op, f->file, f->floor_bytes, FLOOR_BYTES_MAX, 0);
    return op_wait(FLOORED);
}

static void floor_take(struct files *f, struct bytes bytes)
{
    struct store *s = f->store;
    struct table_data *d = store_data_for(s, &f->tables[f->table_at - 1]->id);
    if (!d)
        return;
    struct floor floor;
    f->err = floor_decode(bytes, &f->each, &floor);
    for (size_t i = 0; i < floor.count; i++)
        note_segment(s, floor.places[i].folder, floor.places[i].upto.segment);
    data_raise_floor(d, &floor, f->floor_generation);
}

static struct op_next files_floored(struct op *op)
{
    struct files *f = files_of(op);
    if (f->req.busy)
        return op_wait(FLOORED);
    if (f->file) {
        f->err = f->req.err;
        if (f->err == OK)
            floor_take(f, bytes_of(f->floor_bytes, f->req.size));
        io_close(f->store->io, &f->req, op, &f->file);
        return op_wait(FLOORED);
    }
    if (f->err != OK)
        return op_end(op,
                      report_set(f->failed, f->err,
                                 "%s/%s: %s; it says which rows are gone: restore it, or remove "
                                 "it and have those of the commit log back",
                                 f->folder, f->floor, err_text(f->err)));
    return op_goto(FLOOR);
}

static const struct op_state states[] = {
    [TABLE] = { "files table", files_table, TO(NAMES) },
    [NAMES] = { "files names", files_names, TO(TABLE) | TO(FILE_NEXT) },
    [FILE_NEXT] = { "files next", files_next, TO(OPENED) | TO(FLOOR) },
    [OPENED] = { "files opened", files_opened, TO(HEAD) | TO(SHOW) },
    [HEAD] = { "files head", files_head, TO(JUDGED) },
    [JUDGED] = { "files judged", files_judged, TO(FILE_NEXT) | TO(SHOW) },
    [SHOW] = { "files show", files_show, TO(SHOWN) },
    [SHOWN] = { "files shown", files_shown, TO(FILE_NEXT) | TO(TABLE) },
    [FLOOR] = { "files floor", files_floor, TO(TABLE) | TO(FLOOR_READ) },
    [FLOOR_READ] = { "files floor read", files_floor_read, TO(FLOORED) },
    [FLOORED] = { "files floored", files_floored, TO(FLOOR) },
};

static void files_release(struct op *op)
{
    struct files *f = files_of(op);
    struct io_req *done = f->done;
    enum err err = op->err;
    ensure(!f->req.busy && !f->file && !f->sstable);
    for (size_t i = 0; i < f->tables_count; i++)
        table_unref(&f->tables[i]);
    arena_deinit(&f->each);
    arena_deinit(&f->arena);
    mem_free(f);
    io_req_end(done, err);
}

void files_open(struct store *s, struct io_req *req, struct op *op, struct report *failed)
{
    struct files *f = mem_zalloc(sizeof *f);
    const struct catalog *catalog = s->options.catalog;
    size_t at = 0;
    f->store = s, f->done = req, f->failed = failed;
    f->tables = arena_array(&f->arena, struct table *, catalog->tables.count);
    for (struct table *t; (t = map_next(&catalog->tables, &at));) {
        if (t->is_virtual)
            continue;
        table_ref(t);
        f->tables[f->tables_count++] = t;
    }
    io_req_begin(req, op);
    op_start(&f->op, io_ops(s->io), op, states, files_release);
}
