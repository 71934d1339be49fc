/* statement.h - a prepared statement: what nodes said about it, and the values that are bound. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "driver/ring.h"
#include "wire/wire.h"

struct core;

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
void statement_values(const struct rd_statement *, struct arena *, struct query_params *);
