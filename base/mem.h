/* mem.h - the heap, counted.
 *
 * Allocation does not fail here: when the system has no memory, fail_memory() is called (base.h).
 * What may be refused is refused earlier, at the door, by budgets.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

void *mem_alloc(size_t size);  /* not zeroed; freed by mem_free */
void *mem_zalloc(size_t size); /* zeroed */
void *mem_resize(void *, size_t size);
void mem_free(void *); /* NULL is fine */
/* A large block for what will be written soon, its pages taken from the system at once: one by one,
 * as they are first written to, they cost twice as much.  `size` is a multiple of MEM_PAGES_BYTES;
 * not zeroed; freed by mem_free. */
enum { MEM_PAGES_BYTES = 64 * 1024 };
void *mem_alloc_pages(size_t size);

/* How often mem_alloc, mem_zalloc, mem_resize and mem_alloc_pages were called by this thread since
 * it started. Benchmarks divide its growth by requests. */
uint64_t mem_calls(void);

/* For the simulator, which frees what a killed node had taken: while a watch is set on this thread,
 * it is told of every block that is taken and of every block that is freed.  Returns the watch that
 * was set before; NULL takes it off. */
struct mem_watch {
    void (*taken)(void *block);
    void (*freed)(void *block);
};
const struct mem_watch *mem_watch(const struct mem_watch *);
