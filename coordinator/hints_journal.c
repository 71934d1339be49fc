/* hints_journal.c - a journal of hints as its target's op tends it: opened when something is to be
 * written, marked when something has been settled, shortened, closed.
 *
 *     shut ──(wanted)──> opening ──> open ──> shut, at the end
 *                           └──> failed ──(a second later)──> shut
 *
 *     settled ──> mark ──(durable)──> segments that stand before what it says are forgotten
 *
 * A mark is never waited for: what was settled and is not marked when the node dies is delivered
 * again.  A journal that the disk has broken takes no hints until the node is restarted; what is
 * durable there is still delivered.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/hints_inside.h"

enum { UNMARKED_MAX = 10000 };
static const uint64_t retry_after_ns = 1000000000;

/* ---- targets and their journals ---- */

struct hint_target *target_of(struct hints *h, const struct uuid *host_id)
{
    list_each(l, &h->targets)
    {
        struct hint_target *t = owner_of(l, struct hint_target, link);
        if (uuid_equal(&t->host_id, host_id))
            return t;
    }
    struct hint_target *t = mem_zalloc(sizeof *t);
    t->hints = h;
    t->host_id = *host_id;
    list_init(&t->journals);
    list_init(&t->items);
    list_init(&t->flights);
    list_add(&h->targets, &t->link);
    t->own = journal_of_target(t, (uint64_t)io_self(h->io));
    return t;
}

struct hint_journal *journal_of_target(struct hint_target *t, uint64_t folder)
{
    char host[UUID_TEXT_BYTES];
    list_each(l, &t->journals)
    {
        struct hint_journal *j = owner_of(l, struct hint_journal, link);
        if (j->folder == folder)
            return j;
    }
    struct hint_journal *j = mem_zalloc(sizeof *j);
    size_t room = strlen(t->hints->folder) + UUID_TEXT_BYTES + 24;
    uuid_print(&t->host_id, host);
    j->path = mem_alloc(room);
    snprintf(j->path, room, "%s/%s/%llu", t->hints->folder, host, (unsigned long long)folder);
    j->target = t;
    j->folder = folder;
    list_init(&j->waiting);
    /* former shards' are older: they come first */
    list_add(t->own ? &t->own->link : &t->journals, &j->link);
    return j;
}

void hint_journal_free(struct hint_journal *j)
{
    ensure(!j->journal && list_empty(&j->waiting) && j->appends == 0);
    books_deinit(j);
    mem_free(j->path);
    mem_free(j);
}

/* ---- opening ---- */

uint64_t hint_segment_bytes(const struct hints *h)
{
    return h->options.segment_bytes ? h->options.segment_bytes : (uint64_t)4 << 20;
}

static void waiting_wake(struct hint_journal *j)
{
    list_each(l, &j->waiting) op_wake(&owner_of(l, struct keeping, link)->op);
}

static void journal_start(struct hint_journal *j, struct op *op)
{
    struct hints *h = j->target->hints;
    struct journal_options options = { .folder = j->path,
                                       .mode = JOURNAL_GROUP,
                                       .segment_bytes = hint_segment_bytes(h),
                                       .segment_min = j->kept.segment + 1,
                                       .spares_max = 1,
                                       .names_min = 3,
                                       .is_compressed = h->options.is_compressed };
    j->state = HINTS_OPENING;
    journal_open(h->io, &j->open, op, &options, &j->journal);
}

static void journal_started(struct hint_journal *j)
{
    struct hints *h = j->target->hints;
    j->is_wanted = false;
    j->state = j->open.err == OK ? HINTS_OPEN : HINTS_FAILED;
    if (j->open.err != OK) {
        j->retry_ns = io_now(h->io) + retry_after_ns;
        log_note_rarely(h->io, 60 * retry_after_ns, LOG_WARN, "hints_not_kept",
                        "folder=%s reason=\"%s\"", j->path, err_text(j->open.err));
    }
    waiting_wake(j);
}

/* ---- marking ---- */

static void mark_encode(struct hint_journal *j, struct buf *out)
{
    size_t at = 0;
    buf_clear(out);
    struct hint_record mark = { .kind = HINT_MARK,
                                .number = j->number,
                                .settled = j->done_number,
                                .done = j->done,
                                .tables_count = j->tallies.count };
    hint_put_mark(out, &mark);
    for (const struct hint_tally *t; (t = map_next(&j->tallies, &at));)
        hint_put_settled(out, &t->settled);
}

static void mark_begin(struct hint_journal *j, struct op *op)
{
    struct hints *h = j->target->hints;
    mark_encode(j, &h->scratch);
    j->must_mark = false;
    j->unmarked = 0;
    j->is_marking = true;
    j->marking = j->done;
    ensure(h->scratch.size <= hint_segment_bytes(h) / 2);
    journal_append(j->journal, &j->mark, op, buf_bytes(&h->scratch));
}

static void mark_end(struct hint_journal *j, struct op *op)
{
    j->is_marking = false;
    if (j->mark.err != OK) {
        j->unmarked++;
        j->retry_ns = io_now(j->target->hints->io) + retry_after_ns;
        return;
    }
    if (j->marking.segment <= j->forgotten || j->forget.busy)
        return;
    j->forgotten = j->marking.segment;
    journal_forget(j->journal, &j->forget, op, j->forgotten);
}

static bool mark_is_due(const struct hint_journal *j, uint64_t now, bool is_last)
{
    bool is_wanted = j->must_mark || j->unmarked >= UNMARKED_MAX || (is_last && j->unmarked > 0);
    return is_wanted && j->retry_ns <= now && journal_state(j->journal) == OK;
}

/* ---- tending ---- */

bool hint_journal_is_quiet(const struct hint_journal *j) { return j->is_closed && !j->close.busy; }

static void journal_leave(struct hint_journal *j, struct op *op)
{
    if (j->is_closed || j->appends > 0 || j->is_marking || j->forget.busy ||
        j->state == HINTS_OPENING)
        return;
    j->is_closed = true;
    waiting_wake(j);
    if (j->state == HINTS_OPEN)
        journal_close(&j->journal, &j->close, op);
    j->state = HINTS_SHUT;
}

uint64_t hint_journal_tend(struct hint_journal *j, struct op *op)
{
    struct hints *h = j->target->hints;
    uint64_t now = io_now(h->io);
    bool is_last = op->stop && !j->target->passing;
    if (j->state == HINTS_OPENING && !j->open.busy)
        journal_started(j);
    if (j->state == HINTS_FAILED && j->retry_ns <= now)
        j->state = HINTS_SHUT;
    j->is_wanted |= j->must_mark || !list_empty(&j->waiting);
    if (j->state == HINTS_SHUT && j->is_wanted && !op->stop && !j->is_foreign)
        journal_start(j, op);
    if (j->is_marking && !j->mark.busy)
        mark_end(j, op);
    if (j->state == HINTS_OPEN && !j->is_marking && mark_is_due(j, now, is_last))
        mark_begin(j, op);
    if (is_last)
        journal_leave(j, op);
    bool has_more = j->must_mark || j->unmarked || j->is_wanted;
    bool is_full = j->state == HINTS_OPEN && journal_state(j->journal) != OK &&
                   journal_state(j->journal) != ERR_IO;
    if (has_more && is_full)
        j->retry_ns = now + retry_after_ns;
    return has_more && j->retry_ns > now ? j->retry_ns : 0;
}
