/* batchlog_write.c - ends batches that their coordinators have not.
 *
 *     rest ──> write ──> settle ──> rest        the oldest that is due, one at a time
 *       └────> tidy ──> rest                    segments that nothing lives in are given up
 *
 * A batch is written as any write is, at ANY, and is done with when no write of it lingers and each
 * is on a replica or in a hint.  Else it is due again later, less and less often.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coordinator/batchlog_inside.h"

enum { REST, WRITE, SETTLE, TIDY };
enum { SEGMENTS_MAX = 4, SHIFT_MAX = 6 };

static struct op_next log_rest(struct op *);
static struct op_next log_write(struct op *);
static struct op_next log_settle(struct op *);
static struct op_next log_tidy(struct op *);

static const struct op_state states[] = {
    [REST] = { "batchlog rest", log_rest, TO(REST) | TO(WRITE) | TO(TIDY) },
    [WRITE] = { "batchlog write", log_write, TO(SETTLE) },
    [SETTLE] = { "batchlog settle", log_settle, TO(SETTLE) | TO(REST) },
    [TIDY] = { "batchlog tidy", log_tidy, TO(TIDY) | TO(REST) },
};

static struct batchlog *log_of(struct op *op) { return owner_of(op, struct batchlog, op); }

/* ---- writing what nobody has ended ---- */

/* May this mutation be written? */
static bool log_may_write(struct batchlog *log, const struct mutation *m,
                          struct batchlog_table *table)
{
    if (!log->options.table(log->options.context, &m->table, table))
        return false;
    int64_t age_us = io_wall(log->io) - log->current->record.made_us;
    return age_us < (int64_t)table->gc_grace_seconds * 1000000;
}

static void log_write_one(struct batchlog *log, struct bytes bytes)
{
    struct mutation m;
    struct batchlog_table table;
    enum err err = mutation_peek(bytes, &m);
    ensure(err == OK);
    if (!log_may_write(log, &m, &table)) {
        log->counts.dropped++;
        return;
    }
    struct written *w = &log->written[log->written_count++];
    struct coordinator_write write = { .keyspace = table.keyspace,
                                       .level = LEVEL_ANY,
                                       .token = m.token,
                                       .mutation = bytes,
                                       .deadline_ns = io_now(log->io) + log->options.timeout_ns,
                                       .settled = &w->settled };
    coordinator_write(log->options.coordinator, &w->req, &log->op, &write, &w->outcome);
}

static struct op_next log_write(struct op *op)
{
    struct batchlog *log = log_of(op);
    const struct batch_record *r = &log->current->record;
    struct cursor c = r->mutations;
    log->written = arena_array(&log->arena, struct written, r->count);
    log->written_count = 0;
    for (size_t i = 0; i < r->count; i++)
        log_write_one(log, cursor_sized(&c));
    return log->written_count ? op_wait(SETTLE) : op_goto(SETTLE);
}

/* Each mutation is on a replica, or in a hint for one. */
static bool log_is_written(const struct batchlog *log)
{
    for (size_t i = 0; i < log->written_count; i++)
        if (log->written[i].settled.size == 0)
            return false;
    return true;
}

static struct op_next log_settle(struct op *op)
{
    struct batchlog *log = log_of(op);
    struct kept *k = log->current;
    for (size_t i = 0; i < log->written_count; i++)
        if (log->written[i].req.busy || log->written[i].settled.busy)
            return op_wait(SETTLE);
    if (log->word.busy)
        return op_wait(SETTLE);
    bool is_done = log_is_written(log);
    log->current = NULL;
    arena_reset(&log->arena);
    if (is_done && !k->is_forgotten) {
        struct buf word = { 0 };
        log->counts.replayed++;
        batch_put(&word, BATCH_FORGET, &k->record.id);
        journal_append(log->journal, &log->word, op, buf_bytes(&word));
        buf_deinit(&word);
    }
    if (is_done || k->is_forgotten) {
        kept_remove(log, k);
    } else {
        k->tries = k->tries < SHIFT_MAX ? k->tries + 1 : SHIFT_MAX;
        list_remove(&k->link);
        kept_queue(log, k, io_now(log->io) + (log_age_ns(log) << k->tries) / 2);
    }
    return op_goto(REST);
}

/* ---- resting and tidying ---- */

/* The segment below which nothing that is kept lives. */
static struct kept *log_oldest(struct batchlog *log)
{
    struct kept *oldest = NULL;
    list_each(l, &log->kept)
    {
        struct kept *k = owner_of(l, struct kept, link);
        if (!oldest || k->at.segment < oldest->at.segment)
            oldest = k;
    }
    return oldest;
}

static uint64_t log_segments(const struct batchlog *log)
{
    return journal_end(log->journal).segment - log->tidied;
}

/* A batch stands in a younger segment now, unless that failed or it has been forgotten since. */
static void log_moved(struct batchlog *log)
{
    struct kept *k = log->is_moving && log->word.err == OK ? kept_of(log, &log->moving) : NULL;
    if (k)
        k->at = log->moves_to;
    log->is_moving = false;
}

/* Gives up what may go, when the journal has grown; a batch that holds an old segment moves on. */
static struct op_next log_tidy(struct op *op)
{
    struct batchlog *log = log_of(op);
    if (log->tidy.busy || log->word.busy)
        return op_wait(TIDY);
    log_moved(log);
    uint64_t end = journal_end(log->journal).segment;
    struct kept *oldest = log_oldest(log);
    uint64_t first = oldest ? oldest->at.segment : end;
    if (first > log->tidied) {
        log->tidied = first;
        journal_forget(log->journal, &log->tidy, op, first);
        return op_wait(TIDY);
    }
    if (oldest && log_segments(log) > SEGMENTS_MAX && !op->stop && log->word.err == OK) {
        struct buf again = { 0 };
        log->is_moving = true;
        log->moving = oldest->record.id;
        log->moves_to = journal_end(log->journal);
        batch_put_keep(&again, &oldest->record.id, oldest->record.made_us, oldest->record.count);
        buf_put(&again, oldest->record.mutations.at, cursor_left(&oldest->record.mutations));
        journal_append(log->journal, &log->word, op, buf_bytes(&again));
        buf_deinit(&again);
        return op_wait(TIDY);
    }
    return op_goto(REST);
}

static struct op_next log_rest(struct op *op)
{
    struct batchlog *log = log_of(op);
    uint64_t now = io_now(log->io);
    struct kept *next = NULL;
    if (!list_empty(&log->kept))
        next = owner_of(log->kept.next, struct kept, link);
    bool is_due = next && next->due_ns <= now;
    if (log->nap.busy && (op->stop || is_due))
        io_cancel(log->io, &log->nap);
    if (op->stop)
        return op->waiting ? op_wait(REST) : op_end(op, OK);
    bool is_long = log_segments(log) > SEGMENTS_MAX && log->word.err == OK;
    if (log->word.busy || (log->nap.busy && (is_due || !is_long))) /* else the nap goes on */
        return op_wait(REST);
    if (is_due) {
        log->current = next;
        return op_goto(WRITE);
    }
    if (log_segments(log) > 1 && (!next || log_oldest(log)->at.segment > log->tidied))
        return op_goto(TIDY);
    if (is_long)
        return op_goto(TIDY);
    if (next)
        io_sleep(log->io, &log->nap, op, next->due_ns - now);
    return op_wait(REST);
}

void log_start(struct batchlog *log) { op_start(&log->op, io_ops(log->io), NULL, states, NULL); }
