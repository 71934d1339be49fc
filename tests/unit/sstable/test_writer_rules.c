/* test_writer_rules.c - what the writer does not take, and what it tells of counters. */
// SPDX-License-Identifier: Apache-2.0
#include "table_of.h"

#include <signal.h>

/* ---- counters ---- */

/* Is it told that a file with this context has shares of before Cassandra 2.1? */
static bool is_legacy(const char *context)
{
    static const uint8_t only_key[] = { 0x38 };
    static const struct column_spec counters[] = { { COLUMN_PARTITION, "pk", "text", false },
                                                   { COLUMN_REGULAR, "c", "counter", false },
                                                   { 0 } };
    struct arena arena = { 0 };
    struct buf out[COMPONENT_COUNT] = { 0 };
    struct table *table = table_of(counters);
    struct cell cell = { .timestamp = 1, .column = 1, .value = hex_of(&arena, context) };
    struct row row = { .key = { only_key, 1 },
                       .liveness = { .timestamp = TIMESTAMP_NONE },
                       .deletion = deletion_none(),
                       .cells = &cell,
                       .cells_count = 1 };
    struct sstable_writer_options options = { .version = SSTABLE_OA, .table = table };
    struct sstable_writer *writer = sstable_writer_new(&options);
    sstable_writer_partition(writer, bytes_text("k"), 1, deletion_none());
    sstable_writer_row(writer, &row);
    sstable_writer_partition_end(writer);
    ck_assert_int_eq(sstable_writer_finish(writer, out), OK);
    bool is = sstable_writer_statistics(writer)->has_legacy_counters;
    sstable_writer_free(&writer);
    for (size_t i = 0; i < COMPONENT_COUNT; i++)
        buf_deinit(&out[i]);
    table_unref(&table);
    arena_deinit(&arena);
    return is;
}

START_TEST(shares_of_counters_that_are_not_global_are_told)
{
#define SHARE "000102030405060708090a0b0c0d0e0f 0000000000000001 0000000000000005"
    ck_assert(!is_legacy("0001 8000" SHARE));
    ck_assert(is_legacy("0001 0000" SHARE));       /* local */
    ck_assert(is_legacy("0000" SHARE));            /* remote */
    ck_assert(is_legacy("0001 8000" SHARE SHARE)); /* global, remote */
    ck_assert(!is_legacy("0002 8000 8001" SHARE SHARE));
    ck_assert(is_legacy("0002 8000 0001" SHARE SHARE)); /* global, local */
    ck_assert(is_legacy("ffff 0000" SHARE));            /* local, to be cleared */
    ck_assert(!is_legacy("00"));                        /* no context at all */
}
END_TEST

/* ---- what must not be written ---- */

struct fed { /* a writer in its first partition, of a table with one int clustering column */
    struct arena arena;
    struct table *table;
    struct sstable_writer *writer;
};

static void fed_open(struct fed *f)
{
    static const struct column_spec specs[] = { { COLUMN_PARTITION, "pk", "text", false },
                                                { COLUMN_CLUSTERING, "ck", "int", false },
                                                { COLUMN_REGULAR, "v", "int", false },
                                                { 0 } };
    *f = (struct fed){ .table = table_of(specs) };
    struct sstable_writer_options options = {
        .version = SSTABLE_OA, .table = f->table, .base = header_base_none(), .keys = 1
    };
    f->writer = sstable_writer_new(&options);
    sstable_writer_partition(f->writer, bytes_text("b"), 7, deletion_none());
}

static void fed_close(struct fed *f)
{
    sstable_writer_free(&f->writer);
    table_unref(&f->table);
    arena_deinit(&f->arena);
}

static struct row row_of(struct fed *f, int32_t ck, struct cell *cells, size_t count)
{
    uint8_t *value = arena_alloc(&f->arena, 4);
    put_be32(value, (uint32_t)ck);
    struct bytes values[] = { { value, 4 } };
    struct buf key = buf_in(&f->arena), raw = buf_in(&f->arena);
    comparable_key(f->table, values, &key);
    clustering_put(&raw, values[0]);
    return (struct row){ .key = buf_bytes(&key),
                         .clustering = buf_bytes(&raw),
                         .liveness = { .timestamp = TIMESTAMP_NONE },
                         .deletion = deletion_none(),
                         .cells = cells,
                         .cells_count = count };
}

static void fed_row(struct fed *f, int32_t ck)
{
    struct row row = row_of(f, ck, NULL, 0);
    row.liveness.timestamp = 1;
    sstable_writer_row(f->writer, &row);
}

static void fed_marker(struct fed *f, struct deletion before, struct deletion after)
{
    struct buf key = buf_in(&f->arena);
    comparable_above(f->table, NULL, 0, &key);
    struct marker marker = { .key = buf_bytes(&key), .before = before, .after = after };
    sstable_writer_marker(f->writer, &marker);
}

START_TEST(rows_must_ascend)
{
    struct fed f;
    fed_open(&f);
    fed_row(&f, 2);
    fed_row(&f, 1);
}
END_TEST

START_TEST(partitions_must_ascend)
{
    struct fed f;
    fed_open(&f);
    fed_row(&f, 2);
    sstable_writer_partition_end(f.writer);
    sstable_writer_partition(f.writer, bytes_text("a"), 7, deletion_none());
}
END_TEST

START_TEST(a_range_must_be_closed)
{
    struct fed f;
    fed_open(&f);
    fed_marker(&f, deletion_none(), (struct deletion){ 5, 5 });
    sstable_writer_partition_end(f.writer);
}
END_TEST

START_TEST(a_bound_closes_what_is_open)
{
    struct fed f;
    fed_open(&f);
    fed_marker(&f, (struct deletion){ 5, 5 }, deletion_none());
}
END_TEST

/* ---- what was dropped since ---- */

START_TEST(cells_of_dropped_columns_are_not_written)
{
    struct fed f;
    struct buf out[COMPONENT_COUNT] = { 0 };
    struct bytes four = bytes_of("four", 4);
    struct cell cells[] = { { .timestamp = 1, .column = 2, .value = four },
                            { .timestamp = 2, .column = 3, .value = four },
                            { .timestamp = 3, .column = 1000, .value = four } };
    fed_open(&f); /* of its columns 0, 1 and 2 the last one takes cells */
    struct row all = row_of(&f, 1, cells, 3), none = row_of(&f, 2, cells + 1, 2);
    sstable_writer_row(f.writer, &all);
    sstable_writer_row(f.writer, &none);
    sstable_writer_partition_end(f.writer);
    uint64_t bytes = sstable_writer_plain_bytes(f.writer);
    sstable_writer_partition(f.writer, bytes_text("c"), 7, deletion_none());
    sstable_writer_row(f.writer, &none);
    sstable_writer_partition_end(f.writer);
    sstable_writer_partition(f.writer, bytes_text("d"), 7, deletion_none());
    sstable_writer_partition_end(f.writer);
    ck_assert_uint_eq(sstable_writer_plain_bytes(f.writer), bytes);
    ck_assert_uint_eq(sstable_writer_partitions(f.writer), 1);
    ck_assert_int_eq(sstable_writer_finish(f.writer, out), OK);
    const struct statistics *s = sstable_writer_statistics(f.writer);
    ck_assert_uint_eq(s->rows, 1);
    ck_assert_uint_eq(s->columns_set, 1);
    ck_assert_int_eq(s->timestamp_max, 1);
    for (size_t i = 0; i < COMPONENT_COUNT; i++)
        buf_deinit(&out[i]);
    fed_close(&f);
}
END_TEST

START_TEST(nothing_written_is_no_file)
{
    static const struct column_spec specs[] = { { COLUMN_PARTITION, "pk", "text", false }, { 0 } };
    struct fed f;
    struct buf out[COMPONENT_COUNT] = { 0 };
    fed_open(&f);
    fed_row(&f, 1);
    sstable_writer_partition_end(f.writer);
    ck_assert_int_eq(sstable_writer_finish(f.writer, out), OK);
    ck_assert_uint_gt(out[COMPONENT_STATISTICS].size, 0);
    for (size_t i = 0; i < COMPONENT_COUNT; i++)
        buf_deinit(&out[i]);
    fed_close(&f);
    struct table *table = table_of(specs);
    struct sstable_writer_options options = { .version = SSTABLE_NB, .table = table };
    struct sstable_writer *writer = sstable_writer_new(&options);
    ck_assert_int_eq(sstable_writer_finish(writer, out), ERR_NOT_FOUND);
    sstable_writer_free(&writer);
    sstable_writer_free(&writer);
    table_unref(&table);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("writer_rules");
    TCase *t = tcase_create("writer_rules");
    tcase_add_test(t, shares_of_counters_that_are_not_global_are_told);
    tcase_add_test(t, cells_of_dropped_columns_are_not_written);
    tcase_add_test(t, nothing_written_is_no_file);
    tcase_add_test_raise_signal(t, rows_must_ascend, SIGABRT);
    tcase_add_test_raise_signal(t, partitions_must_ascend, SIGABRT);
    tcase_add_test_raise_signal(t, a_range_must_be_closed, SIGABRT);
    tcase_add_test_raise_signal(t, a_bound_closes_what_is_open, SIGABRT);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
