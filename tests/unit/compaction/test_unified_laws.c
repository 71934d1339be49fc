/* test_unified_laws.c - what holds for every pick of the unified strategy, whatever the files and
 * the options: checked here by other means than it is made. */
// SPDX-License-Identifier: Apache-2.0
#include "unified_kit.h"

#include <math.h>

enum { BLOCKS = 20, SEEDS_A_BLOCK = 20, LIKELY_MAX = 60 };
static struct prng dice;
static const char *inclusion;

static uint64_t roll(uint64_t sides) { return prng_below(&dice, sides); }
static const char *one_of(const char *const *list, size_t n) { return list[roll(n)]; }

/* A process for each seed would cost more than the law. */
static void each_seed(int block, void (*law)(void))
{
    for (int i = 0; i < SEEDS_A_BLOCK; i++) {
        teardown();
        setup();
        dice = (struct prng){ (uint64_t)(block * SEEDS_A_BLOCK + i) };
        law();
    }
}

static struct unified *any_strategy(void)
{
    static const char *const scalings[] = { "T4", "N", "L4", "L10", "T3, L4", "T8,N,L3", "-1" };
    static const char *const inclusions[] = { "NONE", "SINGLE", "TRANSITIVE" };
    static const char *const limits[] = { "0", "2", "5", "32" };
    static const char *const least[] = { "0B", "10MiB", "100MiB" };
    static const char *const bases[] = { "1", "3", "4", "20" };
    char options[256];
    const char *scaling = one_of(scalings, array_count(scalings));
    const char *limit = one_of(limits, array_count(limits));
    const char *bytes = one_of(least, array_count(least));
    inclusion = one_of(inclusions, array_count(inclusions));
    snprintf(options, sizeof options,
             "scaling_parameters: %s; overlap_inclusion_method: %s; max_sstables_to_compact: %s; "
             "min_sstable_size: %s; base_shard_count: %s; flush_size_override: 1MiB",
             scaling, inclusion, limit, bytes, one_of(bases, array_count(bases)));
    return unified_with(options);
}

/* Sizes over four powers of ten; some over all keys, some over a few. */
static void add_any_files(void)
{
    size_t n = roll(LIKELY_MAX);
    while (now.files_count < n) {
        int64_t first = (int64_t)roll(UINT64_MAX);
        uint64_t width = roll((uint64_t)INT64_MAX - (uint64_t)first), smaller = roll(8);
        int64_t last = (int64_t)((uint64_t)first + (width >> smaller));
        bool is_whole = prng_chance(&dice, 40);
        double mib = 0.5 * pow(10, (double)roll(4000) / 1000);
        struct compaction_file *file = is_whole ? add_whole(mib) : add_file(mib, first, last);
        file->is_busy = prng_chance(&dice, 10);
        file->is_suspect = prng_chance(&dice, 5);
        file->is_shared = prng_chance(&dice, 5);
        file->timestamp_max = (int64_t)roll(50);
        if (prng_chance(&dice, 20))
            file->seconds_max = (uint32_t)now.gc_before - (uint32_t)roll(2);
    }
}

static bool is_over(const struct compaction_file *a, const struct compaction_file *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* How many of the pick are over the key where the i-th begins: the most over any is among these. */
static size_t depth(const struct compaction_pick *pick, size_t i)
{
    size_t n = 0;
    int64_t key = files[pick->files[i]].first;
    for (size_t k = 0; k < pick->count; k++)
        n += files[pick->files[k]].first <= key && key <= files[pick->files[k]].last;
    return n;
}

/* Marks those that overlap a marked one; how many are new. */
static size_t spread(const struct compaction_pick *pick, size_t from, bool reached[FILES_MAX])
{
    size_t fresh = 0;
    for (size_t i = 0; reached[from] && i < pick->count; i++)
        if (!reached[i] && is_over(&files[pick->files[from]], &files[pick->files[i]]))
            fresh += reached[i] = true;
    return fresh;
}

/* How many are reached from the first by files that overlap. */
static size_t connected(const struct compaction_pick *pick)
{
    bool reached[FILES_MAX] = { true };
    size_t count = 0, next = 1;
    while (next > count) {
        count = next;
        for (size_t i = 0; i < pick->count; i++)
            next += spread(pick, i, reached);
    }
    return count;
}

static void files_are_free(const size_t *places, size_t count, bool seen[FILES_MAX])
{
    for (size_t i = 0; i < count; i++) {
        const struct compaction_file *file = &files[places[i]];
        ck_assert(!file->is_busy && !file->is_suspect && !file->is_shared);
        ck_assert(!seen[places[i]]);
        seen[places[i]] = true;
    }
}

static void cuts_are_inside(const struct compaction_pick *pick)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < pick->count; i++) {
        first = files[pick->files[i]].first < first ? files[pick->files[i]].first : first;
        last = files[pick->files[i]].last > last ? files[pick->files[i]].last : last;
    }
    for (size_t i = 0; i < pick->cuts_count; i++) {
        ck_assert(first <= pick->cuts[i] && pick->cuts[i] < last);
        ck_assert(!i || pick->cuts[i - 1] < pick->cuts[i]);
    }
}

static void free_and_linked(void)
{
    struct unified *unified = any_strategy();
    add_any_files();
    struct compaction_pick pick = pick_now();
    bool seen[FILES_MAX] = { false };
    files_are_free(pick.files, pick.count, seen);
    files_are_free(pick.expired, pick.expired_count, seen);
    cuts_are_inside(&pick);
    if (!pick.count)
        return;
    bool is_part = strstr(pick.reason, "the oldest") != NULL;
    if (!is_part && !pick.expired_count)
        ck_assert_uint_eq(connected(&pick), pick.count);
    size_t most = 0;
    for (size_t i = 0; i < pick.count; i++) {
        size_t here = depth(&pick, i);
        most = here > most ? here : most;
        ck_assert_uint_eq(
            unified_level_of(unified, &ring, unified_density(&ring, &files[pick.files[i]])),
            (size_t)pick.level);
    }
    if (!pick.expired_count)
        ck_assert_uint_ge(most, 2);
    if (is_part && unified->options.most_files < UINT64_MAX)
        ck_assert_uint_le(most, u64_max(unified->options.most_files,
                                        unified_fanout(&unified->options, (size_t)pick.level)));
}
START_TEST(a_pick_takes_free_files_once_which_overlap_and_cuts_between_them)
{
    each_seed(_i, free_and_linked);
}
END_TEST

/* The ids of a pick, as a bitmap. */
static uint64_t ids_of(const size_t *places, size_t count)
{
    uint64_t ids = 0;
    for (size_t i = 0; i < count; i++)
        ids |= UINT64_C(1) << files[places[i]].id;
    return ids;
}

static void any_order(void)
{
    any_strategy();
    add_any_files();
    struct compaction_pick pick = pick_now();
    uint64_t read = ids_of(pick.files, pick.count);
    uint64_t unread = ids_of(pick.expired, pick.expired_count);
    for (size_t i = now.files_count; i > 1; i--) {
        size_t other = roll(i);
        struct compaction_file kept = files[i - 1];
        files[i - 1] = files[other];
        files[other] = kept;
    }
    chance = (struct prng){ 7 };
    struct compaction_pick again = pick_now();
    ck_assert_uint_eq(ids_of(again.files, again.count), read);
    ck_assert_uint_eq(ids_of(again.expired, again.expired_count), unread);
    ck_assert_str_eq(again.reason, pick.reason);
    ck_assert_uint_eq(again.cuts_count, pick.cuts_count);
    ck_assert_double_eq(again.priority, pick.priority);
}
START_TEST(the_order_of_the_files_does_not_matter) { each_seed(_i, any_order); }
END_TEST

static void levels_add_up(void)
{
    any_strategy();
    add_any_files();
    struct compaction_level *levels;
    size_t n = strategy_levels(strategy, &now, &arena, &levels), count = 0;
    uint64_t bytes = 0, total = 0, pending = 0;
    for (size_t i = 0; i < n; i++) {
        count += levels[i].files;
        bytes += levels[i].bytes;
        pending += levels[i].pending;
        ck_assert((levels[i].pending_bytes > 0) == (levels[i].pending > 0));
        ck_assert(levels[i].pending_bytes <= levels[i].bytes);
        ck_assert(levels[i].overlap <= levels[i].files);
        ck_assert(i ? levels[i].low == levels[i - 1].high : levels[i].low == 0);
    }
    for (size_t i = 0; i < now.files_count; i++)
        total += files[i].bytes;
    ck_assert_uint_eq(count, now.files_count);
    ck_assert_uint_eq(bytes, total);
    struct compaction_pick pick = pick_now();
    ck_assert_double_eq(pick.priority, (double)pending);
    ck_assert((pick.kind == COMPACTION_NONE) == (pending == 0));
}
START_TEST(every_file_is_in_one_level_and_what_is_due_adds_up_to_the_urgency)
{
    each_seed(_i, levels_add_up);
}
END_TEST

/* The pick as if it were done: inputs go, outputs come, evenly filled. */
static void do_it(const struct compaction_pick *pick)
{
    struct compaction_file merged = { .first = INT64_MAX, .last = INT64_MIN };
    uint64_t bytes = 0;
    for (size_t i = 0; i < pick->count; i++) {
        const struct compaction_file *file = &files[pick->files[i]];
        merged.first = file->first < merged.first ? file->first : merged.first;
        merged.last = file->last > merged.last ? file->last : merged.last;
        merged.timestamp_max =
            file->timestamp_max > merged.timestamp_max ? file->timestamp_max : merged.timestamp_max;
        bytes += file->bytes;
    }
    double covers = local_coverage_raw(&ring, merged.first, merged.last);
    remove_files(pick->files, pick->count);
    for (size_t i = 0; i <= pick->cuts_count; i++) {
        int64_t last = i < pick->cuts_count ? pick->cuts[i] : merged.last;
        double share = local_coverage_raw(&ring, merged.first, last) / covers;
        struct compaction_file *file = add_file((double)bytes * share / MIB, merged.first, last);
        file->timestamp_max = merged.timestamp_max;
        merged.first = last < merged.last ? last + 1 : last;
    }
}

static void comes_to_an_end(void)
{
    struct unified *unified = any_strategy();
    add_any_files();
    for (size_t i = 0; i < now.files_count; i++)
        files[i].is_busy = files[i].is_suspect = files[i].is_shared = false;
    now.gc_before = 0;
    struct compaction_pick pick = pick_now();
    for (size_t steps = 0; pick.kind != COMPACTION_NONE; steps++) {
        ck_assert_uint_lt(steps, 1000);
        do_it(&pick);
        pick = pick_now();
    }
    struct compaction_level *levels;
    size_t n = strategy_levels(strategy, &now, &arena, &levels);
    for (size_t i = 0; i < n; i++)
        ck_assert_uint_lt(levels[i].overlap, unified_threshold(&unified->options, i));
}
START_TEST(picks_come_to_an_end_and_then_no_level_is_deep) { each_seed(_i, comes_to_an_end); }
END_TEST

static void major_takes_all(void)
{
    any_strategy();
    add_any_files();
    bool seen[FILES_MAX] = { false };
    size_t taken = 0, there = 0;
    struct compaction_pick pick, before = { .count = 0 };
    for (size_t i = 0; strategy_major(strategy, &now, false, i, &arena, &pick); i++) {
        files_are_free(pick.files, pick.count, seen);
        files_are_free(pick.expired, pick.expired_count, seen);
        cuts_are_inside(&pick);
        for (size_t a = 0; a < pick.count; a++)
            for (size_t b = 0; b < before.count; b++)
                ck_assert(!is_over(&files[pick.files[a]], &files[before.files[b]]));
        taken += pick.count + pick.expired_count;
        before = pick;
    }
    for (size_t i = 0; i < now.files_count; i++)
        there += !files[i].is_busy && !files[i].is_suspect && !files[i].is_shared;
    ck_assert_uint_eq(taken, there);
}
START_TEST(a_major_compaction_takes_every_free_file_once_and_leaves_no_two_that_overlap)
{
    each_seed(_i, major_takes_all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unified_laws");
    TCase *tcase = tcase_create("unified_laws");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, a_pick_takes_free_files_once_which_overlap_and_cuts_between_them, 0,
                        BLOCKS);
    tcase_add_loop_test(tcase, the_order_of_the_files_does_not_matter, 0, BLOCKS);
    tcase_add_loop_test(tcase, every_file_is_in_one_level_and_what_is_due_adds_up_to_the_urgency, 0,
                        BLOCKS);
    tcase_add_loop_test(tcase, picks_come_to_an_end_and_then_no_level_is_deep, 0, BLOCKS);
    tcase_add_loop_test(
        tcase, a_major_compaction_takes_every_free_file_once_and_leaves_no_two_that_overlap, 0,
        BLOCKS);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
