/* test_filter.c - shapes are Cassandra's for every chance, bits are Cassandra's for known keys, and
 * what is in is found. */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/mem.h"
#include "base/prng.h"
#include "damage.h"
#include "sstable/filter.h"

#include <check.h>

START_TEST(known_chances_have_known_shapes)
{
    static const struct {
        double chance;
        uint32_t hashes, bits;
    } cases[] = { { 0.99, 2, 1 },   { 0.393, 2, 1 },    { 0.392, 1, 3 },    { 0.1, 3, 5 },
                  { 0.05, 3, 7 },   { 0.02, 4, 9 },     { 0.01, 5, 10 },    { 0.005, 5, 12 },
                  { 0.001, 7, 15 }, { 0.0001, 10, 20 }, { 6.71e-5, 14, 20 } };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct filter_shape shape = filter_shape_of(cases[i].chance);
        ck_assert_msg(shape.hashes == cases[i].hashes && shape.bits_per_key == cases[i].bits,
                      "%g: %u, %u", cases[i].chance, shape.hashes, shape.bits_per_key);
    }
    ck_assert_uint_eq(filter_shape_of(1.0).hashes, 0);
    ck_assert_uint_eq(filter_words(filter_shape_of(1.0), 1000), 0);
}
END_TEST

/* The checksum is of what BloomCalculations of Cassandra 5.0.6 says of the same chances. */
START_TEST(every_chance_has_the_shape_that_cassandra_gives_it)
{
    struct buf b = { 0 };
    for (int i = 1; i < 1000000; i += 7) {
        double chance = i / 1e6;
        if (chance < 6.71e-5)
            continue;
        struct filter_shape shape = filter_shape_of(chance);
        buf_put_u8(&b, (uint8_t)shape.hashes);
        buf_put_u8(&b, (uint8_t)shape.bits_per_key);
    }
    ck_assert_uint_eq(b.size, 285694);
    ck_assert_uint_eq(crc32_of(0, buf_bytes(&b)), 909356229);
    buf_deinit(&b);
}
END_TEST

START_TEST(the_known_keys_have_the_known_filter)
{
    static const uint8_t want[] = { 0, 0, 0, 5, 0, 0,    0, 2,    0x84, 0x42, 0x21, 0x06,
                                    0, 1, 4, 0, 0, 0xa6, 2, 0x20, 4,    0,    0xc0, 8 };
    struct filter_shape shape = filter_shape_of(0.01);
    uint8_t bits[16] = { 0 };
    struct filter f = { .hashes = shape.hashes, .words = filter_words(shape, 5), .bits = bits };
    ck_assert_uint_eq(f.words, 2);
    for (char key = '0'; key <= '4'; key++) {
        uint64_t hash[2];
        murmur3_cassandra(bytes_of(&key, 1), hash);
        filter_add(&f, hash);
    }
    struct buf b = { 0 };
    filter_encode(&f, &b);
    ck_assert_uint_eq(b.size, sizeof want);
    ck_assert_mem_eq(b.data, want, sizeof want);
    buf_deinit(&b);
}
END_TEST

static uint64_t magnitude(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

START_TEST(the_bits_of_a_key_are_those_of_the_plain_formula)
{
    struct prng prng = { 77 };
    for (int round = 0; round < 20000; round++) {
        uint64_t words = 1 + prng_below(&prng, round % 2 ? 4 : 1000);
        uint8_t *bits = mem_zalloc(words * 8), *plain = mem_zalloc(words * 8);
        struct filter f = { .hashes = 1 + (uint32_t)prng_below(&prng, 20), .words = words };
        uint64_t hash[2] = { prng_next(&prng) };
        hash[1] = round % 5 ? prng_next(&prng) : (uint64_t)INT64_MIN + prng_below(&prng, 2);
        f.bits = bits;
        filter_add(&f, hash);
        uint64_t base = hash[1];
        for (uint32_t i = 0; i < f.hashes; i++, base += hash[0]) {
            uint64_t at = magnitude((int64_t)base % (int64_t)(words * 64));
            plain[at / 8] |= (uint8_t)(1U << at % 8);
        }
        ck_assert_mem_eq(bits, plain, words * 8);
        ck_assert(filter_has(&f, hash));
        mem_free(bits);
        mem_free(plain);
    }
}
END_TEST

START_TEST(what_is_in_is_found_and_little_else)
{
    enum { KEYS = 20000 };
    double chance = _i ? 0.1 : 0.01;
    struct filter_shape shape = filter_shape_of(chance);
    struct filter f = { .hashes = shape.hashes, .words = filter_words(shape, KEYS) };
    f.bits = mem_zalloc(f.words * 8);
    uint64_t hash[2];
    for (uint32_t i = 0; i < KEYS; i++) {
        murmur3_cassandra(bytes_of(&i, sizeof i), hash);
        filter_add(&f, hash);
    }
    int found = 0;
    for (uint32_t i = 0; i < 2 * KEYS; i++) {
        murmur3_cassandra(bytes_of(&i, sizeof i), hash);
        bool has = filter_has(&f, hash);
        ck_assert(i >= KEYS || has);
        found += i >= KEYS && has;
    }
    ck_assert_msg(found > 0 && found < chance * 1.3 * KEYS, "%d", found);
    mem_free(f.bits);
}
END_TEST

START_TEST(more_keys_than_a_file_can_have_bits_for_get_the_largest_filter)
{
    struct filter_shape shape = filter_shape_of(0.01);
    ck_assert_uint_le(filter_words(shape, UINT64_MAX), INT32_MAX);
    ck_assert_uint_gt(filter_words(shape, UINT64_MAX), INT32_MAX - 2);
    ck_assert_uint_eq(filter_words(shape, 0), 1);
    ck_assert_uint_eq(filter_words(shape, 30), 5); /* 10 bits each and 20 are 5 words, just so */
    ck_assert_uint_eq(filter_words(shape, 31), 6);
}
END_TEST

/* A head has no checksum: a damaged one is refused, or it is a filter of the same size. */
static void try_head(struct bytes damaged, size_t at, void *file_bytes)
{
    struct filter f;
    struct report report = { 0 };
    (void)at;
    enum err err = filter_decode_head(damaged, *(uint64_t *)file_bytes, &f, &report);
    ck_assert(err == OK || err == ERR_CORRUPT);
    ck_assert_int_eq(report.err, err);
    if (err == OK)
        ck_assert(f.words == 2 && f.hashes > 0 && f.hashes <= 64 && !f.bits);
    if (damaged.size < FILTER_HEAD_BYTES)
        ck_assert_int_eq(err, ERR_CORRUPT);
}

START_TEST(a_damaged_head_is_refused_or_of_the_same_size)
{
    static const uint8_t head[] = { 0, 0, 0, 5, 0, 0, 0, 2 };
    uint64_t file_bytes = 24;
    damage_cut(bytes_of(head, sizeof head), try_head, &file_bytes);
    damage_flip(bytes_of(head, sizeof head), try_head, &file_bytes);
    struct filter f;
    struct report report = { 0 };
    ck_assert_int_eq(filter_decode_head(bytes_of(head, 8), 23, &f, &report), ERR_CORRUPT);
    ck_assert_int_eq(filter_decode_head(bytes_of(head, 8), 24, &f, &report), OK);
    uint64_t any[2] = { 1, 2 };
    ck_assert_int_eq(filter_decode_head((struct bytes){ 0 }, 0, &f, &report), OK);
    ck_assert(filter_has(&f, any)); /* an empty file */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("filter");
    TCase *t = tcase_create("filter");
    tcase_add_test(t, known_chances_have_known_shapes);
    tcase_add_test(t, every_chance_has_the_shape_that_cassandra_gives_it);
    tcase_add_test(t, the_known_keys_have_the_known_filter);
    tcase_add_test(t, the_bits_of_a_key_are_those_of_the_plain_formula);
    tcase_add_loop_test(t, what_is_in_is_found_and_little_else, 0, 2);
    tcase_add_test(t, more_keys_than_a_file_can_have_bits_for_get_the_largest_filter);
    tcase_add_test(t, a_damaged_head_is_refused_or_of_the_same_size);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
