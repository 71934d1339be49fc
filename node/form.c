/* form.c - see form.h.  A plus is a space, %41 is an A; everything else stands for itself. */
// SPDX-License-Identifier: Apache-2.0
#include "node/form.h"

static int hex_of(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes the next character; false at a bad one. */
static bool char_take(struct bytes *from, char *out)
{
    uint8_t c = from->data[0];
    size_t n = 1;
    if (c == '+') {
        c = ' ';
    } else if (c == '%') {
        int high = from->size > 2 ? hex_of(from->data[1]) : -1;
        int low = from->size > 2 ? hex_of(from->data[2]) : -1;
        if (high < 0 || low < 0)
            return false;
        c = (uint8_t)(high << 4 | low);
        n = 3;
    }
    *from = bytes_of(from->data + n, from->size - n);
    *out = (char)c;
    return c != 0;
}

static const char *text_take(struct bytes from, struct arena *arena)
{
    char *text = arena_alloc(arena, from.size + 1);
    size_t n = 0;
    while (from.size)
        if (!char_take(&from, &text[n++]))
            return NULL;
    text[n] = 0;
    return text;
}

/* The part before the first `end`, which is taken off too. */
static struct bytes part_take(struct bytes *from, uint8_t end)
{
    const uint8_t *at = from->size ? memchr(from->data, end, from->size) : NULL;
    size_t n = at ? (size_t)(at - from->data) : from->size;
    struct bytes part = bytes_of(from->data, n);
    n += at != NULL;
    *from = bytes_of(from->data + n, from->size - n);
    return part;
}

static const struct form_pair *pair_find(const struct form *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->pairs[i].name, name) == 0)
            return &f->pairs[i];
    return NULL;
}

enum err form_decode(struct bytes body, struct arena *arena, struct form *out,
                     struct report *report)
{
    out->count = 0;
    while (body.size) {
        struct bytes value = part_take(&body, '&');
        struct bytes name = part_take(&value, '=');
        if (name.size == 0 && value.size == 0)
            continue;
        if (out->count == FORM_PAIRS_MAX)
            return report_set(report, ERR_SYNTAX, "more than %d words are too many",
                              FORM_PAIRS_MAX);
        struct form_pair pair = { text_take(name, arena), text_take(value, arena) };
        if (!pair.name || !pair.value)
            return report_set(report, ERR_SYNTAX, "a %% must be followed by two digits, not 00");
        if (pair_find(out, pair.name))
            return report_set(report, ERR_SYNTAX, "%.100s is said twice", pair.name);
        out->pairs[out->count++] = pair;
    }
    return OK;
}

const char *form_get(const struct form *f, const char *name)
{
    const struct form_pair *pair = pair_find(f, name);
    return pair && pair->value[0] ? pair->value : NULL;
}
