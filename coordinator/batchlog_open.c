/* batchlog_open.c - the beginning of a batchlog: what its journal has kept, then the journal anew.
 *
 *     read ──> open ──> ended
 *
 * All that was kept is due after twice the timeout from now: its coordinator may be at it still.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/batchlog_inside.h"
#include "io/log.h"

enum { SPARES_MAX = 2, ARENA_BYTES = 4096 };
enum { OPEN_READ, OPEN_JOURNAL };
struct opening {
    struct op op;
    struct batchlog *log;
    struct batchlog **out;
    struct io_req wait, *done;
};

static struct op_next opening_read(struct op *);
static struct op_next opening_journal(struct op *);
static const struct op_state opening_states[] = {
    [OPEN_READ] = { "batchlog read", opening_read, TO(OPEN_READ) | TO(OPEN_JOURNAL) },
    [OPEN_JOURNAL] = { "batchlog open", opening_journal, TO(OPEN_JOURNAL) },
};

static enum err log_record(void *context, struct bytes bytes, struct journal_position at)
{
    struct batchlog *log = context;
    struct batch_record r;
    if (log->tidied == 0)
        log->tidied = at.segment;
    if (batch_get(bytes, &r) != OK) {
        log->counts.damaged_bytes += bytes.size;
        return OK;
    }
    struct kept *k = r.word == BATCH_ERASE ? NULL : kept_of(log, &r.id);
    if (r.word == BATCH_ERASE)
        log_erase(log, &r.id);
    else if (k)
        kept_remove(log, k);
    if (r.word == BATCH_KEEP)
        kept_add(log, bytes, at);
    return OK;
}

static struct op_next opening_end(struct opening *o, enum err err)
{
    struct batchlog *log = o->log;
    if (err == OK) {
        log->counts.damaged_bytes += log->replay.skipped_bytes;
        if (log->counts.damaged_bytes)
            log_note(log->io, LOG_WARN, "batchlog_damaged", "bytes=%llu",
                     (unsigned long long)log->counts.damaged_bytes);
        if (log->tidied == 0)
            log->tidied = journal_end(log->journal).segment;
        log_start(log);
        *o->out = log;
    }
    return op_end(&o->op, err);
}

static void opening_release(struct op *op)
{
    struct opening *o = owner_of(op, struct opening, op);
    struct io_req *done = o->done;
    enum err err = op->err;
    if (err != OK)
        log_free(o->log);
    mem_free(o);
    io_req_end(done, err);
}

static struct op_next opening_read(struct op *op)
{
    struct opening *o = owner_of(op, struct opening, op);
    struct batchlog *log = o->log;
    struct journal_options options = { .folder = log->options.folder,
                                       .mode = JOURNAL_GROUP,
                                       .segment_bytes = BATCHLOG_SEGMENT_BYTES,
                                       .spares_max = SPARES_MAX };
    if (o->wait.busy)
        return op_wait(OPEN_READ);
    if (o->wait.err != OK)
        return opening_end(o, o->wait.err);
    journal_open(log->io, &o->wait, op, &options, &log->journal);
    return op_wait(OPEN_JOURNAL);
}

static struct op_next opening_journal(struct op *op)
{
    struct opening *o = owner_of(op, struct opening, op);
    return o->wait.busy ? op_wait(OPEN_JOURNAL) : opening_end(o, o->wait.err);
}

void batchlog_open(struct io_req *req, struct op *op, const struct batchlog_options *options,
                   struct batchlog **out)
{
    struct batchlog *log = mem_zalloc(sizeof *log);
    struct opening *o = mem_zalloc(sizeof *o);
    log->options = *options;
    log->io = options->io;
    list_init(&log->kept);
    arena_init(&log->arena, ARENA_BYTES);
    o->log = log, o->out = out, o->done = req;
    io_req_begin(req, op);
    op_start(&o->op, io_ops(log->io), op, opening_states, opening_release);
    struct journal_reading reading = {
        .folder = options->folder, .holes = JOURNAL_SKIP_HOLE, .record = log_record, .context = log
    };
    journal_read_as(log->io, &o->wait, &o->op, &reading, &log->replay);
}
