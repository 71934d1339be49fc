/* batch.c - a logged batch: kept by others before it is written, so that it is ended by them when
 * this node dies.
 *
 *     keep ──> kept ──> gather ──> settle ──> forget ──> ended
 *       │        └── not all keepers have it: the client is told, they are asked to forget
 *       └── too few replicas or no keeper is up: nothing was sent
 *
 * The client is answered when each mutation is at the level, or when one cannot be.  The batch is
 * forgotten when no write of it lingers and each is on a replica at least or in a hint; what
 * nobody has got stays with the keepers, who try it again.
 *
 * Keepers are two nodes that are up: of this data centre, and of other racks than this node's and
 * each other's, as far as there are such; one where there is only one; this node itself in a ring
 * of one, and at ANY when all others are down.
 *
 * Once a batch is kept it will be written, sooner or later: so from there on no error says that
 * nothing was done.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/batchlog_record.h"
#include "coordinator/inside.h"

enum { KEEP, KEPT, GATHER, SETTLE, FORGET };
enum { KEEPERS_MAX = 2, ARENA_BYTES = 8192 };
static const uint64_t forget_patience_ns = 1000000000;

struct batch_write {
    struct io_req req, settled;
    struct coordinator_outcome outcome;
};
struct batch {
    struct task task;
    struct arena arena;
    struct coordinator_batch args; /* parts in the arena */
    struct batch_write *writes;
    struct uuid id;
    struct bytes word; /* what the keepers are asked now */
    unsigned keepers[KEEPERS_MAX], keepers_count;
    struct cluster_call calls[KEEPERS_MAX];
    struct io_req local;
    uint64_t bytes;
    bool must_forget; /* somebody may keep it */
    enum err err;     /* decided before anything was sent */
    struct io_req *done;
    struct coordinator_outcome *outcome;
};

static struct op_next batch_keep(struct op *);
static struct op_next batch_kept(struct op *);
static struct op_next batch_gather(struct op *);
static struct op_next batch_settle(struct op *);
static struct op_next batch_forget(struct op *);
static void batch_release(struct op *);

static const struct op_state states[] = {
    [KEEP] = { "batch keep", batch_keep, TO(KEPT) },
    [KEPT] = { "batch kept", batch_kept, TO(KEPT) | TO(GATHER) | TO(FORGET) },
    [GATHER] = { "batch gather", batch_gather, TO(GATHER) | TO(SETTLE) },
    [SETTLE] = { "batch settle", batch_settle, TO(SETTLE) | TO(FORGET) },
    [FORGET] = { "batch forget", batch_forget, TO(FORGET) },
};

static struct batch *batch_of(struct op *op) { return owner_of(op, struct batch, task.op); }

/* ---- keepers ---- */

/* How little a node is wanted as a keeper: 0 is best. */
static unsigned keeper_cost(const struct ring *ring, unsigned self, unsigned first, unsigned node)
{
    const struct node *own = &ring->nodes[self - 1], *n = &ring->nodes[node - 1];
    bool is_near = strcmp(own->data_center, n->data_center) == 0;
    bool is_own_rack = is_near && strcmp(own->rack, n->rack) == 0;
    bool is_first_rack = first && strcmp(ring->nodes[first - 1].rack, n->rack) == 0 &&
                         strcmp(ring->nodes[first - 1].data_center, n->data_center) == 0;
    return (is_near ? 0u : 4u) + (is_own_rack ? 1u : 0u) + (is_first_rack ? 2u : 0u);
}

unsigned batch_keepers(const struct ring *ring, unsigned self, uint64_t up, uint64_t random,
                       unsigned out[2])
{
    unsigned count = 0;
    up &= ~((uint64_t)1 << (self - 1));
    while (count < KEEPERS_MAX && up) {
        unsigned best = 0, best_cost = UINT32_MAX;
        for (size_t i = 0; i < ring->nodes_count; i++) {
            unsigned node = (unsigned)((i + random) % ring->nodes_count) + 1;
            unsigned cost = keeper_cost(ring, self, count ? out[0] : 0, node);
            if (up >> (node - 1) & 1 && cost < best_cost)
                best = node, best_cost = cost;
        }
        ensure(best >= 1);
        out[count++] = best;
        up &= ~((uint64_t)1 << (best - 1));
    }
    return count;
}

static void batch_choose(struct batch *b)
{
    struct coordinator *c = b->task.c;
    const struct ring *ring = cluster_ring(c->cluster);
    unsigned self = cluster_self(c->cluster), first_down = 0;
    uint64_t up = 0;
    for (unsigned node = 1; node <= ring->nodes_count; node++) {
        bool is_up = cluster_is_up(c->cluster, node);
        up |= is_up ? (uint64_t)1 << (node - 1) : 0;
        first_down = first_down || is_up ? first_down : node;
    }
    b->keepers_count = batch_keepers(ring, self, up, io_random(c->io), b->keepers);
    if (b->keepers_count)
        return;
    if (ring->nodes_count == 1 || b->args.level == LEVEL_ANY) {
        b->keepers[b->keepers_count++] = self;
        return;
    }
    b->err = ERR_UNAVAILABLE;
    *b->outcome = (struct coordinator_outcome){ .required = 1,
                                                .missing = first_down,
                                                .is_of_batchlog = true };
}

/* ---- beginning ---- */

static void batch_copy(struct batch *b, const struct coordinator_batch *args)
{
    struct coordinator_batch_part *parts =
        arena_array(&b->arena, struct coordinator_batch_part, args->count);
    b->args = *args;
    for (size_t i = 0; i < args->count; i++) {
        parts[i] = args->parts[i];
        parts[i].keyspace = keyspace_copy(args->parts[i].keyspace, &b->arena);
        parts[i].mutation = arena_copy(&b->arena, args->parts[i].mutation);
    }
    b->args.parts = parts;
    b->writes = arena_array(&b->arena, struct batch_write, args->count);
}

/* Could every mutation reach its level as things are? */
static void batch_look_alive(struct batch *b)
{
    struct coordinator *c = b->task.c;
    const struct ring *ring = cluster_ring(c->cluster);
    unsigned self = cluster_self(c->cluster);
    for (size_t i = 0; b->err == OK && b->args.level != LEVEL_ANY && i < b->args.count; i++) {
        const struct coordinator_batch_part *part = &b->args.parts[i];
        struct replicas replicas;
        struct level_need need;
        ring_replicas(ring, part->keyspace, self, part->token, &replicas);
        level_need(b->args.level, ring, self, part->keyspace, &replicas, &need);
        if (!enough_alive(c, &replicas, &need, b->outcome))
            b->err = ERR_UNAVAILABLE;
    }
}

void coordinator_batch(struct coordinator *c, struct io_req *req, struct op *op,
                       const struct coordinator_batch *args, struct coordinator_outcome *outcome)
{
    struct batch *b = mem_zalloc(sizeof *b);
    ensure(args->count > 0);
    arena_init(&b->arena, ARENA_BYTES);
    list_init(&b->task.link);
    *outcome = (struct coordinator_outcome){ 0 };
    b->done = req;
    b->outcome = outcome;
    batch_copy(b, args);
    b->bytes = sizeof *b + u64_max(ARENA_BYTES, b->arena.used_bytes);
    c->bytes_in_flight += b->bytes;
    c->counts.batches++;
    io_req_begin(req, op);
    task_begin(&b->task, c, states, batch_release);
    if (!level_allows(args->level, true))
        b->err = ERR_INVALID;
    else if (!write_has_room(c))
        b->err = ERR_OVERLOADED;
    batch_look_alive(b);
    if (b->err == OK)
        batch_choose(b);
    c->counts.unavailable += b->err == ERR_UNAVAILABLE;
}

/* ---- keeping ---- */

/* Asks the keepers what `word` says. */
static void batch_ask(struct batch *b, uint64_t deadline_ns)
{
    struct coordinator *c = b->task.c;
    const struct replica_slot *replica = &c->options.replica;
    for (unsigned i = 0; i < b->keepers_count; i++) {
        struct cluster_message m = {
            .node = b->keepers[i], .verb = VERB_BATCH, .body = b->word, .deadline_ns = deadline_ns
        };
        b->calls[i].arena = &b->arena;
        if (b->keepers[i] == cluster_self(c->cluster))
            replica->batch(replica->context, &b->local, &b->task.op, b->word, deadline_ns);
        else
            cluster_call(c->cluster, &b->calls[i], &b->task.op, &m);
    }
}

static const struct io_req *batch_req(const struct batch *b, unsigned keeper)
{
    bool is_self = b->keepers[keeper] == cluster_self(b->task.c->cluster);
    return is_self ? &b->local : &b->calls[keeper].req;
}

static struct op_next batch_keep(struct op *op)
{
    struct batch *b = batch_of(op);
    if (b->err == OK)
        b->err = op->stop;
    if (b->err != OK)
        return op_goto(KEPT);
    struct io *io = b->task.c->io;
    uint64_t high = io_random(io), low = io_random(io);
    struct buf word = buf_in(&b->arena);
    b->id = uuid_random(high, low);
    batch_put_keep(&word, &b->id, io_wall(io), b->args.count);
    for (size_t i = 0; i < b->args.count; i++)
        buf_put_sized(&word, b->args.parts[i].mutation);
    b->word = buf_bytes(&word);
    b->must_forget = true;
    batch_ask(b, b->args.deadline_ns);
    return op_wait(KEPT);
}

/* What is said when not all keepers have it. */
static enum err batch_unkept(struct batch *b)
{
    struct coordinator_outcome *o = b->outcome;
    *o = (struct coordinator_outcome){ .required = b->keepers_count, .is_of_batchlog = true };
    for (unsigned i = 0; i < b->keepers_count; i++) {
        enum err err = batch_req(b, i)->err;
        o->received += err == OK;
        if (err != OK && is_refusal(err))
            o->failures[o->failed++] = (struct coordinator_failure){ b->keepers[i], err };
    }
    if (o->received == o->required)
        return OK;
    b->task.c->counts.failures += o->failed > 0;
    b->task.c->counts.timeouts += o->failed == 0;
    return o->failed ? ERR_WRITE_FAILURE : ERR_WRITE_TIMEOUT;
}

static void batch_write(struct batch *b, size_t i)
{
    const struct coordinator_batch_part *part = &b->args.parts[i];
    struct coordinator_write w = { .keyspace = part->keyspace,
                                   .level = b->args.level,
                                   .token = part->token,
                                   .mutation = part->mutation,
                                   .deadline_ns = b->args.deadline_ns,
                                   .settled = &b->writes[i].settled };
    coordinator_write(b->task.c, &b->writes[i].req, &b->task.op, &w, &b->writes[i].outcome);
}

static void batch_answer(struct batch *b, enum err err)
{
    io_req_end(b->done, err);
    b->done = NULL;
    b->outcome = NULL;
}

static struct op_next batch_kept(struct op *op)
{
    struct batch *b = batch_of(op);
    for (unsigned i = 0; i < b->keepers_count; i++)
        if (batch_req(b, i)->busy)
            return op_wait(KEPT);
    if (b->err == OK)
        b->err = batch_unkept(b);
    if (b->err == OK)
        b->err = op->stop;
    if (b->err != OK) {
        batch_answer(b, b->err);
        return op_goto(FORGET);
    }
    for (size_t i = 0; i < b->args.count; i++)
        batch_write(b, i);
    return op_wait(GATHER);
}

/* ---- writing ---- */

/* The keepers will write it if nobody else does, so it was not in vain. */
static enum err batch_verdict(const struct batch *b, size_t i)
{
    enum err err = b->writes[i].req.err;
    bool is_honest = err == OK || err == ERR_WRITE_FAILURE || err == ERR_STOPPED;
    return is_honest ? err : ERR_WRITE_TIMEOUT;
}

static struct op_next batch_gather(struct op *op)
{
    struct batch *b = batch_of(op);
    for (size_t i = 0; i < b->args.count; i++)
        if (b->writes[i].req.busy)
            return op_wait(GATHER);
    enum err err = OK;
    for (size_t i = 0; i < b->args.count && err == OK; i++) {
        err = batch_verdict(b, i);
        if (i == 0 || err != OK || outcome_is_less(&b->writes[i].outcome, b->outcome))
            *b->outcome = b->writes[i].outcome;
    }
    batch_answer(b, err);
    return op_goto(SETTLE);
}

static struct op_next batch_settle(struct op *op)
{
    struct batch *b = batch_of(op);
    for (size_t i = 0; i < b->args.count; i++)
        if (b->writes[i].settled.busy)
            return op_wait(SETTLE);
    for (size_t i = 0; i < b->args.count; i++)
        if (b->writes[i].settled.size == 0)
            b->must_forget = false; /* nobody has it: the keepers go on */
    return op_goto(FORGET);
}

/* ---- forgetting ---- */

static struct op_next batch_forget(struct op *op)
{
    struct batch *b = batch_of(op);
    if (b->must_forget && !op->stop) {
        struct buf word = buf_in(&b->arena);
        batch_put(&word, BATCH_FORGET, &b->id);
        b->word = buf_bytes(&word);
        b->must_forget = false;
        batch_ask(b, io_now(b->task.c->io) + forget_patience_ns);
    }
    for (unsigned i = 0; op->stop && i < b->keepers_count; i++)
        if (b->calls[i].req.busy)
            cluster_cancel(b->task.c->cluster, &b->calls[i]);
    return op->waiting ? op_wait(FORGET) : op_end(op, OK);
}

static void batch_release(struct op *op)
{
    struct batch *b = batch_of(op);
    struct coordinator *c = b->task.c;
    ensure(!b->done && c->bytes_in_flight >= b->bytes);
    c->bytes_in_flight -= b->bytes;
    task_end(&b->task);
    arena_deinit(&b->arena);
    mem_free(b);
}
