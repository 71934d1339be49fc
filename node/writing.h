/* writing.h - the mutations of one request, under way.  Private to node/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/session.h"

struct writing {
    struct shard *shard;
    struct arena *arena; /* of the request */
    enum level level;
    uint64_t deadline_ns;
    size_t count;
    struct writing_part {
        struct io_req req;
        struct coordinator_outcome outcome;
    } * parts;            /* in the arena; a logged batch of several partitions has one */
    struct bytes warning; /* for the client: of a batch that is large or wide; or empty */
    const char *type;     /* as the protocol calls it: "SIMPLE", "BATCH", ... */
};
/* Sends what was bound; shard, arena, level and deadline_ns are set before.  ERR_INVALID, with a
 * sentence: the batch is too large.  ERR_NOT_FOUND: a keyspace is gone.  The op is woken; ask
 * writing_is_busy. */
enum err writing_start(struct writing *, struct op *, const struct cql_action *, struct report *);
bool writing_is_busy(const struct writing *);
/* OK, or why one failed.  *f gets how that one went, and with OK how the one went that the fewest
 * replicas have, of these the one that the fewest have synced, then hinted; and the write type. */
enum err writing_result(const struct writing *, struct failure *f);
/* "replicas=3 acked=2 synced=2 hinted=1"; empty when nothing was sent. */
struct bytes writing_told(const struct coordinator_outcome *, struct arena *);
