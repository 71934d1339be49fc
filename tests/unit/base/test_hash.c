/* test_hash.c - checksums against published check values and against the frames that a real driver
 * makes (facts/cql-protocol.md 1.3); MD5; the map hash.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/prng.h"

#include <check.h>

static const uint8_t frame_seed[4] = { 0xfa, 0x2d, 0x55, 0xca };

struct frame {
    const char *header;
    size_t header_size;
    uint32_t crc24;
    const char *payload;
    size_t payload_size;
    uint32_t crc32;
};

static const char options[] = "\x05\x00\x00\x01\x05\x00\x00\x00\x00";
static const char query[] = "\x05\x00\x00\x02\x07\x00\x00\x00\x36\x00\x00\x00\x2c"
                            "SELECT * FROM system.local WHERE key='local'\x00\x01\x00\x00\x00";

static const struct frame frames[] = {
    { "\x09\x00\x02", 3, 0xc1c8a4, options, 9, 0x867455b5 },
    { "\x09\x00\x00\x00\x04", 5, 0x95b8c2, options, 9, 0x867455b5 },
    { "\x0b\x00\x80\x00\x04", 5, 0x15eeff, "\x1f\x00\x01\x00\x27\x50\x00\x00\x00\x00\x00", 11,
      0x004ec3dd },
    { "\x00\x00\x02", 3, 0xc4366a, "", 0, 0x44777ed3 },
    { "\x3f\x00\x02", 3, 0xddce00, query, 63, 0x75ee8611 },
};

START_TEST(a_frame_has_the_checksums_that_drivers_send)
{
    const struct frame *f = &frames[_i];
    ck_assert_uint_eq(crc24_of(bytes_of(f->header, f->header_size)), f->crc24);
    uint32_t seed = crc32_of(0, bytes_of(frame_seed, sizeof frame_seed));
    ck_assert_uint_eq(crc32_of(seed, bytes_of(f->payload, f->payload_size)), f->crc32);
}
END_TEST

START_TEST(a_long_envelope_is_two_frames_with_their_own_checksums)
{
    static const uint8_t zeros[131071];
    uint32_t seed = crc32_of(0, bytes_of(frame_seed, sizeof frame_seed));
    ck_assert_uint_eq(crc24_of(bytes_of("\xff\xff\x01", 3)), 0xfe9138);
    ck_assert_uint_eq(crc32_of(seed, bytes_of(zeros, sizeof zeros)), 0x8f3d99d4);
    ck_assert_uint_eq(crc24_of(bytes_of("\x05\x00\x00", 3)), 0x234804);
    ck_assert_uint_eq(crc32_of(seed, bytes_of(zeros, 5)), 0x463cd1ef);
}
END_TEST

START_TEST(checksums_of_the_nine_digits_are_the_published_ones)
{
    struct bytes digits = bytes_text("123456789");
    ck_assert_uint_eq(crc32_of(0, digits), 0xcbf43926);
    ck_assert_uint_eq(crc32c_of(0, digits), 0xe3069283);
}
END_TEST

/* With the polynomial's bits reversed: 0x82f63b78 of CRC-32C, 0xedb88320 of CRC-32. */
static uint32_t crc_by_bits(uint32_t polynomial, uint32_t seed, struct bytes in)
{
    uint32_t crc = ~seed;
    for (size_t i = 0; i < in.size; i++) {
        crc ^= in.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return ~crc;
}

START_TEST(a_checksum_can_be_taken_in_pieces)
{
    uint8_t data[100];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37);
    for (size_t size = 0; size <= sizeof data; size++) {
        struct bytes all = bytes_of(data, size);
        uint32_t whole = crc32c_of(0, all);
        ck_assert_uint_eq(whole, crc_by_bits(0x82f63b78, 0, all));
        for (size_t cut = 0; cut <= size; cut++) {
            struct bytes rest = bytes_of(data + cut, size - cut);
            ck_assert_uint_eq(crc32c_of(crc32c_of(0, bytes_of(data, cut)), rest), whole);
            ck_assert_uint_eq(crc32_of(crc32_of(0, bytes_of(data, cut)), rest), crc32_of(0, all));
        }
    }
}
END_TEST

/* Long ones go another way: every size around it, at every place in memory, with every seed. */
START_TEST(a_long_checksum_is_that_of_its_bits)
{
    uint8_t data[1100];
    struct prng prng = { 32 };
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)prng_next(&prng);
    for (size_t size = 0; size < 1000; size++) {
        uint32_t seed = size % 3 ? (uint32_t)prng_next(&prng) : 0;
        struct bytes in = bytes_of(data + size % 17, size);
        ck_assert_uint_eq(crc32_of(seed, in), crc_by_bits(0xedb88320, seed, in));
        ck_assert_uint_eq(crc32c_of(seed, in), crc_by_bits(0x82f63b78, seed, in));
    }
    struct bytes all = bytes_of(data, sizeof data);
    for (size_t cut = 0; cut <= sizeof data; cut++) {
        struct bytes begin = bytes_of(data, cut), rest = bytes_of(data + cut, sizeof data - cut);
        ck_assert_uint_eq(crc32_of(crc32_of(0, begin), rest), crc32_of(0, all));
        ck_assert_uint_eq(crc32c_of(crc32c_of(0, begin), rest), crc32c_of(0, all));
    }
}
END_TEST

START_TEST(md5_is_md5)
{
    uint8_t out[16];
    md5_of(bytes_text("abc"), out);
    ck_assert_mem_eq(out, "\x90\x01\x50\x98\x3c\xd2\x4f\xb0\xd6\x96\x3f\x7d\x28\xe1\x7f\x72", 16);
    md5_of((struct bytes){ 0 }, out);
    ck_assert_mem_eq(out, "\xd4\x1d\x8c\xd9\x8f\x00\xb2\x04\xe9\x80\x09\x98\xec\xf8\x42\x7e", 16);
}
END_TEST

START_TEST(the_map_hash_tells_every_size_and_every_bit_apart)
{
    uint8_t data[40] = { 0 };
    for (size_t size = 1; size <= sizeof data; size++) {
        struct bytes all = bytes_of(data, size);
        uint64_t plain = hash_of(0, all);
        ck_assert(plain != hash_of(0, bytes_of(data, size - 1)));
        ck_assert(plain != hash_of(1, all));
        for (size_t bit = 0; bit < size * 8; bit++) {
            data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            ck_assert(hash_of(0, all) != plain);
            data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}
END_TEST

START_TEST(the_map_hash_spreads_counting_keys_over_its_low_bits)
{
    unsigned buckets[1024] = { 0 };
    for (uint32_t i = 0; i < 64 * 1024; i++)
        buckets[hash_of(0, bytes_of(&i, sizeof i)) % 1024]++;
    for (size_t i = 0; i < array_count(buckets); i++)
        ck_assert(buckets[i] > 20 && buckets[i] < 120);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hash");
    TCase *t = tcase_create("hash");
    tcase_add_loop_test(t, a_frame_has_the_checksums_that_drivers_send, 0,
                        (int)array_count(frames));
    tcase_add_test(t, a_long_envelope_is_two_frames_with_their_own_checksums);
    tcase_add_test(t, checksums_of_the_nine_digits_are_the_published_ones);
    tcase_add_test(t, a_checksum_can_be_taken_in_pieces);
    tcase_add_test(t, a_long_checksum_is_that_of_its_bits);
    tcase_add_test(t, md5_is_md5);
    tcase_add_test(t, the_map_hash_tells_every_size_and_every_bit_apart);
    tcase_add_test(t, the_map_hash_spreads_counting_keys_over_its_low_bits);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
