/* sample_type.h - random nested types and values of them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "naive_type.h"

static inline const struct type *sample_native(struct prng *prng, bool is_key)
{
    for (;;) {
        enum type_kind kind = sample_kinds[prng_below(prng, array_count(sample_kinds))];
        if (kind != TYPE_COUNTER && !(is_key && kind == TYPE_DURATION))
            return type_native(kind);
    }
}

/* A type that Cassandra allows, up to `depth` deep; what is in it is frozen. */
static inline const struct type *sample_type(struct prng *prng, struct arena *arena, int depth,
                                             bool is_frozen, bool is_key)
{
    static const enum type_kind kinds[] = { TYPE_LIST,  TYPE_SET, TYPE_MAP,
                                            TYPE_TUPLE, TYPE_UDT, TYPE_VECTOR };
    if (depth <= 1 || prng_chance(prng, 30))
        return sample_native(prng, is_key);
    struct type *type = arena_new(arena, struct type);
    type->kind = kinds[prng_below(prng, array_count(kinds))];
    type->is_frozen = is_frozen || type->kind == TYPE_TUPLE || type->kind == TYPE_VECTOR;
    bool is_tuple = type->kind == TYPE_TUPLE || type->kind == TYPE_UDT;
    type->parts_count = is_tuple ? 1 + prng_below(prng, 3) : 1 + (type->kind == TYPE_MAP);
    type->parts = arena_array(arena, const struct type *, type->parts_count);
    for (size_t i = 0; i < type->parts_count; i++) {
        bool is_inner_key =
            is_key || (i == 0 && (type->kind == TYPE_SET || type->kind == TYPE_MAP));
        type->parts[i] = sample_type(prng, arena, depth - 1, true, is_inner_key);
    }
    if (type->kind == TYPE_VECTOR)
        type->dimension = 1 + (uint32_t)prng_below(prng, 3);
    if (type->kind == TYPE_UDT) {
        static const char *const names[] = { "a", "_Quoted \"one", "plain_2" };
        type->keyspace = "ks", type->name = "Udt";
        type->fields = arena_array(arena, const char *, type->parts_count);
        for (size_t i = 0; i < type->parts_count; i++)
            type->fields[i] = names[i];
    }
    return type;
}

/* A valid value in any order; empty ones and missing fields only when asked for, and never where
 * they do not fit. */
static inline void sample_value_of(struct prng *prng, const struct type *type, bool may_be_empty,
                                   struct buf *out)
{
    size_t from = out->size;
    if (type_is_native(type)) {
        do {
            out->size = from;
            sample_value(prng, type->kind, out);
        } while (out->size == from && !may_be_empty && type->kind != TYPE_TEXT &&
                 type->kind != TYPE_ASCII && type->kind != TYPE_BLOB);
        return;
    }
    bool is_tuple = type->kind == TYPE_TUPLE || type->kind == TYPE_UDT;
    if (is_tuple && may_be_empty && prng_chance(prng, 8))
        return;
    bool is_fixed = naive_fixed(type->parts[0]) > 0;
    size_t count = type->kind == TYPE_VECTOR ? type->dimension : prng_below(prng, 4);
    if (is_tuple) {
        uint64_t missing = may_be_empty ? prng_below(prng, 2) : 0;
        count = type->parts_count - (type->parts_count > missing ? missing : 0);
    } else if (type->kind != TYPE_VECTOR) {
        buf_put_be32(out, (uint32_t)count);
        count *= type->parts_count;
    }
    for (size_t i = 0; i < count; i++) {
        struct buf part = { 0 };
        if (is_tuple && prng_chance(prng, 25)) {
            buf_put_be32(out, UINT32_MAX);
            continue;
        }
        bool part_may = may_be_empty && !(type->kind == TYPE_VECTOR && is_fixed);
        sample_value_of(prng, type->parts[i % type->parts_count], part_may, &part);
        if (type->kind != TYPE_VECTOR)
            buf_put_be32(out, (uint32_t)part.size);
        else if (!is_fixed)
            buf_put_vint(out, part.size);
        buf_put_bytes(out, buf_bytes(&part));
        buf_deinit(&part);
    }
}
