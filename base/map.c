/* map.c - a hash map from bytes to pointers: open addressing, linear probing.
 *
 * Invariants: 1. `room` is 0 or a power of two and at most 3/4 of it is taken, so every probe ends
 * at a free slot.  2. Between the home of an entry and the entry no slot is free; removal keeps
 * this by shifting back what follows.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/map.h"

#include "base/hash.h"
#include "base/mem.h"

enum { LEAST_ROOM = 16 };

void map_deinit(struct map *m)
{
    mem_free(m->slots);
    *m = (struct map){ 0 };
}

/* The slot of the key, or the free slot where it would go. */
static struct map_slot *map_probe(const struct map *m, struct bytes key, uint64_t hash)
{
    size_t mask = m->room - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct map_slot *slot = &m->slots[i];
        if (!slot->value || (slot->hash == hash && bytes_equal(slot->key, key)))
            return slot;
    }
}

static void map_grow(struct map *m)
{
    struct map old = *m;
    m->room = old.room ? old.room * 2 : LEAST_ROOM;
    m->slots = mem_zalloc(m->room * sizeof *m->slots);
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i].value)
            *map_probe(m, old.slots[i].key, old.slots[i].hash) = old.slots[i];
    mem_free(old.slots);
}

void *map_get(const struct map *m, struct bytes key)
{
    return m->count ? map_probe(m, key, hash_of(0, key))->value : NULL;
}

void map_put(struct map *m, struct bytes key, void *value)
{
    ensure(value);
    if ((m->count + 1) * 4 > m->room * 3)
        map_grow(m);
    uint64_t hash = hash_of(0, key);
    struct map_slot *slot = map_probe(m, key, hash);
    ensure(!slot->value);
    *slot = (struct map_slot){ key, value, hash };
    m->count++;
}

void *map_remove(struct map *m, struct bytes key)
{
    if (!m->count)
        return NULL;
    struct map_slot *slot = map_probe(m, key, hash_of(0, key));
    void *value = slot->value;
    if (!value)
        return NULL;
    size_t mask = m->room - 1, hole = (size_t)(slot - m->slots);
    for (size_t i = (hole + 1) & mask; m->slots[i].value; i = (i + 1) & mask) {
        size_t home = m->slots[i].hash & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue; /* its home lies behind the hole: it must stay */
        m->slots[hole] = m->slots[i];
        hole = i;
    }
    m->slots[hole] = (struct map_slot){ 0 };
    m->count--;
    return value;
}

void *map_next(const struct map *m, size_t *at)
{
    while (*at < m->room) {
        void *value = m->slots[(*at)++].value;
        if (value)
            return value;
    }
    return NULL;
}
