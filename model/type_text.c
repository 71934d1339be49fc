/* type_text.c - values as text for people and for CSV.
 *
 *     alone         as cqlsh prints it, without quotes:  it's   2024-02-29   0x00ff
 *     within        as a CQL literal:                    ['it''s', 'b']   {'k': 1}   (1, null)
 *
 * Numbers are printed so that parsing gives the same value back (cqlsh rounds floats; we do not).
 * Bytes that are no value of their type are printed as 0x...; nothing here can fail.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"
#include "model/clock.h"
#include "model/number.h"
#include "model/order.h"
#include "model/type_literal.h"
#include "model/type_parts.h"

#include <arpa/inet.h>
#include <stdlib.h>

static void print_blob(struct bytes value, struct buf *out)
{
    static const char hex[] = "0123456789abcdef";
    buf_put_text(out, "0x");
    uint8_t *at = buf_take(out, 2 * value.size);
    for (size_t i = 0; i < value.size; i++) {
        *at++ = (uint8_t)hex[value.data[i] >> 4];
        *at++ = (uint8_t)hex[value.data[i] & 15];
    }
}

static void print_varint(struct bytes value, struct buf *out)
{
    char digits[NUMBER_DIGITS_MAX];
    size_t count = number_digits(value, digits);
    if (number_is_negative(value))
        buf_put_u8(out, '-');
    buf_put(out, count ? digits : "0", count ? count : 1);
}

static void print_zeros(int64_t count, struct buf *out)
{
    for (; count > 0; count--)
        buf_put_u8(out, '0');
}

/* Plain down to 0.000001, else with an exponent: what Java and Python print. */
static void print_decimal(struct bytes value, struct buf *out)
{
    char digits[NUMBER_DIGITS_MAX];
    struct bytes unscaled =
        bytes_of(value.data + DECIMAL_SCALE_BYTES, value.size - DECIMAL_SCALE_BYTES);
    int64_t scale = (int32_t)get_be32(value.data);
    int64_t count = (int64_t)number_digits(unscaled, digits);
    if (number_is_negative(unscaled))
        buf_put_u8(out, '-');
    if (count == 0)
        digits[0] = '0', count = 1;
    int64_t adjusted = count - 1 - scale, whole = count - scale;
    if (scale < 0 || adjusted < -6) {
        buf_put(out, digits, 1);
        if (count > 1)
            buf_put_u8(out, '.');
        buf_put(out, digits + 1, (size_t)count - 1);
        buf_printf(out, "E%+lld", (long long)adjusted);
        return;
    }
    if (whole > 0)
        buf_put(out, digits, (size_t)whole);
    else
        buf_put_u8(out, '0');
    if (scale == 0)
        return;
    buf_put_u8(out, '.');
    print_zeros(-whole, out);
    buf_put(out, digits + (whole > 0 ? whole : 0), (size_t)(whole > 0 ? scale : count));
}

/* The fewest digits that give the same number back; true when it was not finite. */
static bool print_not_finite(double number, struct buf *out)
{
    if (number - number == 0)
        return false;
    buf_put_text(out, number != number ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
    return true;
}

static void print_double(struct bytes value, struct buf *out)
{
    uint64_t bits = get_be64(value.data);
    double number;
    char text[40];
    memcpy(&number, &bits, sizeof number);
    if (print_not_finite(number, out))
        return;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    buf_put_text(out, text);
}

static void print_float(struct bytes value, struct buf *out)
{
    uint32_t bits = get_be32(value.data);
    float number;
    char text[40];
    memcpy(&number, &bits, sizeof number);
    if (print_not_finite((double)number, out))
        return;
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)number);
        if (strtof(text, NULL) == number)
            break;
    }
    buf_put_text(out, text);
}

static void print_integer(struct bytes value, struct buf *out)
{
    buf_printf(out, "%lld", (long long)order_signed(value));
}

static void print_uuid(struct bytes value, struct buf *out)
{
    char text[UUID_TEXT_BYTES];
    struct uuid uuid;
    memcpy(uuid.b, value.data, sizeof uuid.b);
    uuid_print(&uuid, text);
    buf_put_text(out, text);
}

static void print_inet(struct bytes value, struct buf *out)
{
    char text[INET6_ADDRSTRLEN];
    int family = value.size == 4 ? AF_INET : AF_INET6;
    ensure(inet_ntop(family, value.data, text, sizeof text) != NULL);
    buf_put_text(out, text);
}

static void print_duration(struct bytes value, struct buf *out)
{
    struct cursor c = cursor_of(value);
    int32_t months = (int32_t)cursor_signed_vint(&c);
    int32_t days = (int32_t)cursor_signed_vint(&c);
    clock_print_duration(months, days, cursor_signed_vint(&c), out);
}

static void print_native(enum type_kind kind, struct bytes value, struct buf *out)
{
    if (value.size == 0 && kind != TYPE_BLOB)
        return;
    if (kind == TYPE_TEXT || kind == TYPE_ASCII)
        buf_put_bytes(out, value);
    else if (kind == TYPE_BLOB)
        print_blob(value, out);
    else if (kind == TYPE_BOOLEAN)
        buf_put_text(out, value.data[0] ? "True" : "False");
    else if (kind == TYPE_VARINT)
        print_varint(value, out);
    else if (kind == TYPE_DECIMAL)
        print_decimal(value, out);
    else if (kind == TYPE_DOUBLE)
        print_double(value, out);
    else if (kind == TYPE_FLOAT)
        print_float(value, out);
    else if (kind == TYPE_UUID || kind == TYPE_TIMEUUID)
        print_uuid(value, out);
    else if (kind == TYPE_INET)
        print_inet(value, out);
    else if (kind == TYPE_TIMESTAMP)
        clock_print_timestamp((int64_t)get_be64(value.data), out);
    else if (kind == TYPE_DATE)
        clock_print_date(get_be32(value.data), out);
    else if (kind == TYPE_TIME)
        clock_print_time(get_be64(value.data), out);
    else if (kind == TYPE_DURATION)
        print_duration(value, out);
    else
        print_integer(value, out);
}

static void print_quoted(struct bytes text, struct buf *out)
{
    buf_put_u8(out, '\'');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\'')
            buf_put_u8(out, '\'');
        buf_put_u8(out, text.data[i]);
    }
    buf_put_u8(out, '\'');
}

/* A part of a collection or tuple, as a literal. */
static void print_part(const struct type *type, struct bytes value, struct buf *out)
{
    if (type->kind == TYPE_TEXT || type->kind == TYPE_ASCII) {
        print_quoted(value, out);
        return;
    }
    buf_put_text(out, type_literal_is_quoted(type->kind) ? "'" : "");
    type_print_value(type, value, out);
    buf_put_text(out, type_literal_is_quoted(type->kind) ? "'" : "");
}

/* The brackets around the parts of a type. */
static const char *brackets_of(enum type_kind kind)
{
    return kind == TYPE_LIST || kind == TYPE_VECTOR ? "[]" : kind == TYPE_TUPLE ? "()" : "{}";
}

/* The bytes have been validated.  Of a tuple all fields are printed, also those that are missing.
 */
static void print_parts(const struct type *type, struct bytes value, struct buf *out)
{
    struct type_parts parts = type_parts_of(type, value);
    const char *brackets = brackets_of(type->kind);
    size_t count = type_is_tuple(type) ? type->parts_count : parts.count;
    buf_put_u8(out, (uint8_t)brackets[0]);
    for (size_t i = 0; i < count; i++) {
        const struct type *part_type = NULL;
        struct bytes part = { 0 };
        type_parts_next(&parts, &part_type, &part);
        bool is_value = type->kind == TYPE_MAP && i % 2;
        buf_put_text(out, is_value ? ": " : i ? ", " : "");
        if (type->kind == TYPE_UDT) {
            type_print_name(type->fields[i], out);
            buf_put_text(out, ": ");
        }
        if (part.data)
            print_part(part_type, part, out);
        else
            buf_put_text(out, "null");
    }
    buf_put_u8(out, (uint8_t)brackets[1]);
}

void type_print_value(const struct type *type, struct bytes value, struct buf *out)
{
    if (type_validate(type, value) != OK || type->kind == TYPE_CUSTOM)
        print_blob(value, out);
    else if (type_is_native(type))
        print_native(type->kind, value, out);
    else if (type->kind != TYPE_EMPTY)
        print_parts(type, value, out);
}
