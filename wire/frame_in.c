/* frame_in.c - a byte stream into envelopes.
 *
 *     input: [ taken | envelope or outer frame | ... | room ]
 *
 *     plain ────────────────────────────────────────────────> envelope, in place
 *     framed:  between ──> in place (self-contained) ────────> envelopes, in place
 *                     ├──> unpacked (self-contained, LZ4) ───> envelopes, in inner
 *                     └──> run (pieces of a large envelope) ─> envelope, in inner
 *
 * Where the next envelope comes from is one enum (wire_source).  An envelope is looked at as soon
 * as its bytes come: byte 0 alone can end the connection (a client of version 1 or 2 may never send
 * 9), 9 bytes can refuse it before its body is kept, and what is refused is swallowed as it
 * arrives.
 *
 * Invariants: 1. wire_in_next never moves the input, so the place of a receive under way holds.
 * 2. `taken` grows only past whole things: an envelope, a head, a frame.  3. inner and body hold at
 * most bytes_max; the input at most the larger of that and one outer frame, and a step.
 * 4. A buffer that had to grow goes back when it is empty.
 *
 * It does not judge bodies: request.h and answer.h do.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/lz4.h"
#include "wire/frame.h"
#include "wire/segment.h"

enum {
    INPUT_BYTES = 16 * 1024, /* the input's ordinary room: many small requests a turn */
    KEEP_BYTES = 64 * 1024,  /* a larger buffer is not kept once it is empty */
    STEP_BYTES = 4096,       /* less room than this at the end is made larger */
    LZ4_PREFIX_BYTES = 4,
    LZ4_RATIO_MAX = 255, /* no block unpacks to more than this times its size */
};

void wire_in_init(struct wire_in *in, bool is_server, uint32_t bytes_max)
{
    ensure(bytes_max > WIRE_HEADER_BYTES && bytes_max <= INT32_MAX);
    *in = (struct wire_in){ .is_server = is_server, .bytes_max = bytes_max, .errors_max = 1 };
}

void wire_in_deinit(struct wire_in *in)
{
    buf_deinit(&in->input);
    buf_deinit(&in->inner);
    buf_deinit(&in->body);
}

void wire_in_framed(struct wire_in *in)
{
    ensure(in->source == WIRE_PLAIN && !in->skip_bytes);
    in->is_framed = true;
    in->source = WIRE_BETWEEN;
}

uint32_t wire_in_announced(const struct wire_in *in) { return in->announced_bytes; }

/* ---- room ---- */

static void settle(struct buf *b)
{
    buf_clear(b);
    if (b->room > KEEP_BYTES)
        buf_deinit(b);
}

/* Exactly this room: buf_grow alone would double beyond the bound. */
static void room_set(struct buf *b, size_t room)
{
    struct buf fresh = buf_in(b->arena);
    buf_grow(&fresh, room);
    buf_put_bytes(&fresh, buf_bytes(b));
    buf_deinit(b);
    *b = fresh;
}

/* Room for `need` in all, doubling, but not above `most` unless that is needed. */
static void room_within(struct buf *b, size_t need, size_t most)
{
    if (b->room < need)
        room_set(b, u64_max(need, u64_min(b->room * 2, most)));
}

/* Moves what is not taken to the front; usually it is the beginning of one envelope. */
static void input_compact(struct wire_in *in)
{
    struct buf *b = &in->input;
    size_t left = b->size - in->taken;
    if (!left)
        settle(b);
    else if (in->taken && (b->room - b->size < STEP_BYTES || b->room > KEEP_BYTES))
        memmove(b->data, b->data + in->taken, left);
    else
        return;
    b->size = left;
    in->taken = 0;
    if (b->room > KEEP_BYTES && u64_max(left + STEP_BYTES, in->unit_bytes) <= KEEP_BYTES)
        room_set(b, KEEP_BYTES);
}

uint8_t *wire_in_room(struct wire_in *in, size_t *room)
{
    input_compact(in);
    struct buf *b = &in->input;
    size_t wanted = u64_max(INPUT_BYTES, in->taken + in->unit_bytes);
    if (b->room - b->size < STEP_BYTES)
        room_within(b, u64_max(INPUT_BYTES, u64_min(wanted, b->size + STEP_BYTES)), wanted);
    if (b->room == b->size)
        room_within(b, b->size + STEP_BYTES, b->size + STEP_BYTES);
    *room = b->room - b->size;
    ensure(*room > 0);
    return b->data + b->size;
}

void wire_in_fed(struct wire_in *in, size_t n)
{
    ensure(n <= in->input.room - in->input.size);
    in->input.size += n;
}

static struct bytes input_left(const struct wire_in *in)
{
    return bytes_of(in->input.data + in->taken, in->input.size - in->taken);
}

/* ---- one envelope's head ---- */

/* One error more: refused, or the end of the connection. */
static enum wire_verdict refuse(struct wire_in *in)
{
    return in->errors_in_a_row++ < in->errors_max ? WIRE_REFUSED : WIRE_BROKEN;
}

static void version_differs(const struct wire_in *in, uint8_t version, struct report *r)
{
    (void)report_set(r, ERR_PROTOCOL,
                     "Invalid message version. Got %u but previous messages on this connection had "
                     "version %u",
                     version, in->version);
}

/* Byte 0 of what a client sent.  WIRE_ENVELOPE: go on. */
static enum wire_verdict client_version_check(struct wire_in *in, uint8_t byte,
                                              struct wire_envelope *out, struct report *r)
{
    uint8_t version = byte & 0x7f;
    bool is_spoken = version == WIRE_V4 || version == WIRE_V5;
    if (is_spoken && (byte & 0x80)) {
        (void)report_set(r, ERR_PROTOCOL, "an answer came where a request belongs");
        return WIRE_BROKEN;
    }
    if (!is_spoken && !in->is_framed) {
        out->version = version == 1 || version == 2 ? version : WIRE_V5;
        (void)report_set(r, ERR_PROTOCOL,
                         "Invalid or unsupported protocol version (%u); supported versions are "
                         "(4/v4, 5/v5)",
                         version);
        return WIRE_BROKEN;
    }
    if (in->is_started && !in->is_framed && version != in->version) {
        version_differs(in, version, r);
        return WIRE_BROKEN;
    }
    return WIRE_ENVELOPE;
}

/* Byte 0 of what a server sent: any version with this header, since a server that does not speak
 * ours says so in its own. */
static enum wire_verdict server_version_check(uint8_t byte, struct report *r)
{
    uint8_t version = byte & 0x7f;
    if ((byte & 0x80) && version >= 3 && version <= 6)
        return WIRE_ENVELOPE;
    (void)report_set(r, ERR_PROTOCOL, "byte 0x%02x does not begin an answer of the CQL protocol",
                     byte);
    return WIRE_BROKEN;
}

/* The whole head is there and its length makes sense: may the envelope pass? */
static enum wire_verdict envelope_admit(struct wire_in *in, const struct wire_envelope *e,
                                        size_t total, struct report *r)
{
    if (total > in->bytes_max) {
        (void)report_set(r, ERR_INVALID,
                         "%s is too big: length %zu exceeds maximum allowed length %u",
                         in->is_server ? "Request" : "Answer", total, in->bytes_max);
        return WIRE_REFUSED;
    }
    if (!opcode_is_known(e->opcode) || opcode_is_request(e->opcode) != in->is_server) {
        (void)report_set(r, ERR_PROTOCOL, "opcode 0x%02x (%s) is not one that %s sends", e->opcode,
                         opcode_name(e->opcode), in->is_server ? "a client" : "a server");
        return refuse(in);
    }
    return WIRE_ENVELOPE;
}

/* Looks at an envelope's head at the beginning of `from`, taking nothing.  ENVELOPE: it may pass,
 * and it takes *total bytes.  REFUSED: *total bytes are to be swallowed. */
static enum wire_verdict head_look(struct wire_in *in, struct bytes from, size_t *total,
                                   struct wire_envelope *out, struct report *r)
{
    *total = 0;
    if (!from.size)
        return WIRE_MORE;
    enum wire_verdict first = in->is_server ? client_version_check(in, from.data[0], out, r)
                                            : server_version_check(from.data[0], r);
    if (first != WIRE_ENVELOPE || from.size < WIRE_HEADER_BYTES)
        return first == WIRE_BROKEN ? WIRE_BROKEN : WIRE_MORE;
    uint8_t version = from.data[0] & 0x7f;
    if (!in->is_framed) /* in frames the answer keeps to the connection's */
        out->version = version;
    out->flags = from.data[1];
    out->stream = (int16_t)get_be16(from.data + 2);
    out->opcode = from.data[4];
    uint32_t length = get_be32(from.data + 5);
    if (length > INT32_MAX) {
        (void)report_set(r, ERR_PROTOCOL, "a body cannot have the length %d", (int32_t)length);
        return WIRE_BROKEN;
    }
    *total = WIRE_HEADER_BYTES + (size_t)length;
    if (in->is_framed && version != in->version) {
        version_differs(in, version, r);
        return refuse(in);
    }
    return envelope_admit(in, out, *total, r);
}

/* ---- one envelope's body ---- */

/* v4's compressed body: a length, then one block. */
static enum wire_verdict body_unpack(struct wire_in *in, struct bytes *body, struct report *r)
{
    struct cursor c = cursor_of(*body);
    uint32_t size = cursor_be32(&c);
    struct bytes block = cursor_bytes(&c, cursor_left(&c));
    if (!c.bad && size > in->bytes_max - WIRE_HEADER_BYTES) {
        (void)report_set(r, ERR_INVALID,
                         "%s is too big: length %u exceeds maximum allowed length %u",
                         in->is_server ? "Request" : "Answer", size, in->bytes_max);
        return WIRE_REFUSED;
    }
    bool is_sane = in->is_lz4 && !c.bad && size / LZ4_RATIO_MAX <= block.size;
    if (is_sane && size) {
        room_within(&in->body, size, size);
        in->body.size = size;
        is_sane = lz4_unpack(block, in->body.data, size) == OK;
    }
    if (!is_sane) {
        (void)report_set(r, ERR_PROTOCOL, "a compressed body cannot be unpacked%s",
                         in->is_lz4 ? "" : ": no compression was agreed on in STARTUP");
        return refuse(in);
    }
    *body = buf_bytes(&in->body);
    return WIRE_ENVELOPE;
}

/* The envelope is all there and was taken. */
static enum wire_verdict body_open(struct wire_in *in, struct bytes body, struct wire_envelope *out,
                                   struct report *r)
{
    in->announced_bytes = 0;
    if (out->version < WIRE_V5 && (out->flags & WIRE_COMPRESSED)) {
        enum wire_verdict verdict = body_unpack(in, &body, r);
        if (verdict != WIRE_ENVELOPE)
            return verdict;
    }
    in->errors_in_a_row = 0;
    in->version = out->version;
    in->is_started |= in->is_server && out->opcode == OPCODE_STARTUP;
    out->body = body;
    return WIRE_ENVELOPE;
}

/* What a begun envelope will take, its unpacked form included once that is known. */
static uint32_t announce(const struct wire_in *in, struct bytes from, size_t total,
                         const struct wire_envelope *e)
{
    bool is_packed = e->version < WIRE_V5 && (e->flags & WIRE_COMPRESSED);
    uint32_t unpacked = 0;
    if (is_packed && from.size >= WIRE_HEADER_BYTES + LZ4_PREFIX_BYTES)
        unpacked = get_be32(from.data + WIRE_HEADER_BYTES);
    return (uint32_t)total + (unpacked <= in->bytes_max ? unpacked : 0);
}

/* ---- without outer frames ---- */

static enum wire_verdict plain_next(struct wire_in *in, struct wire_envelope *out, struct report *r)
{
    size_t skip = u64_min(in->skip_bytes, input_left(in).size);
    in->taken += skip;
    in->skip_bytes -= skip;
    in->unit_bytes = 0;
    if (in->skip_bytes)
        return WIRE_MORE;
    struct bytes from = input_left(in);
    size_t total;
    enum wire_verdict verdict = head_look(in, from, &total, out, r);
    if (verdict == WIRE_REFUSED)
        in->skip_bytes = total;
    if (verdict != WIRE_ENVELOPE)
        return verdict;
    if (from.size < total) {
        in->unit_bytes = total;
        in->announced_bytes = announce(in, from, total, out);
        return WIRE_MORE;
    }
    in->taken += total;
    return body_open(in, bytes_of(from.data + WIRE_HEADER_BYTES, total - WIRE_HEADER_BYTES), out,
                     r);
}

/* ---- in outer frames ---- */

static enum wire_verdict frame_broken(struct report *r, const char *what)
{
    (void)report_set(r, ERR_PROTOCOL, "%s", what);
    return WIRE_BROKEN;
}

static struct bytes payload_left(const struct wire_in *in)
{
    if (in->source == WIRE_IN_PLACE)
        return bytes_of(in->input.data + in->taken, in->payload_left);
    return bytes_of(in->inner.data + in->inner_taken, in->inner.size - in->inner_taken);
}

static void payload_take(struct wire_in *in, size_t bytes)
{
    if (in->source == WIRE_IN_PLACE)
        in->taken += bytes, in->payload_left -= (uint32_t)bytes;
    else
        in->inner_taken += bytes;
}

/* The next envelope of a self-contained frame; MORE, and the frame is done with, when none is left.
 */
static enum wire_verdict payload_next(struct wire_in *in, struct wire_envelope *out,
                                      struct report *r)
{
    struct bytes from = payload_left(in);
    if (!from.size) {
        in->taken += in->source == WIRE_IN_PLACE ? SEGMENT_TAIL_BYTES : 0;
        in->source = WIRE_BETWEEN;
        return WIRE_MORE;
    }
    size_t total;
    enum wire_verdict verdict = head_look(in, from, &total, out, r);
    if (verdict == WIRE_BROKEN)
        return verdict;
    if (verdict == WIRE_MORE || total > from.size)
        return frame_broken(r, "an envelope is cut off at the end of a self-contained frame");
    payload_take(in, total);
    if (verdict == WIRE_REFUSED)
        return verdict;
    return body_open(in, bytes_of(from.data + WIRE_HEADER_BYTES, total - WIRE_HEADER_BYTES), out,
                     r);
}

/* Appends a checked payload to inner, unpacked. */
static enum wire_verdict payload_put(struct wire_in *in, const struct segment *s,
                                     struct bytes payload, struct report *r)
{
    struct buf *b = &in->inner;
    size_t size = s->raw_bytes ? s->raw_bytes : s->wire_bytes;
    room_within(b, b->size + size, u64_max(b->size + size, in->announced_bytes));
    uint8_t *at = buf_take(b, size);
    if (!s->raw_bytes) {
        if (size)
            memcpy(at, payload.data, size);
    } else if (lz4_unpack(payload, at, size) != OK) {
        return frame_broken(r, "a compressed frame cannot be unpacked");
    }
    return WIRE_ENVELOPE;
}

/* A checked frame that is a piece of a large envelope. */
static enum wire_verdict run_add(struct wire_in *in, const struct segment *s, struct bytes payload,
                                 struct report *r)
{
    size_t size = s->raw_bytes ? s->raw_bytes : s->wire_bytes;
    in->source = WIRE_RUN;
    if (!in->skip_bytes)
        return payload_put(in, s, payload, r);
    if (size > in->skip_bytes)
        return frame_broken(r, "frames hold more than the envelope they are pieces of");
    in->skip_bytes -= size;
    if (!in->skip_bytes)
        in->source = WIRE_BETWEEN;
    return WIRE_ENVELOPE;
}

/* Is the envelope in pieces whole? */
static enum wire_verdict run_next(struct wire_in *in, struct wire_envelope *out, struct report *r)
{
    if (in->skip_bytes)
        return WIRE_MORE;
    struct bytes from = buf_bytes(&in->inner);
    size_t total;
    enum wire_verdict verdict = head_look(in, from, &total, out, r);
    if (verdict == WIRE_MORE || verdict == WIRE_BROKEN)
        return verdict;
    if (from.size > total)
        return frame_broken(r, "frames hold more than the envelope they are pieces of");
    in->source = from.size < total ? WIRE_RUN : WIRE_BETWEEN;
    if (verdict == WIRE_REFUSED) {
        in->skip_bytes = total - from.size;
        settle(&in->inner);
        return verdict;
    }
    if (from.size < total) {
        in->announced_bytes = (uint32_t)total;
        return WIRE_MORE;
    }
    return body_open(in, bytes_of(from.data + WIRE_HEADER_BYTES, total - WIRE_HEADER_BYTES), out,
                     r);
}

/* Takes one outer frame from the input.  ENVELOPE: one was taken; the source says what it was. */
static enum wire_verdict frame_take(struct wire_in *in, struct report *r)
{
    struct bytes from = input_left(in);
    struct segment s;
    size_t head = segment_head_bytes(in->is_lz4);
    in->unit_bytes = head;
    if (from.size < head)
        return WIRE_MORE;
    if (!segment_parse(from.data, in->is_lz4, &s))
        return frame_broken(r, "the checksum of a frame's head does not hold");
    size_t whole = head + s.wire_bytes + SEGMENT_TAIL_BYTES;
    in->unit_bytes = whole;
    if (from.size < whole)
        return WIRE_MORE;
    in->unit_bytes = 0;
    struct bytes payload = bytes_of(from.data + head, s.wire_bytes);
    if (!segment_holds(payload))
        return frame_broken(r, "the checksum of a frame's payload does not hold");
    if (s.is_self_contained && in->source == WIRE_RUN)
        return frame_broken(r, "a self-contained frame came between the pieces of an envelope");
    in->errors_in_a_row = 0;
    bool is_in_place = s.is_self_contained && !s.raw_bytes;
    in->taken += is_in_place ? head : whole;
    if (is_in_place) {
        in->source = WIRE_IN_PLACE;
        in->payload_left = s.wire_bytes;
        return WIRE_ENVELOPE;
    }
    if (!s.is_self_contained)
        return run_add(in, &s, payload, r);
    in->source = WIRE_UNPACKED;
    in->inner_taken = 0;
    return payload_put(in, &s, payload, r);
}

static enum wire_verdict framed_next(struct wire_in *in, struct wire_envelope *out,
                                     struct report *r)
{
    for (;;) {
        enum wire_verdict verdict = WIRE_MORE;
        if (in->source == WIRE_IN_PLACE || in->source == WIRE_UNPACKED)
            verdict = payload_next(in, out, r);
        else if (in->source == WIRE_RUN)
            verdict = run_next(in, out, r);
        if (verdict != WIRE_MORE)
            return verdict;
        if (in->source == WIRE_BETWEEN)
            settle(&in->inner);
        verdict = frame_take(in, r);
        if (verdict != WIRE_ENVELOPE)
            return verdict;
    }
}

enum wire_verdict wire_in_next(struct wire_in *in, struct wire_envelope *out, struct report *report)
{
    *out = (struct wire_envelope){ .version = in->version ? in->version : WIRE_V5 };
    settle(&in->body);
    return in->is_framed ? framed_next(in, out, report) : plain_next(in, out, report);
}
