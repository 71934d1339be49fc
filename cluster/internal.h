/* internal.h - what the files of cluster/ know of each other.  Nobody else includes it.
 *
 *     cluster.c   opening, closing, answers about the ring     one struct cluster a shard
 *     share.c     shard 0 tells the other shards               posts
 *     post.c      mail that waits for room
 *     lane.c      one way to one node: dialling, credits       conn while it stands
 *     conn.c      bytes to frames and back on one socket
 *     accept.c    listening, greeting who comes                shard 0
 *     calls.c     requests of ours and their deadlines
 *     request.c   requests of others
 *     system.c    the cluster's own verbs                      shard 0
 *     gossiper.c  news of all nodes, and liveness's events     shard 0
 *     watch.c     a node that stood still reads the metadata before it goes on
 *     seeds.c, birth.c, metadata.c, vote.c, learn.c, propose.c, fetch.c: the metadata log, shard 0
 *
 * What only shard 0 does is in first.h.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/birth.h"
#include "cluster/cluster.h"
#include "cluster/frame.h"
#include "cluster/hello.h"
#include "cluster/metadata.h"
#include "cluster/watch.h"
#include "io/log.h"

/* ---- post.c: mail to another shard of this node ---- */
/* The clusters of a node's shards.  Each shard touches its own place only; the others pass the
 * board on in their mail.  It belongs to shard 0's cluster, which closes last. */
struct board {
    int shards_count;
    struct {
        struct cluster *cluster; /* NULL: not open */
    } shards[];
};
struct post {
    struct io_mail mail;
    struct list link;
    struct cluster *from;
    struct board *board;
    int shard;
    bool is_refused;                                /* nobody was there */
    void (*there)(struct cluster *, struct post *); /* a note and a wake; then post_home */
    void (*home)(struct cluster *, struct post *);
};
struct posts {
    struct op op;
    struct list waiting; /* for room */
    struct io_req nap;
    unsigned out_count; /* posted or waiting, and not home */
};
void posts_start(struct cluster *);
/* Fill there and home before.  Never runs either inside this call. */
void post_send(struct cluster *, struct post *, int shard);
static inline void post_home(struct cluster *at, struct post *);

/* ---- conn.c: an open socket that has been greeted ---- */
struct lane_out;
struct conn {
    struct op op;
    struct cluster *c;
    struct list link;
    struct io_socket *socket;
    struct io_req recv, send;
    struct lane_out *out_lane; /* dialled by us; NULL: by the other side */
    unsigned node;             /* 0: not a member (birth) */
    enum lane lane;
    uint8_t *in;
    size_t in_size, in_room;
    struct buf out, sending, late; /* late: goes out behind the next frame (simulator) */
    unsigned shard;                /* of the other side, that dialled */
    unsigned unanswered;           /* requests that came and were not answered yet */
    size_t unanswered_bytes;       /* of their bodies */
    bool is_broken, is_open, is_reading;
};
struct conn *conn_start(struct cluster *, struct op *parent, struct io_socket *taken);
/* Appends a frame to what is sent at the end of this turn. */
void conn_send(struct conn *, const struct frame *, struct bytes body);

/* ---- lane.c ---- */
struct slot {
    struct cluster_call *call; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
    size_t bytes;
};
struct parked;
struct lane_out {
    struct op op;
    struct cluster *c;
    enum lane lane;
    unsigned node;       /* 0: a seed before birth */
    const char *seed;    /* host or host:port of it */
    struct io_addr addr; /* being dialled, or dialled */
    struct conn *conn;   /* while it stands */
    struct io_socket *socket;
    struct io_req wait, timer;
    uint8_t greeting[HELLO_BYTES_MAX];
    size_t greeting_size;
    struct buf out;
    struct slot *slots;
    unsigned slots_count, free_slot, in_flight;
    struct list parked; /* calls that wait for a connection or a credit */
    size_t bytes;       /* of bodies in flight and parked */
    uint64_t back_off_ns;
    unsigned attempts;
    bool is_self;       /* the seed is this node */
    bool is_hasty;      /* do not wait for the back-off */
    struct hello heard; /* the other side's */
};
struct lane_out *lane_open(struct cluster *, enum lane, unsigned node, const char *seed);
/* Sends or parks; false: no room. */
bool lane_call(struct lane_out *, struct cluster_call *, const struct cluster_message *);
/* The call is over (deadline, cancelled): its place is free, a late answer finds nothing. */
void lane_forget(struct lane_out *, struct cluster_call *);
void lane_answered(struct lane_out *, const struct frame *);
/* Dial at once: the other side has shown itself. */
void lane_hasten(struct lane_out *);
/* Closes the connection, if there is one: it is dialled again. */
void lane_drop(struct lane_out *);
void lane_fail_all(struct lane_out *, enum err);
uint64_t peer_bytes_max(const struct cluster *); /* of requests to, or from, one node; 0: any */

/* ---- calls.c ---- */
struct calls {
    struct op op;
    struct list running, over; /* over: end with call->failed in the op's next step */
    struct io_req timer;
    uint64_t soonest_ns, timer_ns;
};
void calls_start(struct cluster *);
void calls_begin(struct cluster *, struct cluster_call *, struct op *,
                 const struct cluster_message *, struct lane_out *);
void call_over(struct cluster *, struct cluster_call *, enum err);

/* ---- request.c ---- */
struct request {
    struct cluster_request pub;
    struct post post; /* when it is another shard's */
    struct cluster *home;
    struct conn *conn;
    uint64_t id;
    bool is_passed;
    bool is_too_new; /* for the shard that owns its token */
    enum err err;
    struct bytes answer;
    struct list link;
};
void request_arrived(struct conn *, const struct frame *);
/* Hands those that waited for an epoch on, as far as it has come; the rest fails after a fetch. */
void requests_look(struct cluster *);
void requests_deinit(struct cluster *);

struct gossiper;
struct reading;
struct seeds;

struct cluster {
    struct op op;
    struct io *io;
    struct cluster_options options;
    struct board *board;
    struct ring ring;
    struct uuid host_id;
    unsigned self;
    uint64_t epoch;
    bool is_open, is_closing, is_drained, is_ready;
    struct io_req *open_req, *close_req, wait;
    size_t rewritten;           /* records of the state that stand in the new segment */
    uint64_t rewritten_segment; /* where the first of them stands */
    struct cluster **out;
    struct report *failed;
    enum err err;
    struct cluster_counts counts;
    struct posts posts;
    struct calls calls;
    struct watch watch;
    struct lane_out *lanes[NODES_MAX][LANE_COUNT];
    struct list conns, requests_free, requests_behind;
    unsigned requests_free_count, requests_out;
    unsigned passed_count;        /* of other shards' connections, being answered here */
    bool is_behind, is_fetching;  /* an op runs for requests_behind; for news of an epoch */
    bool is_registered, is_stale; /* another shard: shard 0's snapshot has come; is out of date */
    /* shard 0 */
    struct metadata *metadata;
    struct journal_replay replay;
    struct seeds *seeds; /* while it is being born */
    struct io_listener *listener;
    unsigned greetings;
    struct gossiper *gossiper;
    struct reading *reading; /* of the metadata, after the node stood still */
    struct share *shares;    /* by shard */
    struct list proposals;   /* one at a time */
    char waits_for[400];
};

static inline bool is_first(const struct cluster *c) { return io_self(c->io) == 0; }
static inline void post_home(struct cluster *at, struct post *p) { io_post_home(at->io, &p->mail); }
static inline uint64_t millis_ns(uint64_t ms) { return ms * 1000000; }
