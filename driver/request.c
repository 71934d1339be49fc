/* request.c - one request, from the caller's statement to its answer.
 *
 *     spare ─> waiting ──────────────> sent ─> done ─> spare
 *                ^  │  \─> preparing     │       │
 *                │  └────────┘           │       └─> waiting (the next page)
 *                └── unprepared ─────────┘
 *
 * Waiting ends when the chosen link is ready, uses the right keyspace, has a stream, and its node
 * knows the statement.  Each of these is looked at anew at every step, so a step too many is
 * harmless.
 *
 * Invariants.  1. What was sent is never sent again, except after Unprepared, which says that
 * nothing was done, and except PREPARE, which changes nothing.  2. A node that a request tried is
 * not tried again by it.  3. A request that waits has chosen a link only together with a node that
 * it has not tried.
 */
// SPDX-License-Identifier: Apache-2.0
#include "driver/core.h"

#define TO(state) (1u << REQUEST_##state)

static const struct {
    const char *name;
    unsigned to;
} request_states[] = {
#define X(state, text, next) [REQUEST_##state] = { text, next },
    REQUEST_STATE_LIST(X)
#undef X
};

static void request_move(struct rd_result *r, enum request_state to)
{
    ensure(request_states[r->state].to & (1u << to));
    r->state = to;
}

/* ---- life ---- */

struct rd_result *request_new(struct core *c, enum request_purpose purpose, enum opcode opcode)
{
    struct rd_result *r;
    if (list_empty(&c->spare)) {
        r = arena_new(&c->arena, struct rd_result);
        list_init(&r->link);
    } else {
        r = owner_of(c->spare.next, struct rd_result, link);
        list_remove(&r->link);
    }
    struct rd_result fresh = { .core = c, .purpose = purpose, .opcode = opcode };
    fresh.arena = r->arena, fresh.page = r->page, fresh.texts = r->texts;
    fresh.params = (struct query_params){ .consistency = CL_ONE, .serial = CL_SERIAL };
    *r = fresh;
    list_init(&r->link);
    list_add(&c->held, &r->link); /* where core_deinit finds it */
    return r;
}

void request_free(struct rd_result *r)
{
    ensure(r->state == REQUEST_DONE || r->state == REQUEST_SPARE);
    if (r->state == REQUEST_DONE)
        request_move(r, REQUEST_SPARE);
    arena_reset(&r->arena);
    arena_reset(&r->page);
    arena_reset(&r->texts);
    list_remove(&r->link);
    list_add(&r->core->spare, &r->link);
}

/* Into a list that is ordered by deadline: usually at its end. */
static void add_by_deadline(struct list *head, struct rd_result *r)
{
    struct list *at = head;
    while (at->prev != head &&
           owner_of(at->prev, struct rd_result, link)->deadline_ms > r->deadline_ms)
        at = at->prev;
    list_remove(&r->link);
    list_add(at, &r->link);
}

static bool is_callers(const struct rd_result *r)
{
    return r->purpose == FOR_USER || r->purpose == FOR_DESCRIBE;
}

void request_assign(struct rd_result *r, struct link *on)
{
    if (r->on)
        r->on->assigned_count--;
    r->on = on;
    if (on)
        on->assigned_count++;
}

void request_start(struct rd_result *r)
{
    struct core *c = r->core;
    struct link *pinned = r->is_pinned ? r->on : NULL;
    request_move(r, REQUEST_WAITING);
    r->on = NULL;
    request_assign(r, pinned);
    r->code = RD_OK;
    r->error[0] = 0;
    r->is_repaired = false;
    memset(r->tried, 0, sizeof r->tried);
    r->deadline_ms = c->now_ms + (is_callers(r) ? c->timeout_ms : c->connect_ms);
    add_by_deadline(&c->waiting, r);
}

void request_end(struct rd_result *r, rd_code code, const char *sentence)
{
    struct core *c = r->core;
    request_move(r, REQUEST_DONE);
    r->code = code;
    snprintf(r->error, sizeof r->error, "%s", sentence);
    if (r->on)
        r->on->assigned_count--; /* `on` stays: the next page prefers it, reactions need it */
    list_remove(&r->link);
    list_add(!is_callers(r) ? &c->ended : r->is_tagged ? &c->done : &c->held, &r->link);
}

/* ---- where to ---- */

/* This node is not it: the next step chooses another. */
static void elsewhere(struct rd_result *r)
{
    const struct node *n = r->on->node;
    r->tried[n->at / 64] |= (uint64_t)1 << n->at % 64;
    request_assign(r, NULL);
    if (r->state != REQUEST_WAITING)
        request_move(r, REQUEST_WAITING);
    add_by_deadline(&r->core->waiting, r);
}

static void end_without_host(struct rd_result *r)
{
    struct core *c = r->core;
    char sentence[sizeof r->error];
    size_t tried = 0;
    for (size_t i = 0; i < c->nodes_count; i++)
        tried += route_has_tried(r, c->nodes[i]);
    if (tried > 1)
        snprintf(sentence, sizeof sentence, "none of %zu nodes can be used; the last one: %.300s",
                 tried, c->failure.text);
    else
        snprintf(sentence, sizeof sentence, "%s",
                 c->failure.text[0] ? c->failure.text : "no node is known");
    rd_code code = c->failure.err == ERR_CREDENTIALS ? RD_CREDENTIALS : RD_NO_HOST;
    request_end(r, code, sentence);
}

/* ---- sending ---- */

static void use_start(struct core *c, struct link *l)
{
    struct rd_result *r = request_new(c, FOR_USE, OPCODE_QUERY);
    struct buf b = buf_in(&r->arena);
    buf_put_text(&b, "USE \"");
    for (size_t i = 0; i < c->keyspace.size; i++) {
        if (c->keyspace.data[i] == '"')
            buf_put_u8(&b, '"');
        buf_put_u8(&b, c->keyspace.data[i]);
    }
    buf_put_u8(&b, '"');
    r->text = buf_bytes(&b);
    r->tag = c->keyspace_epoch;
    r->on = l;
    r->is_pinned = true;
    l->is_using = true;
    request_start(r);
}

static void prepare_start(struct rd_statement *st, struct link *l)
{
    struct rd_result *r = request_new(st->core, FOR_PREPARE, OPCODE_PREPARE);
    r->statement = st;
    r->on = l;
    r->is_pinned = true;
    statement_on(st, l->node)->state = PREPARED_UNDER_WAY;
    request_start(r);
}

static void encode_execute(struct rd_result *r, struct buf *b)
{
    struct rd_statement *st = r->statement;
    struct request_execute e = { .id = statement_on(st, r->on->node)->id, .params = r->params };
    r->metadata = st->rows;
    if (r->on->version >= WIRE_V5) {
        e.metadata_id = st->metadata_id;
        if (st->rows.columns_count)
            e.params.flags |= PARAM_SKIP_METADATA;
    }
    request_execute_encode(b, r->on->version, &e);
}

static void encode(struct rd_result *r)
{
    uint8_t version = r->on->version;
    struct buf *b = link_begin(r->on, r->opcode, r);
    if (r->opcode == OPCODE_EXECUTE) {
        encode_execute(r, b);
    } else if (r->opcode == OPCODE_QUERY) {
        struct request_query q = { r->text, r->params };
        request_query_encode(b, version, &q);
    } else if (r->opcode == OPCODE_PREPARE) {
        struct request_prepare p = { .text = r->statement->text };
        request_prepare_encode(b, version, &p);
    } else {
        ensure(r->opcode == OPCODE_REGISTER);
        request_register_encode(b, &(struct request_register){ true, true, true });
    }
    link_end(r->on);
}

/* For rd_replica_share: did it reach a replica of its key? */
static void count_routed(struct rd_result *r)
{
    struct core *c = r->core;
    if (r->params.paging_state.size)
        return; /* counted with its first page */
    r->on->node->sent_count++;
    if (!r->has_token)
        return;
    struct node *replicas[NODES_MAX];
    size_t count = route_replicas(r, replicas);
    c->routed_count++;
    for (size_t i = 0; i < count; i++)
        c->at_replica_count += replicas[i] == r->on->node;
}

/* Its link is ready.  False: it has to wait for something else. */
static bool send_now(struct rd_result *r)
{
    struct core *c = r->core;
    struct link *l = r->on;
    if (is_callers(r) && l->keyspace_epoch != c->keyspace_epoch) {
        if (l->is_using)
            return false;
        use_start(c, l);
        return true;
    }
    if (!link_has_stream(l))
        return false;
    if (r->opcode == OPCODE_EXECUTE) {
        struct prepared_on *on = statement_on(r->statement, l->node);
        if (on->state == PREPARED_NOT)
            prepare_start(r->statement, l);
        if (on->state != PREPARED_DONE) {
            request_move(r, REQUEST_PREPARING);
            return true;
        }
    }
    encode(r);
    request_move(r, REQUEST_SENT);
    add_by_deadline(&c->sent, r);
    if (r->purpose == FOR_USER)
        count_routed(r);
    return true;
}

void request_next_page(struct rd_result *r)
{
    struct bytes state = r->metadata.paging_state;
    ensure(state.size > 0);
    if (r->paging_room < state.size) {
        r->paging_room = u64_max(state.size, 2 * r->paging_room);
        r->paging = arena_alloc(&r->arena, r->paging_room);
    }
    memcpy(r->paging, state.data, state.size); /* the page that it is in goes away */
    r->params.paging_state = bytes_of(r->paging, state.size);
    r->params.flags |= PARAM_PAGING_STATE;
    r->is_tagged = false;
    request_start(r);
}

void request_cancel(struct rd_result *r)
{
    ensure(r->state != REQUEST_SENT);
    if (r->state != REQUEST_DONE)
        request_end(r, RD_LIMIT, "");
    request_free(r);
}

bool request_step(struct rd_result *r)
{
    struct core *c = r->core;
    ensure(r->state == REQUEST_WAITING);
    if (!r->on && !route_choose(r)) {
        end_without_host(r);
        return true;
    }
    struct link *l = r->on;
    if (l->state == LINK_READY)
        return send_now(r);
    if (l->state != LINK_IDLE)
        return false;
    /* It was lost before; chosen all the same, so there was nothing better. */
    link_dial(l, c->version, c->wants_lz4, c->now_ms, c->connect_ms);
    return true;
}

/* ---- answers ---- */

static void failure_take(struct rd_result *r, const struct answer_error *e)
{
    r->failure = (rd_failure){ e->required, e->alive, e->received, (rd_consistency)e->consistency };
    char text[sizeof r->error];
    snprintf(text, sizeof text, "%.*s", (int)u64_min(e->message.size, sizeof text - 1),
             e->message.size ? (const char *)e->message.data : "");
    uint32_t code = (uint32_t)e->code; /* whatever a server sends */
    request_end(r, code <= UINT16_MAX ? (rd_code)(RD_SERVER + code) : RD_SERVER, text);
}

static enum err error_answered(struct rd_result *r, struct cursor body, uint8_t version)
{
    struct answer_error e;
    if (answer_error_decode(body, version, &e) != OK)
        return ERR_PROTOCOL;
    bool is_unprepared = e.code == WIRE_ERROR_UNPREPARED && r->opcode == OPCODE_EXECUTE;
    if (!is_unprepared || r->is_repaired) {
        failure_take(r, &e);
        return OK;
    }
    r->is_repaired = true;
    struct prepared_on *on = statement_on(r->statement, r->on->node);
    if (on->state == PREPARED_DONE)
        on->state = PREPARED_NOT;
    request_move(r, REQUEST_WAITING);
    add_by_deadline(&r->core->waiting, r);
    return OK;
}

/* What an answer to the caller's statement means for the session. */
static void session_follows(struct rd_result *r)
{
    struct core *c = r->core;
    if (r->kind == RESULT_KEYSPACE) {
        c->keyspace = arena_copy(&c->arena, r->keyspace);
        r->on->keyspace_epoch = ++c->keyspace_epoch;
    } else if (r->kind == RESULT_SCHEMA) {
        c->is_stale = true;
    }
}

static enum err result_answered(struct rd_result *r, struct cursor body, uint8_t version)
{
    if (r->opcode == OPCODE_PREPARE) {
        enum err err = statement_prepared(r->statement, r->on->node, body, version);
        if (err == ERR_PROTOCOL)
            return err;
        if (err)
            request_end(r, RD_INVALID,
                        "the statement's parameters have changed on the server: prepare it again");
        else
            request_end(r, RD_OK, "");
        return OK;
    }
    enum err err = result_open(r, body, version);
    if (err)
        return err;
    if (r->purpose == FOR_USER)
        session_follows(r);
    request_end(r, RD_OK, "");
    return OK;
}

enum err request_answered(struct rd_result *r, const struct wire_envelope *e)
{
    struct cursor body;
    enum err err = wire_prefix(e, &body, NULL, NULL);
    if (!err && e->opcode == OPCODE_ERROR) {
        err = error_answered(r, body, e->version);
    } else if (!err && r->opcode == OPCODE_REGISTER && e->opcode == OPCODE_READY) {
        r->on->is_registered = true;
        request_end(r, RD_OK, "");
    } else if (!err && r->opcode != OPCODE_REGISTER && e->opcode == OPCODE_RESULT) {
        err = result_answered(r, body, e->version);
    } else {
        err = ERR_PROTOCOL;
    }
    return err;
}

/* ---- when something else ends it ---- */

void request_lost(struct rd_result *r, const struct report *report)
{
    char sentence[sizeof r->error];
    bool is_harmless = r->state != REQUEST_SENT || r->purpose == FOR_DESCRIBE;
    if (is_harmless && !r->is_pinned) {
        elsewhere(r);
        return;
    }
    snprintf(sentence, sizeof sentence, "%.300s%s", report->text,
             r->purpose == FOR_USER ? "; the statement was sent: a write may have been applied"
                                    : "");
    request_end(r, RD_CLOSED, sentence);
}

void request_expire(struct rd_result *r)
{
    char sentence[sizeof r->error];
    const char *address = r->on ? r->on->node->address : "any node";
    if (r->state == REQUEST_SENT) {
        link_orphan(r->on, r);
        snprintf(sentence, sizeof sentence,
                 "%s did not answer within %u ms: a write may have been applied", address,
                 r->core->timeout_ms);
    } else {
        snprintf(sentence, sizeof sentence,
                 "no connection to %s within %u ms: the statement was not sent", address,
                 r->core->timeout_ms);
    }
    request_end(r, RD_TIMED_OUT, sentence);
}

/* A statement is prepared on a node now, or is not: who waits for that goes on. */
static void prepare_react(struct rd_result *p)
{
    struct core *c = p->core;
    struct prepared_on *on = statement_on(p->statement, p->on->node);
    if (p->code != RD_OK)
        on->state = PREPARED_NOT;
    list_each(at, &c->waiting)
    {
        struct rd_result *r = owner_of(at, struct rd_result, link);
        if (r->state != REQUEST_PREPARING || r->statement != p->statement ||
            r->on->node != p->on->node)
            continue;
        bool is_servers = p->code >= RD_SERVER;
        if (is_servers)
            request_end(r, p->code, p->error);
        else
            request_move(r, REQUEST_WAITING);
    }
}

/* The keyspace cannot be used: neither can the link by those who wait for it. */
static void use_react(struct rd_result *u)
{
    struct core *c = u->core;
    struct link *l = u->on;
    l->is_using = false;
    if (u->code == RD_OK) {
        l->keyspace_epoch = (unsigned)u->tag;
        return;
    }
    list_each(at, &c->waiting)
    {
        struct rd_result *r = owner_of(at, struct rd_result, link);
        if (is_callers(r) && r->on == l && u->code >= RD_SERVER)
            request_end(r, u->code, u->error);
    }
}

void request_react(struct rd_result *r)
{
    if (r->purpose == FOR_PREPARE)
        prepare_react(r);
    else if (r->purpose == FOR_USE)
        use_react(r);
    else
        ensure(r->purpose == FOR_REGISTER);
}
