/* test_compact_beside.c - a compaction beside everything else: reads, flushes, TRUNCATE, DROP,
 * snapshots, the end of the store; stopped at every step, with every call failing.
 */
// SPDX-License-Identifier: Apache-2.0
#include "act.h"

/* ---- reads ---- */

static void slow_data(uint64_t generation, uint64_t ns)
{
    char path[SSTABLE_PATH_BYTES];
    sstable_path(file(generation), COMPONENT_DATA, path);
    sim_slow_file(s.sim, SIM_CLIENT(0), path, ns);
}

START_TEST(a_read_that_has_begun_sees_the_files_that_it_began_with)
{
    struct stage_look look = { .column = 1 };
    struct arena arena = { 0 };
    struct read_outcome outcome;
    struct io_req req = { 0 };
    struct read read = stage_read_of(table, "key3");
    put(3, "old", 1);
    flush();
    put(4, "old", 1);
    flush();
    prepare(LONG_AGO);
    slow_data(act.inputs[0], 5000000000);
    look.sink = (struct read_sink){ stage_look_partition, stage_look_row, read_ignore_range };
    store_read_start(s.store, &req, &s.op, &read, &arena, &look.sink, &outcome);
    act.expired[0] = act.inputs[0];
    act.options.expired_count = 1;
    act.options.inputs_count = 0;
    begin();
    ck_assert_int_eq(end(), OK);
    ck_assert(req.busy && names().data == 1);
    ck_assert(has_none(3));
    ck_assert_int_eq(stage_wait(&s, &req), OK);
    ck_assert(look.is_found);
    buf_deinit(&look.value);
    arena_deinit(&arena);
}
END_TEST

START_TEST(reads_see_the_same_rows_at_every_step)
{
    two_files();
    remove_key(5, 9);
    flush();
    prepare(LONG_AGO);
    begin();
    unsigned steps = 0;
    while (act.req.busy) {
        ck_assert(has(2, "new") && has(3, "old") && has_none(5) && has(KEYS, "new"));
        ck_assert(sim_step(s.sim));
        steps++;
    }
    ck_assert_int_eq(end(), OK);
    ck_assert_uint_gt(steps, 20);
    ck_assert(has(2, "new") && has(3, "old") && has_none(5) && has(KEYS, "new"));
}
END_TEST

START_TEST(it_works_in_slices_that_are_counted)
{
    big_file(1);
    big_file(2);
    ck_assert_int_eq(compact(NEVER), OK);
    check_big(2);
    ck_assert_uint_gt(act.result.slices, 3);
    ck_assert_uint_eq(act.result.slices_over, 0);
    ck_assert_uint_gt(act.result.slice_ns_max, 0);
    ck_assert_uint_lt(act.result.slice_ns_max, 1000000);
}
END_TEST

START_TEST(its_pace_is_asked_for_what_it_reads)
{
    big_file(1);
    big_file(2);
    uint64_t began = sim_now(s.sim);
    prepare(NEVER);
    begin_slowly();
    ck_assert_int_eq(end(), OK);
    check_big(2);
    ck_assert_uint_gt(sim_now(s.sim) - began, 2000000000); /* it has rested more than once */
}
END_TEST

/* ---- flushes ---- */

START_TEST(what_is_flushed_meanwhile_stays_beside_its_outputs)
{
    uint64_t left[FILES_MAX];
    big_file(1);
    big_file(2);
    prepare(NEVER);
    begin_slowly();
    put(3, "newer", 7);
    flush();
    ck_assert_int_eq(end(), OK);
    ck_assert_uint_eq(generations(left), 2);
    ck_assert(has(3, "newer"));
    reopen();
    ck_assert_uint_eq(generations(left), 2);
    ck_assert(has(3, "newer"));
}
END_TEST

START_TEST(what_comes_meanwhile_keeps_deletions_that_it_needs)
{
    big_file(1);
    remove_key(3, 5);
    remove_key(4, 5);
    remove_key(6, 5);
    flush();
    prepare(LONG_AGO);
    begin_slowly();
    put(3, "older", 4);
    flush(); /* in a file that was not there when it began */
    put(4, "older", 4);
    ck_assert_int_eq(end(), OK);
    ck_assert(has_none(3) && has_none(4) && has_none(6));
    ck_assert_uint_eq(act.result.partitions, BIG_KEYS - 1);
}
END_TEST

/* ---- stops ---- */

static void check_as_before(void)
{
    uint64_t left[FILES_MAX];
    ck_assert_uint_eq(generations(left), 2);
    ck_assert(!file(left[0])->is_busy && !file(left[1])->is_busy);
    ck_assert(names().data == 2 && names().temporary == 0);
    check_two_files();
}

START_TEST(stopped_at_any_step_it_leaves_its_inputs_or_its_outputs)
{
    uint64_t left[FILES_MAX];
    unsigned before = 0, after = 0;
    two_files();
    for (unsigned n = 0;; n++) {
        prepare(NEVER);
        begin();
        unsigned steps = 0;
        while (act.req.busy && steps < n && sim_step(s.sim))
            steps++;
        bool is_over = !act.req.busy;
        op_stop(&act.op, ERR_STOPPED);
        enum err err = end();
        ck_assert(err == OK || err == ERR_STOPPED);
        if (err == ERR_STOPPED) {
            ck_assert_uint_eq(after, 0); /* once its swap has begun it ends well */
            before++;
            check_as_before();
            continue;
        }
        after++;
        ck_assert_uint_eq(generations(left), 1);
        check_two_files();
        if (is_over)
            break;
        teardown();
        setup();
        two_files();
    }
    ck_assert_uint_gt(before, 20);
    ck_assert_uint_gt(after, 10);
}
END_TEST

START_TEST(a_stop_ends_its_rest)
{
    big_file(1);
    big_file(2);
    prepare(NEVER);
    begin_slowly();
    uint64_t began = sim_now(s.sim);
    op_stop(&act.op, ERR_STOPPED);
    ck_assert_int_eq(end(), ERR_STOPPED);
    ck_assert_uint_lt(sim_now(s.sim) - began, 100000000);
    ck_assert(names().data == 2 && names().temporary == 0);
    check_big(2);
}
END_TEST

START_TEST(a_store_that_closes_stops_it)
{
    big_file(1);
    big_file(2);
    prepare(NEVER);
    begin_slowly();
    ck_assert_int_eq(stage_close(&s), OK);
    ck_assert_int_eq(end(), ERR_STOPPED);
    ck_assert(names().data == 2 && names().temporary == 0);
    ck_assert_int_eq(stage_open_settled(&s), OK);
    check_big(2);
}
END_TEST

/* ---- TRUNCATE, DROP, snapshots ---- */

START_TEST(a_truncation_stops_it)
{
    big_file(1);
    big_file(2);
    prepare(NEVER);
    begin_slowly();
    ck_assert_int_eq(stage_truncate(&s, table), OK);
    ck_assert_int_eq(end(), ERR_STOPPED);
    ck_assert(has_none(3) && names().data == 0 && names().temporary == 0);
    reopen();
    ck_assert(has_none(3));
}
END_TEST

static struct store_held *hold(void)
{
    struct store_held *held = NULL;
    struct io_req req = { 0 };
    store_hold(s.store, &req, &s.op, &table->id, &held);
    ck_assert_int_eq(stage_wait(&s, &req), OK);
    return held;
}

static void let_time_pass(uint64_t ns)
{
    struct io_req req = { 0 };
    io_sleep(s.io, &req, &s.op, ns);
    ck_assert_int_eq(stage_wait(&s, &req), OK);
}

START_TEST(while_the_table_is_held_it_changes_nothing)
{
    big_file(1);
    big_file(2);
    prepare(NEVER);
    begin_slowly();
    struct store_held *held = hold();
    let_time_pass(100000000000);
    ck_assert(act.req.busy && names().data >= 2);
    check_big(2);
    store_release(s.store, &held, false);
    ck_assert_int_eq(end(), OK);
    held = hold();
    prepare(NEVER);
    begin();
    let_time_pass(1000000000);
    ck_assert(act.req.busy && act.result.slices == 0); /* it does not even begin */
    store_release(s.store, &held, false);
    ck_assert_int_eq(end(), OK);
    check_big(2);
}
END_TEST

START_TEST(a_hold_waits_for_a_swap_that_has_begun)
{
    two_files();
    prepare(NEVER);
    begin();
    while (!store_data(s.store, &table->id)->placings)
        ck_assert(sim_step(s.sim));
    ck_assert_int_eq(stage_truncate(&s, table), OK);
    ck_assert_int_eq(end(), OK);
    ck_assert(has_none(3) && names().data == 0 && names().temporary == 0);
}
END_TEST

START_TEST(a_drop_waits_until_it_has_ended)
{
    big_file(1);
    big_file(2);
    prepare(NEVER);
    begin_slowly();
    ck_assert_int_eq(stage_drop(&s, table), OK);
    ck_assert_int_eq(end(), ERR_STOPPED);
    ck_assert_uint_eq(names().files, 0);
}
END_TEST

START_TEST(a_table_that_nobody_knows_is_not_found)
{
    prepare(NEVER);
    act.options.table = uuid_named(bytes_text("another"));
    act.options.inputs_count = 1;
    begin();
    ck_assert_int_eq(end(), ERR_NOT_FOUND);
}
END_TEST

START_TEST(while_the_table_is_pinned_its_files_stay)
{
    struct io_req req = { 0 };
    two_files();
    store_pin(s.store, &req, &s.op, &table->id);
    ck_assert_int_eq(stage_wait(&s, &req), OK);
    prepare(NEVER);
    begin();
    put(7, "newest", 9);
    flush(); /* goes on */
    let_time_pass(1000000000);
    ck_assert(act.req.busy);
    ck_assert_uint_ge(names().data, 3);
    store_unpin(s.store, &table->id);
    ck_assert_int_eq(end(), OK);
    ck_assert_uint_eq(names().data, 2);
    ck_assert(has(7, "newest"));
}
END_TEST

START_TEST(a_pin_waits_for_a_swap_that_has_begun)
{
    struct io_req req = { 0 };
    two_files();
    prepare(NEVER);
    begin();
    while (!store_data(s.store, &table->id)->placings)
        ck_assert(sim_step(s.sim));
    store_pin(s.store, &req, &s.op, &table->id);
    ck_assert_int_eq(stage_wait(&s, &req), OK);
    ck_assert(!act.req.busy && names().data == 1);
    store_unpin(s.store, &table->id);
    ck_assert_int_eq(end(), OK);
}
END_TEST

/* ---- a full disk ---- */

static void sum_bytes(void *context, const char *path, uint64_t size)
{
    uint64_t *sum = context;
    (void)path;
    *sum += size;
}

/* A flush finds no space while a compaction that may need so much is on its way, and has the
 * reserve. */
static enum err compact_on_a_full_disk(uint64_t space_bytes)
{
    uint64_t used = 0;
    ck_assert_int_eq(stage_close(&s), OK);
    s.options.reserve_bytes = 1 << 20;
    ck_assert_int_eq(stage_open_settled(&s), OK);
    big_file(1);
    big_file(2);
    prepare(NEVER);
    act.options.space_bytes = space_bytes;
    begin_slowly();
    put(3, "newer", 7);
    sim_files(s.sim, SIM_CLIENT(0), sum_bytes, &used);
    sim_disk_size(s.sim, SIM_CLIENT(0), used + 100);
    (void)stage_flush(&s, table); /* tells that it has failed once */
    flush();
    ck_assert(space_is_short(s.store) && act.req.busy);
    enum err err = end();
    ck_assert(has(3, "newer") && names().temporary == 0);
    return err;
}

START_TEST(on_a_full_disk_it_goes_on_if_what_it_needs_is_free)
{
    ck_assert_int_eq(compact_on_a_full_disk(800000), OK);
    ck_assert_uint_eq(names().data, 2);
}
END_TEST

START_TEST(on_a_full_disk_it_gives_back_what_it_has_taken_if_not)
{
    ck_assert_int_eq(compact_on_a_full_disk(2000000), ERR_NO_SPACE);
    ck_assert(strstr(act.failed.text, "are free"));
    ck_assert_uint_eq(names().data, 3);
}
END_TEST

/* ---- calls that fail ---- */

/* False: there are not so many calls. */
static bool fail_nth_call(uint64_t n, uint64_t count, enum err with)
{
    setup();
    two_files();
    uint64_t calls = sim_disk_calls(s.sim, SIM_CLIENT(0));
    sim_fail_disk(s.sim, SIM_CLIENT(0), n, count, with);
    enum err err = compact(NEVER);
    calls = sim_disk_calls(s.sim, SIM_CLIENT(0)) - calls;
    sim_fail_disk(s.sim, SIM_CLIENT(0), 0, 0, OK);
    ck_assert(err == OK || (err == with && act.failed.text[0]));
    let_time_pass(200000000); /* files that go are closed by and by */
    check_two_files();
    if (err != OK)
        ck_assert_int_eq(compact(NEVER), OK);
    ck_assert_uint_eq(names().data, 1);
    check_two_files();
    reopen();
    ck_assert(names().data == 1 && names().temporary == 0);
    check_two_files();
    teardown();
    return calls >= n;
}

START_TEST(whichever_call_fails_the_rows_are_there_and_the_next_one_succeeds)
{
    const enum err with[] = { ERR_IO, ERR_NO_SPACE, ERR_FILES_LIMIT };
    uint64_t n = 1;
    teardown();
    while (fail_nth_call(n, 1, with[_i]))
        n++;
    ck_assert_uint_gt(n, 40);
    setup();
}
END_TEST

START_TEST(outputs_that_cannot_be_opened_are_tried_until_they_can)
{
    uint64_t left[FILES_MAX];
    two_files();
    prepare(NEVER);
    begin();
    while (names().data != 1 || names().temporary) /* the swap is over */
        ck_assert(sim_step(s.sim));
    sim_fail_disk(s.sim, SIM_CLIENT(0), 1, SIM_FOR_EVER, ERR_FILES_LIMIT);
    let_time_pass(2000000000);
    ck_assert(act.req.busy);
    op_stop(&act.op, ERR_STOPPED); /* is too late */
    ck_assert_uint_eq(generations(left), 2);
    check_two_files(); /* from files that have no names any more */
    let_time_pass(2000000000);
    ck_assert(act.req.busy);
    sim_fail_disk(s.sim, SIM_CLIENT(0), 0, 0, OK);
    ck_assert_int_eq(end(), OK);
    ck_assert_uint_eq(generations(left), 1);
    check_two_files();
}
END_TEST

START_TEST(what_is_written_and_waits_needs_no_more_space)
{
    struct io_req pin = { 0 }, req = { 0 };
    uint64_t used = 0;
    for (int64_t i = 1; i <= 4; i++)
        big_file(i);
    sim_files(s.sim, SIM_CLIENT(0), sum_bytes, &used);
    sim_disk_size(s.sim, SIM_CLIENT(0), used + (2 << 20));
    store_pin(s.store, &pin, &s.op, &table->id);
    ck_assert_int_eq(stage_wait(&s, &pin), OK);
    prepare(NEVER);
    act.options.inputs_count = 2;
    act.options.space_bytes = 3 << 19; /* more than it comes to */
    struct compact_options other = act.options;
    struct compact_result result;
    struct report failed;
    other.inputs += 2;
    other.space_bytes = 1 << 20;
    begin();
    let_time_pass(1000000000);
    ck_assert(act.req.busy);
    store_compact(s.store, &req, &s.op, &other, &act.arena, &result, &failed);
    let_time_pass(1000000000);
    store_unpin(s.store, &table->id);
    ck_assert_int_eq(end(), OK);
    ck_assert_int_eq(stage_wait(&s, &req), OK);
    check_big(4);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("compactions beside the rest");
    TCase *reads = tcase_create("reads and flushes");
    tcase_add_checked_fixture(reads, setup, teardown);
    tcase_add_test(reads, a_read_that_has_begun_sees_the_files_that_it_began_with);
    tcase_add_test(reads, reads_see_the_same_rows_at_every_step);
    tcase_add_test(reads, it_works_in_slices_that_are_counted);
    tcase_add_test(reads, its_pace_is_asked_for_what_it_reads);
    tcase_add_test(reads, what_is_flushed_meanwhile_stays_beside_its_outputs);
    tcase_add_test(reads, what_comes_meanwhile_keeps_deletions_that_it_needs);
    suite_add_tcase(suite, reads);
    TCase *stops = tcase_create("stops");
    tcase_set_timeout(stops, 60);
    tcase_add_checked_fixture(stops, setup, teardown);
    tcase_add_test(stops, stopped_at_any_step_it_leaves_its_inputs_or_its_outputs);
    tcase_add_test(stops, a_stop_ends_its_rest);
    tcase_add_test(stops, a_store_that_closes_stops_it);
    suite_add_tcase(suite, stops);
    TCase *still = tcase_create("tables that stand still");
    tcase_add_checked_fixture(still, setup, teardown);
    tcase_add_test(still, a_truncation_stops_it);
    tcase_add_test(still, while_the_table_is_held_it_changes_nothing);
    tcase_add_test(still, a_hold_waits_for_a_swap_that_has_begun);
    tcase_add_test(still, a_drop_waits_until_it_has_ended);
    tcase_add_test(still, a_table_that_nobody_knows_is_not_found);
    tcase_add_test(still, while_the_table_is_pinned_its_files_stay);
    tcase_add_test(still, a_pin_waits_for_a_swap_that_has_begun);
    suite_add_tcase(suite, still);
    TCase *full = tcase_create("a full disk");
    tcase_add_checked_fixture(full, setup, teardown);
    tcase_add_test(full, on_a_full_disk_it_goes_on_if_what_it_needs_is_free);
    tcase_add_test(full, on_a_full_disk_it_gives_back_what_it_has_taken_if_not);
    tcase_add_test(full, what_is_written_and_waits_needs_no_more_space);
    suite_add_tcase(suite, full);
    TCase *calls = tcase_create("calls that fail");
    tcase_set_timeout(calls, 120);
    tcase_add_checked_fixture(calls, setup, teardown);
    tcase_add_loop_test(calls, whichever_call_fails_the_rows_are_there_and_the_next_one_succeeds, 0,
                        3);
    tcase_add_test(calls, outputs_that_cannot_be_opened_are_tried_until_they_can);
    suite_add_tcase(suite, calls);
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
