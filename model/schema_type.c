/* schema_type.c - copies of types, changed on the way or not; and types as bytes.
 *
 *     type     kind | of a native type nothing more
 *                   | frozen, dimension, name, keyspace, parts [field, type]
 *
 * Names that a kind has not are empty.  A copy is made by one walk: what differs is what becomes of
 * a user type in it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/schema_type.h"

/* Bytes that a part takes at least: its field's name, its kind. */
enum { PART_LEAST = 2 };

struct copying {
    struct arena *arena;
    const struct type *udt; /* takes the place of what has its name; NULL: nothing does */
    bool expands;
};

static bool is_named(const struct type *type, const char *keyspace, const char *name)
{
    return type->kind == TYPE_UDT && strcmp(type->name, name) == 0 &&
           strcmp(type->keyspace, keyspace) == 0;
}

static const struct type *copy(const struct copying *how, const struct type *type)
{
    if (type_is_native(type))
        return type;
    const struct type *from = type;
    if (how->udt && is_named(type, how->udt->keyspace, how->udt->name))
        from = type->is_frozen ? type_frozen(how->arena, how->udt) : how->udt;
    struct type *to = arena_new(how->arena, struct type);
    *to = *from;
    if (from->keyspace)
        to->keyspace = arena_text(how->arena, bytes_text(from->keyspace));
    if (from->name)
        to->name = arena_text(how->arena, bytes_text(from->name));
    to->parts = arena_array(how->arena, const struct type *, from->parts_count);
    to->fields = from->fields ? arena_array(how->arena, const char *, from->parts_count) : NULL;
    for (size_t i = 0; i < from->parts_count; i++) {
        to->parts[i] = copy(how, from->parts[i]);
        if (to->fields)
            to->fields[i] = arena_text(how->arena, bytes_text(from->fields[i]));
    }
    if (how->expands && to->kind == TYPE_UDT) {
        to->kind = TYPE_TUPLE;
        to->keyspace = to->name = NULL;
        to->fields = NULL;
        to->is_frozen = true;
    }
    return to;
}

const struct type *type_copy(struct arena *arena, const struct type *type)
{
    return copy(&(struct copying){ .arena = arena }, type);
}

const struct type *type_redefined(struct arena *arena, const struct type *type,
                                  const struct type *udt)
{
    return copy(&(struct copying){ .arena = arena, .udt = udt }, type);
}

const struct type *type_expanded(struct arena *arena, const struct type *type)
{
    return copy(&(struct copying){ .arena = arena, .expands = true }, type);
}

bool type_uses(const struct type *type, const char *keyspace, const char *name)
{
    if (is_named(type, keyspace, name))
        return true;
    for (size_t i = 0; i < type->parts_count; i++)
        if (type_uses(type->parts[i], keyspace, name))
            return true;
    return false;
}

bool type_same_definition(const struct type *a, const struct type *b)
{
    if (strcmp(a->name, b->name) != 0 || strcmp(a->keyspace, b->keyspace) != 0 ||
        a->parts_count != b->parts_count)
        return false;
    for (size_t i = 0; i < a->parts_count; i++)
        if (strcmp(a->fields[i], b->fields[i]) != 0 || !type_equal(a->parts[i], b->parts[i]))
            return false;
    return true;
}

static void put_name(const char *name, struct buf *out)
{
    buf_put_sized(out, bytes_text(name ? name : ""));
}

void type_encode(const struct type *type, struct buf *out)
{
    buf_put_u8(out, (uint8_t)type->kind);
    if (type_is_native(type))
        return;
    buf_put_u8(out, type->is_frozen);
    buf_put_vint(out, type->dimension);
    put_name(type->name, out);
    put_name(type->keyspace, out);
    buf_put_vint(out, type->parts_count);
    for (size_t i = 0; i < type->parts_count; i++) {
        put_name(type->fields ? type->fields[i] : NULL, out);
        type_encode(type->parts[i], out);
    }
}

/* A text without a zero in it, not empty where one is wanted; NULL where none is. */
static const char *take_name(struct cursor *c, struct arena *arena, bool is_wanted)
{
    struct bytes text = cursor_sized(c);
    c->bad |= (text.size > 0) != is_wanted || text.size > UINT16_MAX ||
              (text.size && memchr(text.data, 0, text.size));
    return c->bad || !is_wanted ? NULL : arena_text(arena, text);
}

static bool counts_fit(const struct type *type)
{
    switch (type->kind) {
    case TYPE_LIST:
    case TYPE_SET:
        return type->parts_count == 1 && !type->dimension;
    case TYPE_MAP:
        return type->parts_count == 2 && !type->dimension;
    case TYPE_TUPLE:
    case TYPE_UDT:
        return type->parts_count >= 1 && type->parts_count <= TYPE_PARTS_MAX && !type->dimension;
    case TYPE_VECTOR:
        return type->parts_count == 1 && type->dimension >= 1 &&
               type->dimension <= TYPE_DIMENSION_MAX;
    case TYPE_CUSTOM:
    case TYPE_EMPTY:
        return type->parts_count == 0 && !type->dimension;
#define X(kind, id, name, size, java) case TYPE_##kind:
        TYPE_NATIVE_LIST(X)
#undef X
        break;
    }
    return false;
}

static const struct type *take(struct cursor *c, struct arena *arena, unsigned depth);

static void take_parts(struct cursor *c, struct arena *arena, unsigned depth, struct type *out)
{
    out->parts = arena_array(arena, const struct type *, out->parts_count);
    if (out->kind == TYPE_UDT)
        out->fields = arena_array(arena, const char *, out->parts_count);
    for (size_t i = 0; i < out->parts_count && !c->bad; i++) {
        const char *field = take_name(c, arena, out->kind == TYPE_UDT);
        if (out->fields)
            out->fields[i] = field;
        out->parts[i] = take(c, arena, depth + 1);
    }
}

static const struct type *take(struct cursor *c, struct arena *arena, unsigned depth)
{
    enum type_kind kind = (enum type_kind)cursor_u8(c);
    const struct type *native = c->bad ? NULL : type_native(kind);
    if (native || c->bad)
        return native;
    struct type *type = arena_new(arena, struct type);
    uint8_t frozen = cursor_u8(c);
    uint64_t dimension = cursor_vint(c);
    c->bad |= depth >= TYPE_DEPTH_MAX || frozen > 1 || dimension > TYPE_DIMENSION_MAX;
    type->kind = kind;
    type->is_frozen = frozen;
    type->dimension = (uint32_t)dimension;
    type->name = take_name(c, arena, kind == TYPE_UDT || kind == TYPE_CUSTOM);
    type->keyspace = take_name(c, arena, kind == TYPE_UDT);
    type->parts_count = cursor_count(c, PART_LEAST);
    c->bad |= !counts_fit(type);
    if (!c->bad)
        take_parts(c, arena, depth, type);
    return c->bad ? NULL : type;
}

const struct type *type_decode(struct cursor *c, struct arena *arena) { return take(c, arena, 0); }
