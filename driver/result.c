/* result.c - an answer as rows: columns, values, text of any type.
 *
 * A page stays as it came, in one piece in the request's page arena; a row is an array of slices of
 * it.  When the page ends and there is another one the public rd_next fetches it (calls.c).
 *
 * Numbers are read generously: every integer type, date, time, timestamp and boolean as int64_t;
 * these, float and double as double.  What cannot be read as asked reads as 0, as null does.
 */
// SPDX-License-Identifier: Apache-2.0
#include "driver/core.h"

enum err result_open(struct rd_result *r, struct cursor body, uint8_t version)
{
    struct answer_result answer;
    arena_reset(&r->page);
    arena_reset(&r->texts);
    r->row = NULL;
    r->rows_left = 0;
    struct bytes kept = arena_copy(&r->page, bytes_of(body.at, cursor_left(&body)));
    enum err err = answer_result_decode(cursor_of(kept), version, &r->page, &answer);
    if (err)
        return err;
    r->kind = answer.kind;
    r->keyspace = answer.keyspace;
    if (answer.kind != RESULT_ROWS) {
        r->metadata.columns_count = 0;
        return answer.kind == RESULT_PREPARED ? ERR_PROTOCOL : OK;
    }
    const struct answer_metadata *m = &answer.rows.metadata;
    if (!m->is_skipped)
        r->metadata = *m;
    else if (!r->statement || m->columns_count != r->metadata.columns_count)
        return ERR_PROTOCOL; /* rows of a shape that nobody told */
    r->metadata.paging_state = m->paging_state;
    r->rows_left = answer.rows.rows_count;
    r->rows = answer.rows.rows;
    return m->new_id.size && r->statement
               ? statement_described(r->statement, cursor_of(kept), version)
               : OK;
}

bool result_row(struct rd_result *r)
{
    arena_reset(&r->texts);
    if (!r->rows_left) {
        r->row = NULL;
        return false;
    }
    if (!r->row)
        r->row = arena_array(&r->page, struct value, r->metadata.columns_count);
    for (size_t i = 0; i < r->metadata.columns_count; i++)
        r->row[i] = wire_value(&r->rows);
    r->rows_left--;
    return !r->rows.bad;
}

/* ---- one value ---- */

static struct value value_at(const struct rd_result *r, size_t at)
{
    if (!r || !r->row || at >= r->metadata.columns_count)
        return (struct value){ VALUE_NULL, { 0 } };
    return r->row[at];
}

struct value result_value(const struct rd_result *r, const char *column)
{
    for (size_t i = 0; i < r->metadata.columns_count; i++)
        if (!strcmp(r->metadata.columns[i].name, column))
            return value_at(r, i);
    return (struct value){ VALUE_NULL, { 0 } };
}

static enum type_kind kind_at(const struct rd_result *r, size_t at)
{
    return r->metadata.columns[at].type->kind;
}

/* Big-endian two's complement of 1 to 8 bytes. */
static int64_t decode_int(struct bytes b)
{
    uint64_t v = b.data[0] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = 0; i < b.size; i++)
        v = v << 8 | b.data[i];
    return (int64_t)v;
}

static bool is_integer(enum type_kind kind)
{
    static const enum type_kind kinds[] = { TYPE_TINYINT, TYPE_SMALLINT,  TYPE_INT,  TYPE_BIGINT,
                                            TYPE_COUNTER, TYPE_TIMESTAMP, TYPE_TIME, TYPE_VARINT,
                                            TYPE_DATE,    TYPE_BOOLEAN };
    for (size_t i = 0; i < array_count(kinds); i++)
        if (kinds[i] == kind)
            return true;
    return false;
}

size_t rd_columns(const rd_result *r) { return r ? r->metadata.columns_count : 0; }

const char *rd_column(const rd_result *r, size_t at)
{
    return at < rd_columns(r) ? r->metadata.columns[at].name : "";
}

bool rd_is_null(const rd_result *r, size_t at) { return value_at(r, at).state != VALUE_SET; }

int64_t rd_int(const rd_result *r, size_t at)
{
    struct value v = value_at(r, at);
    if (v.state != VALUE_SET || v.bytes.size == 0 || v.bytes.size > 8 ||
        !is_integer(kind_at(r, at)))
        return 0;
    if (kind_at(r, at) == TYPE_DATE && v.bytes.size == 4)
        return (int32_t)(get_be32(v.bytes.data) ^ 0x80000000u);
    if (kind_at(r, at) == TYPE_BOOLEAN)
        return v.bytes.data[0] != 0;
    return decode_int(v.bytes);
}

double rd_double(const rd_result *r, size_t at)
{
    struct value v = value_at(r, at);
    if (v.state != VALUE_SET)
        return 0;
    if (kind_at(r, at) == TYPE_DOUBLE && v.bytes.size == 8) {
        uint64_t bits = get_be64(v.bytes.data);
        double number;
        memcpy(&number, &bits, sizeof number);
        return number;
    }
    if (kind_at(r, at) == TYPE_FLOAT && v.bytes.size == 4) {
        uint32_t bits = get_be32(v.bytes.data);
        float number;
        memcpy(&number, &bits, sizeof number);
        return (double)number;
    }
    return (double)rd_int(r, at);
}

const void *rd_bytes(const rd_result *r, size_t at, size_t *bytes)
{
    struct value v = value_at(r, at);
    *bytes = v.state == VALUE_SET ? v.bytes.size : 0;
    return v.state == VALUE_SET && v.bytes.size ? v.bytes.data : NULL;
}

const char *result_text(struct rd_result *r, size_t at)
{
    struct value v = value_at(r, at);
    if (v.state != VALUE_SET)
        return "";
    const struct type *type = r->metadata.columns[at].type;
    if (type->kind == TYPE_TEXT || type->kind == TYPE_ASCII)
        return arena_text(&r->texts, v.bytes);
    struct buf text = buf_in(&r->texts);
    type_print_value(type, v.bytes, &text);
    buf_put_u8(&text, 0);
    return (const char *)text.data;
}

const char *result_type(struct rd_result *r, size_t at)
{
    struct buf text = buf_in(&r->page);
    type_print(r->metadata.columns[at].type, &text);
    buf_put_u8(&text, 0);
    return (const char *)text.data;
}

rd_code rd_result_code(const rd_result *r) { return r ? r->code : RD_MISUSE; }
