/* snapshots.c - all snapshots of a node: listed, removed, swept (snapshot.h).
 *
 *     keyspaces ──> keyspace ──> tables ──> table ──> tags ──> tag ──> files ──> size ─┐
 *         ^            ^                      ^                 ^ ^      ^─────────────┤
 *         │            │                      │                 │ │   created <────────┘
 *         │            │                      │                 │ │      ├──> read ──> read shut ─┐
 *         │            │                      │                 │ └──────┴── judge <─────────────┘
 *         └────────────┴──────────────────────┴─ the next one   └─ emptied <── away <─┘ removal
 *
 * A folder that is none of a table's is passed by.  What is to be removed gets its temporary name
 * first, and durably: a crash leaves a whole snapshot or something that is none.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "base/mem.h"
#include "store/folder.h"
#include "store/folder_empty.h"
#include "store/snapshot.h"
#include "store/swap.h"

#include <stdlib.h>

enum {
    ALL_KEYSPACES,
    ALL_KEYSPACE,
    ALL_TABLES,
    ALL_TABLE,
    ALL_TAGS,
    ALL_TAG,
    ALL_FILES,
    ALL_SIZE,
    ALL_CREATED,
    ALL_READ,
    ALL_READ_SHUT,
    ALL_JUDGE,
    ALL_AWAY,
    ALL_EMPTIED,
};
enum { MANIFEST_BYTES = 4096, FOLDERS_DEEP = 4, ID_DIGITS = 32 };
enum level { KEYSPACES, TABLES, TAGS, FILES };
enum what { LIST, REMOVE, SWEEP };

struct walking {
    struct op op;
    struct io *io;
    struct io_req *done;
    struct io_req req, live;
    struct arena *arena; /* the caller's */
    struct arena own;
    struct snapshot_choice choice;
    enum what what;
    struct {
        const char *path;
        struct io_names names;
        size_t at;
    } levels[FOLDERS_DEEP];
    struct buf found; /* struct snapshot */
    struct snapshots *out;
    struct snapshot snapshot; /* the one that is looked at */
    struct io_stat stat, live_stat;
    struct io_file *file;
    char manifest[MANIFEST_BYTES + 1];
    uint64_t manifest_bytes;          /* of it */
    const char *path, *away, *folder; /* of it; its temporary name; of the table */
    enum err err;
};

static struct walking *walking_of(struct op *op) { return owner_of(op, struct walking, op); }

static struct op_next walking_fail(struct walking *w, enum err err) { return op_end(&w->op, err); }

static void list_level(struct walking *w, enum level level, const char *path)
{
    w->levels[level].path = path;
    w->levels[level].at = 0;
    w->levels[level].names = (struct io_names){ 0 };
    io_list(w->io, &w->req, &w->op, path, &w->own, &w->levels[level].names);
}

/* The next name of a level; NULL at its end. */
static const char *next_name(struct walking *w, enum level level)
{
    if (w->levels[level].at == w->levels[level].names.count)
        return NULL;
    return w->levels[level].names.names[w->levels[level].at++];
}

static bool is_chosen(const char *choice, const char *name)
{
    return !choice || strcmp(choice, name) == 0;
}

static bool is_temporary(const char *name)
{
    size_t n = strlen(name), end = sizeof TEMPORARY - 1;
    return n > end && strcmp(name + n - end, TEMPORARY) == 0;
}

/* A listing fails so where there is a file, or nothing any more. */
static bool is_no_folder(enum err err) { return err == ERR_NOT_FOUND || err == ERR_PERMISSION; }

/* ---- down to a snapshot ---- */

static struct op_next all_keyspaces(struct op *op)
{
    struct walking *w = walking_of(op);
    list_level(w, KEYSPACES, w->path);
    return op_wait(ALL_KEYSPACE);
}

static struct op_next all_keyspace(struct op *op)
{
    struct walking *w = walking_of(op);
    if (w->req.busy)
        return op_wait(ALL_KEYSPACE);
    if (op->stop || (w->req.err != OK && w->levels[KEYSPACES].at == 0))
        return walking_fail(w, op->stop ? op->stop : w->req.err);
    const char *name = next_name(w, KEYSPACES);
    while (name && !is_chosen(w->choice.keyspace, name))
        name = next_name(w, KEYSPACES);
    if (!name)
        return op_end(op, OK);
    w->snapshot.keyspace = name;
    list_level(w, TABLES, arena_printf(&w->own, "%s/%s", w->levels[KEYSPACES].path, name));
    return op_wait(ALL_TABLES);
}

static struct op_next all_tables(struct op *op)
{
    struct walking *w = walking_of(op);
    if (w->req.busy)
        return op_wait(ALL_TABLES);
    if (w->req.err != OK && !is_no_folder(w->req.err))
        return walking_fail(w, w->req.err);
    return op_goto(w->req.err == OK ? ALL_TABLE : ALL_KEYSPACE);
}

/* The name of the table in that of its folder; NULL: it is no table's. */
static const char *table_of_folder(struct walking *w, const char *folder)
{
    struct uuid id;
    if (!folder_name_parse(folder, &id))
        return NULL;
    size_t n = strlen(folder) - ID_DIGITS - 1;
    return arena_text(&w->own, bytes_of((const uint8_t *)folder, n));
}

static struct op_next all_table(struct op *op)
{
    struct walking *w = walking_of(op);
    const char *name;
    if (w->req.busy)
        return op_wait(ALL_TABLE);
    while ((name = next_name(w, TABLES))) {
        w->snapshot.table = table_of_folder(w, name);
        if (!w->snapshot.table || !is_chosen(w->choice.table, w->snapshot.table))
            continue;
        w->folder = arena_printf(&w->own, "%s/%s", w->levels[TABLES].path, name);
        list_level(w, TAGS, arena_printf(&w->own, "%s/snapshots", w->folder));
        return op_wait(ALL_TAGS);
    }
    w->req.err = OK;
    return op_goto(ALL_KEYSPACE);
}

static struct op_next all_tags(struct op *op)
{
    struct walking *w = walking_of(op);
    if (w->req.busy)
        return op_wait(ALL_TAGS);
    if (w->req.err != OK && w->req.err != ERR_NOT_FOUND)
        return walking_fail(w, w->req.err);
    return op_goto(w->req.err == OK ? ALL_TAG : ALL_TABLE);
}

static struct op_next all_tag(struct op *op)
{
    struct walking *w = walking_of(op);
    const char *name;
    if (w->req.busy)
        return op_wait(ALL_TAG);
    if (op->stop || w->err)
        return walking_fail(w, op->stop ? op->stop : w->err);
    while ((name = next_name(w, TAGS)))
        if (is_temporary(name) == (w->what == SWEEP) && is_chosen(w->choice.tag, name))
            break;
    if (!name && w->what != LIST && w->levels[TAGS].names.count > 0) {
        w->levels[TAGS].names.count = 0;
        w->levels[TAGS].at = 0;
        io_remove(w->io, &w->req, op, w->levels[TAGS].path); /* if it is empty now */
        return op_wait(ALL_TABLE);
    }
    if (!name)
        return op_goto(ALL_TABLE);
    w->snapshot.tag = name;
    w->snapshot.created = "";
    w->snapshot.files = w->snapshot.bytes = w->snapshot.own_bytes = w->manifest_bytes = 0;
    w->path = arena_printf(&w->own, "%s/%s", w->levels[TAGS].path, name);
    if (w->what == SWEEP) {
        w->away = w->path;
        return op_goto(ALL_AWAY);
    }
    list_level(w, FILES, w->path);
    return op_wait(ALL_FILES);
}

/* ---- what is in it ---- */

static struct op_next all_files(struct op *op)
{
    struct walking *w = walking_of(op);
    if (w->req.busy)
        return op_wait(ALL_FILES);
    if (w->req.err != OK && !is_no_folder(w->req.err))
        return walking_fail(w, w->req.err);
    if (w->req.err != OK)
        return op_goto(ALL_TAG);
    const char *name = next_name(w, FILES);
    if (!name) {
        io_open(w->io, &w->req, op, arena_printf(&w->own, "%s/manifest.json", w->path), IO_READ,
                &w->file);
        return op_wait(ALL_CREATED);
    }
    io_stat(w->io, &w->req, op, arena_printf(&w->own, "%s/%s", w->path, name), &w->stat);
    io_stat(w->io, &w->live, op, arena_printf(&w->own, "%s/%s", w->folder, name), &w->live_stat);
    return op_wait(ALL_SIZE);
}

static struct op_next all_size(struct op *op)
{
    struct walking *w = walking_of(op);
    if (w->req.busy || w->live.busy)
        return op_wait(ALL_SIZE);
    if (w->req.err == OK && !w->stat.is_folder) {
        if (strcmp(w->levels[FILES].names.names[w->levels[FILES].at - 1], "manifest.json") == 0)
            w->manifest_bytes = w->stat.size_bytes;
        w->snapshot.files++;
        w->snapshot.bytes += w->stat.size_bytes;
        w->snapshot.own_bytes += w->live.err == OK ? 0 : w->stat.size_bytes;
    }
    w->req.err = OK;
    return op_goto(ALL_FILES);
}

static struct op_next all_created(struct op *op)
{
    struct walking *w = walking_of(op);
    if (w->req.busy)
        return op_wait(ALL_CREATED);
    if (w->req.err != OK) {
        w->file = NULL;
        return op_goto(ALL_JUDGE);
    }
    uint64_t from = w->manifest_bytes - u64_min(w->manifest_bytes, MANIFEST_BYTES);
    io_read(w->io, &w->req, op, w->file, w->manifest, MANIFEST_BYTES, from);
    return op_wait(ALL_READ);
}

/* "created_at" : "2026-11-30T16:00:00.000Z": near the end, behind the names of files. */
static const char *created_of(struct walking *w)
{
    static const char key[] = "\"created_at\"";
    const char *at = strstr(w->manifest, key);
    if (!at)
        return "";
    at += sizeof key - 1;
    at += strspn(at, " :\"");
    return arena_text(w->arena, bytes_of((const uint8_t *)at, strcspn(at, "\",}\n")));
}

static struct op_next all_read(struct op *op)
{
    struct walking *w = walking_of(op);
    if (w->req.busy)
        return op_wait(ALL_READ);
    w->manifest[w->req.err == OK ? w->req.size : 0] = 0;
    w->snapshot.created = created_of(w);
    io_close(w->io, &w->req, op, &w->file);
    return op_wait(ALL_READ_SHUT);
}

static struct op_next all_read_shut(struct op *op)
{
    struct walking *w = walking_of(op);
    return w->req.busy ? op_wait(ALL_READ_SHUT) : op_goto(ALL_JUDGE);
}

/* ---- what becomes of it ---- */

static void snapshot_note(struct walking *w)
{
    struct snapshot s = w->snapshot;
    s.keyspace = arena_text(w->arena, bytes_text(s.keyspace));
    s.table = arena_text(w->arena, bytes_text(s.table));
    s.tag = arena_text(w->arena, bytes_text(s.tag));
    buf_put(&w->found, &s, sizeof s);
}

static struct op_next all_judge(struct op *op)
{
    struct walking *w = walking_of(op);
    snapshot_note(w);
    w->req.err = OK;
    if (w->what == LIST)
        return op_goto(ALL_TAG);
    w->away = arena_printf(&w->own, "%s" TEMPORARY, w->path);
    io_rename(w->io, &w->req, op, w->path, w->away);
    return op_wait(ALL_AWAY);
}

static struct op_next all_away(struct op *op)
{
    struct walking *w = walking_of(op);
    if (w->req.busy || w->live.busy)
        return op_wait(ALL_AWAY);
    w->err = w->req.err;
    if (w->err)
        return op_goto(ALL_TAG);
    io_sync_dir(w->io, &w->live, op, w->levels[TAGS].path);
    return op_wait(ALL_EMPTIED);
}

static struct op_next all_emptied(struct op *op)
{
    struct walking *w = walking_of(op);
    if (w->live.busy)
        return op_wait(ALL_EMPTIED);
    w->err = w->live.err;
    if (w->err)
        return op_goto(ALL_TAG);
    folder_empty(w->io, &w->req, op, w->away);
    return op_wait(ALL_TAG);
}

static const struct op_state states[] = {
    [ALL_KEYSPACES] = { "snapshots keyspaces", all_keyspaces, TO(ALL_KEYSPACE) },
    [ALL_KEYSPACE] = { "snapshots keyspace", all_keyspace, TO(ALL_TABLES) },
    [ALL_TABLES] = { "snapshots tables", all_tables, TO(ALL_TABLE) | TO(ALL_KEYSPACE) },
    [ALL_TABLE] = { "snapshots table", all_table, TO(ALL_TAGS) | TO(ALL_KEYSPACE) },
    [ALL_TAGS] = { "snapshots tags", all_tags, TO(ALL_TAG) | TO(ALL_TABLE) },
    [ALL_TAG] = { "snapshots tag", all_tag, TO(ALL_FILES) | TO(ALL_AWAY) | TO(ALL_TABLE) },
    [ALL_FILES] = { "snapshots files", all_files, TO(ALL_SIZE) | TO(ALL_CREATED) | TO(ALL_TAG) },
    [ALL_SIZE] = { "snapshots size", all_size, TO(ALL_FILES) },
    [ALL_CREATED] = { "snapshots created", all_created, TO(ALL_READ) | TO(ALL_JUDGE) },
    [ALL_READ] = { "snapshots read", all_read, TO(ALL_READ_SHUT) },
    [ALL_READ_SHUT] = { "snapshots read shut", all_read_shut, TO(ALL_JUDGE) },
    [ALL_JUDGE] = { "snapshots judge", all_judge, TO(ALL_TAG) | TO(ALL_AWAY) },
    [ALL_AWAY] = { "snapshots away", all_away, TO(ALL_TAG) | TO(ALL_EMPTIED) },
    [ALL_EMPTIED] = { "snapshots emptied", all_emptied, TO(ALL_TAG) },
};

static int snapshot_order(const void *left, const void *right)
{
    const struct snapshot *a = left, *b = right;
    int order = strcmp(a->keyspace, b->keyspace);
    order = order ? order : strcmp(a->table, b->table);
    return order ? order : strcmp(a->tag, b->tag);
}

static void walking_give(struct walking *w)
{
    size_t count = w->found.size / sizeof(struct snapshot);
    if (!w->out)
        return;
    w->out->count = count;
    w->out->list = arena_array(w->arena, struct snapshot, count);
    if (count)
        memcpy(w->out->list, w->found.data, w->found.size);
    qsort(w->out->list, count, sizeof *w->out->list, snapshot_order);
}

static void walking_release(struct op *op)
{
    struct walking *w = walking_of(op);
    struct io_req *done = w->done;
    enum err err = op->err;
    ensure(!w->req.busy && !w->live.busy && !w->file);
    walking_give(w);
    buf_deinit(&w->found);
    arena_deinit(&w->own);
    mem_free(w);
    io_req_end(done, err);
}

/* `w` begins with what is wanted. */
static void walking_start(struct walking *w, struct io_req *req, struct op *op,
                          const char *data_folder, const struct snapshot_choice *choice)
{
    w->done = req;
    w->choice = *choice;
    w->path = arena_text(&w->own, bytes_text(data_folder));
    io_req_begin(req, op);
    op_start(&w->op, io_ops(w->io), op, states, walking_release);
}

static struct walking *walking_new(struct io *io, enum what what)
{
    struct walking *w = mem_zalloc(sizeof *w);
    w->io = io;
    w->what = what;
    return w;
}

void snapshots_list(struct io *io, struct io_req *req, struct op *op, const char *data_folder,
                    const struct snapshot_choice *choice, struct arena *arena,
                    struct snapshots *out)
{
    struct walking *w = walking_new(io, LIST);
    w->arena = arena;
    w->out = out;
    walking_start(w, req, op, data_folder, choice);
}

void snapshots_remove(struct io *io, struct io_req *req, struct op *op, const char *data_folder,
                      const struct snapshot_choice *choice, struct arena *arena,
                      struct snapshots *out)
{
    struct walking *w = walking_new(io, REMOVE);
    w->arena = arena;
    w->out = out;
    walking_start(w, req, op, data_folder, choice);
}

void snapshots_sweep(struct io *io, struct io_req *req, struct op *op, const char *data_folder)
{
    struct walking *w = walking_new(io, SWEEP);
    walking_start(w, req, op, data_folder, &(struct snapshot_choice){ 0 });
}
