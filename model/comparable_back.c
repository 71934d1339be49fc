/* comparable_back.c - from the bytes of a clustering key or bound back to values.
 *
 *     0x40 component 0x40 component 0x60   ──>   value, value        (comparable.c has the forms)
 *
 * A range tombstone in an answer is told by its bounds alone, but what is written of it to a log, a
 * file or a replica carries values.  The way to the bytes forgets what makes no difference to
 * Cassandra's order (1.0 and 1.00, the bits of a NaN); the way back takes the shortest form, so
 * that values -> bytes -> values -> the same bytes.
 *
 * Nothing of the input is trusted: it may come from another node.  So each value is checked, and
 * its way to the bytes gone again: a length, an order or a form that no value has is refused.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/comparable.h"
#include "model/number.h"
#include "model/order.h"
#include "model/type_parts.h"

enum { MARK_NULL = 0x3a, MARK_EMPTY = 0x3c, MARK_NEXT = 0x40, MARK_EMPTY_REVERSED = 0x44 };
enum { VARINT_SHORT_MAX = 64 };
#define SIGN (UINT64_C(1) << 63)

struct back { /* a way through the bytes */
    struct cursor c;
    uint8_t mask; /* 0xff inside of a reversed column: its bytes are inverted */
};

static uint8_t take(struct back *b) { return cursor_u8(&b->c) ^ b->mask; }

static uint64_t take_be(struct back *b, size_t size)
{
    uint64_t number = 0;
    while (size--)
        number = number << 8 | take(b);
    return number;
}

static void take_bytes(struct back *b, size_t size, struct buf *out)
{
    struct bytes bytes = cursor_bytes(&b->c, size);
    for (size_t i = 0; i < bytes.size; i++)
        buf_put_u8(out, bytes.data[i] ^ b->mask);
}

static void take_escaped(struct back *b, struct buf *out)
{
    while (!b->c.bad) {
        uint8_t byte = take(b);
        uint8_t next = byte ? 0xff : take(b);
        if (!byte && !next)
            return;
        b->c.bad |= next != 0xff;
        buf_put_u8(out, byte);
    }
}

static void take_flipped(struct back *b, size_t size, struct buf *out)
{
    size_t at = out->size;
    take_bytes(b, size, out);
    if (out->size > at)
        out->data[at] ^= 0x80;
}

static void take_float(struct back *b, size_t size, struct buf *out)
{
    ensure(size == 4 || size == 8);
    uint64_t bits = take_be(b, size) << (64 - 8 * size);
    uint64_t nan = size == 8 ? UINT64_C(0x7ff8) << 48 : UINT64_C(0x7fc0) << 48;
    uint64_t all = UINT64_MAX << (64 - 8 * size);
    uint64_t value = bits == all ? nan : bits & SIGN ? bits ^ SIGN : ~bits;
    if (size == 8)
        buf_put_be64(out, value);
    else
        buf_put_be32(out, (uint32_t)(value >> 32));
}

static void take_varint(struct back *b, struct buf *out)
{
    uint8_t first = take(b);
    uint32_t size = first < 0x80 ? 0x80u - first : first - 0x80u;
    if (first == 0x00 || first == 0xff) {
        uint32_t written = (uint32_t)take_be(b, sizeof written);
        size = first ? written : ~written;
        b->c.bad |= size <= VARINT_SHORT_MAX;
    }
    b->c.bad |= size == 0 || size > NUMBER_BYTES_MAX;
    take_bytes(b, b->c.bad ? 0 : size, out);
}

/* 0.d1d2... x 10^exponent as a scale and a whole number. */
static void put_decimal(bool is_negative, int64_t exponent, struct bytes digits, struct buf *out,
                        bool *is_bad)
{
    char shown[NUMBER_DIGITS_MAX];
    size_t count = digits.size;
    memcpy(shown, digits.data, count);
    for (; (int64_t)count - exponent < INT32_MIN && count < sizeof shown; count++)
        shown[count] = '0';
    int64_t scale = (int64_t)count - exponent;
    *is_bad |= scale < INT32_MIN || scale > INT32_MAX;
    buf_put_be32(out, (uint32_t)(int32_t)(*is_bad ? 0 : scale));
    *is_bad |= number_of_digits(is_negative, bytes_of(shown, count), out) != OK;
}

static void take_decimal(struct back *b, struct buf *out)
{
    static const uint8_t zero[DECIMAL_SCALE_BYTES + 1];
    char digits[NUMBER_DIGITS_MAX];
    size_t count = 0;
    uint8_t sign = take(b);
    if (sign == 0x80) {
        buf_put(out, zero, sizeof zero);
        return;
    }
    b->c.bad |= sign != 0x40 && sign != 0xc0;
    uint8_t mask = b->mask;
    if (sign == 0x40)
        b->mask ^= 0xff;
    int64_t exponent = (int64_t)(take_be(b, 8) ^ SIGN);
    b->c.bad |= exponent > (int64_t)NUMBER_DIGITS_MAX - INT32_MIN || exponent < -(int64_t)INT32_MAX;
    for (uint8_t pair; !b->c.bad && (pair = take(b)) != 0;) {
        b->c.bad |= pair > 100 || count + 2 > sizeof digits;
        if (b->c.bad)
            return;
        digits[count++] = (char)('0' + (pair - 1) / 10);
        digits[count++] = (char)('0' + (pair - 1) % 10);
    }
    b->mask = mask;
    while (count && digits[count - 1] == '0')
        count--;
    b->c.bad |= count == 0;
    if (!b->c.bad)
        put_decimal(sign == 0x40, exponent, bytes_of(digits, count), out, &b->c.bad);
}

/* The first half of an uuid whose time stands in front. */
static uint64_t half_of_time(uint64_t t)
{
    return t << 32 | (t >> 16 & UINT64_C(0xffff0000)) | t >> 48;
}

static void take_uuid(struct back *b, bool is_timed, struct buf *out)
{
    uint64_t first = take_be(b, 8), version = first >> 60;
    uint64_t plain = (first & UINT64_C(0x0ffffffffffff000)) << 4 | version << 12 | (first & 0xfff);
    buf_put_be64(out, is_timed || version == 1 ? half_of_time(first) : plain);
    uint64_t flips = is_timed ? UINT64_C(0x8080808080808080) : 0;
    buf_put_be64(out, take_be(b, 8) ^ flips);
}

static void take_value(const struct type *, struct back *, struct buf *out);

/* One component behind its mark; false: null. */
static bool take_component(const struct type *type, bool is_reversed, struct back *b,
                           struct buf *out)
{
    uint8_t mark = take(b);
    if (mark == MARK_NULL)
        return false;
    bool is_empty = mark == (is_reversed ? MARK_EMPTY_REVERSED : MARK_EMPTY);
    b->c.bad |= !is_empty && mark != MARK_NEXT;
    if (is_empty || b->c.bad)
        return true;
    b->mask ^= is_reversed ? 0xff : 0;
    take_value(type, b, out);
    b->mask ^= is_reversed ? 0xff : 0;
    return true;
}

static void put_part(const struct type *type, const struct buf *value, bool is_there,
                     struct buf *out)
{
    size_t fixed;
    if (type->kind != TYPE_VECTOR)
        buf_put_be32(out, is_there ? (uint32_t)value->size : UINT32_MAX);
    else if (!type_sstable_fixed_bytes(type->parts[0], &fixed))
        buf_put_vint(out, value->size);
    buf_put_bytes(out, buf_bytes(value));
}

static void take_parts(const struct type *type, struct back *b, struct buf *out)
{
    struct buf value = { 0 };
    size_t count = 0, at = out->size;
    if (type_is_collection(type))
        buf_put_be32(out, 0);
    while (!b->c.bad && cursor_left(&b->c) && (uint8_t)(*b->c.at ^ b->mask) != COMPARABLE_ROW) {
        b->c.bad |= type_is_tuple(type) && count == type->parts_count;
        if (b->c.bad)
            break;
        buf_clear(&value);
        bool is_there = take_component(type->parts[count % type->parts_count], false, b, &value);
        b->c.bad |= !is_there && !type_is_tuple(type);
        put_part(type, &value, is_there, out);
        count++;
    }
    buf_deinit(&value);
    b->c.bad |= take(b) != COMPARABLE_ROW;
    if (type_is_collection(type))
        put_be32(out->data + at, (uint32_t)(count / type->parts_count));
    else if (type_is_tuple(type) && count == 0)
        buf_put_be32(out, UINT32_MAX); /* of nulls alone, which is not the empty value */
}

static void take_value(const struct type *type, struct back *b, struct buf *out)
{
    enum order order = order_of(type);
    size_t fixed = type_fixed_bytes(type);
    if (order == ORDER_BYTES)
        take_escaped(b, out);
    else if (order == ORDER_UNSIGNED)
        take_bytes(b, fixed, out);
    else if (order == ORDER_SIGNED)
        take_flipped(b, fixed, out);
    else if (order == ORDER_BOOLEAN)
        take_bytes(b, 1, out);
    else if (order == ORDER_FLOAT)
        take_float(b, fixed, out);
    else if (order == ORDER_VARINT)
        take_varint(b, out);
    else if (order == ORDER_DECIMAL)
        take_decimal(b, out);
    else if (order == ORDER_UUID || order == ORDER_TIMEUUID)
        take_uuid(b, order == ORDER_TIMEUUID, out);
    else if (order == ORDER_HALVES)
        take_flipped(b, 8, out), take_flipped(b, 8, out);
    else
        take_parts(type, b, out);
}

/* Is it a value of the column, and do its bytes come of it? */
static bool value_is_sound(const struct column *column, struct bytes value, struct bytes component)
{
    struct buf again = { 0 };
    if (value.data && type_validate(column->type, value) != OK)
        return false;
    comparable_component(column->type, column->is_reversed, value, &again);
    bool is_same = bytes_equal(buf_bytes(&again), component);
    buf_deinit(&again);
    return is_same;
}

enum err comparable_values(const struct table *table, struct bytes key, struct buf *out)
{
    struct back b = { .c = cursor_of(key) };
    struct buf taken = { 0 };
    for (size_t i = 0; !b.c.bad && cursor_left(&b.c) > 1; i++) {
        b.c.bad |= i == table->clustering_count;
        if (b.c.bad)
            break;
        const struct column *column = table_clustering(table, i);
        const uint8_t *from = b.c.at;
        buf_clear(&taken);
        bool is_there = take_component(column->type, column->is_reversed, &b, &taken);
        struct bytes value = is_there ? clustering_value(buf_bytes(&taken)) : (struct bytes){ 0 };
        b.c.bad |= value.size >= CLUSTERING_NULL_SIZE;
        b.c.bad |=
            b.c.bad || !value_is_sound(column, value, bytes_of(from, (size_t)(b.c.at - from)));
        if (!b.c.bad)
            clustering_put(out, value);
    }
    buf_deinit(&taken);
    return b.c.bad || cursor_left(&b.c) != 1 ? ERR_CORRUPT : OK;
}
