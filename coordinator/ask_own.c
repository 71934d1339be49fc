/* ask_own.c - this node's part of a round: read, and made a digest, while other nodes are at
 * theirs.
 *
 *     rows ──┬──> the answer's bytes
 *            └──> their digest, where those of others are awaited
 *
 * What is in memory is read at once; else the node's replica slot does it, and the op waits.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/ask.h"

/* A sink that gives each thing to both. */
struct both {
    struct read_sink sink;
    struct result_writer rows;
    struct digest_writer digest;
};

static struct both *both_of(struct read_sink *sink) { return owner_of(sink, struct both, sink); }

static void both_partition(struct read_sink *sink, struct bytes key, int64_t token,
                           struct deletion deletion)
{
    struct both *b = both_of(sink);
    b->rows.sink.partition(&b->rows.sink, key, token, deletion);
    b->digest.sink.partition(&b->digest.sink, key, token, deletion);
}

static void both_row(struct read_sink *sink, const struct row *row, bool is_live)
{
    struct both *b = both_of(sink);
    b->rows.sink.row(&b->rows.sink, row, is_live);
    b->digest.sink.row(&b->digest.sink, row, is_live);
}

static void both_range(struct read_sink *sink, const struct range_tombstone *range)
{
    struct both *b = both_of(sink);
    b->rows.sink.range(&b->rows.sink, range);
    b->digest.sink.range(&b->digest.sink, range);
}

/* Will it be held against digests of others? */
static bool ask_wants_digest(const struct ask *a)
{
    return !a->is_whole && a->asked & ~(1u << a->own);
}

/* False: it has to be waited for. */
static bool ask_own_now(struct ask *a)
{
    const struct replica_slot *slot = &a->task.c->options.replica;
    struct ask_replica *own = &a->of[a->own];
    const struct read *read = ask_read_of(a, a->own);
    struct buf out = buf_in(&a->arena);
    struct both both = { .sink = { both_partition, both_row, both_range } };
    struct read_outcome outcome = { 0 };
    bool wants_digest = ask_wants_digest(a);
    if (!slot->read_now || read->is_range)
        return false;
    result_begin(&both.rows, read, &out);
    if (wants_digest)
        digest_begin(&both.digest, read, a->gc_before, &a->arena);
    struct read_sink *sink = wants_digest ? &both.sink : &both.rows.sink;
    if (slot->read_now(slot->context, read, &a->arena, sink, &outcome) != OK)
        return false;
    result_end(&both.rows, &outcome);
    if (wants_digest)
        digest_end(&both.digest, &outcome, &own->digest);
    own->has_digest |= wants_digest;
    own->answer = buf_bytes(&out);
    a->local = (struct io_req){ 0 };
    return true;
}

void ask_own(struct ask *a)
{
    struct coordinator *c = a->task.c;
    const struct replica_slot *slot = &c->options.replica;
    struct ask_replica *own = &a->of[a->own];
    ensure(a->is_own_due && a->own < a->replicas.count && !a->local.busy);
    a->is_own_due = false;
    if (ask_own_now(a))
        return;
    own->is_out = true;
    own->sent_ns = io_now(c->io);
    latency_sent(&c->latency, a->replicas.nodes[a->own], own->sent_ns);
    slot->read(slot->context, &a->local, &a->task.op, ask_read_of(a, a->own), &a->arena,
               &own->answer, a->args.deadline_ns);
}
