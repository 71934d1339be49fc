/* test_merge.c - merging answers by example, and answers that are cut, flipped, out of order or not
 * what was asked for.
 */
// SPDX-License-Identifier: Apache-2.0
#include "replica.h"

#include <check.h>

static void ignore_partition(struct read_sink *sink, struct bytes key, int64_t token,
                             struct deletion deletion)
{
    (void)sink, (void)key, (void)token, (void)deletion;
}
static void ignore_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    (void)sink, (void)row, (void)is_live;
}

START_TEST(answers_that_are_cut_or_flipped_are_refused_and_named)
{
    for (size_t n = 0; n < 40; n++) {
        struct world w;
        struct read_sink sink = { ignore_partition, ignore_row, read_ignore_range };
        struct read_outcome outcome;
        world_init(&w, (uint64_t)n);
        world_read(&w);
        w.read.rows_limit = w.read.bytes_limit = UINT32_MAX;
        struct bytes whole = replica_answer(&w, UINT32_MAX, UINT64_MAX, 40);
        for (size_t at = 0; at < whole.size; at++) {
            struct arena scratch = { 0 };
            uint8_t *copy = arena_alloc(&scratch, whole.size);
            struct bytes answers[] = { whole, arena_copy(&scratch, bytes_of(whole.data, at)) };
            struct result_answers both = { .answers = answers, .count = 2 };
            ck_assert_int_eq(result_merge(w.table, &w.read, &both, &scratch, &sink, &outcome),
                             ERR_CORRUPT);
            ck_assert_uint_eq(both.bad, 1);
            memcpy(copy, whole.data, whole.size);
            uint64_t flip = prng_next(&w.prng);
            copy[at] ^= (uint8_t)(flip % 255 + 1);
            answers[1] = bytes_of(copy, whole.size);
            enum err err = result_merge(w.table, &w.read, &both, &scratch, &sink, &outcome);
            ck_assert(err == OK || (err == ERR_CORRUPT && both.bad == 1));
            ck_assert_uint_le(scratch.used_bytes, 100 * whole.size + 65536);
            arena_deinit(&scratch);
        }
        world_deinit(&w);
    }
}
END_TEST

/* Answers by hand: rows of one partition, keys 0 .. 9 at timestamp 1. */
struct script {
    struct world w;
    struct buf out;
    struct result_writer writer;
};
static void script_begin(struct script *s)
{
    world_init(&s->w, 1);
    s->w.table->columns[1].is_reversed = false;
    s->w.read = (struct read){ .table = s->w.table->id,
                               .key = s->w.partitions[0].key,
                               .token = s->w.partitions[0].token,
                               .rows_limit = 100,
                               .bytes_limit = 1 << 20,
                               .now_seconds = NOW };
    for (uint32_t i = 0; i < ROWS_MAX; i++) {
        struct row row;
        uint8_t *number = arena_alloc(&s->w.arena, 4);
        put_be32(number, i);
        struct bytes value = bytes_of(number, 4);
        sample_place(s->w.table, &s->w.arena, &value, &row);
        s->w.places[i] = row.key, s->w.clusterings[i] = row.clustering;
    }
}
static struct row script_row(const struct script *s, int number, int64_t deleted)
{
    struct row row = { .key = s->w.places[number],
                       .clustering = s->w.clusterings[number],
                       .liveness = { 1, 0, 0 },
                       .deletion = deletion_none() };
    if (deleted)
        row.liveness.timestamp = TIMESTAMP_NONE, row.deletion = (struct deletion){ deleted, 0 };
    return row;
}
/* rows: a digit is a live row; 'x' before it: its tombstone at 2; '|' the answer stops here. */
static struct bytes script_answer(struct script *s, int64_t deleted, const char *rows)
{
    struct read_outcome outcome = { 0 };
    struct row row = { 0 };
    s->out = buf_in(&s->w.arena);
    result_begin(&s->writer, &s->w.read, &s->out);
    struct deletion deletion = deletion_none();
    if (deleted)
        deletion = (struct deletion){ deleted, 0 };
    s->writer.sink.partition(&s->writer.sink, s->w.read.key, s->w.read.token, deletion);
    for (; *rows; rows++) {
        bool is_dead = *rows == 'x';
        rows += is_dead;
        if (*rows == '|') {
            outcome.has_more = true;
            outcome.last = (struct position){ true, s->w.read.token, s->w.read.key, row.key };
            break;
        }
        row = script_row(s, *rows - '0', is_dead ? 2 : 0);
        s->writer.sink.row(&s->writer.sink, &row, !is_dead);
    }
    result_end(&s->writer, &outcome);
    return buf_bytes(&s->out);
}

static const struct {
    const char *answers[3];
    int64_t deleted[3];
    bool is_reversed;
    uint32_t rows_limit;
    const char *rows; /* live ones that come out, then '|' when there may be more */
    int last;         /* the row that `last` is behind; -1: the whole partition */
} scripts[] = {
    { { "0123" }, { 0 }, false, 100, "0123", 0 },
    { { "0123" }, { 0 }, false, 4, "0123", 0 },
    { { "0123" }, { 0 }, false, 3, "012|", 2 },
    { { "012|" }, { 0 }, false, 100, "012|", 2 },
    { { "012|" }, { 0 }, false, 3, "012|", 2 },
    { { "024", "13" }, { 0 }, false, 100, "01234", 0 },
    { { "02|", "1356" }, { 0 }, false, 100, "012|", 2 },
    { { "02|", "05|", "x0x23" }, { 0 }, false, 100, "|", 2 },
    { { "0123", "x1x2x3" }, { 0 }, false, 2, "0", 0 },
    { { "0123", "" }, { 0, 1 }, false, 100, "", 0 },
    { { "01|", "" }, { 0, 1 }, false, 100, "|", 1 },
    { { "3210", "x2" }, { 0 }, true, 100, "310", 0 },
    { { "32|", "10" }, { 0 }, true, 100, "32|", 2 },
    { { "", "" }, { 0 }, false, 100, "", 0 },
};

struct script_sink {
    struct read_sink sink;
    struct script *script;
    char rows[32];
};
static void script_sink_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct script_sink *s = owner_of(sink, struct script_sink, sink);
    for (int i = 0; is_live && i < ROWS_MAX; i++)
        if (bytes_equal(row->key, s->script->w.places[i]))
            s->rows[strlen(s->rows)] = (char)('0' + i);
}

START_TEST(answers_merge_as_far_as_all_of_them_reach)
{
    for (size_t n = 0; n < array_count(scripts); n++) {
        struct script s;
        struct bytes answers[3];
        struct read_outcome outcome;
        size_t count = 0;
        script_begin(&s);
        struct script_sink sink = {
            .sink = { ignore_partition, script_sink_row, read_ignore_range }, .script = &s
        };
        s.w.read.is_reversed = scripts[n].is_reversed;
        s.w.read.rows_limit = scripts[n].rows_limit;
        for (; count < 3 && scripts[n].answers[count]; count++)
            answers[count] =
                script_answer(&s, scripts[n].deleted[count], scripts[n].answers[count]);
        ck_assert_int_eq(world_merge(&s.w, answers, count, &sink.sink, &outcome), OK);
        if (outcome.has_more) {
            sink.rows[strlen(sink.rows)] = '|';
            ck_assert(bytes_equal(outcome.last.row_key, s.w.places[scripts[n].last]));
        }
        ck_assert_str_eq(sink.rows, scripts[n].rows);
        world_deinit(&s.w);
    }
}
END_TEST

START_TEST(rows_out_of_order_are_corrupt)
{
    static const char *const wrong[] = { "10", "11", "0120" };
    for (size_t i = 0; i < array_count(wrong); i++) {
        struct script s;
        struct read_sink sink = { ignore_partition, ignore_row, read_ignore_range };
        struct read_outcome outcome;
        script_begin(&s);
        struct bytes answer = script_answer(&s, 0, wrong[i]);
        ck_assert_int_eq(world_merge(&s.w, &answer, 1, &sink, &outcome), ERR_CORRUPT);
        world_deinit(&s.w);
    }
}
END_TEST

START_TEST(what_was_not_asked_for_is_corrupt)
{
    struct script s;
    struct read_sink sink = { ignore_partition, ignore_row, read_ignore_range };
    struct read_outcome outcome;
    script_begin(&s);
    struct bytes answer = script_answer(&s, 0, "01|");
    s.w.read.from = (struct position){ true, s.w.read.token, s.w.read.key, s.w.places[1] };
    ck_assert_int_eq(world_merge(&s.w, &answer, 1, &sink, &outcome),
                     ERR_CORRUPT); /* it would never end */
    answer = script_answer(&s, 0, "01");
    s.w.read.from.is_set = false;
    s.w.read.key = bytes_text("another");
    ck_assert_int_eq(world_merge(&s.w, &answer, 1, &sink, &outcome), ERR_CORRUPT);
    world_deinit(&s.w);
}
END_TEST

/* A page that is full just before a partition of which nothing but its deletion is left: who merges
 * further must hear of that deletion, so the page says that there is more. */
START_TEST(a_deletion_behind_a_full_page_is_not_lost)
{
    struct script s;
    struct script_sink sink_of_rows = {
        .sink = { ignore_partition, script_sink_row, read_ignore_range }, .script = &s
    };
    struct read_outcome outcome;
    script_begin(&s);
    s.w.read = (struct read){ .table = s.w.table->id,
                              .is_range = true,
                              .after = INT64_MIN,
                              .upto = INT64_MAX,
                              .rows_limit = 1,
                              .bytes_limit = 1 << 20 };
    struct buf out = buf_in(&s.w.arena);
    struct row row = script_row(&s, 0, 0);
    struct read_sink *sink = &s.writer.sink;
    const struct partition *first = &s.w.partitions[0], *second = &s.w.partitions[1];
    result_begin(&s.writer, &s.w.read, &out);
    sink->partition(sink, first->key, first->token, deletion_none());
    sink->row(sink, &row, true);
    sink->partition(sink, second->key, second->token, (struct deletion){ 5, 0 });
    result_end(&s.writer, &(struct read_outcome){ 0 });
    struct bytes answer = buf_bytes(&out);
    ck_assert_int_eq(world_merge(&s.w, &answer, 1, &sink_of_rows.sink, &outcome), OK);
    ck_assert(outcome.has_more && outcome.rows_count == 1);
    ck_assert_str_eq(sink_of_rows.rows, "0");
    ck_assert(bytes_equal(outcome.last.key, first->key));
    world_deinit(&s.w);
}
END_TEST

START_TEST(no_answers_are_an_empty_result)
{
    struct script s;
    struct read_sink sink = { ignore_partition, ignore_row, read_ignore_range };
    struct read_outcome outcome;
    script_begin(&s);
    ck_assert_int_eq(world_merge(&s.w, NULL, 0, &sink, &outcome), OK);
    ck_assert(!outcome.has_more && outcome.rows_count == 0);
    world_deinit(&s.w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merge");
    TCase *tcase = tcase_create("answers");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, answers_merge_as_far_as_all_of_them_reach);
    tcase_add_test(tcase, rows_out_of_order_are_corrupt);
    tcase_add_test(tcase, what_was_not_asked_for_is_corrupt);
    tcase_add_test(tcase, a_deletion_behind_a_full_page_is_not_lost);
    tcase_add_test(tcase, no_answers_are_an_empty_result);
    tcase_add_test(tcase, answers_that_are_cut_or_flipped_are_refused_and_named);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
