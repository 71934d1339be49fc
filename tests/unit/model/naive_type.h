/* naive_type.h - a naive reading of the facts (sstable 8.2 to 8.4) that knows nothing of
 * type_parts.h: a value becomes a tree of parts first.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sample.h"

/* Facts 8.2, written down once more. */
static inline size_t naive_fixed(const struct type *type)
{
    switch ((unsigned)type->kind) {
    case TYPE_BOOLEAN:
        return 1;
    case TYPE_INT:
    case TYPE_FLOAT:
        return 4;
    case TYPE_BIGINT:
    case TYPE_DOUBLE:
    case TYPE_TIMESTAMP:
        return 8;
    case TYPE_UUID:
    case TYPE_TIMEUUID:
        return 16;
    case TYPE_VECTOR:
        return type->dimension * naive_fixed(type->parts[0]);
    default:
        return 0;
    }
}

/* A value as a tree. */
struct naive {
    bool is_valid, is_null;
    struct bytes bytes;
    size_t count;
    struct naive *parts;
};

static inline struct naive naive_of(struct arena *arena, const struct type *type, struct bytes b);

/* An i32 length and as many bytes; false when they are not there. */
static inline bool naive_sized(struct bytes *rest, struct bytes *out, bool *is_null)
{
    if (rest->size < 4)
        return false;
    int32_t size = (int32_t)get_be32(rest->data);
    *is_null = size < 0;
    size_t bytes = size < 0 ? 0 : (size_t)size;
    if (rest->size - 4 < bytes)
        return false;
    *out = bytes_of(rest->data + 4, bytes);
    *rest = bytes_of(rest->data + 4 + bytes, rest->size - 4 - bytes);
    return true;
}

static inline bool naive_vector_part(const struct type *part, struct bytes *rest, struct bytes *out)
{
    size_t fixed = naive_fixed(part), head = 0;
    if (!fixed) {
        struct cursor c = cursor_of(*rest);
        uint64_t size = cursor_vint(&c);
        if (c.bad || size > cursor_left(&c))
            return false;
        head = rest->size - cursor_left(&c), fixed = size;
    }
    if (rest->size < head + fixed)
        return false;
    *out = bytes_of(rest->data + head, fixed);
    *rest = bytes_of(rest->data + head + fixed, rest->size - head - fixed);
    return true;
}

static inline bool naive_parts(struct arena *arena, const struct type *type, struct naive *out)
{
    struct bytes rest = out->bytes;
    bool is_tuple = type->kind == TYPE_TUPLE || type->kind == TYPE_UDT;
    bool is_vector = type->kind == TYPE_VECTOR;
    out->count = is_vector ? type->dimension : type->parts_count;
    if (!is_tuple && !is_vector) {
        if (rest.size < 4 || get_be32(rest.data) > rest.size / 4)
            return false;
        out->count = get_be32(rest.data) * type->parts_count;
        rest = bytes_of(rest.data + 4, rest.size - 4);
    }
    out->parts = arena_array(arena, struct naive, out->count);
    for (size_t i = 0; i < out->count; i++) {
        const struct type *part_type = type->parts[i % type->parts_count];
        struct bytes part;
        bool is_null = false;
        if (is_tuple && rest.size == 0)
            is_null = true;
        else if (is_vector ? !naive_vector_part(part_type, &rest, &part)
                           : !naive_sized(&rest, &part, &is_null))
            return false;
        if (is_null && !is_tuple)
            return false;
        out->parts[i] = is_null ? (struct naive){ .is_valid = true, .is_null = true }
                                : naive_of(arena, part_type, part);
        if (!out->parts[i].is_valid)
            return false;
    }
    return rest.size == 0;
}

static inline struct naive naive_of(struct arena *arena, const struct type *type, struct bytes b)
{
    struct naive out = { .bytes = b };
    if (type_is_native(type))
        out.is_valid = type_validate(type, b) == OK;
    else if (b.size == 0)
        out.is_valid = type->kind == TYPE_TUPLE || type->kind == TYPE_UDT;
    else
        out.is_valid = naive_parts(arena, type, &out);
    return out;
}

static inline int naive_compare(const struct type *type, const struct naive *a,
                                const struct naive *b)
{
    if (a->is_null || b->is_null)
        return b->is_null - a->is_null;
    if (type_is_native(type) || a->bytes.size == 0 || b->bytes.size == 0)
        return type_is_native(type) ? type_compare(type, a->bytes, b->bytes)
                                    : (a->bytes.size > 0) - (b->bytes.size > 0);
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        int c = naive_compare(type->parts[i % type->parts_count], &a->parts[i], &b->parts[i]);
        if (c)
            return c;
    }
    return (a->count > b->count) - (a->count < b->count);
}
