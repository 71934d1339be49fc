/* rondo.h - the C client of Rondo and of everything else that speaks CQL's native protocol.
 *
 * A session connects to one node, discovers the others, and sends each prepared statement to a
 * replica of its key.  This first face is blocking: one session is used by one thread at a time;
 * several statements may be in flight at once (rd_send, rd_take).
 *
 *     rd_session *s;
 *     rd_result *r;
 *     char error[400];
 *     if (rd_connect(&(rd_options){ .hosts = "127.0.0.1" }, &s, error, sizeof error) != RD_OK)
 *         return complain(error);
 *     if (rd_query(s, "SELECT release_version FROM system.local", RD_ONE, &r) == RD_OK)
 *         while (rd_next(r))
 *             printf("%s\n", rd_text(r, 0));
 *     rd_result_free(r);
 *     rd_close(s);
 *
 * Lifetimes.  A session owns its statements and its connections: rd_close ends them all.  A result
 * belongs to the caller until rd_result_free, which comes before rd_close.  Strings and bytes read
 * from a result last until the next rd_next on it or its end.  No call aborts the process: memory
 * that cannot be had, and even a broken invariant inside, is answered with RD_ERROR and closes the
 * session.
 *
 * Never twice.  What was sent is not sent again when a connection is lost or an answer does not
 * come: the caller knows whether its statement may be repeated.  Only what was certainly not sent,
 * and what the server answers Unprepared, goes on to another attempt by itself.
 *
 * Schemas.  After a schema change of this session its ring is read anew before the call returns.
 * There is no waiting for other nodes to agree: Rondo answers when all of them have; on other
 * servers the caller waits.
 *
 * Errors.  Every call answers an rd_code; rd_error(session) then gives the sentence, complete with
 * what to do.  Codes of the server are the protocol's.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rd_session rd_session;
typedef struct rd_statement rd_statement;
typedef struct rd_result rd_result;

typedef enum rd_code {
    RD_OK = 0,
    /* of this side */
    RD_ERROR = 1,     /* anything else; see the sentence */
    RD_NO_HOST = 2,   /* nobody listens at any of the hosts */
    RD_TIMED_OUT = 3, /* no answer within timeout_ms: a write may have been applied */
    RD_CLOSED = 4,    /* the connection was lost: a write may have been applied */
    RD_MISUSE = 5,    /* an argument is wrong: nothing was sent */
    RD_LIMIT = 6,     /* too many statements in flight: take some first */
    /* of the server: facts of the protocol, section on ERROR */
    RD_SERVER = 0x10000,
    RD_PROTOCOL = 0x1000A,
    RD_CREDENTIALS = 0x10100,
    RD_UNAVAILABLE = 0x11000, /* nothing was sent to replicas */
    RD_OVERLOADED = 0x11001,
    RD_WRITE_TIMEOUT = 0x11100, /* unknown; see rd_failure */
    RD_READ_TIMEOUT = 0x11200,
    RD_READ_FAILURE = 0x11300,
    RD_WRITE_FAILURE = 0x11500,
    RD_SYNTAX = 0x12000,
    RD_UNAUTHORIZED = 0x12100,
    RD_INVALID = 0x12200,
    RD_CONFIG = 0x12300,
    RD_EXISTS = 0x12400,
    RD_UNPREPARED = 0x12500
} rd_code;

typedef enum rd_consistency {
    RD_ANY = 0,
    RD_ONE = 1,
    RD_TWO = 2,
    RD_THREE = 3,
    RD_QUORUM = 4,
    RD_ALL = 5,
    RD_LOCAL_QUORUM = 6,
    RD_EACH_QUORUM = 7,
    RD_LOCAL_ONE = 10
} rd_consistency;

typedef enum rd_routing {
    RD_AWARE = 0,   /* a replica of the key, in turn (default) */
    RD_RANDOM = 1,  /* any node */
    RD_FORWARD = 2, /* a node that is no replica, when there is one */
    RD_PINNED = 3   /* the first host only: no discovery of others */
} rd_routing;

typedef struct rd_options {
    const char *hosts;    /* "127.0.0.1" or "a,b,c"; NULL: 127.0.0.1 */
    uint16_t port;        /* 0: 9042 */
    const char *keyspace; /* NULL: none */
    uint32_t connect_ms;  /* 0: 5000; for the whole of rd_connect */
    uint32_t timeout_ms;  /* 0: 12000; for each statement */
    uint32_t connections; /* to each node; 0: 1 */
    rd_routing routing;
    int protocol; /* 0: 5 and then 4; else just that one */
    bool lz4;     /* compress frames */
} rd_options;

/* RD_OK: *out is a session that has a connection; else *out is NULL and `error_out` (may be NULL)
 * gets up to `error_bytes` of the sentence. */
rd_code rd_connect(const rd_options *, rd_session **out, char *error_out, size_t error_bytes);
void rd_close(rd_session *); /* NULL is fine; results in flight are dropped */
/* The sentence of the last call that did not answer RD_OK; "" when there was none. */
const char *rd_error(const rd_session *);
/* Numbers behind the last Unavailable, timeout or failure. */
typedef struct rd_failure {
    int required, alive, received;
    rd_consistency consistency;
} rd_failure;
rd_failure rd_last_failure(const rd_session *);

/* One statement, one answer, from the node that the session reads its ring from (RD_RANDOM: from
 * any), so that a schema change and what follows it meet on one node.  *out is set with RD_OK and
 * freed by rd_result_free; out may be NULL.
 */
rd_code rd_query(rd_session *, const char *cql, rd_consistency, rd_result **out);

/* Prepared now on one node, and on each other node when it is first used there.  Owned by the
 * session.  Every parameter is unset until it is bound; what is bound stays bound. */
rd_code rd_prepare(rd_session *, const char *cql, rd_statement **out);
size_t rd_parameters(const rd_statement *);
/* Values are copied.  RD_MISUSE: no such position, or the type of the parameter is another one. */
rd_code rd_bind_null(rd_statement *, size_t at);
rd_code rd_bind_int(rd_statement *, size_t at, int64_t);   /* every integer type, timestamp, time,
                                                             date (days since 1970), boolean */
rd_code rd_bind_double(rd_statement *, size_t at, double); /* float, double */
rd_code rd_bind_text(rd_statement *, size_t at, const char *, size_t bytes); /* text, ascii, blob */
rd_code rd_bind_bytes(rd_statement *, size_t at, const void *, size_t bytes); /* as on the wire */
/* The text of a literal without quotes, for every type: what `load` uses. */
rd_code rd_bind_parse(rd_statement *, size_t at, const char *, size_t bytes);
/* The position of a named parameter (or of the column it is bound to); -1 when there is none. */
int rd_position(const rd_statement *, const char *name);
rd_code rd_execute(rd_session *, rd_statement *, rd_consistency, rd_result **out);

/* Rows a page; 0: 5000.  Pages are fetched as rd_next needs them. */
void rd_page_size(rd_session *, uint32_t rows);

/* Several in flight: send binds what the statement holds now and returns at once; `tag` comes back
 * from take.  RD_LIMIT when 1024 are in flight on the connection it belongs on. */
rd_code rd_send(rd_session *, rd_statement *, rd_consistency, uint64_t tag);
/* Waits for the next answer, whichever it is.  RD_OK or its error; *tag tells whose; *out may be
 * NULL for those who do not want rows.  RD_MISUSE when nothing is in flight. */
rd_code rd_take(rd_session *, uint64_t *tag, rd_result **out);
size_t rd_in_flight(const rd_session *);

/* ---- results ---- */
void rd_result_free(rd_result *);
size_t rd_columns(const rd_result *); /* 0: no rows in this kind of answer */
const char *rd_column(const rd_result *, size_t at);
const char *rd_column_type(const rd_result *, size_t at); /* "list<text>" */
/* Moves to the next row, fetching a page when needed.  False at the end or on an error, which
 * rd_result_code tells apart. */
bool rd_next(rd_result *);
rd_code rd_result_code(const rd_result *);
bool rd_is_null(const rd_result *, size_t at);
int64_t rd_int(const rd_result *, size_t at);
double rd_double(const rd_result *, size_t at);
const char *rd_text(rd_result *, size_t at); /* any type, printed; "" for null */
const void *rd_bytes(const rd_result *, size_t at, size_t *bytes);

/* ---- the ring as the session sees it ---- */
typedef struct rd_node {
    char address[64];
    uint16_t port;
    bool is_up;
    char host_id[37], data_center[64], rack[64];
    uint64_t sent; /* statements that went to it */
} rd_node;
size_t rd_nodes(const rd_session *, rd_node *out, size_t room); /* how many there are */
/* The token of a statement's bound key; false when it has none (a marker is unset, or the key is
 * not bound by markers). */
bool rd_token(const rd_statement *, int64_t *out);
/* Share of prepared statements that reached a replica, since the session began: 0..1. */
double rd_replica_share(const rd_session *);

#ifdef __cplusplus
}
#endif
