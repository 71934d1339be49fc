/* difference.c - two answers side by side: partition by partition, row by row, cell by cell.
 *
 *     partition ──> head (deletion, static row) ──> rows in step ──> ranges ──> give
 *
 * What the one will have once it has been repaired decides what it still lacks: a deletion of the
 * partition, or a range, that is told anyway covers rows of the one's, and these need no word of
 * their own.
 *
 * Invariants
 *   1. Rows whose content is the same are not told, whatever they were made of.
 *   2. What the merged answer does not cover is not looked at.
 *   3. A row that only the one has was taken by a deletion; one that is old (see difference.h) is
 *      told as the row's own.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/difference.h"

#include "model/answer.h"
#include "model/comparable.h"
#include "model/purge.h"
#include "model/ranges.h"

struct side {
    struct answer answer;
    struct ranges ranges; /* of the partition */
};
struct difference {
    const struct difference_args *args;
    struct purge purge;
    struct side merged, one;
    bool is_in_both;           /* the one stands in the merged answer's partition */
    struct deletion one_after; /* the one's deletion of the partition, once repaired */
    struct slab slab;
    struct mutation out;
    size_t rows_room, ranges_room, bytes;
    struct buf a, b; /* of contents that are compared */
};

static struct arena *arena_of(const struct difference *d) { return d->args->arena; }

/* ---- giving ---- */

static void give(struct difference *d)
{
    struct mutation *m = &d->out;
    if (mutation_has_anything(m)) {
        m->table = d->args->table->id;
        m->epoch = d->args->epoch;
        m->key = d->merged.answer.key;
        m->token = d->merged.answer.token;
        d->args->give(d->args->context, m);
    }
    m->deletion = deletion_none();
    m->rows_count = m->ranges_count = d->bytes = 0;
}

static void *with_room(struct difference *d, void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    *room = *room ? 2 * *room : 16;
    void *more = arena_alloc(arena_of(d), *room * size);
    if (count)
        memcpy(more, items, count * size);
    return more;
}

static void give_row(struct difference *d, const struct row *row)
{
    struct mutation *m = &d->out;
    m->rows = with_room(d, m->rows, m->rows_count, &d->rows_room, sizeof *m->rows);
    m->rows[m->rows_count++] = *row;
    d->bytes += row_encoded_bytes(row);
    if (d->bytes > DIFFERENCE_BYTES)
        give(d);
}

static enum err give_range(struct difference *d, struct bytes low, struct bytes high,
                           struct deletion deletion)
{
    struct mutation *m = &d->out;
    struct buf low_values = buf_in(arena_of(d)), high_values = buf_in(arena_of(d));
    if (comparable_values(d->args->table, low, &low_values) != OK ||
        comparable_values(d->args->table, high, &high_values) != OK)
        return ERR_CORRUPT;
    m->ranges = with_room(d, m->ranges, m->ranges_count, &d->ranges_room, sizeof *m->ranges);
    m->ranges[m->ranges_count++] = (struct range_tombstone){ low, high, buf_bytes(&low_values),
                                                             buf_bytes(&high_values), deletion };
    d->bytes += low.size + high.size;
    if (d->bytes > DIFFERENCE_BYTES)
        give(d);
    return OK;
}

/* ---- what counts ---- */

static bool is_kept(struct difference *d, struct deletion deletion)
{
    return !purge_deletion(&d->purge, deletion);
}

/* The content of what is left of a row under a shadow (NULL: no row), as bytes. */
static struct bytes row_content(struct difference *d, const struct row *from,
                                struct deletion shadow, struct buf *out)
{
    uint64_t purged = 0;
    buf_clear(out);
    if (!from)
        return buf_bytes(out);
    struct row row = *from;
    row.cells = arena_alloc(arena_of(d), row.cells_count * sizeof *row.cells);
    if (row.cells_count)
        memcpy(row.cells, from->cells, row.cells_count * sizeof *row.cells);
    row.clustering = (struct bytes){ 0 }; /* 1.0 and 1.00 are one row */
    if (row_shadow(&row, shadow) && purge_row(&d->purge, &row, &purged))
        row_encode(&row, out);
    return buf_bytes(out);
}

static bool cell_equal(const struct cell *a, const struct cell *b)
{
    return a->timestamp == b->timestamp && a->kind == b->kind && a->ttl == b->ttl &&
           a->seconds == b->seconds && bytes_equal(a->value, b->value);
}

/* A cell as it counts; false: it does not. */
static bool cell_content(struct difference *d, const struct cell *from, struct cell *out)
{
    uint64_t purged = 0;
    struct row row = { .liveness = { .timestamp = TIMESTAMP_NONE },
                       .deletion = deletion_none(),
                       .cells_count = from != NULL,
                       .cells = out };
    if (from)
        *out = *from;
    return purge_row(&d->purge, &row, &purged);
}

/* ---- rows ---- */

/* Does the one lack the cell, having this one (NULL: none) in its place? */
static bool cell_is_lacking(struct difference *d, const struct cell *cell, const struct cell *own,
                            const struct row *one)
{
    struct cell a, b;
    size_t count;
    if (own && cell_equal(cell, own))
        return false;
    if (cell->kind == CELL_COLUMN_DELETED && row_cells(one, cell->column, &count))
        return true; /* it takes what is there, even if it is old */
    bool counts = cell_content(d, cell, &a), own_counts = cell_content(d, own, &b);
    return counts != own_counts || (counts && !cell_equal(&a, &b));
}

/* The cells of `row` that the one lacks. */
static void lacking_cells(struct difference *d, const struct row *row, const struct row *one,
                          struct row *out)
{
    const struct cell *own = one->cells, *end = row_cells_end(one);
    out->cells = arena_alloc(arena_of(d), row->cells_count * sizeof *out->cells);
    for (size_t i = 0; i < row->cells_count; i++) {
        const struct cell *cell = &row->cells[i];
        int c = -1;
        while (own < end && (c = row_cell_order(d->args->table, own, cell)) < 0)
            own++;
        if (cell_is_lacking(d, cell, own < end && c == 0 ? own : NULL, one))
            out->cells[out->cells_count++] = *cell;
    }
}

static bool liveness_counts(const struct difference *d, struct liveness l)
{
    return l.timestamp != TIMESTAMP_NONE &&
           (liveness_is_live(l, d->purge.now_seconds) || (int64_t)l.expires >= d->purge.gc_before);
}

static bool liveness_is_lacking(const struct difference *d, struct liveness l, struct liveness own)
{
    bool is_same = l.timestamp == own.timestamp && l.ttl == own.ttl && l.expires == own.expires;
    return l.timestamp != TIMESTAMP_NONE && !is_same &&
           (liveness_counts(d, l) || liveness_counts(d, own));
}

/* What `row` says that the one's does not say. */
static void lacking_parts(struct difference *d, const struct row *row, const struct row *one,
                          struct row *out)
{
    if (deletion_compare(row->deletion, one->deletion) > 0 &&
        (is_kept(d, row->deletion) || row_has_anything(one)))
        out->deletion = row->deletion;
    if (liveness_is_lacking(d, row->liveness, one->liveness))
        out->liveness = row->liveness;
    lacking_cells(d, row, one, out);
}

/* Would the deletion take anything of the row? */
static bool takes_something(struct difference *d, const struct row *one, struct deletion shadow,
                            struct deletion has)
{
    if (deletion_compare(shadow, has) <= 0)
        return false;
    struct bytes before = row_content(d, one, has, &d->a);
    struct bytes after = row_content(d, one, shadow, &d->b);
    return !bytes_equal(before, after);
}

/* `row` or `one` may be NULL; what covers that place in the merged answer, and in the one once its
 * deletions have been repaired. */
static void compare_rows(struct difference *d, const struct row *row, const struct row *one,
                         struct deletion shadow, struct deletion one_shadow)
{
    struct bytes content = row_content(d, row, deletion_none(), &d->a);
    if (bytes_equal(content, row_content(d, one, one_shadow, &d->b)))
        return;
    const struct row *from = row ? row : one;
    struct row none = { .liveness = { .timestamp = TIMESTAMP_NONE }, .deletion = deletion_none() };
    struct row out = none, left = none;
    out.key = arena_copy(arena_of(d), from->key);
    out.clustering = from->clustering;
    if (one) {
        left = *one;
        left.cells = arena_alloc(arena_of(d), one->cells_count * sizeof *left.cells);
        if (one->cells_count)
            memcpy(left.cells, one->cells, one->cells_count * sizeof *left.cells);
        row_shadow(&left, one_shadow);
    }
    if (row)
        lacking_parts(d, row, &left, &out);
    if (one && takes_something(d, one, shadow, one_shadow))
        out.deletion = deletion_newer(out.deletion, shadow);
    if (row_has_anything(&out))
        give_row(d, &out);
}

/* ---- ranges ---- */

static enum err take_ranges(struct difference *d, struct side *side)
{
    struct range_tombstone range;
    enum err err = OK;
    ranges_init(&side->ranges, &d->slab);
    for (bool is_there = true; is_there && err == OK;) {
        err = answer_next_range(&side->answer, &range, &is_there);
        if (err == OK && is_there)
            ranges_add(&side->ranges, &range);
    }
    return err;
}

/* The bound behind a row's key, or the bound itself. */
static struct bytes bound_behind(const struct difference *d, struct bytes key)
{
    struct bytes bound = arena_copy(arena_of(d), key);
    uint8_t *last = (uint8_t *)bound.data + bound.size - 1;
    if (*last == COMPARABLE_ROW)
        *last = d->args->read->is_reversed ? COMPARABLE_BELOW : COMPARABLE_ABOVE;
    return bound;
}

/* Cuts off what lies behind the end of the merged answer; false: nothing is left. */
static bool cut_to_answer(const struct difference *d, struct range_tombstone *range)
{
    const struct answer *m = &d->merged.answer;
    if (!m->is_partial || !m->last.row_key.size || !bytes_equal(m->last.key, m->key))
        return true;
    struct bytes end = bound_behind(d, m->last.row_key);
    if (d->args->read->is_reversed)
        range->low = bytes_compare(range->low, end) < 0 ? end : range->low;
    else
        range->high = bytes_compare(range->high, end) > 0 ? end : range->high;
    return bytes_compare(range->low, range->high) < 0;
}

/* Is a range told to the one, at a place where that has this one (or none)?  An old one only to
 * take one that is not. */
static bool range_is_told(struct difference *d, struct deletion range, struct deletion own)
{
    bool own_counts = deletion_compare(own, d->one_after) > 0 && is_kept(d, own);
    return deletion_compare(range, deletion_newer(own, d->one_after)) > 0 &&
           (is_kept(d, range) || own_counts);
}

/* The pieces of a range where the one has nothing as new. */
static enum err compare_range(struct difference *d, const struct range_tombstone *range)
{
    struct bytes from = { 0 }, at = range->low;
    struct ranges_walk walk = ranges_walk_from(&d->one.ranges, range->low, false);
    enum err err = OK;
    while (err == OK && bytes_compare(at, range->high) < 0) {
        const struct marker *marker = ranges_walk_marker(&walk);
        struct deletion own = ranges_covering(&d->one.ranges, at);
        bool is_lacking = range_is_told(d, range->deletion, own);
        if (is_lacking && !from.size)
            from = at;
        if (!is_lacking && from.size) {
            err = give_range(d, from, at, range->deletion);
            from = (struct bytes){ 0 };
        }
        if (marker && bytes_compare(marker->key, at) <= 0) {
            ranges_walk_next(&walk);
            marker = ranges_walk_marker(&walk);
        }
        bool is_inside = marker && bytes_compare(marker->key, range->high) < 0;
        at = is_inside ? marker->key : range->high;
    }
    return err == OK && from.size ? give_range(d, from, range->high, range->deletion) : err;
}

static enum err compare_ranges(struct difference *d)
{
    struct ranges_walk walk = ranges_walk_over(&d->merged.ranges, (struct bytes){ 0 }, false);
    struct range_tombstone range;
    enum err err = OK;
    for (; err == OK && ranges_walk_range(&walk, &range); ranges_walk_next_range(&walk))
        if (cut_to_answer(d, &range))
            err = compare_range(d, &range);
    return err;
}

/* ---- partitions ---- */

static struct deletion shadow_of_merged(const struct difference *d, struct bytes key)
{
    return deletion_newer(d->merged.answer.deletion, ranges_covering(&d->merged.ranges, key));
}

static struct deletion shadow_of_one(struct difference *d, struct bytes key)
{
    struct deletion own = ranges_covering(&d->one.ranges, key);
    struct deletion told = ranges_covering(&d->merged.ranges, key);
    return range_is_told(d, told, own) ? told : deletion_newer(own, d->one_after);
}

/* Has the one a range that counts, and that the deletion takes? */
static bool has_range_under(struct difference *d, struct deletion deletion)
{
    struct ranges_walk walk = ranges_walk_over(&d->one.ranges, (struct bytes){ 0 }, false);
    struct range_tombstone range;
    for (; ranges_walk_range(&walk, &range); ranges_walk_next_range(&walk))
        if (is_kept(d, range.deletion) && deletion_compare(range.deletion, d->one_after) > 0 &&
            deletion_compare(range.deletion, deletion) <= 0 && cut_to_answer(d, &range))
            return true;
    return false;
}

/* Is the partition's deletion told to the one?  An old one only to take what rows' cannot take. */
static bool partition_is_told(struct difference *d, struct deletion deletion, struct deletion own)
{
    const struct answer *one = &d->one.answer;
    if (deletion_compare(deletion, own) <= 0 || is_kept(d, deletion))
        return deletion_compare(deletion, own) > 0;
    return d->is_in_both &&
           (is_kept(d, own) || has_range_under(d, deletion) ||
            (one->has_static && takes_something(d, &one->static_row, deletion, own)));
}

static void compare_heads(struct difference *d)
{
    const struct answer *m = &d->merged.answer, *one = &d->one.answer;
    d->one_after = d->is_in_both ? one->deletion : deletion_none();
    if (partition_is_told(d, m->deletion, d->one_after))
        d->one_after = d->out.deletion = m->deletion;
    bool has_own = d->is_in_both && one->has_static;
    compare_rows(d, m->has_static ? &m->static_row : NULL, has_own ? &one->static_row : NULL,
                 m->deletion, d->one_after);
}

/* Is this row of the merged answer's partition behind what that covers?  Empty: all of them are,
 * though the partition's head may have been told. */
static bool is_beyond(const struct difference *d, struct bytes row_key)
{
    const struct answer *m = &d->merged.answer;
    if (m->is_partial && !row_key.size)
        row_key = bytes_equal(m->last.key, m->key) ? m->last.row_key : row_key;
    struct position at = { true, m->token, m->key, row_key };
    return m->is_partial && position_compare(&at, &m->last, d->args->read->is_reversed) > 0;
}

/* Whose row is next: the merged answer's (negative), the one's (positive), both (0). */
static int next_row(const struct difference *d)
{
    const struct answer *m = &d->merged.answer, *one = &d->one.answer;
    bool has_one = d->is_in_both && one->has_row;
    if (!m->has_row || !has_one)
        return m->has_row ? -1 : 1;
    int c = bytes_compare(m->row.key, one->row.key);
    return d->args->read->is_reversed ? -c : c;
}

static enum err compare_partition_rows(struct difference *d)
{
    struct answer *m = &d->merged.answer, *one = &d->one.answer;
    enum err err = OK;
    while (err == OK && (m->has_row || (d->is_in_both && one->has_row))) {
        int c = next_row(d);
        const struct row *next = c <= 0 ? &m->row : &one->row;
        if (c > 0 && is_beyond(d, next->key))
            break;
        compare_rows(d, c <= 0 ? next : NULL, c >= 0 ? &one->row : NULL,
                     shadow_of_merged(d, next->key), shadow_of_one(d, next->key));
        err = c <= 0 ? answer_next_row(m) : OK;
        if (c >= 0 && err == OK)
            err = answer_next_row(one);
    }
    return err;
}

/* Takes the rest of its rows, so that it can go on. */
static enum err leave(struct side *side)
{
    enum err err = OK;
    while (err == OK && side->answer.has_row)
        err = answer_next_row(&side->answer);
    return err == OK ? answer_next_partition(&side->answer) : err;
}

/* Lets the one come to the merged answer's partition, if it has it. */
static enum err meet(struct difference *d)
{
    enum err err = OK;
    int c = -1;
    while (err == OK && !answer_at_end(&d->one.answer) &&
           (c = answer_compare_partition(&d->one.answer, &d->merged.answer)) < 0)
        err = leave(&d->one);
    d->is_in_both = err == OK && !answer_at_end(&d->one.answer) && c == 0;
    return err;
}

static enum err compare_partition(struct difference *d)
{
    enum err err = meet(d);
    if (err == OK)
        err = take_ranges(d, &d->merged);
    ranges_init(&d->one.ranges, &d->slab);
    if (err == OK && d->is_in_both)
        err = take_ranges(d, &d->one);
    if (err == OK) {
        compare_heads(d);
        err = compare_partition_rows(d);
    }
    if (err == OK)
        err = compare_ranges(d);
    if (err == OK)
        give(d);
    ranges_deinit(&d->merged.ranges);
    ranges_deinit(&d->one.ranges);
    return err;
}

enum err difference_of(const struct difference_args *args, struct bytes merged, struct bytes one)
{
    struct difference d = { .args = args,
                            .purge = { .is_on = true,
                                       .is_known = true,
                                       .now_seconds = args->read->now_seconds,
                                       .gc_before = args->gc_before,
                                       .timestamp_min = INT64_MAX },
                            .out = { .deletion = deletion_none() },
                            .a = buf_in(args->arena),
                            .b = buf_in(args->arena) };
    ensure(args->read->columns_count == 0);
    slab_init(&d.slab);
    enum err err = answer_open(&d.merged.answer, args->table, args->read, merged, args->arena);
    if (err == OK)
        err = answer_open(&d.one.answer, args->table, args->read, one, args->arena);
    while (err == OK && !answer_at_end(&d.merged.answer) && !is_beyond(&d, (struct bytes){ 0 })) {
        err = compare_partition(&d);
        if (err == OK)
            err = leave(&d.merged);
    }
    slab_deinit(&d.slab);
    return err;
}
