/* watch.c - notices that this node stood still, and has it read the metadata before it goes on.
 *
 *     every shard:  tick ──(half a second)──> tick ...     each notes when it was
 *     shard 0:      ask ──> hear ──> pause ──> ask ...     each peer, until it has answered or 2 s
 *                             └──> fetch ──> ended         what the latest of them has
 *
 * A process that was stopped (SIGSTOP, a suspended machine, a host that took the processor away)
 * does not know it: its clock shows a gap.  Meanwhile the others may have decided what it has not
 * heard.  So a shard whose last tick is 2 s old is asleep, whichever comes first, the late tick or
 * a request that asks cluster_is_awake: it coordinates nothing until shard 0 has asked all peers
 * for their epochs and fetched what it lacks.  Whom nobody answers goes on as after a start; who is
 * told of an epoch and cannot have it stays asleep, tries again, and has those who wait told so.
 *
 * Invariants:
 *   1. One reading at a time, of shard 0; if the node stands still again, it begins anew.
 *   2. A shard is awake again only by a reading that it asked for after its last gap.
 *   3. Every wait ends: with a reading or with the node.
 *   4. Who goes down by a silence goes down by a tick, never inside of cluster_wake.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

enum { TICK };
enum { ASK, HEAR, PAUSE, FETCH };
static const uint64_t tick_ns = 500000000, asleep_ns = 2000000000;
static const uint64_t ask_ns = 500000000, reading_ns = 2000000000, pause_ns = 50000000;

struct wake {         /* who waits for a reading */
    struct post post; /* from another shard */
    struct list link;
    struct io_req *req;
    unsigned gap; /* the shard's last one when it began to wait */
    bool is_posted;
    enum err err;
};
struct reading {
    struct op op;
    struct cluster *c;
    struct list wakes;
    struct io_req wait;
    struct arena arena;
    uint64_t end_ns, epoch;
    unsigned from; /* who has that epoch */
    bool is_old;   /* the node has stood still again since it began */
    bool has_answered[NODES_MAX];
    struct cluster_call calls[NODES_MAX];
};

static struct op_next watch_tick(struct op *);
static const struct op_state watch_states[] = {
    [TICK] = { "tick", watch_tick, TO(TICK) },
};
static struct op_next reading_ask(struct op *);
static struct op_next reading_hear(struct op *);
static struct op_next reading_pause(struct op *);
static struct op_next reading_fetch(struct op *);
static void reading_release(struct op *);
static const struct op_state reading_states[] = {
    [ASK] = { "ask", reading_ask, TO(HEAR) },
    [HEAR] = { "hear", reading_hear, TO(HEAR) | TO(ASK) | TO(PAUSE) | TO(FETCH) },
    [PAUSE] = { "pause", reading_pause, TO(PAUSE) | TO(ASK) },
    [FETCH] = { "fetch", reading_fetch, TO(FETCH) | TO(ASK) },
};

static struct reading *reading_of(struct op *op) { return owner_of(op, struct reading, op); }
static struct wake *wake_of(struct list *l) { return owner_of(l, struct wake, link); }

/* ---- the tick ---- */

/* How long this shard has stood still beyond what a tick takes; 0: it has not. */
static uint64_t stood_ns(const struct cluster *c)
{
    uint64_t since_ns = io_now(c->io) - c->watch.ticked_ns;
    return since_ns > asleep_ns ? since_ns - tick_ns : 0;
}

static void watch_look(struct cluster *c)
{
    uint64_t stood = stood_ns(c);
    c->watch.ticked_ns = io_now(c->io);
    if (stood) {
        c->watch.is_asleep = true;
        c->watch.gap++;
        if (c->reading)
            c->reading->is_old = true;
        log_note(c->io, LOG_WARN, "stood_still", "ms=%llu", (unsigned long long)(stood / 1000000));
    }
    if (stood && c->gossiper)
        gossiper_stood(c, stood);
}

static struct op_next watch_tick(struct op *op)
{
    struct watch *w = owner_of(op, struct watch, op);
    struct cluster *c = owner_of(w, struct cluster, watch);
    if (w->nap.busy) {
        if (op->stop)
            io_cancel(c->io, &w->nap);
        return op_wait(TICK);
    }
    if (op->stop && w->wait.busy)
        return op_wait(TICK);
    if (op->stop)
        return op_end(op, op->stop);
    watch_look(c);
    if (c->gossiper)
        gossiper_tick(c);
    if (w->is_asleep && !w->wait.busy)
        cluster_wake(c, &w->wait, op);
    io_sleep(c->io, &w->nap, op, tick_ns);
    return op_wait(TICK);
}

void watch_start(struct cluster *c)
{
    c->watch.ticked_ns = io_now(c->io);
    op_start(&c->watch.op, io_ops(c->io), &c->op, watch_states, NULL);
}

bool cluster_is_awake(const struct cluster *c)
{
    return !c->watch.is_asleep && io_now(c->io) - c->watch.ticked_ns <= asleep_ns;
}

/* ---- waiting for a reading ---- */

static void wake_end(struct cluster *c, struct wake *w, enum err err)
{
    if (err == OK && w->gap == c->watch.gap)
        c->watch.is_asleep = false;
    io_req_end(w->req, err);
    mem_free(w);
}

static void reading_join(struct cluster *first, struct wake *w)
{
    struct reading *r = first->reading;
    if (!r) {
        r = first->reading = mem_zalloc(sizeof *r);
        r->c = first;
        list_init(&r->wakes);
        op_start(&r->op, io_ops(first->io), &first->op, reading_states, reading_release);
        if (first->is_closing)
            op_stop(&r->op, ERR_STOPPED);
    }
    list_add(&r->wakes, &w->link);
}

static void wake_there(struct cluster *first, struct post *p)
{
    reading_join(first, owner_of(p, struct wake, post));
}

static void wake_home(struct cluster *c, struct post *p)
{
    struct wake *w = owner_of(p, struct wake, post);
    wake_end(c, w, p->is_refused ? ERR_STOPPED : w->err);
}

void cluster_wake(struct cluster *c, struct io_req *req, struct op *op)
{
    struct wake *w = mem_zalloc(sizeof *w);
    io_req_begin(req, op);
    watch_look(c);
    w->req = req;
    w->gap = c->watch.gap;
    list_init(&w->link);
    w->is_posted = !is_first(c);
    if (!w->is_posted) {
        reading_join(c, w);
        return;
    }
    w->post.there = wake_there;
    w->post.home = wake_home;
    post_send(c, &w->post, 0);
}

/* ---- the reading ---- */

/* From the beginning. */
static struct op_next reading_again(struct reading *r)
{
    r->is_old = false;
    r->end_ns = r->epoch = 0;
    memset(r->has_answered, 0, sizeof r->has_answered);
    return op_goto(ASK);
}

static bool is_asked(const struct reading *r, unsigned n)
{
    const struct cluster *c = r->c;
    const struct lane_out *lane = c->lanes[n - 1][LANE_URGENT];
    bool can_hear = lane && (c->ring.nodes[n - 1].is_up || lane->conn);
    return n != c->self && !r->has_answered[n - 1] && can_hear;
}

static struct op_next reading_ask(struct op *op)
{
    struct reading *r = reading_of(op);
    struct cluster *c = r->c;
    struct buf body = { 0 };
    struct ping ours;
    if (op->stop)
        return op_goto(HEAR);
    uint64_t now_ns = io_now(c->io);
    if (r->end_ns == 0)
        r->end_ns = now_ns + reading_ns;
    arena_reset(&r->arena);
    ping_make(c, &ours);
    ping_encode(&ours, &body);
    for (unsigned n = 1; n <= c->ring.nodes_count; n++) {
        if (!is_asked(r, n))
            continue;
        struct cluster_message m = {
            .node = n, .verb = VERB_PING, .body = buf_bytes(&body), .deadline_ns = now_ns + ask_ns
        };
        r->calls[n - 1].arena = &r->arena;
        calls_begin(c, &r->calls[n - 1], op, &m, c->lanes[n - 1][LANE_URGENT]);
    }
    buf_deinit(&body);
    return op_goto(HEAR);
}

static void reading_heard(struct reading *r, unsigned n)
{
    struct cluster_call *call = &r->calls[n - 1];
    struct ping says;
    bool is_answer = call->arena && call->req.err == OK;
    if (r->has_answered[n - 1] || !is_answer || ping_decode(call->answer, &says) != OK)
        return;
    r->has_answered[n - 1] = true;
    if (says.epoch > r->epoch) {
        r->epoch = says.epoch;
        r->from = n;
    }
}

static struct op_next reading_hear(struct op *op)
{
    struct reading *r = reading_of(op);
    struct cluster *c = r->c;
    bool is_busy = false, lacks_any = false;
    watch_look(c);
    for (unsigned n = 1; n <= c->ring.nodes_count; n++) {
        if (r->calls[n - 1].req.busy && op->stop)
            cluster_cancel(c, &r->calls[n - 1]);
        is_busy |= r->calls[n - 1].req.busy;
    }
    if (is_busy)
        return op_wait(HEAR);
    if (r->is_old && !op->stop)
        return reading_again(r);
    for (unsigned n = 1; n <= c->ring.nodes_count; n++) {
        reading_heard(r, n);
        lacks_any |= is_asked(r, n);
    }
    if (op->stop)
        return op_end(op, op->stop);
    if (lacks_any && io_now(c->io) < r->end_ns) {
        io_sleep(c->io, &r->wait, op, pause_ns);
        return op_wait(PAUSE);
    }
    if (r->epoch <= c->metadata->last)
        return op_end(op, OK);
    fetch_start(c, &r->wait, op, r->epoch, r->from, io_now(c->io) + reading_ns);
    return op_wait(FETCH);
}

static struct op_next reading_pause(struct op *op)
{
    struct reading *r = reading_of(op);
    if (!r->wait.busy)
        return op_goto(ASK);
    if (op->stop)
        io_cancel(r->c->io, &r->wait);
    return op_wait(PAUSE);
}

static struct op_next reading_fetch(struct op *op)
{
    struct reading *r = reading_of(op);
    if (r->wait.busy)
        return op_wait(FETCH);
    watch_look(r->c);
    if (r->is_old && !op->stop)
        return reading_again(r);
    return op_end(op, r->wait.err == OK ? OK : ERR_BEHIND);
}

static void reading_release(struct op *op)
{
    struct reading *r = reading_of(op);
    struct cluster *c = r->c;
    enum err err = op->err;
    c->reading = NULL;
    log_note(c->io, err == OK ? LOG_INFO : LOG_WARN, "metadata_read", "epoch=%llu err=\"%s\"",
             (unsigned long long)c->epoch, err_text(err));
    list_each(l, &r->wakes)
    {
        struct wake *w = wake_of(l);
        list_remove(l);
        w->err = err;
        if (w->is_posted)
            post_home(c, &w->post);
        else
            wake_end(c, w, err);
    }
    arena_deinit(&r->arena);
    mem_free(r);
}
