/* gossiper.c - tells and hears who lives: an op for each other member; shard 0.
 *
 *     speak ──> hear ──> tell ──> nap ──> speak ...       gossip.h says what is said
 *                  └───────────────^
 *
 * Each second a node asks as many others as gossip_fanout allows: in a ring of up to some thirty
 * everybody, in a larger one each in its turn.  An answer proves that its node lives, and brings
 * the news of all others.  A frame that is lost is no event: the next round says it again, and phi
 * (liveness.h) judges silence by how often the node is heard.  While a node is down its rounds
 * follow each other closely, slower and slower, and begin anew when it shows itself.
 *
 * A node's state is what it says of itself that may change: epoch, readiness, release, native
 * address.  Whoever hears of a later epoch fetches it.  Each answer has its sender's wall clock
 * before it, for skew.h.
 *
 *     request   u8 1 (ask) or 2 (tell) | message
 *     answer    of an ask: be64 wall clock in microseconds | message; of a tell: nothing
 *
 * Invariant: only watch.c's tick turns silence into death, after it has looked whether this node
 * itself stood still.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

enum { SPEAK, HEAR, TELL, NAP };
enum { KIND_ASK = 1, KIND_TELL = 2 };
static const uint64_t second_ns = 1000000000, eager_ns = 20000000;

struct talker {
    struct op op;
    struct cluster *c;
    unsigned node;
    struct cluster_call call;
    struct arena arena;
    struct io_req nap;
    uint64_t spoke_ns, due_ns, eager_ns;
    int64_t spoke_us; /* by the wall clock */
    bool has_news;    /* the connection stands anew, or somebody has changed */
};

static struct op_next talker_speak(struct op *);
static struct op_next talker_hear(struct op *);
static struct op_next talker_tell(struct op *);
static struct op_next talker_nap(struct op *);
static void talker_release(struct op *);
static const struct op_state talker_states[] = {
    [SPEAK] = { "speak", talker_speak, TO(HEAR) | TO(NAP) },
    [HEAR] = { "hear", talker_hear, TO(HEAR) | TO(TELL) | TO(NAP) },
    [TELL] = { "tell", talker_tell, TO(TELL) | TO(NAP) },
    [NAP] = { "nap", talker_nap, TO(NAP) | TO(SPEAK) },
};

static struct talker *talker_of(struct op *op) { return owner_of(op, struct talker, op); }

/* ---- news ---- */

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

static void talker_rouse(struct cluster *c, unsigned node)
{
    struct talker *t = c->gossiper->talkers[node - 1];
    if (!t)
        return;
    t->has_news = true;
    t->eager_ns = eager_ns;
    op_wake(&t->op);
}

void gossiper_event(struct cluster *c, unsigned node, enum liveness_event event)
{
    ensure(is_first(c) && node >= 1 && node <= c->ring.nodes_count);
    if (!c->gossiper)
        return;
    enum liveness_change change = liveness_step(&c->gossiper->liveness, node, event, io_now(c->io));
    if (change != LIVENESS_SAME)
        node_turned(c, node, change == LIVENESS_UP);
    if (event == LIVENESS_CONNECTED)
        talker_rouse(c, node);
}

/* What a node says of itself, as `teller` has told it. */
static void state_heard(struct cluster *c, unsigned node, const struct ping *says, unsigned teller)
{
    struct node known = c->ring.nodes[node - 1];
    bool is_new =
        strcmp(known.version, says->version) != 0 || !io_addr_equal(&known.native, &says->native);
    if (is_new) {
        memcpy(known.version, says->version, sizeof known.version);
        known.native = says->native;
        cluster_set_node(c, &known);
        shares_note(c, node);
    }
    gossiper_event(c, node, says->is_ready ? LIVENESS_READY : LIVENESS_NOT_READY);
    if (says->is_ready && !c->ring.nodes[node - 1].is_up)
        talker_rouse(c, node);
    c->gossiper->epochs[node - 1] = says->epoch;
    fetch_lagging(c, c->ring.nodes[node - 1].is_up ? node : teller, says->epoch);
}

static void news_heard(struct cluster *c, unsigned teller)
{
    struct gossip *g = &c->gossiper->gossip;
    struct ping says;
    for (unsigned n = 1; n <= g->count; n++) {
        struct gossip_node *node = &g->nodes[n - 1];
        unsigned news = node->news;
        bool is_told = (news & GOSSIP_STATE) && ping_decode(buf_bytes(&node->state), &says) == OK;
        node->news = 0;
        if ((news & GOSSIP_REBORN) && !(is_told && says.is_ready))
            gossiper_event(c, n, LIVENESS_NOT_READY); /* until the new process says it is ready */
        if (news & GOSSIP_BEAT)
            gossiper_event(c, n, LIVENESS_BEAT);
        if (is_told)
            state_heard(c, n, &says, teller);
    }
}

/* This node's own heartbeat and state, as they are now. */
static void self_refresh(struct cluster *c)
{
    struct gossiper *g = c->gossiper;
    struct ping ours;
    ping_make(c, &ours);
    buf_clear(&g->state);
    ping_encode(&ours, &g->state);
    gossip_beat(&g->gossip, 1 + (io_now(c->io) - g->began_ns) / second_ns);
    gossip_set_state(&g->gossip, buf_bytes(&g->state));
}

/* ---- who is asked ---- */

void gossiper_request(struct cluster *c, struct cluster_request *r)
{
    struct cursor in = cursor_of(r->body);
    struct buf out = buf_in(&r->arena);
    uint8_t kind = cursor_u8(&in);
    struct bytes message = cursor_bytes(&in, cursor_left(&in));
    unsigned teller = r->node;
    enum err err = ERR_PROTOCOL;
    if (!c->gossiper) {
        err = ERR_NOT_YET;
    } else if (kind == KIND_ASK) {
        self_refresh(c);
        buf_put_be64(&out, (uint64_t)io_wall(c->io));
        err = gossip_answer(&c->gossiper->gossip, message, &out);
    } else if (kind == KIND_TELL) {
        err = gossip_take(&c->gossiper->gossip, message);
    }
    cluster_answer(r, err, err == OK ? buf_bytes(&out) : (struct bytes){ 0 });
    if (err == OK)
        news_heard(c, teller);
}

/* ---- the op ---- */

static bool talker_is_cut_off(const struct talker *t)
{
    const struct lane_out *lane = t->c->lanes[t->node - 1][LANE_URGENT];
    return !lane || !lane->conn || !lane->conn->is_open;
}

static void talker_send(struct talker *t, const struct buf *body)
{
    struct cluster_message m = { .node = t->node,
                                 .verb = VERB_GOSSIP,
                                 .body = buf_bytes(body),
                                 .deadline_ns = io_now(t->c->io) + second_ns };
    t->call.arena = &t->arena;
    calls_begin(t->c, &t->call, &t->op, &m, t->c->lanes[t->node - 1][LANE_URGENT]);
}

/* A round, a little more or less, so that nodes that began together do not stay together. */
static uint64_t talker_period_ns(struct talker *t)
{
    size_t others = t->c->ring.nodes_count - 1, each = gossip_fanout(others + 1);
    uint64_t round_ns = (others + each - 1) / each * second_ns;
    uint64_t jitter_ns = io_random(t->c->io) % (round_ns / 5);
    round_ns = round_ns - round_ns / 10 + jitter_ns;
    if (liveness_is_up(&t->c->gossiper->liveness, t->node))
        return round_ns;
    t->eager_ns = u64_min(2 * t->eager_ns, round_ns);
    return t->eager_ns;
}

static struct op_next talker_speak(struct op *op)
{
    struct talker *t = talker_of(op);
    struct cluster *c = t->c;
    if (op->stop)
        return op_end(op, op->stop);
    t->has_news = false;
    t->spoke_ns = io_now(c->io);
    t->spoke_us = io_wall(c->io);
    t->due_ns = t->spoke_ns + talker_period_ns(t);
    if (talker_is_cut_off(t))
        return op_goto(NAP);
    arena_reset(&t->arena);
    struct buf body = buf_in(&t->arena);
    self_refresh(c);
    buf_put_u8(&body, KIND_ASK);
    gossip_ask(&c->gossiper->gossip, &body);
    talker_send(t, &body);
    c->counts.gossips++;
    return op_wait(HEAR);
}

static bool talker_waits(struct talker *t)
{
    if (t->call.req.busy && t->op.stop)
        cluster_cancel(t->c, &t->call);
    return t->call.req.busy;
}

static struct op_next talker_hear(struct op *op)
{
    struct talker *t = talker_of(op);
    struct cluster *c = t->c;
    if (talker_waits(t))
        return op_wait(HEAR);
    struct cursor in = cursor_of(t->call.answer);
    uint64_t wall_us = cursor_be64(&in);
    struct bytes message = cursor_bytes(&in, cursor_left(&in));
    struct buf tell = buf_in(&t->arena);
    buf_put_u8(&tell, KIND_TELL);
    size_t nothing = tell.size;
    bool is_heard =
        t->call.req.err == OK && gossip_hear(&c->gossiper->gossip, message, &tell) == OK;
    if (!is_heard)
        return op_goto(NAP);
    skew_heard(&c->gossiper->skew, t->node, t->spoke_us, (int64_t)wall_us,
               io_now(c->io) - t->spoke_ns);
    news_heard(c, t->node);
    if (tell.size == nothing || op->stop)
        return op_goto(NAP);
    talker_send(t, &tell);
    return op_wait(TELL);
}

static struct op_next talker_tell(struct op *op)
{
    return talker_waits(talker_of(op)) ? op_wait(TELL) : op_goto(NAP);
}

static struct op_next talker_nap(struct op *op)
{
    struct talker *t = talker_of(op);
    struct io *io = t->c->io;
    bool is_due = op->stop || t->has_news || io_now(io) >= t->due_ns;
    if (t->nap.busy) {
        if (is_due)
            io_cancel(io, &t->nap);
        return op_wait(NAP);
    }
    if (is_due && (op->stop || !talker_is_cut_off(t)))
        return op_goto(SPEAK);
    if (!is_due)
        io_sleep(io, &t->nap, op, t->due_ns - io_now(io));
    return op_wait(NAP); /* without a connection: until there is one */
}

static void talker_release(struct op *op)
{
    struct talker *t = talker_of(op);
    t->c->gossiper->talkers[t->node - 1] = NULL;
    arena_deinit(&t->arena);
    mem_free(t);
}

/* ---- beginning, end, and what is asked of it ---- */

void gossiper_start(struct cluster *c)
{
    struct gossiper *g = mem_zalloc(sizeof *g);
    int64_t wall_us = io_wall(c->io);
    ensure(is_first(c) && !c->gossiper && c->self > 0);
    g->liveness.convict = c->options.phi_convict_threshold;
    g->began_ns = io_now(c->io);
    gossip_init(&g->gossip, c->self, c->ring.nodes_count,
                wall_us > 0 ? (uint64_t)wall_us / 1000 : 1);
    c->gossiper = g;
    for (unsigned n = 1; n <= c->ring.nodes_count; n++) {
        if (n == c->self)
            continue;
        struct talker *t = mem_zalloc(sizeof *t);
        t->c = c;
        t->node = n;
        t->eager_ns = eager_ns;
        g->talkers[n - 1] = t;
        op_start(&t->op, io_ops(c->io), &c->op, talker_states, talker_release);
    }
}

void gossiper_free(struct cluster *c)
{
    if (!c->gossiper)
        return;
    gossip_deinit(&c->gossiper->gossip);
    buf_deinit(&c->gossiper->state);
    mem_free(c->gossiper);
}

void gossiper_tell_all(struct cluster *c)
{
    ensure(c->gossiper);
    for (unsigned n = 1; n <= c->ring.nodes_count; n++)
        talker_rouse(c, n);
}

void gossiper_stood(struct cluster *c, uint64_t ns)
{
    liveness_pass(&c->gossiper->liveness, ns, io_now(c->io));
}

void gossiper_tick(struct cluster *c)
{
    struct gossiper *g = c->gossiper;
    for (unsigned n = 1; n <= c->ring.nodes_count; n++) {
        if (n == c->self)
            continue;
        gossiper_event(c, n, LIVENESS_TICK);
        if (c->ring.nodes[n - 1].is_up) /* again, where a fetch has failed */
            fetch_lagging(c, n, g->epochs[n - 1]);
    }
    bool has_changed = skew_judge(&g->skew, &c->ring, c->self);
    c->counts.clock_skew_us = (uint64_t)(g->skew.off_us < 0 ? -g->skew.off_us : g->skew.off_us);
    if (has_changed && g->skew.is_off)
        log_note(c->io, LOG_WARN, "clock_is_off", "by_us=%lld", (long long)g->skew.off_us);
    else if (has_changed)
        log_note(c->io, LOG_INFO, "clock_agrees", "by_us=%lld", (long long)g->skew.off_us);
}

bool cluster_clock(const struct cluster *c, int64_t *off_us)
{
    *off_us = c->gossiper ? c->gossiper->skew.off_us : 0;
    return !c->gossiper || !c->gossiper->skew.is_off;
}

void cluster_peer(const struct cluster *c, unsigned node, struct cluster_peer *out)
{
    ensure(is_first(c) && node >= 1 && node <= c->ring.nodes_count);
    *out = (struct cluster_peer){ .epoch = node == c->self ? c->epoch : 0 };
    if (!c->gossiper)
        return;
    const struct gossip_node *n = &c->gossiper->gossip.nodes[node - 1];
    const struct skew_peer *clock = &c->gossiper->skew.peers[node - 1];
    struct ping says = { 0 };
    if (n->version > 0 && ping_decode(buf_bytes(&n->state), &says) == OK)
        out->epoch = says.epoch;
    out->generation = n->generation / 1000;
    out->heartbeat = n->heartbeat;
    out->version = n->version;
    out->is_ready = says.is_ready;
    out->phi = node == c->self ? 0 : liveness_phi(&c->gossiper->liveness, node, io_now(c->io));
    out->has_clock = clock->is_known;
    out->clock_offset_us = clock->offset_us;
    out->round_trip_ns = clock->round_trip_ns;
}
