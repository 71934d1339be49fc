/* file.c - io.h's files: what a shard asks of its node's disk.
 *
 * Each request takes a drawn time and may fail by chance, or because the test said which one
 * (sim_fail_disk); where the power has failed (sim_kill_at), nothing happens any more.  A change is
 * seen by reads from the moment it is asked for, or, a write in two of its cases, only when it
 * completes; either way it counts as un-synced from then on, and it is covered by a sync that
 * begins after its completion.  A write under way when its node dies may have reached the disk.
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

bool sim_disk_is_off(const struct sim_disk *d) { return d->kill_at && d->changes >= d->kill_at; }

static bool may_fail_with(enum disk_call call, enum err err)
{
    if (err == ERR_FILES_LIMIT)
        return call & CALL_OPEN;
    return err != ERR_NO_SPACE || (call & CALL_CHANGE);
}

/* ERR_STOPPED: it never happens.  The change at which the power fails still does. */
static enum err draw_error(struct io *io, enum disk_call kind)
{
    struct sim_disk *d = &io->node->disk;
    if (sim_disk_is_off(d))
        return ERR_STOPPED;
    uint64_t call = ++d->calls;
    d->changes += (kind & CALL_CHANGE) != 0;
    bool is_told = d->fail_count && call >= d->fail_from && call - d->fail_from < d->fail_count;
    if (is_told && may_fail_with(kind, d->fail_err))
        return d->fail_err;
    return sim_below(io->sim, 10000) < io->sim->faults.disk_error_pct ? ERR_IO : OK;
}

static struct event *inode_request(struct io *io, struct io_req *req, struct op *op,
                                   const struct inode *i, enum disk_call kind)
{
    uint64_t ns = sim_latency(io->sim, io->sim->faults.disk_ns_max);
    struct event *e = sim_event_request(io, req, op, ns + (i ? i->slow_ns : 0));
    e->err = draw_error(io, kind);
    return e;
}

struct event *sim_disk_request(struct io *io, struct io_req *req, struct op *op,
                               enum disk_call kind)
{
    return inode_request(io, req, op, NULL, kind);
}

static struct event *file_request(struct io *io, struct io_req *req, struct op *op,
                                  struct io_file *f, enum disk_call kind)
{
    struct event *e = inode_request(io, req, op, f->inode, kind);
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
    struct place p = sim_place_of(&io->node->disk, path);
    bool is_new = false;
    enum err err = open_place(&p, how, &is_new);
    struct event *e = inode_request(io, req, op, p.inode, is_new ? CALL_CREATE : CALL_OPEN);
    e->fire = open_done;
    e->err = e->err == OK ? err : e->err;
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
    struct event *e = inode_request(io, req, op, f->inode, CALL_LOOK);
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
    struct event *e = file_request(io, req, op, f, CALL_LOOK);
    io->counts.reads++;
    e->out = to;
    e->n = n;
    e->offset = offset;
    e->fire = read_done;
}

enum err io_read_now(struct io *io, struct io_file *f, void *to, size_t n, uint64_t offset,
                     size_t *got)
{
    bool is_refused = sim_below(io->sim, 100) < io->sim->faults.would_wait_pct;
    if (is_refused || f->inode->slow_ns)
        return ERR_WOULD_WAIT;
    enum err err = draw_error(io, CALL_LOOK);
    if (err != OK)
        return err;
    *got = readable(f, n, offset);
    if (*got)
        pages_read(&f->inode->now, to, *got, offset);
    io->counts.reads++;
    io->counts.read_bytes += *got;
    return OK;
}

/* How large a file may become without more than the disk has. */
static uint64_t size_max(struct io *io, const struct io_file *f)
{
    const struct sim_disk *d = &io->node->disk;
    return f->inode->now.size + (d->size_bytes > d->used_bytes ? d->size_bytes - d->used_bytes : 0);
}

static void write_now(struct event *e)
{
    struct io_file *f = e->object;
    struct sim *s = e->io->sim;
    sim_mix(s, e->offset);
    sim_mix_bytes(s, bytes_of(e->from, (size_t)e->n));
    f->inode->modified_us = io_wall(e->io);
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

static struct event *write_begin(struct io *io, struct io_req *req, struct op *op,
                                 struct io_file *f, struct bytes from, uint64_t offset)
{
    size_t n = from.size;
    struct event *e = file_request(io, req, op, f, CALL_CHANGE);
    ensure(f->is_writable);
    io->counts.writes++;
    io->counts.write_bytes += n;
    e->from = from.data;
    e->n = n;
    e->offset = f->is_append ? f->inode->now.size : offset;
    uint64_t max = size_max(io, f), room = max > e->offset ? max - e->offset : 0;
    if (e->err == OK && n > room)
        e->err = ERR_NO_SPACE;
    e->size = e->err == OK ? n : 0;
    if (e->err != OK)
        e->n = sim_below(io->sim, u64_min(n, room) + 1);
    if (e->err == ERR_STOPPED)
        e->n = 0;
    bool is_late = sim_below(io->sim, 2) == 0 && !f->is_append;
    e->fire = is_late ? write_late : write_done;
    e->is_at_kill = is_late;
    if (!is_late)
        write_now(e);
    return e;
}

void io_write(struct io *io, struct io_req *req, struct op *op, struct io_file *f, const void *from,
              size_t n, uint64_t offset)
{
    write_begin(io, req, op, f, bytes_of(from, n), offset);
}

/* The write is done and the sync with it; or the write alone, when it failed or the power did. */
static void write_synced(struct event *e)
{
    struct io_file *f = e->object;
    bool is_written = e->size > 0 && e->err != ERR_STOPPED;
    if (e->is_at_kill)
        write_now(e);
    write_done(e);
    if (is_written)
        inode_sync(f->inode, f->inode->disk->seq, e->err == OK);
}

void io_write_sync(struct io *io, struct io_req *req, struct op *op, struct io_file *f,
                   const void *from, size_t n, uint64_t offset)
{
    ensure(n > 0);
    struct event *e = write_begin(io, req, op, f, bytes_of(from, n), offset);
    e->fire = write_synced;
    io->counts.syncs++;
    if (e->err == OK)
        e->err = draw_error(io, CALL_CHANGE);
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
    struct event *e = file_request(io, req, op, f, CALL_CHANGE);
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
    if (e->err == OK && e->n > size_max(io, f))
        e->err = ERR_NO_SPACE;
    if (e->err == OK)
        e->change = inode_resize(f->inode, kind, e->n);
    sim_mix(io->sim, e->n);
}

void io_allocate(struct io *io, struct io_req *req, struct op *op, struct io_file *f,
                 uint64_t bytes)
{
    struct event *e = file_request(io, req, op, f, CALL_CHANGE);
    e->n = bytes;
    resize(io, f, e, UNSYNCED_GROW);
}

void io_truncate(struct io *io, struct io_req *req, struct op *op, struct io_file *f,
                 uint64_t bytes)
{
    struct event *e = file_request(io, req, op, f, CALL_CHANGE);
    e->n = bytes;
    resize(io, f, e, UNSYNCED_TRUNCATE);
}
