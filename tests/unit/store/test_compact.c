/* test_compact.c - files of a table become others: what reads see meanwhile, what may be purged,
 * how it is stopped, and what is left when something fails.
 */
// SPDX-License-Identifier: Apache-2.0
#include "stage.h"
#include "store/inside.h"
#include "store/swap.h"

#include <check.h>

enum { FILES_MAX = 16, KEYS = 20, NEVER = 0, LONG_AGO = 1000 };

static struct stage s;
static struct table *table; /* the catalog's reference */

/* One compaction: what it is told, and what it says. */
static struct act {
    struct compact_options options;
    struct compact_result result;
    struct compact_output output;
    struct report failed;
    struct arena arena;
    struct io_req req;
    struct op op; /* its parent */
    uint64_t inputs[FILES_MAX], expired[FILES_MAX];
} act;

static void setup(void)
{
    stage_init(&s, 3);
    sim_file_set(s.sim, SIM_CLIENT(0), "/data/clock", 0, bytes_text("x"));
    table = stage_keyvalue("t");
    catalog_add_system(&s.catalog, table);
    ck_assert_int_eq(stage_open(&s), OK);
}
static void teardown(void)
{
    arena_deinit(&act.arena);
    stage_deinit(&s);
}

/* ---- rows ---- */

static const char *key_of(int key)
{
    static char name[16];
    snprintf(name, sizeof name, "key%d", key);
    return name;
}

static void put(int key, const char *value, int64_t timestamp)
{
    struct buf m = { 0 };
    stage_put(table, key_of(key), 1, bytes_text(value), timestamp, &m);
    ck_assert_int_eq(stage_apply(&s, buf_bytes(&m)), OK);
    buf_deinit(&m);
}

/* The partition; long enough ago for any gc_before but NEVER. */
static void delete (int key, int64_t timestamp)
{
    struct buf m = { 0 };
    stage_delete(table, key_of(key), timestamp, &m);
    ck_assert_int_eq(stage_apply(&s, buf_bytes(&m)), OK);
    buf_deinit(&m);
}

static void flush(void) { ck_assert_int_eq(stage_flush(&s, table), OK); }

static bool has(int key, const char *value)
{
    struct stage_look look = { .column = 1 };
    bool is_found = stage_find(&s, table, key_of(key), &look) &&
                    bytes_equal(buf_bytes(&look.value), bytes_text(value));
    buf_deinit(&look.value);
    return is_found;
}

static bool has_none(int key)
{
    struct stage_look look = { .column = 1 };
    bool is_found = stage_find(&s, table, key_of(key), &look);
    buf_deinit(&look.value);
    return !is_found;
}

/* ---- files ---- */

/* In the order of their generations. */
static size_t generations(uint64_t out[FILES_MAX])
{
    const struct view *v = store_view(s.store, &table->id);
    size_t n = 0;
    for (size_t i = 0; i < v->sstables_count; i++) {
        uint64_t g = v->sstables[i]->name.generation;
        size_t at = n++;
        for (; at > 0 && out[at - 1] > g; at--)
            out[at] = out[at - 1];
        out[at] = g;
    }
    return n;
}

static struct sstable *file(uint64_t generation)
{
    const struct view *v = store_view(s.store, &table->id);
    for (size_t i = 0; i < v->sstables_count; i++)
        if (v->sstables[i]->name.generation == generation)
            return v->sstables[i];
    ck_abort_msg("no such file");
}

struct names {
    unsigned files, temporary, data;
};
static void visit(void *context, const char *path, uint64_t size)
{
    struct names *n = context;
    (void)size;
    if (strncmp(path, "/data/stage/", 12) != 0)
        return;
    n->files++;
    n->temporary += strstr(path, TEMPORARY) != NULL || strstr(path, "/swap-") != NULL;
    n->data += strstr(path, "-Data.db") != NULL;
}
static struct names names(void)
{
    struct names n = { 0 };
    sim_files(s.sim, SIM_CLIENT(0), visit, &n);
    return n;
}

static void reopen(void)
{
    ck_assert_int_eq(stage_close(&s), OK);
    ck_assert_int_eq(stage_open(&s), OK);
}

/* ---- compactions ---- */

static struct op_next parent_idle(struct op *op)
{
    return op->waiting ? op_wait(0) : op_end(op, OK);
}
static const struct op_state parent_states[] = { { "parent", parent_idle, 0 } };

/* Of everything that there is. */
static void prepare(int64_t gc_before)
{
    arena_deinit(&act.arena);
    act = (struct act){ .output = { UINT64_MAX, 0 } };
    act.options = (struct compact_options){ .table = table->id,
                                            .inputs = act.inputs,
                                            .inputs_count = generations(act.inputs),
                                            .expired = act.expired,
                                            .outputs = &act.output,
                                            .outputs_count = 1,
                                            .purges = gc_before != NEVER,
                                            .now_seconds = 2000,
                                            .gc_before = gc_before };
}

static void begin(void)
{
    op_start(&act.op, io_ops(s.io), NULL, parent_states, NULL);
    store_compact(s.store, &act.req, &act.op, &act.options, &act.arena, &act.result, &act.failed);
}

static enum err end(void)
{
    enum err err = stage_wait(&s, &act.req);
    while (op_running(&act.op))
        ck_assert(sim_step(s.sim));
    return err;
}

static enum err compact(int64_t gc_before)
{
    prepare(gc_before);
    begin();
    return end();
}

/* ---- tests ---- */

/* Two files, each with some rows of its own, and newer ones in the second. */
static void two_files(void)
{
    for (int i = 0; i < KEYS; i++)
        put(i, "old", 1);
    flush();
    for (int i = 0; i < KEYS; i += 2)
        put(i, "new", 2);
    put(KEYS, "new", 2);
    flush();
}

static void check_two_files(void)
{
    for (int i = 0; i < KEYS; i++)
        ck_assert(has(i, i % 2 ? "old" : "new"));
    ck_assert(has(KEYS, "new") && has_none(KEYS + 1));
}

START_TEST(two_files_become_one_with_the_same_rows)
{
    uint64_t left[FILES_MAX];
    two_files();
    ck_assert_int_eq(compact(NEVER), OK);
    check_two_files();
    ck_assert_uint_eq(generations(left), 1);
    ck_assert_uint_eq(act.result.files_count, 1);
    ck_assert_uint_eq(act.result.files[0], left[0]);
    ck_assert_uint_eq(act.result.partitions, KEYS + 1);
    ck_assert_uint_eq(act.result.rows, KEYS + 1);
    ck_assert_uint_eq(act.result.merged[2], KEYS / 2);
    ck_assert_uint_eq(act.result.merged[1], KEYS / 2 + 1);
    ck_assert_uint_eq(act.result.read_bytes, act.result.total_bytes);
    struct names n = names();
    ck_assert(n.data == 1 && n.temporary == 0);
    reopen();
    check_two_files();
    ck_assert_uint_eq(s.store->counts.replayed_mutations, 0); /* the output says what it holds */
}
END_TEST

START_TEST(deletions_and_what_they_cover_go_when_they_are_old_enough)
{
    two_files();
    delete (3, 5);
    flush();
    ck_assert_int_eq(compact(NEVER), OK);
    ck_assert(has_none(3));
    ck_assert_uint_eq(act.result.partitions, KEYS + 1);
    ck_assert_int_eq(compact(LONG_AGO), OK);
    ck_assert(has_none(3) && has(1, "old"));
    ck_assert_uint_eq(act.result.partitions, KEYS);
    ck_assert_uint_eq(act.result.purged, 1);
}
END_TEST

START_TEST(a_deletion_stays_while_a_memtable_may_have_something_older)
{
    two_files();
    delete (3, 5);
    delete (4, 5);
    flush();
    put(3, "older", 4); /* only of this partition, and not yet in a file */
    ck_assert_int_eq(compact(LONG_AGO), OK);
    ck_assert_uint_eq(act.result.purged, 1);
    ck_assert(has_none(3) && has_none(4));
    reopen();
    ck_assert(has_none(3) && has_none(4));
}
END_TEST

START_TEST(a_deletion_stays_while_another_file_may_have_something_older)
{
    put(3, "oldest", 1);
    put(4, "oldest", 1);
    put(5, "newer", 9);
    flush();
    delete (3, 5);
    delete (5, 5);
    flush();
    prepare(LONG_AGO);
    act.inputs[0] = act.inputs[1]; /* the second alone */
    act.options.inputs_count = 1;
    begin();
    ck_assert_int_eq(end(), OK);
    ck_assert_uint_eq(act.result.partitions, 2); /* the file's oldest is of another partition */
    ck_assert(has_none(3) && has(4, "oldest") && has(5, "newer"));
}
END_TEST

START_TEST(when_nothing_is_left_there_is_no_file)
{
    put(3, "old", 1);
    flush();
    delete (3, 5);
    flush();
    ck_assert_int_eq(compact(LONG_AGO), OK);
    ck_assert_uint_eq(act.result.files_count, 0);
    ck_assert_uint_eq(names().files, 0);
    ck_assert(has_none(3));
    reopen();
    ck_assert(has_none(3));
}
END_TEST

START_TEST(expired_files_go_unread)
{
    put(3, "old", 1);
    flush();
    put(4, "old", 1);
    flush();
    prepare(LONG_AGO);
    act.expired[0] = act.inputs[0];
    act.options.expired_count = 1;
    act.options.inputs_count = 0;
    begin();
    ck_assert_int_eq(end(), OK);
    ck_assert(has_none(3) && has(4, "old"));
    ck_assert_uint_eq(act.result.read_bytes, 0);
    ck_assert_uint_eq(names().data, 1);
}
END_TEST

START_TEST(a_level_changes_without_reading)
{
    uint64_t left[FILES_MAX];
    two_files();
    ck_assert_int_eq(compact(NEVER), OK);
    prepare(NEVER);
    act.output.level = 7;
    act.options.is_relevel = true;
    begin();
    ck_assert_int_eq(end(), OK);
    for (int round = 0; round < 2; round++) {
        check_two_files();
        ck_assert_uint_eq(generations(left), 1);
        ck_assert_uint_gt(left[0], act.inputs[0]);
        ck_assert_uint_eq(file(left[0])->statistics.level, 7);
        ck_assert_int_eq(file(left[0])->damage.err, OK);
        ck_assert(names().data == 1 && names().temporary == 0);
        reopen();
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("compactions");
    TCase *rows = tcase_create("rows");
    tcase_add_checked_fixture(rows, setup, teardown);
    tcase_add_test(rows, two_files_become_one_with_the_same_rows);
    tcase_add_test(rows, a_level_changes_without_reading);
    suite_add_tcase(suite, rows);
    TCase *purge = tcase_create("what may go");
    tcase_add_checked_fixture(purge, setup, teardown);
    tcase_add_test(purge, deletions_and_what_they_cover_go_when_they_are_old_enough);
    tcase_add_test(purge, a_deletion_stays_while_a_memtable_may_have_something_older);
    tcase_add_test(purge, a_deletion_stays_while_another_file_may_have_something_older);
    tcase_add_test(purge, when_nothing_is_left_there_is_no_file);
    tcase_add_test(purge, expired_files_go_unread);
    suite_add_tcase(suite, purge);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
