/* slab.c - reusable pieces of memory in size classes.
 *
 *     class   0 .. 7      8 .. 11             12 .. 15           ...   36 .. 39
 *     bytes   16 .. 128   160 192 224 256     320 384 448 512          20480 .. 32768
 *
 * Up to 128 bytes a class every 16, above it four per doubling, so at most a fifth of a piece is
 * lost.  A freed piece goes to the free list of its class.  What is left of a chunk when a piece
 * does not fit any more is cut into free pieces too.  A piece above the largest class is a chunk of
 * its own and goes back to the heap at once.
 *
 * Chunks have 64 KiB until the slab has taken 2 MiB, and four times as much from then on, whose
 * pages come at once.  So at most an eighth of a large slab waits to be cut.
 *
 * Invariants: 1. used_bytes <= taken_bytes.  2. Every piece is aligned to 16.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/slab.h"

#include "base/mem.h"

enum {
    PIECE_ALIGN = 16,
    FINE_BYTES = 128,
    FINE_CLASSES = FINE_BYTES / PIECE_ALIGN,
    CLASSED_BYTES = 32 * 1024,
    CHUNK_BYTES = 64 * 1024,
    LARGE_CHUNK_BYTES = 4 * MEM_PAGES_BYTES,
    LARGE_FROM_BYTES = 8 * LARGE_CHUNK_BYTES,
};

struct slab_free {
    struct slab_free *next;
};

struct slab_chunk {
    struct slab_chunk *next, *prev;
    size_t size; /* of data */
    _Alignas(PIECE_ALIGN) uint8_t data[];
};

void slab_init(struct slab *s) { *s = (struct slab){ 0 }; }

void slab_deinit(struct slab *s)
{
    while (s->chunks) {
        struct slab_chunk *chunk = s->chunks;
        s->chunks = chunk->next;
        mem_free(chunk);
    }
    slab_init(s);
}

static unsigned class_of(size_t size)
{
    if (size <= FINE_BYTES)
        return size ? (unsigned)((size - 1) / PIECE_ALIGN) : 0;
    unsigned power = 63 - (unsigned)__builtin_clzll(size - 1); /* 2^power < size <= 2^(power+1) */
    unsigned quarter = (unsigned)((size - 1) >> (power - 2)) & 3;
    return FINE_CLASSES + (power - 7) * 4 + quarter;
}

static size_t class_bytes(unsigned class)
{
    ensure(class < SLAB_CLASSES);
    if (class < FINE_CLASSES)
        return (size_t)(class + 1) * PIECE_ALIGN;
    unsigned power = 7 + (class - FINE_CLASSES) / 4;
    return (size_t)(5 + (class - FINE_CLASSES) % 4) << (power - 2);
}

size_t slab_piece_bytes(size_t size)
{
    if (size > CLASSED_BYTES)
        return (size + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
    return class_bytes(class_of(size));
}

/* `whole_bytes` of memory become a chunk. */
static struct slab_chunk *chunk_add(struct slab *s, void *memory, size_t whole_bytes)
{
    struct slab_chunk *chunk = memory;
    *chunk = (struct slab_chunk){ .next = s->chunks, .size = whole_bytes - sizeof *chunk };
    if (s->chunks)
        s->chunks->prev = chunk;
    s->chunks = chunk;
    s->taken_bytes += whole_bytes;
    return chunk;
}

static void chunk_remove(struct slab *s, struct slab_chunk *chunk)
{
    if (chunk->prev)
        chunk->prev->next = chunk->next;
    else
        s->chunks = chunk->next;
    if (chunk->next)
        chunk->next->prev = chunk->prev;
    s->taken_bytes -= sizeof *chunk + chunk->size;
    mem_free(chunk);
}

static void free_push(struct slab *s, unsigned class, void *memory)
{
    struct slab_free *piece = memory;
    piece->next = s->free[class];
    s->free[class] = piece;
}

/* Another chunk to carve pieces from. */
static void slab_extend(struct slab *s)
{
    bool is_large = s->taken_bytes >= LARGE_FROM_BYTES;
    size_t whole_bytes = is_large ? LARGE_CHUNK_BYTES : sizeof(struct slab_chunk) + CHUNK_BYTES;
    void *memory = is_large ? mem_alloc_pages(whole_bytes) : mem_alloc(whole_bytes);
    struct slab_chunk *chunk = chunk_add(s, memory, whole_bytes);
    s->at = chunk->data;
    s->end = chunk->data + chunk->size;
}

/* Cuts what is left of the current chunk into free pieces, largest first. */
static void slab_use_up(struct slab *s)
{
    while (s->at && s->end - s->at >= PIECE_ALIGN) {
        size_t left = (size_t)(s->end - s->at);
        unsigned class = class_of(u64_min(left, CLASSED_BYTES));
        if (class_bytes(class) > left)
            class --;
        free_push(s, class, s->at);
        s->at += class_bytes(class);
    }
}

void *slab_alloc(struct slab *s, size_t size)
{
    if (size > SIZE_MAX / 2)
        fail_memory(size);
    size_t bytes = slab_piece_bytes(size);
    s->used_bytes += bytes;
    if (bytes > CLASSED_BYTES) {
        size_t whole_bytes = sizeof(struct slab_chunk) + bytes;
        return chunk_add(s, mem_alloc(whole_bytes), whole_bytes)->data;
    }
    unsigned class = class_of(size);
    struct slab_free *piece = s->free[class];
    if (piece) {
        s->free[class] = piece->next;
        return piece;
    }
    if (!s->at || (size_t)(s->end - s->at) < bytes) {
        slab_use_up(s);
        slab_extend(s);
    }
    void *fresh = s->at;
    s->at += bytes;
    return fresh;
}

void slab_release(struct slab *s, void *piece, size_t size)
{
    ensure(piece);
    size_t bytes = slab_piece_bytes(size);
    ensure(s->used_bytes >= bytes);
    s->used_bytes -= bytes;
    if (bytes > CLASSED_BYTES)
        chunk_remove(s, owner_of(piece, struct slab_chunk, data));
    else
        free_push(s, class_of(size), piece);
}
