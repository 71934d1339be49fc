/* tree.c - JSON as it is read: what the admin port answers.
 *
 * A reader by recursive descent over a cursor; depth is bounded, so a hostile answer cannot exhaust
 * the stack.  Numbers stay text until somebody asks.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/tree.h"

#include <stdlib.h>

enum { TREE_DEPTH_MAX = 32 };

struct reader {
    struct arena *arena;
    const char *at, *end;
    unsigned depth;
};

static struct tree *value_read(struct reader *);

static void blanks_skip(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool char_take(struct reader *r, char c)
{
    blanks_skip(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool hex_read(struct reader *r, uint32_t *out)
{
    uint32_t value = 0;
    if (r->end - r->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = *r->at++;
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 16;
        if (digit == 16)
            return false;
        value = value << 4 | digit;
    }
    *out = value;
    return true;
}

static void utf8_put(struct buf *out, uint32_t c)
{
    if (c < 0x80) {
        buf_put_u8(out, (uint8_t)c);
    } else if (c < 0x800) {
        buf_put_u8(out, (uint8_t)(0xC0 | c >> 6));
        buf_put_u8(out, (uint8_t)(0x80 | (c & 0x3F)));
    } else if (c < 0x10000) {
        buf_put_u8(out, (uint8_t)(0xE0 | c >> 12));
        buf_put_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3F)));
        buf_put_u8(out, (uint8_t)(0x80 | (c & 0x3F)));
    } else {
        buf_put_u8(out, (uint8_t)(0xF0 | c >> 18));
        buf_put_u8(out, (uint8_t)(0x80 | (c >> 12 & 0x3F)));
        buf_put_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3F)));
        buf_put_u8(out, (uint8_t)(0x80 | (c & 0x3F)));
    }
}

/* Behind "\u": one code point, a pair of surrogates taken together. */
static bool unicode_read(struct reader *r, struct buf *out)
{
    uint32_t high, low;
    if (!hex_read(r, &high))
        return false;
    if (high < 0xD800 || high > 0xDFFF) {
        utf8_put(out, high);
        return true;
    }
    if (high > 0xDBFF || r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
        return false;
    r->at += 2;
    if (!hex_read(r, &low) || low < 0xDC00 || low > 0xDFFF)
        return false;
    utf8_put(out, 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
    return true;
}

static bool escape_read(struct reader *r, struct buf *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (r->at == r->end)
        return false;
    char c = *r->at++;
    if (c == 'u')
        return unicode_read(r, out);
    const char *name = c ? strchr(names, c) : NULL;
    if (!name)
        return false;
    buf_put_u8(out, (uint8_t)values[name - names]);
    return true;
}

static bool text_read(struct reader *r, struct bytes *out)
{
    struct buf text = buf_in(r->arena);
    if (!char_take(r, '"'))
        return false;
    while (r->at < r->end && *r->at != '"') {
        uint8_t c = (uint8_t)*r->at++;
        if (c < 0x20 || (c == '\\' && !escape_read(r, &text)))
            return false;
        if (c != '\\')
            buf_put_u8(&text, c);
    }
    buf_put_u8(&text, 0);
    *out = bytes_of(text.data, text.size - 1);
    return char_take(r, '"');
}

/* Members up to `close`; those of an object have a name. */
static bool members_read(struct reader *r, struct tree *into, char close)
{
    const struct tree **tail = &into->first;
    if (char_take(r, close))
        return true;
    do {
        struct bytes name = { 0 };
        if (close == '}' && (!text_read(r, &name) || !char_take(r, ':')))
            return false;
        struct tree *member = value_read(r);
        if (!member)
            return false;
        if (close == '}')
            member->name = arena_text(r->arena, name);
        *tail = member;
        tail = &member->next;
    } while (char_take(r, ','));
    return char_take(r, close);
}

static bool word_take(struct reader *r, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0)
        return false;
    r->at += size;
    return true;
}

static bool number_read(struct reader *r)
{
    const char *begin = r->at;
    while (r->at < r->end && *r->at && strchr("+-.0123456789eE", *r->at))
        r->at++;
    return r->at > begin && r->at[-1] >= '0' && r->at[-1] <= '9';
}

static bool value_fill(struct reader *r, struct tree *value)
{
    static const struct {
        const char *word;
        enum tree_kind kind;
    } words[] = { { "null", TREE_NULL }, { "true", TREE_TRUE }, { "false", TREE_FALSE } };
    blanks_skip(r);
    if (r->at == r->end)
        return false;
    if (*r->at == '{' || *r->at == '[') {
        bool is_object = *r->at++ == '{';
        value->kind = is_object ? TREE_OBJECT : TREE_LIST;
        return members_read(r, value, is_object ? '}' : ']');
    }
    if (*r->at == '"') {
        value->kind = TREE_TEXT;
        return text_read(r, &value->text);
    }
    for (size_t i = 0; i < array_count(words); i++) {
        if (word_take(r, words[i].word)) {
            value->kind = words[i].kind;
            return true;
        }
    }
    value->kind = TREE_NUMBER;
    return number_read(r);
}

static struct tree *value_read(struct reader *r)
{
    struct tree *value = arena_new(r->arena, struct tree);
    if (r->depth == TREE_DEPTH_MAX)
        return NULL;
    r->depth++;
    blanks_skip(r);
    const char *begin = r->at;
    bool is_good = value_fill(r, value);
    value->source = bytes_of(begin, (size_t)(r->at - begin));
    r->depth--;
    return is_good ? value : NULL;
}

const struct tree *tree_parse(struct arena *arena, struct bytes text)
{
    struct reader r = { .arena = arena, .at = (const char *)text.data };
    if (text.size == 0)
        return NULL;
    r.end = r.at + text.size;
    const struct tree *value = value_read(&r);
    blanks_skip(&r);
    return r.at == r.end ? value : NULL;
}

const struct tree *tree_get(const struct tree *object, const char *name)
{
    if (!object || object->kind != TREE_OBJECT)
        return NULL;
    for (const struct tree *m = object->first; m; m = m->next)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

double tree_value(const struct tree *m, double otherwise)
{
    char text[64];
    if (!m || m->kind != TREE_NUMBER || m->source.size >= sizeof text)
        return otherwise;
    memcpy(text, m->source.data, m->source.size);
    text[m->source.size] = '\0';
    return strtod(text, NULL);
}

double tree_number(const struct tree *object, const char *name, double otherwise)
{
    return tree_value(tree_get(object, name), otherwise);
}

struct bytes tree_text(const struct tree *object, const char *name)
{
    const struct tree *m = tree_get(object, name);
    return m && m->kind == TREE_TEXT ? m->text : bytes_of("", 0);
}

bool tree_is_true(const struct tree *object, const char *name)
{
    const struct tree *m = tree_get(object, name);
    return m && m->kind == TREE_TRUE;
}
