/* hints_keep.c - a hint on its way into its target's journal.
 *
 *     begin ──> appended ──> ended
 *       │  ^
 *       └──┘ until the journal is open
 *
 * A mutation that is too large for one record goes in parts, in front of its hint.  All of them are
 * appended in one step, so nothing stands between, and what a crash leaves of them without the hint
 * is nothing.
 *
 * Invariant: hints are counted in the order in which they stand.  The journal completes its appends
 * in their order, and ops run in the order of their wakes.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hints_inside.h"

enum { KEEP_BEGIN, KEEP_APPENDED };

static struct op_next keep_begin(struct op *);
static struct op_next keep_appended(struct op *);

static const struct op_state keep_states[] = {
    [KEEP_BEGIN] = { "keep begin", keep_begin, TO(KEEP_BEGIN) | TO(KEEP_APPENDED) },
    [KEEP_APPENDED] = { "keep appended", keep_appended, TO(KEEP_APPENDED) },
};

static struct keeping *keeping_of(struct op *op) { return owner_of(op, struct keeping, op); }

static size_t part_bytes(const struct hints *h)
{
    return (size_t)(hint_segment_bytes(h) / 4) - HINT_HEAD_BYTES;
}

static size_t keeping_bytes(unsigned parts)
{
    return sizeof(struct keeping) + (parts + 1) * sizeof(struct io_req);
}

/* ---- may it be kept? ---- */

static uint64_t target_bytes(const struct hint_target *t)
{
    uint64_t bytes = 0;
    list_each(l, &t->journals) bytes += owner_of(l, struct hint_journal, link)->bytes;
    return bytes;
}

static const struct hint_target *target_find(const struct hints *h, const struct uuid *host_id)
{
    list_each(l, &h->targets)
    {
        const struct hint_target *t = owner_of(l, struct hint_target, link);
        if (uuid_equal(&t->host_id, host_id))
            return t;
    }
    return NULL;
}

/* Is the target down for longer than the window, in this life or, as its oldest hint tells, since
 * an earlier one? */
static bool is_window_over(const struct hints *h, const struct hint_target *t, unsigned node)
{
    uint64_t since = h->down_since_ns[node];
    if (since == 0 || cluster_is_up(h->cluster, node))
        return false;
    if (io_now(h->io) - since > h->options.window_ns)
        return true;
    int64_t oldest = t ? t->own->head_us : 0;
    int64_t age_us = io_wall(h->io) - oldest;
    return oldest && age_us > 0 && (uint64_t)age_us * 1000 > h->options.window_ns;
}

enum hint_refusal hints_would_refuse(const struct hints *h, unsigned target)
{
    const struct ring *ring = cluster_ring(h->cluster);
    ensure(target >= 1 && target <= ring->nodes_count);
    const struct hint_target *t = target_find(h, &ring->nodes[target - 1].host_id);
    if (!h->options.is_on || !h->folder)
        return HINT_REFUSED_OFF;
    if (h->is_closing)
        return HINT_REFUSED_STOPPING;
    if (is_window_over(h, t, target))
        return HINT_REFUSED_WINDOW;
    if (!t)
        return HINT_REFUSALS_COUNT;
    if (h->options.bytes_max && target_bytes(t) >= h->options.bytes_max)
        return HINT_REFUSED_SIZE;
    const struct hint_journal *j = t->own;
    bool is_broken = j->state == HINTS_FAILED || j->is_foreign ||
                     (j->state == HINTS_OPEN && journal_state(j->journal) == ERR_IO);
    return is_broken ? HINT_REFUSED_DISK : HINT_REFUSALS_COUNT;
}

/* ---- keeping ---- */

static struct op_next keep_refuse(struct keeping *k, enum hint_refusal why)
{
    k->keep->why = why;
    k->hints->refused++;
    return op_end(&k->op, ERR_REFUSED);
}

/* It began before a TRUNCATE of its table: written, and dropped in the same moment. */
static bool keep_is_too_old(const struct keeping *k)
{
    struct uuid table = k->keep->table;
    const struct hint_erased *e = map_get(&k->hints->truncated, bytes_of(table.b, sizeof table.b));
    return e && k->keep->begun_ns && k->keep->begun_ns <= e->ns;
}

static void keep_drop(struct keeping *k)
{
    struct hint_journal *j = k->journal;
    struct hint_tally *t = tally_of(j, &k->keep->table);
    t->written++;
    t->settled.dropped[HINT_DROP_TRUNCATED]++;
    j->unmarked++;
    tally_check(t);
}

/* All parts and the hint behind them. */
static void keep_append(struct keeping *k)
{
    struct hint_journal *j = k->journal;
    struct hints *h = k->hints;
    struct bytes left = k->keep->mutation;
    for (unsigned i = 0; i < k->parts; i++) {
        struct hint_record part = { .kind = HINT_PART, .parts = i };
        part.rest = bytes_of(left.data, part_bytes(h));
        left = bytes_of(left.data + part.rest.size, left.size - part.rest.size);
        buf_clear(&h->scratch);
        hint_put(&h->scratch, &part);
        journal_append(j->journal, &k->appends[i], &k->op, buf_bytes(&h->scratch));
    }
    k->number = j->number++;
    struct hint_record hint = { .kind = HINT_RECORD,
                                .table = k->keep->table,
                                .token = k->keep->token,
                                .kept_us = k->kept_us,
                                .number = k->number,
                                .parts = k->parts,
                                .rest = left };
    buf_clear(&h->scratch);
    hint_put(&h->scratch, &hint);
    k->record_bytes = HINT_HEAD_BYTES + k->keep->mutation.size;
    j->bytes += k->record_bytes;
    j->appends++;
    journal_append(j->journal, &k->appends[k->parts], &k->op, buf_bytes(&h->scratch));
}

static struct op_next keep_begin(struct op *op)
{
    struct keeping *k = keeping_of(op);
    struct hint_journal *j = k->journal;
    list_remove(&k->link);
    enum hint_refusal why = hints_would_refuse(k->hints, k->keep->target);
    if (why != HINT_REFUSALS_COUNT)
        return keep_refuse(k, why);
    if (keep_is_too_old(k)) {
        keep_drop(k);
        return op_end(op, OK);
    }
    if (j->state != HINTS_OPEN) {
        list_add(&j->waiting, &k->link);
        op_wake(&j->target->op);
        return op_wait(KEEP_BEGIN);
    }
    keep_append(k);
    return op_wait(KEEP_APPENDED);
}

static struct op_next keep_appended(struct op *op)
{
    struct keeping *k = keeping_of(op);
    struct hint_journal *j = k->journal;
    enum err err = OK;
    for (unsigned i = 0; i <= k->parts; i++) {
        if (k->appends[i].busy)
            return op_wait(KEEP_APPENDED);
        err = err == OK ? k->appends[i].err : err;
    }
    ensure(j->appends > 0);
    j->appends--;
    op_wake(&j->target->op);
    if (err != OK) {
        j->bytes -= u64_min(j->bytes, k->record_bytes);
        return keep_refuse(k, HINT_REFUSED_DISK);
    }
    struct hint_written written = { .table = k->keep->table,
                                    .at = journal_place(&k->appends[k->parts]),
                                    .number = k->number,
                                    .kept_us = k->kept_us };
    books_written(j, &written);
    return op_end(op, OK);
}

static void keep_release(struct op *op)
{
    struct keeping *k = keeping_of(op);
    struct hints *h = k->hints;
    struct io_req *done = &k->keep->req;
    enum err err = op->err;
    ensure(h->keepings > 0);
    h->keepings--;
    if (h->closer)
        op_wake(h->closer);
    slab_release(&h->slab, k, keeping_bytes(k->parts));
    io_req_end(done, err);
}

/* A hint is as old as its write, however long a node that stood still has had it in its hands. */
static int64_t ago_us(const struct hints *h, const struct hint_keep *keep)
{
    uint64_t now = io_now(h->io);
    return keep->begun_ns && keep->begun_ns < now ? (int64_t)((now - keep->begun_ns) / 1000) : 0;
}

void hints_keep(struct hints *h, struct hint_keep *keep, struct op *op)
{
    const struct ring *ring = cluster_ring(h->cluster);
    ensure(keep->target >= 1 && keep->target <= ring->nodes_count && keep->mutation.size > 0);
    bool is_off = !h->folder || h->is_closing;
    size_t most = part_bytes(h);
    unsigned parts = (unsigned)((keep->mutation.size - 1) / most);
    struct keeping *k = slab_alloc(&h->slab, keeping_bytes(parts));
    memset(k, 0, keeping_bytes(parts));
    k->hints = h;
    k->keep = keep;
    k->parts = parts;
    k->kept_us = io_wall(h->io) - ago_us(h, keep);
    list_init(&k->link);
    if (!is_off) {
        struct hint_target *t = target_of(h, &ring->nodes[keep->target - 1].host_id);
        target_start(t);
        k->journal = t->own;
    }
    h->keepings++;
    io_req_begin(&keep->req, op);
    op_start(&k->op, io_ops(h->io), NULL, keep_states, keep_release);
}
