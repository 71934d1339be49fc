/* adopt.c - a file that a swap has brought into a table's folder is opened and shown to reads.
 *
 *     adopt ──> adopted ──> ended
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "io/log.h"
#include "store/inside.h"

enum { ADOPT, ADOPTED };

struct adopting {
    struct op op;
    struct store *store;
    struct io_req *done;
    struct io_req req;
    struct uuid id;
    struct arena arena;
    struct sstable_open_options open;
    struct sstable *sstable;
    struct report *failed, said;
};

static struct adopting *adopting_of(struct op *op) { return owner_of(op, struct adopting, op); }

static struct op_next adopting_adopt(struct op *op)
{
    struct adopting *a = adopting_of(op);
    struct store *s = a->store;
    const struct table_data *d = store_data_for(s, &a->id);
    if (!d)
        return op_end(op, report_set(a->failed, ERR_NOT_FOUND, "the table has been dropped"));
    a->open.all = &s->sstables;
    a->open.folder = arena_text(&a->arena, bytes_text(d->folder));
    a->open.table = d->table;
    table_ref(a->open.table);
    sstable_open(s->io, &a->req, op, &a->open, &a->sstable, &a->said);
    return op_wait(ADOPTED);
}

static struct op_next adopting_adopted(struct op *op)
{
    struct adopting *a = adopting_of(op);
    if (a->req.busy)
        return op_wait(ADOPTED);
    struct table_data *d = store_data_for(a->store, &a->id);
    table_unref(&a->open.table);
    if (!a->sstable)
        return op_end(op, report_set(a->failed, a->req.err, "%s", a->said.text));
    if (a->req.err != OK)
        log_note(a->store->io, LOG_ERROR, "sstable_set_aside", "reason=\"%s\"", a->said.text);
    if (d) {
        d->is_folder_made = true;
        data_add(d, a->sstable);
        store_changed(a->store, &a->id, 0, 0);
    }
    sstable_unref(&a->sstable);
    return op_end(op, d ? OK : report_set(a->failed, ERR_NOT_FOUND, "the table has been dropped"));
}

static const struct op_state states[] = {
    [ADOPT] = { "adopt", adopting_adopt, TO(ADOPTED) },
    [ADOPTED] = { "adopted", adopting_adopted, TO(ADOPTED) },
};

static void adopting_release(struct op *op)
{
    struct adopting *a = adopting_of(op);
    struct store *s = a->store;
    struct io_req *done = a->done;
    enum err err = op->err;
    ensure(!a->req.busy && !a->sstable);
    arena_deinit(&a->arena);
    mem_free(a);
    s->erasures--;
    io_req_end(done, err);
    store_left(s);
}

void store_adopt(struct store *s, struct io_req *req, struct op *op, const struct uuid *table,
                 const struct sstable_name *name, struct report *failed)
{
    struct adopting *a = mem_zalloc(sizeof *a);
    a->store = s, a->done = req, a->id = *table, a->failed = failed;
    a->open.name = *name;
    s->erasures++;
    io_req_begin(req, op);
    op_start(&a->op, io_ops(s->io), op, states, adopting_release);
}
