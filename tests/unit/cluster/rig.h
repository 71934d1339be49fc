/* rig.h - three nodes that are nothing but a cluster, in the simulator: started, killed, closed,
 * waited for. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rig_node.h"

/* ---- the rig ---- */

static inline void rig_init(struct rig *rig, uint64_t seed, struct sim_faults faults)
{
    memset(rig, 0, sizeof *rig);
    rig->sim = sim_new(seed, faults);
    for (int i = 0; i < RIG_NODES; i++) {
        snprintf(rig->seed_texts[i], sizeof rig->seed_texts[i], "10.0.0.%d:7000", i + 1);
        rig->seeds[i] = rig->seed_texts[i];
        rig->nodes[i].rig = rig;
        rig->nodes[i].index = i;
        snprintf(rig->nodes[i].address, sizeof rig->nodes[i].address, "10.0.0.%d", i + 1);
        rig->nodes[i].options = (struct cluster_options){
            .cluster_name = "rig",
            .metadata_folder = "/metadata",
            .seeds_count = RIG_NODES,
            .seeds = rig->seeds,
            .storage_port = 7000,
            .tokens_count = 16,
            .data_center = "dc1",
            .rack = "rack1",
            .phi_convict_threshold = 8,
            .applied = rig_applied,
            .request = rig_request,
            .changed = rig_changed,
        };
    }
}

static inline void rig_start(struct rig *rig, int index, int shards)
{
    struct rig_node *n = &rig->nodes[index];
    struct cluster_options *o = &n->options;
    n->shards_count = shards;
    ensure(io_addr_parse(n->address, 7000, &o->listen));
    ensure(io_addr_parse(n->address, 9042, &o->native));
    o->broadcast = o->listen;
    o->credits = rig->credits;
    sim_start(rig->sim, index, shards, n->address, rig_shard_start, n);
}

static inline void rig_kill(struct rig *rig, int index)
{
    if (sim_alive(rig->sim, index))
        sim_kill(rig->sim, index, NULL);
    for (int i = 0; i < RIG_SHARDS_MAX; i++)
        rig->nodes[index].shards[i].is_open = false;
}

static inline void rig_close(struct rig *rig, int index)
{
    for (int i = 0; i < rig->nodes[index].shards_count; i++) {
        rig->nodes[index].shards[i].must_close = true;
        op_wake(&rig->nodes[index].shards[i].op);
    }
}

static inline bool rig_is_open(const struct rig_node *n)
{
    for (int i = 0; i < n->shards_count; i++)
        if (!n->shards[i].is_open)
            return false;
    return n->shards_count > 0;
}
static inline bool rig_all_open(struct rig *rig)
{
    for (int i = 0; i < RIG_NODES; i++)
        if (!rig_is_open(&rig->nodes[i]))
            return false;
    return true;
}
/* Every node knows, on every shard, that every node is up. */
static inline bool rig_all_up(struct rig *rig)
{
    if (!rig_all_open(rig))
        return false;
    for (int i = 0; i < RIG_NODES; i++)
        for (int s = 0; s < rig->nodes[i].shards_count; s++)
            for (unsigned n = 1; n <= RIG_NODES; n++)
                if (!cluster_is_up(rig->nodes[i].shards[s].cluster, n))
                    return false;
    return true;
}

/* Steps until it holds; false when the time is over. */
static inline bool rig_until(struct rig *rig, bool (*holds)(struct rig *), uint64_t seconds)
{
    uint64_t end = sim_now(rig->sim) + seconds * rig_second;
    while (!holds(rig) && sim_now(rig->sim) < end)
        if (!sim_step(rig->sim))
            break;
    return holds(rig);
}
static inline void rig_pass(struct rig *rig, uint64_t ns)
{
    uint64_t end = sim_now(rig->sim) + ns;
    while (sim_now(rig->sim) < end && sim_step(rig->sim))
        ;
}
