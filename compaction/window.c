/* window.c - TimeWindowCompactionStrategy: files of one window of time become one; windows are not
 * mixed, so that whole files expire.
 *
 *     ──[ older ]──[ older ]──[ newest ]──> time, by each file's newest cell
 *        one file   2 or more   min_threshold of like size (tiered.h)
 *                   └─ merged   └─ merged
 *
 * Windows are looked at from the newest to the oldest; the first in which something is due wins.
 *
 * Invariants:
 *     1. "Newest" is the highest window that this object has ever seen, never the clock: data that
 *        is written late does not reopen it, and an empty table does not forget it.
 *     2. Expired files are looked for at the first call and then at the given frequency.  The clock
 *        starts anew only when there were none: what was found and not yet dropped is found again.
 *     3. Tombstone compactions are off unless one of their options is set.
 *
 * Facts: compaction.md 6.  unsafe_aggressive_sstable_expiration is refused when the table is made
 * (model/params_compaction.c).
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "compaction/classic.h"
#include "compaction/tiered.h"

struct window {
    struct strategy strategy;
    struct tiered_rules rules;
    int64_t seconds;            /* how long a window is */
    int64_t ticks_a_second;     /* of the table's timestamps */
    int64_t highest;            /* where the newest window begins; INT64_MIN: none was seen */
    int64_t frequency_seconds;  /* of looking for expired files */
    int64_t looked_for_expired; /* Unix seconds; INT64_MIN: never */
    bool takes_tombstones;
};
static struct window *window_of(struct strategy *strategy)
{
    return owner_of(strategy, struct window, strategy);
}

/* The number that belongs to the option's word, the first one's when it is not given. */
struct word {
    const char *word;
    int64_t number;
};
static int64_t number_of(const struct compaction_params *params, const char *name,
                         const struct word *words, size_t count)
{
    const char *text = compaction_option(params, name);
    for (size_t i = 0; text && i < count; i++)
        if (strcmp(words[i].word, text) == 0)
            return words[i].number;
    return words[0].number;
}

static struct strategy *window_make(const struct compaction_params *params,
                                    const struct strategy_scale *scale)
{
    static const struct word units[] = { { "DAYS", 86400 }, { "HOURS", 3600 }, { "MINUTES", 60 } };
    static const struct word ticks[] = { { "MICROSECONDS", 1000000 },
                                         { "SECONDS", 1 },
                                         { "MILLISECONDS", 1000 },
                                         { "NANOSECONDS", 1000000000 } };
    struct window *window = mem_zalloc(sizeof *window);
    (void)scale; /* only Unified builds on flush sizes */
    tiered_rules_of(params, &window->rules);
    window->seconds = number_of(params, "compaction_window_unit", units, array_count(units)) *
                      compaction_whole(params, "compaction_window_size", 1);
    window->ticks_a_second = number_of(params, "timestamp_resolution", ticks, array_count(ticks));
    window->highest = window->looked_for_expired = INT64_MIN;
    window->frequency_seconds =
        compaction_whole(params, "expired_sstable_check_frequency_seconds", 600);
    window->takes_tombstones = compaction_option(params, "tombstone_threshold") ||
                               compaction_option(params, "tombstone_compaction_interval") ||
                               compaction_flag(params, "unchecked_tombstone_compaction", false);
    return &window->strategy;
}

static void window_release(struct strategy *strategy) { mem_free(window_of(strategy)); }

/* ---- windows ---- */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Where the window of the file's newest cell begins, in Unix seconds. */
static int64_t begin_of(const struct window *window, const struct compaction_file *file)
{
    int64_t second = floor_div(file->timestamp_max, window->ticks_a_second);
    int64_t number = floor_div(second, window->seconds);
    return number < INT64_MIN / window->seconds ? INT64_MIN : number * window->seconds;
}

static void see(struct window *window, const struct compaction_now *now)
{
    for (size_t i = 0; i < now->files_count; i++) {
        int64_t begin = begin_of(window, &now->files[i]);
        window->highest = begin > window->highest ? begin : window->highest;
    }
}

/* From the newest cell to the oldest, so that windows follow one another from new to old. */
static bool file_newer(const struct compaction_file *a, const struct compaction_file *b)
{
    return file_older(b, a);
}

/* The files of one window, from new to old. */
struct one {
    int64_t begin;
    size_t count;
    const size_t *files;
};
static struct one one_of(const struct window *window, const struct compaction_now *now,
                         const size_t *files, size_t count)
{
    struct one one = { begin_of(window, &now->files[files[0]]), 1, files };
    while (one.count < count && begin_of(window, &now->files[files[one.count]]) == one.begin)
        one.count++;
    return one;
}

/* What is due in it; it is the newest when nothing is above it. */
static bool choose(const struct window *window, const struct compaction_now *now,
                   const struct one *one, struct arena *arena, struct tiered_bucket *out)
{
    if (one->begin >= window->highest)
        return one->count >= window->rules.threshold_min &&
               tiered_choose(&window->rules, now, one->files, one->count, arena, out);
    if (one->count < 2)
        return false;
    out->files = arena_array(arena, size_t, one->count);
    memcpy(out->files, one->files, one->count * sizeof *one->files);
    files_sort(now, out->files, one->count, file_smaller);
    out->count = u64_min(one->count, window->rules.threshold_max);
    return true;
}

/* 1 for what would be merged now, and for more than max_threshold files what would be left. */
static uint64_t due_of(const struct tiered_rules *rules, uint64_t files)
{
    ensure(rules->threshold_max);
    uint64_t rest = files > rules->threshold_max ? files - rules->threshold_max : 0;
    if (rest <= rules->threshold_min)
        return 1;
    return 1 + (rest + rules->threshold_max - 1) / rules->threshold_max;
}

/* ---- picks ---- */

/* The first window in which something is due, into the pick; what is due in all is its priority. */
static void window_merge(const struct window *window, const struct compaction_now *now,
                         const size_t *files, size_t count, struct arena *arena,
                         struct compaction_pick *out)
{
    double due = 0;
    struct one one;
    for (size_t i = 0; i < count; i += one.count) {
        struct tiered_bucket bucket;
        one = one_of(window, now, files + i, count - i);
        if (!choose(window, now, &one, arena, &bucket))
            continue;
        due += (double)due_of(&window->rules, one.count);
        if (out->kind != COMPACTION_NONE)
            continue;
        pick_take(out, arena, bucket.files, bucket.count, 0);
        if (one.begin >= window->highest)
            pick_because(out, "%zu files of like size in the newest window: min_threshold is %llu",
                         bucket.count, (unsigned long long)window->rules.threshold_min);
        else
            pick_because(out, "%zu files in a window that is over", bucket.count);
    }
    out->priority = due;
}

/* The places of the first list, in its order, that are not in the second, which ascends. */
static size_t without(size_t *places, size_t count, const size_t *gone, size_t gone_count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        size_t low = 0, high = gone_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (gone[middle] < places[i])
                low = middle + 1;
            else
                high = middle;
        }
        if (low == gone_count || gone[low] != places[i])
            places[left++] = places[i];
    }
    return left;
}

static size_t look_for_expired(struct window *window, const struct compaction_now *now,
                               struct arena *arena, size_t **out)
{
    *out = arena_array(arena, size_t, now->files_count);
    int64_t looked = window->looked_for_expired; /* later than now: the clock was set back */
    if (looked != INT64_MIN && now->now_seconds >= looked &&
        now->now_seconds - looked <= window->frequency_seconds)
        return 0;
    size_t count = garbage_expired(now, false, *out);
    if (!count)
        window->looked_for_expired = now->now_seconds;
    return count;
}

static void window_pick(struct strategy *strategy, const struct compaction_now *now,
                        struct arena *arena, struct compaction_pick *out)
{
    struct window *window = window_of(strategy);
    size_t *files, *expired, expired_count = look_for_expired(window, now, arena, &expired);
    size_t count = files_free(now, arena, &files);
    count = without(files, count, expired, expired_count);
    see(window, now);
    files_sort(now, files, count, file_newer);
    window_merge(window, now, files, count, arena, out);
    if (out->kind == COMPACTION_NONE && !expired_count && window->takes_tombstones) {
        files_sort(now, files, count, file_smaller);
        tombstones_take(strategy, now, files, count, arena, out);
    }
    pick_take_expired(out, arena, expired, expired_count);
    if (out->kind == COMPACTION_EXPIRED)
        pick_because(out, "%zu files have expired, and nothing that stays is older", expired_count);
}

static bool window_major(struct strategy *strategy, const struct compaction_now *now, bool splits,
                         size_t i, struct arena *arena, struct compaction_pick *out)
{
    size_t *files, count = files_free(now, arena, &files);
    (void)strategy, (void)splits; /* --split-output is SizeTiered's */
    if (i || !count)
        return false;
    pick_take(out, arena, files, count, 0);
    pick_because(out, "everything was asked for: %zu files of all windows into one", count);
    return true;
}

/* One window as it is. */
static void level_of(const struct window *window, const struct compaction_now *now,
                     const struct one *one, struct arena *arena, struct compaction_level *out)
{
    size_t *files = arena_array(arena, size_t, one->count);
    struct one free = { one->begin, 0, files };
    struct tiered_bucket bucket;
    for (size_t i = 0; i < one->count; i++)
        if (file_is_free(&now->files[one->files[i]]))
            files[free.count++] = one->files[i];
    level_fill(now, one->files, one->count, arena, out);
    out->window = one->begin < 0 ? 0 : (uint64_t)one->begin;
    if (free.count && choose(window, now, &free, arena, &bucket))
        out->pending = due_of(&window->rules, free.count);
    else
        out->pending_bytes = 0;
}

static size_t window_levels(struct strategy *strategy, const struct compaction_now *now,
                            struct arena *arena, struct compaction_level **out)
{
    struct window *window = window_of(strategy);
    size_t *files = arena_array(arena, size_t, now->files_count), levels = 0;
    struct one one;
    see(window, now);
    *out = arena_array(arena, struct compaction_level, now->files_count);
    for (size_t i = 0; i < now->files_count; i++)
        files[i] = i;
    files_sort(now, files, now->files_count, file_newer);
    for (size_t i = 0; i < now->files_count; i += one.count) {
        one = one_of(window, now, files + i, now->files_count - i);
        level_of(window, now, &one, arena, &(*out)[levels++]);
    }
    return levels;
}

const struct strategy_kind strategy_window = {
    .make = window_make,
    .release = window_release,
    .pick = window_pick,
    .major = window_major,
    .these = files_asked,
    .levels = window_levels,
};
