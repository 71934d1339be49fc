/* slab.h - reusable pieces of memory within a budget, in size classes.
 *
 * What a memtable is made of: rows are replaced all the time, so a replaced row's memory goes to
 * the free list of its class and the next row takes it.  Pieces are carved from chunks of 64 KiB,
 * in a large slab of 256 KiB (a larger piece is a chunk of its own).  Everything goes at once with
 * slab_deinit.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

enum { SLAB_CLASSES = 64 };

struct slab_free;
struct slab_chunk;
struct slab {
    struct slab_free *free[SLAB_CLASSES];
    struct slab_chunk *chunks;
    uint8_t *at, *end;
    size_t used_bytes;  /* in pieces that are handed out, rounded to their classes */
    size_t taken_bytes; /* from the heap: what a budget is compared with */
};

void slab_init(struct slab *);
void slab_deinit(struct slab *);
/* 16-byte aligned, not zeroed, never NULL. */
void *slab_alloc(struct slab *, size_t size);
/* `size` must be what it was allocated with. */
void slab_release(struct slab *, void *, size_t size);
/* The bytes a piece of `size` really takes: its class. */
size_t slab_piece_bytes(size_t size);
