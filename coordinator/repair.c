/* repair.c - see repair.h.
 *
 *     page ──> asked ──> rest ──> page ... ──> ended
 *                └──> again ──> page          (it failed: a moment later, a few times)
 *
 * Invariants: 1. a page is done when all replicas have answered and hold what its repairs brought.
 * 2. `reached` never goes beyond a page that is not done.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/inside.h"

enum { PAGE, ASKED, REST, AGAIN };
enum { TRIES_MAX = 5, ARENA_BYTES = 8192 };
static const uint64_t second = 1000000000, again_ns = 200000000;

struct repairing {
    struct task task;
    struct arena arena, last; /* of a page; of the place behind it */
    struct repair args;
    struct replicas replicas;
    struct level_need need;
    struct read read;
    struct read_sink sink;
    struct read_outcome page;
    struct coordinator_outcome outcome; /* of the page */
    struct io_req ask, nap;
    struct io_req *done;
    struct repaired *out;
    uint64_t page_bytes; /* of the rows that this page gave */
    unsigned tries;
};

static struct op_next repairing_page(struct op *);
static struct op_next repairing_asked(struct op *);
static struct op_next repairing_rest(struct op *);
static struct op_next repairing_again(struct op *);
static void repairing_release(struct op *);

static const struct op_state states[] = {
    [PAGE] = { "repair page", repairing_page, TO(ASKED) },
    [ASKED] = { "repair asked", repairing_asked, TO(ASKED) | TO(REST) | TO(AGAIN) },
    [REST] = { "repair rest", repairing_rest, TO(REST) | TO(PAGE) },
    [AGAIN] = { "repair again", repairing_again, TO(AGAIN) | TO(PAGE) },
};

static struct repairing *repairing_of(struct op *op)
{
    return owner_of(op, struct repairing, task.op);
}

/* ---- rows, which nobody wants; their size is what the pace goes by ---- */

static void take_partition(struct read_sink *sink, struct bytes key, int64_t token,
                           struct deletion deletion)
{
    struct repairing *r = owner_of(sink, struct repairing, sink);
    (void)token, (void)deletion;
    r->page_bytes += key.size + 16;
}

static void take_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct repairing *r = owner_of(sink, struct repairing, sink);
    (void)is_live;
    r->page_bytes += row->key.size + 16;
    for (size_t i = 0; i < row->cells_count; i++)
        r->page_bytes += row->cells[i].value.size + 12;
}

/* ---- the op ---- */

void coordinator_repair(struct coordinator *c, struct io_req *req, struct op *op,
                        const struct repair *args, struct repaired *out)
{
    struct repairing *r = mem_zalloc(sizeof *r);
    ensure(args->after < args->upto && args->timeout_ns > 0);
    arena_init(&r->arena, ARENA_BYTES);
    r->args = *args;
    r->out = out;
    r->done = req;
    r->sink = (struct read_sink){ take_partition, take_row, read_ignore_range };
    r->read = (struct read){ .table = args->table->id,
                             .is_range = true,
                             .after = args->after,
                             .upto = args->upto,
                             .rows_limit = REPAIR_PAGE_ROWS,
                             .bytes_limit = REPAIR_PAGE_BYTES };
    *out = (struct repaired){ .reached = args->after };
    list_init(&r->task.link);
    io_req_begin(req, op);
    req->impl = &r->task.op;
    task_begin(&r->task, c, states, repairing_release);
}

static struct op_next repairing_end(struct repairing *r, enum err err)
{
    io_req_end(r->done, err);
    return op_end(&r->task.op, err);
}

static struct op_next repairing_unavailable(struct repairing *r)
{
    r->out->missing = r->outcome.missing;
    return repairing_end(r, ERR_UNAVAILABLE);
}

static struct op_next repairing_page(struct op *op)
{
    struct repairing *r = repairing_of(op);
    struct coordinator *c = r->task.c;
    unsigned self = cluster_self(c->cluster);
    if (op->stop)
        return repairing_end(r, op->stop);
    arena_reset(&r->arena);
    r->page = (struct read_outcome){ 0 };
    r->page_bytes = 0;
    r->outcome = (struct coordinator_outcome){ 0 };
    r->read.epoch = cluster_epoch(c->cluster);
    r->read.now_seconds = io_wall(c->io) / 1000000;
    ring_replicas(cluster_ring(c->cluster), r->args.keyspace, self, r->args.upto, &r->replicas);
    level_need(LEVEL_ALL, cluster_ring(c->cluster), self, r->args.keyspace, &r->replicas, &r->need);
    if (!enough_alive(c, &r->replicas, &r->need, &r->outcome))
        return repairing_unavailable(r);
    struct ask_args ask = { .replicas = &r->replicas,
                            .need = &r->need,
                            .table = r->args.table,
                            .read = &r->read,
                            .deadline_ns = io_now(c->io) + r->args.timeout_ns,
                            .arena = &r->arena,
                            .sink = &r->sink,
                            .repair =
                                r->args.is_validate ? READ_REPAIR_COUNTS : READ_REPAIR_ALWAYS };
    ask_start(c, &r->ask, op, &ask, &r->page, &r->outcome);
    return op_wait(ASKED);
}

static bool is_worth_another_try(const struct repairing *r)
{
    enum err err = r->ask.err;
    bool may_pass = err == ERR_READ_TIMEOUT || err == ERR_READ_FAILURE || err == ERR_OVERLOADED;
    return may_pass && r->tries < TRIES_MAX;
}

/* So long that the page, with this rest, has kept to the pace. */
static uint64_t rest_ns(const struct repairing *r)
{
    uint64_t pace = r->args.bytes_per_second;
    return pace ? r->page_bytes * second / pace : 0;
}

/* The place to go on from outlives the page's arena. */
static void repairing_go_behind(struct repairing *r)
{
    struct position *from = &r->read.from;
    arena_reset(&r->last);
    *from = r->page.last;
    from->key = arena_copy(&r->last, from->key);
    from->row_key = arena_copy(&r->last, from->row_key);
    r->out->reached = from->token == INT64_MIN ? from->token : from->token - 1;
    if (r->out->reached < r->args.after)
        r->out->reached = r->args.after;
}

static struct op_next repairing_asked(struct op *op)
{
    struct repairing *r = repairing_of(op);
    struct repaired *out = r->out;
    if (r->ask.busy && op->stop)
        coordinator_cancel(&r->ask);
    if (r->ask.busy)
        return op_wait(ASKED);
    if (r->ask.err != OK && is_worth_another_try(r)) {
        r->tries++;
        out->retries++;
        io_sleep(r->task.c->io, &r->nap, op, again_ns * r->tries);
        return op_wait(AGAIN);
    }
    if (r->ask.err != OK)
        return repairing_end(r, r->ask.err);
    r->tries = 0;
    out->pages++;
    out->bytes += r->page_bytes;
    out->pages_differed += r->outcome.has_differed;
    out->rows_differed += r->outcome.rows_differed;
    out->repairs += r->outcome.repairs;
    if (!r->page.has_more) {
        out->reached = r->args.upto;
        return repairing_end(r, OK);
    }
    repairing_go_behind(r);
    io_sleep(r->task.c->io, &r->nap, op, rest_ns(r));
    return op_wait(REST);
}

static struct op_next repairing_nap(struct repairing *r, uint8_t state)
{
    struct op *op = &r->task.op;
    if (r->nap.busy && op->stop)
        io_cancel(r->task.c->io, &r->nap);
    return r->nap.busy ? op_wait(state) : op_goto(PAGE);
}

static struct op_next repairing_rest(struct op *op)
{
    return repairing_nap(repairing_of(op), REST);
}

static struct op_next repairing_again(struct op *op)
{
    return repairing_nap(repairing_of(op), AGAIN);
}

static void repairing_release(struct op *op)
{
    struct repairing *r = repairing_of(op);
    task_end(&r->task);
    arena_deinit(&r->arena);
    arena_deinit(&r->last);
    mem_free(r);
}
