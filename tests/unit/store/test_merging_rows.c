/* test_merging_rows.c - rows that are hard for a merge: large beside the chunks of their files, and
 * counters of which a deletion covers a part.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "files.h"
#include "model/row_counter.h"

#include <check.h>

static struct files f;

static void teardown(void) { files_deinit(&f); }

static void hand_row(struct sstable_writer *w, struct bytes place, struct deletion deletion,
                     const struct cell *cell)
{
    struct buf raw = buf_in(&f.arena), key = buf_in(&f.arena);
    struct cell own = cell ? *cell : (struct cell){ 0 };
    buf_put_sized(&raw, place);
    comparable_key(f.table, &place, &key);
    sstable_writer_row(w, &(struct row){ .key = buf_bytes(&key),
                                         .clustering = buf_bytes(&raw),
                                         .liveness = { .timestamp = TIMESTAMP_NONE },
                                         .deletion = deletion,
                                         .cells_count = cell != NULL,
                                         .cells = &own });
}

static void enter_first(struct files_walk *w, struct sstable *file)
{
    files_walk_init(w, file);
    files_insist(&f, w, file_walk_seek(&w->walk, &w->fetch, INT64_MIN, (struct bytes){ 0 }));
    files_insist(&f, w, file_walk_enter(&w->walk, &w->fetch, (struct slice){ 0 }, false));
}

/* ---- rows beside small chunks ---- */

enum { LONG_ROWS = 60, LONG_MAX = 6000, SMALL_CHUNK = 1024 };

static void setup_long(void)
{
    static const struct stage_column columns[] = {
        { "k", "text", COLUMN_PARTITION, false },
        { "c", "text", COLUMN_CLUSTERING, false },
        { "v", "text", COLUMN_REGULAR, false },
    };
    static struct table_params params;
    struct table *t = stage_table("files", columns, array_count(columns));
    params = *t->params;
    params.compression.chunk_bytes = SMALL_CHUNK;
    t->params = &params;
    files_init(&f, 5, t);
}

/* Places of rows are as long as several chunks: how long, a walk finds out by reading on, past the
 * row's end. */
static struct sstable *long_file(uint64_t seed, int64_t timestamp)
{
    static char text[LONG_MAX];
    struct prng prng = { seed };
    struct sstable_writer *w = files_begin(&f, (struct header_base){ 1, 1, 1 });
    sstable_writer_partition(w, bytes_text("a"), key_token(bytes_text("a")), deletion_none());
    for (int i = 0; i < LONG_ROWS; i++) {
        struct cell cell = { .timestamp = timestamp, .column = 2 };
        for (size_t k = 0; k < LONG_MAX; k++)
            text[k] = (char)('a' + prng_below(&prng, 26));
        text[0] = (char)('0' + i / 10);
        text[1] = (char)('0' + i % 10);
        size_t size = 2 + prng_below(&prng, LONG_MAX - 2);
        cell.value = bytes_of(text, prng_below(&prng, prng_chance(&prng, 30) ? LONG_MAX : 100));
        hand_row(w, bytes_of(text, size), deletion_none(), &cell);
        ck_assert_int_eq(files_drain(&f), OK);
    }
    sstable_writer_partition_end(w);
    return files_end(&f);
}

static void check_the_same_rows(struct sstable *left, struct sstable *right)
{
    struct files_walk a, b;
    enter_first(&a, left);
    enter_first(&b, right);
    for (int i = 0; i < LONG_ROWS; i++) {
        const struct row *x = &a.walk.head.row, *y = &b.walk.head.row;
        ck_assert(x->cells_count == 1 && bytes_equal(x->clustering, y->clustering));
        ck_assert(x->cells->timestamp == y->cells->timestamp);
        ck_assert(bytes_equal(x->cells->value, y->cells->value));
        files_insist(&f, &a, file_walk_next(&a.walk, &a.fetch));
        files_insist(&f, &b, file_walk_next(&b.walk, &b.fetch));
    }
    ck_assert(a.walk.head.kind == UNFILTERED_END && b.walk.head.kind == UNFILTERED_END);
    files_walk_deinit(&a);
    files_walk_deinit(&b);
}

static int64_t nothing_outside(void *context, int64_t token, struct bytes key)
{
    (void)context, (void)token, (void)key;
    return INT64_MAX;
}

static struct merging_options purging(void)
{
    return (struct merging_options){
        .purges = true, .now_seconds = 1000, .gc_before = 500, .timestamp_min = nothing_outside
    };
}

START_TEST(rows_that_are_large_beside_chunks_cross_windows)
{
    struct sstable *inputs[2] = { long_file((uint64_t)_i, 1), long_file((uint64_t)_i, 2) };
    struct merging_options options = purging();
    struct merging_counts counts;
    struct sstable *out = files_merge(&f, inputs, 2, &options, &counts);
    ck_assert_uint_eq(counts.rows, LONG_ROWS);
    check_the_same_rows(out, inputs[1]);
    sstable_unref(&out);
    sstable_unref(&inputs[0]);
    sstable_unref(&inputs[1]);
}
END_TEST

/* ---- counters ---- */

static void setup_counters(void)
{
    static const struct stage_column columns[] = {
        { "k", "text", COLUMN_PARTITION, false },
        { "c", "text", COLUMN_CLUSTERING, false },
        { "n", "counter", COLUMN_REGULAR, false },
    };
    files_init(&f, 5, stage_table("files", columns, array_count(columns)));
}

static struct sstable *counter_file(struct deletion deletion, const struct cell *cell)
{
    struct sstable_writer *w = files_begin(&f, (struct header_base){ 1, 1, 1 });
    sstable_writer_partition(w, bytes_text("a"), key_token(bytes_text("a")), deletion_none());
    hand_row(w, bytes_text("x"), deletion, cell);
    sstable_writer_partition_end(w);
    return files_end(&f);
}

static const size_t orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                    { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

/* A counter's tombstone would win over what was counted after the row's deletion, which covers it:
 * whatever the order of the files is, the deletion comes first. */
START_TEST(of_three_counters_what_the_deletion_of_the_row_covers_has_no_part)
{
    uint8_t share[2 + 16 + 8 + 8] = { [2] = 1, [33] = 4 }; /* no marks; its count is 4 */
    struct cell dead = { .timestamp = 5, .column = 2, .kind = CELL_DELETED, .seconds = 900 };
    struct cell counted = { .timestamp = 10, .column = 2, .value = { share, sizeof share } };
    struct sstable *files[3] = { counter_file(deletion_none(), &dead),
                                 counter_file(deletion_none(), &counted),
                                 counter_file((struct deletion){ 7, 900 }, NULL) };
    struct sstable *inputs[3];
    struct merging_options options = purging();
    struct files_walk w;
    for (size_t i = 0; i < 3; i++)
        inputs[i] = files[orders[_i][i]];
    struct sstable *out = files_merge(&f, inputs, 3, &options, NULL);
    enter_first(&w, out);
    const struct row *row = &w.walk.head.row;
    ck_assert(row->deletion.timestamp == 7 && row->cells_count == 1);
    ck_assert(row->cells->kind == CELL_LIVE && row->cells->timestamp == 10);
    ck_assert_int_eq(counter_total(row->cells->value), 4);
    files_walk_deinit(&w);
    sstable_unref(&out);
    for (size_t i = 0; i < 3; i++)
        sstable_unref(&files[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merging rows");
    TCase *small = tcase_create("small chunks");
    tcase_add_checked_fixture(small, setup_long, teardown);
    tcase_add_loop_test(small, rows_that_are_large_beside_chunks_cross_windows, 0, 10);
    suite_add_tcase(suite, small);
    TCase *counters = tcase_create("counters");
    tcase_add_checked_fixture(counters, setup_counters, teardown);
    tcase_add_loop_test(counters, of_three_counters_what_the_deletion_of_the_row_covers_has_no_part,
                        0, array_count(orders));
    suite_add_tcase(suite, counters);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
