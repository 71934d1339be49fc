/* test_journal_crash.c - a node with a journal is killed at every event, with every image of what
 * was not synced, and lives on: what was acknowledged is there, in order, and nothing else is; also
 * where segments stand in files that were others before, and records are packed.
 */
// SPDX-License-Identifier: Apache-2.0
#include "journal_bench.h"

struct trial {
    struct bench *bench;
    uint64_t budget; /* events until the kill */
    bool is_killed;
    uint64_t forgotten; /* segments below may be gone */
    struct seen seen, before;
};

static bool trial_done(struct trial *t, struct io_req *req)
{
    while (req->busy && t->budget > 0) {
        t->budget--;
        ck_assert(sim_step(t->bench->sim));
    }
    t->is_killed |= req->busy;
    return !req->busy;
}

static bool trial_wave(struct trial *t, unsigned count)
{
    struct bench *b = t->bench;
    unsigned from = b->count;
    for (unsigned i = 0; i < count; i++)
        bench_append(b);
    bool all = true;
    for (unsigned i = from; i < b->count && all; i++)
        all = trial_done(t, &b->appends[i]);
    return all;
}

/* Opens, appends in waves, forgets, closes: as far as the budget of events goes. */
static void trial_live(struct trial *t)
{
    static const unsigned waves[] = { 1, 5, 1, 9, 3 };
    struct bench *b = t->bench;
    struct asker *a = &b->asker;
    sim_act(a->io);
    journal_open(a->io, &a->req, &a->op, &b->options, &b->journal);
    if (!trial_done(t, &a->req))
        return;
    ck_assert_int_eq(a->req.err, OK);
    for (size_t i = 0; i < array_count(waves); i++)
        if (!trial_wave(t, waves[i]))
            return;
    for (int round = 0; round < (b->options.spares_max ? 3 : 1); round++) {
        t->forgotten = b->appends[b->count - 1].size;
        sim_act(a->io);
        journal_forget(b->journal, &a->req, &a->op, t->forgotten);
        if (!trial_done(t, &a->req) || !trial_wave(t, 4))
            return;
    }
    ck_assert(b->options.spares_max == 0 || journal_counts(b->journal)->reused > 0);
    sim_act(a->io);
    journal_close(&b->journal, &a->req, &a->op);
    trial_done(t, &a->req);
}

static void trial_check(struct trial *t)
{
    struct bench *b = t->bench;
    enum err err = bench_read(b, &t->seen);
    ck_assert_msg(err == OK, "hole in %s at %d", t->seen.replay.bad_file,
                  (int)t->seen.replay.bad.offset);
    for (size_t i = 1; i < t->seen.count; i++)
        ck_assert_uint_lt(t->seen.numbers[i - 1], t->seen.numbers[i]);
    ck_assert(t->seen.count == 0 || t->seen.numbers[t->seen.count - 1] < b->count);
    for (unsigned n = 0; n < b->count; n++) {
        const struct io_req *req = &b->appends[n];
        bool is_acked = !req->busy && req->err == OK && req->size >= t->forgotten;
        bool must_be = is_acked && b->options.mode != JOURNAL_PERIODIC;
        ck_assert_msg(!must_be || seen_find(&t->seen, n) != SIZE_MAX, "lost %u", n);
    }
    for (size_t i = 0; i < t->before.count; i++) {
        unsigned n = t->before.numbers[i];
        bool may_go = b->appends[n].size < t->forgotten;
        ck_assert_msg(may_go || seen_find(&t->seen, n) != SIZE_MAX, "forgot %u again", n);
    }
    t->before = t->seen;
}

static void trial_restart(struct trial *t)
{
    if (sim_alive(t->bench->sim, 0))
        sim_kill(t->bench->sim, 0, NULL);
    ck_assert_uint_eq(sim_open_blocks(t->bench->sim, 0), 0);
    bench_start(t->bench);
}

struct trial_kind {
    enum journal_mode mode;
    enum sim_image image;
    size_t size_max;
    bool is_reusing, is_compressed;
};
/* Two lives, the first killed after so many events, the second somewhere; false when the first
 * lived to its end. */
static bool trial_run(const struct trial_kind *kind, uint64_t events)
{
    struct sim_faults faults = { .disk_ns_max = 300000 };
    struct trial *t = mem_zalloc(sizeof *t);
    t->bench = bench_new(events * 8 + (uint64_t)kind->image, faults, kind->mode);
    t->bench->size_max = kind->size_max;
    t->bench->options.spares_max = kind->is_reusing ? 2 : 0;
    t->bench->options.is_compressed = kind->is_compressed;
    sim_image(t->bench->sim, 0, kind->image);
    t->budget = events;
    trial_live(t);
    bool was_killed = t->is_killed;
    trial_restart(t);
    trial_check(t);
    t->budget = sim_draw(t->bench->sim) % (events + 10);
    trial_live(t);
    trial_restart(t);
    trial_check(t);
    bench_free(t->bench);
    mem_free(t);
    return was_killed;
}

START_TEST(whenever_it_is_killed_no_acknowledged_record_is_lost)
{
    struct trial_kind kind = { .mode = (enum journal_mode)(_i % 3),
                               .image = (enum sim_image)(SIM_IMAGE_NONE + _i / 3 % 4),
                               .size_max = _i < 12 ? 500 : 20000,
                               .is_reusing = _i >= 24 && _i < 36,
                               .is_compressed = _i >= 36 };
    uint64_t events = 0;
    while (trial_run(&kind, events))
        events++;
    ck_assert_uint_gt(events, 15); /* it lives for so many events, and has been killed after each */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("journal_crash");
    TCase *t = tcase_create("crash");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, whenever_it_is_killed_no_acknowledged_record_is_lost, 0, 48);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
