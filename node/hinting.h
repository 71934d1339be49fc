/* hinting.h - this node's hints: what it keeps for others, and what others have kept for it.
 * Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/missing.h"

/* One of so many even shares of a throttle; 0 stays 0: no limit. */
static inline uint64_t hinting_share(uint64_t bytes, uint64_t parts)
{
    return bytes ? (bytes + parts - 1) / parts : 0;
}
/* Opens this shard's hints: shard->hints. */
void hinting_open(struct shard *, struct io_req *, struct op *);
/* The set of what is owed is open, too: what was found damaged is unknown from now on. */
void hinting_opened(struct shard *);

/* VERB_HINTS: every mutation on the shard that owns its token; answered when all are done. */
void hinting_serve(struct shard *, struct cluster_request *);
/* All shards of this node give up the hints of a table (the first round of TRUNCATE). */
void hinting_erase(struct shard *, struct io_req *, struct op *, const struct uuid *table);

/* ---- what is told: hinting_told.c ---- */
/* The whole answer of GET /api/v1/hints; the errands (errand_missing) are home and went well. */
void hinting_json(struct shard *, const struct errands *, struct buf *body);
