/* types.c - types as the protocol describes them: an option id and what belongs to it.
 *
 * What a version has no id for travels as CUSTOM with the name of Cassandra's Java class: vectors
 * always, duration before v5.  Read back, classes that are one native type or a vector of one
 * become that type; any other stays a custom type with its name, whose values are bytes.
 *
 * Old servers describe text by the legacy id 0x0A.
 */
// SPDX-License-Identifier: Apache-2.0
#include "wire/answer.h"

#define CLASS_PREFIX "org.apache.cassandra.db.marshal."

enum { DEPTH_MAX = 16, TEXT_LEGACY = 0x0A, PART_BYTES_MIN = 2 };

static const char *native_class(enum type_kind kind)
{
    static const struct {
        enum type_kind kind;
        const char *name;
    } classes[] = {
#define X(kind, id, name, size, java) { TYPE_##kind, java },
        TYPE_NATIVE_LIST(X)
#undef X
    };
    for (size_t i = 0; i < array_count(classes); i++)
        if (classes[i].kind == kind)
            return classes[i].name;
    return NULL;
}

static const char *compound_class(enum type_kind kind)
{
    static const struct {
        enum type_kind kind;
        const char *name;
    } classes[] = {
        { TYPE_LIST, "ListType" },   { TYPE_MAP, "MapType" },       { TYPE_SET, "SetType" },
        { TYPE_TUPLE, "TupleType" }, { TYPE_VECTOR, "VectorType" }, { TYPE_UDT, "UserType" },
    };
    for (size_t i = 0; i < array_count(classes); i++)
        if (classes[i].kind == kind)
            return classes[i].name;
    return NULL;
}

static void put_hex(struct buf *b, const char *text)
{
    for (; *text; text++)
        buf_printf(b, "%02x", (unsigned char)*text);
}

/* The Java class: `ListType(part)`, `VectorType(part , 3)`, `UserType(ks,hex name,hex field:part)`.
 */
static void put_class(struct buf *b, const struct type *t)
{
    if (t->kind == TYPE_CUSTOM) {
        buf_put_text(b, t->name);
        return;
    }
    const char *native = native_class(t->kind);
    const char *name = native ? native : compound_class(t->kind);
    ensure(name);
    buf_put_text(b, CLASS_PREFIX);
    buf_put_text(b, name);
    if (native)
        return;
    buf_put_u8(b, '(');
    if (t->kind == TYPE_UDT) {
        buf_printf(b, "%s,", t->keyspace);
        put_hex(b, t->name);
    }
    for (size_t i = 0; i < t->parts_count; i++) {
        if (i || t->kind == TYPE_UDT)
            buf_put_u8(b, ',');
        if (t->kind == TYPE_UDT) {
            put_hex(b, t->fields[i]);
            buf_put_u8(b, ':');
        }
        put_class(b, t->parts[i]);
    }
    if (t->kind == TYPE_VECTOR)
        buf_printf(b, " , %u", t->dimension);
    buf_put_u8(b, ')');
}

static void put_custom(struct buf *b, const struct type *t)
{
    buf_put_be16(b, TYPE_CUSTOM);
    size_t length_at = b->size;
    (void)buf_take(b, 2);
    put_class(b, t);
    size_t length = b->size - length_at - 2;
    ensure(length <= UINT16_MAX);
    put_be16(b->data + length_at, (uint16_t)length);
}

void wire_put_type(struct buf *b, uint8_t version, const struct type *t)
{
    bool is_custom = t->kind == TYPE_CUSTOM || t->kind == TYPE_VECTOR ||
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

static bool starts_with(struct bytes text, const char *with)
{
    size_t size = strlen(with);
    return text.size >= size && !memcmp(text.data, with, size);
}

static const struct type *native_by_class(struct bytes name)
{
    static const struct {
        const char *name;
        enum type_kind kind;
    } classes[] = {
#define X(kind, id, name, size, java) { CLASS_PREFIX java, TYPE_##kind },
        TYPE_NATIVE_LIST(X)
#undef X
    };
    for (size_t i = 0; i < array_count(classes); i++)
        if (bytes_equal(name, bytes_text(classes[i].name)))
            return type_native(classes[i].kind);
    return NULL;
}

static struct bytes trimmed(struct bytes text)
{
    while (text.size && text.data[text.size - 1] == ' ')
        text.size--;
    while (text.size && text.data[0] == ' ')
        text.data++, text.size--;
    return text;
}

/* "...VectorType(<native class> , <dimension>)"; NULL when it is something else. */
static const struct type *vector_by_class(struct bytes name, struct arena *arena)
{
    static const char head[] = CLASS_PREFIX "VectorType(";
    if (!starts_with(name, head) || name.data[name.size - 1] != ')')
        return NULL;
    size_t from = sizeof head - 1, to = name.size - 1;
    const uint8_t *comma = memchr(name.data + from, ',', to - from);
    if (!comma)
        return NULL;
    struct bytes part = trimmed(bytes_of(name.data + from, (size_t)(comma - name.data) - from));
    struct bytes digits = trimmed(bytes_of(comma + 1, to - (size_t)(comma - name.data) - 1));
    uint32_t dimension = 0;
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9' || dimension > UINT16_MAX)
            return NULL;
        dimension = dimension * 10 + digits.data[i] - '0';
    }
    const struct type *native = native_by_class(part);
    if (!native || !dimension)
        return NULL;
    struct type *t = arena_new(arena, struct type);
    t->kind = TYPE_VECTOR;
    t->dimension = dimension;
    t->parts_count = 1;
    t->parts = arena_array(arena, const struct type *, 1);
    t->parts[0] = native;
    return t;
}

static const struct type *custom_take(struct cursor *c, struct arena *arena)
{
    struct bytes name = wire_string(c);
    const struct type *known = native_by_class(name);
    if (!known)
        known = vector_by_class(name, arena);
    if (known)
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
    *out = native_class(kind) ? type_native(kind) : NULL;
    if (*out)
        return OK;
    if (!compound_class(kind) || kind == TYPE_VECTOR)
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
