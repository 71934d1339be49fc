/* ask_repair.c - do the answers of a round agree?  If not: all of them merged, and what each lacks
 * sent to it.
 *
 *     rows ──digest──┐
 *     digest ────────┼── equal: the rows, as far as every one of them reaches
 *     digest ────────┘
 *     whole, whole, ... ──> merged ──difference──> mutations for each, a few at a time
 *
 * Invariants
 *   1. A repair carries what was read, with its timestamps: applying it again, or beside newer
 *      writes, changes nothing more.
 *   2. What the caller is fed ends where the nearest of the answers ends.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/ask.h"
#include "model/params.h"

enum { REPAIRS_OUT_MAX = 32 };

/* ---- digests ---- */

static enum err digest_rows(struct ask *a, size_t i)
{
    struct ask_replica *r = &a->of[i];
    if (r->has_digest)
        return OK;
    enum err err =
        digest_of_answer(a->args.table, &a->read, a->gc_before, r->answer, &a->arena, &r->digest);
    r->has_digest = err == OK;
    return err;
}

bool ask_agrees(struct ask *a)
{
    size_t first = (size_t)__builtin_ctz(a->answered);
    bool agrees = true;
    if (a->answered == 1u << first)
        return true;
    for (size_t i = first; i < a->replicas.count; i++) {
        if (!(a->answered >> i & 1))
            continue;
        if (digest_rows(a, i) != OK)
            return false; /* merging says who is wrong */
        enum digest_verdict verdict =
            digest_compare(&a->of[first].digest, &a->of[i].digest, a->read.is_reversed);
        agrees &= verdict == DIGEST_EQUAL;
        a->compared |= verdict != DIGEST_INCOMPARABLE ? 1u << i : 0;
    }
    return agrees;
}

/* ---- feeding ---- */

/* An answer holds no more than was asked for, so that the limit of bytes has done its work. */
static enum err feed(struct ask *a, struct bytes answer)
{
    struct read read = a->is_whole ? a->whole : a->read;
    struct result_answers one = { .answers = &answer, .count = 1 };
    read.bytes_limit = UINT32_MAX;
    return result_merge(a->args.table, &read, &one, a->args.arena, a->args.sink, a->out);
}

/* The others reach as far as theirs does, and may have more. */
static void end_with(struct ask *a, const struct digest_answer *other)
{
    struct read_outcome *out = a->out;
    if (!other->has_more)
        return;
    if (out->has_more && position_compare(&other->last, &out->last, a->read.is_reversed) >= 0)
        return;
    out->has_more = true;
    out->last = other->last;
    out->last.key = arena_copy(a->args.arena, other->last.key);
    out->last.row_key = arena_copy(a->args.arena, other->last.row_key);
}

enum err ask_feed_agreed(struct ask *a)
{
    size_t rows = a->replicas.count;
    for (size_t i = 0; i < a->replicas.count && rows == a->replicas.count; i++)
        if (a->answered >> i & 1 && a->of[i].answer.size)
            rows = i;
    ensure(rows < a->replicas.count);
    enum err err = feed(a, a->of[rows].answer);
    for (size_t i = 0; err == OK && i < a->replicas.count; i++)
        if (a->answered >> i & 1 && i != rows)
            end_with(a, &a->of[i].digest);
    return err;
}

enum err ask_feed_merged(struct ask *a) { return feed(a, a->merged); }

/* ---- what each lacks ---- */

struct finding {
    struct ask *a;
    unsigned replica;
    uint64_t count;
};

static void add_repair(struct finding *f, const struct mutation *m)
{
    struct ask *a = f->a;
    struct buf out = buf_in(&a->arena);
    struct ask_repair *r = arena_new(&a->arena, struct ask_repair);
    mutation_encode(m, &out);
    *r = (struct ask_repair){ .replica = f->replica,
                              .token = m->token,
                              .mutation = buf_bytes(&out) };
    if (a->repairs_end)
        a->repairs_end->next = r;
    else
        a->repairs = r;
    a->repairs_end = r;
    if (!a->next_repair)
        a->next_repair = r;
    a->repairing |= 1u << f->replica;
    a->task.c->counts.repairs++;
    a->task.c->counts.repaired_rows += m->rows_count;
}

static void take_repair(void *context, const struct mutation *m)
{
    struct finding *f = context;
    struct coordinator_outcome *o = f->a->outcome;
    o->rows_differed +=
        (unsigned)(m->rows_count + m->ranges_count) + !deletion_is_none(m->deletion);
    o->repairs++;
    f->count++;
    if (f->a->args.repair != READ_REPAIR_COUNTS)
        add_repair(f, m);
}

/* Of those that have answered again, digests differed at one place, no replica lacks anything, and
 * none of them has changed since? */
static bool is_needless(struct ask *a)
{
    struct digest_answer now;
    const struct digest_answer *first = &a->of[__builtin_ctz(a->answered)].digest;
    bool has_differed = false;
    for (size_t i = 0; i < a->replicas.count; i++) {
        const struct ask_replica *r = &a->of[i];
        if (!(a->answered >> i & 1))
            continue;
        if (!(a->compared >> i & 1) || !r->has_digest ||
            digest_of_answer(a->args.table, &a->read, a->gc_before, r->answer, &a->arena, &now) !=
                OK ||
            digest_compare(&now, &r->digest, a->read.is_reversed) != DIGEST_EQUAL)
            return false;
        has_differed |= digest_compare(first, &r->digest, a->read.is_reversed) == DIGEST_DIFFERS;
    }
    return has_differed;
}

static enum err find_repairs(struct ask *a)
{
    struct finding f = { .a = a };
    struct difference_args args = { .table = a->args.table,
                                    .read = &a->whole,
                                    .epoch = cluster_epoch(a->task.c->cluster),
                                    .gc_before = a->gc_before,
                                    .arena = &a->arena,
                                    .give = take_repair,
                                    .context = &f };
    enum err err = OK;
    for (unsigned i = 0; err == OK && i < a->replicas.count; i++) {
        f.replica = i;
        if (a->answered >> i & 1)
            err = difference_of(&args, a->merged, a->of[i].answer);
    }
    if (err == OK && f.count == 0)
        a->task.c->counts.needless_repairs += is_needless(a);
    return err;
}

enum err ask_merge_whole(struct ask *a)
{
    struct bytes answers[REPLICAS_MAX];
    struct result_answers all = { .answers = answers };
    struct result_writer writer;
    struct read_outcome outcome;
    struct buf out = buf_in(&a->arena);
    for (size_t i = 0; i < a->replicas.count; i++)
        if (a->answered >> i & 1)
            answers[all.count++] = a->of[i].answer;
    result_begin(&writer, &a->whole, &out);
    enum err err = result_merge(a->args.table, &a->whole, &all, &a->arena, &writer.sink, &outcome);
    result_end(&writer, &outcome);
    a->merged = buf_bytes(&out);
    bool is_wanted = a->args.repair || a->args.table->params->repairs_on_read;
    a->outcome->has_differed = true;
    if (err == OK && is_wanted)
        err = find_repairs(a);
    return err;
}

/* ---- sending it ---- */

static void repair_send(struct ask *a, struct ask_repair *r)
{
    struct coordinator *c = a->task.c;
    const struct replica_slot *slot = &c->options.replica;
    r->is_sent = true;
    a->repairs_out++;
    if (ask_is_self(a, r->replica)) {
        slot->apply(slot->context, &r->local, &a->task.op, r->token, r->mutation,
                    a->args.deadline_ns);
        return;
    }
    struct cluster_message m = { .node = a->replicas.nodes[r->replica],
                                 .verb = VERB_APPLY,
                                 .body = r->mutation,
                                 .deadline_ns = a->args.deadline_ns,
                                 .has_token = true,
                                 .token = r->token };
    r->call.arena = &a->arena;
    cluster_call(c->cluster, &r->call, &a->task.op, &m);
}

static bool repair_is_out(const struct ask_repair *r) { return r->is_sent && !r->is_done; }

/* It has ended; a replica that did not take it has failed. */
static void repair_end(struct ask *a, struct ask_repair *r, enum err err)
{
    r->is_done = true;
    a->repairs_out--;
    if (err == OK)
        return;
    a->failed |= 1u << r->replica;
    a->of[r->replica].err = err;
    a->task.c->counts.repairs_failed++;
}

/* Those that have ended; and who still waits for some. */
static void repairs_look(struct ask *a)
{
    a->repairing = 0;
    for (struct ask_repair *r = a->repairs; r; r = r->next) {
        const struct io_req *req = ask_is_self(a, r->replica) ? &r->local : &r->call.req;
        if (repair_is_out(r) && !req->busy)
            repair_end(a, r, req->err);
        a->repairing |= r->is_done ? 0 : 1u << r->replica;
    }
}

void ask_repair_go_on(struct ask *a)
{
    if (!a->repairs)
        return;
    repairs_look(a);
    bool is_over = a->task.op.stop || io_now(a->task.c->io) >= a->args.deadline_ns;
    while (a->next_repair && a->repairs_out < REPAIRS_OUT_MAX && !is_over) {
        if (a->failed >> a->next_repair->replica & 1)
            a->next_repair->is_done = true;
        else
            repair_send(a, a->next_repair);
        a->next_repair = a->next_repair->next;
    }
}

void ask_repair_cancel(struct ask *a)
{
    for (struct ask_repair *r = a->repairs; r; r = r->next)
        if (repair_is_out(r) && r->call.req.busy)
            cluster_cancel(a->task.c->cluster, &r->call);
}
