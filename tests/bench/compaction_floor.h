/* compaction_floor.h - the floor of `rondo bench compaction`: chunks of four files unpacked,
 * compared by memcmp and packed again, by who knows no format; and the clocks of both sides.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stddef.h>

enum { FLOOR_FILES = 4 };
struct cost {
    double cpu_s, wall_s; /* the processor's time of all threads; the wall clock */
};
struct cost cost_now(void);
struct cost cost_since(struct cost begun);

struct floor;
/* Files nb-1 to nb-4 of the folder, LZ4; keys are about `stride` bytes apart.  It keeps them open,
 * so it can be run again when they are gone. */
struct floor *floor_open(const char *folder, size_t stride);
/* Adds half of what it took: it is run before and after. */
void floor_run(struct floor *, struct cost *);
void floor_close(struct floor **);
