/* plan.h - memory_limit divided: the sum that the start prints and that `rondo info` shows.
 *
 * Each shard has an even share of every line; the last line is for what is not planned.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "config/config.h"

struct memory_plan {
    uint64_t limit_bytes;
    uint64_t memtables_bytes, chunk_cache_bytes, samples_bytes, requests_bytes, connections_bytes;
    uint64_t prepared_bytes, peers_bytes, compaction_bytes, unplanned_bytes;
};
/* The whole node's plan; `memory_bytes` is what the machine (or the cgroup) has.  ERR_CONFIG with
 * the sentence when the settings do not fit into memory_limit. */
enum err memory_plan_make(const struct config *, uint64_t memory_bytes, struct memory_plan *,
                          struct report *);
struct memory_plan memory_plan_share(const struct memory_plan *, int shards);
/* One line each, with the sum, as the start prints it. */
void memory_plan_print(const struct memory_plan *, struct buf *out);
