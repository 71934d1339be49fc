/* sweep_engine.h - one setting of a sweep on one shard's store, in the real world. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "command/sweep_row.h"

struct sweep_engine_options {
    const struct sweep *sweep;
    const struct sweep_setting *setting;
    const char *folder;   /* fresh; everything is below it */
    bool is_floor;        /* nothing is compacted but everything at each stop: only floor_bytes */
    const double *floors; /* else: what that run found, one a stop */
    void (*wrote)(void *context, uint64_t writes); /* so many more are done */
    void *context;
};
/* Runs the stream and fills the row: measured, after_major, flush_bytes (in the arena).  With
 * ERR_STOPPED when interrupt_came, ERR_NO_SPACE, ...: the report says why; everything has been
 * closed. */
enum err sweep_engine(const struct sweep_engine_options *, struct arena *, struct sweep_row *out,
                      struct report *);
