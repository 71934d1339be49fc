/* write.c - one write: send it to every replica that is up, answer the client at its level, stay
 * until each replica has it or a hint is kept for it.
 *
 *     send ──> gather ──> owe ──> answer ──> linger ──> ended
 *       └── too few are up: answer, nothing was sent
 *
 * `gather` is left at the level, when the level is out of reach, or at the deadline.  Where all
 * replicas have acknowledged by then, `owe` is passed through; else something of the write lingers
 * behind its answer, and the range of its token must be in the durable set first (owed.h): it is,
 * when the range is written to all the time; else the answer waits for a sync.  A disk that does
 * not take it holds the answer back until nothing lingers, or for a grace after the deadline: then
 * the client is told that the time was up, since what was acknowledged is not remembered
 * everywhere.
 *
 * The op then lingers.  A replica that is down, that fails, or that has not answered at the
 * deadline gets a hint (write_place.c).  Lingering writes have a budget of bytes; past it the
 * oldest get their hints at once.  So do all when the node stops.
 *
 * Invariants: 1. an acknowledgement is a bit of its replica, so repeating it changes nothing.
 * 2. the client's request completes exactly once, in `answer`.  3. the mutation's bytes live as
 * long as any replica may read them.  4. when the op ends, nothing is in flight.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/write.h"

#include "base/mem.h"

enum { SEND, GATHER, OWE, ANSWER, LINGER };
static const uint64_t grace_ns = 500000000;

static struct op_next write_send(struct op *);
static struct op_next write_gather(struct op *);
static struct op_next write_owe(struct op *);
static struct op_next write_answer(struct op *);
static struct op_next write_linger(struct op *);
static void write_release(struct op *);

static const struct op_state states[] = {
    [SEND] = { "send", write_send, TO(GATHER) | TO(ANSWER) },
    [GATHER] = { "gather", write_gather, TO(GATHER) | TO(OWE) },
    [OWE] = { "owe", write_owe, TO(OWE) | TO(ANSWER) },
    [ANSWER] = { "answer", write_answer, TO(LINGER) },
    [LINGER] = { "linger", write_linger, TO(LINGER) },
};

static struct write *write_of(struct op *op) { return owner_of(op, struct write, task.op); }
static unsigned count(unsigned bits) { return (unsigned)__builtin_popcount(bits); }

static struct write *write_take(struct coordinator *c)
{
    struct write *w = NULL;
    if (list_empty(&c->idle_writes)) {
        w = mem_zalloc(sizeof *w);
        arena_init(&w->arena, WRITE_ARENA_BYTES);
    } else {
        w = owner_of(c->idle_writes.next, struct write, task.link);
        list_remove(&w->task.link);
        struct arena arena = w->arena;
        *w = (struct write){ .arena = arena };
    }
    list_init(&w->task.link);
    list_init(&w->linger);
    list_init(&w->begun);
    return w;
}

/* Lingering gives way to new writes: the oldest that only wait for late replicas are called off.
 * What they still hold, until their hints are on the disk, may be as much again. */
bool write_has_room(struct coordinator *c)
{
    uint64_t max = c->options.requests_bytes_max ? c->options.requests_bytes_max : UINT64_MAX / 2;
    while (c->bytes_in_flight - c->bytes_ending > max && !list_empty(&c->lingering)) {
        struct write *oldest = owner_of(c->lingering.next, struct write, linger);
        list_remove(&oldest->linger);
        oldest->is_called_off = true;
        c->bytes_ending += oldest->bytes;
        op_stop(&oldest->task.op, ERR_STOPPED);
    }
    return c->bytes_in_flight - c->bytes_ending <= max && c->bytes_in_flight <= 2 * max;
}

/* May a hint be kept for one of them? */
static bool write_may_be_hinted(const struct write *w, const struct coordinator *c)
{
    for (size_t i = 0; c->options.hints && i < w->replicas.count; i++)
        if (hints_would_refuse(c->options.hints, w->replicas.nodes[i]) == HINT_REFUSALS_COUNT)
            return true;
    return false;
}

static enum err write_admit(struct write *w, struct coordinator *c)
{
    if (!level_allows(w->level, true))
        return ERR_INVALID;
    bool has_enough = enough_alive(c, &w->replicas, &w->need, w->outcome);
    if (!has_enough && (w->level != LEVEL_ANY || !write_may_be_hinted(w, c)))
        return ERR_UNAVAILABLE;
    return write_has_room(c) ? OK : ERR_OVERLOADED;
}

void coordinator_write(struct coordinator *c, struct io_req *req, struct op *op,
                       const struct coordinator_write *args, struct coordinator_outcome *outcome)
{
    const struct ring *ring = cluster_ring(c->cluster);
    unsigned self = cluster_self(c->cluster);
    struct write *w = write_take(c);
    *outcome = (struct coordinator_outcome){ 0 };
    w->done = req;
    w->outcome = outcome;
    w->level = args->level;
    w->token = args->token;
    w->begun_ns = io_now(c->io);
    list_add(&c->begun, &w->begun);
    w->deadline_ns = args->deadline_ns;
    w->mutation = arena_copy(&w->arena, args->mutation);
    ring_replicas(ring, args->keyspace, self, args->token, &w->replicas);
    level_need(args->level, ring, self, args->keyspace, &w->replicas, &w->need);
    c->counts.writes++;
    w->bytes = sizeof *w + u64_max(WRITE_ARENA_BYTES, w->mutation.size);
    c->bytes_in_flight += w->bytes;
    w->err = write_admit(w, c);
    w->settled = args->settled;
    if (w->settled)
        io_req_begin(w->settled, op);
    io_req_begin(req, op);
    task_begin(&w->task, c, states, write_release);
}

/* ---- sending ---- */

static void write_to(struct write *w, size_t i)
{
    struct coordinator *c = w->task.c;
    unsigned node = w->replicas.nodes[i];
    struct cluster_message m = { .node = node,
                                 .verb = VERB_APPLY,
                                 .body = w->mutation,
                                 .deadline_ns = w->deadline_ns,
                                 .has_token = true,
                                 .token = w->token };
    w->open |= 1u << i;
    if (node == cluster_self(c->cluster)) {
        c->options.replica.apply(c->options.replica.context, &w->local, &w->task.op, w->token,
                                 w->mutation, w->deadline_ns);
        return;
    }
    w->calls[i].arena = &w->arena;
    cluster_call(c->cluster, &w->calls[i], &w->task.op, &m);
}

static struct op_next write_send(struct op *op)
{
    struct write *w = write_of(op);
    struct coordinator *c = w->task.c;
    uint64_t now = io_now(c->io);
    if (w->err != OK || op->stop)
        return op_goto(ANSWER);
    io_sleep(c->io, &w->timer, op, w->deadline_ns > now ? w->deadline_ns - now : 0);
    for (size_t i = 0; i < w->replicas.count; i++) {
        write_place_begin(w, i);
        if (cluster_is_up(c->cluster, w->replicas.nodes[i]))
            write_to(w, i);
        else
            write_place_reply(w, i, ERR_UNREACHABLE, false);
    }
    return op_goto(GATHER);
}

/* ---- gathering ---- */

static bool write_was_synced(const struct write *w, size_t i, bool is_self)
{
    const struct bytes *answer = &w->calls[i].answer;
    return is_self ? w->local.size != 0 : answer->size > 0 && answer->data[0] != 0;
}

/* Takes note of every reply that has come since the last look. */
static void write_look(struct write *w)
{
    for (size_t i = 0; w->open >> i; i++) {
        bool is_self = w->replicas.nodes[i] == cluster_self(w->task.c->cluster);
        const struct io_req *req = is_self ? &w->local : &w->calls[i].req;
        if (!(w->open >> i & 1) || req->busy)
            continue;
        if (!write_is_over(w) &&
            may_repeat(w->task.c, w->replicas.nodes[i], req->err, w->repeats[i])) {
            w->repeats[i]++;
            write_to(w, i);
            continue;
        }
        write_place_reply(w, i, req->err, req->err == OK && write_was_synced(w, i, is_self));
    }
    write_place_look(w);
}

/* What counts for the level. */
static unsigned write_have(const struct write *w)
{
    return w->in[WRITE_ACKED] | (w->level == LEVEL_ANY ? w->in[WRITE_HINTED] : 0);
}
static bool write_is_reached(const struct write *w) { return level_met(&w->need, write_have(w)); }

/* All that have answered are overloaded: when the others are too, then nobody has it, and it may be
 * said so. */
static bool write_is_nowhere(const struct write *w)
{
    return w->sent && w->overloaded == w->sent && !write_place_is_somewhere(w);
}

static bool write_is_beyond(const struct write *w)
{
    unsigned hoped = w->open | write_have(w);
    if (w->level == LEVEL_ANY)
        hoped |= w->in[WRITE_IN_FLIGHT];
    bool may_be_nowhere = w->overloaded && w->open && !write_place_is_somewhere(w);
    return !level_met(&w->need, hoped) && !may_be_nowhere;
}

/* Is there time left, be it of the grace, which is taken once? */
static bool write_has_time(struct write *w)
{
    if (w->timer.busy || w->has_grace)
        return w->timer.busy;
    w->has_grace = true;
    io_sleep(w->task.c->io, &w->timer, &w->task.op, grace_ns);
    return true;
}

static struct op_next write_gather(struct op *op)
{
    struct write *w = write_of(op);
    write_look(w);
    bool is_hoping = w->level == LEVEL_ANY && w->keeping;
    bool is_decided = write_is_reached(w) || write_is_beyond(w) || op->stop;
    if (is_decided || (write_is_late(w) && !(is_hoping && write_has_time(w))))
        return op_goto(OWE);
    return op_wait(GATHER);
}

/* ---- owing ---- */

/* Is there a replica that may never have it, as far as is known? */
static bool write_lingers(const struct write *w)
{
    return !write_is_nowhere(w) && (w->in[WRITE_IN_FLIGHT] | w->in[WRITE_REFUSED]);
}

/* Is the range in the set; if not, does the answer wait for it? */
static bool write_is_owed(struct write *w)
{
    struct coordinator *c = w->task.c;
    if (!w->hold.entry)
        owed_hold(c->options.owed, cluster_ring(c->cluster), w->token, &w->hold);
    if (owed_is_kept(c->options.owed, &w->hold))
        return true;
    if (w->owe.busy || w->is_owe_refused)
        return false;
    w->is_owe_refused = w->owe.op && w->owe.err != OK;
    if (!w->is_owe_refused)
        owed_wait(c->options.owed, &w->owe, &w->task.op, &w->hold);
    return false;
}

static struct op_next write_owe(struct op *op)
{
    struct write *w = write_of(op);
    struct coordinator *c = w->task.c;
    write_look(w);
    if (!c->options.owed || !write_lingers(w) || write_is_owed(w))
        return op_goto(ANSWER);
    return write_has_time(w) ? op_wait(OWE) : op_goto(ANSWER);
}

/* ---- answering ---- */

/* May the client count on what lingers being made good? */
static bool write_is_promised(const struct write *w)
{
    const struct owed *owed = w->task.c->options.owed;
    return !owed || !write_lingers(w) || owed_is_kept(owed, &w->hold);
}

static enum err write_verdict(struct write *w)
{
    struct coordinator_counts *counts = &w->task.c->counts;
    if (w->err == ERR_UNAVAILABLE)
        counts->unavailable++;
    if (w->err != OK)
        return w->err;
    if (write_is_reached(w) && write_is_promised(w))
        return OK;
    if (write_is_nowhere(w))
        return ERR_OVERLOADED;
    if (w->task.op.stop)
        return w->task.op.stop;
    if (w->refused && !write_is_reached(w)) {
        counts->failures++;
        return ERR_WRITE_FAILURE;
    }
    counts->timeouts++;
    return ERR_WRITE_TIMEOUT;
}

static void write_tell(struct write *w)
{
    struct coordinator_outcome *out = w->outcome;
    if (w->err == OK)
        out->required = w->need.required;
    out->received = level_received(&w->need, write_have(w));
    out->replicas = count(w->sent);
    out->acked = count(w->in[WRITE_ACKED]);
    out->synced = count(w->synced);
    out->hinted = count(w->in[WRITE_HINTED]);
    for (size_t i = 0; i < w->replicas.count; i++)
        if (w->refused >> i & 1)
            out->failures[out->failed++] =
                (struct coordinator_failure){ w->replicas.nodes[i], (enum err)w->errs[i] };
}

static struct op_next write_answer(struct op *op)
{
    struct write *w = write_of(op);
    enum err err = write_verdict(w);
    write_tell(w);
    ensure_after(err == OK, write_is_reached(w));
    if (write_is_nowhere(w))
        write_place_withdraw(w);
    io_req_end(w->done, err);
    w->done = NULL;
    w->outcome = NULL;
    list_add(&w->task.c->lingering, &w->linger);
    return op_goto(LINGER);
}

/* ---- lingering ---- */

static void write_cancel(struct write *w)
{
    if (w->is_cancelled)
        return;
    w->is_cancelled = true;
    for (size_t i = 0; i < w->replicas.count; i++)
        if (w->calls[i].req.busy)
            cluster_cancel(w->task.c->cluster, &w->calls[i]);
}

/* A replica of this node that takes its time is waited for, hint or not: it reads the mutation. */
static struct op_next write_linger(struct op *op)
{
    struct write *w = write_of(op);
    write_look(w);
    bool is_settled = !w->in[WRITE_IN_FLIGHT] && !w->keeping;
    if (!is_settled)
        return op_wait(LINGER);
    write_cancel(w);
    if (w->timer.busy)
        io_cancel(w->task.c->io, &w->timer);
    return op->waiting ? op_wait(LINGER) : op_end(op, OK);
}

static void write_release(struct op *op)
{
    struct write *w = write_of(op);
    struct coordinator *c = w->task.c;
    ensure(!w->done && !w->in[WRITE_IN_FLIGHT] && c->bytes_in_flight >= w->bytes);
    c->bytes_in_flight -= w->bytes;
    c->bytes_ending -= w->is_called_off ? w->bytes : 0;
    list_remove(&w->linger);
    list_remove(&w->begun);
    if (w->hold.entry)
        owed_let_go(c->options.owed, &w->hold);
    if (w->settled) {
        w->settled->size = count(w->in[WRITE_ACKED] | w->in[WRITE_HINTED]);
        io_req_end(w->settled, OK);
    }
    task_end(&w->task);
    arena_reset(&w->arena);
    list_add(&c->idle_writes, &w->task.link);
}

uint64_t coordinator_oldest_ns(const struct coordinator *c)
{
    uint64_t now = io_now(c->io);
    if (list_empty(&c->begun))
        return 0;
    const struct write *oldest = owner_of(c->begun.next, struct write, begun);
    return now > oldest->begun_ns ? now - oldest->begun_ns : 1;
}

void write_free_idle(struct coordinator *c)
{
    list_each(l, &c->idle_writes)
    {
        struct write *w = owner_of(l, struct write, task.link);
        list_remove(l);
        arena_deinit(&w->arena);
        mem_free(w);
    }
}
