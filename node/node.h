/* node.h - the facade of node/: a process, a shard per core; the only place where modules meet.
 *
 *     start.c      shard 0 leads: folders, lock, log, cluster, all shards, clients; and back
 *     addresses.c  where it listens, and whether it may
 *     stage.c      what each shard does when the leader asks: open, serve, be quiet, close
 *     schema.c     what a metadata entry does to a shard
 *     accept.c     the CQL port
 *     session.c    one client connection: frames in, answers out
 *     request.c    what a frame asks for, answered at once when nothing has to wait
 *     open.c       from a frame to a resolved statement with its parameters
 *     statement.c  what has to wait: reads, writes, batches, schema changes, as an op
 *     prepare.c    PREPARE on every shard          prepared.c   the plans of this shard
 *     batch.c      BATCH                           change.c     a schema change, through shard 0
 *     writing.c    the mutations of a request      word.c       what errors say
 *     truncate.c   TRUNCATE on every node          erase.c      ... on this one; DROP
 *     settle.c     old commit logs given up        events.c     what registered clients are told
 *     apart.c      files of another number of shards
 *     replica.c    writes to own shards            gather.c     reads of own shards
 *     serve.c      requests of other nodes
 *     hinting*.c   hints of this node, and those that others have kept for it
 *     clearing.c   what was unknown is known again, on every shard of every node
 *     missing.c    what replicas may miss, as all shards know it: owing.c tells of writes,
 *                  hinting_told.c of hints, divergence.c of how old it is
 *     system*.c    the tables that the node makes up: system, system_schema, system_views
 *     gossip_view.c  what is heard of the others   tables.c     what there is of each table
 *     admin*.c     HTTP: status, health, metrics, operations; http.c, form.c: its bytes
 *     operation*.c what takes its time: flush, repair, ...      errand.c   the same on every shard
 *     snapshot.c   hard links of a table's files   compact_wish.c   what COMPACT is asked for
 *     compactions*.c what the shards' compactors do, have done and have to do
 *     tool_machine.c what only the real machine knows: cores, memory, who has a port
 *     mark.c       the clock's mark on disk, which timestamps stay behind
 *     post.c       mail between shards           plan.c       memory_limit divided
 *     ranges.c     token ranges of this node, for compactions
 *     counts.c     what is counted, one list
 *
 * The same objects run in rondod (main.c, io/uv) and in the simulated cluster (io/sim).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"
#include "config/config.h"
#include "io/io.h"
#include "io/journal.h"

#define RONDO_RELEASE "5.0.2" /* what drivers are told: the Cassandra whose surface this is */

enum { NODE_SHARDS_MAX = 64 };

/* What the shards of one process share: made before they start and read by all.  Shard 0 resolves
 * the addresses before any other shard is asked for anything, and writes `failed`, which is read
 * when the world has ended. */
struct node_process {
    const struct config *config; /* checked; computed settings are filled in (node_config_fill) */
    uint64_t memory_bytes;       /* of the machine or the cgroup */
    enum journal_holes holes;    /* what to do where a commit log is damaged */
    int pid;                     /* of the process; 0: it has none of its own */
    const char *folder;          /* that it was started in, for telling paths; NULL: none */
    struct io_addr listen, broadcast, rpc, broadcast_rpc, admin;
    struct report failed;           /* err OK: it was asked to stop and stopped */
    void (*said)(const char *line); /* progress for the console; may be NULL */
};

/* Runs first on every shard (uv_world_run, sim_start); `arg` is a struct node_process.  The
 * shard's context is its struct shard. */
void node_start(struct io *, void *arg);
/* Asks the node to stop, as SIGTERM does; on shard 0. */
void node_stop(struct io *);
/* Does it take clients?  On shard 0. */
bool node_is_serving(struct io *);
