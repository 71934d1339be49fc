/* core.h - the session without I/O: nodes, links, statements, requests.
 *
 *     face.c (sockets, clock) ──bytes, losses, now──> core.c ──news──> request.c
 *                             <──bytes, dials, wake time──
 *
 * In reading order: ring, link, statement, request (with route.c and result.c),
 * topology.c, this and core.c; then face and the public calls: calls.c, values.c.
 *
 * Ownership.  Everything lives in the session's arena (nodes, links, statements, the structs of
 * requests, which are used again) or in the arenas inside a request, which are reset with it; only
 * the buffers of links are heap memory, and core_deinit reaches them all.  So a call that breaks
 * off anywhere (base/fail/driver.h) leaves nothing behind that core_deinit does not find.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "driver/request.h"

enum {
    PAGE_ROWS = 5000,
    CORE_ERROR_BYTES = 512,
    BACK_OFF_MIN_MS = 100,
    BACK_OFF_MAX_MS = 10000,
};

struct core {
    struct arena arena;
    struct arena scratch; /* within one step */
    uint64_t now_ms;
    uint32_t connect_ms, timeout_ms, connections, page_rows;
    uint16_t port;
    rd_routing routing;
    uint8_t version; /* of new connections */
    bool is_version_fixed, wants_lz4;
    struct bytes keyspace;
    unsigned keyspace_epoch; /* raised by each USE that was answered; 0: none yet */
    size_t nodes_count;
    struct node *nodes[NODES_MAX];
    struct ring rings[2];
    unsigned ring_at;     /* which is in use */
    struct link *control; /* that the topology is read from; NULL: none */
    bool is_known;        /* the topology was read once */
    bool is_refreshing, is_stale;
    uint64_t refresh_at_ms; /* not before, when it failed */
    rd_code refresh_code;   /* how it failed */
    size_t turn;
    struct list waiting, sent; /* by deadline */
    struct list ended;         /* of the core's own, to be reacted to */
    struct list done;          /* tagged, for rd_take */
    struct list held;          /* by the caller, or about to be */
    struct list spare;
    size_t tagged_count;
    uint64_t routed_count, at_replica_count;
    struct report failure;        /* why the last connection failed */
    char error[CORE_ERROR_BYTES]; /* the sentence of the last call that did not answer RD_OK */
    rd_failure last_failure;
};

/* Copies what it needs from the options; names no node. */
void core_init(struct core *, const rd_options *, uint64_t now_ms);
void core_deinit(struct core *);
/* The node at an address, made when it is not known; NULL when there are NODES_MAX. */
struct node *core_node(struct core *, const char *address, uint16_t port);
static inline struct ring *core_ring(struct core *c) { return &c->rings[c->ring_at]; }
/* Lets everything go on as far as it can: after requests were started, and at the end of each of
 * the following, by which the face tells what happened. */
void core_advance(struct core *);
void core_opened(struct core *, struct link *);
void core_closed(struct core *, struct link *);
void core_lost(struct core *, struct link *, const struct report *);
void core_fed(struct core *, struct link *, size_t n);
void core_tick(struct core *, uint64_t now_ms);
/* When the next tick is due; UINT64_MAX: never. */
uint64_t core_wake_ms(const struct core *);

/* Sets off to read the topology anew; false when that is under way or has just failed (topology.c).
 */
bool topology_refresh(struct core *);
/* A request of the refresh has ended. */
void topology_answered(struct rd_result *);
void topology_event(struct core *, struct cursor body);
