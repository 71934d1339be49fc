/* context.h - what a statement is prepared against: the shard's catalog, the keyspace in use, and
 * how tables that do not say are compacted.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cql/cql.h"
#include "node/shard.h"

struct context {
    struct cql_context cql;
    struct option compaction; /* default_compaction */
    const char *pairs[2 * (CONFIG_PAIRS_MAX + 1)];
};
/* Would a table take default_compaction?  ERR_CONFIG with the sentence, file:line:column first. */
enum err context_check(const struct config *, struct arena *, struct report *);
/* Lasts as long as *out and the keyspace's name ("": none in use). */
const struct cql_context *context_fill(struct context *out, const struct shard *,
                                       const char *keyspace);
