/* truncate.c - TRUNCATE: every node forgets the table's rows, or the statement fails.
 *
 *     ask all ──> gather ──> ask all ──> gather ──> ended
 *       give up hints          empty the table
 *
 * All members must be up, since a replica that was not asked would bring the rows back; and no node
 * empties the table before all have given up their hints of it, since one would be delivered to
 * whoever has done so already.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "node/change.h"
#include "node/replica.h"

enum { ASK, GATHER };

struct truncate {
    struct op op;
    struct shard *shard;
    struct truncate_call *call;
    enum truncate_round round;
    uint8_t body[TRUNCATE_BODY_BYTES];
    struct uuid table;
    uint64_t deadline_ns;
    struct arena arena;
    struct cluster_call others[NODES_MAX];
    struct io_req own;
};

static struct op_next truncate_ask(struct op *);
static struct op_next truncate_gather(struct op *);
static void truncate_release(struct op *);

static const struct op_state truncate_states[] = {
    [ASK] = { "ask", truncate_ask, TO(GATHER) },
    [GATHER] = { "gather", truncate_gather, TO(GATHER) | TO(ASK) },
};

void truncate_encode(enum truncate_round round, const struct uuid *table,
                     uint8_t body[TRUNCATE_BODY_BYTES])
{
    body[0] = (uint8_t)round;
    memcpy(body + 1, table->b, sizeof table->b);
}

bool truncate_decode(struct bytes body, enum truncate_round *round, struct uuid *table)
{
    bool is_known = body.size == TRUNCATE_BODY_BYTES &&
                    (body.data[0] == TRUNCATE_HINTS || body.data[0] == TRUNCATE_ROWS);
    if (!is_known)
        return false;
    *round = (enum truncate_round)body.data[0];
    memcpy(table->b, body.data + 1, sizeof table->b);
    return true;
}

static struct truncate *truncate_of(struct op *op) { return owner_of(op, struct truncate, op); }

static enum err truncate_all_up(struct truncate *t)
{
    const struct ring *ring = cluster_ring(t->shard->cluster);
    char address[IO_ADDR_TEXT_BYTES];
    for (unsigned n = 1; n <= ring->nodes_count; n++) {
        if (cluster_is_up(t->shard->cluster, n))
            continue;
        io_addr_print(&ring->nodes[n - 1].internode, address);
        return report_set(&t->call->failed, ERR_TRUNCATE,
                          "Cannot truncate: every node must be up, %s is down", address);
    }
    return OK;
}

static struct op_next truncate_ask(struct op *op)
{
    struct truncate *t = truncate_of(op);
    const struct ring *ring = cluster_ring(t->shard->cluster);
    enum err err = op->stop ? op->stop : truncate_all_up(t);
    if (err != OK) {
        io_req_end(&t->call->req, err);
        return op_end(op, err);
    }
    truncate_encode(t->round, &t->table, t->body);
    for (unsigned n = 1; n <= ring->nodes_count; n++) {
        struct cluster_message m = { .node = n,
                                     .verb = VERB_TRUNCATE,
                                     .body = bytes_of(t->body, sizeof t->body),
                                     .deadline_ns = t->deadline_ns };
        t->others[n - 1].arena = &t->arena;
        if (n != cluster_self(t->shard->cluster))
            cluster_call(t->shard->cluster, &t->others[n - 1], op, &m);
    }
    replica_truncate(t->shard, &t->own, op, t->round, &t->table);
    return op_wait(GATHER);
}

static struct op_next truncate_gather(struct op *op)
{
    struct truncate *t = truncate_of(op);
    enum err err = t->own.err;
    for (size_t i = 0; op->stop && i < NODES_MAX; i++)
        cluster_cancel(t->shard->cluster, &t->others[i]);
    if (op->waiting)
        return op_wait(GATHER);
    for (size_t i = 0; i < NODES_MAX; i++)
        if (t->others[i].req.err != OK)
            err = t->others[i].req.err;
    if (err == OK && t->round == TRUNCATE_HINTS) {
        t->round = TRUNCATE_ROWS;
        return op_goto(ASK);
    }
    if (err != OK)
        err = report_set(&t->call->failed, ERR_TRUNCATE,
                         "Truncation is not complete, try again: %s", err_text(err));
    io_req_end(&t->call->req, err);
    return op_end(op, err);
}

static void truncate_release(struct op *op)
{
    struct truncate *t = truncate_of(op);
    arena_deinit(&t->arena);
    mem_free(t);
}

void truncate_start(struct shard *shard, struct truncate_call *call, struct op *op,
                    const struct table *table, uint64_t deadline_ns)
{
    struct truncate *t = mem_zalloc(sizeof *t);
    t->shard = shard;
    t->call = call;
    t->table = table->id;
    t->round = TRUNCATE_HINTS;
    t->deadline_ns = deadline_ns;
    *call = (struct truncate_call){ .shard = shard };
    io_req_begin(&call->req, op);
    op_start(&t->op, io_ops(shard->io), op, truncate_states, truncate_release);
}
