/* request.c - what an envelope asks for: answered at once when nothing has to wait.
 *
 *     OPTIONS, STARTUP, REGISTER    at once
 *     QUERY, EXECUTE                at once when it is a SELECT whose rows are at hand (this shard
 *                                   owns the token and the level is ONE, or the table is virtual),
 *                                   or a USE; else statement.c runs it as an op
 *     PREPARE                       prepare.c (at once when there is one shard)
 *     BATCH                         statement.c
 *
 * A request with a custom payload goes by way of statement.c, which has more to tell.
 * A node that stood still (cluster_is_awake) answers nothing at once: statement.c waits.
 *
 * The warm read: the statement is decoded in place, its rows are written straight into the
 * connection's output, and nothing is allocated, posted or started.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/session.h"
#include "node/system.h"

static void answer_protocol(struct session *s, int16_t stream, const char *text)
{
    struct report report = { .err = ERR_PROTOCOL };
    snprintf(report.text, sizeof report.text, "%s", text);
    session_answer_report(s, stream, &report);
    s->shard->counts.protocol_errors++;
}

/* ---- OPTIONS, STARTUP, REGISTER ---- */

static void request_options(struct session *s, const struct wire_envelope *e)
{
    static const char *const versions[] = { "4/v4", "5/v5" };
    static const char *const cql[] = { "3.4.7" };
    static const char *const compression[] = { "lz4" };
    char shard[16], shards[16];
    const char *shard_value = shard, *shards_value = shards;
    static const char *const algorithm[] = { "biased-token-round-robin" };
    static const char *const partitioner[] = { "org.apache.cassandra.dht.Murmur3Partitioner" };
    static const char *const bits[] = { "12" };
    snprintf(shard, sizeof shard, "%d", io_self(s->shard->io));
    snprintf(shards, sizeof shards, "%d", io_shards(s->shard->io));
    const struct supported_option options[] = {
        { "CQL_VERSION", 1, cql },
        { "COMPRESSION", 1, compression },
        { "PROTOCOL_VERSIONS", 2, versions },
        { "SCYLLA_SHARD", 1, &shard_value },
        { "SCYLLA_NR_SHARDS", 1, &shards_value },
        { "SCYLLA_SHARDING_ALGORITHM", 1, algorithm },
        { "SCYLLA_PARTITIONER", 1, partitioner },
        { "SCYLLA_SHARDING_IGNORE_MSB", 1, bits },
    };
    size_t count = s->shard->config->scylla_sharding ? array_count(options) : 3;
    struct buf *out = wire_begin(session_out(s), 0, e->stream, OPCODE_SUPPORTED);
    answer_supported_encode(out, options, count);
    wire_end(session_out(s));
}

static void text_keep(char *to, size_t room, struct bytes from)
{
    size_t n = from.size < room - 1 ? from.size : room - 1;
    if (n)
        memcpy(to, from.data, n);
    to[n] = 0;
}

/* b in lower-case letters and digits; any case in a. */
static bool text_is(struct bytes a, const char *b)
{
    bool is_equal = a.size == strlen(b);
    for (size_t i = 0; is_equal && i < a.size; i++)
        is_equal = (a.data[i] | 0x20) == (uint8_t)b[i];
    return is_equal;
}

static void request_startup(struct session *s, const struct wire_envelope *e, struct cursor body)
{
    struct request_startup startup;
    struct report report = { 0 };
    if (s->is_started) {
        answer_protocol(s, e->stream, "STARTUP has been answered already on this connection");
        return;
    }
    if (request_startup_decode(body, &s->shard->scratch, &startup, &report) != OK) {
        session_answer_report(s, e->stream, &report);
        return;
    }
    if (request_startup_option(&startup, "CQL_VERSION").size == 0) {
        answer_protocol(s, e->stream, "STARTUP needs CQL_VERSION, for example 3.4.7");
        return;
    }
    struct bytes compression = request_startup_option(&startup, "COMPRESSION");
    bool is_lz4 = text_is(compression, "lz4");
    if (compression.size && !is_lz4) {
        answer_protocol(s, e->stream, "Unknown compression algorithm: lz4 is what there is");
        return;
    }
    text_keep(s->driver_name, sizeof s->driver_name,
              request_startup_option(&startup, "DRIVER_NAME"));
    text_keep(s->driver_version, sizeof s->driver_version,
              request_startup_option(&startup, "DRIVER_VERSION"));
    s->wants_errors |= text_is(request_startup_option(&startup, "THROW_ON_OVERLOAD"), "1");
    wire_begin(session_out(s), 0, e->stream, OPCODE_READY);
    wire_end(session_out(s));
    s->is_started = true;
    s->in.is_lz4 = s->out[0].is_lz4 = s->out[1].is_lz4 = is_lz4;
    s->is_switching = e->version == WIRE_V5;
}

static void request_register(struct session *s, const struct wire_envelope *e, struct cursor body)
{
    struct request_register wanted = { 0 };
    struct report report = { 0 };
    if (request_register_decode(body, &wanted, &report) != OK) {
        session_answer_report(s, e->stream, &report);
        return;
    }
    s->wants_topology |= wanted.topology;
    s->wants_status |= wanted.status;
    s->wants_schema |= wanted.schema;
    wire_begin(session_out(s), 0, e->stream, OPCODE_READY);
    wire_end(session_out(s));
}

/* ---- QUERY and EXECUTE ---- */

/* Runs a SELECT to its end without waiting; the answer is written in place.  False when something
 * would have to wait: then nothing has been written.  *f is clear. */
static bool select_now(struct session *s, const struct wire_envelope *e, struct statement *st,
                       struct failure *f)
{
    struct arena *arena = &s->shard->scratch;
    struct wire_out *out = session_out(s);
    struct cql_run run;
    const struct read *read;
    f->consistency = st->wire.consistency;
    struct buf *body = wire_begin(out, 0, e->stream, OPCODE_RESULT);
    struct cql_answer answer = {
        out->version, st->wire.flags, statement_new_metadata_id(st, out->version),
        arena,        body,           statement_tombstones_max(s->shard)
    };
    enum err err =
        cql_run_begin(&run, st->plan, &s->shard->catalog, &st->params, &answer, &f->report);
    while (err == OK && cql_run_next(&run, &read)) {
        struct read_outcome outcome = { 0 };
        bool is_long = cql_run_has_warning(&run); /* others are to run in between */
        err = is_long ? ERR_WOULD_WAIT
                      : statement_read_now(s->shard, st, read, arena, &run.sink, &outcome);
        if (err == OK)
            cql_run_fed(&run, &outcome);
        else if (err != ERR_WOULD_WAIT)
            f->report.err = err;
    }
    if (err == OK) {
        cql_run_end(&run);
        err = run.err;
    }
    if (err == OK && cql_run_has_warning(&run))
        wire_warn(out, statement_warning(s->shard, st, &run, arena));
    if (err != OK) {
        wire_abandon(out);
        if (err == ERR_WOULD_WAIT)
            return false;
        if (!f->report.text[0])
            snprintf(f->report.text, sizeof f->report.text, "%s", err_text(err));
        session_answer_failure(s, e->stream, f);
        return true;
    }
    wire_end(out);
    return true;
}

static bool use_now(struct session *s, const struct wire_envelope *e, struct statement *st)
{
    struct cql_action action = { 0 };
    struct failure f = { 0 };
    if (cql_bind(st->plan, &s->shard->catalog, &st->params, &s->shard->scratch, &action,
                 &f.report) != OK) {
        session_answer_failure(s, e->stream, &f);
        return true;
    }
    snprintf(s->keyspace, sizeof s->keyspace, "%s", action.keyspace);
    struct buf *out = wire_begin(session_out(s), 0, e->stream, OPCODE_RESULT);
    answer_set_keyspace(out, bytes_text(action.keyspace));
    wire_end(session_out(s));
    return true;
}

/* True when the answer has been written. */
static bool statement_now(struct session *s, const struct wire_envelope *e)
{
    struct statement st = { 0 };
    struct failure f;
    failure_clear(&f);
    uint64_t begun = io_clock(s->shard->io);
    if (statement_open(s, e, &s->shard->scratch, &st, &f) != OK) {
        session_answer_failure(s, e->stream, &f);
        return true;
    }
    enum cql_kind kind = cql_plan_kind(st.plan);
    bool is_one = st.level == LEVEL_ONE || st.level == LEVEL_LOCAL_ONE || statement_is_virtual(&st);
    bool is_done = false;
    if (kind == CQL_SELECT && is_one)
        is_done = select_now(s, e, &st, &f);
    else if (kind == CQL_USE)
        is_done = use_now(s, e, &st);
    if (is_done && kind == CQL_SELECT)
        histogram_add(&s->shard->counts.read_ns, io_clock(s->shard->io) - begun);
    statement_close(&st);
    return is_done;
}

static void request_statement(struct session *s, const struct wire_envelope *e)
{
    bool has_payload = e->flags & WIRE_PAYLOAD; /* it may want to be told more */
    if (!has_payload && cluster_is_awake(s->shard->cluster) && statement_now(s, e))
        s->shard->counts.requests_inline++;
    else
        statement_start(s, e);
}

void request_handle(struct session *s, const struct wire_envelope *e)
{
    struct cursor body;
    bool is_early = e->opcode == OPCODE_STARTUP || e->opcode == OPCODE_OPTIONS;
    if (wire_prefix(e, &body, NULL, NULL) != OK) {
        answer_protocol(s, e->stream, "the custom payload of the request is cut off");
        return;
    }
    if (!s->is_started && !is_early) {
        answer_protocol(s, e->stream, "the first request must be STARTUP or OPTIONS");
        return;
    }
    arena_reset(&s->shard->scratch);
    if (e->opcode == OPCODE_OPTIONS)
        request_options(s, e);
    else if (e->opcode == OPCODE_STARTUP)
        request_startup(s, e, body);
    else if (e->opcode == OPCODE_REGISTER)
        request_register(s, e, body);
    else if (e->opcode == OPCODE_PREPARE)
        prepare_start(s, e);
    else if (e->opcode == OPCODE_QUERY || e->opcode == OPCODE_EXECUTE)
        request_statement(s, e);
    else if (e->opcode == OPCODE_BATCH)
        statement_start(s, e);
    else
        answer_protocol(s, e->stream, "no authentication is under way on this connection");
}
