/* test_request.c - bodies of requests: golden bytes, the way there and back in both versions, cut
 * off at every byte, and counts that lie. */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/prng.h"
#include "help.h"

/* Any request, so that one loop serves all. */
struct any {
    struct request_query query;
    struct request_prepare prepare;
    struct request_execute execute;
    struct request_batch batch;
    struct request_startup startup;
    struct request_register events;
    struct report report; /* of the last decode */
};
enum kind { QUERY, PREPARE, EXECUTE, BATCH, STARTUP, REGISTER, KINDS };

static enum err decode(enum kind kind, struct bytes body, uint8_t v, struct arena *a,
                       struct any *out)
{
    struct report *r = &out->report;
    struct cursor c = cursor_of(body);
    *r = (struct report){ 0 };
    enum err err = kind == QUERY     ? request_query_decode(c, v, a, &out->query, r)
                   : kind == PREPARE ? request_prepare_decode(c, v, &out->prepare, r)
                   : kind == EXECUTE ? request_execute_decode(c, v, a, &out->execute, r)
                   : kind == BATCH   ? request_batch_decode(c, v, a, &out->batch, r)
                   : kind == STARTUP ? request_startup_decode(c, a, &out->startup, r)
                                     : request_register_decode(c, &out->events, r);
    ck_assert_int_eq(r->err, err);
    ck_assert(!err || r->text[0]);
    return err;
}

static void encode(enum kind kind, struct buf *b, uint8_t v, const struct any *in)
{
    if (kind == QUERY)
        request_query_encode(b, v, &in->query);
    else if (kind == PREPARE)
        request_prepare_encode(b, v, &in->prepare);
    else if (kind == EXECUTE)
        request_execute_encode(b, v, &in->execute);
    else if (kind == BATCH)
        request_batch_encode(b, v, &in->batch);
    else if (kind == STARTUP)
        request_startup_encode(b, &in->startup);
    else
        request_register_encode(b, &in->events);
}

/* One of each, with everything in it that the version knows. */
static void fill(struct any *out, uint8_t version)
{
    static struct value values[] = {
        { VALUE_SET, { (const uint8_t *)"abc", 3 } },
        { VALUE_NULL, { 0 } },
        { VALUE_UNSET, { 0 } },
        { VALUE_SET, { (const uint8_t *)"", 0 } },
    };
    static struct bytes names[] = {
        { (const uint8_t *)"a", 1 },
        { (const uint8_t *)"b", 1 },
        { (const uint8_t *)"c", 1 },
        { (const uint8_t *)"\xc3\xa9", 2 },
    };
    static struct batch_entry entries[] = {
        { .text_or_id = { (const uint8_t *)"INSERT", 6 }, .values_count = 4, .values = values },
        { .is_prepared = true, .text_or_id = { (const uint8_t *)"\xff\x00", 2 } },
    };
    static struct string_pair options[] = {
        { { (const uint8_t *)"cql_version", 11 }, { (const uint8_t *)"3.0.0", 5 } },
        { { (const uint8_t *)"COMPRESSION", 11 }, { (const uint8_t *)"LZ4", 3 } },
    };
    struct query_params p = { .consistency = CL_QUORUM,
                              .serial = CL_LOCAL_SERIAL,
                              .flags = 0x7f,
                              .values_count = 4,
                              .values = values,
                              .names = names,
                              .page_size = 100,
                              .paging_state = bytes_text("here"),
                              .timestamp = 1700000000000000 };
    if (version >= WIRE_V5) {
        p.flags |= PARAM_KEYSPACE | PARAM_NOW;
        p.keyspace = bytes_text("ks");
        p.now_seconds = 1700000000;
    }
    *out = (struct any){
        .query = { .text = bytes_text("SELECT"), .params = p },
        .prepare = { .text = bytes_text("SELECT ?") },
        .execute = { .id = bytes_text("0123456789abcdef"), .params = p },
        .batch = { .kind = BATCH_UNLOGGED, .entries_count = 2, .entries = entries },
        .startup = { 2, options },
        .events = { true, true, true },
    };
    out->batch.params = (struct query_params){ .consistency = CL_ALL,
                                               .serial = CL_SERIAL,
                                               .flags = PARAM_SERIAL | PARAM_TIMESTAMP,
                                               .timestamp = -1 };
    if (version >= WIRE_V5) {
        out->execute.metadata_id = bytes_text("fedcba9876543210");
        out->prepare.keyspace = bytes_text("ks");
    }
}

START_TEST(every_request_comes_back_the_same)
{
    enum kind kind = (enum kind)(_i / 2);
    uint8_t version = _i % 2 ? WIRE_V5 : WIRE_V4;
    struct arena arena = { 0 };
    struct buf b = { 0 }, again = { 0 };
    struct any in, out = { 0 };
    fill(&in, version);
    encode(kind, &b, version, &in);
    ck_assert_int_eq(decode(kind, buf_bytes(&b), version, &arena, &out), OK);
    encode(kind, &again, version, &out);
    ck_assert(bytes_equal(buf_bytes(&b), buf_bytes(&again)));
    for (size_t size = 0; size < b.size; size++) {
        uint8_t *copy = mem_alloc(size); /* so that reading beyond it is seen */
        memcpy(copy, b.data, size);
        ck_assert_int_eq(decode(kind, bytes_of(copy, size), version, &arena, &out), ERR_PROTOCOL);
        mem_free(copy);
    }
    arena_deinit(&arena);
    buf_deinit(&b);
    buf_deinit(&again);
}
END_TEST

START_TEST(golden_requests)
{
    struct any in;
    struct buf b = { 0 };
    fill(&in, WIRE_V4);
    encode(EXECUTE, &b, WIRE_V4, &in);
    expect_hex(buf_bytes(&b),
               "0010 30313233343536373839616263646566 0004 7f 0004"
               "0001 61 00000003 616263 0001 62 ffffffff 0001 63 fffffffe"
               "0002 c3a9 00000000 00000064 00000004 68657265 0009 00060a24181e4000");
    buf_clear(&b);
    fill(&in, WIRE_V5);
    in.execute.params.flags = PARAM_KEYSPACE | PARAM_NOW | PARAM_SKIP_METADATA;
    in.execute.params.values_count = 0;
    encode(EXECUTE, &b, WIRE_V5, &in);
    expect_hex(buf_bytes(&b),
               "0010 30313233343536373839616263646566"
               "0010 66656463626139383736353433323130 0004 00000182 0002 6b73 6553f100");
    buf_clear(&b);
    encode(PREPARE, &b, WIRE_V5, &in);
    expect_hex(buf_bytes(&b), "00000008 53454c454354203f 00000001 0002 6b73");
    buf_clear(&b);
    encode(BATCH, &b, WIRE_V4, &in);
    expect_hex(buf_bytes(&b), "01 0002 00 00000006 494e53455254 0004 00000003 616263 ffffffff"
                              "fffffffe 00000000 01 0002 ff00 0000 0005 30 0008 ffffffffffffffff");
    buf_clear(&b);
    encode(STARTUP, &b, WIRE_V4, &in);
    expect_hex(buf_bytes(&b), "0002 000b 63716c5f76657273696f6e 0005 332e302e30"
                              "000b 434f4d5052455353494f4e 0003 4c5a34");
    buf_deinit(&b);
}
END_TEST

START_TEST(fields_are_where_they_belong)
{
    struct arena arena = { 0 };
    struct buf b = { 0 };
    struct any in, out;
    fill(&in, WIRE_V5);
    encode(QUERY, &b, WIRE_V5, &in);
    ck_assert_int_eq(decode(QUERY, buf_bytes(&b), WIRE_V5, &arena, &out), OK);
    const struct query_params *p = &out.query.params;
    expect_text(out.query.text, "SELECT");
    ck_assert_int_eq(p->consistency, CL_QUORUM);
    ck_assert_int_eq(p->serial, CL_LOCAL_SERIAL);
    ck_assert_uint_eq(p->values_count, 4);
    expect_text(p->values[0].bytes, "abc");
    ck_assert_int_eq(p->values[1].state, VALUE_NULL);
    ck_assert_int_eq(p->values[2].state, VALUE_UNSET);
    expect_text(p->names[3], "\xc3\xa9");
    ck_assert_int_eq(p->page_size, 100);
    expect_text(p->paging_state, "here");
    ck_assert_int_eq(p->timestamp, 1700000000000000);
    expect_text(p->keyspace, "ks");
    ck_assert_int_eq(p->now_seconds, 1700000000);
    buf_clear(&b);
    encode(STARTUP, &b, WIRE_V5, &in);
    ck_assert_int_eq(decode(STARTUP, buf_bytes(&b), WIRE_V5, &arena, &out), OK);
    expect_text(request_startup_option(&out.startup, "CQL_VERSION"), "3.0.0");
    expect_text(request_startup_option(&out.startup, "compression"), "LZ4");
    ck_assert_uint_eq(request_startup_option(&out.startup, "DRIVER_NAME").size, 0);
    buf_deinit(&b);
    arena_deinit(&arena);
}
END_TEST

START_TEST(what_is_wrong_is_said)
{
    static const struct {
        enum kind kind;
        uint8_t version;
        const char *hex, *says;
    } rows[] = {
        { QUERY, 4, "00000001 61 000b 00", "Unknown code 11 for a consistency level" },
        { QUERY, 4, "00000001 61 ffff 00", "Unknown code 65535" },
        { QUERY, 4, "00000001 61 0001 10 000c", "Unknown code 12" },
        { QUERY, 4, "00000001 61 0001 04 00000000", "The page size cannot be 0" },
        { QUERY, 4, "00000001 61 0001 20 8000000000000000", "out of bounds" },
        { QUERY, 4, "00000001 ff 0001 00", "UTF-8" },
        { QUERY, 4, "ffffffff 61 0001 00", "cut off" },
        { QUERY, 4, "7fffffff 61 0001 00", "cut off" },
        { QUERY, 4, "00000001 61 0001 01 ffff 00000000", "cut off" },
        { QUERY, 4, "00000001 61 0001 01 0001 fffffffd", "cut off" },
        { QUERY, 4, "00000001 61 0001 01 0001 80000000", "cut off" },
        { QUERY, 4, "00000001 61 0001 41 0001 0001 ff 00000000", "UTF-8" },
        { QUERY, 5, "00000001 61 0001 00", "cut off" }, /* v5's flags are four bytes */
        { BATCH, 4, "03 0000 0001 00", "Invalid batch type 3" },
        { BATCH, 4, "00 0001 02 00000000 0000 0001 00", "kind 2 of a statement" },
        { BATCH, 4, "00 ffff 00 00000001 61 0000 0001 00", "cut off" },
        { BATCH, 4, "00 0001 00 00000001 61 ffff 0001 00", "cut off" },
        { STARTUP, 4, "ffff 0001 61 0001 61", "cut off" },
        { REGISTER, 4, "0001 0003 464f4f", "'FOO'" },
        { REGISTER, 4, "ffff 0003 464f4f", "cut off" },
        { EXECUTE, 4, "ffff 00", "cut off" },
    };
    struct arena arena = { 0 };
    struct buf b = { 0 };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct any out;
        buf_clear(&b);
        put_hex(&b, rows[i].hex);
        ck_assert_int_eq(decode(rows[i].kind, buf_bytes(&b), rows[i].version, &arena, &out),
                         ERR_PROTOCOL);
        ck_assert_msg(strstr(out.report.text, rows[i].says), "row %zu: %s", i, out.report.text);
        ck_assert_uint_le(arena.used_bytes, 1 << 16);
    }
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

START_TEST(a_page_size_below_zero_and_a_trace_event_are_fine)
{
    struct arena arena = { 0 };
    struct buf b = { 0 };
    struct any out;
    put_hex(&b, "00000001 61 0001 04 ffffffff");
    ck_assert_int_eq(decode(QUERY, buf_bytes(&b), 4, &arena, &out), OK);
    ck_assert_int_eq(out.query.params.page_size, -1);
    buf_clear(&b);
    put_hex(&b, "0001 000e 54524143455f434f4d504c455445");
    ck_assert_int_eq(decode(REGISTER, buf_bytes(&b), 4, &arena, &out), OK);
    ck_assert(!out.events.schema && !out.events.status && !out.events.topology);
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

/* Sound bodies with bytes changed: any answer, but no harm and no memory beyond the body's size. */
START_TEST(changed_bytes_do_no_harm)
{
    struct prng p = { (uint64_t)_i };
    uint8_t version = _i % 2 ? WIRE_V5 : WIRE_V4;
    enum kind kind = (enum kind)(_i % KINDS);
    struct arena arena = { 0 };
    struct buf b = { 0 };
    struct any in, out;
    fill(&in, version);
    encode(kind, &b, version, &in);
    for (int i = 0; i < 4; i++) {
        uint64_t at = prng_below(&p, b.size);
        b.data[at] = (uint8_t)prng_next(&p);
    }
    (void)decode(kind, buf_bytes(&b), version, &arena, &out);
    ck_assert_uint_le(arena.used_bytes, 64 * b.size + 1024);
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

START_TEST(names_of_codes)
{
    enum consistency level;
    ck_assert_str_eq(opcode_name(OPCODE_AUTH_RESPONSE), "AUTH_RESPONSE");
    ck_assert_str_eq(opcode_name(0x04), "unknown");
    ck_assert_str_eq(opcode_name(0xff), "unknown");
    ck_assert(opcode_is_request(OPCODE_BATCH) && !opcode_is_request(OPCODE_EVENT));
    ck_assert(!opcode_is_request(0x04) && !opcode_is_known(0x04));
    ck_assert_str_eq(consistency_name(CL_LOCAL_ONE), "LOCAL_ONE");
    ck_assert(consistency_parse(bytes_text("local_quorum"), &level) && level == CL_LOCAL_QUORUM);
    ck_assert(!consistency_parse(bytes_text("QUORU"), &level));
    ck_assert_int_eq(wire_error_code(ERR_SYNTAX), 0x2000);
    ck_assert_int_eq(wire_error_code(ERR_NOT_FOUND), 0x2200);
    ck_assert_int_eq(wire_error_code(ERR_IO), 0x0000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("request");
    TCase *t = tcase_create("request");
    tcase_add_loop_test(t, every_request_comes_back_the_same, 0, 2 * KINDS);
    tcase_add_test(t, golden_requests);
    tcase_add_test(t, fields_are_where_they_belong);
    tcase_add_test(t, what_is_wrong_is_said);
    tcase_add_test(t, a_page_size_below_zero_and_a_trace_event_are_fine);
    tcase_add_loop_test(t, changed_bytes_do_no_harm, 0, 300);
    tcase_add_test(t, names_of_codes);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
