/* type_nested.c - literals of collections, tuples, user types and vectors to values.
 *
 *     [1, 2]   {'a', 'b'}   {'k': [1]}   (1, null)   {field: 'it''s', other: null}
 *
 * The type says what may come next, so the text is walked once, and as deep as the type is.  Inside
 * of brackets text stands in quotes; numbers, uuids, blobs, booleans and durations do not.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/scan.h"
#include "model/type_build.h"
#include "model/type_literal.h"
#include "model/type_parts.h"

struct reader {
    struct arena *arena;
    struct scan s;
};

static void skip_blanks(struct reader *r)
{
    while (scan_take(&r->s, ' ') || scan_take(&r->s, '\t') || scan_take(&r->s, '\n') ||
           scan_take(&r->s, '\r'))
        continue;
}

static bool take(struct reader *r, char c)
{
    skip_blanks(r);
    return scan_take(&r->s, c);
}

/* What stands between quotes, each of them written twice inside; the first one has been taken. */
static bool take_quoted(struct reader *r, char quote, struct bytes *out)
{
    struct buf text = buf_in(r->arena);
    while (!scan_done(&r->s)) {
        uint8_t c = *r->s.at++;
        if (c == (uint8_t)quote && !scan_take(&r->s, quote)) {
            *out = buf_bytes(&text);
            return true;
        }
        buf_put_u8(&text, c);
    }
    return false;
}

/* Up to a blank, comma, colon or closing bracket. */
static struct bytes take_bare(struct reader *r)
{
    skip_blanks(r);
    const uint8_t *begin = r->s.at;
    while (!scan_done(&r->s) && !memchr(" \t\r\n,:]})", *r->s.at, 10))
        r->s.at++;
    return bytes_of(begin, (size_t)(r->s.at - begin));
}

static bool take_null(struct reader *r)
{
    struct scan before = r->s;
    if (scan_is_word(take_bare(r), "null"))
        return true;
    r->s = before;
    return false;
}

static enum err read_value(struct reader *, const struct type *, struct buf *out);

static enum err read_native(struct reader *r, enum type_kind kind, struct buf *out)
{
    struct bytes text;
    if (take(r, '\'')) {
        bool is_text = type_literal_is_quoted(kind) && take_quoted(r, '\'', &text);
        return is_text ? type_literal_native(kind, text, out) : ERR_INVALID;
    }
    bool needs_quotes = kind == TYPE_TEXT || kind == TYPE_ASCII;
    return needs_quotes ? ERR_INVALID : type_literal_native(kind, take_bare(r), out);
}

/* One part, for the value; the word null only where parts may be null. */
static enum err read_part(struct reader *r, const struct type *type, bool may_be_null,
                          struct type_build *e)
{
    struct buf part = buf_in(r->arena);
    if (may_be_null && take_null(r)) {
        type_build_null(e);
        return OK;
    }
    enum err err = read_value(r, type, &part);
    type_build_part(e, buf_bytes(&part));
    return err;
}

/* All parts of a list, set, map, tuple or vector, between brackets. */
static enum err read_parts(struct reader *r, const struct type *type, const char brackets[2],
                           struct buf *out)
{
    struct type_build e;
    bool is_tuple = type->kind == TYPE_TUPLE;
    type_build_begin(&e, r->arena, type);
    if (!take(r, brackets[0]))
        return ERR_INVALID;
    bool is_done = take(r, brackets[1]);
    for (size_t i = 0; !is_done; i++) {
        if (is_tuple && i == type->parts_count)
            return ERR_INVALID;
        enum err err = read_part(r, type->parts[is_tuple ? i : 0], is_tuple, &e);
        if (!err && type->kind == TYPE_MAP)
            err = take(r, ':') ? read_part(r, type->parts[1], false, &e) : ERR_INVALID;
        is_done = take(r, brackets[1]);
        if (err || (!is_done && !take(r, ',')))
            return ERR_INVALID;
    }
    return type_build_end(&e, out);
}

/* The index of the field that is named next; parts_count: none is. */
static size_t take_field(struct reader *r, const struct type *type)
{
    struct bytes name;
    size_t i = 0;
    bool is_quoted = take(r, '"');
    if (!is_quoted)
        name = take_bare(r);
    else if (!take_quoted(r, '"', &name))
        return type->parts_count;
    while (i < type->parts_count && !(is_quoted ? bytes_equal(name, bytes_text(type->fields[i]))
                                                : scan_is_word(name, type->fields[i])))
        i++;
    return i;
}

/* {field: value, ...} in any order; fields that are not named are null. */
static enum err read_udt(struct reader *r, const struct type *type, struct buf *out)
{
    struct buf *fields = arena_array(r->arena, struct buf, type->parts_count);
    bool *is_named = arena_array(r->arena, bool, type->parts_count);
    bool *has_value = arena_array(r->arena, bool, type->parts_count);
    struct type_build e;
    if (!take(r, '{'))
        return ERR_INVALID;
    for (bool is_done = take(r, '}'); !is_done;) {
        size_t i = take_field(r, type);
        if (i == type->parts_count || is_named[i] || !take(r, ':'))
            return ERR_INVALID;
        is_named[i] = true;
        has_value[i] = !take_null(r);
        fields[i].arena = r->arena;
        enum err err = has_value[i] ? read_value(r, type->parts[i], &fields[i]) : OK;
        is_done = take(r, '}');
        if (err || (!is_done && !take(r, ',')))
            return ERR_INVALID;
    }
    type_build_begin(&e, r->arena, type);
    for (size_t i = 0; i < type->parts_count; i++) {
        if (has_value[i])
            type_build_part(&e, buf_bytes(&fields[i]));
        else
            type_build_null(&e);
    }
    return type_build_end(&e, out);
}

static enum err read_value(struct reader *r, const struct type *type, struct buf *out)
{
    if (type_is_native(type))
        return read_native(r, type->kind, out);
    if (type->kind == TYPE_LIST || type->kind == TYPE_VECTOR)
        return read_parts(r, type, "[]", out);
    if (type->kind == TYPE_SET || type->kind == TYPE_MAP)
        return read_parts(r, type, "{}", out);
    if (type->kind == TYPE_TUPLE)
        return read_parts(r, type, "()", out);
    if (type->kind == TYPE_UDT)
        return read_udt(r, type, out);
    size_t at = out->size;
    if (type_literal_native(TYPE_BLOB, take_bare(r), out) != OK)
        return ERR_INVALID;
    return type_validate(type, bytes_of(out->data + at, out->size - at));
}

enum err type_literal_nested(struct arena *arena, const struct type *type, struct bytes text,
                             struct buf *out)
{
    struct reader r = { .arena = arena, .s = scan_of(text) };
    enum err err = read_value(&r, type, out);
    skip_blanks(&r);
    return err || scan_done(&r.s) ? err : ERR_INVALID;
}
