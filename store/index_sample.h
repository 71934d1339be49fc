/* index_sample.h - a part of Index.db in memory: tokens of some partitions, and their places there.
 *
 *     tokens   -9.1e18   -8.8e18   -8.4e18  ...      evenly spread: searched from where the token
 *     places       0       4102      8311            ought to be
 *
 * Private to store/.  16 bytes an entry; one entry stands for 128 partitions (min_index_interval)
 * when it comes from Summary.db.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"

struct index_sample {
    size_t count;    /* at least 1: the first partition is always in it */
    int64_t *tokens; /* ascending; equal ones are possible */
    uint64_t *places;
};
void index_sample_init(struct index_sample *, struct arena *, size_t count);
/* The last entry before the first one whose token is not below `token`, or 0: no partition with
 * this token stands before it. */
size_t index_sample_find(const struct index_sample *, int64_t token);
