/* tiered.c - SizeTieredCompactionStrategy: files of like size become one.
 *
 *     4 4 4 4   16 16 16   64            by size; each file joins the bucket whose average is like
 *     └─────┘   └──────┘   └┘            its own: low * average < size < high * average, or both
 *      a bucket of four: merged          below min_sstable_size
 *
 * Of the buckets with min_threshold files or more the one with the greatest average size is merged,
 * its max_threshold smallest files at most.  (Cassandra first compares how hot the buckets are, by
 * the reads that it counted on each file.  Here no reads are counted, as on its tables without such
 * meters: all are equally cold, and the average decides.)
 *
 * Invariants:
 *     1. Averages are whole bytes, carried on from file to file as Cassandra carries them: a file
 * on the edge joins or does not by the last byte.
 *     2. A file that fits several buckets joins the one with the smallest average; two buckets of
 * one average stay two.  Cassandra leaves the first to the order of a hash table, and loses a
 *        bucket in the second.
 *
 * All files below min_sstable_size (50 MiB) are one bucket, whatever their ratio: small data is
 * rewritten more than by Unified's T4, which sees 4 and 40 as different things.
 *
 * Facts: compaction.md 4, 8 (major compactions).
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/tiered.h"

#include "base/mem.h"
#include "compaction/classic.h"

#include <math.h>

/* --split-output: the last share is the first that is smaller than this. */
enum { SPLIT_BYTES_MIN = 50000000, SPLITS_MAX = 20 };

struct tiered {
    struct strategy strategy;
    struct tiered_rules rules;
};
static struct tiered *tiered_of(struct strategy *strategy)
{
    return owner_of(strategy, struct tiered, strategy);
}

void tiered_rules_of(const struct compaction_params *params, struct tiered_rules *out)
{
    *out = (struct tiered_rules){
        .threshold_min = (uint64_t)compaction_whole(params, "min_threshold", 4),
        .threshold_max = (uint64_t)compaction_whole(params, "max_threshold", 32),
        .low = compaction_number(params, "bucket_low", 0.5),
        .high = compaction_number(params, "bucket_high", 1.5),
        .bytes_min = (uint64_t)compaction_whole(params, "min_sstable_size", 50 << 20),
    };
}

static struct strategy *tiered_make(const struct compaction_params *params,
                                    const struct strategy_scale *scale)
{
    struct tiered *tiered = mem_zalloc(sizeof *tiered);
    (void)scale; /* only Unified builds on flush sizes */
    tiered_rules_of(params, &tiered->rules);
    return &tiered->strategy;
}

static void tiered_release(struct strategy *strategy) { mem_free(tiered_of(strategy)); }

/* ---- buckets ---- */

static bool fits(const struct tiered_rules *rules, uint64_t average, uint64_t bytes)
{
    double mean = (double)average, size = (double)bytes;
    return (mean * rules->low < size && size < mean * rules->high) ||
           (bytes < rules->bytes_min && average < rules->bytes_min);
}

/* The bucket that a file of so many bytes joins; buckets_count: a new one. */
static size_t bucket_for(const struct tiered_rules *rules, const struct tiered_bucket *buckets,
                         size_t buckets_count, uint64_t bytes)
{
    size_t best = buckets_count;
    for (size_t i = 0; i < buckets_count; i++)
        if (fits(rules, buckets[i].average, bytes) &&
            (best == buckets_count || buckets[i].average < buckets[best].average))
            best = i;
    return best;
}

size_t tiered_buckets(const struct tiered_rules *rules, const struct compaction_now *now,
                      const size_t *files, size_t count, struct arena *arena,
                      struct tiered_bucket **out)
{
    size_t *sorted = arena_array(arena, size_t, count), *joined = arena_array(arena, size_t, count);
    struct tiered_bucket *buckets = arena_array(arena, struct tiered_bucket, count);
    size_t buckets_count = 0;
    for (size_t i = 0; i < count; i++)
        sorted[i] = files[i];
    files_sort(now, sorted, count, file_smaller);
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = now->files[sorted[i]].bytes;
        joined[i] = bucket_for(rules, buckets, buckets_count, bytes);
        buckets_count += joined[i] == buckets_count;
        struct tiered_bucket *bucket = &buckets[joined[i]];
        bucket->average = (bucket->average * bucket->count + bytes) / (bucket->count + 1);
        bucket->count++;
    }
    for (size_t i = 0; i < buckets_count; i++) {
        buckets[i].files = arena_array(arena, size_t, buckets[i].count);
        buckets[i].count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct tiered_bucket *bucket = &buckets[joined[i]];
        bucket->files[bucket->count++] = sorted[i];
    }
    *out = buckets;
    return buckets_count;
}

/* The average size of all components of the files that would be merged. */
static uint64_t average_of_all(const struct compaction_now *now, const struct tiered_bucket *bucket)
{
    uint64_t bytes = 0, count = 0;
    do
        bytes += now->files[bucket->files[count++]].all_bytes;
    while (count < bucket->count);
    return bytes / count;
}

bool tiered_choose(const struct tiered_rules *rules, const struct compaction_now *now,
                   const size_t *files, size_t count, struct arena *arena,
                   struct tiered_bucket *out)
{
    struct tiered_bucket *buckets;
    size_t buckets_count = tiered_buckets(rules, now, files, count, arena, &buckets);
    *out = (struct tiered_bucket){ 0 };
    for (size_t i = 0; i < buckets_count; i++) {
        struct tiered_bucket *bucket = &buckets[i];
        if (bucket->count < rules->threshold_min)
            continue;
        bucket->count = u64_min(bucket->count, rules->threshold_max);
        if (!out->count || average_of_all(now, bucket) > average_of_all(now, out))
            *out = *bucket;
    }
    return out->count;
}

/* ---- picks ---- */

static uint64_t due_of(const struct tiered_rules *rules, uint64_t files)
{
    uint64_t most = rules->threshold_max;
    ensure(most);
    return files < rules->threshold_min ? 0 : (files + most - 1) / most;
}

static void tiered_pick(struct strategy *strategy, const struct compaction_now *now,
                        struct arena *arena, struct compaction_pick *out)
{
    const struct tiered_rules *rules = &tiered_of(strategy)->rules;
    size_t *files, count = files_free(now, arena, &files);
    struct tiered_bucket bucket, *buckets;
    char text[SIZE_TEXT_BYTES];
    if (!tiered_choose(rules, now, files, count, arena, &bucket)) {
        files_sort(now, files, count, file_larger);
        tombstones_take(strategy, now, files, count, arena, out);
        return;
    }
    pick_take(out, arena, bucket.files, bucket.count, 0);
    size_t buckets_count = tiered_buckets(rules, now, files, count, arena, &buckets);
    for (size_t i = 0; i < buckets_count; i++)
        out->priority += (double)due_of(rules, buckets[i].count);
    pick_because(out, "%zu files of like size (%s on average) are enough: min_threshold is %llu",
                 bucket.count, size_text((double)bucket.average, text),
                 (unsigned long long)rules->threshold_min);
}

/* 1/2 of all, 1/4, 1/8, ... to the first share that is small; the last takes what is left. */
static void split(struct compaction_pick *pick, struct arena *arena, uint64_t total)
{
    double share = (double)total;
    pick->outputs = arena_array(arena, struct compact_output, SPLITS_MAX);
    pick->outputs_count = 0;
    do {
        share /= 2;
        pick->outputs[pick->outputs_count++].bytes = (uint64_t)llround(share);
    } while (share >= SPLIT_BYTES_MIN && pick->outputs_count < SPLITS_MAX);
    pick->outputs[pick->outputs_count - 1].bytes = UINT64_MAX;
}

static bool tiered_major(struct strategy *strategy, const struct compaction_now *now, bool splits,
                         size_t i, struct arena *arena, struct compaction_pick *out)
{
    size_t *files, count = files_free(now, arena, &files);
    (void)strategy;
    if (i || !count)
        return false;
    pick_take(out, arena, files, count, 0);
    if (splits)
        split(out, arena, files_bytes(now, files, count));
    pick_because(out, "everything was asked for: %zu files into %s", count,
                 splits ? "halves" : "one");
    return true;
}

static size_t tiered_levels(struct strategy *strategy, const struct compaction_now *now,
                            struct arena *arena, struct compaction_level **out)
{
    const struct tiered_rules *rules = &tiered_of(strategy)->rules;
    struct tiered_bucket *buckets;
    size_t *files = arena_array(arena, size_t, now->files_count);
    for (size_t i = 0; i < now->files_count; i++)
        files[i] = i;
    size_t count = tiered_buckets(rules, now, files, now->files_count, arena, &buckets);
    *out = arena_array(arena, struct compaction_level, count);
    for (size_t i = 0; i < count; i++) {
        struct compaction_level *level = &(*out)[i];
        size_t free = level_fill(now, buckets[i].files, buckets[i].count, arena, level);
        level->pending = due_of(rules, free);
        level->pending_bytes = level->pending ? level->pending_bytes : 0;
    }
    return count;
}

const struct strategy_kind strategy_tiered = {
    .make = tiered_make,
    .release = tiered_release,
    .pick = tiered_pick,
    .major = tiered_major,
    .these = files_asked,
    .levels = tiered_levels,
};
