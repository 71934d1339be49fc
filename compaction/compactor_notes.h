/* compactor_notes.h - what a compactor keeps over a restart: averages of flush sizes, history.
 *
 *     journal in its folder:   record = entries;   entry = vint size | kind | body
 *         NOTE_AVERAGE         table id (16) | bytes, a double (8, big endian)
 *         NOTE_PAST            as notes_past_encode has it
 *
 * Private to compaction/.  Notes are a convenience: damage in them, or a disk that refuses them, is
 * said in the log and stops nothing.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "base/list.h"
#include "compaction/compactor.h"
#include "io/journal.h"

struct notes_options {
    const char *folder; /* NULL: nothing is kept, but the history while it runs */
    void *context;
    /* Found at the start: the last one of a table counts. */
    void (*average)(void *context, const struct uuid *table, double bytes);
    /* Calls notes_average for every table that has one. */
    void (*averages)(void *context);
};
struct notes {
    struct op op;
    struct io *io;
    struct notes_options options;
    struct journal *journal;
    struct journal_replay replay;
    struct io_req req, *opening, *closing;
    struct buf queue;        /* entries that are not in the journal yet */
    uint64_t appended_bytes; /* of entries, since it was last written anew */
    uint64_t keep_from;      /* the segment that the live ones begin in; 0: none is forgotten now */
    bool must_rewrite, is_closing;
    bool is_behind;   /* the journal refused some: when it takes one, all are written anew */
    uint64_t strange; /* entries that could not be read */
    struct list past; /* struct past_note, oldest first */
    size_t past_count;
};

/* Never fails.  Reads what there is, calling `average`; completes when notes can be taken. */
void notes_open(struct notes *, struct io *, struct io_req *, struct op *,
                const struct notes_options *);
void notes_average(struct notes *, const struct uuid *table, double bytes);
void notes_past(struct notes *, const struct compaction_past *);
/* Newest first, in the arena. */
size_t notes_history(const struct notes *, struct arena *, struct compaction_past **out);
/* What has been noted is on the disk, as far as that takes it. */
void notes_close(struct notes *, struct io_req *, struct op *);

/* One entry's body; decoding is bounded and trusts nothing. */
void notes_past_encode(const struct compaction_past *, struct buf *out);
bool notes_past_decode(struct bytes, struct arena *, struct compaction_past *out);
