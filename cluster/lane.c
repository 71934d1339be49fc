/* lane.c - one way to one node, from this shard: dialling it again and again, and who waits for
 * what on it.
 *
 *     dial ─> resolved ─> connect ─> greet ─> greeted ─> stand ─> back off ─> pause ─> dial
 *                            └────────┴─────────┴── failed ──────────^
 *
 * A call takes a slot, which is its credit: its number, with a generation, is the id on the wire,
 * so an answer finds its call without a search and a late one finds nothing.  A call without a slot
 * or without a connection is parked as a copy; it goes out when there is one of each, and fails
 * when dialling fails.  What is in flight when the connection closes has failed too: it may or may
 * not have been done.
 *
 * The urgent lane of a node that cannot be reached tries the addresses of the seeds in turn with
 * the node's own: after all nodes have changed their addresses at once, the seeds still find them.
 *
 * Invariants: 1. a call is in a slot or parked until it ends.  2. bytes is the sum of their bodies.
 * 3. in_flight == slots with a call.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

enum { DIAL, RESOLVED, CONNECT, GREET, GREETED, STAND, BACK_OFF, PAUSE };
enum { CREDITS = 1024, SLOTS_FIRST = 16, NO_SLOT = UINT32_MAX };
static const uint64_t greeting_ns = 2000000000, back_off_least_ns = 50000000,
                      back_off_most_ns = 1000000000;

struct parked {
    struct list link;
    struct cluster_call *call;
    unsigned verb;
    bool has_token;
    int64_t token;
    size_t size;
    uint8_t body[];
};

static struct op_next lane_dial(struct op *);
static struct op_next lane_resolved(struct op *);
static struct op_next lane_connect(struct op *);
static struct op_next lane_greet(struct op *);
static struct op_next lane_greeted(struct op *);
static struct op_next lane_stand(struct op *);
static struct op_next lane_back_off(struct op *);
static struct op_next lane_pause(struct op *);
static void lane_release(struct op *);

static const struct op_state lane_states[] = {
    [DIAL] = { "dial", lane_dial, TO(DIAL) | TO(RESOLVED) | TO(BACK_OFF) },
    [RESOLVED] = { "resolved", lane_resolved, TO(RESOLVED) | TO(CONNECT) | TO(BACK_OFF) },
    [CONNECT] = { "connect", lane_connect, TO(CONNECT) | TO(GREET) | TO(BACK_OFF) },
    [GREET] = { "greet", lane_greet, TO(GREET) | TO(GREETED) | TO(BACK_OFF) },
    [GREETED] = { "greeted", lane_greeted, TO(GREETED) | TO(STAND) | TO(BACK_OFF) },
    [STAND] = { "stand", lane_stand, TO(STAND) | TO(BACK_OFF) },
    [BACK_OFF] = { "back off", lane_back_off, TO(BACK_OFF) | TO(PAUSE) },
    [PAUSE] = { "pause", lane_pause, TO(PAUSE) | TO(DIAL) },
};

static struct lane_out *lane_of(struct op *op) { return owner_of(op, struct lane_out, op); }

struct lane_out *lane_open(struct cluster *c, enum lane lane, unsigned node, const char *seed)
{
    struct lane_out *l = mem_zalloc(sizeof *l);
    l->c = c;
    l->lane = lane;
    l->node = node;
    l->seed = seed;
    l->free_slot = NO_SLOT;
    list_init(&l->parked);
    op_start(&l->op, io_ops(c->io), &c->op, lane_states, lane_release);
    return l;
}

static void lane_release(struct op *op)
{
    struct lane_out *l = lane_of(op);
    ensure(!l->conn && !l->socket && l->in_flight == 0 && list_empty(&l->parked));
    if (l->node && l->c->lanes[l->node - 1][l->lane] == l)
        l->c->lanes[l->node - 1][l->lane] = NULL;
    buf_deinit(&l->out);
    mem_free(l->slots);
    mem_free(l);
}

/* ---- slots and the parked ---- */

static void slots_grow(struct lane_out *l)
{
    unsigned most = l->c->options.credits ? l->c->options.credits : CREDITS;
    unsigned count = l->slots_count ? 2 * l->slots_count : SLOTS_FIRST;
    if (count > most)
        count = most;
    if (l->free_slot != NO_SLOT || count == l->slots_count)
        return;
    l->slots = mem_resize(l->slots, count * sizeof *l->slots);
    for (unsigned i = count; i-- > l->slots_count;) {
        l->slots[i] = (struct slot){ .next_free = l->free_slot };
        l->free_slot = i;
    }
    l->slots_count = count;
}

static void slot_free(struct lane_out *l, uint32_t i)
{
    struct slot *s = &l->slots[i];
    ensure(s->call && l->in_flight > 0 && l->bytes >= s->bytes);
    l->bytes -= s->bytes;
    l->c->counts.bytes -= s->bytes;
    l->in_flight--;
    *s = (struct slot){ .generation = s->generation + 1, .next_free = l->free_slot };
    l->free_slot = i;
}

static struct slot *slot_of_id(struct lane_out *l, uint64_t id)
{
    uint32_t i = (uint32_t)id;
    if (i >= l->slots_count || !l->slots[i].call)
        return NULL;
    return l->slots[i].generation == (uint32_t)(id >> 32) ? &l->slots[i] : NULL;
}

/* Takes the slot that is free and sends. */
static void lane_send(struct lane_out *l, struct cluster_call *call, struct frame *f,
                      struct bytes body)
{
    uint32_t i = l->free_slot;
    struct slot *s = &l->slots[i];
    uint64_t now_ns = io_now(l->c->io);
    l->free_slot = s->next_free;
    s->call = call;
    s->bytes = body.size;
    l->in_flight++;
    call->impl = l;
    call->id = (uint64_t)s->generation << 32 | i;
    f->id = call->id;
    f->epoch = l->c->epoch;
    f->budget_us = call->deadline_ns > now_ns ? (call->deadline_ns - now_ns) / 1000 : 0;
    l->c->counts.sent++;
    conn_send(l->conn, f, body);
}

static bool lane_can_send(struct lane_out *l)
{
    if (!l->conn || !l->conn->is_open)
        return false;
    slots_grow(l);
    return l->free_slot != NO_SLOT;
}

static void lane_park(struct lane_out *l, struct cluster_call *call,
                      const struct cluster_message *m)
{
    struct parked *p = mem_alloc(sizeof *p + m->body.size);
    *p = (struct parked){ .call = call,
                          .verb = m->verb,
                          .has_token = m->has_token,
                          .token = m->token,
                          .size = m->body.size };
    if (m->body.size)
        memcpy(p->body, m->body.data, m->body.size);
    list_add(&l->parked, &p->link);
    call->impl = l;
    call->id = UINT64_MAX;
    op_wake(&l->op);
}

/* Each other node has an even share. */
uint64_t peer_bytes_max(const struct cluster *c)
{
    size_t peers = c->ring.nodes_count > 1 ? c->ring.nodes_count - 1 : 1;
    return c->options.peers_bytes_max / peers;
}

bool lane_call(struct lane_out *l, struct cluster_call *call, const struct cluster_message *m)
{
    uint64_t most = peer_bytes_max(l->c);
    ensure(m->body.size <= CLUSTER_BODY_BYTES_MAX);
    bool is_bounded = most && l->bytes > 0;
    if (l->op.stop || (is_bounded && l->bytes + m->body.size > most))
        return false;
    l->bytes += m->body.size;
    l->c->counts.bytes += m->body.size;
    if (!list_empty(&l->parked) || !lane_can_send(l)) {
        lane_park(l, call, m);
        return true;
    }
    struct frame f = { .verb = m->verb, .has_token = m->has_token, .token = m->token };
    lane_send(l, call, &f, m->body);
    return true;
}

static void lane_unpark(struct lane_out *l)
{
    while (!list_empty(&l->parked) && lane_can_send(l)) {
        struct parked *p = owner_of(l->parked.next, struct parked, link);
        struct frame f = { .verb = p->verb, .has_token = p->has_token, .token = p->token };
        list_remove(&p->link);
        lane_send(l, p->call, &f, bytes_of(p->body, p->size));
        mem_free(p);
    }
}

static void parked_drop(struct lane_out *l, struct parked *p)
{
    ensure(l->bytes >= p->size);
    list_remove(&p->link);
    l->bytes -= p->size;
    l->c->counts.bytes -= p->size;
    mem_free(p);
}

void lane_forget(struct lane_out *l, struct cluster_call *call)
{
    struct slot *s = slot_of_id(l, call->id);
    if (s && s->call == call) {
        slot_free(l, (uint32_t)(s - l->slots));
        lane_unpark(l);
        return;
    }
    list_each(link, &l->parked)
    {
        struct parked *p = owner_of(link, struct parked, link);
        if (p->call == call)
            parked_drop(l, p);
    }
}

void lane_fail_all(struct lane_out *l, enum err err)
{
    for (uint32_t i = 0; i < l->slots_count; i++) {
        struct cluster_call *call = l->slots[i].call;
        if (!call)
            continue;
        slot_free(l, i);
        call_over(l->c, call, err);
    }
    list_each(link, &l->parked)
    {
        struct parked *p = owner_of(link, struct parked, link);
        call_over(l->c, p->call, err);
        parked_drop(l, p);
    }
    ensure(l->in_flight == 0 && l->bytes == 0);
}

void lane_answered(struct lane_out *l, const struct frame *f)
{
    struct slot *s = slot_of_id(l, f->id);
    if (!s) {
        l->c->counts.dropped++; /* too late: the call has ended */
        return;
    }
    struct cluster_call *call = s->call;
    enum err err = f->err;
    ensure(call->arena && call->impl == l);
    if (frame_body(f, call->arena, &call->answer) != OK)
        err = ERR_CORRUPT;
    slot_free(l, (uint32_t)(s - l->slots));
    l->c->counts.answered++;
    if (l->lane == LANE_URGENT)
        gossiper_event(l->c, l->node, LIVENESS_ANSWERED);
    list_remove(&call->link);
    call->impl = NULL;
    io_req_end(&call->req, err);
    lane_unpark(l);
}

void lane_hasten(struct lane_out *l)
{
    l->is_hasty = true;
    l->back_off_ns = 0;
    op_wake(&l->op);
}

void lane_drop(struct lane_out *l)
{
    if (l && l->conn)
        op_stop(&l->conn->op, ERR_CLOSED);
}

/* ---- dialling ---- */

/* Something went wrong, or the connection has closed. */
static struct op_next lane_failed(struct lane_out *l)
{
    if (l->socket)
        io_hangup(l->c->io, &l->socket);
    lane_fail_all(l, l->op.stop ? ERR_STOPPED : ERR_CLOSED);
    if (l->lane == LANE_URGENT)
        gossiper_event(l->c, l->node, LIVENESS_CLOSED);
    return op_goto(BACK_OFF);
}

/* The node's own address, or in turn with it one of the seeds'. */
static const char *lane_choose(struct lane_out *l)
{
    const struct cluster_options *o = &l->c->options;
    unsigned attempt = l->attempts++;
    if (l->seed)
        return l->seed;
    l->addr = l->c->ring.nodes[l->node - 1].internode;
    if (l->lane != LANE_URGENT || attempt % 2 == 0 || o->seeds_count == 0)
        return NULL;
    return o->seeds[(attempt / 2 + l->node - 1) % o->seeds_count];
}

static struct op_next lane_dial(struct op *op)
{
    struct lane_out *l = lane_of(op);
    if (op->stop) {
        lane_fail_all(l, ERR_STOPPED);
        return op_end(op, op->stop);
    }
    if (l->lane == LANE_BULK && list_empty(&l->parked))
        return op_wait(DIAL);
    l->is_hasty = false;
    l->wait = (struct io_req){ .err = OK };
    const char *text = lane_choose(l);
    if (!text)
        return op_goto(RESOLVED);
    l->addr = seeds_numeric(text, l->c->options.storage_port);
    if (l->addr.family)
        return op_goto(RESOLVED);
    char host[256];
    uint16_t port = seeds_host(text, l->c->options.storage_port, host, sizeof host);
    io_resolve(l->c->io, &l->wait, op, host, port, &l->addr);
    return op_wait(RESOLVED);
}

static struct op_next lane_resolved(struct op *op)
{
    struct lane_out *l = lane_of(op);
    struct io *io = l->c->io;
    if (l->wait.busy)
        return op_wait(RESOLVED);
    if (op->stop || l->wait.err != OK)
        return lane_failed(l);
    l->c->counts.reconnects += l->attempts > 1;
    io_sleep(io, &l->timer, op, greeting_ns);
    io_connect(io, &l->wait, op, &l->addr, NULL, &l->socket);
    return op_wait(CONNECT);
}

static bool lane_must_give_up(const struct lane_out *l) { return l->op.stop || !l->timer.busy; }

static struct op_next lane_connect(struct op *op)
{
    struct lane_out *l = lane_of(op);
    struct hello hello;
    if (l->wait.busy) {
        if (lane_must_give_up(l))
            io_cancel(l->c->io, &l->wait);
        return op_wait(CONNECT);
    }
    if (l->wait.err != OK || lane_must_give_up(l))
        return lane_failed(l);
    hello_make(l->c, l->lane, &hello);
    if (l->node)
        hello.wanted = l->c->ring.nodes[l->node - 1].host_id;
    buf_clear(&l->out);
    struct buf body = { 0 };
    struct frame f = { .verb = VERB_HELLO };
    hello_encode(&hello, &body);
    frame_encode(&l->out, &f, buf_bytes(&body));
    buf_deinit(&body);
    io_send(l->c->io, &l->wait, op, l->socket, l->out.data, l->out.size);
    l->greeting_size = 0;
    return op_wait(GREET);
}

static void lane_recv(struct lane_out *l)
{
    ensure(l->greeting_size < sizeof l->greeting);
    io_recv(l->c->io, &l->wait, &l->op, l->socket, l->greeting + l->greeting_size,
            sizeof l->greeting - l->greeting_size);
}

static struct op_next lane_greet(struct op *op)
{
    struct lane_out *l = lane_of(op);
    if (l->wait.busy) {
        if (lane_must_give_up(l) && l->socket)
            io_hangup(l->c->io, &l->socket);
        return op_wait(GREET);
    }
    if (l->wait.err != OK || !l->socket)
        return lane_failed(l);
    lane_recv(l);
    return op_wait(GREETED);
}

/* Is it whom we meant to reach?  What it says of itself is learned in any case. */
static bool lane_accepts(struct lane_out *l)
{
    struct cluster *c = l->c;
    char at[IO_ADDR_TEXT_BYTES];
    io_addr_print(&l->addr, at);
    enum refusal refusal = l->heard.refusal ? l->heard.refusal : hello_judge(c, &l->heard);
    if (refusal) {
        log_note_rarely(c->io, millis_ns(60000), LOG_WARN, "peer_refused",
                        "address=%s lane=%s reason=\"%s\" cluster_name=\"%s\"", at,
                        lane_name(l->lane), refusal_text(refusal), l->heard.cluster_name);
        return false;
    }
    l->is_self = uuid_equal(&l->heard.host_id, &c->host_id);
    if (l->seed)
        return !l->is_self;
    if (is_first(c) && !l->is_self)
        address_learn(c, &l->heard);
    return uuid_equal(&l->heard.host_id, &c->ring.nodes[l->node - 1].host_id);
}

static struct op_next lane_greeted(struct op *op)
{
    struct lane_out *l = lane_of(op);
    struct frame f;
    size_t used;
    if (l->wait.busy) {
        if (lane_must_give_up(l) && l->socket)
            io_hangup(l->c->io, &l->socket);
        return op_wait(GREETED);
    }
    if (l->wait.err != OK || !l->socket || l->wait.size == 0)
        return lane_failed(l);
    l->greeting_size += l->wait.size;
    enum err err = frame_decode(bytes_of(l->greeting, l->greeting_size),
                                HELLO_BYTES_MAX - FRAME_PREFIX_BYTES, &f, &used);
    if (err == ERR_WOULD_WAIT) {
        lane_recv(l);
        return op_wait(GREETED);
    }
    if (err != OK || !f.is_answer || used != l->greeting_size ||
        hello_decode(f.body, &l->heard) != OK) {
        l->c->counts.bad_frames++;
        return lane_failed(l);
    }
    if (!lane_accepts(l))
        return lane_failed(l);
    l->conn = conn_start(l->c, op, l->socket);
    l->socket = NULL;
    l->conn->out_lane = l;
    l->conn->lane = l->lane;
    l->conn->node = l->node;
    l->back_off_ns = 0;
    l->attempts = 0;
    if (l->lane == LANE_URGENT)
        gossiper_event(l->c, l->node, LIVENESS_CONNECTED);
    lane_unpark(l);
    return op_goto(STAND);
}

static struct op_next lane_stand(struct op *op)
{
    struct lane_out *l = lane_of(op);
    if (l->conn)
        return op_wait(STAND);
    return lane_failed(l);
}

static struct op_next lane_back_off(struct op *op)
{
    struct lane_out *l = lane_of(op);
    if (l->timer.busy) {
        io_cancel(l->c->io, &l->timer);
        return op_wait(BACK_OFF);
    }
    if (op->stop)
        return op_goto(PAUSE);
    uint64_t back_off = l->back_off_ns ? l->back_off_ns : back_off_least_ns;
    uint64_t jitter = io_random(l->c->io) % (back_off / 2);
    l->back_off_ns = u64_min(2 * back_off, back_off_most_ns);
    io_sleep(l->c->io, &l->timer, op, back_off / 2 + jitter);
    return op_wait(PAUSE);
}

static struct op_next lane_pause(struct op *op)
{
    struct lane_out *l = lane_of(op);
    if (!l->timer.busy)
        return op_goto(DIAL);
    if (op->stop || l->is_hasty)
        io_cancel(l->c->io, &l->timer);
    return op_wait(PAUSE);
}
