/* owed.h - the ranges of the ring in which this coordinator may owe its replicas something, and
 * those of which nobody knows what they miss.
 *
 *     a write is answered, something of it lingers ──> its range is in the set, durably, before
 *     nothing of any answered write lingers there  ──> the range leaves, within two seconds
 *     a hint was refused; a sudden death           ──> the range is unknown, until a repair
 *
 * One struct owed a shard, in folder/<shard>.  The warm path pays nothing: a write whose replicas
 * have all acknowledged does not come here, and one whose range is in the set adds one to a number.
 *
 * A range is a piece of the ring between two neighbouring tokens, for all keyspaces together.  So
 * the set has no more members than the ring has tokens, whatever is written; a dropped keyspace
 * leaves nothing behind; and it is what a repair goes through anyway.  The price is that a sudden
 * death makes a range unknown for tables that were not written to: those are compared in vain.
 *
 * After a clean stop the set is empty.  After a sudden death what was in it is unknown.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/ring.h"
#include "io/io.h"

struct owed;
struct owed_entry;

struct owed_range { /* after < token <= upto */
    int64_t after, upto;
};
/* The range of the ring that a token lies in. */
struct owed_range owed_range_of(const struct ring *, int64_t token);

struct owed_options {
    const char *folder; /* of the node; copied.  Made when absent */
};
/* Reads what is there: this shard's folder, and of those shards that there are no more the ones
 * that fall to it.  Completes with OK, and sets *out, when what was found is kept, or as soon as
 * there is space for it; else with the disk's error.  A damaged record never stops a start: the
 * whole ring is unknown then. */
void owed_open(struct io *, struct io_req *, struct op *, const struct owed_options *,
               struct owed **out);
/* Nothing is held any more.  Empties the set and closes; *owed becomes NULL at once. */
void owed_close(struct owed **, struct io_req *, struct op *);

/* What lingers of one write: embed it there, zeroed. */
struct owed_hold {
    struct owed_entry *entry; /* NULL: it holds nothing */
};
/* Something of a write to that token lingers: its range enters the set, unless it is in it. */
void owed_hold(struct owed *, const struct ring *, int64_t token, struct owed_hold *);
/* Is its range in the set on the disk?  Then the write may be answered. */
bool owed_is_kept(const struct owed *, const struct owed_hold *);
/* Completes when it is: OK, or the error of the disk, which may take it later. */
void owed_wait(struct owed *, struct io_req *, struct op *, const struct owed_hold *);
/* Nothing lingers of it any more; the hold is zeroed. */
void owed_let_go(struct owed *, struct owed_hold *);
/* Something of it, begun at that wall time, was refused a hint: its range is unknown from now on,
 * at once here and soon on the disk; it does not leave the set before. */
void owed_lose(struct owed *, const struct owed_hold *, int64_t since_us);

struct owed_unknown {
    struct owed_range range;
    int64_t since_us;  /* wall time: nothing that it misses was written earlier */
    int64_t latest_us; /* wall time when it last became unknown again; a start counts as one */
};
/* Calls `each` for every range that is unknown; in no order. */
void owed_unknown_each(const struct owed *,
                       void (*each)(void *context, const struct owed_unknown *), void *context);
/* A repair that began at this wall time has made the replicas equal: what lies within the range and
 * has not become unknown again since is known.  Completes when that is on the disk. */
void owed_clear_unknown(struct owed *, struct io_req *, struct op *, const struct owed_range *,
                        int64_t began_us);

struct owed_counts {
    uint64_t ranges, unknown; /* now: in the set; unknown */
    uint64_t holds;           /* now: writes of which something lingers */
    uint64_t entered, lost;   /* since the start: ranges that entered; holds that became unknown */
    uint64_t failures;        /* since the start: the disk did not take it */
    int64_t oldest_us;        /* the least since_us; 0: none is unknown */
};
void owed_counts(const struct owed *, struct owed_counts *out);
