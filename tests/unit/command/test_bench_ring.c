/* test_bench_ring.c - the replicas of a key, held against a plain search over all tokens. */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/prng.h"
#include "command/bench_ring.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

enum { PLACES = 5, TOKENS = 8 };

static int64_t tokens[PLACES][TOKENS];
static struct bench_ring ring;

static void ring_make(unsigned places, unsigned factor, uint64_t seed)
{
    struct prng prng = { seed };
    ring = (struct bench_ring){ 0 };
    for (unsigned p = 0; p < places; p++) {
        struct buf text = { 0 };
        for (unsigned i = 0; i < TOKENS; i++) {
            tokens[p][i] = (int64_t)prng_next(&prng);
            buf_printf(&text, "%s'%" PRId64 "'", i ? ", " : "{", tokens[p][i]);
        }
        buf_put(&text, "}", 2);
        ck_assert(bench_ring_add(&ring, p, (const char *)text.data));
        buf_deinit(&text);
    }
    bench_ring_finish(&ring, places, factor);
}

/* How far a place's nearest token is behind the key's, going up and around. */
static uint64_t distance(unsigned place, int64_t token)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < TOKENS; i++)
        least = u64_min(least, (uint64_t)tokens[place][i] - (uint64_t)token);
    return least;
}

START_TEST(replicas_are_the_nearest_places_in_order)
{
    struct prng prng = { (uint64_t)_i + 100 };
    unsigned factor = 1 + (unsigned)_i % PLACES;
    ring_make(PLACES, factor, (uint64_t)_i);
    for (int round = 0; round < 200; round++) {
        uint8_t key[BENCH_KEY_BYTES];
        uint64_t hash[2];
        unsigned out[BENCH_PLACES_MAX];
        put_be64(key, prng_next(&prng));
        murmur3_cassandra(bytes_of(key, sizeof key), hash);
        ck_assert_uint_eq(bench_ring_replicas(&ring, key, out), factor);
        for (unsigned i = 1; i < factor; i++)
            ck_assert(distance(out[i - 1], (int64_t)hash[0]) < distance(out[i], (int64_t)hash[0]));
        for (unsigned p = 0; p < PLACES; p++) {
            bool is_in = false;
            for (unsigned i = 0; i < factor; i++)
                is_in = is_in || out[i] == p;
            uint64_t last = distance(out[factor - 1], (int64_t)hash[0]);
            ck_assert(is_in == (distance(p, (int64_t)hash[0]) <= last));
        }
    }
    bench_ring_deinit(&ring);
}
END_TEST

START_TEST(a_factor_above_the_nodes_is_all_of_them)
{
    uint8_t key[BENCH_KEY_BYTES] = { 0 };
    unsigned out[BENCH_PLACES_MAX];
    ring_make(2, 3, 1);
    ck_assert_uint_eq(ring.factor, 2);
    ck_assert_uint_eq(bench_ring_replicas(&ring, key, out), 2);
    bench_ring_deinit(&ring);
}
END_TEST

START_TEST(what_is_no_set_of_tokens_is_refused)
{
    static const char *const wrong[] = {
        "", "{}", "{1}", "{'x'}", "{'1", "{'99999999999999999999'}"
    };
    for (size_t i = 0; i < array_count(wrong); i++) {
        ring = (struct bench_ring){ 0 };
        ck_assert_msg(!bench_ring_add(&ring, 0, wrong[i]), "%s", wrong[i]);
        bench_ring_deinit(&ring);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("bench_ring");
    TCase *t = tcase_create("bench_ring");
    tcase_add_loop_test(t, replicas_are_the_nearest_places_in_order, 0, 10);
    tcase_add_test(t, a_factor_above_the_nodes_is_all_of_them);
    tcase_add_test(t, what_is_no_set_of_tokens_is_refused);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
