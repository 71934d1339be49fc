/* hints_recover.c - what a start reads: every folder that is this shard's to look after.
 *
 *     root ──> hosts ──> folders ──> marks ──> hints ──┐ ──> ended
 *                ^          ^                          │
 *                └──────────┴──────────────────────────┘ the next one
 *
 * A folder of a shard that there is no more belongs to the shard whose number remains when it is
 * divided by how many there are.
 *
 * Each journal is read twice, and nothing of it is kept but counts: first for its last mark, then,
 * from the place of that mark on, for what is not settled.  What does not verify there is damaged:
 * how many hints it was, their numbers tell; and their writes may have begun before that of the
 * hint in front of them, by as much as a hint comes later than its write.  A folder that cannot be
 * read at all is said in the log and left alone; nothing stops a start.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/hints_inside.h"

/* A hint comes when its write has timed out, and a disk that stands still holds it up. */
static const int64_t late_most_us = 60 * 1000000ll;

enum { RECOVER_ROOT, RECOVER_HOST, RECOVER_FOLDER, RECOVER_MARKS, RECOVER_HINTS };

struct recovery {
    struct op op;
    struct hints *hints;
    struct hints **out;
    struct io_req *done;
    struct io_req req;
    struct arena arena;
    struct io_names hosts, folders;
    size_t host, folder; /* the next ones */
    struct hint_target *target;
    struct hint_journal *journal; /* being read */
    struct journal_replay seen;
    uint64_t next_number; /* expected of the next hint */
    int64_t seen_us;      /* when the write of the last one began; 1: none has been seen */
    uint64_t parts_bytes;
    bool has_hole; /* since the last hint */
};

static struct op_next recover_root(struct op *);
static struct op_next recover_host(struct op *);
static struct op_next recover_folder(struct op *);
static struct op_next recover_marks(struct op *);
static struct op_next recover_hints(struct op *);

static const struct op_state recover_states[] = {
    [RECOVER_ROOT] = { "hints root", recover_root, TO(RECOVER_HOST) },
    [RECOVER_HOST] = { "hints host", recover_host, TO(RECOVER_HOST) | TO(RECOVER_FOLDER) },
    [RECOVER_FOLDER] = { "hints folder", recover_folder, TO(RECOVER_MARKS) | TO(RECOVER_HOST) },
    [RECOVER_MARKS] = { "hints marks", recover_marks, TO(RECOVER_HINTS) | TO(RECOVER_FOLDER) },
    [RECOVER_HINTS] = { "hints count", recover_hints, TO(RECOVER_FOLDER) },
};

static struct recovery *recovery_of(struct op *op) { return owner_of(op, struct recovery, op); }

/* ---- which folders ---- */

static struct op_next recover_root(struct op *op)
{
    struct recovery *r = recovery_of(op);
    if (op->stop)
        return op_end(op, op->stop);
    io_list(r->hints->io, &r->req, op, r->hints->folder, &r->arena, &r->hosts);
    return op_wait(RECOVER_HOST);
}

/* Lists the folders of the next host. */
static struct op_next recover_host(struct op *op)
{
    struct recovery *r = recovery_of(op);
    struct uuid host;
    if (r->req.busy)
        return op_wait(RECOVER_HOST);
    if (op->stop || (r->req.err != OK && !r->target))
        r->host = r->hosts.count; /* there is nothing */
    while (r->host < r->hosts.count) {
        const char *name = r->hosts.names[r->host++];
        if (!uuid_parse(bytes_text(name), &host))
            continue;
        r->target = target_of(r->hints, &host);
        r->folder = 0;
        r->folders = (struct io_names){ 0 };
        io_list(r->hints->io, &r->req, op, arena_printf(&r->arena, "%s/%s", r->hints->folder, name),
                &r->arena, &r->folders);
        return op_wait(RECOVER_FOLDER);
    }
    return op_end(op, op->stop);
}

static bool folder_parse(const char *name, uint64_t *out)
{
    uint64_t n = 0;
    size_t size = strlen(name);
    if (size == 0 || size > 9 || (size > 1 && name[0] == '0'))
        return false;
    for (size_t i = 0; i < size; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(name[i] - '0');
    }
    *out = n;
    return true;
}

static enum err mark_record(void *context, struct bytes record, struct journal_position at)
{
    struct recovery *r = context;
    struct hint_record hint;
    enum err err = hint_get(record, &hint);
    (void)at;
    if (err == OK && hint.kind == HINT_MARK)
        books_restore(r->journal, &hint);
    return err == ERR_NEWER ? err : OK;
}

static struct op_next recover_folder(struct op *op)
{
    struct recovery *r = recovery_of(op);
    struct hints *h = r->hints;
    uint64_t number, shards = (uint64_t)io_shards(h->io);
    if (r->req.busy)
        return op_wait(RECOVER_FOLDER);
    while (!op->stop && r->folder < r->folders.count) {
        const char *name = r->folders.names[r->folder++];
        if (!folder_parse(name, &number) || number % shards != (uint64_t)io_self(h->io))
            continue;
        r->journal = journal_of_target(r->target, number);
        struct journal_reading reading = { .folder = r->journal->path,
                                           .holes = JOURNAL_SKIP_HOLE,
                                           .record = mark_record,
                                           .context = r };
        journal_read_as(h->io, &r->req, op, &reading, &r->seen);
        return op_wait(RECOVER_MARKS);
    }
    r->req.err = OK;
    return op_goto(RECOVER_HOST);
}

/* ---- what they hold ---- */

/* Hints of these numbers are missing: where there is a hole, they were in it; else they were
 * refused when they were to be kept. */
static void numbers_seen(struct recovery *r, uint64_t upto, struct journal_position at)
{
    if (r->has_hole && upto > r->next_number && hint_order(r->journal->done, at) <= 0)
        books_lost(r->journal, upto - r->next_number, at,
                   r->seen_us > late_most_us ? r->seen_us - late_most_us : 1);
    r->has_hole = false;
    r->next_number = u64_max(r->next_number, upto);
}

static void hint_found(struct recovery *r, const struct hint_record *hint,
                       struct journal_position at)
{
    struct hint_journal *j = r->journal;
    numbers_seen(r, hint->number, at);
    r->next_number = hint->number + 1;
    r->seen_us = hint->kept_us;
    j->number = u64_max(j->number, r->next_number);
    if (hint_order(j->kept, at) <= 0) {
        struct hint_written written = {
            .table = hint->table, .at = at, .number = hint->number, .kept_us = hint->kept_us
        };
        books_written(j, &written);
        j->bytes += HINT_HEAD_BYTES + hint->rest.size + r->parts_bytes;
    }
    r->parts_bytes = 0;
}

static enum err hint_record(void *context, struct bytes record, struct journal_position at)
{
    struct recovery *r = context;
    struct hint_record hint;
    if (hint_get(record, &hint) != OK) {
        r->has_hole = true;
        return OK;
    }
    if (hint.kind == HINT_PART)
        r->parts_bytes = hint.parts == 0 ? hint.rest.size : r->parts_bytes + hint.rest.size;
    if (hint.kind == HINT_RECORD)
        hint_found(r, &hint, at);
    if (hint.kind == HINT_MARK && r->has_hole)
        numbers_seen(r, hint.number, at);
    if (hint.kind == HINT_ERASE)
        books_give_up(r->journal, &hint.table, hint.why, at);
    return OK;
}

static void hint_skipped(void *context, struct journal_range range)
{
    struct recovery *r = context;
    r->has_hole = true;
    log_note(r->hints->io, LOG_WARN, "hints_unknown",
             "folder=%s segment=%llu offset=%llu bytes=%llu", r->journal->path,
             (unsigned long long)range.at.segment, (unsigned long long)range.at.offset,
             (unsigned long long)range.bytes);
}

static void folder_refuse(struct recovery *r)
{
    r->journal->is_foreign = true;
    log_note(r->hints->io, LOG_WARN, "hints_not_read", "folder=%s reason=\"%s\"", r->journal->path,
             err_text(r->req.err));
}

static struct op_next recover_marks(struct op *op)
{
    struct recovery *r = recovery_of(op);
    struct hint_journal *j = r->journal;
    if (r->req.busy)
        return op_wait(RECOVER_MARKS);
    if (r->req.err != OK) {
        folder_refuse(r);
        return op_goto(RECOVER_FOLDER);
    }
    struct journal_reading reading = { .folder = j->path,
                                       .holes = JOURNAL_SKIP_HOLE,
                                       .first = j->done.segment,
                                       .record = hint_record,
                                       .skipped = hint_skipped,
                                       .context = r };
    r->next_number = j->done_number;
    r->has_hole = false;
    r->seen_us = 1;
    r->parts_bytes = 0;
    journal_read_as(r->hints->io, &r->req, op, &reading, &r->seen);
    return op_wait(RECOVER_HINTS);
}

static struct op_next recover_hints(struct op *op)
{
    struct recovery *r = recovery_of(op);
    struct hint_journal *j = r->journal;
    if (r->req.busy)
        return op_wait(RECOVER_HINTS);
    if (r->req.err != OK)
        folder_refuse(r);
    j->closed_bytes = r->seen.total_bytes;
    j->closed_files = r->seen.total_bytes / hint_segment_bytes(r->hints);
    uint64_t pending = books_pending(j);
    if (pending > 0)
        log_note(r->hints->io, LOG_INFO, "hints_found", "folder=%s pending=%llu", j->path,
                 (unsigned long long)pending);
    return op_goto(RECOVER_FOLDER);
}

/* ---- beginning and end ---- */

static void recover_release(struct op *op)
{
    struct recovery *r = recovery_of(op);
    struct hints *h = r->hints;
    struct io_req *done = r->done;
    *r->out = h;
    list_each(l, &h->targets)
    {
        struct hint_target *t = owner_of(l, struct hint_target, link);
        target_start(t);
    }
    arena_deinit(&r->arena);
    mem_free(r);
    io_req_end(done, OK);
}

void recover_start(struct hints *h, struct io_req *req, struct op *op, struct hints **out)
{
    struct recovery *r = mem_zalloc(sizeof *r);
    r->hints = h;
    r->out = out;
    r->done = req;
    io_req_begin(req, op);
    op_start(&r->op, io_ops(h->io), op, recover_states, recover_release);
    if (!h->folder)
        op_stop(&r->op, ERR_STOPPED);
}
