/* help.h - bytes from hex and back, and envelopes into and out of streams, for the wire suites. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "wire/wire.h"

#include <check.h>
#include <stdlib.h>

/* Appends the bytes that hex digits say; blanks are skipped. */
static inline void put_hex(struct buf *b, const char *text)
{
    for (; *text; text += 2) {
        while (*text == ' ')
            text++;
        char digits[3] = { text[0], text[1], 0 };
        buf_put_u8(b, (uint8_t)strtoul(digits, NULL, 16));
    }
}

/* Compares with hex digits (blanks are skipped); both are printed when they differ. */
static inline void expect_hex(struct bytes got, const char *text)
{
    struct buf want = { 0 }, shown = { 0 }, wanted = { 0 };
    put_hex(&want, text);
    for (size_t i = 0; i < got.size; i++)
        buf_printf(&shown, "%02x", got.data[i]);
    for (size_t i = 0; i < want.size; i++)
        buf_printf(&wanted, "%02x", want.data[i]);
    buf_put_u8(&shown, 0);
    buf_put_u8(&wanted, 0);
    ck_assert_str_eq((char *)shown.data, (char *)wanted.data);
    buf_deinit(&want);
    buf_deinit(&shown);
    buf_deinit(&wanted);
}

static inline void expect_text(struct bytes got, const char *text)
{
    ck_assert_uint_eq(got.size, strlen(text));
    ck_assert(bytes_equal(got, bytes_text(text)));
}

/* Feeds all of `bytes`, as the room comes, in pieces of at most `piece`; the envelopes on the way
 * must have been asked for already, so this is for streams that say MORE until their end. */
static inline void feed(struct wire_in *in, struct bytes bytes)
{
    while (bytes.size) {
        size_t room;
        uint8_t *at = wire_in_room(in, &room);
        size_t n = u64_min(room, bytes.size);
        memcpy(at, bytes.data, n);
        wire_in_fed(in, n);
        bytes.data += n, bytes.size -= n;
    }
}

enum { BYTES_MAX = 1 << 20 };

/* Verdicts in the tables below. */
#define M WIRE_MORE
#define E WIRE_ENVELOPE
#define R WIRE_REFUSED
#define B WIRE_BROKEN

static inline enum wire_verdict next_of(struct wire_in *in, const char *hex,
                                        struct wire_envelope *e, struct report *r)
{
    struct buf b = { 0 };
    put_hex(&b, hex);
    feed(in, buf_bytes(&b));
    buf_deinit(&b);
    return wire_in_next(in, e, r);
}

/* A server's input that has seen STARTUP and is framed. */
static inline void framed_in(struct wire_in *in, bool is_lz4)
{
    struct wire_envelope e;
    wire_in_init(in, true, BYTES_MAX);
    ck_assert_int_eq(next_of(in, "05 00 0000 01 00000002 0000", &e, NULL), WIRE_ENVELOPE);
    in->is_lz4 = is_lz4;
    wire_in_framed(in);
}
