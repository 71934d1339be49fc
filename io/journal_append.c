/* journal_append.c - what a caller of an open journal meets: append, end, state, close.
 *
 *     append ──> filling ──> full, full ... ──> the writer takes one batch after the other
 *
 * An append copies the record behind the others of the batch that is filling and links its request
 * into the batch; that is all, and the two or three batches in rotation keep their memory, so that
 * a warm append allocates nothing.
 *
 * A batch has its place from the beginning: behind the batch before it, or in the next segment if
 * its first record does not fit.  So the place of a record is known, and its checksum computed,
 * while it is copied.  Places are never given twice: what was refused leaves a gap.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "base/mem.h"
#include "io/journal_impl.h"

enum { BATCH_BYTES_MAX = 1 << 20, BATCH_KEEP_BYTES = 2 << 20, SPARE_BATCHES_MAX = 3 };
static const uint64_t FULL_NS = 1000000000; /* how long a refusal is believed */

/* ---- batches ---- */

static struct batch *batch_new(struct journal *j)
{
    if (list_empty(&j->spare)) {
        struct batch *b = mem_zalloc(sizeof *b);
        list_init(&b->link);
        list_init(&b->waiting);
        return b;
    }
    struct batch *b = owner_of(j->spare.prev, struct batch, link); /* its bytes are still near */
    list_remove(&b->link);
    j->spare_count--;
    return b;
}

static void batch_free(struct batch *b)
{
    ensure(list_empty(&b->waiting));
    buf_deinit(&b->bytes);
    mem_free(b);
}

static void batch_recycle(struct journal *j, struct batch *b)
{
    if (j->spare_count == SPARE_BATCHES_MAX) {
        batch_free(b);
        return;
    }
    if (b->bytes.room > BATCH_KEEP_BYTES)
        buf_deinit(&b->bytes);
    list_add(&j->spare, &b->link);
    j->spare_count++;
}

/* The last block of a segment is left for the run that proves it when the journal is closed. */
static uint64_t room_at(const struct journal *j, struct journal_position at)
{
    uint64_t end = j->options.segment_bytes - JOURNAL_BLOCK_BYTES;
    return at.offset < end ? end - at.offset : 0;
}

uint32_t journal_salt(const struct journal *j, uint64_t segment)
{
    return (uint32_t)hash_of(j->salt_seed, bytes_of(&segment, sizeof segment));
}

struct batch *journal_batch_begin(struct journal *j, uint64_t body_bytes)
{
    struct batch *b = batch_new(j);
    ensure(!j->filling);
    if (body_bytes > 0 && journal_run_bytes(body_bytes) > room_at(j, j->plan))
        j->plan = (struct journal_position){ j->plan.segment + 1, JOURNAL_BLOCK_BYTES };
    b->at = j->plan;
    b->salt = journal_salt(j, b->at.segment);
    buf_clear(&b->bytes);
    buf_take(&b->bytes, JOURNAL_MARK_BYTES);
    b->records = 0;
    return b;
}

void journal_batch_end(struct journal *j, const struct batch *b)
{
    j->plan.offset = b->at.offset + journal_run_bytes(b->bytes.size - JOURNAL_MARK_BYTES);
}

bool journal_batch_waits(const struct journal *j) { return j->filling || !list_empty(&j->full); }

struct batch *journal_batch_take(struct journal *j)
{
    struct batch *b = j->filling;
    if (!list_empty(&j->full)) {
        b = owner_of(j->full.next, struct batch, link);
        list_remove(&b->link);
    } else if (b) {
        journal_batch_end(j, b);
        j->filling = NULL;
    }
    return b;
}

static bool batch_has_room(const struct journal *j, const struct batch *b, size_t more)
{
    size_t max = (size_t)u64_min(BATCH_BYTES_MAX, j->options.segment_bytes / 2);
    if (j->options.mode == JOURNAL_BATCH || b->bytes.size + more > max)
        return false;
    return journal_run_bytes(b->bytes.size - JOURNAL_MARK_BYTES + more) <= room_at(j, b->at);
}

/* The batch that takes so many bytes more. */
static struct batch *batch_for(struct journal *j, size_t more)
{
    if (j->filling && !batch_has_room(j, j->filling, more)) {
        journal_batch_end(j, j->filling);
        list_add(&j->full, &j->filling->link);
        j->filling = NULL;
    }
    if (!j->filling)
        j->filling = journal_batch_begin(j, more);
    return j->filling;
}

void journal_complete(struct list *waiting, enum err err)
{
    while (!list_empty(waiting)) {
        struct io_req *req = owner_of(waiting->next, struct io_req, link);
        list_remove(&req->link);
        io_req_end(req, err);
    }
}

void journal_writing_done(struct journal *j, enum err err)
{
    struct batch *b = j->writing;
    j->writing = NULL;
    journal_complete(&b->waiting, err);
    batch_recycle(j, b);
}

/* ---- appending ---- */

static void writer_wake(struct journal *j)
{
    if (j->is_idle)
        op_wake(&j->writer);
}

static struct journal_position batch_end(const struct batch *b)
{
    return (struct journal_position){ b->at.segment, b->at.offset + b->bytes.size };
}

void journal_append(struct journal *j, struct io_req *req, struct op *op, struct bytes record)
{
    ensure(record.size > 0 && record.size <= j->options.segment_bytes / 2);
    ensure(!j->is_closing);
    io_req_begin(req, op);
    writer_wake(j);
    if (j->broken) {
        list_add(&j->refused, &req->link);
        return;
    }
    struct batch *b = batch_for(j, JOURNAL_HEAD_BYTES + record.size);
    struct journal_position at = batch_end(b);
    journal_record_put(&b->bytes, record, at, b->salt, j->options.is_compressed);
    b->records++;
    req->size = (size_t)at.segment;
    req->key = at.offset;
    list_add(&b->waiting, &req->link);
    j->counts.appends++;
    j->counts.bytes += record.size;
}

struct journal_position journal_end(const struct journal *j)
{
    return j->filling ? batch_end(j->filling) : j->plan;
}

void journal_refuse(struct journal *j, enum err err)
{
    j->full_ns = io_now(j->io) + (io_now(j->io) == 0);
    j->full_err = err;
}

bool journal_was_refused(const struct journal *j)
{
    return j->full_ns && io_now(j->io) - j->full_ns < FULL_NS;
}

bool journal_segment_failed(const struct segment *s)
{
    return s->failed_ns && io_now(s->journal->io) - s->failed_ns < FULL_NS;
}

enum err journal_state(const struct journal *j)
{
    if (j->broken || j->full_ns == 0)
        return j->broken;
    bool is_at_limit = j->full_err == ERR_NO_SPACE && !journal_may_grow(j);
    return journal_was_refused(j) || is_at_limit ? j->full_err : OK;
}

void journal_poke(struct journal *j) { j->full_ns = j->next.failed_ns = 0; }

const struct journal_counts *journal_counts(const struct journal *j) { return &j->counts; }

void journal_close(struct journal **journal, struct io_req *req, struct op *op)
{
    struct journal *j = *journal;
    ensure(!j->is_closing);
    *journal = NULL;
    io_req_begin(req, op);
    j->is_closing = true;
    j->closing = req;
    writer_wake(j);
}

void journal_free(struct journal *j)
{
    ensure(!j->writing && !j->filling && list_empty(&j->full) && list_empty(&j->refused));
    list_each(l, &j->spare) batch_free(owner_of(l, struct batch, link));
    mem_free(j);
}
