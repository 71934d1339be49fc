/* test_snapshot.c - a snapshot is whole or it is none: made, listed and removed, cut at every
 * change of the disk with each image of what was not durable, and with every call failing.
 *
 * The folder holds two SSTables of two files each, and what is no file of an SSTable.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/await.h"
#include "base/mem.h"
#include "props.h"
#include "store/folder.h"
#include "store/snapshot.h"

#include <check.h>

static struct sim *s;
static struct io *node_io;
static struct asker a;
static struct table *table;
static char folder[200];

static void keep(struct io *io, void *arg)
{
    (void)arg;
    node_io = io;
}
static void boot(void)
{
    sim_start(s, 0, 1, "10.0.0.1", keep, NULL);
    asker_init(&a, s, node_io);
}
static void put(const char *name, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    sim_file_set(s, 0, path, 0, bytes_text(text));
}
static void setup(void)
{
    struct arena arena = { 0 };
    s = sim_new(1, (struct sim_faults){ .disk_ns_max = 100000 });
    table = stage_keyvalue("orders");
    snprintf(folder, sizeof folder, "%s", folder_path(&arena, "/data", table));
    arena_deinit(&arena);
    put("nb-1-big-Index.db", "index 1");
    put("nb-1-big-Data.db", "data 1");
    put("nb-2-big-Index.db", "index 2");
    put("nb-2-big-Data.db", "data 2");
    put("nb-3-big-Data.db.tmp", "half a file");
    put("floor-7.txt", "no file of an SSTable");
    sim_file_set(s, 0, "/data/metadata/1.log", 0, bytes_text("x"));
    boot();
}
static void teardown(void)
{
    table_unref(&table);
    sim_free(s);
}

static enum err done(void) { return await_alive(s, 0, &a.req); }

static struct sstable_name names[2];
static enum err make_of(const char *tag, size_t count, bool takes_all, struct report *failed)
{
    struct snapshot_options options = { .data_folder = "/data",
                                        .table = table,
                                        .tag = tag,
                                        .files = { count, names },
                                        .takes_all = takes_all,
                                        .schema = bytes_text("CREATE TABLE orders;\n") };
    names[0] = sstable_name_of(SSTABLE_NB, 1);
    names[1] = sstable_name_of(SSTABLE_NB, 2);
    report_clear(failed);
    sim_act(a.io); /* what it takes is the node's */
    snapshot_make(a.io, &a.req, &a.op, &options, failed);
    return done();
}
static enum err make(const char *tag)
{
    struct report failed;
    return make_of(tag, 2, false, &failed);
}

/* ---- what is there ---- */

static struct bytes file(const char *tag, const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/snapshots/%s/%s", folder, tag, name);
    return sim_file(s, 0, path);
}
static bool has(const char *tag, const char *name, const char *text)
{
    return bytes_equal(file(tag, name), bytes_text(text));
}
static bool is_whole(const char *tag)
{
    struct bytes manifest = file(tag, "manifest.json");
    return has(tag, "nb-1-big-Index.db", "index 1") && has(tag, "nb-1-big-Data.db", "data 1") &&
           has(tag, "nb-2-big-Index.db", "index 2") && has(tag, "nb-2-big-Data.db", "data 2") &&
           has(tag, "schema.cql", "CREATE TABLE orders;\n") && manifest.size > 0 &&
           manifest.data[manifest.size - 1] == '}';
}

struct seen {
    unsigned files, temporaries, live;
};
static void visit(void *context, const char *path, uint64_t size)
{
    struct seen *seen = context;
    (void)size;
    seen->temporaries += strstr(path, ".tmp/") != NULL;
    seen->files += strstr(path, "/snapshots/") != NULL;
    seen->live += strstr(path, "/snapshots/") == NULL;
}
static struct seen look(void)
{
    struct seen seen = { 0 };
    sim_files(s, 0, visit, &seen);
    ck_assert_uint_eq(seen.live, 7);
    return seen;
}

static enum err list(const struct snapshot_choice *choice, struct arena *arena,
                     struct snapshots *out)
{
    sim_act(a.io);
    snapshots_list(a.io, &a.req, &a.op, "/data", choice, arena, out);
    return done();
}
static size_t count_of(const char *tag)
{
    struct arena arena = { 0 };
    struct snapshots found;
    ck_assert_int_eq(list(&(struct snapshot_choice){ .tag = tag }, &arena, &found), OK);
    size_t count = found.count;
    arena_deinit(&arena);
    return count;
}

START_TEST(it_has_every_file_of_every_sstable_and_what_cassandra_puts_beside_them)
{
    ck_assert_int_eq(make("one"), OK);
    ck_assert(is_whole("one"));
    ck_assert_uint_eq(look().files, 6);
    struct bytes manifest = file("one", "manifest.json");
    char text[400];
    snprintf(text, sizeof text, "%.*s", (int)manifest.size, (const char *)manifest.data);
    ck_assert_ptr_eq(strstr(text, "{\n  \"files\" : [ \"nb-1-big-Data.db\", \"nb-2-big-Data.db\" ],"
                                  "\n  \"created_at\" : \""),
                     text);
    ck_assert_ptr_nonnull(
        strstr(text, "Z\",\n  \"expires_at\" : null,\n  \"ephemeral\" : false\n}"));
}
END_TEST

START_TEST(a_list_tells_tables_tags_and_sizes)
{
    struct arena arena = { 0 };
    struct snapshots found;
    struct report failed;
    ck_assert_int_eq(make("one"), OK);
    ck_assert_int_eq(make_of("an", 1, false, &failed), OK);
    ck_assert_int_eq(list(&(struct snapshot_choice){ 0 }, &arena, &found), OK);
    ck_assert_uint_eq(found.count, 2);
    ck_assert_str_eq(found.list[0].tag, "an");
    ck_assert_str_eq(found.list[1].tag, "one");
    ck_assert_str_eq(found.list[1].keyspace, "stage");
    ck_assert_str_eq(found.list[1].table, "orders");
    ck_assert_uint_eq(found.list[1].files, 6);
    ck_assert_uint_eq(found.list[0].files, 4);
    uint64_t own = file("one", "manifest.json").size + file("one", "schema.cql").size;
    ck_assert_uint_eq(found.list[1].own_bytes, own); /* the rest is the table's too */
    ck_assert_uint_eq(found.list[1].bytes, own + 7 + 6 + 7 + 6);
    ck_assert_uint_eq(strlen(found.list[1].created), 24);
    ck_assert_int_eq(list(&(struct snapshot_choice){ .table = "other" }, &arena, &found), OK);
    ck_assert_uint_eq(found.count, 0);
    arena_deinit(&arena);
}
END_TEST

START_TEST(what_is_there_already_or_has_gone_is_said)
{
    struct report failed;
    ck_assert_int_eq(make("one"), OK);
    ck_assert_int_eq(make("one"), ERR_EXISTS);
    names[1].id[0] = '9';
    struct snapshot_options options = {
        .data_folder = "/data", .table = table, .tag = "two", .files = { 2, names }
    };
    report_clear(&failed);
    snapshot_make(a.io, &a.req, &a.op, &options, &failed);
    ck_assert_int_eq(done(), ERR_NOT_FOUND);
    ck_assert_uint_eq(look().files, 6);
}
END_TEST

START_TEST(all_that_is_in_the_folder_is_taken_when_it_is_quiet)
{
    struct report failed;
    ck_assert_int_eq(make_of("all", 0, true, &failed), OK);
    ck_assert(is_whole("all"));
    ck_assert_uint_eq(look().files, 6);
}
END_TEST

START_TEST(a_tag_must_be_the_name_of_a_folder)
{
    static const char *const good[] = { "1764518400000", "a b", "truncated-1-orders", "tmp" };
    static const char *const bad[] = { "", ".", "..", ".x", "a/b", "a\nb", "x.tmp" };
    char text[SNAPSHOT_TAG_BYTES_MAX + 2];
    for (size_t i = 0; i < array_count(good); i++)
        ck_assert(snapshot_tag_valid(good[i]));
    for (size_t i = 0; i < array_count(bad); i++)
        ck_assert(!snapshot_tag_valid(bad[i]));
    memset(text, 'a', sizeof text);
    text[SNAPSHOT_TAG_BYTES_MAX + 1] = 0;
    ck_assert(!snapshot_tag_valid(text));
    text[SNAPSHOT_TAG_BYTES_MAX] = 0;
    ck_assert(snapshot_tag_valid(text));
}
END_TEST

/* ---- removed ---- */

static enum err clear(const char *tag)
{
    struct arena arena = { 0 };
    struct snapshots out = { 0 };
    struct snapshot_choice choice = { .tag = tag };
    sim_act(a.io);
    snapshots_remove(a.io, &a.req, &a.op, "/data", &choice, &arena, &out);
    enum err err = done();
    if (sim_alive(s, 0)) /* else what it took has gone with the node */
        arena_deinit(&arena);
    return err;
}
static void sweep(void)
{
    sim_act(a.io);
    snapshots_sweep(a.io, &a.req, &a.op, "/data");
    ck_assert_int_eq(done(), OK);
    ck_assert_uint_eq(look().temporaries, 0);
}

START_TEST(one_is_removed_and_no_other)
{
    ck_assert_int_eq(make("one"), OK);
    ck_assert_int_eq(make("two"), OK);
    ck_assert_int_eq(clear("three"), OK);
    ck_assert_int_eq(clear("one"), OK);
    ck_assert(count_of("one") == 0 && is_whole("two"));
    ck_assert_uint_eq(look().files, 6);
    ck_assert_int_eq(clear(NULL), OK);
    ck_assert_uint_eq(look().files, 0);
}
END_TEST

/* ---- cut, and refused ---- */

START_TEST(whenever_the_power_fails_it_is_whole_or_none)
{
    struct sim_walk walk = { .kind = SIM_WALK_CUTS };
    unsigned made = 0, rounds = 0;
    teardown();
    do {
        setup();
        sim_walk_begin(&walk, s, 0, NULL);
        enum err err = make("one");
        sim_walk_end(&walk, s);
        if (!sim_alive(s, 0))
            boot();
        size_t count = count_of("one");
        ck_assert_msg(count == 1 || err != OK, "%s: lost", walk.what);
        ck_assert_msg(count == 0 || is_whole("one"), "%s: not whole", walk.what);
        sweep();
        made += count == 1;
        rounds++;
        teardown();
    } while (sim_walk_next(&walk));
    ck_assert_uint_gt(walk.visited, 40);
    ck_assert(made > 2 && made < rounds - 4);
    setup();
}
END_TEST

START_TEST(whenever_the_power_fails_a_removal_is_whole_or_none)
{
    struct sim_walk walk = { .kind = SIM_WALK_CUTS };
    unsigned left = 0, rounds = 0;
    teardown();
    do {
        setup();
        ck_assert_int_eq(make("one"), OK);
        sim_walk_begin(&walk, s, 0, NULL);
        enum err err = clear("one");
        sim_walk_end(&walk, s);
        if (!sim_alive(s, 0))
            boot();
        size_t count = count_of("one");
        ck_assert_msg(count == 0 || err != OK, "%s: still there", walk.what);
        ck_assert_msg(count == 0 || is_whole("one"), "%s: not whole", walk.what);
        sweep();
        left += count == 1;
        rounds++;
        teardown();
    } while (sim_walk_next(&walk));
    ck_assert(walk.visited > 20 && left > 1 && left < rounds);
    setup();
}
END_TEST

START_TEST(whatever_call_fails_the_answer_is_true)
{
    struct sim_walk walk = { .kind = SIM_WALK_ERRORS };
    unsigned refused = 0;
    teardown();
    do {
        setup();
        sim_walk_begin(&walk, s, 0, NULL);
        enum err err = make("one");
        sim_walk_end(&walk, s);
        size_t count = count_of("one");
        ck_assert_msg(count == 1 || err != OK, "%s: lost", walk.what);
        ck_assert_msg(count == 0 || is_whole("one"), "%s: not whole", walk.what);
        sweep();
        refused += err != OK;
        teardown();
    } while (sim_walk_next(&walk));
    ck_assert_uint_gt(refused, 40);
    setup();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshots");
    TCase *t = tcase_create("snapshot");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, it_has_every_file_of_every_sstable_and_what_cassandra_puts_beside_them);
    tcase_add_test(t, a_list_tells_tables_tags_and_sizes);
    tcase_add_test(t, what_is_there_already_or_has_gone_is_said);
    tcase_add_test(t, all_that_is_in_the_folder_is_taken_when_it_is_quiet);
    tcase_add_test(t, a_tag_must_be_the_name_of_a_folder);
    tcase_add_test(t, one_is_removed_and_no_other);
    tcase_add_test(t, whenever_the_power_fails_it_is_whole_or_none);
    tcase_add_test(t, whenever_the_power_fails_a_removal_is_whole_or_none);
    tcase_add_test(t, whatever_call_fails_the_answer_is_true);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
