/* fetch.c - entries that this node lacks, from a node that has them; and values that were accepted
 * and never called decided, finished; shard 0.
 *
 *     look ──> answer ──> learn ──> look ...      until every shard has applied the epoch
 *
 * An answer that does not come in time may have been lost: it is asked for again, until the
 * deadline.
 *
 * Who asks: a request of a later epoch (request.c, on any shard), news that tell of one, a
 * proposal that finds its epoch taken.  A fetch that is there already still waits until the entry
 * is applied everywhere: learning it again ends then.
 *
 * The finisher looks every second or so: a value that stands accepted at the next epoch while all
 * members are up belongs to a proposer that died.  It is proposed again.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"
#include "cluster/pack.h"

enum { LOOK, ANSWER, LEARN };
static const uint64_t lagging_ns = 5000000000, finish_ns = 1000000000;
static const uint64_t patience_ns = 250000000, patience_most_ns = 1000000000;

struct fetch {
    struct op op;
    struct post post; /* when another shard asks */
    bool is_posted;
    bool is_lagging; /* nobody waits */
    struct cluster *c;
    struct io_req *req, wait;
    uint64_t epoch, deadline_ns, patience_ns;
    unsigned node;
    struct cluster_call call;
    struct arena arena;
    struct cursor values;  /* of the answer: left to learn */
    uint64_t values_epoch; /* of the next of them */
    size_t values_count;
    enum err err;
};

static struct op_next fetch_look(struct op *);
static struct op_next fetch_answer(struct op *);
static struct op_next fetch_learn(struct op *);
static const struct op_state fetch_states[] = {
    [LOOK] = { "look", fetch_look, TO(ANSWER) | TO(LEARN) },
    [ANSWER] = { "answer", fetch_answer, TO(ANSWER) | TO(LEARN) | TO(LOOK) },
    [LEARN] = { "learn", fetch_learn, TO(LEARN) | TO(LOOK) },
};

static struct fetch *fetch_of(struct op *op) { return owner_of(op, struct fetch, op); }

static struct op_next fetch_look(struct op *op)
{
    struct fetch *f = fetch_of(op);
    struct cluster *c = f->c;
    const struct metadata *m = c->metadata;
    if (op->stop)
        return op_end(op, op->stop);
    f->values_count = 0;
    if (f->epoch <= m->last) {
        learn_start(c, &f->wait, op, f->epoch, m->entries[f->epoch - 1]);
        return op_wait(LEARN);
    }
    if (f->node == c->self || f->node == 0 || f->node > c->ring.nodes_count ||
        !c->lanes[f->node - 1][LANE_URGENT])
        return op_end(op, ERR_BEHIND);
    struct buf body = { 0 };
    struct proposal proposal = { .epoch = m->last + 1 };
    f->values_epoch = proposal.epoch;
    proposal_encode(&proposal, &body);
    uint64_t until_ns = u64_min(f->deadline_ns, io_now(c->io) + f->patience_ns);
    struct cluster_message message = {
        .node = f->node, .verb = VERB_FETCH, .body = buf_bytes(&body), .deadline_ns = until_ns
    };
    f->patience_ns = u64_min(2 * f->patience_ns, patience_most_ns);
    arena_reset(&f->arena);
    f->call.arena = &f->arena;
    calls_begin(c, &f->call, op, &message, c->lanes[f->node - 1][LANE_URGENT]);
    buf_deinit(&body);
    return op_wait(ANSWER);
}

static struct op_next fetch_learn_next(struct fetch *f)
{
    struct bytes value = unpack_bytes(&f->values);
    if (f->values.bad || value.size == 0)
        return op_end(&f->op, ERR_BEHIND);
    f->values_count--;
    learn_start(f->c, &f->wait, &f->op, f->values_epoch++, value);
    return op_wait(LEARN);
}

static struct op_next fetch_answer(struct op *op)
{
    struct fetch *f = fetch_of(op);
    if (f->call.req.busy) {
        if (op->stop)
            cluster_cancel(f->c, &f->call);
        return op_wait(ANSWER);
    }
    bool may_be_lost = f->call.req.err == ERR_TIMEOUT && io_now(f->c->io) < f->deadline_ns;
    if (may_be_lost && !op->stop)
        return op_goto(LOOK);
    f->values = cursor_of(f->call.answer);
    f->values_count = f->call.req.err == OK ? unpack_count(&f->values, UINT32_MAX) : 0;
    if (f->values_count == 0)
        return op_end(op, ERR_BEHIND); /* it does not have it either, or cannot be asked */
    return fetch_learn_next(f);
}

/* An entry has been learned, or it was there when we looked: then that was all. */
static struct op_next fetch_learn(struct op *op)
{
    struct fetch *f = fetch_of(op);
    if (f->wait.busy)
        return op_wait(LEARN);
    if (f->wait.err != OK)
        return op_end(op, f->wait.err);
    if (f->c->metadata->last >= f->epoch && f->values_count == 0)
        return op_end(op, OK);
    if (f->values_count > 0 && !op->stop)
        return fetch_learn_next(f);
    return op_goto(LOOK);
}

static void fetch_release(struct op *op)
{
    struct fetch *f = fetch_of(op);
    arena_deinit(&f->arena);
    f->err = op->err;
    if (f->is_posted) {
        post_home(f->c, &f->post);
        return;
    }
    if (f->is_lagging)
        f->c->is_fetching = false;
    else
        io_req_end(f->req, op->err);
    mem_free(f);
}

static void fetch_begin(struct fetch *f, struct cluster *first)
{
    f->c = first;
    op_start(&f->op, io_ops(first->io), &first->op, fetch_states, fetch_release);
    if (first->is_closing)
        op_stop(&f->op, ERR_STOPPED);
}

static struct fetch *fetch_new(uint64_t epoch, unsigned node, uint64_t deadline_ns)
{
    struct fetch *f = mem_zalloc(sizeof *f);
    f->epoch = epoch;
    f->node = node;
    f->deadline_ns = deadline_ns;
    f->patience_ns = patience_ns;
    return f;
}

void fetch_start(struct cluster *c, struct io_req *req, struct op *op, uint64_t epoch,
                 unsigned node, uint64_t deadline_ns)
{
    struct fetch *f = fetch_new(epoch, node, deadline_ns);
    ensure(is_first(c));
    io_req_begin(req, op);
    f->req = req;
    fetch_begin(f, c);
}

void fetch_lagging(struct cluster *c, unsigned node, uint64_t epoch)
{
    if (c->is_fetching || c->is_closing || epoch <= c->metadata->last)
        return;
    struct fetch *f = fetch_new(epoch, node, io_now(c->io) + lagging_ns);
    c->is_fetching = f->is_lagging = true;
    fetch_begin(f, c);
}

/* ---- from another shard ---- */

static void fetch_there(struct cluster *first, struct post *p)
{
    fetch_begin(owner_of(p, struct fetch, post), first);
}

static void fetch_home(struct cluster *c, struct post *p)
{
    struct fetch *f = owner_of(p, struct fetch, post);
    ensure(!is_first(c));
    io_req_end(f->req, p->is_refused ? ERR_STOPPED : f->err);
    mem_free(f);
}

void cluster_catch_up(struct cluster *c, struct io_req *req, struct op *op, uint64_t epoch,
                      unsigned node, uint64_t deadline_ns)
{
    if (is_first(c)) {
        fetch_start(c, req, op, epoch, node, deadline_ns);
        return;
    }
    struct fetch *f = fetch_new(epoch, node, deadline_ns);
    io_req_begin(req, op);
    f->req = req;
    f->is_posted = true;
    f->post.there = fetch_there;
    f->post.home = fetch_home;
    post_send(c, &f->post, 0);
}

/* ---- the finisher ---- */

enum { NAP, DUE, PROPOSED };
struct finisher {
    struct op op;
    struct cluster *c;
    struct io_req wait;
    struct ballot seen; /* accepted, at the last look */
};

static struct op_next finisher_nap(struct op *);
static struct op_next finisher_due(struct op *);
static struct op_next finisher_proposed(struct op *);
static const struct op_state finisher_states[] = {
    [NAP] = { "nap", finisher_nap, TO(DUE) },
    [DUE] = { "due", finisher_due, TO(DUE) | TO(NAP) | TO(PROPOSED) },
    [PROPOSED] = { "proposed", finisher_proposed, TO(PROPOSED) | TO(NAP) },
};

static struct finisher *finisher_of(struct op *op) { return owner_of(op, struct finisher, op); }

static struct op_next finisher_nap(struct op *op)
{
    struct finisher *f = finisher_of(op);
    if (op->stop)
        return op_end(op, op->stop);
    uint64_t jitter_ns = io_random(f->c->io) % finish_ns;
    io_sleep(f->c->io, &f->wait, op, finish_ns / 2 + jitter_ns);
    return op_wait(DUE);
}

static bool finisher_should(struct finisher *f)
{
    struct cluster *c = f->c;
    const struct paxos_acceptor *a = &c->metadata->acceptor;
    bool is_old = !ballot_is_none(a->accepted) && ballot_compare(a->accepted, f->seen) == 0;
    f->seen = a->accepted;
    for (size_t i = 0; i < c->ring.nodes_count; i++)
        if (!c->ring.nodes[i].is_up)
            return false;
    return is_old && list_empty(&c->proposals);
}

static struct op_next finisher_due(struct op *op)
{
    struct finisher *f = finisher_of(op);
    struct cluster *c = f->c;
    if (f->wait.busy) {
        if (op->stop)
            io_cancel(c->io, &f->wait);
        return op_wait(DUE);
    }
    if (op->stop || !finisher_should(f))
        return op_goto(NAP);
    struct metadata *m = c->metadata;
    struct cluster_change value = { m->last + 1, m->acceptor.value, io_now(c->io) + lagging_ns };
    propose_start(c, &f->wait, op, &value, NULL);
    return op_wait(PROPOSED);
}

static struct op_next finisher_proposed(struct op *op)
{
    return finisher_of(op)->wait.busy ? op_wait(PROPOSED) : op_goto(NAP);
}

static void finisher_release(struct op *op) { mem_free(finisher_of(op)); }

void finisher_start(struct cluster *c)
{
    struct finisher *f = mem_zalloc(sizeof *f);
    f->c = c;
    op_start(&f->op, io_ops(c->io), &c->op, finisher_states, finisher_release);
}
