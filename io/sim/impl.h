/* impl.h - what the files of the simulator share.
 *
 *     struct sim ── nodes[] ── shards[]: struct io      world.c, clock.c
 *        │             ├── disk: inodes, un-synced      disk.c, folder.c, crash.c, file.c, tree.c,
 * hand.c │             ├── ways[][]: mail               mail.c │             └── sockets, listeners
 * net.c, socket.c ├── events: a heap by (time, sequence)         event.c └── connections: two ends,
 * packets             net.c
 *
 * Invariants:
 *   1. Time passes only in sim_step, from one event to the next.
 *   2. An event of a shard fires only when that shard is not busy; it is dropped when its node
 * dies.
 *   3. While a node's code runs, its node owns the blocks that mem_alloc hands out (owner.c); what
 *      the simulator itself allocates belongs to nobody.
 *   4. Nothing depends on an address: lists and sequence numbers order everything.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/prng.h"
#include "io/sim/disk_impl.h"
#include "io/sim/net_impl.h"
#include "io/sim/sim.h"

enum { PLACES = SIM_NODES_MAX + SIM_CLIENTS_MAX };

/* ---- events (event.c) ---- */
struct event {
    uint64_t at, seq;
    struct list of_io;  /* all events of a shard */
    struct io *io;      /* whose turn it is; NULL: the world's own */
    struct io_req *req; /* completes with err and size after `fire`; may be NULL */
    void (*fire)(struct event *);
    enum err err;
    size_t size;
    bool is_dead;    /* will be skipped */
    bool may_stop;   /* io_cancel ends it early: a sleep */
    bool is_at_kill; /* fires also when its node ends, with ERR_STOPPED */
    void *object;    /* what follows is for `fire` */
    void *out;
    struct unsynced *change; /* done when this fires; or NULL */
    const void *from;
    uint64_t n, offset;
    struct event *next_free;
};
struct event *sim_event_after(struct sim *, struct io *, uint64_t ns);
/* Begins the request; it completes after ns. */
struct event *sim_event_request(struct io *, struct io_req *, struct op *, uint64_t ns);
/* Completes a request that has begun and waits for nothing any more. */
struct event *sim_event_finish(struct io *, struct io_req *, enum err);
void sim_event_again(struct sim *, struct event *, uint64_t at); /* instead of firing */
void sim_event_drop(struct event *);
struct event *sim_event_next(struct sim *); /* taken out of the heap; NULL when there is none */
void sim_event_free(struct sim *, struct event *);
void sim_event_complete(struct event *);

void sim_wait_begin(struct sim_wait *, struct io_req *, struct op *, void *to, size_t n);
/* Takes the request out of the wait; the caller completes it. */
struct io_req *sim_wait_take(struct sim_wait *);

/* ---- memory (owner.c) ---- */
struct sim_node *
sim_owner_set(struct sim_node *); /* who owns what is allocated now; the former one */
void sim_owner_free_all(struct sim_node *);
void sim_owner_begin(void);
void sim_owner_end(void);
void *sim_zalloc(size_t size); /* nobody's */

/* ---- mail (mail.c) ---- */
struct way {
    struct io_mail *first, *last;
    unsigned credits_used;
};

/* ---- shards, nodes, the world (clock.c, world.c) ---- */
struct io {
    struct sim *sim;
    struct sim_node *node;
    struct ops ops;
    int self;
    bool has_quit;
    void *context;
    struct list events;
    uint64_t busy_until;
    uint64_t turn_ns;            /* prices of this turn */
    uint64_t step_ns, step_seen; /* prices of the running step; which one that is */
    bool has_turn;               /* an event for its next turn is in the heap */
    struct io_counts counts;
};
struct sim_node {
    struct sim *sim;
    int index;
    bool is_alive, is_client;
    int shards_count;
    struct io_addr addr;
    struct io shards[SIM_SHARDS_MAX];
    struct prng prng;
    int64_t skew_us;
    int drift_ppm; /* since drift_ns, on top of it */
    uint64_t drift_ns;
    struct sim_disk disk;
    struct list files, sockets, listeners, given;
    unsigned handles, handles_left;
    uint64_t blocks_count, blocks_taken, ticket_last;
    uint16_t port_last;
    struct way ways[SIM_SHARDS_MAX][SIM_SHARDS_MAX];
    struct sim_wait signal;
    struct io_counts counts; /* of former runs */
};
struct sim {
    struct sim_node *nodes[PLACES]; /* NULL: never used */
    struct sim_faults faults;
    uint64_t seed;
    struct prng prng;
    uint64_t now_ns, seq, hash;
    struct heap events;
    struct event *free_events;
    struct list connections;
    bool is_cut[PLACES][PLACES];
    struct buf scratch; /* sim_file */
};
struct sim_node *sim_place(struct sim *, int node); /* made when it was never used */
bool sim_power_fails(struct sim_node *);
uint64_t sim_below(struct sim *, uint64_t n); /* 0 .. n-1; 0 when n is 0 */
uint64_t sim_latency(struct sim *, uint64_t ns_max);
void sim_mix(struct sim *, uint64_t);
void sim_mix_bytes(struct sim *, struct bytes);
/* Runs before and after a node's code. */
void sim_enter(struct io *);
void sim_leave(struct io *);
