/* journal.h - the checksummed record log under commit log, hints and metadata.
 *
 *     folder/  1.log  2.log  3.log ...  7.spare   numbered segments, filled one after the other
 *     segment: header block | block | block ...  each sync's records begin on a new 4 KiB block
 *
 * Appenders wait for the sync that covers them; all that arrive while one sync runs share the next
 * (group commit, without idle).  Each block carries the segment's id and its own offset (a stale or
 * misdirected block is seen) and how far the previous sync has proven the log: a bad record before
 * that point is a hole (ERR_CORRUPT, with segment and offset), after it a torn tail (what still
 * verifies is delivered, the rest is counted).
 *
 * A failed sync, or a write that the disk refused, is never retried as if it had worked: the
 * journal breaks, writes nothing any more, and every later append fails with the first cause.  Only
 * a write for which there was no space is another matter: what waited is refused with ERR_NO_SPACE,
 * and the journal goes on by itself when there is space again; what was refused is not in the log
 * then.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"

struct journal;

enum journal_mode {
    JOURNAL_GROUP,    /* complete after the sync; syncs chain */
    JOURNAL_BATCH,    /* the same, each append asks for its own sync at once */
    JOURNAL_PERIODIC, /* complete when written to the file; synced every period_ns */
};
struct journal_options {
    const char *folder; /* created when absent */
    enum journal_mode mode;
    uint64_t period_ns;       /* PERIODIC */
    uint64_t window_ns;       /* GROUP: syncs begin so far apart or farther; 0: they chain */
    uint64_t segment_bytes;   /* a multiple of 4096, at least 64 KiB */
    uint64_t total_bytes_max; /* 0: no limit; past it appends fail with ERR_NO_SPACE */
    uint64_t segment_min;     /* the new segment's id is at least this: whoever remembers positions
                                 passes one behind all of them, since a crash, or the loss of the
                                 folder, may leave less there than had been given out */
    unsigned spares_max;      /* forgotten segments that are kept to be used again */
    unsigned names_min;       /* so many names, the folder's and of those above it, are made durable
                                 even if they were there before: an opening that failed may have
                                 made them; 0: one */
    bool is_compressed;       /* records are stored packed (LZ4) where that is smaller */
};
/* Positions are ordered by segment, then offset; a record's is where its first byte stands. */
struct journal_position {
    uint64_t segment, offset;
};
/* From a place on so many bytes of its segment. */
struct journal_range {
    struct journal_position at;
    uint64_t bytes;
};

/* ---- reading ---- */

/* What to do at a hole. */
enum journal_holes {
    JOURNAL_STRICT,    /* ERR_CORRUPT; some of what stands behind may have been handed out */
    JOURNAL_UPTO_HOLE, /* hands out what stands before it, and nothing else; reads twice */
    JOURNAL_SKIP_HOLE, /* goes on behind it */
};
struct journal_reading {
    const char *folder;
    enum journal_holes holes;
    uint64_t first; /* segments below this one are not looked at */
    /* What stands here or behind it is not handed out, and nobody looks for holes before it: so one
     * may read what is durable while more is being written, in small pieces beside requests.  {0}:
     * all of the folder, at once. */
    struct journal_position end;
    /* The bytes last until `settle`, or only for the call where there is none; an error ends the
     * reading with that error. */
    enum err (*record)(void *context, struct bytes, struct journal_position);
    /* The bytes of what was handed out are about to go: so whoever wants can deal with many records
     * at once.  Called in the same step as `record`, also after an error; may be NULL. */
    void (*settle)(void *context);
    /* Must the reading rest, until what was handed out has been dealt with?  Asked between any two
     * windows (512 KiB), again and again while it says so; may be NULL. */
    bool (*must_rest)(void *context);
    /* SKIP_HOLE: what was in this range is unknown; may be NULL. */
    void (*skipped)(void *context, struct journal_range);
    void *context;
};
/* What a reading has seen; to be looked at while it goes on, too. */
struct journal_replay {
    uint64_t records, bytes;          /* handed out */
    uint64_t torn_bytes;              /* did not verify: torn tails, and holes */
    uint64_t holes, skipped_bytes;    /* found (STRICT, UPTO_HOLE: one at most); passed over */
    uint64_t done_bytes, total_bytes; /* of the files, each counted as often as it is read */
    struct journal_position bad;      /* of the first hole */
    char bad_file[200];
};

/* Reads every record of the folder in order and hands each out.  Opens nothing for writing: so any
 * shard may read any folder, as long as nobody forgets segments of it.  A missing folder has no
 * records.  Completes req; `out` stays in place until then. */
void journal_read_as(struct io *, struct io_req *, struct op *, const struct journal_reading *,
                     struct journal_replay *out);
/* The same, JOURNAL_STRICT. */
void journal_read(struct io *, struct io_req *, struct op *, const char *folder,
                  enum err (*record)(void *context, struct bytes, struct journal_position),
                  void *context, struct journal_replay *out);

/* ---- writing ---- */

/* Starts a new segment after the highest one in the folder; never writes to an old one.  Where
 * there is no space for it now, appends are refused until there is.  *out is set when req completes
 * with OK. */
void journal_open(struct io *, struct io_req *, struct op *, const struct journal_options *,
                  struct journal **out);
/* Completes req when the record is durable by the mode; appends complete in their order.  The bytes
 * are copied inside the call.  A record has 1 .. segment_bytes / 2 bytes.  Where it stands is known
 * at once, between the two values of journal_end before and after, and from the completed request:
 * journal_place. */
void journal_append(struct journal *, struct io_req *, struct op *, struct bytes record);
static inline struct journal_position journal_place(const struct io_req *appended)
{
    return (struct journal_position){ .segment = appended->size, .offset = appended->key };
}
/* Everything appended so far stands before this position, whatever becomes of it; everything
 * appended from now on stands there or behind.  Never goes back. */
struct journal_position journal_end(const struct journal *);
/* What the next record's append would fail with: OK, the cause of the break, or, for the time
 * being, ERR_NO_SPACE or ERR_FILES_LIMIT.  Those are believed for a second after an append was
 * refused, and the first as long as the limit is reached; then the next append tries. */
enum err journal_state(const struct journal *);
/* There may be space again: believes the refusal no longer. */
void journal_poke(struct journal *);
/* Syncs what was appended and closes; *journal becomes NULL at once. */
void journal_close(struct journal **, struct io_req *, struct op *);
/* Gives up whole segments with an id below `segment`: removes them or keeps them as spares.  Nobody
 * reads them meanwhile. */
void journal_forget(struct journal *, struct io_req *, struct op *, uint64_t segment);

struct journal_counts {
    uint64_t appends, syncs, bytes;    /* of the records as they were given */
    uint64_t stored_bytes;             /* of the runs: packed, with marks and padding */
    uint64_t segments, spares, reused; /* there; kept; how often one was used again */
    uint64_t disk_bytes;               /* of segments and spares */
};
const struct journal_counts *journal_counts(const struct journal *);
