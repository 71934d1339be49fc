/* arena.c - memory that lives exactly as long as one owner.
 *
 *     blocks ──> newest ──> ... ──> oldest (ordinary size, survives a reset)
 *                 [ used | at ... end ]
 *
 * A piece that is large for a block gets a block of its own, which is put in front of the list
 * while `at` and `end` stay where they were, so the rest of the ordinary block is not lost.
 *
 * Invariants: 1. `at` is aligned to 16 or both `at` and `end` are NULL.  2. The oldest block has
 * the ordinary size, so what a reset keeps is bounded whatever the owner asked for.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include "base/mem.h"

#include <stdarg.h>

enum { PIECE_ALIGN = 16, DEFAULT_BLOCK_BYTES = 4096 };

struct arena_block {
    struct arena_block *older;
    size_t size; /* of data */
    _Alignas(PIECE_ALIGN) uint8_t data[];
};

void arena_init(struct arena *arena, size_t block_bytes)
{
    *arena = (struct arena){ .block_bytes = block_bytes };
}

static struct arena_block *block_add(struct arena *arena, size_t size)
{
    struct arena_block *block = mem_alloc(sizeof *block + size);
    block->older = arena->blocks;
    block->size = size;
    arena->blocks = block;
    return block;
}

static void block_open(struct arena *arena, struct arena_block *block)
{
    arena->at = block->data;
    arena->end = block->data + block->size;
}

/* The size of an ordinary block's data, so that block and header together are block_bytes. */
static size_t block_room(const struct arena *arena)
{
    size_t bytes = arena->block_bytes ? arena->block_bytes : DEFAULT_BLOCK_BYTES;
    bytes = u64_max(bytes, 4 * sizeof(struct arena_block));
    return (bytes - sizeof(struct arena_block)) / PIECE_ALIGN * PIECE_ALIGN;
}

static void blocks_drop(struct arena *arena, struct arena_block *keep)
{
    while (arena->blocks != keep) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->older;
        mem_free(block);
    }
}

void arena_reset(struct arena *arena)
{
    arena->used_bytes = 0;
    struct arena_block *oldest = arena->blocks;
    if (!oldest)
        return;
    while (oldest->older)
        oldest = oldest->older;
    blocks_drop(arena, oldest);
    block_open(arena, oldest);
}

void arena_deinit(struct arena *arena)
{
    blocks_drop(arena, NULL);
    arena_init(arena, arena->block_bytes);
}

static void *arena_alloc_slow(struct arena *arena, size_t size)
{
    size_t room = block_room(arena);
    if (!arena->blocks)
        block_open(arena, block_add(arena, room));
    if (size > room / 2 && size > (size_t)(arena->end - arena->at))
        return block_add(arena, size)->data;
    if (size > (size_t)(arena->end - arena->at))
        block_open(arena, block_add(arena, room));
    void *piece = arena->at;
    arena->at += size;
    return piece;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        fail_memory(size);
    size = (size + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
    arena->used_bytes += size;
    if (!arena->at || (size_t)(arena->end - arena->at) < size)
        return arena_alloc_slow(arena, size);
    void *piece = arena->at;
    arena->at += size;
    return piece;
}

bool arena_extend(struct arena *arena, void *piece, size_t size, size_t more)
{
    size_t rounded = (size + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
    if (!piece || (uint8_t *)piece + rounded != arena->at)
        return false;
    if (more > (size_t)(arena->end - arena->at))
        return false;
    size_t added = (size + more + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN - rounded;
    arena->at += added;
    arena->used_bytes += added;
    ensure(arena->at <= arena->end);
    return true;
}

void *arena_zalloc(struct arena *arena, size_t size)
{
    return memset(arena_alloc(arena, size), 0, size);
}

struct bytes arena_copy(struct arena *arena, struct bytes from)
{
    if (!from.size)
        return (struct bytes){ 0 };
    return bytes_of(memcpy(arena_alloc(arena, from.size), from.data, from.size), from.size);
}

char *arena_text(struct arena *arena, struct bytes from)
{
    char *text = arena_alloc(arena, from.size + 1);
    if (from.size)
        memcpy(text, from.data, from.size);
    text[from.size] = 0;
    return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int size = vsnprintf(NULL, 0, format, list);
    va_end(list);
    ensure(size >= 0);
    char *text = arena_alloc(arena, (size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    return text;
}
