/* ring.c - see ring.h. */
// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/ring.h"

static const char *const addresses[SIM_NODES_MAX] = { "10.0.0.1",  "10.0.0.2",  "10.0.0.3",
                                                      "10.0.0.4",  "10.0.0.5",  "10.0.0.6",
                                                      "10.0.0.7",  "10.0.0.8",  "10.0.0.9",
                                                      "10.0.0.10", "10.0.0.11", "10.0.0.12" };
static const uint64_t millisecond = 1000 * 1000, second = 1000 * 1000 * 1000;

static void ring_configure(struct sim_node *n, int index)
{
    static const char *const folders[] = { "/data" };
    config_defaults(&n->config);
    n->address = addresses[index];
    n->config.cluster_name = "simulated";
    n->config.listen_address = n->config.rpc_address = n->config.admin_address = n->address;
    n->config.allow_insecure = CONFIG_INSECURE_ALLOWED;
    n->config.seeds = (struct config_texts){ addresses, RING_NODES };
    n->config.data_file_directories = (struct config_texts){ folders, 1 };
    n->config.commitlog_directory = "/commitlog";
    n->config.hints_directory = "/hints";
    n->config.log_file = "/rondod.log";
    n->config.commitlog_segment_size_bytes = 1 << 20;
    n->config.memory_limit_bytes = 256 << 20;
    n->process.config = &n->config;
    n->process.memory_bytes = 1 << 30;
    bool is_address = io_addr_parse(n->address, 9042, &n->native);
    ensure(is_address);
}

/* A number below max, small ones as likely as large ones. */
static uint64_t draw_below(struct prng *dice, uint64_t max)
{
    uint64_t scale = prng_next(dice);
    uint64_t value = prng_next(dice);
    uint64_t top = max >> scale % 8;
    return top ? value % top : 0;
}

void ring_open(struct sim_ring *r, uint64_t seed)
{
    struct prng dice = { ~seed };
    struct sim_faults f = { .net_ns_max = millisecond, .disk_ns_max = millisecond };
    f.clock_skew_us_max = (int64_t)draw_below(&dice, 200 * 1000);
    f.mail_credits = 1 + (unsigned)draw_below(&dice, 64);
    *r = (struct sim_ring){ .sim = sim_new(seed, f), .dice = dice };
    for (int i = 0; i < RING_NODES; i++) {
        ring_configure(&r->nodes[i], i);
        r->nodes[i].shards = 1 + (int)prng_below(&r->dice, 3);
    }
}

void ring_storm(struct sim_ring *r)
{
    struct sim_faults f = { .would_wait_pct = 20, .rare_pct = 10 };
    f.net_ns_max = 1 + draw_below(&r->dice, 20 * millisecond);
    f.disk_ns_max = 1 + draw_below(&r->dice, 10 * millisecond);
    f.mail_ns_max = 1 + draw_below(&r->dice, millisecond);
    f.chunk_bytes_max = 1 + draw_below(&r->dice, 4096);
    f.net_reset_pct = (unsigned)draw_below(&r->dice, 8);
    f.frame_lost_pct = (unsigned)draw_below(&r->dice, 20);
    f.frame_repeated_pct = (unsigned)draw_below(&r->dice, 20);
    f.frame_reordered_pct = (unsigned)draw_below(&r->dice, 20);
    if (prng_below(&r->dice, 4) == 0) { /* a quick network over slow disks: syncs take long */
        f.net_ns_max = millisecond;
        f.disk_ns_max = 300 * millisecond;
    }
    sim_set_faults(r->sim, f);
}

void ring_calm(struct sim_ring *r)
{
    sim_set_faults(r->sim, (struct sim_faults){ .net_ns_max = millisecond,
                                                .disk_ns_max = millisecond,
                                                .mail_ns_max = 1000 });
}

static void shard_start(struct io *io, void *arg)
{
    struct sim_node *n = arg;
    if (io_self(io) == 0)
        n->first = io;
    n->all[io_self(io)] = io;
    node_start(io, &n->process);
}

void ring_start(struct sim_ring *r, int node)
{
    struct sim_node *n = &r->nodes[node];
    n->process.failed = (struct report){ 0 };
    n->config.shards = n->shards;
    sim_start(r->sim, node, n->shards, n->address, shard_start, n);
}

void ring_kill(struct sim_ring *r, int node)
{
    struct sim_node *n = &r->nodes[node];
    sim_kill(r->sim, node, NULL);
    n->first = NULL;
    r->kills++;
    if (prng_below(&r->dice, 3) == 0) {
        int other = 1 + (int)prng_below(&r->dice, 3);
        r->reshards += other != n->shards;
        n->shards = other;
    }
}

void ring_cut(struct sim_ring *r, int node, bool is_cut)
{
    for (int other = 0; other < RING_NODES; other++)
        if (other != node) {
            sim_cut(r->sim, node, other, is_cut);
            sim_cut(r->sim, other, node, is_cut);
        }
}

bool ring_serves(const struct sim_ring *r, int node)
{
    const struct sim_node *n = &r->nodes[node];
    return n->first && sim_alive(r->sim, node) && io_context(n->first) && node_is_serving(n->first);
}

static const char *ring_left(struct sim_ring *r, int node)
{
    static char text[500];
    const struct report *failed = &r->nodes[node].process.failed;
    unsigned handles = sim_open_handles(r->sim, node);
    uint64_t ops = sim_open_ops(r->sim, node), blocks = sim_open_blocks(r->sim, node);
    if (failed->err == OK && handles == 0 && ops == 0 && blocks == 0)
        return NULL;
    snprintf(text, sizeof text, "node %d left %u handles, %llu ops, %llu blocks behind; %s",
             node + 1, handles, (unsigned long long)ops, (unsigned long long)blocks, failed->text);
    return text;
}

const char *ring_stop(struct sim_ring *r)
{
    uint64_t end = sim_now(r->sim) + 60 * second;
    for (int i = 0; i < RING_NODES; i++)
        sim_signal(r->sim, i);
    for (int i = 0; i < RING_NODES; i++)
        while (sim_alive(r->sim, i))
            if (!sim_step(r->sim) || sim_now(r->sim) > end)
                return "a node did not stop within 60 s";
    for (int i = 0; i < RING_NODES; i++) {
        const char *left = ring_left(r, i);
        if (left)
            return left;
    }
    return NULL;
}

void ring_close(struct sim_ring *r) { sim_free(r->sim); }
