/* level.c - what a consistency level needs of the replicas of a token, and whether it has it.
 *
 *     ANY                one of all, or a hint (writes)
 *     ONE, TWO, THREE    that many of all           LOCAL_ONE      one of this data centre
 *     QUORUM             more than half of all      LOCAL_QUORUM   ... of this data centre's
 *     ALL                all                        EACH_QUORUM    ... of every data centre's
 *
 * A need is one group of replicas and how many of them, and for EACH_QUORUM a group for each data
 * centre of the keyspace.  The replication factor decides how many, not how many nodes there are:
 * QUORUM of three on a ring of one node is two, and Unavailable, as Cassandra has it.  So it is
 * with a data centre that has no replicas: LOCAL_QUORUM needs one of none.  SimpleStrategy knows
 * no data centres: there EACH_QUORUM is QUORUM, and LOCAL_QUORUM a quorum of all the replicas that
 * only those of this data centre can make up.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/inside.h"

static unsigned count(unsigned bits) { return (unsigned)__builtin_popcount(bits); }

bool level_is_local(enum level level)
{
    return level == LEVEL_LOCAL_QUORUM || level == LEVEL_LOCAL_ONE;
}

bool level_allows(enum level level, bool is_write)
{
    return level == LEVEL_ANY ? is_write : level != LEVEL_SERIAL && level != LEVEL_LOCAL_SERIAL;
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

static unsigned factor_of(const struct keyspace *ks, const char *data_center)
{
    if (ks->replication != REPLICATION_TOPOLOGY)
        return factor_total(ks);
    for (size_t i = 0; i < ks->datacenters_count; i++)
        if (strcmp(ks->datacenters[i].name, data_center) == 0)
            return ks->datacenters[i].factor;
    return 0;
}

static unsigned number_of(enum level level, unsigned factor)
{
    if (level == LEVEL_TWO || level == LEVEL_THREE)
        return level == LEVEL_TWO ? 2 : 3;
    if (level == LEVEL_ALL)
        return factor;
    bool is_quorum =
        level == LEVEL_QUORUM || level == LEVEL_LOCAL_QUORUM || level == LEVEL_EACH_QUORUM;
    return is_quorum ? factor / 2 + 1 : 1;
}

/* A bit for each replica in that data centre; NULL: for each. */
static unsigned mask_of(const struct ring *ring, const struct replicas *replicas,
                        const char *data_center)
{
    unsigned mask = 0;
    for (size_t i = 0; i < replicas->count; i++) {
        const struct node *n = &ring->nodes[replicas->nodes[i] - 1];
        if (!data_center || strcmp(n->data_center, data_center) == 0)
            mask |= 1u << i;
    }
    return mask;
}

static void need_add(struct level_need *need, unsigned mask, unsigned required)
{
    ensure(need->groups_count < REPLICAS_MAX);
    need->groups[need->groups_count++] = (struct level_group){ mask, required };
    need->counted |= mask;
    need->required += required;
}

void level_need(enum level level, const struct ring *ring, unsigned self, const struct keyspace *ks,
                const struct replicas *replicas, struct level_need *out)
{
    ensure(self >= 1 && self <= ring->nodes_count);
    const char *own = ring->nodes[self - 1].data_center;
    out->required = out->counted = out->groups_count = 0;
    if (level == LEVEL_EACH_QUORUM && ks->replication == REPLICATION_TOPOLOGY) {
        size_t centers = u64_min(ks->datacenters_count, REPLICAS_MAX); /* each has a replica */
        for (size_t i = 0; i < centers; i++) {
            const struct datacenter_factor *dc = &ks->datacenters[i];
            need_add(out, mask_of(ring, replicas, dc->name), number_of(level, dc->factor));
        }
    } else if (level_is_local(level)) {
        need_add(out, mask_of(ring, replicas, own), number_of(level, factor_of(ks, own)));
    } else {
        need_add(out, mask_of(ring, replicas, NULL), number_of(level, factor_total(ks)));
    }
}

bool level_met(const struct level_need *need, unsigned have)
{
    for (unsigned g = 0; g < need->groups_count; g++)
        if (count(have & need->groups[g].mask) < need->groups[g].required)
            return false;
    return true;
}

bool level_wants(const struct level_need *need, unsigned have, unsigned replica)
{
    for (unsigned g = 0; g < need->groups_count; g++)
        if (need->groups[g].mask >> replica & 1)
            return count(have & need->groups[g].mask) < need->groups[g].required;
    return false;
}

/* Cassandra counts every answer of a replica that counts, and where the level was missed by one
 * data centre alone says one less than required. */
unsigned level_received(const struct level_need *need, unsigned have)
{
    unsigned received = count(have & need->counted);
    bool is_met = level_met(need, have);
    return !is_met && received >= need->required ? need->required - 1 : received;
}

/* One more to ask: the need's bits of it move from place `was` to where it stands now. */
static void order_add(struct replicas *replicas, struct level_need *need,
                      const struct level_need *old, unsigned node, size_t was)
{
    unsigned bit = 1u << replicas->count;
    replicas->nodes[replicas->count++] = node;
    need->counted |= bit;
    for (unsigned g = 0; g < need->groups_count; g++)
        need->groups[g].mask |= old->groups[g].mask >> was & 1 ? bit : 0;
}

void level_order(struct coordinator *c, struct replicas *replicas, struct level_need *need)
{
    const struct replicas from = *replicas;
    const struct level_need old = *need;
    unsigned self = cluster_self(c->cluster);
    replicas->count = 0;
    need->counted = 0;
    for (unsigned g = 0; g < need->groups_count; g++)
        need->groups[g].mask = 0;
    for (size_t i = 0; i < from.count; i++)
        if (from.nodes[i] == self && old.counted >> i & 1)
            order_add(replicas, need, &old, self, i);
    for (size_t i = 0; i < from.count; i++)
        if (from.nodes[i] != self && old.counted >> i & 1 &&
            cluster_is_up(c->cluster, from.nodes[i]))
            order_add(replicas, need, &old, from.nodes[i], i);
}

/* The first of a group that is down: its node number. */
static unsigned first_down(const struct replicas *replicas, unsigned mask, unsigned up)
{
    for (size_t i = 0; i < replicas->count; i++)
        if ((mask & ~up) >> i & 1)
            return replicas->nodes[i];
    return 0;
}

bool enough_alive(struct coordinator *c, const struct replicas *replicas,
                  const struct level_need *need, struct coordinator_outcome *outcome)
{
    unsigned up = 0;
    for (size_t i = 0; i < replicas->count; i++)
        up |= cluster_is_up(c->cluster, replicas->nodes[i]) ? 1u << i : 0;
    outcome->required = need->required;
    outcome->alive = count(up & need->counted);
    outcome->missing = first_down(replicas, need->counted, up);
    for (unsigned g = 0; g < need->groups_count; g++) {
        const struct level_group *group = &need->groups[g];
        if (count(up & group->mask) >= group->required)
            continue;
        outcome->required = group->required;
        outcome->alive = count(up & group->mask);
        outcome->missing = first_down(replicas, group->mask, up);
        return false;
    }
    return true;
}
