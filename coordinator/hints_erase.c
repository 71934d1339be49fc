/* hints_erase.c - hints are given up: of a table (TRUNCATE, DROP), or for a target (by hand).
 *
 *     in the call: the books        then:   log ──> quiet ──> ended
 *
 * In the call itself everything that stands in the journals is given up, so that no flight takes it
 * any more.  `log` makes that durable in every journal that had some; `quiet` waits until what had
 * left before cannot be applied any more: flights have been answered, and where one was not, its
 * deadline is over at the other side.
 *
 * A write that had begun before the call and becomes a hint after it is dropped when it comes
 * (hints_keep.c), by the time of the call, which is remembered for each table.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/hints_inside.h"

enum { GIVE_UP_LOG, GIVE_UP_QUIET };

struct giving_up_part {
    struct hint_journal *journal;
    struct io_req append;
    bool must_log, is_appended;
    uint64_t flights; /* those with a lower number had left before */
};
struct giving_up {
    struct op op;
    struct list link; /* hints->erasings */
    struct hints *hints;
    struct io_req *done; /* NULL: nobody waits */
    struct io_req nap;
    struct uuid table;
    enum hint_drop why;
    size_t count;
    struct giving_up_part *parts;
};

static struct op_next give_up_log(struct op *);
static struct op_next give_up_quiet(struct op *);

static const struct op_state give_up_states[] = {
    [GIVE_UP_LOG] = { "give up log", give_up_log, TO(GIVE_UP_LOG) | TO(GIVE_UP_QUIET) },
    [GIVE_UP_QUIET] = { "give up quiet", give_up_quiet, TO(GIVE_UP_QUIET) },
};

static struct giving_up *giving_up_of(struct op *op) { return owner_of(op, struct giving_up, op); }

/* ---- log ---- */

/* OK: it is durable, or need not be; ERR_WOULD_WAIT. */
static enum err part_log(struct giving_up *g, struct giving_up_part *p)
{
    struct hint_journal *j = p->journal;
    if (!p->must_log)
        return OK;
    if (p->is_appended)
        return p->append.busy ? ERR_WOULD_WAIT : p->append.err;
    if (g->op.stop)
        return g->op.stop;
    if (j->state == HINTS_FAILED || j->is_foreign)
        return ERR_IO;
    if (j->state == HINTS_SHUT && !j->is_wanted) {
        j->is_wanted = true;
        op_wake(&j->target->op); /* which wakes us when it is open */
    }
    if (j->state != HINTS_OPEN)
        return ERR_WOULD_WAIT;
    struct hints *h = g->hints;
    buf_clear(&h->scratch);
    hint_put_erase(&h->scratch, g->why, &g->table);
    p->is_appended = true;
    j->appends++;
    journal_append(j->journal, &p->append, &g->op, buf_bytes(&h->scratch));
    return ERR_WOULD_WAIT;
}

static struct op_next give_up_log(struct op *op)
{
    struct giving_up *g = giving_up_of(op);
    enum err failed = OK;
    bool must_wait = false;
    for (size_t i = 0; i < g->count; i++) {
        enum err err = part_log(g, &g->parts[i]);
        must_wait |= err == ERR_WOULD_WAIT;
        failed = err == OK || err == ERR_WOULD_WAIT ? failed : err;
    }
    if (must_wait)
        return op_wait(GIVE_UP_LOG);
    if (failed != OK || !g->done)
        return op_end(op, failed);
    return op_goto(GIVE_UP_QUIET);
}

/* ---- quiet ---- */

/* Until when something that had left may still be applied; UINT64_MAX: until it is answered. */
static uint64_t part_quiet_ns(const struct giving_up_part *p)
{
    const struct hint_target *t = p->journal->target;
    list_each(l, &t->flights)
    {
        const struct hint_flight *f = owner_of(l, struct hint_flight, link);
        if (f->is_sent && f->number < p->flights)
            return UINT64_MAX;
    }
    return t->unsure_until_ns;
}

static struct op_next give_up_quiet(struct op *op)
{
    struct giving_up *g = giving_up_of(op);
    uint64_t now = io_now(g->hints->io), until = 0;
    if (g->nap.busy && op->stop)
        io_cancel(g->hints->io, &g->nap);
    if (g->nap.busy)
        return op_wait(GIVE_UP_QUIET);
    if (op->stop)
        return op_end(op, op->stop);
    for (size_t i = 0; i < g->count; i++)
        until = u64_max(until, part_quiet_ns(&g->parts[i]));
    if (until <= now)
        return op_end(op, OK);
    if (until != UINT64_MAX)
        io_sleep(g->hints->io, &g->nap, op, until - now);
    return op_wait(GIVE_UP_QUIET);
}

static void give_up_release(struct op *op)
{
    struct giving_up *g = giving_up_of(op);
    struct io_req *done = g->done;
    enum err err = op->err;
    list_remove(&g->link);
    for (size_t i = 0; i < g->count; i++) {
        g->parts[i].journal->appends -= g->parts[i].is_appended;
        op_wake(&g->parts[i].journal->target->op);
    }
    if (g->hints->closer)
        op_wake(g->hints->closer);
    mem_free(g->parts);
    mem_free(g);
    if (done)
        io_req_end(done, err);
}

/* ---- in the call ---- */

static void part_add(struct giving_up *g, struct hint_journal *j)
{
    const struct hint_tally *t = map_get(&j->tallies, bytes_of(&g->table, sizeof g->table));
    bool must_log = j->appends > 0 || books_unsettled(j) > 0;
    if (!must_log && !(t && t->written > 0))
        return;
    books_give_up(j, &g->table, g->why, j->journal ? journal_end(j->journal) : j->kept);
    g->parts = mem_resize(g->parts, (g->count + 1) * sizeof *g->parts);
    g->parts[g->count++] = (struct giving_up_part){ .journal = j,
                                                    .must_log = must_log,
                                                    .flights = j->target->next_flight };
    target_start(j->target);
}

static void give_up(struct hints *h, struct giving_up from, const struct uuid *host, struct op *op)
{
    struct giving_up *g = mem_alloc(sizeof *g);
    *g = from;
    g->hints = h;
    list_add(&h->erasings, &g->link);
    list_each(l, &h->targets)
    {
        struct hint_target *t = owner_of(l, struct hint_target, link);
        if (host && !uuid_equal(host, &t->host_id))
            continue;
        list_each(k, &t->journals) part_add(g, owner_of(k, struct hint_journal, link));
    }
    if (g->done)
        io_req_begin(g->done, op);
    op_start(&g->op, io_ops(h->io), NULL, give_up_states, give_up_release);
    if (h->is_closing)
        op_stop(&g->op, ERR_STOPPED);
}

void give_up_wake(struct hints *h)
{
    list_each(l, &h->erasings) op_wake(&owner_of(l, struct giving_up, link)->op);
}

void give_up_stop(struct hints *h)
{
    list_each(l, &h->erasings) op_stop(&owner_of(l, struct giving_up, link)->op, ERR_STOPPED);
}

static void truncated_note(struct hints *h, const struct uuid *table)
{
    struct hint_erased *e = map_get(&h->truncated, bytes_of(table->b, sizeof table->b));
    if (!e) {
        e = mem_zalloc(sizeof *e);
        e->table = *table;
        map_put(&h->truncated, bytes_of(e->table.b, sizeof e->table.b), e);
    }
    e->ns = io_now(h->io);
}

void hints_erase(struct hints *h, struct io_req *req, struct op *op, const struct uuid *table)
{
    ensure(!uuid_is_zero(table));
    truncated_note(h, table);
    give_up(h, (struct giving_up){ .done = req, .table = *table, .why = HINT_DROP_TRUNCATED }, NULL,
            op);
}

void hints_dropped(struct hints *h, const struct uuid *table)
{
    struct hint_erased *e = map_remove(&h->truncated, bytes_of(table->b, sizeof table->b));
    mem_free(e);
    give_up(h, (struct giving_up){ .table = *table, .why = HINT_DROP_NO_TABLE }, NULL, NULL);
}

void hints_remove(struct hints *h, struct io_req *req, struct op *op, unsigned target)
{
    const struct ring *ring = cluster_ring(h->cluster);
    ensure(target <= ring->nodes_count);
    give_up(h, (struct giving_up){ .done = req, .why = HINT_DROP_BY_HAND },
            target ? &ring->nodes[target - 1].host_id : NULL, op);
}
