/* unified_choice.c - which level is merged next, which bucket of it, and how many of its files.
 *
 *     level with the most files over one key, of those that have enough  (the lower one of equals)
 *       └─ bucket with as many  (by chance among equals)
 *            └─ all of it; or the oldest, when there are more than one compaction should take
 *
 * Facts: compaction.md 1.6 to 1.8, 1.10.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/unified.h"

/* Late by more than a level: as many as make up whole levels at once, so that each row is written
 * once for several levels. */
static size_t limit_over_levels(const struct unified_options *options, size_t level, uint64_t most)
{
    uint64_t step = unified_fanout(options, level), taken;
    do {
        taken = step;
        step *= unified_fanout(options, ++level);
    } while (step <= most);
    return taken;
}

size_t unified_limit(const struct unified_options *options, size_t level, size_t overlap)
{
    uint64_t fanout = unified_fanout(options, level);
    uint64_t most = u64_max(fanout, options->most_files);
    if (overlap <= fanout * unified_fanout(options, level + 1))
        return most;
    most = u64_min(most, overlap);
    uint64_t taken = limit_over_levels(options, level, most);
    return unified_scaling(options, level) < 0 ? taken * (most / taken) : taken;
}

void unified_due(const struct unified_options *options, const struct compaction_now *now,
                 size_t level, const struct overlaps *overlaps, struct arena *arena,
                 struct unified_due *out)
{
    struct overlap_bucket *buckets;
    uint64_t threshold = unified_threshold(options, level);
    size_t count = overlaps_buckets(overlaps, threshold, options->inclusion, arena, &buckets);
    *out = (struct unified_due){ 0 };
    for (size_t i = 0; i < count; i++)
        out->compactions += buckets[i].overlap / threshold;
    for (size_t i = 0, at = 0; i < overlaps->count; i++) {
        while (at < count && buckets[at].last < overlaps->from[i]) /* both ascend */
            at++;
        if (at < count && buckets[at].first <= overlaps->to[i])
            out->bytes += now->files[overlaps->files[i]].bytes;
    }
}

/* Of buckets with as many files over one key as the level has anywhere, one by chance. */
static struct overlap_bucket bucket_of(const struct unified *unified,
                                       const struct compaction_now *now, size_t level,
                                       const struct overlaps *overlaps, struct arena *arena)
{
    const struct unified_options *options = &unified->options;
    struct overlap_bucket *buckets, chosen = { 0 };
    size_t count = overlaps_buckets(overlaps, unified_threshold(options, level), options->inclusion,
                                    arena, &buckets);
    uint64_t equals = 0;
    for (size_t i = 0; i < count; i++) {
        if (buckets[i].overlap < overlaps->most)
            continue;
        equals++;
        if (equals == 1 || prng_below(now->chance, equals) == 0)
            chosen = buckets[i];
    }
    ensure(equals);
    return chosen;
}

void unified_choose(struct unified *unified, const struct compaction_now *now, const size_t *places,
                    size_t count, struct arena *arena, struct unified_choice *out)
{
    const struct unified_options *options = &unified->options;
    struct overlaps best = { 0 };
    struct unified_level *levels;
    size_t levels_count = unified_levels(unified, now, places, count, arena, &levels);
    *out = (struct unified_choice){ 0 };
    for (size_t i = 0; i < levels_count; i++) {
        struct overlaps overlaps;
        struct unified_due due;
        overlaps_make(now->files, levels[i].files, levels[i].count, arena, &overlaps);
        unified_due(options, now, i, &overlaps, arena, &due);
        out->pending += due.compactions;
        /* A level that is not due does not compete.  In Cassandra it does, and when it wins nothing
         * is done: under "T10, L4" eight files in level 0 keep two in level 1 waiting for ever. */
        if (overlaps.most >= unified_threshold(options, i) && overlaps.most > best.most) {
            best = overlaps;
            out->level = i;
        }
    }
    if (!best.most)
        return;
    struct overlap_bucket bucket = bucket_of(unified, now, out->level, &best, arena);
    size_t limit = unified_limit(options, out->level, bucket.overlap);
    out->overlap = bucket.overlap;
    out->is_part = limit < bucket.overlap;
    out->count = out->is_part
                     ? overlaps_oldest(&best, &bucket, now->files, limit, arena, &out->files)
                     : overlaps_members(&best, &bucket, arena, &out->files);
}
