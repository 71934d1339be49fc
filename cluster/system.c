/* system.c - the cluster's own verbs, as other nodes ask them; shard 0.
 *
 *     PING, GOSSIP, BIRTH, FETCH  answered at once from what is in memory
 *     PREPARE, ACCEPT             one step of the acceptor, durable before the answer; a value that
 *                                 nobody could learn is not accepted
 *     COMMIT                      fetch what lies before it, learn it, applied everywhere: answer
 *
 * Every one of them may come twice or late: the acceptor repeats itself, an entry that is there is
 * there.  They come on the urgent lane; only BIRTH is answered to a node that is no member.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

enum { BEGIN, FETCHED, DONE };
enum { ENTRIES_BYTES = 1024 * 1024 };

struct served {
    struct op op;
    struct cluster *c;
    struct request *request;
    struct io_req wait;
    struct proposal proposal;
    struct vote vote;
};

static struct op_next served_begin(struct op *);
static struct op_next served_fetched(struct op *);
static struct op_next served_done(struct op *);
static const struct op_state served_states[] = {
    [BEGIN] = { "begin", served_begin, TO(FETCHED) | TO(DONE) },
    [FETCHED] = { "fetched", served_fetched, TO(FETCHED) | TO(DONE) },
    [DONE] = { "done", served_done, TO(DONE) },
};

static struct served *served_of(struct op *op) { return owner_of(op, struct served, op); }

static struct op_next served_begin(struct op *op)
{
    struct served *s = served_of(op);
    struct cluster *c = s->c;
    struct cluster_request *r = &s->request->pub;
    struct proposal *p = &s->proposal;
    if (p->epoch > c->metadata->last + 1) {
        fetch_start(c, &s->wait, op, p->epoch - 1, r->node, r->deadline_ns);
        return op_wait(FETCHED);
    }
    return op_goto(FETCHED);
}

static struct op_next served_fetched(struct op *op)
{
    struct served *s = served_of(op);
    struct proposal *p = &s->proposal;
    if (s->wait.busy)
        return op_wait(FETCHED);
    if (s->wait.err != OK)
        return op_goto(DONE);
    if (s->request->pub.verb == VERB_COMMIT) {
        learn_start(s->c, &s->wait, op, p->epoch, p->value);
        return op_wait(DONE);
    }
    bool is_accept = s->request->pub.verb == VERB_ACCEPT;
    bool is_new = p->epoch > s->c->metadata->last;
    if (is_accept && is_new)
        s->wait.err = metadata_check(s->c->metadata, p->epoch, p->value);
    if (s->wait.err != OK)
        return op_goto(DONE);
    s->vote = (struct vote){ .epoch = p->epoch,
                             .ballot = p->ballot,
                             .value = p->value,
                             .is_accept = is_accept,
                             .arena = &s->request->pub.arena };
    vote_start(s->c, &s->wait, op, &s->vote);
    return op_wait(DONE);
}

static struct op_next served_done(struct op *op)
{
    struct served *s = served_of(op);
    if (s->wait.busy)
        return op_wait(DONE);
    struct buf body = buf_in(&s->request->pub.arena);
    if (s->wait.err == OK && s->request->pub.verb != VERB_COMMIT)
        paxos_answer_encode(&s->vote.answer, &body);
    cluster_answer(&s->request->pub, s->wait.err, buf_bytes(&body));
    return op_end(op, s->wait.err);
}

static void served_release(struct op *op) { mem_free(served_of(op)); }

static void system_propose(struct cluster *c, struct request *r)
{
    struct proposal p;
    enum err err = proposal_decode(r->pub.body, &p);
    bool has_ballot = r->pub.verb == VERB_COMMIT || !ballot_is_none(p.ballot);
    bool has_value = r->pub.verb == VERB_PREPARE || p.value.size > 0;
    if (err == OK && (p.epoch == 0 || !has_ballot || !has_value))
        err = ERR_PROTOCOL;
    if (err == OK && c->is_closing)
        err = ERR_STOPPED;
    if (err != OK) {
        cluster_answer(&r->pub, err, (struct bytes){ 0 });
        return;
    }
    struct served *s = mem_zalloc(sizeof *s);
    s->c = c;
    s->request = r;
    s->proposal = p;
    op_start(&s->op, io_ops(c->io), &c->op, served_states, served_release);
}

void ping_make(const struct cluster *c, struct ping *out)
{
    *out = (struct ping){ .epoch = c->epoch, .is_ready = c->is_ready, .native = c->options.native };
    snprintf(out->version, sizeof out->version, "%s", RONDO_VERSION);
}

static void system_ping(struct cluster *c, struct request *r)
{
    struct buf body = buf_in(&r->pub.arena);
    struct ping theirs, ours;
    ping_make(c, &ours);
    if (ping_decode(r->pub.body, &theirs) != OK) {
        cluster_answer(&r->pub, ERR_PROTOCOL, (struct bytes){ 0 });
        return;
    }
    fetch_lagging(c, r->pub.node, theirs.epoch);
    ping_encode(&ours, &body);
    cluster_answer(&r->pub, OK, buf_bytes(&body));
}

static void system_fetch(struct cluster *c, struct request *r)
{
    struct buf body = buf_in(&r->pub.arena);
    struct proposal p;
    enum err err = proposal_decode(r->pub.body, &p);
    if (err == OK && p.epoch == 0)
        err = ERR_PROTOCOL;
    if (err == OK)
        entries_encode(c->metadata, p.epoch, ENTRIES_BYTES, &body);
    cluster_answer(&r->pub, err, buf_bytes(&body));
}

void system_request(struct cluster *c, struct request *r)
{
    unsigned verb = r->pub.verb;
    bool is_member = r->conn->lane == LANE_URGENT && c->is_open;
    struct buf body = buf_in(&r->pub.arena);
    if (verb == VERB_BIRTH && r->conn->lane == LANE_BIRTH) {
        seeds_state(c, &body);
        cluster_answer(&r->pub, OK, buf_bytes(&body));
    } else if (!is_member) {
        cluster_answer(&r->pub, ERR_NOT_YET, (struct bytes){ 0 });
    } else if (verb == VERB_PING) {
        system_ping(c, r);
    } else if (verb == VERB_GOSSIP) {
        gossiper_request(c, &r->pub);
    } else if (verb == VERB_FETCH) {
        system_fetch(c, r);
    } else if (verb == VERB_PREPARE || verb == VERB_ACCEPT || verb == VERB_COMMIT) {
        system_propose(c, r);
    } else {
        cluster_answer(&r->pub, ERR_PROTOCOL, (struct bytes){ 0 });
    }
}
