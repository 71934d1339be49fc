/* test_policy.c - who decides from above: where flushes are cut, what files cover, what has
 * changed, how much writers are slowed, and the list of files that it all goes by.
 */
// SPDX-License-Identifier: Apache-2.0
#include "act.h"
#include "store/intervals.h"

#include <math.h>

/* ---- a policy that answers what the test wants and remembers what it was told ---- */

static struct told {
    int64_t cuts[4];
    size_t cuts_count;
    double coverage;
    unsigned changes, files;
    uint64_t bytes;
} told;

static size_t cuts_of(void *context, const struct table *t, struct arena *arena,
                      const int64_t **out)
{
    struct told *x = context;
    ck_assert_ptr_eq(t, table);
    int64_t *cuts = arena_array(arena, int64_t, x->cuts_count);
    memcpy(cuts, x->cuts, x->cuts_count * sizeof *cuts);
    *out = cuts;
    return x->cuts_count;
}

static double coverage_of(void *context, const struct table *t, int64_t first, int64_t last)
{
    const struct told *x = context;
    ck_assert(t == table && first <= last);
    return x->coverage;
}

static void changed(void *context, const struct uuid *id, uint64_t bytes, unsigned files)
{
    struct told *x = context;
    ck_assert_mem_eq(id->b, table->id.b, sizeof id->b);
    x->changes++;
    x->bytes += bytes;
    x->files += files;
}

static void setup_policy(void)
{
    setup();
    told = (struct told){ .coverage = 0.25 };
    store_set_policy(s.store, &(struct store_policy){ &told, cuts_of, coverage_of, changed });
}

static void put_all(void)
{
    for (int i = 0; i < KEYS; i++)
        put(i, "old", 1);
}

static void check_all(void)
{
    for (int i = 0; i < KEYS; i++)
        ck_assert(has(i, "old"));
}

/* ---- flushes ---- */

START_TEST(a_flush_is_cut_where_the_policy_says)
{
    uint64_t left[FILES_MAX];
    told.cuts[0] = INT64_MIN / 2, told.cuts[1] = 0, told.cuts[2] = INT64_MAX / 2;
    told.cuts_count = 3;
    put_all();
    flush();
    ck_assert_uint_eq(generations(left), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct sstable *f = file(left[i]);
        ck_assert(i == 0 || f->first_token > told.cuts[i - 1]);
        ck_assert(i == 3 || f->last_token <= told.cuts[i]);
    }
    ck_assert_uint_eq(told.files, 4);
    uint64_t bytes = 0;
    for (size_t i = 0; i < 4; i++)
        bytes += file(left[i])->bytes[COMPONENT_DATA];
    ck_assert_uint_eq(told.bytes, bytes);
    check_all();
    reopen();
    check_all();
    ck_assert_uint_eq(s.store->counts.replayed_mutations, 0);
}
END_TEST

START_TEST(cuts_without_anything_between_them_make_no_files)
{
    uint64_t left[FILES_MAX];
    told.cuts[0] = INT64_MIN + 1, told.cuts[1] = INT64_MIN + 2, told.cuts[2] = INT64_MAX - 2;
    told.cuts[3] = INT64_MAX - 1;
    told.cuts_count = 4;
    put_all();
    flush();
    ck_assert_uint_eq(generations(left), 1);
    check_all();
}
END_TEST

/* The first flush fails at its nth call, then one succeeds. */
START_TEST(a_cut_flush_comes_as_a_whole_or_not_at_all)
{
    for (uint64_t n = 1, calls = n; calls >= n; n++) {
        teardown();
        setup_policy();
        told.cuts_count = 1;
        put_all();
        calls = sim_disk_calls(s.sim, SIM_CLIENT(0));
        sim_fail_disk(s.sim, SIM_CLIENT(0), n, 1, ERR_IO);
        enum err err = stage_flush(&s, table);
        calls = sim_disk_calls(s.sim, SIM_CLIENT(0)) - calls;
        sim_fail_disk(s.sim, SIM_CLIENT(0), 0, 0, OK);
        ck_assert(names().data == (err == OK ? 2 : 0));
        check_all();
        flush();
        ck_assert(names().data == 2 && names().temporary == 0);
        reopen();
        check_all();
        ck_assert(n > 60 || calls >= n);
    }
}
END_TEST

START_TEST(files_say_how_much_of_the_ring_they_cover)
{
    uint64_t left[FILES_MAX];
    ck_assert_int_eq(stage_close(&s), OK);
    s.options.version = SSTABLE_OA;
    ck_assert_int_eq(stage_open_settled(&s), OK);
    put_all();
    flush(); /* the policy went with the store */
    ck_assert_uint_eq(generations(left), 1);
    ck_assert(isnan(file(left[0])->statistics.token_coverage));
    store_set_policy(s.store, &(struct store_policy){ .context = &told, .coverage = coverage_of });
    ck_assert_int_eq(compact(NEVER), OK);
    ck_assert(file(act.result.files[0])->statistics.token_coverage == 0.25);
    told.coverage = -(double)NAN;
    ck_assert_int_eq(compact(NEVER), OK);
    ck_assert(isnan(file(act.result.files[0])->statistics.token_coverage));
}
END_TEST

START_TEST(whatever_changes_the_files_is_told)
{
    put_all();
    ck_assert_uint_eq(told.changes, 0);
    flush();
    ck_assert(told.changes == 1 && told.files == 1 && told.bytes > 0);
    uint64_t bytes = told.bytes;
    ck_assert_int_eq(compact(NEVER), OK);
    ck_assert(told.changes == 2 && told.files == 1 && told.bytes == bytes);
    ck_assert_int_eq(stage_truncate(&s, table), OK);
    ck_assert(told.changes == 3 && told.files == 1);
    store_set_policy(s.store, NULL);
    put_all();
    flush();
    ck_assert_uint_eq(told.changes, 3);
}
END_TEST

/* ---- the list ---- */

START_TEST(the_list_tells_of_files_and_holds_them)
{
    struct store_file_list list;
    struct arena arena = { 0 };
    store_list_files(s.store, &table->id, &arena, &list);
    ck_assert_uint_eq(list.count, 0);
    store_files_done(&list);
    int64_t before = io_wall(s.io) / 1000000;
    put_all();
    flush();
    store_list_files(s.store, &table->id, &arena, &list);
    ck_assert_uint_eq(list.count, 1);
    const struct store_file *f = &list.files[0];
    ck_assert(!f->is_shared && !f->is_busy && !f->damage);
    ck_assert_uint_eq(f->partitions, KEYS);
    ck_assert_uint_gt(f->plain_bytes, f->data_bytes / 2);
    ck_assert_uint_gt(f->all_bytes, f->data_bytes);
    ck_assert_int_lt(f->first_token, f->last_token);
    ck_assert_int_eq(f->first_token, key_token(f->first_key));
    ck_assert_int_eq(f->last_token, key_token(f->last_key));
    ck_assert_int_ge(f->created_seconds, before);
    ck_assert_int_le(f->created_seconds, io_wall(s.io) / 1000000);
    ck_assert_int_eq(f->statistics->timestamp_min, 1);
    ck_assert_int_eq(compact(NEVER), OK);
    ck_assert_int_eq(f->statistics->timestamp_min, 1); /* it has no name any more, and is there */
    store_files_done(&list);
    arena_deinit(&arena);
}
END_TEST

START_TEST(the_oldest_in_memory_counts_frozen_memtables_too)
{
    struct io_req req = { 0 };
    ck_assert_int_eq(store_memtables_timestamp_min(s.store, &table->id), INT64_MAX);
    put(1, "x", 7);
    ck_assert_int_eq(store_memtables_timestamp_min(s.store, &table->id), 7);
    store_flush(s.store, &req, &s.op, &table->id, NULL); /* frozen at once */
    put(2, "x", 9);
    ck_assert(req.busy);
    ck_assert_int_eq(store_memtables_timestamp_min(s.store, &table->id), 7);
    ck_assert_int_eq(stage_wait(&s, &req), OK);
    ck_assert_int_eq(store_memtables_timestamp_min(s.store, &table->id), 9);
}
END_TEST

START_TEST(a_file_that_is_forgotten_is_read_no_more_and_stays_on_the_disk)
{
    uint64_t left[FILES_MAX];
    put(1, "x", 1);
    flush();
    put(2, "x", 1);
    flush();
    ck_assert_uint_eq(generations(left), 2);
    struct sstable_name name = file(left[0])->name;
    store_forget_file(s.store, &table->id, &name);
    ck_assert_uint_eq(generations(left), 1);
    ck_assert(has_none(1) && has(2, "x") && names().data == 2);
    store_forget_file(s.store, &table->id, &name); /* again: nothing */
    ck_assert_uint_eq(told.changes, 3);
}
END_TEST

/* ---- writers ---- */

static uint64_t write_ns(size_t bytes)
{
    static uint8_t value[16 * 1024];
    struct buf m = { 0 };
    uint64_t began = sim_now(s.sim);
    stage_put(table, "key", 1, bytes_of(value, bytes), 1, &m);
    ck_assert_int_eq(stage_apply(&s, buf_bytes(&m)), OK);
    buf_deinit(&m);
    return sim_now(s.sim) - began;
}

START_TEST(acknowledgements_wait_by_the_size_of_what_was_written)
{
    ck_assert_uint_lt(write_ns(16 * 1024), 1000000);
    store_slow_writes(s.store, 2000000);
    uint64_t small = write_ns(1024), large = write_ns(16 * 1024);
    ck_assert(small > 2000000 && small < 3000000);
    ck_assert(large > 32000000 && large < 34000000);
    store_slow_writes(s.store, UINT64_MAX);
    large = write_ns(16 * 1024);
    ck_assert(large >= 100000000 && large < 101000000); /* never longer */
    ck_assert_uint_eq(s.store->reserved_bytes, 0);
    store_slow_writes(s.store, 0);
    ck_assert_uint_lt(write_ns(16 * 1024), 1000000);
}
END_TEST

START_TEST(what_is_too_little_to_wait_for_is_saved_up)
{
    store_slow_writes(s.store, 100000); /* a tenth of a millisecond a KiB */
    unsigned slow = 0;
    uint64_t sum = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t ns = write_ns(900);
        slow += ns > 900000;
        sum += ns;
    }
    ck_assert(slow >= 7 && slow <= 11);
    ck_assert(sum > 8000000 && sum < 11000000);
}
END_TEST

START_TEST(a_write_that_waits_is_there_and_a_close_ends_its_wait)
{
    struct io_req req = { 0 };
    struct buf m = { 0 };
    struct stage_look look = { .column = 1 };
    store_slow_writes(s.store, UINT64_MAX);
    stage_put(table, "key1", 1, bytes_text("x"), 1, &m);
    store_apply(s.store, &req, &s.op, buf_bytes(&m));
    while (s.store->memory_bytes == 0)
        ck_assert(sim_step(s.sim));
    ck_assert(stage_get(s.store, table, "key1", &look));
    ck_assert(req.busy);
    uint64_t began = sim_now(s.sim);
    ck_assert_int_eq(stage_close(&s), OK);
    ck_assert(!req.busy && req.err == OK);
    ck_assert_uint_lt(sim_now(s.sim) - began, 2000000);
    ck_assert_int_eq(stage_open_settled(&s), OK);
    ck_assert(has(1, "x"));
    buf_deinit(&look.value);
    buf_deinit(&m);
}
END_TEST

/* ---- what files say of the log ---- */

START_TEST(spans_that_meet_are_one_and_those_of_lost_segments_go)
{
    struct log_span spans[] = {
        { 0, { 5, 10 }, { 5, 20 } }, { 1, { 1, 10 }, { 1, 20 } }, { 0, { 2, 10 }, { 3, 20 } },
        { 0, { 5, 20 }, { 6, 1 } },  { 0, { 1, 1 }, { 1, 9 } },   { 0, { 5, 12 }, { 5, 13 } },
    };
    size_t n = spans_unite(spans, array_count(spans), 0, 3);
    ck_assert_uint_eq(n, 3);
    ck_assert(spans[0].folder == 0 && spans[0].first.segment == 2 && spans[0].last.segment == 3);
    ck_assert(spans[1].first.segment == 5 && spans[1].first.offset == 10);
    ck_assert(spans[1].last.segment == 6 && spans[1].last.offset == 1);
    ck_assert(spans[2].folder == 1 && spans[2].last.offset == 20);
    n = spans_unite(spans, n, 0, 100); /* the highest stays */
    ck_assert_uint_eq(n, 2);
    ck_assert(spans[0].folder == 0 && spans[0].last.segment == 6 && spans[1].folder == 1);
    ck_assert_uint_eq(spans_unite(spans, 0, 0, 100), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("policy");
    TCase *t = tcase_create("policy");
    tcase_add_checked_fixture(t, setup_policy, teardown);
    tcase_add_test(t, a_flush_is_cut_where_the_policy_says);
    tcase_add_test(t, cuts_without_anything_between_them_make_no_files);
    tcase_add_test(t, a_cut_flush_comes_as_a_whole_or_not_at_all);
    tcase_add_test(t, files_say_how_much_of_the_ring_they_cover);
    tcase_add_test(t, whatever_changes_the_files_is_told);
    tcase_add_test(t, the_list_tells_of_files_and_holds_them);
    tcase_add_test(t, the_oldest_in_memory_counts_frozen_memtables_too);
    tcase_add_test(t, a_file_that_is_forgotten_is_read_no_more_and_stays_on_the_disk);
    tcase_add_test(t, acknowledgements_wait_by_the_size_of_what_was_written);
    tcase_add_test(t, what_is_too_little_to_wait_for_is_saved_up);
    tcase_add_test(t, a_write_that_waits_is_there_and_a_close_ends_its_wait);
    tcase_add_test(t, spans_that_meet_are_one_and_those_of_lost_segments_go);
    suite_add_tcase(suite, t);
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
