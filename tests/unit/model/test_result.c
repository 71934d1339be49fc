/* test_result.c - merging answers, page by page, against a model.
 *
 *     writes ──some──> replica 0 ──answer──+
 *            ──some──> replica 1 ──answer──+──> result_merge ──> page ──> page ──> ... = the model
 *            ──all───> model: what all writes together come to
 *
 * The model knows nothing of answers, limits and positions.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/answer.h"
#include "model/ranges.h"
#include "replica.h"

#include <check.h>

enum { PAGES_MAX = 2000 };

/* What came of one partition, from all pages. */
struct told {
    struct row fixed; /* cells_count 0: no static row */
    struct deletion deletion;
    struct ranges ranges;
};
/* What a page collects: checks what a sink may rely on. */
struct page {
    struct read_sink sink;
    struct world *world;
    struct position at; /* the last row, or the head of its partition */
    struct bytes range_end;
    struct told *told; /* of that partition */
    uint64_t live, dead, bytes, heads, things;
    bool is_at_head;  /* nothing but the head of the partition has come */
    struct row *rows; /* live ones of all pages, copied */
    struct bytes *keys;
    size_t rows_count;
    struct told all[PARTITIONS_MAX];
    struct slab slab;
};

static struct told *told_of(struct page *page, struct bytes key)
{
    size_t i = 0;
    while (!bytes_equal(page->world->partitions[i].key, key))
        i++;
    ck_assert_uint_lt(i, page->world->partitions_count);
    return &page->all[i];
}

/* A row, a range or a head that comes: nothing comes once the bytes are used up, but for the first
 * row. */
static void page_thing(struct page *page, bool is_first_row)
{
    if (!page->is_at_head) {
        ck_assert(page->bytes <= page->world->read.bytes_limit || is_first_row);
        page->things++;
    }
    page->is_at_head = false;
}

static void page_partition(struct read_sink *sink, struct bytes key, int64_t token,
                           struct deletion deletion)
{
    struct page *page = owner_of(sink, struct page, sink);
    struct position head = { true, token, arena_copy(&page->world->arena, key), { 0 } };
    ck_assert_int_eq(token, key_token(key));
    if (page->heads)
        ck_assert(page->at.token < token ||
                  (page->at.token == token && bytes_compare(page->at.key, key) < 0));
    page->is_at_head = false;
    page_thing(page, page->live + page->dead == 0); /* it may be the head of the first row */
    page->is_at_head = true;
    page->at = head;
    page->range_end = (struct bytes){ 0 };
    page->told = told_of(page, key);
    page->told->deletion = deletion_newer(page->told->deletion, deletion);
    page->heads++;
    page->bytes += 1 + vint_size(key.size) + key.size;
    if (!deletion_is_none(deletion))
        page->bytes += 8 + vint_size(deletion.seconds);
}

static struct row page_copy(struct page *page, const struct row *row)
{
    struct arena *arena = &page->world->arena;
    struct row copy = *row;
    copy.key = arena_copy(arena, row->key);
    copy.clustering = arena_copy(arena, row->clustering);
    copy.cells = arena_array(arena, struct cell, row->cells_count);
    for (size_t i = 0; i < row->cells_count; i++) {
        copy.cells[i] = row->cells[i];
        copy.cells[i].path = arena_copy(arena, row->cells[i].path);
        copy.cells[i].value = arena_copy(arena, row->cells[i].value);
    }
    return copy;
}

/* The static row belongs to the head. */
static void page_static(struct page *page, const struct row *row)
{
    ck_assert(page->is_at_head && row->cells_count > 0);
    page->bytes += row_encoded_bytes(row);
    if (page->told->fixed.cells_count)
        ck_assert(sample_row_equal(&page->told->fixed, row));
    page->told->fixed = page_copy(page, row);
}

static void page_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct page *page = owner_of(sink, struct page, sink);
    ck_assert_uint_gt(page->heads, 0);
    ck_assert(is_live == row_is_live(row, NOW));
    if (row_is_static(row)) {
        page_static(page, row);
        return;
    }
    page_thing(page, page->live + page->dead == 0);
    struct row copy = page_copy(page, row);
    struct position at = { true, page->at.token, page->at.key, copy.key };
    bool is_reversed = page->world->read.is_reversed;
    if (page->at.row_key.size)
        ck_assert_int_gt(position_compare(&at, &page->at, is_reversed), 0);
    if (page->world->read.from.is_set)
        ck_assert_int_gt(position_compare(&at, &page->world->read.from, is_reversed), 0);
    page->at = at;
    page->live += is_live, page->dead += !is_live;
    page->bytes += row_encoded_bytes(row);
    if (!is_live)
        return;
    ck_assert_uint_lt(page->rows_count, PARTITIONS_MAX * ROWS_MAX);
    page->rows[page->rows_count] = copy;
    page->keys[page->rows_count++] = page->at.key;
}

/* In order, disjoint, before the rows that it may cover. */
static void page_range(struct read_sink *sink, const struct range_tombstone *range)
{
    struct page *page = owner_of(sink, struct page, sink);
    bool is_reversed = page->world->read.is_reversed;
    struct bytes begin = is_reversed ? range->high : range->low;
    struct bytes end = is_reversed ? range->low : range->high;
    page_thing(page, false);
    ck_assert_int_lt(bytes_compare(range->low, range->high), 0);
    ck_assert_int_gt(deletion_compare(range->deletion, page->told->deletion), 0);
    if (page->range_end.size) {
        int c = bytes_compare(begin, page->range_end);
        ck_assert(is_reversed ? c <= 0 : c >= 0);
    }
    if (page->at.row_key.size) {
        int c = bytes_compare(begin, page->at.row_key);
        ck_assert(is_reversed ? c < 0 : c > 0);
    }
    page->range_end = arena_copy(&page->world->arena, end);
    page->bytes += answer_range_bytes(range);
    ranges_add(&page->told->ranges, range);
}

/* Answers of all replicas; sometimes two of them are merged to one answer first, as a node does
 * with its shards. */
static size_t world_answers(struct world *w, struct bytes out[REPLICAS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < w->replicas_count; i++) {
        uint64_t steps = prng_chance(&w->prng, 30) ? 1 + prng_below(&w->prng, 6) : UINT64_MAX;
        uint64_t rows = w->read.rows_limit; /* one that ends there need not have more */
        rows += prng_chance(&w->prng, 50);
        out[count++] = replica_answer(w, UINT32_C(1) << i, rows, steps);
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
    page->live = page->dead = page->bytes = page->heads = page->things = 0;
    page->is_at_head = false;
    ck_assert_int_eq(world_merge(w, answers, count, &page->sink, &outcome), OK);
    ck_assert_uint_eq(outcome.rows_count, page->live);
    ck_assert_uint_eq(outcome.dead_count, page->dead);
    ck_assert_uint_le(page->live, w->read.rows_limit);
    ck_assert(page->bytes <= w->read.bytes_limit || page->things <= 1 ||
              page->live + page->dead == 1);
    if (!outcome.has_more)
        return false;
    if (w->read.from.is_set)
        ck_assert_int_gt(position_compare(&outcome.last, &w->read.from, w->read.is_reversed), 0);
    w->read.from = outcome.last;
    return true;
}

/* The rows that came are those that live, and no others. */
static void check_rows(struct world *w, const struct page *page)
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

/* So are static rows, deletions, and what covers each place. */
static void check_told(struct world *w, const struct page *page)
{
    for (size_t p = 0; p < w->partitions_count; p++) {
        const struct told *told = &page->all[p];
        struct deletion deletion = known_deletion(w, UINT32_MAX, (int)p);
        struct row fixed = { 0 };
        if (!is_asked(&w->read, &w->partitions[p]))
            continue;
        if (!known_row(w, UINT32_MAX, (int)p, STATIC_ROW, &fixed))
            fixed.cells_count = 0;
        ck_assert_uint_eq(told->fixed.cells_count, fixed.cells_count);
        ck_assert(!fixed.cells_count || sample_row_equal(&told->fixed, &fixed));
        ck_assert_int_eq(deletion_compare(told->deletion, deletion), 0);
        for (int i = 0; i < ROWS_MAX; i++) {
            struct deletion cover = ranges_covering(&told->ranges, w->places[i]);
            cover = deletion_newer(cover, told->deletion);
            struct deletion known = known_cover(w, UINT32_MAX, (int)p, w->places[i]);
            ck_assert_msg(deletion_compare(cover, known) == 0, "seed %llu",
                          (unsigned long long)w->seed);
        }
    }
}

static void page_init(struct page *page, struct world *w)
{
    *page = (struct page){ .sink = { page_partition, page_row, page_range }, .world = w };
    page->rows = arena_array(&w->arena, struct row, PARTITIONS_MAX * ROWS_MAX);
    page->keys = arena_array(&w->arena, struct bytes, PARTITIONS_MAX * ROWS_MAX);
    slab_init(&page->slab);
    for (size_t i = 0; i < PARTITIONS_MAX; i++) {
        page->all[i].deletion = deletion_none();
        ranges_init(&page->all[i].ranges, &page->slab);
    }
}

START_TEST(pages_merged_from_many_answers_are_what_was_written)
{
    for (size_t n = 0; n < 120; n++) {
        struct world w;
        world_init(&w, (uint64_t)n);
        for (int turn = 0; turn < 5; turn++) {
            struct page page;
            page_init(&page, &w);
            world_read(&w);
            int pages = 1;
            while (world_page(&w, &page))
                ck_assert_int_lt(pages++, PAGES_MAX);
            check_rows(&w, &page);
            check_told(&w, &page);
            slab_deinit(&page.slab);
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
