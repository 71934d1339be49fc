/* test_layout.c - whose columns those of a file are: order, types that fit, dropped columns, and
 * what is refused by name.
 */
// SPDX-License-Identifier: Apache-2.0
#include "table_of.h"

static struct arena arena;
static struct table *table;
static struct layout layout;
static struct report report;

static void setup(void) { arena_init(&arena, 65536); }
static void teardown(void)
{
    table_unref(&table);
    arena_deinit(&arena);
}

static const struct column_spec specs[] = {
    { COLUMN_PARTITION, "pk", "int", false },       { COLUMN_CLUSTERING, "ck", "text", true },
    { COLUMN_STATIC, "s", "map<int, int>", false }, { COLUMN_REGULAR, "z", "int", false },
    { COLUMN_REGULAR, "m", "list<int>", false },    { COLUMN_REGULAR, "a", "text", false },
    { COLUMN_REGULAR, "\xc3\xa9", "int", false },   { COLUMN_REGULAR, "abcdefZ", "int", false },
    { COLUMN_REGULAR, "abcdef", "int", false },     { 0 }
};

/* The header of the table's own layout: what a file of today would have. */
static struct serialization_header header_of_table(void)
{
    struct serialization_header header;
    layout_of_table(SSTABLE_OA, table, header_base_none(), &arena, &layout);
    layout_header(&layout, &arena, &header);
    return header;
}

static enum err read_with(const struct serialization_header *header)
{
    report_clear(&report);
    return layout_of_header(SSTABLE_OA, header, table, &arena, &layout, &report);
}

static const struct layout_column *regular(const char *name)
{
    for (size_t i = 0; i < layout.regulars_count; i++)
        if (strcmp(layout.regulars[i].name, name) == 0)
            return &layout.regulars[i];
    ck_abort_msg("no column %s", name);
    return NULL;
}

START_TEST(simple_columns_come_first_then_names_as_cassandra_compares_them)
{
    static const char *const order[] = { "\xc3\xa9", "a", "abcdef", "abcdefZ", "z", "m" };
    table = table_of(specs);
    struct serialization_header header = header_of_table();
    ck_assert_uint_eq(header.regulars_count, array_count(order));
    for (size_t i = 0; i < array_count(order); i++)
        ck_assert_str_eq(header.regulars[i].name, order[i]);
    ck_assert(header.is_reversed[0]);
    ck_assert_str_eq(header.statics[0].name, "s");
    /* The other way round in the file: the cells' order is the same. */
    struct header_column turned[array_count(order)];
    for (size_t i = 0; i < array_count(order); i++)
        turned[i] = header.regulars[array_count(order) - 1 - i];
    header.regulars = turned;
    ck_assert_int_eq(read_with(&header), OK);
    for (size_t i = 0; i < array_count(order); i++)
        ck_assert_str_eq(layout.regulars[i].name, order[i]);
}
END_TEST

START_TEST(ranks_are_the_order_of_numbers_and_places_lead_back)
{
    table = table_of(specs);
    header_of_table();
    ck_assert(layout.statics_are_ranked && !layout.regulars_are_ranked);
    for (size_t i = 0; i < layout.regulars_count; i++) {
        const struct layout_column *column = &layout.regulars[i];
        size_t before = 0;
        for (size_t k = 0; k < layout.regulars_count; k++)
            before += layout.regulars[k].number < column->number;
        ck_assert_uint_eq(column->rank, before);
        ck_assert_uint_eq(layout.places[column->number], i);
    }
    ck_assert_uint_eq(layout.places[0], LAYOUT_NOWHERE);
    ck_assert_uint_eq(regular("z")->fixed_bytes, 4);
    ck_assert_uint_eq(regular("a")->fixed_bytes, 0);
    ck_assert(regular("m")->is_multicell && !regular("z")->is_multicell);
}
END_TEST

START_TEST(types_whose_bytes_are_values_of_the_tables_type_fit)
{
    static const struct {
        const char *table, *file;
        bool fits;
    } pairs[] = {
        { "text", "ascii", true },
        { "ascii", "text", false },
        { "blob", "int", true },
        { "varint", "bigint", true },
        { "bigint", "int", false },
        { "bigint", "timestamp", true },
        { "uuid", "timeuuid", true },
        { "list<text>", "list<ascii>", true },
        { "list<text>", "frozen<list<text>>", false },
        { "frozen<map<text, blob>>", "frozen<map<ascii, int>>", true },
        { "tuple<int, text>", "tuple<int, text>", true },
        { "tuple<int, text>", "tuple<int>", false },
        { "set<int>", "list<int>", false },
        { "counter", "bigint", false },
    };
    for (size_t i = 0; i < array_count(pairs); i++) {
        const struct column_spec one[] = { { COLUMN_PARTITION, "pk", "int", false },
                                           { COLUMN_REGULAR, "v", pairs[i].table, false },
                                           { 0 } };
        table_unref(&table);
        table = table_of(one);
        struct serialization_header header = header_of_table();
        header.regulars[0].type = type_of(&arena, pairs[i].file);
        ck_assert_msg(read_with(&header) == (pairs[i].fits ? OK : ERR_CONFIG), "%s of %s",
                      pairs[i].table, pairs[i].file);
        ck_assert(pairs[i].fits || strstr(report.text, "column v"));
    }
}
END_TEST

START_TEST(keys_must_be_the_same)
{
    table = table_of(specs);
    struct serialization_header header = header_of_table(), other = header;
    bool forward = false;
    const struct type *ascii = type_of(&arena, "ascii"), *text = type_of(&arena, "text");
    other.is_reversed = &forward;
    ck_assert_int_eq(read_with(&other), ERR_CONFIG);
    ck_assert(strstr(report.text, "ck"));
    other = header;
    other.clustering = &ascii; /* the bytes would fit; the order is not to be relied on */
    ck_assert_int_eq(read_with(&other), ERR_CONFIG);
    other = header;
    other.key = &text;
    ck_assert_int_eq(read_with(&other), ERR_CONFIG);
    other = header;
    other.clustering_count = 0;
    ck_assert_int_eq(read_with(&other), ERR_CONFIG);
    ck_assert_int_eq(read_with(&header), OK);
}
END_TEST

START_TEST(columns_that_the_table_does_not_have_are_refused_by_name)
{
    table = table_of(specs);
    struct serialization_header header = header_of_table();
    header.regulars[1].name = "stranger";
    ck_assert_int_eq(read_with(&header), ERR_CONFIG);
    ck_assert(strstr(report.text, "stranger"));
    header.regulars[1].name = header.regulars[0].name;
    header.regulars[1].type = header.regulars[0].type;
    ck_assert_int_eq(read_with(&header), ERR_CORRUPT); /* twice */
    header.regulars[1].name = "s";                     /* static in the table */
    ck_assert_int_eq(read_with(&header), ERR_CONFIG);
}
END_TEST

/* ---- dropped columns ---- */

static const struct column_spec today[] = { { COLUMN_PARTITION, "pk", "int", false },
                                            { COLUMN_REGULAR, "again", "int", false },
                                            { COLUMN_REGULAR, "kept", "int", false },
                                            { COLUMN_REGULAR, "m", "list<int>", false },
                                            { 0 } };

/* A row of `again`, `gone`, `kept` and an m with a deletion, all at these times. */
static struct unfiltered old_row(int64_t again, int64_t gone, int64_t m)
{
    static const uint8_t four[4] = { 0, 0, 0, 1 }, only_key[] = { 0x38 };
    static const struct column_spec old[] = {
        { COLUMN_PARTITION, "pk", "int", false },      { COLUMN_REGULAR, "again", "int", false },
        { COLUMN_REGULAR, "gone", "set<int>", false }, { COLUMN_REGULAR, "kept", "int", false },
        { COLUMN_REGULAR, "m", "list<int>", false },   { 0 }
    };
    struct table *before = table_of(old);
    struct layout written;
    struct cell cells[] = {
        { .timestamp = again, .column = 1, .value = { four, 4 } },
        { .timestamp = gone, .column = 2, .path = { four, 4 } },
        { .timestamp = 1, .column = 3, .value = { four, 4 } },
        { .timestamp = m, .column = 4, .kind = CELL_COLUMN_DELETED },
    };
    struct row row = { .key = { only_key, 1 },
                       .liveness = { .timestamp = TIMESTAMP_NONE },
                       .deletion = deletion_none(),
                       .cells = cells,
                       .cells_count = array_count(cells) };
    struct buf out = buf_in(&arena);
    struct serialization_header *header = arena_new(&arena, struct serialization_header);
    layout_of_table(SSTABLE_NB, before, header_base_none(), &before->arena, &written);
    layout_header(&written, &before->arena, header);
    row_write(&written, &row, 0, &out);
    ck_assert_int_eq(read_with(header), OK);
    struct unfiltered u = { 0 };
    struct row_space *space = arena_new(&arena, struct row_space);
    *space = (struct row_space){ .arena = &arena };
    layout.version = SSTABLE_NB;
    ck_assert_int_eq(unfiltered_decode(&layout, buf_bytes(&out), space, &u), OK);
    table_unref(&before);
    return u;
}

START_TEST(cells_of_dropped_columns_are_read_over)
{
    table = table_of(today);
    table->dropped = arena_array(&table->arena, struct dropped_column, 3);
    table->dropped[0] = dropped_of(table, "again", "int", 100);
    table->dropped[1] = dropped_of(table, "gone", "set<int>", 100);
    table->dropped[2] = dropped_of(table, "m", "list<int>", 100);
    table->dropped_count = 3;
    struct unfiltered u = old_row(100, 500, 100); /* everything from before */
    ck_assert_uint_eq(u.row.cells_count, 1);
    ck_assert_uint_eq(u.row.cells[0].column, 2); /* kept */
    u = old_row(101, 500, 101);                  /* what was made again later stays */
    ck_assert_uint_eq(u.row.cells_count, 3);
    ck_assert_uint_eq(u.row.cells[0].column, 1);
    ck_assert_uint_eq(u.row.cells[1].column, 2);
    ck_assert_uint_eq(u.row.cells[2].column, 3);
    ck_assert_int_eq(u.row.cells[2].kind, CELL_COLUMN_DELETED);
    ck_assert(regular("gone")->is_dropped && !regular("again")->is_dropped);
}
END_TEST

START_TEST(a_column_made_again_with_another_type_has_no_cells_of_the_old_one)
{
    static const struct column_spec other[] = { { COLUMN_PARTITION, "pk", "int", false },
                                                { COLUMN_REGULAR, "v", "text", false },
                                                { 0 } };
    table = table_of(other);
    struct serialization_header header = header_of_table();
    table->dropped = arena_array(&table->arena, struct dropped_column, 1);
    table->dropped[0] = dropped_of(table, "v", "int", 100);
    table->dropped_count = 1;
    ck_assert_int_eq(read_with(&header), OK);
    ck_assert(!regular("v")->is_dropped);
    ck_assert_int_eq(regular("v")->dropped_at, 100);
    header.regulars[0].type = type_of(&arena, "int");
    ck_assert_int_eq(read_with(&header), OK);
    ck_assert(regular("v")->is_dropped);
    header.regulars[0].type = type_of(&arena, "list<int>");
    ck_assert_int_eq(read_with(&header), ERR_CONFIG);
}
END_TEST

/* ---- tables of offline tools ---- */

START_TEST(a_table_comes_out_of_a_header_alone)
{
    static const struct column_spec wide[] = {
        { COLUMN_PARTITION, "p", "int", false }, { COLUMN_PARTITION, "q", "text", false },
        { COLUMN_CLUSTERING, "x", "int", true }, { COLUMN_CLUSTERING, "y", "text", false },
        { COLUMN_STATIC, "s", "int", false },    { COLUMN_REGULAR, "v", "set<int>", false },
        { COLUMN_REGULAR, "a", "int", false },   { 0 }
    };
    static const char *const names[] = {
        "key", "key2", "clustering", "clustering1", "s", "a", "v"
    };
    table = table_of(wide);
    struct serialization_header header = header_of_table();
    struct table *original = table; /* the types are its */
    table = layout_table(&header, "some", "thing");
    ck_assert_uint_eq(table->columns_count, array_count(names));
    for (size_t i = 0; i < array_count(names); i++)
        ck_assert_str_eq(table->columns[i].name, names[i]);
    ck_assert(table->columns[2].is_reversed && !table->columns[3].is_reversed);
    ck_assert_ptr_nonnull(table->params);
    ck_assert_int_eq(read_with(&header), OK);
    table_unref(&original);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("layout");
    TCase *t = tcase_create("layout");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, simple_columns_come_first_then_names_as_cassandra_compares_them);
    tcase_add_test(t, ranks_are_the_order_of_numbers_and_places_lead_back);
    tcase_add_test(t, types_whose_bytes_are_values_of_the_tables_type_fit);
    tcase_add_test(t, keys_must_be_the_same);
    tcase_add_test(t, columns_that_the_table_does_not_have_are_refused_by_name);
    tcase_add_test(t, cells_of_dropped_columns_are_read_over);
    tcase_add_test(t, a_column_made_again_with_another_type_has_no_cells_of_the_old_one);
    tcase_add_test(t, a_table_comes_out_of_a_header_alone);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
