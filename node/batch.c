/* batch.c - BATCH: many statements, bound one by one, as few mutations.
 *
 * What goes to the same partition of the same table becomes one mutation, which is atomic by itself.
 * A logged batch is that and nothing more: over several partitions it would need a batch log, which
 * is not there yet, and says so.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/session.h"

enum { BATCH_MUTATIONS_MAX = 65535 };

struct batch {
    struct session *session;
    struct arena *arena;
    struct request_batch request;
    struct cql_params params;
    struct cql_mutation *mutations;
    size_t count, room;
};

/* Adds one mutation, joined with an earlier one of the same partition when there is one. */
static enum err batch_join(struct batch *b, const struct cql_mutation *m)
{
    for (size_t i = 0; i < b->count; i++) {
        struct cql_mutation *at = &b->mutations[i];
        if (at->token != m->token || at->table != m->table || !bytes_equal(at->key, m->key))
            continue;
        struct mutation one, two, both;
        enum err err = mutation_decode(at->encoded, at->table, b->arena, &one);
        if (err == OK)
            err = mutation_decode(m->encoded, m->table, b->arena, &two);
        if (err != OK)
            return err;
        both = one;
        both.deletion = deletion_newer(one.deletion, two.deletion);
        both.rows_count = one.rows_count + two.rows_count;
        both.rows = arena_array(b->arena, struct row, both.rows_count);
        if (one.rows_count)
            memcpy(both.rows, one.rows, one.rows_count * sizeof *one.rows);
        if (two.rows_count)
            memcpy(both.rows + one.rows_count, two.rows, two.rows_count * sizeof *two.rows);
        struct buf encoded = buf_in(b->arena);
        mutation_encode(&both, &encoded);
        at->encoded = buf_bytes(&encoded);
        return OK;
    }
    ensure(b->count < b->room);
    b->mutations[b->count++] = *m;
    return OK;
}

static enum err batch_make_room(struct batch *b, size_t more, struct report *report)
{
    size_t room = b->count + more;
    if (room > BATCH_MUTATIONS_MAX)
        return report_set(report, ERR_INVALID, "the batch changes more than %d partitions",
                          BATCH_MUTATIONS_MAX);
    if (room <= b->room)
        return OK;
    struct cql_mutation *wider = arena_array(b->arena, struct cql_mutation, 2 * room);
    if (b->count)
        memcpy(wider, b->mutations, b->count * sizeof *wider);
    b->mutations = wider;
    b->room = 2 * room;
    return OK;
}

/* The plan of one entry, with a reference. */
static enum err batch_plan(struct batch *b, const struct batch_entry *e, struct cql_plan **out,
                           struct failure *f)
{
    struct shard *shard = b->session->shard;
    if (e->is_prepared) {
        struct prepared_entry *entry = prepared_get(&shard->prepared, e->text_or_id);
        f->id = e->text_or_id;
        if (!entry)
            return report_set(&f->report, ERR_UNPREPARED,
                              "Prepared query is not known here: prepare it again");
        *out = entry->plan;
        cql_plan_ref(*out);
        return OK;
    }
    struct cql_context context = { .catalog = &shard->catalog,
                                   .keyspace = session_keyspace(b->session) };
    return cql_prepare(&context, e->text_or_id, out, &f->report);
}

static enum err batch_bind_entry(struct batch *b, const struct batch_entry *e, struct failure *f)
{
    struct cql_plan *plan = NULL;
    struct cql_action action = { 0 };
    enum err err = batch_plan(b, e, &plan, f);
    if (err == OK && cql_plan_kind(plan) != CQL_MUTATE)
        err = report_set(&f->report, ERR_INVALID,
                         "Invalid statement in batch: only UPDATE, INSERT and DELETE are allowed");
    if (err == OK) {
        b->params.values = e->values;
        b->params.values_count = e->values_count;
        err = cql_bind(plan, &b->session->shard->catalog, &b->params, b->arena, &action,
                       &f->report);
    }
    if (err == OK)
        err = batch_make_room(b, action.mutations_count, &f->report);
    for (size_t i = 0; err == OK && i < action.mutations_count; i++)
        err = batch_join(b, &action.mutations[i]);
    if (plan)
        cql_plan_unref(&plan);
    return err;
}

static enum err batch_check(const struct batch *b, struct report *report)
{
    if (b->request.kind == BATCH_COUNTER)
        return report_set(report, ERR_INVALID, "COUNTER batches are not there yet");
    if (b->request.kind == BATCH_LOGGED && b->count > 1)
        return report_set(report, ERR_INVALID,
                          "LOGGED batches over several partitions are not there yet: "
                          "use UNLOGGED, or one partition a batch");
    return OK;
}

enum err batch_bind(struct session *s, const struct wire_envelope *e, struct arena *arena,
                    struct cql_action *out, enum level *level, const char **write_type,
                    struct failure *f)
{
    struct batch b = { .session = s, .arena = arena };
    struct cursor body;
    enum err err = wire_prefix(e, &body, NULL, NULL);
    if (err == OK)
        err = request_batch_decode(body, session_out(s)->version, arena, &b.request, &f->report);
    if (err != OK)
        return err;
    const struct query_params *q = &b.request.params;
    int64_t wall = io_wall(s->shard->io);
    b.params = (struct cql_params){ .now_seconds = wall / 1000000, .wall_micros = wall };
    b.params.timestamp = (q->flags & PARAM_TIMESTAMP) ? q->timestamp : shard_timestamp(s->shard);
    if (q->flags & PARAM_NOW)
        b.params.now_seconds = q->now_seconds;
    b.params.random[0] = io_random(s->shard->io);
    b.params.random[1] = io_random(s->shard->io);
    for (size_t i = 0; err == OK && i < b.request.entries_count; i++)
        err = batch_bind_entry(&b, &b.request.entries[i], f);
    if (err == OK)
        err = batch_check(&b, &f->report);
    *level = (enum level)q->consistency;
    *write_type = b.request.kind == BATCH_LOGGED ? "BATCH" : "UNLOGGED_BATCH";
    out->kind = CQL_BATCH;
    out->mutations = b.mutations;
    out->mutations_count = b.count;
    return err;
}
