/* test_key.c - partition keys and tokens: the vectors of facts/cql-protocol.md 4.3. */
// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <check.h>

static struct arena arena;
static void setup(void) { arena_init(&arena, 4096); }
static void teardown(void) { arena_deinit(&arena); }

static const struct {
    const char *key;
    int64_t token;
} tokens[] = {
    { "00", INT64_C(5048724184180415669) },
    { "80", INT64_C(-5284281814142962636) },
    { "ff", INT64_C(-4442228696663692417) },
    { "00000001", INT64_C(-4069959284402364209) },
    { "ffffffff", INT64_C(7297452126230313552) },
    { "313233", INT64_C(-7468325962851647638) },
    { "c3a9", INT64_C(5461403030378599040) },
    { "85aacff499bee388add2f79cc1e68bb0", INT64_C(-5224667623333539283) },
    { "90b5daffa4c9ee93b8dd82a7ccf196bbe0", INT64_C(7665423817604019850) },
    { "9bc0e58aafd4f99ec3e88db2d7fca1c6eb90", INT64_C(-7876393982609371042) },
    { "a6cbf095badf84a9cef398bde287acd1f69bc0", INT64_C(-2752586119323954639) },
    { "b1d6fba0c5ea8fb4d9fea3c8ed92b7dc81a6cbf0", INT64_C(-2680099040326386994) },
    { "bce186abd0f59abfe489aed3f89dc2e78cb1d6fba0", INT64_C(8952445423059943994) },
    { "c7ec91b6db80a5caef94b9de83a8cdf297bce186abd0", INT64_C(8103715796381146600) },
    { "d2f79cc1e68bb0d5fa9fc4e98eb3d8fda2c7ec91b6db80", INT64_C(3944591880509220362) },
    { "dd82a7ccf196bbe085aacff499bee388add2f79cc1e68bb0", INT64_C(-5520686913293490606) },
    { "e88db2d7fca1c6eb90b5daffa4c9ee93b8dd82a7ccf196bbe0", INT64_C(-3118927373323562328) },
    { "f398bde287acd1f69bc0e58aafd4f99ec3e88db2d7fca1c6eb90", INT64_C(-2936366403993277206) },
    { "fea3c8ed92b7dc81a6cbf095badf84a9cef398bde287acd1f69bc0", INT64_C(4702983549306701301) },
    { "89aed3f89dc2e78cb1d6fba0c5ea8fb4d9fea3c8ed92b7dc81a6cbf0", INT64_C(4756490904798277603) },
    { "94b9de83a8cdf297bce186abd0f59abfe489aed3f89dc2e78cb1d6fba0", INT64_C(6268628272768184412) },
    { "9fc4e98eb3d8fda2c7ec91b6db80a5caef94b9de83a8cdf297bce186abd0",
      INT64_C(-7928030228034476209) },
    { "aacff499bee388add2f79cc1e68bb0d5fa9fc4e98eb3d8fda2c7ec91b6db80",
      INT64_C(2911757662498336741) },
    { "fff2e5d8cbbeb1", INT64_C(-6517007530586273699) },
    { "fff2e5d8cbbeb1a4", INT64_C(-7408415412995372976) },
    { "fff2e5d8cbbeb1a497", INT64_C(8368478329247146425) },
    { "fff2e5d8cbbeb1a4978afdf0e3d6c9", INT64_C(6421070701310017795) },
    { "f47ac10b58cc4372a5670e02b2c3d479", INT64_C(3078397264688283949) },
    { "0004000000010000016100", INT64_C(6516349416904725244) },
    { "0010f47ac10b58cc4372a5670e02b2c3d4790000075ac3bc72696368000008fffffffffffffffb00",
      INT64_C(7891816229650513638) },
    { "653cbefb85ec3111b4e38fa9bc7cbcae", INT64_C(9223372036854775807) },
    { "004acfdfc9cfb411bb5d0426632618c4", INT64_C(-1) },
};

START_TEST(a_key_has_the_token_that_drivers_compute)
{
    for (size_t n = 0; n < array_count(tokens); n++) {
        ck_assert_int_eq(key_token(sample_hex(&arena, tokens[n].key)), tokens[n].token);
    }
}
END_TEST

static struct table *keyed_by(size_t count, const enum type_kind *kinds)
{
    struct table *table = sample_table(count, 0, NULL, 0);
    for (size_t i = 0; i < count; i++)
        table->columns[i].type = type_native(kinds[i]);
    return table;
}

/* Vectors 29 and 30: the bytes of composite keys. */
static const struct {
    size_t count;
    enum type_kind kinds[3];
    const char *values[3], *key;
} composites[] = {
    { 2, { TYPE_INT, TYPE_TEXT }, { "1", "a" }, "0004000000010000016100" },
    { 3,
      { TYPE_UUID, TYPE_TEXT, TYPE_BIGINT },
      { "f47ac10b-58cc-4372-a567-0e02b2c3d479", "Z\xc3\xbcrich", "-5" },
      "0010f47ac10b58cc4372a5670e02b2c3d4790000075ac3bc72696368000008fffffffffffffffb00" },
    { 1, { TYPE_INT }, { "1" }, "00000001" },
};

START_TEST(a_composite_key_is_its_sized_values)
{
    for (size_t n = 0; n < array_count(composites); n++) {
        struct table *table = keyed_by(composites[n].count, composites[n].kinds);
        struct bytes values[3];
        struct buf key = buf_in(&arena);
        for (size_t i = 0; i < composites[n].count; i++)
            values[i] = sample_parse(&arena, table->columns[i].type, composites[n].values[i]);
        key_encode(table, values, &key);
        struct bytes expected = sample_hex(&arena, composites[n].key);
        ck_assert(bytes_equal(buf_bytes(&key), expected));
        ck_assert_int_eq(key_validate(table, expected), OK);
        for (size_t i = 0; i < composites[n].count; i++)
            ck_assert(bytes_equal(key_component(table, expected, i), values[i]));
        table_unref(&table);
    }
}
END_TEST

START_TEST(a_key_cut_at_any_byte_is_refused)
{
    for (size_t n = 0; n < array_count(composites); n++) {
        struct table *table = keyed_by(composites[n].count, composites[n].kinds);
        struct bytes key = sample_hex(&arena, composites[n].key);
        for (size_t size = 0; size < key.size; size++) {
            struct bytes cut = arena_copy(&arena, bytes_of(key.data, size));
            ck_assert_int_eq(key_validate(table, cut), ERR_INVALID);
            for (size_t i = 0; i < composites[n].count; i++)
                ck_assert_uint_le(key_component(table, cut, i).size, size);
        }
        table_unref(&table);
    }
}
END_TEST

START_TEST(a_key_is_not_empty_not_too_long_and_of_its_types)
{
    static const enum type_kind kinds[] = { TYPE_TEXT, TYPE_INT };
    struct table *one = keyed_by(1, kinds), *two = keyed_by(2, kinds);
    uint8_t *long_text = arena_zalloc(&arena, KEY_BYTES_MAX + 1);
    ck_assert_int_eq(key_validate(one, (struct bytes){ 0 }), ERR_INVALID);
    ck_assert_int_eq(key_validate(one, bytes_of(long_text, KEY_BYTES_MAX)), OK);
    ck_assert_int_eq(key_validate(one, bytes_of(long_text, KEY_BYTES_MAX + 1)), ERR_INVALID);
    ck_assert_int_eq(key_validate(one, bytes_text("\xc3")), ERR_INVALID);
    ck_assert_int_eq(key_validate(two, sample_hex(&arena, "000161000002000100")), ERR_INVALID);
    ck_assert_int_eq(key_validate(two, sample_hex(&arena, "0001610100040000000100")), ERR_INVALID);
    ck_assert_int_eq(key_validate(two, sample_hex(&arena, "00016100000400000001ff")), ERR_INVALID);
    ck_assert_int_eq(key_validate(two, sample_hex(&arena, "0000000000000000")), ERR_INVALID);
    ck_assert_int_eq(key_validate(two, sample_hex(&arena, "000000000000")), OK);
    table_unref(&one);
    table_unref(&two);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("key");
    TCase *tcase = tcase_create("keys and tokens");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_key_has_the_token_that_drivers_compute);
    tcase_add_test(tcase, a_composite_key_is_its_sized_values);
    tcase_add_test(tcase, a_key_cut_at_any_byte_is_refused);
    tcase_add_test(tcase, a_key_is_not_empty_not_too_long_and_of_its_types);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
