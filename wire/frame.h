/* frame.h - envelopes out of a byte stream and into one, for either side of a connection.
 *
 * wire_in: received bytes are put where wire_in_room says; wire_in_next gives whole envelopes until
 * it says WIRE_MORE.  It knows the v5 outer frames (after wire_in_framed), LZ4 of both kinds, CRCs,
 * and the limits; memory is at most one envelope (bytes_max) and one outer frame.
 *
 * wire_out: an answer is written between wire_begin and wire_end into one buffer; wire_out_bytes
 * gives what to send.  In v5 the envelopes of a turn share outer frames.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "wire/protocol.h"

struct wire_envelope {
    uint8_t version; /* without the direction bit */
    uint8_t flags;
    int16_t stream;
    uint8_t opcode;
    struct bytes body; /* decompressed; lasts until the next wire_in call; tracing, warnings and
                          payload prefixes still in it (see wire_prefix) */
};

struct wire_in {
    bool is_server;      /* expects requests */
    uint8_t version;     /* 0 until the first envelope has come */
    bool is_framed, is_lz4;
    uint32_t bytes_max;  /* of an envelope, header included */
    struct buf input;    /* received, not yet taken apart */
    size_t taken;        /* of input */
    struct buf inner;    /* v5: payloads of outer frames; LZ4: the unpacked body */
    size_t inner_taken;
    struct buf body;
    uint64_t skip_bytes; /* of an envelope that is too large: swallowed */
    unsigned errors_in_a_row;
};
enum wire_verdict {
    WIRE_MORE,     /* receive more */
    WIRE_ENVELOPE, /* *out is one */
    WIRE_REFUSED,  /* answer report on out->stream, then go on */
    WIRE_BROKEN,   /* answer report on out->stream, then close */
};
void wire_in_init(struct wire_in *, bool is_server, uint32_t bytes_max);
void wire_in_deinit(struct wire_in *);
/* Room for at least 1 byte, at the place where the next received bytes belong. */
uint8_t *wire_in_room(struct wire_in *, size_t *room);
void wire_in_fed(struct wire_in *, size_t n);
/* In v5, after STARTUP's answer: everything from here is in outer frames. */
void wire_in_framed(struct wire_in *);
/* `out->version` of a BROKEN version mismatch is the version to answer in (facts 1.2). */
enum wire_verdict wire_in_next(struct wire_in *, struct wire_envelope *out, struct report *);
/* Bytes of an envelope that has begun and not ended: its announced size is reserved against budgets
 * before its body is read. 0 when none is under way. */
uint32_t wire_in_announced(const struct wire_in *);

struct wire_out {
    bool is_server;
    uint8_t version;
    bool is_framed, is_lz4;
    struct buf raw;    /* envelopes as written */
    struct buf framed; /* v5: the same in outer frames; v4 with LZ4: compressed */
    size_t begun_at;   /* of the envelope being written */
    bool is_begun;
};
void wire_out_init(struct wire_out *, bool is_server, uint8_t version);
void wire_out_deinit(struct wire_out *);
/* Begins an envelope: its body is appended to the returned buffer (out->raw). */
struct buf *wire_begin(struct wire_out *, uint8_t flags, int16_t stream, enum opcode);
/* Ends it: the length is set; v4 bodies are compressed when that is agreed and shrinks them. */
void wire_end(struct wire_out *);
/* Forgets the envelope being written (an error takes its place). */
void wire_abandon(struct wire_out *);
/* Everything ended so far, ready to be sent, with outer frames in v5.  Borrowed until
 * wire_out_sent, which forgets it.  New envelopes may be begun only after wire_out_sent. */
struct bytes wire_out_bytes(struct wire_out *);
void wire_out_sent(struct wire_out *);

/* Takes the prefixes that flags announce off a body: tracing id (answers only), warnings, payload;
 * found warnings and payload are left unread in *warnings and *payload (may be NULL). */
enum err wire_prefix(const struct wire_envelope *, struct cursor *body, struct bytes *warnings,
                     struct bytes *payload);

/* Primitive notations (facts 2.2), on top of base/buf.h. */
void wire_put_string(struct buf *, struct bytes);       /* [string] */
void wire_put_long_string(struct buf *, struct bytes);  /* [long string] */
void wire_put_bytes(struct buf *, struct bytes);        /* [bytes] */
void wire_put_short_bytes(struct buf *, struct bytes);  /* [short bytes] */
void wire_put_null(struct buf *);                       /* [bytes] of length -1 */
struct bytes wire_string(struct cursor *);
struct bytes wire_long_string(struct cursor *);
struct bytes wire_short_bytes(struct cursor *);
struct value wire_value(struct cursor *); /* [value]: -1 null, -2 unset, below: bad */
