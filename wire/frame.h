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

/* Where the next envelope's bytes are. */
enum wire_source {
    WIRE_PLAIN,    /* in the input: no outer frames */
    WIRE_BETWEEN,  /* before an outer frame */
    WIRE_IN_PLACE, /* in the input: the payload of a self-contained frame */
    WIRE_UNPACKED, /* in inner: the same, it was compressed */
    WIRE_RUN,      /* in inner: pieces of one envelope from several frames */
};
struct wire_in {
    bool is_server;  /* expects requests */
    bool is_started; /* STARTUP has come: the version is fixed */
    bool is_framed;  /* set by wire_in_framed */
    bool is_lz4;     /* set by the owner when STARTUP agreed on it */
    uint8_t version; /* of the last envelope; 0 until the first has come */
    enum wire_source source;
    uint32_t bytes_max;    /* of an envelope, header included, compressed or not */
    struct buf input;      /* received, not yet taken apart */
    size_t taken;          /* of input */
    size_t unit_bytes;     /* of the envelope or outer frame at `taken` that is not all there */
    uint32_t payload_left; /* IN_PLACE */
    struct buf inner;      /* UNPACKED, RUN */
    size_t inner_taken;
    struct buf body;     /* v4: the unpacked body */
    uint64_t skip_bytes; /* of a refused envelope: swallowed */
    uint32_t announced_bytes;
    unsigned errors_in_a_row;
    unsigned errors_max; /* so many in a row are answered; one more ends the connection; 1 */
};
enum wire_verdict {
    WIRE_MORE,     /* receive more */
    WIRE_ENVELOPE, /* *out is one */
    WIRE_REFUSED,  /* answer report on out->stream, then go on */
    WIRE_BROKEN,   /* answer report on out->stream, then close */
};
void wire_in_init(struct wire_in *, bool is_server, uint32_t bytes_max);
void wire_in_deinit(struct wire_in *);
/* Room for at least 1 byte, at the place where the next received bytes belong.  The place holds
 * until wire_in_fed, also while wire_in_next is called.  Asked for after WIRE_MORE, so that memory
 * stays within one envelope and one outer frame. */
uint8_t *wire_in_room(struct wire_in *, size_t *room);
void wire_in_fed(struct wire_in *, size_t n);
/* In v5, after STARTUP: everything from here is in outer frames. */
void wire_in_framed(struct wire_in *);
/* `out->version` of a BROKEN version mismatch is the version to answer in (facts 1.2). */
enum wire_verdict wire_in_next(struct wire_in *, struct wire_envelope *out, struct report *);
/* Bytes that an envelope which has begun and not ended will take (when it is compressed, both forms
 * together): reserved against budgets before its body is read.  0 when none is under way. */
uint32_t wire_in_announced(const struct wire_in *);

struct wire_out {
    bool is_server;
    uint8_t version;
    bool is_framed;     /* set by wire_out_framed */
    bool is_lz4;        /* set by the owner when STARTUP agreed on it, after its answer */
    struct buf raw;     /* envelopes as written */
    size_t plain_bytes; /* of raw: written before the frames began */
    struct buf framed;  /* v5: raw in outer frames; v4: where bodies are compressed */
    size_t begun_at;    /* of the envelope being written */
    bool is_begun, is_rendered;
};
void wire_out_init(struct wire_out *, bool is_server, uint8_t version);
void wire_out_deinit(struct wire_out *);
/* In v5, after STARTUP's answer was ended (sent or not): what is begun from here goes in outer
 * frames. */
void wire_out_framed(struct wire_out *);
/* Begins an envelope: its body is appended to the returned buffer (out->raw).  Versions 1 and 2,
 * which are answered nothing but an error, get their short header. */
struct buf *wire_begin(struct wire_out *, uint8_t flags, int16_t stream, enum opcode);
/* Puts one warning before what its body is so far; once, and not in the versions without (1 to 3).
 */
void wire_warn(struct wire_out *, struct bytes text);
/* Puts a custom payload of one entry before the body, of which nothing has been written, nor a
 * warning. */
void wire_pay(struct wire_out *, const char *key, struct bytes value);
/* Ends it: the length is set; v4 bodies are compressed when that is agreed and shrinks them. */
void wire_end(struct wire_out *);
/* Forgets the envelope being written (an error takes its place). */
void wire_abandon(struct wire_out *);
/* Everything ended so far, ready to be sent, with outer frames in v5.  Borrowed until
 * wire_out_sent, which forgets it.  New envelopes may be begun only after wire_out_sent. */
struct bytes wire_out_bytes(struct wire_out *);
void wire_out_sent(struct wire_out *);

/* Takes the prefixes that flags announce off a body: tracing id (answers only), warnings, payload;
 * found warnings and payload are left unread in *warnings and *payload (may be NULL), empty when
 * there are none. */
enum err wire_prefix(const struct wire_envelope *, struct cursor *body, struct bytes *warnings,
                     struct bytes *payload);

/* Does a payload, as wire_prefix gives it, have an entry of that name? */
bool wire_payload_has(struct bytes payload, const char *key);

/* Primitive notations (facts 2.2), on top of base/buf.h. */
void wire_put_string(struct buf *, struct bytes);      /* [string] */
void wire_put_long_string(struct buf *, struct bytes); /* [long string] */
void wire_put_bytes(struct buf *, struct bytes);       /* [bytes] */
void wire_put_short_bytes(struct buf *, struct bytes); /* [short bytes] */
void wire_put_null(struct buf *);                      /* [bytes] of length -1 */
void wire_put_value(struct buf *, struct value);       /* [value] */
struct bytes wire_string(struct cursor *);
struct bytes wire_long_string(struct cursor *);
struct bytes wire_short_bytes(struct cursor *);
struct value wire_value(struct cursor *); /* [value]: -1 null, -2 unset, below: bad */
