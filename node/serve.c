/* serve.c - requests of other nodes: apply a mutation, read rows or their digest, truncate a table.
 *
 *     [catch up] ──> run ──> answer ──> ended
 *
 * A request that was made at a later epoch than this shard knows first fetches the metadata that it
 * lacks.  A read of one partition that this shard owns is answered at once, without an op.  What
 * comes before the store is open is parked; replica_unpark takes it up.
 *
 * Nothing is thrown away in silence: a mutation that is not applied is answered with the reason and
 * counted by it, here or by the store, so that its coordinator keeps a hint.  One that has waited
 * past its deadline is turned away before any work is done for it.  The answer to one that was
 * applied is one byte: was it synced by then?
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/clearing.h"
#include "node/hinting.h"
#include "node/replica.h"

enum { CATCH_UP, RUN, ANSWER };

struct serve {
    struct op op;
    struct shard *shard;
    struct cluster_request *request;
    struct replica_slot slot;
    struct io_req wait;
    struct read read;
    int64_t gc_before; /* of a digest */
    struct bytes answer;
    uint8_t is_synced; /* a mutation's answer */
};

static struct op_next serve_catch_up(struct op *);
static struct op_next serve_run(struct op *);
static struct op_next serve_answer(struct op *);
static void serve_release(struct op *);

static const struct op_state serve_states[] = {
    [CATCH_UP] = { "catch up", serve_catch_up, TO(RUN) },
    [RUN] = { "run", serve_run, TO(RUN) | TO(ANSWER) },
    [ANSWER] = { "answer", serve_answer, TO(ANSWER) },
};

static struct serve *serve_of(struct op *op) { return owner_of(op, struct serve, op); }

static struct op_next serve_catch_up(struct op *op)
{
    struct serve *v = serve_of(op);
    struct cluster_request *r = v->request;
    if (r->epoch <= cluster_epoch(v->shard->cluster))
        return op_goto(RUN);
    cluster_catch_up(v->shard->cluster, &v->wait, op, r->epoch, r->node, r->deadline_ns);
    return op_wait(RUN);
}

void count_unapplied(struct shard *s, enum err err)
{
    s->counts.unapplied_late += err == ERR_TIMEOUT;
    s->counts.unapplied_behind += err == ERR_BEHIND;
    s->counts.unapplied_stopping += err == ERR_STOPPED;
    s->counts.unapplied_damaged += err == ERR_CORRUPT;
}

/* Before the store has seen it. */
static struct op_next serve_fail(struct serve *v, enum err err)
{
    v->wait.err = err;
    if (v->request->verb == VERB_APPLY)
        count_unapplied(v->shard, err);
    return op_goto(ANSWER);
}

/* The read that a request asks for, rows or a digest. */
static enum err serve_decode(struct cluster_request *r, struct read *read, int64_t *gc_before)
{
    if (r->verb == VERB_DIGEST)
        return digest_ask_decode(r->body, &r->arena, read, gc_before);
    return r->verb == VERB_READ ? read_decode(r->body, &r->arena, read) : ERR_PROTOCOL;
}

static struct op_next serve_run(struct op *op)
{
    struct serve *v = serve_of(op);
    struct cluster_request *r = v->request;
    enum truncate_round round;
    struct uuid table;
    if (v->wait.busy)
        return op_wait(RUN);
    if (v->wait.err != OK)
        return serve_fail(v, ERR_BEHIND);
    if (io_now(v->shard->io) > r->deadline_ns)
        return serve_fail(v, ERR_TIMEOUT);
    if (r->verb == VERB_APPLY) {
        struct mutation m;
        if (mutation_peek(r->body, &m) != OK)
            return serve_fail(v, ERR_CORRUPT);
        v->slot.apply(v->shard, &v->wait, op, m.token, r->body, r->deadline_ns);
    } else if (r->verb == VERB_READ || r->verb == VERB_DIGEST) {
        if (serve_decode(r, &v->read, &v->gc_before) != OK)
            return serve_fail(v, ERR_CORRUPT);
        v->slot.read(v->shard, &v->wait, op, &v->read, &r->arena, &v->answer, r->deadline_ns);
    } else if (r->verb == VERB_REPAIR) {
        enum err err = clearing_serve(v->shard, &v->wait, op, r->body, r->deadline_ns);
        if (err != OK)
            return serve_fail(v, err);
    } else if (r->verb == VERB_BATCH) {
        v->slot.batch(v->shard, &v->wait, op, r->body, r->deadline_ns);
    } else if (r->verb == VERB_TRUNCATE && truncate_decode(r->body, &round, &table)) {
        replica_truncate(v->shard, &v->wait, op, round, &table);
    } else {
        return serve_fail(v, ERR_PROTOCOL);
    }
    return op_wait(ANSWER);
}

/* Rows become their digest. */
static enum err serve_digest(struct serve *v)
{
    struct arena *arena = &v->request->arena;
    struct buf out = buf_in(arena);
    struct digest_answer digest;
    const struct table *table = catalog_table_by_id(&v->shard->catalog, &v->read.table);
    if (!table)
        return ERR_NOT_FOUND;
    enum err err = digest_of_answer(table, &v->read, v->gc_before, v->answer, arena, &digest);
    if (err == OK)
        digest_answer_encode(&digest, &out);
    v->answer = buf_bytes(&out);
    return err;
}

static struct op_next serve_answer(struct op *op)
{
    struct serve *v = serve_of(op);
    if (v->wait.busy)
        return op_wait(ANSWER);
    enum err err = v->wait.err;
    if (v->request->verb == VERB_DIGEST && err == OK)
        err = serve_digest(v);
    if (v->request->verb == VERB_APPLY) {
        v->is_synced = v->wait.size != 0;
        v->answer = bytes_of(&v->is_synced, 1);
    }
    cluster_answer(v->request, err, err == OK ? v->answer : (struct bytes){ 0 });
    return op_end(op, err);
}

static void serve_release(struct op *op)
{
    struct serve *v = serve_of(op);
    ensure(v->shard->served_count > 0);
    v->shard->served_count--;
    slab_release(&v->shard->slab, v, sizeof *v);
}

static enum err rows_now(struct shard *s, struct cluster_request *r, const struct read *read,
                         struct buf *out)
{
    struct result_writer writer;
    struct read_outcome outcome = { 0 };
    result_begin(&writer, read, out);
    enum err err = replica_slot(s).read_now(s, read, &r->arena, &writer.sink, &outcome);
    if (err == OK)
        result_end(&writer, &outcome);
    return err;
}

static enum err digest_now(struct shard *s, struct cluster_request *r, const struct read *read,
                           int64_t gc_before, struct buf *out)
{
    struct digest_writer writer;
    struct digest_answer digest;
    struct read_outcome outcome = { 0 };
    digest_begin(&writer, read, gc_before, &r->arena);
    enum err err = replica_slot(s).read_now(s, read, &r->arena, &writer.sink, &outcome);
    if (err != OK)
        return err;
    digest_end(&writer, &outcome, &digest);
    digest_answer_encode(&digest, out);
    return OK;
}

/* A read of one partition of this shard's own: at once.  False when it needs an op. */
static bool serve_now(struct shard *s, struct cluster_request *r)
{
    struct read read;
    int64_t gc_before = 0;
    struct buf out = buf_in(&r->arena);
    if (r->epoch > cluster_epoch(s->cluster) || serve_decode(r, &read, &gc_before) != OK)
        return false;
    enum err err = r->verb == VERB_READ ? rows_now(s, r, &read, &out)
                                        : digest_now(s, r, &read, gc_before, &out);
    if (err == ERR_WOULD_WAIT)
        return false;
    cluster_answer(r, err, err == OK ? buf_bytes(&out) : (struct bytes){ 0 });
    return true;
}

void replica_turn_away(struct shard *s, struct cluster_request *r)
{
    struct cursor hints = cursor_of(r->body);
    struct bytes mutation;
    if (r->verb == VERB_APPLY)
        count_unapplied(s, ERR_STOPPED);
    while (r->verb == VERB_HINTS && hints_body_next(&hints, &mutation))
        count_unapplied(s, ERR_STOPPED);
    cluster_answer(r, ERR_STOPPED, (struct bytes){ 0 });
}

void replica_request(void *context, struct cluster_request *r)
{
    struct shard *s = context;
    if (s->is_stopping) {
        replica_turn_away(s, r);
        return;
    }
    if (!s->store) {
        list_add(&s->parked, &r->link);
        return;
    }
    if (serve_now(s, r))
        return;
    if (r->verb == VERB_HINTS) {
        hinting_serve(s, r);
        return;
    }
    struct serve *v = shard_piece(s, sizeof *v);
    v->shard = s;
    v->request = r;
    v->slot = replica_slot(s);
    s->served_count++;
    op_start(&v->op, io_ops(s->io), NULL, serve_states, serve_release);
}

void replica_unpark(struct shard *s)
{
    ensure(s->store);
    list_each(l, &s->parked)
    {
        list_remove(l);
        replica_request(s, owner_of(l, struct cluster_request, link));
    }
}
