/* types.c - types as the protocol describes them: an option id and what belongs to it.
 *
 * What a version has no id for travels as CUSTOM with the name of Cassandra's Java class: vectors
 * always, duration before v5.  Read back, classes that we know become their types (type_java.h);
 * any other stays a custom type with its name, whose values are bytes.
 *
 * Old servers describe text by the legacy id 0x0A.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/type_java.h"
#include "wire/answer.h"

enum { DEPTH_MAX = 16, TEXT_LEGACY = 0x0A, PART_BYTES_MIN = 2 };

static void put_custom(struct buf *b, const struct type *t)
{
    buf_put_be16(b, TYPE_CUSTOM);
    size_t length_at = b->size;
    (void)buf_take(b, 2);
    type_java_print(t, false, b);
    if (b->size - length_at - 2 > UINT16_MAX) { /* a vector of user types with very many fields */
        b->size = length_at + 2;
        buf_put_text(b, TYPE_CLASS_PREFIX "BytesType");
    }
    size_t length = b->size - length_at - 2;
    put_be16(b->data + length_at, (uint16_t)length);
}

void wire_put_type(struct buf *b, uint8_t version, const struct type *t)
{
    bool is_custom = t->kind == TYPE_CUSTOM || t->kind == TYPE_VECTOR || t->kind == TYPE_EMPTY ||
                     (t->kind == TYPE_DURATION && version < WIRE_V5);
    if (is_custom) {
        put_custom(b, t);
        return;
    }
    buf_put_be16(b, (uint16_t)t->kind);
    if (t->kind == TYPE_UDT) {
        wire_put_string(b, bytes_text(t->keyspace));
        wire_put_string(b, bytes_text(t->name));
    }
    if (t->kind == TYPE_UDT || t->kind == TYPE_TUPLE)
        buf_put_be16(b, (uint16_t)t->parts_count);
    for (size_t i = 0; i < t->parts_count; i++) {
        if (t->kind == TYPE_UDT)
            wire_put_string(b, bytes_text(t->fields[i]));
        wire_put_type(b, version, t->parts[i]);
    }
}

/* ---- the way back ---- */

/* A class that says nothing to us is a custom type, whatever its name. */
static const struct type *custom_take(struct cursor *c, struct arena *arena)
{
    struct bytes name = wire_string(c);
    const struct type *known;
    bool is_reversed;
    if (type_java_parse(arena, name, &known, &is_reversed) == OK && !is_reversed)
        return known;
    struct type *t = arena_new(arena, struct type);
    t->kind = TYPE_CUSTOM;
    t->name = arena_text(arena, name);
    return t;
}

static enum err type_take(struct cursor *c, struct arena *arena, unsigned depth,
                          const struct type **out);

/* How many parts a compound has; a lie leaves the cursor bad. */
static size_t parts_count(struct cursor *c, enum type_kind kind)
{
    if (kind == TYPE_LIST || kind == TYPE_SET)
        return 1;
    if (kind == TYPE_MAP)
        return 2;
    size_t count = cursor_be16(c);
    c->bad |= count > cursor_left(c) / PART_BYTES_MIN;
    return c->bad ? 0 : count;
}

static enum err compound_take(struct cursor *c, struct arena *arena, unsigned depth, struct type *t)
{
    if (t->kind == TYPE_UDT) {
        t->keyspace = arena_text(arena, wire_string(c));
        t->name = arena_text(arena, wire_string(c));
    }
    t->parts_count = parts_count(c, t->kind);
    t->parts = arena_array(arena, const struct type *, t->parts_count);
    if (t->kind == TYPE_UDT)
        t->fields = arena_array(arena, const char *, t->parts_count);
    for (size_t i = 0; i < t->parts_count; i++) {
        if (t->kind == TYPE_UDT)
            t->fields[i] = arena_text(arena, wire_string(c));
        enum err err = type_take(c, arena, depth + 1, &t->parts[i]);
        if (err)
            return err;
    }
    return c->bad ? ERR_PROTOCOL : OK;
}

static enum err type_take(struct cursor *c, struct arena *arena, unsigned depth,
                          const struct type **out)
{
    uint16_t id = cursor_be16(c);
    if (c->bad || depth > DEPTH_MAX)
        return ERR_PROTOCOL;
    enum type_kind kind = id == TEXT_LEGACY ? TYPE_TEXT : (enum type_kind)id;
    if (kind == TYPE_CUSTOM) {
        *out = custom_take(c, arena);
        return c->bad ? ERR_PROTOCOL : OK;
    }
    *out = type_native(kind);
    if (*out)
        return OK;
    if (kind != TYPE_LIST && kind != TYPE_SET && kind != TYPE_MAP && kind != TYPE_TUPLE &&
        kind != TYPE_UDT)
        return ERR_PROTOCOL;
    struct type *t = arena_new(arena, struct type);
    t->kind = kind;
    *out = t;
    return compound_take(c, arena, depth, t);
}

enum err wire_type(struct cursor *c, struct arena *arena, const struct type **out)
{
    return type_take(c, arena, 1, out);
}
