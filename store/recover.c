/* recover.c - what a crash left in the folders of tables is finished or taken away, once for a node
 * and before any shard opens its store.
 *
 *     keyspaces ──> keyspace ──> tables ──> folder ──> names ──> record ──> finish ─┐
 *         ^            ^                      ^          │  ^───────────────────────┘
 *         │            │                      │          └──> sweep ──> swept ──> empty
 *         └────────────┴──────────────────────┴──────────── the next one ◄───────────┘
 *
 * A record whose additions are all there, under either name, is finished.  Another one is void: it
 * outlived its swap, or its files never became durable; then it has removed nothing (swap.c).
 * What is still temporary after that belongs to nobody.  The folder is synced before anything else
 * may draw a generation, so that no name comes back.
 *
 * The folder of a table that the catalog does not know is left alone and told of, unless it is
 * empty: then it is what a drop could not remove any more.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "io/log.h"
#include "store/folder.h"
#include "store/seal.h"
#include "store/store.h"
#include "store/swap.h"

enum {
    KEYSPACES,
    KEYSPACE,
    TABLES,
    FOLDER,
    NAMES,
    OPENED,
    RECORD,
    SHUT,
    FINISH,
    SWEEP,
    SWEPT,
    LEAVE
};

struct recovery {
    struct op op;
    struct io *io;
    const struct catalog *catalog;
    struct io_req *done;
    struct store_recovered *out;
    struct report *failed;
    struct arena arena; /* of the whole */
    struct arena each;  /* of one folder */
    const char *data, *keyspace, *folder;
    struct io_names keyspaces, tables, names;
    size_t keyspace_at, table_at, name_at;
    struct io_req req;
    struct io_file *file;
    struct buf text;
    struct swap swap;
    bool is_swept; /* something of this folder was removed */
};

static struct recovery *recovery_of(struct op *op) { return owner_of(op, struct recovery, op); }

/* ---- names ---- */

static bool is_temporary(const char *name)
{
    size_t n = strlen(name), behind = strlen(TEMPORARY);
    return n > behind && strcmp(name + n - behind, TEMPORARY) == 0;
}

static bool names_have(const struct io_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->names[i], name) == 0)
            return true;
    return false;
}

/* ---- steps ---- */

static struct op_next recovery_fail(struct recovery *r, const char *path, enum err err)
{
    return op_end(&r->op, report_set(r->failed, err, "%s: %s", path, err_text(err)));
}

static struct op_next recovery_keyspaces(struct op *op)
{
    struct recovery *r = recovery_of(op);
    io_list(r->io, &r->req, op, r->data, &r->arena, &r->keyspaces);
    return op_wait(KEYSPACE);
}

/* The next keyspace's folder is listed; what is no folder has no names. */
static struct op_next recovery_keyspace(struct op *op)
{
    struct recovery *r = recovery_of(op);
    if (r->req.busy)
        return op_wait(KEYSPACE);
    if (r->keyspace_at == 0 && r->req.err != OK)
        return r->req.err == ERR_NOT_FOUND ? op_end(op, OK) : recovery_fail(r, r->data, r->req.err);
    if (r->keyspace_at == r->keyspaces.count)
        return op_end(op, OK);
    r->keyspace = arena_printf(&r->arena, "%s/%s", r->data, r->keyspaces.names[r->keyspace_at++]);
    r->tables = (struct io_names){ 0 };
    r->table_at = 0;
    io_list(r->io, &r->req, op, r->keyspace, &r->arena, &r->tables);
    return op_wait(TABLES);
}

static struct op_next recovery_tables(struct op *op)
{
    struct recovery *r = recovery_of(op);
    struct uuid table;
    if (r->req.busy)
        return op_wait(TABLES);
    bool is_other = r->req.err == ERR_NOT_FOUND || r->req.err == ERR_PERMISSION;
    if (r->req.err != OK && !is_other)
        return recovery_fail(r, r->keyspace, r->req.err);
    r->req.err = OK;
    while (r->table_at < r->tables.count &&
           !folder_name_parse(r->tables.names[r->table_at], &table))
        r->table_at++;
    if (r->table_at == r->tables.count)
        return op_goto(KEYSPACE);
    arena_reset(&r->each);
    r->folder = arena_printf(&r->each, "%s/%s", r->keyspace, r->tables.names[r->table_at++]);
    r->is_swept = false;
    return op_goto(FOLDER);
}

static struct op_next recovery_folder(struct op *op)
{
    struct recovery *r = recovery_of(op);
    r->names = (struct io_names){ 0 };
    r->name_at = 0;
    io_list(r->io, &r->req, op, r->folder, &r->each, &r->names);
    return op_wait(NAMES);
}

/* The next record; when there is none left, what is temporary goes. */
static struct op_next recovery_names(struct op *op)
{
    struct recovery *r = recovery_of(op);
    uint64_t generation;
    if (r->req.busy)
        return op_wait(NAMES);
    if (r->req.err == ERR_NOT_FOUND) { /* no folder at all */
        r->req.err = OK;
        return op_goto(TABLES);
    }
    if (r->req.err != OK)
        return recovery_fail(r, r->folder, r->req.err);
    while (r->name_at < r->names.count && !swap_name_parse(r->names.names[r->name_at], &generation))
        r->name_at++;
    if (r->name_at == r->names.count) {
        r->name_at = 0;
        return op_goto(SWEEP);
    }
    const char *path = arena_printf(&r->each, "%s/%s", r->folder, r->names.names[r->name_at]);
    io_open(r->io, &r->req, op, path, IO_READ, &r->file);
    return op_wait(OPENED);
}

static struct op_next recovery_opened(struct op *op)
{
    struct recovery *r = recovery_of(op);
    if (r->req.busy)
        return op_wait(OPENED);
    if (r->req.err != OK) {
        r->file = NULL;
        return recovery_fail(r, r->folder, r->req.err);
    }
    buf_clear(&r->text);
    io_read(r->io, &r->req, op, r->file, buf_take(&r->text, SEALED_BYTES_MAX), SEALED_BYTES_MAX, 0);
    return op_wait(RECORD);
}

static struct op_next recovery_record(struct op *op)
{
    struct recovery *r = recovery_of(op);
    if (r->req.busy)
        return op_wait(RECORD);
    enum err err = r->req.err;
    r->text.size = err == OK ? r->req.size : 0;
    if (err == OK)
        err = swap_decode(buf_bytes(&r->text), &r->each, &r->swap);
    if (err != OK)
        (void)report_set(
            r->failed, err,
            "%s/%s: %s; it says which files of the table belong together: restore it, or "
            "remove it to keep the files as they stand",
            r->folder, r->names.names[r->name_at], err_text(err));
    io_close(r->io, &r->req, op, &r->file);
    r->swap.folder = r->folder;
    r->swap.generation = err == OK ? r->swap.generation : UINT64_MAX;
    return op_wait(SHUT);
}

static bool record_is_void(struct recovery *r)
{
    for (size_t i = 0; i < r->swap.adds_count; i++) {
        const char *fresh = arena_printf(&r->each, "%s" TEMPORARY, r->swap.adds[i]);
        if (!names_have(&r->names, r->swap.adds[i]) && !names_have(&r->names, fresh))
            return true;
    }
    return false;
}

static struct op_next recovery_shut(struct op *op)
{
    struct recovery *r = recovery_of(op);
    if (r->req.busy)
        return op_wait(SHUT);
    if (r->swap.generation == UINT64_MAX)
        return op_end(op, r->failed ? r->failed->err : ERR_CORRUPT);
    const char *name = r->names.names[r->name_at];
    ensure(swap_name_parse(name, &r->swap.generation));
    if (record_is_void(r)) {
        r->out->swaps_void++;
        io_remove(r->io, &r->req, op, arena_printf(&r->each, "%s/%s", r->folder, name));
    } else {
        r->out->swaps_finished++;
        swap_finish(r->io, &r->req, op, &r->swap);
    }
    r->is_swept = true;
    return op_wait(FINISH);
}

static struct op_next recovery_finish(struct op *op)
{
    struct recovery *r = recovery_of(op);
    if (r->req.busy)
        return op_wait(FINISH);
    if (r->req.err != OK)
        return recovery_fail(r, r->folder, r->req.err);
    return op_goto(FOLDER); /* its names are others now */
}

/* The result of a removal; then the next temporary file. */
static struct op_next recovery_sweep(struct op *op)
{
    struct recovery *r = recovery_of(op);
    if (r->req.busy)
        return op_wait(SWEEP);
    if (r->req.err != OK)
        return recovery_fail(r, r->folder, r->req.err);
    while (r->name_at < r->names.count && !is_temporary(r->names.names[r->name_at]))
        r->name_at++;
    if (r->name_at < r->names.count) {
        const char *name = r->names.names[r->name_at++];
        r->is_swept = true;
        r->out->temporaries++;
        io_remove(r->io, &r->req, op, arena_printf(&r->each, "%s/%s", r->folder, name));
        return op_wait(SWEEP);
    }
    if (!r->is_swept)
        return op_goto(SWEPT);
    io_sync_dir(r->io, &r->req, op, r->folder);
    return op_wait(SWEPT);
}

static struct op_next recovery_swept(struct op *op)
{
    struct recovery *r = recovery_of(op);
    struct uuid table;
    if (r->req.busy)
        return op_wait(SWEPT);
    if (r->req.err != OK)
        return recovery_fail(r, r->folder, r->req.err);
    if (r->is_swept) { /* it may be empty now */
        r->is_swept = false;
        return op_goto(FOLDER);
    }
    ensure(folder_name_parse(r->folder, &table));
    if (catalog_table_by_id(r->catalog, &table))
        return op_goto(TABLES);
    bool is_empty = r->names.count == 0;
    if (!is_empty) {
        r->out->unknown_folders++;
        log_note(r->io, LOG_WARN, "unknown_table", "path=%s left=\"as it is\"", r->folder);
        return op_goto(TABLES);
    }
    io_remove(r->io, &r->req, op, r->folder);
    return op_wait(LEAVE);
}

/* A folder that cannot be removed is looked at again at the next start. */
static struct op_next recovery_leave(struct op *op)
{
    struct recovery *r = recovery_of(op);
    if (r->req.busy)
        return op_wait(LEAVE);
    r->req.err = OK;
    return op_goto(TABLES);
}

static const struct op_state states[] = {
    [KEYSPACES] = { "recover keyspaces", recovery_keyspaces, TO(KEYSPACE) },
    [KEYSPACE] = { "recover keyspace", recovery_keyspace, TO(TABLES) },
    [TABLES] = { "recover tables", recovery_tables, TO(KEYSPACE) | TO(FOLDER) },
    [FOLDER] = { "recover folder", recovery_folder, TO(NAMES) },
    [NAMES] = { "recover names", recovery_names, TO(OPENED) | TO(SWEEP) | TO(TABLES) },
    [OPENED] = { "recover opened", recovery_opened, TO(RECORD) },
    [RECORD] = { "recover record", recovery_record, TO(SHUT) },
    [SHUT] = { "recover shut", recovery_shut, TO(FINISH) },
    [FINISH] = { "recover finish", recovery_finish, TO(FOLDER) },
    [SWEEP] = { "recover sweep", recovery_sweep, TO(SWEEP) | TO(SWEPT) },
    [SWEPT] = { "recover swept", recovery_swept, TO(TABLES) | TO(FOLDER) | TO(LEAVE) },
    [LEAVE] = { "recover leave", recovery_leave, TO(TABLES) },
};

static void recovery_release(struct op *op)
{
    struct recovery *r = recovery_of(op);
    struct io_req *done = r->done;
    enum err err = op->err;
    ensure(!r->req.busy && !r->file);
    buf_deinit(&r->text);
    arena_deinit(&r->each);
    arena_deinit(&r->arena);
    mem_free(r);
    io_req_end(done, err);
}

void store_recover(struct io *io, struct io_req *req, struct op *op, const char *data_folder,
                   const struct catalog *catalog, struct store_recovered *out,
                   struct report *failed)
{
    struct recovery *r = mem_zalloc(sizeof *r);
    *out = (struct store_recovered){ 0 };
    r->io = io, r->catalog = catalog, r->done = req, r->out = out, r->failed = failed;
    r->data = arena_text(&r->arena, bytes_text(data_folder));
    io_req_begin(req, op);
    op_start(&r->op, io_ops(io), op, states, recovery_release);
}
