/* statement.c - statements that have to wait: an op each, a child of its session.
 *
 *                    ┌─> told ─┐ (all shards, for some system tables)
 *                ┌──> read ──> fed ──┐ (one read after the other)
 *     begin ─────┼──> write ─────────┼──> answer ──> ended
 *                ├──> change ────────┤
 *                └──> truncate ──────┘
 *
 * The envelope is copied into the request's arena, so that everything decoded from it lasts as long
 * as the request.  Requests are pooled with their arenas: a warm one takes no memory from the heap.
 *
 * Not here: PREPARE (prepare.c), what is answered at once (request.c).
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "node/change.h"
#include "node/errand.h"
#include "node/session.h"
#include "node/system.h"
#include "node/writing.h"

enum { BEGIN, READ, TOLD, FED, WRITE, CHANGE, TRUNCATE, ANSWER };

struct request {
    struct op op;
    struct list idle;
    struct shard *shard;
    struct session *session;
    struct arena arena;
    struct wire_envelope envelope;
    struct statement statement;
    struct failure failure; /* report.err OK: it went well */
    struct cql_action action;
    struct cql_run run;
    const struct read *read;
    struct read_outcome read_outcome;
    struct io_req wait;
    struct errands errands; /* of a system table that all shards are asked for */
    struct writing writing;
    struct bytes warning; /* of a schema change */
    struct change_call change;
    struct truncate_call truncate;
    struct buf body;
    enum level level;
    uint64_t arrived_ns, deadline_ns, begun_ns;
    uint64_t held_bytes; /* of the session's and the shard's budget */
    bool is_read;
    bool wants_outcome; /* its payload asks for `rondo.outcome` */
    unsigned acked;     /* of a read: what is told of it now */
};

static struct op_next request_begin(struct op *);
static struct op_next request_read(struct op *);
static struct op_next request_told(struct op *);
static struct op_next request_fed(struct op *);
static struct op_next request_write(struct op *);
static struct op_next request_change(struct op *);
static struct op_next request_truncate(struct op *);
static struct op_next request_answer(struct op *);
static void request_release(struct op *);

static const struct op_state request_states[] = {
    [BEGIN] = { "begin", request_begin,
                TO(BEGIN) | TO(READ) | TO(WRITE) | TO(CHANGE) | TO(TRUNCATE) | TO(ANSWER) },
    [READ] = { "read", request_read, TO(TOLD) | TO(FED) | TO(ANSWER) },
    [TOLD] = { "told", request_told, TO(TOLD) | TO(FED) | TO(ANSWER) },
    [FED] = { "fed", request_fed, TO(READ) | TO(FED) | TO(ANSWER) },
    [WRITE] = { "write", request_write, TO(WRITE) | TO(ANSWER) },
    [CHANGE] = { "change", request_change, TO(BEGIN) | TO(CHANGE) | TO(ANSWER) },
    [TRUNCATE] = { "truncate", request_truncate, TO(TRUNCATE) | TO(ANSWER) },
    [ANSWER] = { "answer", request_answer, TO(ANSWER) },
};

static struct request *request_of(struct op *op) { return owner_of(op, struct request, op); }

/* ---- life ---- */

static struct request *request_take(struct shard *shard)
{
    struct request *r = NULL;
    if (list_empty(&shard->idle_requests)) {
        r = mem_zalloc(sizeof *r);
        arena_init(&r->arena, REQUEST_ARENA_BYTES);
    } else {
        r = owner_of(shard->idle_requests.next, struct request, idle);
        list_remove(&r->idle);
        struct arena arena = r->arena;
        *r = (struct request){ .arena = arena };
    }
    list_init(&r->idle);
    r->shard = shard;
    return r;
}

void statement_start(struct session *s, const struct wire_envelope *e)
{
    uint64_t bytes = sizeof(struct request) + REQUEST_ARENA_BYTES + e->body.size;
    if (!session_hold(s, e, bytes))
        return;
    struct request *r = request_take(s->shard);
    r->session = s;
    r->held_bytes = bytes;
    r->arrived_ns = io_now(s->shard->io);
    r->envelope = *e;
    r->envelope.body = arena_copy(&r->arena, e->body);
    r->body = buf_in(&r->arena);
    r->begun_ns = io_clock(s->shard->io);
    s->in_flight++;
    op_start(&r->op, io_ops(s->shard->io), &s->op, request_states, request_release);
}

static void request_release(struct op *op)
{
    struct request *r = request_of(op);
    session_keep(r->session, r->held_bytes, 0);
    statement_close(&r->statement);
    errands_deinit(&r->errands);
    arena_reset(&r->arena);
    list_add(&r->shard->idle_requests, &r->idle);
}

void statement_free_idle(struct shard *shard)
{
    list_each(l, &shard->idle_requests)
    {
        struct request *r = owner_of(l, struct request, idle);
        list_remove(&r->idle);
        arena_deinit(&r->arena);
        mem_free(r);
    }
}

/* ---- what went wrong ---- */

static struct op_next request_fail(struct request *r, enum err err)
{
    r->failure.report.err = err;
    if (!r->failure.report.text[0])
        failure_word(r->shard, &r->failure);
    return op_goto(ANSWER);
}

/* The arena has grown: what it takes now is held, or the request is given up. */
static bool request_hold(struct request *r)
{
    uint64_t bytes = sizeof *r + u64_max(REQUEST_ARENA_BYTES, r->arena.used_bytes);
    if (bytes <= r->held_bytes)
        return true;
    bool has_room = session_has_room(r->session, r->held_bytes, bytes);
    session_keep(r->session, r->held_bytes, bytes);
    r->held_bytes = bytes;
    return has_room;
}

static struct op_next request_overload(struct request *r)
{
    r->shard->counts.overloaded++;
    session_word_full(&r->failure.report);
    return request_fail(r, ERR_OVERLOADED);
}

/* ---- begin ---- */

static struct op_next request_begin_read(struct request *r)
{
    struct statement *st = &r->statement;
    uint8_t version = session_out(r->session)->version;
    r->is_read = true;
    struct cql_answer answer = { version,   st->wire.flags, statement_new_metadata_id(st, version),
                                 &r->arena, &r->body,       statement_tombstones_max(r->shard) };
    enum err err = cql_run_begin(&r->run, st->plan, &r->shard->catalog, &st->params, &answer,
                                 &r->failure.report);
    return err == OK ? op_goto(READ) : request_fail(r, err);
}

static struct op_next request_begin_write(struct request *r)
{
    r->writing = (struct writing){
        .shard = r->shard, .arena = &r->arena, .level = r->level, .deadline_ns = r->deadline_ns
    };
    if (!request_hold(r))
        return request_overload(r);
    enum err err = writing_start(&r->writing, &r->op, &r->action, &r->failure.report);
    if (err != OK)
        return request_fail(r, err);
    return r->writing.count ? op_wait(WRITE) : op_goto(WRITE);
}

static struct op_next request_begin_bound(struct request *r)
{
    struct statement *st = &r->statement;
    enum err err = cql_bind(st->plan, &r->shard->catalog, &st->params, &r->arena, &r->action,
                            &r->failure.report);
    if (err != OK) {
        r->failure.keyspace = r->action.event.keyspace;
        r->failure.table = r->action.event.name;
        return request_fail(r, err);
    }
    if (r->action.kind == CQL_CHANGE && r->action.change) {
        struct buf encoded = buf_in(&r->arena);
        if (r->action.change->keyspace && !change_is_of_table(r->action.change))
            r->warning = factor_warning(r->shard, r->action.change->keyspace, &r->arena);
        change_encode(r->action.change, &encoded);
        change_start(r->shard, &r->change, &r->op, buf_bytes(&encoded), r->deadline_ns);
        return op_wait(CHANGE);
    }
    if (r->action.kind == CQL_TRUNCATE) {
        truncate_start(r->shard, &r->truncate, &r->op, cql_plan_table(st->plan), r->deadline_ns);
        return op_wait(TRUNCATE);
    }
    if (r->action.kind == CQL_MUTATE || r->action.kind == CQL_BATCH)
        return request_begin_write(r);
    return op_goto(ANSWER); /* a change that changes nothing */
}

static struct op_next request_begin_batch(struct request *r)
{
    enum err err =
        batch_bind(r->session, &r->envelope, &r->arena, &r->action, &r->level, &r->failure);
    r->failure.consistency = (enum consistency)r->level;
    r->deadline_ns = r->arrived_ns + statement_timeout_ns(r->shard, CQL_BATCH, false);
    return err == OK ? request_begin_write(r) : request_fail(r, err);
}

/* This node stood still: first it has to read what the others have decided meanwhile. */
static struct op_next request_wake(struct request *r)
{
    if (r->wait.err != OK)
        return request_fail(r, report_set(&r->failure.report, ERR_OVERLOADED,
                                          "this node stood still, and cannot read yet what the "
                                          "cluster has agreed on meanwhile"));
    if (!r->wait.busy)
        cluster_wake(r->shard->cluster, &r->wait, &r->op);
    return op_wait(BEGIN);
}

static struct op_next request_begin(struct op *op)
{
    struct request *r = request_of(op);
    struct statement *st = &r->statement;
    if (op->stop)
        return request_fail(r, ERR_STOPPED);
    if (r->wait.busy || !cluster_is_awake(r->shard->cluster))
        return request_wake(r);
    struct cursor body;
    struct bytes payload;
    r->wants_outcome = wire_prefix(&r->envelope, &body, NULL, &payload) == OK &&
                       wire_payload_has(payload, "rondo.outcome");
    if (r->envelope.opcode == OPCODE_BATCH)
        return request_begin_batch(r);
    statement_close(st);
    enum err err = statement_open(r->session, &r->envelope, &r->arena, st, &r->failure);
    if (err != OK)
        return request_fail(r, err);
    r->failure.consistency = st->wire.consistency;
    r->level = st->level;
    enum cql_kind kind = cql_plan_kind(st->plan);
    r->deadline_ns = r->arrived_ns + statement_timeout_ns(r->shard, kind, false);
    return kind == CQL_SELECT ? request_begin_read(r) : request_begin_bound(r);
}

/* ---- reads ---- */

/* The keyspace as it is now: a scan looks at it longer than the catalog may keep it. */
static const struct keyspace *request_keyspace(struct request *r, const char *name)
{
    const struct keyspace *k = catalog_keyspace(&r->shard->catalog, name);
    return k && r->read->is_range ? keyspace_copy(k, &r->arena) : k;
}

static struct op_next request_read(struct op *op)
{
    struct request *r = request_of(op);
    const struct table *table = cql_plan_table(r->statement.plan);
    if (op->stop)
        return request_fail(r, ERR_STOPPED);
    if (!cql_run_next(&r->run, &r->read)) {
        cql_run_end(&r->run);
        return r->run.err == OK ? op_goto(ANSWER) : request_fail(r, r->run.err);
    }
    r->read_outcome = (struct read_outcome){ 0 };
    if (table->is_virtual && system_asks(table)) {
        errands_send(&r->errands, r->shard, op, system_asks(table), NULL);
        return op_wait(TOLD);
    }
    if (table->is_virtual) {
        r->wait.err = statement_read_now(r->shard, &r->statement, r->read, &r->arena, &r->run.sink,
                                         &r->read_outcome);
        return op_goto(FED);
    }
    r->deadline_ns = r->arrived_ns + statement_timeout_ns(r->shard, CQL_SELECT, r->read->is_range);
    struct coordinator_read read = { .keyspace = request_keyspace(r, table->keyspace),
                                     .table = table,
                                     .level = r->level,
                                     .read = r->read,
                                     .deadline_ns = r->deadline_ns,
                                     .arena = &r->arena,
                                     .sink = &r->run.sink };
    if (!read.keyspace)
        return request_fail(r, ERR_NOT_FOUND);
    coordinator_read(r->shard->coordinator, &r->wait, op, &read, &r->read_outcome,
                     &r->failure.outcome);
    return op_wait(FED);
}

/* The shards have said what a system table is made of. */
static struct op_next request_told(struct op *op)
{
    struct request *r = request_of(op);
    if (r->errands.away)
        return op_wait(TOLD);
    enum err err = errands_result(&r->errands, &r->failure.report);
    if (err != OK)
        return request_fail(r, err);
    r->wait.err =
        system_read(r->shard, r->read, &r->errands, &r->arena, &r->run.sink, &r->read_outcome);
    return op_goto(FED);
}

/* Of several reads of one request the one that the fewest replicas answered is told. */
static void request_note_read(struct request *r)
{
    const struct coordinator_outcome *o = &r->failure.outcome;
    if (!r->wants_outcome || !o->replicas)
        return;
    if (r->failure.told.size && r->acked <= o->acked)
        return;
    r->acked = o->acked;
    r->failure.told =
        bytes_text(arena_printf(&r->arena, "replicas=%u acked=%u", o->replicas, o->acked));
}

static struct op_next request_fed(struct op *op)
{
    struct request *r = request_of(op);
    if (r->wait.busy) {
        if (op->stop) /* the client is gone, or the node stops */
            coordinator_cancel(&r->wait);
        return op_wait(FED);
    }
    request_note_read(r);
    if (r->wait.err != OK)
        return request_fail(r, r->wait.err);
    cql_run_fed(&r->run, &r->read_outcome);
    return request_hold(r) ? op_goto(READ) : request_overload(r);
}

/* ---- writes and changes ---- */

static struct op_next request_write(struct op *op)
{
    struct request *r = request_of(op);
    if (writing_is_busy(&r->writing))
        return op_wait(WRITE);
    enum err err = writing_result(&r->writing, &r->failure);
    if (r->wants_outcome)
        r->failure.told = writing_told(&r->failure.outcome, &r->arena);
    if (err != OK)
        return request_fail(r, err);
    answer_void(&r->body);
    return op_goto(ANSWER);
}

static struct op_next request_change(struct op *op)
{
    struct request *r = request_of(op);
    if (r->change.req.busy)
        return op_wait(CHANGE);
    if (r->change.req.err == ERR_EXISTS && io_now(r->shard->io) >= r->deadline_ns)
        return request_fail(r, report_set(&r->failure.report, ERR_TIMEOUT,
                                          "other schema changes came first until the time was up"));
    if (r->change.req.err == ERR_EXISTS) { /* another change came first: look again */
        r->failure.report = (struct report){ 0 };
        return op_goto(BEGIN);
    }
    if (r->change.req.err != OK) {
        r->failure.report = r->change.failed;
        r->failure.outcome = r->change.outcome;
        return request_fail(r, r->change.req.err);
    }
    answer_schema_change(&r->body, &r->action.event);
    return op_goto(ANSWER);
}

static struct op_next request_truncate(struct op *op)
{
    struct request *r = request_of(op);
    if (r->truncate.req.busy)
        return op_wait(TRUNCATE);
    if (r->truncate.req.err != OK) {
        r->failure.report = r->truncate.failed;
        return request_fail(r, r->truncate.req.err);
    }
    answer_void(&r->body);
    return op_goto(ANSWER);
}

/* ---- answer ---- */

static struct op_next request_answer(struct op *op)
{
    struct request *r = request_of(op);
    struct session *s = r->session;
    struct histogram *h = r->is_read ? &r->shard->counts.read_ns : &r->shard->counts.write_ns;
    bool is_good = r->failure.report.err == OK;
    if (is_good && s->socket && !op->stop && session_is_full(s)) {
        s->is_awaited = true; /* a slow reader: the answer stays here, and counted */
        return op_wait(ANSWER);
    }
    s->in_flight--;
    op_wake(&s->op);
    if (!s->socket) /* the client is gone */
        return op_end(op, ERR_STOPPED);
    if (!is_good) {
        session_answer_failure(s, r->envelope.stream, &r->failure);
        return op_end(op, r->failure.report.err);
    }
    if (r->body.size == 0)
        answer_void(&r->body);
    struct bytes warning = r->writing.warning.size ? r->writing.warning : r->warning;
    if (r->is_read)
        warning = statement_warning(r->shard, &r->statement, &r->run, &r->arena);
    session_answer_body(s, r->envelope.stream, buf_bytes(&r->body), warning, r->failure.told);
    histogram_add(h, io_clock(r->shard->io) - r->begun_ns);
    return op_end(op, OK);
}
