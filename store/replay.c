/* replay.c - opens a store: reads back every folder of the commit log, then begins a new segment.
 *
 *     list ──> marks ──> (next folder: marks) ──> replay ──> (next folder: replay)
 *                                                   └──> log ──> ready ──> ended
 *
 * The node may have had another shard count in an earlier life, so each shard reads the folders of
 * all shards, whoever they were, and applies the tokens that it owns now.
 *
 * The folders are read twice.  A truncate mark may cover records of a folder that is read before
 * the mark's own, and what has been merged cannot be taken out again; so the first pass only
 * collects marks, and the second merges what no mark covers.  Per table and folder only the
 * furthest covered position is kept.
 *
 * Another shard may have opened and may be writing already while its folder is read here.  Then a
 * block that was read too early looks like a hole to the marks behind it.  What was written in this
 * life is never ours, so nothing is lost; and a folder of another shard is only damaged if reading
 * it again finds the same bad place.  Merging twice is merging once.
 *
 * The budget is not asked here: what was acknowledged is served.  If it exceeds the budget, writes
 * are refused afterwards.
 *
 * A mutation of a table that the catalog does not know belongs to a dropped one: it is counted and
 * left out.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "store/inside.h"

enum { BEGIN, LIST, MARKS, REPLAY, LOG, READY };

/* Records of the table in the folder are gone up to this position, inclusive. */
struct cover {
    struct uuid table; /* table and folder are the key */
    uint64_t folder;
    struct journal_position upto;
};
enum { COVER_KEY_BYTES = offsetof(struct cover, upto) };

struct opening {
    struct op op;
    struct store *store;
    struct store **out;
    struct io_req *done;
    struct report *failed;
    struct io_req req;
    struct arena arena;   /* lives as long as the opening */
    struct arena decoded; /* of one record */
    struct io_names names;
    uint64_t *folders;
    size_t folders_count, at; /* at: the folder being read */
    bool is_reading;
    struct journal_replay seen;
    struct journal_position doubted; /* the bad place of the former reading of this folder */
    struct store_counts counts;      /* before this reading of it */
    struct journal_position wrong;   /* of a record that cannot be understood */
    bool is_wrong;
    struct map covers;
};

static struct op_next opening_begin(struct op *);
static struct op_next opening_list(struct op *);
static struct op_next opening_marks(struct op *);
static struct op_next opening_replay(struct op *);
static struct op_next opening_log(struct op *);
static struct op_next opening_ready(struct op *);
static void opening_release(struct op *);

static const struct op_state states[] = {
    [BEGIN] = { "begin", opening_begin, TO(LIST) },
    [LIST] = { "list", opening_list, TO(MARKS) | TO(LOG) },
    [MARKS] = { "marks", opening_marks, TO(REPLAY) },
    [REPLAY] = { "replay", opening_replay, TO(LOG) },
    [LOG] = { "log", opening_log, TO(READY) },
    [READY] = { "ready", opening_ready, 0 },
};

static struct opening *opening_of(struct op *op) { return owner_of(op, struct opening, op); }

void opening_start(struct store *s, struct io_req *req, struct op *op, struct store **out,
                   struct report *failed)
{
    struct opening *o = mem_zalloc(sizeof *o);
    o->store = s, o->out = out, o->done = req, o->failed = failed;
    io_req_begin(req, op);
    op_start(&o->op, io_ops(s->io), NULL, states, opening_release);
}

/* ---- what a record says ---- */

static int log_order(struct journal_position a, struct journal_position b)
{
    if (a.segment != b.segment)
        return a.segment < b.segment ? -1 : 1;
    return (a.offset > b.offset) - (a.offset < b.offset);
}

static void cover_add(struct opening *o, const struct cover *cover)
{
    struct cover *known = map_get(&o->covers, bytes_of(cover, COVER_KEY_BYTES));
    if (!known) {
        known = arena_new(&o->arena, struct cover);
        *known = *cover;
        map_put(&o->covers, bytes_of(known, COVER_KEY_BYTES), known);
    } else if (log_order(known->upto, cover->upto) < 0) {
        known->upto = cover->upto;
    }
}

static bool is_covered(const struct opening *o, const struct uuid *table,
                       struct journal_position at)
{
    if (o->covers.count == 0)
        return false;
    struct cover key = { .table = *table, .folder = o->folders[o->at] };
    const struct cover *cover = map_get(&o->covers, bytes_of(&key, COVER_KEY_BYTES));
    return cover && log_order(at, cover->upto) <= 0;
}

static enum err mark_decode(struct opening *o, struct cursor *c, struct journal_position at)
{
    struct cover cover = { .folder = o->folders[o->at], .upto = at };
    struct bytes table = cursor_bytes(c, sizeof cover.table.b);
    size_t count = cursor_count(c, 3);
    if (c->bad || !table.data)
        return ERR_CORRUPT;
    memcpy(cover.table.b, table.data, table.size);
    cover_add(o, &cover);
    for (size_t i = 0; i < count; i++) {
        cover.folder = cursor_vint(c);
        cover.upto.segment = cursor_vint(c);
        cover.upto.offset = cursor_vint(c);
        if (c->bad)
            return ERR_CORRUPT;
        cover_add(o, &cover);
    }
    return cursor_left(c) ? ERR_CORRUPT : OK;
}

/* Remembers how far this folder holds what is ours, for the marks of this life. */
static void folder_note(struct store *s, uint64_t folder, struct journal_position at)
{
    if (s->ends_count == 0 || s->ends[s->ends_count - 1].folder != folder)
        s->ends_count++;
    s->ends[s->ends_count - 1] = (struct folder_end){ folder, at };
}

static enum err mutation_replay(struct opening *o, struct bytes bytes, struct journal_position at)
{
    struct store *s = o->store;
    struct mutation m;
    enum err e = mutation_peek(bytes, &m);
    if (e)
        return e;
    if (!s->options.owns(s->options.context, m.token))
        return OK;
    folder_note(s, o->folders[o->at], at);
    const struct table *table = catalog_table_by_id(s->options.catalog, &m.table);
    if (!table) {
        s->counts.skipped_mutations++;
        return OK;
    }
    if (is_covered(o, &m.table, at))
        return OK;
    arena_reset(&o->decoded);
    e = mutation_decode(bytes, table, &o->decoded, &m);
    if (e)
        return e;
    store_merge(s, store_memtable_for(s, &m.table), &m);
    s->counts.replayed_mutations++;
    s->counts.replayed_bytes += bytes.size;
    return OK;
}

static enum err record_read(struct opening *o, struct bytes record, struct journal_position at)
{
    struct cursor c = cursor_of(record);
    uint8_t kind = cursor_u8(&c);
    struct bytes body = { c.at, cursor_left(&c) };
    if (kind == RECORD_MUTATION)
        return o->op.state == MARKS ? OK : mutation_replay(o, body, at);
    if (kind == RECORD_TRUNCATE)
        return o->op.state == MARKS ? mark_decode(o, &c, at) : OK;
    return ERR_NEWER;
}

static enum err record_note(void *context, struct bytes record, struct journal_position at)
{
    struct opening *o = context;
    enum err e = record_read(o, record, at);
    if (e) {
        o->is_wrong = true;
        o->wrong = at;
    }
    return e;
}

/* ---- steps ---- */

static struct op_next opening_begin(struct op *op)
{
    struct opening *o = opening_of(op);
    io_list(o->store->io, &o->req, op, o->store->options.commitlog_folder, &o->arena, &o->names);
    return op_wait(LIST);
}

static struct op_next opening_fail(struct opening *o, enum err e)
{
    ensure(e != OK);
    io_req_end(o->done, e);
    return op_end(&o->op, e);
}

/* Names a folder of one shard: decimal digits without a leading zero. */
static bool folder_number(const char *name, uint64_t *out)
{
    *out = 0;
    for (const char *c = name; *c; c++) {
        if (*c < '0' || *c > '9' || c - name >= 9 || (c > name && *name == '0'))
            return false;
        *out = *out * 10 + (uint64_t)(*c - '0');
    }
    return *name != 0;
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
        if (folder_number(o->names.names[i], &o->folders[o->folders_count]))
            o->folders_count++;
    s->ends = arena_array(&s->arena, struct folder_end, o->folders_count);
    return op_goto(MARKS);
}

static void folder_begin(struct opening *o)
{
    struct store *s = o->store;
    const char *folder = arena_printf(&o->arena, "%s/%llu", s->options.commitlog_folder,
                                      (unsigned long long)o->folders[o->at]);
    o->counts = s->counts;
    o->is_reading = true;
    journal_read(s->io, &o->req, &o->op, folder, record_note, o, &o->seen);
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
                       "restore the file, or move it away and lose what it holds",
                       root, folder, segment, offset);
    else
        e = report_set(o->failed, e, "%s/%llu: %s", root, folder, err_text(e));
    return opening_fail(o, e);
}

/* Every shard reads every folder, twice; one of them counts its torn tail, once. */
static void folder_end(struct opening *o, bool is_counted)
{
    struct store *s = o->store;
    bool is_mine = o->folders[o->at] % (uint64_t)io_shards(s->io) == (uint64_t)io_self(s->io);
    if (is_mine && is_counted)
        s->counts.torn_bytes += o->seen.torn_bytes;
    o->doubted = (struct journal_position){ 0 };
    o->at++;
}

/* A bad place that was not there before, in the folder of a shard that may be writing. */
static bool folder_is_doubtful(struct opening *o)
{
    bool is_own = o->folders[o->at] == (uint64_t)io_self(o->store->io);
    bool is_hole = o->req.err == ERR_CORRUPT && !o->is_wrong;
    bool is_known = log_order(o->seen.bad, o->doubted) == 0;
    o->doubted = o->seen.bad;
    return is_hole && !is_own && !is_known;
}

/* Reads one folder after the other, then goes on at `next`. */
static struct op_next opening_pass(struct opening *o, uint8_t here, uint8_t next)
{
    if (o->req.busy)
        return op_wait(here);
    if (o->is_reading && o->req.err == OK)
        folder_end(o, here == REPLAY);
    else if (o->is_reading && folder_is_doubtful(o))
        o->store->counts = o->counts;
    else if (o->is_reading)
        return folder_fail(o);
    o->is_reading = false;
    if (o->at == o->folders_count) {
        o->at = 0;
        return op_goto(next);
    }
    folder_begin(o);
    return op_wait(here);
}

static struct op_next opening_marks(struct op *op)
{
    return opening_pass(opening_of(op), MARKS, REPLAY);
}

static struct op_next opening_replay(struct op *op)
{
    return opening_pass(opening_of(op), REPLAY, LOG);
}

static struct op_next opening_log(struct op *op)
{
    struct opening *o = opening_of(op);
    struct store *s = o->store;
    struct journal_options options = {
        .folder = arena_printf(&s->arena, "%s/%d", s->options.commitlog_folder, io_self(s->io)),
        .mode = s->options.commitlog_mode,
        .period_ns = s->options.commitlog_period_ns,
        .segment_bytes = s->options.segment_bytes,
        .total_bytes_max = s->options.commitlog_bytes_max,
    };
    journal_open(s->io, &o->req, op, &options, &s->journal);
    return op_wait(READY);
}

static struct op_next opening_ready(struct op *op)
{
    struct opening *o = opening_of(op);
    enum err e = o->req.err;
    if (o->req.busy)
        return op_wait(READY);
    if (e)
        return opening_fail(
            o, report_set(o->failed, e, "%s/%d: the commit log cannot be opened: %s",
                          o->store->options.commitlog_folder, io_self(o->store->io), err_text(e)));
    ensure(o->store->journal);
    *o->out = o->store;
    io_req_end(o->done, OK);
    return op_end(op, OK);
}

static void opening_release(struct op *op)
{
    struct opening *o = opening_of(op);
    struct store *failed = op->err ? o->store : NULL;
    map_deinit(&o->covers);
    arena_deinit(&o->arena);
    arena_deinit(&o->decoded);
    mem_free(o);
    if (failed)
        store_free(&failed);
}
