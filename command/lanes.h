/* lanes.h - requests over sockets, as fast as they go or at a rate, each one timed.
 *
 * A lane is one client: `depth` requests in flight, a socket to every place that it needs.  What
 * travels are envelopes of protocol v4: the request is a template in which the stream and eight
 * bytes of key change; of the answer only the head is looked at.  So the same loop, to the last
 * instruction, measures a node and the bare echo beside it.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/histogram.h"
#include "command/bench_ring.h"
#include "driver/rondo.h"

struct lanes_place {
    char host[64];
    uint16_t port;
};
struct lanes_plan {
    const struct lanes_place *places;
    unsigned places_count;
    unsigned lanes_count, depth;
    const char *cql;      /* prepared on every socket; NULL: the place is an echo */
    struct bytes request; /* the template */
    size_t key_at;        /* of BENCH_KEY_BYTES in it */
    uint64_t rows;        /* keys are 0 .. rows - 1, big-endian */
    uint64_t rate;        /* requests a second; 0: as fast as they go */
    unsigned warm_up_ms, measured_ms;
    rd_routing routing;
    const struct bench_ring *ring;    /* NULL: everywhere is a replica */
    void (*when_warm)(void *context); /* called between warm-up and measuring; may be NULL */
    void *context;
};
struct lanes_result {
    struct histogram latency_ns;
    uint64_t count, replica_count; /* answered; of them by a replica */
    uint64_t errors_count;
    double seconds;
    size_t answer_bytes; /* of the last one */
    char error[256];     /* the first error answer, or why the run broke off */
    bool is_broken;
};

/* Runs the plan.  False, and `error` says why, when it could not begin or broke off. */
bool lanes_run(const struct lanes_plan *, struct lanes_result *);
