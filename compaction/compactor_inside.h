/* compactor_inside.h - what the files of the compactor know of one another.
 *
 *     compactor.c          opens and closes; the op that looks, begins and rests
 *     compactor_tables.c   what it tends: tables, their groups and strategies; the store's policy
 *     compactor_look.c     one table's files as descriptions, and what is due among them
 *     compactor_run.c      one compaction from its pick to its end
 *     compactor_ask.c      what a person asks: compact, stop, settle
 *     compactor_pace.c     how fast compactions read, and how much writers are slowed
 *     compactor_notes.c    what is kept over a restart
 *     compactor_seen.c     what is shown
 *
 * Private to compaction/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "compaction/compactor.h"
#include "compaction/compactor_notes.h"

enum { COMPACTOR_WHY_BYTES = 320, COMPACTOR_LEVELS = 16 };

/* Files that may be merged with one another (strategy.h), and what was found out about them. */
struct tended_group {
    struct list link;
    struct compaction_group id;
    struct strategy *strategy;
    bool has_files; /* at the last look */
    bool is_kept;   /* ... as many ran as may: what may be due was not asked for */
    uint64_t pending, pending_bytes, backlog_bytes;
    uint64_t pending_at[COMPACTOR_LEVELS]; /* by level; what is above is with the last */
    bool has_pick;                         /* due, and not begun: in the table's `picks` */
    struct compaction_now now;
    struct compaction_pick pick;
    char reason[COMPACTOR_WHY_BYTES]; /* of the pick; or why there is none */
    unsigned failures;                /* in a row */
    uint64_t rests_until_ns;          /* nothing begins before */
    enum err rests_for;               /* what it failed with */
    char rests_why[COMPACTOR_WHY_BYTES];
};
struct tended { /* a table */
    struct uuid id;
    struct table *table; /* counted: its strategies are made from it */
    struct list groups;  /* the first: unrepaired; it has the average of flushes */
    bool must_look, is_off;
    unsigned users;       /* runs and asks that point here */
    unsigned asks;        /* background ones do not begin meanwhile */
    double noted_average; /* as the notes have it; NaN: not */
    uint64_t written_bytes;
    struct arena picks; /* what groups with has_pick point into */
    struct arena ranges;
    struct local_ranges local;
    uint64_t ranges_version;
};

/* One look at a table's files, within one turn. */
struct look_group {
    struct compaction_group id;
    struct compaction_now now;
};
struct look {
    size_t groups_count;
    struct look_group *groups;
    struct store_file_list list;
};

struct asking;
struct run {
    struct op op;
    struct list link;
    struct compactor *compactor;
    struct tended *table;
    struct compaction_group group;
    struct asking *ask; /* NULL: in the background */
    uint64_t id;
    struct uuid task;
    enum compaction_class class;
    struct arena arena;
    struct compaction_now now;
    struct compaction_pick pick;
    struct compact_options options;
    struct compact_result result;
    struct report failed;
    struct io_req req;
    uint64_t input_bytes; /* stored, of those that are read */
    uint64_t paced_bytes; /* of them, so far */
    double late;          /* the share of it that had piled up when it began */
    uint64_t began_ns;
    bool is_extra, may_reduce, was_reduced;
    bool is_unwanted;       /* a person has stopped it: it is not begun again at once */
    uint64_t sampled_bytes; /* plain, at the last tick */
    double rate;            /* plain bytes a second, of late */
};

struct pace { /* compactor_pace.c */
    uint64_t bytes_per_second, free_ns;
    uint64_t read_bytes, sampled_bytes; /* stored: in all, and at the last tick */
    uint64_t sampled_ns;
    double rate; /* what compactions read a second of late; 0: not known */
    double slow; /* ns a KiB that writers wait */
};

struct compactor {
    struct io *io;
    struct compactor_options options;
    struct arena arena; /* of the folder's name */
    struct op op;
    struct io_req nap, req;
    uint64_t nap_until_ns, look_at_ns;
    uint64_t catalog_epoch;
    struct io_req *opening, *closing;
    struct compactor **out;
    bool is_closing, is_all_off; /* off: tables that are new, too */
    struct map tables;           /* struct tended by id */
    struct list runs;            /* struct run */
    struct list asks;            /* struct asking */
    uint64_t last_id;
    struct pace pace;
    struct notes notes;
    struct prng chance;
    struct compactor_counts counts;
};

/* ---- compactor.c ---- */
void compactor_wake(struct compactor *);
/* Nothing is due that could begin, and everything has been looked at. */
bool compactor_is_quiet(const struct compactor *);
/* May one more begin?  Beyond at_once there is room for one: the first that a person asks, or a
 * small one that need not wait for large ones. */
bool compactor_has_room(const struct compactor *, const struct asking *, uint64_t bytes,
                        bool *is_extra);

/* ---- compactor_tables.c ---- */
/* Makes it where it is not there yet; NULL: the catalog has no such table. */
struct tended *tended_of(struct compactor *, const struct uuid *id);
struct tended_group *tended_group_of(struct compactor *, struct tended *,
                                     const struct compaction_group *);
struct tended_group *tended_find(const struct tended *, const struct compaction_group *);
static inline struct tended_group *tended_first(const struct tended *t)
{
    return owner_of(t->groups.next, struct tended_group, link);
}
/* Takes over what ALTER has changed; false: the table has gone. */
bool tended_renew(struct compactor *, struct tended *);
/* Lets go of those that are not in the catalog any more; takes note of those that are new. */
void tended_sync(struct compactor *);
void tended_drop_picks(struct tended *);
void tended_free_all(struct compactor *);
const struct local_ranges *tended_ranges(struct compactor *, struct tended *);
/* Is a group of it to be looked at as soon as one more may run? */
bool tended_waits(const struct tended *);
/* Why nothing of the table begins by itself; NULL: it may. */
const char *tended_is_off(const struct tended *);
void tended_note_average(struct compactor *, struct tended *, double tolerance);
void tended_set_policy(struct compactor *);
bool groups_equal(const struct compaction_group *, const struct compaction_group *);

/* ---- compactor_look.c ---- */
void look_take(struct compactor *, struct tended *, struct arena *, struct look *out);
/* The store holds the files no longer; descriptions stay, as copies. */
void look_done(struct look *);
/* Levels, what is due, and the pick where one may begin: into the table's groups. */
void look_at(struct compactor *, struct tended *);

/* Of so many compactions that are due at a level: the share that has piled up. */
double late_share(uint64_t pending);

/* ---- compactor_run.c ---- */
/* Takes over the arena, in which the description and the pick are. */
void run_start(struct compactor *, struct tended *, const struct look_group *,
               const struct compaction_pick *, struct arena *taken, struct asking *);
/* Stored bytes that it may still write. */
uint64_t run_ahead_bytes(const struct run *);
bool runs_have(const struct compactor *, const struct tended *, uint64_t generation);
size_t runs_of(const struct compactor *, const struct tended *); /* NULL: all */

/* ---- compactor_ask.c ---- */
/* A run of this ask has ended. */
void asking_ended(struct asking *, const struct run *, enum err);
bool asking_names_files(const struct asking *);
bool askings_compact(const struct compactor *); /* any that is not done */
void askings_stop(struct compactor *);
void askings_wake(struct compactor *);

/* ---- compactor_pace.c ---- */
/* Slot of struct compact_options; the context is the struct run. */
uint64_t pace_read(void *context, uint64_t bytes);
/* It has read what it was not asked for. */
void pace_finish(struct run *);
void pace_set(struct compactor *, uint64_t bytes_per_second);
/* Once a second while anything runs or slows; false: there is nothing to tick for. */
bool pace_tick(struct compactor *);
