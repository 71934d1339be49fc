/* test_murmur.c - the ring's hash: every vector of facts/cql-protocol.md 4.3, and a stock murmur3
 * as the oracle on keys whose tail has no byte above 7f.
 *
 * Row 31 is a key whose hash is the least number; its token is normalised above base/, so the raw
 * hash stands here.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/prng.h"

#include <check.h>
#include <murmurhash.h>

struct vector {
    const char *hex;
    int64_t h1;
};

static const struct vector vectors[] = {
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
    { "653cbefb85ec3111b4e38fa9bc7cbcae", INT64_MIN },
    { "004acfdfc9cfb411bb5d0426632618c4", INT64_C(-1) },
};

static size_t from_hex(const char *hex, uint8_t *out)
{
    size_t size = strlen(hex) / 2;
    for (size_t i = 0; i < size; i++) {
        unsigned byte;
        ck_assert_int_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
        out[i] = (uint8_t)byte;
    }
    return size;
}

START_TEST(a_key_hashes_as_in_cassandra)
{
    uint8_t key[64];
    uint64_t h[2];
    size_t size = from_hex(vectors[_i].hex, key);
    murmur3_cassandra(bytes_of(key, size), h);
    ck_assert_int_eq((int64_t)h[0], vectors[_i].h1);
}
END_TEST

START_TEST(an_empty_key_hashes_to_zero)
{
    uint64_t h[2] = { 1, 1 };
    murmur3_cassandra((struct bytes){ 0 }, h);
    ck_assert(h[0] == 0 && h[1] == 0);
}
END_TEST

START_TEST(stock_murmur3_agrees_when_no_tail_byte_is_high)
{
    struct prng prng = { 7 };
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t key[200];
        size_t size = prng_below(&prng, sizeof key), body = size / 16 * 16;
        for (size_t j = 0; j < size; j++) {
            uint64_t draw = prng_next(&prng);
            key[j] = (uint8_t)(j < body ? draw : draw & 0x7f);
        }
        uint64_t ours[2], stock[2];
        murmur3_cassandra(bytes_of(key, size), ours);
        lmmh_x64_128(key, (unsigned)size, 0, stock);
        ck_assert(ours[0] == stock[0] && ours[1] == stock[1]);
    }
}
END_TEST

START_TEST(stock_murmur3_differs_when_a_tail_byte_is_high)
{
    uint64_t ours[2], stock[2];
    murmur3_cassandra(bytes_of("\x80", 1), ours);
    lmmh_x64_128("\x80", 1, 0, stock);
    ck_assert(ours[0] != stock[0]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("murmur");
    TCase *t = tcase_create("murmur");
    tcase_add_loop_test(t, a_key_hashes_as_in_cassandra, 0, (int)array_count(vectors));
    tcase_add_test(t, an_empty_key_hashes_to_zero);
    tcase_add_test(t, stock_murmur3_agrees_when_no_tail_byte_is_high);
    tcase_add_test(t, stock_murmur3_differs_when_a_tail_byte_is_high);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
