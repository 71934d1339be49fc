/* owner.c - whose is which block of the heap: so that a killed node leaves nothing behind.
 *
 * While a node's code runs, each block that it takes is noted here under the node; a block that is
 * freed is struck out, whoever frees it.  At a kill the rest is freed at once.  The simulator's own
 * blocks, and those of the test and its clients, belong to nobody and are not noted.
 *
 * The table is open-addressed by address.  Addresses decide only where a block stands in it, never
 * what happens: invariant 4 of impl.h.
 *
 * It is one a thread, because the heap is; worlds of one thread share it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/sim/impl.h"

struct block {
    void *at; /* NULL: a free slot */
    struct sim_node *owner;
};
struct table {
    struct block *slots;
    size_t count, room;
};

static _Thread_local struct table blocks;
static _Thread_local struct sim_node *current;
static _Thread_local unsigned worlds;

static size_t slot_of(const struct table *t, const void *at)
{
    uint64_t x = (uint64_t)(uintptr_t)at >> 4;
    return (size_t)((x * 0x9e3779b97f4a7c15u) >> 20) & (t->room - 1);
}

/* The slot that holds `at`, or the free one where it belongs. */
static size_t table_find(const struct table *t, const void *at)
{
    size_t i = slot_of(t, at);
    while (t->slots[i].at && t->slots[i].at != at)
        i = (i + 1) & (t->room - 1);
    return i;
}

static void table_put(struct table *t, struct block b)
{
    size_t i = table_find(t, b.at);
    ensure(!t->slots[i].at);
    t->slots[i] = b;
    t->count++;
}

static void table_resize(struct table *t, size_t room)
{
    struct table next = { .slots = sim_zalloc(room * sizeof *next.slots), .room = room };
    for (size_t i = 0; i < t->room; i++)
        if (t->slots[i].at)
            table_put(&next, t->slots[i]);
    mem_free(t->slots);
    *t = next;
}

static void table_remove(struct table *t, size_t hole)
{
    size_t mask = t->room - 1;
    t->slots[hole].at = NULL;
    t->count--;
    for (size_t i = (hole + 1) & mask; t->slots[i].at; i = (i + 1) & mask) {
        size_t home = slot_of(t, t->slots[i].at);
        if (((i - home) & mask) < ((i - hole) & mask))
            continue; /* it stands between its home and the hole's successor: fine there */
        t->slots[hole] = t->slots[i];
        t->slots[i].at = NULL;
        hole = i;
    }
}

static void owner_taken(void *block)
{
    struct sim_node *owner = current;
    if (!owner)
        return;
    if (4 * (blocks.count + 1) > 3 * blocks.room)
        table_resize(&blocks, blocks.room ? 2 * blocks.room : 1024);
    table_put(&blocks, (struct block){ block, owner });
    owner->blocks_count++;
    owner->blocks_taken++;
}

static void owner_freed(void *block)
{
    if (blocks.count == 0)
        return;
    size_t i = table_find(&blocks, block);
    if (!blocks.slots[i].at)
        return;
    blocks.slots[i].owner->blocks_count--;
    table_remove(&blocks, i);
}

static const struct mem_watch owner_watch = { owner_taken, owner_freed };

void sim_owner_begin(void)
{
    if (worlds++ == 0)
        mem_watch(&owner_watch);
}

void sim_owner_end(void)
{
    if (--worlds > 0)
        return;
    mem_watch(NULL);
    ensure(blocks.count == 0);
    mem_free(blocks.slots);
    blocks = (struct table){ 0 };
}

struct sim_node *sim_owner_set(struct sim_node *next)
{
    struct sim_node *before = current;
    current = next;
    return before;
}

void *sim_zalloc(size_t size)
{
    struct sim_node *before = sim_owner_set(NULL);
    void *block = mem_zalloc(size);
    sim_owner_set(before);
    return block;
}

void sim_owner_free_all(struct sim_node *node)
{
    struct table old = blocks;
    if (node->blocks_count == 0)
        return;
    blocks = (struct table){ .slots = sim_zalloc(old.room * sizeof *old.slots), .room = old.room };
    for (size_t i = 0; i < old.room; i++) {
        if (old.slots[i].at && old.slots[i].owner == node)
            mem_free(old.slots[i].at);
        else if (old.slots[i].at)
            table_put(&blocks, old.slots[i]);
    }
    mem_free(old.slots);
    node->blocks_count = 0;
}
