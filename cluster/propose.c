/* propose.c - gets a value into the log at one epoch: Paxos whose quorum is all members; shard 0.
 *
 *     turn ─> check ─> prepare ─> promises ─> accept ─> accepted ─> learn ─> commit ─> committed
 *               ^         └──────────┴───────────┴──────────┴── settle ──> again
 *               └──────────────────────────────────────────────────────────┘
 *
 * `check` refuses before anything is sent: the epoch is taken, or a member is down.  The ballot is
 * promised by this node's own acceptor, durably, before anyone hears of it, so no ballot is used
 * twice, whatever restarts.  A member that does not answer is asked the same again; one that
 * refuses, lacks entries, or closes its connection sends the op round again until the deadline.
 *
 * What a crash at any point leaves behind: before the first acceptance, nothing; after it, a value
 * that some members have accepted and that nobody has called decided; the finisher of whoever sees
 * all members alive proposes at that epoch again, and Paxos makes it adopt that value.  After the
 * decision every member has accepted it, so any later ballot finds it.
 *
 * One proposal at a time on a node; two nodes may duel and meet at different ballots.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

enum { TURN, CHECK, PREPARE, PROMISES, ACCEPT, ACCEPTED, LEARN, COMMIT, COMMITTED, SETTLE, AGAIN };
static const uint64_t again_ns = 20000000;
static const uint64_t patience_ns = 250000000, patience_most_ns = 1000000000;

struct proposer {
    struct op op;
    struct cluster *c;
    struct list link; /* c->proposals; the first one's turn */
    struct io_req *req, wait;
    uint64_t epoch, deadline_ns;
    struct report *report;
    struct buf value; /* ours */
    struct arena arena;
    struct paxos_proposer paxos;
    struct vote vote;
    bool is_exposed;  /* a value may have been accepted somewhere */
    bool is_finished; /* decided: what is left is to tell */
    enum verb verb;   /* what the members are being asked */
    struct buf body;
    bool is_counted[NODES_MAX];
    uint64_t patience_ns[NODES_MAX]; /* for the next answer */
    struct cluster_call calls[NODES_MAX];
    uint64_t highest_round;
    unsigned ahead; /* a node that has more entries than we, or 0 */
};

static struct op_next proposer_turn(struct op *);
static struct op_next proposer_check(struct op *);
static struct op_next proposer_prepare(struct op *);
static struct op_next proposer_promises(struct op *);
static struct op_next proposer_accept(struct op *);
static struct op_next proposer_accepted(struct op *);
static struct op_next proposer_learn(struct op *);
static struct op_next proposer_commit(struct op *);
static struct op_next proposer_committed(struct op *);
static struct op_next proposer_settle(struct op *);
static struct op_next proposer_again(struct op *);

static const struct op_state proposer_states[] = {
    [TURN] = { "turn", proposer_turn, TO(TURN) | TO(CHECK) },
    [CHECK] = { "check", proposer_check, TO(PREPARE) | TO(SETTLE) | TO(COMMIT) },
    [PREPARE] = { "prepare", proposer_prepare,
                  TO(PREPARE) | TO(PROMISES) | TO(SETTLE) | TO(ACCEPT) },
    [PROMISES] = { "promises", proposer_promises, TO(PROMISES) | TO(ACCEPT) | TO(SETTLE) },
    [ACCEPT] = { "accept", proposer_accept, TO(ACCEPT) | TO(ACCEPTED) | TO(SETTLE) | TO(LEARN) },
    [ACCEPTED] = { "accepted", proposer_accepted, TO(ACCEPTED) | TO(LEARN) | TO(SETTLE) },
    [LEARN] = { "learn", proposer_learn, TO(LEARN) | TO(COMMIT) },
    [COMMIT] = { "commit", proposer_commit, TO(COMMITTED) },
    [COMMITTED] = { "committed", proposer_committed, TO(COMMITTED) },
    [SETTLE] = { "settle", proposer_settle, TO(SETTLE) | TO(AGAIN) },
    [AGAIN] = { "again", proposer_again, TO(AGAIN) | TO(CHECK) },
};

static struct proposer *proposer_of(struct op *op) { return owner_of(op, struct proposer, op); }

/* ---- helpers ---- */

static bool proposer_is_late(struct proposer *p)
{
    return p->op.stop || io_now(p->c->io) >= p->deadline_ns;
}

static bool is_ours(const struct proposer *p, struct bytes value)
{
    return bytes_equal(buf_bytes(&p->value), value);
}

static unsigned first_down(const struct cluster *c)
{
    for (unsigned n = 1; n <= c->ring.nodes_count; n++)
        if (n != c->self && !c->ring.nodes[n - 1].is_up)
            return n;
    return 0;
}

static void send_one(struct proposer *p, unsigned node)
{
    struct cluster *c = p->c;
    struct cluster_call *call = &p->calls[node - 1];
    uint64_t *patience = &p->patience_ns[node - 1];
    struct cluster_message m = { .node = node,
                                 .verb = p->verb,
                                 .body = buf_bytes(&p->body),
                                 .deadline_ns =
                                     u64_min(p->deadline_ns, io_now(c->io) + *patience) };
    *patience = u64_min(2 * *patience, patience_most_ns);
    call->arena = &p->arena;
    calls_begin(c, call, &p->op, &m, c->lanes[node - 1][LANE_URGENT]);
}

static void send_all(struct proposer *p, enum verb verb, const struct proposal *proposal)
{
    struct cluster *c = p->c;
    p->verb = verb;
    buf_clear(&p->body);
    proposal_encode(proposal, &p->body);
    for (unsigned n = 1; n <= c->ring.nodes_count; n++) {
        p->is_counted[n - 1] = n == c->self || (verb == VERB_COMMIT && !c->ring.nodes[n - 1].is_up);
        p->patience_ns[n - 1] = patience_ns;
        if (!p->is_counted[n - 1])
            send_one(p, n);
    }
}

/* What a node has answered since the last look: true once for each.  Where no answer came in time,
 * one of the two frames may have been lost: the same is asked again, which changes nothing. */
static bool has_answered(struct proposer *p, unsigned node)
{
    const struct cluster_call *call = &p->calls[node - 1];
    if (p->is_counted[node - 1] || call->req.busy)
        return false;
    bool may_be_lost = call->req.err == ERR_TIMEOUT && p->c->ring.nodes[node - 1].is_up;
    if (may_be_lost && !proposer_is_late(p)) {
        send_one(p, node);
        return false;
    }
    return p->is_counted[node - 1] = true;
}

static bool all_answered(const struct proposer *p)
{
    for (size_t i = 0; i < p->c->ring.nodes_count; i++)
        if (!p->is_counted[i])
            return false;
    return true;
}

/* Feeds the answers that have come to the pure proposer. */
static enum paxos_verdict take_answers(struct proposer *p)
{
    for (unsigned n = 1; n <= p->c->ring.nodes_count; n++) {
        struct cluster_call *call = &p->calls[n - 1];
        struct paxos_answer answer;
        if (!has_answered(p, n))
            continue;
        if (call->req.err == ERR_EXISTS)
            p->ahead = n;
        if (call->req.err != OK || paxos_answer_decode(call->answer, &answer) != OK)
            return PAXOS_LOST;
        enum paxos_verdict v = p->paxos.is_accepting ? paxos_accepted(&p->paxos, n - 1, &answer)
                                                     : paxos_promised(&p->paxos, n - 1, &answer);
        if (v != PAXOS_WAIT)
            return v;
    }
    return PAXOS_WAIT;
}

/* ---- states ---- */

static struct op_next proposer_turn(struct op *op)
{
    struct proposer *p = proposer_of(op);
    return p->c->proposals.next == &p->link || op->stop ? op_goto(CHECK) : op_wait(TURN);
}

static struct op_next proposer_check(struct op *op)
{
    struct proposer *p = proposer_of(op);
    struct cluster *c = p->c;
    const struct metadata *m = c->metadata;
    if (p->value.size > METADATA_VALUE_BYTES_MAX)
        return op_end(op, report_set(p->report, ERR_LIMIT,
                                     "a change of %zu bytes is over the limit", p->value.size));
    if (p->epoch <= m->last && is_ours(p, m->entries[p->epoch - 1])) {
        p->paxos.value = buf_bytes(&p->value);
        return op_goto(COMMIT); /* another one has finished it for us */
    }
    if (p->epoch != m->last + 1)
        return op_end(op, ERR_EXISTS);
    if (proposer_is_late(p))
        return op_end(op, op->stop ? op->stop : ERR_TIMEOUT);
    unsigned down = first_down(c);
    if (down && p->is_exposed)
        return op_goto(SETTLE);
    if (down) {
        char at[IO_ADDR_TEXT_BYTES];
        io_addr_print(&c->ring.nodes[down - 1].internode, at);
        return op_end(op, report_set(p->report, ERR_UNAVAILABLE,
                                     "node %u (%s) is down: a change needs every node", down, at));
    }
    uint64_t round = u64_max(m->acceptor.promised.round, p->highest_round) + 1;
    struct ballot ballot = { round, c->self };
    arena_reset(&p->arena);
    paxos_begin(&p->paxos, ballot, (unsigned)c->ring.nodes_count, buf_bytes(&p->value));
    p->ahead = 0;
    p->vote = (struct vote){ .epoch = p->epoch, .ballot = ballot, .arena = &p->arena };
    vote_start(c, &p->wait, op, &p->vote);
    return op_wait(PREPARE);
}

/* Our own acceptor has answered; then the others are asked. */
static struct op_next proposer_prepare(struct op *op)
{
    struct proposer *p = proposer_of(op);
    if (p->wait.busy)
        return op_wait(PREPARE);
    if (p->wait.err != OK)
        return op_goto(SETTLE);
    enum paxos_verdict v = paxos_promised(&p->paxos, p->c->self - 1, &p->vote.answer);
    if (v == PAXOS_ACCEPT)
        return op_goto(ACCEPT); /* we are the only member */
    if (v != PAXOS_WAIT)
        return op_goto(SETTLE);
    struct proposal proposal = { .epoch = p->epoch, .ballot = p->paxos.ballot };
    send_all(p, VERB_PREPARE, &proposal);
    return op_wait(PROMISES);
}

static struct op_next proposer_promises(struct op *op)
{
    struct proposer *p = proposer_of(op);
    if (op->stop)
        return op_goto(SETTLE);
    enum paxos_verdict v = take_answers(p);
    if (v == PAXOS_WAIT)
        return op_wait(PROMISES);
    if (v != PAXOS_ACCEPT)
        return op_goto(SETTLE);
    return op_goto(ACCEPT);
}

/* Entered once to start our own acceptance, then again when it is durable. */
static struct op_next proposer_accept(struct op *op)
{
    struct proposer *p = proposer_of(op);
    if (p->wait.busy)
        return op_wait(ACCEPT);
    if (!p->vote.is_accept) {
        p->is_exposed = true;
        p->vote = (struct vote){ .epoch = p->epoch,
                                 .ballot = p->paxos.ballot,
                                 .is_accept = true,
                                 .value = p->paxos.value,
                                 .arena = &p->arena };
        vote_start(p->c, &p->wait, op, &p->vote);
        return op_wait(ACCEPT);
    }
    if (p->wait.err != OK)
        return op_goto(SETTLE);
    enum paxos_verdict v = paxos_accepted(&p->paxos, p->c->self - 1, &p->vote.answer);
    if (v != PAXOS_WAIT)
        return op_goto(v == PAXOS_DECIDED ? LEARN : SETTLE);
    struct proposal proposal = { .epoch = p->epoch,
                                 .ballot = p->paxos.ballot,
                                 .value = p->paxos.value };
    send_all(p, VERB_ACCEPT, &proposal);
    return op_wait(ACCEPTED);
}

static struct op_next proposer_accepted(struct op *op)
{
    struct proposer *p = proposer_of(op);
    if (op->stop)
        return op_goto(SETTLE);
    enum paxos_verdict v = take_answers(p);
    if (v == PAXOS_WAIT)
        return op_wait(ACCEPTED);
    return op_goto(v == PAXOS_DECIDED ? LEARN : SETTLE);
}

static struct op_next proposer_learn(struct op *op)
{
    struct proposer *p = proposer_of(op);
    if (p->wait.busy)
        return op_wait(LEARN);
    if (!p->is_finished) {
        p->is_finished = true;
        learn_start(p->c, &p->wait, op, p->epoch, p->paxos.value);
        return op_wait(LEARN);
    }
    if (p->wait.err != OK)
        return op_end(op, p->wait.err);
    return op_goto(COMMIT);
}

static struct op_next proposer_commit(struct op *op)
{
    struct proposer *p = proposer_of(op);
    struct proposal proposal = { .epoch = p->epoch, .value = p->paxos.value };
    send_all(p, VERB_COMMIT, &proposal);
    return op_goto(COMMITTED);
}

/* Decided is decided: whoever cannot say that it has applied it will learn it later. */
static struct op_next proposer_committed(struct op *op)
{
    struct proposer *p = proposer_of(op);
    for (unsigned n = 1; n <= p->c->ring.nodes_count; n++) {
        if (op->stop)
            cluster_cancel(p->c, &p->calls[n - 1]);
        (void)has_answered(p, n);
    }
    if (!all_answered(p))
        return op_wait(COMMITTED);
    return op_end(op, is_ours(p, p->paxos.value) ? OK : ERR_EXISTS);
}

/* What is still under way is called off, before the next ballot uses the same places. */
static struct op_next proposer_settle(struct op *op)
{
    struct proposer *p = proposer_of(op);
    struct cluster *c = p->c;
    bool is_busy = p->wait.busy;
    p->highest_round = u64_max(p->highest_round, p->paxos.seen.round);
    for (size_t i = 0; i < c->ring.nodes_count; i++) {
        is_busy |= p->calls[i].req.busy;
        cluster_cancel(c, &p->calls[i]);
    }
    if (is_busy)
        return op_wait(SETTLE);
    if (p->ahead) {
        fetch_start(c, &p->wait, op, p->epoch, p->ahead, p->deadline_ns);
        return op_wait(AGAIN);
    }
    if (op->stop)
        return op_goto(AGAIN);
    uint64_t now_ns = io_now(c->io);
    uint64_t left_ns = p->deadline_ns > now_ns ? p->deadline_ns - now_ns : 0;
    uint64_t jitter_ns = io_random(c->io) % again_ns;
    io_sleep(c->io, &p->wait, op, u64_min(again_ns + jitter_ns, left_ns));
    return op_wait(AGAIN);
}

static struct op_next proposer_again(struct op *op)
{
    struct proposer *p = proposer_of(op);
    if (!p->wait.busy)
        return op_goto(CHECK);
    if (op->stop && !p->ahead)
        io_cancel(p->c->io, &p->wait);
    return op_wait(AGAIN);
}

/* ---- beginning and end ---- */

static void proposer_release(struct op *op)
{
    struct proposer *p = proposer_of(op);
    list_remove(&p->link);
    if (!list_empty(&p->c->proposals))
        op_wake(&owner_of(p->c->proposals.next, struct proposer, link)->op);
    io_req_end(p->req, op->err);
    arena_deinit(&p->arena);
    buf_deinit(&p->value);
    buf_deinit(&p->body);
    mem_free(p);
}

void propose_start(struct cluster *c, struct io_req *req, struct op *op,
                   const struct cluster_change *value, struct report *report)
{
    struct proposer *p = mem_zalloc(sizeof *p);
    ensure(is_first(c) && value->epoch > 0 && value->bytes.size > 0);
    io_req_begin(req, op);
    p->c = c;
    p->req = req;
    p->epoch = value->epoch;
    p->deadline_ns = value->deadline_ns;
    p->report = report;
    buf_put_bytes(&p->value, value->bytes);
    list_init(&p->link);
    list_add(&c->proposals, &p->link);
    op_start(&p->op, io_ops(c->io), &c->op, proposer_states, proposer_release);
    if (c->is_closing)
        op_stop(&p->op, ERR_STOPPED);
}

void proposals_stop(struct cluster *c)
{
    list_each(l, &c->proposals) op_stop(&owner_of(l, struct proposer, link)->op, ERR_STOPPED);
}

void cluster_append(struct cluster *c, struct io_req *req, struct op *op,
                    const struct cluster_change *change, struct report *failed)
{
    struct buf value = { 0 };
    struct entry entry = { .kind = ENTRY_CHANGE, .payload = change->bytes };
    ensure(change->bytes.size > 0);
    entry.stamp[0] = io_random(c->io);
    entry.stamp[1] = io_random(c->io);
    entry_encode(&entry, &value);
    struct cluster_change stamped = { change->epoch, buf_bytes(&value), change->deadline_ns };
    propose_start(c, req, op, &stamped, failed);
    buf_deinit(&value);
}
