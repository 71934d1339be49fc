/* route.c - which node and which connection a request goes to.
 *
 * A request for a key goes to its replicas in turn (RD_AWARE) or to others first (RD_FORWARD); text
 * goes to the node that the session reads its topology from, so that a schema change and what
 * follows it meet on one node; all else goes around (RD_RANDOM: everything).  RD_PINNED knows the
 * caller's first host only.
 *
 * Nodes in their back-off, and those whose connection takes long to open, come last, not never:
 * when nothing better is left, an attempt beats an error.  A node that a request has tried is not
 * tried again by it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "driver/core.h"

bool route_has_tried(const struct rd_result *r, const struct node *n)
{
    return r->tried[n->at / 64] >> n->at % 64 & 1;
}

static struct link *ready_link(const struct core *c, const struct node *n)
{
    struct link *best = NULL;
    for (size_t i = 0; i < c->connections; i++) {
        struct link *l = &n->links[i];
        if (l->state == LINK_READY && (!best || l->assigned_count < best->assigned_count))
            best = l;
    }
    return best;
}

size_t route_replicas(const struct rd_result *r, struct node **out)
{
    return ring_replicas(&r->core->rings[r->core->ring_at], r->statement->columns[0].keyspace,
                         r->token, out, NODES_MAX);
}

static bool is_fit(const struct core *c, const struct node *n)
{
    bool is_late = false;
    for (size_t i = 0; i < c->connections; i++)
        is_late = is_late || link_is_late(&n->links[i], c->now_ms);
    return ready_link(c, n) || (c->now_ms >= n->retry_at_ms && !is_late);
}

/* Appends all listed nodes but `others`, beginning with the turn. */
static size_t add_around(const struct core *c, struct node **out, size_t count,
                         struct node *const *others, size_t others_count)
{
    for (size_t i = 0; i < c->nodes_count; i++) {
        struct node *n = c->nodes[(c->turn + i) % c->nodes_count];
        bool is_other = !n->is_listed;
        for (size_t k = 0; k < others_count && !is_other; k++)
            is_other = others[k] == n;
        if (!is_other)
            out[count++] = n;
    }
    return count;
}

static size_t add_turned(const struct core *c, struct node **out, size_t count,
                         struct node *const *nodes, size_t nodes_count)
{
    for (size_t i = 0; i < nodes_count; i++)
        out[count++] = nodes[(c->turn + i) % nodes_count];
    return count;
}

/* In the order of the caller's hosts. */
static size_t add_named(const struct core *c, struct node **out)
{
    size_t most = c->routing == RD_PINNED ? 1 : c->nodes_count, count = 0;
    for (size_t i = 0; i < most; i++)
        if (c->nodes[i]->is_listed)
            out[count++] = c->nodes[i];
    return count;
}

/* The nodes that a request may go to, the best first. */
static size_t candidates(const struct rd_result *r, struct node **out)
{
    const struct core *c = r->core;
    struct node *near[NODES_MAX];
    size_t near_count = 0;
    if (c->routing == RD_PINNED || r->purpose == FOR_LOCAL)
        return add_named(c, out);
    if (r->has_token && c->routing != RD_RANDOM)
        near_count = route_replicas(r, near);
    else if (r->opcode != OPCODE_EXECUTE && c->routing != RD_RANDOM && c->control)
        near[near_count++] = c->control->node;
    if (r->has_token && c->routing == RD_FORWARD) {
        size_t count = add_around(c, out, 0, near, near_count);
        return add_turned(c, out, count, near, near_count);
    }
    size_t count = add_turned(c, out, 0, near, near_count);
    return add_around(c, out, count, near, near_count);
}

/* A link to the node: a ready one with little to do, or one that is opened. */
static struct link *node_link(struct core *c, struct node *n)
{
    struct link *turned = &n->links[n->turn++ % c->connections];
    if (turned->state == LINK_READY)
        return turned;
    if (turned->state == LINK_IDLE && c->now_ms >= n->retry_at_ms)
        link_dial(turned, c->version, c->wants_lz4, c->now_ms, c->connect_ms);
    struct link *ready = ready_link(c, n);
    return ready ? ready : turned;
}

bool route_choose(struct rd_result *r)
{
    struct core *c = r->core;
    struct node *order[NODES_MAX];
    size_t count = candidates(r, order);
    c->turn++;
    for (int pass = 0; pass < 2; pass++) { /* first the fit ones, then any */
        for (size_t i = 0; i < count; i++) {
            if (route_has_tried(r, order[i]) || (pass == 0 && !is_fit(c, order[i])))
                continue;
            request_assign(r, node_link(c, order[i]));
            return true;
        }
    }
    return false;
}

bool route_has_ready(const struct rd_result *r)
{
    struct node *order[NODES_MAX];
    size_t count = candidates(r, order);
    for (size_t i = 0; i < count; i++)
        if (!route_has_tried(r, order[i]) && ready_link(r->core, order[i]))
            return true;
    return false;
}
