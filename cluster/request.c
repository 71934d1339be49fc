/* request.c - requests of other nodes: from the frame to whoever answers, and the answer home.
 *
 *     conn ──> the cluster's own verb ──────────────> system.c
 *          ──> a token of another shard ── post ────> there: handle; the answer comes home by mail
 *          ──> of a later epoch than ours ──> behind, until a fetch has brought that epoch
 *                                             here and, where it is another's, there
 *          ──> the node's `request` slot ──> cluster_answer ──> conn
 *
 * Request objects are pooled with their arenas, which keep their first block: a warm request takes
 * nothing from the heap.  They belong to the shard whose connection they came on.
 *
 * Invariants: 1. each request is answered once.  2. conn->unanswered counts those that came on it
 * and are not back in the pool, unanswered_bytes their bodies, so a connection outlives them.
 * 3. what waits for an epoch waits at home: a mail that did would keep the credit that the entry of
 * that epoch may need to come by.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

enum { ARENA_BYTES = 8 * 1024, POOL_MAX = 256, NODE_VERBS = 16 };
static const uint64_t budget_us_max = 3600ull * 1000000;

static struct request *request_of(struct cluster_request *pub)
{
    return owner_of(pub, struct request, pub);
}

/* ---- the pool ---- */

static struct request *request_take(struct cluster *c)
{
    struct request *r;
    if (list_empty(&c->requests_free)) {
        r = mem_zalloc(sizeof *r);
        arena_init(&r->pub.arena, ARENA_BYTES);
        list_init(&r->link);
    } else {
        r = owner_of(c->requests_free.next, struct request, link);
        list_remove(&r->link);
        c->requests_free_count--;
    }
    struct arena arena = r->pub.arena;
    *r = (struct request){ .home = c };
    r->pub.arena = arena;
    r->pub.cluster = c;
    list_init(&r->link);
    list_init(&r->pub.link);
    c->requests_out++;
    return r;
}

static void request_free(struct request *r)
{
    arena_deinit(&r->pub.arena);
    mem_free(r);
}

static void request_give_back(struct request *r)
{
    struct cluster *c = r->home;
    struct conn *conn = r->conn;
    ensure(c->requests_out > 0 && conn->unanswered > 0);
    ensure(conn->unanswered_bytes >= r->pub.body.size);
    c->requests_out--;
    conn->unanswered_bytes -= r->pub.body.size;
    if (c->requests_free_count < POOL_MAX) {
        arena_reset(&r->pub.arena);
        list_add(&c->requests_free, &r->link);
        c->requests_free_count++;
    } else {
        request_free(r);
    }
    if (conn->unanswered-- == 1 || !conn->is_reading)
        op_wake(&conn->op);
    if (c->is_closing)
        op_wake(&c->op);
}

void requests_deinit(struct cluster *c)
{
    ensure(c->requests_out == 0);
    list_each(l, &c->requests_free) request_free(owner_of(l, struct request, link));
    list_init(&c->requests_free);
}

/* ---- answering ---- */

static void request_finish(struct request *r, enum err err, struct bytes body)
{
    struct frame f = { .is_answer = true, .id = r->id, .err = err };
    if (r->conn->is_open)
        conn_send(r->conn, &f, body);
    else
        r->home->counts.dropped++;
    request_give_back(r);
}

void cluster_answer(struct cluster_request *pub, enum err err, struct bytes body)
{
    struct request *r = request_of(pub);
    ensure(pub->cluster && body.size <= CLUSTER_BODY_BYTES_MAX);
    if (!r->is_passed) {
        request_finish(r, err, body);
        return;
    }
    ensure(pub->cluster->passed_count > 0);
    pub->cluster->passed_count--;
    op_wake(&pub->cluster->op);
    r->err = err;
    r->answer = arena_copy(&pub->arena, body);
    post_home(pub->cluster, &r->post);
}

/* The node never sees it: where it is a mutation, it is counted here. */
static void request_refuse(struct cluster *c, struct request *r, enum err err)
{
    ensure(err == ERR_BEHIND || err == ERR_STOPPED);
    c->counts.mutations_behind += r->pub.verb == VERB_APPLY && err == ERR_BEHIND;
    c->counts.mutations_stopped += r->pub.verb == VERB_APPLY && err == ERR_STOPPED;
    cluster_answer(&r->pub, err, (struct bytes){ 0 });
}

/* ---- to another shard and home again ---- */

static void request_handle(struct cluster *, struct request *);
static void request_wait(struct cluster *, struct request *);

static void request_there(struct cluster *at, struct post *p)
{
    struct request *r = owner_of(p, struct request, post);
    r->is_too_new = !at->is_closing && r->pub.epoch > at->epoch;
    if (r->is_too_new) {
        post_home(at, p);
        return;
    }
    r->pub.cluster = at;
    at->passed_count++;
    request_handle(at, r);
}

static void request_home(struct cluster *c, struct post *p)
{
    struct request *r = owner_of(p, struct request, post);
    ensure(c == r->home);
    if (r->is_too_new && !p->is_refused) {
        r->is_passed = false;
        request_wait(c, r);
        return;
    }
    request_finish(r, p->is_refused ? ERR_STOPPED : r->err,
                   p->is_refused ? (struct bytes){ 0 } : r->answer);
}

static void request_pass(struct request *r, int shard)
{
    r->is_passed = true;
    r->post.there = request_there;
    r->post.home = request_home;
    post_send(r->home, &r->post, shard);
}

/* To who owns its token. */
static void request_give(struct cluster *c, struct request *r)
{
    int self = io_self(c->io);
    int owner = r->pub.has_token ? ring_shard(r->pub.token, io_shards(c->io)) : self;
    if (owner != self)
        request_pass(r, owner);
    else
        request_handle(c, r);
}

/* ---- behind ---- */

enum { LOOK, FETCHED };
struct behind {
    struct op op;
    struct cluster *c;
    struct io_req fetch;
    struct request *first;
};

static struct op_next behind_look(struct op *);
static struct op_next behind_fetched(struct op *);
static const struct op_state behind_states[] = {
    [LOOK] = { "look", behind_look, TO(FETCHED) },
    [FETCHED] = { "fetched", behind_fetched, TO(FETCHED) | TO(LOOK) },
};

static struct behind *behind_of(struct op *op) { return owner_of(op, struct behind, op); }

static void behind_release(struct op *op)
{
    struct behind *b = behind_of(op);
    b->c->is_behind = false;
    mem_free(b);
}

void requests_look(struct cluster *c)
{
    list_each(l, &c->requests_behind)
    {
        struct request *r = owner_of(l, struct request, link);
        if (r->is_too_new || r->pub.epoch > c->epoch)
            continue;
        list_remove(l);
        request_give(c, r);
    }
}

static void behind_give_up(struct cluster *c)
{
    list_each(l, &c->requests_behind)
    {
        list_remove(l);
        request_refuse(c, owner_of(l, struct request, link), ERR_STOPPED);
    }
}

static struct op_next behind_look(struct op *op)
{
    struct behind *b = behind_of(op);
    if (op->stop)
        behind_give_up(b->c);
    requests_look(b->c);
    if (list_empty(&b->c->requests_behind))
        return op_end(op, OK);
    b->first = owner_of(b->c->requests_behind.next, struct request, link);
    struct cluster_request *pub = &b->first->pub;
    cluster_catch_up(b->c, &b->fetch, op, pub->epoch, pub->node, pub->deadline_ns);
    return op_wait(FETCHED);
}

static struct op_next behind_fetched(struct op *op)
{
    struct behind *b = behind_of(op);
    if (b->fetch.busy)
        return op_wait(FETCHED);
    bool still_waits = false;
    list_each(l, &b->c->requests_behind) still_waits |=
        owner_of(l, struct request, link) == b->first;
    if (still_waits && (b->fetch.err != OK || b->first->pub.epoch > b->c->epoch)) {
        list_remove(&b->first->link);
        request_refuse(b->c, b->first, ERR_BEHIND);
    } else if (still_waits) {
        b->first->is_too_new = false; /* every shard has that epoch now */
    }
    return op_goto(LOOK);
}

static void request_wait(struct cluster *c, struct request *r)
{
    list_add(&c->requests_behind, &r->link);
    if (c->is_behind)
        return;
    struct behind *b = mem_zalloc(sizeof *b);
    b->c = c;
    c->is_behind = true;
    op_start(&b->op, io_ops(c->io), &c->op, behind_states, behind_release);
}

/* ---- arriving ---- */

static void request_handle(struct cluster *c, struct request *r)
{
    if (c->is_closing)
        request_refuse(c, r, ERR_STOPPED);
    else if (r->pub.epoch > c->epoch)
        request_wait(c, r);
    else
        c->options.request(c->options.context, &r->pub);
}

void request_arrived(struct conn *conn, const struct frame *f)
{
    struct cluster *c = conn->c;
    struct request *r = request_take(c);
    struct cluster_request *pub = &r->pub;
    r->conn = conn;
    r->id = f->id;
    conn->unanswered++;
    c->counts.received++;
    pub->node = conn->node;
    pub->verb = (enum verb)f->verb;
    pub->epoch = f->epoch;
    pub->deadline_ns = io_now(c->io) + u64_min(f->budget_us, budget_us_max) * 1000;
    pub->has_token = f->has_token;
    pub->token = f->token;
    if (frame_body(f, &pub->arena, &pub->body) != OK) {
        conn->is_broken = true;
        pub->body = (struct bytes){ 0 };
        request_finish(r, ERR_CORRUPT, (struct bytes){ 0 });
        return;
    }
    conn->unanswered_bytes += pub->body.size;
    if (f->verb < NODE_VERBS)
        system_request(c, r);
    else if (conn->lane == LANE_BIRTH || !c->is_open)
        cluster_answer(pub, ERR_NOT_YET, (struct bytes){ 0 });
    else
        request_give(c, r);
}
