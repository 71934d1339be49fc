/* learn.c - what is decided becomes part of the log: written, then applied on every shard; and an
 * address that is new is written and told; shard 0.
 *
 *     entry:    turn ──> write ──> spread (every other shard has applied it) ──> ended
 *     address:  turn ──> write ──> ended
 *
 * The turn is kept until all shards have applied the entry, so the next one cannot overtake it, and
 * whoever learns an entry that is there already ends only when it is applied everywhere.
 *
 * Invariant: an entry is durable here before any shard applies it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

enum { TURN, WRITE, SPREAD };

struct learn {
    struct op op;
    struct cluster *c;
    struct io_req *req, write;
    struct turn turn;
    uint64_t epoch;
    struct buf value;
    unsigned left; /* shards that have not applied it */
};

static struct op_next learn_turn(struct op *);
static struct op_next learn_write(struct op *);
static struct op_next learn_spread(struct op *);
static const struct op_state learn_states[] = {
    [TURN] = { "turn", learn_turn, TO(TURN) | TO(WRITE) },
    [WRITE] = { "write", learn_write, TO(WRITE) | TO(SPREAD) },
    [SPREAD] = { "spread", learn_spread, TO(SPREAD) },
};

static struct learn *learn_of(struct op *op) { return owner_of(op, struct learn, op); }

static struct op_next learn_end(struct learn *l, enum err err)
{
    metadata_pass(l->c->metadata, &l->turn);
    return op_end(&l->op, err);
}

static struct op_next learn_turn(struct op *op)
{
    struct learn *l = learn_of(op);
    struct metadata *m = l->c->metadata;
    if (!metadata_turn(m, &l->turn, op))
        return op_wait(TURN);
    if (l->epoch <= m->last)
        return learn_end(l, OK);
    enum err err = metadata_check(m, l->epoch, buf_bytes(&l->value));
    if (err != OK)
        return learn_end(l, err);
    struct buf record = { 0 };
    record_entry(&record, l->epoch, buf_bytes(&l->value));
    journal_append(m->journal, &l->write, op, buf_bytes(&record));
    buf_deinit(&record);
    return op_wait(WRITE);
}

static struct op_next learn_write(struct op *op)
{
    struct learn *l = learn_of(op);
    if (l->write.busy)
        return op_wait(WRITE);
    if (l->write.err != OK)
        return learn_end(l, l->write.err);
    metadata_put_entry(l->c->metadata, buf_bytes(&l->value));
    cluster_apply(l->c, l->epoch, l->c->metadata->entries[l->epoch - 1]);
    shares_entry(l->c, op, l->epoch, &l->left);
    return op_goto(SPREAD);
}

static struct op_next learn_spread(struct op *op)
{
    struct learn *l = learn_of(op);
    return l->left > 0 ? op_wait(SPREAD) : learn_end(l, OK);
}

static void learn_release(struct op *op)
{
    struct learn *l = learn_of(op);
    io_req_end(l->req, op->err);
    buf_deinit(&l->value);
    mem_free(l);
}

void learn_start(struct cluster *c, struct io_req *req, struct op *op, uint64_t epoch,
                 struct bytes value)
{
    struct learn *l = mem_zalloc(sizeof *l);
    ensure(is_first(c) && epoch > 0);
    io_req_begin(req, op);
    l->c = c;
    l->req = req;
    l->epoch = epoch;
    buf_put_bytes(&l->value, value);
    op_start(&l->op, io_ops(c->io), &c->op, learn_states, learn_release);
}

/* ---- addresses ---- */

struct learn_address {
    struct op op;
    struct cluster *c;
    struct io_req write;
    struct turn turn;
    struct address address;
};

static struct op_next address_turn(struct op *);
static struct op_next address_write(struct op *);
static const struct op_state address_states[] = {
    [TURN] = { "turn", address_turn, TO(TURN) | TO(WRITE) },
    [WRITE] = { "write", address_write, TO(WRITE) },
};

static struct learn_address *address_of(struct op *op)
{
    return owner_of(op, struct learn_address, op);
}

static struct op_next address_turn(struct op *op)
{
    struct learn_address *a = address_of(op);
    if (!metadata_turn(a->c->metadata, &a->turn, op))
        return op_wait(TURN);
    struct buf record = { 0 };
    record_address(&record, &a->address);
    journal_append(a->c->metadata->journal, &a->write, op, buf_bytes(&record));
    buf_deinit(&record);
    return op_wait(WRITE);
}

static struct op_next address_write(struct op *op)
{
    struct learn_address *a = address_of(op);
    if (a->write.busy)
        return op_wait(WRITE);
    if (a->write.err == OK)
        metadata_put_address(a->c->metadata, &a->address);
    metadata_pass(a->c->metadata, &a->turn);
    return op_end(op, a->write.err);
}

static void address_release(struct op *op) { mem_free(address_of(op)); }

/* Used from now on, written in its own time: after a crash the other side says it again. */
void address_learn(struct cluster *c, const struct hello *h)
{
    unsigned number = ring_number(&c->ring, &h->host_id);
    ensure(is_first(c));
    if (number == 0 || number == c->self || c->is_closing || h->internode.family == 0)
        return;
    struct node node = c->ring.nodes[number - 1];
    if (io_addr_equal(&node.internode, &h->internode) && io_addr_equal(&node.native, &h->native))
        return;
    node.internode = h->internode;
    node.native = h->native;
    char at[IO_ADDR_TEXT_BYTES];
    io_addr_print(&h->internode, at);
    log_note(c->io, LOG_INFO, "peer_address", "node=%u address=%s", number, at);
    cluster_set_node(c, &node);
    shares_note(c, number);
    struct learn_address *a = mem_zalloc(sizeof *a);
    a->c = c;
    a->address = (struct address){ h->host_id, h->internode, h->native };
    op_start(&a->op, io_ops(c->io), &c->op, address_states, address_release);
}
