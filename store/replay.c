/* replay.c - opens a store: the files of all tables, then every folder of the commit log, then a
 * new segment of our own.
 *
 *     begin ──> files ──> list ──> replay ──> (next folder) ──> log ──> ready ──> space ──> ended
 *       wherever it fails: ──> leave ──> ended
 *
 * The node may have had another shard count in an earlier life, so each shard reads the folders of
 * all shards, whoever they were, and applies the tokens that it owns now.  A record is passed over
 * when a floor covers it (TRUNCATE), or when a file of its table says that it holds what stood
 * there: a file speaks for the tokens of its writer, which may have been one shard of so many.
 *
 * Mutations are merged a few at a time: the processor fetches the places of all of them at once,
 * instead of waiting for one after the other.
 *
 * Memtables that fill up meanwhile are flushed as ever (keeper.c), in longer slices, and the
 * reading rests while they are full.  Where a flush fails, what was read is kept in memory, past
 * the budget if need be: what was acknowledged is served.
 *
 * Another shard may have opened and may be writing already while its folder is read here.  Then a
 * block that was read too early looks like a hole to the marks behind it.  What was written in this
 * life is never ours, so nothing is lost; and a folder of another shard is only damaged if reading
 * it again finds the same bad place.  What was taken the first time is passed over then.
 *
 * A hole stops the start, unless the options say otherwise: to go on up to it, or behind it; then
 * what was read is flushed and the log given up, so that the next start does not meet it again.
 *
 * When our own folder has what others own now, all that was read is flushed before the node is
 * settled: so a floor that another shard makes for that folder (compact_void.c) covers nothing of
 * ours that is not in a file.
 *
 * A mutation of a table that the catalog does not know belongs to a dropped one: it is counted and
 * left out.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "io/log.h"
#include "store/inside.h"

enum { BEGIN, FILES, LIST, REPLAY, LOG, READY, SPACE, LEAVE };
enum {
    TOGETHER_MAX = BTREE_AHEAD_MAX,
    DECODED_BYTES = 16 * 1024, /* few, so that all of it stays near */
};
static const uint64_t progress_ns = 5000000000;

/* A mutation that is decoded, and not merged yet. */
struct taken {
    struct table_data *data;
    struct mutation mutation;
    size_t bytes;
};

struct opening {
    struct op op;
    struct store *store;
    struct store **out;
    struct io_req *done;
    struct report *failed;
    struct io_req req, tick;
    struct arena arena;   /* lives as long as the opening */
    struct arena decoded; /* what `together` holds */
    struct taken together[TOGETHER_MAX];
    size_t together_count; /* 0 between steps */
    struct io_names names;
    uint64_t *folders;
    size_t folders_count, at; /* at: the folder being read */
    bool is_reading;
    struct journal_replay seen;
    uint64_t began_ns;               /* of this folder */
    struct journal_position doubted; /* the bad place of the former reading of this folder */
    struct journal_position taken;   /* records of this folder up to here have been looked at */
    bool is_again;                   /* it is read for another time */
    struct journal_position wrong;   /* of a record that cannot be understood */
    bool is_wrong;
    enum err err; /* why it fails */
};

static struct op_next opening_begin(struct op *);
static struct op_next opening_files(struct op *);
static struct op_next opening_list(struct op *);
static struct op_next opening_replay(struct op *);
static struct op_next opening_log(struct op *);
static struct op_next opening_ready(struct op *);
static struct op_next opening_space(struct op *);
static struct op_next opening_leave(struct op *);
static void opening_release(struct op *);

static const struct op_state states[] = {
    [BEGIN] = { "begin", opening_begin, TO(FILES) },
    [FILES] = { "files", opening_files, TO(LIST) | TO(LEAVE) },
    [LIST] = { "list", opening_list, TO(REPLAY) | TO(LOG) | TO(LEAVE) },
    [REPLAY] = { "replay", opening_replay, TO(LOG) | TO(LEAVE) },
    [LOG] = { "log", opening_log, TO(READY) },
    [READY] = { "ready", opening_ready, TO(SPACE) | TO(LEAVE) },
    [SPACE] = { "space", opening_space, TO(LEAVE) },
    [LEAVE] = { "leave", opening_leave, 0 },
};

static struct opening *opening_of(struct op *op) { return owner_of(op, struct opening, op); }

void opening_start(struct store *s, struct io_req *req, struct op *op, struct store **out,
                   struct report *failed)
{
    struct opening *o = mem_zalloc(sizeof *o);
    o->store = s, o->out = out, o->done = req, o->failed = failed;
    arena_init(&o->decoded, DECODED_BYTES);
    s->is_opening = true;
    s->opening = &o->op;
    io_req_begin(req, op);
    op_start(&o->op, io_ops(s->io), NULL, states, opening_release);
}

/* ---- what a record says ---- */

/* How far the folder has been filled, for floors. */
static void folder_note(struct opening *o, struct journal_position at)
{
    struct store *s = o->store;
    uint64_t folder = o->folders[o->at];
    if (s->ends_count == 0 || s->ends[s->ends_count - 1].folder != folder)
        s->ends_count++;
    s->ends[s->ends_count - 1] = (struct folder_end){ folder, at };
    o->taken = at;
}

static bool file_holds(const struct store *s, const struct sstable *file, uint64_t folder,
                       struct journal_position at, int64_t token)
{
    struct log_span span;
    if (file->writer_shards == 0 ||
        s->options.shard_of(token, (int)file->writer_shards) != (int)file->writer_shard)
        return false;
    for (size_t i = 0; i < file->statistics.log_intervals_count; i++)
        if (files_span(s, file, i, &span) && span.folder == folder &&
            log_order(span.first, at) <= 0 && log_order(at, span.last) <= 0)
            return true;
    return false;
}

static bool is_held(struct opening *o, const struct table_data *d, struct journal_position at,
                    int64_t token)
{
    uint64_t folder = o->folders[o->at];
    if (floor_covers(&d->floor, folder, at))
        return true;
    for (size_t i = 0; i < d->view->sstables_count; i++)
        if (file_holds(o->store, d->view->sstables[i], folder, at, token))
            return true;
    return false;
}

static bool is_own_folder(const struct opening *o)
{
    return o->folders[o->at] == (uint64_t)io_self(o->store->io);
}

/* Of one table most often; those of others are merged all the same. */
static void taken_look_ahead(const struct opening *o)
{
    int64_t tokens[TOGETHER_MAX];
    size_t count = 0;
    const struct table_data *data = o->together[0].data;
    for (size_t i = 0; i < o->together_count; i++)
        if (o->together[i].data == data)
            tokens[count++] = o->together[i].mutation.token;
    memtable_look_ahead(&data->view->active->memtable, tokens, count);
}

static void mutations_merge(void *context)
{
    struct opening *o = context;
    struct store *s = o->store;
    if (o->together_count > 0)
        taken_look_ahead(o);
    for (size_t i = 0; i < o->together_count; i++) {
        const struct taken *t = &o->together[i];
        store_merge(s, t->data, &t->mutation);
        s->counts.replayed_mutations++;
        s->counts.replayed_bytes += t->bytes;
    }
    if (o->together_count > 0 && keeper_is_due(s))
        keeper_wake(s);
    o->together_count = 0;
    arena_reset(&o->decoded);
}

static enum err mutation_replay(struct opening *o, struct bytes bytes, struct journal_position at)
{
    struct store *s = o->store;
    struct mutation m;
    enum err e = mutation_peek(bytes, &m);
    if (e)
        return e;
    if (!s->options.owns(s->options.context, m.token)) {
        s->must_settle |= is_own_folder(o); /* others take it from there */
        return OK;
    }
    struct table_data *d = store_data_for(s, &m.table);
    if (!d) {
        s->counts.skipped_mutations++;
        return OK;
    }
    if (is_held(o, d, at, m.token)) {
        s->counts.held_mutations++;
        d->is_broken_off = true;
        return OK;
    }
    if (o->together_count == TOGETHER_MAX)
        mutations_merge(o);
    e = mutation_decode(bytes, d->table, &o->decoded, &m);
    if (e)
        return e;
    memtable_shared_note(d->view->active, o->folders[o->at], at, !d->is_broken_off);
    d->is_broken_off = false;
    o->together[o->together_count++] = (struct taken){ d, m, bytes.size };
    return OK;
}

static enum err record_read(struct opening *o, struct bytes record, struct journal_position at)
{
    struct cursor c = cursor_of(record);
    uint8_t kind = cursor_u8(&c);
    if (kind != RECORD_MUTATION)
        return ERR_NEWER;
    return mutation_replay(o, (struct bytes){ c.at, cursor_left(&c) }, at);
}

static enum err record_note(void *context, struct bytes record, struct journal_position at)
{
    struct opening *o = context;
    if (o->is_again && log_order(at, o->taken) <= 0)
        return OK;
    enum err e = record_read(o, record, at);
    if (e == OK)
        folder_note(o, at);
    o->is_wrong = e != OK;
    o->wrong = at;
    return e;
}

/* Memtables fill up faster than they are flushed: until there is room, nothing more is read.  If
 * they cannot be flushed, what was acknowledged goes past the budget. */
static bool replay_must_rest(void *context)
{
    const struct store *s = ((struct opening *)context)->store;
    bool is_full = s->memory_bytes > s->options.memtable_bytes / 4 * 3;
    return is_full && s->keeper.flushes_count > 0 && s->flush_failed.err == OK;
}

static void record_skipped(void *context, struct journal_range range)
{
    struct opening *o = context;
    log_note(o->store->io, LOG_WARN, "commitlog_unknown",
             "folder=%s/%llu segment=%llu offset=%llu bytes=%llu",
             o->store->options.commitlog_folder, (unsigned long long)o->folders[o->at],
             (unsigned long long)range.at.segment, (unsigned long long)range.at.offset,
             (unsigned long long)range.bytes);
}

/* ---- steps ---- */

static struct op_next opening_begin(struct op *op)
{
    struct opening *o = opening_of(op);
    keeper_start(o->store);
    files_open(o->store, &o->req, op, o->failed);
    return op_wait(FILES);
}

static struct op_next opening_fail(struct opening *o, enum err e)
{
    ensure(e != OK);
    o->err = e;
    return op_goto(LEAVE);
}

static struct op_next opening_files(struct op *op)
{
    struct opening *o = opening_of(op);
    if (o->req.busy)
        return op_wait(FILES);
    if (o->req.err)
        return opening_fail(o, o->req.err);
    io_list(o->store->io, &o->req, op, o->store->options.commitlog_folder, &o->arena, &o->names);
    return op_wait(LIST);
}

static struct op_next opening_list(struct op *op)
{
    struct opening *o = opening_of(op);
    struct store *s = o->store;
    if (o->req.busy)
        return op_wait(LIST);
    if (o->req.err == ERR_NOT_FOUND)
        return op_goto(LOG);
    if (o->req.err)
        return opening_fail(o, report_set(o->failed, o->req.err, "%s: %s",
                                          s->options.commitlog_folder, err_text(o->req.err)));
    o->folders = arena_array(&o->arena, uint64_t, o->names.count);
    for (size_t i = 0; i < o->names.count; i++)
        if (log_folder_number(o->names.names[i], &o->folders[o->folders_count]))
            o->folders_count++;
    s->ends = arena_array(&s->arena, struct folder_end, o->folders_count);
    return op_goto(REPLAY);
}

static void folder_begin(struct opening *o)
{
    struct store *s = o->store;
    struct journal_reading reading = {
        .folder = arena_printf(&o->arena, "%s/%llu", s->options.commitlog_folder,
                               (unsigned long long)o->folders[o->at]),
        .holes = s->options.holes,
        .record = record_note,
        .settle = mutations_merge,
        .must_rest = replay_must_rest,
        .skipped = record_skipped,
        .context = o,
    };
    o->is_reading = true;
    o->began_ns = io_now(s->io);
    journal_read_as(s->io, &o->req, &o->op, &reading, &o->seen);
}

static struct op_next folder_fail(struct opening *o)
{
    const char *root = o->store->options.commitlog_folder;
    unsigned long long folder = o->folders[o->at];
    struct journal_position at = o->is_wrong ? o->wrong : o->seen.bad;
    unsigned long long segment = at.segment, offset = at.offset;
    enum err e = o->req.err;
    if (e == ERR_NEWER)
        e = report_set(o->failed, e, "%s/%llu/%llu.log: offset %llu: %s; start the newer version",
                       root, folder, segment, offset, err_text(e));
    else if (e == ERR_CORRUPT)
        e = report_set(o->failed, e,
                       "%s/%llu/%llu.log: offset %llu: the commit log is damaged before its end; "
                       "restore the file, or start with --commitlog-upto-hole (nothing behind that "
                       "place is replayed) or --commitlog-skip-hole (what was there stays unknown)",
                       root, folder, segment, offset);
    else
        e = report_set(o->failed, e, "%s/%llu: %s", root, folder, err_text(e));
    return opening_fail(o, e);
}

/* Every shard reads every folder; one of them counts its torn tail. */
static void folder_end(struct opening *o)
{
    struct store *s = o->store;
    bool is_mine = o->folders[o->at] % (uint64_t)io_shards(s->io) == (uint64_t)io_self(s->io);
    if (is_mine)
        s->counts.torn_bytes += o->seen.torn_bytes;
    s->must_settle |= o->seen.holes > 0;
    s->counts.replay_done_bytes += o->seen.total_bytes;
    o->doubted = o->taken = (struct journal_position){ 0 };
    o->is_again = false;
    o->at++;
}

/* A bad place that was not there before, in the folder of a shard that may be writing; or a segment
 * that is gone again, since its shard had no space for it. */
static bool folder_is_doubtful(struct opening *o)
{
    if (o->req.err == ERR_NOT_FOUND)
        return !is_own_folder(o);
    bool is_hole = o->req.err == ERR_CORRUPT && !o->is_wrong;
    bool is_known = log_order(o->seen.bad, o->doubted) == 0;
    o->doubted = o->seen.bad;
    return is_hole && !is_own_folder(o) && !is_known;
}

static void opening_tell(struct opening *o)
{
    struct io *io = o->store->io;
    uint64_t done = o->seen.done_bytes, total = o->seen.total_bytes;
    uint64_t ms = (io_now(io) - o->began_ns) / 1000000;
    o->store->counts.replay_bytes = total;
    if (o->tick.busy)
        return;
    if (o->tick.op && total && ms)
        log_note(io, LOG_INFO, "replaying", "folder=%llu percent=%llu mb_per_s=%llu",
                 (unsigned long long)o->folders[o->at], (unsigned long long)(done * 100 / total),
                 (unsigned long long)(done / ms / 1000));
    io_sleep(io, &o->tick, &o->op, progress_ns);
}

/* Reads one folder after the other. */
static struct op_next opening_replay(struct op *op)
{
    struct opening *o = opening_of(op);
    if (o->req.busy) {
        opening_tell(o);
        return op_wait(REPLAY);
    }
    if (o->is_reading && o->req.err == OK)
        folder_end(o);
    else if (o->is_reading && folder_is_doubtful(o))
        o->is_again = true;
    else if (o->is_reading)
        return folder_fail(o);
    o->is_reading = false;
    if (o->at < o->folders_count) {
        folder_begin(o);
        return op_wait(REPLAY);
    }
    return op_goto(LOG);
}

static struct op_next opening_log(struct op *op)
{
    struct opening *o = opening_of(op);
    struct store *s = o->store;
    struct journal_options options = {
        .folder = arena_printf(&s->arena, "%s/%d", s->options.commitlog_folder, io_self(s->io)),
        .mode = s->options.commitlog_mode,
        .period_ns = s->options.commitlog_period_ns,
        .window_ns = s->options.commitlog_window_ns,
        .segment_bytes = s->options.segment_bytes,
        .total_bytes_max = s->options.commitlog_bytes_max,
        .segment_min = u64_max((uint64_t)io_wall(s->io) / 1000, s->known_segment + 1),
        .spares_max = SPARES_MAX,
        .is_compressed = s->options.commitlog_is_compressed,
    };
    journal_open(s->io, &o->req, op, &options, &s->journal);
    return op_wait(READY);
}

static void data_begin_life(struct store *s)
{
    size_t i = 0;
    for (struct table_data *d; (d = map_next(&s->tables, &i));)
        d->is_broken_off = true; /* what stands between is in no memtable */
}

static struct op_next opening_ready(struct op *op)
{
    struct opening *o = opening_of(op);
    struct store *s = o->store;
    enum err e = o->req.err;
    if (o->req.busy)
        return op_wait(READY);
    if (e)
        return opening_fail(o,
                            report_set(o->failed, e, "%s/%d: the commit log cannot be opened: %s",
                                       s->options.commitlog_folder, io_self(s->io), err_text(e)));
    ensure(s->journal);
    s->logged_at = journal_end(s->journal);
    data_begin_life(s);
    s->is_opening = false;
    if (s->options.reserve_bytes == 0)
        return op_goto(LEAVE);
    space_open(s, &o->req, op);
    return op_wait(SPACE);
}

static struct op_next opening_space(struct op *op)
{
    return opening_of(op)->req.busy ? op_wait(SPACE) : op_goto(LEAVE);
}

/* The keeper goes when it fails, and with it the flushes. */
static struct op_next opening_leave(struct op *op)
{
    struct opening *o = opening_of(op);
    struct store *s = o->store;
    if (o->tick.busy)
        io_cancel(s->io, &o->tick);
    if (o->err)
        keeper_stop(s);
    if (o->tick.busy || (o->err && op_running(&s->keeper.op)))
        return op_wait(LEAVE);
    if (o->err)
        return store_let_go(s, op) ? op_end(op, o->err) : op_wait(LEAVE);
    *o->out = s;
    return op_end(op, OK);
}

static void opening_release(struct op *op)
{
    struct opening *o = opening_of(op);
    struct store *s = o->store;
    struct io_req *done = o->done;
    enum err err = op->err;
    arena_deinit(&o->arena);
    ensure(o->together_count == 0);
    arena_deinit(&o->decoded);
    mem_free(o);
    s->opening = NULL;
    if (err)
        store_free(&s);
    io_req_end(done, err);
}
