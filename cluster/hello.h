/* hello.h - who speaks: the first frame of a connection and its answer; what seeds tell each other
 * before there is a cluster; and what a node says of itself that may change.  Pure.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/ring.h"

enum { PROTOCOL_LEAST = 1, PROTOCOL_MOST = 1, CLUSTER_NAME_BYTES = 128, HELLO_BYTES_MAX = 4096 };

enum lane { LANE_BIRTH, LANE_URGENT, LANE_REQUEST, LANE_BULK, LANE_COUNT };

/* X(name, sentence): why a connection was not accepted. */
#define REFUSAL_LIST(X)                         \
    X(NONE, "accepted")                         \
    X(VERSION, "no protocol version in common") \
    X(NAME, "another cluster_name")             \
    X(CLUSTER, "another cluster")               \
    X(UNBORN, "not a member of a cluster yet")  \
    X(STRANGER, "not a member of this cluster") \
    X(BUSY, "not ready for connections")
enum refusal {
#define X(name, text) REFUSAL_##name,
    REFUSAL_LIST(X)
#undef X
        REFUSAL_COUNT
};
const char *refusal_text(enum refusal);

struct hello {
    unsigned version_least, version_most;
    char cluster_name[CLUSTER_NAME_BYTES];
    struct uuid cluster_id, host_id; /* cluster_id zero: not born */
    struct uuid wanted;              /* whom the dialler means to reach; zero: whoever is there */
    struct io_addr internode, native;
    enum lane lane;
    unsigned shard;       /* that dials */
    enum refusal refusal; /* in an answer */
};
void hello_encode(const struct hello *, struct buf *out);
enum err hello_decode(struct bytes, struct hello *out); /* ERR_CORRUPT: not one of ours */
const char *lane_name(enum lane);

/* What a node is, as it is written into the birth entry: durable before it is told to anyone, and
 * never changed, so that every node that knows the same members computes the same entry. */
struct member {
    struct uuid host_id;
    struct io_addr internode, native;
    char data_center[64], rack[64];
    unsigned tokens_count;
};
void member_encode(const struct member *, struct buf *out);
void member_decode(struct cursor *, struct member *out);

struct ping {
    uint64_t epoch;
    bool is_ready; /* others may count on it */
    char version[32];
    struct io_addr native;
};
void ping_encode(const struct ping *, struct buf *out);
enum err ping_decode(struct bytes, struct ping *out);
