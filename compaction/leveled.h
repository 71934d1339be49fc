/* leveled.h - Leveled: from level 1 on the files of a level never share a key, and each level is
 * `fanout` times the one above it.
 *
 *     leveled_view.c     which file counts as of which level
 *     leveled_choice.c   what is due: a level, and files of it and of the next
 *     leveled.c          the strategy: picks, what it remembers, major compactions, what is due
 *
 * Pure; inside of compaction/.  Source: compaction.md 5.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/classic.h"
#include "compaction/tiered.h"

enum { LEVELED_LEVELS = 9 }; /* 0 .. 8 */
#define LEVELED_FULL 1.001   /* of its target: a level gives files away above this */
struct leveled {
    struct strategy strategy;
    struct tiered_rules tiered; /* in a crowded level 0; threshold_max: of all compactions of it */
    uint64_t bytes;             /* of an output */
    uint64_t fanout;
    bool moves_single; /* single_sstable_uplevel */
    /* What is remembered of each level: where its last compaction ended, */
    bool has_last[LEVELED_LEVELS];
    int64_t last[LEVELED_LEVELS];
    /* and compactions of level 1 or more since it was written to. */
    unsigned waited[LEVELED_LEVELS];
};
double leveled_target(const struct leveled *, unsigned level); /* bytes */

/* ---- leveled_view.c ---- */
struct leveled_set {
    size_t count;
    size_t *files; /* places, by first key */
};
struct leveled_view {
    const struct compaction_now *now;
    unsigned *levels; /* of each file, as it counts */
    struct leveled_set of[LEVELED_LEVELS];
};
void leveled_view_make(const struct compaction_now *, struct arena *, struct leveled_view *out);

/* ---- leveled_choice.c ---- */
struct leveled_choice {
    size_t count; /* 0: nothing is due */
    size_t *files;
    unsigned from, to; /* levels */
    bool is_tiered;    /* in a crowded level 0: one output */
    size_t starved;    /* place of a file that was added from a far level; SIZE_MAX: none */
};
void leveled_choose(const struct leveled *, const struct leveled_view *, struct arena *,
                    struct leveled_choice *out);
/* From the first token of these files to the last, as if they were one. */
struct compaction_file leveled_span(const struct compaction_now *, const size_t *files,
                                    size_t count);
