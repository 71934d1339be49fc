/* script_replica.h - replicas of a story: an op that takes its time, then does what it is told. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "script.h"

/* ---- replicas: an op that takes its time ---- */

struct script_work {
    struct op op;
    struct io *io;
    struct io_req nap;
    struct io_req *local; /* this node's, else: */
    struct cluster_request *request;
    unsigned node;
    const struct read *read; /* local; NULL: a mutation */
    struct arena *arena;
    struct bytes *answer;
    struct bytes mutation; /* local */
};
static inline bool script_is_write(const struct script_work *w)
{
    return w->request ? w->request->verb == VERB_APPLY : !w->read;
}
static inline struct op_next script_begin_work(struct op *op)
{
    struct script_work *w = owner_of(op, struct script_work, op);
    bool is_slow =
        script.does[w->node] == SLOW || (script.does[w->node] == SLOW_WRITES && script_is_write(w));
    io_sleep(w->io, &w->nap, op, is_slow ? 300 * script_ms : script_ms);
    return op_wait(1);
}
static inline struct bytes script_digest(struct script_work *w)
{
    struct cluster_request *r = w->request;
    struct digest_answer digest;
    struct buf out = buf_in(&r->arena);
    struct read read;
    int64_t gc_before;
    ensure(digest_ask_decode(r->body, &r->arena, &read, &gc_before) == OK);
    struct bytes rows = script_read(w->node, &read, &r->arena);
    ensure(digest_of_answer(script.table, &read, gc_before, rows, &r->arena, &digest) == OK);
    digest_answer_encode(&digest, &out);
    return buf_bytes(&out);
}
static inline struct op_next script_end_work(struct op *op)
{
    struct script_work *w = owner_of(op, struct script_work, op);
    enum script_does does = script.does[w->node];
    bool refuses = does == REFUSE || (does == REFUSE_WRITES && script_is_write(w));
    enum err err = refuses ? ERR_IO : does == OVERLOAD ? ERR_OVERLOADED : OK;
    struct bytes answer = { 0 };
    struct read read;
    if (w->nap.busy)
        return op_wait(1);
    if (w->read)
        answer = script_read(w->node, w->read, w->arena);
    else if (w->request && w->request->verb == VERB_READ &&
             read_decode(w->request->body, &w->request->arena, &read) == OK)
        answer = script_read(w->node, &read, &w->request->arena);
    else if (w->request && w->request->verb == VERB_DIGEST)
        answer = script_digest(w);
    else if (err == OK)
        script_repair(w->node, w->local ? w->mutation : w->request->body);
    if (w->answer)
        *w->answer = answer;
    if (w->local)
        w->local->size = 1; /* a mutation was synced */
    if (w->request && w->request->verb == VERB_APPLY)
        answer = bytes_of((const uint8_t *)"\1", 1);
    if (w->local)
        io_req_end(w->local, err);
    else
        cluster_answer(w->request, err, answer);
    return op_end(op, OK);
}
static const struct op_state script_work_states[] = {
    { "begin", script_begin_work, TO(1) },
    { "end", script_end_work, TO(1) },
};
static inline void script_work_free(struct op *op)
{
    mem_free(owner_of(op, struct script_work, op));
}

static inline void script_work_start(struct script_work from)
{
    struct script_work *w = mem_zalloc(sizeof *w);
    *w = from;
    op_start(&w->op, io_ops(w->io), NULL, script_work_states, script_work_free);
}
static inline void script_answer(struct rig_shard *s, struct cluster_request *r)
{
    unsigned node = (unsigned)s->node->index + 1;
    script.applied[node] += r->verb == VERB_APPLY;
    script.reads[node] += r->verb == VERB_READ || r->verb == VERB_DIGEST;
    script.digests[node] += r->verb == VERB_DIGEST;
    if (script.does[node] != SILENT)
        script_work_start((struct script_work){ .io = s->io, .request = r, .node = node });
}
static inline void script_apply(void *context, struct io_req *req, struct op *op, int64_t token,
                                struct bytes mutation, uint64_t deadline_ns)
{
    (void)token, (void)deadline_ns;
    script.applied[1]++;
    io_req_begin(req, op);
    script_work_start(
        (struct script_work){ .io = context, .local = req, .node = 1, .mutation = mutation });
}
static inline void script_read_slot(void *context, struct io_req *req, struct op *op,
                                    const struct read *read, struct arena *arena,
                                    struct bytes *answer, uint64_t deadline_ns)
{
    (void)deadline_ns;
    script.reads[1]++;
    io_req_begin(req, op);
    script_work_start((struct script_work){
        .io = context, .local = req, .node = 1, .read = read, .arena = arena, .answer = answer });
}
static inline enum err script_read_now(void *context, const struct read *read, struct arena *arena,
                                       struct read_sink *sink, struct read_outcome *out)
{
    (void)context, (void)read, (void)arena, (void)sink, (void)out;
    return ERR_WOULD_WAIT;
}
