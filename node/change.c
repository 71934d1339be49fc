/* change.c - a schema change goes by mail to shard 0, which appends it to the metadata log.
 *
 *     request ──mail──> shard 0: append ──> ended ──mail home──> request
 *
 * The budget of time travels, not the deadline: shards have their own clocks' turns.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/change.h"

#include "base/mem.h"

enum { APPEND, APPENDED };

struct change_op { /* on shard 0 */
    struct op op;
    struct shard *shard;
    struct change_call *call;
    struct io_req append;
};

static struct op_next change_append(struct op *);
static struct op_next change_appended(struct op *);
static void change_release(struct op *);

static const struct op_state change_states[] = {
    [APPEND] = { "append", change_append, TO(APPENDED) },
    [APPENDED] = { "appended", change_appended, TO(APPENDED) },
};

static struct change_op *change_of(struct op *op) { return owner_of(op, struct change_op, op); }

static struct op_next change_append(struct op *op)
{
    struct change_op *c = change_of(op);
    struct io *io = c->shard->io;
    struct cluster_change change = { c->call->epoch, c->call->change,
                                     io_now(io) + c->call->budget_ns };
    cluster_append(c->shard->cluster, &c->append, op, &change, &c->call->failed);
    return op_wait(APPENDED);
}

static struct op_next change_appended(struct op *op)
{
    struct change_op *c = change_of(op);
    if (c->append.busy)
        return op_wait(APPENDED);
    c->call->err = c->append.err;
    io_post_home(c->shard->io, &c->call->mail);
    return op_end(op, OK);
}

static void change_release(struct op *op) { mem_free(change_of(op)); }

static void change_there(struct io *io, struct io_mail *mail)
{
    struct change_op *c = mem_zalloc(sizeof *c);
    c->shard = shard_of(io);
    c->call = owner_of(mail, struct change_call, mail);
    op_start(&c->op, io_ops(io), NULL, change_states, change_release);
}

static void change_home(struct io *io, struct io_mail *mail)
{
    struct change_call *call = owner_of(mail, struct change_call, mail);
    (void)io;
    if (call->err == ERR_UNAVAILABLE) {
        const struct ring *ring = cluster_ring(call->shard->cluster);
        call->outcome.required = (unsigned)ring->nodes_count;
        for (unsigned n = 1; n <= ring->nodes_count; n++) {
            bool is_up = cluster_is_up(call->shard->cluster, n);
            call->outcome.alive += is_up;
            if (!is_up && !call->outcome.missing)
                call->outcome.missing = n;
        }
    }
    io_req_end(&call->req, call->err);
}

void change_start(struct shard *shard, struct change_call *call, struct op *op, struct bytes change,
                  uint64_t deadline_ns)
{
    uint64_t now = io_now(shard->io);
    *call = (struct change_call){ .shard = shard,
                                  .change = change,
                                  .epoch = shard->catalog.epoch + 1,
                                  .budget_ns = deadline_ns > now ? deadline_ns - now : 0 };
    call->mail = (struct io_mail){ .there = change_there, .home = change_home };
    io_req_begin(&call->req, op);
    shard_post(shard, 0, &call->mail);
}
