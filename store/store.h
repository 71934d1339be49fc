/* store.h - one shard's data: commit log, memtables, the read path.
 *
 *     apply ──> commit log ──> (synced) ──> memtable ──> acknowledged
 *     read  ──> memtable ──> sink
 *
 * The facade of store/.  Invariants:
 *   1. A mutation is acknowledged only after the commit log's sync covers it (by its mode).
 *   2. It is visible to reads only once it is durable, so nothing that was read is un-read by a
 *      crash.
 *   3. Replay is idempotent: rows merge by timestamp.
 *   4. Memory is bounded: past `memtable_bytes` an apply answers ERR_OVERLOADED before anything was
 *      written.
 *
 * Limits: SSTables are not there yet, so what the memtables hold is all that a shard holds.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"
#include "io/journal.h"
#include "model/model.h"

struct store;
struct store_options {
    const char *commitlog_folder; /* of the node; this shard's is <folder>/<shard> */
    enum journal_mode commitlog_mode;
    uint64_t commitlog_period_ns, segment_bytes, commitlog_bytes_max;
    uint64_t memtable_bytes;       /* this shard's share */
    const struct catalog *catalog; /* lives as long as the store; at its latest epoch at open */
    /* Does this shard own the token?  Replay asks. */
    bool (*owns)(void *context, int64_t token);
    void *context;
};

/* Replays every shard folder under commitlog_folder (what this shard owns), then opens this shard's
 * log.  *out is set with OK.  `*failed` (may be NULL) says what and where otherwise.  The text in
 * the options is copied.  A shard may write while others still open. */
void store_open(struct io *, struct io_req *, struct op *, const struct store_options *,
                struct store **out, struct report *failed);
/* Waits for what is under way, syncs and closes; *store becomes NULL at once. */
void store_close(struct store **, struct io_req *, struct op *);

/* Applies encoded mutation bytes (borrowed until completion).  Completes with OK when durable and
 * visible; ERR_OVERLOADED, ERR_LIMIT (too large), ERR_NOT_FOUND (no such table), ERR_CORRUPT,
 * ERR_IO. */
void store_apply(struct store *, struct io_req *, struct op *, struct bytes mutation);

/* At once, inline.  OK and the outcome, or ERR_NOT_FOUND (no such table), or ERR_WOULD_WAIT with
 * nothing given to the sink.  `arena` holds the outcome's position. */
enum err store_read(struct store *, const struct read *, struct arena *, struct read_sink *,
                    struct read_outcome *out);

/* A table is gone from the catalog: its memtable goes. */
void store_drop(struct store *, const struct uuid *table);
/* TRUNCATE: forgets all rows of the table that were written before now (durable: a mark in the
 * commit log).  OK, ERR_NOT_FOUND, ERR_OVERLOADED (the commit log is full), ERR_IO.  To be done on
 * every shard of the node. */
void store_truncate(struct store *, struct io_req *, struct op *, const struct uuid *table);

struct store_counts {
    uint64_t applied, refused, reads, rows_read;
    uint64_t replayed_mutations, replayed_bytes, torn_bytes;
    uint64_t skipped_mutations; /* at replay: ours, but of tables that are gone */
    uint64_t memtable_bytes, memtable_bytes_max, partitions; /* max: the budget */
    struct journal_counts commitlog;
};
void store_counts(const struct store *, struct store_counts *out);
/* Why an apply would be refused now, for status and logs; NULL when it would not. */
const char *store_refusal(const struct store *);
