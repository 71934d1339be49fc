/* ring.h - the virtual-node hash ring: tokens by a pure function of the members, replicas by token.
 *
 *     ... t1(node 2)] (t1 .. t2(node 1)] (t2 .. t3(node 3)] ...   a node owns (previous token, its]
 *
 * Tokens are chosen so that ownership is balanced whatever the order of starting: the same members
 * give the same tokens everywhere.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/uuid.h"
#include "io/io.h"
#include "model/schema.h"

enum { NODES_MAX = 64, RING_TOKENS_MAX = 64 * 256, REPLICAS_MAX = 16 };

struct node {
    unsigned number; /* from 1 */
    struct uuid host_id;
    struct io_addr internode, native; /* as last heard */
    char data_center[64], rack[64];
    char version[32]; /* release it runs, as last heard */
    bool is_up;       /* as this shard knows */
};
struct ring_token {
    int64_t token;
    unsigned node;
};
struct ring {
    struct uuid cluster_id;
    uint64_t epoch;
    size_t nodes_count;
    struct node nodes[NODES_MAX]; /* nodes[i].number == i + 1 */
    size_t tokens_count;
    struct ring_token *tokens; /* ascending */
};

/* Fills tokens for nodes_count nodes of tokens_each tokens, deterministically from the host ids'
 * order; `out` has room for nodes_count * tokens_each.  With 3 nodes and 16 tokens each node owns
 * between 32% and 34.5%. */
void ring_make_tokens(size_t nodes_count, unsigned tokens_each, struct ring_token *out);
/* Share of the ring that a node owns first-hand: 0..1. */
double ring_ownership(const struct ring *, unsigned node);

/* The number of the node with that host id; 0 when it is no member. */
unsigned ring_number(const struct ring *, const struct uuid *host_id);

struct replicas {
    size_t count;
    unsigned nodes[REPLICAS_MAX]; /* in ring order: the owner first */
};
/* Replicas of a token under the keyspace's replication (SimpleStrategy: the next distinct nodes;
 * NetworkTopologyStrategy: per data centre, spread over racks; LOCAL: this node itself, `self`). */
void ring_replicas(const struct ring *, const struct keyspace *, unsigned self, int64_t token,
                   struct replicas *out);
/* The end of the ring range that a token lies in: replicas are the same for (token .. end]. */
int64_t ring_range_end(const struct ring *, int64_t token);

/* The shard of a node of `shards` shards that owns a token: biased-token-round-robin with 12
 * ignored bits (facts: protocol 7). */
int ring_shard(int64_t token, int shards);
