/* ranges.c - which token ranges of a table are this node's.
 *
 *     ring: ... t1] (t1 .. t2] (t2 .. t3] ...  those whose replicas include this node
 *
 * Of a shard they are all of the node's, with its share as their weight: a shard's tokens are
 * spread evenly through the ring (ring_shard).  They change with the members and with a keyspace's
 * replication; both are entries of the metadata log, so its epoch is their version.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/ranges.h"

#include "node/shard.h"

static bool has_self(const struct replicas *replicas, unsigned self)
{
    for (size_t i = 0; i < replicas->count; i++)
        if (replicas->nodes[i] == self)
            return true;
    return false;
}

void ranges_of(void *context, const struct table *table, struct arena *arena,
               struct local_ranges *out)
{
    struct shard *s = context;
    const struct keyspace *keyspace = catalog_keyspace(&s->catalog, table->keyspace);
    const struct ring *ring = s->cluster ? cluster_ring(s->cluster) : NULL;
    bool is_spread = ring && keyspace && keyspace->replication != REPLICATION_LOCAL;
    size_t all = is_spread ? ring->tokens_count : 0, count = 0;
    struct token_range *ranges = arena_array(arena, struct token_range, all);
    for (size_t i = 0; i < all; i++) {
        struct replicas replicas = { 0 };
        int64_t left = ring->tokens[(i ? i : all) - 1].token, right = ring->tokens[i].token;
        ring_replicas(ring, keyspace, cluster_self(s->cluster), right, &replicas);
        if (has_self(&replicas, cluster_self(s->cluster)))
            ranges[count++] = (struct token_range){ left, right };
    }
    if (count == all)
        count = 0; /* the whole ring, as one range */
    local_ranges_make(arena, ranges, count, 1.0 / io_shards(s->io), out);
}

uint64_t ranges_version(void *context)
{
    const struct shard *s = context;
    return s->catalog.epoch;
}
