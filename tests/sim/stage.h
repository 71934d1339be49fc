/* stage.h - what short stories about a ring are told with: a ring, its clients, steps and checks.
 *
 * A story is a function that says what happens in order; UNTIL lets the world go on until a fact
 * holds, and what is not so within a minute of virtual time ends the story with its sentence.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/shard.h"
#include "tests/sim/ring.h"
#include "tests/sim/talk.h"

enum { STAGE_TALKS = 16, STAGE_LOST = -1 };

struct stage {
    struct sim_ring ring;
    struct talk talks[STAGE_TALKS]; /* the story's own */
    bool is_used[STAGE_TALKS];
    struct talk asks[RING_NODES]; /* of stage_ask, one a node */
    bool is_asking[RING_NODES];
};

/* Runs a story in a world of its own; false: it failed, *why says where and what. */
bool stage_run(void (*story)(struct stage *), uint64_t seed, const char **why);

/* The ring with these shards a node (0: as the seed draws), serving. */
void stage_born(struct stage *, int shards);
/* Keyspace k (replication factor 3) and table k.t (k int, c int, v blob, key (k, c)). */
void stage_table(struct stage *);
void stage_table_of(struct stage *, int factor);
_Noreturn void stage_fail(const char *format, ...) printf_like(1, 2);
#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition))                                                    \
            stage_fail("%s:%d: not so: %s", __func__, __LINE__, #condition); \
    } while (0)
/* One event; fails when nothing is left to happen or virtual time has passed `end`. */
void stage_step(struct stage *, uint64_t end, const char *what);
#define UNTIL(stage, condition)                                                                  \
    for (uint64_t end_ = sim_now((stage)->ring.sim) + 60ull * 1000 * 1000 * 1000; !(condition);) \
    stage_step((stage), end_, #condition)
void stage_pass(struct stage *, uint64_t ns); /* time goes by */

/* Says a statement to a node and waits for the answer: 0, an error code of the protocol, or
 * STAGE_LOST when the connection broke.  The answer is in stage->asks[node]. */
int stage_ask(struct stage *, int node, enum consistency, const char *format, ...)
    printf_like(4, 5);
/* The first column of the first row of the last answer to stage_ask, as a number or a uuid. */
int64_t stage_number(struct stage *, int node);
struct uuid stage_uuid(struct stage *, int node);
/* A connection of the story's own, open when this returns. */
struct talk *stage_talk(struct stage *, int index, int node, uint8_t version);
void stage_leave(struct stage *, int index);
void stage_kill(struct stage *, int node);
void stage_return(struct stage *, int node); /* and waits until all know that it is up */
bool stage_knows(struct stage *, int node, int other, bool is_up);
/* Cuts a node off and waits until it takes all others for dead: what is read at ONE through it then
 * is its own copy.  Else a neighbour may be the one that answers, since reads go by latency and ask
 * once more when that takes long.  And back, until all are up for all. */
void stage_isolate(struct stage *, int node);
void stage_unite(struct stage *, int node);
struct shard *stage_shard(struct stage *, int node); /* shard 0 */
/* All files of the node whose path has one of these (NULL ends them) take so much longer; fails
 * when there is none of one of them. */
void stage_slow_files(struct stage *, int node, const char *const *parts, uint64_t ns);
/* All clients leave, all nodes are asked to stop, and none leaves anything behind. */
void stage_end(struct stage *);
