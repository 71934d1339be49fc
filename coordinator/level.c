/* level.c - how many replicas a consistency level needs, and which ones count.
 *
 *     ONE, TWO, THREE, LOCAL_ONE   that many            QUORUM         more than half of all
 *     ALL                          all                  LOCAL_QUORUM   of this data centre's
 *     ANY                          one (writes)         EACH_QUORUM    as LOCAL_QUORUM, with one
 *                                                                      data centre
 *
 * The replication factor decides, not how many nodes there are: QUORUM of three on a ring of one
 * node is two, and Unavailable, as Cassandra has it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/inside.h"

static bool level_is_local(enum level level)
{
    return level == LEVEL_LOCAL_QUORUM || level == LEVEL_LOCAL_ONE || level == LEVEL_EACH_QUORUM;
}

static unsigned factor_total(const struct keyspace *ks)
{
    unsigned total = 0;
    if (ks->replication != REPLICATION_TOPOLOGY)
        return ks->replication == REPLICATION_LOCAL ? 1 : ks->factor;
    for (size_t i = 0; i < ks->datacenters_count; i++)
        total += ks->datacenters[i].factor;
    return total;
}

/* Of the data centre that a node is in; SimpleStrategy does not know data centres. */
static unsigned factor_local(const struct keyspace *ks, const struct ring *ring, unsigned self)
{
    ensure(self >= 1 && self <= ring->nodes_count);
    if (ks->replication != REPLICATION_TOPOLOGY)
        return factor_total(ks);
    for (size_t i = 0; i < ks->datacenters_count; i++)
        if (strcmp(ks->datacenters[i].name, ring->nodes[self - 1].data_center) == 0)
            return ks->datacenters[i].factor;
    return 0;
}

unsigned level_required(enum level level, const struct ring *ring, const struct keyspace *ks,
                        unsigned self, bool is_write)
{
    unsigned factor = level_is_local(level) ? factor_local(ks, ring, self) : factor_total(ks);
    switch (level) {
    case LEVEL_ANY:
        return is_write;
    case LEVEL_ONE:
    case LEVEL_LOCAL_ONE:
        return 1;
    case LEVEL_TWO:
        return 2;
    case LEVEL_THREE:
        return 3;
    case LEVEL_QUORUM:
    case LEVEL_LOCAL_QUORUM:
        return factor / 2 + 1;
    case LEVEL_EACH_QUORUM:
        return is_write ? factor / 2 + 1 : 0;
    case LEVEL_ALL:
        return factor;
    case LEVEL_SERIAL:
    case LEVEL_LOCAL_SERIAL:
        return 0;
    }
    return 0;
}

unsigned level_counts(enum level level, const struct ring *ring, unsigned self,
                      const struct replicas *replicas)
{
    unsigned mask = 0;
    const char *own = ring->nodes[self - 1].data_center;
    for (size_t i = 0; i < replicas->count; i++) {
        const struct node *n = &ring->nodes[replicas->nodes[i] - 1];
        if (!level_is_local(level) || strcmp(n->data_center, own) == 0)
            mask |= 1u << i;
    }
    return mask;
}
