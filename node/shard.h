/* shard.h - one core's share of a node: what its sessions, replica and system tables reach.
 *
 * Private to node/.  Everything here belongs to one thread; other shards are reached by mail.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/histogram.h"
#include "base/slab.h"
#include "cluster/cluster.h"
#include "compaction/compaction.h"
#include "coordinator/coordinator.h"
#include "cql/cql.h"
#include "io/log.h"
#include "node/node.h"
#include "node/plan.h"
#include "node/prepared.h"
#include "store/store.h"

struct shard_counts {
    uint64_t requests, requests_inline, errors, connections, connections_total, refused_connections;
    uint64_t protocol_errors, overloaded, events, pauses;
    /* Mutations of other nodes that were turned away before the store saw them. */
    uint64_t unapplied_late, unapplied_behind, unapplied_stopping, unapplied_damaged;
    struct histogram read_ns, write_ns;
};

struct outbox { /* mail that waits for a credit of its way */
    struct op op;
    struct io_req nap;
    struct io_mail *first, *last;
};

struct shard {
    struct io *io;
    struct node_process *process;
    const struct config *config;
    struct memory_plan plan; /* this shard's share */
    struct catalog catalog;
    struct cluster *cluster;
    struct store *store;         /* NULL until it has been replayed */
    struct compactor *compactor; /* NULL until the store is open, and when it closes */
    int64_t lost_hints_us;       /* found damaged before `owed` was open: since then; 0: none */
    struct owed *owed;           /* NULL until the store is open, and when it closes */
    struct coordinator *coordinator;
    struct batchlog *batchlog; /* shard 0's */
    struct hints *hints;       /* NULL: not open */
    struct prepared prepared;
    struct list sessions;      /* struct session.link */
    struct list paused;        /* struct session.pause: a request of it waits for room */
    struct list paused_frames; /* the same: a large frame of it does */
    struct list parked;        /* requests of other nodes that came before the store was open */
    struct list idle_requests; /* struct request, for reuse */
    bool has_begun;            /* its store opens, or has opened */
    bool is_serving, is_stopping;
    struct outbox outbox;
    unsigned served_count;  /* requests of other nodes under way here */
    unsigned notes_away;    /* mails of accept.c that are not home */
    unsigned drops_count;   /* dropped tables whose rows and files are still going (erase.c) */
    struct list drops;      /* shard 0: struct drop_count */
    struct list erases;     /* shard 0: truncations, the first of them under way */
    bool erases_are_over;   /* shard 0: the node stops */
    int clients_count;      /* shard 0: sockets handed out to any shard and not closed yet */
    uint64_t large_bytes;   /* reserved by frames above 1 MiB that are being read */
    uint64_t request_bytes; /* held by requests of clients under way */
    int64_t last_timestamp; /* microseconds: the newest one given to a write */
    int64_t started_wall_us;
    struct arena scratch; /* of one inline request; reset after it */
    struct slab slab;     /* of what lives as long as a hop, a gathering, a served request */
    struct shard_counts counts;
    struct life *life;
    struct admin *admin;   /* shard 0 */
    struct accept *accept; /* shard 0 */
    struct log *log;       /* shard 0's, attached by all */
};

/* A zeroed piece of the shard's slab, freed by slab_release with the same size. */
void *shard_piece(struct shard *, size_t size);
static inline struct shard *shard_of(struct io *io) { return io_context(io); }
/* Posts a mail, now or when its way has room. */
void shard_post(struct shard *, int to, struct io_mail *);
/* A timestamp for a write: max(wall clock as it is now, the last one + 1), microseconds. */
int64_t shard_timestamp(struct shard *, int64_t wall);
static inline int64_t shard_now_seconds(struct shard *s) { return io_wall(s->io) / 1000000; }
