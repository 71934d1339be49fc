/* comparable.c - clustering values as bytes that memcmp orders.
 *
 *     0x40 component 0x40 component 0x38          a key: two columns
 *     0x40 component 0x20 / 0x60                  bounds around a prefix of one
 *     0x3c (0x44 when reversed) instead of 0x40   an empty value of a type that is not bytes; no
 *                                                 component follows
 *     0x3a instead of 0x40                        null; no component follows
 *     0x10                                        the static row
 *
 * Null comes first in a reversed column too: Cassandra looks at it before it asks the type.
 *
 * Components, each prefix-free, each equal exactly when type_compare says 0:
 *
 *     bytes           0x00 becomes 00 ff; ends with 00 00
 *     fixed size      as many bytes, the sign bit flipped where there is one
 *     varint          a byte that grows with sign and size, then the minimal bytes
 *     decimal         40 / 80 / c0 for the sign; then exponent (sign flipped), digits in pairs
 *                     (pair + 1) and 00, all inverted for negative numbers
 *     uuid            its version to the front; version 1: its time to the front
 *     timeuuid        its time to the front, the rest with flipped signs
 *     list, tuple...  each part as a column is (0x3a, 0x3c, 0x40 component), then 0x38; nulls at
 * the end of a tuple are left out
 *
 * Two values that are equal in number, 1.0 and 1.00, are one key, as in Cassandra: they are the
 * same row, and a file with both would not open there.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/comparable.h"

#include "model/number.h"
#include "model/order.h"
#include "model/type_parts.h"

enum {
    MARK_NULL = 0x3a,
    MARK_EMPTY = 0x3c,
    MARK_NEXT = 0x40,
    MARK_EMPTY_REVERSED = 0x44,
};
/* Varint: sizes up to this stand in the first byte itself. */
enum { VARINT_SHORT_MAX = 64 };

static void put_escaped(struct bytes value, struct buf *out)
{
    const uint8_t *zero;
    while (value.size && (zero = memchr(value.data, 0, value.size)) != NULL) {
        size_t size = (size_t)(zero - value.data) + 1;
        buf_put(out, value.data, size);
        buf_put_u8(out, 0xff);
        value = bytes_of(value.data + size, value.size - size);
    }
    buf_put_bytes(out, value);
    buf_put_be16(out, 0);
}

static void put_flipped(struct bytes value, struct buf *out)
{
    size_t at = out->size;
    buf_put_bytes(out, value);
    out->data[at] ^= 0x80;
}

static void put_float(struct bytes value, struct buf *out)
{
    uint64_t bits = order_float_bits(value);
    if (value.size == 8)
        buf_put_be64(out, bits);
    else
        buf_put_be32(out, (uint32_t)(bits >> 32));
}

static void put_varint(struct bytes value, struct buf *out)
{
    struct bytes bytes = number_trim(value);
    bool is_negative = number_is_negative(bytes);
    bool is_long = bytes.size > VARINT_SHORT_MAX;
    uint32_t size = (uint32_t)bytes.size;
    if (is_negative)
        buf_put_u8(out, is_long ? 0x00 : (uint8_t)(0x80 - size));
    else
        buf_put_u8(out, is_long ? 0xff : (uint8_t)(0x80 + size));
    if (is_long)
        buf_put_be32(out, is_negative ? ~size : size);
    buf_put_bytes(out, bytes);
}

static void invert(struct buf *out, size_t from)
{
    for (size_t i = from; i < out->size; i++)
        out->data[i] = (uint8_t)~out->data[i];
}

static void put_decimal(struct bytes value, struct buf *out)
{
    struct decimal d;
    decimal_of(value, &d);
    buf_put_u8(out, (uint8_t)(0x80 + 0x40 * d.sign));
    if (d.sign == 0)
        return;
    size_t from = out->size;
    buf_put_be64(out, (uint64_t)d.exponent ^ UINT64_C(1) << 63);
    for (size_t i = 0; i < d.digits_count; i += 2) {
        int low = i + 1 < d.digits_count ? d.digits[i + 1] - '0' : 0;
        buf_put_u8(out, (uint8_t)((d.digits[i] - '0') * 10 + low + 1));
    }
    buf_put_u8(out, 0);
    if (d.sign < 0)
        invert(out, from);
}

static void put_uuid(struct bytes value, struct buf *out)
{
    uint64_t bits = get_be64(value.data), version = bits >> 12 & 0xf;
    uint64_t plain = version << 60 | (bits >> 4 & UINT64_C(0x0ffffffffffff000)) | (bits & 0xfff);
    buf_put_be64(out, version == 1 ? order_uuid_time(value) : plain);
    buf_put(out, value.data + 8, 8);
}

static void put_timeuuid(struct bytes value, struct buf *out)
{
    buf_put_be64(out, order_uuid_time(value));
    buf_put_be64(out, get_be64(value.data + 8) ^ UINT64_C(0x8080808080808080));
}

static void put_halves(struct bytes value, struct buf *out)
{
    uint64_t sign = UINT64_C(1) << 63;
    buf_put_be64(out, get_be64(value.data) ^ sign);
    buf_put_be64(out, get_be64(value.data + 8) ^ sign);
}

static void put_parts(const struct type *type, struct bytes value, struct buf *out)
{
    struct type_parts parts = type_parts_of(type, value);
    const struct type *part_type;
    struct bytes part;
    size_t end = out->size;
    while (type_parts_next(&parts, &part_type, &part)) {
        comparable_component(part_type, false, part, out);
        end = part.data ? out->size : end;
        if (type_is_tuple(type) && cursor_left(&parts.rest) == 0)
            break;
    }
    out->size = end;
    buf_put_u8(out, COMPARABLE_ROW);
}

static void put_value(const struct type *type, enum order order, struct bytes value,
                      struct buf *out)
{
    size_t fixed = type_fixed_bytes(type);
    ensure_after(order != ORDER_BYTES && fixed, value.size == fixed);
    if (order == ORDER_BYTES)
        put_escaped(value, out);
    else if (order == ORDER_UNSIGNED)
        buf_put_bytes(out, value);
    else if (order == ORDER_SIGNED)
        put_flipped(value, out);
    else if (order == ORDER_BOOLEAN)
        buf_put_u8(out, value.data[0] != 0);
    else if (order == ORDER_FLOAT)
        put_float(value, out);
    else if (order == ORDER_VARINT)
        put_varint(value, out);
    else if (order == ORDER_DECIMAL)
        put_decimal(value, out);
    else if (order == ORDER_UUID)
        put_uuid(value, out);
    else if (order == ORDER_TIMEUUID)
        put_timeuuid(value, out);
    else if (order == ORDER_HALVES)
        put_halves(value, out);
    else
        put_parts(type, value, out);
}

void comparable_component(const struct type *type, bool is_reversed, struct bytes value,
                          struct buf *out)
{
    enum order order = order_of(type);
    if (!value.data) {
        buf_put_u8(out, MARK_NULL);
        return;
    }
    if (value.size == 0 && order != ORDER_BYTES) {
        buf_put_u8(out, is_reversed ? MARK_EMPTY_REVERSED : MARK_EMPTY);
        return;
    }
    buf_put_u8(out, MARK_NEXT);
    size_t from = out->size;
    put_value(type, order, value, out);
    if (is_reversed)
        invert(out, from);
}

void clustering_put(struct buf *out, struct bytes value)
{
    ensure(value.size < CLUSTERING_NULL_SIZE);
    if (value.data)
        buf_put_sized(out, value);
    else
        buf_put_vint(out, CLUSTERING_NULL_SIZE);
}

struct bytes clustering_take(struct cursor *c)
{
    uint64_t size = cursor_vint(c);
    c->bad |= size > CLUSTERING_NULL_SIZE;
    return size < CLUSTERING_NULL_SIZE ? cursor_bytes(c, size) : (struct bytes){ 0 };
}

static void put_prefix(const struct table *table, const struct bytes *values, size_t count,
                       struct buf *out)
{
    ensure(count <= table->clustering_count);
    for (size_t i = 0; i < count; i++) {
        const struct column *column = table_clustering(table, i);
        comparable_component(column->type, column->is_reversed, values[i], out);
    }
}

void comparable_key(const struct table *table, const struct bytes *values, struct buf *out)
{
    put_prefix(table, values, table->clustering_count, out);
    buf_put_u8(out, COMPARABLE_ROW);
}

void comparable_below(const struct table *table, const struct bytes *values, size_t count,
                      struct buf *out)
{
    put_prefix(table, values, count, out);
    buf_put_u8(out, COMPARABLE_BELOW);
}

void comparable_above(const struct table *table, const struct bytes *values, size_t count,
                      struct buf *out)
{
    put_prefix(table, values, count, out);
    buf_put_u8(out, COMPARABLE_ABOVE);
}

void comparable_static_key(struct buf *out) { buf_put_u8(out, COMPARABLE_STATIC); }

bool comparable_bound_is_above(struct bytes bound)
{
    ensure(bound.size > 0);
    uint8_t mark = bound.data[bound.size - 1];
    ensure(mark == COMPARABLE_BELOW || mark == COMPARABLE_ABOVE);
    return mark == COMPARABLE_ABOVE;
}

void comparable_partition(int64_t token, struct bytes key, struct buf *out)
{
    buf_put_be64(out, (uint64_t)token ^ UINT64_C(1) << 63);
    buf_put_bytes(out, key);
}
