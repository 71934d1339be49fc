/* errand.h - the same thing done on every shard of this node, and what came of it.
 *
 *     errands_send ──mail──> begin ──(its leaf)──> end ──mail──> home ... all home: the op wakes
 *
 * Private to node/.  Belongs to the shard that sends; `what` is borrowed and must not change while
 * errands are away.  An op that has sent errands is held until all are home.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/shard.h"

struct errand;
struct errand_kind {
    /* There: starts one leaf into e->wait for e->op, or does it at once; may set e->wait.err. */
    void (*begin)(struct errand *);
    /* There, when the leaf has ended, with or without OK; may be NULL. */
    void (*end)(struct errand *);
    bool needs_store; /* a shard without an open one fails instead */
};
struct errand {
    struct op op;
    struct io_mail mail;
    struct errands *all;
    struct shard *shard; /* where it is done */
    struct io_req wait;
    struct report failed; /* err OK: it did not */
    struct arena arena;   /* of what it brings home */
    void *result;
};
struct errands {
    struct op *op; /* waits for them */
    const struct errand_kind *kind;
    const void *what;
    struct errand *each; /* one a shard */
    int count, away;
};

/* Sends them out anew; results of an earlier round go. */
void errands_send(struct errands *, struct shard *, struct op *, const struct errand_kind *,
                  const void *what);
/* Once none is away: OK, or the first failure. */
enum err errands_result(const struct errands *, struct report *);
/* None may be away; zeroed is fine. */
void errands_deinit(struct errands *);
