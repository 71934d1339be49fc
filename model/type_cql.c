/* type_cql.c - the CQL text of types, both ways.
 *
 *     frozen<map<text, address>>  <──>  MAP frozen ( TEXT, UDT frozen ( ... ) )
 *
 * Printing writes `frozen` at each level, as Cassandra does: tuples are always printed frozen,
 * vectors never, though both are.  What a user-defined type holds is known to a keyspace only, so
 * its names are asked through struct type_names.  A Java class in quotes is read as type_java.h
 * reads it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/scan.h"
#include "model/type_java.h"

static const struct {
    const char *text;
} native_names[] = {
#define X(word, id, text, size, java) [id] = { text },
    TYPE_NATIVE_LIST(X)
#undef X
};

/* Words that are no names without quotes: Cassandra's reserved_keywords.txt. */
static const char *const reserved[] = {
    "add",      "allow",    "alter",        "and",          "apply",  "asc",         "authorize",
    "batch",    "begin",    "by",           "columnfamily", "create", "delete",      "desc",
    "describe", "drop",     "entries",      "execute",      "from",   "full",        "grant",
    "if",       "in",       "index",        "infinity",     "insert", "into",        "is",
    "keyspace", "limit",    "materialized", "modify",       "nan",    "norecursive", "not",
    "null",     "of",       "on",           "or",           "order",  "primary",     "rename",
    "revoke",   "schema",   "select",       "set",          "table",  "to",          "token",
    "truncate", "unlogged", "update",       "use",          "using",  "view",        "where",
    "with"
};

void type_print_name(const char *name, struct buf *out)
{
    bool is_plain = name[0] >= 'a' && name[0] <= 'z';
    for (size_t i = 0; i < array_count(reserved); i++)
        is_plain &= strcmp(name, reserved[i]) != 0;
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
        type_print_name(type->name, out);
    else if (type->kind == TYPE_EMPTY)
        buf_put_text(out, "empty");
    else
        buf_printf(out, "'%s'", type->name);
}

void type_print(const struct type *type, struct buf *out)
{
    if (type_is_native(type)) {
        buf_put_text(out, native_names[type->kind].text);
        return;
    }
    bool may_freeze = type->kind != TYPE_VECTOR && type->kind != TYPE_CUSTOM;
    bool shows_frozen = type->kind == TYPE_TUPLE || (type->is_frozen && may_freeze);
    buf_put_text(out, shows_frozen ? "frozen<" : "");
    print_compound(type, out);
    buf_put_text(out, shows_frozen ? ">" : "");
}

struct parser {
    struct arena *arena;
    const struct type_names *names; /* may be NULL */
    struct scan s;
    unsigned depth;
    bool is_frozen; /* inside of frozen<...>, a tuple or a vector */
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

/* Letters, digits and underscores, in lower case. */
static struct bytes take_word(struct parser *p)
{
    struct buf word = buf_in(p->arena);
    skip_blanks(p);
    for (uint8_t c = scan_peek(&p->s); (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         c = scan_peek(&p->s)) {
        buf_put_u8(&word, c);
        p->s.at++;
    }
    return buf_bytes(&word);
}

/* What stands between quotes, each of them written twice inside; the first one has been taken. */
static enum err take_quoted(struct parser *p, char quote, struct bytes *out)
{
    struct buf text = buf_in(p->arena);
    while (!scan_done(&p->s)) {
        uint8_t c = *p->s.at++;
        if (c == (uint8_t)quote && !scan_take(&p->s, quote)) {
            *out = buf_bytes(&text);
            return OK;
        }
        buf_put_u8(&text, c);
    }
    return ERR_INVALID;
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
    if (!scan_number(&p->s, 6, &dimension) || dimension == 0 || dimension > TYPE_DIMENSION_MAX)
        return ERR_INVALID;
    type->dimension = (uint32_t)dimension;
    return take(p, '>') ? OK : ERR_INVALID;
}

static enum err parse_compound(struct parser *p, enum type_kind kind, const struct type **out)
{
    struct type *type = arena_new(p->arena, struct type);
    bool was_frozen = p->is_frozen;
    *out = type;
    type->kind = kind;
    p->is_frozen |= kind == TYPE_TUPLE || kind == TYPE_VECTOR;
    type->is_frozen = p->is_frozen;
    size_t count = kind == TYPE_MAP ? 2 : 1;
    enum err err = kind == TYPE_VECTOR
                       ? parse_vector(p, type)
                       : parse_parts(p, type, count, kind == TYPE_TUPLE ? TYPE_PARTS_MAX : count);
    p->is_frozen = was_frozen;
    return err;
}

/* 'java class' */
static enum err parse_class(struct parser *p, const struct type **out)
{
    struct bytes name;
    bool is_reversed;
    if (take_quoted(p, '\'', &name) != OK ||
        type_java_parse(p->arena, name, out, &is_reversed) != OK || is_reversed)
        return ERR_INVALID;
    *out = p->is_frozen ? type_frozen(p->arena, *out) : *out;
    return OK;
}

static enum err parse_udt(struct parser *p, struct bytes name, const struct type **out)
{
    const struct type *type =
        p->names && name.size ? p->names->find(p->names->context, name) : NULL;
    if (!type)
        return ERR_INVALID;
    *out = p->is_frozen ? type_frozen(p->arena, type) : type;
    return OK;
}

static enum err parse_frozen(struct parser *p, const struct type **out)
{
    bool was_frozen = p->is_frozen;
    p->is_frozen = true;
    if (!take(p, '<') || parse(p, out) != OK || !take(p, '>'))
        return ERR_INVALID;
    p->is_frozen = was_frozen;
    return (*out)->parts_count ? OK : ERR_INVALID; /* frozen<int> is refused by Cassandra too */
}

static enum err parse_word(struct parser *p, struct bytes word, const struct type **out)
{
    static const struct {
        const char *name;
        enum type_kind kind;
    } compounds[] = {
        { "list", TYPE_LIST },   { "set", TYPE_SET },       { "map", TYPE_MAP },
        { "tuple", TYPE_TUPLE }, { "vector", TYPE_VECTOR },
    };
    if ((*out = type_by_name(word)) != NULL)
        return OK;
    if (scan_is_word(word, "frozen"))
        return parse_frozen(p, out);
    for (size_t i = 0; i < array_count(compounds); i++)
        if (scan_is_word(word, compounds[i].name))
            return parse_compound(p, compounds[i].kind, out);
    if (parse_udt(p, word, out) == OK)
        return OK;
    *out = type_empty();
    return scan_is_word(word, "empty") ? OK : ERR_INVALID;
}

static enum err parse(struct parser *p, const struct type **out)
{
    struct bytes name;
    if (p->depth == 2 * TYPE_DEPTH_MAX) /* a type and the frozen<> around it */
        return ERR_INVALID;
    p->depth++;
    enum err err = OK;
    if (take(p, '\''))
        err = parse_class(p, out);
    else if (!take(p, '"'))
        err = parse_word(p, take_word(p), out);
    else if ((err = take_quoted(p, '"', &name)) == OK)
        err = parse_udt(p, name, out);
    p->depth--;
    return err;
}

enum err type_parse_in(struct arena *arena, struct bytes text, const struct type_names *names,
                       const struct type **out)
{
    struct parser p = { .arena = arena, .names = names, .s = scan_of(text) };
    enum err err = parse(&p, out);
    skip_blanks(&p);
    if (err || !scan_done(&p.s)) {
        *out = NULL;
        return ERR_INVALID;
    }
    return type_refusal(*out) ? ERR_INVALID : OK;
}

enum err type_parse(struct arena *arena, struct bytes text, const struct type **out)
{
    return type_parse_in(arena, text, NULL, out);
}
