/* erase.c - shard 0's part of TRUNCATE and DROP: all files of a table go, by one swap.
 *
 *     begin ──> list ──> made ──> swap ──> ended                                     TRUNCATE
 *                 │    (a floor)   (it instead of the files) └──> end ──> ended: failed
 *                 └──> swap ──> folder ──> above ──> ended                           DROP
 *
 * Every shard holds the table meanwhile (hold.c), so no flush adds a file behind the listing.  All
 * that looks like a file of an SSTable goes, also those that no shard could open; Data.db goes
 * first, since it is what makes a file count.
 *
 * The snapshots of a dropped table stay, and with them its folder.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "store/folder.h"
#include "store/hold.h"
#include "store/swap.h"
#include "store/text_file.h"

enum { BEGIN, LIST, MADE, SWAP, FOLDER, ABOVE, END };

struct erasing {
    struct op op;
    struct store *store;
    struct io_req *done;
    struct io_req req;
    struct arena arena;
    struct uuid table;
    const char *folder, *fresh; /* paths: of the table; of the temporary floor */
    bool is_drop;
    struct floor floor;
    struct buf text;
    struct io_names names;
    struct swap swap;
    struct waiter waiter; /* until no other one works on the table */
    bool has_begun;
    enum err err;
};

static struct erasing *erasing_of(struct op *op) { return owner_of(op, struct erasing, op); }

/* One after the other on a table: each floor begins with the one before. */
static bool erasing_may_begin(struct erasing *x)
{
    struct table_data *d = store_data(x->store, &x->table);
    if (!d || x->is_drop)
        return true;
    if (d->is_erasing)
        return false;
    d->is_erasing = x->has_begun = true;
    for (size_t i = 0; i < d->floor.count; i++)
        floor_raise(&x->floor, &x->arena, d->floor.places[i]);
    return true;
}

static struct op_next erasing_begin(struct op *op)
{
    struct erasing *x = erasing_of(op);
    struct io *io = x->store->io;
    if (!x->is_drop && !store_data(x->store, &x->table))
        return op_end(op, ERR_NOT_FOUND); /* dropped meanwhile */
    if (!erasing_may_begin(x))
        return op_wait(BEGIN);
    if (x->is_drop)
        io_stat(io, &x->req, op, x->folder, arena_new(&x->arena, struct io_stat));
    else
        folder_make(io, &x->req, op, x->store->options.data_folder, x->folder);
    return op_wait(LIST);
}

static struct op_next erasing_list(struct op *op)
{
    struct erasing *x = erasing_of(op);
    if (x->req.busy)
        return op_wait(LIST);
    if (x->is_drop && x->req.err == ERR_NOT_FOUND)
        return op_end(op, OK);
    if (x->req.err != OK)
        return op_end(op, x->req.err);
    io_list(x->store->io, &x->req, op, x->folder, &x->arena, &x->names);
    return op_wait(MADE);
}

/* ---- what goes ---- */

static bool is_file_of_table(const char *name, bool *is_data)
{
    struct sstable_name parsed;
    enum sstable_component component;
    uint64_t generation;
    *is_data = false;
    if (floor_name_parse(name, &generation))
        return true;
    if (sstable_name_parse(name, &parsed, &component, NULL) != OK)
        return false;
    *is_data = component == COMPONENT_DATA;
    return true;
}

static void removes_take(struct erasing *x, bool wants_data)
{
    for (size_t i = 0; i < x->names.count; i++) {
        bool is_data;
        if (is_file_of_table(x->names.names[i], &is_data) && is_data == wants_data)
            x->swap.removes[x->swap.removes_count++] = x->names.names[i];
    }
}

static struct op_next erasing_made(struct op *op)
{
    struct erasing *x = erasing_of(op);
    struct store *s = x->store;
    if (x->req.busy)
        return op_wait(MADE);
    if (x->req.err != OK)
        return op_end(op, x->req.err);
    x->swap = (struct swap){ .folder = x->folder, .generation = store_generation(s) };
    x->swap.removes = arena_array(&x->arena, const char *, x->names.count);
    removes_take(x, true);
    removes_take(x, false);
    if (x->is_drop) {
        swap_start(s->io, &x->req, op, &x->swap);
        return op_wait(FOLDER);
    }
    x->swap.adds = arena_array(&x->arena, const char *, 1);
    x->swap.adds[0] = floor_name(&x->arena, x->swap.generation);
    x->swap.adds_count = 1;
    x->fresh = arena_printf(&x->arena, "%s/%s" TEMPORARY, x->folder, x->swap.adds[0]);
    floor_encode(&x->floor, &x->text);
    text_file_make(s->io, &x->req, op, x->fresh, buf_bytes(&x->text));
    return op_wait(SWAP);
}

static struct op_next erasing_swap(struct op *op)
{
    struct erasing *x = erasing_of(op);
    if (x->req.busy)
        return op_wait(SWAP);
    if (x->req.err != OK)
        return op_end(op, x->req.err);
    swap_start(x->store->io, &x->req, op, &x->swap);
    return op_wait(END);
}

/* ---- the folder of a dropped table ---- */

static struct op_next erasing_folder(struct op *op)
{
    struct erasing *x = erasing_of(op);
    if (x->req.busy)
        return op_wait(FOLDER);
    if (x->req.err != OK)
        return op_end(op, x->req.err);
    io_remove(x->store->io, &x->req, op, x->folder);
    return op_wait(ABOVE);
}

static struct op_next erasing_above(struct op *op)
{
    struct erasing *x = erasing_of(op);
    if (x->req.busy)
        return op_wait(ABOVE);
    if (x->req.err != OK) /* snapshots are in it, or the next start tries again */
        return op_end(op, OK);
    io_sync_dir(x->store->io, &x->req, op, folder_above(&x->arena, x->folder));
    return op_wait(END);
}

/* ---- ends ---- */

static struct op_next erasing_end(struct op *op)
{
    struct erasing *x = erasing_of(op);
    if (x->req.busy)
        return op_wait(END);
    if (x->err != OK || x->req.err == OK || x->is_drop)
        return op_end(op, x->err);
    if (x->req.err == ERR_STOPPED) /* the next start decides */
        return op_end(op, ERR_STOPPED);
    x->err = x->req.err;
    io_remove(x->store->io, &x->req, op, x->fresh);
    return op_wait(END);
}

static const struct op_state states[] = {
    [BEGIN] = { "erase begin", erasing_begin, TO(LIST) },
    [LIST] = { "erase list", erasing_list, TO(MADE) },
    [MADE] = { "erase made", erasing_made, TO(SWAP) | TO(FOLDER) },
    [SWAP] = { "erase swap", erasing_swap, TO(END) },
    [FOLDER] = { "erase folder", erasing_folder, TO(ABOVE) },
    [ABOVE] = { "erase above", erasing_above, TO(END) },
    [END] = { "erase end", erasing_end, TO(END) },
};

/* The next floor begins with this one. */
static void erasing_keep_floor(struct table_data *d, const struct erasing *x)
{
    buf_clear(&d->floors);
    data_raise_floor(d, &x->floor, x->swap.generation);
    d->is_folder_made = true;
}

static void erasing_release(struct op *op)
{
    struct erasing *x = erasing_of(op);
    struct store *s = x->store;
    struct io_req *done = x->done;
    enum err err = op->err;
    struct table_data *d = x->has_begun ? store_data(s, &x->table) : NULL;
    ensure(!x->req.busy);
    if (d && err == OK)
        erasing_keep_floor(d, x);
    if (d)
        d->is_erasing = false;
    list_remove(&x->waiter.link);
    store_stir(s);
    buf_deinit(&x->text);
    arena_deinit(&x->arena);
    mem_free(x);
    ensure(s->erasures > 0);
    s->erasures--;
    io_req_end(done, err);
    store_left(s);
}

static struct erasing *erasing_new(struct store *s, const struct uuid *table)
{
    struct erasing *x = mem_zalloc(sizeof *x);
    ensure(!s->closing);
    x->store = s;
    x->table = *table;
    x->waiter.op = &x->op;
    list_add(&s->waiters, &x->waiter.link);
    s->erasures++;
    return x;
}

static void erasing_start(struct erasing *x, struct io_req *req, struct op *op)
{
    x->done = req;
    io_req_begin(req, op);
    op_start(&x->op, io_ops(x->store->io), op, states, erasing_release);
}

void store_erase(struct store *s, struct io_req *req, struct op *op, const struct uuid *table,
                 struct store_held *const *held, size_t count)
{
    struct erasing *x = erasing_new(s, table);
    const struct table_data *d = store_data(s, table);
    ensure(!d || d->holds > 0);
    x->folder = d ? arena_text(&x->arena, bytes_text(d->folder)) : NULL;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < held[i]->floor.count; k++)
            floor_raise(&x->floor, &x->arena, held[i]->floor.places[k]);
    erasing_start(x, req, op);
}

void store_remove(struct store *s, struct io_req *req, struct op *op, const struct table *table)
{
    struct erasing *x = erasing_new(s, &table->id);
    x->is_drop = true;
    x->folder = folder_path(&x->arena, s->options.data_folder, table);
    erasing_start(x, req, op);
}
