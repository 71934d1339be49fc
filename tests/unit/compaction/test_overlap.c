/* test_overlap.c - sets of files over one key and buckets of them: the facts' examples
 * (compaction.md 1.5, 1.6), and random files against a count key by key. */
// SPDX-License-Identifier: Apache-2.0
#include "base/prng.h"
#include "compaction/overlap.h"

#include <check.h>

enum { FILES_MAX = 40, KEYS = 60, BLOCKS = 10, SEEDS_A_BLOCK = 30 };
static struct arena arena;
static struct compaction_file files[FILES_MAX];
static size_t places[FILES_MAX], count;

static void setup(void)
{
    arena_init(&arena, 65536);
    count = 0;
}
static void teardown(void) { arena_deinit(&arena); }

static void add(int64_t first, int64_t last)
{
    files[count] = (struct compaction_file){
        .id = count + 1, .first = first, .last = last, .timestamp_max = (int64_t)count
    };
    places[count] = count;
    count++;
}

/* Files as letters, in the order of their ids: "AB". */
static const char *letters(const size_t *members, size_t n)
{
    char *text = arena_zalloc(&arena, FILES_MAX + 1);
    for (size_t place = 0, at = 0; place < count; place++)
        for (size_t i = 0; i < n; i++)
            if (members[i] == place)
                text[at++] = (char)('A' + place);
    return text;
}

static const char *sets_of(const struct overlaps *overlaps)
{
    char *text = arena_zalloc(&arena, 1024);
    for (size_t set = 0; set < overlaps->sets_count; set++) {
        struct overlap_bucket alone = { set, set, overlaps->sizes[set] };
        size_t *members, n = overlaps_members(overlaps, &alone, &arena, &members);
        ck_assert_uint_eq(n, overlaps->sizes[set]);
        snprintf(text + strlen(text), 1024 - strlen(text), "%s%s", set ? " " : "",
                 letters(members, n));
    }
    return text;
}

static const char *buckets_of(const struct overlaps *overlaps, size_t threshold,
                              enum overlap_inclusion inclusion)
{
    char *text = arena_zalloc(&arena, 1024);
    struct overlap_bucket *buckets;
    size_t n = overlaps_buckets(overlaps, threshold, inclusion, &arena, &buckets);
    for (size_t i = 0; i < n; i++) {
        size_t *members, size = overlaps_members(overlaps, &buckets[i], &arena, &members);
        snprintf(text + strlen(text), 1024 - strlen(text), "%s%s", i ? " " : "",
                 letters(members, size));
    }
    return text;
}

/* ---- examples: ends of files are included, A is the first ---- */

static const struct example {
    int64_t ends[6][2]; /* the last: 0, 0 */
    const char *sets;
    size_t threshold;
    const char *none, *single, *transitive;
} examples[] = {
    /* Half open they are A[0,4) B[2,8) C[6,10) D[1,9). */
    { { { 0, 3 }, { 2, 7 }, { 6, 9 }, { 1, 8 } }, "ABD BCD", 3, "ABD BCD", "ABCD", "ABCD" },
    { { { 0, 5 }, { 2, 9 }, { 6, 12 }, { 10, 12 } }, "AB BC CD", 2, "AB BC CD", "ABC CD", "ABCD" },
    /* The middle set starts the bucket, and takes the one before it too. */
    { { { 0, 5 }, { 4, 9 }, { 4, 9 }, { 8, 12 } }, "ABC BCD", 3, "ABC BCD", "ABCD", "ABCD" },
    { { { 0, 5 }, { 4, 20 }, { 10, 12 }, { 11, 15 }, { 18, 30 } },
      "AB BCD BE",
      3,
      "BCD",
      "ABCDE",
      "ABCDE" },
    /* Sets before the due one join it by themselves, or by way of one another. */
    { { { 0, 3 }, { 2, 5 }, { 4, 9 }, { 8, 12 }, { 8, 12 } },
      "AB BC CDE",
      3,
      "CDE",
      "BCDE",
      "ABCDE" },
    /* Ends that meet in one token are over one another; a gap is between others. */
    { { { 0, 5 }, { 5, 9 }, { 10, 12 } }, "AB C", 1, "AB C", "AB C", "AB C" },
    { { { 0, 9 }, { 0, 9 }, { 0, 9 } }, "ABC", 4, "", "", "" },
    { { { 0, 9 }, { 1, 2 }, { 3, 4 } }, "AB AC", 2, "AB AC", "ABC", "ABC" },
    { { { 0, 0 } }, "", 1, "", "", "" }, /* no files */
};

START_TEST(sets_and_buckets_are_those_of_the_example)
{
    const struct example *e = &examples[_i];
    struct overlaps overlaps;
    for (size_t i = 0; e->ends[i][1]; i++)
        add(e->ends[i][0], e->ends[i][1]);
    overlaps_make(files, places, count, &arena, &overlaps);
    ck_assert_str_eq(sets_of(&overlaps), e->sets);
    ck_assert_str_eq(buckets_of(&overlaps, e->threshold, OVERLAP_NONE), e->none);
    ck_assert_str_eq(buckets_of(&overlaps, e->threshold, OVERLAP_SINGLE), e->single);
    ck_assert_str_eq(buckets_of(&overlaps, e->threshold, OVERLAP_TRANSITIVE), e->transitive);
}
END_TEST

START_TEST(keys_decide_where_tokens_meet)
{
    struct overlaps overlaps;
    add(0, 5);
    add(5, 9);
    files[0].last_key = bytes_text("b");
    files[1].first_key = bytes_text("a");
    overlaps_make(files, places, count, &arena, &overlaps);
    ck_assert_str_eq(sets_of(&overlaps), "AB");
    files[1].first_key = bytes_text("b");
    overlaps_make(files, places, count, &arena, &overlaps);
    ck_assert_str_eq(sets_of(&overlaps), "AB");
    files[1].first_key = bytes_text("c");
    overlaps_make(files, places, count, &arena, &overlaps);
    ck_assert_str_eq(sets_of(&overlaps), "A B");
}
END_TEST

/* ---- the oldest of a bucket ---- */

static const char *oldest_of(size_t limit)
{
    struct overlaps overlaps;
    struct overlap_bucket *buckets;
    size_t *members;
    overlaps_make(files, places, count, &arena, &overlaps);
    ck_assert_uint_eq(overlaps_buckets(&overlaps, 2, OVERLAP_TRANSITIVE, &arena, &buckets), 1);
    size_t n = overlaps_oldest(&overlaps, &buckets[0], files, limit, &arena, &members);
    return letters(members, n);
}

START_TEST(the_oldest_are_taken_up_to_the_first_that_would_be_too_many_over_one_key)
{
    add(0, 9);
    add(0, 4);
    add(5, 9); /* not over the one before it */
    add(0, 9);
    add(6, 6);
    ck_assert_str_eq(oldest_of(1), "A");
    ck_assert_str_eq(oldest_of(2), "ABC");
    ck_assert_str_eq(oldest_of(3), "ABCD");
    ck_assert_str_eq(oldest_of(4), "ABCDE");
    files[4].timestamp_max = -1; /* now it is the first; C stops it, and D is not asked any more */
    ck_assert_str_eq(oldest_of(2), "ABE");
    files[4].timestamp_max = files[0].timestamp_max; /* of equals the smaller id */
    ck_assert_str_eq(oldest_of(1), "A");
}
END_TEST

/* ---- any files ---- */

static void add_any(struct prng *prng)
{
    size_t n = prng_below(prng, FILES_MAX + 1);
    while (count < n) {
        int64_t first = (int64_t)prng_below(prng, KEYS);
        int64_t size = (int64_t)prng_below(prng, 1 + prng_below(prng, KEYS - (uint64_t)first));
        add(first, first + size);
    }
}

/* A process for each seed would cost more than what is tested. */
static void each_seed(int block, void (*test)(uint64_t seed))
{
    for (int i = 0; i < SEEDS_A_BLOCK; i++) {
        teardown();
        setup();
        test((uint64_t)(block * SEEDS_A_BLOCK + i));
    }
}

static uint64_t over(int64_t key)
{
    uint64_t members = 0;
    for (size_t i = 0; i < count; i++)
        if (files[i].first <= key && key <= files[i].last)
            members |= UINT64_C(1) << i;
    return members;
}

/* The files over each key are in one set, and each set is all the files over some key. */
static void sets_are_right(uint64_t seed)
{
    struct prng prng = { seed };
    struct overlaps overlaps;
    add_any(&prng);
    overlaps_make(files, places, count, &arena, &overlaps);
    uint64_t sets[FILES_MAX] = { 0 };
    bool found[FILES_MAX] = { false };
    for (size_t i = 0; i < count; i++)
        for (size_t set = overlaps.from[i]; set <= overlaps.to[i]; set++)
            sets[set] |= UINT64_C(1) << overlaps.files[i];
    for (int64_t key = 0; key < KEYS; key++) {
        uint64_t members = over(key);
        bool is_in_one = members == 0;
        for (size_t set = 0; set < overlaps.sets_count; set++) {
            is_in_one |= (members & ~sets[set]) == 0;
            found[set] |= members == sets[set];
        }
        ck_assert(is_in_one);
    }
    for (size_t set = 0; set < overlaps.sets_count; set++)
        ck_assert(found[set]);
}
START_TEST(sets_are_what_a_walk_over_all_keys_finds) { each_seed(_i, sets_are_right); }
END_TEST

static bool is_linked(size_t a, size_t b)
{
    return files[a].first <= files[b].last && files[b].first <= files[a].last;
}

static void groups_are_right(uint64_t seed)
{
    struct prng prng = { seed };
    struct overlaps overlaps;
    struct overlap_bucket *buckets;
    add_any(&prng);
    size_t group[FILES_MAX];
    for (size_t i = 0; i < count; i++)
        group[i] = SIZE_MAX;
    overlaps_make(files, places, count, &arena, &overlaps);
    size_t n = overlaps_buckets(&overlaps, 1, OVERLAP_TRANSITIVE, &arena, &buckets);
    for (size_t i = 0; i < n; i++) {
        size_t *members, size = overlaps_members(&overlaps, &buckets[i], &arena, &members);
        for (size_t k = 0; k < size; k++) {
            ck_assert_uint_eq(group[members[k]], SIZE_MAX); /* a file is in one */
            group[members[k]] = i;
        }
    }
    for (size_t a = 0; a < count; a++) {
        ck_assert_uint_ne(group[a], SIZE_MAX);
        for (size_t b = 0; b < count; b++)
            ck_assert(!is_linked(a, b) || group[a] == group[b]);
    }
    for (size_t i = 1; i < n; i++) /* and they are not one group */
        ck_assert_uint_lt(overlaps.reach[buckets[i - 1].last], buckets[i].first);
}
START_TEST(with_a_threshold_of_one_buckets_are_the_connected_groups)
{
    each_seed(_i, groups_are_right);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("overlap");
    TCase *tcase = tcase_create("overlap");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, sets_and_buckets_are_those_of_the_example, 0,
                        (int)array_count(examples));
    tcase_add_test(tcase, keys_decide_where_tokens_meet);
    tcase_add_test(tcase, the_oldest_are_taken_up_to_the_first_that_would_be_too_many_over_one_key);
    tcase_add_loop_test(tcase, sets_are_what_a_walk_over_all_keys_finds, 0, BLOCKS);
    tcase_add_loop_test(tcase, with_a_threshold_of_one_buckets_are_the_connected_groups, 0, BLOCKS);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
