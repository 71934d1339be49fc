/* type_build.c - parts become a value.
 *
 *     parts ──> sort, keep one of equals (set, map) ──> count, each behind its length
 *
 * The sort is a merge sort from the bottom, since it has to be stable: of equal keys the first one
 * stays, and the last value.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/type_build.h"

#include "model/type_parts.h"

/* An element, or a key and its value. */
struct entry {
    struct bytes key, value;
};

void type_build_begin(struct type_build *e, struct arena *arena, const struct type *type)
{
    *e = (struct type_build){ .type = type, .arena = arena, .parts = buf_in(arena) };
}

void type_build_part(struct type_build *e, struct bytes part)
{
    if (!part.data)
        part = bytes_of("", 0);
    buf_put(&e->parts, &part, sizeof part);
}

void type_build_null(struct type_build *e)
{
    struct bytes part = { 0 };
    buf_put(&e->parts, &part, sizeof part);
}

/* The sorted runs [at, middle) and [middle, end) of `from` become one in `to`. */
static void merge_runs(const struct type *type, const struct entry *from, struct entry *to,
                       size_t middle, size_t end)
{
    size_t left = 0, right = middle;
    for (size_t i = 0; i < end; i++) {
        bool is_right = left == middle ||
                        (right < end && type_compare(type, from[right].key, from[left].key) < 0);
        to[i] = is_right ? from[right++] : from[left++];
    }
}

/* Stable; the result is in one of the two arrays. */
static struct entry *sort(const struct type *type, struct entry *from, struct entry *to,
                          size_t count)
{
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t at = 0; at < count; at += 2 * run) {
            size_t left = count - at;
            merge_runs(type, from + at, to + at, u64_min(run, left), u64_min(2 * run, left));
        }
        struct entry *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

static size_t unique(const struct type *type, struct entry *entries, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && type_compare(type, entries[kept - 1].key, entries[i].key) == 0)
            entries[kept - 1].value = entries[i].value;
        else
            entries[kept++] = entries[i];
    }
    return kept;
}

static void put_part(struct bytes part, struct buf *out)
{
    buf_put_be32(out, part.data ? (uint32_t)part.size : UINT32_MAX);
    if (part.data)
        buf_put_bytes(out, part);
}

/* A set or a map. */
static void put_sorted(const struct type *type, struct arena *arena, const struct bytes *parts,
                       size_t count, struct buf *out)
{
    size_t width = type->parts_count, entries_count = count / width;
    struct entry *entries = arena_array(arena, struct entry, entries_count);
    struct entry *other = arena_array(arena, struct entry, entries_count);
    for (size_t i = 0; i < entries_count; i++)
        entries[i] = (struct entry){ parts[i * width], parts[i * width + width - 1] };
    entries = sort(type->parts[0], entries, other, entries_count);
    entries_count = unique(type->parts[0], entries, entries_count);
    buf_put_be32(out, (uint32_t)entries_count);
    for (size_t i = 0; i < entries_count; i++) {
        put_part(entries[i].key, out);
        if (width == 2)
            put_part(entries[i].value, out);
    }
}

static void put_vector(const struct type *type, const struct bytes *parts, size_t count,
                       struct buf *out)
{
    size_t fixed;
    bool is_fixed = type_sstable_fixed_bytes(type->parts[0], &fixed);
    for (size_t i = 0; i < count; i++) {
        if (!is_fixed)
            buf_put_vint(out, parts[i].size);
        buf_put_bytes(out, parts[i]);
    }
}

static bool parts_fit(const struct type *type, const struct bytes *parts, size_t count)
{
    size_t fixed;
    bool is_vector = type->kind == TYPE_VECTOR;
    bool is_fixed = is_vector && type_sstable_fixed_bytes(type->parts[0], &fixed);
    if (is_vector ? count != type->dimension
                  : count > INT32_MAX || (type->kind == TYPE_MAP && count % 2))
        return false;
    if (type_is_tuple(type))
        return count <= type->parts_count;
    for (size_t i = 0; i < count; i++)
        if (!parts[i].data || (is_fixed && parts[i].size != fixed))
            return false;
    return true;
}

enum err type_build_end(struct type_build *e, struct buf *out)
{
    const struct type *type = e->type;
    const struct bytes *parts = (const void *)e->parts.data;
    size_t count = e->parts.size / sizeof *parts;
    if (!parts_fit(type, parts, count))
        return ERR_INVALID;
    if (type->kind == TYPE_SET || type->kind == TYPE_MAP) {
        put_sorted(type, e->arena, parts, count, out);
    } else if (type->kind == TYPE_VECTOR) {
        put_vector(type, parts, count, out);
    } else {
        if (type->kind == TYPE_LIST)
            buf_put_be32(out, (uint32_t)count);
        for (size_t i = 0; i < count; i++)
            put_part(parts[i], out);
    }
    return OK;
}

/* Are sets and maps in this collection or vector sorted, with each element once? */
static bool is_canonical(const struct type *type, struct bytes value)
{
    if (!type_is_collection(type) && type->kind != TYPE_VECTOR)
        return true;
    struct type_parts parts = type_parts_of(type, value);
    const struct type *part_type;
    struct bytes part, before = { 0 };
    while (type_parts_next(&parts, &part_type, &part)) {
        bool is_key = type->kind == TYPE_SET || (type->kind == TYPE_MAP && parts.at % 2);
        if (!is_canonical(part_type, part) ||
            (is_key && before.data && type_compare(part_type, before, part) >= 0))
            return false;
        before = is_key ? part : before;
    }
    return true;
}

struct bytes type_canonical(struct arena *arena, const struct type *type, struct bytes value)
{
    if (is_canonical(type, value))
        return value;
    struct type_parts parts = type_parts_of(type, value);
    struct type_build e;
    struct buf out = buf_in(arena);
    const struct type *part_type;
    struct bytes part;
    type_build_begin(&e, arena, type);
    while (type_parts_next(&parts, &part_type, &part))
        type_build_part(&e, type_canonical(arena, part_type, part));
    enum err err = type_build_end(&e, &out);
    ensure(!err); /* the value is valid, so its parts fit */
    return buf_bytes(&out);
}
