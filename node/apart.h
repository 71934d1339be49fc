/* apart.h - after a start under another number of shards: files that several shards read become one
 * for each.  On shard 0; private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/errand.h"

struct apart {
    struct op op;
    struct shard *shard;
    struct errands errands;
    struct io_req wait;
    struct report failed;
    struct arena arena; /* of one table */
    struct buf tables;  /* struct uuid */
    size_t at;
    struct sstable_name *names; /* of the table's shared files */
    uint64_t *bytes;            /* as they are stored */
    size_t names_count, name_at;
    struct import_options options;
    struct import_result result;
    uint64_t done, failures; /* files */
    bool has_begun, is_working;
};
/* Once the commit logs have settled; a child of `parent`. */
void apart_start(struct apart *, struct shard *, struct op *parent);
void apart_stop(struct apart *);
static inline bool apart_is_running(const struct apart *x) { return op_running(&x->op); }
/* TRUNCATE needs the table's files to stand still: true when nothing is being taken apart; else it
 * is stopped where it can be, and the truncation is woken. */
bool apart_yields(struct shard *);
/* Tables may have gone. */
void apart_catalog_changed(struct shard *);
