/* answer.h - the bodies that servers send: encoded by the server, decoded by the driver.
 *
 * Rows are written straight into the output: answer_rows_begin, then per value wire_put_bytes or
 * wire_put_null, then the row count is set.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/uuid.h"
#include "model/type.h"
#include "wire/frame.h"

struct answer_column {
    const char *keyspace, *table, *name;
    const struct type *type;
};
struct answer_metadata {
    size_t columns_count;
    const struct answer_column *columns;
    struct bytes paging_state; /* empty: the last page */
    struct bytes new_id;       /* v5: metadata changed; empty: it has not */
    bool is_skipped;           /* no columns are written or were sent; columns_count holds */
};

/* Why a replica failed (facts 2.6): v5 tells it for each. */
enum {
    REASON_UNKNOWN = 0,
    REASON_TIMEOUT = 2,
    REASON_INCOMPATIBLE_SCHEMA = 3,
    REASON_NODE_DOWN = 5
};
struct answer_reason {
    struct bytes ip; /* 4 or 16 bytes */
    uint16_t code;   /* REASON_... */
};
/* Every field that some error needs; what an error does not have stays zero. */
struct answer_error {
    enum wire_error_code code;
    struct bytes message;
    enum consistency consistency;
    int32_t required, alive, received;   /* alive: Unavailable; received: timeouts, failures */
    int32_t failures;                    /* how many replicas failed */
    const struct answer_reason *reasons; /* v5 tells as many as `failures` of them; NULL: none.
                                            Not decoded. */
    bool has_data;
    struct bytes write_type;      /* "SIMPLE", "BATCH", ... */
    struct bytes keyspace, table; /* Already exists */
    struct bytes id;              /* Unprepared */
};
void answer_error_encode(struct buf *, uint8_t version, const struct answer_error *);
enum err answer_error_decode(struct cursor, uint8_t version, struct answer_error *out);

/* SUPPORTED: `count` options, each a name and its values. */
struct supported_option {
    const char *name;
    size_t values_count;
    const char *const *values;
};
void answer_supported_encode(struct buf *, const struct supported_option *, size_t count);
/* The values of one option of a SUPPORTED body as a string list, left unread in *values.
 * ERR_NOT_FOUND when it is not listed, ERR_PROTOCOL when the body is none. */
enum err answer_supported_find(struct cursor, const char *name, struct cursor *values);

enum result_kind { RESULT_VOID = 1, RESULT_ROWS, RESULT_KEYSPACE, RESULT_PREPARED, RESULT_SCHEMA };
void answer_void(struct buf *);
void answer_set_keyspace(struct buf *, struct bytes keyspace);
/* A RESULT of rows is written front to back while the paging state becomes known only at the end:
 * begin writes kind and metadata as if the page were the last one, the caller then writes the
 * values, and finish sets the row count and, when `paging_state` is not empty, moves the rows up to
 * make room for it and sets the flag.  `metadata->paging_state` is not looked at. */
struct rows_writer {
    struct buf *out;
    size_t flags_at, state_at, count_at; /* offsets in out */
};
void answer_rows_begin(struct rows_writer *, struct buf *, uint8_t version,
                       const struct answer_metadata *);
void answer_rows_finish(struct rows_writer *, uint32_t rows_count, struct bytes paging_state);
struct answer_prepared {
    struct bytes id, metadata_id;
    struct answer_metadata bind, rows;
    size_t keys_count;
    uint16_t *key_positions; /* of the bind markers of the partition key, in key order */
};
void answer_prepared_encode(struct buf *, uint8_t version, const struct answer_prepared *);

/* Schema change, as RESULT and as EVENT; events of nodes. */
struct schema_event {
    const char *change;          /* CREATED, UPDATED, DROPPED */
    const char *target;          /* KEYSPACE, TABLE */
    struct bytes keyspace, name; /* name empty for a keyspace */
};
void answer_schema_change(struct buf *, const struct schema_event *);
void event_schema(struct buf *, const struct schema_event *);
/* kind STATUS_CHANGE or TOPOLOGY_CHANGE; change UP, DOWN, NEW_NODE, REMOVED_NODE. */
void event_node(struct buf *, const char *kind, const char *change, struct bytes ip, uint16_t port);

/* ---- the driver's side ---- */
struct answer_rows {                 /* decoded metadata, and the rows to walk through */
    struct answer_metadata metadata; /* columns in the arena */
    uint32_t rows_count;
    struct cursor rows; /* rows_count * columns_count [bytes] values, read with wire_value */
};
struct answer_result {
    enum result_kind kind;
    struct answer_rows rows;         /* ROWS */
    struct bytes keyspace;           /* KEYSPACE */
    struct answer_prepared prepared; /* PREPARED */
    struct schema_event schema;      /* SCHEMA */
};
/* What is decoded is borrowed from the body, arrays and names live in the arena.  ERR_PROTOCOL. */
enum err answer_result_decode(struct cursor, uint8_t version, struct arena *,
                              struct answer_result *out);
struct answer_event {
    struct bytes kind;   /* STATUS_CHANGE, TOPOLOGY_CHANGE, SCHEMA_CHANGE */
    struct bytes change; /* UP, ... */
    struct bytes ip;     /* of nodes */
    uint16_t port;
};
enum err answer_event_decode(struct cursor, struct answer_event *out);

/* Type options (facts 3.1); duration is a custom class before v5, vectors always are. */
void wire_put_type(struct buf *, uint8_t version, const struct type *);
/* Nested at most 16 deep; ERR_PROTOCOL. */
enum err wire_type(struct cursor *, struct arena *, const struct type **out);
