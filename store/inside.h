/* inside.h - what the files of store/ know of one another: the shard's store, the form of a commit
 * log record, the ops that work on a store.  Private to store/.
 *
 *     record of the commit log:   1 byte kind | what the kind says
 *         RECORD_MUTATION         mutation bytes (model/mutation.h)
 *         RECORD_TRUNCATE         16 table id | vint count | count x (vint folder, segment, offset)
 *
 * A truncate mark covers everything of its table that stands before it in its own folder, and in
 * each named folder everything up to the named position, inclusive.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/memtable.h"
#include "store/store.h"

enum record_kind { RECORD_MUTATION = 1, RECORD_TRUNCATE = 2 };

/* How far an older life of the node has filled one shard's folder, with tokens that are ours now.
 */
struct folder_end {
    uint64_t folder;
    struct journal_position last;
};

struct store {
    struct io *io;
    struct arena arena; /* lives as long as the store */
    struct store_options options;
    struct journal *journal;
    struct map memtables;    /* by table id; made when first written to */
    struct arena scratch;    /* of one merge */
    struct buf record;       /* of one append */
    struct list idle, busy;  /* struct apply: pooled; under way */
    struct list truncates;   /* under way */
    uint64_t appended;       /* the number of the last append */
    uint64_t logged;         /* of the last one that the log has completed with OK */
    uint64_t memory_bytes;   /* of all memtables */
    uint64_t reserved_bytes; /* for what has been admitted and is not merged yet */
    uint64_t wanted_bytes;   /* by the last apply that the budget refused */
    struct folder_end *ends;
    size_t ends_count;
    struct closing *closing; /* once it closes */
    struct store_counts counts;
};

/* The table's memtable; NULL when it has none, or when the catalog does not know the table. */
struct memtable *store_memtable(const struct store *, const struct uuid *table);
/* Makes it when there is none; NULL when the catalog does not know the table. */
struct memtable *store_memtable_for(struct store *, const struct uuid *table);
/* Merges, and keeps the memory's account. */
void store_merge(struct store *, struct memtable *, const struct mutation *);

/* OK, or what an append would be answered with: the commit log is broken or full. */
enum err store_log_state(const struct store *);
/* What a journal's error means to the caller of a store: full is ERR_OVERLOADED, else ERR_IO. */
enum err store_log_error(enum err);
/* Appends kind and body as one record and numbers it. */
uint64_t store_append(struct store *, struct io_req *, struct op *, enum record_kind,
                      struct bytes body);
/* The record with this number is durable: so is every earlier one, and they had their turn. */
void store_logged(struct store *, uint64_t number);

/* Replays and opens the log; frees the store when it fails. */
void opening_start(struct store *, struct io_req *, struct op *, struct store **out,
                   struct report *failed);
/* An apply or a truncation has ended: a close may go on. */
void store_left(struct store *);
/* Everything of it is freed; nothing may be under way. */
void store_free(struct store **);
/* The pooled ones. */
void applies_free(struct store *);
