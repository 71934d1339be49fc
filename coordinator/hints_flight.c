/* hints_flight.c - flights: hints that go to their target together, and the pace at which they do.
 *
 *     items ──judged──> flight ──VERB_HINTS──> answered ──> fates ──> settled, oldest flight first
 *                          ^──────(failed)────────┘
 *
 * Each hint is judged when it is about to leave: its table may have gone, it may have expired, or
 * have been given up; then its fate is known and it takes no room.
 *
 * The pace follows the target: answers within 20 ms make flights larger, up to 256 KiB, then more
 * of them go at once, up to four; answers later than 100 ms make them smaller.  A failure makes
 * both least, and what comes next waits: 50 ms, then twice as long each time, up to 5 s.  So a
 * target that is busy is asked for little, and one that is not drains at the speed of its disk.
 * Above that stands the throttle, in bytes a second.
 *
 * This node itself is a target too: a flight of one hint, applied here.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/hints_inside.h"

enum { FLIGHT_BYTES_MAX = 256 * 1024, FLIGHT_HINTS_MAX = 512 };
static const uint64_t deadline_ns = 5000000000, grace_ns = 1000000000;
static const uint64_t soon_ns = 20000000, late_ns = 100000000;
static const uint64_t back_off_least_ns = 50000000, back_off_most_ns = 5000000000;

/* ---- the pace ---- */

static void pace_good(struct hint_target *t, uint64_t took_ns)
{
    t->back_off_ns = 0;
    if (took_ns <= soon_ns && t->flight_bytes < FLIGHT_BYTES_MAX)
        t->flight_bytes *= 2;
    else if (took_ns <= soon_ns && t->flights_max < HINT_FLIGHTS_MAX)
        t->flights_max++;
    else if (took_ns > late_ns && t->flights_max > 1)
        t->flights_max--;
    else if (took_ns > late_ns && t->flight_bytes > HINT_FLIGHT_BYTES_MIN)
        t->flight_bytes /= 2;
}

static void pace_bad(struct hint_target *t)
{
    t->flights_max = 1;
    t->flight_bytes = HINT_FLIGHT_BYTES_MIN;
    t->back_off_ns =
        t->back_off_ns ? u64_min(2 * t->back_off_ns, back_off_most_ns) : back_off_least_ns;
    t->not_before_ns = io_now(t->hints->io) + t->back_off_ns;
}

static void pace_spend(struct hint_target *t, uint64_t bytes)
{
    uint64_t rate = t->hints->options.bytes_per_second, now = io_now(t->hints->io);
    if (rate == 0)
        return;
    t->budget_ns = u64_max(t->budget_ns, now) + bytes * 1000000000 / rate;
}

/* No flight is worth more than a tenth of a second of the throttle. */
static uint64_t flight_bytes_max(const struct hint_target *t)
{
    uint64_t rate = t->hints->options.bytes_per_second;
    return rate ? u64_min(t->flight_bytes, rate / 10 + 1) : t->flight_bytes;
}

/* ---- judging ---- */

static void item_judge(struct hint_target *t, struct hint_item *item)
{
    const struct hints *h = t->hints;
    const struct hint_tally *tally = tally_of(t->passing, &item->table);
    struct hint_table table;
    if (item->fate != HINT_OPEN)
        return;
    if (hint_order(item->at, tally->erased) < 0) {
        item->fate = HINT_DROPPED; /* of the reason that the books know */
        return;
    }
    if (!h->options.table(h->options.context, &item->table, &table)) {
        item->fate = HINT_DROPPED;
        item->why = HINT_DROP_NO_TABLE;
        return;
    }
    int64_t age_us = io_wall(h->io) - item->kept_us;
    uint64_t most_us =
        u64_min(h->options.window_ns / 1000, (uint64_t)table.gc_grace_seconds * 1000000);
    if (age_us >= 0 && (uint64_t)age_us >= most_us)
        item->fate = HINT_EXPIRED;
}

/* What a replica's word makes of a hint; without an end it is tried again. */
static void item_answered(struct hint_item *item, enum err err)
{
    if (item->fate != HINT_OPEN)
        return;
    if (err == OK) {
        item->fate = HINT_DELIVERED;
    } else if (err == ERR_NOT_FOUND) {
        item->fate = HINT_DROPPED;
        item->why = HINT_DROP_NO_TABLE;
    } else if (err == ERR_CORRUPT || err == ERR_LIMIT || err == ERR_INVALID || err == ERR_NEWER) {
        item->fate = HINT_DROPPED;
        item->why = HINT_DROP_REFUSED;
    }
}

/* ---- what has been answered ---- */

/* False: some are to be tried again. */
static bool flight_read(struct hint_flight *f)
{
    struct bytes answer = f->call.answer;
    size_t open = 0;
    bool is_done = true;
    list_each(l, &f->items) open += owner_of(l, struct hint_item, link)->fate == HINT_OPEN;
    if (answer.size != 0 && answer.size != open)
        return false;
    size_t i = 0;
    list_each(l, &f->items)
    {
        struct hint_item *item = owner_of(l, struct hint_item, link);
        if (item->fate != HINT_OPEN)
            continue;
        uint8_t err = answer.size ? answer.data[i++] : OK;
        item_answered(item, err < ERR_COUNT ? (enum err)err : ERR_PROTOCOL);
        is_done &= item->fate != HINT_OPEN;
    }
    return is_done;
}

static bool flight_is_done(const struct hint_flight *f)
{
    list_each(l, &f->items)
    {
        if (owner_of(l, struct hint_item, link)->fate == HINT_OPEN)
            return false;
    }
    return !f->is_sent;
}

static void flight_answered(struct hint_flight *f)
{
    struct hint_target *t = f->target;
    bool is_self = target_node(t) == cluster_self(t->hints->cluster);
    enum err err = is_self ? f->own.err : f->call.req.err;
    bool is_good = err == OK;
    ensure(f->is_sent && t->flights_count > 0);
    f->is_sent = false;
    t->flights_count--;
    if (is_self) {
        list_each(l, &f->items) item_answered(owner_of(l, struct hint_item, link), err);
        is_good = flight_is_done(f);
    } else if (is_good) {
        is_good = flight_read(f);
    } else if (err == ERR_TIMEOUT || err == ERR_CLOSED || err == ERR_STOPPED) {
        t->unsure_until_ns = u64_max(t->unsure_until_ns, f->call.deadline_ns + grace_ns);
    }
    arena_reset(&f->arena);
    if (is_good)
        pace_good(t, io_now(t->hints->io) - f->sent_ns);
    else
        pace_bad(t);
}

void flight_free(struct hint_flight *f)
{
    ensure(!f->is_sent);
    list_each(l, &f->items) item_free(f->target, owner_of(l, struct hint_item, link));
    list_remove(&f->link);
    arena_deinit(&f->arena);
    mem_free(f);
}

void flights_look(struct hint_target *t)
{
    list_each(l, &t->flights)
    {
        struct hint_flight *f = owner_of(l, struct hint_flight, link);
        if (f->is_sent && !f->call.req.busy && !f->own.busy)
            flight_answered(f);
    }
    while (!list_empty(&t->flights)) {
        struct hint_flight *oldest = owner_of(t->flights.next, struct hint_flight, link);
        if (!flight_is_done(oldest))
            return;
        list_each(l, &oldest->items) books_settle(t->passing, owner_of(l, struct hint_item, link));
        flight_free(oldest);
    }
}

/* ---- sending ---- */

/* As many of the items as go together; none: a NULL. */
static struct hint_flight *flight_gather(struct hint_target *t)
{
    struct hint_flight *f = mem_zalloc(sizeof *f);
    bool is_self = target_node(t) == cluster_self(t->hints->cluster);
    uint64_t bytes_max = is_self ? 1 : flight_bytes_max(t);
    f->target = t;
    f->number = t->next_flight++;
    list_init(&f->items);
    list_init(&f->link);
    while (!list_empty(&t->items) && f->bytes < bytes_max && f->count < FLIGHT_HINTS_MAX) {
        struct hint_item *item = owner_of(t->items.next, struct hint_item, link);
        item_judge(t, item);
        bool is_open = item->fate == HINT_OPEN;
        bool fits = f->bytes == 0 || f->bytes + item->size <= bytes_max;
        if (is_open && (!fits || !target_may_deliver(t)))
            break;
        list_remove(&item->link);
        list_add(&f->items, &item->link);
        t->items_bytes -= item->size;
        f->count++;
        f->bytes += is_open ? item->size : 0;
    }
    if (f->count > 0) {
        list_add(&t->flights, &f->link);
        return f;
    }
    flight_free(f);
    return NULL;
}

static void flight_body(struct hint_flight *f, struct buf *out)
{
    buf_clear(out);
    list_each(l, &f->items)
    {
        struct hint_item *item = owner_of(l, struct hint_item, link);
        item_judge(f->target, item);
        if (item->fate == HINT_OPEN)
            buf_put_sized(out, bytes_of(item->mutation, item->size));
    }
}

static const struct hint_item *flight_first_open(const struct hint_flight *f)
{
    list_each(l, &f->items)
    {
        const struct hint_item *item = owner_of(l, struct hint_item, link);
        if (item->fate == HINT_OPEN)
            return item;
    }
    return NULL;
}

static void flight_send(struct hint_flight *f, struct op *op)
{
    struct hint_target *t = f->target;
    struct hints *h = t->hints;
    unsigned node = target_node(t);
    flight_body(f, &h->scratch);
    const struct hint_item *first = flight_first_open(f);
    if (!first)
        return;
    pace_spend(t, h->scratch.size);
    f->is_sent = true;
    t->flights_count++;
    f->sent_ns = io_now(h->io);
    if (node == cluster_self(h->cluster)) {
        h->options.apply(h->options.context, &f->own, op, first->token,
                         bytes_of(first->mutation, first->size), f->sent_ns + deadline_ns);
        return;
    }
    struct cluster_message m = { .node = node,
                                 .verb = VERB_HINTS,
                                 .body = buf_bytes(&h->scratch),
                                 .deadline_ns = f->sent_ns + deadline_ns };
    f->call.arena = &f->arena;
    cluster_call(h->cluster, &f->call, op, &m);
}

/* The oldest that is to be sent again, or a new one. */
static struct hint_flight *flight_next(struct hint_target *t)
{
    list_each(l, &t->flights)
    {
        struct hint_flight *f = owner_of(l, struct hint_flight, link);
        if (!f->is_sent && !flight_is_done(f))
            return f;
    }
    return list_empty(&t->items) ? NULL : flight_gather(t);
}

uint64_t flights_send(struct hint_target *t, struct op *op)
{
    uint64_t now = io_now(t->hints->io);
    if (t->flights_count < t->flights_max) {
        uint64_t at = u64_max(t->not_before_ns, t->budget_ns);
        if (at > now)
            return at;
        struct hint_flight *f = flight_next(t);
        if (!f) {
            t->is_halted |= !list_empty(&t->items); /* the target is down */
            return 0;
        }
        if (!target_may_deliver(t) && flight_first_open(f)) {
            t->is_halted = true;
            return 0;
        }
        flight_send(f, op);
        if (flight_is_done(f))
            flights_look(t);
        t->has_more = true;
    }
    return 0;
}
