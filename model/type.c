/* type.c - what types there are, which of them may stand in which, and what a column of a type that
 * is not frozen is made of.
 *
 *     map<text, frozen<list<int>>>     MAP ( TEXT, LIST frozen ( INT ) )
 *
 * Native types are one static table, indexed by option id.  Tuples and vectors are always frozen,
 * and what is in a frozen type is frozen too.  Their text is elsewhere: type_cql.c, type_java.c.
 *
 * Types nest up to 16 deep, the fields of UDTs included, so that whatever walks over a type or a
 * value may call itself.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/type.h"

#include "model/scan.h"
#include "model/type_java.h"

enum { NATIVE_END = 0x16 };

static const struct type natives[NATIVE_END] = {
#define X(word, id, text, size, java) [id] = { .kind = TYPE_##word },
    TYPE_NATIVE_LIST(X)
#undef X
};
static const struct {
    const char *name;
    uint8_t fixed_bytes;
} native_facts[NATIVE_END] = {
#define X(word, id, text, size, java) [id] = { text, size },
    TYPE_NATIVE_LIST(X)
#undef X
};

const struct type *type_native(enum type_kind kind)
{
    unsigned id = kind;
    return id > 0 && id < NATIVE_END && natives[id].kind == kind ? &natives[id] : NULL;
}

bool type_is_native(const struct type *type) { return type_native(type->kind) != NULL; }

const struct type *type_by_name(struct bytes name)
{
    for (unsigned id = 1; id < NATIVE_END; id++)
        if (native_facts[id].name && scan_is_word(name, native_facts[id].name))
            return &natives[id];
    return scan_is_word(name, "varchar") ? &natives[TYPE_TEXT] : NULL;
}

static bool text_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool type_equal(const struct type *a, const struct type *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->is_frozen != b->is_frozen || a->dimension != b->dimension ||
        a->parts_count != b->parts_count)
        return false;
    if (!text_equal(a->keyspace, b->keyspace) || !text_equal(a->name, b->name))
        return false;
    for (size_t i = 0; i < a->parts_count; i++) {
        if (!type_equal(a->parts[i], b->parts[i]))
            return false;
        if (a->fields && b->fields && !text_equal(a->fields[i], b->fields[i]))
            return false;
    }
    return true;
}

size_t type_fixed_bytes(const struct type *type)
{
    if (type_is_native(type))
        return native_facts[type->kind].fixed_bytes;
    size_t bytes;
    return type->kind == TYPE_VECTOR && type_sstable_fixed_bytes(type, &bytes) ? bytes : 0;
}

static bool native_is_raw(enum type_kind kind)
{
    return kind == TYPE_BOOLEAN || kind == TYPE_INT || kind == TYPE_FLOAT || kind == TYPE_BIGINT ||
           kind == TYPE_DOUBLE || kind == TYPE_TIMESTAMP || kind == TYPE_UUID ||
           kind == TYPE_TIMEUUID;
}

bool type_sstable_fixed_bytes(const struct type *type, size_t *bytes)
{
    *bytes = 0;
    if (type->kind == TYPE_EMPTY)
        return true;
    if (type_is_native(type)) {
        *bytes = native_is_raw(type->kind) ? native_facts[type->kind].fixed_bytes : 0;
        return *bytes > 0;
    }
    if (type->kind == TYPE_CUSTOM && strcmp(type->name, TYPE_CLASS_LEXICAL_UUID) == 0) {
        *bytes = 16;
        return true;
    }
    size_t part;
    if (type->kind != TYPE_VECTOR || !type_sstable_fixed_bytes(type->parts[0], &part))
        return false;
    *bytes = part > INT32_MAX / type->dimension ? INT32_MAX : part * type->dimension;
    return true;
}

static bool is_freezable(enum type_kind kind)
{
    return kind == TYPE_LIST || kind == TYPE_SET || kind == TYPE_MAP || kind == TYPE_UDT;
}

bool type_is_multicell(const struct type *type)
{
    return is_freezable(type->kind) && !type->is_frozen;
}

const struct type *type_frozen(struct arena *arena, const struct type *type)
{
    if (type_is_native(type) || type->parts_count == 0)
        return type;
    bool is_same = type->is_frozen || !is_freezable(type->kind);
    const struct type **parts = arena_array(arena, const struct type *, type->parts_count);
    for (size_t i = 0; i < type->parts_count; i++) {
        parts[i] = type_frozen(arena, type->parts[i]);
        is_same &= parts[i] == type->parts[i];
    }
    if (is_same)
        return type;
    struct type *frozen = arena_new(arena, struct type);
    *frozen = *type;
    frozen->is_frozen = true;
    frozen->parts = parts;
    return frozen;
}

static bool is_deeper(const struct type *type, unsigned most)
{
    for (size_t i = 0; i < type->parts_count && most; i++)
        if (is_deeper(type->parts[i], most - 1))
            return true;
    return most == 0;
}

static const char huge[] = "a value of this vector would have 2 GiB or more";
static bool is_huge(const struct type *type)
{
    size_t bytes;
    return type_sstable_fixed_bytes(type, &bytes) && bytes == INT32_MAX;
}

/* What may not be in a type of this kind, whatever is around it. */
static const char *part_refusal(const struct type *type, const struct type *part)
{
    bool is_collection = is_freezable(type->kind) && type->kind != TYPE_UDT;
    if (is_huge(part))
        return huge;
    if (part->kind == TYPE_COUNTER)
        return is_collection ? "counters are not allowed inside collections"
                             : "counters are not allowed inside tuples, user types and vectors";
    if (part->kind == TYPE_DURATION && type->kind == TYPE_SET)
        return "durations are not allowed inside sets";
    if (part->kind == TYPE_DURATION && type->kind == TYPE_MAP && part == type->parts[0])
        return "durations are not allowed as map keys";
    if (part->kind == TYPE_EMPTY && type->kind == TYPE_VECTOR)
        return "a vector of empty values has no bytes";
    if (!type_is_multicell(part) || type->is_frozen)
        return NULL;
    if (type->kind == TYPE_UDT)
        return "non-frozen user types with nested non-frozen collections are not supported";
    return part->kind == TYPE_UDT ? "non-frozen user types are not allowed inside collections"
                                  : "non-frozen collections are not allowed inside collections";
}

static const char *parts_refusal(const struct type *type)
{
    const char *why = NULL;
    for (size_t i = 0; i < type->parts_count && !why; i++) {
        why = part_refusal(type, type->parts[i]);
        why = why ? why : parts_refusal(type->parts[i]);
    }
    return why;
}

const char *type_refusal(const struct type *type)
{
    if (is_deeper(type, TYPE_DEPTH_MAX))
        return "types nest up to 16 deep";
    if (is_huge(type))
        return huge;
    return parts_refusal(type);
}

const struct type *type_path(const struct type *type)
{
    ensure(type_is_multicell(type));
    if (type->kind == TYPE_LIST)
        return type_native(TYPE_TIMEUUID);
    return type->kind == TYPE_UDT ? type_native(TYPE_SMALLINT) : type->parts[0];
}

static const struct type empty_type = { .kind = TYPE_EMPTY };

const struct type *type_empty(void) { return &empty_type; }

const struct type *type_cell_value(const struct type *type, struct bytes path)
{
    ensure(type_is_multicell(type));
    if (type->kind == TYPE_SET)
        return &empty_type;
    if (type->kind != TYPE_UDT)
        return type->parts[type->kind == TYPE_MAP];
    ensure(path.size == 2 && get_be16(path.data) < type->parts_count);
    return type->parts[get_be16(path.data)];
}

enum err type_path_validate(const struct type *type, struct bytes path)
{
    bool is_udt = type->kind == TYPE_UDT, is_list = type->kind == TYPE_LIST;
    if (is_udt || is_list) /* Cassandra writes no empty ones */
        if (path.size != (is_udt ? 2 : 16))
            return ERR_INVALID;
    if (is_udt && get_be16(path.data) >= type->parts_count)
        return ERR_INVALID;
    return type_validate(type_path(type), path);
}

int type_path_compare(const struct type *type, struct bytes a, struct bytes b)
{
    return type_compare(type_path(type), a, b);
}
