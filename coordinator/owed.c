/* owed.c - the journal under owed.h: one op a shard that writes the whole set whenever it changed.
 *
 *     list ──> read ──> heard ──> opened ──> rest <──> kept, forgotten
 *               ^─────────┘                   │ <────> strangers ──> emptied     once, at a start
 *                                             └──> closed ──> ended
 *
 * The set is small, so a record is all of it: the last one counts, and the segments before it are
 * given up.  One record is under way at a time; what changes meanwhile is in the next one, so any
 * number of ranges enter by one sync.  `kept` is the version of the set that is on the disk:
 * whoever waits for a version is told when it is reached.
 *
 * A start takes the folders of shards that there are no more over: what they held is unknown, is
 * kept here, and then their files go.  A crash in between finds both, which says the same.
 *
 * Invariants: 1. a range is in the set on the disk before any write that lingers in it is answered,
 * unless the disk did not take it, and then whoever waits is told.  2. kept <= tried <= version.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "coordinator/owed_set.h"
#include "io/journal.h"
#include "io/log.h"

enum { LIST, READ, HEARD, OPENED, REST, KEPT, FORGOTTEN, STRANGERS, EMPTIED, CLOSED };
enum { SEGMENT_BYTES = 2 << 20 }; /* twice the largest set: every token of the ring, unknown */
static const uint64_t sweep_ns = 1000000000, log_ns = 600ull * 1000000000;

struct owed {
    struct op op;
    struct io *io;
    struct arena arena; /* of a start: names */
    const char *folder;
    struct owed **out;
    struct io_req *opening, *closing;
    struct io_req req, timer;
    struct io_names shards, files; /* of the folder; of one that is being emptied */
    size_t at, file_at;            /* of them */
    bool is_timed, is_closing, is_open, has_emptied;
    struct journal *journal;
    struct journal_replay replay;
    struct buf record;
    struct owed_set set;
    uint64_t tried, kept; /* versions of the set: in the last record begun, on the disk */
    uint64_t segment, forgotten;
    uint64_t retry_ns;   /* after a failure: not before */
    struct list waiting; /* struct io_req.link; key: the version it waits for */
    uint64_t failures;
};

static struct op_next owed_list(struct op *);
static struct op_next owed_read(struct op *);
static struct op_next owed_heard(struct op *);
static struct op_next owed_opened(struct op *);
static struct op_next owed_rest(struct op *);
static struct op_next owed_kept(struct op *);
static struct op_next owed_forgotten(struct op *);
static struct op_next owed_strangers(struct op *);
static struct op_next owed_emptied(struct op *);
static struct op_next owed_closed(struct op *);
static void owed_release(struct op *);

static const struct op_state states[] = {
    [LIST] = { "owed list", owed_list, TO(READ) },
    [READ] = { "owed read", owed_read, TO(READ) | TO(HEARD) | TO(OPENED) },
    [HEARD] = { "owed heard", owed_heard, TO(HEARD) | TO(READ) },
    [OPENED] = { "owed opened", owed_opened, TO(OPENED) | TO(REST) },
    [REST] = { "owed rest", owed_rest,
               TO(REST) | TO(KEPT) | TO(FORGOTTEN) | TO(STRANGERS) | TO(CLOSED) },
    [KEPT] = { "owed kept", owed_kept, TO(KEPT) | TO(REST) },
    [FORGOTTEN] = { "owed forgotten", owed_forgotten, TO(FORGOTTEN) | TO(REST) },
    [STRANGERS] = { "owed strangers", owed_strangers, TO(STRANGERS) | TO(EMPTIED) | TO(REST) },
    [EMPTIED] = { "owed emptied", owed_emptied, TO(EMPTIED) | TO(STRANGERS) },
    [CLOSED] = { "owed closed", owed_closed, TO(CLOSED) },
};

static struct owed *owed_of(struct op *op) { return owner_of(op, struct owed, op); }

static struct op_next owed_failed(struct owed *o, enum err err)
{
    o->failures++;
    log_note_rarely(o->io, log_ns, LOG_ERROR, "owed_not_kept",
                    "folder=%s reason=\"%s\"; writes are answered when nothing of them lingers",
                    o->folder, err_text(err));
    o->retry_ns = io_now(o->io) + sweep_ns;
    list_each(l, &o->waiting)
    {
        struct io_req *req = owner_of(l, struct io_req, link);
        list_remove(l);
        io_req_end(req, err);
    }
    return op_goto(REST);
}

static void owed_tell(struct owed *o)
{
    list_each(l, &o->waiting)
    {
        struct io_req *req = owner_of(l, struct io_req, link);
        if (req->key > o->kept)
            continue;
        list_remove(l);
        io_req_end(req, OK);
    }
}

/* ---- a start ---- */

void owed_open(struct io *io, struct io_req *req, struct op *op, const struct owed_options *options,
               struct owed **out)
{
    struct owed *o = mem_zalloc(sizeof *o);
    o->io = io;
    o->folder = arena_text(&o->arena, bytes_text(options->folder));
    o->out = out;
    o->opening = req;
    list_init(&o->waiting);
    *out = NULL;
    io_req_begin(req, op);
    op_start(&o->op, io_ops(io), NULL, states, owed_release);
}

static struct op_next owed_list(struct op *op)
{
    struct owed *o = owed_of(op);
    io_list(o->io, &o->req, op, o->folder, &o->arena, &o->shards);
    return op_wait(READ);
}

/* A shard's folder is its number; -1: it is none. */
static int shard_of_name(const char *name)
{
    int shard = 0;
    for (const char *at = name; *at; at++) {
        if (*at < '0' || *at > '9' || shard > 1000 || at - name > 3)
            return -1;
        shard = 10 * shard + *at - '0';
    }
    return name[0] ? shard : -1;
}

static const char *folder_of(struct owed *o, int shard)
{
    return arena_printf(&o->arena, "%s/%d", o->folder, shard);
}

static bool is_stranger(const struct owed *o, int shard)
{
    int shards = io_shards(o->io);
    return shard >= shards && shard % shards == io_self(o->io);
}

/* The record before it counts no longer. */
static enum err owed_hear(void *context, struct bytes record, struct journal_position at)
{
    struct owed *o = context;
    (void)at;
    buf_clear(&o->record);
    buf_put_bytes(&o->record, record);
    return OK;
}

static struct op_next owed_read(struct op *op)
{
    struct owed *o = owed_of(op);
    if (o->req.busy)
        return op_wait(READ);
    for (; o->at < o->shards.count; o->at++) {
        int shard = shard_of_name(o->shards.names[o->at]);
        if (shard != io_self(o->io) && !is_stranger(o, shard))
            continue;
        struct journal_reading reading = { .folder = folder_of(o, shard),
                                           .holes = JOURNAL_SKIP_HOLE,
                                           .record = owed_hear,
                                           .context = o };
        buf_clear(&o->record);
        journal_read_as(o->io, &o->req, op, &reading, &o->replay);
        return op_wait(HEARD);
    }
    struct journal_options journal = { .folder = folder_of(o, io_self(o->io)),
                                       .mode = JOURNAL_GROUP,
                                       .segment_bytes = SEGMENT_BYTES };
    journal_open(o->io, &o->req, op, &journal, &o->journal);
    return op_wait(OPENED);
}

/* What cannot be read may have been any range. */
static struct op_next owed_heard(struct op *op)
{
    static const struct owed_range everything = { INT64_MIN, INT64_MAX };
    struct owed *o = owed_of(op);
    int64_t now_us = io_wall(o->io);
    if (o->req.busy)
        return op_wait(HEARD);
    bool is_good = o->req.err == OK && o->replay.holes == 0;
    if (is_good && o->record.size)
        is_good = owed_set_decode(&o->set, buf_bytes(&o->record), now_us);
    if (!is_good) {
        log_note(o->io, LOG_WARN, "owed_damaged",
                 "folder=%s/%s reason=\"%s\"; the whole ring is unknown until it is repaired",
                 o->folder, o->shards.names[o->at],
                 err_text(o->req.err == OK ? ERR_CORRUPT : o->req.err));
        owed_set_lose(&o->set, owed_set_at(&o->set, &everything), 1, now_us);
    }
    o->at++;
    return op_goto(READ);
}

/* The first record is written in any case: a start leaves one segment behind, not one more. */
static struct op_next owed_opened(struct op *op)
{
    struct owed *o = owed_of(op);
    if (o->req.busy)
        return op_wait(OPENED);
    if (o->req.err != OK) {
        io_req_end(o->opening, o->req.err);
        return op_end(op, o->req.err);
    }
    o->at = 0;
    o->set.version++;
    return op_goto(REST);
}

/* ---- writing ---- */

static struct op_next owed_keep(struct owed *o)
{
    buf_clear(&o->record);
    owed_set_encode(&o->set, &o->record);
    o->tried = o->set.version;
    journal_append(o->journal, &o->req, &o->op, buf_bytes(&o->record));
    return op_wait(KEPT);
}

static void owed_sweep(struct owed *o)
{
    if (o->is_timed && !o->timer.busy) {
        o->is_timed = false;
        owed_set_sweep(&o->set, false);
    }
    if ((o->set.in_count || o->kept != o->set.version) && !o->timer.busy) {
        o->is_timed = true;
        io_sleep(o->io, &o->timer, &o->op, sweep_ns);
    }
}

static struct op_next owed_end(struct owed *o)
{
    ensure(o->set.holds_count == 0 && list_empty(&o->waiting));
    if (o->timer.busy) {
        io_cancel(o->io, &o->timer);
        return op_wait(REST);
    }
    owed_set_sweep(&o->set, true);
    if (o->tried != o->set.version)
        return owed_keep(o);
    journal_close(&o->journal, &o->req, &o->op);
    return op_wait(CLOSED);
}

static struct op_next owed_rest(struct op *op)
{
    struct owed *o = owed_of(op);
    bool may_try = io_now(o->io) >= o->retry_ns;
    if (o->kept != o->set.version && may_try && !o->is_closing)
        return owed_keep(o);
    if (o->segment > o->forgotten) {
        journal_forget(o->journal, &o->req, op, o->segment);
        return op_wait(FORGOTTEN);
    }
    if (o->at < o->shards.count && o->kept == o->set.version)
        return op_goto(STRANGERS);
    if (o->is_closing)
        return owed_end(o);
    owed_sweep(o);
    bool has_changed = o->kept != o->set.version && may_try;
    return has_changed ? op_goto(REST) : op_wait(REST);
}

/* Also when the disk is full: what was found is in memory, and written when there is space. */
static void owed_say_open(struct owed *o)
{
    o->is_open = true;
    *o->out = o;
    io_req_end(o->opening, OK);
}

static struct op_next owed_kept(struct op *op)
{
    struct owed *o = owed_of(op);
    if (o->req.busy)
        return op_wait(KEPT);
    enum err err = o->req.err;
    if (err == OK) {
        o->kept = o->tried;
        o->segment = journal_place(&o->req).segment;
        owed_tell(o);
    }
    if (!o->is_open)
        owed_say_open(o);
    return err == OK ? op_goto(REST) : owed_failed(o, err);
}

/* What could not be given up is tried again with the next segment. */
static struct op_next owed_forgotten(struct op *op)
{
    struct owed *o = owed_of(op);
    if (o->req.busy)
        return op_wait(FORGOTTEN);
    o->forgotten = o->segment;
    return op_goto(REST);
}

/* ---- folders of shards that there are no more ---- */

static struct op_next owed_strangers(struct op *op)
{
    struct owed *o = owed_of(op);
    if (o->req.busy)
        return op_wait(STRANGERS);
    for (; o->at < o->shards.count; o->at++) {
        int shard = shard_of_name(o->shards.names[o->at]);
        if (!is_stranger(o, shard))
            continue;
        o->file_at = 0;
        o->has_emptied = true;
        io_list(o->io, &o->req, op, folder_of(o, shard), &o->arena, &o->files);
        return op_wait(EMPTIED);
    }
    if (!o->has_emptied)
        return op_goto(REST);
    o->has_emptied = false;
    io_sync_dir(o->io, &o->req, op, o->folder); /* lest they come back with a crash */
    return op_wait(STRANGERS);
}

/* Files that cannot be removed now are read again by the next start. */
static struct op_next owed_emptied(struct op *op)
{
    struct owed *o = owed_of(op);
    const char *folder = o->shards.names[o->at];
    if (o->req.busy)
        return op_wait(EMPTIED);
    if (o->file_at < o->files.count) {
        io_remove(
            o->io, &o->req, op,
            arena_printf(&o->arena, "%s/%s/%s", o->folder, folder, o->files.names[o->file_at++]));
        return op_wait(EMPTIED);
    }
    io_remove(o->io, &o->req, op, arena_printf(&o->arena, "%s/%s", o->folder, folder));
    o->at++;
    o->files.count = 0;
    return op_wait(STRANGERS);
}

/* ---- the end ---- */

static struct op_next owed_closed(struct op *op)
{
    struct owed *o = owed_of(op);
    return o->req.busy ? op_wait(CLOSED) : op_end(op, o->req.err);
}

static void owed_release(struct op *op)
{
    struct owed *o = owed_of(op);
    if (o->closing)
        io_req_end(o->closing, op->err);
    owed_set_deinit(&o->set);
    buf_deinit(&o->record);
    arena_deinit(&o->arena);
    mem_free(o);
}

void owed_close(struct owed **owed, struct io_req *req, struct op *op)
{
    struct owed *o = *owed;
    ensure(o->is_open && !o->is_closing);
    *owed = NULL;
    o->is_closing = true;
    o->closing = req;
    io_req_begin(req, op);
    op_wake(&o->op);
}

/* ---- what lingers ---- */

struct owed_range owed_range_of(const struct ring *ring, int64_t token)
{
    size_t low = 0, high = ring->tokens_count;
    while (low < high) { /* the first token that is not before it */
        size_t middle = low + (high - low) / 2;
        if (ring->tokens[middle].token < token)
            low = middle + 1;
        else
            high = middle;
    }
    return (struct owed_range){
        .after = low > 0 ? ring->tokens[low - 1].token : INT64_MIN,
        .upto = low < ring->tokens_count ? ring->tokens[low].token : INT64_MAX,
    };
}

void owed_hold(struct owed *o, const struct ring *ring, int64_t token, struct owed_hold *hold)
{
    struct owed_range range = owed_range_of(ring, token);
    ensure(!hold->entry && !o->is_closing);
    hold->entry = owed_set_at(&o->set, &range);
    bool enters = !hold->entry->is_in;
    owed_set_hold(&o->set, hold->entry, enters ? io_wall(o->io) : 0);
    if (enters)
        op_wake(&o->op);
}

bool owed_is_kept(const struct owed *o, const struct owed_hold *hold)
{
    return hold->entry->version <= o->kept;
}

void owed_wait(struct owed *o, struct io_req *req, struct op *op, const struct owed_hold *hold)
{
    ensure(!owed_is_kept(o, hold));
    io_req_begin(req, op);
    req->key = hold->entry->version;
    list_add(&o->waiting, &req->link);
    op_wake(&o->op);
}

void owed_let_go(struct owed *o, struct owed_hold *hold)
{
    owed_set_let_go(&o->set, hold->entry);
    hold->entry = NULL;
}

void owed_lose(struct owed *o, const struct owed_hold *hold, int64_t since_us)
{
    uint64_t version = o->set.version;
    owed_set_lose(&o->set, hold->entry, since_us, io_wall(o->io));
    o->set.lost_count++;
    if (o->set.version != version)
        op_wake(&o->op);
}

/* ---- the unknown ---- */

void owed_unknown_each(const struct owed *o,
                       void (*each)(void *context, const struct owed_unknown *), void *context)
{
    size_t at = 0;
    for (const struct owed_entry *e; (e = map_next(&o->set.entries, &at));) {
        struct owed_unknown unknown = { e->range, e->since_us, e->latest_us };
        if (e->is_unknown)
            each(context, &unknown);
    }
}

void owed_clear_unknown(struct owed *o, struct io_req *req, struct op *op,
                        const struct owed_range *range, int64_t began_us)
{
    owed_set_clear(&o->set, range, began_us);
    o->set.version++; /* so that there is something to wait for, and nothing else to look at */
    io_req_begin(req, op);
    req->key = o->set.version;
    list_add(&o->waiting, &req->link);
    op_wake(&o->op);
}

void owed_counts(const struct owed *o, struct owed_counts *out)
{
    size_t at = 0;
    *out = (struct owed_counts){ .ranges = o->set.in_count,
                                 .unknown = o->set.unknown_count,
                                 .holds = o->set.holds_count,
                                 .entered = o->set.entered_count,
                                 .lost = o->set.lost_count,
                                 .failures = o->failures };
    for (const struct owed_entry *e; (e = map_next(&o->set.entries, &at));)
        if (e->is_unknown && (!out->oldest_us || e->since_us < out->oldest_us))
            out->oldest_us = e->since_us;
}
