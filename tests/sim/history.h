/* history.h - what clients were told of cells, and whether a ring may have told it.
 *
 * A cell has versions, written or deleted by clients, in the order of reconciliation: timestamp;
 * with equal ones a deletion before values, the larger value before the smaller (Cassandra's rules,
 * facts: sstable 8).  A read at QUORUM returns something at least as new as every version that was
 * acknowledged at QUORUM before it began, and as every version that an earlier read at QUORUM has
 * returned.  One that finds nothing where something was known has returned a deletion, the oldest
 * that explains it.  No read returns what nobody has sent.
 *
 * Pure; a history is the test's.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

enum { HISTORY_CELLS_MAX = 64, HISTORY_VERSIONS_MAX = 4096 };

struct version {
    int cell;
    int64_t stamp; /* microseconds, the client's */
    bool is_delete;
    uint64_t known_ns;      /* when it was acknowledged at any level; 0: it was not */
    int64_t value;          /* unlike every other; 0 of a deletion */
    bool is_sent, is_acked; /* may be somewhere; at QUORUM or above */
};
struct history {
    size_t versions_count;
    struct version versions[HISTORY_VERSIONS_MAX];
    int floor[HISTORY_CELLS_MAX]; /* the newest version known to a quorum; -1: none */
};
void history_init(struct history *);
/* A version that is about to be sent; its index. */
int history_begin(struct history *, int cell, int64_t stamp, bool is_delete, int64_t value);
/* It was acknowledged, at any level. */
void history_known(struct history *, int version, uint64_t now_ns);
/* At QUORUM or above. */
void history_acked(struct history *, int version);
/* It was never sent (Unavailable). */
void history_refused(struct history *, int version);
/* Is the first the newer one of a cell? */
bool version_is_newer(const struct version *, const struct version *);

/* What a read of a cell has returned, `floor` being the cell's when the read began (-1 for reads
 * below QUORUM, whose answers promise nothing).  False with a sentence: it may not have. */
struct told {
    int cell, floor;
    bool is_there, is_quorum;
    int64_t value;
};
bool history_read(struct history *, const struct told *, char why[300]);
