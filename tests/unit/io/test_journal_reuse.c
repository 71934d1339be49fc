/* test_journal_reuse.c - segments in files that were others before, and where records stand: what a
 * file held before is never taken for something new, numbers never go back, places are known at
 * once; and packed records.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "io/journal_format.h"
#include "journal_bench.h"

#include <check.h>

static const struct sim_faults slow = { .disk_ns_max = 1000000 };

static struct bench *bench_reusing(uint64_t seed, unsigned spares_max)
{
    struct bench *b = bench_new(seed, slow, JOURNAL_GROUP);
    b->options.spares_max = spares_max;
    return b;
}

/* So many appends one after the other, giving up all segments but the last one as it goes. */
static void append_and_forget(struct bench *b, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ck_assert_int_eq(bench_append_all(b, 1), OK);
        uint64_t segment = journal_place(&b->appends[b->count - 1]).segment;
        if (i % 8 == 7)
            ck_assert_int_eq(bench_forget(b, segment), OK);
    }
}

struct files {
    unsigned logs, spares, others;
};
static void count_file(void *context, const char *path, uint64_t size_bytes)
{
    struct files *f = context;
    (void)size_bytes;
    const char *name = strrchr(path, '/') + 1;
    uint64_t n = 0;
    if (journal_name_parse(name, &n))
        f->logs++;
    else if (journal_spare_parse(name, &n))
        f->spares++;
    else
        f->others++;
}
static struct files files_of(struct bench *b)
{
    struct files f = { 0 };
    sim_files(b->sim, 0, count_file, &f);
    return f;
}

/* ---- spares ---- */

START_TEST(forgotten_segments_are_kept_and_used_again)
{
    struct bench *b = bench_reusing(1, 2);
    struct seen seen = { 0 };
    ck_assert_int_eq(bench_open(b), OK);
    append_and_forget(b, 200);
    const struct journal_counts *counts = journal_counts(b->journal);
    ck_assert_uint_ge(counts->reused, 5);
    ck_assert_uint_le(counts->spares, 2);
    ck_assert_uint_eq(counts->disk_bytes, (counts->segments + counts->spares) * SEGMENT);
    struct files f = files_of(b);
    ck_assert(f.logs == counts->segments && f.spares == counts->spares && f.others == 1);
    ck_assert_uint_le(f.logs + f.spares, 5);
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_int_eq(bench_read(b, &seen), OK);
    ck_assert_uint_gt(seen.count, 0);
    for (size_t i = 0; i < seen.count; i++)
        ck_assert_uint_eq(seen.numbers[i], b->count - seen.count + i);
    ck_assert_uint_eq(seen.replay.torn_bytes, 0);
    bench_free(b);
}
END_TEST

START_TEST(a_spare_is_found_again_and_a_wrong_one_removed)
{
    struct bench *b = bench_reusing(2, 2);
    static const uint8_t zeros[SEGMENT];
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_int_eq(bench_append_all(b, 100), OK);
    ck_assert_int_eq(bench_forget(b, UINT64_MAX), OK);
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_uint_eq(files_of(b).spares, 2);
    sim_file_set(b->sim, 0, "/data/log/3.spare", 0, bytes_of(zeros, SEGMENT - 1));
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_uint_eq(journal_counts(b->journal)->reused, 1); /* its first segment */
    ck_assert_uint_eq(files_of(b).spares, 1);
    ck_assert(sim_file(b->sim, 0, "/data/log/3.spare").data == NULL);
    ck_assert_int_eq(bench_close(b), OK);
    b->options.spares_max = 0;
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_uint_eq(files_of(b).spares, 0);
    ck_assert_int_eq(bench_close(b), OK);
    bench_free(b);
}
END_TEST

START_TEST(a_file_that_has_the_name_already_is_not_touched)
{
    struct bench *b = bench_reusing(3, _i);
    static uint8_t filled[SEGMENT];
    memset(filled, 'x', sizeof filled);
    sim_file_set(b->sim, 0, "/data/log/1.spare", 0, bytes_of(filled, _i ? SEGMENT : 0));
    sim_file_set(b->sim, 0, "/data/log/2.spare", 0, bytes_of(filled, _i ? SEGMENT : 0));
    ck_assert_int_eq(bench_open(b), OK);
    sim_file_set(b->sim, 0, "/data/log/2.log", 0, bytes_text("another's"));
    enum err err = OK;
    for (int i = 0; i < 100 && err == OK; i++)
        err = bench_append_all(b, 1);
    ck_assert_int_eq(err, ERR_EXISTS);
    ck_assert_int_eq(journal_state(b->journal), ERR_EXISTS);
    ck_assert(bytes_equal(sim_file(b->sim, 0, "/data/log/2.log"), bytes_text("another's")));
    ck_assert_int_eq(bench_close(b), ERR_EXISTS);
    bench_free(b);
}
END_TEST

/* ---- stale blocks ---- */

/* After each number of appends into a used file: exactly those are there, whatever stood there. */
START_TEST(what_a_file_held_before_is_not_read_again)
{
    struct seen seen = { 0 };
    for (unsigned appends = 0; appends < 20; appends++) {
        struct bench *b = bench_reusing(appends, 2);
        b->size_max = _i ? 9000 : 300;
        ck_assert_int_eq(bench_open(b), OK);
        append_and_forget(b, _i ? 64 : 200);
        ck_assert_int_eq(bench_close(b), OK);
        ck_assert_int_eq(bench_open(b), OK);
        ck_assert_uint_gt(journal_counts(b->journal)->reused, 0);
        unsigned from = b->count;
        if (appends)
            ck_assert_int_eq(bench_append_all(b, appends), OK);
        bench_crash(b, SIM_IMAGE_ALL);
        ck_assert_int_eq(bench_read(b, &seen), OK);
        ck_assert_uint_eq(seen.replay.torn_bytes, 0);
        for (unsigned n = from; n < b->count; n++)
            ck_assert_uint_ne(seen_find(&seen, n), SIZE_MAX);
        ck_assert_uint_eq(seen.numbers[seen.count - 1], b->count - 1);
        bench_free(b);
    }
}
END_TEST

/* A whole file of runs for segment 1, one in each block, with this salt. */
static void forge(struct bench *b, const char *path, uint64_t from, uint32_t salt)
{
    for (uint64_t at = from; at < SEGMENT; at += JOURNAL_BLOCK_BYTES) {
        uint8_t block[JOURNAL_BLOCK_BYTES] = { 0 };
        struct buf body = { 0 };
        struct journal_mark m = { .at = { 1, at }, .records = 1, .first = 1, .salt = salt };
        struct journal_position place = { 1, at + JOURNAL_MARK_BYTES };
        journal_record_put(&body, record_of(77, b->size_max), place, salt, false);
        m.body_bytes = (uint32_t)body.size;
        journal_mark_put(block, &m);
        memcpy(block + JOURNAL_MARK_BYTES, body.data, body.size);
        sim_file_set(b->sim, 0, path, at, bytes_of(block, sizeof block));
        buf_deinit(&body);
    }
}

START_TEST(what_somebody_has_prepared_for_the_file_is_not_believed)
{
    struct bench *b = bench_reusing(5, 1);
    struct seen seen = { 0 };
    struct journal_mark head;
    b->size_max = 500;
    forge(b, "/data/log/9.spare", 0, 12345);
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_uint_eq(journal_counts(b->journal)->reused, 1);
    ck_assert_int_eq(bench_append_all(b, 1), OK);
    bench_crash(b, SIM_IMAGE_ALL);
    ck_assert_int_eq(bench_read(b, &seen), OK);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_uint_eq(seen.numbers[0], 0);
    ck_assert_int_eq(journal_mark_get(sim_file(b->sim, 0, "/data/log/1.log").data, &head), OK);
    forge(b, "/data/log/1.log", 3 * JOURNAL_BLOCK_BYTES, head.salt); /* who could know it */
    ck_assert_int_eq(bench_read(b, &seen), OK);
    ck_assert_uint_gt(seen.count, 1);
    bench_free(b);
}
END_TEST

/* ---- numbers ---- */

START_TEST(numbers_never_go_back)
{
    struct bench *b = bench_reusing(6, 0);
    uint64_t last = 0;
    for (int round = 0; round < 8; round++) {
        ck_assert_int_eq(bench_open(b), OK);
        struct journal_position end = journal_end(b->journal);
        ck_assert_uint_gt(end.segment, last);
        if (round % 3 == 0)
            ck_assert_int_eq(bench_append_all(b, 1), OK);
        last = round % 3 == 0 ? end.segment : last;
        ck_assert_int_eq(bench_forget(b, UINT64_MAX), OK);
        ck_assert_int_eq(bench_close(b), OK);
        ck_assert_uint_le(files_of(b).logs, 2);
    }
    bench_free(b);
}
END_TEST

START_TEST(a_lost_folder_begins_where_it_is_told)
{
    struct bench *b = bench_reusing(7, 0);
    struct seen seen = { 0 };
    b->options.segment_min = 40;
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_uint_eq(journal_end(b->journal).segment, 40);
    ck_assert_int_eq(bench_append_all(b, 60), OK);
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_int_eq(bench_open(b), OK);
    ck_assert_uint_gt(journal_end(b->journal).segment, 41); /* behind what is there */
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_int_eq(bench_read(b, &seen), OK);
    check_all(b, &seen);
    bench_free(b);
}
END_TEST

/* ---- places ---- */

static struct journal_position ends[RECORDS_MAX];

/* The end before it, and the place itself, of each append; all that was appended before is below.
 */
static void check_places(const struct bench *b, const struct seen *seen)
{
    for (unsigned n = 1; n < b->count; n++)
        ck_assert(!place_is_less(ends[n], ends[n - 1]));
    for (size_t i = 0; i < seen->count; i++) {
        unsigned n = seen->numbers[i];
        struct journal_position place = journal_place(&b->appends[n]);
        ck_assert_mem_eq(&place, &seen->places[i], sizeof place);
        ck_assert(!place_is_less(place, ends[n]));
        ck_assert(n + 1 == b->count || place_is_less(place, ends[n + 1]));
    }
}

START_TEST(places_are_known_at_once_and_true)
{
    struct bench *b = bench_new((uint64_t)_i, slow, (enum journal_mode)(_i % 3));
    struct seen seen = { 0 };
    b->options.is_compressed = _i % 2;
    b->size_max = _i % 4 < 2 ? 30000 : 700;
    ck_assert_int_eq(bench_open(b), OK);
    while (b->count < 300) {
        unsigned from = b->count, wave = 1 + (unsigned)(sim_draw(b->sim) % 20);
        for (unsigned i = 0; i < wave; i++) {
            ends[b->count] = journal_end(b->journal);
            bench_append(b);
        }
        for (unsigned n = from; n < b->count; n++)
            ck_assert_int_eq(await_req(b->sim, &b->appends[n]), OK);
    }
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_int_eq(bench_read(b, &seen), OK);
    check_all(b, &seen);
    check_places(b, &seen);
    bench_free(b);
}
END_TEST

/* Refused appends leave gaps: places of others are not given again. */
START_TEST(places_never_go_back_where_appends_are_refused)
{
    struct bench *b = bench_new((uint64_t)_i, slow, (enum journal_mode)(_i % 3));
    struct seen seen = { 0 };
    unsigned refused = 0;
    b->size_max = 9000;
    ck_assert_int_eq(bench_open(b), OK);
    for (int round = 0; round < 12; round++) {
        unsigned from = b->count, wave = 1 + (unsigned)(sim_draw(b->sim) % 25);
        if (round % 2)
            sim_fail_disk(b->sim, 0, 1 + sim_draw(b->sim) % 2, 1, ERR_NO_SPACE);
        for (unsigned i = 0; i < wave; i++) {
            ends[b->count] = journal_end(b->journal);
            bench_append(b);
        }
        for (unsigned n = from; n < b->count; n++)
            refused += await_req(b->sim, &b->appends[n]) != OK;
        if (journal_state(b->journal) == ERR_IO || b->count > 250)
            break;
        sim_fail_disk(b->sim, 0, 0, 0, OK);
        await_ns(&b->asker, 1100000000);
        if (journal_state(b->journal) != OK)
            break; /* it was a sync that failed */
    }
    bench_crash(b, SIM_IMAGE_ALL);
    ck_assert_int_eq(bench_read(b, &seen), OK);
    bool is_sure = b->options.mode != JOURNAL_PERIODIC; /* or a failed sync has lost it */
    for (unsigned n = 0; is_sure && n < b->count; n++)
        ck_assert(b->appends[n].err != OK || seen_find(&seen, n) != SIZE_MAX);
    check_places(b, &seen);
    ck_assert(refused > 0 || !is_sure);
    bench_free(b);
}
END_TEST

/* ---- packed records ---- */

START_TEST(packed_and_plain_records_stand_side_by_side)
{
    struct bench *b = bench_reusing(8, 2);
    struct seen seen = { 0 };
    uint64_t given = 0, stored = 0;
    for (int round = 0; round < 6; round++) {
        b->options.is_compressed = round % 2;
        ck_assert_int_eq(bench_open(b), OK);
        ck_assert_int_eq(bench_append_all(b, 50), OK);
        if (round % 2)
            given += journal_counts(b->journal)->bytes,
                stored += journal_counts(b->journal)->stored_bytes;
        ck_assert_int_eq(bench_close(b), OK);
    }
    ck_assert_uint_lt(stored, given / 3); /* they repeat themselves */
    ck_assert_int_eq(bench_read(b, &seen), OK);
    check_all(b, &seen);
    bench_free(b);
}
END_TEST

/* What was handed out and is not settled. */
struct unsettled {
    struct bytes records[RECORDS_MAX];
    size_t count, most;
    unsigned next;
    size_t size_max;
};

static enum err keep_record(void *context, struct bytes record, struct journal_position at)
{
    struct unsettled *u = context;
    (void)at;
    ck_assert_uint_lt(u->count, RECORDS_MAX);
    u->records[u->count++] = record;
    return OK;
}

static void settle_records(void *context)
{
    struct unsettled *u = context;
    for (size_t i = 0; i < u->count; i++)
        ck_assert(bytes_equal(u->records[i], record_of(u->next++, u->size_max)));
    u->most = u64_max(u->most, u->count);
    u->count = 0;
}

/* Packed ones too, which are unpacked into memory of the reader. */
START_TEST(records_last_until_they_are_settled)
{
    struct bench *b = bench_reusing(14, 0);
    struct unsettled *u = mem_zalloc(sizeof *u);
    struct journal_replay replay;
    struct journal_reading how = {
        .folder = "/data/log", .record = keep_record, .settle = settle_records, .context = u
    };
    u->size_max = b->size_max;
    for (unsigned round = 0; round < 2; round++) {
        b->options.is_compressed = round % 2;
        ck_assert_int_eq(bench_open(b), OK);
        ck_assert_int_eq(bench_append_all(b, 300), OK);
        ck_assert_int_eq(bench_close(b), OK);
    }
    journal_read_as(b->asker.io, &b->asker.req, &b->asker.op, &how, &replay);
    ck_assert_int_eq(await(&b->asker), OK);
    ck_assert_uint_eq(u->next, b->count);
    ck_assert_uint_eq(u->count, 0);
    ck_assert_uint_gt(u->most, 10);
    mem_free(u);
    bench_free(b);
}
END_TEST

static struct bytes noisy;
static enum err see_noise(void *context, struct bytes record, struct journal_position at)
{
    (void)at;
    *(unsigned *)context += bytes_equal(record, noisy);
    return OK;
}

START_TEST(what_does_not_become_smaller_is_not_packed)
{
    struct bench *b = bench_reusing(9, 0);
    struct journal_replay replay;
    uint8_t noise[20000];
    unsigned count = 0;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)sim_draw(b->sim);
    noisy = bytes_of(noise, sizeof noise);
    b->options.is_compressed = true;
    ck_assert_int_eq(bench_open(b), OK);
    sim_act(node_io);
    journal_append(b->journal, &b->asker.req, &b->asker.op, noisy);
    ck_assert_int_eq(await(&b->asker), OK);
    ck_assert_uint_le(journal_counts(b->journal)->stored_bytes, 5 * 4096); /* 64 + 8 + 20000 */
    ck_assert_int_eq(bench_close(b), OK);
    journal_read(b->asker.io, &b->asker.req, &b->asker.op, "/data/log", see_noise, &count, &replay);
    ck_assert_int_eq(await(&b->asker), OK);
    ck_assert_uint_eq(count, 1);
    bench_free(b);
}
END_TEST

/* Packed bytes of a right checksum, but of wrong sizes. */
START_TEST(a_packed_record_that_cannot_be_unpacked_is_no_record)
{
    static const uint8_t text[1000];
    struct buf b = { 0 }, room = { 0 };
    struct journal_position at = { 3, 4160 };
    struct journal_record stored;
    struct bytes out;
    journal_record_put(&b, bytes_of(text, sizeof text), at, 9, true);
    ck_assert_uint_lt(b.size, 100);
    ck_assert(journal_record_get(buf_bytes(&b), at, 9, &stored) && stored.is_packed);
    ck_assert(journal_record_open(&stored, &room, &out));
    ck_assert(bytes_equal(out, bytes_of(text, sizeof text)));
    static const uint32_t sizes[] = { 0, 1, 999, 1001, 100000, INT32_MAX, UINT32_MAX };
    for (size_t i = 0; i < array_count(sizes); i++) {
        put_be32(b.data + JOURNAL_HEAD_BYTES, sizes[i]);
        ck_assert(!journal_record_open(&stored, &room, &out));
    }
    ck_assert_uint_lt(room.room, 1000000); /* no size is believed that the bytes cannot have */
    for (size_t n = 0; n < 4; n++) {
        struct journal_record cut = { .stored = bytes_of(text, n), .is_packed = true };
        ck_assert(!journal_record_open(&cut, &room, &out));
    }
    put_be32(b.data + JOURNAL_HEAD_BYTES, 1000);
    for (size_t bit = 0; bit < b.size * 8; bit++) { /* the checksum sees every bit */
        b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert(!journal_record_get(buf_bytes(&b), at, 9, &stored));
        b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    ck_assert(!journal_record_get(buf_bytes(&b), at, 8, &stored)); /* another salt or place */
    struct journal_position others[] = { { 2, 4160 }, { 3, 8256 } };
    for (size_t i = 0; i < array_count(others); i++)
        ck_assert(!journal_record_get(buf_bytes(&b), others[i], 9, &stored));
    ck_assert(journal_record_get(buf_bytes(&b), at, 9, &stored));
    buf_deinit(&b);
    buf_deinit(&room);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("journal_reuse");
    TCase *t = tcase_create("reuse");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, forgotten_segments_are_kept_and_used_again);
    tcase_add_test(t, a_spare_is_found_again_and_a_wrong_one_removed);
    tcase_add_loop_test(t, a_file_that_has_the_name_already_is_not_touched, 0, 3);
    tcase_add_loop_test(t, what_a_file_held_before_is_not_read_again, 0, 2);
    tcase_add_test(t, what_somebody_has_prepared_for_the_file_is_not_believed);
    tcase_add_test(t, numbers_never_go_back);
    tcase_add_test(t, a_lost_folder_begins_where_it_is_told);
    tcase_add_loop_test(t, places_are_known_at_once_and_true, 0, 12);
    tcase_add_loop_test(t, places_never_go_back_where_appends_are_refused, 0, 24);
    tcase_add_test(t, packed_and_plain_records_stand_side_by_side);
    tcase_add_test(t, records_last_until_they_are_settled);
    tcase_add_test(t, what_does_not_become_smaller_is_not_packed);
    tcase_add_test(t, a_packed_record_that_cannot_be_unpacked_is_no_record);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
