/* repair.h - makes the replicas of a piece of the ring equal, for one table.
 *
 *     page ──> a digest of each replica ──equal──────────────────────────────> next page
 *                                       └─other──> its rows of each ──> merged ──> what each lacks
 *                                                  is written to it ───────────> next page
 *
 * It is a read at ALL that gives its rows to nobody: pages of at most REPAIR_PAGE_BYTES, 16 bytes
 * of digest for each of them, and rows only where digests differ.  Against a tree of hashes
 * (Merkle): that reads the same rows once, keeps a tree for each range in memory, and then streams
 * whole leaves; against a sketch: that is smaller on the wire where replicas differ in thousands of
 * rows, and fails beyond the number that it was made for.  Pages need no memory, end where rows do,
 * are compared as reads compare them, so that what a repair leaves equal no read finds different,
 * and any page is a place to go on from (docs/decisions/0022).
 *
 * Limits: every replica of the piece has to be up.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/cluster.h"
#include "io/io.h"
#include "model/model.h"

struct coordinator;

enum { REPAIR_PAGE_BYTES = 64 * 1024, REPAIR_PAGE_ROWS = 2048 };

struct repair {
    const struct keyspace *keyspace;
    const struct table *table; /* borrowed until completion */
    int64_t after, upto;       /* after < token <= upto: all of it with the same replicas */
    bool is_validate;          /* compares, writes nothing */
    uint64_t bytes_per_second; /* of what one replica reads; 0: no limit */
    uint64_t timeout_ns;       /* of a page */
};
/* To be looked at while it goes on, too. */
struct repaired {
    uint64_t pages, bytes;   /* compared, of one replica */
    uint64_t pages_differed; /* rows were looked at */
    uint64_t rows_differed;  /* that some replica lacks something of, counted for each replica */
    uint64_t repairs;        /* mutations written */
    uint64_t retries;
    int64_t reached;  /* everything up to this token is done */
    unsigned missing; /* ERR_UNAVAILABLE: the first dead replica's node number */
};
/* OK; ERR_UNAVAILABLE (a replica is down: repaired.missing), ERR_READ_TIMEOUT, ERR_READ_FAILURE
 * once a page has failed several times over; ERR_STOPPED, soon after coordinator_cancel. */
void coordinator_repair(struct coordinator *, struct io_req *, struct op *, const struct repair *,
                        struct repaired *out);
