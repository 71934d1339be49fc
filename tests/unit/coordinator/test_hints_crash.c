/* test_hints_crash.c - hints outlive every cut of their coordinator's power, every error of its
 * disk, and damage: what was kept is delivered, or counted.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/long.h"
#include "hints_ask.h"

enum { FIRST = 20, SECOND = 12 };

/* What a life has been told: kept[i] of the hint i. */
struct life_told {
    bool kept[FIRST + SECOND + 1];
    size_t count;
};

static bool is_alive(void) { return sim_alive(kit.rig.sim, 0); }

static void live_keep(struct life_told *told, unsigned from, unsigned count)
{
    for (unsigned i = from; i < from + count && is_alive(); i++) {
        told->kept[i] = kit_keep(2, 0, i) == OK;
        told->count += told->kept[i];
    }
}

/* Some are kept, delivered, marked; then some more, while the node may die at any change. */
static void live(struct life_told *told)
{
    live_keep(told, 1, FIRST);
    if (is_alive())
        rig_start(&kit.rig, 1, 1);
    uint64_t end = sim_now(kit.rig.sim) + 3 * rig_second;
    while (is_alive() && sim_now(kit.rig.sim) < end)
        ensure(sim_step(kit.rig.sim));
    live_keep(told, FIRST + 1, SECOND);
    end = sim_now(kit.rig.sim) + rig_second;
    while (is_alive() && sim_now(kit.rig.sim) < end)
        ensure(sim_step(kit.rig.sim));
}

static void walk(enum sim_walk_kind kind, uint64_t share)
{
    struct sim_walk walk = { .kind = kind, .share = share, .seed = 5 };
    do {
        struct life_told told = { 0 };
        kit_begin(11);
        kit_down(2);
        sim_walk_begin(&walk, kit.rig.sim, 0, NULL);
        live(&told);
        sim_walk_end(&walk, kit.rig.sim);
        kit_die(1);
        ck_assert_msg(kit_book(2, 0).written >= told.count, "%s", walk.what);
        if (!sim_alive(kit.rig.sim, 1))
            kit_up(2);
        kit_drain();
        for (unsigned i = 1; i <= FIRST + SECOND; i++)
            ck_assert_msg(!told.kept[i] || kit_times(2, i) > 0, "%s: hint %u is lost", walk.what,
                          i);
        struct hint_book b = kit_book(2, 0);
        ck_assert_msg(b.delivered == b.written, "%s", walk.what);
        kit_end();
    } while (sim_walk_next(&walk));
    ck_assert_uint_gt(walk.visited, 20);
}

START_TEST(every_cut_loses_nothing_that_was_kept) { walk(SIM_WALK_CUTS, is_long() ? 1 : 12); }
END_TEST

START_TEST(every_error_of_the_disk_loses_nothing_that_was_kept)
{
    walk(SIM_WALK_ERRORS, is_long() ? 1 : 12);
}
END_TEST

/* ---- damage ---- */

static const char *segment_path(unsigned number)
{
    static char path[200];
    char text[UUID_TEXT_BYTES];
    uuid_print(&cluster_ring(kit.rig.nodes[0].shards[0].cluster)->nodes[1].host_id, text);
    snprintf(path, sizeof path, "/hints/%s/0/%u.log", text, number);
    return path;
}

static int64_t lost_us; /* the least of what was told; 0: nothing */

static void note_lost(void *context, const int64_t *token, int64_t since_us)
{
    (void)context;
    ck_assert_ptr_null(token); /* it may be any */
    lost_us = lost_us && lost_us < since_us ? lost_us : since_us;
}

/* A hint of the first segment is damaged: found at the start, or by the pass that reads it.  What
 * it was for may be missing since the hint before it, at the earliest; of one that this process has
 * not kept itself, a minute longer, since a hint comes later than its write. */
START_TEST(what_is_damaged_is_counted)
{
    kit_begin(1);
    lost_us = 0;
    kit_close();
    kit.options.lost = note_lost;
    ck_assert_int_eq(kit_open(), OK);
    kit_down(2);
    int64_t begun_us = io_wall(kit.asker.io);
    kit_keep_all(2, 0, 1, 60); /* in blocks of their own, 14 or so a segment */
    if (_i == 0)
        kit_close();
    int64_t ended_us = io_wall(kit.asker.io);
    ck_assert_uint_gt(sim_file(kit.rig.sim, 0, segment_path(1)).size, 0);
    for (uint64_t block = 3; block < 6; block++)
        sim_file_flip(kit.rig.sim, 0, segment_path(1), (block * 4096 + 100) * 8);
    if (_i == 0)
        kit_die(1);
    kit_up(2);
    kit_drain();
    ck_assert_uint_eq(kit.got_count[1], 57);
    struct uuid none = { 0 };
    uint64_t damaged =
        kit_book(2, 0).dropped[HINT_DROP_DAMAGED] + kit_book_of(2, none).dropped[HINT_DROP_DAMAGED];
    ck_assert_uint_eq(damaged, 3);
    int64_t late_us = _i == 0 ? 60 * 1000000ll : 0;
    ck_assert_int_ge(lost_us, begun_us - late_us);
    ck_assert_int_lt(lost_us, ended_us - late_us);
    ck_assert_uint_eq(kit_counts().written, 60);
    ck_assert_uint_eq(kit_counts().delivered, 57);
    kit_pass(2000);
    kit_die(1);
    ck_assert_uint_eq(kit_counts().written, 60);
    ck_assert_uint_eq(kit_counts().dropped, 3);
    kit_end();
}
END_TEST

START_TEST(nothing_that_lies_there_stops_a_start)
{
    static const char *const paths[] = { "/hints/x", "/hints/owed/1.log", "/hints/%s/0/9.log",
                                         "/hints/%s/zz", "/hints/%s/3/1.log" };
    kit_begin(1);
    kit_down(2);
    kit_keep_all(2, 0, 1, 5);
    kit_close();
    uint8_t noise[9000];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)sim_draw(kit.rig.sim);
    char text[UUID_TEXT_BYTES], path[200];
    uuid_print(&cluster_ring(kit.rig.nodes[0].shards[0].cluster)->nodes[1].host_id, text);
    for (size_t i = 0; i < array_count(paths); i++) {
        const char *mark = strstr(paths[i], "%s");
        size_t before = mark ? (size_t)(mark - paths[i]) : strlen(paths[i]);
        snprintf(path, sizeof path, "%.*s%s%s", (int)before, paths[i], mark ? text : "",
                 mark ? mark + 2 : "");
        sim_file_set(kit.rig.sim, 0, path, 0, bytes_of(noise, sizeof noise));
    }
    kit_die(1);
    ck_assert_uint_eq(kit_book(2, 0).pending, 5);
    kit_up(2);
    kit_drain();
    ck_assert_uint_eq(kit.got_count[1], 5);
    kit_end();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hints crash");
    TCase *t = tcase_create("crashes");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_cut_loses_nothing_that_was_kept);
    tcase_add_test(t, every_error_of_the_disk_loses_nothing_that_was_kept);
    tcase_add_loop_test(t, what_is_damaged_is_counted, 0, 2);
    tcase_add_test(t, nothing_that_lies_there_stops_a_start);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
