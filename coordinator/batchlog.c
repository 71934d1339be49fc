/* batchlog.c - the batches that are kept, and what their coordinators ask.
 *
 * What is kept is in memory too, in the order in which it is due, so a batch is written without
 * reading the journal, and an old one that holds a segment is appended again.
 *
 * Invariants: 1. a batch is in `kept` from the moment its record was appended until its forgetting
 * was.  2. `at` of a kept batch is not behind its record, so segments below all of them may go.
 * 3. an append that fails leaves the batch kept: its coordinator was told that it may not be, and
 * that is true.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/batchlog_inside.h"

static struct bytes id_of(const struct uuid *id) { return bytes_of(id->b, sizeof id->b); }

/* ---- what is kept ---- */

/* In order of when it is due: nearly always the last. */
void kept_queue(struct batchlog *log, struct kept *k, uint64_t due_ns)
{
    struct list *before = log->kept.prev;
    k->due_ns = due_ns;
    while (before != &log->kept && owner_of(before, struct kept, link)->due_ns > due_ns)
        before = before->prev;
    list_add(before->next, &k->link);
}

void kept_add(struct batchlog *log, struct bytes bytes, struct journal_position at)
{
    struct kept *k = mem_zalloc(sizeof *k + bytes.size);
    uint8_t *copy = (uint8_t *)(k + 1);
    memcpy(copy, bytes.data, bytes.size);
    k->bytes = bytes_of(copy, bytes.size);
    enum err err = batch_get(k->bytes, &k->record);
    ensure(err == OK);
    k->at = at;
    list_init(&k->link);
    map_put(&log->by_id, id_of(&k->record.id), k);
    kept_queue(log, k, io_now(log->io) + log_age_ns(log));
    log->counts.pending++;
    log->counts.bytes += sizeof *k + bytes.size;
}

void kept_remove(struct batchlog *log, struct kept *k)
{
    ensure(log->counts.bytes >= sizeof *k + k->bytes.size);
    map_remove(&log->by_id, id_of(&k->record.id));
    list_remove(&k->link);
    log->counts.pending--;
    log->counts.bytes -= sizeof *k + k->bytes.size;
    mem_free(k);
}

struct kept *kept_of(struct batchlog *log, const struct uuid *id)
{
    return map_get(&log->by_id, id_of(id));
}

/* Its coordinator has ended it. */
static void kept_forget(struct batchlog *log, const struct uuid *id)
{
    struct kept *k = kept_of(log, id);
    if (!k)
        return;
    log->counts.forgotten++;
    if (k == log->current)
        k->is_forgotten = true;
    else
        kept_remove(log, k);
}

/* Takes a table's mutations out of a batch; what is left of its record takes no more room. */
static void kept_erase(struct batchlog *log, struct kept *k, const struct uuid *table)
{
    struct buf left = { 0 };
    size_t count = 0;
    struct cursor c = k->record.mutations;
    for (size_t i = 0; i < k->record.count; i++) {
        struct mutation m;
        struct bytes one = cursor_sized(&c);
        bool is_of_table = mutation_peek(one, &m) == OK && uuid_equal(&m.table, table);
        log->counts.dropped += is_of_table;
        count += !is_of_table;
        if (!is_of_table)
            buf_put_sized(&left, one);
    }
    if (count < k->record.count) {
        uint8_t *to = (uint8_t *)(k + 1) + (k->bytes.size - left.size);
        ensure(left.size <= k->bytes.size);
        if (left.size)
            memcpy(to, left.data, left.size);
        k->record.count = count;
        k->record.mutations = cursor_of(bytes_of(to, left.size));
    }
    buf_deinit(&left);
}

void log_erase(struct batchlog *log, const struct uuid *table)
{
    list_each(l, &log->kept)
    {
        struct kept *k = owner_of(l, struct kept, link);
        kept_erase(log, k, table);
        if (!k->record.count && k != log->current)
            kept_remove(log, k);
    }
}

/* ---- requests ---- */

static enum err log_admit(const struct batchlog *log, const struct batch_record *r, size_t bytes)
{
    if (log->is_stopping)
        return ERR_STOPPED;
    if (r->word != BATCH_KEEP)
        return OK;
    if (bytes > BATCHLOG_BYTES_MAX)
        return ERR_LIMIT;
    return log->counts.bytes + bytes > log->options.bytes_max ? ERR_OVERLOADED : OK;
}

static void log_append(struct batchlog *log, struct io_req *req, struct op *op, struct bytes bytes)
{
    journal_append(log->journal, req, op, bytes);
    op_wake(&log->op); /* there may be something to tidy */
}

void batchlog_take(struct batchlog *log, struct io_req *req, struct op *op, struct bytes request)
{
    struct batch_record r;
    enum err err = batch_get(request, &r);
    if (err == OK && r.word == BATCH_ERASE)
        err = ERR_CORRUPT; /* not theirs to ask */
    if (err == OK)
        err = log_admit(log, &r, request.size);
    if (err != OK) {
        io_req_begin(req, op);
        io_req_end(req, err);
        return;
    }
    if (r.word == BATCH_FORGET) {
        kept_forget(log, &r.id);
    } else if (!kept_of(log, &r.id)) { /* it may come twice */
        log->counts.kept++;
        kept_add(log, request, journal_end(log->journal));
    }
    log_append(log, req, op, request);
}

void batchlog_erase(struct batchlog *log, struct io_req *req, struct op *op,
                    const struct uuid *table)
{
    uint8_t bytes[32];
    struct buf word = { 0 };
    batch_put(&word, BATCH_ERASE, table);
    ensure(word.size <= sizeof bytes);
    log_erase(log, table);
    log_append(log, req, op, buf_bytes(&word));
    buf_deinit(&word);
}

/* ---- the end ---- */

void log_free(struct batchlog *log)
{
    while (!list_empty(&log->kept))
        kept_remove(log, owner_of(log->kept.next, struct kept, link));
    map_deinit(&log->by_id);
    arena_deinit(&log->arena);
    mem_free(log);
}

void batchlog_stop(struct batchlog *log)
{
    log->is_stopping = true;
    op_stop(&log->op, ERR_STOPPED);
}

bool batchlog_idle(const struct batchlog *log) { return !op_running(&log->op); }

void batchlog_close(struct batchlog **batchlog, struct io_req *req, struct op *op)
{
    struct batchlog *log = *batchlog;
    ensure(batchlog_idle(log));
    journal_close(&log->journal, req, op);
    log_free(log);
    *batchlog = NULL;
}

void batchlog_counts(const struct batchlog *log, struct batchlog_counts *out)
{
    *out = log->counts;
}
