/* journal_impl.h - an open journal, for the files that write it.
 *
 *     journal_open.c     look at the folder, make the first segment, start the writer
 *     journal_segment.c  make a segment: a spare, or create and allocate; sync the folder
 *     journal_append.c   batches and their places; append, state
 *     journal_write.c    the writer op: head, gap, run, sync, rotate, close
 *     journal_forget.c   give up old segments: keep as spares, or remove
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "io/journal_format.h"

enum { JOURNAL_SPARES_MAX = 16 };

/* Makes one segment.  Ended with OK: `file` is open, allocated and named durably. */
struct segment {
    struct op op;
    struct journal *journal;
    struct io_req req;
    struct io_file *file; /* NULL: none, or failed */
    struct io_stat stat;
    uint64_t id;
    enum err err;
    bool busy;        /* being made */
    bool is_reused;   /* it was another segment before */
    uint64_t left_id; /* what was made and could not be removed; 0: none */
    bool is_left_reused;
    uint64_t failed_ns; /* when the last one could not be made; 0: it could */
    char path[JOURNAL_PATH_BYTES], spare_path[JOURNAL_PATH_BYTES];
};

/* Records that are written and synced together. */
struct batch {
    struct list link;
    struct journal_position at; /* where its run will stand */
    uint32_t salt;              /* of that segment */
    struct buf bytes;           /* room for a mark, then records */
    struct list waiting;        /* io_req.link of the appends, in order */
    uint32_t records;
};

struct journal {
    struct op writer;
    struct io *io;
    char folder[JOURNAL_PATH_BYTES];
    struct journal_options options;
    uint64_t first;               /* segment of this opening */
    uint64_t lowest;              /* segment that is still there */
    uint64_t salt_seed;           /* of the segments of this opening */
    struct segment next;          /* made ahead of its use */
    struct io_file *file;         /* being filled */
    bool is_reused;               /* it was another segment before */
    struct io_file *former;       /* filled, to be closed */
    struct journal_position end;  /* where the next block goes */
    struct journal_position plan; /* where the run behind all batches will stand */
    struct journal_position proven;
    enum err broken;       /* the first cause, or OK */
    uint64_t full_ns;      /* when appends were last refused for the time being; 0: they were not */
    enum err full_err;     /* why */
    struct batch *filling; /* takes appends; has one at least; or NULL */
    struct batch *writing; /* under way, or NULL */
    struct list full, spare; /* batches: waiting for the writer, waiting for use */
    unsigned spare_count;
    struct list refused; /* appends to a broken journal */
    bool is_idle;        /* the writer waits for something to do */
    bool is_unsynced, is_closing, is_proof;
    bool has_refused;   /* at `end` may stand what there was no space for */
    uint64_t gap_upto;  /* the gap that is being written ends there */
    uint64_t synced_ns; /* when the last sync began */
    struct io_req req, former_req, tick;
    struct io_req *closing; /* journal_close's */
    uint8_t block[JOURNAL_BLOCK_BYTES];
    struct journal_counts counts;
    uint64_t spares[JOURNAL_SPARES_MAX]; /* their numbers; counts.spares of them */

    struct op forgetter; /* journal_forget.c */
    bool is_forgetting;
    bool forget_is_kept; /* the one under way becomes a spare */
    struct list forgets;
    struct io_req forget_req;
    struct io_stat forget_stat;
    char forget_path[JOURNAL_PATH_BYTES], spare_path[JOURNAL_PATH_BYTES];
};

void journal_segment_make(struct segment *, struct op *parent, struct journal *, uint64_t id);
/* Whether a segment could not be made a moment ago. */
bool journal_segment_failed(const struct segment *);
/* Whether the limit allows one more. */
bool journal_may_grow(const struct journal *);
void journal_writer_start(struct journal *);
/* A batch for so many bytes of records, with its place; none is filling. */
uint32_t journal_salt(const struct journal *, uint64_t segment);
struct batch *journal_batch_begin(struct journal *, uint64_t body_bytes);
/* The oldest batch that has records, which takes no more; or NULL. */
struct batch *journal_batch_take(struct journal *);
bool journal_batch_waits(const struct journal *); /* there is one */
/* The place behind a batch that takes no more. */
void journal_batch_end(struct journal *, const struct batch *);
/* Completes all appends of a list; the batch that is written, which is then used again. */
void journal_complete(struct list *waiting, enum err);
void journal_writing_done(struct journal *, enum err);
/* Appends are refused for the time being; whether they are. */
void journal_refuse(struct journal *, enum err);
bool journal_was_refused(const struct journal *);
void journal_free(struct journal *);
void journal_forget_start(struct journal *);
