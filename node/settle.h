/* settle.h - after a start, the commit log's old folders are emptied and given up.  On shard 0;
 * private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/errand.h"

struct settle {
    struct op op;
    struct shard *shard;
    struct errands errands;
    struct io_req wait;
    struct report failed;
    bool is_done;
};
/* Once all shards have opened their stores; a child of `parent`. */
void settle_start(struct settle *, struct shard *, struct op *parent);
void settle_stop(struct settle *);
