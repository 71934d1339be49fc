/* open.c - from a QUERY or EXECUTE envelope to a resolved statement with its parameters.
 *
 * Both ways to run a statement begin here: at once (request.c) and as an op (statement.c).
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/context.h"
#include "node/session.h"
#include "node/system.h"

static const uint64_t warning_pause_ns = 10000000000;

int64_t shard_timestamp(struct shard *s, int64_t wall)
{
    s->last_timestamp = wall > s->last_timestamp ? wall : s->last_timestamp + 1;
    return s->last_timestamp;
}

static void statement_params(struct shard *shard, struct statement *st)
{
    const struct query_params *q = &st->wire;
    bool has_timestamp = q->flags & PARAM_TIMESTAMP;
    bool has_now = q->flags & PARAM_NOW;
    int64_t wall = io_wall(shard->io);
    st->params = (struct cql_params){ .values_count = q->values_count,
                                      .values = q->values,
                                      .names = q->names,
                                      .now_seconds = has_now ? q->now_seconds : wall / 1000000,
                                      .wall_micros = wall,
                                      .page_size = q->page_size,
                                      .paging_state = q->paging_state };
    st->params.timestamp = has_timestamp ? q->timestamp : shard_timestamp(shard, wall);
    st->params.random[0] = io_random(shard->io);
    st->params.random[1] = io_random(shard->io);
    st->level = (enum level)q->consistency;
}

/* The data centres that the ring knows, each once, for a keyspace that names none. */
static void statement_datacenters(struct shard *shard, struct arena *arena, struct statement *st)
{
    const struct ring *ring = cluster_ring(shard->cluster);
    const char **names = arena_array(arena, const char *, ring->nodes_count);
    size_t count = 0;
    for (size_t i = 0; i < ring->nodes_count; i++) {
        size_t at = 0;
        while (at < count && strcmp(names[at], ring->nodes[i].data_center) != 0)
            at++;
        if (at == count)
            names[count++] = arena_text(arena, bytes_text(ring->nodes[i].data_center));
    }
    st->params.datacenters = names;
    st->params.datacenters_count = count;
}

enum err session_keyspace_of(const struct session *s, struct bytes given,
                             char out[NAME_BYTES_MAX + 1], struct report *report)
{
    if (given.size > NAME_BYTES_MAX)
        return report_set(report, ERR_INVALID, "the keyspace's name is longer than %d bytes",
                          NAME_BYTES_MAX);
    memcpy(out, s->keyspace, NAME_BYTES_MAX + 1);
    if (given.size) {
        memcpy(out, given.data, given.size);
        out[given.size] = 0;
    }
    return OK;
}

static enum err statement_open_query(struct session *s, struct cursor body, struct arena *arena,
                                     struct statement *st, struct failure *f)
{
    struct request_query q;
    uint8_t version = session_out(s)->version;
    enum err err = request_query_decode(body, version, arena, &q, &f->report);
    if (err != OK)
        return err;
    st->wire = q.params;
    err = session_keyspace_of(s, st->wire.keyspace, st->keyspace, &f->report);
    if (err != OK)
        return err;
    struct context context;
    return cql_prepare(context_fill(&context, s->shard, st->keyspace), q.text, &st->plan,
                       &f->report);
}

static enum err statement_open_execute(struct session *s, struct cursor body, struct arena *arena,
                                       struct statement *st, struct failure *f)
{
    struct request_execute e;
    uint8_t version = session_out(s)->version;
    enum err err = request_execute_decode(body, version, arena, &e, &f->report);
    if (err != OK)
        return err;
    st->wire = e.params;
    st->metadata_id = e.metadata_id;
    st->is_prepared = true;
    struct prepared_entry *entry = prepared_get(&s->shard->prepared, e.id);
    if (!entry) {
        f->id = e.id;
        return report_set(&f->report, ERR_UNPREPARED,
                          "Prepared query is not known here: prepare it again");
    }
    entry->executions++;
    st->plan = entry->plan;
    cql_plan_ref(st->plan);
    return OK;
}

enum err statement_open(struct session *s, const struct wire_envelope *e, struct arena *arena,
                        struct statement *st, struct failure *f)
{
    struct cursor body;
    *st = (struct statement){ 0 };
    enum err err = wire_prefix(e, &body, NULL, NULL);
    if (err != OK)
        return report_set(&f->report, ERR_PROTOCOL, "the request's prefix is cut off");
    err = e->opcode == OPCODE_EXECUTE ? statement_open_execute(s, body, arena, st, f)
                                      : statement_open_query(s, body, arena, st, f);
    if (err != OK)
        return err;
    statement_params(s->shard, st);
    if (cql_plan_kind(st->plan) == CQL_CHANGE)
        statement_datacenters(s->shard, arena, st);
    return OK;
}

void statement_close(struct statement *st)
{
    if (st->plan)
        cql_plan_unref(&st->plan);
}

struct bytes statement_new_metadata_id(const struct statement *st, uint8_t version)
{
    if (version < WIRE_V5 || !st->is_prepared)
        return (struct bytes){ 0 };
    struct bytes own = cql_plan_metadata(st->plan)->metadata_id;
    return bytes_equal(own, st->metadata_id) ? (struct bytes){ 0 } : own;
}

struct bytes statement_warning(struct shard *s, const struct statement *st,
                               const struct cql_run *run, struct arena *arena)
{
    const struct table *table = cql_plan_table(st->plan);
    if (!cql_run_has_warning(run))
        return (struct bytes){ 0 };
    const char *text = arena_printf(
        arena, "Read %u live rows and %u tombstone cells of %s.%s (see tombstone_warn_threshold)",
        run->rows_count, run->tombstones, table->keyspace, table->name);
    log_note_rarely(s->io, warning_pause_ns, LOG_WARN, "tombstones", "%s", text);
    return bytes_text(text);
}

bool statement_is_virtual(const struct statement *st)
{
    const struct table *table = cql_plan_table(st->plan);
    return table && table->is_virtual;
}

enum err statement_read_now(struct shard *shard, const struct statement *st,
                            const struct read *read, struct arena *arena, struct read_sink *sink,
                            struct read_outcome *out)
{
    const struct table *table = cql_plan_table(st->plan);
    if (table->is_virtual)
        return system_read(shard, read, NULL, arena, sink, out);
    struct coordinator_read r = { .keyspace = catalog_keyspace(&shard->catalog, table->keyspace),
                                  .table = table,
                                  .level = st->level,
                                  .read = read,
                                  .deadline_ns = UINT64_MAX,
                                  .arena = arena,
                                  .sink = sink };
    return r.keyspace ? coordinator_read_now(shard->coordinator, &r, out) : ERR_NOT_FOUND;
}

uint64_t statement_timeout_ns(const struct shard *shard, enum cql_kind kind, bool is_range)
{
    const struct config *c = shard->config;
    if (kind == CQL_SELECT)
        return is_range ? c->range_request_timeout_ns : c->read_request_timeout_ns;
    if (kind == CQL_TRUNCATE)
        return c->truncate_request_timeout_ns;
    if (kind == CQL_MUTATE || kind == CQL_BATCH)
        return c->write_request_timeout_ns;
    return c->request_timeout_ns;
}
