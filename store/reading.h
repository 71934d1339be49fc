/* reading.h - one read under way: its sources, where it stands, what it has given.
 *
 *     open (one file after the other) ──> partition ──> static ──> slice: enter, rows ──> leave
 *                                            ^                       └──<── next slice ──<──┤
 *                                            └──────────── next partition of the range ─────┘
 *
 * Private to store/.  reading_run goes on until the read is complete (OK), until it has to wait for
 * the disk or should let others run (ERR_WOULD_WAIT), or fails.  Nothing in it waits by itself.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/heads.h"
#include "store/inside.h"
#include "store/view.h"

enum reading_stage {
    READING_OPEN,
    READING_PARTITION,
    READING_STATIC,
    READING_ENTER,
    READING_ROWS,
    READING_STEP,  /* sources that gave the row go on */
    READING_LEAVE, /* members go on to their next partition */
};
/* Rows, markers and partitions that one read looks at; then it ends early, for the sake of others.
 */
enum { READING_VISITS_MAX = 16 * 1024 };

struct reading {
    struct store *store;
    const struct read *read;
    struct table *table; /* counted */
    struct view *view;   /* counted; NULL: nothing was ever written */
    struct arena *arena; /* the caller's */
    struct read_sink *sink;
    struct read_outcome *out;
    struct fetch fetch;
    struct read_cost cost;
    struct arena scratch; /* of one merged row */
    uint64_t slice_ns;    /* how long a run may take; 0: until it has to wait */

    struct source *sources;
    size_t sources_count, sources_room;
    struct heads heads; /* of the partition, once it has been picked */
    size_t next_file;   /* of the view, to be opened */
    bool is_finding;    /* the last source is of this file, and not wholly opened */
    bool has_statics;   /* the table */
    bool is_over;
    enum reading_stage stage;
    size_t at; /* the source that the stage has come to */

    /* the partition */
    int64_t token;
    struct bytes key; /* borrowed from a member */
    struct deletion deletion;
    struct row *static_row; /* in `statics`; NULL: none */
    struct arena statics;
    bool is_announced;
    struct bytes behind; /* in the first one: what the read goes on behind */
    size_t slices_done;
    struct slice slice;      /* the one that is being read, cut by `behind` */
    struct deletion open;    /* the newest range tombstone that is open */
    struct buf open_from;    /* where the piece that has not been told begins */
    const struct row *known; /* the row so far, while files are opened newest first */

    /* what was given */
    uint64_t bytes;
    uint32_t visits;
    bool is_full;        /* a limit was reached before the next thing */
    struct buf last_key; /* of the partition behind which, or inside which, the read goes on */
    struct buf last_row; /* empty: behind the whole partition */
    int64_t last_token;
    bool has_last;
    bool has_dealt;     /* with something behind which it could not say that it goes on */
    struct cell *cells; /* room for a row with values left out */
    size_t cells_room;
};
/* ERR_NOT_FOUND: no such table.  With another error there is nothing to deinit. */
enum err reading_init(struct reading *, struct store *, const struct read *, struct arena *,
                      struct read_sink *, struct read_outcome *);
void reading_deinit(struct reading *);
enum err reading_run(struct reading *);
/* Before and after it has waited. */
void reading_rest(struct reading *);
void reading_resync(struct reading *);

/* ---- reading_files.c ---- */
/* Opens every source that can have something of what is asked, and finds the first partition. */
enum err reading_open(struct reading *);
/* Enters the slice in the source that `at` says and the ones behind it. */
enum err reading_enter(struct reading *);

/* ---- reading_merge.c ---- */
/* Merges the heads of the members until the slice is through (the stage says what is next). */
enum err reading_rows(struct reading *);
enum err reading_statics(struct reading *);
/* All members have entered the slice. */
void reading_begin_slice(struct reading *);

/* ---- reading_give.c: limits, and the sink; false: a limit forbids it ---- */
bool reading_give(struct reading *, const struct row *);
bool reading_give_range(struct reading *, struct bytes low, struct bytes high);
/* Has it looked at so much, or gone through so many tombstones, that it ends before the next thing?
 * Only behind something that it has dealt with, so that every read gets further. */
bool reading_has_toiled(const struct reading *);
/* Does the partition's head say something that has not been told?  Gives it then. */
bool reading_owes_head(const struct reading *);
bool reading_give_head(struct reading *);
/* A partition is through: told if it is deleted and has not been told yet. */
bool reading_give_end(struct reading *);
/* Everything up to this key of the partition has been dealt with; empty: all of the partition. */
void reading_passed(struct reading *, struct bytes row_key);
/* Where the read goes on, into the outcome. */
void reading_stop(struct reading *);
