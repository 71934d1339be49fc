/* gossip.c - comparing, taking and telling digests and states.  See gossip.h.
 *
 * What is newer is decided by (generation, heartbeat) for a life and by (generation, version) for a
 * state.  A digest alone moves generation and heartbeat; a new generation voids the state, which
 * was another process's.
 *
 * A node that hears of itself what it has not said (its clock went back, and an earlier process had
 * a later generation) takes a generation behind that, so that it is heard again.
 *
 * Invariants: 1. of a node, (generation, heartbeat) and (generation, version) never go back.
 * 2. A message is read through once before anything of it is taken.  3. Nothing is allocated for a
 * number that the message only claims.
 */
// SPDX-License-Identifier: Apache-2.0
#include "cluster/gossip.h"

#include "base/mem.h"

static const uint64_t number_max = (uint64_t)1 << 56; /* of generations, heartbeats, versions */

struct digest {
    uint64_t generation, heartbeat, version;
};
/* One part of a message as it is read; `number` is the item's. */
struct part {
    struct cursor *from;
    uint64_t number, generation;
};
/* One part as it is written. */
struct part_out {
    struct buf *to;
    size_t end; /* no item begins behind it */
    uint64_t number, generation;
};

/* ---- life ---- */

void gossip_init(struct gossip *g, unsigned self, size_t count, uint64_t generation)
{
    ensure(self >= 1 && self <= count && count <= GOSSIP_NODES_MAX);
    *g = (struct gossip){ .self = self, .count = count };
    g->nodes = mem_zalloc(count * sizeof *g->nodes);
    g->nodes[self - 1].generation = u64_min(u64_max(generation, 1), number_max / 2);
}

void gossip_deinit(struct gossip *g)
{
    for (size_t i = 0; i < g->count; i++)
        buf_deinit(&g->nodes[i].state);
    mem_free(g->nodes);
    *g = (struct gossip){ 0 };
}

void gossip_beat(struct gossip *g, uint64_t heartbeat)
{
    struct gossip_node *self = &g->nodes[g->self - 1];
    self->heartbeat = u64_max(self->heartbeat, heartbeat);
}

void gossip_set_state(struct gossip *g, struct bytes state)
{
    struct gossip_node *self = &g->nodes[g->self - 1];
    ensure(state.size <= GOSSIP_STATE_BYTES_MAX);
    if (self->version > 0 && bytes_equal(buf_bytes(&self->state), state))
        return;
    buf_clear(&self->state);
    buf_put_bytes(&self->state, state);
    self->version++;
}

size_t gossip_fanout(size_t count)
{
    static const size_t digest_bytes = 10, frame_bytes = 100;
    size_t exchange = 3 * digest_bytes / 2 * count + 2 * frame_bytes; /* half the answer is newer */
    size_t most = GOSSIP_SECOND_BYTES / (2 * exchange);               /* asked, and asking */
    if (count < 2)
        return 0;
    return (size_t)u64_min(u64_max(most, 1), count - 1);
}

/* ---- writing ---- */

static struct part_out part_begin(struct buf *to)
{
    return (struct part_out){ .to = to, .end = to->size + GOSSIP_PART_BYTES };
}

static bool part_is_full(const struct part_out *p) { return p->to->size >= p->end; }

static void item_put(struct part_out *p, uint64_t number)
{
    ensure(number > p->number);
    buf_put_vint(p->to, number - p->number);
    p->number = number;
}

static void digest_put(struct part_out *p, uint64_t number, const struct gossip_node *n)
{
    item_put(p, number);
    buf_put_signed_vint(p->to, (int64_t)(n->generation - p->generation));
    buf_put_vint(p->to, n->heartbeat);
    buf_put_vint(p->to, n->version);
    p->generation = n->generation;
}

static void state_put(struct part_out *p, uint64_t number, const struct gossip_node *n)
{
    item_put(p, number);
    buf_put_vint(p->to, n->generation);
    buf_put_vint(p->to, n->version);
    buf_put_sized(p->to, buf_bytes(&n->state));
}

static void part_end(struct part_out *p) { buf_put_vint(p->to, 0); }

/* ---- reading ---- */

/* False at the end of the part, and when the cursor is bad. */
static bool item_next(struct part *p)
{
    uint64_t gap = cursor_vint(p->from);
    if (p->from->bad || gap == 0)
        return false;
    p->from->bad = gap > GOSSIP_NODES_MAX - p->number;
    p->number += gap;
    return !p->from->bad;
}

static bool digest_next(struct part *p, struct digest *out)
{
    if (!item_next(p))
        return false;
    out->generation = p->generation + (uint64_t)cursor_signed_vint(p->from);
    out->heartbeat = cursor_vint(p->from);
    out->version = cursor_vint(p->from);
    p->generation = out->generation;
    p->from->bad |= u64_max(out->generation, out->heartbeat) >= number_max;
    p->from->bad |= out->version >= number_max;
    return !p->from->bad;
}

static bool state_next(struct part *p, struct digest *out, struct bytes *state)
{
    if (!item_next(p))
        return false;
    *out = (struct digest){ .generation = cursor_vint(p->from) };
    out->version = cursor_vint(p->from);
    *state = cursor_sized(p->from);
    p->from->bad |= u64_max(out->generation, out->version) >= number_max;
    p->from->bad |= out->version == 0 || state->size > GOSSIP_STATE_BYTES_MAX;
    return !p->from->bad;
}

/* The whole message is well made; *digests is where its first part begins. */
static enum err message_check(struct bytes in, struct cursor *digests)
{
    struct cursor c = cursor_of(in);
    struct digest d;
    struct bytes state;
    uint8_t format = cursor_u8(&c);
    *digests = c;
    if (!c.bad && format != GOSSIP_FORMAT)
        return ERR_PROTOCOL;
    for (struct part p = { .from = &c }; digest_next(&p, &d);)
        ;
    for (struct part p = { .from = &c }; state_next(&p, &d, &state);)
        ;
    for (struct part p = { .from = &c }; item_next(&p);)
        ;
    return c.bad || cursor_left(&c) > 0 ? ERR_CORRUPT : OK;
}

/* ---- what is newer ---- */

static int compare(uint64_t generation, uint64_t a, uint64_t other_generation, uint64_t b)
{
    if (generation != other_generation)
        return generation < other_generation ? -1 : 1;
    return (a > b) - (a < b);
}

static bool beats_digest(const struct gossip_node *n, const struct digest *d)
{
    return compare(n->generation, n->heartbeat, d->generation, d->heartbeat) > 0;
}

/* Of what two know of a state: negative, 0, positive.  Who knows none has nothing newer. */
static int compare_state(const struct gossip_node *n, const struct digest *d)
{
    int order = compare(n->generation, n->version, d->generation, d->version);
    if (order > 0 && n->version == 0)
        return 0;
    return order < 0 && d->version == 0 ? 0 : order;
}

/* NULL: a number that this node does not know, or its own. */
static struct gossip_node *node_of(struct gossip *g, uint64_t number)
{
    return number <= g->count && number != g->self ? &g->nodes[number - 1] : NULL;
}

static void node_reborn(struct gossip_node *n, uint64_t generation)
{
    n->generation = generation;
    n->heartbeat = n->version = 0;
    buf_clear(&n->state);
    n->news |= GOSSIP_REBORN;
}

/* Somebody knows more of this node than it has said. */
static void self_heard(struct gossip *g, const struct digest *d)
{
    struct gossip_node *self = &g->nodes[g->self - 1];
    bool is_later = d->generation > self->generation;
    bool is_same = d->generation == self->generation;
    bool is_other = is_same && (d->heartbeat > self->heartbeat || d->version > self->version);
    if ((is_later || is_other) && d->generation < number_max / 2)
        self->generation = d->generation + 1;
}

static void digest_take(struct gossip *g, uint64_t number, const struct digest *d)
{
    struct gossip_node *n = node_of(g, number);
    if (number == g->self)
        self_heard(g, d);
    if (!n || compare(n->generation, n->heartbeat, d->generation, d->heartbeat) >= 0)
        return;
    if (n->generation < d->generation)
        node_reborn(n, d->generation);
    n->heartbeat = d->heartbeat;
    n->news |= GOSSIP_BEAT;
}

static void state_take(struct gossip *g, uint64_t number, const struct digest *d,
                       struct bytes state)
{
    struct gossip_node *n = node_of(g, number);
    if (!n || compare(n->generation, n->version, d->generation, d->version) >= 0)
        return;
    if (n->generation < d->generation)
        node_reborn(n, d->generation);
    n->version = d->version;
    buf_clear(&n->state);
    buf_put_bytes(&n->state, state);
    n->news |= GOSSIP_STATE;
}

/* ---- messages ---- */

static void ask_parts_end(struct buf *out, int parts)
{
    for (int i = 0; i < parts; i++)
        buf_put_vint(out, 0);
}

void gossip_ask(struct gossip *g, struct buf *out)
{
    buf_put_u8(out, GOSSIP_FORMAT);
    struct part_out p = part_begin(out);
    while (g->next < g->count && !part_is_full(&p)) {
        g->next++;
        digest_put(&p, g->next, &g->nodes[g->next - 1]);
    }
    if (g->next == g->count)
        g->next = 0;
    ask_parts_end(out, 3);
}

/* What of the asked-for nodes is newer here, and what there. */
static void answer_put(struct gossip *g, struct cursor digests, struct buf *out)
{
    struct digest d;
    struct cursor c = digests;
    struct part_out o = part_begin(out);
    for (struct part p = { .from = &c }; digest_next(&p, &d) && !part_is_full(&o);)
        if (p.number <= g->count && beats_digest(&g->nodes[p.number - 1], &d))
            digest_put(&o, p.number, &g->nodes[p.number - 1]);
    part_end(&o);
    c = digests;
    o = part_begin(out);
    for (struct part p = { .from = &c }; digest_next(&p, &d) && !part_is_full(&o);)
        if (p.number <= g->count && compare_state(&g->nodes[p.number - 1], &d) > 0)
            state_put(&o, p.number, &g->nodes[p.number - 1]);
    part_end(&o);
    c = digests;
    o = part_begin(out);
    for (struct part p = { .from = &c }; digest_next(&p, &d) && !part_is_full(&o);)
        if (node_of(g, p.number) && compare_state(&g->nodes[p.number - 1], &d) < 0)
            item_put(&o, p.number);
    part_end(&o);
}

static void parts_take(struct gossip *g, struct cursor *c)
{
    struct digest d;
    struct bytes state;
    for (struct part p = { .from = c }; digest_next(&p, &d);)
        digest_take(g, p.number, &d);
    for (struct part p = { .from = c }; state_next(&p, &d, &state);)
        state_take(g, p.number, &d, state);
}

enum err gossip_answer(struct gossip *g, struct bytes ask, struct buf *out)
{
    struct cursor c;
    enum err err = message_check(ask, &c);
    if (err != OK)
        return err;
    buf_put_u8(out, GOSSIP_FORMAT);
    answer_put(g, c, out);
    parts_take(g, &c);
    return OK;
}

enum err gossip_hear(struct gossip *g, struct bytes answer, struct buf *out)
{
    struct cursor c;
    enum err err = message_check(answer, &c);
    if (err != OK)
        return err;
    parts_take(g, &c);
    size_t start = out->size;
    bool has_any = false;
    buf_put_u8(out, GOSSIP_FORMAT);
    ask_parts_end(out, 1);
    struct part_out o = part_begin(out);
    for (struct part p = { .from = &c }; item_next(&p) && !part_is_full(&o);) {
        if (p.number > g->count || g->nodes[p.number - 1].version == 0)
            continue;
        state_put(&o, p.number, &g->nodes[p.number - 1]);
        has_any = true;
    }
    part_end(&o);
    ask_parts_end(out, 1);
    if (!has_any)
        out->size = start;
    return OK;
}

enum err gossip_take(struct gossip *g, struct bytes tell)
{
    struct cursor c;
    enum err err = message_check(tell, &c);
    if (err == OK)
        parts_take(g, &c);
    return err;
}
