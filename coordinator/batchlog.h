/* batchlog.h - batches that others have begun, kept on disk until they are ended.
 *
 *     batch.c ──keep──> journal ... ──forget──>          the coordinator has written all of it
 *                          └── nobody says forget ──> written from here, then forgotten
 *
 * One a node, on shard 0, in <data>/batchlog.  A batch that its coordinator has not called ended
 * after 2 times write_request_timeout is written again, all of it, by this node: with the same
 * bytes, so that what is there already stays as it is, and with hints for replicas that miss it.
 * It is forgotten when each of its mutations is on a replica or in a hint for one, and none is
 * still under way; until then it is tried again and again.
 *
 * What is not written again: mutations of tables that are gone, of tables that were truncated after
 * the batch came, and those that are older than their table's gc_grace_seconds, since deletions of
 * what they bring may have been purged.
 *
 * Requests (VERB_BATCH) and records of the journal are the same bytes (batchlog_record.h).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/cluster.h"
#include "io/io.h"
#include "model/model.h"

struct batchlog;
struct coordinator;

enum { BATCHLOG_SEGMENT_BYTES = 4 << 20, BATCHLOG_BYTES_MAX = BATCHLOG_SEGMENT_BYTES / 2 };

struct batchlog_table { /* what the node knows of a table */
    const struct keyspace *keyspace;
    uint32_t gc_grace_seconds;
};
struct batchlog_options { /* what it points to lives until it is closed */
    struct io *io;
    struct cluster *cluster;
    struct coordinator *coordinator;
    const char *folder;
    uint64_t bytes_max;  /* of batches that are kept at the same time */
    uint64_t timeout_ns; /* write_request_timeout */
    void *context;
    bool (*table)(void *context, const struct uuid *, struct batchlog_table *out);
};
/* Reads what is there; *out is set with OK.  What does not verify is counted and said in the log:
 * it never stops a start. */
void batchlog_open(struct io_req *, struct op *, const struct batchlog_options *,
                   struct batchlog **out);
/* No more is taken (ERR_STOPPED) and no more is written.  Then wait for idle. */
void batchlog_stop(struct batchlog *);
bool batchlog_idle(const struct batchlog *);
void batchlog_close(struct batchlog **, struct io_req *, struct op *);

/* What a coordinator asks: keep a batch, or forget one; completes when that is durable.
 * ERR_OVERLOADED: too much is kept already; ERR_LIMIT: the batch is too large; ERR_CORRUPT. */
void batchlog_take(struct batchlog *, struct io_req *, struct op *, struct bytes request);
/* Mutations of this table that are kept now are never written from here; durable at completion. */
void batchlog_erase(struct batchlog *, struct io_req *, struct op *, const struct uuid *table);

struct batchlog_counts {
    uint64_t kept, forgotten; /* taken from coordinators; ended by them */
    uint64_t replayed;        /* written from here */
    uint64_t dropped;         /* mutations that were not: no table, truncated, too old */
    uint64_t damaged_bytes;   /* of the journal, at the start */
    uint64_t pending, bytes;  /* kept now */
};
void batchlog_counts(const struct batchlog *, struct batchlog_counts *out);
