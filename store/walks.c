/* walks.c - a pool of walks, so that a warm read takes nothing from the heap.
 *
 * A walk that has met a very wide row gives its memory back instead of keeping it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/walks.h"

#include "base/mem.h"

enum { IDLE_MAX = 32, KEEP_BYTES = 64 * 1024 };

struct file_walk *walk_take(struct sstable *s)
{
    struct sstables *all = s->all;
    struct file_walk *w;
    if (list_empty(&all->idle_walks)) {
        w = mem_alloc(sizeof *w);
        file_walk_init(w, s);
    } else {
        w = owner_of(all->idle_walks.next, struct file_walk, link);
        list_remove(&w->link);
        all->idle_walks_count--;
        file_walk_reuse(w, s);
    }
    sstable_ref(s);
    return w;
}

static size_t walk_bytes(const struct file_walk *w)
{
    return w->index.spill.room + w->data.spill.room + w->items.room + w->arena.used_bytes +
           w->block_arena.used_bytes;
}

void walk_give(struct file_walk **walk)
{
    struct file_walk *w = *walk;
    struct sstable *s = w->sstable;
    struct sstables *all = s->all;
    *walk = NULL;
    file_walk_rest(w);
    if (all->idle_walks_count == IDLE_MAX || walk_bytes(w) > KEEP_BYTES) {
        file_walk_deinit(w);
        mem_free(w);
    } else {
        list_add(&all->idle_walks, &w->link);
        all->idle_walks_count++;
    }
    sstable_unref(&s);
}

void walks_free(struct sstables *all)
{
    list_each(l, &all->idle_walks)
    {
        struct file_walk *w = owner_of(l, struct file_walk, link);
        file_walk_deinit(w);
        mem_free(w);
    }
    list_init(&all->idle_walks);
    all->idle_walks_count = 0;
}
