/* folder.c - see folder.h.
 *
 *     make ──> keyspace ──> data ──> ended      folder_make; then the sync of each folder above
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/folder.h"

#include "base/mem.h"

enum { MAKE, KEYSPACE, DATA, MADE };
enum { ID_DIGITS = 32 };

struct making {
    struct op op;
    struct io *io;
    struct io_req *done;
    struct io_req req;
    struct arena arena;
    const char *data, *keyspace, *folder;
};

/* ---- names ---- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool folder_name_parse(const char *name, struct uuid *table)
{
    size_t n = strlen(name);
    if (n < ID_DIGITS + 2 || name[n - ID_DIGITS - 1] != '-')
        return false;
    const char *id = name + n - ID_DIGITS;
    for (size_t i = 0; i < sizeof table->b; i++) {
        int high = digit_of(id[2 * i]), low = digit_of(id[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        table->b[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

char *folder_path(struct arena *arena, const char *data_folder, const struct table *t)
{
    char id[ID_DIGITS + 1];
    for (size_t i = 0; i < sizeof t->id.b; i++)
        snprintf(id + 2 * i, 3, "%02x", t->id.b[i]);
    return arena_printf(arena, "%s/%s/%s-%s", data_folder, t->keyspace, t->name, id);
}

char *folder_above(struct arena *arena, const char *path)
{
    char *text = arena_text(arena, bytes_text(path));
    char *slash = strrchr(text, '/');
    ensure(slash && slash != text);
    *slash = 0;
    return text;
}

/* ---- making one ---- */

static struct making *making_of(struct op *op) { return owner_of(op, struct making, op); }

static struct op_next making_make(struct op *op)
{
    struct making *m = making_of(op);
    io_mkdir(m->io, &m->req, op, m->folder);
    return op_wait(KEYSPACE);
}

static struct op_next making_keyspace(struct op *op)
{
    struct making *m = making_of(op);
    if (m->req.busy)
        return op_wait(KEYSPACE);
    if (m->req.err != OK)
        return op_end(op, m->req.err);
    io_sync_dir(m->io, &m->req, op, m->keyspace);
    return op_wait(DATA);
}

static struct op_next making_data(struct op *op)
{
    struct making *m = making_of(op);
    if (m->req.busy)
        return op_wait(DATA);
    if (m->req.err != OK)
        return op_end(op, m->req.err);
    io_sync_dir(m->io, &m->req, op, m->data);
    return op_wait(MADE);
}

static struct op_next making_made(struct op *op)
{
    struct making *m = making_of(op);
    return m->req.busy ? op_wait(MADE) : op_end(op, m->req.err);
}

static const struct op_state states[] = {
    [MAKE] = { "folder make", making_make, TO(KEYSPACE) },
    [KEYSPACE] = { "folder keyspace", making_keyspace, TO(DATA) },
    [DATA] = { "folder data", making_data, TO(MADE) },
    [MADE] = { "folder made", making_made, 0 },
};

static void making_release(struct op *op)
{
    struct making *m = making_of(op);
    struct io_req *done = m->done;
    enum err err = op->err;
    arena_deinit(&m->arena);
    mem_free(m);
    io_req_end(done, err);
}

void folder_make(struct io *io, struct io_req *req, struct op *op, const char *data_folder,
                 const char *folder)
{
    struct making *m = mem_zalloc(sizeof *m);
    m->io = io, m->done = req;
    m->data = arena_text(&m->arena, bytes_text(data_folder));
    m->folder = arena_text(&m->arena, bytes_text(folder));
    m->keyspace = folder_above(&m->arena, folder);
    io_req_begin(req, op);
    op_start(&m->op, io_ops(io), op, states, making_release);
}
