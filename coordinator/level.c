/* level.c - how many replicas a consistency level needs; who may be asked.
 *
 *     ONE 1   TWO 2   THREE 3   QUORUM factor/2 + 1   ALL factor      ANY (writes) as ONE
 *     LOCAL_ONE, LOCAL_QUORUM, EACH_QUORUM: as the plain ones, with one data centre
 *
 * The factor is what the keyspace asks for, not what the ring can give: a keyspace of factor 3 on
 * one node has no quorum, as in Cassandra.
 *
 * Not there: several data centres in one keyspace with the levels that tell them apart, and the
 * serial levels; both give 0.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/internal.h"

static unsigned keyspace_factor(const struct keyspace *ks)
{
    unsigned sum = 0;
    if (ks->replication == REPLICATION_LOCAL)
        return 1;
    if (ks->replication == REPLICATION_SIMPLE)
        return ks->factor;
    for (size_t i = 0; i < ks->datacenters_count; i++)
        sum += ks->datacenters[i].factor;
    return sum;
}

unsigned level_required(enum level level, const struct ring *ring, const struct keyspace *ks,
                        bool is_write)
{
    unsigned factor = keyspace_factor(ks);
    bool is_one_center = ks->replication != REPLICATION_TOPOLOGY || ks->datacenters_count <= 1;
    ensure(ring->nodes_count > 0);
    switch (level) {
    case LEVEL_ANY:
        return is_write ? 1 : 0;
    case LEVEL_ONE:
        return 1;
    case LEVEL_LOCAL_ONE:
        return is_one_center ? 1 : 0;
    case LEVEL_TWO:
        return 2;
    case LEVEL_THREE:
        return 3;
    case LEVEL_QUORUM:
        return factor / 2 + 1;
    case LEVEL_LOCAL_QUORUM:
    case LEVEL_EACH_QUORUM:
        return is_one_center ? factor / 2 + 1 : 0;
    case LEVEL_ALL:
        return factor ? factor : 1;
    case LEVEL_SERIAL:
    case LEVEL_LOCAL_SERIAL:
        return 0;
    }
    return 0; /* a number that is no level */
}

void targets_find(const struct coordinator *c, const struct keyspace *ks, int64_t token,
                  struct targets *out)
{
    struct cluster *cluster = c->options.cluster;
    unsigned self = cluster_self(cluster);
    struct replicas replicas;
    ring_replicas(cluster_ring(cluster), ks, self, token, &replicas);
    *out = (struct targets){ .replicas_count = (unsigned)replicas.count };
    for (size_t i = 0; i < replicas.count; i++)
        if (replicas.nodes[i] == self)
            out->nodes[out->count++] = self;
    for (size_t i = 0; i < replicas.count; i++) {
        unsigned node = replicas.nodes[i];
        if (node == self)
            continue;
        if (cluster_is_up(cluster, node))
            out->nodes[out->count++] = node;
        else if (!out->missing)
            out->missing = node;
    }
}
