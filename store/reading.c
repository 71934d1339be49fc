/* reading.c - a read from its begin to its end, in as many runs as it takes.
 *
 *     open ──> partition ──> static ──> enter ──> rows <──> step
 *                 ^            (next slice) <───────┘         (all slices) ──> leave ──┐
 *                 └───────────────────────── the next partition of the range <─────────┘
 *
 * A stage that has to wait is entered again from the same place.  A read holds the view that it
 * began with, so the files and memtables it looks into stay.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/reading.h"

#include "base/mem.h"
#include "store/walks.h"

enum { SPARE_RAW_BYTES = 256 * 1024, SPARE_SOURCES = 64 };
enum { READ_PRICE_NS = 500 };

static bool table_has_statics(const struct table *t)
{
    for (size_t i = 0; i < t->columns_count; i++)
        if (t->columns[i].kind == COLUMN_STATIC)
            return true;
    return false;
}

/* ---- what the last read has left ---- */

static void spare_take(struct reading *r, size_t sources)
{
    struct reading_spare *spare = &r->store->spare;
    r->scratch = spare->scratch, r->statics = spare->statics, r->fetch.raw = spare->raw;
    r->sources = spare->sources, r->sources_room = spare->sources_room;
    *spare = (struct reading_spare){ 0 };
    if (r->sources_room >= sources)
        return;
    r->sources = mem_resize(r->sources, sources * sizeof *r->sources);
    r->sources_room = sources;
}

void reading_spare_free(struct store *s)
{
    arena_deinit(&s->spare.scratch);
    arena_deinit(&s->spare.statics);
    buf_deinit(&s->spare.raw);
    mem_free(s->spare.sources);
    s->spare = (struct reading_spare){ 0 };
}

/* In the place of what another read, which began later, may have left before. */
static void spare_give(struct reading *r)
{
    struct store *s = r->store;
    reading_spare_free(s);
    s->spare =
        (struct reading_spare){ r->scratch, r->statics, r->fetch.raw, r->sources, r->sources_room };
    arena_reset(&s->spare.scratch);
    arena_reset(&s->spare.statics);
    if (s->spare.raw.room > SPARE_RAW_BYTES || s->spare.sources_room > SPARE_SOURCES)
        reading_spare_free(s);
    r->scratch = r->statics = (struct arena){ 0 };
    r->fetch.raw = (struct buf){ 0 };
    r->sources = NULL;
}

/* ---- begin and end ---- */

enum err reading_init(struct reading *r, struct store *s, const struct read *read,
                      struct arena *arena, struct read_sink *sink, struct read_outcome *out)
{
    ensure(read->rows_limit > 0 && read->bytes_limit > 0);
    *out = (struct read_outcome){ 0 };
    struct table *table = catalog_table_by_id(s->options.catalog, &read->table);
    if (!table)
        return ERR_NOT_FOUND;
    *r = (struct reading){ .store = s, .read = read, .arena = arena, .sink = sink, .out = out };
    r->table = table;
    table_ref(table);
    r->has_statics = table_has_statics(table);
    r->fetch.cost = &r->cost;
    r->fetch.cache = s->sstables.cache;
    r->deletion = deletion_none();
    r->view = store_view(s, &read->table);
    r->open_from = buf_in(arena), r->last_key = buf_in(arena), r->last_row = buf_in(arena);
    io_charge(s->io, READ_PRICE_NS);
    if (!r->view)
        return OK;
    view_ref(r->view);
    spare_take(r, 1 + r->view->frozen_count + r->view->sstables_count);
    return OK;
}

void reading_deinit(struct reading *r)
{
    for (size_t i = 0; i < r->sources_count; i++) {
        if (r->sources[i].walk)
            walk_give(&r->sources[i].walk);
        source_deinit(&r->sources[i]);
    }
    if (r->view) {
        spare_give(r);
        view_unref(&r->view);
    }
    fetch_deinit(&r->fetch);
    table_unref(&r->table);
}

void reading_rest(struct reading *r)
{
    for (size_t i = 0; i < r->sources_count; i++)
        source_rest(&r->sources[i]);
}

void reading_resync(struct reading *r)
{
    for (size_t i = 0; i < r->sources_count; i++)
        source_resync(&r->sources[i]);
}

/* ---- partitions ---- */

/* The members of the nearest partition; false: there is none. */
static bool partition_pick(struct reading *r)
{
    int64_t upto = r->read->is_range ? r->read->upto : INT64_MAX;
    r->heads.sources = r->sources, r->heads.count = r->sources_count;
    r->heads.is_reversed = r->read->is_reversed;
    if (!r->heads.members)
        r->heads.members = arena_alloc(r->arena, r->sources_count * sizeof(struct source *));
    const struct source *first = heads_pick(&r->heads, upto, &r->deletion);
    if (!first)
        return false;
    r->token = first->token;
    r->key = first->key;
    return true;
}

/* Whole partitions that the read has dealt with before. */
static bool is_done_before(const struct reading *r)
{
    const struct position *from = &r->read->from;
    if (!from->is_set || from->token != r->token)
        return false;
    if (!from->key.size)
        return true;
    int c = bytes_compare(r->key, from->key);
    return c < 0 || (c == 0 && !from->row_key.size);
}

static bool is_ours(const struct reading *r)
{
    for (size_t i = 0; i < r->sources_count; i++)
        if (r->sources[i].is_member && r->sources[i].is_shared)
            return r->store->options.owns(r->store->options.context, r->token);
    return true;
}

static enum err partition_begin(struct reading *r)
{
    const struct position *from = &r->read->from;
    bool has_more = partition_pick(r);
    r->is_over = !has_more;
    r->is_full = has_more && reading_has_toiled(r);
    if (r->is_over || r->is_full)
        return OK;
    r->at = 0;
    r->slices_done = 0;
    r->is_announced = false;
    r->static_row = NULL;
    bool goes_on = from->is_set && from->token == r->token && bytes_equal(from->key, r->key);
    r->behind = goes_on ? from->row_key : (struct bytes){ 0 };
    bool is_done = is_done_before(r), is_skipped = is_done || !is_ours(r);
    r->visits++;
    if (is_skipped && !is_done)
        reading_passed(r, (struct bytes){ 0 });
    r->stage = is_skipped ? READING_LEAVE : r->has_statics ? READING_STATIC : READING_ENTER;
    return OK;
}

static enum err partition_leave(struct reading *r)
{
    if (!r->read->is_range) {
        r->is_over = true;
        return OK;
    }
    for (; r->at < r->sources_count; r->at++) {
        struct source *s = &r->sources[r->at];
        if (!s->is_member)
            continue;
        enum err e = source_next_partition(s, &r->fetch);
        if (e)
            return e;
        s->is_member = false;
    }
    r->stage = READING_PARTITION;
    return OK;
}

/* ---- slices ---- */

/* The bound beyond a row's key, in the read's direction; a bound is itself. */
static struct bytes bound_behind(struct reading *r, struct bytes key)
{
    if (key.data[key.size - 1] != COMPARABLE_ROW)
        return key;
    struct bytes bound = arena_copy(r->arena, key);
    ((uint8_t *)bound.data)[key.size - 1] =
        r->read->is_reversed ? COMPARABLE_BELOW : COMPARABLE_ABOVE;
    return bound;
}

/* Cuts what has been dealt with from the slice; false: nothing is left. */
static bool slice_cut(struct reading *r)
{
    bool is_reversed = r->read->is_reversed;
    if (!r->behind.size)
        return true;
    struct bytes bound = bound_behind(r, r->behind);
    struct bytes *near = is_reversed ? &r->slice.high : &r->slice.low;
    struct bytes far = is_reversed ? r->slice.low : r->slice.high;
    int c = near->size ? bytes_compare(bound, *near) : 0;
    if (!near->size || (is_reversed ? c < 0 : c > 0))
        *near = bound;
    c = far.size ? bytes_compare(*near, far) : is_reversed ? 1 : -1;
    return is_reversed ? c > 0 : c < 0;
}

/* The next slice that has something left; false: the partition is through. */
static bool slice_next(struct reading *r)
{
    const struct read *read = r->read;
    size_t count = read->slices_count ? read->slices_count : 1;
    for (; r->slices_done < count; r->slices_done++) {
        size_t at = read->is_reversed ? count - 1 - r->slices_done : r->slices_done;
        r->slice = read->slices_count ? read->slices[at] : (struct slice){ 0 };
        if (slice_cut(r))
            return true;
    }
    return false;
}

static enum err slice_enter(struct reading *r)
{
    if (r->at == 0 && !slice_next(r)) {
        if (!reading_give_end(r))
            return OK;
        r->at = 0;
        r->stage = READING_LEAVE;
        return OK;
    }
    return reading_enter(r);
}

/* ---- the run ---- */

static enum err stage_open(struct reading *r)
{
    enum err e = r->view ? reading_open(r) : OK;
    if (e)
        return e;
    r->at = 0;
    r->stage = READING_PARTITION;
    return OK;
}

static enum err stage_static(struct reading *r)
{
    enum err e = reading_statics(r);
    if (e)
        return e;
    r->at = 0;
    r->stage = READING_ENTER;
    return OK;
}

static enum err stage_run(struct reading *r)
{
    switch (r->stage) {
    case READING_OPEN:
        return stage_open(r);
    case READING_PARTITION:
        return partition_begin(r);
    case READING_STATIC:
        return stage_static(r);
    case READING_ENTER:
        return slice_enter(r);
    case READING_ROWS:
    case READING_STEP:
        return reading_rows(r);
    case READING_LEAVE:
        return partition_leave(r);
    }
    return ERR_INVALID;
}

enum err reading_run(struct reading *r)
{
    while (!r->is_over && !r->is_full) {
        enum err e = stage_run(r);
        if (e)
            return e;
    }
    if (r->is_full)
        reading_stop(r);
    return OK;
}
