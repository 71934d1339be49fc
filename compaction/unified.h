/* unified.h - UnifiedCompactionStrategy: files fall into levels by density, a level is merged when
 * enough of its files lie over one key, and one parameter a level says how many are enough.
 *
 *     unified_options.c   what the table's options mean; the scaling parameter W
 *     unified_levels.c    density, bounds of levels, the flush size that they are built on
 *     unified_slices.c    into how many slices output is cut, and where
 *     unified_choice.c    which level, which bucket, how many of its files
 *     unified.c           the strategy: picks, major compactions, what is due
 *
 * Pure; inside of compaction/.  Source: compaction.md 1 to 3.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/overlap.h"
#include "compaction/strategy_inside.h"

struct unified_options {
    size_t scaling_count;              /* 1 or more */
    int32_t *scaling;                  /* W of each level; the last: of all further ones */
    double target_bytes;               /* of an output file */
    double least_bytes;                /* ... below this it is not cut for the base count */
    double growth;                     /* 0: more slices, 1: larger ones */
    uint32_t base_slices;              /* 1 or more */
    double flush_bytes;                /* said by the user; 0: as it is seen */
    uint64_t most_files;               /* over one key, in one compaction; UINT64_MAX */
    int64_t expired_seconds;           /* from one look for expired files to the next */
    enum overlap_inclusion inclusion;  /* of neighbours */
    uint64_t floor_bytes, round_bytes; /* strategy_scale */
};
struct unified {
    struct strategy head;
    struct unified_options options;
    double flush_bytes; /* that levels are built on; 0: none was seen yet */
    bool has_looked;    /* for expired files, at `looked_seconds` */
    int64_t looked_seconds;
};

/* ---- unified_options.c ---- */
void unified_options_read(const struct compaction_params *, const struct strategy_scale *,
                          struct unified_options *out);
void unified_options_deinit(struct unified_options *);
int32_t unified_scaling(const struct unified_options *, size_t level);
uint64_t unified_fanout(const struct unified_options *, size_t level);
uint64_t unified_threshold(const struct unified_options *, size_t level); /* that many over a key */
/* W as it is written: "T4", "N", "L10". */
enum { UNIFIED_SETTING_BYTES = 16 };
const char *unified_setting(int32_t scaling, char out[UNIFIED_SETTING_BYTES]);

/* ---- unified_levels.c ---- */
struct unified_level {
    double low, high; /* low <= density < high, in bytes */
    size_t count;
    size_t *files; /* places */
};
/* The files at these places, each in its level; as many levels as have files, and empty ones below
 * them.  In the arena. */
size_t unified_levels(struct unified *, const struct compaction_now *, const size_t *places,
                      size_t count, struct arena *, struct unified_level **out);
size_t unified_level_of(struct unified *, const struct local_ranges *, double density);
double unified_density(const struct local_ranges *, const struct compaction_file *);

/* ---- unified_slices.c ---- */
/* For so many bytes as if they filled all that is local; NaN: nobody knows. */
uint64_t unified_slices(const struct unified_options *, double bytes);
/* The slices' ends that cut what lies from first to last, both included: ascending, in the arena.
 */
size_t unified_cuts(const struct local_ranges *, uint64_t slices, int64_t first, int64_t last,
                    struct arena *, int64_t **out);

/* ---- unified_choice.c ---- */
struct unified_choice {
    size_t level;
    size_t overlap;   /* files over one key in the bucket */
    size_t count;     /* 0: nothing is due */
    size_t *files;    /* places */
    bool is_part;     /* the oldest of the bucket alone */
    uint64_t pending; /* compactions that are due on all levels */
};
void unified_choose(struct unified *, const struct compaction_now *, const size_t *places,
                    size_t count, struct arena *, struct unified_choice *out);
/* Of a bucket with so many files over one key, how many of each key's are taken at most. */
size_t unified_limit(const struct unified_options *, size_t level, size_t overlap);
/* What is due among a level's free files. */
struct unified_due {
    uint64_t compactions, bytes;
};
void unified_due(const struct unified_options *, const struct compaction_now *, size_t level,
                 const struct overlaps *, struct arena *, struct unified_due *out);
