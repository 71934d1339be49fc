/* heap.h - a binary heap of pointers, least first, ordered by a caller's function.
 *
 * Used where "what comes first" matters: events in time, sources in a merge.  Equal members come
 * out in an order that depends on history only, so a caller that needs determinism adds a sequence
 * number to its order.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct heap {
    void **items; /* heap memory of this heap; the items are not owned */
    size_t count, room;
    bool (*before)(const void *a, const void *b);
};

void heap_init(struct heap *, bool (*before)(const void *, const void *));
void heap_deinit(struct heap *);
void heap_push(struct heap *, void *);
void *heap_first(const struct heap *); /* NULL when empty */
void *heap_pop(struct heap *);         /* NULL when empty */
void heap_fix_first(struct heap *);    /* after the first one's order has changed */
