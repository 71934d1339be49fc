/* batch.c - BATCH: many statements, bound one by one, as few mutations.
 *
 * What goes to the same partition of the same table becomes one mutation, which is atomic by
 * itself; of several, a logged batch is kept by other nodes until it is written (writing.c).
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/context.h"
#include "node/session.h"

struct batch {
    struct session *session;
    struct arena *arena;
    struct request_batch request;
    char keyspace[NAME_BYTES_MAX + 1];
    struct cql_params params;
    struct list partitions; /* in the order of their first statement */
    struct map by_key;
    size_t count;
};
struct partition { /* of one table, and all that the batch does to it */
    struct list link;
    const struct table *table;
    struct bytes key;
    struct mutation all; /* its rows array has room for twice its count, a power of two */
    size_t room;
};

static struct partition *batch_partition(struct batch *b, const struct cql_mutation *m)
{
    struct buf name = buf_in(b->arena);
    buf_put(&name, m->table->id.b, sizeof m->table->id.b);
    buf_put_bytes(&name, m->key);
    struct partition *p = map_get(&b->by_key, buf_bytes(&name));
    if (p)
        return p;
    p = arena_new(b->arena, struct partition);
    p->table = m->table;
    p->key = bytes_of(name.data + sizeof m->table->id.b, m->key.size);
    p->all = (struct mutation){
        .table = m->table->id, .key = p->key, .token = m->token, .deletion = deletion_none()
    };
    list_add(&b->partitions, &p->link);
    map_put(&b->by_key, buf_bytes(&name), p);
    b->count++;
    return p;
}

static void batch_join_ranges(struct batch *b, struct mutation *all, const struct mutation *one)
{
    size_t count = all->ranges_count + one->ranges_count;
    if (!one->ranges_count)
        return;
    struct range_tombstone *wider = arena_array(b->arena, struct range_tombstone, count);
    if (all->ranges_count)
        memcpy(wider, all->ranges, all->ranges_count * sizeof *wider);
    memcpy(wider + all->ranges_count, one->ranges, one->ranges_count * sizeof *wider);
    all->ranges = wider;
    all->ranges_count = count;
}

/* Adds one mutation to what the batch does to its partition. */
static enum err batch_join(struct batch *b, const struct cql_mutation *m)
{
    struct partition *p = batch_partition(b, m);
    struct mutation one;
    enum err err = mutation_decode(arena_copy(b->arena, m->encoded), m->table, b->arena, &one);
    if (err != OK)
        return err;
    struct mutation *all = &p->all;
    size_t count = all->rows_count + one.rows_count;
    if (count > p->room) {
        struct row *wider = arena_array(b->arena, struct row, 2 * count);
        if (all->rows_count)
            memcpy(wider, all->rows, all->rows_count * sizeof *wider);
        all->rows = wider;
        p->room = 2 * count;
    }
    if (one.rows_count)
        memcpy(all->rows + all->rows_count, one.rows, one.rows_count * sizeof *one.rows);
    all->rows_count = count;
    batch_join_ranges(b, all, &one);
    all->epoch = one.epoch;
    all->deletion = deletion_newer(all->deletion, one.deletion);
    return OK;
}

static void batch_finish(struct batch *b, struct cql_action *out)
{
    out->kind = CQL_BATCH;
    out->is_logged = b->request.kind == BATCH_LOGGED;
    out->mutations = arena_array(b->arena, struct cql_mutation, b->count + 1);
    list_each(l, &b->partitions)
    {
        struct partition *p = owner_of(l, struct partition, link);
        struct buf encoded = buf_in(b->arena);
        mutation_encode(&p->all, &encoded);
        out->mutations[out->mutations_count++] = (struct cql_mutation){
            .table = p->table, .key = p->key, .token = p->all.token, .encoded = buf_bytes(&encoded)
        };
    }
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
    struct context context;
    return cql_prepare(context_fill(&context, shard, b->keyspace), e->text_or_id, out, &f->report);
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
        b->params.random[0] = io_random(b->session->shard->io);
        b->params.random[1] = io_random(b->session->shard->io);
        b->params.values = e->values;
        b->params.values_count = e->values_count;
        err =
            cql_bind(plan, &b->session->shard->catalog, &b->params, b->arena, &action, &f->report);
    }
    for (size_t i = 0; err == OK && i < action.mutations_count; i++)
        err = batch_join(b, &action.mutations[i]);
    if (plan)
        cql_plan_unref(&plan);
    return err;
}

enum err batch_bind(struct session *s, const struct wire_envelope *e, struct arena *arena,
                    struct cql_action *out, enum level *level, struct failure *f)
{
    struct batch b = { .session = s, .arena = arena };
    struct cursor body;
    list_init(&b.partitions);
    enum err err = wire_prefix(e, &body, NULL, NULL);
    if (err == OK)
        err = request_batch_decode(body, session_out(s)->version, arena, &b.request, &f->report);
    if (err == OK)
        err = session_keyspace_of(s, b.request.params.keyspace, b.keyspace, &f->report);
    if (err != OK)
        return err;
    const struct query_params *q = &b.request.params;
    int64_t wall = io_wall(s->shard->io);
    b.params = (struct cql_params){ .now_seconds = wall / 1000000, .wall_micros = wall };
    b.params.timestamp =
        (q->flags & PARAM_TIMESTAMP) ? q->timestamp : shard_timestamp(s->shard, wall);
    if (q->flags & PARAM_NOW)
        b.params.now_seconds = q->now_seconds;
    if (b.request.kind == BATCH_COUNTER)
        err = report_set(&f->report, ERR_INVALID, "a COUNTER batch is not there yet");
    for (size_t i = 0; err == OK && i < b.request.entries_count; i++)
        err = batch_bind_entry(&b, &b.request.entries[i], f);
    *level = (enum level)q->consistency;
    if (err == OK)
        batch_finish(&b, out);
    map_deinit(&b.by_key);
    return err;
}
