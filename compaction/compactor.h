/* compactor.h - one shard's compactions: what is due, what runs, how fast, what has been done.
 *
 *     changed (flush, import, end of a compaction, ALTER, a timer)
 *        └──> look: every table, every group ──> the most urgent pick ──> store_compact ──> history
 *                                                   up to `at_once`        └─ paced by throughput
 *
 * It holds no file itself.  Candidates and what is busy come from one look within one turn.  Its
 * durable notes (averages of flush sizes, history) are a journal in its own folder.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compaction/forecast.h"
#include "io/io.h"
#include "store/store.h"

struct compactor;
struct compactor_options {
    struct store *store;
    const struct catalog *catalog;
    const char *folder;        /* of its notes; made when missing; NULL: none are kept */
    unsigned at_once;          /* compactions of this shard, 1 or more */
    uint64_t bytes_per_second; /* read, stored bytes, this shard's share; 0: not limited */
    uint64_t memtable_bytes;   /* this shard's, to judge debt by */
    uint64_t memory_bytes;     /* for buffers: an input takes 640 KiB; 0: not limited */
    struct strategy_scale scale;
    /* The token ranges of the table on this shard, as they are now; `version` changes with them. */
    void (*ranges)(void *context, const struct table *, struct arena *, struct local_ranges *out);
    uint64_t (*ranges_version)(void *context);
    void *context;
};
/* Sets itself as the store's policy, and works from then on. */
void compactor_open(struct io *, struct io_req *, struct op *, const struct compactor_options *,
                    struct compactor **out, struct report *failed);
/* Stops what runs and what was asked, waits for it, unsets the policy; *compactor becomes NULL at
 * once. */
void compactor_close(struct compactor **, struct io_req *, struct op *);
/* ALTER, CREATE, DROP: what has changed for its tables counts from the next pick on. */
void compactor_catalog_changed(struct compactor *);

/* ---- what a person asks; all complete when it is done ---- */
struct compact_ask {
    struct uuid table;
    bool splits;           /* --split-output */
    const uint64_t *files; /* generations, for --user-defined; NULL: everything */
    size_t files_count;
    bool is_range; /* only files that touch first .. last, both included */
    int64_t first, last;
};
/* What runs on the table in the background is stopped first; then picks one after the other, each
 * at once where it may.  Progress is in compactor_running.  ERR_NOT_FOUND (table, a file),
 * ERR_STOPPED, ERR_NO_SPACE, ERR_INVALID: the report says it in words. */
void compactor_compact(struct compactor *, struct io_req *, struct op *, const struct compact_ask *,
                       struct report *failed);
/* Stops those that run (of one table, or NULL: all; of one id, or 0) and completes when they have
 * ended: within a second.  *stopped: how many. */
void compactor_stop(struct compactor *, struct io_req *, struct op *, const struct uuid *table,
                    uint64_t id, unsigned *stopped);
/* autocompaction: until the next start; beside the table's own `enabled`.  NULL: all tables. */
void compactor_enable(struct compactor *, const struct uuid *table, bool is_on);
bool compactor_is_enabled(const struct compactor *, const struct uuid *table);
void compactor_set_throughput(struct compactor *, uint64_t bytes_per_second);
void compactor_set_at_once(struct compactor *, unsigned at_once);
/* Completes when nothing is due and nothing runs; looks at once. */
void compactor_settle(struct compactor *, struct io_req *, struct op *);

/* ---- what is seen; everything in the arena ---- */
struct compaction_running {
    uint64_t id;      /* from 1, on this shard */
    struct uuid task; /* version 1, of when it began; its id in the history too */
    struct uuid table;
    enum compaction_kind kind;
    bool is_asked;                    /* by a person */
    uint64_t done_bytes, total_bytes; /* plain */
    uint64_t input_bytes, written_bytes;
    size_t inputs;
    uint64_t began_ns;       /* io_now */
    double bytes_per_second; /* plain, of late */
    int64_t eta_seconds;     /* -1: not known yet */
    int64_t token;
    const char *reason;
};
size_t compactor_running(const struct compactor *, struct arena *, struct compaction_running **out);
struct compaction_due { /* one for each table and group that has files */
    struct uuid table;
    struct compaction_group group;
    size_t levels_count;
    struct compaction_level *levels;
    uint64_t pending, pending_bytes;
    enum compaction_kind next; /* what would be picked now */
    const char *reason;        /* of the pick; or why there is none ("disabled", "no space: ...") */
};
size_t compactor_due(struct compactor *, const struct uuid *table, struct arena *,
                     struct compaction_due **out);
struct compaction_past {
    struct uuid id;
    const char *keyspace, *table;
    int64_t ended_ms;                      /* Unix */
    uint64_t took_ms, bytes_in, bytes_out; /* stored bytes of Data.db */
    uint64_t merged[COMPACT_MERGED_MAX];
    enum compaction_class strategy;
    int level;
    const char *reason;
};
size_t compactor_history(const struct compactor *, struct arena *, struct compaction_past **out);
struct compactor_counts {
    uint64_t completed, failed, stopped, refused_for_space;
    uint64_t reduced; /* those that inputs were left out of, for lack of space or memory */
    uint64_t bytes_in, bytes_out, purged;
    uint64_t pending, pending_bytes, running;
    uint64_t slices, slices_over, slice_ns_max;
    uint64_t slow_ns_a_kib;    /* how much writers are slowed now */
    uint64_t bytes_per_second; /* as set: of this shard; 0: not limited */
    unsigned at_once;
};
void compactor_counts(const struct compactor *, struct compactor_counts *out);
/* Bytes that compactions of the table have written since the start; for sweeps. */
uint64_t compactor_written(const struct compactor *, const struct uuid *table);
/* What another setting would do next with the files that there are, and cost in all, beside what
 * the table's own would: once what is due is done (`settled`), and while as much again is written,
 * in so many `flushes` of `flush_bytes` each (`later`: written_bytes and flushed_bytes of this time
 * alone; files_a_key the mean over it). */
struct option;
struct compaction_cost {
    struct forecast_figures settled, later;
};
struct compaction_plan {
    struct forecast_figures now; /* the files as they are */
    struct compaction_cost own, other;
    uint64_t flushes, flush_bytes;
    size_t steps_count;
    const char **steps; /* sentences: what the other would do, in order */
};
/* A worker foresees it, since many files take their time: of the compactor nothing is needed
 * meanwhile, and no file is held.  ERR_NOT_FOUND; ERR_CONFIG: the option is wrong, as ALTER TABLE
 * would say it.  Everything given stays until completion, the arena untouched. */
struct compaction_plan_options {
    struct uuid table;
    const struct option *with;
    struct arena *arena;
};
void compactor_plan(struct compactor *, struct io_req *, struct op *,
                    const struct compaction_plan_options *, struct compaction_plan *out,
                    struct report *);
/* Why the file is still here: sentences.  ERR_NOT_FOUND: the table, or the file on this shard. */
struct compaction_why {
    size_t count;
    const char **sentences;
};
enum err compactor_why(struct compactor *, const struct uuid *table, uint64_t generation,
                       struct arena *, struct compaction_why *out, struct report *);
