/* folder.c - names: paths, the entries of folders, and what of them is durable.
 *
 * A folder has two sets of entries, as its files have two contents: names_now and names_kept.  Each
 * change of a name is an un-synced change of the disk until the folder that it touches is synced
 * (io_sync_dir).  A rename is one change: it survives whole or not at all.
 *
 * A sync of one folder makes durable the changes that touch it, and earlier ones only where they
 * touch a folder that such a change touches too, so that nothing is applied out of order and
 * nothing more is durable than was asked for.
 *
 * Paths are split at '/'; "." and empty names are skipped; ".." is not known.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

/* ---- entries ---- */

/* Where the name is, or would be. */
static size_t folder_find(const struct folder *f, const char *name)
{
    size_t low = 0, high = f->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(f->entries[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct folder *f, size_t i, const char *name)
{
    return i < f->count && strcmp(f->entries[i].name, name) == 0;
}

static char *name_copy(const char *name)
{
    size_t n = strlen(name) + 1;
    char *copy = sim_zalloc(n);
    memcpy(copy, name, n);
    return copy;
}

struct inode *sim_folder_get(const struct folder *f, const char *name)
{
    size_t i = folder_find(f, name);
    return is_at(f, i, name) ? f->entries[i].inode : NULL;
}

static void folder_grow(struct folder *f)
{
    size_t room = f->room ? 2 * f->room : 8;
    struct entry *grown = sim_zalloc(room * sizeof *grown);
    if (f->count)
        memcpy(grown, f->entries, f->count * sizeof *grown);
    mem_free(f->entries);
    f->entries = grown;
    f->room = room;
}

void sim_folder_set(struct folder *f, const char *name, struct inode *inode)
{
    size_t i = folder_find(f, name);
    inode_ref(inode);
    if (is_at(f, i, name)) {
        struct inode *former = f->entries[i].inode;
        f->entries[i].inode = inode;
        inode_unref(former);
        return;
    }
    if (f->count == f->room)
        folder_grow(f);
    memmove(&f->entries[i + 1], &f->entries[i], (f->count - i) * sizeof f->entries[0]);
    f->entries[i] = (struct entry){ name_copy(name), inode };
    f->count++;
}

void sim_folder_remove(struct folder *f, const char *name)
{
    size_t i = folder_find(f, name);
    ensure(is_at(f, i, name));
    struct entry gone = f->entries[i];
    f->count--;
    memmove(&f->entries[i], &f->entries[i + 1], (f->count - i) * sizeof f->entries[0]);
    mem_free(gone.name);
    inode_unref(gone.inode);
}

void sim_folder_deinit(struct folder *f)
{
    struct folder old = *f;
    *f = (struct folder){ 0 };
    for (size_t i = 0; i < old.count; i++) {
        mem_free(old.entries[i].name);
        inode_unref(old.entries[i].inode);
    }
    mem_free(old.entries);
}

void sim_folder_copy(struct folder *to, const struct folder *from)
{
    sim_folder_deinit(to);
    for (size_t i = 0; i < from->count; i++)
        sim_folder_set(to, from->entries[i].name, from->entries[i].inode);
}

/* ---- paths ---- */

/* The next name of a path into `name`; false at its end. */
bool sim_path_next(const char **path, char name[256])
{
    do {
        *path += strspn(*path, "/");
        size_t n = strcspn(*path, "/");
        ensure(n < 256);
        memcpy(name, *path, n);
        name[n] = 0;
        *path += n;
    } while (strcmp(name, ".") == 0);
    ensure(strcmp(name, "..") != 0);
    return name[0] != 0;
}

struct place sim_place_of(struct sim_disk *d, const char *path)
{
    struct place p = { .inode = d->root };
    char name[256];
    while (sim_path_next(&path, name)) {
        p.folder = p.inode && p.inode->is_folder ? p.inode : NULL;
        p.inode = p.folder ? sim_folder_get(&p.folder->names_now, name) : NULL;
        memcpy(p.name, name, sizeof name);
    }
    return p;
}

/* ---- changes ---- */

static void change_from(struct unsynced *u, const struct place *p)
{
    u->from = p->folder;
    inode_ref(u->from);
    u->from_name = name_copy(p->name);
}

static void change_to(struct unsynced *u, const struct place *p)
{
    u->to = p->folder;
    inode_ref(u->to);
    u->to_name = name_copy(p->name);
}

static struct unsynced *change_new(struct inode *i)
{
    struct unsynced *u = unsynced_new(i, UNSYNCED_NAME, 0);
    inode_ref(i);
    return u;
}

struct unsynced *sim_place_add(struct place *p, struct inode *i)
{
    ensure(p->folder);
    struct unsynced *u = change_new(i);
    change_to(u, p);
    sim_folder_set(&p->folder->names_now, p->name, i);
    p->inode = i;
    return u;
}

struct unsynced *sim_place_remove(struct place *p)
{
    ensure(p->folder && p->inode);
    struct unsynced *u = change_new(p->inode);
    change_from(u, p);
    sim_folder_remove(&p->folder->names_now, p->name);
    return u;
}

struct unsynced *sim_place_move(struct place *from, struct place *to)
{
    ensure(from->folder && from->inode && to->folder);
    struct unsynced *u = change_new(from->inode);
    change_from(u, from);
    change_to(u, to);
    sim_folder_set(&to->folder->names_now, to->name, from->inode);
    sim_folder_remove(&from->folder->names_now, from->name);
    return u;
}

/* Makes the folders of a path that are missing; the last change, or NULL when all were there. */
struct unsynced *sim_path_make(struct sim_disk *d, const char *path)
{
    struct place p = { .inode = d->root };
    struct unsynced *last = NULL;
    while (sim_path_next(&path, p.name)) {
        p.folder = p.inode;
        if (!p.folder->is_folder)
            return last;
        p.inode = sim_folder_get(&p.folder->names_now, p.name);
        if (p.inode)
            continue;
        if (last)
            last->done = ++d->seq;
        last = sim_place_add(&p, inode_new(d, true));
    }
    return last;
}

/* ---- making them durable ---- */

static bool is_touched(struct inode *const *folders, size_t count, const struct inode *f)
{
    for (size_t i = 0; f && i < count; i++)
        if (folders[i] == f)
            return true;
    return false;
}

/* The first change of names from l on.  Freeing one may free contents, never another of these. */
static struct list *name_from(struct sim_disk *d, struct list *l)
{
    while (l != &d->unsynced && owner_of(l, struct unsynced, of_disk)->kind != UNSYNCED_NAME)
        l = l->next;
    return l;
}

enum { TOUCHED_MAX = 16 };

void sim_folder_sync(struct inode *f, uint64_t upto)
{
    struct inode *folders[TOUCHED_MAX] = { f };
    struct sim_disk *d = f->disk;
    size_t count = 1;
    for (struct list *l = d->unsynced.prev; l != &d->unsynced; l = l->prev) {
        struct unsynced *u = owner_of(l, struct unsynced, of_disk);
        bool is_done = u->kind == UNSYNCED_NAME && u->done && u->done <= upto;
        bool touches_from = is_touched(folders, count, u->from);
        bool touches_to = is_touched(folders, count, u->to);
        u->is_chosen = is_done && (touches_from || touches_to);
        if (!u->is_chosen)
            continue;
        ensure(count + 2 <= TOUCHED_MAX);
        if (u->from && !touches_from)
            folders[count++] = u->from;
        if (u->to && !touches_to && u->to != u->from)
            folders[count++] = u->to;
    }
    inode_ref(f);
    struct list *l = name_from(d, d->unsynced.next);
    for (struct list *next; l != &d->unsynced; l = next) {
        struct unsynced *u = owner_of(l, struct unsynced, of_disk);
        next = name_from(d, l->next);
        if (!u->is_chosen)
            continue;
        unsynced_apply(u);
        unsynced_free(u);
    }
    inode_unref(f);
}
