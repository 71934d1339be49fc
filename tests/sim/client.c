/* client.c - see client.h.
 *
 *     idle ──> connect ──> greet ──> ask ──> hear ──> idle
 *                 └──────────┴────────┴───────┴──> fail (hang up) ──> idle
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/client.h"

enum { IDLE, CONNECT, GREET, HEAR, FAIL };
static const uint64_t patience_ns = 15ull * 1000 * 1000 * 1000;

static struct op_next client_idle(struct op *);
static struct op_next client_connect(struct op *);
static struct op_next client_greet(struct op *);
static struct op_next client_hear(struct op *);
static struct op_next client_fail(struct op *);

static const struct op_state client_states[] = {
    [IDLE] = { "idle", client_idle, TO(IDLE) | TO(CONNECT) | TO(HEAR) | TO(FAIL) },
    [CONNECT] = { "connect", client_connect, TO(CONNECT) | TO(GREET) | TO(FAIL) },
    [GREET] = { "greet", client_greet, TO(GREET) | TO(HEAR) | TO(FAIL) },
    [HEAR] = { "hear", client_hear, TO(HEAR) | TO(IDLE) | TO(FAIL) },
    [FAIL] = { "fail", client_fail, TO(FAIL) | TO(IDLE) },
};

static struct client *client_of(struct op *op) { return owner_of(op, struct client, op); }

void client_start(struct client *c, struct io *io)
{
    *c = (struct client){ .io = io };
    arena_init(&c->arena, 64 << 10);
    op_start(&c->op, io_ops(io), NULL, client_states, NULL);
}

void client_ask(struct client *c, const struct io_addr *to, enum consistency consistency,
                const char *text)
{
    ensure(!c->busy);
    arena_reset(&c->arena);
    c->text = arena_text(&c->arena, bytes_text(text));
    c->to = *to;
    c->consistency = consistency;
    c->page_size = 0;
    c->batch.entries_count = 0;
    c->stream = (int16_t)(c->stream % INT16_MAX + 1);
    c->busy = true;
    c->said = SAID_UNKNOWN;
    io_sleep(c->io, &c->deadline, &c->op, patience_ns);
    op_wake(&c->op);
}

void client_ask_page(struct client *c, const struct io_addr *to, enum consistency consistency,
                     const char *text, int32_t page_size, struct bytes from)
{
    buf_clear(&c->from);
    buf_put_bytes(&c->from, from);
    client_ask(c, to, consistency, text);
    c->page_size = page_size;
}

void client_ask_batch(struct client *c, const struct io_addr *to, enum consistency consistency,
                      enum batch_kind kind, const char *const *texts, size_t count)
{
    client_ask(c, to, consistency, "");
    struct batch_entry *entries = arena_array(&c->arena, struct batch_entry, count);
    for (size_t i = 0; i < count; i++)
        entries[i].text_or_id = bytes_text(arena_text(&c->arena, bytes_text(texts[i])));
    c->batch = (struct request_batch){ kind, count, entries, .params.consistency = consistency };
}

void client_deinit(struct client *c)
{
    wire_in_deinit(&c->in);
    wire_out_deinit(&c->out);
    buf_deinit(&c->from);
    arena_deinit(&c->arena);
}

void client_leave(struct client *c)
{
    c->is_leaving = true;
    op_wake(&c->op);
}

bool client_gone(const struct client *c) { return !op_running(&c->op) && !c->op.waiting; }

/* ---- steps ---- */

static void client_send(struct client *c)
{
    struct bytes bytes = wire_out_bytes(&c->out);
    io_send(c->io, &c->send, &c->op, c->socket, bytes.data, bytes.size);
}

static void client_receive(struct client *c)
{
    size_t room = 0;
    uint8_t *to = wire_in_room(&c->in, &room);
    io_recv(c->io, &c->wait, &c->op, c->socket, to, room);
}

static struct op_next client_query(struct client *c)
{
    struct request_query q = { .text = bytes_text(c->text),
                               .params = { .consistency = c->consistency } };
    if (c->page_size) {
        q.params.flags = PARAM_PAGE_SIZE | (c->from.size ? PARAM_PAGING_STATE : 0);
        q.params.page_size = c->page_size;
        q.params.paging_state = buf_bytes(&c->from);
    }
    wire_out_sent(&c->out);
    if (c->batch.entries_count)
        request_batch_encode(wire_begin(&c->out, 0, c->stream, OPCODE_BATCH), WIRE_V4, &c->batch);
    else
        request_query_encode(wire_begin(&c->out, 0, c->stream, OPCODE_QUERY), WIRE_V4, &q);
    wire_end(&c->out);
    client_send(c);
    client_receive(c);
    return op_wait(HEAR);
}

static struct op_next client_idle(struct op *op)
{
    struct client *c = client_of(op);
    if (c->is_answered && !c->deadline.busy)
        c->is_answered = c->busy = false;
    if (c->is_answered)
        return op_wait(IDLE);
    if (c->is_leaving)
        return c->socket || c->deadline.busy ? op_goto(FAIL) : op_end(op, OK);
    if (!c->busy || c->send.busy || c->wait.busy)
        return op_wait(IDLE);
    if (c->socket && io_addr_equal(&c->to, &c->connected_to))
        return client_query(c);
    if (c->socket)
        return op_goto(FAIL);
    wire_in_deinit(&c->in); /* of the connection before */
    wire_out_deinit(&c->out);
    wire_in_init(&c->in, false, 16 << 20);
    wire_out_init(&c->out, false, WIRE_V4);
    io_connect(c->io, &c->wait, op, &c->to, NULL, &c->socket);
    return op_wait(CONNECT);
}

static bool client_is_late(const struct client *c) { return !c->deadline.busy; }

static struct op_next client_connect(struct op *op)
{
    static const struct string_pair options[] = { { { (const uint8_t *)"CQL_VERSION", 11 },
                                                    { (const uint8_t *)"3.4.7", 5 } } };
    struct client *c = client_of(op);
    if (c->wait.busy && !client_is_late(c))
        return op_wait(CONNECT);
    if (c->wait.busy || c->wait.err != OK)
        return op_goto(FAIL);
    c->connected_to = c->to;
    struct request_startup startup = { .options_count = 1,
                                       .options = (struct string_pair *)(uintptr_t)options };
    request_startup_encode(wire_begin(&c->out, 0, 0, OPCODE_STARTUP), &startup);
    wire_end(&c->out);
    client_send(c);
    client_receive(c);
    return op_wait(GREET);
}

/* OK and an envelope; ERR_WOULD_WAIT: receive more (started); else the connection is no good. */
static enum err client_next(struct client *c, struct wire_envelope *e)
{
    struct report report;
    if (c->wait.busy)
        return client_is_late(c) ? ERR_TIMEOUT : ERR_WOULD_WAIT;
    if (c->wait.err != OK || c->wait.size == 0)
        return ERR_CLOSED;
    wire_in_fed(&c->in, c->wait.size);
    enum wire_verdict verdict = wire_in_next(&c->in, e, &report);
    if (verdict == WIRE_MORE)
        client_receive(c);
    return verdict == WIRE_ENVELOPE ? OK : verdict == WIRE_MORE ? ERR_WOULD_WAIT : ERR_PROTOCOL;
}

static struct op_next client_greet(struct op *op)
{
    struct client *c = client_of(op);
    struct wire_envelope e;
    enum err err = client_next(c, &e);
    if (err == ERR_WOULD_WAIT || (err == OK && c->send.busy))
        return op_wait(GREET);
    if (err != OK || e.opcode != OPCODE_READY)
        return op_goto(FAIL);
    return client_query(c);
}

static struct op_next client_hear(struct op *op)
{
    struct client *c = client_of(op);
    struct wire_envelope e;
    enum err err = client_next(c, &e);
    if (err == ERR_WOULD_WAIT)
        return op_wait(HEAR);
    if (err != OK)
        return op_goto(FAIL);
    if (e.stream != c->stream) {
        c->strays++;
        client_receive(c);
        return op_wait(HEAR);
    }
    struct bytes body = arena_copy(&c->arena, e.body);
    if (e.opcode == OPCODE_ERROR) {
        err = answer_error_decode(cursor_of(body), WIRE_V4, &c->error);
        c->said = SAID_ERROR;
    } else {
        ensure(e.opcode == OPCODE_RESULT);
        err = answer_result_decode(cursor_of(body), WIRE_V4, &c->arena, &c->result);
        c->said = SAID_OK;
    }
    ensure(err == OK);
    io_cancel(c->io, &c->deadline);
    c->is_answered = true;
    return op_goto(IDLE);
}

static struct op_next client_fail(struct op *op)
{
    struct client *c = client_of(op);
    bool is_other_node =
        c->busy && !client_is_late(c) && c->socket && !io_addr_equal(&c->to, &c->connected_to);
    if (c->wait.busy)
        io_cancel(c->io, &c->wait);
    if (c->socket)
        io_hangup(c->io, &c->socket);
    if (is_other_node)
        return op_goto(IDLE); /* reconnects once the old requests have ended */
    if (c->deadline.busy)
        io_cancel(c->io, &c->deadline);
    if (op->waiting)
        return op_wait(FAIL);
    wire_in_deinit(&c->in);
    wire_out_deinit(&c->out);
    c->busy = false;
    return op_goto(IDLE);
}
