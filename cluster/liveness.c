/* liveness.c - one step: an event about one node, and whether it went up or down by it.
 *
 * Answers are counted from the moment the connection stood: what an earlier one heard proves
 * nothing.  One answer may be a leftover of a moment; two in a row show that the other side works.
 *
 * A connection that breaks proves nothing either: routers and firewalls do that.  A process that
 * ends breaks all of its connections and refuses new ones, so that 2 s without one are enough, and
 * a connection that is made again in time leaves the node up.
 *
 * Invariants: 1. a change is reported once.  2. Up begins with is_connected, is_ready and two
 * answers.  3. lost_ns only while up.
 * It sends nothing and knows no clock: gossiper.c and watch.c do.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/liveness.h"

static const uint64_t reconnect_ns = 2000000000;

static struct life *life_of(struct liveness_table *l, unsigned node)
{
    ensure(node >= 1 && node <= NODES_MAX);
    return &l->nodes[node - 1];
}

static enum liveness_change life_raise(struct life *life, uint64_t now_ns)
{
    bool is_alive =
        life->is_connected && life->is_ready && life->answers >= LIVENESS_ANSWERS_FOR_UP;
    if (life->is_up || !is_alive)
        return LIVENESS_SAME;
    life->is_up = true;
    phi_begin(&life->answered, now_ns);
    phi_begin(&life->beats, now_ns);
    return LIVENESS_UP;
}

static enum liveness_change life_end(struct life *life)
{
    bool was_up = life->is_up;
    life->is_up = false;
    life->answers = 0;
    life->lost_ns = 0;
    return was_up ? LIVENESS_DOWN : LIVENESS_SAME;
}

static void life_connect(struct life *life, bool is_connected, uint64_t now_ns)
{
    bool is_lost = life->is_up && !is_connected;
    if (!is_lost)
        life->lost_ns = 0;
    else if (life->lost_ns == 0)
        life->lost_ns = u64_max(now_ns, 1);
    life->is_connected = is_connected;
    life->answers = 0;
}

static enum liveness_change life_answered(struct life *life, uint64_t now_ns)
{
    if (!life->is_connected)
        return LIVENESS_SAME; /* an answer that was overtaken by the close */
    phi_heard(&life->answered, now_ns);
    life->answers++;
    return life_raise(life, now_ns);
}

static double life_phi(const struct life *life, uint64_t now_ns)
{
    double answered = phi_of(&life->answered, now_ns), beats = phi_of(&life->beats, now_ns);
    return answered > beats ? answered : beats;
}

static bool life_is_over(const struct life *life, double convict, uint64_t now_ns)
{
    bool is_gone = life->lost_ns && now_ns >= life->lost_ns + reconnect_ns;
    return life->is_up && (is_gone || life_phi(life, now_ns) >= convict);
}

enum liveness_change liveness_step(struct liveness_table *l, unsigned node,
                                   enum liveness_event event, uint64_t now_ns)
{
    struct life *life = life_of(l, node);
    ensure(l->convict > 0);
    switch (event) {
    case LIVENESS_CONNECTED:
    case LIVENESS_CLOSED:
        life_connect(life, event == LIVENESS_CONNECTED, now_ns);
        return LIVENESS_SAME;
    case LIVENESS_ANSWERED:
        return life_answered(life, now_ns);
    case LIVENESS_BEAT:
        phi_heard(&life->beats, now_ns);
        return LIVENESS_SAME;
    case LIVENESS_READY:
        life->is_ready = true;
        return life_raise(life, now_ns);
    case LIVENESS_NOT_READY:
        life->is_ready = false;
        return life_end(life);
    case LIVENESS_TICK:
        break;
    }
    return life_is_over(life, l->convict, now_ns) ? life_end(life) : LIVENESS_SAME;
}

bool liveness_is_up(const struct liveness_table *l, unsigned node)
{
    ensure(node >= 1 && node <= NODES_MAX);
    return l->nodes[node - 1].is_up;
}

double liveness_phi(const struct liveness_table *l, unsigned node, uint64_t now_ns)
{
    ensure(node >= 1 && node <= NODES_MAX);
    const struct life *life = &l->nodes[node - 1];
    return life->is_up ? life_phi(life, now_ns) : 0;
}

void liveness_pass(struct liveness_table *l, uint64_t ns, uint64_t now_ns)
{
    for (size_t i = 0; i < NODES_MAX; i++) {
        struct life *life = &l->nodes[i];
        phi_pass(&life->answered, ns, now_ns);
        phi_pass(&life->beats, ns, now_ns);
        if (life->lost_ns)
            life->lost_ns = u64_min(life->lost_ns + ns, now_ns);
    }
}
