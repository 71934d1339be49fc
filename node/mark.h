/* mark.h - how far the clock had come, kept on disk, so that the timestamps of writes go on rising
 * when a node is restarted with a clock that went back.  Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/shard.h"

struct mark { /* shard 0's; embedded in what lives as long as the shard */
    struct op op;
    struct shard *shard;
    struct op *reader; /* woken when the mark has been read */
    struct arena arena;
    const char *folder, *path, *fresh;
    struct io_file *file;
    struct io_req wait;
    uint8_t bytes[12];
    int64_t known_us; /* no timestamp was given later than this by more than a period */
    int64_t floor_us; /* timestamps begin behind this one; 0: with the clock */
    bool is_read, is_failed, is_napping;
};

/* Reads the mark of `folder` (which exists), then keeps it up to date until it is stopped. */
void mark_start(struct mark *, struct shard *, struct op *reader, const char *folder);
void mark_stop(struct mark *);
static inline bool mark_is_idle(const struct mark *m) { return !op_running(&m->op); }
