/* sim.h - a simulated world: nodes of shards, one disk and one clock a node, a network between
 * them, in one thread and in virtual time; the seed decides everything.
 *
 * The same seed gives the same history: sim_hash() covers every byte that is said or stored, every
 * completion and every move of an op.
 *
 * Limits: connections are streams, so loss and repetition on the wire show as delay (frames get
 * lost where frames are known, by io_rare); the current folder is "/"; file times, modes and owners
 * do not exist.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/io.h"

enum { SIM_NODES_MAX = 12, SIM_SHARDS_MAX = 8, SIM_CLIENTS_MAX = 32 };
/* Where a function takes a node, this stands for the test's own shard with that index. */
#define SIM_CLIENT(index) (SIM_NODES_MAX + (index))

/* What may go wrong, and how much; each event draws from the seed within these ranges.  All zero: a
 * perfect world of 1 ns latencies. */
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
    unsigned net_reset_pct;    /* in 10,000: a chunk resets its connection instead of arriving */
    /* Of io_rare's names those of frames between nodes, which rare_pct does not cover. */
    unsigned frame_lost_pct, frame_repeated_pct, frame_reordered_pct;
};

struct sim;
struct sim *sim_new(uint64_t seed, struct sim_faults);
/* Nodes that still run are killed first. */
void sim_free(struct sim *);
/* From now on; for a calm phase after the storm.  Clock skews and mail credits stay. */
void sim_set_faults(struct sim *, struct sim_faults);

/* ---- nodes ---- */
/* Starts (or restarts) a node over the disk it had: `start` runs for each shard, inside this call.
 * `address` is where its listeners and connections are ("10.0.0.1"). */
void sim_start(struct sim *, int node, int shards, const char *address,
               void (*start)(struct io *, void *arg), void *arg);
/* Kills a node without warning: its shards stop between two steps, its requests never complete, its
 * connections are reset, of what was written and not synced a seeded part is lost (sim_image), of
 * un-synced changes to folders too.  `release` (may be NULL) is called with each shard's context;
 * whatever the node's code has taken from the heap (mem.h) and not freed then, is freed for it. */
void sim_kill(struct sim *, int node, void (*release)(void *context));
bool sim_alive(const struct sim *, int node); /* started, not killed, not all shards quit */
/* The test acts for this shard until the next step or until it says NULL: what it takes from the
 * heap meanwhile is the node's, and a kill frees it. */
void sim_act(struct io *);
/* Stops a node for a while, as SIGSTOP does; its clock goes on. */
void sim_pause(struct sim *, int node, uint64_t ns);
/* Completes the node's io_signal, as SIGTERM does. */
void sim_signal(struct sim *, int node);
/* The node's wall clock jumps. */
void sim_clock_jump(struct sim *, int node, int64_t by_us);
/* From now on it gains so many microseconds a second (or loses them); 0: none. */
void sim_clock_drift(struct sim *, int node, int ppm);

/* ---- disk ---- */
/* What is left of un-synced writes and changes to folders after the next kills of this node. */
enum sim_image {
    SIM_IMAGE_ANY,     /* drawn at each kill */
    SIM_IMAGE_NONE,    /* nothing */
    SIM_IMAGE_ALL,     /* everything: the machine stayed up */
    SIM_IMAGE_PREFIX,  /* the first ones, the last of them torn */
    SIM_IMAGE_SECTORS, /* any of the 512-byte sectors, some torn; any of the changes to folders */
};
void sim_image(struct sim *, int node, enum sim_image);
/* The power of a node fails at the nth change of its disk from now (1: the next): that one is under
 * way, what the node asks for later does not happen, and before another event the node is killed as
 * by sim_kill, with this image.  n = 0 forgets it.  Changes are writes, syncs, allocations,
 * truncations, renames, links, removals, folders made, and opens that create. */
void sim_kill_at(struct sim *, int node, uint64_t nth, enum sim_image,
                 void (*release)(void *context));
uint64_t sim_disk_changes(const struct sim *, int node); /* how many there were */
/* The nth disk request of this node from now (1: the next) fails with `err`, and `count` in all do;
 * n = 0 forgets it.  Only what can fail so does: with ERR_FILES_LIMIT what opens, with ERR_NO_SPACE
 * changes.  A write that fails has written some prefix.  sim_disk_calls: how many there were. */
#define SIM_FOR_EVER UINT64_MAX
void sim_fail_disk(struct sim *, int node, uint64_t nth, uint64_t count, enum err err);
uint64_t sim_disk_calls(const struct sim *, int node);
/* Every request on this file, which exists, takes so much longer, and io_read_now would wait. */
void sim_slow_file(struct sim *, int node, const char *path, uint64_t ns);
/* The size of the disk: beyond it writes fail with ERR_NO_SPACE, and may have written what fits.
 * 1 TiB at first. */
void sim_disk_size(struct sim *, int node, uint64_t bytes);
/* The bytes of a file on a node's disk as a read sees them, or {NULL,0} when there is none;
 * borrowed until the next call of this function.  Overwrites are for corruption tests: durable at
 * once, as are the file and its folders when they are new. */
struct bytes sim_file(struct sim *, int node, const char *path);
void sim_file_set(struct sim *, int node, const char *path, size_t offset, struct bytes);
void sim_file_cut(struct sim *, int node, const char *path, size_t size);
void sim_file_flip(struct sim *, int node, const char *path, uint64_t bit); /* of byte bit / 8 */
/* Every file of a node's disk by its whole path, in order of their names, folder by folder. */
void sim_files(struct sim *, int node,
               void (*visit)(void *context, const char *path, uint64_t size_bytes), void *context);

/* ---- walks: one scenario, for every place where it can be cut, or where a call can fail ----
 *
 *     struct sim_walk walk = { .kind = SIM_WALK_CUTS, .share = 50, .seed = 7 };
 *     do {
 *         sim_new, sim_start, prepare       the same in each round
 *         sim_walk_begin(&walk, sim, node, release)
 *         live                              to the end, or until the node is not sim_alive
 *         sim_walk_end(&walk, sim)
 *         restart, check, sim_free
 *     } while (sim_walk_next(&walk));
 *
 * The first round is whole and counts.  Then each change of the disk is cut with each of the four
 * images; or each request fails, once and from then on for ever, with each of ERR_IO, ERR_NO_SPACE
 * and ERR_FILES_LIMIT. */
enum sim_walk_kind { SIM_WALK_CUTS, SIM_WALK_ERRORS };
struct sim_walk {
    enum sim_walk_kind kind;
    uint64_t share, seed;    /* walks one in so many places, drawn; 0, 1: all of them */
    uint64_t total, visited; /* to read: places; rounds that were wounded */
    char what[64];           /* to read: what happens in this round */
    int node;                /* the rest is the walk's own */
    uint64_t before, place, draws;
};
void sim_walk_begin(struct sim_walk *, struct sim *, int node, void (*release)(void *context));
void sim_walk_end(struct sim_walk *, struct sim *);
bool sim_walk_next(struct sim_walk *); /* false: that was the last round */

/* ---- network ---- */
/* Cuts the network from a to b (one way).  What is on the way waits until it is healed. */
void sim_cut(struct sim *, int a, int b, bool is_cut);

/* ---- the run ---- */
/* Runs ready ops, lets the next event happen, and runs what that has made ready: time goes on only
 * in here, and never while an op is ready.  False when nothing is left to happen. */
bool sim_step(struct sim *);
uint64_t sim_now(const struct sim *); /* ns of virtual time */
uint64_t sim_hash(const struct sim *);
uint64_t sim_draw(struct sim *); /* a random number from the seed, for the test itself */

/* A shard of the test's own, outside all nodes, with a disk and an address of its own: to run
 * clients in.  Its memory is the test's. */
struct io *sim_client(struct sim *, int index);
/* What a node asked of its world, summed over its shards and runs. */
struct io_counts sim_counts(const struct sim *, int node);
uint64_t sim_heap_calls(const struct sim *, int node); /* the blocks it ever took from the heap */
/* Leak checks: what a node has now, or had left when its last shard quit; 0 after a kill. */
unsigned sim_open_handles(const struct sim *, int node); /* files, sockets, listeners */
uint64_t sim_open_ops(const struct sim *, int node);
uint64_t sim_open_blocks(const struct sim *, int node); /* of the heap */
