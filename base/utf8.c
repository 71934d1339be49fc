/* utf8.c - is it text?
 *
 * Eight bytes at a time while they are ASCII, which most text is; otherwise one character at a
 * time by its first byte:
 *
 *     C2..DF  one more               E0  A0..BF, one more    ED  80..9F, one more (no surrogates)
 *     E1..EF  two more               F0  90..BF, two more    F4  80..8F, two more (<= U+10FFFF)
 *     F1..F3  three more             others: never
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

/* How many bytes from the start of `in` are ASCII, rounded down to whole words. */
static size_t ascii_words(struct bytes in)
{
    size_t at = 0;
    for (uint64_t word; in.size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, in.data + at, sizeof word);
        if (word & 0x8080808080808080u)
            break;
    }
    return at;
}

bool ascii_valid(struct bytes in)
{
    for (size_t at = ascii_words(in); at < in.size; at++)
        if (in.data[at] >= 0x80)
            return false;
    return true;
}

static bool is_between(uint8_t c, uint8_t least, uint8_t most) { return c >= least && c <= most; }

/* The second byte's range depends on the first byte. */
static bool second_fits(uint8_t first, uint8_t second)
{
    uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return is_between(second, least, most);
}

/* The size of the well-formed character at p, which has `left` >= 1 bytes; 0 if there is none. */
static size_t character_size(const uint8_t *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    if (!is_between(p[0], 0xc2, 0xf4))
        return 0;
    size_t size = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (left < size || !second_fits(p[0], p[1]))
        return 0;
    for (size_t i = 2; i < size; i++)
        if (!is_between(p[i], 0x80, 0xbf))
            return 0;
    return size;
}

bool utf8_valid(struct bytes in)
{
    size_t at = ascii_words(in);
    while (at < in.size) {
        size_t size = character_size(in.data + at, in.size - at);
        if (!size)
            return false;
        at += size;
        if (at < in.size && in.data[at] < 0x80)
            at += ascii_words(bytes_of(in.data + at, in.size - at));
    }
    return true;
}
