/* scan.c - a read over a range of tokens: stretches of the ring, several asked at once, told in
 * their order.
 *
 *     tokens   |--- fed ---|-- asked --|-- asked --|-- asked --|      not yet
 *                          ^ head: fed when it has come, and others only after it
 *
 *     stretch ──> fed ──> stretch ... ──> drain ──> ended
 *
 * A stretch is as many neighbouring ring ranges as have the same replicas; on a ring whose every
 * node has every row, that is all of it.  How many are asked at once follows from how many rows one
 * has brought so far and how many are wanted: one at first, then at most four times as many as
 * before, never more than SCAN_OUT_MAX; they share the read's limit of bytes, so that a scan holds
 * about as much as one answer.
 *
 * One stretch alone feeds the caller as it comes.  Of several each is kept as an encoded answer
 * until it is the head, and is cut then to what is still wanted.
 *
 * The scan ends at the read's limit, or when a round was cut short: it then says where it stands,
 * and whoever reads goes on from there.  What was asked for nothing is called off.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/inside.h"

enum { STRETCH, FED, DRAIN };
enum { SCAN_OUT_MAX = 16, WIDEN_TIMES = 4, STRETCH_BYTES_MIN = 16 * 1024 };

struct stretch {
    struct io_req ask;
    struct read read;
    bool is_direct; /* feeds the caller itself */
    struct arena arena;
    struct buf out;
    struct result_writer writer;
    struct read_outcome part;
    struct coordinator_outcome outcome;
};
struct scan {
    struct task task;
    struct coordinator_read args;
    struct io_req *done;
    struct read_outcome *out; /* of all stretches */
    struct coordinator_outcome *outcome;
    int64_t asked;      /* stretches have been asked up to this token */
    unsigned width;     /* how many may be out */
    uint64_t stretches; /* that were fed */
    uint64_t bytes;     /* fed, where that is known */
    enum err err;
    size_t head, out_count;
    struct stretch ring[SCAN_OUT_MAX];
};

static struct op_next scan_stretch(struct op *);
static struct op_next scan_fed(struct op *);
static struct op_next scan_drain(struct op *);
static void scan_release(struct op *);

static const struct op_state states[] = {
    [STRETCH] = { "stretch", scan_stretch, TO(FED) | TO(DRAIN) },
    [FED] = { "fed", scan_fed, TO(FED) | TO(STRETCH) | TO(DRAIN) },
    [DRAIN] = { "drain", scan_drain, TO(DRAIN) },
};

static struct scan *scan_of(struct op *op) { return owner_of(op, struct scan, task.op); }

static struct stretch *scan_at(struct scan *s, size_t place)
{
    return &s->ring[(s->head + place) % SCAN_OUT_MAX];
}

void scan_start(struct coordinator *c, struct io_req *req, struct op *op,
                const struct coordinator_read *args, struct read_outcome *out,
                struct coordinator_outcome *outcome)
{
    struct scan *s = mem_zalloc(sizeof *s);
    const struct read *read = args->read;
    s->args = *args;
    s->done = req;
    s->out = out;
    s->outcome = outcome;
    s->width = 1;
    s->asked = read->after;
    if (read->from.is_set && read->from.token > INT64_MIN && read->from.token - 1 > s->asked)
        s->asked = read->from.token - 1;
    c->counts.scans++;
    io_req_begin(req, op);
    req->impl = &s->task.op;
    task_begin(&s->task, c, states, scan_release);
}

/* ---- stretches ---- */

static bool replicas_same(const struct replicas *a, const struct replicas *b)
{
    uint64_t bits[2] = { 0, 0 };
    for (size_t i = 0; i < a->count; i++)
        bits[0] |= 1ull << (a->nodes[i] - 1);
    for (size_t i = 0; i < b->count; i++)
        bits[1] |= 1ull << (b->nodes[i] - 1);
    return bits[0] == bits[1];
}

static void scan_replicas(struct scan *s, int64_t token, struct replicas *out)
{
    struct cluster *cluster = s->task.c->cluster;
    ring_replicas(cluster_ring(cluster), s->args.keyspace, cluster_self(cluster), token, out);
}

/* The replicas of what comes next, and how far they are the same. */
static int64_t scan_find_end(struct scan *s, struct replicas *replicas)
{
    const struct ring *ring = cluster_ring(s->task.c->cluster);
    int64_t upto = s->args.read->upto;
    int64_t end = ring_range_end(ring, s->asked + 1);
    struct replicas next;
    scan_replicas(s, s->asked + 1, replicas);
    while (end < upto) {
        scan_replicas(s, end + 1, &next);
        if (!replicas_same(&next, replicas))
            return end;
        end = ring_range_end(ring, end + 1);
    }
    return upto;
}

static uint32_t scan_rows_left(const struct scan *s)
{
    return s->args.read->rows_limit - s->out->rows_count;
}

/* As many as, by what stretches have brought so far, would bring what is still wanted. */
static void scan_widen(struct scan *s)
{
    if (s->stretches == 0)
        return;
    uint64_t rows = u64_max(s->out->rows_count, 1);
    uint64_t want = (scan_rows_left(s) * s->stretches + rows - 1) / rows;
    want = u64_min(u64_min(want, SCAN_OUT_MAX), (uint64_t)s->width * WIDEN_TIMES);
    s->width = (unsigned)u64_max(want, 1);
}

static uint32_t scan_bytes(const struct scan *s)
{
    uint64_t limit = s->args.read->bytes_limit;
    uint64_t share = u64_max((limit - u64_min(s->bytes, limit)) / s->width, STRETCH_BYTES_MIN);
    return (uint32_t)u64_min(share, limit);
}

static enum err scan_ask(struct scan *s)
{
    struct coordinator *c = s->task.c;
    struct stretch *t = scan_at(s, s->out_count);
    struct replicas replicas;
    struct level_need need;
    *t = (struct stretch){ .read = *s->args.read, .is_direct = s->width == 1 };
    t->read.after = s->asked;
    t->read.upto = scan_find_end(s, &replicas);
    t->read.rows_limit = scan_rows_left(s);
    t->read.bytes_limit = scan_bytes(s);
    ensure(t->read.upto > t->read.after);
    level_need(s->args.level, cluster_ring(c->cluster), cluster_self(c->cluster), s->args.keyspace,
               &replicas, &need);
    if (!enough_alive(c, &replicas, &need, &t->outcome)) {
        c->counts.unavailable++;
        *s->outcome = t->outcome;
        return ERR_UNAVAILABLE;
    }
    if (!t->is_direct) {
        t->out = buf_in(&t->arena);
        result_begin(&t->writer, &t->read, &t->out);
    }
    struct ask_args ask = { .replicas = &replicas,
                            .need = &need,
                            .table = s->args.table,
                            .read = &t->read,
                            .deadline_ns = s->args.deadline_ns,
                            .arena = t->is_direct ? s->args.arena : &t->arena,
                            .sink = t->is_direct ? s->args.sink : &t->writer.sink };
    ask_start(c, &t->ask, &s->task.op, &ask, &t->part, &t->outcome);
    s->asked = t->read.upto;
    s->out_count++;
    return OK;
}

static struct op_next scan_end(struct scan *s, enum err err)
{
    s->err = err;
    return op_goto(DRAIN);
}

static struct op_next scan_stretch(struct op *op)
{
    struct scan *s = scan_of(op);
    if (op->stop)
        return scan_end(s, op->stop);
    if (!level_allows(s->args.level, false))
        return scan_end(s, ERR_INVALID);
    scan_widen(s);
    while (s->asked < s->args.read->upto && s->out_count < s->width) {
        enum err err = scan_ask(s);
        if (err != OK && s->out_count == 0)
            return scan_end(s, err);
        if (err != OK)
            break; /* its turn comes once the others have been fed */
    }
    return s->out_count ? op_wait(FED) : scan_end(s, OK);
}

/* ---- feeding ---- */

/* The head's rows, as far as they are wanted, into the caller's sink. */
static enum err scan_feed(struct scan *s, struct stretch *t)
{
    struct bytes answer;
    if (t->is_direct)
        return OK;
    result_end(&t->writer, &t->part);
    answer = buf_bytes(&t->out);
    struct result_answers one = { .answers = &answer, .count = 1 };
    struct read read = t->read;
    read.rows_limit = scan_rows_left(s);
    read.bytes_limit = UINT32_MAX;
    s->bytes += answer.size;
    return result_merge(s->args.table, &read, &one, s->args.arena, s->args.sink, &t->part);
}

static void scan_pop(struct scan *s, struct stretch *t)
{
    arena_deinit(&t->arena);
    t->arena = (struct arena){ 0 };
    s->head = (s->head + 1) % SCAN_OUT_MAX;
    s->out_count--;
    s->stretches++;
}

static struct op_next scan_fed(struct op *op)
{
    struct scan *s = scan_of(op);
    struct stretch *t = scan_at(s, 0);
    if (op->stop)
        return scan_end(s, op->stop);
    if (t->ask.busy)
        return op_wait(FED);
    bool is_least = s->stretches == 0 || outcome_is_less(&t->outcome, s->outcome);
    if (t->ask.err != OK || is_least)
        *s->outcome = t->outcome;
    if (t->ask.err != OK)
        return scan_end(s, t->ask.err);
    if (scan_feed(s, t) != OK)
        return scan_end(s, ERR_READ_FAILURE);
    s->out->rows_count += t->part.rows_count;
    s->out->dead_count += t->part.dead_count;
    s->out->has_more = t->part.has_more;
    s->out->last = t->part.last;
    int64_t fed = t->read.upto;
    scan_pop(s, t);
    if (s->out->has_more)
        return scan_end(s, OK);
    bool is_full = scan_rows_left(s) == 0 || s->bytes >= s->args.read->bytes_limit;
    if (is_full && fed < s->args.read->upto) {
        /* exactly full at the end of a stretch: go on behind its last token */
        s->out->has_more = true;
        s->out->last = (struct position){ .is_set = true, .token = fed };
        return scan_end(s, OK);
    }
    if (fed >= s->args.read->upto)
        return scan_end(s, OK);
    return s->out_count && !scan_at(s, 0)->ask.busy ? op_goto(FED) : op_goto(STRETCH);
}

/* ---- the end ---- */

/* What was asked for nothing looks at what the caller has lent: it ends first. */
static struct op_next scan_drain(struct op *op)
{
    struct scan *s = scan_of(op);
    bool is_busy = false;
    for (size_t i = 0; i < s->out_count; i++) {
        struct stretch *t = scan_at(s, i);
        is_busy |= t->ask.busy;
        coordinator_cancel(&t->ask);
    }
    if (is_busy)
        return op_wait(DRAIN);
    io_req_end(s->done, s->err);
    return op_end(op, s->err);
}

static void scan_release(struct op *op)
{
    struct scan *s = scan_of(op);
    for (size_t i = 0; i < SCAN_OUT_MAX; i++)
        arena_deinit(&s->ring[i].arena);
    task_end(&s->task);
    mem_free(s);
}
