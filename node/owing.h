/* owing.h - where the mutations are that this node sent, and where something may be missing: the
 * coordinators' books and their sets of ranges (coordinator/owed.h), of all shards together.
 *
 * Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "node/errand.h"

/* Each shard's books, its counts and its unknown ranges: a struct owing. */
extern const struct errand_kind errand_owing;

struct owing {
    struct coordinator_book books[NODES_MAX]; /* by node number, from 1 */
    struct owed_counts counts;
    struct owed_unknown *unknown; /* counts.unknown of them, in the errand's arena */
    size_t unknown_count;
};
/* The whole answer of GET /api/v1/writes; the errands are home and went well. */
void owing_json(struct shard *, const struct errands *, struct buf *out);
/* The sum over all targets, for metrics. */
void owing_sum(const struct shard *, struct coordinator_book *);
