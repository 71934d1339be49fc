/* sim.h - a simulated world: nodes of shards, one disk and one clock a node, a network between
 * them, in one thread and in virtual time; the seed decides everything.
 *
 * The same seed gives the same history: sim_hash() covers every byte that is said or stored, every
 * completion and every move of an op.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"

enum { SIM_NODES_MAX = 8, SIM_SHARDS_MAX = 8 };

/* Ranges; a seed draws the values.  All zero: a perfect world of 1 ns latencies. */
struct sim_faults {
    uint64_t net_ns_max;       /* delay of a chunk */
    uint64_t disk_ns_max;      /* of a read, write or sync */
    uint64_t mail_ns_max;      /* between shards */
    unsigned would_wait_pct;   /* io_read_now refuses */
    unsigned disk_error_pct;   /* in 10,000 */
    unsigned rare_pct;         /* io_rare says yes */
    size_t chunk_bytes_max;    /* streams are cut at 1 .. this; 0: never cut */
    int64_t clock_skew_us_max; /* a node's wall clock is off by up to this */
    unsigned mail_credits;     /* 0: 1024 */
};

struct sim;
struct sim *sim_new(uint64_t seed, struct sim_faults);
void sim_free(struct sim *);

/* Starts (or restarts) a node over the disk it had: `start` runs for each shard.  `address` is where
 * its listeners and connections are ("10.0.0.1"). */
void sim_start(struct sim *, int node, int shards, const char *address,
               void (*start)(struct io *, void *arg), void *arg);
/* Kills a node without warning: its shards stop between two steps, its connections are reset, of
 * what was written and not synced a seeded part is lost (none, all, a prefix, or random sectors,
 * torn), un-synced directory entries too.  `release` is called with each shard's context so that the
 * program can free what it allocated. */
void sim_kill(struct sim *, int node, void (*release)(void *context));
bool sim_alive(const struct sim *, int node); /* started, not killed, not all shards quit */

/* Cuts the network from a to b (one way). */
void sim_cut(struct sim *, int a, int b, bool is_cut);

/* Runs ready ops, then lets the next event happen.  False when nothing is left to happen. */
bool sim_step(struct sim *);
uint64_t sim_now(const struct sim *); /* ns of virtual time */
uint64_t sim_hash(const struct sim *);
uint64_t sim_draw(struct sim *); /* a random number from the seed, for the test itself */

/* A shard of the test's own, outside all nodes: to run clients in.  Connects to node addresses. */
struct io *sim_client(struct sim *, int index);
/* What a node asked of its world, summed; what it has open now, for leak checks. */
struct io_counts sim_counts(const struct sim *, int node);
unsigned sim_open_handles(const struct sim *, int node);
/* The bytes of a file on a node's disk, or {NULL,0}; borrowed until the next step.  Overwrites are
 * for corruption tests. */
struct bytes sim_file(struct sim *, int node, const char *path);
void sim_file_set(struct sim *, int node, const char *path, size_t offset, struct bytes);
