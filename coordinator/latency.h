/* latency.h - how long reads take, as one shard sees it: by node, to choose replicas; by table, to
 * know when one has been waited for too long.  Pure: told the time, keeps numbers.  Private to
 * coordinator/.
 *
 *     a node     a decaying mean of its answers, or what the oldest one under way has taken already
 *     a table    a histogram that forgets, and from it what speculative_retry waits for
 *
 * Replicas keep their order (this node, then as the ring has them) as long as none is *bad*: twice
 * as slow as the quickest of them and two milliseconds more.  Bad ones come last, the slowest at
 * the end.  They are read from now and then all the same, beside a read and not waited for
 * (probe.c), so that one that has recovered is found again within seconds.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/uuid.h"
#include "cluster/cluster.h"

/* ---- nodes ---- */
struct latency_node {
    uint64_t mean_ns;  /* 0: not measured yet */
    uint64_t since_ns; /* when the oldest one under way was sent, or the last answer came */
    uint64_t probed_ns;
    unsigned in_flight;
};
struct latency_nodes {
    struct latency_node nodes[NODES_MAX + 1]; /* by number */
};
void latency_sent(struct latency_nodes *, unsigned node, uint64_t now_ns);
/* An answer came, good or bad, or none in time. */
void latency_heard(struct latency_nodes *, unsigned node, uint64_t sent_ns, uint64_t now_ns);
/* It was called off: it would have taken at least so long. */
void latency_gave_up(struct latency_nodes *, unsigned node, uint64_t sent_ns, uint64_t now_ns);
/* What a read from it is expected to take; 0: nobody knows. */
uint64_t latency_expected(const struct latency_nodes *, unsigned node, uint64_t now_ns);
/* Fills `order` with the places 0 .. count-1 of the nodes in the order in which to ask them; how
 * many of them are good. */
size_t latency_order(const struct latency_nodes *, const unsigned *nodes, size_t count,
                     uint64_t now_ns, size_t order[REPLICAS_MAX]);
/* Is it time to look whether it has recovered?  Then the next time is a second away. */
bool latency_probe_is_due(struct latency_nodes *, unsigned node, uint64_t now_ns);

/* ---- tables ---- */
enum retry_kind { RETRY_NEVER, RETRY_ALWAYS, RETRY_FIXED, RETRY_PERCENTILE, RETRY_MIN, RETRY_MAX };
struct retry {
    enum retry_kind kind;
    double percentile; /* 0 .. 100 */
    uint64_t fixed_ns;
};
/* speculative_retry as params.h shows it: "NEVER", "99p", "50ms", "MIN(99p,50ms)".  What it cannot
 * read is NEVER. */
struct retry retry_of(const char *shown);

enum { LATENCY_BUCKETS = 8 * 28, LATENCY_TABLES_MAX = 256 };
struct latency_table {
    struct uuid id;
    uint64_t epoch; /* of the table as `retry` was read from it */
    struct retry retry;
    uint32_t counts[LATENCY_BUCKETS]; /* eight for each power of two, from 1 us on */
    uint32_t count;                   /* of all; halved with them, so that old ones fade */
    uint32_t fresh;                   /* added since `percentile_ns` was found */
    uint64_t percentile_ns;           /* 0: too few yet */
    uint64_t used;                    /* when it was last asked for */
};
struct latency_tables {
    struct latency_table *tables[LATENCY_TABLES_MAX]; /* on the heap; those longest not used go */
    size_t count;
    uint64_t uses;
};
/* A table's entry, made when there is none; valid until the next call. */
struct latency_table *latency_table(struct latency_tables *, const struct table *);
void latency_tables_deinit(struct latency_tables *);
void latency_add(struct latency_table *, uint64_t took_ns);
/* How long to wait before one more replica is asked: 0 at once, UINT64_MAX never. */
uint64_t latency_patience(struct latency_table *, uint64_t timeout_ns);
