/* test_stand.c - the stand's documents: the file that is shipped, files that are wrong, and rows
 * that follow from their numbers alone. */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/map.h"
#include "command/schema.h"
#include "command/stand.h"

#include <check.h>
#include <stdlib.h>

static struct arena arena;
static struct report report;
static struct stand stand;
static struct catalog catalog;
static struct stand_writer writer;

static enum err stand_of(const char *text)
{
    struct config_tree tree;
    arena_reset(&arena);
    report_clear(&report);
    enum err err = config_tree_read(&tree, &arena, "s.yaml", bytes_text(text), &report);
    return err == OK ? stand_read(&stand, &arena, &tree, tree.root) : err;
}

static char *file_text(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

/* The shipped table in its own catalog. */
static void stand_begin(enum stand_partition partition)
{
    struct buf create = { 0 };
    ck_assert_msg(stand_of(file_text(SOURCE_DIR "/config/stand.yaml")) == OK, "%s", report.text);
    if (catalog.epoch)
        catalog_deinit(&catalog);
    catalog_init(&catalog);
    ck_assert_int_eq(schema_apply(&catalog,
                                  bytes_text("CREATE KEYSPACE stand WITH replication = {'class': "
                                             "'SimpleStrategy', 'replication_factor': 1}"),
                                  &report),
                     OK);
    stand_create(&stand, partition, &create);
    ck_assert_msg(schema_apply(&catalog, buf_bytes(&create), &report) == OK, "%s", report.text);
    buf_deinit(&create);
    stand_writer_init(&writer, &stand, partition,
                      catalog_table(&catalog, stand.keyspace, stand.table));
}

static struct mutation decoded(uint64_t row, uint64_t version)
{
    struct buf out = buf_in(&arena);
    struct mutation m;
    stand_put(&writer, row, version, 1000 + (int64_t)version, &out);
    ck_assert_int_eq(mutation_decode(buf_bytes(&out), writer.table, &arena, &m), OK);
    ck_assert_uint_eq(m.rows_count, 1);
    return m;
}

static struct bytes value_of(const struct mutation *m, const char *name)
{
    const struct column *c = table_column(writer.table, bytes_text(name));
    const struct cell *cell = row_cell(&m->rows[0], c->number);
    return cell ? cell->value : (struct bytes){ 0 };
}

START_TEST(the_shipped_table_has_thirty_columns)
{
    stand_begin(STAND_PER_REGISTER);
    ck_assert_uint_eq(stand.columns_count, 30);
    ck_assert_uint_eq(stand.documents_per_register, 1000);
    ck_assert_uint_eq(writer.count, 28);
    ck_assert_uint_eq(writer.table->partition_count, 1);
    ck_assert_uint_eq(writer.table->clustering_count, 1);
    stand_begin(STAND_PER_DOCUMENT);
    ck_assert_uint_eq(writer.table->partition_count, 2);
    ck_assert_uint_eq(writer.table->clustering_count, 0);
}
END_TEST

START_TEST(a_row_is_a_whole_insert_of_its_register_and_document)
{
    stand_begin(STAND_PER_REGISTER);
    struct mutation m = decoded(1234567, 0);
    ck_assert_uint_eq(m.key.size, 4);
    ck_assert_uint_eq(get_be32(m.key.data), 1234);
    ck_assert_uint_eq(get_be64(row_clustering(&m.rows[0], 0).data), 1234567);
    ck_assert_uint_eq(m.rows[0].cells_count, 28);
    ck_assert_int_eq(m.rows[0].liveness.timestamp, 1000);
    stand_begin(STAND_PER_DOCUMENT);
    m = decoded(1234567, 0);
    ck_assert_uint_eq(get_be32(key_component(writer.table, m.key, 0).data), 1234);
    ck_assert_uint_eq(get_be64(key_component(writer.table, m.key, 1).data), 1234567);
    ck_assert_int_eq(key_validate(writer.table, m.key), OK);
}
END_TEST

START_TEST(an_update_writes_the_chosen_columns_alone)
{
    stand_begin(STAND_PER_REGISTER);
    const struct stand_column *chosen[] = { stand_column(&stand, "amount"),
                                            stand_column(&stand, "status") };
    stand_choose(&writer, chosen, 2);
    unsigned changed = 0;
    for (uint64_t row = 0; row < 100; row++) {
        struct mutation whole = decoded(row, 0), update = decoded(row, 1), again = decoded(row, 2);
        ck_assert_uint_eq(update.rows[0].cells_count, 2);
        ck_assert_int_eq(update.rows[0].liveness.timestamp, TIMESTAMP_NONE);
        ck_assert(bytes_equal(update.key, whole.key));
        changed += !bytes_equal(value_of(&update, "amount"), value_of(&whole, "amount"));
        changed += !bytes_equal(value_of(&update, "amount"), value_of(&again, "amount"));
    }
    ck_assert_uint_ge(changed, 198); /* of 100,000 values two are the same now and then */
}
END_TEST

START_TEST(values_are_constant_per_register_and_as_many_as_the_file_says)
{
    bool seen[400] = { false }, seen_kind[8] = { false };
    unsigned shifts = 0, kinds = 0;
    stand_begin(STAND_PER_REGISTER);
    struct mutation first = decoded(5000, 0), other = decoded(6000, 0);
    struct bytes serial = arena_copy(&arena, value_of(&first, "serial"));
    ck_assert(!bytes_equal(serial, value_of(&other, "serial")));
    for (uint64_t row = 5000; row < 15000; row++) {
        struct mutation m = decoded(row, 0);
        if (row < 6000)
            ck_assert(bytes_equal(value_of(&m, "serial"), serial));
        uint32_t shift = get_be32(value_of(&m, "shift").data);
        uint8_t status = value_of(&m, "status").data[0];
        ck_assert_uint_lt(shift, 400);
        ck_assert_uint_lt(status, 6);
        shifts += !seen[shift], kinds += !seen_kind[status];
        seen[shift] = seen_kind[status] = true;
    }
    ck_assert_uint_eq(shifts, 400);
    ck_assert_uint_eq(kinds, 6);
}
END_TEST

/* One digest of a thousand rows in both forms and their text: a change of a single byte, on any
 * machine, is seen. */
START_TEST(the_same_numbers_make_the_same_bytes_for_ever)
{
    struct buf all = { 0 };
    uint64_t hash[2];
    stand_begin(STAND_PER_REGISTER);
    const struct stand_column *chosen[] = { stand_column(&stand, "status") };
    stand_choose(&writer, chosen, 1);
    for (uint64_t i = 0; i < 1000; i++) {
        stand_put(&writer, i * 7919, i % 3, (int64_t)i, &all);
        stand_csv(&stand, i * 7919, &all);
    }
    murmur3_cassandra(buf_bytes(&all), hash);
    ck_assert_msg(hash[0] == UINT64_C(0x4f1c1260193532e6), "%016llx", (unsigned long long)hash[0]);
    buf_deinit(&all);
}
END_TEST

START_TEST(text_says_what_the_mutation_says)
{
    struct buf names = { 0 }, line = { 0 };
    stand_begin(STAND_PER_REGISTER);
    stand_csv_names(&stand, &names);
    stand_csv(&stand, 2345, &line);
    buf_put_u8(&names, 0), buf_put_u8(&line, 0);
    ck_assert(strncmp((char *)names.data, "register_id,doc_id,status,", 26) == 0);
    struct mutation m = decoded(2345, 0);
    struct buf want = { 0 };
    uint64_t bits = get_be64(value_of(&m, "amount").data);
    double amount;
    memcpy(&amount, &bits, sizeof amount);
    buf_printf(&want, "2,2345,%u,%u,%.2f,", value_of(&m, "status").data[0],
               value_of(&m, "payment_type").data[0], amount);
    ck_assert_msg(strncmp((char *)line.data, (char *)want.data, want.size) == 0, "%s", line.data);
    ck_assert_ptr_nonnull(strstr((char *)line.data, "\r\n"));
    buf_deinit(&names), buf_deinit(&line), buf_deinit(&want);
}
END_TEST

START_TEST(a_probe_asks_for_exactly_its_row)
{
    for (int form = 0; form < 2; form++) {
        stand_begin((enum stand_partition)form);
        for (uint64_t row = 0; row < 3000; row += 7) {
            struct stand_probe probe = { 0 };
            struct read read;
            stand_probe(&writer, row, &probe, &read);
            struct mutation m = decoded(row, 0), next = decoded(row + 1, 0);
            ck_assert(bytes_equal(read.key, m.key));
            ck_assert_int_eq(read.token, key_token(m.key));
            if (!read.slices_count)
                continue;
            ck_assert(bytes_compare(read.slices->low, m.rows[0].key) < 0);
            ck_assert(bytes_compare(m.rows[0].key, read.slices->high) < 0);
            ck_assert(bytes_compare(read.slices->high, next.rows[0].key) < 0);
        }
    }
}
END_TEST

#define HEAD "keyspace: k\ntable: t\nseed: 1\ndocuments_per_register: 10\ncolumns:\n"
#define KEYS "  - {name: r, type: int, is: register}\n  - {name: d, type: bigint, is: document}\n"
static const struct {
    const char *text, *report;
} wrong[] = {
    { "keyspace: k", "s.yaml:1:1: the file: has no table" },
    { "keyspace: k\nrows: 5", "s.yaml:2:1: rows: is not known here; allowed: keyspace, table, se" },
    { "keyspace: K\ntable: t\nseed: 1\ndocuments_per_register: 10\ncolumns: []",
      "s.yaml:1:11: keyspace: 'K' is no name of small letters" },
    { HEAD "  - {name: r}", "s.yaml:6:5: columns: has no type" },
    { HEAD "  - {name: r, type: blob}", "s.yaml:6:21: type: 'blob' is not known; allowed: tinyi" },
    { HEAD "  - {name: r, type: text, is: register}", "s.yaml:6:31: is: a register is an int or" },
    { HEAD "  - {name: r, type: int, is: key}", "s.yaml:6:30: is: 'key' is not known; allowed: " },
    { HEAD "  - {name: r, type: int}", "s.yaml:6:5: columns: has no cardinality" },
    { HEAD "  - {name: r, type: int, is: register, cardinality: 4}",
      "s.yaml:6:53: cardinality: is not for a register or a document" },
    { HEAD KEYS "  - {name: d, type: int, cardinality: 4}",
      "s.yaml:8:12: name: 'd' is the name of two columns" },
    { HEAD KEYS "  - {name: v, type: tinyint, cardinality: 129}",
      "s.yaml:8:43: cardinality: '129' is out of range; allowed: 1 to 128" },
    { HEAD KEYS "  - {name: v, type: int, cardinality: 0}",
      "s.yaml:8:39: cardinality: '0' is out of range" },
    { HEAD KEYS "  - {name: v, type: int, cardinality: 9, per: shop}",
      "s.yaml:8:47: per: 'shop' is not known; allowed: document, register" },
    { HEAD KEYS, "s.yaml:6:3: columns: has no column beside the key" },
    { HEAD "  - {name: v, type: int, cardinality: 9}",
      "s.yaml:6:3: columns: must have one register and one document" },
};

START_TEST(what_is_wrong_in_a_file_is_said_with_its_place)
{
    ck_assert_int_eq(stand_of(wrong[_i].text), ERR_CONFIG);
    ck_assert_msg(strncmp(report.text, wrong[_i].report, strlen(wrong[_i].report)) == 0, "%s",
                  report.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stand");
    TCase *all = tcase_create("all");
    tcase_add_test(all, the_shipped_table_has_thirty_columns);
    tcase_add_test(all, a_row_is_a_whole_insert_of_its_register_and_document);
    tcase_add_test(all, an_update_writes_the_chosen_columns_alone);
    tcase_add_test(all, values_are_constant_per_register_and_as_many_as_the_file_says);
    tcase_add_test(all, the_same_numbers_make_the_same_bytes_for_ever);
    tcase_add_test(all, text_says_what_the_mutation_says);
    tcase_add_test(all, a_probe_asks_for_exactly_its_row);
    tcase_add_loop_test(all, what_is_wrong_in_a_file_is_said_with_its_place, 0,
                        (int)array_count(wrong));
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
