/* session.h - one client's connection, and the requests that it has under way.
 *
 * Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/shard.h"

enum {
    SESSION_IN_FLIGHT_MAX = 1024,     /* requests of one connection that wait */
    SESSION_OUT_BYTES_MAX = 4 << 20,  /* unsent answers past which nothing more is taken */
    SESSION_OUT_BYTES_MIN = 64 << 10, /* the same with very many connections */
    SESSION_LARGE_BYTES = 1 << 20,    /* a frame above it is reserved before it is read */
    SESSION_BURST = 4,                /* requests in a turn before others are thought of */
    REQUEST_ARENA_BYTES = 16 << 10,
};

struct session {
    struct op op;
    struct shard *shard;
    struct list link;
    struct list pause;              /* in shard->paused or paused_frames, or alone */
    struct wire_envelope postponed; /* while is_postponed: it finds no room, and lies in `in` */
    uint64_t wanted_bytes;          /* what a paused one waits for */
    struct io_socket *socket;
    struct io_addr peer;
    struct io_req recv, send, patience; /* patience: for STARTUP; then for the next word */
    struct io_req frame_patience;       /* for room for a large frame */
    uint64_t frame_until_ns;            /* it waits that long; 0: none waits */
    struct wire_in in;
    struct wire_out out[2]; /* one is written to while the other is being sent */
    unsigned writing;       /* which of them */
    uint64_t large_bytes;   /* reserved in shard->large_bytes */
    uint64_t held_bytes;    /* its part of shard->request_bytes */
    uint64_t heard_ns;      /* when something last came or went */
    size_t answer_bytes;    /* what an answer takes here of late */
    unsigned in_flight;     /* requests that wait */
    bool is_started;        /* STARTUP has been answered */
    bool is_switching;      /* the next thing is to send, then frames begin (v5) */
    bool is_closing;        /* nothing more is taken; close when all is sent */
    bool is_watched;        /* patience runs for the next word */
    bool is_awaited;        /* an answer waits for room in the output */
    bool is_yielding;       /* more is there to take, in the next turn */
    bool wants_errors;      /* rather be told Overloaded than not be read from */
    bool is_postponed;      /* a request that was taken waits for room */
    bool has_turn;          /* it was paused, and goes on before all that still are */
    bool wants_topology, wants_status, wants_schema;
    char keyspace[NAME_BYTES_MAX + 1];
    char driver_name[64], driver_version[64];
    uint64_t requests_total;
};

/* Takes the socket over.  Ends by itself; shard->sessions lists it. */
void session_start(struct shard *, struct io_socket *taken);
/* The answers that are being written now. */
static inline struct wire_out *session_out(struct session *s) { return &s->out[s->writing]; }
/* The keyspace that a request names (v5), or the one in use when it names none: "" is none.
 * ERR_INVALID: too long. */
enum err session_keyspace_of(const struct session *, struct bytes given,
                             char out[NAME_BYTES_MAX + 1], struct report *);

/* ---- memory: what requests under way take, within shard->plan.requests_bytes ---- */
/* Holds so many bytes for a request; false when there is no room: it will be handled again in its
 * turn, or the client was told. */
bool session_hold(struct session *, const struct wire_envelope *, uint64_t bytes);
/* Is there room for a request to go from these bytes to those?  One alone always has. */
bool session_has_room(const struct session *, uint64_t held, uint64_t wanted);
void session_keep(struct session *, uint64_t held, uint64_t kept); /* goes from these to those */
void session_word_full(struct report *);
/* Is more unsent than the client may leave unread? */
bool session_is_full(const struct session *);

/* ---- answers ---- */
void session_answer_report(struct session *, int16_t stream, const struct report *);
/* An error with all the fields that clients expect of it. */
struct failure {
    enum consistency consistency;
    struct coordinator_outcome outcome;
    const char *write_type;       /* "SIMPLE", ... for write errors */
    struct bytes keyspace, table; /* ERR_EXISTS of a schema change */
    struct bytes id;              /* ERR_UNPREPARED */
    struct bytes told;            /* what the payload `rondo.outcome` says; empty: no payload */
    struct report report;
};
/* None yet; what lies behind the end of the report's text is not written. */
static inline void failure_clear(struct failure *f)
{
    memset(f, 0, offsetof(struct failure, report));
    report_clear(&f->report);
}
void session_answer_failure(struct session *, int16_t stream, const struct failure *);
/* The sentence of an error that has none, from its numbers (word.c). */
void failure_word(const struct shard *, struct failure *);
/* What to warn of when a keyspace is made or altered: more replicas than nodes; empty: nothing. */
struct bytes factor_warning(const struct shard *, const struct keyspace *, struct arena *);
/* A RESULT whose body is already there; with a warning and with the payload `rondo.outcome`, unless
 * these are empty. */
void session_answer_body(struct session *, int16_t stream, struct bytes body, struct bytes warning,
                         struct bytes told);

/* ---- request.c: what to do with an envelope ---- */
void request_handle(struct session *, const struct wire_envelope *);

/* ---- statement.c: what has to wait ---- */
/* Copies the envelope and runs it as an op of the session. */
void statement_start(struct session *, const struct wire_envelope *);
/* Frees the idle ones of a shard that ends. */
void statement_free_idle(struct shard *);

/* One QUERY or EXECUTE, decoded and resolved, as request.c and statement.c both need it. */
struct statement {
    struct cql_plan *plan; /* one reference */
    struct query_params wire;
    struct cql_params params;
    enum level level;
    struct bytes metadata_id; /* v5 EXECUTE: what the client has */
    bool is_prepared;
    char keyspace[NAME_BYTES_MAX + 1]; /* in use for it */
};
/* Fills *st from a QUERY or EXECUTE envelope; everything decoded lives in the arena and borrows
 * from the envelope.  On an error *f is what to answer. */
enum err statement_open(struct session *, const struct wire_envelope *, struct arena *,
                        struct statement *st, struct failure *f);
void statement_close(struct statement *);
/* v5: the id to announce when the client's metadata is not the plan's; empty otherwise. */
struct bytes statement_new_metadata_id(const struct statement *, uint8_t version);
/* Past so many tombstones a page may end early, and the client is warned. */
static inline uint32_t statement_tombstones_max(const struct shard *s)
{
    return (uint32_t)s->config->tombstone_warn_threshold;
}
/* What to warn of after a SELECT has run, said in the log too now and then; empty: nothing. */
struct bytes statement_warning(struct shard *, const struct statement *, const struct cql_run *,
                               struct arena *);
/* Does reading this table never leave the node's own memory of itself? */
bool statement_is_virtual(const struct statement *);
/* One read of a statement, at once: OK, ERR_WOULD_WAIT, or an error. */
enum err statement_read_now(struct shard *, const struct statement *, const struct read *,
                            struct arena *, struct read_sink *, struct read_outcome *);
uint64_t statement_timeout_ns(const struct shard *, enum cql_kind, bool is_range);

/* ---- prepare.c: PREPARE, on every shard ---- */
void prepare_start(struct session *, const struct wire_envelope *);
/* Writes the body of the answer. */
void prepare_answer(struct buf *, uint8_t version, const struct prepared_entry *);

/* ---- batch.c ---- */
/* Decodes and binds a BATCH envelope into mutations, one a partition. */
enum err batch_bind(struct session *, const struct wire_envelope *, struct arena *,
                    struct cql_action *out, enum level *level, struct failure *f);

/* ---- events.c ---- */
void events_schema(struct shard *, const struct schema_event *);
void events_node(struct shard *, const struct io_addr *native, bool is_up);
