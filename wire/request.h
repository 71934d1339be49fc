/* request.h - the bodies that clients send: decoded by the server, encoded by the driver.
 *
 * Everything decoded is borrowed from the body; arrays live in the arena.  Errors: ERR_PROTOCOL
 * with a sentence.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "wire/frame.h"

enum {
    PARAM_VALUES = 0x01,
    PARAM_SKIP_METADATA = 0x02,
    PARAM_PAGE_SIZE = 0x04,
    PARAM_PAGING_STATE = 0x08,
    PARAM_SERIAL = 0x10,
    PARAM_TIMESTAMP = 0x20,
    PARAM_NAMES = 0x40,
    PARAM_KEYSPACE = 0x80,
    PARAM_NOW = 0x100
};

struct query_params {
    enum consistency consistency;
    enum consistency serial; /* CL_SERIAL when not given */
    uint32_t flags;          /* PARAM_* that were given */
    size_t values_count;
    struct value *values;
    struct bytes *names; /* NULL, or one per value */
    int32_t page_size;   /* <= 0: no paging */
    struct bytes paging_state;
    int64_t timestamp;     /* with PARAM_TIMESTAMP */
    struct bytes keyspace; /* with PARAM_KEYSPACE */
    int32_t now_seconds;   /* with PARAM_NOW */
};
struct request_query {
    struct bytes text;
    struct query_params params;
};
struct request_prepare {
    struct bytes text;
    struct bytes keyspace; /* v5; empty when not given */
};
struct request_execute {
    struct bytes id, metadata_id; /* the second in v5 only */
    struct query_params params;
};
struct batch_entry {
    bool is_prepared;
    struct bytes text_or_id;
    size_t values_count;
    struct value *values;
};
enum batch_kind { BATCH_LOGGED, BATCH_UNLOGGED, BATCH_COUNTER };
struct request_batch {
    enum batch_kind kind;
    size_t entries_count;
    struct batch_entry *entries;
    struct query_params params; /* without values */
};
struct string_pair {
    struct bytes key, value;
};
struct request_startup {
    size_t options_count;
    struct string_pair *options;
};
struct request_register {
    bool topology, status, schema;
};

enum err request_query_decode(struct cursor, uint8_t version, struct arena *,
                              struct request_query *, struct report *);
enum err request_prepare_decode(struct cursor, uint8_t version, struct request_prepare *,
                                struct report *);
enum err request_execute_decode(struct cursor, uint8_t version, struct arena *,
                                struct request_execute *, struct report *);
enum err request_batch_decode(struct cursor, uint8_t version, struct arena *,
                              struct request_batch *, struct report *);
enum err request_startup_decode(struct cursor, struct arena *, struct request_startup *,
                                struct report *);
enum err request_register_decode(struct cursor, struct request_register *, struct report *);
/* Value of an option by name, any case; empty when absent. */
struct bytes request_startup_option(const struct request_startup *, const char *name);

/* Encoding writes what params->flags announces, so the flags must say VALUES when there are any. */
void request_query_encode(struct buf *, uint8_t version, const struct request_query *);
void request_prepare_encode(struct buf *, uint8_t version, const struct request_prepare *);
void request_execute_encode(struct buf *, uint8_t version, const struct request_execute *);
void request_batch_encode(struct buf *, uint8_t version, const struct request_batch *);
void request_startup_encode(struct buf *, const struct request_startup *);
void request_register_encode(struct buf *, const struct request_register *);
