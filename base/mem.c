/* mem.c - the heap, counted: the only file that asks the system for memory.
 *
 * Memory that cannot be had is answered by fail_memory, so no caller checks for NULL.  A size of 0
 * takes one byte, so that every pointer handed out is distinct and freeable.
 *
 * Huge pages are asked for block by block (madvise): a process that had all of its memory on them
 * would hold more than it uses.  Where the system has none, the block is one like any other.
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

void *mem_alloc_huge(size_t size)
{
    ensure(size > 0 && size % MEM_HUGE_BYTES == 0);
    void *memory = aligned_alloc(MEM_HUGE_BYTES, size);
#ifdef __linux__
    if (memory)
        (void)madvise(memory, size, MADV_HUGEPAGE);
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
