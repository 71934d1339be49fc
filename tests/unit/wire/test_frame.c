/* test_frame.c - streams into envelopes and back: the worked examples of facts 1.3 and 1.4 byte by
 * byte, streams cut at every size, flipped bits, frames around nonsense. */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/lz4.h"
#include "base/mem.h"
#include "base/prng.h"
#include "help.h"

static void framed_out(struct wire_out *out, bool is_lz4)
{
    wire_out_init(out, false, WIRE_V5);
    wire_out_framed(out);
    out->is_lz4 = is_lz4;
}

/* One envelope whose body is `n` bytes `fill`. */
static void put_filled(struct wire_out *out, int16_t stream, size_t n, uint8_t fill)
{
    struct buf *b = wire_begin(out, 0, stream, OPCODE_QUERY);
    memset(buf_take(b, n), fill, n);
    wire_end(out);
}

/* ---- warnings ---- */

/* _i: v4, v4 with LZ4, v5. */
START_TEST(a_warning_comes_before_a_payload_and_a_body_that_were_there)
{
    struct wire_out out;
    struct wire_in in;
    struct wire_envelope e;
    struct cursor body;
    struct bytes warnings, payload;
    uint8_t filling[300];
    memset(filling, 7, sizeof filling);
    wire_out_init(&out, true, _i == 2 ? WIRE_V5 : WIRE_V4);
    out.is_lz4 = _i == 1;
    answer_void(wire_begin(&out, 0, 1, OPCODE_RESULT));
    wire_end(&out);
    struct buf *b = wire_begin(&out, 0, 2, OPCODE_RESULT);
    wire_pay(&out, "k", bytes_text("v"));
    buf_put(b, filling, sizeof filling);
    wire_warn(&out, bytes_text("hi"));
    buf_put_u8(b, 9);
    wire_end(&out);
    wire_in_init(&in, false, BYTES_MAX);
    in.is_lz4 = _i == 1;
    feed(&in, wire_out_bytes(&out));
    ck_assert_int_eq(wire_in_next(&in, &e, NULL), WIRE_ENVELOPE);
    ck_assert_int_eq(e.flags & WIRE_WARNING, 0);
    ck_assert_int_eq(wire_in_next(&in, &e, NULL), WIRE_ENVELOPE);
    ck_assert_int_eq(wire_prefix(&e, &body, &warnings, &payload), OK);
    expect_hex(warnings, "0001 0002 6869");
    expect_hex(payload, "0001 0001 6b 00000001 76");
    ck_assert(bytes_equal(cursor_bytes(&body, sizeof filling), bytes_of(filling, sizeof filling)));
    ck_assert_uint_eq(cursor_u8(&body), 9);
    ck_assert_uint_eq(cursor_left(&body), 0);
    wire_in_deinit(&in);
    wire_out_deinit(&out);
}
END_TEST

/* ---- the worked examples ---- */

START_TEST(an_options_envelope_in_v5)
{
    struct wire_out out;
    framed_out(&out, false);
    wire_begin(&out, 0, 1, OPCODE_OPTIONS);
    wire_end(&out);
    expect_hex(buf_bytes(&out.raw), "050000010500000000");
    expect_hex(wire_out_bytes(&out), "090002 a4c8c1 050000010500000000 b5557486");
    wire_out_deinit(&out);
}
END_TEST

START_TEST(an_options_envelope_on_an_lz4_connection_is_not_packed)
{
    struct wire_out out;
    framed_out(&out, true);
    wire_begin(&out, 0, 1, OPCODE_OPTIONS);
    wire_end(&out);
    expect_hex(wire_out_bytes(&out), "0900000004 c2b895 050000010500000000 b5557486");
    wire_out_deinit(&out);
}
END_TEST

START_TEST(a_query_in_v5)
{
    struct wire_out out;
    framed_out(&out, false);
    struct request_query q = {
        .text = bytes_text("SELECT * FROM system.local WHERE key='local'"),
        .params = { .consistency = CL_ONE },
    };
    request_query_encode(wire_begin(&out, 0, 2, OPCODE_QUERY), WIRE_V5, &q);
    wire_end(&out);
    expect_hex(
        wire_out_bytes(&out),
        "3f0002 00cedd 0500000207000000360000002c53454c454354202a2046524f4d2073797374656d2e6c"
        "6f63616c205748455245206b65793d276c6f63616c27000100000000 1186ee75");
    wire_out_deinit(&out);
}
END_TEST

START_TEST(the_example_frames_are_read)
{
    static const struct {
        bool is_lz4;
        const char *hex;
    } rows[] = {
        { false, "090002 a4c8c1 050000010500000000 b5557486" },
        { true, "0900000004 c2b895 050000010500000000 b5557486" },
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct wire_in in;
        struct wire_envelope e;
        framed_in(&in, rows[i].is_lz4);
        if (!rows[i].is_lz4) /* an empty payload */
            ck_assert_int_eq(next_of(&in, "000002 6a36c4 d37e7744", &e, NULL), WIRE_MORE);
        ck_assert_int_eq(next_of(&in, rows[i].hex, &e, NULL), WIRE_ENVELOPE);
        ck_assert_int_eq(e.version, WIRE_V5);
        ck_assert_int_eq(e.opcode, OPCODE_OPTIONS);
        ck_assert_int_eq(e.stream, 1);
        ck_assert_uint_eq(e.body.size, 0);
        ck_assert_int_eq(wire_in_next(&in, &e, NULL), WIRE_MORE);
        wire_in_deinit(&in);
    }
}
END_TEST

/* As a frame's payload, and as v4's compressed body. */
START_TEST(sixty_four_zeros_as_lz4)
{
    struct buf zeros = { 0 }, block = { 0 };
    memset(buf_take(&zeros, 64), 0, 64);
    lz4_pack(buf_bytes(&zeros), &block);
    expect_hex(buf_bytes(&block), "1f00010027500000000000");
    struct wire_in in;
    struct wire_envelope e;
    struct report r;
    framed_in(&in, true);
    /* The frame is sound; its zeros are no envelope of this connection. */
    ck_assert_int_eq(next_of(&in, "0b00800004 ffee15 1f00010027500000000000 ddc34e00", &e, &r),
                     WIRE_REFUSED);
    wire_in_deinit(&in);

    struct wire_out out;
    wire_out_init(&out, false, WIRE_V4);
    out.is_lz4 = true;
    put_filled(&out, 3, 64, 0);
    expect_hex(wire_out_bytes(&out), "04 01 0003 07 0000000f 00000040 1f00010027500000000000");
    wire_in_init(&in, true, BYTES_MAX);
    in.is_lz4 = true;
    feed(&in, wire_out_bytes(&out));
    ck_assert_int_eq(wire_in_next(&in, &e, NULL), WIRE_ENVELOPE);
    ck_assert(bytes_equal(e.body, buf_bytes(&zeros)));
    wire_in_deinit(&in);
    wire_out_deinit(&out);
    buf_deinit(&zeros);
    buf_deinit(&block);
}
END_TEST

START_TEST(a_large_envelope_is_cut_at_131071)
{
    struct wire_out out;
    framed_out(&out, false);
    put_filled(&out, 0, 131076 - WIRE_HEADER_BYTES, 0);
    struct bytes sent = wire_out_bytes(&out);
    ck_assert_uint_eq(sent.size, 131076 + 2 * 10);
    expect_hex(bytes_of(sent.data, 6), "ffff01 3891fe");
    expect_hex(bytes_of(sent.data + 131081, 6), "050000 044823");
    expect_hex(bytes_of(sent.data + sent.size - 4, 4), "efd13c46"); /* of five zero bytes */
    wire_out_deinit(&out);
}
END_TEST

/* ---- any stream, cut at any size ---- */

enum mode { PLAIN_V4, LZ4_V4, FRAMED_V5, LZ4_V5, MODES };

static void mode_begin(enum mode mode, struct wire_in *in, struct wire_out *out)
{
    bool is_v5 = mode == FRAMED_V5 || mode == LZ4_V5;
    bool is_lz4 = mode == LZ4_V4 || mode == LZ4_V5;
    if (is_v5)
        framed_in(in, is_lz4), framed_out(out, is_lz4);
    else
        wire_in_init(in, true, BYTES_MAX), wire_out_init(out, false, WIRE_V4);
    in->is_lz4 = out->is_lz4 = is_lz4;
}

enum { COUNT = 8, LARGE_AT = 5, LARGE_BYTES = 140000 };

/* Bodies of a seed: small ones, empty ones, and one that needs several frames. */
static void put_random(struct wire_out *out, struct prng *p, int16_t stream)
{
    uint64_t size = prng_below(p, 4) ? prng_below(p, 300) : 0;
    if (stream == LARGE_AT)
        size = LARGE_BYTES;
    uint64_t spread = prng_below(p, 2) ? 256 : 3;
    struct buf *b = wire_begin(out, 0, stream, OPCODE_QUERY);
    uint8_t *at = buf_take(b, size);
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)prng_below(p, spread);
    wire_end(out);
}

static void take_all(struct wire_in *in, int *seen, uint64_t *hash)
{
    struct wire_envelope e;
    struct report r;
    enum wire_verdict v;
    while ((v = wire_in_next(in, &e, &r)) == WIRE_ENVELOPE) {
        ck_assert_int_eq(e.stream, *seen);
        ck_assert_int_eq(e.opcode, OPCODE_QUERY);
        *hash = hash_of(*hash, e.body);
        ++*seen;
    }
    if (v != WIRE_MORE) /* an assertion that passes costs a write */
        ck_abort_msg("verdict %d: %s", (int)v, r.text);
}

static void stream_cut(enum mode mode, uint64_t seed, size_t piece)
{
    struct wire_in in;
    struct wire_out out;
    struct prng p = { seed };
    mode_begin(mode, &in, &out);
    for (int16_t i = 0; i < COUNT; i++)
        put_random(&out, &p, i);
    struct bytes sent = wire_out_bytes(&out);
    int seen = 0;
    size_t room_max = 0;
    uint64_t hash = 0, whole = 0;
    for (size_t at = 0; at < sent.size; at += piece) {
        feed(&in, bytes_of(sent.data + at, u64_min(piece, sent.size - at)));
        take_all(&in, &seen, &hash);
        room_max = u64_max(room_max, in.input.room);
    }
    ck_assert_uint_le(room_max, piece + 2 * LARGE_BYTES);
    ck_assert_int_eq(seen, COUNT);
    struct prng again = { seed };
    struct wire_out copy;
    wire_out_init(&copy, false, WIRE_V4);
    for (int16_t i = 0; i < COUNT; i++) {
        put_random(&copy, &again, i);
        struct bytes raw = wire_out_bytes(&copy);
        whole = hash_of(whole, bytes_of(raw.data + 9, raw.size - 9));
        wire_out_sent(&copy);
    }
    ck_assert_uint_eq(hash, whole);
    wire_out_deinit(&copy);
    wire_in_deinit(&in);
    wire_out_deinit(&out);
}

START_TEST(a_stream_cut_anywhere_gives_the_same_envelopes)
{
    static const size_t pieces[] = { 1, 2, 3, 7, 9, 10, 100, 4096, 65536, 1 << 22 };
    for (size_t i = 0; i < array_count(pieces); i++)
        stream_cut((enum mode)_i, 1 + i, pieces[i]);
}
END_TEST

START_TEST(memory_goes_back_after_a_large_envelope)
{
    struct wire_in in;
    struct wire_out out;
    mode_begin((enum mode)_i, &in, &out);
    put_filled(&out, 0, 900000, 7);
    put_filled(&out, 1, 5, 7);
    struct bytes sent = wire_out_bytes(&out);
    int seen = 0;
    uint64_t hash = 0;
    for (size_t at = 0; at < sent.size; at += 10000) {
        feed(&in, bytes_of(sent.data + at, u64_min(10000, sent.size - at)));
        take_all(&in, &seen, &hash);
    }
    wire_out_sent(&out);
    put_filled(&out, 2, 5, 7);
    feed(&in, wire_out_bytes(&out));
    take_all(&in, &seen, &hash);
    ck_assert_int_eq(seen, 3);
    ck_assert_uint_le(in.input.room, 65536);
    ck_assert_uint_le(in.inner.room, 65536);
    ck_assert_uint_le(in.body.room, 65536);
    wire_out_sent(&out);
    ck_assert_uint_le(out.raw.room + out.framed.room, 131072);
    wire_in_deinit(&in);
    wire_out_deinit(&out);
}
END_TEST

START_TEST(small_requests_allocate_nothing)
{
    struct wire_in in;
    struct wire_out out;
    mode_begin((enum mode)_i, &in, &out);
    uint64_t calls = 0;
    for (int round = 0; round < 50; round++) {
        if (round == 10)
            calls = mem_calls();
        for (int16_t i = 0; i < 20; i++)
            put_filled(&out, i, 100, (uint8_t)i);
        feed(&in, wire_out_bytes(&out));
        wire_out_sent(&out);
        int seen = 0;
        uint64_t hash = 0;
        take_all(&in, &seen, &hash);
        ck_assert_int_eq(seen, 20);
    }
    ck_assert_uint_eq(mem_calls(), calls);
    wire_in_deinit(&in);
    wire_out_deinit(&out);
}
END_TEST

/* ---- v5: what is broken is seen ---- */

START_TEST(every_flipped_bit_of_a_frame_is_detected)
{
    bool is_lz4 = _i;
    struct wire_out out;
    framed_out(&out, is_lz4);
    put_filled(&out, 5, 40, 9);
    struct buf frame = { 0 };
    buf_put_bytes(&frame, wire_out_bytes(&out));
    for (size_t bit = 0; bit < frame.size * 8; bit++) {
        struct wire_in in;
        struct wire_envelope e;
        struct report r = { 0 };
        framed_in(&in, is_lz4);
        frame.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        feed(&in, buf_bytes(&frame));
        frame.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(wire_in_next(&in, &e, &r), WIRE_BROKEN);
        ck_assert_int_eq(r.err, ERR_PROTOCOL);
        ck_assert_ptr_nonnull(strstr(r.text, "checksum"));
        wire_in_deinit(&in);
    }
    buf_deinit(&frame);
    wire_out_deinit(&out);
}
END_TEST

/* Appends a sound frame around any payload. */
static void put_frame(struct buf *b, bool self, const char *hex)
{
    struct buf payload = { 0 };
    put_hex(&payload, hex);
    uint8_t *at = buf_take(b, 6);
    uint32_t head = (uint32_t)payload.size | (uint32_t)self << 17;
    for (int i = 0; i < 3; i++)
        at[i] = (uint8_t)(head >> 8 * i);
    uint32_t crc = crc24_of(bytes_of(at, 3));
    for (int i = 0; i < 3; i++)
        at[3 + i] = (uint8_t)(crc >> 8 * i);
    buf_put_bytes(b, buf_bytes(&payload));
    crc = crc32_of(crc32_of(0, bytes_of("\xfa\x2d\x55\xca", 4)), buf_bytes(&payload));
    for (int i = 0; i < 4; i++)
        buf_put_u8(b, (uint8_t)(crc >> 8 * i));
    buf_deinit(&payload);
}

START_TEST(sound_frames_around_nonsense_are_refused_or_break)
{
    static const struct {
        bool self[4];
        const char *frames[4];
        enum wire_verdict verdicts[4];
    } rows[] = {
        /* an unknown opcode is answered on its stream, and what follows is read */
        { { 1 }, { "05000007 7f 00000002 aaaa 05000008 05 00000000" }, { R, E, M } },
        /* twice in a row is too much, unless a frame lies between */
        { { 1 }, { "05000007 7f 00000000 05000008 08 00000000" }, { R, B } },
        { { 1, 1 }, { "05000007 7f 00000000", "05000008 08 00000000" }, { R, R, M } },
        /* another version */
        { { 1 }, { "04000007 05 00000000 05000008 05 00000000" }, { R, E, M } },
        /* a negative length, and an answer from a client */
        { { 1 }, { "05000007 05 ffffffff" }, { B } },
        { { 1 }, { "85000007 08 00000000" }, { B } },
        /* cut off at the end of a self-contained frame: in the head, in the body */
        { { 1 }, { "05000007 07 000000" }, { B } },
        { { 1 }, { "05000007 07 00000003 aabb" }, { B } },
        /* pieces: a head in pieces, a self-contained frame between, too many bytes */
        { { 0, 0, 0 }, { "050000", "07 07 00000003 aa", "bbcc" }, { E, M } },
        { { 0, 1 }, { "05000007 07 00000003 aabb", "05000008 05 00000000" }, { B } },
        { { 0, 0 }, { "05000007 07 00000003 aabb", "ccdd" }, { B } },
        { { 0, 0, 1 }, { "05000007 7f 00000003 aabb", "cc", "05000008 05 00000000" }, { R, E, M } },
        { { 0, 0 }, { "05000007 7f 00000003 aabb", "ccdd" }, { R, B } },
        /* over the limit: swallowed over frames */
        { { 0, 0, 0 }, { "05000007 07 00200000 aabb", "cc", "dd" }, { R, M } },
        /* unknown flags and v4's compression flag mean nothing here */
        { { 1 }, { "05e10007 05 00000000" }, { E, M } },
    };
    struct wire_in in;
    struct buf b = { 0 };
    framed_in(&in, false);
    for (int i = 0; i < 4 && rows[_i].frames[i]; i++)
        put_frame(&b, rows[_i].self[i], rows[_i].frames[i]);
    feed(&in, buf_bytes(&b));
    for (int i = 0; i < 4; i++) {
        struct wire_envelope e;
        struct report r = { 0 };
        enum wire_verdict verdict = wire_in_next(&in, &e, &r);
        ck_assert_int_eq(verdict, rows[_i].verdicts[i]);
        ck_assert(verdict == M || verdict == E || r.text[0]);
        ck_assert_int_eq(e.version, WIRE_V5);
        ck_assert(verdict != R || e.stream == 7 || e.stream == 8);
        if (verdict == M || verdict == B)
            break;
    }
    buf_deinit(&b);
    wire_in_deinit(&in);
}
END_TEST
enum { NONSENSE_ROWS = 15 };

int main(void)
{
    Suite *s = suite_create("frame");
    TCase *t = tcase_create("frame");
    tcase_add_test(t, an_options_envelope_in_v5);
    tcase_add_test(t, an_options_envelope_on_an_lz4_connection_is_not_packed);
    tcase_add_test(t, a_query_in_v5);
    tcase_add_test(t, the_example_frames_are_read);
    tcase_add_test(t, sixty_four_zeros_as_lz4);
    tcase_add_loop_test(t, a_warning_comes_before_a_payload_and_a_body_that_were_there, 0, 3);
    tcase_add_test(t, a_large_envelope_is_cut_at_131071);
    tcase_add_loop_test(t, a_stream_cut_anywhere_gives_the_same_envelopes, 0, MODES);
    tcase_add_loop_test(t, memory_goes_back_after_a_large_envelope, 0, MODES);
    tcase_add_loop_test(t, small_requests_allocate_nothing, 0, MODES);
    tcase_add_loop_test(t, every_flipped_bit_of_a_frame_is_detected, 0, 2);
    tcase_add_loop_test(t, sound_frames_around_nonsense_are_refused_or_break, 0, NONSENSE_ROWS);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
