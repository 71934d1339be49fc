/* core.h - the session without I/O: nodes, links, statements, requests.
 *
 *     face.c (sockets, clock) ──bytes, losses, now──> core.c ──news──> request.c
 *                             <──bytes, dials, wake time──
 *
 * In reading order: ring.h, link.h, this; ring.c, link.c, statement.c, request.c, route.c,
 * result.c, topology.c, core.c; then face.c and the public calls: calls.c, values.c.
 *
 * Ownership.  Everything lives in the session's arena (nodes, links, statements, the structs of
 * requests, which are used again) or in the arenas inside a request, which are reset with it; only
 * the buffers of links are heap memory, and core_deinit reaches them all.  So a call that breaks
 * off anywhere (base/fail/driver.h) leaves nothing behind that core_deinit does not find.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/list.h"
#include "driver/link.h"
#include "driver/ring.h"

enum {
    PAGE_ROWS = 5000,
    CORE_ERROR_BYTES = 512,
    BACK_OFF_MIN_MS = 100,
    BACK_OFF_MAX_MS = 10000,
};

/* ---- statements (statement.c) ---- */

enum prepared_state { PREPARED_NOT, PREPARED_UNDER_WAY, PREPARED_DONE };
struct prepared_on { /* one node */
    enum prepared_state state;
    struct bytes id;
};
struct parameter {
    enum value_state state;
    uint8_t *data;
    size_t size, room;
};
struct rd_statement {
    struct core *core;
    struct bytes text;
    bool is_described; /* what follows is known: it was prepared somewhere */
    size_t parameters_count;
    const struct answer_column *columns; /* of the parameters */
    struct parameter *parameters;
    size_t keys_count;
    const uint16_t *key_positions;
    struct bytes metadata_id; /* v5: of `rows` */
    struct answer_metadata rows;
    size_t on_count; /* nodes that `on` has room for */
    struct prepared_on *on;
};
struct rd_statement *statement_new(struct core *, struct bytes text);
/* What is known about it on a node. */
struct prepared_on *statement_on(struct rd_statement *, const struct node *);
/* An answer to PREPARE came from a node.  ERR_PROTOCOL: not such an answer; ERR_INVALID: its
 * parameters are no longer what the caller binds. */
enum err statement_prepared(struct rd_statement *, const struct node *, struct cursor body,
                            uint8_t version);
/* v5: rows came with new metadata. */
enum err statement_described(struct rd_statement *, struct cursor body, uint8_t version);
/* The public calls of the same names; a sentence for RD_MISUSE is in the core. */
rd_code statement_bind_null(struct rd_statement *, size_t at);
rd_code statement_bind_int(struct rd_statement *, size_t at, int64_t);
rd_code statement_bind_double(struct rd_statement *, size_t at, double);
rd_code statement_bind_text(struct rd_statement *, size_t at, struct bytes);
rd_code statement_bind_bytes(struct rd_statement *, size_t at, struct bytes);
rd_code statement_bind_parse(struct rd_statement *, size_t at, struct bytes);
int statement_position(const struct rd_statement *, const char *name);
bool statement_token(const struct rd_statement *, int64_t *out);
/* A copy of what is bound, for a request. */
void statement_values(const struct rd_statement *, struct arena *, struct query_params *out);

/* ---- requests (request.c), which are results once they are answered (result.c) ---- */

#define REQUEST_STATE_LIST(X)                                                \
    X(SPARE, "spare", TO(WAITING))                                           \
    X(WAITING, "waiting", TO(WAITING) | TO(PREPARING) | TO(SENT) | TO(DONE)) \
    X(PREPARING, "preparing", TO(WAITING) | TO(DONE))                        \
    X(SENT, "sent", TO(WAITING) | TO(DONE))                                  \
    X(DONE, "done", TO(SPARE) | TO(WAITING))
enum request_state {
#define X(state, text, to) REQUEST_##state,
    REQUEST_STATE_LIST(X)
#undef X
};
enum request_purpose {
    FOR_USER,
    FOR_DESCRIBE, /* PREPARE for the caller, on any node */
    FOR_PREPARE,  /* PREPARE on the node where a statement is to be executed */
    FOR_USE,      /* the keyspace on a link */
    FOR_LOCAL,    /* the refresh of topology.c, in order */
    FOR_PEERS,
    FOR_PEERS_OLD,
    FOR_KEYSPACES,
    FOR_REGISTER,
};
struct rd_result {
    struct list link; /* of one of the core's lists */
    struct core *core;
    enum request_state state;
    enum request_purpose purpose;
    enum opcode opcode;             /* QUERY, PREPARE, EXECUTE, REGISTER */
    struct bytes text;              /* QUERY */
    struct rd_statement *statement; /* EXECUTE, PREPARE */
    struct query_params params;
    int64_t token;
    bool has_token;
    bool is_tagged; /* its end is for rd_take */
    uint64_t tag;   /* FOR_USE: the epoch that it is for */
    uint64_t deadline_ms;
    struct link *on;  /* the link that it chose */
    bool is_pinned;   /* to `on` */
    bool is_repaired; /* was answered Unprepared once */
    uint64_t tried[NODES_MAX / 64];
    /* how it ended */
    rd_code code;
    char error[400];
    rd_failure failure;
    enum result_kind kind;
    struct bytes keyspace;           /* of kind KEYSPACE */
    struct answer_metadata metadata; /* of the page: the answer's, or the statement's */
    uint32_t rows_left;
    struct cursor rows;
    struct value *row; /* NULL before the first row */
    uint8_t *paging;   /* room for params.paging_state, in `arena` */
    size_t paging_room;
    struct arena arena; /* what was asked: text, values, paging state */
    struct arena page;  /* what was answered */
    struct arena texts; /* what rd_text printed of the row */
};

/* A request of the caller or of the core's own, SPARE; it lives until request_free. */
struct rd_result *request_new(struct core *, enum request_purpose, enum opcode);
void request_free(struct rd_result *);
/* From SPARE, or from DONE for its next page: waits for core_advance. */
void request_start(struct rd_result *);
/* DONE, and its metadata tell of another page: sets off for that. */
void request_next_page(struct rd_result *);
/* Not sent yet: it is no more. */
void request_cancel(struct rd_result *);
/* WAITING: as far as it can go now; true when something has changed. */
bool request_step(struct rd_result *);
/* ERR_PROTOCOL: what came is no answer to it; its link is to be given up, and it with that. */
enum err request_answered(struct rd_result *, const struct wire_envelope *);
/* Its link is about to be gone: it ends, or waits for another when nothing can have been applied.
 */
void request_lost(struct rd_result *, const struct report *);
void request_expire(struct rd_result *);
void request_end(struct rd_result *, rd_code, const char *sentence);
/* A request of the core's own has ended: what follows from that, but for topology.c's. */
void request_react(struct rd_result *);

/* Changes the link that it counts on; NULL: none. */
void request_assign(struct rd_result *, struct link *);

/* Chooses a node that was not tried, and a link to it (route.c); false when there is none left. */
bool route_choose(struct rd_result *);
bool route_has_tried(const struct rd_result *, const struct node *);
/* The replicas of its key; room for NODES_MAX. */
size_t route_replicas(const struct rd_result *, struct node **out);

/* Opens the RESULT of a request (result.c).  ERR_PROTOCOL. */
enum err result_open(struct rd_result *, struct cursor body, uint8_t version);
/* The next row of the page to `row`; false at its end. */
bool result_row(struct rd_result *);
const char *result_text(struct rd_result *, size_t at); /* rd_text */
const char *result_type(struct rd_result *, size_t at); /* rd_column_type, `at` is one */
/* A value of the row by column name; null when there is no such column. */
struct value result_value(const struct rd_result *, const char *column);

/* ---- the session (core.c) ---- */

struct core {
    struct arena arena;
    struct arena scratch; /* within one step */
    uint64_t now_ms;
    uint32_t connect_ms, timeout_ms, connections, page_rows;
    uint16_t port;
    rd_routing routing;
    uint8_t version; /* of new connections */
    bool is_version_fixed, wants_lz4;
    struct bytes keyspace;
    unsigned keyspace_epoch; /* raised by each USE that was answered; 0: none yet */
    size_t nodes_count;
    struct node *nodes[NODES_MAX];
    struct ring rings[2];
    unsigned ring_at;     /* which is in use */
    struct link *control; /* that the topology is read from; NULL: none */
    bool is_known;        /* the topology was read once */
    bool is_refreshing, is_stale;
    uint64_t refresh_at_ms; /* not before, when it failed */
    rd_code refresh_code;   /* how it failed */
    size_t turn;
    struct list waiting, sent; /* by deadline */
    struct list ended;         /* of the core's own, to be reacted to */
    struct list done;          /* tagged, for rd_take */
    struct list held;          /* by the caller, or about to be */
    struct list spare;
    size_t tagged_count;
    uint64_t routed_count, at_replica_count;
    struct report failure;        /* why the last connection failed */
    char error[CORE_ERROR_BYTES]; /* the sentence of the last call that did not answer RD_OK */
    rd_failure last_failure;
};

/* Copies what it needs from the options; names no node. */
void core_init(struct core *, const rd_options *, uint64_t now_ms);
void core_deinit(struct core *);
/* The node at an address, made when it is not known; NULL when there are NODES_MAX. */
struct node *core_node(struct core *, const char *address, uint16_t port);
static inline struct ring *core_ring(struct core *c) { return &c->rings[c->ring_at]; }
/* Lets everything go on as far as it can: after requests were started, and at the end of each of
 * the following, by which the face tells what happened. */
void core_advance(struct core *);
void core_opened(struct core *, struct link *);
void core_closed(struct core *, struct link *);
void core_lost(struct core *, struct link *, const struct report *);
void core_fed(struct core *, struct link *, size_t n);
void core_tick(struct core *, uint64_t now_ms);
/* When the next tick is due; UINT64_MAX: never. */
uint64_t core_wake_ms(const struct core *);

/* Sets off to read the topology anew; false when that is under way or has just failed (topology.c).
 */
bool topology_refresh(struct core *);
/* A request of the refresh has ended. */
void topology_answered(struct rd_result *);
void topology_event(struct core *, struct cursor body);
