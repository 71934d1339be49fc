/* replica.h - this node as a replica: what its shards hold, for its own coordinators and for other
 * nodes.  Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/shard.h"

struct replica_slot replica_slot(struct shard *);
/* A request of another node (the cluster's slot). */
void replica_request(void *context, struct cluster_request *);
/* Answers one that came too late: the shard stops. */
void replica_turn_away(struct shard *, struct cluster_request *);
/* A mutation of another node was not applied, before the store has seen it: why. */
void count_unapplied(struct shard *, enum err);
/* Takes up what came before the store was open. */
void replica_unpark(struct shard *);
/* Asks this node's batchlog, which is shard 0's. */
void replica_batch(void *context, struct io_req *, struct op *, struct bytes request,
                   uint64_t deadline_ns);
/* VERB_TRUNCATE: a round u8 | 16 table id.  All nodes are asked for the first round before any of
 * them is asked for the second, so that no hint brings a row back. */
enum truncate_round {
    TRUNCATE_HINTS = 1, /* hints of the table are given up, on every shard of this node */
    TRUNCATE_ROWS = 2,  /* it is emptied there */
};
enum { TRUNCATE_BODY_BYTES = 17 };
void truncate_encode(enum truncate_round, const struct uuid *table,
                     uint8_t body[TRUNCATE_BODY_BYTES]);
/* False: it is none; a round that is not known here is none of ours to guess. */
bool truncate_decode(struct bytes body, enum truncate_round *, struct uuid *table);
void replica_truncate(struct shard *, struct io_req *, struct op *, enum truncate_round,
                      const struct uuid *table);
