/* test_answer.c - bodies of answers: golden bytes (rows with a paging state, prepared statements
 * with key positions, every error in both versions), the way there and back, cut off at every byte.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/prng.h"
#include "help.h"

static struct answer_column column(const char *table, const char *name, enum type_kind kind)
{
    return (struct answer_column){ "ks", table, name, type_native(kind) };
}

/* ---- errors ---- */

static struct answer_error error_of(size_t i)
{
    static const enum wire_error_code codes[] = {
#define X(name, code) WIRE_ERROR_##name,
        WIRE_ERROR_LIST(X)
#undef X
    };
    ck_assert_uint_lt(i, array_count(codes));
    return (struct answer_error){ .code = codes[i],
                                  .message = bytes_text("no"),
                                  .consistency = CL_QUORUM,
                                  .required = 2,
                                  .alive = 1,
                                  .received = 1,
                                  .failures = 1,
                                  .has_data = true,
                                  .write_type = bytes_text("SIMPLE"),
                                  .keyspace = bytes_text("ks"),
                                  .table = bytes_text("t"),
                                  .id = bytes_text("id") };
}

START_TEST(golden_errors)
{
    static const struct {
        const char *v4, *v5; /* v5 NULL: the same */
    } rows[] = {
        { "00000000 0002 6e6f", NULL },
        { "0000000a 0002 6e6f", NULL },
        { "00000100 0002 6e6f", NULL },
        { "00001000 0002 6e6f 0004 00000002 00000001", NULL },
        { "00001001 0002 6e6f", NULL },
        { "00001002 0002 6e6f", NULL },
        { "00001003 0002 6e6f", NULL },
        { "00001100 0002 6e6f 0004 00000001 00000002 0006 53494d504c45", NULL },
        { "00001200 0002 6e6f 0004 00000001 00000002 01", NULL },
        { "00001300 0002 6e6f 0004 00000001 00000002 00000001 01",
          "00001300 0002 6e6f 0004 00000001 00000002 00000001 04 7f000003 0002 01" },
        { "00001400 0002 6e6f 0002 6b73 0001 74 0000", NULL },
        { "00001500 0002 6e6f 0004 00000001 00000002 00000001 0006 53494d504c45",
          "00001500 0002 6e6f 0004 00000001 00000002 00000001 04 7f000003 0002 0006 53494d504c45" },
        { "00002000 0002 6e6f", NULL },
        { "00002100 0002 6e6f", NULL },
        { "00002200 0002 6e6f", NULL },
        { "00002300 0002 6e6f", NULL },
        { "00002400 0002 6e6f 0002 6b73 0001 74", NULL },
        { "00002500 0002 6e6f 0002 6964", NULL },
    };
    static const uint8_t ip[4] = { 127, 0, 0, 3 };
    const struct answer_reason reason = { bytes_of(ip, 4), 2 };
    struct answer_error e = error_of((size_t)_i);
    e.reasons = &reason;
    struct buf b = { 0 };
    answer_error_encode(&b, WIRE_V4, &e);
    expect_hex(buf_bytes(&b), rows[_i].v4);
    buf_clear(&b);
    answer_error_encode(&b, WIRE_V5, &e);
    expect_hex(buf_bytes(&b), rows[_i].v5 ? rows[_i].v5 : rows[_i].v4);
    buf_deinit(&b);
}
END_TEST
enum { ERRORS = 18 };

START_TEST(errors_come_back_and_are_seen_when_cut)
{
    uint8_t version = _i % 2 ? WIRE_V5 : WIRE_V4;
    static const uint8_t ip[16] = { 0xfe, 0x80 };
    const struct answer_reason reason = { bytes_of(ip, 16), 0 };
    struct answer_error e = error_of((size_t)_i / 2), out;
    e.reasons = &reason;
    struct buf b = { 0 };
    answer_error_encode(&b, version, &e);
    ck_assert_int_eq(answer_error_decode(cursor_of(buf_bytes(&b)), version, &out), OK);
    ck_assert_int_eq(out.code, e.code);
    expect_text(out.message, "no");
    if (e.code == WIRE_ERROR_UNAVAILABLE) {
        ck_assert_int_eq(out.required, 2);
        ck_assert_int_eq(out.alive, 1);
    }
    if (e.code == WIRE_ERROR_READ_FAILURE || e.code == WIRE_ERROR_WRITE_FAILURE) {
        ck_assert_int_eq(out.received, 1);
        ck_assert_int_eq(out.required, 2);
        ck_assert_int_eq(out.failures, 1);
        ck_assert_int_eq(out.consistency, CL_QUORUM);
    }
    if (e.code == WIRE_ERROR_UNPREPARED)
        expect_text(out.id, "id");
    if (e.code == WIRE_ERROR_ALREADY_EXISTS)
        expect_text(out.table, "t");
    for (size_t size = 0; e.code != WIRE_ERROR_FUNCTION_FAILURE && size < b.size; size++)
        ck_assert_int_eq(answer_error_decode(cursor_of(bytes_of(b.data, size)), version, &out),
                         ERR_PROTOCOL);
    buf_deinit(&b);
}
END_TEST

START_TEST(a_long_message_is_cut_and_a_cas_timeout_has_its_count)
{
    struct buf text = { 0 }, b = { 0 };
    memset(buf_take(&text, 70000), 'x', 70000);
    struct answer_error out, e = { .code = WIRE_ERROR_SERVER, .message = buf_bytes(&text) };
    answer_error_encode(&b, WIRE_V4, &e);
    ck_assert_int_eq(answer_error_decode(cursor_of(buf_bytes(&b)), WIRE_V4, &out), OK);
    ck_assert_uint_eq(out.message.size, 65535);
    buf_clear(&b);
    e = (struct answer_error){ .code = WIRE_ERROR_WRITE_TIMEOUT, .write_type = bytes_text("CAS") };
    answer_error_encode(&b, WIRE_V5, &e);
    expect_hex(buf_bytes(&b), "00001100 0000 0000 00000000 00000000 0003 434153 0000");
    buf_deinit(&b);
    buf_deinit(&text);
}
END_TEST

/* ---- SUPPORTED ---- */

START_TEST(supported_options_are_found)
{
    static const char *const versions[] = { "4/v4", "5/v5" };
    static const char *const cql[] = { "3.4.7" };
    static const struct supported_option options[] = {
        { "CQL_VERSION", 1, cql },
        { "COMPRESSION", 0, NULL },
        { "PROTOCOL_VERSIONS", 2, versions },
    };
    struct buf b = { 0 };
    answer_supported_encode(&b, options, 3);
    expect_hex(bytes_of(b.data, 24), "0003 000b 43514c5f56455253494f4e 0001 0005 332e342e37");
    struct cursor c = cursor_of(buf_bytes(&b)), values;
    ck_assert_int_eq(answer_supported_find(c, "PROTOCOL_VERSIONS", &values), OK);
    ck_assert_uint_eq(cursor_be16(&values), 2);
    expect_text(wire_string(&values), "4/v4");
    expect_text(wire_string(&values), "5/v5");
    ck_assert_int_eq(answer_supported_find(c, "COMPRESSION", &values), OK);
    ck_assert_uint_eq(cursor_be16(&values), 0);
    ck_assert_int_eq(answer_supported_find(c, "SCYLLA_SHARD", &values), ERR_NOT_FOUND);
    for (size_t size = 0; size < b.size; size++)
        ck_assert_int_eq(
            answer_supported_find(cursor_of(bytes_of(b.data, size)), "CQL_VERSION", &values),
            ERR_PROTOCOL);
    buf_deinit(&b);
}
END_TEST

/* ---- RESULT ---- */

static void put_row(struct buf *b, int32_t k, const char *v)
{
    buf_put_be32(b, 4);
    buf_put_be32(b, (uint32_t)k);
    if (v)
        wire_put_bytes(b, bytes_text(v));
    else
        wire_put_null(b);
}

static void write_page(struct buf *b, uint8_t version, struct answer_metadata *m,
                       struct bytes paging_state)
{
    struct rows_writer w;
    answer_rows_begin(&w, b, version, m);
    put_row(b, 1, "one");
    put_row(b, 2, NULL);
    answer_rows_finish(&w, 2, paging_state);
}

START_TEST(golden_rows)
{
    struct answer_column columns[] = { column("t", "k", TYPE_INT), column("t", "v", TYPE_TEXT) };
    struct answer_metadata m = { .columns_count = 2, .columns = columns };
    struct buf b = { 0 };
    write_page(&b, WIRE_V4, &m, (struct bytes){ 0 });
    expect_hex(buf_bytes(&b), "00000002 00000001 00000002 0002 6b73 0001 74 0001 6b 0009 0001 76"
                              "000d 00000002 00000004 00000001 00000003 6f6e65 00000004 00000002"
                              "ffffffff");
    buf_clear(&b);
    write_page(&b, WIRE_V4, &m, bytes_text("next"));
    expect_hex(buf_bytes(&b), "00000002 00000003 00000002 00000004 6e657874 0002 6b73 0001 74"
                              "0001 6b 0009 0001 76 000d 00000002 00000004 00000001 00000003 6f6e65"
                              "00000004 00000002 ffffffff");
    buf_clear(&b);
    m.new_id = bytes_text("newid"); /* the paging state comes first (facts 2.4) */
    write_page(&b, WIRE_V5, &m, bytes_text("next"));
    expect_hex(buf_bytes(&b), "00000002 0000000b 00000002 00000004 6e657874 0005 6e65776964"
                              "0002 6b73 0001 74 0001 6b 0009 0001 76 000d 00000002 00000004"
                              "00000001 00000003 6f6e65 00000004 00000002 ffffffff");
    buf_clear(&b);
    m.new_id = (struct bytes){ 0 };
    m.is_skipped = true;
    write_page(&b, WIRE_V5, &m, bytes_text("next"));
    expect_hex(buf_bytes(&b), "00000002 00000006 00000002 00000004 6e657874 00000002 00000004"
                              "00000001 00000003 6f6e65 00000004 00000002 ffffffff");
    buf_clear(&b);
    columns[1].table = "u";
    m.is_skipped = false;
    write_page(&b, WIRE_V4, &m, (struct bytes){ 0 });
    expect_hex(buf_bytes(&b), "00000002 00000000 00000002 0002 6b73 0001 74 0001 6b 0009 0002 6b73"
                              "0001 75 0001 76 000d 00000002 00000004 00000001 00000003 6f6e65"
                              "00000004 00000002 ffffffff");
    buf_deinit(&b);
}
END_TEST

START_TEST(rows_come_back_and_are_seen_when_cut)
{
    uint8_t version = _i % 2 ? WIRE_V5 : WIRE_V4;
    struct answer_column columns[] = { column("t", "k", TYPE_INT),
                                       column(_i & 2 ? "u" : "t", "v", TYPE_TEXT) };
    struct answer_metadata m = { .columns_count = 2, .columns = columns };
    m.new_id = version == WIRE_V5 ? bytes_text("newid") : m.new_id;
    struct arena arena = { 0 };
    struct buf b = { 0 };
    write_page(&b, version, &m, bytes_text("next"));
    struct answer_result out;
    ck_assert_int_eq(answer_result_decode(cursor_of(buf_bytes(&b)), version, &arena, &out), OK);
    ck_assert_int_eq(out.kind, RESULT_ROWS);
    ck_assert_uint_eq(out.rows.rows_count, 2);
    ck_assert_uint_eq(out.rows.metadata.columns_count, 2);
    ck_assert_str_eq(out.rows.metadata.columns[1].name, "v");
    ck_assert_str_eq(out.rows.metadata.columns[1].table, columns[1].table);
    ck_assert_ptr_eq(out.rows.metadata.columns[1].type, type_native(TYPE_TEXT));
    expect_text(out.rows.metadata.paging_state, "next");
    ck_assert_uint_eq(out.rows.metadata.new_id.size, m.new_id.size);
    struct cursor rows = out.rows.rows;
    ck_assert_uint_eq(wire_value(&rows).bytes.size, 4);
    expect_text(wire_value(&rows).bytes, "one");
    ck_assert_uint_eq(wire_value(&rows).bytes.size, 4);
    ck_assert_int_eq(wire_value(&rows).state, VALUE_NULL);
    ck_assert(!rows.bad && !cursor_left(&rows));
    size_t values = 4 + 4 + 4 + 3 + 4 + 4 + 4;
    for (size_t size = 0; size < b.size - values + 12; size++)
        ck_assert_int_eq(
            answer_result_decode(cursor_of(bytes_of(b.data, size)), version, &arena, &out),
            ERR_PROTOCOL);
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

START_TEST(counts_of_rows_and_columns_that_lie_are_refused)
{
    static const char *const rows[] = {
        "00000002 00000004 00000002 00000003 00000004 00000001",     /* too few values */
        "00000002 00000004 7fffffff 7fffffff 00000004 00000001",     /* their product overflows */
        "00000002 00000004 ffffffff 00000000",                       /* a negative count */
        "00000002 00000004 00000001 80000000",                       /* another */
        "00000002 00000001 0000ffff 0002 6b73 0001 74 0001 6b 0009", /* columns that are not there
                                                                      */
        "00000002 00000000 00000001 0002 6b73 0001 74 0001 6b 0016 00000000", /* no such type */
        "00000000",
        "00000006",
        "0000",
        "",                                                        /* no such kind */
        "00000004 0002 6964 00000001 00000001 00000001 0001 0000", /* a key beyond the markers */
        "00000004 0002 6964 00000001 00000001 7fffffff 0000 0000",
    };
    struct arena arena = { 0 };
    struct buf b = { 0 };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct answer_result out;
        buf_clear(&b);
        put_hex(&b, rows[i]);
        ck_assert_int_eq(answer_result_decode(cursor_of(buf_bytes(&b)), WIRE_V4, &arena, &out),
                         ERR_PROTOCOL);
    }
    ck_assert_uint_le(arena.used_bytes, 4096);
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

static struct answer_prepared prepared_of(const struct answer_column *columns, uint16_t *keys)
{
    return (struct answer_prepared){
        .id = bytes_text("id"),
        .metadata_id = bytes_text("meta"),
        .bind = { .columns_count = 2, .columns = columns },
        .rows = { .columns_count = 1, .columns = columns },
        .keys_count = 2,
        .key_positions = keys,
    };
}

START_TEST(golden_prepared)
{
    struct answer_column columns[] = { column("t", "k", TYPE_INT), column("t", "j", TYPE_UUID) };
    uint16_t keys[] = { 1, 0 };
    struct answer_prepared p = prepared_of(columns, keys);
    struct buf b = { 0 };
    answer_prepared_encode(&b, WIRE_V4, &p);
    expect_hex(buf_bytes(&b),
               "00000004 0002 6964 00000001 00000002 00000002 0001 0000 0002 6b73 0001 74"
               "0001 6b 0009 0001 6a 000c 00000001 00000001 0002 6b73 0001 74 0001 6b 0009");
    buf_clear(&b);
    p.rows = (struct answer_metadata){ 0 }; /* not a SELECT: no metadata, no columns */
    answer_prepared_encode(&b, WIRE_V5, &p);
    expect_hex(buf_bytes(&b),
               "00000004 0002 6964 0004 6d657461 00000001 00000002 00000002 0001 0000"
               "0002 6b73 0001 74 0001 6b 0009 0001 6a 000c 00000004 00000000");
    buf_deinit(&b);
}
END_TEST

START_TEST(prepared_comes_back_and_is_seen_when_cut)
{
    uint8_t version = _i ? WIRE_V5 : WIRE_V4;
    struct answer_column columns[] = { column("t", "k", TYPE_INT), column("t", "j", TYPE_UUID) };
    uint16_t keys[] = { 1, 0 };
    struct answer_prepared p = prepared_of(columns, keys);
    struct arena arena = { 0 };
    struct buf b = { 0 };
    answer_prepared_encode(&b, version, &p);
    struct answer_result out;
    ck_assert_int_eq(answer_result_decode(cursor_of(buf_bytes(&b)), version, &arena, &out), OK);
    ck_assert_int_eq(out.kind, RESULT_PREPARED);
    expect_text(out.prepared.id, "id");
    ck_assert_uint_eq(out.prepared.metadata_id.size, version == WIRE_V5 ? 4 : 0);
    ck_assert_uint_eq(out.prepared.keys_count, 2);
    ck_assert_uint_eq(out.prepared.key_positions[0], 1);
    ck_assert_str_eq(out.prepared.bind.columns[1].name, "j");
    ck_assert_uint_eq(out.prepared.rows.columns_count, 1);
    for (size_t size = 0; size < b.size; size++)
        ck_assert_int_eq(
            answer_result_decode(cursor_of(bytes_of(b.data, size)), version, &arena, &out),
            ERR_PROTOCOL);
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

START_TEST(the_small_results)
{
    struct arena arena = { 0 };
    struct buf b = { 0 };
    struct answer_result out;
    answer_void(&b);
    expect_hex(buf_bytes(&b), "00000001");
    buf_clear(&b);
    answer_set_keyspace(&b, bytes_text("ks"));
    expect_hex(buf_bytes(&b), "00000003 0002 6b73");
    ck_assert_int_eq(answer_result_decode(cursor_of(buf_bytes(&b)), 4, &arena, &out), OK);
    expect_text(out.keyspace, "ks");
    buf_clear(&b);
    struct schema_event e = { "CREATED", "TABLE", bytes_text("ks"), bytes_text("t") };
    answer_schema_change(&b, &e);
    expect_hex(buf_bytes(&b), "00000005 0007 43524541544544 0005 5441424c45 0002 6b73 0001 74");
    ck_assert_int_eq(answer_result_decode(cursor_of(buf_bytes(&b)), 4, &arena, &out), OK);
    ck_assert_str_eq(out.schema.target, "TABLE");
    expect_text(out.schema.name, "t");
    buf_clear(&b);
    e = (struct schema_event){ "DROPPED", "KEYSPACE", bytes_text("ks"), { 0 } };
    answer_schema_change(&b, &e);
    expect_hex(buf_bytes(&b), "00000005 0007 44524f50504544 0008 4b45595350414345 0002 6b73");
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

/* ---- events ---- */

START_TEST(events_are_written_and_read)
{
    static const uint8_t ip[4] = { 127, 0, 0, 2 };
    struct buf b = { 0 };
    struct answer_event e;
    event_node(&b, "STATUS_CHANGE", "UP", bytes_of(ip, 4), 9042);
    expect_hex(buf_bytes(&b), "000d 5354415455535f4348414e4745 0002 5550 04 7f000002 00002352");
    ck_assert_int_eq(answer_event_decode(cursor_of(buf_bytes(&b)), &e), OK);
    expect_text(e.change, "UP");
    ck_assert_uint_eq(e.port, 9042);
    ck_assert(bytes_equal(e.ip, bytes_of(ip, 4)));
    for (size_t size = 0; size < b.size; size++)
        ck_assert_int_eq(answer_event_decode(cursor_of(bytes_of(b.data, size)), &e), ERR_PROTOCOL);
    buf_clear(&b);
    event_schema(&b, &(struct schema_event){ "UPDATED", "KEYSPACE", bytes_text("ks"), { 0 } });
    expect_hex(buf_bytes(&b),
               "000d 534348454d415f4348414e4745 0007 55504441544544 0008 4b45595350414345"
               "0002 6b73");
    ck_assert_int_eq(answer_event_decode(cursor_of(buf_bytes(&b)), &e), OK);
    expect_text(e.kind, "SCHEMA_CHANGE");
    buf_deinit(&b);
}
END_TEST

/* ---- types ---- */

START_TEST(types_by_their_options)
{
    static const struct {
        const char *text, *v4, *v5; /* v5 NULL: the same */
    } rows[] = {
        { "int", "0009", NULL },
        { "text", "000d", NULL },
        { "counter", "0005", NULL },
        { "date", "0011", NULL },
        { "duration",
          "0000 002c 6f72672e6170616368652e63617373616e6472612e64622e6d61727368616c2e4475726174696f"
          "6e54797065",
          "0015" },
        { "list<int>", "0020 0009", NULL },
        { "set<uuid>", "0022 000c", NULL },
        { "map<text, bigint>", "0021 000d 0002", NULL },
        { "frozen<tuple<int, text>>", "0031 0002 0009 000d", NULL },
        { "list<frozen<map<int, text>>>", "0020 0021 0009 000d", NULL },
    };
    struct arena arena = { 0 };
    struct buf b = { 0 };
    for (size_t i = 0; i < array_count(rows); i++) {
        const struct type *t, *back;
        ck_assert_int_eq(type_parse(&arena, bytes_text(rows[i].text), &t), OK);
        for (uint8_t version = WIRE_V4; version <= WIRE_V5; version++) {
            buf_clear(&b);
            wire_put_type(&b, version, t);
            expect_hex(buf_bytes(&b), version == WIRE_V5 && rows[i].v5 ? rows[i].v5 : rows[i].v4);
            struct cursor c = cursor_of(buf_bytes(&b));
            ck_assert_int_eq(wire_type(&c, &arena, &back), OK);
            ck_assert_int_eq(back->kind, t->kind);
            for (size_t size = 0; size < b.size; size++) {
                c = cursor_of(bytes_of(b.data, size));
                ck_assert_int_eq(wire_type(&c, &arena, &back), ERR_PROTOCOL);
            }
        }
    }
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

START_TEST(a_vector_travels_as_its_class)
{
    const struct type *part = type_native(TYPE_FLOAT), *back;
    struct type vector = { .kind = TYPE_VECTOR, .dimension = 3, .parts_count = 1, .parts = &part };
    struct arena arena = { 0 };
    struct buf b = { 0 };
    wire_put_type(&b, WIRE_V5, &vector);
    struct cursor c = cursor_of(buf_bytes(&b));
    ck_assert_uint_eq(cursor_be16(&c), TYPE_CUSTOM);
    expect_text(wire_string(&c), "org.apache.cassandra.db.marshal.VectorType("
                                 "org.apache.cassandra.db.marshal.FloatType , 3)");
    c = cursor_of(buf_bytes(&b));
    ck_assert_int_eq(wire_type(&c, &arena, &back), OK);
    ck_assert_int_eq(back->kind, TYPE_VECTOR);
    ck_assert_uint_eq(back->dimension, 3);
    ck_assert_ptr_eq(back->parts[0], part);
    buf_clear(&b);
    put_hex(&b, "0000 0003 612e62"); /* a class nobody knows stays what it is */
    c = cursor_of(buf_bytes(&b));
    ck_assert_int_eq(wire_type(&c, &arena, &back), OK);
    ck_assert_int_eq(back->kind, TYPE_CUSTOM);
    ck_assert_str_eq(back->name, "a.b");
    buf_clear(&b);
    wire_put_type(&b, WIRE_V4, back);
    expect_hex(buf_bytes(&b), "0000 0003 612e62");
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

START_TEST(a_user_type_and_the_legacy_text)
{
    struct arena arena = { 0 };
    struct buf b = { 0 };
    const struct type *t;
    put_hex(&b, "0030 0002 6b73 0001 75 0002 0001 61 0009 0001 62 000a");
    struct cursor c = cursor_of(buf_bytes(&b));
    ck_assert_int_eq(wire_type(&c, &arena, &t), OK);
    ck_assert_int_eq(t->kind, TYPE_UDT);
    ck_assert_str_eq(t->fields[1], "b");
    ck_assert_ptr_eq(t->parts[1], type_native(TYPE_TEXT));
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

START_TEST(types_nest_sixteen_deep_and_no_deeper)
{
    struct arena arena = { 0 };
    for (int depth = 16; depth <= 17; depth++) {
        struct buf b = { 0 };
        for (int i = 1; i < depth; i++)
            buf_put_be16(&b, TYPE_LIST);
        buf_put_be16(&b, TYPE_INT);
        const struct type *t;
        struct cursor c = cursor_of(buf_bytes(&b));
        ck_assert_int_eq(wire_type(&c, &arena, &t), depth == 16 ? OK : ERR_PROTOCOL);
        buf_deinit(&b);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(changed_bytes_do_no_harm)
{
    struct prng p = { (uint64_t)_i };
    uint8_t version = _i % 2 ? WIRE_V5 : WIRE_V4;
    struct answer_column columns[] = { column("t", "k", TYPE_INT), column("u", "v", TYPE_TEXT) };
    struct answer_metadata m = { .columns_count = 2, .columns = columns };
    uint16_t keys[] = { 1, 0 };
    struct answer_prepared prepared = prepared_of(columns, keys);
    struct arena arena = { 0 };
    struct buf b = { 0 };
    struct answer_result out;
    if (_i % 3)
        write_page(&b, version, &m, bytes_text("next"));
    else
        answer_prepared_encode(&b, version, &prepared);
    for (int i = 0; i < 3; i++) {
        uint64_t at = prng_below(&p, b.size);
        b.data[at] = (uint8_t)prng_next(&p);
    }
    (void)answer_result_decode(cursor_of(buf_bytes(&b)), version, &arena, &out);
    ck_assert_uint_le(arena.used_bytes, 64 * b.size + 4096);
    arena_deinit(&arena);
    buf_deinit(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("answer");
    TCase *t = tcase_create("answer");
    tcase_add_loop_test(t, golden_errors, 0, ERRORS);
    tcase_add_loop_test(t, errors_come_back_and_are_seen_when_cut, 0, 2 * ERRORS);
    tcase_add_test(t, a_long_message_is_cut_and_a_cas_timeout_has_its_count);
    tcase_add_test(t, supported_options_are_found);
    tcase_add_test(t, golden_rows);
    tcase_add_loop_test(t, rows_come_back_and_are_seen_when_cut, 0, 4);
    tcase_add_test(t, counts_of_rows_and_columns_that_lie_are_refused);
    tcase_add_test(t, golden_prepared);
    tcase_add_loop_test(t, prepared_comes_back_and_is_seen_when_cut, 0, 2);
    tcase_add_test(t, the_small_results);
    tcase_add_test(t, events_are_written_and_read);
    tcase_add_test(t, types_by_their_options);
    tcase_add_test(t, a_vector_travels_as_its_class);
    tcase_add_test(t, a_user_type_and_the_legacy_text);
    tcase_add_test(t, types_nest_sixteen_deep_and_no_deeper);
    tcase_add_loop_test(t, changed_bytes_do_no_harm, 0, 300);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
