/* test_result.c - merging answers, page by page, against a model.
 *
 *     writes ──some──> replica 0 ──answer──+
 *            ──some──> replica 1 ──answer──+──> result_merge ──> page ──> page ──> ... = the model
 *            ──all───> model: what all writes together come to
 *
 * The model knows nothing of answers, limits and positions.
 */
// SPDX-License-Identifier: Apache-2.0
#include "replica.h"

#include <check.h>

enum { PAGES_MAX = 2000 };

/* What a page collects: checks what a sink may rely on. */
struct page {
    struct read_sink sink;
    struct world *world;
    struct position at;
    uint64_t live, dead, bytes, heads;
    struct row *rows; /* live ones of all pages, copied */
    struct bytes *keys;
    size_t rows_count;
};

static void page_partition(struct read_sink *sink, struct bytes key, int64_t token,
                           struct deletion deletion)
{
    struct page *page = owner_of(sink, struct page, sink);
    struct position head = { true, token, arena_copy(&page->world->arena, key), { 0 } };
    ck_assert_int_eq(token, key_token(key));
    if (page->heads)
        ck_assert(page->at.token < token ||
                  (page->at.token == token && bytes_compare(page->at.key, key) < 0));
    page->at = head;
    page->heads++;
    page->bytes += 1 + vint_size(key.size) + key.size;
    if (!deletion_is_none(deletion))
        page->bytes += 8 + vint_size(deletion.seconds);
}

static void page_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct page *page = owner_of(sink, struct page, sink);
    struct arena *arena = &page->world->arena;
    struct position at = { true, page->at.token, page->at.key, arena_copy(arena, row->key) };
    ck_assert_uint_gt(page->heads, 0);
    if (page->at.row_key.size)
        ck_assert_int_gt(position_compare(&at, &page->at, page->world->read.is_reversed), 0);
    if (page->world->read.from.is_set)
        ck_assert_int_gt(
            position_compare(&at, &page->world->read.from, page->world->read.is_reversed), 0);
    page->at = at;
    ck_assert(is_live == row_is_live(row, NOW));
    page->live += is_live, page->dead += !is_live;
    page->bytes += row_encoded_bytes(row);
    if (!is_live)
        return;
    ck_assert_uint_lt(page->rows_count, PARTITIONS_MAX * ROWS_MAX);
    struct row *copy = &page->rows[page->rows_count];
    *copy = *row;
    copy->key = at.row_key;
    copy->clustering = arena_copy(arena, row->clustering);
    copy->cells = arena_array(arena, struct cell, row->cells_count);
    for (size_t i = 0; i < row->cells_count; i++) {
        copy->cells[i] = row->cells[i];
        copy->cells[i].value = arena_copy(arena, row->cells[i].value);
    }
    page->keys[page->rows_count++] = page->at.key;
}

/* Answers of all replicas; sometimes two of them are merged to one answer first, as a node does
 * with its shards. */
static size_t world_answers(struct world *w, struct bytes out[REPLICAS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < w->replicas_count; i++) {
        uint64_t steps = prng_chance(&w->prng, 30) ? 1 + prng_below(&w->prng, 6) : UINT64_MAX;
        out[count++] = replica_answer(w, UINT32_C(1) << i, w->read.rows_limit, steps);
    }
    if (count < 2 || !prng_chance(&w->prng, 30))
        return count;
    struct buf both = buf_in(&w->arena);
    struct result_writer writer;
    struct read_outcome outcome;
    result_begin(&writer, &w->read, &both);
    ck_assert_int_eq(world_merge(w, &out[count - 2], 2, &writer.sink, &outcome), OK);
    result_end(&writer, &outcome);
    out[count - 2] = buf_bytes(&both);
    return count - 1;
}

static bool world_page(struct world *w, struct page *page)
{
    struct bytes answers[REPLICAS_MAX];
    struct read_outcome outcome;
    size_t count = world_answers(w, answers);
    page->at = (struct position){ 0 };
    page->live = page->dead = page->bytes = page->heads = 0;
    ck_assert_int_eq(world_merge(w, answers, count, &page->sink, &outcome), OK);
    ck_assert_uint_eq(outcome.rows_count, page->live);
    ck_assert_uint_eq(outcome.dead_count, page->dead);
    ck_assert_uint_le(page->live, w->read.rows_limit);
    ck_assert(page->bytes <= w->read.bytes_limit || page->live + page->dead <= 1);
    if (!outcome.has_more)
        return false;
    if (w->read.from.is_set)
        ck_assert_int_gt(position_compare(&outcome.last, &w->read.from, w->read.is_reversed), 0);
    w->read.from = outcome.last;
    return true;
}

static void check_against_model(struct world *w, const struct page *page)
{
    size_t count = 0;
    for (size_t p = 0; p < w->partitions_count; p++) {
        if (!is_asked(&w->read, &w->partitions[p]))
            continue;
        for (int place = 0; place < ROWS_MAX; place++) {
            struct row row;
            if (!known_row(w, UINT32_MAX, (int)p, row_at(w, place), &row) ||
                !row_is_live(&row, NOW))
                continue;
            ck_assert_uint_lt(count, page->rows_count);
            ck_assert_msg(bytes_equal(page->keys[count], w->partitions[p].key) &&
                              sample_row_equal(&page->rows[count], &row),
                          "seed %llu", (unsigned long long)w->seed);
            count++;
        }
    }
    ck_assert_uint_eq(count, page->rows_count);
}

START_TEST(pages_merged_from_many_answers_are_what_was_written)
{
    for (size_t n = 0; n < 120; n++) {
        struct world w;
        world_init(&w, (uint64_t)n);
        for (int turn = 0; turn < 5; turn++) {
            struct page page = { .sink = { page_partition, page_row, read_ignore_range },
                                 .world = &w };
            page.rows = arena_array(&w.arena, struct row, PARTITIONS_MAX * ROWS_MAX);
            page.keys = arena_array(&w.arena, struct bytes, PARTITIONS_MAX * ROWS_MAX);
            world_read(&w);
            int pages = 1;
            while (world_page(&w, &page))
                ck_assert_int_lt(pages++, PAGES_MAX);
            check_against_model(&w, &page);
        }
        world_deinit(&w);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("result");
    TCase *tcase = tcase_create("model");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, pages_merged_from_many_answers_are_what_was_written);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
