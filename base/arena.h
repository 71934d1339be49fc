/* arena.h - memory that lives exactly as long as one owner (a request, a session, a plan).
 *
 * Nobody frees parts of it.  An arena keeps its first block across arena_reset, so a warm request
 * that fits in it allocates nothing from the heap.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first; the oldest one is kept by a reset */
    uint8_t *at, *end;          /* free room in the newest ordinary block */
    size_t block_bytes;         /* size of an ordinary block */
    size_t used_bytes;          /* handed out since the last reset, padding included */
};

/* Takes no memory until the first arena_alloc. A zeroed struct arena is an arena of 4 KiB blocks.
 */
void arena_init(struct arena *, size_t block_bytes);
/* Forgets everything handed out; keeps the oldest block. */
void arena_reset(struct arena *);
void arena_deinit(struct arena *);

/* Aligned to 16 bytes.  Never NULL; size 0 gives a pointer that must not be used. */
void *arena_alloc(struct arena *, size_t size);
void *arena_zalloc(struct arena *, size_t size);
/* Makes the piece of `size` bytes longer by `more` where it stands, if it is the newest one and its
 * block has the room; false, and nothing has changed, if not. */
bool arena_extend(struct arena *, void *piece, size_t size, size_t more);
/* A copy that lives in the arena; the text form ends with a zero (not counted in size). */
struct bytes arena_copy(struct arena *, struct bytes);
char *arena_text(struct arena *, struct bytes);
char *arena_printf(struct arena *, const char *format, ...) printf_like(2, 3);

#define arena_new(arena, type) ((type *)arena_zalloc((arena), sizeof(type)))
#define arena_array(arena, type, count) ((type *)arena_zalloc((arena), sizeof(type) * (count)))
