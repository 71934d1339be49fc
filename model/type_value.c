/* type_value.c - which bytes are values of a type, and how values compare.
 *
 * Validation is what Cassandra's serializers accept (facts: protocol 3.1), and stricter in four
 * places where Cassandra stores what nothing can read: a time must be within a day, a decimal must
 * have a number behind its scale, a count is not negative, and numbers of any length end at 4096
 * bytes.
 *
 * Order is Cassandra's order of clustering columns:
 *
 *     text, ascii, blob, inet, date, time      unsigned bytes, a prefix first
 *     integers, timestamp, counter             signed
 *     varint, decimal                          numeric: 1.0 and 1.00 are the same
 *     float, double                            -inf < ... < -0 < 0 < ... < inf < NaN, one NaN
 *     boolean                                  false, then all that is not zero
 *     uuid                                     version, then (version 1: time), then bytes
 *     timeuuid                                 time, then bytes as signed ones
 *     list, set, map                           part by part, then by their count
 *     tuple, UDT                               field by field, null first, missing ones are null
 *     vector                                   element by element
 *     duration and foreign classes             bytes (Cassandra gives no order for durations)
 *
 * Empty values come first, an empty tuple before one of nulls.
 *
 * Types nest at most 16 deep, so values of values may be looked at by recursion.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"
#include "model/number.h"
#include "model/order.h"
#include "model/type_java.h"
#include "model/type_parts.h"

static const int64_t day_ns = INT64_C(86400000000000);

static bool duration_valid(struct bytes value)
{
    struct cursor c = cursor_of(value);
    int64_t months = cursor_signed_vint(&c);
    int64_t days = cursor_signed_vint(&c);
    int64_t ns = cursor_signed_vint(&c);
    if (c.bad || cursor_left(&c) || months != (int32_t)months || days != (int32_t)days)
        return false;
    bool any_below = months < 0 || days < 0 || ns < 0;
    bool any_above = months > 0 || days > 0 || ns > 0;
    return !(any_below && any_above);
}

static bool decimal_valid(struct bytes value)
{
    return value.size > DECIMAL_SCALE_BYTES && value.size <= DECIMAL_SCALE_BYTES + NUMBER_BYTES_MAX;
}

/* A value that is not empty. */
static bool native_valid(enum type_kind kind, struct bytes value)
{
    size_t fixed = type_fixed_bytes(type_native(kind));
    if (fixed && value.size != fixed)
        return false;
    if (kind == TYPE_ASCII)
        return ascii_valid(value);
    if (kind == TYPE_TEXT)
        return utf8_valid(value);
    if (kind == TYPE_INET)
        return value.size == 4 || value.size == 16;
    if (kind == TYPE_TIMEUUID)
        return value.data[6] >> 4 == 1;
    if (kind == TYPE_TIME)
        return get_be64(value.data) < (uint64_t)day_ns;
    if (kind == TYPE_VARINT)
        return value.size <= NUMBER_BYTES_MAX;
    if (kind == TYPE_DECIMAL)
        return decimal_valid(value);
    if (kind == TYPE_DURATION)
        return duration_valid(value);
    return true;
}

/* Cassandra accepts an empty value of every older type. */
static bool native_may_be_empty(enum type_kind kind)
{
    return kind != TYPE_DATE && kind != TYPE_TIME && kind != TYPE_SMALLINT &&
           kind != TYPE_TINYINT && kind != TYPE_DURATION;
}

/* list, set, map, tuple, UDT, vector: all parts are values; only fields of tuples may be null. */
static bool parts_valid(const struct type *type, struct bytes value)
{
    struct type_parts parts = type_parts_of(type, value);
    const struct type *part_type;
    struct bytes part;
    if (value.size == 0)
        return type_is_tuple(type); /* all fields are null; others have a count or elements */
    while (type_parts_next(&parts, &part_type, &part)) {
        if (part.data && type_validate(part_type, part) != OK)
            return false;
        if (type_is_tuple(type) && cursor_left(&parts.rest) == 0)
            break; /* all further fields are null */
    }
    return !type_parts_bad(&parts);
}

/* The values of a foreign class are any bytes, unless files give it a size. */
static bool custom_valid(const struct type *type, struct bytes value)
{
    size_t fixed;
    return value.size == 0 || !type_sstable_fixed_bytes(type, &fixed) || value.size == fixed;
}

enum err type_validate(const struct type *type, struct bytes value)
{
    bool is_valid = true;
    if (type_is_native(type))
        is_valid = value.size ? native_valid(type->kind, value) : native_may_be_empty(type->kind);
    else if (type->kind == TYPE_EMPTY)
        is_valid = value.size == 0;
    else if (type->kind == TYPE_CUSTOM)
        is_valid = custom_valid(type, value);
    else
        is_valid = parts_valid(type, value);
    return is_valid ? OK : ERR_INVALID;
}

enum order order_of(const struct type *type)
{
    static const enum order orders[] = {
        [TYPE_ASCII] = ORDER_BYTES,    [TYPE_BIGINT] = ORDER_SIGNED,
        [TYPE_BLOB] = ORDER_BYTES,     [TYPE_BOOLEAN] = ORDER_BOOLEAN,
        [TYPE_COUNTER] = ORDER_SIGNED, [TYPE_DECIMAL] = ORDER_DECIMAL,
        [TYPE_DOUBLE] = ORDER_FLOAT,   [TYPE_FLOAT] = ORDER_FLOAT,
        [TYPE_INT] = ORDER_SIGNED,     [TYPE_TIMESTAMP] = ORDER_SIGNED,
        [TYPE_UUID] = ORDER_UUID,      [TYPE_TEXT] = ORDER_BYTES,
        [TYPE_VARINT] = ORDER_VARINT,  [TYPE_TIMEUUID] = ORDER_TIMEUUID,
        [TYPE_INET] = ORDER_BYTES,     [TYPE_DATE] = ORDER_UNSIGNED,
        [TYPE_TIME] = ORDER_UNSIGNED,  [TYPE_SMALLINT] = ORDER_SIGNED,
        [TYPE_TINYINT] = ORDER_SIGNED, [TYPE_DURATION] = ORDER_BYTES,
    };
    if (type_is_native(type))
        return orders[type->kind];
    if (type->kind == TYPE_CUSTOM && strcmp(type->name, TYPE_CLASS_LEXICAL_UUID) == 0)
        return ORDER_HALVES;
    return type->kind == TYPE_CUSTOM || type->kind == TYPE_EMPTY ? ORDER_BYTES : ORDER_PARTS;
}

static int compare_u64(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

/* Bits of a float or double so that they compare as unsigned: Java's Float.compare. */
uint64_t order_float_bits(struct bytes value)
{
    bool is_double = value.size == 8;
    uint64_t bits = is_double ? get_be64(value.data) : (uint64_t)get_be32(value.data) << 32;
    uint64_t infinity = is_double ? UINT64_C(0x7ff) << 52 : UINT64_C(0xff) << 55;
    uint64_t sign = UINT64_C(1) << 63;
    if ((bits & ~sign) > infinity)
        return UINT64_MAX; /* every NaN is the same and above all */
    return bits & sign ? ~bits : bits | sign;
}

/* 4 bytes low time, 2 middle, 2 version and high: into version, high, middle, low. */
uint64_t order_uuid_time(struct bytes value)
{
    uint64_t bits = get_be64(value.data);
    return bits << 48 | (bits << 16 & UINT64_C(0xffff00000000)) | bits >> 32;
}

static int compare_uuid(struct bytes a, struct bytes b)
{
    int version_a = a.data[6] >> 4, version_b = b.data[6] >> 4;
    if (version_a != version_b)
        return version_a - version_b;
    int c = version_a == 1 ? compare_u64(order_uuid_time(a), order_uuid_time(b)) : 0;
    return c ? c : bytes_compare(a, b);
}

static int compare_timeuuid(struct bytes a, struct bytes b)
{
    int c = compare_u64(order_uuid_time(a), order_uuid_time(b));
    for (size_t i = 8; c == 0 && i < 16; i++)
        c = (int8_t)a.data[i] - (int8_t)b.data[i];
    return c;
}

static int compare_varint(struct bytes a, struct bytes b)
{
    a = number_trim(a), b = number_trim(b);
    bool is_below = number_is_negative(a);
    if (is_below != number_is_negative(b))
        return is_below ? -1 : 1;
    if (a.size != b.size)
        return (a.size < b.size) == is_below ? 1 : -1;
    return bytes_compare(a, b);
}

static int compare_decimal(struct bytes a, struct bytes b)
{
    struct decimal x, y;
    decimal_of(a, &x);
    decimal_of(b, &y);
    if (x.sign != y.sign || x.sign == 0)
        return x.sign - y.sign;
    int c = (x.exponent > y.exponent) - (x.exponent < y.exponent);
    if (c == 0)
        c = bytes_compare(bytes_of(x.digits, x.digits_count), bytes_of(y.digits, y.digits_count));
    return c * x.sign;
}

static int compare_halves(struct bytes a, struct bytes b)
{
    for (size_t at = 0; at < 16; at += 8) {
        int64_t x = (int64_t)get_be64(a.data + at), y = (int64_t)get_be64(b.data + at);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

/* Part by part; what has fewer parts comes first.  Null fields come first too, and those that are
 * missing at the end are null. */
static int compare_parts(const struct type *type, struct bytes a, struct bytes b)
{
    struct type_parts rest_a = type_parts_of(type, a), rest_b = type_parts_of(type, b);
    for (;;) {
        const struct type *part_type;
        struct bytes x, y;
        bool has_x = type_parts_next(&rest_a, &part_type, &x);
        bool has_y = type_parts_next(&rest_b, &part_type, &y);
        if (!has_x || !has_y)
            return has_x - has_y;
        int c = (x.data != NULL) - (y.data != NULL);
        if (c == 0 && x.data)
            c = type_compare(part_type, x, y);
        if (c)
            return c;
        if (type_is_tuple(type) && cursor_left(&rest_a.rest) + cursor_left(&rest_b.rest) == 0)
            return 0;
    }
}

int type_compare(const struct type *type, struct bytes a, struct bytes b)
{
    if (a.size == 0 || b.size == 0)
        return (a.size != 0) - (b.size != 0);
    switch (order_of(type)) {
    case ORDER_SIGNED: {
        int64_t x = order_signed(a), y = order_signed(b);
        return (x > y) - (x < y);
    }
    case ORDER_BOOLEAN:
        return (a.data[0] != 0) - (b.data[0] != 0);
    case ORDER_FLOAT:
        return compare_u64(order_float_bits(a), order_float_bits(b));
    case ORDER_VARINT:
        return compare_varint(a, b);
    case ORDER_DECIMAL:
        return compare_decimal(a, b);
    case ORDER_UUID:
        return compare_uuid(a, b);
    case ORDER_TIMEUUID:
        return compare_timeuuid(a, b);
    case ORDER_HALVES:
        return compare_halves(a, b);
    case ORDER_PARTS:
        return compare_parts(type, a, b);
    case ORDER_BYTES:
    case ORDER_UNSIGNED:
        break;
    }
    return bytes_compare(a, b);
}
