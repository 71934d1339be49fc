/* test_hints.c - hints are kept and delivered in order, or refused; the books balance. */
// SPDX-License-Identifier: Apache-2.0
#include "hints_ask.h"

/* ---- keeping and delivering ---- */

START_TEST(what_a_node_missed_comes_in_order_when_it_returns)
{
    kit_begin((uint64_t)_i);
    kit_down(2);
    kit_keep_all(2, 0, 1, 50);
    kit_keep_all(2, 1, 51, 5);
    ck_assert_uint_eq(kit_counts().written, 55);
    ck_assert_uint_eq(kit_counts().pending, 55);
    ck_assert_int_ne(kit_book(2, 0).oldest_us, 0);
    ck_assert_uint_eq(kit.got_count[1], 0);
    kit_up(2);
    kit_drain();
    ck_assert_uint_eq(kit.got_count[1], 55);
    for (unsigned i = 0; i < 55; i++)
        ck_assert_uint_eq(strtoul(kit.got[1][i].text, NULL, 10), i + 1);
    ck_assert_uint_eq(kit_book(2, 0).delivered, 50);
    ck_assert_uint_eq(kit_book(2, 1).delivered, 5);
    ck_assert_int_eq(kit_book(2, 0).oldest_us, 0);
    ck_assert_uint_eq(kit.got_count[2], 0);
    kit_end();
}
END_TEST

START_TEST(a_node_that_is_up_gets_its_hints_too)
{
    kit_begin(1);
    kit_keep_all(3, 0, 1, 3);
    kit_drain();
    kit_keep_all(3, 0, 4, 3);
    kit_drain();
    ck_assert_uint_eq(kit.got_count[2], 6);
    kit_end();
}
END_TEST

START_TEST(this_node_itself_is_a_target)
{
    kit_begin(1);
    kit.applies = ERR_OVERLOADED;
    kit_keep_all(1, 0, 1, 5);
    kit_pass(2000);
    ck_assert_uint_eq(kit_counts().pending, 5);
    kit.applies = OK;
    kit_drain();
    ck_assert_uint_eq(kit.got_count[0], 5);
    ck_assert_uint_eq(kit_book(1, 0).delivered, 5);
    kit_end();
}
END_TEST

/* A coordinator's new life: totals hold, though segments have been forgotten. */
START_TEST(totals_hold_across_restarts)
{
    kit_begin((uint64_t)_i);
    uint64_t written = 0;
    for (unsigned round = 0; round < 4; round++) {
        kit_down(2);
        kit_keep_all(2, 0, 1 + round * 300, 300);
        written += 300;
        if (round % 2)
            kit_close();
        kit_die(1);
        ck_assert_uint_eq(kit_book(2, 0).written, written);
        ck_assert_uint_eq(kit_book(2, 0).pending, 300);
        kit_up(2);
        kit_drain();
        kit_pass(200);
        ck_assert_uint_eq(kit_book(2, 0).delivered, written);
        kit_die(1);
        ck_assert_uint_eq(kit_book(2, 0).written, written);
        ck_assert_uint_eq(kit_book(2, 0).delivered, written);
    }
    ck_assert_uint_eq(kit.got_count[1], 1200);
    kit_end();
}
END_TEST

START_TEST(what_is_delivered_leaves_the_disk)
{
    static uint8_t bytes[2000];
    struct hint_keep keeps[200];
    kit_begin(3);
    kit_down(2);
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < array_count(keeps); i++) {
            keeps[i] = (struct hint_keep){ 0 };
            ck_assert_int_eq(kit_keep_bytes(2, 0, bytes_of(bytes, 2000), &keeps[i]), OK);
        }
        ck_assert_uint_ge(kit_counts().bytes, 400000);
        kit_up(2);
        kit_drain();
        kit_pass(1000);
        ck_assert_uint_le(kit_counts().bytes, 4 * KIT_SEGMENT);
        kit_down(2);
    }
    kit_end();
}
END_TEST

START_TEST(a_mutation_larger_than_a_record_comes_whole)
{
    static const size_t sizes[] = { 1, KIT_SEGMENT / 4, KIT_SEGMENT, 300000 };
    uint8_t *bytes = mem_zalloc(300000);
    kit_begin(1);
    kit_down(2);
    for (size_t i = 0; i < 300000; i++)
        bytes[i] = (uint8_t)(1 + i * i % 251);
    for (size_t i = 0; i < array_count(sizes); i++) {
        struct hint_keep keep = { 0 };
        ck_assert_int_eq(kit_keep_bytes(2, 0, bytes_of(bytes, sizes[i]), &keep), OK);
    }
    kit_die(1);
    ck_assert_uint_eq(kit_counts().pending, 4);
    kit_up(2);
    kit_drain();
    ck_assert_uint_eq(kit.got_count[1], 4);
    for (size_t i = 0; i < array_count(sizes); i++)
        ck_assert_uint_eq(kit.got[1][i].size, sizes[i]);
    kit_end();
    mem_free(bytes);
}
END_TEST

/* A folder of a shard that there is no more is somebody's. */
/* More than the window of a pass, and nothing else that happens. */
START_TEST(many_hints_are_delivered_at_once_when_a_node_returns)
{
    static uint8_t text[8192];
    kit_begin(1);
    kit_down(2);
    for (unsigned i = 0; i < 400; i++) {
        struct hint_keep keep = { 0 };
        snprintf((char *)text, 16, "%u", i);
        ck_assert_int_eq(kit_keep_bytes(2, 0, bytes_of(text, sizeof text), &keep), OK);
    }
    kit_pass(2000);
    kit_up(2);
    ck_assert(rig_until(&kit.rig, kit_is_drained, 5));
    ck_assert_uint_eq(kit.got_count[1], 400);
    kit_end();
}
END_TEST

/* A write that took long may be hinted behind others that began later. */
START_TEST(no_pending_hint_is_older_than_its_book_says)
{
    char text[16];
    kit_begin(1);
    kit_down(2);
    kit_pass(9000);
    int64_t least_us = INT64_MAX;
    for (unsigned i = 0; i < 12; i++) {
        uint64_t ago = i % 3 == 2 ? 5000 * kit_ms : 0;
        struct hint_keep keep = { .begun_ns = io_now(kit.asker.io) - ago };
        snprintf(text, sizeof text, "%u", i);
        int64_t begun_us = io_wall(kit.asker.io) - (int64_t)(ago / 1000);
        ck_assert_int_eq(kit_keep_bytes(2, 0, bytes_text(text), &keep), OK);
        least_us = begun_us < least_us ? begun_us : least_us;
        ck_assert_int_le(kit_book(2, 0).oldest_us, least_us);
        kit_pass(100);
    }
    kit_up(2);
    int64_t before_us = kit_book(2, 0).oldest_us;
    while (kit_counts().pending > 0) {
        int64_t oldest_us = kit_book(2, 0).oldest_us;
        ck_assert_int_ge(oldest_us, before_us);
        before_us = oldest_us;
        ck_assert(sim_step(kit.rig.sim));
    }
    ck_assert_int_eq(kit_book(2, 0).oldest_us, 0);
    kit_end();
}
END_TEST

START_TEST(hints_of_former_shards_are_delivered)
{
    kit_begin(1);
    kit_down(2);
    kit_keep_all(2, 0, 1, 10);
    kit_close();
    char from[200] = "", to[200];
    const struct uuid *host = &cluster_ring(kit.rig.nodes[0].shards[0].cluster)->nodes[1].host_id;
    char text[UUID_TEXT_BYTES];
    uuid_print(host, text);
    snprintf(from, sizeof from, "/hints/%s/0/1.log", text);
    snprintf(to, sizeof to, "/hints/%s/7/1.log", text);
    struct bytes file = sim_file(kit.rig.sim, 0, from);
    ck_assert_ptr_nonnull(file.data);
    uint8_t *copy = mem_alloc(file.size);
    memcpy(copy, file.data, file.size);
    sim_file_set(kit.rig.sim, 0, to, 0, bytes_of(copy, file.size));
    mem_free(copy);
    kit_die(1);
    ck_assert_uint_eq(kit_book(2, 0).written, 20);
    kit_keep_all(2, 0, 21, 5);
    kit_up(2);
    kit_drain();
    ck_assert_uint_eq(kit.got_count[1], 25);
    kit_pass(1000);
    kit_die(1);
    ck_assert_uint_eq(kit_book(2, 0).delivered, 25);
    kit_end();
}
END_TEST

/* ---- answers ---- */

START_TEST(an_answer_decides_for_each_hint_by_itself)
{
    kit_begin(1);
    kit_down(2);
    kit_keep_all(2, 0, 1, 6);
    kit.says_of[2] = ERR_NOT_FOUND;
    kit.says_of[3] = ERR_CORRUPT;
    kit.says_of[4] = ERR_OVERLOADED;
    kit.says_of[5] = ERR_LIMIT;
    kit_up(2);
    kit_pass(3000);
    ck_assert_uint_eq(kit_times(2, 1), 1);
    ck_assert_uint_eq(kit_times(2, 6), 1); /* what has been done is not asked for again */
    ck_assert_uint_gt(kit.asked[1], 1);
    ck_assert_uint_ge(kit_book(2, 0).pending, 1);
    kit.says_of[4] = OK;
    kit_drain();
    struct hint_book b = kit_book(2, 0);
    ck_assert_uint_eq(b.delivered, 3);
    ck_assert_uint_eq(b.dropped[HINT_DROP_NO_TABLE], 1);
    ck_assert_uint_eq(b.dropped[HINT_DROP_REFUSED], 2);
    kit_end();
}
END_TEST

START_TEST(an_overloaded_target_is_asked_seldom)
{
    kit_begin(1);
    kit_down(2);
    kit_keep_all(2, 0, 1, 10);
    kit.says[1] = ERR_OVERLOADED;
    kit_up(2);
    kit_pass(20000);
    ck_assert_uint_ge(kit.asked[1], 5);
    ck_assert_uint_le(kit.asked[1], 12);
    kit.says[1] = OK;
    kit_drain();
    ck_assert_uint_eq(kit.got_count[1], 10);
    kit_end();
}
END_TEST

START_TEST(a_target_that_dies_again_and_again_gets_all_of_it)
{
    kit_begin((uint64_t)_i);
    kit_down(2);
    kit_keep_all(2, 0, 1, 400);
    sim_set_faults(kit.rig.sim, (struct sim_faults){ .net_ns_max = 3000000 });
    for (unsigned round = 0; round < 6; round++) {
        kit_up(2);
        kit_pass(3 * round);
        kit_down(2);
    }
    kit_up(2);
    kit_drain();
    for (unsigned i = 1; i <= 400; i++)
        ck_assert_uint_ge(kit_times(2, i), 1);
    ck_assert_uint_eq(kit_book(2, 0).delivered, 400);
    kit_end();
}
END_TEST

START_TEST(silence_is_asked_again)
{
    kit_begin(1);
    kit_down(3);
    kit_keep_all(3, 0, 1, 3);
    kit.says[2] = ERR_OVERLOADED;
    kit_up(3);
    kit_pass(1000);
    kit.says[2] = OK;
    kit_drain();
    ck_assert_uint_eq(kit.got_count[2], 3);
    kit_end();
}
END_TEST

START_TEST(the_throttle_holds)
{
    static uint8_t bytes[1000];
    kit_begin(1);
    kit_down(2);
    for (unsigned i = 0; i < 100; i++) {
        struct hint_keep keep = { 0 };
        ck_assert_int_eq(kit_keep_bytes(2, 0, bytes_of(bytes, sizeof bytes), &keep), OK);
    }
    sim_act(kit.asker.io);
    hints_set_throttle(kit.hints, 10000);
    kit_up(2);
    uint64_t began = sim_now(kit.rig.sim);
    kit_pass(3000);
    ck_assert_uint_ge(kit.got_count[1], 20);
    ck_assert_uint_le(kit.got_count[1], 40);
    kit_drain();
    ck_assert_uint_ge(sim_now(kit.rig.sim) - began, 9 * rig_second);
    ck_assert_uint_le(sim_now(kit.rig.sim) - began, 12 * rig_second);
    kit_end();
}
END_TEST

START_TEST(delivery_is_paused_and_goes_on)
{
    kit_begin(1);
    kit_down(2);
    kit_keep_all(2, 0, 1, 10);
    sim_act(kit.asker.io);
    hints_set_on(kit.hints, false);
    kit_up(2);
    kit_pass(5000);
    ck_assert_uint_eq(kit.got_count[1], 0);
    kit_keep_all(2, 0, 11, 1);
    sim_act(kit.asker.io);
    hints_set_on(kit.hints, true);
    kit_drain();
    ck_assert_uint_eq(kit.got_count[1], 11);
    kit_end();
}
END_TEST

/* ---- refused ---- */

static enum hint_refusal refused(unsigned node)
{
    struct hint_keep keep = { 0 };
    ck_assert_int_eq(kit_keep_bytes(node, 0, bytes_text("x"), &keep), ERR_REFUSED);
    return keep.why;
}

START_TEST(hand_off_that_is_off_keeps_nothing)
{
    kit_begin(1);
    kit_close();
    kit.options.is_on = _i == 0;
    kit.options.folder = _i == 0 ? "" : "/hints";
    ck_assert_int_eq(kit_open(), OK);
    ck_assert_int_eq(hints_would_refuse(kit.hints, 2), HINT_REFUSED_OFF);
    ck_assert_int_eq(refused(2), HINT_REFUSED_OFF);
    ck_assert_uint_eq(kit_counts().refused, 1);
    ck_assert_uint_eq(kit_counts().written, 0);
    kit_end();
}
END_TEST

START_TEST(past_the_window_nothing_is_kept)
{
    kit_begin(1);
    kit.options.window_ns = 60 * rig_second;
    kit_close();
    ck_assert_int_eq(kit_open(), OK);
    kit_down(2);
    kit_keep_all(2, 0, 1, 1);
    kit_pass(30000);
    kit_keep_all(2, 0, 2, 1);
    ck_assert_int_eq(hints_would_refuse(kit.hints, 2), HINT_REFUSALS_COUNT);
    kit_pass(31000);
    ck_assert_int_eq(refused(2), HINT_REFUSED_WINDOW);
    ck_assert_int_eq(hints_would_refuse(kit.hints, 3), HINT_REFUSALS_COUNT);
    kit_up(2);
    kit_keep_all(2, 0, 3, 1);
    kit_drain();
    ck_assert_uint_eq(kit_times(2, 3), 1);
    kit_end();
}
END_TEST

START_TEST(past_the_size_nothing_is_kept)
{
    static uint8_t bytes[1000];
    kit_begin(1);
    kit.options.bytes_max = 20000;
    kit_close();
    ck_assert_int_eq(kit_open(), OK);
    kit_down(2);
    unsigned kept = 0;
    struct hint_keep keep = { 0 };
    while (kit_keep_bytes(2, 0, bytes_of(bytes, sizeof bytes), &keep) == OK)
        keep = (struct hint_keep){ 0 }, kept++;
    ck_assert_int_eq(keep.why, HINT_REFUSED_SIZE);
    ck_assert_uint_ge(kept, 18);
    ck_assert_uint_le(kept, 20);
    kit_die(1);
    ck_assert_int_eq(refused(2), HINT_REFUSED_SIZE);
    kit_up(2);
    kit_drain();
    ck_assert_int_eq(hints_would_refuse(kit.hints, 2), HINT_REFUSALS_COUNT);
    kit_end();
}
END_TEST

START_TEST(a_broken_disk_refuses_and_says_so)
{
    kit_begin(1);
    kit_down(2);
    kit_keep_all(2, 0, 1, 5);
    sim_fail_disk(kit.rig.sim, 0, 1, SIM_FOR_EVER, ERR_IO);
    ck_assert_int_eq(refused(2), HINT_REFUSED_DISK);
    ck_assert_int_eq(refused(2), HINT_REFUSED_DISK);
    ck_assert_int_eq(hints_would_refuse(kit.hints, 2), HINT_REFUSED_DISK);
    ck_assert_uint_eq(kit_counts().pending, 5);
    sim_fail_disk(kit.rig.sim, 0, 0, 0, ERR_IO);
    kit_up(2);
    kit_drain();
    ck_assert_uint_eq(kit.got_count[1], 5);
    kit_end();
}
END_TEST

START_TEST(a_full_disk_refuses_until_there_is_room)
{
    static uint8_t bytes[8000];
    kit_begin(1);
    kit_down(2);
    kit_keep_all(2, 0, 1, 5);
    sim_disk_size(kit.rig.sim, 0, 1);
    enum err err = OK;
    for (unsigned i = 0; err == OK && i < 100; i++) {
        struct hint_keep keep = { 0 };
        err = kit_keep_bytes(2, 0, bytes_of(bytes, sizeof bytes), &keep);
    }
    ck_assert_int_eq(err, ERR_REFUSED);
    sim_disk_size(kit.rig.sim, 0, 1ull << 40);
    kit_pass(3000);
    kit_keep_all(2, 0, 6, 1);
    kit_up(2);
    kit_drain();
    ck_assert_uint_eq(kit_times(2, 6), 1);
    uint64_t written = kit_counts().written;
    kit_pass(2000);
    kit_die(1);
    ck_assert_uint_eq(kit_counts().written, written); /* what was refused is not there */
    kit_end();
}
END_TEST

static TCase *delivering(void)
{
    TCase *t = tcase_create("delivering");
    tcase_add_loop_test(t, what_a_node_missed_comes_in_order_when_it_returns, 0, 5);
    tcase_add_test(t, a_node_that_is_up_gets_its_hints_too);
    tcase_add_test(t, this_node_itself_is_a_target);
    tcase_add_loop_test(t, totals_hold_across_restarts, 0, 3);
    tcase_add_test(t, what_is_delivered_leaves_the_disk);
    tcase_add_test(t, many_hints_are_delivered_at_once_when_a_node_returns);
    tcase_add_test(t, no_pending_hint_is_older_than_its_book_says);
    tcase_add_test(t, a_mutation_larger_than_a_record_comes_whole);
    tcase_add_test(t, hints_of_former_shards_are_delivered);
    tcase_add_test(t, an_answer_decides_for_each_hint_by_itself);
    tcase_add_test(t, an_overloaded_target_is_asked_seldom);
    tcase_add_loop_test(t, a_target_that_dies_again_and_again_gets_all_of_it, 0, 5);
    tcase_add_test(t, silence_is_asked_again);
    tcase_add_test(t, the_throttle_holds);
    tcase_add_test(t, delivery_is_paused_and_goes_on);
    return t;
}

static TCase *refusing(void)
{
    TCase *t = tcase_create("refusing");
    tcase_add_loop_test(t, hand_off_that_is_off_keeps_nothing, 0, 2);
    tcase_add_test(t, past_the_window_nothing_is_kept);
    tcase_add_test(t, past_the_size_nothing_is_kept);
    tcase_add_test(t, a_broken_disk_refuses_and_says_so);
    tcase_add_test(t, a_full_disk_refuses_until_there_is_room);
    return t;
}

int main(void)
{
    Suite *s = suite_create("hints");
    suite_add_tcase(s, delivering());
    suite_add_tcase(s, refusing());
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
