/* test_difference.c - what one answer lacks of all: with it, and only where there was something to
 * lack, it comes to the same digest.
 *
 *     replica 0 ──answer──┐              ┌── lacks ──> + answer 0 = merged
 *     replica 1 ──answer──┴─> merged ────┴── lacks ──> + answer 1 = merged
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/difference.h"
#include "model/digest.h"
#include "replica.h"

#include <check.h>

enum { SEEDS = 500 };

/* Mutations as they come back from their bytes. */
struct taken {
    struct world *w;
    struct mutation mutations[64];
    size_t count;
};
static void take(void *context, const struct mutation *m)
{
    struct taken *t = context;
    struct buf out = buf_in(&t->w->arena);
    ck_assert_uint_lt(t->count, array_count(t->mutations));
    ck_assert(mutation_has_anything(m));
    ck_assert_uint_eq(m->epoch, 9);
    mutation_encode(m, &out);
    ck_assert_int_eq(
        mutation_decode(buf_bytes(&out), t->w->table, &t->w->arena, &t->mutations[t->count]), OK);
    ck_assert(bytes_equal(t->mutations[t->count].key, m->key));
    ck_assert_int_eq(t->mutations[t->count++].token, m->token);
}

static struct taken difference(struct world *w, int64_t gc_before, struct bytes merged,
                               struct bytes one)
{
    struct taken taken = { .w = w };
    struct difference_args args = { .table = w->table,
                                    .read = &w->read,
                                    .epoch = 9,
                                    .gc_before = gc_before,
                                    .arena = &w->arena,
                                    .give = take,
                                    .context = &taken };
    ck_assert_int_eq(difference_of(&args, merged, one), OK);
    return taken;
}

/* A mutation as a replica that has nothing else would answer. */
static struct bytes answer_of(struct world *w, const struct mutation *m)
{
    struct buf out = buf_in(&w->arena);
    struct result_writer writer;
    struct read_outcome outcome = { 0 };
    result_begin(&writer, &w->read, &out);
    writer.sink.partition(&writer.sink, m->key, m->token, m->deletion);
    for (size_t i = 0; i < m->rows_count; i++)
        writer.sink.row(&writer.sink, &m->rows[i], row_is_live(&m->rows[i], NOW));
    for (size_t i = 0; i < m->ranges_count; i++)
        writer.sink.range(&writer.sink, &m->ranges[i]);
    result_end(&writer, &outcome);
    return buf_bytes(&out);
}

/* Nothing, up to where an answer ends. */
static struct bytes empty_like(struct world *w, const struct read_outcome *outcome)
{
    struct buf out = buf_in(&w->arena);
    struct result_writer writer;
    result_begin(&writer, &w->read, &out);
    result_end(&writer, outcome);
    return buf_bytes(&out);
}

static struct digest_answer digest(struct world *w, int64_t gc_before, const struct bytes *answers,
                                   size_t count)
{
    struct digest_writer writer;
    struct read_outcome outcome;
    struct digest_answer out;
    digest_begin(&writer, &w->read, gc_before, &w->arena);
    ck_assert_int_eq(world_merge(w, answers, count, &writer.sink, &outcome), OK);
    digest_end(&writer, &outcome, &out);
    return out;
}

static struct bytes merge_all(struct world *w, const struct bytes *answers,
                              struct read_outcome *outcome)
{
    struct buf out = buf_in(&w->arena);
    struct result_writer writer;
    result_begin(&writer, &w->read, &out);
    ck_assert_int_eq(world_merge(w, answers, w->replicas_count, &writer.sink, outcome), OK);
    result_end(&writer, outcome);
    return buf_bytes(&out);
}

/* One replica is given what it lacks.  True: it lacked something. */
static bool repair(struct world *w, int64_t gc_before, struct bytes merged, struct bytes one,
                   const struct read_outcome *outcome)
{
    struct bytes answers[66] = { one, empty_like(w, outcome) };
    uint32_t limit = w->read.rows_limit;
    w->read.rows_limit = UINT32_MAX; /* the empty one ends it; the one may have other rows */
    w->read.bytes_limit = UINT32_MAX;
    struct digest_answer before = digest(w, gc_before, answers, 2);
    struct digest_answer want = digest(w, gc_before, &merged, 1);
    struct taken taken = difference(w, gc_before, merged, one);
    for (size_t i = 0; i < taken.count; i++)
        answers[2 + i] = answer_of(w, &taken.mutations[i]);
    struct digest_answer after = digest(w, gc_before, answers, 2 + taken.count);
    ck_assert_msg(memcmp(after.digest, want.digest, DIGEST_BYTES) == 0, "seed %llu: not repaired",
                  (unsigned long long)w->seed);
    bool was_equal = memcmp(before.digest, want.digest, DIGEST_BYTES) == 0;
    ck_assert_msg(was_equal == (taken.count == 0), "seed %llu: %s", (unsigned long long)w->seed,
                  was_equal ? "needless" : "nothing was said");
    w->read.rows_limit = limit;
    return taken.count > 0;
}

START_TEST(what_an_answer_lacks_makes_it_equal_to_all_and_is_nothing_where_it_was_equal)
{
    unsigned repaired = 0, equal = 0;
    for (uint64_t n = 0; n < SEEDS; n++) {
        struct world w;
        struct read_outcome outcome;
        struct bytes answers[REPLICAS_MAX];
        world_init(&w, (uint64_t)_i * SEEDS + n);
        world_read(&w);
        w.read.bytes_limit = prng_chance(&w.prng, 30) ? 200 : UINT32_MAX;
        int64_t gc_before = (int64_t)prng_below(&w.prng, 5) - 1;
        bool is_cut = prng_chance(&w.prng, 30);
        for (size_t i = 0; i < w.replicas_count; i++) {
            uint64_t steps = is_cut ? 1 + prng_below(&w.prng, 20) : UINT64_MAX;
            answers[i] = replica_answer(&w, UINT32_C(1) << i, w.read.rows_limit, steps);
        }
        struct bytes merged = merge_all(&w, answers, &outcome);
        for (size_t i = 0; i < w.replicas_count; i++) {
            bool did = repair(&w, gc_before, merged, answers[i], &outcome);
            repaired += did, equal += !did;
        }
        world_deinit(&w);
    }
    ck_assert_uint_gt(repaired, SEEDS / 4);
    ck_assert_uint_gt(equal, SEEDS / 20);
}
END_TEST

START_TEST(answers_that_are_cut_or_flipped_are_refused_or_do_no_harm)
{
    for (uint64_t n = 0; n < 30; n++) {
        struct world w;
        struct read_outcome outcome;
        struct bytes answers[REPLICAS_MAX];
        world_init(&w, n);
        world_read(&w);
        w.read.bytes_limit = w.read.rows_limit = UINT32_MAX;
        for (size_t i = 0; i < w.replicas_count; i++)
            answers[i] = replica_answer(&w, UINT32_C(1) << i, UINT64_MAX, 40);
        struct bytes merged = merge_all(&w, answers, &outcome);
        for (size_t at = 0; at < answers[0].size; at++) {
            struct arena scratch = { 0 };
            struct taken taken = { .w = &w };
            struct difference_args args = { .table = w.table,
                                            .read = &w.read,
                                            .epoch = 9,
                                            .gc_before = 0,
                                            .arena = &scratch,
                                            .give = take,
                                            .context = &taken };
            struct bytes cut = arena_copy(&scratch, bytes_of(answers[0].data, at));
            enum err err = difference_of(&args, merged, cut);
            ck_assert(err == ERR_CORRUPT || (err == OK && at > 4)); /* what is behind is not read */
            uint8_t *copy = (uint8_t *)arena_copy(&scratch, answers[0]).data;
            copy[at] ^= (uint8_t)(1 + prng_below(&w.prng, 255));
            taken.count = 0;
            err = difference_of(&args, merged, bytes_of(copy, answers[0].size));
            ck_assert(err == OK || err == ERR_CORRUPT);
            arena_deinit(&scratch);
        }
        world_deinit(&w);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("difference");
    TCase *tcase = tcase_create("difference");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(
        tcase, what_an_answer_lacks_makes_it_equal_to_all_and_is_nothing_where_it_was_equal, 0, 6);
    tcase_add_test(tcase, answers_that_are_cut_or_flipped_are_refused_or_do_no_harm);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
