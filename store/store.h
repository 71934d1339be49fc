/* store.h - one shard's data: commit log, memtables, SSTables, the read path.
 *
 *     apply ──> commit log ──> (synced) ──> memtable ──> acknowledged
 *                                 memtable ──flush──> SSTable      (then the log forgets)
 *     read  ──> view: memtables and SSTables, merged ──> sink
 *
 * The facade of store/.  Invariants:
 *   1. A mutation is acknowledged only after the commit log's sync covers it (by its mode).
 *   2. It is visible to reads only once it is durable, so nothing that was read is un-read by a
 *      crash.
 *   3. Replay is idempotent: rows merge by timestamp; what an SSTable holds is not replayed.
 *   4. Memory is bounded: memtables are flushed, largest first, before their budget is full; past
 *      it an apply waits for the flush, or, where none helps or too many wait, answers
 *      ERR_OVERLOADED before anything was written.
 *   5. The files of a table change by swaps (swap.h): after a crash a swap has happened or it has
 *      not, and no file is left that belongs to neither side.
 *   6. Nothing that fails its checksum reaches a sink.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"
#include "io/journal.h"
#include "model/model.h"
#include "sstable/name.h"
#include "store/compact.h"
#include "store/import.h"
#include "store/snapshot.h"
#include "store/stats.h"

struct store;
struct store_options {
    const char *commitlog_folder; /* of the node; this shard's is <folder>/<shard> */
    const char *data_folder;      /* of the node: <keyspace>/<table>-<id>/ below it */
    enum journal_mode commitlog_mode;
    uint64_t commitlog_period_ns, commitlog_window_ns, segment_bytes, commitlog_bytes_max;
    bool commitlog_is_compressed;
    uint64_t memtable_bytes;      /* this shard's share */
    uint64_t cache_bytes;         /* of the chunk cache */
    uint64_t files_bytes;         /* filters, samples: past it the log warns; 0: never */
    uint64_t reserve_bytes;       /* of the disk of data_folder, kept back for flushes; 0: none */
    enum sstable_version version; /* that is written */
    uint32_t column_index_bytes;
    uint32_t tombstone_warn;       /* past so many tombstones a read ends early; 0: never */
    struct uuid host;              /* this node: named in the files it writes */
    const struct catalog *catalog; /* lives as long as the store; at its latest epoch at open */
    /* Does this shard own the token?  Replay and files of several shards ask. */
    bool (*owns)(void *context, int64_t token);
    void *context;
    int (*shard_of)(int64_t token, int shards); /* who had it among so many? */
    enum journal_holes holes;                   /* what to do where the log is damaged */
};

/* What a crash left in the folders of tables is finished or taken away, once for a node and before
 * any shard opens its store.  ERR_CORRUPT, ERR_IO, ...: the report says what and where. */
struct store_recovered {
    uint64_t swaps_finished, swaps_void; /* changes of file sets: done now; never happened */
    uint64_t temporaries;                /* files that belonged to nothing */
    uint64_t unknown_folders;            /* of tables that the catalog does not know */
};
void store_recover(struct io *, struct io_req *, struct op *, const char *data_folder,
                   const struct catalog *, struct store_recovered *out, struct report *failed);

/* Opens the files with tokens of ours, replays every shard folder under commitlog_folder (what this
 * shard owns and no file holds), then opens this shard's log.  *out is set with OK.  `*failed` (may
 * be NULL) says what and where otherwise.  The texts in the options are copied.  A shard may write
 * while others still open; its log forgets nothing until store_settled. */
void store_open(struct io *, struct io_req *, struct op *, const struct store_options *,
                struct store **out, struct report *failed);
/* Waits for what is under way, syncs and closes; *store becomes NULL at once. */
void store_close(struct store **, struct io_req *, struct op *);

/* Applies encoded mutation bytes (borrowed until completion).  Completes with OK when durable and
 * visible, and req->size says whether it was synced by then: 1, or 0 where the commit log is synced
 * now and then.  Else ERR_OVERLOADED, ERR_LIMIT (too large), ERR_NOT_FOUND (no such table),
 * ERR_CORRUPT, ERR_IO, ERR_NO_SPACE; ERR_TIMEOUT when the deadline (io_now time; UINT64_MAX: none)
 * passed before it was in the log.  What is in the log is carried through. */
void store_apply_by(struct store *, struct io_req *, struct op *, struct bytes mutation,
                    uint64_t deadline_ns);
/* The same without a deadline. */
void store_apply(struct store *, struct io_req *, struct op *, struct bytes mutation);

/* What one read cost. */
struct read_cost {
    uint32_t sstables; /* that were looked into */
    uint32_t filter_skips, range_skips, false_positives;
    uint32_t index_entries, index_blocks, chunks;
    uint64_t unpacked_bytes; /* decompressed for it: what the cache did not have */
    uint32_t tombstones;     /* dead cells, dead rows without any, markers that it went through */
};
/* At once, inline: OK and the outcome, ERR_NOT_FOUND (no such table), ERR_CORRUPT (a damaged file;
 * store_damage tells), or ERR_WOULD_WAIT: then what the sink was given is to be thrown away, and
 * store_read_start does the same read over several turns.  `arena` holds the outcome's position. */
enum err store_read(struct store *, const struct read *, struct arena *, struct read_sink *,
                    struct read_outcome *out);
/* The same as an op; the sink is fed in some of its turns.  The arguments stay until it has
 * completed.  Stopping `op` does not end it: a read is bounded by its limits. */
void store_read_start(struct store *, struct io_req *, struct op *, const struct read *,
                      struct arena *, struct read_sink *, struct read_outcome *out);
/* Of the last store_read that answered, for counters and traces. */
const struct read_cost *store_read_cost(const struct store *);

/* ---- a table's files ---- */
/* NULL: all tables.  Completes when everything that was written before the call is in SSTables, or
 * with the first error (the report says which table).  A table that is held (below) is left out. */
void store_flush(struct store *, struct io_req *, struct op *, const struct uuid *table,
                 struct report *failed);

/* After a start, once all shards have opened: flushes what stands in folders of the commit log that
 * are not this shard's, or beside a hole.  Then, when all shards have done so, shard 0 removes the
 * folders that are nobody's any more; and then every shard is told that its log may forget. */
void store_settle(struct store *, struct io_req *, struct op *, struct report *failed);
void store_remove_logs(struct store *, struct io_req *, struct op *);
void store_settled(struct store *);

/* TRUNCATE, for all shards of a node together: each holds the table, shard 0 erases it, each lets
 * go.  A held table is read and written as ever, but not flushed.  ERR_NOT_FOUND: no such table. */
struct store_held;
void store_hold(struct store *, struct io_req *, struct op *, const struct uuid *table,
                struct store_held **out);
/* On shard 0: durable and for all shards, or not at all.  ERR_IO, ERR_NO_SPACE, ERR_NOT_FOUND: it
 * has been dropped. */
void store_erase(struct store *, struct io_req *, struct op *, const struct uuid *table,
                 struct store_held *const *held, size_t count);
/* It has been erased, so what was written before it was held is gone; or it has not. */
void store_release(struct store *, struct store_held **, bool is_erased);

/* DROP, after the table has gone from the catalog: its rows can be read no more, at once; completes
 * when nothing works on its files any more; `keeps_rows`: with OK when all of them are in files,
 * for a snapshot.  Then shard 0 removes them, and the folder when nothing else is in it. */
void store_drop(struct store *, struct io_req *, struct op *, const struct uuid *table,
                bool keeps_rows);
void store_remove(struct store *, struct io_req *, struct op *, const struct table *);

struct store_counts {
    uint64_t applied, refused, reads, rows_read;
    uint64_t refused_late, refused_full; /* of refused: past their deadline; for lack of memory */
    uint64_t replayed_mutations, replayed_bytes, torn_bytes;
    uint64_t skipped_mutations; /* at replay: ours, but of tables that are gone */
    uint64_t held_mutations;    /* at replay: in files already, or truncated */
    uint64_t memtable_bytes, memtable_bytes_max, partitions; /* max: the budget */
    uint64_t frozen_bytes;                                   /* of them: being flushed */
    uint64_t slowed;                                         /* writes that had to wait */
    uint64_t flushes, flush_failures, flushed_bytes;
    uint64_t sstables, sstables_damaged, sstable_bytes;
    uint64_t replay_done_bytes, replay_bytes; /* of the commit log, while it opens */
    struct read_total {                       /* of all reads that answered: as read_cost */
        uint64_t sstables, filter_skips, range_skips, false_positives, index_entries, index_blocks;
        uint64_t chunks, unpacked_bytes, tombstones;
    } read;
    struct journal_counts commitlog;
};
void store_counts(const struct store *, struct store_counts *out);
/* Why an apply would be refused now, for status and logs; NULL when it would not. */
const char *store_refusal(struct store *);
