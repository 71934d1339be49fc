/* json.c - see json.h.  A comma is written before a member when the level has one already. */
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>

enum { DEPTH_MAX = 30 };

static void json_quoted(struct buf *out, struct bytes text)
{
    buf_put_u8(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            buf_printf(out, "\\u%04x", (unsigned)c);
        else
            buf_put_u8(out, c);
    }
    buf_put_u8(out, '"');
}

static void json_string(struct buf *out, struct bytes text)
{
    if (utf8_valid(text)) {
        json_quoted(out, text);
        return;
    }
    buf_put_u8(out, '"'); /* what is ASCII stays, each other byte is replaced */
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] >= 0x20 && text.data[i] < 0x7f && text.data[i] != '"' &&
            text.data[i] != '\\')
            buf_put_u8(out, text.data[i]);
        else
            buf_put_text(out, "\\ufffd");
    buf_put_u8(out, '"');
}

static void json_name(struct json *j, const char *name)
{
    if (j->has_members >> j->depth & 1)
        buf_put_u8(j->out, ',');
    j->has_members |= 1u << j->depth;
    if (!name)
        return;
    json_string(j->out, bytes_text(name));
    buf_put_u8(j->out, ':');
}

void json_open(struct json *j, const char *name, char bracket)
{
    ensure(bracket == '{' || bracket == '[');
    ensure(j->depth < DEPTH_MAX);
    json_name(j, name);
    buf_put_u8(j->out, (uint8_t)bracket);
    j->depth++;
    j->closes[j->depth] = bracket == '{' ? '}' : ']';
    j->has_members &= ~(1u << j->depth);
}

void json_close(struct json *j)
{
    ensure(j->depth > 0);
    buf_put_u8(j->out, (uint8_t)j->closes[j->depth]);
    j->depth--;
}

void json_bytes(struct json *j, const char *name, struct bytes text)
{
    json_name(j, name);
    json_string(j->out, text);
}

void json_text(struct json *j, const char *name, const char *text)
{
    if (text)
        json_bytes(j, name, bytes_text(text));
    else
        json_null(j, name);
}

void json_number(struct json *j, const char *name, int64_t value)
{
    json_name(j, name);
    buf_printf(j->out, "%lld", (long long)value);
}

void json_unsigned(struct json *j, const char *name, uint64_t value)
{
    json_name(j, name);
    buf_printf(j->out, "%llu", (unsigned long long)value);
}

void json_double(struct json *j, const char *name, double value)
{
    if (!isfinite(value)) {
        json_null(j, name);
        return;
    }
    json_name(j, name);
    char text[40];
    for (int digits = 6; digits <= 17; digits++) { /* the fewest that mean this number */
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buf_put_text(j->out, text);
}

void json_bool(struct json *j, const char *name, bool value)
{
    json_name(j, name);
    buf_put_text(j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *name)
{
    json_name(j, name);
    buf_put_text(j->out, "null");
}

void json_raw(struct json *j, const char *name, struct bytes value)
{
    ensure(value.size > 0);
    json_name(j, name);
    buf_put_bytes(j->out, value);
}
