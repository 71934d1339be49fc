/* list.h - a ring of links inside what is linked.  A list never owns its members. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct list {
    struct list *next, *prev;
};

static inline void list_init(struct list *l) { l->next = l->prev = l; }
static inline bool list_empty(const struct list *l) { return l->next == l; }
/* Before l: at the end when l is the head. */
static inline void list_add(struct list *l, struct list *n)
{
    n->prev = l->prev, n->next = l;
    l->prev->next = n, l->prev = n;
}
/* A link that is in no list points at itself, so removing twice is harmless. */
static inline void list_remove(struct list *n)
{
    n->prev->next = n->next, n->next->prev = n->prev;
    list_init(n);
}
/* The body may remove l itself. */
#define list_each(l, head)                                                \
    for (struct list *l = (head)->next, *l##_next = l->next; l != (head); \
         l = l##_next, l##_next = l->next)
