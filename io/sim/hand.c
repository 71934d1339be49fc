/* hand.c - the test's own hand on a node's disk: what is to go wrong, and what its files hold.
 *
 * What the hand writes is durable at once; what it reads is what a read of the node would see.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

enum { PATH_DEPTH_MAX = 16 };

/* ---- what is to go wrong ---- */

void sim_fail_disk(struct sim *s, int node, uint64_t nth, uint64_t count, enum err err)
{
    struct sim_disk *d = &sim_place(s, node)->disk;
    d->fail_from = d->calls + nth;
    d->fail_count = nth ? count : 0;
    d->fail_err = err;
}

uint64_t sim_disk_calls(const struct sim *s, int node)
{
    return s->nodes[node] ? s->nodes[node]->disk.calls : 0;
}

void sim_kill_at(struct sim *s, int node, uint64_t nth, enum sim_image image,
                 void (*release)(void *context))
{
    struct sim_disk *d = &sim_place(s, node)->disk;
    d->kill_at = nth ? d->changes + nth : 0;
    d->kill_image = image;
    d->kill_release = release;
}

uint64_t sim_disk_changes(const struct sim *s, int node)
{
    return s->nodes[node] ? s->nodes[node]->disk.changes : 0;
}

void sim_slow_file(struct sim *s, int node, const char *path, uint64_t ns)
{
    struct inode *i = sim_place_of(&sim_place(s, node)->disk, path).inode;
    ensure(i);
    i->slow_ns = ns;
}

void sim_disk_size(struct sim *s, int node, uint64_t bytes)
{
    sim_place(s, node)->disk.size_bytes = bytes;
}

/* ---- what is there ---- */

struct bytes sim_file(struct sim *s, int node, const char *path)
{
    struct inode *i = sim_place_of(&sim_place(s, node)->disk, path).inode;
    if (!i || i->is_folder)
        return (struct bytes){ 0 };
    size_t n = (size_t)i->now.size;
    buf_clear(&s->scratch);
    pages_read(&i->now, buf_take(&s->scratch, n + 1), n, 0);
    return bytes_of(s->scratch.data, n);
}

/* The folders and the file of a path, durable. */
static struct inode *path_give(struct sim_disk *d, const char *path)
{
    struct inode *i = d->root;
    char name[256];
    while (sim_path_next(&path, name)) {
        bool is_last = path[strspn(path, "/")] == 0;
        struct inode *next = sim_folder_get(&i->names_now, name);
        if (!next)
            next = inode_new(d, !is_last);
        sim_folder_set(&i->names_now, name, next);
        sim_folder_set(&i->names_kept, name, next);
        i = next;
    }
    return i;
}

void sim_file_set(struct sim *s, int node, const char *path, size_t offset, struct bytes b)
{
    struct sim_disk *d = &sim_place(s, node)->disk;
    struct inode *i = path_give(d, path);
    ensure(!i->is_folder);
    d->used_bytes -= i->now.size;
    pages_write(&i->now, b.data, b.size, offset);
    pages_write(&i->kept, b.data, b.size, offset);
    d->used_bytes += i->now.size;
}

void sim_file_cut(struct sim *s, int node, const char *path, size_t size)
{
    struct sim_disk *d = &sim_place(s, node)->disk;
    struct inode *i = path_give(d, path);
    d->used_bytes -= i->now.size;
    pages_resize(&i->now, size);
    pages_resize(&i->kept, size);
    d->used_bytes += i->now.size;
}

void sim_file_flip(struct sim *s, int node, const char *path, uint64_t bit)
{
    struct bytes file = sim_file(s, node, path);
    size_t at = (size_t)(bit / 8);
    ensure(at < file.size);
    uint8_t flipped = file.data[at] ^ (uint8_t)(1u << bit % 8);
    sim_file_set(s, node, path, at, bytes_of(&flipped, 1));
}

struct visiting {
    void (*visit)(void *context, const char *path, uint64_t size_bytes);
    void *context;
    const struct folder *way[PATH_DEPTH_MAX];
    size_t at[PATH_DEPTH_MAX], ends[PATH_DEPTH_MAX]; /* the entry; where its folder's path ends */
    size_t depth;
    char path[PATH_DEPTH_MAX * 256];
};

static void visit_entry(struct visiting *v, const struct entry *e)
{
    size_t end = v->ends[v->depth];
    int n = snprintf(v->path + end, sizeof v->path - end, "/%s", e->name);
    if (!e->inode->is_folder) {
        v->visit(v->context, v->path, e->inode->now.size);
        return;
    }
    ensure(v->depth + 1 < PATH_DEPTH_MAX);
    v->depth++;
    v->way[v->depth] = &e->inode->names_now;
    v->at[v->depth] = 0;
    v->ends[v->depth] = end + (size_t)n;
}

void sim_files(struct sim *s, int node,
               void (*visit)(void *context, const char *path, uint64_t size_bytes), void *context)
{
    struct visiting v = { .visit = visit, .context = context };
    v.way[0] = &sim_place(s, node)->disk.root->names_now;
    while (v.depth > 0 || v.at[0] < v.way[0]->count) {
        const struct folder *f = v.way[v.depth];
        if (v.at[v.depth] < f->count)
            visit_entry(&v, &f->entries[v.at[v.depth]++]);
        else
            v.depth--;
    }
}
