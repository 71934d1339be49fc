/* ask.c - one round of a read: ask as many replicas as needed, for whole rows, and merge them.
 *
 *     ask ──> gather ──> merge ──> ended
 *               ▲ │
 *               └─┘ a replica failed: the next one that is up is asked; when there is none and only
 *                   the connection broke, the same one again
 *
 * The local replica is asked first, then the others in ring order.  A round may bring fewer rows
 * than the limit although more follow: it says so (has_more) and where, and whoever reads goes on
 * from there; so answers that were cut short by one replica never hide another's rows.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/inside.h"

enum { ASK, GATHER, MERGE };
enum { ARENA_BYTES = 8192 };

struct ask {
    struct task task;
    struct arena arena; /* of encoded read and answers */
    struct ask_args args;
    struct replicas replicas; /* in the order in which they are asked */
    struct level_need need;
    struct cluster_call calls[REPLICAS_MAX];
    struct io_req local, timer;
    struct bytes local_answer, encoded;
    unsigned repeats[REPLICAS_MAX];
    unsigned asked, answered, failed; /* a bit per replica */
    unsigned refused;                 /* of failed: by the replica itself */
    bool is_cancelled;
    struct io_req *done;
    struct read_outcome *out;
    struct coordinator_outcome *outcome;
};

static struct op_next ask_ask(struct op *);
static struct op_next ask_gather(struct op *);
static struct op_next ask_merge(struct op *);
static void ask_release(struct op *);

static const struct op_state states[] = {
    [ASK] = { "ask", ask_ask, TO(GATHER) | TO(MERGE) },
    [GATHER] = { "gather", ask_gather, TO(GATHER) | TO(MERGE) },
    [MERGE] = { "merge", ask_merge, TO(MERGE) },
};

static struct ask *ask_of(struct op *op) { return owner_of(op, struct ask, task.op); }
static unsigned count(unsigned bits) { return (unsigned)__builtin_popcount(bits); }

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
    a->task.c = c;
    a->replicas = *args->replicas;
    a->need = *args->need;
    level_order(c, &a->replicas, &a->need);
    a->args.replicas = NULL;
    a->args.need = NULL;
    io_req_begin(req, op);
    req->impl = &a->task.op;
    task_begin(&a->task, c, states, ask_release);
}

/* ---- asking ---- */

static void ask_one(struct ask *a, size_t i)
{
    struct coordinator *c = a->task.c;
    unsigned node = a->replicas.nodes[i];
    const struct read *read = a->args.read;
    if (node == cluster_self(c->cluster)) {
        c->options.replica.read(c->options.replica.context, &a->local, &a->task.op, read, &a->arena,
                                &a->local_answer, a->args.deadline_ns);
        return;
    }
    if (a->encoded.size == 0) {
        struct buf encoded = buf_in(&a->arena);
        read_encode(read, &encoded);
        a->encoded = buf_bytes(&encoded);
    }
    struct cluster_message m = { .node = node,
                                 .verb = VERB_READ,
                                 .body = a->encoded,
                                 .deadline_ns = a->args.deadline_ns,
                                 .has_token = !read->is_range,
                                 .token = read->token };
    a->calls[i].arena = &a->arena;
    cluster_call(c->cluster, &a->calls[i], &a->task.op, &m);
}

/* Asks further replicas until those that have not failed would do; false: it asked none. */
static bool ask_more(struct ask *a)
{
    unsigned before = a->asked;
    for (unsigned i = 0; i < a->replicas.count; i++) {
        if (a->asked >> i & 1 || !level_wants(&a->need, a->asked & ~a->failed, i))
            continue;
        a->asked |= 1u << i;
        ask_one(a, i);
    }
    return a->asked != before;
}

static struct op_next ask_ask(struct op *op)
{
    struct ask *a = ask_of(op);
    uint64_t now = io_now(a->task.c->io);
    if (op->stop || !level_met(&a->need, a->need.counted))
        return op_goto(MERGE);
    io_sleep(a->task.c->io, &a->timer, op,
             a->args.deadline_ns > now ? a->args.deadline_ns - now : 0);
    ask_more(a);
    return op_wait(GATHER);
}

/* ---- gathering ---- */

static const struct io_req *ask_req(const struct ask *a, size_t i)
{
    bool is_self = a->replicas.nodes[i] == cluster_self(a->task.c->cluster);
    return is_self ? &a->local : &a->calls[i].req;
}

static bool ask_is_refusal(enum err err)
{
    return err != ERR_TIMEOUT && err != ERR_CLOSED && err != ERR_STOPPED && err != ERR_REFUSED;
}

static void ask_look(struct ask *a)
{
    for (size_t i = 0; i < a->replicas.count; i++) {
        const struct io_req *req = ask_req(a, i);
        unsigned bit = 1u << i;
        if (!(a->asked & ~a->answered & ~a->failed & bit) || req->busy)
            continue;
        if (req->err == OK) {
            a->answered |= bit;
            continue;
        }
        a->failed |= bit;
        if (!ask_more(a) && a->timer.busy &&
            may_repeat(a->task.c, a->replicas.nodes[i], req->err, a->repeats[i])) {
            a->failed &= ~bit;
            a->repeats[i]++;
            ask_one(a, i);
            continue;
        }
        a->refused |= ask_is_refusal(req->err) ? bit : 0;
    }
}

static struct op_next ask_gather(struct op *op)
{
    struct ask *a = ask_of(op);
    ask_look(a);
    bool is_reached = level_met(&a->need, a->answered);
    bool is_beyond = !level_met(&a->need, a->asked & ~a->failed);
    if (is_reached || is_beyond || op->stop || !a->timer.busy)
        return op_goto(MERGE);
    return op_wait(GATHER);
}

/* ---- merging ---- */

static enum err ask_rows(struct ask *a)
{
    struct bytes answers[REPLICAS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < a->replicas.count; i++) {
        bool is_self = a->replicas.nodes[i] == cluster_self(a->task.c->cluster);
        if (a->answered >> i & 1)
            answers[n++] = is_self ? a->local_answer : a->calls[i].answer;
    }
    struct result_answers all = { .answers = answers, .count = n };
    return result_merge(a->args.table, a->args.read, &all, a->args.arena, a->args.sink, a->out);
}

static enum err ask_verdict(struct ask *a)
{
    struct coordinator_counts *counts = &a->task.c->counts;
    if (!level_met(&a->need, a->need.counted)) {
        counts->unavailable++;
        return ERR_UNAVAILABLE;
    }
    if (level_met(&a->need, a->answered))
        return ask_rows(a) == OK ? OK : ERR_READ_FAILURE;
    if (a->task.op.stop)
        return a->task.op.stop;
    if (a->refused) {
        counts->failures++;
        return ERR_READ_FAILURE;
    }
    counts->timeouts++;
    return ERR_READ_TIMEOUT;
}

static struct op_next ask_merge(struct op *op)
{
    struct ask *a = ask_of(op);
    if (a->local.busy)
        return op_wait(MERGE); /* it reads what the caller lent us */
    if (a->done) {
        enum err err = ask_verdict(a);
        a->outcome->required = a->need.required;
        a->outcome->received = level_received(&a->need, a->answered);
        a->outcome->failed = count(a->refused);
        a->outcome->has_data = a->answered != 0;
        io_req_end(a->done, err);
        a->done = NULL;
    }
    for (size_t i = 0; !a->is_cancelled && i < a->replicas.count; i++)
        if (a->calls[i].req.busy)
            cluster_cancel(a->task.c->cluster, &a->calls[i]);
    a->is_cancelled = true;
    if (a->timer.busy)
        io_cancel(a->task.c->io, &a->timer);
    return op->waiting ? op_wait(MERGE) : op_end(op, OK);
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
