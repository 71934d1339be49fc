/* ring.h - a ring of whole nodes in one simulated world: the same objects as rondod's.
 *
 * The world's network, disks, clocks and chance come from the seed; so do the faults, within ranges
 * that the seed draws, and the shards of each node.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/prng.h"
#include "io/sim/sim.h"
#include "node/node.h"

#ifndef RING_NODES
#define RING_NODES 3 /* a program may be compiled with up to SIM_NODES_MAX */
#endif

struct sim_node {
    struct config config;
    struct node_process process;
    struct io *first; /* shard 0's, while it lives */
    struct io *all[SIM_SHARDS_MAX];
    const char *address;
    struct io_addr native;
    int shards;
    struct start {
        struct sim_node *node;
    } start;
};
struct sim_ring {
    struct sim *sim;
    struct prng dice; /* of the test: what it does, not what the world does */
    struct sim_node nodes[RING_NODES];
    uint64_t kills, restarts, reshards;
};

void ring_open(struct sim_ring *, uint64_t seed);
/* The faults of the run, drawn from the seed; none. */
void ring_storm(struct sim_ring *);
void ring_calm(struct sim_ring *);
void ring_start(struct sim_ring *, int node);
void ring_kill(struct sim_ring *, int node);
/* Cuts all ways between a node and the others, or mends them. */
void ring_cut(struct sim_ring *, int node, bool is_cut);
/* Takes clients? */
bool ring_serves(const struct sim_ring *, int node);
/* SIGTERM to all, and steps until they have ended; what is left behind is a failure. */
const char *ring_stop(struct sim_ring *);
void ring_close(struct sim_ring *);
