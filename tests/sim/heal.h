/* heal.h - what the files of sim_heal know of each other: the run, its clients, its faults. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/shard.h"
#include "tests/sim/client.h"
#include "tests/sim/history.h"
#include "tests/sim/ring.h"

enum { HEAL_CLIENTS = 6, HEAL_KEYS = 5, HEAL_ROWS = 6, HEAL_CELLS = HEAL_KEYS * HEAL_ROWS };
enum { HEAL_GC_GRACE_S = 100 }; /* longer than a storm */
enum { HEAL_FAULTS_MAX = 4, HEAL_NOTES_MAX = 200, HEAL_BATCH_MAX = 4, HEAL_RARE_MAX = 48 };

/* X(kind): what may go wrong; each begins, lasts a while, and ends. */
#define HEAL_FAULT_LIST(X)                               \
    X(KILL, "killed")                                    \
    X(POWER, "all nodes lose their power")               \
    X(PAUSE, "stopped")                                  \
    X(PART, "cut off from all others")                   \
    X(DEAF, "hears nothing of another")                  \
    X(FRAMES, "frames are lost, repeated and reordered") \
    X(RESETS, "connections are reset")                   \
    X(SLOW, "every disk is slow")                        \
    X(FULL, "its disk is full")                          \
    X(FAILING, "disks fail now and then")                \
    X(CLOCK, "its clock jumps")                          \
    X(DRIFT, "its clock drifts")
enum heal_fault_kind {
#define X(name, text) HEAL_##name,
    HEAL_FAULT_LIST(X)
#undef X
        HEAL_FAULT_KINDS
};
struct heal_fault {
    enum heal_fault_kind kind;
    int node, other; /* of DEAF */
    uint64_t end_ns; /* 0: this place is free */
};

enum heal_kind { HEAL_IDLE, HEAL_WRITE, HEAL_BATCH, HEAL_UNLOGGED, HEAL_READ, HEAL_ALTER };
struct heal_work { /* what a client is doing */
    struct client client;
    enum heal_kind kind;
    enum consistency level;
    uint64_t rest_ns; /* asks nothing before */
    size_t versions_count;
    int versions[HEAL_BATCH_MAX]; /* being written */
    int first, count;             /* being read: cells; all: a scan */
    bool is_reversed;
    int32_t page_size;
    int limit, rows_count, last; /* rows wanted, come; the last of them */
    int floor[HEAL_CELLS];       /* when the read began */
    bool is_seen[HEAL_CELLS];
};

/* X(name): what happened, and how often; over many seeds each of it has to. */
#define HEAL_COUNT_LIST(X)                                                             \
    X(acked)    /* writes and batches that were acknowledged */                        \
    X(unknown)  /* those that nobody knows of */                                       \
    X(refused)  /* those that were not sent */                                         \
    X(batches)  /* of the acknowledged: logged */                                      \
    X(unlogged) /* batches that were not */                                            \
    X(reads)    /* of a cell or a partition */                                         \
    X(scans)    /* of all partitions */                                                \
    X(altered)  /* changes of the table */                                             \
    X(pages)    /* of reads and scans */                                               \
    X(by_hints) /* runs in which hints have brought everything that clients know of */ \
    X(audits)   /* looks at a copy while hints were delivered */                       \
    X(lacking)  /* cells that lacked something then */                                 \
    X(purged)   /* copies of a deletion that a compaction has let go */
struct heal_counts {
#define X(name) uint64_t name;
    HEAL_COUNT_LIST(X)
#undef X
};
struct heal {
    struct sim_ring ring;
    struct history history;
    struct heal_work works[HEAL_CLIENTS];
    struct heal_fault faults[HEAL_FAULTS_MAX];
    uint64_t next_fault_ns, next_look_ns, storm_end_ns;
    uint64_t born_ns; /* there is a table */
    int64_t stamp;
    unsigned dead;                   /* a bit per node: killed, to be started again */
    unsigned reborn;                 /* those that have been killed at all */
    uint64_t shifted_us[RING_NODES]; /* by how much its clock was set, back or forth, all in all */
    uint64_t faults_seen[HEAL_FAULT_KINDS];
    uint64_t rare[HEAL_RARE_MAX]; /* as heal_rare.c names them */
    size_t notes_count;
    char notes[HEAL_NOTES_MAX][100]; /* the faults, in their order */
    struct heal_counts counts;
    bool is_gentle; /* no node dies, no disk fails or fills: hints alone have to do */
    bool is_purged; /* gentle, and deletions are compacted away in the end */
};

/* ---- sim_heal.c ---- */
_Noreturn void heal_fail(const char *format, ...) printf_like(1, 2);
void heal_note(struct heal *, const char *format, ...) printf_like(2, 3);
/* One event; fails when nothing is left to happen, or virtual time has passed `end`. */
void heal_step(struct heal *, uint64_t end, const char *what);
static inline uint64_t heal_draw(struct heal *h, uint64_t n) { return sim_draw(h->ring.sim) % n; }

/* NULL: it does not run. */
static inline struct shard *heal_shard(struct heal *h, int node, int index)
{
    struct io *io = h->ring.nodes[node].first ? h->ring.nodes[node].all[index] : NULL;
    return io && sim_alive(h->ring.sim, node) ? io_context(io) : NULL;
}

/* By at most this much any node's clock has told a difference of times wrongly. */
static inline uint64_t heal_shift_ns(const struct heal *h)
{
    uint64_t most_us = 0;
    for (int i = 0; i < RING_NODES; i++)
        most_us = u64_max(most_us, h->shifted_us[i]);
    return most_us * 1000;
}

/* ---- heal_audit.c ---- */
/* Mutations that are not on their replica yet, as far as coordinators know. */
uint64_t heal_pending(struct heal *);
/* Something else that ends by itself is under way: a request, a batch that is kept. */
bool heal_is_busy(struct heal *);
/* Notes what of these there is. */
void heal_tell_hints(struct heal *);
void heal_tell_divergence(struct heal *); /* in the trace, of each shard, and what is unknown */
/* They balance; and when it is quiet, nothing is in flight. */
void heal_check_books(struct heal *, bool is_quiet);
/* Does any coordinator know of a range that it cannot vouch for? */
bool heal_is_any_unknown(struct heal *);
/* The age of the oldest write that may be missing somewhere, as all nodes together tell it. */
uint64_t heal_divergence_ms(struct heal *);
/* Divergence is never younger than what a copy lacks. */
void heal_check_divergence(struct heal *);

/* ---- heal_copies.c ---- */
/* What the replica itself has of each cell of a key, read from its own store. */
struct heal_copy {
    struct version cells[HEAL_ROWS]; /* is_sent: there is something, if only a deletion */
};
/* False: it has to wait for its disk. */
bool heal_copy_read(struct heal *, int node, int key, struct heal_copy *);
/* Is the node a replica of the key? */
bool heal_is_replica(struct heal *, int node, int key);
/* All copies have at least what anybody was told to be written, and are the same where they must.
 */
void heal_check_copies(struct heal *, bool must_be_same);

/* Does a version stand behind a deletion that may have come to every copy, and gone with it? */
bool heal_may_be_purged(const struct heal *, const struct version *);
/* After a purge: counts the deletions that went, and fails of one that is still there. */
void heal_check_purged(struct heal *);
/* What stopped nodes have on their disks belongs there. */
void heal_check_files(struct heal *);

/* ---- heal_clients.c ---- */
/* Takes what was answered into the history, and lets idle clients ask the next thing. */
void heal_clients(struct heal *, bool may_ask);

/* ---- heal_faults.c ---- */
/* Ends the faults whose time is over, and begins new ones. */
void heal_faults(struct heal *, bool may_begin);
/* A node has ended by itself: for want of space or by an error of its disk, else it is red. */
void heal_fallen(struct heal *, int node);
/* Ends all of them. */
void heal_everything(struct heal *);

/* ---- heal_rare.c ---- */
/* Adds what the node has counted since it started, before that is forgotten. */
void heal_rare_take(struct heal *, int node);
/* What was seen between files of the product since the last call. */
void heal_rare_watched(struct heal *);
size_t heal_rare_count(void);
const char *heal_rare_name(size_t);
unsigned heal_rare_seeds(size_t); /* over so many it has to have been there */
