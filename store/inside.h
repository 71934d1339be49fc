/* inside.h - what the files of store/ know of one another: the shard's store, the form of a commit
 * log record, the ops that work on a store.  Private to store/.
 *
 *     record of the commit log:   1 byte kind | what the kind says
 *         RECORD_MUTATION         mutation bytes (model/mutation.h)
 *
 *     store.c    opening, closing, counts         apply.c     a mutation
 *     data.c     what there is of a table         read.c      a read
 *     files.c    a start: files of all tables     flush.c     a memtable becomes a file
 *     replay.c   a start: the commit log          compact.c   files become others
 *     keeper.c   when to flush, what the log      erase.c     TRUNCATE, DROP
 *                may forget                       listing.c   what there is, for a policy
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/data.h"
#include "store/space.h"
#include "store/store.h"

enum record_kind { RECORD_MUTATION = 1 };
enum { SPARES_MAX = 2 }; /* segments of the commit log that are kept to be used again */

/* How far a folder of the commit log was filled, by whomever, when it was read. */
struct folder_end {
    uint64_t folder;
    struct journal_position last;
};

struct keeper { /* keeper.c */
    struct op op;
    struct io_req nap, forget;
    uint64_t nap_until_ns;
    uint64_t memory_at;     /* wakes when memtables have so much */
    uint64_t log_bytes;     /* of the commit log, when it last looked */
    uint64_t forgotten;     /* segments below it have been given up */
    bool is_early;          /* a flush is wanted though nothing asks for it (simulator) */
    bool is_roomier;        /* a flush has ended: writes that wait for room may look */
    struct list asks;       /* struct flush_ask: waiting for flushes */
    unsigned flushes_count; /* under way */
};

struct waiter { /* an op that waits until the files of a table stand still, or may move again */
    struct list link;
    struct op *op;
};

/* What a read that has ended leaves to the next one: a warm read takes nothing from the heap. */
struct source;
struct reading_spare {
    struct arena scratch, statics;
    struct buf raw;
    struct source *sources;
    size_t sources_room;
};

struct store {
    struct io *io;
    struct arena arena; /* lives as long as the store */
    struct store_options options;
    struct journal *journal;
    struct sstables sstables;
    struct map tables;      /* struct table_data by table id; made when there is something */
    struct list dropped;    /* struct table_data of tables that are gone, while they are flushed */
    struct arena scratch;   /* of one merge */
    struct buf record;      /* of one append */
    struct list idle, busy; /* struct apply: pooled; under way */
    uint64_t appended;      /* the number of the last append */
    uint64_t logged;        /* of the last one that the log has completed with OK */
    struct journal_position logged_at; /* ... and its place; what is under way stands behind */
    uint64_t memory_bytes;             /* of all memtables */
    uint64_t reserved_bytes;           /* for what has been admitted and is not merged yet */
    uint64_t wanted_bytes;             /* by the last apply that the budget refused */
    struct list queue;      /* struct apply.turn: they wait for room, the first one looks */
    uint64_t queue_bytes;   /* what these hold */
    uint64_t generation;    /* the last one that was drawn */
    uint64_t known_segment; /* of our folder: the highest that a file or a floor speaks of */
    struct folder_end *ends;
    size_t ends_count;
    bool is_settled; /* nobody reads our folder, and nobody needs it but this shard */
    bool is_opening;
    bool must_settle; /* the log has what must be in files before it may be forgotten */
    struct keeper keeper;
    struct space space;
    struct report flush_failed; /* of the last flush; OK: it did not */
    char refusal[700];
    struct list waiters; /* struct waiter */
    unsigned erasures;   /* holds, erasures and drops under way */
    struct store_policy policy;
    uint64_t slow_ns_a_kib, slow_owed_ns; /* how long acknowledgements wait; saved up */
    struct list compactions;              /* struct compaction: under way */
    struct op *opening;                   /* while it opens */
    struct closing *closing;              /* once it closes */
    struct store_counts counts;
    struct list slow_reads; /* reads that wait now and then: under way */
    struct reading_spare spare;
    struct read_cost cost; /* of the last read that answered */
};

/* What there is of the table; NULL: nothing. */
struct table_data *store_data(const struct store *, const struct uuid *table);
/* Makes it when there is nothing; NULL when the catalog does not know the table. */
struct table_data *store_data_for(struct store *, const struct uuid *id);
/* Its view as it is now (who keeps it counts itself in); NULL: nothing. */
struct view *store_view(const struct store *, const struct uuid *table);
/* May rows of other shards be in the file? */
bool store_shares(const struct store *, const struct sstable *);
/* Merges, and keeps the memory's account. */
void store_merge(struct store *, struct table_data *, const struct mutation *);
/* The next number for a file; unique in the node. */
uint64_t store_generation(struct store *);

/* OK, or what an append would be answered with: the commit log is broken or full. */
enum err store_log_state(const struct store *);
/* What a journal's error means to the caller of a store: full is ERR_OVERLOADED, else ERR_IO. */
enum err store_log_error(enum err);
/* Appends kind and body as one record and numbers it. */
uint64_t store_append(struct store *, struct io_req *, struct op *, enum record_kind,
                      struct bytes body);
/* The record with this number is durable at this place: so is every earlier one, and they had their
 * turn. */
void store_logged(struct store *, uint64_t number, struct journal_position);

/* "17": a folder of the commit log; false for any other name. */
bool log_folder_number(const char *name, uint64_t *out);
/* Lets all views go; true when every file is closed, else the op is woken. */
bool store_let_go(struct store *, struct op *);
/* Opens files, replays and opens the log; frees the store when it fails. */
void opening_start(struct store *, struct io_req *, struct op *, struct store **out,
                   struct report *failed);
/* Opens the files of every table of the catalog; generation and floors come with them. */
void files_open(struct store *, struct io_req *, struct op *, struct report *failed);
/* An interval of a file as a span of the commit log; false: of another node, or none. */
bool files_span(const struct store *, const struct sstable *, size_t i, struct log_span *out);

/* Begins to keep; ends when it is stopped and no flush is under way. */
void keeper_start(struct store *);
void keeper_stop(struct store *);
void keeper_wake(struct store *);
static inline bool keeper_is_due(const struct store *s)
{
    return s->memory_bytes >= s->keeper.memory_at ||
           (s->journal && journal_counts(s->journal)->disk_bytes > s->keeper.log_bytes);
}
/* A reserve of the disk (space.h): at a start; whether writes are refused for want of space; for
 * the keeper, whose op waits for what this starts; when to look again (0: no need); at the end. */
void space_open(struct store *, struct io_req *, struct op *);
bool space_is_short(const struct store *);
void space_watch(struct store *, struct op *op);
uint64_t space_next_ns(const struct store *);
void space_close(struct store *, struct io_req *, struct op *);
/* Writes the oldest frozen memtable of the table to a file; its result is in the data when it
 * ends, and the keeper is woken. */
void flush_start(struct store *, struct table_data *);
void flush_stop(struct table_data *);

/* Tells the policy that the table's files have changed. */
void store_changed(struct store *, const struct uuid *table, uint64_t flushed_bytes,
                   unsigned flushed_files);
/* Wakes those that wait for a table's files. */
void store_stir(struct store *);
/* All that are under way, for good: the store closes.  Of one table: it has been truncated or
 * dropped; what has begun its swap comes to its end. */
void compactions_close(struct store *);
void compactions_stop(struct store *, const struct table_data *);

/* An apply or something else has ended: a close may go on. */
void store_left(struct store *);
/* Everything of it is freed; nothing may be under way. */
void store_free(struct store **);
/* The store closes: acknowledgements that were delayed come at once. */
void applies_hurry(struct store *);
/* The first write that waits for room looks again. */
void applies_stir(struct store *);
/* The pooled ones, and what reads have left. */
void applies_free(struct store *);
void reading_spare_free(struct store *);
