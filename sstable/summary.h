/* summary.h - Summary.db: every 128th partition of Index.db, with its place there. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/buf.h"

struct summary {
    uint32_t min_index_interval, sampling_level, full_count;
    uint32_t count;
    /* Borrowed from the file's bytes: entry i is a key and 8 bytes (little-endian) of place. */
    struct bytes offsets, entries;
    struct bytes first_key, last_key;
};
/* Borrows from `file`.  Offsets are checked: every entry lies inside. */
enum err summary_decode(struct bytes file, struct summary *out, struct report *);
struct bytes summary_key(const struct summary *, uint32_t i);
uint64_t summary_place(const struct summary *, uint32_t i); /* in Index.db */

/* Collects while a file is written. */
struct summary_builder {
    uint32_t interval; /* min_index_interval */
    uint64_t partitions;
    struct buf offsets, entries, first_key, last_key;
};
void summary_builder_init(struct summary_builder *, uint32_t interval);
void summary_builder_deinit(struct summary_builder *);
void summary_builder_add(struct summary_builder *, struct bytes key, uint64_t index_place);
void summary_builder_encode(const struct summary_builder *, struct buf *out);
