/* sim_store.c - a node of stores is cut at every change of its disk, and at every change of the
 * start that follows; every call fails; and nothing that was acknowledged is lost.
 *
 *     sim_store cuts|errors|starts|counts [--shards N] [--seed S] [--share N] [--place P [--again
 * K]]
 *
 * One short life of a node (live below): writes, deletions, flushes, compactions, TRUNCATEs,
 * snapshots, an ALTER, a DROP.
 *   cuts     the power fails at each change of the disk in that life, with each image of what was
 *            not synced; then at the K-th change of the start after it; then it starts whole
 *   errors   each call of the disk in that life fails, once and for ever, each way; then all is
 *            well again: the node goes on, or is restarted
 *   starts   the same in the start that follows a life that was cut
 *
 * After each: depot_check_rows, depot_check_files.  Everything under RONDO_LONG=1 (share 1),
 * otherwise one place in --share, drawn.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "tests/lib/long.h"
#include "tests/sim/depot.h"

#include <stdlib.h>

static const uint64_t second = 1000 * 1000 * 1000;
/* About, and rather more. */
enum { CHANGES_OF_A_START = 60, CHANGES_OF_A_LIFE = 1600 };

static struct wish {
    const char *mode, *program;
    int shards;
    uint64_t seed, share;
    uint64_t place, again; /* one round alone; UINT64_MAX: all */
    bool is_long;
} wish;

static struct told { /* for the last line */
    uint64_t places, rounds, cut_again, refused, hung, failed_starts, recovered_alone;
} told;

static const struct sim_faults slow = {
    .disk_ns_max = 100000, .mail_ns_max = 1000, .would_wait_pct = 20, .rare_pct = 2
};

/* ---- one life ---- */

enum { A, B, C };
enum { FIRST, SECOND };

static enum err write_some(struct depot *d, int table, int count)
{
    depot_write(d, table, count);
    return depot_written(d);
}

static enum err flush(struct depot *d, int table)
{
    depot_flush_begin(d, table);
    return depot_done(d);
}

static enum err write_beside_a_flush(struct depot *d)
{
    depot_flush_begin(d, B);
    depot_write(d, A, 3);
    depot_write(d, B, 4);
    enum err e = depot_written(d), flushed = depot_done(d);
    return depot_worse(e, flushed);
}

/* Of these four nobody knows whether they came before. */
static enum err truncate_beside_writes(struct depot *d)
{
    depot_write(d, B, 4);
    enum err e = depot_truncate(d, B), written = depot_written(d);
    return depot_worse(e, written);
}

/* The files of several flushes, with a deletion that goes, and with writes beside it. */
static enum err compact_beside_writes(struct depot *d)
{
    enum err e = depot_delete(d, A);
    e = e ? e : flush(d, A);
    if (e != OK)
        return e;
    depot_compact_begin(d, A, DEPOT_MERGE_CUT);
    depot_write(d, A, 3);
    depot_flush_begin(d, A);
    enum err written = depot_written(d), flushed = depot_done(d), compacted = depot_compacted(d);
    return depot_worse(depot_worse(written, flushed), compacted);
}

static enum err compact(struct depot *d, int table, enum depot_compaction how)
{
    depot_compact_begin(d, table, how);
    return depot_compacted(d);
}

static enum err truncate_beside_a_compaction(struct depot *d)
{
    depot_compact_begin(d, B, DEPOT_MERGE);
    enum err e = depot_truncate(d, B), compacted = depot_compacted(d);
    return depot_worse(e, compacted == ERR_NOT_FOUND ? OK : compacted);
}

static enum err drop_beside_a_compaction(struct depot *d)
{
    depot_compact_begin(d, C, DEPOT_MERGE);
    enum err e = depot_drop(d, C), compacted = depot_compacted(d);
    return depot_worse(e, compacted == ERR_NOT_FOUND ? OK : compacted);
}

static enum err snapshot_beside_a_compaction(struct depot *d)
{
    depot_compact_begin(d, B, DEPOT_MERGE);
    enum err e = depot_snapshot(d, B, SECOND), compacted = depot_compacted(d);
    return depot_worse(e, compacted);
}

static enum err step_0(struct depot *d) { return write_some(d, A, 4); }
static enum err step_1(struct depot *d) { return write_some(d, B, 6); }
static enum err step_2(struct depot *d) { return write_some(d, C, 4); }
static enum err step_3(struct depot *d) { return flush(d, -1); }
static enum err step_4(struct depot *d) { return write_some(d, A, 12); }
static enum err step_5(struct depot *d) { return depot_snapshot(d, A, FIRST); }
static enum err step_8(struct depot *d) { return write_some(d, B, 4); }
static enum err step_9(struct depot *d) { return flush(d, B); }
static enum err step_10(struct depot *d) { return write_some(d, A, 5); }
static enum err step_11(struct depot *d) { return flush(d, A); }
static enum err step_12(struct depot *d) { return write_some(d, C, 3); }
static enum err step_14(struct depot *d) { return depot_clear(d, FIRST); }
static enum err step_15(struct depot *d) { return write_some(d, A, 30); }
static enum err step_16(struct depot *d) { return write_some(d, B, 5); }
static enum err step_17(struct depot *d) { return flush(d, -1); }
static enum err step_19(struct depot *d) { return compact(d, A, DEPOT_RELEVEL); }
static enum err step_21(struct depot *d) { return write_some(d, B, 3); }

static enum err (*const steps[])(struct depot *) = {
    step_0,
    step_1,
    step_2,
    step_3,
    step_4,
    step_5,
    write_beside_a_flush,
    truncate_beside_writes,
    step_8,
    step_9,
    depot_alter,
    step_10,
    step_11,
    compact_beside_writes,
    step_12,
    drop_beside_a_compaction,
    step_14,
    step_15,
    step_16,
    step_17,
    snapshot_beside_a_compaction,
    step_19,
    truncate_beside_a_compaction,
    step_21,
};

/* False: something did not answer; or the node is dead. */
static bool live(struct depot *d)
{
    for (size_t i = 0; i < array_count(steps); i++) {
        enum err e = steps[i](d);
        if (e == ERR_STOPPED || e == ERR_TIMEOUT)
            return false;
        told.refused += e != OK;
    }
    return true;
}

static void boot(struct depot *d)
{
    enum err e = depot_boot(d);
    if (e == OK || e == ERR_STOPPED)
        return;
    for (int i = 0; i < d->shards_count; i++)
        if (d->shards[i].failed.err != OK)
            depot_fail(d, "a start failed: %s", d->shards[i].failed.text);
    depot_fail(d, "a start failed: %s", err_name(e));
}

/* ---- rounds ---- */

static void say_where(struct depot *d, const struct sim_walk *walk, uint64_t again)
{
    snprintf(d->context, sizeof d->context,
             "%s; replay: %s %s --shards %d --seed %llu --place %llu --again %llu", walk->what,
             wish.program, wish.mode, wish.shards, (unsigned long long)wish.seed,
             (unsigned long long)walk->place, (unsigned long long)again);
}

static void no_shard(struct io *io, void *arg) { (void)io, (void)arg; }

static void begin(struct depot *d)
{
    depot_init(d, sim_new(wish.seed, slow), wish.shards);
    boot(d);
}

static void end(struct depot *d)
{
    struct sim *sim = d->sim;
    depot_kill(d);
    depot_deinit(d);
    sim_free(sim);
}

/* What a restart shows, then once more: so it stays. */
static void look_over(struct depot *d)
{
    depot_check_rows(d, false, true);
    depot_check_files(d);
}

/* The life, cut where the walk says; the start after it cut at its change number `again`, or not at
 * all.  Was it? */
static bool round_of_cuts(struct sim_walk *walk, uint64_t again)
{
    struct depot *d = mem_zalloc(sizeof *d);
    begin(d);
    sim_walk_begin(walk, d->sim, 0, NULL);
    say_where(d, walk, again);
    live(d);
    sim_walk_end(walk, d->sim);
    depot_kill(d);
    if (again)
        sim_kill_at(d->sim, 0, again, (enum sim_image)(SIM_IMAGE_NONE + walk->place / 4 % 4), NULL);
    boot(d);
    bool is_cut_again = !sim_alive(d->sim, 0);
    told.cut_again += is_cut_again;
    if (is_cut_again)
        boot(d);
    sim_kill_at(d->sim, 0, 0, SIM_IMAGE_ANY, NULL);
    look_over(d);
    depot_write(d, A, 2);
    if (depot_written(d) != OK)
        depot_fail(d, "it takes no writes after the start");
    depot_kill(d);
    boot(d);
    look_over(d);
    told.rounds++;
    end(d);
    mem_free(d);
    return is_cut_again;
}

/* All is well again: what hung comes to its end, and where there was no space the node goes on by
 * itself; but not after a sync without space, which is a failed one and has lost what it was for.
 */
static void get_well(struct depot *d, bool was_full)
{
    if (!depot_calm(d, 200 * second))
        depot_fail(d, "an answer does not come although the disk is well again");
    d->patience_ns = 0;
    told.refused += depot_written(d) != OK;
    depot_check_rows(d, false, false);
    if (!was_full)
        return;
    uint64_t until = sim_now(d->sim) + 60 * second;
    enum err e;
    do {
        depot_rest(d, second / 2);
        depot_write(d, A, 1);
        e = depot_written(d);
    } while (e != OK && sim_now(d->sim) < until);
    if (e != OK && e != ERR_IO)
        depot_fail(d, "there is space again, and a write is refused: %s", err_name(e));
    told.recovered_alone += e == OK;
}

static void round_of_errors(struct sim_walk *walk)
{
    struct depot *d = mem_zalloc(sizeof *d);
    begin(d);
    sim_walk_begin(walk, d->sim, 0, NULL);
    say_where(d, walk, 0);
    d->patience_ns = 3 * second;
    bool is_over = live(d);
    told.hung += !is_over;
    depot_check_rows(d, true, false);
    sim_walk_end(walk, d->sim);
    get_well(d, strstr(walk->what, "ERR_NO_SPACE"));
    if (is_over && walk->place % 2) {
        enum err e = depot_close(d);
        if (e != OK && e != ERR_IO)
            depot_fail(d, "it does not close: %s", err_name(e));
        if (sim_open_handles(d->sim, 0))
            depot_fail(d, "a closed store leaves %u handles", sim_open_handles(d->sim, 0));
    }
    depot_kill(d);
    boot(d);
    look_over(d);
    told.rounds++;
    end(d);
    mem_free(d);
}

/* A start whose calls fail says why, or succeeds; the next one shows everything. */
static void round_of_starts(struct sim_walk *walk, uint64_t nth)
{
    struct depot *d = mem_zalloc(sizeof *d);
    begin(d);
    sim_kill_at(d->sim, 0, nth, SIM_IMAGE_ANY, NULL);
    live(d);
    sim_kill_at(d->sim, 0, 0, SIM_IMAGE_ANY, NULL);
    depot_kill(d);
    sim_walk_begin(walk, d->sim, 0, NULL);
    say_where(d, walk, nth);
    d->patience_ns = 3 * second;
    enum err e = depot_boot(d);
    told.hung += e == ERR_TIMEOUT;
    if (e == OK)
        depot_check_rows(d, true, false);
    sim_walk_end(walk, d->sim);
    const char *said = "";
    for (int i = 0; i < d->shards_count; i++)
        if (d->shards[i].failed.err == e)
            said = d->shards[i].failed.text;
    if (e != OK && e != ERR_TIMEOUT) {
        told.failed_starts++;
        if (!*said || (e == ERR_FILES_LIMIT && !strstr(said, err_text(e))))
            depot_fail(d, "a start failed with %s and says '%s'", err_name(e), said);
    }
    depot_kill(d);
    d->patience_ns = 0;
    boot(d);
    look_over(d);
    told.rounds++;
    end(d);
    mem_free(d);
}

/* Leaves files, and a log that holds more. */
static void live_shortly(struct depot *d)
{
    enum err (*const few[])(struct depot *) = { step_0,  step_1,  write_beside_a_flush,
                                                step_10, step_16, step_8 };
    for (size_t i = 0; i < array_count(few) && sim_alive(d->sim, 0); i++) {
        enum err e = few[i](d);
        if (e != OK && e != ERR_STOPPED)
            depot_fail(d, "refused: %s", err_name(e));
    }
}

static void round_of_counts(struct sim_walk *walk)
{
    static const int counts[] = { 1, 2, 3, 1 };
    struct depot *d = mem_zalloc(sizeof *d);
    depot_init(d, sim_new(wish.seed, slow), 1);
    sim_start(d->sim, 0, 1, "10.0.0.1", no_shard, NULL); /* there is a disk to walk over */
    sim_walk_begin(walk, d->sim, 0, NULL);
    say_where(d, walk, 0);
    for (size_t i = 0; i < array_count(counts); i++) {
        depot_kill(d);
        d->shards_count = counts[i];
        boot(d);
        if (sim_alive(d->sim, 0))
            look_over(d);
        if (sim_alive(d->sim, 0))
            live_shortly(d);
    }
    sim_walk_end(walk, d->sim);
    depot_kill(d);
    boot(d);
    look_over(d);
    told.rounds++;
    end(d);
    mem_free(d);
}

/* ---- walks ---- */

static bool mode_is(const char *name) { return strcmp(wish.mode, name) == 0; }

/* `again` is drawn: of the start's changes, where not all are wanted; of the first life's. */
static void round_of(struct sim_walk *walk, uint64_t again)
{
    told.places++;
    if (mode_is("cuts") && wish.is_long)
        for (uint64_t k = 1; round_of_cuts(walk, k); k++)
            ;
    else if (mode_is("cuts"))
        round_of_cuts(walk, again % CHANGES_OF_A_START);
    else if (mode_is("counts"))
        round_of_counts(walk);
    else if (mode_is("starts"))
        round_of_starts(walk, 1 + again % CHANGES_OF_A_LIFE);
    else
        round_of_errors(walk);
}

static void walk_all(struct sim_walk *walk)
{
    struct prng prng = { wish.seed };
    do
        round_of(walk, prng_next(&prng));
    while (sim_walk_next(walk));
}

/* The first round counts. */
static void walk_to(struct sim_walk *walk)
{
    round_of(walk, 0);
    walk->place = wish.place;
    if (mode_is("cuts"))
        round_of_cuts(walk, wish.again);
    else
        round_of(walk, wish.again - mode_is("starts"));
}

static void take_option(const char *name, const char *value)
{
    if (strcmp(name, "--shards") == 0)
        wish.shards = atoi(value);
    else if (strcmp(name, "--seed") == 0)
        wish.seed = strtoull(value, NULL, 10);
    else if (strcmp(name, "--share") == 0)
        wish.share = strtoull(value, NULL, 10);
    else if (strcmp(name, "--place") == 0)
        wish.place = strtoull(value, NULL, 10);
    else if (strcmp(name, "--again") == 0)
        wish.again = strtoull(value, NULL, 10);
}

int main(int argc, char **argv)
{
    wish = (struct wish){ .mode = argc > 1 ? argv[1] : "", .program = argv[0], .shards = 1 };
    wish.seed = 1, wish.share = 1, wish.place = UINT64_MAX;
    for (int i = 2; i + 1 < argc; i += 2)
        take_option(argv[i], argv[i + 1]);
    wish.is_long = is_long() && wish.place == UINT64_MAX;
    if (wish.is_long)
        wish.share = 1;
    bool is_cut = mode_is("cuts") || mode_is("counts");
    if (!is_cut && !mode_is("errors") && !mode_is("starts"))
        return 2;
    struct sim_walk walk = { .kind = is_cut ? SIM_WALK_CUTS : SIM_WALK_ERRORS };
    walk.share = wish.share, walk.seed = wish.seed;
    if (wish.place == UINT64_MAX)
        walk_all(&walk);
    else
        walk_to(&walk);
    printf("%s, %d shards: %llu of %llu places, %llu rounds; %llu starts were cut too, "
           "%llu answers were refusals, %llu hung for a while, %llu starts failed, "
           "%llu found space again\n",
           wish.mode, wish.shards, (unsigned long long)told.places - 1,
           (unsigned long long)walk.total, (unsigned long long)told.rounds,
           (unsigned long long)told.cut_again, (unsigned long long)told.refused,
           (unsigned long long)told.hung, (unsigned long long)told.failed_starts,
           (unsigned long long)told.recovered_alone);
    return 0;
}
