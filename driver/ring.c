/* ring.c - who has a key: tokens in order, and Cassandra's two ways of choosing replicas.
 *
 *     ... ─ t1 ─ t2 ─ t3 ─ ... (wraps)       a node with the token t owns (the token before, t]
 *
 * SimpleStrategy takes the next distinct nodes around the ring.  NetworkTopologyStrategy does that
 * for each data centre on its own and prefers racks that it has not met; a rack is met again only
 * as often as the factor exceeds the count of racks.
 *
 * Replicas are looked for at each request: with a factor of 3 the walk ends after a few tokens.  A
 * refresh builds a new ring beside the one in use, so nobody sees half of one.
 *
 * What it does not do: ranges that move (pending replicas are the coordinator's), tablets.
 */
// SPDX-License-Identifier: Apache-2.0
#include "driver/ring.h"

#include "base/buf.h"

#include <stdlib.h>

enum { CENTERS_MAX = 64, FACTOR_MAX = 64 };

void ring_reset(struct ring *ring)
{
    arena_reset(&ring->arena);
    *ring = (struct ring){ .arena = ring->arena };
}

void ring_deinit(struct ring *ring)
{
    arena_deinit(&ring->arena);
    *ring = (struct ring){ .arena = ring->arena };
}

/* ---- building ---- */

/* Room for one more in an array of the arena; the old copy is left to it. */
static void *grown(struct arena *arena, void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    size_t more = *room ? *room * 2 : 16;
    void *fresh = arena_zalloc(arena, more * size);
    if (count)
        memcpy(fresh, items, count * size);
    *room = more;
    return fresh;
}

/* The next [bytes] of a collection's value; empty for null. */
static struct bytes part(struct cursor *c)
{
    int32_t size = (int32_t)cursor_be32(c);
    return size < 0 ? (struct bytes){ 0 } : cursor_bytes(c, (size_t)size);
}

static bool parse_token(struct bytes text, int64_t *out)
{
    char digits[24], *end;
    if (text.size == 0 || text.size >= sizeof digits)
        return false;
    memcpy(digits, text.data, text.size);
    digits[text.size] = 0;
    *out = strtoll(digits, &end, 10);
    return *end == 0;
}

enum err ring_add_tokens(struct ring *ring, struct node *node, struct bytes tokens)
{
    struct cursor c = cursor_of(tokens);
    uint32_t count = cursor_be32(&c);
    for (uint32_t i = 0; i < count && !c.bad; i++) {
        int64_t token;
        struct bytes text = part(&c);
        if (c.bad || !parse_token(text, &token))
            return ERR_PROTOCOL;
        ring->tokens = grown(&ring->arena, ring->tokens, ring->tokens_count, &ring->tokens_room,
                             sizeof *ring->tokens);
        ring->tokens[ring->tokens_count++] = (struct ring_token){ token, node };
    }
    return c.bad ? ERR_PROTOCOL : OK;
}

/* "3", or "3/1" of Cassandra's transient replication: the first number. */
static unsigned parse_factor(struct bytes text)
{
    unsigned factor = 0;
    for (size_t i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        factor = (unsigned)u64_min(factor * 10u + text.data[i] - '0', FACTOR_MAX);
    return factor;
}

static bool ends_with(struct bytes text, const char *with)
{
    size_t size = strlen(with);
    return text.size >= size && !memcmp(text.data + text.size - size, with, size);
}

static void keyspace_option(struct arena *arena, struct ring_keyspace *k, struct bytes key,
                            struct bytes value)
{
    if (bytes_equal(key, bytes_text("class"))) {
        if (ends_with(value, "SimpleStrategy"))
            k->strategy = RING_SIMPLE;
        else if (ends_with(value, "NetworkTopologyStrategy"))
            k->strategy = RING_TOPOLOGY;
    } else if (bytes_equal(key, bytes_text("replication_factor"))) {
        k->factor = parse_factor(value);
    } else if (k->centers_count < CENTERS_MAX) {
        k->centers[k->centers_count++] =
            (struct ring_center){ .name = arena_text(arena, key), .factor = parse_factor(value) };
    }
}

enum err ring_add_keyspace(struct ring *ring, struct bytes name, struct bytes replication)
{
    struct arena *arena = &ring->arena;
    struct ring_keyspace k = { .name = arena_text(arena, name) };
    struct cursor c = cursor_of(replication);
    uint32_t count = cursor_be32(&c);
    k.centers = arena_array(arena, struct ring_center, u64_min(count, CENTERS_MAX));
    for (uint32_t i = 0; i < count && !c.bad; i++) {
        struct bytes key = part(&c), value = part(&c);
        if (!c.bad)
            keyspace_option(arena, &k, key, value);
    }
    if (c.bad)
        return ERR_PROTOCOL;
    ring->keyspaces = grown(arena, ring->keyspaces, ring->keyspaces_count, &ring->keyspaces_room,
                            sizeof *ring->keyspaces);
    ring->keyspaces[ring->keyspaces_count++] = k;
    return OK;
}

static int by_token(const void *a, const void *b)
{
    const struct ring_token *x = a, *y = b;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return (x->node->at > y->node->at) - (x->node->at < y->node->at);
}

static bool among(struct node *const *nodes, size_t count, const struct node *node)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

/* Is there a node of this data centre and rack among them? */
static bool rack_is_met(struct node *const *nodes, size_t count, const struct node *like)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(nodes[i]->data_center, like->data_center) &&
            !strcmp(nodes[i]->rack, like->rack))
            return true;
    return false;
}

static void center_count(struct ring_center *center, struct node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(nodes[i]->data_center, center->name) != 0)
            continue;
        center->nodes_count++;
        center->racks_count += !rack_is_met(nodes, i, nodes[i]);
    }
}

void ring_finish(struct ring *ring)
{
    struct node *nodes[NODES_MAX];
    size_t count = 0;
    ensure(ring->tokens_count <= ring->tokens_room);
    if (ring->tokens_count)
        qsort(ring->tokens, ring->tokens_count, sizeof *ring->tokens, by_token);
    for (size_t i = 0; i < ring->tokens_count && count < NODES_MAX; i++)
        if (!among(nodes, count, ring->tokens[i].node))
            nodes[count++] = ring->tokens[i].node;
    for (size_t k = 0; k < ring->keyspaces_count; k++)
        for (size_t c = 0; c < ring->keyspaces[k].centers_count; c++)
            center_count(&ring->keyspaces[k].centers[c], nodes, count);
}

/* ---- replicas ---- */

/* The index of the first token that is not before `token`; it wraps. */
static size_t owner_at(const struct ring *ring, int64_t token)
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

static size_t simple_replicas(const struct ring *ring, size_t at, size_t factor, struct node **out)
{
    size_t found = 0;
    for (size_t i = 0; i < ring->tokens_count && found < factor; i++) {
        struct node *node = ring->tokens[(at + i) % ring->tokens_count].node;
        if (!among(out, found, node))
            out[found++] = node;
    }
    return found;
}

/* One data centre's share of a walk around the ring. */
struct center_walk {
    size_t left;     /* replicas still to be found */
    int64_t repeats; /* how often a rack may be met again */
};

static bool walk_takes(struct center_walk *w, const char *center, const struct node *node,
                       bool is_rack_met)
{
    if (!w->left || strcmp(center, node->data_center) != 0)
        return false;
    if (is_rack_met && w->repeats-- <= 0)
        return false;
    w->left--;
    return true;
}

static size_t topology_replicas(const struct ring *ring, const struct ring_keyspace *k, size_t at,
                                struct node **out, size_t room)
{
    struct center_walk walks[CENTERS_MAX];
    size_t found = 0, left = 0;
    for (size_t c = 0; c < k->centers_count; c++) {
        const struct ring_center *center = &k->centers[c];
        walks[c].left = u64_min(center->factor, center->nodes_count);
        walks[c].repeats = (int64_t)center->factor - (int64_t)center->racks_count;
        left += walks[c].left;
    }
    for (size_t i = 0; i < ring->tokens_count && left && found < room; i++) {
        struct node *node = ring->tokens[(at + i) % ring->tokens_count].node;
        if (among(out, found, node))
            continue;
        bool is_rack_met = rack_is_met(out, found, node), is_taken = false;
        for (size_t c = 0; c < k->centers_count && !is_taken; c++)
            is_taken = walk_takes(&walks[c], k->centers[c].name, node, is_rack_met);
        if (is_taken)
            out[found++] = node;
        left -= is_taken;
    }
    return found;
}

size_t ring_replicas(const struct ring *ring, const char *keyspace, int64_t token,
                     struct node **out, size_t room)
{
    ensure(room > 0);
    if (!ring->tokens_count)
        return 0;
    for (size_t i = 0; i < ring->keyspaces_count; i++) {
        const struct ring_keyspace *k = &ring->keyspaces[i];
        if (strcmp(k->name, keyspace) != 0)
            continue;
        size_t at = owner_at(ring, token);
        if (k->strategy == RING_SIMPLE)
            return simple_replicas(ring, at, u64_min(k->factor, room), out);
        if (k->strategy == RING_TOPOLOGY)
            return topology_replicas(ring, k, at, out, room);
        return 0;
    }
    return 0;
}
