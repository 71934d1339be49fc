/* file.c - io.h's files: what a shard asks of its node's disk.
 *
 * Each request takes a drawn time and may fail by chance, or because the test said which one
 * (sim_fail_disk).  A change is seen by reads from the moment it is asked for, or, a write in two
 * of its cases, only when it completes; either way it counts as un-synced from then on, and it is
 * covered by a sync that begins after its completion.  A write under way when its node dies may
 * have reached the disk.
 *
 * A failed write has written some prefix; a failed sync forgets what it should have stored.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

struct io_file {
    struct list link; /* the node's files */
    struct inode *inode;
    bool is_append, is_writable, has_lock;
    unsigned busy; /* requests under way */
};

/* ---- every request ---- */

static enum err draw_error(struct io *io)
{
    struct sim_disk *d = &io->node->disk;
    uint64_t call = ++d->calls;
    if (d->fail_count && call >= d->fail_from && call - d->fail_from < d->fail_count)
        return d->fail_err;
    return sim_below(io->sim, 10000) < io->sim->faults.disk_error_pct ? ERR_IO : OK;
}

struct event *sim_disk_request(struct io *io, struct io_req *req, struct op *op)
{
    uint64_t ns = sim_latency(io->sim, io->sim->faults.disk_ns_max);
    struct event *e = sim_event_request(io, req, op, ns);
    e->err = draw_error(io);
    return e;
}

static struct event *file_request(struct io *io, struct io_req *req, struct op *op,
                                  struct io_file *f)
{
    struct event *e = sim_disk_request(io, req, op);
    e->object = f;
    f->busy++;
    return e;
}

void sim_disk_change_done(struct event *e)
{
    if (e->change)
        e->change->done = ++e->io->node->disk.seq;
}

/* ---- open, close ---- */

static struct io_file *handle_new(struct io *io, struct inode *i)
{
    struct io_file *f = sim_zalloc(sizeof *f);
    f->inode = i;
    inode_ref(i);
    list_add(&io->node->files, &f->link);
    io->node->handles++;
    return f;
}

static void handle_free(struct sim_node *n, struct io_file *f)
{
    if (f->has_lock)
        f->inode->is_locked = false;
    inode_unref(f->inode);
    list_remove(&f->link);
    mem_free(f);
    n->handles--;
}

void sim_file_close_all(struct sim_node *n)
{
    list_each(l, &n->files) handle_free(n, owner_of(l, struct io_file, link));
}

static enum err open_place(struct place *p, enum io_open_how how, bool *is_new)
{
    *is_new = false;
    if (p->inode && p->inode->is_folder)
        return ERR_INVALID;
    if (p->inode)
        return how == IO_CREATE ? ERR_EXISTS : OK;
    if (!p->folder || how == IO_READ)
        return ERR_NOT_FOUND;
    *is_new = true;
    return OK;
}

static void open_done(struct event *e)
{
    struct io_file **out = e->out;
    sim_disk_change_done(e);
    if (e->err == OK)
        *out = e->object;
}

static struct event *open_begin(struct io *io, struct io_req *req, struct op *op, const char *path,
                                enum io_open_how how)
{
    struct event *e = sim_disk_request(io, req, op);
    struct place p = sim_place_of(&io->node->disk, path);
    bool is_new = false;
    e->fire = open_done;
    if (e->err == OK)
        e->err = open_place(&p, how, &is_new);
    if (e->err != OK)
        return e;
    if (is_new)
        e->change = sim_place_add(&p, inode_new(&io->node->disk, false));
    struct io_file *f = handle_new(io, p.inode);
    f->is_append = how == IO_APPEND;
    f->is_writable = how != IO_READ;
    e->object = f;
    return e;
}

void io_open(struct io *io, struct io_req *req, struct op *op, const char *path,
             enum io_open_how how, struct io_file **out)
{
    open_begin(io, req, op, path, how)->out = out;
}

void io_lock(struct io *io, struct io_req *req, struct op *op, const char *path,
             struct io_file **out)
{
    struct event *e = open_begin(io, req, op, path, IO_UPDATE);
    e->out = out;
    if (e->err != OK)
        return;
    struct io_file *f = e->object;
    if (f->inode->is_locked) {
        handle_free(io->node, f);
        e->err = ERR_EXISTS;
        return;
    }
    f->has_lock = f->inode->is_locked = true;
}

static void close_done(struct event *e) { handle_free(e->io->node, e->object); }

void io_close(struct io *io, struct io_req *req, struct op *op, struct io_file **taken)
{
    struct io_file *f = *taken;
    ensure(f && f->busy == 0);
    *taken = NULL;
    struct event *e = sim_disk_request(io, req, op);
    e->object = f;
    e->fire = close_done;
}

/* ---- read, write ---- */

static size_t readable(const struct io_file *f, size_t n, uint64_t offset)
{
    uint64_t size = f->inode->now.size;
    return offset < size ? (size_t)u64_min(n, size - offset) : 0;
}

static void read_done(struct event *e)
{
    struct io_file *f = e->object;
    f->busy--;
    if (e->err != OK)
        return;
    e->size = readable(f, (size_t)e->n, e->offset);
    if (e->size)
        pages_read(&f->inode->now, e->out, e->size, e->offset);
    e->io->counts.read_bytes += e->size;
}

void io_read(struct io *io, struct io_req *req, struct op *op, struct io_file *f, void *to,
             size_t n, uint64_t offset)
{
    struct event *e = file_request(io, req, op, f);
    io->counts.reads++;
    e->out = to;
    e->n = n;
    e->offset = offset;
    e->fire = read_done;
}

enum err io_read_now(struct io *io, struct io_file *f, void *to, size_t n, uint64_t offset,
                     size_t *got)
{
    if (sim_below(io->sim, 100) < io->sim->faults.would_wait_pct)
        return ERR_WOULD_WAIT;
    enum err err = draw_error(io);
    if (err != OK)
        return err;
    *got = readable(f, n, offset);
    if (*got)
        pages_read(&f->inode->now, to, *got, offset);
    io->counts.reads++;
    io->counts.read_bytes += *got;
    return OK;
}

static bool has_room(struct io *io, const struct io_file *f, uint64_t end)
{
    const struct sim_disk *d = &io->node->disk;
    uint64_t size = f->inode->now.size;
    return end <= size ||
           (d->used_bytes <= d->size_bytes && end - size <= d->size_bytes - d->used_bytes);
}

static void write_now(struct event *e)
{
    struct io_file *f = e->object;
    struct sim *s = e->io->sim;
    sim_mix(s, e->offset);
    sim_mix_bytes(s, bytes_of(e->from, (size_t)e->n));
    if (e->n)
        e->change = inode_write(f->inode, e->from, (size_t)e->n, e->offset);
}

static void write_done(struct event *e)
{
    struct io_file *f = e->object;
    sim_disk_change_done(e);
    f->busy--;
}

static void write_late(struct event *e)
{
    write_now(e);
    write_done(e);
}

void io_write(struct io *io, struct io_req *req, struct op *op, struct io_file *f, const void *from,
              size_t n, uint64_t offset)
{
    struct event *e = file_request(io, req, op, f);
    ensure(f->is_writable);
    io->counts.writes++;
    io->counts.write_bytes += n;
    e->from = from;
    e->n = n;
    e->offset = f->is_append ? f->inode->now.size : offset;
    e->size = e->err == OK ? n : 0;
    if (e->err != OK)
        e->n = sim_below(io->sim, n + 1);
    if (!has_room(io, f, e->offset + e->n)) {
        e->err = ERR_NO_SPACE;
        e->n = e->size = 0;
    }
    bool is_late = sim_below(io->sim, 2) == 0 && !f->is_append;
    e->fire = is_late ? write_late : write_done;
    e->is_at_kill = is_late;
    if (!is_late)
        write_now(e);
}

/* ---- sync, size ---- */

static void sync_done(struct event *e)
{
    struct io_file *f = e->object;
    inode_sync(f->inode, e->n, e->err == OK);
    f->busy--;
}

void io_sync(struct io *io, struct io_req *req, struct op *op, struct io_file *f)
{
    struct event *e = file_request(io, req, op, f);
    io->counts.syncs++;
    e->n = io->node->disk.seq;
    e->fire = sync_done;
}

/* All lanes are alike here, and nothing is ever out of the cache: io_read_now refuses by chance. */
void io_lane(struct io_file *f, enum io_lane lane) { (void)f, (void)lane; }

static void drop_done(struct event *e) { ((struct io_file *)e->object)->busy--; }

void io_drop_cache(struct io *io, struct io_req *req, struct op *op, struct io_file *f)
{
    struct event *e = sim_event_request(io, req, op, 1); /* not a call of the disk: cannot fail */
    e->object = f;
    f->busy++;
    io->counts.cache_drops++;
    e->fire = drop_done;
}

static void resize(struct io *io, struct io_file *f, struct event *e, enum unsynced_kind kind)
{
    ensure(f->is_writable);
    e->fire = write_done;
    if (e->err == OK && !has_room(io, f, e->n))
        e->err = ERR_NO_SPACE;
    if (e->err == OK)
        e->change = inode_resize(f->inode, kind, e->n);
    sim_mix(io->sim, e->n);
}

void io_allocate(struct io *io, struct io_req *req, struct op *op, struct io_file *f,
                 uint64_t bytes)
{
    struct event *e = file_request(io, req, op, f);
    e->n = bytes;
    resize(io, f, e, UNSYNCED_GROW);
}

void io_truncate(struct io *io, struct io_req *req, struct op *op, struct io_file *f,
                 uint64_t bytes)
{
    struct event *e = file_request(io, req, op, f);
    e->n = bytes;
    resize(io, f, e, UNSYNCED_TRUNCATE);
}
