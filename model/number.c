/* number.c - integers of any length between two's complement bytes and decimal digits.
 *
 *     bytes  ──> magnitude in 32-bit words, most significant first ──> divide by 10^9 ──> digits
 *     digits ──> multiply by 10^9 and add ──> words ──> bytes
 *
 * Schoolbook arithmetic in arrays on the stack: at 4096 bytes some half million steps.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/number.h"

enum { WORDS_MAX = NUMBER_BYTES_MAX / 4, GROUP_DIGITS = 9, GROUP = 1000000000 };

struct words {
    size_t count;
    uint32_t w[WORDS_MAX]; /* most significant first */
};

struct bytes number_trim(struct bytes value)
{
    ensure(value.size > 0);
    while (value.size > 1) {
        bool is_zero = value.data[0] == 0x00 && value.data[1] < 0x80;
        bool is_ones = value.data[0] == 0xff && value.data[1] >= 0x80;
        if (!is_zero && !is_ones)
            break;
        value.data++, value.size--;
    }
    return value;
}

/* The magnitude: for a negative number all bits flipped, plus one. */
static void words_of(struct bytes value, struct words *out)
{
    uint32_t flip = number_is_negative(value) ? UINT32_MAX : 0;
    uint64_t carry = flip ? 1 : 0;
    out->count = (value.size + 3) / 4;
    size_t end = value.size;
    for (size_t i = out->count; i-- > 0;) {
        uint32_t word = flip; /* what stands before the first byte is the sign */
        size_t begin = end < 4 ? 0 : end - 4;
        for (size_t at = begin; at < end; at++)
            word = word << 8 | value.data[at];
        end = begin;
        carry += (uint64_t)(uint32_t)(word ^ flip);
        out->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* Divides in place; the remainder.  Leading zero words are left out from then on. */
static uint32_t words_divide(struct words *words, size_t *first)
{
    uint64_t rest = 0;
    for (size_t i = *first; i < words->count; i++) {
        rest = rest << 32 | words->w[i];
        words->w[i] = (uint32_t)(rest / GROUP);
        rest %= GROUP;
    }
    while (*first < words->count && words->w[*first] == 0)
        ++*first;
    return (uint32_t)rest;
}

size_t number_digits(struct bytes value, char out[NUMBER_DIGITS_MAX])
{
    ensure(value.size > 0 && value.size <= NUMBER_BYTES_MAX);
    struct words words;
    words_of(value, &words);
    size_t first = 0, at = NUMBER_DIGITS_MAX;
    while (first < words.count && words.w[first] == 0)
        first++;
    while (first < words.count) {
        uint32_t group = words_divide(&words, &first);
        ensure(at >= GROUP_DIGITS);
        for (int i = 0; i < GROUP_DIGITS; i++, group /= 10)
            out[--at] = (char)('0' + group % 10);
    }
    while (at < NUMBER_DIGITS_MAX && out[at] == '0')
        at++;
    memmove(out, out + at, NUMBER_DIGITS_MAX - at);
    return NUMBER_DIGITS_MAX - at;
}

/* words = words * factor + plus; false when that does not fit.  Here `first` is the first word in
 * use, and the words stand at the end of the array. */
static bool words_grow(struct words *words, size_t *first, uint32_t factor, uint32_t plus)
{
    uint64_t carry = plus;
    for (size_t i = WORDS_MAX; i-- > *first;) {
        carry += (uint64_t)words->w[i] * factor;
        words->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry && *first == 0)
        return false;
    if (carry)
        words->w[--*first] = (uint32_t)carry;
    return true;
}

static enum err words_put(struct words *words, size_t first, bool is_negative, struct buf *out)
{
    uint32_t flip = is_negative ? UINT32_MAX : 0;
    uint64_t carry = is_negative ? 1 : 0;
    uint8_t raw[4 + NUMBER_BYTES_MAX] = { 0 };
    for (size_t i = WORDS_MAX; i-- > first;) {
        carry += (uint64_t)(uint32_t)(words->w[i] ^ flip);
        put_be32(raw + 4 + 4 * i, (uint32_t)carry);
        carry >>= 32;
    }
    /* Magnitude zero carries out of all words; else the word before is the sign. */
    put_be32(raw + 4 * first, first == WORDS_MAX ? 0 : flip);
    struct bytes trimmed = number_trim(bytes_of(raw + 4 * first, 4 + 4 * (WORDS_MAX - first)));
    if (trimmed.size > NUMBER_BYTES_MAX)
        return ERR_INVALID;
    buf_put_bytes(out, trimmed);
    return OK;
}

enum err number_of_digits(bool is_negative, struct bytes digits, struct buf *out)
{
    struct words words;
    size_t first = WORDS_MAX;
    while (digits.size && digits.data[0] == '0')
        digits.data++, digits.size--;
    if (digits.size > NUMBER_DIGITS_MAX)
        return ERR_INVALID;
    for (size_t at = 0; at < digits.size;) {
        uint32_t factor = 1, group = 0;
        for (; at < digits.size && factor < GROUP; at++, factor *= 10)
            group = group * 10 + (uint32_t)(digits.data[at] - '0');
        if (!words_grow(&words, &first, factor, group))
            return ERR_INVALID;
    }
    return words_put(&words, first, is_negative, out);
}

void decimal_of(struct bytes value, struct decimal *out)
{
    ensure(value.size > DECIMAL_SCALE_BYTES);
    int32_t scale = (int32_t)get_be32(value.data);
    struct bytes unscaled =
        bytes_of(value.data + DECIMAL_SCALE_BYTES, value.size - DECIMAL_SCALE_BYTES);
    out->digits_count = number_digits(unscaled, out->digits);
    out->sign = out->digits_count == 0 ? 0 : number_is_negative(unscaled) ? -1 : 1;
    out->exponent = (int64_t)out->digits_count - scale;
    while (out->digits_count && out->digits[out->digits_count - 1] == '0')
        out->digits_count--;
}
