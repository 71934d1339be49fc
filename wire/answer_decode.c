/* answer_decode.c - the bodies of answers, decoded: what the driver reads.
 *
 * The mirror of answer.c, for any server.  Counts are compared with what is left before arrays are
 * made; the rows themselves stay in the body and are only checked to be possible in number.
 *
 * Codes of errors that we never send are passed on as they are, without their details.
 */
// SPDX-License-Identifier: Apache-2.0
#include "wire/answer.h"

enum {
    META_GLOBAL = 0x01,
    META_MORE = 0x02,
    META_NONE = 0x04,
    META_CHANGED = 0x08,
    COLUMN_BYTES_MIN = 4, /* a name's length and a type's id */
    VALUE_BYTES_MIN = 4,
};

/* ---- errors ---- */

static void take_levels(struct cursor *c, struct answer_error *e)
{
    e->consistency = (enum consistency)cursor_be16(c);
    e->received = (int32_t)cursor_be32(c);
    e->required = (int32_t)cursor_be32(c);
}

static void take_reasons(struct cursor *c, uint8_t version, struct answer_error *e)
{
    e->failures = (int32_t)cursor_be32(c);
    for (int32_t i = 0; version >= WIRE_V5 && i < e->failures && !c->bad; i++) {
        size_t size = cursor_u8(c);
        (void)cursor_bytes(c, size);
        (void)cursor_be16(c);
    }
}

static void take_details(struct cursor *c, uint8_t version, struct answer_error *e)
{
    if (e->code == WIRE_ERROR_UNAVAILABLE) {
        e->consistency = (enum consistency)cursor_be16(c);
        e->required = (int32_t)cursor_be32(c);
        e->alive = (int32_t)cursor_be32(c);
    } else if (e->code == WIRE_ERROR_READ_TIMEOUT) {
        take_levels(c, e);
        e->has_data = cursor_u8(c);
    } else if (e->code == WIRE_ERROR_WRITE_TIMEOUT) {
        take_levels(c, e);
        e->write_type = wire_string(c);
    } else if (e->code == WIRE_ERROR_READ_FAILURE) {
        take_levels(c, e);
        take_reasons(c, version, e);
        e->has_data = cursor_u8(c);
    } else if (e->code == WIRE_ERROR_WRITE_FAILURE) {
        take_levels(c, e);
        take_reasons(c, version, e);
        e->write_type = wire_string(c);
    } else if (e->code == WIRE_ERROR_ALREADY_EXISTS) {
        e->keyspace = wire_string(c);
        e->table = wire_string(c);
    } else if (e->code == WIRE_ERROR_UNPREPARED) {
        e->id = wire_short_bytes(c);
    }
}

enum err answer_error_decode(struct cursor c, uint8_t version, struct answer_error *out)
{
    *out = (struct answer_error){ .code = (enum wire_error_code)cursor_be32(&c) };
    out->message = wire_string(&c);
    take_details(&c, version, out);
    return c.bad ? ERR_PROTOCOL : OK;
}

/* ---- SUPPORTED ---- */

enum err answer_supported_find(struct cursor c, const char *name, struct cursor *values)
{
    enum err found = ERR_NOT_FOUND;
    size_t count = cursor_be16(&c);
    for (size_t i = 0; i < count && !c.bad; i++) {
        struct bytes key = wire_string(&c);
        if (bytes_equal(key, bytes_text(name))) {
            *values = c;
            found = OK;
        }
        size_t values_count = cursor_be16(&c);
        for (size_t k = 0; k < values_count && !c.bad; k++)
            (void)wire_string(&c);
    }
    return c.bad ? ERR_PROTOCOL : found;
}

/* ---- metadata ---- */

static void take_table(struct cursor *c, struct arena *arena, struct answer_column *column)
{
    column->keyspace = arena_text(arena, wire_string(c));
    column->table = arena_text(arena, wire_string(c));
}

static enum err take_columns(struct cursor *c, struct arena *arena, bool is_global,
                             struct answer_metadata *m)
{
    if (c->bad || m->columns_count > cursor_left(c) / COLUMN_BYTES_MIN)
        return ERR_PROTOCOL;
    struct answer_column shared = { 0 };
    if (is_global)
        take_table(c, arena, &shared);
    struct answer_column *columns = arena_array(arena, struct answer_column, m->columns_count);
    m->columns = columns;
    for (size_t i = 0; i < m->columns_count; i++) {
        columns[i] = shared;
        if (!is_global)
            take_table(c, arena, &columns[i]);
        columns[i].name = arena_text(arena, wire_string(c));
        enum err err = wire_type(c, arena, &columns[i].type);
        if (err)
            return err;
    }
    return c->bad ? ERR_PROTOCOL : OK;
}

static enum err take_count(struct cursor *c, size_t *out)
{
    uint32_t count = cursor_be32(c);
    *out = count;
    return c->bad || count > INT32_MAX ? ERR_PROTOCOL : OK;
}

static enum err take_metadata(struct cursor *c, uint8_t version, struct arena *arena,
                              struct answer_metadata *m)
{
    *m = (struct answer_metadata){ 0 };
    uint32_t flags = cursor_be32(c);
    enum err err = take_count(c, &m->columns_count);
    if (err)
        return err;
    if (flags & META_MORE)
        m->paging_state = wire_value(c).bytes;
    if (version >= WIRE_V5 && (flags & META_CHANGED))
        m->new_id = wire_short_bytes(c);
    m->is_skipped = flags & META_NONE;
    if (m->is_skipped)
        return c->bad ? ERR_PROTOCOL : OK;
    return take_columns(c, arena, flags & META_GLOBAL, m);
}

/* ---- the kinds of RESULT ---- */

static enum err take_rows(struct cursor *c, uint8_t version, struct arena *arena,
                          struct answer_rows *rows)
{
    enum err err = take_metadata(c, version, arena, &rows->metadata);
    size_t count = 0;
    if (!err)
        err = take_count(c, &count);
    if (err)
        return err;
    size_t columns = rows->metadata.columns_count; /* both are below 2^31 */
    if ((uint64_t)count * columns > cursor_left(c) / VALUE_BYTES_MIN)
        return ERR_PROTOCOL;
    rows->rows_count = (uint32_t)count;
    rows->rows = *c;
    return OK;
}

static enum err take_bind(struct cursor *c, struct arena *arena, struct answer_prepared *p)
{
    uint32_t flags = cursor_be32(c);
    enum err err = take_count(c, &p->bind.columns_count);
    if (!err)
        err = take_count(c, &p->keys_count);
    if (err || p->keys_count > cursor_left(c) / 2)
        return ERR_PROTOCOL;
    p->key_positions = arena_array(arena, uint16_t, p->keys_count);
    for (size_t i = 0; i < p->keys_count; i++) {
        p->key_positions[i] = cursor_be16(c);
        if (p->key_positions[i] >= p->bind.columns_count)
            return ERR_PROTOCOL;
    }
    if (flags & META_NONE)
        return ERR_PROTOCOL;
    return take_columns(c, arena, flags & META_GLOBAL, &p->bind);
}

static enum err take_prepared(struct cursor *c, uint8_t version, struct arena *arena,
                              struct answer_prepared *p)
{
    p->id = wire_short_bytes(c);
    if (version >= WIRE_V5)
        p->metadata_id = wire_short_bytes(c);
    enum err err = take_bind(c, arena, p);
    return err ? err : take_metadata(c, version, arena, &p->rows);
}

static enum err take_schema(struct cursor *c, struct arena *arena, struct schema_event *e)
{
    e->change = arena_text(arena, wire_string(c));
    e->target = arena_text(arena, wire_string(c));
    e->keyspace = wire_string(c);
    if (strcmp(e->target, "KEYSPACE") != 0)
        e->name = wire_string(c);
    return c->bad ? ERR_PROTOCOL : OK;
}

enum err answer_result_decode(struct cursor c, uint8_t version, struct arena *arena,
                              struct answer_result *out)
{
    *out = (struct answer_result){ 0 };
    uint32_t kind = cursor_be32(&c);
    if (c.bad || kind < RESULT_VOID || kind > RESULT_SCHEMA)
        return ERR_PROTOCOL;
    out->kind = (enum result_kind)kind;
    if (kind == RESULT_ROWS)
        return take_rows(&c, version, arena, &out->rows);
    if (kind == RESULT_PREPARED)
        return take_prepared(&c, version, arena, &out->prepared);
    if (kind == RESULT_SCHEMA)
        return take_schema(&c, arena, &out->schema);
    if (kind == RESULT_KEYSPACE)
        out->keyspace = wire_string(&c);
    return c.bad ? ERR_PROTOCOL : OK;
}

/* ---- events ---- */

enum err answer_event_decode(struct cursor c, struct answer_event *out)
{
    *out = (struct answer_event){ .kind = wire_string(&c) };
    out->change = wire_string(&c);
    if (bytes_equal(out->kind, bytes_text("STATUS_CHANGE")) ||
        bytes_equal(out->kind, bytes_text("TOPOLOGY_CHANGE"))) {
        size_t size = cursor_u8(&c);
        c.bad |= size != 4 && size != 16;
        out->ip = cursor_bytes(&c, size);
        uint32_t port = cursor_be32(&c);
        c.bad |= port > UINT16_MAX;
        out->port = (uint16_t)port;
    }
    return c.bad ? ERR_PROTOCOL : OK;
}
