/* test_journal_holes.c - holes: found wherever they are, told from torn tails, read up to or
 * skipped.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "io/journal_format.h"
#include "journal_bench.h"

#include <check.h>

static const struct sim_faults slow = { .disk_ns_max = 1000000 };
enum { BLOCK = JOURNAL_BLOCK_BYTES };

/* A closed journal of about four segments, a run a record, in new files or in used ones. */
static struct bench *written(bool is_reusing)
{
    struct bench *b = bench_new(9, slow, JOURNAL_GROUP);
    b->size_max = 600;
    b->options.spares_max = is_reusing ? 4 : 0;
    ck_assert_int_eq(bench_open(b), OK);
    if (is_reusing)
        for (int i = 0; i < 80; i++)
            ck_assert_int_eq(bench_append_all(b, 1), OK);
    ck_assert_int_eq(bench_forget(b, UINT64_MAX), OK);
    for (int i = 0; i < 60; i++)
        ck_assert_int_eq(bench_append_all(b, 1), OK);
    ck_assert(!is_reusing || journal_counts(b->journal)->reused >= 3);
    ck_assert_int_eq(bench_close(b), OK);
    return b;
}

static const char *path_of(uint64_t segment)
{
    static char path[64];
    snprintf(path, sizeof path, "/data/log/%d.log", (int)segment);
    return path;
}

static void spoil(struct bench *b, struct journal_position at, size_t size)
{
    static const uint8_t zeros[SEGMENT];
    sim_file_set(b->sim, 0, path_of(at.segment), at.offset, bytes_of(zeros, size));
}

static void remove_segment(struct bench *b, uint64_t segment)
{
    io_remove(b->asker.io, &b->asker.req, &b->asker.op, path_of(segment));
    ck_assert_int_eq(await(&b->asker), OK);
}

/* All of `before` but those from `from` on that stand in a range. */
static void check_rest(const struct seen *before, const struct seen *seen)
{
    size_t k = 0;
    for (size_t i = 0; i < before->count; i++) {
        struct journal_position at = before->places[i];
        bool is_lost = false;
        for (size_t r = 0; r < seen->skipped_count; r++) {
            const struct journal_range *range = &seen->skipped[r];
            is_lost |= at.segment == range->at.segment && at.offset >= range->at.offset &&
                       at.offset < range->at.offset + range->bytes;
        }
        if (is_lost)
            continue;
        ck_assert_uint_lt(k, seen->count);
        ck_assert_uint_eq(seen->numbers[k++], before->numbers[i]);
    }
    ck_assert_uint_eq(k, seen->count);
}

/* Every way to read with one hole, of which the first lost record is number `lost` of all. */
static void check_hole(struct bench *b, const struct seen *before, size_t lost,
                       struct journal_position at)
{
    static struct seen seen;
    ck_assert_int_eq(bench_read(b, &seen), ERR_CORRUPT);
    ck_assert_uint_eq(seen.replay.bad.segment, at.segment);
    ck_assert_uint_eq(seen.replay.bad.offset, at.offset);
    ck_assert_str_eq(seen.replay.bad_file, path_of(at.segment));
    ck_assert_int_eq(bench_read_as(b, &seen, JOURNAL_UPTO_HOLE), OK);
    ck_assert_uint_eq(seen.count, lost);
    ck_assert_uint_eq(seen.replay.records, lost);
    ck_assert_uint_eq(seen.replay.holes, 1);
    ck_assert(memcmp(&seen.replay.bad, &at, sizeof at) == 0);
    for (size_t i = 0; i < lost; i++)
        ck_assert_uint_eq(seen.numbers[i], before->numbers[i]);
    ck_assert_int_eq(bench_read_as(b, &seen, JOURNAL_SKIP_HOLE), OK);
    ck_assert_uint_eq(seen.replay.holes, 1);
    ck_assert_uint_eq(seen.skipped_count, 1);
    ck_assert(memcmp(&seen.skipped[0].at, &at, sizeof at) == 0);
    ck_assert_uint_eq(seen.replay.skipped_bytes, seen.skipped[0].bytes);
    check_rest(before, &seen);
    ck_assert_uint_eq(seen.replay.done_bytes, seen.replay.total_bytes);
}

/* ---- where a hole can be ---- */

START_TEST(any_run_that_is_spoilt_is_a_hole_of_its_size)
{
    static struct seen before, seen;
    struct bench *b = written(_i);
    ck_assert_int_eq(bench_read(b, &before), OK);
    ck_assert_uint_gt(before.count, 50);
    for (size_t i = 0; i < before.count; i++) {
        struct journal_position run = before.places[i];
        run.offset -= JOURNAL_MARK_BYTES;
        struct bytes file = sim_file(b->sim, 0, path_of(run.segment));
        uint8_t kept[BLOCK];
        memcpy(kept, file.data + run.offset, BLOCK);
        spoil(b, run, BLOCK);
        check_hole(b, &before, i, run);
        sim_file_set(b->sim, 0, path_of(run.segment), run.offset, bytes_of(kept, BLOCK));
    }
    ck_assert_int_eq(bench_read(b, &seen), OK);
    ck_assert_uint_eq(seen.count, before.count);
    bench_free(b);
}
END_TEST

START_TEST(a_bad_record_among_others_is_a_hole_of_its_size)
{
    static struct seen before, seen;
    struct bench *b = bench_new(9, slow, JOURNAL_GROUP);
    b->size_max = 600;
    ck_assert_int_eq(bench_open(b), OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(bench_append_all(b, 20), OK); /* a run each */
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_int_eq(bench_read(b, &before), OK);
    check_all(b, &before);
    for (size_t i = 0; i < before.count; i++) {
        struct journal_position at = before.places[i];
        uint64_t bit = (at.offset + JOURNAL_HEAD_BYTES) * 8 + i % 8;
        sim_file_flip(b->sim, 0, path_of(at.segment), bit);
        check_hole(b, &before, i, at);
        ck_assert_int_eq(bench_read_as(b, &seen, JOURNAL_SKIP_HOLE), OK);
        ck_assert_uint_eq(seen.count, before.count - 1);
        sim_file_flip(b->sim, 0, path_of(at.segment), bit);
    }
    bench_free(b);
}
END_TEST

START_TEST(a_whole_segment_that_is_spoilt_or_missing_is_a_hole)
{
    static struct seen before;
    struct bench *b = written(_i / 2);
    ck_assert_int_eq(bench_read(b, &before), OK);
    struct journal_position start = { before.places[0].segment + 1, 0 };
    size_t lost = 0;
    while (before.places[lost].segment < start.segment)
        lost++;
    if (_i % 2)
        remove_segment(b, start.segment);
    else
        spoil(b, start, SEGMENT);
    check_hole(b, &before, lost, start);
    bench_free(b);
}
END_TEST

START_TEST(the_lost_end_of_a_full_segment_is_a_hole)
{
    static struct seen before;
    struct bench *b = written(_i);
    ck_assert_int_eq(bench_read(b, &before), OK);
    size_t lost = 0;
    while (before.places[lost + 4].segment == before.places[0].segment)
        lost++;
    struct journal_position at = before.places[lost];
    at.offset -= JOURNAL_MARK_BYTES;
    spoil(b, at, SEGMENT - at.offset);
    check_hole(b, &before, lost, at);
    if (_i == 0) {
        sim_file_cut(b->sim, 0, path_of(at.segment), at.offset);
        check_hole(b, &before, lost, at);
    }
    bench_free(b);
}
END_TEST

START_TEST(several_holes_are_all_named)
{
    static struct seen before, seen;
    struct bench *b = written(_i);
    ck_assert_int_eq(bench_read(b, &before), OK);
    static const size_t spoilt[] = { 2, 3, 20, 41 }; /* two of them side by side */
    for (size_t i = 0; i < array_count(spoilt); i++) {
        struct journal_position run = before.places[spoilt[i]];
        run.offset -= JOURNAL_MARK_BYTES;
        spoil(b, run, BLOCK);
    }
    ck_assert_int_eq(bench_read_as(b, &seen, JOURNAL_SKIP_HOLE), OK);
    ck_assert_uint_eq(seen.replay.holes, 3);
    ck_assert_uint_eq(seen.skipped_count, 3);
    ck_assert_uint_eq(seen.replay.skipped_bytes, 4 * BLOCK);
    ck_assert_uint_eq(seen.count, before.count - 4);
    check_rest(&before, &seen);
    bench_free(b);
}
END_TEST

/* ---- PERIODIC: many runs a sync, so what proves a hole may stand far behind it ---- */

/* A run each, in a time of its own: else the world's next event is the journal's own alarm. */
static void append_one_by_one(struct bench *b, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        bench_append(b);
        await_ns(&b->asker, 2000000);
        ck_assert_int_eq(await_req(b->sim, &b->appends[b->count - 1]), OK);
    }
}

START_TEST(nothing_behind_a_hole_is_handed_out_before_it_is_known)
{
    static struct seen before, seen;
    struct bench *b = bench_new(4, slow, JOURNAL_PERIODIC);
    b->size_max = 600;
    b->options.period_ns = 30000000;
    ck_assert_int_eq(bench_open(b), OK);
    append_one_by_one(b, 100);
    ck_assert_uint_lt(journal_counts(b->journal)->syncs, 20);
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_int_eq(bench_read(b, &before), OK);
    check_all(b, &before);
    size_t most_behind = 0;
    for (size_t i = 0; i < before.count; i += 3) {
        struct journal_position run = before.places[i];
        run.offset -= JOURNAL_MARK_BYTES;
        uint8_t kept[BLOCK];
        memcpy(kept, sim_file(b->sim, 0, path_of(run.segment)).data + run.offset, BLOCK);
        spoil(b, run, BLOCK);
        check_hole(b, &before, i, run);
        ck_assert_int_eq(bench_read(b, &seen), ERR_CORRUPT); /* the strict one cannot know */
        most_behind = seen.count - i > most_behind ? seen.count - i : most_behind;
        sim_file_set(b->sim, 0, path_of(run.segment), run.offset, bytes_of(kept, BLOCK));
    }
    ck_assert_uint_gt(most_behind, 3);
    bench_free(b);
}
END_TEST

/* ---- torn tails are no holes, whatever is asked for ---- */

START_TEST(a_torn_tail_is_no_hole)
{
    static struct seen seen;
    struct bench *b = bench_new(5, slow, JOURNAL_PERIODIC);
    b->size_max = 600;
    b->options.period_ns = (uint64_t)1 << 60;
    ck_assert_int_eq(bench_open(b), OK);
    append_one_by_one(b, 10); /* nothing is ever synced */
    bench_crash(b, SIM_IMAGE_ALL);
    spoil(b, (struct journal_position){ 1, 3 * BLOCK }, BLOCK);
    for (int mode = JOURNAL_STRICT; mode <= JOURNAL_SKIP_HOLE; mode++) {
        ck_assert_int_eq(bench_read_as(b, &seen, (enum journal_holes)mode), OK);
        ck_assert_uint_eq(seen.count, 9);
        ck_assert(seen.replay.holes == 0 && seen.skipped_count == 0);
    }
    ck_assert_int_eq(bench_open(b), OK); /* another opening proves nothing of the former one */
    ck_assert_int_eq(bench_append_all(b, 1), OK);
    ck_assert_int_eq(bench_close(b), OK);
    ck_assert_int_eq(bench_read(b, &seen), OK);
    ck_assert_uint_eq(seen.count, 10);
    bench_free(b);
}
END_TEST

/* ---- while it goes on ---- */

struct watching {
    struct journal_replay replay;
    uint64_t done_bytes, calls;
};
static enum err watch(void *context, struct bytes record, struct journal_position at)
{
    struct watching *w = context;
    (void)record, (void)at;
    ck_assert_uint_le(w->replay.done_bytes, w->replay.total_bytes);
    ck_assert_uint_ge(w->replay.done_bytes, w->done_bytes);
    w->calls += w->replay.done_bytes > w->done_bytes;
    w->done_bytes = w->replay.done_bytes;
    return OK;
}

START_TEST(a_reading_tells_how_far_it_is)
{
    struct bench *b = written(false);
    struct watching w = { 0 };
    struct journal_reading how = { .folder = "/data/log",
                                   .holes = _i ? JOURNAL_UPTO_HOLE : JOURNAL_STRICT,
                                   .record = watch,
                                   .context = &w };
    journal_read_as(b->asker.io, &b->asker.req, &b->asker.op, &how, &w.replay);
    ck_assert_int_eq(await(&b->asker), OK);
    ck_assert_uint_ge(w.calls, 3);
    ck_assert_uint_eq(w.replay.done_bytes, w.replay.total_bytes);
    ck_assert_uint_eq(w.replay.total_bytes % SEGMENT, 0);
    ck_assert_uint_ge(w.replay.total_bytes, (_i ? 8 : 4) * SEGMENT);
    bench_free(b);
}
END_TEST

/* Whatever is spoilt: all that is handed out was written, in order; what is skipped is named. */
START_TEST(whatever_is_spoilt_the_rest_is_read)
{
    static struct seen before, seen;
    struct bench *b = written(_i % 2);
    ck_assert_int_eq(bench_read(b, &before), OK);
    for (int i = 0; i < 10; i++) {
        const struct journal_position *at = &before.places[sim_draw(b->sim) % before.count];
        uint64_t offset = sim_draw(b->sim) % (SEGMENT - 3 * BLOCK);
        size_t size = 1 + sim_draw(b->sim) % (size_t)(3 * BLOCK);
        spoil(b, (struct journal_position){ at->segment, offset }, size);
        ck_assert_int_eq(bench_read_as(b, &seen, JOURNAL_SKIP_HOLE), OK);
        for (size_t k = 1; k < seen.count; k++)
            ck_assert_uint_lt(seen.numbers[k - 1], seen.numbers[k]);
        ck_assert(seen.count == before.count || seen.skipped_count > 0 ||
                  seen.replay.torn_bytes > 0);
        uint64_t last = before.places[before.count - 1].segment;
        for (size_t k = 0; k < before.count; k++) { /* in full segments all that is lost is named */
            bool is_lost = seen_find(&seen, before.numbers[k]) == SIZE_MAX, is_named = false;
            struct journal_position p = before.places[k];
            for (size_t r = 0; r < seen.skipped_count; r++) {
                const struct journal_range *range = &seen.skipped[r];
                is_named |= range->at.segment == p.segment && range->at.offset <= p.offset &&
                            p.offset < range->at.offset + range->bytes;
            }
            ck_assert(!is_lost || is_named || p.segment == last);
        }
    }
    bench_free(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("journal_holes");
    TCase *t = tcase_create("holes");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, any_run_that_is_spoilt_is_a_hole_of_its_size, 0, 2);
    tcase_add_test(t, a_bad_record_among_others_is_a_hole_of_its_size);
    tcase_add_loop_test(t, a_whole_segment_that_is_spoilt_or_missing_is_a_hole, 0, 4);
    tcase_add_loop_test(t, the_lost_end_of_a_full_segment_is_a_hole, 0, 2);
    tcase_add_loop_test(t, several_holes_are_all_named, 0, 2);
    tcase_add_test(t, nothing_behind_a_hole_is_handed_out_before_it_is_known);
    tcase_add_test(t, a_torn_tail_is_no_hole);
    tcase_add_loop_test(t, a_reading_tells_how_far_it_is, 0, 2);
    tcase_add_loop_test(t, whatever_is_spoilt_the_rest_is_read, 0, 40);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
