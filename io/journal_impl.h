/* journal_impl.h - an open journal, for the files that write it.
 *
 *     journal_open.c     look at the folder, make the first segment, start the writer
 *     journal_segment.c  make a segment: create, allocate, sync the folder
 *     journal_append.c   batches; append, state
 *     journal_write.c    the writer op: head, run, sync, rotate, close
 *     journal_forget.c   remove old segments
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "io/journal_format.h"

/* Makes one segment.  Ended with OK: `file` is open, allocated and named durably. */
struct segment {
    struct op op;
    struct journal *journal;
    struct io_req req;
    struct io_file *file; /* NULL: none, or failed */
    uint64_t id;
    enum err err;
    bool busy; /* being made */
    char path[JOURNAL_PATH_BYTES];
};

/* Records that are written and synced together. */
struct batch {
    struct list link;
    struct buf bytes;    /* room for a mark, then records */
    struct list waiting; /* io_req.link of the appends, in order */
    uint32_t records;
};

struct journal {
    struct op writer;
    struct io *io;
    char folder[JOURNAL_PATH_BYTES];
    struct journal_options options;
    uint64_t first;              /* segment of this opening */
    uint64_t lowest;             /* segment that is still there */
    struct segment next;         /* made ahead of its use */
    struct io_file *file;        /* being filled */
    struct io_file *former;      /* filled, to be closed */
    struct journal_position end; /* where the next run goes */
    struct journal_position proven;
    enum err broken;         /* the first cause, or OK */
    uint64_t full_ns;        /* when the last segment was refused for space; 0: it was not */
    struct batch *filling;   /* takes appends; may be empty */
    struct batch *writing;   /* under way, or NULL */
    struct list full, spare; /* batches: waiting for the writer, waiting for use */
    unsigned spare_count;
    struct list refused; /* appends to a broken journal */
    bool is_idle;        /* the writer waits for something to do */
    bool is_unsynced, is_closing, is_proof;
    uint64_t synced_ns; /* PERIODIC: when the last sync began */
    struct io_req req, former_req, tick;
    struct io_req *closing; /* journal_close's */
    uint8_t head[JOURNAL_BLOCK_BYTES];
    struct journal_counts counts;

    struct op forgetter; /* journal_forget.c */
    bool is_forgetting;
    struct list forgets;
    struct io_req forget_req;
    struct io_stat forget_stat;
    char forget_path[JOURNAL_PATH_BYTES];
};

void journal_segment_make(struct segment *, struct op *parent, struct journal *, uint64_t id);
/* Whether the limit allows one more. */
bool journal_may_grow(const struct journal *);
void journal_writer_start(struct journal *);
struct batch *journal_batch_new(struct journal *);
/* Completes all appends of a list; the batch that is written, which is then used again. */
void journal_complete(struct journal *, struct list *waiting, enum err);
void journal_writing_done(struct journal *, enum err);
bool journal_was_refused(const struct journal *);
void journal_free(struct journal *);
void journal_forget_start(struct journal *);
