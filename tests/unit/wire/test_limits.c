/* test_limits.c - envelopes that are not to be had: versions, lengths, opcodes, bombs, garbage; and
 * the smaller rules of both sides. */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "help.h"

/* ---- without frames ---- */

START_TEST(plain_streams_are_judged)
{
    static const struct {
        const char *hex;
        enum wire_verdict verdicts[4];
        int version, stream; /* of the last verdict before MORE */
        const char *says;
    } rows[] = {
        /* versions: one byte is enough */
        { "42", { B }, 5, 0, "Invalid or unsupported protocol version (66)" },
        { "41", { B }, 5, 0, "supported versions are (4/v4, 5/v5)" },
        { "03", { B }, 5, 0, "Invalid or unsupported protocol version (3)" },
        { "06", { B }, 5, 0, "unsupported protocol version" },
        { "01", { B }, 1, 0, "unsupported protocol version (1)" },
        { "02", { B }, 2, 0, "unsupported protocol version (2)" },
        { "16030100", { B }, 5, 0, "unsupported protocol version (22)" },   /* TLS */
        { "474554202f", { B }, 5, 0, "unsupported protocol version (71)" }, /* GET / */
        { "00", { B }, 5, 0, "unsupported protocol version (0)" },
        { "84", { B }, 5, 0, "an answer came" },
        /* lengths */
        { "04 00 0009 05 80000000", { B }, 4, 9, "length -2147483648" },
        { "04 00 0009 07 00100000 aabb", { R, M }, 4, 9, "Request is too big: length 1048585" },
        { "04 00 0009 07 000ffff7", { M }, 4, 9, NULL },
        { "05 00 0009 07 7fffffff aabb", { R, M }, 5, 9, "exceeds maximum allowed length 1048576" },
        /* opcodes, and going on after what is refused */
        { "04 00 0009 7f 00000002 aaaa 04 00 0001 05 00000000", { R, E, M }, 4, 1, NULL },
        { "04 00 0009 08 00000000", { R, M }, 4, 9, "opcode 0x08 (RESULT)" },
        { "04 00 0009 04 00000000 04 00 000a 04 00000000", { R, B }, 4, 10, "opcode 0x04" },
        /* flags nobody knows are ignored; compression that was not agreed on is not */
        { "04 f0 0009 05 00000000", { E, M }, 4, 9, NULL },
        { "04 01 0009 07 00000006 000000021000", { R, M }, 4, 9, "no compression was agreed" },
        /* the version is fixed by STARTUP, not before */
        { "05 00 0000 05 00000000 04 00 0000 05 00000000", { E, E, M }, 4, 0, NULL },
        { "04 00 0000 01 00000000 05", { E, B }, 4, 0, "Invalid message version. Got 5 but" },
    };
    struct wire_in in;
    wire_in_init(&in, true, BYTES_MAX);
    struct buf b = { 0 };
    put_hex(&b, rows[_i].hex);
    feed(&in, buf_bytes(&b));
    for (int i = 0; i < 4; i++) {
        struct wire_envelope e;
        struct report r = { 0 };
        enum wire_verdict verdict = wire_in_next(&in, &e, &r);
        ck_assert_int_eq(verdict, rows[_i].verdicts[i]);
        enum wire_verdict after = i < 3 ? rows[_i].verdicts[i + 1] : M;
        if (after == M && verdict != M) {
            ck_assert_int_eq(e.version, rows[_i].version);
            ck_assert_int_eq(e.stream, rows[_i].stream);
            ck_assert(!rows[_i].says || strstr(r.text, rows[_i].says));
        }
        if (verdict == M || verdict == B)
            break;
    }
    buf_deinit(&b);
    wire_in_deinit(&in);
}
END_TEST
enum { PLAIN_ROWS = 21 };

START_TEST(what_is_too_big_is_swallowed_and_the_next_is_read)
{
    struct wire_in in;
    struct wire_envelope e;
    struct report r;
    wire_in_init(&in, true, BYTES_MAX);
    ck_assert_int_eq(next_of(&in, "04 00 0009 07 02000000", &e, &r), WIRE_REFUSED);
    ck_assert_int_eq(r.err, ERR_INVALID);
    ck_assert_int_eq(wire_error_code(r.err), WIRE_ERROR_INVALID);
    static uint8_t junk[65536];
    for (size_t left = 0x02000000; left; left -= sizeof junk) {
        feed(&in, bytes_of(junk, sizeof junk));
        ck_assert_int_eq(wire_in_next(&in, &e, &r), WIRE_MORE);
        ck_assert_uint_eq(wire_in_announced(&in), 0);
        ck_assert_uint_le(in.input.room, 131072);
    }
    ck_assert_int_eq(next_of(&in, "04 00 000a 05 00000000", &e, &r), WIRE_ENVELOPE);
    ck_assert_int_eq(e.stream, 10);
    wire_in_deinit(&in);
}
END_TEST

START_TEST(a_decompression_bomb_costs_nothing)
{
    static const struct {
        const char *hex;
        enum err err;
    } rows[] = {
        { "04 01 0009 07 00000008 7fffffff 1f000100", ERR_INVALID }, /* two gigabytes */
        { "04 01 0009 07 00000008 ffffffff 1f000100", ERR_INVALID },
        { "04 01 0009 07 00000008 00100000 1f000100", ERR_INVALID },  /* just above the limit */
        { "04 01 0009 07 00000008 00080000 1f000100", ERR_PROTOCOL }, /* no block does that */
        { "04 01 0009 07 00000003 000000", ERR_PROTOCOL },
        { "04 01 0009 07 00000008 00000004 1f000100", ERR_PROTOCOL }, /* not a block */
    };
    struct wire_in in;
    struct wire_envelope e;
    struct report r = { 0 };
    wire_in_init(&in, true, BYTES_MAX);
    in.is_lz4 = true;
    ck_assert_int_eq(next_of(&in, rows[_i].hex, &e, &r), WIRE_REFUSED);
    ck_assert_int_eq(r.err, rows[_i].err);
    ck_assert_int_eq(e.stream, 9);
    ck_assert_uint_le(in.body.room, 4096);
    ck_assert_int_eq(next_of(&in, "04 01 000a 07 00000005 00000000 00", &e, &r), WIRE_ENVELOPE);
    ck_assert_uint_eq(e.body.size, 0);
    wire_in_deinit(&in);
}
END_TEST
enum { BOMB_ROWS = 6 };

START_TEST(an_envelope_under_way_is_announced)
{
    struct wire_in in;
    struct wire_envelope e;
    wire_in_init(&in, true, BYTES_MAX);
    in.is_lz4 = true;
    ck_assert_uint_eq(wire_in_announced(&in), 0);
    ck_assert_int_eq(next_of(&in, "04 00 0009 07 00080000 aa", &e, NULL), WIRE_MORE);
    ck_assert_uint_eq(wire_in_announced(&in), 0x80009);
    ck_assert_uint_le(in.input.room, 65536); /* nothing is taken for what has not come */
    wire_in_deinit(&in);
    wire_in_init(&in, true, BYTES_MAX);
    in.is_lz4 = true;
    ck_assert_int_eq(next_of(&in, "04 01 0009 07 00080000 00010000", &e, NULL), WIRE_MORE);
    ck_assert_uint_eq(wire_in_announced(&in), 0x90009);
    wire_in_deinit(&in);
}
END_TEST

/* ---- the other side ---- */

START_TEST(a_client_reads_an_error_in_the_servers_version)
{
    struct wire_in in;
    struct wire_envelope e;
    struct report r;
    wire_in_init(&in, false, BYTES_MAX);
    ck_assert_int_eq(next_of(&in, "83 00 0000 00 00000000", &e, &r), WIRE_ENVELOPE);
    ck_assert_int_eq(e.version, 3);
    ck_assert_int_eq(next_of(&in, "48545450", &e, &r), WIRE_BROKEN); /* HTTP */
    ck_assert_ptr_nonnull(strstr(r.text, "byte 0x48 does not begin an answer"));
    wire_in_deinit(&in);
}
END_TEST

START_TEST(answers_to_old_versions_have_their_header)
{
    struct wire_out out;
    wire_out_init(&out, true, 2);
    buf_put_u8(wire_begin(&out, 0, 0, OPCODE_ERROR), 0xee);
    wire_end(&out);
    expect_hex(wire_out_bytes(&out), "82 00 00 00 00000001 ee");
    wire_out_deinit(&out);
}
END_TEST

START_TEST(startups_answer_stays_outside_of_frames)
{
    struct wire_out out;
    wire_out_init(&out, true, WIRE_V5);
    wire_begin(&out, 0, 1, OPCODE_READY);
    wire_end(&out);
    wire_out_framed(&out);
    wire_begin(&out, 0, 1, OPCODE_READY);
    wire_end(&out);
    struct bytes sent = wire_out_bytes(&out);
    ck_assert_uint_eq(sent.size, 9 + 9 + 10);
    expect_hex(bytes_of(sent.data, 9), "850000010200000000");
    expect_hex(bytes_of(sent.data + 9, 3), "090002");
    wire_out_sent(&out);
    wire_begin(&out, 0, 1, OPCODE_READY);
    wire_end(&out);
    ck_assert_uint_eq(wire_out_bytes(&out).size, 19);
    wire_out_deinit(&out);
}
END_TEST

START_TEST(an_abandoned_envelope_leaves_nothing)
{
    struct wire_out out;
    wire_out_init(&out, true, WIRE_V4);
    wire_begin(&out, 0, 1, OPCODE_READY);
    wire_end(&out);
    buf_put_text(wire_begin(&out, 0, 2, OPCODE_RESULT), "half of a row");
    wire_abandon(&out);
    ck_assert_uint_eq(wire_out_bytes(&out).size, 9);
    wire_out_deinit(&out);
}
END_TEST

START_TEST(prefixes_are_taken_off)
{
    struct buf b = { 0 };
    put_hex(&b, "000102030405060708090a0b0c0d0e0f 0001 0002 6869 0001 0001 6b 00000001 76 ff");
    struct wire_envelope e = { .version = 4,
                               .flags = WIRE_TRACING | WIRE_WARNING | WIRE_PAYLOAD,
                               .opcode = OPCODE_RESULT,
                               .body = buf_bytes(&b) };
    struct cursor body;
    struct bytes warnings, payload;
    ck_assert_int_eq(wire_prefix(&e, &body, &warnings, &payload), OK);
    expect_hex(warnings, "0001 0002 6869");
    expect_hex(payload, "0001 0001 6b 00000001 76");
    ck_assert_uint_eq(cursor_left(&body), 1);
    for (size_t size = 0; size < b.size - 1; size++) {
        e.body.size = size;
        ck_assert_int_eq(wire_prefix(&e, &body, NULL, NULL), ERR_PROTOCOL);
    }
    e.opcode = OPCODE_QUERY; /* a request with tracing carries no id */
    e.flags = WIRE_TRACING | WIRE_WARNING;
    e.body.size = b.size;
    ck_assert_int_eq(wire_prefix(&e, &body, NULL, NULL), OK);
    ck_assert_uint_eq(cursor_left(&body), b.size);
    buf_deinit(&b);
}
END_TEST

START_TEST(an_entry_of_a_payload_is_found_by_its_whole_name)
{
    struct buf b = { 0 };
    put_hex(&b, "0002 0003 6b6579 00000001 76 0001 6b ffffffff");
    struct bytes payload = buf_bytes(&b);
    ck_assert(wire_payload_has(payload, "key"));
    ck_assert(wire_payload_has(payload, "k")); /* its value is null */
    ck_assert(!wire_payload_has(payload, "ke"));
    ck_assert(!wire_payload_has(payload, "keys"));
    ck_assert(!wire_payload_has((struct bytes){ 0 }, "key"));
    for (size_t size = 0; size < b.size; size++)
        ck_assert(!wire_payload_has(bytes_of(b.data, size), "k"));
    buf_deinit(&b);
}
END_TEST

/* Any bytes at all: no verdict but the four, no memory beyond the bound. */
START_TEST(garbage_never_does_harm)
{
    struct prng p = { 1000 + (uint64_t)_i };
    struct wire_in in;
    struct wire_envelope e;
    struct report r;
    bool is_framed = prng_chance(&p, 50);
    bool is_lz4 = prng_chance(&p, 50);
    if (is_framed)
        framed_in(&in, is_lz4);
    else
        wire_in_init(&in, prng_chance(&p, 50), BYTES_MAX);
    in.is_lz4 = is_lz4;
    for (int round = 0; round < 200; round++) {
        uint8_t bytes[64];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)prng_next(&p);
        bytes[0] = prng_chance(&p, 50) ? 4 : 0x84;
        bytes[5] = 0;
        feed(&in, bytes_of(bytes, 1 + prng_below(&p, sizeof bytes)));
        enum wire_verdict v;
        while ((v = wire_in_next(&in, &e, &r)) == WIRE_ENVELOPE || v == WIRE_REFUSED)
            ck_assert_uint_le(e.body.size, BYTES_MAX);
        if (v == WIRE_BROKEN)
            break;
    }
    wire_in_deinit(&in);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("limits");
    TCase *t = tcase_create("limits");
    tcase_add_loop_test(t, plain_streams_are_judged, 0, PLAIN_ROWS);
    tcase_add_test(t, what_is_too_big_is_swallowed_and_the_next_is_read);
    tcase_add_loop_test(t, a_decompression_bomb_costs_nothing, 0, BOMB_ROWS);
    tcase_add_test(t, an_envelope_under_way_is_announced);
    tcase_add_test(t, a_client_reads_an_error_in_the_servers_version);
    tcase_add_test(t, answers_to_old_versions_have_their_header);
    tcase_add_test(t, startups_answer_stays_outside_of_frames);
    tcase_add_test(t, an_abandoned_envelope_leaves_nothing);
    tcase_add_test(t, prefixes_are_taken_off);
    tcase_add_test(t, an_entry_of_a_payload_is_found_by_its_whole_name);
    tcase_add_loop_test(t, garbage_never_does_harm, 0, 200);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
