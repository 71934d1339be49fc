/* type_java.c - the names of types as Cassandra's classes print and parse them.
 *
 *     list<frozen<set<int>>>           ListType(FrozenType(SetType(Int32Type)))
 *     frozen<list<frozen<set<int>>>>   FrozenType(ListType(SetType(Int32Type)))
 *     vector<float, 3>                 VectorType(FloatType , 3)
 *     UDT u of ks with a field a       UserType(ks,75,61:Int32Type)          bare: not frozen
 *
 * Printing writes FrozenType at the outermost frozen type only, as Cassandra does: not inside of
 * another, not around a tuple, nor anywhere in it.  So what is parsed inside of any type is frozen,
 * with or without the word.
 *
 * Foreign are user's classes and those from before CQL (DynamicCompositeType, ...): they are kept
 * with their parameters as text.  DateType is read as the timestamp that replaced it.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/type_java.h"

#include "base/utf8.h"
#include "model/scan.h"

enum { TEXT_BYTES_MAX = 1 << 20, CALLS_MAX = 2 * TYPE_DEPTH_MAX + 2 };

static const struct {
    enum type_kind kind;
    const char *name;
} classes[] = {
#define X(kind, id, name, size, java) { TYPE_##kind, java },
    TYPE_NATIVE_LIST(X)
#undef X
        { TYPE_LIST, "ListType" },
    { TYPE_SET, "SetType" },
    { TYPE_MAP, "MapType" },
    { TYPE_TUPLE, "TupleType" },
    { TYPE_UDT, "UserType" },
    { TYPE_VECTOR, "VectorType" },
    { TYPE_EMPTY, "EmptyType" },
    { TYPE_TIMESTAMP, "DateType" }, /* behind the name that is printed */
};

static void print_class(enum type_kind kind, struct buf *out)
{
    size_t i = 0;
    while (classes[i].kind != kind)
        ensure(++i < array_count(classes));
    buf_put_text(out, TYPE_CLASS_PREFIX);
    buf_put_text(out, classes[i].name);
}

static void print_hex(const char *text, struct buf *out)
{
    for (; *text; text++)
        buf_printf(out, "%02x", (unsigned char)*text);
}

/* `is_bare`: inside of a frozen type or a tuple, where FrozenType is left out. */
static void print_type(const struct type *type, bool is_bare, struct buf *out)
{
    bool is_udt = type->kind == TYPE_UDT;
    bool is_freezable =
        is_udt || type->kind == TYPE_LIST || type->kind == TYPE_SET || type->kind == TYPE_MAP;
    bool is_wrapped = is_freezable && type->is_frozen && !is_bare;
    if (type->kind == TYPE_CUSTOM) {
        buf_put_text(out, type->name);
        return;
    }
    if (is_wrapped)
        buf_put_text(out, TYPE_CLASS_PREFIX "FrozenType(");
    print_class(type->kind, out);
    if (is_udt) {
        buf_printf(out, "(%s,", type->keyspace);
        print_hex(type->name, out);
    }
    for (size_t i = 0; i < type->parts_count; i++) {
        buf_put_u8(out, i || is_udt ? ',' : '(');
        if (is_udt) {
            print_hex(type->fields[i], out);
            buf_put_u8(out, ':');
        }
        print_type(type->parts[i], is_bare || is_wrapped || type->kind == TYPE_TUPLE, out);
    }
    if (type->kind == TYPE_VECTOR)
        buf_printf(out, " , %u", (unsigned)type->dimension);
    buf_put_text(out, type->parts_count || is_udt ? ")" : "");
    buf_put_text(out, is_wrapped ? ")" : "");
}

void type_java_print(const struct type *type, bool is_reversed, struct buf *out)
{
    buf_put_text(out, is_reversed ? TYPE_CLASS_PREFIX "ReversedType(" : "");
    print_type(type, false, out);
    buf_put_text(out, is_reversed ? ")" : "");
}

void type_java_print_key(const struct type *const *types, size_t count, struct buf *out)
{
    ensure(count > 0);
    buf_put_text(out, count > 1 ? TYPE_CLASS_PREFIX "CompositeType(" : "");
    for (size_t i = 0; i < count; i++) {
        buf_put_text(out, i ? "," : "");
        print_type(types[i], false, out);
    }
    buf_put_text(out, count > 1 ? ")" : "");
}

struct parser {
    struct arena *arena;
    struct scan s;
    unsigned calls; /* under way: parse calls itself */
    bool is_frozen; /* inside of another type */
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

static bool is_name_char(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '+' || c == '.' || c == '_' ||
           c == '&';
}

static struct bytes take_name(struct parser *p)
{
    skip_blanks(p);
    const uint8_t *begin = p->s.at;
    while (is_name_char(scan_peek(&p->s)))
        p->s.at++;
    return bytes_of(begin, (size_t)(p->s.at - begin));
}

static bool is_class(struct bytes name, const char *java)
{
    size_t prefix = sizeof TYPE_CLASS_PREFIX - 1;
    if (name.size > prefix && memcmp(name.data, TYPE_CLASS_PREFIX, prefix) == 0)
        name = bytes_of(name.data + prefix, name.size - prefix);
    return bytes_equal(name, bytes_text(java));
}

static enum err parse(struct parser *, const struct type **out);

/* (part, part, ...); the bracket has been taken, the closing one is too. */
static enum err parse_parts(struct parser *p, struct type *type, size_t least, size_t most)
{
    struct buf parts = buf_in(p->arena);
    do {
        const struct type *part;
        if (type->parts_count == most || parse(p, &part) != OK)
            return ERR_INVALID;
        buf_put(&parts, &part, sizeof(const struct type *));
        type->parts_count++;
    } while (take(p, ','));
    type->parts = (const struct type **)(void *)parts.data;
    return type->parts_count >= least && take(p, ')') ? OK : ERR_INVALID;
}

static enum err parse_vector(struct parser *p, struct type *type)
{
    uint64_t dimension;
    type->parts = arena_array(p->arena, const struct type *, 1);
    type->parts_count = 1;
    if (parse(p, &type->parts[0]) != OK || !take(p, ','))
        return ERR_INVALID;
    skip_blanks(p);
    if (!scan_number(&p->s, 6, &dimension) || dimension == 0 || dimension > TYPE_DIMENSION_MAX)
        return ERR_INVALID;
    type->dimension = (uint32_t)dimension;
    return take(p, ')') ? OK : ERR_INVALID;
}

static int hex_digit(uint8_t c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A name of UTF-8 bytes in hex; NULL when it is none. */
static const char *take_hex(struct parser *p)
{
    struct buf name = buf_in(p->arena);
    skip_blanks(p);
    for (;;) {
        int high = hex_digit(scan_peek(&p->s));
        if (high < 0)
            break;
        p->s.at++;
        int low = hex_digit(scan_peek(&p->s));
        if (low < 0 || high + low == 0)
            return NULL;
        p->s.at++;
        buf_put_u8(&name, (uint8_t)(high << 4 | low));
    }
    bool is_name = name.size > 0 && utf8_valid(buf_bytes(&name));
    return is_name ? arena_text(p->arena, buf_bytes(&name)) : NULL;
}

/* (keyspace, hex of name, hex of field : type, ...) */
static enum err parse_udt(struct parser *p, struct type *type)
{
    struct buf parts = buf_in(p->arena), fields = buf_in(p->arena);
    struct bytes keyspace = take_name(p);
    if (keyspace.size == 0 || !take(p, ',') || (type->name = take_hex(p)) == NULL)
        return ERR_INVALID;
    type->keyspace = arena_text(p->arena, keyspace);
    while (take(p, ',')) {
        const struct type *part;
        const char *field = take_hex(p);
        if (!field || !take(p, ':') || type->parts_count == TYPE_PARTS_MAX || parse(p, &part) != OK)
            return ERR_INVALID;
        buf_put(&fields, &field, sizeof(const char *));
        buf_put(&parts, &part, sizeof(const struct type *));
        type->parts_count++;
    }
    type->parts = (const struct type **)(void *)parts.data;
    type->fields = (const char **)(void *)fields.data;
    return type->parts_count && take(p, ')') ? OK : ERR_INVALID;
}

static enum err parse_compound(struct parser *p, enum type_kind kind, const struct type **out)
{
    struct type *type = arena_new(p->arena, struct type);
    bool was_frozen = p->is_frozen;
    if (!take(p, '('))
        return ERR_INVALID;
    *out = type;
    type->kind = kind;
    type->is_frozen = was_frozen || kind == TYPE_TUPLE || kind == TYPE_VECTOR;
    p->is_frozen = true;
    enum err err;
    if (kind == TYPE_UDT)
        err = parse_udt(p, type);
    else if (kind == TYPE_VECTOR)
        err = parse_vector(p, type);
    else if (kind == TYPE_TUPLE)
        err = parse_parts(p, type, 1, TYPE_PARTS_MAX);
    else
        err = parse_parts(p, type, kind == TYPE_MAP ? 2 : 1, kind == TYPE_MAP ? 2 : 1);
    p->is_frozen = was_frozen;
    return err;
}

static enum err parse_frozen(struct parser *p, const struct type **out)
{
    bool was_frozen = p->is_frozen;
    p->is_frozen = true;
    if (!take(p, '(') || parse(p, out) != OK || !take(p, ')'))
        return ERR_INVALID;
    p->is_frozen = was_frozen;
    return OK;
}

/* A class that is not known here, with all that stands in its brackets. */
static enum err parse_foreign(struct parser *p, struct bytes name, const struct type **out)
{
    struct type *type = arena_new(p->arena, struct type);
    struct buf text = buf_in(p->arena);
    size_t open = 0;
    if (!memchr(name.data, '.', name.size))
        buf_put_text(&text, TYPE_CLASS_PREFIX);
    buf_put_bytes(&text, name);
    skip_blanks(p);
    while (!scan_done(&p->s) && (open || *p->s.at == '(')) {
        uint8_t c = *p->s.at;
        if (!is_name_char(scan_peek(&p->s)) && (c == 0 || !strchr("(),:=> \t\n", c)))
            return ERR_INVALID;
        open += c == '(';
        open -= c == ')';
        buf_put_u8(&text, c);
        p->s.at++;
        if (open == 0)
            break;
    }
    type->kind = TYPE_CUSTOM;
    type->name = arena_text(p->arena, buf_bytes(&text));
    *out = type;
    return open ? ERR_INVALID : OK;
}

static enum err parse_named(struct parser *p, struct bytes name, const struct type **out)
{
    if (is_class(name, "FrozenType"))
        return parse_frozen(p, out);
    if (is_class(name, "ReversedType"))
        return ERR_INVALID; /* around a column's type only */
    size_t i = 0;
    while (i < array_count(classes) && !is_class(name, classes[i].name))
        i++;
    if (i == array_count(classes))
        return parse_foreign(p, name, out);
    *out = classes[i].kind == TYPE_EMPTY ? type_empty() : type_native(classes[i].kind);
    return *out ? OK : parse_compound(p, classes[i].kind, out);
}

static enum err parse(struct parser *p, const struct type **out)
{
    struct bytes name = take_name(p);
    if (name.size == 0 || p->calls == CALLS_MAX)
        return ERR_INVALID;
    p->calls++;
    enum err err = parse_named(p, name, out);
    p->calls--;
    return err;
}

/* Is the next name this class?  Then it and its bracket are taken. */
static bool take_class(struct parser *p, const char *java)
{
    struct scan before = p->s;
    if (is_class(take_name(p), java) && take(p, '('))
        return true;
    p->s = before;
    return false;
}

static bool is_at_end(struct parser *p)
{
    skip_blanks(p);
    return scan_done(&p->s);
}

enum err type_java_parse(struct arena *arena, struct bytes text, const struct type **out,
                         bool *is_reversed)
{
    struct parser p = { .arena = arena, .s = scan_of(text) };
    *out = NULL;
    if (text.size > TEXT_BYTES_MAX)
        return ERR_INVALID;
    *is_reversed = take_class(&p, "ReversedType");
    if (parse(&p, out) != OK || (*is_reversed && !take(&p, ')')) || !is_at_end(&p))
        return ERR_INVALID;
    return type_refusal(*out) ? ERR_INVALID : OK;
}

enum err type_java_parse_key(struct arena *arena, struct bytes text, const struct type **types,
                             size_t *count)
{
    struct parser p = { .arena = arena, .s = scan_of(text) };
    size_t room = *count;
    *count = 0;
    if (text.size > TEXT_BYTES_MAX)
        return ERR_INVALID;
    bool is_composite = take_class(&p, "CompositeType");
    do {
        if (*count == room)
            return ERR_LIMIT;
        if (parse(&p, &types[*count]) != OK || type_refusal(types[*count]))
            return ERR_INVALID;
        ++*count;
    } while (is_composite && take(&p, ','));
    return (!is_composite || take(&p, ')')) && is_at_end(&p) ? OK : ERR_INVALID;
}
