/* inside.h - what the files of coordinator/ share.  Private. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "coordinator/coordinator.h"
#include "coordinator/latency.h"

struct coordinator {
    struct coordinator_options options;
    struct io *io;
    struct cluster *cluster;
    struct list busy;                   /* struct task.link: all that is under way */
    struct list idle_writes, idle_asks; /* for reuse */
    struct list begun;                  /* struct write.begun, oldest first: all */
    struct list lingering;              /* struct write.linger, oldest first */
    uint64_t bytes_in_flight;           /* of writes, answered or not */
    uint64_t bytes_ending;              /* of these: called off, about to be given back */
    bool is_stopping;
    struct coordinator_counts counts;
    struct latency_nodes latency;             /* of reads, by node */
    struct latency_tables tables;             /* by table */
    struct coordinator_book books[NODES_MAX]; /* by node number, from 1 */
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

/* Did the node say no, or did we just not hear from it? */
static inline bool is_refusal(enum err err)
{
    return err != ERR_TIMEOUT && err != ERR_CLOSED && err != ERR_STOPPED && err != ERR_REFUSED &&
           err != ERR_UNREACHABLE;
}

/* ---- level.c ---- */
/* What a level needs of a token's replicas: of each group so many.  One group, but for EACH_QUORUM
 * one for each data centre of the keyspace. */
struct level_need {
    unsigned required; /* of all groups together: what clients are told */
    unsigned counted;  /* the replicas that count: a bit each, by their place in struct replicas */
    unsigned groups_count;
    struct level_group {
        unsigned mask, required;
    } groups[REPLICAS_MAX];
};
/* Pure; of a level that level_allows. */
void level_need(enum level, const struct ring *, unsigned self, const struct keyspace *,
                const struct replicas *, struct level_need *out);
/* Would these replicas (a bit each) do? */
bool level_met(const struct level_need *, unsigned have);
/* Would one more help: is its group short of it? */
bool level_wants(const struct level_need *, unsigned have, unsigned replica);
/* How many answers clients are told of; less than required as long as the level is not met. */
unsigned level_received(const struct level_need *, unsigned have);
/* Keeps the replicas that count and are up, this node first; the need's bits go with them. */
void level_order(struct coordinator *, struct replicas *, struct level_need *);

/* ---- ask.c: one round of one read on one set of replicas ---- */
struct ask_args {
    const struct replicas *replicas; /* copied, as is `need` */
    const struct level_need *need;
    const struct table *table;
    const struct read *read;
    uint64_t deadline_ns;
    struct arena *arena;
    struct read_sink *sink;
    enum read_repair repair;
    enum err refused; /* not OK: nobody is asked, that is the answer, and the outcome is filled */
};
/* A leaf, of replicas enough of which are up (enough_alive), or refused: as many replicas as
 * required answer; what they agree on, or come to once those that lack something have been given
 * it, goes into the sink. */
void ask_start(struct coordinator *, struct io_req *, struct op *, const struct ask_args *,
               struct read_outcome *, struct coordinator_outcome *);
void ask_free_idle(struct coordinator *);
/* Reads from a node that has been slow, not waited for; `read` is copied. */
void probe_start(struct coordinator *, unsigned node, const struct read *, int64_t gc_before);
void write_free_idle(struct coordinator *);
/* ---- write.c ---- */
/* Is there room in the budget for what has just been added to it?  What lingers gives way. */
bool write_has_room(struct coordinator *);

/* ---- batch.c ---- */
/* Which nodes keep a batch, of those that are up (a bit each, node 1 the lowest); how many: at most
 * two, never this one. */
unsigned batch_keepers(const struct ring *, unsigned self, uint64_t up, uint64_t random,
                       unsigned out[2]);

/* ---- scan.c ---- */
void scan_start(struct coordinator *, struct io_req *, struct op *, const struct coordinator_read *,
                struct read_outcome *, struct coordinator_outcome *);

/* Are so many alive as are needed?  Fills required, alive and missing: of all that count, or with
 * false of the first group that has too few. */
bool enough_alive(struct coordinator *, const struct replicas *, const struct level_need *,
                  struct coordinator_outcome *);
