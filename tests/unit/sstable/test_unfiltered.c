/* test_unfiltered.c - rows, markers and heads as bytes: those printed in the facts, every form of a
 * column subset, the limits of times, flags that cannot be, and windows that end too early.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "table_of.h"

static struct arena arena;
static struct table *table;
static struct layout layout;
static struct row_space space;

static void setup(void)
{
    arena_init(&arena, 65536);
    space = (struct row_space){ .arena = &arena, .is_reused = true };
    space.key = buf_in(&arena);
}
static void teardown(void)
{
    table_unref(&table);
    arena_deinit(&arena);
}

static void use(enum sstable_version version, const struct column_spec *specs,
                struct header_base base)
{
    table_unref(&table);
    table = table_of(specs);
    layout_of_table(version, table, base, &arena, &layout);
}

static struct unfiltered decode(const char *hex)
{
    struct unfiltered u = { 0 };
    struct bytes window = hex_of(&arena, hex);
    size_t wanted = 0;
    ck_assert_int_eq(unfiltered_extent(&layout, window, &wanted), OK);
    ck_assert_uint_eq(wanted, window.size);
    ck_assert_int_eq(unfiltered_decode(&layout, window, &space, &u), OK);
    ck_assert_uint_eq(u.size_bytes, window.size);
    return u;
}

static void refuse(const char *hex)
{
    struct unfiltered u = { 0 };
    ck_assert_int_eq(unfiltered_decode(&layout, hex_of(&arena, hex), &space, &u), ERR_CORRUPT);
}

static void written_is(const struct unfiltered *u, uint64_t prev_bytes, const char *hex)
{
    struct buf out = buf_in(&arena);
    if (u->kind == UNFILTERED_MARKER)
        marker_write(&layout, &u->marker, prev_bytes, &out);
    else if (u->kind == UNFILTERED_STATIC)
        static_row_write(&layout, &u->row, &out);
    else
        row_write(&layout, &u->row, prev_bytes, &out);
    ck_assert_bytes(buf_bytes(&out), hex_of(&arena, hex));
}

static const struct column_spec simple[] = { { COLUMN_PARTITION, "pk", "text", false },
                                             { COLUMN_REGULAR, "val", "text", false },
                                             { 0 } };

START_TEST(a_simple_row_is_as_in_the_facts)
{
    const char *bytes = "24 0f 04 00 08 0b 66 6f 6f 20 62 61 72 20 62 61 7a";
    use(SSTABLE_OA, simple, (struct header_base){ .timestamp = 1689932014395000 });
    struct unfiltered u = decode(bytes);
    ck_assert_int_eq(u.kind, UNFILTERED_ROW);
    ck_assert_int_eq(u.row.liveness.timestamp, 1689932014395000);
    ck_assert_uint_eq(u.row.cells_count, 1);
    ck_assert_bytes(u.row.cells[0].value, bytes_text("foo bar baz"));
    ck_assert_bytes(u.row.key, hex_of(&arena, "38"));
    written_is(&u, 4, bytes);
}
END_TEST

static const struct column_spec three_ints[] = {
    { COLUMN_PARTITION, "pk", "int", false }, { COLUMN_CLUSTERING, "a", "int", false },
    { COLUMN_CLUSTERING, "b", "int", false }, { COLUMN_CLUSTERING, "c", "int", false },
    { COLUMN_REGULAR, "v", "int", false },    { 0 }
};

START_TEST(a_range_tombstone_is_as_in_the_facts)
{
    const char *begin = "02 01 00 00 04 12 9f 40 00";
    const char *end = "02 00 00 01 00 00 00 00 03 04 09 9f 40 00";
    const char *row = "24 00 00 00 00 04 00 00 00 04 00 00 00 04 07 0e 00 08 00 00 00 04";
    use(SSTABLE_NB, three_ints,
        (struct header_base){ .timestamp = 1541093605676000, .seconds = 1541093605 });
    struct unfiltered u = decode(begin);
    ck_assert_int_eq(u.kind, UNFILTERED_MARKER);
    ck_assert_bytes(u.marker.key, hex_of(&arena, "20"));
    ck_assert(deletion_is_none(u.marker.before));
    ck_assert_int_eq(u.marker.after.timestamp, 1541093605684000);
    ck_assert_uint_eq(u.marker.after.seconds, 1541093605);
    written_is(&u, 18, begin);
    u = decode(end);
    ck_assert(deletion_is_none(u.marker.after));
    ck_assert_bytes(u.marker.clustering, hex_of(&arena, "04 00 00 00 03"));
    ck_assert_bytes(u.marker.key, hex_of(&arena, "40 80 00 00 03 20"));
    written_is(&u, 9, end);
    u = decode(row);
    ck_assert_bytes(u.row.clustering, hex_of(&arena, "04 00000004 04 00000004 04 00000004"));
    written_is(&u, 14, row);
}
END_TEST

START_TEST(every_kind_of_bound_comes_back)
{
    static const struct {
        const char *hex;
        bool is_above, ends, begins;
    } bounds[] = {
        { "02 00 00 01 00 00 00 00 03 03 00 01 00", false, true, false },
        { "02 01 00 01 00 00 00 00 03 03 00 01 00", false, false, true },
        { "02 02 00 01 00 00 00 00 03 05 00 01 00 02 00", false, true, true },
        { "02 05 00 01 00 00 00 00 03 05 00 01 00 02 00", true, true, true },
        { "02 06 00 01 00 00 00 00 03 03 00 01 00", true, true, false },
        { "02 07 00 01 00 00 00 00 03 03 00 01 00", true, false, true },
    };
    use(SSTABLE_NB, three_ints, (struct header_base){ 0 });
    for (size_t i = 0; i < array_count(bounds); i++) {
        struct unfiltered u = decode(bounds[i].hex);
        ck_assert(comparable_bound_is_above(u.marker.key) == bounds[i].is_above);
        ck_assert(!deletion_is_none(u.marker.before) == bounds[i].ends);
        ck_assert(!deletion_is_none(u.marker.after) == bounds[i].begins);
        written_is(&u, 0, bounds[i].hex);
    }
    refuse("02 03 00 01 00 00 00 00 03 03 00 01 00");    /* the kind of a static row */
    refuse("02 04 00 01 00 00 00 00 03 03 00 01 00");    /* of a row */
    refuse("02 08 00 01 00 00 00 00 03 03 00 01 00");    /* of nothing */
    refuse("06 01 00 01 00 00 00 00 03 03 00 01 00");    /* a marker has no other flag */
    refuse("02 01 00 04 00 00 00 00 03 03 00 01 00");    /* more values than columns */
    refuse("02 01 00 01 00 00 00 00 03 04 00 01 00 00"); /* something behind it */
}
END_TEST

static const struct column_spec with_set[] = { { COLUMN_PARTITION, "pk", "text", false },
                                               { COLUMN_REGULAR, "b", "set<text>", false },
                                               { COLUMN_REGULAR, "a", "int", false },
                                               { 0 } };

/* Facts 2.9; a simple column stands before the set in the file and behind it in the row. */
START_TEST(cells_with_ttl_and_elements_are_as_in_the_facts)
{
    use(SSTABLE_OA, with_set,
        (struct header_base){ .timestamp = 1000, .seconds = 2148266896, .ttl = 630720000 });
    struct unfiltered u = decode("60 28 12 02 a7 11 00 00 00 00 00 01"
                                 "a7 10 ff ff ff ff ff da 67 fa 00 02"
                                 "06 a7 11 00 00 03 76 31 31 06 a7 11 00 00 03 76 31 32");
    ck_assert_int_eq(u.row.liveness.timestamp, TIMESTAMP_NONE);
    ck_assert_uint_eq(u.row.cells_count, 4);
    const struct cell *cell = u.row.cells;
    ck_assert_uint_eq(cell[0].column, 1);
    ck_assert_int_eq(cell[0].kind, CELL_COLUMN_DELETED);
    ck_assert_uint_eq(cell[0].seconds, 1517546896);
    ck_assert_bytes(cell[1].path, bytes_text("v11"));
    ck_assert_int_eq(cell[1].kind, CELL_EXPIRING);
    ck_assert_uint_eq(cell[1].value.size, 0);
    ck_assert_bytes(cell[2].path, bytes_text("v12"));
    ck_assert_uint_eq(cell[3].column, 2);
    ck_assert_uint_eq(cell[3].ttl, 630720000);
    ck_assert_int_eq(cell[3].timestamp, 1000 + 0x2711);
    written_is(&u, 18,
               "60 28 12 02 a7 11 00 00 00 00 00 01"
               "a7 10 ff ff ff ff ff da 67 fa 00 02"
               "06 a7 11 00 00 03 76 31 31 06 a7 11 00 00 03 76 31 32");
}
END_TEST

static const struct column_spec with_static[] = { { COLUMN_PARTITION, "pk", "int", false },
                                                  { COLUMN_CLUSTERING, "ck", "int", false },
                                                  { COLUMN_STATIC, "s", "int", false },
                                                  { COLUMN_REGULAR, "v", "int", false },
                                                  { 0 } };

START_TEST(an_empty_static_row_is_as_in_the_facts)
{
    struct buf out = buf_in(&arena);
    use(SSTABLE_OA, with_static, (struct header_base){ 0 });
    struct unfiltered u = decode("80 01 02 00 01");
    ck_assert_int_eq(u.kind, UNFILTERED_STATIC);
    ck_assert(row_is_static(&u.row) && !row_has_anything(&u.row));
    static_row_write(&layout, NULL, &out);
    ck_assert_bytes(buf_bytes(&out), hex_of(&arena, "80 01 02 00 01"));
    u = decode("a0 01 07 00 00 05 00 00 00 07"); /* a cell of s */
    refuse("a0 01 06 00 00 05 00 00 00 07");
}
END_TEST

/* ---- flags ---- */

START_TEST(flags_that_cannot_be_are_corrupt)
{
    use(SSTABLE_OA, simple, (struct header_base){ 0 });
    decode("24 05 00 00 08 01 61");
    refuse("2c 04 00 00 08 00");       /* a TTL that is 0 */
    refuse("28 06 00 00 00 08 01 61"); /* a TTL without a timestamp */
    refuse("20 04 00 08 01 61");       /* the row's timestamp, without one */
    refuse("24 05 00 00 1a 01 61");    /* the row's TTL, without one */
    refuse("24 06 00 00 0b 00 01 61"); /* deleted and expiring */
    refuse("24 05 00 00 28 01 61");    /* a flag that nobody knows */
    refuse("a4 04 05 00 00 08 01 61"); /* an extension that nobody knows */
    refuse("a4 01 05 00 00 08 01 61"); /* a static row where there are no static columns */
    refuse("24 05 00 00 08 02 61");    /* a value that is longer than the row */
    refuse("24 06 00 00 08 01 61 00"); /* a row that is longer than its cells */
    refuse("21");                      /* the end, and more */
    struct unfiltered u = { 0 };
    ck_assert_int_eq(unfiltered_decode(&layout, hex_of(&arena, "01"), &space, &u), OK);
    ck_assert_int_eq(u.kind, UNFILTERED_END);
}
END_TEST

START_TEST(a_shadowable_deletion_gives_way_to_a_newer_liveness)
{
    use(SSTABLE_OA, simple, (struct header_base){ 0 });
    struct unfiltered u = decode("b4 02 07 00 05 04 09 08 01 61");
    ck_assert(deletion_is_none(u.row.deletion));
    u = decode("b4 02 07 00 05 05 09 08 01 61");
    ck_assert_int_eq(u.row.deletion.timestamp, 5);
    ck_assert_uint_eq(u.row.deletion.seconds, 9);
}
END_TEST

START_TEST(a_tombstone_with_a_value_is_a_tombstone)
{
    use(SSTABLE_OA, simple, (struct header_base){ 0 });
    struct unfiltered u = decode("20 06 00 01 05 09 01 61");
    ck_assert_int_eq(u.row.cells[0].kind, CELL_DELETED);
    ck_assert_uint_eq(u.row.cells[0].value.size, 0);
}
END_TEST

/* ---- times ---- */

static struct cell expiring_cell(uint32_t ttl, uint32_t seconds)
{
    return (struct cell){ .timestamp = 7,
                          .column = 1,
                          .ttl = ttl,
                          .seconds = seconds,
                          .kind = CELL_EXPIRING,
                          .value = { (const uint8_t *)"x", 1 } };
}

static struct cell round_trip(struct cell cell)
{
    static const uint8_t key[] = { 0x38 };
    struct buf out = buf_in(&arena);
    struct row row = { .key = { key, 1 },
                       .liveness = { .timestamp = TIMESTAMP_NONE },
                       .deletion = deletion_none(),
                       .cells = &cell,
                       .cells_count = 1 };
    struct unfiltered u = { 0 };
    row_write(&layout, &row, 0, &out);
    ck_assert_int_eq(unfiltered_decode(&layout, buf_bytes(&out), &space, &u), OK);
    ck_assert_uint_eq(u.row.cells_count, 1);
    return u.row.cells[0];
}

START_TEST(times_end_in_2038_in_nb_and_in_2106_in_oa)
{
    static const int64_t bases[] = { 0, 1442880000, INT32_MAX, 4000000000 };
    for (size_t i = 0; i < array_count(bases); i++) {
        use(SSTABLE_NB, simple, (struct header_base){ .seconds = i < 3 ? bases[i] : 0 });
        ck_assert_uint_eq(round_trip(expiring_cell(5, INT32_MAX - 1)).seconds, INT32_MAX - 1);
        ck_assert_uint_eq(round_trip(expiring_cell(5, 3000000000)).seconds, INT32_MAX - 1);
        use(SSTABLE_OA, simple, (struct header_base){ .seconds = bases[i] });
        ck_assert_uint_eq(round_trip(expiring_cell(5, 5)).seconds, 5);
        ck_assert_uint_eq(round_trip(expiring_cell(5, INT32_MAX)).seconds, INT32_MAX);
        ck_assert_uint_eq(round_trip(expiring_cell(5, 4294967293)).seconds, 4294967293);
        ck_assert_uint_eq(round_trip(expiring_cell(5, UINT32_MAX)).seconds, 4294967293);
    }
}
END_TEST

START_TEST(times_that_cannot_be_are_marked_as_cassandra_marks_them)
{
    enum { INVALID = 0xfffffffe };
    use(SSTABLE_NB, simple, (struct header_base){ .seconds = 10 });
    /* -20 + 10 seconds: an expiry that ran over in 2038 */
    struct unfiltered u = decode("20 0f 00 02 00 ff ff ff ff ff ff ff ff ec 05 01 61");
    ck_assert_uint_eq(u.row.cells[0].seconds, INVALID);
    u = decode("20 07 00 02 00 00 7f 01 61"); /* expires at 10, after a life of 127 */
    ck_assert_uint_eq(u.row.cells[0].seconds, INVALID);
    /* A life of 2^31 - 1 seconds: expired when it was written, as views of Cassandra mark it. */
    u = decode("20 0b 00 02 00 00 f0 7f ff ff ff 01 61");
    ck_assert_uint_eq(u.row.cells[0].ttl, INT32_MAX);
    ck_assert_uint_eq(u.row.cells[0].seconds, 10);
    refuse("20 07 00 02 00 00 00 01 61"); /* a TTL of 0 */
    use(SSTABLE_OA, simple, (struct header_base){ .seconds = 10 });
    u = decode("20 0f 00 02 00 ff ff ff ff ff ff ff ff ec 05 01 61");
    ck_assert_uint_eq(u.row.cells[0].seconds, 4294967286);
    refuse("20 0b 00 02 00 f0 ff ff ff ff 05 01 61"); /* no 32 bits with a sign */
}
END_TEST

START_TEST(timestamps_wrap_around_the_base)
{
    static const int64_t times[] = { INT64_MIN + 1, -1, 0, 1, INT64_MAX };
    for (size_t i = 0; i < array_count(times); i++)
        for (size_t k = 0; k < array_count(times); k++) {
            use(SSTABLE_NB, simple, (struct header_base){ .timestamp = times[i] });
            struct cell cell = expiring_cell(5, 9);
            cell.timestamp = times[k];
            ck_assert_int_eq(round_trip(cell).timestamp, times[k]);
        }
}
END_TEST

START_TEST(full_deletions_have_two_forms)
{
    static const struct {
        enum sstable_version version;
        struct deletion deletion;
        const char *hex;
    } forms[] = {
        { SSTABLE_NB, { TIMESTAMP_NONE, 0 }, "7f ff ff ff 80 00 00 00 00 00 00 00" },
        { SSTABLE_NB, { 5, 9 }, "00 00 00 09 00 00 00 00 00 00 00 05" },
        { SSTABLE_NB, { -5, 9 }, "00 00 00 09 ff ff ff ff ff ff ff fb" },
        { SSTABLE_OA, { TIMESTAMP_NONE, 0 }, "80" },
        { SSTABLE_OA, { 5, 4000000000 }, "00 00 00 00 00 00 00 05 ee 6b 28 00" },
    };
    for (size_t i = 0; i < array_count(forms); i++) {
        struct buf out = buf_in(&arena);
        struct bytes want = hex_of(&arena, forms[i].hex);
        struct deletion got;
        full_deletion_encode(forms[i].version, forms[i].deletion, &out);
        ck_assert_bytes(buf_bytes(&out), want);
        struct cursor c = cursor_of(want);
        ck_assert(full_deletion_decode(forms[i].version, &c, &got));
        ck_assert_int_eq(got.timestamp, forms[i].deletion.timestamp);
        ck_assert_uint_eq(got.seconds, forms[i].deletion.seconds);
        for (size_t size = 0; size < want.size; size++) {
            c = cursor_of(bytes_of(want.data, size));
            ck_assert(!full_deletion_decode(forms[i].version, &c, &got));
        }
    }
    struct deletion got;
    struct cursor c = cursor_of(hex_of(&arena, "81 00 00 00 00 00 00 05 00 00 00 09"));
    ck_assert(!full_deletion_decode(SSTABLE_OA, &c, &got));
    struct buf out = buf_in(&arena);
    full_deletion_encode(SSTABLE_OA, (struct deletion){ -5, 9 }, &out);
    ck_assert_bytes(buf_bytes(&out), hex_of(&arena, "80")); /* it has no other form */
}
END_TEST

START_TEST(a_head_asks_for_what_it_needs)
{
    static const enum sstable_version versions[] = { SSTABLE_NB, SSTABLE_OA };
    struct bytes key = bytes_text("a key");
    for (size_t i = 0; i < array_count(versions); i++) {
        struct buf out = buf_in(&arena);
        partition_head_encode(versions[i], key, (struct deletion){ 5, 9 }, &out);
        struct partition_head head;
        size_t wanted;
        for (size_t size = 0; size < out.size; size++) {
            ck_assert_int_eq(
                partition_head_decode(versions[i], bytes_of(out.data, size), &head, &wanted),
                ERR_WOULD_WAIT);
            ck_assert(wanted > size && wanted <= out.size);
        }
        ck_assert_int_eq(partition_head_decode(versions[i], buf_bytes(&out), &head, &wanted), OK);
        ck_assert_bytes(head.key, key);
        ck_assert_uint_eq(head.size_bytes, out.size);
        ck_assert_int_eq(head.deletion.timestamp, 5);
    }
}
END_TEST

/* ---- windows ---- */

START_TEST(a_window_that_ends_early_asks_for_more)
{
    const char *hex = "24 00 00 00 00 04 00 00 00 04 00 00 00 04 07 0e 00 08 00 00 00 04";
    use(SSTABLE_NB, three_ints, (struct header_base){ 0 });
    struct bytes whole = hex_of(&arena, hex);
    for (size_t size = 0; size < whole.size; size++) {
        size_t wanted = 0;
        uint8_t *exact = mem_alloc(size);
        if (size)
            memcpy(exact, whole.data, size);
        struct unfiltered u = { 0 };
        ck_assert_int_eq(unfiltered_extent(&layout, bytes_of(exact, size), &wanted),
                         ERR_WOULD_WAIT);
        ck_assert_uint_gt(wanted, size);
        if (size >= 15) /* its own size has been seen */
            ck_assert_uint_eq(wanted, whole.size);
        ck_assert_int_eq(unfiltered_decode(&layout, bytes_of(exact, size), &space, &u),
                         ERR_CORRUPT);
        size_t extent = wanted;
        ck_assert_int_eq(unfiltered_read(&layout, bytes_of(exact, size), &space, &u, &wanted),
                         ERR_WOULD_WAIT);
        ck_assert_uint_eq(wanted, extent);
        mem_free(exact);
    }
}
END_TEST

START_TEST(sizes_that_lie_are_not_believed)
{
    size_t wanted;
    use(SSTABLE_NB, simple, (struct header_base){ 0 });
    struct bytes lie = hex_of(&arena, "24 ff ff ff ff ff ff ff ff ff 00");
    struct unfiltered u;
    ck_assert_int_eq(unfiltered_extent(&layout, lie, &wanted), ERR_CORRUPT);
    ck_assert_int_eq(unfiltered_read(&layout, lie, &space, &u, &wanted), ERR_CORRUPT);
    use(SSTABLE_NB, with_set, (struct header_base){ 0 });
    refuse("20 0c 00 04 00 f0 ff ff ff ff 06 00 01 61"); /* four thousand million elements */
}
END_TEST

/* ---- column subsets ---- */

static struct table *wide_table(size_t columns)
{
    struct table *wide = table_of(simple);
    wide->columns_count = 1;
    wide->numbers_used = 1;
    for (size_t i = 0; i < columns; i++)
        wide->columns[wide->columns_count++] =
            (struct column){ .name = arena_printf(&wide->arena, "c%03zu", i),
                             .type = type_native(TYPE_TINYINT),
                             .kind = COLUMN_REGULAR,
                             .number = wide->numbers_used++ };
    return wide;
}

/* A row of these columns: what stands before its cells, and that it comes back. */
static void subset_is(size_t columns, const uint32_t *present, size_t count, const char *hex)
{
    static const uint8_t key[] = { 0x38 };
    struct cell *cells = arena_array(&arena, struct cell, columns);
    struct buf out = buf_in(&arena);
    table_unref(&table);
    table = wide_table(columns);
    layout_of_table(SSTABLE_NB, table, (struct header_base){ 0 }, &arena, &layout);
    for (size_t i = 0; i < count; i++)
        cells[i] = (struct cell){ .column = 1 + present[i], .value = { key, 1 } };
    struct row row = { .key = { key, 1 },
                       .liveness = { .timestamp = TIMESTAMP_NONE },
                       .deletion = deletion_none(),
                       .cells = cells,
                       .cells_count = count };
    row_write(&layout, &row, 0, &out);
    struct bytes want = hex_of(&arena, hex);
    struct cursor c = cursor_of(buf_bytes(&out));
    ck_assert_uint_eq(cursor_u8(&c), count == columns ? 0x20 : 0);
    cursor_vint(&c), cursor_vint(&c);
    ck_assert_bytes(cursor_bytes(&c, want.size), want);
    struct unfiltered u = { 0 };
    ck_assert_int_eq(unfiltered_decode(&layout, buf_bytes(&out), &space, &u), OK);
    ck_assert_uint_eq(u.row.cells_count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(u.row.cells[i].column, 1 + present[i]);
}

START_TEST(subsets_are_bitmaps_below_64_columns_and_lists_from_there_on)
{
    uint32_t all[70], odd[70], even_less[70];
    for (uint32_t i = 0; i < 70; i++)
        all[i] = i, odd[i] = 2 * i + 1, even_less[i] = i < 3 ? 10 * i : 0;
    subset_is(3, all, 3, "00 00 01");         /* no subset: the first cell */
    subset_is(3, (uint32_t[]){ 1 }, 1, "05"); /* 0 and 2 are missing */
    subset_is(63, (uint32_t[]){ 62 }, 1, "ff 3f ff ff ff ff ff ff ff");
    subset_is(63, odd, 31, "ff 55 55 55 55 55 55 55 55");
    subset_is(64, even_less, 3, "3d 00 0a 14");        /* 61 missing: those that are there */
    subset_is(64, all, 62, "02 3e 3f");                /* 2 missing: those */
    subset_is(70, odd, 35, "23 00 02 04 06 08 0a 0c"); /* half of them: those that are missing */
    subset_is(70, odd, 34, "24 01 03 05 07 09 0b 0d"); /* less than half */
    subset_is(70, all, 70, "00 00 01");
}
END_TEST

START_TEST(subsets_that_cannot_be_are_corrupt)
{
    use(SSTABLE_NB, with_set, (struct header_base){ 0 });
    refuse("04 03 00 00 04"); /* a third column of two is missing */
    table_unref(&table);
    table = wide_table(64);
    layout_of_table(SSTABLE_NB, table, (struct header_base){ 0 }, &arena, &layout);
    refuse("04 04 00 00 80 41");    /* 65 of 64 are missing */
    refuse("04 05 00 00 02 05 05"); /* twice the same */
    refuse("04 05 00 00 02 05 40"); /* a place that is none */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("unfiltered");
    TCase *t = tcase_create("unfiltered");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_simple_row_is_as_in_the_facts);
    tcase_add_test(t, a_range_tombstone_is_as_in_the_facts);
    tcase_add_test(t, every_kind_of_bound_comes_back);
    tcase_add_test(t, cells_with_ttl_and_elements_are_as_in_the_facts);
    tcase_add_test(t, an_empty_static_row_is_as_in_the_facts);
    tcase_add_test(t, flags_that_cannot_be_are_corrupt);
    tcase_add_test(t, a_shadowable_deletion_gives_way_to_a_newer_liveness);
    tcase_add_test(t, a_tombstone_with_a_value_is_a_tombstone);
    tcase_add_test(t, times_end_in_2038_in_nb_and_in_2106_in_oa);
    tcase_add_test(t, times_that_cannot_be_are_marked_as_cassandra_marks_them);
    tcase_add_test(t, timestamps_wrap_around_the_base);
    tcase_add_test(t, full_deletions_have_two_forms);
    tcase_add_test(t, a_head_asks_for_what_it_needs);
    tcase_add_test(t, a_window_that_ends_early_asks_for_more);
    tcase_add_test(t, sizes_that_lie_are_not_believed);
    tcase_add_test(t, subsets_are_bitmaps_below_64_columns_and_lists_from_there_on);
    tcase_add_test(t, subsets_that_cannot_be_are_corrupt);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
