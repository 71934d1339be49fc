/* type_json.c - values as Cassandra's Java code prints them: what sstabledump writes.
 *
 *     json      1   1.0   true   "it's"   "0x00ff"   "2024-02-29 12:00:00.123Z"   [1, 2]   {"k": 1}
 *     string    1   1.0   true   it's     00ff       2024-02-29T12:00:00.123Z     00000002...
 *
 * Java shows.  A float has a digit behind its point and an exponent from 10^7 up and below 10^-3;
 * its digits are those of Java before 19, which all of Cassandra's versions run on: not always the
 * fewest ones (1.23456792E8).  An IPv6 address has all its groups.  An empty value of any type is
 * "", NaN and the infinities are null in JSON.
 *
 * What differs: some numbers around 10^25 end with a digit one higher, the nearer one, since sums
 * of Java's overflow there; a tuple with missing fields is printed, while Java throws; bytes that
 * are no value are printed as a blob.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/calendar.h"
#include "model/clock.h"
#include "model/type_parts.h"

#include <stdlib.h>

static void print_hex(struct bytes value, struct buf *out)
{
    for (size_t i = 0; i < value.size; i++)
        buf_printf(out, "%02x", value.data[i]);
}

/* A float or double as Java prints it: 0.d1d2d3... x 10^point. */
struct decimal_text {
    bool is_nan, is_infinite, is_negative;
    int point, count; /* digits before the point, digits; the last one is not 0 */
    char digits[40];
};

static void set_digits(const char *digits, int count, int point, struct decimal_text *out)
{
    while (count > 1 && digits[count - 1] == '0')
        count--;
    memcpy(out->digits, digits, (size_t)count);
    out->count = count, out->point = point;
}

/* A whole number below 2^63: its digits, but for those at the end that its `bits` do not hold. */
static void whole_digits(uint64_t number, int bits, struct decimal_text *out)
{
    char text[40];
    int spare = 63 - __builtin_clzll(number | 1) - bits - 1, dropped = 0;
    for (uint64_t room = UINT64_C(1) << (spare > 0 ? spare : 0); room >= 10; room /= 10) {
        number = number / 10 + (room < 100 && number % 10 >= 5);
        dropped++;
    }
    int count = snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    set_digits(text, count, count + dropped, out);
}

/* Is the number that `text` writes within `room` of `number`, and not just as far?  A long double
 * has bits to spare, but may round the text's number to the very edge. */
static bool is_near(const char *text, double number, long double room)
{
    char edge[100];
    long double near = strtold(text, NULL), off = near - number;
    if (off != room && off != -room)
        return off < room && off > -room;
    snprintf(edge, sizeof edge, "%.60Le", near);
    size_t same = strcspn(text, "e");
    bool is_edge = strncmp(text, edge, same) == 0 && strspn(edge + same, "0.") + same >= 62;
    return !is_edge && strtod(text, NULL) == number;
}

/* The fewest digits that are nearer to the number than half of its distance to the next one, than a
 * quarter for powers of two.  They are two at least, unless one is a power of ten above it. */
static void fewest_digits(double number, double next, bool is_power, struct decimal_text *out)
{
    long double room = ((long double)next - number) / (is_power ? 4 : 2);
    char text[40], digits[40];
    room = room < 0 ? -room : room;
    for (int more = 0; more <= 17; more++) {
        snprintf(text, sizeof text, "%.*e", more, number);
        bool may_stop = more > 0 || (text[0] == '1' && strtold(text, NULL) > number);
        if (may_stop && is_near(text, number, room))
            break;
    }
    int count = 0;
    for (const char *c = text; *c != 'e'; c++)
        if (*c >= '0' && *c <= '9')
            digits[count++] = *c;
    set_digits(digits, count, atoi(strchr(text, 'e') + 1) + 1, out);
}

static double float_at(uint64_t bits, bool is_double)
{
    double number;
    float narrow;
    uint32_t half = (uint32_t)bits;
    memcpy(&number, &bits, sizeof number);
    memcpy(&narrow, &half, sizeof narrow);
    return is_double ? number : (double)narrow;
}

static void decimal_text_of(struct bytes value, struct decimal_text *out)
{
    bool is_double = value.size == 8;
    uint64_t bits = is_double ? get_be64(value.data) : get_be32(value.data);
    int digits = is_double ? 53 : 24;
    uint64_t sign = UINT64_C(1) << (is_double ? 63 : 31);
    uint64_t fraction = bits & ((UINT64_C(1) << (digits - 1)) - 1);
    double number = float_at(bits & ~sign, is_double);
    *out = (struct decimal_text){ .is_negative = (bits & sign) != 0, .is_nan = number != number };
    out->is_infinite = !out->is_nan && number - number != 0;
    if (out->is_nan || out->is_infinite)
        return;
    if (number < 9223372036854775808.0 && number == (double)(uint64_t)number) {
        whole_digits((uint64_t)number, digits, out);
        return;
    }
    bool is_subnormal = (bits & ~sign) == fraction;
    bool is_power = is_subnormal ? (fraction & (fraction - 1)) == 0 : fraction == 0;
    uint64_t next = (bits & ~sign) + (is_power ? 1 : UINT64_MAX); /* a finite one as far away */
    fewest_digits(number, float_at(next, is_double), is_power, out);
}

static void print_zeros(int count, struct buf *out)
{
    for (; count > 0; count--)
        buf_put_u8(out, '0');
}

/* The way of Java's Float.toString and Double.toString. */
static void print_float(struct bytes value, struct buf *out)
{
    struct decimal_text d;
    decimal_text_of(value, &d);
    if (d.is_nan) {
        buf_put_text(out, "NaN");
        return;
    }
    buf_put_text(out, d.is_negative ? "-" : "");
    if (d.is_infinite) {
        buf_put_text(out, "Infinity");
        return;
    }
    bool is_plain = d.point > -3 && d.point < 8;
    int whole = is_plain ? d.point : 1; /* digits before the point */
    int first = whole < 0 ? 0 : whole < d.count ? whole : d.count;
    buf_put_text(out, whole <= 0 ? "0" : "");
    buf_put(out, d.digits, (size_t)first);
    print_zeros(whole - d.count, out);
    buf_put_u8(out, '.');
    print_zeros(-whole, out);
    buf_put(out, d.digits + first, (size_t)(d.count - first));
    buf_put_text(out, d.count == first ? "0" : "");
    if (!is_plain)
        buf_printf(out, "E%d", d.point - 1);
}

/* A year of its era, 1 being the first; with a sign when it has more than four digits. */
static void print_timestamp(struct bytes value, char between, struct buf *out)
{
    char text[40];
    calendar_print_millis((int64_t)get_be64(value.data), text);
    long long year = strtoll(text, NULL, 10);
    year = year > 0 ? year : 1 - year;
    buf_printf(out, year > 9999 ? "+%lld" : "%04lld", year);
    *strchr(text, 'T') = between;
    buf_put_text(out, strchr(text + 1, '-'));
}

/* Years of more than four digits have a sign in Java. */
static void print_date(struct bytes value, struct buf *out)
{
    struct buf text = { .arena = out->arena };
    clock_print_date(get_be32(value.data), &text);
    if (text.data[0] != '-' && text.data[4] != '-')
        buf_put_u8(out, '+');
    buf_put_bytes(out, buf_bytes(&text));
    if (!text.arena)
        buf_deinit(&text);
}

static void print_inet(struct bytes value, struct buf *out)
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
    if (value.size == 16 && memcmp(value.data, mapped, sizeof mapped) == 0)
        value = bytes_of(value.data + 12, 4);
    for (size_t i = 0; i < value.size && value.size == 4; i++)
        buf_printf(out, i ? ".%u" : "%u", value.data[i]);
    for (size_t i = 0; i < value.size && value.size == 16; i += 2)
        buf_printf(out, i ? ":%x" : "%x", get_be16(value.data + i));
}

/* A value of a native type that is not empty, without quotes. */
static void print_native(enum type_kind kind, struct bytes value, struct buf *out)
{
    static const uint8_t no_time[3];
    if (kind == TYPE_BLOB)
        print_hex(value, out);
    else if (kind == TYPE_BOOLEAN)
        buf_put_text(out, value.data[0] ? "true" : "false");
    else if (kind == TYPE_FLOAT || kind == TYPE_DOUBLE)
        print_float(value, out);
    else if (kind == TYPE_TIMESTAMP)
        print_timestamp(value, 'T', out);
    else if (kind == TYPE_DATE)
        print_date(value, out);
    else if (kind == TYPE_INET)
        print_inet(value, out);
    else if (kind != TYPE_DURATION || !bytes_equal(value, bytes_of(no_time, sizeof no_time)))
        type_print_value(type_native(kind), value, out); /* no duration at all prints nothing */
}

static void json_quoted(struct bytes text, struct buf *out)
{
    static const char escaped[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
    buf_put_u8(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        const char *at = c ? strchr(escaped, c) : NULL;
        if (at)
            buf_printf(out, "\\%c", letters[at - escaped]);
        else if (c < 0x20)
            buf_printf(out, "\\u%04X", c);
        else
            buf_put_u8(out, c);
    }
    buf_put_u8(out, '"');
}

static bool is_bare(enum type_kind kind)
{
    return kind == TYPE_BOOLEAN || kind == TYPE_TINYINT || kind == TYPE_SMALLINT ||
           kind == TYPE_INT || kind == TYPE_BIGINT || kind == TYPE_COUNTER || kind == TYPE_VARINT ||
           kind == TYPE_FLOAT || kind == TYPE_DOUBLE;
}

static bool is_not_finite(enum type_kind kind, struct bytes value)
{
    struct decimal_text d = { 0 };
    if (kind == TYPE_FLOAT || kind == TYPE_DOUBLE)
        decimal_text_of(value, &d);
    return d.is_nan || d.is_infinite;
}

static void json_native(enum type_kind kind, struct bytes value, struct buf *out)
{
    if (kind == TYPE_TEXT || kind == TYPE_ASCII) {
        json_quoted(value, out);
    } else if (value.size == 0 && kind != TYPE_BLOB) {
        buf_put_text(out, "\"\"");
    } else if (is_not_finite(kind, value)) {
        buf_put_text(out, "null");
    } else if (kind == TYPE_DECIMAL) {
        type_print_value(type_native(kind), value, out);
    } else {
        const char *quote = is_bare(kind) ? "" : "\"";
        buf_put_text(out, quote);
        buf_put_text(out, kind == TYPE_BLOB ? "0x" : "");
        if (kind == TYPE_TIMESTAMP)
            print_timestamp(value, ' ', out);
        else
            print_native(kind, value, out);
        buf_put_text(out, quote);
    }
}

/* A key of an object: the JSON of a value, as a string. */
static void json_key(const struct type *type, struct bytes value, struct buf *out)
{
    struct buf text = { .arena = out->arena };
    type_json_value(type, value, &text);
    if (text.data[0] == '"')
        buf_put_bytes(out, buf_bytes(&text));
    else
        json_quoted(buf_bytes(&text), out);
    if (!text.arena)
        buf_deinit(&text);
}

/* A name as Cassandra writes it: in quotes of its own when it is not in lower case. */
static void json_field(const char *name, struct buf *out)
{
    bool is_lower = true;
    for (const char *c = name; *c; c++)
        is_lower &= *c < 'A' || *c > 'Z';
    struct buf text = { .arena = out->arena };
    buf_printf(&text, is_lower ? "%s" : "\"%s\"", name);
    json_quoted(buf_bytes(&text), out);
    if (!text.arena)
        buf_deinit(&text);
    buf_put_text(out, ": ");
}

static void json_parts(const struct type *type, struct bytes value, struct buf *out)
{
    struct type_parts parts = type_parts_of(type, value);
    bool is_object = type->kind == TYPE_MAP || type->kind == TYPE_UDT;
    size_t count = type_is_tuple(type) ? type->parts_count : parts.count;
    buf_put_u8(out, is_object ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        const struct type *part_type = NULL;
        struct bytes part = { 0 };
        type_parts_next(&parts, &part_type, &part);
        bool is_value = type->kind == TYPE_MAP && i % 2;
        buf_put_text(out, is_value ? ": " : i ? ", " : "");
        if (type->kind == TYPE_UDT)
            json_field(type->fields[i], out);
        if (!part.data)
            buf_put_text(out, "null");
        else if (type->kind == TYPE_MAP && !is_value)
            json_key(part_type, part, out);
        else
            type_json_value(part_type, part, out);
    }
    buf_put_u8(out, is_object ? '}' : ']');
}

void type_json_value(const struct type *type, struct bytes value, struct buf *out)
{
    if (type_validate(type, value) != OK || type->kind == TYPE_CUSTOM)
        json_native(TYPE_BLOB, value, out);
    else if (type->kind == TYPE_EMPTY)
        buf_put_text(out, "\"\"");
    else if (type_is_native(type))
        json_native(type->kind, value, out);
    else
        json_parts(type, value, out);
}

/* Fields with colons between them, @ for null; both escaped inside.  It ends where the value does.
 */
static void string_tuple(const struct type *type, struct bytes value, struct buf *out)
{
    struct type_parts parts = type_parts_of(type, value);
    const struct type *part_type;
    struct bytes part;
    for (size_t i = 0; cursor_left(&parts.rest) && type_parts_next(&parts, &part_type, &part);
         i++) {
        struct buf text = { .arena = out->arena };
        buf_put_text(out, i ? ":" : "");
        if (part.data)
            type_string_value(part_type, part, &text);
        else
            buf_put_u8(out, '@');
        for (size_t at = 0; at < text.size; at++) {
            if (text.data[at] == ':' || text.data[at] == '@')
                buf_put_u8(out, '\\');
            buf_put_u8(out, text.data[at]);
        }
        if (!text.arena)
            buf_deinit(&text);
    }
}

void type_string_value(const struct type *type, struct bytes value, struct buf *out)
{
    bool is_tuple = type_is_tuple(type);
    if (type_validate(type, value) != OK || (!type_is_native(type) && !is_tuple))
        print_hex(value, out);
    else if (is_tuple)
        string_tuple(type, value, out);
    else if (value.size)
        print_native(type->kind, value, out);
}
