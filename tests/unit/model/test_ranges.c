/* test_ranges.c - range tombstones as a tree of markers, held against a list of all that was added
 * and a grid of places: every row of it and every bound.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/ranges.h"
#include "sample_range.h"

#include <check.h>
#include <stdlib.h>

enum { VALUES = 5, ADDED_MAX = 40, PLACES = (1 + VALUES + VALUES * VALUES) * 2, TREE_NODE = 1600 };
static const enum type_kind kinds[] = { TYPE_INT, TYPE_INT };

struct world {
    struct arena arena;
    struct slab slab;
    struct table *table;
    struct prng prng;
    struct ranges ranges;
    struct range_tombstone added[ADDED_MAX];
    size_t added_count, places_count;
    struct bytes places[PLACES]; /* all bounds, in clustering order */
};

static int place_order(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

static void add_places(struct world *w, const struct bytes *prefix, size_t count)
{
    struct buf below = buf_in(&w->arena), above = buf_in(&w->arena);
    comparable_below(w->table, prefix, count, &below);
    comparable_above(w->table, prefix, count, &above);
    w->places[w->places_count++] = buf_bytes(&below);
    w->places[w->places_count++] = buf_bytes(&above);
}

static struct bytes number_of(struct world *w, uint32_t number)
{
    uint8_t *bytes = arena_alloc(&w->arena, 4);
    put_be32(bytes, number);
    return bytes_of(bytes, 4);
}

static void world_init(struct world *w, uint64_t seed)
{
    *w = (struct world){ .prng = { seed } };
    slab_init(&w->slab);
    w->table = sample_table(1, 2, kinds, (unsigned)(seed % 4));
    ranges_init(&w->ranges, &w->slab);
    add_places(w, NULL, 0);
    for (uint32_t x = 0; x < VALUES; x++) {
        struct bytes prefix[2] = { number_of(w, x) };
        add_places(w, prefix, 1);
        for (uint32_t y = 0; y < VALUES; y++) {
            prefix[1] = number_of(w, y);
            add_places(w, prefix, 2);
        }
    }
    ck_assert_uint_eq(w->places_count, PLACES);
    qsort(w->places, PLACES, sizeof *w->places, place_order);
}

static void world_deinit(struct world *w)
{
    ranges_deinit(&w->ranges);
    ck_assert_uint_eq(w->slab.used_bytes, 0);
    slab_deinit(&w->slab);
    table_unref(&w->table);
    arena_deinit(&w->arena);
}

static void world_add(struct world *w)
{
    struct range_tombstone *range = &w->added[w->added_count++];
    sample_range(&w->prng, w->table, &w->arena, VALUES, range);
    size_t before = w->slab.used_bytes, need = ranges_need_bytes(range);
    size_t markers = w->ranges.markers.count;
    ranges_add(&w->ranges, range);
    ck_assert_uint_le(w->ranges.markers.count, markers + RANGES_ENTRIES_MAX);
    ck_assert_uint_le(w->slab.used_bytes, before + need + TREE_NODE);
}

static bool is_same(struct deletion a, struct deletion b) { return deletion_compare(a, b) == 0; }

/* What covers the open stretch between two neighbouring places, by the list. */
static struct deletion known_between(const struct world *w, size_t i)
{
    struct deletion newest = deletion_none();
    for (size_t n = 0; n < w->added_count; n++)
        if (bytes_compare(w->added[n].low, w->places[i]) <= 0 &&
            bytes_compare(w->added[n].high, w->places[i + 1]) >= 0)
            newest = deletion_newer(newest, w->added[n].deletion);
    return newest;
}

static void check_markers(const struct world *w, struct deletion shadow)
{
    struct ranges_walk walk = ranges_walk_from(&w->ranges, (struct bytes){ 0 }, false);
    struct deletion open = deletion_none();
    for (size_t i = 0; i < PLACES; i++) {
        struct deletion after = i + 1 < PLACES ? known_between(w, i) : deletion_none();
        if (deletion_compare(after, shadow) <= 0)
            after = deletion_none();
        ck_assert(is_same(ranges_covering(&w->ranges, w->places[i]), after));
        if (is_same(open, after))
            continue;
        const struct marker *marker = ranges_walk_marker(&walk);
        ck_assert(marker != NULL && bytes_equal(marker->key, w->places[i]));
        ck_assert(is_same(marker->before, open) && is_same(marker->after, after));
        ranges_walk_next(&walk);
        open = after;
    }
    ck_assert(ranges_walk_marker(&walk) == NULL && deletion_is_none(open));
}

/* The raw values of a marker give its key again. */
static void check_clustering(const struct world *w)
{
    struct ranges_walk walk = ranges_walk_from(&w->ranges, (struct bytes){ 0 }, false);
    for (const struct marker *m; (m = ranges_walk_marker(&walk)); ranges_walk_next(&walk)) {
        struct arena scratch = { 0 };
        struct buf key = buf_in(&scratch);
        struct bytes values[2];
        size_t count = 0;
        for (struct cursor c = cursor_of(m->clustering); cursor_left(&c); count++)
            values[count] = cursor_sized(&c);
        if (m->key.data[m->key.size - 1] == 0x20)
            comparable_below(w->table, values, count, &key);
        else
            comparable_above(w->table, values, count, &key);
        ck_assert(bytes_equal(buf_bytes(&key), m->key));
        arena_deinit(&scratch);
    }
}

/* From every place, in both directions: markers at or behind it, ranges that reach beyond it. */
static void check_walks(const struct world *w, bool is_reversed)
{
    struct bytes keys[PLACES];
    size_t count = 0;
    struct ranges_walk all = ranges_walk_from(&w->ranges, (struct bytes){ 0 }, false);
    for (; ranges_walk_marker(&all); ranges_walk_next(&all))
        keys[count++] = ranges_walk_marker(&all)->key;
    for (size_t i = 0; i < PLACES; i++) {
        struct bytes from = w->places[i];
        struct ranges_walk walk = ranges_walk_from(&w->ranges, from, is_reversed);
        struct ranges_walk over = ranges_walk_over(&w->ranges, from, is_reversed);
        struct range_tombstone range;
        for (size_t n = 0; n < count; n++) {
            struct bytes key = keys[is_reversed ? count - 1 - n : n];
            int c = bytes_compare(key, from);
            if (is_reversed ? c > 0 : c < 0)
                continue;
            ck_assert(bytes_equal(ranges_walk_marker(&walk)->key, key));
            ranges_walk_next(&walk);
        }
        ck_assert(ranges_walk_marker(&walk) == NULL);
        for (size_t n = 0; n + 1 < count; n++) {
            size_t at = is_reversed ? count - 2 - n : n;
            struct bytes end = keys[is_reversed ? at : at + 1];
            struct deletion deletion = ranges_covering(&w->ranges, keys[at]);
            int c = bytes_compare(end, from);
            if (deletion_is_none(deletion) || (is_reversed ? c >= 0 : c <= 0))
                continue;
            ck_assert(ranges_walk_range(&over, &range));
            ck_assert(bytes_equal(range.low, keys[at]) && bytes_equal(range.high, keys[at + 1]));
            ck_assert(is_same(range.deletion, deletion));
            ranges_walk_next_range(&over);
        }
        ck_assert(!ranges_walk_range(&over, &range));
    }
}

START_TEST(ranges_are_what_a_list_of_all_that_was_added_says)
{
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct world w;
        world_init(&w, seed);
        size_t count = 1 + prng_below(&w.prng, ADDED_MAX);
        while (w.added_count < count) {
            world_add(&w);
            check_markers(&w, deletion_none());
        }
        check_clustering(&w);
        check_walks(&w, false);
        check_walks(&w, true);
        struct deletion shadow = sample_deletion(&w.prng, 100);
        ranges_shadow(&w.ranges, shadow);
        check_markers(&w, shadow);
        ranges_shadow(&w.ranges, (struct deletion){ INT64_MAX, 0 });
        ck_assert(ranges_are_none(&w.ranges));
        world_deinit(&w);
    }
}
END_TEST

static struct ranges_walk from_start(const struct ranges *ranges)
{
    return ranges_walk_from(ranges, (struct bytes){ 0 }, false);
}

START_TEST(the_order_in_which_ranges_come_does_not_matter)
{
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct world w;
        struct ranges other;
        world_init(&w, seed);
        while (w.added_count < 12)
            world_add(&w);
        ranges_init(&other, &w.slab);
        for (size_t left = w.added_count; left > 0; left--) {
            size_t at = prng_below(&w.prng, left);
            ranges_add(&other, &w.added[at]);
            ranges_add(&other, &w.added[at]); /* once more changes nothing */
            w.added[at] = w.added[left - 1];
        }
        struct ranges_walk a = from_start(&w.ranges), b = from_start(&other);
        for (; ranges_walk_marker(&a); ranges_walk_next(&a), ranges_walk_next(&b)) {
            const struct marker *x = ranges_walk_marker(&a), *y = ranges_walk_marker(&b);
            ck_assert(y && bytes_equal(x->key, y->key) && is_same(x->before, y->before) &&
                      is_same(x->after, y->after));
        }
        ck_assert(ranges_walk_marker(&b) == NULL);
        ranges_deinit(&other);
        world_deinit(&w);
    }
}
END_TEST

static void numbered(struct world *w, uint32_t x, int64_t timestamp, struct range_tombstone *out)
{
    struct bytes value = number_of(w, x);
    struct buf low = buf_in(&w->arena), high = buf_in(&w->arena), raw = buf_in(&w->arena);
    comparable_below(w->table, &value, 1, &low);
    comparable_above(w->table, &value, 1, &high);
    buf_put_sized(&raw, value);
    *out = (struct range_tombstone){
        buf_bytes(&low), buf_bytes(&high), buf_bytes(&raw), buf_bytes(&raw), { timestamp, 0 }
    };
}

/* 100,000 of them would not end within the test's time if each cost a walk over all. */
START_TEST(many_ranges_of_one_partition_cost_a_search_each)
{
    enum { MANY = 100000 };
    struct world w;
    struct range_tombstone range;
    world_init(&w, 0);
    for (uint32_t i = 0; i < MANY; i++) {
        numbered(&w, (i * UINT32_C(7919)) % MANY, 1, &range);
        ranges_add(&w.ranges, &range);
    }
    ck_assert_uint_eq(w.ranges.markers.count, 2 * MANY);
    range.low = w.places[0], range.high = w.places[PLACES - 1];
    range.low_clustering = range.high_clustering = (struct bytes){ 0 };
    range.deletion.timestamp = 0; /* fills the gaps */
    ranges_add(&w.ranges, &range);
    ck_assert_uint_eq(w.ranges.markers.count, 2 * MANY + 2);
    range.deletion.timestamp = 2; /* swallows all */
    ranges_add(&w.ranges, &range);
    ck_assert_uint_eq(w.ranges.markers.count, 2);
    world_deinit(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ranges");
    TCase *tcase = tcase_create("model");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, ranges_are_what_a_list_of_all_that_was_added_says);
    tcase_add_test(tcase, the_order_in_which_ranges_come_does_not_matter);
    tcase_add_test(tcase, many_ranges_of_one_partition_cost_a_search_each);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
