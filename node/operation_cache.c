/* operation_cache.c - everything that is kept of files in memory is let go, on every shard.
 *
 *     begin ──> sent ──> ended
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/operation.h"

enum { CACHE_BEGIN, CACHE_SENT };

static void drop_begin(struct errand *e) { store_drop_cache(e->shard->store, &e->wait, &e->op); }

static const struct errand_kind errand_drop = { .begin = drop_begin, .needs_store = true };

static struct op_next cache_begin(struct op *op)
{
    operation_send(operation_of(op), &errand_drop, NULL);
    return op_wait(CACHE_SENT);
}

static struct op_next cache_sent(struct op *op)
{
    struct operation *o = operation_of(op);
    return o->errands.away ? op_wait(CACHE_SENT) : op_end(op, operation_sent(o));
}

static const struct op_state cache_states[] = {
    [CACHE_BEGIN] = { "op cache begin", cache_begin, TO(CACHE_SENT) },
    [CACHE_SENT] = { "op cache sent", cache_sent, TO(CACHE_SENT) },
};

const struct operation_verb operation_cachedrop = { .name = "cachedrop",
                                                    .takes = "",
                                                    .states = cache_states };
