/* link.h - one connection as a pure state machine: bytes in, news out; requests in, bytes out.
 *
 * The face moves bytes and sockets, core.c reacts to the news, request.c begins requests.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "wire/wire.h"

enum {
    LINK_STREAMS = 1024,       /* requests in flight on one connection */
    LINK_ORPHANS_MAX = 256,    /* timed out and never answered: the connection is given up */
    ANSWER_BYTES_MAX = 1 << 28 /* the protocol's own ceiling */
};

/* X(state, text, next states) */
#define LINK_STATE_LIST(X)                          \
    X(IDLE, "idle", TO(DIAL))                       \
    X(DIAL, "dial", TO(DIALLING) | TO(SHUT))        \
    X(DIALLING, "dialling", TO(OPTIONS) | TO(SHUT)) \
    X(OPTIONS, "options", TO(STARTUP) | TO(SHUT))   \
    X(STARTUP, "startup", TO(READY) | TO(SHUT))     \
    X(READY, "ready", TO(SHUT))                     \
    X(SHUT, "shut", TO(IDLE))
enum link_state {
#define X(state, text, to) LINK_##state,
    LINK_STATE_LIST(X)
#undef X
};

struct rd_result;
struct node;
struct socket; /* the face's */

struct link {
    struct node *node;
    enum link_state state;
    uint8_t version;
    bool wants_lz4;
    struct wire_in in;
    struct wire_out out[2]; /* one is being sent, the other written */
    unsigned sending;       /* which */
    size_t sent_bytes;      /* of it */
    struct slot {
        struct rd_result *request; /* NULL: nobody waits for the answer any more */
        bool is_taken;
    } * slots;      /* by stream */
    uint16_t *free; /* streams */
    size_t free_count;
    size_t orphans_count;
    size_t assigned_count;   /* requests that chose this link and have not ended */
    unsigned keyspace_epoch; /* core's, of the last USE here */
    bool is_using;           /* a USE is under way */
    bool is_registered;      /* for events */
    uint64_t deadline_ms;    /* of becoming READY */
    uint64_t late_ms;        /* from then on requests no longer wait for it, where others are */
    struct socket *socket;
};

enum link_news_kind {
    LINK_NOTHING,
    LINK_IS_READY,
    LINK_ANSWERED,  /* `request` (NULL: an orphan's late answer) by `envelope` */
    LINK_EVENT,     /* `envelope` */
    LINK_DOWNGRADE, /* the server does not speak this version; `report` is what it said */
    LINK_REFUSED,   /* the server does not let us in, or what came is not the protocol: `report` */
};
struct link_news {
    enum link_news_kind kind;
    struct rd_result *request;
    struct wire_envelope envelope; /* until the next link call */
    struct report report;
};

const char *link_state_name(enum link_state);
void link_init(struct link *, struct node *, struct arena *);
/* Gives back the buffers. */
void link_deinit(struct link *);

/* IDLE: asks the face for a socket; in so many ms it is to be READY. */
void link_dial(struct link *, uint8_t version, bool wants_lz4, uint64_t now_ms, uint64_t within_ms);
/* On the way from DIAL to READY. */
static inline bool link_is_opening(const struct link *l)
{
    return l->state == LINK_DIAL || l->state == LINK_DIALLING || l->state == LINK_OPTIONS ||
           l->state == LINK_STARTUP;
}
static inline bool link_is_late(const struct link *l, uint64_t now_ms)
{
    return link_is_opening(l) && now_ms >= l->late_ms;
}
/* DIAL: the face is at it.  DIALLING: it has one; OPTIONS goes out. */
void link_dialling(struct link *);
void link_opened(struct link *);
/* Any but IDLE and SHUT: the face is to close the socket and then to say link_closed.  Requests in
 * the slots are the caller's to end first. */
void link_shut(struct link *);
void link_closed(struct link *);

/* READY, and there is a free stream: begins an envelope, whose body goes to the returned buffer. */
struct buf *link_begin(struct link *, enum opcode, struct rd_result *);
void link_end(struct link *);
bool link_has_stream(const struct link *);
/* The request's answer, if it ever comes, is nobody's. */
void link_orphan(struct link *, const struct rd_result *);

/* Received bytes: put where link_room says, then told, then link_next until LINK_NOTHING. */
uint8_t *link_room(struct link *, size_t *room);
void link_fed(struct link *, size_t n);
void link_next(struct link *, struct link_news *out);
/* What is to be sent, borrowed until link_sent says how much of it was. */
struct bytes link_bytes(struct link *);
void link_sent(struct link *, size_t n);
