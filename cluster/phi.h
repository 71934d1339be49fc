/* phi.h - how long somebody has been silent, measured by how often he speaks: phi-accrual.
 *
 *     phi = silence / mean interval / ln 10
 *
 * With intervals that are exponential, a silence of phi happens by chance once in 10^phi of them;
 * at 8, Cassandra's threshold, 18.4 mean intervals have gone by.  So a node that is heard half as
 * often, because frames are lost, is given twice the time, by itself.  (Cassandra's formula and
 * threshold: its documentation of phi_convict_threshold; Hayashibara and others, 2004.)
 *
 * Pure: times come in, nanoseconds.  A window of the last PHI_WINDOW intervals; zeroed: never
 * heard.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

enum {
    PHI_WINDOW = 128,
    PHI_LEAST_US = 1000 * 1000,     /* an interval counts as this much at least: gossip's round */
    PHI_MOST_US = 10 * 1000 * 1000, /* and at most: what is longer says nothing of the usual */
    PHI_FIRST_US = 2 * 1000 * 1000, /* what a window begins with */
};

struct phi {
    uint64_t heard_ns;
    uint64_t sum_us; /* of the window */
    unsigned count, next;
    uint32_t intervals_us[PHI_WINDOW];
};

/* He speaks now; what is less than half a round after the last word makes no interval. */
void phi_heard(struct phi *, uint64_t now_ns);
/* Forgets the silence, not the intervals: for who begins to be watched. */
void phi_begin(struct phi *, uint64_t now_ns);
/* For so long we were not listening. */
void phi_pass(struct phi *, uint64_t ns, uint64_t now_ns);
double phi_of(const struct phi *, uint64_t now_ns); /* 0: never heard */
uint64_t phi_mean_ns(const struct phi *);
