/* read.c - reads: at once where that can be, of one partition as one round, of a range as a scan.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/inside.h"

/* One round on the replicas of the read's token. */
static void read_start(struct coordinator *c, struct io_req *req, struct op *op,
                       const struct coordinator_read *args, struct read_outcome *out,
                       struct coordinator_outcome *outcome)
{
    const struct ring *ring = cluster_ring(c->cluster);
    unsigned self = cluster_self(c->cluster);
    struct replicas replicas;
    struct level_need need;
    ring_replicas(ring, args->keyspace, self, args->read->token, &replicas);
    level_need(args->level, ring, self, args->keyspace, &replicas, &need);
    struct ask_args ask = { .replicas = &replicas,
                            .need = &need,
                            .table = args->table,
                            .read = args->read,
                            .deadline_ns = args->deadline_ns,
                            .arena = args->arena,
                            .sink = args->sink };
    if (!level_allows(args->level, false))
        ask.refused = ERR_INVALID;
    else if (!enough_alive(c, &replicas, &need, outcome))
        ask.refused = ERR_UNAVAILABLE;
    c->counts.reads++;
    ask_start(c, req, op, &ask, out, outcome);
}

void coordinator_read(struct coordinator *c, struct io_req *req, struct op *op,
                      const struct coordinator_read *r, struct read_outcome *out,
                      struct coordinator_outcome *outcome)
{
    *outcome = (struct coordinator_outcome){ 0 };
    *out = (struct read_outcome){ 0 };
    if (r->read->is_range)
        scan_start(c, req, op, r, out, outcome);
    else
        read_start(c, req, op, r, out, outcome);
}

void coordinator_cancel(struct io_req *read)
{
    if (read->busy && read->impl)
        op_stop(read->impl, ERR_STOPPED);
}

enum err coordinator_read_now(struct coordinator *c, const struct coordinator_read *r,
                              struct read_outcome *out)
{
    struct replicas replicas;
    unsigned self = cluster_self(c->cluster);
    bool is_one = r->level == LEVEL_ONE || r->level == LEVEL_LOCAL_ONE;
    if (!is_one || r->read->is_range || !c->options.replica.read_now)
        return ERR_WOULD_WAIT;
    ring_replicas(cluster_ring(c->cluster), r->keyspace, self, r->read->token, &replicas);
    for (size_t i = 0; i < replicas.count; i++) {
        if (replicas.nodes[i] != self)
            continue;
        enum err err = c->options.replica.read_now(c->options.replica.context, r->read, r->arena,
                                                   r->sink, out);
        c->counts.local_reads += err == OK;
        /* a replica that fails, this one, is made good for by another */
        return err == ERR_CORRUPT || err == ERR_IO ? ERR_WOULD_WAIT : err;
    }
    return ERR_WOULD_WAIT;
}
