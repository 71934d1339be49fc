/* tiered.h - SizeTiered: files of like size become one.  The same choice is made by Leveled in a
 * crowded level 0 and by TimeWindow in its newest window.  Inside of compaction/.
 *
 * Source: compaction.md 4.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/strategy_inside.h"

struct tiered_rules {
    uint64_t threshold_min, threshold_max; /* files */
    double low, high;                      /* of a bucket's average size */
    uint64_t bytes_min;                    /* files below it are all alike */
};
void tiered_rules_of(const struct compaction_params *, struct tiered_rules *out);

struct tiered_bucket {
    uint64_t average; /* stored bytes */
    size_t count;
    size_t *files; /* places, the smallest file first */
};
/* Of these files; by their smallest ones, in the arena. */
size_t tiered_buckets(const struct tiered_rules *, const struct compaction_now *,
                      const size_t *files, size_t count, struct arena *,
                      struct tiered_bucket **out);
/* The bucket that is to be merged, cut to threshold_max files; false: none is full enough. */
bool tiered_choose(const struct tiered_rules *, const struct compaction_now *, const size_t *files,
                   size_t count, struct arena *, struct tiered_bucket *out);
