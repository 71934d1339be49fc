/* logs.c - the folders of the commit log that belong to no shard any more are removed.
 *
 *     begin ──> list ──> folder ──> aside ──> names ──> file ──> (next file) ──> gone ──> (folder)
 *                          └──> settle ──> ended
 *
 * They are left from a life with more shards.  When this is asked for, every shard has read them
 * and flushed what it took.  A folder gets another name first, durably: a crash between its files
 * would leave a log with gaps, which are holes to a reader.  What a crash leaves under that name is
 * removed the next time.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "io/log.h"
#include "store/inside.h"

#define ASIDE ".removed"
enum { BEGIN, LIST, FOLDER, ASIDE_SYNC, ASIDE_DURABLE, NAMES, FILE_GONE, GONE, SETTLE };

struct logs {
    struct op op;
    struct store *store;
    struct io_req *done;
    struct io_req req;
    struct arena arena;
    struct io_names folders, names;
    size_t folder_at, name_at;
    unsigned pass;
    const char *folder;
    bool any;
};

/* Decimal digits without a leading zero. */
bool log_folder_number(const char *name, uint64_t *out)
{
    *out = 0;
    for (const char *c = name; *c; c++) {
        if (*c < '0' || *c > '9' || c - name >= 9 || (c > name && *name == '0'))
            return false;
        *out = *out * 10 + (uint64_t)(*c - '0');
    }
    return *name != 0;
}

static bool name_is_aside(const char *name)
{
    size_t n = strlen(name), behind = strlen(ASIDE);
    return n > behind && strcmp(name + n - behind, ASIDE) == 0;
}

static struct logs *logs_of(struct op *op) { return owner_of(op, struct logs, op); }

static struct op_next logs_begin(struct op *op)
{
    struct logs *l = logs_of(op);
    io_list(l->store->io, &l->req, op, l->store->options.commitlog_folder, &l->arena, &l->folders);
    return op_wait(LIST);
}

static struct op_next logs_list(struct op *op)
{
    struct logs *l = logs_of(op);
    if (l->req.busy)
        return op_wait(LIST);
    return l->req.err == OK ? op_goto(FOLDER) : op_end(op, l->req.err);
}

/* The next name: those that were put aside before come first, then those of shards that are no
 * more, which are to be put aside.  NULL at the end. */
static const char *next_name(struct logs *l, bool *is_aside)
{
    for (; l->pass < 2; l->pass++, l->folder_at = 0)
        for (; l->folder_at < l->folders.count; l->folder_at++) {
            const char *name = l->folders.names[l->folder_at];
            uint64_t number;
            *is_aside = l->pass == 0;
            bool is_it = *is_aside ? name_is_aside(name)
                                   : log_folder_number(name, &number) &&
                                         number >= (uint64_t)io_shards(l->store->io);
            if (is_it)
                return name;
        }
    return NULL;
}

static struct op_next logs_folder(struct op *op)
{
    struct logs *l = logs_of(op);
    struct store *s = l->store;
    const char *root = s->options.commitlog_folder;
    bool is_aside;
    if (op->stop)
        return op_end(op, op->stop);
    const char *name = next_name(l, &is_aside);
    if (name) {
        l->folder_at++;
        l->folder = arena_printf(&l->arena, "%s/%s%s", root, name, is_aside ? "" : ASIDE);
        if (!is_aside)
            io_rename(s->io, &l->req, op, arena_printf(&l->arena, "%s/%s", root, name), l->folder);
        return is_aside ? op_goto(ASIDE_DURABLE) : op_wait(ASIDE_SYNC);
    }
    if (!l->any)
        return op_end(op, OK);
    io_sync_dir(s->io, &l->req, op, root);
    return op_wait(SETTLE);
}

static struct op_next logs_aside_sync(struct op *op)
{
    struct logs *l = logs_of(op);
    if (l->req.busy)
        return op_wait(ASIDE_SYNC);
    if (l->req.err != OK)
        return op_end(op, l->req.err);
    io_sync_dir(l->store->io, &l->req, op, l->store->options.commitlog_folder);
    return op_wait(ASIDE_DURABLE);
}

static struct op_next logs_aside_durable(struct op *op)
{
    struct logs *l = logs_of(op);
    if (l->req.busy)
        return op_wait(ASIDE_DURABLE);
    if (l->req.err != OK)
        return op_end(op, l->req.err);
    l->name_at = 0;
    io_list(l->store->io, &l->req, op, l->folder, &l->arena, &l->names);
    return op_wait(NAMES);
}

static struct op_next logs_names(struct op *op)
{
    struct logs *l = logs_of(op);
    if (l->req.busy)
        return op_wait(NAMES);
    return l->req.err == OK ? op_goto(FILE_GONE) : op_end(op, l->req.err);
}

/* The result of the last removal, then the next one. */
static struct op_next logs_file_gone(struct op *op)
{
    struct logs *l = logs_of(op);
    if (l->req.busy)
        return op_wait(FILE_GONE);
    if (l->req.err != OK)
        return op_end(op, l->req.err);
    if (l->name_at < l->names.count) {
        io_remove(l->store->io, &l->req, op,
                  arena_printf(&l->arena, "%s/%s", l->folder, l->names.names[l->name_at++]));
        return op_wait(FILE_GONE);
    }
    l->any = true;
    io_remove(l->store->io, &l->req, op, l->folder);
    return op_wait(GONE);
}

static struct op_next logs_gone(struct op *op)
{
    struct logs *l = logs_of(op);
    if (l->req.busy)
        return op_wait(GONE);
    if (l->req.err != OK)
        return op_end(op, l->req.err);
    log_note(l->store->io, LOG_INFO, "commitlog_folder_removed", "path=%s", l->folder);
    return op_goto(FOLDER);
}

static struct op_next logs_settle(struct op *op)
{
    struct logs *l = logs_of(op);
    return l->req.busy ? op_wait(SETTLE) : op_end(op, l->req.err);
}

static const struct op_state states[] = {
    [BEGIN] = { "logs begin", logs_begin, TO(LIST) },
    [LIST] = { "logs list", logs_list, TO(FOLDER) },
    [FOLDER] = { "logs folder", logs_folder, TO(ASIDE_SYNC) | TO(ASIDE_DURABLE) | TO(SETTLE) },
    [ASIDE_SYNC] = { "logs aside sync", logs_aside_sync, TO(ASIDE_DURABLE) },
    [ASIDE_DURABLE] = { "logs aside durable", logs_aside_durable, TO(NAMES) },
    [NAMES] = { "logs names", logs_names, TO(FILE_GONE) },
    [FILE_GONE] = { "logs file gone", logs_file_gone, TO(GONE) },
    [GONE] = { "logs gone", logs_gone, TO(FOLDER) },
    [SETTLE] = { "logs settle", logs_settle, 0 },
};

static void logs_release(struct op *op)
{
    struct logs *l = logs_of(op);
    struct store *s = l->store;
    struct io_req *done = l->done;
    enum err err = op->err;
    arena_deinit(&l->arena);
    mem_free(l);
    s->erasures--;
    io_req_end(done, err);
    store_left(s);
}

void store_remove_logs(struct store *s, struct io_req *req, struct op *op)
{
    struct logs *l = mem_zalloc(sizeof *l);
    ensure(!s->closing && io_self(s->io) == 0);
    l->store = s, l->done = req;
    s->erasures++;
    io_req_begin(req, op);
    op_start(&l->op, io_ops(s->io), op, states, logs_release);
}
