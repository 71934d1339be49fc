/* journal_append.c - what a caller of an open journal meets: append, state, close.
 *
 *     append ──> filling ──> full, full ... ──> the writer takes one batch after the other
 *
 * An append copies the record behind the others of the batch that is filling and links its request
 * into the batch; that is all, and the two or three batches in rotation keep their memory, so that
 * a warm append allocates nothing.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "io/journal_impl.h"

enum { BATCH_BYTES_MAX = 1024 * 1024, SPARE_BATCHES_MAX = 3 };
static const uint64_t FULL_NS = 1000000000; /* how long a refusal for space is believed */

/* ---- batches ---- */

struct batch *journal_batch_new(struct journal *j)
{
    struct batch *b = NULL;
    if (list_empty(&j->spare)) {
        b = mem_zalloc(sizeof *b);
        list_init(&b->link);
        list_init(&b->waiting);
    } else {
        b = owner_of(j->spare.next, struct batch, link);
        list_remove(&b->link);
        j->spare_count--;
    }
    buf_clear(&b->bytes);
    buf_take(&b->bytes, JOURNAL_MARK_BYTES);
    b->records = 0;
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
    list_add(&j->spare, &b->link);
    j->spare_count++;
}

static size_t batch_bytes_max(const struct journal *j)
{
    return (size_t)u64_min(BATCH_BYTES_MAX, j->options.segment_bytes / 2);
}

static bool batch_has_room(const struct journal *j, const struct batch *b, size_t more)
{
    if (b->records == 0)
        return true;
    if (j->options.mode == JOURNAL_BATCH)
        return false;
    return b->bytes.size + more <= batch_bytes_max(j);
}

void journal_complete(struct journal *j, struct list *waiting, enum err err)
{
    while (!list_empty(waiting)) {
        struct io_req *req = owner_of(waiting->next, struct io_req, link);
        list_remove(&req->link);
        req->size = (size_t)j->end.segment;
        io_req_end(req, err);
    }
}

void journal_writing_done(struct journal *j, enum err err)
{
    struct batch *b = j->writing;
    j->writing = NULL;
    journal_complete(j, &b->waiting, err);
    batch_recycle(j, b);
}

/* ---- appending ---- */

static void writer_wake(struct journal *j)
{
    if (j->is_idle)
        op_wake(&j->writer);
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
    if (j->filling && !batch_has_room(j, j->filling, JOURNAL_HEAD_BYTES + record.size)) {
        list_add(&j->full, &j->filling->link);
        j->filling = NULL;
    }
    if (!j->filling)
        j->filling = journal_batch_new(j);
    struct batch *b = j->filling;
    uint8_t *at = buf_take(&b->bytes, JOURNAL_HEAD_BYTES + record.size);
    put_be32(at, (uint32_t)record.size); /* its checksum comes when its place is known */
    memcpy(at + JOURNAL_HEAD_BYTES, record.data, record.size);
    b->records++;
    list_add(&b->waiting, &req->link);
    j->counts.appends++;
    j->counts.bytes += record.size;
}

/* Lately, for want of space. */
bool journal_was_refused(const struct journal *j)
{
    return j->full_ns && io_now(j->io) - j->full_ns < FULL_NS;
}

enum err journal_state(const struct journal *j)
{
    if (j->broken || j->full_ns == 0)
        return j->broken;
    return journal_was_refused(j) || !journal_may_grow(j) ? ERR_NO_SPACE : OK;
}

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
    ensure(!j->writing && list_empty(&j->full) && list_empty(&j->refused));
    list_each(l, &j->spare) batch_free(owner_of(l, struct batch, link));
    if (j->filling)
        batch_free(j->filling);
    mem_free(j);
}
