/* notation.c - the protocol's primitive notations on top of base/buf.h.
 *
 * Lengths are two bytes for names and ids, four for everything that a user stores.  A reader that
 * meets a length beyond the end, or text that is not UTF-8, leaves its cursor bad; the decoder of
 * the body asks once at its end.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"
#include "wire/frame.h"

void wire_put_string(struct buf *b, struct bytes text)
{
    ensure(text.size <= UINT16_MAX);
    buf_put_be16(b, (uint16_t)text.size);
    buf_put_bytes(b, text);
}

void wire_put_bytes(struct buf *b, struct bytes value)
{
    ensure(value.size <= INT32_MAX);
    buf_put_be32(b, (uint32_t)value.size);
    buf_put_bytes(b, value);
}

void wire_put_long_string(struct buf *b, struct bytes text) { wire_put_bytes(b, text); }

void wire_put_short_bytes(struct buf *b, struct bytes id) { wire_put_string(b, id); }

void wire_put_null(struct buf *b) { buf_put_be32(b, UINT32_MAX); }

void wire_put_value(struct buf *b, struct value v)
{
    if (v.state == VALUE_SET)
        wire_put_bytes(b, v.bytes);
    else
        buf_put_be32(b, v.state == VALUE_NULL ? UINT32_MAX : UINT32_MAX - 1);
}

static struct bytes text_checked(struct cursor *c, struct bytes text)
{
    if (text.size && !utf8_valid(text)) {
        c->bad = true;
        return (struct bytes){ 0 };
    }
    return text;
}

struct bytes wire_short_bytes(struct cursor *c)
{
    size_t size = cursor_be16(c);
    return cursor_bytes(c, size);
}

struct bytes wire_string(struct cursor *c) { return text_checked(c, wire_short_bytes(c)); }

struct bytes wire_long_string(struct cursor *c)
{
    uint32_t size = cursor_be32(c);
    return text_checked(c, cursor_bytes(c, size)); /* a negative length is beyond every end */
}

struct value wire_value(struct cursor *c)
{
    int32_t size = (int32_t)cursor_be32(c);
    if (size >= 0)
        return (struct value){ VALUE_SET, cursor_bytes(c, (size_t)size) };
    if (size < -2)
        c->bad = true;
    return (struct value){ size == -2 ? VALUE_UNSET : VALUE_NULL, { 0 } };
}

/* Skips `count` of: a string, then (when `has_value`) [bytes]. */
static void skip_pairs(struct cursor *c, size_t count, bool has_value)
{
    for (size_t i = 0; i < count && !c->bad; i++) {
        (void)wire_string(c);
        if (has_value)
            (void)wire_value(c);
    }
}

static struct bytes between(const uint8_t *from, const struct cursor *c)
{
    return c->bad ? (struct bytes){ 0 } : bytes_of(from, (size_t)(c->at - from));
}

enum err wire_prefix(const struct wire_envelope *e, struct cursor *body, struct bytes *warnings,
                     struct bytes *payload)
{
    struct cursor c = cursor_of(e->body);
    bool is_answer = !opcode_is_request(e->opcode);
    struct bytes found_warnings = { 0 }, found_payload = { 0 };
    if (is_answer && (e->flags & WIRE_TRACING))
        (void)cursor_bytes(&c, 16);
    if (is_answer && (e->flags & WIRE_WARNING)) {
        const uint8_t *from = c.at;
        skip_pairs(&c, cursor_be16(&c), false);
        found_warnings = between(from, &c);
    }
    if (e->flags & WIRE_PAYLOAD) {
        const uint8_t *from = c.at;
        skip_pairs(&c, cursor_be16(&c), true);
        found_payload = between(from, &c);
    }
    *body = c;
    if (warnings)
        *warnings = found_warnings;
    if (payload)
        *payload = found_payload;
    return c.bad ? ERR_PROTOCOL : OK;
}

bool wire_payload_has(struct bytes payload, const char *key)
{
    struct cursor c = cursor_of(payload);
    bool is_there = false;
    for (size_t left = payload.size ? cursor_be16(&c) : 0; left && !c.bad && !is_there; left--) {
        is_there = bytes_equal(wire_string(&c), bytes_text(key));
        (void)wire_value(&c);
    }
    return is_there && !c.bad;
}
