/* strategy.h - descriptions of files in, a pick out: the four strategies behind one door.
 *
 *     strategy_new(params) ──> strategy_pick(files, now) ──> pick: files, outputs, a reason
 *                              strategy_pending(files)   ──> per level: files, bytes, bounds, due
 *
 * Pure: no clock, no chance but what the caller hands in, no files.  A strategy object holds what
 * outlives one pick: parsed options, the tracked flush size, TimeWindow's highest window, Leveled's
 * pointers, when expired files were last looked for.  The caller keeps files of different repair
 * states apart (strategy_group) and asks for each group by itself.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/prng.h"
#include "compaction/local.h"
#include "model/model.h"
#include "sstable/sstable.h"
#include "store/store.h"

struct compaction_file {
    uint64_t id;                      /* generation: ties are broken by it, the smaller first */
    int64_t first, last;              /* tokens, both included */
    struct bytes first_key, last_key; /* tell files apart that meet in one token; may be empty */
    uint64_t bytes;                   /* of Data.db as it is stored: every size here means this */
    uint64_t all_bytes;               /* of all components */
    double coverage;                  /* as Statistics.db has it; NaN or 0: to be computed */
    int64_t timestamp_min, timestamp_max;
    uint32_t seconds_max; /* the last local deletion time; UINT32_MAX: live cells */
    uint32_t level;       /* Leveled */
    int64_t created_seconds;
    uint64_t partitions;                 /* estimated */
    double cells_a_partition;            /* mean */
    const struct drop_times *drop_times; /* NULL: none */
    bool is_busy;                        /* an input of something that runs */
    bool is_suspect; /* set aside as damaged: no strategy takes it, all count it */
    bool is_shared;  /* other shards read it too: as suspect */
    void *context;   /* the caller's */
};
/* Files that may be merged with one another: unrepaired; repaired; each pending session. */
struct compaction_group {
    bool is_repaired;
    struct uuid pending; /* zero: none */
};

struct compaction_now {
    const struct compaction_file *files; /* of the group */
    size_t files_count;
    const struct compaction_file *others; /* live files of other groups: they may hold older data */
    size_t others_count;
    int64_t memtables_timestamp_min; /* INT64_MAX: memtables are empty */
    const struct local_ranges *local;
    int64_t now_seconds, gc_before; /* Unix */
    bool purges_nothing; /* the group is unrepaired and the table only_purge_repaired_tombstones */
    struct prng *chance; /* among equals */
};

enum compaction_kind {
    COMPACTION_NONE,
    COMPACTION_MERGE,
    COMPACTION_TOMBSTONES, /* one file by itself, for what can be purged in it */
    COMPACTION_EXPIRED,    /* nothing to read: all inputs go */
    COMPACTION_RELEVEL,    /* one file, nothing to read: its level alone changes */
};
enum { COMPACTION_REASON_BYTES = 240 };
struct compaction_pick {
    enum compaction_kind kind;
    size_t count;
    size_t *files; /* places in `files`, ascending; those that are read */
    size_t expired_count;
    size_t *expired; /* ... and those that go unread */
    int level;       /* that they were taken from; -1: of none */
    int64_t last;    /* Leveled: the last token of all that is read; it goes on behind it */
    size_t cuts_count;
    int64_t *cuts; /* a file ends at each of these tokens (Unified) */
    size_t outputs_count;
    struct compact_output *outputs; /* never none for kinds that write */
    double priority;                /* among tables and groups: how much is due */
    char
        reason[COMPACTION_REASON_BYTES]; /* a sentence: "level 0 has 4 overlapping files, T4 ..." */
};

struct strategy;
/* The texts in `params` were validated (model/params.h).  The seams below are for sweeps that scale
 * everything down (config/sweeps/small.yaml); zeroed: as Cassandra has it. */
struct strategy_scale {
    uint64_t flush_floor_bytes; /* 0: 1 MiB: the least flush size that levels are built on */
    uint64_t flush_round_bytes; /* 0: 1 MiB: it is rounded up to a multiple of this */
};
struct strategy *strategy_new(const struct compaction_params *, const struct strategy_scale *);
void strategy_free(struct strategy **);
enum compaction_class strategy_class(const struct strategy *);
/* The next thing to do; kind NONE when there is none.  In the arena. */
void strategy_pick(struct strategy *, const struct compaction_now *, struct arena *,
                   struct compaction_pick *out);
/* It has been done; for strategies that remember where they were. */
void strategy_done(struct strategy *, const struct compaction_pick *);
/* Everything at once (`compact`): one or several picks, of which the i-th is wanted; false: there
 * are not so many.  `splits`: --split-output, for SizeTiered. */
bool strategy_major(struct strategy *, const struct compaction_now *, bool splits, size_t i,
                    struct arena *, struct compaction_pick *out);
/* These files, as the user says (--user-defined). */
void strategy_these(struct strategy *, const struct compaction_now *, const size_t *files,
                    size_t count, struct arena *, struct compaction_pick *out);
/* For lack of space: the pick without one of the files that it reads, the largest that may stay out
 * (Leveled: of level 0, of an output level of 1 at most); false: it cannot be smaller, and is as it
 * was.  Not for what a user named.  In the arena. */
bool strategy_reduce(struct strategy *, const struct compaction_now *, struct arena *,
                     struct compaction_pick *);
/* A flush wrote so much, all its files together (Unified's moving average, which the caller keeps
 * over restarts); NaN: none yet. */
void strategy_flushed(struct strategy *, uint64_t bytes);
double strategy_flush_average(const struct strategy *);
void strategy_set_flush_average(struct strategy *, double bytes);
/* Where the next flush of a table is cut; count 0: one file. */
size_t strategy_flush_cuts(struct strategy *, const struct local_ranges *, struct arena *,
                           const int64_t **out);

struct compaction_level {
    double low, high; /* Unified: density in bytes; Leveled: high is the target; else 0 */
    uint64_t window;  /* TimeWindow: where it begins, Unix seconds */
    size_t files;
    uint64_t bytes;
    size_t overlap;         /* the most files over one key */
    uint64_t pending;       /* compactions that are due, as Cassandra estimates */
    uint64_t pending_bytes; /* ... of so many input bytes */
    char setting[16];       /* Unified: "T4"; else "" */
};
/* Levels, buckets or windows as they are, with what is due; in the arena.  The sum of `pending` is
 * what compactionstats calls pending tasks. */
size_t strategy_levels(struct strategy *, const struct compaction_now *, struct arena *,
                       struct compaction_level **out);
