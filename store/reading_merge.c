/* reading_merge.c - many sources, one stream of rows (heads.h says how heads become one).
 *
 *     source 0   r1      r3 |m          heads are compared by key; those that are equal are merged;
 *     source 1   r1  r2     |    m      what is covered by the newest open deletion goes
 *     out        r1  r2  r3 [....]
 *
 * Each source says what is open before its head; the newest of these covers the place that the
 * merge has come to.  Where that changes, the piece behind is told to the sink as a range; and
 * before a row is given, the piece up to it, so that a range comes before the rows that it may
 * cover.
 */
// SPDX-License-Identifier: Apache-2.0
#include "store/reading.h"

enum { SLICE_CHECK = 32, ROW_PRICE_NS = 100 };
static const uint8_t below_all[] = { COMPARABLE_BELOW }, above_all[] = { COMPARABLE_ABOVE };

/* ---- static rows ---- */

static struct bytes lasting(struct arena *arena, struct bytes lent)
{
    return lent.size ? arena_copy(arena, lent) : lent;
}

/* What its sources lend goes when they move on; the static row is needed as long as the partition.
 */
static struct row *static_keep(struct reading *r, struct row *row)
{
    row->key = lasting(&r->statics, row->key);
    for (size_t i = 0; i < row->cells_count; i++) {
        row->cells[i].path = lasting(&r->statics, row->cells[i].path);
        row->cells[i].value = lasting(&r->statics, row->cells[i].value);
    }
    return row;
}

enum err reading_statics(struct reading *r)
{
    arena_reset(&r->statics);
    r->static_row = NULL;
    for (size_t i = 0; i < r->sources_count; i++) {
        struct source *s = &r->sources[i];
        struct unfiltered u;
        if (!s->is_member)
            continue;
        enum err e = source_static(s, &r->fetch, &u);
        if (e)
            return e;
        if (u.kind == UNFILTERED_END)
            continue;
        struct row none = { .key = u.row.key,
                            .liveness = { .timestamp = TIMESTAMP_NONE },
                            .deletion = deletion_none() };
        r->static_row = row_merge(&r->statics, r->table, r->static_row ? r->static_row : &none,
                                  &u.row, r->deletion);
        r->static_row = static_keep(r, r->static_row);
    }
    if (r->static_row && !row_has_anything(r->static_row))
        r->static_row = NULL;
    return OK;
}

/* ---- what is open ---- */

static struct deletion newest_open(const struct reading *r)
{
    struct deletion open = heads_open(&r->heads);
    /* what the partition's deletion says as well need not be said */
    return deletion_compare(open, r->deletion) <= 0 ? deletion_none() : open;
}

static void open_begin(struct reading *r, struct bytes at)
{
    buf_clear(&r->open_from);
    buf_put_bytes(&r->open_from, at);
}

/* Tells the piece of the open range up to `at` and begins the next one there. */
static bool open_tell(struct reading *r, struct bytes at)
{
    struct bytes from = buf_bytes(&r->open_from);
    if (deletion_is_none(r->open) || bytes_equal(from, at))
        return true;
    bool is_told =
        r->read->is_reversed ? reading_give_range(r, at, from) : reading_give_range(r, from, at);
    if (is_told)
        open_begin(r, at);
    return is_told;
}

/* The bound beside a row's key on the side from which the read comes (far: on the other). */
static struct bytes beside(struct reading *r, struct bytes row_key, bool is_far)
{
    uint8_t *bound = arena_alloc(&r->scratch, row_key.size);
    memcpy(bound, row_key.data, row_key.size);
    bool is_above = r->read->is_reversed ? !is_far : is_far;
    bound[row_key.size - 1] = is_above ? COMPARABLE_ABOVE : COMPARABLE_BELOW;
    return bytes_of(bound, row_key.size);
}

/* ---- rows ---- */

/* Everything up to this key has been dealt with.  Not before the partition's head has been told:
 * whoever merges takes nothing of others there but what the head leaves. */
static void pass(struct reading *r, struct bytes key)
{
    r->has_dealt = true;
    if (!reading_owes_head(r))
        reading_passed(r, key);
}

/* Gives the row, if anything is left of it.  False: a limit forbids it. */
static bool rows_give(struct reading *r, size_t first, size_t members)
{
    struct bytes key = r->heads.members[first]->head->row.key;
    struct deletion shadow = deletion_newer(r->deletion, r->open);
    const struct row *row = heads_row(&r->heads, first, members, r->table, shadow, &r->scratch);
    bool is_open = !deletion_is_none(r->open);
    if (!row && is_open) /* it is not passed before the range over it is told */
        return true;
    if (row && is_open && !open_tell(r, beside(r, key, true)))
        return false;
    if (row && !reading_give(r, row))
        return false;
    pass(r, key);
    return true;
}

/* Markers with this key: what is open changes.  False: a limit forbids to tell what was. */
static bool markers_take(struct reading *r, struct bytes key)
{
    struct deletion before = r->open;
    if (!open_tell(r, key))
        return false;
    heads_pass_markers(&r->heads, key);
    r->open = newest_open(r);
    if (deletion_compare(before, r->open) != 0)
        open_begin(r, key);
    pass(r, key);
    return true;
}

/* The read ends early, before this key: what is open is told up to there. */
static void pause_before(struct reading *r, struct bytes key, bool is_row)
{
    struct bytes bound = is_row ? beside(r, key, false) : key;
    if (open_tell(r, bound) && reading_give_head(r))
        reading_passed(r, bound);
    r->is_full = true;
}

/* Those that stood at the key go on. */
static enum err step(struct reading *r)
{
    for (; r->at < r->sources_count; r->at++) {
        struct source *s = &r->sources[r->at];
        if (!s->is_member || !s->is_taken)
            continue;
        enum err e = source_next(s, &r->fetch);
        if (e)
            return e;
        s->is_taken = false;
    }
    r->stage = READING_ROWS;
    return OK;
}

static void take(struct reading *r, struct bytes key)
{
    for (size_t i = 0; i < r->sources_count; i++)
        r->sources[i].is_taken = source_has_head(&r->sources[i], key);
    r->at = 0;
    r->stage = READING_STEP;
}

static struct bytes far_edge(const struct reading *r)
{
    if (r->read->is_reversed)
        return r->slice.low.size ? r->slice.low : bytes_of(below_all, 1);
    return r->slice.high.size ? r->slice.high : bytes_of(above_all, 1);
}

static struct bytes near_edge(const struct reading *r)
{
    if (r->read->is_reversed)
        return r->slice.high.size ? r->slice.high : bytes_of(above_all, 1);
    return r->slice.low.size ? r->slice.low : bytes_of(below_all, 1);
}

void reading_begin_slice(struct reading *r)
{
    r->open = newest_open(r);
    open_begin(r, near_edge(r));
}

/* Should others run?  Looked at now and then only. */
static bool is_late(const struct reading *r)
{
    return r->slice_ns && r->visits % SLICE_CHECK == 0 && io_spent(r->store->io) > r->slice_ns;
}

enum err reading_rows(struct reading *r)
{
    for (;;) {
        enum err e = r->stage == READING_STEP ? step(r) : OK;
        if (e)
            return e;
        if (is_late(r)) {
            r->visits++;
            return ERR_WOULD_WAIT;
        }
        size_t first = 0, members;
        arena_reset(&r->scratch);
        struct bytes key = heads_nearest(&r->heads, &first, &members);
        if (!key.size)
            break;
        bool is_row = r->heads.members[first]->head->kind == UNFILTERED_ROW;
        r->visits++;
        if (reading_has_toiled(r)) {
            pause_before(r, key, is_row);
            return OK;
        }
        if (is_row ? !rows_give(r, first, members) : !markers_take(r, key))
            return OK;
        if (!is_row)
            r->cost.tombstones++;
        io_charge(r->store->io, ROW_PRICE_NS);
        take(r, key);
    }
    if (!open_tell(r, far_edge(r)))
        return OK;
    pass(r, far_edge(r));
    r->stage = READING_ENTER;
    r->slices_done++;
    r->at = 0;
    return OK;
}
