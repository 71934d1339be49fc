/* test_lz4.c - a block comes back, and a damaged one never writes or reads beyond. */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "base/lz4.h"
#include "base/mem.h"
#include "base/prng.h"

#include <check.h>

START_TEST(a_block_comes_back_at_exactly_its_size)
{
    struct prng prng = { 8 };
    static const size_t sizes[] = { 0, 1, 12, 13, 64, 1000, 65536, 200000 };
    for (size_t i = 0; i < array_count(sizes); i++) {
        size_t size = sizes[i];
        uint8_t *data = mem_alloc(size), *back = mem_alloc(size + 1);
        for (size_t j = 0; j < size; j++)
            data[j] = (uint8_t)prng_below(&prng, 4);
        struct buf b = { 0 };
        buf_put_text(&b, "head");
        size_t packed = lz4_pack(bytes_of(data, size), &b);
        ck_assert_uint_eq(b.size, packed + 4);
        struct bytes block = bytes_of(b.data + 4, packed);
        ck_assert_int_eq(lz4_unpack(block, back, size), OK);
        ck_assert(size == 0 || memcmp(data, back, size) == 0);
        ck_assert_int_eq(lz4_unpack(block, back, size + 1), ERR_CORRUPT);
        if (size > 0)
            ck_assert_int_eq(lz4_unpack(block, back, size - 1), ERR_CORRUPT);
        buf_deinit(&b);
        mem_free(data);
        mem_free(back);
    }
}
END_TEST

START_TEST(the_known_block_of_zeros_unpacks)
{
    uint8_t out[64], zeros[64] = { 0 };
    struct bytes block = bytes_of("\x1f\x00\x01\x00\x27\x50\x00\x00\x00\x00\x00", 11);
    ck_assert_int_eq(lz4_unpack(block, out, sizeof out), OK);
    ck_assert_mem_eq(out, zeros, sizeof out);
    for (size_t cut = 0; cut < block.size; cut++)
        ck_assert_int_eq(lz4_unpack(bytes_of(block.data, cut), out, sizeof out), ERR_CORRUPT);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lz4");
    TCase *t = tcase_create("lz4");
    tcase_add_test(t, a_block_comes_back_at_exactly_its_size);
    tcase_add_test(t, the_known_block_of_zeros_unpacks);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
