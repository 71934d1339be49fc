/* test_index.c - entries, column indexes and blocks: known bytes, every window that ends early,
 * numbers that lie.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/prng.h"
#include "table_of.h"

static struct arena arena;
static struct table *table;
static struct layout layout;
static struct index_builder builder;

static const struct column_spec specs[] = { { COLUMN_PARTITION, "pk", "text", false },
                                            { COLUMN_CLUSTERING, "a", "int", false },
                                            { COLUMN_CLUSTERING, "b", "text", true },
                                            { COLUMN_REGULAR, "v", "int", false },
                                            { 0 } };

static void setup(void)
{
    arena_init(&arena, 65536);
    table = table_of(specs);
    layout_of_table(SSTABLE_NB, table, header_base_none(), &arena, &layout);
    index_builder_init(&builder, SSTABLE_NB, 120); /* two rows of entry_of, exactly */
}
static void teardown(void)
{
    index_builder_deinit(&builder);
    table_unref(&table);
    arena_deinit(&arena);
}

START_TEST(entries_without_a_column_index_are_as_in_the_facts)
{
    static const uint64_t places[] = { 0, 0x16, 0x2e };
    struct bytes index = hex_of(&arena, "00 01 30 00 00 00 01 31 16 00 00 01 32 2e 00");
    struct index_entry entry;
    size_t wanted, at = 0;
    for (unsigned i = 0; i < 3; i++, at += entry.size_bytes) {
        struct bytes rest = bytes_of(index.data + at, index.size - at);
        ck_assert_int_eq(index_entry_decode(rest, &entry, &wanted), OK);
        ck_assert_bytes(entry.key, bytes_of(&"012"[i], 1));
        ck_assert_uint_eq(entry.place, places[i]);
        ck_assert_uint_eq(entry.column_index_bytes, 0);
        ck_assert_uint_eq(entry.size_bytes, 5);
    }
    ck_assert_uint_eq(at, index.size);
}
END_TEST

/* What a search passes over, by decoding entry after entry as long as the window has 18 bytes
 * behind the key, which two numbers may take. */
static size_t passed_by_decoding(struct bytes window, struct bytes key, uint32_t *count)
{
    struct index_entry entry;
    size_t at = 0, wanted;
    for (;; at += entry.size_bytes, ++*count) {
        struct bytes rest = bytes_of(window.data + at, window.size - at);
        if (index_entry_decode(rest, &entry, &wanted) != OK || bytes_equal(entry.key, key) ||
            entry.column_index_bytes || rest.size < 2 + entry.key.size + 18)
            return at;
    }
}

START_TEST(a_search_passes_over_whole_entries_of_other_keys_and_nothing_else)
{
    struct prng prng = { (uint64_t)_i };
    struct buf out = buf_in(&arena);
    struct bytes keys[40];
    for (size_t i = 0; i < array_count(keys); i++) {
        uint8_t key[4] = { 'k', (uint8_t)prng_below(&prng, 3), (uint8_t)prng_below(&prng, 3), 'e' };
        keys[i] = arena_copy(&arena, bytes_of(key, prng_below(&prng, 5)));
        buf_put_be16(&out, (uint16_t)keys[i].size);
        buf_put_bytes(&out, keys[i]);
        buf_put_vint(&out, prng_next(&prng) >> prng_below(&prng, 64));
        size_t blocks = prng_chance(&prng, 4) ? prng_below(&prng, 9) : 0;
        buf_put_vint(&out, blocks);
        buf_put(&out, "\0\1\2\3\4\5\6\7", blocks);
    }
    for (size_t size = 0; size <= out.size; size++) {
        uint8_t *exact = mem_alloc(size + 1);
        memcpy(exact, out.data, size);
        for (size_t i = 0; i < array_count(keys); i += 7) {
            uint32_t count = 0, expected = 0;
            struct bytes window = bytes_of(exact, size);
            size_t passed = index_entries_pass(window, keys[i], &count);
            ck_assert_uint_eq(passed, passed_by_decoding(window, keys[i], &expected));
            ck_assert_uint_eq(count, expected);
        }
        mem_free(exact);
    }
}
END_TEST

/* Rows of 60 bytes at clustering (i, "x"); ranges open behind every third. */
static struct bytes entry_of(size_t rows, struct deletion deletion)
{
    struct partition_head head = { .key = bytes_text("k"), .deletion = deletion };
    struct buf out = buf_in(&arena);
    index_builder_begin(&builder, 40);
    for (size_t i = 0; i < rows; i++) {
        struct bytes prefix = hex_of(&arena, "00 00000000 01 78");
        ((uint8_t *)prefix.data)[4] = (uint8_t)i;
        struct deletion open =
            i % 3 == 2 ? (struct deletion){ 1000 + (int64_t)i, 9 } : deletion_none();
        index_builder_add(&builder, UNFILTERED_KIND_ROW, prefix, open, 40 + 60 * (i + 1));
    }
    index_builder_end(&builder, &head, 777, 40, 40 + 60 * rows + 1, &out);
    return buf_bytes(&out);
}

START_TEST(a_partition_of_one_block_has_no_column_index)
{
    ck_assert_bytes(entry_of(0, deletion_none()), hex_of(&arena, "00 01 6b 83 09 00"));
    ck_assert_bytes(entry_of(1, deletion_none()), hex_of(&arena, "00 01 6b 83 09 00"));
    /* The second row fills the block; the end byte makes it one longer and no second one. */
    ck_assert_bytes(entry_of(2, deletion_none()), hex_of(&arena, "00 01 6b 83 09 00"));
}
END_TEST

START_TEST(blocks_are_closed_by_the_row_that_fills_them)
{
    struct bytes whole = entry_of(5, (struct deletion){ 5, 6 });
    struct index_entry entry;
    struct column_index columns;
    size_t wanted;
    ck_assert_int_eq(index_entry_decode(whole, &entry, &wanted), OK);
    ck_assert_uint_eq(entry.size_bytes, whole.size);
    struct bytes own = bytes_of(whole.data + entry.head_bytes, entry.column_index_bytes);
    ck_assert_int_eq(column_index_decode(SSTABLE_NB, own, entry.column_index_bytes, &columns), OK);
    ck_assert_uint_eq(columns.blocks_count, 3);
    ck_assert_uint_eq(columns.header_bytes, 40);
    ck_assert_int_eq(columns.deletion.timestamp, 5);
    for (uint32_t i = 0; i < 3; i++) {
        struct index_block block;
        uint32_t at = get_be32(own.data + columns.offsets_at + 4 * i);
        struct bytes window = bytes_of(own.data + columns.blocks_at + at,
                                       (size_t)(columns.offsets_at - columns.blocks_at - at));
        ck_assert_int_eq(index_block_decode(&layout, window, &arena, &block, &wanted), OK);
        ck_assert_uint_eq(block.offset, 40 + 120 * i);
        ck_assert_uint_eq(block.width, i < 2 ? 120 : 61); /* the last one has the end byte */
        ck_assert_uint_eq(block.first.data[4], 2 * i);
        ck_assert_uint_eq(block.last.data[4], i < 2 ? 2 * i + 1 : 4);
        ck_assert(deletion_is_none(block.open)); /* rows 1, 3 and 4 */
    }
}
END_TEST

START_TEST(a_block_tells_what_is_open_behind_it)
{
    /* INCL_START (1); EXCL_END_INCL_START (2, "x"); at 300, 65536 - 1 wide; open: 5, 9 */
    const char *hex = "01 0001 00 00000001 02 0002 00 00000002 01 78 81 2c 01 01"
                      "00000009 0000000000000005";
    struct bytes whole = hex_of(&arena, hex);
    struct index_block block;
    size_t wanted;
    ck_assert_int_eq(index_block_decode(&layout, whole, &arena, &block, &wanted), OK);
    ck_assert_bytes(block.first, hex_of(&arena, "40 80000001 20"));
    ck_assert_bytes(block.last, hex_of(&arena, "40 80000002 40 87 ff ff 20"));
    ck_assert_uint_eq(block.offset, 300);
    ck_assert_uint_eq(block.width, 65535);
    ck_assert_int_eq(block.open.timestamp, 5);
    ck_assert_uint_eq(block.open.seconds, 9);
    for (size_t size = 0; size < whole.size; size++) {
        uint8_t *exact = mem_alloc(size);
        if (size)
            memcpy(exact, whole.data, size);
        ck_assert_int_eq(
            index_block_decode(&layout, bytes_of(exact, size), &arena, &block, &wanted),
            ERR_WOULD_WAIT);
        ck_assert_uint_gt(wanted, size);
        mem_free(exact);
    }
}
END_TEST

START_TEST(an_entry_whose_window_ends_early_asks_for_more)
{
    struct bytes whole = entry_of(9, deletion_none());
    struct index_entry entry, early;
    size_t wanted;
    ck_assert_int_eq(index_entry_decode(whole, &entry, &wanted), OK);
    for (size_t size = 0; size < whole.size; size++) {
        uint8_t *exact = mem_alloc(size);
        if (size)
            memcpy(exact, whole.data, size);
        enum err err = index_entry_decode(bytes_of(exact, size), &early, &wanted);
        ck_assert_int_eq(err, size < entry.head_bytes ? ERR_WOULD_WAIT : OK);
        ck_assert(err == OK || (wanted > size && wanted <= whole.size));
        mem_free(exact);
    }
}
END_TEST

START_TEST(numbers_that_lie_are_corrupt)
{
    struct index_entry entry;
    struct column_index columns;
    struct index_block block;
    size_t wanted;
    ck_assert_int_eq(
        index_entry_decode(hex_of(&arena, "00 01 6b 00 f0 80 00 00 00"), &entry, &wanted),
        ERR_CORRUPT); /* 2 GiB of column index */
    struct bytes head = hex_of(&arena, "28 7fffffff 8000000000000000 c0 40 00");
    ck_assert_int_eq(column_index_decode(SSTABLE_NB, head, 1000, &columns), ERR_CORRUPT);
    head = hex_of(&arena, "28 7fffffff 8000000000000000 00"); /* no block */
    ck_assert_int_eq(column_index_decode(SSTABLE_NB, head, 1000, &columns), ERR_CORRUPT);
    struct bytes bad = hex_of(&arena, "03 0001 00 00000001 02 0001 00 00000001 01 01 00");
    ck_assert_int_eq(index_block_decode(&layout, bad, &arena, &block, &wanted), ERR_CORRUPT);
    bad = hex_of(&arena, "01 0003 00 00000001 02 0001 00 00000001 01 01 00");
    ck_assert_int_eq(index_block_decode(&layout, bad, &arena, &block, &wanted), ERR_CORRUPT);
    /* narrower than nothing */
    bad = hex_of(&arena, "01 0000 02 0000 01 c2 00 01 00");
    ck_assert_int_eq(index_block_decode(&layout, bad, &arena, &block, &wanted), ERR_CORRUPT);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("index");
    TCase *t = tcase_create("index");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, entries_without_a_column_index_are_as_in_the_facts);
    tcase_add_loop_test(t, a_search_passes_over_whole_entries_of_other_keys_and_nothing_else, 0,
                        20);
    tcase_add_test(t, a_partition_of_one_block_has_no_column_index);
    tcase_add_test(t, blocks_are_closed_by_the_row_that_fills_them);
    tcase_add_test(t, a_block_tells_what_is_open_behind_it);
    tcase_add_test(t, an_entry_whose_window_ends_early_asks_for_more);
    tcase_add_test(t, numbers_that_lie_are_corrupt);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
