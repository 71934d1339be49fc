/* replica.c - writes to this node's own shards: straight to the store, or over to the shard that
 * owns the token.
 *
 *     here:       store_apply
 *     elsewhere:  hop ──mail──> apply there ──mail home──> done
 *
 * A hop is one piece of memory that is made here, used there and freed here.  What it carries (the
 * mutation's bytes) is borrowed from the caller, who waits.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/replica.h"

#include "node/erase.h"
#include "node/gather.h"
#include "node/hinting.h"

enum { APPLY, APPLIED };
enum hop_kind { HOP_APPLY, HOP_TRUNCATE, HOP_BATCH };

struct hop {
    struct op op; /* runs on the other shard */
    struct io_mail mail;
    enum hop_kind kind;
    struct shard *there;
    struct io_req *done; /* the caller's leaf, on this shard */
    struct io_req wait;
    struct bytes mutation; /* or what the batchlog is asked */
    uint64_t deadline_ns;  /* one clock for all shards */
    struct uuid table;
    enum err err;
    size_t size;
};

static struct op_next hop_apply(struct op *);
static struct op_next hop_applied(struct op *);

static const struct op_state hop_states[] = {
    [APPLY] = { "apply", hop_apply, TO(APPLIED) },
    [APPLIED] = { "applied", hop_applied, TO(APPLIED) },
};

static struct hop *hop_of(struct op *op) { return owner_of(op, struct hop, op); }

static struct op_next hop_apply(struct op *op)
{
    struct hop *h = hop_of(op);
    if (!h->there->store || (h->kind == HOP_BATCH && !h->there->batchlog)) {
        h->wait.err = ERR_OVERLOADED;
        return op_goto(APPLIED);
    }
    if (h->kind == HOP_BATCH)
        batchlog_take(h->there->batchlog, &h->wait, op, h->mutation);
    else if (h->kind == HOP_APPLY)
        store_apply_by(h->there->store, &h->wait, op, h->mutation, h->deadline_ns);
    else
        erase_start(h->there, &h->wait, op, &h->table);
    return op_wait(APPLIED);
}

static struct op_next hop_applied(struct op *op)
{
    struct hop *h = hop_of(op);
    if (h->wait.busy)
        return op_wait(APPLIED);
    h->err = h->wait.err;
    h->size = h->wait.size;
    return op_end(op, OK);
}

/* The op's last moment there; the memory goes home. */
static void hop_release(struct op *op)
{
    struct hop *h = hop_of(op);
    io_post_home(h->there->io, &h->mail);
}

static void hop_there(struct io *io, struct io_mail *mail)
{
    struct hop *h = owner_of(mail, struct hop, mail);
    h->there = shard_of(io);
    op_start(&h->op, io_ops(io), NULL, hop_states, hop_release);
}

static void hop_home(struct io *io, struct io_mail *mail)
{
    struct shard *s = shard_of(io);
    struct hop *h = owner_of(mail, struct hop, mail);
    h->done->size = h->size;
    io_req_end(h->done, h->err);
    slab_release(&s->slab, h, sizeof *h);
}

/* Sends a copy of `what` there; *req completes when it is home. */
static void hop_begin(struct shard *s, int shard, const struct hop *what, struct io_req *req,
                      struct op *op)
{
    struct hop *h = shard_piece(s, sizeof *h);
    *h = *what;
    h->done = req;
    h->mail = (struct io_mail){ .there = hop_there, .home = hop_home };
    io_req_begin(req, op);
    shard_post(s, shard, &h->mail);
}

static void replica_apply(void *context, struct io_req *req, struct op *op, int64_t token,
                          struct bytes mutation, uint64_t deadline_ns)
{
    struct shard *s = context;
    int owner = ring_shard(token, io_shards(s->io));
    if (owner == io_self(s->io) && s->store) {
        store_apply_by(s->store, req, op, mutation, deadline_ns);
        return;
    }
    struct hop hop = { .kind = HOP_APPLY, .mutation = mutation, .deadline_ns = deadline_ns };
    hop_begin(s, owner, &hop, req, op);
}

/* Shard 0 leads.  It does not send itself there: that would hold a credit of a way that its own
 * errands need. */
void replica_truncate(struct shard *s, struct io_req *req, struct op *op, enum truncate_round round,
                      const struct uuid *table)
{
    if (round == TRUNCATE_HINTS) {
        hinting_erase(s, req, op, table);
        return;
    }
    if (io_self(s->io) == 0 && s->store) {
        erase_start(s, req, op, table);
        return;
    }
    struct hop hop = { .kind = HOP_TRUNCATE, .table = *table };
    hop_begin(s, 0, &hop, req, op);
}

void replica_batch(void *context, struct io_req *req, struct op *op, struct bytes request,
                   uint64_t deadline_ns)
{
    struct shard *s = context;
    (void)deadline_ns; /* what is in the journal is in the journal */
    if (io_self(s->io) == 0 && s->batchlog) {
        batchlog_take(s->batchlog, req, op, request);
        return;
    }
    struct hop hop = { .kind = HOP_BATCH, .mutation = request };
    hop_begin(s, 0, &hop, req, op);
}

static void replica_read(void *context, struct io_req *req, struct op *op, const struct read *read,
                         struct arena *arena, struct bytes *answer, uint64_t deadline_ns)
{
    (void)deadline_ns;
    gather_start(context, req, op, read, arena, answer);
}

static enum err replica_read_now(void *context, const struct read *read, struct arena *arena,
                                 struct read_sink *sink, struct read_outcome *out)
{
    struct shard *s = context;
    bool is_here = !read->is_range && ring_shard(read->token, io_shards(s->io)) == io_self(s->io);
    if (!is_here || !s->store)
        return ERR_WOULD_WAIT;
    return store_read(s->store, read, arena, sink, out);
}

struct replica_slot replica_slot(struct shard *s)
{
    return (struct replica_slot){ .context = s,
                                  .apply = replica_apply,
                                  .read = replica_read,
                                  .read_now = replica_read_now,
                                  .batch = replica_batch };
}
