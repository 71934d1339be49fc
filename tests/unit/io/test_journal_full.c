/* test_journal_full.c - disks that are full, refuse or fail: what is refused says why, what was
 * acknowledged stays, and a journal that can go on does so by itself; how far apart syncs are.
 */
// SPDX-License-Identifier: Apache-2.0
#include "journal_bench.h"

#include <check.h>

static const struct sim_faults slow = { .disk_ns_max = 1000000 };
static const uint64_t second = 1100000000; /* and a little */

static struct seen seen;

/* Everything acknowledged is there; where the mode promises that. */
static void check_acked(struct bench *b, const char *what)
{
    ck_assert_int_eq(bench_read(b, &seen), OK);
    for (unsigned n = 0; n < b->count; n++) {
        const struct io_req *req = &b->appends[n];
        bool is_acked = !req->busy && req->err == OK && b->options.mode != JOURNAL_PERIODIC;
        ck_assert_msg(!is_acked || seen_find(&seen, n) != SIZE_MAX, "%s: lost %u", what, n);
    }
}

/* ---- no space in the middle ---- */

START_TEST(a_write_without_space_is_refused_and_the_next_goes_on)
{
    struct bench *b = bench_new((uint64_t)_i, slow, (enum journal_mode)(_i % 3));
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_int_eq(bench_append_all(b, 2), OK);
    await_ns(&b->asker, second); /* PERIODIC: it is synced */
    sim_fail_disk(b->sim, 0, 1, 1, ERR_NO_SPACE);
    ck_assert_int_eq(bench_append_all(b, 3), ERR_NO_SPACE);
    unsigned from = 2, upto = b->count;
    ck_assert_int_eq(journal_state(b->journal), ERR_NO_SPACE);
    uint64_t calls = sim_disk_calls(b->sim, 0);
    ck_assert_int_eq(bench_append_all(b, 2), ERR_NO_SPACE); /* at once, without asking the disk */
    ck_assert_uint_eq(sim_disk_calls(b->sim, 0), calls);
    upto = b->count;
    await_ns(&b->asker, second);
    ck_assert_int_eq(journal_state(b->journal), OK);
    ck_assert_int_eq(bench_append_all(b, 2), OK);
    ck_assert_uint_eq(journal_end(b->journal).segment, 1); /* in the same one */
    ck_assert_int_eq(bench_close(b), OK);
    check_acked(b, "closed");
    for (unsigned n = from; n < upto; n++) /* the gap covers what had been written of them */
        ck_assert(b->appends[n].err == OK || seen_find(&seen, n) == SIZE_MAX);
    ck_assert_uint_eq(seen.replay.torn_bytes, 0);
    bench_free(b);
}
END_TEST

START_TEST(a_poke_ends_the_wait_for_space)
{
    struct bench *b = bench_new(3, slow, JOURNAL_GROUP);
    ck_assert_int_eq(bench_open(b), OK);
    sim_disk_size(b->sim, 0, SEGMENT + 100); /* what it has, and no more */
    while (bench_append_all(b, 1) == OK)
        continue;
    ck_assert_int_eq(journal_state(b->journal), ERR_NO_SPACE);
    sim_disk_size(b->sim, 0, 10 * SEGMENT);
    ck_assert_int_eq(bench_append_all(b, 1), ERR_NO_SPACE);
    journal_poke(b->journal);
    ck_assert_int_eq(journal_state(b->journal), OK);
    ck_assert_int_eq(bench_append_all(b, 1), OK);
    ck_assert_int_eq(bench_close(b), OK);
    check_acked(b, "closed");
    bench_free(b);
}
END_TEST

/* The write had put some or all of it there; what comes next goes into another segment. */
START_TEST(what_was_refused_is_not_read_though_its_segment_is_left)
{
    struct bench *b = bench_new((uint64_t)_i, slow, _i % 2 ? JOURNAL_GROUP : JOURNAL_BATCH);
    b->size_max = 100;
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_int_eq(bench_append_all(b, 2), OK);
    sim_fail_disk(b->sim, 0, 1, 1, ERR_NO_SPACE);
    for (unsigned i = 0; i < 2 * SEGMENT / 4096; i++)
        ck_assert_int_eq(bench_append_all(b, 1), ERR_NO_SPACE);
    unsigned upto = b->count;
    await_ns(&b->asker, second);
    ck_assert_int_eq(bench_append_all(b, 2), OK);
    ck_assert_uint_gt(journal_place(&b->appends[upto]).segment,
                      journal_place(&b->appends[1]).segment);
    ck_assert_int_eq(bench_close(b), OK);
    check_acked(b, "closed");
    for (unsigned n = 2; n < upto; n++)
        ck_assert_msg(seen_find(&seen, n) == SIZE_MAX, "%u was refused", n);
    bench_free(b);
}
END_TEST

/* While there is no space, a segment is not tried again and again. */
START_TEST(a_full_disk_is_asked_once_a_second)
{
    struct bench *b = bench_new(4, slow, JOURNAL_GROUP);
    ck_assert_int_eq(bench_open(b), OK);
    sim_disk_size(b->sim, 0, SEGMENT + 100);
    for (int i = 0; i < 100; i++)
        (void)!bench_append_all(b, 1);
    ck_assert_int_eq(journal_state(b->journal), ERR_NO_SPACE);
    uint64_t calls = sim_disk_calls(b->sim, 0);
    for (int i = 0; i < 50; i++) {
        await_ns(&b->asker, 100000000);
        ck_assert_int_eq(bench_append_all(b, 1), ERR_NO_SPACE);
    }
    ck_assert_uint_ge(sim_disk_calls(b->sim, 0) - calls,
                      4 * 4); /* create, allocate, close, remove */
    ck_assert_uint_le(sim_disk_calls(b->sim, 0) - calls, 6 * 4);
    ck_assert_int_eq(bench_close(b), OK);
    check_acked(b, "closed");
    bench_free(b);
}
END_TEST

START_TEST(a_journal_opens_on_a_full_disk_and_writes_when_there_is_space)
{
    struct bench *b = bench_new(8, slow, JOURNAL_GROUP);
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_int_eq(bench_append_all(b, 3), OK);
    ck_assert_int_eq(bench_close(b), OK);
    sim_disk_size(b->sim, 0, SEGMENT + 10);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(bench_open(b), OK);
        ck_assert_int_eq(journal_state(b->journal), ERR_NO_SPACE);
        ck_assert_int_eq(bench_append_all(b, 1), ERR_NO_SPACE);
        if (round == 0)
            ck_assert_int_eq(bench_close(b), OK);
    }
    sim_disk_size(b->sim, 0, 10 * SEGMENT);
    await_ns(&b->asker, second);
    ck_assert_int_eq(bench_append_all(b, 40), OK);
    ck_assert_int_eq(bench_close(b), OK);
    check_acked(b, "closed");
    ck_assert_uint_eq(sim_open_blocks(b->sim, 0), 0);
    bench_free(b);
}
END_TEST

/* ---- every call, every error ---- */

/* Some appends, a segment given up, some more; false when it could not be opened. */
static bool live(struct bench *b)
{
    if (bench_open(b) != OK)
        return false;
    for (int i = 0; i < 5; i++) {
        (void)!bench_append_all(b, 9);
        if (i == 2 && b->appends[b->count - 1].err == OK)
            (void)!bench_forget(b, journal_place(&b->appends[b->count - 1]).segment);
    }
    return true;
}

/* It goes on, or tells for ever why not. */
static void check_resumes(struct bench *b, const char *what)
{
    await_ns(&b->asker, second);
    enum err state = journal_state(b->journal);
    enum err err = bench_append_all(b, 1);
    ck_assert_msg(err == state, "%s: said %s, was %s", what, err_name(state), err_name(err));
    await_ns(&b->asker, 100 * second);
    ck_assert_msg(journal_state(b->journal) == state, "%s", what);
    ck_assert_msg(bench_close(b) == state, "%s", what);
    ck_assert_uint_eq(sim_open_handles(b->sim, 0), 0);
    ck_assert_uint_eq(sim_open_blocks(b->sim, 0), 0);
}

START_TEST(whichever_call_fails_and_however_nothing_acknowledged_is_lost)
{
    struct sim_walk walk = { .kind = SIM_WALK_ERRORS };
    unsigned broken = 0, whole = 0;
    do {
        struct bench *b = bench_new(5, slow, JOURNAL_GROUP);
        b->options.spares_max = (unsigned)_i;
        sim_walk_begin(&walk, b->sim, 0, NULL);
        bool is_open = live(b);
        sim_walk_end(&walk, b->sim);
        if (is_open) {
            broken += journal_state(b->journal) == ERR_IO;
            whole += journal_state(b->journal) == OK;
            uint64_t forgotten = 0;
            for (unsigned n = 0; n < b->count; n++)
                if (n == 26 && b->appends[n].err == OK)
                    forgotten = journal_place(&b->appends[n]).segment;
            check_resumes(b, walk.what);
            for (unsigned n = 0; n < 26 && n < b->count; n++) /* those may be gone */
                if (journal_place(&b->appends[n]).segment < forgotten)
                    b->appends[n].err = ERR_STOPPED;
        }
        bench_crash(b, SIM_IMAGE_NONE);
        check_acked(b, walk.what);
        bench_free(b);
    } while (sim_walk_next(&walk));
    ck_assert(broken > 20 && whole > 20);
}
END_TEST

static bool goes_on(struct bench *b, struct io_req *req)
{
    enum err err = await_alive(b->sim, 0, req);
    return err == OK && sim_alive(b->sim, 0);
}

/* Lives on to its end or until it is killed; segments below what it returns were given up. */
static uint64_t live_alone(struct bench *b)
{
    uint64_t forgotten = 0;
    sim_act(node_io);
    journal_open(b->asker.io, &b->asker.req, &b->asker.op, &b->options, &b->journal);
    bool is_on = goes_on(b, &b->asker.req);
    for (int i = 0; i < 60 && is_on; i++) {
        bench_append(b);
        is_on = goes_on(b, &b->appends[i]);
        if (!is_on || i % 20 != 19)
            continue;
        forgotten = journal_place(&b->appends[i]).segment;
        sim_act(node_io);
        journal_forget(b->journal, &b->asker.req, &b->asker.op, forgotten);
        is_on = goes_on(b, &b->asker.req);
    }
    return forgotten;
}

START_TEST(wherever_the_power_fails_nothing_acknowledged_is_lost)
{
    struct sim_walk walk = { .kind = SIM_WALK_CUTS };
    do {
        struct bench *b = bench_new(6, slow, JOURNAL_GROUP);
        b->options.spares_max = (unsigned)_i;
        sim_walk_begin(&walk, b->sim, 0, NULL);
        uint64_t forgotten = live_alone(b);
        sim_walk_end(&walk, b->sim);
        for (unsigned n = 0; n < b->count; n++)
            if (journal_place(&b->appends[n]).segment < forgotten)
                b->appends[n].err = ERR_STOPPED;
        if (sim_alive(b->sim, 0))
            sim_kill(b->sim, 0, NULL);
        bench_start(b);
        check_acked(b, walk.what);
        bench_free(b);
    } while (sim_walk_next(&walk));
    ck_assert_uint_gt(walk.visited, 300);
}
END_TEST

/* ---- a failed sync ---- */

START_TEST(after_a_failed_sync_nothing_is_written_and_the_cause_stays)
{
    static const enum sim_image images[] = { SIM_IMAGE_NONE, SIM_IMAGE_ALL, SIM_IMAGE_PREFIX,
                                             SIM_IMAGE_SECTORS };
    static const enum err causes[] = { ERR_IO, ERR_NO_SPACE };
    enum err cause = causes[_i / 4]; /* whatever it is, it does not pass */
    struct bench *b = bench_new((uint64_t)_i, slow, JOURNAL_GROUP);
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_int_eq(bench_append_all(b, 5), OK);
    struct journal_position proven = journal_end(b->journal);
    sim_fail_disk(b->sim, 0, 2, 1, cause); /* the run, then its sync */
    ck_assert_int_eq(bench_append_all(b, 3), ERR_IO);
    uint64_t changes = sim_disk_changes(b->sim, 0);
    for (int i = 0; i < 5; i++) {
        await_ns(&b->asker, 1000 * second);
        journal_poke(b->journal);
        ck_assert_int_eq(journal_state(b->journal), ERR_IO);
        ck_assert_int_eq(bench_append_all(b, 2), ERR_IO);
    }
    ck_assert_uint_eq(sim_disk_changes(b->sim, 0), changes);
    bench_crash(b, images[_i % 4]);
    check_acked(b, "after the failed sync");
    ck_assert(seen.count >= 5 && seen.count <= 8); /* proven; what else verifies, of that run */
    for (size_t i = 0; i < seen.count; i++)
        ck_assert(seen.numbers[i] < 5 || !place_is_less(seen.places[i], proven));
    ck_assert_uint_eq(seen.count, 5); /* the kernel had given the bytes up */
    bench_free(b);
}
END_TEST

/* ---- when ---- */

START_TEST(a_window_keeps_syncs_apart_but_delays_no_lonely_append)
{
    struct bench *b = bench_new(7, (struct sim_faults){ .disk_ns_max = 1000 }, JOURNAL_GROUP);
    const uint64_t window = 10000000;
    b->options.window_ns = window;
    ck_assert_int_eq(bench_open(b), OK);
    await_ns(&b->asker, window);
    uint64_t began = sim_now(b->sim);
    ck_assert_int_eq(bench_append_all(b, 1), OK);
    ck_assert_uint_lt(sim_now(b->sim) - began, 100000); /* it had been quiet before */
    uint64_t syncs = journal_counts(b->journal)->syncs;
    for (int i = 0; i < 100; i++) { /* 50 ms */
        bench_append(b);
        await_ns(&b->asker, 500000);
    }
    for (unsigned n = 0; n < b->count; n++)
        ck_assert_int_eq(await_req(b->sim, &b->appends[n]), OK);
    syncs = journal_counts(b->journal)->syncs - syncs;
    ck_assert(syncs >= 4 && syncs <= 6);
    await_ns(&b->asker, 2 * window);
    began = sim_now(b->sim);
    ck_assert_int_eq(bench_append_all(b, 1), OK);
    ck_assert_uint_lt(sim_now(b->sim) - began, 100000);
    began = sim_now(b->sim);
    ck_assert_int_eq(bench_append_all(b, 1), OK);
    ck_assert_uint_ge(sim_now(b->sim) - began, window - 200000);
    began = sim_now(b->sim);
    ck_assert_int_eq(bench_append_all(b, 100), OK); /* more than a batch holds: it goes at once */
    ck_assert_uint_le(sim_now(b->sim) - began, 2 * window);
    ck_assert_int_eq(bench_close(b), OK);
    check_acked(b, "closed");
    bench_free(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("journal_full");
    TCase *t = tcase_create("full");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_write_without_space_is_refused_and_the_next_goes_on, 0, 24);
    tcase_add_test(t, a_poke_ends_the_wait_for_space);
    tcase_add_loop_test(t, what_was_refused_is_not_read_though_its_segment_is_left, 0, 20);
    tcase_add_test(t, a_full_disk_is_asked_once_a_second);
    tcase_add_test(t, a_journal_opens_on_a_full_disk_and_writes_when_there_is_space);
    tcase_add_loop_test(t, whichever_call_fails_and_however_nothing_acknowledged_is_lost, 0, 3);
    tcase_add_loop_test(t, wherever_the_power_fails_nothing_acknowledged_is_lost, 0, 3);
    tcase_add_loop_test(t, after_a_failed_sync_nothing_is_written_and_the_cause_stays, 0, 8);
    tcase_add_test(t, a_window_keeps_syncs_apart_but_delays_no_lonely_append);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
