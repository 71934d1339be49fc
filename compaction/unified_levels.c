/* unified_levels.c - the density of files, and the levels that it puts them in.
 *
 *     density = stored bytes / share of the ring that the file covers
 *
 *     0 ──── level 0 ────┬──────── level 1 ────────┬──────── level 2 ...
 *                      high[0]                 high[1] = high[0] * fan factor of level 1
 *
 *     high[0] = flush size / local coverage * (fan factor - 0.9)
 *
 * so that as many flushes as the fan factor, merged, are dense enough for the next level even when
 * they came out a little short.  Nothing of a level is stored: it follows from sizes and settings,
 * and so ALTER TABLE moves files without writing them.
 *
 * The flush size is an average that moves slowly, and what is used of it stays until it is wrong by
 * half: else bounds would creep, and files that were done with would fall back.  (Cassandra forgets
 * it at a restart, when every bound shrinks to a flush of 1 MiB for a while; here the caller keeps
 * it: strategy_set_flush_average.)  Facts: compaction.md 1.2 to 1.4.
 */
// SPDX-License-Identifier: Apache-2.0
#include "compaction/unified.h"

#include <math.h>

#define LEEWAY 0.9
enum { LEVELS_MAX = 256 }; /* bounds at least double, from above 1 to below 2^112: density's */

double unified_density(const struct local_ranges *local, const struct compaction_file *file)
{
    double coverage =
        file->coverage > 0 ? file->coverage : local_coverage(local, file->first, file->last);
    return (double)file->bytes / coverage;
}

static double flush_bytes(struct unified *unified)
{
    const struct unified_options *options = &unified->options;
    double average = unified->head.flush_average;
    if (options->flush_bytes > 0)
        return options->flush_bytes;
    bool is_seen = average > 0; /* not NaN */
    if (is_seen && (!(unified->flush_bytes > 0) || fabs(1 - unified->flush_bytes / average) > 0.5))
        unified->flush_bytes =
            ceil(average / (double)options->round_bytes) * (double)options->round_bytes;
    return unified->flush_bytes;
}

/* The upper bound of level 0. */
static double first_bound(struct unified *unified, const struct local_ranges *local)
{
    double fanout = (double)unified_fanout(&unified->options, 0);
    double flush = fmax((double)unified->options.floor_bytes, flush_bytes(unified));
    return floor(flush * (1 - LEEWAY / fanout) / local->coverage * fanout);
}

static double next_bound(const struct unified *unified, double bound, size_t level)
{
    return bound * (double)unified_fanout(&unified->options, level);
}

size_t unified_level_of(struct unified *unified, const struct local_ranges *local, double density)
{
    size_t level = 0;
    double high = first_bound(unified, local);
    while (density >= high && level + 1 < LEVELS_MAX)
        high = next_bound(unified, high, ++level);
    return level;
}

size_t unified_levels(struct unified *unified, const struct compaction_now *now,
                      const size_t *places, size_t count, struct arena *arena,
                      struct unified_level **out)
{
    size_t levels = 0, *level_of = arena_array(arena, size_t, count);
    for (size_t i = 0; i < count; i++) {
        double density = unified_density(now->local, &now->files[places[i]]);
        level_of[i] = unified_level_of(unified, now->local, density);
        levels = level_of[i] + 1 > levels ? level_of[i] + 1 : levels;
    }
    struct unified_level *level = *out = arena_array(arena, struct unified_level, levels);
    double high = first_bound(unified, now->local);
    for (size_t i = 0; i < levels; i++) {
        level[i].low = i ? level[i - 1].high : 0;
        level[i].high = i ? next_bound(unified, level[i].low, i) : high;
    }
    for (size_t i = 0; i < count; i++)
        level[level_of[i]].count++;
    for (size_t i = 0; i < levels; i++) {
        level[i].files = arena_array(arena, size_t, level[i].count);
        level[i].count = 0;
    }
    for (size_t i = 0; i < count; i++)
        level[level_of[i]].files[level[level_of[i]].count++] = places[i];
    return levels;
}
