/* warm_allocates.c - a broken build: every request asks the heap for one byte.
 *
 * node/request.c is compiled again, with a reset of the request's memory that also takes and frees
 * a block.  sim_warm must turn red.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/mem.h"

static inline void mutant_reset(struct arena *arena)
{
    mem_free(mem_alloc(1));
    arena_reset(arena);
}
#define arena_reset mutant_reset
#include "node/request.c"
