/* csv.c - RFC 4180: rows out of a stream of bytes, and fields into text.
 *
 *     FIELD ──"──> QUOTED ──"──> CLOSED ──,──> FIELD
 *       └─other──> PLAIN ──,──> FIELD            each ──line end──> the row is whole
 *
 * A row that is not well formed is read to the end of its line and told as bad; only a quote that
 * is never closed swallows what follows, up to a limit.
 */
// SPDX-License-Identifier: Apache-2.0
#include "command/csv.h"

enum csv_state { CSV_FIELD, CSV_PLAIN, CSV_QUOTED, CSV_CLOSED };

void csv_init(struct csv *c, csv_fill *fill, void *context)
{
    memset(c, 0, sizeof *c);
    c->fill = fill;
    c->context = context;
    c->next_line = 1;
}

void csv_deinit(struct csv *c)
{
    buf_deinit(&c->text);
    buf_deinit(&c->raw);
    buf_deinit(&c->fields);
}

/* The next byte, without taking it; -1 at the end. */
static int csv_peek(struct csv *c)
{
    if (c->input_at < c->input_size)
        return (unsigned char)c->input[c->input_at];
    if (c->is_ended)
        return -1;
    long size = c->fill(c->context, c->input, sizeof c->input);
    c->is_ended = size <= 0;
    c->has_failed = size < 0;
    c->input_at = 0;
    c->input_size = size > 0 ? (size_t)size : 0;
    return size > 0 ? (unsigned char)c->input[0] : -1;
}

static int csv_take(struct csv *c)
{
    int byte = csv_peek(c);
    if (byte >= 0) {
        c->input_at++;
        c->taken_bytes++;
    }
    return byte;
}

/* A stream may come one byte at a time, so the mark is taken like everything else. */
static void mark_skip(struct csv *c)
{
    static const unsigned char mark[] = { 0xEF, 0xBB, 0xBF };
    for (size_t i = 0; i < sizeof mark && csv_peek(c) == mark[i]; i++)
        csv_take(c);
}

static struct csv_field *field_last(struct csv *c)
{
    ensure(c->fields.size >= sizeof(struct csv_field));
    return (struct csv_field *)(void *)(c->fields.data + c->fields.size) - 1;
}

static void field_begin(struct csv *c)
{
    struct csv_field field = { .at = c->text.size };
    buf_put(&c->fields, &field, sizeof field);
}

static void field_end(struct csv *c)
{
    struct csv_field *field = field_last(c);
    field->size = c->text.size - field->at;
    buf_put_u8(&c->text, 0);
}

/* One byte that ends no line; the next state. */
static enum csv_state csv_step(struct csv *c, enum csv_state state, uint8_t byte)
{
    if (state == CSV_QUOTED) {
        if (byte == '"')
            return CSV_CLOSED;
        buf_put_u8(&c->text, byte);
        return CSV_QUOTED;
    }
    if (byte == ',') {
        field_end(c);
        field_begin(c);
        return CSV_FIELD;
    }
    if (byte == '"' && state != CSV_PLAIN) {
        if (state == CSV_CLOSED)
            buf_put_u8(&c->text, '"');
        field_last(c)->is_quoted = true;
        return CSV_QUOTED;
    }
    if (state == CSV_CLOSED && !c->reason)
        c->reason = "there is text behind a closing quote";
    buf_put_u8(&c->text, byte);
    return CSV_PLAIN;
}

/* Takes the rest of a line end that begins with `byte`. */
static bool csv_ends_line(struct csv *c, int byte)
{
    if (byte == '\r' && csv_peek(c) == '\n')
        byte = csv_take(c);
    return byte == '\n';
}

static enum csv_verdict csv_broken(struct csv *c, const char *reason)
{
    c->is_ended = true;
    c->has_failed = true;
    c->input_at = c->input_size;
    c->reason = reason;
    return CSV_BROKEN;
}

static void row_begin(struct csv *c)
{
    buf_clear(&c->text);
    buf_clear(&c->raw);
    buf_clear(&c->fields);
    c->reason = NULL;
    c->line = c->next_line;
    field_begin(c);
}

static enum csv_verdict row_end(struct csv *c, enum csv_state state)
{
    if (state == CSV_QUOTED)
        c->reason = "a quote is not closed";
    field_end(c);
    return c->reason ? CSV_BAD : CSV_ROW;
}

/* A row that begins with the next byte. */
static enum csv_verdict row_read(struct csv *c)
{
    enum csv_state state = CSV_FIELD;
    row_begin(c);
    for (;;) {
        int byte = csv_take(c);
        if (c->has_failed)
            return csv_broken(c, "it cannot be read");
        if (byte < 0)
            return row_end(c, state);
        if (c->raw.size == CSV_ROW_BYTES_MAX)
            return csv_broken(c, "a row is longer than 16 MiB: is a quote not closed?");
        c->next_line += byte == '\n';
        if (state != CSV_QUOTED && csv_ends_line(c, byte)) {
            c->next_line += byte == '\r';
            return row_end(c, state);
        }
        buf_put_u8(&c->raw, (uint8_t)byte);
        state = csv_step(c, state, (uint8_t)byte);
    }
}

enum csv_verdict csv_next(struct csv *c)
{
    if (!c->is_begun) {
        c->is_begun = true;
        mark_skip(c);
    }
    while (csv_peek(c) >= 0) {
        enum csv_verdict verdict = row_read(c);
        bool is_empty = verdict == CSV_ROW && c->raw.size == 0;
        if (!is_empty)
            return verdict;
    }
    return c->has_failed ? csv_broken(c, "it cannot be read") : CSV_END;
}

const struct csv_field *csv_field_at(const struct csv *c, size_t at)
{
    ensure(at < csv_count(c));
    return (const struct csv_field *)(const void *)c->fields.data + at;
}

struct bytes csv_text_at(const struct csv *c, size_t at)
{
    const struct csv_field *field = csv_field_at(c, at);
    return bytes_of(c->text.data + field->at, field->size);
}

void csv_put(struct buf *out, struct bytes text, const char *null_text)
{
    bool needs_quotes = bytes_equal(text, bytes_text(null_text));
    for (size_t i = 0; i < text.size && !needs_quotes; i++)
        needs_quotes = text.data[i] == '"' || text.data[i] == ',' || text.data[i] == '\n' ||
                       text.data[i] == '\r';
    if (!needs_quotes) {
        buf_put_bytes(out, text);
        return;
    }
    buf_put_u8(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"')
            buf_put_u8(out, '"');
        buf_put_u8(out, text.data[i]);
    }
    buf_put_u8(out, '"');
}
