/* cache_drop.c - what is kept of files in memory is let go: our chunks, and the system's pages.
 *
 *     next ──> dropped ──> next ... ──> ended
 *
 * The files are those of the views as they were at the beginning.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "store/inside.h"

enum { DROP_NEXT, DROP_DONE };

struct dropping {
    struct op op;
    struct store *store;
    struct io_req *done;
    struct io_req data, index;
    struct sstable **files; /* counted */
    size_t count, at;
};

static struct dropping *dropping_of(struct op *op) { return owner_of(op, struct dropping, op); }

static struct op_next dropping_next(struct op *op)
{
    struct dropping *d = dropping_of(op);
    while (d->at < d->count && !d->files[d->at]->data)
        d->at++; /* one that is set aside is not open */
    if (d->at == d->count || op->stop)
        return op_end(op, op->stop);
    struct sstable *file = d->files[d->at++];
    io_drop_cache(d->store->io, &d->data, op, file->data);
    if (file->index)
        io_drop_cache(d->store->io, &d->index, op, file->index);
    return op_wait(DROP_DONE);
}

static struct op_next dropping_done(struct op *op)
{
    const struct dropping *d = dropping_of(op);
    return d->data.busy || d->index.busy ? op_wait(DROP_DONE) : op_goto(DROP_NEXT);
}

static const struct op_state states[] = {
    [DROP_NEXT] = { "cache drop next", dropping_next, TO(DROP_DONE) },
    [DROP_DONE] = { "cache drop done", dropping_done, TO(DROP_NEXT) },
};

static void dropping_release(struct op *op)
{
    struct dropping *d = dropping_of(op);
    struct store *s = d->store;
    struct io_req *done = d->done;
    enum err err = op->err;
    for (size_t i = 0; i < d->count; i++)
        sstable_unref(&d->files[i]);
    mem_free(d->files);
    mem_free(d);
    s->erasures--;
    io_req_end(done, err);
    store_left(s);
}

void store_drop_cache(struct store *s, struct io_req *req, struct op *op)
{
    struct dropping *d = mem_zalloc(sizeof *d);
    size_t at = 0, room = 0;
    d->store = s, d->done = req;
    s->erasures++;
    cache_drop(s->sstables.cache);
    for (const struct table_data *t; (t = map_next(&s->tables, &at));)
        room += t->view->sstables_count;
    d->files = mem_alloc((room + 1) * sizeof(struct sstable *));
    at = 0;
    for (const struct table_data *t; (t = map_next(&s->tables, &at));)
        for (size_t i = 0; i < t->view->sstables_count; i++) {
            d->files[d->count++] = t->view->sstables[i];
            sstable_ref(t->view->sstables[i]);
        }
    io_req_begin(req, op);
    op_start(&d->op, io_ops(s->io), op, states, dropping_release);
}
