/* session.c - one client connection: bytes in, envelopes taken apart, answers out.
 *
 *     ┌───────── turn ◄──────────────┐   received something, sent everything, a request has ended
 *     │  take envelopes, answer,     │
 *     │  send what is there, receive │
 *     └──────────────┬───────────────┘
 *                    └──> drain ──> ended     the client hung up, broke the protocol, or we stop
 *
 * There is one receive and at most one send under way.  Answers are written to one buffer while the
 * other is being sent, so a connection is written once a turn, however many answers there are.
 * When too many requests wait or too much is unsent, nothing more is taken and so nothing more is
 * received: the client feels it in its own socket.  So it is when the shard has no room for more
 * requests: to tell each that it comes too early (Overloaded) costs about as much as to do what it
 * asks, and clients ask again.  The request that found none is postponed, in the bytes that were
 * received, and its connection paused; those that are go on in their order.  So it is with a large
 * frame, for as long as request_timeout.  Who rather wants to be told says so (STARTUP's
 * THROW_ON_OVERLOAD).  What is answered at once holds nothing, and waits on a paused connection
 * alone.
 *
 * Invariants: 1. an envelope is answered exactly once, unless the connection is gone.  2. bytes are
 * reserved in the shard's budget before a large frame is read.  3. the session is released after
 * all its requests have ended.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/session.h"

#include "base/mem.h"
#include "node/life.h"

enum { TURN, DRAIN };
static const uint64_t startup_patience_ns = 20ull * 1000 * 1000 * 1000;
static const char outcome_key[] = "rondo.outcome";
static const uint64_t share_ns = 200000; /* of a turn, for one client that has much to ask */

static struct op_next session_turn(struct op *);
static struct op_next session_drain(struct op *);
static void session_release(struct op *);

static const struct op_state session_states[] = {
    [TURN] = { "turn", session_turn, TO(TURN) | TO(DRAIN) },
    [DRAIN] = { "drain", session_drain, TO(DRAIN) },
};

static struct session *session_of(struct op *op) { return owner_of(op, struct session, op); }

void session_start(struct shard *shard, struct io_socket *taken)
{
    struct session *s = mem_zalloc(sizeof *s);
    s->shard = shard;
    s->socket = taken;
    io_peer(shard->io, taken, &s->peer);
    uint32_t bytes_max = (uint32_t)shard->config->native_transport_max_frame_size_bytes;
    wire_in_init(&s->in, true, bytes_max);
    s->in.errors_max = (unsigned)shard->config->consecutive_message_errors_threshold;
    wire_out_init(&s->out[0], true, WIRE_V5);
    wire_out_init(&s->out[1], true, WIRE_V5);
    list_add(&shard->sessions, &s->link);
    list_init(&s->pause);
    s->wants_errors =
        shard->config->native_transport_throw_on_overload == CONFIG_THROW_ON_OVERLOAD_TRUE;
    shard->counts.connections++;
    shard->counts.connections_total++;
    op_start(&s->op, io_ops(shard->io), NULL, session_states, session_release);
    io_sleep(shard->io, &s->patience, &s->op, startup_patience_ns);
}

/* ---- answers ---- */

void session_answer_body(struct session *s, int16_t stream, struct bytes body, struct bytes warning,
                         struct bytes told)
{
    s->answer_bytes = u64_max(body.size, s->answer_bytes - s->answer_bytes / 8);
    struct buf *out = wire_begin(session_out(s), 0, stream, OPCODE_RESULT);
    if (told.size)
        wire_pay(session_out(s), outcome_key, told);
    if (warning.size)
        wire_warn(session_out(s), warning);
    buf_put_bytes(out, body);
    wire_end(session_out(s));
}

/* Why a replica failed, as clients are told (facts 2.6). */
static uint16_t reason_code(enum err err)
{
    if (err == ERR_TIMEOUT)
        return REASON_TIMEOUT;
    if (err == ERR_BEHIND)
        return REASON_INCOMPATIBLE_SCHEMA;
    bool is_gone = err == ERR_CLOSED || err == ERR_REFUSED || err == ERR_UNREACHABLE;
    return is_gone ? REASON_NODE_DOWN : REASON_UNKNOWN;
}

/* The reason map of version 5: one for each replica that failed.  How many there are. */
static size_t failure_reasons(const struct session *s, const struct coordinator_outcome *o,
                              struct answer_reason out[REPLICAS_MAX])
{
    const struct ring *ring = cluster_ring(s->shard->cluster);
    size_t count = 0;
    for (size_t i = 0; i < o->failed && i < REPLICAS_MAX; i++) {
        const struct coordinator_failure *f = &o->failures[i];
        if (f->node == 0 || f->node > ring->nodes_count)
            continue;
        const struct io_addr *addr = &ring->nodes[f->node - 1].internode;
        out[count++] = (struct answer_reason){ bytes_of(addr->ip, addr->family == 6 ? 16 : 4),
                                               reason_code(f->err) };
    }
    return count;
}

void session_answer_failure(struct session *s, int16_t stream, const struct failure *f)
{
    struct answer_reason reasons[REPLICAS_MAX];
    uint8_t version = session_out(s)->version;
    const struct coordinator_outcome *o = &f->outcome;
    struct answer_error e = { .code = wire_error_code(f->report.err),
                              .message = bytes_text(f->report.text),
                              .consistency = f->consistency,
                              .required = (int32_t)o->required,
                              .alive = (int32_t)o->alive,
                              .received = (int32_t)o->received,
                              .failures = (int32_t)o->failed,
                              .has_data = o->has_data,
                              .write_type = bytes_text(f->write_type ? f->write_type : "SIMPLE"),
                              .keyspace = f->keyspace,
                              .table = f->table,
                              .id = f->id };
    ensure(f->report.err != OK);
    s->shard->counts.errors++;
    if (version >= WIRE_V5 && o->failed) {
        e.failures = (int32_t)failure_reasons(s, o, reasons);
        e.reasons = reasons;
    }
    struct buf *out = wire_begin(session_out(s), 0, stream, OPCODE_ERROR);
    if (f->told.size)
        wire_pay(session_out(s), outcome_key, f->told);
    answer_error_encode(out, version, &e);
    wire_end(session_out(s));
}

void session_answer_report(struct session *s, int16_t stream, const struct report *report)
{
    struct failure f = { .report = *report };
    session_answer_failure(s, stream, &f);
}

/* ---- taking ---- */

/* What is unsent may take an even share of what connections may. */
static uint64_t session_out_max(const struct session *s)
{
    const struct shard *shard = s->shard;
    uint64_t share = shard->plan.connections_bytes / u64_max(1, shard->counts.connections);
    return u64_max(SESSION_OUT_BYTES_MIN, u64_min(share, SESSION_OUT_BYTES_MAX));
}

bool session_is_full(const struct session *s)
{
    return s->out[0].raw.size + s->out[1].raw.size >= session_out_max(s);
}

/* Several may wait, as long as what they hold, and their answers if they are like those before,
 * stays within this connection's part. */
static bool session_may_take(const struct session *s)
{
    bool is_modest = s->held_bytes < s->shard->plan.requests_bytes / 2 &&
                     s->in_flight * s->answer_bytes < session_out_max(s);
    bool is_paused = !list_empty(&s->pause);
    return !is_paused && !s->is_closing && !s->is_switching &&
           s->in_flight < SESSION_IN_FLIGHT_MAX && (is_modest || s->in_flight == 0) &&
           !session_is_full(s);
}

/* Answers in the version that the client speaks; before it is known, in the newest. */
static void session_learn_version(struct session *s, const struct wire_envelope *e)
{
    uint8_t version = e->version == WIRE_V4 || e->version == WIRE_V5 ? e->version : WIRE_V5;
    if (!s->is_started)
        s->out[0].version = s->out[1].version = version;
}

/* Answers what could not be taken apart; true when the connection must end. */
static bool session_refuse(struct session *s, enum wire_verdict verdict,
                           const struct wire_envelope *e, const struct report *report)
{
    if (!s->is_started)
        s->out[0].version = s->out[1].version = e->version ? e->version : WIRE_V5;
    session_answer_report(s, e->stream, report);
    s->shard->counts.protocol_errors++;
    return verdict == WIRE_BROKEN;
}

/* Has this client had its share of the turn?  Asked only of those that send many at once. */
static bool session_has_had_its_share(const struct session *s, unsigned taken)
{
    return taken >= SESSION_BURST && io_spent(s->shard->io) > share_ns;
}

/* The next envelope; what cannot be taken apart is answered.  False: none is whole, or it is over.
 */
static bool session_next(struct session *s, struct wire_envelope *e)
{
    for (;;) {
        struct report report;
        report_clear(&report);
        enum wire_verdict verdict = wire_in_next(&s->in, e, &report);
        if (verdict == WIRE_MORE)
            return false;
        if (verdict == WIRE_ENVELOPE)
            break;
        s->is_closing = session_refuse(s, verdict, e, &report);
        if (!session_may_take(s))
            return false;
    }
    session_learn_version(s, e);
    s->requests_total++;
    s->shard->counts.requests++;
    return true;
}

/* Takes whole envelopes until there is none, too much is under way, or others have waited for long
 * enough.  Not while bytes are being received: they go straight into the buffer that this takes
 * apart, and nothing whole is in it. */
static void session_take(struct session *s)
{
    for (unsigned taken = 0; !s->recv.busy && session_may_take(s); taken++) {
        s->is_yielding |= session_has_had_its_share(s, taken);
        struct wire_envelope e = s->postponed;
        if (s->is_yielding || (!s->is_postponed && !session_next(s, &e)))
            return;
        s->is_postponed = false;
        request_handle(s, &e);
        if (s->is_postponed)
            return;
        s->shard->large_bytes -= s->large_bytes; /* the frame is in other hands */
        s->large_bytes = 0;
    }
}

/* ---- memory ---- */

bool session_has_room(const struct session *s, uint64_t held, uint64_t wanted)
{
    const struct shard *shard = s->shard;
    ensure(shard->request_bytes >= held && shard->large_bytes >= s->large_bytes);
    uint64_t others = shard->request_bytes - held;
    uint64_t frames = shard->large_bytes - s->large_bytes; /* ours is what the request came in */
    return others == 0 || others + frames + wanted <= shard->plan.requests_bytes;
}

/* Would a frame of so many bytes fit, if it is read now? */
static bool session_has_room_for_frame(const struct session *s, uint64_t announced)
{
    const struct shard *shard = s->shard;
    ensure(shard->large_bytes >= s->large_bytes);
    uint64_t others = shard->large_bytes - s->large_bytes + shard->request_bytes;
    return others + announced <= shard->plan.requests_bytes;
}

/* ---- pause: there is no room for what comes next ---- */

static bool session_may_go_on(const struct session *s)
{
    return s->is_postponed ? session_has_room(s, 0, s->wanted_bytes)
                           : session_has_room_for_frame(s, s->wanted_bytes);
}

/* False: nobody waits there, or its first has no room yet. */
static bool unpause_first(struct list *paused)
{
    if (list_empty(paused))
        return false;
    struct session *s = owner_of(paused->next, struct session, pause);
    if (!session_may_go_on(s))
        return false;
    list_remove(&s->pause);
    s->has_turn = true;
    op_wake(&s->op);
    return true;
}

/* Who is first goes on, where there is room; at the end of its turn the next is looked at.  Until
 * then nobody takes the room away from it.  Frames come behind all requests: one might wait for
 * what a slow client has reserved, and the others behind it. */
static void shard_unpause(struct shard *shard)
{
    if (!unpause_first(&shard->paused) && list_empty(&shard->paused))
        (void)unpause_first(&shard->paused_frames);
}

/* Who had its turn goes first again; as does who has read a large frame, since what others wait for
 * may be the room of that very frame. */
static bool session_goes_first(const struct session *s) { return s->has_turn || s->large_bytes; }

static void session_pause(struct session *s, uint64_t wanted)
{
    struct list *paused = s->is_postponed ? &s->shard->paused : &s->shard->paused_frames;
    ensure(list_empty(&s->pause));
    s->wanted_bytes = wanted;
    s->shard->counts.pauses++;
    list_add(session_goes_first(s) ? paused->next : paused, &s->pause);
}

/* Must its next request wait behind others that wait for room? */
static bool session_is_behind(const struct session *s)
{
    return !s->wants_errors && !session_goes_first(s) && !list_empty(&s->shard->paused);
}

void session_keep(struct session *s, uint64_t held, uint64_t kept)
{
    ensure(s->held_bytes >= held && s->shard->request_bytes >= held);
    s->held_bytes += kept - held;
    s->shard->request_bytes += kept - held;
    if (kept < held)
        shard_unpause(s->shard);
}

void session_word_full(struct report *report)
{
    snprintf(report->text, sizeof report->text,
             "too much is being worked on already: ask for less at once, or raise "
             "native_transport_max_request_data_in_flight");
}

bool session_hold(struct session *s, const struct wire_envelope *e, uint64_t bytes)
{
    struct report report = { .err = ERR_OVERLOADED };
    if (session_has_room(s, 0, bytes) && !session_is_behind(s)) {
        session_keep(s, 0, bytes);
        return true;
    }
    if (s->wants_errors) {
        session_word_full(&report);
        session_answer_report(s, e->stream, &report);
        s->shard->counts.overloaded++;
    } else {
        s->postponed = *e;
        s->is_postponed = true;
        session_pause(s, bytes);
    }
    return false;
}

static void session_refuse_frame(struct session *s, uint64_t announced)
{
    struct report report = { .err = ERR_OVERLOADED };
    snprintf(report.text, sizeof report.text,
             "a frame of %llu bytes does not fit into what is left for requests in flight",
             (unsigned long long)announced);
    session_answer_report(s, 0, &report);
    s->shard->counts.overloaded++;
    s->is_closing = true;
}

static void session_pause_frame(struct session *s, uint64_t wanted)
{
    struct io *io = s->shard->io;
    uint64_t limit_ns = s->shard->config->request_timeout_ns;
    if (!s->frame_until_ns) {
        s->frame_until_ns = io_now(io) + limit_ns;
        io_sleep(io, &s->frame_patience, &s->op, limit_ns);
    }
    session_pause(s, wanted);
}

static bool session_frame_is_late(const struct session *s)
{
    return s->frame_until_ns && io_now(s->shard->io) >= s->frame_until_ns;
}

/* A frame above 1 MiB reserves its length before its body is read.  False: it waits for its turn,
 * or it was refused, and the connection ends.  One that turns out to be larger than it looked, as
 * packed ones do, does not wait: two of them might wait for each other. */
static bool session_reserve(struct session *s)
{
    uint64_t announced = wire_in_announced(&s->in);
    uint64_t wanted = announced > SESSION_LARGE_BYTES ? announced : 0;
    struct shard *shard = s->shard;
    bool is_behind = session_is_behind(s) || (!s->has_turn && !list_empty(&shard->paused_frames));
    bool has_room = session_has_room_for_frame(s, wanted) && (!is_behind || s->wants_errors);
    if (wanted > s->large_bytes && !has_room) {
        bool is_in_vain = s->large_bytes || wanted > shard->plan.requests_bytes;
        if (s->wants_errors || is_in_vain || session_frame_is_late(s))
            session_refuse_frame(s, wanted);
        else
            session_pause_frame(s, wanted);
        return false;
    }
    shard->large_bytes += wanted - s->large_bytes;
    s->large_bytes = wanted;
    s->frame_until_ns = 0;
    io_cancel(shard->io, &s->frame_patience);
    return true;
}

static void session_flush(struct session *s)
{
    struct io *io = s->shard->io;
    if (s->send.busy || !s->socket)
        return;
    wire_out_sent(&s->out[1 - s->writing]);
    struct bytes bytes = wire_out_bytes(session_out(s));
    if (bytes.size) {
        io_send(io, &s->send, &s->op, s->socket, bytes.data, bytes.size);
        s->writing = 1 - s->writing;
        s->heard_ns = io_now(io);
    }
    if (s->is_switching) { /* what is being sent was not framed; all that follows is */
        s->is_switching = false;
        wire_in_framed(&s->in);
        s->out[0].is_framed = s->out[1].is_framed = true;
        op_wake(&s->op);
    }
}

static void session_receive(struct session *s)
{
    bool may = !s->recv.busy && !s->is_yielding && !s->is_postponed && session_may_take(s);
    if (!may || !session_reserve(s))
        return;
    size_t room = 0;
    uint8_t *to = wire_in_room(&s->in, &room);
    io_recv(s->shard->io, &s->recv, &s->op, s->socket, to, room);
}

/* Takes note of what has been received; false when the client is gone. */
static bool session_received(struct session *s)
{
    if (s->recv.busy || !s->recv.op)
        return true;
    bool is_good = s->recv.err == OK && s->recv.size > 0;
    if (is_good)
        wire_in_fed(&s->in, s->recv.size);
    s->heard_ns = io_now(s->shard->io);
    s->recv.op = NULL; /* noted */
    return is_good;
}

/* Has it been without a word for longer than native_transport_idle_timeout? */
static bool session_is_idle(struct session *s)
{
    uint64_t limit_ns = s->shard->config->native_transport_idle_timeout_ns;
    return s->is_watched && !s->patience.busy && s->in_flight == 0 && !s->send.busy &&
           io_now(s->shard->io) - s->heard_ns >= limit_ns;
}

/* The timer is for STARTUP first, and then, where it is limited, for the next word. */
static void session_watch(struct session *s)
{
    struct io *io = s->shard->io;
    uint64_t limit_ns = s->shard->config->native_transport_idle_timeout_ns;
    if (!s->is_started || (s->patience.busy && s->is_watched))
        return;
    if (s->patience.busy) {
        io_cancel(io, &s->patience);
    } else if (limit_ns) {
        uint64_t quiet_ns = io_now(io) - s->heard_ns;
        s->is_watched = true;
        io_sleep(io, &s->patience, &s->op, quiet_ns < limit_ns ? limit_ns - quiet_ns : limit_ns);
    }
}

/* Answers that found the output full may be written now. */
static void session_make_room(struct session *s)
{
    if (!s->is_awaited || session_is_full(s))
        return;
    s->is_awaited = false;
    list_each(l, &s->op.children) op_wake(owner_of(l, struct op, sibling));
}

static bool session_is_over(struct session *s)
{
    bool is_late = !s->is_started && !s->patience.busy;
    bool is_broken = !s->send.busy && s->send.err != OK;
    bool is_flushed =
        s->is_closing && !s->send.busy && s->in_flight == 0 && session_out(s)->raw.size == 0;
    return s->op.stop || is_late || is_broken || is_flushed || session_is_idle(s);
}

static struct op_next session_turn(struct op *op)
{
    struct session *s = session_of(op);
    if (!session_received(s) || session_is_over(s))
        return op_goto(DRAIN);
    if (session_frame_is_late(s))
        list_remove(&s->pause);
    s->is_yielding = false;
    session_take(s);
    session_flush(s);
    session_make_room(s);
    session_watch(s);
    session_take(s); /* after a switch there may be more already */
    session_flush(s);
    session_receive(s);
    session_flush(s); /* what a frame that finds no room is told */
    s->has_turn = false;
    shard_unpause(s->shard);
    if (session_is_over(s))
        return op_goto(DRAIN);
    return s->is_yielding ? op_yield(TURN) : op_wait(TURN);
}

static struct op_next session_drain(struct op *op)
{
    struct session *s = session_of(op);
    struct io *io = s->shard->io;
    list_remove(&s->pause);
    if (s->socket)
        io_hangup(io, &s->socket);
    io_cancel(io, &s->patience);
    io_cancel(io, &s->frame_patience);
    list_each(l, &op->children) op_stop(owner_of(l, struct op, sibling), ERR_STOPPED);
    return op->waiting ? op_wait(DRAIN) : op_end(op, OK);
}

static void session_release(struct op *op)
{
    struct session *s = session_of(op);
    ensure(s->in_flight == 0 && s->held_bytes == 0 && !s->socket);
    s->shard->large_bytes -= s->large_bytes;
    s->shard->counts.connections--;
    accept_note_gone(s->shard);
    list_remove(&s->link);
    shard_unpause(s->shard);
    wire_in_deinit(&s->in);
    wire_out_deinit(&s->out[0]);
    wire_out_deinit(&s->out[1]);
    mem_free(s);
}
