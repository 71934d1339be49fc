/* first.h - what only shard 0 does: the metadata log, liveness, listening, telling the other
 * shards. Private to cluster/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/gossip.h"
#include "cluster/internal.h"
#include "cluster/liveness.h"
#include "cluster/skew.h"

/* ---- share.c ---- */
struct share { /* shard 0: one a shard */
    struct post post;
    bool is_busy, is_registered;
    bool has_log;   /* a snapshot of it: from then on it is told of entries */
    uint64_t dirty; /* nodes whose news the shard has not heard */
    struct node nodes[NODES_MAX];
    size_t count;
};
void shares_start(struct cluster *);
void shares_note(struct cluster *, unsigned node); /* something about it has changed */
/* Posts an entry to all other shards; *left counts down to 0, then the op is woken. */
void shares_entry(struct cluster *, struct op *, uint64_t epoch, unsigned *left);
void share_register(struct cluster *, struct io_req *, struct op *); /* another shard */
void share_leave(struct cluster *, struct io_req *, struct op *);
bool shares_are_left(const struct cluster *); /* shard 0: by all others */
/* The next entry becomes part of this shard's log. */
void cluster_apply(struct cluster *, uint64_t epoch, struct bytes value);
/* A node's up, address or version, as this shard knows it from now on. */
void cluster_set_node(struct cluster *, const struct node *);

/* ---- the metadata log (shard 0) ---- */
struct vote { /* in and out of one step of this node's acceptor */
    uint64_t epoch;
    struct ballot ballot;
    bool is_accept;
    struct bytes value;  /* in: to accept; borrowed until the end */
    struct arena *arena; /* for the answer's value */
    struct paxos_answer answer;
};
/* OK: see the answer (yes or no, durable); ERR_EXISTS: that epoch is decided; ERR_BEHIND: this node
 * lacks the epoch before it; or the journal's error. */
void vote_start(struct cluster *, struct io_req *, struct op *, struct vote *);
/* Writes a decided entry, and applies it on every shard; OK also when it is there already.
 * ERR_BEHIND: not the next one. */
void learn_start(struct cluster *, struct io_req *, struct op *, uint64_t epoch,
                 struct bytes value);
/* Proposes an entry's value; else as cluster_append. */
void propose_start(struct cluster *, struct io_req *, struct op *,
                   const struct cluster_change *value, struct report *);
void proposals_stop(struct cluster *);
void finisher_start(struct cluster *);
/* Fetches entries from `node` until `epoch` is applied on every shard; shard 0. */
void fetch_start(struct cluster *, struct io_req *, struct op *, uint64_t epoch, unsigned node,
                 uint64_t deadline_ns);
void fetch_lagging(struct cluster *, unsigned node, uint64_t epoch); /* if none is under way */
void address_learn(struct cluster *, const struct hello *); /* of a member; durable, shared */

/* ---- gossiper.c (shard 0) ---- */
struct talker;
struct gossiper {
    struct gossip gossip;
    struct liveness_table liveness;
    struct skew skew;
    uint64_t began_ns;
    uint64_t epochs[NODES_MAX]; /* as the nodes told them last */
    struct talker *talkers[NODES_MAX];
    struct buf state; /* this node's, being written */
};
void gossiper_start(struct cluster *);
void gossiper_free(struct cluster *);
void gossiper_event(struct cluster *, unsigned node, enum liveness_event);
void gossiper_request(struct cluster *, struct cluster_request *); /* GOSSIP; answers it */
void gossiper_tell_all(struct cluster *);           /* this node has changed: at once */
void gossiper_tick(struct cluster *);               /* looks at every silence and at the clocks */
void gossiper_stood(struct cluster *, uint64_t ns); /* this node itself stood still for so long */

/* ---- system.c, seeds.c, accept.c (shard 0) ---- */
void system_request(struct cluster *, struct request *);
void ping_make(const struct cluster *, struct ping *out); /* what this node says of itself now */
/* Talks to the seeds until this node is a member of a born cluster. */
void seeds_start(struct cluster *, struct io_req *, struct op *);
void seeds_state(struct cluster *, struct buf *out);           /* the answer to BIRTH */
struct io_addr seeds_numeric(const char *text, uint16_t port); /* family 0: a name */
uint16_t seeds_host(const char *text, uint16_t port, char *host, size_t room);
enum err accept_listen(struct cluster *);
void accept_start(struct cluster *);
void hello_make(const struct cluster *, enum lane, struct hello *out);
/* Why the hello's sender may not use the lane. */
enum refusal hello_judge(const struct cluster *, const struct hello *);
