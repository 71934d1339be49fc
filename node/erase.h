/* erase.h - a table's rows go on every shard of this node: TRUNCATE, and what DROP leaves to do.
 * Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/errand.h"

/* On shard 0.  OK: durable, on all shards; else nothing has gone. */
void erase_start(struct shard *, struct io_req *, struct op *, const struct uuid *table);

/* On shard 0, when the node stops and before other shards are told: no new ones begin, those that
 * wait end.  True when none is left; until then errands go to the other shards. */
bool erase_stop(struct shard *);

/* On shard 0: the first may begin now, perhaps. */
void erase_wake(struct shard *);

/* On every shard, when the table has just gone from its catalog; takes the reference.  When all
 * shards have let go of it, shard 0 removes its files. */
void erase_dropped(struct shard *, struct table **taken);
/* The node stops: shard 0 waits for nobody any more; then it forgets who has told. */
void erase_hush(struct shard *);
void erase_forget(struct shard *);
