/* node.h - the facade of node/: a process, a shard per core; the only place where modules meet.
 *
 *     start.c      a shard's life: open, serve, stop (shard 0 leads, the others follow)
 *     session.c    one client connection: frames in, answers out
 *     request.c    what a frame asks for, answered at once when nothing has to wait
 *     statement.c  what has to wait: reads, writes, batches, schema changes, as an op
 *     prepared.c   the plans of this shard
 *     change.c     a schema change on its way through shard 0
 *     replica.c    this node as a replica: shards of its own, verbs of others
 *     events.c     what registered clients are told
 *     system*.c    the tables that the node makes up: system, system_schema, system_views
 *     admin.c      HTTP: status, health, metrics
 *
 * The same objects run in rondod (main.c, io/uv) and in the simulated cluster (io/sim).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"
#include "config/config.h"
#include "io/io.h"

/* What the shards of one process share: made before they start, read by all; `failed` is written by
 * shard 0 only and read when the world has ended. */
struct node_process {
    const struct config *config;
    struct report failed;        /* err OK: it was asked to stop and stopped */
    void (*said)(const char *line); /* progress for the console; may be NULL */
};

/* Runs first on every shard (uv_world_run, sim_start); `process` is a struct node_process.  The
 * shard's context is its struct shard. */
void node_start(struct io *, void *process);
/* Asks the node to stop, as SIGTERM does; on shard 0. */
void node_stop(struct io *);
/* Serving clients? (for tests: on shard 0's io) */
bool node_is_serving(struct io *);

#define RONDO_RELEASE "5.0.2" /* what drivers are told: the Cassandra whose surface this is */
