/* liveness.c - one step: an event about one node, and whether it went up or down by it.
 *
 * A node is up only while its connection stands; answers are counted from the moment it stood, so
 * what an earlier connection heard proves nothing.  One answer may be a leftover of a moment, two
 * in a row show that the other side is working; one missing for the timeout shows that it is not.
 *
 * Invariants: 1. is_up implies is_connected and answers >= 2.  2. A change is reported once.
 * It sends nothing and knows no clock: pings.c does.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/liveness.h"

static struct life *life_of(struct liveness_table *l, unsigned node)
{
    ensure(node >= 1 && node <= NODES_MAX);
    return &l->nodes[node - 1];
}

static enum liveness_change life_set(struct life *life, bool is_up)
{
    if (life->is_up == is_up)
        return LIVENESS_SAME;
    life->is_up = is_up;
    return is_up ? LIVENESS_UP : LIVENESS_DOWN;
}

static enum liveness_change life_answered(struct life *life, uint64_t now_ns)
{
    if (!life->is_connected)
        return LIVENESS_SAME; /* an answer that was overtaken by the close */
    life->answered_ns = now_ns;
    life->answers++;
    return life_set(life, life->answers >= LIVENESS_ANSWERS_FOR_UP);
}

static enum liveness_change life_reset(struct life *life, bool is_connected, uint64_t now_ns)
{
    life->is_connected = is_connected;
    life->answers = 0;
    life->answered_ns = now_ns;
    return life_set(life, false);
}

enum liveness_change liveness_step(struct liveness_table *l, unsigned node,
                                   enum liveness_event event, uint64_t now_ns)
{
    struct life *life = life_of(l, node);
    enum liveness_change change = LIVENESS_SAME;
    switch (event) {
    case LIVENESS_CONNECTED:
        change = life_reset(life, true, now_ns);
        break;
    case LIVENESS_CLOSED:
        change = life_reset(life, false, now_ns);
        break;
    case LIVENESS_NOT_READY:
        change = life_reset(life, life->is_connected, now_ns);
        break;
    case LIVENESS_ANSWERED:
        change = life_answered(life, now_ns);
        break;
    case LIVENESS_TICK:
        if (now_ns >= liveness_next_ns(l, node))
            change = life_reset(life, life->is_connected, now_ns);
        break;
    }
    ensure_after(life->is_up, life->is_connected && life->answers >= LIVENESS_ANSWERS_FOR_UP);
    return change;
}

bool liveness_is_up(const struct liveness_table *l, unsigned node)
{
    ensure(node >= 1 && node <= NODES_MAX);
    return l->nodes[node - 1].is_up;
}

uint64_t liveness_next_ns(const struct liveness_table *l, unsigned node)
{
    ensure(node >= 1 && node <= NODES_MAX);
    const struct life *life = &l->nodes[node - 1];
    return life->is_up ? life->answered_ns + l->timeout_ns : UINT64_MAX;
}
