/* test_unfiltered_packed.c - rows that stay packed: which do, that their cells are what they would
 * have been, and that what is written of them is to the byte what is written of their cells; also
 * when they are cut or damaged at every place.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/prng.h"
#include "table_of.h"

enum { FIRST = 2, REGULARS = 4, TEXT_BYTES_MAX = 300, TIMESTAMP = 1000 };

/* Names in another order than numbers. */
static const struct column_spec simple[] = { { COLUMN_PARTITION, "pk", "int", false },
                                             { COLUMN_CLUSTERING, "c", "text", false },
                                             { COLUMN_REGULAR, "z", "text", false },
                                             { COLUMN_REGULAR, "b", "bigint", false },
                                             { COLUMN_REGULAR, "y", "blob", false },
                                             { COLUMN_REGULAR, "a", "int", false },
                                             { 0 } };

static struct arena arena;
static struct table *table;
static struct layout from, to; /* with other minima, for another version */
static struct row_space space;

static void use(const struct column_spec *specs)
{
    table_unref(&table);
    table = table_of(specs);
    layout_of_table(SSTABLE_NB, table, (struct header_base){ 7, 7, 7 }, &arena, &from);
    layout_of_table(SSTABLE_OA, table, (struct header_base){ 900, 5, 5 }, &arena, &to);
}

static void setup(void)
{
    arena_init(&arena, 65536);
    space = (struct row_space){ .arena = &arena, .is_reused = true };
    space.key = buf_in(&arena);
    use(simple);
}
static void teardown(void)
{
    table_unref(&table);
    arena_deinit(&arena);
}

/* A row with a value in each column, all of its own time. */
static struct row whole_row(struct prng *prng)
{
    static uint8_t bytes[REGULARS][TEXT_BYTES_MAX];
    static const size_t sizes[REGULARS] = { 0, 8, 0, 4 };
    struct cell *cells = arena_array(&arena, struct cell, REGULARS);
    struct buf raw = buf_in(&arena), key = buf_in(&arena);
    struct bytes place = bytes_text(prng_chance(prng, 50) ? "here" : "there");
    buf_put_sized(&raw, place);
    comparable_key(table, &place, &key);
    for (uint32_t i = 0; i < REGULARS; i++) {
        size_t size = sizes[i] ? sizes[i] : 1 + prng_below(prng, TEXT_BYTES_MAX - 1);
        for (size_t k = 0; k < size; k++)
            bytes[i][k] = (uint8_t)prng_next(prng);
        cells[i] = (struct cell){ .timestamp = TIMESTAMP,
                                  .column = FIRST + i,
                                  .value = bytes_of(bytes[i], size) };
    }
    return (struct row){ .key = buf_bytes(&key),
                         .clustering = buf_bytes(&raw),
                         .liveness = { .timestamp = TIMESTAMP },
                         .deletion = deletion_none(),
                         .cells_count = REGULARS,
                         .cells = cells };
}

static struct bytes written(const struct layout *layout, const struct row *row)
{
    struct buf out = buf_in(&arena);
    row_write(layout, row, 200, &out);
    return buf_bytes(&out);
}

static void same_cells(const struct row *a, const struct row *b)
{
    ck_assert_uint_eq(a->cells_count, b->cells_count);
    for (size_t i = 0; i < a->cells_count; i++) {
        ck_assert_uint_eq(a->cells[i].column, b->cells[i].column);
        ck_assert_int_eq(a->cells[i].timestamp, b->cells[i].timestamp);
        ck_assert_int_eq(a->cells[i].kind, b->cells[i].kind);
        ck_assert_bytes(a->cells[i].value, b->cells[i].value);
    }
}

/* Whatever stands in the window: both readers say the same, and what stayed packed is written as
 * its cells are.  Did it stay packed? */
static bool read_both(struct bytes window)
{
    struct row_space own = { .arena = &arena };
    struct unfiltered a = { 0 }, b = { 0 };
    struct buf out = buf_in(&arena);
    size_t a_wanted = 0, b_wanted = 0;
    enum err err = unfiltered_read(&from, window, &own, &a, &a_wanted);
    ck_assert_int_eq(unfiltered_read_packed(&from, window, &space, &b, &b_wanted), err);
    ck_assert_uint_eq(a_wanted, b_wanted);
    ck_assert(!a.is_packed);
    if (err != OK || !b.is_packed)
        return false;
    ck_assert(a.kind == UNFILTERED_ROW && b.kind == UNFILTERED_ROW && b.row.cells_count == 0);
    ck_assert_uint_eq(a.size_bytes, b.size_bytes);
    ck_assert_int_eq(a.row.liveness.timestamp, b.row.liveness.timestamp);
    ck_assert_bytes(a.row.key, b.row.key);
    packed_row_write(&to, &b.row, b.packed, 200, &out);
    ck_assert_bytes(buf_bytes(&out), written(&to, &a.row));
    unfiltered_unpack(&from, &space, &b);
    ck_assert(!b.is_packed);
    same_cells(&b.row, &a.row);
    return true;
}

START_TEST(a_row_that_was_inserted_whole_stays_packed_and_is_written_as_its_cells_are)
{
    struct prng prng = { (uint64_t)_i };
    struct row row = whole_row(&prng);
    ck_assert(read_both(written(&from, &row)));
}
END_TEST

/* ---- what does not ---- */

static void other_time(struct row *row) { row->cells[1].timestamp++; }
static void no_liveness(struct row *row) { row->liveness.timestamp = TIMESTAMP_NONE; }
static void one_column_less(struct row *row) { row->cells_count--; }
static void no_value(struct row *row) { row->cells[2].value.size = 0; }
static void a_deletion(struct row *row) { row->deletion = (struct deletion){ 900, 900 }; }
static void a_tombstone(struct row *row)
{
    row->cells[0].kind = CELL_DELETED;
    row->cells[0].seconds = 900;
    row->cells[0].value = (struct bytes){ 0 };
}
static void an_expiring_cell(struct row *row)
{
    row->cells[3].kind = CELL_EXPIRING;
    row->cells[3].seconds = 1900, row->cells[3].ttl = 1000;
}
static void an_expiring_row(struct row *row)
{
    row->liveness.ttl = 1000, row->liveness.expires = 1900;
}
static void (*const spoilers[])(struct row *) = { other_time,       no_liveness,    one_column_less,
                                                  no_value,         a_deletion,     a_tombstone,
                                                  an_expiring_cell, an_expiring_row };

START_TEST(what_says_more_than_values_does_not)
{
    struct prng prng = { 1 };
    struct row row = whole_row(&prng);
    spoilers[_i](&row);
    ck_assert(!read_both(written(&from, &row)));
}
END_TEST

static const struct column_spec one_text[] = { { COLUMN_PARTITION, "pk", "text", false },
                                               { COLUMN_REGULAR, "v", "text", false },
                                               { 0 } };

START_TEST(values_in_another_form_than_ours_do_not)
{
    use(one_text);
    ck_assert(read_both(hex_of(&arena, "24 05 00 01 08 01 61")));
    ck_assert(!read_both(hex_of(&arena, "24 06 00 01 08 80 01 61"))); /* a long vint */
    ck_assert(!read_both(hex_of(&arena, "24 04 00 01 08 00")));       /* empty, without the flag */
    ck_assert(!read_both(hex_of(&arena, "24 04 00 01 0c")));
    ck_assert(!read_both(hex_of(&arena, "24 06 00 01 08 01 61 00"))); /* corrupt: one byte more */
}
END_TEST

/* ---- cut and damaged ---- */

START_TEST(a_row_that_is_cut_anywhere_is_read_as_ever)
{
    struct prng prng = { 3 };
    struct row row = whole_row(&prng);
    struct bytes whole = written(&from, &row);
    for (size_t size = 0; size < whole.size; size++) {
        uint8_t *exact = mem_alloc(size);
        if (size)
            memcpy(exact, whole.data, size);
        ck_assert(!read_both(bytes_of(exact, size)));
        mem_free(exact);
    }
}
END_TEST

START_TEST(a_row_that_is_damaged_anywhere_is_read_as_ever)
{
    struct prng prng = { 4 };
    struct row row = whole_row(&prng);
    struct bytes whole = written(&from, &row);
    unsigned packed = 0;
    for (size_t at = 0; at < whole.size; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            uint8_t *exact = mem_alloc(whole.size);
            memcpy(exact, whole.data, whole.size);
            exact[at] ^= (uint8_t)(1u << bit);
            packed += read_both(bytes_of(exact, whole.size));
            mem_free(exact);
        }
    ck_assert_uint_gt(packed, whole.size); /* most bits are of values */
}
END_TEST

/* ---- partitions of one row ---- */

static const struct column_spec flat[] = { { COLUMN_PARTITION, "pk", "blob", false },
                                           { COLUMN_REGULAR, "z", "text", false },
                                           { COLUMN_REGULAR, "b", "bigint", false },
                                           { 0 } };

/* What stands in the window is a partition of one packed row for the one reader just where it is
 * such a row for the other, and its end stands behind it; what is written of it is what is written
 * of its parts.  Is it one? */
static bool only_both(struct bytes window)
{
    struct unfiltered a = { 0 }, b = { 0 };
    struct buf out = buf_in(&arena), want = buf_in(&arena);
    struct bytes key = bytes_text("key");
    size_t wanted = 0;
    bool is_row = unfiltered_read_packed(&from, window, &space, &a, &wanted) == OK && a.is_packed;
    bool has_end = is_row && a.size_bytes < window.size && window.data[a.size_bytes] == 0x01;
    ck_assert(only_row_read(&from, window, &b) == has_end);
    if (!has_end)
        return false;
    ck_assert(b.kind == UNFILTERED_ROW && b.is_packed && b.row.cells_count == 0);
    ck_assert_uint_eq(a.size_bytes, b.size_bytes);
    ck_assert_int_eq(a.row.liveness.timestamp, b.row.liveness.timestamp);
    ck_assert(b.row.liveness.ttl == 0 && deletion_is_none(b.row.deletion));
    ck_assert_bytes(a.row.key, b.row.key);
    ck_assert_uint_eq(b.row.clustering.size, 0);
    ck_assert_bytes(a.packed, b.packed);
    only_row_write(&to, key, b.row.liveness.timestamp, b.packed, &out);
    partition_head_encode(to.version, key, deletion_none(), &want);
    packed_row_write(&to, &a.row, a.packed, want.size, &want);
    buf_put_u8(&want, 0x01);
    ck_assert_bytes(buf_bytes(&out), buf_bytes(&want));
    return true;
}

static struct bytes flat_partition(struct prng *prng, size_t text_bytes)
{
    uint8_t *text = arena_alloc(&arena, text_bytes), number[8] = { 0 };
    struct cell *cells = arena_array(&arena, struct cell, 2);
    struct buf key = buf_in(&arena), out = buf_in(&arena);
    for (size_t i = 0; i < text_bytes; i++)
        text[i] = (uint8_t)prng_next(prng);
    cells[0] = (struct cell){ TIMESTAMP, .column = 1, .value = bytes_of(text, text_bytes) };
    cells[1] = (struct cell){ TIMESTAMP, .column = 2, .value = bytes_of(number, 8) };
    comparable_key(table, NULL, &key);
    struct row row = { .key = buf_bytes(&key),
                       .liveness = { .timestamp = TIMESTAMP },
                       .deletion = deletion_none(),
                       .cells_count = 2,
                       .cells = cells };
    row_write(&from, &row, 30, &out);
    buf_put_u8(&out, 0x01);
    return buf_bytes(&out);
}

static struct bytes exactly(struct bytes window)
{
    uint8_t *exact = mem_alloc(window.size);
    if (window.size)
        memcpy(exact, window.data, window.size);
    return bytes_of(exact, window.size);
}

START_TEST(a_partition_of_one_row_is_read_and_written_whole)
{
    struct prng prng = { 5 };
    use(flat);
    for (size_t size = 1; size < TEXT_BYTES_MAX; size += 7)
        ck_assert(only_both(flat_partition(&prng, size)));
}
END_TEST

START_TEST(a_partition_that_is_cut_or_damaged_anywhere_is_none_or_read_as_ever)
{
    struct prng prng = { 6 };
    use(flat);
    struct bytes whole = flat_partition(&prng, 150);
    for (size_t size = 0; size < whole.size; size++) {
        struct bytes cut = exactly(bytes_of(whole.data, size));
        ck_assert(!only_both(cut));
        mem_free((void *)cut.data);
    }
    for (size_t at = 0; at < 8 * whole.size; at++) {
        struct bytes bad = exactly(whole);
        ((uint8_t *)bad.data)[at / 8] ^= (uint8_t)(1u << at % 8);
        (void)only_both(bad);
        mem_free((void *)bad.data);
    }
}
END_TEST

START_TEST(what_has_a_place_among_others_is_no_partition_of_one_row)
{
    struct prng prng = { 7 };
    struct unfiltered out;
    struct row row = whole_row(&prng);
    struct buf with_end = buf_in(&arena);
    row_write(&from, &row, 30, &with_end);
    buf_put_u8(&with_end, 0x01);
    ck_assert(!only_row_read(&from, buf_bytes(&with_end), &out));
}
END_TEST

/* ---- layouts ---- */

static const struct column_spec counter[] = { { COLUMN_PARTITION, "pk", "int", false },
                                              { COLUMN_REGULAR, "n", "counter", false },
                                              { 0 } };
static const struct column_spec with_set[] = { { COLUMN_PARTITION, "pk", "int", false },
                                               { COLUMN_REGULAR, "s", "set<int>", false },
                                               { 0 } };

START_TEST(only_the_same_simple_columns_pack_alike)
{
    struct layout other;
    ck_assert(layout_packs_alike(&from, &to) && layout_packs_alike(&to, &from));
    other = to;
    other.regulars_count--;
    ck_assert(!layout_packs_alike(&from, &other));
    other.regulars = arena_array(&arena, struct layout_column, REGULARS);
    memcpy(other.regulars, to.regulars, sizeof *to.regulars * REGULARS);
    other.regulars_count = REGULARS;
    ck_assert(layout_packs_alike(&from, &other));
    other.regulars[2].dropped_at = 5; /* dropped and made again */
    ck_assert(!layout_packs_alike(&other, &to));
    other.regulars[2] = other.regulars[1];
    ck_assert(!layout_packs_alike(&from, &other));
    use(counter);
    ck_assert(!layout_packs_alike(&from, &to));
    use(with_set);
    ck_assert(!layout_packs_alike(&from, &to));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("packed rows");
    TCase *t = tcase_create("packed rows");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(
        t, a_row_that_was_inserted_whole_stays_packed_and_is_written_as_its_cells_are, 0, 50);
    tcase_add_loop_test(t, what_says_more_than_values_does_not, 0, array_count(spoilers));
    tcase_add_test(t, values_in_another_form_than_ours_do_not);
    tcase_add_test(t, a_row_that_is_cut_anywhere_is_read_as_ever);
    tcase_add_test(t, a_row_that_is_damaged_anywhere_is_read_as_ever);
    tcase_add_test(t, a_partition_of_one_row_is_read_and_written_whole);
    tcase_add_test(t, a_partition_that_is_cut_or_damaged_anywhere_is_none_or_read_as_ever);
    tcase_add_test(t, what_has_a_place_among_others_is_no_partition_of_one_row);
    tcase_add_test(t, only_the_same_simple_columns_pack_alike);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
