/* request_encode.c - the bodies of requests, encoded: what the driver sends.
 *
 * The mirror of request.c.  What is written is what params->flags announces; what a version does
 * not know must not be asked of it, which is ensured here.
 */
// SPDX-License-Identifier: Apache-2.0
#include "wire/request.h"

enum { PREPARE_KEYSPACE = 0x01 };

static void values_put(struct buf *b, const struct query_params *p)
{
    ensure(p->values_count <= UINT16_MAX);
    buf_put_be16(b, (uint16_t)p->values_count);
    for (size_t i = 0; i < p->values_count; i++) {
        if (p->flags & PARAM_NAMES)
            wire_put_string(b, p->names[i]);
        wire_put_value(b, p->values[i]);
    }
}

static void params_put(struct buf *b, uint8_t version, const struct query_params *p)
{
    ensure_after(p->values_count > 0, p->flags & PARAM_VALUES);
    ensure_after(p->flags & PARAM_NAMES, p->names && (p->flags & PARAM_VALUES));
    ensure_after(version < WIRE_V5, !(p->flags & (PARAM_KEYSPACE | PARAM_NOW)));
    buf_put_be16(b, (uint16_t)p->consistency);
    if (version >= WIRE_V5)
        buf_put_be32(b, p->flags);
    else
        buf_put_u8(b, (uint8_t)p->flags);
    if (p->flags & PARAM_VALUES)
        values_put(b, p);
    if (p->flags & PARAM_PAGE_SIZE)
        buf_put_be32(b, (uint32_t)p->page_size);
    if (p->flags & PARAM_PAGING_STATE)
        wire_put_bytes(b, p->paging_state);
    if (p->flags & PARAM_SERIAL)
        buf_put_be16(b, (uint16_t)p->serial);
    if (p->flags & PARAM_TIMESTAMP)
        buf_put_be64(b, (uint64_t)p->timestamp);
    if (p->flags & PARAM_KEYSPACE)
        wire_put_string(b, p->keyspace);
    if (p->flags & PARAM_NOW)
        buf_put_be32(b, (uint32_t)p->now_seconds);
}

void request_query_encode(struct buf *b, uint8_t version, const struct request_query *q)
{
    wire_put_long_string(b, q->text);
    params_put(b, version, &q->params);
}

void request_prepare_encode(struct buf *b, uint8_t version, const struct request_prepare *p)
{
    ensure_after(p->keyspace.size > 0, version >= WIRE_V5);
    wire_put_long_string(b, p->text);
    if (version < WIRE_V5)
        return;
    buf_put_be32(b, p->keyspace.size ? PREPARE_KEYSPACE : 0);
    if (p->keyspace.size)
        wire_put_string(b, p->keyspace);
}

void request_execute_encode(struct buf *b, uint8_t version, const struct request_execute *e)
{
    wire_put_short_bytes(b, e->id);
    if (version >= WIRE_V5)
        wire_put_short_bytes(b, e->metadata_id);
    params_put(b, version, &e->params);
}

static void entry_put(struct buf *b, const struct batch_entry *e)
{
    ensure(e->values_count <= UINT16_MAX);
    buf_put_u8(b, e->is_prepared);
    if (e->is_prepared)
        wire_put_short_bytes(b, e->text_or_id);
    else
        wire_put_long_string(b, e->text_or_id);
    buf_put_be16(b, (uint16_t)e->values_count);
    for (size_t i = 0; i < e->values_count; i++)
        wire_put_value(b, e->values[i]);
}

void request_batch_encode(struct buf *b, uint8_t version, const struct request_batch *batch)
{
    ensure(batch->entries_count <= UINT16_MAX);
    buf_put_u8(b, (uint8_t)batch->kind);
    buf_put_be16(b, (uint16_t)batch->entries_count);
    for (size_t i = 0; i < batch->entries_count; i++)
        entry_put(b, &batch->entries[i]);
    params_put(b, version, &batch->params);
}

void request_startup_encode(struct buf *b, const struct request_startup *s)
{
    ensure(s->options_count <= UINT16_MAX);
    buf_put_be16(b, (uint16_t)s->options_count);
    for (size_t i = 0; i < s->options_count; i++) {
        wire_put_string(b, s->options[i].key);
        wire_put_string(b, s->options[i].value);
    }
}

void request_register_encode(struct buf *b, const struct request_register *r)
{
    buf_put_be16(b, (uint16_t)(r->topology + r->status + r->schema));
    if (r->topology)
        wire_put_string(b, bytes_text("TOPOLOGY_CHANGE"));
    if (r->status)
        wire_put_string(b, bytes_text("STATUS_CHANGE"));
    if (r->schema)
        wire_put_string(b, bytes_text("SCHEMA_CHANGE"));
}
