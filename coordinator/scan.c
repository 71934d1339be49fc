/* scan.c - a read over a range of tokens: one stretch of the ring after the other.
 *
 *     stretch ──> ask ──> fed ──> stretch ... ──> ended
 *
 * A stretch is as many neighbouring ring ranges as have the same replicas; on a ring whose every
 * node has every row, that is all of it.  The scan ends at the read's limit, or when a round was
 * cut short: it then says where it stands, and whoever reads goes on from there.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/inside.h"

enum { STRETCH, FED };

struct scan {
    struct task task;
    struct coordinator_read args;
    struct read read; /* of this stretch */
    struct replicas replicas;
    struct io_req ask;
    struct io_req *done;
    struct read_outcome *out; /* of all stretches */
    struct read_outcome part; /* of this one */
    struct coordinator_outcome *outcome;
    struct level_need need;
    int64_t after; /* what has been read: up to this token */
};

static struct op_next scan_stretch(struct op *);
static struct op_next scan_fed(struct op *);
static void scan_release(struct op *);

static const struct op_state states[] = {
    [STRETCH] = { "stretch", scan_stretch, TO(FED) },
    [FED] = { "fed", scan_fed, TO(FED) | TO(STRETCH) },
};

static struct scan *scan_of(struct op *op) { return owner_of(op, struct scan, task.op); }

void scan_start(struct coordinator *c, struct io_req *req, struct op *op,
                const struct coordinator_read *args, struct read_outcome *out,
                struct coordinator_outcome *outcome)
{
    struct scan *s = mem_zalloc(sizeof *s);
    const struct read *read = args->read;
    s->args = *args;
    s->read = *read;
    s->done = req;
    s->out = out;
    s->outcome = outcome;
    s->after = read->after;
    if (read->from.is_set && read->from.token > INT64_MIN && read->from.token - 1 > s->after)
        s->after = read->from.token - 1;
    c->counts.scans++;
    io_req_begin(req, op);
    req->impl = &s->task.op;
    task_begin(&s->task, c, states, scan_release);
}

static struct op_next scan_end(struct scan *s, enum err err)
{
    io_req_end(s->done, err);
    return op_end(&s->task.op, err);
}

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
static int64_t scan_find_end(struct scan *s)
{
    const struct ring *ring = cluster_ring(s->task.c->cluster);
    int64_t upto = s->args.read->upto;
    int64_t end = ring_range_end(ring, s->after + 1);
    struct replicas next;
    scan_replicas(s, s->after + 1, &s->replicas);
    while (end < upto) {
        scan_replicas(s, end + 1, &next);
        if (!replicas_same(&next, &s->replicas))
            return end;
        end = ring_range_end(ring, end + 1);
    }
    return upto;
}

static struct op_next scan_stretch(struct op *op)
{
    struct scan *s = scan_of(op);
    struct coordinator *c = s->task.c;
    if (op->stop)
        return scan_end(s, op->stop);
    if (!level_allows(s->args.level, false))
        return scan_end(s, ERR_INVALID);
    if (s->after >= s->args.read->upto)
        return scan_end(s, OK);
    s->read.after = s->after;
    s->read.upto = scan_find_end(s);
    s->read.rows_limit = s->args.read->rows_limit - s->out->rows_count;
    ensure(s->read.upto > s->read.after);
    level_need(s->args.level, cluster_ring(c->cluster), cluster_self(c->cluster), s->args.keyspace,
               &s->replicas, &s->need);
    if (!enough_alive(c, &s->replicas, &s->need, s->outcome)) {
        c->counts.unavailable++;
        return scan_end(s, ERR_UNAVAILABLE);
    }
    struct ask_args ask = { .replicas = &s->replicas,
                            .need = &s->need,
                            .table = s->args.table,
                            .read = &s->read,
                            .deadline_ns = s->args.deadline_ns,
                            .arena = s->args.arena,
                            .sink = s->args.sink };
    s->part = (struct read_outcome){ 0 };
    ask_start(c, &s->ask, op, &ask, &s->part, s->outcome);
    return op_wait(FED);
}

static struct op_next scan_fed(struct op *op)
{
    struct scan *s = scan_of(op);
    if (s->ask.busy) {
        if (op->stop)
            coordinator_cancel(&s->ask);
        return op_wait(FED);
    }
    if (s->ask.err != OK)
        return scan_end(s, s->ask.err);
    s->out->rows_count += s->part.rows_count;
    s->out->dead_count += s->part.dead_count;
    s->out->has_more = s->part.has_more;
    s->out->last = s->part.last;
    if (s->part.has_more)
        return scan_end(s, OK);
    s->after = s->read.upto;
    bool is_full = s->out->rows_count >= s->args.read->rows_limit;
    if (is_full && s->after < s->args.read->upto) {
        /* exactly full at the end of a stretch: go on behind its last token */
        s->out->has_more = true;
        s->out->last = (struct position){ .is_set = true, .token = s->after };
        return scan_end(s, OK);
    }
    return op_goto(STRETCH);
}

static void scan_release(struct op *op)
{
    struct scan *s = scan_of(op);
    task_end(&s->task);
    mem_free(s);
}
