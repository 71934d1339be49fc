/* change.h - schema changes and truncations: work that shard 0 leads for a request of any shard.
 *
 * Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/shard.h"

/* A leaf in a request: completes when every member has the change and has applied it, or not at
 * all.  ERR_EXISTS: another change came first, so what the statement decided on may be stale. */
struct change_call {
    struct io_req req;
    struct io_mail mail;
    struct shard *shard; /* where the request lives */
    struct bytes change; /* encoded; in the request's arena */
    uint64_t epoch, budget_ns;
    enum err err;
    struct report failed;
    struct coordinator_outcome outcome;
};
void change_start(struct shard *, struct change_call *, struct op *, struct bytes change,
                  uint64_t deadline_ns);

/* A leaf: the table is empty on every node, or the report says which node could not be asked. */
struct truncate_call {
    struct io_req req;
    struct shard *shard;
    struct report failed;
};
void truncate_start(struct shard *, struct truncate_call *, struct op *, const struct table *,
                    uint64_t deadline_ns);
