/* merging.c - see merging.h.
 *
 *     begin ──> between ──> statics ──> enter ──> row, row ... ──> leave ──┐
 *                  ^                                                       │
 *                  └────────── the nearest partition of all inputs <───────┘──> over
 *
 * Each input is a source with a stream of its own.  What its heads become is decided as for a read
 * (heads.h): the newest wins, what is covered goes.  Then, on what has won, purge.h: so nothing
 * that was shadowed can come back, since what shadows it goes after it or stays.
 *
 * Rows that stay packed (unfiltered.h) and are newer than all else at their key go to the writer as
 * they stand; the cells of others are decoded when they are needed.
 *
 * Invariants: 1. A partition reaches the writer with the first thing that is left of it.  2. Keys
 * ascend in what comes out: an input that goes back is damaged.  3. `open` is the newest range
 * tombstone over the place before the heads, unpurged; what of it may be told is purged on its way
 * to the writer, the same way at both of its ends.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/merging.h"

#include "base/mem.h"
#include "model/purge.h"
#include "store/heads.h"
#include "store/stream.h"

enum stage { BEGIN, BETWEEN, STATICS, ENTER, ROWS, LEAVE, OVER };
enum { MERGE_PRICE_NS = 100, ACCOUNT_BYTES = 16 * 1024 };

struct input {
    struct sstable *sstable; /* counted */
    struct file_walk walk;
    struct fetch fetch;
    struct read_cost cost;
    struct unfiltered statics;
    const struct sstable_writer *asked; /* whether it packs as the input does: */
    bool packs;
    uint64_t plain, stored; /* bytes that are in the counts */
};
struct merging {
    struct merging_options options;
    struct input *inputs;
    struct source *sources; /* one of each */
    struct heads heads;
    enum stage stage;
    size_t at;            /* the input that the stage has come to */
    size_t waiting;       /* the input that waits for its stream */
    bool has_statics;     /* some input has */
    struct arena scratch; /* of one row */
    struct purge purge;
    struct merging_counts counts;

    /* the partition */
    bool is_first, is_foreign, is_begun; /* begun: in the writer */
    int64_t token;
    struct buf key;
    struct deletion deletion; /* unpurged */
    struct deletion open;
    struct buf last; /* key of the last row or marker */
};

static int64_t ask(void *context)
{
    struct merging *m = context;
    return m->options.timestamp_min(m->options.context, m->token, buf_bytes(&m->key));
}

static void input_open(struct merging *m, size_t i, struct sstable *sstable)
{
    struct input *in = &m->inputs[i];
    in->sstable = sstable;
    sstable_ref(in->sstable);
    m->has_statics |= sstable->layout.statics_count > 0;
    file_walk_init(&in->walk, in->sstable);
    in->fetch = (struct fetch){ .cost = &in->cost,
                                .cache = in->sstable->cache,
                                .stream = stream_new(m->options.io, in->sstable) };
    source_of_file(&m->sources[i], &in->walk);
}

struct merging *merging_new(const struct merging_options *options)
{
    struct merging *m = mem_zalloc(sizeof *m);
    ensure(options->count > 0);
    ensure_after(options->purges, options->timestamp_min != NULL);
    m->options = *options;
    m->options.inputs = NULL; /* the caller's list need not last */
    table_ref(m->options.table);
    m->inputs = mem_zalloc(options->count * sizeof *m->inputs);
    m->sources = mem_zalloc(options->count * sizeof *m->sources);
    m->heads = (struct heads){ .sources = m->sources, .count = options->count };
    m->heads.members = mem_alloc(options->count * sizeof(struct source *));
    m->is_first = true;
    m->purge = (struct purge){ .is_on = options->purges,
                               .now_seconds = options->now_seconds,
                               .gc_before = options->gc_before,
                               .ask = ask,
                               .context = m };
    for (size_t i = 0; i < options->count; i++)
        input_open(m, i, options->inputs[i]);
    return m;
}

void merging_free(struct merging **merging)
{
    struct merging *m = *merging;
    *merging = NULL;
    if (!m)
        return;
    for (size_t i = 0; i < m->options.count; i++) {
        struct input *in = &m->inputs[i];
        source_deinit(&m->sources[i]);
        file_walk_rest(&in->walk);
        file_walk_deinit(&in->walk);
        stream_free(&in->fetch.stream);
        fetch_deinit(&in->fetch);
        sstable_unref(&in->sstable);
    }
    table_unref(&m->options.table);
    arena_deinit(&m->scratch);
    buf_deinit(&m->key);
    buf_deinit(&m->last);
    mem_free(m->inputs);
    mem_free(m->sources);
    mem_free(m->heads.members);
    mem_free(m);
}

bool merging_is_between(const struct merging *m, int64_t *token)
{
    *token = m->token;
    return m->stage == BETWEEN;
}

bool merging_is_over(const struct merging *m) { return m->stage == OVER; }
const struct merging_counts *merging_counts(const struct merging *m) { return &m->counts; }

void merging_load(struct merging *m, struct io_req *req, struct op *op)
{
    stream_load(m->inputs[m->waiting].fetch.stream, req, op);
}

/* ---- what goes wrong ---- */

/* What the input's walk answered, which was not OK. */
static enum err failed(struct merging *m, size_t i, enum err err, struct report *report)
{
    const struct sstable *s = m->inputs[i].sstable;
    char path[SSTABLE_PATH_BYTES];
    if (err == ERR_WOULD_WAIT) {
        m->waiting = i;
        return err;
    }
    if (s->damage.err)
        return report_set(report, s->damage.err, "%s", s->damage.text);
    sstable_path(s, COMPONENT_DATA, path);
    return report_set(report, err, "%.400s: %s", path, err_text(err));
}

static enum err damaged(struct merging *m, size_t i, const char *what, struct report *report)
{
    const struct file_walk *w = &m->inputs[i].walk;
    sstable_set_aside(w->sstable, COMPONENT_DATA, w->place, what);
    return failed(m, i, ERR_CORRUPT, report);
}

/* ---- counts ---- */

static void account(struct merging *m, size_t i)
{
    struct input *in = &m->inputs[i];
    uint64_t plain = in->walk.at_end ? component_bytes(in->sstable, COMPONENT_DATA) : in->walk.at;
    uint64_t stored = stream_bytes(in->fetch.stream);
    m->counts.read_bytes += plain - in->plain;
    m->counts.stored_bytes += stored - in->stored;
    in->plain = plain, in->stored = stored;
}

/* ---- partitions ---- */

/* The partition's begin, before the first thing that is in it. */
static void enter(struct merging *m, struct sstable_writer *writer)
{
    if (m->is_begun)
        return;
    bool stays = !purge_deletion(&m->purge, m->deletion);
    sstable_writer_partition(writer, buf_bytes(&m->key), m->token,
                             stays ? m->deletion : deletion_none());
    m->counts.partitions++;
    m->is_begun = true;
}

static size_t number_of(const struct merging *m, const struct source *s)
{
    return (size_t)(s - m->sources);
}

/* The nearest partition of all; it stands before that, or behind the last one. */
static enum err pick(struct merging *m, struct report *report)
{
    const struct source *first = heads_pick(&m->heads, INT64_MAX, &m->deletion);
    m->at = 0;
    m->stage = first ? BETWEEN : OVER;
    if (!first)
        return OK;
    bool goes_back =
        first->token < m->token ||
        (first->token == m->token && bytes_compare(first->key, buf_bytes(&m->key)) <= 0);
    if (!m->is_first && goes_back)
        return damaged(m, number_of(m, first), "partitions are out of order", report);
    m->is_first = m->is_begun = false;
    m->token = first->token;
    buf_clear(&m->key);
    buf_put_bytes(&m->key, first->key);
    m->purge.is_known = false;
    m->is_foreign = m->options.is_ours && !m->options.is_ours(m->options.context, m->token);
    if (m->is_foreign)
        m->stage = STATICS;
    return OK;
}

static enum err begin(struct merging *m, struct report *report)
{
    for (; m->at < m->options.count; m->at++) {
        enum err e = source_begin(&m->sources[m->at], &m->inputs[m->at].fetch);
        if (e)
            return failed(m, m->at, e, report);
    }
    return pick(m, report);
}

/* Each input that has the partition has one packed row of it and nothing else, and one of them is
 * the newest: that is all there is to write.  NULL: it is not so. */
static const struct source *only_row(const struct merging *m)
{
    const struct heads *h = &m->heads;
    const struct source *best = NULL;
    int64_t newest = TIMESTAMP_NONE;
    bool has_won = false;
    for (size_t i = 0; i < h->members_count; i++) {
        const struct source *s = h->members[i];
        int64_t timestamp = s->head->row.liveness.timestamp;
        if (!s->walk->is_only)
            return NULL;
        if (timestamp >= newest)
            has_won = timestamp > newest;
        if (timestamp > newest)
            newest = timestamp, best = s;
    }
    return has_won ? best : NULL;
}

static void only_row_take(struct merging *m, const struct source *s, struct sstable_writer *writer)
{
    struct only_row only = { .key = buf_bytes(&m->key),
                             .token = m->token,
                             .hash = s->walk->hash,
                             .row = &s->head->row,
                             .packed = s->head->packed };
    io_charge(m->options.io, MERGE_PRICE_NS);
    sstable_writer_only_row(writer, &only);
    m->counts.partitions++;
    m->counts.rows++;
    m->stage = LEAVE;
}

static void partition_open(struct merging *m, struct sstable_writer *writer)
{
    size_t members = m->heads.members_count;
    const struct source *only = only_row(m);
    m->counts.merged[members < COMPACT_MERGED_MAX ? members : COMPACT_MERGED_MAX - 1]++;
    if (only) {
        only_row_take(m, only, writer);
        return;
    }
    if (purge_deletion(&m->purge, m->deletion))
        m->counts.purged += !deletion_is_none(m->deletion);
    else
        enter(m, writer);
    m->stage = STATICS;
}

static enum err leave(struct merging *m, struct report *report)
{
    for (; m->at < m->heads.members_count; m->at++) {
        struct source *s = m->heads.members[m->at];
        size_t i = number_of(m, s);
        enum err e = source_follow(s, &m->inputs[i].fetch);
        if (e)
            return failed(m, i, e, report);
        if (s->at_end || s->walk->place - m->inputs[i].plain >= ACCOUNT_BYTES)
            account(m, i);
    }
    return pick(m, report);
}

/* ---- rows and markers ---- */

/* What is left of the row for the writer; NULL: nothing. */
static const struct row *purged(struct merging *m, const struct row *row)
{
    if (!row || !purge_concerns(&m->purge, row))
        return row;
    struct row *own = row_copied(&m->scratch, row);
    return purge_row(&m->purge, own, &m->counts.purged) ? own : NULL;
}

/* Nearest rows, static or not, as one. */
static const struct row *row_at(struct merging *m, size_t first, size_t members)
{
    struct deletion shadow = deletion_newer(m->deletion, m->open);
    arena_reset(&m->scratch);
    if (m->is_foreign)
        return NULL;
    return purged(m, heads_row(&m->heads, first, members, m->options.table, shadow, &m->scratch));
}

/* Static rows are heads of their own, before all others. */
static enum err static_heads(struct merging *m, struct report *report)
{
    for (; m->at < m->heads.members_count; m->at++) {
        struct source *s = m->heads.members[m->at];
        struct input *in = &m->inputs[number_of(m, s)];
        enum err e = source_static(s, &in->fetch, &in->statics);
        if (e)
            return failed(m, number_of(m, s), e, report);
        s->head = &in->statics;
    }
    return OK;
}

static void static_take(struct merging *m, struct sstable_writer *writer)
{
    size_t first = 0, members;
    const struct row *row = NULL;
    if (heads_nearest(&m->heads, &first, &members).size)
        row = row_at(m, first, members);
    if (row) {
        enter(m, writer);
        sstable_writer_static(writer, row);
    }
    for (size_t i = 0; i < m->heads.members_count; i++)
        m->heads.members[i]->head = &m->heads.members[i]->walk->head;
}

static enum err statics(struct merging *m, struct sstable_writer *writer, struct report *report)
{
    m->open = deletion_none();
    enum err e = m->has_statics ? static_heads(m, report) : OK;
    if (e)
        return e;
    if (m->has_statics)
        static_take(m, writer);
    m->at = 0;
    m->stage = ENTER;
    return OK;
}

/* Writers come one after the other, all of the same table. */
static bool packs(struct input *in, const struct sstable_writer *writer)
{
    if (in->asked != writer)
        in->packs = sstable_writer_packs(writer, &in->sstable->layout);
    in->asked = writer;
    return in->packs;
}

static enum err rows_enter(struct merging *m, const struct sstable_writer *writer,
                           struct report *report)
{
    for (; m->at < m->heads.members_count; m->at++) {
        struct source *s = m->heads.members[m->at];
        size_t i = number_of(m, s);
        s->is_taken = false;
        s->walk->keeps_packed = !m->is_foreign && packs(&m->inputs[i], writer);
        enum err e = source_enter(s, &m->inputs[i].fetch, (struct slice){ 0 }, false);
        if (e)
            return failed(m, i, e, report);
    }
    buf_clear(&m->last);
    m->stage = ROWS;
    return OK;
}

/* Those whose heads were used go on. */
static enum err advance(struct merging *m, struct report *report)
{
    for (; m->at < m->heads.members_count; m->at++) {
        struct source *s = m->heads.members[m->at];
        size_t i = number_of(m, s);
        if (!s->is_taken)
            continue;
        enum err e = source_next(s, &m->inputs[i].fetch);
        if (e)
            return failed(m, i, e, report);
        s->is_taken = false;
        if (s->walk->at - m->inputs[i].plain >= ACCOUNT_BYTES)
            account(m, i);
    }
    return OK;
}

/* Each marker at the key closes what was open in its own file. */
static enum err markers_check(struct merging *m, struct bytes key, struct report *report)
{
    for (size_t i = 0; i < m->heads.members_count; i++) {
        const struct source *s = m->heads.members[i];
        if (source_has_head(s, key) && deletion_compare(s->head->marker.before, s->open) != 0)
            return damaged(m, number_of(m, s), "a range tombstone ends that was not open", report);
    }
    return OK;
}

static enum err markers_take(struct merging *m, size_t first, struct bytes key,
                             struct sstable_writer *writer, struct report *report)
{
    enum err e = markers_check(m, key, report);
    if (e)
        return e;
    heads_pass_markers(&m->heads, key);
    struct deletion open = heads_open(&m->heads);
    if (deletion_compare(open, m->deletion) <= 0)
        open = deletion_none(); /* the partition's deletion says as much */
    struct marker marker = { .key = key,
                             .clustering = m->heads.members[first]->head->marker.clustering,
                             .before = m->open,
                             .after = open };
    m->open = open;
    if (m->is_foreign || deletion_compare(marker.before, marker.after) == 0 ||
        !purge_marker(&m->purge, &marker, &m->counts.purged))
        return OK;
    enter(m, writer);
    sstable_writer_marker(writer, &marker);
    return OK;
}

static void unpack(const struct merging *m, size_t first)
{
    struct bytes key = m->heads.members[first]->head->row.key;
    for (size_t i = first; i < m->heads.members_count; i++) {
        const struct source *s = m->heads.members[i];
        if (s->head->is_packed && source_has_head(s, key))
            file_walk_unpack(s->walk);
    }
}

static void row_take(struct merging *m, size_t first, size_t members, struct sstable_writer *writer)
{
    struct deletion shadow = deletion_newer(m->deletion, m->open);
    const struct source *packed = heads_packed(&m->heads, first, members, shadow);
    const struct row *row = packed ? &packed->head->row : NULL;
    if (!packed) {
        unpack(m, first);
        row = row_at(m, first, members);
    }
    if (!row)
        return;
    enter(m, writer);
    if (packed)
        sstable_writer_packed_row(writer, row, packed->head->packed);
    else
        sstable_writer_row(writer, row);
    m->counts.rows++;
}

static enum err partition_close(struct merging *m, struct sstable_writer *writer,
                                struct report *report)
{
    for (size_t i = 0; i < m->heads.members_count; i++)
        if (!deletion_is_none(m->heads.members[i]->open))
            return damaged(m, number_of(m, m->heads.members[i]), "a range tombstone is not closed",
                           report);
    if (m->is_begun)
        sstable_writer_partition_end(writer);
    m->at = 0;
    m->stage = LEAVE;
    return OK;
}

static enum err rows(struct merging *m, struct sstable_writer *writer, struct report *report)
{
    size_t first = 0, members;
    enum err e = advance(m, report);
    if (e)
        return e;
    struct bytes key = heads_nearest(&m->heads, &first, &members);
    if (!key.size)
        return partition_close(m, writer, report);
    if (m->last.size && bytes_compare(key, buf_bytes(&m->last)) <= 0)
        return damaged(m, number_of(m, m->heads.members[first]), "rows are out of order", report);
    buf_clear(&m->last);
    buf_put_bytes(&m->last, key);
    io_charge(m->options.io, MERGE_PRICE_NS);
    if (m->heads.members[first]->head->kind == UNFILTERED_MARKER)
        e = markers_take(m, first, key, writer, report);
    else
        row_take(m, first, members, writer);
    for (size_t i = 0; i < m->heads.members_count; i++)
        m->heads.members[i]->is_taken = source_has_head(m->heads.members[i], key);
    m->at = 0;
    return e;
}

/* ---- one thing after the other ---- */

static enum err stage_run(struct merging *m, struct sstable_writer *writer, struct report *report)
{
    switch (m->stage) {
    case BEGIN:
        return begin(m, report);
    case BETWEEN:
        partition_open(m, writer);
        return OK;
    case STATICS:
        return statics(m, writer, report);
    case ENTER:
        return rows_enter(m, writer, report);
    case ROWS:
        return rows(m, writer, report);
    case LEAVE:
        return leave(m, report);
    case OVER:
        return OK;
    }
    return OK;
}

enum err merging_step(struct merging *m, struct sstable_writer *writer, struct report *report)
{
    enum err e = OK;
    ensure_after(m->stage != BEGIN && m->stage != OVER && !m->is_foreign, writer != NULL);
    for (bool is_done = false; !is_done && e == OK;) {
        bool is_at_rows = m->stage == ROWS;
        e = stage_run(m, writer, report);
        is_done = m->stage == BETWEEN || m->stage == OVER || (is_at_rows && m->stage == ROWS);
    }
    return e;
}

/* ---- for the writer ---- */

/* What no file has stays as if there were none: a minimum of nothing. */
struct header_base merging_base(struct sstable *const *inputs, size_t count)
{
    const struct header_base none = header_base_none();
    struct header_base base = none;
    for (size_t i = 0; i < count; i++) {
        const struct header_base *in = &inputs[i]->statistics.header.base;
        if (in->timestamp != none.timestamp &&
            (base.timestamp == none.timestamp || in->timestamp < base.timestamp))
            base.timestamp = in->timestamp;
        if (in->seconds != none.seconds &&
            (base.seconds == none.seconds || in->seconds < base.seconds))
            base.seconds = in->seconds;
        if (in->ttl != none.ttl && (base.ttl == none.ttl || in->ttl < base.ttl))
            base.ttl = in->ttl;
    }
    return base;
}
