/* liveness.h - who is alive: a connection that stands, answers that come on it, news that go round.
 *
 *     down ── connected, two answers, ready ──> up
 *     up   ── the connection lost and not made again within 2 s,
 *             "not ready", another process,
 *             silence on a standing connection past phi,
 *             no heartbeat from anybody past phi ──────────────> down
 *
 * Two silences, since they tell of different things: answers that stay away (a partition, also when
 * others still hear the node), and a heartbeat that nobody passes on (the process hangs, also where
 * a large ring asks it seldom).
 *
 * Pure: events with their time in, changes out.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/phi.h"
#include "cluster/ring.h"

enum { LIVENESS_ANSWERS_FOR_UP = 2 };

struct life {
    bool is_connected, is_ready, is_up;
    unsigned answers;           /* in a row since the connection stands */
    uint64_t lost_ns;           /* up, and its connection has been gone since; 0: it stands */
    struct phi answered, beats; /* its answers to us; its heartbeats, from anybody */
};
struct liveness_table {
    double convict;               /* phi from which on silence is death: phi_convict_threshold */
    struct life nodes[NODES_MAX]; /* [number - 1] */
};
enum liveness_event {
    LIVENESS_CONNECTED, /* a new connection stands (a repetition is a new one) */
    LIVENESS_CLOSED,    /* it closed or could not be made */
    LIVENESS_ANSWERED,  /* it has answered, whatever we asked */
    LIVENESS_BEAT,      /* a later heartbeat of it was heard */
    LIVENESS_READY,     /* it says: count on me */
    LIVENESS_NOT_READY, /* it says: do not; or it is another process, which has not said it yet */
    LIVENESS_TICK,      /* time has passed */
};
enum liveness_change { LIVENESS_SAME, LIVENESS_UP, LIVENESS_DOWN };

/* One step for one node; says whether it went up or down. */
enum liveness_change liveness_step(struct liveness_table *, unsigned node, enum liveness_event,
                                   uint64_t now_ns);
bool liveness_is_up(const struct liveness_table *, unsigned node);
/* The larger of the two silences; 0 of who is down. */
double liveness_phi(const struct liveness_table *, unsigned node, uint64_t now_ns);
/* This node itself stood still for so long: what it did not hear then was not silence. */
void liveness_pass(struct liveness_table *, uint64_t ns, uint64_t now_ns);
