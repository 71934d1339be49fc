/* write.c - one write: send it to every replica that is up, answer the client at its level, stay
 * until all have answered.
 *
 *     send ──> gather ──> answer ──> linger ──> ended
 *       └── too few are up: answer, nothing was sent
 *
 * The client is answered in `answer`, which is entered at the level, when the level is out of
 * reach, or at the deadline; the op then lingers for the replies of the other replicas.  What a
 * replica that is down missed will be a hint's matter; until there are hints, reads at QUORUM see
 * it.
 *
 * Invariants: 1. an acknowledgement is a bit of its replica, so repeating it changes nothing.
 * 2. the client's request completes exactly once, in `answer`.  3. the mutation's bytes live as
 * long as any replica may read them.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/inside.h"

enum { SEND, GATHER, ANSWER, LINGER };
enum { ARENA_BYTES = 4096 };

struct write {
    struct task task;
    struct arena arena;
    struct bytes mutation;
    int64_t token;
    uint64_t deadline_ns;
    struct replicas replicas;
    struct cluster_call calls[REPLICAS_MAX];
    struct io_req local, timer;
    unsigned repeats[REPLICAS_MAX];
    unsigned sent, acked, failed; /* a bit per replica */
    unsigned refused, broken;     /* of failed: by the replica itself; without any word */
    struct level_need need;
    unsigned overloaded; /* of refused */
    enum err err;        /* decided before anything was sent */
    struct list linger;  /* c->lingering */
    uint64_t bytes;
    bool is_cancelled, is_called_off;
    struct io_req *done; /* NULL once the client has been answered */
    struct io_req *settled;
    struct coordinator_outcome *outcome;
};

static struct op_next write_send(struct op *);
static struct op_next write_gather(struct op *);
static struct op_next write_answer(struct op *);
static struct op_next write_linger(struct op *);
static void write_release(struct op *);

static const struct op_state states[] = {
    [SEND] = { "send", write_send, TO(GATHER) | TO(ANSWER) },
    [GATHER] = { "gather", write_gather, TO(GATHER) | TO(ANSWER) },
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
        arena_init(&w->arena, ARENA_BYTES);
    } else {
        w = owner_of(c->idle_writes.next, struct write, task.link);
        list_remove(&w->task.link);
        struct arena arena = w->arena;
        *w = (struct write){ .arena = arena };
    }
    list_init(&w->task.link);
    list_init(&w->linger);
    return w;
}

/* Lingering gives way to new writes: the oldest that only wait for late replicas are called off. */
static bool write_has_room(struct coordinator *c)
{
    uint64_t max = c->options.requests_bytes_max ? c->options.requests_bytes_max : UINT64_MAX;
    while (c->bytes_in_flight - c->bytes_ending > max && !list_empty(&c->lingering)) {
        struct write *oldest = owner_of(c->lingering.next, struct write, linger);
        list_remove(&oldest->linger);
        oldest->is_called_off = true;
        c->bytes_ending += oldest->bytes;
        op_stop(&oldest->task.op, ERR_STOPPED);
    }
    return c->bytes_in_flight - c->bytes_ending <= max;
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
    w->token = args->token;
    w->deadline_ns = args->deadline_ns;
    w->mutation = arena_copy(&w->arena, args->mutation);
    ring_replicas(ring, args->keyspace, self, args->token, &w->replicas);
    level_need(args->level, ring, self, args->keyspace, &w->replicas, &w->need);
    c->counts.writes++;
    w->bytes = sizeof *w + u64_max(ARENA_BYTES, w->mutation.size);
    c->bytes_in_flight += w->bytes;
    if (!level_allows(args->level, true))
        w->err = ERR_INVALID;
    else if (!enough_alive(c, &w->replicas, &w->need, outcome))
        w->err = ERR_UNAVAILABLE;
    else if (!write_has_room(c))
        w->err = ERR_OVERLOADED;
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
    w->sent |= 1u << i;
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
    for (size_t i = 0; i < w->replicas.count; i++)
        if (cluster_is_up(c->cluster, w->replicas.nodes[i]))
            write_to(w, i);
    return op_wait(GATHER);
}

/* ---- gathering ---- */

/* Did the replica say no, or did we just not hear from it? */
static bool write_is_refusal(enum err err)
{
    return err != ERR_TIMEOUT && err != ERR_CLOSED && err != ERR_STOPPED && err != ERR_REFUSED &&
           err != ERR_UNREACHABLE;
}

static void write_note(struct write *w, size_t i, enum err err)
{
    unsigned bit = 1u << i;
    if (err == OK) {
        w->acked |= bit;
        w->task.c->counts.late_acks += !w->done;
        return;
    }
    w->failed |= bit;
    if (write_is_refusal(err))
        w->refused |= bit;
    else
        w->broken |= bit;
    if (err == ERR_OVERLOADED)
        w->overloaded |= bit;
}

/* Takes note of every reply that has come since the last look. */
static void write_look(struct write *w)
{
    unsigned open = w->sent & ~w->acked & ~w->failed;
    for (size_t i = 0; i < w->replicas.count; i++) {
        if (!(open >> i & 1))
            continue;
        bool is_self = w->replicas.nodes[i] == cluster_self(w->task.c->cluster);
        const struct io_req *req = is_self ? &w->local : &w->calls[i].req;
        if (req->busy)
            continue;
        bool is_open = w->timer.busy && !w->is_cancelled && !w->is_called_off && !w->task.op.stop;
        if (is_open && may_repeat(w->task.c, w->replicas.nodes[i], req->err, w->repeats[i])) {
            w->repeats[i]++;
            write_to(w, i);
            continue;
        }
        write_note(w, i, req->err);
    }
}

/* All that have answered are overloaded: when the others are too, then nobody has it, and it may be
 * said so. */
static bool write_may_be_nowhere(const struct write *w)
{
    return w->refused && w->refused == w->overloaded && !w->acked && !w->broken &&
           w->refused != w->sent;
}

static struct op_next write_gather(struct op *op)
{
    struct write *w = write_of(op);
    write_look(w);
    bool is_reached = level_met(&w->need, w->acked);
    bool is_beyond = !level_met(&w->need, w->sent & ~w->failed);
    if (is_reached || (is_beyond && !write_may_be_nowhere(w)) || op->stop || !w->timer.busy)
        return op_goto(ANSWER);
    return op_wait(GATHER);
}

/* ---- answering ---- */

static enum err write_verdict(struct write *w)
{
    struct coordinator_counts *counts = &w->task.c->counts;
    if (w->err == ERR_UNAVAILABLE)
        counts->unavailable++;
    if (w->err != OK)
        return w->err;
    if (level_met(&w->need, w->acked))
        return OK;
    if (w->task.op.stop)
        return w->task.op.stop;
    if (w->refused && w->refused == w->overloaded && !w->acked && !w->broken &&
        w->refused == w->sent)
        return ERR_OVERLOADED; /* nobody has it */
    if (w->refused) {
        counts->failures++;
        return ERR_WRITE_FAILURE;
    }
    counts->timeouts++;
    return ERR_WRITE_TIMEOUT;
}

static struct op_next write_answer(struct op *op)
{
    struct write *w = write_of(op);
    enum err err = write_verdict(w);
    if (w->err == OK)
        w->outcome->required = w->need.required;
    w->outcome->received = level_received(&w->need, w->acked);
    w->outcome->failed = count(w->refused);
    ensure_after(err == OK, level_met(&w->need, w->acked));
    io_req_end(w->done, err);
    w->done = NULL;
    w->outcome = NULL;
    list_add(&w->task.c->lingering, &w->linger);
    return op_goto(LINGER);
}

static void write_cancel(struct write *w)
{
    if (w->is_cancelled)
        return;
    w->is_cancelled = true;
    for (size_t i = 0; i < w->replicas.count; i++)
        if (w->calls[i].req.busy)
            cluster_cancel(w->task.c->cluster, &w->calls[i]);
}

static struct op_next write_linger(struct op *op)
{
    struct write *w = write_of(op);
    write_look(w);
    bool is_whole = w->sent == (w->acked | w->failed);
    if (!is_whole && !op->stop && w->timer.busy)
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
    ensure(!w->done && c->bytes_in_flight >= w->bytes);
    c->bytes_in_flight -= w->bytes;
    c->bytes_ending -= w->is_called_off ? w->bytes : 0;
    list_remove(&w->linger);
    if (w->settled) {
        w->settled->size = count(w->acked);
        io_req_end(w->settled, OK);
    }
    task_end(&w->task);
    arena_reset(&w->arena);
    list_add(&c->idle_writes, &w->task.link);
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
