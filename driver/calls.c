/* calls.c - the public calls of rondo.h over the core and the blocking face.
 *
 * Each call that can fail runs inside session_guarded(): if memory or an invariant fails anywhere
 * below, control comes back there, the session closes its sockets and is broken, and the call
 * answers RD_ERROR.  A broken session still knows its sentence and can be closed; its results are
 * empty.
 *
 * The calls are small: they make a request, pump until it has ended, and hand it out as the result.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/fail/driver.h"
#include "base/mem.h"
#include "driver/face.h"

enum { CONNECTIONS_MAX = 64 };

/* ---- guarding ---- */

rd_code session_complain(struct rd_session *s, rd_code code, const char *sentence)
{
    snprintf(s->core.error, sizeof s->core.error, "%s", sentence);
    return code;
}

static void abandon(struct rd_session *s, const struct report *report)
{
    s->is_broken = true;
    snprintf(s->core.error, sizeof s->core.error,
             "the session is closed: %s; please report this unless memory was short", report->text);
    face_close(s);
    list_each(at, &s->core.held)
    {
        struct rd_result *r = owner_of(at, struct rd_result, link);
        r->code = RD_ERROR;
        r->row = NULL;
        r->metadata.columns_count = 0;
    }
}

rd_code session_guarded(struct rd_session *s, rd_code (*work)(struct rd_session *, struct call *),
                        struct call *call)
{
    struct fail_scope scope;
    if (!s)
        return RD_MISUSE;
    if (s->is_broken)
        return RD_ERROR;
    fail_enter(&scope);
    if (setjmp(scope.jump)) {
        abandon(s, &scope.report);
        return RD_ERROR;
    }
    rd_code code = work(s, call);
    fail_leave(&scope);
    return code;
}

/* ---- one request ---- */

void session_await(struct rd_session *s, const struct rd_result *r)
{
    core_advance(&s->core);
    while (r->state != REQUEST_DONE)
        face_pump(s, true);
}

/* A request that has ended: its code, and itself when it is wanted and good. */
static rd_code hand_out(struct rd_session *s, struct rd_result *r, struct rd_result **out)
{
    rd_code code = r->code;
    if (out)
        *out = NULL;
    if (code != RD_OK) {
        session_complain(s, code, r->error);
        s->core.last_failure = r->failure;
    }
    if (code != RD_OK || !out) {
        request_free(r);
        return code;
    }
    list_remove(&r->link);
    list_add(&s->core.held, &r->link);
    *out = r;
    return code;
}

static struct rd_result *request_of(struct rd_session *s, enum opcode opcode, rd_consistency level)
{
    struct rd_result *r = request_new(&s->core, FOR_USER, opcode);
    r->params.consistency = (enum consistency)level;
    r->params.page_size = (int32_t)s->core.page_rows;
    r->params.flags = PARAM_PAGE_SIZE;
    return r;
}

static struct rd_result *query_start(struct rd_session *s, struct bytes text, rd_consistency level)
{
    struct rd_result *r = request_of(s, OPCODE_QUERY, level);
    r->text = arena_copy(&r->arena, text);
    request_start(r);
    return r;
}

static struct rd_result *bound_start(struct rd_session *s, struct rd_statement *st,
                                     rd_consistency level)
{
    struct rd_result *r = request_of(s, OPCODE_EXECUTE, level);
    r->statement = st;
    statement_values(st, &r->arena, &r->params);
    r->has_token = statement_token(st, &r->token);
    request_start(r);
    return r;
}

/* ---- connecting ---- */

static rd_code hosts_add(struct rd_session *s, const char *hosts)
{
    struct core *c = &s->core;
    hosts = hosts ? hosts : "127.0.0.1";
    while (*hosts) {
        size_t size = strcspn(hosts, ", ");
        char address[sizeof c->nodes[0]->address];
        if (size >= sizeof address)
            return session_complain(s, RD_MISUSE, "the name of a host is too long");
        memcpy(address, hosts, size);
        address[size] = 0;
        if (size && !core_node(c, address, c->port))
            return session_complain(s, RD_MISUSE, "too many hosts");
        hosts += size + (hosts[size] != 0);
    }
    return c->nodes_count ? RD_OK : session_complain(s, RD_MISUSE, "no host is named");
}

static bool is_sane(const rd_options *o)
{
    return (o->protocol == 0 || o->protocol == WIRE_V4 || o->protocol == WIRE_V5) &&
           o->connections <= CONNECTIONS_MAX && o->routing <= RD_PINNED;
}

/* The topology is known, or it cannot be. */
static rd_code connect_await(struct rd_session *s, uint64_t until_ms)
{
    struct core *c = &s->core;
    (void)topology_refresh(c);
    core_advance(c);
    while (!c->is_known) {
        if (!c->is_refreshing && c->refresh_code != RD_CLOSED)
            return session_complain(s, c->refresh_code, c->failure.text);
        if (c->now_ms >= until_ms)
            break;
        face_pump(s, true);
    }
    if (c->is_known)
        return RD_OK;
    return session_complain(s, RD_TIMED_OUT,
                            c->failure.text[0] ? c->failure.text : "no node answered in time");
}

static rd_code connect_work(struct rd_session *s, struct call *call)
{
    struct core *c = &s->core;
    const rd_options *o = call->options;
    rd_code code = hosts_add(s, o->hosts);
    if (code == RD_OK)
        code = connect_await(s, c->now_ms + c->connect_ms);
    if (code != RD_OK || !o->keyspace)
        return code;
    struct buf text = buf_in(&c->arena);
    buf_put_text(&text, "USE \"");
    for (const char *k = o->keyspace; *k; k++) {
        if (*k == '"')
            buf_put_u8(&text, '"');
        buf_put_u8(&text, (uint8_t)*k);
    }
    buf_put_u8(&text, '"');
    struct rd_result *r = query_start(s, buf_bytes(&text), RD_ONE);
    session_await(s, r);
    return hand_out(s, r, NULL);
}

static void session_free(struct rd_session *s)
{
    face_close(s);
    core_deinit(&s->core);
    mem_free(s);
}

/* NULL when there is no memory for it. */
static struct rd_session *session_new(const rd_options *o)
{
    struct fail_scope scope;
    fail_enter(&scope);
    if (setjmp(scope.jump))
        return NULL;
    struct rd_session *s = mem_zalloc(sizeof *s);
    core_init(&s->core, o, face_now_ms());
    fail_leave(&scope);
    return s;
}

rd_code rd_connect(const rd_options *options, rd_session **out, char *error_out, size_t error_bytes)
{
    static const rd_options none = { 0 };
    const rd_options *o = options ? options : &none;
    const char *sentence = "";
    rd_code code = RD_MISUSE;
    struct rd_session *s = NULL;
    if (!out || !is_sane(o)) {
        sentence = "protocol is 0, 4 or 5, connections at most 64, routing one of rd_routing";
    } else if (!(s = session_new(o))) {
        code = RD_ERROR;
        sentence = "no memory for a session";
    } else {
        code = session_guarded(s, connect_work, &(struct call){ .options = o });
        sentence = s->core.error;
    }
    if (error_out && error_bytes)
        snprintf(error_out, error_bytes, "%s", code == RD_OK ? "" : sentence);
    if (code != RD_OK && s) {
        session_free(s);
        s = NULL;
    }
    if (out)
        *out = s;
    return code;
}

void rd_close(rd_session *s)
{
    if (s)
        session_free(s);
}

/* ---- statements ---- */

/* A schema change of ours is known to our ring before the call returns. */
static void schema_await(struct rd_session *s)
{
    struct core *c = &s->core;
    uint64_t until_ms = c->now_ms + c->connect_ms;
    while ((c->is_refreshing || (c->is_stale && c->now_ms >= c->refresh_at_ms)) &&
           c->now_ms < until_ms)
        face_pump(s, true);
}

static rd_code query_work(struct rd_session *s, struct call *call)
{
    face_look(s);
    struct rd_result *r = query_start(s, call->text, call->consistency);
    session_await(s, r);
    if (r->code == RD_OK && r->kind == RESULT_SCHEMA)
        schema_await(s);
    return hand_out(s, r, call->result_out);
}

rd_code rd_query(rd_session *s, const char *cql, rd_consistency level, rd_result **out)
{
    if (out)
        *out = NULL;
    if (!cql)
        return RD_MISUSE;
    return session_guarded(
        s, query_work,
        &(struct call){ .text = bytes_text(cql), .consistency = level, .result_out = out });
}

static rd_code prepare_work(struct rd_session *s, struct call *call)
{
    face_look(s);
    struct rd_result *r = request_new(&s->core, FOR_DESCRIBE, OPCODE_PREPARE);
    struct rd_statement *st = r->statement = statement_new(&s->core, call->text);
    request_start(r);
    session_await(s, r);
    rd_code code = hand_out(s, r, NULL);
    *call->statement_out = code == RD_OK ? st : NULL;
    return code;
}

rd_code rd_prepare(rd_session *s, const char *cql, rd_statement **out)
{
    if (!cql || !out)
        return RD_MISUSE;
    *out = NULL;
    return session_guarded(s, prepare_work,
                           &(struct call){ .text = bytes_text(cql), .statement_out = out });
}

static rd_code bound_work(struct rd_session *s, struct call *call)
{
    if (call->statement->core != &s->core)
        return session_complain(s, RD_MISUSE, "the statement belongs to another session");
    face_look(s);
    struct rd_result *r = bound_start(s, call->statement, call->consistency);
    session_await(s, r);
    return hand_out(s, r, call->result_out);
}

rd_code rd_execute(rd_session *s, rd_statement *st, rd_consistency level, rd_result **out)
{
    if (out)
        *out = NULL;
    if (!st)
        return RD_MISUSE;
    return session_guarded(
        s, bound_work, &(struct call){ .statement = st, .consistency = level, .result_out = out });
}

static rd_code send_work(struct rd_session *s, struct call *call)
{
    if (call->statement->core != &s->core)
        return session_complain(s, RD_MISUSE, "the statement belongs to another session");
    face_look(s);
    struct rd_result *r = bound_start(s, call->statement, call->consistency);
    r->is_tagged = true;
    r->tag = call->tag;
    core_advance(&s->core);
    bool is_waiting = r->state == REQUEST_WAITING || r->state == REQUEST_PREPARING;
    if (is_waiting && r->on && r->on->assigned_count > LINK_STREAMS) {
        request_cancel(r);
        return session_complain(
            s, RD_LIMIT, "1024 statements are in flight on this connection: take some first");
    }
    s->core.tagged_count++;
    face_flush(s);
    return RD_OK;
}

rd_code rd_send(rd_session *s, rd_statement *st, rd_consistency level, uint64_t tag)
{
    if (!st)
        return RD_MISUSE;
    return session_guarded(s, send_work,
                           &(struct call){ .statement = st, .consistency = level, .tag = tag });
}

static rd_code take_work(struct rd_session *s, struct call *call)
{
    struct core *c = &s->core;
    if (!c->tagged_count)
        return session_complain(s, RD_MISUSE, "nothing is in flight");
    while (list_empty(&c->done))
        face_pump(s, true);
    struct rd_result *r = owner_of(c->done.next, struct rd_result, link);
    c->tagged_count--;
    if (call->tag_out)
        *call->tag_out = r->tag;
    return hand_out(s, r, call->result_out);
}

rd_code rd_take(rd_session *s, uint64_t *tag, rd_result **out)
{
    if (out)
        *out = NULL;
    return session_guarded(s, take_work, &(struct call){ .tag_out = tag, .result_out = out });
}

/* ---- the session ---- */

const char *rd_error(const rd_session *s) { return s ? s->core.error : "there is no session"; }

rd_failure rd_last_failure(const rd_session *s)
{
    return s ? s->core.last_failure : (rd_failure){ 0 };
}

void rd_page_size(rd_session *s, uint32_t rows)
{
    if (s)
        s->core.page_rows = rows && rows <= INT32_MAX ? rows : PAGE_ROWS;
}

size_t rd_in_flight(const rd_session *s) { return s ? s->core.tagged_count : 0; }

static void node_tell(const struct node *n, rd_node *out)
{
    *out = (rd_node){ .port = n->port, .is_up = n->is_up, .sent = n->sent_count };
    _Static_assert(sizeof out->address == sizeof n->address, "the same room");
    memcpy(out->address, n->address, sizeof out->address);
    memcpy(out->data_center, n->data_center, sizeof out->data_center);
    memcpy(out->rack, n->rack, sizeof out->rack);
    uuid_print(&n->host_id, out->host_id);
}

size_t rd_nodes(const rd_session *s, rd_node *out, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; s && i < s->core.nodes_count; i++) {
        if (!s->core.nodes[i]->is_listed)
            continue;
        if (count < room)
            node_tell(s->core.nodes[i], &out[count]);
        count++;
    }
    return count;
}

double rd_replica_share(const rd_session *s)
{
    if (!s || !s->core.routed_count)
        return 0;
    return (double)s->core.at_replica_count / (double)s->core.routed_count;
}
