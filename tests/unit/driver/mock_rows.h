/* mock_rows.h - the mock itself and the rows of its system tables; mock.h answers requests with it.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "wire/wire.h"

#include <check.h>

struct mock {
    size_t node; /* which it plays */
    uint16_t port;
    uint8_t versions_max;
    bool has_no_peers_v2;
    struct wire_in in;
    struct wire_out out;
};

static inline void mock_init(struct mock *m, size_t node, uint16_t port)
{
    *m = (struct mock){ .node = node, .port = port, .versions_max = WIRE_V5 };
    wire_in_init(&m->in, true, 1 << 24);
    wire_out_init(&m->out, true, WIRE_V5);
}

static inline void mock_deinit(struct mock *m)
{
    wire_in_deinit(&m->in);
    wire_out_deinit(&m->out);
}

static inline void mock_error(struct mock *m, int16_t stream, const struct answer_error *e)
{
    answer_error_encode(wire_begin(&m->out, 0, stream, OPCODE_ERROR), m->out.version, e);
    wire_end(&m->out);
}

static inline bool text_has(struct bytes text, const char *what)
{
    size_t size = strlen(what);
    for (size_t i = 0; i + size <= text.size; i++)
        if (!memcmp(text.data + i, what, size))
            return true;
    return false;
}

/* ---- rows ---- */

static inline void put_text(struct buf *b, const char *text)
{
    wire_put_bytes(b, bytes_text(text));
}

static inline void put_tokens(struct buf *b, size_t node)
{
    static const char *const tokens[] = { "-6000000000000000000", "0", "6000000000000000000" };
    size_t size = strlen(tokens[node]);
    buf_put_be32(b, (uint32_t)(4 + 4 + size));
    buf_put_be32(b, 1);
    put_text(b, tokens[node]);
}

static inline void put_node(struct buf *b, size_t node, uint16_t port, bool is_peer, bool is_v2)
{
    const uint8_t ip[4] = { 127, 0, 0, (uint8_t)(node + 1) };
    uint8_t id[16] = { (uint8_t)(node + 1) };
    wire_put_bytes(b, bytes_of(id, 16));
    put_text(b, "dc1");
    put_text(b, node == 2 ? "rack2" : "rack1");
    put_tokens(b, node);
    if (is_peer)
        wire_put_bytes(b, bytes_of(ip, 4));
    if (is_v2) {
        buf_put_be32(b, 4);
        buf_put_be32(b, port);
    }
}

static inline void mock_nodes(struct mock *m, int16_t stream, bool is_local, bool is_v2)
{
    const struct type *text = type_native(TYPE_TEXT);
    struct type tokens = { .kind = TYPE_SET, .parts_count = 1, .parts = &text };
    struct answer_column columns[] = {
        { "system", "t", "host_id", type_native(TYPE_UUID) },
        { "system", "t", "data_center", text },
        { "system", "t", "rack", text },
        { "system", "t", "tokens", &tokens },
        { "system", "t", is_v2 ? "native_address" : "rpc_address", type_native(TYPE_INET) },
        { "system", "t", "native_port", type_native(TYPE_INT) },
    };
    struct answer_metadata meta = { .columns = columns,
                                    .columns_count = is_local ? 4
                                                     : is_v2  ? 6
                                                              : 5 };
    struct rows_writer w;
    uint32_t rows = 0;
    struct buf *b = wire_begin(&m->out, 0, stream, OPCODE_RESULT);
    answer_rows_begin(&w, b, m->out.version, &meta);
    for (size_t i = 0; i < 3; i++) {
        if ((i == m->node) != is_local)
            continue;
        put_node(b, i, m->port, !is_local, is_v2);
        rows++;
    }
    answer_rows_finish(&w, rows, (struct bytes){ 0 });
    wire_end(&m->out);
}

static inline void put_pair(struct buf *b, const char *key, const char *value)
{
    put_text(b, key);
    put_text(b, value);
}

static inline void put_keyspace(struct buf *b, const char *name, const char *factor)
{
    struct buf map = { 0 };
    put_text(b, name);
    buf_put_be32(&map, 2);
    put_pair(&map, "class", "org.apache.cassandra.locator.SimpleStrategy");
    put_pair(&map, "replication_factor", factor);
    wire_put_bytes(b, buf_bytes(&map));
    buf_deinit(&map);
}

static inline void mock_keyspaces(struct mock *m, int16_t stream)
{
    const struct type *parts[] = { type_native(TYPE_TEXT), type_native(TYPE_TEXT) };
    struct type map = { .kind = TYPE_MAP, .is_frozen = true, .parts_count = 2, .parts = parts };
    struct answer_column columns[] = { { "s", "k", "keyspace_name", parts[0] },
                                       { "s", "k", "replication", &map } };
    struct answer_metadata meta = { .columns_count = 2, .columns = columns };
    struct rows_writer w;
    struct buf *b = wire_begin(&m->out, 0, stream, OPCODE_RESULT);
    answer_rows_begin(&w, b, m->out.version, &meta);
    put_keyspace(b, "one", "1");
    put_keyspace(b, "three", "3");
    answer_rows_finish(&w, 2, (struct bytes){ 0 });
    wire_end(&m->out);
}
