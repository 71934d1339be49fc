/* heal_faults.c - what goes wrong in a storm: drawn from the seed, overlapping, each for a while.
 *
 * At most one blow in three takes away a whole node, so that the ring has something to do between
 * them.  A node whose disk has failed once may have given up a segment of its log and refuse writes
 * until it is restarted, as an operator would do: it is, when the failing ends.  So is one that
 * could not start for want of space, or because its disk failed just then.
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/heal.h"

static const uint64_t millisecond = 1000 * 1000, second = 1000 * 1000 * 1000;

static const char *const texts[HEAL_FAULT_KINDS] = {
#define X(name, text) text,
    HEAL_FAULT_LIST(X)
#undef X
};

static bool is_on(const struct heal *h, enum heal_fault_kind kind)
{
    for (int i = 0; i < HEAL_FAULTS_MAX; i++)
        if (h->faults[i].end_ns && h->faults[i].kind == kind)
            return true;
    return false;
}

/* What holds of the whole world now. */
static void world_set(struct heal *h)
{
    struct sim_faults f = { .would_wait_pct = 10, .rare_pct = 10, .chunk_bytes_max = 2000 };
    f.net_ns_max = 3 * millisecond;
    f.disk_ns_max = 2 * millisecond;
    f.mail_ns_max = 50 * 1000;
    if (is_on(h, HEAL_FRAMES)) {
        f.frame_lost_pct = 15;
        f.frame_repeated_pct = 15;
        f.frame_reordered_pct = 15;
    }
    if (is_on(h, HEAL_RESETS))
        f.net_reset_pct = 20;
    if (is_on(h, HEAL_SLOW))
        f.disk_ns_max = 400 * millisecond;
    if (is_on(h, HEAL_FAILING))
        f.disk_error_pct = 5;
    sim_set_faults(h->ring.sim, f);
}

static void kill(struct heal *h, int node)
{
    if (!sim_alive(h->ring.sim, node))
        return;
    heal_rare_take(h, node);
    ring_kill(&h->ring, node);
    h->dead |= 1u << node;
    h->reborn |= 1u << node;
}

static bool is_of_node(enum heal_fault_kind kind)
{
    return kind != HEAL_POWER && kind != HEAL_FRAMES && kind != HEAL_RESETS && kind != HEAL_SLOW &&
           kind != HEAL_FAILING;
}

static void tell_begin(struct heal *h, const struct heal_fault *f)
{
    if (f->kind == HEAL_DEAF)
        heal_note(h, "node %d %s: node %d", f->node + 1, texts[f->kind], f->other + 1);
    else if (is_of_node(f->kind))
        heal_note(h, "node %d: %s", f->node + 1, texts[f->kind]);
    else
        heal_note(h, "%s", texts[f->kind]);
}

static void clock_jump(struct heal *h, int node)
{
    int64_t by_us = (int64_t)heal_draw(h, 2000000) - 1000000;
    sim_clock_jump(h->ring.sim, node, by_us);
    h->shifted_us[node] += (uint64_t)(by_us < 0 ? -by_us : by_us);
}

/* Far more than a quartz does (some 100 ppm), so that a storm is long enough to show it. */
static void clock_drift(struct heal *h, const struct heal_fault *f)
{
    int ppm = (int)heal_draw(h, 20000) - 10000;
    sim_clock_drift(h->ring.sim, f->node, ppm);
    h->shifted_us[f->node] +=
        (f->end_ns - sim_now(h->ring.sim)) / 1000 * (uint64_t)(ppm < 0 ? -ppm : ppm) / 1000000;
}

static void begin(struct heal *h, struct heal_fault *f)
{
    struct sim *sim = h->ring.sim;
    h->faults_seen[f->kind]++;
    tell_begin(h, f);
    switch (f->kind) {
    case HEAL_KILL:
        kill(h, f->node);
        break;
    case HEAL_POWER:
        for (int i = 0; i < RING_NODES; i++)
            kill(h, i);
        break;
    case HEAL_PAUSE:
        sim_pause(sim, f->node, f->end_ns - sim_now(sim));
        break;
    case HEAL_PART:
        ring_cut(&h->ring, f->node, true);
        break;
    case HEAL_DEAF:
        sim_cut(sim, f->other, f->node, true);
        break;
    case HEAL_FULL:
        sim_disk_size(sim, f->node, 1 << 20);
        break;
    case HEAL_CLOCK:
        clock_jump(h, f->node);
        break;
    case HEAL_DRIFT:
        clock_drift(h, f);
        break;
    case HEAL_FRAMES:
    case HEAL_RESETS:
    case HEAL_SLOW:
    case HEAL_FAILING:
    case HEAL_FAULT_KINDS:
        break;
    }
    world_set(h);
}

static void revive(struct heal *h, int node)
{
    if (!(h->dead >> node & 1))
        return;
    h->dead &= ~(1u << node);
    ring_start(&h->ring, node);
}

/* Those that are down, and not because they are killed now. */
static void revive_fallen(struct heal *h)
{
    unsigned held = is_on(h, HEAL_POWER) ? h->dead : 0;
    for (int i = 0; i < HEAL_FAULTS_MAX; i++)
        if (h->faults[i].end_ns && h->faults[i].kind == HEAL_KILL)
            held |= 1u << h->faults[i].node;
    for (int i = 0; i < RING_NODES; i++)
        if (!(held >> i & 1))
            revive(h, i);
}

void heal_fallen(struct heal *h, int node)
{
    enum err err = h->ring.nodes[node].process.failed.err;
    if (err != ERR_IO && err != ERR_NO_SPACE)
        heal_fail("node %d ended: %s", node + 1, h->ring.nodes[node].process.failed.text);
    heal_note(h, "node %d did not start: %.60s", node + 1, h->ring.nodes[node].process.failed.text);
    h->ring.nodes[node].first = NULL;
    h->dead |= 1u << node;
    h->reborn |= 1u << node;
    if (h->storm_end_ns && sim_now(h->ring.sim) >= h->storm_end_ns)
        revive(h, node); /* what it fell over was of the storm */
}

static void end(struct heal *h, struct heal_fault *f)
{
    struct sim *sim = h->ring.sim;
    f->end_ns = 0;
    heal_note(h, "over: %s, node %d", texts[f->kind], f->node + 1);
    if (f->kind == HEAL_PART)
        ring_cut(&h->ring, f->node, false);
    if (f->kind == HEAL_DEAF)
        sim_cut(sim, f->other, f->node, false);
    if (f->kind == HEAL_FULL)
        sim_disk_size(sim, f->node, 1ull << 40);
    if (f->kind == HEAL_DRIFT)
        sim_clock_drift(sim, f->node, 0);
    for (int i = 0; i < RING_NODES && f->kind == HEAL_FAILING; i++)
        kill(h, i);
    world_set(h);
    revive_fallen(h);
}

/* A node with a full disk does not start again. */
static bool are_full_and_failing(enum heal_fault_kind a, enum heal_fault_kind b)
{
    return (a == HEAL_FULL && b == HEAL_FAILING) || (a == HEAL_FAILING && b == HEAL_FULL);
}

/* Do two of them want the same thing? */
static bool is_in_the_way(const struct heal *h, const struct heal_fault *f)
{
    for (int i = 0; i < HEAL_FAULTS_MAX; i++) {
        const struct heal_fault *g = &h->faults[i];
        if (!g->end_ns)
            continue;
        if (g->kind == f->kind ||
            (is_of_node(f->kind) && is_of_node(g->kind) && g->node == f->node) ||
            g->kind == HEAL_POWER || f->kind == HEAL_POWER ||
            (f->kind == HEAL_DEAF && g->node == f->other) ||
            (g->kind == HEAL_DEAF && g->other == f->node) || are_full_and_failing(g->kind, f->kind))
            return true;
    }
    return false;
}

static void draw_fault(struct heal *h)
{
    struct heal_fault f = { .kind = (enum heal_fault_kind)heal_draw(h, HEAL_FAULT_KINDS),
                            .node = (int)heal_draw(h, RING_NODES) };
    f.other = (f.node + 1 + (int)heal_draw(h, RING_NODES - 1)) % RING_NODES;
    f.end_ns = sim_now(h->ring.sim) + second / 5 + heal_draw(h, 8 * second);
    if (heal_draw(h, 8) == 0) /* phi needs some 20 s of silence */
        f.end_ns += 20 * second;
    bool is_harsh = f.kind == HEAL_KILL || f.kind == HEAL_POWER || f.kind == HEAL_FULL ||
                    f.kind == HEAL_FAILING;
    if ((h->is_gentle && is_harsh) || is_in_the_way(h, &f))
        return;
    for (int i = 0; i < HEAL_FAULTS_MAX; i++)
        if (!h->faults[i].end_ns) {
            h->faults[i] = f;
            begin(h, &h->faults[i]);
            return;
        }
}

void heal_faults(struct heal *h, bool may_begin)
{
    uint64_t now = sim_now(h->ring.sim);
    for (int i = 0; i < HEAL_FAULTS_MAX; i++)
        if (h->faults[i].end_ns && h->faults[i].end_ns <= now)
            end(h, &h->faults[i]);
    if (!may_begin || now < h->next_fault_ns)
        return;
    h->next_fault_ns = now + heal_draw(h, 3 * second);
    draw_fault(h);
}

void heal_everything(struct heal *h)
{
    for (int i = 0; i < HEAL_FAULTS_MAX; i++)
        if (h->faults[i].end_ns)
            end(h, &h->faults[i]);
    ring_calm(&h->ring);
    revive_fallen(h);
}
