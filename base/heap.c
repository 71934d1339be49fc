/* heap.c - a binary heap in an array: the children of i are 2i+1 and 2i+2.
 *
 * Invariant: no item comes before its parent.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/heap.h"

#include "base/mem.h"

enum { LEAST_ROOM = 16 };

void heap_init(struct heap *h, bool (*before)(const void *, const void *))
{
    ensure(before);
    *h = (struct heap){ .before = before };
}

void heap_deinit(struct heap *h)
{
    mem_free(h->items);
    heap_init(h, h->before);
}

static void heap_up(struct heap *h, size_t i, void *item)
{
    while (i > 0) {
        size_t parent = (i - 1) / 2;
        if (!h->before(item, h->items[parent]))
            break;
        h->items[i] = h->items[parent];
        i = parent;
    }
    h->items[i] = item;
}

static void heap_down(struct heap *h, size_t i, void *item)
{
    for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && h->before(h->items[child + 1], h->items[child]))
            child++;
        if (!h->before(h->items[child], item))
            break;
        h->items[i] = h->items[child];
    }
    h->items[i] = item;
}

void heap_push(struct heap *h, void *item)
{
    ensure(h->before && item);
    if (h->count == h->room) {
        h->room = h->room ? h->room * 2 : LEAST_ROOM;
        h->items = mem_resize(h->items, h->room * sizeof *h->items);
    }
    heap_up(h, h->count++, item);
}

void *heap_first(const struct heap *h) { return h->count ? h->items[0] : NULL; }

void *heap_pop(struct heap *h)
{
    if (!h->count)
        return NULL;
    void *first = h->items[0];
    void *last = h->items[--h->count];
    if (h->count)
        heap_down(h, 0, last);
    return first;
}

void heap_fix_first(struct heap *h)
{
    ensure(h->count > 0);
    heap_down(h, 0, h->items[0]);
}
