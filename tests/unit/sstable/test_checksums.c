/* test_checksums.c - Checksums.db: what was written is held to be whole, every damaged bit of the
 * component and of what it covers is seen, and nothing in it is trusted.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "sstable/checksums.h"

#include <check.h>

enum { INDEX_BYTES = 3 * CHECKSUM_BLOCK_BYTES + 100, FILTER_BYTES = CHECKSUM_BLOCK_BYTES };

static uint8_t index_db[INDEX_BYTES], filter_db[FILTER_BYTES];
static struct arena arena;
static struct buf file;
static struct checksums sums;

/* In pieces of `piece` bytes. */
static void build(size_t piece)
{
    struct checksums_builder b = { 0 };
    for (size_t at = 0; at < INDEX_BYTES; at += piece)
        checksums_builder_add(&b, COMPONENT_INDEX,
                              bytes_of(index_db + at, u64_min(piece, INDEX_BYTES - at)));
    checksums_builder_add(&b, COMPONENT_FILTER, bytes_of(filter_db, FILTER_BYTES));
    buf_clear(&file);
    checksums_builder_encode(&b, 3, 2, &file);
    checksums_builder_deinit(&b);
}

static void setup(void)
{
    for (size_t i = 0; i < INDEX_BYTES; i++)
        index_db[i] = (uint8_t)(i * 7 + i / 251);
    for (size_t i = 0; i < FILTER_BYTES; i++)
        filter_db[i] = (uint8_t)(i * 13);
    build(1000);
}
static void teardown(void)
{
    buf_deinit(&file);
    arena_deinit(&arena);
}

static struct bytes whole(void) { return bytes_of(index_db, INDEX_BYTES); }
static enum err decode(void) { return checksums_decode(buf_bytes(&file), &arena, &sums, NULL); }

START_TEST(what_was_written_holds_whatever_pieces_it_came_in)
{
    static const size_t pieces[] = { 1, 7, 4095, 4096, 4097, INDEX_BYTES };
    uint64_t block;
    uint32_t shards, shard;
    build(pieces[_i]);
    ck_assert_int_eq(decode(), OK);
    ck_assert(sums.shards == 3 && sums.shard == 2);
    ck_assert_int_eq(checksums_decode_head(buf_bytes(&file), &shards, &shard), OK);
    ck_assert(shards == 3 && shard == 2);
    ck_assert(checksums_hold_all(&sums, COMPONENT_INDEX, whole(), &block));
    ck_assert(
        checksums_hold_all(&sums, COMPONENT_FILTER, bytes_of(filter_db, FILTER_BYTES), &block));
    ck_assert(checksums_hold(&sums, COMPONENT_INDEX, 3, bytes_of(index_db + 3 * 4096, 100)));
    ck_assert(!checksums_hold(&sums, COMPONENT_INDEX, 3, bytes_of(index_db + 3 * 4096, 99)));
    ck_assert(!checksums_hold(&sums, COMPONENT_INDEX, 4, bytes_of(index_db, 0)));
    ck_assert(!checksums_hold(&sums, COMPONENT_SUMMARY, 0, bytes_of(index_db, 1)));
}
END_TEST

START_TEST(every_flipped_bit_of_what_it_covers_is_seen_in_its_block)
{
    uint64_t block;
    ck_assert_int_eq(decode(), OK);
    for (size_t bit = 0; bit < INDEX_BYTES * 8; bit += 5) {
        index_db[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert(!checksums_hold_all(&sums, COMPONENT_INDEX, whole(), &block));
        ck_assert_uint_eq(block, bit / 8 / CHECKSUM_BLOCK_BYTES);
        index_db[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert(!checksums_hold_all(&sums, COMPONENT_INDEX, bytes_of(index_db, 4096), &block));
    ck_assert(
        !checksums_hold_all(&sums, COMPONENT_INDEX, bytes_of(index_db, INDEX_BYTES - 1), &block));
}
END_TEST

START_TEST(every_flipped_bit_and_every_cut_of_itself_is_seen)
{
    for (size_t size = 0; size < file.size; size++)
        ck_assert_int_eq(checksums_decode(bytes_of(file.data, size), &arena, &sums, NULL),
                         ERR_CORRUPT);
    for (size_t bit = 0; bit < file.size * 8; bit++) {
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(decode(), ERR_CORRUPT);
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}
END_TEST

/* A head that holds. */
static void put_head(uint32_t version, uint32_t shards, uint32_t shard, uint32_t parts)
{
    put_be32(file.data + 4, version);
    put_be32(file.data + 8, shards);
    put_be32(file.data + 12, shard);
    put_be32(file.data + 16, parts);
    put_be32(file.data + 20, crc32c_of(0, bytes_of(file.data, 20)));
}

START_TEST(sums_that_hold_do_not_make_nonsense_true)
{
    put_head(2, 3, 2, 2);
    ck_assert_int_eq(decode(), ERR_NEWER);
    put_head(1, 2, 2, 2);
    ck_assert_int_eq(decode(), ERR_CORRUPT);
    put_head(1, 3, 2, 1);
    ck_assert_int_eq(decode(), ERR_CORRUPT);
    put_head(1, 3, 2, UINT32_MAX);
    ck_assert_int_eq(decode(), ERR_CORRUPT);
    put_head(1, 3, 2, 2);
    ck_assert_int_eq(decode(), OK);
    memset(file.data + CHECKSUMS_HEAD_BYTES + 9, 0xff, 8); /* a size that nothing can have */
    size_t body = file.size - CHECKSUMS_HEAD_BYTES - 4;
    put_be32(file.data + file.size - 4,
             crc32c_of(0, bytes_of(file.data + CHECKSUMS_HEAD_BYTES, body)));
    ck_assert_int_eq(decode(), ERR_CORRUPT);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("checksums of components");
    TCase *t = tcase_create("checksums");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, what_was_written_holds_whatever_pieces_it_came_in, 0, 6);
    tcase_add_test(t, every_flipped_bit_of_what_it_covers_is_seen_in_its_block);
    tcase_add_test(t, every_flipped_bit_and_every_cut_of_itself_is_seen);
    tcase_add_test(t, sums_that_hold_do_not_make_nonsense_true);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
