/* ask.c - one round of a read: rows from one replica, digests from the others; whole rows of all
 * and repairs where they differ.
 *
 *     ask ──> gather ──(digests are equal)──────────────────────────────> end ──> ended
 *              ▲ │ ▲                                                       ▲
 *              │ │ └─────────── whole rows ───────── compare <──┐          │
 *              └─┘ a replica failed: the next one       │ ▲     │          │
 *                  that is up is asked                  │ └─────┘ gather   │
 *                                                       └──> merge ──> repair
 *
 * Replicas are asked in the order of latency.h.  Other nodes come first and this one is read while
 * they are at it (ask_own.c).  When the answers take longer than the table's
 * speculative_retry allows, one more replica is asked.  When there is no further one and only the
 * connection broke, the same one is asked again.
 *
 * Where digests differ, all that had answered are asked for whole rows; these are merged, and each
 * replica is sent what it lacks.  The caller hears when as many as the level needs have all of it:
 * so what one read at QUORUM has told, a later one tells too.  A table with read_repair = 'NONE' is
 * merged and not repaired.
 *
 * A round may bring fewer rows than the limit although more follow: it says so (has_more) and
 * where, and whoever reads goes on from there; so answers that were cut short by one replica never
 * hide another's rows.
 *
 * The op outlives its caller while a replica that is no longer waited for is still reading: nothing
 * that the caller lent is touched then.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/ask.h"

#include "base/mem.h"
#include "io/expect.h"
#include "model/params.h"

enum { ASK, GATHER, COMPARE, MERGE, REPAIR, END };
enum { ARENA_BYTES = 8192 };

static struct op_next ask_ask(struct op *);
static struct op_next ask_gather(struct op *);
static struct op_next ask_compare(struct op *);
static struct op_next ask_merge(struct op *);
static struct op_next ask_repair(struct op *);
static struct op_next ask_end(struct op *);
static void ask_release(struct op *);

static const struct op_state states[] = {
    [ASK] = { "ask", ask_ask, TO(GATHER) | TO(END) },
    [GATHER] = { "gather", ask_gather, TO(GATHER) | TO(COMPARE) | TO(MERGE) | TO(END) },
    [COMPARE] = { "compare", ask_compare, TO(GATHER) | TO(END) },
    [MERGE] = { "merge", ask_merge, TO(REPAIR) | TO(END) },
    [REPAIR] = { "repair", ask_repair, TO(REPAIR) | TO(GATHER) | TO(END) },
    [END] = { "end", ask_end, TO(END) },
};

static struct ask *ask_of(struct op *op) { return owner_of(op, struct ask, task.op); }

static struct ask *ask_take(struct coordinator *c)
{
    struct ask *a = NULL;
    if (list_empty(&c->idle_asks)) {
        a = mem_zalloc(sizeof *a);
        arena_init(&a->arena, ARENA_BYTES);
    } else {
        a = owner_of(c->idle_asks.next, struct ask, task.link);
        list_remove(&a->task.link);
        struct arena arena = a->arena;
        *a = (struct ask){ .arena = arena };
    }
    list_init(&a->task.link);
    return a;
}

/* Those that are slow come last; the need's bits go with them. */
static void ask_order(struct ask *a)
{
    struct coordinator *c = a->task.c;
    const struct replicas from = a->replicas;
    const struct level_need old = a->need;
    size_t order[REPLICAS_MAX];
    uint64_t now = io_now(c->io);
    size_t good = latency_order(&c->latency, from.nodes, from.count, now, order);
    if (good == from.count)
        return; /* none is */
    a->need.counted = 0;
    for (unsigned g = 0; g < old.groups_count; g++)
        a->need.groups[g].mask = 0;
    for (size_t i = 0; i < from.count; i++) {
        unsigned was = 1u << order[i], is = 1u << i;
        a->replicas.nodes[i] = from.nodes[order[i]];
        a->need.counted |= old.counted & was ? is : 0;
        for (unsigned g = 0; g < old.groups_count; g++)
            a->need.groups[g].mask |= old.groups[g].mask & was ? is : 0;
    }
    for (size_t i = good; i < from.count; i++)
        if (!a->read.is_range && latency_probe_is_due(&c->latency, a->replicas.nodes[i], now))
            probe_start(c, a->replicas.nodes[i], &a->read, a->gc_before);
}

/* What is asked for a digest ends with what is asked for rows; and the copy is made of these bytes.
 */
static void ask_copy(struct ask *a, const struct read *read)
{
    struct buf encoded = buf_in(&a->arena);
    struct bytes *digest = &a->requests[ASK_DIGEST], *rows = &a->requests[ASK_ROWS];
    digest_ask_encode(read, a->gc_before, &encoded);
    *digest = buf_bytes(&encoded);
    *rows = digest_ask_read(*digest);
    enum err err = read_decode(*rows, &a->arena, &a->read);
    ensure(err == OK);
    a->whole = a->read;
    a->whole.columns_count = 0;
}

void ask_start(struct coordinator *c, struct io_req *req, struct op *op,
               const struct ask_args *args, struct read_outcome *out,
               struct coordinator_outcome *outcome)
{
    struct ask *a = ask_take(c);
    ensure(args->need->required > 0);
    a->args = *args;
    a->done = req;
    a->out = out;
    a->outcome = outcome;
    outcome->replicas = (unsigned)args->replicas->count;
    a->task.c = c;
    a->begun_ns = io_now(c->io);
    a->gc_before = args->read->now_seconds - args->table->params->gc_grace_seconds;
    ask_copy(a, args->read);
    a->replicas = *args->replicas;
    a->need = *args->need;
    level_order(c, &a->replicas, &a->need);
    ask_order(a);
    a->own = REPLICAS_MAX;
    for (size_t i = 0; i < a->replicas.count; i++)
        if (a->replicas.nodes[i] == cluster_self(c->cluster))
            a->own = i;
    ensure(args->refused || level_met(&a->need, a->need.counted));
    a->args.replicas = NULL;
    a->args.need = NULL;
    a->args.read = NULL;
    io_req_begin(req, op);
    req->impl = &a->task.op;
    task_begin(&a->task, c, states, ask_release);
}

/* ---- asking ---- */

static struct bytes ask_request(struct ask *a, enum ask_want want)
{
    if (a->requests[want].size == 0) {
        struct buf encoded = buf_in(&a->arena);
        ensure(want == ASK_WHOLE);
        read_encode(&a->whole, &encoded);
        a->requests[want] = buf_bytes(&encoded);
    }
    return a->requests[want];
}

static void ask_one(struct ask *a, size_t i, enum ask_want want)
{
    struct coordinator *c = a->task.c;
    struct ask_replica *r = &a->of[i];
    a->asked |= 1u << i;
    r->want = want;
    if (ask_is_self(a, i)) {
        a->is_own_due = true;
        return;
    }
    r->is_out = true;
    r->sent_ns = io_now(c->io);
    latency_sent(&c->latency, a->replicas.nodes[i], r->sent_ns);
    struct cluster_message m = { .node = a->replicas.nodes[i],
                                 .verb = want == ASK_DIGEST ? VERB_DIGEST : VERB_READ,
                                 .body = ask_request(a, want),
                                 .deadline_ns = a->args.deadline_ns,
                                 .has_token = !a->read.is_range,
                                 .token = a->read.token };
    r->call.arena = &a->arena;
    cluster_call(c->cluster, &r->call, &a->task.op, &m);
    uint64_t usual_ns = latency_expected(&c->latency, m.node, r->sent_ns);
    if (usual_ns && !a->read.is_range)
        io_expect(c->io, usual_ns);
}

/* This node is read in the next step, once what others are asked has gone out. */
static struct op_next ask_wait(struct ask *a)
{
    if (a->is_own_due)
        op_wake(&a->task.op);
    return op_wait(GATHER);
}

/* Rows from one, digests from the others. */
static enum ask_want ask_want(const struct ask *a)
{
    if (a->is_whole)
        return ASK_WHOLE;
    for (size_t i = 0; i < a->replicas.count; i++)
        if (a->asked & ~a->failed & 1u << i && a->of[i].want == ASK_ROWS)
            return ASK_DIGEST;
    return ASK_ROWS;
}

/* Asks further replicas until those that have not failed would do; false: it asked none. */
static bool ask_more(struct ask *a)
{
    unsigned before = a->asked;
    for (unsigned i = 0; i < a->replicas.count; i++)
        if (!(a->asked >> i & 1) && level_wants(&a->need, a->asked & ~a->failed, i))
            ask_one(a, i, ask_want(a));
    return a->asked != before;
}

/* ---- time ---- */

static bool ask_is_late(const struct ask *a)
{
    return io_now(a->task.c->io) >= a->args.deadline_ns;
}

static void ask_arm(struct ask *a)
{
    uint64_t now = io_now(a->task.c->io), until = a->args.deadline_ns;
    if (!a->has_speculated)
        until = u64_min(until, a->speculate_ns);
    io_sleep(a->task.c->io, &a->timer, &a->task.op, until > now ? until - now : 0);
}

static bool ask_has_rows(const struct ask *a)
{
    for (size_t i = 0; i < a->replicas.count; i++)
        if (a->answered >> i & 1 && a->of[i].answer.size)
            return true;
    return false;
}

/* One more than the level needs: the first of those that count and have not been asked. */
static void ask_speculate(struct ask *a)
{
    a->has_speculated = true;
    for (unsigned i = 0; i < a->replicas.count; i++) {
        if (a->asked >> i & 1 || !(a->need.counted >> i & 1))
            continue;
        a->task.c->counts.speculations++;
        ask_one(a, i, a->is_whole ? ASK_WHOLE : ask_has_rows(a) ? ASK_DIGEST : ASK_ROWS);
        return;
    }
}

static void ask_tick(struct ask *a)
{
    if (!a->has_speculated && io_now(a->task.c->io) >= a->speculate_ns)
        ask_speculate(a);
    if (!a->timer.busy && !ask_is_late(a))
        ask_arm(a);
}

static struct op_next ask_ask(struct op *op)
{
    struct ask *a = ask_of(op);
    if (op->stop || a->args.refused)
        return op_goto(END);
    uint64_t timeout_ns = a->args.deadline_ns > a->begun_ns ? a->args.deadline_ns - a->begun_ns : 0;
    struct latency_table *table = latency_table(&a->task.c->tables, a->args.table);
    uint64_t patience_ns = latency_patience(table, timeout_ns);
    bool is_ever = patience_ns < timeout_ns;
    a->speculate_ns = is_ever ? a->begun_ns + patience_ns : UINT64_MAX;
    a->has_speculated = !is_ever;
    ask_more(a);
    if (patience_ns == 0 && is_ever)
        ask_speculate(a);
    ask_arm(a);
    return ask_wait(a);
}

/* ---- gathering ---- */

static const struct io_req *ask_req(const struct ask *a, size_t i)
{
    return ask_is_self(a, i) ? &a->local : &a->of[i].call.req;
}

static void ask_measure(struct ask *a, size_t i)
{
    struct ask_replica *r = &a->of[i];
    if (!r->is_out || ask_is_awaited(a, i))
        return;
    r->is_out = false;
    struct latency_nodes *nodes = &a->task.c->latency;
    uint64_t now = io_now(a->task.c->io);
    if (a->is_cancelled || ask_req(a, i)->err == ERR_STOPPED)
        latency_gave_up(nodes, a->replicas.nodes[i], r->sent_ns, now);
    else {
        latency_heard(nodes, a->replicas.nodes[i], r->sent_ns, now);
        if (ask_req(a, i)->err == OK)
            io_expect_over(a->task.c->io);
    }
}

/* What it has answered; an answer that cannot be read is a failure. */
static enum err ask_take_in(struct ask *a, size_t i)
{
    struct ask_replica *r = &a->of[i];
    enum err err = ask_req(a, i)->err;
    if (err != OK || ask_is_self(a, i))
        return err;
    if (r->want != ASK_DIGEST) {
        r->answer = r->call.answer;
        return r->answer.size ? OK : ERR_CORRUPT;
    }
    err = digest_answer_decode(r->call.answer, &r->digest);
    r->has_digest = err == OK;
    return err;
}

static void ask_look(struct ask *a)
{
    for (size_t i = 0; i < a->replicas.count; i++) {
        unsigned bit = 1u << i;
        ask_measure(a, i);
        if (!(a->asked & ~a->answered & ~a->failed & bit) || ask_is_awaited(a, i))
            continue;
        struct ask_replica *r = &a->of[i];
        r->err = ask_take_in(a, i);
        if (r->err == OK) {
            a->answered |= bit;
            continue;
        }
        a->failed |= bit;
        if (!ask_more(a) && !ask_is_late(a) &&
            may_repeat(a->task.c, a->replicas.nodes[i], r->err, r->repeats)) {
            a->failed &= ~bit;
            r->repeats++;
            ask_one(a, i, r->want);
            continue;
        }
        a->refused |= is_refusal(r->err) ? bit : 0;
    }
}

static struct op_next ask_gather(struct op *op)
{
    struct ask *a = ask_of(op);
    if (a->is_own_due)
        ask_own(a);
    ask_look(a);
    ask_repair_go_on(a); /* of an earlier merge */
    if (level_met(&a->need, a->answered) && ask_has_rows(a))
        return op_goto(a->is_whole ? MERGE : COMPARE);
    ask_tick(a);
    bool is_beyond = !level_met(&a->need, a->asked & ~a->failed);
    return is_beyond || op->stop || ask_is_late(a) ? op_goto(END) : ask_wait(a);
}

/* ---- equal, or not ---- */

/* How it went; what was refused before anybody was asked has been told already. */
static void ask_tell_outcome(struct ask *a)
{
    struct coordinator_outcome *o = a->outcome;
    if (a->args.refused)
        return;
    o->required = a->need.required;
    o->received = level_received(&a->need, a->answered);
    o->acked = (unsigned)__builtin_popcount(a->answered);
    o->failed = 0;
    for (size_t i = 0; i < a->replicas.count; i++)
        if (a->refused >> i & 1)
            o->failures[o->failed++] =
                (struct coordinator_failure){ a->replicas.nodes[i], a->of[i].err };
    o->has_data = a->answered != 0;
}

/* The caller hears. */
static void ask_tell(struct ask *a, enum err err)
{
    struct coordinator *c = a->task.c;
    ask_tell_outcome(a);
    if (err == OK)
        latency_add(latency_table(&c->tables, a->args.table), io_now(c->io) - a->begun_ns);
    io_req_end(a->done, err);
    a->done = NULL;
    a->args.table = NULL;
    a->args.sink = NULL;
    a->args.arena = NULL;
}

static struct op_next ask_compare(struct op *op)
{
    struct ask *a = ask_of(op);
    if (ask_agrees(a)) {
        ask_tell(a, ask_feed_agreed(a) == OK ? OK : ERR_READ_FAILURE);
        return op_goto(END);
    }
    a->task.c->counts.digest_mismatches++;
    unsigned answered = a->answered;
    a->failed |= a->asked & ~answered; /* too slow for this round */
    a->is_whole = true;
    a->answered = 0;
    for (size_t i = 0; i < a->replicas.count; i++) {
        if (!(answered >> i & 1))
            continue;
        if (a->of[i].answer.size && a->read.columns_count == 0)
            a->answered |= 1u << i;
        else
            ask_one(a, i, ASK_WHOLE);
    }
    return a->is_own_due ? ask_wait(a) : op_goto(GATHER);
}

static struct op_next ask_merge(struct op *op)
{
    struct ask *a = ask_of(op);
    a->has_speculated = true; /* all that is waited for now is repairs */
    if (ask_merge_whole(a) == OK)
        return op_goto(REPAIR);
    ask_tell(a, ERR_READ_FAILURE);
    return op_goto(END);
}

/* The caller hears when as many as the level needs have what it is told. */
static struct op_next ask_repair(struct op *op)
{
    struct ask *a = ask_of(op);
    unsigned before = a->failed;
    ask_tick(a);
    ask_repair_go_on(a);
    if (level_met(&a->need, a->answered & ~a->failed & ~a->repairing)) {
        ask_tell(a, ask_feed_merged(a) == OK ? OK : ERR_READ_FAILURE);
        return op_goto(END);
    }
    a->answered &= ~a->failed;
    if (a->failed != before && ask_more(a))
        return op_goto(GATHER);
    bool is_beyond = !level_met(&a->need, a->answered);
    return is_beyond || op->stop || ask_is_late(a) ? op_goto(END) : op_wait(REPAIR);
}

/* ---- the end ---- */

static enum err ask_verdict(struct ask *a)
{
    struct coordinator_counts *counts = &a->task.c->counts;
    counts->unavailable += a->args.refused == ERR_UNAVAILABLE;
    if (a->args.refused)
        return a->args.refused;
    if (a->task.op.stop)
        return a->task.op.stop;
    if (a->refused) {
        counts->failures++;
        return ERR_READ_FAILURE;
    }
    counts->timeouts++;
    return ERR_READ_TIMEOUT;
}

static struct op_next ask_end(struct op *op)
{
    struct ask *a = ask_of(op);
    if (a->done)
        ask_tell(a, ask_verdict(a));
    ask_repair_go_on(a);
    if (op->stop)
        ask_repair_cancel(a);
    for (size_t i = 0; i < a->replicas.count; i++) {
        if (!a->is_cancelled && a->of[i].call.req.busy)
            cluster_cancel(a->task.c->cluster, &a->of[i].call);
        ask_measure(a, i);
    }
    a->is_cancelled = true;
    if (a->timer.busy)
        io_cancel(a->task.c->io, &a->timer);
    return op->waiting ? op_wait(END) : op_end(op, OK);
}

static void ask_release(struct op *op)
{
    struct ask *a = ask_of(op);
    ensure(!a->done);
    task_end(&a->task);
    arena_reset(&a->arena);
    list_add(&a->task.c->idle_asks, &a->task.link);
}

void ask_free_idle(struct coordinator *c)
{
    list_each(l, &c->idle_asks)
    {
        struct ask *a = owner_of(l, struct ask, task.link);
        list_remove(l);
        arena_deinit(&a->arena);
        mem_free(a);
    }
}
