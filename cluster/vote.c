/* vote.c - one step of this node's acceptor: taken in turn, durable, then answered; shard 0.
 *
 *     turn ──> write ──> ended
 *
 * The step is computed on a copy; the copy becomes the state after its record is durable.  So what
 * an answer says has been written before, whatever crashes; and what was written without an answer
 * (a crash in between) is a promise to nobody, which does no harm.
 *
 * Invariant: the acceptor's state in memory is what a replay would give.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cluster/first.h"

enum { TURN, WRITE };

struct vote_op {
    struct op op;
    struct cluster *c;
    struct io_req *req, write;
    struct vote *vote;
    struct turn turn;
    struct paxos_acceptor next;
};

static struct op_next vote_turn(struct op *);
static struct op_next vote_write(struct op *);
static const struct op_state vote_states[] = {
    [TURN] = { "turn", vote_turn, TO(TURN) | TO(WRITE) },
    [WRITE] = { "write", vote_write, TO(WRITE) },
};

static struct vote_op *vote_of(struct op *op) { return owner_of(op, struct vote_op, op); }

static struct op_next vote_end(struct vote_op *v, enum err err)
{
    struct vote *vote = v->vote;
    if (err == OK && vote->answer.value.size)
        vote->answer.value = arena_copy(vote->arena, vote->answer.value);
    metadata_pass(v->c->metadata, &v->turn);
    return op_end(&v->op, err);
}

static void vote_record(struct vote_op *v)
{
    struct buf record = { 0 };
    record_acceptor(&record, v->vote->epoch, &v->next);
    journal_append(v->c->metadata->journal, &v->write, &v->op, buf_bytes(&record));
    buf_deinit(&record);
}

static struct op_next vote_turn(struct op *op)
{
    struct vote_op *v = vote_of(op);
    struct vote *vote = v->vote;
    struct metadata *m = v->c->metadata;
    if (!metadata_turn(m, &v->turn, op))
        return op_wait(TURN);
    if (vote->epoch <= m->last)
        return vote_end(v, ERR_EXISTS);
    if (vote->epoch > m->last + 1)
        return vote_end(v, ERR_BEHIND);
    v->next = m->acceptor;
    vote->answer = vote->is_accept ? paxos_accept(&v->next, vote->ballot, vote->value)
                                   : paxos_prepare(&v->next, vote->ballot);
    bool is_new = ballot_compare(v->next.promised, m->acceptor.promised) != 0 ||
                  ballot_compare(v->next.accepted, m->acceptor.accepted) != 0;
    if (!is_new)
        return vote_end(v, OK); /* a no, or a repetition */
    vote_record(v);
    return op_wait(WRITE);
}

static struct op_next vote_write(struct op *op)
{
    struct vote_op *v = vote_of(op);
    if (v->write.busy)
        return op_wait(WRITE);
    if (v->write.err != OK)
        return vote_end(v, v->write.err);
    metadata_put_acceptor(v->c->metadata, &v->next);
    if (!v->vote->is_accept)
        v->vote->answer.value = v->c->metadata->acceptor.value;
    return vote_end(v, OK);
}

static void vote_release(struct op *op)
{
    struct vote_op *v = vote_of(op);
    io_req_end(v->req, op->err);
    mem_free(v);
}

void vote_start(struct cluster *c, struct io_req *req, struct op *op, struct vote *vote)
{
    struct vote_op *v = mem_zalloc(sizeof *v);
    ensure(is_first(c) && vote->arena);
    io_req_begin(req, op);
    v->c = c;
    v->req = req;
    v->vote = vote;
    op_start(&v->op, io_ops(c->io), &c->op, vote_states, vote_release);
}
