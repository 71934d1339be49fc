/* hints.c - the hints of a shard: opened, closed, asked.
 *
 *     hints_keep.c     into the journal            hints_recover.c  what a start reads
 *     hints_target.c   the op of a target          hints_journal.c  open, mark, forget, close
 *     hints_pass.c     read again, in order        hints_books.c    the sums
 *     hints_flight.c   to the target and back      hints_erase.c    given up
 *     hints_record.c   the bytes
 *
 * Invariants: 1. a hint that was answered with OK is in the books as written from that moment on.
 * 2. Books balance after every change.  3. Hints of a journal are settled in the order in which
 * they stand.  4. Memory does not grow with the number of hints.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/hints_inside.h"

enum { HINTS_CLOSE };

void hints_open(struct io_req *req, struct op *op, const struct hints_options *options,
                struct hints **out)
{
    struct hints *h = mem_zalloc(sizeof *h);
    const struct ring *ring = cluster_ring(options->cluster);
    h->options = *options;
    h->io = options->io;
    h->cluster = options->cluster;
    h->is_on = true;
    list_init(&h->targets);
    list_init(&h->erasings);
    slab_init(&h->slab);
    if (options->folder && options->folder[0]) {
        h->folder = mem_alloc(strlen(options->folder) + 1);
        memcpy(h->folder, options->folder, strlen(options->folder) + 1);
    }
    for (unsigned n = 1; n <= ring->nodes_count; n++)
        hints_changed(h, n, cluster_is_up(h->cluster, n));
    recover_start(h, req, op, out);
}

/* ---- closing ---- */

struct hints_closing {
    struct op op;
    struct hints *hints;
    struct io_req *done;
};

static bool closing_is_quiet(const struct hints *h)
{
    list_each(l, &h->targets)
    {
        if (op_running(&owner_of(l, struct hint_target, link)->op))
            return false;
    }
    return h->keepings == 0 && list_empty(&h->erasings);
}

static struct op_next hints_closing_wait(struct op *op)
{
    struct hints_closing *c = owner_of(op, struct hints_closing, op);
    return closing_is_quiet(c->hints) ? op_end(op, OK) : op_wait(HINTS_CLOSE);
}

static const struct op_state closing_states[] = {
    [HINTS_CLOSE] = { "hints close", hints_closing_wait, TO(HINTS_CLOSE) },
};

static void target_free(struct hint_target *t)
{
    list_each(l, &t->journals)
    {
        list_remove(l);
        hint_journal_free(owner_of(l, struct hint_journal, link));
    }
    ensure(list_empty(&t->items) && list_empty(&t->flights));
    list_remove(&t->link);
    buf_deinit(&t->parts);
    mem_free(t);
}

static void hints_closing_release(struct op *op)
{
    struct hints_closing *c = owner_of(op, struct hints_closing, op);
    struct hints *h = c->hints;
    struct io_req *done = c->done;
    size_t at = 0;
    list_each(l, &h->targets) target_free(owner_of(l, struct hint_target, link));
    for (struct hint_erased *e; (e = map_next(&h->truncated, &at));)
        mem_free(e);
    map_deinit(&h->truncated);
    slab_deinit(&h->slab);
    buf_deinit(&h->scratch);
    mem_free(h->folder);
    mem_free(h);
    mem_free(c);
    io_req_end(done, OK);
}

void hints_close(struct hints **taken, struct io_req *req, struct op *op)
{
    struct hints *h = *taken;
    struct hints_closing *c = mem_zalloc(sizeof *c);
    *taken = NULL;
    c->hints = h;
    c->done = req;
    h->is_closing = true;
    h->closer = &c->op;
    io_req_begin(req, op);
    op_start(&c->op, io_ops(h->io), NULL, closing_states, hints_closing_release);
    give_up_stop(h);
    list_each(l, &h->targets)
    {
        struct hint_target *t = owner_of(l, struct hint_target, link);
        if (op_running(&t->op))
            op_stop(&t->op, ERR_STOPPED);
    }
}

/* ---- told ---- */

static void targets_wake(struct hints *h)
{
    list_each(l, &h->targets)
    {
        struct hint_target *t = owner_of(l, struct hint_target, link);
        if (op_running(&t->op))
            op_wake(&t->op);
    }
}

void hints_changed(struct hints *h, unsigned node, bool is_up)
{
    ensure(node >= 1 && node <= NODES_MAX);
    if (is_up)
        h->down_since_ns[node] = 0;
    else if (h->down_since_ns[node] == 0)
        h->down_since_ns[node] = io_now(h->io) + (io_now(h->io) == 0);
    targets_wake(h);
}

void hints_set_on(struct hints *h, bool is_on)
{
    h->is_on = is_on;
    targets_wake(h);
}

void hints_set_throttle(struct hints *h, uint64_t bytes_per_second)
{
    h->options.bytes_per_second = bytes_per_second;
    list_each(l, &h->targets) owner_of(l, struct hint_target, link)->budget_ns = 0;
    targets_wake(h);
}

/* ---- asked ---- */

static void book_add(const struct hint_tally *t, struct hint_book *b)
{
    b->written += t->written;
    b->delivered += t->settled.delivered;
    b->expired += t->settled.expired;
    b->pending += t->pending;
    for (size_t i = 0; i < HINT_DROPS_COUNT; i++)
        b->dropped[i] += t->settled.dropped[i] + t->given_up[i];
    bool is_older = t->oldest_us && (b->oldest_us == 0 || t->oldest_us < b->oldest_us);
    b->oldest_us = is_older ? t->oldest_us : b->oldest_us;
    if (t->pending && t->newest_us > b->newest_us)
        b->newest_us = t->newest_us;
}

/* The books of a table over all journals of a target. */
static struct hint_book target_book(const struct hint_target *t, const struct uuid *table)
{
    struct hint_book book = { .target = target_node(t), .host_id = t->host_id, .table = *table };
    list_each(l, &t->journals)
    {
        const struct hint_journal *j = owner_of(l, struct hint_journal, link);
        const struct hint_tally *tally = map_get(&j->tallies, bytes_of(table, sizeof *table));
        if (tally)
            book_add(tally, &book);
        book.files += j->journal ? journal_counts(j->journal)->segments : j->closed_files;
    }
    return book;
}

/* Has a journal before this one told of the table? */
static bool is_told(const struct hint_target *t, const struct hint_journal *upto,
                    const struct uuid *table)
{
    list_each(l, &t->journals)
    {
        const struct hint_journal *j = owner_of(l, struct hint_journal, link);
        if (j == upto)
            break;
        if (map_get(&j->tallies, bytes_of(table, sizeof *table)))
            return true;
    }
    return false;
}

/* The tables that no journal of the target before this one has told of. */
static void journal_each(const struct hint_journal *j,
                         void (*each)(void *context, const struct hint_book *), void *context)
{
    size_t at = 0;
    for (const struct hint_tally *t; (t = map_next(&j->tallies, &at));) {
        struct hint_book book = target_book(j->target, &t->settled.table);
        if (book.written > 0 && !is_told(j->target, j, &t->settled.table))
            each(context, &book);
    }
}

void hints_each(const struct hints *h, void (*each)(void *context, const struct hint_book *),
                void *context)
{
    list_each(l, &h->targets)
    {
        const struct hint_target *t = owner_of(l, struct hint_target, link);
        list_each(k, &t->journals)
            journal_each(owner_of(k, struct hint_journal, link), each, context);
    }
}

static void counts_add(void *context, const struct hint_book *b)
{
    struct hints_counts *c = context;
    c->written += b->written;
    c->delivered += b->delivered;
    c->pending += b->pending;
    c->expired += b->expired;
    for (size_t i = 0; i < HINT_DROPS_COUNT; i++)
        c->dropped += b->dropped[i];
}

void hints_counts(const struct hints *h, struct hints_counts *out)
{
    *out = (struct hints_counts){ .refused = h->refused,
                                  .bytes_per_second = h->options.bytes_per_second,
                                  .is_kept = h->options.is_on && h->folder,
                                  .is_on = h->is_on };
    hints_each(h, counts_add, out);
    ensure(out->written == out->delivered + out->pending + out->expired + out->dropped);
    list_each(l, &h->targets)
    {
        const struct hint_target *t = owner_of(l, struct hint_target, link);
        list_each(k, &t->journals)
        {
            const struct hint_journal *j = owner_of(k, struct hint_journal, link);
            out->bytes += j->journal ? journal_counts(j->journal)->disk_bytes : j->closed_bytes;
        }
    }
}
