/* import_walk.h - one SSTable of somebody else from front to back, checked, into writers.  Private
 * to import.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/file_walk.h"
#include "store/import.h"

struct import_walk;
struct import_walk_options {
    const struct table *table;
    bool (*is_ours)(void *context, int64_t token);
    void *context;
    struct import_result *result; /* counts, as it goes */
    int (*shard_of)(int64_t token, int shards);
    int shards;
};
/* The source is borrowed. */
struct import_walk *import_walk_new(struct sstable *source, const struct import_walk_options *);
void import_walk_free(struct import_walk **);
/* Whose partition it stands in: its writer is wanted by the next step; -1: none's. */
int import_walk_shard(const struct import_walk *);
/* One row, marker, or begin or end of a partition.  OK; ERR_WOULD_WAIT: import_walk_load, and the
 * same again; ERR_CORRUPT, ERR_INVALID, ERR_IO: it is no file to be taken, the report says why. */
enum err import_walk_step(struct import_walk *, struct sstable_writer *, struct report *);
void import_walk_load(struct import_walk *, struct io *, struct io_req *, struct op *);
bool import_walk_is_over(const struct import_walk *);
