/* play.h - a node of several shards whose stores are killed and come back: who takes part, and who
 * owns what.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/prng.h"
#include "io/sim/sim.h"
#include "props.h"

enum {
    SHARDS_MAX = 3,
    WRITERS = 4,
    PARTITIONS = 11,
    MUTATIONS_MAX = 4000,
    ROWS_MAX = 3,
    SEEDS = 12
};

/* MAYBE: sent, or truncated, and the answer was cut off. */
enum fate { UNUSED, MAYBE, THERE, GONE };

struct play;
struct shard {
    struct play *play;
    struct op op; /* opens, settles, then truncates when asked to */
    struct io_req req;
    struct io *io;
    struct store *store;
    struct store_held *held;
    struct report failed;
    struct store_recovered recovered; /* by the first one */
    bool is_open, is_settled, is_truncated;
};
struct writer {
    struct op op;
    struct io_req req;
    struct shard *shard;
    struct buf bytes; /* the node's memory */
    int mutation;
};
struct play {
    struct sim *sim;
    struct prng prng;
    struct catalog catalog;
    struct table *table;
    int shards_count;
    struct shard shards[SHARDS_MAX];
    struct writer writers[SHARDS_MAX * WRITERS];
    bool is_eager; /* a shard writes as soon as it is open, while others still read */
    uint64_t late; /* shards but the first open when so many writes have been acknowledged */
    bool is_recovered, has_removed, is_erased; /* by the first shard */
    bool must_rest, must_truncate;
    int sent, sent_before; /* this life */
    enum fate fates[MUTATIONS_MAX];
    uint8_t partitions[MUTATIONS_MAX]; /* where it went */
    int seen[MUTATIONS_MAX];           /* rows, in the last look */
    uint64_t acknowledged, truncations;
};

/* ---- who owns what ---- */

static inline struct bytes key_of(uint32_t partition, uint8_t out[4])
{
    put_be32(out, partition);
    return bytes_of(out, 4);
}

static inline int shard_of(int64_t token, int shards)
{
    return (int)((uint64_t)token % (uint64_t)shards);
}

static inline int owner(const struct play *p, int64_t token)
{
    return shard_of(token, p->shards_count);
}

static inline bool owns(void *context, int64_t token)
{
    const struct shard *s = context;
    return owner(s->play, token) == (int)(s - s->play->shards);
}
