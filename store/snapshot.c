/* snapshot.c - making one: see snapshot.h.
 *
 *     begin ──> looked ──> list ──> make ──> link ──> link ... ──> linked ───────────────┐
 *     renamed <── synced <── file <── file (manifest, schema) <──────────────────────────┘
 *        └──> settle (the folders above) ──> ended            undo: what failed is removed
 *
 * Links are made of what stands in the folder under the names that the shards have told.  A name
 * that is not there any more ends the attempt: its table has been truncated, or its files have been
 * merged, and the shards are to be asked again.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/snapshot.h"

#include "base/calendar.h"
#include "base/mem.h"
#include "store/folder.h"
#include "store/folder_empty.h"
#include "store/inside.h"
#include "store/swap.h"
#include "store/text_file.h"

enum {
    SNAP_BEGIN,
    SNAP_LOOKED,
    SNAP_LIST,
    SNAP_MAKE,
    SNAP_LINK,
    SNAP_LINKED,
    SNAP_FILE,
    SNAP_SYNCED,
    SNAP_RENAMED,
    SNAP_SETTLE,
    SNAP_UNDO,
    SNAP_UNDONE,
};
enum { TEXTS = 2, FOLDERS = 4 };

struct snapping {
    struct op op;
    struct io *io;
    struct io_req *done;
    struct io_req req;
    const struct snapshot_options *options;
    struct report *report;
    struct arena arena;
    const char *folder, *above, *fresh, *final; /* table's, snapshots, <tag>.tmp, <tag> */
    struct io_stat stat;
    struct io_names names;
    size_t at;
    const char *at_path;
    struct {
        const char *path;
        struct bytes text;
    } texts[TEXTS];
    const char *folders[FOLDERS]; /* to be synced, inmost first */
    enum err err;
};

static struct snapping *snapping_of(struct op *op) { return owner_of(op, struct snapping, op); }

bool snapshot_tag_valid(const char *tag)
{
    size_t n = strlen(tag), end = sizeof TEMPORARY - 1;
    if (n == 0 || n > SNAPSHOT_TAG_BYTES_MAX || tag[0] == '.')
        return false;
    for (size_t i = 0; i < n; i++)
        if (tag[i] == '/' || (uint8_t)tag[i] < 0x20 || tag[i] == 0x7f)
            return false;
    return n < end || strcmp(tag + n - end, TEMPORARY) != 0;
}

void store_files(const struct store *s, const struct uuid *table, struct arena *arena,
                 struct store_files *out)
{
    const struct view *v = store_view(s, table);
    *out = (struct store_files){ 0 };
    if (!v)
        return;
    out->names = arena_array(arena, struct sstable_name, v->sstables_count);
    for (size_t i = 0; i < v->sstables_count; i++)
        out->names[out->count++] = v->sstables[i]->name;
}

/* ---- which files; manifest.json ---- */

/* Is it a file of one of the SSTables? */
static bool is_wanted(const struct snapping *s, const char *name)
{
    const struct store_files *files = &s->options->files;
    struct sstable_name parsed;
    enum sstable_component component;
    if (sstable_name_parse(name, &parsed, &component, NULL) != OK)
        return false;
    if (s->options->takes_all)
        return true;
    for (size_t i = 0; i < files->count; i++)
        if (parsed.version == files->names[i].version && strcmp(parsed.id, files->names[i].id) == 0)
            return true;
    return false;
}

/* Names the Data.db files that have been linked. */
static void manifest_print(const struct snapping *s, int64_t now_us, struct buf *out)
{
    static const char data[] = "-Data.db";
    char created[40];
    bool is_first = true;
    calendar_print_millis(now_us / 1000, created);
    buf_put_text(out, "{\n  \"files\" : [");
    for (size_t i = 0; i < s->names.count; i++) {
        const char *name = s->names.names[i];
        size_t n = strlen(name);
        if (!is_wanted(s, name) || strcmp(name + n - (sizeof data - 1), data) != 0)
            continue;
        buf_printf(out, "%s \"%s\"", is_first ? "" : ",", name);
        is_first = false;
    }
    buf_printf(out,
               " ],\n  \"created_at\" : \"%s\",\n  \"expires_at\" : null,\n"
               "  \"ephemeral\" : false\n}",
               created);
}

/* ---- steps ---- */

static struct op_next snapping_fail(struct snapping *s, enum err err, const char *path)
{
    s->err = report_set(s->report, err, "%s: %s", path, err_text(err));
    return op_goto(SNAP_UNDO);
}

static struct op_next snapping_begin(struct op *op)
{
    struct snapping *s = snapping_of(op);
    io_stat(s->io, &s->req, op, s->final, &s->stat);
    return op_wait(SNAP_LOOKED);
}

static struct op_next snapping_looked(struct op *op)
{
    struct snapping *s = snapping_of(op);
    if (s->req.busy)
        return op_wait(SNAP_LOOKED);
    if (s->req.err == OK)
        return op_end(op, report_set(s->report, ERR_EXISTS,
                                     "%s.%s has a snapshot '%s' already; name another --tag, or "
                                     "clear it first",
                                     s->options->table->keyspace, s->options->table->name,
                                     s->options->tag));
    if (s->req.err != ERR_NOT_FOUND)
        return op_end(op,
                      report_set(s->report, s->req.err, "%s: %s", s->final, err_text(s->req.err)));
    folder_empty(s->io, &s->req, op, s->fresh); /* what a crash may have left */
    return op_wait(SNAP_LIST);
}

static struct op_next snapping_list(struct op *op)
{
    struct snapping *s = snapping_of(op);
    if (s->req.busy)
        return op_wait(SNAP_LIST);
    if (op->stop)
        return op_end(op, op->stop);
    io_list(s->io, &s->req, op, s->folder, &s->arena, &s->names);
    return op_wait(SNAP_MAKE);
}

static bool has_any(const struct snapping *s)
{
    for (size_t i = 0; i < s->names.count; i++)
        if (is_wanted(s, s->names.names[i]))
            return true;
    return false;
}

static struct op_next snapping_make(struct op *op)
{
    struct snapping *s = snapping_of(op);
    if (s->req.busy)
        return op_wait(SNAP_MAKE);
    if (s->req.err != OK && s->req.err != ERR_NOT_FOUND)
        return op_end(op,
                      report_set(s->report, s->req.err, "%s: %s", s->folder, err_text(s->req.err)));
    if (s->options->takes_all && !has_any(s))
        return op_end(op, ERR_NOT_FOUND);
    io_mkdir(s->io, &s->req, op, s->fresh);
    return op_wait(SNAP_LINK);
}

static struct op_next snapping_link(struct op *op)
{
    struct snapping *s = snapping_of(op);
    if (s->req.busy)
        return op_wait(SNAP_LINK);
    if (op->stop)
        return snapping_fail(s, op->stop, s->fresh);
    if (s->req.err != OK)
        return snapping_fail(s, s->req.err, s->at_path ? s->at_path : s->fresh);
    while (s->at < s->names.count && !is_wanted(s, s->names.names[s->at]))
        s->at++;
    if (s->at == s->names.count) {
        s->at = 0;
        return op_goto(SNAP_LINKED);
    }
    const char *name = s->names.names[s->at++];
    s->at_path = arena_printf(&s->arena, "%s/%s", s->folder, name);
    io_link(s->io, &s->req, op, s->at_path, arena_printf(&s->arena, "%s/%s", s->fresh, name));
    return op_wait(SNAP_LINK);
}

/* Was every SSTable in the listing? */
static bool has_all(const struct snapping *s)
{
    char name[SSTABLE_NAME_BYTES];
    for (size_t i = 0; i < s->options->files.count; i++) {
        bool is_there = false;
        sstable_name_print(&s->options->files.names[i], COMPONENT_DATA, name);
        for (size_t k = 0; k < s->names.count && !is_there; k++)
            is_there = strcmp(s->names.names[k], name) == 0;
        if (!is_there)
            return false;
    }
    return true;
}

static struct op_next snapping_linked(struct op *op)
{
    struct snapping *s = snapping_of(op);
    struct buf manifest = buf_in(&s->arena);
    if (!has_all(s))
        return snapping_fail(s, ERR_NOT_FOUND, s->folder);
    manifest_print(s, io_wall(s->io), &manifest);
    s->texts[0].path = arena_printf(&s->arena, "%s/manifest.json", s->fresh);
    s->texts[0].text = buf_bytes(&manifest);
    s->texts[1].path = arena_printf(&s->arena, "%s/schema.cql", s->fresh);
    s->texts[1].text = s->options->schema;
    return op_goto(SNAP_FILE);
}

static struct op_next snapping_file(struct op *op)
{
    struct snapping *s = snapping_of(op);
    if (s->req.busy)
        return op_wait(SNAP_FILE);
    if (s->req.err != OK)
        return snapping_fail(s, s->req.err, s->texts[s->at - 1].path);
    if (s->at == TEXTS) {
        io_sync_dir(s->io, &s->req, op, s->fresh);
        return op_wait(SNAP_SYNCED);
    }
    text_file_make(s->io, &s->req, op, s->texts[s->at].path, s->texts[s->at].text);
    s->at++;
    return op_wait(SNAP_FILE);
}

static struct op_next snapping_synced(struct op *op)
{
    struct snapping *s = snapping_of(op);
    if (s->req.busy)
        return op_wait(SNAP_SYNCED);
    if (s->req.err != OK)
        return snapping_fail(s, s->req.err, s->fresh);
    io_rename(s->io, &s->req, op, s->fresh, s->final);
    return op_wait(SNAP_RENAMED);
}

static struct op_next snapping_renamed(struct op *op)
{
    struct snapping *s = snapping_of(op);
    if (s->req.busy)
        return op_wait(SNAP_RENAMED);
    if (s->req.err != OK)
        return snapping_fail(s, s->req.err, s->fresh);
    s->at = 0;
    return op_goto(SNAP_SETTLE);
}

/* One that cannot be made durable is there, but it is not promised. */
static struct op_next snapping_settle(struct op *op)
{
    struct snapping *s = snapping_of(op);
    if (s->req.busy)
        return op_wait(SNAP_SETTLE);
    if (s->req.err != OK)
        return op_end(op, report_set(s->report, s->req.err, "%s: %s", s->folders[s->at - 1],
                                     err_text(s->req.err)));
    if (s->at == FOLDERS)
        return op_end(op, OK);
    io_sync_dir(s->io, &s->req, op, s->folders[s->at++]);
    return op_wait(SNAP_SETTLE);
}

static struct op_next snapping_undo(struct op *op)
{
    struct snapping *s = snapping_of(op);
    if (s->req.busy)
        return op_wait(SNAP_UNDO);
    folder_empty(s->io, &s->req, op, s->fresh);
    return op_wait(SNAP_UNDONE);
}

static struct op_next snapping_undone(struct op *op)
{
    struct snapping *s = snapping_of(op);
    return s->req.busy ? op_wait(SNAP_UNDONE) : op_end(op, s->err);
}

static const struct op_state states[] = {
    [SNAP_BEGIN] = { "snapshot begin", snapping_begin, TO(SNAP_LOOKED) },
    [SNAP_LOOKED] = { "snapshot looked", snapping_looked, TO(SNAP_LIST) },
    [SNAP_LIST] = { "snapshot list", snapping_list, TO(SNAP_MAKE) },
    [SNAP_MAKE] = { "snapshot make", snapping_make, TO(SNAP_LINK) },
    [SNAP_LINK] = { "snapshot link", snapping_link,
                    TO(SNAP_LINK) | TO(SNAP_LINKED) | TO(SNAP_UNDO) },
    [SNAP_LINKED] = { "snapshot linked", snapping_linked, TO(SNAP_FILE) | TO(SNAP_UNDO) },
    [SNAP_FILE] = { "snapshot file", snapping_file,
                    TO(SNAP_FILE) | TO(SNAP_SYNCED) | TO(SNAP_UNDO) },
    [SNAP_SYNCED] = { "snapshot synced", snapping_synced, TO(SNAP_RENAMED) | TO(SNAP_UNDO) },
    [SNAP_RENAMED] = { "snapshot renamed", snapping_renamed, TO(SNAP_SETTLE) | TO(SNAP_UNDO) },
    [SNAP_SETTLE] = { "snapshot settle", snapping_settle, TO(SNAP_SETTLE) },
    [SNAP_UNDO] = { "snapshot undo", snapping_undo, TO(SNAP_UNDONE) },
    [SNAP_UNDONE] = { "snapshot undone", snapping_undone, 0 },
};

static void snapping_release(struct op *op)
{
    struct snapping *s = snapping_of(op);
    struct io_req *done = s->done;
    enum err err = op->err;
    ensure(!s->req.busy);
    arena_deinit(&s->arena);
    mem_free(s);
    io_req_end(done, err);
}

void snapshot_make(struct io *io, struct io_req *req, struct op *op,
                   const struct snapshot_options *options, struct report *report)
{
    struct snapping *s = mem_zalloc(sizeof *s);
    ensure(snapshot_tag_valid(options->tag));
    s->io = io, s->done = req, s->options = options, s->report = report;
    s->folder = folder_path(&s->arena, options->data_folder, options->table);
    s->above = arena_printf(&s->arena, "%s/snapshots", s->folder);
    s->final = arena_printf(&s->arena, "%s/%s", s->above, options->tag);
    s->fresh = arena_printf(&s->arena, "%s" TEMPORARY, s->final);
    s->folders[0] = s->above;
    s->folders[1] = s->folder;
    s->folders[2] = folder_above(&s->arena, s->folder);
    s->folders[3] = options->data_folder;
    io_req_begin(req, op);
    op_start(&s->op, io_ops(io), op, states, snapping_release);
}
