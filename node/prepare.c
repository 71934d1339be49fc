/* prepare.c - PREPARE: answered after every shard has the plan.
 *
 *     plan here ──mail to each other shard──> (all home) ──> answer ──> ended
 *
 * With one shard the answer is written at once.  Another shard whose catalog refuses the statement
 * (a change is on its way to it) makes the client prepare again later: it answers Unprepared.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "node/context.h"
#include "node/session.h"

enum { SPREAD, ANSWER };

struct copy { /* for one other shard */
    struct io_mail mail;
    struct prepare *prepare;
};
struct prepare {
    struct op op;
    struct session *session;
    struct arena arena;
    int16_t stream;
    struct bytes text;
    char keyspace[NAME_BYTES_MAX + 1];
    struct buf body; /* the answer */
    uint64_t held_bytes;
    size_t left;
    struct copy *copies;
};

static struct op_next prepare_spread(struct op *);
static struct op_next prepare_done(struct op *);
static void prepare_release(struct op *);

static const struct op_state prepare_states[] = {
    [SPREAD] = { "spread", prepare_spread, TO(ANSWER) },
    [ANSWER] = { "answer", prepare_done, TO(ANSWER) },
};

static struct prepare *prepare_of(struct op *op) { return owner_of(op, struct prepare, op); }

void prepare_answer(struct buf *out, uint8_t version, const struct prepared_entry *entry)
{
    struct answer_prepared answer = *cql_plan_metadata(entry->plan);
    answer.id = bytes_of(entry->id, sizeof entry->id);
    answer_prepared_encode(out, version, &answer);
}

/* Decodes, and prepares on this shard.  On an error the client has been answered. */
static struct prepared_entry *prepare_here(struct session *s, const struct wire_envelope *e,
                                           struct request_prepare *request, char *keyspace)
{
    struct cursor body;
    struct failure f = { 0 };
    struct prepared_entry *entry = NULL;
    enum err err = wire_prefix(e, &body, NULL, NULL);
    if (err == OK)
        err = request_prepare_decode(body, session_out(s)->version, request, &f.report);
    if (err == OK)
        err = session_keyspace_of(s, request->keyspace, keyspace, &f.report);
    if (err == OK) {
        struct context context;
        err = prepared_put(&s->shard->prepared, context_fill(&context, s->shard, keyspace),
                           request->text, &entry, &f.report);
    }
    if (err == OK)
        return entry;
    f.report.err = err;
    session_answer_failure(s, e->stream, &f);
    return NULL;
}

void prepare_start(struct session *s, const struct wire_envelope *e)
{
    struct request_prepare request = { 0 };
    char keyspace[NAME_BYTES_MAX + 1] = "";
    struct prepared_entry *entry = prepare_here(s, e, &request, keyspace);
    if (!entry)
        return;
    if (io_shards(s->shard->io) == 1) {
        prepare_answer(wire_begin(session_out(s), 0, e->stream, OPCODE_RESULT),
                       session_out(s)->version, entry);
        wire_end(session_out(s));
        return;
    }
    uint64_t bytes = sizeof(struct prepare) + REQUEST_ARENA_BYTES + request.text.size;
    if (!session_hold(s, e, bytes))
        return;
    struct prepare *p = mem_zalloc(sizeof *p);
    p->session = s;
    p->held_bytes = bytes;
    p->stream = e->stream;
    p->text = arena_copy(&p->arena, request.text);
    memcpy(p->keyspace, keyspace, sizeof p->keyspace);
    p->body = buf_in(&p->arena);
    prepare_answer(&p->body, session_out(s)->version, entry);
    s->in_flight++;
    op_start(&p->op, io_ops(s->shard->io), &s->op, prepare_states, prepare_release);
}

static void copy_there(struct io *io, struct io_mail *mail)
{
    struct prepare *p = owner_of(mail, struct copy, mail)->prepare;
    struct shard *s = shard_of(io);
    struct prepared_entry *entry = NULL;
    struct report report;
    struct context context;
    if (prepared_put(&s->prepared, context_fill(&context, s, p->keyspace), p->text, &entry,
                     &report) != OK)
        log_note(io, LOG_DEBUG, "prepare_refused", "reason=\"%s\"", report.text);
    io_post_home(io, mail);
}

static void copy_home(struct io *io, struct io_mail *mail)
{
    struct prepare *p = owner_of(mail, struct copy, mail)->prepare;
    (void)io;
    ensure(p->left > 0);
    if (--p->left == 0)
        op_drop(&p->op);
}

static struct op_next prepare_spread(struct op *op)
{
    struct prepare *p = prepare_of(op);
    struct io *io = p->session->shard->io;
    p->copies = arena_array(&p->arena, struct copy, (size_t)io_shards(io));
    op_hold(op);
    for (int i = 0; i < io_shards(io); i++) {
        if (i == io_self(io))
            continue;
        p->copies[i] =
            (struct copy){ .mail = { .there = copy_there, .home = copy_home }, .prepare = p };
        p->left++;
        shard_post(p->session->shard, i, &p->copies[i].mail);
    }
    return op_wait(ANSWER);
}

static struct op_next prepare_done(struct op *op)
{
    struct prepare *p = prepare_of(op);
    struct session *s = p->session;
    if (p->left)
        return op_wait(ANSWER);
    s->in_flight--;
    op_wake(&s->op);
    if (s->socket)
        session_answer_body(s, p->stream, buf_bytes(&p->body), (struct bytes){ 0 },
                            (struct bytes){ 0 });
    return op_end(op, OK);
}

static void prepare_release(struct op *op)
{
    struct prepare *p = prepare_of(op);
    session_keep(p->session, p->held_bytes, 0);
    arena_deinit(&p->arena);
    mem_free(p);
}
