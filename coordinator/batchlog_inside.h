/* batchlog_inside.h - what the files of the batchlog share.  Private to it.
 *
 *     batchlog.c        what is kept, and what coordinators ask
 *     batchlog_write.c  the op that writes what nobody has ended, and gives up segments
 *     batchlog_open.c   the beginning
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "coordinator/batchlog_record.h"
#include "coordinator/inside.h"
#include "io/journal.h"

struct kept {
    struct list link; /* log->kept, the first due first */
    struct batch_record record;
    struct bytes bytes; /* the record as it came; mutations point into it */
    struct journal_position at;
    uint64_t due_ns;
    unsigned tries;
    bool is_forgotten; /* while it is being written from here */
};
struct written { /* one mutation of the batch that is being written */
    struct io_req req, settled;
    struct coordinator_outcome outcome;
};
struct batchlog {
    struct op op;
    struct batchlog_options options;
    struct io *io;
    struct journal *journal;
    struct map by_id;
    struct list kept;
    struct io_req nap, tidy, word;
    struct kept *current; /* being written from here */
    struct written *written;
    size_t written_count;
    struct arena arena; /* of what is being written */
    bool is_moving;     /* a batch is being appended again: */
    struct uuid moving;
    struct journal_position moves_to;
    uint64_t tidied; /* segments below this one were given up */
    bool is_stopping;
    struct batchlog_counts counts;
    struct journal_replay replay;
};

/* How long a batch is left to its coordinator. */
static inline uint64_t log_age_ns(const struct batchlog *log)
{
    return 2 * log->options.timeout_ns;
}

/* ---- batchlog.c ---- */
struct kept *kept_of(struct batchlog *, const struct uuid *id);
/* Copies the record, which batch_get has understood. */
void kept_add(struct batchlog *, struct bytes, struct journal_position at);
void kept_remove(struct batchlog *, struct kept *);
void kept_queue(struct batchlog *, struct kept *, uint64_t due_ns);
/* Takes a table's mutations out of all that is kept. */
void log_erase(struct batchlog *, const struct uuid *table);
void log_free(struct batchlog *);

/* ---- batchlog_write.c ---- */
void log_start(struct batchlog *);
