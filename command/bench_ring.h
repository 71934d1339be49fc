/* bench_ring.h - which of the nodes that a benchmark speaks to are replicas of a key. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"

enum { BENCH_PLACES_MAX = 64, BENCH_KEY_BYTES = 8 };

struct bench_token {
    int64_t token;
    unsigned place; /* which node */
};
struct bench_ring {
    struct buf tokens; /* of struct bench_token, ascending once finished */
    unsigned places_count, factor;
};

/* A node's tokens as a set<text> prints: {'-12', '34'}; false when it is none. */
bool bench_ring_add(struct bench_ring *, unsigned place, const char *tokens);
void bench_ring_finish(struct bench_ring *, unsigned places_count, unsigned factor);
void bench_ring_deinit(struct bench_ring *);
/* The places that hold a key (SimpleStrategy), the owner first; how many there are. */
unsigned bench_ring_replicas(const struct bench_ring *, const uint8_t key[BENCH_KEY_BYTES],
                             unsigned out[BENCH_PLACES_MAX]);
