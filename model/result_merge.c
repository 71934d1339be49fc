/* result_merge.c - several answers to one read become one stream of rows.
 *
 *     answer 0   P1: r1 r2 . r4          | ends: all covered
 *     answer 1   P1: r1 . r3 | stopped after r3 = the horizon
 *     out        P1: r1 r2 r3              has_more, last = r3
 *
 * Invariants:
 *   1. What comes out is covered by every answer: nothing behind the nearest `last` of an answer
 *      that has more.  So a row that one replica knows to be deleted is never taken from another.
 *   2. Partition by partition, row by row, in the read's order; the newest deletion of a partition
 *      shadows the rows of all answers, and is announced even if it leaves none.
 *   3. `last` is never behind something that was held back, and always further than the read's own
 *      `from`: who continues comes to an end and misses nothing.
 */
// SPDX-License-Identifier: Apache-2.0
#include "model/answer.h"

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
    bool is_announced;
    uint64_t bytes;       /* given out so far */
    struct position last; /* behind what was given out; row_key in last_row */
    struct buf last_row;
    enum stop stop;
};
_Static_assert(RESULT_ANSWERS_MAX <= 64, "members has a bit for each");

static enum err merge_open(struct merge *m, const struct table *table, const struct bytes *encoded)
{
    m->answers = arena_array(m->arena, struct answer, m->answers_count);
    for (m->bad = 0; m->bad < m->answers_count; m->bad++) {
        struct answer *a = &m->answers[m->bad];
        enum err err = answer_open(a, table, m->read, encoded[m->bad], m->arena);
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

/* Finds the next partition and who has something of it.  false: there is none. */
static bool merge_next_partition(struct merge *m)
{
    m->first = NULL;
    m->members = 0;
    m->is_announced = false;
    m->deletion = deletion_none();
    for (struct answer *a = m->answers; a < m->answers + m->answers_count; a++) {
        if (answer_at_end(a))
            continue;
        int c = m->first ? answer_compare_partition(a, m->first) : -1;
        if (c < 0)
            m->first = a, m->members = 0;
        if (c <= 0)
            m->members |= bit_of(m, a);
    }
    uint64_t left = m->members;
    for (struct answer *a; (a = next_of(m, &left)) != NULL;)
        m->deletion = deletion_newer(m->deletion, a->deletion);
    return m->first != NULL;
}

/* Is this row of the partition behind the horizon?  row_key empty: the partition's head, which
 * stands before all rows, so that only the partition counts. */
static bool is_beyond(const struct merge *m, struct bytes row_key)
{
    struct position at = { true, m->first->token, m->first->key, row_key };
    if (row_key.size == 0)
        at.row_key = m->horizon.row_key;
    return m->horizon.is_set && position_compare(&at, &m->horizon, m->read->is_reversed) > 0;
}

/* Room for so many bytes more?  The first thing always has room. */
static bool merge_fits(struct merge *m, size_t bytes)
{
    if (m->bytes && m->bytes + bytes > m->read->bytes_limit) {
        m->stop = STOP_FULL;
        return false;
    }
    m->bytes += bytes;
    return true;
}

static size_t head_bytes(const struct merge *m)
{
    return m->is_announced ? 0 : answer_partition_bytes(m->first->key, m->deletion);
}

static void announce(struct merge *m)
{
    if (!m->is_announced)
        m->sink->partition(m->sink, m->first->key, m->first->token, m->deletion);
    m->is_announced = true;
}

/* A deletion must be told once the partition is covered, with or without rows. */
static void merge_announce_deletion(struct merge *m)
{
    if (!m->is_announced && !deletion_is_none(m->deletion) && merge_fits(m, head_bytes(m)))
        announce(m);
}

static void merge_emit(struct merge *m, const struct row *row)
{
    if (!merge_fits(m, head_bytes(m) + row_encoded_bytes(row)))
        return;
    bool is_live = row_is_live(row, m->read->now_seconds);
    announce(m);
    m->sink->row(m->sink, row, is_live);
    buf_clear(&m->last_row);
    buf_put_bytes(&m->last_row, row->key);
    m->last = (struct position){ true, m->first->token, m->first->key, buf_bytes(&m->last_row) };
    m->out->rows_count += is_live;
    m->out->dead_count += !is_live;
    if (m->out->rows_count == m->read->rows_limit)
        m->stop = STOP_ENOUGH;
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
        row = row ? row_merge(m->arena, row, &a->row, m->deletion) : &a->row;
    }
    ensure(row != NULL);
    if (row_shadow(row, m->deletion))
        merge_emit(m, row);
    return merge_step(m, same, answer_next_row);
}

/* All rows of the partition are through: remember that, and step on. */
static enum err merge_leave(struct merge *m)
{
    if (m->is_announced)
        m->last = (struct position){ true, m->first->token, m->first->key, { 0 } };
    return merge_step(m, m->members, answer_next_partition);
}

static enum err merge_partition(struct merge *m)
{
    if (is_beyond(m, (struct bytes){ 0 })) {
        m->stop = STOP_HORIZON;
        return OK;
    }
    struct answer *first;
    while ((first = merge_first_row(m)) != NULL && !is_beyond(m, first->row.key)) {
        enum err err = merge_row(m, first);
        if (err != OK || m->stop != STOP_NOT)
            return err;
    }
    merge_announce_deletion(m);
    if (m->stop != STOP_NOT)
        return OK;
    if (first)
        m->stop = STOP_HORIZON;
    return first ? OK : merge_leave(m);
}

/* Is anything left that was not given out? */
static bool merge_has_rest(const struct merge *m)
{
    if (m->horizon.is_set)
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
    struct merge m = { .read = read, .arena = arena, .sink = sink, .out = out };
    ensure(answers->count <= RESULT_ANSWERS_MAX);
    m.answers_count = answers->count;
    m.last_row = buf_in(arena);
    *out = (struct read_outcome){ 0 };
    enum err err = merge_open(&m, table, answers->answers);
    while (err == OK && m.stop == STOP_NOT && merge_next_partition(&m))
        err = merge_partition(&m);
    answers->bad = m.bad;
    if (err == OK)
        merge_finish(&m);
    return err;
}
