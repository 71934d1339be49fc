/* test_flush.c - memtables become files: when, what is in them, what the commit log forgets, and
 * what is left when a call of the disk fails or the table goes meanwhile.
 */
// SPDX-License-Identifier: Apache-2.0
#include "stage.h"
#include "store/inside.h"
#include "store/swap.h"

#include <check.h>

#define KIB ((size_t)1024)
enum { ROWS = 20 };

static struct stage s;
static struct table *first, *second; /* the catalog's references */

static void setup(void)
{
    stage_init(&s, 3);
    sim_file_set(s.sim, SIM_CLIENT(0), "/data/clock", 0, bytes_text("x"));
    first = stage_keyvalue("first");
    second = stage_keyvalue("second");
    catalog_add_system(&s.catalog, first);
    catalog_add_system(&s.catalog, second);
    ck_assert_int_eq(stage_open(&s), OK);
}
static void teardown(void) { stage_deinit(&s); }

static enum err put(const struct table *t, int key, size_t size)
{
    static uint8_t value[64 * 1024];
    char name[16];
    struct buf m = { 0 };
    for (size_t i = 0; i < size; i++)
        value[i] = (uint8_t)((size_t)key * 31 + i * i);
    snprintf(name, sizeof name, "key%d", key);
    stage_put(t, name, 1, bytes_of(value, size), 1, &m);
    enum err e = stage_apply(&s, buf_bytes(&m));
    buf_deinit(&m);
    return e;
}

static bool is_there(const struct table *t, int key, size_t size)
{
    char name[16];
    struct stage_look look = { .column = 1 };
    snprintf(name, sizeof name, "key%d", key);
    bool is_found = stage_find(&s, t, name, &look) && look.value.size == size;
    buf_deinit(&look.value);
    return is_found;
}

static struct store_counts counts(void)
{
    struct store_counts c;
    store_counts(s.store, &c);
    return c;
}

static void reopen(void)
{
    ck_assert_int_eq(stage_close(&s), OK);
    ck_assert_int_eq(stage_open(&s), OK);
}

static void settle(void)
{
    struct io_req req = { 0 };
    store_settle(s.store, &req, &s.op, &s.failed);
    ck_assert_int_eq(stage_wait(&s, &req), OK);
    store_settled(s.store);
}

/* ---- names on the disk ---- */

struct names {
    unsigned files, temporary, data, other;
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
    n->other += strstr(path, "/nb-") == NULL && strstr(path, "/floor-") == NULL;
}
static struct names names(void)
{
    struct names n = { 0 };
    sim_files(s.sim, SIM_CLIENT(0), visit, &n);
    return n;
}

/* ---- what is in them ---- */

START_TEST(rows_are_the_same_before_and_after)
{
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq(put(first, i, 100 + (size_t)i), OK);
    uint64_t before = counts().memtable_bytes;
    ck_assert_int_eq(stage_flush(&s, first), OK);
    ck_assert_uint_lt(counts().memtable_bytes, before);
    ck_assert_uint_eq(counts().sstables, 1);
    ck_assert_uint_eq(counts().partitions, 0);
    for (int i = 0; i < ROWS; i++)
        ck_assert(is_there(first, i, 100 + (size_t)i));
    ck_assert(!is_there(first, ROWS, 100) && !is_there(second, 1, 101));
    struct names n = names();
    ck_assert(n.data == 1 && n.temporary == 0 && n.other == 0 && n.files >= 8);
}
END_TEST

START_TEST(nothing_makes_no_file)
{
    ck_assert_int_eq(stage_flush(&s, NULL), OK);
    ck_assert_int_eq(put(first, 1, 10), OK);
    ck_assert_int_eq(stage_flush(&s, second), OK);
    ck_assert_uint_eq(names().files, 0);
    ck_assert_int_eq(stage_flush(&s, NULL), OK);
    ck_assert_int_eq(stage_flush(&s, NULL), OK);
    ck_assert_uint_eq(names().data, 1);
}
END_TEST

START_TEST(a_file_names_its_writer_and_its_places_in_the_log)
{
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq(put(i % 2 ? first : second, i, 10), OK);
    ck_assert_int_eq(stage_flush(&s, first), OK);
    const struct sstable *file = store_view(s.store, &first->id)->sstables[0];
    struct log_span span;
    ck_assert(file->writer_shards == 1 && file->writer_shard == 0);
    ck_assert_uint_eq(file->statistics.log_intervals_count, 1);
    ck_assert(files_span(s.store, file, 0, &span));
    ck_assert_uint_eq(span.folder, 0);
    ck_assert_int_lt(log_order(span.first, span.last), 0);
    ck_assert_int_eq(log_order(span.last, s.store->logged_at), 0); /* its row came last */
}
END_TEST

/* ---- the commit log ---- */

START_TEST(a_start_replays_what_no_file_holds)
{
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq(put(first, i, 10), OK);
    ck_assert_int_eq(stage_flush(&s, first), OK);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(put(second, i, 10), OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(put(first, ROWS + i, 10), OK);
    for (int round = 0; round < 2; round++) {
        reopen();
        ck_assert_uint_eq(counts().replayed_mutations, 8);
        ck_assert_uint_eq(counts().held_mutations, ROWS);
    }
    for (int i = 0; i < ROWS + 3; i++)
        ck_assert(is_there(first, i, 10));
    ck_assert_int_eq(stage_flush(&s, NULL), OK);
    reopen();
    ck_assert_uint_eq(counts().replayed_mutations, 0);
    ck_assert(is_there(second, 4, 10) && is_there(first, ROWS + 2, 10));
}
END_TEST

START_TEST(a_truncation_outlives_restarts_and_spares_what_comes_later)
{
    ck_assert_int_eq(put(first, 1, 10), OK);
    ck_assert_int_eq(stage_flush(&s, first), OK);
    ck_assert_int_eq(put(first, 2, 10), OK);
    ck_assert_int_eq(stage_truncate(&s, first), OK);
    ck_assert_int_eq(put(first, 3, 10), OK);
    for (int round = 0; round < 3; round++) {
        ck_assert(!is_there(first, 1, 10) && !is_there(first, 2, 10) && is_there(first, 3, 10));
        ck_assert_uint_eq(names().data, 0);
        reopen();
    }
    ck_assert_int_eq(stage_truncate(&s, first), OK);
    reopen();
    ck_assert(!is_there(first, 3, 10));
    ck_assert_uint_eq(names().files, 1); /* one floor */
}
END_TEST

START_TEST(the_log_forgets_what_files_hold_once_the_node_is_settled)
{
    ck_assert_int_eq(stage_close(&s), OK);
    s.options.segment_bytes = 64 * KIB;
    ck_assert_int_eq(stage_open(&s), OK);
    for (int i = 0; i < 60; i++)
        ck_assert_int_eq(put(first, i, 10 * KIB), OK);
    uint64_t many = counts().commitlog.segments;
    ck_assert_int_eq(stage_flush(&s, NULL), OK);
    ck_assert_uint_gt(many, 9);
    ck_assert_uint_ge(counts().commitlog.segments, many); /* others may be reading */
    settle();
    while (counts().commitlog.segments > 2)
        ck_assert(sim_step(s.sim));
    ck_assert_int_eq(put(second, 1, 10), OK);
    reopen();
    ck_assert_uint_eq(counts().replayed_mutations, 1);
    ck_assert(is_there(first, 0, 10 * KIB) && is_there(first, 59, 10 * KIB));
}
END_TEST

static bool owns_key1(void *context, int64_t token)
{
    (void)context;
    return token == key_token(bytes_text("key1"));
}

/* As another shard makes it when nothing is left of what it took from our folder. */
static void floor_of_another_shard(void)
{
    struct arena arena = { 0 };
    struct floor floor = { 0 };
    struct buf text = buf_in(&arena);
    const char *folder = store_data(s.store, &first->id)->folder;
    ck_assert(s.store->ends_count == 1 && s.store->ends[0].folder == 0);
    floor_raise(&floor, &arena, (struct floor_place){ 0, s.store->ends[0].last });
    floor_encode(&floor, &text);
    sim_file_set(s.sim, SIM_CLIENT(0),
                 arena_printf(&arena, "%s/%s", folder, floor_name(&arena, 99)), 0,
                 buf_bytes(&text));
    arena_deinit(&arena);
}

START_TEST(rows_from_a_folder_of_which_others_own_a_part_are_in_files_once_it_is_settled)
{
    ck_assert_int_eq(put(first, 1, 10), OK);
    ck_assert_int_eq(put(first, 2, 10), OK);
    reopen();
    settle();
    ck_assert_uint_eq(counts().sstables, 0); /* all of it is ours */
    ck_assert_int_eq(stage_close(&s), OK);
    s.options.owns = owns_key1;
    ck_assert_int_eq(stage_open(&s), OK);
    ck_assert_uint_eq(counts().replayed_mutations, 1);
    settle();
    ck_assert_uint_eq(counts().sstables, 1);
    floor_of_another_shard();
    reopen();
    ck_assert(is_there(first, 1, 10));
}
END_TEST

START_TEST(a_log_near_its_limit_flushes_the_tables_that_hold_its_oldest_segments)
{
    ck_assert_int_eq(stage_close(&s), OK);
    s.options.segment_bytes = 64 * KIB;
    s.options.commitlog_bytes_max = 8192 * KIB;
    ck_assert_int_eq(stage_open(&s), OK);
    settle();
    ck_assert_int_eq(put(second, 0, 10), OK);
    for (int i = 0; i < 4000; i++)
        ck_assert_int_eq(put(first, i % 10, 10 * KIB), OK);
    ck_assert_uint_gt(counts().flushes, 3);
    ck_assert_uint_le(counts().commitlog.disk_bytes, 8192 * KIB);
    ck_assert_uint_eq(store_view(s.store, &second->id)->sstables_count, 1);
}
END_TEST

START_TEST(a_start_flushes_what_it_replays_and_stays_within_the_budget)
{
    ck_assert_int_eq(stage_close(&s), OK);
    s.options.segment_bytes = 256 * KIB;
    ck_assert_int_eq(stage_open(&s), OK);
    for (int i = 0; i < 4000; i++)
        ck_assert_int_eq(put(first, i, KIB), OK);
    ck_assert_uint_eq(counts().flushes, 0);
    s.options.memtable_bytes = 1024 * KIB;
    reopen();
    ck_assert_uint_eq(counts().replayed_mutations, 4000);
    ck_assert_uint_gt(counts().flushes, 4);
    ck_assert_uint_le(counts().memtable_bytes, 1024 * KIB);
    for (int i = 0; i < 4000; i += 97)
        ck_assert(is_there(first, i, KIB));
    reopen(); /* what was flushed meanwhile is not replayed again */
    ck_assert_uint_eq(counts().replayed_mutations + counts().held_mutations, 4000);
    ck_assert_uint_gt(counts().held_mutations, 2000);
    ck_assert(is_there(first, 0, KIB) && is_there(first, 3999, KIB));
}
END_TEST

/* ---- when ---- */

START_TEST(memory_is_flushed_before_the_budget_is_full)
{
    ck_assert_int_eq(stage_close(&s), OK);
    s.options.memtable_bytes = 512 * KIB;
    ck_assert_int_eq(stage_open(&s), OK);
    ck_assert_int_eq(put(second, 1, 10), OK);
    for (int i = 0; i < 3000; i++)
        ck_assert_int_eq(put(first, i, KIB), OK);
    ck_assert_uint_gt(counts().flushes, 4);
    ck_assert_uint_lt(counts().flushes, 40);
    ck_assert_uint_eq(store_view(s.store, &second->id)->sstables_count, 0); /* the largest goes */
    for (int i = 0; i < 3000; i += 97)
        ck_assert(is_there(first, i, KIB));
}
END_TEST

START_TEST(a_table_with_a_period_is_flushed_when_it_is_over)
{
    struct table_params params = *first->params;
    params.memtable_flush_period_ms = 5000;
    first->params = &params;
    struct io_req nap = { 0 };
    io_sleep(s.io, &nap, &s.op, 4900000000ull);
    ck_assert_int_eq(put(first, 1, 10), OK);
    ck_assert_int_eq(put(second, 1, 10), OK);
    ck_assert_int_eq(stage_wait(&s, &nap), OK);
    ck_assert_uint_eq(counts().sstables, 0);
    io_sleep(s.io, &nap, &s.op, 4900000000ull);
    ck_assert_int_eq(stage_wait(&s, &nap), OK);
    ck_assert_uint_eq(counts().sstables, 1);
    ck_assert(is_there(first, 1, 10) && is_there(second, 1, 10));
    first->params = &table_params_default;
}
END_TEST

/* ---- what goes wrong ---- */

START_TEST(a_table_that_is_dropped_meanwhile_leaves_no_file)
{
    struct io_req flush = { 0 };
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq(put(first, i, 4 * KIB), OK);
    store_flush(s.store, &flush, &s.op, &first->id, NULL);
    for (int i = 0; i < _i * 3 && flush.busy; i++)
        ck_assert(sim_step(s.sim));
    ck_assert_int_eq(stage_drop(&s, first), OK);
    ck_assert_int_eq(stage_wait(&s, &flush), OK);
    ck_assert_uint_eq(names().files, 0);
    ck_assert_uint_eq(counts().memtable_bytes, 0);
}
END_TEST

START_TEST(a_table_may_be_dropped_while_it_is_truncated)
{
    struct io_req req = { 0 }, drop = { 0 };
    struct store_held *held = NULL;
    ck_assert_int_eq(put(first, 1, 10), OK);
    ck_assert_int_eq(stage_flush(&s, first), OK);
    ck_assert_int_eq(put(first, 2, 10), OK);
    store_hold(s.store, &req, &s.op, &first->id, &held);
    ck_assert_int_eq(stage_wait(&s, &req), OK);
    store_drop(s.store, &drop, &s.op, &first->id, _i == 1);
    ck_assert_int_eq(stage_wait(&s, &drop), OK);
    store_erase(s.store, &req, &s.op, &first->id, &held, 1);
    ck_assert_int_eq(stage_wait(&s, &req), ERR_NOT_FOUND);
    store_release(s.store, &held, false);
    ck_assert_uint_eq(names().data, _i == 1 ? 2 : 1); /* with what was to be kept */
    store_remove(s.store, &req, &s.op, first);
    ck_assert_int_eq(stage_wait(&s, &req), OK);
    ck_assert_uint_eq(names().files, 0);
}
END_TEST

/* The nth call of a flush fails; whether there were as many. */
static bool fail_nth_call(uint64_t n)
{
    setup();
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq(put(first, i, 100), OK);
    uint64_t calls = sim_disk_calls(s.sim, SIM_CLIENT(0));
    sim_fail_disk(s.sim, SIM_CLIENT(0), n, 1, ERR_IO);
    enum err e = stage_flush(&s, first);
    calls = sim_disk_calls(s.sim, SIM_CLIENT(0)) - calls;
    sim_fail_disk(s.sim, SIM_CLIENT(0), 0, 0, OK);
    ck_assert(e == OK || (e == ERR_IO && s.failed.text[0]));
    for (int i = 0; i < ROWS; i++)
        ck_assert(is_there(first, i, 100));
    ck_assert_int_eq(stage_flush(&s, first), OK); /* tried again */
    ck_assert_uint_eq(counts().sstables, 1);
    ck_assert(names().data == 1 && names().temporary == 0);
    reopen();
    for (int i = 0; i < ROWS; i++)
        ck_assert(is_there(first, i, 100));
    teardown();
    return calls >= n;
}

START_TEST(whichever_call_of_a_flush_fails_the_rows_are_there_and_it_is_tried_again)
{
    uint64_t n = 1;
    teardown();
    while (fail_nth_call(n))
        n++;
    ck_assert_uint_gt(n, 40);
    setup();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("flushes");
    TCase *t = tcase_create("flush");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, rows_are_the_same_before_and_after);
    tcase_add_test(t, nothing_makes_no_file);
    tcase_add_test(t, a_file_names_its_writer_and_its_places_in_the_log);
    tcase_add_test(t, a_start_replays_what_no_file_holds);
    tcase_add_test(t, a_truncation_outlives_restarts_and_spares_what_comes_later);
    tcase_add_test(t, the_log_forgets_what_files_hold_once_the_node_is_settled);
    tcase_add_test(t,
                   rows_from_a_folder_of_which_others_own_a_part_are_in_files_once_it_is_settled);
    tcase_add_test(t, a_log_near_its_limit_flushes_the_tables_that_hold_its_oldest_segments);
    tcase_add_test(t, a_start_flushes_what_it_replays_and_stays_within_the_budget);
    tcase_add_test(t, memory_is_flushed_before_the_budget_is_full);
    tcase_add_test(t, a_table_with_a_period_is_flushed_when_it_is_over);
    tcase_add_loop_test(t, a_table_that_is_dropped_meanwhile_leaves_no_file, 0, 20);
    tcase_add_loop_test(t, a_table_may_be_dropped_while_it_is_truncated, 0, 2);
    tcase_add_test(t, whichever_call_of_a_flush_fails_the_rows_are_there_and_it_is_tried_again);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
