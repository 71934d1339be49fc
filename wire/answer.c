/* answer.c - the bodies of answers, encoded: what the server sends.
 *
 * Rows are the hot ones: their metadata is written, then the caller appends values, then the count
 * is set.  A paging state, known only then, is put in place by moving what stands behind it; that
 * is one memmove a page, and only when there is a next page.
 *
 *     kind flags columns [paging state] [new id] [keyspace table] columns... | count | values...
 *          ^ flags_at    ^ state_at                                            ^ count_at
 */
// SPDX-License-Identifier: Apache-2.0
#include "wire/answer.h"

enum {
    META_GLOBAL = 0x01,
    META_MORE = 0x02,
    META_NONE = 0x04,
    META_CHANGED = 0x08,
};

/* ---- errors ---- */

static void put_levels(struct buf *b, const struct answer_error *e)
{
    buf_put_be16(b, (uint16_t)e->consistency);
    buf_put_be32(b, (uint32_t)e->received);
    buf_put_be32(b, (uint32_t)e->required);
}

static void put_reasons(struct buf *b, uint8_t version, const struct answer_error *e)
{
    if (version < WIRE_V5) {
        buf_put_be32(b, (uint32_t)e->failures);
        return;
    }
    int32_t count = e->reasons ? e->failures : 0;
    buf_put_be32(b, (uint32_t)count);
    for (int32_t i = 0; i < count; i++) {
        buf_put_u8(b, (uint8_t)e->reasons[i].ip.size);
        buf_put_bytes(b, e->reasons[i].ip);
        buf_put_be16(b, e->reasons[i].code);
    }
}

/* What follows the message, by code (facts 2.6); most codes have nothing. */
static void put_details(struct buf *b, uint8_t version, const struct answer_error *e)
{
    if (e->code == WIRE_ERROR_UNAVAILABLE) {
        buf_put_be16(b, (uint16_t)e->consistency);
        buf_put_be32(b, (uint32_t)e->required);
        buf_put_be32(b, (uint32_t)e->alive);
    } else if (e->code == WIRE_ERROR_READ_TIMEOUT) {
        put_levels(b, e);
        buf_put_u8(b, e->has_data);
    } else if (e->code == WIRE_ERROR_WRITE_TIMEOUT) {
        put_levels(b, e);
        wire_put_string(b, e->write_type);
        if (version >= WIRE_V5 && bytes_equal(e->write_type, bytes_text("CAS")))
            buf_put_be16(b, 0); /* contentions: not counted */
    } else if (e->code == WIRE_ERROR_READ_FAILURE) {
        put_levels(b, e);
        put_reasons(b, version, e);
        buf_put_u8(b, e->has_data);
    } else if (e->code == WIRE_ERROR_WRITE_FAILURE) {
        put_levels(b, e);
        put_reasons(b, version, e);
        wire_put_string(b, e->write_type);
    } else if (e->code == WIRE_ERROR_FUNCTION_FAILURE) {
        wire_put_string(b, e->keyspace);
        wire_put_string(b, e->table);
        buf_put_be16(b, 0); /* argument types */
    } else if (e->code == WIRE_ERROR_ALREADY_EXISTS) {
        wire_put_string(b, e->keyspace);
        wire_put_string(b, e->table);
    } else if (e->code == WIRE_ERROR_UNPREPARED) {
        wire_put_short_bytes(b, e->id);
    }
}

void answer_error_encode(struct buf *b, uint8_t version, const struct answer_error *e)
{
    buf_put_be32(b, (uint32_t)e->code);
    wire_put_string(b, bytes_of(e->message.data, u64_min(e->message.size, UINT16_MAX)));
    put_details(b, version, e);
}

/* ---- SUPPORTED ---- */

void answer_supported_encode(struct buf *b, const struct supported_option *options, size_t count)
{
    ensure(count <= UINT16_MAX);
    buf_put_be16(b, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        wire_put_string(b, bytes_text(options[i].name));
        buf_put_be16(b, (uint16_t)options[i].values_count);
        for (size_t k = 0; k < options[i].values_count; k++)
            wire_put_string(b, bytes_text(options[i].values[k]));
    }
}

/* ---- RESULT ---- */

void answer_void(struct buf *b) { buf_put_be32(b, RESULT_VOID); }

void answer_set_keyspace(struct buf *b, struct bytes keyspace)
{
    buf_put_be32(b, RESULT_KEYSPACE);
    wire_put_string(b, keyspace);
}

/* All columns from one table: its name is then written once. */
static bool is_global(const struct answer_metadata *m)
{
    for (size_t i = 1; i < m->columns_count; i++)
        if (strcmp(m->columns[i].keyspace, m->columns[0].keyspace) != 0 ||
            strcmp(m->columns[i].table, m->columns[0].table) != 0)
            return false;
    return m->columns_count > 0;
}

static void put_table(struct buf *b, const struct answer_column *column)
{
    wire_put_string(b, bytes_text(column->keyspace));
    wire_put_string(b, bytes_text(column->table));
}

static void put_columns(struct buf *b, uint8_t version, const struct answer_metadata *m,
                        bool global)
{
    if (global)
        put_table(b, &m->columns[0]);
    for (size_t i = 0; i < m->columns_count; i++) {
        if (!global)
            put_table(b, &m->columns[i]);
        wire_put_string(b, bytes_text(m->columns[i].name));
        wire_put_type(b, version, m->columns[i].type);
    }
}

/* Metadata of rows; the caller learns where flags and paging state belong. */
static void put_metadata(struct rows_writer *w, uint8_t version, const struct answer_metadata *m)
{
    struct buf *b = w->out;
    bool has_new_id = version >= WIRE_V5 && m->new_id.size;
    bool is_none = m->is_skipped || !m->columns_count;
    ensure(!(has_new_id && is_none));
    bool global = !is_none && is_global(m);
    uint32_t flags =
        (global ? META_GLOBAL : 0) | (is_none ? META_NONE : 0) | (has_new_id ? META_CHANGED : 0);
    w->flags_at = b->size;
    buf_put_be32(b, flags);
    buf_put_be32(b, (uint32_t)m->columns_count);
    w->state_at = b->size;
    if (has_new_id)
        wire_put_short_bytes(b, m->new_id);
    if (!is_none)
        put_columns(b, version, m, global);
}

void answer_rows_begin(struct rows_writer *w, struct buf *b, uint8_t version,
                       const struct answer_metadata *m)
{
    *w = (struct rows_writer){ .out = b };
    buf_put_be32(b, RESULT_ROWS);
    put_metadata(w, version, m);
    w->count_at = b->size;
    buf_put_be32(b, 0);
}

void answer_rows_finish(struct rows_writer *w, uint32_t rows_count, struct bytes paging_state)
{
    ensure(rows_count <= INT32_MAX);
    put_be32(w->out->data + w->count_at, rows_count);
    if (!paging_state.size)
        return;
    ensure(paging_state.size <= INT32_MAX);
    size_t tail = w->out->size - w->state_at, room = 4 + paging_state.size;
    (void)buf_take(w->out, room);
    uint8_t *at = w->out->data + w->state_at;
    memmove(at + room, at, tail);
    put_be32(at, (uint32_t)paging_state.size);
    memcpy(at + 4, paging_state.data, paging_state.size);
    uint8_t *flags = w->out->data + w->flags_at;
    put_be32(flags, get_be32(flags) | META_MORE);
}

static void put_bind_metadata(struct buf *b, uint8_t version, const struct answer_prepared *p)
{
    bool global = is_global(&p->bind);
    buf_put_be32(b, global ? META_GLOBAL : 0);
    buf_put_be32(b, (uint32_t)p->bind.columns_count);
    buf_put_be32(b, (uint32_t)p->keys_count);
    for (size_t i = 0; i < p->keys_count; i++)
        buf_put_be16(b, p->key_positions[i]);
    put_columns(b, version, &p->bind, global);
}

void answer_prepared_encode(struct buf *b, uint8_t version, const struct answer_prepared *p)
{
    buf_put_be32(b, RESULT_PREPARED);
    wire_put_short_bytes(b, p->id);
    if (version >= WIRE_V5)
        wire_put_short_bytes(b, p->metadata_id);
    put_bind_metadata(b, version, p);
    struct rows_writer w = { .out = b };
    put_metadata(&w, version, &p->rows);
}

/* ---- schema changes and events ---- */

static void put_schema(struct buf *b, const struct schema_event *e)
{
    wire_put_string(b, bytes_text(e->change));
    wire_put_string(b, bytes_text(e->target));
    wire_put_string(b, e->keyspace);
    if (e->name.size)
        wire_put_string(b, e->name);
}

void answer_schema_change(struct buf *b, const struct schema_event *e)
{
    buf_put_be32(b, RESULT_SCHEMA);
    put_schema(b, e);
}

void event_schema(struct buf *b, const struct schema_event *e)
{
    wire_put_string(b, bytes_text("SCHEMA_CHANGE"));
    put_schema(b, e);
}

void event_node(struct buf *b, const char *kind, const char *change, struct bytes ip, uint16_t port)
{
    ensure(ip.size == 4 || ip.size == 16);
    wire_put_string(b, bytes_text(kind));
    wire_put_string(b, bytes_text(change));
    buf_put_u8(b, (uint8_t)ip.size);
    buf_put_bytes(b, ip);
    buf_put_be32(b, port);
}
