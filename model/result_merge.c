/* result_merge.c - several answers to one read become one stream of rows.
 *
 *     answer 0   P1: r1 r2 . r4          | ends: all covered
 *     answer 1   P1: r1 . r3 | stopped after r3 = the horizon
 *                    [--2--]
 *     out        P1: r1 [--2--] r3         has_more, last = r3     (r2 is covered by the range)
 *
 * Invariants:
 *   1. What comes out is covered by every answer: nothing behind the nearest `last` of an answer
 *      that has more.  So a row that one replica knows to be deleted is never taken from another.
 *   2. Partition by partition, row by row, in the read's order; the newest deletion of a partition,
 *      and the newest range over a row, shadow the rows of all answers; both are told even if they
 *      leave no row.
 *   3. `last` is never behind something that was held back, and always further than the read's own
 *      `from`: who continues comes to an end and misses nothing.
 *   4. The head of a partition, its deletion and its static row, is told before any place inside of
 *      it counts as covered: every answer that ends there has told it, wherever its rows begin.
 *
 * A partition's ranges are collected from all answers before its first row, in a tree of their own
 * (ranges.h): whoever knows of none pays nothing.  One that begins before the next row is told
 * before that row; when it also ends before it, `last` may stand at its end, since all rows up to
 * there have been told.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/answer.h"
#include "model/ranges.h"

enum stop {
    STOP_NOT,
    STOP_HORIZON, /* the next row is not covered by all */
    STOP_FULL,    /* the next row or head does not fit; it was not given out */
    STOP_ENOUGH,  /* the last row that was asked for has been given out */
};

struct merge {
    const struct read *read;
    struct arena *arena;
    struct read_sink *sink;
    struct read_outcome *out;
    struct answer *answers;
    size_t answers_count, bad;
    struct position horizon; /* not set: all is covered */
    struct answer *first;    /* of those in the partition that is merged now */
    uint64_t members;        /* those in it: a bit each */
    struct deletion deletion;
    struct row *static_row; /* NULL: none; else with what is left of it */
    struct ranges ranges;   /* of the partition; in `slab`, which is made for the first */
    struct slab slab;
    bool has_slab;
    struct ranges_walk walk; /* over them: the next to be told */
    bool is_announced;
    uint64_t bytes;       /* given out so far */
    struct position last; /* behind what was given out; row_key in last_row */
    struct buf last_row;
    const struct table *table;
    enum stop stop;
};
_Static_assert(RESULT_ANSWERS_MAX <= 64, "members has a bit for each");

static enum err merge_open(struct merge *m, const struct bytes *encoded)
{
    m->answers = arena_array(m->arena, struct answer, m->answers_count);
    for (m->bad = 0; m->bad < m->answers_count; m->bad++) {
        struct answer *a = &m->answers[m->bad];
        enum err err = answer_open(a, m->table, m->read, encoded[m->bad], m->arena);
        if (err != OK)
            return err;
        if (a->is_partial && (!m->horizon.is_set ||
                              position_compare(&a->last, &m->horizon, m->read->is_reversed) < 0))
            m->horizon = a->last;
    }
    return OK;
}

/* Visits the members of a set: takes one out; NULL when none is left. */
static struct answer *next_of(const struct merge *m, uint64_t *set)
{
    if (*set == 0)
        return NULL;
    struct answer *a = &m->answers[__builtin_ctzll(*set)];
    *set &= *set - 1;
    return a;
}

static uint64_t bit_of(const struct merge *m, const struct answer *a)
{
    return UINT64_C(1) << (a - m->answers);
}

/* ---- the head of a partition ---- */

/* What all members know of the partition's deletion and of its static row. */
static void merge_head(struct merge *m)
{
    m->deletion = deletion_none();
    m->static_row = NULL;
    uint64_t left = m->members;
    for (struct answer *a; (a = next_of(m, &left)) != NULL;) {
        m->deletion = deletion_newer(m->deletion, a->deletion);
        if (a->has_static && m->static_row)
            m->static_row =
                row_merge(m->arena, m->table, m->static_row, &a->static_row, deletion_none());
        else if (a->has_static)
            m->static_row = &a->static_row;
    }
    if (m->static_row && !row_shadow(m->static_row, m->deletion))
        m->static_row = NULL;
}

static void merge_add_range(struct merge *m, const struct range_tombstone *range)
{
    if (deletion_compare(range->deletion, m->deletion) <= 0)
        return;
    if (!m->has_slab)
        slab_init(&m->slab);
    m->has_slab = true;
    if (!m->ranges.markers.slab)
        ranges_init(&m->ranges, &m->slab);
    ranges_add(&m->ranges, range);
}

/* Collects the ranges of all members, and stands at the first that the read has not passed. */
static enum err merge_ranges(struct merge *m)
{
    enum err err = OK;
    if (m->ranges.markers.slab)
        ranges_deinit(&m->ranges);
    m->ranges = (struct ranges){ 0 };
    m->walk = (struct ranges_walk){ 0 };
    uint64_t left = m->members;
    for (struct answer *a; err == OK && (a = next_of(m, &left)) != NULL;) {
        struct range_tombstone range;
        m->bad = (size_t)(a - m->answers);
        for (bool is_there = true; is_there && err == OK;) {
            err = answer_next_range(a, &range, &is_there);
            if (err == OK && is_there)
                merge_add_range(m, &range);
        }
    }
    const struct position *from = &m->read->from;
    bool is_inside = from->is_set && bytes_equal(from->key, m->first->key);
    if (m->ranges.markers.slab)
        m->walk = ranges_walk_over(&m->ranges, is_inside ? from->row_key : (struct bytes){ 0 },
                                   m->read->is_reversed);
    return err;
}

/* Finds the next partition and who has something of it.  false: there is none. */
static bool merge_next_partition(struct merge *m)
{
    m->first = NULL;
    m->members = 0;
    m->is_announced = false;
    for (struct answer *a = m->answers; a < m->answers + m->answers_count; a++) {
        if (answer_at_end(a))
            continue;
        int c = m->first ? answer_compare_partition(a, m->first) : -1;
        if (c < 0)
            m->first = a, m->members = 0;
        if (c <= 0)
            m->members |= bit_of(m, a);
    }
    return m->first != NULL;
}

/* ---- limits ---- */

/* Is this row or bound of the partition behind the horizon?  Empty: the partition's head, which
 * stands before all rows, so that only the partition counts. */
static bool is_beyond(const struct merge *m, struct bytes row_key)
{
    struct position at = { true, m->first->token, m->first->key, row_key };
    if (row_key.size == 0)
        at.row_key = m->horizon.row_key;
    return m->horizon.is_set && position_compare(&at, &m->horizon, m->read->is_reversed) > 0;
}

/* Room for so many bytes more?  The first thing always has room, and so has the first row. */
static bool merge_fits(struct merge *m, size_t bytes, bool is_row)
{
    bool is_first = m->bytes == 0 || (is_row && m->out->rows_count + m->out->dead_count == 0);
    if (!is_first && m->bytes + bytes > m->read->bytes_limit) {
        m->stop = STOP_FULL;
        return false;
    }
    m->bytes += bytes;
    return true;
}

static size_t head_bytes(const struct merge *m)
{
    if (m->is_announced)
        return 0;
    return answer_partition_bytes(m->first->key, m->deletion) +
           (m->static_row ? row_encoded_bytes(m->static_row) : 0);
}

static void announce(struct merge *m)
{
    if (m->is_announced)
        return;
    m->is_announced = true;
    m->sink->partition(m->sink, m->first->key, m->first->token, m->deletion);
    if (m->static_row)
        m->sink->row(m->sink, m->static_row, row_is_live(m->static_row, m->read->now_seconds));
}

/* A head that says something must be told once the partition is covered, with or without rows. */
static void merge_announce_head(struct merge *m)
{
    bool says_something = !deletion_is_none(m->deletion) || m->static_row;
    if (!m->is_announced && says_something && merge_fits(m, head_bytes(m), false))
        announce(m);
}

/* ---- rows and ranges ---- */

/* All up to this row or bound has been given out. */
static void merge_passed(struct merge *m, struct bytes row_key)
{
    buf_clear(&m->last_row);
    buf_put_bytes(&m->last_row, row_key);
    m->last = (struct position){ true, m->first->token, m->first->key, buf_bytes(&m->last_row) };
}

/* Nothing is left of a row.  What took it may have been the partition's deletion: who only hears
 * that this place is covered must hear of that too. */
static void merge_skip(struct merge *m, struct bytes row_key)
{
    merge_announce_head(m);
    if (m->stop == STOP_NOT)
        merge_passed(m, row_key);
}

static void merge_emit(struct merge *m, const struct row *row)
{
    if (!merge_fits(m, head_bytes(m) + row_encoded_bytes(row), true))
        return;
    bool is_live = row_is_live(row, m->read->now_seconds);
    announce(m);
    m->sink->row(m->sink, row, is_live);
    merge_passed(m, row->key);
    m->out->rows_count += is_live;
    m->out->dead_count += !is_live;
    if (m->out->rows_count == m->read->rows_limit)
        m->stop = STOP_ENOUGH;
}

static bool is_before(const struct merge *m, struct bytes a, struct bytes b)
{
    int c = bytes_compare(a, b);
    return m->read->is_reversed ? c > 0 : c < 0;
}

static void merge_emit_range(struct merge *m, const struct range_tombstone *range,
                             struct bytes next_row)
{
    struct bytes end = m->read->is_reversed ? range->low : range->high;
    if (!merge_fits(m, head_bytes(m) + answer_range_bytes(range), false))
        return;
    announce(m);
    m->sink->range(m->sink, range);
    ranges_walk_next_range(&m->walk);
    if (!next_row.size || is_before(m, end, next_row))
        merge_passed(m, end);
}

/* Tells the ranges that begin before the next row (empty: all), as far as they are covered. */
static void merge_emit_ranges(struct merge *m, struct bytes next_row)
{
    struct range_tombstone range;
    while (m->stop == STOP_NOT && ranges_walk_range(&m->walk, &range)) {
        struct bytes begin = m->read->is_reversed ? range.high : range.low;
        if ((next_row.size && !is_before(m, begin, next_row)) || is_beyond(m, begin))
            return;
        merge_emit_range(m, &range, next_row);
    }
}

/* The first row of the members', in the read's order; NULL when none has one. */
static struct answer *merge_first_row(struct merge *m)
{
    struct answer *first = NULL;
    uint64_t left = m->members;
    for (struct answer *a; (a = next_of(m, &left)) != NULL;) {
        if (!a->has_row)
            continue;
        int c = first ? bytes_compare(a->row.key, first->row.key) : -1;
        if (!first || (m->read->is_reversed ? c > 0 : c < 0))
            first = a;
    }
    return first;
}

/* Lets all of a set step, by the given function. */
static enum err merge_step(struct merge *m, uint64_t set, enum err (*step)(struct answer *))
{
    for (struct answer *a; (a = next_of(m, &set)) != NULL;) {
        enum err err = step(a);
        m->bad = (size_t)(a - m->answers);
        if (err != OK)
            return err;
    }
    return OK;
}

/* Reconciles the rows that stand at the first one's key, gives the result out, steps over them. */
static enum err merge_row(struct merge *m, const struct answer *first)
{
    struct row *row = NULL;
    uint64_t left = m->members, same = 0;
    for (struct answer *a; (a = next_of(m, &left)) != NULL;) {
        if (!a->has_row || !bytes_equal(a->row.key, first->row.key))
            continue;
        same |= bit_of(m, a);
        row = row ? row_merge(m->arena, m->table, row, &a->row, m->deletion) : &a->row;
    }
    ensure(row != NULL);
    struct deletion shadow = m->deletion;
    if (m->ranges.markers.slab)
        shadow = deletion_newer(shadow, ranges_covering(&m->ranges, row->key));
    if (row_shadow(row, shadow))
        merge_emit(m, row);
    else
        merge_skip(m, row->key);
    return merge_step(m, same, answer_next_row);
}

/* All rows of the partition are through: remember that, and step on. */
static enum err merge_leave(struct merge *m)
{
    if (m->is_announced)
        m->last = (struct position){ true, m->first->token, m->first->key, { 0 } };
    return merge_step(m, m->members, answer_next_partition);
}

/* The next row that is covered by all; NULL: there is none, or it is behind the horizon. */
static struct answer *merge_covered_row(struct merge *m)
{
    struct answer *first = merge_first_row(m);
    return first && !is_beyond(m, first->row.key) ? first : NULL;
}

static enum err merge_partition(struct merge *m)
{
    if (is_beyond(m, (struct bytes){ 0 })) {
        m->stop = STOP_HORIZON;
        return OK;
    }
    merge_head(m);
    enum err err = merge_ranges(m);
    struct answer *first;
    while (err == OK && m->stop == STOP_NOT && (first = merge_covered_row(m)) != NULL) {
        merge_emit_ranges(m, first->row.key);
        if (m->stop == STOP_NOT)
            err = merge_row(m, first);
    }
    if (err != OK || m->stop != STOP_NOT)
        return err;
    merge_emit_ranges(m, (struct bytes){ 0 });
    if (m->stop == STOP_NOT)
        merge_announce_head(m);
    if (m->stop != STOP_NOT)
        return OK;
    if (merge_first_row(m))
        m->stop = STOP_HORIZON;
    return m->stop == STOP_NOT ? merge_leave(m) : OK;
}

/* Is anything left that was not given out? */
static bool merge_has_rest(const struct merge *m)
{
    struct range_tombstone range;
    if (m->horizon.is_set || ranges_walk_range(&m->walk, &range))
        return true;
    for (const struct answer *a = m->answers; a < m->answers + m->answers_count; a++) {
        bool is_further = !(m->members & bit_of(m, a));
        if (!answer_at_end(a) && (is_further || a->has_row || cursor_left(&a->body)))
            return true;
    }
    return false;
}

static void merge_finish(struct merge *m)
{
    bool is_cut = m->stop == STOP_FULL || m->stop == STOP_ENOUGH;
    m->out->has_more = is_cut ? m->stop == STOP_FULL || merge_has_rest(m) : m->horizon.is_set;
    if (!m->out->has_more)
        return;
    const struct position *last = is_cut ? &m->last : &m->horizon;
    ensure(last->is_set);
    m->out->last = *last;
    m->out->last.key = arena_copy(m->arena, last->key);
    m->out->last.row_key = arena_copy(m->arena, last->row_key);
}

enum err result_merge(const struct table *table, const struct read *read,
                      struct result_answers *answers, struct arena *arena, struct read_sink *sink,
                      struct read_outcome *out)
{
    struct merge m = { .table = table, .read = read, .arena = arena, .sink = sink, .out = out };
    ensure(answers->count <= RESULT_ANSWERS_MAX);
    m.answers_count = answers->count;
    m.last_row = buf_in(arena);
    *out = (struct read_outcome){ 0 };
    enum err err = merge_open(&m, answers->answers);
    while (err == OK && m.stop == STOP_NOT && merge_next_partition(&m))
        err = merge_partition(&m);
    answers->bad = m.bad;
    if (err == OK)
        merge_finish(&m);
    if (m.has_slab)
        slab_deinit(&m.slab);
    return err;
}
