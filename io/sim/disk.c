/* disk.c - what files hold: as a read sees it now, and as a crash would leave it.
 *
 *     inode:  now   = kept + all un-synced changes, in order
 *             kept  = what is durable
 *             unsynced: write, grow, truncate ... oldest first
 *
 * A sync makes durable what had completed when it began; a failed one forgets it, as a kernel does
 * that marks the pages clean: reads still see it, and no later sync will store it.
 *
 * Content is kept in pages of 4 KiB; a page that was never written is NULL and reads as zeros, so
 * an allocated file costs little.
 *
 * Names are in folder.c, what survives a crash in crash.c.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

enum { PAGE = 4096 };

/* ---- pages ---- */

static size_t page_count(uint64_t bytes) { return (size_t)((bytes + PAGE - 1) / PAGE); }

static uint8_t *page_have(struct pages *p, size_t i)
{
    if (i >= p->room) {
        size_t room = p->room ? p->room : 4;
        while (room <= i)
            room *= 2;
        uint8_t **grown = sim_zalloc(room * sizeof *grown);
        if (p->room)
            memcpy(grown, p->page, p->room * sizeof *grown);
        mem_free(p->page);
        p->page = grown;
        p->room = room;
    }
    if (!p->page[i])
        p->page[i] = sim_zalloc(PAGE);
    return p->page[i];
}

void pages_read(const struct pages *p, void *to, size_t n, uint64_t offset)
{
    uint8_t *at = to;
    ensure(offset <= p->size && n <= p->size - offset);
    while (n > 0) {
        size_t i = (size_t)(offset / PAGE), inside = (size_t)(offset % PAGE);
        size_t part = (size_t)u64_min(n, PAGE - inside);
        if (i < p->room && p->page[i])
            memcpy(at, p->page[i] + inside, part);
        else
            memset(at, 0, part);
        at += part, offset += part, n -= part;
    }
}

void pages_write(struct pages *p, const void *from, size_t n, uint64_t offset)
{
    const uint8_t *at = from;
    p->size = u64_max(p->size, n ? offset + n : 0);
    while (n > 0) {
        size_t inside = (size_t)(offset % PAGE);
        size_t part = (size_t)u64_min(n, PAGE - inside);
        memcpy(page_have(p, (size_t)(offset / PAGE)) + inside, at, part);
        at += part, offset += part, n -= part;
    }
}

void pages_resize(struct pages *p, uint64_t size)
{
    size_t keep = page_count(size);
    for (size_t i = keep; size < p->size && i < p->room; i++) {
        mem_free(p->page[i]);
        p->page[i] = NULL;
    }
    size_t inside = (size_t)(size % PAGE);
    if (size < p->size && inside && keep - 1 < p->room && p->page[keep - 1])
        memset(p->page[keep - 1] + inside, 0, PAGE - inside);
    p->size = size;
}

void pages_deinit(struct pages *p)
{
    pages_resize(p, 0);
    mem_free(p->page);
    *p = (struct pages){ 0 };
}

void pages_copy(struct pages *to, const struct pages *from)
{
    pages_deinit(to);
    for (size_t i = 0; i < from->room; i++)
        if (from->page[i])
            memcpy(page_have(to, i), from->page[i], PAGE);
    to->size = from->size;
}

/* ---- inodes ---- */

struct inode *inode_new(struct sim_disk *d, bool is_folder)
{
    struct inode *i = sim_zalloc(sizeof *i);
    i->disk = d;
    i->is_folder = is_folder;
    list_init(&i->unsynced);
    list_add(&d->inodes, &i->of_disk);
    return i;
}

void inode_ref(struct inode *i) { i->refs++; }

void inode_unref(struct inode *i)
{
    ensure(i->refs > 0);
    if (--i->refs > 0)
        return;
    i->disk->used_bytes -= i->now.size;
    list_each(l, &i->unsynced) unsynced_free(owner_of(l, struct unsynced, of_inode));
    list_remove(&i->of_disk);
    pages_deinit(&i->now);
    pages_deinit(&i->kept);
    sim_folder_deinit(&i->names_now);
    sim_folder_deinit(&i->names_kept);
    mem_free(i);
}

static void inode_size_changed(struct inode *i, uint64_t before)
{
    i->disk->used_bytes += i->now.size - before;
}

struct unsynced *inode_write(struct inode *i, const void *from, size_t n, uint64_t offset)
{
    uint64_t before = i->now.size;
    struct unsynced *u = unsynced_new(i, UNSYNCED_WRITE, n);
    u->offset = offset;
    memcpy(u->data, from, n);
    pages_write(&i->now, from, n, offset);
    inode_size_changed(i, before);
    return u;
}

struct unsynced *inode_resize(struct inode *i, enum unsynced_kind kind, uint64_t size)
{
    uint64_t before = i->now.size;
    struct unsynced *u = unsynced_new(i, kind, 0);
    u->size = size;
    if (kind == UNSYNCED_TRUNCATE || size > before)
        pages_resize(&i->now, size);
    inode_size_changed(i, before);
    return u;
}

void inode_sync(struct inode *i, uint64_t upto, bool is_good)
{
    list_each(l, &i->unsynced)
    {
        struct unsynced *u = owner_of(l, struct unsynced, of_inode);
        if (u->done == 0 || u->done > upto)
            continue;
        if (is_good)
            unsynced_apply(u);
        unsynced_free(u);
    }
}

/* ---- un-synced changes ---- */

/* A change of a file's content is in its inode's list too; one of names is not, for it belongs to
 * folders, and refers to the inode instead. */
struct unsynced *unsynced_new(struct inode *i, enum unsynced_kind kind, size_t data_size)
{
    struct unsynced *u = sim_zalloc(sizeof *u + data_size);
    u->kind = kind;
    u->inode = i;
    u->size = data_size;
    list_init(&u->of_inode);
    list_add(&i->disk->unsynced, &u->of_disk);
    if (kind != UNSYNCED_NAME)
        list_add(&i->unsynced, &u->of_inode);
    return u;
}

void unsynced_free(struct unsynced *u)
{
    list_remove(&u->of_disk);
    list_remove(&u->of_inode);
    mem_free(u->from_name);
    mem_free(u->to_name);
    struct inode *held[] = { u->from, u->to, u->kind == UNSYNCED_NAME ? u->inode : NULL };
    mem_free(u);
    for (size_t k = 0; k < array_count(held); k++)
        if (held[k])
            inode_unref(held[k]);
}

static void name_apply(struct unsynced *u)
{
    struct folder *from = u->from ? &u->from->names_kept : NULL;
    if (from && sim_folder_get(from, u->from_name) == u->inode)
        sim_folder_remove(from, u->from_name);
    if (u->to)
        sim_folder_set(&u->to->names_kept, u->to_name, u->inode);
}

void unsynced_apply(struct unsynced *u)
{
    struct pages *kept = &u->inode->kept;
    switch (u->kind) {
    case UNSYNCED_WRITE:
        pages_write(kept, u->data, (size_t)u->size, u->offset);
        break;
    case UNSYNCED_GROW:
        if (u->size > kept->size)
            pages_resize(kept, u->size);
        break;
    case UNSYNCED_TRUNCATE:
        pages_resize(kept, u->size);
        break;
    case UNSYNCED_NAME:
        name_apply(u);
        break;
    }
}

/* ---- the disk ---- */

void sim_disk_init(struct sim_disk *d)
{
    *d = (struct sim_disk){ .size_bytes = (uint64_t)1 << 40 };
    list_init(&d->inodes);
    list_init(&d->unsynced);
    d->root = inode_new(d, true);
    inode_ref(d->root);
}

void sim_disk_deinit(struct sim_disk *d)
{
    while (!list_empty(&d->unsynced))
        unsynced_free(owner_of(d->unsynced.next, struct unsynced, of_disk));
    inode_unref(d->root);
    ensure(list_empty(&d->inodes));
}
