/* tree.c - io.h's names: rename, link, remove, mkdir, list, stat, space.
 *
 * A change of a name is seen at once and completes later; it is durable once the folder has been
 * synced by a sync that began after that.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

/* ---- syncing a folder ---- */

static void sync_dir_done(struct event *e)
{
    struct inode *folder = e->object;
    if (!folder)
        return;
    if (e->err == OK)
        sim_folder_sync(folder, e->n);
    inode_unref(folder);
}

void io_sync_dir(struct io *io, struct io_req *req, struct op *op, const char *path)
{
    struct event *e = sim_disk_request(io, req, op, CALL_CREATE); /* opens, and changes */
    struct place p = sim_place_of(&io->node->disk, path);
    io->counts.syncs++;
    e->n = io->node->disk.seq;
    e->fire = sync_dir_done;
    if (e->err == OK && !(p.inode && p.inode->is_folder))
        e->err = ERR_NOT_FOUND;
    if (e->err != OK)
        return;
    inode_ref(p.inode);
    e->object = p.inode;
    e->is_at_kill = true;
}

/* ---- changing names ---- */

static struct event *name_request(struct io *io, struct io_req *req, struct op *op)
{
    struct event *e = sim_disk_request(io, req, op, CALL_CHANGE);
    e->fire = sim_disk_change_done;
    return e;
}

static void name_changed(struct event *e, struct unsynced *u)
{
    e->change = u;
    if (u && u->from_name)
        sim_mix_bytes(e->io->sim, bytes_text(u->from_name));
    if (u && u->to_name)
        sim_mix_bytes(e->io->sim, bytes_text(u->to_name));
}

void io_mkdir(struct io *io, struct io_req *req, struct op *op, const char *path)
{
    struct event *e = name_request(io, req, op);
    if (e->err != OK)
        return;
    name_changed(e, sim_path_make(&io->node->disk, path));
    struct place p = sim_place_of(&io->node->disk, path);
    if (!p.inode || !p.inode->is_folder)
        e->err = ERR_EXISTS; /* a file is in the way */
}

void io_remove(struct io *io, struct io_req *req, struct op *op, const char *path)
{
    struct event *e = name_request(io, req, op);
    struct place p = sim_place_of(&io->node->disk, path);
    if (e->err != OK)
        return;
    if (!p.folder || !p.inode)
        e->err = ERR_NOT_FOUND;
    else if (p.inode->names_now.count > 0)
        e->err = ERR_EXISTS;
    else
        name_changed(e, sim_place_remove(&p));
}

static enum err target_check(const struct place *from, const struct place *to, bool may_replace)
{
    if (!from->folder || !from->inode || !to->folder)
        return ERR_NOT_FOUND;
    if (to->inode && (!may_replace || to->inode->is_folder || from->inode->is_folder))
        return ERR_EXISTS;
    return OK;
}

void io_rename(struct io *io, struct io_req *req, struct op *op, const char *from, const char *to)
{
    struct event *e = name_request(io, req, op);
    struct place a = sim_place_of(&io->node->disk, from);
    struct place b = sim_place_of(&io->node->disk, to);
    if (e->err == OK)
        e->err = target_check(&a, &b, true);
    if (e->err == OK && a.inode != b.inode)
        name_changed(e, sim_place_move(&a, &b));
}

void io_link(struct io *io, struct io_req *req, struct op *op, const char *from, const char *to)
{
    struct event *e = name_request(io, req, op);
    struct place a = sim_place_of(&io->node->disk, from);
    struct place b = sim_place_of(&io->node->disk, to);
    if (e->err == OK)
        e->err = target_check(&a, &b, false);
    if (e->err == OK)
        name_changed(e, sim_place_add(&b, a.inode));
}

/* ---- looking ---- */

/* The place is looked up when the request completes: an answer is never older than that. */
static void look_begin(struct event *e, const char *path, void *out, void (*fire)(struct event *))
{
    e->from = path;
    e->out = out;
    e->fire = fire;
}

static struct inode *look(struct event *e, bool is_folder_only)
{
    struct place p = sim_place_of(&e->io->node->disk, e->from);
    bool is_found = p.inode && (p.inode->is_folder || !is_folder_only);
    if (e->err == OK && !is_found)
        e->err = ERR_NOT_FOUND;
    return e->err == OK ? p.inode : NULL;
}

static void list_done(struct event *e)
{
    struct inode *i = look(e, true);
    struct io_names *out = e->out;
    if (!i)
        return;
    const struct folder *f = &i->names_now;
    out->count = f->count;
    out->names = arena_array(e->object, char *, f->count);
    for (size_t k = 0; k < f->count; k++)
        out->names[k] = arena_text(e->object, bytes_text(f->entries[k].name));
}

void io_list(struct io *io, struct io_req *req, struct op *op, const char *path,
             struct arena *arena, struct io_names *out)
{
    struct event *e = sim_disk_request(io, req, op, CALL_OPEN);
    e->object = arena;
    look_begin(e, path, out, list_done);
}

static void stat_done(struct event *e)
{
    struct inode *i = look(e, false);
    struct io_stat *out = e->out;
    if (i)
        *out = (struct io_stat){ .size_bytes = i->now.size,
                                 .is_folder = i->is_folder,
                                 .modified_seconds = i->modified_us / 1000000 };
}

void io_stat(struct io *io, struct io_req *req, struct op *op, const char *path,
             struct io_stat *out)
{
    look_begin(sim_disk_request(io, req, op, CALL_LOOK), path, out, stat_done);
}

static void space_done(struct event *e)
{
    const struct sim_disk *d = &e->io->node->disk;
    uint64_t *out = e->out;
    if (look(e, false))
        *out = d->size_bytes > d->used_bytes ? d->size_bytes - d->used_bytes : 0;
}

void io_space(struct io *io, struct io_req *req, struct op *op, const char *path,
              uint64_t *out_bytes)
{
    look_begin(sim_disk_request(io, req, op, CALL_LOOK), path, out_bytes, space_done);
}
