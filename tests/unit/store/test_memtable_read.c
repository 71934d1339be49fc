/* test_memtable_read.c - reads of tables with elements, static rows and ranges: slices, limits,
 * both directions, page after page; some of it flushed, so that memtables and files merge.
 *
 *     page 1: [head: static row] (range | row) ...   page 2: goes on behind `last` ...   = the list
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/ranges.h"
#include "stage.h"
#include "wide.h"

#include <check.h>
#include <stdlib.h>

/* ck_assert tells another process of every claim that holds: too slow for millions of them. */
#define claim(x) ((x) ? (void)0 : ck_abort_msg("seed %llu: %s", (unsigned long long)seed_now, #x))

enum { PAGES_MAX = 400, SLICES_MAX = 3, BOUNDS = 2 * WIDE_PLACES + 2 };
static uint64_t seed_now;

struct world {
    struct wide wide;
    struct stage stage;
    struct bytes bounds[BOUNDS]; /* below and above each row, and all: in clustering order */
    int ring[WIDE_PARTITIONS];   /* partitions by token */
};

static int bound_order(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

static struct bytes bound_of(struct world *w, int place, bool is_above)
{
    struct buf out = buf_in(&w->wide.arena);
    struct bytes value = { 0 };
    if (place >= 0)
        value = row_clustering(&w->wide.places[place], 0);
    if (is_above)
        comparable_above(w->wide.table, &value, place >= 0, &out);
    else
        comparable_below(w->wide.table, &value, place >= 0, &out);
    return buf_bytes(&out);
}

static void world_init(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    wide_init(&w->wide, seed);
    stage_init(&w->stage, seed);
    catalog_add_system(&w->stage.catalog, w->wide.table);
    table_ref(w->wide.table);
    claim(stage_open(&w->stage) == OK);
    size_t count = 0;
    for (int place = -1; place < WIDE_PLACES; place++) {
        w->bounds[count++] = bound_of(w, place, false);
        w->bounds[count++] = bound_of(w, place, true);
    }
    qsort(w->bounds, BOUNDS, sizeof *w->bounds, bound_order);
    for (int i = 0; i < WIDE_PARTITIONS; i++) {
        int at = i;
        for (; at > 0 && key_token(w->wide.keys[w->ring[at - 1]]) > key_token(w->wide.keys[i]);
             at--)
            w->ring[at] = w->ring[at - 1];
        w->ring[at] = i;
    }
}

static void world_deinit(struct world *w)
{
    stage_deinit(&w->stage);
    wide_deinit(&w->wide);
}

static void world_write(struct world *w)
{
    struct mutation m;
    struct buf encoded = buf_in(&w->wide.arena);
    wide_draw(&w->wide, (int)prng_below(&w->wide.prng, WIDE_PARTITIONS), &m);
    if (mutation_has_anything(&m)) {
        mutation_encode(&m, &encoded);
        claim(stage_apply(&w->stage, buf_bytes(&encoded)) == OK);
    }
    if (prng_chance(&w->wide.prng, 6))
        claim(stage_flush(&w->stage, w->wide.table) == OK);
}

/* ---- what is asked ---- */

static void draw_slices(struct world *w, struct read *read)
{
    struct prng *prng = &w->wide.prng;
    size_t at = 0;
    read->slices = arena_array(&w->wide.arena, struct slice, SLICES_MAX);
    for (size_t n = prng_below(prng, SLICES_MAX + 1); n > 0 && at + 1 < BOUNDS; n--) {
        size_t low = at + prng_below(prng, BOUNDS - at - 1);
        size_t high = low + 1 + prng_below(prng, BOUNDS - low - 1);
        struct slice *slice = &read->slices[read->slices_count++];
        *slice = (struct slice){ w->bounds[low], w->bounds[high] };
        if (low == 0 && prng_chance(prng, 50))
            slice->low = (struct bytes){ 0 };
        if (high == BOUNDS - 1 && prng_chance(prng, 50))
            slice->high = (struct bytes){ 0 };
        at = high + 1;
    }
}

static void draw_columns(struct world *w, struct read *read)
{
    static const uint32_t numbers[] = { 3, 4, 6, 9, 11, 12 };
    read->columns = arena_array(&w->wide.arena, uint32_t, array_count(numbers));
    if (prng_chance(&w->wide.prng, 60))
        return;
    for (size_t i = 0; i < array_count(numbers); i++)
        if (prng_chance(&w->wide.prng, 50))
            read->columns[read->columns_count++] = numbers[i];
}

static void draw_read(struct world *w, struct read *read)
{
    struct prng *prng = &w->wide.prng;
    *read = (struct read){ .table = w->wide.table->id, .now_seconds = WIDE_NOW };
    read->is_range = prng_chance(prng, 40);
    read->is_reversed = prng_chance(prng, 50);
    read->after = INT64_MIN, read->upto = INT64_MAX;
    if (!read->is_range) {
        read->key = w->wide.keys[prng_below(prng, WIDE_PARTITIONS)];
        read->token = key_token(read->key);
    }
    draw_slices(w, read);
    draw_columns(w, read);
    read->rows_limit = 1 + (uint32_t)prng_below(prng, prng_chance(prng, 50) ? 3 : 100);
    read->bytes_limit = 1 + (uint32_t)prng_below(prng, prng_chance(prng, 50) ? 150 : 50000);
}

static bool is_in_slices(const struct read *read, struct bytes key)
{
    for (size_t i = 0; i < read->slices_count; i++) {
        struct slice s = read->slices[i];
        if ((!s.low.size || bytes_compare(s.low, key) < 0) &&
            (!s.high.size || bytes_compare(key, s.high) < 0))
            return true;
    }
    return read->slices_count == 0;
}

static bool is_asked(const struct world *w, const struct read *read, int partition)
{
    return read->is_range || bytes_equal(read->key, w->wide.keys[partition]);
}

/* The row as the read shows it. */
static void elide(struct world *w, const struct read *read, struct row *row)
{
    struct cell *cells = arena_array(&w->wide.arena, struct cell, row->cells_count);
    for (size_t i = 0; i < row->cells_count; i++) {
        bool is_wanted = read->columns_count == 0;
        for (size_t c = 0; c < read->columns_count; c++)
            is_wanted |= read->columns[c] == row->cells[i].column;
        cells[i] = row->cells[i];
        if (!is_wanted)
            cells[i].value = (struct bytes){ 0 };
    }
    row->cells = cells;
}

/* ---- what comes ---- */

struct answer {
    struct read_sink sink;
    struct world *w;
    struct read *read;
    struct slab slab;
    int ring_at;         /* which partition of the ring comes next, or has come, in this page */
    int partition;       /* -1: none in this page */
    bool is_at_head;     /* nothing but its head has come in this page */
    struct bytes passed; /* in it: the last row's key */
    struct bytes told;   /* in it: the end of the last range */
    struct deletion deletions[WIDE_PARTITIONS];
    bool has_static[WIDE_PARTITIONS], is_told[WIDE_PARTITIONS];
    struct ranges ranges[WIDE_PARTITIONS];
    size_t rows_count[WIDE_PARTITIONS]; /* of all pages */
    uint32_t live, dead;                /* of the page */
};

static void answer_partition(struct read_sink *sink, struct bytes key, int64_t token,
                             struct deletion deletion)
{
    struct answer *a = owner_of(sink, struct answer, sink);
    const struct wide *w = &a->w->wide;
    while (a->ring_at < WIDE_PARTITIONS && !bytes_equal(w->keys[a->w->ring[a->ring_at]], key))
        a->ring_at++;
    claim(a->ring_at < WIDE_PARTITIONS && token == key_token(key));
    a->partition = a->w->ring[a->ring_at++];
    claim(is_asked(a->w, a->read, a->partition));
    claim(deletion_compare(deletion, w->deletions[a->partition]) == 0);
    a->deletions[a->partition] = deletion;
    a->is_told[a->partition] = true;
    a->is_at_head = true;
    a->passed = a->told = (struct bytes){ 0 };
}

static void answer_static(struct answer *a, const struct row *row)
{
    struct row known;
    claim(a->is_at_head);
    claim(wide_known_row(&a->w->wide, a->partition, row->key, &known));
    elide(a->w, a->read, &known);
    claim(sample_row_equal(row, &known));
    a->has_static[a->partition] = true;
}

static bool is_before(const struct read *read, struct bytes a, struct bytes b)
{
    int c = bytes_compare(a, b);
    return read->is_reversed ? c > 0 : c < 0;
}

static void answer_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct answer *a = owner_of(sink, struct answer, sink);
    struct row known;
    claim(a->partition >= 0);
    if (row_is_static(row)) {
        answer_static(a, row);
        return;
    }
    a->is_at_head = false;
    claim(is_in_slices(a->read, row->key));
    claim(!a->passed.size || is_before(a->read, a->passed, row->key));
    claim(wide_known_row(&a->w->wide, a->partition, row->key, &known));
    claim(is_live == row_is_live(&known, WIDE_NOW));
    elide(a->w, a->read, &known);
    claim(sample_row_equal(row, &known));
    a->rows_count[a->partition]++;
    a->passed = arena_copy(&a->w->wide.arena, row->key);
    a->live += is_live, a->dead += !is_live;
}

static void answer_range(struct read_sink *sink, const struct range_tombstone *range)
{
    struct answer *a = owner_of(sink, struct answer, sink);
    struct arena *arena = &a->w->wide.arena;
    bool is_reversed = a->read->is_reversed;
    struct bytes begin = is_reversed ? range->high : range->low;
    struct bytes end = is_reversed ? range->low : range->high;
    claim(a->partition >= 0 && bytes_compare(range->low, range->high) < 0);
    claim(deletion_compare(range->deletion, a->deletions[a->partition]) > 0);
    claim(!a->told.size || !is_before(a->read, begin, a->told));
    claim(!a->passed.size || is_before(a->read, a->passed, begin));
    a->is_at_head = false;
    a->told = arena_copy(arena, end);
    ranges_add(&a->ranges[a->partition], range);
}

/* A place inside of a partition counts as covered only once its head has been told: else whoever
 * merges would take what the partition's deletion covers from another replica. */
static void claim_head(const struct answer *a, const struct position *last)
{
    struct wide *w = &a->w->wide;
    struct row row;
    for (int i = 0; last->row_key.size && i < WIDE_PARTITIONS; i++) {
        bool says_something =
            !deletion_is_none(w->deletions[i]) || wide_known_row(w, i, bytes_of("\x10", 1), &row);
        claim(!bytes_equal(w->keys[i], last->key) || !says_something || a->partition == i);
    }
}

static bool answer_page(struct answer *a)
{
    struct read_outcome outcome;
    struct read *read = a->read;
    a->ring_at = 0;
    a->partition = -1;
    a->live = a->dead = 0;
    enum err e = stage_read(&a->w->stage, read, &a->w->wide.arena, &a->sink, &outcome);
    claim(e == OK);
    claim(outcome.rows_count == a->live && outcome.dead_count == a->dead);
    claim(a->live <= read->rows_limit);
    if (!outcome.has_more)
        return false;
    claim(!read->from.is_set ||
          position_compare(&outcome.last, &read->from, read->is_reversed) > 0);
    claim_head(a, &outcome.last);
    read->from = outcome.last;
    return true;
}

/* What came is all that there is: rows, static rows, deletions, what covers each place. */
static void check(struct answer *a, int i)
{
    struct wide *w = &a->w->wide;
    struct row row;
    size_t rows = 0;
    if (!is_asked(a->w, a->read, i))
        return;
    for (int place = 0; place < WIDE_PLACES; place++) {
        struct bytes key = w->places[place].key;
        if (!is_in_slices(a->read, key))
            continue;
        rows += wide_known_row(w, i, key, &row);
        struct deletion known = sample_covering(w->ranges[i], w->ranges_count[i], key);
        struct deletion told = ranges_covering(&a->ranges[i], key);
        claim(deletion_compare(deletion_newer(known, w->deletions[i]),
                               deletion_newer(told, a->deletions[i])) == 0);
    }
    claim(a->rows_count[i] == rows);
    claim(a->has_static[i] == wide_known_row(w, i, bytes_of("\x10", 1), &row));
    claim(deletion_compare(a->deletions[i], w->deletions[i]) == 0);
}

static void ask(struct world *w)
{
    struct read read;
    struct answer a = { .w = w,
                        .read = &read,
                        .sink = { answer_partition, answer_row, answer_range } };
    draw_read(w, &read);
    slab_init(&a.slab);
    for (int i = 0; i < WIDE_PARTITIONS; i++) {
        a.deletions[i] = deletion_none();
        ranges_init(&a.ranges[i], &a.slab);
    }
    int pages = 1;
    while (answer_page(&a))
        claim(pages++ < PAGES_MAX);
    for (int i = 0; i < WIDE_PARTITIONS; i++)
        check(&a, i);
    slab_deinit(&a.slab);
}

START_TEST(reads_are_what_a_list_of_all_that_was_written_says)
{
    for (seed_now = 0; seed_now < 40; seed_now++) {
        static struct world w;
        world_init(&w, seed_now);
        for (int n = 0; n < 60; n++) {
            world_write(&w);
            for (int reads = n % 4; reads > 0; reads--)
                ask(&w);
        }
        world_deinit(&w);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memtable_read");
    TCase *tcase = tcase_create("model");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, reads_are_what_a_list_of_all_that_was_written_says);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
