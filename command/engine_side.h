/* engine_side.h - one side of `rondo bench engine`: a program beside this one that obeys orders
 * (tests/bench/engine.h). */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

#include <stdio.h>
#include <sys/types.h>

struct engine_plan {
    const char *folder; /* each side works in a folder of its own below it */
    uint64_t rows, value_bytes, memtable_bytes, cache_bytes, chunk_bytes;
    int cpu; /* the processor that both take turns on */
};
struct engine_side {
    const char *name;
    char folder[512];
    pid_t pid; /* 0: it does not run */
    FILE *orders, *answers;
};
/* What obeying took. */
struct engine_cost {
    uint64_t count, wall_ns, cpu_ns, heap_calls, disk_bytes;
};

/* Is the program there? */
bool engine_side_is_there(const char *name);
/* False when the reason has been told; engine_side_stop is right in both cases. */
bool engine_side_start(struct engine_side *, const char *name, const struct engine_plan *);
/* Waits for it to have obeyed; adds to *cost.  False when the reason has been told. */
bool engine_side_order(struct engine_side *, const char *order, struct engine_cost *cost);
/* Ends it and removes its folder. */
void engine_side_stop(struct engine_side *);
