/* test_sim_walk.c - wounds in the simulated disk: power that fails at a change, errors that only
 * some calls have, slow files, flipped bits; and walks over all of them.
 *
 * The scenario replaces a file as it should be done: write beside it, sync, rename, sync the
 * folder. Each of the two syncs can be left out, and then a walk must find a way to lose what was
 * promised.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/await.h"

#include <check.h>

static const struct sim_faults faults = { .disk_ns_max = 100000 };

static struct io *node_io;
static struct asker a;
static struct sim *s;

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
static void setup(void)
{
    s = sim_new(1, faults);
    sim_file_set(s, 0, "/d/live", 0, bytes_text("old"));
    boot();
}
static void teardown(void) { sim_free(s); }

static bool is_done(void) { return await_alive(s, 0, &a.req) == OK; }
static bool is_file(const char *path, const char *text)
{
    return bytes_equal(sim_file(s, 0, path), bytes_text(text));
}

enum { SKIP_NOTHING, SKIP_SYNC, SKIP_SYNC_DIR, SKIPS };

/* Whether it was acknowledged. */
static bool replace(int skip)
{
    struct io_file *f = NULL;
    io_open(a.io, &a.req, &a.op, "/d/new", IO_UPDATE, &f);
    if (!is_done())
        return false;
    io_write(a.io, &a.req, &a.op, f, "fresh", 5, 0);
    bool is_good = is_done();
    if (is_good && skip != SKIP_SYNC) {
        io_sync(a.io, &a.req, &a.op, f);
        is_good = is_done();
    }
    if (!sim_alive(s, 0))
        return false;
    io_close(a.io, &a.req, &a.op, &f);
    if (!is_done() || !is_good)
        return false;
    io_rename(a.io, &a.req, &a.op, "/d/new", "/d/live");
    if (!is_done())
        return false;
    if (skip == SKIP_SYNC_DIR)
        return true;
    io_sync_dir(a.io, &a.req, &a.op, "/d");
    return is_done();
}

/* ---- the power fails ---- */

START_TEST(the_power_fails_at_a_change_and_nothing_later_happens)
{
    struct io_req later[2] = { 0 };
    struct io_file *f = NULL;
    uint64_t changes = sim_disk_changes(s, 0);
    io_open(a.io, &a.req, &a.op, "/d/live", IO_UPDATE, &f);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_eq(sim_disk_changes(s, 0), changes); /* it was there */
    sim_kill_at(s, 0, 2, SIM_IMAGE_ALL, NULL);
    io_write(a.io, &a.req, &a.op, f, "1", 1, 0);
    ck_assert_int_eq(await(&a), OK);
    io_write(a.io, &a.req, &a.op, f, "2", 1, 1);    /* it fails here: this may still be there */
    io_write(a.io, &later[0], &a.op, f, "3", 1, 2); /* this not */
    io_remove(a.io, &later[1], &a.op, "/d/live");
    ck_assert(sim_alive(s, 0));
    ck_assert_int_eq(await_alive(s, 0, &a.req), ERR_STOPPED);
    ck_assert(!sim_alive(s, 0) && later[0].busy && later[1].busy);
    ck_assert(is_file("/d/live", "12d"));
    boot();
    io_open(a.io, &a.req, &a.op, "/d/other", IO_CREATE, &f); /* it has power again */
    ck_assert_int_eq(await(&a), OK);
}
END_TEST

static unsigned released;
static void note_release(void *context) { *(unsigned *)context += 1; }

START_TEST(the_kill_is_that_of_sim_kill)
{
    io_set_context(node_io, &released);
    sim_image(s, 0, SIM_IMAGE_NONE);
    sim_kill_at(s, 0, 1, SIM_IMAGE_ALL, note_release);
    io_mkdir(a.io, &a.req, &a.op, "/e");
    ck_assert_int_eq(await_alive(s, 0, &a.req), ERR_STOPPED);
    ck_assert_uint_eq(released, 1);
    boot();
    io_mkdir(a.io, &a.req, &a.op, "/g");
    ck_assert_int_eq(await(&a), OK);
    sim_kill(s, 0, NULL); /* by the image that was set before */
    boot();
    struct io_stat stat;
    io_stat(a.io, &a.req, &a.op, "/e", &stat);
    ck_assert_int_eq(await(&a), OK);
    io_stat(a.io, &a.req, &a.op, "/g", &stat);
    ck_assert_int_eq(await(&a), ERR_NOT_FOUND);
    sim_kill_at(s, 0, 1, SIM_IMAGE_ALL, NULL);
    sim_kill_at(s, 0, 0, SIM_IMAGE_ALL, NULL); /* forgotten */
    io_mkdir(a.io, &a.req, &a.op, "/h");
    ck_assert_int_eq(await(&a), OK);
}
END_TEST

/* ---- errors ---- */

START_TEST(errors_come_only_where_they_can)
{
    struct io_file *f = NULL;
    sim_fail_disk(s, 0, 1, SIM_FOR_EVER, ERR_FILES_LIMIT);
    io_open(a.io, &a.req, &a.op, "/d/live", IO_UPDATE, &f);
    ck_assert_int_eq(await(&a), ERR_FILES_LIMIT);
    io_rename(a.io, &a.req, &a.op, "/d/live", "/d/moved");
    ck_assert_int_eq(await(&a), OK);
    io_sync_dir(a.io, &a.req, &a.op, "/d");
    ck_assert_int_eq(await(&a), ERR_FILES_LIMIT);
    sim_fail_disk(s, 0, 1, SIM_FOR_EVER, ERR_NO_SPACE);
    io_open(a.io, &a.req, &a.op, "/d/moved", IO_UPDATE, &f);
    ck_assert_int_eq(await(&a), OK);
    char got[3];
    io_read(a.io, &a.req, &a.op, f, got, 3, 0);
    ck_assert_int_eq(await(&a), OK);
    io_write(a.io, &a.req, &a.op, f, "more", 4, 3);
    ck_assert_int_eq(await(&a), ERR_NO_SPACE);
    ck_assert_uint_le(sim_file(s, 0, "/d/moved").size, 7);
    sim_fail_disk(s, 0, 0, 0, OK);
    io_write(a.io, &a.req, &a.op, f, "more", 4, 3);
    ck_assert_int_eq(await(&a), OK);
}
END_TEST

START_TEST(a_full_disk_takes_what_fits_and_no_more)
{
    bool seen[6] = { false };
    for (int i = 0; i < 40; i++) {
        struct io_file *f = NULL;
        io_open(a.io, &a.req, &a.op, "/d/live", IO_UPDATE, &f);
        ck_assert_int_eq(await(&a), OK);
        sim_disk_size(s, 0, 8); /* five more */
        io_write(a.io, &a.req, &a.op, f, "1234567890", 10, 3);
        ck_assert_int_eq(await(&a), ERR_NO_SPACE);
        size_t size = sim_file(s, 0, "/d/live").size;
        ck_assert(size >= 3 && size <= 8);
        seen[size - 3] = true;
        io_close(a.io, &a.req, &a.op, &f);
        ck_assert_int_eq(await(&a), OK);
        sim_file_cut(s, 0, "/d/live", 3);
    }
    for (int i = 0; i < 6; i++)
        ck_assert(seen[i]);
}
END_TEST

/* ---- slow files, flipped bits, lists ---- */

START_TEST(a_slow_file_delays_no_other)
{
    char got[3];
    size_t n;
    struct io_req slow = { 0 };
    struct io_file *f = NULL, *g = NULL;
    sim_file_set(s, 0, "/d/quick", 0, bytes_text("old"));
    sim_slow_file(s, 0, "/d/live", 5000000000);
    uint64_t began = sim_now(s);
    io_open(a.io, &slow, &a.op, "/d/live", IO_UPDATE, &f);
    io_open(a.io, &a.req, &a.op, "/d/quick", IO_UPDATE, &g);
    ck_assert_int_eq(await(&a), OK);
    io_read(a.io, &a.req, &a.op, g, got, 3, 0);
    ck_assert_int_eq(await(&a), OK);
    ck_assert_uint_lt(sim_now(s) - began, 1000000);
    ck_assert_int_eq(await_req(s, &slow), OK);
    ck_assert_uint_ge(sim_now(s) - began, 5000000000);
    ck_assert_int_eq(io_read_now(a.io, f, got, 3, 0, &n), ERR_WOULD_WAIT);
    ck_assert_int_eq(io_read_now(a.io, g, got, 3, 0, &n), OK);
    sim_slow_file(s, 0, "/d/live", 0);
    ck_assert_int_eq(io_read_now(a.io, f, got, 3, 0, &n), OK);
}
END_TEST

START_TEST(a_flipped_bit_is_flipped_until_it_is_flipped_again)
{
    sim_file_flip(s, 0, "/d/live", 8 + 0);
    ck_assert(is_file("/d/live", "omd"));
    sim_kill(s, 0, NULL);
    boot();
    ck_assert(is_file("/d/live", "omd"));
    sim_file_flip(s, 0, "/d/live", 8);
    ck_assert(is_file("/d/live", "old"));
}
END_TEST

static char listed[200];
static void note_file(void *context, const char *path, uint64_t size_bytes)
{
    (void)context;
    size_t n = strlen(listed);
    snprintf(listed + n, sizeof listed - n, "%s:%d ", path, (int)size_bytes);
}

START_TEST(all_files_are_listed_by_their_paths)
{
    sim_file_set(s, 0, "/d/x/y/z", 0, bytes_text("1"));
    sim_file_set(s, 0, "/a", 0, bytes_text("22"));
    sim_file_set(s, 0, "/e", 0, bytes_text(""));
    sim_files(s, 0, note_file, NULL);
    ck_assert_str_eq(listed, "/a:2 /d/live:3 /d/x/y/z:1 /e:0 ");
}
END_TEST

/* ---- walks ---- */

/* What a round may leave: the old file as long as nothing was acknowledged, or the new one. */
static bool round_is_good(struct sim_walk *w, int skip)
{
    setup();
    sim_walk_begin(w, s, 0, NULL);
    bool is_acked = replace(skip);
    sim_walk_end(w, s);
    if (sim_alive(s, 0)) {
        sim_image(s, 0, SIM_IMAGE_NONE);
        sim_kill(s, 0, NULL);
    }
    bool is_good = is_file("/d/live", "fresh") || (!is_acked && is_file("/d/live", "old"));
    teardown();
    return is_good;
}

START_TEST(a_walk_of_cuts_finds_each_sync_that_is_left_out)
{
    struct sim_walk w = { .kind = SIM_WALK_CUTS };
    unsigned bad = 0, rounds = 0;
    do {
        bad += !round_is_good(&w, _i);
        rounds++;
    } while (sim_walk_next(&w));
    ck_assert_uint_eq(w.total, 4 * (_i == SKIP_NOTHING ? 5 : 4));
    ck_assert_uint_eq(w.visited, w.total);
    ck_assert_uint_eq(rounds, w.total + 1);
    ck_assert_msg((bad > 0) == (_i != SKIP_NOTHING), "%u of %u", bad, rounds);
}
END_TEST

START_TEST(a_walk_of_errors_visits_every_call_with_every_error)
{
    struct sim_walk w = { .kind = SIM_WALK_ERRORS };
    bool has_error[ERR_COUNT] = { false };
    do {
        ck_assert_msg(round_is_good(&w, SKIP_NOTHING), "%s", w.what);
        has_error[ERR_IO] |= strstr(w.what, "ERR_IO") != NULL;
        has_error[ERR_NO_SPACE] |= strstr(w.what, "ERR_NO_SPACE") != NULL;
        has_error[ERR_FILES_LIMIT] |= strstr(w.what, "ERR_FILES_LIMIT") != NULL;
    } while (sim_walk_next(&w));
    ck_assert_uint_eq(w.total, 6 * 6);
    ck_assert(has_error[ERR_IO] && has_error[ERR_NO_SPACE] && has_error[ERR_FILES_LIMIT]);
}
END_TEST

START_TEST(a_share_of_a_walk_is_about_that_share)
{
    uint64_t visited = 0, total = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sim_walk w = { .kind = SIM_WALK_CUTS, .share = 4, .seed = seed };
        do
            ck_assert(round_is_good(&w, SKIP_NOTHING));
        while (sim_walk_next(&w));
        visited += w.visited;
        total += w.total;
    }
    ck_assert_uint_gt(visited, total / 5);
    ck_assert_uint_lt(visited, total / 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_walk");
    TCase *t = tcase_create("wounds");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, the_power_fails_at_a_change_and_nothing_later_happens);
    tcase_add_test(t, the_kill_is_that_of_sim_kill);
    tcase_add_test(t, errors_come_only_where_they_can);
    tcase_add_test(t, a_full_disk_takes_what_fits_and_no_more);
    tcase_add_test(t, a_slow_file_delays_no_other);
    tcase_add_test(t, a_flipped_bit_is_flipped_until_it_is_flipped_again);
    tcase_add_test(t, all_files_are_listed_by_their_paths);
    suite_add_tcase(suite, t);
    TCase *walks = tcase_create("walks");
    tcase_add_loop_test(walks, a_walk_of_cuts_finds_each_sync_that_is_left_out, 0, SKIPS);
    tcase_add_test(walks, a_walk_of_errors_visits_every_call_with_every_error);
    tcase_add_test(walks, a_share_of_a_walk_is_about_that_share);
    suite_add_tcase(suite, walks);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
