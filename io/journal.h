/* journal.h - the checksummed record log under commit log, hints and metadata.
 *
 *     folder/  1.log  2.log  3.log ...          numbered segments, filled one after the other
 *     segment: header block | block | block ...  each sync's records begin on a new 4 KiB block
 *
 * Appenders wait for the sync that covers them; all that arrive while one sync runs share the next
 * (group commit, without idle).  Each block carries the segment's id and its own offset (a stale or
 * misdirected block is seen) and how far the previous sync has proven the log: a bad record before
 * that point is a hole (ERR_CORRUPT, with segment and offset), after it a torn tail (what still
 * verifies is delivered, the rest is counted).
 *
 * A failed write or sync is never retried as if it had worked: the journal breaks, and every later
 * append fails with the first cause.
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
    uint64_t segment_bytes;   /* a multiple of 4096, at least 64 KiB */
    uint64_t total_bytes_max; /* 0: no limit; past it appends fail with ERR_NO_SPACE */
};
struct journal_position {
    uint64_t segment, offset;
};
/* What a replay saw. */
struct journal_replay {
    uint64_t records, bytes, torn_bytes;
    struct journal_position bad; /* of a hole */
    char bad_file[200];
};

/* Reads every record of the folder in order and hands each to `record`, whose bytes last only for
 * the call; an error it returns ends the replay with that error.  Opens nothing for writing: so any
 * shard may read any folder.  A missing folder has no records.  Completes req. */
void journal_read(struct io *, struct io_req *, struct op *, const char *folder,
                  enum err (*record)(void *context, struct bytes, struct journal_position),
                  void *context, struct journal_replay *out);

/* Starts a new segment after the highest one in the folder; never writes to an old one.  *out is
 * set when req completes with OK. */
void journal_open(struct io *, struct io_req *, struct op *, const struct journal_options *,
                  struct journal **out);
/* Completes req when the record is durable by the mode; with OK, req->size is the id of the segment
 * that holds it.  The bytes are copied inside the call.  A record has 1 .. segment_bytes / 2 bytes.
 */
void journal_append(struct journal *, struct io_req *, struct op *, struct bytes record);
/* What the next record's append would fail with: OK, the cause of the break, or ERR_NO_SPACE (which
 * is believed for a second after an append was refused, and as long as the limit is reached). */
enum err journal_state(const struct journal *);
/* Syncs what was appended and closes; *journal becomes NULL at once. */
void journal_close(struct journal **, struct io_req *, struct op *);
/* Removes whole segments with an id below `segment`. */
void journal_forget(struct journal *, struct io_req *, struct op *, uint64_t segment);

struct journal_counts {
    uint64_t appends, syncs, bytes, segments;
    uint64_t disk_bytes;
};
const struct journal_counts *journal_counts(const struct journal *);
