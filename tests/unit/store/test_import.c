/* test_import.c - files of Cassandra are taken in whole or not at all: read back, with every bit
 * flipped, cut at every change of the disk, and with calls failing.
 *
 * The files are tests/golden/nb/simple: five partitions "0" .. "4", each with the text "foo bar
 * baz".
 */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/await.h"
#include "base/mem.h"
#include "props.h"
#include "store/sstable.h"

#include <check.h>
#include <stdio.h>

enum { KEYS = 5, FILE_BYTES_MAX = 64 * 1024 };

static struct sim *s;
static struct io *node_io;
static struct asker a;
static struct catalog catalog;
static struct table *table;
static struct store *store;

/* ---- a node with a table, and somebody's files beside it ---- */

static const char *const components[] = { "Data.db",   "Index.db", "Statistics.db", "Summary.db",
                                          "Filter.db", "CRC.db",   "Digest.crc32",  "TOC.txt" };

static void source_put(const char *component)
{
    static uint8_t bytes[FILE_BYTES_MAX];
    char path[400];
    snprintf(path, sizeof path, SOURCE_DIR "/tests/golden/nb/simple/nb-1-big-%s", component);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s is not there", path);
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    snprintf(path, sizeof path, "/in/nb-1-big-%s", component);
    sim_file_set(s, 0, path, 0, bytes_of(bytes, size));
}

static void keep(struct io *io, void *arg)
{
    (void)arg;
    node_io = io;
}
static bool owns(void *context, int64_t token)
{
    (void)context;
    return token != INT64_MIN;
}
static int shard_of(int64_t token, int shards) { return (int)((uint64_t)token % (uint64_t)shards); }
static enum err done(void) { return await_alive(s, 0, &a.req); }

static enum err store_begin(void)
{
    struct store_options options = { .commitlog_folder = "/commitlog",
                                     .data_folder = "/data",
                                     .segment_bytes = 1 << 20,
                                     .memtable_bytes = 4 << 20,
                                     .cache_bytes = 1 << 20,
                                     .version = SSTABLE_NB,
                                     .catalog = &catalog,
                                     .owns = owns,
                                     .shard_of = shard_of };
    struct report failed;
    sim_act(a.io);
    store_open(a.io, &a.req, &a.op, &options, &store, &failed);
    return done();
}

static void boot(void)
{
    struct store_recovered found;
    struct report failed;
    sim_start(s, 0, 1, "10.0.0.1", keep, NULL);
    asker_init(&a, s, node_io);
    sim_act(a.io);
    store_recover(a.io, &a.req, &a.op, "/data", &catalog, &found, &failed);
    ck_assert_int_eq(done(), OK);
    ck_assert_int_eq(store_begin(), OK);
}

static void setup(void)
{
    static const struct stage_column columns[] = { { "pk", "text", COLUMN_PARTITION, false },
                                                   { "val", "text", COLUMN_REGULAR, false } };
    s = sim_new(1, (struct sim_faults){ .disk_ns_max = 100000 });
    catalog_init(&catalog);
    table = stage_table("simple", columns, array_count(columns));
    table_ref(table);
    catalog_add_system(&catalog, table);
    for (size_t i = 0; i < array_count(components); i++)
        source_put(components[i]);
    sim_file_set(s, 0, "/data/clock", 0, bytes_text("x")); /* the folder is there, and lasts */
    boot();
}
static void teardown(void)
{
    if (sim_alive(s, 0))
        sim_kill(s, 0, NULL);
    catalog_deinit(&catalog);
    table->refs = 1; /* the node's went with it */
    table_unref(&table);
    sim_free(s);
}

/* ---- taking in ---- */

static struct import_result result;
static struct report failed;
static bool is_even(void *context, int64_t token)
{
    (void)context;
    return token % 2 == 0;
}

static enum err adopt(const struct imported_file *file)
{
    sim_act(a.io);
    store_adopt(store, &a.req, &a.op, &table->id, &file->name, &failed);
    return done();
}

static enum err take(bool (*is_ours)(void *, int64_t))
{
    struct sstable_name name = sstable_name_of(SSTABLE_NB, 1);
    struct import_options options = {
        .folder = "/in", .names = &name, .count = 1, .table = table->id, .is_ours = is_ours
    };
    static struct arena arena; /* its blocks are the node's */
    arena = (struct arena){ 0 };
    sim_act(a.io);
    store_import(store, &a.req, &a.op, &options, &arena, &result, &failed);
    enum err err = done();
    if (!sim_alive(s, 0))
        return ERR_STOPPED;
    for (size_t i = 0; err == OK && i < result.files_count; i++)
        err = adopt(&result.files[i]);
    if (sim_alive(s, 0))
        arena_deinit(&arena);
    return err;
}

static unsigned rows(void)
{
    struct stage_look look = { .column = 1 };
    unsigned count = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        struct read_outcome outcome;
        struct arena arena = { 0 };
        char key[2] = { (char)('0' + i), 0 };
        struct read read = stage_read_of(table, key);
        look.sink = (struct read_sink){ stage_look_partition, stage_look_row, read_ignore_range };
        look.is_found = false;
        sim_act(a.io);
        store_read_start(store, &a.req, &a.op, &read, &arena, &look.sink, &outcome);
        ck_assert_int_eq(done(), OK);
        ck_assert(!look.is_found || bytes_equal(buf_bytes(&look.value), bytes_text("foo bar baz")));
        count += look.is_found;
        arena_deinit(&arena);
    }
    buf_deinit(&look.value);
    return count;
}

struct seen {
    unsigned temporaries, files;
};
static void visit(void *context, const char *path, uint64_t size)
{
    struct seen *seen = context;
    size_t n = strlen(path);
    (void)size;
    if (strncmp(path, "/data/", 6) != 0)
        return;
    seen->temporaries += n > 4 && strcmp(path + n - 4, ".tmp") == 0;
    seen->files += strstr(path, "-big-") != NULL;
}
static struct seen look_at_files(void)
{
    struct seen seen = { 0 };
    sim_files(s, 0, visit, &seen);
    return seen;
}

START_TEST(rows_of_a_file_of_cassandra_are_the_tables_and_last)
{
    ck_assert_int_eq(take(NULL), OK);
    ck_assert_uint_eq(result.partitions, KEYS);
    ck_assert_uint_eq(result.rows, KEYS);
    ck_assert_uint_eq(result.foreign_partitions, 0);
    ck_assert_uint_eq(result.files_count, 1);
    ck_assert(result.done_bytes == result.total_bytes && result.done_bytes > 0);
    ck_assert_uint_eq(rows(), KEYS);
    ck_assert_uint_eq(look_at_files().temporaries, 0);
    sim_kill(s, 0, NULL);
    boot();
    ck_assert_uint_eq(rows(), KEYS);
}
END_TEST

START_TEST(rows_in_foreign_ranges_are_counted)
{
    uint64_t foreign = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        char key[2] = { (char)('0' + i), 0 };
        foreign += key_token(bytes_text(key)) % 2 != 0;
    }
    ck_assert_int_eq(take(is_even), OK);
    ck_assert_uint_eq(result.foreign_partitions, foreign);
    ck_assert_uint_eq(result.foreign_rows, foreign);
    ck_assert(foreign > 0 && foreign < KEYS);
}
END_TEST

START_TEST(no_more_partitions_are_believed_than_an_index_has_room_for)
{
    static struct sstable file;
    spread_init(&file.statistics.partition_bytes, SPREAD_SIZES_OA);
    file.statistics.partition_bytes.counts[3] = 1000;
    file.bytes[COMPONENT_INDEX] = 1000 * 30;
    ck_assert_uint_eq(sstable_partitions(&file), 1000);
    file.statistics.partition_bytes.counts[7] = UINT64_MAX / 2;
    ck_assert_uint_le(sstable_partitions(&file), 1000 * 30 / 5);
}
END_TEST

START_TEST(what_does_not_fit_the_table_is_refused)
{
    static const struct stage_column columns[] = { { "pk", "text", COLUMN_PARTITION, false },
                                                   { "val", "int", COLUMN_REGULAR, false } };
    struct table *other = stage_table("other", columns, array_count(columns));
    table_unref(&table);
    table = other;
    table_ref(table);
    catalog_add_system(&catalog, other);
    ck_assert_int_eq(take(NULL), ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(failed.text, "/in/nb-1-big-Statistics.db"));
    ck_assert_uint_eq(look_at_files().files, 0);
}
END_TEST

/* Whatever bit is wrong: the rows are right, or nothing has happened. */
START_TEST(every_flipped_bit_is_seen_or_does_no_harm)
{
    char path[100];
    snprintf(path, sizeof path, "/in/nb-1-big-%s", components[_i]);
    uint64_t bits = 8 * sim_file(s, 0, path).size, refused = 0, tried = 0;
    uint64_t step = bits > 3000 ? bits / 1500 : 1;
    for (uint64_t bit = (uint64_t)_i % step; bit < bits; bit += step) {
        sim_file_flip(s, 0, path, bit);
        enum err err = take(NULL);
        sim_file_flip(s, 0, path, bit);
        ck_assert_msg(err == OK || look_at_files().files == 0, "bit %llu of %s: %s",
                      (unsigned long long)bit, path, failed.text);
        ck_assert_msg(rows() == (err == OK ? KEYS : 0), "bit %llu of %s", (unsigned long long)bit,
                      path);
        ck_assert(err == OK || strlen(failed.text) > 0);
        refused += err != OK;
        tried++;
        if (err == OK) {
            teardown();
            setup();
        }
    }
    bool must_be_seen =
        strcmp(components[_i], "Data.db") == 0 || strcmp(components[_i], "Statistics.db") == 0;
    ck_assert(!must_be_seen || refused == tried);
}
END_TEST

START_TEST(whenever_the_power_fails_all_rows_are_there_or_none)
{
    struct sim_walk walk = { .kind = SIM_WALK_CUTS, .share = 2, .seed = 11 };
    unsigned taken = 0, rounds = 0;
    teardown();
    do {
        setup();
        sim_walk_begin(&walk, s, 0, NULL);
        enum err err = take(NULL);
        sim_walk_end(&walk, s);
        if (sim_alive(s, 0))
            sim_kill(s, 0, NULL);
        boot();
        unsigned count = rows();
        ck_assert_msg(count == 0 || count == KEYS, "%s: %u rows", walk.what, count);
        ck_assert_msg(count == KEYS || err != OK, "%s: lost", walk.what);
        ck_assert_uint_eq(look_at_files().temporaries, 0);
        taken += count == KEYS;
        rounds++;
        teardown();
    } while (sim_walk_next(&walk));
    ck_assert(walk.visited > 40 && taken > 4 && taken < rounds - 4);
    setup();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("imports");
    TCase *t = tcase_create("import");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, rows_of_a_file_of_cassandra_are_the_tables_and_last);
    tcase_add_test(t, rows_in_foreign_ranges_are_counted);
    tcase_add_test(t, no_more_partitions_are_believed_than_an_index_has_room_for);
    tcase_add_test(t, what_does_not_fit_the_table_is_refused);
    tcase_add_loop_test(t, every_flipped_bit_is_seen_or_does_no_harm, 0,
                        (int)array_count(components));
    tcase_add_test(t, whenever_the_power_fails_all_rows_are_there_or_none);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int count = srunner_ntests_failed(r);
    srunner_free(r);
    return count != 0;
}
