/* hints_inside.h - what the files of hints share.  Private to coordinator/hints*.c.
 *
 *     hints            one a shard
 *       target         a node that hints are kept for; one op, which delivers (hints_target.c)
 *         journal      a folder of the target: this shard's own, and those of former shards
 *           tally      the books of one table there
 *         item         a hint that has been read again, on its way
 *         flight       items that travel together, as one VERB_HINTS
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/map.h"
#include "base/slab.h"
#include "coordinator/hints_record.h"
#include "io/log.h"

struct hint_target;
/* A journal's hints stand in three stretches:
 *     settled | given up or pending, up to `kept` | appended, not durable yet
 *             ^ journal.done                      ^ journal.kept
 * written == settled (delivered, expired, dropped) + given_up + pending, always. */
struct hint_tally {
    struct hint_settled settled; /* its table first: the key */
    uint64_t written, pending;
    uint64_t given_up[HINT_DROPS_COUNT]; /* not settled, but never to be delivered */
    struct journal_position erased;      /* what stands before this is given up */
    enum hint_drop erased_why;
    uint64_t to_see;              /* pending and given up that the pass under way must meet */
    int64_t oldest_us, newest_us; /* no pending hint is older; the last one that was kept */
    int64_t peak_us, lag_us; /* the newest of them; how much older one was that came behind it */
};

enum journal_state_of_hints { HINTS_SHUT, HINTS_OPENING, HINTS_OPEN, HINTS_FAILED };
struct hint_journal {
    struct list link; /* target->journals: former shards' first */
    struct hint_target *target;
    uint64_t folder; /* its number */
    char *path;
    struct journal *journal; /* NULL until something is to be written */
    enum journal_state_of_hints state;
    bool is_wanted, is_foreign; /* to be opened; written by a newer version, never to be touched */
    uint64_t retry_ns;
    struct io_req open, mark, forget, close;
    struct list waiting;                /* struct keeping.link: for the journal to open */
    unsigned appends;                   /* under way */
    struct map tallies;                 /* by table */
    struct journal_position done, kept; /* with the numbers of the next hints behind them: */
    uint64_t done_number, kept_number;
    struct journal_position marking;
    uint64_t forgotten, number;          /* segments below it are gone; of the next hint */
    uint64_t bytes;                      /* of hints that are not settled */
    uint64_t closed_bytes, closed_files; /* on disk, before it was opened */
    uint64_t unmarked;                   /* hints settled since the last mark */
    bool must_mark, is_marking, is_closed;
    struct journal_position damage; /* of the last hole that a start has found */
    int64_t head_us;                /* when the oldest unsettled one was kept, if that is known */
};

enum hint_fate { HINT_OPEN, HINT_DELIVERED, HINT_EXPIRED, HINT_DROPPED };
struct hint_item {
    struct list link;
    struct uuid table;
    struct journal_position at;
    int64_t token, kept_us;
    uint64_t number;
    enum hint_fate fate;
    enum hint_drop why;
    size_t record_bytes, size; /* in the journal; of the mutation */
    uint8_t mutation[];
};
struct hint_flight {
    struct list link, items;
    struct hint_target *target;
    uint64_t number, sent_ns;
    size_t count, bytes;
    bool is_sent;
    struct cluster_call call;
    struct io_req own; /* this node itself: one item */
    struct arena arena;
};
enum { HINT_FLIGHTS_MAX = 4, HINT_FLIGHT_BYTES_MIN = 16 * 1024 };
struct hint_target {
    struct list link;
    struct hints *hints;
    struct uuid host_id;
    struct list journals;
    struct hint_journal *own;
    struct op op;
    struct io_req nap;
    uint64_t nap_until_ns;
    /* the pass: what is not settled of one journal is read again, and delivered in order */
    struct hint_journal *passing;
    struct journal_position limit; /* it ends there */
    uint64_t limit_number;
    struct io_req reading;
    struct journal_replay seen;
    bool is_halted, has_more; /* has_more: there is more to send, in another slice */
    struct buf parts;
    uint64_t parts_count;
    struct list items, flights; /* oldest first */
    size_t items_bytes;
    /* the pace */
    size_t flight_bytes;
    unsigned flights_count, flights_max;
    uint64_t back_off_ns, not_before_ns, budget_ns, next_pass_ns;
    uint64_t next_flight;     /* its number */
    uint64_t unsure_until_ns; /* until then something unanswered may still be applied */
};

struct keeping { /* a hint on its way into its journal */
    struct op op;
    struct list link; /* journal->waiting */
    struct hints *hints;
    struct hint_journal *journal;
    struct hint_keep *keep;
    int64_t kept_us;
    uint64_t number;
    size_t record_bytes;
    unsigned parts;
    struct io_req appends[]; /* parts, then the hint */
};

struct hints {
    struct hints_options options;
    struct io *io;
    struct cluster *cluster;
    char *folder;
    struct list targets, erasings;
    struct map truncated; /* struct hint_erased by table */
    uint64_t down_since_ns[NODES_MAX + 1];
    uint64_t refused;
    bool is_on, is_closing;
    unsigned keepings;
    struct slab slab;
    struct buf scratch;
    struct op *closer;
};
struct hint_erased { /* what began before is not kept */
    struct uuid table;
    uint64_t ns;
};

uint64_t hint_segment_bytes(const struct hints *); /* hints_journal.c */

/* ---- hints_books.c ---- */
struct hint_tally *tally_of(struct hint_journal *, const struct uuid *table); /* makes one */
uint64_t tally_given_up(const struct hint_tally *);
/* The sum holds, or the process stops. */
void tally_check(const struct hint_tally *);
/* A hint that stands there is durable, or was found there. */
struct hint_written {
    struct uuid table;
    struct journal_position at;
    uint64_t number;
    int64_t kept_us;
};
void books_written(struct hint_journal *, const struct hint_written *);
/* A start has found this mark; what it says is all there is. */
void books_restore(struct hint_journal *, const struct hint_record *mark);
/* What stands first is settled that way; what was given up stays so. */
void books_settle(struct hint_journal *, const struct hint_item *);
void books_give_up(struct hint_journal *, const struct uuid *table, enum hint_drop,
                   struct journal_position before);
/* Hints that cannot be read any more, of no table; none is older than that (1: any age). */
void books_lost(struct hint_journal *, uint64_t count, struct journal_position, int64_t since_us);
void books_pass_begin(struct hint_journal *);
/* All up to the limit has been seen: what was not is DAMAGED. */
void books_pass_end(struct hint_journal *, struct journal_position limit, uint64_t number);
uint64_t books_unsettled(const struct hint_journal *);
uint64_t books_pending(const struct hint_journal *);
void books_deinit(struct hint_journal *);

/* ---- hints_journal.c ---- */
struct hint_target *target_of(struct hints *, const struct uuid *host_id); /* makes one */
struct hint_journal *journal_of_target(struct hint_target *, uint64_t folder);
void hint_journal_free(struct hint_journal *);
/* What there is to do for a journal: open, mark, forget, close.  When to look again; 0: when
 * something has happened. */
uint64_t hint_journal_tend(struct hint_journal *, struct op *);
bool hint_journal_is_quiet(const struct hint_journal *);

/* ---- hints_target.c, hints_pass.c ---- */
void target_start(struct hint_target *);
unsigned target_node(const struct hint_target *); /* 0: no member */
bool target_may_deliver(const struct hint_target *);
uint64_t pass_tend(struct hint_target *, struct op *);
bool pass_is_quiet(const struct hint_target *);
void item_free(struct hint_target *, struct hint_item *);

/* ---- hints_recover.c, hints_erase.c ---- */
void recover_start(struct hints *, struct io_req *, struct op *, struct hints **out);
void give_up_wake(struct hints *);
void give_up_stop(struct hints *);

/* ---- hints_flight.c ---- */
/* Answers that have come: fates of items, and the pace. */
void flights_look(struct hint_target *);
/* Sends what may be sent now; when more may be; 0: when something has happened. */
uint64_t flights_send(struct hint_target *, struct op *);
void flight_free(struct hint_flight *);
