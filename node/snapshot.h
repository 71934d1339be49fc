/* snapshot.h - a snapshot of one table on this node, by shard 0.  Private to node/.
 *
 *     flush on all shards ──> their files ──> links (store/snapshot.h)
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "node/errand.h"

struct snapshot_call {
    const struct table *table; /* the caller holds it */
    const char *tag;           /* valid */
    bool is_quiet; /* the table is gone or held: what is in its folder is all there is, and stays */
    struct report failed;
};
/* `call` stays until completion; ERR_EXISTS, ERR_IO, ...: failed says why. */
void snapshot_start(struct shard *, struct io_req *, struct op *, struct snapshot_call *);

/* Asks shard 0 for all snapshots; the result is a struct snapshots. */
extern const struct errand_kind errand_snapshots;
/* {"snapshots":[...]} */
void snapshots_json(const struct snapshots *, struct buf *out);
