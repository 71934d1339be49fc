/* number.h - integers and decimals of any length: two's complement bytes and decimal digits.
 *
 * What varint, decimal, their text and their comparable form share.  Sizes are limited, so that
 * all of it works on the stack and in bounded time (the conversions are quadratic).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

enum {
    NUMBER_BYTES_MAX = 4096,      /* of two's complement: a bit less than 9,865 digits */
    NUMBER_DIGITS_MAX = 9 * 1097, /* room for them, in groups of nine */
    DECIMAL_SCALE_BYTES = 4,      /* what stands before the unscaled number of a decimal */
};

/* The same number without redundant sign bytes; at least one byte stays. */
struct bytes number_trim(struct bytes value);
static inline bool number_is_negative(struct bytes value) { return value.data[0] & 0x80; }
/* The digits of the magnitude, no sign, no leading zeros (none at all for zero); their count.
 * 1 .. NUMBER_BYTES_MAX bytes. */
size_t number_digits(struct bytes value, char out[NUMBER_DIGITS_MAX]);
/* Appends the minimal two's complement of the number with these digits ('0'..'9', checked by the
 * caller).  ERR_INVALID: more than NUMBER_BYTES_MAX bytes; nothing is appended. */
enum err number_of_digits(bool is_negative, struct bytes digits, struct buf *out);

/* A decimal as 0.d1d2d3... x 10^exponent: d1 is not zero, and neither is the last digit. */
struct decimal {
    int sign; /* -1, 0, 1; 0: nothing else counts */
    int64_t exponent;
    size_t digits_count;
    char digits[NUMBER_DIGITS_MAX];
};
/* From the bytes of a valid, not empty value of the type decimal. */
void decimal_of(struct bytes value, struct decimal *out);
