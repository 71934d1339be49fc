/* accept.c - listening, and greeting who comes; shard 0.
 *
 *     accept ──> greet op:  recv ─> check ─> send ─> hand over to the lane's shard
 *
 * Who dials speaks first, and nothing but its hello until ours has come, so the socket can move to
 * another shard with nothing in between.  Shard s of a node is served by our shard s mod n; urgent
 * lanes and births stay on shard 0.  A socket whose shard is not there (yet, or any more) is
 * closed: the other side dials again.
 *
 * Invariant: at most GREETINGS_MAX sockets that have not said who they are, each for two seconds.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

enum { GREETINGS_MAX = 128 };
static const uint64_t greeting_ns = 2000000000, pause_ns = 100000000;

struct acceptor {
    struct op op;
    struct cluster *c;
    struct io_req accept, pause;
    struct io_socket *socket;
};
struct greeting {
    struct op op;
    struct cluster *c;
    struct io_socket *socket;
    struct io_req wait, timer;
    uint8_t in[HELLO_BYTES_MAX];
    size_t in_size;
    struct buf out;
    struct hello hello;
    enum refusal refusal;
};
struct hand_over {
    struct post post;
    uint64_t ticket;
    enum lane lane;
    unsigned node, shard;
};

static struct op_next acceptor_accept(struct op *);
static void acceptor_release(struct op *);
static struct op_next greeting_recv(struct op *);
static struct op_next greeting_check(struct op *);
static struct op_next greeting_send(struct op *);
static struct op_next greeting_hand(struct op *);
static void greeting_release(struct op *);

static const struct op_state acceptor_states[] = {
    [0] = { "accept", acceptor_accept, TO(0) },
};
enum { GREETING_RECV, GREETING_CHECK, GREETING_SEND, GREETING_HAND };
static const struct op_state greeting_states[] = {
    [GREETING_RECV] = { "recv", greeting_recv, TO(GREETING_CHECK) },
    [GREETING_CHECK] = { "check", greeting_check,
                         TO(GREETING_CHECK) | TO(GREETING_RECV) | TO(GREETING_SEND) },
    [GREETING_SEND] = { "send", greeting_send, TO(GREETING_SEND) | TO(GREETING_HAND) },
    [GREETING_HAND] = { "hand", greeting_hand, TO(GREETING_HAND) },
};

static struct acceptor *acceptor_of(struct op *op) { return owner_of(op, struct acceptor, op); }
static struct greeting *greeting_of(struct op *op) { return owner_of(op, struct greeting, op); }

/* ---- listening ---- */

enum err accept_listen(struct cluster *c)
{
    char at[IO_ADDR_TEXT_BYTES];
    enum err err = io_listen(c->io, &c->options.listen, &c->listener);
    io_addr_print(&c->options.listen, at);
    if (err == OK)
        return OK;
    return report_set(c->failed, err,
                      "cannot listen for other nodes on %s (listen_address, storage_port): %s", at,
                      err_text(err));
}

void accept_start(struct cluster *c)
{
    struct acceptor *a = mem_zalloc(sizeof *a);
    a->c = c;
    op_start(&a->op, io_ops(c->io), &c->op, acceptor_states, acceptor_release);
}

static void greeting_begin(struct cluster *c, struct io_socket *taken)
{
    struct greeting *g = mem_zalloc(sizeof *g);
    g->c = c;
    g->socket = taken;
    c->greetings++;
    op_start(&g->op, io_ops(c->io), &c->op, greeting_states, greeting_release);
}

static void acceptor_take(struct acceptor *a)
{
    struct cluster *c = a->c;
    if (c->greetings < GREETINGS_MAX)
        greeting_begin(c, a->socket);
    else
        io_hangup(c->io, &a->socket);
    a->socket = NULL;
}

static struct op_next acceptor_accept(struct op *op)
{
    struct acceptor *a = acceptor_of(op);
    struct cluster *c = a->c;
    if (a->accept.busy || a->pause.busy) {
        if (op->stop) {
            io_cancel(c->io, &a->accept);
            io_cancel(c->io, &a->pause);
        }
        return op_wait(0);
    }
    if (a->socket)
        acceptor_take(a);
    if (op->stop)
        return op_end(op, op->stop);
    enum err err = a->accept.err;
    a->accept.err = OK;
    if (err != OK) /* too many open files, say: not at full speed */
        io_sleep(c->io, &a->pause, op, pause_ns);
    else
        io_accept(c->io, &a->accept, op, c->listener, &a->socket);
    return op_wait(0);
}

static void acceptor_release(struct op *op)
{
    struct acceptor *a = acceptor_of(op);
    io_unlisten(a->c->io, &a->c->listener);
    mem_free(a);
}

/* ---- greeting ---- */

static void greeting_release(struct op *op)
{
    struct greeting *g = greeting_of(op);
    ensure(!g->socket && g->c->greetings > 0);
    g->c->greetings--;
    buf_deinit(&g->out);
    mem_free(g);
}

/* Ends without a connection once nothing is under way. */
static struct op_next greeting_drop(struct greeting *g)
{
    if (g->socket)
        io_hangup(g->c->io, &g->socket);
    io_cancel(g->c->io, &g->timer);
    return op_end(&g->op, ERR_CLOSED);
}

static bool greeting_is_over(const struct greeting *g)
{
    return g->op.stop || !g->timer.busy || !g->socket;
}

/* Still waiting?  Hangs up when the time is over, so that the wait ends. */
static bool greeting_waits(struct greeting *g)
{
    if (g->wait.busy && greeting_is_over(g) && g->socket)
        io_hangup(g->c->io, &g->socket);
    return g->wait.busy;
}

static struct op_next greeting_recv(struct op *op)
{
    struct greeting *g = greeting_of(op);
    if (!g->timer.busy && g->in_size == 0)
        io_sleep(g->c->io, &g->timer, op, greeting_ns);
    ensure(g->in_size < sizeof g->in);
    io_recv(g->c->io, &g->wait, op, g->socket, g->in + g->in_size, sizeof g->in - g->in_size);
    return op_wait(GREETING_CHECK);
}

static void greeting_answer(struct greeting *g, const struct frame *asked)
{
    struct hello ours;
    struct buf body = { 0 };
    hello_make(g->c, g->hello.lane, &ours);
    ours.refusal = g->refusal;
    hello_encode(&ours, &body);
    struct frame f = { .is_answer = true, .id = asked->id };
    frame_encode(&g->out, &f, buf_bytes(&body));
    buf_deinit(&body);
    io_send(g->c->io, &g->wait, &g->op, g->socket, g->out.data, g->out.size);
}

static struct op_next greeting_check(struct op *op)
{
    struct greeting *g = greeting_of(op);
    struct frame f;
    size_t used;
    if (greeting_waits(g))
        return op_wait(GREETING_CHECK);
    if (greeting_is_over(g) || g->wait.err != OK || g->wait.size == 0)
        return greeting_drop(g);
    g->in_size += g->wait.size;
    enum err err =
        frame_decode(bytes_of(g->in, g->in_size), HELLO_BYTES_MAX - FRAME_PREFIX_BYTES, &f, &used);
    if (err == ERR_WOULD_WAIT)
        return op_goto(GREETING_RECV);
    if (err != OK || f.is_answer || f.verb != VERB_HELLO || used != g->in_size ||
        hello_decode(f.body, &g->hello) != OK) {
        g->c->counts.bad_frames++;
        log_note_rarely(g->c->io, millis_ns(60000), LOG_WARN, "peer_bad_hello", "reason=\"%s\"",
                        err_text(err ? err : ERR_PROTOCOL));
        return greeting_drop(g);
    }
    g->refusal = hello_judge(g->c, &g->hello);
    greeting_answer(g, &f);
    return op_wait(GREETING_SEND);
}

static void refusal_note(struct greeting *g)
{
    char at[IO_ADDR_TEXT_BYTES];
    struct io_addr peer = { 0 };
    io_peer(g->c->io, g->socket, &peer);
    io_addr_print(&peer, at);
    log_note_rarely(g->c->io, millis_ns(60000), LOG_WARN, "peer_not_accepted",
                    "address=%s lane=%s reason=\"%s\" cluster_name=\"%s\"", at,
                    lane_name(g->hello.lane), refusal_text(g->refusal), g->hello.cluster_name);
}

static struct op_next greeting_send(struct op *op)
{
    struct greeting *g = greeting_of(op);
    if (greeting_waits(g))
        return op_wait(GREETING_SEND);
    if (greeting_is_over(g) || g->wait.err != OK)
        return greeting_drop(g);
    if (g->refusal) {
        refusal_note(g);
        return greeting_drop(g);
    }
    return op_goto(GREETING_HAND);
}

/* ---- handing over ---- */

/* A member has one connection for each of its shards on a lane: an older one is a leftover of what
 * went without a word. */
static void conn_accept(struct cluster *c, struct io_socket *taken, const struct hand_over *h)
{
    list_each(l, &c->conns)
    {
        struct conn *old = owner_of(l, struct conn, link);
        bool is_same = old->lane == h->lane && old->node == h->node && old->shard == h->shard;
        if (h->node && is_same && !old->out_lane)
            op_stop(&old->op, ERR_CLOSED);
    }
    struct conn *conn = conn_start(c, &c->op, taken);
    conn->lane = h->lane;
    conn->node = h->node;
    conn->shard = h->shard;
}

static void hand_over_there(struct cluster *at, struct post *p)
{
    struct hand_over *h = owner_of(p, struct hand_over, post);
    struct io_socket *socket = io_take(at->io, h->ticket);
    if (at->is_open && !at->is_closing)
        conn_accept(at, socket, h);
    else
        io_hangup(at->io, &socket);
    post_home(at, p);
}

static void hand_over_home(struct cluster *c, struct post *p)
{
    struct hand_over *h = owner_of(p, struct hand_over, post);
    if (p->is_refused) {
        struct io_socket *socket = io_take(c->io, h->ticket);
        io_hangup(c->io, &socket);
    }
    mem_free(h);
}

static void hand_over(struct greeting *g, const struct hand_over *to, int shard)
{
    struct hand_over *h = mem_alloc(sizeof *h);
    *h = *to;
    h->post.there = hand_over_there;
    h->post.home = hand_over_home;
    h->ticket = io_give(g->c->io, &g->socket);
    post_send(g->c, &h->post, shard);
}

static struct op_next greeting_hand(struct op *op)
{
    struct greeting *g = greeting_of(op);
    struct cluster *c = g->c;
    if (g->timer.busy) {
        io_cancel(c->io, &g->timer);
        return op_wait(GREETING_HAND);
    }
    if (op->stop)
        return greeting_drop(g);
    enum lane lane = g->hello.lane;
    bool is_spread = lane == LANE_REQUEST || lane == LANE_BULK;
    int shard = is_spread ? (int)(g->hello.shard % (unsigned)io_shards(c->io)) : 0;
    struct hand_over to = { .lane = lane, .shard = g->hello.shard };
    to.node = lane == LANE_BIRTH ? 0 : ring_number(&c->ring, &g->hello.host_id);
    if (to.node)
        address_learn(c, &g->hello);
    bool is_for_us = uuid_is_zero(&g->hello.wanted) || uuid_equal(&g->hello.wanted, &c->host_id);
    if (!is_for_us) /* it looks for another member here, and knows now who we are */
        return greeting_drop(g);
    if (shard == 0) {
        conn_accept(c, g->socket, &to);
        g->socket = NULL;
    } else {
        hand_over(g, &to, shard);
    }
    return op_end(op, OK);
}

/* ---- hellos ---- */

void hello_make(const struct cluster *c, enum lane lane, struct hello *out)
{
    *out = (struct hello){ .version_least = PROTOCOL_LEAST,
                           .version_most = PROTOCOL_MOST,
                           .cluster_id = c->ring.cluster_id,
                           .host_id = c->host_id,
                           .internode = c->options.broadcast,
                           .native = c->options.native,
                           .lane = lane,
                           .shard = (unsigned)io_self(c->io) };
    snprintf(out->cluster_name, sizeof out->cluster_name, "%s", c->options.cluster_name);
}

enum refusal hello_judge(const struct cluster *c, const struct hello *h)
{
    if (h->version_most < PROTOCOL_LEAST || h->version_least > PROTOCOL_MOST)
        return REFUSAL_VERSION;
    if (strcmp(h->cluster_name, c->options.cluster_name) != 0)
        return REFUSAL_NAME;
    if (h->lane == LANE_BIRTH)
        return REFUSAL_NONE;
    if (uuid_is_zero(&c->ring.cluster_id) || uuid_is_zero(&h->cluster_id))
        return REFUSAL_UNBORN;
    if (!uuid_equal(&c->ring.cluster_id, &h->cluster_id))
        return REFUSAL_CLUSTER;
    return ring_number(&c->ring, &h->host_id) ? REFUSAL_NONE : REFUSAL_STRANGER;
}
