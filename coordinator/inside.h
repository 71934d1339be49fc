/* inside.h - what the files of coordinator/ share.  Private. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "coordinator/coordinator.h"

struct coordinator {
    struct coordinator_options options;
    struct io *io;
    struct cluster *cluster;
    struct list busy;                               /* struct task.link: all that is under way */
    struct list idle_writes, idle_reads, idle_asks; /* for reuse */
    struct list lingering;                          /* struct write.linger, oldest first */
    uint64_t bytes_in_flight;                       /* of writes, answered or not */
    uint64_t bytes_ending; /* of these: called off, about to be given back */
    bool is_stopping;
    struct coordinator_counts counts;
};
/* The beginning of every op here, so that stop and idle see them all. */
struct task {
    struct op op;
    struct list link;
    struct coordinator *c;
};
void task_begin(struct task *, struct coordinator *, const struct op_state *,
                void (*release)(struct op *));
void task_end(struct task *);

/* A connection that broke says nothing about its node: while that is up, it is asked again, a few
 * times; reads and mutations may be repeated. */
enum { REPEATS_MAX = 3 };
static inline bool may_repeat(struct coordinator *c, unsigned node, enum err err, unsigned repeats)
{
    return err == ERR_CLOSED && repeats < REPEATS_MAX && !c->is_stopping &&
           cluster_is_up(c->cluster, node);
}

/* ---- ask.c: one round of one read on one set of replicas ---- */
struct ask_args {
    const struct replicas *replicas; /* copied */
    unsigned required;
    const struct table *table;
    const struct read *read;
    uint64_t deadline_ns;
    struct arena *arena;
    struct read_sink *sink;
};
/* A leaf: as many replicas as required answer, their rows are merged into the sink. */
void ask_start(struct coordinator *, struct io_req *, struct op *, const struct ask_args *,
               struct read_outcome *, struct coordinator_outcome *);
void ask_free_idle(struct coordinator *);
void read_free_idle(struct coordinator *);
void write_free_idle(struct coordinator *);

/* ---- read.c, scan.c ---- */
void read_start(struct coordinator *, struct io_req *, struct op *, const struct coordinator_read *,
                struct read_outcome *, struct coordinator_outcome *);
void scan_start(struct coordinator *, struct io_req *, struct op *, const struct coordinator_read *,
                struct read_outcome *, struct coordinator_outcome *);

/* Counts what is alive of a set; the first dead one into outcome->missing.  False: fewer than
 * required. */
bool enough_alive(struct coordinator *, const struct replicas *, unsigned required,
                  struct coordinator_outcome *);
/* Which of the replicas count for a level: all, or those of this node's data centre (a bit each).
 */
unsigned level_counts(enum level, const struct ring *, unsigned self, const struct replicas *);
