/* talk.c - see talk.h.
 *
 *     connect ──> (greeting) pump ──> over
 *                            pump: send what is there, receive unless deaf, take answers apart
 */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/talk.h"

enum { CONNECT, PUMP, OVER };
enum { STREAM_GREETING = 32000 };

static struct op_next talk_connect(struct op *);
static struct op_next talk_pump(struct op *);
static struct op_next talk_over(struct op *);

static const struct op_state talk_states[] = {
    [CONNECT] = { "connect", talk_connect, TO(CONNECT) | TO(PUMP) | TO(OVER) },
    [PUMP] = { "pump", talk_pump, TO(PUMP) | TO(OVER) },
    [OVER] = { "over", talk_over, TO(OVER) },
};

static struct talk *talk_of(struct op *op) { return owner_of(op, struct talk, op); }

static struct buf *talk_begin(struct talk *t, int16_t stream, enum opcode opcode)
{
    return wire_begin(&t->out[t->writing], 0, stream, opcode);
}

static void talk_end(struct talk *t)
{
    wire_end(&t->out[t->writing]);
    op_wake(&t->op);
}

void talk_open(struct talk *t, struct io *io, const struct io_addr *to, uint8_t version)
{
    *t = (struct talk){ .io = io, .to = *to, .version = version };
    wire_in_init(&t->in, false, 64 << 20);
    wire_out_init(&t->out[0], false, version);
    wire_out_init(&t->out[1], false, version);
    op_start(&t->op, io_ops(io), NULL, talk_states, NULL);
}

/* ---- what the test says ---- */

void talk_query(struct talk *t, int16_t stream, enum consistency consistency, const char *text)
{
    struct request_query q = { .text = bytes_text(text), .params.consistency = consistency };
    request_query_encode(talk_begin(t, stream, OPCODE_QUERY), t->version, &q);
    talk_end(t);
}

void talk_page(struct talk *t, int16_t stream, const char *text, int32_t page_size,
               struct bytes from)
{
    struct request_query q = { .text = bytes_text(text), .params.consistency = CL_QUORUM };
    q.params.flags = PARAM_PAGE_SIZE | (from.size ? PARAM_PAGING_STATE : 0);
    q.params.page_size = page_size;
    q.params.paging_state = from;
    request_query_encode(talk_begin(t, stream, OPCODE_QUERY), t->version, &q);
    talk_end(t);
}

void talk_prepare(struct talk *t, int16_t stream, const char *text, const char *keyspace)
{
    struct request_prepare p = { bytes_text(text), bytes_text(keyspace ? keyspace : "") };
    request_prepare_encode(talk_begin(t, stream, OPCODE_PREPARE), t->version, &p);
    talk_end(t);
}

void talk_execute(struct talk *t, int16_t stream, const struct request_execute *e)
{
    request_execute_encode(talk_begin(t, stream, OPCODE_EXECUTE), t->version, e);
    talk_end(t);
}

void talk_batch(struct talk *t, int16_t stream, const struct request_batch *b)
{
    request_batch_encode(talk_begin(t, stream, OPCODE_BATCH), t->version, b);
    talk_end(t);
}

void talk_register(struct talk *t)
{
    struct request_register wanted = { .topology = true, .status = true, .schema = true };
    request_register_encode(talk_begin(t, STREAM_GREETING, OPCODE_REGISTER), &wanted);
    talk_end(t);
}

void talk_nonsense(struct talk *t, int16_t stream)
{
    talk_begin(t, stream, OPCODE_READY);
    talk_end(t);
}

void talk_announce(struct talk *t, int16_t stream, uint32_t body_bytes)
{
    ensure(t->version == WIRE_V4);
    struct wire_out *out = &t->out[t->writing];
    talk_begin(t, stream, OPCODE_QUERY);
    wire_end(out);
    put_be32(out->raw.data + out->begun_at + 5, body_bytes);
    op_wake(&t->op);
}

void talk_listen(struct talk *t, bool is_deaf)
{
    t->is_deaf = is_deaf;
    op_wake(&t->op);
}

void talk_leave(struct talk *t)
{
    t->is_leaving = true;
    op_wake(&t->op);
}

bool talk_gone(const struct talk *t) { return !op_running(&t->op) && !t->op.waiting; }

void talk_deinit(struct talk *t)
{
    wire_in_deinit(&t->in);
    wire_out_deinit(&t->out[0]);
    wire_out_deinit(&t->out[1]);
    arena_deinit(&t->arena);
}

/* ---- steps ---- */

static struct op_next talk_connect(struct op *op)
{
    static const struct string_pair options[] = { { { (const uint8_t *)"CQL_VERSION", 11 },
                                                    { (const uint8_t *)"3.4.7", 5 } } };
    struct talk *t = talk_of(op);
    if (!t->connect.op)
        io_connect(t->io, &t->connect, op, &t->to, NULL, &t->socket);
    if (t->connect.busy && t->is_leaving)
        io_cancel(t->io, &t->connect);
    if (t->connect.busy)
        return op_wait(CONNECT);
    if (t->connect.err != OK)
        return op_goto(OVER);
    struct request_startup startup = { .options_count = 1,
                                       .options = (struct string_pair *)(uintptr_t)options };
    struct wire_out greeting;
    wire_out_init(&greeting, false, t->version);
    request_startup_encode(wire_begin(&greeting, 0, STREAM_GREETING, OPCODE_STARTUP), &startup);
    wire_end(&greeting);
    /* what the test has said meanwhile comes behind it */
    struct buf said = t->out[t->writing].raw;
    t->out[1 - t->writing].raw = greeting.raw;
    t->out[t->writing].raw = said;
    struct bytes bytes = wire_out_bytes(&t->out[1 - t->writing]);
    io_send(t->io, &t->send, op, t->socket, bytes.data, bytes.size);
    return op_goto(PUMP);
}

static void talk_note_event(struct talk *t, struct bytes body)
{
    struct cursor c = cursor_of(body);
    struct bytes kind = wire_string(&c), change = wire_string(&c);
    snprintf(t->event_text, sizeof t->event_text, "%.*s %.*s", (int)kind.size, kind.data,
             (int)change.size, change.data);
    t->events++;
}

static void talk_note(struct talk *t, const struct wire_envelope *e)
{
    enum err err = OK;
    if (e->opcode == OPCODE_EVENT) {
        talk_note_event(t, e->body);
        return;
    }
    if (e->opcode == OPCODE_READY) {
        bool is_first = !t->is_ready;
        t->is_ready = true;
        if (is_first && t->version == WIRE_V5) {
            wire_in_framed(&t->in);
            t->out[0].is_framed = t->out[1].is_framed = true;
        }
        return;
    }
    arena_reset(&t->arena);
    struct wire_envelope copy = *e;
    struct cursor body;
    copy.body = arena_copy(&t->arena, e->body);
    err = wire_prefix(&copy, &body, NULL, NULL);
    ensure(err == OK);
    t->stream = e->stream;
    t->opcode = e->opcode;
    t->answers++;
    if (e->opcode == OPCODE_ERROR) {
        err = answer_error_decode(body, t->version, &t->error);
        t->errors++;
        snprintf(t->error_text, sizeof t->error_text, "%.*s", (int)t->error.message.size,
                 t->error.message.data);
    } else if (e->opcode == OPCODE_RESULT) {
        err = answer_result_decode(body, t->version, &t->arena, &t->result);
    }
    ensure(err == OK);
}

static bool talk_hear(struct talk *t)
{
    struct wire_envelope e;
    struct report report;
    if (t->recv.busy || !t->recv.op)
        return true;
    t->recv.op = NULL;
    if (t->recv.err != OK || t->recv.size == 0)
        return false;
    t->heard_bytes += t->recv.size;
    wire_in_fed(&t->in, t->recv.size);
    enum wire_verdict verdict;
    while ((verdict = wire_in_next(&t->in, &e, &report)) == WIRE_ENVELOPE)
        talk_note(t, &e);
    ensure(verdict == WIRE_MORE);
    return true;
}

static struct op_next talk_pump(struct op *op)
{
    struct talk *t = talk_of(op);
    size_t room = 0;
    bool is_good = talk_hear(t) && (t->send.busy || t->send.err == OK);
    if (!is_good || t->is_leaving)
        return op_goto(OVER);
    if (!t->send.busy && t->is_ready) {
        wire_out_sent(&t->out[1 - t->writing]);
        struct bytes bytes = wire_out_bytes(&t->out[t->writing]);
        if (bytes.size) {
            io_send(t->io, &t->send, op, t->socket, bytes.data, bytes.size);
            t->writing = 1 - t->writing;
        }
    }
    if (!t->recv.busy && !t->is_deaf) {
        uint8_t *to = wire_in_room(&t->in, &room);
        io_recv(t->io, &t->recv, op, t->socket, to, room);
    }
    return op_wait(PUMP);
}

static struct op_next talk_over(struct op *op)
{
    struct talk *t = talk_of(op);
    t->is_over = true;
    if (t->socket)
        io_hangup(t->io, &t->socket);
    return op->waiting ? op_wait(OVER) : op_end(op, OK);
}
