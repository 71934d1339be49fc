/* test_memtable.c - a memtable that is given everything a mutation can hold, against a list of all
 * that was given and the slow statement of tests/unit/model/sample_cells.h.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../model/sample_cells.h"
#include "../model/sample_range.h"
#include "store/memtable.h"

#include <check.h>

enum { PARTITIONS = 3, PLACES = 8, GIVEN_MAX = 160, TREES = 3, TREE_LEAST = 128 };

struct world {
    struct arena arena, scratch;
    struct prng prng;
    struct table *table;
    struct memtable memtable;
    struct bytes keys[PARTITIONS];
    struct row places[PLACES]; /* key and clustering of each row, in clustering order */
    size_t rows_count[PARTITIONS], ranges_count[PARTITIONS];
    struct row rows[PARTITIONS][GIVEN_MAX];
    struct range_tombstone ranges[PARTITIONS][GIVEN_MAX];
    struct deletion deletions[PARTITIONS];
    struct minima minima;
};

static void world_init(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->prng.state = seed;
    arena_init(&w->arena, 65536);
    w->table = sample_wide_table(seed % 2);
    memtable_init(&w->memtable, &w->table->id);
    w->minima = (struct minima){ INT64_MAX, UINT32_MAX, UINT32_MAX };
    for (int i = 0; i < PARTITIONS; i++) {
        w->keys[i] = bytes_text(arena_printf(&w->arena, "key %d", i));
        w->deletions[i] = deletion_none();
    }
    for (uint32_t i = 0; i < PLACES; i++) {
        uint8_t *number = arena_alloc(&w->arena, 4);
        put_be32(number, seed % 2 ? PLACES - 1 - i : i);
        struct bytes value = bytes_of(number, 4);
        sample_place(w->table, &w->arena, &value, &w->places[i]);
    }
}

static void world_deinit(struct world *w)
{
    memtable_deinit(&w->memtable);
    table_unref(&w->table);
    arena_deinit(&w->scratch);
    arena_deinit(&w->arena);
}

/* ---- what is given ---- */

static void note_minima(struct world *w, int64_t timestamp, uint32_t seconds, uint32_t ttl)
{
    w->minima.timestamp = timestamp < w->minima.timestamp ? timestamp : w->minima.timestamp;
    w->minima.deletion_seconds = (uint32_t)u64_min(w->minima.deletion_seconds, seconds);
    w->minima.ttl = (uint32_t)u64_min(w->minima.ttl, ttl);
}

static void note_deletion(struct world *w, struct deletion deletion)
{
    if (!deletion_is_none(deletion))
        note_minima(w, deletion.timestamp, deletion.seconds, UINT32_MAX);
}

static void note_row(struct world *w, const struct row *row)
{
    struct liveness alive = row->liveness;
    note_deletion(w, row->deletion);
    if (alive.timestamp != TIMESTAMP_NONE)
        note_minima(w, alive.timestamp, alive.ttl ? alive.expires : UINT32_MAX,
                    alive.ttl ? alive.ttl : UINT32_MAX);
    for (size_t i = 0; i < row->cells_count; i++) {
        const struct cell *cell = &row->cells[i];
        bool is_plain = cell->kind == CELL_LIVE, has_ttl = cell->kind == CELL_EXPIRING;
        note_minima(w, cell->timestamp, is_plain ? UINT32_MAX : cell->seconds,
                    has_ttl ? cell->ttl : UINT32_MAX);
    }
}

static void draw_row(struct world *w, int partition, struct mutation *m)
{
    bool is_static = prng_chance(&w->prng, 20);
    struct row *row = &m->rows[m->rows_count++];
    *row = w->places[prng_below(&w->prng, PLACES)];
    sample_wide_row(&w->prng, &w->arena, w->table, is_static, row);
    w->rows[partition][w->rows_count[partition]++] = *row;
    note_row(w, row);
}

static void draw_mutation(struct world *w, int partition, struct mutation *m)
{
    *m = (struct mutation){ .table = w->table->id, .key = w->keys[partition] };
    m->token = key_token(m->key);
    m->deletion = sample_deletion(&w->prng, 5);
    m->rows = arena_array(&w->arena, struct row, 2);
    m->ranges = &w->ranges[partition][w->ranges_count[partition]];
    w->deletions[partition] = deletion_newer(w->deletions[partition], m->deletion);
    note_deletion(w, m->deletion);
    if (prng_chance(&w->prng, 20)) {
        sample_range(&w->prng, w->table, &w->arena, PLACES, &m->ranges[m->ranges_count++]);
        note_deletion(w, m->ranges[0].deletion);
        w->ranges_count[partition]++;
    }
    for (size_t n = prng_below(&w->prng, 3); n > 0; n--)
        draw_row(w, partition, m);
}

static void give(struct world *w)
{
    struct mutation m;
    int partition = (int)prng_below(&w->prng, PARTITIONS);
    draw_mutation(w, partition, &m);
    memtable_apply(&w->memtable, w->table, &m, &w->scratch);
}

/* ---- what is there ---- */

static const struct partition *partition_of(struct world *w, int i)
{
    struct buf place = buf_in(&w->arena);
    comparable_partition(key_token(w->keys[i]), w->keys[i], &place);
    return memtable_partition(&w->memtable, buf_bytes(&place));
}

/* What a row of this key comes to; false: nothing. */
static bool known_row(struct world *w, int partition, struct bytes key, struct row *out)
{
    struct row rows[GIVEN_MAX];
    size_t count = 0;
    for (size_t i = 0; i < w->rows_count[partition]; i++)
        if (bytes_equal(w->rows[partition][i].key, key))
            rows[count++] = w->rows[partition][i];
    if (count == 0)
        return false;
    struct deletion shadow = sample_covering(w->ranges[partition], w->ranges_count[partition], key);
    shadow = deletion_newer(shadow, w->deletions[partition]);
    sample_wide_merge(&w->arena, w->table, rows, count, shadow, out);
    return !sample_row_is_nothing(out);
}

static void check_rows(struct world *w, int i, const struct partition *p, bool is_reversed)
{
    struct row_walk walk = row_walk_from(p, (struct bytes){ 0 }, is_reversed);
    bool has_rows = false;
    for (int n = 0; n < PLACES; n++) {
        struct row known;
        if (!known_row(w, i, w->places[is_reversed ? PLACES - 1 - n : n].key, &known))
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
    for (int n = 0; n < PLACES; n++) {
        struct bytes key = w->places[n].key;
        struct deletion known = sample_covering(w->ranges[i], w->ranges_count[i], key);
        if (deletion_compare(known, w->deletions[i]) <= 0)
            known = deletion_none();
        struct deletion told = ranges ? ranges_covering(ranges, key) : deletion_none();
        ck_assert_int_eq(deletion_compare(known, told), 0);
    }
}

static void check(struct world *w)
{
    for (int i = 0; i < PARTITIONS; i++) {
        const struct partition *p = partition_of(w, i);
        struct row known = { 0 };
        if (!p) {
            ck_assert(deletion_is_none(w->deletions[i]) && w->ranges_count[i] == 0);
            continue;
        }
        ck_assert_int_eq(deletion_compare(p->deletion, w->deletions[i]), 0);
        check_rows(w, i, p, false);
        check_rows(w, i, p, true);
        check_ranges(w, i, p);
        const struct row *fixed = partition_static_row(p);
        ck_assert_int_eq(known_row(w, i, bytes_of("\x10", 1), &known), fixed != NULL);
        ck_assert(!fixed || sample_row_equal(fixed, &known));
    }
    ck_assert_int_eq(w->memtable.minima.timestamp, w->minima.timestamp);
    ck_assert_uint_eq(w->memtable.minima.deletion_seconds, w->minima.deletion_seconds);
    ck_assert_uint_eq(w->memtable.minima.ttl, w->minima.ttl);
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
        draw_mutation(&w, 0, &m);
        while (prng_chance(&w.prng, 95) && m.ranges_count < GIVEN_MAX)
            sample_range(&w.prng, w.table, &w.arena, PLACES, &m.ranges[m.ranges_count++]);
        memtable_apply(&w.memtable, w.table, &m, &w.scratch);
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
        struct buf low = buf_in(&w.arena), high_bound = buf_in(&w.arena);
        comparable_below(w.table, NULL, 0, &low);
        comparable_above(w.table, NULL, 0, &high_bound);
        all.low = buf_bytes(&low), all.high = buf_bytes(&high_bound);
        w.rows_count[0] = w.ranges_count[0] = 0;
        draw_mutation(&w, 0, &m);
        m.deletion = deletion_none();
        for (size_t i = 0; i < m.rows_count; i++)
            for (size_t c = 0; c < m.rows[i].cells_count; c++)
                m.rows[i].cells[c].timestamp += 10 * turn;
        memtable_apply(&w.memtable, w.table, &m, &w.scratch);
        m = (struct mutation){ .table = w.table->id, .key = m.key, .token = m.token };
        m.deletion = deletion_none();
        m.ranges = &all, m.ranges_count = 1;
        memtable_apply(&w.memtable, w.table, &m, &w.scratch);
        if (turn == 1000)
            high = memtable_bytes(&w.memtable);
        arena_reset(&w.arena);
        w.keys[0] = bytes_text("key 0");
        for (uint32_t i = 0; i < PLACES; i++) {
            uint8_t *number = arena_alloc(&w.arena, 4);
            put_be32(number, i);
            struct bytes value = bytes_of(number, 4);
            sample_place(w.table, &w.arena, &value, &w.places[i]);
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
