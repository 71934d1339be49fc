/* cluster.h - who is there, who owns a key, who is alive, what all have agreed on; and messages.
 *
 *     ring.h      tokens and replicas: pure functions of the members
 *     metadata    one ordered log of epochs, appended by compare-and-set with every member's
 *                 consent (Paxos whose quorum is all), kept in a journal, followed by everyone
 *     peers       connections between shards of nodes: request, urgent, bulk lanes; msgpack heads
 *     liveness    gossip, a phi of silence, connections that break; events; clocks that differ
 *
 * The facade of cluster/.  One struct cluster a shard.  Shard 0 owns metadata, the urgent lane and
 * liveness, and tells the others by mail; each shard has its own request and bulk lanes and its own
 * copy of the ring, so replicas and liveness are answered without leaving the shard.
 *
 * Identity is a host id on disk; addresses may change.  Members are numbered from 1 by their order
 * in the birth entry; struct node below is addressed by that number.
 *
 * Limits: members are the seeds, fixed at birth; joining and leaving are not there yet.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/ring.h"
#include "io/io.h"
#include "io/journal.h"
#include "model/model.h"

enum { CLUSTER_BODY_BYTES_MAX = 20 * 1024 * 1024 };

/* X(name, code): what a request asks of the other side; the owner of the body's format. */
#define VERB_LIST(X)                                                      \
    X(PING, 1)    /* cluster */                                           \
    X(BIRTH, 2)   /* cluster: seeds exchange what they are */             \
    X(PREPARE, 3) /* cluster: Paxos of the metadata log */                \
    X(ACCEPT, 4)                                                          \
    X(COMMIT, 5)                                                          \
    X(FETCH, 6)     /* cluster: metadata entries from an epoch on */      \
    X(GOSSIP, 7)    /* cluster: who has heard what of whom */             \
    X(APPLY, 16)    /* node: a mutation; answers a byte: synced? */       \
    X(READ, 17)     /* node: model/read.h; answers an encoded result */   \
    X(TRUNCATE, 18) /* node: a round and a table id */                    \
    X(HINTS, 19)    /* node: mutations that were missed; how each went */ \
    X(DIGEST, 20)   /* node: a read; answers its digest */                \
    X(BATCH, 21)    /* node: a record of the batchlog: keep, forget */    \
    X(REPAIR, 22)   /* node: a range was made equal: it is known again */
enum verb {
#define X(name, code) VERB_##name = code,
    VERB_LIST(X)
#undef X
};

struct cluster;
struct cluster_request;

struct cluster_options { /* what it points to lives until the cluster is closed */
    const char *cluster_name;
    const char *metadata_folder;              /* of the node: metadata log and identity */
    struct io_addr listen, broadcast, native; /* between nodes; as others reach it; for clients */
    size_t seeds_count;
    const char *const *seeds; /* host or host:port; contain this node's own address */
    uint16_t storage_port;
    unsigned tokens_count;
    const char *data_center, *rack;
    double phi_convict_threshold; /* 8 */
    uint64_t peers_bytes_max; /* of requests in flight to other nodes, an even share each; and of
                                 those of another node on one connection; 0: any */
    unsigned credits;         /* requests in flight on one lane; 0: 1024 */
    struct cluster *first;    /* shards other than 0: the cluster of shard 0 */
    /* What the node fills in; called on the shard, never from inside a cluster_* call that the node
     * made, and quick: they note and wake. */
    void *context;
    /* A metadata entry has become part of the log at this epoch: on every shard, in order, before
     * any request of a later epoch is handled there; bytes last for the call.  An entry without a
     * schema change (the birth) has no bytes: only the epoch moves. */
    void (*applied)(void *context, uint64_t epoch, struct bytes change);
    /* A request of a node's verb has come; answer it once with cluster_answer, soon or later. */
    void (*request)(void *context, struct cluster_request *);
    /* A member went up or down (shard 0 and all others). */
    void (*changed)(void *context, const struct ring *, unsigned node, bool is_up);
};

/* Shard 0 first: *out is set at once (for cluster_waits_for) and NULL again after a failure; opens
 * the metadata log, calls `applied` for every entry, listens, connects, and completes when this
 * node is a member of a born cluster that has caught up (born now, or long ago: then it needs
 * nobody).  The other shards: after shard 0's has completed, with the same options and `first`;
 * they close before shard 0 does. Errors with a sentence: a foreign or newer folder, a corrupt
 * metadata log, the port taken, a ring that it does not belong to ("joining is not there yet"). */
void cluster_open(struct io *, struct io_req *, struct op *, const struct cluster_options *,
                  struct cluster **out, struct report *failed);
void cluster_close(struct cluster **, struct io_req *, struct op *);
/* Shard 0: from now on the others may count on this node (all its shards are open, its data is
 * there).  Until then it says "not ready" and is down for them. */
void cluster_serve(struct cluster *);
/* Shard 0: no longer; the others are told at once, and changes under way are called off. */
void cluster_unserve(struct cluster *);
/* A node that waits for its birth tells what it waits for ("2 of 3 seeds have answered: ..."). */
const char *cluster_waits_for(const struct cluster *);

/* The ring as this shard knows it; valid until the shard's next turn. */
const struct ring *cluster_ring(const struct cluster *);
unsigned cluster_self(const struct cluster *);             /* this node's number */
bool cluster_is_up(const struct cluster *, unsigned node); /* true for itself */
uint64_t cluster_epoch(const struct cluster *);

/* False when this shard has stood still for more than 2 s (SIGSTOP, a machine without a processor)
 * and the metadata has not been read since: coordinate nothing; cluster_wake completes when it has
 * been (OK), or when there is a later epoch that cannot be had (ERR_BEHIND). */
bool cluster_is_awake(const struct cluster *);
void cluster_wake(struct cluster *, struct io_req *, struct op *);

/* What shard 0 has heard of a node, this one among them. */
struct cluster_peer {
    uint64_t generation, heartbeat; /* seconds since 1970 when its process began; seconds since */
    uint64_t version, epoch;        /* of what it says of itself; 0: nothing yet */
    bool is_ready;
    double phi; /* of its silence; 0 while it is down, and of this node */
    bool has_clock;
    int64_t clock_offset_us; /* its clock less ours */
    uint64_t round_trip_ns;
};
void cluster_peer(const struct cluster *, unsigned node, struct cluster_peer *out);
/* This node's clock less the median of its peers', as shard 0 knows; false when it is more than
 * 500 ms off. */
bool cluster_clock(const struct cluster *, int64_t *off_us);

/* ---- messages ---- */
struct cluster_call {    /* a leaf: embed it in the op that waits */
    struct io_req req;   /* OK, ERR_TIMEOUT, ERR_CLOSED, ERR_OVERLOADED (no credit), or the answer's
                            err */
    struct arena *arena; /* where the answer's bytes are put; set before the call */
    struct bytes answer;
    struct list link; /* for the implementation */
    uint64_t id, deadline_ns;
    unsigned node;
    enum err failed; /* for the implementation */
    void *impl;
};
/* Sends a request on this shard's lane to that node (to itself is a mistake).  `token_shard`: a
 * token whose shard on the other side should handle it, or 0 with has_token false.  The body is
 * copied inside the call. */
struct cluster_message {
    unsigned node;
    enum verb verb;
    struct bytes body;
    uint64_t deadline_ns; /* io_now time */
    bool has_token;
    int64_t token;
};
void cluster_call(struct cluster *, struct cluster_call *, struct op *,
                  const struct cluster_message *);
/* No longer wanted: completes with ERR_STOPPED (later); a late answer is dropped. */
void cluster_cancel(struct cluster *, struct cluster_call *);

struct cluster_request {     /* someone else's request, owned by the cluster until it is answered */
    struct cluster *cluster; /* of the shard that answers */
    unsigned node;           /* who asks */
    enum verb verb;
    uint64_t epoch;       /* of the sender */
    uint64_t deadline_ns; /* in this node's io_now time: budget left when it came */
    bool has_token;
    int64_t token;
    struct bytes body;  /* lasts until the answer */
    struct arena arena; /* for the answer's making; lasts until the answer */
    struct list link;   /* for the handler */
    void *impl;
};
/* Exactly once.  err other than OK travels by its number; the body is copied inside the call. */
void cluster_answer(struct cluster_request *, enum err, struct bytes body);

/* ---- the metadata log ---- */
struct cluster_change {
    uint64_t epoch;     /* where it shall stand: the proposer's epoch + 1 */
    struct bytes bytes; /* copied */
    uint64_t deadline_ns;
};
/* Appends a change as the entry at its epoch.  Shard 0 only.  OK when every live member has applied
 * it; ERR_UNAVAILABLE (a member is down: nothing was sent; the report says who), ERR_EXISTS
 * (another change took that epoch: look again), ERR_LIMIT (too large), ERR_TIMEOUT (unknown: it may
 * yet be decided). */
void cluster_append(struct cluster *, struct io_req *, struct op *, const struct cluster_change *,
                    struct report *failed);
/* Makes sure that this shard has at least that epoch, asking `node`; ERR_BEHIND when it cannot be
 * had within the deadline. */
void cluster_catch_up(struct cluster *, struct io_req *, struct op *, uint64_t epoch, unsigned node,
                      uint64_t deadline_ns);

struct cluster_counts {
    uint64_t sent, received, answered, timeouts, bad_frames, dropped, reconnects, gossips;
    uint64_t bytes;         /* of requests in flight to other nodes */
    uint64_t clock_skew_us; /* shard 0: how far off, whichever way */
    /* Mutations answered before the node saw them: of an epoch that could not be had; at a stop. */
    uint64_t mutations_behind, mutations_stopped;
};
void cluster_counts(const struct cluster *, struct cluster_counts *out);
