/* test_memtable.c - a memtable that is given everything a mutation can hold, against a list of all
 * that was given and the slow statement of tests/unit/model/sample_cells.h.
 */
// SPDX-License-Identifier: Apache-2.0
#include "wide.h"

#include <check.h>

enum { TREES = 3, TREE_LEAST = 128 };

struct world {
    struct wide wide;
    struct memtable memtable;
    struct arena scratch;
};

static void world_init(struct world *w, uint64_t seed)
{
    wide_init(&w->wide, seed);
    memtable_init(&w->memtable, &w->wide.table->id);
    w->scratch = (struct arena){ 0 };
}

static void world_deinit(struct world *w)
{
    memtable_deinit(&w->memtable);
    arena_deinit(&w->scratch);
    wide_deinit(&w->wide);
}

static void give(struct world *w)
{
    struct mutation m;
    int partition = (int)prng_below(&w->wide.prng, WIDE_PARTITIONS);
    wide_draw(&w->wide, partition, &m);
    memtable_apply(&w->memtable, w->wide.table, &m, &w->scratch);
}

/* ---- what is there ---- */

static const struct partition *partition_of(struct world *w, int i)
{
    struct buf place = buf_in(&w->wide.arena);
    comparable_partition(key_token(w->wide.keys[i]), w->wide.keys[i], &place);
    return memtable_partition(&w->memtable, buf_bytes(&place));
}

static void check_rows(struct world *w, int i, const struct partition *p, bool is_reversed)
{
    struct row_walk walk = row_walk_from(p, (struct bytes){ 0 }, is_reversed);
    bool has_rows = false;
    for (int n = 0; n < WIDE_PLACES; n++) {
        struct row known;
        if (!wide_known_row(&w->wide, i, w->wide.places[is_reversed ? WIDE_PLACES - 1 - n : n].key,
                            &known))
            continue;
        ck_assert(row_walk_row(&walk) && sample_row_equal(row_walk_row(&walk), &known));
        row_walk_next(&walk);
        has_rows = true;
    }
    ck_assert(row_walk_row(&walk) == NULL);
    ck_assert_int_eq(partition_has_rows(p), has_rows);
}

static void check_ranges(struct world *w, int i, const struct partition *p)
{
    const struct ranges *ranges = partition_ranges(p);
    for (int n = 0; n < WIDE_PLACES; n++) {
        struct bytes key = w->wide.places[n].key;
        struct deletion known = sample_covering(w->wide.ranges[i], w->wide.ranges_count[i], key);
        if (deletion_compare(known, w->wide.deletions[i]) <= 0)
            known = deletion_none();
        struct deletion told = ranges ? ranges_covering(ranges, key) : deletion_none();
        ck_assert_int_eq(deletion_compare(known, told), 0);
    }
}

static void check(struct world *w)
{
    for (int i = 0; i < WIDE_PARTITIONS; i++) {
        const struct partition *p = partition_of(w, i);
        struct row known = { 0 };
        if (!p) {
            ck_assert(deletion_is_none(w->wide.deletions[i]) && w->wide.ranges_count[i] == 0);
            continue;
        }
        ck_assert_int_eq(deletion_compare(p->deletion, w->wide.deletions[i]), 0);
        check_rows(w, i, p, false);
        check_rows(w, i, p, true);
        check_ranges(w, i, p);
        const struct row *fixed = partition_static_row(p);
        ck_assert_int_eq(wide_known_row(&w->wide, i, bytes_of("\x10", 1), &known), fixed != NULL);
        ck_assert(!fixed || sample_row_equal(fixed, &known));
    }
    ck_assert_int_eq(w->memtable.minima.timestamp, w->wide.minima.timestamp);
    ck_assert_uint_eq(w->memtable.minima.deletion_seconds, w->wide.minima.deletion_seconds);
    ck_assert_uint_eq(w->memtable.minima.ttl, w->wide.minima.ttl);
}

START_TEST(a_memtable_holds_what_a_list_of_all_that_was_given_says)
{
    for (uint64_t seed = 0; seed < 60; seed++) {
        static struct world w;
        world_init(&w, seed);
        for (int n = 0; n < 60; n++) {
            give(&w);
            if (n % 6 == 0)
                check(&w);
        }
        check(&w);
        world_deinit(&w);
    }
}
END_TEST

START_TEST(what_a_mutation_needs_is_never_less_than_it_takes)
{
    for (uint64_t seed = 0; seed < 400; seed++) {
        static struct world w;
        struct mutation m;
        world_init(&w, seed);
        wide_draw(&w.wide, 0, &m);
        while (prng_chance(&w.wide.prng, 95) && m.ranges_count < WIDE_GIVEN_MAX)
            sample_range(&w.wide.prng, w.wide.table, &w.wide.arena, WIDE_PLACES,
                         &m.ranges[m.ranges_count++]);
        memtable_apply(&w.memtable, w.wide.table, &m, &w.scratch);
        ck_assert_uint_le(w.memtable.slab.used_bytes, memtable_need_bytes(&m) + TREES * TREE_LEAST);
        world_deinit(&w);
    }
}
END_TEST

/* Once a partition has everything, more of the same takes no more memory. */
START_TEST(memory_that_deletions_cover_is_used_again)
{
    static struct world w;
    struct mutation m;
    world_init(&w, 1);
    uint64_t high = 0;
    for (int64_t turn = 1; turn <= 2000; turn++) {
        struct range_tombstone all = { .deletion = { 10 * turn + 9, 1 } };
        struct buf low = buf_in(&w.wide.arena), high_bound = buf_in(&w.wide.arena);
        comparable_below(w.wide.table, NULL, 0, &low);
        comparable_above(w.wide.table, NULL, 0, &high_bound);
        all.low = buf_bytes(&low), all.high = buf_bytes(&high_bound);
        w.wide.rows_count[0] = w.wide.ranges_count[0] = 0;
        wide_draw(&w.wide, 0, &m);
        m.deletion = deletion_none();
        for (size_t i = 0; i < m.rows_count; i++)
            for (size_t c = 0; c < m.rows[i].cells_count; c++)
                m.rows[i].cells[c].timestamp += 10 * turn;
        memtable_apply(&w.memtable, w.wide.table, &m, &w.scratch);
        m = (struct mutation){ .table = w.wide.table->id, .key = m.key, .token = m.token };
        m.deletion = deletion_none();
        m.ranges = &all, m.ranges_count = 1;
        memtable_apply(&w.memtable, w.wide.table, &m, &w.scratch);
        if (turn == 1000)
            high = memtable_bytes(&w.memtable);
        arena_reset(&w.wide.arena);
        w.wide.keys[0] = bytes_text("key 0");
        for (uint32_t i = 0; i < WIDE_PLACES; i++) {
            uint8_t *number = arena_alloc(&w.wide.arena, 4);
            put_be32(number, i);
            struct bytes value = bytes_of(number, 4);
            sample_place(w.wide.table, &w.wide.arena, &value, &w.wide.places[i]);
        }
    }
    const struct partition *p = partition_of(&w, 0);
    ck_assert(p && !partition_has_rows(p));
    ck_assert_uint_eq(partition_ranges(p)->markers.count, 2);
    ck_assert_uint_le(memtable_bytes(&w.memtable), high + 4096);
    world_deinit(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memtable");
    TCase *tcase = tcase_create("model");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_memtable_holds_what_a_list_of_all_that_was_given_says);
    tcase_add_test(tcase, what_a_mutation_needs_is_never_less_than_it_takes);
    tcase_add_test(tcase, memory_that_deletions_cover_is_used_again);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
