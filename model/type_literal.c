/* type_literal.c - text to values: what stands in a CSV cell or, without its quotes, in a CQL
 * literal; here the native types, type_nested.c has the others.
 *
 *     text ──> one parser per kind ──> bytes, appended
 *
 * A text that is no value of its type is ERR_INVALID and appends nothing.  An empty text is a value
 * of text and ascii only.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/type_literal.h"

#include "base/utf8.h"
#include "base/uuid.h"
#include "model/clock.h"
#include "model/number.h"
#include "model/scan.h"

#include <arpa/inet.h>
#include <stdlib.h>

enum { FLOAT_TEXT_MAX = 400, INET_TEXT_MAX = 64, ARENA_BYTES = 4096 };

static bool parse_text(enum type_kind kind, struct bytes text, struct buf *out)
{
    if (!(kind == TYPE_ASCII ? ascii_valid(text) : utf8_valid(text)))
        return false;
    buf_put_bytes(out, text);
    return true;
}

static bool parse_integer(enum type_kind kind, struct bytes text, struct buf *out)
{
    size_t size = type_fixed_bytes(type_native(kind));
    int64_t number, bound = size == 8 ? INT64_MAX : (INT64_C(1) << (8 * size - 1)) - 1;
    if (!scan_i64(text, &number) || number > bound || number < -bound - 1)
        return false;
    uint8_t raw[8];
    put_be64(raw, (uint64_t)number);
    buf_put(out, raw + 8 - size, size);
    return true;
}

static bool parse_varint(struct bytes text, struct buf *out)
{
    struct scan s = scan_of(text);
    bool is_negative = scan_take(&s, '-');
    struct bytes digits = scan_digits(&s);
    return digits.size && scan_done(&s) && number_of_digits(is_negative, digits, out) == OK;
}

/* [-+]digits[.digits][e[-+]digits], with a digit before or behind the point. */
struct number_text {
    bool is_negative;
    struct bytes whole, fraction;
    int64_t exponent;
};
static bool take_number_text(struct bytes text, struct number_text *out)
{
    struct scan s = scan_of(text);
    uint64_t exponent = 0;
    *out = (struct number_text){ .is_negative = scan_take(&s, '-') };
    if (!out->is_negative)
        scan_take(&s, '+');
    out->whole = scan_digits(&s);
    if (scan_take(&s, '.'))
        out->fraction = scan_digits(&s);
    if (out->whole.size + out->fraction.size == 0)
        return false;
    if (scan_take(&s, 'e')) {
        bool is_below = scan_take(&s, '-');
        if (!is_below)
            scan_take(&s, '+');
        if (!scan_number(&s, 18, &exponent))
            return false;
        out->exponent = is_below ? -(int64_t)exponent : (int64_t)exponent;
    }
    return scan_done(&s);
}

static bool parse_decimal(struct bytes text, struct buf *out)
{
    struct number_text number;
    uint8_t digits[NUMBER_DIGITS_MAX];
    if (!take_number_text(text, &number))
        return false;
    size_t count = number.whole.size + number.fraction.size;
    int64_t scale = (int64_t)number.fraction.size - number.exponent;
    if (count > NUMBER_DIGITS_MAX || scale != (int32_t)scale)
        return false;
    memcpy(digits, number.whole.data, number.whole.size);
    if (number.fraction.size)
        memcpy(digits + number.whole.size, number.fraction.data, number.fraction.size);
    size_t at = out->size;
    buf_put_be32(out, (uint32_t)scale);
    if (number_of_digits(number.is_negative, bytes_of(digits, count), out) == OK)
        return true;
    out->size = at;
    return false;
}

/* The text as strtod and strtof take it, in `copy`. */
static bool take_float_text(struct bytes text, char copy[FLOAT_TEXT_MAX + 1])
{
    struct number_text number;
    bool is_negative = text.size && text.data[0] == '-';
    struct bytes rest = bytes_of(text.data + is_negative, text.size - is_negative);
    if (scan_is_word(rest, "nan") || scan_is_word(rest, "infinity"))
        rest.size = 3;
    else if (text.size > FLOAT_TEXT_MAX || !take_number_text(text, &number))
        return false;
    text.size = rest.size + is_negative;
    memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    return true;
}

static bool parse_float(enum type_kind kind, struct bytes text, struct buf *out)
{
    char copy[FLOAT_TEXT_MAX + 1];
    if (!take_float_text(text, copy))
        return false;
    if (kind == TYPE_DOUBLE) {
        double number = strtod(copy, NULL);
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        buf_put_be64(out, bits);
    } else {
        float number = strtof(copy, NULL);
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        buf_put_be32(out, bits);
    }
    return true;
}

static int hex_of(uint8_t c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool parse_blob(struct bytes text, struct buf *out)
{
    struct scan s = scan_of(text);
    if (!scan_take(&s, '0') || !scan_take(&s, 'x') || text.size % 2)
        return false;
    for (size_t i = 2; i < text.size; i++)
        if (hex_of(text.data[i]) < 0)
            return false;
    for (size_t i = 2; i < text.size; i += 2)
        buf_put_u8(out, (uint8_t)(hex_of(text.data[i]) * 16 + hex_of(text.data[i + 1])));
    return true;
}

static bool parse_uuid(enum type_kind kind, struct bytes text, struct buf *out)
{
    struct uuid uuid;
    if (!uuid_parse(text, &uuid) || (kind == TYPE_TIMEUUID && uuid.b[6] >> 4 != 1))
        return false;
    buf_put(out, uuid.b, sizeof uuid.b);
    return true;
}

static bool parse_inet(struct bytes text, struct buf *out)
{
    char copy[INET_TEXT_MAX];
    uint8_t address[16];
    if (text.size == 0 || text.size >= sizeof copy || memchr(text.data, 0, text.size))
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    bool is_six = memchr(text.data, ':', text.size) != NULL;
    if (inet_pton(is_six ? AF_INET6 : AF_INET, copy, address) != 1)
        return false;
    buf_put(out, address, is_six ? 16 : 4);
    return true;
}

static bool parse_boolean(struct bytes text, struct buf *out)
{
    bool is_true = scan_is_word(text, "true");
    if (!is_true && !scan_is_word(text, "false"))
        return false;
    buf_put_u8(out, is_true);
    return true;
}

/* timestamp, date, time, duration */
static bool parse_clock(enum type_kind kind, struct bytes text, struct buf *out)
{
    int64_t millis;
    uint64_t ns;
    uint32_t days;
    if (kind == TYPE_DURATION)
        return clock_parse_duration(text, out);
    if (kind == TYPE_TIMESTAMP && clock_parse_timestamp(text, &millis))
        buf_put_be64(out, (uint64_t)millis);
    else if (kind == TYPE_DATE && clock_parse_date(text, &days))
        buf_put_be32(out, days);
    else if (kind == TYPE_TIME && clock_parse_time(text, &ns))
        buf_put_be64(out, ns);
    else
        return false;
    return true;
}

static bool parse_native(enum type_kind kind, struct bytes text, struct buf *out)
{
    if (kind == TYPE_TEXT || kind == TYPE_ASCII)
        return parse_text(kind, text, out);
    if (kind == TYPE_VARINT)
        return parse_varint(text, out);
    if (kind == TYPE_DECIMAL)
        return parse_decimal(text, out);
    if (kind == TYPE_FLOAT || kind == TYPE_DOUBLE)
        return parse_float(kind, text, out);
    if (kind == TYPE_BLOB)
        return parse_blob(text, out);
    if (kind == TYPE_UUID || kind == TYPE_TIMEUUID)
        return parse_uuid(kind, text, out);
    if (kind == TYPE_INET)
        return parse_inet(text, out);
    if (kind == TYPE_BOOLEAN)
        return parse_boolean(text, out);
    if (kind == TYPE_TIMESTAMP || kind == TYPE_DATE || kind == TYPE_TIME || kind == TYPE_DURATION)
        return parse_clock(kind, text, out);
    return parse_integer(kind, text, out);
}

enum err type_literal_native(enum type_kind kind, struct bytes text, struct buf *out)
{
    return parse_native(kind, text, out) ? OK : ERR_INVALID;
}

bool type_literal_is_quoted(enum type_kind kind)
{
    return kind == TYPE_TEXT || kind == TYPE_ASCII || kind == TYPE_INET || kind == TYPE_TIMESTAMP ||
           kind == TYPE_DATE || kind == TYPE_TIME;
}

enum err type_parse_value(const struct type *type, struct bytes text, struct buf *out)
{
    if (type_is_native(type))
        return type_literal_native(type->kind, text, out);
    struct arena own; /* for parts on their way into the value, when `out` has no arena */
    size_t at = out->size;
    arena_init(&own, ARENA_BYTES);
    enum err err = type_literal_nested(out->arena ? out->arena : &own, type, text, out);
    arena_deinit(&own);
    out->size = err ? at : out->size;
    return err;
}
