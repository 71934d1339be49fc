/* link.c - one connection: opened, agreed on, used, shut.
 *
 *     idle ─> dial ─> dialling ─> options ─> startup ─> ready ─> shut ─> idle
 *                \________\__________\__________\_________________^
 *
 * OPTIONS comes first, since its answer says whether LZ4 is there, and since a server that does not
 * speak our version says so at once; falling back takes a new connection, which is core.c's
 * business.  The answer to STARTUP is outside of v5's frames, everything after it is inside.
 *
 * Invariants: 1. A stream is in `free` or its slot is taken.  2. A slot is freed only by an answer
 * or with the whole link, so a late answer meets its own slot and not another request's.  3. What a
 * server may send at the wrong time is news (LINK_REFUSED), never a broken invariant.
 */
// SPDX-License-Identifier: Apache-2.0
#include "driver/link.h"

#define TO(state) (1u << LINK_##state)

/* So long that a connection over any distance is made within it (a round trip for TCP and two for
 * OPTIONS and STARTUP, the longest some 100 ms each); so short that a request which then goes to
 * another node is not given up by whoever waits for it. */
enum { LATE_MS = 300 };

static const struct {
    const char *name;
    unsigned to;
} link_states[] = {
#define X(state, text, next) [LINK_##state] = { text, next },
    LINK_STATE_LIST(X)
#undef X
};

const char *link_state_name(enum link_state state) { return link_states[state].name; }

static void link_move(struct link *l, enum link_state to)
{
    ensure(link_states[l->state].to & (1u << to));
    l->state = to;
}

/* ---- life ---- */

static void wires_init(struct link *l)
{
    wire_in_init(&l->in, false, ANSWER_BYTES_MAX);
    for (int i = 0; i < 2; i++)
        wire_out_init(&l->out[i], false, l->version);
    l->sending = 0;
    l->sent_bytes = 0;
}

static void slots_init(struct link *l)
{
    memset(l->slots, 0, LINK_STREAMS * sizeof *l->slots);
    for (size_t i = 0; i < LINK_STREAMS; i++)
        l->free[i] = (uint16_t)(LINK_STREAMS - 1 - i); /* stream 0 is taken first */
    l->free_count = LINK_STREAMS;
    l->orphans_count = 0;
}

void link_init(struct link *l, struct node *node, struct arena *arena)
{
    *l = (struct link){ .node = node };
    l->slots = arena_array(arena, struct slot, LINK_STREAMS);
    l->free = arena_array(arena, uint16_t, LINK_STREAMS);
    slots_init(l);
    wires_init(l);
}

void link_deinit(struct link *l)
{
    wire_in_deinit(&l->in);
    for (int i = 0; i < 2; i++)
        wire_out_deinit(&l->out[i]);
}

void link_dial(struct link *l, uint8_t version, bool wants_lz4, uint64_t now_ms, uint64_t within_ms)
{
    link_move(l, LINK_DIAL);
    l->version = version;
    l->wants_lz4 = wants_lz4;
    l->deadline_ms = now_ms + within_ms;
    l->late_ms = now_ms + u64_min(within_ms, LATE_MS);
    wires_init(l);
}

void link_dialling(struct link *l) { link_move(l, LINK_DIALLING); }

void link_opened(struct link *l)
{
    link_move(l, LINK_OPTIONS);
    link_begin(l, OPCODE_OPTIONS, NULL);
    link_end(l);
}

void link_shut(struct link *l)
{
    link_move(l, LINK_SHUT);
    link_deinit(l);
    wires_init(l);
    slots_init(l);
    l->keyspace_epoch = 0;
    l->is_using = l->is_registered = false;
}

void link_closed(struct link *l) { link_move(l, LINK_IDLE); }

/* ---- requests ---- */

static struct wire_out *written(struct link *l) { return &l->out[1 - l->sending]; }

bool link_has_stream(const struct link *l) { return l->free_count > 0; }

struct buf *link_begin(struct link *l, enum opcode opcode, struct rd_result *request)
{
    ensure(l->free_count > 0);
    ensure(l->state == LINK_READY || !request);
    uint16_t stream = l->free[--l->free_count];
    ensure(!l->slots[stream].is_taken);
    l->slots[stream] = (struct slot){ request, true };
    return wire_begin(written(l), 0, (int16_t)stream, opcode);
}

void link_end(struct link *l) { wire_end(written(l)); }

void link_orphan(struct link *l, const struct rd_result *request)
{
    for (size_t i = 0; i < LINK_STREAMS; i++) {
        if (l->slots[i].request == request) {
            l->slots[i].request = NULL;
            l->orphans_count++;
        }
    }
}

/* The request that waits on a stream; false when nothing was asked on it. */
static bool slot_free(struct link *l, int16_t stream, struct rd_result **request)
{
    if (stream < 0 || stream >= LINK_STREAMS || !l->slots[stream].is_taken)
        return false;
    *request = l->slots[stream].request;
    if (!*request && l->orphans_count)
        l->orphans_count--;
    l->slots[stream] = (struct slot){ NULL, false };
    l->free[l->free_count++] = (uint16_t)stream;
    return true;
}

/* ---- bytes ---- */

uint8_t *link_room(struct link *l, size_t *room) { return wire_in_room(&l->in, room); }

void link_fed(struct link *l, size_t n) { wire_in_fed(&l->in, n); }

struct bytes link_bytes(struct link *l)
{
    struct bytes all = wire_out_bytes(&l->out[l->sending]);
    if (!all.size) {
        l->sending = 1 - l->sending;
        all = wire_out_bytes(&l->out[l->sending]);
    }
    if (!all.size)
        return all;
    return bytes_of(all.data + l->sent_bytes, all.size - l->sent_bytes);
}

void link_sent(struct link *l, size_t n)
{
    struct bytes left = link_bytes(l);
    ensure(n <= left.size);
    l->sent_bytes += n;
    if (n < left.size)
        return;
    wire_out_sent(&l->out[l->sending]);
    l->sent_bytes = 0;
}

/* ---- the way to READY ---- */

static void refused(struct link_news *out, const char *what, struct bytes detail)
{
    out->kind = LINK_REFUSED;
    (void)report_set(&out->report, ERR_PROTOCOL, "%s%.*s", what, (int)u64_min(detail.size, 250),
                     detail.size ? (const char *)detail.data : "");
}

static bool contains(struct bytes text, const char *what)
{
    size_t size = strlen(what);
    for (size_t i = 0; i + size <= text.size; i++)
        if (!memcmp(text.data + i, what, size))
            return true;
    return false;
}

/* ERROR before READY: another version, or no. */
static void startup_error(struct link *l, struct cursor body, struct link_news *out)
{
    struct answer_error e;
    if (answer_error_decode(body, out->envelope.version, &e) != OK) {
        refused(out, "an ERROR came whose body cannot be read", (struct bytes){ 0 });
        return;
    }
    refused(out, "the server refuses the connection: ", e.message);
    bool is_version =
        e.code == WIRE_ERROR_PROTOCOL && (contains(e.message, "unsupported protocol version") ||
                                          contains(e.message, "Beta version of the protocol"));
    if (is_version || out->envelope.version != l->version)
        out->kind = LINK_DOWNGRADE;
    else if (e.code == WIRE_ERROR_CREDENTIALS)
        out->report.err = ERR_CREDENTIALS;
}

static bool lists_lz4(struct cursor body)
{
    struct cursor values;
    if (answer_supported_find(body, "COMPRESSION", &values) != OK)
        return false;
    size_t count = cursor_be16(&values);
    for (size_t i = 0; i < count && !values.bad; i++)
        if (bytes_equal(wire_string(&values), bytes_text("lz4")))
            return true;
    return false;
}

static void startup_send(struct link *l, struct cursor supported)
{
    l->wants_lz4 = l->wants_lz4 && lists_lz4(supported);
    struct string_pair options[] = {
        { bytes_text("CQL_VERSION"), bytes_text("3.0.0") },
        { bytes_text("DRIVER_NAME"), bytes_text("librondo") },
        { bytes_text("DRIVER_VERSION"), bytes_text(RONDO_VERSION) },
        { bytes_text("COMPRESSION"), bytes_text("lz4") },
    };
    struct request_startup s = { array_count(options) - !l->wants_lz4, options };
    request_startup_encode(link_begin(l, OPCODE_STARTUP, NULL), &s);
    link_end(l);
    link_move(l, LINK_STARTUP);
}

static void agreed(struct link *l, struct link_news *out)
{
    link_move(l, LINK_READY);
    out->kind = LINK_IS_READY;
    l->in.is_lz4 = l->out[0].is_lz4 = l->out[1].is_lz4 = l->wants_lz4;
    if (l->version < WIRE_V5)
        return;
    wire_in_framed(&l->in);
    wire_out_framed(&l->out[0]);
    wire_out_framed(&l->out[1]);
}

static void startup_answered(struct link *l, struct cursor body, struct link_news *out)
{
    uint8_t opcode = out->envelope.opcode;
    struct rd_result *nobody;
    if (!slot_free(l, out->envelope.stream, &nobody) || link_bytes(l).size) {
        /* A version mismatch is answered on stream 0, which is the one that we asked on. */
        refused(out, "an answer came to what was not asked", (struct bytes){ 0 });
    } else if (opcode == OPCODE_ERROR) {
        startup_error(l, body, out);
    } else if (out->envelope.version != l->version) {
        refused(out, "the server answers in another version of the protocol", (struct bytes){ 0 });
    } else if (l->state == LINK_OPTIONS && opcode == OPCODE_SUPPORTED) {
        startup_send(l, body);
    } else if (l->state == LINK_STARTUP && opcode == OPCODE_READY) {
        agreed(l, out);
    } else if (opcode == OPCODE_AUTHENTICATE) {
        refused(out, "the server asks for a user and a password, which this client cannot give yet",
                (struct bytes){ 0 });
        out->report.err = ERR_CREDENTIALS;
    } else {
        refused(out, "an unexpected answer to STARTUP: ", bytes_text(opcode_name(opcode)));
    }
}

/* ---- news ---- */

static void answered(struct link *l, struct link_news *out)
{
    const struct wire_envelope *e = &out->envelope;
    out->kind = e->stream < 0 ? LINK_EVENT : LINK_ANSWERED;
    if (e->version != l->version)
        refused(out, "the server answers in another version of the protocol", (struct bytes){ 0 });
    else if (e->stream < 0 && e->opcode != OPCODE_EVENT)
        refused(out, "an answer came on a stream of events: ", bytes_text(opcode_name(e->opcode)));
    else if (e->stream >= 0 && !slot_free(l, e->stream, &out->request))
        refused(out, "an answer came to what was not asked", (struct bytes){ 0 });
}

/* One envelope, or none: then false. */
static bool envelope_next(struct link *l, struct link_news *out)
{
    enum wire_verdict verdict = wire_in_next(&l->in, &out->envelope, &out->report);
    if (verdict == WIRE_MORE)
        return false;
    if (verdict != WIRE_ENVELOPE)
        out->kind = LINK_REFUSED; /* what a server may not send is not gone on from */
    else if (l->state == LINK_READY)
        answered(l, out);
    else
        out->kind = LINK_NOTHING;
    return true;
}

void link_next(struct link *l, struct link_news *out)
{
    *out = (struct link_news){ .kind = LINK_NOTHING };
    while (out->kind == LINK_NOTHING && l->state >= LINK_OPTIONS && l->state <= LINK_READY) {
        if (!envelope_next(l, out))
            return;
        if (l->state == LINK_READY || out->kind != LINK_NOTHING)
            continue;
        struct cursor body;
        if (wire_prefix(&out->envelope, &body, NULL, NULL) == OK)
            startup_answered(l, body, out);
        else
            refused(out, "an answer's warnings or payload cannot be read", (struct bytes){ 0 });
    }
}
