/* life.h - how the shards of a node begin and end together.
 *
 *     shard 0     folders ─> lock ─> log ─> cluster ─> recover ─> open all ─> serve all ─> ...
 *                                                                  ─> quiet all
 *                                                                  ─> close all ─> gone
 *     others      asked for one phase after the other, by mail
 *
 * Private to node/.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "node/apart.h"
#include "node/mark.h"
#include "node/settle.h"
#include "node/shard.h"

enum phase {
    PHASE_NONE,
    PHASE_OPEN,  /* join the cluster's messages, replay, be ready to serve */
    PHASE_SERVE, /* take clients */
    PHASE_QUIET, /* no clients, no requests under way */
    PHASE_CLOSE, /* sync, close, give everything back */
};

struct phase_mail { /* from shard 0 to another shard, and home when the phase is done there */
    struct io_mail mail;
    struct life *leader;
    enum phase phase;
    int64_t last_timestamp; /* PHASE_SERVE: writes get later ones */
    struct report failed;
};

struct life {
    struct op op;
    struct shard *shard;
    /* the stage that this shard is in (stage.c): a child of op */
    struct op stage;
    enum phase phase;
    struct report failed;
    struct io_req wait, nap, open_owed, close_owed, close_cluster, close_store, open_hints,
        close_hints;
    struct io_req close_batchlog;
    struct cluster_options cluster_options;
    struct cluster *first; /* shard 0's, on the others */
    const char *seeds[NODES_MAX];
    struct phase_mail *asked; /* on the others: what is asked now */
    /* what shard 0 leads */
    struct phase_mail mails[NODE_SHARDS_MAX];
    int away; /* mails that are not home */
    struct io_file *lock;
    struct mark mark;
    struct settle settle;
    struct apart apart;
    struct store_recovered recovered;
    uint64_t free_bytes;
    struct io_req signal;
    struct arena arena;   /* paths */
    const char *told;     /* what was last said to wait for */
    unsigned step, above; /* within resolving and folders */
    bool is_asked_to_stop;
};

/* Starts the phase on this shard, as a child of life->op; failed tells when it has ended. */
void stage_start(struct life *, enum phase);
static inline bool stage_running(const struct life *l) { return op_running(&l->stage); }
/* Starts opening the cluster's part of this shard into life->wait. */
void stage_open_cluster(struct life *);

/* ---- schema.c: the cluster's slots ---- */
void schema_applied(void *context, uint64_t epoch, struct bytes bytes);
void schema_changed(void *context, const struct ring *, unsigned node, bool is_up);

/* ---- accept.c: the CQL port, on shard 0 ---- */
enum err accept_open(struct shard *, struct report *);
void accept_stop(struct shard *);
bool accept_idle(const struct shard *);
/* A client that was handed to this shard is gone: tells shard 0. */
void accept_note_gone(struct shard *);
