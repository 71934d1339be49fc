/* test_frame.c - frames, hellos, statements, entries and records: there and back, cut at every
 * byte, with every byte wrong, with counts that lie.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/hash.h"
#include "base/prng.h"
#include "cluster/birth.h"
#include "cluster/frame.h"
#include "cluster/metadata.h"
#include "cluster/pack.h"

#include <check.h>
#include <msgpack.h>

static struct arena arena;
static struct buf out;

static void begin(void) { out = buf_in(&arena); }
static void end(void) { arena_reset(&arena); }

static const struct frame frames[] = {
    { .verb = 17, .id = 1, .epoch = 2, .budget_us = 3 },
    { .verb = 16,
      .id = UINT64_MAX,
      .epoch = UINT64_MAX,
      .budget_us = UINT64_MAX,
      .has_token = true,
      .token = INT64_MIN },
    { .verb = 99999, .has_token = true, .token = -1 },
    { .is_answer = true, .id = 70000 },
    { .is_answer = true, .id = 1, .err = ERR_BEHIND },
};
static const size_t sizes[] = { 0, 1, 4096, 4097, 100000 };

static struct bytes body_of(size_t size, bool is_dull)
{
    uint8_t *data = arena_alloc(&arena, size + 1);
    struct prng dice = { size };
    for (size_t i = 0; i < size; i++)
        data[i] = is_dull ? 'x' : (uint8_t)prng_next(&dice);
    return bytes_of(data, size);
}

START_TEST(a_frame_comes_back_as_it_went)
{
    const struct frame *f = &frames[_i % (int)array_count(frames)];
    for (size_t s = 0; s < 2 * array_count(sizes); s++) {
        struct bytes body = body_of(sizes[s / 2], s % 2), back;
        struct frame got;
        size_t used;
        begin();
        frame_encode(&out, f, body);
        buf_put_text(&out, "next");
        ck_assert_int_eq(frame_decode(buf_bytes(&out), FRAME_BYTES_MAX, &got, &used), OK);
        ck_assert_uint_eq(used, out.size - 4);
        ck_assert(got.is_answer == f->is_answer && got.id == f->id && got.verb == f->verb);
        ck_assert(got.epoch == f->epoch && got.budget_us == f->budget_us && got.err == f->err);
        ck_assert(got.has_token == f->has_token && got.token == f->token);
        ck_assert_int_eq(frame_body(&got, &arena, &back), OK);
        ck_assert(bytes_equal(back, body));
        if (body.size > FRAME_LZ4_FROM_BYTES)
            ck_assert_int_eq(got.unpacked_size > 0, s % 2);
        end();
    }
}
END_TEST

START_TEST(a_frame_that_is_cut_is_waited_for_and_one_that_is_wrong_is_refused)
{
    const struct frame *f = &frames[_i % (int)array_count(frames)];
    struct frame got;
    size_t used;
    begin();
    frame_encode(&out, f, body_of(50, false));
    for (size_t n = 0; n < out.size; n++) {
        ck_assert_int_eq(frame_decode(bytes_of(out.data, n), FRAME_BYTES_MAX, &got, &used),
                         ERR_WOULD_WAIT);
        ck_assert_uint_gt(used, n);
        ck_assert_uint_le(used, out.size);
    }
    for (size_t i = 0; i < out.size; i++) {
        out.data[i] ^= 0x20;
        ck_assert_int_eq(frame_decode(buf_bytes(&out), FRAME_BYTES_MAX, &got, &used), ERR_CORRUPT);
        out.data[i] ^= 0x20;
    }
    ck_assert_int_eq(frame_decode(buf_bytes(&out), 20, &got, &used), ERR_LIMIT);
    end();
}
END_TEST

/* With a right checksum: only the head can be wrong. */
START_TEST(a_head_of_any_bytes_never_runs_over)
{
    struct prng dice = { (uint64_t)_i };
    for (int round = 0; round < 2000; round++) {
        enum { PREFIX = FRAME_PREFIX_BYTES };
        uint8_t raw[64];
        size_t size = PREFIX + prng_below(&dice, sizeof raw - PREFIX), used;
        struct frame got;
        struct bytes body;
        for (size_t i = 0; i < size; i++)
            raw[i] = (uint8_t)prng_next(&dice);
        if (prng_chance(&dice, 80))
            raw[PREFIX] = prng_chance(&dice, 50) ? 0x96 : 0x94;
        put_be32(raw, (uint32_t)size - PREFIX);
        put_be32(raw + 4, crc32c_of(0, bytes_of(raw + PREFIX, size - PREFIX)));
        put_be32(raw + 8, crc32c_of(0, bytes_of(raw, 8)));
        enum err err = frame_decode(bytes_of(raw, size), FRAME_BYTES_MAX, &got, &used);
        ck_assert(err == OK || err == ERR_CORRUPT);
        if (err == OK)
            err = frame_body(&got, &arena, &body);
        end();
    }
}
END_TEST

START_TEST(a_block_that_claims_another_size_is_refused)
{
    struct frame f = frames[0], got;
    struct bytes body;
    size_t used;
    begin();
    frame_encode(&out, &f, body_of(10000, true));
    ck_assert_int_eq(frame_decode(buf_bytes(&out), FRAME_BYTES_MAX, &got, &used), OK);
    got.unpacked_size--;
    ck_assert_int_eq(frame_body(&got, &arena, &body), ERR_CORRUPT);
    got.unpacked_size += 2;
    ck_assert_int_eq(frame_body(&got, &arena, &body), ERR_CORRUPT);
    end();
}
END_TEST

START_TEST(numbers_read_back_and_agree_with_the_library)
{
    static const uint64_t values[] = {
        0, 1, 127, 128, 255, 256, 65535, 65536, UINT32_MAX, 1ull << 32, INT64_MAX, UINT64_MAX
    };
    for (size_t i = 0; i < array_count(values); i++) {
        msgpack_unpacked u;
        size_t at = 0;
        msgpack_unpacked_init(&u);
        begin();
        pack_u64(&out, values[i]);
        struct cursor c = cursor_of(buf_bytes(&out));
        ck_assert_uint_eq(unpack_u64(&c), values[i]);
        ck_assert(!c.bad && cursor_left(&c) == 0);
        ck_assert_int_eq(msgpack_unpack_next(&u, (char *)out.data, out.size, &at),
                         MSGPACK_UNPACK_SUCCESS);
        ck_assert_uint_eq(u.data.via.u64, values[i]);
        msgpack_unpacked_destroy(&u);
        int64_t negative = -(int64_t)(values[i] >> 1) - 1;
        buf_clear(&out);
        pack_i64(&out, negative);
        c = cursor_of(buf_bytes(&out));
        ck_assert_int_eq(unpack_i64(&c), negative);
        ck_assert(!c.bad);
        end();
    }
}
END_TEST

/* ---- things with a codec: each is encoded, decoded, cut and disturbed ---- */

static struct member member_of(int i)
{
    struct member m = { .host_id = uuid_random(7, (uint64_t)i),
                        .tokens_count = 16,
                        .internode = { .family = 4, .port = 7000, .ip = { 10, 0, 0 } } };
    m.internode.ip[3] = (uint8_t)i;
    m.native = m.internode;
    snprintf(m.data_center, sizeof m.data_center, "dc1");
    snprintf(m.rack, sizeof m.rack, "rack%d", i);
    return m;
}

static enum err hello_back(struct bytes in)
{
    struct hello h;
    return hello_decode(in, &h);
}
static enum err ping_back(struct bytes in)
{
    struct ping p;
    return ping_decode(in, &p);
}
static enum err statement_back(struct bytes in)
{
    static struct statement s;
    return statement_decode(in, &s);
}
static enum err birth_back(struct bytes in)
{
    static struct birth_entry e;
    return birth_entry_decode(in, &e);
}
static enum err proposal_back(struct bytes in)
{
    struct proposal p;
    return proposal_decode(in, &p);
}
static enum err answer_back(struct bytes in)
{
    struct paxos_answer a;
    return paxos_answer_decode(in, &a);
}

static void encode(int what)
{
    struct member members[3] = { member_of(1), member_of(2), member_of(3) };
    static struct birth_entry birth;
    struct hello hello = { .version_least = 1,
                           .version_most = 3,
                           .cluster_name = "rig",
                           .host_id = members[0].host_id,
                           .internode = members[0].internode,
                           .lane = LANE_BULK,
                           .shard = 300 };
    struct ping ping = { .epoch = 300, .is_ready = true, .version = "1.2" };
    struct statement statement = {
        .self = members[0], .known_count = 2, .seeds = "a,b", .value = bytes_text("entry")
    };
    struct proposal proposal = { 7, { 300, 2 }, bytes_text("value") };
    struct paxos_answer answer = { true, { 3, 1 }, { 2, 2 }, bytes_text("value") };
    birth_entry_make("rig", members, 3, &birth);
    if (what == 0)
        hello_encode(&hello, &out);
    else if (what == 1)
        ping_encode(&ping, &out);
    else if (what == 2)
        statement_encode(&statement, &out);
    else if (what == 3)
        birth_entry_encode(&birth, &out);
    else if (what == 4)
        proposal_encode(&proposal, &out);
    else
        paxos_answer_encode(&answer, &out);
}

START_TEST(what_is_cut_is_refused_and_what_is_disturbed_is_survived)
{
    static enum err (*const back[])(struct bytes) = { hello_back, ping_back,     statement_back,
                                                      birth_back, proposal_back, answer_back };
    begin();
    encode(_i);
    ck_assert_int_eq(back[_i](buf_bytes(&out)), OK);
    for (size_t n = 0; n < out.size; n++)
        ck_assert_int_ne(back[_i](bytes_of(out.data, n)), OK);
    for (size_t i = 0; i < out.size; i++)
        for (unsigned v = 0; v < 256; v++) {
            uint8_t held = out.data[i];
            out.data[i] = (uint8_t)v;
            enum err err = back[_i](buf_bytes(&out));
            ck_assert(err == OK || err == ERR_CORRUPT || err == ERR_NEWER || err == ERR_LIMIT);
            out.data[i] = held;
        }
    end();
}
END_TEST

START_TEST(a_birth_is_the_same_entry_in_every_order)
{
    struct member m[3] = { member_of(1), member_of(2), member_of(3) };
    struct member turned[3] = { m[2], m[0], m[1] };
    static struct birth_entry a, b;
    begin();
    birth_entry_make("rig", m, 3, &a);
    birth_entry_make("rig", turned, 3, &b);
    ck_assert_mem_eq(&a, &b, sizeof a);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(birth_entry_number(&a, &m[i].host_id), i + 1);
    birth_entry_make("gir", m, 3, &b);
    ck_assert(!uuid_equal(&a.cluster_id, &b.cluster_id));
    birth_entry_encode(&a, &out);
    ck_assert_int_eq(birth_entry_decode(buf_bytes(&out), &b), OK);
    ck_assert_mem_eq(&a, &b, sizeof a);
    end();
}
END_TEST

/* ---- the metadata log's records ---- */

static enum err replay(struct metadata *m, void (*put)(struct buf *, int), int n)
{
    begin();
    put(&out, n);
    enum err err = metadata_replay(m, buf_bytes(&out));
    end();
    return err;
}
static void put_self(struct buf *b, int n)
{
    struct member self = member_of(n);
    record_self(b, "rig", &self);
}
static void put_entry(struct buf *b, int n)
{
    char text[16];
    snprintf(text, sizeof text, "entry %d", n);
    record_entry(b, (uint64_t)n, bytes_text(text));
}
static void put_other_entry(struct buf *b, int n) { record_entry(b, (uint64_t)n, bytes_text("x")); }
static void put_acceptor(struct buf *b, int n)
{
    struct paxos_acceptor a = { { 5, 1 }, { 4, 2 }, bytes_text("accepted") };
    record_acceptor(b, (uint64_t)n, &a);
}
static void put_wrong_acceptor(struct buf *b, int n)
{
    struct paxos_acceptor a = { { 4, 1 }, { 5, 2 }, bytes_text("accepted") };
    record_acceptor(b, (uint64_t)n, &a);
}

START_TEST(records_give_the_state_back)
{
    struct metadata *m = metadata_new();
    ck_assert_int_eq(replay(m, put_entry, 1), ERR_CORRUPT); /* before it says who it is */
    ck_assert_int_eq(replay(m, put_self, 1), OK);
    ck_assert_int_eq(replay(m, put_entry, 2), ERR_CORRUPT); /* a gap */
    ck_assert_int_eq(replay(m, put_entry, 1), OK);
    ck_assert_int_eq(replay(m, put_acceptor, 2), OK);
    ck_assert_uint_eq(m->acceptor.promised.round, 5);
    ck_assert(bytes_equal(m->acceptor.value, bytes_text("accepted")));
    ck_assert_int_eq(replay(m, put_wrong_acceptor, 2), ERR_CORRUPT);
    ck_assert_int_eq(replay(m, put_acceptor, 3), ERR_CORRUPT);
    ck_assert_int_eq(replay(m, put_entry, 2), OK);
    ck_assert_uint_eq(m->acceptor.promised.round, 0); /* it belongs to the next epoch now */
    ck_assert_int_eq(replay(m, put_entry, 1), OK);    /* again: nothing changes */
    ck_assert_int_eq(replay(m, put_other_entry, 1), ERR_CORRUPT);
    ck_assert_int_eq(replay(m, put_acceptor, 1), OK); /* of the past */
    ck_assert_uint_eq(m->acceptor.promised.round, 0);
    ck_assert_uint_eq(m->last, 2);
    metadata_free(&m);
    ck_assert_ptr_null(m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame");
    TCase *tc = tcase_create("frame");
    int n = (int)array_count(frames);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_frame_comes_back_as_it_went, 0, n);
    tcase_add_loop_test(tc, a_frame_that_is_cut_is_waited_for_and_one_that_is_wrong_is_refused, 0,
                        n);
    tcase_add_loop_test(tc, a_head_of_any_bytes_never_runs_over, 0, 5);
    tcase_add_test(tc, a_block_that_claims_another_size_is_refused);
    tcase_add_test(tc, numbers_read_back_and_agree_with_the_library);
    tcase_add_loop_test(tc, what_is_cut_is_refused_and_what_is_disturbed_is_survived, 0, 6);
    tcase_add_test(tc, a_birth_is_the_same_entry_in_every_order);
    tcase_add_test(tc, records_give_the_state_back);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
