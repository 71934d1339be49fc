/* order.h - how the values of a type are ordered; shared by type_compare and comparable.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/type.h"

enum order {
    ORDER_BYTES,    /* any length, unsigned bytes, a prefix first */
    ORDER_UNSIGNED, /* fixed size, unsigned bytes */
    ORDER_SIGNED,   /* fixed size, two's complement */
    ORDER_BOOLEAN,
    ORDER_FLOAT,
    ORDER_VARINT,
    ORDER_DECIMAL,
    ORDER_UUID,
    ORDER_TIMEUUID,
    ORDER_HALVES, /* 16 bytes as two signed numbers */
    ORDER_PARTS,  /* list, set, map, tuple, UDT, vector */
};
enum order order_of(const struct type *);

/* Big-endian two's complement of 1 to 8 bytes. */
static inline int64_t order_signed(struct bytes value)
{
    uint64_t number = value.data[0] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = 0; i < value.size; i++)
        number = number << 8 | value.data[i];
    return (int64_t)number;
}
/* A float (in the upper half) or double as bits that compare as unsigned numbers; every NaN is
 * the same, above infinity. */
uint64_t order_float_bits(struct bytes value);
/* The first half of a version-1 uuid as a number that orders by time; its version on top. */
uint64_t order_uuid_time(struct bytes value);
