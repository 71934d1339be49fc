/* mem.c - the heap, counted: the only file that asks the system for memory.
 *
 * Memory that cannot be had is answered by fail_memory, so no caller checks for NULL.  A size of 0
 * takes one byte, so that every pointer handed out is distinct and freeable.
 *
 * Where the system cannot give pages at once, or there are none left, the block is like any other.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"

#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

static _Thread_local uint64_t calls;
static _Thread_local const struct mem_watch *watch;

static void *had(void *memory, size_t size)
{
    calls++;
    if (!memory)
        fail_memory(size);
    if (watch)
        watch->taken(memory);
    return memory;
}

void *mem_alloc(size_t size) { return had(malloc(size ? size : 1), size); }

void *mem_zalloc(size_t size) { return had(calloc(1, size ? size : 1), size); }

void *mem_resize(void *memory, size_t size)
{
    if (watch && memory)
        watch->freed(memory);
    return had(realloc(memory, size ? size : 1), size);
}

void *mem_alloc_pages(size_t size)
{
    ensure(size > 0 && size % MEM_PAGES_BYTES == 0);
    void *memory = aligned_alloc(MEM_PAGES_BYTES, size);
#ifdef MADV_POPULATE_WRITE
    if (memory)
        (void)madvise(memory, size, MADV_POPULATE_WRITE);
#endif
    return had(memory, size);
}

void mem_free(void *memory)
{
    if (watch && memory)
        watch->freed(memory);
    free(memory);
}

const struct mem_watch *mem_watch(const struct mem_watch *next)
{
    const struct mem_watch *before = watch;
    watch = next;
    return before;
}

uint64_t mem_calls(void) { return calls; }
