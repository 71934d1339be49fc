/* ring.c - the virtual-node hash ring: where tokens lie, who owns them, who replicates them.
 *
 *     place   0    1    2    3    4    5    6   ...          T = nodes * tokens_each places,
 *             |    |    |    |    |    |    |                evenly spread over 2^64
 *     node    1    2    3    1    2    3    1   ...          each round of n places holds each of
 *             \___ round ___/\___ round ___/                 the n nodes once
 *
 * Even places and whole rounds make first-hand ownership exactly equal.  Which node stands where in
 * a round is chosen greedily: the node that has stood least often behind the three nodes before
 * this place.  So the ranges that follow a node's own belong to all the others in turn: when it
 * dies, its load spreads over all of them, and every replication factor is fair too (within 8% from
 * 16 tokens a node on, usually 3%).  No chance is involved: the same number of members gives the
 * same ring.
 *
 * Places lie half a step off the ends, so no token is the least or the greatest number.
 *
 * Invariants: 1. tokens ascend strictly.  2. replicas are distinct nodes.
 * It does not move tokens when members change: later, that is an entry of the metadata log.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/ring.h"

enum { LOOK_BACK = 3, REPEAT_COST = 16 };
_Static_assert(NODES_MAX <= 64, "nodes are bits of a word below");

/* ---- making tokens ---- */

struct spread {
    size_t nodes_count;
    uint16_t behind[LOOK_BACK][NODES_MAX][NODES_MAX]; /* [d][a][b]: b stood d + 1 behind a */
};

/* How unwelcome `node` is at `place`: near predecessors weigh more. */
static unsigned spread_cost(const struct spread *s, const struct ring_token *tokens, size_t place,
                            unsigned node)
{
    unsigned cost = 0;
    for (size_t d = 0; d < LOOK_BACK && d < place; d++) {
        unsigned before = tokens[place - d - 1].node - 1;
        unsigned often = s->behind[d][before][node];
        if (before == node)
            often += REPEAT_COST;
        cost += often << (2 * (LOOK_BACK - 1 - d));
    }
    return cost;
}

static unsigned spread_choose(const struct spread *s, const struct ring_token *tokens, size_t place,
                              uint64_t used)
{
    size_t n = s->nodes_count, round = place / n;
    unsigned best = 0, best_cost = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        unsigned node = (unsigned)((i + n - round % n) % n);
        if (used >> node & 1)
            continue;
        unsigned cost = spread_cost(s, tokens, place, node);
        if (cost < best_cost)
            best = node, best_cost = cost;
    }
    ensure(best_cost != UINT32_MAX);
    return best;
}

static int64_t place_token(size_t place, size_t places)
{
    unsigned __int128 at = ((unsigned __int128)place << 64) + ((unsigned __int128)1 << 63);
    return (int64_t)((uint64_t)(at / places) ^ (uint64_t)1 << 63);
}

void ring_make_tokens(size_t nodes_count, unsigned tokens_each, struct ring_token *out)
{
    size_t places = nodes_count * tokens_each;
    ensure(nodes_count > 0 && nodes_count <= NODES_MAX);
    ensure(tokens_each > 0 && places <= RING_TOKENS_MAX);
    struct spread spread = { .nodes_count = nodes_count };
    uint64_t used = 0;
    for (size_t place = 0; place < places; place++) {
        if (place % nodes_count == 0)
            used = 0;
        unsigned node = spread_choose(&spread, out, place, used);
        used |= (uint64_t)1 << node;
        for (size_t d = 0; d < LOOK_BACK && d < place; d++)
            spread.behind[d][out[place - d - 1].node - 1][node]++;
        out[place] = (struct ring_token){ place_token(place, places), node + 1 };
    }
}

/* ---- looking ---- */

/* The place whose node owns the token: the first one at or after it, round the ring. */
static size_t ring_place(const struct ring *ring, int64_t token)
{
    size_t low = 0, high = ring->tokens_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ring->tokens[middle].token < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low == ring->tokens_count ? 0 : low;
}

double ring_ownership(const struct ring *ring, unsigned node)
{
    double owned = 0;
    if (ring->tokens_count == 1)
        return ring->tokens[0].node == node ? 1 : 0;
    for (size_t i = 0; i < ring->tokens_count; i++) {
        const struct ring_token *before = &ring->tokens[i ? i - 1 : ring->tokens_count - 1];
        if (ring->tokens[i].node == node)
            owned += (double)((uint64_t)ring->tokens[i].token - (uint64_t)before->token);
    }
    return owned / 18446744073709551616.0;
}

int64_t ring_range_end(const struct ring *ring, int64_t token)
{
    ensure(ring->tokens_count > 0);
    size_t last = ring->tokens_count - 1;
    return token > ring->tokens[last].token ? INT64_MAX
                                            : ring->tokens[ring_place(ring, token)].token;
}

int ring_shard(int64_t token, int shards)
{
    enum { IGNORED_BITS = 12 };
    ensure(shards > 0);
    uint64_t biased = ((uint64_t)token ^ (uint64_t)1 << 63) << IGNORED_BITS;
    return (int)((unsigned __int128)biased * (unsigned)shards >> 64);
}

/* ---- replicas ---- */

static void replicas_add(struct replicas *out, unsigned node)
{
    ensure(out->count < REPLICAS_MAX);
    out->nodes[out->count++] = node;
}

static void simple_replicas(const struct ring *ring, unsigned factor, size_t place,
                            struct replicas *out)
{
    size_t wanted = u64_min(u64_min(factor, ring->nodes_count), REPLICAS_MAX);
    uint64_t seen = 0;
    for (size_t i = 0; i < ring->tokens_count && out->count < wanted; i++) {
        unsigned node = ring->tokens[(place + i) % ring->tokens_count].node;
        if (!(seen >> (node - 1) & 1))
            replicas_add(out, node);
        seen |= (uint64_t)1 << (node - 1);
    }
}

/* What is still wanted of one data centre while the ring is walked. */
struct wanted {
    unsigned left;    /* replicas */
    unsigned repeats; /* of them, how many may stand in a rack that has one already */
};

static bool is_in(const struct node *node, const char *data_center)
{
    return strcmp(node->data_center, data_center) == 0;
}

/* Each rack gets one before any gets a second, as far as there are racks. */
static struct wanted wanted_of(const struct ring *ring, const struct datacenter_factor *dc)
{
    unsigned nodes = 0, racks = 0;
    for (size_t i = 0; i < ring->nodes_count; i++) {
        if (!is_in(&ring->nodes[i], dc->name))
            continue;
        bool is_new = true;
        for (size_t j = 0; j < i && is_new; j++)
            is_new = !is_in(&ring->nodes[j], dc->name) ||
                     strcmp(ring->nodes[i].rack, ring->nodes[j].rack) != 0;
        nodes++, racks += is_new;
    }
    unsigned factor = dc->factor;
    return (struct wanted){ factor < nodes ? factor : nodes, factor > racks ? factor - racks : 0 };
}

static bool rack_is_taken(const struct ring *ring, const struct replicas *out,
                          const struct node *node)
{
    for (size_t i = 0; i < out->count; i++) {
        const struct node *taken = &ring->nodes[out->nodes[i] - 1];
        if (is_in(taken, node->data_center) && strcmp(taken->rack, node->rack) == 0)
            return true;
    }
    return false;
}

static void consider(const struct ring *ring, const struct node *node, struct wanted *w,
                     struct replicas *out)
{
    if (w->left == 0 || out->count == REPLICAS_MAX)
        return;
    bool is_repeat = rack_is_taken(ring, out, node);
    if (is_repeat && w->repeats == 0)
        return;
    w->repeats -= is_repeat;
    w->left--;
    replicas_add(out, node->number);
}

static void topology_replicas(const struct ring *ring, const struct keyspace *ks, size_t place,
                              struct replicas *out)
{
    struct wanted wanted[NODES_MAX];
    size_t centers = u64_min(ks->datacenters_count, NODES_MAX);
    unsigned left = 0;
    for (size_t d = 0; d < centers; d++) {
        wanted[d] = wanted_of(ring, &ks->datacenters[d]);
        left += wanted[d].left;
    }
    left = (unsigned)u64_min(left, REPLICAS_MAX);
    uint64_t seen = 0;
    for (size_t i = 0; i < ring->tokens_count && out->count < left; i++) {
        unsigned number = ring->tokens[(place + i) % ring->tokens_count].node;
        if (seen >> (number - 1) & 1)
            continue;
        seen |= (uint64_t)1 << (number - 1);
        const struct node *node = &ring->nodes[number - 1];
        for (size_t d = 0; d < centers; d++)
            if (is_in(node, ks->datacenters[d].name))
                consider(ring, node, &wanted[d], out);
    }
}

void ring_replicas(const struct ring *ring, const struct keyspace *ks, unsigned self, int64_t token,
                   struct replicas *out)
{
    out->count = 0;
    ensure(ring->tokens_count > 0);
    if (ks->replication == REPLICATION_LOCAL) {
        replicas_add(out, self);
        return;
    }
    size_t place = ring_place(ring, token);
    if (ks->replication == REPLICATION_SIMPLE)
        simple_replicas(ring, ks->factor, place, out);
    else
        topology_replicas(ring, ks, place, out);
}

unsigned ring_number(const struct ring *ring, const struct uuid *host_id)
{
    for (size_t i = 0; i < ring->nodes_count; i++)
        if (uuid_equal(&ring->nodes[i].host_id, host_id))
            return (unsigned)i + 1;
    return 0;
}
