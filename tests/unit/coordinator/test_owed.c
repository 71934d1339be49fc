/* test_owed.c - the ranges in which something may be owed: in the set before anybody counts on it,
 * out of it when nothing lingers, unknown after a death, known again after a repair.
 */
// SPDX-License-Identifier: Apache-2.0
#include "../../lib/await.h"
#include "base/mem.h"
#include "coordinator/owed_set.h"

#include <check.h>

enum { SHARDS_MAX = 4, SEEN_MAX = 8 };
static const uint64_t second = 1000000000;
static const struct sim_faults slow = { .disk_ns_max = 1000000 };

static struct ring_token tokens[] = { { -1000, 1 }, { 0, 2 }, { 1000, 3 }, { 2000, 1 } };
static struct ring ring = { .tokens_count = 4, .tokens = tokens };

/* ---- a node that does nothing but owe ---- */

static struct bench {
    struct sim *sim;
    int shards;
    struct io *io[SHARDS_MAX];
    struct asker askers[SHARDS_MAX];
    struct owed *owed[SHARDS_MAX];
    struct owed_unknown seen[SEEN_MAX];
    size_t seen_count;
} bench;

static void keep(struct io *io, void *arg)
{
    (void)arg;
    bench.io[io_self(io)] = io;
}
static void bench_start(int shards)
{
    bench.shards = shards;
    sim_start(bench.sim, 0, shards, "10.0.0.1", keep, NULL);
    for (int i = 0; i < shards; i++) {
        asker_init(&bench.askers[i], bench.sim, bench.io[i]);
        bench.owed[i] = NULL;
    }
}
static enum err bench_open(int shard)
{
    static const struct owed_options options = { .folder = "/hints/owed" };
    struct asker *a = &bench.askers[shard];
    sim_act(bench.io[shard]);
    owed_open(a->io, &a->req, &a->op, &options, &bench.owed[shard]);
    return await_alive(bench.sim, 0, &a->req);
}
static void bench_close(int shard)
{
    struct asker *a = &bench.askers[shard];
    sim_act(bench.io[shard]);
    owed_close(&bench.owed[shard], &a->req, &a->op);
    ck_assert_int_eq(await(a), OK);
}
static void bench_begin(uint64_t seed, int shards)
{
    memset(&bench, 0, sizeof bench);
    bench.sim = sim_new(seed, slow);
    bench_start(shards);
    for (int i = 0; i < shards; i++)
        ck_assert_int_eq(bench_open(i), OK);
}
static void bench_end(void)
{
    for (int i = 0; i < bench.shards; i++)
        if (bench.owed[i])
            bench_close(i);
    ck_assert_uint_eq(sim_open_handles(bench.sim, 0), 0);
    ck_assert_uint_eq(sim_open_blocks(bench.sim, 0), 0);
    sim_free(bench.sim);
}
/* Killed, and there again with so many shards. */
static void bench_die(int shards)
{
    sim_act(NULL);
    sim_kill(bench.sim, 0, NULL);
    bench_start(shards);
    for (int i = 0; i < shards; i++)
        ck_assert_int_eq(bench_open(i), OK);
}
static void see(void *context, const struct owed_unknown *u)
{
    (void)context;
    ck_assert_uint_lt(bench.seen_count, SEEN_MAX);
    bench.seen[bench.seen_count++] = *u;
}
static size_t unknown_on(int shard)
{
    struct owed_counts counts;
    bench.seen_count = 0;
    owed_unknown_each(bench.owed[shard], see, NULL);
    owed_counts(bench.owed[shard], &counts);
    ck_assert_uint_eq(counts.unknown, bench.seen_count);
    ck_assert_int_eq(counts.oldest_us != 0, bench.seen_count != 0);
    return bench.seen_count;
}
static struct owed_counts counts_now(void)
{
    struct owed_counts counts;
    owed_counts(bench.owed[0], &counts);
    return counts;
}
static void hold(struct owed_hold *h, int64_t token)
{
    sim_act(bench.io[0]);
    owed_hold(bench.owed[0], &ring, token, h);
}
static void let_go(struct owed_hold *h)
{
    sim_act(bench.io[0]);
    owed_let_go(bench.owed[0], h);
}
static enum err wait_kept(const struct owed_hold *h)
{
    struct asker *a = &bench.askers[0];
    if (owed_is_kept(bench.owed[0], h))
        return OK;
    owed_wait(bench.owed[0], &a->req, &a->op, h);
    return await_alive(bench.sim, 0, &a->req);
}

/* ---- ranges ---- */

START_TEST(a_token_lies_between_its_neighbours)
{
    static const struct {
        int64_t token, after, upto;
    } all[] = { { INT64_MIN + 1, INT64_MIN, -1000 },
                { -1000, INT64_MIN, -1000 },
                { -999, -1000, 0 },
                { 0, -1000, 0 },
                { 1, 0, 1000 },
                { 2000, 1000, 2000 },
                { 2001, 2000, INT64_MAX },
                { INT64_MAX, 2000, INT64_MAX } };
    for (size_t i = 0; i < array_count(all); i++) {
        struct owed_range r = owed_range_of(&ring, all[i].token);
        ck_assert_int_eq(r.after, all[i].after);
        ck_assert_int_eq(r.upto, all[i].upto);
        ck_assert_int_eq(r.upto, ring_range_end(&ring, all[i].token));
    }
}
END_TEST

/* ---- records ---- */

static void fill(struct owed_set *s)
{
    static const struct owed_range a = { 0, 1000 }, b = { 1000, 2000 }, c = { INT64_MIN, -1000 };
    owed_set_hold(s, owed_set_at(s, &a), 500);
    owed_set_hold(s, owed_set_at(s, &b), 600);
    owed_set_lose(s, owed_set_at(s, &b), 550, 600);
    owed_set_lose(s, owed_set_at(s, &c), 700, 700);
}

START_TEST(what_a_record_says_is_unknown_since_it_entered_or_was_lost)
{
    static const struct owed_range a = { 0, 1000 }, b = { 1000, 2000 }, c = { INT64_MIN, -1000 };
    struct owed_set from = { 0 }, to = { 0 };
    struct buf record = { 0 };
    fill(&from);
    owed_set_encode(&from, &record);
    ck_assert(owed_set_decode(&to, buf_bytes(&record), 9000));
    ck_assert_uint_eq(to.unknown_count, 3);
    ck_assert_uint_eq(to.in_count, 0);
    ck_assert_int_eq(owed_set_at(&to, &a)->since_us, 500);
    ck_assert_int_eq(owed_set_at(&to, &b)->since_us, 550);
    ck_assert_int_eq(owed_set_at(&to, &c)->since_us, 700);
    ck_assert_int_eq(owed_set_at(&to, &c)->latest_us, 9000);
    buf_deinit(&record);
    owed_set_deinit(&from);
    owed_set_deinit(&to);
}
END_TEST

START_TEST(a_record_cut_or_lengthened_is_refused_whole)
{
    struct owed_set from = { 0 };
    struct buf record = { 0 };
    fill(&from);
    owed_set_encode(&from, &record);
    buf_put_u8(&record, 0);
    for (size_t n = 0; n <= record.size; n++) {
        struct owed_set to = { 0 };
        bool is_whole = n == record.size - 1;
        ck_assert_int_eq(owed_set_decode(&to, bytes_of(record.data, n), 1), is_whole);
        ck_assert_uint_eq(to.entries.count, is_whole ? 3 : 0);
        owed_set_deinit(&to);
    }
    buf_deinit(&record);
    owed_set_deinit(&from);
}
END_TEST

START_TEST(a_record_with_any_bit_flipped_is_refused_or_sound)
{
    struct owed_set from = { 0 };
    struct buf record = { 0 };
    fill(&from);
    owed_set_encode(&from, &record);
    for (size_t bit = 0; bit < 8 * record.size; bit++) {
        struct owed_set to = { 0 };
        size_t at = 0;
        record.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        bool is_good = owed_set_decode(&to, buf_bytes(&record), 1);
        for (const struct owed_entry *e; (e = map_next(&to.entries, &at));)
            ck_assert(is_good && e->is_unknown && e->range.after < e->range.upto);
        record.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        owed_set_deinit(&to);
    }
    buf_deinit(&record);
    owed_set_deinit(&from);
}
END_TEST

/* ---- in and out ---- */

START_TEST(a_range_enters_once_and_leaves_when_nothing_lingers)
{
    struct owed_hold a = { 0 }, b = { 0 }, c = { 0 };
    bench_begin(1, 1);
    hold(&a, 5);
    ck_assert(!owed_is_kept(bench.owed[0], &a));
    ck_assert_int_eq(wait_kept(&a), OK);
    uint64_t syncs = io_counts(bench.io[0])->syncs;
    hold(&b, 7);
    ck_assert(owed_is_kept(bench.owed[0], &b));
    ck_assert_uint_eq(io_counts(bench.io[0])->syncs, syncs);
    ck_assert_uint_eq(counts_now().ranges, 1);
    ck_assert_uint_eq(counts_now().holds, 2);
    hold(&c, 1500);
    ck_assert(!owed_is_kept(bench.owed[0], &c));
    ck_assert_int_eq(wait_kept(&c), OK);
    let_go(&a);
    let_go(&c);
    await_ns(&bench.askers[0], 5 * second);
    ck_assert_uint_eq(counts_now().ranges, 1);
    let_go(&b);
    await_ns(&bench.askers[0], 5 * second);
    ck_assert_uint_eq(counts_now().ranges, 0);
    ck_assert_uint_eq(counts_now().entered, 2);
    ck_assert_uint_eq(counts_now().unknown, 0);
    bench_die(1);
    ck_assert_uint_eq(unknown_on(0), 0);
    bench_end();
}
END_TEST

/* Ten thousand writes in five seconds, each of which lingers for a while: one sync. */
START_TEST(a_range_that_is_written_to_all_the_time_stays_in_the_set)
{
    struct owed_hold h = { 0 };
    bench_begin(1, 1);
    hold(&h, 5);
    ck_assert_int_eq(wait_kept(&h), OK);
    let_go(&h);
    uint64_t syncs = io_counts(bench.io[0])->syncs;
    for (int i = 0; i < 10000; i++) {
        hold(&h, 5 + i % 900);
        ck_assert(owed_is_kept(bench.owed[0], &h));
        let_go(&h);
        await_ns(&bench.askers[0], second / 2000);
    }
    ck_assert_uint_eq(io_counts(bench.io[0])->syncs, syncs);
    ck_assert_uint_eq(counts_now().entered, 1);
    bench_end();
}
END_TEST

START_TEST(ranges_that_enter_together_share_a_sync)
{
    struct owed_hold all[4] = { 0 };
    bench_begin(1, 1);
    uint64_t syncs = io_counts(bench.io[0])->syncs;
    for (int i = 0; i < 4; i++)
        hold(&all[i], i * 1000);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(wait_kept(&all[i]), OK);
    ck_assert_uint_le(io_counts(bench.io[0])->syncs, syncs + 2);
    for (int i = 0; i < 4; i++)
        let_go(&all[i]);
    bench_end();
}
END_TEST

/* ---- deaths ---- */

START_TEST(after_a_clean_stop_nothing_is_unknown_and_after_a_death_the_set_is)
{
    struct owed_hold a = { 0 }, b = { 0 };
    bench_begin((uint64_t)_i, 1);
    hold(&a, 5);
    hold(&b, 1500);
    ck_assert_int_eq(wait_kept(&a), OK);
    ck_assert_int_eq(wait_kept(&b), OK);
    let_go(&a);
    let_go(&b);
    bench_close(0);
    ck_assert_int_eq(bench_open(0), OK);
    ck_assert_uint_eq(unknown_on(0), 0);
    int64_t before = io_wall(bench.io[0]);
    hold(&a, 5);
    ck_assert_int_eq(wait_kept(&a), OK);
    bench_die(1);
    ck_assert_uint_eq(unknown_on(0), 1);
    ck_assert_int_eq(bench.seen[0].range.after, 0);
    ck_assert_int_eq(bench.seen[0].range.upto, 1000);
    ck_assert_int_ge(bench.seen[0].since_us, before);
    ck_assert_int_le(bench.seen[0].since_us, io_wall(bench.io[0]));
    bench_die(1); /* it does not forget by dying again */
    ck_assert_uint_eq(unknown_on(0), 1);
    bench_end();
}
END_TEST

/* At whatever change of the disk it dies: what was kept and is held is unknown afterwards. */
START_TEST(wherever_it_dies_what_was_kept_is_unknown)
{
    static const int64_t all[] = { 5, 1500, -5, 3000 };
    struct sim_walk walk = { .kind = SIM_WALK_CUTS };
    do {
        struct owed_hold holds[4] = { 0 };
        unsigned kept = 0, expected = 0;
        memset(&bench, 0, sizeof bench);
        bench.sim = sim_new(walk.visited, slow);
        bench_start(1);
        sim_walk_begin(&walk, bench.sim, 0, NULL);
        bool is_alive = bench_open(0) == OK && sim_alive(bench.sim, 0);
        for (unsigned i = 0; is_alive && i < 4; i++) {
            hold(&holds[i], all[i]);
            is_alive = wait_kept(&holds[i]) == OK;
            kept |= is_alive ? 1u << i : 0;
            if (i == 2 && is_alive) {
                let_go(&holds[0]);
                kept &= ~1u;
            }
            is_alive = is_alive && sim_alive(bench.sim, 0);
        }
        sim_walk_end(&walk, bench.sim);
        if (sim_alive(bench.sim, 0))
            sim_kill(bench.sim, 0, NULL);
        bench_start(1);
        ck_assert_int_eq(bench_open(0), OK);
        unknown_on(0);
        for (unsigned i = 0; i < 4; i++)
            for (size_t k = 0; k < bench.seen_count; k++)
                if (all[i] > bench.seen[k].range.after && all[i] <= bench.seen[k].range.upto)
                    expected |= 1u << i;
        ck_assert_msg((kept & ~expected) == 0, "%s: kept %x, unknown %x", walk.what, kept,
                      expected);
        bench_end();
    } while (sim_walk_next(&walk));
    ck_assert_uint_gt(walk.total, 10);
}
END_TEST

START_TEST(a_hole_in_the_journal_makes_the_whole_ring_unknown)
{
    struct owed_hold h = { 0 };
    bench_begin(1, 1);
    for (int i = 0; i < 4; i++) { /* what stands before the last sync is proven */
        hold(&h, i * 1000);
        ck_assert_int_eq(wait_kept(&h), OK);
        let_go(&h);
    }
    sim_act(NULL);
    sim_kill(bench.sim, 0, NULL);
    sim_file_flip(bench.sim, 0, "/hints/owed/0/1.log", 8 * (4096 + 70));
    bench_start(1);
    ck_assert_int_eq(bench_open(0), OK);
    ck_assert_uint_ge(unknown_on(0), 1);
    bool is_all = false;
    for (size_t i = 0; i < bench.seen_count; i++)
        is_all |= bench.seen[i].range.after == INT64_MIN && bench.seen[i].range.upto == INT64_MAX;
    ck_assert(is_all);
    bench_end();
}
END_TEST

static void count_file(void *context, const char *path, uint64_t size)
{
    (void)path, (void)size;
    ++*(size_t *)context;
}

/* Four shards, one, three: nothing is lost on the way, and no file stays behind. */
START_TEST(what_shards_owed_that_there_are_no_more_falls_to_those_that_there_are)
{
    struct owed_hold holds[SHARDS_MAX] = { 0 };
    size_t files = 0;
    bench_begin(1, 4);
    for (int i = 0; i < 4; i++) {
        sim_act(bench.io[i]);
        owed_hold(bench.owed[i], &ring, i * 1000, &holds[i]);
    }
    await_ns(&bench.askers[0], second / 2);
    bench_die(1);
    ck_assert_uint_eq(unknown_on(0), 4);
    await_ns(&bench.askers[0], second / 2);
    sim_files(bench.sim, 0, count_file, &files);
    ck_assert_uint_eq(files, 1);
    bench_die(3);
    ck_assert_uint_eq(unknown_on(0), 4);
    ck_assert_uint_eq(unknown_on(1) + unknown_on(2), 0);
    bench_end();
}
END_TEST

/* ---- the unknown ---- */

START_TEST(a_refusal_makes_its_range_unknown_and_a_repair_known_again)
{
    static const struct owed_range all = { INT64_MIN, INT64_MAX }, other = { 1000, 2000 };
    struct owed_hold a = { 0 };
    struct asker *asker = NULL;
    bench_begin(1, 1);
    asker = &bench.askers[0];
    hold(&a, 5);
    ck_assert_int_eq(wait_kept(&a), OK);
    int64_t begun = io_wall(bench.io[0]);
    owed_lose(bench.owed[0], &a, begun);
    ck_assert_uint_eq(unknown_on(0), 1);
    ck_assert_int_eq(bench.seen[0].since_us, begun);
    let_go(&a);
    await_ns(asker, 5 * second);
    bench_die(1);
    asker = &bench.askers[0];
    ck_assert_uint_eq(unknown_on(0), 1);
    ck_assert_int_eq(bench.seen[0].since_us, begun);
    owed_clear_unknown(bench.owed[0], &asker->req, &asker->op, &other, io_wall(asker->io) + 1);
    ck_assert_int_eq(await(asker), OK);
    ck_assert_uint_eq(unknown_on(0), 1); /* it lies elsewhere */
    owed_clear_unknown(bench.owed[0], &asker->req, &asker->op, &all, begun);
    ck_assert_int_eq(await(asker), OK);
    ck_assert_uint_eq(unknown_on(0), 1); /* the repair began before it */
    await_ns(asker, second);
    int64_t began = io_wall(asker->io);
    owed_clear_unknown(bench.owed[0], &asker->req, &asker->op, &all, began);
    ck_assert_int_eq(await(asker), OK);
    ck_assert_uint_eq(unknown_on(0), 0);
    bench_die(1);
    ck_assert_uint_eq(unknown_on(0), 0);
    bench_end();
}
END_TEST

/* A whole ring that is unknown is repaired piece by piece, in any order and by any cuts. */
START_TEST(a_repair_of_a_part_cuts_what_is_unknown)
{
    static const struct owed_range all = { INT64_MIN, INT64_MAX }, low = { INT64_MIN, 0 };
    static const struct owed_range middle = { 0, 100 }, across = { 50, 200 },
                                   high = { 90, INT64_MAX };
    struct owed_set s = { 0 };
    struct owed_entry *held = owed_set_at(&s, &middle);
    owed_set_hold(&s, held, 5);
    owed_set_lose(&s, owed_set_at(&s, &all), 1, 50);
    owed_set_clear(&s, &middle, 40); /* it became unknown again after this one had begun */
    ck_assert_uint_eq(s.unknown_count, 3);
    ck_assert(held->is_unknown && held->since_us == 40 && held->latest_us == 50);
    ck_assert_int_eq(owed_set_at(&s, &low)->since_us, 1);
    owed_set_clear(&s, &across, 60);
    ck_assert_uint_eq(s.unknown_count, 3); /* below 0, 0 to 50, above 200 */
    ck_assert(!held->is_unknown && held->is_in && held->holds == 1);
    owed_set_clear(&s, &low, 60);
    owed_set_clear(&s, &high, 60);
    ck_assert_uint_eq(s.unknown_count, 1);
    owed_set_clear(&s, &middle, 60);
    ck_assert_uint_eq(s.unknown_count, 0);
    owed_set_lose(&s, owed_set_at(&s, &all), 70, 70);
    owed_set_clear(&s, &middle, 60); /* what it says nothing of is left whole */
    ck_assert_uint_eq(s.unknown_count, 1);
    owed_set_clear(&s, &all, 80);
    owed_set_let_go(&s, held);
    owed_set_sweep(&s, true);
    ck_assert_uint_eq(s.entries.count, 0);
    owed_set_deinit(&s);
}
END_TEST

START_TEST(what_is_lost_while_a_repair_runs_stays_unknown_since_then)
{
    static const struct owed_range all = { INT64_MIN, INT64_MAX };
    struct owed_hold a = { 0 };
    bench_begin(1, 1);
    struct asker *asker = &bench.askers[0];
    hold(&a, 5);
    owed_lose(bench.owed[0], &a, io_wall(asker->io));
    await_ns(asker, second);
    int64_t began = io_wall(asker->io);
    await_ns(asker, second);
    owed_lose(bench.owed[0], &a, io_wall(asker->io));
    owed_clear_unknown(bench.owed[0], &asker->req, &asker->op, &all, began);
    ck_assert_int_eq(await(asker), OK);
    ck_assert_uint_eq(unknown_on(0), 1);
    ck_assert_int_eq(bench.seen[0].since_us, began);
    ck_assert_uint_eq(counts_now().lost, 2);
    let_go(&a);
    bench_end();
}
END_TEST

/* ---- disks ---- */

START_TEST(a_full_disk_is_told_and_tried_again)
{
    struct owed_hold a = { 0 };
    bench_begin(1, 1);
    sim_fail_disk(bench.sim, 0, 1, 1, ERR_NO_SPACE);
    hold(&a, 5);
    ck_assert_int_eq(wait_kept(&a), ERR_NO_SPACE);
    ck_assert(!owed_is_kept(bench.owed[0], &a));
    await_ns(&bench.askers[0], 5 * second);
    ck_assert(owed_is_kept(bench.owed[0], &a));
    ck_assert_uint_ge(counts_now().failures, 1);
    let_go(&a);
    bench_end();
}
END_TEST

START_TEST(a_journal_that_broke_says_so_to_everyone_who_waits)
{
    struct owed_hold a = { 0 };
    bench_begin(1, 1);
    hold(&a, 5);
    sim_fail_disk(bench.sim, 0, 1, 1, ERR_IO);
    ck_assert_int_eq(wait_kept(&a), ERR_IO);
    ck_assert_int_eq(wait_kept(&a), ERR_IO);
    ck_assert(!owed_is_kept(bench.owed[0], &a));
    let_go(&a);
    struct asker *asker = &bench.askers[0];
    owed_close(&bench.owed[0], &asker->req, &asker->op);
    ck_assert_int_ne(await(asker), OK);
    bench_end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("owed");
    TCase *tc = tcase_create("owed");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_token_lies_between_its_neighbours);
    tcase_add_test(tc, what_a_record_says_is_unknown_since_it_entered_or_was_lost);
    tcase_add_test(tc, a_record_cut_or_lengthened_is_refused_whole);
    tcase_add_test(tc, a_record_with_any_bit_flipped_is_refused_or_sound);
    tcase_add_test(tc, a_range_enters_once_and_leaves_when_nothing_lingers);
    tcase_add_test(tc, a_range_that_is_written_to_all_the_time_stays_in_the_set);
    tcase_add_test(tc, ranges_that_enter_together_share_a_sync);
    tcase_add_loop_test(tc, after_a_clean_stop_nothing_is_unknown_and_after_a_death_the_set_is, 1,
                        9);
    tcase_add_test(tc, wherever_it_dies_what_was_kept_is_unknown);
    tcase_add_test(tc, a_hole_in_the_journal_makes_the_whole_ring_unknown);
    tcase_add_test(tc, what_shards_owed_that_there_are_no_more_falls_to_those_that_there_are);
    tcase_add_test(tc, a_refusal_makes_its_range_unknown_and_a_repair_known_again);
    tcase_add_test(tc, a_repair_of_a_part_cuts_what_is_unknown);
    tcase_add_test(tc, what_is_lost_while_a_repair_runs_stays_unknown_since_then);
    tcase_add_test(tc, a_full_disk_is_told_and_tried_again);
    tcase_add_test(tc, a_journal_that_broke_says_so_to_everyone_who_waits);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
