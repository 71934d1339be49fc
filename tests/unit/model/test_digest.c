/* test_digest.c - digests against a slow statement of what the content of an answer is: equal texts
 * exactly where the digests are equal.
 *
 *     writes ──some──> part 0 ──┐
 *            ──some──> part 1 ──┴──> digest  =  digest <── all writes in one answer
 *     one write changed: other text <=> other digest
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/digest.h"
#include "replica.h"

#include <check.h>

enum { SEEDS = 400, PLACES = 2 * (ROWS_MAX + 1) };

/* ---- the content, told slowly ---- */

static bool is_old(int64_t seconds, int64_t gc_before) { return seconds < gc_before; }

static void tell_cell(const struct cell *from, int64_t gc_before, struct buf *out)
{
    struct cell cell = *from;
    if (cell.kind == CELL_EXPIRING && cell.seconds <= NOW) {
        if (is_old(cell.seconds, gc_before))
            return;
        cell.kind = CELL_DELETED;
        cell.seconds = cell.seconds > cell.ttl ? cell.seconds - cell.ttl : 0;
        cell.ttl = 0, cell.value = (struct bytes){ 0 };
    }
    if (cell.kind >= CELL_DELETED && is_old(cell.seconds, gc_before))
        return;
    buf_printf(out, " %u/%d@%lld,%u,%u:", cell.column, (int)cell.kind, (long long)cell.timestamp,
               cell.ttl, cell.seconds);
    buf_put_sized(out, cell.path);
    buf_put_sized(out, cell.value);
}

static void tell_row(const struct row *row, int64_t gc_before, struct buf *out)
{
    size_t begin = out->size;
    buf_put_sized(out, row->key);
    size_t at = out->size;
    struct liveness l = row->liveness;
    bool is_expired = l.ttl && l.expires <= NOW && is_old(l.expires, gc_before);
    if (l.timestamp != TIMESTAMP_NONE && !is_expired)
        buf_printf(out, " live@%lld,%u,%u", (long long)l.timestamp, l.ttl, l.expires);
    if (!deletion_is_none(row->deletion) && !is_old(row->deletion.seconds, gc_before))
        buf_printf(out, " gone@%lld,%u", (long long)row->deletion.timestamp, row->deletion.seconds);
    for (size_t i = 0; i < row->cells_count; i++)
        tell_cell(&row->cells[i], gc_before, out);
    if (out->size == at)
        out->size = begin;
}

static int places_order(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

/* Every bound that a range may have, in order. */
static void places_of(struct world *w, struct bytes out[PLACES])
{
    for (uint32_t i = 0; i <= ROWS_MAX; i++) {
        uint8_t *number = arena_alloc(&w->arena, 4);
        struct buf below = buf_in(&w->arena), above = buf_in(&w->arena);
        put_be32(number, i);
        struct bytes value = bytes_of(number, 4);
        comparable_below(w->table, &value, i < ROWS_MAX, &below);
        comparable_above(w->table, &value, i < ROWS_MAX, &above);
        out[2 * i] = buf_bytes(&below), out[2 * i + 1] = buf_bytes(&above);
    }
    qsort(out, PLACES, sizeof *out, places_order);
}

/* What covers each stretch between two bounds, as far as the answer goes (`end` empty: all of it).
 */
static void tell_ranges(struct world *w, int partition, int64_t gc_before, struct bytes end,
                        struct buf *out)
{
    struct bytes places[PLACES];
    struct range_tombstone ranges[WRITES_MAX];
    struct deletion whole = known_deletion(w, UINT32_MAX, partition);
    size_t count = known_ranges(w, UINT32_MAX, partition, ranges);
    places_of(w, places);
    for (int i = 0; i + 1 < PLACES; i++) {
        struct deletion newest = deletion_none();
        bool is_beyond = end.size && (w->read.is_reversed ? bytes_compare(places[i + 1], end) < 0
                                                          : bytes_compare(places[i], end) > 0);
        for (size_t r = 0; r < count; r++)
            if (bytes_compare(ranges[r].low, places[i]) <= 0 &&
                bytes_compare(places[i + 1], ranges[r].high) <= 0)
                newest = deletion_newer(newest, ranges[r].deletion);
        if (!is_beyond && deletion_compare(newest, whole) > 0 && !is_old(newest.seconds, gc_before))
            buf_printf(out, " [%d %lld,%u]", i, (long long)newest.timestamp, newest.seconds);
    }
}

/* All that the read is about, up to its live rows. */
static struct bytes tell(struct world *w, int64_t gc_before)
{
    struct buf out = buf_in(&w->arena);
    uint32_t live = 0;
    for (size_t p = 0; p < w->partitions_count && live < w->read.rows_limit; p++) {
        size_t begin = out.size;
        struct row row;
        struct bytes end = { 0 };
        struct deletion deletion = known_deletion(w, UINT32_MAX, (int)p);
        if (!is_asked(&w->read, &w->partitions[p]))
            continue;
        buf_put_sized(&out, w->partitions[p].key);
        size_t at = out.size;
        if (!deletion_is_none(deletion) && !is_old(deletion.seconds, gc_before))
            buf_printf(&out, " deleted@%lld,%u", (long long)deletion.timestamp, deletion.seconds);
        if (known_row(w, UINT32_MAX, (int)p, STATIC_ROW, &row))
            tell_row(&row, gc_before, &out);
        for (int place = 0; place < ROWS_MAX && live < w->read.rows_limit; place++) {
            if (!known_row(w, UINT32_MAX, (int)p, row_at(w, place), &row))
                continue;
            tell_row(&row, gc_before, &out);
            live += row_is_live(&row, NOW);
            if (live == w->read.rows_limit)
                end = row.key;
        }
        tell_ranges(w, (int)p, gc_before, end, &out);
        if (out.size == at)
            out.size = begin;
    }
    return buf_bytes(&out);
}

/* ---- digests ---- */

/* Ranges come in pieces of its making. */
struct splitter {
    struct read_sink sink;
    struct world *w;
    struct read_sink *to;
};
static void split_partition(struct read_sink *sink, struct bytes key, int64_t token,
                            struct deletion deletion)
{
    struct splitter *s = owner_of(sink, struct splitter, sink);
    s->to->partition(s->to, key, token, deletion);
}
static void split_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct splitter *s = owner_of(sink, struct splitter, sink);
    s->to->row(s->to, row, is_live);
}
static void split_range(struct read_sink *sink, const struct range_tombstone *range)
{
    struct splitter *s = owner_of(sink, struct splitter, sink);
    struct range_tombstone first = *range, second = *range;
    struct bytes clustering;
    struct bytes at = sample_bound(&s->w->prng, s->w->table, &s->w->arena, ROWS_MAX, &clustering);
    if (bytes_compare(range->low, at) < 0 && bytes_compare(at, range->high) < 0) {
        if (s->w->read.is_reversed)
            first.low = at, second.high = at;
        else
            first.high = at, second.low = at;
        s->to->range(s->to, &first);
        range = &second;
    }
    s->to->range(s->to, range);
}

static struct digest_answer digest_parts(struct world *w, int64_t gc_before, bool is_split)
{
    struct bytes answers[REPLICAS_MAX];
    struct digest_writer writer;
    struct read_outcome outcome;
    struct digest_answer out;
    struct splitter splitter = { { split_partition, split_row, split_range }, w, &writer.sink };
    size_t count = is_split ? w->replicas_count : 1;
    for (size_t i = 0; i < count; i++)
        answers[i] =
            replica_answer(w, is_split ? UINT32_C(1) << i : UINT32_MAX, UINT64_MAX, UINT64_MAX);
    digest_begin(&writer, &w->read, gc_before, &w->arena);
    ck_assert_int_eq(
        world_merge(w, answers, count, is_split ? &splitter.sink : &writer.sink, &outcome), OK);
    digest_end(&writer, &outcome, &out);
    return out;
}

static bool is_same(const struct digest_answer *a, const struct digest_answer *b)
{
    return memcmp(a->digest, b->digest, DIGEST_BYTES) == 0;
}

static int64_t begin(struct world *w, uint64_t seed)
{
    world_init(w, seed);
    world_read(w);
    w->read.bytes_limit = UINT32_MAX;
    return (int64_t)prng_below(&w->prng, 5) - 1;
}

START_TEST(equal_content_has_equal_digests_however_it_is_split)
{
    for (uint64_t n = 0; n < SEEDS; n++) {
        struct world w;
        int64_t gc_before = begin(&w, (uint64_t)_i * SEEDS + n);
        struct digest_answer whole = digest_parts(&w, gc_before, false);
        struct digest_answer parts = digest_parts(&w, gc_before, true);
        ck_assert_msg(is_same(&whole, &parts), "seed %llu", (unsigned long long)w.seed);
        world_deinit(&w);
    }
}
END_TEST

static void change_something(struct world *w)
{
    struct write *write = &w->writes[prng_below(&w->prng, w->writes_count)];
    if (prng_chance(&w->prng, 50))
        write->replicas = 0; /* nobody has it */
    else
        world_write(w, write);
    if (write->replicas)
        write->replicas = UINT32_MAX;
}

START_TEST(digests_are_equal_exactly_where_the_content_is)
{
    unsigned equal = 0, other = 0;
    for (uint64_t n = 0; n < SEEDS; n++) {
        struct world w;
        int64_t gc_before = begin(&w, (uint64_t)_i * SEEDS + n);
        if (w.writes_count) {
            struct bytes text = tell(&w, gc_before);
            struct digest_answer digest = digest_parts(&w, gc_before, false);
            change_something(&w);
            struct bytes text_after = tell(&w, gc_before);
            struct digest_answer after = digest_parts(&w, gc_before, false);
            bool is_equal = bytes_equal(text, text_after);
            ck_assert_msg(is_equal == is_same(&digest, &after), "seed %llu: content is %s",
                          (unsigned long long)w.seed, is_equal ? "equal" : "different");
            equal += is_equal, other += !is_equal;
        }
        world_deinit(&w);
    }
    ck_assert_uint_gt(equal, SEEDS / 10);
    ck_assert_uint_gt(other, SEEDS / 10);
}
END_TEST

/* An answer that gives less, but says that there is more, has the digest of what it gave. */
START_TEST(an_answer_cut_at_its_rows_counts_up_to_the_last_of_them)
{
    for (uint64_t n = 0; n < SEEDS; n++) {
        struct world w;
        struct digest_answer cut;
        int64_t gc_before = begin(&w, n);
        w.read.rows_limit = 1 + (uint32_t)prng_below(&w.prng, 5);
        struct digest_answer whole = digest_parts(&w, gc_before, false);
        struct bytes answer = replica_answer(&w, UINT32_MAX, w.read.rows_limit, UINT64_MAX);
        ck_assert_int_eq(digest_of_answer(w.table, &w.read, gc_before, answer, &w.arena, &cut), OK);
        ck_assert_msg(is_same(&whole, &cut), "seed %llu", (unsigned long long)n);
        if (whole.has_more && cut.has_more)
            ck_assert_int_eq(position_compare(&whole.last, &cut.last, w.read.is_reversed), 0);
        world_deinit(&w);
    }
}
END_TEST

START_TEST(values_that_nobody_asked_for_do_not_count)
{
    for (uint64_t n = 0; n < SEEDS; n++) {
        struct world w;
        uint32_t columns[] = { 6, 12 };
        int64_t gc_before = begin(&w, n);
        w.read.columns = columns, w.read.columns_count = 2;
        struct digest_answer before = digest_parts(&w, gc_before, false);
        for (size_t i = 0; i < w.writes_count; i++)
            for (size_t c = 0;
                 w.writes[i].row_number != ROWS_RANGE && c < w.writes[i].row.cells_count; c++) {
                struct cell *cell = &w.writes[i].row.cells[c];
                if (cell->column != 6 && cell->column != 12)
                    cell->value = (struct bytes){ 0 };
            }
        struct digest_answer after = digest_parts(&w, gc_before, false);
        ck_assert_msg(is_same(&before, &after), "seed %llu", (unsigned long long)n);
        world_deinit(&w);
    }
}
END_TEST

/* ---- as bytes ---- */

START_TEST(what_is_asked_and_answered_comes_back_and_no_piece_of_it_does)
{
    struct arena arena = { 0 };
    struct read read = { .key = bytes_text("key"), .rows_limit = 3, .bytes_limit = 4 }, back;
    struct buf out = buf_in(&arena);
    int64_t gc_before;
    digest_ask_encode(&read, -77, &out);
    ck_assert_int_eq(digest_ask_decode(buf_bytes(&out), &arena, &back, &gc_before), OK);
    ck_assert_int_eq(gc_before, -77);
    ck_assert(bytes_equal(back.key, read.key) && back.rows_limit == 3);
    struct buf plain = buf_in(&arena);
    read_encode(&read, &plain);
    ck_assert(bytes_equal(digest_ask_read(buf_bytes(&out)), buf_bytes(&plain)));
    for (size_t i = 0; i < out.size; i++)
        ck_assert_int_eq(digest_ask_decode(bytes_of(out.data, i), &arena, &back, &gc_before),
                         ERR_CORRUPT);
    struct digest_answer answer = { .digest = "0123456789abcde", .has_more = true };
    struct digest_answer again;
    answer.last = (struct position){ true, 7, bytes_text("k"), bytes_text("row8") };
    buf_clear(&out);
    digest_answer_encode(&answer, &out);
    ck_assert_int_eq(digest_answer_decode(buf_bytes(&out), &again), OK);
    ck_assert(is_same(&answer, &again) && again.has_more);
    ck_assert_int_eq(digest_compare(&answer, &again, false), DIGEST_EQUAL);
    again.digest[3] ^= 1;
    ck_assert_int_eq(digest_compare(&answer, &again, false), DIGEST_DIFFERS);
    again.last.token = 8;
    ck_assert_int_eq(digest_compare(&answer, &again, false), DIGEST_INCOMPARABLE);
    for (size_t i = 0; i < out.size; i++)
        ck_assert_int_eq(digest_answer_decode(bytes_of(out.data, i), &again), ERR_CORRUPT);
    arena_deinit(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("digest");
    TCase *tcase = tcase_create("digest");
    tcase_add_loop_test(tcase, equal_content_has_equal_digests_however_it_is_split, 0, 5);
    tcase_add_loop_test(tcase, digests_are_equal_exactly_where_the_content_is, 0, 5);
    tcase_add_test(tcase, an_answer_cut_at_its_rows_counts_up_to_the_last_of_them);
    tcase_add_test(tcase, values_that_nobody_asked_for_do_not_count);
    tcase_add_test(tcase, what_is_asked_and_answered_comes_back_and_no_piece_of_it_does);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
