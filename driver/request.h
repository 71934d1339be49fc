/* request.h - a request, which is a result once it is answered; what request.c, route.c and
 * result.c offer one another and core.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/list.h"
#include "driver/link.h"
#include "driver/statement.h"

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
/* May it go to a node that has a connection ready? */
bool route_has_ready(const struct rd_result *);
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
