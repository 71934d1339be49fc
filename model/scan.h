/* scan.h - walking over text, a character or a number at a time; inside of model/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

struct scan {
    const uint8_t *at, *end;
};
static inline struct scan scan_of(struct bytes text)
{
    const uint8_t *data = text.data ? text.data : (const uint8_t *)"";
    return (struct scan){ data, data + text.size };
}
static inline bool scan_done(const struct scan *s) { return s->at == s->end; }
static inline bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
/* The next character in lower case, 0 at the end; not taken. */
static inline uint8_t scan_peek(const struct scan *s)
{
    if (scan_done(s))
        return 0;
    return (uint8_t)(*s->at >= 'A' && *s->at <= 'Z' ? *s->at - 'A' + 'a' : *s->at);
}
/* Takes this (lower-case) character if it is next, in either case. */
static inline bool scan_take(struct scan *s, char c)
{
    bool is_next = !scan_done(s) && scan_peek(s) == (uint8_t)c;
    s->at += is_next;
    return is_next;
}
/* Is the text this (lower-case) word, in any case? */
static inline bool scan_is_word(struct bytes text, const char *word)
{
    struct scan s = scan_of(text);
    while (*word && scan_take(&s, *word))
        word++;
    return *word == 0 && scan_done(&s);
}
/* The digits that follow, none or more. */
static inline struct bytes scan_digits(struct scan *s)
{
    const uint8_t *begin = s->at;
    while (!scan_done(s) && is_digit(*s->at))
        s->at++;
    return bytes_of(begin, (size_t)(s->at - begin));
}
/* 1 to `most` digits (19 at most) as a number; false, with nothing taken, when there are none or
 * more. */
static inline bool scan_number(struct scan *s, size_t most, uint64_t *out)
{
    struct scan begin = *s;
    struct bytes digits = scan_digits(s);
    if (digits.size == 0 || digits.size > most) {
        *s = begin;
        return false;
    }
    *out = 0;
    for (size_t i = 0; i < digits.size; i++)
        *out = *out * 10 + (uint64_t)(digits.data[i] - '0');
    return true;
}
/* The whole text as a signed 64-bit number; false when it is none or does not fit. */
static inline bool scan_i64(struct bytes text, int64_t *out)
{
    struct scan s = scan_of(text);
    bool is_negative = scan_take(&s, '-');
    uint64_t magnitude;
    if (!scan_number(&s, 19, &magnitude) || !scan_done(&s))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + is_negative)
        return false;
    *out = (int64_t)(is_negative ? 0 - magnitude : magnitude);
    return true;
}
