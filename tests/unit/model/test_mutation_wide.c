/* test_mutation_wide.c - mutations with elements, static rows and ranges survive their bytes; those
 * that are cut, flipped or say what a table cannot hold are refused.
 */
// SPDX-License-Identifier: Apache-2.0
#include "sample_cells.h"
#include "sample_range.h"

#include <check.h>

enum { ROWS = 4, RANGES = 3, VALUES = 4 };

static struct arena arena;
static struct table *table;
static void setup(void)
{
    arena_init(&arena, 65536);
    table = sample_wide_table(true);
}
static void teardown(void)
{
    table_unref(&table);
    arena_deinit(&arena);
}

static void sample_mutation(struct prng *prng, struct mutation *out)
{
    *out = (struct mutation){ .table = table->id, .key = bytes_text("key") };
    out->deletion = sample_deletion(prng, 30);
    out->rows_count = prng_below(prng, ROWS + 1);
    out->ranges_count = prng_below(prng, RANGES + 1);
    out->rows = arena_array(&arena, struct row, ROWS);
    out->ranges = arena_array(&arena, struct range_tombstone, RANGES);
    for (size_t i = 0; i < out->rows_count; i++) {
        bool is_static = i == 0 && prng_chance(prng, 50);
        uint8_t *number = arena_alloc(&arena, 4);
        put_be32(number, (uint32_t)i);
        struct bytes value = bytes_of(number, 4);
        sample_place(table, &arena, &value, &out->rows[i]);
        sample_wide_row(prng, &arena, table, is_static, &out->rows[i]);
    }
    for (size_t i = 0; i < out->ranges_count; i++)
        sample_range(prng, table, &arena, VALUES, &out->ranges[i]);
}

static struct bytes encoded(const struct mutation *mutation)
{
    struct buf out = buf_in(&arena);
    mutation_encode(mutation, &out);
    return buf_bytes(&out);
}

static bool ranges_equal(const struct range_tombstone *a, const struct range_tombstone *b)
{
    return bytes_equal(a->low, b->low) && bytes_equal(a->high, b->high) &&
           bytes_equal(a->low_clustering, b->low_clustering) &&
           bytes_equal(a->high_clustering, b->high_clustering) &&
           deletion_compare(a->deletion, b->deletion) == 0;
}

static bool mutations_equal(const struct mutation *a, const struct mutation *b)
{
    if (deletion_compare(a->deletion, b->deletion) || a->rows_count != b->rows_count ||
        a->ranges_count != b->ranges_count)
        return false;
    for (size_t i = 0; i < a->rows_count; i++)
        if (!sample_row_equal(&a->rows[i], &b->rows[i]))
            return false;
    for (size_t i = 0; i < a->ranges_count; i++)
        if (!ranges_equal(&a->ranges[i], &b->ranges[i]))
            return false;
    return true;
}

START_TEST(a_mutation_survives_its_bytes)
{
    for (uint64_t n = 0; n < 300; n++) {
        struct prng prng = { n };
        struct mutation mutation, decoded;
        sample_mutation(&prng, &mutation);
        struct bytes bytes = encoded(&mutation);
        ck_assert_int_eq(mutation_decode(bytes, table, &arena, &decoded), OK);
        ck_assert(mutations_equal(&mutation, &decoded));
        ck_assert(bytes_equal(encoded(&decoded), bytes));
        for (size_t i = 0; i < mutation.rows_count; i++) {
            struct buf row = buf_in(&arena);
            row_encode(&mutation.rows[i], &row);
            ck_assert_uint_eq(row_encoded_bytes(&mutation.rows[i]), row.size);
        }
        arena_reset(&arena);
    }
}
END_TEST

START_TEST(a_mutation_cut_at_any_byte_is_corrupt)
{
    for (uint64_t n = 0; n < 40; n++) {
        struct prng prng = { n };
        struct mutation mutation, decoded;
        sample_mutation(&prng, &mutation);
        struct bytes bytes = encoded(&mutation);
        for (size_t size = 0; size < bytes.size; size++) {
            struct arena scratch = { 0 };
            struct bytes cut = arena_copy(&scratch, bytes_of(bytes.data, size));
            ck_assert_int_eq(mutation_decode(cut, table, &scratch, &decoded), ERR_CORRUPT);
            arena_deinit(&scratch);
        }
    }
}
END_TEST

START_TEST(flipped_bytes_give_an_error_or_a_mutation)
{
    for (uint64_t n = 0; n < 60; n++) {
        struct prng prng = { n };
        struct mutation mutation, decoded, again;
        sample_mutation(&prng, &mutation);
        struct bytes bytes = encoded(&mutation);
        for (size_t at = 1; at < bytes.size; at++) {
            struct arena scratch = { 0 };
            struct buf out = buf_in(&scratch);
            uint8_t *copy = arena_alloc(&scratch, bytes.size);
            memcpy(copy, bytes.data, bytes.size);
            copy[at] ^= (uint8_t)(prng_next(&prng) % 255 + 1);
            enum err err = mutation_decode(bytes_of(copy, bytes.size), table, &scratch, &decoded);
            ck_assert(err == OK || err == ERR_CORRUPT);
            if (err == OK) {
                mutation_encode(&decoded, &out);
                ck_assert_int_eq(mutation_decode(buf_bytes(&out), table, &scratch, &again), OK);
                ck_assert(mutations_equal(&decoded, &again));
            }
            ck_assert_uint_le(scratch.used_bytes, 100 * bytes.size + 8192);
            arena_deinit(&scratch);
        }
    }
}
END_TEST

/* Numbers of columns: a 12, b 3 (set), d 11 (static map), e 4 (list), f 6 (static), c 1, k 0.
 * After the key: flags, [ranges], one row of clustering 1. */
#define ROW "00 01 00 05 04 00000001"
#define FIXED "00 01 08 00"
static const struct {
    const char *rest;
    bool is_right;
} said[] = {
    { ROW "01 0c 00 00 00", true },                         /* a simple cell */
    { ROW "01 0c 10 00 01 61 00", false },                  /* with a path */
    { ROW "01 0c 03 00 00", false },                        /* a simple column deleted */
    { ROW "02 03 03 00 00 03 10 00 01 61 00", true },       /* set: deletion, "a" */
    { ROW "02 03 10 00 01 61 00 03 03 00 00", false },      /* the other way round */
    { ROW "02 03 03 00 00 03 03 00 00", false },            /* two deletions */
    { ROW "02 03 10 00 01 61 00 03 10 00 01 62 00", true }, /* set: "a", "b" */
    { ROW "02 03 10 00 01 62 00 03 10 00 01 61 00", false },
    { ROW "02 03 10 00 01 61 00 03 10 00 01 61 00", false },
    { ROW "02 03 00 00 00 03 10 00 01 61 00", true },       /* the empty element first */
    { ROW "01 03 13 00 00 01 61", false },                  /* a column's deletion with a path */
    { ROW "01 04 10 00 02 0000 00", false },                /* a list's path of two bytes */
    { ROW "01 06 00 00 00", false },                        /* a static column in a row */
    { ROW "01 01 00 00 00", false },                        /* a clustering column */
    { ROW "01 00 00 00 00", false },                        /* a partition column */
    { ROW "02 63 10 00 01 62 00 63 10 00 01 61 00", true }, /* of a column that is gone */
    { FIXED "01 06 00 00 00", true },
    { FIXED "01 0c 00 00 00", false },       /* a regular column in the static row */
    { "00 01 08 05 04 00000001 00", false }, /* the static row with a clustering */
    { "00 01 09 00 02 00", false },          /* with liveness */
    { "00 01 0c 00 02 00 00", false },       /* with a deletion */
    { "02 01 00 00 05 04 00000001 0000000000000001 07 00", true },  /* all before 1 */
    { "02 01 00 05 04 00000001 00 0000000000000001 07 00", false }, /* high below low */
    { "02 01 02 00 05 04 00000001 0000000000000001 07 00", true },  /* all up to and with 1 */
    { "02 01 00 00 00 0000000000000001 07 00", false },             /* nothing between */
    { "02 01 02 00 00 0000000000000001 07 00", true },              /* everything */
    { "02 01 02 00 00 8000000000000000 07 00", false },             /* without a deletion */
    { "02 01 06 00 00 0000000000000001 07 00", false },             /* an unknown flag */
    { "02 01 02 00 04 03 000001 0000000000000001 07 00", false },   /* an int of three bytes */
    { "02 01 02 00 0a 04 00000001 04 00000001 0000000000000001 07 00", false }, /* two values */
    { "02 00 00", false }, /* no ranges, and yet a flag */
    { "04 00", false },    /* an unknown flag */
};

START_TEST(what_a_table_cannot_hold_is_corrupt)
{
    for (size_t n = 0; n < array_count(said); n++) {
        struct mutation head = { .table = table->id,
                                 .key = bytes_text("k"),
                                 .deletion = deletion_none() };
        struct mutation decoded;
        struct buf out = buf_in(&arena);
        char hex[200] = "";
        mutation_encode(&head, &out);
        out.size -= 2; /* its flags and its count of rows */
        for (const char *from = said[n].rest; *from; from++)
            if (*from != ' ')
                hex[strlen(hex)] = *from;
        buf_put_bytes(&out, sample_hex(&arena, hex));
        enum err err = mutation_decode(buf_bytes(&out), table, &arena, &decoded);
        ck_assert_msg(err == (said[n].is_right ? OK : ERR_CORRUPT), "%s", said[n].rest);
    }
}
END_TEST

START_TEST(a_mutation_has_anything_or_not)
{
    struct row row = { .liveness = { TIMESTAMP_NONE, 0, 0 }, .deletion = deletion_none() };
    struct cell cell = { .timestamp = 1 };
    struct range_tombstone range = { .deletion = { 1, 1 } };
    struct mutation m = { .deletion = deletion_none(), .rows = &row, .ranges = &range };
    ck_assert(!mutation_has_anything(&m));
    m.rows_count = 1;
    ck_assert(!mutation_has_anything(&m));
    row.cells = &cell, row.cells_count = 1;
    ck_assert(mutation_has_anything(&m));
    m.rows_count = 0, m.ranges_count = 1;
    ck_assert(mutation_has_anything(&m));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutation_wide");
    TCase *tcase = tcase_create("bytes");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_mutation_survives_its_bytes);
    tcase_add_test(tcase, a_mutation_cut_at_any_byte_is_corrupt);
    tcase_add_test(tcase, flipped_bytes_give_an_error_or_a_mutation);
    tcase_add_test(tcase, what_a_table_cannot_hold_is_corrupt);
    tcase_add_test(tcase, a_mutation_has_anything_or_not);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
