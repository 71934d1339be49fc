/* internal.h - what the files of coordinator/ know of each other.  Nobody else includes it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "coordinator/coordinator.h"

/* A request under way: on the coordinator's list until its op is released. */
struct running {
    struct list link;
    struct op *op;
    uint64_t deadline_ns; /* its op is woken then */
    size_t bytes;         /* of the budget */
};
struct coordinator {
    struct coordinator_options options;
    struct list running;
    uint64_t soonest_ns, timer_ns;
    struct op watch; /* watches the deadlines while anything runs */
    struct io_req timer;
    bool is_watching, is_stopping;
    uint64_t bytes;
    struct list writes_free, reads_free;
    unsigned writes_free_count, reads_free_count;
    struct coordinator_counts counts;
};

enum { POOL_MAX = 512, ARENA_BYTES = 16 * 1024 };

/* False: over the budget, and nothing was taken. */
bool running_begin(struct coordinator *, struct running *, struct op *, uint64_t deadline_ns,
                   size_t bytes);
void running_end(struct coordinator *, struct running *);
bool running_is_late(struct coordinator *, const struct running *);

/* Who may be asked for a token: the replicas, this node first if it is one, then those that are up,
 * in ring order; down ones are left out. */
struct targets {
    unsigned replicas_count, count;
    unsigned missing; /* the first that is down, or 0 */
    unsigned nodes[REPLICAS_MAX];
};
void targets_find(const struct coordinator *, const struct keyspace *, int64_t token,
                  struct targets *);

/* Frees pooled objects. */
void writes_deinit(struct coordinator *);
void reads_deinit(struct coordinator *);

/* Is it the silence of a replica (it may or may not have done it) or its refusal? */
static inline bool is_silence(enum err err)
{
    return err == ERR_TIMEOUT || err == ERR_CLOSED || err == ERR_STOPPED;
}
