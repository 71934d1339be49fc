/* depot.h - a node that is nothing but stores, all that was done to it, and what must be left of
 * it.
 *
 *     depot_boot ──> depot_write, depot_flush, depot_truncate ... ──> depot_check_rows
 *         ^               (each answers; ERR_STOPPED: the node was killed meanwhile)
 *         └── sim_kill, or the power fails at some change of the disk
 *
 * Mutation i makes rows (i, 0) .. (i, n - 1) of one partition of one table, so each can be found by
 * itself, or deletes those of another mutation.  Its fate is what the store has answered, and once
 * a restart has shown it or not shown it, that.  The schema is the test's: a change is durable when
 * it is made.  Flushes of table a are cut in two.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/prng.h"
#include "io/sim/sim.h"
#include "store/store.h"

enum { DEPOT_SHARDS_MAX = 3, DEPOT_TABLES = 3, DEPOT_MUTATIONS_MAX = 300, DEPOT_CHANGES_MAX = 8 };
enum { DEPOT_FILES_MAX = 64 }; /* of a table on one shard */
#define DEPOT_TAGS 2

/* EITHER: there whole or not at all.  AT_STAKE: was there before a TRUNCATE whose answer is not
 * known: all of those together. */
enum fate { UNSENT, EITHER, THERE, GONE, AT_STAKE };
enum table_fate { TABLE_THERE, TABLE_DROPPED };
/* All files into one, or into two; deletions are purged.  Or one of them gets another level. */
enum depot_compaction { DEPOT_MERGE, DEPOT_MERGE_CUT, DEPOT_RELEVEL };
enum tag_fate { TAG_NONE, TAG_EITHER, TAG_THERE };

struct depot;
struct depot_shard {
    struct depot *depot;
    struct io *io;
    struct op op; /* holds the requests */
    struct catalog catalog;
    struct store *store;
    struct store_held *held;
    struct io_req req;
    struct report failed;
    struct depot_compacting {
        struct io_req req;
        struct compact_options options;
        struct compact_output output;
        struct compact_result result;
        struct report failed;
        struct arena arena;
        uint64_t inputs[DEPOT_FILES_MAX];
    } compacting;
};
struct depot_mutation {
    uint8_t table, partition;
    bool is_wide;    /* has the column that an ALTER added */
    bool is_beside;  /* was under way while its table was truncated: before it, or after */
    bool is_deleted; /* somebody has tried to */
    int victim;      /* whose rows it deletes; -1: it makes its own */
    enum fate fate;
    struct io_req req;
    struct buf bytes;
    unsigned seen; /* rows, in the last look */
};
struct depot {
    struct sim *sim;
    int shards_count;
    struct depot_shard shards[DEPOT_SHARDS_MAX];
    struct arena arena; /* of the schema's changes */
    struct bytes changes[DEPOT_CHANGES_MAX];
    unsigned changes_count;
    enum table_fate tables[DEPOT_TABLES];
    enum tag_fate tags[DEPOT_TAGS];
    size_t tag_files[DEPOT_TAGS]; /* SSTables */
    bool is_altered;
    int truncating;  /* a table, or -1 */
    bool is_erasing; /* ... and shard 0 has been asked to */
    int pinned;      /* a table, or -1 */
    struct store_recovered recovered;
    struct store_files files[DEPOT_TABLES]; /* of one snapshot: while it is made */
    struct depot_mutation mutations[DEPOT_MUTATIONS_MAX];
    int sent, tried;      /* mutations of which a restart must still show what became; all */
    uint64_t patience_ns; /* how long an answer may take; 0: for ever */
    char context[200];    /* for messages: what was done to this node */
};

/* Of two answers the one that ends a life, else the first that is an error. */
static inline enum err depot_worse(enum err a, enum err b)
{
    bool is_end = b == ERR_STOPPED || (b == ERR_TIMEOUT && a != ERR_STOPPED);
    return is_end || a == OK ? b : a;
}

/* Keyspace `depot` with tables a, b and c. */
void depot_init(struct depot *, struct sim *, int shards_count);
void depot_deinit(struct depot *);

/* All these answer OK, or the first error of a shard; ERR_STOPPED when the node was killed;
 * ERR_TIMEOUT when there was no answer in time, which may still come. */
enum err depot_boot(struct depot *); /* recovers, opens, settles; shards[].failed says more */
enum err depot_close(struct depot *);
void depot_kill(struct depot *);
/* Starts to write; depot_written waits for all and notes what became of them: OK when all were
 * acknowledged. */
void depot_write(struct depot *, int table, int count);
enum err depot_written(struct depot *);
/* Deletes what some mutation of the table has made; waits. */
enum err depot_delete(struct depot *, int table);
void depot_flush_begin(struct depot *, int table); /* -1: all */
enum err depot_done(struct depot *);               /* waits for what ..._begin has begun */
enum err depot_truncate(struct depot *, int table);
enum err depot_drop(struct depot *, int table);
enum err depot_alter(struct depot *); /* table a gets the column w */
enum err depot_snapshot(struct depot *, int table, int tag);
/* Of the files that there are; a shard that has none does nothing.  One that is stopped by
 * something else that is done to the table is fine. */
void depot_compact_begin(struct depot *, int table, enum depot_compaction);
enum err depot_compacted(struct depot *);
enum err depot_clear(struct depot *, int tag);
/* Lets what was begun and not answered come to its end; false: there is something that does not. */
bool depot_calm(struct depot *, uint64_t patience_ns);
void depot_rest(struct depot *, uint64_t ns); /* lets so much time pass */

/* Each row of each table as often and as whole as its fate says.  `is_hurt`: reads may fail, but
 * must not lie.  `is_restart`: what is seen now is so for good. */
void depot_check_rows(struct depot *, bool is_hurt, bool is_restart);
/* After a restart, when nothing is under way: every file belongs to something that is known. */
void depot_check_files(struct depot *);
/* Says what is wrong, in the depot's context, and ends the program. */
_Noreturn void depot_fail(const struct depot *, const char *format, ...);

/* ---- inside ---- */
const char *depot_table_name(int table);
struct table *depot_table(const struct depot_shard *, int table); /* NULL: dropped */
const char *depot_tag_name(int tag);
int depot_tag_table(int tag);
unsigned depot_rows_of(int mutation);
struct bytes depot_value_of(int mutation); /* until the next call */
enum err depot_await(struct depot *, struct io_req *);
/* On each shard; `begin` may start its request. */
enum err depot_on_all(struct depot *, void (*begin)(struct depot_shard *, void *), void *arg);
struct uuid depot_table_id(int table);
/* What stood still when an answer did not come in time: it has come. */
void depot_let_go(struct depot *);
