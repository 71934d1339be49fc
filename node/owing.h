/* owing.h - where the mutations are that this node sent, and where something may be missing: the
 * coordinators' books and their sets of ranges (coordinator/owed.h), of all shards together.
 *
 * Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/missing.h"

/* The whole answer of GET /api/v1/writes; the errands (errand_missing) are home and went well. */
void owing_json(struct shard *, const struct errands *, struct buf *out);
/* The sum over all targets, for metrics. */
void owing_sum(const struct shard *, struct coordinator_book *);
