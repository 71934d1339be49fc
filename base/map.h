/* map.h - a hash map from bytes to pointers.  Keys are borrowed: they live inside the values.
 *
 * Open addressing, linear probing, grows at 3/4; removal shifts back, so there are no tombstones.
 * Order of iteration is unspecified but the same for the same history.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct map_slot {
    struct bytes key;
    void *value; /* NULL: a free slot */
    uint64_t hash;
};
struct map {
    struct map_slot *slots;
    size_t count, room;
};

void map_deinit(struct map *);                       /* a zeroed struct map is an empty map */
void *map_get(const struct map *, struct bytes key); /* NULL when absent */
/* Puts a value under a key that must not be there yet; the key must live as long as the entry. */
void map_put(struct map *, struct bytes key, void *value);
void *map_remove(struct map *, struct bytes key); /* the value that was there, or NULL */
/* Visits all: start with *at = 0; NULL at the end.  The map must not change meanwhile. */
void *map_next(const struct map *, size_t *at);
