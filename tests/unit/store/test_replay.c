/* test_replay.c - what a start finds: tables that are gone, records that nobody understands,
 * damaged files, disks that fail at any call.
 */
// SPDX-License-Identifier: Apache-2.0
#include "stage.h"

#include <check.h>

static struct table *first, *second; /* the catalog's references */

static void play_open(struct stage *s)
{
    stage_init(s, 11);
    first = stage_keyvalue("first");
    second = stage_keyvalue("second");
    catalog_add_system(&s->catalog, first);
    catalog_add_system(&s->catalog, second);
    ck_assert_int_eq(stage_open(s), OK);
}

static enum err put(struct stage *s, const struct table *t, int key, const char *value)
{
    char name[16];
    struct buf m = { 0 };
    snprintf(name, sizeof name, "key%d", key);
    stage_put(t, name, 1, bytes_text(value), 1, &m);
    enum err e = stage_apply(s, buf_bytes(&m));
    buf_deinit(&m);
    return e;
}

static bool is_there(struct stage *s, const struct table *t, int key)
{
    char name[16];
    struct stage_look look = { .column = 1 };
    snprintf(name, sizeof name, "key%d", key);
    bool is_found = stage_get(s->store, t, name, &look);
    buf_deinit(&look.value);
    return is_found;
}

static struct store_counts counts_of(const struct stage *s)
{
    struct store_counts counts;
    store_counts(s->store, &counts);
    return counts;
}

/* A journal of this test's own in one of the node's folders, with one record. */
static void write_record(struct stage *s, const char *folder, struct bytes record)
{
    struct journal_options options = { .folder = folder, .segment_bytes = 1 << 20 };
    struct journal *journal;
    struct io_req req = { 0 };
    journal_open(s->io, &req, &s->op, &options, &journal);
    ck_assert_int_eq(stage_wait(s, &req), OK);
    journal_append(journal, &req, &s->op, record);
    ck_assert_int_eq(stage_wait(s, &req), OK);
    journal_close(&journal, &req, &s->op);
    ck_assert_int_eq(stage_wait(s, &req), OK);
}

START_TEST(mutations_of_a_dropped_table_are_left_out_and_counted)
{
    struct stage s;
    play_open(&s);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(put(&s, first, i, "kept"), OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(put(&s, second, i, "dropped"), OK);
    struct uuid gone = second->id;
    ck_assert_int_eq(stage_close(&s), OK);
    catalog_deinit(&s.catalog);
    catalog_init(&s.catalog);
    first = stage_keyvalue("first");
    catalog_add_system(&s.catalog, first);
    ck_assert_int_eq(stage_open(&s), OK);
    ck_assert_uint_eq(counts_of(&s).replayed_mutations, 5);
    ck_assert_uint_eq(counts_of(&s).skipped_mutations, 3);
    ck_assert_uint_eq(counts_of(&s).partitions, 5);
    struct table unknown = { .id = gone };
    ck_assert_int_eq(put(&s, &unknown, 1, "x"), ERR_NOT_FOUND);
    stage_deinit(&s);
}
END_TEST

START_TEST(a_table_dropped_while_a_mutation_waits_answers_not_found)
{
    struct stage s;
    struct io_req req = { 0 };
    struct buf m = { 0 };
    play_open(&s);
    stage_put(first, "key", 1, bytes_text("x"), 1, &m);
    store_apply(s.store, &req, &s.op, buf_bytes(&m));
    while (counts_of(&s).commitlog.appends == 0)
        ck_assert(sim_step(s.sim));
    ck_assert(req.busy);
    struct io_req dropping = { 0 };
    store_drop(s.store, &dropping, &s.op, &first->id, false);
    catalog_deinit(&s.catalog);
    catalog_init(&s.catalog);
    ck_assert_int_eq(stage_wait(&s, &req), ERR_NOT_FOUND);
    ck_assert_int_eq(stage_wait(&s, &dropping), OK);
    ck_assert_uint_eq(counts_of(&s).memtable_bytes, 0);
    buf_deinit(&m);
    stage_deinit(&s);
}
END_TEST

START_TEST(what_is_not_a_mutation_is_refused_before_the_log)
{
    struct stage s;
    struct buf m = { 0 };
    play_open(&s);
    stage_put(first, "key", 1, bytes_text("value"), 1, &m);
    for (size_t size = 0; size < m.size; size++)
        ck_assert_int_eq(stage_apply(&s, bytes_of(m.data, size)), ERR_CORRUPT);
    m.data[0] = 0x7f;
    ck_assert_int_eq(stage_apply(&s, buf_bytes(&m)), ERR_NEWER);
    ck_assert_uint_eq(counts_of(&s).commitlog.appends, 0);
    ck_assert_uint_eq(counts_of(&s).partitions, 0);
    buf_deinit(&m);
    stage_deinit(&s);
}
END_TEST

START_TEST(a_read_of_a_table_that_is_not_there_says_so_and_an_empty_one_is_empty)
{
    struct stage s;
    struct arena arena = { 0 };
    struct read_outcome outcome;
    struct stage_look look = { .sink = { stage_look_partition, stage_look_row,
                                         read_ignore_range } };
    play_open(&s);
    struct read read = stage_read_of(first, "key");
    ck_assert_int_eq(store_read(s.store, &read, &arena, &look.sink, &outcome), OK);
    ck_assert(!outcome.has_more && outcome.rows_count == 0 && outcome.dead_count == 0);
    read.table.b[0] ^= 1;
    ck_assert_int_eq(store_read(s.store, &read, &arena, &look.sink, &outcome), ERR_NOT_FOUND);
    arena_deinit(&arena);
    stage_deinit(&s);
}
END_TEST

START_TEST(a_record_of_an_unknown_kind_is_of_a_newer_version)
{
    struct stage s;
    play_open(&s);
    ck_assert_int_eq(stage_close(&s), OK);
    write_record(&s, "/commitlog/4", bytes_text("\x09what?"));
    ck_assert_int_eq(stage_open(&s), ERR_NEWER);
    ck_assert_ptr_null(s.store);
    ck_assert_ptr_nonnull(strstr(s.failed.text, "/commitlog/4/1.log"));
    ck_assert_ptr_nonnull(strstr(s.failed.text, "newer version"));
    stage_deinit(&s);
}
END_TEST

START_TEST(a_whole_record_without_sense_stops_the_start)
{
    static const char *const records[] = { "\x01\x01short", "\x01" };
    struct stage s;
    play_open(&s);
    ck_assert_int_eq(stage_close(&s), OK);
    write_record(&s, "/commitlog/1", bytes_text(records[_i]));
    ck_assert_int_eq(stage_open(&s), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(s.failed.text, "/commitlog/1/1.log: offset"));
    stage_deinit(&s);
}
END_TEST

static void note_segment(void *context, const char *path, uint64_t size)
{
    char *out = context;
    (void)size;
    if (!out[0] && strncmp(path, "/commitlog/0/", 13) == 0)
        snprintf(out, 100, "%s", path);
}
/* The first segment of the only shard; until the next call. */
static const char *segment_path(struct stage *s)
{
    static char path[100];
    path[0] = 0;
    sim_files(s->sim, SIM_CLIENT(0), note_segment, path);
    return path;
}

/* The file with the first mutations is damaged where later syncs have proven it. */
START_TEST(a_hole_stops_the_start_and_is_named)
{
    struct stage s;
    play_open(&s);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(put(&s, first, i, "needle in the log"), OK);
    ck_assert_int_eq(stage_close(&s), OK);
    const char *path = segment_path(&s);
    struct bytes file = sim_file(s.sim, SIM_CLIENT(0), path);
    size_t offset = 0;
    while (offset + 6 < file.size && memcmp(file.data + offset, "needle", 6) != 0)
        offset++;
    ck_assert_uint_lt(offset + 6, file.size);
    sim_file_set(s.sim, SIM_CLIENT(0), path, offset, bytes_text("N"));
    ck_assert_int_eq(stage_open(&s), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(s.failed.text, path));
    ck_assert_ptr_nonnull(strstr(s.failed.text, "--commitlog-skip-hole"));
    stage_deinit(&s);
}
END_TEST

START_TEST(other_names_in_the_folder_are_left_alone)
{
    struct stage s;
    play_open(&s);
    ck_assert_int_eq(put(&s, first, 1, "x"), OK);
    ck_assert_int_eq(stage_close(&s), OK);
    static const char *const names[] = { "/commitlog/00/1.log", "/commitlog/x/1.log",
                                         "/commitlog/readme",
                                         "/commitlog/99999999999999999999/1.log" };
    for (size_t i = 0; i < array_count(names); i++)
        sim_file_set(s.sim, SIM_CLIENT(0), names[i], 0, bytes_text("nothing of ours"));
    ck_assert_int_eq(stage_open(&s), OK);
    ck_assert(is_there(&s, first, 1));
    ck_assert_uint_eq(counts_of(&s).replayed_mutations, 1);
    stage_deinit(&s);
}
END_TEST

enum { WRITES = 8 };

/* Opens on a disk that may fail, and writes while it can.  A write is visible when it was
 * acknowledged, and a store whose log has failed says so. */
static void write_with_failures(struct stage *s, bool is_acknowledged[WRITES])
{
    enum err opened = stage_open(s);
    ck_assert(opened == OK || (opened == ERR_IO && s->failed.text[0] && !s->store));
    for (int i = 0; opened == OK && i < WRITES; i++) {
        enum err e = put(s, first, i, "x");
        is_acknowledged[i] = e == OK;
        ck_assert_int_eq(is_there(s, first, i), e == OK);
        ck_assert(e == OK || (e == ERR_IO && strstr(store_refusal(s->store), "commit log")));
    }
    if (opened == OK) {
        enum err closed = stage_close(s);
        ck_assert(closed == OK || closed == ERR_IO);
    }
}

/* The nth call of the disk fails; whether there were as many. */
static bool fail_nth_call(uint64_t n)
{
    struct stage s;
    bool is_acknowledged[WRITES] = { false };
    play_open(&s);
    ck_assert_int_eq(stage_close(&s), OK);
    uint64_t calls = sim_disk_calls(s.sim, SIM_CLIENT(0));
    sim_fail_disk(s.sim, SIM_CLIENT(0), n, 1, ERR_IO);
    write_with_failures(&s, is_acknowledged);
    calls = sim_disk_calls(s.sim, SIM_CLIENT(0)) - calls;
    sim_fail_disk(s.sim, SIM_CLIENT(0), 0, 0, OK);
    ck_assert_int_eq(stage_open(&s), OK);
    for (int i = 0; i < WRITES; i++)
        ck_assert(is_there(&s, first, i) || !is_acknowledged[i]);
    stage_deinit(&s);
    return calls >= n;
}

START_TEST(whichever_disk_call_fails_nothing_acknowledged_is_lost)
{
    uint64_t n = 1;
    while (fail_nth_call(n))
        n++;
    ck_assert_uint_gt(n, 2 * WRITES);
}
END_TEST

START_TEST(a_full_commit_log_refuses_with_its_own_reason)
{
    struct stage s;
    static char large[4000];
    memset(large, 'x', sizeof large - 1);
    play_open(&s);
    ck_assert_int_eq(stage_close(&s), OK);
    s.options.segment_bytes = 1 << 16;
    s.options.commitlog_bytes_max = 2200 << 10;
    ck_assert_int_eq(stage_open(&s), OK);
    enum err e = OK;
    int count = 0;
    for (; e == OK && count < 1000; count++)
        e = put(&s, first, count, large);
    ck_assert_int_eq(e, ERR_OVERLOADED);
    ck_assert_ptr_nonnull(strstr(store_refusal(s.store), "commitlog_total_space"));
    ck_assert(is_there(&s, first, count - 2));
    ck_assert(!is_there(&s, first, count - 1));
    stage_deinit(&s);
}
END_TEST

START_TEST(a_close_waits_for_what_is_under_way)
{
    struct stage s;
    struct io_req applies[10] = { 0 }, flush = { 0 }, closing = { 0 };
    struct buf m = { 0 };
    play_open(&s);
    stage_put(first, "key1", 1, bytes_text("x"), 1, &m);
    for (size_t i = 0; i < array_count(applies); i++)
        store_apply(s.store, &applies[i], &s.op, buf_bytes(&m));
    store_flush(s.store, &flush, &s.op, NULL, NULL);
    store_close(&s.store, &closing, &s.op);
    ck_assert_ptr_null(s.store);
    ck_assert_int_eq(stage_wait(&s, &closing), OK);
    for (size_t i = 0; i < array_count(applies); i++)
        ck_assert(!applies[i].busy && applies[i].err == OK);
    ck_assert(!flush.busy && (flush.err == OK || flush.err == ERR_STOPPED));
    ck_assert_int_eq(stage_open(&s), OK);
    ck_assert(is_there(&s, first, 1));
    buf_deinit(&m);
    stage_deinit(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store's replay");
    TCase *t = tcase_create("replay");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, mutations_of_a_dropped_table_are_left_out_and_counted);
    tcase_add_test(t, a_table_dropped_while_a_mutation_waits_answers_not_found);
    tcase_add_test(t, what_is_not_a_mutation_is_refused_before_the_log);
    tcase_add_test(t, a_read_of_a_table_that_is_not_there_says_so_and_an_empty_one_is_empty);
    tcase_add_test(t, a_record_of_an_unknown_kind_is_of_a_newer_version);
    tcase_add_loop_test(t, a_whole_record_without_sense_stops_the_start, 0, 2);
    tcase_add_test(t, a_hole_stops_the_start_and_is_named);
    tcase_add_test(t, other_names_in_the_folder_are_left_alone);
    tcase_add_test(t, whichever_disk_call_fails_nothing_acknowledged_is_lost);
    tcase_add_test(t, a_full_commit_log_refuses_with_its_own_reason);
    tcase_add_test(t, a_close_waits_for_what_is_under_way);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
