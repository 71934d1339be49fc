/* type.c - what types there are, and their CQL text in both directions.
 *
 *     frozen<map<text, list<int>>>  <──>  MAP frozen ( TEXT, LIST frozen ( INT ) )
 *
 * Native types are one static table, indexed by option id.  A frozen type freezes what is in it;
 * printing writes `frozen` at each level, as Cassandra does.  Tuples are always printed frozen,
 * vectors never, though both are.
 *
 * User-defined types cannot be parsed here: what they hold is known to a keyspace only.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/type.h"

#include "model/scan.h"

enum { NEST_MAX = 16, DIMENSION_MAX = 1 << 16, NATIVE_END = 0x16 };

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
    return type->kind == TYPE_VECTOR ? type->dimension * type_fixed_bytes(type->parts[0]) : 0;
}

/* A name as an identifier: in double quotes when it is not plain lower case. */
static void print_name(const char *name, struct buf *out)
{
    bool is_plain = name[0] >= 'a' && name[0] <= 'z';
    for (const char *c = name; *c; c++)
        is_plain &= (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '_';
    if (is_plain) {
        buf_put_text(out, name);
        return;
    }
    buf_put_u8(out, '"');
    for (const char *c = name; *c; c++) {
        if (*c == '"')
            buf_put_u8(out, '"');
        buf_put_u8(out, (uint8_t)*c);
    }
    buf_put_u8(out, '"');
}

/* name<part, part> */
static void print_parts(const char *name, const struct type *type, struct buf *out)
{
    buf_put_text(out, name);
    for (size_t i = 0; i < type->parts_count; i++) {
        buf_put_text(out, i == 0 ? "<" : ", ");
        type_print(type->parts[i], out);
    }
    if (type->kind == TYPE_VECTOR)
        buf_printf(out, ", %u", (unsigned)type->dimension);
    buf_put_u8(out, '>');
}

static void print_compound(const struct type *type, struct buf *out)
{
    if (type->kind == TYPE_LIST)
        print_parts("list", type, out);
    else if (type->kind == TYPE_SET)
        print_parts("set", type, out);
    else if (type->kind == TYPE_MAP)
        print_parts("map", type, out);
    else if (type->kind == TYPE_TUPLE)
        print_parts("tuple", type, out);
    else if (type->kind == TYPE_VECTOR)
        print_parts("vector", type, out);
    else if (type->kind == TYPE_UDT)
        print_name(type->name, out);
    else
        buf_printf(out, "'%s'", type->name);
}

void type_print(const struct type *type, struct buf *out)
{
    if (type_is_native(type)) {
        buf_put_text(out, native_facts[type->kind].name);
        return;
    }
    bool shows_frozen = type->kind == TYPE_TUPLE ||
                        (type->is_frozen && type->kind != TYPE_VECTOR && type->kind != TYPE_CUSTOM);
    buf_put_text(out, shows_frozen ? "frozen<" : "");
    print_compound(type, out);
    buf_put_text(out, shows_frozen ? ">" : "");
}

struct parser {
    struct arena *arena;
    struct scan s;
    unsigned depth;
    bool is_frozen; /* inside of frozen<...> */
};

static void skip_blanks(struct parser *p)
{
    while (scan_take(&p->s, ' ') || scan_take(&p->s, '\t') || scan_take(&p->s, '\n'))
        continue;
}

static bool take(struct parser *p, char c)
{
    skip_blanks(p);
    return scan_take(&p->s, c);
}

static struct bytes take_word(struct parser *p)
{
    skip_blanks(p);
    const uint8_t *begin = p->s.at;
    for (; !scan_done(&p->s); p->s.at++) {
        uint8_t c = scan_peek(&p->s);
        if (!(c >= 'a' && c <= 'z') && !is_digit(c) && c != '_')
            break;
    }
    return bytes_of(begin, (size_t)(p->s.at - begin));
}

static enum err parse(struct parser *, const struct type **out);

/* <part, part ...>, between `least` and `most` of them, the closing bracket included. */
static enum err parse_parts(struct parser *p, struct type *type, size_t least, size_t most)
{
    struct buf parts = buf_in(p->arena);
    if (!take(p, '<'))
        return ERR_INVALID;
    do {
        const struct type *part;
        if (type->parts_count == most || parse(p, &part) != OK)
            return ERR_INVALID;
        buf_put(&parts, &part, sizeof(const struct type *));
        type->parts_count++;
    } while (take(p, ','));
    type->parts = (const struct type **)(void *)parts.data;
    return type->parts_count >= least && take(p, '>') ? OK : ERR_INVALID;
}

static enum err parse_vector(struct parser *p, struct type *type)
{
    uint64_t dimension;
    type->parts = arena_array(p->arena, const struct type *, 1);
    if (!take(p, '<') || parse(p, &type->parts[0]) != OK || !take(p, ','))
        return ERR_INVALID;
    type->parts_count = 1;
    skip_blanks(p);
    if (!scan_number(&p->s, 6, &dimension) || dimension == 0 || dimension > DIMENSION_MAX)
        return ERR_INVALID;
    type->dimension = (uint32_t)dimension;
    return take(p, '>') ? OK : ERR_INVALID;
}

/* 'java class' */
static enum err parse_custom(struct parser *p, struct type *type)
{
    const uint8_t *begin = p->s.at;
    while (!scan_done(&p->s) && *p->s.at != '\'' && *p->s.at != 0)
        p->s.at++;
    if (p->s.at == begin)
        return ERR_INVALID;
    type->name = arena_text(p->arena, bytes_of(begin, (size_t)(p->s.at - begin)));
    return take(p, '\'') ? OK : ERR_INVALID;
}

static enum err parse_frozen(struct parser *p, const struct type **out)
{
    bool was_frozen = p->is_frozen;
    p->is_frozen = true;
    if (!take(p, '<') || parse(p, out) != OK || !take(p, '>'))
        return ERR_INVALID;
    p->is_frozen = was_frozen;
    return OK;
}

static enum err parse_compound(struct parser *p, struct bytes word, struct type *type)
{
    static const struct {
        const char *name;
        enum type_kind kind;
        size_t least, most;
    } compounds[] = {
        { "list", TYPE_LIST, 1, 1 },
        { "set", TYPE_SET, 1, 1 },
        { "map", TYPE_MAP, 2, 2 },
        { "tuple", TYPE_TUPLE, 1, 32768 },
    };
    for (size_t i = 0; i < array_count(compounds); i++) {
        if (scan_is_word(word, compounds[i].name)) {
            type->kind = compounds[i].kind;
            return parse_parts(p, type, compounds[i].least, compounds[i].most);
        }
    }
    type->kind = TYPE_VECTOR;
    return scan_is_word(word, "vector") ? parse_vector(p, type) : ERR_INVALID;
}

static enum err parse_one(struct parser *p, const struct type **out)
{
    struct bytes word = take_word(p);
    if ((*out = type_by_name(word)) != NULL)
        return OK;
    if (scan_is_word(word, "frozen"))
        return parse_frozen(p, out);
    struct type *type = arena_new(p->arena, struct type);
    type->is_frozen = p->is_frozen;
    *out = type;
    if (word.size == 0 && take(p, '\'')) {
        type->kind = TYPE_CUSTOM;
        return parse_custom(p, type);
    }
    enum err err = parse_compound(p, word, type);
    type->is_frozen |= type->kind == TYPE_TUPLE || type->kind == TYPE_VECTOR;
    return err;
}

static enum err parse(struct parser *p, const struct type **out)
{
    if (p->depth == NEST_MAX)
        return ERR_INVALID;
    p->depth++;
    enum err err = parse_one(p, out);
    p->depth--;
    return err;
}

enum err type_parse(struct arena *arena, struct bytes text, const struct type **out)
{
    struct parser p = { .arena = arena, .s = scan_of(text) };
    if (text.size == 0 || parse(&p, out) != OK)
        return ERR_INVALID;
    skip_blanks(&p);
    return scan_done(&p.s) ? OK : ERR_INVALID;
}
