/* hints.h - mutations kept on disk for replicas that missed them, until those have them.
 *
 *     write.c ──hints_keep──> journal of the target ──oldest first──> VERB_HINTS ──> the target
 *
 *     hints_directory/<host id of the target>/<shard>/1.log 2.log ...
 *
 * One struct hints a shard.  A journal of a target is opened when the first hint for it comes, and
 * read again at a start, also the folders of shards that there are no more: whatever is pending
 * there is delivered by a shard that there is.  What was delivered, has expired or was dropped is
 * marked in the journal, so that the totals hold across restarts; what was delivered and not yet
 * marked is delivered again, which changes nothing.
 *
 * The books, for each target and table, at every moment:
 *     written = delivered + pending + expired + dropped[every reason]
 *
 * A hint expires at the smaller of the window and its table's gc_grace, counted from when its
 * write began.  The target may be this node itself: what its own store refused for a while.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "cluster/cluster.h"
#include "io/io.h"
#include "model/model.h"

struct hints;

/* X(name, text): why no hint was kept; the replica's range is unknown then. */
#define HINT_REFUSALS(X)                                                              \
    X(OFF, "handoff off")        /* hinted_handoff_enabled: false */                  \
    X(WINDOW, "window over")     /* the target is down longer than max_hint_window */ \
    X(SIZE, "size limit")        /* max_hints_size_per_host is reached */             \
    X(DISK, "disk")              /* the journal did not take it */                    \
    X(STOPPING, "node stopping") /* too late for it */
enum hint_refusal {
#define X(name, text) HINT_REFUSED_##name,
    HINT_REFUSALS(X)
#undef X
        HINT_REFUSALS_COUNT
};
/* X(name, text): why a kept hint was given up without having been delivered. */
#define HINT_DROPS(X)                                                                      \
    X(TRUNCATED, "truncated") /* older than a TRUNCATE of its table */                     \
    X(NO_TABLE, "no table")   /* its table was dropped */                                  \
    X(REFUSED, "refused")     /* the target can never apply it (ERR_CORRUPT, ERR_LIMIT) */ \
    X(DAMAGED, "damaged")     /* its journal does not verify there */                      \
    X(BY_HAND, "by hand")     /* somebody removed the target's hints */
enum hint_drop {
#define X(name, text) HINT_DROP_##name,
    HINT_DROPS(X)
#undef X
        HINT_DROPS_COUNT
};
const char *hint_refusal_text(enum hint_refusal);
const char *hint_drop_text(enum hint_drop);

/* What the node knows of a table; false: it was dropped. */
struct hint_table {
    uint32_t gc_grace_seconds;
};
struct hints_options { /* what it points to lives until the hints are closed */
    struct io *io;
    struct cluster *cluster;
    const char *folder; /* of the node; "": hand-off is off */
    bool is_on;
    uint64_t window_ns;        /* max_hint_window */
    uint64_t bytes_max;        /* max_hints_size_per_host, this shard's share; 0: no limit */
    uint64_t bytes_per_second; /* hinted_handoff_throttle, to one target; 0: no limit */
    bool is_compressed;        /* hints_compression */
    uint64_t segment_bytes;    /* of a journal's files; 0: 4 MiB */
    void *context;
    bool (*table)(void *context, const struct uuid *, struct hint_table *out);
    /* Hints were given up that their target may still need: expired, refused, damaged, by hand.
     * What they were for is unknown now: the range of the token, or, with NULL, any range; nothing
     * of it is older than that wall time.  May be NULL. */
    void (*lost)(void *context, const int64_t *token, int64_t since_us);
    /* Applies a hint for this node itself. */
    void (*apply)(void *context, struct io_req *, struct op *, int64_t token, struct bytes mutation,
                  uint64_t deadline_ns);
};
/* Reads what is there, sets *out and completes with OK.  A damaged journal never stops a start:
 * what does not verify is counted (DAMAGED) and said in the log. */
void hints_open(struct io_req *, struct op *, const struct hints_options *, struct hints **out);
/* Ends deliveries, writes the marks, syncs and closes; *hints becomes NULL at once. */
void hints_close(struct hints **, struct io_req *, struct op *);

struct hint_keep { /* a leaf: embed it in the op that waits */
    struct io_req req;
    unsigned target; /* node number */
    struct uuid table;
    int64_t token;
    struct bytes mutation; /* borrowed until completion */
    uint64_t begun_ns;     /* io_now when the write began: what began before a TRUNCATE of the table
                              is given up at once (kept, counted, dropped), and so old
                              is the hint; 0: now */
    enum hint_refusal why; /* with ERR_REFUSED */
    void *impl;
};
/* Completes with OK when the hint is durable, by the journal's group commit; ERR_REFUSED with
 * `why`.  A hint that was kept is counted as written in the same moment. */
void hints_keep(struct hints *, struct hint_keep *, struct op *);
/* Would a hint for that target be refused now?  HINT_REFUSALS_COUNT: no. */
enum hint_refusal hints_would_refuse(const struct hints *, unsigned target);

/* Gives up every hint of a table that was kept before this call (TRUNCATED); completes when none of
 * them can reach a target any more. */
void hints_erase(struct hints *, struct io_req *, struct op *, const struct uuid *table);
/* The table has gone from the catalog: the same (NO_TABLE), at once; nobody waits for it. */
void hints_dropped(struct hints *, const struct uuid *table);
/* Gives up every hint for a target (BY_HAND); 0: for all. */
void hints_remove(struct hints *, struct io_req *, struct op *, unsigned target);
/* A node went up or down; cheap, may be called with what is known already. */
void hints_changed(struct hints *, unsigned node, bool is_up);
/* Delivery on and off, while the node runs. */
void hints_set_on(struct hints *, bool is_on);
void hints_set_throttle(struct hints *, uint64_t bytes_per_second);

/* VERB_HINTS: mutations, each with its size before it (vint); the answer has a byte for each, its
 * enum err, or none at all when every one is durable.  The next mutation of a body, borrowed; false
 * at its end, or where it cannot be read (c->bad). */
bool hints_body_next(struct cursor *c, struct bytes *mutation);

/* The books of one target and table. */
struct hint_book {
    unsigned target; /* node number; 0: no member any more */
    struct uuid host_id, table;
    uint64_t written, delivered, pending, expired, dropped[HINT_DROPS_COUNT];
    int64_t oldest_us, newest_us; /* wall: when writes of the pending ones began; 0: none pending */
    uint64_t files;               /* of the target, whatever the table */
};
/* Calls `each` for every target and table that there ever was a hint for, as far as the journals
 * remember; the sum holds in each. */
void hints_each(const struct hints *, void (*each)(void *context, const struct hint_book *),
                void *context);
struct hints_counts {
    uint64_t written, delivered, pending, expired, dropped, refused;
    uint64_t bytes;            /* on disk */
    uint64_t bytes_per_second; /* the throttle */
    bool is_kept, is_on;       /* hand-off is enabled; what is kept is delivered */
};
void hints_counts(const struct hints *, struct hints_counts *out);
