/* liveness.h - who is alive: a connection that stands and pings that are answered in time.
 *
 *     down ── connected, two ready answers ──> up
 *     up   ── closed, refused, an answer "not ready", or none within the timeout ──> down
 *
 * Pure: events with their time in, changes out.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/ring.h"

enum { LIVENESS_ANSWERS_FOR_UP = 2 };

struct life {
    bool is_connected, is_up;
    unsigned answers;     /* in a row since the connection stands */
    uint64_t answered_ns; /* when the last one came, or when the connection stood */
};
struct liveness_table {
    uint64_t timeout_ns;
    struct life nodes[NODES_MAX]; /* [number - 1] */
};
enum liveness_event {
    LIVENESS_CONNECTED, /* a new connection stands (a repetition is a new one) */
    LIVENESS_CLOSED,    /* it closed or could not be made */
    LIVENESS_ANSWERED,  /* a ping was answered: ready */
    LIVENESS_NOT_READY, /* a ping was answered: do not count on me */
    LIVENESS_TICK,      /* time has passed */
};
enum liveness_change { LIVENESS_SAME, LIVENESS_UP, LIVENESS_DOWN };

/* One step for one node; says whether it went up or down. */
enum liveness_change liveness_step(struct liveness_table *, unsigned node, enum liveness_event,
                                   uint64_t now_ns);
bool liveness_is_up(const struct liveness_table *, unsigned node);
/* When a tick may next change something for the node; UINT64_MAX: never without another event. */
uint64_t liveness_next_ns(const struct liveness_table *, unsigned node);
