/* apply.c - one mutation: admitted, logged, durable, visible, acknowledged.
 *
 *     arrive ──> admit ──> merge ──> answer ──> ended
 *       │  ^       │  ^                 └ slowed, while compactions are behind
 *       └──┘ slowed└──┘ in a queue, while a flush makes room
 *                  └── refused: ended, nothing was written
 *
 * Admission reserves memory before the log is touched, so what is in the log always finds room:
 *
 *     memory of the memtables + reserved + needed <= memtable_bytes
 *
 * Before that is so, flushes make room (keeper.c).  When they cannot keep up, from three quarters
 * of the budget on, every write waits a little before it is admitted: by the square of what is
 * used of the last quarter, up to 20 ms.  Who finds no room after that waits in a queue as long as
 * a flush is under way: to refuse him costs nearly as much as to write what he has, he asks again
 * at once, and the flush gets nothing of the processor (of 220,000 writes a second that went well,
 * 24,000 were left when five times as many were asked for).  The first in the queue looks again and
 * again; whoever leaves it wakes the next.  So those who write faster than the disk are slowed to
 * its pace, and refused only where that does not help: no flush is under way or to come, the queue
 * has its share of the memtables' memory, or the deadline has passed.
 *
 * When compactions cannot keep up (store_slow_writes), what is durable and visible is acknowledged
 * a little later: in proportion to its size, and never so late that who asked would give up.
 *
 * Everything that can be wrong with the bytes is found before the log too, so a replay meets only
 * mutations that decode.
 *
 * The ops are pooled with their arenas: a warm apply takes nothing from the heap.
 *
 * A mutation whose deadline passes before it is in the log is refused (ERR_TIMEOUT): nobody waits
 * for it any more, and whoever sent it counts on its not being there.
 *
 * A table may be dropped while its mutation waits for the log: the answer is "no such table".
 *
 * Merges come in the order of the log (the journal completes its appends in their order, and ops
 * run in the order of their wakes; store_logged makes sure).  So what a memtable holds of the log
 * is everything from one place to another.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "store/inside.h"

enum { ARRIVE, ADMIT, MERGE, ANSWER };
enum { SLOW_NS_MAX = 20 * 1000 * 1000, QUEUE_SHARE = 4 /* of memtable_bytes, for who waits */ };
enum { ANSWER_NS_MIN = 1000 * 1000, ANSWER_NS_MAX = 100 * 1000 * 1000 };
enum { ARENA_BYTES = 2048, APPLY_PRICE_NS = 1000, PRICE_BYTES_PER_NS = 8 };

struct apply {
    struct op op;
    struct store *store;
    struct list link; /* idle or busy */
    struct list turn; /* in the store's queue, or alone */
    struct io_req log;
    struct io_req *done;
    struct bytes bytes; /* the caller's */
    struct arena arena; /* of `mutation` */
    struct mutation mutation;
    uint64_t number, need_bytes;
    uint64_t begun_ns, deadline_ns;
};

static struct op_next apply_arrive(struct op *);
static struct op_next apply_admit(struct op *);
static struct op_next apply_merge(struct op *);
static struct op_next apply_answer(struct op *);
static void apply_release(struct op *);

static const struct op_state states[] = {
    [ARRIVE] = { "arrive", apply_arrive, TO(ADMIT) },
    [ADMIT] = { "admit", apply_admit, TO(ADMIT) | TO(MERGE) },
    [MERGE] = { "merge", apply_merge, TO(ANSWER) },
    [ANSWER] = { "answer", apply_answer, 0 },
};

static struct apply *apply_of(struct op *op) { return owner_of(op, struct apply, op); }

static struct apply *apply_new(struct store *s)
{
    struct apply *a;
    if (list_empty(&s->idle)) {
        a = mem_zalloc(sizeof *a);
        arena_init(&a->arena, ARENA_BYTES);
        list_init(&a->turn);
    } else {
        a = owner_of(s->idle.next, struct apply, link);
        list_remove(&a->link);
    }
    list_add(&s->busy, &a->link);
    return a;
}

void store_apply_by(struct store *s, struct io_req *req, struct op *op, struct bytes mutation,
                    uint64_t deadline_ns)
{
    ensure(s->journal && !s->closing);
    struct apply *a = apply_new(s);
    a->store = s, a->done = req, a->bytes = mutation, a->need_bytes = 0;
    a->begun_ns = io_now(s->io);
    a->deadline_ns = deadline_ns;
    io_req_begin(req, op);
    op_start(&a->op, io_ops(s->io), NULL, states, apply_release);
}

void store_apply(struct store *s, struct io_req *req, struct op *op, struct bytes mutation)
{
    store_apply_by(s, req, op, mutation, UINT64_MAX);
}

static enum err apply_decode(struct apply *a)
{
    struct store *s = a->store;
    if (a->bytes.size > u64_min(MUTATION_BYTES_MAX, s->options.segment_bytes / 2 - 1))
        return ERR_LIMIT;
    enum err e = mutation_peek(a->bytes, &a->mutation);
    if (e)
        return e;
    struct table *table = catalog_table_by_id(s->options.catalog, &a->mutation.table);
    if (!table)
        return ERR_NOT_FOUND;
    return mutation_decode(a->bytes, table, &a->arena, &a->mutation);
}

static enum err apply_reserve(struct apply *a)
{
    struct store *s = a->store;
    uint64_t need = memtable_need_bytes(&a->mutation);
    if (need > s->options.memtable_bytes)
        return ERR_LIMIT;
    if (s->memory_bytes + s->reserved_bytes + need > s->options.memtable_bytes) {
        s->wanted_bytes = need;
        return ERR_OVERLOADED;
    }
    a->need_bytes = need;
    s->reserved_bytes += need;
    s->wanted_bytes = 0;
    return OK;
}

/* It is in the memtable now, or it will not be. */
static void apply_unreserve(struct apply *a)
{
    ensure(a->store->reserved_bytes >= a->need_bytes);
    a->store->reserved_bytes -= a->need_bytes;
    a->need_bytes = 0;
}

static struct op_next apply_end(struct apply *a, enum err e)
{
    struct store *s = a->store;
    apply_unreserve(a);
    s->counts.applied += e == OK;
    s->counts.refused += e != OK;
    s->counts.refused_late += e == ERR_TIMEOUT;
    s->counts.refused_full += e == ERR_OVERLOADED;
    a->done->size = s->options.commitlog_mode != JOURNAL_PERIODIC;
    io_req_end(a->done, e);
    return op_end(&a->op, e);
}

/* How long a write waits before it is admitted: nothing below three quarters of the budget. */
static uint64_t slow_ns(const struct store *s)
{
    uint64_t used = s->memory_bytes + s->reserved_bytes, quarter = s->options.memtable_bytes / 4;
    if (used <= 3 * quarter || quarter == 0)
        return 0;
    double part = (double)u64_min(used - 3 * quarter, quarter) / (double)quarter;
    return (uint64_t)(part * part * SLOW_NS_MAX);
}

static struct op_next apply_arrive(struct op *op)
{
    struct apply *a = apply_of(op);
    uint64_t ns = slow_ns(a->store);
    if (ns == 0)
        return op_goto(ADMIT);
    a->store->counts.slowed++;
    io_sleep(a->store->io, &a->log, op, ns);
    return op_wait(ADMIT);
}

/* ---- the queue ---- */

static bool is_queued(const struct apply *a) { return !list_empty(&a->turn); }

/* Is it its turn?  One that has just come is behind all that wait. */
static bool is_first(const struct apply *a)
{
    const struct list *queue = &a->store->queue;
    return is_queued(a) ? queue->next == &a->turn : list_empty(queue);
}

static uint64_t queue_bytes_of(const struct apply *a)
{
    return sizeof *a + ARENA_BYTES + a->bytes.size;
}

/* Can it be worth while to wait? */
static bool may_queue(const struct apply *a)
{
    const struct store *s = a->store;
    uint64_t bytes = is_queued(a) ? 0 : queue_bytes_of(a);
    bool is_hopeful = s->keeper.flushes_count > 0 || s->keeper.is_roomier ||
                      s->reserved_bytes > 0 || keeper_is_due(s);
    return !s->closing && is_hopeful && s->flush_failed.err == OK &&
           s->queue_bytes + bytes <= s->options.memtable_bytes / QUEUE_SHARE;
}

static struct op_next queue_wait(struct apply *a)
{
    struct store *s = a->store;
    if (!is_queued(a)) {
        list_add(&s->queue, &a->turn);
        s->queue_bytes += queue_bytes_of(a);
        s->counts.slowed++;
    }
    if (is_first(a))
        io_sleep(s->io, &a->log, &a->op, SLOW_NS_MAX);
    return op_wait(ADMIT);
}

static void queue_leave(struct apply *a)
{
    struct store *s = a->store;
    if (!is_queued(a))
        return;
    list_remove(&a->turn);
    ensure(s->queue_bytes >= queue_bytes_of(a));
    s->queue_bytes -= queue_bytes_of(a);
    applies_stir(s);
}

void applies_stir(struct store *s)
{
    if (list_empty(&s->queue))
        return;
    struct apply *first = owner_of(s->queue.next, struct apply, turn);
    if (first->log.busy)
        io_cancel(s->io, &first->log); /* its nap */
    else
        op_wake(&first->op);
}

/* Nothing is decoded while it waits: the table may be another one when its turn has come. */
static enum err apply_try(struct apply *a)
{
    struct store *s = a->store;
    if (io_now(s->io) > a->deadline_ns)
        return ERR_TIMEOUT;
    if (!is_first(a))
        return ERR_OVERLOADED;
    io_charge(s->io, APPLY_PRICE_NS + a->bytes.size / PRICE_BYTES_PER_NS);
    arena_reset(&a->arena);
    enum err e = apply_decode(a);
    e = e ? e : store_log_state(s);
    return e ? e : apply_reserve(a);
}

static struct op_next apply_admit(struct op *op)
{
    struct apply *a = apply_of(op);
    struct store *s = a->store;
    if (a->log.busy || (is_queued(a) && !is_first(a) && !s->closing))
        return op_wait(ADMIT);
    enum err e = apply_try(a);
    if (e == ERR_OVERLOADED && may_queue(a))
        return queue_wait(a);
    queue_leave(a);
    if (e)
        return apply_end(a, e);
    a->number = store_append(s, &a->log, op, RECORD_MUTATION, a->bytes);
    return op_wait(MERGE);
}

/* ---- durable ---- */

/* How long the acknowledgement is held back.  Clocks wake by the millisecond: less is owed, until
 * it is so much. */
static uint64_t answer_ns(const struct apply *a)
{
    struct store *s = a->store;
    uint64_t ns = u64_min(s->slow_ns_a_kib, ANSWER_NS_MAX); /* so that the next line fits */
    s->slow_owed_ns = ns ? s->slow_owed_ns + ns * a->bytes.size / 1024 : 0;
    if (s->slow_owed_ns < ANSWER_NS_MIN || s->closing)
        return 0;
    ns = u64_min(s->slow_owed_ns, ANSWER_NS_MAX);
    s->slow_owed_ns = 0;
    return ns;
}

static struct op_next apply_merge(struct op *op)
{
    struct apply *a = apply_of(op);
    struct store *s = a->store;
    if (a->log.busy)
        return op_wait(MERGE);
    if (a->log.err)
        return apply_end(a, store_log_error(a->log.err));
    struct journal_position at = journal_place(&a->log);
    store_logged(s, a->number, at);
    struct table_data *d = store_data_for(s, &a->mutation.table);
    if (!d)
        return apply_end(a, ERR_NOT_FOUND);
    memtable_shared_note(d->view->active, (uint64_t)io_self(s->io), at, !d->is_broken_off);
    d->is_broken_off = false;
    store_merge(s, d, &a->mutation);
    d->meter.writes++;
    meter_add(&d->meter.write_ns, io_now(s->io) - a->begun_ns);
    s->keeper.is_early |= io_rare(s->io, "early flush");
    if (keeper_is_due(s) || s->keeper.is_early)
        keeper_wake(s);
    uint64_t ns = answer_ns(a);
    if (ns == 0)
        return apply_end(a, OK);
    apply_unreserve(a);
    s->counts.slowed++;
    io_sleep(s->io, &a->log, op, ns);
    return op_wait(ANSWER);
}

/* A store that closes waits for nobody who only waits. */
static struct op_next apply_answer(struct op *op)
{
    struct apply *a = apply_of(op);
    if (a->log.busy && a->store->closing)
        io_cancel(a->store->io, &a->log);
    return a->log.busy ? op_wait(ANSWER) : apply_end(a, OK);
}

static void apply_release(struct op *op)
{
    struct apply *a = apply_of(op);
    ensure(!a->log.busy && !is_queued(a));
    arena_reset(&a->arena);
    list_remove(&a->link);
    list_add(&a->store->idle, &a->link);
    store_left(a->store);
}

void store_slow_writes(struct store *s, uint64_t ns_a_kib) { s->slow_ns_a_kib = ns_a_kib; }

void applies_hurry(struct store *s)
{
    list_each(l, &s->busy) op_wake(&owner_of(l, struct apply, link)->op);
}

void applies_free(struct store *s)
{
    ensure(list_empty(&s->busy));
    list_each(l, &s->idle)
    {
        struct apply *a = owner_of(l, struct apply, link);
        arena_deinit(&a->arena);
        mem_free(a);
    }
    list_init(&s->idle);
}
