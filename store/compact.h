/* compact.h - some files of a table become others, by one swap; and what a policy knows of files.
 *
 *     inputs ──merged, what may go is left out──> outputs (.tmp) ──one swap──> the table's
 *
 * Part of the facade of store/ (store.h).  Which files, where outputs are cut and how fast: that is
 * said by who calls (compaction/); here it is done, in slices of time between requests.  Inputs
 * belong to this shard alone: a file that others read too is first taken apart (store_import with
 * is_moved).  A crash leaves the inputs or the outputs.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"
#include "sstable/sstable.h"

struct store;

/* ---- what there is ---- */
struct store_file {
    struct sstable_name name;
    bool is_shared;                              /* other shards may read it too */
    bool is_busy;                                /* an input of a compaction under way */
    const char *damage;                          /* why it is set aside; NULL: it is not */
    uint64_t data_bytes, plain_bytes, all_bytes; /* of Data.db: stored, and plain; everything */
    uint64_t partitions;                         /* about */
    int64_t first_token, last_token;             /* both included */
    struct bytes first_key, last_key;
    int64_t created_seconds; /* Unix: when Data.db was written */
    const struct statistics *statistics;
};
/* The table's files on this shard, in the arena, which also holds them in place (drop it soon: they
 * keep their space on disk until store_files_done). 0: none. */
struct store_file_list {
    size_t count;
    struct store_file *files;
    void *view; /* held */
};
void store_list_files(const struct store *, const struct uuid *table, struct arena *,
                      struct store_file_list *out);
void store_files_done(struct store_file_list *);
/* The oldest timestamp in any memtable of the table; INT64_MAX: they have none. */
int64_t store_memtables_timestamp_min(const struct store *, const struct uuid *table);

/* ---- compaction ---- */
/* Output i is of outputs[min(i, count - 1)]: it ends with the partition that passes `bytes`
 * (stored; UINT64_MAX: never), and is of that level. */
struct compact_output {
    uint64_t bytes;
    uint32_t level;
};
struct compact_options {
    struct uuid table;
    const uint64_t *inputs; /* generations; merged */
    size_t inputs_count;
    const uint64_t *expired; /* go with them, unread */
    size_t expired_count;
    const int64_t *cuts; /* an output ends with the last partition at or before each */
    size_t cuts_count;
    const struct compact_output *outputs; /* at least one */
    size_t outputs_count;
    bool is_relevel; /* the one input gets the level of outputs[0] and is not read */
    bool purges;     /* else only what is shadowed goes */
    int64_t now_seconds, gc_before;
    uint64_t space_bytes; /* that it may write; ERR_NO_SPACE when the disk has less free beside its
                             reserve than this and the same of the others under way; 0: not asked */
    /* After so many more stored bytes were read: ns until it may go on; asked again then, of 0
     * bytes, until it says 0.  NULL: as fast as it can. */
    uint64_t (*pace)(void *context, uint64_t bytes);
    void *context;
};
enum { COMPACT_MERGED_MAX = 64 };
struct compact_result {                  /* also while it runs */
    uint64_t read_bytes, total_bytes;    /* plain bytes of the inputs: done, in all */
    uint64_t input_bytes;                /* stored bytes of the inputs, expired ones not counted */
    uint64_t written_bytes;              /* of Data.db of the outputs, stored */
    uint64_t written_all_bytes;          /* of all components */
    uint64_t partitions, rows;           /* written */
    uint64_t merged[COMPACT_MERGED_MAX]; /* [n]: partitions that n inputs had (the last: or more) */
    uint64_t purged;                     /* deletions and expired cells that are in no output */
    int64_t token;                       /* where it stands */
    uint64_t slices, slices_over;        /* of time; of them longer than twice what they may take */
    uint64_t slice_ns_max;
    size_t files_count;
    const uint64_t *files; /* generations; once it has ended; in the arena */
};
/* In the background, a child of `op`: stopping that ends it at its next slice, with ERR_STOPPED,
 * and nothing has changed; once its swap has begun it ends well.  OK: reads see the outputs, and
 * the inputs go when nobody looks at them any more.  ERR_NOT_FOUND: the table, or an input, has
 * gone or is busy; ERR_CORRUPT: an input is damaged (it has been set aside); ERR_NO_SPACE; ERR_IO.
 * The report says what and where.  While the table is held (store_hold) it does not begin, and
 * while it is held or pinned (store_pin) its swap waits; TRUNCATE and DROP stop it.  Everything
 * given stays until completion. */
void store_compact(struct store *, struct io_req *, struct op *, const struct compact_options *,
                   struct arena *, struct compact_result *, struct report *failed);
/* A file that several shards read has been taken apart (its pieces are adopted): this shard reads
 * it no more. */
void store_forget_file(struct store *, const struct uuid *table, const struct sstable_name *);

/* ---- what decides, from above ---- */
struct table;
struct store_policy {
    void *context;
    /* Where the next flush of the table is cut: tokens, ascending, in the arena; 0: not at all. */
    size_t (*flush_cuts)(void *context, const struct table *, struct arena *, const int64_t **out);
    /* The share of the ring that a file covers from its first token to its last, for Statistics.db;
     * NaN: not told. */
    double (*coverage)(void *context, const struct table *, int64_t first, int64_t last);
    /* The table's files have changed.  A flush says how much it wrote, as Data.db stores it, and
     * into how many files; others 0.  Nothing may be done here but to take note and wake an op. */
    void (*changed)(void *context, const struct uuid *table, uint64_t flushed_bytes,
                    unsigned flushed_files);
};
/* Copied; zeroed members do nothing.  Set before the first flush, and unset (NULL) before what it
 * points to goes. */
void store_set_policy(struct store *, const struct store_policy *);
/* Writes are to be slowed: each acknowledgement waits as many ns for each KiB of its mutation, up
 * to a tenth of a second; less than a millisecond is saved up for a later one.  0: not at all. */
void store_slow_writes(struct store *, uint64_t ns_a_kib);
