/* gather.h - a read of this node's rows as an encoded result: one shard's for a partition, all
 * shards' merged for a range of tokens (tokens alternate between shards).  Private to node/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/shard.h"

/* Completes req with *answer in the arena.  `read` is borrowed until then. */
void gather_start(struct shard *, struct io_req *, struct op *, const struct read *, struct arena *,
                  struct bytes *answer);
