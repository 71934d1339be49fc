/* writing.c - the mutations of a request, each a write of its own, and what is told of all.
 *
 * What a client is told of several mutations is true of each: as many replicas as of the one that
 * the fewest have.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/writing.h"

enum err writing_start(struct writing *w, struct op *op, const struct cql_action *action)
{
    struct shard *s = w->shard;
    w->parts = arena_array(w->arena, struct writing_part, action->mutations_count);
    for (size_t i = 0; i < action->mutations_count; i++) {
        const struct cql_mutation *m = &action->mutations[i];
        struct coordinator_write write = { .keyspace =
                                               catalog_keyspace(&s->catalog, m->table->keyspace),
                                           .level = w->level,
                                           .token = m->token,
                                           .mutation = m->encoded,
                                           .deadline_ns = w->deadline_ns };
        if (!write.keyspace) /* dropped between bind and here cannot be: same step */
            return ERR_NOT_FOUND;
        struct writing_part *part = &w->parts[w->count++];
        coordinator_write(s->coordinator, &part->req, op, &write, &part->outcome);
    }
    return OK;
}

bool writing_is_busy(const struct writing *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->parts[i].req.busy)
            return true;
    return false;
}

enum err writing_result(const struct writing *w, struct coordinator_outcome *out)
{
    *out = (struct coordinator_outcome){ 0 };
    for (size_t i = 0; i < w->count; i++) {
        const struct writing_part *part = &w->parts[i];
        if (i == 0 || part->req.err != OK || outcome_is_less(&part->outcome, out))
            *out = part->outcome;
        if (part->req.err != OK)
            return part->req.err;
    }
    return OK;
}

struct bytes writing_told(const struct coordinator_outcome *o, struct arena *arena)
{
    if (!o->replicas)
        return (struct bytes){ 0 };
    return bytes_text(arena_printf(arena, "replicas=%u acked=%u synced=%u hinted=%u", o->replicas,
                                   o->acked, o->synced, o->hinted));
}
