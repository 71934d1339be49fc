/* mock.h - a server of three nodes for the driver's suites: answers as pure functions of requests.
 *
 * Node i (0, 1, 2) is 127.0.0.(i+1) and owns one token: -6e18, 0, 6e18.  Keyspaces: one (factor 1),
 * three (factor 3).  Every PREPARE is answered with a key `k` of the type blob and, when the text
 * has two markers, a value `v` of the type int; every SELECT has one row (k blob, v int).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "mock_rows.h"

/* ---- statements ---- */

static inline void mock_prepared(struct mock *m, int16_t stream, struct bytes text)
{
    const char *keyspace = text_has(text, "three.") ? "three" : "one";
    struct answer_column columns[] = { { keyspace, "t", "k", type_native(TYPE_BLOB) },
                                       { keyspace, "t", "v", type_native(TYPE_INT) } };
    uint16_t keys[] = { 0 };
    struct answer_prepared p = { .id = text, .metadata_id = bytes_text("meta"), .keys_count = 1 };
    p.key_positions = keys;
    p.bind = (struct answer_metadata){ .columns = columns,
                                       .columns_count = text_has(text, "?, ?") ? 2 : 1 };
    if (text_has(text, "SELECT"))
        p.rows = (struct answer_metadata){ .columns = columns, .columns_count = 2 };
    answer_prepared_encode(wire_begin(&m->out, 0, stream, OPCODE_RESULT), m->out.version, &p);
    wire_end(&m->out);
}

/* One row (k, v); `state` tells of another page. */
static inline void mock_row(struct mock *m, int16_t stream, uint32_t v, const char *state,
                            bool is_skipped)
{
    struct answer_column columns[] = { { "one", "t", "k", type_native(TYPE_BLOB) },
                                       { "one", "t", "v", type_native(TYPE_INT) } };
    struct answer_metadata meta = { .columns = columns, .columns_count = 2 };
    meta.is_skipped = is_skipped;
    struct rows_writer w;
    struct buf *b = wire_begin(&m->out, 0, stream, OPCODE_RESULT);
    answer_rows_begin(&w, b, m->out.version, &meta);
    put_text(b, "key");
    buf_put_be32(b, 4);
    buf_put_be32(b, v);
    answer_rows_finish(&w, 1, bytes_text(state));
    wire_end(&m->out);
}

static inline void mock_void(struct mock *m, int16_t stream)
{
    answer_void(wire_begin(&m->out, 0, stream, OPCODE_RESULT));
    wire_end(&m->out);
}

static inline void mock_query(struct mock *m, int16_t stream, struct bytes text)
{
    struct answer_error none = { .code = WIRE_ERROR_INVALID, .message = bytes_text("no table") };
    if (text_has(text, "system.local")) {
        mock_nodes(m, stream, true, false);
    } else if (text_has(text, "system.peers_v2")) {
        if (m->has_no_peers_v2)
            mock_error(m, stream, &none);
        else
            mock_nodes(m, stream, false, true);
    } else if (text_has(text, "system.peers")) {
        mock_nodes(m, stream, false, false);
    } else if (text_has(text, "system_schema.keyspaces")) {
        mock_keyspaces(m, stream);
    } else if (text_has(text, "USE \"")) {
        answer_set_keyspace(wire_begin(&m->out, 0, stream, OPCODE_RESULT),
                            bytes_of(text.data + 5, text.size - 6));
        wire_end(&m->out);
    } else if (text_has(text, "SELECT")) {
        mock_row(m, stream, 7, "", false);
    } else if (text_has(text, "CREATE")) {
        struct schema_event e = { "CREATED", "KEYSPACE", bytes_text("new"), { 0 } };
        answer_schema_change(wire_begin(&m->out, 0, stream, OPCODE_RESULT), &e);
        wire_end(&m->out);
    } else {
        mock_void(m, stream);
    }
}

static inline void mock_options(struct mock *m, int16_t stream)
{
    static const char *const cql[] = { "3.4.7" }, *const lz4[] = { "lz4" };
    struct supported_option options[] = { { "CQL_VERSION", 1, cql }, { "COMPRESSION", 1, lz4 } };
    answer_supported_encode(wire_begin(&m->out, 0, stream, OPCODE_SUPPORTED), options, 2);
    wire_end(&m->out);
}

static inline void mock_startup(struct mock *m, const struct wire_envelope *e)
{
    struct arena arena = { 0 };
    struct request_startup s;
    ck_assert_int_eq(request_startup_decode(cursor_of(e->body), &arena, &s, NULL), OK);
    ck_assert_uint_gt(request_startup_option(&s, "CQL_VERSION").size, 0);
    bool is_lz4 = request_startup_option(&s, "COMPRESSION").size > 0;
    arena_deinit(&arena);
    wire_begin(&m->out, 0, e->stream, OPCODE_READY);
    wire_end(&m->out);
    m->in.is_lz4 = m->out.is_lz4 = is_lz4;
    if (e->version < WIRE_V5)
        return;
    wire_in_framed(&m->in);
    wire_out_framed(&m->out);
}

static inline void mock_too_new(struct mock *m, int16_t stream)
{
    m->out.version = m->versions_max;
    mock_error(m, stream,
               &(struct answer_error){
                   .code = WIRE_ERROR_PROTOCOL,
                   .message = bytes_text("Invalid or unsupported protocol version (5); supported "
                                         "versions are (4/v4)") });
}

/* Answers a request the usual way. */
static inline void mock_answer(struct mock *m, const struct wire_envelope *e)
{
    struct arena arena = { 0 };
    m->out.version = e->version;
    if (e->version > m->versions_max) {
        mock_too_new(m, 0);
    } else if (e->opcode == OPCODE_OPTIONS) {
        mock_options(m, e->stream);
    } else if (e->opcode == OPCODE_STARTUP) {
        mock_startup(m, e);
    } else if (e->opcode == OPCODE_REGISTER) {
        wire_begin(&m->out, 0, e->stream, OPCODE_READY);
        wire_end(&m->out);
    } else if (e->opcode == OPCODE_PREPARE) {
        struct request_prepare p;
        ck_assert_int_eq(request_prepare_decode(cursor_of(e->body), e->version, &p, NULL), OK);
        mock_prepared(m, e->stream, p.text);
    } else if (e->opcode == OPCODE_QUERY) {
        struct request_query q;
        ck_assert_int_eq(request_query_decode(cursor_of(e->body), e->version, &arena, &q, NULL),
                         OK);
        mock_query(m, e->stream, q.text);
    } else {
        struct request_execute x;
        ck_assert_int_eq(e->opcode, OPCODE_EXECUTE);
        ck_assert_int_eq(request_execute_decode(cursor_of(e->body), e->version, &arena, &x, NULL),
                         OK);
        bool is_select = text_has(x.id, "SELECT");
        if (is_select)
            mock_row(m, e->stream, 7, "", x.params.flags & PARAM_SKIP_METADATA);
        else
            mock_void(m, e->stream);
    }
    arena_deinit(&arena);
}
