/* ring.h - nodes, tokens and replicas, as the system tables tell them.  Pure. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/arena.h"
#include "base/uuid.h"
#include "driver/rondo.h"

enum { NODES_MAX = 256 };

struct link;
struct node {
    size_t at; /* in the core's nodes */
    char address[64];
    uint16_t port;
    struct uuid host_id; /* zero: not known yet */
    char data_center[64], rack[64];
    bool is_listed;       /* by the last refresh, or named by the caller and not refreshed yet */
    bool is_up;           /* as events and connections tell */
    uint64_t retry_at_ms; /* not dialled before, after a failure */
    uint64_t back_off_ms;
    uint64_t sent_count;
    struct link *links; /* options.connections of them */
    size_t turn;
};

struct ring_token {
    int64_t token;
    struct node *node;
};
enum ring_strategy { RING_NONE, RING_SIMPLE, RING_TOPOLOGY };
struct ring_center {
    const char *name;
    unsigned factor;
    size_t nodes_count, racks_count; /* that the centre has */
};
struct ring_keyspace {
    const char *name;
    enum ring_strategy strategy;
    unsigned factor;
    size_t centers_count;
    struct ring_center *centers;
};
struct ring {
    struct arena arena;
    size_t tokens_count, tokens_room;
    struct ring_token *tokens; /* ascending after ring_finish */
    size_t keyspaces_count, keyspaces_room;
    struct ring_keyspace *keyspaces;
};

void ring_reset(struct ring *);
void ring_deinit(struct ring *);
/* `tokens` is a set<text> of decimal numbers as it is on the wire.  ERR_PROTOCOL when it is none.
 */
enum err ring_add_tokens(struct ring *, struct node *, struct bytes tokens);
/* `replication` is a map<text, text> as it is on the wire. */
enum err ring_add_keyspace(struct ring *, struct bytes name, struct bytes replication);
void ring_finish(struct ring *);

/* The replicas of a token in ring order, the first being the owner; how many were written to `out`.
 * 0 when the keyspace is not known or has none. */
size_t ring_replicas(const struct ring *, const char *keyspace, int64_t token, struct node **out,
                     size_t room);
