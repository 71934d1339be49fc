/* test_map.c - the hash map against an array of flags. */
// SPDX-License-Identifier: Apache-2.0
#include "base/map.h"
#include "base/prng.h"

#include <check.h>
#include <signal.h>

enum { KEYS = 700 };

struct thing {
    uint32_t key;
    bool is_there, is_seen;
};

static struct thing things[KEYS];

static struct bytes key_of(const struct thing *t) { return bytes_of(&t->key, sizeof t->key); }

static void check_walk(const struct map *m)
{
    size_t at = 0, seen = 0;
    for (struct thing *t; (t = map_next(m, &at)); seen++) {
        ensure(t->is_there && !t->is_seen);
        t->is_seen = true;
    }
    ck_assert_uint_eq(seen, m->count);
    for (size_t i = 0; i < KEYS; i++)
        things[i].is_seen = false;
}

START_TEST(a_random_history_equals_that_of_flags)
{
    struct map m = { 0 };
    struct prng prng = { (uint64_t)_i };
    size_t count = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        things[i] = (struct thing){ .key = i * 3 };
    for (unsigned step = 0; step < 30000; step++) {
        struct thing *t = &things[prng_below(&prng, KEYS)];
        ensure(map_get(&m, key_of(t)) == (t->is_there ? t : NULL));
        bool adds = prng_chance(&prng, step < 15000 ? 70 : 30);
        if (adds && !t->is_there) {
            map_put(&m, key_of(t), t);
            t->is_there = true, count++;
        } else if (!adds) {
            ensure(map_remove(&m, key_of(t)) == (t->is_there ? t : NULL));
            count -= t->is_there, t->is_there = false;
        }
        ensure(m.count == count);
        if (step % 1000 == 0)
            check_walk(&m);
    }
    for (size_t i = 0; i < KEYS; i++)
        ck_assert_ptr_eq(map_get(&m, key_of(&things[i])), things[i].is_there ? &things[i] : NULL);
    map_deinit(&m);
}
END_TEST

START_TEST(an_empty_map_has_nothing)
{
    struct map m = { 0 };
    size_t at = 0;
    ck_assert_ptr_null(map_get(&m, bytes_text("k")));
    ck_assert_ptr_null(map_remove(&m, bytes_text("k")));
    ck_assert_ptr_null(map_next(&m, &at));
    map_put(&m, (struct bytes){ 0 }, &m);
    ck_assert_ptr_eq(map_get(&m, bytes_text("")), &m);
    map_deinit(&m);
}
END_TEST

START_TEST(putting_a_key_twice_stops_the_process)
{
    struct map m = { 0 };
    map_put(&m, bytes_text("k"), &m);
    map_put(&m, bytes_text("k"), &m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("map");
    TCase *t = tcase_create("map");
    tcase_add_loop_test(t, a_random_history_equals_that_of_flags, 0, 4);
    tcase_add_test(t, an_empty_map_has_nothing);
    tcase_add_test_raise_signal(t, putting_a_key_twice_stops_the_process, SIGABRT);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
