/* hints_pass.c - a pass: what is not settled of a journal is read again, from the first that is
 * not up to what was durable when the pass began, and settled in that order.
 *
 *     journal ──read──> items ──hints_flight.c──> flights ──answered──> settled
 *
 * The reading rests while many items wait, so memory is bounded by its window; it tells the
 * target's op when there is something to send, for that may be long before its end.  A pass is
 * halted when the target goes down, when delivery is turned off, or when the node stops: what has
 * left is waited for, the rest is forgotten and read again by the next pass.
 *
 * While the target is down a pass comes when the oldest hint has expired, and ends at the first
 * that has not.  Passes of an up target are half a second apart, since each begins by reading a
 * segment from its start.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/hints_inside.h"

enum { ITEMS_BYTES_MAX = 1 << 20 };
static const uint64_t pass_gap_ns = 500000000, failed_gap_ns = 10000000000;

/* ---- reading ---- */

static void item_take(struct hint_target *t, const struct hint_record *r,
                      struct journal_position at)
{
    size_t size = t->parts.size + r->rest.size;
    struct hint_item *item = slab_alloc(&t->hints->slab, sizeof *item + size);
    if (list_empty(&t->items))
        op_wake(&t->op);
    *item = (struct hint_item){ .table = r->table,
                                .at = at,
                                .token = r->token,
                                .number = r->number,
                                .kept_us = r->kept_us,
                                .record_bytes = HINT_HEAD_BYTES + size,
                                .size = size };
    if (t->parts.size)
        memcpy(item->mutation, t->parts.data, t->parts.size);
    if (r->rest.size)
        memcpy(item->mutation + t->parts.size, r->rest.data, r->rest.size);
    list_add(&t->items, &item->link);
    t->items_bytes += size;
}

void item_free(struct hint_target *t, struct hint_item *item)
{
    list_remove(&item->link);
    slab_release(&t->hints->slab, item, sizeof *item + item->size);
}

/* What does not fit together is left out: the end of the pass counts it as damaged. */
static void part_take(struct hint_target *t, const struct hint_record *r)
{
    if (r->parts == 0) {
        buf_clear(&t->parts);
        t->parts_count = 0;
    }
    bool fits = r->parts == t->parts_count && t->parts.size + r->rest.size <= MUTATION_BYTES_MAX;
    if (fits)
        buf_put_bytes(&t->parts, r->rest);
    t->parts_count = fits ? t->parts_count + 1 : UINT64_MAX;
}

static enum err pass_record(void *context, struct bytes record, struct journal_position at)
{
    struct hint_target *t = context;
    struct hint_record r;
    if (t->is_halted)
        return ERR_STOPPED;
    if (hint_get(record, &r) != OK)
        return OK;
    if (r.kind == HINT_PART)
        part_take(t, &r);
    if (r.kind != HINT_RECORD)
        return OK;
    if (r.parts == 0)
        buf_clear(&t->parts);
    bool is_whole = r.parts == 0 || r.parts == t->parts_count;
    if (is_whole && hint_order(t->passing->done, at) <= 0)
        item_take(t, &r, at);
    buf_clear(&t->parts);
    t->parts_count = 0;
    return OK;
}

static bool pass_must_rest(void *context)
{
    const struct hint_target *t = context;
    return !t->is_halted && t->items_bytes >= ITEMS_BYTES_MAX;
}

/* ---- beginning ---- */

/* When the oldest of a journal expires, for a target that is down; 0: now. */
static uint64_t expiry_ns(const struct hint_journal *j)
{
    const struct hints *h = j->target->hints;
    int64_t age_us = io_wall(h->io) - j->head_us;
    uint64_t age_ns = age_us > 0 ? (uint64_t)age_us * 1000 : 0;
    if (j->head_us == 0 || age_ns >= h->options.window_ns)
        return 0;
    return io_now(h->io) + (h->options.window_ns - age_ns);
}

static void pass_begin(struct hint_target *t, struct hint_journal *j, struct op *op)
{
    struct journal_reading reading = { .folder = j->path,
                                       .holes = JOURNAL_SKIP_HOLE,
                                       .first = j->done.segment,
                                       .end = j->kept,
                                       .record = pass_record,
                                       .must_rest = pass_must_rest,
                                       .context = t };
    ensure(list_empty(&t->items) && list_empty(&t->flights) && !t->reading.busy);
    t->passing = j;
    t->limit = j->kept;
    t->limit_number = j->kept_number;
    t->is_halted = false;
    t->parts_count = 0;
    buf_clear(&t->parts);
    books_pass_begin(j);
    journal_read_as(t->hints->io, &t->reading, op, &reading, &t->seen);
}

/* The first journal for which there is something to do; or when there may be. */
static uint64_t pass_look(struct hint_target *t, struct op *op)
{
    uint64_t next = 0, now = io_now(t->hints->io);
    list_each(l, &t->journals)
    {
        struct hint_journal *j = owner_of(l, struct hint_journal, link);
        if (books_unsettled(j) == 0)
            continue;
        uint64_t at = target_may_deliver(t) ? 0 : expiry_ns(j);
        at = u64_max(at, t->next_pass_ns);
        if (at <= now) {
            pass_begin(t, j, op);
            return 0;
        }
        next = next ? u64_min(next, at) : at;
    }
    return next;
}

/* ---- ending ---- */

/* The oldest that is not settled, or NULL. */
static const struct hint_item *pass_head(const struct hint_target *t)
{
    const struct list *items = &t->items;
    if (!list_empty(&t->flights))
        items = &owner_of(t->flights.next, struct hint_flight, link)->items;
    return list_empty(items) ? NULL : owner_of(items->next, struct hint_item, link);
}

static void pass_drop_all(struct hint_target *t)
{
    const struct hint_item *head = pass_head(t);
    ensure(head || (list_empty(&t->items) && list_empty(&t->flights)));
    if (head)
        t->passing->head_us = head->kept_us;
    while (!list_empty(&t->items))
        item_free(t, owner_of(t->items.next, struct hint_item, link));
    t->items_bytes = 0;
    while (!list_empty(&t->flights))
        flight_free(owner_of(t->flights.next, struct hint_flight, link));
}

static void pass_end(struct hint_target *t)
{
    struct hint_journal *j = t->passing;
    struct hints *h = t->hints;
    enum err err = t->reading.err;
    bool is_whole = !t->is_halted && err == OK;
    if (is_whole)
        books_pass_end(j, t->limit, t->limit_number);
    pass_drop_all(t);
    t->passing = NULL;
    t->next_pass_ns = io_now(h->io) + (is_whole || t->is_halted ? pass_gap_ns : failed_gap_ns);
    j->must_mark |= j->unmarked > 0;
    if (!is_whole && !t->is_halted)
        log_note(h->io, LOG_WARN, "hints_not_read", "folder=%s reason=\"%s\"", j->path,
                 err_text(err));
}

bool pass_is_quiet(const struct hint_target *t) { return !t->passing; }

static void pass_cancel(struct hint_target *t)
{
    list_each(l, &t->flights)
    {
        struct hint_flight *f = owner_of(l, struct hint_flight, link);
        if (f->call.req.busy)
            cluster_cancel(t->hints->cluster, &f->call);
    }
}

uint64_t pass_tend(struct hint_target *t, struct op *op)
{
    t->has_more = false;
    if (!t->passing)
        return op->stop ? 0 : pass_look(t, op);
    flights_look(t);
    t->is_halted |= op->stop != OK;
    uint64_t next = t->is_halted ? 0 : flights_send(t, op);
    if (op->stop)
        pass_cancel(t);
    bool is_over = !t->reading.busy && t->flights_count == 0 &&
                   (t->is_halted || (list_empty(&t->items) && list_empty(&t->flights)));
    if (!is_over)
        return next;
    pass_end(t);
    return op->stop ? 0 : pass_look(t, op);
}
