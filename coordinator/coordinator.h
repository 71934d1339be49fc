/* coordinator.h - carries out a request on the replicas and answers at its consistency level.
 *
 *     write.c   one mutation to all replicas; acks count up to the level; then it lingers
 *     batch.c   a logged batch: kept by others, then written, then forgotten; batchlog.h keeps it
 *     owed.h    in which ranges something may linger, or be missing for good
 *     repair.h  makes the replicas of a piece of the ring equal, page by page
 *     hints.h   what a replica missed is kept on disk and delivered later
 *     read.c    one partition; scan.c a range of tokens, stretches of the ring
 *     ask.c     a round of a read: rows of one replica, digests of others; repair where they differ
 *     latency.h which replicas are asked, and when one more is
 *
 * The facade of coordinator/.  One struct coordinator a shard.  It knows replicas by number and
 * speaks to the local one through a slot that the node fills, to the others through cluster/.
 *
 * Honest answers: ERR_UNAVAILABLE means that nothing was sent; ERR_WRITE_TIMEOUT and
 * ERR_READ_TIMEOUT say how many were received and required; a failure names how many failed.
 * A replica's acknowledgement is counted once, whatever is repeated.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/cluster.h"
#include "coordinator/batchlog.h"
#include "coordinator/hints.h"
#include "coordinator/level.h"
#include "coordinator/owed.h"
#include "coordinator/repair.h"
#include "io/io.h"
#include "model/model.h"

struct coordinator;

/* The local replica, as the node fills it in.  Each works for any token of this node: the node
 * crosses to the shard that owns it. */
struct replica_slot {
    void *context;
    /* Durable and visible: OK, and req->size is 1 when it was synced by then, else 0; or why not.
     * `mutation` is borrowed until completion.  ERR_TIMEOUT: the deadline passed before any of it
     * was done. */
    void (*apply)(void *context, struct io_req *, struct op *, int64_t token, struct bytes mutation,
                  uint64_t deadline_ns);
    /* An encoded result (model/read.h) into *answer, in the arena. */
    void (*read)(void *context, struct io_req *, struct op *, const struct read *, struct arena *,
                 struct bytes *answer, uint64_t deadline_ns);
    /* Inline, for a token of this very shard: ERR_WOULD_WAIT when it cannot. */
    enum err (*read_now)(void *context, const struct read *, struct arena *, struct read_sink *,
                         struct read_outcome *);
    /* What the batchlog of this node is asked (batchlog_take), borrowed until completion. */
    void (*batch)(void *context, struct io_req *, struct op *, struct bytes request,
                  uint64_t deadline_ns);
};
struct coordinator_options {
    struct io *io;
    struct cluster *cluster;
    struct replica_slot replica;
    struct hints *hints;         /* of this shard; NULL: what a replica misses is not kept */
    struct owed *owed;           /* of this shard; NULL: nor is where something may be missing */
    uint64_t requests_bytes_max; /* of requests in flight here */
};
struct coordinator *coordinator_new(const struct coordinator_options *);
/* All its ops must have ended (coordinator_stop, then wait for coordinator_idle). */
void coordinator_free(struct coordinator **);
void coordinator_stop(struct coordinator *);
bool coordinator_idle(const struct coordinator *);

/* What a read does about replicas that lack something: what the table says (read_repair), repair
 * them all the same, or only count. */
enum read_repair { READ_REPAIR_AS_TABLE, READ_REPAIR_ALWAYS, READ_REPAIR_COUNTS };

/* How it went, for the client. */
struct coordinator_outcome {
    unsigned required, alive, received, failed; /* replicas */
    unsigned missing; /* ERR_UNAVAILABLE: the first dead one's node number */
    bool has_data;
    bool is_of_batchlog; /* required, received and alive are keepers of a batch */
    /* As it was when the client was answered: of all replicas those that have acknowledged (of a
     * read: whose answers it is made of, of a range the fewest of a stretch), of these those where
     * it was synced, and those for which a hint was kept. */
    unsigned replicas, acked, synced, hinted;
    /* Of `failed`: which node, and why (ERR_CORRUPT, ERR_BEHIND, ERR_IO, ...). */
    struct coordinator_failure {
        unsigned node;
        enum err err;
    } failures[REPLICAS_MAX];
    /* Of a read's last round: rows of all were looked at; rows that some replica lacks something
     * of, counted for each replica; mutations that make up for it. */
    bool has_differed;
    unsigned rows_differed, repairs;
};

struct coordinator_write {
    const struct keyspace *keyspace;
    enum level level;
    int64_t token;
    struct bytes mutation; /* copied inside the call */
    uint64_t deadline_ns;
    /* NULL, or a second request of the same op, which completes with OK when the write no longer
     * lingers: each replica has it, or has a hint, or was given up.  Its size is how many have it
     * or have a hint. */
    struct io_req *settled;
};
/* Completes at the level, or when it is out of reach, or at the deadline; where something lingers
 * then, not before that is remembered (owed.h), and never later than half a second after the
 * deadline.  Then the write lingers in the coordinator's hands until each replica has it or a hint
 * was kept, or refused, for it. */
void coordinator_write(struct coordinator *, struct io_req *, struct op *,
                       const struct coordinator_write *, struct coordinator_outcome *);

/* A logged batch: kept by two other nodes before anything is written, so that they write it when
 * this node dies.  From then on it will be written, and errors are timeouts or failures. */
struct coordinator_batch {
    enum level level;
    size_t count; /* at least 1 */
    const struct coordinator_batch_part {
        const struct keyspace *keyspace;
        int64_t token;
        struct bytes mutation;
    } * parts; /* copied inside the call, and what they point to */
    uint64_t deadline_ns;
};
/* Completes when each mutation is at the level, or one cannot be.  The outcome is that of the one
 * that failed, and with OK of the least.  Then the batch lingers until it can be forgotten. */
void coordinator_batch(struct coordinator *, struct io_req *, struct op *,
                       const struct coordinator_batch *, struct coordinator_outcome *);
/* Have fewer replicas acknowledged, of as many fewer synced, or have fewer a hint? */
bool outcome_is_less(const struct coordinator_outcome *, const struct coordinator_outcome *);

struct coordinator_read {
    const struct keyspace
        *keyspace;             /* borrowed until completion of a range, else inside the call */
    const struct table *table; /* borrowed until completion, as is `read` */
    enum level level;
    const struct read *read;
    uint64_t deadline_ns;
    struct arena *arena;    /* for answers and the outcome's position */
    struct read_sink *sink; /* fed when everything needed is there: all in one step */
};
/* One partition or a range; feeds the sink with merged rows, fills the outcome.  It may bring fewer
 * rows than the limit and still have more: go on behind out->last. */
void coordinator_read(struct coordinator *, struct io_req *, struct op *,
                      const struct coordinator_read *, struct read_outcome *,
                      struct coordinator_outcome *);
/* Nobody waits for that read, or repair, any more: it completes early, with ERR_STOPPED unless it
 * was about to complete anyway; not inside this call.  Nothing when it is not under way. */
void coordinator_cancel(struct io_req *read);
/* The same, inline, when the level is ONE or LOCAL_ONE, this node is a replica, this shard owns the
 * token and nothing has to wait; else ERR_WOULD_WAIT and nothing has happened. */
enum err coordinator_read_now(struct coordinator *, const struct coordinator_read *,
                              struct read_outcome *);

/* Where the mutations for one target are, since the start, each in one place:
 *
 *     sent = in_flight + acked + hinted + withdrawn + refused[every reason]
 *
 * One that is acknowledged although a hint was kept for it is acked, and counted as late; so hinted
 * + late is how many hints were written for writes since the start. */
struct coordinator_book {
    uint64_t sent, in_flight, acked, hinted;
    uint64_t refused[HINT_REFUSALS_COUNT]; /* no hint could be kept; their ranges are unknown */
    uint64_t withdrawn;   /* every replica was overloaded, and the client was told */
    uint64_t late, early; /* early: a hint was due only because lingering took too many bytes */
};
/* Calls `each` for every target that something was sent to. */
void coordinator_books(const struct coordinator *,
                       void (*each)(void *context, unsigned node, const struct coordinator_book *),
                       void *context);
/* For how long the oldest write has been under way, answered or not, that is not on all its
 * replicas nor hinted; 0: there is none. */
uint64_t coordinator_oldest_ns(const struct coordinator *);
void coordinator_book_add(struct coordinator_book *into, const struct coordinator_book *from);

struct coordinator_counts {
    uint64_t writes, batches, reads, scans, local_reads, unavailable, timeouts, failures, late_acks;
    uint64_t in_flight;
    uint64_t bytes; /* now: held by writes, answered or not */
    /* Reads: rounds in which digests were not equal; mutations sent to replicas that lacked them,
     * the rows in these, and those that failed; rounds in which digests differed although no
     * replica lacked anything and none had changed (never); replicas asked because others took too
     * long; reads from slow ones only to measure them. */
    uint64_t digest_mismatches, repairs, repaired_rows, repairs_failed, needless_repairs;
    uint64_t speculations, probes;
};
void coordinator_counts(const struct coordinator *, struct coordinator_counts *out);
