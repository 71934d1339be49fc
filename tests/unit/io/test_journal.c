/* test_journal.c - what is appended is read back, in order; full disks, limits, forgetting, damage.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "base/hash.h"
#include "io/journal_format.h"
#include "journal_bench.h"

#include <check.h>

static const struct sim_faults slow = { .disk_ns_max = 1000000 };
static const enum journal_mode modes[] = { JOURNAL_GROUP, JOURNAL_BATCH, JOURNAL_PERIODIC };

/* ---- round trips ---- */

START_TEST(what_is_appended_is_read_back_in_order)
{
    struct bench *b = bench_new((uint64_t)_i, slow, modes[_i % 3]);
    struct seen seen = { 0 };
    ck_assert_int_eq(bench_read(b, &seen), OK); /* a missing folder has no records */
    ck_assert_uint_eq(seen.count, 0);
    for (int round = 0; round < 3; round++) {
        ck_assert_int_eq(bench_open(b), OK);
        ck_assert_int_eq(journal_state(b->journal), OK);
        ck_assert_int_eq(bench_append_all(b, 1 + (unsigned)_i * 7), OK);
        ck_assert_int_eq(bench_append_all(b, 1), OK);
        ck_assert_uint_eq(journal_counts(b->journal)->appends, b->count / (round + 1u));
        ck_assert_int_eq(bench_close(b), OK);
        ck_assert_int_eq(bench_read(b, &seen), OK);
        check_all(b, &seen);
        ck_assert_uint_eq(sim_open_handles(b->sim, 0), 0);
        ck_assert_uint_eq(sim_open_blocks(b->sim, 0), 0);
    }
    bench_free(b);
}
END_TEST

static enum err see_sizes(void *context, struct bytes record, struct journal_position at)
{
    size_t **next = context;
    (void)at;
    *(*next)++ = record.size;
    return OK;
}

START_TEST(records_of_one_byte_and_of_half_a_segment)
{
    struct bench *b = bench_new(1, slow, JOURNAL_GROUP);
    struct journal_replay replay;
    struct io_req reqs[4] = { 0 };
    size_t sizes[4] = { 0 }, *next = sizes;
    uint8_t *bytes = mem_zalloc(SEGMENT);
    bytes[0] = 1;
    ck_assert_int_eq(bench_open(b), OK);
    sim_act(node_io);
    for (int i = 0; i < 4; i++)
        journal_append(b->journal, &reqs[i], &b->asker.op,
                       bytes_of(bytes, i % 2 ? SEGMENT / 2 : 1));
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(await_req(b->sim, &reqs[i]), OK);
    ck_assert_int_eq(bench_close(b), OK);
    journal_read(b->asker.io, &b->asker.req, &b->asker.op, "/data/log", see_sizes, &next, &replay);
    ck_assert_int_eq(await(&b->asker), OK);
    ck_assert_uint_eq(replay.records, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(sizes[i], i % 2 ? SEGMENT / 2 : 1);
    mem_free(bytes);
    bench_free(b);
}
END_TEST

START_TEST(many_appends_share_few_syncs)
{
    struct bench *b = bench_new(1, slow, modes[_i]);
    ck_assert_int_eq(bench_open(b), OK);
    b->size_max = 10;
    ck_assert_int_eq(bench_append_all(b, 1), OK);
    uint64_t before = journal_counts(b->journal)->syncs;
    ck_assert_int_eq(bench_append_all(b, 100), OK);
    uint64_t syncs = journal_counts(b->journal)->syncs - before;
    if (modes[_i] == JOURNAL_GROUP)
        ck_assert_uint_le(syncs, 2);
    if (modes[_i] == JOURNAL_BATCH)
        ck_assert_uint_ge(syncs, 100);
    if (modes[_i] == JOURNAL_PERIODIC)
        ck_assert_uint_le(syncs, 1);
    ck_assert_int_eq(bench_close(b), OK);
    bench_free(b);
}
END_TEST

START_TEST(an_appender_that_is_late_shares_the_next_sync)
{
    struct bench *b = bench_new(3, slow, JOURNAL_GROUP);
    ck_assert_int_eq(bench_open(b), OK);
    bench_append(b);
    for (int i = 0; i < 3; i++)
        sim_step(b->sim); /* the first one is under way */
    ck_assert_int_eq(bench_append_all(b, 10), OK);
    ck_assert_int_eq(b->appends[0].err, OK);
    ck_assert_uint_eq(journal_counts(b->journal)->syncs, 2);
    ck_assert_int_eq(bench_close(b), OK);
    bench_free(b);
}
END_TEST

START_TEST(periodic_syncs_in_its_time)
{
    struct bench *b = bench_new(3, slow, JOURNAL_PERIODIC);
    struct seen seen = { 0 };
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_int_eq(bench_append_all(b, 3), OK);
    await_ns(&b->asker, 30000000);
    sim_image(b->sim, 0, SIM_IMAGE_NONE);
    sim_kill(b->sim, 0, NULL);
    bench_start(b);
    ck_assert_int_eq(bench_read(b, &seen), OK);
    check_all(b, &seen);
    bench_free(b);
}
END_TEST

START_TEST(an_error_of_the_receiver_ends_the_replay)
{
    struct bench *b = bench_new(3, slow, JOURNAL_GROUP);
    struct seen seen = { .answer = ERR_INVALID };
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_int_eq(bench_append_all(b, 3), OK);
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_int_eq(bench_read(b, &seen), ERR_INVALID);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_uint_eq(sim_open_handles(b->sim, 0), 0);
    bench_free(b);
}
END_TEST

/* ---- space ---- */

START_TEST(a_limit_refuses_and_forgetting_makes_room)
{
    struct bench *b = bench_new(5, slow, JOURNAL_GROUP);
    struct seen seen = { 0 };
    b->options.total_bytes_max = 3 * SEGMENT;
    ck_assert_int_eq(bench_open(b), OK);
    enum err err = OK;
    while (err == OK && b->count < 1000)
        err = bench_append_all(b, 1);
    ck_assert_int_eq(err, ERR_NO_SPACE);
    ck_assert_int_eq(journal_state(b->journal), ERR_NO_SPACE);
    ck_assert_uint_le(journal_counts(b->journal)->disk_bytes, 3 * SEGMENT);
    ck_assert_int_eq(bench_append_all(b, 1), ERR_NO_SPACE);
    sim_act(node_io);
    journal_forget(b->journal, &b->asker.req, &b->asker.op, 3);
    ck_assert_int_eq(await(&b->asker), OK);
    ck_assert_int_eq(journal_state(b->journal), OK);
    ck_assert_uint_eq(journal_counts(b->journal)->disk_bytes, SEGMENT);
    unsigned resumed = b->count;
    ck_assert_int_eq(bench_append_all(b, 1), OK);
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_int_eq(bench_read(b, &seen), OK);
    ck_assert_uint_eq(seen.numbers[seen.count - 1], resumed);
    ck_assert(sim_file(b->sim, 0, "/data/log/1.log").data == NULL);
    ck_assert(sim_file(b->sim, 0, "/data/log/2.log").data == NULL);
    bench_free(b);
}
END_TEST

START_TEST(a_full_disk_refuses_and_resumes_by_itself)
{
    struct bench *b = bench_new(5, slow, JOURNAL_GROUP);
    struct seen seen = { 0 };
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_int_eq(bench_append_all(b, 1), OK);
    sim_disk_size(b->sim, 0, 2 * SEGMENT + 100);
    unsigned good = b->count;
    while (bench_append_all(b, 1) == OK)
        good = b->count;
    ck_assert_uint_gt(good, 20);
    ck_assert_int_eq(journal_state(b->journal), ERR_NO_SPACE);
    sim_disk_size(b->sim, 0, 100 * SEGMENT);
    await_ns(&b->asker, 1100000000);
    ck_assert_int_eq(journal_state(b->journal), OK);
    b->count = good; /* the refused ones never were */
    ck_assert_int_eq(bench_append_all(b, 40), OK);
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_int_eq(bench_read(b, &seen), OK);
    check_all(b, &seen);
    bench_free(b);
}
END_TEST

START_TEST(forgetting_all_keeps_what_is_being_filled)
{
    struct bench *b = bench_new(5, slow, JOURNAL_GROUP);
    struct seen seen = { 0 };
    struct io_req twice = { 0 };
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_int_eq(bench_append_all(b, 60), OK);
    ck_assert_uint_gt(b->appends[59].size, b->appends[0].size); /* the segment of a record */
    sim_act(node_io);
    journal_forget(b->journal, &b->asker.req, &b->asker.op, 1000000);
    journal_forget(b->journal, &twice, &b->asker.op, 2);
    ck_assert_int_eq(await(&b->asker), OK);
    ck_assert_int_eq(await_req(b->sim, &twice), OK);
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_int_eq(bench_read(b, &seen), OK);
    ck_assert_uint_gt(seen.count, 0);
    ck_assert_uint_eq(seen.numbers[seen.count - 1], 59);
    bench_free(b);
}
END_TEST

/* ---- failing calls ---- */

START_TEST(a_failed_write_or_sync_breaks_the_journal_for_good)
{
    struct bench *b = bench_new((uint64_t)_i, slow, modes[_i % 3]);
    struct seen seen = { 0 };
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_int_eq(bench_append_all(b, 5), OK);
    unsigned good = b->count;
    sim_fail_disk(b->sim, 0, 1, 1, ERR_IO);
    enum err err = bench_append_all(b, 1);
    for (int i = 0; i < 20 && err == OK; i++) {
        good = modes[_i % 3] == JOURNAL_PERIODIC ? good : b->count;
        await_ns(&b->asker, 20000000);
        err = bench_append_all(b, 1);
    }
    ck_assert_int_eq(err, ERR_IO);
    ck_assert_int_eq(journal_state(b->journal), ERR_IO);
    ck_assert_int_eq(bench_append_all(b, 3), ERR_IO);
    ck_assert_int_eq(bench_close(b), ERR_IO);
    ck_assert_int_eq(bench_read(b, &seen), OK);
    ck_assert_uint_ge(seen.count, good);
    ck_assert_uint_eq(sim_open_handles(b->sim, 0), 0);
    ck_assert_uint_eq(sim_open_blocks(b->sim, 0), 0);
    bench_free(b);
}
END_TEST

/* The n-th disk call fails, for every n until nothing fails any more. */
START_TEST(whichever_call_fails_no_acknowledged_record_is_lost)
{
    for (uint64_t nth = 1;; nth++) {
        struct bench *b = bench_new(nth, slow, JOURNAL_GROUP);
        struct seen seen = { 0 };
        sim_fail_disk(b->sim, 0, nth, 1, ERR_IO);
        uint64_t calls = sim_disk_calls(b->sim, 0);
        if (bench_open(b) == OK) {
            for (int i = 0; i < 8; i++)
                (void)!bench_append_all(b, 7);
            (void)!bench_close(b);
        }
        bool is_over = sim_disk_calls(b->sim, 0) - calls < nth;
        ck_assert_uint_eq(sim_open_handles(b->sim, 0), 0);
        ck_assert_uint_eq(sim_open_blocks(b->sim, 0), 0);
        sim_fail_disk(b->sim, 0, 0, 0, OK);
        sim_kill(b->sim, 0, NULL);
        bench_start(b);
        ck_assert_int_eq(bench_read(b, &seen), OK);
        size_t k = 0;
        for (unsigned i = 0; i < b->count; i++) {
            bool is_there = k < seen.count && seen.numbers[k] == i;
            ck_assert_msg(is_there || b->appends[i].err != OK, "call %d: lost %u", (int)nth, i);
            k += is_there;
        }
        ck_assert_uint_eq(k, seen.count);
        bench_free(b);
        if (is_over)
            break;
    }
}
END_TEST

/* ---- damage ---- */

/* A journal of two segments, closed; where its parts are on the disk. */
static struct bench *written(unsigned records)
{
    struct bench *b = bench_new(9, slow, JOURNAL_GROUP);
    b->size_max = 600;
    ck_assert_int_eq(bench_open(b), OK);
    for (unsigned i = 0; i < records; i++)
        ck_assert_int_eq(bench_append_all(b, 1), OK);
    ck_assert_int_eq(bench_close(b), OK);
    return b;
}

static void flip(struct bench *b, const char *path, size_t at)
{
    struct bytes file = sim_file(b->sim, 0, path);
    ck_assert_uint_lt(at, file.size);
    uint8_t byte = file.data[at] ^ (uint8_t)(1u << at % 8);
    sim_file_set(b->sim, 0, path, at, bytes_of(&byte, 1));
}

START_TEST(a_flipped_bit_in_the_proven_part_is_a_hole_and_says_where)
{
    struct bench *b = written(30);
    struct seen seen = { 0 };
    size_t first_end = 15 * 4096; /* of the runs that later ones prove, in 1.log */
    for (size_t at = 0; at < first_end; at += at < 8192 ? 7 : 97) {
        flip(b, "/data/log/1.log", at);
        ck_assert_int_eq(bench_read(b, &seen), ERR_CORRUPT);
        ck_assert_uint_eq(seen.replay.bad.segment, 1);
        ck_assert_uint_eq(seen.replay.bad.offset / 4096, at / 4096);
        ck_assert_str_eq(seen.replay.bad_file, "/data/log/1.log");
        flip(b, "/data/log/1.log", at);
    }
    ck_assert_int_eq(bench_read(b, &seen), OK);
    check_all(b, &seen);
    bench_free(b);
}
END_TEST

START_TEST(a_flipped_bit_in_the_unproven_tail_is_torn_and_counted)
{
    struct bench *b = written(3); /* head, three runs, the proof: only that is unproven */
    struct seen seen = { 0 };
    for (size_t at = 4 * 4096; at < 5 * 4096; at++) {
        flip(b, "/data/log/1.log", at);
        ck_assert_int_eq(bench_read(b, &seen), OK);
        ck_assert_uint_eq(seen.count, 3);
        flip(b, "/data/log/1.log", at);
    }
    struct bytes zeros = bytes_of((uint8_t[4096]){ 0 }, 4096);
    sim_file_set(b->sim, 0, "/data/log/1.log", 4 * 4096, zeros); /* as if killed before the close */
    for (size_t at = 3 * 4096; at < 4 * 4096; at++) {
        flip(b, "/data/log/1.log", at);
        ck_assert_int_eq(bench_read(b, &seen), OK);
        ck_assert_uint_ge(seen.count, 2);
        ck_assert(seen.count == 3 || seen.replay.torn_bytes > 0);
        flip(b, "/data/log/1.log", at);
    }
    bench_free(b);
}
END_TEST

START_TEST(a_missing_segment_is_a_hole)
{
    struct bench *b = written(60); /* four segments */
    struct seen seen = { 0 };
    struct asker *a = &b->asker;
    io_remove(a->io, &a->req, &a->op, "/data/log/2.log");
    ck_assert_int_eq(await(a), OK);
    ck_assert_int_eq(bench_read(b, &seen), ERR_CORRUPT);
    ck_assert_uint_eq(seen.replay.bad.segment, 2);
    ck_assert_uint_eq(seen.replay.bad.offset, 0);
    bench_free(b);
}
END_TEST

START_TEST(a_stale_or_misdirected_block_is_seen)
{
    struct bench *b = written(30);
    struct seen seen = { 0 };
    uint8_t block[4096];
    memcpy(block, sim_file(b->sim, 0, "/data/log/1.log").data + 5 * 4096, sizeof block);
    sim_file_set(b->sim, 0, "/data/log/1.log", 6 * 4096, bytes_of(block, sizeof block));
    ck_assert_int_eq(bench_read(b, &seen), ERR_CORRUPT);
    ck_assert_uint_eq(seen.replay.bad.offset, 6 * 4096);
    bench_free(b);
}
END_TEST

START_TEST(a_log_of_a_newer_version_is_refused)
{
    struct bench *b = written(1);
    struct seen seen = { 0 };
    uint8_t mark[JOURNAL_MARK_BYTES];
    memcpy(mark, sim_file(b->sim, 0, "/data/log/1.log").data, sizeof mark);
    put_be16(mark + 56, JOURNAL_VERSION + 1);
    put_be32(mark + 4, crc32c_of(0, bytes_of(mark + 8, sizeof mark - 8)));
    sim_file_set(b->sim, 0, "/data/log/1.log", 0, bytes_of(mark, sizeof mark));
    ck_assert_int_eq(bench_read(b, &seen), ERR_NEWER);
    ck_assert_uint_eq(seen.count, 0);
    bench_free(b);
}
END_TEST

START_TEST(a_file_cut_at_any_byte_is_read_without_harm)
{
    struct bench *b = written(2);
    struct seen seen = { 0 };
    for (size_t size = 5 * 4096 + 10;; size--) {
        sim_file_cut(b->sim, 0, "/data/log/1.log", size);
        enum err err = bench_read(b, &seen);
        ck_assert(err == OK || err == ERR_CORRUPT);
        ck_assert_uint_le(seen.count, 2);
        ck_assert(size < 4 * 4096 || seen.count == 2);
        if (size == 0)
            break;
    }
    ck_assert_uint_eq(seen.count, 0);
    bench_free(b);
}
END_TEST

START_TEST(garbage_and_foreign_names_are_no_records)
{
    struct bench *b = bench_new(9, slow, JOURNAL_GROUP);
    struct seen seen = { 0 };
    uint8_t noise[9000];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)sim_draw(b->sim);
    sim_file_set(b->sim, 0, "/data/log/7.log", 0, bytes_of(noise, sizeof noise));
    sim_file_set(b->sim, 0, "/data/log/x.log", 0, bytes_of(noise, sizeof noise));
    sim_file_set(b->sim, 0, "/data/log/08.log", 0, bytes_of(noise, sizeof noise));
    sim_file_set(b->sim, 0, "/data/log/lock", 0, bytes_of(noise, 0));
    ck_assert_int_eq(bench_read(b, &seen), OK);
    ck_assert_uint_eq(seen.count, 0);
    ck_assert_uint_eq(seen.replay.torn_bytes, sizeof noise);
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_int_eq(bench_append_all(b, 2), OK);
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_int_eq(bench_read(b, &seen), OK);
    ck_assert_uint_eq(seen.count, 2);
    ck_assert_uint_eq(seen.last.segment, 8);
    bench_free(b);
}
END_TEST

/* Bytes changed, blocks zeroed, moved, repeated: records that come are records that were. */
static void damage(struct bench *b, const char *path)
{
    uint8_t bytes[8192] = { 0 };
    struct bytes file = sim_file(b->sim, 0, path);
    ck_assert_uint_eq(file.size, SEGMENT);
    size_t from = sim_draw(b->sim) % (file.size - sizeof bytes);
    size_t to = sim_draw(b->sim) % (file.size - sizeof bytes);
    size_t size = 1 + sim_draw(b->sim) % sizeof bytes;
    switch (sim_draw(b->sim) % 4) {
    case 0:
        flip(b, path, to);
        return;
    case 1:
        memcpy(bytes, file.data + from, size);
        break;
    case 2:
        from -= from % 4096;
        to -= to % 4096;
        size = 4096;
        memcpy(bytes, file.data + from, size);
        break;
    default:
        break;
    }
    sim_file_set(b->sim, 0, path, to, bytes_of(bytes, size));
}

START_TEST(whatever_is_damaged_nothing_is_invented)
{
    struct bench *b = bench_new((uint64_t)_i, slow, JOURNAL_GROUP);
    struct seen seen = { 0 };
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_int_eq(bench_append_all(b, 20), OK);
    ck_assert_int_eq(bench_append_all(b, 29), OK);
    if (_i % 2)
        ck_assert_int_eq(bench_close(b), OK);
    for (int i = 0; i < 12; i++) {
        damage(b, i % 3 ? "/data/log/1.log" : "/data/log/2.log");
        enum err err = bench_read(b, &seen);
        ck_assert(err == OK || err == ERR_CORRUPT);
        for (size_t k = 1; k < seen.count; k++)
            ck_assert_uint_lt(seen.numbers[k - 1], seen.numbers[k]);
    }
    bench_free(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("journal");
    TCase *t = tcase_create("journal");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, what_is_appended_is_read_back_in_order, 0, 18);
    tcase_add_test(t, records_of_one_byte_and_of_half_a_segment);
    tcase_add_loop_test(t, many_appends_share_few_syncs, 0, 3);
    tcase_add_test(t, an_appender_that_is_late_shares_the_next_sync);
    tcase_add_test(t, periodic_syncs_in_its_time);
    tcase_add_test(t, an_error_of_the_receiver_ends_the_replay);
    tcase_add_test(t, a_limit_refuses_and_forgetting_makes_room);
    tcase_add_test(t, a_full_disk_refuses_and_resumes_by_itself);
    tcase_add_test(t, forgetting_all_keeps_what_is_being_filled);
    tcase_add_loop_test(t, a_failed_write_or_sync_breaks_the_journal_for_good, 0, 12);
    tcase_add_test(t, whichever_call_fails_no_acknowledged_record_is_lost);
    tcase_add_test(t, a_flipped_bit_in_the_proven_part_is_a_hole_and_says_where);
    tcase_add_test(t, a_flipped_bit_in_the_unproven_tail_is_torn_and_counted);
    tcase_add_test(t, a_missing_segment_is_a_hole);
    tcase_add_test(t, a_stale_or_misdirected_block_is_seen);
    tcase_add_test(t, a_log_of_a_newer_version_is_refused);
    tcase_add_test(t, a_file_cut_at_any_byte_is_read_without_harm);
    tcase_add_test(t, garbage_and_foreign_names_are_no_records);
    tcase_add_loop_test(t, whatever_is_damaged_nothing_is_invented, 0, 60);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
