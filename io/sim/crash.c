/* crash.c - what a crash leaves of a disk.
 *
 *     kept ── + a seeded part of what was un-synced ──> kept ──> now
 *
 * The part is one of four images: nothing; everything; the first so many changes, the last of them
 * torn at a byte; or any of the 512-byte sectors and of the changes of names, each by itself, with
 * one surviving sector in eight torn.  All files and folders of the disk share the image, because
 * they share the power.
 *
 * Files that nothing names any more are gone.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

enum { SECTOR = 512, TORN_ONE_IN = 8 };

/* Any of the sectors of a write. */
static void survive_sectors(struct sim *s, struct unsynced *u)
{
    struct pages *kept = &u->inode->kept;
    for (uint64_t at = u->offset, end = u->offset + u->size; at < end;) {
        uint64_t next = u64_min((at / SECTOR + 1) * SECTOR, end);
        size_t n = (size_t)(next - at);
        bool is_there = sim_below(s, 2) == 0;
        bool is_torn = sim_below(s, TORN_ONE_IN) == 0;
        if (is_torn)
            n = (size_t)sim_below(s, n);
        if (is_there)
            pages_write(kept, u->data + (at - u->offset), n, at);
        at = next;
    }
}

static void survive_any(struct sim *s, struct unsynced *u)
{
    if (u->kind == UNSYNCED_WRITE)
        survive_sectors(s, u);
    else if (sim_below(s, 2) == 0)
        unsynced_apply(u);
}

static void survive_torn(struct sim *s, struct unsynced *u)
{
    size_t n = (size_t)sim_below(s, u->size + 1);
    if (u->kind == UNSYNCED_WRITE)
        pages_write(&u->inode->kept, u->data, n, u->offset);
}

static void survivors(struct sim *s, struct sim_disk *d, enum sim_image image)
{
    uint64_t count = 0, at = 0;
    list_each(l, &d->unsynced) count++;
    uint64_t whole = sim_below(s, count + 1);
    for (; !list_empty(&d->unsynced); at++) {
        struct unsynced *u = owner_of(d->unsynced.next, struct unsynced, of_disk);
        if (image == SIM_IMAGE_ALL || (image == SIM_IMAGE_PREFIX && at < whole))
            unsynced_apply(u);
        else if (image == SIM_IMAGE_PREFIX && at == whole)
            survive_torn(s, u);
        else if (image == SIM_IMAGE_SECTORS)
            survive_any(s, u);
        unsynced_free(u);
    }
}

void sim_disk_crash(struct sim *s, struct sim_disk *d, enum sim_image image)
{
    uint64_t drawn = sim_below(s, 4);
    if (image == SIM_IMAGE_ANY)
        image = (enum sim_image)(SIM_IMAGE_NONE + (int)drawn);
    survivors(s, d, image);
    list_each(l, &d->inodes) inode_ref(owner_of(l, struct inode, of_disk));
    list_each(l, &d->inodes)
    {
        struct inode *i = owner_of(l, struct inode, of_disk);
        d->used_bytes += i->kept.size - i->now.size;
        pages_copy(&i->now, &i->kept);
        sim_folder_copy(&i->names_now, &i->names_kept);
        i->is_locked = false;
    }
    /* Now what is reachable has references of its own; what frees itself here is behind `l`. */
    list_each(l, &d->inodes) inode_unref(owner_of(l, struct inode, of_disk));
}

void sim_image(struct sim *s, int node, enum sim_image image)
{
    sim_place(s, node)->disk.image = image;
}
