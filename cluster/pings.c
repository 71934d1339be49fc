/* pings.c - asks each other member again and again whether it is there, and tells liveness; shard
 * 0.
 *
 *     ping ──> pong ──> nap ──> ping ...
 *
 * While a member is down its pings follow each other closely, so that two answers in a row take a
 * moment; while it is up, one comes every quarter of the timeout, and none is waited for beyond the
 * moment when the last answer becomes too old.
 *
 * A ping that nobody answers drops its connection: the other side may be gone without a word, and
 * dialling shows it.  A node that goes down loses all its lanes' connections, so that nobody waits
 * for what cannot come.
 *
 * A ping carries the epoch, so that whoever lags fetches what it lacks, and what a node says of
 * itself that may change: release and native address.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

enum { PING, PONG, NAP };
static const uint64_t eager_ns = 20000000;

struct pinger {
    struct op op;
    struct cluster *c;
    unsigned node;
    struct cluster_call call;
    struct arena arena;
    struct io_req nap;
    bool has_news; /* the connection stands anew, or has gone */
    bool is_rested;
};

static struct op_next pinger_ping(struct op *);
static struct op_next pinger_pong(struct op *);
static struct op_next pinger_nap(struct op *);
static void pinger_release(struct op *);
static const struct op_state pinger_states[] = {
    [PING] = { "ping", pinger_ping, TO(PONG) | TO(NAP) },
    [PONG] = { "pong", pinger_pong, TO(PONG) | TO(NAP) },
    [NAP] = { "nap", pinger_nap, TO(NAP) | TO(PING) },
};

static struct pinger *pinger_of(struct op *op) { return owner_of(op, struct pinger, op); }

static void node_turned(struct cluster *c, unsigned number, bool is_up)
{
    struct node node = c->ring.nodes[number - 1];
    char at[IO_ADDR_TEXT_BYTES];
    io_addr_print(&node.internode, at);
    log_note(c->io, LOG_INFO, is_up ? "peer_up" : "peer_down", "node=%u address=%s", number, at);
    node.is_up = is_up;
    cluster_set_node(c, &node);
    shares_note(c, number);
}

static void liveness_note(struct cluster *c, unsigned node, enum liveness_event event)
{
    enum liveness_change change = liveness_step(&c->liveness, node, event, io_now(c->io));
    if (change != LIVENESS_SAME)
        node_turned(c, node, change == LIVENESS_UP);
}

void pings_event(struct cluster *c, unsigned node, enum liveness_event event)
{
    ensure(is_first(c) && node >= 1 && node <= c->ring.nodes_count);
    liveness_note(c, node, event);
    struct pinger *p = c->pingers[node - 1];
    if (!p || event != LIVENESS_CONNECTED)
        return;
    p->has_news = true;
    op_wake(&p->op);
}

/* ---- the op ---- */

static struct op_next pinger_ping(struct op *op)
{
    struct pinger *p = pinger_of(op);
    struct cluster *c = p->c;
    struct lane_out *lane = c->lanes[p->node - 1][LANE_URGENT];
    uint64_t now_ns = io_now(c->io);
    if (op->stop)
        return op_end(op, op->stop);
    if (!lane || !lane->conn || !lane->conn->is_open)
        return op_goto(NAP);
    arena_reset(&p->arena);
    struct buf body = buf_in(&p->arena);
    struct ping ours = { .epoch = c->epoch, .is_ready = c->is_ready, .native = c->options.native };
    snprintf(ours.version, sizeof ours.version, "%s", RONDO_VERSION);
    ping_encode(&ours, &body);
    uint64_t too_old_ns =
        u64_min(liveness_next_ns(&c->liveness, p->node), now_ns + c->liveness.timeout_ns);
    struct cluster_message m = { .node = p->node,
                                 .verb = VERB_PING,
                                 .body = buf_bytes(&body),
                                 .deadline_ns = u64_max(too_old_ns, now_ns + eager_ns) };
    p->call.arena = &p->arena;
    calls_begin(c, &p->call, op, &m, lane);
    c->counts.pings++;
    return op_wait(PONG);
}

static void pinger_heard(struct pinger *p, const struct ping *theirs)
{
    struct cluster *c = p->c;
    struct node node = c->ring.nodes[p->node - 1];
    bool is_new =
        strcmp(node.version, theirs->version) != 0 || !io_addr_equal(&node.native, &theirs->native);
    if (is_new) {
        memcpy(node.version, theirs->version, sizeof node.version);
        node.native = theirs->native;
        cluster_set_node(c, &node);
        shares_note(c, p->node);
    }
    liveness_note(c, p->node, theirs->is_ready ? LIVENESS_ANSWERED : LIVENESS_NOT_READY);
    fetch_lagging(c, p->node, theirs->epoch);
}

static struct op_next pinger_pong(struct op *op)
{
    struct pinger *p = pinger_of(op);
    struct ping theirs;
    if (p->call.req.busy) {
        if (op->stop)
            cluster_cancel(p->c, &p->call);
        return op_wait(PONG);
    }
    if (p->call.req.err == OK && ping_decode(p->call.answer, &theirs) == OK)
        pinger_heard(p, &theirs);
    else if (p->call.req.err == ERR_TIMEOUT)
        lane_drop(p->c->lanes[p->node - 1][LANE_URGENT]);
    liveness_note(p->c, p->node, LIVENESS_TICK);
    return op_goto(NAP);
}

static uint64_t nap_ns(const struct pinger *p)
{
    const struct liveness_table *l = &p->c->liveness;
    return liveness_is_up(l, p->node) ? l->timeout_ns / 4 : eager_ns;
}

static struct op_next pinger_nap(struct op *op)
{
    struct pinger *p = pinger_of(op);
    if (p->nap.busy) {
        if (op->stop || p->has_news)
            io_cancel(p->c->io, &p->nap);
        return op_wait(NAP);
    }
    if (op->stop || p->is_rested) {
        p->is_rested = p->has_news = false;
        return op_goto(PING);
    }
    struct lane_out *lane = p->c->lanes[p->node - 1][LANE_URGENT];
    p->is_rested = true;
    if (lane && lane->conn)
        io_sleep(p->c->io, &p->nap, op, nap_ns(p));
    return op_wait(NAP);
}

static void pinger_release(struct op *op)
{
    struct pinger *p = pinger_of(op);
    p->c->pingers[p->node - 1] = NULL;
    arena_deinit(&p->arena);
    mem_free(p);
}

void pings_start(struct cluster *c)
{
    c->liveness.timeout_ns = c->options.ping_timeout_ns;
    for (unsigned n = 1; n <= c->ring.nodes_count; n++) {
        if (n == c->self)
            continue;
        struct pinger *p = mem_zalloc(sizeof *p);
        p->c = c;
        p->node = n;
        c->pingers[n - 1] = p;
        op_start(&p->op, io_ops(c->io), &c->op, pinger_states, pinger_release);
    }
}
